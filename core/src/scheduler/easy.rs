//! EASY backfilling with reserved submeshes: later jobs start if they do not delay the head of the
//! queue.
//!
//! # Source
//!
//! D. Lifka, "The ANL/IBM SP Scheduling System", Job Scheduling Strategies for Parallel Processing
//! (LNCS 949), 1995. There the head of the queue reserves a number of processors. Here it reserves
//! blocks, if the strategy does not take any free processors.
//!
//! # Definition
//!
//! After every arrival and departure the jobs try in the order of the queue. The first D jobs that
//! are refused get reservations. A reservation has the earliest time at which the job is expected
//! to fit, and the blocks that the strategy would give it then ([`World::reserve`]). A later job
//! starts at once if it overlaps no reserved block, except blocks whose reservation starts at its
//! estimated end or later. D = 1 is EASY.
//!
//! A running job that has used up its estimate is expected to end at once. A job without an
//! estimate counts as one that never ends. Its processors are not reserved before it has ended, and
//! it starts only where it overlaps no reserved block.
//!
//! Reservations are made anew after every departure. At an arrival they are made anew only if they
//! could change. They could if the new job goes before others by its priority. They also could if,
//! since the first reservation was made, a job has started, a processor has become faulty or was
//! repaired, or a running job has used up its estimate. Otherwise only the new job tries, since all
//! others would be refused again.
//!
//! # No starvation
//!
//! With perfect estimates a job never starts later than the time reserved for it when it became the
//! head of the queue, for any strategy. A job that starts in between has ended by that time, or
//! lies outside the reserved blocks, and the strategy finds a place while these are free. A
//! strategy that takes any free processors reserves a number of them, with the same guarantee
//! ([`Facts::takes_any`](crate::Facts::takes_any)).
//!
//! Reservations of jobs after the head may move to a later time, since the blocks of the head may
//! change. A processor that becomes faulty may move reservations, too.
//!
//! # Decisions
//!
//! - A reserved block must be one that the strategy finds. A strategy that does not rotate a
//!   request does not reserve it rotated.
//! - The reservation is the strategy's own choice in three cases: the strategy is not sure to find
//!   a corner of a maximal free submesh (frame sliding, buddy); the job gets several blocks; the
//!   grid is not a two-dimensional mesh.
//! - Frame sliding moves in strides, so it may fail although more processors are free than when it
//!   found a place. Its reservation therefore covers everything between the frame and the node
//!   where the sliding starts ([`FindsAgain::FromFirstFree`](crate::FindsAgain::FromFirstFree)), so
//!   that the strategy tries the same frames again. The time is searched among all ends, not by
//!   bisection.
//! - If the pool has no room for the blocks of a reservation, the whole machine is reserved.
//! - In a reservation by number a faulty processor of a running job counts as one that becomes
//!   free.
//! - A job that tolerates faulty processors ([`Tolerance`](crate::Tolerance)) may have some in its
//!   reservation. No other job gets these while it is to run. A reservation by number counts the
//!   faulty processors that no job holds now. A job that passes such a reservation takes as many
//!   processors from it as a job that tolerates no faults.
//! - If faulty processors, or jobs without an estimate, leave the head no place even after all
//!   other jobs have ended, it gets no reservation and all others may pass it without limit: it is
//!   unknown whether they delay it. Once a repair has given it a place, they may not: with perfect
//!   estimates it starts when the last job ends that ran at the repair, or earlier.
//! - A job that never waits ([`Flags::NO_WAIT`]) is granted what it would get if it could wait.
//!   Where reservations have to be made anew, they are, but no other job starts: if one of the jobs
//!   before it could, it is refused. Its refusal delays nobody, and the next arrival makes the
//!   reservations anew.
//! - Once all reservations are made, a pass ends when no processor is free.
//!
//! # Complexity and memory
//!
//! With k running and Q waiting jobs a pass takes O(log k) searches and O(k) steps for the first
//! reservation, O(k + D) searches for each further one, and one search for each waiting job. An
//! arrival that changes no reservation takes one search. A job that never waits takes as long as a
//! pass if reservations have to be made anew. Memory: two times and a block for each job, the rest
//! of the pool of blocks, and a bitmap of the machine.
//!
//! # Example
//!
//! Job 1 holds five columns until 100. Job 2 needs six columns; they are free at 100. The leftmost
//! six are reserved, since they withhold the fewest processors that are free now. Job 3 would end
//! after 100 and is too wide for the two columns outside the reservation. Job 4 fits there. Job 5
//! ends before 100, so it may run inside the reservation.
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
//! # let mut storage: storage!(mesh 8 x 4, strategies [FirstFit], jobs 8) = Storage::new();
//! # let mut controller = Controller::new(storage.memory(), Configuration {
//! #     machine: Mesh::new(8, 4)?.into(),
//! #     strategy: StrategyKind::FirstFit,
//! #     scheduler: SchedulerKind::Easy { reservations: 1 },
//! # })?;
//! let mut runs = |job, w, h, estimate| {
//!     let request = Request::submesh(w, h).with_estimate(estimate);
//!     let _ = controller.handle(&Change::submit(JobId(job), request), 0);
//!     controller.view().blocks(JobId(job)).next().is_some()
//! };
//! assert!(runs(1, 5, 4, 100));
//! assert!(!runs(2, 6, 4, 50));
//! assert!(!runs(3, 3, 2, 200)); // Only two columns are outside the block.
//! assert!(runs(4, 2, 2, 200));
//! assert!(runs(5, 1, 4, 90)); // Inside the block: it ends before 100.
//! let head = controller.jobs().find(JobId(2)).map(|slot| controller.jobs().get(slot));
//! let reserved = head.and_then(|head| head.reserved_from().zip(head.reserved_block()));
//! assert_eq!(reserved, Some((100, Submesh::new(0, 0, 6, 4).into())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Attempt, Scheduler, Trigger, Try, World};
use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::class::Class;
use crate::jobs::{JobSlot, Queue, Slot};
use crate::request::Flags;
use crate::strategy::Strategy;

/// EASY backfilling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Easy {
    reservations_max: u64,
    /// The number of jobs before the one that tries. All of them were refused in this pass.
    refused: u64,
    /// The number of free processors when the first reservation was made; `None` if faults have
    /// changed since.
    reserved_with: Option<u32>,
}

impl Easy {
    /// EASY backfilling; the first `reservations_max` jobs of the queue that are refused get a
    /// reservation.
    pub(super) const fn new(reservations_max: u64) -> Self {
        Easy {
            reservations_max,
            refused: 0,
            reserved_with: None,
        }
    }

    /// Whether the reservations would stay the same if they were made anew: no job has started
    /// since then, and no running job has used up its estimate. A departure makes them anew anyway.
    fn are_reservations_valid<S: Strategy>(&self, world: &World<'_, '_, S>) -> bool {
        self.reserved_with == Some(world.free()) && !world.is_any_overdue()
    }
}

/// Whether a job that has just arrived goes before others. Those others must not hold reservations
/// while it tries.
fn overtakes(queue: Queue<'_>, job: Slot) -> bool {
    Class::BUILT && queue.is_before_others(job)
}

fn never_waits(job: &JobSlot) -> bool {
    job.request().flags.contains(Flags::NO_WAIT)
}

impl Scheduler for Easy {
    fn first<S: Strategy>(
        &mut self,
        world: &mut World<'_, '_, S>,
        trigger: Trigger,
    ) -> Option<Try> {
        let queue = world.queue();
        let Some(head) = queue.head() else {
            // The last waiting job has left.
            world.cancel_reservations();
            return None;
        };
        if let Trigger::Arrival(job) = trigger
            && job != head
            && (never_waits(queue.get(job))
                || !overtakes(queue, job) && self.are_reservations_valid(world))
        {
            let behind = if Class::BUILT { queue.behind(job) } else { 0 };
            self.refused = u64::from(queue.len()) - 1 - u64::from(behind);
            return Some(Try::AroundReservations(job));
        }
        self.refused = 0;
        world.cancel_reservations();
        Some(Try::AroundReservations(head))
    }

    fn may_try_only<S: Strategy>(&mut self, world: &mut World<'_, '_, S>, job: Slot) -> bool {
        if !overtakes(world.queue(), job) && self.are_reservations_valid(world) {
            return true;
        }
        // If the job is refused, the clock goes back to a time before these reservations.
        self.reserved_with = None;
        world.cancel_reservations();
        let mut refused = 0;
        let mut before = world.queue().head().filter(|&head| head != job);
        while let Some(waiting) = before {
            if world.would_start(waiting) {
                return false;
            }
            if refused < self.reservations_max {
                world.reserve(waiting);
            }
            refused += 1;
            before = world.queue().next(waiting).filter(|&next| next != job);
        }
        true
    }

    #[inline]
    fn next<S: Strategy>(&mut self, world: &mut World<'_, '_, S>, attempt: Attempt) -> Option<Try> {
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

    fn save(&self, state: &mut Writer<'_>) {
        state.put(&self.reserved_with);
    }

    fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.reserved_with = state.take()?;
        Ok(())
    }
}
