//! A naive form of slices that tolerate faulty nodes: every choice of these is tried in turn.

use meshalloc::{Flags, Refusal, Request, StrategyKind};

use crate::strategy::{Held, Strategy};

/// The most faulty nodes that are looked at.
const LOOKED_AT: usize = 32;
/// The most choices that are tried.
const TRIED: usize = 256;

/// All sets of so many of the numbers below `among`, the smallest of the greatest first.
fn choices(count: usize, among: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let with_greatest = |greatest: usize| {
        let others = choices(count - 1, greatest);
        others
            .into_iter()
            .map(move |choice| [choice, vec![greatest]].concat())
    };
    (0..among).flat_map(with_greatest).collect()
}

/// How many of these nodes a slice may have, as far as is known.
pub fn usable(unheld: &[u32], request: &Request) -> u32 {
    if unheld.len() > LOOKED_AT {
        request.tolerated()
    } else {
        request.tolerated().min(unheld.len() as u32)
    }
}

/// Places a request whose slice may have some of these faulty nodes, which are busy and which
/// no job holds.
///
/// # Errors
///
/// Why it has no place.
pub fn place(strategy: &Strategy, unheld: &[u32], request: &Request) -> Result<Held, Refusal> {
    let refusal = match strategy.place(request) {
        Err(refusal) => refusal,
        found => return found,
    };
    let nodes = &unheld[..unheld.len().min(LOOKED_AT)];
    let most = nodes.len().min(request.tolerated() as usize);
    if most == 0 {
        return Err(refusal);
    }
    let taken = strategy.check(request)?.taken;
    let free = u64::from(strategy.machine().free());
    if taken > free + u64::from(usable(unheld, request)) {
        return Err(Refusal::TooFewFree);
    }
    let is_any_left_out = nodes.len() < unheld.len();
    let none = if is_any_left_out {
        Refusal::NotSearchedToTheEnd
    } else if request.flags.intersects(Flags::ALL_RINGS) {
        Refusal::RingBusy
    } else {
        Refusal::Fragmented
    };
    let is_monotone = !matches!(
        strategy.kind(),
        StrategyKind::FrameSliding | StrategyKind::Cubes { .. }
    );
    if is_monotone && nodes.len() > 1 && strategy.clone().place_with(nodes, request).is_err() {
        return Err(none);
    }
    let counts = (1..=most).filter(|&count| free + count as u64 >= taken);
    let mut choices = counts.flat_map(|count| choices(count, nodes.len()));
    for choice in choices.by_ref().take(TRIED) {
        let works: Vec<u32> = choice.into_iter().map(|at| nodes[at]).collect();
        if let Ok(held) = strategy.place_with(&works, request) {
            return Ok(held);
        }
    }
    Err(if choices.next().is_some() {
        Refusal::NotSearchedToTheEnd
    } else {
        none
    })
}
