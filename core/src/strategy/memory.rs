//! How much memory a strategy needs: [`WorkspaceSize`].

#[cfg(any(feature = "least-expected-blocking", feature = "leb-estimates"))]
use super::foresight;
use super::kind::StrategyKind;
use super::workspace::{StrategyMemory, Workspace};
use crate::grid::Grid;
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
        };
        WorkspaceSize { scratch, list }
    }

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
