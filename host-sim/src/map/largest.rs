//! The largest free block of a machine.

use meshalloc::{Block, Cube, Machine, Mesh, NodeId, Subcube, Submesh};

/// The free block with the most processors; `None` if nothing is free. `free` has a value for each processor.
///
/// On a mesh, of several the first in row-major order of their highest rows; on a cube the one whose extents in the
/// highest dimensions are largest.
///
/// # Time complexity
///
/// On a mesh O(processors). On a cube O(k^(n - 1) * processors) at the worst, but what can be no larger than the best
/// found so far is left out.
pub fn largest_free(machine: Machine, free: &[bool]) -> Option<Block> {
    match machine {
        Machine::Mesh(mesh) => largest_submesh(mesh, free).map(Block::from),
        Machine::Cube(cube) => largest_subcube(cube, free).map(Block::from),
        other => unreachable!("there is no such machine: {other}"),
    }
}

/// For each row, the largest rectangle under the histogram of free processors below it.
fn largest_submesh(mesh: Mesh, free: &[bool]) -> Option<Submesh> {
    let width = usize::from(mesh.sides().w);
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

fn largest_subcube(cube: Cube, free: &[bool]) -> Option<Subcube> {
    let mut search = Search {
        cube,
        extents: Vec::new(),
        best: None,
    };
    search.extend(free, 1);
    search.best.map(|(_, subcube)| subcube)
}

/// A search for the largest free subcube, dimension by dimension from the highest on.
struct Search {
    cube: Cube,
    /// The extents chosen so far.
    extents: Vec<u16>,
    best: Option<(usize, Subcube)>,
}

impl Search {
    /// Tries all extents of the dimensions that have none yet. `starts` says for each node whether the subcube of
    /// the extents so far, with 1 for the others, is free from there on; it has `area` processors.
    fn extend(&mut self, starts: &[bool], area: usize) {
        let (k, n) = (usize::from(self.cube.k()), usize::from(self.cube.n()));
        let dimension = n - 1 - self.extents.len();
        if dimension == 0 {
            return self.along_lines(starts, area);
        }
        let stride = k.pow(dimension as u32);
        // For each extent the nodes from which so many in a row will do, as long as there are any.
        let mut longer = vec![starts.to_vec()];
        while let Some(latest) = longer.last().filter(|_| longer.len() < k) {
            let by = longer.len();
            let next: Vec<bool> = (0..starts.len())
                .map(|node| {
                    let digit = node / stride % k;
                    latest[node] && starts[node - digit * stride + (digit + by) % k * stride]
                })
                .collect();
            if !next.contains(&true) {
                break;
            }
            longer.push(next);
        }
        for (before, starts) in longer.iter().enumerate().rev() {
            let extent = before + 1;
            // A subcube takes as many of these places as it has nodes along the remaining dimensions.
            let places = starts.iter().filter(|&&start| start).count();
            if area * extent * stride.min(places) > self.most() {
                self.extents.push(extent as u16);
                self.extend(starts, area * extent);
                self.extents.pop();
            }
        }
    }

    /// The same for dimension 0 alone: the longest run of each line of k nodes, around its end.
    fn along_lines(&mut self, starts: &[bool], area: usize) {
        let k = usize::from(self.cube.k());
        for (line, nodes) in starts.chunks_exact(k).enumerate() {
            let mut run = 0;
            for at in 0..2 * k {
                run = if nodes[at % k] { k.min(run + 1) } else { 0 };
                if area * run > self.most() {
                    let first = NodeId((line * k + (at + 1 - run) % k) as u32);
                    let mut extents = self.extents.clone();
                    extents.push(run as u16);
                    let start = self.cube.address(first);
                    let subcube = start.and_then(|start| Subcube::new(self.cube, &start, &extents));
                    self.best = subcube.map(|subcube| (area * run, subcube));
                }
            }
        }
    }

    /// The processors of the best so far.
    fn most(&self) -> usize {
        self.best.map_or(0, |(most, _)| most)
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    /// By trying all subcubes.
    fn most(cube: Cube, free: &[bool]) -> u32 {
        let nodes = || (0..cube.nodes()).map(NodeId);
        let subcubes = nodes().flat_map(|first| {
            nodes().map(move |last| Subcube::between(cube, first, last).unwrap())
        });
        let all_free = |subcube: &Subcube| {
            nodes().all(|node| free[node.0 as usize] || !subcube.contains(node))
        };
        subcubes
            .filter(all_free)
            .map(Subcube::area)
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn the_largest_free_subcube_is_that_of_trying_all() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        for (k, n) in [(4, 3), (5, 2), (2, 6), (3, 3), (2, 1), (9, 1)] {
            let cube = Cube::new(k, n).unwrap();
            for trial in 0..40 {
                let free: Vec<bool> = (0..cube.nodes())
                    .map(|_| random.next_u32() % 40 >= trial)
                    .collect();
                let largest = largest_free(cube.into(), &free);
                assert_eq!(largest.map_or(0, Block::area), most(cube, &free), "{cube}");
                let holds = |node| {
                    largest.is_some_and(|block| Machine::from(cube).block_contains(block, node))
                };
                let mut nodes = (0..cube.nodes()).map(NodeId);
                assert!(
                    nodes.all(|node| free[node.0 as usize] || !holds(node)),
                    "{cube}"
                );
            }
        }
    }
}
