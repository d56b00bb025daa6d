//! Writes and reads one entry of the journal.
//!
//! An entry consists of whole units of writing: those of 4 bytes if the flash writes words or
//! less, else those of the flash, up to 32 bytes.
//!
//! ```text
//!   units of 4:   kind u8 │ length u8 │ !kind u8 │ !length u8 │ payload │ 0.. │ crc u32 │ mark u32
//!                 └────────────────────── covered ────────────────────┘
//!   units of 16:  kind, length, .. │ payload │ 0 .. 0 │ crc u32 ║ 0 .. 0 │ mark u32
//!                 └──────────── whole units ─────────────────┘   └── one unit ───┘
//! ```
//!
//! Units are written in this order, each once. The CRC covers everything before it, the region's
//! generation and the entry's place, so a remainder of an older entry after an interrupted erase is
//! not mistaken for a newer entry. The mark has a unit of its own and is written last: an entry
//! whose power was cut has no mark, and an entry that was damaged later has one.

use embedded_storage::nor_flash::NorFlash;
use heapless::Vec;
use meshalloc::checksum::Crc32;

use super::region::{Region, UNIT_MAX, WORD};

/// The maximum length of a record or of a chunk of a checkpoint, in bytes.
pub const PAYLOAD_MAX: usize = 240;

/// Room for one entry.
pub(super) type Buffer = Vec<u8, { size_max(UNIT_MAX) }>;

/// The kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// The start of a checkpoint and of a generation. Its payload is [`MAGIC`] and the generation.
    Begin = 0x11,
    /// A part of the checkpoint.
    Chunk = 0x22,
    /// The end of the checkpoint, which is whole from then on.
    Commit = 0x44,
    /// A record after the checkpoint.
    Record = 0x88,
}

impl EntryKind {
    const fn from_byte(byte: u8) -> Option<EntryKind> {
        match byte {
            0x11 => Some(EntryKind::Begin),
            0x22 => Some(EntryKind::Chunk),
            0x44 => Some(EntryKind::Commit),
            0x88 => Some(EntryKind::Record),
            _ => None,
        }
    }
}

/// The start of the payload of every [`EntryKind::Begin`]. It names this layout.
const MAGIC: [u8; WORD] = *b"MAJ1";
/// The length of the payload of a [`EntryKind::Begin`], in bytes.
pub(super) const BEGIN_LEN: usize = WORD + size_of::<u64>();

/// The payload of a [`EntryKind::Begin`].
pub(super) fn begin(generation: u64) -> [u8; BEGIN_LEN] {
    let [a, b, c, d] = MAGIC;
    let [e, f, g, h, i, j, k, l] = generation.to_le_bytes();
    [a, b, c, d, e, f, g, h, i, j, k, l]
}

fn generation_of(begin: &[u8]) -> Option<u64> {
    let generation = begin.strip_prefix(&MAGIC)?;
    Some(u64::from_le_bytes(generation.try_into().ok()?))
}

/// Bytes of an entry with a payload of `payload_len` bytes, written in units of `unit` bytes:
/// header, payload and CRC in whole units, and the unit of the mark.
pub(super) const fn size(payload_len: usize, unit: usize) -> usize {
    // Up to the next multiple of a power of two.
    let covered = WORD + payload_len + WORD;
    ((covered + unit - 1) & !(unit - 1)) + unit
}

/// The most bytes by which an entry is longer than its payload.
pub(super) const fn overhead_max(unit: usize) -> usize {
    2 * WORD + (unit - 1) + unit
}

/// The most bytes of an entry that is written in units of `unit` bytes.
pub(super) const fn size_max(unit: usize) -> usize {
    size(PAYLOAD_MAX, unit)
}

/// The mark of a whole entry at this place. An erased or zeroed word marks no place of a region.
pub(super) const fn mark(at: u32) -> u32 {
    0x5ea1_ed00 ^ at
}

/// The place of the entry whose mark this word would be.
pub(super) const fn marked_place(mark: u32) -> u32 {
    0x5ea1_ed00 ^ mark
}

fn checksum(generation: u64, at: u32, covered: &[u8]) -> u32 {
    let mut crc = Crc32::new();
    crc.update(&generation.to_le_bytes());
    crc.update(&at.to_le_bytes());
    crc.update(covered);
    crc.finish()
}

/// Writes the bytes of an entry into `buffer`; `None` if the payload is too long.
pub(super) fn encode(
    kind: EntryKind,
    payload: &[u8],
    generation: u64,
    at: u32,
    unit: usize,
    buffer: &mut Buffer,
) -> Option<()> {
    let len = u8::try_from(payload.len()).ok()?;
    let size = size(payload.len(), unit);
    let kind = kind as u8;
    buffer.clear();
    buffer.extend_from_slice(&[kind, len, !kind, !len]).ok()?;
    buffer.extend_from_slice(payload).ok()?;
    buffer.resize(size.checked_sub(unit + WORD)?, 0).ok()?;
    let crc = checksum(generation, at, buffer);
    buffer.extend_from_slice(&crc.to_le_bytes()).ok()?;
    buffer.resize(size.checked_sub(WORD)?, 0).ok()?;
    buffer.extend_from_slice(&mark(at).to_le_bytes()).ok()
}

/// A valid entry that was read; its payload is in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) kind: EntryKind,
    payload_len: usize,
    /// The generation of the region.
    pub(super) generation: u64,
    /// Where the next entry begins.
    pub(super) next: u32,
    /// Whether it has its mark.
    pub(super) marked: bool,
}

impl Entry {
    /// The payload, from the buffer that the entry was read into.
    pub(super) fn payload<'a>(&self, buffer: &'a Buffer) -> &'a [u8] {
        buffer.get(WORD..WORD + self.payload_len).unwrap_or(&[])
    }
}

/// Reads the entry at `at` of a region of this generation; `None` if there is no valid one. A
/// [`EntryKind::Begin`] names the generation itself.
pub(super) fn read<F: NorFlash>(
    flash: &mut F,
    region: &Region,
    at: u32,
    generation: u64,
    buffer: &mut Buffer,
) -> Result<Option<Entry>, F::Error> {
    let unit = region.unit();
    let mut header = [0; WORD];
    if region.room(at) < size(0, unit) {
        return Ok(None);
    }
    flash.read(region.address(at), &mut header)?;
    let [kind, len, not_kind, not_len] = header;
    let Some(kind) = EntryKind::from_byte(kind).filter(|_| kind == !not_kind && len == !not_len)
    else {
        return Ok(None);
    };
    let payload_len = usize::from(len);
    let size = size(payload_len, unit);
    if size > region.room(at) || buffer.resize(size, 0).is_err() {
        return Ok(None);
    }
    flash.read(region.address(at), buffer)?;
    let payload = buffer.get(WORD..WORD + payload_len).unwrap_or(&[]);
    let generation = match kind {
        EntryKind::Begin => generation_of(payload).filter(|&generation| generation < u64::MAX),
        _ => Some(generation),
    };
    let (Some(generation), Some(marked)) = (generation, size.checked_sub(unit)) else {
        return Ok(None);
    };
    let Some((rest, read_mark)) = buffer.split_at_checked(marked) else {
        return Ok(None);
    };
    let Some((covered, crc)) = rest.split_last_chunk::<WORD>() else {
        return Ok(None);
    };
    if u32::from_le_bytes(*crc) != checksum(generation, at, covered) {
        return Ok(None);
    }
    Ok(Some(Entry {
        kind,
        payload_len,
        generation,
        // At most the size of the region.
        next: at.saturating_add(size as u32),
        marked: read_mark.ends_with(&mark(at).to_le_bytes()),
    }))
}
