//! Where a job is placed: the [`Strategy`] trait, and [`AnyStrategy`] to choose at run time.
//!
//! A strategy owns no occupancy. It looks at the [`Occupancy`] and proposes blocks; the
//! allocator commits them and then calls [`Strategy::taken`]. What it keeps of its own (the free
//! submesh list) is derived from the occupancy and can be rebuilt from it at any time; what is not derived (a generator's state,
//! the latest requests) is saved and restored (`Strategy::save`, with the feature `restore`).
//!
//! # Adding a strategy
//!
//! One file in this folder with a type that implements [`Strategy`], an entry in `table.rs` and a cargo feature of its name.
//! Modules, names, error messages, command line, protocol and the memory of the firmware are made from the table.

use crate::blocks::Draft;
#[cfg(feature = "restore")]
use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::error::{ConfigureError, Refusal};
use crate::grid::Block;
use crate::mesh::Sides;
use crate::occupancy::Occupancy;
use crate::outlook::Outlook;
use crate::request::Request;
use crate::word::Word;

#[cfg_attr(
    not(feature = "strategies"),
    allow(
        dead_code,
        unused_macros,
        reason = "a build with some of the strategies uses a part of what several share"
    )
)]
#[macro_use]
mod common;
#[macro_use]
mod table;
mod any;
#[cfg(any(feature = "least-expected-blocking", feature = "leb-estimates"))]
mod foresight;
#[cfg(any(
    feature = "naive",
    feature = "neighbor",
    feature = "paging",
    feature = "random"
))]
mod gather;
mod serves;
mod text;

pub use crate::search::curve::CurveFit;
pub use any::{
    AnyStrategy, Holds, PageOrder, StrategyForm, StrategyInfo, StrategyKind, StrategyMemory,
};
#[cfg(any(feature = "least-expected-blocking", feature = "leb-estimates"))]
pub use foresight::Candidate;
#[cfg(any(feature = "least-expected-blocking", feature = "leb-estimates"))]
pub(crate) use foresight::words as foresight_words;
pub use serves::Serves;
pub use text::StrategyTextError;

/// No strategy of this build looks ahead.
#[cfg(not(any(feature = "least-expected-blocking", feature = "leb-estimates")))]
pub(crate) const fn foresight_words(_: &crate::grid::Grid, _: u64, _: usize) -> usize {
    0
}

/// The modules of the strategies in this build, and what is public in them.
macro_rules! modules {
    ($value:tt $(
        $(#[$meta:meta])* $kind:ident $({ $($fields:tt)* })? in $module:ident = $name:literal $rest:tt
    )*) => { $(
        #[cfg(feature = $name)]
        mod $module;
        #[cfg(feature = $name)]
        pub use $module::*;
    )* };
}

table!(modules);

/// A processor allocation strategy.
pub trait Strategy {
    /// The least number of free processors with which the request could be granted. The shape is one for the machine
    /// ([`Grid::check`](crate::Grid::check)).
    ///
    /// # Errors
    ///
    /// Why it could not be granted on an empty machine without faults.
    fn demand(&self, request: &Request) -> Result<u32, Refusal>;

    /// Looks for a place and writes the blocks into `draft`. Returns whether it found one; if not, what
    /// it has written is thrown away. The occupancy does not change.
    ///
    /// Blocks must be free, within the machine and disjoint.
    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool;

    /// The same for an occupancy that is not the machine's but only supposed: blocks of running jobs may be free in it, and free ones
    /// busy. What the strategy keeps does not agree with it, and must be after [`Strategy::end_supposing`] what it was before.
    ///
    /// A strategy that keeps something has to say how it does without; what is remembered with the help of
    /// the number of releases is not asked for a supposed one.
    fn suppose(
        &mut self,
        supposed: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        self.propose(supposed, request, draft)
    }

    /// Whether a place would be found in an occupancy: the machine's, or one that is only supposed ([`Strategy::suppose`]). `draft` is
    /// thrown away.
    fn would_fit(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        self.suppose(occupancy, request, draft)
    }

    /// The supposition is over; `occupancy` is the machine's. For a strategy that had to overwrite
    /// what it keeps. It calls `spend` with the instructions that takes, as in [`Draft::spend`].
    fn end_supposing(&mut self, _occupancy: &Occupancy<'_>, _spend: &dyn Fn(u32)) {}

    /// Whether a place is found for the request whenever any submesh of these sides is free in a two-dimensional mesh. Then
    /// a submesh that is kept free is enough to be sure of a place.
    fn recognizes(&self, _request: &Request, _sides: Sides) -> bool {
        false
    }

    /// Whether a place is found whenever as many processors are free as the request demands,
    /// wherever they are. Then schedulers reserve a number of processors, else what the strategy
    /// finds.
    fn takes_any(&self) -> bool {
        false
    }

    /// Whether a place is found wherever more is free than in an occupancy in which one is found.
    /// If not, the strategy says what has to stay free ([`Strategy::kept_free`]).
    fn is_monotone(&self) -> bool {
        true
    }

    /// What has to stay free for a request so that a place is found again for it, whatever else has
    /// become busy until then: a block around the place that was found in this supposed occupancy.
    fn kept_free(&self, _supposed: &Occupancy<'_>, place: Block) -> Block {
        place
    }

    /// A request has arrived; it may be refused or have to wait. For strategies that learn from what was asked for.
    fn arrived(&mut self, _request: &Request) {}

    /// Whether it wants to know about jobs ([`Strategy::look`]).
    fn looks_ahead(&self) -> bool {
        false
    }

    /// What is known about jobs, just before a place is looked for. For strategies that look ahead ([`Strategy::looks_ahead`]).
    fn look(&mut self, _outlook: &Outlook<'_, '_>) {}

    /// The block has become busy: a job took it, or its processors are faulty, some of which may have been busy before. `occupancy` says so
    /// already. The strategy calls `spend` with the instructions that its own part takes, as in
    /// [`Draft::spend`].
    fn taken(&mut self, _occupancy: &Occupancy<'_>, _block: Block, _spend: &dyn Fn(u32)) {}

    /// The block has become free, but for its faulty processors. `occupancy` says so already. `spend` as
    /// above.
    fn released(&mut self, _occupancy: &Occupancy<'_>, _block: Block, _spend: &dyn Fn(u32)) {}

    /// Processors of the block that were faulty have become free. `occupancy` says so already. `spend` as
    /// above.
    fn repaired(&mut self, _occupancy: &Occupancy<'_>, _block: Block, _spend: &dyn Fn(u32)) {}

    /// Forget everything and begin with this occupancy.
    fn rebuild(&mut self, _occupancy: &Occupancy<'_>) {}

    /// Saves what [`Strategy::rebuild`] does not make again from the occupancy and on which decisions depend: items, as many as it likes. Nothing
    /// for most.
    #[cfg(feature = "restore")]
    fn save(&self, _state: &mut Writer<'_>) {}

    /// Restores from the next item that [`Strategy::save`] has put; [`Strategy::rebuild`] has come before the first.
    ///
    /// # Errors
    ///
    /// When it was not put by this strategy.
    #[cfg(feature = "restore")]
    fn restore(&mut self, _state: &mut Reader<'_>) -> Result<(), RestoreError> {
        Err(RestoreError::Inconsistent)
    }

    /// The most blocks for which [`Strategy::propose`] does not read the bitmap of the machine's occupancy, where nothing else is busy: 0 if it always
    /// does, `usize::MAX` if it never does. Unless it is 0, marking is deferred.
    fn blocks_unmarked(&self) -> usize {
        0
    }

    /// Asserts every invariant of what the strategy keeps. For tests; it may be slow.
    fn check_invariants(&self, _occupancy: &Occupancy<'_>) {}
}

/// Memory that a strategy may use as it likes; how much of it a strategy needs is in its docs.
#[derive(Debug, Default)]
pub struct Workspace<'m> {
    /// Scratch: [`Needs::scratch`](crate::storage::Needs::scratch).
    pub words: &'m mut [Word],
    /// Cells for a list of submeshes, which a strategy packs as it likes: [`Needs::list`](crate::storage::Needs::list).
    pub list: &'m mut [u64],
}
