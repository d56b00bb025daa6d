//! A line through all processors of a two-dimensional mesh, and the search for free processors
//! along it: [`FreeOnCurve`].
//!
//! Each processor has a *place* on the line. The search sees the mesh as one row of bits in the
//! order of places; *intervals* are its runs of free processors. The line is one of two:
//!
//! ```text
//!   row by row, 4 x 3       Hilbert curve, 4 x 4
//!
//!    8  9 10 11              5  6  9 10       Each quadrant of 4 places is a curve of half the
//!    7  6  5  4              4  7  8 11       side: the first is transposed, the last is
//!    0  1  2  3              3  2 13 12       transposed and turned upside down.
//!                            0  1 14 15
//! ```
//!
//! The Hilbert curve is read tile by tile: 64 processors of an 8 x 8 square are 64 consecutive
//! places. A table ([`IN_TILE`]) has the order within a tile; the other three ways in which the
//! curve may lie in a tile follow from it by exchanging x and y, and by counting backwards.

use core::ops::Range;

use super::gather::{Gather, propose_difference};
use super::hilbert::Walk;
use super::line::{CurveFit, CurveLine};
use crate::draft::Draft;
use crate::mesh::{Sides, Submesh};
use crate::node::NodeId;
use crate::occupancy::Occupancy;
use crate::word::{WORD_BITS, Word, bits_from, ones, runs_of, words_for};

/// The line. On a square whose side is a power of two it is the Hilbert curve. On any other mesh it
/// goes row by row, forwards and backwards by turns. Both lines begin at the lower left and step
/// from neighbour to neighbour.
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

    /// The largest submesh of at most `places` processors that the line goes through from this
    /// place on without leaving it: a square on the Hilbert curve, a part of a row on the other
    /// line.
    fn part(&self, place: u32, places: u32) -> Submesh {
        if self.is_hilbert {
            let exponent = (place.trailing_zeros() / 2).min(places.ilog2() / 2);
            let Square { x, y, .. } = square(place, exponent, self.sides.w.ilog2());
            return Submesh::new(x as u16, y as u16, 1 << exponent, 1 << exponent);
        }
        let w = u32::from(self.sides.w);
        let (y, from) = (place / w, place % w);
        let len = places.min(w - from);
        let x = if y.is_multiple_of(2) {
            from
        } else {
            w - from - len
        };
        Submesh::new(x as u16, y as u16, len as u16, 1)
    }
}

/// A square that the Hilbert curve goes through without leaving it. The curve lies in it in one of
/// four ways:
///
/// ```text
///   plain      transposed    turned      both
///
///    1  2        3  2         3  0       1  0
///    0  3        0  1         2  1       2  3
/// ```
#[derive(Clone, Copy)]
struct Square {
    x: u32,
    y: u32,
    /// 1 if x and y are exchanged, else 0.
    transposed: u32,
    /// 1 if the curve is turned by half a turn, else 0.
    turned: u32,
}

/// The square of side 2^exponent in which the place lies, on the curve in a square of side 2^of.
/// Two bits of the place select a quadrant on each level, from the largest quadrants down.
const fn square(place: u32, exponent: u32, of: u32) -> Square {
    let (mut x, mut y) = (0, 0);
    let (mut transposed, mut turned) = (0, 0);
    let mut level = of;
    while level > exponent {
        level -= 1;
        // In a plain square, 00, 01, 10 and 11 are the lower left, upper left, upper right and
        // lower right quadrant. The first one is transposed, the last one transposed and turned.
        let (high, low) = (place >> (2 * level + 1) & 1, place >> (2 * level) & 1);
        let right = high ^ low & transposed;
        x |= (right ^ turned) << level;
        y |= (right ^ low ^ turned) << level;
        transposed ^= 1 ^ high ^ low;
        turned ^= high & low;
    }
    Square {
        x,
        y,
        transposed,
        turned,
    }
}

/// The processors of a square of side 2^TILE, a tile, are put into the order of the curve together.
const TILE: u32 = 3;
/// The number of processors of a tile.
const PLACES: u32 = 1 << (2 * TILE);
/// The words that these bits take.
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

/// How many free intervals have each length, in ascending order of lengths.
struct Lengths<'a> {
    lengths: &'a mut [Word],
    counts: &'a mut [Word],
    len: usize,
}

/// The largest number of different lengths that the intervals on a line of `nodes` processors can
/// have: l lengths take 1 + 2 + .. + l processors at least.
pub(crate) const fn lengths_max(nodes: u32) -> usize {
    (2 * nodes).isqrt() as usize
}

impl<'a> Lengths<'a> {
    /// No lengths yet; `scratch` has two words for each of [`lengths_max`].
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

    /// The growth of the sum of squares of all counts if an interval of this length is shortened by
    /// `by`.
    fn growth(&self, length: u32, by: u32) -> i64 {
        let longer = 1 - 2 * self.count(length);
        match length - by {
            0 => longer,
            shorter => longer + 2 * self.count(shorter) + 1,
        }
    }
}

/// The start of the processors that are taken on a line of `nodes` processors. `words` has a bit
/// for each place, set if the processor is free. `scratch` has room for these bits, or for two
/// words for each of [`lengths_max`], whichever is more.
fn start_of<I: Iterator<Item = Word>>(
    nodes: u32,
    wanted: u32,
    fit: CurveFit,
    scratch: &mut [Word],
    words: impl Fn() -> I,
) -> Option<u32> {
    let len = |run: &Range<u32>| run.end - run.start;
    if fit == CurveFit::SumOfSquares {
        let mut lengths = Lengths::new(nodes, scratch);
        runs_of(words()).for_each(|run| lengths.add(len(&run)));
        let sufficient = runs_of(words()).filter(|run| len(run) >= wanted);
        if let Some(run) = sufficient.min_by_key(|run| lengths.growth(len(run), wanted)) {
            return Some(run.start);
        }
    }
    let free = &mut scratch[..words_for(nodes)];
    for (free, word) in free.iter_mut().zip(words()) {
        *free = word;
    }
    let mut sufficient = runs_of(free.iter().copied()).filter(|run| len(run) >= wanted);
    let found = match fit {
        CurveFit::FirstFit => sufficient.next(),
        // If several intervals are the shortest, `min_by_key` takes the first.
        CurveFit::BestFit => sufficient.min_by_key(len),
        // `SumOfSquares` has found no interval above, and `SmallestRange` looks for none.
        CurveFit::SumOfSquares | CurveFit::SmallestRange => None,
    };
    let found = found.map(|run| run.start);
    found.or_else(|| least_span(wanted, free))
}

/// The start of the allocation with the least distance from its first to its last processor; ties:
/// the first. `free` has the free processors of the line. The allocation begins where an interval
/// begins: if it began within an interval, it would be no longer with the processor before.
///
/// ```text
///   wanted 4     . # . . # # . . . #      `before`: free ones before the interval
///                    [---------]          `added`: free ones up to the end of the latest
///                    run.start   end      interval that is added; span = 6
/// ```
fn least_span(wanted: u32, free: &[Word]) -> Option<u32> {
    let intervals = || runs_of(free.iter().copied());
    let mut least: Option<(u32, u32)> = None;
    // The number of free processors before an interval, and the number up to the end of the latest
    // interval that was added.
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
    }
    least.map(|(_, start)| start)
}

/// The free processors of a mesh along a line.
pub(crate) struct FreeOnCurve<'a, 'm, 'd, 'p> {
    line: Line,
    occupancy: &'a Occupancy<'m>,
    draft: &'a mut Draft<'d, 'p>,
}

impl<'a, 'm, 'd, 'p> FreeOnCurve<'a, 'm, 'd, 'p> {
    /// Whether this line through the machine is one of the two that [`FreeOnCurve`] reads. All
    /// others are for [`propose_along_hilbert`].
    pub(crate) fn reads(line: CurveLine, occupancy: &Occupancy<'_>) -> bool {
        let grid = occupancy.grid();
        let sides = || Sides::new(grid.side(0), grid.side(1));
        let is_usual = || line == CurveLine::Neighbors || Line::new(sides()).is_hilbert;
        occupancy.layout().is_plane() && is_usual()
    }

    /// The free processors of this mesh.
    pub(crate) fn new(occupancy: &'a Occupancy<'m>, draft: &'a mut Draft<'d, 'p>) -> Self {
        let grid = occupancy.grid();
        let line = Line::new(Sides::new(grid.side(0), grid.side(1)));
        FreeOnCurve {
            line,
            occupancy,
            draft,
        }
    }

    /// Proposes the first `processors` processors of one free interval. If none is long enough, it
    /// proposes the first of the allocations that span the least part of the line. Returns whether
    /// enough processors are free. `scratch` has as many words as the occupancy, or two for each of
    /// [`lengths_max`], whichever is more.
    pub(crate) fn propose(self, processors: u32, fit: CurveFit, scratch: &mut [Word]) -> bool {
        let nodes = self.occupancy.grid().nodes();
        let Some(start) = start_of(nodes, processors, fit, scratch, || self.words_from(0)) else {
            return false;
        };
        let (mut copy, _) = self.occupancy.copy_in(scratch);
        let mut missing = processors;
        for mut run in self.intervals_from(start) {
            while missing > 0 && !run.is_empty() {
                let part = self.line.part(run.start, missing.min(run.end - run.start));
                copy.take(part.into());
                self.draft.poll();
                missing -= part.area();
                run.start += part.area();
            }
            if missing == 0 {
                break;
            }
        }
        propose_difference(copy, self.occupancy, self.draft);
        true
    }

    /// The free intervals from this place on, each as long as it is from there.
    fn intervals_from(&self, start: u32) -> impl Iterator<Item = Range<u32>> + '_ {
        let before = start / PLACES * PLACES;
        let runs = runs_of(self.words_from(before));
        runs.map(move |run| (before + run.start).max(start)..before + run.end)
    }

    /// A bit for each processor from this place on, a multiple of [`PLACES`], along the line: set
    /// if it is free.
    fn words_from(&self, place: u32) -> impl Iterator<Item = Word> + '_ {
        let mut words = [0; WORDS];
        let numbers = words_for(place)..words_for(self.occupancy.grid().nodes());
        numbers.map(move |number| {
            let place = number as u32 * WORD_BITS;
            if place.is_multiple_of(PLACES) {
                // This also covers the work on the intervals in these places.
                self.draft.poll();
                words = self.words(place);
            }
            words[(place % PLACES / WORD_BITS) as usize]
        })
    }

    /// The bits of [`PLACES`] processors from this place on.
    fn words(&self, place: u32) -> [Word; WORDS] {
        if self.line.is_hilbert {
            self.tile(place)
        } else {
            self.rows(place)
        }
    }

    /// The bits of a tile on the Hilbert curve.
    fn tile(&self, place: u32) -> [Word; WORDS] {
        let of = self.line.sides.w.ilog2();
        let Square {
            x,
            y,
            mut transposed,
            turned,
        } = square(place, TILE, of);
        if of < TILE {
            // A curve begins with the curve of half its side, transposed.
            transposed ^= (TILE - of) & 1;
        }
        let busy = self.occupancy.busy_rows();
        let stride = self.occupancy.stride();
        let mut word = y as usize * stride + (x / WORD_BITS) as usize;
        let mut rows = [0; 1 << TILE];
        let mut common = Word::MAX;
        for row in &mut rows {
            // The rows above a small mesh are busy.
            *row = !busy
                .get(word)
                .map_or(Word::MAX, |busy| busy >> (x % WORD_BITS))
                & 0xFF;
            common &= *row;
            word += stride;
        }
        if common == 0xFF {
            return [Word::MAX; WORDS];
        }
        let (along_x, along_y) = (TILE * transposed, TILE * (1 - transposed));
        let mut free = [0; WORDS];
        for (y, &row) in (0..).zip(&rows) {
            let mut row = row;
            while row != 0 {
                let at = row.trailing_zeros() << along_x | y << along_y;
                row &= row - 1;
                let place = u32::from(IN_TILE[(at ^ ((PLACES - 1) * turned)) as usize]);
                free[(place / WORD_BITS) as usize] |= 1 << (place % WORD_BITS);
            }
        }
        free
    }

    /// The bits on a line that goes row by row.
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

/// [`FreeOnCurve::propose`] on any grid, along the Hilbert curve through the grid.
pub(crate) fn propose_along_hilbert(
    occupancy: &Occupancy<'_>,
    processors: u32,
    fit: CurveFit,
    scratch: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> bool {
    let grid = occupancy.grid();
    let nodes = grid.nodes();
    let busy = occupancy.busy_rows();
    let is_free = &|node: u32| {
        let place = occupancy.place(NodeId(node));
        place.is_some_and(|(word, bit)| busy[word] & bit == 0)
    };
    let poll = &|| draft.poll();
    let words = &|| {
        let mut walk = Walk::new(grid, poll);
        (0..words_for(nodes)).map(move |_| {
            let free = walk.by_ref().take(WORD_BITS as usize).enumerate();
            free.fold(0, |word, (at, node)| word | Word::from(is_free(node)) << at)
        })
    };
    let Some(start) = start_of(nodes, processors, fit, scratch, words) else {
        return false;
    };
    let chosen = &mut scratch[..busy.len()];
    chosen.fill(0);
    let from_start = Walk::new(grid, poll).skip(start as usize);
    for node in from_start
        .filter(|&node| is_free(node))
        .take(processors as usize)
    {
        if let Some((word, bit)) = occupancy.place(NodeId(node)) {
            chosen[word] |= bit;
        }
    }
    Gather::new(*grid, draft).bits(occupancy, chosen);
    true
}
