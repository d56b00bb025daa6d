use std::fs;

use serde_json::Value;

use crate::program::{host_sim, host_sim_in};

fn metric(row: &Value, name: &str) -> f64 {
    row["metrics"][name]["mean"].as_f64().unwrap_or(f64::NAN)
}

/// The mean latencies of an independent implementation, with one-flit buffers, 8 flits and a
/// routing delay of 3 cycles.
#[test]
fn latencies_are_those_of_an_independent_implementation() {
    for (line, expected) in [
        (
            "--mesh 8x8 --rate 0.004,0.008 --cycles 60000",
            &[39.8, 61.0][..],
        ),
        ("--mesh 16x16 --rate 0.002 --cycles 30000", &[67.6]),
    ] {
        let line =
            format!("traffic {line} --pattern random --flits 8 --routing-delay 3 --format json");
        let json = host_sim(&line).json();
        for (row, expected) in json["results"].as_array().unwrap().iter().zip(expected) {
            let latency = metric(row, "message_latency");
            assert!(
                (latency / expected - 1.0).abs() < 0.03,
                "{latency} for {expected}"
            );
            assert_eq!(row["saturated"], false);
            assert!((metric(row, "accepted") / metric(row, "offered") - 1.0).abs() < 0.01);
        }
    }
}

#[test]
fn above_saturation_accepted_traffic_stays_and_latency_has_no_value() {
    let json =
        host_sim("traffic --mesh 16x16 --rate 0.005,0.01 --replications 2 --format json").json();
    for row in json["results"].as_array().unwrap() {
        let accepted = metric(row, "accepted");
        assert!((accepted - 0.034).abs() < 0.0015, "{row}");
        assert!(metric(row, "offered") > 1.1 * accepted, "{row}");
        assert_eq!(row["saturated"], true);
        assert_eq!(row["metrics"]["message_latency"]["mean"], Value::Null);
    }
    let table = host_sim("traffic --mesh 16x16 --rate 0.01 --replications 1").good();
    assert!(table.contains("saturated"), "{table}");
}

/// Mean distances by closed forms; offered flits are 8 for each message.
#[test]
fn patterns_have_their_mean_distances() {
    let uniform = 2.0 * (64.0 - 1.0) / 24.0 * 64.0 / 63.0;
    let transpose = 2.0 * (64.0 - 1.0) / 24.0 * 8.0 / 7.0;
    for (pattern, machine, hops, offered) in [
        ("random", "--mesh 8x8", uniform, 0.008),
        ("transpose", "--mesh 8x8", transpose, 0.008 * 7.0 / 8.0),
        ("nearest-neighbor", "--torus 4x3x5", 1.0, 0.008),
        // 3.5 links in each dimension to the corner, without the corner itself.
        ("hot-spot:1,0", "--mesh 8x8", 7.0 * 64.0 / 63.0, 0.008),
    ] {
        let line = format!(
            "traffic {machine} --pattern {pattern} --rate 0.001 --cycles 100000 --replications 4 --format json"
        );
        let json = host_sim(&line).json();
        let row = &json["results"][0];
        let found = metric(row, "hops");
        assert!(
            (found / hops - 1.0).abs() < 0.03,
            "{pattern}: {found} for {hops}"
        );
        let found = metric(row, "offered");
        assert!(
            (found / offered - 1.0).abs() < 0.03,
            "{pattern}: {found} for {offered}"
        );
    }
}

/// A 2-ary 6-cube is a hypercube with 6 links out of a processor, and so is the mesh: two
/// processors along a dimension have the same links whether it wraps or not. The mean use of a link
/// is what is accepted, times the links of a message, over 6.
#[test]
fn two_processors_along_a_dimension_have_the_same_links_whether_it_wraps_or_not() {
    for (wraps, mesh, pattern, links) in [
        ("--cube k=2,n=6", "--mesh 2x2x2x2x2x2", "random", 6.0),
        (
            "--cube k=2,n=6",
            "--mesh 2x2x2x2x2x2",
            "nearest-neighbor",
            6.0,
        ),
        ("--torus 2x8", "--mesh 2x8 --wrap 1", "random", 3.0),
        (
            "--torus 2x8",
            "--mesh 2x8 --wrap 1",
            "nearest-neighbor",
            3.0,
        ),
        (
            "--torus 2x8x1",
            "--mesh 2x8x1 --wrap 1",
            "hot-spot:0.1,3",
            3.0,
        ),
    ] {
        let [wraps, mesh] = [wraps, mesh].map(|machine| {
            let line = format!("traffic {machine} --pattern {pattern} --rate 0.005 --format json");
            host_sim(&line).json()["results"].clone()
        });
        assert_eq!(wraps, mesh, "{pattern}");
        let metric = |name| metric(&wraps[0], name);
        let expected = metric("accepted") * metric("hops") / links;
        let found = metric("link_utilization");
        assert!(
            (found / expected - 1.0).abs() < 0.01,
            "{found}, not {expected}"
        );
    }
}

#[test]
fn threads_change_nothing_and_the_seed_does() {
    let run = |more: &str| {
        host_sim(&format!(
            "traffic --mesh 4x4 --rate 0.01,0.02 --replications 3 --format json {more}"
        ))
        .json()
    };
    assert_eq!(run("--threads 1"), run("--threads 3"));
    assert_ne!(run(""), run("--seed 2"));
    let results = run("")["results"].clone();
    assert_eq!(results.as_array().unwrap().len(), 2);
    assert_eq!(results[1]["metrics"]["hops"]["replications"], 3);
}

#[test]
fn a_picture_of_the_links() {
    let folder = tempfile::tempdir().unwrap();
    let line = "traffic --mesh 4x4x2 --wrap 2 --rate 0.01,0.02 --replications 2 --plot links --plot-output a/l.svg";
    let shown = host_sim_in(folder.path(), line).good();
    assert!(shown.ends_with("\nlinks: a/l.svg\n"), "{shown}");
    let svg = fs::read_to_string(folder.path().join("a/l.svg")).unwrap();
    for part in [
        "mesh 4x4x2 wrap 2",
        "rate 0.01",
        "rate 0.02",
        "flits a cycle over a link",
        "routing delay 3",
    ] {
        assert!(svg.contains(part), "{part} is missing in {svg}");
    }
    // Two maps; along x and y 24 links each way, along z, whose two processors have no links
    // around, 16. The background, and the steps of the scale.
    let rectangles = svg.matches("<rect").count();
    assert_eq!(rectangles, 2 * 2 * (24 + 24 + 16) + 1 + 60);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (line, part) in [
        ("traffic --mesh 8x8", "--rate"),
        ("traffic --rate 0", "over 0 and at most 1"),
        ("traffic --rate -1", "over 0 and at most 1"),
        ("traffic --rate 1.5", "over 0 and at most 1"),
        ("traffic --rate nan", "over 0 and at most 1"),
        ("traffic --rate 0.1 --flits 0", "1 to 65536"),
        ("traffic --rate 0.1 --flits 65537", "1 to 65536"),
        ("traffic --rate 0.1 --routing-delay -1", "0 to 65536"),
        ("traffic --rate 0.1 --cycles 0", "1 to 1000000000"),
        ("traffic --rate 0.1 --replications 0", "1 to 1000000"),
        (
            "traffic --rate 0.1 --pattern randm",
            "did you mean \"random\"?",
        ),
        (
            "traffic --rate 0.1 --pattern hot-spot:2,0",
            "SHARE of hot-spot is \"2\": expected a number from 0 to 1",
        ),
        (
            "traffic --rate 0.1 --mesh 4x4 --pattern hot-spot:0.1,16",
            "expected 0 to 15",
        ),
        (
            "traffic --rate 0.1 --mesh 8x4 --pattern transpose",
            "reverse order",
        ),
        ("traffic --rate 0.1 --mesh 1x1", "no other processor"),
        (
            "traffic --rate 0.1 --mesh 256x256 --plot links",
            "up to 16384 processors",
        ),
        ("traffic --rate 0.1 --plot-output x.svg", "--plot"),
    ] {
        let ended = host_sim(line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(part),
            "{line}: {ended}"
        );
    }
}

/// Little traffic whose messages take longer than the run, or nearly: nothing is saturated.
#[test]
fn a_nearly_idle_network_is_not_saturated() {
    for (line, is_too_short) in [
        ("--torus 20000 --rate 1e-6 --replications 2", true),
        (
            "--mesh 64x64 --rate 0.0003 --warmup 0 --cycles 200 --replications 3",
            true,
        ),
        (
            "--mesh 64x64 --rate 0.0003 --warmup 0 --cycles 600 --replications 3",
            false,
        ),
        (
            "--mesh 64x64 --rate 0.0003 --warmup 600 --cycles 200 --replications 3",
            false,
        ),
    ] {
        // A note says that one side is a ring.
        let shown = |line: &str| {
            let mut ended = host_sim(line);
            ended.stderr.clear();
            ended
        };
        let row = shown(&format!("traffic {line} --format json")).json()["results"][0].clone();
        assert_eq!(row["saturated"], false, "{line}: {row}");
        assert_eq!(row["too_short"], is_too_short, "{line}: {row}");
        for name in ["message_latency", "hops", "blocked_time"] {
            let has_value = metric(&row, name).is_finite();
            assert_eq!(has_value, !is_too_short, "{line}: {row}");
        }
        let table = shown(&format!("traffic {line}")).good();
        assert_eq!(table.contains("too short"), is_too_short, "{table}");
    }
}

/// After a long warm-up, too.
#[test]
fn a_saturated_network_is_saturated_after_any_warmup() {
    for warmup in [0, 2000, 20_000] {
        let line = format!(
            "traffic --mesh 16x16 --rate 0.006 --warmup {warmup} --cycles 5000 --replications 2 --format json"
        );
        let json = host_sim(&line).json();
        assert_eq!(json["results"][0]["saturated"], true, "{warmup}");
    }
}

#[test]
fn numbers_of_any_size_stand_in_narrow_columns() {
    let table =
        host_sim("traffic --rate 1e-300,0.000001 --mesh 4x4 --replications 2 --cycles 1000000")
            .good();
    assert!(
        table.lines().all(|line| line.chars().count() <= 120),
        "{table}"
    );
    let row = |rate: &str| {
        let line = table.lines().find(|line| line.starts_with(rate));
        line.unwrap_or_else(|| panic!("{table}")).to_owned()
    };
    row("1e-300 ");
    // 8 flits a message.
    let row = row("0.000001 ");
    assert_eq!(row.matches(")e-").count(), 3, "{table}");
}
