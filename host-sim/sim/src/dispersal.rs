//! How far apart the processors of a job are: [`Dispersal`]. Distances are hops on the grid, the
//! shorter way around where a dimension wraps.

use std::mem::take;

use meshalloc::{Block, Grid, NodeId};

use crate::processors::push_box;

/// Measures allocations of one machine, and keeps the memory for that. As long as allocations are
/// one block it needs none, else four bytes for each processor of the machine and a few for each
/// block.
///
/// # Time complexity
///
/// For one block O(dimensions), and O(extent) for each dimension that wraps. For b blocks O(b +
/// side) for each dimension, and little more than O(1) for each processor at the surface of a
/// block, to see whether they are connected.
#[derive(Clone, Debug)]
pub struct Disperser {
    grid: Grid,
    /// Start and extent in each dimension, block after block.
    spans: Vec<(u32, u32)>,
    /// Processors by coordinate along one dimension, then their differences.
    counts: Vec<i64>,
    /// For each processor, the block of which it is one of the first processors along a dimension;
    /// [`NONE`] between measurements.
    labels: Vec<u32>,
    /// For each block, the block itself, or an earlier block that it is connected with.
    groups: Vec<u32>,
    /// First processors, and those beyond the last ones.
    first: Vec<NodeId>,
    beyond: Vec<NodeId>,
}

/// How dispersed an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispersal {
    /// The number of processors.
    pub processors: u64,
    /// The number of blocks, as the strategy lists them.
    pub blocks: u64,
    /// The sum of the distances of all pairs of processors, in hops.
    pub distances: u64,
    /// The size of the smallest box that holds all processors. The box may wrap where a dimension
    /// wraps.
    pub bounding_box: u64,
    /// Whether each processor of the job can be reached from each other one through processors of
    /// the job only.
    pub contiguous: bool,
}

impl Dispersal {
    /// The mean distance of two processors, in hops; 0 where there is only one.
    pub fn mean_distance(&self) -> f64 {
        match self.processors {
            0 | 1 => 0.0,
            n => self.distances as f64 / (n as f64 * (n - 1) as f64 / 2.0),
        }
    }

    /// The processors as a part of the bounding box.
    pub fn bounding_box_share(&self) -> f64 {
        self.processors as f64 / self.bounding_box as f64
    }
}

impl Disperser {
    /// Makes a disperser for allocations of this machine.
    pub const fn new(grid: Grid) -> Self {
        Disperser {
            grid,
            spans: Vec::new(),
            counts: Vec::new(),
            labels: Vec::new(),
            groups: Vec::new(),
            first: Vec::new(),
            beyond: Vec::new(),
        }
    }

    /// Measures an allocation: blocks of the machine, at least one, that have no processor in
    /// common.
    ///
    /// ```
    /// use meshalloc::{Mesh, Submesh};
    /// use meshalloc_sim::dispersal::Disperser;
    /// let mut disperser = Disperser::new(Mesh::new(8, 8)?.grid());
    /// let apart = [Submesh::new(0, 0, 1, 1).into(), Submesh::new(3, 2, 1, 1).into()];
    /// let dispersal = disperser.measure(&apart);
    /// assert_eq!((dispersal.distances, dispersal.bounding_box), (5, 12));
    /// assert!(!dispersal.contiguous);
    /// # Ok::<(), meshalloc::MeshSidesError>(())
    /// ```
    pub fn measure(&mut self, blocks: &[Block]) -> Dispersal {
        let grid = self.grid;
        let areas = || blocks.iter().map(|&block| u64::from(grid.area(block)));
        let processors = areas().sum();
        if let &[block] = blocks {
            return Dispersal {
                processors,
                blocks: 1,
                distances: in_box(&grid, block, processors),
                bounding_box: processors,
                contiguous: true,
            };
        }
        self.spans.clear();
        for &block in blocks {
            let (start, extent) = (grid.start(block), grid.extent(block));
            let spans = start.iter().zip(&*extent);
            self.spans
                .extend(spans.map(|(&start, &extent)| (start.into(), extent.into())));
        }
        let (mut distances, mut bounding_box) = (0, 1);
        for dimension in 0..grid.dimensions() {
            self.count(dimension, areas());
            let wraps = grid.wraps(dimension);
            distances += if wraps {
                around(&self.counts, processors)
            } else {
                along(&self.counts, processors)
            };
            bounding_box *= length(&self.counts, wraps);
        }
        Dispersal {
            processors,
            blocks: blocks.len() as u64,
            distances,
            bounding_box,
            contiguous: self.are_connected(blocks.len()),
        }
    }

    /// The start and the extent of a block along a dimension.
    fn span(&self, block: usize, dimension: usize) -> (u32, u32) {
        self.spans[block * self.grid.dimensions() + dimension]
    }

    fn count(&mut self, dimension: usize, areas: impl Iterator<Item = u64>) {
        let side = u32::from(self.grid.side(dimension));
        self.counts.clear();
        self.counts.resize(side as usize + 1, 0);
        for (block, area) in areas.enumerate() {
            let (start, extent) = self.span(block, dimension);
            let each = area as i64 / i64::from(extent);
            // The growth and shrinkage from one coordinate to the next.
            let mut add = |from: u32, to: u32| {
                self.counts[from as usize] += each;
                self.counts[to as usize] -= each;
            };
            let end = start + extent;
            add(start, end.min(side));
            if end > side {
                add(0, end - side);
            }
        }
        self.counts.pop();
        let mut count = 0;
        for difference in &mut self.counts {
            count += *difference;
            *difference = count;
        }
    }

    /// Whether the blocks are connected. If a processor beyond the last processors of a block along
    /// a dimension belongs to another block, it is one of the first processors of that block. So
    /// only first processors are labelled.
    fn are_connected(&mut self, blocks: usize) -> bool {
        self.labels.resize(self.grid.nodes() as usize, NONE);
        self.groups.clear();
        self.groups.extend(0..blocks as u32);
        let mut parts = blocks;
        let (mut first, mut beyond) = (take(&mut self.first), take(&mut self.beyond));
        for dimension in 0..self.grid.dimensions() {
            first.clear();
            for block in 0..blocks {
                let (start, _) = self.span(block, dimension);
                let listed = first.len();
                self.list_layer(block, dimension, start, &mut first);
                for &NodeId(node) in &first[listed..] {
                    self.labels[node as usize] = block as u32;
                }
            }
            let side = u32::from(self.grid.side(dimension));
            for block in 0..blocks {
                let (start, extent) = self.span(block, dimension);
                let end = match start + extent {
                    end if end < side => end,
                    _ if !self.grid.wraps(dimension) => continue,
                    end => end - side,
                };
                beyond.clear();
                self.list_layer(block, dimension, end, &mut beyond);
                for &NodeId(node) in &beyond {
                    let other = self.labels[node as usize];
                    if other != NONE && join(&mut self.groups, block as u32, other) {
                        parts -= 1;
                    }
                }
            }
            for &NodeId(node) in &first {
                self.labels[node as usize] = NONE;
            }
        }
        (self.first, self.beyond) = (first, beyond);
        parts == 1
    }

    /// Lists the processors of a block, moved along a dimension, that have this coordinate there.
    fn list_layer(&self, block: usize, dimension: usize, coordinate: u32, layer: &mut Vec<NodeId>) {
        let span = |other| {
            if other == dimension {
                (coordinate, 1)
            } else {
                self.span(block, other)
            }
        };
        push_box(self.grid, span, 0..self.grid.dimensions(), layer);
    }
}

const NONE: u32 = u32::MAX;

/// Joins the groups of two blocks, each of which names itself or an earlier block. Returns whether
/// the groups differed.
fn join(groups: &mut [u32], one: u32, other: u32) -> bool {
    let mut first = |mut block: u32| {
        while groups[block as usize] != block {
            // This halves the way for the next search.
            groups[block as usize] = groups[groups[block as usize] as usize];
            block = groups[block as usize];
        }
        block
    };
    let (one, other) = (first(one), first(other));
    groups[one.max(other) as usize] = one.min(other);
    one != other
}

/// The sum of the distances within a box.
fn in_box(grid: &Grid, block: Block, processors: u64) -> u64 {
    let extent = grid.extent(block);
    let along = extent.iter().enumerate().map(|(dimension, &extent)| {
        let extent = u64::from(extent);
        let pairs = if grid.wraps(dimension) {
            let side = u64::from(grid.side(dimension));
            let pairs = (1..extent).map(|by| (extent - by) * by.min(side - by));
            pairs.sum()
        } else {
            extent * (extent * extent - 1) / 6
        };
        let beside = processors / extent;
        pairs * beside * beside
    });
    along.sum()
}

/// The sum of the distances along a line: each gap lies on the way of every pair on its two sides.
fn along(counts: &[i64], processors: u64) -> u64 {
    let mut below = 0;
    let gaps = counts.iter().map(|&count| {
        below += count as u64;
        below * (processors - below)
    });
    gaps.sum()
}

/// The same around a ring. Consider the lines that halve the ring at or between its positions: the
/// number of lines that part a pair is twice the distance of the pair.
fn around(counts: &[i64], processors: u64) -> u64 {
    let side = counts.len();
    // The number of processors in the half that begins at `place`, which counts half positions.
    let mut inside: u64 = counts[..side.div_ceil(2)]
        .iter()
        .map(|&count| count as u64)
        .sum();
    let mut doubled = 0;
    for place in 0..side {
        doubled += inside * (processors - inside);
        // From `place` to `place + 1`: the processors at `place` leave the half, those at `place +
        // side` come in.
        if place % 2 == 0 {
            inside -= counts[place / 2] as u64;
        }
        if (place + side).is_multiple_of(2) {
            inside += counts[(place + side) / 2] as u64;
        }
    }
    doubled / 2
}

/// The length of the shortest stretch with all processors.
fn length(counts: &[i64], wraps: bool) -> u64 {
    let mut used = (0..counts.len()).filter(|&at| counts[at] > 0);
    let Some(first) = used.next() else { return 0 };
    let (mut last, mut gap) = (first, 0);
    for at in used {
        gap = gap.max(at - last - 1);
        last = at;
    }
    let outside = counts.len() - (last + 1 - first);
    let unused = if wraps { gap.max(outside) } else { outside };
    (counts.len() - unused)
        .try_into()
        .expect("a side is a number of 16 bits")
}

#[cfg(test)]
mod tests {
    use meshalloc::{Cube, Mesh, Submesh};
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    /// Pair after pair, box after box, and from neighbour to neighbour.
    fn naive(grid: Grid, blocks: &[Block]) -> Dispersal {
        let held = |node: &u32| blocks.iter().any(|&block| grid.holds(block, NodeId(*node)));
        let nodes: Vec<u32> = (0..grid.nodes()).filter(held).collect();
        let at = |node: u32| grid.coordinates(NodeId(node)).unwrap().to_vec();
        let places: Vec<Vec<u16>> = nodes.iter().map(|&node| at(node)).collect();
        let distance = |a: &[u16], b: &[u16]| -> u64 {
            let along = (0..a.len()).map(|d| {
                let by = u64::from(a[d].abs_diff(b[d]));
                let side = u64::from(grid.side(d));
                if grid.wraps(d) { by.min(side - by) } else { by }
            });
            along.sum()
        };
        let mut distances = 0;
        for (at, one) in places.iter().enumerate() {
            distances += places[at + 1..]
                .iter()
                .map(|other| distance(one, other))
                .sum::<u64>();
        }
        let mut reached = vec![0];
        let mut next = 0;
        while next < reached.len() {
            let one: usize = reached[next];
            next += 1;
            for other in 0..places.len() {
                if !reached.contains(&other) && distance(&places[one], &places[other]) == 1 {
                    reached.push(other);
                }
            }
        }
        // Along each dimension the shortest stretch, wherever it starts.
        let lengths = (0..grid.dimensions()).map(|d| {
            let side = grid.side(d);
            let fits = |start: u16, len: u16| {
                let starts_here = grid.wraps(d) || start + len <= side;
                let inside = |place: &Vec<u16>| (place[d] + side - start) % side < len;
                starts_here && places.iter().all(inside)
            };
            let lengths = (1..=side).find(|&len| (0..side).any(|start| fits(start, len)));
            u64::from(lengths.unwrap())
        });
        Dispersal {
            processors: nodes.len() as u64,
            blocks: blocks.len() as u64,
            distances,
            bounding_box: lengths.product(),
            contiguous: reached.len() == nodes.len(),
        }
    }

    #[test]
    fn every_measure_is_that_of_all_pairs() {
        let grids = [
            Mesh::new(7, 5).unwrap().grid(),
            Mesh::new(1, 1).unwrap().grid(),
            Grid::torus(&[7, 6]).unwrap(),
            Grid::torus(&[2, 3, 4]).unwrap(),
            Grid::mesh(&[3, 4, 3]).unwrap(),
            Grid::new(&[5, 4, 3], 0b010).unwrap(),
            Grid::torus(&[1, 9]).unwrap(),
            Grid::torus(&[16]).unwrap(),
            Cube::new(2, 5).unwrap().grid(),
        ];
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut seen = [0; 2];
        for grid in grids {
            let mut disperser = Disperser::new(grid);
            for round in 0..300 {
                // Boxes anywhere, those that overlap left out.
                let mut blocks: Vec<Block> = Vec::new();
                for _ in 0..=round % 12 {
                    let mut below = |end: u16| (random.next_u32() % u32::from(end)) as u16;
                    let start: Vec<u16> = grid.sides().iter().map(|&side| below(side)).collect();
                    let extent: Vec<u16> = grid
                        .sides()
                        .iter()
                        .map(|&side| 1 + below(side.min(1 + round % 4)))
                        .collect();
                    let free = |block: &Block| !blocks.iter().any(|&b| grid.overlap(b, *block));
                    if let Some(block) = grid.block(&start, &extent).filter(free) {
                        blocks.push(block);
                    }
                }
                if !blocks.is_empty() {
                    let expected = naive(grid, &blocks);
                    assert_eq!(disperser.measure(&blocks), expected, "{grid}, {blocks:?}");
                    seen[usize::from(expected.contiguous && blocks.len() > 1)] += 1;
                }
            }
        }
        assert!(seen[1] > 100 && seen[0] > 100, "{seen:?}");
    }

    #[test]
    fn a_pair_is_as_far_apart_as_its_hops() {
        let mut disperser = Disperser::new(Mesh::new(8, 8).unwrap().grid());
        let unit = |x, y| Submesh::new(x, y, 1, 1).into();
        let dispersal = disperser.measure(&[unit(0, 0), unit(7, 7)]);
        assert_eq!(dispersal.mean_distance(), 14.0);
        assert_eq!(dispersal.bounding_box_share(), 2.0 / 64.0);
        let single = disperser.measure(&[unit(4, 4)]);
        assert_eq!(single.mean_distance(), 0.0);
        assert_eq!(single.bounding_box_share(), 1.0);
        assert!(single.contiguous);
    }
}
