//! Boxes of a grid in which a machine has no processors: [`Hole`].

use super::{DescriptionError, ENTRIES_MAX, Extents};
use crate::grid::{Block, DESCRIBED_MAX, Grid};

/// The maximum number of entries in [`Description::absent`](super::Description::absent): 256, or 16
/// in a build without the feature `alloc`.
pub const HOLES_MAX: usize = ENTRIES_MAX;

/// A box in which the machine has no processors: hosts that were never installed, or that serve
/// another purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    start: Extents,
    sides: Extents,
}

impl Hole {
    /// The filling of unused entries.
    pub(super) const UNUSED: Hole = Hole {
        start: [0; DESCRIBED_MAX],
        sides: [1; DESCRIBED_MAX],
    };

    /// Makes a hole from the first processor that is absent and the sides (ones if empty), with a
    /// number for each dimension.
    ///
    /// # Errors
    ///
    /// `Dimensions` if a list has more numbers than [`DESCRIBED_MAX`](super::DESCRIBED_MAX), or if
    /// `sides` and `start` have different numbers of them; `NoSide` if a side is 0.
    pub const fn new(start: &[u16], sides: &[u16]) -> Result<Hole, DescriptionError> {
        let n = start.len();
        if n == 0 || n > DESCRIBED_MAX || (sides.len() != n && !sides.is_empty()) {
            return Err(DescriptionError::Dimensions);
        }
        let mut hole = Hole::UNUSED;
        let mut at = 0;
        while at < n {
            hole.start[at] = start[at];
            if !sides.is_empty() {
                if sides[at] == 0 {
                    return Err(DescriptionError::NoSide);
                }
                hole.sides[at] = sides[at];
            }
            at += 1;
        }
        Ok(hole)
    }

    /// The coordinates of the first processor that is absent, with zeros behind the machine's last
    /// dimension.
    pub const fn start(&self) -> &[u16; DESCRIBED_MAX] {
        &self.start
    }

    /// The sides by dimension, with ones behind the machine's last dimension.
    pub const fn sides(&self) -> &[u16; DESCRIBED_MAX] {
        &self.sides
    }

    /// The number of processors that are absent.
    pub const fn processors(&self) -> u32 {
        super::volume(&self.sides)
    }

    /// Whether the box is within this grid.
    pub(super) const fn is_within(&self, grid: &Grid) -> bool {
        let mut at = 0;
        while at < DESCRIBED_MAX {
            if self.start[at] as u32 + self.sides[at] as u32 > grid.side(at) as u32 {
                return false;
            }
            at += 1;
        }
        true
    }

    /// Whether the boxes share a processor. Both are within the same grid.
    pub(super) const fn overlaps(&self, other: &Hole) -> bool {
        let mut at = 0;
        while at < DESCRIBED_MAX {
            let (own, their) = (self.start[at], other.start[at]);
            if own >= their + other.sides[at] || their >= own + self.sides[at] {
                return false;
            }
            at += 1;
        }
        true
    }

    /// The box as a block of this grid.
    pub(crate) fn block(&self, grid: &Grid) -> Option<Block> {
        let n = grid.dimensions().min(DESCRIBED_MAX);
        grid.block(&self.start[..n], &self.sides[..n])
    }
}
