//! A closed standard error changes neither the work of the program nor its exit code.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Stdio;

use crate::program::{command, host_sim_in};

/// Runs the program with a standard error whose reader is gone; gives the exit code.
fn unread(folder: &Path, line: &str) -> Option<i32> {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = command(folder, line);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(writer).status().unwrap().code()
}

#[test]
fn an_unread_error_has_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "run --mesh 2000x3",
        "run --mesh 8by8",
        "run --scenario missing.toml",
        "replay missing",
    ] {
        assert_eq!(unread(folder.path(), line), Some(2), "{line}");
    }
}

#[test]
fn an_unread_warning_stops_no_study() {
    let folder = tempfile::tempdir().unwrap();
    let text = "mesh = \"8x8\"\njobs = 40\nreplications = 1\nload = [0.3, 0.4]\n";
    fs::write(folder.path().join("s.toml"), text).unwrap();
    let line = "run --scenario s.toml --save o";
    host_sim_in(folder.path(), line).good();
    let mut points = fs::read_dir(folder.path().join("o")).unwrap();
    let point = points.next().unwrap().unwrap().path();
    fs::write(&point, "damaged").unwrap();
    let warned = host_sim_in(folder.path(), line);
    assert!(warned.stderr.starts_with("warning: "), "{warned}");
    fs::write(&point, "damaged").unwrap();
    assert_eq!(unread(folder.path(), line), Some(0));
}
