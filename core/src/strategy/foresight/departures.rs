//! Departures when any of the running jobs may be the next that leaves.

use super::Decision;

/// The most departures that a decision looks ahead.
const DEPARTURES_MAX: u64 = 3;

/// The least number of candidates that are kept.
pub(super) const CANDIDATES_MIN: u64 = 4;

/// The most candidates that are kept with this number of running jobs.
pub(super) fn candidates_max(budget: u64, running: u64) -> u64 {
    let departures = departures_max(budget, running, CANDIDATES_MIN).max(1);
    CANDIDATES_MIN.max(budget / sets_up_to(running, departures))
}

/// Scores the candidates after each set of departures, up to a number of departures. All sets of
/// the same size are equally likely.
pub(super) fn score(decision: &mut Decision<'_>, budget: u64) {
    let running = decision.running();
    let candidates = decision.candidates() as u64;
    let mut departures = departures_max(budget, running as u64, candidates);
    let mut removed = running;
    if departures == 0 && running > 0 {
        departures = 1;
        // Fewer than `running`, or one departure of each would be within the budget.
        removed = (budget / candidates).saturating_sub(1) as usize;
        decision.largest_first(removed);
    }
    let jobs = running as u64 + 1;
    let weight = |t: u64| ((1 << (16 + t)) / ((jobs - t) * sets(jobs, t))) as u32;
    // The numbers of the states: those with one departure begin at 1. What is described and not
    // needed again is overwritten.
    let single = |job: usize| if departures > 1 { 1 + job } else { 1 };
    let pair = |later: usize, earlier: usize| match departures {
        3 => 1 + removed + later * (later - 1) / 2 + earlier,
        _ => 1 + removed,
    };
    let triple = 1 + removed + removed * removed.saturating_sub(1) / 2;

    decision.score(0, weight(0));
    for i in 0..removed {
        decision.leave(i, &|_| false);
        decision.describe(single(i), &[0], &[i]);
        decision.score(single(i), weight(1));
        for j in 0..if departures > 1 { i } else { 0 } {
            decision.leave(j, &|gone| gone == i);
            let state = pair(i, j);
            decision.describe(state, &[single(i), single(j)], &[i, j]);
            decision.score(state, weight(2));
            for l in 0..if departures > 2 { j } else { 0 } {
                decision.leave(l, &|gone| gone == i || gone == j);
                let pairs = [state, pair(i, l), pair(j, l)];
                decision.describe(triple, &pairs, &[i, j, l]);
                decision.score(triple, weight(3));
                decision.come_back(l);
            }
            decision.come_back(j);
        }
        decision.come_back(i);
    }
}

/// The number of sets of `t` out of `n`; `t` is at most [`DEPARTURES_MAX`], `n` at most the number
/// of processors.
fn sets(n: u64, t: u64) -> u64 {
    (0..t).fold(1, |sets, i| sets * n.saturating_sub(i) / (i + 1))
}

/// The number of sets of at most `t` out of `n`.
fn sets_up_to(n: u64, t: u64) -> u64 {
    (0..=t).map(|t| sets(n, t)).sum()
}

/// The largest number of departures, up to 3 and up to all running jobs, with which the work is
/// within the budget: each candidate is looked at after each set of at most that many departures.
/// The number is 0 if even one departure is too many.
fn departures_max(budget: u64, running: u64, candidates: u64) -> u64 {
    let departures = 1..=DEPARTURES_MAX.min(running);
    let is_within = |&t: &u64| candidates * sets_up_to(running, t) <= budget;
    departures.take_while(is_within).count() as u64
}
