//! A NOR flash in memory, for tests. Its power can be cut, or its operation can fail, in any write
//! of a unit and in any erase of a sector.

use std::ops::Range;
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
    /// The operation failed as [`MemoryFlash::fail_after`] demanded.
    Failed,
}

impl NorFlashError for MemoryFlashError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            MemoryFlashError::PowerCut
            | MemoryFlashError::Programmed
            | MemoryFlashError::Failed => NorFlashErrorKind::Other,
            MemoryFlashError::Address(kind) => *kind,
        }
    }
}

/// How a step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The step does nothing and returns an error.
    Refused,
    /// The step does nothing and returns no error.
    Dropped,
    /// The step leaves arbitrary bytes, as a cut of the power does, and returns an error.
    Torn,
    /// The step leaves arbitrary bytes and returns no error.
    Garbled,
    /// The step succeeds but returns an error.
    Denied,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Fault; 5] = [
        Fault::Refused,
        Fault::Dropped,
        Fault::Torn,
        Fault::Garbled,
        Fault::Denied,
    ];
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
    /// The steps that fail.
    fails_in: Range<u64>,
    fault: Fault,
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
            fails_in: 0..0,
            fault: Fault::Refused,
            noise: Random(0),
        }
    }

    /// Cuts the power in the step after `steps` more; `noise` determines what that step leaves.
    pub const fn cut_power_after(&mut self, steps: u64, noise: u64) {
        self.cut_at = Some(self.steps + steps);
        self.noise = Random(noise);
    }

    /// After `steps` more, this number of steps fails like this. `noise` determines what they
    /// leave.
    pub const fn fail_after(&mut self, steps: u64, number: u64, fault: Fault, noise: u64) {
        let from = self.steps + steps;
        self.fails_in = from..from + number;
        self.fault = fault;
        self.noise = Random(noise);
    }

    /// Whether a step has failed.
    pub const fn has_failed(&self) -> bool {
        self.fails_in.start < self.fails_in.end && self.steps > self.fails_in.start
    }

    /// Restores the power, and lets no further step fail.
    pub const fn power_on(&mut self) {
        self.cut_at = None;
        self.fails_in = 0..0;
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

    fn powered(&self) -> Result<(), MemoryFlashError> {
        if self.is_cut() {
            Err(MemoryFlashError::PowerCut)
        } else {
            Ok(())
        }
    }

    /// Counts a step and does it, which leaves these bytes at `at`.
    fn step(&mut self, at: usize, intended: &[u8]) -> Result<(), MemoryFlashError> {
        let fault = self.fails_in.contains(&self.steps).then_some(self.fault);
        self.steps += 1;
        if self.is_cut() {
            self.tear(at, intended);
            return Err(MemoryFlashError::PowerCut);
        }
        match fault {
            Some(Fault::Refused | Fault::Dropped) => {}
            Some(Fault::Torn | Fault::Garbled) => self.tear(at, intended),
            None | Some(Fault::Denied) => {
                self.bytes[at..at + intended.len()].copy_from_slice(intended);
            }
        }
        match fault {
            None | Some(Fault::Dropped | Fault::Garbled) => Ok(()),
            Some(Fault::Refused | Fault::Torn | Fault::Denied) => Err(MemoryFlashError::Failed),
        }
    }

    /// Leaves at `at` the bytes of an interrupted step.
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
        self.powered()?;
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
            self.powered()?;
            self.erases[at / SECTOR] += 1;
            let erased = self.step(at, &[0xff; SECTOR]);
            let units = self.bytes[at..at + SECTOR].chunks(UNIT);
            let programmed = &mut self.programmed[at / UNIT..];
            for (programmed, unit) in programmed.iter_mut().zip(units) {
                // A unit that was written with the bytes of erased flash stays written.
                *programmed = is_not_blank(unit) || *programmed && erased.is_err();
            }
            erased?;
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), MemoryFlashError> {
        check_write(self, offset, bytes.len()).map_err(MemoryFlashError::Address)?;
        for (index, unit) in bytes.chunks_exact(UNIT).enumerate() {
            let at = offset as usize + index * UNIT;
            self.powered()?;
            if self.programmed[at / UNIT] {
                return Err(MemoryFlashError::Programmed);
            }
            // A bit that has changed by itself, or is worn, stays at 0.
            let stored = self.bytes[at..at + UNIT].iter().zip(unit);
            let intended: Vec<u8> = stored.map(|(a, b)| a & b).collect();
            let written = self.step(at, &intended);
            self.programmed[at / UNIT] =
                written.is_ok() || is_not_blank(&self.bytes[at..at + UNIT]);
            written?;
        }
        Ok(())
    }
}
