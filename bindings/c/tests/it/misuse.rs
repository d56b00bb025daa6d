//! Mistakes of a caller, in C and in C++: `misuse.c`.

use std::fs;
use std::process::Command;

use crate::library::{compile, output, package};

#[test]
fn each_mistake_has_its_number_in_c_and_cpp() {
    let folder = tempfile::tempdir().unwrap();
    let source = package().join("tests/it/misuse.c");
    let copy = folder.path().join("misuse.cpp");
    fs::copy(&source, &copy).unwrap();
    for source in [source, copy] {
        let printed = output(&mut Command::new(compile(&source, folder.path())));
        // The last mistake ends in the hook.
        assert!(
            printed.starts_with("hook: ") && printed.contains(".rs:"),
            "{printed}"
        );
    }
}
