//! Contiguous strategies as a loop: for each shape that is tried, pick a place.

use super::{Draft, Request, Site, Workspace};
use crate::error::Refusal;
use crate::grid::{ANY_GRID, Block, Grid};
use crate::mesh::Sides;
use crate::occupancy::Occupancy;
use crate::search::boxes::First;
use crate::search::columns::Scratch;
use crate::search::shapes::{NoneLeft, Pick, Shapes};
use crate::search::steps::Rule;
use crate::search::surroundings::{self, Value};
use crate::word::Word;

pub(super) use super::keeps::Bounds;

/// The first place for the first of these shapes that has one. The words keep bounds.
#[inline]
pub(super) fn first(
    _: &mut Bounds,
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
    shapes: impl Shapes,
) -> Option<Block> {
    let rule = workspace.rule();
    let scratch = Scratch::Kept(workspace.words);
    first_in(site.occupancy, rule, scratch, request, draft, shapes)
}

/// The first place in this occupancy, found with this scratch.
#[inline(always)]
pub(super) fn first_in(
    occupancy: &Occupancy<'_>,
    rule: Option<Rule<'_>>,
    scratch: Scratch<'_>,
    request: &Request,
    draft: &Draft<'_, '_>,
    shapes: impl Shapes,
) -> Option<Block> {
    let mut pick = First {
        occupancy,
        rule,
        scratch,
        draft,
    };
    shapes.find(occupancy.grid(), request, &mut pick)
}

/// How the best place for a shape is found.
pub(super) trait Best {
    /// The best place for a submesh of these sides.
    fn in_plane(
        occupancy: &Occupancy<'_>,
        sides: Sides,
        rule: Option<Rule<'_>>,
        words: &mut [Word],
        draft: &Draft<'_, '_>,
    ) -> Option<Block>;

    /// The value by which places are compared on any other grid.
    const VALUE: Value;
}

/// The best place for the first of these shapes that has one.
pub(super) fn best<B: Best>(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
    shapes: impl Shapes,
    _: B,
) -> Option<Block> {
    let mut pick = PickBest::<B> {
        occupancy: site.occupancy,
        rule: workspace.rule(),
        words: workspace.words,
        draft,
        best: core::marker::PhantomData,
    };
    shapes.find(site.grid(), request, &mut pick)
}

struct PickBest<'a, 'd, 'p, B> {
    occupancy: &'a Occupancy<'a>,
    rule: Option<Rule<'a>>,
    words: &'a mut [Word],
    draft: &'a Draft<'d, 'p>,
    best: core::marker::PhantomData<B>,
}

impl<B: Best> Pick for PickBest<'_, '_, '_, B> {
    fn in_plane(&mut self, sides: Sides) -> Option<Block> {
        let rule = Rule::built(self.rule);
        B::in_plane(self.occupancy, sides, rule, self.words, self.draft)
    }

    fn in_grid(&mut self, sides: &[u16]) -> Result<Block, NoneLeft> {
        if !ANY_GRID {
            return Err(NoneLeft { dimensions: 0 });
        }
        let rule = Rule::built(self.rule);
        surroundings::best(
            self.occupancy,
            sides,
            B::VALUE,
            rule,
            self.words,
            self.draft,
        )
    }
}

/// The demand of a strategy that tries these shapes: the size of the first one that fits.
#[inline(never)]
pub(super) fn first_fitting<I: Iterator<Item = Sides>>(
    request: &Request,
    grid: &Grid,
    shapes: fn(&Request, Sides) -> I,
) -> Result<u32, Refusal> {
    let mesh = Sides::of_plane(grid);
    let mut fitting = shapes(request, mesh).filter(|sides| sides.fits_in(mesh));
    fitting.next().map(Sides::area).ok_or(Refusal::NeverFits)
}
