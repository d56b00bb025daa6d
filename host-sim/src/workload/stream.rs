//! Random numbers, a stream for each source.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// A distribution with the stream it is drawn from.
#[derive(Clone, Debug)]
pub(crate) struct Source<D> {
    pub(crate) distribution: D,
    pub(crate) rng: ChaCha8Rng,
}

/// The stream of one source.
pub(crate) struct Stream(ChaCha8Rng);

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
