//! The journal's area in an emulator whose flash cannot be written: a file on the host, through
//! semihosting.
//!
//! The file is [`FILE`] in the folder in which QEMU was started, and is made if it does not exist.
//! It has the bytes that the sectors of a board would have.

use core::ffi::CStr;
use core::ops::Range;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};
use semihosting::fs::{File, OpenOptions};
use semihosting::io::{self, Read, Seek, SeekFrom, Write};

use super::UNIT;

/// The file's name.
const FILE: &CStr = c"meshalloc-journal.bin";
/// Bytes of a sector.
const SECTOR_LEN: usize = 16 * 1024;
const SECTORS: usize = 3;
const ERASED: [u8; 256] = [0xff; 256];

/// The file, written in units of [`UNIT`] bytes.
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

    /// The file, from this byte on.
    fn at(&mut self, offset: u32) -> Result<&mut File, NorFlashErrorKind> {
        self.0.seek(SeekFrom::Start(offset.into())).map_err(other)?;
        Ok(&mut self.0)
    }
}

const fn other(_: io::Error) -> NorFlashErrorKind {
    NorFlashErrorKind::Other
}

impl ErrorType for Area {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Area {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        self.at(offset)?.read_exact(bytes).map_err(other)
    }

    fn capacity(&self) -> usize {
        SECTORS * SECTOR_LEN
    }
}

impl NorFlash for Area {
    const WRITE_SIZE: usize = UNIT;
    const ERASE_SIZE: usize = SECTOR_LEN;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        self.fill(from as usize..to as usize).map_err(other)
    }

    /// Writes unit by unit, so that a QEMU that is killed leaves the same bytes as a cut of the
    /// power. Bits only become 0.
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        let (units, _) = bytes.as_chunks::<UNIT>();
        for (at, unit) in (offset..).step_by(UNIT).zip(units) {
            let mut stored = [0; UNIT];
            self.read(at, &mut stored)?;
            for (stored, byte) in stored.iter_mut().zip(unit) {
                *stored &= byte;
            }
            self.at(at)?.write_all(&stored).map_err(other)?;
        }
        Ok(())
    }
}
