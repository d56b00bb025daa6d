//! Finds the contents of a region: a checkpoint and the records after it, or their rests.
//!
//! ```text
//!   Begin │ Chunk │ .. │ Chunk │ Commit │ Record │ .. │ Record │ erased .. │ closed
//! ```
//!
//! The last unit becomes 0 before the first record of the region that follows is written, so a
//! region that is closed is not the latest.

use embedded_storage::nor_flash::NorFlash;

use super::entry::{self, BEGIN_LEN, Buffer, EntryKind};
use super::region::{Region, WORD};

const ERASED: u8 = 0xff;
/// The most bits of a word that may have changed by themselves: a word with no more zeros was not
/// written. The first word of an entry has 16 zeros, and its mark has at least 8 in a region of up
/// to 64 KB, so no whole entry is overlooked. The last unit closes a region by the same rule, even
/// if its writing was interrupted, since the writing began only when the next region had a whole
/// checkpoint.
const CHANGED_BITS_MAX: u32 = 3;

/// The contents after the last valid entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Blank flash: the next entry goes there.
    Erased,
    /// At most one entry that is not whole and was never acknowledged, and bits that have changed
    /// in blank flash.
    Torn,
    /// An entry that was whole, or more than one entry.
    Damaged,
}

/// The last unit of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// Blank: it may be written.
    Open,
    /// A few bits have changed: the unit does not close the region, and cannot be written before
    /// the next erase.
    Touched,
    /// A later region has a whole checkpoint.
    Closed,
}

/// The contents of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Blank flash.
    Erased,
    /// At most the start of a first entry, and bits that have changed in blank flash.
    Cut,
    /// The region does not start with a checkpoint: it is damaged, its erase was interrupted, or it
    /// is not a journal's.
    Foreign,
    /// A checkpoint without a commit. It was never committed if the tail is not damaged.
    Begun { generation: u64, tail: Tail },
    /// A checkpoint, and the records up to `end`.
    Whole {
        generation: u64,
        end: u32,
        tail: Tail,
        closing: Closing,
    },
}

/// Reads a region from its start to its end.
pub(super) fn scan<F: NorFlash>(
    flash: &mut F,
    region: &Region,
    buffer: &mut Buffer,
) -> Result<Content, F::Error> {
    let first = entry::read(flash, region, 0, 0, buffer)?;
    let unit = region.unit();
    let whole_region = region.closed_at().saturating_add(unit as u32);
    let Some(begin) = first.filter(|entry| entry.kind == EntryKind::Begin) else {
        let first_entry = entry::size(BEGIN_LEN, unit);
        return Ok(match written(flash, region, 0, whole_region)? {
            Written { is_blank: true, .. } => Content::Erased,
            Written { len, marked, .. } if !marked && len <= first_entry => Content::Cut,
            _ => Content::Foreign,
        });
    };
    let generation = begin.generation;
    let (mut at, mut marked, mut whole) = (begin.next, begin.marked, false);
    while let Some(entry) = entry::read(flash, region, at, generation, buffer)? {
        match entry.kind {
            EntryKind::Chunk if !whole => {}
            EntryKind::Commit if !whole => whole = true,
            EntryKind::Record if whole => {}
            _ => break,
        }
        (at, marked) = (entry.next, entry.marked);
    }
    let tail = match written(flash, region, at, region.closed_at())? {
        Written { is_blank: true, .. } if marked => Tail::Erased,
        Written { len, marked, .. } if marked || len > entry::size_max(unit) => Tail::Damaged,
        _ => Tail::Torn,
    };
    if !whole {
        return Ok(Content::Begun { generation, tail });
    }
    Ok(Content::Whole {
        generation,
        end: at,
        tail,
        closing: closing(flash, region)?,
    })
}

/// The last unit of a region.
pub(super) fn closing<F: NorFlash>(flash: &mut F, region: &Region) -> Result<Closing, F::Error> {
    let from = region.closed_at();
    let to = from.saturating_add(region.unit() as u32);
    Ok(match written(flash, region, from, to)? {
        Written { is_blank: true, .. } => Closing::Open,
        Written { len: 0, .. } => Closing::Touched,
        _ => Closing::Closed,
    })
}

/// Whether all of a region reads as erased.
pub(super) fn is_blank<F: NorFlash>(flash: &mut F, region: &Region) -> Result<bool, F::Error> {
    let end = region.closed_at().saturating_add(region.unit() as u32);
    Ok(written(flash, region, 0, end)?.is_blank)
}

/// The written words in a part of a region.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// Whether every bit is as after an erase.
    is_blank: bool,
    /// The number of bytes up to the end of the last written word.
    len: usize,
    /// Whether one of the words is the mark of an entry that starts in this part.
    marked: bool,
}

fn written<F: NorFlash>(
    flash: &mut F,
    region: &Region,
    from: u32,
    to: u32,
) -> Result<Written, F::Error> {
    const WORDS: usize = 16;
    let mut written = Written {
        is_blank: true,
        len: 0,
        marked: false,
    };
    let mut at = from;
    while at < to {
        let mut words = [[ERASED; WORD]; WORDS];
        let left = (to.saturating_sub(at) as usize / WORD).min(WORDS);
        let Some(words) = words.get_mut(..left).filter(|words| !words.is_empty()) else {
            break;
        };
        flash.read(region.address(at), words.as_flattened_mut())?;
        for word in words {
            let word = u32::from_le_bytes(*word);
            written.marked |= (from..at).contains(&entry::marked_place(word));
            at = at.saturating_add(WORD as u32);
            written.is_blank &= word == u32::MAX;
            if word.count_zeros() > CHANGED_BITS_MAX {
                written.len = at.saturating_sub(from) as usize;
            }
        }
    }
    Ok(written)
}
