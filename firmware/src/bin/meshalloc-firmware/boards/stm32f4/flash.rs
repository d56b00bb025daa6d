//! The journal's area: sectors 1 to 3 of the chip's flash, 16 KB each, between the vector table and
//! the code.
//!
//! The chip cannot fetch code from its flash while it writes or erases it, so everything stands
//! still, interrupts included: 16 us for a byte and 0.4 s for a sector, at most 100 us and 0.8 s
//! (data sheet; `stm32f4xx-hal` programs single bytes). The cycle counter goes on, and the clock is
//! corrected by the time that an erase has taken.

use ::cortex_m::peripheral::DWT;
use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};
use stm32f4xx_hal::flash::FlashExt;
use stm32f4xx_hal::pac::FLASH;

use crate::boards::cortex_m as clock;

/// Bytes of a sector.
const SECTOR_LEN: usize = 16 * 1024;
const SECTORS: usize = 3;
/// The first sector of the area. The linker keeps code out of all of them
/// (`code_behind_journal` in `src/boards.rs`).
const FIRST_SECTOR: u8 = 1;
/// The start of the area, in bytes from the start of the flash.
const START: usize = FIRST_SECTOR as usize * SECTOR_LEN;

/// The area; addresses count from its start.
pub(crate) struct Area(FLASH);

impl Area {
    /// The area of the chip's flash.
    pub(crate) const fn new(flash: FLASH) -> Self {
        Area(flash)
    }

    /// Clears errors that a debugger has left. Otherwise the next operation would report them, or
    /// not start.
    fn clear_errors(&mut self) {
        self.0.sr().write(|w| {
            w.pgserr().clear();
            w.pgperr().clear();
            w.pgaerr().clear();
            w.wrperr().clear();
            w.operr().clear()
        });
    }

    /// Empties the data cache, which does not notice that the flash has changed.
    fn empty_cache(&mut self) {
        let acr = self.0.acr();
        if acr.read().dcen().bit_is_set() {
            acr.modify(|_, w| w.dcen().clear_bit());
            acr.modify(|_, w| w.dcrst().set_bit());
            acr.modify(|_, w| w.dcrst().clear_bit());
            acr.modify(|_, w| w.dcen().set_bit());
        }
    }
}

impl ErrorType for Area {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Area {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        let at = START + offset as usize;
        let stored = self.0.read().get(at..at + bytes.len());
        let stored = stored.ok_or(NorFlashErrorKind::OutOfBounds)?;
        for (byte, &stored) in bytes.iter_mut().zip(stored) {
            *byte = stored;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        SECTORS * SECTOR_LEN
    }
}

impl NorFlash for Area {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = SECTOR_LEN;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        self.clear_errors();
        let (began, before) = (clock::now_ms(), DWT::cycle_count());
        let erased = (from as usize / SECTOR_LEN..to as usize / SECTOR_LEN)
            .try_for_each(|index| self.0.unlocked().erase(FIRST_SECTOR + index as u8));
        // Two erases take less than the 23 s after which the counter begins again.
        clock::catch_up(began, DWT::cycle_count().wrapping_sub(before));
        self.empty_cache();
        erased.map_err(|_| NorFlashErrorKind::Other)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        self.clear_errors();
        let at = START + offset as usize;
        let written = self.0.unlocked().program(at, bytes.iter());
        self.empty_cache();
        written.map_err(|_| NorFlashErrorKind::Other)
    }
}
