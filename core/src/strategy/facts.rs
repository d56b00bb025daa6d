//! The facts about a strategy that are known before it decides: [`Facts`].

use super::kind::Contiguity;
use crate::grid::{Block, Grid};
use crate::machine::Description;
use crate::mesh::{Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::request::{Flags, Request};
use crate::search::connected::first_free;
use crate::search::shapes::along_longer;

/// The flags of requests that need more than free processors.
pub(super) const RULED: Flags = Flags::CHIPS.union(Flags::ALL_RINGS);

/// The facts about a strategy that schedulers and the allocator know. The default suits a strategy
/// that gives one block to a request.
///
/// ```
/// use meshalloc::{Facts, Contiguity};
/// let scattered = Facts { holds: Contiguity::Processors, takes_any: true, ..Facts::default() };
/// assert!(!scattered.looks_ahead);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// What an allocation holds. It determines how many processors must be free for an attempt to
    /// be valid ([`Contiguity::requested`]).
    pub holds: Contiguity,
    /// Whether a place is found whenever as many processors are free as the request demands,
    /// wherever they are. If so, schedulers reserve a number of processors, else the blocks that
    /// the strategy finds.
    pub takes_any: bool,
    /// Whether the strategy remembers the requests that arrive, refused ones too
    /// ([`Strategy::arrived`](super::Strategy::arrived)).
    pub looks_ahead: bool,
    /// The free submeshes of a two-dimensional mesh with which the strategy surely finds a place.
    /// Such a submesh, if it is kept free, guarantees a place.
    pub recognizes: Recognizes,
    /// The part of the machine that has to stay free so that a place is found again.
    pub finds_again: FindsAgain,
    /// The most busy blocks with which [`Strategy::propose`](super::Strategy::propose) does not
    /// read the bitmap of the machine's occupancy: 0 if it always reads it, `usize::MAX` if it
    /// never does. Unless it is 0, blocks are marked in the bitmap later than they are taken.
    pub blocks_unmarked: usize,
    /// The number of entries that the strategy's list has room for.
    pub list_capacity: u32,
}

impl Facts {
    /// The default facts of a strategy whose allocations hold this.
    pub(super) const fn of(holds: Contiguity) -> Facts {
        Facts {
            holds,
            takes_any: false,
            looks_ahead: false,
            recognizes: Recognizes::Nothing,
            finds_again: FindsAgain::Monotone,
            blocks_unmarked: 0,
            list_capacity: 0,
        }
    }
}

impl Default for Facts {
    fn default() -> Self {
        Facts::of(Contiguity::OneBlock)
    }
}

/// The free submeshes of a two-dimensional mesh with which a strategy surely finds a place for a
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognizes {
    /// No submesh guarantees a place.
    Nothing,
    /// Submeshes of the requested sides.
    AsNamed,
    /// Submeshes of the requested sides, if the request keeps its orientation.
    AsNamedIfFixed,
    /// Submeshes of the requested sides, with the longer side along the longer side of the mesh if
    /// the request may be rotated.
    AlongLonger,
    /// Submeshes of the requested sides in each orientation that the request allows.
    AnyOrientation,
}

impl Recognizes {
    /// Whether the strategy surely finds a place for the request where a submesh of these sides is
    /// free. A request for rings or chips needs more than free processors.
    pub(crate) fn includes(self, grid: &Grid, request: &Request, sides: Sides) -> bool {
        if Description::BUILT && request.flags.intersects(RULED) {
            return false;
        }
        match self {
            Recognizes::Nothing => false,
            Recognizes::AsNamed => sides == request.sides(),
            Recognizes::AsNamedIfFixed => !request.may_rotate() && sides == request.sides(),
            Recognizes::AlongLonger => {
                along_longer(request, Sides::of_plane(grid)).next() == Some(sides)
            }
            Recognizes::AnyOrientation => request.allows(sides),
        }
    }
}

/// The part of the machine that has to stay free so that a strategy finds a place again, whatever
/// else becomes busy until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindsAgain {
    /// The place alone. The strategy is monotone: if it finds a place in an occupancy, it also
    /// finds one wherever more processors are free.
    Monotone,
    /// The place. If more processors are free, the strategy may look for another place in vain.
    AtItsPlace,
    /// The place; in a two-dimensional mesh also everything from the first free processor on, in
    /// row-major order: the search begins at that processor.
    FromFirstFree,
}

impl FindsAgain {
    /// The block that has to stay free around the place that was found in this supposed occupancy.
    pub(crate) fn kept_free(self, supposed: &Occupancy<'_>, place: Block) -> Block {
        let first = match self {
            FindsAgain::FromFirstFree => first_free(supposed, &mut 0),
            FindsAgain::Monotone | FindsAgain::AtItsPlace => None,
        };
        let Some(first) = first else {
            return place;
        };
        let place = Submesh::of_plane(place);
        let (low, high) = (place.lower_left(), place.upper_right());
        Submesh::between(low.x.min(first.x), first.y, high.x.max(first.x), high.y).into()
    }
}
