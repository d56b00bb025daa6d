//! Simulates multicomputers whose processors [`meshalloc`] allocates.
//!
//! [`scenario`] describes what to run, in one table of settings; most programs begin there. Below
//! it, from the jobs to the results:
//!
//! - [`machine`]: machines that give only certain slices, by name or from files;
//! - [`workload`]: the jobs that arrive, drawn from distributions or read from a log;
//! - [`backend`]: the controller that decides about the jobs, wherever it runs;
//! - [`network`]: a wormhole network between the processors;
//! - [`simulation`]: one run, events in virtual time, and its [`metrics`];
//! - [`io`]: I/O nodes beside a mesh, and the load of messages on links and disks, which jobs share
//!   ([`sharing`]);
//! - [`failures`]: what fails in a run and is repaired, and what becomes of the jobs;
//! - [`preemption`]: whether jobs make room for those of a higher priority;
//! - [`experiment`]: several strategies, replicated, with the [`statistics`] of it;
//! - [`situation`]: why jobs wait on a controller, and what would let them in;
//! - [`history`]: one run, job by job; [`processors`] and [`dispersal`]: the processors that a job
//!   holds;
//! - [`layout`]: where processors are in a picture;
//! - [`parameters`]: settings in a few words; [`names`], [`wording`], [`time`], [`input`]: values
//!   as text, units, and files that are read.

// A library prints nothing.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod backend;
pub mod dispersal;
pub mod error;
pub mod experiment;
pub mod failures;
pub mod history;
pub mod input;
pub mod io;
pub mod layout;
pub mod machine;
pub mod metrics;
pub mod names;
pub mod network;
pub mod parameters;
pub mod preemption;
pub mod processors;
pub mod results;
pub mod scenario;
pub mod sharing;
pub mod simulation;
pub mod situation;
pub mod statistics;
pub mod time;
pub mod wording;
pub mod workload;
