//! Studies over several machines: shards, their merge, and the scripts for Slurm.

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
load = [0.2, 0.3, 0.4, 1.5]
seed = [1, 2]
"#;

/// The kept points by the names of their files.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let inner = self::files(&entry.path()).into_iter();
            files.extend(inner.map(|(inner, text)| (format!("{name}/{inner}"), text)));
        } else if !name.starts_with("slurm") {
            files.insert(name, fs::read_to_string(entry.path()).unwrap());
        }
    }
    files
}

fn study(folder: &Path, options: &str) -> Ended {
    host_sim_in(folder, &format!("run --scenario grid.toml {options}"))
}

/// A folder with this grid, in which one machine, on one thread, has written `whole`.
fn studied(text: &str) -> (tempfile::TempDir, BTreeMap<String, String>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("grid.toml"), text).unwrap();
    study(folder.path(), "--save whole --threads 1").good();
    let whole = files(&folder.path().join("whole"));
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
        let (folder, whole) = studied(text);
        let folder = folder.path();
        for shards in [1, 2, 5, 15] {
            let mut computed = 0;
            // In any order, on any number of threads.
            for shard in (1..=shards).rev() {
                let options = format!(
                    "--save {shards} --shard {shard}/{shards} --threads {}",
                    shard % 3 + 1
                );
                let said = study(folder, &options).good();
                let expected = format!("shard {shard} of {shards}: ");
                let rest = said.strip_prefix(&expected).unwrap();
                let (count, rest) = rest.split_once(' ').unwrap();
                let noun = if count == "1" { "point" } else { "points" };
                assert_eq!(rest, format!("{noun}, 0 of them run before\n"));
                computed += count.parse::<u32>().unwrap();
            }
            assert_eq!(computed, points);
            // Again and again, and then nothing is left to be run.
            for _ in 0..2 {
                let said = study(folder, &format!("--save {shards} --merge")).good();
                let expected = format!("{shards}: {points} points, all of them run before\n");
                assert!(said.ends_with(&expected), "{said}");
                assert_eq!(files(&folder.join(shards.to_string())), whole, "{shards}");
            }
            let said = study(folder, &format!("--save {shards}")).good();
            assert!(
                said.contains(&format!("{points} of them run before")),
                "{said}"
            );
            assert_eq!(files(&folder.join(shards.to_string())), whole, "{shards}");
        }
    }
}

#[test]
fn a_killed_shard_goes_on_where_it_stopped() {
    let text = "jobs = 3000\nreplications = 4\nmesh = \"32x32\"\nstrategy = [\"fsl\", \"as\"]\n\
                load = [0.3, 0.4, 0.45]\nseed = [1, 2, 3, 4]\n";
    let (folder, whole) = studied(text);
    let folder = folder.path();
    let points = folder.join("out");
    let ended_points = || {
        let entries = fs::read_dir(&points).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name());
        // One that is being written has another name.
        names
            .filter(|name| name.to_string_lossy().ends_with(".json"))
            .count()
    };
    let line = "run --scenario grid.toml --save out --threads 1 --shard";
    let mut child = command(folder, &format!("{line} 1/2"))
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
    host_sim_in(folder, &format!("{line} 2/2")).good();
    refused(
        &study(folder, "--save out --merge"),
        &[
            " of 12 points are missing, the first is load = 0.",
            "run the shards again that have not ended",
        ],
    );
    let ended = host_sim_in(folder, &format!("{line} 1/2"));
    let expected = format!("{known} of them run before");
    assert!(
        ended.code == Some(0) && ended.stdout.contains(&expected),
        "{ended}"
    );
    study(folder, "--save out --merge").good();
    assert_eq!(files(&folder.join("out")), whole);
}

#[test]
fn what_shards_have_not_run_is_missing() {
    let (folder, whole) = studied(FIXED);
    let folder = folder.path();
    let merge = || study(folder, "--save out --merge");
    let shard = |shard: &str| study(folder, &format!("--save out --shard {shard}"));
    refused(&merge(), &["out: 12 of 12 points are missing"]);
    shard("1/2").good();
    refused(
        &merge(),
        &[" of 12 points are missing, the first is mesh = "],
    );
    // Shards of another division do for the rest.
    let said = ["1/3", "2/3", "3/3"].map(|third| shard(third).good());
    assert!(
        said.iter()
            .any(|said| !said.contains(" 0 of them run before"))
    );
    merge().good();
    assert_eq!(files(&folder.join("out")), whole);

    // A damaged file: its point is missing, and run again.
    let name = whole.keys().next().unwrap();
    let path = folder.join("out").join(name);
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 0x10;
    fs::write(&path, &bytes).unwrap();
    let warning = format!("warning: out/{name}: damaged; its point counts as not run");
    refused(&merge(), &[&warning, "1 of 12 points is missing"]);
    let again = [shard("1/2"), shard("2/2")];
    let warned = again.iter().filter(|ended| ended.stderr.contains(&warning));
    assert_eq!(warned.count(), 1);
    merge().good();
    assert_eq!(files(&folder.join("out")), whole);

    // The points of another scenario are other files.
    let other = FIXED.replace("jobs = 200", "jobs = 201");
    fs::write(folder.join("grid.toml"), other).unwrap();
    refused(&merge(), &["12 of 12 points are missing"]);
    let said = shard("1/2").good();
    assert!(said.contains(" 0 of them run before"), "{said}");
    let said = shard("1/2").good();
    assert!(!said.contains(" 0 of them run before"), "{said}");
    fs::write(folder.join("grid.toml"), FIXED).unwrap();
    merge().good();
    for (name, text) in &whole {
        assert_eq!(&files(&folder.join("out"))[name], text);
    }
}

#[test]
fn a_part_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("grid.toml"), FIXED).unwrap();
    for (options, part) in [
        ("--shard 5/4", "expected I/N with 1 <= I <= N, such as 1/4"),
        ("--shard 0/4", "expected I/N"),
        ("--shard 4", "expected I/N"),
        ("--shard 1/4 --merge", "cannot be used with '--merge'"),
        ("--merge", "points are missing"),
    ] {
        let ended = study(folder.path(), &format!("--save out {options}"));
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
    host_sim_in(folder, &format!("{line} --save whole")).good();
    for shard in 1..=3 {
        let options = format!("--save parts --shard {shard}/3");
        let said = host_sim_in(folder, &format!("{line} {options}")).good();
        assert!(said.starts_with(&format!("shard {shard} of 3: ")), "{said}");
    }
    let said = host_sim_in(folder, &format!("{line} --save parts --merge")).good();
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
