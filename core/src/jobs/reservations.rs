//! What is reserved for waiting jobs, and the order in which running ones are expected to end.

use super::slot::State;
use super::{JobSlot, JobTable, Link, Reserved, Slot};
use crate::request::Ticks;

impl JobTable<'_> {
    /// The running jobs in the order of their estimated ends, those without an estimate last, ties in the order of their grants.
    /// O(n log n), and O(n^2) for moving numbers; O(n) if they end in the order of their grants.
    pub(crate) fn sort_running(&mut self, now: Ticks) {
        for (len, slot) in self.running.iter(self.slots).enumerate() {
            let end = |slot: Link| self.slots[slot as usize].ends(now).unwrap_or(Ticks::MAX);
            let own = end(slot.0);
            let at = match len.checked_sub(1) {
                Some(last) if end(self.order[last]) > own => {
                    self.order[..last].partition_point(|&other| end(other) <= own)
                }
                _ => len,
            };
            self.order.copy_within(at..len, at + 1);
            self.order[at] = slot.0;
        }
    }

    /// The running jobs as [`JobTable::sort_running`] has sorted them last; none must have come or gone since then.
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
