//! The jobs: [`JobTable`] and [`Queue`].
//!
//! One table for waiting and running jobs. A slot of the table is in exactly one of three lists: free
//! slots, the wait queue, the running jobs in the order of their grants.

use core::fmt;

use crate::blocks::{Allocation, Chain, NONE};
use crate::error::Refusal;
use crate::grid::{Block, Shape};
use crate::request::{JobId, Request, Ticks};

mod index;

pub use crate::blocks::{BlockCell, Link};

/// A job's place in the table, valid until the job is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(Link);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Waiting,
    Running,
}

/// What a scheduler has reserved for a job that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// Nothing.
    Nothing,
    /// As many processors as it needs, wherever they are.
    Processors,
    /// This block.
    Block(Block),
}

/// One entry of the job table.
#[derive(Clone, Copy, Debug)]
pub struct JobSlot {
    id: JobId,
    state: State,
    request: Request,
    submitted: Ticks,
    /// When it was granted, or for a job that waits and has a reservation, when that begins.
    starts: Ticks,
    /// What is reserved for a waiting job.
    reserved: Reserved,
    attempts: u32,
    misses: u32,
    /// The least number of free processors with which the strategy could grant it.
    demand: u32,
    /// The command that granted it: [`JobTable::grant`].
    round: u32,
    /// Invariant: what a running job holds; nothing for any other.
    blocks: Chain,
    processors: u32,
    prev: Link,
    next: Link,
}

impl JobSlot {
    /// An unused entry: all zeros, so that a static table takes no room in flash.
    pub const EMPTY: JobSlot = JobSlot {
        id: JobId(0),
        state: State::Free,
        request: Request::new(Shape::UNUSED),
        submitted: 0,
        starts: 0,
        reserved: Reserved::Nothing,
        attempts: 0,
        misses: 0,
        demand: 0,
        round: 0,
        blocks: Chain::ZERO,
        processors: 0,
        prev: 0,
        next: 0,
    };

    /// The job's name.
    pub const fn id(&self) -> JobId {
        self.id
    }

    /// What it asked for.
    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// When it was submitted.
    pub const fn submitted(&self) -> Ticks {
        self.submitted
    }

    /// When it was granted; meaningless while it waits.
    pub const fn granted_at(&self) -> Ticks {
        self.starts
    }

    /// When a running job is expected to end, or what is reserved for a waiting one: its start and its estimated run time
    /// later, and not before `now`. `None` without an estimate.
    pub fn ends(&self, now: Ticks) -> Option<Ticks> {
        let estimate = self.request.estimate?.get();
        Some(self.starts.saturating_add(estimate).max(now))
    }

    /// When the processors that are reserved for a waiting job are expected to be free.
    pub const fn reserved_from(&self) -> Option<Ticks> {
        match self.reserved {
            Reserved::Nothing => None,
            _ => Some(self.starts),
        }
    }

    /// The block that is reserved for it; `None` if nothing is, or only a number of processors.
    pub const fn reserved_block(&self) -> Option<Block> {
        match self.reserved {
            Reserved::Block(block) => Some(block),
            _ => None,
        }
    }

    /// How often it was tried.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How often it failed although enough processors were free.
    pub const fn misses(&self) -> u32 {
        self.misses
    }

    /// The processors it holds, 0 while it waits.
    pub const fn processors(&self) -> u32 {
        self.processors
    }

    /// The processors it holds beyond those it asked for: internal fragmentation. 0 while it waits.
    pub const fn internal_fragmentation(&self) -> u32 {
        self.processors.saturating_sub(self.request.processors)
    }

    /// The number of blocks it holds.
    pub const fn blocks_len(&self) -> u32 {
        self.blocks.len()
    }

    /// Whether it holds processors.
    pub const fn is_running(&self) -> bool {
        matches!(self.state, State::Running)
    }

    pub(crate) const fn blocks(&self) -> Chain {
        self.blocks
    }

    pub(crate) const fn demand(&self) -> u32 {
        self.demand
    }

    pub(crate) const fn round(&self) -> u32 {
        self.round
    }
}

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

    fn push_back(&mut self, slots: &mut [JobSlot], slot: Link) {
        slots[slot as usize].prev = self.tail;
        slots[slot as usize].next = NONE;
        match self.tail {
            NONE => self.head = slot,
            tail => slots[tail as usize].next = slot,
        }
        self.tail = slot;
        self.len += 1;
    }

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
    /// Room for sorting the running jobs: as many as there are slots.
    order: &'m mut [Link],
    waiting: List,
    running: List,
    /// Invariant: the number of waiting jobs for which something is reserved.
    reserved: u32,
    /// Slots given back, linked through `next`.
    free: Link,
    /// Slots from here on have never been used.
    fresh: usize,
}

impl<'m> JobTable<'m> {
    /// An empty table. The lengths of the slices are the capacities; an index shorter than twice the slots reduces their number.
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
        };
        table.clear();
        table
    }

    /// Forgets every job.
    pub(crate) fn clear(&mut self) {
        self.index.fill(NONE);
        self.waiting = List::EMPTY;
        self.running = List::EMPTY;
        self.reserved = 0;
        self.free = NONE;
        self.fresh = 0;
    }

    /// Jobs there is room for, waiting and running together.
    pub fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Whether no job waits or runs.
    pub const fn is_empty(&self) -> bool {
        self.waiting.len == 0 && self.running.len == 0
    }

    /// The jobs that wait.
    pub const fn waiting_len(&self) -> u32 {
        self.waiting.len
    }

    /// The jobs that run.
    pub const fn running_len(&self) -> u32 {
        self.running.len
    }

    /// The slot of the job with this name.
    ///
    /// # Time complexity
    ///
    /// O(1) expected.
    pub fn find(&self, id: JobId) -> Option<Slot> {
        index::find(self.index, self.slots, id).map(Slot)
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

    /// The running jobs in the order of their estimated ends, those without an estimate last, ties in the order of their grants.
    /// O(n^2) in the worst case; as it was sorted before if nothing has changed, O(n).
    pub(crate) fn sort_running(&mut self, now: Ticks) {
        for (len, slot) in self.running.iter(self.slots).enumerate() {
            let end = |slot: Link| self.slots[slot as usize].ends(now).unwrap_or(Ticks::MAX);
            let mut at = len;
            while at > 0 && end(self.order[at - 1]) > end(slot.0) {
                self.order[at] = self.order[at - 1];
                at -= 1;
            }
            self.order[at] = slot.0;
        }
    }

    /// The running jobs as [`JobTable::sort_running`] has sorted them last; none must have come or gone since then.
    pub(crate) fn running_sorted(&self) -> impl ExactSizeIterator<Item = &JobSlot> + Clone {
        let order = &self.order[..self.running.len as usize];
        order.iter().map(|&slot| &self.slots[slot as usize])
    }

    /// The jobs in slots from `from` on, with the slot that follows each.
    pub(crate) fn jobs_from(&self, from: u32) -> impl Iterator<Item = (u32, &JobSlot)> {
        let used = &self.slots[..self.fresh];
        used.iter()
            .zip(1..)
            .skip(from as usize)
            .filter(|(job, _)| job.state != State::Free)
            .map(|(job, next)| (next, job))
    }

    /// Adds a job to the end of the wait queue.
    ///
    /// # Errors
    ///
    /// `DuplicateJob`, `TableFull`.
    pub(crate) fn submit(
        &mut self,
        id: JobId,
        request: Request,
        demand: u32,
        now: Ticks,
    ) -> Result<Slot, Refusal> {
        if self.find(id).is_some() {
            return Err(Refusal::DuplicateJob);
        }
        let slot = if self.free != NONE {
            let slot = self.free;
            self.free = self.slots[slot as usize].next;
            slot
        } else if self.fresh < self.slots.len() {
            self.fresh += 1;
            (self.fresh - 1) as Link
        } else {
            return Err(Refusal::TableFull);
        };
        self.slots[slot as usize] = JobSlot {
            id,
            state: State::Waiting,
            request,
            submitted: now,
            demand,
            blocks: Chain::EMPTY,
            ..JobSlot::EMPTY
        };
        self.waiting.push_back(self.slots, slot);
        index::insert(self.index, id, slot);
        Ok(Slot(slot))
    }

    /// Counts an attempt at a waiting job.
    pub(crate) fn count_attempt(&mut self, slot: Slot, missed: bool) {
        let job = &mut self.slots[slot.0 as usize];
        job.attempts = job.attempts.wrapping_add(1);
        job.misses = job.misses.wrapping_add(u32::from(missed));
    }

    /// A waiting job becomes a running one that holds this.
    pub(crate) fn grant(
        &mut self,
        slot: Slot,
        allocation: Allocation,
        processors: u32,
        now: Ticks,
        round: u32,
    ) {
        self.reserve(slot, now, Reserved::Nothing);
        self.waiting.remove(self.slots, slot.0);
        self.running.push_back(self.slots, slot.0);
        let job = &mut self.slots[slot.0 as usize];
        job.state = State::Running;
        job.round = round;
        job.blocks = allocation.into_blocks();
        job.processors = processors;
    }

    /// Takes from a running job what it holds, before it is removed.
    pub(crate) fn take_allocation(&mut self, slot: Slot) -> Allocation {
        let job = &mut self.slots[slot.0 as usize];
        job.processors = 0;
        Allocation::new(core::mem::replace(&mut job.blocks, Chain::EMPTY))
    }

    /// Reserves this for a waiting job from a time on, instead of what was reserved for it before.
    #[inline]
    pub(crate) fn reserve(&mut self, slot: Slot, from: Ticks, reserved: Reserved) {
        let job = &mut self.slots[slot.0 as usize];
        debug_assert_eq!(job.state, State::Waiting);
        self.reserved -= u32::from(job.reserved != Reserved::Nothing);
        self.reserved += u32::from(reserved != Reserved::Nothing);
        job.starts = from;
        job.reserved = reserved;
    }

    /// Forgets all reservations.
    pub(crate) fn cancel_reservations(&mut self) {
        let mut at = self.waiting.head;
        while self.reserved > 0 {
            self.reserve(Slot(at), 0, Reserved::Nothing);
            at = self.slots[at as usize].next;
        }
    }

    /// The waiting jobs for which something is reserved, in the order of their arrival. It looks no further than the last of them.
    #[inline]
    pub(crate) fn reserved(&self) -> impl Iterator<Item = &JobSlot> {
        let jobs = self.waiting.iter(self.slots).map(|slot| self.get(slot));
        jobs.filter(|job| job.reserved != Reserved::Nothing)
            .take(self.reserved as usize)
    }

    /// Those for which something is reserved from before this time on.
    #[inline]
    pub(crate) fn reserved_before(&self, time: Ticks) -> impl Iterator<Item = &JobSlot> {
        self.reserved().filter(move |job| job.starts < time)
    }

    /// Removes a job that waits, or that holds no block any more. Never needs room.
    pub(crate) fn remove(&mut self, slot: Slot) {
        let job = &mut self.slots[slot.0 as usize];
        let (id, state) = (job.id, job.state);
        debug_assert_eq!(job.blocks.len(), 0, "blocks would be lost");
        job.state = State::Free;
        match state {
            State::Waiting => {
                self.reserved -= u32::from(job.reserved != Reserved::Nothing);
                self.waiting.remove(self.slots, slot.0);
            }
            State::Running => self.running.remove(self.slots, slot.0),
            State::Free => return,
        }
        index::remove(self.index, self.slots, id);
        self.slots[slot.0 as usize].next = self.free;
        self.free = slot.0;
    }

    /// Asserts every invariant of the table.
    pub fn check_invariants(&self) {
        for (list, state) in [
            (&self.waiting, State::Waiting),
            (&self.running, State::Running),
        ] {
            let mut len = 0;
            let mut prev = NONE;
            for slot in list.iter(self.slots) {
                let job = self.get(slot);
                assert_eq!(job.state, state, "a list holds jobs of one state");
                assert_eq!(job.prev, prev, "back links");
                assert_eq!(self.find(job.id), Some(slot), "a job is found by its name");
                assert_eq!(job.is_running(), job.blocks.len() > 0);
                prev = slot.0;
                len += 1;
            }
            assert_eq!(list.len, len, "length of a list");
            assert_eq!(list.tail, prev, "end of a list");
        }
        let reserved = |job: &&JobSlot| job.reserved != Reserved::Nothing;
        assert_eq!(self.running().find(reserved).map(JobSlot::id), None);
        let jobs = self.queue().slots().map(|slot| self.get(slot));
        let count = jobs.filter(reserved).count();
        assert_eq!(self.reserved as usize, count, "reservations");
        let mut free = 0;
        let mut at = self.free;
        while at != NONE {
            assert_eq!(self.slots[at as usize].state, State::Free);
            at = self.slots[at as usize].next;
            free += 1;
        }
        let used = self.waiting.len + self.running.len + free;
        assert_eq!(used as usize, self.fresh, "every used slot is in one list");
        let indexed = self.index.iter().filter(|&&slot| slot != NONE).count();
        assert_eq!(indexed as u32, self.waiting.len + self.running.len, "index");
    }
}

/// The wait queue as a scheduler sees it: the order of the arrivals.
#[derive(Clone, Copy)]
pub struct Queue<'a> {
    slots: &'a [JobSlot],
    list: &'a List,
}

impl<'a> Queue<'a> {
    /// The job that has waited longest.
    #[inline]
    pub fn head(&self) -> Option<Slot> {
        (self.list.head != NONE).then_some(Slot(self.list.head))
    }

    /// The job behind this one.
    #[inline]
    pub fn next(&self, slot: Slot) -> Option<Slot> {
        let next = self.slots[slot.0 as usize].next;
        (next != NONE).then_some(Slot(next))
    }

    /// The job in this slot.
    pub fn get(&self, slot: Slot) -> &'a JobSlot {
        &self.slots[slot.0 as usize]
    }

    /// The jobs that wait, in the order of their arrival.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<'a> {
        self.list.iter(self.slots)
    }

    /// The number of jobs that wait.
    pub const fn len(&self) -> u32 {
        self.list.len
    }

    /// Whether no job waits.
    pub const fn is_empty(&self) -> bool {
        self.list.len == 0
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
