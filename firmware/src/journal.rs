//! The journal: keeps state in NOR flash over a reset.
//!
//! It stores *checkpoints* and *records*. A checkpoint is the whole state of the caller, in chunks.
//! A record is a command that was carried out since the checkpoint. The journal does not interpret
//! their bytes. The last whole checkpoint and the records after it restore a caller that decides
//! deterministically.
//!
//! ```text
//!   region 0   checkpoint 7 │ 812 records │ closed
//!   region 1   checkpoint 8 │ 305 records │ erased ..     <- active: records are appended here
//!   region 2   checkpoint 6 │ 797 records │ closed
//! ```
//!
//! Two or more regions of whole sectors are used in turn. The region with the latest whole
//! checkpoint is active.
//!
//! - **A record is durable when [`Journal::append`] returns.** The journal writes the record, then
//!   its CRC, then a mark, and reads them back. A cut of the power at any unit of writing leaves
//!   the record whole or absent.
//! - **Any unit of writing up to 32 bytes.** Each unit is written at most once between two erases,
//!   so a flash with an error-correcting code for each unit works too.
//! - **A checkpoint counts from its commit on.** It goes to a region that is not active, which is
//!   erased first. The active region counts until [`Journal::commit_checkpoint`] has written its
//!   last unit. The checkpoint must be the state to which the records before it lead, since until
//!   the next record is appended, either may be restored: the checkpoint, or the earlier checkpoint
//!   with its records.
//! - **Damage differs from a cut.** A cut leaves one entry without a mark and blank flash after it.
//!   Any other invalid entry was written whole and has changed since: [`Recovered::Damaged`] says
//!   what cannot be restored. Single bits that have changed in blank flash do no harm. The older
//!   regions are closed before the first record after a checkpoint. So a lost checkpoint is
//!   noticed, and an older state is not taken for the latest.
//! - **Nothing is appended after an entry that is not whole.** After a cut, damage or an error the
//!   next entry must be a checkpoint ([`JournalError::NeedsCheckpoint`]).
//! - **A checkpoint takes at most seven eighths of its region.** The next one is due when an eighth
//!   of the region is left for records, or after a long checkpoint half of the room that it left.
//!   So between two resets every full region has at least a sixteenth of its size in records.
//! - **Wear is even.** Each checkpoint erases one region, all regions in turn.
//!   [`Journal::sectors_erased`] counts.
//!
//! Time: opening reads every region once. Appending a record or writing a chunk takes the time to
//! write its bytes. Memory: one entry.

use embedded_storage::nor_flash::NorFlash;

mod checkpoint;
mod entry;
#[cfg(feature = "memory-flash")]
pub mod memory;
mod region;
mod replay;
mod scan;

pub use entry::PAYLOAD_MAX;
pub use replay::{Replay, Replayed};

use entry::{Buffer, EntryKind};
use region::{Region, UNIT_MAX, WORD};
use scan::{Closing, Content, Tail};

/// The result of [`Journal::open`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Recovered {
    /// No checkpoint was ever committed.
    Empty,
    /// The latest checkpoint and every record after it.
    Whole {
        /// A write was interrupted by a cut of the power. It was never acknowledged, and is
        /// restored only if it was whole. Or bits have changed in blank flash.
        interrupted: bool,
    },
    /// An acknowledged entry cannot be restored.
    Damaged(Loss),
}

/// The entries that damage has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Loss {
    /// Records are lost. The state is that of the latest checkpoint and the records before the
    /// first damaged one.
    Records,
    /// The latest checkpoint and all records after it are lost. The state is an older one.
    Checkpoint,
    /// There is no whole checkpoint, and the rest is more than one interrupted checkpoint. This is
    /// also reported if the very first checkpoint was interrupted until a region had to be erased
    /// for it.
    Everything,
}

/// Why the journal refused or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum JournalError<E> {
    /// The flash has failed.
    Flash(E),
    /// The flash returns other bytes than were written, or than it returned before.
    Unverified,
    /// The flash has no equal regions of whole sectors with room for four entries.
    Regions,
    /// The active region is full: a checkpoint makes room.
    Full,
    /// Nothing can be appended before the next checkpoint.
    NeedsCheckpoint,
    /// Nothing can be appended until the checkpoint is committed or abandoned.
    CheckpointUnderWay,
    /// No checkpoint was begun, or it was abandoned.
    NoCheckpoint,
    /// The checkpoint is too long for a region. It is abandoned, and the last one still counts.
    CheckpointTooLong,
    /// The payload is longer than [`PAYLOAD_MAX`].
    PayloadTooLong,
}

impl<E> From<E> for JournalError<E> {
    fn from(error: E) -> Self {
        JournalError::Flash(error)
    }
}

/// The active region.
#[derive(Clone, Copy, Debug)]
struct Active {
    region: usize,
    generation: u64,
    /// The end of the last valid entry.
    end: u32,
    /// Whether the next entry may be written there.
    appendable: bool,
    /// The room that its checkpoint left for records, in bytes; an upper bound if it was read.
    room: usize,
}

/// The checkpoint that is being written.
#[derive(Clone, Copy, Debug)]
struct Writing {
    region: usize,
    generation: u64,
    end: u32,
}

/// A journal in `REGIONS` regions of a flash.
///
/// Invariants: the active region has the latest whole checkpoint, `writing` is another one. Before
/// the active region gets a record, the region with the latest whole checkpoint of the others is
/// closed.
#[derive(Clone, Debug)]
pub struct Journal<F, const REGIONS: usize> {
    flash: F,
    regions: [Region; REGIONS],
    active: Option<Active>,
    writing: Option<Writing>,
    /// For each region the generation of a checkpoint that would count if the active one were lost,
    /// 1 if only its erase has failed, 0 if there is none. All of these regions except the active
    /// one are closed before the next record.
    unclosed: [u64; REGIONS],
    /// The region that was begun last, and its generation.
    latest: Option<(usize, u64)>,
    /// The regions that were erased when the journal was opened and were not written since.
    erased: [bool; REGIONS],
    sectors_erased: u32,
    buffer: Buffer,
}

impl<F: NorFlash, const REGIONS: usize> Journal<F, REGIONS> {
    /// Bytes of a unit of writing: those of the flash, or a word if they are fewer.
    const UNIT: usize = if F::WRITE_SIZE < WORD {
        WORD
    } else {
        F::WRITE_SIZE
    };

    const VALID: () = assert!(
        REGIONS >= 2
            && F::WRITE_SIZE.is_power_of_two()
            && F::WRITE_SIZE <= UNIT_MAX
            && WORD.is_multiple_of(F::READ_SIZE)
            && F::ERASE_SIZE.is_multiple_of(Self::UNIT),
        "a journal needs two regions, and a flash that is read in words of 4 bytes or less and \
         written in 1, 2, 4, 8, 16 or 32 bytes"
    );

    /// The bytes for entries in the smallest region: three of the longest entries for a checkpoint,
    /// one for records.
    const CAPACITY_MIN: usize = 4 * entry::size_max(Self::UNIT);

    /// The bytes of the smallest region.
    pub const REGION_MIN: usize = Self::CAPACITY_MIN + Self::UNIT;

    /// The maximum number of bytes by which an entry is longer than its record or chunk.
    pub const OVERHEAD_MAX: usize = entry::overhead_max(Self::UNIT);

    /// Opens the journal in a flash with any contents, whose regions are equal parts of it. Writes
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`JournalError::Regions`], or if the flash cannot be read.
    pub fn open(flash: F) -> Result<(Self, Recovered), JournalError<F::Error>> {
        const { Self::VALID };
        let len = flash.capacity() / REGIONS;
        if !len.is_multiple_of(F::ERASE_SIZE) || len < Self::REGION_MIN {
            return Err(JournalError::Regions);
        }
        let regions =
            core::array::from_fn(|index| Region::new((index * len) as u32, len as u32, Self::UNIT));
        let mut journal = Journal {
            flash,
            regions,
            active: None,
            writing: None,
            unclosed: [0; REGIONS],
            latest: None,
            erased: [false; REGIONS],
            sectors_erased: 0,
            buffer: Buffer::new(),
        };
        let recovered = journal.recover()?;
        Ok((journal, recovered))
    }

    fn recover(&mut self) -> Result<Recovered, JournalError<F::Error>> {
        // The result according to the active region alone.
        let mut of_active = Recovered::Empty;
        let mut interrupted = false;
        // The generation of the latest whole region before the active one.
        let mut older = 0;
        let mut foreign = false;
        for index in 0..REGIONS {
            let region = self.region(index)?;
            let content = scan::scan(&mut self.flash, &region, &mut self.buffer)?;
            let generation = match content {
                Content::Erased => {
                    if let Some(erased) = self.erased.get_mut(index) {
                        *erased = true;
                    }
                    continue;
                }
                Content::Cut => {
                    interrupted = true;
                    continue;
                }
                Content::Foreign => {
                    foreign = true;
                    continue;
                }
                Content::Begun { generation, tail } => {
                    foreign |= tail == Tail::Damaged;
                    interrupted = true;
                    generation
                }
                Content::Whole { generation, .. } => generation,
            };
            if self.latest.is_none_or(|(_, latest)| latest < generation) {
                self.latest = Some((index, generation));
            }
            if let Content::Whole {
                generation,
                end,
                tail,
                closing,
            } = content
            {
                if closing != Closing::Closed {
                    self.set_unclosed(index, generation);
                }
                let latest = self.active.map_or(0, |active| active.generation);
                older = older.max(latest.min(generation));
                if latest > generation {
                    continue;
                }
                self.active = Some(Active {
                    region: index,
                    generation,
                    end,
                    appendable: tail == Tail::Erased && closing == Closing::Open,
                    room: region.capacity(),
                });
                of_active = match tail {
                    _ if closing == Closing::Closed => Recovered::Damaged(Loss::Checkpoint),
                    Tail::Damaged => Recovered::Damaged(Loss::Records),
                    tail => Recovered::Whole {
                        interrupted: tail == Tail::Torn,
                    },
                };
            }
        }
        self.forget_unclosed_before(older);
        if self.cannot_close() {
            self.require_checkpoint();
        }
        Ok(match of_active {
            Recovered::Empty if foreign => Recovered::Damaged(Loss::Everything),
            Recovered::Whole { .. } if interrupted || foreign => {
                Recovered::Whole { interrupted: true }
            }
            other => other,
        })
    }

    /// The entries to restore, in order: the chunks of the last whole checkpoint, then the records
    /// after it. Empty without a checkpoint.
    pub fn replay(&mut self) -> Replay<'_, F, REGIONS> {
        Replay {
            at: 0,
            journal: self,
        }
    }

    /// Appends a record. It is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`Full`](JournalError::Full), [`NeedsCheckpoint`](JournalError::NeedsCheckpoint),
    /// [`CheckpointUnderWay`](JournalError::CheckpointUnderWay) and
    /// [`PayloadTooLong`](JournalError::PayloadTooLong) change nothing. If the flash fails, the
    /// next start may find the record, and nothing can be appended before a checkpoint.
    pub fn append(&mut self, record: &[u8]) -> Result<(), JournalError<F::Error>> {
        if self.writing.is_some() {
            return Err(JournalError::CheckpointUnderWay);
        }
        let active = self.active.filter(|active| active.appendable);
        let active = active.ok_or(JournalError::NeedsCheckpoint)?;
        let region = self.region(active.region)?;
        if record.len() > PAYLOAD_MAX {
            return Err(JournalError::PayloadTooLong);
        }
        if region.room(active.end) < Self::chunk_bytes(record.len()) {
            return Err(JournalError::Full);
        }
        let closed = self.close_others(active.region);
        if closed.is_err() {
            self.require_checkpoint();
            return closed;
        }
        let written = self.write(
            &region,
            active.end,
            active.generation,
            EntryKind::Record,
            record,
        );
        self.active = Some(Active {
            end: *written.as_ref().unwrap_or(&active.end),
            appendable: written.is_ok(),
            ..active
        });
        written.map(|_| ())
    }

    /// Closes all regions except this one. If this fails, the next checkpoint requires one more
    /// region to be closed: the present one, which is later.
    fn close_others(&mut self, active: usize) -> Result<(), JournalError<F::Error>> {
        let regions = self.regions.iter().zip(&mut self.unclosed).enumerate();
        for (index, (region, unclosed)) in regions {
            if index == active || *unclosed == 0 {
                continue;
            }
            match scan::closing(&mut self.flash, region)? {
                Closing::Open => {
                    let (unit, _) = [0; UNIT_MAX].split_at(Self::UNIT);
                    program(&mut self.flash, region.address(region.closed_at()), unit)?;
                }
                Closing::Touched => return Err(JournalError::Unverified),
                Closing::Closed => {}
            }
            *unclosed = 0;
        }
        Ok(())
    }

    /// Whether a region that is to be closed cannot be written.
    fn cannot_close(&mut self) -> bool {
        let active = self.active.map(|active| active.region);
        let mut regions = self.regions.iter().zip(&self.unclosed).enumerate();
        regions.any(|(index, (region, &unclosed))| {
            let mut closing = || scan::closing(&mut self.flash, region);
            Some(index) != active && unclosed > 0 && matches!(closing(), Ok(Closing::Touched))
        })
    }

    fn set_unclosed(&mut self, index: usize, generation: u64) {
        if let Some(unclosed) = self.unclosed.get_mut(index) {
            *unclosed = generation;
        }
    }

    /// Notes that earlier regions need not be closed, since closing the region of this generation
    /// suffices.
    fn forget_unclosed_before(&mut self, generation: u64) {
        for unclosed in &mut self.unclosed {
            if *unclosed < generation {
                *unclosed = 0;
            }
        }
    }

    /// The number of bytes left for records; each takes [`Journal::chunk_bytes`].
    pub fn room(&self) -> usize {
        let active = self.active.filter(|active| active.appendable);
        active.map_or(0, |active| {
            let region = self.regions.get(active.region);
            region.map_or(0, |region| region.room(active.end))
        })
    }

    /// The number of bytes that a chunk or record of `len` bytes takes in a region.
    pub const fn chunk_bytes(len: usize) -> usize {
        entry::size(len, Self::UNIT)
    }

    /// Refuses further records until the next checkpoint: the caller cannot use the entries of
    /// [`Journal::replay`]. They stay in the flash until then.
    pub const fn require_checkpoint(&mut self) {
        if let Some(active) = &mut self.active {
            active.appendable = false;
        }
    }

    /// The number of sectors erased since the journal was opened.
    pub const fn sectors_erased(&self) -> u32 {
        self.sectors_erased
    }

    /// The flash. The caller must not write to the regions.
    pub const fn flash_mut(&mut self) -> &mut F {
        &mut self.flash
    }

    /// Gives the flash back.
    pub fn into_flash(self) -> F {
        self.flash
    }

    fn region(&self, index: usize) -> Result<Region, JournalError<F::Error>> {
        self.regions
            .get(index)
            .copied()
            .ok_or(JournalError::Regions)
    }

    const fn after(&self, index: usize) -> usize {
        if index + 1 < REGIONS { index + 1 } else { 0 }
    }

    /// Writes an entry and reads it back, the mark at the end: an entry that was not written
    /// correctly has no mark, and does not count as damage. Returns the place of the next entry.
    fn write(
        &mut self,
        region: &Region,
        at: u32,
        generation: u64,
        kind: EntryKind,
        payload: &[u8],
    ) -> Result<u32, JournalError<F::Error>> {
        entry::encode(kind, payload, generation, at, Self::UNIT, &mut self.buffer)
            .ok_or(JournalError::PayloadTooLong)?;
        let Journal { flash, buffer, .. } = self;
        let (entry, mark) = buffer
            .split_at_checked(buffer.len() - Self::UNIT)
            .unwrap_or_default();
        program(flash, region.address(at), entry)?;
        program(flash, region.address(at + entry.len() as u32), mark)?;
        Ok(at + buffer.len() as u32)
    }
}

/// Writes whole words and reads them back.
fn program<F: NorFlash>(
    flash: &mut F,
    address: u32,
    bytes: &[u8],
) -> Result<(), JournalError<F::Error>> {
    flash.write(address, bytes)?;
    let words = bytes.as_chunks::<WORD>().0.iter();
    for (at, word) in (address..).step_by(WORD).zip(words) {
        let mut stored = [0; WORD];
        flash.read(at, &mut stored)?;
        if stored != *word {
            return Err(JournalError::Unverified);
        }
    }
    Ok(())
}
