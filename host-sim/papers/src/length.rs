//! How long is measured for a paper: [`Length`].

use meshalloc_sim::experiment::Replications;

/// How long is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// Jobs in a replication.
    pub jobs: u32,
    /// How often.
    pub replications: Replications,
    /// What all random numbers derive from.
    pub seed: u64,
}
