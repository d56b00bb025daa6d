//! The memory in which a strategy works: [`Workspace`], and how much of it a strategy needs:
//! [`StrategyMemory`].

use core::ops::RangeInclusive;

#[cfg(any(feature = "least-expected-blocking", feature = "leb-estimates"))]
use super::foresight;
use crate::grid::Grid;
use crate::occupancy::Occupancy;
use crate::search::curve::lengths_max;
#[cfg(feature = "any-grid")]
use crate::search::maximal::words_for_boxes;
use crate::word::Word;

/// The memory that a strategy may use as it likes.
#[derive(Debug, Default)]
pub(crate) struct Workspace<'m> {
    /// Scratch: [`Needs::scratch`](crate::storage::Needs::scratch).
    pub(crate) words: &'m mut [Word],
    /// Cells for a list of submeshes, which a strategy packs as it likes:
    /// [`Needs::list`](crate::storage::Needs::list).
    pub(crate) list: &'m mut [u64],
}

/// The budgets of strategies that look ahead.
pub(super) const BUDGETS: RangeInclusive<u64> = 4..=4096;

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
    /// A list of submeshes, a cell for each processor. On any grid but a two-dimensional mesh also
    /// scratch for the search of maximal free boxes.
    List,
    /// As long a list, and scratch for strategies that look ahead: twice the words of the
    /// occupancy, two words for each row, tables for two lengths up to the longest side, each with
    /// a bit for each of 72 requests, and room for this number of states of 72 bits and three
    /// words. On any grid but a two-dimensional mesh a bitmap and scratch for the search of maximal
    /// free boxes in place of the first two, tables for two lengths for each dimension, and two
    /// words more than dimensions for each state. No memory suffices for a number outside 4 to 4096.
    Foresight {
        /// The number of states.
        budget: u64,
    },
    /// The same, and 64 bits for each job, at most one for each processor.
    ForesightWithEnds {
        /// The number of states.
        budget: u64,
    },
}

/// The lengths of the parts of a [`Workspace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkspaceSize {
    /// Of `words`.
    pub(crate) scratch: usize,
    /// Of `list`.
    pub(crate) list: usize,
}

impl StrategyMemory {
    /// The workspace on this machine for this number of jobs, waiting and running together. The
    /// strategy must be in this build.
    pub(super) const fn workspace(self, machine: &Grid, jobs: usize) -> WorkspaceSize {
        let (words, nodes) = (Occupancy::words_needed(machine), machine.nodes() as usize);
        let ends = if jobs < nodes { jobs } else { nodes };
        let (scratch, list) = match self {
            StrategyMemory::Nothing => (0, 0),
            StrategyMemory::Scratch if machine.is_plane() => (words, 0),
            StrategyMemory::Scratch | StrategyMemory::TwiceScratch => (2 * words, 0),
            StrategyMemory::Lengths => {
                let lengths = 2 * lengths_max(machine.nodes());
                (if lengths > words { lengths } else { words }, 0)
            }
            StrategyMemory::List if machine.is_plane() => (0, nodes),
            StrategyMemory::List => (words_for_boxes(machine), nodes),
            StrategyMemory::Foresight { budget } | StrategyMemory::ForesightWithEnds { budget }
                if budget < *BUDGETS.start() || budget > *BUDGETS.end() =>
            {
                (usize::MAX, nodes)
            }
            StrategyMemory::Foresight { budget } => (foresight::words(machine, budget, 0), nodes),
            StrategyMemory::ForesightWithEnds { budget } => {
                (foresight::words(machine, budget, ends), nodes)
            }
        };
        WorkspaceSize { scratch, list }
    }
}

impl WorkspaceSize {
    /// Whether a workspace is as large.
    pub(super) const fn fits(self, workspace: &Workspace<'_>) -> bool {
        workspace.words.len() >= self.scratch && workspace.list.len() >= self.list
    }
}

/// No strategy of this build looks ahead.
#[cfg(not(any(feature = "least-expected-blocking", feature = "leb-estimates")))]
mod foresight {
    pub(super) const fn words(_: &crate::grid::Grid, _: u64, _: usize) -> usize {
        0
    }
}

/// No strategy of this build searches for maximal free boxes.
#[cfg(not(feature = "any-grid"))]
const fn words_for_boxes(_: &Grid) -> usize {
    0
}
