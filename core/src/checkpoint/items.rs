//! The items of a checkpoint, how they are packed into parts ([`Writer`]) and read ([`Reader`]),
//! and the order in which a state is restored from them ([`Restore`]).

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{PART_MAX, RestoreError};
use crate::checksum::Crc32;

/// The maximum number of numbers in one item.
pub(crate) const NUMBERS_MAX: usize = 16;

/// Several numbers in one item.
pub(crate) type Numbers = heapless::Vec<u32, NUMBERS_MAX>;

/// The kinds of items, in the order of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum ItemKind {
    Head,
    Running,
    Blocks,
    Waiting,
    Reserved,
    FreeSlots,
    Faults,
    Strategy,
    Scheduler,
    Leases,
    End,
}

/// Packs items into parts.
pub struct Writer<'a> {
    part: [u8; PART_MAX],
    len: usize,
    kind: ItemKind,
    items: u32,
    /// The checksum of the parts that were emitted.
    checksum: Crc32,
    emit: &'a mut dyn FnMut(&[u8]),
}

impl<'a> Writer<'a> {
    pub(crate) fn new(emit: &'a mut dyn FnMut(&[u8])) -> Self {
        Writer {
            part: [0; PART_MAX],
            len: 0,
            kind: ItemKind::Head,
            items: 0,
            checksum: Crc32::new(),
            emit,
        }
    }

    /// Sets the kind of the items that follow.
    pub(crate) const fn begin(&mut self, kind: ItemKind) {
        self.kind = kind;
    }

    /// Writes an item, whose encoding must be shorter than a part. A longer item is left out, and
    /// restoring the checkpoint fails.
    pub fn put<T: Serialize>(&mut self, item: &T) {
        self.items += 1;
        if !self.append(item) {
            self.flush();
            let fits = self.append(item);
            debug_assert!(fits, "an item is longer than a part");
        }
    }

    fn append<T: Serialize>(&mut self, item: &T) -> bool {
        let written = encode(self.kind, item, &mut self.part[self.len..]);
        self.len += written.unwrap_or(0);
        written.is_some()
    }

    /// Emits the part, which is not empty.
    fn flush(&mut self) {
        let part = &self.part[..self.len];
        self.checksum.update(part);
        (self.emit)(part);
        self.len = 0;
    }

    /// Writes groups of one or two numbers, with up to [`NUMBERS_MAX`] numbers in each item.
    pub(crate) fn put_numbers(&mut self, groups: impl Iterator<Item = (u32, Option<u32>)>) {
        let mut numbers = Numbers::new();
        for (first, second) in groups {
            if numbers.len() + 2 > NUMBERS_MAX {
                self.put(&numbers);
                numbers.clear();
            }
            numbers.extend([first].into_iter().chain(second));
        }
        if !numbers.is_empty() {
            self.put(&numbers);
        }
    }

    /// Writes the last item and the last part.
    pub(crate) fn finish(mut self) {
        self.begin(ItemKind::End);
        let checksum = self.checksum.with(&self.part[..self.len]);
        // The checksum always has the same length, so that the length of a checkpoint follows from
        // its items.
        let end = (self.items, checksum.to_le_bytes());
        self.put(&end);
        self.flush();
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("kind", &self.kind)
            .field("items", &self.items)
            .finish_non_exhaustive()
    }
}

/// Writes kind and value. Returns the number of bytes, or `None` if there is no room.
fn encode<T: Serialize>(kind: ItemKind, item: &T, room: &mut [u8]) -> Option<usize> {
    let written = postcard::to_slice(&(kind, item), room);
    written.ok().map(|written| written.len())
}

/// The length of this item in a checkpoint, in bytes.
pub(crate) fn item_len<T: Serialize>(item: &T) -> usize {
    encode(ItemKind::End, item, &mut [0; PART_MAX]).unwrap_or(PART_MAX)
}

/// Reads the items of a part.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(part: &'a [u8]) -> Self {
        Reader { bytes: part }
    }

    /// The number of bytes that were not read.
    pub(crate) const fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Reads the value of an item.
    ///
    /// # Errors
    ///
    /// `Malformed` if the bytes do not encode a value of this type.
    pub fn take<T: Deserialize<'a>>(&mut self) -> Result<T, RestoreError> {
        let (value, rest) =
            postcard::take_from_bytes(self.bytes).map_err(|_| RestoreError::Malformed)?;
        self.bytes = rest;
        Ok(value)
    }

    /// Reads the last item, after this number of other items and after bytes with this checksum.
    ///
    /// # Errors
    ///
    /// `Incomplete` if the last item names another number, `Damaged` if it has another checksum.
    pub(crate) fn end(&mut self, items: u32, checksum: u32) -> Result<(), RestoreError> {
        let saved = self.take::<(u32, [u8; 4])>()?;
        if saved.0 != items {
            return Err(RestoreError::Incomplete);
        }
        if saved.1 != checksum.to_le_bytes() {
            return Err(RestoreError::Damaged);
        }
        Ok(())
    }
}

/// Hands over the parts of what `write` writes. Returns the first error of `part`, which is not
/// called again.
pub(crate) fn save<E>(
    part: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    write: impl FnOnce(&mut Writer<'_>),
) -> Result<(), E> {
    let mut outcome = Ok(());
    let mut emit = |bytes: &[u8]| {
        if outcome.is_ok() {
            outcome = part(bytes);
        }
    };
    let mut to = Writer::new(&mut emit);
    write(&mut to);
    to.finish();
    outcome
}

/// How far a checkpoint has been read.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The kind of the latest item; `None` before the first.
    stage: Option<ItemKind>,
    items: u32,
    /// The checksum of the parts that were taken.
    checksum: Crc32,
    outcome: Result<(), RestoreError>,
    pub(crate) is_finished: bool,
}

impl Progress {
    pub(crate) const fn new() -> Self {
        Progress {
            stage: None,
            items: 0,
            checksum: Crc32::new(),
            outcome: Ok(()),
            is_finished: false,
        }
    }

    /// Whether all was read without an error.
    ///
    /// # Errors
    ///
    /// The error of an earlier part; `Incomplete` if something is missing.
    pub(crate) fn check_complete(&self) -> Result<(), RestoreError> {
        self.outcome?;
        match self.stage {
            Some(ItemKind::End) => Ok(()),
            _ => Err(RestoreError::Incomplete),
        }
    }
}

/// A state that is restored from a checkpoint, item by item.
pub(crate) trait Restore {
    /// The number of the format.
    const FORMAT: u32;

    fn progress(&mut self) -> &mut Progress;

    /// Takes the first item.
    fn head(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError>;

    /// Takes an item that follows an item of the kind `stage`; `Incomplete` where no such item may
    /// follow. The value of the last item is left to [`Restore::take_item`].
    fn item(
        &mut self,
        kind: ItemKind,
        stage: ItemKind,
        from: &mut Reader<'_>,
    ) -> Result<(), RestoreError>;

    /// Takes the next part. After an error, every further part gets the same error.
    fn take_part(&mut self, part: &[u8]) -> Result<(), RestoreError> {
        let mut reader = Reader::new(part);
        while self.progress().outcome.is_ok() && reader.left() > 0 {
            let before = &part[..part.len() - reader.left()];
            self.progress().outcome = self.take_item(&mut reader, before);
        }
        let progress = self.progress();
        progress.checksum.update(part);
        progress.outcome
    }

    /// Takes the next item; `before` has the bytes before it in its part.
    fn take_item(&mut self, from: &mut Reader<'_>, before: &[u8]) -> Result<(), RestoreError> {
        let kind = match self.progress().stage {
            None => {
                if from.take() != Ok((ItemKind::Head, Self::FORMAT)) {
                    return Err(RestoreError::Format);
                }
                self.head(from)?;
                ItemKind::Head
            }
            Some(stage) => {
                let kind = from.take()?;
                self.item(kind, stage, from)?;
                kind
            }
        };
        let progress = self.progress();
        if kind == ItemKind::End {
            from.end(progress.items, progress.checksum.with(before))?;
        }
        progress.items += 1;
        progress.stage = Some(kind);
        Ok(())
    }
}
