//! Workloads, real and synthetic, through [`meshalloc`]: in this process, or on a board at the end
//! of a serial line.
//!
//! [`meshalloc_sim`] simulates; this package is its command line:
//!
//! - [`cli`]: the commands, whose options are the settings of a scenario;
//! - [`mod@line`]: a controller on a board;
//! - [`study`]: many experiments, which continue after an interruption;
//! - [`compare`], [`replay`], [`list`], [`plot`], [`map`]: the output of the commands.

// `eprintln!` panics if standard error is closed; `failure::to_stderr` does not.
#![warn(clippy::print_stderr)]

pub mod cli;
pub mod compare;
mod completion;
mod device;
pub mod failure;
mod file;
mod html;
pub mod identity;
pub mod line;
pub mod list;
mod log;
pub mod map;
mod measured;
mod outputs;
pub mod plot;
mod policy;
mod printable;
mod progress;
pub mod records;
#[cfg(feature = "reference")]
pub mod reference;
pub mod replay;
mod report;
pub mod reproduce;
mod run;
mod saturation;
#[cfg(feature = "reference")]
pub mod schema;
mod serve;
mod settings;
mod signals;
mod slurm;
pub mod study;
mod svg;
mod tables;
mod view;
pub mod watch;
