//! Lists the papers, `src/reproduce/*/paper.toml`, so that a new folder is all that a new paper takes; and finds the revision of what is
//! built.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rustc-env=HOST_SIM_VERSION={}", version());
    papers();
}

/// The version, of a release build from a clone with the revision behind it. Other builds have none: every commit would compile the
/// package and its tests again.
fn version() -> String {
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    println!("cargo::rerun-if-env-changed=PROFILE");
    if env::var("PROFILE").is_ok_and(|profile| profile != "release") {
        return version;
    }
    // Changes with each commit and checkout.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        Some(revision) => format!("{version} ({revision})"),
        None => version,
    }
}

/// What git prints; `None` without git, or outside of a clone.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}

fn papers() {
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
