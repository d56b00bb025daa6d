//! What is reserved for waiting jobs, and the order in which running ones are expected to end.

use super::slot::State;
use super::{JobSlot, JobTable, Link, NONE, Reserved, Slot};
use crate::request::Ticks;

impl JobTable<'_> {
    /// Sorts one more of the running jobs by their estimated ends, those without an estimate last, ties in the order of their grants: the job that was
    /// granted after the `sorted` ones that have been sorted, of which `last` was granted last. Returns the job. For n jobs O(n log n), and O(n^2) for moving numbers;
    /// O(n) if they end in the order of their grants.
    pub(crate) fn sort_next(
        &mut self,
        last: Option<Slot>,
        sorted: usize,
        now: Ticks,
    ) -> Option<Slot> {
        let next = match last {
            None => self.running.head,
            Some(last) => self.slots[last.0 as usize].next,
        };
        if next == NONE {
            return None;
        }
        let end = |slot: Link| self.slots[slot as usize].ends(now).unwrap_or(Ticks::MAX);
        let own = end(next);
        let at = match sorted.checked_sub(1) {
            Some(last) if end(self.order[last]) > own => {
                self.order[..last].partition_point(|&other| end(other) <= own)
            }
            _ => sorted,
        };
        self.order.copy_within(at..sorted, at + 1);
        self.order[at] = next;
        Some(Slot(next))
    }

    /// The running jobs as [`JobTable::sort_next`] has sorted all of them; none must have come or gone since then.
    pub(crate) fn running_sorted(&self) -> impl ExactSizeIterator<Item = &JobSlot> + Clone {
        let order = &self.order[..self.running.len as usize];
        order.iter().map(|&slot| &self.slots[slot as usize])
    }

    /// Reserves this for a waiting job from a time on, instead of what was reserved for it before.
    #[inline]
    pub(crate) fn reserve(&mut self, slot: Slot, from: Ticks, reserved: Reserved) {
        let job = &mut self.slots[slot.0 as usize];
        self.reserved -= u32::from(job.is_reserved_for());
        job.reserve(from, reserved);
        self.reserved += u32::from(job.is_reserved_for());
    }

    /// Forgets all reservations.
    pub(crate) fn cancel_reservations(&mut self) {
        let mut at = self.waiting.head;
        while self.reserved > 0 {
            self.reserve(Slot(at), 0, Reserved::Nothing);
            at = self.slots[at as usize].next;
        }
    }
}

impl JobSlot {
    /// Reserves this for a waiting job from a time on; nothing happens to any other.
    const fn reserve(&mut self, time: Ticks, what: Reserved) {
        if let State::Waiting { reserved, from, .. } = &mut self.state {
            (*reserved, *from) = (what, time);
        }
    }
}
