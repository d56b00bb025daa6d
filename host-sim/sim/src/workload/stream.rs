//! Random numbers, a stream for each source.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use rand_distr::Distribution;

/// The source of the strategies' seeds, beside those of the workload.
const STRATEGY_SOURCE: u8 = u8::MAX;

/// The seed of a strategy that draws random numbers, for one replication; not 0.
pub fn strategy_seed(seed: u64, replication: u32) -> u64 {
    let Stream(mut rng) = Stream::new(seed, replication, STRATEGY_SOURCE);
    rng.next_u64().max(1)
}

pub(crate) const FAILURE_SOURCE: u8 = u8::MAX - 1;

/// The step of SplitMix64 from number to number (G. L. Steele, D. Lea and C. H. Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
pub(crate) const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The next number of SplitMix64 in this state: a permutation of the 64-bit numbers without a
/// visible order.
pub const fn shuffled(state: u64) -> u64 {
    let mut bits = state.wrapping_add(GAMMA);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// 53 random bits as a fraction of 1.
pub(crate) fn fraction<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A distribution with the stream it is drawn from.
#[derive(Clone, Debug)]
pub(crate) struct Source<D> {
    pub(crate) distribution: D,
    pub(crate) rng: ChaCha8Rng,
}

impl<D> Source<D> {
    /// The next value.
    #[inline]
    pub(crate) fn draw<T>(&mut self) -> T
    where
        D: Distribution<T>,
    {
        self.distribution.sample(&mut self.rng)
    }
}

pub(crate) struct Stream(pub(crate) ChaCha8Rng);

impl Stream {
    pub(crate) fn new(seed: u64, replication: u32, source: u8) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(replication) << 8 | u64::from(source));
        Stream(rng)
    }

    pub(crate) fn with<D>(self, distribution: D) -> Source<D> {
        Source {
            distribution,
            rng: self.0,
        }
    }
}
