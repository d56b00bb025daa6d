//! The nearest family (`gen-alg`, `mm`, `mc1x1`), from the definition: for each centre all free
//! processors are sorted, and the first n are scored.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use meshalloc::StrategyKind;

use crate::grid::{Grid, NaiveMachine};

/// Coordinates of a processor, x first.
type Position = Vec<u32>;

fn distances<'a>(a: &'a Position, b: &'a Position) -> impl Iterator<Item = u32> + 'a {
    a.iter().zip(b).map(|(a, b)| a.abs_diff(*b))
}

/// The sum of the L1 distances of all pairs: along each dimension, for each two coordinates.
fn pairs(chosen: &[&Position]) -> u64 {
    let along = (0..chosen[0].len()).map(|d| {
        let mut counts = BTreeMap::<u32, u64>::new();
        for position in chosen {
            *counts.entry(position[d]).or_default() += 1;
        }
        let each = |(&low, &number): (&u32, &u64)| {
            let above = counts.range(low + 1..);
            let sum = above.map(|(&high, &others)| u64::from(high - low) * others * number);
            sum.sum::<u64>()
        };
        counts.iter().map(each).sum::<u64>()
    });
    along.sum()
}

/// Which of two processors at the same L-infinity distance comes first: by the number of dimensions
/// along which it is that far, then by whether it is that far below, nearer, or that far above
/// along each dimension, then by coordinates.
fn sides_first(centre: &Position, distance: u32, place: &Position) -> (usize, Vec<Ordering>) {
    let ends = centre.iter().zip(place).map(|(centre, at)| {
        if centre.abs_diff(*at) == distance {
            at.cmp(centre)
        } else {
            Ordering::Equal
        }
    });
    let ends: Vec<Ordering> = ends.collect();
    let far = ends.iter().filter(|&&end| end != Ordering::Equal);
    (far.count(), ends)
}

/// The nodes that a job of `count` processors gets, ascending.
pub fn place(machine: &NaiveMachine, kind: StrategyKind, count: u32) -> Option<Vec<u32>> {
    let (grid, count) = (machine.grid(), count as usize);
    let free: Vec<Position> = machine
        .free_nodes()
        .map(|node| grid.position(node))
        .collect();
    if free.len() < count {
        return None;
    }
    let centres = match kind {
        StrategyKind::Mm => crossings(grid, &free),
        _ => free.clone(),
    };
    let mut best: Option<(u64, Vec<&Position>)> = None;
    for centre in &centres {
        let mut sorted: Vec<&Position> = free.iter().collect();
        let sum = |position: &Position| distances(position, centre).sum::<u32>();
        let largest = |position: &Position| distances(position, centre).max().unwrap_or(0);
        let score = match kind {
            StrategyKind::Mc1x1 => {
                sorted.sort_by_cached_key(|&position| {
                    let distance = largest(position);
                    (distance, sides_first(centre, distance, position), position)
                });
                sorted[..count].iter().map(|p| u64::from(largest(p))).sum()
            }
            _ => {
                sorted.sort_by_cached_key(|&position| (sum(position), position));
                pairs(&sorted[..count])
            }
        };
        if best.as_ref().is_none_or(|(least, _)| score < *least) {
            sorted.truncate(count);
            best = Some((score, sorted));
        }
    }
    let node = |position: &&Position| {
        let sides = grid.sides().iter().zip(*position).rev();
        sides.fold(0, |node, (side, at)| node * side + at)
    };
    let mut nodes: Vec<u32> = best?.1.iter().map(node).collect();
    nodes.sort_unstable();
    Some(nodes)
}

/// Each combination of the coordinates of these positions, x outermost, each in the order in which
/// it first appears.
fn crossings(grid: &Grid, free: &[Position]) -> Vec<Position> {
    let mut all = vec![Vec::new()];
    for d in 0..grid.dimensions() {
        let mut coordinates = Vec::new();
        for position in free {
            if !coordinates.contains(&position[d]) {
                coordinates.push(position[d]);
            }
        }
        let longer = |start: Position| {
            let with = |&at: &u32| [start.clone(), vec![at]].concat();
            coordinates.iter().map(with).collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}
