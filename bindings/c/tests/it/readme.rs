//! The programs in `README.md`: each is compiled, and prints the text that follows it.

use std::fs;
use std::process::Command;

use crate::library::{compile, output, package};

/// The blocks of code, each with its language.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    let blocks = fenced.map(|block| block.split_once('\n').expect("a block has lines"));
    blocks.collect()
}

#[test]
fn programs_in_the_readme_print_what_it_shows() {
    let page = fs::read_to_string(package().join("README.md")).unwrap();
    let blocks = blocks(&page);
    let folder = tempfile::tempdir().unwrap();
    let mut programs = 0;
    for (at, (_, text)) in blocks
        .iter()
        .enumerate()
        .filter(|(_, (language, _))| *language == "c")
    {
        let path = folder.path().join(format!("block{at}.c"));
        if text.contains("int main") {
            fs::write(&path, text).unwrap();
            let printed = output(&mut Command::new(compile(&path, folder.path())));
            let (language, expected) = blocks[at + 1];
            assert_eq!((language, format!("{expected}\n")), ("text", printed));
            programs += 1;
        } else {
            // Definitions, which are used.
            let names = text
                .lines()
                .filter_map(|line| line.split_once(" = ")?.0.split(' ').next_back());
            let used: String = names.map(|name| format!("  (void){name};\n")).collect();
            let source = format!(
                "#include <meshalloc.h>\n{text}\n\
                 void meshalloc_panic(const char *f, size_t l, uint32_t at) \
                 {{ (void)f; (void)l; (void)at; for (;;) {{}} }}\n\
                 int main(void) {{\n{used}  return 0;\n}}\n"
            );
            fs::write(&path, source).unwrap();
            output(&mut Command::new(compile(&path, folder.path())));
        }
    }
    assert_eq!(programs, 2);
}
