//! Files that commands write: those of others stay, and what is said of them is true.

use std::fs;

use crate::program::{host_sim_in, kill, wait_for_runs};

const SMALL: &str = "--mesh 8x8 --strategy ff --jobs 60";

#[test]
fn what_the_program_did_not_write_is_replaced_only_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(
        path("g.toml"),
        "mesh = \"8x8\"\njobs = 50\nreplications = 1\n",
    )
    .unwrap();
    fs::write(path("ops"), "alloc 1 2x2\n").unwrap();
    let one = format!("run {SMALL} --replications 1");
    for (line, file) in [
        (format!("{one} -o jobs.csv"), "jobs.csv"),
        (format!("{one} -o r.csv"), "r.csv"),
        (format!("{one} -o r.json"), "r.json"),
        (format!("{one} -o v.html"), "v.html"),
        (format!("{one} -o j.swf"), "j.swf"),
        (format!("{one} --draw map -o m.svg"), "m.svg"),
        (format!("{one} --draw timeline -o t.svg"), "t.svg"),
        (format!("{one} -o c.svg"), "c.svg"),
        (
            "replay ops --mesh 4x4 --quiet --draw map -o r.svg".to_owned(),
            "r.svg",
        ),
        (
            format!("compare {SMALL} --load .2,.3 --scheduler fcfs --replications 1 -o c.svg"),
            "c.svg",
        ),
        (
            format!("saturation {SMALL} --replications 1 -o s.svg"),
            "s.svg",
        ),
        (format!("view {SMALL} -o v.html"), "v.html"),
        (
            "run --scenario g.toml --save o --slurm 1".to_owned(),
            "o/slurm-array.sh",
        ),
        (
            "run --scenario g.toml --save o --slurm 1".to_owned(),
            "o/slurm-merge.sh",
        ),
    ] {
        host_sim_in(folder.path(), &line).good();
        // The same again replaces its own.
        host_sim_in(folder.path(), &line).good();
        let foreign = "step,value\n1,2\n";
        fs::write(path(file), foreign).unwrap();
        let ended = host_sim_in(folder.path(), &line);
        let reason = "it is there, and host-sim did not write it (expected another file, or \
                      --replace)\n";
        let is_said = ended.stderr.starts_with("error: ") && ended.stderr.ends_with(reason);
        assert!(ended.code == Some(2) && is_said, "{line}: {ended}");
        assert!(
            ended.stdout.is_empty() && ended.stderr.contains(file),
            "{line}: {ended}"
        );
        assert_eq!(fs::read_to_string(path(file)).unwrap(), foreign, "{line}");
        host_sim_in(folder.path(), &format!("{line} --replace")).good();
        assert_ne!(fs::read_to_string(path(file)).unwrap(), foreign, "{line}");
    }
}

#[test]
fn a_reproduction_leaves_unknown_files_of_its_names_alone() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["figure-03.svg", "chang-mohapatra.html"] {
        let path = folder.path().join("o").join(name);
        fs::create_dir_all(folder.path().join("o")).unwrap();
        fs::write(&path, "mine").unwrap();
        let line = "reproduce chang-mohapatra --figure 3 --save o";
        let ended = host_sim_in(folder.path(), line);
        let is_named = ended
            .stderr
            .contains(&format!("{name}: is there, and no record"));
        assert!(ended.code == Some(2) && is_named, "{ended}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn the_place_of_every_file_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (line, said) in [
        (
            format!("saturation {SMALL} --replications 1 -o s.svg"),
            "\npicture: s.svg\n",
        ),
        (
            format!("compare {SMALL} --load .3 --replications 1 -o c.svg"),
            "\npicture: c.svg\n",
        ),
        (
            format!("run {SMALL} --replications 1 -o jobs.csv"),
            "\njobs: jobs.csv (without the jobs before measuring begins, which --warmup 0 adds)\n",
        ),
    ] {
        let shown = host_sim_in(folder.path(), &line).good();
        assert!(shown.contains(said), "{line}: {shown}");
    }
}

/// A killed command leaves files without a name, and points that are whole.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_leaves_no_part_of_its_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run --mesh 8x8 --load .3 --jobs 16000000 --replications 1 -o jobs.csv";
    let child = crate::program::command(folder.path(), line);
    let mut child = { child }.spawn().unwrap();
    wait_for_runs(child.id());
    kill("-KILL", child.id());
    child.wait().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn one_replication_says_that_it_has_no_interval() {
    let folder = tempfile::tempdir().unwrap();
    let log = "1 0 -1 10 4 -1 -1 4 20 -1 1 1 1 -1 -1 1 -1 -1\n";
    fs::write(folder.path().join("log.swf"), log).unwrap();
    let one = "One replication has no interval: --replications 2 or more give one.\n";
    let of_log = "One run of a log has no interval: --resample weeks gives one.\n";
    for (line, note) in [
        (format!("run {SMALL}"), one),
        (format!("saturation {SMALL}"), one),
        (format!("compare {SMALL} --load .3"), one),
        ("run --mesh 8x8 --log log.swf".to_owned(), of_log),
        (
            "compare --mesh 8x8 --log log.swf --strategy ff".to_owned(),
            of_log,
        ),
    ] {
        let once = if note == one {
            format!("{line} --replications 1")
        } else {
            line.clone()
        };
        let shown = host_sim_in(folder.path(), &once).good();
        assert!(shown.contains(note), "{once}: {shown}");
        if note == one {
            let shown = host_sim_in(folder.path(), &format!("{line} --replications 2")).good();
            assert!(!shown.contains(" no interval"), "{line}: {shown}");
        }
    }
}

#[test]
fn a_machine_of_one_side_is_said_to_be_a_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), "mesh = 32\n").unwrap();
    let small = "--jobs 20 --replications 1 --strategy ff";
    let line = "note: mesh 32 is a line of 32 processors (a square is 32x32)\n";
    for (command, note) in [
        (format!("run --mesh 32 {small}"), line),
        (format!("run --scenario s.toml {small}"), line),
        (format!("saturation --mesh 32 {small}"), line),
        (
            format!("run --torus 9 {small}"),
            "note: torus 9 is a ring of 9 processors (a square is 9x9)\n",
        ),
        (format!("run --mesh 32x1 {small}"), ""),
    ] {
        let ended = host_sim_in(folder.path(), &command);
        assert_eq!(
            (ended.code, &*ended.stderr),
            (Some(0), note),
            "{command}: {ended}"
        );
    }
}
