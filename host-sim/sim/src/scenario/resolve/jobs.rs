//! The jobs of a scenario without a log: their sizes, arrivals and work.

use meshalloc::{Cube, Grid};

use crate::error::SettingError;
use crate::io::{IoJobs, IoMesh, IoNetwork};
use crate::machine::Described;
use crate::network::Parameters;
use crate::scenario::table::Scenario;
use crate::workload::{
    Arrivals, Counts, EstimateModel, Messages, Mix, Process, Rate, Requests, ServiceDistribution,
    ShapeRule, SideDistribution, Subcubes, Submeshes, Synthetic, WorkDistribution,
};

/// Mean service time of a scenario that names none, in seconds: Kim and Yoon's.
pub const SERVICE_MEAN_DEFAULT: f64 = 10.0;
/// The offered load of a scenario on a mesh that names none.
pub const LOAD_DEFAULT: f64 = 0.4;
/// The jobs of a scenario on a cube that names neither a load nor a traffic ratio: Chuang and Wu's.
pub const BATCH_DEFAULT: u32 = 100;
/// The run times of these jobs, in seconds: one of Chuang and Wu's two distributions.
pub const BATCH_SERVICE_DEFAULT: ServiceDistribution = ServiceDistribution::Uniform {
    lo_seconds: 5.0,
    hi_seconds: 10.0,
};

impl Scenario {
    pub(super) fn synthetic(
        &mut self,
        machine: Grid,
        description: Option<&Described>,
        messages: Option<Messages>,
    ) -> Result<Synthetic, SettingError> {
        if let Some(model) = self.model {
            model.check(machine.nodes())?;
            let rate = self.load.map(Rate::Load);
            let workload = Synthetic::lublin(model, machine, self.shape(machine)?, rate);
            return self.estimated(workload);
        }
        let requests = self.requests(machine, description)?;
        let io = self.io(machine)?;
        let arrivals = self.arrivals(machine)?;
        let work = match (messages, io) {
            (Some(messages), _) => WorkDistribution::Messages(messages),
            (None, Some(io)) => WorkDistribution::Io(io),
            (None, None) => {
                let is_closed = arrivals.batch().is_some();
                let default = if is_closed && machine.is_written_high_first() {
                    BATCH_SERVICE_DEFAULT
                } else {
                    exponential(SERVICE_MEAN_DEFAULT)
                };
                WorkDistribution::Service(self.service(default))
            }
        };
        self.estimated(Synthetic {
            requests,
            estimates: EstimateModel::of(&work),
            work,
            arrivals,
            absent: 0,
        })
    }

    fn estimated(&mut self, mut workload: Synthetic) -> Result<Synthetic, SettingError> {
        workload.estimates = *self.estimates.get_or_insert(workload.estimates);
        workload.check_estimates()?;
        Ok(workload)
    }

    fn requests(
        &mut self,
        machine: Grid,
        description: Option<&Described>,
    ) -> Result<Requests, SettingError> {
        let cube = machine.radix().filter(|_| machine.is_written_high_first());
        let cube = cube.and_then(|k| Cube::new(k, machine.dimensions() as u8).ok());
        if let Some(cube) = cube {
            return Ok(Requests::Subcubes(Subcubes {
                cube,
                dims: *self.dims.get_or_insert_default(),
                radices: *self.radices.get_or_insert_default(),
            }));
        }
        if let Some(source) = &self.mix {
            let drop = *self.mix_drop.get_or_insert(false);
            return Ok(Requests::Mix(Mix::unread(machine, source.clone(), drop)));
        }
        if let Some(distribution) = self.processors {
            return Ok(Requests::Counts(Counts {
                machine,
                distribution,
                shape: self.shape(machine)?,
            }));
        }
        if let Some(description) = description.filter(|it| it.has_rules()) {
            let name = description.name.replace('`', "'");
            let expected = match self.backlog {
                // Neither a model nor a log can be used with a backlog.
                Some(_) => "`mix` or `processors`",
                None => "`mix`, `processors`, `model` or `log`",
            };
            let reason = format!(
                "`machine` {name} gives only certain shapes, which jobs of random sides seldom have \
                 (expected {expected})"
            );
            return Err(SettingError::new(&["machine"], reason));
        }
        let distribution = *self.side_lengths.get_or_insert(SideDistribution::Uniform);
        let mut submeshes = Submeshes::new(machine, distribution);
        if let Some(lengths) = &self.side_range {
            let bad = |reason| Err(SettingError::new(&["side-range"], reason));
            let dimensions = machine.dimensions();
            let Some(sides) = lengths.of(dimensions) else {
                let count = lengths.count();
                return bad(format!(
                    "`side-range` has {count} ranges (expected one for all dimensions, or \
                     {dimensions} on {machine})"
                ));
            };
            for (dimension, (range, side)) in sides.zip(machine.sides()).enumerate() {
                if range.max() > *side {
                    return bad(format!(
                        "`side-range` goes to {} in dimension {dimension} (expected at most {side} \
                         on {machine})",
                        range.max()
                    ));
                }
                submeshes.sides[dimension] = range;
            }
        }
        self.side_range = Some(submeshes.side_range());
        Ok(Requests::Submeshes(submeshes))
    }

    pub(super) fn shape(&mut self, machine: Grid) -> Result<ShapeRule, SettingError> {
        let default = if self.is_described() {
            ShapeRule::Chips
        } else {
            ShapeRule::of(&machine)
        };
        let shape = *self.shape.get_or_insert(default);
        let usable = shape.check(machine);
        usable.map_err(|reason| SettingError::unquoted(&["shape"], &reason))?;
        Ok(shape)
    }

    fn arrivals(&mut self, machine: Grid) -> Result<Arrivals, SettingError> {
        if let Some(gaps) = self.interarrival.clone() {
            return Ok(Arrivals::Process {
                process: Process::Empirical(gaps),
                rate: self.load.map(Rate::Load),
            });
        }
        let rate = match (self.load, self.traffic_ratio, self.arrival_rate) {
            _ if self.batch.is_some() => None,
            // Any rate gives the same run.
            _ if self.backlog.is_some() => Some(Rate::TrafficRatio(1.0)),
            (_, _, Some(rate)) => Some(Rate::Arrivals(rate)),
            _ if self.pattern.is_some() || self.io.is_some() => {
                return Err(SettingError::new(
                    &["pattern", "io", "io-nodes"],
                    "the load of jobs that send messages is not known beforehand (expected `arrival-rate` or `batch` with \
                     `pattern`, `io` or `io-nodes`)",
                ));
            }
            (_, Some(ratio), _) => Some(Rate::TrafficRatio(ratio)),
            (Some(load), ..) => Some(Rate::Load(load)),
            (None, None, None) if machine.is_written_high_first() => {
                if let Some((key, _)) = self.first_of(&["jobs", "warmup", "measure"]) {
                    let reason = format!(
                        "`{key}` requires jobs that keep arriving (expected `load` or `traffic-ratio`, or \
                         `batch` in place of it)"
                    );
                    return Err(SettingError::new(&[key], reason));
                }
                None
            }
            (None, None, None) => Some(Rate::Load(*self.load.insert(LOAD_DEFAULT))),
        };
        Ok(match rate {
            Some(rate) => Arrivals::Poisson(rate),
            None => Arrivals::AtOnce {
                jobs: *self.batch.get_or_insert(BATCH_DEFAULT),
            },
        })
    }

    /// The service time, recorded in one way.
    fn service(&mut self, default: ServiceDistribution) -> ServiceDistribution {
        let mean = self.service_mean.map(exponential);
        let service = self.service.take().or(mean).unwrap_or(default);
        (self.service_mean, self.service) = match service {
            ServiceDistribution::Exponential { mean_seconds } => (Some(mean_seconds), None),
            ref other => (None, Some(other.clone())),
        };
        service
    }

    pub(super) fn messages(&mut self) -> Option<Messages> {
        let patterns = self.pattern?;
        let default = Messages::new(patterns);
        Some(Messages {
            patterns,
            per_pair: *self.messages.get_or_insert(default.per_pair),
            iterations: *self.iterations.get_or_insert(default.iterations),
            blocking: *self.blocking.get_or_insert(default.blocking),
            network: self.network(),
        })
    }

    /// The network.
    pub fn network(&mut self) -> Parameters {
        let default = Parameters::default();
        Parameters {
            flits: *self.flits.get_or_insert(default.flits),
            routing_delay: *self.routing_delay.get_or_insert(default.routing_delay),
        }
    }

    fn io(&mut self, machine: Grid) -> Result<Option<IoJobs>, SettingError> {
        if self.io.is_none() && self.io_nodes.is_none() {
            return Ok(None);
        }
        let io = IoJobs {
            nodes: *self.io_nodes.get_or_insert_default(),
            ..self.io.unwrap_or_default()
        };
        let mesh = IoMesh::new(machine, io.nodes)?;
        if let IoNetwork::Wormhole { .. } = io.network {
            mesh.grid()?;
        }
        self.io = Some(io);
        Ok(Some(io))
    }
}

fn exponential(mean_seconds: f64) -> ServiceDistribution {
    ServiceDistribution::Exponential { mean_seconds }
}
