//! The blocks that a strategy proposes: [`Draft`].

use crate::error::Refusal;
use crate::grid::Block;
use crate::occupancy::Occupancy;
use crate::pause::Pause;
use crate::pool::{BlockPool, Chain, Link, NONE};

/// A proposal in the making: where a strategy writes the blocks it has found.
#[derive(Debug)]
pub struct Draft<'a, 'm> {
    pool: &'a mut BlockPool<'m>,
    /// The pauses of the search, and the machine's occupancy, which queries see during a pause.
    pause: Option<(&'a Pause<'a, 'm>, &'a Occupancy<'m>)>,
    chain: Chain,
    last: Link,
    overflow: bool,
}

impl<'a, 'm> Draft<'a, 'm> {
    /// A draft without blocks, of a search that may pause.
    pub(crate) fn new(
        pool: &'a mut BlockPool<'m>,
        pause: Option<&'a Pause<'a, 'm>>,
        occupancy: &'a Occupancy<'m>,
    ) -> Self {
        Draft {
            pause: pause.map(|pause| (pause, occupancy)),
            ..Draft::unpaused(pool)
        }
    }

    /// A draft without blocks, of a search that never pauses.
    pub(crate) fn unpaused(pool: &'a mut BlockPool<'m>) -> Self {
        Draft {
            pool,
            pause: None,
            chain: Chain::EMPTY,
            last: NONE,
            overflow: false,
        }
    }

    /// All held blocks.
    pub(crate) const fn pool(&self) -> &BlockPool<'m> {
        self.pool
    }

    /// Asks whether a pause is due, and pauses then ([`Pauses`](crate::Pauses)). A search that may
    /// take long polls at least every few ten thousand instructions.
    #[inline]
    pub fn poll(&self) {
        if let Some((pause, occupancy)) = self.pause {
            Pause::poll(Some(pause), occupancy, self.pool);
        }
    }

    /// Adds a block. If the pool has no room for it, the whole proposal fails with `TableFull`.
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub fn push(&mut self, block: impl Into<Block>) {
        self.poll();
        match self.pool.append((self.chain, self.last), block.into()) {
            Some(longer) => (self.chain, self.last) = longer,
            None => self.overflow = true,
        }
    }

    /// The blocks, if the strategy has `found` all that it needs.
    ///
    /// # Errors
    ///
    /// `Fragmented` if the strategy has not found all, `TableFull` if there was no room for all
    /// blocks. The room is then free again.
    #[inline]
    pub(crate) fn finish(&mut self, found: bool) -> Result<Chain, Refusal> {
        // By reference: a copy would read bytes that were just written in larger pieces, and a CPU
        // waits for that.
        let chain = core::mem::replace(&mut self.chain, Chain::EMPTY);
        if found && !self.overflow {
            return Ok(chain);
        }
        self.pool.free(chain);
        Err(if found {
            Refusal::TableFull
        } else {
            Refusal::Fragmented
        })
    }

    /// Gives back the room of the blocks.
    pub(crate) fn discard(self) {
        self.pool.free(self.chain);
    }

    /// Goes on with a chain that [`Draft::suspend`] has returned.
    pub(crate) fn resume(pool: &'a mut BlockPool<'m>, (chain, last): (Chain, Link)) -> Self {
        Draft {
            chain,
            last,
            ..Draft::unpaused(pool)
        }
    }

    /// The blocks so far and the last cell; `None` if there was no room for all of them.
    pub(crate) fn suspend(self) -> Option<(Chain, Link)> {
        (!self.overflow).then_some((self.chain, self.last))
    }
}
