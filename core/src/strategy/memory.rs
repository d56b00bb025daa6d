//! How much memory a strategy needs: [`scratch_and_list`].

use super::foresight;
use super::kind::StrategyKind;
use super::workspace::StrategyMemory;
use crate::grid::{ANY_GRID, Grid};
use crate::machine::{Description, Extents, volume};
use crate::occupancy::Occupancy;
use crate::search::curve::lengths_max;
use crate::search::maximal::words_for_boxes;

/// The lengths of the parts of a [`Workspace`](super::Workspace), words and list, that this
/// strategy, which must be in this build, needs on this machine for this number of jobs, waiting
/// and running together.
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
        // A grid has no cubes.
        StrategyMemory::Cubes => (0, 0),
    }
}

/// The list that this strategy needs for the cubes of the machine of this description; `None` if
/// the strategy uses no cubes or the machine has none.
pub(crate) const fn list_of_cubes(strategy: StrategyKind, machine: &Description) -> Option<usize> {
    match (strategy.memory(), Cubes::of(machine)) {
        (StrategyMemory::Cubes, Some(cubes)) => Some(cubes.list_len()),
        _ => None,
    }
}

/// The cubes of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cubes {
    /// The number of cubes.
    pub(crate) count: usize,
    /// The processors of a cube.
    pub(crate) volume: u32,
}

impl Cubes {
    /// `None` if the description has no cubes.
    pub(crate) const fn of(machine: &Description) -> Option<Cubes> {
        let Some(cube) = machine.cube_extents() else {
            return None;
        };
        let volume = volume(cube);
        Some(Cubes {
            count: (machine.grid().nodes() / volume) as usize,
            volume,
        })
    }

    /// Where the cube of this number begins, asked for one dimension after the other from 0 on.
    /// Dimension 0 is fastest.
    #[inline(always)]
    pub(crate) fn origin<'a>(
        grid: &'a Grid,
        sides: &'a Extents,
        number: u32,
    ) -> impl FnMut(usize) -> u32 + use<'a> {
        let mut rest = number;
        move |at| {
            let side = u32::from(sides[at]);
            let along = u32::from(grid.side(at)) / side;
            let place = rest % along;
            rest /= along;
            place * side
        }
    }

    /// The cells that a bit for each processor of a cube takes.
    pub(crate) const fn cells(self) -> usize {
        self.volume.div_ceil(u64::BITS) as usize
    }

    /// The cells of the list.
    const fn list_len(self) -> usize {
        self.count * (self.cells() + 2) + self.cells()
    }
}
