//! Random numbers, a stream for each source.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// A distribution with the stream it is drawn from.
#[derive(Clone, Debug)]
pub(super) struct Source<D> {
    pub(super) distribution: D,
    pub(super) rng: ChaCha8Rng,
}

/// The stream of one source.
pub(super) struct Stream(ChaCha8Rng);

impl Stream {
    pub(super) fn new(seed: u64, replication: u32, source: u8) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(replication) << 8 | u64::from(source));
        Stream(rng)
    }

    pub(super) fn with<D>(self, distribution: D) -> Source<D> {
        Source {
            distribution,
            rng: self.0,
        }
    }
}
