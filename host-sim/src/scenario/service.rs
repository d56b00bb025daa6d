//! The service time of every command whose jobs have one: [`ServiceArgs`].

use clap::Args;
use serde_json::Value;

use super::MEAN_SERVICE_DEFAULT;
use crate::names;
use crate::workload::ServiceDistribution;

/// The service time, in one of several ways.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ServiceArgs {
    /// Mean of the exponential service time, in seconds [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = names::positive, allow_negative_numbers = true, conflicts_with = "service")]
    mean_service: Option<f64>,

    /// Another service time: exponential:MEAN or uniform:SHORTEST,LONGEST, in seconds
    #[arg(long, value_name = "DISTRIBUTION")]
    service: Option<ServiceDistribution>,

    /// Uniform service time, in seconds: short for --service uniform:LO,HI
    #[arg(long, value_name = "LO,HI", value_parser = residence, allow_negative_numbers = true, conflicts_with_all = ["mean_service", "service"])]
    residence: Option<ServiceDistribution>,
}

impl ServiceArgs {
    /// The distribution that they name, if they do.
    pub(super) fn given(&self) -> Option<ServiceDistribution> {
        let mean = self.mean_service.map(exponential);
        self.service.or(self.residence).or(mean)
    }

    /// The distribution that they name, or the default.
    pub(crate) fn distribution(&self) -> ServiceDistribution {
        let given = self.given();
        given.unwrap_or_else(|| exponential(MEAN_SERVICE_DEFAULT))
    }

    /// What is recorded of it: an option and its value.
    pub(crate) fn record(&self) -> (&'static str, Value) {
        record(self.distribution())
    }
}

fn exponential(mean_seconds: f64) -> ServiceDistribution {
    ServiceDistribution::Exponential { mean_seconds }
}

/// Reads `LO,HI`, the ends of a uniform distribution.
fn residence(text: &str) -> Result<ServiceDistribution, String> {
    format!("uniform:{text}")
        .parse()
        .map_err(|_| "expected LO,HI, seconds over 0, LO not over HI, such as 5,10".to_owned())
}

/// A service time as an option and its value.
pub(super) fn record(service: ServiceDistribution) -> (&'static str, Value) {
    match service {
        ServiceDistribution::Exponential { mean_seconds } => ("mean-service", mean_seconds.into()),
        other @ ServiceDistribution::Uniform { .. } => ("service", other.to_string().into()),
    }
}
