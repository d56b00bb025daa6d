//! Where a job is placed: the [`Strategy`] trait, and [`AnyStrategy`] to choose at run time.
//!
//! A strategy owns no occupancy. It looks at the [`Occupancy`] and proposes blocks; the allocator
//! marks them busy and then calls [`Strategy::taken`]. What a strategy keeps, such as the free
//! submesh list, is derived from the occupancy and can be rebuilt from it at any time. State that
//! cannot be rebuilt (a random generator's, the latest requests) is saved and restored
//! (`Strategy::save`, with the feature `restore`).
//!
//! # Adding a strategy
//!
//! Write a file in this folder with a type that implements [`Strategy`], an entry in `table.rs` and
//! a cargo feature with the file's name. Most begin with `simple_strategy!` (`common.rs`).
//! Modules, names, error messages, command line, protocol and the memory of the firmware are made
//! from the table. `CONTRIBUTING.md` lists all places.

#[cfg(feature = "restore")]
use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::draft::Draft;
use crate::error::{ConfigureError, Refusal};
use crate::grid::{Block, Grid, Shape};
use crate::machine::Description;
use crate::mesh::Sides;
use crate::occupancy::Occupancy;
use crate::outlook::Outlook;
use crate::request::{Flags, Request};

#[macro_use]
mod common;
#[macro_use]
mod table;
mod any;
#[cfg(feature = "least-expected-blocking")]
mod foresight;
pub(crate) mod kind;
mod memory;
mod serves;
mod text;
mod workspace;

pub use crate::search::line::{CurveFit, CurveLine};
pub use any::AnyStrategy;
pub(crate) use any::check;
#[cfg(feature = "least-expected-blocking")]
pub use foresight::Candidate;
pub use kind::{Holds, PageOrder, StrategyForm, StrategyInfo, StrategyKind};
#[cfg(feature = "restore")]
pub(crate) use memory::Cubes as MachineCubes;
pub(crate) use memory::list_of_cubes;
pub(crate) use memory::scratch_and_list;
pub use serves::Serves;
pub use text::StrategyTextError;
pub(crate) use workspace::Workspace;

/// The files of the strategies that are in this build.
macro_rules! modules {
    ($value:tt $( mod $module:ident = $feature:literal { $(
        $(#[$meta:meta])* $kind:ident $({ $($fields:tt)* })? = $name:literal $rest:tt
    )* } )*) => { $(
        #[cfg(feature = $feature)]
        mod $module;
        #[cfg(feature = $feature)]
        use $module::*;
    )* };
}

table!(modules);

/// A processor allocation strategy.
pub trait Strategy {
    /// The least number of free processors with which the request could be granted. The shape fits
    /// the machine's dimensions ([`Grid::check`](crate::Grid::check)).
    ///
    /// # Errors
    ///
    /// Why it could not be granted on an empty machine without faults.
    fn demand(&self, request: &Request) -> Result<u32, Refusal>;

    /// Looks for a place and writes its blocks into `draft`. Returns whether it found one; if not,
    /// the caller discards the draft. The occupancy does not change.
    ///
    /// Blocks must be free, within the machine and disjoint.
    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool;

    /// Does the same in a supposed occupancy: blocks of running jobs may be free in it, and free
    /// blocks busy. What the strategy keeps does not agree with this occupancy, and must be after
    /// [`Strategy::end_supposing`] what it was before.
    ///
    /// A strategy that keeps data must override this if it cannot decide without them. Failed
    /// requests that are remembered by the number of releases do not count here.
    fn suppose(
        &mut self,
        supposed: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        self.propose(supposed, request, draft)
    }

    /// Whether a place would be found in an occupancy, the machine's or a supposed one
    /// ([`Strategy::suppose`]). The caller discards `draft`.
    fn would_fit(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        self.suppose(occupancy, request, draft)
    }

    /// Called when the supposition is over; `occupancy` is the machine's. A strategy that had to
    /// overwrite its data rebuilds them. It calls `poll` in between, as
    /// [`Draft::poll`].
    fn end_supposing(&mut self, _occupancy: &Occupancy<'_>, _poll: &dyn Fn()) {}

    /// Whether a place is found for the request whenever any submesh of these sides is free in a
    /// two-dimensional mesh. Then a submesh that is kept free guarantees a place.
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

    /// Called when a request arrives; it may be refused or have to wait. For strategies that learn
    /// from requests.
    fn arrived(&mut self, _request: &Request) {}

    /// Whether the strategy uses knowledge of jobs ([`Strategy::look`]).
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Shows what is known about jobs, just before a place is looked for; `None` when the search is
    /// over. A search may try several shapes for one request. For strategies that look ahead
    /// ([`Strategy::looks_ahead`]).
    fn look(&mut self, _outlook: Option<&Outlook<'_, '_>>) {}

    /// Called after the block has become busy in `occupancy`: a job took it, or its processors are
    /// faulty, some of which may have been busy before. The strategy calls `poll` in its
    /// own part, as [`Draft::poll`].
    fn taken(&mut self, _occupancy: &Occupancy<'_>, _block: Block, _poll: &dyn Fn()) {}

    /// Called after the block, except its faulty processors, has become free in `occupancy`.
    /// `poll` as above.
    fn released(&mut self, _occupancy: &Occupancy<'_>, _block: Block, _poll: &dyn Fn()) {}

    /// Called after faulty processors of the block have become free in `occupancy`. `poll` as
    /// above.
    fn repaired(&mut self, _occupancy: &Occupancy<'_>, _block: Block, _poll: &dyn Fn()) {}

    /// Forgets everything and begins with this occupancy.
    fn rebuild(&mut self, _occupancy: &Occupancy<'_>) {}

    /// Saves, as any number of items, the data on which decisions depend and which
    /// [`Strategy::rebuild`] cannot make from the occupancy. Most strategies have none.
    #[cfg(feature = "restore")]
    fn save(&self, _state: &mut Writer<'_>) {}

    /// Restores from the next item that [`Strategy::save`] has written. [`Strategy::rebuild`] is
    /// called before the first.
    ///
    /// # Errors
    ///
    /// When this strategy did not write the item.
    #[cfg(feature = "restore")]
    fn restore(&mut self, _state: &mut Reader<'_>) -> Result<(), RestoreError> {
        Err(RestoreError::Inconsistent)
    }

    /// The most busy blocks with which [`Strategy::propose`] does not read the bitmap of the
    /// machine's occupancy: 0 if it always reads it, `usize::MAX` if it never does. Unless it is 0,
    /// blocks are marked in the bitmap later.
    fn blocks_unmarked(&self) -> usize {
        0
    }

    /// Asserts every invariant of the strategy's data. For tests; it may be slow.
    fn check_invariants(&self, _occupancy: &Occupancy<'_>) {}
}

/// A strategy that a [`Controller`](crate::Controller) can have: [`AnyStrategy`], or your own, for
/// which the defaults suffice (`impl ServedStrategy for MyStrategy {}`).
pub trait ServedStrategy: Strategy {
    /// Whether proposals are checked before they take effect. Only a strategy whose proposals are
    /// always legal may say no.
    const IS_CHECKED: bool = true;

    /// What an allocation holds. It says how many processors must be free for an attempt to be
    /// valid ([`Holds::requested`]).
    fn holds(&self) -> Holds {
        Holds::OneBlock
    }

    /// The description of the machine, if the strategy keeps its rules.
    fn description<'a>(&self) -> Option<&'a Description>
    where
        Self: 'a,
    {
        None
    }

    /// Whether a strategy that gives one block to a request may give this one, which is within the
    /// machine.
    fn gives(&self, grid: &Grid, block: Block) -> bool {
        demands_exactly(self, grid, block)
    }

    /// The entries for which its list has room.
    fn list_capacity(&self) -> u32 {
        0
    }

    /// Whether it can serve this grid, under the name of this kind, in this room.
    ///
    /// # Errors
    ///
    /// Why not. A strategy of your own serves the grid for which it was made, which is `present`.
    fn check(
        &self,
        _kind: StrategyKind,
        grid: &Grid,
        present: &Grid,
        _room: Room,
    ) -> Result<(), ConfigureError> {
        if grid == present {
            Ok(())
        } else {
            Err(ConfigureError::MachineUnsuitable)
        }
    }

    /// Serves this grid under the name of this kind, which [`ServedStrategy::check`] allowed.
    fn switch(&mut self, _kind: StrategyKind, _grid: Grid) {}
}

/// The memory of an allocator without that of its strategy.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Words of each bitmap.
    pub words: usize,
    /// Blocks that can be held.
    pub blocks: usize,
    /// The number of jobs that must find room.
    pub jobs: u32,
}

/// Whether a request for the extents of this block is one for exactly its processors.
pub(crate) fn demands_exactly(
    strategy: &(impl Strategy + ?Sized),
    machine: &Grid,
    block: Block,
) -> bool {
    // No request names a shape that is too large for one.
    let shape = Shape::new(&machine.extent(block));
    let demand = |shape| demand_on(strategy, machine, &Request::new(shape));
    shape.is_err() || shape.is_ok_and(|shape| demand(shape) == Ok(machine.area(block)))
}

/// The number of free processors that the request takes on the machine.
///
/// # Errors
///
/// One that is not temporary ([`Refusal::is_temporary`]): it could never be granted.
// The board has one copy.
#[cfg_attr(target_os = "none", inline)]
#[cfg_attr(not(target_os = "none"), inline(always))]
pub(crate) fn demand_on(
    strategy: &(impl Strategy + ?Sized),
    machine: &Grid,
    request: &Request,
) -> Result<u32, Refusal> {
    let area = machine.check(request.shape)?;
    if area == 0 || request.processors == 0 {
        return Err(Refusal::EmptyRequest);
    }
    let chips = Description::BUILT && request.flags.contains(Flags::CHIPS);
    if request.processors > area && !chips {
        return Err(Refusal::Malformed);
    }
    if !Description::BUILT && request.flags.intersects(Flags::ALL_RINGS) {
        return Err(Refusal::NoRing);
    }
    strategy.demand(request)
}
