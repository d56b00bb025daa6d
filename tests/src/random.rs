//! Seeded random numbers for tests: the same seed gives the same operations on every machine.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number from `0..bound`; `bound` is at least 1.
    ///
    /// The high half of a product instead of a remainder; with 32-bit bounds the bias is far below
    /// anything a test could see.
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "nothing lies below 0");
        let product = u128::from(self.0.next_u64()) * u128::from(bound);
        (product >> 64) as u32
    }

    /// A number from `low..=high`.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// True with a probability of `percent` in a hundred.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}
