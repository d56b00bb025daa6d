//! The memory in which a strategy works: [`Workspace`], and the memory that a strategy needs:
//! [`StrategyMemory`].

use crate::machine::Description;
use crate::search::steps::Rule;
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
    machine: Option<&'m Description>,
}

impl<'m> Workspace<'m> {
    /// The memory for a strategy, without a description.
    pub(crate) const fn new(words: &'m mut [Word], list: &'m mut [u64]) -> Self {
        Workspace {
            words,
            list,
            machine: None,
        }
    }

    /// Notes the description of the machine.
    pub(crate) const fn describe(&mut self, machine: &'m Description) {
        self.machine = Some(machine);
    }

    /// The description of the machine.
    #[inline]
    pub(crate) const fn machine(&self) -> Option<&'m Description> {
        if Description::BUILT {
            self.machine
        } else {
            None
        }
    }

    /// The rule of the description about where slices begin, if there is one.
    #[inline]
    pub(crate) fn rule(&self) -> Option<Rule<'m>> {
        Rule::of(self.machine())
    }
}

/// How much memory a strategy needs in addition to the occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrategyMemory {
    /// No memory.
    Nothing,
    /// Scratch: on a two-dimensional mesh as many words as the occupancy has, on any other grid
    /// twice as many.
    Scratch,
    /// Scratch: on any grid twice as many words as the occupancy has.
    TwiceScratch,
    /// Scratch: the larger of two numbers. One is the number of words of the occupancy. The other
    /// is two words for each length that free intervals on a line through all N processors can
    /// have: 2 sqrt(2 N).
    Lengths,
    /// Scratch: as many words as the occupancy has, and two for each coordinate of each dimension,
    /// for one more dimension of side 1 on a two-dimensional mesh.
    Coordinates,
    /// A list of submeshes, a cell for each processor. On any grid but a two-dimensional mesh also
    /// scratch for the search of maximal free boxes.
    List,
    /// A list as for [`StrategyMemory::List`], and the scratch of `foresight::Division` for this
    /// number of states.
    Foresight {
        /// The number of states.
        budget: u64,
    },
    /// [`StrategyMemory::Foresight`], and 64 bits for each job, at most one for each processor.
    ForesightWithEnds {
        /// The number of states.
        budget: u64,
    },
    /// A list. For each cube of the description it has a bit for each processor of the cube, and
    /// two numbers. In addition it has the bits of one more cube.
    Cubes,
}
