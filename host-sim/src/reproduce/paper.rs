//! A paper that is reproduced: its figures, and its claims as functions of the measurements.

use meshalloc::StrategyKind;

use super::claims::{At, Claim, Gain, Judgement, Ladder};
use super::figure::{Axis, Curve, Figure};
use super::measure::{Cell, Measurements, Setting};
use crate::metrics::Metric;
use crate::statistics::Estimate;

/// A paper, ready to be measured.
pub struct Paper {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name for readers.
    pub title: &'static str,
    /// Authors, title and year.
    pub source: &'static str,
    /// What was decided where the paper leaves it open; each a sentence or two.
    pub remarks: Vec<String>,
    /// Those of its figures that were asked for.
    pub figures: Vec<Figure>,
    /// Judges its claims.
    pub claims: Judge,
}

/// Judges the claims that the figures at hand allow.
pub type Judge = Box<dyn Fn(&Findings<'_>) -> Vec<Claim>>;

/// The measurements, and the claims as they are judged.
pub struct Findings<'m> {
    measurements: &'m Measurements,
    figures: Vec<u32>,
}

impl<'m> Findings<'m> {
    /// Of a paper's figures.
    pub fn new(measurements: &'m Measurements, figures: &[Figure]) -> Self {
        Findings {
            measurements,
            figures: figures.iter().map(|figure| figure.number).collect(),
        }
    }

    /// Whether all of these figures were asked for; what needs another is not judged.
    pub fn have(&self, figures: &[u32]) -> bool {
        figures.iter().all(|figure| self.figures.contains(figure))
    }

    /// By what part `own` is below `other`, cell by cell.
    pub fn gains(&self, own: &[Cell], other: &[Cell], axis: Axis, metric: Metric) -> Vec<At<Gain>> {
        let pairs = own.iter().zip(other);
        pairs
            .filter_map(|(own, other)| {
                let value = self.measurements.gain(own, other, metric)?;
                let at = axis.place_text(own);
                Some(At { at, value })
            })
            .collect()
    }

    /// The ratios of `own` to `other`, cell by cell, `None` where one of them has no number.
    pub fn ratios(
        &self,
        own: &[Cell],
        other: &[Cell],
        axis: Axis,
        metric: Metric,
    ) -> Vec<At<Option<Estimate>>> {
        let pairs = own.iter().zip(other);
        pairs
            .map(|(own, other)| At {
                at: axis.place_text(own),
                value: self.measurements.ratio(own, other, metric),
            })
            .collect()
    }

    /// Means, cell by cell.
    pub fn values(&self, cells: &[Cell], axis: Axis, metric: Metric) -> Vec<At<Estimate>> {
        let value = |cell| {
            let value = self.measurements.reading(cell, metric).estimate()?;
            let at = axis.place_text(cell);
            Some(At { at, value })
        };
        cells.iter().filter_map(value).collect()
    }

    /// The ratio of the last cell to the first.
    pub fn growth(&self, cells: &[Cell], metric: Metric) -> Option<At<Estimate>> {
        let (first, last) = (cells.first()?, cells.last()?);
        if first == last {
            return None;
        }
        let value = self.measurements.ratio(last, first, metric)?;
        let (from, to) = (first.setting.machine_text(), last.setting.machine_text());
        let at = format!("{from} to {to}");
        Some(At { at, value })
    }

    /// What became of the backlog as the load grew.
    pub fn ladder(&self, name: &str, cells: &[Cell], axis: Axis) -> Ladder {
        let step = |cell| Some((axis.place(cell)?, self.measurements.backlog(cell)?));
        Ladder {
            name: name.to_owned(),
            steps: cells.iter().filter_map(step).collect(),
        }
    }

    /// The measurements themselves.
    pub fn measurements(&self) -> &Measurements {
        self.measurements
    }
}

/// One strategy under several settings.
pub fn cells(strategy: StrategyKind, settings: &[Setting]) -> Vec<Cell> {
    let cell = |&setting| Cell { setting, strategy };
    settings.iter().map(cell).collect()
}

/// A curve of them.
pub fn curve(name: impl Into<String>, strategy: StrategyKind, settings: &[Setting]) -> Curve {
    Curve {
        name: name.into(),
        cells: cells(strategy, settings),
    }
}

/// A claim about a figure.
pub fn claim(
    figure: u32,
    text: impl Into<String>,
    paper: impl Into<String>,
    judgement: Judgement,
) -> Claim {
    Claim {
        figure,
        text: text.into(),
        paper: paper.into(),
        judgement,
    }
}
