//! Where a strategy looks for a place: [`Site`].

use crate::draft::Draft;
use crate::grid::Grid;
use crate::occupancy::Occupancy;
use crate::outlook::{Outlook, Placing};

/// Where a strategy looks for a place, and what the answer is for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Site<'a> {
    /// The occupancy in which the place must be free: the machine's or a supposed one.
    pub occupancy: &'a Occupancy<'a>,
    /// Whether only the answer counts, yes or no: the caller discards the draft.
    pub is_question: bool,
    /// Whether the occupancy is supposed only because earlier slices of the same gang are in it:
    /// then what is found may be granted.
    pub(crate) is_of_gang: bool,
    known: Option<Known<'a>>,
}

/// What an [`Outlook`] shows, without the blocks.
#[derive(Clone, Copy, Debug)]
struct Known<'a> {
    /// The machine's occupancy.
    occupancy: &'a Occupancy<'a>,
    placing: Option<Placing<'a, 'a>>,
}

impl<'a> Site<'a> {
    /// A site in this occupancy. Nothing is known about jobs.
    pub(crate) const fn new(occupancy: &'a Occupancy<'a>) -> Self {
        Site {
            occupancy,
            is_question: false,
            is_of_gang: false,
            known: None,
        }
    }

    /// The site for a question: only the answer counts.
    pub(crate) const fn asking(self) -> Self {
        Site {
            is_question: true,
            ..self
        }
    }

    /// The site for a slice of a gang that is to be granted.
    pub(crate) const fn of_gang(self) -> Self {
        Site {
            is_of_gang: true,
            ..self
        }
    }

    /// The site with an outlook on the jobs of the machine.
    pub(crate) const fn seeing(
        self,
        machine: &'a Occupancy<'a>,
        placing: Option<Placing<'a, 'a>>,
    ) -> Self {
        Site {
            known: Some(Known {
                occupancy: machine,
                placing,
            }),
            ..self
        }
    }

    /// The machine.
    #[inline]
    pub const fn grid(&self) -> &'a Grid {
        self.occupancy.grid()
    }

    /// Whether the occupancy is a supposed one: blocks of running jobs may be free in it, and free
    /// blocks busy. What a strategy keeps about the machine's occupancy does not agree with it.
    #[inline]
    pub const fn is_supposed(&self) -> bool {
        self.occupancy.is_supposed()
    }

    /// What is known about the other jobs. `None` where a reservation or an answer is all that the
    /// caller wants.
    #[inline]
    pub fn outlook<'o>(&self, draft: &'o Draft<'_, '_>) -> Option<Outlook<'o, 'o>>
    where
        'a: 'o,
    {
        let Known { occupancy, placing } = self.known?;
        Some(Outlook::new(draft.pool(), occupancy, placing))
    }
}
