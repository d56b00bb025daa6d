//! Jobs as rows of a table.

use std::borrow::Cow;

use meshalloc::{Flags, Ticks};
use serde::Serialize;

use super::{RunOf, decimal};
use meshalloc_sim::processors;
use meshalloc_sim::simulation::JobRecord;
use meshalloc_sim::workload::Workload;

/// A row. Times are in seconds, in cycles where jobs send messages, and exact. The first columns
/// are those that evalys reads. A job that was refused has no times after its arrival.
#[derive(Default, Serialize)]
struct JobRow<'r> {
    /// Number in the log; in a synthetic workload the order of arrival, from 1.
    job_id: i64,
    /// The file of the log, or `synthetic`.
    workload_name: Cow<'r, str>,
    /// Arrival. For a log, add `from` and `log.unix_start_time` of the JSON result for Unix time.
    submission_time: String,
    /// Processors that the job asked for, in all its slices.
    requested_number_of_resources: u32,
    /// Estimate of the run time, if it has one.
    requested_time: Option<String>,
    /// 1, or 0 if the job was refused for good, or ended at its estimate before its work was done.
    success: u8,
    /// Time of its first allocation.
    starting_time: Option<String>,
    /// Time from its first allocation to its departure.
    execution_time: Option<String>,
    /// Time of its departure.
    finish_time: Option<String>,
    /// Time from arrival to first allocation.
    waiting_time: Option<String>,
    /// Time from arrival to departure.
    turnaround_time: Option<String>,
    /// `turnaround_time` / `execution_time`.
    stretch: Option<f64>,
    /// Numbers of the processors that it held, as intervals.
    allocated_resources: String,
    /// The requested extents, in the order of dimensions; of a gang after the number of its slices,
    /// as `3x 4x4x8`.
    requested_extents: String,
    /// Number of processors that it held, including those beyond its request.
    held: u32,
    /// Number of blocks that they form, as the strategy lists them.
    blocks: usize,
    /// Failed attempts although enough processors were free.
    allocation_misses: u32,
    /// How often it started again after a failure.
    restarts: u32,
    /// Run time that it lost by failures.
    lost_time: String,
    /// How often it made room for a job of a higher priority.
    preemptions: u32,
    /// Run time that it lost when it made room.
    preempted_time: String,
    /// What the waiting time was for, in the order of `host-sim list metrics`, as fragmented=12.5,
    /// separated by blanks; only with `--reasons`. The parts add up to it.
    waiting_reasons: String,
    /// Allocation strategy.
    strategy: String,
    /// Number of the replication, from 1.
    replication: u32,
    /// The seed of all random numbers.
    seed: u64,
    /// Number of the user, if the log names it.
    user: Option<i64>,
    /// Number of the group, if the log names it.
    group: Option<i64>,
    /// Priority, the head start in the queue; empty if it has none.
    priority: Option<String>,
    /// 1 if it may make room for a job of a higher priority, else 0.
    preemptible: u8,
    /// Faulty processors that each of its slices may have; empty if none.
    tolerate: Option<u8>,
}

/// The bytes of most lines.
const LINE: usize = 512;

pub(super) fn header() -> Vec<u8> {
    let row = serde_json::to_value(JobRow::default()).expect("numbers and texts");
    let columns = row.as_object().into_iter().flat_map(|row| row.keys());
    line(|writer| writer.write_record(columns))
}

pub(super) fn row(run: &RunOf<'_>, record: &JobRecord<'_>) -> Vec<u8> {
    let unit = run.unit();
    let experiment = run.experiment;
    let job = record.job;
    let time = |ticks: Option<Ticks>| ticks.map(|ticks| decimal(ticks, unit));
    let span = |from: Option<Ticks>, to: Option<Ticks>| to.zip(from).map(|(to, from)| to - from);
    let (arrival, start) = (Some(job.arrival), record.start);
    let end = record.end.filter(|_| start.is_some());
    let (execution, turnaround) = (span(start, end), span(arrival, end));
    let stretch = turnaround.zip(execution.filter(|&ticks| ticks > 0));
    let stretch = stretch.map(|(turnaround, execution)| turnaround as f64 / execution as f64);
    let has_shape = !job.request.flags.contains(Flags::CHIPS);
    let shape = has_shape.then(|| job.request.to_string());
    let waits = record.waits.iter();
    let waits = waits.map(|(cause, span)| format!("{}={}", cause.name(), decimal(span, unit)));
    let workload = match &experiment.workload {
        Workload::Synthetic(_) => "synthetic".into(),
        Workload::Log(log) => log.path.file_name().unwrap_or_default().to_string_lossy(),
    };
    let (estimate, class) = (job.request.estimate, job.request.class);
    let owner = run.owner(record.number);
    let known = |number: i64| (number != -1).then_some(number);
    let row = JobRow {
        job_id: run.job_number(record.number),
        workload_name: workload,
        submission_time: decimal(job.arrival, unit),
        requested_number_of_resources: job.request.total(),
        requested_time: time(estimate.map(u64::from)),
        success: (record.refused.is_none() && !record.is_killed).into(),
        starting_time: time(start),
        execution_time: time(execution),
        finish_time: time(end),
        waiting_time: time(span(arrival, start)),
        turnaround_time: time(turnaround),
        stretch,
        allocated_resources: processors::text(&processors::intervals(
            experiment.machine,
            record.blocks,
        )),
        requested_extents: shape.unwrap_or_default(),
        held: record.held,
        blocks: record.blocks.len(),
        allocation_misses: record.misses,
        restarts: record.restarts,
        lost_time: decimal(record.lost, unit),
        preemptions: record.preemptions,
        preempted_time: decimal(record.preempted, unit),
        waiting_reasons: waits.collect::<Vec<_>>().join(" "),
        strategy: run.strategy.to_string(),
        replication: run.replication + 1,
        seed: experiment.seed,
        user: known(owner.user),
        group: known(owner.group),
        priority: time(Some(class.priority()).filter(|&ticks| ticks > 0)),
        preemptible: class.is_preemptible().into(),
        tolerate: Some(job.request.tolerance.get()).filter(|&faulty| faulty > 0),
    };
    line(|writer| writer.serialize(row))
}

fn line(write: impl FnOnce(&mut csv::Writer<Vec<u8>>) -> csv::Result<()>) -> Vec<u8> {
    // A buffer of the usual size for each line would take longer than the line.
    let mut builder = csv::WriterBuilder::new();
    let mut writer = builder
        .has_headers(false)
        .buffer_capacity(LINE)
        .from_writer(Vec::with_capacity(LINE));
    write(&mut writer).expect("a vector takes every line");
    writer.into_inner().expect("a vector takes every line")
}
