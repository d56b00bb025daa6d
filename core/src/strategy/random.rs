//! Random: n free processors, every choice of them equally likely.
//!
//! # Source
//!
//! V. Lo, K. J. Windisch, W. Liu and B. Nitzberg, "Noncontiguous Processor Allocation Algorithms
//! for Mesh-Connected Multicomputers", IEEE Trans. on Parallel and Distributed Systems 8(7), 1997.
//!
//! The choice is selection sampling: D. E. Knuth, "The Art of Computer Programming", vol. 2, 3.4.2,
//! algorithm S. A number below a bound is drawn without bias by D. Lemire, "Fast Random Integer
//! Generation in an Interval", ACM Trans. on Modeling and Computer Simulation 29(1), 2019.
//!
//! # Differences from the paper
//!
//! The paper does not say how the processors are drawn. Here they are listed as blocks in the order
//! of their numbers ([`Gather`]).
//!
//! # Random numbers
//!
//! The generator is PCG-XSH-RR with 64 bits of state (`rand_pcg::Pcg32`). It is seeded with
//! [`StrategyKind::Random`](crate::StrategyKind::Random)'s `seed` by
//! [`SeedableRng::seed_from_u64`], and seeded anew with every configure and reset. All draws are of
//! 32 bits: the same seed gives the same decisions on every target. An attempt that fails leaves
//! the generator as it was.
//!
//! # Complexity and memory
//!
//! O(words + f) for an allocation while f processors are free, with a draw for each free processor
//! up to the last that is chosen; nothing for a release. Memory: 24 bytes.
//!
//! # Recognition
//!
//! Complete: a request fails only if fewer than n processors are free. There is no fragmentation of
//! either kind, but contiguity is lost.
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 8 x 8, strategies [Random { seed: 7 }], allocations 64) =
//!     AllocatorStorage::new();
//! let machine = Mesh::new(8, 8)?.into();
//! let strategy = "random:seed=7".parse()?;
//! assert_eq!(strategy, StrategyKind::Random { seed: 7 });
//! let mut allocator = Allocator::new(storage.memory(), machine, strategy)?;
//! let scattered = allocator.allocate(&Request::submesh(3, 2))?;
//! assert_eq!(allocator.processors(&scattered)?, 6);
//! assert!(allocator.blocks(&scattered)?.count() > 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

use super::keeps::Keeps;
use super::{Draft, Gather, OccupancyEvent, Request, Site, Workspace};
use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::occupancy::Occupancy;
use crate::word::{WORD_BITS, Word};

/// The numbers that are drawn.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    seed: u64,
    generator: Pcg32,
    /// How many numbers were drawn. With the seed, this gives the state of the generator. The
    /// generator does not show its state. (Its feature `serde` needs `std`.)
    count: u64,
}

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Draws {
            seed,
            generator: Pcg32::seed_from_u64(seed),
            count: 0,
        }
    }

    /// Goes through the free processors until no chosen one is missing. For each, it draws whether
    /// the processor is among the `missing` ones that are chosen. `left` processors must be left to
    /// choose from. Returns the chosen processors.
    // A function of its own, on a copy, so that the board keeps all variables in registers.
    #[inline(never)]
    fn sample(&mut self, mut free: Word, mut missing: u32, mut left: u32) -> Word {
        let mut draws = self.clone();
        let mut chosen = 0;
        while free != 0 && missing > 0 {
            let others = free & (free - 1);
            if draws.below(left) < missing {
                chosen |= free ^ others;
                missing -= 1;
            }
            left -= 1;
            free = others;
        }
        *self = draws;
        chosen
    }

    /// A number below `bound`, each equally likely. `bound` is at least 1.
    // A call for each number would take as long as the number itself.
    #[inline(always)]
    fn below(&mut self, bound: u32) -> u32 {
        loop {
            self.count = self.count.wrapping_add(1);
            let product = u64::from(self.generator.next_u32()) * u64::from(bound);
            // 2^32 is a multiple of the bound plus a remainder. As many numbers as the remainder
            // are rejected.
            let low = product as u32;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 32) as u32;
            }
        }
    }
}

impl Keeps for Draws {
    fn changed(
        &mut self,
        _: &mut Workspace<'_>,
        _: &Occupancy<'_>,
        event: OccupancyEvent,
        _: &dyn Fn(),
    ) {
        if matches!(event, OccupancyEvent::Reset) {
            *self = Draws::new(self.seed);
        }
    }

    fn save(&self, state: &mut Writer<'_>) {
        state.put(&self.count);
    }

    fn restore(
        &mut self,
        _: &mut Workspace<'_>,
        state: &mut Reader<'_>,
    ) -> Result<(), RestoreError> {
        let count = state.take()?;
        *self = Draws::new(self.seed);
        self.generator.advance(count);
        self.count = count;
        Ok(())
    }
}

/// Takes processors that are drawn. Only a search whose blocks may be granted draws. Other answers
/// do not depend on the choice, and must not change later draws.
pub(super) fn propose(
    draws: &mut Draws,
    site: &Site<'_>,
    _: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> bool {
    // An attempt that fails draws nothing. Any other attempt succeeds, as the pool has a block for
    // each processor.
    if request.processors > site.occupancy.free() {
        return false;
    }
    if site.may_be_granted() {
        draw(draws, site.occupancy, request, draft)
    } else {
        draw(&mut draws.clone(), site.occupancy, request, draft)
    }
}

fn draw(
    draws: &mut Draws,
    occupancy: &Occupancy<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> bool {
    let (mut missing, mut left) = (request.processors, occupancy.free());
    let mut gather = Gather::new(*occupancy.grid(), draft);
    for (row, busy) in (0..).zip(occupancy.busy_rows().chunks_exact(occupancy.stride())) {
        // A run of neighbours that were drawn.
        let mut run = 0..0;
        for (first, busy) in (0..).step_by(WORD_BITS as usize).zip(busy) {
            // Padding is busy.
            let free = !busy;
            if free == 0 || missing == 0 {
                continue;
            }
            let mut chosen = draws.sample(free, missing, left);
            missing -= chosen.count_ones();
            left -= free.count_ones();
            while chosen != 0 {
                let zeros = chosen.trailing_zeros();
                let start = first + zeros;
                if start > run.end {
                    if !run.is_empty() {
                        gather.push(row, run);
                    }
                    run = start..0;
                }
                run.end = start + (chosen >> zeros).trailing_ones();
                // The addition carries through the lowest run.
                chosen &= chosen.wrapping_add(1 << zeros);
            }
        }
        if !run.is_empty() {
            gather.push(row, run);
        }
    }
    gather.finish();
    missing == 0
}
