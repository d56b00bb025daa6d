//! A scenario as results record it.

use serde::{Serialize, Serializer};

use super::{JobSource, Scenario};
use crate::experiment::Replications;
use crate::names;
use crate::workload::{Arrivals, Rate, Requests, ServiceDistribution, SideRange, Synthetic};

/// The scenario as results record it: the keys are those of scenario files, so that a result can be
/// turned into one.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Record<'s> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mesh: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrap: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    torus: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cube: Option<String>,
    strategy: Vec<&'static str>,
    scheduler: String,
    #[serde(flatten)]
    jobs: JobsRecord<'s>,
    seed: u64,
    backend: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum JobsRecord<'s> {
    Synthetic(SyntheticRecord),
    Log(LogRecord<'s>),
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct SyntheticRecord {
    #[serde(flatten)]
    requests: RequestsRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_service: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    residence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warmup: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replications: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until_rel_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_replications: Option<u32>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum RequestsRecord {
    Submeshes {
        sizes: String,
        widths: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        heights: Option<String>,
    },
    Subcubes {
        dims: &'static str,
        radices: &'static str,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct LogRecord<'s> {
    swf: std::borrow::Cow<'s, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<i64>,
    shape: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<u32>,
}

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let jobs = match &self.jobs {
            JobSource::Synthetic {
                workload,
                jobs,
                warmup,
                replications,
            } => JobsRecord::Synthetic(SyntheticRecord::new(
                workload,
                *jobs,
                *warmup,
                *replications,
            )),
            JobSource::Log {
                file,
                partition,
                shape,
                jobs,
            } => JobsRecord::Log(LogRecord {
                swf: file.to_string_lossy(),
                partition: *partition,
                shape: shape.name(),
                jobs: *jobs,
            }),
        };
        let options = names::machine_options(self.machine);
        let machine = |name| {
            let named = options.iter().find(|(option, _)| *option == name);
            named.map(|(_, value)| value.clone())
        };
        let record = Record {
            mesh: machine("mesh"),
            wrap: machine("wrap"),
            torus: machine("torus"),
            cube: machine("cube"),
            strategy: self.strategies.iter().map(|kind| kind.name()).collect(),
            scheduler: names::scheduler_text(self.scheduler),
            jobs,
            seed: self.seed,
            backend: self.backend.to_string(),
        };
        record.serialize(serializer)
    }
}

impl SyntheticRecord {
    fn new(workload: &Synthetic, jobs: u32, warmup: f64, replications: Replications) -> Self {
        let (tasks, load, traffic) = match workload.arrivals {
            Arrivals::Poisson(Rate::Load(load)) => (None, Some(load), None),
            Arrivals::Poisson(Rate::Traffic(traffic)) => (None, None, Some(traffic)),
            Arrivals::AtOnce { tasks } => (Some(tasks), None, None),
        };
        let closed = tasks.is_some();
        let (mean_service, service, residence) = match workload.service {
            ServiceDistribution::Exponential { mean_seconds } => (Some(mean_seconds), None, None),
            ServiceDistribution::Uniform {
                lo_seconds,
                hi_seconds,
            } if closed => (None, None, Some(format!("{lo_seconds},{hi_seconds}"))),
            other => (None, Some(other.to_string()), None),
        };
        let (replications, until_rel_error, max_replications) = match replications {
            Replications::Fixed(count) => (Some(count), None, None),
            Replications::UntilRelativeError { target, max } => (None, Some(target), Some(max)),
        };
        SyntheticRecord {
            requests: RequestsRecord::new(&workload.requests),
            tasks,
            load,
            traffic,
            mean_service,
            service,
            residence,
            warmup: (!closed).then_some(warmup),
            jobs: (!closed).then_some(jobs),
            replications,
            until_rel_error,
            max_replications,
        }
    }
}

impl RequestsRecord {
    fn new(requests: &Requests) -> Self {
        let range = |range: SideRange| format!("{}..{}", range.min(), range.max());
        match requests {
            Requests::Submeshes(submeshes) => RequestsRecord::Submeshes {
                sizes: submeshes.sizes.to_string(),
                widths: range(submeshes.sides[0]),
                heights: (submeshes.machine.dimensions() > 1).then(|| range(submeshes.sides[1])),
            },
            Requests::Subcubes(subcubes) => RequestsRecord::Subcubes {
                dims: subcubes.dims.name(),
                radices: subcubes.radices.name(),
            },
        }
    }
}
