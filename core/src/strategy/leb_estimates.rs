//! Least expected blocking with estimates (LEB-E).
//!
//! TODO

use super::foresight::departures::{self, CANDIDATES_MIN};
use super::foresight::{Decision, Foresight, Rule};
use crate::request::Request;

/// Least expected blocking with estimates.
pub type LebEstimates<'m> = Foresight<'m, FirstEndFirst>;

/// Running jobs leave in the order in which they are expected to end.
#[derive(Debug)]
pub struct FirstEndFirst;

impl Rule for FirstEndFirst {
    const BY_ENDS: bool = true;

    fn candidates_max(budget: u64, running: u64, request: &Request) -> u64 {
        match request.estimate {
            Some(_) => CANDIDATES_MIN.max(budget / (1 + running)),
            None => departures::candidates_max(budget, running),
        }
    }

    fn score(decision: &mut Decision<'_>, budget: u64, request: &Request) {
        let Some(own) = request.estimate else {
            departures::score(decision, budget);
            return;
        };
        let own = own.get();
        decision.first_end_first();
        let running = decision.running();
        let is_every_state = decision.candidates() as u64 * (1 + running as u64) <= budget;
        // How many have left, and when the last of them did.
        let (mut gone, mut now) = (0, 0);
        loop {
            let next = match is_every_state {
                true => gone + 1,
                false => (2 * gone).max(1),
            };
            let end = match next <= running {
                true => decision.end(next - 1).min(own),
                false => own,
            };
            let weight = ((u128::from(end - now) << 16) / u128::from(own)) as u32;
            decision.score(0, if gone == 0 { weight.max(1) } else { weight });
            if end == own {
                break;
            }
            for job in gone..next {
                decision.leave(job);
                decision.describe(0, &[0], &[job]);
            }
            (gone, now) = (next, end);
        }
    }
}
