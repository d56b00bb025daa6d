//! What is measured for a paper, and the results.
//!
//! A figure asks for [`Cell`]s: one strategy under one [`Setting`]. Figures share cells, so a
//! [`Plan`] collects them first and each is measured once. All strategies of a setting get the same
//! jobs, and so do all settings that differ in their scheduler alone: their differences are paired.

use meshalloc::{SchedulerKind, StrategyKind};

use super::claims::{Backlog, Compared};
use super::setting::Setting;
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::simulation::RunResult;
use meshalloc_sim::statistics::{Estimate, Sample, Spread};

/// One strategy under one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The setting.
    pub setting: Setting,
    /// The strategy.
    pub strategy: StrategyKind,
}

/// A system under several settings.
#[derive(Debug)]
pub struct Line {
    /// The system.
    pub name: String,
    /// Its points, in order.
    pub points: Vec<Point>,
}

/// A point of a [`Line`]: two cells that are compared.
#[derive(Debug)]
pub struct Point {
    /// Where it is, in words.
    pub at: String,
    /// The value of the last axis, if it is a number.
    pub place: Option<f64>,
    /// The own side.
    pub own: Cell,
    /// The other side. It is the same cell if the claim has one side only.
    pub other: Cell,
}

/// Whether the value above saturation depends on the length of the run. The time of a search does
/// so only where the whole backlog is searched.
fn grows_with_backlog(metric: Metric, scheduler: SchedulerKind) -> bool {
    let searches_backlog = scheduler != SchedulerKind::Fcfs;
    metric.depends_on_length() || (metric == Metric::SearchTime && searches_backlog)
}

/// The settings to be measured, each with its strategies.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    settings: Vec<(Setting, Vec<StrategyKind>)>,
}

impl Plan {
    /// Adds a cell if it is not there yet.
    pub fn add(&mut self, cell: &Cell) {
        let known = self.settings.iter_mut().find(|(s, _)| *s == cell.setting);
        match known {
            Some((_, strategies)) if strategies.contains(&cell.strategy) => {}
            Some((_, strategies)) => strategies.push(cell.strategy),
            None => {
                let setting = cell.setting.clone();
                self.settings.push((setting, vec![cell.strategy]));
            }
        }
    }

    /// The settings, in the order in which they were added.
    pub fn settings(&self) -> &[(Setting, Vec<StrategyKind>)] {
        &self.settings
    }
}

/// The values of one cell, one a replication.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// The values, in the order of replications.
    Values(Sample),
    /// The same, but their mean still grows with the run: they are shown and decide nothing.
    Growing(Sample),
    /// Saturated, and the measure depends on the length of the run; the values are those of a log,
    /// whose mean is shown and depends on where it ends.
    Saturated(Option<Sample>),
    /// Not measured, or nothing was there to measure.
    Missing,
}

impl Reading {
    /// The values that are shown.
    fn sample(&self) -> Option<&Sample> {
        match self {
            Reading::Values(sample) | Reading::Growing(sample) => Some(sample),
            Reading::Saturated(sample) => sample.as_ref(),
            Reading::Missing => None,
        }
    }

    /// Mean and interval over the first `replications`; `None` where there are fewer values.
    pub fn estimate_of_first(&self, replications: usize) -> Option<Estimate> {
        self.sample()?.estimate_of_first(replications)
    }

    /// Mean and interval; `None` without values.
    pub fn estimate(&self) -> Option<Estimate> {
        self.sample()?.estimate()
    }
}

/// What a point of a panel shows, in the unit in which people read it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown {
    /// A mean with its interval.
    Number {
        /// The mean and its interval.
        estimate: Estimate,
        /// Whether the mean still grows with the length of the run.
        grows: bool,
        /// Whether the mean is that of a log that saturates the system.
        saturated: bool,
    },
    /// Saturated, and the measure depends on the length of the run.
    Saturated,
    /// Not measured, or nothing was there to measure.
    Missing,
}

/// Everything measured for a paper.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// Results that are the same on every machine.
    simulated: Results,
    /// Results of runs with a clock around the controller, for metrics that are not reproducible.
    clocked: Results,
}

/// The results of each setting. There are a hundred or so, which are as soon searched as hashed.
#[derive(Clone, Debug, Default)]
struct Results(Vec<(Setting, Vec<StrategyResult>)>);

impl Results {
    fn of(&self, setting: &Setting) -> &[StrategyResult] {
        let known = self.0.iter().find(|(known, _)| known == setting);
        known.map_or(&[], |(_, results)| results)
    }

    fn insert(&mut self, setting: &Setting, results: Vec<StrategyResult>) {
        self.0.retain(|(known, _)| known != setting);
        self.0.push((setting.clone(), results));
    }
}

impl Measurements {
    /// Keeps the results of a setting.
    pub fn insert(&mut self, setting: &Setting, results: Vec<StrategyResult>) {
        self.simulated.insert(setting, results);
    }

    /// Keeps the results of a setting with a clock. If the same runs are there already, the lesser
    /// time of each is kept.
    pub fn insert_clocked(&mut self, setting: &Setting, mut results: Vec<StrategyResult>) {
        for (new, old) in results.iter_mut().zip(self.clocked.of(setting)) {
            for (new, old) in new.runs.iter_mut().zip(&old.runs) {
                let times = [&new.values, &old.values].map(|values| values[Metric::SearchTime]);
                let known = times.into_iter().flatten();
                new.values[Metric::SearchTime] = known.min_by(f64::total_cmp);
            }
        }
        self.clocked.insert(setting, results);
    }

    /// The runs of a cell that measured this.
    pub fn result(&self, cell: &Cell, metric: Metric) -> Option<&StrategyResult> {
        let results = if metric.is_reproducible() {
            &self.simulated
        } else {
            &self.clocked
        };
        let mut results = results.of(&cell.setting).iter();
        results.find(|result| result.strategy == cell.strategy)
    }

    /// The part of the measured jobs that a cell can never place, for each replication.
    pub fn refused(&self, cell: &Cell, metric: Metric) -> Option<Sample> {
        let result = self.result(cell, metric)?;
        let part = |run: &RunResult| {
            let refused = run.refused.total() as f64;
            let served = run.values[Metric::Jobs].unwrap_or(0.0);
            let all = refused + served + f64::from(run.left_behind);
            (all > 0.0).then(|| refused / all)
        };
        Some(Sample {
            values: result.runs.iter().filter_map(part).collect(),
            sampling: result.sampling,
            spread: Spread::Even,
        })
    }

    /// How far `own` is on the way from `from` to `to`, as a part of this way; `None` where one of
    /// them has no number.
    pub fn part_of_way(
        &self,
        own: &Cell,
        from: &Cell,
        to: &Cell,
        metric: Metric,
    ) -> Option<Estimate> {
        let gained = self.differences(own, from, metric)?;
        gained.ratio_to(&self.differences(to, from, metric)?)
    }

    /// The values of a cell.
    pub fn reading(&self, cell: &Cell, metric: Metric) -> Reading {
        let Some(result) = self.result(cell, metric) else {
            return Reading::Missing;
        };
        if !result.has_delays && grows_with_backlog(metric, cell.setting.plan.scheduler) {
            return Reading::Saturated(result.sample(metric).filter(|_| result.is_of_log));
        }
        match result.sample(metric) {
            Some(sample) if meshalloc_sim::results::grows(result, metric) => {
                Reading::Growing(sample)
            }
            Some(sample) => Reading::Values(sample),
            None => Reading::Missing,
        }
    }

    /// The number of a cell: the metric itself or, with another cell, by how many percent it is
    /// over the metric of that cell, over replications with the same jobs. Such a difference is a
    /// number for runs of this length even if the two means still grow with the length.
    pub fn shown(&self, cell: &Cell, against: Option<&Cell>, metric: Metric) -> Shown {
        let own = self.reading(cell, metric);
        let other = against.map_or_else(|| own.clone(), |other| self.reading(other, metric));
        let any = |is_so: fn(&Reading) -> bool| is_so(&own) || is_so(&other);
        let grows = any(|reading| matches!(reading, Reading::Growing(_)));
        let saturated = any(|reading| matches!(reading, Reading::Saturated(_)));
        if any(|reading| *reading == Reading::Missing) {
            return Shown::Missing;
        }
        let (Some(own), Some(other)) = (own.sample(), other.sample()) else {
            return Shown::Saturated;
        };
        let (estimate, offset, scale) = match against {
            None => {
                let estimate = own.estimate().map(|whole| metric.cut(whole));
                (estimate, 0.0, metric.scale())
            }
            Some(_) => (own.ratio_to(other), 1.0, 100.0),
        };
        estimate.map_or(Shown::Missing, |estimate| Shown::Number {
            estimate: estimate.affine(scale, -offset * scale),
            grows,
            saturated,
        })
    }

    /// Whether two systems made the same decisions.
    pub fn are_identical(&self, own: &Cell, other: &Cell, metric: Metric) -> bool {
        let decisions = |cell| {
            let result = self.result(cell, metric)?;
            Some((result.decision_hash, result.decisions))
        };
        let (own_decisions, others) = (decisions(own), decisions(other));
        own != other && own_decisions.is_some() && own_decisions == others
    }

    /// Whether the backlog of a simulated cell grew; `None` if it was not simulated.
    pub fn backlog(&self, cell: &Cell) -> Option<Backlog> {
        let runs = &self.result(cell, Metric::WaitingDelay)?.runs;
        let grew = runs.iter().filter(|run| run.saturated).count();
        Some(Backlog::of(grew, runs.len()))
    }

    /// The ratio of `own` to `other`; `None` if one of them was not measured.
    pub fn compared(&self, own: &Cell, other: &Cell, metric: Metric) -> Option<Compared> {
        match (self.reading(own, metric), self.reading(other, metric)) {
            (Reading::Missing, _) | (_, Reading::Missing) => None,
            (Reading::Saturated(_), Reading::Saturated(_)) => Some(Compared::BothSaturated),
            (Reading::Saturated(_), _) => Some(Compared::OwnSaturated),
            (_, Reading::Saturated(_)) => Some(Compared::OtherSaturated),
            (Reading::Growing(_), _) | (_, Reading::Growing(_)) => Some(Compared::Growing),
            (Reading::Values(own), Reading::Values(other)) => {
                own.ratio_to(&other).map(Compared::Number)
            }
        }
    }

    /// By how much `own` is over `other`, in the metric's unit; `None` without a number.
    pub fn difference(&self, own: &Cell, other: &Cell, metric: Metric) -> Option<Estimate> {
        self.differences(own, other, metric)?.estimate()
    }

    /// By how much the difference at the first point is over that at the second.
    pub fn rise(&self, to: &Point, from: &Point, metric: Metric) -> Option<Estimate> {
        let to = self.differences(&to.own, &to.other, metric)?;
        let from = self.differences(&from.own, &from.other, metric)?;
        to.minus(&from).estimate()
    }

    fn differences(&self, own: &Cell, other: &Cell, metric: Metric) -> Option<Sample> {
        match (self.reading(own, metric), self.reading(other, metric)) {
            (Reading::Values(own), Reading::Values(other)) => Some(own.minus(&other)),
            _ => None,
        }
    }

    /// Half the mean width of intervals of `block` runs: [`Sample::half_width_in_blocks`].
    pub fn half_width_in_blocks(&self, cell: &Cell, metric: Metric, block: usize) -> Option<f64> {
        match self.reading(cell, metric) {
            Reading::Values(sample) => sample.half_width_in_blocks(block),
            Reading::Growing(_) | Reading::Saturated(_) | Reading::Missing => None,
        }
    }
}
