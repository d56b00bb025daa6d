//! The network, for every command that simulates one: [`NetworkArgs`].

use clap::Args;

use crate::names;
use crate::network::{CYCLES_MAX, Parameters};

/// The options of the network. What is `None` was not given.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct NetworkArgs {
    /// Flits of a message, 1 to 65536 [default: 8]
    #[arg(long, value_name = "COUNT", value_parser = flits, allow_negative_numbers = true)]
    pub flits: Option<u32>,

    /// Cycles for which a header stays at each processor on its way, 0 to 65536 [default: 3]
    #[arg(long, value_name = "CYCLES", value_parser = routing_delay, allow_negative_numbers = true)]
    pub routing_delay: Option<u32>,
}

impl NetworkArgs {
    /// With the defaults filled in.
    pub fn parameters(&self) -> Parameters {
        let default = Parameters::default();
        Parameters {
            flits: self.flits.unwrap_or(default.flits),
            routing_delay: self.routing_delay.unwrap_or(default.routing_delay),
        }
    }
}

fn flits(text: &str) -> Result<u32, String> {
    let expected = format!("a whole number, 1 to {CYCLES_MAX}");
    names::value(text, &expected, |flits| (1..=CYCLES_MAX).contains(flits))
}

fn routing_delay(text: &str) -> Result<u32, String> {
    let expected = format!("a whole number, 0 to {CYCLES_MAX}");
    names::value(text, &expected, |cycles| *cycles <= CYCLES_MAX)
}
