//! A hash, with which tests compare long answers with a constant: [`struct@Hash`].

/// The 64-bit hash of Fowler, Noll and Vo, variant 1a.
#[derive(Debug)]
pub struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    /// Takes these bytes.
    pub fn put_bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Takes the eight bytes of a number.
    pub fn put(&mut self, number: u64) {
        self.put_bytes(&number.to_le_bytes());
    }

    /// The hash of all bytes so far.
    pub const fn get(&self) -> u64 {
        self.0
    }
}
