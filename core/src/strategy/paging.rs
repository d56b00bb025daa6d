//! Paging: the first free pages in a fixed order, a page being a block of 2^i processors along each dimension.
//!
//! # Source
//!
//! V. Lo, K. J. Windisch, W. Liu and B. Nitzberg, "Noncontiguous Processor Allocation Algorithms for
//! Mesh-Connected Multicomputers", IEEE Trans. on Parallel and Distributed Systems 8(7), 1997: Paging(i) with row-major and
//! snake-like order.
//!
//! # Differences from the paper
//!
//! Its shuffled orders are left out. On any grid pages are taken in boustrophedon order where the paper's snake goes through
//! the rows of a mesh: the direction along a dimension turns whenever the next higher one moves.
//!
//! Pages do not reach beyond the border: each side must be a multiple of 2^i.
//!
//! # Order of blocks
//!
//! A job holds pages, the first that are free in the [`PageOrder`]. They are listed as blocks in the order of their processors'
//! numbers, whatever the order of the pages: runs along dimension 0, and equal runs in consecutive lines of a plane as one
//! block.
//!
//! # Complexity and memory
//!
//! O(p + words) for an allocation that looks at p pages, with i = 0, and times the words of a page otherwise; nothing for a
//! release. Scratch for a bitmap.
//!
//! # Recognition
//!
//! With i = 0 complete, and no fragmentation of either kind; row-major it holds the processors that
//! [`Naive`](crate::StrategyKind::Naive) holds. Larger pages have internal fragmentation, up to 2^(i D) - 1 processors of a
//! job in D dimensions, and need whole pages: a faulty processor takes its page away.
//!
//! ```text
//!   y
//!   1  . A # A     A request for 3 processors in snake-like order, # busy: the job A holds three blocks.
//!   0  # # # A     The row y = 1 is taken from its right end; in row-major order <0, 1> would be taken
//!      0 1 2 3  x  in place of <3, 1>.
//! ```
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<4, 1, 4, 16, 0>::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, "paging:snake=1".parse()?)?;
//! // Pages of 2 x 2: <0, 0>, <2, 0>, then <2, 2> before <0, 2>.
//! let nine = allocator.allocate(&Request::submesh(3, 3))?;
//! let blocks: Vec<_> = allocator.blocks(&nine).collect();
//! assert_eq!(blocks, [Submesh::new(0, 0, 4, 2).into(), Submesh::new(2, 2, 2, 2).into()]);
//! assert_eq!(allocator.processors(&nine), 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::gather::Gather;
use super::{PageOrder, Strategy, Workspace};
use crate::blocks::Draft;
use crate::error::{ConfigureError, Refusal};
use crate::grid::{DIMENSIONS_MAX, Grid};
use crate::node::NodeId;
use crate::occupancy::Occupancy;
use crate::request::Request;

/// Paging.
#[derive(Debug)]
pub struct Paging<'m> {
    grid: Grid,
    order: PageOrder,
    /// Processors of a page along each dimension.
    side: u32,
    /// Processors of a page.
    size: u32,
    pub(super) workspace: Workspace<'m>,
}

impl<'m> Paging<'m> {
    /// The strategy on this machine.
    pub(super) fn new(
        grid: Grid,
        workspace: Workspace<'m>,
        order: PageOrder,
        exponent: u64,
    ) -> Result<Self, ConfigureError> {
        let side = u32::try_from(exponent).ok();
        let side = side.and_then(|exponent| 1_u32.checked_shl(exponent));
        let size = side.and_then(|side| side.checked_pow(grid.dimensions() as u32));
        let (side, size) = side.zip(size).ok_or(ConfigureError::MachineUnsuitable)?;
        Ok(Paging {
            grid,
            order,
            side,
            size,
            workspace,
        })
    }

    /// The number of pages that hold this many processors.
    const fn pages(&self, processors: u32) -> u32 {
        processors.div_ceil(self.size)
    }
}

/// One dimension of a walk through all pages.
#[derive(Clone, Copy, Default)]
struct Position {
    /// The first processor of the page, along this dimension.
    at: u32,
    /// Whether the walk goes down.
    down: bool,
    /// The place of the last page.
    last: u32,
    /// How far apart the numbers of neighbours are.
    stride: u32,
}

/// A walk through all pages in their order.
struct Walk {
    positions: [Position; DIMENSIONS_MAX],
    dimensions: usize,
    side: u32,
    order: PageOrder,
    /// The number of the page's first processor.
    node: u32,
}

impl Walk {
    fn new(paging: &Paging<'_>) -> Walk {
        let mut positions = [Position::default(); DIMENSIONS_MAX];
        let mut stride = 1;
        for (position, &side) in positions.iter_mut().zip(paging.grid.sides()) {
            let side = u32::from(side);
            position.last = side - paging.side;
            position.stride = stride;
            stride *= side;
        }
        Walk {
            positions,
            dimensions: paging.grid.dimensions(),
            side: paging.side,
            order: paging.order,
            node: 0,
        }
    }

    /// Moves to the next page. False after the last one.
    fn step(&mut self) -> bool {
        let side = self.side;
        for position in &mut self.positions[..self.dimensions] {
            let by = side * position.stride;
            match position.down {
                false if position.at < position.last => {
                    position.at += side;
                    self.node += by;
                    return true;
                }
                true if position.at > 0 => {
                    position.at -= side;
                    self.node -= by;
                    return true;
                }
                _ => {}
            }
            match self.order {
                PageOrder::RowMajor => {
                    self.node -= position.at * position.stride;
                    position.at = 0;
                }
                PageOrder::Snake => position.down = !position.down,
            }
        }
        false
    }
}

impl Strategy for Paging<'_> {
    /// The shape does not matter, only the number of pages.
    #[inline(never)]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        match self.pages(request.processors) {
            pages if pages <= self.grid.nodes() / self.size => Ok(pages * self.size),
            _ => Err(Refusal::NeverFits),
        }
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let (grid, side) = (self.grid, self.side);
        let mut missing = self.pages(request.processors);
        let mut walk = Walk::new(self);
        let chosen = &mut self.workspace.words[..occupancy.busy_rows().len()];
        chosen.fill(0);
        let dimensions = grid.dimensions() as u32;
        loop {
            // For most busy pages one bit is enough.
            if !occupancy.is_busy(NodeId(walk.node)) {
                let page = grid.encode(|at| walk.positions[at].at, |_| side);
                if side == 1 || occupancy.is_free(page) {
                    occupancy.layout().words(page, |word, bits| {
                        chosen[word] |= bits;
                        true
                    });
                    missing -= 1;
                    draft.worked(300 * dimensions + 30 * self.size);
                }
            }
            draft.worked(100 + 20 * dimensions);
            if missing == 0 || !walk.step() {
                break;
            }
        }
        if missing > 0 {
            return false;
        }
        Gather::new(grid, draft).bits(occupancy, chosen);
        true
    }
}
