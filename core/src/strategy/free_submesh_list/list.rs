//! Lists of dominant free submeshes, and how a list changes when something is taken or released.

use core::cmp::Reverse;

use crate::mesh::Submesh;

/// There is not enough scratch memory behind the list.
pub(super) struct NoRoom;

/// What definition 1 orders by: size, larger first; then the more square; then, on which the paper is
/// silent, the base node in row-major order and the wider first.
#[inline]
pub(super) fn order(submesh: &Submesh) -> (Reverse<u32>, u16, u16, u16, Reverse<u16>) {
    (
        Reverse(submesh.area()),
        submesh.sides.w.abs_diff(submesh.sides.h),
        submesh.base.y,
        submesh.base.x,
        Reverse(submesh.sides.w),
    )
}

/// A list in the front of `memory`, and scratch behind it.
pub(super) struct List<'a> {
    memory: &'a mut [Submesh],
    len: usize,
}

impl<'a> List<'a> {
    pub(super) fn new(memory: &'a mut [Submesh], len: usize) -> Self {
        List { memory, len }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Takes `busy` out of every submesh and keeps what is dominant; with `within`, only what meets it.
    ///
    /// The list is complete (and, with `within`, holds every dominant submesh that meets it) before and
    /// after. It stays in order.
    ///
    /// # Which pieces are dominant
    ///
    /// A submesh `E` that overlaps `busy` leaves up to four pieces. Take the one at the left of `busy`; the
    /// others are alike. Whatever covers it ends at the left of `busy` too, since `busy` lies beside
    /// it. So it is the left piece of another submesh that overlapped `busy`, or a submesh that did not
    /// and ends there; the piece is dominant if neither covers it. Two submeshes cannot leave the same
    /// left piece: both would have its rows and its left end, and one would cover the other.
    pub(super) fn carve(&mut self, busy: Submesh, within: Option<Submesh>) -> Result<(), NoRoom> {
        // Survivors stay in front, in order; what overlaps `busy` moves to the end of the memory.
        let end = self.memory.len();
        let mut hit = 0;
        let mut kept = 0;
        for at in 0..self.len {
            let submesh = self.memory[at];
            if !submesh.overlaps(busy) {
                self.memory[kept] = submesh;
                kept += 1;
                continue;
            }
            hit += 1;
            if end - hit < self.len {
                return Err(NoRoom);
            }
            self.memory[end - hit] = submesh;
        }
        self.len = kept;
        for at in end - hit..end {
            let whole = self.memory[at];
            for piece in pieces(whole, busy).into_iter().flatten() {
                if within.is_some_and(|within| !piece.overlaps(within)) {
                    continue;
                }
                let covers = |other: &&Submesh| other.covers(piece);
                // One of the others that were hit covers the piece exactly if what is left of it on
                // this side does.
                let hits = self.memory[end - hit..].iter();
                if hits.filter(covers).count() > 1 {
                    continue;
                }
                // What covers it is at least as large, and large ones come first.
                let area = piece.area();
                let mut larger = self.memory[..self.len]
                    .iter()
                    .take_while(|other| other.area() >= area);
                if larger.any(|other| other.covers(piece)) {
                    continue;
                }
                if self.len >= end - hit {
                    return Err(NoRoom);
                }
                self.insert(piece);
            }
        }
        Ok(())
    }

    /// Inserts in order. The caller has seen that there is room.
    fn insert(&mut self, submesh: Submesh) {
        let key = order(&submesh);
        let at = self.memory[..self.len].partition_point(|other| order(other) < key);
        self.memory.copy_within(at..self.len, at + 1);
        self.memory[at] = submesh;
        self.len += 1;
    }
}

/// What is left of `whole` at the left, the right, below and above `busy`, which overlaps it.
#[inline]
fn pieces(whole: Submesh, busy: Submesh) -> [Option<Submesh>; 4] {
    let (low, high) = (whole.lower_left(), whole.upper_right());
    let (busy_low, busy_high) = (busy.lower_left(), busy.upper_right());
    [
        (low.x < busy_low.x).then(|| Submesh::between(low.x, low.y, busy_low.x - 1, high.y)),
        (busy_high.x < high.x).then(|| Submesh::between(busy_high.x + 1, low.y, high.x, high.y)),
        (low.y < busy_low.y).then(|| Submesh::between(low.x, low.y, high.x, busy_low.y - 1)),
        (busy_high.y < high.y).then(|| Submesh::between(low.x, busy_high.y + 1, high.x, high.y)),
    ]
}

/// Updates the list in `memory[..len]` after `released` has become free; `busy` is all that is still
/// busy in the mesh `whole`. Returns the new length.
///
/// Only dominant submeshes that meet `released` are new. They are found as Fig. 8 of the paper finds
/// all of them, by taking what is busy out of the whole mesh piece after piece, but without the pieces
/// that have left `released` behind: what covers a piece that meets it meets it too, so no such piece
/// is needed. An old submesh is dominant no more exactly if a new one covers it.
pub(super) fn release(
    memory: &mut [Submesh],
    len: usize,
    whole: Submesh,
    released: Submesh,
    busy: impl Iterator<Item = Submesh>,
) -> Result<usize, NoRoom> {
    let scratch = &mut memory[len..];
    if scratch.is_empty() {
        return Err(NoRoom);
    }
    scratch[0] = whole;
    let mut fresh = List::new(scratch, 1);
    for busy in busy {
        fresh.carve(busy, Some(released))?;
    }
    let new = fresh.len();

    // The new ones go to the end of the memory, out of the way of the list.
    let end = memory.len();
    let start = end - new;
    memory.copy_within(len..len + new, start);
    let mut kept = 0;
    for at in 0..len.min(start) {
        let submesh = memory[at];
        if !memory[start..].iter().any(|other| other.covers(submesh)) {
            memory[kept] = submesh;
            kept += 1;
        }
    }
    let mut list = List::new(memory, kept);
    for at in start..end {
        // There is room: the slots of the new ones before this one are free again.
        let submesh = list.memory[at];
        list.insert(submesh);
    }
    Ok(list.len())
}
