//! Sweeps over several machines: shards, their merge, and the scripts for Slurm.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{Ended, command, host_sim_in};

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
            "1 of 12 points are missing",
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

#[cfg(unix)]
mod slurm {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    /// A program in the folder `bin`.
    fn program(folder: &Path, name: &str, script: &str) {
        let bin = folder.join("bin");
        fs::create_dir_all(&bin).unwrap();
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `slurm` with what is in `bin`, and nothing else, to be found.
    fn slurm(folder: &Path, options: &str) -> Ended {
        let mut command = command(folder, &format!("slurm {options}"));
        let output = command.env("PATH", folder.join("bin")).output().unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[test]
    fn the_scripts_do_what_one_machine_does() {
        let (folder, whole) = swept(FIXED);
        // A name that a shell would take apart.
        let folder = folder.path().join("it's $HERE; 100 %");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("grid.toml"), FIXED).unwrap();
        let said = slurm(&folder, "grid.toml --tasks 3 --sbatch=--partition=long").good();
        assert!(said.contains("sbatch --dependency=afterany:"), "{said}");
        let out = folder.join("out/sweep/grid");
        let script = |name: &str| out.join(format!("slurm-{name}.sh"));
        let array = fs::read_to_string(script("array")).unwrap();
        for line in ["array=1-3", "requeue", "partition=long", "cpus-per-task=1"] {
            assert!(
                array.contains(&format!("\n#SBATCH --{line}\n")),
                "{line}: {array}"
            );
        }
        assert!(
            array.contains("100 %%/out/sweep/grid/slurm-%A_%a.log"),
            "{array}"
        );
        let run = |name: &str, task: &str| {
            let mut shell = Command::new("sh");
            let ended = shell
                .arg(script(name))
                .env("SLURM_ARRAY_TASK_ID", task)
                .current_dir("/");
            assert!(ended.stdout(Stdio::null()).status().unwrap().success());
        };
        for task in ["3", "1", "2"] {
            run("array", task);
        }
        run("merge", "");
        assert_eq!(files(&out), whole);
    }

    /// Slurm splits a line at blanks that stand in no quotes.
    #[test]
    fn a_value_with_blanks_is_quoted() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("grid.toml"), FIXED).unwrap();
        let slurm = |option: &str| {
            let mut command = command(folder.path(), "slurm grid.toml --tasks 2 --output out");
            let output = command.arg(format!("--sbatch={option}")).output().unwrap();
            (
                output.status.code(),
                String::from_utf8(output.stderr).unwrap(),
            )
        };
        for (option, line) in [
            ("--comment=a b", "--comment=\"a b\""),
            ("--comment=a #b", "--comment=\"a #b\""),
            ("--comment=\"a b\"", "--comment=\"a b\""),
            ("--comment=a\\ b", "--comment=a\\ b"),
            ("--comment 'a b'", "--comment 'a b'"),
            ("-p long", "-p long"),
            ("--partition\tlong", "--partition\tlong"),
            ("--exclusive", "--exclusive"),
        ] {
            let (code, error) = slurm(option);
            assert_eq!(code, Some(0), "{option}: {error}");
            for name in ["array", "merge"] {
                let script = folder.path().join(format!("out/slurm-{name}.sh"));
                let script = fs::read_to_string(script).unwrap();
                assert!(script.contains(&format!("\n#SBATCH {line}\n")), "{script}");
            }
        }
        for wrong in [
            "--comment a b",
            "--comment=a \"b\"",
            "--comment=\"a b",
            "--comment=a\nb",
            "--exclusive -p",
            "long",
            "",
        ] {
            let (code, error) = slurm(wrong);
            assert!(
                code == Some(2) && error.starts_with("error: --sbatch "),
                "{wrong}: {error}"
            );
        }
    }

    #[test]
    fn array_and_merge_are_submitted() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("grid.toml"), FIXED).unwrap();
        let options = "grid.toml --tasks 12 --submit --output out";
        refused(
            &slurm(folder, options),
            &["sbatch: cannot be started", "expected on a machine"],
        );
        program(
            folder,
            "sbatch",
            "echo 'sbatch: error: invalid partition' >&2; exit 1",
        );
        refused(
            &slurm(folder, options),
            &["sbatch refuses", "slurm-array.sh: sbatch: error: invalid"],
        );
        program(folder, "sbatch", "echo hello");
        refused(
            &slurm(folder, options),
            &["answers \"hello\" (expected the number"],
        );
        program(
            folder,
            "sbatch",
            r#"echo "$@" >> sbatch.log; echo "17;cluster""#,
        );
        let said = slurm(folder, options).good();
        assert!(
            said.contains("array: job 17, 12 tasks\nmerge: job 17, after"),
            "{said}"
        );
        let log = fs::read_to_string(folder.join("sbatch.log")).unwrap();
        let out = folder.join("out").display().to_string();
        assert_eq!(
            log,
            format!(
                "--parsable {out}/slurm-array.sh\n--parsable --dependency=afterany:17 {out}/slurm-merge.sh\n"
            )
        );
        program(
            folder,
            "sbatch",
            r#"case "$*" in *after*) exit 1;; esac; echo 18"#,
        );
        refused(
            &slurm(folder, options),
            &["slurm-merge.sh", "the array is submitted: job 18"],
        );
    }

    #[test]
    fn a_killed_task_requeues_itself_and_others_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("grid.toml"), FIXED).unwrap();
        slurm(folder, "grid.toml --tasks 2 --output out").good();
        let script = fs::read_to_string(folder.join("out/slurm-array.sh")).unwrap();
        // In place of the program, one that ends as a killed one does, or with an error.
        program(folder, "scontrol", r#"echo "$@" >> scontrol.log"#);
        program(folder, "sleep", "");
        let own = format!("'{}'", env!("CARGO_BIN_EXE_host-sim"));
        let own = if script.contains(&own) {
            own
        } else {
            own.replace('\'', "")
        };
        for (code, restarts, requeued) in
            [("137", "", true), ("137", "10", false), ("2", "", false)]
        {
            let replaced = script.replace(&own, &format!("sh -c 'exit {code}'"));
            assert_ne!(replaced, script);
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", &replaced]).current_dir(folder);
            shell.env(
                "PATH",
                format!("{}:/bin:/usr/bin", folder.join("bin").display()),
            );
            shell
                .env("SLURM_JOB_ID", "5")
                .env("SLURM_ARRAY_TASK_ID", "1");
            if !restarts.is_empty() {
                shell.env("SLURM_RESTART_COUNT", restarts);
            }
            let ended = shell.status().unwrap();
            assert_eq!(ended.code().unwrap().to_string(), code);
            let log = fs::read_to_string(folder.join("scontrol.log")).unwrap_or_default();
            assert_eq!(log == "requeue 5\n", requeued, "{code} {restarts}: {log}");
            let _ = fs::remove_file(folder.join("scontrol.log"));
        }
    }

    #[test]
    fn what_cannot_be_an_array_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("grid.toml"), FIXED).unwrap();
        for (options, part) in [
            ("grid.toml", "--tasks <COUNT>"),
            ("--tasks 2", "<FILE.toml>"),
            ("grid.toml --tasks 0", "expected a whole number"),
            (
                "grid.toml --tasks 13",
                "--tasks 13 (expected at most the number of points, 12)",
            ),
            ("none.toml --tasks 2", "none.toml: cannot read"),
            (
                "grid.toml --tasks 2 --sbatch long",
                "expected an option in one line",
            ),
            ("grid.toml --tasks 2 --reproduce liu", "cannot be used with"),
        ] {
            let ended = slurm(folder.path(), options);
            assert!(
                ended.code == Some(2) && ended.stderr.contains(part),
                "{options}: {ended}"
            );
        }
        assert!(!folder.path().join("out/slurm-array.sh").exists());
        slurm(folder.path(), "--reproduce liu --tasks 2").good();
        let script = fs::read_to_string(folder.path().join("out/liu/slurm-merge.sh")).unwrap();
        assert!(
            script.contains(" reproduce liu --full --output "),
            "{script}"
        );
    }
}
