//! Commands that end early, after Ctrl-C or SIGTERM: what is complete is printed and marked.

#![cfg(unix)]

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::program::{Ended, command, host_sim, kill, wait_for_runs};

/// Runs the program and interrupts its runs. It leaves nothing behind. One thread is enough to be
/// interrupted.
fn interrupted(line: &str) -> Ended {
    ended_by("-INT", line)
}

fn ended_by(signal: &str, line: &str) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let child = command(folder.path(), line)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_runs(child.id());
    kill(signal, child.id());
    let output = child.wait_with_output().unwrap();
    // The folder of a picture may be there, without one.
    let _ = fs::remove_dir(folder.path().join("out"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

const MANY: &str = "--mesh 8x8 --jobs 200 --replications 1000000 --threads 1 --strategy ff,naive";

#[test]
fn an_interrupted_run_prints_the_replications_that_are_complete() {
    let line = "run --mesh 8x8 --jobs 200 --load .5 --strategy ff,naive --format json";
    let ended = interrupted(&format!("{line} --replications 1000000 --threads 1"));
    assert_eq!(ended.code, Some(130), "{ended}");
    let said = "error: interrupted; the results have only the replications that are complete\n";
    assert_eq!(ended.stderr, said);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["incomplete"], "interrupted");
    let count = json["results"][0]["replications"].as_u64().unwrap();
    assert!((1..1_000_000).contains(&count), "{count}");
    let whole = host_sim(&format!("{line} --replications {count}")).json();
    assert!(whole.get("incomplete").is_none());
    for strategy in [0, 1] {
        let [part, whole] = [&json, &whole].map(|json| &json["results"][strategy]);
        assert_eq!(part["stop"], "incomplete");
        assert_eq!(part["metrics"], whole["metrics"]);
        assert_eq!(part["decision_hash"], whole["decision_hash"]);
    }
}

#[test]
fn tables_of_interrupted_commands_are_marked() {
    for (line, mark) in [
        (format!("run {MANY}"), "completed: "),
        (format!("saturation {MANY}"), "completed: "),
        (
            format!("compare {MANY} --load .3,.5"),
            "completed: with scheduler=fcfs 0 at 0.3, ",
        ),
    ] {
        let ended = interrupted(&line);
        assert_eq!(ended.code, Some(130), "{line}: {ended}");
        assert!(
            ended.stdout.contains("INCOMPLETE: interrupted\n"),
            "{ended}"
        );
        assert!(ended.stdout.contains(mark), "{ended}");
        assert!(!ended.stdout.contains("picture: "), "{ended}");
        // What has no run has no row of dashes.
        let begins = |row: &str| ended.stdout.lines().any(|line| line.starts_with(row));
        assert!(!begins(" 0.3 ") && !begins("0.3 "), "{ended}");
        let loads = line.starts_with("compare") && (begins(" 0.5 ") || begins("0.5 "));
        assert_eq!(loads, line.starts_with("compare"), "{ended}");
        assert_eq!(
            ended.stdout.contains("; with scheduler=easy 0 at 0.3, "),
            line.starts_with("compare"),
            "{ended}"
        );
    }
}

#[test]
fn without_a_complete_replication_nothing_is_printed() {
    let ended =
        interrupted("run --mesh 64x64 --load .3 --jobs 16000000 --replications 2 --threads 1");
    assert_eq!(ended.code, Some(130), "{ended}");
    assert_eq!(ended.stdout, "");
    assert_eq!(
        ended.stderr,
        "error: interrupted; no replication is complete\n"
    );
}

/// The command is the same again, and goes on.
#[test]
fn an_interrupted_study_names_the_command_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let long = "mesh = \"8x8\"\njobs = 100\nreplications = 1\nstrategy = \"ff\"\nseed = ";
    let seeds: Vec<String> = (1..=5_000).map(|seed: u32| seed.to_string()).collect();
    let text = format!("{long}[{}]\n", seeds.join(", "));
    fs::write(folder.path().join("my grid.toml"), text).unwrap();
    let mut child = command(folder.path(), "run --scenario");
    child.args(["my grid.toml", "--save", "o"]);
    let child = child.stderr(Stdio::piped()).spawn().unwrap();
    let kept = folder.path().join("o");
    let points = || fs::read_dir(&kept).map_or(0, Iterator::count);
    while points() < 3 {
        thread::sleep(Duration::from_millis(5));
    }
    kill("-INT", child.id());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let begin = "error: interrupted; o keeps what is complete, and `";
    let again = stderr.strip_prefix(begin);
    let again = again.and_then(|rest| rest.strip_suffix("` goes on\n"));
    let again = again.unwrap_or_else(|| panic!("{stderr}"));
    assert!(
        again.ends_with(" run --scenario 'my grid.toml' --save o"),
        "{again}"
    );
    // As a shell has it; interrupted once more, as it is long.
    let before = points();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec {again}"));
    let child = shell
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap();
    while points() < before + 3 {
        thread::sleep(Duration::from_millis(5));
    }
    kill("-TERM", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{output:?}");
}

/// In its study, and while the clock measures, which comes after it.
#[test]
fn an_interrupted_reproduction_names_the_command_that_goes_on() {
    for (line, clocked) in [
        (
            "chang-mohapatra --figure 3 --jobs 2000000 --threads 1 --save o",
            false,
        ),
        ("kim-yoon --figure 14 --full --threads 1 --save o", true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = command(folder.path(), &format!("reproduce {line}"));
        let child = child.stderr(Stdio::piped()).spawn().unwrap();
        wait_for_runs(child.id());
        kill("-INT", child.id());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        let again = format!(" reproduce {line}` goes on\n");
        assert!(
            stderr.starts_with("error: interrupted; o/") && stderr.ends_with(&again),
            "{clocked}: {stderr}"
        );
        // No table is left half written.
        let files = fs::read_dir(folder.path().join("o")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let names: Vec<_> = names.collect();
        assert!(names.iter().all(|name| name == "points"), "{names:?}");
    }
}

#[test]
fn files_under_way_are_removed_after_sigterm() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let line = "run --mesh 8x8 --load .3 --jobs 16000000 --replications 1 -o jobs.csv";
        let ended = ended_by(signal, line);
        assert_eq!(ended.code, Some(code), "{signal}: {ended}");
    }
}
