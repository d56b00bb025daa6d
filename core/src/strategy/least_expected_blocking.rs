//! Least expected blocking (LEB).
//!
//! TODO

use super::foresight::{Decision, Foresight, Rule, departures};
use crate::request::Request;

/// Least expected blocking.
pub type LeastExpectedBlocking<'m> = Foresight<'m, AnyDepartures>;

/// Each set of running jobs is as likely to be the next that leave as any other of as many.
#[derive(Debug)]
pub struct AnyDepartures;

impl Rule for AnyDepartures {
    const BY_ENDS: bool = false;

    fn candidates_max(budget: u64, running: u64, _: &Request) -> u64 {
        departures::candidates_max(budget, running)
    }

    fn score(decision: &mut Decision<'_>, budget: u64, _: &Request) {
        departures::score(decision, budget);
    }
}
