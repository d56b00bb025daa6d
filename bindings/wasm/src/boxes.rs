//! The maximal free boxes of a machine: free boxes that are in no larger free box.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use meshalloc::{Block, Grid, NodeId, Occupancy};

/// The most dimensions of a machine on the page.
pub(crate) const DIMENSIONS_MAX: usize = 3;

/// A box of processors: start and extent in each dimension, 0 and 1 in those that the machine does
/// not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cuboid {
    /// The processor with the lowest coordinates; where the machine wraps, the first one.
    pub start: [usize; DIMENSIONS_MAX],
    /// The processors along each dimension.
    pub extent: [usize; DIMENSIONS_MAX],
}

impl Cuboid {
    /// The box of a block.
    pub(crate) fn of(grid: &Grid, block: Block) -> Self {
        let (start, extent) = (grid.start(block), grid.extent(block));
        Cuboid {
            start: std::array::from_fn(|at| start.get(at).map_or(0, |&at| at.into())),
            extent: std::array::from_fn(|at| extent.get(at).map_or(1, |&len| len.into())),
        }
    }

    /// The block of the box.
    pub(crate) fn block(&self, grid: &Grid) -> Option<Block> {
        let [start, extent] = [self.start, self.extent].map(|all| all.map(|at| at as u16));
        let dimensions = grid.dimensions();
        grid.block(&start[..dimensions], &extent[..dimensions])
    }

    /// It as text: `4x2 at 3,0`.
    pub(crate) fn text(&self, grid: &Grid) -> String {
        let join = |numbers: [usize; DIMENSIONS_MAX], between: &str| {
            let numbers = numbers.iter().take(grid.dimensions());
            let texts: Vec<String> = numbers.map(usize::to_string).collect();
            texts.join(between)
        };
        format!("{} at {}", join(self.extent, "x"), join(self.start, ","))
    }

    /// The number of processors.
    pub fn area(&self) -> usize {
        self.extent.iter().product()
    }
}

/// A machine of up to three dimensions and its free processors.
struct Space {
    sides: [usize; DIMENSIONS_MAX],
    wraps: [bool; DIMENSIONS_MAX],
    free: Vec<bool>,
}

/// All maximal free boxes, the largest first. A box that goes all the way around starts at 0.
///
/// # Method
///
/// Layers z.. are combined by AND into one plane, rows y.. of this plane into one row. The runs of
/// free processors in that row cannot grow along x. Those that can grow along y or z are left out.
///
/// ```text
///   rows 1..=2         row 2   . . # .
///                      row 1   # . . .
///                      AND     # . # .     runs: x = 1 and x = 3
/// ```
///
/// # Time complexity
///
/// O(pairs of coordinates along y and z * side along x), and O(surface) of each run.
pub fn maximal_boxes(occupancy: &Occupancy<'_>) -> Vec<Cuboid> {
    let grid = occupancy.grid();
    let has = |at: usize| at < grid.dimensions();
    let space = Space {
        sides: std::array::from_fn(|at| if has(at) { grid.side(at).into() } else { 1 }),
        wraps: std::array::from_fn(|at| has(at) && grid.wraps(at)),
        free: (0..grid.nodes())
            .map(|node| !occupancy.is_busy(NodeId(node)))
            .collect(),
    };
    let found = space.maximal().into_iter();
    // The code of a heap is a tenth of that of `sort`.
    let found: BinaryHeap<_> = found.map(|one| (Reverse(one.area()), one)).collect();
    let found = found.into_sorted_vec().into_iter();
    found.map(|(_, one)| one).collect()
}

impl Space {
    fn is_free(&self, [x, y, z]: [usize; DIMENSIONS_MAX]) -> bool {
        let [w, h, _] = self.sides;
        self.free[(z * h + y) * w + x]
    }

    /// The greatest extent of a box with this start along a dimension.
    fn extent_max(&self, dimension: usize, start: usize) -> usize {
        let side = self.sides[dimension];
        match (self.wraps[dimension], start) {
            (true, 0) => side,
            // All the way around is the box that starts at 0.
            (true, _) => side - 1,
            (false, _) => side - start,
        }
    }

    fn maximal(&self) -> Vec<Cuboid> {
        let [w, h, layers] = self.sides;
        let mut found = Vec::new();
        for z in 0..layers {
            let mut plane = vec![true; w * h];
            for d in 1..=self.extent_max(2, z) {
                let layer = (z + d - 1) % layers;
                and(&mut plane, &self.free[layer * w * h..][..w * h]);
                if !plane.contains(&true) {
                    break;
                }
                for y in 0..h {
                    let mut row = vec![true; w];
                    for rows in 1..=self.extent_max(1, y) {
                        and(&mut row, &plane[(y + rows - 1) % h * w..][..w]);
                        if !row.contains(&true) {
                            break;
                        }
                        let boxes = runs(&row, self.wraps[0])
                            .into_iter()
                            .map(|(x, len)| Cuboid {
                                start: [x, y, z],
                                extent: [len, rows, d],
                            });
                        found.extend(boxes.filter(|one| !self.grows(one)));
                    }
                }
            }
        }
        found
    }

    /// Whether the box can grow along y or z.
    fn grows(&self, one: &Cuboid) -> bool {
        (1..DIMENSIONS_MAX).any(|dimension| {
            let (start, extent) = (one.start[dimension], one.extent[dimension]);
            let side = self.sides[dimension];
            let (before, behind) = if extent == side {
                (None, None)
            } else if self.wraps[dimension] {
                (
                    Some((start + side - 1) % side),
                    Some((start + extent) % side),
                )
            } else {
                (
                    start.checked_sub(1),
                    Some(start + extent).filter(|&at| at < side),
                )
            };
            let beside = [before, behind].into_iter().flatten();
            beside
                .into_iter()
                .any(|at| self.is_slice_free(one, dimension, at))
        })
    }

    /// Whether the box, moved to this one coordinate along a dimension, is free.
    fn is_slice_free(&self, one: &Cuboid, dimension: usize, at: usize) -> bool {
        let (mut start, mut extent) = (one.start, one.extent);
        (start[dimension], extent[dimension]) = (at, 1);
        let along = |dimension: usize| {
            let side = self.sides[dimension];
            (start[dimension]..start[dimension] + extent[dimension]).map(move |at| at % side)
        };
        along(2).all(|z| along(1).all(|y| along(0).all(|x| self.is_free([x, y, z]))))
    }
}

fn and(all: &mut [bool], other: &[bool]) {
    for (all, other) in all.iter_mut().zip(other) {
        *all &= other;
    }
}

/// The longest runs of set entries of a row, each its start and length.
fn runs(row: &[bool], wraps: bool) -> Vec<(usize, usize)> {
    let side = row.len();
    if row.iter().all(|&one| one) {
        return vec![(0, side)];
    }
    let is_start = |&at: &usize| {
        let before = if wraps {
            row[(at + side - 1) % side]
        } else {
            at > 0 && row[at - 1]
        };
        row[at] && !before
    };
    let len = |at: usize| {
        let behind = if wraps { at + side } else { side };
        (at..behind).take_while(|&at| row[at % side]).count()
    };
    (0..side).filter(is_start).map(|at| (at, len(at))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use meshalloc::storage::{HeapStorage, Needs};
    use meshalloc::{Allocator, Block, Grid, StrategyKind};

    use super::*;

    /// Every box of the machine with the set of its processors as bits.
    fn all_boxes(grid: &Grid) -> Vec<(u32, Cuboid)> {
        let side = |at| grid.sides().get(at).map_or(1, |&side| usize::from(side));
        let mut all = BTreeMap::new();
        for code in 0..grid.nodes().pow(2) as usize {
            let mut rest = code;
            let mut digit = |base| {
                let digit = rest % base;
                rest /= base;
                digit
            };
            let start: [usize; 3] = std::array::from_fn(|at| digit(side(at)));
            let extent: [usize; 3] = std::array::from_fn(|at| digit(side(at)) + 1);
            let numbers = |all: [usize; 3]| -> Vec<u16> {
                let numbers = all.iter().take(grid.dimensions());
                numbers.map(|&number| number as u16).collect()
            };
            let Some(block) = grid.block(&numbers(start), &numbers(extent)) else {
                continue;
            };
            let holds = |node: &u32| grid.holds(block, NodeId(*node));
            let set = (0..grid.nodes()).filter(holds).map(|node| 1 << node).sum();
            // If boxes have the same processors, the one with the lowest start is kept.
            let one = Cuboid { start, extent };
            let entry = all.entry(set).or_insert(one);
            *entry = one.min(*entry);
        }
        all.into_iter().collect()
    }

    #[test]
    fn they_are_the_free_boxes_in_no_larger_one_of_every_occupancy() {
        for machine in [
            "mesh 4x3",
            "torus 4x3",
            "mesh 3x2x2",
            "torus 3x2x2",
            "mesh 3x3x1 wrap 1",
            "torus 7",
        ] {
            let grid: Grid = machine.parse().unwrap();
            let all = all_boxes(&grid);
            for busy in 0..1_u32 << grid.nodes() {
                let mut storage = HeapStorage::new(Needs::of(StrategyKind::Naive, &grid, 1), 0);
                let memory = storage.allocator_memory();
                let mut allocator = Allocator::new(memory, grid, StrategyKind::Naive).unwrap();
                let nodes = (0..grid.nodes()).filter(|node| busy >> node & 1 == 1);
                let units: Vec<Block> = nodes.filter_map(|node| grid.unit(NodeId(node))).collect();
                for unit in units {
                    allocator.mark_faulty(unit);
                }
                let free: Vec<_> = all.iter().filter(|(set, _)| set & busy == 0).collect();
                let is_within = |set: u32| {
                    let mut larger = free.iter().filter(|(other, _)| *other != set);
                    larger.any(|(other, _)| set & other == set)
                };
                let expected = free.iter().filter(|(set, _)| !is_within(*set));
                let mut expected: Vec<Cuboid> = expected.map(|&&(_, one)| one).collect();
                expected.sort_by_key(|one| (Reverse(one.area()), one.start, one.extent));
                let found = maximal_boxes(allocator.occupancy());
                assert_eq!(found, expected, "{machine}, busy {busy:b}");
            }
        }
    }
}
