//! Finds the revision of what is built.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rustc-env=HOST_SIM_VERSION={}", version());
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
