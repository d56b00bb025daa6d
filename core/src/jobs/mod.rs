//! The waiting and running jobs: [`JobTable`] and [`Queue`].
//!
//! One table has all jobs. Each used slot is in exactly one of three lists: the wait queue in the
//! order of arrivals less priorities, the running jobs in the order of their grants, and the free
//! slots. An index finds the slot of a job by its name.
//!
//! ```text
//!   slot       0     1     2     3     4     5      slots from `fresh` on were never used
//!   job       J7   free   J2    J9    J4    -
//!             run         run   wait  wait  fresh
//!
//!   waiting   3 <-> 4          running   2 <-> 0          free   1
//! ```

use core::fmt;

use crate::class::Class;
use crate::error::Refusal;
use crate::job_id::JobId;
use crate::pool::{Chain, NONE};
use crate::request::{Request, Ticks};

mod ends;
mod index;
mod leases;
mod slot;
#[cfg(feature = "restore")]
pub(crate) mod state;

use crate::pool::Link;
pub use leases::LEASES_ENDED_MAX;
use leases::LeaseEnd;
pub(crate) use leases::{Ended, Leases};
pub use slot::JobSlot;
pub(crate) use slot::Reserved;
use slot::{GrantNumber, State};

/// The number of a job's entry in the table, valid until the job is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(Link);

/// The place where the index has a name, or would take one. It is valid until the next job comes or
/// goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell(usize);

/// A doubly linked list through the slots.
#[derive(Clone, Copy, Debug)]
struct List {
    head: Link,
    tail: Link,
    len: u32,
}

impl List {
    const EMPTY: List = List {
        head: NONE,
        tail: NONE,
        len: 0,
    };

    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    fn push_back(&mut self, slots: &mut [JobSlot], slot: Link) {
        self.insert(slots, slot, NONE);
    }

    /// Inserts a slot before another one, or at the end if `next` is `NONE`.
    #[inline(always)]
    fn insert(&mut self, slots: &mut [JobSlot], slot: Link, next: Link) {
        let after = match next {
            NONE => &mut self.tail,
            next => &mut slots[next as usize].prev,
        };
        let prev = core::mem::replace(after, slot);
        (slots[slot as usize].prev, slots[slot as usize].next) = (prev, next);
        match prev {
            NONE => self.head = slot,
            prev => slots[prev as usize].next = slot,
        }
        self.len += 1;
    }

    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    fn remove(&mut self, slots: &mut [JobSlot], slot: Link) {
        let JobSlot { prev, next, .. } = slots[slot as usize];
        match prev {
            NONE => self.head = next,
            prev => slots[prev as usize].next = next,
        }
        match next {
            NONE => self.tail = prev,
            next => slots[next as usize].prev = prev,
        }
        self.len -= 1;
    }

    /// The first of the jobs at the end of the queue that count as waiting for a shorter time than
    /// this job; `NONE` if there is no such job.
    #[inline]
    fn overtaken(&self, slots: &[JobSlot], slot: Link) -> Link {
        let since = slots[slot as usize].queued_since();
        let (mut next, mut at) = (NONE, self.tail);
        while at != NONE && slots[at as usize].queued_since() > since {
            (next, at) = (at, slots[at as usize].prev);
        }
        next
    }

    fn iter<'a>(&self, slots: &'a [JobSlot]) -> impl Iterator<Item = Slot> + use<'a> {
        let mut at = self.head;
        core::iter::from_fn(move || {
            let slot = at;
            (slot != NONE).then(|| {
                at = slots[slot as usize].next;
                Slot(slot)
            })
        })
    }
}

/// All jobs, waiting and running.
#[derive(Debug)]
pub struct JobTable<'m> {
    slots: &'m mut [JobSlot],
    /// Job name -> slot; see [`index`].
    index: &'m mut [Link],
    /// Room for sorting the running jobs. Invariant: at least as long as `slots`.
    order: &'m mut [Link],
    waiting: List,
    running: List,
    /// Invariant: the number of waiting jobs with a reservation.
    reserved: u32,
    /// The first free slot; `next` links the others.
    free: Link,
    /// Slots from here on have never been used.
    fresh: usize,
    leases: Leases,
}

impl<'m> JobTable<'m> {
    /// Makes an empty table. The lengths of the slices are its capacities. An index shorter than
    /// twice the slots reduces the number of slots.
    pub(crate) fn new(
        slots: &'m mut [JobSlot],
        index: &'m mut [Link],
        order: &'m mut [Link],
    ) -> Self {
        let (slots, index) = index::fit(slots, index);
        let slots_max = slots.len().min(order.len());
        let slots = &mut slots[..slots_max];
        let mut table = JobTable {
            slots,
            index,
            order,
            waiting: List::EMPTY,
            running: List::EMPTY,
            reserved: 0,
            free: NONE,
            fresh: 0,
            leases: Leases::NONE,
        };
        table.clear();
        table
    }

    /// Removes every job.
    pub(crate) fn clear(&mut self) {
        self.index.fill(NONE);
        self.waiting = List::EMPTY;
        self.running = List::EMPTY;
        self.reserved = 0;
        self.free = NONE;
        self.fresh = 0;
        if Ended::BUILT {
            self.leases = Leases::NONE;
        }
    }

    /// The maximum number of jobs, waiting and running together.
    pub fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Whether no job waits or runs.
    pub const fn is_empty(&self) -> bool {
        self.waiting.len == 0 && self.running.len == 0
    }

    /// The number of waiting jobs.
    pub const fn waiting_len(&self) -> u32 {
        self.waiting.len
    }

    /// The number of running jobs.
    pub const fn running_len(&self) -> u32 {
        self.running.len
    }

    /// The slot of the job with this name.
    ///
    /// # Time complexity
    ///
    /// O(1) expected.
    pub fn find(&self, id: JobId) -> Option<Slot> {
        Some(self.in_cell(self.cell_of(id)?))
    }

    /// The job in a slot.
    #[inline]
    pub fn get(&self, slot: Slot) -> &JobSlot {
        &self.slots[slot.0 as usize]
    }

    /// The wait queue.
    #[inline]
    pub fn queue(&self) -> Queue<'_> {
        Queue {
            slots: self.slots,
            list: &self.waiting,
        }
    }

    /// The running jobs in the order of their grants.
    pub fn running(&self) -> impl Iterator<Item = &JobSlot> {
        self.running.iter(self.slots).map(|slot| self.get(slot))
    }

    /// The running jobs whose grant has a number above this one, each with that number, in
    /// ascending order. O(1) for each.
    pub(crate) fn granted_since(&self, number: u64) -> impl Iterator<Item = (u64, &JobSlot)> {
        let is_later = |slot: Link| slot != NONE && self.get(Slot(slot)).grant_number() > number;
        let mut first = NONE;
        let mut at = self.running.tail;
        while is_later(at) {
            first = at;
            at = self.get(Slot(at)).prev;
        }
        let later = List {
            head: first,
            ..self.running
        };
        later.iter(self.slots).map(|slot| {
            let job = self.get(slot);
            (job.grant_number(), job)
        })
    }

    /// The jobs in the slots from `from` on, each with the number of the slot after it.
    pub(crate) fn jobs_from(&self, from: u32) -> impl Iterator<Item = (u32, &JobSlot)> {
        let used = &self.slots[..self.fresh];
        used.iter()
            .zip(1..)
            .skip(from as usize)
            .filter(|(job, _)| !job.is_free())
            .map(|(job, next)| (next, job))
    }

    /// The cell in which the index has a name.
    #[inline(always)]
    pub(crate) fn cell_of(&self, id: JobId) -> Option<Cell> {
        let cell = index::cell_of(self.index, self.slots, id).ok()?;
        Some(Cell(cell))
    }

    /// The job whose name is in this cell.
    #[inline]
    pub(crate) fn in_cell(&self, Cell(cell): Cell) -> Slot {
        Slot(self.index[cell])
    }

    /// The cell in which the index takes a new name.
    ///
    /// # Errors
    ///
    /// `DuplicateJob`.
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn cell_for(&self, id: JobId) -> Result<Cell, Refusal> {
        match index::cell_of(self.index, self.slots, id) {
            Ok(_) => Err(Refusal::DuplicateJob),
            Err(cell) => Ok(Cell(cell)),
        }
    }

    /// Whether there is no room for another job.
    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        self.free == NONE && self.fresh == self.slots.len()
    }

    /// Adds a job to the wait queue: to the end, or before the jobs that its priority overtakes.
    /// Its name goes to this cell.
    ///
    /// # Time complexity
    ///
    /// O(jobs that the new job overtakes).
    ///
    /// # Errors
    ///
    /// `TableFull`.
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn submit(
        &mut self,
        (id, Cell(cell)): (JobId, Cell),
        request: &Request,
        demand: u32,
        now: Ticks,
    ) -> Result<Slot, Refusal> {
        let slots = &mut *self.slots;
        let slot = if self.free != NONE {
            let slot = self.free;
            self.free = slots[slot as usize].next;
            slot
        } else if self.fresh < slots.len() {
            self.fresh += 1;
            (self.fresh - 1) as Link
        } else {
            return Err(Refusal::TableFull);
        };
        slots[slot as usize] = JobSlot::waiting(id, *request, demand, now);
        if Class::BUILT {
            let next = self.waiting.overtaken(slots, slot);
            self.waiting.insert(slots, slot, next);
        } else {
            self.waiting.push_back(slots, slot);
        }
        // The cell exists: at most half of the index is in use.
        self.index[cell] = slot;
        Ok(Slot(slot))
    }

    /// Counts an attempt to place a waiting job.
    pub(crate) fn count_attempt(&mut self, slot: Slot, missed: bool) {
        self.slots[slot.0 as usize].count_attempt(missed);
    }

    /// Lets a waiting job run and hold this allocation. Numbers of grants ascend.
    #[inline(always)]
    pub(crate) fn grant(
        &mut self,
        slot: Slot,
        blocks: Chain,
        processors: u32,
        now: Ticks,
        number: u64,
    ) {
        let slots = &mut *self.slots;
        self.reserved -= u32::from(slots[slot.0 as usize].is_reserved_for());
        self.waiting.remove(slots, slot.0);
        self.runs(slot, blocks, processors, now, number);
    }

    /// Lets a running job hold this allocation instead of the one that it held.
    pub(crate) fn grant_again(
        &mut self,
        slot: Slot,
        blocks: Chain,
        processors: u32,
        now: Ticks,
        number: u64,
    ) {
        self.running.remove(self.slots, slot.0);
        self.runs(slot, blocks, processors, now, number);
    }

    /// Lets a job run that is in no list.
    #[inline(always)]
    fn runs(&mut self, slot: Slot, blocks: Chain, processors: u32, now: Ticks, number: u64) {
        let slots = &mut *self.slots;
        self.running.push_back(slots, slot.0);
        slots[slot.0 as usize].state = State::Running {
            since: now,
            number: GrantNumber::new(number),
            blocks,
            processors,
        };
    }

    /// Lets a running job wait again, at its place in the queue. Ties go to the smaller name.
    /// Returns the job's allocation.
    ///
    /// # Time complexity
    ///
    /// O(queue).
    pub(crate) fn requeue(&mut self, slot: Slot, demand: u32) -> Chain {
        let key = |job: &JobSlot| (job.queued_since(), job.id);
        let job = self.get(slot);
        let (blocks, own) = (job.blocks(), key(job));
        let later = self.queue().slots().find(|&at| key(self.get(at)) > own);
        let slots = &mut *self.slots;
        self.running.remove(slots, slot.0);
        let next = later.map_or(NONE, |later| later.0);
        self.waiting.insert(slots, slot.0, next);
        slots[slot.0 as usize].state = State::Waiting {
            demand,
            reserved: Reserved::Nothing,
            from: 0,
            has_run: true,
        };
        blocks
    }

    /// The waiting jobs with a reservation, in the order of the queue. The iteration stops at the
    /// last such job.
    #[inline]
    pub(crate) fn reserved(&self) -> impl Iterator<Item = &JobSlot> {
        let jobs = self.waiting.iter(self.slots).map(|slot| self.get(slot));
        jobs.filter(|job| job.is_reserved_for())
            .take(self.reserved as usize)
    }

    /// The waiting jobs whose reservation starts before this time, in the order of the queue.
    #[inline]
    pub(crate) fn reserved_before(&self, time: Ticks) -> impl Iterator<Item = &JobSlot> {
        self.reserved()
            .filter(move |job| job.reserved_from().is_some_and(|from| from < time))
    }

    /// Sets the reservation of a waiting job and the reservation's start. It replaces an earlier
    /// reservation.
    #[inline]
    pub(crate) fn reserve(&mut self, slot: Slot, from: Ticks, reserved: Reserved) {
        let job = &mut self.slots[slot.0 as usize];
        self.reserved -= u32::from(job.is_reserved_for());
        job.reserve(from, reserved);
        self.reserved += u32::from(job.is_reserved_for());
    }

    /// Removes all reservations.
    pub(crate) fn cancel_reservations(&mut self) {
        let mut at = self.waiting.head;
        while self.reserved > 0 {
            self.reserve(Slot(at), 0, Reserved::Nothing);
            at = self.slots[at as usize].next;
        }
    }

    /// Removes the job in this slot. Returns its blocks if it ran.
    pub(crate) fn remove_slot(&mut self, slot: Slot) -> Option<Chain> {
        self.remove(self.cell_of(self.get(slot).id)?)
    }

    /// Removes the job of this name. Returns its blocks if it ran. Never needs room.
    // One copy on the board, to save flash.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn remove(&mut self, Cell(cell): Cell) -> Option<Chain> {
        let slot = self.index[cell];
        let slots = &mut *self.slots;
        let job = &mut slots[slot as usize];
        let is_reserved_for = job.is_reserved_for();
        let held = match core::mem::replace(&mut job.state, State::Free) {
            State::Running { blocks, .. } => {
                self.running.remove(slots, slot);
                Some(blocks)
            }
            _ => {
                self.reserved -= u32::from(is_reserved_for);
                self.waiting.remove(slots, slot);
                None
            }
        };
        index::remove(self.index, slots, cell);
        slots[slot as usize].next = self.free;
        self.free = slot;
        held
    }

    /// Asserts every invariant of the table.
    pub fn check_invariants(&self) {
        for (list, runs) in [(&self.waiting, false), (&self.running, true)] {
            let mut len = 0;
            let mut prev = NONE;
            for slot in list.iter(self.slots) {
                let job = self.get(slot);
                assert!(!job.is_free(), "a list holds no free slot");
                assert_eq!(job.is_running(), runs, "a list holds jobs of one state");
                assert_eq!(job.prev, prev, "back links");
                assert_eq!(self.find(job.id), Some(slot), "a job is found by its name");
                assert_eq!(job.is_running(), job.blocks().len() > 0);
                prev = slot.0;
                len += 1;
            }
            assert_eq!(list.len, len, "length of a list");
            assert_eq!(list.tail, prev, "end of a list");
        }
        let jobs = self.queue().slots().map(|slot| self.get(slot));
        let count = jobs.filter(|job| job.is_reserved_for()).count();
        assert_eq!(self.reserved as usize, count, "reservations");
        let mut free = 0;
        let mut at = self.free;
        while at != NONE {
            assert!(self.slots[at as usize].is_free());
            at = self.slots[at as usize].next;
            free += 1;
        }
        let used = self.waiting.len + self.running.len + free;
        assert_eq!(used as usize, self.fresh, "every used slot is in one list");
        let indexed = self.index.iter().filter(|&&slot| slot != NONE).count();
        assert_eq!(indexed as u32, self.waiting.len + self.running.len, "index");
        assert!(self.order.len() >= self.slots.len(), "room for sorting");
        self.check_leases();
    }
}

/// The wait queue as a scheduler sees it, in the order of arrivals less priorities
/// ([`Class`]).
#[derive(Clone, Copy)]
pub struct Queue<'a> {
    slots: &'a [JobSlot],
    list: &'a List,
}

impl<'a> Queue<'a> {
    /// The first job.
    #[inline]
    pub fn head(&self) -> Option<Slot> {
        (self.list.head != NONE).then_some(Slot(self.list.head))
    }

    /// The job after this one.
    #[inline]
    pub fn next(&self, slot: Slot) -> Option<Slot> {
        let next = self.slots[slot.0 as usize].next;
        (next != NONE).then_some(Slot(next))
    }

    /// The job in this slot.
    pub fn get(&self, slot: Slot) -> &'a JobSlot {
        &self.slots[slot.0 as usize]
    }

    /// The waiting jobs, in the order of the queue.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<'a> {
        self.list.iter(self.slots)
    }

    /// The number of waiting jobs.
    pub const fn len(&self) -> u32 {
        self.list.len
    }

    /// Whether no job waits.
    pub const fn is_empty(&self) -> bool {
        self.list.len == 0
    }

    /// Whether a job waits before others.
    #[inline]
    pub(crate) fn is_before_others(&self, slot: Slot) -> bool {
        let job = self.get(slot);
        !job.is_free() && !job.is_running() && self.next(slot).is_some()
    }

    /// The number of jobs after this one. O(these jobs).
    pub(crate) fn behind(&self, slot: Slot) -> u32 {
        core::iter::successors(self.next(slot), |&other| self.next(other)).count() as u32
    }

    /// The number of jobs before this one. O(queue).
    pub(crate) fn ahead(&self, slot: Slot) -> u32 {
        let before = self
            .list
            .iter(self.slots)
            .take_while(|&other| other != slot);
        before.count() as u32
    }
}

impl fmt::Debug for Queue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = self.list.iter(self.slots).map(|slot| self.get(slot).id);
        f.debug_list().entries(ids).finish()
    }
}

#[cfg(test)]
mod tests;
