//! The parts of a slice in cubes ([`parts`]), and the number of cubes that they take ([`touched`]).
//!
//! A side s of the slice takes q = s div b whole cubes of side b, and r = s mod b processors of a
//! further cube. A slice of 6 x 5 in cubes of 4 x 4 has four parts, each in another cube:
//!
//! ```text
//!   y                            S = {}      q q = 1 cube, all of it: 4 x 4
//!   4  c c c c  d d              S = {x}     b: 2 x 4, one cube
//!   3  a a a a  b b              S = {y}     c: 4 x 1, one cube
//!   2  a a a a  b b              S = {x, y}  d: 2 x 1, one cube
//!   1  a a a a  b b
//!   0  a a a a  b b
//!      0 1 2 3  4 5  x
//! ```

use super::{DESCRIBED_MAX, Extents};

/// The parts of a slice in which the same dimensions are cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Bit d: the part has only the rest of the side along dimension d.
    pub(crate) cut: u8,
    /// The number of cubes.
    pub(crate) cubes: u32,
    /// The sides of the box that the part takes of each cube.
    pub(crate) extents: Extents,
}

/// The number of cubes that a slice of these sides touches: the sum over its parts.
pub(crate) fn touched(sides: &Extents, cube: &Extents) -> u32 {
    let along = sides.iter().zip(cube).map(|(side, of)| side.div_ceil(*of));
    along.fold(1, |cubes, along| cubes.saturating_mul(along.into()))
}

/// The parts of a slice of these sides. They come in the order of the sets of cut dimensions, as
/// binary numbers with dimension 0 lowest.
pub(crate) fn parts(sides: &Extents, cube: &Extents) -> impl Iterator<Item = Part> + use<> {
    let (sides, cube) = (*sides, *cube);
    (0..1_u8 << DESCRIBED_MAX).filter_map(move |cut| {
        let mut part = Part {
            cut,
            cubes: 1,
            extents: cube,
        };
        for at in 0..DESCRIBED_MAX {
            let (whole, rest) = (sides[at] / cube[at], sides[at] % cube[at]);
            match cut >> at & 1 {
                0 => part.cubes = part.cubes.saturating_mul(whole.into()),
                _ => {
                    part.cubes *= u32::from(rest > 0);
                    part.extents[at] = rest;
                }
            }
        }
        (part.cubes > 0).then_some(part)
    })
}
