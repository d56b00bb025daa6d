//! The largest free block of a machine.

use meshalloc::{Block, Grid, NodeId, Submesh};

/// The free block with the most processors; `None` if nothing is free. `free` has a value for each
/// processor.
///
/// If several are the largest: on a two-dimensional mesh, the first in row-major order of their
/// highest rows, in O(processors). On any other grid, the one whose extents in the highest
/// dimensions are largest, in at most O(processors x product of all sides but the first). Blocks
/// that cannot be larger than the best one so far are left out.
pub fn largest_free(machine: Grid, free: &[bool]) -> Option<Block> {
    if machine.is_plane() {
        return largest_submesh(usize::from(machine.side(0)), free).map(Block::from);
    }
    let highest = machine.dimensions() - 1;
    let mut search = Search {
        machine,
        extents: vec![1; machine.dimensions()],
        best: None,
    };
    let stride = free.len() / usize::from(machine.side(highest));
    search.extend(highest, stride, free, 1);
    search.best.map(|(_, block)| block)
}

/// For each row, the largest rectangle under the histogram of free processors below it.
fn largest_submesh(width: usize, free: &[bool]) -> Option<Submesh> {
    let mut heights = vec![0usize; width];
    let mut best: Option<(usize, Submesh)> = None;
    for (y, row) in free.chunks_exact(width).enumerate() {
        for (height, &free) in heights.iter_mut().zip(row) {
            *height = if free { *height + 1 } else { 0 };
        }
        // Columns where a rectangle begins, with its height; heights rise.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for x in 0..=width {
            let height = heights.get(x).copied().unwrap_or(0);
            let mut begin = x;
            while let Some(&(start, tall)) = open.last().filter(|(_, tall)| *tall >= height) {
                open.pop();
                begin = start;
                let area = tall * (x - start);
                if area > best.map_or(0, |(most, _)| most) {
                    let [x0, y0, w, h] =
                        [start, y + 1 - tall, x - start, tall].map(|side| side as u16);
                    best = Some((area, Submesh::new(x0, y0, w, h)));
                }
            }
            open.push((begin, height));
        }
    }
    best.map(|(_, submesh)| submesh)
}

/// A search for the largest free block, dimension by dimension from the highest on.
struct Search {
    machine: Grid,
    /// The extents chosen so far; 1 in the other dimensions.
    extents: Vec<u16>,
    best: Option<(usize, Block)>,
}

impl Search {
    /// Tries all extents of the dimensions up to `dimension`. `starts` says for each node whether
    /// the block that starts there is free; the block has the extents chosen so far, 1 in the other
    /// dimensions, and `area` processors in all. `stride` is the number of nodes in all lower
    /// dimensions together.
    fn extend(&mut self, dimension: usize, stride: usize, starts: &[bool], area: usize) {
        let side = usize::from(self.machine.side(dimension));
        let runs = runs(starts, side, stride, self.machine.wraps(dimension));
        if dimension == 0 {
            for (node, &run) in runs.iter().enumerate() {
                if area * run > self.most() {
                    self.extents[0] = run as u16;
                    let start = self.machine.coordinates(NodeId(node as u32));
                    let block = start.and_then(|start| self.machine.block(&start, &self.extents));
                    self.best = block.map(|block| (area * run, block));
                }
            }
            return;
        }
        let longest = runs.iter().copied().max().unwrap_or(0);
        for extent in (1..=longest).rev() {
            let starts: Vec<bool> = runs.iter().map(|&run| run >= extent).collect();
            // A block takes as many of these places as it has nodes along the remaining dimensions.
            let places = starts.iter().filter(|&&start| start).count();
            if area * extent * stride.min(places) > self.most() {
                self.extents[dimension] = extent as u16;
                let below = usize::from(self.machine.side(dimension - 1));
                self.extend(dimension - 1, stride / below, &starts, area * extent);
            }
        }
        self.extents[dimension] = 1;
    }

    fn most(&self) -> usize {
        self.best.map_or(0, |(most, _)| most)
    }
}

/// For each node, the length of the run of nodes that hold and that begins there. The nodes of a
/// run are `stride` apart along a dimension.
fn runs(holds: &[bool], side: usize, stride: usize, wraps: bool) -> Vec<usize> {
    let mut runs = vec![0; holds.len()];
    for first in (0..holds.len()).filter(|node| (node / stride).is_multiple_of(side)) {
        let mut run = 0;
        // The loop first goes around once, so that a run continues behind the end.
        for at in (0..if wraps { 2 * side } else { side }).rev() {
            let node = first + at % side * stride;
            run = if holds[node] { side.min(run + 1) } else { 0 };
            runs[node] = run;
        }
    }
    runs
}
