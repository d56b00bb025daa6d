//! Writing a checkpoint: it begins in the next region, gets its chunks, and counts from its commit.

use core::mem;

use embedded_storage::nor_flash::NorFlash;

use super::entry::{self, EntryKind, PAYLOAD_MAX};
use super::region::Region;
use super::{Active, Journal, JournalError, Writing, scan};

impl<F: NorFlash, const REGIONS: usize> Journal<F, REGIONS> {
    /// Whether the caller should write a checkpoint at the next quiet moment: an eighth of the
    /// region is left, or half of the room after a long checkpoint, or nothing can be appended.
    pub fn is_due_for_checkpoint(&self) -> bool {
        self.active.is_none_or(|active| {
            let region = self.regions.get(active.region);
            let eighth = region.map_or(0, |region| region.capacity() / 8);
            self.room() < eighth.min(active.room / 2).max(entry::size_max(Self::UNIT))
        })
    }

    /// Begins a checkpoint in the next region in turn, which is erased first. If the flash fails
    /// there, or the region does not become blank, or the flash returns other bytes than were
    /// written, the checkpoint goes to the region after it. On the F446 the processor stands still
    /// during an erase. A checkpoint that was begun before is abandoned.
    ///
    /// # Errors
    ///
    /// If every region fails, why the last one did: a failure of the flash, or wrong bytes
    /// ([`Unverified`](JournalError::Unverified)). The last checkpoint and its records still count.
    pub fn begin_checkpoint(&mut self) -> Result<(), JournalError<F::Error>> {
        self.writing = None;
        let regions = REGIONS - usize::from(self.active.is_some());
        let mut begun = Err(JournalError::Unverified);
        for _ in 0..regions {
            begun = self.begin_in_next_region();
            if begun.is_ok() {
                break;
            }
        }
        begun
    }

    fn begin_in_next_region(&mut self) -> Result<(), JournalError<F::Error>> {
        let active = self.active.map(|active| active.region);
        let (index, generation) = match self.latest {
            None => (
                self.erased.iter().position(|&erased| erased).unwrap_or(0),
                1,
            ),
            Some((latest, generation)) => {
                let next = self.after(latest);
                let next = if Some(next) == active {
                    self.after(next)
                } else {
                    next
                };
                // A generation of 2^64 - 1 is never read.
                (next, generation.saturating_add(1))
            }
        };
        let region = self.region(index)?;
        // Even if this region fails, the next checkpoint takes another region.
        self.latest = Some((index, generation));
        // In the first round a region that reads as erased need not be erased. It is blank, unless
        // its first erase was cut. Entries are read back, so that is noticed.
        let erased = self.erased.get_mut(index).is_some_and(mem::take);
        let must_be_erased = !erased || generation > REGIONS as u64;
        if must_be_erased {
            // Until the region is blank, its old checkpoint may still be whole while its last unit
            // is erased.
            let unclosed = self.unclosed.get(index).copied().unwrap_or(0);
            self.set_unclosed(index, unclosed.max(1));
            self.flash.erase(region.address(0), region.end())?;
            let sectors = (region.capacity() + Self::UNIT) / F::ERASE_SIZE;
            self.sectors_erased = self.sectors_erased.saturating_add(sectors as u32);
            // A bit that has stayed at 0 would look like a written one, or could not be written
            // later.
            if !scan::is_blank(&mut self.flash, &region)? {
                return Err(JournalError::Unverified);
            }
        }
        self.set_unclosed(index, 0);
        let end = self.write(
            &region,
            0,
            generation,
            EntryKind::Begin,
            &entry::begin(generation),
        )?;
        self.writing = Some(Writing {
            region: index,
            generation,
            end,
        });
        Ok(())
    }

    /// Writes the next part of the checkpoint.
    ///
    /// # Errors
    ///
    /// [`NoCheckpoint`](JournalError::NoCheckpoint) and
    /// [`PayloadTooLong`](JournalError::PayloadTooLong) change nothing. After any other error the
    /// checkpoint is abandoned; the last one and its records still count.
    pub fn chunk(&mut self, chunk: &[u8]) -> Result<(), JournalError<F::Error>> {
        if chunk.len() > PAYLOAD_MAX {
            return Err(JournalError::PayloadTooLong);
        }
        let writing = self.writing.take().ok_or(JournalError::NoCheckpoint)?;
        let region = self.region(writing.region)?;
        if writing.end as usize + Self::chunk_bytes(chunk.len()) + Self::chunk_bytes(0)
            > checkpoint_max(&region)
        {
            return Err(JournalError::CheckpointTooLong);
        }
        let end = self.write(
            &region,
            writing.end,
            writing.generation,
            EntryKind::Chunk,
            chunk,
        )?;
        self.writing = Some(Writing { end, ..writing });
        Ok(())
    }

    /// Commits the checkpoint: it counts from now on, and its region becomes the active one. If the
    /// region before it cannot be closed, nothing can be appended before another checkpoint, which
    /// closes the region of this one. If a checkpoint is lost, the records behind it are lost, too,
    /// and the next start must notice that.
    ///
    /// ```text
    ///   region 0   checkpoint 7 │ records │ a bit has changed     cannot be closed, looks whole
    ///   region 1   checkpoint 8 │ no record │ closed
    ///   region 2   checkpoint 9 │ records │ erased ..             lost? region 1 is closed: damage
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoCheckpoint`](JournalError::NoCheckpoint), or if the flash fails. After a failure the
    /// checkpoint is abandoned, and nothing can be appended before another one, since the next
    /// start may find the old or the new checkpoint.
    pub fn commit_checkpoint(&mut self) -> Result<(), JournalError<F::Error>> {
        let Writing {
            region: index,
            generation,
            end,
        } = self.writing.take().ok_or(JournalError::NoCheckpoint)?;
        let region = self.region(index)?;
        // This is noted even if the write fails, since the next start may find the checkpoint.
        self.set_unclosed(index, generation);
        match self.write(&region, end, generation, EntryKind::Commit, &[]) {
            Ok(end) => {
                let before = self.active.map_or(0, |active| active.generation);
                self.forget_unclosed_before(before);
                self.active = Some(Active {
                    region: index,
                    generation,
                    end,
                    appendable: true,
                    room: region.room(end),
                });
                if self.cannot_close() {
                    self.require_checkpoint();
                }
                Ok(())
            }
            Err(error) => {
                self.require_checkpoint();
                Err(error)
            }
        }
    }

    /// The number of bytes for the chunks of a checkpoint; each takes [`Journal::chunk_bytes`].
    pub fn checkpoint_room(&self) -> usize {
        let ends = Self::chunk_bytes(entry::BEGIN_LEN) + Self::chunk_bytes(0);
        let least = self.regions.iter().map(checkpoint_max).min();
        least.map_or(0, |most| most.saturating_sub(ends))
    }

    /// Abandons a checkpoint that was begun, so that records can be appended again.
    pub fn abandon_checkpoint(&mut self) {
        self.writing = None;
    }
}

/// The maximum length of a checkpoint in a region, in bytes, with its first and last entry. The
/// rest is for records.
fn checkpoint_max(region: &Region) -> usize {
    region.capacity() - (region.capacity() / 8).max(entry::size_max(region.unit()))
}
