//! The folder of a reproduction: what is replaced, what is left alone, and what is kept.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::{CHANG_MOHAPATRA, files};
use crate::program::{command, host_sim_in, kill};

#[test]
fn figures_share_their_points() {
    let folder = tempfile::tempdir().unwrap();
    let line = |figures: &str| format!("{CHANG_MOHAPATRA} {figures} --save o");
    let all = line("--figure 3 --figure 5 --figure 6");
    let table = || files(&folder.path().join("o"))["figure-05.csv"].clone();
    host_sim_in(folder.path(), &all).good();
    let shared = table();
    // The results of more figures are not replaced without being asked to.
    let ended = host_sim_in(folder.path(), &line("--figure 5"));
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(ended.stderr.contains("--figure 6"), "{ended}");
    host_sim_in(folder.path(), &all).good();
    fs::write(folder.path().join("o/mine"), "").unwrap();
    host_sim_in(folder.path(), &line("--figure 5 --replace")).good();
    assert_eq!(table(), shared);
    // Nothing of the other command is left, and nothing else is gone.
    let left: Vec<_> = files(&folder.path().join("o")).into_keys().collect();
    let of_paper = ["chang-mohapatra.command", "chang-mohapatra.html"];
    let of_figure = ["figure-05.csv", "figure-05.svg"];
    assert_eq!(left, [&of_paper[..], &of_figure, &["mine"]].concat());
}

#[test]
fn a_table_of_no_known_command_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("figure-05.csv");
    fs::write(&table, "mine").unwrap();
    let line = format!("{CHANG_MOHAPATRA} --figure 5 --save .");
    let ended = host_sim_in(folder.path(), &line);
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(ended.stderr.contains("figure-05.csv: is there"), "{ended}");
    assert_eq!(files(folder.path()).len(), 1);
    assert_eq!(fs::read_to_string(&table).unwrap(), "mine");
    host_sim_in(folder.path(), &format!("{line} --replace")).good();
    assert_ne!(fs::read_to_string(&table).unwrap(), "mine");
}

#[test]
fn what_was_measured_is_kept_until_all_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("{CHANG_MOHAPATRA} --figure 5 --save o");
    let output = folder.path().join("o");
    let points = || fs::read_dir(output.join("points")).map_or(0, Iterator::count);
    let page = output.join("chang-mohapatra.html");
    fs::create_dir_all(&page).unwrap();
    let ended = host_sim_in(folder.path(), &line);
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(
        ended.stderr.contains("chang-mohapatra.html: cannot write"),
        "{ended}"
    );
    assert!(points() > 0);
    fs::remove_dir(&page).unwrap();
    host_sim_in(folder.path(), &line).good();
    assert!(!output.join("points").exists());
}

#[test]
fn results_written_meanwhile_are_not_replaced_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("o");
    let long = "reproduce chang-mohapatra --figure 5 --jobs 2000 --replications 10 --save o";
    let mut slower = command(folder.path(), long)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It has looked at the folder. It goes on when the other command has ended.
    let points = || fs::read_dir(output.join("points")).map_or(0, Iterator::count);
    while points() < 2 {
        assert!(slower.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(5));
    }
    kill("-STOP", slower.id());
    assert!(slower.try_wait().unwrap().is_none(), "too quick to tell");
    let short = format!("{CHANG_MOHAPATRA} --figure 5 --save o");
    host_sim_in(folder.path(), &short).good();
    let first = files(&output)["figure-05.csv"].clone();
    kill("-CONT", slower.id());
    let ended = slower.wait_with_output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{error}");
    for part in [
        "the folder has the results of",
        "while this command measured",
        "it goes on from o/points",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(files(&output)["figure-05.csv"], first);
    assert!(points() > 0);
    host_sim_in(folder.path(), &format!("{long} --replace")).good();
    assert_ne!(files(&output)["figure-05.csv"], first);
    assert_eq!(points(), 0);
}
