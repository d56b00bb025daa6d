//! Finds the slot of a job by its name: a hash table with linear probing, at most half full.
//!
//! A search starts at the home cell of the name and ends at the first empty cell. Removing an entry
//! moves later entries back instead of leaving a mark, so searches do not grow longer with the age
//! of the table. An entry may move back as far as its home:
//!
//! ```text
//!   cell          2   3   4   5   6        homes: A 2, B 2, C 4, D 3
//!   before        A   B   C   D   -
//!   without A     B   D   C   -   -        B moves to its home 2, D to its home 3; C stays at home
//! ```

use super::JobSlot;
use crate::job_id::JobId;
use crate::pool::{Link, NONE};

/// Shortens the slots to half the length of the index, rounded down.
pub(super) fn fit<'m>(
    slots: &'m mut [JobSlot],
    index: &'m mut [Link],
) -> (&'m mut [JobSlot], &'m mut [Link]) {
    let jobs = slots.len().min(index.len() / 2).min(NONE as usize);
    (&mut slots[..jobs], index)
}

/// The cell at which the search for a name starts (Fibonacci hashing, Knuth 1973, section 6.4).
#[inline]
fn home(index: &[Link], id: JobId) -> usize {
    let hash = id.0.wrapping_mul(0x9E37_79B1);
    ((u64::from(hash) * index.len() as u64) >> 32) as usize
}

#[inline]
fn next(index: &[Link], cell: usize) -> usize {
    match cell + 1 {
        end if end == index.len() => 0,
        next => next,
    }
}

/// The cell of a name. The error is the empty cell that the name would take.
// One copy on the board, to save flash.
#[cfg_attr(target_os = "none", inline(never))]
#[cfg_attr(not(target_os = "none"), inline(always))]
pub(super) fn cell_of(index: &[Link], slots: &[JobSlot], id: JobId) -> Result<usize, usize> {
    if index.is_empty() {
        return Err(0);
    }
    let mut cell = home(index, id);
    loop {
        match index[cell] {
            NONE => return Err(cell),
            slot if slots[slot as usize].id == id => return Ok(cell),
            _ => cell = next(index, cell),
        }
    }
}

/// Empties a cell and moves later entries back.
#[inline]
pub(super) fn remove(index: &mut [Link], slots: &[JobSlot], mut hole: usize) {
    let mut cell = next(index, hole);
    while index[cell] != NONE {
        // An entry may fill the hole if the hole lies between the entry's home and its cell.
        let from = home(index, slots[index[cell] as usize].id);
        let distance = |to| {
            if to < from {
                to + index.len() - from
            } else {
                to - from
            }
        };
        if distance(hole) <= distance(cell) {
            index[hole] = index[cell];
            hole = cell;
        }
        cell = next(index, cell);
    }
    index[hole] = NONE;
}
