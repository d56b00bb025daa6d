//! What section 3 of Chang and Mohapatra claims.

use meshalloc::{SchedulerKind, StrategyKind};

use super::{AS, FF, FO, SIZES, THRESHOLDS, TRAFFICS, UNIFORM, bypass, settings};
use crate::metrics::Metric;
use crate::reproduce::claims::{
    At, Claim, Gain, close, everywhere, mean_gain, range, saturates, saturates_later,
};
use crate::reproduce::figure::Axis;
use crate::reproduce::measure::Cell;
use crate::reproduce::paper::{Findings, cells, claim};
use crate::statistics::Estimate;
use crate::workload::SizeDistribution;

const FCFS: SchedulerKind = SchedulerKind::Fcfs;
/// FCFS "gets saturated quickly for traffic above 1.5": at a third more, here.
const QUICKLY: f64 = 2.0;
/// Up to here the paper compares allocation under FCFS: above it "gets saturated quickly".
const STABLE: f64 = 1.5;
/// "Nearly identical": within a tenth; clearly not so beyond a quarter.
const NEARLY_IDENTICAL: f64 = 0.10;
const FAR_APART: f64 = 0.25;
/// "Low traffic", where a difference is "negligible".
const LOW_TRAFFIC: f64 = 1.0;
const NEGLIGIBLE: f64 = 0.02;

/// Judges what the chosen figures allow.
pub(super) fn judge(findings: &Findings<'_>) -> Vec<Claim> {
    let judge = Judge { findings };
    let mut claims = Vec::new();
    if findings.have(&[3]) {
        judge.bypass_queue(&mut claims);
    }
    if findings.have(&[4]) {
        judge.fixed_orientation(&mut claims);
        judge.allocation_time(&mut claims);
    }
    if findings.have(&[5]) {
        judge.integrated(&mut claims);
    }
    if findings.have(&[3, 4, 5]) {
        judge.better_together(&mut claims);
    }
    if findings.have(&[6]) {
        judge.variance(&mut claims);
    }
    claims
}

/// Over the traffic ratios.
fn line(strategy: StrategyKind, sizes: SizeDistribution, scheduler: SchedulerKind) -> Vec<Cell> {
    cells(strategy, &settings(sizes, scheduler))
}

/// Only the cells at traffic ratios from `from` to `to`.
fn between(cells: &[Cell], from: f64, to: f64) -> Vec<Cell> {
    let inside = |cell: &&Cell| {
        let traffic = Axis::Traffic.place(cell);
        traffic.is_some_and(|traffic| (from..=to).contains(&traffic))
    };
    cells.iter().filter(inside).copied().collect()
}

struct Judge<'a> {
    findings: &'a Findings<'a>,
}

impl Judge<'_> {
    fn gains(&self, own: &[Cell], other: &[Cell], metric: Metric) -> Vec<At<Gain>> {
        self.findings.gains(own, other, Axis::Traffic, metric)
    }

    /// Each threshold against the one before it.
    fn steps(&self, sizes: SizeDistribution, metric: Metric) -> Vec<At<Gain>> {
        let step = |pair: &[f64]| {
            let own = line(FO, sizes, bypass(pair[1]));
            let other = line(FO, sizes, bypass(pair[0]));
            let gains = self.gains(&own, &other, metric);
            let threshold = pair[1];
            gains.into_iter().map(move |gain| At {
                at: format!("threshold {threshold} at {}", gain.at),
                value: gain.value,
            })
        };
        THRESHOLDS.windows(2).flat_map(step).collect()
    }

    fn bypass_queue(&self, claims: &mut Vec<Claim>) {
        for (sizes, sizes_text) in SIZES {
            for (strategy, name) in [(FF, "first fit"), (AS, "adaptive scan")] {
                let fcfs = line(strategy, sizes, FCFS);
                let gains: Vec<_> = THRESHOLDS[1..]
                    .iter()
                    .flat_map(|&threshold| {
                        let own = line(strategy, sizes, bypass(threshold));
                        let gains = self.gains(&own, &fcfs, Metric::Turnaround);
                        gains.into_iter().map(move |gain| At {
                            at: format!("threshold {threshold} at {}", gain.at),
                            value: gain.value,
                        })
                    })
                    .collect();
                claims.push(claim(
                    3,
                    format!("The bypass queue shortens the turnaround, {name}, {sizes_text}"),
                    "reduced",
                    everywhere(&gains),
                ));
                let ladder = |threshold: f64| {
                    let cells = line(strategy, sizes, bypass(threshold));
                    let label = match threshold {
                        0.0 => "FCFS".to_owned(),
                        _ => format!("threshold {threshold}"),
                    };
                    self.findings.ladder(&label, &cells, Axis::Traffic)
                };
                let own: Vec<_> = THRESHOLDS[1..].iter().map(|&t| ladder(t)).collect();
                claims.push(claim(
                    3,
                    format!("The bypass queue has a higher saturation point, {name}, {sizes_text}"),
                    "higher",
                    saturates_later(&own, &ladder(0.0)),
                ));
            }
        }
        let points: Vec<_> = [(FF, "first fit"), (AS, "adaptive scan")]
            .into_iter()
            .flat_map(|(strategy, name)| {
                let cells = between(&line(strategy, UNIFORM, FCFS), QUICKLY, QUICKLY);
                cells.into_iter().filter_map(move |cell| {
                    let value = self.findings.measurements().backlog(&cell)?;
                    let at = format!("{name}, {}", Axis::Traffic.place_text(&cell));
                    Some(At { at, value })
                })
            })
            .collect();
        claims.push(claim(
            3,
            format!("FCFS is saturated quickly above traffic 1.5: at {QUICKLY}, uniform sides"),
            "saturated",
            saturates(&points),
        ));
    }

    fn fixed_orientation(&self, claims: &mut Vec<Claim>) {
        for (sizes, sizes_text) in SIZES {
            let [ff, fo, scan] = [FF, FO, AS].map(|strategy| line(strategy, sizes, FCFS));
            let turnaround = Metric::Turnaround;
            claims.push(claim(
                4,
                format!(
                    "FO has a shorter turnaround than first fit at all traffic ratios, {sizes_text}"
                ),
                "shorter",
                everywhere(&self.gains(&fo, &ff, turnaround)),
            ));
            if sizes == UNIFORM {
                let at = |cells: &[Cell]| between(cells, 1.5, 1.5);
                claims.push(claim(
                    4,
                    "FO cuts the turnaround of first fit at traffic 1.5, uniform sides",
                    "42 %",
                    range(&self.gains(&at(&fo), &at(&ff), turnaround), 0.42, 0.42),
                ));
            }
            let stable = |cells: &[Cell]| between(cells, 0.0, STABLE);
            claims.push(claim(
                4,
                format!(
                    "FO and adaptive scan have nearly the same turnaround up to traffic {STABLE}, {sizes_text}"
                ),
                "nearly identical",
                close(
                    &self.ratios(&stable(&fo), &stable(&scan)),
                    NEARLY_IDENTICAL,
                    FAR_APART,
                ),
            ));
            let low = |cells: &[Cell]| between(cells, 0.0, LOW_TRAFFIC);
            claims.push(claim(
                4,
                format!(
                    "FO and adaptive scan do equally well under low traffic (up to {LOW_TRAFFIC}), {sizes_text}"
                ),
                "negligible difference",
                close(&self.ratios(&low(&fo), &low(&scan)), NEGLIGIBLE, NEARLY_IDENTICAL),
            ));
            let next = TRAFFICS
                .into_iter()
                .find(|&t| t > LOW_TRAFFIC)
                .unwrap_or(LOW_TRAFFIC);
            let high = |cells: &[Cell]| between(cells, next, f64::INFINITY);
            claims.push(claim(
                4,
                format!(
                    "Adaptive scan has a slightly shorter turnaround than FO at higher traffic, {sizes_text}"
                ),
                "slightly better",
                everywhere(&self.gains(&high(&scan), &high(&fo), turnaround)),
            ));
        }
    }

    fn ratios(&self, own: &[Cell], other: &[Cell]) -> Vec<At<Estimate>> {
        let ratios = self
            .findings
            .ratios(own, other, Axis::Traffic, Metric::Turnaround);
        let known = ratios.into_iter().filter_map(|ratio| {
            let value = ratio.value?;
            Some(At {
                at: ratio.at,
                value,
            })
        });
        known.collect()
    }

    /// The text gives one number for all of its runs: the mean over the traffic ratios.
    fn allocation_time(&self, claims: &mut Vec<Claim>) {
        for (sizes, sizes_text) in SIZES {
            let [fo, scan] = [FO, AS].map(|strategy| line(strategy, sizes, FCFS));
            let ratios = self
                .findings
                .ratios(&scan, &fo, Axis::Traffic, Metric::SearchTime);
            let more: Vec<_> = ratios
                .into_iter()
                .filter_map(|ratio| {
                    let estimate = ratio.value?;
                    let value = Gain::By(Estimate {
                        mean: estimate.mean - 1.0,
                        ..estimate
                    });
                    Some(At {
                        at: ratio.at,
                        value,
                    })
                })
                .collect();
            let mean: Vec<_> = mean_gain(&more)
                .map(|mean| At {
                    at: "mean over the traffic ratios".to_owned(),
                    value: Gain::By(mean),
                })
                .into_iter()
                .collect();
            claims.push(claim(
                4,
                format!("Adaptive scan takes more time for the allocation than FO, {sizes_text}"),
                "20 % to 30 %",
                range(&mean, 0.20, 0.30),
            ));
        }
    }

    fn integrated(&self, claims: &mut Vec<Claim>) {
        for (sizes, sizes_text) in SIZES {
            let scan = line(AS, sizes, FCFS);
            // What is a small threshold is not in the text: each is judged.
            for &threshold in &THRESHOLDS[1..] {
                let own = line(FO, sizes, bypass(threshold));
                claims.push(claim(
                    5,
                    format!(
                        "The integrated scheme with threshold {threshold} is better than adaptive scan, {sizes_text}"
                    ),
                    "better with a small threshold",
                    everywhere(&self.gains(&own, &scan, Metric::Turnaround)),
                ));
            }
            claims.push(claim(
                5,
                format!("A larger threshold shortens the turnaround further, {sizes_text}"),
                "further reduces",
                everywhere(&self.steps(sizes, Metric::Turnaround)),
            ));
        }
    }

    /// The conclusion: more than the bypass queue alone (with first fit) and than FO alone (under FCFS).
    fn better_together(&self, claims: &mut Vec<Claim>) {
        for (sizes, sizes_text) in SIZES {
            for (name, strategy, with_queue) in [
                ("the bypass queue alone (first fit)", FF, true),
                ("FO alone (FCFS)", FO, false),
            ] {
                let gains: Vec<_> = THRESHOLDS[1..]
                    .iter()
                    .flat_map(|&threshold| {
                        let own = line(FO, sizes, bypass(threshold));
                        let scheduler = if with_queue { bypass(threshold) } else { FCFS };
                        let other = line(strategy, sizes, scheduler);
                        let gains = self.gains(&own, &other, Metric::Turnaround);
                        gains.into_iter().map(move |gain| At {
                            at: format!("threshold {threshold} at {}", gain.at),
                            value: gain.value,
                        })
                    })
                    .collect();
                claims.push(claim(
                    5,
                    format!("The integrated scheme is better than {name}, {sizes_text}"),
                    "further improvement",
                    everywhere(&gains),
                ));
            }
        }
    }

    fn variance(&self, claims: &mut Vec<Claim>) {
        for (sizes, sizes_text) in SIZES {
            let steps = self.steps(sizes, Metric::TurnaroundVariance);
            claims.push(claim(
                6,
                format!(
                    "The variance of the turnaround falls as the threshold grows, {sizes_text}"
                ),
                "reduced",
                everywhere(&steps),
            ));
            let largest = THRESHOLDS[THRESHOLDS.len() - 1];
            let own = line(FO, sizes, bypass(largest));
            let other = line(FO, sizes, FCFS);
            let judgement = everywhere(&self.gains(&own, &other, Metric::TurnaroundVariance));
            claims.push(claim(
                6,
                format!(
                    "The variance with threshold {largest} is below that of FCFS, {sizes_text}"
                ),
                "reduced",
                judgement,
            ));
        }
    }
}
