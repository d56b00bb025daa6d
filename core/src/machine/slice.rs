//! The slice that a job holds of a described machine: [`Slice`].

use super::forms::{Trial, Trials, closes};
use super::{
    DESCRIBED_MAX, Description, Extents, Layouts, Ranks, SliceRule, padded, parts, volume,
};
use crate::grid::{Block, Grid, Shape, Tuple};
use crate::node::NodeId;
use crate::request::{Flags, Request};

/// The slice that a job holds: its sides, its rings, and the place of each of its processors.
///
/// ```
/// use meshalloc::storage::Needs;
/// use meshalloc::{
///     Allocator, AllocatorStorage, Grid, Request, Shape, Slice, StrategyKind, storage,
/// };
///
/// let torus = Grid::torus(&[8, 8, 8])?;
/// let mut storage: storage!(torus 8 x 8 x 8, strategies [Folding], allocations 4) =
///     AllocatorStorage::new();
/// let folding = StrategyKind::Folding;
/// let mut allocator = Allocator::new(storage.memory(), torus, folding)?;
/// // A ring of 12 has no place along a line of 8, but in a box of 2 x 2 x 3.
/// let request = Request::new(Shape::new(&[12])?).with_rings();
/// let job = allocator.allocate(&request)?;
/// let slice = Slice::of(None, &torus, folding, &request, &allocator.blocks(&job)?).unwrap();
/// assert_eq!(*slice.sides(), [2, 2, 3]);
/// assert!(slice.has_ring_along(0));
/// let ranks: Vec<_> = slice.ranks().unwrap().collect();
/// assert_eq!(ranks[..3], [[0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    grid: Grid,
    cube: Option<Extents>,
    /// The request's shape; if the request names a number of chips, one of the shapes of that
    /// number.
    shape: Shape,
    sides: Extents,
    /// The index of the extent of the shape that is folded.
    folded: Option<usize>,
    /// The dimension along which each other extent lies.
    along: [u8; DESCRIBED_MAX],
    /// In cubes: the position at which a cut part begins within its cube, by dimension.
    offsets: Extents,
}

impl Slice {
    /// The slice of a job from its request and its blocks, in the order in which the strategy named
    /// them. `None` for a strategy whose jobs have no shape, for a grid of more than
    /// [`DESCRIBED_MAX`] dimensions, and if the strategy cannot have given these blocks.
    ///
    /// O(forms of the request * blocks).
    pub fn of(
        description: Option<&Description>,
        grid: &Grid,
        strategy: impl Into<SliceRule>,
        request: &Request,
        blocks: &(impl Iterator<Item = Block> + Clone),
    ) -> Option<Slice> {
        let n = grid.dimensions();
        if n > DESCRIBED_MAX || request.shape.len() > n {
            return None;
        }
        let mut slice = Slice {
            grid: *grid,
            cube: None,
            shape: request.shape,
            sides: [1; DESCRIBED_MAX],
            folded: None,
            along: [0, 1, 2, 3],
            offsets: [0; DESCRIBED_MAX],
        };
        let layouts = Layouts::new(strategy, description, grid);
        let is_free = match layouts.rule {
            SliceRule::InCubes { .. } => {
                slice.cube = description?.cube_extents().copied();
                false
            }
            SliceRule::Folded => false,
            // The block has the sides of the form.
            SliceRule::Box { .. } => true,
            SliceRule::Anywhere | SliceRule::Connected | SliceRule::InBlocks => return None,
        };
        let only = blocks.clone().next()?;
        let extents = padded(&grid.extent(only));
        let mut first = None;
        for shape in layouts.forms(request) {
            slice.shape = shape;
            let mut trials = layouts.trials(request, shape);
            if is_free {
                slice.sides = extents;
                if volume(&extents) < shape.area() {
                    continue;
                }
                let trial = Trial {
                    sides: extents,
                    folded: None,
                };
                slice.lay(&trials, &trial);
                // The form with the sides of the block. If there is none, because the strategy
                // rounded sides up, it is the first form.
                let (mut sides, mut given) = (padded(&shape.extents()), extents);
                if layouts.turns(request) {
                    sides.sort_unstable();
                    given.sort_unstable();
                }
                if sides == given || !request.flags.contains(Flags::CHIPS) {
                    return Some(slice);
                }
                first = first.or(Some(slice));
                continue;
            }
            while let Some(trial) = trials.next() {
                slice.sides = trial.sides;
                let is_it = match slice.cube {
                    Some(cube) => slice.has_parts(&cube, blocks.clone()),
                    None => trial.sides == extents,
                };
                if is_it {
                    slice.lay(&trials, &trial);
                    return Some(slice);
                }
            }
        }
        first
    }

    /// Notes how the extents are laid.
    fn lay(&mut self, trials: &Trials<'_>, trial: &Trial) {
        self.folded = trial.folded;
        for extent in 0..self.shape.len().min(DESCRIBED_MAX) {
            self.along[extent] = trials.dimension_of(trial, extent) as u8;
        }
    }

    /// Whether these blocks are the parts of a slice. Notes the offsets if they are.
    fn has_parts(&mut self, cube: &Extents, mut blocks: impl Iterator<Item = Block>) -> bool {
        let mut offsets = [0; DESCRIBED_MAX];
        for part in parts(&self.sides, cube) {
            for _ in 0..part.cubes {
                let Some(block) = blocks.next() else {
                    return false;
                };
                if padded(&self.grid.extent(block)) != part.extents {
                    return false;
                }
                let start = self.grid.start(block);
                for (at, offset) in offsets[..start.len()].iter_mut().enumerate() {
                    if part.cut >> at & 1 == 1 {
                        *offset = start[at] % cube[at];
                    }
                }
            }
        }
        self.offsets = offsets;
        blocks.next().is_none()
    }

    /// The sides by dimension.
    pub fn sides(&self) -> Tuple {
        Tuple::new(self.grid.dimensions(), |at| self.sides[at])
    }

    /// The shape of the request; for a request for a number of chips, the shape that was given.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// The index of the extent of the shape that is folded, counted from 0.
    pub const fn folded(&self) -> Option<usize> {
        self.folded
    }

    /// Whether the slice's links close a ring along a dimension of the machine.
    pub fn has_ring(&self, dimension: usize) -> bool {
        dimension < self.grid.dimensions()
            && closes(
                &self.grid,
                self.cube.as_ref(),
                dimension,
                self.sides[dimension],
            )
    }

    /// Whether the processors along an extent of the shape, counted from 0, form a ring.
    pub fn has_ring_along(&self, extent: usize) -> bool {
        let extents = self.shape.extents();
        match extents.get(extent) {
            None => false,
            Some(&len) if self.folded == Some(extent) => len.is_multiple_of(2),
            Some(&len) => {
                let dimension = usize::from(self.along[extent]);
                closes(&self.grid, self.cube.as_ref(), dimension, len)
            }
        }
    }

    /// A bit for each extent of the shape: whether its processors form a ring.
    pub fn rings(&self) -> u8 {
        let extents = 0..self.shape.len().min(DESCRIBED_MAX);
        extents.fold(0, |rings, extent| {
            rings | u8::from(self.has_ring_along(extent)) << extent
        })
    }

    /// The order of the ranks along the folded extent, as coordinates within the slice. The
    /// coordinates of extents that are not folded are 0. `None` if no extent is folded.
    pub fn ranks(&self) -> Option<Ranks> {
        let folded = self.folded?;
        let mut sides = self.sides;
        let extents = self.shape.extents();
        for extent in (0..extents.len()).filter(|&extent| extent != folded) {
            if extents[extent] > 1 {
                sides[usize::from(self.along[extent])] = 1;
            }
        }
        Some(Ranks::new(sides))
    }

    /// The processor at these coordinates within the slice, by dimension; `blocks` are those of the
    /// job. `None` outside the slice. O(blocks).
    ///
    /// In cubes, the neighbour of a cube's last processor along a dimension is the first processor
    /// of the next cube, which the switches join. A part that is cut comes after the whole cubes,
    /// or before them if it touches the upper face of its cube.
    pub fn processor(
        &self,
        coordinates: &[u16],
        blocks: impl IntoIterator<Item = Block>,
    ) -> Option<NodeId> {
        let n = self.grid.dimensions();
        if coordinates.len() < n || (0..n).any(|at| coordinates[at] >= self.sides[at]) {
            return None;
        }
        let (mut cut, mut within) = (0, [0; DESCRIBED_MAX]);
        // The number of the cube among those of its part.
        let (mut number, mut stride) = (0, 1);
        for at in 0..n {
            let Some(cube) = self.cube else {
                within[at] = coordinates[at];
                continue;
            };
            let (whole, rest) = (self.sides[at] / cube[at], self.sides[at] % cube[at]);
            let comes_first = whole > 0 && self.offsets[at] > 0;
            let (from, rest_from) = if comes_first {
                (rest, 0)
            } else {
                (0, whole * cube[at])
            };
            match coordinates[at].checked_sub(rest_from) {
                Some(place) if place < rest => {
                    cut |= 1 << at;
                    within[at] = place;
                }
                _ => {
                    let place = coordinates[at] - from;
                    within[at] = place % cube[at];
                    number += u32::from(place / cube[at]) * stride;
                    stride *= u32::from(whole);
                }
            }
        }
        if let Some(cube) = &self.cube {
            let before = parts(&self.sides, cube).take_while(|part| part.cut < cut);
            number += before.map(|part| part.cubes).sum::<u32>();
        }
        let block = blocks.into_iter().nth(number as usize)?;
        let start = self.grid.start(block);
        let at = Tuple::new(n, |at| {
            let position = u32::from(start[at]) + u32::from(within[at]);
            (position % u32::from(self.grid.side(at))) as u16
        });
        self.grid.node(&at)
    }
}
