use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use crate::program::{Ended, command, host_sim_fed, host_sim_in};

fn replay(options: &str, operations: &str) -> Ended {
    host_sim_fed(Path::new("."), &format!("replay - {options}"), operations)
}

#[test]
fn every_operation_gives_its_line() {
    let operations = "\
# comments and blank lines give none

alloc 17 4 3   # a remark
alloc 18 5 5
alloc 19 4 1
alloc 17 1 1
alloc 20 0 9
alloc 21 9 1
\talloc  22   1 1\r
fault 0 0
fault 0 0
free 17
free 17
free 18
repair 0 0
repair 3 3
alloc 23 4 4
";
    let expected = r#"{"line":3,"op":"alloc","id":17,"granted":[{"x":0,"y":0,"w":4,"h":3}]}
{"line":4,"op":"alloc","id":18,"error":"never-fits"}
{"line":5,"op":"alloc","id":19,"granted":[{"x":0,"y":3,"w":4,"h":1}]}
{"line":6,"op":"alloc","id":17,"error":"duplicate-job"}
{"line":7,"op":"alloc","id":20,"error":"empty-request"}
{"line":8,"op":"alloc","id":21,"error":"never-fits"}
{"line":9,"op":"alloc","id":22,"error":"too-few-free"}
{"line":10,"op":"fault","block":{"x":0,"y":0,"w":1,"h":1},"changed":1,"jobs":[17]}
{"line":11,"op":"fault","block":{"x":0,"y":0,"w":1,"h":1},"changed":0,"jobs":[17]}
{"line":12,"op":"free","id":17,"released":12}
{"line":13,"op":"free","id":17,"error":"unknown-job"}
{"line":14,"op":"free","id":18,"error":"unknown-job"}
{"line":15,"op":"repair","block":{"x":0,"y":0,"w":1,"h":1},"changed":1,"jobs":[]}
{"line":16,"op":"repair","block":{"x":3,"y":3,"w":1,"h":1},"changed":0,"jobs":[19]}
{"line":17,"op":"alloc","id":23,"error":"too-few-free"}
"#;
    assert_eq!(
        replay("--mesh 4x4 --strategy ff", operations).good(),
        expected
    );
}

#[test]
fn a_gang_waits_for_places_of_all_its_slices() {
    let operations = "alloc 1 8 3\nalloc 2 3x 5x2\nfree 1\n";
    let expected = r#"{"line":1,"op":"alloc","id":1,"granted":[{"x":0,"y":0,"w":8,"h":3}]}
{"line":2,"op":"alloc","id":2,"waits":0,"reason":"gang-incomplete"}
{"line":3,"op":"free","id":1,"released":24}
{"line":3,"op":"grant","id":2,"granted":[{"x":0,"y":0,"w":5,"h":2},{"x":0,"y":2,"w":5,"h":2},{"x":0,"y":4,"w":5,"h":2}]}
"#;
    let options = "--mesh 8x8 --strategy ff --scheduler fcfs";
    assert_eq!(replay(options, operations).good(), expected);
    let map = replay(&format!("{options} --quiet --draw map"), operations).good();
    assert!(map.contains("46.9 % busy, 34 free"), "{map}");
}

/// Job 4 waits as if it were a line earlier, job 5 as if it were three lines earlier: each behind
/// the job of that line.
#[test]
fn an_urgent_job_waits_before_others() {
    let operations = "alloc 1 4x4\nalloc 2 4x4\nalloc 3 4x4\nalloc 4 4x4 priority=1\n\
                      {\"op\":\"alloc\",\"id\":5,\"shape\":[4,4],\"priority\":3}\nfree 1\n";
    let expected = r#"{"line":1,"op":"alloc","id":1,"granted":[{"x":0,"y":0,"w":4,"h":4}]}
{"line":2,"op":"alloc","id":2,"waits":0,"reason":"too-few-free"}
{"line":3,"op":"alloc","id":3,"waits":1,"reason":"not-its-turn"}
{"line":4,"op":"alloc","id":4,"waits":2,"reason":"not-its-turn"}
{"line":5,"op":"alloc","id":5,"waits":1,"reason":"not-its-turn"}
{"line":6,"op":"free","id":1,"released":16}
{"line":6,"op":"grant","id":2,"granted":[{"x":0,"y":0,"w":4,"h":4}]}
"#;
    let options = "--mesh 4x4 --strategy ff --scheduler fcfs";
    assert_eq!(replay(options, operations).good(), expected);
}

/// Job 1 has the faulty processor, as there is no other place; job 2 tolerates it in vain.
#[test]
fn a_job_gets_what_it_tolerates() {
    let operations = "fault 1 2\nalloc 1 4x4 tolerate=1\n\
                      {\"op\":\"alloc\",\"id\":2,\"shape\":[4,4],\"tolerate\":255}\n\
                      alloc 3 4x4\nfree 1\nfree 2\n";
    let expected = r#"{"line":1,"op":"fault","block":{"x":1,"y":2,"w":1,"h":1},"changed":1,"jobs":[]}
{"line":2,"op":"alloc","id":1,"granted":[{"x":0,"y":0,"w":4,"h":4}]}
{"line":3,"op":"alloc","id":2,"waits":0,"reason":"too-few-free"}
{"line":4,"op":"alloc","id":3,"waits":1,"reason":"faults"}
{"line":5,"op":"free","id":1,"released":16}
{"line":5,"op":"grant","id":2,"granted":[{"x":0,"y":0,"w":4,"h":4}]}
{"line":6,"op":"free","id":2,"released":16}
"#;
    let options = "--mesh 4x4 --strategy ff --scheduler fcfs";
    assert_eq!(replay(options, operations).good(), expected);
    for wrong in ["256", "-1", "one"] {
        let refused = replay(options, &format!("alloc 1 4x4 tolerate={wrong}\n"));
        let named = refused.stderr.contains(wrong);
        let is_said = refused.stderr.contains("a number of faulty processors");
        assert!(named && is_said, "{refused}");
    }
}

/// First come, first served: 3 would fit beside 1, but 2 is before it.
#[test]
fn with_a_scheduler_jobs_wait_and_are_granted_later() {
    let operations = "alloc 1 4 3\nalloc 2 4 4\nalloc 3 4 1\nfree 1\nfree 2\nalloc 4 4 4\nfree 4\n";
    let expected = r#"{"line":1,"op":"alloc","id":1,"granted":[{"x":0,"y":0,"w":4,"h":3}]}
{"line":2,"op":"alloc","id":2,"waits":0,"reason":"too-few-free"}
{"line":3,"op":"alloc","id":3,"waits":1,"reason":"not-its-turn"}
{"line":4,"op":"free","id":1,"released":12}
{"line":4,"op":"grant","id":2,"granted":[{"x":0,"y":0,"w":4,"h":4}]}
{"line":5,"op":"free","id":2,"released":16}
{"line":5,"op":"grant","id":3,"granted":[{"x":0,"y":0,"w":4,"h":1}]}
{"line":6,"op":"alloc","id":4,"waits":0,"reason":"too-few-free"}
{"line":7,"op":"free","id":4,"released":0}
"#;
    let options = "--mesh 4x4 --strategy ff --scheduler";
    assert_eq!(
        replay(&format!("{options} fcfs"), operations).good(),
        expected
    );
    let bypassing = replay(&format!("{options} modified-fcfs:static=100"), operations).good();
    assert!(
        bypassing.contains(r#""op":"alloc","id":3,"granted""#),
        "{bypassing}"
    );
    let counts = replay(&format!("{options} fcfs --quiet"), operations).good();
    let count = |name: &str| {
        counts
            .lines()
            .find(|line| line.starts_with(name))
            .map(|line| line.split_whitespace().last().unwrap().to_owned())
    };
    assert_eq!(count("granted").as_deref(), Some("3"), "{counts}");
    assert_eq!(count("waited").as_deref(), Some("3"), "{counts}");
}

#[test]
fn words_are_short_for_objects() {
    let words = "\
alloc 1 4x3 est=9 lease=3
alloc 2 4 4
alloc 3 2x1
lease 3 2
alloc 4 2X 1 1
alloc 5 2x chips=1
alloc 6 2x 4x4
fault 0 0..1
repair * 1
free 2
";
    let objects = r#"{"op":"alloc","id":1,"shape":"4x3","estimate":9,"lease":3}
{"op":"alloc","id":2,"shape":[4,4]}
 { "shape": [2, 1], "id": 3, "op": "alloc" }
{"op":"lease","id":3,"time":2}
{"op":"alloc","id":4,"shape":"2x 1x1"}
{"op":"alloc","id":5,"chips":"2x 1"}
{"op":"alloc","id":6,"shape":"2x 4x4"}
{"op":"fault","at":[0,"0..1"]}
{"op":"repair","at":["*",1]}
{"op":"free","id":2}
"#;
    for options in ["--mesh 4x4", "--mesh 4x4 --scheduler fcfs"] {
        let shown = replay(options, words).good();
        assert_eq!(shown.matches("\"lease-ended\"").count(), 2, "{shown}");
        assert_eq!(shown.matches("\"never-fits\"").count(), 1, "{shown}");
        assert_eq!(replay(options, objects).good(), shown);
    }
}

#[test]
fn an_estimate_changes_no_decision_of_a_strategy_that_ignores_it() {
    let plain = "alloc 1 4 3\nalloc 2 4x2\nfree 1\nalloc 3 2\nalloc 4 2x2\n";
    let estimated = "alloc 1 4 3 est=9\nalloc 2 4x2 est=1\nfree 1\nalloc 3 2 est=18446744073709551615\nalloc 4 2x2 est=007\n";
    for strategy in ["ff", "fsl", "naive"] {
        let options = format!("--mesh 8x8 --strategy {strategy}");
        let shown = replay(&options, plain).good();
        assert_eq!(shown, replay(&options, estimated).good());
        assert_eq!(shown.matches("granted").count(), 4);
    }
}

/// The clock of line n is n.
#[test]
fn a_lease_that_is_not_renewed_ends() {
    let operations = "\
alloc 1 4 3 lease=3
alloc 2 4 4 est=9 lease=20
alloc 3 4 1
alloc 4 4 4 lease=2
lease 7 1
lease 2 3
alloc 5 4 4
lease 3 1
lease 3 0
";
    let expected = r#"{"line":1,"op":"alloc","id":1,"granted":[{"x":0,"y":0,"w":4,"h":3}]}
{"line":2,"op":"alloc","id":2,"waits":0,"reason":"too-few-free"}
{"line":3,"op":"alloc","id":3,"waits":1,"reason":"not-its-turn"}
{"line":4,"op":"alloc","id":4,"waits":1,"reason":"not-its-turn"}
{"line":4,"op":"lease-ended","id":1,"released":12}
{"line":4,"op":"grant","id":2,"granted":[{"x":0,"y":0,"w":4,"h":4}]}
{"line":5,"op":"lease","id":7,"error":"unknown-job"}
{"line":6,"op":"lease","id":2,"leased":3}
{"line":6,"op":"lease-ended","id":4,"released":0}
{"line":7,"op":"alloc","id":5,"waits":1,"reason":"not-its-turn"}
{"line":8,"op":"lease","id":3,"leased":1}
{"line":9,"op":"lease","id":3,"leased":0}
{"line":9,"op":"lease-ended","id":2,"released":16}
{"line":9,"op":"grant","id":3,"granted":[{"x":0,"y":0,"w":4,"h":1}]}
"#;
    let options = "--mesh 4x4 --strategy ff --scheduler fcfs";
    assert_eq!(replay(options, operations).good(), expected);
    let counts = replay(&format!("{options} --quiet"), operations).good();
    for (name, count) in [
        ("granted", "3"),
        ("leases", "6"),
        ("leases refused", "1"),
        ("leases ended", "3"),
    ] {
        let expected = format!("{name:<24}{count:>12}\n");
        assert!(counts.contains(&expected), "{expected}{counts}");
    }
}

#[test]
fn fragmentation_is_told_from_want() {
    let operations =
        "fault 1 0\nfault 1 2\nfault 0 1\nfault 2 1\nalloc 1 2 1\nalloc 2 5 1\nalloc 3 2 3\n";
    let shown = replay("--mesh 3x3 --strategy fsl", operations).good();
    let last: Vec<_> = shown.lines().skip(4).collect();
    assert_eq!(
        last,
        [
            r#"{"line":5,"op":"alloc","id":1,"error":"fragmented"}"#,
            r#"{"line":6,"op":"alloc","id":2,"error":"never-fits"}"#,
            r#"{"line":7,"op":"alloc","id":3,"error":"too-few-free"}"#,
        ]
    );
}

#[test]
fn a_grant_of_many_blocks_is_one_line() {
    let mut operations = String::new();
    for x in 0..32 {
        operations += &format!("fault {} 0\n", 2 * x + 1);
    }
    operations += "alloc 5 32 1\nfree 5\n";
    let shown = replay("--mesh 64x1 --strategy naive", &operations).good();
    let lines: Vec<serde_json::Value> = shown
        .lines()
        .skip(32)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let blocks = lines[0]["granted"].as_array().unwrap();
    assert_eq!(blocks.len(), 32);
    for (i, block) in blocks.iter().enumerate() {
        assert_eq!(
            *block,
            serde_json::json!({"x": 2 * i, "y": 0, "w": 1, "h": 1})
        );
    }
    assert_eq!(lines[1]["released"], 32);
}

#[test]
fn the_largest_numbers_are_read() {
    let operations = "alloc 4294967295 70000 1\nalloc 0 99999999999999999999999 1\nalloc 1 0 70000\nalloc 4294967295 1 1\nfree 4294967295\n";
    let shown = replay("--mesh 1024x1024 --strategy naive", operations).good();
    let expected = r#"{"line":1,"op":"alloc","id":4294967295,"error":"never-fits"}
{"line":2,"op":"alloc","id":0,"error":"never-fits"}
{"line":3,"op":"alloc","id":1,"error":"empty-request"}
{"line":4,"op":"alloc","id":4294967295,"granted":[{"x":0,"y":0,"w":1,"h":1}]}
{"line":5,"op":"free","id":4294967295,"released":1}
"#;
    assert_eq!(shown, expected);
}

#[test]
fn an_extent_beyond_every_shape_never_fits_on_any_number_of_dimensions() {
    // A mesh of one dimension may be a slip, so a note says what it is.
    let line = "note: mesh 4096 is a line of 4096 processors (a square is 4096x4096)\n";
    for (sides, note) in [("4096", line), ("64x64", ""), ("16x16x16", "")] {
        let machine = format!("--mesh {sides} --strategy naive");
        for extents in ["70000", "70000x1"] {
            let ended = replay(&machine, &format!("alloc 1 {extents}\n"));
            assert_eq!((ended.code, &*ended.stderr), (Some(0), note), "{ended}");
            assert!(ended.stdout.contains("\"error\":\"never-fits\""), "{ended}");
        }
    }
}

#[test]
fn a_line_that_cannot_be_read_stops_a_replay_from_standard_input_there() {
    let ended = replay("--mesh 8x4", "alloc 7 1 1\n\nfree\nfree 7\n");
    let first =
        "{\"line\":1,\"op\":\"alloc\",\"id\":7,\"granted\":[{\"x\":0,\"y\":0,\"w\":1,\"h\":1}]}\n";
    assert!(
        ended.code == Some(2)
            && ended.stdout == first
            && ended.stderr.starts_with("error: standard input:3: "),
        "{ended}"
    );
}

#[test]
fn nothing_of_a_file_with_a_line_that_cannot_be_read_is_carried_out() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = [
        (
            "allocate 1 2 3",
            &["unknown operation \"allocate\"; did you mean \"alloc\"?"][..],
        ),
        (
            "alloc 1",
            &[
                "missing field `shape`",
                "expected `alloc ID [Sx] AxB|chips=N [est=TIME] [priority=TIME] [lease=TIME] [tolerate=N]` on mesh 8x4",
            ],
        ),
        (
            "alloc 1 2 3 est=",
            &[
                "\"\" is not an estimate",
                "`alloc ID [Sx] AxB|chips=N [est=TIME] [priority=TIME] [lease=TIME] [tolerate=N]`",
            ],
        ),
        ("alloc 1 2x3 est=1.5", &["\"1.5\" is not an estimate"]),
        ("alloc 1 2x3 est=-1", &["\"-1\" is not an estimate"]),
        (
            "alloc 1 2x3 est=0",
            &["0 is out of range for an estimate", "1 to 1844"],
        ),
        (
            "alloc 1 2x3 est=5 est=6",
            &["estimate is given twice", "`alloc ID [Sx] AxB"],
        ),
        ("free 1 est=5", &["unknown field `estimate`, expected `id`"]),
        ("est=5", &["unknown operation \"\" (known: alloc, lease"]),
        (
            "allocate 1 size=5",
            &["unknown operation \"allocate\"; did you mean \"alloc\"?"],
        ),
        (
            "alloc 1 2x3 size=5",
            &["\"size=5\" is not known", "`alloc ID [Sx] AxB"],
        ),
        ("alloc 1 2x3 lease=", &["\"\" is not a lease"]),
        (
            "alloc 1 2x3 lease=0",
            &[
                "0 is out of range for a lease",
                "expected 1 to 18446744073709551615",
            ],
        ),
        (
            "alloc 1 2 2 lease=99999999999999999999",
            &["99999999999999999999 is out of range for a lease"],
        ),
        (
            "alloc 1 2 2 est=18446744073709551616",
            &["18446744073709551616 is out of range for an estimate"],
        ),
        (
            "lease 7 18446744073709551616",
            &[
                "18446744073709551616 is out of range for a time",
                "expected 0 to 18446744073709551615",
            ],
        ),
        (
            "alloc 1 2x3 lease=5 est=6 lease=7",
            &["lease is given twice"],
        ),
        (
            "lease 1",
            &["missing field `time`", "expected `lease ID TIME`"],
        ),
        ("lease 1 soon", &["\"soon\" is not a time"]),
        ("lease 1 5 5", &["\"5\" is one word too many"]),
        ("alloc x 2 3", &["\"x\" is not a job id"]),
        (
            "alloc 1 -2 3",
            &["\"-2\" is not an extent, in shape \"-2 3\""],
        ),
        ("alloc 1 2 3.5", &["\"3.5\" is not an extent"]),
        (
            "alloc 1 0x 2 2",
            &["\"0x 2 2\": expected 1 to 65536 slices"],
        ),
        ("alloc 1 2x", &["\"\" is not an extent, in shape \"2x\""]),
        ("alloc 1 2y 3x3", &["\"2y\" is not an extent"]),
        (
            "alloc 1 70000x chips=2",
            &["\"70000x 2\": expected 1 to 65536 slices"],
        ),
        (
            "alloc 1 2x chips=3x",
            &["\"3x\" is not a number of processors"],
        ),
        ("alloc 1 2 chips=3", &["shape and chips"]),
        (
            "alloc 4294967296 1 1",
            &["4294967296 is out of range for a job id", "0 to 4294967295"],
        ),
        ("free", &["missing field `id`", "`free ID`"]),
        ("free 1 2", &["\"2\" is one word too many", "`free ID`"]),
        ("fault 1", &["y is missing", "`fault X Y` on mesh 8x4"]),
        ("fault 1 2 3", &["\"3\" is more than the 2 coordinates"]),
        ("fault 1..b 2", &["\"b\" is not x"]),
        (
            "fault 8 0",
            &["x = 8 is outside mesh 8x4", "expected 0 to 7"],
        ),
        ("repair 0 4", &["y = 4 is outside mesh 8x4"]),
        (
            "repair 99999999999999999999 0",
            &["x = 99999999999999999999 is outside mesh 8x4"],
        ),
        ("\u{fffd}\u{1b}[31m", &["unknown operation"]),
        (
            r#"{"op":"free","id":1"#,
            &["EOF while parsing an object, at column 19"],
        ),
        (r#"{"op":"free","id":1,"id":2}"#, &["duplicate field `id`"]),
        (
            r#"{"id":1}"#,
            &["\"op\" is missing or no string (expected alloc, lease, free, fault or repair)"],
        ),
        (r#"{"op":3,"id":1}"#, &["\"op\" is missing or no string"]),
        (r#"{"op":"dance"}"#, &["unknown operation \"dance\""]),
        (
            r#"{"op":"alloc","id":1}"#,
            &[
                "missing field `shape`",
                r#"(expected `{"op":"alloc","id":ID,"shape":"[Sx ]AxB"|"chips":N}` on mesh 8x4)"#,
            ],
        ),
        (
            r#"{"op":"alloc","id":-1,"shape":"2x3"}"#,
            &["\"-1\" is not a job id"],
        ),
        (
            r#"{"op":"alloc","id":1,"shape":[2,3.5]}"#,
            &["\"3.5\" is not an extent, in shape [2,3.5]"],
        ),
        (
            "{\"op\":\"free\",\"id\":1,\"\\u001b[31m\":2}",
            &["unknown field `\\u{1b}[31m`, expected `id`"],
        ),
        (r#"{"op":"fault","at":7}"#, &["expected a sequence"]),
        (
            r#"{"op":"fault","at":["*",9]}"#,
            &["y = 9 is outside mesh 8x4", "expected 0 to 3"],
        ),
    ];
    let cube = [
        (
            "alloc 1",
            &[
                "missing field `shape`",
                "`alloc ID [Sx] AxBxC|chips=N [est=TIME] [priority=TIME] [lease=TIME] [tolerate=N]` on 4-ary 3-cube",
            ][..],
        ),
        ("alloc 1 4x", &["\"\" is not an extent, in shape \"4x\""]),
        (
            "alloc 1 3x3x3x3x3x3x3x3x3x3x3x3x3x3x3x3x3",
            &["more than 16 extents: a machine has at most 16 dimensions"],
        ),
        (
            "fault 1 2",
            &["A[0] is missing", "`fault A[2] A[1] A[0]` on 4-ary 3-cube"],
        ),
        (
            "repair 1 2 3 0",
            &[
                "\"0\" is more than the 3 coordinates",
                "`repair A[2] A[1] A[0]` on 4-ary 3-cube",
            ],
        ),
        (
            "fault 1 4 3",
            &["A[1] = 4 is outside 4-ary 3-cube", "expected 0 to 3"],
        ),
    ];
    let mesh = mesh.map(|row| ("--mesh 8x4", row));
    let cube = cube.map(|row| ("--machine 4-ary-3-cube", row));
    for (machine, (wrong, parts)) in mesh.into_iter().chain(cube) {
        fs::write(
            folder.path().join("ops"),
            format!("alloc 7 1\n\n{wrong}\nfree 7\n"),
        )
        .unwrap();
        let ended = host_sim_in(folder.path(), &format!("replay ops {machine}"));
        assert!(
            ended.code == Some(2) && ended.stdout.is_empty(),
            "{wrong}: {ended}"
        );
        assert!(
            ended.stderr.starts_with("error: ops:3: "),
            "{wrong}: {ended}"
        );
        assert!(
            ended.stderr.lines().count() == 1 && !ended.stderr.contains('\u{1b}'),
            "{ended}"
        );
        for part in parts {
            assert!(
                ended.stderr.contains(part),
                "{wrong}: {part} is missing in {ended}"
            );
        }
    }
}

#[test]
fn the_table_is_full_only_when_the_mesh_is() {
    let mut operations = String::new();
    for id in 0..=256 {
        operations += &format!("alloc {id} 1 1\n");
    }
    let shown = replay("--mesh 16x16 --strategy as", &operations).good();
    let refused: Vec<_> = shown
        .lines()
        .filter(|line| line.contains("error"))
        .collect();
    assert_eq!(
        refused,
        [r#"{"line":257,"op":"alloc","id":256,"error":"too-few-free"}"#]
    );
}

#[test]
fn quiet_prints_counts_only() {
    let operations =
        "alloc 1 2 2\nalloc 1 1 1\nalloc 2 9 9\nfree 1\nfree 1\nfault 0 0\nfault 0 0\nrepair 0 0\n";
    let shown = replay("--mesh 4x4 --quiet", operations).good();
    let counts: Vec<(&str, &str)> = shown
        .lines()
        .filter_map(|line| line.trim().rsplit_once(' '))
        .map(|(name, count)| (name.trim(), count))
        .collect();
    let (last, others) = counts.split_last().unwrap();
    let expected = [
        ("operations", "8"),
        ("granted", "1"),
        ("refused", "2"),
        ("never-fits", "1"),
        ("duplicate-job", "1"),
        ("freed", "1"),
        ("not freed", "1"),
        ("unknown-job", "1"),
        ("faults", "1"),
        ("repairs", "1"),
    ];
    assert_eq!(others, expected, "{shown}");
    assert!(
        last.0 == "operations per second" && last.1.parse::<u64>().unwrap() > 0,
        "{shown}"
    );
}

#[test]
fn nothing_to_do_is_no_error() {
    assert_eq!(replay("", "").good(), "");
    assert_eq!(replay("", "# nothing\n\n").good(), "");
    // The last line needs no end.
    assert_eq!(replay("", "free 1").good().lines().count(), 1);
}

#[test]
fn answers_come_while_the_input_is_open() {
    let mut child = command(Path::new("."), "replay - --mesh 4x4")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for id in 0..3 {
        writeln!(stdin, "alloc {id} 1 1").unwrap();
        let answer = answers.next().unwrap().unwrap();
        assert!(
            answer.contains(&format!("\"id\":{id},\"granted\"")),
            "{answer}"
        );
    }
    drop(stdin);
    assert!(answers.next().is_none() && child.wait().unwrap().success());
}

#[test]
fn on_a_cube_radices_are_asked_for_and_subcubes_granted() {
    let operations = "\
alloc 1 4x2
alloc 2 3x3x3
alloc 3 1
alloc 4 2X2   # as 2x2
alloc 4 2
alloc 5 5
alloc 6 2x2x2x2
alloc 7 4x4x4x4
alloc 8 3x3x3
fault 0 0 0
fault 3 3 3
fault 3 3 3
free 2
free 8
repair 0 0 0
";
    let expected = r#"{"line":1,"op":"alloc","id":1,"granted":[{"start":[0,0,0],"extent":[1,4,2]}]}
{"line":2,"op":"alloc","id":2,"granted":[{"start":[1,0,0],"extent":[3,3,3]}]}
{"line":3,"op":"alloc","id":3,"granted":[{"start":[0,0,2],"extent":[1,1,1]}]}
{"line":4,"op":"alloc","id":4,"granted":[{"start":[0,1,2],"extent":[1,2,2]}]}
{"line":5,"op":"alloc","id":4,"error":"duplicate-job"}
{"line":6,"op":"alloc","id":5,"error":"never-fits"}
{"line":7,"op":"alloc","id":6,"error":"too-many-extents"}
{"line":8,"op":"alloc","id":7,"error":"too-many-extents"}
{"line":9,"op":"alloc","id":8,"error":"too-few-free"}
{"line":10,"op":"fault","block":{"start":[0,0,0],"extent":[1,1,1]},"changed":1,"jobs":[1]}
{"line":11,"op":"fault","block":{"start":[3,3,3],"extent":[1,1,1]},"changed":1,"jobs":[]}
{"line":12,"op":"fault","block":{"start":[3,3,3],"extent":[1,1,1]},"changed":0,"jobs":[]}
{"line":13,"op":"free","id":2,"released":27}
{"line":14,"op":"free","id":8,"error":"unknown-job"}
{"line":15,"op":"repair","block":{"start":[0,0,0],"extent":[1,1,1]},"changed":1,"jobs":[1]}
"#;
    // Tree collapsing is the default on a cube.
    for options in [
        "--machine 4-ary-3-cube",
        "--machine 4-ary-3-cube --strategy tc",
    ] {
        assert_eq!(replay(options, operations).good(), expected);
    }
}

#[test]
fn a_granted_subcube_may_wrap_around() {
    // In the ring of processors 0 to 6, the processors 2 and 3 are faulty.
    let shown = replay("--machine 7-ary-1-cube", "fault 2\nfault 3\nalloc 1 5\n").good();
    let last = shown.lines().last().unwrap();
    assert_eq!(
        last,
        r#"{"line":3,"op":"alloc","id":1,"granted":[{"start":[4],"extent":[5]}]}"#
    );
    let operations = "fault 1 1\nfault 1 2\nfault 2 1\nalloc 1 2x2\nalloc 2 2x2\n";
    let shown = replay("--machine 4-ary-2-cube", operations).good();
    let grants: Vec<_> = shown.lines().skip(3).collect();
    assert_eq!(
        grants,
        [
            r#"{"line":4,"op":"alloc","id":1,"granted":[{"start":[0,3],"extent":[2,2]}]}"#,
            r#"{"line":5,"op":"alloc","id":2,"granted":[{"start":[2,2],"extent":[2,2]}]}"#,
        ]
    );
}

#[test]
fn what_a_strategy_does_not_serve_has_a_name_of_its_own() {
    let shown = replay(
        "--machine 4-ary-3-cube --strategy partner",
        "alloc 1 4x3\nalloc 2 4x4\n",
    )
    .good();
    assert_eq!(
        shown,
        r#"{"line":1,"op":"alloc","id":1,"error":"extent-below-side"}
{"line":2,"op":"alloc","id":2,"granted":[{"start":[0,0,0],"extent":[1,4,4]}]}
"#
    );
    let quiet = replay(
        "--machine 4-ary-3-cube --strategy partner --quiet",
        "alloc 1 3\nalloc 2 5\nalloc 3 4\n",
    );
    let shown = quiet.good();
    for count in [
        ("granted", "1"),
        ("refused", "2"),
        ("extent-below-side", "1"),
        ("never-fits", "1"),
    ] {
        let line = shown
            .lines()
            .find(|line| line.split_whitespace().eq([count.0, count.1]));
        assert!(line.is_some(), "{count:?} is missing in {shown}");
    }
    // What is held beyond the request is released, too.
    let shown = replay(
        "--machine 4-ary-3-cube --strategy sniffing",
        "alloc 1 3x2\nfree 1\n",
    )
    .good();
    assert!(
        shown.ends_with("{\"line\":2,\"op\":\"free\",\"id\":1,\"released\":9}\n"),
        "{shown}"
    );
}

/// Jobs come from the file: how the jobs of a run would be made is no matter.
#[test]
fn every_machine_serves_a_replay() {
    let folder = tempfile::tempdir().unwrap();
    let toml = "sides = [8, 8, 4]\nwraps = [true, true, true]\nrotate = true\ncube = [4, 4, 4]\n\
                shapes = ['2x2x4']\n";
    fs::write(folder.path().join("own.toml"), toml).unwrap();
    let presets = meshalloc::Description::PRESETS;
    for machine in presets.into_iter().chain(["own.toml"]) {
        let line = format!("replay - --machine {machine}");
        let alloc = "alloc 1 chips=16\nfree 1\n";
        let shown = host_sim_fed(folder.path(), &line, alloc).good();
        assert_eq!(shown.lines().count(), 2, "{machine}: {shown}");
        assert!(!shown.contains("error"), "{machine}: {shown}");
    }
    let aligned = "sides = [8, 8, 4]\nname = 'al'\nalign = [4, 4, 4]\n";
    fs::write(folder.path().join("al.toml"), aligned).unwrap();
    let line = "replay - --machine al.toml --strategy";
    let ended = host_sim_fed(folder.path(), &format!("{line} naive"), "");
    assert_eq!(
        ended.stderr,
        "error: --strategy naive does not align its slices, which al, a mesh 8x8x4, requires \
         (expected one of first-fit, adaptive-scan, free-submesh-list, best-fit, busy-list, \
         least-expected-blocking, leb-estimates, folding)\n"
    );
    let ended = host_sim_fed(folder.path(), &format!("{line} partner"), "");
    let part = "--strategy partner serves k-ary n-cubes, not al, a mesh";
    assert!(ended.stderr.contains(part), "{ended}");
}

#[test]
fn a_strategy_serves_some_machines() {
    for (options, parts) in [
        (
            "--machine 4-ary-3-cube --strategy fs",
            &[
                "frame-sliding serves two-dimensional meshes, not 4-ary 3-cube",
                "tree-collapsing, ",
            ][..],
        ),
        (
            "--mesh 8x8 --strategy partner",
            &["partner serves k-ary n-cubes, not mesh 8x8", "first-fit, "],
        ),
        (
            "--machine 4-ary-3-cube --mesh 4x4",
            &["--machine", "cannot be used with"],
        ),
        ("--machine 16-ary-6-cube", &["more than 1048576 processors"]),
    ] {
        let ended = replay(options, "");
        assert_eq!(ended.code, Some(2), "{options}: {ended}");
        assert!(ended.stdout.is_empty(), "{options}: {ended}");
        for part in parts {
            assert!(
                ended.stderr.contains(part),
                "{options}: {part} is missing in {ended}"
            );
        }
    }
}
