//! What section 3 of Chuang and Wu claims.

use meshalloc::StrategyKind;

use super::{
    FREE_LIST, Kind, NORMAL, PAPER_REPLICATIONS, PRINTED, RESIDENCES, Residence, SNIFFING,
    STRATEGIES, TASK_KINDS, TC, UNIFORM, closed, residence_text,
};
use crate::metrics::{Metric, Unit};
use crate::reproduce::claims::{
    At, Claim, Gain, close, everywhere, exact, nothing, number, percent,
};
use crate::reproduce::figure::{Axis, label};
use crate::reproduce::measure::Cell;
use crate::reproduce::paper::{Findings, cells, claim};
use crate::statistics::Estimate;

/// Both readings of tree collapsing.
const SEARCHES: [(StrategyKind, &str); 2] = [
    (TC, "with the complete search"),
    (PRINTED, "with the search as printed"),
];
const OTHERS: [(StrategyKind, &str); 2] = [(SNIFFING, "sniffing"), (FREE_LIST, "free-list")];
const MEASURES: [Metric; 4] = [
    Metric::Utilization,
    Metric::CompletionTime,
    Metric::ExternalFragmentation,
    Metric::InternalFragmentation,
];

const UU: Kind = (UNIFORM, UNIFORM);
const UN: Kind = (UNIFORM, NORMAL);
const NU: Kind = (NORMAL, UNIFORM);
const NN: Kind = (NORMAL, NORMAL);
/// By how much the utilization of tree collapsing is over that of sniffing and of free-list, in percentage points.
const GAINS: [(Kind, [f64; 2]); 3] = [
    (UU, [20.56, 7.28]),
    (UN, [13.66, 16.15]),
    (NU, [19.0, 7.72]),
];
/// Internal fragmentation under U*U, in percent: sniffing, free-list.
const INTERNAL: [f64; 2] = [44.34, 28.66];
/// "With the error range falling between ± 3.4 %": a part of the mean, as times have it too.
const PAPER_ERROR: f64 = 0.034;
/// "The same level": within a twentieth, which is what two numbers with that error may differ by; clearly not so
/// beyond three times as much.
const SAME_LEVEL: f64 = 0.05;
const OTHER_LEVEL: f64 = 0.15;

/// Judges what the chosen figures allow; the larger cubes are ours, and nothing is claimed about them.
pub(super) fn judge(findings: &Findings<'_>) -> Vec<Claim> {
    let judge = Judge { findings };
    let mut claims = Vec::new();
    if findings.have(&[2]) {
        judge.gains_in_points(&mut claims);
        judge.always_better(&mut claims);
        judge.internal_fragmentation(&mut claims);
        judge.free_list(&mut claims);
        judge.residence(&mut claims);
        judge.errors(&mut claims);
    }
    claims
}

fn cell(strategy: StrategyKind, kind: Kind, residence: Residence) -> Cell {
    Cell {
        setting: closed(kind, residence),
        strategy,
    }
}

/// Over all distributions.
fn line(strategy: StrategyKind, residence: Residence) -> Vec<Cell> {
    cells(strategy, &TASK_KINDS.map(|kind| closed(kind, residence)))
}

fn kind_text(kind: Kind) -> String {
    Axis::Tasks.place_text(&cell(TC, kind, RESIDENCES[0]))
}

struct Judge<'a> {
    findings: &'a Findings<'a>,
}

impl Judge<'_> {
    fn mean(&self, cell: &Cell, metric: Metric) -> Option<f64> {
        let reading = self.findings.measurements().reading(cell, metric);
        reading.estimate().map(|estimate| estimate.mean)
    }

    /// The error of a difference, or of a difference of differences, of these utilizations in the paper.
    fn paper_error(&self, cells: &[Cell]) -> f64 {
        let errors = cells.iter().filter_map(|cell| {
            let mean = self.mean(cell, Metric::Utilization)?;
            Some(PAPER_ERROR * mean)
        });
        errors.fold(0.0, f64::hypot)
    }

    /// Both readings of tree collapsing stand below each other for each number of the paper.
    fn gains_in_points(&self, claims: &mut Vec<Claim>) {
        let measurements = self.findings.measurements();
        let utilization = Metric::Utilization;
        let at = |strategy, kind| cell(strategy, kind, RESIDENCES[0]);
        for (kind, over) in GAINS {
            for ((other, name), points) in OTHERS.into_iter().zip(over) {
                for (own, search) in SEARCHES {
                    let pair = [at(own, kind), at(other, kind)];
                    let found = measurements.difference(&pair[0], &pair[1], utilization);
                    let error = self.paper_error(&pair);
                    claims.push(claim(
                        2,
                        format!(
                            "The utilization of tree collapsing is above that of {name}, {}, {search}",
                            kind_text(kind)
                        ),
                        format!("by {points} points"),
                        number(found, points / 100.0, error, "points"),
                    ));
                }
            }
        }
        let lift = GAINS[1].1[1] - GAINS[0].1[1];
        for (own, search) in SEARCHES {
            let (to, from) = (
                [at(own, UN), at(FREE_LIST, UN)],
                [at(own, UU), at(FREE_LIST, UU)],
            );
            let found = measurements.rise(to.each_ref(), from.each_ref(), utilization);
            let error = self.paper_error(&[to, from].concat());
            claims.push(claim(
                2,
                format!("The gain over free-list is larger at U*N than at U*U, {search}"),
                format!("by {lift:.2} points, \"a significant lift\""),
                number(found, lift / 100.0, error, "points"),
            ));
        }
    }

    /// By what part `low` is below `high`, over all distributions and residence times.
    fn below(&self, low: StrategyKind, high: StrategyKind, metric: Metric) -> Vec<At<Gain>> {
        let gains = RESIDENCES.into_iter().flat_map(|residence| {
            let (low, high) = (line(low, residence), line(high, residence));
            let gains = self.findings.gains(&low, &high, Axis::Tasks, metric);
            gains.into_iter().map(move |gain| At {
                at: format!("{}, residence {}", gain.at, residence_text(residence)),
                value: gain.value,
            })
        });
        gains.collect()
    }

    fn always_better(&self, claims: &mut Vec<Claim>) {
        for (other, name) in OTHERS {
            let mut add = |text: String, paper: &str, gains: Vec<At<Gain>>| {
                claims.push(claim(2, text, paper, everywhere(&gains)));
            };
            for (own, search) in SEARCHES {
                add(
                    format!(
                        "The utilization of tree collapsing is above that of {name} under all distributions and residence \
                         times, {search}"
                    ),
                    "constantly better",
                    self.below(other, own, Metric::Utilization),
                );
            }
            for (own, search) in SEARCHES {
                add(
                    format!(
                        "Tree collapsing completes all tasks before {name} under all distributions and residence times, \
                         {search}"
                    ),
                    "constantly better",
                    self.below(own, other, Metric::CompletionTime),
                );
            }
            for (own, search) in SEARCHES {
                add(
                    format!(
                        "The external fragmentation of tree collapsing is larger than that of {name}, {search}"
                    ),
                    "in spite of having larger external fragmentation",
                    self.below(other, own, Metric::ExternalFragmentation),
                );
            }
        }
    }

    fn internal_fragmentation(&self, claims: &mut Vec<Claim>) {
        let internal = Metric::InternalFragmentation;
        for (own, search) in SEARCHES {
            let shares = RESIDENCES.into_iter().flat_map(|residence| {
                let values = self
                    .findings
                    .values(&line(own, residence), Axis::Tasks, internal);
                values.into_iter().map(move |share| At {
                    at: format!("{}, residence {}", share.at, residence_text(residence)),
                    value: share.value,
                })
            });
            claims.push(claim(
                2,
                format!("Tree collapsing has no internal fragmentation, {search}"),
                "none",
                nothing(&shares.collect::<Vec<_>>()),
            ));
        }
        for ((strategy, name), percent) in OTHERS.into_iter().zip(INTERNAL) {
            let cell = cell(strategy, UU, RESIDENCES[0]);
            let reading = self.findings.measurements().reading(&cell, internal);
            let paper = percent / 100.0;
            claims.push(claim(
                2,
                format!("Internal fragmentation of {name}, U*U"),
                format!("{percent} %"),
                number(reading.estimate(), paper, PAPER_ERROR * paper, "%"),
            ));
        }
    }

    /// By what part free-list's number under one distribution is below that under another, for each residence time.
    fn free_list_below(&self, low: Kind, high: Kind, metric: Metric) -> Vec<At<Gain>> {
        let gains = RESIDENCES.into_iter().filter_map(|residence| {
            let [low, high] = [low, high].map(|kind| cell(FREE_LIST, kind, residence));
            let value = self.findings.measurements().gain(&low, &high, metric)?;
            let at = format!("residence {}", residence_text(residence));
            Some(At { at, value })
        });
        gains.collect()
    }

    fn free_list(&self, claims: &mut Vec<Claim>) {
        for (metric, text, paper) in [
            (Metric::InternalFragmentation, "internal", "uprising"),
            (
                Metric::ExternalFragmentation,
                "external",
                "a turn for the worse",
            ),
        ] {
            claims.push(claim(
                2,
                format!("The {text} fragmentation of free-list is larger at U*N than at U*U"),
                paper,
                everywhere(&self.free_list_below(UU, UN, metric)),
            ));
        }
        for (low, high, paper) in [(UN, UU, "the markdown"), (NN, NU, "plunges again")] {
            claims.push(claim(
                2,
                format!(
                    "The utilization of free-list is lower at {} than at {}",
                    kind_text(low),
                    kind_text(high)
                ),
                paper,
                everywhere(&self.free_list_below(low, high, Metric::Utilization)),
            ));
        }
        let ratios = RESIDENCES.into_iter().filter_map(|residence| {
            let [own, other] = [NU, UU].map(|kind| cell(FREE_LIST, kind, residence));
            let measurements = self.findings.measurements();
            let value: Estimate = measurements.ratio(&own, &other, Metric::Utilization)?;
            let at = format!("residence {}", residence_text(residence));
            Some(At { at, value })
        });
        claims.push(claim(
            2,
            "The utilization of free-list at N*U is at the same level as at U*U",
            "the same level",
            close(&ratios.collect::<Vec<_>>(), SAME_LEVEL, OTHER_LEVEL),
        ));
    }

    fn residence(&self, claims: &mut Vec<Claim>) {
        let [short, long] = RESIDENCES;
        let gains = STRATEGIES.into_iter().flat_map(|(strategy, name)| {
            let (short, long) = (line(strategy, short), line(strategy, long));
            let metric = Metric::ExternalFragmentation;
            let gains = self.findings.gains(&short, &long, Axis::Tasks, metric);
            gains.into_iter().map(move |gain| At {
                at: format!("{name}, {}", gain.at),
                value: gain.value,
            })
        });
        claims.push(claim(
            2,
            format!(
                "External fragmentation is larger with residence {} than with {}, for all strategies under all \
                 distributions",
                residence_text(long),
                residence_text(short)
            ),
            "the longer, the larger",
            everywhere(&gains.collect::<Vec<_>>()),
        ));
    }

    /// The paper's error is a part of the mean, since times have it too; for shares, points are possible as well.
    fn errors(&self, claims: &mut Vec<Claim>) {
        let relative: fn(&Estimate) -> Option<f64> = Estimate::relative_error;
        let in_points: fn(&Estimate) -> Option<f64> = |estimate| estimate.ci95;
        for metric in MEASURES {
            for (error, unit) in [(relative, "% of the mean"), (in_points, "points")] {
                if unit == "points" && metric.unit() != Unit::Fraction {
                    continue;
                }
                let limit = percent(PAPER_ERROR);
                let errors = self.errors_of_ten(metric, error);
                claims.push(claim(
                    2,
                    format!(
                        "The error of {PAPER_REPLICATIONS} seeds is within {limit} {unit}: {}",
                        label(metric)
                    ),
                    format!("± {limit} %"),
                    exact(&errors, PAPER_REPLICATIONS, PAPER_ERROR, unit),
                ));
            }
        }
    }

    fn errors_of_ten(&self, metric: Metric, error: fn(&Estimate) -> Option<f64>) -> Vec<At<f64>> {
        let mut errors = Vec::new();
        for residence in RESIDENCES {
            for (strategy, name) in STRATEGIES {
                for cell in line(strategy, residence) {
                    let measurements = self.findings.measurements();
                    let estimate =
                        measurements.estimate_in_blocks(&cell, metric, PAPER_REPLICATIONS);
                    let value = estimate.as_ref().and_then(error);
                    errors.extend(value.map(|value| At {
                        at: format!(
                            "{name}, {}, residence {}",
                            Axis::Tasks.place_text(&cell),
                            residence_text(residence)
                        ),
                        value,
                    }));
                }
            }
        }
        errors
    }
}
