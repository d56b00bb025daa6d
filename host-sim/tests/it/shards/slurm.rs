//! `--slurm`: its scripts, run without a cluster, and the command that submits them.

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

/// The program with what is in `bin`, and nothing else, to be found.
fn slurm(folder: &Path, options: &str) -> Ended {
    let mut command = command(folder, options);
    let output = command.env("PATH", folder.join("bin")).output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_scripts_do_what_one_machine_does() {
    let (folder, whole) = studied(FIXED);
    // A name that a shell would take apart.
    let folder = folder.path().join("it's $HERE; 100 %");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("grid.toml"), FIXED).unwrap();
    let said = slurm(
        &folder,
        "run --scenario grid.toml --save out/it --slurm 3 --sbatch=--partition=long",
    )
    .good();
    assert!(said.contains("sbatch --dependency=afterany:"), "{said}");
    let out = folder.join("out/it");
    let script = |name: &str| out.join(format!("slurm-{name}.sh"));
    let array = fs::read_to_string(script("array")).unwrap();
    for line in ["array=1-3", "requeue", "partition=long", "cpus-per-task=1"] {
        assert!(
            array.contains(&format!("\n#SBATCH --{line}\n")),
            "{line}: {array}"
        );
    }
    assert!(array.contains("100 %%/out/it/slurm-%A_%a.log"), "{array}");
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
        let mut command = command(
            folder.path(),
            "run --scenario grid.toml --save out --slurm 2",
        );
        let output = command.arg(format!("--sbatch={option}")).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for (option, line) in [
        ("--comment=a b", "--comment=\"a b\""),
        ("--comment=a #b", "--comment=\"a #b\""),
        ("--comment=a#b", "--comment=\"a#b\""),
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
        "--comment #5",
        "-p#x",
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
fn the_last_line_submits_array_and_merge() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("grid.toml"), FIXED).unwrap();
    let said = slurm(folder, "run --scenario grid.toml --save out --slurm 12").good();
    program(
        folder,
        "sbatch",
        r#"echo "$@" >> sbatch.log; echo "17;cluster""#,
    );
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", said.lines().last().unwrap()]);
    shell.current_dir(folder).env("PATH", folder.join("bin"));
    assert!(shell.status().unwrap().success(), "{said}");
    let log = fs::read_to_string(folder.join("sbatch.log")).unwrap();
    let out = folder.join("out").display().to_string();
    assert_eq!(
        log,
        format!("--parsable {out}/slurm-array.sh\n--dependency=afterany:17 {out}/slurm-merge.sh\n")
    );
}

#[test]
fn a_killed_task_requeues_itself_and_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("grid.toml"), FIXED).unwrap();
    slurm(folder, "run --scenario grid.toml --save out --slurm 2").good();
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
    for (code, restarts, requeued) in [("137", "", true), ("137", "10", false), ("2", "", false)] {
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
        ("--slurm 2", "require --save FOLDER"),
        ("--save out --slurm 0", "expected a whole number"),
        (
            "--save out --slurm 13",
            "--slurm 13 (expected at most the number of points, 12)",
        ),
        ("--save out --sbatch=-x", "--slurm <N>"),
        (
            "--save out --slurm 2 --sbatch long",
            "expected an option in one line",
        ),
        ("--save out --slurm 2 --merge", "cannot be used with"),
    ] {
        let line = format!("run --scenario grid.toml {options}");
        let ended = slurm(folder.path(), &line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(part),
            "{options}: {ended}"
        );
    }
    assert!(!folder.path().join("out/slurm-array.sh").exists());
    slurm(folder.path(), "reproduce liu --full --slurm 2 --threads 4").good();
    let script = fs::read_to_string(folder.path().join("out/liu/slurm-merge.sh")).unwrap();
    assert!(
        script.ends_with(" reproduce liu --full --merge\n"),
        "{script}"
    );
}
