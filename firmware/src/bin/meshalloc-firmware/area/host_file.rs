//! The journal's area in QEMU, whose flash cannot be written: a file on the host, through semihosting.
//!
//! It is [`FILE`] in the folder in which QEMU was started, and is made if there is none. It has the bytes that the sectors of the board would have.

use core::ffi::CStr;
use core::ops::Range;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};
use semihosting::fs::{File, OpenOptions};
use semihosting::io::{self, Read, Seek, SeekFrom, Write};

use super::{SECTOR_LEN, SECTORS};

/// The file's name.
const FILE: &CStr = c"meshalloc-journal.bin";
const WORD: usize = 4;
const ERASED: [u8; 256] = [0xff; 256];

/// The file.
pub(crate) struct Area(File);

impl Area {
    /// Opens the file, and makes it if there is none.
    pub(crate) fn open() -> io::Result<Self> {
        let open = |make: bool| {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create(make).truncate(make);
            options.open(FILE)
        };
        let mut area = Area(open(false).or_else(|_| open(true))?);
        let len = area.0.metadata()?.len() as usize;
        area.fill(len..SECTORS * SECTOR_LEN)?;
        Ok(area)
    }

    /// Erases a part, or adds it.
    fn fill(&mut self, part: Range<usize>) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(part.start as u64))?;
        let mut left = part.len();
        while left > 0 {
            let len = left.min(ERASED.len());
            self.0.write_all(&ERASED[..len])?;
            left -= len;
        }
        Ok(())
    }
}

impl ErrorType for Area {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Area {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        self.0
            .seek(SeekFrom::Start(offset.into()))
            .map_err(|_| NorFlashErrorKind::Other)?;
        self.0
            .read_exact(bytes)
            .map_err(|_| NorFlashErrorKind::Other)
    }

    fn capacity(&self) -> usize {
        SECTORS * SECTOR_LEN
    }
}

impl NorFlash for Area {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = SECTOR_LEN;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        self.fill(from as usize..to as usize)
            .map_err(|_| NorFlashErrorKind::Other)
    }

    /// Word by word, so that a QEMU that is killed leaves what a cut of the power would. Bits only become 0.
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        let (words, _) = bytes.as_chunks::<WORD>();
        for (at, word) in (offset..).step_by(WORD).zip(words) {
            let mut stored = [0; WORD];
            self.read(at, &mut stored)?;
            let stored = u32::from_le_bytes(stored) & u32::from_le_bytes(*word);
            self.0
                .seek(SeekFrom::Start(at.into()))
                .map_err(|_| NorFlashErrorKind::Other)?;
            self.0
                .write_all(&stored.to_le_bytes())
                .map_err(|_| NorFlashErrorKind::Other)?;
        }
        Ok(())
    }
}
