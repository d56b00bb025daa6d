//! A line through all processors of a two-dimensional mesh, and the search for free processors along it: [`FreeOnCurve`].

use core::cell::RefCell;
use core::ops::Range;

use super::selection::Selection;
use crate::blocks::Draft;
use crate::mesh::{Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::word::{WORD_BITS, Word, bits_from, ones, runs_of, words_for};

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

    /// The largest submesh that the line goes through from this place on without leaving it, and within so many places.
    fn part(&self, place: u32, places: u32) -> Submesh {
        if self.is_hilbert {
            let exponent = (place.trailing_zeros() / 2).min(places.ilog2() / 2);
            let Square { x, y, .. } = square(place, exponent, self.sides.w.ilog2());
            return Submesh::new(x, y, 1 << exponent, 1 << exponent);
        }
        let w = u32::from(self.sides.w);
        let (y, from) = (place / w, place % w);
        let len = places.min(w - from);
        let x = if y.is_multiple_of(2) { from } else { w - from - len };
        Submesh::new(x as u16, y as u16, len as u16, 1)
    }
}

/// A square that the Hilbert curve goes through without leaving it: the curve of its size, transposed or turned upside down or both.
#[derive(Clone, Copy)]
struct Square {
    x: u16,
    y: u16,
    is_transposed: bool,
    is_turned: bool,
}

/// The square of side 2^exponent in which the place lies, on the curve in a square of side 2^of. From the largest quadrants down.
const fn square(place: u32, exponent: u32, of: u32) -> Square {
    let mut square = Square {
        x: 0,
        y: 0,
        is_transposed: false,
        is_turned: false,
    };
    let mut level = of;
    while level > exponent {
        level -= 1;
        // Without turns: lower left, upper left, upper right, lower right.
        let number = place >> (2 * level) & 3;
        let (right, upper) = (number >= 2, number == 1 || number == 2);
        let (right, upper) = match square.is_transposed {
            true => (upper, right),
            false => (right, upper),
        };
        square.x |= ((right != square.is_turned) as u16) << level;
        square.y |= ((upper != square.is_turned) as u16) << level;
        square.is_transposed ^= number == 0 || number == 3;
        square.is_turned ^= number == 3;
    }
    square
}

/// The squares of side 2^TILE are those whose processors are brought into the order of the curve together.
const TILE: u32 = 3;
/// Their processors.
const PLACES: u32 = 1 << (2 * TILE);
/// The words that these take.
const WORDS: usize = words_for(PLACES);

/// The place on the curve of each processor of a tile, row by row.
const IN_TILE: [u8; PLACES as usize] = {
    let mut places = [0; PLACES as usize];
    let mut place = 0;
    while place < PLACES {
        let Square { x, y, .. } = square(place, 0, TILE);
        places[(y << TILE | x) as usize] = place as u8;
        place += 1;
    }
    places
};

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

/// After so many places of the line the work may pause.
const PAUSE: u32 = 4 * PLACES;

/// The free processors of a mesh along a line.
pub(crate) struct FreeOnCurve<'a, 'm, 'd, 'p> {
    line: Line,
    occupancy: &'a Occupancy<'m>,
    /// Every look at processors is work.
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
            .or_else(|| self.least_span(processors, scratch))
        else {
            return false;
        };
        let mut selection = Selection::new(self.occupancy, scratch);
        let mut missing = processors;
        for mut run in self.intervals_from(start) {
            while missing > 0 && !run.is_empty() {
                let part = self.line.part(run.start, missing.min(run.end - run.start));
                selection.select_all(part);
                missing -= part.area();
                run.start += part.area();
            }
            if missing == 0 {
                break;
            }
        }
        selection.propose(self.draft.into_inner());
        true
    }

    /// The start of the free interval that is taken.
    fn interval(&self, wanted: u32, fit: CurveFit, scratch: &mut [Word]) -> Option<u32> {
        let len = |run: &Range<u32>| run.end - run.start;
        let sufficient = || self.intervals_from(0).filter(|run| len(run) >= wanted);
        let found = match fit {
            CurveFit::FirstFit => sufficient().next(),
            // The first of the least.
            CurveFit::BestFit => sufficient().min_by_key(len),
            CurveFit::SumOfSquares => {
                let mut lengths = Lengths::new(self.occupancy.grid().nodes(), scratch);
                self.intervals_from(0).for_each(|run| lengths.add(len(&run)));
                sufficient().min_by_key(|run| lengths.growth(len(run), wanted))
            }
        };
        found.map(|run| run.start)
    }

    /// The start of the allocation with the least distance from its first to its last processor, the first of those. It begins with an interval: if it began
    /// within one, it would be no longer with the processor before.
    fn least_span(&self, wanted: u32, scratch: &mut [Word]) -> Option<u32> {
        let free = &mut scratch[..words_for(self.occupancy.grid().nodes())];
        for (free, word) in free.iter_mut().zip(self.words_from(0)) {
            *free = word;
        }
        let intervals = || runs_of(free.iter().copied());
        let mut least: Option<(u32, u32)> = None;
        // The free processors before an interval; those up to the end of the latest one that has been added.
        let (mut before, mut added) = (0, 0);
        let (mut others, mut end) = (intervals(), 0);
        for run in intervals() {
            while added < before + wanted {
                let Some(other) = others.next() else {
                    return least.map(|(_, start)| start);
                };
                added += other.end - other.start;
                end = other.end;
            }
            let span = end - (added - before - wanted) - run.start;
            if least.is_none_or(|(least, _)| span < least) {
                least = Some((span, run.start));
            }
            before += run.end - run.start;
            self.draft.borrow_mut().worked(60);
        }
        least.map(|(_, start)| start)
    }

    /// The longest free intervals from this place on.
    fn intervals_from(&self, start: u32) -> impl Iterator<Item = Range<u32>> + '_ {
        let before = start / PLACES * PLACES;
        let runs = runs_of(self.words_from(before));
        runs.map(move |run| (before + run.start).max(start)..before + run.end)
    }

    /// A bit for each processor from this place on, a multiple of [`PLACES`], along the line: whether it is free.
    fn words_from(&self, place: u32) -> impl Iterator<Item = Word> + '_ {
        let mut words = [0; WORDS];
        let numbers = words_for(place)..words_for(self.occupancy.grid().nodes());
        numbers.map(move |number| {
            let at = number % WORDS;
            if at == 0 {
                words = self.words(number as u32 * WORD_BITS);
            }
            words[at]
        })
    }

    /// The bits of [`PLACES`] processors from this place on.
    fn words(&self, place: u32) -> [Word; WORDS] {
        if place.is_multiple_of(PAUSE) {
            self.draft.borrow_mut().worked(5 * PAUSE);
        }
        match self.line.is_hilbert {
            true => self.tile(place),
            false => self.rows(place),
        }
    }

    /// Those of a tile on the Hilbert curve.
    fn tile(&self, place: u32) -> [Word; WORDS] {
        let of = self.line.sides.w.ilog2();
        let mut tile = square(place, TILE, of);
        // A curve begins with that of half its side, transposed.
        tile.is_transposed ^= of < TILE && (TILE - of) % 2 == 1;
        let stride = self.occupancy.stride();
        let busy = self.occupancy.busy_rows();
        let shift = u32::from(tile.x) % WORD_BITS;
        let mut word = usize::from(tile.y) * stride + (u32::from(tile.x) / WORD_BITS) as usize;
        let mut free = [0; WORDS];
        for row in 0..1 << TILE {
            // What is above a small mesh is busy.
            let mut bits = !busy.get(word).map_or(Word::MAX, |busy| busy >> shift) & 0xFF;
            word += stride;
            while bits != 0 {
                let (mut x, mut y) = (bits.trailing_zeros(), row);
                bits &= bits - 1;
                if tile.is_transposed {
                    (x, y) = (y, x);
                }
                let mut at = y << TILE | x;
                if tile.is_turned {
                    at = PLACES - 1 - at;
                }
                let place = u32::from(IN_TILE[at as usize]);
                free[(place / WORD_BITS) as usize] |= 1 << (place % WORD_BITS);
            }
        }
        free
    }

    /// Those on a line that goes row by row.
    fn rows(&self, place: u32) -> [Word; WORDS] {
        let end = self.occupancy.grid().nodes().min(place + PLACES);
        let mut free = [0; WORDS];
        let mut at = place;
        while at < end {
            let (word, bit) = ((at - place) / WORD_BITS, (at - place) % WORD_BITS);
            let Submesh { base, sides } = self.line.part(at, (end - at).min(WORD_BITS - bit));
            let row = self.occupancy.busy_row(base.y.into());
            let len = u32::from(sides.w);
            let mut bits = !bits_from(row, base.x.into()) & ones(len);
            if !base.y.is_multiple_of(2) {
                bits = bits.reverse_bits() >> (WORD_BITS - len);
            }
            free[word as usize] |= bits << bit;
            at += len;
        }
        free
    }
}
