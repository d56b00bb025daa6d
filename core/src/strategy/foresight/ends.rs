//! Departures when running jobs leave in the order of their expected ends.

use super::Decision;
use super::departures::CANDIDATES_MIN;
use crate::request::Ticks;

/// The most candidates that are kept with this number of running jobs.
pub(super) fn candidates_max(budget: u64, running: u64) -> u64 {
    CANDIDATES_MIN.max(budget / (1 + running))
}

/// Scores the candidates for a job that is expected to run for `own` ticks, at least 1. The score
/// counts the states after departures before the job's end.
pub(super) fn score(decision: &mut Decision<'_>, budget: u64, own: Ticks) {
    decision.first_end_first();
    let running = decision.running();
    let is_every_state = decision.candidates() as u64 * (1 + running as u64) <= budget;
    // The number of jobs that have left, and the time when the last of them left.
    let (mut gone, mut now) = (0, 0);
    loop {
        let next = if is_every_state {
            gone + 1
        } else {
            (2 * gone).max(1)
        };
        let end = if next <= running {
            decision.end(next - 1).min(own)
        } else {
            own
        };
        let weight = ((u128::from(end - now) << 16) / u128::from(own)) as u32;
        decision.score(0, if gone == 0 { weight.max(1) } else { weight });
        if end == own {
            break;
        }
        for job in gone..next {
            decision.leave(job, &|other| other < job);
            decision.describe(0, &[0], &[job]);
        }
        (gone, now) = (next, end);
    }
}
