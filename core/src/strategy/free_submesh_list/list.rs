//! Lists of dominant free submeshes, and how a list changes when something is taken or released.

use super::entry::{Border, CHUNK, Entry, SIDES};
use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::search::rectangles::{Step, for_each_maximal};

/// As many submeshes of one size are looked at one after the other.
const FEW_SAME: usize = 4;

/// After about so many instructions it is said that time has gone by.
const TOLD_AT: u32 = 4_000;

/// A list of fewer entries is short.
const SHORT: usize = 16;

/// There is not enough scratch memory behind the list.
pub(super) struct NoRoom;

/// Sorts in the order of definition 1, by a heap in the same memory (Williams 1964, Algorithm 232, Comm. of the ACM 7).
///
/// A list is sorted only where it is built anew, and the sort of `core` takes 1.2 KB of flash, half as much as this strategy.
///
/// # Time complexity
///
/// O(n log n).
pub(super) fn sort(entries: &mut [u64], worked: &mut dyn FnMut(u32)) {
    let len = entries.len();
    let precedes = |a: u64, b: u64| Entry(a).precedes(Entry(b));
    // Invariant of a heap: no entry comes before its two successors, 2 i + 1 and 2 i + 2.
    let sift = |entries: &mut [u64], mut at: usize| {
        while let Some(&next) = entries.get(2 * at + 1) {
            let other = entries.get(2 * at + 2);
            let other_is_later = other.is_some_and(|&other| precedes(next, other));
            let later = 2 * at + 1 + usize::from(other_is_later);
            if !precedes(entries[at], entries[later]) {
                break;
            }
            entries.swap(at, later);
            at = later;
        }
    };
    for at in (0..len / 2).rev() {
        worked(SIFT_INSTRUCTIONS);
        sift(entries, at);
    }
    for end in (1..len).rev() {
        worked(SIFT_INSTRUCTIONS);
        entries.swap(0, end);
        sift(&mut entries[..end], 0);
    }
}

/// About so many instructions it takes to sift an entry of a list of thousands that are equally large, at most.
const SIFT_INSTRUCTIONS: u32 = 4_000;

/// Makes the list of an occupancy in the front of `memory`; returns its length.
///
/// # Time complexity
///
/// That of [`for_each_maximal`], and O(n log n).
pub(super) fn build(
    memory: &mut [u64],
    occupancy: &Occupancy<'_>,
    worked: &mut dyn FnMut(u32),
) -> Result<usize, NoRoom> {
    let mut len = 0;
    for_each_maximal(occupancy, |step| {
        let submesh = match step {
            Step::Found(submesh) => submesh,
            Step::Worked(instructions) => return worked(instructions),
        };
        if let Some(cell) = memory.get_mut(len) {
            *cell = Entry::from(submesh).0;
        }
        len += 1;
    });
    sort(memory.get_mut(..len).ok_or(NoRoom)?, worked);
    Ok(len)
}

/// Entries in the front of cells.
struct Entries<'a> {
    cells: &'a mut [u64],
    len: usize,
}

impl<'a> Entries<'a> {
    /// None yet, with room for so many and one more, in the front of the memory, which becomes shorter.
    fn new(memory: &mut &'a mut [u64], room: usize) -> Result<Self, NoRoom> {
        let cells = memory.split_off_mut(..=room).ok_or(NoRoom)?;
        Ok(Entries { cells, len: 0 })
    }

    /// The same at the end of the memory.
    fn at_end(memory: &mut &'a mut [u64], room: usize) -> Result<Self, NoRoom> {
        let start = memory.len().checked_sub(room + 1).ok_or(NoRoom)?;
        let cells = memory.split_off_mut(start..).ok_or(NoRoom)?;
        Ok(Entries { cells, len: 0 })
    }

    /// Adds the entry if it is wanted. It is always written, and the answer added to the length: whether an entry is wanted is hard to
    /// predict, and a branch that is mispredicted takes longer than everything else that is done with an entry.
    #[inline]
    fn push_if(&mut self, entry: Entry, is_wanted: bool) {
        self.cells[self.len] = entry.0;
        self.len += usize::from(is_wanted);
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = Entry> + use<'_> {
        self.cells[..self.len].iter().map(|&cell| Entry(cell))
    }

    /// How many of them cover this one.
    #[inline]
    fn count_covering(&self, inner: Entry) -> usize {
        let covering = self.iter().map(|entry| usize::from(entry.covers(inner)));
        covering.sum()
    }

    /// Adds an entry unless one covers it; those that it covers go. There is room.
    fn push_dominant(&mut self, new: Entry) {
        if self.count_covering(new) > 0 {
            return;
        }
        self.retain(|entry| !new.covers(entry));
        self.push_if(new, true);
    }

    #[inline]
    fn retain(&mut self, mut is_wanted: impl FnMut(Entry) -> bool) {
        let len = core::mem::take(&mut self.len);
        for at in 0..len {
            let entry = Entry(self.cells[at]);
            self.push_if(entry, is_wanted(entry));
        }
    }

    /// Inserts in the order of definition 1. There is room.
    fn insert(&mut self, entry: Entry) {
        let precedes = |&other: &u64| Entry(other).precedes(entry);
        let (cells, len) = (&mut *self.cells, self.len);
        self.len += 1;
        // One loop finds the place and makes room, so only its end is hard to predict.
        if len < SHORT {
            let mut at = len;
            while at > 0 && !precedes(&cells[at - 1]) {
                cells[at] = cells[at - 1];
                at -= 1;
            }
            cells[at] = entry.0;
            return;
        }
        let list = &cells[..len];
        // Among words alone no branch is needed. Few submeshes are of the same size, but in a pattern of faults thousands can be.
        let mut at = list.partition_point(|&other| Entry(other).is_larger_than(entry));
        let same = &list[at..];
        at += match same
            .iter()
            .take(FEW_SAME)
            .position(|other| !precedes(other))
        {
            Some(first) => first,
            None => same.partition_point(precedes),
        };
        cells.copy_within(at..len, at + 1);
        cells[at] = entry.0;
    }
}

/// Updates the list in `memory[..len]` after `busy`, which was free, has been taken. Returns the new length.
///
/// # Which pieces are dominant
///
/// A submesh that overlaps `busy` leaves up to four pieces. Take the one at the left of `busy`; the
/// others are alike. Whatever covers it ends at the left border of `busy` too, since `busy` lies
/// beside it. So it is the left piece of another submesh that overlapped `busy`, or a submesh that
/// shares a stretch of that border; the piece is dominant if neither covers it. Two submeshes cannot leave the
/// same left piece: both would have its rows and its left end, and one would cover the other.
pub(super) fn take(
    memory: &mut [u64],
    len: usize,
    busy: Submesh,
    worked: &mut dyn FnMut(u32),
) -> Result<usize, NoRoom> {
    let mut work = Work::new(worked);
    work.worked(1_000 + 12 * len as u32);
    let busy = Entry::from(busy);
    let overlapping = busy.overlapping();
    let (list, mut scratch) = memory.split_at_mut(len);
    let mut near = near(list, &mut scratch, busy)?;
    let mut over = Entries::new(&mut scratch, near.len)?;
    let mut beside = Entries::new(&mut scratch, near.len)?;
    for at in 0..core::mem::take(&mut near.len) {
        let place = near.cells[at];
        let entry = Entry(list[place as usize]);
        let is_over = overlapping.admits(entry);
        over.push_if(entry, is_over);
        beside.push_if(entry, !is_over);
        near.push_if(Entry(place), is_over);
    }
    let mut cut = Entries::new(&mut scratch, over.len + beside.len)?;
    let mut fresh = Entries::at_end(&mut scratch, 4 * over.len)?;
    for side in SIDES {
        let Some(border) = Border::of(busy, side) else {
            continue;
        };
        cut.len = 0;
        for entry in over.iter() {
            cut.push_if(border.outside(entry), border.meeting.admits(entry));
        }
        let pieces = cut.len;
        for entry in beside.iter() {
            cut.push_if(entry, border.meeting.admits(entry));
        }
        for at in 0..pieces {
            let piece = Entry(cut.cells[at]);
            work.worked(50 + 12 * cut.len as u32);
            fresh.push_if(piece, cut.count_covering(piece) == 1);
        }
    }
    let kept = remove(list, &near.cells[..near.len]);
    let (room, new) = (fresh.cells.len(), fresh.len);
    Ok(insert(memory, kept, memory.len() - room, new, work))
}

/// Updates the list in `memory[..len]` after `released` has become free. Returns the new length.
///
/// Only dominant submeshes that meet `released` are new, and `released` stopped an old one that is dominant no more, so that it shares a
/// stretch of border with it and a new one covers it.
///
/// # How the new ones are found
///
/// A new one is a part of `released`, with free submeshes beyond those of its sides to which the part reaches. Those beyond the left side
/// were free before, and so lie in an old dominant submesh that ends at this side; the other sides are alike. Beginning with `released` alone, what
/// is known of each side in turn is joined with the old submeshes that end there: first along x, where only rows of `released` count, as
/// everything above and below these lies beyond the other two sides.
pub(super) fn release(
    memory: &mut [u64],
    len: usize,
    released: Submesh,
    worked: &mut dyn FnMut(u32),
) -> Result<usize, NoRoom> {
    let mut work = Work::new(worked);
    work.worked(1_000 + 12 * len as u32);
    let released = Entry::from(released);
    let overlapping = released.overlapping();
    let (list, mut scratch) = memory.split_at_mut(len);
    let mut near = near(list, &mut scratch, released)?;
    let mut outer = Entries::new(&mut scratch, near.len)?;
    let room = scratch.len() / 2;
    let mut fresh = Entries::at_end(&mut scratch, room)?;
    let mut joined = Entries {
        cells: scratch,
        len: 0,
    };
    fresh.push_if(released, true);
    for side in SIDES {
        let Some(border) = Border::of(released, side) else {
            continue;
        };
        outer.len = 0;
        for Entry(place) in near.iter() {
            let entry = Entry(list[place as usize]);
            outer.push_if(entry, border.meeting.admits(entry));
        }
        if outer.len == 0 {
            continue;
        }
        if fresh.len * (outer.len + 1) >= joined.cells.len() {
            return Err(NoRoom);
        }
        joined.len = 0;
        for inner in fresh.iter() {
            work.worked(50 + 20 * outer.len as u32);
            if border.reached_by(inner) {
                for entry in outer.iter() {
                    let join = border.join(inner, entry);
                    let meets = !join.is_empty() & overlapping.admits(join);
                    joined.push_if(join, meets);
                }
            }
        }
        for join in joined.iter() {
            work.worked(100 + 20 * fresh.len as u32);
            fresh.push_dominant(join);
        }
    }

    // Those stay that a new one covers.
    near.retain(|Entry(place)| {
        work.worked(50 + 12 * fresh.len as u32);
        fresh.count_covering(Entry(list[place as usize])) > 0
    });
    let kept = remove(list, &near.cells[..near.len]);
    let (room, new) = (fresh.cells.len(), fresh.len);
    Ok(insert(memory, kept, memory.len() - room, new, work))
}

/// The places in a list of the submeshes that touch this one.
fn near<'a>(
    list: &[u64],
    scratch: &mut &'a mut [u64],
    submesh: Entry,
) -> Result<Entries<'a>, NoRoom> {
    let touching = submesh.touching();
    let mut near = Entries::new(scratch, list.len())?;
    let mut add = |start: usize, entries: &[u64]| {
        for (place, &cell) in (start as u64..).zip(entries) {
            near.push_if(Entry(place), touching.admits(Entry(cell)));
        }
    };
    let (chunks, rest) = list.as_chunks::<CHUNK>();
    for (at, chunk) in chunks.iter().enumerate() {
        // In few chunks of a long list there is one.
        if touching.admits_any(chunk) {
            add(at * CHUNK, chunk);
        }
    }
    add(chunks.len() * CHUNK, rest);
    Ok(near)
}

/// Removes what is in these places of the list, in ascending order; returns its length.
fn remove(list: &mut [u64], places: &[u64]) -> usize {
    let mut kept = places.first().map_or(list.len(), |&place| place as usize);
    for (at, &place) in places.iter().enumerate() {
        let next = places.get(at + 1).map_or(list.len(), |&next| next as usize);
        let segment = place as usize + 1..next;
        list.copy_within(segment.clone(), kept);
        kept += segment.len();
    }
    kept
}

/// Inserts `memory[start..start + new]`, which have no area, into the list in `memory[..len]`; returns its length.
fn insert(memory: &mut [u64], len: usize, start: usize, new: usize, mut work: Work<'_>) -> usize {
    let (cells, fresh) = memory.split_at_mut(start);
    let mut list = Entries { cells, len };
    for &cell in &fresh[..new] {
        work.worked(200 + 10 * list.len as u32);
        list.insert(Entry(cell).with_area());
    }
    work.tell();
    list.len
}

/// Instructions that are told of when some thousand have come together.
struct Work<'a> {
    untold: u32,
    worked: &'a mut dyn FnMut(u32),
}

impl<'a> Work<'a> {
    fn new(worked: &'a mut dyn FnMut(u32)) -> Self {
        Work { untold: 0, worked }
    }

    #[inline]
    fn worked(&mut self, instructions: u32) {
        self.untold += instructions;
        if self.untold >= TOLD_AT {
            self.tell();
        }
    }

    fn tell(&mut self) {
        match core::mem::take(&mut self.untold) {
            0 => {}
            untold => (self.worked)(untold),
        }
    }
}
