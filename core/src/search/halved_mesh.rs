//! The tree of halves of a two-dimensional mesh, and the searches in it: [`HalvedMesh`].
//!
//! The root is the whole mesh, whose sides are powers of two, not higher than wide. Each node is
//! halved across its longer side, a square into left and right, down to single processors. The
//! rectangles of the nodes follow from the sides of the mesh, and their numbers of free processors
//! follow from the occupancy. So the tree is not stored: a search holds one node of each level.
//!
//! ```text
//!   y
//!   3  c c b b a a a a        8 x 4 is halved into the square at <0, 0> and a,
//!   2  c c b b a a a a        that square into 2 x 4 and b, that into 2 x 2 and c,
//!   1  e d b b a a a a        that into 1 x 2 and d, and that into two processors.
//!   0  . d b b a a a a
//!      0 1 2 3 4 5 6 7  x
//! ```

use heapless::Vec;

use super::aligned::Aligned;
use super::fill::{fill_columns, free_in};
use super::gather::propose_difference;
use crate::draft::Draft;
use crate::grid::NODES_MAX;
use crate::mesh::{Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::word::Word;

/// The nodes that wait during a search: one of each level below the root, and one more while its
/// sibling comes next.
const WAITING_MAX: usize = NODES_MAX.ilog2() as usize + 2;

/// The parts of a ratio of 1.
pub(crate) const RATIO_ONE: u64 = 1_000_000;

/// The order in which the two halves of a node are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The left or lower half first.
    LeftFirst,
    /// The half with fewer free processors first, if it has as many as are wanted and if,
    /// afterwards, it has at most this many fewer than the other half; else the other half.
    Tolerance(u64),
    /// [`Order::Tolerance`] of this share of the node's processors, in parts of [`RATIO_ONE`].
    Ratio(u64),
}

impl Order {
    /// Whether the right or upper half comes first. Halves with equally many free processors are
    /// searched as with `LeftFirst`.
    fn right_first(self, node: Submesh, left: u32, right: u32, wanted: u32) -> bool {
        if left == right {
            return false;
        }
        let (fewer, more) = (left.min(right), left.max(right));
        // The difference to the other half, plus the processors that are wanted.
        let imbalance = u64::from(more - fewer + wanted);
        let within = match self {
            Order::LeftFirst => return false,
            Order::Tolerance(tolerance) => imbalance <= tolerance,
            Order::Ratio(ratio) => {
                imbalance * RATIO_ONE <= ratio.saturating_mul(u64::from(node.area()))
            }
        };
        let fewer_first = fewer >= wanted && within;
        fewer_first == (right < left)
    }
}

/// The halves of a rectangle, left and right or lower and upper. Not for a single processor.
pub(crate) const fn halves(node: Submesh) -> [Submesh; 2] {
    let (mut first, mut second) = (node, node);
    if node.sides.w >= node.sides.h {
        first.sides.w /= 2;
        second.sides.w = first.sides.w;
        second.base.x += first.sides.w;
    } else {
        first.sides.h /= 2;
        second.sides.h = first.sides.h;
        second.base.y += first.sides.h;
    }
    [first, second]
}

/// The sibling of this node (the other half of its parent) and the parent; `None` for the root.
fn sibling_and_parent(node: Submesh, root: Sides) -> Option<(Submesh, Submesh)> {
    if node.sides == root {
        return None;
    }
    let (mut sibling, mut parent) = (node, node);
    // Bases are multiples of the sides, so those of two halves differ in one bit. Squares that are
    // not as high as the root are halves of upright rectangles, all other nodes left or right
    // halves.
    let Sides { w, h } = node.sides;
    if node.sides.is_square() && h < root.h {
        sibling.base.y ^= h;
        parent.base.y &= !h;
        parent.sides.h *= 2;
    } else {
        sibling.base.x ^= w;
        parent.base.x &= !w;
        parent.sides.w *= 2;
    }
    Some((sibling, parent))
}

/// The sides of the nodes of 2^exponent processors.
fn sides_of(exponent: u32, root: Sides) -> Sides {
    let h = root.h.min(1 << exponent.div_ceil(2));
    Sides::new(((1 << exponent) / u32::from(h)) as u16, h)
}

/// Where the search for the next part of a request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextPart {
    /// At the root.
    Independent,
    /// At the parent of the latest rectangle. If there is none below that parent, the search goes
    /// on at the parent's parent, and so on up to the root.
    Dependent,
}

/// A search for processors in the tree of halves, for one request.
pub(crate) struct HalvedMesh<'a, 'm> {
    root: Submesh,
    occupancy: &'a Occupancy<'m>,
    /// A copy of the occupancy, in which the selected rectangles are busy.
    copy: Occupancy<'a>,
    /// The words for the free nodes of a size.
    bases: &'a mut [Word],
}

impl<'a, 'm> HalvedMesh<'a, 'm> {
    /// The tree of a mesh whose sides are powers of two, not higher than wide. `scratch` has as
    /// many words as the occupancy, for [`HalvedMesh::propose_parts`] twice as many.
    pub(crate) fn new(occupancy: &'a Occupancy<'m>, scratch: &'a mut [Word]) -> Self {
        let grid = occupancy.grid();
        let (copy, bases) = occupancy.copy_in(scratch);
        HalvedMesh {
            root: Submesh::new(0, 0, grid.side(0), grid.side(1)),
            occupancy,
            copy,
            bases,
        }
    }

    /// Proposes `processors` processors of one rectangle of the smallest size that has enough: the
    /// first, in the order of the search, with enough free ones. Returns whether there is one.
    pub(crate) fn propose_one(
        mut self,
        processors: u32,
        order: Order,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let Some(node) = self.find(processors, order, draft) else {
            return false;
        };
        fill_columns(&mut self.copy, node, processors, false);
        propose_difference(self.copy, self.occupancy, draft);
        true
    }

    /// Proposes `processors` processors as whole rectangles, one for each binary digit of their
    /// number, the largest first. For each rectangle that is not found it searches for two of half
    /// the size. Returns whether all were found, which is the case if enough processors are free.
    ///
    /// ```text
    ///   3  a a . . . . . .      13 = 8 + 4 + 1 on a free 8 x 4: a, b and c, each the first
    ///   2  a a c . . . . .      node of its size from left to right.
    ///   1  a a b b . . . .      Were no node of 8 free, three of 4 would be searched for:
    ///   0  a a b b . . . .      two instead of a, and b.
    /// ```
    pub(crate) fn propose_parts(
        self,
        processors: u32,
        order: Order,
        parts: NextPart,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let HalvedMesh {
            root,
            occupancy,
            mut copy,
            bases,
        } = self;
        let mut latest: Option<Submesh> = None;
        // The number of rectangles of one size that were not found. Once a rectangle was not found,
        // no other of its size is found.
        let mut missing = 0;
        for exponent in (0..=processors.ilog2()).rev() {
            missing = 2 * missing + (processors >> exponent & 1);
            if missing == 0 {
                continue;
            }
            let sides = sides_of(exponent, root.sides);
            let mut free = FreeNodes {
                root: root.sides,
                sides,
                bases: Aligned::new(copy.busy_rows(), copy.stride(), sides, bases),
            };
            while missing > 0 {
                // From left to right, the next rectangle is behind the latest of its size, as there
                // is none before the latest.
                let is_near = |latest: &Submesh| {
                    parts == NextPart::Dependent
                        || order == Order::LeftFirst && latest.sides == sides
                };
                let around = match latest.filter(is_near) {
                    Some(latest) => free.beside(latest),
                    None => free.bases.is_any_in(root).then_some(root),
                };
                // The search has looked at the other halves on the way up and down.
                draft.poll();
                let Some(around) = around else {
                    break;
                };
                let node = free.first(around, order, &copy);
                copy.take(node.into());
                free.bases.remove(node);
                latest = Some(node);
                missing -= 1;
            }
        }
        propose_difference(copy, occupancy, draft);
        missing == 0
    }

    /// Proposes the first free processors in the order of the leaves, left before right and lower
    /// before upper. Returns whether there are that many.
    pub(crate) fn propose_first(mut self, processors: u32, draft: &mut Draft<'_, '_>) -> bool {
        let (mut node, mut missing) = (self.root, processors);
        if self.copy.free() < missing {
            return false;
        }
        // Invariant: as many as are missing are free in the node.
        while node.area() > missing {
            let [left, right] = halves(node);
            let free = free_in(&self.copy, left);
            node = if free >= missing {
                left
            } else {
                missing -= free;
                self.copy.occupy(left.into());
                right
            };
        }
        self.copy.occupy(node.into());
        propose_difference(self.copy, self.occupancy, draft);
        true
    }

    /// The first node, in the order of a depth-first search, of the smallest size that has as many
    /// processors as are wanted, and in which as many are free.
    fn find(&self, wanted: u32, order: Order, draft: &mut Draft<'_, '_>) -> Option<Submesh> {
        let size = wanted.next_power_of_two();
        let mut waiting: Vec<(Submesh, u32), WAITING_MAX> = Vec::new();
        let mut next = Some((self.root, self.copy.free()));
        let mut found = None;
        while let Some((node, free)) = next.or_else(|| waiting.pop()) {
            next = None;
            if free < wanted {
                continue;
            }
            if node.area() <= size {
                found = Some(node);
                break;
            }
            draft.poll();
            let [left, right] = halves(node);
            let left_free = free_in(&self.copy, left);
            let right_free = free - left_free;
            let [first, second] = if order.right_first(node, left_free, right_free, wanted) {
                [(right, right_free), (left, left_free)]
            } else {
                [(left, left_free), (right, right_free)]
            };
            // There is room for one node of each level.
            let _ = waiting.push(second);
            next = Some(first);
        }
        found
    }
}

/// The free nodes of one size.
struct FreeNodes<'a> {
    root: Sides,
    sides: Sides,
    bases: Aligned<'a>,
}

impl FreeNodes<'_> {
    /// The closest node beside this full node that has a free node of this size: the other half of
    /// its parent, or of its parent's parent, and so on.
    ///
    /// ```text
    ///   3  3 3 4 4      from the full node n the search looks at 1, 2, 3 and 4,
    ///   2  3 3 4 4      and returns the first of them with a free node of this size
    ///   1  1 2 4 4
    ///   0  n 2 4 4
    /// ```
    // A function of its own, so that the variables of its loop are in registers.
    #[inline(never)]
    fn beside(&self, full: Submesh) -> Option<Submesh> {
        let mut node = full;
        loop {
            let (sibling, parent) = sibling_and_parent(node, self.root)?;
            if self.bases.is_any_in(sibling) {
                return Some(sibling);
            }
            node = parent;
        }
    }

    /// The first free node of this size in the order of a depth-first search of this node, in which
    /// there is one. Each step goes to a half that has a free node; if both have one, `order`
    /// chooses.
    ///
    /// ```text
    ///   1  # # a .      a search for 1 x 1 from left to right, of 4 x 2:
    ///   0  # # # .      the left half has none; of the right one the left half; there a
    /// ```
    #[inline(never)]
    fn first(&self, around: Submesh, order: Order, occupancy: &Occupancy<'_>) -> Submesh {
        let wanted = self.sides.area();
        let mut node = around;
        // The number of free processors in the node, if it is known.
        let mut free = None;
        while node.sides != self.sides {
            let [left, right] = halves(node);
            let is_right = if !self.bases.is_any_in(left) {
                free = None;
                true
            } else if order == Order::LeftFirst || !self.bases.is_any_in(right) {
                free = None;
                false
            } else {
                let left_free = free_in(occupancy, left);
                let right_free = match free {
                    Some(free) => free - left_free,
                    None => free_in(occupancy, right),
                };
                let is_right = order.right_first(node, left_free, right_free, wanted);
                free = Some(if is_right { right_free } else { left_free });
                is_right
            };
            node = if is_right { right } else { left };
        }
        node
    }
}
