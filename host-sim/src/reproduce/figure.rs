//! A figure of a paper: its panels, and from the measurements to CSV and SVG.

use std::fmt::Write as _;

use super::measure::{Cell, Length, Measurements, Plan, Reading};
use crate::metrics::{Metric, Unit};
use crate::names;
use crate::plot::{self, Layout, Measured, Picture, Point, Scale, Series};
use crate::report::VERSION;
use crate::workload::Rate;

/// What a horizontal axis shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The side of a square mesh.
    Side,
    /// The offered load.
    Load,
    /// The traffic ratio.
    Traffic,
}

impl Axis {
    /// The name in CSV files.
    pub const fn name(self) -> &'static str {
        match self {
            Axis::Side => "mesh_side",
            Axis::Load => "load",
            Axis::Traffic => "traffic",
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Axis::Side => "side of the square mesh (processors)",
            Axis::Load => "offered load (fraction of the processors)",
            Axis::Traffic => "traffic ratio (arrivals in a mean service time)",
        }
    }

    /// Where a cell stands on it.
    pub fn place(self, cell: &Cell) -> f64 {
        let rate = match cell.setting.rate {
            Rate::Load(rate) | Rate::Traffic(rate) => rate,
        };
        match self {
            Axis::Side => f64::from(cell.setting.mesh.sides().w),
            Axis::Load | Axis::Traffic => rate,
        }
    }

    /// A place in words, for instance `64x64` or `load 0.47`.
    pub fn place_text(self, cell: &Cell) -> String {
        match self {
            Axis::Side => cell.setting.mesh.to_string(),
            Axis::Load => format!("load {}", self.place(cell)),
            Axis::Traffic => format!("traffic {}", self.place(cell)),
        }
    }
}

/// One line of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub cells: Vec<Cell>,
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
    /// The vertical one.
    pub metric: Metric,
    /// The lines.
    pub curves: Vec<Curve>,
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
    /// Its panels.
    pub panels: Vec<Panel>,
}

/// The name of a metric in CSV files, with its unit.
pub fn column(metric: Metric) -> &'static str {
    match metric {
        Metric::WaitingDelay => "waiting_delay_s",
        Metric::Turnaround => "turnaround_s",
        Metric::TurnaroundVariance => "turnaround_variance_s2",
        Metric::AllocationMiss => "allocation_miss_percent",
        Metric::SearchTime => "search_time_us",
        other => other.name(),
    }
}

/// The name of a metric in words, with its unit.
pub fn label(metric: Metric) -> &'static str {
    match metric {
        Metric::WaitingDelay => "mean waiting delay (s)",
        Metric::Turnaround => "mean turnaround (s)",
        Metric::TurnaroundVariance => "variance of the turnaround (s²)",
        Metric::AllocationMiss => "allocation miss (% of valid attempts)",
        Metric::SearchTime => "mean search time (µs a job)",
        other => other.name(),
    }
}

/// Numbers are shown times this, in the unit of [`label`].
pub const fn scale(metric: Metric) -> f64 {
    match metric.unit() {
        Unit::Fraction => 100.0,
        Unit::WallSeconds => 1e6,
        _ => 1.0,
    }
}

impl Figure {
    /// Asks for what the figure needs: what the seed decides goes to `simulated`, what a clock must
    /// measure to `clocked`.
    pub fn plan(&self, simulated: &mut Plan, clocked: &mut Plan) {
        for panel in &self.panels {
            let plan = if panel.metric.is_reproducible() {
                &mut *simulated
            } else {
                &mut *clocked
            };
            for &cell in panel.curves.iter().flat_map(|curve| &curve.cells) {
                plan.add(cell);
            }
        }
    }

    /// Whether a clock measured it, so that it differs from run to run.
    pub fn is_clocked(&self) -> bool {
        let mut panels = self.panels.iter();
        panels.any(|panel| !panel.metric.is_reproducible())
    }

    /// The name of its files without the ending; what a clock measured is marked.
    pub fn file_stem(&self) -> String {
        let ending = if self.is_clocked() { "-time" } else { "" };
        format!("figure-{:02}{ending}", self.number)
    }

    /// Every point, measured in runs of this length, in a line, all panels under each other. A number that does not exist is an empty field.
    ///
    /// # Errors
    ///
    /// What went wrong, in words. Writing into memory gives no cause for it to happen.
    pub fn csv(&self, measurements: &Measurements, length: Length) -> Result<String, String> {
        let failed = |error: csv::Error| format!("cannot write the table: {error}");
        let mut writer = csv::Writer::from_writer(Vec::new());
        let header = [
            "figure",
            "panel",
            "axis",
            "x",
            "strategy",
            "scheduler",
            "sizes",
            "mesh",
            "offered",
            "mean_service_s",
            "measure",
            "mean",
            "ci95",
            "replications",
            "saturated",
            "jobs",
            "seed",
            "version",
        ];
        writer.write_record(header).map_err(failed)?;
        for panel in &self.panels {
            for cell in panel.curves.iter().flat_map(|curve| &curve.cells) {
                let estimate = measurements.reading(cell, panel.metric).estimate();
                let result = measurements.result(cell, panel.metric);
                let number = |value: Option<f64>| match value {
                    Some(value) => (value * scale(panel.metric)).to_string(),
                    None => String::new(),
                };
                let record = [
                    self.number.to_string(),
                    panel.name.clone(),
                    panel.axis.name().to_owned(),
                    panel.axis.place(cell).to_string(),
                    cell.strategy.name().to_owned(),
                    names::scheduler_text(cell.setting.scheduler),
                    cell.setting.sizes.to_string(),
                    cell.setting.mesh.to_string(),
                    cell.setting.rate_text(),
                    cell.setting.mean_service.to_string(),
                    column(panel.metric).to_owned(),
                    number(estimate.map(|estimate| estimate.mean)),
                    number(estimate.and_then(|estimate| estimate.ci95)),
                    result.map_or(0, |result| result.runs.len()).to_string(),
                    result.is_some_and(|result| result.saturated).to_string(),
                    length.jobs.to_string(),
                    length.seed.to_string(),
                    VERSION.to_owned(),
                ];
                writer.write_record(record).map_err(failed)?;
            }
        }
        let bytes = writer.into_inner().map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|error| error.to_string())
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

impl Panel {
    /// What is drawn.
    pub fn picture(&self, measurements: &Measurements) -> Picture {
        let point = |cell: &Cell| {
            let y = match measurements.reading(cell, self.metric) {
                Reading::Missing => return None,
                reading => reading.estimate().map(|estimate| Measured {
                    mean: estimate.mean * scale(self.metric),
                    half_width: estimate.ci95.map(|width| width * scale(self.metric)),
                }),
            };
            let x = self.axis.place(cell);
            Some(Point { x, y })
        };
        let series = self.curves.iter().map(|curve| Series {
            name: curve.name.clone(),
            points: curve.cells.iter().filter_map(point).collect(),
        });
        Picture {
            title: self.heading.clone(),
            subtitle: self.parameters.clone(),
            x_label: self.axis.label().to_owned(),
            x_scale: match self.axis {
                Axis::Side => Scale::Doubling,
                Axis::Load | Axis::Traffic => Scale::Linear,
            },
            y_label: label(self.metric).to_owned(),
            series: series.collect(),
            layout: Layout::Column,
        }
    }
}
