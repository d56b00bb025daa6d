//! A line through all processors of a two-dimensional mesh, and the search for free processors along it: [`FreeOnCurve`].

use core::cell::RefCell;

use super::selection::Selection;
use crate::blocks::Draft;
use crate::mesh::Sides;
use crate::occupancy::Occupancy;
use crate::word::Word;

/// Which of the free intervals on the curve that are long enough is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CurveFit {
    /// The first one.
    FirstFit,
    /// The shortest one, the first of those.
    BestFit,
    /// The one after which the sum of squares of N(1), N(2), .. is least, N(l) being the number of free intervals of
    /// length l; the first of those.
    SumOfSquares,
}

/// The line: the Hilbert curve on a square whose side is a power of two, on any other mesh row by row, forwards and
/// backwards by turns. Both begin at the lower left and step from neighbour to neighbour.
#[derive(Clone, Copy, Debug)]
struct Line {
    sides: Sides,
    is_hilbert: bool,
}

impl Line {
    const fn new(sides: Sides) -> Line {
        Line {
            sides,
            is_hilbert: sides.is_square() && sides.w.is_power_of_two(),
        }
    }

    /// The column and row of the processor at this place of the line.
    fn at(&self, place: u32) -> (u16, u16) {
        if self.is_hilbert {
            return hilbert(place, self.sides.w);
        }
        let w = u32::from(self.sides.w);
        let (y, x) = (place / w, place % w);
        let x = if y.is_multiple_of(2) { x } else { w - 1 - x };
        (x as u16, y as u16)
    }
}

/// From the smallest squares up: the place in a quadrant, turned or mirrored as the quadrant is, and the quadrant.
fn hilbert(mut place: u32, side: u16) -> (u16, u16) {
    let (mut x, mut y) = (0, 0);
    let mut quadrant = 1;
    while quadrant < side {
        let (right, upper) = match place % 4 {
            0 => (0, 0),
            1 => (0, 1),
            2 => (1, 1),
            _ => (1, 0),
        };
        if upper == 0 {
            if right == 1 {
                (x, y) = (quadrant - 1 - x, quadrant - 1 - y);
            }
            (x, y) = (y, x);
        }
        x += right * quadrant;
        y += upper * quadrant;
        place /= 4;
        quadrant *= 2;
    }
    (x, y)
}

/// The lengths of free intervals and how many there are of each, in ascending order of lengths.
struct Lengths<'a> {
    lengths: &'a mut [Word],
    counts: &'a mut [Word],
    len: usize,
}

/// How many different lengths the intervals on a line of so many processors can have: l lengths take
/// 1 + 2 + .. + l processors at least.
pub(crate) const fn lengths_max(nodes: u32) -> usize {
    (2 * nodes).isqrt() as usize
}

impl<'a> Lengths<'a> {
    /// Nothing yet; `scratch` has two words for each of [`lengths_max`].
    fn new(nodes: u32, scratch: &'a mut [Word]) -> Self {
        let (lengths, counts) = scratch.split_at_mut(lengths_max(nodes));
        Lengths {
            lengths,
            counts,
            len: 0,
        }
    }

    fn add(&mut self, length: u32) {
        match self.lengths[..self.len].binary_search(&Word::from(length)) {
            Ok(at) => self.counts[at] += 1,
            Err(at) => {
                self.lengths.copy_within(at..self.len, at + 1);
                self.counts.copy_within(at..self.len, at + 1);
                (self.lengths[at], self.counts[at]) = (Word::from(length), 1);
                self.len += 1;
            }
        }
    }

    fn count(&self, length: u32) -> i64 {
        let found = self.lengths[..self.len].binary_search(&Word::from(length));
        found.map_or(0, |at| self.counts[at] as usize as i64)
    }

    /// By how much the sum of squares of all counts grows if an interval is shortened.
    fn growth(&self, length: u32, by: u32) -> i64 {
        let longer = 1 - 2 * self.count(length);
        match length - by {
            0 => longer,
            shorter => longer + 2 * self.count(shorter) + 1,
        }
    }
}

/// After so many processors the work may pause.
const PLACES: u32 = 64;

/// The free processors of a mesh along a line.
pub(crate) struct FreeOnCurve<'a, 'm, 'd, 'p> {
    line: Line,
    occupancy: &'a Occupancy<'m>,
    /// Every look at a processor is work.
    draft: RefCell<&'a mut Draft<'d, 'p>>,
}

impl<'a, 'm, 'd, 'p> FreeOnCurve<'a, 'm, 'd, 'p> {
    /// Those of this mesh.
    pub(crate) fn new(occupancy: &'a Occupancy<'m>, draft: &'a mut Draft<'d, 'p>) -> Self {
        let grid = occupancy.grid();
        let line = Line::new(Sides::new(grid.side(0), grid.side(1)));
        FreeOnCurve {
            line,
            occupancy,
            draft: RefCell::new(draft),
        }
    }

    /// Proposes so many processors of one free interval, its first ones; if none is long enough, the first of the
    /// allocations that span the least part of the line. Returns whether as many are free. `scratch` has as many words as
    /// the occupancy, and two for each of [`lengths_max`].
    pub(crate) fn propose(self, processors: u32, fit: CurveFit, scratch: &mut [Word]) -> bool {
        let Some(start) = self
            .interval(processors, fit, scratch)
            .or_else(|| self.least_span(processors))
        else {
            return false;
        };
        let mut selection = Selection::new(self.occupancy, scratch);
        for place in self.free_from(start).take(processors as usize) {
            let (x, y) = self.line.at(place);
            selection.select(x, y);
        }
        selection.propose(self.draft.into_inner());
        true
    }

    /// The start of the free interval that is taken.
    fn interval(&self, wanted: u32, fit: CurveFit, scratch: &mut [Word]) -> Option<u32> {
        let sufficient = || self.intervals().filter(|&(_, len)| len >= wanted);
        let found = match fit {
            CurveFit::FirstFit => sufficient().next(),
            // The first of the least.
            CurveFit::BestFit => sufficient().min_by_key(|&(_, len)| len),
            CurveFit::SumOfSquares => {
                let mut lengths = Lengths::new(self.occupancy.grid().nodes(), scratch);
                self.intervals().for_each(|(_, len)| lengths.add(len));
                sufficient().min_by_key(|&(_, len)| lengths.growth(len, wanted))
            }
        };
        found.map(|(start, _)| start)
    }

    /// The start of the allocation with the least distance from its first to its last processor, the first of those.
    fn least_span(&self, wanted: u32) -> Option<u32> {
        let lasts = self.free_from(0).skip(wanted as usize - 1);
        let ends = self.free_from(0).zip(lasts);
        let least = ends.min_by_key(|&(first, last)| last - first);
        least.map(|(first, _)| first)
    }

    /// The places of the free processors.
    fn free_from(&self, start: u32) -> impl Iterator<Item = u32> + '_ {
        let places = start..self.occupancy.grid().nodes();
        places.filter(|&place| self.is_free(place))
    }

    /// The longest free intervals, as `(start, length)`.
    fn intervals(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut places = 0..self.occupancy.grid().nodes();
        core::iter::from_fn(move || {
            let start = places.find(|&place| self.is_free(place))?;
            let busy = places.find(|&place| !self.is_free(place));
            let end = busy.unwrap_or(places.end);
            Some((start, end - start))
        })
    }

    fn is_free(&self, place: u32) -> bool {
        if place.is_multiple_of(PLACES) {
            self.draft.borrow_mut().worked(150 * PLACES);
        }
        let (x, y) = self.line.at(place);
        self.occupancy.is_free_at(x, y)
    }
}
