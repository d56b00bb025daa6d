//! The service time of every command that runs jobs at a load or in a queue: [`ServiceArgs`].

use clap::Args;
use serde_json::Value;

use super::{MEAN_SERVICE_DEFAULT, residence};
use crate::names;
use crate::workload::ServiceDistribution;

/// The service time, in one of the ways in which `run` takes it.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ServiceArgs {
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
    /// The distribution that they name.
    pub(crate) fn distribution(&self) -> ServiceDistribution {
        let named = self.service.or(self.residence);
        named.unwrap_or(ServiceDistribution::Exponential {
            mean_seconds: self.mean_service.unwrap_or(MEAN_SERVICE_DEFAULT),
        })
    }

    /// What is recorded of it: an option and its value.
    pub(crate) fn record(&self) -> (&'static str, Value) {
        record(self.distribution())
    }
}

/// A service time as an option and its value.
pub(super) fn record(service: ServiceDistribution) -> (&'static str, Value) {
    match service {
        ServiceDistribution::Exponential { mean_seconds } => ("mean-service", mean_seconds.into()),
        other @ ServiceDistribution::Uniform { .. } => ("service", other.to_string().into()),
    }
}
