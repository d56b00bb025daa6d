//! Lists of dominant free submeshes, and how a list changes when something is taken or released.
//!
//! A free submesh is *dominant* if no other free submesh covers it. The list has all dominant free
//! submeshes, in the order of definition 1. Taking and releasing look only at entries near the
//! block:
//!
//! ```text
//!   memory   [ list, in order ..............  |  room  | new | pieces | beside | near | places ]
//!             0                            len                  scratch, given away from the end
//! ```
//!
//! - `places`, `near`: the entries that touch the block, and where in the list they stand.
//! - Some of these entries leave the list, and new entries are made from them: [`Change::replace`].

use super::entry::{Border, Cut, Entry, Limit, SIDES, guard, opposite};
use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::search::submeshes::for_each_maximal;
use crate::word::LONG_WORDS;

/// There is not enough scratch memory behind the list.
#[derive(Clone, Copy)]
pub(super) struct NoRoom;

/// Sorts in the order of definition 1, by a heap in the same memory (Williams 1964, Algorithm 232,
/// Comm. of the ACM 7).
///
/// A list is sorted only when it is built anew. The sort of `core` would take 1.2 KB of flash, half
/// as much as this strategy.
///
/// # Time complexity
///
/// O(n log n).
pub(super) fn sort(entries: &mut [u64], poll: &dyn Fn()) {
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
        poll();
        sift(entries, at);
    }
    for end in (1..len).rev() {
        poll();
        entries.swap(0, end);
        sift(&mut entries[..end], 0);
    }
}

/// Makes the list of an occupancy in the front of `memory`; returns its length.
///
/// # Time complexity
///
/// That of [`for_each_maximal`], and O(n log n).
pub(super) fn build(
    memory: &mut [u64],
    occupancy: &Occupancy<'_>,
    poll: &dyn Fn(),
) -> Result<usize, NoRoom> {
    let mut len = 0;
    for_each_maximal(occupancy, poll, |submesh| {
        if let Some(cell) = memory.get_mut(len) {
            *cell = Entry::from(submesh).0;
        }
        len += 1;
    });
    sort(memory.get_mut(..len).ok_or(NoRoom)?, poll);
    Ok(len)
}

/// Entries in the front of cells.
struct Entries<'a> {
    cells: &'a mut [u64],
    len: usize,
}

impl Entries<'_> {
    /// Adds the entry if it is wanted. The entry is always written, and `is_wanted` is added to the
    /// length. A branch would often be mispredicted, which takes longer than all other work on an
    /// entry:
    ///
    /// ```text
    ///   push_if(c, false):  [ a | b | c | . ]  len = 2      c is overwritten by the next one
    ///   push_if(d, true):   [ a | b | d | . ]  len = 3
    /// ```
    #[inline]
    fn push_if(&mut self, entry: Entry, is_wanted: bool) {
        self.cells[self.len] = entry.0;
        self.len += usize::from(is_wanted);
    }

    #[inline]
    fn cells(&self) -> &[u64] {
        &self.cells[..self.len]
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = Entry> + use<'_> {
        self.cells().iter().map(|&cell| Entry(cell))
    }

    /// How many entries cover this one.
    #[inline]
    fn count_covering(&self, inner: Entry) -> usize {
        let covering = self.iter().map(|entry| usize::from(entry.covers(inner)));
        covering.sum()
    }

    /// Adds an entry unless one covers it, and removes those that it covers. No entry covers
    /// another one. There is room.
    #[inline]
    fn push_dominant(&mut self, new: Entry) {
        let mut covering = 0;
        for at in 0..core::mem::take(&mut self.len) {
            let entry = Entry(self.cells[at]);
            // An equal entry is removed.
            let is_covered = new.covers(entry);
            covering += usize::from(entry.covers(new) & !is_covered);
            self.push_if(entry, !is_covered);
        }
        self.push_if(new, covering == 0);
    }
}

/// A list while it changes. The list is in the front of the memory; scratch is split off the end.
struct Change<'a> {
    memory: &'a mut [u64],
    len: usize,
}

impl<'a> Change<'a> {
    /// Empty scratch with room for `room` entries and one more.
    fn entries(&mut self, room: usize) -> Result<Entries<'a>, NoRoom> {
        let start = self.memory.len().checked_sub(room + 1);
        let start = start.filter(|&start| start >= self.len).ok_or(NoRoom)?;
        let cells = self.memory.split_off_mut(start..).ok_or(NoRoom)?;
        Ok(Entries { cells, len: 0 })
    }

    /// The places in the list of the entries that the limit admits, and these entries.
    fn near(&mut self, limit: Limit, poll: &dyn Fn()) -> Result<[Entries<'a>; 2], NoRoom> {
        poll();
        let mut places = self.entries(self.len)?;
        let mut entries = self.entries(self.len)?;
        let list = &self.memory[..self.len];
        limit.each(list, |at| {
            places.push_if(Entry(at as u64), true);
            entries.push_if(Entry(list[at]), true);
        });
        Ok([places, entries])
    }

    /// Removes the entries in these places, which are in ascending order, and inserts new entries,
    /// which are in no order. Returns the length of the list.
    fn replace(self, gone: &[u64], new: &[u64], poll: &dyn Fn()) -> Result<usize, NoRoom> {
        let Change { memory, len } = self;
        let mut len = remove(&mut memory[..len], gone);
        let list = memory.get_mut(..len + new.len()).ok_or(NoRoom)?;
        for &cell in new {
            poll();
            insert(list, len, Entry(cell));
            len += 1;
        }
        Ok(len)
    }
}

/// Removes the entries in these places of a list, which are in ascending order. Returns how many
/// entries are left.
///
/// ```text
///   gone 1, 4:   [ a | B | c | d | E | f ]   ->   [ a | c | d | f ]
/// ```
///
/// A host moves whole stretches, here and in [`insert`]; on a board the code that moves them would
/// take 2 KB of flash.
fn remove(list: &mut [u64], gone: &[u64]) -> usize {
    let Some((&first, rest)) = gone.split_first() else {
        return list.len();
    };
    let mut kept = first as usize;
    let mut places = rest.iter().map(|&place| place as usize);
    if LONG_WORDS {
        let mut from = kept + 1;
        for next in places.chain([list.len()]) {
            list.copy_within(from..next, kept);
            kept += next - from;
            from = next + 1;
        }
        return kept;
    }
    let mut next = places.next();
    for at in kept + 1..list.len() {
        list[kept] = list[at];
        if next == Some(at) {
            next = places.next();
        } else {
            kept += 1;
        }
    }
    kept
}

/// Inserts in the order of definition 1 into a list of `len` entries.
fn insert(cells: &mut [u64], len: usize, entry: Entry) {
    let at = place_for(entry, &cells[..len]);
    if LONG_WORDS {
        cells.copy_within(at..len, at + 1);
        cells[at] = entry.0;
        return;
    }
    let mut moved = entry.0;
    for cell in &mut cells[at..=len] {
        moved = core::mem::replace(cell, moved);
    }
}

/// Where an entry belongs in an ordered list.
#[inline]
fn place_for(entry: Entry, list: &[u64]) -> usize {
    // A comparison of words alone needs no branch. Usually few submeshes have the same size, but in
    // a pattern of faults thousands may.
    let at = list.partition_point(|&other| Entry(other).is_larger_than(entry));
    match list.get(at) {
        Some(&other) if !entry.is_larger_than(Entry(other)) => {
            at + list[at..].partition_point(|&other| Entry(other).precedes(entry))
        }
        _ => at,
    }
}

/// Updates the list in `memory[..len]` after `busy`, which was free, has been taken. Returns the
/// new length.
///
/// # Which pieces are dominant
///
/// A submesh that overlaps `busy` leaves up to four pieces. Take the piece at the left of `busy`;
/// the other pieces behave alike:
///
/// ```text
///   A and B overlap `busy`         their left pieces a and b
///
///   +-----------------+            +-----+
///   | A    +----+     |            | a   |
///   |  +---|busy|-----|--+         |  +--|
///   |  | B +----+     |  |         |  |b |
///   +--|--------------+  |         +--|  |
///      +-----------------+            +--+
/// ```
///
/// A submesh that covers b also ends at the left border of `busy`, since `busy` lies beside it. So
/// it is the left piece of another submesh that overlapped `busy`, or a submesh `beside` that
/// shares a stretch of that border. The piece is dominant if neither covers it. Two submeshes
/// cannot leave the same left piece: both would have its rows and its left end, and one would cover
/// the other.
pub(super) fn take(
    memory: &mut [u64],
    len: usize,
    busy: Submesh,
    poll: &dyn Fn(),
) -> Result<usize, NoRoom> {
    let busy = Entry::from(busy);
    let overlapping = busy.overlapping();
    let mut list = Change { memory, len };
    let [mut places, near] = list.near(busy.touching(), poll)?;
    let mut beside = list.entries(near.len)?;
    let mut pieces = list.entries(4 * near.len)?;
    let cut = Cut::around(busy);
    places.len = 0;
    for (at, entry) in near.iter().enumerate() {
        let is_over = overlapping.admits(entry);
        places.push_if(Entry(places.cells[at]), is_over);
        beside.push_if(entry, !is_over);
        for side in SIDES {
            pieces.push_if(
                cut.outside(entry, side),
                is_over & cut.reaches_over(entry, side),
            );
        }
    }
    let mut new = list.entries(pieces.len)?;
    for piece in pieces.iter() {
        poll();
        // The piece itself is counted, too.
        let covering = pieces.count_covering(piece) + beside.count_covering(piece);
        new.push_if(piece.with_area(), covering == 1);
    }
    list.replace(places.cells(), new.cells(), poll)
}

/// Updates the list in `memory[..len]` after `released` has become free. Returns the new length.
///
/// Only dominant submeshes that meet `released` are new. An old submesh that is no longer dominant
/// was stopped by `released`: it shares a stretch of border with `released`, and a new submesh
/// covers it.
///
/// # How the new ones are found
///
/// A new submesh is a part of `released`, extended beyond those sides of `released` that the part
/// reaches. The extension beyond the left side was free before, and so lies in an old dominant
/// submesh that ends at this side; the other sides are alike. So the search begins with `released`
/// alone. For each side in turn, it joins its submeshes with the old submeshes that end at this
/// side:
///
/// ```text
///   `released` R, old a and b          joined at the left          joined above
///
///         +--+                               +--+                        +--+
///         |b |                               |b |                        |R'|   b with the
///   +-----+--+                         +-----+--+                  +-----|  |   columns of R
///   |  a  |R |                         | a + R  |                  |     |  |
///   +-----+--+                         +--------+                  +-----+--+
///
///   fresh: R                           fresh: a+R (covers R)       fresh: a+R, b+R
/// ```
///
/// At the left and right only the rows of `released` count: everything above and below them lies
/// beyond the other two sides.
pub(super) fn release(
    memory: &mut [u64],
    len: usize,
    released: Submesh,
    poll: &dyn Fn(),
) -> Result<usize, NoRoom> {
    let released = Entry::from(released);
    let overlapping = released.overlapping();
    let mut list = Change { memory, len };
    let [mut places, near] = list.near(released.touching(), poll)?;
    let mut outer = list.entries(near.len)?;
    let room = (list.memory.len() - len) / 4;
    let mut fresh = list.entries(room)?;
    let mut joined = list.entries(room)?;
    fresh.push_if(released, true);
    let beyond = near
        .iter()
        .fold(0, |beyond, entry| beyond | overlapping.exceeded_by(entry));
    for side in SIDES {
        if beyond & guard(opposite(side)) == 0 {
            continue;
        }
        let border = Border::of(released, side);
        outer.len = 0;
        for entry in near.iter() {
            outer.push_if(entry, border.meeting.admits(entry));
        }
        if fresh.len * (outer.len + 1) > room {
            return Err(NoRoom);
        }
        joined.len = 0;
        for inner in fresh.iter() {
            poll();
            let is_reached = border.reached_by(inner);
            for entry in outer.iter() {
                let join = border.join(inner, entry);
                let meets = !join.is_empty() & overlapping.admits(join);
                joined.push_if(join, is_reached & meets);
            }
        }
        for join in joined.iter() {
            poll();
            fresh.push_dominant(join);
        }
    }

    // Entries that a new submesh covers leave the list.
    places.len = 0;
    for (at, entry) in near.iter().enumerate() {
        poll();
        places.push_if(Entry(places.cells[at]), fresh.count_covering(entry) > 0);
    }
    for cell in &mut fresh.cells[..fresh.len] {
        *cell = Entry(*cell).with_area().0;
    }
    list.replace(places.cells(), fresh.cells(), poll)
}
