//! Lists the papers, `data/*.toml`, so that a new file is all that a new paper takes.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let folder = Path::new(&root).join("data");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(&folder).expect("the folder of the papers can be read");
    let files = entries.map(|entry| entry.expect("it can be read").path());
    let is_paper = |file: &PathBuf| file.extension().is_some_and(|end| end == "toml");
    let mut files: Vec<PathBuf> = files.filter(is_paper).collect();
    files.sort();
    let list = files.iter().map(|file| format!("include_str!({file:?}),"));
    let list = format!("&[{}]", list.collect::<String>());
    let output = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&output).join("papers.rs"), list).expect("the list can be written");
}
