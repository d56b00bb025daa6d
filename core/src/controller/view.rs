//! What a controller shows: [`View`].

use super::{Controller, Sink};
use crate::blocks::{BlockPool, Held};
use crate::controller::Granted;
use crate::jobs::JobTable;
use crate::message::{Capacity, Command, Configuration, Counts, Statistics};
use crate::occupancy::Occupancy;
use crate::word::WORD_BITS;

/// What does not change while a job tries.
#[derive(Clone, Copy, Debug)]
pub struct Status<'a> {
    /// What is served, and how.
    pub configuration: &'a Configuration,
    /// The number of the latest event: a grant, or the end of a lease.
    pub events: u64,
    /// The most jobs that may still try.
    pub left: u32,
    pub(super) counts: &'a Counts,
    /// The entries that a strategy's list has room for.
    pub(super) list: u32,
}

/// A controller between two commands, or in the middle of one ([`Pauses`](crate::Pauses)): all that queries ask for.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, 'm> {
    pub(super) jobs: &'a JobTable<'m>,
    pub(super) occupancy: &'a Occupancy<'m>,
    pub(super) held: Held<'a, 'm>,
    /// What does not change while a job tries.
    pub status: Status<'a>,
}

impl<'a, 'm> View<'a, 'm> {
    pub(crate) const fn new(
        jobs: &'a JobTable<'m>,
        occupancy: &'a Occupancy<'m>,
        pool: &'a BlockPool<'m>,
        status: Status<'a>,
    ) -> Self {
        View {
            jobs,
            occupancy,
            held: Held(pool),
            status,
        }
    }

    /// See [`Controller::granted_since`].
    pub fn granted_since(&self, number: u64) -> impl Iterator<Item = (u64, Granted<'a, 'm>)> {
        let held = self.held;
        let jobs = self.jobs.granted_since(number);
        jobs.map(move |(number, job)| (number, Granted::new(held, job)))
    }

    /// What there is room for.
    pub fn capacity(&self) -> Capacity {
        Capacity {
            words: self.occupancy.capacity_words() as u32,
            word_bits: WORD_BITS as u8,
            jobs: self.jobs.capacity(),
            blocks: self.held.0.capacity(),
            list: self.status.list,
        }
    }

    /// What has happened so far.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            nodes: self.occupancy.grid().nodes(),
            free: self.occupancy.free(),
            faulty: self.occupancy.faulty_count(),
            waiting: self.jobs.waiting_len(),
            running: self.jobs.running_len(),
            counts: *self.status.counts,
        }
    }
}

impl<'m> Controller<'m> {
    /// Answers a query. Any other command is answered with the statistics, and not carried out.
    pub fn answer(&self, query: &Command, reply: Sink<'_>) {
        self.view().answer(query, reply);
    }

    /// What queries ask for. O(waiting jobs).
    #[inline(never)]
    pub fn view(&self) -> View<'_, 'm> {
        let (occupancy, pool) = self.allocator.parts();
        let status = Status {
            configuration: &self.configuration,
            events: self.events,
            left: self.left(),
            counts: &self.counts,
            list: self.allocator.list_capacity(),
        };
        View::new(&self.jobs, occupancy, pool, status)
    }
}
