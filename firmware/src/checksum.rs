//! CRC-32/ISO-HDLC, that of Ethernet, gzip and PNG, four bits at a time: [`Crc32`].
//!
//! A table of 64 bytes and 12 instructions a byte. The crate `crc` does it with a table of 1 KB, too much for the smallest image, or bit by bit, with
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
            self.0 ^= u32::from(byte);
            for _ in 0..2 {
                self.0 = self.0 >> 4 ^ REMAINDERS[self.0 as usize % REMAINDERS.len()];
            }
        }
    }

    /// The checksum.
    pub(crate) const fn finish(self) -> u32 {
        !self.0
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
        }
    }
}
