//! Multiple buddy strategy (MBS): a job holds several squares whose sides are powers of two.
//!
//! The number of processors is written in base 4. Each digit asks for as many blocks of 4^i
//! processors as it says.
//!
//! # Source
//!
//! V. Lo, K. J. Windisch, W. Liu and B. Nitzberg, "Noncontiguous Processor Allocation Algorithms
//! for Mesh-Connected Multicomputers", IEEE Trans. on Parallel and Distributed Systems 8(7), 1997.
//!
//! # Differences from the paper
//!
//! Lo and others keep a list of free blocks for each size. Blocks are merged whenever possible, so
//! the lists follow from the occupancy. Faulty processors need no special treatment, and a repaired
//! processor merges with its buddies again.
//!
//! The paper leaves the following open. The mesh begins as the largest squares that it has among
//! those whose side is a power of two and whose base is a multiple of the side. Digits are served
//! from the highest to the lowest. Each block of a digit is the free block of that size with the
//! first base node in row-major order. If there is none, it is the lower left part of the smallest
//! larger free block (if there are several, of the first in row-major order). If there is no larger
//! block either, four blocks of a quarter of the size take its place.
//!
//! A request names sides, and only the number of its processors counts, so
//! [`Flags::FIXED_ORIENTATION`](crate::Flags) makes no difference.
//!
//! # On a mesh with I/O nodes
//!
//! The authors of [`BinaryTree`](super::BinaryTree) describe jobs that do I/O. With I/O nodes at
//! the left they take these totals in seconds, means over 1000 replications:
//!
//! ```text
//!                        multiple-buddy   dynamic-binary-tree:0.5
//!   I/O alone             105.9 +- 1.4         101.1 +- 1.5
//!   64 communications      1219 +- 45           1060 +- 52
//! ```
//!
//! `host-sim run --mesh 16x16 --io-nodes left --io communications=0 --batch 16
//! --processors exponential:16 --strategy multiple-buddy,dbt:0.5 --replications 1000` gives
//! the first row, `communications=64` the second.
//!
//! # Complexity and memory
//!
//! O(words * log W + n) for an allocation of n processors, in at most n blocks. For each digit the
//! free squares of its side are found once, and those of twice the side are computed from them. A
//! release takes nothing. Scratch: twice as many words as the occupancy.
//!
//! # Recognition
//!
//! Complete: a request fails only if fewer than n processors are free. No fragmentation of either
//! kind.
//!
//! # Drawbacks
//!
//! On a mesh whose sides are powers of two, the free processors consist of the fewest squares
//! possible (definition 1 of Liu, Hsu and Wu, see `binary-tree`) as long as nothing is released.
//! After releases this is no longer so: on a 16 x 16 mesh about half full 19 % of the states are
//! compact. On average there are 7 free squares more than necessary (`cargo test -p meshalloc-tests
//! --test across after_releases -- --nocapture`).
//!
//! The blocks of a job may lie far apart. A job of few processors splits a block although it could
//! lie in a gap of the shape that it asks for.
//!
//! ```text
//!   y
//!   3  A A # .     A request for 5 processors on a 4 x 4 mesh, # busy: 5 is 11 in base 4, one
//!   2  A A . #     block of 2 x 2 and one of 1 x 1.
//!   1  # . # .
//!   0  A . . #
//!      0 1 2 3  x
//! ```
//!
//! # Example
//!
//! The mesh above. The 2 x 2 block is released and found whole again.
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 4 x 4, strategies [MultipleBuddy], allocations 16) =
//!     AllocatorStorage::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::MultipleBuddy)?;
//! for (x, y) in [(3, 0), (0, 1), (2, 1), (3, 2), (2, 3)] {
//!     allocator.mark_faulty(Submesh::new(x, y, 1, 1).into());
//! }
//! let five = allocator.allocate(&Request::submesh(5, 1))?;
//! let blocks = allocator.blocks(&five)?.map(|block| Submesh::of(&machine, block));
//! let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(blocks, [Submesh::new(0, 2, 2, 2), Submesh::new(0, 0, 1, 1)]);
//! allocator.release(five)?;
//! let four = allocator.allocate(&Request::submesh(1, 4))?;
//! assert_eq!(allocator.blocks(&four)?.next(), Some(Submesh::new(0, 2, 2, 2).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Draft, Request, Site, Workspace};
use crate::mesh::{Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::search::aligned::Aligned;
use crate::word::Word;

/// Selects at most `missing` blocks of this side: first the free ones, then parts of the smallest
/// larger ones. Returns how many are still missing. `scratch` has as many words as the occupancy.
///
/// Taking a free block changes nothing for other blocks of its size, since they are not parts of a
/// larger free block. It changes nothing for larger blocks either. Once a part of a larger block is
/// taken, its other parts are the smallest free blocks. So all of its parts are taken before any
/// part of another block.
fn take_of_side(
    side: u16,
    mut missing: u32,
    copy: &mut Occupancy<'_>,
    scratch: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> u32 {
    let sides = Sides::new(side, side);
    let mut squares = Aligned::new(copy.busy_rows(), copy.stride(), sides, scratch);
    while missing > 0 && !squares.is_empty() {
        let parts = squares.width() / u32::from(side);
        squares.each_largest(draft, |x, y, draft| {
            for part in 0..missing.min(parts * parts) {
                let (right, up) = (even_bits(part) as u16, even_bits(part >> 1) as u16);
                let block = Submesh::new(x + right * side, y + up * side, side, side);
                copy.take(block.into());
                draft.push(block);
                missing -= 1;
            }
            missing > 0
        });
        squares.double();
    }
    missing
}

/// The bits at even places, moved next to each other. For the number of a part of a block, these
/// bits are the part's column. The parts are numbered in the order in which they are taken: the
/// four quarters of a block one after the other, and each quarter in the same order.
fn even_bits(bits: u32) -> u32 {
    let mut bits = bits & 0x5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333;
    bits = (bits | bits >> 2) & 0x0f0f_0f0f;
    bits = (bits | bits >> 4) & 0x00ff_00ff;
    (bits | bits >> 8) & 0xffff
}

/// Takes blocks for the digits of the number of processors to the base 4.
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> bool {
    let (mut copy, scratch) = site.occupancy.copy_in(workspace.words);
    let shorter = site.grid().side(0).min(site.grid().side(1));
    let digits = request.processors.ilog(4) + 1;
    // No block is larger than the mesh, so `missing` begins with the blocks that the higher digits
    // ask for.
    let levels = digits.min(shorter.ilog2() + 1);
    let mut missing = request.processors >> (2 * levels);
    for level in (0..levels).rev() {
        missing = 4 * missing + (request.processors >> (2 * level) & 3);
        if missing > 0 {
            missing = take_of_side(1 << level, missing, &mut copy, scratch, draft);
        }
    }
    missing == 0
}
