//! Where a job is placed: the [`Strategy`] trait, and [`AnyStrategy`] to choose at run time.
//!
//! A strategy owns no occupancy. It looks at the [`Occupancy`] of a [`Site`] and proposes blocks;
//! the allocator marks them busy and then tells the strategy ([`Strategy::changed`]). The data that
//! a strategy keeps, such as the free submesh list, is derived from the occupancy and can be
//! rebuilt from it at any time. State that cannot be rebuilt (a random generator's, the latest
//! requests) is saved and restored ([`Strategy::save`], only called with the feature `restore`).
//!
//! # Adding a strategy
//!
//! The strategies of this crate are functions: a file in this folder has a function that looks for
//! a place, and an entry in `table.rs` names this function, the rule for the demand, and the facts.
//! A strategy that remembers something also has a type that implements `Keeps` (`keeps.rs`).
//! Modules, names, error messages, command line, protocol and the memory of the firmware are made
//! from the table. `CONTRIBUTING.md` lists all places.

use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::draft::Draft;
use crate::error::{ConfigureError, Refusal};
use crate::grid::{Block, DESCRIBED_MAX, Grid, Shape};
use crate::machine::Description;
use crate::occupancy::Occupancy;
use crate::request::{Flags, Request};
use crate::search::gather::Gather;

#[macro_use]
mod table;
mod any;
mod contiguous;
mod demand;
mod facts;
mod foresight;
mod keeps;
pub(crate) mod kind;
mod memory;
mod serves;
mod site;
mod text;
mod workspace;

pub use crate::search::line::{CurveFit, CurveLine};
pub use any::AnyStrategy;
pub(crate) use any::check;
pub use facts::{Facts, FindsAgain, Recognizes};
pub use foresight::Candidate;
pub use kind::{Contiguity, PageOrder, StrategyForm, StrategyInfo, StrategyKind};
pub(crate) use memory::{list_of_cubes, scratch_and_list};
pub use serves::Serves;
pub(crate) use site::Purpose;
pub use site::Site;
pub use text::StrategyTextError;
pub(crate) use workspace::Workspace;

/// The files of the strategies that are in this build.
macro_rules! modules {
    ($value:tt $( mod $module:ident = $feature:literal { $(
        $(#[$meta:meta])* $kind:ident $({ $($fields:tt)* })? = $name:literal $rest:tt
    )* } )*) => { $(
        #[cfg(feature = $feature)]
        mod $module;
    )* };
}

table!(modules);

/// A processor allocation strategy.
pub trait Strategy {
    /// The facts about the strategy. They are asked for once for each machine.
    fn facts(&self) -> Facts {
        Facts::default()
    }

    /// The description of the machine, if the strategy keeps its rules.
    fn description<'a>(&self) -> Option<&'a Description>
    where
        Self: 'a,
    {
        None
    }

    /// The least number of free processors with which the request could be granted on this machine.
    /// The shape fits the machine's dimensions ([`Grid::check`](crate::Grid::check)).
    ///
    /// # Errors
    ///
    /// Why the request could not be granted on an empty machine without faults.
    fn demand(&self, grid: &Grid, request: &Request) -> Result<u32, Refusal>;

    /// Looks for a place and writes its blocks into `draft`. Returns whether it found one; if not,
    /// the caller discards the draft.
    ///
    /// Blocks must be free in the occupancy of the site, within the machine and disjoint. The
    /// occupancy may be a supposed one ([`Site::is_supposed`]), which does not agree with the data
    /// that the strategy keeps. After such a search the strategy has the same data as before, or
    /// restores the data at [`OccupancyEvent::SuppositionEnded`].
    fn propose(&mut self, site: &Site<'_>, request: &Request, draft: &mut Draft<'_, '_>) -> bool;

    /// Calls `visit` with each box in which the strategy looks for a slice of the request. Returns
    /// whether the strategy surely finds a slice wherever such a box is free and may begin, and
    /// gives no other slices. If the method returns false, no search for the slices of a gang can
    /// say that there are no places.
    fn each_box(&self, _grid: &Grid, _request: &Request, _visit: &mut dyn FnMut(BoxForm)) -> bool {
        false
    }

    /// Called when a request arrives, before it is known whether the request is granted, waits or
    /// is refused. For strategies that learn from requests ([`Facts::looks_ahead`]).
    fn arrived(&mut self, _request: &Request) {}

    /// Called after each event. `occupancy` is the machine's occupancy after the event. During long
    /// work the strategy calls `poll`, as it calls [`Draft::poll`] in a search.
    fn changed(&mut self, _occupancy: &Occupancy<'_>, _event: OccupancyEvent, _poll: &dyn Fn()) {}

    /// Saves, as any number of items, the data on which decisions depend and which the strategy
    /// cannot make from the occupancy at [`OccupancyEvent::Reset`]. Most strategies have no such
    /// data.
    fn save(&self, _state: &mut Writer<'_>) {}

    /// Restores from the next item that [`Strategy::save`] has written. The event
    /// [`OccupancyEvent::Reset`] comes before the first.
    ///
    /// # Errors
    ///
    /// When this strategy did not write the item.
    fn restore(&mut self, _state: &mut Reader<'_>) -> Result<(), RestoreError> {
        Err(RestoreError::Inconsistent)
    }

    /// Asserts every invariant of the strategy's data. For tests; it may be slow.
    fn check_invariants(&self, _occupancy: &Occupancy<'_>) {}
}

/// A box in which a strategy may place a slice. It has a number for each of four dimensions, 1
/// beyond the machine's dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxForm {
    /// The sides of the box.
    pub sides: [u16; DESCRIBED_MAX],
    /// The box may begin at multiples of these numbers.
    pub steps: [u16; DESCRIBED_MAX],
}

/// An event after which a strategy may have to update its data.
#[derive(Clone, Copy, Debug)]
pub enum OccupancyEvent {
    /// The machine was configured, or its jobs and faults were restored. The strategy forgets
    /// everything and begins with this occupancy. The first event is a reset; others may follow.
    Reset,
    /// The block has become busy: a job took it, or its processors became faulty. Some of the
    /// faulty processors may have been busy before.
    Taken(Block),
    /// The block, except its faulty processors, has become free.
    Released(Block),
    /// Faulty processors of the block have become free.
    Repaired(Block),
    /// The occupancy has not changed, but searches in a supposed occupancy are over.
    SuppositionEnded,
}

/// A strategy that a [`Controller`](crate::Controller) can have: [`AnyStrategy`], or your own, for
/// which the defaults suffice (`impl ServedStrategy for MyStrategy {}`).
pub trait ServedStrategy: Strategy {
    /// Whether proposals are checked before they take effect. Only a strategy whose proposals are
    /// always legal may have false here.
    const IS_CHECKED: bool = true;

    /// Whether a strategy that gives one block to a request may give this block, which is within
    /// the machine.
    fn gives(&self, grid: &Grid, block: Block) -> bool {
        demands_exactly(self, grid, block)
    }

    /// Whether the strategy can serve this grid, under the name of this kind, in this room.
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

/// Whether a request for the extents of this block demands exactly the block's processors.
pub(crate) fn demands_exactly(
    strategy: &(impl Strategy + ?Sized),
    machine: &Grid,
    block: Block,
) -> bool {
    // No request can name extents that are too large for a shape.
    let shape = Shape::new(&machine.extent(block));
    let demand = |shape| demand_on(strategy, machine, &Request::new(shape));
    shape.is_err() || shape.is_ok_and(|shape| demand(shape) == Ok(machine.area(block)))
}

/// The number of free processors that the request takes on the machine.
///
/// # Errors
///
/// A refusal that is not temporary ([`Refusal::is_temporary`]): the request could never be granted.
// The board has one copy.
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
    let demand = strategy.demand(machine, request)?;
    if !request.is_gang() {
        return Ok(demand);
    }
    let all = demand.checked_mul(request.slices());
    all.filter(|&all| all <= machine.nodes())
        .ok_or(Refusal::NeverFits)
}
