//! The memory in which a strategy works: [`Workspace`], and how much of it a strategy needs:
//! [`StrategyMemory`].

use super::StrategyKind;
#[cfg(any(feature = "least-expected-blocking", feature = "leb-estimates"))]
use super::foresight;
use crate::grid::Grid;
#[cfg(feature = "machine")]
use crate::machine::{Machine, volume};
use crate::occupancy::Occupancy;
use crate::search::curve::lengths_max;
use crate::word::Word;

/// The memory that a strategy may use as it likes.
#[derive(Debug, Default)]
pub(crate) struct Workspace<'m> {
    /// Scratch: [`Needs::scratch`](crate::storage::Needs::scratch).
    pub(crate) words: &'m mut [Word],
    /// Cells for a list of submeshes, which a strategy packs as it likes:
    /// [`Needs::list`](crate::storage::Needs::list).
    pub(crate) list: &'m mut [u64],
    /// The description of the machine.
    #[cfg(feature = "machine")]
    pub(crate) machine: Option<&'m Machine>,
}

/// How much memory a strategy needs in addition to the occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrategyMemory {
    /// None.
    Nothing,
    /// Scratch: on a two-dimensional mesh as many words as the occupancy has, on any other grid
    /// twice as many.
    Scratch,
    /// Scratch: on any grid twice as many words as the occupancy has.
    TwiceScratch,
    /// Scratch: as many words as the occupancy has, or if that is more, two for each length that
    /// free intervals on a line through all N processors can have, which are 2 sqrt(2 N).
    Lengths,
    /// A list of submeshes, one for each processor.
    List,
    /// As long a list, and scratch for strategies that look ahead: twice the words of the
    /// occupancy, two words for each row, tables for two lengths up to the longest side, each with
    /// a bit for each of 72 requests, and room for this number of states of 72 bits and three
    /// words. No memory suffices for a number outside 4 to 4096.
    Foresight {
        /// The number of states.
        budget: u64,
    },
    /// The same, and 64 bits for each job, at most one for each processor.
    ForesightWithEnds {
        /// The number of states.
        budget: u64,
    },
    /// A list: for each cube of the description a bit for each of its processors, and two numbers;
    /// and the bits of one more cube.
    Cubes,
}

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
