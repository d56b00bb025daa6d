//! What the page simulates, in the settings of `host-sim run`: [`Settings`].

use meshalloc::{Configuration, Grid, SchedulerKind, StrategyKind, Ticks};
use meshalloc_sim::error::SettingError;
use meshalloc_sim::workload::{
    Jobs, Rate, Requests, ServiceDistribution, SideDistribution, SideRange, Submeshes, Synthetic,
    TimeUnit, strategy_seed,
};

/// The mean run time of random jobs, in seconds.
const SERVICE_MEAN: f64 = 10.0;

/// A second, in ticks.
pub(crate) const SECOND: Ticks = TimeUnit::Second.ticks_each();

/// A machine, and the random jobs that arrive at it.
///
/// The sides of a request are uniform from 1 to half of the machine's, rounded up. Run times are
/// exponential, and so are the times between arrivals. The load is in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) machine: Grid,
    pub(crate) load: u32,
    pub(crate) seed: u32,
}

impl Settings {
    fn side_max(&self, dimension: usize) -> u16 {
        self.machine.side(dimension).div_ceil(2)
    }

    /// The jobs, those of a load at which `number` others were tried before; none at load 0.
    pub(crate) fn jobs(&self, number: u32) -> Result<Jobs<'static>, SettingError> {
        if self.load == 0 {
            return Ok(Box::new(std::iter::empty()));
        }
        self.workload()?.jobs(self.seed.into(), number)
    }

    /// What the controller of a strategy is configured as.
    pub(crate) fn configuration(&self, strategy: StrategyKind) -> Configuration {
        Configuration {
            machine: self.machine,
            strategy: strategy.seeded(strategy_seed(self.seed.into(), 0)),
            scheduler: SchedulerKind::Fcfs,
        }
    }

    /// The workload, at a load over 0.
    pub(crate) fn workload(&self) -> Result<Synthetic, SettingError> {
        let mut sides = Submeshes::new(self.machine, SideDistribution::Uniform);
        for dimension in 0..self.machine.dimensions() {
            sides.sides[dimension] = SideRange::new(1, self.side_max(dimension))?;
        }
        let service = ServiceDistribution::Exponential {
            mean_seconds: SERVICE_MEAN,
        };
        let rate = Rate::Load(f64::from(self.load) / 100.0);
        Ok(Synthetic {
            requests: Requests::Submeshes(sides),
            ..Synthetic::new(self.machine, SideDistribution::Uniform, service, rate)
        })
    }

    /// The command that measures the first `jobs` jobs to leave under these strategies.
    pub(crate) fn command(&self, strategies: &[&str], jobs: u32) -> String {
        // Without quotes.
        let machine = self.machine.to_string().replace(' ', "-");
        let sides = (0..self.machine.dimensions()).map(|at| self.side_max(at).to_string());
        format!(
            "host-sim run --machine {machine} --strategy {} --load {} --side-range {} \
             --service-mean {SERVICE_MEAN} --seed {} --measure departures --jobs {jobs} \
             --replications 1",
            strategies.join(","),
            f64::from(self.load) / 100.0,
            sides.collect::<Vec<_>>().join(","),
            self.seed,
        )
    }
}
