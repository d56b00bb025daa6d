//! Jobs as lines of a log in the Standard Workload Format.

use super::{RunOf, decimal};
use crate::identity::{PROGRAM, VERSION};
use meshalloc_sim::experiment::Experiment;
use meshalloc_sim::names;
use meshalloc_sim::simulation::JobRecord;
use meshalloc_sim::workload::{Owner, TimeUnit, Workload};

pub(super) fn header(experiment: &Experiment, jobs: u64) -> String {
    let machine = experiment.machine;
    let unit = experiment.workload.time_unit();
    let scheduler = names::scheduler_text(experiment.scheduler, unit);
    let strategy = experiment.strategies.first();
    let strategy = strategy.map_or(String::new(), ToString::to_string);
    let time = match unit {
        TimeUnit::Second => "Times are in seconds, with decimals where they are not whole",
        TimeUnit::Cycle => "Times are in cycles of the network, each in the place of a second",
    };
    let (start, zone) = clock(&experiment.workload);
    format!(
        "; Version: 2.2\n\
         ; Computer: {machine}, simulated\n\
         ; Installation: {PROGRAM} {VERSION}\n\
         ; MaxJobs: {jobs}\n\
         ; MaxRecords: {jobs}\n\
         ; UnixStartTime: {start}\n\
         {zone}\
         ; MaxNodes: {nodes}\n\
         ; MaxProcs: {nodes}\n\
         ; Note: strategy {strategy}, scheduler {scheduler}, seed {seed}\n\
         ; Note: {time}\n\
         ; Note: Field 5 has the processors that the job uses; what it holds beyond them is not in a log\n\
         ; Note: A job that the machine cannot serve has status 5, one that ended at its estimate 0\n",
        nodes = machine.nodes(),
        seed = experiment.seed,
    )
}

/// The Unix time at time 0 of the workload, in seconds, or 0, and the line of its time zone.
fn clock(workload: &Workload) -> (i64, String) {
    let Workload::Log(log) = workload else {
        return (0, String::new());
    };
    // Other times than those of the log have no date.
    if log.is_resampled() || log.load.is_some() || log.messages.is_some() {
        return (0, String::new());
    }
    let zone = log.header.time_zone.as_ref();
    let zone = zone.map(|zone| format!("; TimeZoneString: {zone}\n"));
    (log.unix_time(0).unwrap_or(0), zone.unwrap_or_default())
}

pub(super) fn line(run: &RunOf<'_>, record: &JobRecord<'_>) -> String {
    let unit = run.unit();
    let job = record.job;
    let unknown = || "-1".to_owned();
    let start = record.start;
    let wait = start.map_or_else(unknown, |start| decimal(start - job.arrival, unit));
    let ran = start.zip(record.end);
    let ran = ran.map_or_else(unknown, |(start, end)| decimal(end - start, unit));
    let requested = job.request.total();
    let used = start.map_or_else(unknown, |_| requested.to_string());
    let estimate = job.request.estimate;
    let estimate = estimate.map_or_else(unknown, |ticks| decimal(ticks.get(), unit));
    let status = match record.refused {
        Some(_) => 5,
        None => u8::from(!record.is_killed),
    };
    let Owner { user, group } = run.owner(record.number);
    let number = run.job_number(record.number);
    let arrival = decimal(job.arrival, unit);
    format!(
        "{number} {arrival} {wait} {ran} {used} -1 -1 {requested} {estimate} -1 {status} {user} {group} -1 -1 -1 -1 -1\n"
    )
}
