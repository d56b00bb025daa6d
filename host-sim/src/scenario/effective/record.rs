//! A scenario as results record it: the keys are those of scenario files, so that a result can be turned into one.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{JobSource, Scenario};
use crate::experiment::{Measure, Replications};
use crate::names;
use crate::scenario::service;
use crate::workload::{
    Arrivals, Messages, Rate, Requests, ServiceDistribution, Synthetic, WorkDistribution,
};

type Entries = Vec<(&'static str, Value)>;

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let machine = names::machine_options(self.machine).into_iter();
        let mut entries: Entries = machine.map(|(key, value)| (key, value.into())).collect();
        let strategies: Vec<_> = self.strategies.iter().map(ToString::to_string).collect();
        entries.push(("strategy", strategies.into()));
        entries.push((
            "scheduler",
            names::scheduler_text(self.scheduler, self.time_unit()).into(),
        ));
        entries.extend(self.jobs.entries());
        entries.push(("slowdown-threshold", self.slowdown_threshold.into()));
        entries.push(("seed", self.seed.into()));
        entries.push(("backend", self.backend.to_string().into()));
        let entries = entries
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        entries.collect::<Map<_, _>>().serialize(serializer)
    }
}

impl JobSource {
    fn entries(&self) -> Entries {
        match self {
            JobSource::Synthetic {
                workload,
                jobs,
                measure,
                replications,
            } => {
                let mut entries = of_requests(&workload.requests);
                entries.extend(of_times(workload));
                if !matches!(workload.arrivals, Arrivals::AtOnce { .. }) {
                    entries.extend(of_measure(*measure, workload));
                    entries.push(("jobs", (*jobs).into()));
                }
                entries.push(("estimates", workload.estimates.to_string().into()));
                entries.extend(of_replications(*replications));
                entries
            }
            JobSource::Log {
                source,
                messages,
                estimates,
                replications,
            } => {
                let mut entries = source.entries();
                entries.push(("estimates", estimates.to_string().into()));
                if source.resample.is_some() {
                    entries.extend(of_replications(*replications));
                }
                if let Some(sent) = messages {
                    entries.extend(of_messages(&sent.messages));
                    if let Some(seconds) = sent.seconds_per_iteration {
                        entries.retain(|entry| entry.0 != "iterations");
                        entries.push(("iteration-seconds", seconds.into()));
                    }
                    entries.push(("cycles-per-second", sent.cycles_per_second.into()));
                }
                entries
            }
        }
    }
}

fn of_replications(replications: Replications) -> Entries {
    match replications {
        Replications::Fixed(count) => vec![("replications", count.into())],
        Replications::UntilRelativeError { target, max }
        | Replications::UntilAbsoluteError { target, max } => vec![
            ("until-rel-error", target.into()),
            ("max-replications", max.into()),
        ],
    }
}

/// Which jobs are measured.
fn of_measure(measure: Measure, workload: &Synthetic) -> Entries {
    match measure {
        Measure::Departures => vec![("measure", "departures".into())],
        Measure::Arrivals { warmup_fraction } => {
            let is_default = matches!(Measure::of(workload), Measure::Arrivals { .. });
            let measure = (!is_default).then_some(("measure", "arrivals".into()));
            let warmup = ("warmup", warmup_fraction.into());
            measure.into_iter().chain([warmup]).collect()
        }
    }
}

fn of_messages(messages: &Messages) -> Entries {
    vec![
        ("pattern", messages.patterns.to_string().into()),
        ("flits", messages.network.flits.into()),
        ("routing-delay", messages.network.routing_delay.into()),
        ("messages", messages.per_pair.into()),
        ("iterations", messages.iterations.into()),
        ("blocking", messages.blocking.into()),
    ]
}

/// When jobs arrive and what they do.
fn of_times(workload: &Synthetic) -> Entries {
    let arrivals = match workload.arrivals {
        Arrivals::Poisson(Rate::Load(load)) => ("load", load.into()),
        Arrivals::Poisson(Rate::Traffic(traffic)) => ("traffic", traffic.into()),
        Arrivals::Poisson(Rate::Arrivals(rate)) => ("arrival-rate", rate.into()),
        Arrivals::AtOnce { tasks } => ("tasks", tasks.into()),
    };
    let service = match workload.work {
        WorkDistribution::Messages(messages) => {
            let messages = of_messages(&messages).into_iter();
            return std::iter::once(arrivals).chain(messages).collect();
        }
        WorkDistribution::Io(io) => {
            let nodes = ("io-nodes", io.nodes.name().into());
            return vec![arrivals, nodes, ("io", io.to_string().into())];
        }
        WorkDistribution::Service(service) => service,
    };
    let service = match service {
        ServiceDistribution::Uniform {
            lo_seconds,
            hi_seconds,
        } if arrivals.0 == "tasks" => ("residence", format!("{lo_seconds},{hi_seconds}").into()),
        other => service::record(other),
    };
    vec![arrivals, service]
}

fn of_requests(requests: &Requests) -> Entries {
    match requests {
        Requests::Submeshes(of) => vec![
            ("sizes", of.sizes.to_string().into()),
            ("side-lengths", of.side_lengths().to_string().into()),
        ],
        Requests::Subcubes(of) => vec![
            ("dims", of.dims.name().into()),
            ("radices", of.radices.name().into()),
        ],
        Requests::Counts(of) => vec![
            ("task-processors", of.distribution.to_string().into()),
            ("shape", of.shape.to_string().into()),
        ],
    }
}
