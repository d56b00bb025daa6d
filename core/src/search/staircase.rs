//! The greatest height of free submeshes for growing widths: [`Staircase`].
//!
//! ```text
//!   y                          height
//!   3  . # . . . .               4  o o            o: a submesh of this width and height
//!   2  . # . . . .               3  o o               is free somewhere
//!   1  . . . # . .               2  o o o o
//!   0  . . . # . .               1  o o o o
//!      0 1 2 3 4 5  x               1 2 3 4 5 6    width
//! ```
//!
//! The stairs only go down. So once the search knows that the height for width 3 is 2, it rules out
//! 3 x 3, 4 x 3 and everything that is wider and as tall, without a look.

use super::boxes::first_rectangle;
use super::columns::Scratch;
use super::rectangles::{keep_taller, keep_wider, wide_bases};
use crate::draft::Draft;
use crate::grid::Block;
use crate::mesh::{Coord, Sides};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::word::{Word, complement, runs};

/// The side that grows from question to question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growing {
    /// Along x.
    Width,
    /// Along y.
    Height,
}

/// Answers whether submeshes of many sides are free, while one of the sides grows. Longer free
/// submeshes have no greater extent across than shorter ones. So a length that was looked at before
/// rules out most sides.
pub(crate) struct Staircase<'a, 's> {
    busy: &'a [Word],
    stride: usize,
    growing: Growing,
    /// The latest length that was looked at, 0 before the first.
    len: u16,
    /// The greatest extent across of the free submeshes of that length.
    most: u16,
    /// The length of the runs of free processors whose first processors are set in `starts`; 0
    /// while `starts` has something else.
    known: u16,
    starts: &'s mut [Word],
}

impl<'a, 's> Staircase<'a, 's> {
    /// `scratch` has as many words as the occupancy.
    pub(crate) fn new(
        occupancy: &'a Occupancy<'_>,
        growing: Growing,
        scratch: &'s mut [Word],
    ) -> Self {
        let busy = occupancy.busy_rows();
        Staircase {
            busy,
            stride: occupancy.stride(),
            growing,
            len: 0,
            most: u16::MAX,
            known: 0,
            starts: &mut scratch[..busy.len()],
        }
    }

    /// Whether a submesh of these sides is free anywhere. The growing side is at least as long as
    /// in the question before.
    ///
    /// # Time complexity
    ///
    /// O(1) if the answer is known. Else O(rows * words in a row * log side) in ordinary
    /// occupancies, and for widths O(rows * words in a row * tallest) where every window of rows
    /// fails in its lowest row, as in first fit.
    pub(crate) fn has(&mut self, sides: Sides, draft: &mut Draft<'_, '_>) -> bool {
        let Sides { w: len, h: across } = match self.growing {
            Growing::Width => sides,
            Growing::Height => sides.rotated(),
        };
        across <= self.most && across <= self.most_across(len, draft)
    }

    /// The greatest extent across of the free submeshes of this length; 0 if there is no such
    /// submesh. The length is at least that of the question before.
    pub(crate) fn most_across(&mut self, len: u16, draft: &Draft<'_, '_>) -> u16 {
        if len > self.len {
            draft.poll();
            self.look(len, draft);
        }
        self.most
    }

    // A function of its own, as most questions are answered without it.
    #[inline(never)]
    fn look(&mut self, len: u16, draft: &Draft<'_, '_>) {
        self.len = len;
        self.lengthen();
        self.most = match self.growing {
            Growing::Width => tallest(self.starts, self.stride, draft),
            Growing::Height => widest(self.starts, self.stride),
        };
    }

    /// The first base node in row-major order at which a submesh of the latest width and of this
    /// height is free. Where widths grow.
    pub(crate) fn first_base(&mut self, height: u16, draft: &mut Draft<'_, '_>) -> Option<Coord> {
        draft.poll();
        self.lengthen();
        let stride = self.stride;
        let behind = usize::from(height) * stride;
        for (first, &starts) in self.starts.iter().enumerate() {
            if starts == 0 {
                continue;
            }
            let mut common = starts;
            let mut at = first + stride;
            while common != 0 && at < first + behind {
                common &= self.starts.get(at).copied().unwrap_or(0);
                at += stride;
            }
            draft.poll();
            if common != 0 {
                return Some(Coord::of_lowest(common, first, stride));
            }
        }
        None
    }

    /// The scratch words, for something else.
    pub(crate) fn scratch(&mut self) -> &mut [Word] {
        self.known = 0;
        self.starts
    }

    /// Updates `starts` for the latest length.
    fn lengthen(&mut self) {
        let (stride, known) = (self.stride, self.known);
        match self.growing {
            Growing::Width if known == 0 => {
                wide_bases(self.busy, stride, self.len, self.starts);
            }
            Growing::Width => keep_wider(self.starts, stride, known, self.len),
            Growing::Height => {
                if known == 0 {
                    complement(self.busy, self.starts);
                }
                keep_taller(self.starts, stride, known.max(1), self.len);
            }
        }
        self.known = self.len;
    }
}

/// The maximum number of rows above each other that have a bit in common. The function polls for
/// the rows that are read again.
///
/// ```text
///   row 4  1 . .     so far `tallest` is 2; are there 3 rows?
///   row 3  1 . 1     rows 2 to 0: 2 and 1 have nothing in common, so the next window
///   row 2  1 . .     begins in row 2: rows 4, 3 and 2 share a bit. `tallest` becomes 3,
///   row 1  . 1 .     and more while rows above share it as well.
///   row 0  . 1 .
/// ```
fn tallest(rows: &[Word], stride: usize, draft: &Draft<'_, '_>) -> u16 {
    // Heights here are numbers of words: rows times `stride`.
    let mut tallest = 0;
    // A bit is in the same word of all rows.
    for column in 0..stride {
        // Whether there are more rows: as in first fit, from the top row down.
        let mut top = column + tallest;
        while let Some(&word) = rows.get(top) {
            let (mut at, mut common) = (top, word);
            while common != 0 && at + tallest > top {
                at -= stride;
                common &= rows[at];
            }
            draft.poll();
            if common == 0 {
                top = at + stride + tallest;
                continue;
            }
            while common != 0 {
                tallest += stride;
                top += stride;
                common &= rows.get(top).copied().unwrap_or(0);
            }
        }
    }
    (tallest / stride) as u16
}

/// The longest run of a row.
fn widest(rows: &[Word], stride: usize) -> u16 {
    let runs = rows.chunks_exact(stride).flat_map(runs);
    runs.map(|(_, len)| len as u16).max().unwrap_or(0)
}

/// The first free submesh of the shapes of a request ([`all_shapes`](super::shapes::all_shapes)),
/// in their order, at its first place.
///
/// # Time complexity
///
/// A search of first fit; then a [`Staircase`] of the widths that divide the size, and a second
/// search if one of them is free.
pub(crate) fn first_of_all_shapes(
    occupancy: &Occupancy<'_>,
    request: &Request,
    mesh: Sides,
    scratch: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let requested = request.sides();
    if requested.fits_in(mesh) {
        let found = first_rectangle(occupancy, requested, Scratch::Blank(scratch), draft);
        if found.is_some() || !request.may_rotate() {
            return found;
        }
    }
    let area = requested.area();
    let rotated = requested.rotated();
    // The rotated shape, then the most square; if two are rotations of each other, the wider.
    let order = |sides: Sides| (sides != rotated, sides.w.max(sides.h), sides.w < sides.h);
    let mut first: Option<Sides> = None;
    let mut widths = Staircase::new(occupancy, Growing::Width, scratch);
    let first_width = area.div_ceil(mesh.h.into());
    for w in first_width..area.min(mesh.w.into()) + 1 {
        if !area.is_multiple_of(w) {
            continue;
        }
        let sides = Sides::new(w as u16, (area / w) as u16);
        let is_earlier = first.is_none_or(|first| order(sides) < order(first));
        if is_earlier && sides != requested && widths.has(sides, draft) {
            first = Some(sides);
        }
    }
    first_rectangle(occupancy, first?, Scratch::Blank(scratch), draft)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::mesh::{Mesh, Submesh};
    use crate::pool::BlockPool;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// A side at the edges of words, or a small one.
    fn side() -> impl Strategy<Value = u16> {
        prop_oneof![
            1_u16..9,
            prop::sample::select(std::vec![31_u16, 32, 33, 63, 64, 65])
        ]
    }

    fn is_free(occupancy: &Occupancy<'_>, mesh: Sides, sides: Sides, base: Coord) -> bool {
        let place = Submesh { base, sides };
        base.x + sides.w <= mesh.w && base.y + sides.h <= mesh.h && occupancy.is_free(place.into())
    }

    proptest! {
        #[test]
        fn it_knows_what_is_free(w in side(), h in side(), busy in prop::collection::vec((0_u16..65, 0_u16..65), 0..40), wanted in prop::collection::vec((1_u16..66, 1_u16..66), 1..12), others in any::<u16>()) {
            let mesh = Sides::new(w, h);
            let grid = Mesh::new(w, h).unwrap().grid();
            let words = Occupancy::words_needed(&grid);
            let (mut rows, mut faulty) = (std::vec![0; words], std::vec![0; words]);
            let mut occupancy = Occupancy::new(grid, &mut rows, &mut faulty, Some(0));
            occupancy.clear(grid, 0);
            for (x, y) in busy {
                occupancy.mark_faulty(Submesh::new(x % w, y % h, 1, 1).into());
            }
            let mut scratch = std::vec![0; words];
            let mut pool = BlockPool::new(&mut []);
            let mut draft = Draft::unpaused(&mut pool);
            let bases: Vec<Coord> = (0..h).flat_map(|y| (0..w).map(move |x| Coord::new(x, y))).collect();
            for growing in [Growing::Width, Growing::Height] {
                let mut wanted = wanted.clone();
                wanted.iter_mut().for_each(|(w_, h_)| (*w_, *h_) = (1 + *w_ % w, 1 + *h_ % h));
                wanted.sort_by_key(|&(w, h)| if growing == Growing::Width { w } else { h });
                let mut staircase = Staircase::new(&occupancy, growing, &mut scratch);
                for (at, (w, h)) in wanted.into_iter().enumerate() {
                    let sides = Sides::new(w, h);
                    let first = bases.iter().copied().find(|&base| is_free(&occupancy, mesh, sides, base));
                    let has = staircase.has(sides, &mut draft);
                    prop_assert_eq!(has, first.is_some(), "{:?} {}", growing, sides);
                    if others >> at & 1 == 1 {
                        staircase.scratch().fill(0x55);
                    }
                    if has && growing == Growing::Width {
                        prop_assert_eq!(staircase.first_base(h, &mut draft), first);
                    }
                }
            }
        }
    }
}
