//! Conservative backfilling: every waiting job holds a reservation, and a job starts only where it
//! delays no reservation of an earlier job.
//!
//! # Source
//!
//! A. Mu'alem and D. Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates
//! in Scheduling the IBM SP2 with Backfilling", IEEE Trans. on Parallel and Distributed Systems
//! 12(6), 2001, section 2. Here a reservation has blocks, as in [`Easy`]. This scheduler is
//! [`Easy`] without a limit of reservations.
//!
//! # Differences from the paper
//!
//! The paper keeps reservations and moves them only to earlier times. Here they are made anew, in
//! the order of the queue. With perfect estimates the reservation of the head never moves to a
//! later time. If processors are reserved by number, no reservation moves to a later time. If
//! blocks are reserved, an earlier job's block may change; then a later job's block has to move,
//! sometimes to a later time.
//!
//! # Complexity and memory
//!
//! As for [`Easy`] with a reservation for each waiting job: O(Q (k + Q)) searches after a
//! departure.
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! # let mut storage: storage!(mesh 4 x 4, strategies [AdaptiveScan], jobs 8) = Storage::new();
//! # let mut controller = Controller::new(storage.memory(), Configuration {
//! #     machine: Mesh::new(4, 4)?.into(),
//! #     strategy: StrategyKind::AdaptiveScan,
//! #     scheduler: SchedulerKind::Conservative,
//! # })?;
//! for (job, w, h, estimate) in [(1, 3, 4, 10), (2, 4, 2, 20), (3, 3, 3, 10), (4, 2, 4, 5)] {
//!     let request = Request::submesh(w, h).with_estimate(estimate);
//!     controller.handle(&Change::submit(JobId(job), request), 0)?;
//! }
//! let queue = controller.jobs().queue();
//! let reserved = queue.slots().map(|slot| queue.get(slot).reserved_from());
//! // Job 2 starts after job 1, job 3 after job 2. Job 4 is rotated and runs next to job 2.
//! assert!(reserved.eq([Some(10), Some(30), Some(10)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Easy`]: super::easy::Easy

/// Conservative backfilling.
pub(crate) type Conservative = super::easy::Easy;
