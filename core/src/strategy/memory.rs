//! How much memory a strategy needs: [`WorkspaceSize`].

#[cfg(any(feature = "least-expected-blocking", feature = "leb-estimates"))]
use super::foresight;
use super::kind::StrategyKind;
use super::workspace::{StrategyMemory, Workspace};
use crate::grid::Grid;
#[cfg(feature = "machine")]
use crate::machine::{Machine, volume};
use crate::occupancy::Occupancy;
use crate::search::curve::lengths_max;
#[cfg(feature = "any-grid")]
use crate::search::maximal::words_for_boxes;

/// The lengths of the parts of a [`Workspace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkspaceSize {
    /// Of `words`.
    pub(crate) scratch: usize,
    /// Of `list`.
    pub(crate) list: usize,
}

impl WorkspaceSize {
    /// The workspace that this strategy, which must be in this build, needs on this machine for
    /// this number of jobs, waiting and running together.
    pub(crate) const fn of(strategy: StrategyKind, machine: &Grid, jobs: usize) -> Self {
        let (words, nodes) = (Occupancy::words_needed(machine), machine.nodes() as usize);
        let ends = if jobs < nodes { jobs } else { nodes };
        let (scratch, list) = match strategy.memory() {
            StrategyMemory::Nothing => (0, 0),
            StrategyMemory::Scratch if machine.is_plane() => (words, 0),
            StrategyMemory::Scratch | StrategyMemory::TwiceScratch => (2 * words, 0),
            StrategyMemory::Lengths => {
                let lengths = 2 * lengths_max(machine.nodes());
                (if lengths > words { lengths } else { words }, 0)
            }
            #[cfg(feature = "any-grid")]
            StrategyMemory::List if !machine.is_plane() => (words_for_boxes(machine), nodes),
            StrategyMemory::List => (0, nodes),
            StrategyMemory::Foresight { budget } => (foresight::words(machine, budget, 0), nodes),
            StrategyMemory::ForesightWithEnds { budget } => {
                (foresight::words(machine, budget, ends), nodes)
            }
            // A grid has no cubes.
            StrategyMemory::Cubes => (0, 0),
        };
        WorkspaceSize { scratch, list }
    }

    /// The same on the machine of this description.
    #[cfg(feature = "machine")]
    pub(crate) const fn described(strategy: StrategyKind, machine: &Machine, jobs: usize) -> Self {
        let mut size = Self::of(strategy, machine.grid(), jobs);
        if let (StrategyMemory::Cubes, Some(cubes)) = (strategy.memory(), Cubes::of(machine)) {
            size.list = cubes.list_len();
        }
        size
    }

    /// Whether a workspace is as large.
    pub(super) const fn fits(self, workspace: &Workspace<'_>) -> bool {
        workspace.words.len() >= self.scratch && workspace.list.len() >= self.list
    }
}

/// The cubes of a machine.
#[cfg(feature = "machine")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cubes {
    /// The number of cubes.
    pub(crate) count: usize,
    /// The processors of a cube.
    pub(crate) volume: u32,
}

#[cfg(feature = "machine")]
impl Cubes {
    /// `None` if the description has no cubes.
    pub(crate) const fn of(machine: &Machine) -> Option<Cubes> {
        let Some(cube) = machine.cube_extents() else {
            return None;
        };
        let volume = volume(cube);
        Some(Cubes {
            count: (machine.grid().nodes() / volume) as usize,
            volume,
        })
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

/// No strategy of this build looks ahead.
#[cfg(not(any(feature = "least-expected-blocking", feature = "leb-estimates")))]
mod foresight {
    pub(super) const fn words(_: &crate::grid::Grid, _: u64, _: usize) -> usize {
        0
    }
}
