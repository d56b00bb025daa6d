//! Places at which slices of one shape may stand: [`Placement`].

use super::{DescriptionError, ENTRIES_MAX, Extents, volume};
use crate::grid::DESCRIBED_MAX;

/// The maximum number of entries in [`Description::placements`](super::Description::placements):
/// 256, or 16 in a build without the feature `alloc`.
pub const PLACEMENTS_MAX: usize = ENTRIES_MAX;

/// Places at which slices of one shape may stand: an entry of Slurm's `topology.yaml`.
///
/// An *anchor* is the first processor of one of these places. Along an axis of side L anchors are
/// the positions seed, seed + spacing, .. modulo L, until the seed returns. A place wraps around
/// and is never turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The sides of the slice, by dimension.
    pub(crate) dims: Extents,
    /// The first anchor.
    pub(crate) seed: Extents,
    /// The distance from one anchor to the next, by dimension.
    pub(crate) spacing: Extents,
}

impl Placement {
    /// The filling of unused entries.
    pub(super) const UNUSED: Placement = Placement {
        dims: [1; DESCRIBED_MAX],
        seed: [0; DESCRIBED_MAX],
        spacing: [1; DESCRIBED_MAX],
    };

    /// Makes a placement from the sides of a slice, the first anchor (zeros if empty), and the
    /// distance from one anchor to the next (the sides if empty or 0), each with a number for each
    /// dimension.
    ///
    /// # Errors
    ///
    /// `Dimensions` if a list has more numbers than [`DESCRIBED_MAX`], or not as many as `dims`;
    /// `NoSide` if a side is 0.
    pub const fn new(
        dims: &[u16],
        seed: &[u16],
        spacing: &[u16],
    ) -> Result<Placement, DescriptionError> {
        let n = dims.len();
        if n == 0
            || n > DESCRIBED_MAX
            || (seed.len() != n && !seed.is_empty())
            || (spacing.len() != n && !spacing.is_empty())
        {
            return Err(DescriptionError::Dimensions);
        }
        let mut placement = Placement::UNUSED;
        let mut at = 0;
        while at < n {
            if dims[at] == 0 {
                return Err(DescriptionError::NoSide);
            }
            placement.dims[at] = dims[at];
            placement.spacing[at] = dims[at];
            if !spacing.is_empty() && spacing[at] > 0 {
                placement.spacing[at] = spacing[at];
            }
            if !seed.is_empty() {
                placement.seed[at] = seed[at];
            }
            at += 1;
        }
        Ok(placement)
    }

    /// The number of processors of a slice.
    pub(crate) const fn volume(&self) -> u32 {
        volume(&self.dims)
    }

    /// The sides of a slice by dimension, with ones behind the machine's last dimension.
    pub const fn dims(&self) -> &[u16; DESCRIBED_MAX] {
        &self.dims
    }

    /// The first anchor by dimension, with zeros behind the machine's last dimension.
    pub const fn seed(&self) -> &[u16; DESCRIBED_MAX] {
        &self.seed
    }

    /// The distance from one anchor to the next by dimension, with ones behind the machine's last
    /// dimension.
    pub const fn spacing(&self) -> &[u16; DESCRIBED_MAX] {
        &self.spacing
    }
}
