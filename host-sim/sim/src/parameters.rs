//! Parameters in a few words, as headings have them.

use std::fmt::Write as _;
use std::num::NonZero;

use meshalloc::SchedulerKind;

use crate::experiment::{Measure, WARMUP_FRACTION};
use crate::failures::Failures;
use crate::io::{Bandwidths, IoJobs, IoNetwork};
use crate::metrics::SLOWDOWN_THRESHOLD;
use crate::names;
use crate::preemption::{Preempting, PreemptionRule};
use crate::wording::{Number, counted};
use crate::workload::{
    Arrivals, EstimateModel, Log, LogOptions, Messages, Process, Rate, Requests,
    ServiceDistribution, Submeshes, Synthetic, TimeUnit, WorkDistribution,
};

/// A synthetic workload in a few words, in which this number of jobs waits at all times, if given.
pub fn workload_text(workload: &Synthetic, backlog: Option<NonZero<u32>>) -> String {
    let rate = match workload.arrivals.rate() {
        Some(Rate::Load(load)) => format!("load {}", Number(load)),
        Some(Rate::TrafficRatio(ratio)) => format!("traffic ratio {}", Number(ratio)),
        Some(Rate::Arrivals(rate)) => {
            format!(
                "{} a {}",
                counted(Number(rate), "job"),
                workload.work.time_unit().name()
            )
        }
        None => "own load".to_owned(),
    };
    let arrivals = match (&workload.arrivals, workload.arrivals.process()) {
        (Arrivals::AtOnce { jobs }, _) => format!("{} at time 0", counted(jobs, "job")),
        (_, Some(Process::Empirical(gaps))) => format!("{rate}, arrivals {gaps}"),
        (_, Some(Process::Lublin(_))) => format!("{rate}, daily cycle"),
        (_, None) => backlog.map_or(rate, backlog_text),
    };
    let requests = requests_text(&workload.requests);
    let estimates = estimates_text(workload.estimates, EstimateModel::of(&workload.work));
    match &workload.work {
        WorkDistribution::Service(_) if workload.model().is_some() => {
            format!("{requests}, {arrivals}, its run times{estimates}")
        }
        WorkDistribution::Service(service) => {
            let service = service_text(service);
            format!("{requests}, {arrivals}, {service}{estimates}")
        }
        WorkDistribution::Messages(messages) => {
            format!("{requests}, {arrivals},\n{}", messages_text(messages))
        }
        WorkDistribution::Io(io) => format!("{requests}, {arrivals},\n{}", io_text(io)),
    }
}

/// A service time in a few words; a column of a file has a unit of its own.
pub fn service_text(service: &ServiceDistribution) -> String {
    match service {
        ServiceDistribution::Empirical(column) => format!("service {column}"),
        other => format!("service {other} s"),
    }
}

/// The number of jobs that wait at all times: `1 job waits at all times`.
pub fn backlog_text(backlog: NonZero<u32>) -> String {
    let wait = if backlog.get() == 1 { "waits" } else { "wait" };
    format!("{} {wait} at all times", counted(backlog.get(), "job"))
}

/// How a log is used, in a few words.
pub fn log_text(log: &Log) -> String {
    let LogOptions {
        from,
        to,
        shape,
        processors_per_node,
        ..
    } = log.options;
    let mut text = format!("shapes {shape}");
    if let Some(each) = processors_per_node {
        let _ = write!(text, ", {} a node", counted(each, "processor"));
    }
    for (word, time) in [("from", from), ("to", to)] {
        if let Some(time) = time {
            let _ = write!(text, ", {word} {}", names::span_text(time));
        }
    }
    if let Some(load) = log.load {
        let _ = write!(text, ", stretched to load {}", Number(load));
    }
    if let Some(by) = log.resample {
        let _ = write!(text, ", {by} resampled");
    }
    let default = match log.messages {
        None => EstimateModel::Log,
        Some(_) => EstimateModel::None,
    };
    text + &estimates_text(log.estimates, default)
}

/// A note for a scheduler that decides by estimates, if this part of the jobs, over 0, has no
/// estimate.
pub fn without_estimate_text(part: f64) -> String {
    let jobs = if part < 1.0 {
        format!("{:.3} % of the jobs have no estimate", 100.0 * part)
    } else {
        "jobs have no estimate".to_owned()
    };
    format!(
        "{jobs} (`--estimates`): easy and conservative reserve nothing for what waits for them, so \
         jobs that fit pass those that do not; sjf serves them last."
    )
}

/// A note on what counts as an allocation miss, for schedulers that make reservations.
pub fn misses_text(scheduler: SchedulerKind) -> Option<&'static str> {
    reserves(scheduler)
        .then_some("allocation miss: attempts that a reservation refuses count, too.")
}

const fn reserves(scheduler: SchedulerKind) -> bool {
    matches!(
        scheduler,
        SchedulerKind::Easy { .. } | SchedulerKind::Conservative
    )
}

/// Estimates in a few words, where they are not the default.
pub fn estimates_text(estimates: EstimateModel, default: EstimateModel) -> String {
    if estimates == default {
        String::new()
    } else {
        format!(", estimates {estimates}")
    }
}

/// What fails, and what happens to jobs, in a few words.
pub fn failures_text(failures: Option<&Failures>) -> String {
    let Some(failures) = failures else {
        return String::new();
    };
    let mut text = format!(
        ", failures {}, restart {}",
        failures.source, failures.restart
    );
    if let Some(checkpoint) = failures.checkpoint {
        let _ = write!(text, ", checkpoint {checkpoint} s");
    }
    text
}

/// How jobs make room for others, in a few words. Failures name a checkpoint themselves.
pub fn preemption_text(preempting: Option<Preempting>, fails: bool) -> String {
    let Some(Preempting { grace, checkpoint }) = preempting else {
        return String::new();
    };
    let checkpoint = checkpoint.filter(|_| !fails);
    let checkpoint = checkpoint.map_or_else(String::new, |it| format!(", checkpoint {it} s"));
    format!(", preemption {}{checkpoint}", PreemptionRule::On { grace })
}

/// The unit in which the length of a run is given, `job` or `departure`, and the warm-up if it is
/// not the default.
pub fn measured_text(measure: Measure) -> (&'static str, String) {
    match measure {
        Measure::Arrivals { warmup_fraction } => (
            "job",
            unless(warmup_fraction, WARMUP_FRACTION, "warm-up", ""),
        ),
        Measure::Departures => ("departure", String::new()),
    }
}

/// The threshold of the bounded slowdown, where it is not the default.
pub fn slowdown_text(threshold: f64, unit: TimeUnit) -> String {
    let unit = format!(" {}", unit.symbol());
    unless(threshold, SLOWDOWN_THRESHOLD, "slowdown threshold", &unit)
}

/// The value of a parameter in words, where it is not the default.
fn unless(value: f64, default: f64, what: &str, unit: &str) -> String {
    if value == default {
        String::new()
    } else {
        format!(", {what} {}{unit}", Number(value))
    }
}

/// The messages of jobs, in a few words.
pub fn messages_text(messages: &Messages) -> String {
    let Messages {
        patterns,
        per_pair,
        iterations,
        blocking,
        network,
    } = messages;
    let count = |count: &u32, what: &str| match count {
        1 => String::new(),
        count => format!(", {count} {what}"),
    };
    format!(
        "{patterns}{}{}{}, {}, routing delay {}",
        count(per_pair, "messages a pair"),
        count(iterations, "iterations"),
        if *blocking { ", blocking" } else { "" },
        counted(network.flits, "flit"),
        network.routing_delay
    )
}

/// Communication and I/O of jobs, in a few words.
pub fn io_text(io: &IoJobs) -> String {
    let communications = match io.communications {
        0 => "no communication".to_owned(),
        count => format!("{count} x {} communication", io.pattern),
    };
    let Bandwidths { link, disk } = io.bandwidths;
    let network = match io.network {
        IoNetwork::FairShares => String::new(),
        IoNetwork::Wormhole { flits } => {
            format!(", wormhole network, {} a MB", counted(flits, "flit"))
        }
    };
    format!(
        "{communications}, then a {}, I/O nodes {}, links {link} MB/s, disks {disk} MB/s{network}",
        io.direction, io.nodes
    )
}

/// What jobs ask for, in a few words.
pub fn requests_text(requests: &Requests) -> String {
    match requests {
        Requests::Submeshes(submeshes) => {
            let mut text = format!("{} sides", submeshes.distribution);
            if submeshes.sides != Submeshes::new(submeshes.machine, submeshes.distribution).sides {
                let _ = write!(text, ", lengths {}", submeshes.side_range());
            }
            text
        }
        Requests::Subcubes(subcubes) => {
            format!("{} dimensions, {} radices", subcubes.dims, subcubes.radices)
        }
        Requests::Counts(counts) => {
            format!(
                "{} processors, shapes {}",
                counts.distribution, counts.shape
            )
        }
        Requests::Mix(mix) => {
            let mut text = format!("mix {}", mix.source);
            if !mix.dropped.is_empty() {
                let _ = write!(
                    text,
                    ", {} of {} left out ({:.1} % of the weight)",
                    mix.dropped.len(),
                    counted(mix.dropped.len() + mix.entries.len(), "shape"),
                    mix.dropped_share() * 100.0
                );
            }
            text
        }
    }
}
