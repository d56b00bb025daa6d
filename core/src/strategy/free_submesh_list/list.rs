//! Lists of dominant free submeshes, and how a list changes when something is taken or released.

use core::cmp::Reverse;

use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::search::rectangles::for_each_maximal;

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

/// Sorts in the order of definition 1, by a heap in the same memory (Williams 1964, Algorithm 232, Comm. of the ACM 7).
///
/// A list is sorted only where it is built anew, and the sort of `core` takes 1.2 KB of flash, half as much as this strategy.
///
/// # Time complexity
///
/// O(n log n).
pub(super) fn sort(entries: &mut [Submesh]) {
    let len = entries.len();
    // Invariant of a heap: no entry comes before its two successors, 2 i + 1 and 2 i + 2.
    let sift = |entries: &mut [Submesh], mut at: usize| {
        while let Some(next) = entries.get(2 * at + 1) {
            let other = entries.get(2 * at + 2);
            let other_is_later = other.is_some_and(|other| order(other) > order(next));
            let later = 2 * at + 1 + usize::from(other_is_later);
            if order(&entries[at]) >= order(&entries[later]) {
                break;
            }
            entries.swap(at, later);
            at = later;
        }
    };
    for at in (0..len / 2).rev() {
        sift(entries, at);
    }
    for end in (1..len).rev() {
        entries.swap(0, end);
        sift(&mut entries[..end], 0);
    }
}

/// Makes the list of an occupancy in the front of `memory`; returns its length.
///
/// # Time complexity
///
/// That of [`for_each_maximal`], and O(n log n).
pub(super) fn build(memory: &mut [Submesh], occupancy: &Occupancy<'_>) -> Result<usize, NoRoom> {
    let mut len = 0;
    for_each_maximal(occupancy, |submesh| {
        if let Some(entry) = memory.get_mut(len) {
            *entry = submesh;
        }
        len += 1;
    });
    sort(memory.get_mut(..len).ok_or(NoRoom)?);
    Ok(len)
}

/// A list in the front of `memory`, and scratch behind it.
pub(super) struct List<'a> {
    memory: &'a mut [Submesh],
    len: usize,
}

/// Which pieces of what is taken apart are kept, and where.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    /// All, in the order of definition 1.
    Ordered,
    /// Those that meet this submesh, in any order.
    Meeting(Submesh),
}

impl<'a> List<'a> {
    pub(super) fn new(memory: &'a mut [Submesh], len: usize) -> Self {
        List { memory, len }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Takes `busy` out of every submesh and keeps the pieces that are dominant.
    ///
    /// Before and after, the list holds every dominant submesh (every one that meets the given one).
    ///
    /// # Which pieces are dominant
    ///
    /// A submesh that overlaps `busy` leaves up to four pieces. Take the one at the left of `busy`; the
    /// others are alike. Whatever covers it ends at the left border of `busy` too, since `busy` lies
    /// beside it. So it is the left piece of another submesh that overlapped `busy`, or a submesh that
    /// only touches it; the piece is dominant if neither covers it. Two submeshes cannot leave the
    /// same left piece: both would have its rows and its left end, and one would cover the other.
    pub(super) fn carve(&mut self, busy: Submesh, keep: Keep) -> Result<(), NoRoom> {
        // What does not overlap `busy` stays in front, in order. What touches it, overlapping or not,
        // is noted at the end of the memory.
        let end = self.memory.len();
        let mut near = 0;
        let mut kept = 0;
        for at in 0..self.len {
            let submesh = self.memory[at];
            if submesh.touches(busy) {
                near += 1;
                if end - near < self.len {
                    return Err(NoRoom);
                }
                self.memory[end - near] = submesh;
                if submesh.overlaps(busy) {
                    continue;
                }
            }
            self.memory[kept] = submesh;
            kept += 1;
        }
        if kept == self.len {
            return Ok(());
        }
        self.len = kept;
        for at in end - near..end {
            let whole = self.memory[at];
            if !whole.overlaps(busy) {
                continue;
            }
            for piece in whole.around(busy).into_iter().flatten() {
                if let Keep::Meeting(within) = keep
                    && !piece.overlaps(within)
                {
                    continue;
                }
                // Another one that is near covers the piece exactly if what is left of it on this
                // side does.
                let others = self.memory[end - near..].iter();
                if others.filter(|other| other.covers(piece)).count() > 1 {
                    continue;
                }

                if self.len >= end - near {
                    return Err(NoRoom);
                }
                match keep {
                    Keep::Ordered => self.insert(piece),
                    Keep::Meeting(_) => self.push(piece),
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, submesh: Submesh) {
        self.memory[self.len] = submesh;
        self.len += 1;
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

/// Updates the list in `memory[..len]` after `released` has become free; `busy` names all that is still
/// busy. Returns the new length.
///
/// Only dominant submeshes that meet `released` are new. They are found as Fig. 8 of the paper finds
/// all of them, by taking what is busy out of a large submesh piece after piece, but without the pieces
/// that have left `released` behind: what covers a piece that meets it meets it too, so no such piece
/// is needed.
///
/// The large submesh need not be the mesh. A new submesh is `released`, or a part of it, with free
/// rectangles at its sides; each of these was free before, and so lies in an old dominant submesh that
/// touches `released`. All is within the hull of `released` and those.
///
/// An old submesh is dominant no more exactly if a new one covers it, and then only `released` stopped
/// it on one side: it touches it.
pub(super) fn release(
    memory: &mut [Submesh],
    len: usize,
    released: Submesh,
    busy: impl Iterator<Item = Submesh>,
) -> Result<usize, NoRoom> {
    let (list, scratch) = memory.split_at_mut(len);
    if scratch.is_empty() {
        return Err(NoRoom);
    }
    let reach = list
        .iter()
        .filter(|submesh| submesh.touches(released))
        .fold(released, |reach, &submesh| hull(reach, submesh));
    scratch[0] = reach;
    let mut fresh = List::new(scratch, 1);
    for busy in busy {
        if busy.overlaps(reach) {
            fresh.carve(busy, Keep::Meeting(released))?;
        }
    }
    let new = fresh.len();

    // The new ones go to the end of the memory, out of the way of the list.
    let end = memory.len();
    let start = end - new;
    memory.copy_within(len..len + new, start);
    let mut kept = 0;
    for at in 0..len {
        let submesh = memory[at];
        let covered = |other: &Submesh| other.covers(submesh);
        if !(submesh.touches(released) && memory[start..].iter().any(covered)) {
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

/// The smallest submesh that covers both.
fn hull(a: Submesh, b: Submesh) -> Submesh {
    let (a_high, b_high) = (a.upper_right(), b.upper_right());
    Submesh::between(
        a.base.x.min(b.base.x),
        a.base.y.min(b.base.y),
        a_high.x.max(b_high.x),
        a_high.y.max(b_high.y),
    )
}
