//! Simulates multicomputers whose processors [`meshalloc`] allocates.
//!
//! From the jobs to the results:
//!
//! - [`workload`]: what jobs arrive, drawn from distributions or read from a log;
//! - [`backend`]: where the controller runs that decides about them;
//! - [`network`]: a wormhole network between the processors;
//! - [`simulation`]: one run, events in virtual time, and its [`metrics`];
//! - [`io`]: I/O nodes beside a mesh, and what messages ask of links and disks, which tasks share
//!   ([`sharing`]);
//! - [`experiment`]: several strategies, replicated, with the [`statistics`] of it;
//! - [`history`]: one run, job by job; [`processors`] and [`dispersal`] of what a job holds;
//! - [`traffic`]: messages of processors that do not wait for each other, on the bare network;
//! - [`names`], [`wording`], [`input`]: values as text, and files that are read.

// A library prints nothing.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod backend;
pub mod dispersal;
pub mod experiment;
pub mod history;
pub mod input;
pub mod io;
pub mod metrics;
pub mod names;
pub mod network;
pub mod processors;
pub mod sharing;
pub mod simulation;
pub mod statistics;
pub mod traffic;
pub mod wording;
pub mod workload;
