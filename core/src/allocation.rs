//! The handles of allocations: [`Allocation`], and how an allocator recognises a wrong handle.
//!
//! ```text
//!   Allocation                          the allocator that made it
//!   +--------+------------+------+      +--------+   tickets, one for each cell of the pool
//!   | epoch  | generation | cell |      | epoch  |   cell   0   1   2   3
//!   |   7    |      5     |   2  |      |   7    |         2   0   5   1
//!   +--------+------------+------+      +--------+                 ^
//!       |           |        |            |                        |
//!       +--- equal? +--------|------------+                        |
//!                   +--------+------------------ equal? -----------+
//! ```
//!
//! A ticket counts how often an allocation began in its cell or was released from it, so a cell
//! with an odd ticket begins an allocation that is held.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::checkpoint::RestoreError;
use crate::pool::Link;
use crate::texts::texts;

/// Processors that an [`Allocator`](crate::Allocator) has given away.
///
/// Give it back with [`Allocator::release`](crate::Allocator::release). It cannot be copied, so a
/// Rust program releases it at most once. The allocator checks the handle nevertheless, since it
/// may belong to another allocator, or come from [`Allocation::from_raw`].
///
/// # What is guaranteed
///
/// An allocator rejects every handle that it did not make, and every handle whose processors were
/// released, and then changes nothing. It compares two numbers:
///
/// - The *epoch* differs between allocators, also between two that use the same memory one after
///   the other. A counter of the program gives it. It repeats after 2^32 - 1 allocators. On a
///   target without atomic read-modify-write operations (`thumbv6m`, `riscv32imc`) two allocators
///   that are made at the same moment, by a program and its interrupt or by two cores, may get the
///   same epoch. Make them one after the other there.
/// - The *generation* differs between allocations whose first block is in the same cell of an
///   allocator's pool. It repeats after 2^31 of these.
///
/// Two copies of this crate in one program, for instance in two shared libraries, count on their
/// own.
#[must_use = "what is not released stays busy"]
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Allocation {
    pub(crate) epoch: u32,
    pub(crate) generation: u32,
    /// The cell of the allocation's first block.
    pub(crate) cell: Link,
}

impl Allocation {
    /// The handle as an integer below 2^96, for programs in other languages. It is never 0.
    ///
    /// The bits, from the highest: 32 of the epoch, 32 of the generation, 32 of the cell.
    #[must_use = "what is not released stays busy"]
    #[allow(
        clippy::cast_lossless,
        reason = "`From` cannot be called in a constant"
    )]
    pub const fn into_raw(self) -> u128 {
        (self.epoch as u128) << 64 | (self.generation as u128) << 32 | self.cell as u128
    }

    /// The handle that [`Allocation::into_raw`] has turned into an integer. Any other integer gives
    /// a handle that allocators reject, unless it is equal to one that they have made.
    #[allow(clippy::cast_possible_truncation, reason = "each number has 32 bits")]
    pub const fn from_raw(raw: u128) -> Allocation {
        let cell = raw as u32;
        let is_cell = raw >> 96 == 0 && (cell as Link) as u128 == cell as u128;
        Allocation {
            // No allocator has the epoch 0.
            epoch: if is_cell { (raw >> 64) as u32 } else { 0 },
            generation: (raw >> 32) as u32,
            cell: cell as Link,
        }
    }
}

/// Why an allocator rejects an [`Allocation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum AllocationError {
    /// Another allocator made the handle.
    Foreign,
    /// The handle's processors were released before, or it was made of an integer that belongs to
    /// no allocation.
    Stale,
}

texts! { AllocationError: {
    AllocationError::Foreign => "another allocator made this allocation";
    AllocationError::Stale => "this allocation was released before, or was never made";
} }

/// An allocation that was not released. Nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct ReleaseError {
    /// The handle, which can still be given back to the allocator that made it.
    pub allocation: Allocation,
    /// Why it was not released.
    pub reason: AllocationError,
}

texts! { ReleaseError: {
    ReleaseError { reason, .. } => "not released: {reason}";
} }

/// An epoch that no allocator of this program has had; see [`Allocation`].
fn next_epoch() -> u32 {
    static EPOCHS: AtomicUsize = AtomicUsize::new(1);
    epoch_from(&EPOCHS)
}

/// The next number of a counter, in 32 bits. Never 0, also when it begins anew.
#[allow(clippy::cast_possible_truncation, reason = "it repeats")]
fn epoch_from(counter: &AtomicUsize) -> u32 {
    loop {
        #[cfg(target_has_atomic = "ptr")]
        let count = counter.fetch_add(1, Ordering::Relaxed);
        #[cfg(not(target_has_atomic = "ptr"))]
        let count = {
            let count = counter.load(Ordering::Relaxed);
            counter.store(count.wrapping_add(1), Ordering::Relaxed);
            count
        };
        if count as u32 != 0 {
            return count as u32;
        }
    }
}

/// For each cell of a pool of blocks, how often an allocation began there or was released.
#[derive(Debug, Default)]
pub(crate) struct Tickets<'m> {
    epoch: u32,
    /// The epoch of the allocator whose checkpoint was restored; 0 if none was.
    renewed: u32,
    counts: &'m mut [u32],
}

impl<'m> Tickets<'m> {
    /// The tickets of a new allocator. The contents of the memory do not matter.
    pub(crate) fn new(counts: &'m mut [u32]) -> Self {
        counts.fill(0);
        Tickets {
            epoch: next_epoch(),
            renewed: 0,
            counts,
        }
    }

    /// The handle of an allocation that begins in this cell.
    #[inline]
    pub(crate) fn issue(&mut self, cell: Link) -> Allocation {
        let count = &mut self.counts[cell as usize];
        *count = count.wrapping_add(1);
        Allocation {
            epoch: self.epoch,
            generation: *count,
            cell,
        }
    }

    /// The first cell of an allocation that is held.
    ///
    /// # Errors
    ///
    /// `Foreign`, `Stale`.
    #[inline]
    pub(crate) fn check(&self, allocation: &Allocation) -> Result<Link, AllocationError> {
        let &Allocation {
            epoch,
            generation,
            cell,
        } = allocation;
        if epoch != self.epoch {
            return Err(AllocationError::Foreign);
        }
        match self.counts.get(cell as usize) {
            Some(&count) if count == generation && count % 2 == 1 => Ok(cell),
            _ => Err(AllocationError::Stale),
        }
    }

    /// Notes that the allocation that begins in this cell is released.
    #[inline]
    pub(crate) fn revoke(&mut self, cell: Link) {
        let count = &mut self.counts[cell as usize];
        *count = count.wrapping_add(1);
    }

    /// The number of allocations that are held.
    pub(crate) fn held(&self) -> usize {
        self.counts.iter().filter(|&&count| count % 2 == 1).count()
    }
}

impl Tickets<'_> {
    pub(crate) const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The first cells of the allocations that are held.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a pool has no more cells than links"
    )]
    pub(crate) fn heads(&self) -> impl Iterator<Item = Link> {
        let counts = self.counts.iter().enumerate();
        let heads = counts.filter(|(_, count)| *count % 2 == 1);
        heads.map(|(cell, _)| cell as Link)
    }

    pub(crate) fn ticket(&self, cell: u32) -> u32 {
        self.counts[cell as usize]
    }

    /// Starts over like a new allocator: it rejects all handles made so far.
    pub(crate) fn forget(&mut self) {
        self.counts.fill(0);
        (self.epoch, self.renewed) = (next_epoch(), 0);
    }

    /// # Errors
    ///
    /// `NoRoom` if there is no such cell.
    pub(crate) fn restore(&mut self, cell: Link, ticket: u32) -> Result<(), RestoreError> {
        let count = self.counts.get_mut(cell as usize);
        *count.ok_or(RestoreError::NoRoom)? = ticket;
        Ok(())
    }

    /// Ends restoring the tickets: their handles had this epoch.
    pub(crate) const fn set_renewed(&mut self, epoch: u32) {
        self.renewed = epoch;
    }

    /// The new handle for a handle of the epoch that was restored.
    ///
    /// # Errors
    ///
    /// `Foreign`, `Stale`.
    pub(crate) fn renew(&self, was: &Allocation) -> Result<Allocation, AllocationError> {
        if self.renewed == 0 || was.epoch != self.renewed {
            return Err(AllocationError::Foreign);
        }
        let renewed = Allocation {
            epoch: self.epoch,
            ..*was
        };
        self.check(&renewed).map(|_| renewed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_begin_anew_without_0_and_differ_from_the_one_before() {
        // Where the number of 32 bits begins anew, and where that of the counter does.
        for end in [u32::MAX as usize, usize::MAX] {
            let counter = AtomicUsize::new(end - 1);
            let epochs = [(); 4].map(|()| epoch_from(&counter));
            assert_eq!(epochs, [u32::MAX - 1, u32::MAX, 1, 2], "{end}");
        }
    }

    #[test]
    fn a_handle_of_the_epoch_before_is_foreign_also_where_epochs_begin_anew() {
        let counter = AtomicUsize::new(u32::MAX as usize);
        let mut memory = [[0]; 2];
        let [mut one, mut other] = memory.each_mut().map(|counts| Tickets {
            epoch: epoch_from(&counter),
            renewed: 0,
            counts,
        });
        let (of_one, of_other) = (one.issue(0), other.issue(0));
        assert_eq!((one.check(&of_one), other.check(&of_other)), (Ok(0), Ok(0)));
        assert_eq!(one.check(&of_other), Err(AllocationError::Foreign));
        assert_eq!(other.check(&of_one), Err(AllocationError::Foreign));
    }
}
