//! The search for a free subcube, over words of nodes.
//!
//! The nodes at which a free subcube of given extents starts are found for all nodes at once: a node is left if it
//! and those that follow it around the ring of a dimension are free. A dimension of extent e takes log2(e) steps,
//! each the AND of the bitmap with itself, turned around the rings of that dimension.

use super::failed::Failed;
use super::notation::Notations;
use super::{Cube, Digits, Notation, Radices, Subcube};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::word::{WORD_BITS, Wide, Word, ones};

/// Which orders of a request's radices are laid along the dimensions of a notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orders {
    /// The request's own alone.
    AsRequested,
    /// The request's own, then every other, each once.
    All,
}

impl Orders {
    /// Those that may serve the request.
    pub(crate) const fn of(request: &Request) -> Orders {
        match request.may_rotate() {
            true => Orders::All,
            false => Orders::AsRequested,
        }
    }
}

/// Where a subcube may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Starts {
    /// Anywhere.
    Anywhere,
    /// Where it does not wrap around.
    Unwrapped,
}

/// Finds subcubes of one cube, and remembers where there is nothing to find.
#[derive(Debug)]
pub(crate) struct SubcubeSearch {
    cube: Cube,
    failed: Failed,
}

impl From<Cube> for SubcubeSearch {
    fn from(cube: Cube) -> SubcubeSearch {
        SubcubeSearch {
            cube,
            failed: Failed::default(),
        }
    }
}

impl SubcubeSearch {
    pub(crate) const fn cube(&self) -> Cube {
        self.cube
    }

    /// The first free subcube with these radices: the notations in the order of algorithm G*, for each the orders of the
    /// radices, for each the start positions in the dimensions that extend, then the positions in the others, both in
    /// lexicographic order.
    ///
    /// `scratch` has twice as many words as the occupancy. Radices and their number must not be larger than the cube's.
    /// Where it may start must be the same in every call.
    ///
    /// # Time complexity
    ///
    /// O(notations * orders * m * log k * words).
    pub(crate) fn first_subcube(
        &mut self,
        occupancy: &Occupancy<'_>,
        radices: Radices,
        orders: Orders,
        starts: Starts,
        scratch: &mut [Word],
    ) -> Option<Subcube> {
        self.unless_known(occupancy, radices, orders, |cube| {
            first_subcube(occupancy, cube, radices, orders, starts, scratch)
        })
    }

    /// What `search` finds, which is not asked where it is known that there is nothing.
    pub(crate) fn unless_known(
        &mut self,
        occupancy: &Occupancy<'_>,
        radices: Radices,
        orders: Orders,
        search: impl FnOnce(Cube) -> Option<Subcube>,
    ) -> Option<Subcube> {
        if self.failed.has(occupancy, radices, orders) {
            return None;
        }
        let found = search(self.cube);
        if found.is_none() {
            self.failed.note(radices, orders);
        }
        found
    }
}

/// [`SubcubeSearch::first_subcube`] without a memory.
fn first_subcube(
    occupancy: &Occupancy<'_>,
    cube: Cube,
    radices: Radices,
    orders: Orders,
    starts: Starts,
    scratch: &mut [Word],
) -> Option<Subcube> {
    let requested = radices.digits();
    let mut notations = Notations::new(cube.n, requested.len() as u8);
    while let Some(notation) = notations.next() {
        let mut order = requested;
        // The most dimensions after which no node was left, over all orders.
        let mut exhausted = 0;
        loop {
            match first_along(occupancy, cube, notation, &order, starts, scratch) {
                Ok(subcube) => return Some(subcube),
                Err(NoneLeft { dimensions }) => {
                    exhausted = exhausted.max(dimensions);
                    if orders == Orders::AsRequested
                        || !next_order(&mut order, &requested, dimensions)
                    {
                        break;
                    }
                }
            }
        }
        notations.leave_out(exhausted);
    }
    None
}

/// The next order of the radices with other leftmost `exhausted` ones, around the circle of all distinct orders in
/// lexicographic order. False when the circle ends, which it does at the `first` one.
fn next_order(order: &mut Digits, first: &Digits, exhausted: usize) -> bool {
    let order = &mut order.digits[..usize::from(order.len)];
    // All with the same beginning follow each other, so the circle may end among them.
    if order[..exhausted] == first[..exhausted] && *order < **first {
        return false;
    }
    order[exhausted..].sort_unstable_by(|one, other| other.cmp(one));
    match order.windows(2).rposition(|pair| pair[0] < pair[1]) {
        Some(at) => {
            // There is one, `order[at + 1]` at least.
            let larger = order.iter().rposition(|&radix| radix > order[at]);
            order.swap(at, larger.unwrap_or(at));
            order[at + 1..].reverse();
        }
        None => order.reverse(),
    }
    *order != **first
}

/// There is no free subcube: no node was left after so many of the dimensions in which it was to extend.
pub(crate) struct NoneLeft {
    dimensions: usize,
}

/// The first free subcube with these radices along the dimensions in which the notation extends.
pub(crate) fn first_along(
    occupancy: &Occupancy<'_>,
    cube: Cube,
    notation: Notation,
    radices: &[u16],
    starts: Starts,
    scratch: &mut [Word],
) -> Result<Subcube, NoneLeft> {
    let busy = occupancy.busy_rows();
    let (bases, spare) = scratch.split_at_mut(busy.len());
    let spare = &mut spare[..busy.len()];
    for (base, busy) in bases.iter_mut().zip(busy) {
        *base = !busy;
    }
    for ((dimension, &radix), dimensions) in notation.stars().zip(radices).zip(1..) {
        reduce(cube, dimension, radix, bases, spare);
        if starts == Starts::Unwrapped {
            keep_below(cube, dimension, cube.k - radix + 1, bases);
        }
        if bases.iter().all(|&word| word == 0) {
            return Err(NoneLeft { dimensions });
        }
    }
    for (dimension, &radix) in notation.stars().zip(radices) {
        // With all nodes of a ring, every start is the same subcube.
        let around = radix == cube.k;
        keep_least(cube, dimension, if around { 1 } else { cube.k }, bases);
    }
    for dimension in notation.selects() {
        keep_least(cube, dimension, cube.k, bases);
    }
    // One node is left; none only if none was free at first.
    let Some(word) = bases.iter().position(|&word| word != 0) else {
        return Err(NoneLeft { dimensions: 0 });
    };
    let first = word as u32 * WORD_BITS + bases[word].trailing_zeros();
    // A subcube's last node is its first one, turned around each ring by the extent less one.
    let mut last = first;
    for (dimension, &radix) in notation.stars().zip(radices) {
        let (k, stride) = (u32::from(cube.k), cube.stride(dimension));
        let digit = first / stride % k;
        let turned = (digit + u32::from(radix) - 1) % k;
        last = last + turned * stride - digit * stride;
    }
    Ok(Subcube::from_numbers(cube, first as u16, last as u16))
}

/// Leaves the nodes from which on `extent` nodes around the ring of a dimension are set. `spare` is as long as `bases`.
fn reduce(cube: Cube, dimension: usize, extent: u16, bases: &mut [Word], spare: &mut [Word]) {
    let mut known = 1;
    while known < extent {
        let step = known.min(extent - known);
        and_turned(cube, dimension, step, bases, spare);
        bases.copy_from_slice(spare);
        known += step;
    }
}

/// `into = from & from'`, where `from'` has for each node the one `by` steps further around the ring.
fn and_turned(cube: Cube, dimension: usize, by: u16, from: &[Word], into: &mut [Word]) {
    let stride = cube.stride(dimension);
    let (ahead, behind) = (u32::from(by) * stride, u32::from(cube.k - by) * stride);
    if cube.k.is_power_of_two() && stride >= WORD_BITS {
        // The rings go through whole words.
        let period = (stride / WORD_BITS) as usize * usize::from(cube.k);
        let ahead = (ahead / WORD_BITS) as usize;
        for (from, into) in from.chunks_exact(period).zip(into.chunks_exact_mut(period)) {
            let (inside, wrapped) = into.split_at_mut(period - ahead);
            and(from, &from[ahead..], inside);
            and(&from[period - ahead..], from, wrapped);
        }
        return;
    }
    let mut inside = Below::new(cube, dimension, cube.k - by);
    if cube.k.is_power_of_two() && stride * u32::from(cube.k) <= WORD_BITS {
        // The rings lie within the words, in each at the same places.
        let inside = inside.next_word();
        for (into, &from) in into.iter_mut().zip(from) {
            *into = from & (from >> ahead & inside | from << behind & !inside);
        }
        return;
    }
    let (ahead_words, ahead_bits) = ((ahead / WORD_BITS) as usize, ahead % WORD_BITS);
    let (behind_words, behind_bits) = ((behind / WORD_BITS) as usize, behind % WORD_BITS);
    let word = |at: Option<usize>| at.and_then(|at| from.get(at)).copied().unwrap_or(0);
    for (at, into) in into.iter_mut().enumerate() {
        let (low, high) = (at + ahead_words, at + ahead_words + 1);
        let following = join(word(Some(low)), word(Some(high)), ahead_bits);
        let high = at.checked_sub(behind_words);
        let low = high.and_then(|high| high.checked_sub(1));
        // A shift up by some bits is one down by the others.
        let wrapped = match behind_bits {
            0 => word(high),
            bits => join(word(low), word(high), WORD_BITS - bits),
        };
        let inside = inside.next_word();
        *into = from[at] & (following & inside | wrapped & !inside);
    }
}

/// `into = one & other`, as far as all of them go.
fn and(one: &[Word], other: &[Word], into: &mut [Word]) {
    for ((into, one), other) in into.iter_mut().zip(one).zip(other) {
        *into = one & other;
    }
}

/// The word that begins `bits` above the beginning of `low`; `bits` is less than a word.
#[inline]
fn join(low: Word, high: Word, bits: u32) -> Word {
    match bits {
        0 => low,
        bits => low >> bits | high << (WORD_BITS - bits),
    }
}

/// Leaves the nodes whose digit in a dimension is below `bound`, 1 to k.
fn keep_below(cube: Cube, dimension: usize, bound: u16, bases: &mut [Word]) {
    let stride = cube.stride(dimension);
    if cube.k.is_power_of_two() && stride >= WORD_BITS {
        let words = (stride / WORD_BITS) as usize;
        for ring in bases.chunks_exact_mut(words * usize::from(cube.k)) {
            ring[words * usize::from(bound)..].fill(0);
        }
        return;
    }
    let mut below = Below::new(cube, dimension, bound);
    if cube.k.is_power_of_two() && stride * u32::from(cube.k) <= WORD_BITS {
        let below = below.next_word();
        bases.iter_mut().for_each(|word| *word &= below);
        return;
    }
    for word in bases {
        *word &= below.next_word();
    }
}

/// Leaves the nodes with the least digit in a dimension, which is known to be below `bound`.
fn keep_least(cube: Cube, dimension: usize, bound: u16, bases: &mut [Word]) {
    // Invariant: the digit is at least `low` and below `high`.
    let (mut low, mut high) = (0, bound);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let mut below = Below::new(cube, dimension, middle);
        match bases.iter().any(|&word| word & below.next_word() != 0) {
            true => high = middle,
            false => low = middle,
        }
    }
    keep_below(cube, dimension, high, bases);
}

/// The nodes whose digit in a dimension is below a bound, a word at a time from the first on.
///
/// The pattern has a period of `k^(dimension + 1)` nodes, of which the first `bound * k^dimension` are set.
struct Below {
    period: u32,
    /// Nodes at the beginning of each period.
    set: u32,
    /// The next word's first node, modulo the period.
    phase: u32,
    /// The length of a word, modulo the period.
    step: u32,
    /// Two words of the pattern from phase 0 on, where the period is shorter than a word.
    pattern: Wide,
}

impl Below {
    #[inline]
    fn new(cube: Cube, dimension: usize, bound: u16) -> Below {
        let stride = cube.stride(dimension);
        let period = stride * u32::from(cube.k);
        let set = stride * u32::from(bound);
        let mut pattern: Wide = 0;
        if period < WORD_BITS {
            pattern = Wide::from(ones(set));
            let mut len = period;
            while len < Wide::BITS {
                pattern |= pattern << len;
                len *= 2;
            }
        }
        Below {
            period,
            set,
            phase: 0,
            step: WORD_BITS % period,
            pattern,
        }
    }

    #[inline]
    fn next_word(&mut self) -> Word {
        let phase = self.phase;
        let next = phase + self.step;
        self.phase = if next < self.period {
            next
        } else {
            next - self.period
        };
        if self.period < WORD_BITS {
            return (self.pattern >> phase) as Word;
        }
        let current = ones(self.set.saturating_sub(phase));
        // Where the next period begins.
        let turn = self.period - phase;
        current | ones(turn.saturating_add(self.set)) & !ones(turn)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn orders_go_once_around_from_any_of_them() {
        for first in [[2, 3, 3, 4], [4, 3, 3, 2], [3, 2, 4, 3]] {
            let first = Digits::new(4, |at| first[at]);
            for exhausted in 1..=4 {
                let mut order = first;
                let mut seen = std::vec![order[..exhausted].to_vec()];
                while next_order(&mut order, &first, exhausted) {
                    seen.push(order[..exhausted].to_vec());
                }
                // Every beginning once, but that of the first order may come again at the end.
                let last = seen.len() - 1;
                if seen[last] == seen[0] && last > 0 {
                    seen.pop();
                }
                let len = seen.len();
                seen.sort();
                seen.dedup();
                assert_eq!((len, seen.len()), ([3, 7, 12, 12][exhausted - 1], len));
            }
        }
        let mut none = Digits::default();
        assert!(!next_order(&mut none, &Digits::default(), 0));
    }

    /// Cubes whose periods are shorter than a word, a word, and longer, with padding and without.
    const CUBES: [(u16, u8); 9] = [
        (2, 1),
        (3, 3),
        (4, 3),
        (5, 3),
        (2, 8),
        (7, 3),
        (40, 2),
        (16, 2),
        (3, 6),
    ];

    proptest! {
        #[test]
        fn reduced_bits_are_those_of_a_node_by_node_scan(
            which in 0..CUBES.len(),
            dimension in 0usize..8,
            extent in 1u16..40,
            bound in 1u16..40,
            noise in prop::collection::vec((any::<Word>(), any::<Word>()), 1 + 1600 / WORD_BITS as usize),
        ) {
            let (k, n) = CUBES[which];
            let cube = Cube::new(k, n).unwrap();
            let dimension = dimension % usize::from(n);
            let (extent, bound) = ((extent - 1) % k + 1, (bound - 1) % k + 1);
            let nodes = cube.nodes();
            let words = nodes.div_ceil(WORD_BITS) as usize;
            let mut bases: Vec<Word> = noise[..words].iter().map(|(a, b)| a | b).collect();
            if !nodes.is_multiple_of(WORD_BITS) {
                bases[words - 1] &= ones(nodes % WORD_BITS);
            }
            let bit = |bases: &[Word], node: u32| bases[(node / WORD_BITS) as usize] >> (node % WORD_BITS) & 1 == 1;
            let stride = cube.stride(dimension);
            let digit = |node: u32| node / stride % u32::from(k);
            let expected: Vec<bool> = (0..nodes)
                .map(|node| (0..u32::from(extent)).all(|by| {
                    let at = digit(node);
                    bit(&bases, node - at * stride + (at + by) % u32::from(k) * stride)
                }))
                .collect();
            let mut spare = std::vec![0; words];
            reduce(cube, dimension, extent, &mut bases, &mut spare);
            for node in 0..words as u32 * WORD_BITS {
                prop_assert_eq!(bit(&bases, node), expected.get(node as usize) == Some(&true));
            }
            let least = (0..nodes).filter(|&node| bit(&bases, node)).map(digit).min();
            let mut rest = bases.clone();
            keep_least(cube, dimension, k, &mut rest);
            for node in 0..nodes {
                prop_assert_eq!(bit(&rest, node), bit(&bases, node) && Some(digit(node)) == least);
            }
            keep_below(cube, dimension, bound, &mut bases);
            for node in 0..nodes {
                prop_assert_eq!(bit(&bases, node), expected[node as usize] && digit(node) < u32::from(bound));
            }
        }
    }
}
