//! Jobs as rows of a table.

use meshalloc::{Flags, Ticks};

use super::{RunOf, decimal};
use meshalloc_sim::processors;
use meshalloc_sim::simulation::JobRecord;
use meshalloc_sim::workload::Workload;

/// The columns with what they mean. Times are in seconds, in cycles where jobs send messages, and exact. The first are those that evalys
/// reads. A job that was refused has no times after its arrival.
pub const COLUMNS: [(&str, &str); 23] = [
    (
        "job_id",
        "number in the log, or else in order of arrival, from 1",
    ),
    ("workload_name", "the log, or synthetic"),
    (
        "submission_time",
        "arrival; of a log, its sum with `from` and log.unix_start_time of the JSON result is Unix time",
    ),
    (
        "requested_number_of_resources",
        "processors that the job asked for",
    ),
    ("requested_time", "estimate of the run time, if it has one"),
    ("success", "1; 0 of a job that was refused for good"),
    ("starting_time", "when it got its processors"),
    ("execution_time", "from then to its departure"),
    ("finish_time", "departure"),
    ("waiting_time", "from arrival to start"),
    ("turnaround_time", "from arrival to departure"),
    ("stretch", "turnaround_time / execution_time"),
    (
        "allocated_resources",
        "the processors it held, by number, as intervals",
    ),
    (
        "requested_extents",
        "the extents that it asked for, in the order of dimensions",
    ),
    ("held", "processors it held, those beyond its request too"),
    (
        "blocks",
        "the blocks that they form, as the strategy lists them",
    ),
    (
        "allocation_misses",
        "failed attempts although enough processors were free",
    ),
    ("strategy", "allocation strategy"),
    ("replication", "number of the replication, from 1"),
    ("seed", "what all random numbers derive from"),
    ("user", "who submitted it, if a log says so"),
    ("group", "the group of the user, if a log says so"),
    (
        "priority",
        "its priority, if a trace says so; nothing is decided by it",
    ),
];

/// The bytes of most lines.
const LINE: usize = 512;

/// The first line.
pub(super) fn header() -> Vec<u8> {
    line(COLUMNS.map(|(name, _)| name))
}

/// A job's line.
pub(super) fn row(run: &RunOf<'_>, record: &JobRecord<'_>) -> Vec<u8> {
    let unit = run.unit();
    let experiment = run.experiment;
    let job = record.job;
    let time = |ticks: Option<Ticks>| ticks.map_or(String::new(), |ticks| decimal(ticks, unit));
    let span = |from: Option<Ticks>, to: Option<Ticks>| to.zip(from).map(|(to, from)| to - from);
    let (arrival, start) = (Some(job.arrival), record.start);
    let end = record.end.filter(|_| start.is_some());
    let (execution, turnaround) = (span(start, end), span(arrival, end));
    let stretch = turnaround.zip(execution.filter(|&ticks| ticks > 0));
    let stretch = stretch.map_or(String::new(), |(turnaround, execution)| {
        (turnaround as f64 / execution as f64).to_string()
    });
    let shape = match job.request.flags.contains(Flags::CHIPS) {
        true => String::new(),
        false => job.request.shape.to_string(),
    };
    let workload = match &experiment.workload {
        Workload::Synthetic(_) => "synthetic".into(),
        Workload::Log(log) => log.path.file_name().unwrap_or_default().to_string_lossy(),
    };
    let estimate = job.request.estimate;
    let owner = run.owner(record.number);
    let known = |number: i64| match number {
        -1 => String::new(),
        number => number.to_string(),
    };
    line([
        &run.job_number(record.number).to_string(),
        &*workload,
        &time(arrival),
        &job.request.processors.to_string(),
        &time(estimate.map(u64::from)),
        if record.refused.is_none() { "1" } else { "0" },
        &time(start),
        &time(execution),
        &time(end),
        &time(span(arrival, start)),
        &time(turnaround),
        &stretch,
        &processors::text(&processors::intervals(experiment.machine, record.blocks)),
        &shape,
        &record.held.to_string(),
        &record.blocks.len().to_string(),
        &record.misses.to_string(),
        &run.strategy.to_string(),
        &(run.replication + 1).to_string(),
        &experiment.seed.to_string(),
        &known(owner.user),
        &known(owner.group),
        &known(owner.priority),
    ])
}

fn line(cells: [&str; COLUMNS.len()]) -> Vec<u8> {
    // A buffer of the usual size for each line would take longer than the line.
    let mut builder = csv::WriterBuilder::new();
    let mut writer = builder
        .buffer_capacity(LINE)
        .from_writer(Vec::with_capacity(LINE));
    let written = writer.write_record(cells);
    written.expect("a vector takes every line");
    writer.into_inner().expect("a vector takes every line")
}
