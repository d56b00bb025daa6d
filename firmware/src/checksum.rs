//! CRC-32/ISO-HDLC, that of Ethernet, gzip and PNG, four bits at a time: [`Crc32`].
//!
//! A table of 64 bytes and 11 instructions a byte. The crate `crc` does it with a table of 1 KB, too much for the smallest image, or bit by bit, with
//! 40 instructions a byte; here it is the oracle of the tests.

/// The polynomial, lowest power in the highest bit.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// For each value of the lowest four bits what remains of them.
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

/// What is left of any bytes and their checksum behind them, lowest byte first.
const RESIDUE: u32 = 0x2144_DF1C;

/// The checksum of bytes that come one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crc32(u32);

impl Crc32 {
    /// Of no bytes yet.
    pub(crate) const fn new() -> Self {
        Crc32(!0)
    }

    /// Takes further bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.take(byte);
        }
    }

    /// Takes a further byte.
    // Out of line, and with a loop for the two halves, it takes half as much again.
    #[inline(always)]
    pub(crate) fn take(&mut self, byte: u8) {
        let remainder = |rest: u32| REMAINDERS[rest as usize % REMAINDERS.len()];
        self.0 ^= u32::from(byte);
        self.0 = self.0 >> 4 ^ remainder(self.0);
        self.0 = self.0 >> 4 ^ remainder(self.0);
    }

    /// Whether the latest four bytes are the checksum of those before them.
    pub(crate) const fn ends_with_itself(self) -> bool {
        self.finish() == RESIDUE
    }

    /// The checksum.
    pub(crate) const fn finish(self) -> u32 {
        !self.0
    }
}

impl Default for Crc32 {
    fn default() -> Self {
        Self::new()
    }
}

/// The checksum of these bytes.
// Inlined it takes more flash.
#[inline(never)]
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc32::new();
    crc.update(bytes);
    crc.finish()
}

#[cfg(test)]
mod tests {
    use crc::{CRC_32_ISO_HDLC, Crc};

    use super::*;

    #[test]
    fn it_is_the_checksum_of_the_catalogue() {
        assert_eq!(crc32(b"123456789"), CRC_32_ISO_HDLC.check);
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
