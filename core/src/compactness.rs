//! A measure of how compact the free processors of a mesh are: [`Compactness`], after section 4 of
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers".

use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::search::halves::halves;
use crate::strategy::Serves;

/// How compact the free processors are at one moment. A faulty processor counts as allocated.
///
/// The paper calls a strategy compact if it leads an empty mesh only through compact states. These
/// are the tests for one state.
///
/// # Example
///
/// ```
/// use meshalloc::{Allocator, AllocatorStorage, Compactness, Mesh, StrategyKind, Submesh};
///
/// let mut storage: meshalloc::storage!(mesh 8 x 4, strategies [FirstFit], allocations 4) =
///     AllocatorStorage::new();
/// let machine = Mesh::new(8, 4)?.into();
/// let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::FirstFit)?;
/// // The left 4 x 4 square lacks its corner: 3 squares of side 2 and 3 of side 1. The right square
/// // is whole.
/// allocator.mark_faulty(Submesh::new(0, 0, 1, 1).into());
/// let compactness = Compactness::of(allocator.occupancy()).ok_or("sides are powers of two")?;
/// assert_eq!(compactness.free_squares, 7);
/// assert!(compactness.is_compact() && compactness.is_spatial);
///
/// // 30 free processors can consist of 1 + 3 + 2 squares.
/// allocator.mark_faulty(Submesh::new(7, 3, 1, 1).into());
/// let compactness = Compactness::of(allocator.occupancy()).ok_or("sides are powers of two")?;
/// assert_eq!((compactness.free_squares, compactness.free_squares_min), (12, 6));
/// assert!(!compactness.is_compact() && !compactness.is_spatial);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compactness {
    /// D of definition 1: the minimum number of squares into which the free processors divide. The
    /// side of each square is a power of two, and its position a multiple of its side.
    pub free_squares: u32,
    /// The minimum of D over all states with this number of free processors.
    pub free_squares_min: u32,
    /// Definition 2: no rectangle in the tree of halves has two halves that both have free and
    /// allocated processors.
    pub is_spatial: bool,
}

impl Compactness {
    /// Measures a mesh whose sides are powers of two and that is at least as wide as high. `None`
    /// on any other machine.
    ///
    /// # Time complexity
    ///
    /// O(N) for N processors.
    pub fn of(occupancy: &Occupancy<'_>) -> Option<Compactness> {
        let grid = occupancy.grid();
        if !Serves::HalvableMesh.includes(grid) {
            return None;
        }
        let whole = Submesh::new(0, 0, grid.side(0), grid.side(1));
        Some(Compactness {
            free_squares: free_squares(occupancy, whole),
            free_squares_min: free_squares_min(occupancy.free(), whole.sides.h),
            is_spatial: is_spatial(occupancy, whole),
        })
    }

    /// Definition 1: whether D is at its minimum for this number of free processors.
    pub const fn is_compact(&self) -> bool {
        self.free_squares == self.free_squares_min
    }
}

/// Counts the free squares of each side, the largest first, without those in a larger free square.
fn free_squares(occupancy: &Occupancy<'_>, whole: Submesh) -> u32 {
    let mut squares = 0;
    let mut side = whole.sides.h;
    while side > 0 {
        for y in (0..whole.sides.h).step_by(side.into()) {
            for x in (0..whole.sides.w).step_by(side.into()) {
                let is_free = |side: u16| {
                    let square = Submesh::new(x - x % side, y - y % side, side, side);
                    occupancy.is_free(square.into())
                };
                // A part of a larger free square does not count.
                let is_largest = side == whole.sides.h || !is_free(2 * side);
                squares += u32::from(is_largest && is_free(side));
            }
        }
        side /= 2;
    }
    squares
}

/// Counts squares greedily: as many of the largest side as possible, then of each smaller side, up
/// to three of each.
fn free_squares_min(free: u32, side_max: u16) -> u32 {
    let largest = u32::from(side_max) * u32::from(side_max);
    let (mut squares, mut rest) = (free / largest, free % largest);
    while rest > 0 {
        squares += rest % 4;
        rest /= 4;
    }
    squares
}

/// Descends into the half that is partly free; false if both halves are.
fn is_spatial(occupancy: &Occupancy<'_>, whole: Submesh) -> bool {
    let mut node = whole;
    while node.area() > 1 {
        let is_partial = |half: &Submesh| (1..half.area()).contains(&occupancy.free_in(*half));
        node = match halves(node) {
            [left, right] if is_partial(&left) && is_partial(&right) => return false,
            [left, _] if is_partial(&left) => left,
            [_, right] if is_partial(&right) => right,
            _ => return true,
        };
    }
    true
}
