//! Naive models of machines, strategies, schedulers and the controller, and the harness that
//! compares the code under test with them.
//!
//! The models are written from the words of the papers and of the project's tie-breaks: a flag for
//! each node and one pass after another over all of them, never fast. From the code under test the
//! models use only the types of commands and replies.
//!
//! - [`grid`]: the naive machine. [`convert`] is the only place where it meets the machines and
//!   blocks of the code under test.
//! - [`strategy`]: where each strategy places a request; it uses [`submesh`] (the definitions of
//!   Kim and Yoon), [`shaped`] (L shapes, and sets of neighbours), [`split`] (requests that are
//!   divided), [`scattered`] (pages, and processors drawn at random), [`buddy`], [`binary_tree`]
//!   (Liu, Hsu and Wu), [`curve`] (Leung and others), [`nearest`] (the nearest processors of the
//!   best centre), [`pods`] (folding, slices in cubes, fixed placements) and [`notation`]
//!   (algorithm G* of Chuang and Wu).
//! - [`system`]: what a controller answers, with [`discipline`] for the schedulers that bypass a
//!   head, and [`backfilling`] for those that reserve.
//! - [`trial`]: controller and system side by side, compared after every operation; [`survey`]: all
//!   occupancies of small grids and all requests.
//! - [`saved`]: checkpoints of a controller, and random commands for controllers that are compared
//!   with each other.
//! - [`hash`]: one number for long answers, to be compared with a constant.
//! - [`wormhole`]: a network in which every flit is moved in every cycle.

pub mod backfilling;
pub mod bench;
pub mod binary_tree;
pub mod boxes;
pub mod buddy;
pub mod convert;
pub mod curve;
pub mod discipline;
pub mod foresight;
pub mod grid;
pub mod hash;
pub mod measure;
pub mod nearest;
pub mod notation;
pub mod partitions;
pub mod pods;
pub mod qemu;
pub mod random;
pub mod rig;
pub mod saved;
pub mod scattered;
pub mod shaped;
pub mod split;
pub mod strategy;
pub mod submesh;
pub mod survey;
pub mod system;
pub mod tolerance;
pub mod trial;
pub mod wormhole;

/// How much a test tries: `all` with the feature `exhaustive`, otherwise `some`.
pub const fn exhaustive(all: u32, some: u32) -> u32 {
    if cfg!(feature = "exhaustive") {
        all
    } else {
        some
    }
}

/// All of these with the feature `exhaustive`, otherwise one of `every`: which one depends on
/// `seed`, so that other values of another loop meet others of these.
pub fn sample<T>(
    all: impl IntoIterator<Item = T>,
    every: u32,
    seed: u64,
) -> impl Iterator<Item = T> {
    let every = exhaustive(1, every);
    let first = seed % u64::from(every);
    all.into_iter().skip(first as usize).step_by(every as usize)
}

/// The Rust code of the documents, which runs as doc tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../docs/guides/link-the-core.md")]
    struct LinkTheCore;
}
