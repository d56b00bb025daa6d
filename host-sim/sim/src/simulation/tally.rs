//! The sums of a run, and the hash of its decisions.

use meshalloc::Ticks;

use super::execution::MessageSums;
use super::measured::{Conditions, Measured};
use super::record::Record;
use crate::dispersal::Dispersal;
use crate::metrics::{Metric, Refusals, RunValues};
use crate::situation::Cause;
use crate::statistics::{Delays, Moments, Trend};
use crate::workload::TimeUnit;

/// A time, and integrals up to it: numbers of processors times ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Edge {
    pub(super) at: Ticks,
    /// The requested processors of the jobs that run.
    pub(super) used: u128,
    /// The free processors while the first waiting job asks for no more than these.
    pub(super) scattered: u128,
    /// The processors that have failed.
    pub(super) down: u128,
    /// The processors of the largest slice that could be placed, if that is measured.
    pub(super) largest: u128,
    /// The free processors, if the largest slice is measured.
    pub(super) free: u128,
}

/// Sums over measured jobs of how dispersed they are, in the order in which they leave.
#[derive(Default)]
pub(super) struct DispersalSums {
    distance: f64,
    blocks: u64,
    contiguous: u64,
    bounding_box_share: f64,
}

impl DispersalSums {
    /// A measured job leaves.
    pub(super) fn add(&mut self, dispersal: &Dispersal) {
        self.distance += dispersal.mean_distance();
        self.blocks += dispersal.blocks;
        self.contiguous += u64::from(dispersal.contiguous);
        self.bounding_box_share += dispersal.bounding_box_share();
    }
}

/// Sums over measured jobs, whole numbers but for the slowdown and those of [`DispersalSums`].
#[derive(Default)]
pub(super) struct Tally {
    waiting: Moments,
    /// The waiting delay of each job, in ticks.
    delays: Delays,
    slowdown_threshold: Ticks,
    slowdown: f64,
    turnaround: Moments,
    service: Moments,
    trend: Trend,
    /// Whether a job arrived after the beginning.
    pub(super) arrived_later: bool,
    /// The latest job that found the queue empty.
    pub(super) found_empty: Option<u32>,
    messages: MessageSums,
    misses: u64,
    grants: u64,
    requested: u64,
    held: u64,
    last_departure: Ticks,
    /// The integrals so far. The field `at` of this value is not used.
    pub(super) so_far: Edge,
    /// Whether the largest slice is measured.
    pub(super) is_largest_known: bool,
    /// The beginning and the end of the time over which averages are taken. See
    /// [`Measured`](super::Measured).
    pub(super) window: (Edge, Edge),
    /// Jobs that waited when the last measured job arrived.
    pub(super) waiting_at_end: Option<u32>,
    pub(super) dispersal: DispersalSums,
    pub(super) refused: Refusals,
    /// The time that the controller took to submit and release measured jobs, in seconds, if
    /// that is measured.
    pub(super) search_seconds: Option<f64>,
    /// The time that jobs waited for each cause, in ticks, if that is measured.
    waits: Option<[u128; Cause::ALL.len()]>,
    /// The number of jobs that ended at their estimates, if jobs end there.
    killed: Option<u64>,
    /// Sums over interrupted jobs, if anything fails.
    interrupted: Option<Interrupted>,
    /// Sums over preempted jobs, if jobs make room for others.
    preempted: Option<Preempted>,
}

/// Sums over measured jobs whose processors other jobs took.
#[derive(Default)]
struct Preempted {
    /// How often.
    count: u64,
    /// Processor ticks of the requested processors.
    lost: u128,
}

/// Sums over measured jobs that failures interrupted.
#[derive(Default)]
struct Interrupted {
    restarts: u64,
    /// From interruptions to restarts, in ticks.
    until_restart: u128,
    /// Processor ticks of the requested processors.
    lost: u128,
}

impl Tally {
    /// Nothing so far.
    pub(super) fn new(conditions: &Conditions) -> Self {
        Tally {
            slowdown_threshold: conditions.slowdown_threshold,
            waits: conditions.switches.reasons.then_some([0; _]),
            killed: conditions.switches.kill_at_estimate.then_some(0),
            interrupted: conditions.failures.as_ref().map(|_| Interrupted::default()),
            preempted: conditions.preemption.map(|_| Preempted::default()),
            ..Tally::default()
        }
    }

    /// A measured job leaves; `place` is its place among the measured ones.
    pub(super) fn depart(
        &mut self,
        record: &Record,
        place: u32,
        now: Ticks,
        messages: MessageSums,
    ) {
        let waiting = record.granted - record.job.arrival;
        let (turnaround, run) = (now - record.job.arrival, now - record.granted);
        self.waiting.add(waiting);
        self.delays.add(waiting);
        self.turnaround.add(turnaround);
        self.service.add(run);
        self.slowdown += bounded_slowdown(turnaround, run, self.slowdown_threshold);
        self.trend.add(place, waiting);
        self.misses += u64::from(record.misses);
        self.grants += u64::from(record.grants);
        self.requested += u64::from(record.job.request.total());
        self.held += u64::from(record.held);
        self.last_departure = self.last_departure.max(now);
        self.messages += messages;
        if let Some(waits) = &mut self.waits {
            for (cause, span) in record.waits.iter() {
                waits[cause as usize] += u128::from(span);
            }
        }
        if let Some(killed) = &mut self.killed {
            *killed += u64::from(record.is_killed);
        }
        let processors = u128::from(record.job.request.total());
        if let Some(sums) = &mut self.preempted {
            sums.count += u64::from(record.preemptions);
            sums.lost += processors * u128::from(record.preempted);
        }
        if let Some(sums) = &mut self.interrupted {
            sums.restarts += u64::from(record.restarts);
            sums.until_restart += u128::from(record.until_restart);
            sums.lost += processors * u128::from(record.lost);
        }
    }

    /// Whether the backlog grew while these jobs were measured, by the rule of the module above.
    pub(super) fn saturated(&self, measured: Measured) -> bool {
        let emptied_late = self.found_empty >= Some(measured.half());
        let may_grow = self.arrived_later && !emptied_late;
        may_grow && self.trend.relative_rise().is_some_and(|rise| rise > 1.0)
    }

    /// The measured values on a machine of this number of processors, with times in this unit.
    pub(super) fn values(&mut self, processors: u32, unit: TimeUnit) -> RunValues {
        let [median, p95, p99] = [0.5, 0.95, 0.99].map(|part| self.delays.quantile(part));
        let each = unit.ticks_each() as f64;
        let jobs = self.turnaround.count();
        let part = |some: u64, all: u64| (all > 0).then(|| some as f64 / all as f64);
        let of_jobs = |of: &Moments| of.mean().map(|mean| mean / each);
        let time = |ticks: Option<f64>| ticks.map(|ticks| ticks / each);
        let mean = |sum: f64| (jobs > 0).then(|| sum / jobs as f64);
        let waits = |cause: Cause| mean(self.waits?[cause as usize] as f64 / each);
        let of_messages = |sum: u64| part(sum, self.messages.count);
        let hour = TimeUnit::Second.ticks_each() as f64 * 3600.0;
        let node_hours = |lost: u128| Some(lost as f64 / hour);
        let all = f64::from(processors);
        let of_time = |of: fn(&Edge) -> u128| Some(self.share(processors, of)? * all);
        let is_known = self.is_largest_known;
        let largest = of_time(|edge| edge.largest).zip(of_time(|edge| edge.free));
        let largest = largest.filter(|_| is_known);
        RunValues::from_fn(|metric| match metric {
            Metric::WaitingDelay => of_jobs(&self.waiting),
            Metric::WaitingMedian => time(median),
            Metric::WaitingP95 => time(p95),
            Metric::WaitingP99 => time(p99),
            Metric::BoundedSlowdown => mean(self.slowdown),
            Metric::Turnaround => of_jobs(&self.turnaround),
            Metric::TurnaroundVariance => {
                let variance = self.turnaround.variance();
                variance.map(|variance| variance / (each * each))
            }
            Metric::ServiceTime => of_jobs(&self.service),
            Metric::Utilization => self.share(processors, |edge| edge.used),
            Metric::AllocationMiss => part(self.misses, self.misses + self.grants),
            Metric::InternalFragmentation => {
                part(self.held.saturating_sub(self.requested), self.held)
            }
            Metric::CompletionTime => (jobs > 0).then(|| unit.of(self.last_departure)),
            Metric::Jobs => Some(jobs as f64),
            Metric::WaitingAtEnd => self.waiting_at_end.map(f64::from),
            Metric::Dispersal => mean(self.dispersal.distance),
            Metric::Blocks => mean(self.dispersal.blocks as f64),
            Metric::ContiguousShare => part(self.dispersal.contiguous, jobs),
            Metric::BoundingBoxShare => mean(self.dispersal.bounding_box_share),
            Metric::ExternalFragmentation => self.share(processors, |edge| edge.scattered),
            Metric::LargestSlice => largest.map(|(largest, _)| largest),
            Metric::FreeProcessors => largest.map(|(_, free)| free),
            Metric::LargestShare => {
                let free = largest.filter(|(_, free)| *free > 0.0);
                free.map(|(largest, free)| largest / free)
            }
            Metric::SearchTime => {
                let all = self.search_seconds.filter(|_| jobs > 0);
                all.map(|seconds| seconds / jobs as f64)
            }
            Metric::Availability => {
                let down = self.share(processors, |edge| edge.down);
                down.filter(|_| self.interrupted.is_some())
                    .map(|down| 1.0 - down)
            }
            Metric::Restarts => Some(self.interrupted.as_ref()?.restarts as f64),
            Metric::RestartTime => {
                let sums = self.interrupted.as_ref()?;
                let mean = sums.until_restart as f64 / sums.restarts as f64;
                (sums.restarts > 0).then(|| mean / each)
            }
            Metric::LostNodeHours => node_hours(self.interrupted.as_ref()?.lost),
            Metric::Preemptions => Some(self.preempted.as_ref()?.count as f64),
            Metric::PreemptedNodeHours => node_hours(self.preempted.as_ref()?.lost),
            Metric::WaitFaults => waits(Cause::Faults),
            Metric::WaitTurn => waits(Cause::NotItsTurn),
            Metric::WaitFree => waits(Cause::TooFewFree),
            Metric::WaitRing => waits(Cause::RingNotFree),
            Metric::WaitFragmented => waits(Cause::Fragmented),
            Metric::WaitReservation => waits(Cause::BehindReservation),
            Metric::WaitUntried => waits(Cause::Untried),
            Metric::WaitTable => waits(Cause::TableFull),
            Metric::WaitGang => waits(Cause::GangIncomplete),
            Metric::WaitUnsearched => waits(Cause::NotSearchedToTheEnd),
            Metric::KilledShare => part(self.killed?, jobs),
            Metric::MessageLatency => of_messages(self.messages.latency).map(|mean| mean / each),
            Metric::Hops => of_messages(self.messages.hops),
            Metric::BlockedTime => of_messages(self.messages.blocked).map(|mean| mean / each),
        })
    }

    /// The growth of an integral over the window, as a part of the growth if all processors
    /// counted.
    fn share(&self, processors: u32, integral: impl Fn(&Edge) -> u128) -> Option<f64> {
        let (begin, end) = &self.window;
        let all = u128::from(processors) * u128::from(end.at - begin.at);
        (all > 0).then(|| (integral(end) - integral(begin)) as f64 / all as f64)
    }
}

/// How much longer a job was there than it ran, or than the threshold if it ran for less; at least
/// 1 (Feitelson, Rudolph, Schwiegelshohn, Sevcik and Wong, Theory and practice in parallel job
/// scheduling, JSSPP 1997).
fn bounded_slowdown(turnaround: Ticks, run: Ticks, threshold: Ticks) -> f64 {
    (turnaround as f64 / run.max(threshold) as f64).max(1.0)
}

/// The 64-bit hash of Fowler, Noll and Vo, variant 1a.
pub struct Fnv1a(
    /// The hash of what was written.
    pub u64,
);

impl Default for Fnv1a {
    fn default() -> Self {
        Fnv1a(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    /// Takes these bytes into the hash.
    pub fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
