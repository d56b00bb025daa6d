//! Workloads, real and synthetic, through [`meshalloc`]: in this process, or on a board at the end of a
//! serial line.
//!
//! From the jobs to the report:
//!
//! - [`workload`]: what jobs arrive, drawn from distributions or read from a log;
//! - [`backend`]: where the controller runs that decides about them;
//! - [`network`]: a wormhole network between the processors;
//! - [`simulation`]: one run, events in virtual time, and its [`metrics`];
//! - [`io`]: I/O nodes beside a mesh, and what messages ask of links and disks, which tasks share ([`sharing`]);
//! - [`experiment`]: several strategies, replicated, with the [`statistics`] of it;
//! - [`sweep`]: many experiments, which go on where they were interrupted;
//! - [`scenario`]: what is to be run, from the command line ([`cli`]) and from files;
//! - [`traffic`]: messages of processors that do not wait for each other, on the bare network;
//! - [`report`], [`compare`], [`replay`], [`list`], [`plot`], [`map`]: what the commands of `host-sim` show.

// Where nobody reads standard error, `eprintln!` panics; `failure::to_stderr` does not.
#![warn(clippy::print_stderr)]

pub mod backend;
pub mod cli;
pub mod compare;
pub mod dispersal;
pub mod experiment;
pub mod failure;
mod file;
pub mod history;
mod html;
pub mod identity;
mod input;
pub mod io;
pub mod list;
mod log;
pub mod map;
pub mod metrics;
pub mod names;
pub mod network;
pub mod plot;
pub mod processors;
mod progress;
pub mod records;
mod reference;
pub mod replay;
pub mod report;
pub mod reproduce;
mod run;
mod saturation;
pub mod scenario;
pub mod schema;
pub mod sharing;
pub mod simulation;
mod slurm;
pub mod statistics;
pub mod sweep;
pub mod traffic;
mod view;
pub mod wording;
pub mod workload;
