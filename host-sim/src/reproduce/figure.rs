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
use serde::Serialize;
use serde_json::Value;

use crate::identity::VERSION;
use crate::plot::{self, Layout, Measured, Picture, Point, Scale, Series};
use crate::report::cells;
use crate::tables::refused_percent;

/// A point of a figure. A number that does not exist is an empty cell; a file has the columns that
/// its figure needs.
#[derive(Serialize)]
struct Row {
    /// Number of the figure in the paper.
    figure: u32,
    /// The panel of the figure.
    panel: String,
    /// Label of the horizontal axis.
    axis: String,
    /// Value on the horizontal axis.
    x: String,
    /// Allocation strategy with its parameters.
    strategy: String,
    /// Scheduler with its parameters.
    scheduler: String,
    /// Metric with its unit.
    metric: String,
    /// Mean over the replications; empty where a synthetic workload saturates the system.
    mean: String,
    /// Lower end of its 95 % confidence interval.
    low: String,
    /// Upper end of this interval.
    high: String,
    /// Standard deviation of the replications.
    standard_deviation: String,
    /// For relative differences: the strategy and scheduler of the comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<String>,
    /// Mean relative difference, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_percent: Option<String>,
    /// Lower end of its 95 % confidence interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_low: Option<String>,
    /// Upper end of this interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference_high: Option<String>,
    /// The number of replications.
    replications: usize,
    /// The value of each replication, separated by semicolons.
    values: String,
    /// The paper's number of replications; absent if the paper names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    paper_replications: Option<usize>,
    /// Mean over the first `paper_replications` replications; empty if there are fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_of_first: Option<String>,
    /// Lower end of its 95 % confidence interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    low_of_first: Option<String>,
    /// Upper end of this interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    high_of_first: Option<String>,
    /// Whether the backlog grew in most replications, or jobs were left behind in one.
    saturated: bool,
    /// Measured jobs refused for good, in all replications.
    refused: Option<u64>,
    /// Whether the mean still grows with the length of the run.
    grows_with_length: bool,
    /// Jobs in a replication.
    jobs: Option<u32>,
    /// The seed of all random numbers.
    seed: u64,
}

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
/// on which no decision depends; then the fields of the rows, and the version.
fn table(rows: &[(Value, Row)]) -> Result<String, Box<dyn Error>> {
    let rows = rows
        .iter()
        .map(|(scenario, row)| Ok((scenario, serde_json::to_value(row)?)));
    let rows = rows.collect::<Result<Vec<_>, serde_json::Error>>()?;
    let fields = rows.first().and_then(|(_, row)| row.as_object());
    let fields: Vec<_> = fields.into_iter().flat_map(|row| row.keys()).collect();
    let is_shown = |name: &&str| {
        let is_known = |(scenario, row): &(&Value, Value)| {
            scenario.get(name).is_some() && row.get(name).is_none()
        };
        *name != "backend" && rows.iter().any(is_known)
    };
    let settings = SETTINGS.iter().map(|setting| setting.name).filter(is_shown);
    let settings: Vec<_> = settings.collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = settings
        .iter()
        .copied()
        .chain(fields.iter().map(|name| &***name));
    writer.write_record(names.chain(["version"]))?;
    for (scenario, row) in &rows {
        let settings = settings.iter().map(|name| cell(&scenario[*name]));
        let fields = fields.iter().map(|name| cell(&row[&**name]));
        writer.write_record(settings.chain(fields).chain([VERSION.to_owned()]))?;
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
    let cut = |whole: Option<Estimate>| whole.map(|whole| panel.metric.cut(whole));
    let unit = cell.setting.plan.workload.time_unit();
    let scheduler = |cell: &Cell| names::scheduler_text(cell.setting.plan.scheduler, unit);
    let values = result.map_or_else(Vec::new, |result| result.values(panel.metric));
    let [mean, low, high, standard_deviation] = cells::estimate(cut(reading.estimate()), scale);
    let difference = figure.is_relative().then(|| {
        let against = curve.against(place);
        let shown = measurements.shown(cell, against, panel.metric);
        let difference = match shown {
            Shown::Number { estimate, .. } => against.map(|_| estimate),
            Shown::Saturated | Shown::Missing => None,
        };
        let name = |cell: &Cell| format!("{}, {}", cell.strategy, scheduler(cell));
        let [mean, low, high, _] = cells::estimate(difference, 1.0);
        [against.map_or_else(String::new, name), mean, low, high]
    });
    let [against, difference_percent, difference_low, difference_high] = optional(difference);
    let first = figure.paper_replications.map(|count| {
        let [mean, low, high, _] = cells::estimate(cut(reading.estimate_of_first(count)), scale);
        [mean, low, high]
    });
    let [mean_of_first, low_of_first, high_of_first] = optional(first);
    Row {
        figure: figure.number,
        panel: panel.name.clone(),
        axis: panel.axis.name.clone(),
        x: panel.places[place].entry.clone(),
        strategy: cell.strategy.to_string(),
        scheduler: scheduler(cell),
        metric: panel.metric.column(unit),
        mean,
        low,
        high,
        standard_deviation,
        against,
        difference_percent,
        difference_low,
        difference_high,
        replications: values.len(),
        values: cells::values(&values, scale),
        paper_replications: figure.paper_replications,
        mean_of_first,
        low_of_first,
        high_of_first,
        saturated: result.is_some_and(|result| result.saturated),
        refused: result.map(|result| result.refused.total()),
        grows_with_length: matches!(reading, Reading::Growing(_)),
        // A log is run whole.
        jobs: cell.setting.synthetic().map(|_| length.jobs),
        seed: length.seed,
    }
}

fn optional<const COUNT: usize>(all: Option<[String; COUNT]>) -> [Option<String>; COUNT] {
    match all {
        Some(all) => all.map(Some),
        None => [const { None }; COUNT],
    }
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
