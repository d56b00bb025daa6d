//! From a job's name to its slot: open addressing with linear probing, at most half full.
//!
//! A removed entry leaves no mark behind; the entries after it move up instead, so a search never
//! grows longer with the age of the table.

use super::JobSlot;
use crate::blocks::{Link, NONE};
use crate::request::JobId;

/// Cuts the slots to as many as the index has room for.
pub(super) fn fit<'m>(
    slots: &'m mut [JobSlot],
    index: &'m mut [Link],
) -> (&'m mut [JobSlot], &'m mut [Link]) {
    let jobs = slots.len().min(index.len() / 2).min(NONE as usize);
    (&mut slots[..jobs], index)
}

/// Where the search for a name begins (Fibonacci hashing, Knuth 1973, section 6.4).
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

/// The cell in which a name stands, or else the free one in which it would.
// The board has one copy.
#[cfg_attr(target_os = "none", inline(never))]
#[cfg_attr(not(target_os = "none"), inline)]
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

/// Empties a cell.
#[inline]
pub(super) fn remove(index: &mut [Link], slots: &[JobSlot], mut hole: usize) {
    let mut cell = next(index, hole);
    while index[cell] != NONE {
        // An entry may fill the hole if the hole is on its way from home to where it is.
        let from = home(index, slots[index[cell] as usize].id);
        let way = |to| match to < from {
            true => to + index.len() - from,
            false => to - from,
        };
        if way(hole) <= way(cell) {
            index[hole] = index[cell];
            hole = cell;
        }
        cell = next(index, cell);
    }
    index[hole] = NONE;
}
