//! Outputs that cannot be written, on a disk that is full.

#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::program::{command, host_sim, host_sim_in};

const RUN: &str = "--mesh 8x8 --jobs 50 --strategy ff,naive";

/// A picture or a file of jobs comes after the results: they are not lost with it.
#[test]
fn results_are_written_before_a_file_that_fails() {
    for format in ["table", "json", "csv"] {
        for (line, file) in [
            (format!("compare {RUN} --load .3"), "full.svg"),
            (format!("saturation {RUN}"), "full.json"),
            (format!("run {RUN} --replications 2"), "jobs.csv"),
            (format!("run {RUN} --replications 2"), "full.csv"),
            (format!("run {RUN} --replications 2"), "full.html"),
        ] {
            let line = format!("{line} --format {format}");
            let whole = host_sim(&line).good();
            let folder = tempfile::tempdir().unwrap();
            symlink("/dev/full", folder.path().join(file)).unwrap();
            let ended = host_sim_in(folder.path(), &format!("{line} -o {file}"));
            assert_eq!(ended.code, Some(1), "{line}: {ended}");
            let reason = format!("error: --output: {file}: cannot write the ");
            assert!(ended.stderr.starts_with(&reason), "{line}: {ended}");
            assert_eq!(ended.stderr.lines().count(), 1, "{line}: {ended}");
            // But for times on the clock.
            let [whole, shown] = [&whole, &ended.stdout].map(|text| text.lines().count());
            assert_eq!(shown, whole, "{line}: {ended}");
        }
    }
}

#[test]
fn each_file_that_fails_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["full.csv", "jobs.csv"] {
        symlink("/dev/full", folder.path().join(file)).unwrap();
    }
    let line = format!("run {RUN} --replications 2 -o full.csv -o jobs.csv");
    let ended = host_sim_in(folder.path(), &line);
    assert_eq!(ended.code, Some(1), "{ended}");
    for file in ["full.csv", "jobs.csv"] {
        let reason = format!("{file}: cannot write the ");
        assert!(ended.stderr.contains(&reason), "{file}: {ended}");
    }
    assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
}

#[test]
fn no_folder_is_made_for_options_that_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = "run --mesh 8x8 --pattern ring --batch 5 -o new/jobs.csv -o new/page.html";
    let ended = host_sim_in(folder.path(), &format!("{run} -o map.svg --draw map:90m"));
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(ended.stderr.contains("times are cycles"), "{ended}");
    assert!(!folder.path().join("new").exists(), "{ended}");
}

#[test]
fn what_cannot_be_printed_is_an_error() {
    // Neither the results nor the files that follow them can be written.
    let picture = "compare --mesh 8x8 --jobs 50 --load .3 -o full.svg";
    let jobs = "run --mesh 8x8 --jobs 50 --replications 2 -o jobs.csv";
    let folder = tempfile::tempdir().unwrap();
    for file in ["full.svg", "jobs.csv"] {
        symlink("/dev/full", folder.path().join(file)).unwrap();
    }
    for line in [
        "--help",
        "help",
        "run --help",
        "help run",
        "--version",
        "list",
        "completions bash",
        "run --mesh 8x8 --jobs 50 --replications 2",
        "compare --mesh 8x8 --jobs 50 --load .3",
        picture,
        jobs,
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = command(folder.path(), line);
        let output = command.stdin(Stdio::null()).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        let reason = "error: standard output: cannot write: ";
        assert!(stderr.starts_with(reason), "{line}: {stderr}");
    }
}
