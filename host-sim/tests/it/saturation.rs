use std::fs;

use meshalloc::StrategyKind;

use crate::program::{host_sim, host_sim_in};

const SMALL: &str = "saturation --mesh 16x16 --jobs 4000 --replications 4";

#[test]
fn a_table_of_all_strategies_that_serve_the_mesh() {
    let shown = host_sim(SMALL).good();
    for part in [
        "\nadaptive-scan ",
        "\nbuddy ",
        "\nmultiple-buddy ",
        "saturation",
        " ± ",
        "seed=1",
        "backlog=100",
    ] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
    // As wide as the longest name of a strategy makes it.
    let names = StrategyKind::ALL.iter().map(|kind| kind.name().len());
    let width = names.max().unwrap() + 61;
    assert!(
        shown.lines().all(|line| line.chars().count() <= width),
        "{shown}"
    );
    let odd = host_sim("saturation --mesh 10x10 --jobs 500 --replications 2").good();
    assert!(
        odd.contains("\nadaptive-scan ") && !odd.contains("\nbuddy "),
        "{odd}"
    );
}

#[test]
fn intervals_are_as_narrow_as_asked() {
    let line = "saturation --mesh 16x16 --strategy as,fsl --jobs 4000 --until-abs-error 0.005 --format json";
    let json = host_sim(line).json();
    assert_eq!(json["scenario"]["until_abs_error"], 0.005);
    let results = json["results"].as_array().unwrap();
    let means: Vec<f64> = results
        .iter()
        .map(|result| {
            let utilization = &result["metrics"]["utilization"];
            assert_eq!(result["stop"], "error-reached");
            let number = |key: &str| utilization[key].as_f64().unwrap();
            let mean = number("mean");
            assert!(mean - number("low") <= 0.005, "{result}");
            assert!(number("high") - mean <= 0.005, "{result}");
            mean
        })
        .collect();
    // Both saturate somewhere above half, the free submesh list later.
    assert!(
        0.45 < means[0] && means[0] + 0.01 < means[1] && means[1] < 0.7,
        "{means:?}"
    );
    let capped = host_sim(&line.replace("0.005", "0.00001 --max-replications 10")).json();
    assert_eq!(capped["results"][0]["stop"], "cap-reached");
    // Under any workload: a utilization has an error where delays have none.
    let line = "run --mesh 8x8 --load .9 --jobs 300 --until-abs-error .00001 --max-replications 12";
    let run = host_sim(&format!("{line} --format json")).json();
    assert_eq!(run["results"][0]["stop"], "cap-reached");
}

#[test]
fn a_page_of_several_strategies_refuses_a_backlog_and_a_map_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), "jobs = 300\nbacklog = 20\n").unwrap();
    let view = "view --mesh 8x8 --strategy ff,as";
    for (more, place) in [
        ("--backlog 20 --jobs 300", "error: "),
        ("--scenario s.toml", "error: s.toml:2: "),
    ] {
        let ended = host_sim_in(folder.path(), &format!("{view} {more}"));
        assert_eq!(ended.code, Some(2), "{ended}");
        assert!(ended.stderr.starts_with(place), "{ended}");
        assert!(ended.stderr.contains("expected one --strategy"), "{ended}");
        let map = format!("run --mesh 8x8 --draw map -o m.svg {more}");
        let shown = host_sim_in(folder.path(), &map).good();
        assert!(shown.contains("20 waiting"), "{shown}");
        fs::remove_file(folder.path().join("m.svg")).unwrap();
    }
}

#[test]
fn threads_change_nothing_and_the_seed_does() {
    let run = |more: &str| host_sim(&format!("{SMALL} --strategy as --format json {more}")).json();
    assert_eq!(run("--threads 1"), run("--threads 3"));
    assert_ne!(run(""), run("--seed 2"));
    // First come, first served looks at the head alone.
    let hash = |json: serde_json::Value| json["results"][0]["decision_hash"].clone();
    assert_eq!(hash(run("--backlog 1")), hash(run("--backlog 50")));
}

#[test]
fn schedulers_that_look_past_the_head_use_more() {
    let utilization = |scheduler: &str| {
        let line = format!("{SMALL} --strategy as --format json --scheduler {scheduler}");
        let json = host_sim(&line).json();
        json["results"][0]["metrics"]["utilization"]["mean"]
            .as_f64()
            .unwrap()
    };
    let fcfs = utilization("fcfs");
    for scheduler in ["modified-fcfs:static=100", "bypass-queue:1000"] {
        assert!(utilization(scheduler) > fcfs + 0.05, "{scheduler}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (line, part) in [
        (
            "saturation --strategy buddy --mesh 10x10",
            "buddy serves square",
        ),
        (
            "saturation --backlog 0",
            "expected a whole number, 1 to 1000",
        ),
        (
            "saturation --backlog 1001",
            "expected a whole number, 1 to 1000",
        ),
        ("saturation --replications 0", "1 to 1000000"),
        ("saturation --jobs 4294967295", "1 to 16777216"),
        ("saturation --until-abs-error 2", "expected"),
        ("saturation --max-replications 30", "--until-abs-error"),
        ("saturation --strategy al", "unknown strategy"),
    ] {
        let ended = host_sim(line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(part),
            "{line}: {ended}"
        );
    }
}
