//! What is to be run: [`Scenario`], the settings that were given on the command line and in scenario
//! files, and [`Resolved`], what they come to with the defaults filled in.

mod error;
mod file;
mod given;
mod grid;
mod merge;
mod needs;
mod resolve;
mod settings;
mod threads;

pub use error::OptionError;
#[cfg(test)]
pub(crate) use file::OF_SWEEP_ONLY;
pub(crate) use file::{OF_RUN_ONLY, OF_VIEW_ONLY};
pub(crate) use given::{Given, Takes, only, several};
pub(crate) use grid::of_keys;
pub use grid::{GridPoint, grid, grid_of};
pub(crate) use merge::read;
pub use resolve::*;
pub(crate) use settings::options;
pub use settings::{BackendChoice, Format, Measured, Scenario, StrategyChoice};
pub(crate) use threads::ThreadsArgs;

/// Whether two options cannot be given together.
pub(crate) fn contradict(a: &str, b: &str) -> bool {
    file::contradict(&options(), a, b)
}
