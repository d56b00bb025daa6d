//! Lists the papers, `src/reproduce/*/paper.toml`, so that a new folder is all that a new paper takes.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let folder = Path::new(&root).join("src/reproduce");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(&folder).expect("the folder of the papers can be read");
    let files = entries.map(|entry| entry.expect("it can be read").path().join("paper.toml"));
    let mut files: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
    files.sort();
    let list = files.iter().map(|file| format!("include_str!({file:?}),"));
    let list = format!("&[{}]", list.collect::<String>());
    let output = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&output).join("papers.rs"), list).expect("the list can be written");
}
