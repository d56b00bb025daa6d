//! Estimates as cells of CSV files. A number that does not exist is an empty cell.

use meshalloc_sim::statistics::Estimate;

fn number(number: Option<f64>, scale: f64) -> String {
    number.map_or_else(String::new, |number| (number * scale).to_string())
}

/// Mean, both ends of its interval and standard deviation, times `scale`.
pub(crate) fn estimate(estimate: Option<Estimate>, scale: f64) -> [String; 4] {
    let interval = estimate.and_then(|estimate| estimate.ci95);
    [
        estimate.map(|estimate| estimate.mean),
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
        estimate.and_then(|estimate| estimate.deviation),
    ]
    .map(|value| number(value, scale))
}

/// The value of each replication in one cell, times `scale`.
pub(crate) fn values(values: &[Option<f64>], scale: f64) -> String {
    let values = values.iter().map(|&value| number(value, scale));
    values.collect::<Vec<_>>().join(";")
}
