//! Pictures of runs over time, `run --draw timeline`: areas in them are sums over the jobs.

use std::fs;
use std::path::Path;

use scraper::{Html, Selector};

use crate::program::host_sim_in;

/// All jobs are measured, over the time from 0 to the last departure, which is where the axis ends.
const SCENARIO: &str =
    "run --mesh 8x8 --strategy buddy --batch 60 --replications 1 --seed 3 --format json";

/// Makes a picture; gives the utilization.
fn picture(folder: &Path) -> (Html, f64) {
    let line = format!("{SCENARIO} --draw timeline -o p.svg");
    let results = host_sim_in(folder, &line).json();
    let utilization = &results["results"][0]["metrics"]["utilization"]["mean"];
    let svg = fs::read_to_string(folder.join("p.svg")).unwrap();
    (Html::parse_fragment(&svg), utilization.as_f64().unwrap())
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

/// Seconds would be numbers of seven digits.
#[test]
fn the_axis_of_a_long_run_has_days() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run --mesh 8x8 --strategy ff --batch 60 --service-mean 86400 --replications 1";
    let line = format!("{line} --draw timeline -o p.svg");
    host_sim_in(folder.path(), &line).good();
    let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(
        svg.contains("time, days") && !svg.contains("00000\n"),
        "{svg}"
    );
}

#[test]
fn the_area_of_processors_in_use_is_the_utilization() {
    let folder = tempfile::tempdir().unwrap();
    let (picture, utilization) = picture(folder.path());
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
