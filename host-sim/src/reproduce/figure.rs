//! A figure of a paper: its panels, and from the measurements to CSV and SVG.

use std::fmt::Write as _;

use serde::Deserialize;

use super::length::Length;
use super::measure::{Cell, Measurements, Plan, Reading, Shown};
use super::setting::Setting;
use crate::identity::VERSION;
use crate::plot::{self, Layout, Measured, Picture, Point, Scale, Series};
use crate::report::cells;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;

use meshalloc_sim::workload::TimeUnit;

/// A horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The name in CSV files.
    pub name: String,
    /// What it shows, with its unit.
    pub label: String,
    /// How far apart its places are.
    pub scale: XScale,
}

/// How far apart the places of an axis are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum XScale {
    /// As their numbers.
    #[default]
    Linear,
    /// As the logarithms of their numbers.
    Doubling,
    /// Side by side, in the order of the rows.
    Categories,
}

/// A place on a horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// As tables have it.
    pub entry: String,
    /// Its number; of a category that of its row.
    pub x: f64,
}

/// One line of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub cells: Vec<Cell>,
    /// What each of them is compared with, if the panel shows relative differences in percent.
    pub against: Option<Vec<Cell>>,
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What sets it apart from the other panels of its figure, for CSV files: `uniform`.
    pub name: String,
    /// The same in words.
    pub heading: String,
    /// What all its points share.
    pub parameters: String,
    /// The horizontal axis.
    pub axis: Axis,
    /// Its places, one for each cell of a curve.
    pub places: Vec<Place>,
    /// The vertical one.
    pub metric: Metric,
    /// The lines.
    pub curves: Vec<Curve>,
    /// Numbers that the paper's text states about points of them.
    pub stated: Vec<Stated>,
}

/// A number that a paper's text states about a point of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stated {
    /// The number of the curve.
    pub curve: usize,
    /// The number of the place.
    pub row: usize,
    /// The number, in the unit of the panel's vertical axis.
    pub number: f64,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its number in the paper.
    pub number: u32,
    /// What it shows.
    pub title: String,
    /// What must be known to read it beside the paper's.
    pub note: String,
    /// The paper's number of replications: tables show what the first of them give beside what all give.
    pub paper_replications: Option<usize>,
    /// Its panels.
    pub panels: Vec<Panel>,
}

/// The columns of a figure's CSV file with what they mean; a file has those that its paper needs.
pub const COLUMNS: [(&str, &str); 39] = [
    ("figure", "number of the figure in the paper"),
    (
        "panel",
        "what sets the panel apart from the others of the figure",
    ),
    ("axis", "what the horizontal axis shows"),
    ("x", "place on it"),
    ("strategy", "allocation strategy with its parameters"),
    ("scheduler", "scheduler with its parameters"),
    ("sizes", "distribution of the side lengths of jobs"),
    (
        "task_processors",
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
    ("mean_service_s", "mean service time, seconds"),
    ("messages", "what jobs send"),
    ("io", "how jobs communicate, read and write"),
    (
        "estimates",
        "the estimate of its run time that each request carries",
    ),
    ("measure", "metric with its unit"),
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
        "grows_with_length",
        "whether the mean still grows with the length of the run",
    ),
    ("jobs", "jobs in a replication"),
    ("seed", "what all random numbers derive from"),
    ("version", "version of host-sim"),
];

/// The name of a metric in words.
fn words(metric: Metric) -> String {
    match metric {
        Metric::WaitingDelay => "mean waiting delay".into(),
        Metric::BoundedSlowdown => "mean bounded slowdown".into(),
        other => other.name().replace('_', " "),
    }
}

/// The name of a metric in words, with its unit.
fn label(metric: Metric, unit: TimeUnit) -> String {
    let time = unit.symbol();
    match metric {
        Metric::WaitingDelay => format!("{} ({time})", words(metric)),
        Metric::BoundedSlowdown => words(metric),
        Metric::Turnaround => format!("mean turnaround ({time})"),
        Metric::TurnaroundVariance => format!("variance of the turnaround ({time}²)"),
        Metric::AllocationMiss => "allocation miss (% of valid attempts)".into(),
        Metric::SearchTime => "mean search time (µs a job)".into(),
        Metric::Utilization => "processor utilization (%)".into(),
        Metric::CompletionTime => format!("completion time ({time})"),
        Metric::InternalFragmentation => "internal fragmentation (% of those held)".into(),
        Metric::ExternalFragmentation => "external fragmentation (% of all)".into(),
        Metric::ServiceTime => format!("mean service time ({time})"),
        Metric::MessageLatency => format!("mean message latency ({time})"),
        Metric::BlockedTime => format!("mean blocked time of a message ({time})"),
        other => other.name().into(),
    }
}

impl Figure {
    /// Adds the cells of the figure: those whose metric the seed determines to `simulated`, those that a clock must
    /// measure to `clocked`.
    pub fn plan(&self, simulated: &mut Plan, clocked: &mut Plan) {
        for panel in &self.panels {
            let plan = if panel.metric.is_reproducible() {
                &mut *simulated
            } else {
                &mut *clocked
            };
            let against = panel
                .curves
                .iter()
                .filter_map(|curve| curve.against.as_ref());
            for cell in panel.cells().chain(against.flatten()) {
                plan.add(cell);
            }
        }
    }

    /// Every point of every panel.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.panels.iter().flat_map(Panel::cells)
    }

    /// Whether a clock measured it, so that it differs from run to run.
    pub fn is_clocked(&self) -> bool {
        let mut panels = self.panels.iter();
        panels.any(|panel| !panel.metric.is_reproducible())
    }

    /// Whether a panel shows relative differences.
    fn is_relative(&self) -> bool {
        let mut curves = self.panels.iter().flat_map(|panel| &panel.curves);
        curves.any(|curve| curve.against.is_some())
    }

    /// The name of its files without the ending; what a clock measured is marked.
    pub fn file_stem(&self) -> String {
        let ending = if self.is_clocked() { "-time" } else { "" };
        format!("figure-{:02}{ending}", self.number)
    }

    /// Every point in a line, all panels under each other; `length` is that of the runs of a setting. A number that
    /// does not exist is an empty field.
    ///
    /// # Errors
    ///
    /// What went wrong, in words. Writing into memory gives no cause for it to happen.
    pub fn csv(
        &self,
        measurements: &Measurements,
        length: impl Fn(&Setting) -> Length,
    ) -> Result<String, String> {
        let failed = |error: csv::Error| format!("cannot write the table: {error}");
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut header = Vec::new();
        for panel in &self.panels {
            let rows = 0..panel.places.len();
            let curves = panel.curves.iter();
            for (curve, row) in curves.flat_map(|curve| rows.clone().map(move |row| (curve, row))) {
                let length = length(&curve.cells[row].setting);
                let record = self.record(panel, curve, row, measurements, length);
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
        &self,
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
        add("figure", self.number.to_string());
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
        add("measure", panel.metric.column(cell.setting.time_unit()));
        let [mean, low, high, deviation] = cells::estimate(reading.estimate(), scale);
        add("mean", mean);
        add("low", low);
        add("high", high);
        add("standard_deviation", deviation);
        if self.is_relative() {
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
        if let Some(count) = self.paper_replications {
            let [mean, low, high, _] = cells::estimate(reading.estimate_of_first(count), scale);
            add(&format!("mean_of_first_{count}"), mean);
            add(&format!("low_of_first_{count}"), low);
            add(&format!("high_of_first_{count}"), high);
        }
        let saturated = result.is_some_and(|result| result.saturated);
        add("saturated", saturated.to_string());
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
    pub fn svg(&self, measurements: &Measurements) -> Result<String, String> {
        let (mut inner, mut width, mut height) = (String::new(), 0, 0);
        for panel in &self.panels {
            let picture = panel.picture(measurements);
            let size = plot::size(&picture);
            let drawn = plot::svg(&picture)?;
            let placed = drawn.replacen("<svg ", &format!("<svg x=\"0\" y=\"{height}\" "), 1);
            inner.push_str(&placed);
            width = width.max(size.0);
            height += size.1;
        }
        let mut text = String::new();
        let _ = writeln!(
            text,
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\">\n{inner}</svg>"
        );
        Ok(text)
    }
}

impl Curve {
    /// What the cell of this place is compared with.
    pub fn against(&self, row: usize) -> Option<&Cell> {
        self.against.as_ref().map(|cells| &cells[row])
    }
}

impl Panel {
    /// What its vertical axis shows, with the unit.
    pub fn label(&self) -> String {
        let unit = self.time_unit();
        match self.curves.iter().any(|curve| curve.against.is_some()) {
            true => format!("difference of the {} (%)", words(self.metric)),
            false => label(self.metric, unit),
        }
    }

    /// The unit of its times.
    pub fn time_unit(&self) -> TimeUnit {
        self.cells()
            .next()
            .map_or(TimeUnit::default(), |cell| cell.setting.time_unit())
    }

    /// Adds a number that the paper's text states about a cell, or about by what part it differs from another one, wherever the
    /// panel shows that.
    pub fn state(&mut self, metric: Metric, own: &Cell, against: Option<&Cell>, number: f64) {
        if metric != self.metric {
            return;
        }
        for (place, curve) in self.curves.iter().enumerate() {
            let rows = curve.cells.iter().enumerate();
            let shown = rows.filter(|&(row, cell)| cell == own && curve.against(row) == against);
            self.stated.extend(shown.map(|(row, _)| Stated {
                curve: place,
                row,
                number,
            }));
        }
    }

    /// Its points, curve by curve.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.curves.iter().flat_map(|curve| &curve.cells)
    }

    /// What is drawn.
    pub fn picture(&self, measurements: &Measurements) -> Picture {
        let point = |curve: &Curve, row: usize| {
            let shown = measurements.shown(&curve.cells[row], curve.against(row), self.metric);
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
                    refused: None,
                }),
            };
            let x = self.places[row].x;
            Some(Point { x, y })
        };
        let series = self.curves.iter().map(|curve| Series {
            name: curve.name.clone(),
            points: (0..self.places.len())
                .filter_map(|row| point(curve, row))
                .collect(),
        });
        let stated = |stated: &Stated| plot::Stated {
            series: stated.curve,
            x: self.places[stated.row].x,
            y: stated.number,
        };
        let categories = || self.places.iter().map(|place| place.entry.clone());
        Picture {
            title: self.heading.clone(),
            subtitle: self.parameters.clone(),
            x_label: self.axis.label.clone(),
            x_scale: match self.axis.scale {
                XScale::Doubling => Scale::Doubling,
                XScale::Linear => Scale::Linear,
                XScale::Categories => Scale::Categories(categories().collect()),
            },
            y_label: self.label(),
            // In the paper's unit, as the claims are.
            y_time: None,
            series: series.collect(),
            stated: self.stated.iter().map(stated).collect(),
            layout: Layout::Column,
        }
    }
}
