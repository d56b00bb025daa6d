//! Reads the entries that restore the caller.

use embedded_storage::nor_flash::NorFlash;

use super::entry::{self, EntryKind};
use super::{Journal, JournalError};

/// The entries that [`Journal::replay`] reads.
#[derive(Debug)]
pub struct Replay<'j, F, const REGIONS: usize> {
    pub(super) journal: &'j mut Journal<F, REGIONS>,
    pub(super) at: u32,
}

/// An entry that restores the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replayed<'a> {
    /// The next part of the checkpoint.
    Chunk(&'a [u8]),
    /// The next record after it.
    Record(&'a [u8]),
}

impl<F: NorFlash, const REGIONS: usize> Replay<'_, F, REGIONS> {
    /// The next entry; `None` after the last.
    ///
    /// # Errors
    ///
    /// If the flash cannot be read. [`JournalError::Unverified`] if it returns other bytes than
    /// when the journal was opened.
    #[expect(
        clippy::should_implement_trait,
        reason = "what it returns borrows the buffer"
    )]
    pub fn next(&mut self) -> Result<Option<Replayed<'_>>, JournalError<F::Error>> {
        let Some(active) = self.journal.active else {
            return Ok(None);
        };
        let region = self.journal.region(active.region)?;
        while self.at < active.end {
            let Journal { flash, buffer, .. } = &mut *self.journal;
            let entry = entry::read(flash, &region, self.at, active.generation, buffer)?;
            let entry = entry.ok_or(JournalError::Unverified)?;
            self.at = entry.next;
            match entry.kind {
                EntryKind::Begin | EntryKind::Commit => {}
                EntryKind::Chunk => {
                    return Ok(Some(Replayed::Chunk(entry.payload(&self.journal.buffer))));
                }
                EntryKind::Record => {
                    return Ok(Some(Replayed::Record(entry.payload(&self.journal.buffer))));
                }
            }
        }
        Ok(None)
    }
}
