//! The measured jobs of a run, for frames: [`Recording`].

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use meshalloc::{Flags, StrategyKind, Ticks};
use meshalloc_sim::experiment::{Experiment, Progress, StrategyResult};
use meshalloc_sim::simulation::{JobRecord, Observer, Seen};
use meshalloc_sim::workload::Workload;
use pyo3::prelude::*;

/// The jobs of a strategy: a table with a row for each measured job of its replications. The
/// columns are those of `host-sim run -o jobs.csv` that hold numbers or sides.
#[derive(Default, IntoPyObject)]
pub(crate) struct Table {
    replication: Vec<u32>,
    job_id: Vec<i64>,
    submission_time: Vec<f64>,
    requested_number_of_resources: Vec<u32>,
    requested_extents: Vec<Option<String>>,
    requested_time: Vec<Option<f64>>,
    success: Vec<bool>,
    starting_time: Vec<Option<f64>>,
    finish_time: Vec<Option<f64>>,
    waiting_time: Vec<Option<f64>>,
    execution_time: Vec<Option<f64>>,
    turnaround_time: Vec<Option<f64>>,
    held: Vec<u32>,
    blocks: Vec<usize>,
    allocation_misses: Vec<u32>,
    restarts: Vec<u32>,
    lost_time: Vec<f64>,
    preemptions: Vec<u32>,
    preempted_time: Vec<f64>,
}

impl Table {
    /// Adds the row of a job.
    fn push(&mut self, experiment: &Experiment, replication: u32, record: &JobRecord<'_>) {
        let unit = experiment.workload.time_unit();
        let time = |ticks: Option<Ticks>| ticks.map(|ticks| unit.of(ticks));
        let span =
            |from: Option<Ticks>, to: Option<Ticks>| time(to.zip(from).map(|(to, from)| to - from));
        let request = &record.job.request;
        let (arrival, start) = (Some(record.job.arrival), record.start);
        let end = record.end.filter(|_| start.is_some());
        let has_shape = !request.flags.contains(Flags::CHIPS);
        self.replication.push(replication + 1);
        self.job_id.push(match &experiment.workload {
            Workload::Log(log) => log.job_number(record.number),
            Workload::Synthetic(_) => i64::from(record.number) + 1,
        });
        self.submission_time.push(unit.of(record.job.arrival));
        self.requested_number_of_resources.push(request.total());
        let extents = has_shape.then(|| request.to_string());
        self.requested_extents.push(extents);
        self.requested_time
            .push(time(request.estimate.map(Into::into)));
        self.success.push(record.refused.is_none());
        self.starting_time.push(time(start));
        self.finish_time.push(time(end));
        self.waiting_time.push(span(arrival, start));
        self.execution_time.push(span(start, end));
        self.turnaround_time.push(span(arrival, end));
        self.held.push(record.held);
        self.blocks.push(record.blocks.len());
        self.allocation_misses.push(record.misses);
        self.restarts.push(record.restarts);
        self.lost_time.push(unit.of(record.lost));
        self.preemptions.push(record.preemptions);
        self.preempted_time.push(unit.of(record.preempted));
    }

    /// Adds the rows of another table, in this order.
    fn append(&mut self, from: &Table, order: &[usize]) {
        macro_rules! columns {
            ($($column:ident)*) => {
                $(self.$column.extend(order.iter().map(|&row| from.$column[row].clone()));)*
            };
        }
        columns! {
            replication job_id submission_time requested_number_of_resources requested_extents
            requested_time success starting_time finish_time waiting_time execution_time
            turnaround_time held blocks allocation_misses restarts lost_time
            preemptions preempted_time
        }
    }
}

/// The jobs of a replication in the order in which they left, with their places in order of
/// arrival.
#[derive(Default)]
struct Part {
    numbers: Vec<u32>,
    table: Table,
}

/// Follows the runs of an experiment as `progress` does, and keeps their measured jobs.
pub(crate) struct Recording<'r> {
    /// What follows the runs as well.
    pub(crate) progress: &'r dyn Progress,
    experiment: &'r Experiment,
    /// By the place of the strategy and the replication.
    parts: Mutex<BTreeMap<(usize, u32), Part>>,
}

impl<'r> Recording<'r> {
    pub(crate) fn new(progress: &'r dyn Progress, experiment: &'r Experiment) -> Self {
        let parts = Mutex::default();
        Recording {
            progress,
            experiment,
            parts,
        }
    }

    /// The jobs of each strategy, in order of replications and arrivals.
    pub(crate) fn tables(self, results: &[StrategyResult]) -> Vec<Table> {
        let parts = self.parts.into_inner();
        let mut parts = parts.unwrap_or_else(PoisonError::into_inner);
        let tables = results.iter().enumerate().map(|(place, result)| {
            let mut table = Table::default();
            // More may have been begun than were needed.
            for replication in 0..result.runs.len() as u32 {
                let part = parts.remove(&(place, replication)).unwrap_or_default();
                let mut order: Vec<_> = (0..part.numbers.len()).collect();
                order.sort_by_key(|&row| part.numbers[row]);
                table.append(&part.table, &order);
            }
            table
        });
        tables.collect()
    }
}

impl Progress for Recording<'_> {
    fn begin(&self, runs_max: u64, jobs_per_run: u64) {
        self.progress.begin(runs_max, jobs_per_run);
    }

    fn expect_more(&self, jobs: i64) {
        self.progress.expect_more(jobs);
    }

    fn advance(&self, jobs: u64) {
        self.progress.advance(jobs);
    }

    fn is_interrupted(&self) -> bool {
        self.progress.is_interrupted()
    }

    fn recorder(&self, strategy: StrategyKind, replication: u32) -> Box<dyn Observer + '_> {
        let mut strategies = self.experiment.strategies.iter();
        let place = strategies.position(|&other| other == strategy);
        let mut part = Part::default();
        Box::new(move |seen: &Seen<'_>| match seen {
            Seen::Job(record) if record.is_measured => {
                part.numbers.push(record.number);
                part.table.push(self.experiment, replication, record);
            }
            Seen::End(_) => {
                let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
                parts.insert((place.unwrap_or(0), replication), std::mem::take(&mut part));
            }
            _ => {}
        })
    }
}
