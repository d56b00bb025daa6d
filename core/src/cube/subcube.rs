//! What is held of a cube: [`Subcube`].

use core::fmt;

use super::{Cube, DIMENSIONS_MAX, Digits};
use crate::machine::NodeId;
use crate::word::{Span, WORD_BITS, Word};

/// A part of a cube: in each dimension consecutive nodes, the last position being followed by the first.
///
/// It is kept as its first and its last node: from the digit of the one upwards to the digit of the other, in
/// each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "(Cube, u16, u16)", into = "(Cube, u16, u16)")
)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Subcube {
    cube: Cube,
    first: u16,
    last: u16,
}

impl Subcube {
    /// The subcube from `first` upwards, in each dimension, to `last`. `None` if one of them is not in the cube.
    ///
    /// ```
    /// use meshalloc::{Cube, NodeId, Subcube};
    /// let torus = Cube::new(4, 2).unwrap();
    /// let around = Subcube::between(torus, NodeId(7), NodeId(8)).unwrap();
    /// assert_eq!(around.to_string(), "(1, 3)+(2, 2)");
    /// ```
    pub fn between(cube: Cube, first: NodeId, last: NodeId) -> Option<Subcube> {
        let number = |node: NodeId| (node.0 < cube.nodes()).then_some(node.0 as u16);
        Some(Subcube {
            cube,
            first: number(first)?,
            last: number(last)?,
        })
    }

    /// The subcube with this start position and extent in each dimension, dimension 0 last. `None` if there are not
    /// n positions below k and n extents of 1 to k.
    pub fn new(cube: Cube, start: &[u16], extents: &[u16]) -> Option<Subcube> {
        let k = u32::from(cube.k);
        if extents.len() != start.len()
            || !extents.iter().all(|&extent| (1..=cube.k).contains(&extent))
        {
            return None;
        }
        let first = cube.node(start)?;
        let last = Digits::new(start.len(), |at| {
            ((u32::from(start[at]) + u32::from(extents[at]) - 1) % k) as u16
        });
        Subcube::between(cube, first, cube.node(&last)?)
    }

    /// The subcube between two nodes that are known to be in the cube.
    #[inline]
    pub(crate) const fn from_numbers(cube: Cube, first: u16, last: u16) -> Subcube {
        Subcube { cube, first, last }
    }

    /// The cube it is a part of.
    pub const fn cube(self) -> Cube {
        self.cube
    }

    /// The first node: the start position in each dimension.
    pub const fn first(self) -> NodeId {
        NodeId(self.first as u32)
    }

    /// The last node.
    pub const fn last(self) -> NodeId {
        NodeId(self.last as u32)
    }

    /// The start position in each dimension, dimension 0 last.
    pub fn start(self) -> Digits {
        self.cube.address(self.first()).unwrap_or_default()
    }

    /// The extent in each dimension, 1 to k, dimension 0 last.
    pub fn extents(self) -> Digits {
        let mut spans = self.spans();
        let mut extents = Digits::new(usize::from(self.cube.n), |_| 0);
        for extent in extents.digits[..usize::from(self.cube.n)].iter_mut().rev() {
            // As many spans as dimensions.
            *extent = spans.next().map_or(0, |(_, len)| len);
        }
        extents
    }

    /// Start position and extent of each dimension, dimension 0 first.
    fn spans(self) -> impl Iterator<Item = (u16, u16)> {
        let k = self.cube.k;
        let (mut first, mut last) = (self.first, self.last);
        (0..self.cube.n).map(move |_| {
            let (from, to) = (first % k, last % k);
            (first, last) = (first / k, last / k);
            let len = if to >= from { to - from } else { k - from + to };
            (from, len + 1)
        })
    }

    /// The number of processors, the product of the extents.
    // Apart from what a mesh does in the same place, whose code it would only push out.
    #[inline(never)]
    pub const fn area(self) -> u32 {
        let k = self.cube.k;
        let (mut first, mut last) = (self.first, self.last);
        let mut area = 1;
        let mut dimension = 0;
        while dimension < self.cube.n {
            let (from, to) = (first % k, last % k);
            area *= 1 + if to >= from { to - from } else { k - from + to } as u32;
            first /= k;
            last /= k;
            dimension += 1;
        }
        area
    }

    /// Whether the node belongs to the subcube.
    #[inline(never)]
    pub fn contains(self, node: NodeId) -> bool {
        let k = u32::from(self.cube.k);
        let mut rest = node.0;
        let mut spans = self.spans();
        node.0 < self.cube.nodes()
            && spans.all(|(from, len)| {
                let digit = rest % k;
                rest /= k;
                (digit + k - u32::from(from)) % k < u32::from(len)
            })
    }

    /// Whether the two share a processor. Those of different cubes share none.
    #[inline(never)]
    pub fn overlaps(self, other: Subcube) -> bool {
        let k = u32::from(self.cube.k);
        let meet = |(a, a_len): (u16, u16), (b, b_len): (u16, u16)| {
            let distance = |from: u16, to: u16| (u32::from(to) + k - u32::from(from)) % k;
            distance(a, b) < u32::from(a_len) || distance(b, a) < u32::from(b_len)
        };
        let mut both = self.spans().zip(other.spans());
        self.cube == other.cube && both.all(|(one, other)| meet(one, other))
    }

    /// Calls `visit` with words of the occupancy and the subcube's bits in them, in ascending order, until it returns
    /// false. Returns whether it never did. A word may be named more than once.
    ///
    /// The lowest dimensions, whose nodes together fit into a word, are put together as one pattern, which is laid down
    /// wherever the higher dimensions say; if they are full, runs of nodes are laid down instead.
    #[inline(never)]
    pub(crate) fn words(self, mut visit: impl FnMut(usize, Word) -> bool) -> bool {
        let k = u32::from(self.cube.k);
        let n = usize::from(self.cube.n);
        let mut spans = [(0, 0); DIMENSIONS_MAX];
        for (place, (from, len)) in spans.iter_mut().zip(self.spans()) {
            *place = (u32::from(from), u32::from(len));
        }
        let spans = &spans[..n];
        // The nodes of the full dimensions at the bottom are neighbours.
        let full = spans.iter().take_while(|&&(_, len)| len == k).count();
        let low = WORD_BITS.ilog(k) as usize;
        if full >= low.min(n) {
            let Some(&(from, len)) = spans.get(full) else {
                return visit_span(Span::new(0, self.cube.nodes()), &mut visit);
            };
            let unit = self.cube.stride(full);
            // What wraps around comes first.
            let wrapped = (from + len).saturating_sub(k);
            return offsets(self.cube, &spans[full + 1..], full + 1, &mut |offset| {
                let run = |at: u32, len: u32, visit: &mut _| {
                    len == 0 || visit_span(Span::new(offset + at * unit, len * unit), visit)
                };
                run(0, wrapped, &mut visit) && run(from, len - wrapped, &mut visit)
            });
        }
        let low = low.min(n);
        let pattern =
            spans[..low]
                .iter()
                .zip(0..)
                .fold(1, |pattern: Word, (&(from, len), dimension)| {
                    let stride = self.cube.stride(dimension);
                    (from..from + len).fold(0, |sum, at| sum | pattern << ((at % k) * stride))
                });
        offsets(self.cube, &spans[low..], low, &mut |offset| {
            let (word, bit) = ((offset / WORD_BITS) as usize, offset % WORD_BITS);
            let over = match bit {
                0 => 0,
                bit => pattern >> (WORD_BITS - bit),
            };
            visit(word, pattern << bit) && (over == 0 || visit(word + 1, over))
        })
    }
}

/// Calls `visit` with each word of the span and its mask, until it returns false.
fn visit_span(span: Span, visit: &mut impl FnMut(usize, Word) -> bool) -> bool {
    (span.first..=span.last).all(|word| visit(word, span.mask(word)))
}

/// Calls `visit` with the number of each node whose digits from `dimension` on lie in `spans`, those below being 0,
/// in ascending order, until it returns false.
fn offsets(
    cube: Cube,
    spans: &[(u32, u32)],
    dimension: usize,
    visit: &mut impl FnMut(u32) -> bool,
) -> bool {
    let k = u32::from(cube.k);
    let mut strides = [0; DIMENSIONS_MAX];
    for (stride, dimension) in strides.iter_mut().zip(dimension..).take(spans.len()) {
        *stride = cube.stride(dimension);
    }
    // Each digit starts at its least value: 0 where the span wraps around, and then it skips to where the rest begins.
    let least = |(from, len): (u32, u32)| if from + len > k { 0 } else { from };
    let mut digits = [0; DIMENSIONS_MAX];
    let mut offset = 0;
    for ((digit, &span), stride) in digits.iter_mut().zip(spans).zip(strides) {
        *digit = least(span);
        offset += *digit * stride;
    }
    loop {
        if !visit(offset) {
            return false;
        }
        let mut at = 0;
        loop {
            let Some(&span) = spans.get(at) else {
                return true;
            };
            let (from, len) = span;
            let before = digits[at];
            let next = before + 1;
            let after = match from + len {
                end if end > k && next == end - k => from,
                end if end > k && next == k => least(span),
                end if end <= k && next == end => from,
                _ => next,
            };
            digits[at] = after;
            offset = offset + after * strides[at] - before * strides[at];
            if after > before {
                break;
            }
            at += 1;
        }
    }
}

impl TryFrom<(Cube, u16, u16)> for Subcube {
    type Error = SubcubeError;

    fn try_from((cube, first, last): (Cube, u16, u16)) -> Result<Subcube, SubcubeError> {
        Subcube::between(cube, NodeId(u32::from(first)), NodeId(u32::from(last)))
            .ok_or(SubcubeError)
    }
}

impl From<Subcube> for (Cube, u16, u16) {
    fn from(subcube: Subcube) -> (Cube, u16, u16) {
        (subcube.cube, subcube.first, subcube.last)
    }
}

/// A subcube's first or last node is not in its cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubcubeError;

impl fmt::Display for SubcubeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a subcube's first or last node is not in its cube")
    }
}

impl core::error::Error for SubcubeError {}

/// Start and extents, `(1, 3)+(2, 2)`.
impl fmt::Display for Subcube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.start(), self.extents())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn words_have_the_bits_of_the_nodes(
            (k, n) in prop::sample::select(std::vec![
                (2, 1), (3, 3), (4, 3), (5, 3), (2, 8), (7, 3), (40, 2), (16, 2), (3, 6), (70, 2), (300, 1), (64, 2), (8, 3),
            ]),
            first in any::<u32>(),
            last in any::<u32>(),
            other in any::<u32>(),
        ) {
            let cube = Cube::new(k, n).unwrap();
            let nodes = cube.nodes();
            let node = |number: u32| NodeId(number % nodes);
            let subcube = Subcube::between(cube, node(first), node(last)).unwrap();
            prop_assert_eq!(Subcube::new(cube, &subcube.start(), &subcube.extents()), Some(subcube));
            let mut words = std::vec![0; nodes.div_ceil(WORD_BITS) as usize];
            let mut before = 0;
            subcube.words(|word, bits| {
                assert!(word >= before && words[word] & bits == 0, "each bit once, in order");
                before = word;
                words[word] |= bits;
                true
            });
            let bit = |node: u32| words[(node / WORD_BITS) as usize] >> (node % WORD_BITS) & 1 == 1;
            // Digit by digit: how far a node is from the start around each ring.
            let (start, extents) = (subcube.start(), subcube.extents());
            for number in 0..nodes {
                let address = cube.address(NodeId(number)).unwrap();
                let inside = (0..usize::from(n)).all(|at| (address[at] + k - start[at]) % k < extents[at]);
                prop_assert_eq!((bit(number), subcube.contains(NodeId(number))), (inside, inside));
            }
            let held: Vec<u32> = (0..nodes).filter(|&number| bit(number)).collect();
            prop_assert_eq!(held.len() as u32, subcube.area());
            let other = Subcube::between(cube, node(last), node(other)).unwrap();
            let meet = held.iter().any(|&number| other.contains(NodeId(number)));
            prop_assert_eq!(subcube.overlaps(other), meet);
        }
    }
}
