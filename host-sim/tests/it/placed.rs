//! What is wrong with a scenario file is said with the file and the line of the value.

use std::fs;

use crate::program::host_sim_in;

/// The text of a file, more of the command line, where the error is, and parts of it.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

fn check(command: &str, cases: &[Case]) {
    let folder = tempfile::tempdir().unwrap();
    for &(text, more, place, parts) in cases {
        fs::write(folder.path().join("s.toml"), text).unwrap();
        let ended = host_sim_in(folder.path(), &format!("{command} s.toml {more}"));
        assert!(
            ended.code == Some(2) && ended.stdout.is_empty(),
            "{text:?} {more}: {ended}"
        );
        assert!(
            ended.stderr.starts_with(&format!("error: {place}")),
            "{text:?} {more}: {place}: {ended}"
        );
        for part in parts {
            assert!(
                ended.stderr.contains(part),
                "{text:?} {more}: {part}: {ended}"
            );
        }
        assert_eq!(ended.stderr.lines().count(), 1, "{text:?} {more}: {ended}");
    }
}

#[test]
fn of_a_run_wherever_the_error_is_found() {
    check(
        "run --scenario",
        &[
            (
                "mesh = \"8x8\"\njobs = 40\n\nload = 1e-20\n",
                "",
                "s.toml:4: the load (`load`) is 1e-20: expected one by which 40 jobs arrive",
                &[],
            ),
            (
                "jobs = 40\nload = 1e9\n",
                "",
                "s.toml:2: load = 1e9: expected a fraction of the machine, over 0 and below 10",
                &[],
            ),
            (
                "\nside-lengths = \"normal:mean=1e300,sd=1\"",
                "",
                "s.toml:2: the probability that a side from normal:mean=1e300,sd=1 is 1 to 64 (`side-lengths`) is ",
                &[],
            ),
            (
                "mesh = \"8x8\"\n\nstrategy = \"tc,fsl,sniffing\"",
                "",
                "s.toml:3: `strategy` sniffing serves k-ary n-cubes, not mesh 8x8",
                &[],
            ),
            (
                "jobs = 9\nestimates = \"log\"",
                "",
                "s.toml:2: the estimate of run times (`estimates`) is log: ",
                &["without a log"],
            ),
            (
                "torus = \"8x8\"\nbatch = 3\nio-nodes = \"left\"",
                "",
                "s.toml:3: the machine with I/O nodes",
                &["torus 8x8"],
            ),
            (
                "mesh = \"8x8\"\nslowdown-threshold = 1e-300",
                "",
                "s.toml:2: the threshold of the bounded slowdown (`slowdown-threshold`) is 1e-300",
                &[],
            ),
            (
                "mesh = \"8x8\"\nservice = \"exponential:1e-8\"",
                "",
                "s.toml:2: service = \"exponential:1e-8\": the service time is exponential:1e-8: expected a mean of 0.001",
                &[],
            ),
            (
                "jobs = 9\nlog = \"missing.swf\"",
                "",
                "s.toml:2: missing.swf: ",
                &[],
            ),
            (
                "mesh = \"8x8\"\nfrom = \"2w\"",
                "",
                "s.toml:2: `from` requires `log`",
                &[],
            ),
            (
                "log = \"l\"\nfrom = \"90s\"\nto = \"80s\"",
                "",
                "s.toml:3: `to` is 80s, not after `from`, 90s",
                &[],
            ),
            // The option of the command line is wrong where it is the one that the error is about.
            ("mesh = \"8x8\"", "--from 2w", "--from requires --log", &[]),
            (
                "side-lengths = \"uniform-decreasing\"",
                "--mesh 4x4",
                "s.toml:1: the number of side lengths for uniform-decreasing",
                &[],
            ),
            (
                "load = 0.4",
                "--load 9.9e-300",
                "the load (--load) is 9.9e-300: ",
                &[],
            ),
            (
                "replications = 2.5",
                "",
                "s.toml:1: replications = 2.5: expected",
                &[],
            ),
            (
                "strategy = [\n  \"ff\",\n  \"fits\",\n]",
                "",
                "s.toml:3: strategy = \"fits\": unknown strategy",
                &[],
            ),
            (
                "mesh = \"8x8\"\nthreads = 2",
                "",
                "s.toml:2: `threads` is an option of the command line only (expected --threads there)",
                &[],
            ),
            (
                "draw = \"map\"",
                "",
                "s.toml:1: `draw` is an option of the command line",
                &[],
            ),
            (
                "output = \"j\"",
                "",
                "s.toml:1: `output` is an option of the command",
                &[],
            ),
            (
                "scenario = \"x\"",
                "",
                "s.toml:1: `scenario` is an option of the command",
                &[],
            ),
            (
                "jobs = 4294967296",
                "",
                "s.toml:1: jobs = 4294967296: expected a whole number, 1 to 16777216",
                &[],
            ),
        ],
    );
}

#[test]
fn of_a_point_with_its_values() {
    check(
        "run --scenario",
        &[
            (
                "jobs = 40\n\nmesh = [\"8x8\"]\nload = [\n  0.3,\n  1e-20,\n]\n",
                "",
                "s.toml:4: the load (`load`) is 1e-20: expected one by which 40 jobs arrive",
                &["(load = 1e-20)"],
            ),
            (
                "load = [\n  0.3,\n  0.4,\n  -1,\n]\n",
                "",
                "s.toml:4: load = -1: expected a number over 0",
                &[],
            ),
            (
                "mesh = [\n  \"8x8\",\n  \"4x4\",\n]\nside-lengths = [\"uniform-decreasing\"]",
                "",
                "s.toml:5: the number of side lengths for uniform-decreasing (`side-lengths`) is 4",
                &["(mesh = 4x4)"],
            ),
            (
                "format = \"json\"\nload = [0.3]",
                "",
                "s.toml:1: `format` is an option of the command line only (expected --format there)",
                &[],
            ),
            (
                "shard = \"1/2\"\nload = [0.3]",
                "",
                "s.toml:1: `shard` is an option of the command line only (expected --shard there)",
                &[],
            ),
        ],
    );
}
