//! Where a strategy looks for a place: [`Site`].

use super::Strategy;
use crate::draft::Draft;
use crate::error::Refusal;
use crate::grid::Grid;
use crate::occupancy::Occupancy;
use crate::outlook::{Outlook, Placing};
use crate::pool::Chain;
use crate::request::Request;

/// The occupancy in which a strategy looks for a place, and the purpose of the answer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Site<'a> {
    /// The occupancy in which the place must be free: the machine's or a supposed one.
    pub occupancy: &'a Occupancy<'a>,
    /// The machine's occupancy.
    machine: &'a Occupancy<'a>,
    purpose: Purpose<'a, 'a>,
}

/// The purpose of a strategy's answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose<'a, 'm> {
    /// The answer yes or no; the place does not matter.
    Question,
    /// A place, for a reservation or where blocks were given back.
    Place,
    /// A slice that is to be granted where other slices of its gang are busy, or faulty processors
    /// are supposed to work.
    Slice,
    /// A grant, to this job of a controller. An allocator has no jobs.
    Grant(Option<Placing<'a, 'm>>),
}

impl<'a> Site<'a> {
    /// A site in this occupancy.
    #[inline]
    pub(crate) const fn new(
        occupancy: &'a Occupancy<'a>,
        machine: &'a Occupancy<'a>,
        purpose: Purpose<'a, 'a>,
    ) -> Self {
        Site {
            occupancy,
            machine,
            purpose,
        }
    }

    /// Lets a strategy look here for a place for one slice. No other function asks a strategy.
    ///
    /// # Errors
    ///
    /// `Fragmented` if there is no place, `TableFull` if there is no room for its blocks.
    #[inline(always)]
    pub(crate) fn ask(
        &self,
        strategy: &mut impl Strategy,
        request: &Request,
        mut draft: Draft<'_, '_>,
    ) -> Result<Chain, Refusal> {
        let found = strategy.propose(self, request, &mut draft);
        draft.finish(found)
    }

    /// The machine.
    #[inline]
    pub const fn grid(&self) -> &'a Grid {
        self.occupancy.grid()
    }

    /// Whether only the answer yes or no counts: the caller discards the draft.
    #[inline]
    pub const fn is_question(&self) -> bool {
        matches!(self.purpose, Purpose::Question)
    }

    /// Whether the place that is found may be granted to a job.
    #[inline]
    pub(crate) const fn may_be_granted(&self) -> bool {
        matches!(self.purpose, Purpose::Slice | Purpose::Grant(_))
    }

    /// Whether the occupancy is a supposed one: blocks of running jobs may be free in it, and free
    /// blocks busy. The data that a strategy keeps about the machine's occupancy does not agree
    /// with it.
    #[inline]
    pub const fn is_supposed(&self) -> bool {
        self.occupancy.is_supposed()
    }

    /// The facts about the other jobs. `None` if the place is not to be granted now, if it is for a
    /// slice of a gang, or if faulty processors are supposed to work.
    #[inline]
    pub fn outlook<'o>(&self, draft: &'o Draft<'_, '_>) -> Option<Outlook<'o, 'o>>
    where
        'a: 'o,
    {
        let Purpose::Grant(placing) = self.purpose else {
            return None;
        };
        Some(Outlook::new(draft.pool(), self.machine, placing))
    }
}
