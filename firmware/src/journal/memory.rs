//! A NOR flash in memory, for tests: its power can be cut in any unit that is written and in any
//! sector that is erased.

use std::vec;
use std::vec::Vec;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read,
    check_write,
};

/// Why an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFlashError {
    /// The power was cut, now or before.
    PowerCut,
    /// The address or the length is wrong: outside of the flash, or not whole units or sectors.
    Address(NorFlashErrorKind),
    /// The unit was written before, and not erased since.
    Programmed,
}

impl NorFlashError for MemoryFlashError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            MemoryFlashError::PowerCut | MemoryFlashError::Programmed => NorFlashErrorKind::Other,
            MemoryFlashError::Address(kind) => *kind,
        }
    }
}

/// A small seeded generator (splitmix64): the same seed gives the same faults.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub const fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in `times` on average.
    pub const fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A flash with sectors of `SECTOR` bytes, written in units of `UNIT` bytes and read in bytes. It
/// refuses to write a unit that is not erased, as a flash with an error-correcting code for each
/// unit does.
///
/// A step is a unit that is written or a sector that is erased. The step in which the power is cut
/// leaves anything in its unit or sector: the old bytes, the new ones, a mixture, or noise.
#[derive(Clone, Debug)]
pub struct MemoryFlash<const SECTOR: usize, const UNIT: usize = 4> {
    bytes: Vec<u8>,
    /// Whether each unit was written since it was erased.
    programmed: Vec<bool>,
    /// How often each sector was erased.
    erases: Vec<u32>,
    steps: u64,
    cut_at: Option<u64>,
    noise: Random,
}

fn is_not_blank(unit: &[u8]) -> bool {
    unit.iter().any(|&byte| byte != 0xff)
}

impl<const SECTOR: usize, const UNIT: usize> MemoryFlash<SECTOR, UNIT> {
    /// An erased flash of `sectors` sectors.
    pub fn new(sectors: usize) -> Self {
        Self::with_bytes(vec![0xff; sectors * SECTOR])
    }

    /// A flash with these bytes.
    ///
    /// # Panics
    ///
    /// If they are not whole sectors.
    pub fn with_bytes(bytes: Vec<u8>) -> Self {
        assert!(
            bytes.len().is_multiple_of(SECTOR),
            "sectors of {SECTOR} bytes"
        );
        MemoryFlash {
            programmed: bytes.chunks(UNIT).map(is_not_blank).collect(),
            erases: vec![0; bytes.len() / SECTOR],
            bytes,
            steps: 0,
            cut_at: None,
            noise: Random(0),
        }
    }

    /// Cuts the power in the step after `steps` more; `noise` determines what that step leaves.
    pub const fn cut_power_after(&mut self, steps: u64, noise: u64) {
        self.cut_at = Some(self.steps + steps);
        self.noise = Random(noise);
    }

    /// Restores the power.
    pub const fn power_on(&mut self) {
        self.cut_at = None;
    }

    /// Whether a step has reached the cut of the power.
    pub fn is_cut(&self) -> bool {
        self.cut_at.is_some_and(|cut| self.steps > cut)
    }

    /// The number of steps so far.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// How often each sector was erased.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// The bytes that it holds.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes that it holds, to damage them.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Counts a step. False if the power is cut in it.
    fn step(&mut self) -> Result<bool, MemoryFlashError> {
        if self.cut_at.is_some_and(|cut| self.steps > cut) {
            return Err(MemoryFlashError::PowerCut);
        }
        self.steps += 1;
        Ok(self.cut_at.is_none_or(|cut| self.steps <= cut))
    }

    /// Leaves at `at` what an interrupted step leaves.
    fn tear(&mut self, at: usize, intended: &[u8]) {
        let how = self.noise.next() % 4;
        let kept = self.noise.next() as usize % intended.len();
        for (index, &intended) in intended.iter().enumerate() {
            let noise = self.noise.next() as u8;
            let byte = &mut self.bytes[at + index];
            match how {
                0 => {}
                1 => *byte = intended,
                2 if index >= kept => *byte = intended,
                2 => {}
                _ => *byte = noise,
            }
        }
    }
}

impl<const SECTOR: usize, const UNIT: usize> ErrorType for MemoryFlash<SECTOR, UNIT> {
    type Error = MemoryFlashError;
}

impl<const SECTOR: usize, const UNIT: usize> ReadNorFlash for MemoryFlash<SECTOR, UNIT> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), MemoryFlashError> {
        check_read(self, offset, bytes.len()).map_err(MemoryFlashError::Address)?;
        if self.cut_at.is_some_and(|cut| self.steps > cut) {
            return Err(MemoryFlashError::PowerCut);
        }
        bytes.copy_from_slice(&self.bytes[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl<const SECTOR: usize, const UNIT: usize> NorFlash for MemoryFlash<SECTOR, UNIT> {
    const WRITE_SIZE: usize = UNIT;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), MemoryFlashError> {
        check_erase(self, from, to).map_err(MemoryFlashError::Address)?;
        for at in (from as usize..to as usize).step_by(SECTOR) {
            let whole = self.step()?;
            self.erases[at / SECTOR] += 1;
            if !whole {
                self.tear(at, &[0xff; SECTOR]);
                return Err(MemoryFlashError::PowerCut);
            }
            self.bytes[at..at + SECTOR].fill(0xff);
            self.programmed[at / UNIT..(at + SECTOR) / UNIT].fill(false);
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), MemoryFlashError> {
        check_write(self, offset, bytes.len()).map_err(MemoryFlashError::Address)?;
        for (index, unit) in bytes.chunks_exact(UNIT).enumerate() {
            let at = offset as usize + index * UNIT;
            if self.programmed[at / UNIT] {
                return Err(MemoryFlashError::Programmed);
            }
            let whole = self.step()?;
            // A bit that has changed by itself, or is worn, stays at 0.
            let stored = self.bytes[at..at + UNIT].iter().zip(unit);
            let intended: Vec<u8> = stored.map(|(a, b)| a & b).collect();
            if !whole {
                self.tear(at, &intended);
                self.programmed[at / UNIT] = is_not_blank(&self.bytes[at..at + UNIT]);
                return Err(MemoryFlashError::PowerCut);
            }
            self.programmed[at / UNIT] = true;
            self.bytes[at..at + UNIT].copy_from_slice(&intended);
        }
        Ok(())
    }
}
