//! How compact the free processors of a mesh are: [`Compactness`], after section 4 of P. Liu, C.-C. Hsu and J.-J. Wu, "I/O
//! Processor Allocation for Mesh Cluster Computers".

use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::search::halves::halves;
use crate::strategy::Serves;

/// How compact the free processors are at one moment. Faulty processors are allocated ones here.
///
/// The paper defines what a compact strategy is by what it does to an empty mesh; these are the states that such
/// strategies keep to.
///
/// # Example
///
/// ```
/// use meshalloc::{Allocator, Compactness, Mesh, Storage, StrategyKind, Submesh};
///
/// let mut storage: Storage<8, 4> = Storage::new();
/// let machine = Mesh::new(8, 4)?.into();
/// let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::FirstFit)?;
/// // The left square is free but for its corner: 3 squares of side 2 and 3 of side 1. The right one is whole.
/// allocator.mark_faulty(Submesh::new(0, 0, 1, 1).into());
/// let compactness = Compactness::of(allocator.occupancy()).ok_or("sides are powers of two")?;
/// assert_eq!(compactness.free_squares, 7);
/// assert!(compactness.is_compact() && compactness.is_spatial);
///
/// // 30 processors can be free in 1 + 3 + 2 squares.
/// allocator.mark_faulty(Submesh::new(7, 3, 1, 1).into());
/// let compactness = Compactness::of(allocator.occupancy()).ok_or("sides are powers of two")?;
/// assert_eq!((compactness.free_squares, compactness.free_squares_min), (12, 6));
/// assert!(!compactness.is_compact() && !compactness.is_spatial);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compactness {
    /// D of definition 1: the least number of squares with a power of two as side, at multiples of it, that the free
    /// processors consist of.
    pub free_squares: u32,
    /// The least D that so many free processors can have.
    pub free_squares_min: u32,
    /// Definition 2: no two halves of a rectangle in the tree of halves both have free processors and allocated ones.
    pub is_spatial: bool,
}

impl Compactness {
    /// That of a mesh whose sides are powers of two, not higher than wide; `None` on any other machine.
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

    /// Whether the free processors consist of as few squares as so many processors can: definition 1.
    pub const fn is_compact(&self) -> bool {
        self.free_squares == self.free_squares_min
    }
}

/// The squares of the largest side, then the quarters of each that is not free, and so on.
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
                // Not one that is part of a larger free one.
                let is_largest = side == whole.sides.h || !is_free(2 * side);
                squares += u32::from(is_largest && is_free(side));
            }
        }
        side /= 2;
    }
    squares
}

/// As many of the largest squares as possible, then of the next smaller ones, up to three of each.
fn free_squares_min(free: u32, side_max: u16) -> u32 {
    let largest = u32::from(side_max) * u32::from(side_max);
    let (mut squares, mut rest) = (free / largest, free % largest);
    while rest > 0 {
        squares += rest % 4;
        rest /= 4;
    }
    squares
}

/// Descends to whichever half is partly free, unless both are.
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
