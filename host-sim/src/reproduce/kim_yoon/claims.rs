//! What section IV, the abstract and the conclusion of Kim and Yoon claim.

use meshalloc::{SchedulerKind, StrategyKind};

use super::{
    AS, BUSY_LIST, EXPONENTIAL, FCFS, FSL, LOADS_FCFS, LOADS_MODIFIED, MODIFIED, NORMAL,
    NORMAL_VAR, STRATEGIES, UNIFORM, Workload,
};
use crate::metrics::Metric;
use crate::reproduce::claims::{
    self, At, Claim, Gain, alone_sustains, everywhere, grows, least_affected, mean_gain,
    nearly_constant, proportional, range, saturates,
};
use crate::reproduce::figure::Axis;
use crate::reproduce::measure::Cell;
use crate::reproduce::paper::{Findings, cells, claim};
use crate::workload::SizeDistribution;

/// Both strategies that FSL is compared with.
const RIVALS: [(StrategyKind, &str); 2] = [(AS, "adaptive scan"), (BUSY_LIST, "Busy-List")];

/// Loads over this are sustained by FSL alone, "nearly" up to .55.
const OVER: f64 = 0.5;
const NEARLY: f64 = 0.54;

/// Judges what the chosen figures allow.
pub(super) fn judge(findings: &Findings<'_>, sides: &[u16]) -> Vec<Claim> {
    let judge = Judge { findings, sides };
    let mut claims = Vec::new();
    if findings.have(&[10]) {
        judge.delay_over_sides(&mut claims);
        judge.dependence_on_sizes(&mut claims);
        judge.average_fcfs(&mut claims);
    }
    if findings.have(&[11]) {
        judge.delay_over_loads(&mut claims);
    }
    if findings.have(&[12]) {
        judge.miss_over_sides(&mut claims);
    }
    if findings.have(&[13]) {
        judge.miss_over_loads(&mut claims);
    }
    if findings.have(&[14]) {
        judge.search_fcfs(&mut claims);
    }
    if findings.have(&[15]) {
        judge.modified_over_sides(&mut claims);
    }
    if findings.have(&[16]) {
        judge.modified_over_loads(&mut claims);
    }
    if findings.have(&[11, 16]) {
        judge.modified_against_fcfs(&mut claims);
    }
    if findings.have(&[17]) {
        judge.search_modified(&mut claims);
    }
    claims
}

struct Judge<'a> {
    findings: &'a Findings<'a>,
    sides: &'a [u16],
}

impl Judge<'_> {
    fn on_sides(&self, w: Workload, strategy: StrategyKind) -> Vec<Cell> {
        cells(strategy, &w.over_sides(self.sides))
    }

    /// FSL against another strategy, over the meshes.
    fn gains_on_sides(&self, w: Workload, other: StrategyKind, metric: Metric) -> Vec<At<Gain>> {
        let (own, other) = (self.on_sides(w, FSL), self.on_sides(w, other));
        self.findings.gains(&own, &other, Axis::Side, metric)
    }

    /// FSL against another strategy, over the loads.
    fn gains_on_loads(
        &self,
        w: Workload,
        other: StrategyKind,
        loads: &[f64],
        metric: Metric,
    ) -> Vec<At<Gain>> {
        let settings = w.over_loads(loads);
        let (own, other) = (cells(FSL, &settings), cells(other, &settings));
        self.findings.gains(&own, &other, Axis::Load, metric)
    }

    fn delay_over_sides(&self, claims: &mut Vec<Claim>) {
        let delay = Metric::WaitingDelay;
        for (sizes, over_as, over_busy_list) in [
            (UNIFORM, (31, 56), (14, 26)),
            (EXPONENTIAL, (46, 91), (16, 39)),
            (NORMAL, (41, 83), (19, 36)),
            (NORMAL_VAR, (41, 83), (19, 36)),
        ] {
            let w = Workload::new(sizes, FCFS);
            for ((rival, name), (low, high)) in RIVALS.into_iter().zip([over_as, over_busy_list]) {
                let gains = self.gains_on_sides(w, rival, delay);
                let verdict = range(&gains, f64::from(low) / 100.0, f64::from(high) / 100.0);
                let text = format!("FSL waits less than {name}, {}", w.sizes_text());
                claims.push(claim(10, text, format!("{low} % to {high} %"), verdict));
                let text = format!(
                    "The difference to {name} grows with the mesh, {}",
                    w.sizes_text()
                );
                claims.push(claim(10, text, "increases", grows(&gains)));
            }
        }
        let w = Workload::new(EXPONENTIAL, FCFS);
        let large: Vec<u16> = self.sides.iter().copied().filter(|&s| s > 64).collect();
        let points = cells(AS, &w.over_sides(&large));
        let points: Vec<_> = points
            .iter()
            .filter_map(|cell| {
                let value = self.findings.measurements().backlog(cell)?;
                let at = Axis::Side.place_text(cell);
                Some(At { at, value })
            })
            .collect();
        claims.push(claim(
            10,
            "Adaptive scan is saturated over 64x64 at load .47, exponential sides",
            "saturated",
            saturates(&points),
        ));
    }

    fn dependence_on_sizes(&self, claims: &mut Vec<Claim>) {
        let ratios = |strategy| {
            let of = |sizes| self.on_sides(Workload::new(sizes, FCFS), strategy);
            let (exponential, uniform) = (of(EXPONENTIAL), of(UNIFORM));
            let delay = Metric::WaitingDelay;
            self.findings
                .ratios(&exponential, &uniform, Axis::Side, delay)
        };
        let known = |ratio: At<Option<_>>| {
            Some(At {
                at: ratio.at,
                value: ratio.value?,
            })
        };
        let own: Vec<_> = ratios(FSL).into_iter().filter_map(known).collect();
        let others: Vec<_> = [AS, BUSY_LIST].into_iter().flat_map(ratios).collect();
        claims.push(claim(
            10,
            "FSL waits nearly as long under exponential as under uniform sides, the others do not",
            "nearly similar",
            least_affected(&own, &others),
        ));
    }

    /// The abstract and the conclusion; "about" is taken as 5 points on both sides.
    fn average(&self, figure: u32, workloads: &[Workload], percent: u32) -> Claim {
        let gains: Vec<_> = workloads
            .iter()
            .flat_map(|&w| self.gains_on_sides(w, BUSY_LIST, Metric::WaitingDelay))
            .collect();
        let mean: Vec<_> = mean_gain(&gains)
            .map(|mean| At {
                at: format!("mean of {} points", gains.len()),
                value: Gain::By(mean),
            })
            .into_iter()
            .collect();
        let about = f64::from(percent) / 100.0;
        let mut judgement = range(&mean, about - 0.05, about + 0.05);
        judgement.details.extend(
            gains
                .iter()
                .map(|gain| format!("{}: {}", gain.at, claims::gain_text(&gain.value))),
        );
        let scheduler = match workloads.first() {
            Some(w) if w.scheduler != FCFS => w.scheduler_text(),
            _ => "FCFS".to_owned(),
        };
        claim(
            figure,
            format!(
                "FSL improves on the best previous strategy on average, {scheduler} (abstract)"
            ),
            format!("about {percent} %"),
            judgement,
        )
    }

    fn average_fcfs(&self, claims: &mut Vec<Claim>) {
        let workloads = [UNIFORM, EXPONENTIAL, NORMAL].map(|sizes| Workload::new(sizes, FCFS));
        claims.push(self.average(10, &workloads, 30));
    }

    fn delay_over_loads(&self, claims: &mut Vec<Claim>) {
        for sizes in [UNIFORM, NORMAL, NORMAL_VAR, EXPONENTIAL] {
            let w = Workload::new(sizes, FCFS);
            let settings = w.over_loads(&LOADS_FCFS);
            let ladder = |(strategy, name)| {
                self.findings
                    .ladder(name, &cells(strategy, &settings), Axis::Load)
            };
            for (rival, name) in RIVALS {
                let gains = self.gains_on_loads(w, rival, &LOADS_FCFS, Metric::WaitingDelay);
                let text = format!(
                    "FSL waits less than {name} under all loads, {}",
                    w.sizes_text()
                );
                claims.push(claim(11, text, "performs the best", everywhere(&gains)));
                let text = format!(
                    "The difference to {name} grows with the load, {}",
                    w.sizes_text()
                );
                claims.push(claim(11, text, "grows", grows(&gains)));
            }
            let verdict = alone_sustains(&ladder((FSL, "FSL")), &RIVALS.map(ladder), OVER, NEARLY);
            claims.push(claim(
                11,
                format!("Only FSL sustains loads over .5, {}", w.sizes_text()),
                "nearly up to .55",
                verdict,
            ));
        }
    }

    fn miss_over_sides(&self, claims: &mut Vec<Claim>) {
        for sizes in [UNIFORM, NORMAL, NORMAL_VAR] {
            let w = Workload::new(sizes, FCFS);
            for (rival, name) in RIVALS {
                let gains = self.gains_on_sides(w, rival, Metric::AllocationMiss);
                claims.push(lowest_miss(12, name, w, &gains));
            }
        }
    }

    fn miss_over_loads(&self, claims: &mut Vec<Claim>) {
        for sizes in [UNIFORM, NORMAL, NORMAL_VAR] {
            let w = Workload::new(sizes, FCFS);
            for (rival, name) in RIVALS {
                let gains = self.gains_on_loads(w, rival, &LOADS_FCFS, Metric::AllocationMiss);
                claims.push(lowest_miss(13, name, w, &gains));
            }
        }
    }

    fn search_fcfs(&self, claims: &mut Vec<Claim>) {
        for sizes in [EXPONENTIAL, NORMAL, NORMAL_VAR] {
            let w = Workload::new(sizes, FCFS);
            self.constant_search(14, w, &[FSL, BUSY_LIST], claims);
            let gains = self.gains_on_sides(w, BUSY_LIST, Metric::SearchTime);
            claims.push(claim(
                14,
                format!("FSL searches no longer than Busy-List, {}", w.sizes_text()),
                "slightly lower",
                everywhere(&gains),
            ));
            let growth = self
                .findings
                .growth(&self.on_sides(w, AS), Metric::SearchTime);
            claims.push(claim(
                14,
                format!(
                    "The search time of adaptive scan grows in proportion to the mesh, {}",
                    w.sizes_text()
                ),
                "in proportion",
                proportional(growth.as_ref(), self.span()),
            ));
        }
    }

    fn search_modified(&self, claims: &mut Vec<Claim>) {
        for scheduler in MODIFIED {
            for sizes in [UNIFORM, EXPONENTIAL] {
                let w = Workload::new(sizes, scheduler);
                self.constant_search(17, w, &[FSL], claims);
                for (rival, name) in RIVALS {
                    let gains = self.gains_on_sides(w, rival, Metric::SearchTime);
                    let text = format!("FSL searches less than {name}, {}", text_of(w));
                    claims.push(claim(17, text, "the lowest", everywhere(&gains)));
                }
            }
        }
    }

    fn constant_search(
        &self,
        figure: u32,
        w: Workload,
        strategies: &[StrategyKind],
        claims: &mut Vec<Claim>,
    ) {
        for &strategy in strategies {
            let name = if strategy == FSL { "FSL" } else { "Busy-List" };
            let growth = self
                .findings
                .growth(&self.on_sides(w, strategy), Metric::SearchTime);
            claims.push(claim(
                figure,
                format!(
                    "The search time of {name} hardly depends on the mesh, {}",
                    text_of(w)
                ),
                "nearly constant",
                nearly_constant(growth.as_ref(), self.span()),
            ));
        }
    }

    /// By what factor the side of the mesh grows.
    fn span(&self) -> f64 {
        match (self.sides.first(), self.sides.last()) {
            (Some(&first), Some(&last)) => f64::from(last) / f64::from(first),
            _ => 1.0,
        }
    }

    fn modified_over_sides(&self, claims: &mut Vec<Claim>) {
        for scheduler in MODIFIED {
            for (sizes, over_as, over_busy_list) in [
                (UNIFORM, (16, 28), (7, 13)),
                (EXPONENTIAL, (15, 25), (5, 11)),
            ] {
                let w = Workload::new(sizes, scheduler);
                for ((rival, name), (low, high)) in
                    RIVALS.into_iter().zip([over_as, over_busy_list])
                {
                    let gains = self.gains_on_sides(w, rival, Metric::WaitingDelay);
                    let verdict = range(&gains, f64::from(low) / 100.0, f64::from(high) / 100.0);
                    let text = format!("FSL waits less than {name}, {}", text_of(w));
                    claims.push(claim(15, text, format!("{low} % to {high} %"), verdict));
                }
            }
            let both = [UNIFORM, EXPONENTIAL].map(|sizes| Workload::new(sizes, scheduler));
            claims.push(self.average(15, &both, 10));
        }
    }

    fn modified_over_loads(&self, claims: &mut Vec<Claim>) {
        for scheduler in MODIFIED {
            for sizes in [UNIFORM, EXPONENTIAL] {
                let w = Workload::new(sizes, scheduler);
                for (rival, name) in RIVALS {
                    let gains =
                        self.gains_on_loads(w, rival, &LOADS_MODIFIED, Metric::WaitingDelay);
                    let text =
                        format!("FSL waits less than {name} under all loads, {}", text_of(w));
                    claims.push(claim(16, text, "performs the best", everywhere(&gains)));
                }
            }
        }
    }

    fn modified_against_fcfs(&self, claims: &mut Vec<Claim>) {
        let common: Vec<f64> = LOADS_MODIFIED
            .into_iter()
            .filter(|load| LOADS_FCFS.contains(load))
            .collect();
        for scheduler in MODIFIED {
            for sizes in [UNIFORM, EXPONENTIAL] {
                let settings = |scheduler: SchedulerKind, sizes: SizeDistribution| {
                    Workload::new(sizes, scheduler).over_loads(&common)
                };
                for (strategy, name) in STRATEGIES {
                    let own = cells(strategy, &settings(scheduler, sizes));
                    let other = cells(strategy, &settings(FCFS, sizes));
                    let delay = Metric::WaitingDelay;
                    let gains = self.findings.gains(&own, &other, Axis::Load, delay);
                    let w = Workload::new(sizes, scheduler);
                    claims.push(claim(
                        16,
                        format!("Jobs wait less than under FCFS, {name}, {}", text_of(w)),
                        "better performance",
                        everywhere(&gains),
                    ));
                }
            }
        }
    }
}

fn lowest_miss(figure: u32, rival: &str, w: Workload, gains: &[At<Gain>]) -> Claim {
    claim(
        figure,
        format!("FSL misses less often than {rival}, {}", w.sizes_text()),
        "the lowest",
        everywhere(gains),
    )
}

/// The distribution, and the scheduler where it is not FCFS.
fn text_of(w: Workload) -> String {
    if w.scheduler == FCFS {
        w.sizes_text().to_owned()
    } else {
        format!("{}, {}", w.sizes_text(), w.scheduler_text())
    }
}
