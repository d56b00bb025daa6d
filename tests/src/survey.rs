//! Which requests a strategy grants among those for which a box is free, over many occupancies of a
//! small grid.

use meshalloc::{Flags, Outcome, Refusal, StrategyKind};

use crate::convert;
use crate::grid::{Grid, lists};
use crate::rig::HeapMemory;
use crate::trial::Probe;

/// The most nodes a grid may have here.
pub const NODES_MAX: u32 = 64;

/// What was found over some occupancies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Pairs of an occupancy and a request for which a box with the extents is free, along any
    /// dimensions.
    pub recognisable: u64,
    /// The number of these that were granted.
    pub granted: u64,
    /// A pair that was refused: the free nodes and the extents. The one with the fewest free nodes,
    /// then the first.
    pub missed: Option<(Vec<u32>, Vec<u32>)>,
}

impl Survey {
    /// Whether every request was granted for which a box is free.
    pub const fn is_complete(&self) -> bool {
        self.recognisable == self.granted
    }

    /// The part that was granted.
    pub fn share(&self) -> f64 {
        self.granted as f64 / self.recognisable as f64
    }

    /// Adds what was found over other occupancies.
    pub fn merge(&mut self, other: Survey) {
        self.recognisable += other.recognisable;
        self.granted += other.granted;
        let key = |missed: &(Vec<u32>, Vec<u32>)| (missed.0.len(), missed.clone());
        let missed = self.missed.take().into_iter().chain(other.missed);
        self.missed = missed.min_by_key(key);
    }
}

/// The occupancies of a grid, a bit for each node, in the order of a Gray code: each is made from
/// the one before by one fault or repair.
pub fn occupancies(grid: &Grid) -> impl ExactSizeIterator<Item = u64> + Clone + use<> {
    let count = 1_usize << grid.nodes();
    (0..count).map(|step| (step ^ step >> 1) as u64)
}

/// The lists of extents that can be asked of a grid: on a cube all radices of m = 0 .. n
/// dimensions, on another grid an extent for every dimension, up to its longest side.
pub fn requests(grid: &Grid) -> Vec<Vec<u32>> {
    let longest = grid.sides().iter().copied().max().unwrap_or(1);
    let n = grid.dimensions();
    if grid.k().is_none() {
        return lists(&vec![longest; n]);
    }
    let more = |list: Vec<u32>| list.iter().map(|extent| extent + 1).collect();
    let of_m = |m: usize| lists(&vec![longest - 1; m]).into_iter().map(more);
    (0..=n).flat_map(of_m).collect()
}

/// Whether answers are compared with the naive strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Every answer; where extents differ, those to requests with [`Flags::FIXED_ORIENTATION`] too.
    WithModel,
    /// Every answer at every n-th occupancy; at the others only whether a request is granted.
    Every(usize),
    /// Only whether a request is granted.
    Nothing,
}

/// Makes every request of a strategy at each of these occupancies.
///
/// # Panics
///
/// When the strategy does not serve the machine, the machine has too many nodes, or an answer is
/// not that of the naive strategy.
pub fn survey(
    kind: StrategyKind,
    machine: meshalloc::Grid,
    occupancies: impl Iterator<Item = u64>,
    extents: &[Vec<u32>],
    compare: Compare,
) -> Survey {
    let grid = convert::grid(machine);
    assert!(grid.nodes() <= NODES_MAX, "{grid} has too many nodes");
    let mut memory = HeapMemory::new(machine, 1);
    let mut probe = Probe::new(&mut memory, kind, machine);
    let mask = |nodes: Vec<u32>| nodes.iter().fold(0_u64, |mask, node| mask | 1 << node);
    // For each list of extents: the requests, their checks, which depend on no occupancy, and the
    // boxes.
    let wanted: Vec<_> = extents
        .iter()
        .map(|extents| {
            let request = convert::request(extents);
            let mut requests = vec![request];
            if extents.windows(2).any(|pair| pair[0] != pair[1]) {
                requests.push(request.with_flags(Flags::FIXED_ORIENTATION));
            }
            let check = |request| (request, probe.model().check(&request));
            let requests: Vec<_> = requests.into_iter().map(check).collect();
            let boxes = grid.boxes(extents).into_iter();
            let boxes: Vec<u64> = boxes.map(|place| mask(grid.nodes_of(&place))).collect();
            (extents, requests, boxes)
        })
        .collect();
    let mut found = Survey::default();
    let mut busy = 0;
    for (step, next) in occupancies.enumerate() {
        for node in (0..grid.nodes()).filter(|node| (busy ^ next) >> node & 1 == 1) {
            probe.set(node, next >> node & 1 == 1);
        }
        busy = next;
        let is_compared = match compare {
            Compare::WithModel => true,
            Compare::Every(number) => step % number == 0,
            Compare::Nothing => false,
        };
        for (extents, requests, boxes) in &wanted {
            let exists = boxes.iter().any(|mask| mask & busy == 0);
            let granted = if is_compared {
                let mut answers = requests
                    .iter()
                    .map(|(request, checked)| probe.compare_checked(*request, checked));
                let answer = answers.next().expect("at least one request");
                answers.for_each(drop);
                if answer == Err(Refusal::ExtentBelowSide) {
                    continue;
                }
                answer.is_ok()
            } else if exists {
                matches!(probe.ask(requests[0].0).outcome, Ok(Outcome::Done))
            } else {
                continue;
            };
            // Some strategies grant other shapes than the one that is asked for.
            found.recognisable += u64::from(exists);
            found.granted += u64::from(exists && granted);
            if exists && !granted {
                let free = (0..grid.nodes()).filter(|node| busy >> node & 1 == 0);
                found.merge(Survey {
                    missed: Some((free.collect(), (*extents).clone())),
                    ..Survey::default()
                });
            }
        }
        if is_compared {
            probe.check_list();
            if step % 1024 == 0 {
                probe.controller().check_invariants();
            }
        }
    }
    found
}
