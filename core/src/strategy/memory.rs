//! How much memory a strategy needs: [`scratch_and_list`].

use super::foresight;
use super::kind::StrategyKind;
use super::workspace::StrategyMemory;
use crate::grid::{ANY_GRID, Grid};
use crate::machine::{Cubes, Description};
use crate::occupancy::Occupancy;
use crate::search::curve::lengths_max;
use crate::search::maximal::words_for_boxes;

/// The lengths of the words and the list of a [`Workspace`](super::Workspace) that a strategy needs
/// on this machine for this number of jobs, waiting and running together. The strategy must be in
/// this build.
pub(crate) const fn scratch_and_list(
    strategy: StrategyKind,
    machine: &Grid,
    jobs: usize,
) -> (usize, usize) {
    let (words, nodes) = (Occupancy::words_needed(machine), machine.nodes() as usize);
    match strategy.memory() {
        StrategyMemory::Nothing => (0, 0),
        StrategyMemory::Scratch if machine.is_plane() => (words, 0),
        StrategyMemory::Scratch | StrategyMemory::TwiceScratch => (2 * words, 0),
        StrategyMemory::Lengths => {
            let lengths = 2 * lengths_max(machine.nodes());
            (if lengths > words { lengths } else { words }, 0)
        }
        StrategyMemory::Coordinates => {
            let (mut coordinates, mut dimension) = (0, 0);
            while dimension < machine.dimensions() {
                coordinates += machine.side(dimension) as usize;
                dimension += 1;
            }
            let more = machine.is_plane() as usize;
            (words + 2 * (coordinates + more), 0)
        }
        StrategyMemory::List if ANY_GRID && !machine.is_plane() => {
            (words_for_boxes(machine), nodes)
        }
        StrategyMemory::List => (0, nodes),
        StrategyMemory::Foresight { budget } => (foresight::words(machine, budget, 0), nodes),
        StrategyMemory::ForesightWithEnds { budget } => {
            let ends = if jobs < nodes { jobs } else { nodes };
            (foresight::words(machine, budget, ends), nodes)
        }
        // A grid alone has no cubes.
        StrategyMemory::Cubes => (0, 0),
    }
}

/// The list that this strategy needs for the cubes of the machine of this description; `None` if
/// the strategy uses no cubes or the machine has none.
pub(crate) const fn list_of_cubes(strategy: StrategyKind, machine: &Description) -> Option<usize> {
    match (strategy.memory(), Cubes::of(machine)) {
        (StrategyMemory::Cubes, Some(cubes)) => {
            let cells = cells_of_cube(cubes);
            Some(cubes.count as usize * (cells + 2) + cells)
        }
        _ => None,
    }
}

/// The number of cells for the bits of a cube, one for each processor.
pub(super) const fn cells_of_cube(cubes: Cubes<'_>) -> usize {
    cubes.volume.div_ceil(u64::BITS) as usize
}
