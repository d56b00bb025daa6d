//! A range of the flash that stores entries: [`Region`].

/// Bytes of a word, in which entries are read.
pub(super) const WORD: usize = 4;

/// The longest unit of writing that a journal supports, in bytes.
pub(super) const UNIT_MAX: usize = 32;

/// A range of whole sectors of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    start: u32,
    /// The number of bytes for entries: all but the last unit.
    len: u32,
    /// Bytes of a unit of writing: a power of two from [`WORD`] to [`UNIT_MAX`]. Everything is
    /// written in whole units, and each unit at most once between two erases.
    unit: u32,
}

impl Region {
    /// The `bytes` bytes from `start` on.
    pub(super) const fn new(start: u32, bytes: u32, unit: usize) -> Region {
        let unit = unit as u32;
        Region {
            start,
            len: bytes.saturating_sub(unit),
            unit,
        }
    }

    /// The address of a place in the region.
    pub(super) const fn address(&self, at: u32) -> u32 {
        self.start.saturating_add(at)
    }

    /// The address after the end of the region.
    pub(super) const fn end(&self) -> u32 {
        self.address(self.len.saturating_add(self.unit))
    }

    /// The place of its last unit, which no entry uses.
    pub(super) const fn closed_at(&self) -> u32 {
        self.len
    }

    /// The number of bytes for entries from `at` on.
    pub(super) const fn room(&self, at: u32) -> usize {
        self.len.saturating_sub(at) as usize
    }

    /// The number of bytes for entries.
    pub(super) const fn capacity(&self) -> usize {
        self.len as usize
    }

    /// The length of a unit of writing, in bytes.
    pub(super) const fn unit(&self) -> usize {
        self.unit as usize
    }
}
