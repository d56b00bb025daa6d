//! The history of a run: every job with its times and processors, and the levels that follow from
//! them over time. A history is recorded while an experiment runs ([`Recording`]), or by a run of
//! its own ([`histories`]).

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use meshalloc::{Block, Grid, NodeId, StrategyKind, Ticks};

use crate::backend::Backends;
use crate::error::SettingError;
use crate::experiment::{self, Experiment, ExperimentError, Progress, StrategyResult};
use crate::failures::Restart;
use crate::network::Link;
use crate::processors;
use crate::simulation::{JobRecord, Observer, PlaceEvent, RunResult, Seen, Waits};
use crate::workload::{Job, TimeUnit};

/// A job of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastJob {
    /// The job, with the time at which it arrived.
    pub job: Job,
    /// When it ran, in order; nothing if it was never started. A failure or another job ended all
    /// but the last.
    pub stretches: Vec<Stretch>,
    /// When the job left; `None` if it was still there when the run ended.
    pub end: Option<Ticks>,
    /// Failed attempts to place the job although at least as many processors were free as it asks
    /// for.
    pub misses: u32,
    /// What the job waited for, if that is measured.
    pub waits: Waits,
}

/// A time in which a job ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When the job started.
    pub start: Ticks,
    /// When the job left or was interrupted; `None` if it still ran when the run ended.
    pub end: Option<Ticks>,
    /// Whether a failure or another job ended it.
    pub is_interrupted: bool,
    /// The job that took its processors then, if one did.
    pub preempted_by: Option<u32>,
    /// The processors it held, those beyond its request included.
    pub held: u32,
    /// The blocks that the job held, in the order of the grant.
    pub blocks: Vec<Block>,
}

impl PastJob {
    /// When the job first got processors; `None` if it never did.
    pub fn start(&self) -> Option<Ticks> {
        self.stretches.first().map(|stretch| stretch.start)
    }
}

/// A place that was down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The place.
    pub block: Block,
    /// When it went down.
    pub start: Ticks,
    /// When the place worked again; `None` if it was down when the run ended.
    pub end: Option<Ticks>,
}

/// What failed in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFailures {
    /// Where jobs start again.
    pub restart: Restart,
    /// Places that were kept as spares.
    pub spares: Vec<Block>,
    /// Places that were down, in the order in which they went down.
    pub outages: Vec<Outage>,
    /// The events of these places, in order.
    pub events: Vec<PlaceEvent>,
}

/// The messages that the links of a network carried in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastTraffic {
    /// The length of the run, in cycles.
    pub cycles: Ticks,
    /// Flits of a message.
    pub flits: u32,
    /// The messages that each link carried.
    pub links: Vec<(Link, u64)>,
}

/// A run at one moment, when all events of that time have happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene<'h> {
    /// The time, in ticks.
    pub at: Ticks,
    /// The jobs that hold processors, by their numbers, with their blocks.
    pub running: Vec<(u32, &'h [Block])>,
    /// The numbers of the jobs that wait, in the order of the queue: by arrival less priority. Jobs
    /// that restart at the end of the queue join it when they are interrupted.
    pub waiting: Vec<u32>,
    /// The processors that are down, kept as spares, or absent, by number.
    pub down: Vec<NodeId>,
}

/// The first replication of a strategy. Memory grows with its jobs.
#[derive(Clone, Debug)]
pub struct History {
    /// The machine.
    pub machine: Grid,
    /// The strategy.
    pub strategy: StrategyKind,
    /// The unit of its times.
    pub unit: TimeUnit,
    /// The jobs that arrived, by their numbers.
    pub jobs: Vec<PastJob>,
    /// The number of processors that are free while the first job of the queue asks for no more
    /// than these, each with the time from which it holds.
    pub fragmented: Vec<(Ticks, u32)>,
    /// The processors of the largest slice that could be placed, each number with the time from
    /// which it holds, if it was measured.
    pub largest: Vec<(Ticks, u32)>,
    /// The blocks that are absent from the machine.
    pub absent: Vec<Block>,
    /// What failed, if anything could.
    pub failures: Option<PastFailures>,
    /// What the links carried, if jobs sent messages.
    pub traffic: Option<PastTraffic>,
    /// When the run ended, in ticks.
    pub end: Ticks,
    /// The result of the run.
    pub result: RunResult,
}

/// The state of a run from a time on, up to the time of the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The time, in ticks.
    pub at: Ticks,
    /// Requested processors of the jobs that run.
    pub used: u32,
    /// Processors that are free while the first job that waits asks for no more of them, or 0.
    pub fragmented: u32,
    /// Jobs that wait.
    pub waiting: u32,
    /// Processors of the largest slice that could be placed; 0 where that is not measured.
    pub largest: u32,
    /// Processors that are down.
    pub down: u32,
}

/// Means over a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Means {
    /// Requested processors in use.
    pub used: f64,
    /// Free but fragmented processors: see [`Step::fragmented`].
    pub fragmented: f64,
    /// Jobs that wait.
    pub waiting: f64,
    /// Processors of the largest slice that could be placed; 0 where that is not measured.
    pub largest: f64,
    /// Processors that are down.
    pub down: f64,
}

/// Runs the first replication of each strategy of an experiment, one after the other.
///
/// # Errors
///
/// When the workload cannot be used, a controller cannot be made ready, or a run ends early.
pub fn histories(
    experiment: &Experiment,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<Vec<History>, ExperimentError> {
    let jobs = experiment.conditions(0)?.measured.count();
    progress.begin(experiment.strategies.len() as u64, jobs.into());
    let histories = experiment.strategies.iter().map(|&of| {
        let mut seen = Record::default();
        let result = experiment::run_observed(experiment, of, 0, backends, progress, &mut seen)?;
        Ok(seen.history(experiment, of, result)?)
    });
    histories.collect()
}

/// Records the first replication of each strategy while an experiment runs, maybe on several
/// threads.
#[derive(Debug, Default)]
pub struct Recording(Mutex<Vec<(StrategyKind, Record)>>);

impl Recording {
    /// What is to observe the first replication of a strategy.
    pub fn recorder(&self, strategy: StrategyKind) -> impl Observer + '_ {
        let mut record = Record::default();
        move |seen: &Seen<'_>| {
            record.see(seen);
            if let Seen::End(_) = seen {
                let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                records.push((strategy, std::mem::take(&mut record)));
            }
        }
    }

    /// The histories of the strategies with these results, as far as they were recorded.
    ///
    /// # Errors
    ///
    /// When the failures of the experiment cannot be used.
    pub fn histories(
        self,
        experiment: &Experiment,
        results: &[StrategyResult],
    ) -> Result<Vec<History>, SettingError> {
        let mut records = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let histories = results.iter().filter_map(|result| {
            let place = records.iter().position(|(of, _)| *of == result.strategy)?;
            let (of, record) = records.swap_remove(place);
            Some(record.history(experiment, of, result.runs.first()?.clone()))
        });
        histories.collect()
    }
}

fn outages(events: &[PlaceEvent]) -> Vec<Outage> {
    let mut outages: Vec<Outage> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for &PlaceEvent {
        at, block, is_down, ..
    } in events
    {
        if is_down {
            open.push(outages.len());
            outages.push(Outage {
                block,
                start: at,
                end: None,
            });
        } else if let Some(place) = open.iter().position(|&place| outages[place].block == block) {
            outages[open.remove(place)].end = Some(at);
        }
    }
    outages
}

#[derive(Debug, Default)]
struct Record {
    jobs: Vec<Option<PastJob>>,
    /// The interrupted stretches of each job so far.
    interrupted: Vec<Vec<Stretch>>,
    places: Vec<PlaceEvent>,
    fragmented: Vec<(Ticks, u32)>,
    largest: Vec<(Ticks, u32)>,
    traffic: Option<PastTraffic>,
    end: Ticks,
}

/// The element with this number; the list grows to hold it.
fn element<T: Default + Clone>(list: &mut Vec<T>, number: u32) -> &mut T {
    let place = number as usize;
    if place >= list.len() {
        list.resize(place + 1, T::default());
    }
    &mut list[place]
}

impl Record {
    fn history(
        self,
        experiment: &Experiment,
        strategy: StrategyKind,
        result: RunResult,
    ) -> Result<History, SettingError> {
        let failures = experiment.timeline(0)?.map(|timeline| PastFailures {
            restart: timeline.restart,
            spares: timeline.kept(),
            outages: outages(&self.places),
            events: self.places,
        });
        Ok(History {
            machine: experiment.machine,
            strategy,
            unit: experiment.workload.time_unit(),
            jobs: self.jobs.into_iter().flatten().collect(),
            fragmented: self.fragmented,
            largest: self.largest,
            absent: experiment.absent(),
            failures,
            traffic: self.traffic,
            end: self.end,
            result,
        })
    }

    fn job(&mut self, record: &JobRecord<'_>) {
        let mut stretches = std::mem::take(element(&mut self.interrupted, record.number));
        stretches.extend(record.last_start.map(|start| Stretch {
            start,
            end: record.end,
            is_interrupted: false,
            preempted_by: None,
            held: record.held,
            blocks: record.blocks.to_vec(),
        }));
        *element(&mut self.jobs, record.number) = Some(PastJob {
            job: *record.job,
            stretches,
            end: record.end,
            misses: record.misses,
            waits: *record.waits,
        });
    }
}

impl Observer for Record {
    fn see(&mut self, seen: &Seen<'_>) {
        match *seen {
            Seen::Advance(_) => {}
            Seen::Job(record) => self.job(record),
            Seen::Interrupted(job) => element(&mut self.interrupted, job.number).push(Stretch {
                start: job.start,
                end: Some(job.end),
                is_interrupted: true,
                preempted_by: job.by,
                held: job.held,
                blocks: job.blocks.to_vec(),
            }),
            Seen::Place(event) => self.places.push(*event),
            Seen::Fragmented(at, processors) => self.fragmented.push((at, processors)),
            Seen::Largest(at, processors) => self.largest.push((at, processors)),
            Seen::Network(network) => {
                self.traffic = Some(PastTraffic {
                    cycles: network.now(),
                    flits: network.parameters().flits,
                    links: network.links().collect(),
                });
            }
            Seen::End(at) => self.end = at,
        }
    }
}

enum Change {
    /// The number of jobs that wait changes by this.
    Waiting(i64),
    /// The number of processors in use changes by this.
    Used(i64),
    Fragmented(u32),
    Largest(u32),
    Down(u32),
}

impl History {
    /// Whether interrupted jobs keep their processors.
    pub fn keeps(&self) -> bool {
        let failures = self.failures.as_ref();
        failures.is_some_and(|failures| failures.restart.keeps())
    }

    /// The times in which a job waited for processors; the last may go on when the run ends.
    pub fn waits(&self, job: &PastJob) -> Vec<(Ticks, Option<Ticks>)> {
        let Some(start) = job.start() else {
            return vec![(job.job.arrival, job.end)];
        };
        let mut waits = vec![(job.job.arrival, Some(start))];
        if !self.keeps() {
            for (place, stretch) in job.stretches.iter().enumerate() {
                let next = job.stretches.get(place + 1).map(|next| next.start);
                if let (true, Some(end)) = (stretch.is_interrupted, stretch.end) {
                    waits.push((end, next.or(job.end)));
                }
            }
        }
        waits
    }

    /// The time at which this number of grants, at least 1, had been made. The error is the number
    /// of grants if there were fewer.
    pub fn granted(&self, count: usize) -> Result<Ticks, usize> {
        let jobs = self.jobs.iter();
        // Jobs that keep their processors have only one grant.
        let each = if self.keeps() { 1 } else { usize::MAX };
        let starts = jobs.flat_map(|job| job.stretches.iter().take(each));
        let mut starts: Vec<_> = starts.map(|stretch| stretch.start).collect();
        starts.sort_unstable();
        let at = count.checked_sub(1).and_then(|place| starts.get(place));
        at.copied().ok_or(starts.len())
    }

    /// The run at a time. After its end, the run stays as it ended.
    pub fn at(&self, at: Ticks) -> Scene<'_> {
        let at = at.min(self.end);
        let has = |start: Ticks, end: Option<Ticks>| start <= at && end.is_none_or(|end| at < end);
        let mut running = Vec::new();
        for (number, job) in (0..).zip(&self.jobs) {
            let held = if self.keeps() {
                // The job holds its processors between the stretches, too.
                let first = job.stretches.first();
                first.filter(|first| has(first.start, job.end))
            } else {
                let mut stretches = job.stretches.iter();
                stretches.find(|stretch| has(stretch.start, stretch.end))
            };
            running.extend(held.map(|stretch| (number, &*stretch.blocks)));
        }
        // Whether a job that a failure interrupts joins the end of the queue again.
        let is_last = self.failures.as_ref().map(|failures| failures.restart);
        let is_last = is_last == Some(Restart::ElsewhereLast);
        let waits = |(number, job): (u32, &PastJob)| {
            let mut waits = self.waits(job).into_iter();
            waits.find(|&(from, to)| has(from, to))?;
            let failed = job.stretches.iter().rev().find(|stretch| {
                stretch.preempted_by.is_none() && stretch.end.is_some_and(|end| end <= at)
            });
            let joined = failed.filter(|_| is_last).and_then(|failed| failed.end);
            let joined = joined.unwrap_or(job.job.arrival);
            Some((job.job.request.class.since(joined), number))
        };
        let mut waiting: Vec<_> = (0..).zip(&self.jobs).filter_map(waits).collect();
        waiting.sort_unstable();
        let down = self.failures.iter().flat_map(|failures| {
            let outages = failures.outages.iter();
            let outages = outages.filter(|outage| has(outage.start, outage.end));
            let spares = failures.spares.iter().copied();
            outages.map(|outage| outage.block).chain(spares)
        });
        let down = down.chain(self.absent.iter().copied());
        let down = down.flat_map(|block| processors::intervals(self.machine, &[block]));
        let down = down.flat_map(|(first, last)| first..=last).map(NodeId);
        let down: BTreeSet<_> = down.collect();
        Scene {
            at,
            waiting: waiting.into_iter().map(|(_, number)| number).collect(),
            running,
            down: down.into_iter().collect(),
        }
    }

    /// What changes over time, in order.
    fn changes(&self) -> Vec<(Ticks, Change)> {
        let mut changes = Vec::new();
        for job in &self.jobs {
            let processors = job.job.request.total().into();
            for (from, to) in self.waits(job) {
                changes.push((from, Change::Waiting(1)));
                changes.extend(to.map(|to| (to, Change::Waiting(-1))));
            }
            for stretch in &job.stretches {
                changes.push((stretch.start, Change::Used(processors)));
                changes.extend(stretch.end.map(|end| (end, Change::Used(-processors))));
            }
        }
        let fragmented = self.fragmented.iter();
        changes.extend(fragmented.map(|&(at, free)| (at, Change::Fragmented(free))));
        let largest = self.largest.iter();
        changes.extend(largest.map(|&(at, processors)| (at, Change::Largest(processors))));
        let places = self.failures.iter().flat_map(|failures| &failures.events);
        changes.extend(places.map(|event| (event.at, Change::Down(event.down))));
        changes.retain(|(at, _)| *at <= self.end);
        // Changes of one job at one time stay in order.
        changes.sort_by_key(|(at, _)| *at);
        changes
    }

    /// The steps of the run in order, the first at 0: one for each time at which a job arrives,
    /// starts, stops or leaves, or a place fails or is repaired. A step has the state after all
    /// events of its time. For `n` stretches and events O(n log n).
    pub fn steps(&self) -> Vec<Step> {
        let (mut used, mut waiting) = (0, 0);
        let mut now = Step::default();
        let mut steps = vec![now];
        let changes = self.changes();
        for at_once in changes.chunk_by(|one, other| one.0 == other.0) {
            for (at, change) in at_once {
                now.at = *at;
                match *change {
                    Change::Waiting(more) => waiting += more,
                    Change::Used(more) => used += more,
                    Change::Fragmented(processors) => now.fragmented = processors,
                    Change::Largest(processors) => now.largest = processors,
                    Change::Down(processors) => now.down = processors,
                }
            }
            (now.used, now.waiting) = (used as u32, waiting as u32);
            if now.at == 0 {
                steps.clear();
            }
            steps.push(now);
        }
        steps
    }

    /// Means over `count` spans of equal length that divide the time from 0 to `end`. Spans behind
    /// the end of the run have no means.
    pub fn means(&self, end: Ticks, count: usize) -> Vec<Means> {
        let mut steps = self.steps();
        steps.push(Step {
            at: self.end,
            ..Step::default()
        });
        let edge = |place: usize| end as f64 * place as f64 / count as f64;
        let mut means = Vec::with_capacity(count);
        let (mut next, mut now) = (0, Step::default());
        for place in 0..count {
            let (from, to) = (edge(place), edge(place + 1).min(self.end as f64));
            if to <= from {
                break;
            }
            let (mut at, mut sums) = (from, Means::default());
            loop {
                let until = steps.get(next).map_or(to, |step| step.at as f64).min(to);
                let span = (until - at).max(0.0) / (to - from);
                sums.used += f64::from(now.used) * span;
                sums.fragmented += f64::from(now.fragmented) * span;
                sums.waiting += f64::from(now.waiting) * span;
                sums.largest += f64::from(now.largest) * span;
                sums.down += f64::from(now.down) * span;
                at = until;
                match steps.get(next) {
                    Some(&step) if step.at as f64 <= to => (now, next) = (step, next + 1),
                    _ => break,
                }
                if at >= to {
                    break;
                }
            }
            means.push(sums);
        }
        means
    }
}

#[cfg(test)]
mod tests;
