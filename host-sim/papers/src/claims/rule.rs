//! The rules, with their parameters as a paper's file gives them, and what each is applied to.

use serde::Deserialize;

use super::crossing::{Step, passes};
use super::difference::{difference, value};
use super::gains::{average, everywhere, grows, range};
use super::growth::{nearly_constant, proportional};
use super::judgement::{At, Compared, Judgement, OPEN_MAX, Verdict, is_over_open_max, places_text};
use super::number::{between, exact, nothing, number, part_of, share};
use super::ratios::{close, least_affected};
use super::saturation::{Ladder, alone_sustains, saturates, saturates_later};
use crate::measure::{Cell, Line, Measurements, Point, Reading, Shown};
use meshalloc_sim::metrics::{Metric, Unit};
use meshalloc_sim::statistics::Estimate;

/// A rule with its parameters; parts of 1 are in percent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rule {
    /// The gain reaches the paper's range at every point.
    Range {
        /// The least, in percent.
        low: f64,
        /// The most.
        high: f64,
    },
    /// The mean of the gains over all points reaches the paper's range.
    Average {
        /// The least, in percent.
        low: f64,
        /// The most.
        high: f64,
        /// Whether the paper states by what part the own number is above the other one, and not
        /// below.
        #[serde(default)]
        more: bool,
    },
    /// The own number is below the other one at every point.
    Everywhere {},
    /// The gain grows from the first point to the last.
    Grows {},
    /// The two numbers are nearly the same at every point.
    Close {
        /// The largest distance of the ratio from 1 with which the claim holds, in percent.
        tight: f64,
        /// The largest distance of the ratio from 1 with which the claim does not fail, in percent.
        loose: f64,
    },
    /// The ratio of own to other passes a factor once, in either direction.
    Passes {
        /// The factor.
        factor: f64,
    },
    /// The ratio of own to other is near 1, and nearer than that of the rivals.
    LeastAffected {},
    /// The number hardly changes over the points.
    NearlyConstant {},
    /// The number grows as the place of the points does.
    Proportional {},
    /// The system is saturated at every point.
    Saturates {},
    /// The system alone sustains loads over a limit.
    AloneSustains {
        /// The limit.
        over: f64,
        /// The highest load that the system has to sustain.
        nearly: f64,
    },
    /// Each system sustains a higher load than the rival.
    SaturatesLater {},
    /// The number at the only point is the paper's. If the point has two sides, the difference of
    /// own and other is compared instead; with two points, the amount by which this difference is
    /// larger at the first. Such a difference may also be larger than the paper's.
    Number {
        /// The paper's, in percent.
        number: f64,
        /// The stated error, in percent of each number that went into it. If a mean over as many
        /// replications as the paper has is less exact than this, the error of that mean counts.
        error: f64,
        /// `points` or `%`.
        unit: String,
    },
    /// The own number is over the other one by at least the paper's part at every point, in runs of
    /// this length.
    Difference {
        /// The paper's, in percent; below 0 if the own number is the smaller one.
        number: f64,
        /// Half the width of the paper's interval, in points.
        error: f64,
    },
    /// The number is the paper's at every point.
    Value {
        /// The paper's.
        number: f64,
        /// Its error, in percent of it.
        error: f64,
    },
    /// The share is 0 at every point.
    Nothing {},
    /// The share is between two numbers at every point.
    Between {
        /// The least, in percent.
        low: f64,
        /// The most.
        high: f64,
    },
    /// The own number is this part of the way from the other one to that of the rival, at every
    /// point.
    PartOfWay {
        /// The least, in percent.
        low: f64,
        /// The most.
        high: f64,
    },
    /// The jobs that can never be placed are this part of all, at every point.
    NeverPlaced {
        /// The part, in percent.
        number: f64,
        /// Its error, in points.
        error: f64,
    },
    /// This number of replications is exact enough.
    Exact {
        /// The number.
        replications: usize,
        /// The largest error, in percent.
        limit: f64,
        /// `points` or `% of the mean`.
        unit: String,
    },
}

/// A number that a claim states, as people read it: shares in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatedNumber {
    /// The number stated for the only point, unless that number is a difference.
    OfOne(f64),
    /// The number stated for each point.
    OfEach(f64),
    /// The relative difference of own and other at each point, in percent.
    OfDifference(f64),
}

/// The measurements and systems to which a rule is applied.
#[derive(Clone, Copy)]
pub struct Evidence<'e> {
    /// Everything measured.
    pub measurements: &'e Measurements,
    /// The metric that is compared.
    pub metric: Metric,
    /// The paper's number of replications, as far as it gives one.
    pub replications: Option<usize>,
    /// The systems that the claim is about, one line each.
    pub lines: &'e [Line],
    /// The systems that these are compared with.
    pub rivals: &'e [Line],
}

impl Rule {
    /// The number that the rule compares with, if a figure about this metric shows it at points.
    pub fn stated(&self, metric: Metric) -> Option<StatedNumber> {
        match *self {
            Rule::Number { number, .. } if metric.unit() == Unit::Fraction => {
                Some(StatedNumber::OfOne(number))
            }
            Rule::Value { number, .. } => Some(StatedNumber::OfEach(number * metric.scale())),
            Rule::Difference { number, .. } => Some(StatedNumber::OfDifference(number)),
            _ => None,
        }
    }

    /// Whether it compares with rivals, of which it needs one at least.
    pub const fn needs_rivals(&self) -> bool {
        matches!(
            self,
            Rule::LeastAffected {}
                | Rule::AloneSustains { .. }
                | Rule::SaturatesLater {}
                | Rule::PartOfWay { .. }
        )
    }

    /// Applies the rule.
    pub fn judge(&self, evidence: &Evidence<'_>) -> Judgement {
        let mut judgement = self.apply(evidence);
        let (growing, all) = (evidence.growing(), evidence.points().len());
        let is_named = matches!(self, Rule::Close { .. } | Rule::Grows {});
        if self.leaves_out_growing() {
            if growing > 0 && !is_named {
                let left_out = format!(
                    "; left out, as a mean still grows with the run: {growing} of {all} points"
                );
                judgement.ours.push_str(&left_out);
            }
            let holds = matches!(judgement.verdict, Verdict::Holds | Verdict::Weaker);
            if holds && is_over_open_max(growing, all) {
                judgement.verdict = Verdict::NotDecided;
            }
            let rule = format!(
                ". It is not decided either if a mean still grows with the run at more than \
                 {OPEN_MAX} % of the points"
            );
            judgement.rule.push_str(&rule);
        }
        if let Some(identical) = evidence.identical() {
            judgement.ours.push_str(&identical);
        }
        if !matches!(self, Rule::NeverPlaced { .. }) {
            judgement.ours.push_str(&evidence.never_placed());
        }
        judgement
    }

    /// Whether the rule leaves out the points at which a mean still grows with the run. Other rules
    /// count such points as open, or use their numbers.
    const fn leaves_out_growing(&self) -> bool {
        matches!(
            self,
            Rule::Average { .. }
                | Rule::Nothing {}
                | Rule::Between { .. }
                | Rule::Exact { .. }
                | Rule::Close { .. }
                | Rule::Grows {}
        )
    }

    fn apply(&self, evidence: &Evidence<'_>) -> Judgement {
        let part = |percent: &f64| percent / 100.0;
        match self {
            Rule::Range { low, high } => range(&evidence.gains(), part(low), part(high)),
            Rule::Average { low, high, more } => {
                let gains = if *more {
                    evidence.gains_above()
                } else {
                    evidence.gains()
                };
                average(&gains, part(low), part(high))
            }
            Rule::Everywhere {} => everywhere(&evidence.gains()),
            Rule::Grows {} => grows(&evidence.gains()),
            Rule::Close { tight, loose } => {
                let ratios = evidence.ratios(evidence.lines);
                close(&ratios, part(tight), part(loose))
            }
            Rule::Passes { factor } => passes(&evidence.steps(), *factor),
            Rule::LeastAffected {} => least_affected(
                &evidence.ratios(evidence.lines),
                &evidence.ratios(evidence.rivals),
            ),
            Rule::NearlyConstant {} => nearly_constant(evidence.growth().as_ref(), evidence.span()),
            Rule::Proportional {} => proportional(evidence.growth().as_ref(), evidence.span()),
            Rule::Saturates {} => {
                let backlog = |point: &Point| evidence.measurements.backlog(&point.own);
                saturates(&evidence.each(backlog))
            }
            Rule::AloneSustains { over, nearly } => {
                let (own, others) = (evidence.ladders(evidence.lines), evidence.rivals);
                alone_sustains(&own[0], &evidence.ladders(others), *over, *nearly)
            }
            Rule::SaturatesLater {} => saturates_later(
                &evidence.ladders(evidence.lines),
                &evidence.ladders(evidence.rivals)[0],
            ),
            Rule::Number {
                number: paper,
                error,
                unit,
            } => {
                let paper = part(paper);
                match evidence.points() {
                    [only] if only.own == only.other => {
                        let error = evidence.papers_error(&only.own, part(error) * paper);
                        share(evidence.mean(only), paper, error, unit)
                    }
                    points => {
                        let (found, error) = evidence.differences(points, part(error));
                        number(found, paper, error, unit)
                    }
                }
            }
            Rule::Difference { number, error } => difference(
                &evidence.each(|point| evidence.difference(point)),
                *number,
                *error,
            ),
            Rule::Value { number, error } => value(
                &evidence.each(|point| evidence.number_of(point)),
                *number,
                part(error),
            ),
            Rule::Nothing {} => nothing(&evidence.each(|point| evidence.mean(point))),
            Rule::Between { low, high } => {
                let shares = evidence.each(|point| evidence.mean(point));
                between(&shares, part(low), part(high))
            }
            Rule::PartOfWay { low, high } => {
                let rivals = evidence.rivals.iter().flat_map(|line| &line.points);
                let ways = evidence.points().iter().zip(rivals);
                let on_way = |(Point { at, own, other, .. }, rival): (&Point, &Point)| {
                    let measurements = evidence.measurements;
                    let value =
                        measurements.part_of_way(own, other, &rival.own, evidence.metric)?;
                    let at = at.clone();
                    Some(At { at, value })
                };
                let parts: Vec<_> = ways.filter_map(on_way).collect();
                between(&parts, part(low), part(high))
            }
            Rule::NeverPlaced { number, error } => {
                let refused = |point: &Point| {
                    let refused = evidence.measurements.refused(&point.own, evidence.metric);
                    refused?.estimate()
                };
                let (number, error) = (part(number), part(error));
                between(&evidence.each(refused), number - error, number + error)
            }
            Rule::Exact {
                replications,
                limit,
                unit,
            } => {
                let (measurements, metric) = (evidence.measurements, evidence.metric);
                let error = |point: &Point| {
                    let width =
                        measurements.half_width_in_blocks(&point.own, metric, *replications)?;
                    if unit == "points" {
                        Some(width)
                    } else {
                        Some(part_of(width, evidence.mean(point)?.mean))
                    }
                };
                exact(&evidence.each(error), *replications, part(limit), unit)
            }
        }
    }
}

impl Evidence<'_> {
    fn points(&self) -> &[Point] {
        &self.lines[0].points
    }

    /// A value for each point that has one.
    fn each<T>(&self, value: impl Fn(&Point) -> Option<T>) -> Vec<At<T>> {
        let points = self.points().iter().filter_map(|point| {
            let value = value(point)?;
            let at = point.at.clone();
            Some(At { at, value })
        });
        points.collect()
    }

    fn compared(&self, point: &Point) -> Option<Compared> {
        let Point { own, other, .. } = point;
        self.measurements.compared(own, other, self.metric)
    }

    /// By what part the own number is below the other one.
    fn gains(&self) -> Vec<At<Compared>> {
        self.each(|point| Some(self.compared(point)?.affine(-1.0, 1.0)))
    }

    /// By what part the own number is above the other one.
    fn gains_above(&self) -> Vec<At<Compared>> {
        self.each(|point| Some(self.compared(point)?.affine(1.0, -1.0)))
    }

    /// A text that names the points at which the two compared systems made the same decisions.
    fn identical(&self) -> Option<String> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let is_identical = |point: &&Point| {
            let Point { own, other, .. } = point;
            self.measurements.are_identical(own, other, self.metric)
        };
        let places: Vec<&str> = points()
            .filter(is_identical)
            .map(|point| point.at.as_str())
            .collect();
        let at = places_text(&places, points().count())?;
        Some(format!(
            "; the two systems are identical (same decision hash): {at}"
        ))
    }

    /// A text that says which part of the jobs at most can never be placed; the means leave these
    /// jobs out. Empty if all jobs can be placed.
    fn never_placed(&self) -> String {
        let points = self
            .lines
            .iter()
            .chain(self.rivals)
            .flat_map(|line| &line.points);
        let cells = points.flat_map(|point| [&point.own, &point.other]);
        let refused = |cell| self.measurements.refused(cell, self.metric)?.estimate();
        let parts = cells.filter_map(refused).map(|refused| refused.mean);
        match parts.fold(0.0, f64::max) {
            0.0 => String::new(),
            most => format!(
                "; jobs that can never be placed are left out, up to {:.1} % of all",
                most * 100.0
            ),
        }
    }

    fn growing(&self) -> usize {
        let points = self.points().iter();
        let growing = points.filter(|point| self.compared(point) == Some(Compared::Growing));
        growing.count()
    }

    /// The ratio of own to other; `None` where one of them was not measured.
    fn ratios(&self, lines: &[Line]) -> Vec<At<Option<Compared>>> {
        let points = lines.iter().flat_map(|line| &line.points);
        let ratio = |point: &Point| At {
            at: point.at.clone(),
            value: self.compared(point),
        };
        points.map(ratio).collect()
    }

    /// The ratio of own to other, with the place of each point.
    fn steps(&self) -> Vec<Step> {
        let step = |point: &Point| {
            let value = self.compared(point)?;
            let at = point.at.clone();
            Some((point.place?, At { at, value }))
        };
        self.points().iter().filter_map(step).collect()
    }

    /// By how many percent the own number is over the other one.
    fn difference(&self, point: &Point) -> Option<Estimate> {
        let Point { own, other, .. } = point;
        match self.measurements.shown(own, Some(other), self.metric) {
            Shown::Number { estimate, .. } => Some(estimate),
            Shown::Saturated | Shown::Missing => None,
        }
    }

    /// The number of the own side.
    fn number_of(&self, point: &Point) -> Option<Estimate> {
        self.measurements
            .reading(&point.own, self.metric)
            .estimate()
    }

    /// `None` where it still grows with the length of the run.
    fn mean(&self, point: &Point) -> Option<Estimate> {
        match self.measurements.reading(&point.own, self.metric) {
            Reading::Values(sample) => sample.estimate(),
            Reading::Growing(_) | Reading::Saturated(_) | Reading::Missing => None,
        }
    }

    /// The ratio of the last point to the first.
    fn growth(&self) -> Option<At<Estimate>> {
        let [first, .., last] = self.points() else {
            return None;
        };
        let compared = self
            .measurements
            .compared(&last.own, &first.own, self.metric)?;
        let value = compared.number()?;
        let at = format!("{} to {}", first.at, last.at);
        Some(At { at, value })
    }

    /// By what factor the place grows.
    fn span(&self) -> f64 {
        let ends = self.points().first().zip(self.points().last());
        let ends = ends.and_then(|(first, last)| first.place.zip(last.place));
        ends.map_or(1.0, |(first, last)| last / first)
    }

    /// The trend of the backlog at each load.
    fn ladders(&self, lines: &[Line]) -> Vec<Ladder> {
        let step = |point: &Point| Some((point.place?, self.measurements.backlog(&point.own)?));
        let ladder = |line: &Line| Ladder {
            name: line.name.clone(),
            steps: line.points.iter().filter_map(step).collect(),
        };
        lines.iter().map(ladder).collect()
    }

    /// The difference at the only point, or by how much it is larger at the first of two points;
    /// and the error of the paper's difference. `error` is the stated error as a part of each
    /// number of the difference.
    fn differences(&self, points: &[Point], error: f64) -> (Option<Estimate>, f64) {
        let found = match points {
            [to, from] => self.measurements.rise(to, from, self.metric),
            [only, ..] => self
                .measurements
                .difference(&only.own, &only.other, self.metric),
            [] => None,
        };
        let cells = points.iter().flat_map(|point| [&point.own, &point.other]);
        let mean = |cell| self.measurements.reading(cell, self.metric).estimate();
        let errors = cells.filter_map(|cell| {
            let stated = error * mean(cell)?.mean;
            Some(self.papers_error(cell, stated))
        });
        (found, errors.fold(0.0, f64::hypot))
    }

    /// The error of a paper's number: the stated error or, if it is larger, the error of a mean
    /// over as many replications as the paper has. The latter is estimated from the replications
    /// measured here.
    fn papers_error(&self, cell: &Cell, stated: f64) -> f64 {
        let measured = self.replications.and_then(|count| {
            let measurements = self.measurements;
            measurements.half_width_in_blocks(cell, self.metric, count)
        });
        measured.map_or(stated, |measured| measured.max(stated))
    }
}
