//! Two-dimensional meshes in the words of Kim and Yoon 1995 (definitions 1 to 4, Fig. 6): a
//! rectangle has the paper's two corners, both included, and signed coordinates, so that its
//! formulas can be copied as they stand.

use std::cmp::Reverse;
use std::fmt;

use crate::grid::{Grid, NaiveMachine, Place};

/// A submesh `(<x1, y1>, <x2, y2>)`, both corners included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rect {
    /// Left column.
    pub x1: i32,
    /// Bottom row.
    pub y1: i32,
    /// Right column.
    pub x2: i32,
    /// Top row.
    pub y2: i32,
}

impl Rect {
    /// The rectangle between two corners.
    pub const fn new(x1: i32, y1: i32, x2: i32, y2: i32) -> Self {
        Rect { x1, y1, x2, y2 }
    }

    /// The rectangle with the lower left corner `<x, y>`, `w` wide and `h` high.
    pub const fn based_at(x: i32, y: i32, w: i32, h: i32) -> Self {
        Rect::new(x, y, x + w - 1, y + h - 1)
    }

    /// The paper's `lx`.
    pub const fn w(self) -> i32 {
        self.x2 - self.x1 + 1
    }

    /// The paper's `ly`.
    pub const fn h(self) -> i32 {
        self.y2 - self.y1 + 1
    }

    /// The number of nodes.
    pub const fn size(self) -> i32 {
        self.w() * self.h()
    }

    /// Whether the node is one of the rectangle's.
    pub const fn has(self, x: i32, y: i32) -> bool {
        self.x1 <= x && x <= self.x2 && self.y1 <= y && y <= self.y2
    }

    /// Whether every node of `inner` is one of the rectangle's.
    pub const fn covers(self, inner: Rect) -> bool {
        self.has(inner.x1, inner.y1) && self.has(inner.x2, inner.y2)
    }

    /// Whether the two share a node.
    pub fn overlaps(self, other: Rect) -> bool {
        self.x1.max(other.x1) <= self.x2.min(other.x2)
            && self.y1.max(other.y1) <= self.y2.min(other.y2)
    }

    /// The nodes in row-major order.
    pub fn nodes(self) -> impl Iterator<Item = (i32, i32)> {
        (self.y1..=self.y2).flat_map(move |y| (self.x1..=self.x2).map(move |x| (x, y)))
    }
}

impl fmt::Display for Rect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rect { x1, y1, x2, y2 } = self;
        write!(f, "(<{x1}, {y1}>, <{x2}, {y2}>)")
    }
}

impl From<Rect> for Place {
    fn from(rect: Rect) -> Place {
        let pair = |x: i32, y: i32| vec![x as u32, y as u32];
        Place {
            start: pair(rect.x1, rect.y1),
            extent: pair(rect.w(), rect.h()),
        }
    }
}

impl From<&Place> for Rect {
    fn from(place: &Place) -> Rect {
        let [x, y, w, h] = [
            place.start[0],
            place.start[1],
            place.extent[0],
            place.extent[1],
        ];
        Rect::based_at(x as i32, y as i32, w as i32, h as i32)
    }
}

/// Definition 2, the reservation factor `rf(S, S')`, with the signs mended: as printed, the terms
/// for what is left at the right and above would be negative whenever something is left there.
pub fn reservation_factor(s: Rect, s_prime: Rect) -> i32 {
    if !s.overlaps(s_prime) {
        return s_prime.size();
    }
    let terms = [
        (s.x1 - s_prime.x1) * s_prime.h(),
        (s_prime.x2 - s.x2) * s_prime.h(),
        s_prime.w() * (s.y1 - s_prime.y1),
        s_prime.w() * (s_prime.y2 - s.y2),
    ];
    // "max is a function that returns the largest non-negative value."
    terms.into_iter().fold(0, i32::max)
}

/// The order of definition 1: size, then squareness; then, on which the paper is silent, the lower
/// left corner in row-major order and the wider first.
fn order_of_definition_1(s: &Rect) -> (Reverse<i32>, i32, i32, i32, Reverse<i32>) {
    (
        Reverse(s.size()),
        (s.w() - s.h()).abs(),
        s.y1,
        s.x1,
        Reverse(s.w()),
    )
}

/// The candidates of `Alloc`, step 1, without repetition: at the four corners of each submesh of
/// the list that can hold the request, of the type with the larger reservation factor against that
/// submesh, or of both if they are equal.
pub fn candidates(list: &[Rect], a: i32, b: i32, may_rotate: bool) -> Vec<Rect> {
    let mut types = vec![(a, b)];
    if may_rotate && a != b {
        types.push((b, a));
    }
    let mut candidates = Vec::new();
    for &s in list {
        let corners = |&(w, h): &(i32, i32)| {
            [
                Rect::based_at(s.x1, s.y1, w, h),
                Rect::based_at(s.x2 - w + 1, s.y1, w, h),
                Rect::based_at(s.x1, s.y2 - h + 1, w, h),
                Rect::based_at(s.x2 - w + 1, s.y2 - h + 1, w, h),
            ]
        };
        let of_s: Vec<Rect> = types
            .iter()
            .filter(|&&(w, h)| w <= s.w() && h <= s.h())
            .flat_map(corners)
            .collect();
        let largest = of_s.iter().map(|&c| reservation_factor(c, s)).max();
        for c in of_s {
            if Some(reservation_factor(c, s)) == largest && !candidates.contains(&c) {
                candidates.push(c);
            }
        }
    }
    candidates
}

/// `Alloc`, step 2 (Fig. 6): keeps those with the largest reservation factor against `s`.
pub fn reject_all_but_dominant(candidates: &mut Vec<Rect>, s: Rect) {
    let largest = candidates.iter().map(|&c| reservation_factor(c, s)).max();
    candidates.retain(|&c| Some(reservation_factor(c, s)) == largest);
}

/// A naive machine that is a two-dimensional mesh.
impl NaiveMachine {
    /// A mesh whose nodes are all free.
    pub fn mesh(w: u16, h: u16) -> Self {
        NaiveMachine::new(Grid::mesh(&[w.into(), h.into()]))
    }

    /// Columns and rows.
    fn columns_rows(&self) -> (i32, i32) {
        let (w, h) = self.grid().w_h().expect("a two-dimensional mesh");
        (w as i32, h as i32)
    }

    /// The whole mesh.
    pub fn whole(&self) -> Rect {
        let (w, h) = self.columns_rows();
        Rect::new(0, 0, w - 1, h - 1)
    }

    /// The node's number.
    ///
    /// # Panics
    ///
    /// When it lies outside.
    pub fn node(&self, x: i32, y: i32) -> u32 {
        assert!(self.whole().has(x, y), "<{x}, {y}> lies in the mesh");
        (y * self.columns_rows().0 + x) as u32
    }

    /// Whether the node is busy; outside counts as busy.
    pub fn is_busy_at(&self, x: i32, y: i32) -> bool {
        !self.whole().has(x, y) || self.is_busy(self.node(x, y))
    }

    /// Makes every node of the rectangle busy or free.
    pub fn fill(&mut self, rect: Rect, busy: bool) {
        for (x, y) in rect.nodes() {
            self.set(self.node(x, y), busy);
        }
    }

    /// The busy or outside ones of the four neighbours of a node that do not belong to the submesh.
    pub fn busy_beyond(&self, s: Rect, (x, y): (i32, i32)) -> u32 {
        [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
            .into_iter()
            .filter(|&(x, y)| !s.has(x, y) && self.is_busy_at(x, y))
            .count() as u32
    }

    /// The boundary value of section II.5: over all nodes of the submesh, the number of neighbours
    /// beyond it that are busy or outside the mesh.
    pub fn boundary_value(&self, s: Rect) -> u32 {
        s.nodes().map(|node| self.busy_beyond(s, node)).sum()
    }

    /// The machine as it is now, prepared for many questions about rectangles.
    pub fn scan(&self) -> Scan {
        let (w, h) = self.columns_rows();
        // sums[(y, x)] is the number of busy nodes below row y and left of column x.
        let stride = w as usize + 1;
        let mut sums = vec![0; stride * (h as usize + 1)];
        for (x, y) in self.whole().nodes() {
            let at = (y as usize + 1) * stride + x as usize + 1;
            let others = sums[at - 1] + sums[at - stride] - sums[at - stride - 1];
            sums[at] = others + i32::from(self.is_busy_at(x, y));
        }
        Scan {
            whole: self.whole(),
            sums,
        }
    }
}

/// A mesh as a table of sums, with which "is this rectangle free" takes four look-ups.
#[derive(Debug)]
pub struct Scan {
    whole: Rect,
    sums: Vec<i32>,
}

impl Scan {
    /// Whether the rectangle lies within the mesh and all of it is free.
    pub fn is_free(&self, rect: Rect) -> bool {
        let stride = self.whole.w() + 1;
        let below_left = |x: i32, y: i32| self.sums[(y * stride + x) as usize];
        let (x1, y1, x2, y2) = (rect.x1, rect.y1, rect.x2 + 1, rect.y2 + 1);
        self.whole.covers(rect)
            && below_left(x2, y2) - below_left(x1, y2) - below_left(x2, y1) + below_left(x1, y1)
                == 0
    }

    /// The free rectangles of these side lengths in row-major order.
    pub fn free(&self, a: i32, b: i32) -> impl Iterator<Item = Rect> {
        let all = self
            .whole
            .nodes()
            .map(move |(x, y)| Rect::based_at(x, y, a, b));
        all.filter(|&rect| self.is_free(rect))
    }

    /// The dominant free submeshes in the order of definition 1.
    ///
    /// Free, and covered by no other free submesh. If one covers it, then so does one that is
    /// longer by one row or column at one side. So of each base and number of rows only the widest
    /// free one is looked at, and the other three sides are asked; more rows are never free farther
    /// to the right.
    pub fn dominant_free_submeshes(&self) -> Vec<Rect> {
        let mut dominant = Vec::new();
        for (x1, y1) in self.whole.nodes() {
            let mut longest = self.whole.x2;
            for y2 in y1..=self.whole.y2 {
                let mut columns = (x1..=longest).rev();
                let is_free = |&x2: &i32| self.is_free(Rect::new(x1, y1, x2, y2));
                let Some(x2) = columns.find(is_free) else {
                    break;
                };
                longest = x2;
                let s = Rect::new(x1, y1, x2, y2);
                let longer = [
                    Rect { x1: x1 - 1, ..s },
                    Rect { y1: y1 - 1, ..s },
                    Rect { y2: y2 + 1, ..s },
                ];
                if !longer.into_iter().any(|longer| self.is_free(longer)) {
                    dominant.push(s);
                }
            }
        }
        dominant.sort_by_key(order_of_definition_1);
        dominant
    }

    /// FSL's place for a request, given the list: `Alloc`, steps 1 and 2, then the whole mesh, then
    /// the smallest `<y1, x1>`, then `a x b` before `b x a`.
    pub fn free_submesh_list(
        &self,
        list: &[Rect],
        a: i32,
        b: i32,
        may_rotate: bool,
    ) -> Option<Rect> {
        let mut candidates = candidates(list, a, b, may_rotate);
        for &s in list {
            reject_all_but_dominant(&mut candidates, s);
            if candidates.len() == 1 {
                break;
            }
        }
        reject_all_but_dominant(&mut candidates, self.whole);
        candidates
            .into_iter()
            .min_by_key(|c| (c.y1, c.x1, (c.w(), c.h()) != (a, b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every occupancy of a 3 x 3 mesh.
    fn all_3_by_3() -> impl Iterator<Item = NaiveMachine> {
        (0..1 << 9).map(|bits: u32| {
            let mut mesh = NaiveMachine::mesh(3, 3);
            (0..9).for_each(|node| mesh.set(node, bits >> node & 1 == 1));
            mesh
        })
    }

    fn all_rects() -> Vec<Rect> {
        let nodes = || Rect::new(0, 0, 2, 2).nodes();
        nodes()
            .flat_map(|(x1, y1)| nodes().map(move |(x2, y2)| Rect::new(x1, y1, x2, y2)))
            .filter(|rect| rect.w() > 0 && rect.h() > 0)
            .collect()
    }

    #[test]
    fn sums_agree_with_flags() {
        for mesh in all_3_by_3() {
            let scan = mesh.scan();
            for rect in all_rects() {
                assert_eq!(
                    scan.is_free(rect),
                    mesh.is_free(&rect.into()),
                    "{rect} in\n{mesh}"
                );
            }
            let beyond = Rect::new(1, 1, 3, 1);
            assert!(!scan.is_free(beyond) && !mesh.is_free(&beyond.into()));
        }
    }

    #[test]
    fn dominant_means_covered_by_no_other_free_submesh() {
        for mesh in all_3_by_3() {
            let free: Vec<Rect> = all_rects()
                .into_iter()
                .filter(|&rect| mesh.is_free(&rect.into()))
                .collect();
            let covered = |s: Rect| free.iter().any(|&other| other != s && other.covers(s));
            let dominant: Vec<Rect> = free.iter().copied().filter(|&s| !covered(s)).collect();
            let found = mesh.scan().dominant_free_submeshes();
            assert_eq!(found.len(), dominant.len(), "in\n{mesh}");
            for s in dominant {
                assert!(found.contains(&s), "{s} in\n{mesh}");
            }
        }
    }

    #[test]
    fn the_reservation_factor_is_the_largest_free_rest() {
        let rects = all_rects();
        for &s in &rects {
            for &s_prime in &rects {
                let rest = rects
                    .iter()
                    .filter(|&&part| s_prime.covers(part) && !part.overlaps(s))
                    .map(|part| part.size())
                    .max();
                assert_eq!(reservation_factor(s, s_prime), rest.unwrap_or(0));
            }
        }
    }
}
