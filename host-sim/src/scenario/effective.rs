//! A scenario with its defaults filled in: what is run, and what a result records.

use std::path::PathBuf;

use meshalloc::{Mesh, SchedulerKind, StrategyKind};
use serde::{Serialize, Serializer};

use super::{
    BackendChoice, Format, JOBS_DEFAULT, LOAD_DEFAULT, MEAN_SERVICE_DEFAULT, MESH_DEFAULT,
    REPLICATIONS_DEFAULT, REPLICATIONS_MAX_DEFAULT, ScenarioArgs,
};
use crate::experiment::{Experiment, Replications, WARMUP_FRACTION};
use crate::names;
use crate::workload::{
    JOBS_MAX, Log, LogOptions, Rate, ServiceDistribution, ShapeRule, SideRange, SizeDistribution,
    Synthetic, Workload,
};

/// The seed of a scenario that names none.
pub const SEED_DEFAULT: u64 = 1;

/// What is to be run, every parameter named.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The machine.
    pub mesh: Mesh,
    /// The strategies, each once.
    pub strategies: Vec<StrategyKind>,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// Where the jobs come from.
    pub jobs: JobSource,
    /// What all random numbers derive from.
    pub seed: u64,
    /// Where the controller is.
    pub backend: BackendChoice,
    /// How results are written.
    pub format: Format,
}

/// Where the jobs come from.
#[derive(Clone, Debug)]
pub enum JobSource {
    /// Distributions.
    Synthetic {
        /// The distributions.
        workload: Synthetic,
        /// Jobs in a replication.
        jobs: u32,
        /// Part of them that is not measured.
        warmup: f64,
        /// How often it is repeated.
        replications: Replications,
    },
    /// A log of a real machine.
    Log {
        /// The file.
        file: PathBuf,
        /// Only the jobs of this partition.
        partition: Option<i64>,
        /// How a number of processors becomes sides.
        shape: ShapeRule,
        /// Only so many jobs, the first.
        jobs: Option<u32>,
    },
}

impl Scenario {
    /// Fills in the defaults.
    ///
    /// # Errors
    ///
    /// When options need others that were not given, or a number does not go with the mesh.
    pub fn new(args: ScenarioArgs) -> Result<Self, String> {
        let mesh = match args.mesh {
            Some(mesh) => mesh,
            None => names::mesh(MESH_DEFAULT)?,
        };
        if let Some(jobs) = args.jobs.filter(|&jobs| jobs > JOBS_MAX) {
            return Err(format!("jobs is {jobs} (expected at most {JOBS_MAX})"));
        }
        let mut strategies = Vec::new();
        for strategy in args
            .strategy
            .as_deref()
            .unwrap_or(&[StrategyKind::FirstFit])
        {
            if !strategies.contains(strategy) {
                strategies.push(*strategy);
            }
        }
        Ok(Scenario {
            mesh,
            strategies,
            scheduler: args.scheduler.unwrap_or(SchedulerKind::Fcfs),
            seed: args.seed.unwrap_or(SEED_DEFAULT),
            backend: args.backend.clone().unwrap_or_default(),
            format: args.format.unwrap_or_default(),
            jobs: job_source(args, mesh)?,
        })
    }

    /// The experiment; reads the log, if there is one.
    ///
    /// # Errors
    ///
    /// When the log cannot be read or the distributions cannot be used.
    pub fn experiment(&self) -> Result<Experiment, String> {
        let machine = self.mesh.into();
        let (workload, jobs, warmup_fraction, replications) = match &self.jobs {
            JobSource::Synthetic {
                workload,
                jobs,
                warmup,
                replications,
            } => {
                let usable = workload.jobs(self.seed, 0);
                usable.map_err(|error| error.to_string())?;
                let workload = Workload::Synthetic(*workload);
                (workload, *jobs, *warmup, *replications)
            }
            JobSource::Log {
                file,
                partition,
                shape,
                jobs,
            } => {
                let options = LogOptions {
                    partition: *partition,
                    limit: jobs.map(|jobs| jobs as usize),
                    shape: *shape,
                };
                let log = Log::read(file, options, machine).map_err(|error| error.to_string())?;
                (
                    Workload::Log(log),
                    JOBS_DEFAULT,
                    0.0,
                    Replications::Fixed(1),
                )
            }
        };
        Ok(Experiment {
            machine,
            strategies: self.strategies.clone(),
            scheduler: self.scheduler,
            workload,
            jobs,
            warmup_fraction,
            replications,
            seed: self.seed,
        })
    }
}

fn job_source(args: ScenarioArgs, mesh: Mesh) -> Result<JobSource, String> {
    if let Some(file) = args.swf {
        return Ok(JobSource::Log {
            file,
            partition: args.partition,
            shape: args.shape.unwrap_or_default(),
            jobs: args.jobs,
        });
    }
    for (given, key) in [
        (args.partition.is_some(), "partition"),
        (args.shape.is_some(), "shape"),
    ] {
        if given {
            return Err(format!("{key} is about logs (expected swf beside it)"));
        }
    }
    let rate = match (args.load, args.traffic) {
        (_, Some(traffic)) => Rate::Traffic(traffic),
        (load, None) => Rate::Load(load.unwrap_or(LOAD_DEFAULT)),
    };
    let service = args.service.unwrap_or(ServiceDistribution::Exponential {
        mean_seconds: args.mean_service.unwrap_or(MEAN_SERVICE_DEFAULT),
    });
    let sizes = args.sizes.unwrap_or(SizeDistribution::Uniform);
    let mut workload = Synthetic::new(mesh, sizes, service, rate);
    let sides = mesh.sides();
    for (range, key, side, drawn) in [
        (args.widths, "widths", sides.w, &mut workload.widths),
        (args.heights, "heights", sides.h, &mut workload.heights),
    ] {
        let Some(range) = range else { continue };
        if range.max() > side {
            return Err(format!(
                "{key} go to {} (expected at most {side} on a {mesh} mesh)",
                range.max()
            ));
        }
        *drawn = range;
    }
    let replications = match (args.replications, args.until_rel_error) {
        (count, None) => {
            if args.max_replications.is_some() {
                return Err(
                    "max-replications is a cap (expected until-rel-error beside it)".into(),
                );
            }
            Replications::Fixed(count.unwrap_or(REPLICATIONS_DEFAULT))
        }
        (_, Some(target)) => Replications::UntilRelativeError {
            target,
            max: args.max_replications.unwrap_or(REPLICATIONS_MAX_DEFAULT),
        },
    };
    Ok(JobSource::Synthetic {
        workload,
        jobs: args.jobs.unwrap_or(JOBS_DEFAULT),
        warmup: args.warmup.unwrap_or(WARMUP_FRACTION),
        replications,
    })
}

/// The scenario as results record it: the keys are those of scenario files, so that a result can be
/// turned into one.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Record<'s> {
    mesh: String,
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
    sizes: String,
    widths: String,
    heights: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_service: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    warmup: f64,
    jobs: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    replications: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until_rel_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_replications: Option<u32>,
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
        let record = Record {
            mesh: self.mesh.to_string(),
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
        let range = |range: SideRange| format!("{}..{}", range.min(), range.max());
        let (load, traffic) = match workload.rate {
            Rate::Load(load) => (Some(load), None),
            Rate::Traffic(traffic) => (None, Some(traffic)),
        };
        let (mean_service, service) = match workload.service {
            ServiceDistribution::Exponential { mean_seconds } => (Some(mean_seconds), None),
            other => (None, Some(other.to_string())),
        };
        let (replications, until_rel_error, max_replications) = match replications {
            Replications::Fixed(count) => (Some(count), None, None),
            Replications::UntilRelativeError { target, max } => (None, Some(target), Some(max)),
        };
        SyntheticRecord {
            sizes: workload.sizes.to_string(),
            widths: range(workload.widths),
            heights: range(workload.heights),
            load,
            traffic,
            mean_service,
            service,
            warmup,
            jobs,
            replications,
            until_rel_error,
            max_replications,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::options;
    use clap::FromArgMatches;

    fn scenario(line: &str) -> Result<Scenario, String> {
        let argv = std::iter::once("scenario").chain(line.split_whitespace());
        let matches = options()
            .try_get_matches_from(argv)
            .map_err(|error| error.to_string())?;
        Scenario::new(ScenarioArgs::from_arg_matches(&matches).unwrap())
    }

    #[test]
    fn defaults_are_recorded() {
        let record = serde_json::to_value(scenario("").unwrap()).unwrap();
        let expected = serde_json::json!({
            "mesh": "64x64", "strategy": ["first-fit"], "scheduler": "fcfs", "sizes": "uniform",
            "widths": "1..64", "heights": "1..64", "load": 0.4, "mean-service": 10.0, "warmup": 0.05,
            "jobs": 40000, "replications": 8, "seed": 1, "backend": "in-process"
        });
        assert_eq!(record, expected);
    }

    #[test]
    fn what_is_recorded_is_the_same_scenario_again() {
        for line in [
            "--mesh 16x22 --strategy fsl,as,naive --sizes exponential --traffic 1.5 --seed 7",
            "--service uniform:5,10 --widths 2..9 --heights 4 --until-rel-error 0.03",
            "--until-rel-error 0.05 --max-replications 12 --jobs 99 --warmup 0",
            "--swf a/log.swf.gz --partition 2 --jobs 50 --backend tcp:127.0.0.1:4000",
        ] {
            let record = serde_json::to_value(scenario(line).unwrap()).unwrap();
            let options: Vec<String> = record
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| match value {
                    serde_json::Value::Array(items) => {
                        let items: Vec<_> = items.iter().filter_map(|item| item.as_str()).collect();
                        format!("--{key}={}", items.join(","))
                    }
                    serde_json::Value::String(text) => format!("--{key}={text}"),
                    other => format!("--{key}={other}"),
                })
                .collect();
            let again = serde_json::to_value(scenario(&options.join(" ")).unwrap()).unwrap();
            assert_eq!(record, again);
        }
    }

    #[test]
    fn a_strategy_named_twice_runs_once() {
        let scenario = scenario("--strategy ff,first-fit,as,ff").unwrap();
        let expected = [StrategyKind::FirstFit, StrategyKind::AdaptiveScan];
        assert_eq!(scenario.strategies, expected);
    }

    #[test]
    fn options_that_need_others_say_so() {
        for (line, part) in [
            ("--partition 2", "expected swf"),
            ("--shape near-square", "expected swf"),
            ("--max-replications 9", "expected until-rel-error"),
            ("--mesh 8x16 --widths 1..9", "at most 8 on a 8x16 mesh"),
            ("--mesh 8x16 --heights 17", "at most 16"),
            ("--jobs 4294967295", "expected at most"),
            ("--load .4 --traffic 1", "cannot be used with"),
            ("--swf x --sizes uniform", "cannot be used with"),
            (
                "--replications 3 --until-rel-error .1",
                "cannot be used with",
            ),
        ] {
            let error = scenario(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
