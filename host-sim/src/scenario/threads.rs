//! The threads of every command that shares runs among several: [`ThreadsArgs`].

use std::num::NonZero;

use clap::Args;

use meshalloc_sim::names;

/// The option of threads.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ThreadsArgs {
    /// Threads that share the runs; their number does not change any result [default: all processors]
    #[arg(long = "threads", value_name = "COUNT", value_parser = names::threads, allow_negative_numbers = true,
        help_heading = "Where and how")]
    pub(crate) count: Option<NonZero<usize>>,
}
