//! CRC-32/ISO-HDLC, the checksum of Ethernet, gzip and PNG: [`Crc32`]. Checkpoints end with it, as
//! do frames and records of the firmware.
//!
//! The code takes four bits at a time, with a table of 64 bytes and 11 instructions per byte. The
//! crate `crc` offers a table of 1 KB, which is too large for the smallest image, or single bits,
//! with 40 instructions per byte. The tests compare with that crate.
//!
//! ```text
//!   register       hhhhhhh l         l: the lowest four bits, after the byte was added
//!   shifted        0hhhhhh h
//!   xor            REMAINDERS[l]     the remainder of these four bits by the polynomial
//! ```

/// The polynomial, with the lowest power in the highest bit.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// The remainder of each value of four bits.
static REMAINDERS: [u32; 16] = {
    let mut remainders = [0; 16];
    let mut value = 0;
    while value < remainders.len() {
        let mut rest = value as u32;
        let mut bit = 0;
        while bit < 4 {
            rest = (rest >> 1) ^ ((rest & 1) * POLYNOMIAL);
            bit += 1;
        }
        remainders[value] = rest;
        value += 1;
    }
    remainders
};

/// The checksum of any bytes followed by their own checksum, lowest byte first.
const RESIDUE: u32 = 0x2144_DF1C;

/// A checksum under way, of bytes that arrive one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Crc32(u32);

impl Crc32 {
    /// Starts a checksum, with no bytes so far.
    pub const fn new() -> Self {
        Crc32(!0)
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.take(byte);
        }
    }

    /// Adds a byte.
    // Out of line, and with a loop over the two halves, the function would take half as much time
    // again.
    #[inline(always)]
    pub fn take(&mut self, byte: u8) {
        let remainder = |rest: u32| REMAINDERS[rest as usize % REMAINDERS.len()];
        self.0 ^= u32::from(byte);
        self.0 = self.0 >> 4 ^ remainder(self.0);
        self.0 = self.0 >> 4 ^ remainder(self.0);
    }

    /// Whether the last four bytes are the checksum of those before them.
    pub const fn ends_with_itself(self) -> bool {
        self.finish() == RESIDUE
    }

    /// The checksum of the bytes so far and of these.
    // Inlining it takes more flash.
    #[cfg_attr(target_os = "none", inline(never))]
    #[must_use]
    pub fn with(mut self, bytes: &[u8]) -> u32 {
        self.update(bytes);
        self.finish()
    }

    /// The checksum.
    pub const fn finish(self) -> u32 {
        !self.0
    }
}

impl Default for Crc32 {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use crc::{CRC_32_ISO_HDLC, Crc};

    use super::*;

    #[test]
    fn it_is_the_checksum_of_the_catalogue() {
        assert_eq!(Crc32::new().with(b"123456789"), CRC_32_ISO_HDLC.check);
        let independent = Crc::<u32>::new(&CRC_32_ISO_HDLC);
        let bytes: [u8; 300] = core::array::from_fn(|at| (at * at * 7 % 251) as u8);
        for end in 0..=bytes.len() {
            let (first, second) = bytes[..end].split_at(end / 3);
            let mut crc = Crc32::new();
            crc.update(first);
            crc.update(second);
            assert_eq!(crc.finish(), independent.checksum(&bytes[..end]));
            let checksum = crc.finish().to_le_bytes();
            crc.update(&checksum[..3]);
            assert!(!crc.ends_with_itself());
            crc.update(&checksum[3..]);
            assert!(crc.ends_with_itself());
        }
    }
}
