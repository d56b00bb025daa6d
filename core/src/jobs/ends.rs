//! The running jobs in the order of their expected ends.

use super::{JobSlot, JobTable, Link, NONE, Slot};
use crate::request::Ticks;

impl JobTable<'_> {
    /// Does one step of an insertion sort of the running jobs by their estimated ends. Jobs without
    /// an estimate come last; ties keep the order of grants.
    ///
    /// `sorted` jobs are sorted already, and `last` was granted last of them. The step inserts the
    /// job granted next and returns it, or `None` if there is none. The caller may pause between
    /// steps.
    ///
    /// For n jobs O(n log n) comparisons and O(n^2) moved numbers; O(n) of each if the jobs end in
    /// the order of their grants.
    #[inline]
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

    /// The running jobs in the order that [`JobTable::sort_next`] made. All jobs must be sorted,
    /// and no job may have come or gone since.
    pub(crate) fn running_sorted(&self) -> impl ExactSizeIterator<Item = &JobSlot> + Clone {
        let order = &self.order[..self.running.len as usize];
        order.iter().map(|&slot| &self.slots[slot as usize])
    }
}
