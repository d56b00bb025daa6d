//! Connected sets of free processors of a two-dimensional mesh: components ([`visit`]), and growth
//! from neighbour to neighbour ([`grow`]). Processors are neighbours along x and along y.
//!
//! A set has the processors that are busy in a copy of the occupancy and free in the occupancy. All
//! processors of a word are handled at once:
//!
//! ```text
//!   a component is flooded, word by word            a set grows, layer by layer
//!
//!   row 2   # . . #      seeds: s                   row 2   2 # . .
//!   row 1   . s . #      the run around s is        row 1   1 2 # 4
//!   row 0   . # . .      taken at once: `filled`;   row 0   0 1 2 3
//!                        it seeds rows 0 and 2
//! ```
//!
//! Only rows next to a change are looked at. So the time of a search grows with the size of the set
//! that it finds, and a set with many turns does not cost a pass over the whole mesh for each turn.

use core::mem;

use crate::draft::Draft;
use crate::grid::MESH_SIDE_MAX;
use crate::layout::STRIDE_MAX;
use crate::mesh::{Coord, Submesh};
use crate::occupancy::Occupancy;
use crate::word::{Span, WORD_BITS, Word, filled, ones, words_for};

/// Occupies the component of this processor in a copy of the occupancy, in which only whole
/// components have been occupied before. Returns the number of its processors, 0 if they are
/// occupied already. Stops early when it has found `enough` of them; then this is the last visit.
///
/// `seeds` has as many words as the occupancy, all of them zero. They are zero again afterwards,
/// except after the last visit.
///
/// ```text
///   words with seeds: s       the runs in the lowest word are filled; their neighbours in the
///                             rows above and below, and in the words at both sides, become
///   row 2   [ s ] [   ]       seeds; then the lowest word with seeds comes next
///   row 1   [fill] [ s ]
///   row 0   [ s ] [   ]
/// ```
///
/// # Time complexity
///
/// O(runs of the component * words in a row); a run ends at the end of its word.
pub(crate) fn visit(
    copy: &mut Occupancy<'_>,
    node: Coord,
    enough: u32,
    seeds: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> u32 {
    let stride = copy.stride();
    let mut flood = Flood { copy, seeds };
    let seed = Span::new(node.x.into(), 1);
    let mut at = usize::from(node.y) * stride + seed.first;
    flood.seed(at, seed.mask(seed.first));
    // The word after the last word with seeds.
    let mut end = at + 1;
    let mut processors = 0;
    while at < end {
        let runs = flood.fill(at);
        if runs == 0 {
            at += 1;
            continue;
        }
        draft.poll();
        processors += runs.count_ones();
        if processors >= enough {
            break;
        }
        // The neighbours above and below become seeds, and those in the words at both sides.
        if flood.seed(at + stride, runs) {
            end = end.max(at + stride + 1);
        }
        let column = at % stride;
        if column + 1 < stride && flood.seed(at + 1, runs >> (WORD_BITS - 1)) {
            end = end.max(at + 2);
        }
        let mut next = at + 1;
        if column > 0 && flood.seed(at - 1, runs << (WORD_BITS - 1)) {
            next = at - 1;
        }
        if flood.seed(at.wrapping_sub(stride), runs) {
            next = at - stride;
        }
        at = next;
    }
    processors
}

/// The first free processor of a two-dimensional mesh in row-major order, from this word on; `word`
/// becomes the word of the processor.
pub(crate) fn first_free(occupancy: &Occupancy<'_>, word: &mut usize) -> Option<Coord> {
    let rest = occupancy.busy_rows().get(*word..)?;
    let (at, busy) = rest.iter().enumerate().find(|(_, busy)| !**busy != 0)?;
    *word += at;
    Some(Coord::of_lowest(!busy, *word, occupancy.stride()))
}

/// The number of processors of the largest component. `memory` has twice as many words as the
/// occupancy.
///
/// # Time complexity
///
/// O(words), and that of [`visit`] for each component.
pub(crate) fn largest(
    occupancy: &Occupancy<'_>,
    memory: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> u32 {
    let (mut left, seeds) = occupancy.copy_in(memory);
    seeds.fill(0);
    let (mut most, mut word) = (0, 0);
    while left.free() > most
        && let Some(node) = first_free(&left, &mut word)
    {
        most = visit(&mut left, node, u32::MAX, seeds, draft).max(most);
    }
    most
}

/// A visit of a component.
struct Flood<'c, 'm> {
    /// The copy, in which the visited processors are busy.
    copy: &'c mut Occupancy<'m>,
    /// The free processors from which the visit goes on.
    seeds: &'c mut [Word],
}

impl Flood<'_, '_> {
    /// Adds the free ones of these processors of a word to the seeds. Returns whether there are
    /// any.
    fn seed(&mut self, word: usize, bits: Word) -> bool {
        let busy = self.copy.busy_rows().get(word);
        let bits = busy.map_or(0, |busy| bits & !busy);
        if bits != 0 {
            self.seeds[word] |= bits;
        }
        bits != 0
    }

    /// Visits the runs of a word that have seeds.
    #[inline]
    fn fill(&mut self, word: usize) -> Word {
        let seeds = mem::take(&mut self.seeds[word]);
        if seeds == 0 {
            return 0;
        }
        let runs = filled(seeds, !self.copy.busy_rows()[word]);
        self.copy.occupy_bits(word, runs);
        runs
    }
}

/// Grows a set around a submesh, which is busy in this copy of the occupancy: occupies this number
/// of further processors. Each pass goes over the mesh in row-major order and adds the free
/// neighbours of the set as it was before the pass. Such neighbours are neighbours of the latest
/// layer, the processors that the pass before added. Returns whether there were enough processors.
///
/// `scratch` has as many words as the occupancy.
///
/// # Time complexity
///
/// O(processors added * words in a row), and O(words) to begin with.
pub(crate) fn grow(
    copy: &mut Occupancy<'_>,
    around: Submesh,
    missing: u32,
    scratch: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> bool {
    let (words, stride) = (copy.busy_rows().len(), copy.stride());
    let height = (words / stride) as u32;
    let layer = &mut scratch[..words];
    layer.fill(0);
    // The rows with processors of the latest layer, a bit each.
    let mut rows = [0; words_for(MESH_SIDE_MAX as u32)];
    let rows = &mut rows[..words_for(height)];
    // The submesh is the first layer.
    copy.layout().words(around.into(), |word, bits| {
        layer[word] = bits;
        let row = (word / stride) as u32;
        rows[(row / WORD_BITS) as usize] |= 1 << (row % WORD_BITS);
        true
    });
    let mut growth = Growth {
        stride,
        copy,
        layer,
        missing,
        below: [0; STRIDE_MAX],
        behind: 0,
    };
    let mut any = true;
    while any && growth.missing > 0 {
        any = false;
        let mut before = 0;
        for at in 0..rows.len() {
            let own = rows[at];
            let after = rows.get(at + 1).copied().unwrap_or(0);
            // Rows with processors of the layer, and the rows next to them.
            let mut beside = own | own << 1 | own >> 1;
            beside |= before >> (WORD_BITS - 1) | after << (WORD_BITS - 1);
            before = own;
            rows[at] = 0;
            let first = at as u32 * WORD_BITS;
            beside &= ones(height - first);
            draft.poll();
            while beside != 0 {
                let bit = beside.trailing_zeros();
                beside &= beside - 1;
                if growth.add_in((first + bit) as usize) {
                    rows[at] |= 1 << bit;
                    any = true;
                }
            }
        }
    }
    growth.missing == 0
}

/// A set that grows by layers.
///
/// A pass reads the old layer and writes the new one into the same words, row by row from the
/// bottom. The part of the old layer in the row below, which the pass still needs, is kept in
/// `below`:
///
/// ```text
///   row above    old layer   ----+
///   own row      old layer   <---+--- left << 1, right >> 1, and carries between words
///   row below    new layer       |
///   `below`      old layer   ----+    AND free processors: the new layer of the own row
/// ```
struct Growth<'s, 'm> {
    stride: usize,
    /// The copy, in which the set is busy, too.
    copy: &'s mut Occupancy<'m>,
    /// The processors that the pass before has added; in rows that this pass has seen, the
    /// processors that it has added.
    layer: &'s mut [Word],
    /// How many further processors the set needs.
    missing: u32,
    /// The processors that the pass before has added in the row below `behind`.
    below: [Word; STRIDE_MAX],
    behind: usize,
}

impl Growth<'_, '_> {
    /// Adds the processors that this pass adds in its next row. Returns whether there are any.
    // A function of its own, so that registers suffice.
    #[inline(never)]
    fn add_in(&mut self, row: usize) -> bool {
        let stride = self.stride;
        let layer = &mut *self.layer;
        let first = row * stride;
        // Rows that the pass leaves out have no processors of the layer.
        let from_below = Word::from(row == self.behind).wrapping_neg();
        self.behind = row + 1;
        let (mut any, mut before) = (0, 0);
        for (at, below) in (first..first + stride).zip(&mut self.below) {
            let own = layer[at];
            let mut beside = own << 1 | own >> 1 | before >> (WORD_BITS - 1) | *below & from_below;
            if at + 1 < first + stride {
                beside |= layer[at + 1] << (WORD_BITS - 1);
            }
            if let Some(above) = layer.get(at + stride) {
                beside |= above;
            }
            (before, *below) = (own, own);
            let mut added = beside & !self.copy.busy_rows()[at];
            if added != 0 {
                added = take_ones(added, &mut self.missing);
                self.copy.occupy_bits(at, added);
                any |= added;
            }
            layer[at] = added;
        }
        any != 0
    }
}

/// The lowest set bits of a word, at most `missing` of them. Their number is subtracted from
/// `missing`.
// The bits are taken one by one, as a word has few of them.
fn take_ones(word: Word, missing: &mut u32) -> Word {
    let mut rest = word;
    while rest != 0 && *missing > 0 {
        rest &= rest - 1;
        *missing -= 1;
    }
    word & !rest
}
