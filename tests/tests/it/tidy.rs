//! The style of all hand-written texts: line lengths, links and names of files.

mod circles;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The endings, or whole names, of the files that are written by hand in addition to documents.
const WRITTEN: &[&str] = &[
    "c", "cff", "cmake", "conf", "cpp", "css", "h", "html", "ipynb", "js", "Kconfig", "ld", "pc",
    "py", "pyi", "rs", "run", "sh", "toml", "txt", "x", "yaml", "yml",
];
/// Hidden folders with such files.
const HIDDEN: &[&str] = &[".cargo", ".ci", ".github"];
/// Files or folders with lines that may be long, the first characters of these lines (none: any
/// line), and the reason.
const LONG_LINES: &[(&str, &str, &str)] = &[
    ("docs/reference", "", "generated"),
    ("firmware/golden-frames.txt", "", "a golden file"),
    ("firmware/panics.txt", "0123456789", "names of functions"),
];

/// The end of a line, in columns.
const COLUMNS: usize = 100;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files below a path with one of these endings or names, each with its path from the root.
fn files(path: &Path, endings: &[&str], found: &mut Vec<(String, String)>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_hidden = name.starts_with('.') && !HIDDEN.contains(&&*name);
            if !is_hidden && !["target", "out", "corpus"].contains(&&*name) {
                files(&path, endings, found);
            }
        }
    } else if let Some(end) = path.extension().or(path.file_name())
        && endings.iter().any(|ending| end == *ending)
    {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        found.push((name, fs::read_to_string(path).unwrap()));
    }
}

/// What belongs to the command line.
const OF_COMMAND_LINE: &[&str] = &[
    "clap",
    "comfy-table",
    "console",
    "indicatif",
    "maud",
    "meshalloc-host-sim",
    "plotters",
    "ratatui",
    "serialport",
    "signal-hook",
];

#[test]
fn simulator_and_papers_know_no_command_line() {
    for package in ["host-sim/sim", "host-sim/papers"] {
        let path = root().join(package).join("Cargo.toml");
        let text = fs::read_to_string(path).unwrap();
        let names = text
            .lines()
            .filter_map(|line| line.split(['.', ' ']).next());
        let names: Vec<_> = names.collect();
        assert!(names.contains(&"meshalloc"), "{package}: {names:?}");
        for name in OF_COMMAND_LINE {
            assert!(!names.contains(name), "{package} depends on {name}");
        }
    }
}

fn documents() -> Vec<(String, String)> {
    let mut found = Vec::new();
    files(&root(), &["md"], &mut found);
    assert!(found.len() > 5, "{} documents are too few", found.len());
    found
}

fn written_files() -> Vec<(String, String)> {
    let mut found = Vec::new();
    files(&root(), WRITTEN, &mut found);
    assert!(found.len() > 500, "{} files are too few", found.len());
    found
}

/// The text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}

/// Lines that go beyond [`COLUMNS`]. In documents, tables, links and commands with their output do
/// not count. In Rust, only comments count, other than tables and single words.
fn long_lines(name: &str, text: &str) -> Vec<String> {
    let excepted = LONG_LINES.iter().find(|(path, ..)| name.starts_with(path));
    let may_be_long = |line: &str| {
        excepted.is_some_and(|(_, first, _)| {
            first.is_empty() || line.starts_with(|letter| first.contains(letter))
        })
    };
    let lines = text.lines().enumerate();
    let long = lines.filter(|(_, line)| {
        let counts = match name.rsplit('.').next() {
            Some("md") => !line.starts_with(['|', '$']) && !line.contains("]("),
            // rustfmt breaks the code.
            Some("rs") => {
                comment(line).is_some_and(|text| text.contains(' ') && !text.starts_with('|'))
            }
            _ => true,
        };
        line.chars().count() > COLUMNS && counts && !line.contains("://") && !may_be_long(line)
    });
    long.map(|(number, line)| format!("{}: longer than {COLUMNS} columns: {line}", number + 1))
        .collect()
}

/// The anchor that a code host gives a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The text without blocks of code and without code in a line.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if !is_code {
            let parts = line.split('`').step_by(2);
            kept.extend(parts.map(|part| format!("{part} ")));
            kept.push('\n');
        }
    }
    kept
}

/// Links to a file or heading that does not exist.
fn broken_links(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let prose = prose(text);
    for part in prose.split("](").skip(1) {
        let link = part.split([')', ' ']).next().unwrap_or_default();
        if link.contains("://") || link.starts_with("mailto:") {
            continue;
        }
        let (path, heading) = link.split_once('#').unwrap_or((link, ""));
        let folder = root().join(name).parent().unwrap().to_owned();
        let target = match path {
            "" => root().join(name),
            path => folder.join(path),
        };
        if !target.exists() {
            faults.push(format!("{link}: there is no such file"));
        } else if !heading.is_empty() {
            let text = fs::read_to_string(&target).unwrap();
            let mut headings = text.lines().filter(|line| line.starts_with('#'));
            if !headings.any(|line| anchor(line) == heading) {
                faults.push(format!("{link}: the file has no such heading"));
            }
        }
    }
    faults
}

/// Every path of the repository that ends a file's path, such as `strategy/table.rs`.
fn known_paths() -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut found = Vec::new();
    files(&root(), &["md", "rs", "toml"], &mut found);
    for (name, _) in found {
        let starts = name.match_indices('/').map(|(at, _)| at + 1);
        paths.extend(
            [0].into_iter()
                .chain(starts)
                .map(|at| name[at..].to_owned()),
        );
    }
    paths
}

/// Files that a document names in code and that do not exist. Capitals stand for any name.
fn missing_files(text: &str, known: &BTreeSet<String>) -> Vec<String> {
    let prose_lines = text.split("```").step_by(2);
    let code = prose_lines.flat_map(|text| text.split('`').skip(1).step_by(2));
    let is_file = |code: &&str| {
        let is_placeholder = code.contains("NAME") || code.contains("PAPER");
        [".rs", ".md"].iter().any(|end| code.ends_with(end))
            && !code.contains(char::is_whitespace)
            && !is_placeholder
    };
    code.filter(is_file)
        .filter(|&file| !known.contains(file))
        .map(|file| format!("`{file}`: there is no such file"))
        .collect()
}

fn assert_none(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn texts_are_tidy() {
    let mut faults = Vec::new();
    let known = known_paths();
    for (name, text) in documents().into_iter().chain(written_files()) {
        let mut of_file = long_lines(&name, &text);
        if name.ends_with(".md") {
            of_file.extend(broken_links(&name, &text));
            of_file.extend(missing_files(&text, &known));
        }
        faults.extend(of_file.iter().map(|fault| format!("{name}:{fault}")));
    }
    assert_none(&faults);
}

#[test]
fn each_page_of_the_book_is_in_its_summary() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let is_missing = |page: &str| !summary.contains(&format!("]({page})"));
    let documents = documents();
    let pages = documents
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("docs/"));
    let missing: Vec<&str> = pages
        .filter(|page| *page != "SUMMARY.md" && is_missing(page))
        .collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
}

/// A function or variant that the README of core names, as `Type::name`, is public.
#[test]
fn the_readme_of_core_names_public_items() {
    let mut sources = Vec::new();
    files(&root().join("core/src"), &["rs"], &mut sources);
    let code: String = sources.into_iter().map(|(_, text)| text).collect();
    let readme = fs::read_to_string(root().join("core/README.md")).unwrap();
    let spans = readme.split('`').skip(1).step_by(2);
    let named: Vec<&str> = spans
        .filter_map(|span| span.split_once("::"))
        .filter(|(kind, _)| kind.starts_with(char::is_uppercase))
        .filter(|(kind, _)| kind.chars().all(char::is_alphanumeric))
        .map(|(_, name)| name)
        .collect();
    assert!(
        named.contains(&"advance") && named.contains(&"Lease"),
        "{named:?}"
    );
    let is_public = |name: &str| {
        if name.starts_with(char::is_uppercase) {
            code.contains(&format!("    {name}"))
        } else {
            ["", "const "].iter().any(|kind| {
                code.contains(&format!("pub {kind}fn {name}("))
                    || code.contains(&format!("pub {kind}fn {name}<"))
            })
        }
    };
    let private: Vec<&&str> = named.iter().filter(|name| !is_public(name)).collect();
    assert!(private.is_empty(), "no public item of core: {private:?}");
}

#[test]
fn each_rule_finds_what_breaks_it() {
    let long = "x".repeat(COLUMNS + 1);
    for (name, line, faults) in [
        ("a.md", long.clone(), 1),
        ("a.md", format!("|{long}"), 0),
        ("a.rs", format!("    //! two {long}"), 1),
        ("a.rs", format!("    // {long}"), 0),
        ("a.rs", format!("    // | a table | {long} |"), 0),
        ("a.rs", format!("    let two = {long}"), 0),
        ("a.js", long.clone(), 1),
        ("a.toml", "é".repeat(COLUMNS), 0),
        ("firmware/golden-frames.txt", long.clone(), 0),
        ("firmware/panics.txt", format!("1 0 {long}"), 0),
        ("firmware/panics.txt", format!("# {long}"), 1),
    ] {
        assert_eq!(long_lines(name, &line).len(), faults, "{name}: {line}");
    }
    let links = "[a](README.md) [b](no-such-file.md) [c](#no-such-heading) `[d](none)`\n# Here\n";
    let broken = broken_links("README.md", links);
    assert_eq!(broken.len(), 2, "{broken:?}");
    let known = BTreeSet::from(["core/src/a.rs", "src/a.rs", "a.rs"].map(String::from));
    let text = "`src/a.rs` `a.rs` `b.rs` `NAME.rs` `ls a.rs`\n```sh\n`c.rs`\n```\n`rc/a.rs`";
    let missing = missing_files(text, &known);
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert_eq!(anchor("## First, `fit`: a test"), "first-fit-a-test");
}
