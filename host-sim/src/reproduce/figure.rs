//! Figures of papers: from the measurements to CSV and SVG.

use std::fmt::Write as _;

use meshalloc_papers::figure::{Curve, Figure, Panel, Stated, XScale};
use meshalloc_papers::length::Length;
use meshalloc_papers::measure::{Cell, Measurements, Reading, Shown};
use meshalloc_papers::setting::Setting;
use meshalloc_sim::names;
use meshalloc_sim::parameters::failures_text;

use crate::identity::VERSION;
use crate::plot::{self, Layout, Measured, Picture, Point, Scale, Series};
use crate::report::{cells, refused_percent};

/// The columns of a figure's CSV file with what they mean; a file has those that its paper needs.
pub(crate) const COLUMNS: [(&str, &str); 41] = [
    ("figure", "number of the figure in the paper"),
    (
        "panel",
        "what sets the panel apart from the others of the figure",
    ),
    ("axis", "what the horizontal axis shows"),
    ("x", "place on it"),
    ("strategy", "allocation strategy with its parameters"),
    ("scheduler", "scheduler with its parameters"),
    ("side_lengths", "distribution of the side lengths of jobs"),
    (
        "processors",
        "distribution of the number of processors of jobs",
    ),
    (
        "dims",
        "on a cube, distribution of the number of dimensions of jobs",
    ),
    ("radices", "on a cube, distribution of the radices of jobs"),
    ("log", "the file of the log"),
    (
        "shape",
        "the rule that gives a job of the log its side lengths",
    ),
    ("mesh", "the machine, unless it is a cube"),
    ("cube", "the machine"),
    ("offered", "when jobs arrive"),
    (
        "service_s",
        "on a cube, distribution of service times, seconds",
    ),
    ("service_mean_s", "mean service time, seconds"),
    ("messages", "what jobs send"),
    ("io", "how jobs communicate, read and write"),
    (
        "estimates",
        "the estimate of its run time that each request carries",
    ),
    ("failures", "what fails, and what becomes of jobs"),
    ("metric", "metric with its unit"),
    (
        "mean",
        "mean over the replications; where the system is saturated there is one for a log only",
    ),
    ("low", "lower end of its 95 % confidence interval"),
    ("high", "upper end of it"),
    (
        "standard_deviation",
        "standard deviation of the replications",
    ),
    (
        "against",
        "of relative differences, strategy and scheduler that are compared with",
    ),
    ("difference_percent", "mean relative difference, percent"),
    (
        "difference_low",
        "lower end of its 95 % confidence interval",
    ),
    ("difference_high", "upper end of it"),
    ("replications", "the number of replications"),
    (
        "values",
        "the value of each replication, separated by semicolons",
    ),
    (
        "mean_of_first_N",
        "mean over the first N replications, the paper's number",
    ),
    (
        "low_of_first_N",
        "lower end of its 95 % confidence interval",
    ),
    ("high_of_first_N", "upper end of it"),
    (
        "saturated",
        "whether the backlog grew in most replications, or jobs were left behind in one",
    ),
    (
        "refused",
        "measured jobs refused for good, in all replications",
    ),
    (
        "grows_with_length",
        "whether the mean still grows with the length of the run",
    ),
    ("jobs", "jobs in a replication"),
    ("seed", "what all random numbers derive from"),
    ("version", "version of host-sim"),
];

/// Every point in a line, all panels under each other; `length` is that of the runs of a setting. A
/// number that does not exist is an empty field.
///
/// # Errors
///
/// What went wrong, in words. Writing into memory gives no cause for it to happen.
pub(super) fn csv(
    figure: &Figure,
    measurements: &Measurements,
    length: impl Fn(&Setting) -> Length,
) -> Result<String, String> {
    let failed = |error: csv::Error| format!("cannot write the table: {error}");
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = Vec::new();
    for panel in &figure.panels {
        let rows = 0..panel.places.len();
        let curves = panel.curves.iter();
        for (curve, row) in curves.flat_map(|curve| rows.clone().map(move |row| (curve, row))) {
            let length = length(&curve.cells[row].setting);
            let record = record(figure, panel, curve, row, measurements, length);
            if header.is_empty() {
                header = record.iter().map(|(name, _)| name.clone()).collect();
                writer.write_record(&header).map_err(failed)?;
            }
            let values = record.iter().map(|(_, value)| value);
            writer.write_record(values).map_err(failed)?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// One point: the columns' names and values.
fn record(
    figure: &Figure,
    panel: &Panel,
    curve: &Curve,
    row: usize,
    measurements: &Measurements,
    length: Length,
) -> Vec<(String, String)> {
    let (place, cell) = (&panel.places[row].entry, &curve.cells[row]);
    let reading = measurements.reading(cell, panel.metric);
    let result = measurements.result(cell, panel.metric);
    let scale = panel.metric.scale();

    let mut record = Vec::new();
    let mut add = |name: &str, value: String| record.push((name.to_owned(), value));
    add("figure", figure.number.to_string());
    add("panel", panel.name.clone());
    add("axis", panel.axis.name.clone());
    add("x", place.clone());
    add("strategy", cell.strategy.to_string());
    add(
        "scheduler",
        names::scheduler_text(cell.setting.plan.scheduler, cell.setting.time_unit()),
    );
    for (name, value) in cell.setting.columns() {
        add(name, value);
    }
    if figure.has_failures() {
        let failures = failures_text(cell.setting.plan.failures.as_ref());
        add("failures", failures.trim_start_matches(", ").to_owned());
    }
    add("metric", panel.metric.column(cell.setting.time_unit()));
    let [mean, low, high, deviation] = cells::estimate(reading.estimate(), scale);
    add("mean", mean);
    add("low", low);
    add("high", high);
    add("standard_deviation", deviation);
    if figure.is_relative() {
        let against = curve.against(row);
        let shown = measurements.shown(cell, against, panel.metric);
        let difference = match shown {
            Shown::Number { estimate, .. } => against.map(|_| estimate),
            Shown::Saturated | Shown::Missing => None,
        };
        let name = |cell: &Cell| {
            let setting = &cell.setting;
            let scheduler = names::scheduler_text(setting.plan.scheduler, setting.time_unit());
            format!("{}, {scheduler}", cell.strategy)
        };
        add("against", against.map_or_else(String::new, name));
        let [mean, low, high, _] = cells::estimate(difference, 1.0);
        add("difference_percent", mean);
        add("difference_low", low);
        add("difference_high", high);
    }
    let values = result.map_or_else(Vec::new, |result| result.values(panel.metric));
    add("replications", values.len().to_string());
    add("values", cells::values(&values, scale));
    if let Some(count) = figure.paper_replications {
        let [mean, low, high, _] = cells::estimate(reading.estimate_of_first(count), scale);
        add(&format!("mean_of_first_{count}"), mean);
        add(&format!("low_of_first_{count}"), low);
        add(&format!("high_of_first_{count}"), high);
    }
    let saturated = result.is_some_and(|result| result.saturated);
    add("saturated", saturated.to_string());
    let refused = result.map(|result| result.refused.total().to_string());
    add("refused", refused.unwrap_or_default());
    let grows = matches!(reading, Reading::Growing(_));
    add("grows_with_length", grows.to_string());
    // A log is run whole.
    let jobs = cell.setting.synthetic().map(|_| length.jobs.to_string());
    add("jobs", jobs.unwrap_or_default());
    add("seed", length.seed.to_string());
    add("version", VERSION.to_owned());
    record
}

/// All panels under each other, as the text of an SVG file.
///
/// # Errors
///
/// Those of [`plot::svg`].
pub(super) fn svg(figure: &Figure, measurements: &Measurements) -> Result<String, String> {
    let (mut inner, mut width, mut height) = (String::new(), 0, 0);
    for panel in &figure.panels {
        let picture = picture(panel, measurements);
        let drawn = plot::svg(&picture)?;
        inner.push_str(&drawn.element(format_args!("x=\"0\" y=\"{height}\" ")));
        width = width.max(drawn.size.0);
        height += drawn.size.1;
    }
    let mut text = String::new();
    let _ = writeln!(
        text,
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n{inner}</svg>"
    );
    Ok(text)
}

/// What is drawn.
pub(super) fn picture(panel: &Panel, measurements: &Measurements) -> Picture {
    let point = |curve: &Curve, row: usize| {
        let shown = measurements.shown(&curve.cells[row], curve.against(row), panel.metric);
        let result = measurements.result(&curve.cells[row], panel.metric);
        let y = match shown {
            Shown::Missing => return None,
            Shown::Saturated => None,
            Shown::Number {
                estimate,
                grows,
                saturated,
            } => Some(Measured {
                mean: estimate.mean,
                ci95: estimate.ci95,
                grows,
                saturated,
                refused: result.and_then(refused_percent),
            }),
        };
        let x = panel.places[row].x;
        Some(Point { x, y })
    };
    let series = panel.curves.iter().map(|curve| Series {
        name: curve.name.clone(),
        points: (0..panel.places.len())
            .filter_map(|row| point(curve, row))
            .collect(),
    });
    let stated = |stated: &Stated| plot::Stated {
        series: stated.curve,
        x: panel.places[stated.row].x,
        y: stated.number,
    };
    let categories = || panel.places.iter().map(|place| place.entry.clone());
    Picture {
        title: panel.heading.clone(),
        subtitle: panel.parameters.clone(),
        x_label: panel.axis.label.clone(),
        x_scale: match panel.axis.scale {
            XScale::Doubling => Scale::Doubling,
            XScale::Linear => Scale::Linear,
            XScale::Categories => Scale::Categories(categories().collect()),
        },
        y_label: panel.label(),
        // In the paper's unit, as the claims are.
        y_time: None,
        series: series.collect(),
        stated: panel.stated.iter().map(stated).collect(),
        layout: Layout::Column,
    }
}
