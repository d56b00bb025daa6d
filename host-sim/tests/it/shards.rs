//! Sweeps over several machines: shards, their merge, and the scripts for Slurm.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{Ended, command, host_sim_in};

#[cfg(unix)]
mod slurm;

const FIXED: &str = r#"
jobs = 200
replications = 2
[grid]
strategy = ["fsl", "naive", "random:seed=7"]
mesh = ["8x8", "16x11"]
load = [0.3, 0.5, 2]
seed = [1, 2]
"#;

const UNTIL: &str = r#"
jobs = 300
mesh = "16x16"
strategy = ["ff", "fsl"]
until-rel-error = 0.3
max-replications = 20
[grid]
load = [0.2, 0.3, 0.4, 1.5]
seed = [1, 2]
"#;

/// The files of a sweep by their names, without journals of shards.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap())
    };
    let all = entries.map(read);
    all.filter(|(name, _)| !name.contains("-of-") && !name.starts_with("slurm"))
        .collect()
}

fn sweep(folder: &Path, options: &str) -> Ended {
    host_sim_in(folder, &format!("sweep grid.toml {options}"))
}

/// A folder with this grid, in which one machine, on one thread, has written `whole`.
fn swept(text: &str) -> (tempfile::TempDir, BTreeMap<String, String>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("grid.toml"), text).unwrap();
    sweep(folder.path(), "--output whole --threads 1").good();
    let whole = files(&folder.path().join("whole"));
    let names: Vec<_> = whole.keys().map(String::as_str).collect();
    assert_eq!(names, ["points.jsonl", "results.csv", "results.json"]);
    (folder, whole)
}

fn refused(ended: &Ended, parts: &[&str]) {
    let lines = ended.stderr.lines();
    let errors = lines.filter(|line| line.starts_with("error: ")).count();
    assert!(ended.code == Some(2) && errors == 1, "{ended}");
    for part in parts {
        assert!(ended.stderr.contains(part), "{part}: {ended}");
    }
}

#[test]
fn shards_make_the_very_files_of_one_machine() {
    for (text, points) in [(FIXED, 12), (UNTIL, 8)] {
        let (folder, whole) = swept(text);
        let folder = folder.path();
        for shards in [1, 2, 5, 15] {
            let mut computed = 0;
            // In any order, on any number of threads.
            for shard in (1..=shards).rev() {
                let options = format!(
                    "--output {shards} --shards {shards} --shard {shard} --threads {}",
                    shard % 3 + 1
                );
                let said = sweep(folder, &options).good();
                let expected = format!("shard {shard} of {shards}: ");
                let rest = said.strip_prefix(&expected).unwrap();
                let (count, rest) = rest.split_once(' ').unwrap();
                let noun = if count == "1" { "point" } else { "points" };
                assert_eq!(rest, format!("{noun}, 0 of them from the journal\n"));
                computed += count.parse::<u32>().unwrap();
            }
            assert_eq!(computed, points);
            // Again and again, and then nothing is left to be run.
            for _ in 0..2 {
                let said = sweep(folder, &format!("--output {shards} --merge")).good();
                let expected =
                    format!("{points} points, all of them from the journals of shards\n");
                assert!(said.starts_with(&expected), "{said}");
                assert_eq!(files(&folder.join(shards.to_string())), whole, "{shards}");
            }
            let said = sweep(folder, &format!("--output {shards}")).good();
            assert!(
                said.contains(&format!("{points} of them from the journal")),
                "{said}"
            );
            assert_eq!(files(&folder.join(shards.to_string())), whole, "{shards}");
        }
    }
}

#[test]
fn a_killed_shard_goes_on_where_it_stopped() {
    let text = "jobs = 3000\nreplications = 4\nmesh = \"32x32\"\nstrategy = [\"fsl\", \"as\"]\n\
                [grid]\nload = [0.3, 0.4, 0.45]\nseed = [1, 2, 3, 4]\n";
    let (folder, whole) = swept(text);
    let folder = folder.path();
    let journal = folder.join("out/points.1-of-2.jsonl");
    let ended_points = || {
        let text = fs::read_to_string(&journal).unwrap_or_default();
        text.matches('\n').count().saturating_sub(1)
    };
    let line = "sweep grid.toml --output out --threads 1 --shards 2 --shard";
    let mut child = command(folder, &format!("{line} 1"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while ended_points() < 2 {
        assert!(begin.elapsed() < Duration::from_secs(120), "it hangs");
        thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    assert!(
        !child.wait().unwrap().success(),
        "it ended before it was killed"
    );
    let known = ended_points();
    host_sim_in(folder, &format!("{line} 2")).good();
    refused(
        &sweep(folder, "--output out --merge"),
        &[
            " of 12 points are missing, the first is load = 0.",
            "run shard 1 of 2 again",
        ],
    );
    assert!(!folder.join("out/results.csv").exists());
    let ended = host_sim_in(folder, &format!("{line} 1"));
    let expected = format!("{known} of them from the journal");
    assert!(
        ended.code == Some(0) && ended.stdout.contains(&expected),
        "{ended}"
    );
    sweep(folder, "--output out --merge").good();
    assert_eq!(files(&folder.join("out")), whole);
}

#[test]
fn shards_that_do_not_make_a_whole_are_refused() {
    let (folder, whole) = swept(FIXED);
    let folder = folder.path();
    let merge = |options: &str| sweep(folder, &format!("--output out --merge {options}"));
    let shard = |shards: u32, shard: u32| {
        sweep(
            folder,
            &format!("--output out --shards {shards} --shard {shard}"),
        )
    };
    refused(
        &merge(""),
        &["no journal of a shard", "expected points.I-of-N.jsonl"],
    );
    shard(2, 1).good();
    refused(&merge("--shards 3"), &["expected points.I-of-3.jsonl"]);
    refused(
        &merge(""),
        &["of 12 points are missing", "run shard 2 of 2 again"],
    );
    shard(2, 2).good();
    for number in 1..=3 {
        shard(3, number).good();
    }
    refused(
        &merge(""),
        &[
            "-of-2.jsonl and ",
            "-of-3.jsonl both have the point mesh = ",
            "--shards chooses",
        ],
    );
    assert!(!folder.join("out/results.csv").exists());
    merge("--shards 3").good();
    assert_eq!(files(&folder.join("out")), whole);

    // A damaged line: its point is missing, and run again.
    let path = folder.join("out/points.2-of-2.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    let second_line = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    bytes[second_line + 100] ^= 0x10;
    fs::write(&path, &bytes).unwrap();
    let warning = "points.2-of-2.jsonl: 1 line (2) is damaged and left out";
    let ended = merge("--shards 2");
    refused(
        &ended,
        &[
            warning,
            "1 of 12 points is missing",
            "run shard 2 of 2 again",
        ],
    );
    let ended = shard(2, 2);
    assert!(
        ended.code == Some(0) && ended.stderr.contains(warning),
        "{ended}"
    );
    let ended = merge("--shards 2");
    assert!(
        ended.code == Some(0) && ended.stderr.contains(warning),
        "{ended}"
    );
    assert_eq!(files(&folder.join("out")), whole);

    // Those of another scenario, beside these.
    let other = FIXED.replace("jobs = 200", "jobs = 201");
    fs::write(folder.join("grid.toml"), other).unwrap();
    for ended in [merge("--shards 2"), shard(2, 1)] {
        refused(
            &ended,
            &["points.1-of-2.jsonl: belongs to another scenario"],
        );
    }
    let restarted = sweep(folder, "--output out --shards 2 --shard 1 --restart").good();
    assert!(
        restarted.contains(" 0 of them from the journal"),
        "{restarted}"
    );
    refused(
        &merge("--shards 2"),
        &["points.2-of-2.jsonl: belongs to another scenario"],
    );
    assert_eq!(files(&folder.join("out")), whole);
}

#[test]
fn a_part_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("grid.toml"), FIXED).unwrap();
    for (options, part) in [
        ("--shards 4 --shard 5", "--shard 5 (expected 1 to 4"),
        (
            "--shards 4",
            "--shards is given alone (expected --shard NUMBER or --merge",
        ),
        (
            "--shards 4 --shard 0",
            "expected a whole number, 1 to 4294967295",
        ),
        (
            "--shards 0 --shard 0",
            "expected a whole number, 1 to 4294967295",
        ),
        ("--shard 1", "--shards <COUNT>"),
        (
            "--shards 4 --shard 1 --merge",
            "cannot be used with '--merge'",
        ),
        ("--merge --restart", "cannot be used with"),
        ("--merge", "no journal of a shard"),
    ] {
        let ended = sweep(folder.path(), options);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(part),
            "{options}: {ended}"
        );
    }
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_paper_is_reproduced_in_shards() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = "reproduce chang-mohapatra --jobs 200 --replications 3 --figure 3 --figure 5";
    host_sim_in(folder, &format!("{line} --output whole")).good();
    for shard in 1..=3 {
        let options = format!("--output parts --shards 3 --shard {shard}");
        let said = host_sim_in(folder, &format!("{line} {options}")).good();
        assert!(said.starts_with(&format!("shard {shard} of 3: ")), "{said}");
    }
    let said = host_sim_in(folder, &format!("{line} --output parts --merge")).good();
    assert!(said.contains("Figure 3, "), "{said}");
    let whole = files(&folder.join("whole"));
    assert!(whole.len() > 4);
    assert_eq!(files(&folder.join("parts")), whole);
    // Nothing else is left.
    assert_eq!(
        fs::read_dir(folder.join("parts")).unwrap().count(),
        whole.len()
    );
}
