//! The memory of a journal in a file: a NOR flash whose operations take effect in the file together
//! and in order, when [`Area::sync`] returns.
//!
//! ```text
//!   magic ─ 4 KiB │ batch 0 │ batch 1 │ region 0 │ region 1 │ region 2
//! ```
//!
//! Operations since the last sync are a *batch*. A sync writes the batch into one of two places in
//! turn, with a number and a checksum, waits until the disk has it, and then writes the regions,
//! for which the next sync waits. So the file has each batch as a whole or not at all, whichever
//! unsynced bytes a crash has lost: opening the file writes the last two batches into the regions
//! again. One sync waits once for the disk, however many changes the batch has.

use std::cell::RefCell;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};
use meshalloc::checksum::Crc32;
use meshalloc_firmware::board::REGIONS;

use crate::file;

/// The first bytes of the file: they name this layout.
const MAGIC: [u8; 8] = *b"MAJFILE1";
/// The place of the first batch.
const HEAD_LEN: u64 = 4096;
/// The room of a batch, with its head.
const BATCH_LEN: usize = 64 * 1024;
/// The number of a batch, the length of its operations, and the checksum of all of it.
const BATCH_HEAD_LEN: usize = 8 + 4 + 4;
/// The place of the first region.
const REGIONS_AT: u64 = HEAD_LEN + 2 * BATCH_LEN as u64;
/// Bytes of a region.
const REGION_LEN: usize = 1 << 20;
const FLASH_LEN: usize = REGIONS * REGION_LEN;
const FILE_LEN: u64 = REGIONS_AT + FLASH_LEN as u64;
/// The longest operation that is written with its bytes.
const WRITE_MAX: usize = BATCH_LEN - BATCH_HEAD_LEN - OPERATION_HEAD_LEN;
/// The place of an operation and its length; [`ERASE`] is set if it has no bytes.
const OPERATION_HEAD_LEN: usize = 4 + 4;
const ERASE: u32 = 1 << 31;

/// Where the bytes are.
pub(super) trait Disk {
    fn read(&mut self, at: u64, bytes: &mut [u8]) -> io::Result<()>;

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits until the disk has everything that was written.
    fn sync(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn read(&mut self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(at))?;
        self.read_exact(bytes)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(at))?;
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// The memory of a journal. Copies share it: the server writes through one, the board syncs
/// another.
#[derive(Debug)]
pub(super) struct Area<D>(Rc<RefCell<State<D>>>);

impl<D> Clone for Area<D> {
    fn clone(&self) -> Self {
        Area(Rc::clone(&self.0))
    }
}

/// What the copies of an area share.
#[derive(Debug)]
struct State<D> {
    disk: D,
    /// The regions as they are after all operations.
    image: Vec<u8>,
    /// The room for the head of the batch, and its operations so far.
    batch: Vec<u8>,
    /// The number of the last batch that was written.
    number: u64,
    /// Whether the disk has failed: what it has is unknown, so nothing more is written.
    has_failed: bool,
}

/// Opens the file of a journal, and makes it if there is none. No other program may use it.
pub(super) fn open(path: &Path) -> Result<Area<File>, String> {
    let cannot =
        |what: &str, error: io::Error| format!("{}: cannot {what}: {error}", path.display());
    if !path.exists() {
        make(path).map_err(|error| cannot("make the journal", error))?;
    }
    let file = File::options().read(true).write(true).open(path);
    let file = file.map_err(|error| cannot("open the journal", error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(format!(
                "{}: another program uses this journal",
                path.display()
            ));
        }
        Err(TryLockError::Error(error)) => return Err(cannot("lock the journal", error)),
    }
    let len = file
        .metadata()
        .map_err(|error| cannot("read", error))?
        .len();
    let area = match len {
        FILE_LEN => Area::open(file).map_err(|error| cannot("read the journal", error))?,
        _ => None,
    };
    area.ok_or_else(|| {
        format!(
            "{}: this is no journal of serve (expected a file that it has made, or none)",
            path.display()
        )
    })
}

/// Makes the file of an empty journal, as a whole.
fn make(path: &Path) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(file::folder_of(path))?;
    for (at, bytes) in blank() {
        Disk::write(file.as_file_mut(), at, &bytes)?;
    }
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    file::sync_folder(path)
}

/// The parts of an empty journal with their places.
fn blank() -> [(u64, Vec<u8>); 3] {
    [
        (0, MAGIC.to_vec()),
        (HEAD_LEN, vec![0; 2 * BATCH_LEN]),
        (REGIONS_AT, vec![0xff; FLASH_LEN]),
    ]
}

impl<D: Disk> Area<D> {
    /// Reads the regions after the last whole batch; `None` if the disk has something else.
    fn open(mut disk: D) -> io::Result<Option<Self>> {
        let mut magic = MAGIC;
        disk.read(0, &mut magic)?;
        if magic != MAGIC {
            return Ok(None);
        }
        let mut image = vec![0; FLASH_LEN];
        disk.read(REGIONS_AT, &mut image)?;
        let mut batches = Vec::new();
        for place in 0..2 {
            let mut batch = vec![0; BATCH_LEN];
            disk.read(batch_at(place), &mut batch)?;
            if let Some((number, len)) = whole(&batch) {
                batch.truncate(BATCH_HEAD_LEN + len);
                batches.push((number, batch));
            }
        }
        batches.sort_unstable();
        for (_, batch) in &batches {
            for (range, bytes) in operations(batch) {
                fill(&mut image, range.clone(), bytes);
                let at = REGIONS_AT + range.start as u64;
                disk.write(at, image.get(range).unwrap_or_default())?;
            }
        }
        disk.sync()?;
        Ok(Some(Area(Rc::new(RefCell::new(State {
            disk,
            image,
            batch: vec![0; BATCH_HEAD_LEN],
            number: batches.last().map_or(0, |(number, _)| *number),
            has_failed: false,
        })))))
    }

    /// Waits until the disk has all operations so far.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.borrow_mut().sync()
    }
}

impl<D: Disk> State<D> {
    fn sync(&mut self) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("the disk has failed before"));
        }
        if self.batch.len() == BATCH_HEAD_LEN {
            return Ok(());
        }
        // Until it has succeeded.
        self.has_failed = true;
        self.number += 1;
        let len = (self.batch.len() - BATCH_HEAD_LEN) as u32;
        self.batch[..8].copy_from_slice(&self.number.to_le_bytes());
        self.batch[8..12].copy_from_slice(&len.to_le_bytes());
        let sum = checksum(&self.batch);
        self.batch[12..16].copy_from_slice(&sum.to_le_bytes());
        self.disk.write(batch_at(self.number % 2), &self.batch)?;
        self.disk.sync()?;
        for (range, _) in operations(&self.batch) {
            let at = REGIONS_AT + range.start as u64;
            self.disk.write(at, &self.image[range])?;
        }
        self.batch.truncate(BATCH_HEAD_LEN);
        self.has_failed = false;
        Ok(())
    }

    /// Carries an operation out: an erase, or a write of these bytes.
    fn operate(&mut self, range: Range<usize>, bytes: Option<&[u8]>) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("the disk has failed before"));
        }
        let len = OPERATION_HEAD_LEN + bytes.map_or(0, <[u8]>::len);
        if self.batch.len() + len > BATCH_LEN {
            self.sync()?;
        }
        let flag = if bytes.is_some() { 0 } else { ERASE };
        self.batch.extend((range.start as u32).to_le_bytes());
        self.batch.extend((range.len() as u32 | flag).to_le_bytes());
        self.batch.extend(bytes.unwrap_or_default());
        fill(&mut self.image, range, bytes);
        Ok(())
    }
}

const fn batch_at(place: u64) -> u64 {
    HEAD_LEN + place * BATCH_LEN as u64
}

fn checksum(batch: &[u8]) -> u32 {
    let mut sum = Crc32::new();
    sum.update(&batch[..12]);
    sum.update(&batch[BATCH_HEAD_LEN..]);
    sum.finish()
}

/// The number of a batch and the length of its operations, if it is whole.
fn whole(place: &[u8]) -> Option<(u64, usize)> {
    let number = u64::from_le_bytes(*place.first_chunk()?);
    let len = u32::from_le_bytes(*place.get(8..)?.first_chunk()?) as usize;
    let sum = u32::from_le_bytes(*place.get(12..)?.first_chunk()?);
    let batch = place.get(..BATCH_HEAD_LEN.checked_add(len)?)?;
    (number > 0 && sum == checksum(batch)).then_some((number, len))
}

/// The operations of a whole batch: a part of the regions, and its bytes unless it is erased.
fn operations(batch: &[u8]) -> impl Iterator<Item = (Range<usize>, Option<&[u8]>)> {
    let mut rest = &batch[BATCH_HEAD_LEN..];
    std::iter::from_fn(move || {
        let (at, after) = rest.split_first_chunk()?;
        let (len, after) = after.split_first_chunk()?;
        let (at, len) = (u32::from_le_bytes(*at) as usize, u32::from_le_bytes(*len));
        let range = at..at + (len & !ERASE) as usize;
        let own = if len & ERASE == 0 { range.len() } else { 0 };
        let (bytes, after) = after.split_at_checked(own)?;
        rest = after;
        Some((range, (len & ERASE == 0).then_some(bytes)))
    })
}

fn fill(image: &mut [u8], range: Range<usize>, bytes: Option<&[u8]>) {
    if let Some(part) = image.get_mut(range) {
        match bytes {
            Some(bytes) => part.copy_from_slice(bytes),
            None => part.fill(0xff),
        }
    }
}

impl<D> ErrorType for Area<D> {
    type Error = NorFlashErrorKind;
}

impl<D: Disk> ReadNorFlash for Area<D> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        let at = offset as usize;
        bytes.copy_from_slice(&self.0.borrow().image[at..at + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        FLASH_LEN
    }
}

impl<D: Disk> NorFlash for Area<D> {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = REGION_LEN;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        let mut state = self.0.borrow_mut();
        let erased = state.operate(from as usize..to as usize, None);
        erased.map_err(|_| NorFlashErrorKind::Other)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        let mut state = self.0.borrow_mut();
        let places = (offset as usize..).step_by(WRITE_MAX);
        for (at, part) in places.zip(bytes.chunks(WRITE_MAX)) {
            let range = at..at + part.len();
            // Bits only become 0.
            let before = &state.image[range.clone()];
            let after: Vec<u8> = before.iter().zip(part).map(|(a, b)| a & b).collect();
            let written = state.operate(range, Some(&after));
            written.map_err(|_| NorFlashErrorKind::Other)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
