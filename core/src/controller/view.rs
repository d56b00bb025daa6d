//! What a controller shows: [`View`].

use super::{Controller, Sink};
use crate::blocks::{BlockPool, Held};
use crate::controller::Granted;
use crate::jobs::JobTable;
use crate::message::{Capacity, Command, Configuration, Counts, Statistics};
use crate::occupancy::Occupancy;

/// What does not change while a job tries.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// What is served, and how.
    pub configuration: Configuration,
    /// What there is room for.
    pub capacity: Capacity,
    /// The number of the latest event: a grant, or the end of a lease.
    pub events: u64,
    /// The most jobs that may still try.
    pub left: u32,
    pub(super) counts: Counts,
}

/// A controller between two commands, or in the middle of one ([`Pauses`](crate::Pauses)): all that queries ask for.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, 'm> {
    pub(super) jobs: &'a JobTable<'m>,
    pub(super) occupancy: &'a Occupancy<'m>,
    pub(super) held: Held<'a, 'm>,
    /// What does not change while a job tries.
    pub status: &'a Status,
}

impl<'a, 'm> View<'a, 'm> {
    pub(crate) const fn new(
        jobs: &'a JobTable<'m>,
        occupancy: &'a Occupancy<'m>,
        pool: &'a BlockPool<'m>,
        status: &'a Status,
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

    /// What has happened so far.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            nodes: self.occupancy.grid().nodes(),
            free: self.occupancy.free(),
            faulty: self.occupancy.faulty_count(),
            waiting: self.jobs.waiting_len(),
            running: self.jobs.running_len(),
            counts: self.status.counts,
        }
    }
}

impl<'m> Controller<'m> {
    /// What [`Controller::view`] shows beside jobs and processors. O(waiting jobs).
    #[inline(never)]
    pub fn status(&self) -> Status {
        Status {
            configuration: self.configuration,
            capacity: self.capacity(),
            events: self.events,
            left: self.left(),
            counts: self.counts,
        }
    }

    /// Answers a query.
    pub fn answer(&self, query: &Command, reply: Sink<'_>) {
        let status = self.status();
        self.view(&status).answer(query, reply);
    }

    /// What queries ask for, with the status that it has now.
    pub const fn view<'a>(&'a self, status: &'a Status) -> View<'a, 'm> {
        let (occupancy, pool) = self.allocator.parts();
        View::new(&self.jobs, occupancy, pool, status)
    }
}
