//! Paging: the first free pages in a fixed order. A page is a block of 2^i processors along each
//! dimension.
//!
//! # Source
//!
//! V. Lo, K. J. Windisch, W. Liu and B. Nitzberg, "Noncontiguous Processor Allocation Algorithms
//! for Mesh-Connected Multicomputers", IEEE Trans. on Parallel and Distributed Systems 8(7), 1997:
//! Paging(i) with row-major and snake-like order.
//!
//! # Differences from the paper
//!
//! The shuffled orders of the paper are left out. The paper's snake goes through the rows of a
//! mesh. Here pages are taken in boustrophedon order on any grid: the direction along a dimension
//! turns whenever the next higher one moves.
//!
//! Pages do not reach beyond the border: each side must be a multiple of 2^i.
//!
//! # Order of blocks
//!
//! A job holds the first free pages in the [`PageOrder`]. They are listed as blocks in the order of
//! their processors' numbers, whatever the order of the pages: runs along dimension 0, and equal
//! runs in consecutive lines of a plane as one block.
//!
//! # Complexity and memory
//!
//! An allocation takes O(D words) with i = 0, as the pages of a word are found together. Where
//! lines of pages are shorter than a word, it takes O(D) for each line of processors. A release
//! takes nothing. Scratch for a bitmap.
//!
//! # Recognition
//!
//! With i = 0 the strategy is complete, without fragmentation of either kind; with row-major order
//! a job holds the same processors as with [`Naive`](crate::StrategyKind::Naive). Larger pages have
//! internal fragmentation, up to 2^(i D) - 1 processors of a job in D dimensions. A faulty
//! processor takes its whole page out of use.
//!
//! ```text
//!   y
//!   1  . A # A     A request for 3 processors in snake-like order, # busy: the job A holds three
//!   0  # # # A     blocks. The row y = 1 is taken from its right end; in row-major order <0, 1>
//!      0 1 2 3  x  would be taken in place of <3, 1>.
//! ```
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! type Memory = storage!(
//!     mesh 4 x 4, strategies [Paging { order: PageOrder::Snake, exponent: 1 }], allocations 16
//! );
//! let mut storage = Memory::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, "paging:snake=1".parse()?)?;
//! // Pages of 2 x 2: <0, 0>, <2, 0>, then <2, 2> before <0, 2>.
//! let nine = allocator.allocate(&Request::submesh(3, 3))?;
//! let blocks: Vec<_> = allocator.blocks(&nine)?.collect();
//! assert_eq!(blocks, [Submesh::new(0, 0, 4, 2).into(), Submesh::new(2, 2, 2, 2).into()]);
//! assert_eq!(allocator.processors(&nine)?, 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Draft, Gather, PageOrder, Request, Site, Workspace};
use crate::error::Refusal;
use crate::grid::{DIMENSIONS_MAX, Grid};
use crate::layout::Layout;
use crate::word::{WORD_BITS, Word, bits_from, ones, set_bits_from};

/// The pages of a machine.
#[derive(Clone, Copy)]
struct Pages {
    /// Processors of a page along each dimension.
    side: u32,
    /// Processors of a page.
    size: u32,
}

impl Pages {
    /// All sides of the grid are multiples of 2^exponent.
    const fn new(grid: &Grid, exponent: u64) -> Pages {
        let exponent = exponent as u32;
        Pages {
            side: 1 << exponent,
            size: 1 << (exponent * grid.dimensions() as u32),
        }
    }
}

/// One dimension of a walk through all pages.
#[derive(Clone, Copy, Default)]
struct Position {
    /// The steps from the lower end.
    at: u32,
    /// Whether the walk goes down.
    down: bool,
    /// The steps to the upper end.
    last: u32,
    /// The length of a step, in bits.
    step: u32,
}

/// A walk through all pages in their order. Along dimension 0 it takes all pages at once that begin
/// in a word of bits, along every other dimension one by one.
struct Walk {
    positions: [Position; DIMENSIONS_MAX],
    dimensions: usize,
    order: PageOrder,
    /// Processors of a page along each dimension.
    side: u32,
    /// The number of processors in a piece: neighbours in a page along dimension 0, whose bits are
    /// looked at together.
    piece: u32,
    /// The number of pieces of a page.
    pieces: u32,
    /// The first bit of the pages.
    bit: u32,
}

impl Walk {
    fn new(pages: Pages, order: PageOrder, layout: &Layout) -> Walk {
        let Pages { side, size } = pages;
        let grid = layout.grid();
        let mut positions = [Position::default(); DIMENSIONS_MAX];
        let mut stride = 1;
        for ((dimension, position), &len) in positions.iter_mut().enumerate().zip(grid.sides()) {
            // A page may be longer than a word.
            let step = match dimension {
                0 => side.max(WORD_BITS),
                _ => side,
            };
            position.last = (u32::from(len) - 1) / step;
            position.step = step * stride;
            stride = if layout.is_plane() {
                layout.row_words() as u32 * WORD_BITS
            } else {
                stride * u32::from(len)
            };
        }
        let piece = side.min(WORD_BITS);
        Walk {
            positions,
            dimensions: grid.dimensions(),
            order,
            side,
            piece,
            pieces: size / piece,
            bit: 0,
        }
    }

    /// Moves to the next pages. False after the last ones.
    fn step(&mut self) -> bool {
        for position in &mut self.positions[..self.dimensions] {
            if position.down && position.at > 0 {
                position.at -= 1;
                self.bit -= position.step;
                return true;
            }
            if !position.down && position.at < position.last {
                position.at += 1;
                self.bit += position.step;
                return true;
            }
            match self.order {
                PageOrder::RowMajor => {
                    self.bit -= position.at * position.step;
                    position.at = 0;
                }
                PageOrder::Snake => position.down = !position.down,
            }
        }
        false
    }

    /// The first bit of a piece of the first page.
    #[inline]
    fn piece(&self, number: u32) -> u32 {
        let mut bit = self.bit;
        // Most pages have one piece.
        if number > 0 {
            let along = self.side / self.piece;
            bit += number % along * self.piece;
            let mut rest = number / along;
            for position in &self.positions[1..self.dimensions] {
                bit += rest % self.side * (position.step / self.side);
                rest /= self.side;
            }
        }
        bit
    }

    /// The free ones among these pages, which have at most `len` processors along dimension 0: the
    /// bit of the first processor of each free page is set.
    fn free(&self, busy: &[Word], len: u32) -> Word {
        let mut free = ones(len);
        for number in 0..self.pieces {
            free &= !bits_from(busy, self.piece(number) as i32);
            if free == 0 {
                return 0;
            }
        }
        let mut known = 1;
        while known < self.piece {
            free &= free >> known;
            known *= 2;
        }
        // One bit for each piece.
        free & (Word::MAX / ones(self.piece))
    }

    /// Adds the processors of these pages.
    fn choose(&self, pages: Word, chosen: &mut [Word]) {
        for number in 0..self.pieces {
            set_bits_from(chosen, self.piece(number), pages * ones(self.piece));
        }
    }
}

/// The `count` lowest set bits.
fn lowest(mut bits: Word, count: u32) -> Word {
    let all = bits;
    for _ in 0..count {
        bits &= bits - 1;
    }
    all ^ bits
}

/// The demand: a number of pages, whatever the shape.
#[inline(never)]
pub(super) fn pages(request: &Request, grid: &Grid, exponent: u64) -> Result<u32, Refusal> {
    let size = Pages::new(grid, exponent).size;
    match request.processors.div_ceil(size) {
        pages if pages <= grid.nodes() / size => Ok(pages * size),
        _ => Err(Refusal::NeverFits),
    }
}

/// Takes the first free pages.
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
    order: PageOrder,
    exponent: u64,
) -> bool {
    let (occupancy, grid) = (site.occupancy, site.grid());
    let pages = Pages::new(grid, exponent);
    let mut missing = request.processors.div_ceil(pages.size);
    let mut walk = Walk::new(pages, order, occupancy.layout());
    let busy = occupancy.busy_rows();
    let chosen = &mut workspace.words[..busy.len()];
    chosen.fill(0);
    let len = u32::from(grid.side(0));
    loop {
        let along = walk.positions[0];
        let mut pages = walk.free(busy, len - along.at * along.step);
        draft.poll();
        if pages != 0 {
            let count = pages.count_ones();
            if count > missing {
                pages = if along.down {
                    lowest(pages.reverse_bits(), missing).reverse_bits()
                } else {
                    lowest(pages, missing)
                };
            }
            missing = missing.saturating_sub(count);
            walk.choose(pages, chosen);
        }
        if missing == 0 || !walk.step() {
            break;
        }
    }
    if missing > 0 {
        return false;
    }
    Gather::new(*grid, draft).bits(occupancy, chosen);
    true
}
