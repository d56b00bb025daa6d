//! A scenario as results record it: the keys are those of scenario files, so that a result can be turned into one.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{JobSource, Scenario};
use crate::experiment::Replications;
use crate::names;
use crate::workload::{Arrivals, Rate, Requests, ServiceDistribution, SideRange, Synthetic};

type Entries = Vec<(&'static str, Value)>;

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let machine = names::machine_options(self.machine).into_iter();
        let mut entries: Entries = machine.map(|(key, value)| (key, value.into())).collect();
        let strategies: Vec<_> = self.strategies.iter().map(ToString::to_string).collect();
        entries.push(("strategy", strategies.into()));
        entries.push(("scheduler", names::scheduler_text(self.scheduler).into()));
        entries.extend(self.jobs.entries());
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
                warmup,
                replications,
            } => {
                let mut entries = of_requests(&workload.requests);
                entries.extend(of_times(workload));
                if !matches!(workload.arrivals, Arrivals::AtOnce { .. }) {
                    entries.push(("warmup", (*warmup).into()));
                    entries.push(("jobs", (*jobs).into()));
                }
                match *replications {
                    Replications::Fixed(count) => entries.push(("replications", count.into())),
                    Replications::UntilRelativeError { target, max }
                    | Replications::UntilAbsoluteError { target, max } => {
                        entries.push(("until-rel-error", target.into()));
                        entries.push(("max-replications", max.into()));
                    }
                }
                entries
            }
            JobSource::Log {
                file,
                partition,
                shape,
                jobs,
            } => {
                let mut entries = vec![("swf", file.to_string_lossy().into())];
                entries.extend(partition.map(|partition| ("partition", partition.into())));
                entries.push(("shape", shape.name().into()));
                entries.extend(jobs.map(|jobs| ("jobs", jobs.into())));
                entries
            }
        }
    }
}

/// When jobs arrive and how long they run.
fn of_times(workload: &Synthetic) -> [(&'static str, Value); 2] {
    let arrivals = match workload.arrivals {
        Arrivals::Poisson(Rate::Load(load)) => ("load", load.into()),
        Arrivals::Poisson(Rate::Traffic(traffic)) => ("traffic", traffic.into()),
        Arrivals::AtOnce { tasks } => ("tasks", tasks.into()),
    };
    let service = match workload.service {
        ServiceDistribution::Exponential { mean_seconds } => ("mean-service", mean_seconds.into()),
        ServiceDistribution::Uniform {
            lo_seconds,
            hi_seconds,
        } if arrivals.0 == "tasks" => ("residence", format!("{lo_seconds},{hi_seconds}").into()),
        other => ("service", other.to_string().into()),
    };
    [arrivals, service]
}

fn of_requests(requests: &Requests) -> Entries {
    let range = |range: SideRange| format!("{}..{}", range.min(), range.max()).into();
    match requests {
        Requests::Submeshes(of) => {
            let mut entries = vec![
                ("sizes", of.sizes.to_string().into()),
                ("widths", range(of.sides[0])),
            ];
            if of.machine.dimensions() > 1 {
                entries.push(("heights", range(of.sides[1])));
            }
            entries
        }
        Requests::Subcubes(of) => vec![
            ("dims", of.dims.name().into()),
            ("radices", of.radices.name().into()),
        ],
    }
}
