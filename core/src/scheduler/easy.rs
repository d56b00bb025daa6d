//! EASY backfilling with reserved submeshes: later jobs may begin where they do not delay the heads of the queue.
//!
//! # Source
//!
//! D. Lifka, "The ANL/IBM SP Scheduling System", Job Scheduling Strategies for Parallel Processing
//! (LNCS 949), 1995, where the head of the queue holds a reservation of a number of processors.
//! Here it is one of blocks at a time, where places matter.
//!
//! # Definition
//!
//! After every arrival and departure the jobs try in the order of the queue. The first D that are
//! refused hold reservations: the earliest time at which the job is expected to fit, and the blocks
//! to keep free for it from then on, all that the strategy would give it ([`World::reserve`]).
//! Every later job may begin at once wherever it overlaps no block that is reserved from before its
//! estimated end on. D = 1 is EASY.
//!
//! A running job that has used up its estimate is expected to end at once. A job without an estimate counts as one that never ends:
//! where it holds something nothing is reserved before it has ended, and it begins only beside all that is reserved.
//!
//! Reservations are made anew after every departure, and at an arrival if they could become others: if a job has begun, or a
//! processor has become faulty or was repaired, since the first of them was made, or a running job has used up its estimate. Otherwise
//! only the new job tries, as all others would be refused again.
//!
//! # No starvation
//!
//! With perfect estimates a job never begins later than was reserved for it when it became the head
//! of the queue, whatever the strategy: what begins in between has ended by then, or lies beside
//! the blocks, and the strategy finds a place where they are free. A strategy that takes any free
//! processors reserves a number of them, which is as good
//! ([`Strategy::takes_any`](crate::Strategy::takes_any)). Reservations of jobs behind the head may
//! move to a later time, as the blocks of the head may become others. A processor that becomes
//! faulty moves reservations, too.
//!
//! # What is decided here
//!
//! - A strategy that does not turn a request does not reserve it turned, either: the block must be one that it finds.
//! - Where no corner of a maximal free submesh is sure to be found (frame sliding, buddy), where a
//!   job holds several blocks, and on grids other than two-dimensional meshes, what the strategy
//!   would choose is reserved.
//! - Frame sliding, which moves in strides, may fail although more is free than when it found a
//!   place. With the frame all is reserved that lies between it and the node where the sliding
//!   begins ([`Strategy::kept_free`](crate::Strategy::kept_free)), so that the same frames are
//!   tried; and the time is searched for among all ends, not by bisection.
//! - Where there is no room for the blocks of a reservation, the whole machine is reserved.
//! - By number, a faulty processor that a running job holds counts as one that becomes free.
//! - Where jobs without an estimate hold what the head needs, nothing can be reserved for it, and all others may pass it: nothing is
//!   known by which they would delay it.
//! - A job that never waits ([`Flags::NO_WAIT`]) gets no reservation and changes none: it tries beside those that there are.
//! - Once all reservations are made a pass ends when no processor is free.
//!
//! # Complexity and memory
//!
//! With k running jobs and Q waiting ones: a pass takes O(log k) searches and O(k) for the first reservation, O(k + D) searches
//! for each further one, and one search for each job that waits; an arrival that changes no reservation takes one search. Two times and a
//! block for each job, what is left of the pool of blocks, and a bitmap of the machine.
//!
//! # Example
//!
//! Job 1 holds five columns until 100. Job 2 needs six; at 100 they are free, and the six on the left withhold the fewest processors
//! now. Job 3 is expected to end later than 100 and fits beside them only if it is narrow. Job 5 ends in time.
//!
//! ```text
//!     1 1 1 1 1 5 . .
//!     1 1 1 1 1 5 . .
//!     1 1 1 1 1 5 4 4
//!     1 1 1 1 1 5 4 4
//!     -----------         reserved for job 2 from 100 on
//! ```
//!
//! ```
//! # use meshalloc::*;
//! # let mut storage: Storage<4, 8> = Storage::new();
//! # let mut controller = Controller::new(storage.memory(), Configuration {
//! #     machine: Mesh::new(8, 4)?.into(),
//! #     strategy: StrategyKind::FirstFit,
//! #     scheduler: SchedulerKind::Easy { reservations: 1 },
//! # })?;
//! let mut runs = |job, w, h, estimate| {
//!     let request = Request::submesh(w, h).with_estimate(estimate);
//!     let state = controller.submit(JobId(job), request, 0, &mut |_| ());
//!     matches!(state, Ok(JobState::Running { .. }))
//! };
//! assert!(runs(1, 5, 4, 100));
//! assert!(!runs(2, 6, 4, 50));
//! assert!(!runs(3, 3, 2, 200)); // Only two columns are left beside the block.
//! assert!(runs(4, 2, 2, 200));
//! assert!(runs(5, 1, 4, 90)); // Within the block: it ends before 100.
//! let head = controller.jobs().find(JobId(2)).map(|slot| controller.jobs().get(slot));
//! let reserved = head.and_then(|head| head.reserved_from().zip(head.reserved_block()));
//! assert_eq!(reserved, Some((100, Submesh::new(0, 0, 6, 4).into())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Attempt, Event, Scheduler, Try, World};
#[cfg(feature = "restore")]
use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::jobs::JobSlot;
use crate::request::Flags;

/// EASY backfilling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Easy {
    reservations_max: u64,
    /// Jobs before the one that tries: those of this pass that were refused, in the order of the queue.
    refused: u64,
    /// The free processors when the first reservation was made; `None` if faults are others since then.
    reserved_with: Option<u32>,
}

impl Easy {
    /// EASY backfilling; the first `reservations_max` jobs of the queue that have to wait hold a reservation.
    pub(crate) const fn new(reservations_max: u64) -> Self {
        Easy {
            reservations_max,
            refused: 0,
            reserved_with: None,
        }
    }

    /// Whether reservations would be the same if they were made anew: nothing has been taken since then, and every running job may yet end
    /// in time. What becomes free is a departure.
    fn are_reservations_valid(&self, world: &World<'_, '_>) -> bool {
        self.reserved_with == Some(world.free()) && !world.is_any_overdue()
    }
}

fn never_waits(job: &JobSlot) -> bool {
    job.request().flags.contains(Flags::NO_WAIT)
}

impl Scheduler for Easy {
    fn first(&mut self, world: &mut World<'_, '_>, event: Event) -> Option<Try> {
        let queue = world.queue();
        let Some(head) = queue.head() else {
            // The last one that waited has left.
            world.cancel_reservations();
            return None;
        };
        if let Event::Arrival(job) = event
            && job != head
            && (never_waits(queue.get(job)) || self.are_reservations_valid(world))
        {
            self.refused = u64::from(queue.len()) - 1;
            return Some(Try::AroundReservations(job));
        }
        self.refused = 0;
        world.cancel_reservations();
        Some(Try::AroundReservations(head))
    }

    fn next(&mut self, world: &mut World<'_, '_>, attempt: Attempt) -> Option<Try> {
        let reserves = self.refused < self.reservations_max;
        if attempt.outcome.is_err() {
            if self.refused == 0 {
                self.reserved_with = Some(world.free());
            }
            self.refused += 1;
            if reserves {
                world.reserve(attempt.job);
            }
        }
        if world.free() == 0 && self.refused >= self.reservations_max {
            return None;
        }
        attempt.following.map(Try::AroundReservations)
    }

    fn faults_changed(&mut self) {
        self.reserved_with = None;
    }

    #[cfg(feature = "restore")]
    fn save(&self, state: &mut Writer<'_>) {
        state.put(&self.reserved_with);
    }

    #[cfg(feature = "restore")]
    fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.reserved_with = state.take()?;
        Ok(())
    }
}
