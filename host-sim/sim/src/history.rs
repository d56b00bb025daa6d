//! The history of a run: every job with its times and processors, and what follows from them over
//! time.

use meshalloc::{Block, Grid, StrategyKind, Ticks};

use crate::backend::Backends;
use crate::experiment::{self, Experiment, ExperimentError, Progress};
use crate::simulation::{JobRecord, Observer, RunResult};
use crate::workload::{Job, TimeUnit, WorkloadError};

/// A job of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastJob {
    /// The job, with the time at which it arrived.
    pub job: Job,
    /// When it got its processors; `None`: it did not.
    pub start: Option<Ticks>,
    /// When it left; `None`: it was still there when the run ended.
    pub end: Option<Ticks>,
    /// Failed attempts to place it although at least as many processors were free as it asks for.
    pub misses: u32,
    /// The processors it held, those beyond its request included.
    pub held: u32,
    /// The blocks it held, in the order of the grant.
    pub blocks: Vec<Block>,
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
    /// The processors of the largest slice that could be placed, each from a time on, where that
    /// was measured.
    pub largest: Vec<(Ticks, u32)>,
    /// When the run ended, in ticks.
    pub end: Ticks,
    /// What it gave.
    pub result: RunResult,
}

/// A run as it stands from a time on, up to that of the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The time, in ticks.
    pub at: Ticks,
    /// Requested processors of the jobs that run.
    pub used: u32,
    /// Processors that are free while the first job that waits asks for no more than there are, and
    /// else 0.
    pub fragmented: u32,
    /// Jobs that wait.
    pub waiting: u32,
    /// Processors of the largest slice that could be placed; 0 where that is not measured.
    pub largest: u32,
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
}

/// Whether an experiment has histories.
///
/// # Errors
///
/// When something fails in it.
pub fn check(experiment: &Experiment) -> Result<(), WorkloadError> {
    match &experiment.failures {
        None => Ok(()),
        Some(failures) => Err(WorkloadError::OutOfRange {
            what: "what fails in a history of jobs".into(),
            options: &["failures"],
            given: failures.source.to_string(),
            expected: "nothing, as a job has one place in it".into(),
        }),
    }
}

/// Runs the first replication of each strategy of an experiment, one after the other.
///
/// # Errors
///
/// When the workload cannot be used, something fails, a controller cannot be made ready, or a run
/// ends early.
pub fn histories(
    experiment: &Experiment,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<Vec<History>, ExperimentError> {
    check(experiment)?;
    let jobs = experiment.conditions(0)?.measured.count();
    progress.begin(experiment.strategies.len() as u64, jobs.into());
    let runs = experiment.strategies.iter().map(|&strategy| {
        let mut seen = Seen::default();
        let result = experiment::run_observed(experiment, strategy, backends, progress, &mut seen)?;
        Ok(History {
            machine: experiment.machine,
            strategy,
            unit: experiment.workload.time_unit(),
            jobs: seen.jobs.into_iter().flatten().collect(),
            largest: seen.largest,
            end: seen.end,
            result,
        })
    });
    runs.collect()
}

#[derive(Default)]
struct Seen {
    jobs: Vec<Option<PastJob>>,
    largest: Vec<(Ticks, u32)>,
    end: Ticks,
}

impl Observer for Seen {
    fn job(&mut self, record: &JobRecord<'_>) {
        let place = record.number as usize;
        if place >= self.jobs.len() {
            self.jobs.resize(place + 1, None);
        }
        self.jobs[place] = Some(PastJob {
            job: *record.job,
            start: record.start,
            end: record.end,
            misses: record.misses,
            held: record.held,
            blocks: record.blocks.to_vec(),
        });
    }

    fn largest(&mut self, at: Ticks, processors: u32) {
        self.largest.push((at, processors));
    }

    fn end(&mut self, at: Ticks) {
        self.end = at;
    }
}

impl History {
    /// The steps of the run in order, the first at 0: one for each time at which a job arrives,
    /// starts or leaves, with what holds when all of that time has happened.
    ///
    /// # Time complexity
    ///
    /// For `n` jobs O(n log n).
    pub fn steps(&self) -> Vec<Step> {
        let mut starts: Vec<_> = self.times(|job| job.start);
        let mut ends: Vec<_> = self.times(|job| job.end.filter(|_| job.start.is_some()));
        let mut times: Vec<Ticks> = std::iter::once(0)
            .chain(self.jobs.iter().map(|job| job.job.arrival))
            .chain(starts.iter().chain(&ends).map(|&(at, _)| at))
            .filter(|&at| at <= self.end)
            .collect();
        times.sort_unstable();
        times.dedup();
        starts.reverse();
        ends.reverse();
        let (mut arrived, mut head) = (0, 0);
        let mut largest = self.largest.iter().peekable();
        let mut free = i64::from(self.machine.nodes());
        let mut now = Step::default();
        let steps = times.into_iter().map(|at| {
            now.at = at;
            while let Some(&(_, processors)) = largest.next_if(|(from, _)| *from <= at) {
                now.largest = processors;
            }
            while self
                .jobs
                .get(arrived)
                .is_some_and(|job| job.job.arrival <= at)
            {
                // One that was refused never waits.
                let job = &self.jobs[arrived];
                now.waiting += u32::from(job.start.is_some() || job.end.is_none());
                arrived += 1;
            }
            while let Some((_, place)) = starts.pop_if(|(start, _)| *start <= at) {
                let job = &self.jobs[place];
                now.waiting -= 1;
                now.used += job.job.request.processors;
                free -= i64::from(job.held);
            }
            while let Some((_, place)) = ends.pop_if(|(end, _)| *end <= at) {
                let job = &self.jobs[place];
                now.used -= job.job.request.processors;
                free += i64::from(job.held);
            }
            let waits = |job: &PastJob| match job.start {
                Some(start) => start > at,
                None => job.end.is_none(),
            };
            while head < arrived && !waits(&self.jobs[head]) {
                head += 1;
            }
            let first = self.jobs[..arrived].get(head);
            let fits = first.is_some_and(|job| i64::from(job.job.request.processors) <= free);
            now.fragmented = if fits { free as u32 } else { 0 };
            now
        });
        steps.collect()
    }

    fn times(&self, time: impl Fn(&PastJob) -> Option<Ticks>) -> Vec<(Ticks, usize)> {
        let jobs = self.jobs.iter().enumerate();
        let times = jobs.filter_map(|(place, job)| Some((time(job)?, place)));
        let mut times: Vec<_> = times.collect();
        times.sort_unstable();
        times
    }

    /// Means over `count` spans of equal length that are together the time from 0 to `end`; of
    /// spans behind the end of the run there are none.
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
