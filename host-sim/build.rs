//! Finds the revision of what is built, and a hash of the sources that results depend on.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What decides the results of an experiment, from the folder of this package.
const SOURCES: &[&str] = &[
    "../Cargo.lock",
    "../core/src",
    "sim/src",
    "papers/src",
    "papers/data",
    "src",
];

fn main() {
    println!("cargo::rustc-env=HOST_SIM_VERSION={}", version());
    let hash = sources().expect("the sources of the program can be read");
    println!("cargo::rustc-env=HOST_SIM_SOURCES={hash:016x}");
}

/// The version, of a release build from a clone with the revision behind it. Other builds have
/// none: every commit would compile the package and its tests again.
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

/// A hash (FNV-1a) of the names and contents of all source files.
fn sources() -> io::Result<u64> {
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        find(Path::new(source), &mut files)?;
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let name = file.to_string_lossy().replace('\\', "/");
        let content = fs::read(&file)?;
        let lengths = [name.len(), content.len()].map(|length| (length as u64).to_le_bytes());
        let bytes = [lengths.as_flattened(), name.as_bytes(), &content];
        for &byte in bytes.into_iter().flatten() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(hash)
}

fn find(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        find(&entry?.path(), files)?;
    }
    Ok(())
}
