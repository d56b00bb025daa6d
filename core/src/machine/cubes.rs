//! The cubes of a machine: [`Cubes`].

use super::{Description, Extents, touched, volume};
use crate::grid::{Block, Grid};

/// The cubes of a machine that switches join, numbered with dimension 0 fastest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cubes<'d> {
    grid: &'d Grid,
    /// The sides of a cube.
    pub(crate) sides: &'d Extents,
    /// The number of cubes.
    pub(crate) count: u32,
    /// The processors of a cube.
    pub(crate) volume: u32,
}

impl<'d> Cubes<'d> {
    /// `None` if the description has no cubes.
    pub(crate) const fn of(machine: &'d Description) -> Option<Self> {
        let Some(sides) = machine.cube.as_ref() else {
            return None;
        };
        let (grid, volume) = (&machine.grid, volume(sides));
        Some(Cubes {
            grid,
            sides,
            count: grid.nodes() / volume,
            volume,
        })
    }

    /// Whether the machine has enough cubes for a slice of these sides.
    pub(crate) fn suffice(&self, slice: &Extents) -> bool {
        touched(slice, self.sides) <= self.count
    }

    /// The block of these extents in the cube of this number, beginning at these positions of the
    /// cube.
    #[inline(always)]
    pub(crate) fn block(
        &self,
        cube: u32,
        start: impl Fn(usize) -> u16,
        extent: impl Fn(usize) -> u16,
    ) -> Block {
        let mut rest = cube;
        let start = |at: usize| {
            let side = u32::from(self.sides[at]);
            let along = u32::from(self.grid.side(at)) / side;
            let place = rest % along;
            rest /= along;
            place * side + u32::from(start(at))
        };
        self.grid.encode(start, |at| extent(at).into())
    }

    /// The block at the same place in the cube of this number.
    pub(crate) fn moved(&self, block: Block, cube: u32) -> Block {
        let (start, extent) = (self.grid.start(block), self.grid.extent(block));
        self.block(cube, |at| start[at] % self.sides[at], |at| extent[at])
    }

    /// The cube that contains this block.
    pub(crate) fn around(&self, block: Block) -> Block {
        let start = self.grid.start(block);
        let start = |at: usize| u32::from(start[at] - start[at] % self.sides[at]);
        self.grid.encode(start, |at| self.sides[at].into())
    }
}
