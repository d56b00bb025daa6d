//! One job in the table: [`JobSlot`].

use super::LeaseEnd;
use crate::grid::{Block, Shape};
use crate::job_id::JobId;
use crate::pool::{Chain, Link};
use crate::preemption::Victims;
use crate::request::{Request, Ticks};

/// The reservation of a waiting job.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reserved {
    /// No reservation.
    Nothing,
    /// As many processors as the job demands, anywhere.
    Processors,
    /// One block.
    Block(Block),
    /// The blocks of a chain in the pool.
    Blocks([Link; 2]),
}

impl Reserved {
    /// Whether schedulers of this build may reserve.
    pub(crate) const BUILT: bool = cfg!(feature = "reservations");
}

/// The number of a grant. Its 48 bits fit into the padding of a job's other fields. At a million
/// grants a second they last for nine years.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrantNumber([u16; 3]);

impl GrantNumber {
    #[allow(clippy::cast_possible_truncation, reason = "takes the number apart")]
    pub(super) const fn new(number: u64) -> Self {
        GrantNumber([number as u16, (number >> 16) as u16, (number >> 32) as u16])
    }

    const fn get(self) -> u64 {
        let [low, middle, high] = self.0;
        low as u64 | (middle as u64) << 16 | (high as u64) << 32
    }
}

/// The state of a slot, with the fields that only this state has.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// There is no job in the slot.
    Free,
    Waiting {
        /// The minimum number of free processors with which the strategy could grant the job.
        demand: u32,
        reserved: Reserved,
        /// The start of the reservation.
        from: Ticks,
        /// Whether the job ran before.
        has_run: bool,
    },
    Running {
        since: Ticks,
        number: GrantNumber,
        blocks: Chain,
        processors: u32,
    },
}

/// One entry of the job table.
#[derive(Clone, Copy, Debug)]
pub struct JobSlot {
    pub(super) id: JobId,
    pub(super) state: State,
    pub(super) request: Request,
    pub(super) submitted: Ticks,
    pub(super) attempts: u32,
    pub(super) misses: u32,
    pub(super) lease: LeaseEnd,
    pub(super) prev: Link,
    pub(super) next: Link,
}

impl JobSlot {
    /// An unused entry: all zeros, so that a static table takes no room in flash.
    pub const EMPTY: JobSlot = JobSlot {
        id: JobId(0),
        state: State::Free,
        request: Request::new(Shape::UNUSED),
        submitted: 0,
        attempts: 0,
        misses: 0,
        lease: LeaseEnd::NONE,
        prev: 0,
        next: 0,
    };

    /// Makes the entry of a job that has just been submitted.
    pub(super) const fn waiting(id: JobId, request: Request, demand: u32, now: Ticks) -> JobSlot {
        JobSlot {
            id,
            state: State::Waiting {
                demand,
                reserved: Reserved::Nothing,
                from: 0,
                has_run: false,
            },
            request,
            submitted: now,
            ..JobSlot::EMPTY
        }
    }

    /// The job's name.
    pub const fn id(&self) -> JobId {
        self.id
    }

    /// The job's request.
    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// The time of its submission.
    pub const fn submitted(&self) -> Ticks {
        self.submitted
    }

    /// The time from which the job counts as waiting: its submission less its head start.
    pub(super) fn queued_since(&self) -> i128 {
        self.request.class.since(self.submitted)
    }

    /// The time of its grant; 0 while it waits.
    pub const fn granted_at(&self) -> Ticks {
        match self.state {
            State::Running { since, .. } => since,
            _ => 0,
        }
    }

    /// The expected end of a running job or of a waiting job's reservation: the start plus the
    /// estimated run time, but not before `now`. `None` without an estimate, or if the end would be
    /// `Ticks::MAX` or later.
    #[inline]
    pub fn ends(&self, now: Ticks) -> Option<Ticks> {
        let estimate = self.request.estimate?.get();
        let starts = match self.state {
            State::Running { since, .. } => since,
            State::Waiting { from, .. } => from,
            State::Free => 0,
        };
        let ends = starts.checked_add(estimate)?.max(now);
        (ends < Ticks::MAX).then_some(ends)
    }

    /// The start of a waiting job's reservation; `None` without a reservation.
    pub const fn reserved_from(&self) -> Option<Ticks> {
        match self.state {
            State::Waiting {
                reserved: Reserved::Processors | Reserved::Block(_) | Reserved::Blocks(_),
                from,
                ..
            } => Some(from),
            _ => None,
        }
    }

    /// The block that is reserved for the job. `None` without a reservation, and if a number of
    /// processors or several blocks are reserved
    /// ([`Controller::reserved_blocks`](crate::Controller::reserved_blocks)).
    pub const fn reserved_block(&self) -> Option<Block> {
        match self.state {
            State::Waiting {
                reserved: Reserved::Block(block),
                ..
            } => Some(block),
            _ => None,
        }
    }

    /// The blocks that are reserved for the job if there are several, else an empty chain.
    pub(crate) const fn reserved_chain(&self) -> Chain {
        match self.state {
            State::Waiting {
                reserved: Reserved::Blocks(links),
                ..
            } => Chain::of_links(links),
            _ => Chain::EMPTY,
        }
    }

    /// Sets the reservation of a waiting job; does nothing to any other job.
    pub(super) const fn reserve(&mut self, time: Ticks, what: Reserved) {
        if let State::Waiting {
            reserved,
            from,
            has_run,
            ..
        } = &mut self.state
        {
            (*reserved, *from) = (what, time);
            // A checkpoint does not save `has_run` with a reservation, so a job with a reservation
            // does not have it either.
            if Victims::BUILT && !matches!(what, Reserved::Nothing) {
                *has_run = false;
            }
        }
    }

    /// The number of attempts to place the job.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The number of failed attempts with enough free processors.
    pub const fn misses(&self) -> u32 {
        self.misses
    }

    /// The number of processors that the job holds; 0 while it waits.
    pub const fn processors(&self) -> u32 {
        match self.state {
            State::Running { processors, .. } => processors,
            _ => 0,
        }
    }

    /// Internal fragmentation: the number of processors that the job holds beyond its request; 0
    /// while it waits.
    pub const fn internal_fragmentation(&self) -> u32 {
        self.processors().saturating_sub(self.request.total())
    }

    /// The number of blocks that the job holds.
    pub const fn blocks_len(&self) -> u32 {
        self.blocks().len()
    }

    /// Whether the job holds processors.
    pub const fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// Whether the job ran before, and waits again
    /// ([`Controller::requeue`](crate::Controller::requeue)). Schedulers that reserve do not use
    /// this flag, so it is not saved with a reservation. In a build with the feature `preemption`,
    /// a reservation clears it.
    pub const fn has_run(&self) -> bool {
        matches!(self.state, State::Waiting { has_run: true, .. })
    }

    /// The end of the job's lease; `None` if the job has no lease, or there is no job.
    pub(super) fn lease_ends(&self) -> Option<Ticks> {
        self.lease.get().filter(|_| !self.is_free())
    }

    pub(super) const fn is_free(&self) -> bool {
        matches!(self.state, State::Free)
    }

    /// Whether the job waits and has a reservation.
    #[inline]
    pub(super) const fn is_reserved_for(&self) -> bool {
        self.reserved_from().is_some()
    }

    #[inline]
    pub(crate) const fn blocks(&self) -> Chain {
        match self.state {
            State::Running { blocks, .. } => blocks,
            _ => Chain::EMPTY,
        }
    }

    /// The minimum number of free processors with which the strategy could grant the job; 0 unless
    /// it waits.
    #[inline]
    pub(crate) const fn demand(&self) -> u32 {
        match self.state {
            State::Waiting { demand, .. } => demand,
            _ => 0,
        }
    }

    /// The number of the job's grant; 0 while it waits.
    pub(crate) const fn grant_number(&self) -> u64 {
        match self.state {
            State::Running { number, .. } => number.get(),
            _ => 0,
        }
    }

    pub(super) const fn count_attempt(&mut self, missed: bool) {
        self.attempts = self.attempts.wrapping_add(1);
        self.misses = self.misses.wrapping_add(missed as u32);
    }
}
