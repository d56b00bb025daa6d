//! Figures of papers: from the measurements to CSV and SVG.

use std::error::Error;
use std::fmt::Write as _;

use meshalloc_papers::figure::{Curve, Figure, Panel, Stated, XScale};
use meshalloc_papers::length::Length;
use meshalloc_papers::measure::{Cell, Measurements, Reading, Shown};
use meshalloc_papers::setting::Setting;
use meshalloc_sim::names;
use meshalloc_sim::scenario::SETTINGS;
use meshalloc_sim::statistics::Estimate;
use serde_json::Value;

use crate::identity::VERSION;
use crate::plot::{self, Layout, Measured, Picture, Point, Scale, Series};
use crate::report::cells;
use crate::tables::refused_percent;

/// The cells of a point, each with the name of its column. A number that does not exist is an empty
/// cell; a file has the columns that its figure needs.
type Row = Vec<(&'static str, String)>;

/// Every point in a line, all panels under each other; `length` is that of the runs of a setting.
pub(super) fn csv(
    figure: &Figure,
    measurements: &Measurements,
    length: impl Fn(&Setting) -> Length,
) -> Result<String, String> {
    let mut rows = Vec::new();
    for panel in &figure.panels {
        for curve in &panel.curves {
            for place in 0..panel.places.len() {
                let length = length(&curve.cells[place].setting);
                let row = row(figure, panel, curve, place, measurements, length);
                rows.push((curve.cells[place].setting.settings.record(), row));
            }
        }
    }
    table(&rows).map_err(|error| format!("cannot write the table: {error}"))
}

/// Rows with the settings of their runs: those that a run has, without the place of the controller,
/// on which no decision depends; then the cells of the rows, and the version.
fn table(rows: &[(Value, Row)]) -> Result<String, Box<dyn Error>> {
    let first = rows.first().map_or(&[][..], |(_, row)| row);
    let names: Vec<&str> = first.iter().map(|(name, _)| *name).collect();
    let is_shown = |name: &&str| {
        let mut scenarios = rows.iter().map(|(scenario, _)| scenario);
        let is_free = *name != "backend" && !names.contains(name);
        is_free && scenarios.any(|scenario| scenario.get(name).is_some())
    };
    let settings = SETTINGS.iter().map(|setting| setting.name).filter(is_shown);
    let settings: Vec<_> = settings.collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(settings.iter().chain(&names).chain(&["version"]))?;
    for (scenario, row) in rows {
        let settings = settings.iter().map(|name| cell(&scenario[*name]));
        let cells = row.iter().map(|(_, cell)| cell.clone());
        writer.write_record(settings.chain(cells).chain([VERSION.to_owned()]))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// A value as a cell; a list is separated by semicolons.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(";"),
        other => other.to_string(),
    }
}

fn row(
    figure: &Figure,
    panel: &Panel,
    curve: &Curve,
    place: usize,
    measurements: &Measurements,
    length: Length,
) -> Row {
    let cell = &curve.cells[place];
    let reading = measurements.reading(cell, panel.metric);
    let result = measurements.result(cell, panel.metric);
    let scale = panel.metric.scale();
    let estimate = |whole: Option<Estimate>| {
        cells::estimate(whole.map(|whole| panel.metric.cut(whole)), scale)
    };
    let unit = cell.setting.plan.workload.time_unit();
    let scheduler = |cell: &Cell| names::scheduler_text(cell.setting.plan.scheduler, unit);
    let values = result.map_or_else(Vec::new, |result| result.values(panel.metric));
    let mut row = vec![
        // The number of the figure in the paper.
        ("figure", figure.number.to_string()),
        ("panel", panel.name.clone()),
        // The label of the horizontal axis, and the value there.
        ("axis", panel.axis.name.clone()),
        ("x", panel.places[place].entry.clone()),
        ("strategy", cell.strategy.to_string()),
        ("scheduler", scheduler(cell)),
        // The metric with its unit.
        ("metric", panel.metric.column(unit)),
    ];
    // The mean over the replications, with its 95 % confidence interval; empty where a synthetic
    // workload saturates the system.
    let names = ["mean", "low", "high", "standard_deviation"];
    row.extend(names.into_iter().zip(estimate(reading.estimate())));
    if figure.is_relative() {
        // The strategy and scheduler of the comparison; the mean relative difference in percent,
        // with its 95 % confidence interval.
        let against = curve.against(place);
        let difference = match measurements.shown(cell, against, panel.metric) {
            Shown::Number { estimate, .. } => against.map(|_| estimate),
            Shown::Saturated | Shown::Missing => None,
        };
        let name = |cell: &Cell| format!("{}, {}", cell.strategy, scheduler(cell));
        row.push(("against", against.map_or_else(String::new, name)));
        let names = ["difference_percent", "difference_low", "difference_high"];
        row.extend(names.into_iter().zip(cells::estimate(difference, 1.0)));
    }
    row.push(("replications", values.len().to_string()));
    // The value of each replication, separated by semicolons.
    row.push(("values", cells::values(&values, scale)));
    if let Some(count) = figure.paper_replications {
        // The paper's number of replications, and the mean over that many of them with its
        // interval, which is empty if there are fewer.
        row.push(("paper_replications", count.to_string()));
        let names = ["mean_of_first", "low_of_first", "high_of_first"];
        let first = estimate(reading.estimate_of_first(count));
        row.extend(names.into_iter().zip(first));
    }
    let refused = result.map(|result| result.refused.total().to_string());
    // A log is run whole.
    let jobs = cell.setting.synthetic().map(|_| length.jobs.to_string());
    let is_saturated = result.is_some_and(|result| result.saturated);
    let grows = matches!(reading, Reading::Growing(_));
    row.extend([
        // Whether the backlog grew in most replications, or jobs were left behind in one.
        ("saturated", is_saturated.to_string()),
        // Measured jobs refused for good, in all replications.
        ("refused", refused.unwrap_or_default()),
        // Whether the mean still grows with the length of the run.
        ("grows_with_length", grows.to_string()),
        // Jobs in a replication.
        ("jobs", jobs.unwrap_or_default()),
        // The seed of all random numbers.
        ("seed", length.seed.to_string()),
    ]);
    row
}

/// All panels under each other, as the text of an SVG file.
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
        // In the paper's unit, as the claims are.
        y_label: panel.label(),
        series: series.collect(),
        stated: panel.stated.iter().map(stated).collect(),
        layout: Layout::Column,
    }
}
