//! Pictures of runs over time, `run --plot gantt` and `--plot timeline`: areas in them are sums
//! over the jobs.

use std::fs;
use std::path::Path;

use scraper::{Html, Selector};

use crate::program::host_sim_in;

/// All jobs are measured, over the time from 0 to the last departure, which is where the axis ends.
const SCENARIO: &str =
    "run --mesh 8x8 --strategy buddy --batch 60 --replications 1 --seed 3 --format json";

/// Makes a picture; gives the utilization, and the part of the processor time that jobs held.
fn picture(folder: &Path, plot: &str) -> (Html, f64, f64) {
    let line = format!("{SCENARIO} --plot {plot} --plot-output p.svg --jobs-output jobs.csv");
    let results = host_sim_in(folder, &line).json();
    let value = |metric: &str| {
        results["results"][0]["metrics"][metric]["mean"]
            .as_f64()
            .unwrap()
    };
    let mut reader = csv::Reader::from_path(folder.join("jobs.csv")).unwrap();
    let rows: Vec<std::collections::BTreeMap<String, String>> =
        reader.deserialize().map(Result::unwrap).collect();
    let sum: f64 = rows
        .iter()
        .map(|row| {
            row["held"].parse::<f64>().unwrap() * row["execution_time"].parse::<f64>().unwrap()
        })
        .sum();
    let held = sum / (64.0 * value("completion_time"));
    let svg = fs::read_to_string(folder.join("p.svg")).unwrap();
    (Html::parse_fragment(&svg), value("utilization"), held)
}

fn numbers(text: &str) -> Vec<f64> {
    let numbers = text.split([',', ' ']).filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().unwrap()).collect()
}

/// The area between the axes of a part of a picture, in squares of a tenth of a pixel: the whole
/// but for margins and labels.
fn area_of_axes(width: f64, height: f64) -> f64 {
    (width - 78.0 - 14.0) * height * 100.0
}

#[test]
fn rectangles_of_a_gantt_chart_are_the_processor_time_that_jobs_held() {
    let folder = tempfile::tempdir().unwrap();
    let (picture, utilization, held) = picture(folder.path(), "gantt");
    let rects = Selector::parse("rect[stroke=none]").unwrap();
    let areas = picture.select(&rects).filter_map(|rect| {
        let number = |name: &str| rect.attr(name).unwrap().parse::<f64>().unwrap();
        let is_job = !matches!(rect.attr("fill"), Some("#FFFFFF"));
        is_job.then(|| number("width") * number("height"))
    });
    let part = areas.sum::<f64>() / area_of_axes(1000.0, 300.0 - 26.0 - 42.0);
    assert!((part / held - 1.0).abs() < 0.02, "{part} {held}");
    // A buddy system holds more than was asked for.
    assert!(held > 1.1 * utilization);
}

/// A line of a log.
fn job(number: u32, processors: u32) -> String {
    let start = format!("{number} {number} -1 10 {processors} -1 -1 {processors} 10");
    format!("{start} -1 1 1 1 -1 -1 1 -1 -1\n")
}

/// On a plane each job is one rectangle with its number, not a stripe for each of its rows.
#[test]
fn a_job_on_a_plane_is_one_rectangle() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run --mesh 8x8 --strategy ff --batch 1 --replications 1 --side-lengths uniform";
    let line = format!("{line} --side-range 3..3,5..5 --plot gantt --plot-output");
    let draw = |machine: &str, name: &str| {
        let line = format!("{line} {name}").replace("--mesh 8x8", machine);
        host_sim_in(folder.path(), &line).good();
        fs::read_to_string(folder.path().join(name)).unwrap()
    };
    let plane = draw("--mesh 8x8", "p.svg");
    // With the background.
    assert_eq!(plane.matches("<rect").count(), 2, "{plane}");
    assert!(plane.contains("Jobs over time"), "{plane}");
    assert!(
        plane.contains("where these are in the machine is not shown"),
        "{plane}"
    );
    let number = plane.lines().any(|line| line.trim() == "0");
    assert!(number, "{plane}");
    let line = line.replace("3..3,5..5", "3..3");
    let line = format!("{line} l.svg").replace("8x8", "8");
    host_sim_in(folder.path(), &line).good();
    let ring = fs::read_to_string(folder.path().join("l.svg")).unwrap();
    assert!(ring.contains("Processors over time"), "{ring}");
}

/// Seconds would be numbers of seven digits.
#[test]
fn the_axis_of_a_long_run_has_days() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run --mesh 8x8 --strategy ff --batch 60 --service-mean 86400 --replications 1";
    for plot in ["gantt", "timeline"] {
        let line = format!("{line} --plot {plot} --plot-output p.svg");
        host_sim_in(folder.path(), &line).good();
        let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
        assert!(
            svg.contains("time, days") && !svg.contains("00000\n"),
            "{svg}"
        );
    }
}

#[test]
fn the_area_of_processors_in_use_is_the_utilization() {
    let folder = tempfile::tempdir().unwrap();
    let (picture, utilization, _) = picture(folder.path(), "timeline");
    let polygons = Selector::parse("polygon[fill='#0072B2']").unwrap();
    let polygon = picture.select(&polygons).next().unwrap();
    let points = numbers(polygon.attr("points").unwrap());
    let points: Vec<_> = points.chunks(2).map(|point| (point[0], point[1])).collect();
    let next = points.iter().cycle().skip(1);
    let twice: f64 = points
        .iter()
        .zip(next)
        .map(|(a, b)| a.0 * b.1 - b.0 * a.1)
        .sum();
    let part = twice.abs() / 2.0 / area_of_axes(1000.0, 150.0 - 26.0 - 6.0);
    assert!(
        (part / utilization - 1.0).abs() < 0.02,
        "{part} {utilization}"
    );
}

#[test]
fn what_cannot_be_drawn_over_time_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let log: String = (1..=30_001).map(|number| job(number, 1)).collect();
    fs::write(folder.path().join("l.swf"), log).unwrap();
    for (line, code, reason) in [
        (
            "run --swf l.swf --mesh 4x4 --strategy ff,naive --plot gantt",
            1,
            "60002 rectangles are too many to be told apart (expected at most 60000: fewer --jobs, or",
        ),
        ("run --plot gant", 2, "links, gantt or timeline"),
    ] {
        let ended = host_sim_in(folder.path(), line);
        assert_eq!(ended.code, Some(code), "{ended}");
        assert!(ended.stderr.contains(reason), "{ended}");
        assert_eq!(ended.stdout.is_empty(), code == 2, "{ended}");
    }
}

/// More jobs than a chart may have rectangles, but only one that the machine holds.
#[test]
fn jobs_that_are_refused_have_no_rectangles() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = (1..=30_001).map(|number| job(number, if number == 1 { 4 } else { 64 }));
    let log: String = jobs.collect();
    fs::write(folder.path().join("l.swf"), log).unwrap();
    let line = "run --mesh 4x4 --swf l.swf --strategy ff,naive --plot gantt";
    let ended = host_sim_in(folder.path(), line);
    assert_eq!(ended.code, Some(0), "{ended}");
    assert!(ended.stdout.contains("gantt: out/gantt.svg"), "{ended}");
}
