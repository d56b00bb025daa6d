//! A figure of a paper: its panels, and what their points are.

use serde::Deserialize;

use meshalloc_sim::metrics::Metric;
use meshalloc_sim::workload::TimeUnit;

use crate::measure::{Cell, Plan};

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
    /// The text for tables.
    pub entry: String,
    /// Its number; for a category, the number of its row.
    pub x: f64,
}

/// One line of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub cells: Vec<Cell>,
    /// The cell that each point is compared with, if the panel shows relative differences in
    /// percent.
    pub against: Option<Vec<Cell>>,
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The name that distinguishes it from the other panels of its figure, for CSV files:
    /// `uniform`.
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
    /// A note that a reader needs to compare it with the paper's figure.
    pub note: String,
    /// The paper's number of replications. Tables show the means over that many beside the means
    /// over all.
    pub paper_replications: Option<usize>,
    /// Its panels.
    pub panels: Vec<Panel>,
}

impl Figure {
    /// Adds the figure's cells: to `simulated` if the seed determines the metric, else to
    /// `clocked`.
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
    pub fn is_relative(&self) -> bool {
        let mut curves = self.panels.iter().flat_map(|panel| &panel.curves);
        curves.any(|curve| curve.against.is_some())
    }

    /// The name of its files without the ending; what a clock measured is marked.
    pub fn file_stem(&self) -> String {
        let ending = if self.is_clocked() { "-time" } else { "" };
        format!("figure-{:02}{ending}", self.number)
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
        if self.curves.iter().any(|curve| curve.against.is_some()) {
            format!("difference of the {} (%)", self.metric.words())
        } else {
            self.metric.label(unit.symbol())
        }
    }

    /// The unit of its times.
    pub fn time_unit(&self) -> TimeUnit {
        self.cells().next().map_or(TimeUnit::default(), |cell| {
            cell.setting.plan.workload.time_unit()
        })
    }

    /// Adds a number that the paper's text states about a cell, or about its difference from the
    /// cell `against`, at each point of the panel that shows this.
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
}
