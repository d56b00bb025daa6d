//! Every mistake ends with exit code 2 and says on standard error what was wrong and what was
//! expected.

use std::fs;

use crate::program::{command, host_sim_in};

/// Mistakes that the command line's reader finds: the message, then a hint or the usage. Others, as
/// a whole, are in `golden/errors.golden`.
#[test]
fn wrong_options_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    for (line, parts) in [
        ("run --mesh 0x5", &["dimension 0 is 0", "expected WxH"][..]),
        ("run --mesh 1048576", &["expected WxH", "each 1 to 65535"]),
        ("run --jobs 4294967296", &["a whole number, 1 to 16777216"]),
        (
            "saturation --jobs 16777217",
            &["a whole number, 1 to 16777216"],
        ),
        (
            "compare --jobs 4294967296",
            &["a whole number, 1 to 16777216"],
        ),
        (
            "run --messages 4294967296",
            &["a whole number, 1 to 4294967295"],
        ),
        ("run --threads 4294967296", &["a whole number, 1 to 65535"]),
        ("run --torus 8by8", &["'8by8' for '--torus", "expected WxH"]),
        (
            "run --machine mesh-8x8-wrap-x",
            &[
                "'mesh-8x8-wrap-x' for '--machine",
                "expected a machine as in \"mesh 16x22\"",
            ],
        ),
        (
            "run --strategy ff,zzz",
            &["unknown strategy \"zzz\"", "known: first-fit (ff)"],
        ),
        (
            "run --strategy random:seed=x",
            &["expected random:seed=SEED, a whole number from 1"],
        ),
        ("run --side-range 9..3", &["expected MIN..MAX"]),
        ("run --load nan", &["expected a number over 0"]),
        (
            "run --load 40",
            &["expected a fraction of the machine, over 0 and below 10 (40 % is 0.4)"],
        ),
        ("compare --load 30,40", &["(30 % is 0.3)"]),
        ("run --log x --log-load 70", &["(70 % is 0.7)"]),
        (
            "run --strategy ff, fsl",
            &["separated by commas, without blanks: --strategy ff,fsl\n"],
        ),
        (
            "run --strategy ff,",
            &["--strategy are separated by commas, without blanks"],
        ),
        (
            "compare --load .3 .4 --jobs 10",
            &["separated by commas, without blanks: --load .3,.4\n"],
        ),
        (
            "compare --load=.3 .4",
            &["separated by commas, without blanks: --load .3,.4\n"],
        ),
        (
            "run --load .3 .4",
            &["tip: several values are separated by commas, without blanks: --load .3,.4\n"],
        ),
        (
            "run --scheduler fcfs, easy",
            &[
                "tip: several values are separated by commas, without blanks: --scheduler fcfs,easy\n",
            ],
        ),
        ("run --traffic-ratio 0", &["expected a number over 0"]),
        (
            "run --pattern all-to-al",
            &["\"all-to-al\"", "did you mean \"all-to-all\"?"],
        ),
        ("run --pattern ring --flits 0", &["1 to 65536"]),
        ("run --processors 16", &["known: exponential:MEAN"]),
        (
            "run --io-nodes front --batch 3",
            &["unknown side \"front\" (known: left, right"],
        ),
        (
            "run --io communications=1 --pattern ring",
            &["cannot be used with"],
        ),
        ("run --pattern ring --routing-delay -1", &["0 to 65536"]),
        ("run --pattern ring --messages 0", &["1 to 4294967295"]),
        (
            "run --pattern ring --blocking=2",
            &["invalid value '2' for '--blocking", "true, false"],
        ),
        (
            "run --pattern ring --service-mean 5",
            &["cannot be used with"],
        ),
        ("run --arrival-rate 1 --load .5", &["cannot be used with"]),
        ("run --arrival-rate 0", &["expected a number over 0"]),
        ("run --jobs 1.5", &["a whole number"]),
        ("run --replications 0", &["1 to 1000000"]),
        (
            "run --replications 4000000000",
            &["a whole number, 1 to 1000000"],
        ),
        (
            "run --until-rel-error .1 --max-replications 4000000000",
            &["a whole number, 10 to 1000000"],
        ),
        (
            "saturation --until-abs-error .1 --max-replications 9",
            &["a whole number, 10 to 1000000"],
        ),
        ("compare --replications 4000000000", &["1 to 1000000"]),
        ("saturation --replications 4000000000", &["1 to 1000000"]),
        ("reproduce liu --replications 4000000000", &["1 to 1000000"]),
        (
            "saturation --threads -1",
            &["'-1' for '--threads", "1 to 65535"],
        ),
        (
            "run --service exponential:1e308",
            &["exponential:1e308: expected a mean of 0.001 or more"],
        ),
        (
            "run --strategy fls",
            &["unknown strategy \"fls\"; did you mean \"fsl\"?"],
        ),
        ("run --shape square", &["near-square"]),
        ("run --backend tcp:host", &["expected tcp:HOST:PORT"]),
        (
            "run --backend unix:",
            &["expected tcp:HOST:PORT, unix:PATH"],
        ),
        (
            "run --backend serial:/dev/x@fast",
            &["expected serial:DEVICE@BAUD"],
        ),
        (
            "saturation --load .4",
            &[
                "'--load' found",
                "tip: --load is an option of run, view, watch or compare",
            ],
        ),
        (
            "run --log x --side-lengths uniform",
            &["cannot be used with '--side-lengths"],
        ),
        (
            "run --log x --load .4",
            &[
                "cannot be used with '--load",
                "tip: --log-load sets the load of a log",
            ],
        ),
        (
            "run --machine tpu-v4 --mesh 4x4",
            &["tip: give one of them: --m"],
        ),
        (
            "run --replications 3 --until-rel-error .1",
            &["tip: give one of them: --"],
        ),
        (
            "run --save f --shard 1/2 --merge",
            &["tip: --merge runs nothing: give it to a command of its own"],
        ),
        (
            "run --save f --slurm 2 --merge",
            &["tip: the scripts that --slurm writes run the shards"],
        ),
        (
            "run s.toml",
            &["tip: --scenario s.toml is an option of run, view, watch, compare or"],
        ),
        ("run a/b.swf.gz", &["tip: --log a/b.swf.gz is an option of"]),
        (
            "run --log x --log-load .5 --pattern ring",
            &["cannot be used with"],
        ),
        ("run --log x --from 3weeks", &["or a number with a unit"]),
        ("run --log x --to -1", &["0 to below 2251799814"]),
        ("run --log x --log-load 0", &["over 0"]),
        ("run --log x --resample days", &["known: weeks"]),
        (
            "run --replications 3 --max-replications 30",
            &["cannot be used with '--max-replications"],
        ),
        ("replay", &["<OPS>"]),
        (
            "replay ops --strategy ff,as",
            &["unknown strategy \"ff,as\""],
        ),
        ("compare --load 0.4,x", &["expected a number over 0"]),
        ("list --format yaml", &["possible values: table, json]"]),
        ("simulate", &["unrecognized subcommand 'simulate'"]),
        ("", &["Usage: host-sim"]),
    ] {
        let ended = host_sim_in(folder.path(), line);
        assert!(
            ended.code == Some(2) && ended.stdout.is_empty(),
            "{line}: {ended}"
        );
        for part in parts {
            assert!(
                ended.stderr.contains(part),
                "{line}: {part} is missing in {ended}"
            );
        }
    }
}

/// Mistakes that show later: exactly one line.
#[test]
fn what_cannot_be_done_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder.svg")).unwrap();
    let file = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
    file("plain", b"");
    file("unknown.toml", b"mesh = \"8x8\"\n\nrelications = 3\n");
    file("contradiction.toml", b"load = 0.4\ntraffic-ratio = 1.0\n");
    file("value.toml", b"# a comment\nmesh = \"8by8\"\n");
    file("syntax.toml", b"mesh = \"8x8\"\nload 0.4\n");
    file("bytes.toml", b"\xff\xfe");
    file("help.toml", b"help = \"x\"\n");
    file("cap.toml", b"max-replications = 30\n");
    file("log.swf", b"; Computer: none\n1 0 0 ten 4\n");
    file("empty.swf", b"; Computer: none\n");
    file(
        "large.swf",
        b"1 0 -1 10 70 -1 -1 70 -1 -1 1 1 1 -1 -1 -1 -1 -1\n",
    );
    for (line, parts) in [
        (
            "run --scenario contradiction.toml",
            &["contradiction.toml:2: `traffic-ratio` contradicts `load` in line 1"][..],
        ),
        ("run --scenario syntax.toml", &["syntax.toml:2: "]),
        (
            "run --scenario bytes.toml",
            &["bytes.toml: cannot read the scenario"],
        ),
        (
            "run --scenario help.toml",
            &["help.toml:1: unknown key \"help\""],
        ),
        (
            "run --scenario cap.toml",
            &[
                "cap.toml:1: `max-replications`",
                "requires `until-rel-error`",
            ],
        ),
        ("run --log .", &[".: "]),
        ("run --log log.swf", &["log.swf:2: "]),
        ("run --log empty.swf", &["empty.swf: the log has no jobs"]),
        (
            "run --log large.swf --mesh 8x8",
            &[
                "large.swf: no job fits",
                "smallest of 1 job has 70 processors",
            ],
        ),
        ("run --flits 8", &["--flits requires --pattern"]),
        ("run --blocking", &["--blocking requires --pattern"]),
        (
            "run --pattern ring --arrival-rate 0.2",
            &[
                "the arrival rate (--arrival-rate) is 0.2",
                "at most 0.1 jobs a cycle",
            ],
        ),
        (
            "run --pattern ring --arrival-rate 0.01 --warmup .1",
            &["--warmup requires --measure arrivals"],
        ),
        (
            "run --pattern ring --arrival-rate 0.01 --cycles-per-second 9",
            &["--cycles-per-second requires --log"],
        ),
        (
            "run --arrival-rate 1e6",
            &[
                "the arrival rate (--arrival-rate) is 1000000",
                "at most 100000 jobs a second",
            ],
        ),
        (
            "run --service-mean 1e-8",
            &["the service time (--service-mean", "0.001 or more"],
        ),
        (
            "run --load 1e-300 --jobs 10",
            &["the load (--load) is 1e-300: ", "10 jobs arrive within"],
        ),
        (
            "compare --load 1e-300",
            &["the load (--load) is 1e-300: ", "40000 jobs arrive within"],
        ),
        (
            "run --arrival-rate 1e-300",
            &["the arrival rate (--arrival-rate) is 1e-300: "],
        ),
        (
            "run --service-mean 1e308 --traffic-ratio 1e-3",
            &["(--service-mean or --service) is exponential:1e308: "],
        ),
        (
            "run --slowdown-threshold 1e-300",
            &["(--slowdown-threshold) is 1e-300: expected 0.000001 to 2251799814 seconds"],
        ),
        (
            "run --side-lengths normal:mean=1e308,sd=1",
            &["normal:mean=1e308,sd=1 is 1 to 64"],
        ),
        ("run --partition 2", &["--partition requires --log"]),
        ("run --from 2w", &["error: --from requires --log"]),
        ("run --resample weeks", &["--resample requires --log"]),
        (
            "run --log x --from 2w --to 14d",
            &["--to is 2w, not after --from, 2w"],
        ),
        (
            "run --log large.swf --replications 2",
            &["--replications with --log requires --resample weeks"],
        ),
        (
            "run --log x --until-rel-error .1",
            &["until-rel-error requires independent replications"],
        ),
        (
            "run --log x --resample weeks --until-rel-error .1",
            &[
                "until-rel-error requires independent replications",
                "do not narrow an interval",
                "expected --replications and --resample weeks instead",
            ],
        ),
        (
            "run --log x --resample weeks --max-replications 20",
            &["max-replications requires independent replications"],
        ),
        (
            "run --shape near-square",
            &["--shape requires --log, --processors or --model"],
        ),
        (
            "run --io communications=4 --mesh 8x8",
            &["not known beforehand", "expected --arrival-rate or --batch"],
        ),
        (
            "run --io-nodes left --torus 8x8 --batch 3",
            &["torus 8x8", "expected a two-dimensional mesh"],
        ),
        (
            "run --mesh 1024x4 --io network=wormhole:1 --batch 1",
            &["mesh 1024x4", "expected sides of at most 1024", "1025x4"],
        ),
        (
            "run --mesh 8x16 --side-range 8,17",
            &["--side-range goes to 17 in dimension 1", "at most 16"],
        ),
        (
            "run --mesh 8x16 --side-range 1..9",
            &["--side-range goes to 9 in dimension 0", "at most 8"],
        ),
        (
            "run --mesh 8x8x8 --side-range 1..4,1..4",
            &[
                "--side-range has 2 ranges",
                "expected one for all dimensions, or 3 on mesh 8x8x8",
            ],
        ),
        (
            "run --mesh 4x4 --side-lengths uniform-decreasing",
            &["at least 8"],
        ),
        (
            "run --mesh 9x9 --side-lengths normal:mean=500,sd=1",
            &["normal:mean=500,sd=1"],
        ),
        (
            "run --backend serial:no-such-device",
            &["serial:no-such-device@115200: cannot open"],
        ),
        ("replay missing", &["missing: cannot open"]),
        ("replay .", &[".: cannot read"]),
        (
            "replay plain --backend serial:no-such-device",
            &["cannot open"],
        ),
        (
            "compare --jobs 10 -o folder.svg",
            &["folder.svg: cannot write the picture"],
        ),
        (
            "compare --jobs 10 -o plain/p.svg",
            &["plain/p.svg: cannot write the picture"],
        ),
    ] {
        let ended = host_sim_in(folder.path(), line);
        assert!(
            ended.code == Some(2) && ended.stdout.is_empty(),
            "{line}: {ended}"
        );
        assert!(
            ended.stderr.starts_with("error: ") && ended.stderr.lines().count() == 1,
            "{line}: {ended}"
        );
        for part in parts {
            assert!(
                ended.stderr.contains(part),
                "{line}: {part} is missing in {ended}"
            );
        }
    }
}

/// An option that has no effect is no silent one.
#[test]
fn options_that_a_command_would_ignore_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let trace = "submit,run,processors\n0,10,2\n5,10,2\n";
    fs::write(folder.path().join("t.csv"), trace).unwrap();
    let log = "1 0 -1 10 2 -1 -1 2 20 -1 1 1 1 -1 -1 1 -1 -1\n";
    fs::write(folder.path().join("log.swf"), log).unwrap();
    for (line, part) in [
        (
            "log t.csv --partition 3",
            "t.csv:1: a log in CSV has no partitions",
        ),
        (
            "log log.swf --columns submit=a --partition 3",
            "log.swf:1: a log in the Standard Workload Format has no columns",
        ),
        ("view --slowdown-threshold 3", "'--slowdown-threshold'"),
    ] {
        let ended = host_sim_in(folder.path(), line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(part),
            "{line}: {ended}"
        );
    }
    host_sim_in(
        folder.path(),
        "log log.swf --machine mesh-8x8-wrap-0 --partition 1",
    )
    .good();
}

#[test]
fn help_names_every_option_with_its_default() {
    let folder = tempfile::tempdir().unwrap();
    for (command, parts) in [
        (
            "run",
            &[
                "--mesh <WxH...>",
                "64x64",
                "--machine <MACHINE>",
                "4-ary 3-cube",
                "--dims",
                "--service <DISTRIBUTION>",
                "--until-rel-error",
                "--partition",
                "in seconds",
                "[default: 10]",
            ][..],
        ),
        (
            "replay",
            &[
                "alloc ID AxBx...",
                "fault X Y",
                "--quiet",
                "default: first-fit",
            ],
        ),
        ("compare", &["--output", "--load", "about ten seconds"]),
        ("list", &["--format", "[default: table]"]),
        ("replay", &["default: no waiting", "line by line"]),
    ] {
        let help = host_sim_in(folder.path(), &format!("{command} --help")).good();
        for part in parts {
            assert!(
                help.contains(part),
                "{command}: {part} is missing in {help}"
            );
        }
    }
    let help = host_sim_in(folder.path(), "--help").good();
    for code in [
        "0    done",
        "1    ",
        "2    an invalid option or file",
        "`replay -` stops at an invalid line, after the operations before it",
        "130  after Ctrl-C",
    ] {
        assert!(help.contains(code), "{code} is missing in {help}");
    }
    // In a release build from a clone, the revision follows the version.
    let version = host_sim_in(folder.path(), "--version").good();
    let rest = version.strip_prefix(concat!("host-sim ", env!("CARGO_PKG_VERSION")));
    let rest = rest.unwrap_or_else(|| panic!("{version}")).trim_end();
    let revision = rest
        .strip_prefix(" (")
        .and_then(|rest| rest.strip_suffix(')'));
    let is_revision = |text: &str| text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(
        rest.is_empty() || revision.is_some_and(is_revision),
        "{version}"
    );
}

/// The package for Python tests the rest of `--policy`.
#[test]
fn policies_without_python_say_what_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path(), "run --policy own.py --strategy mine");
    let ended = command.env("PATH", folder.path()).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    for part in ["error: --policy: python", "`pip install ./bindings/python`"] {
        assert!(said.contains(part), "{said}");
    }
}
