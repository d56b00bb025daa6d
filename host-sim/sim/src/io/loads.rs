//! Loads of links by counting: the number of messages that cross each link, without going through
//! the messages.

use std::ops::Range;

use crate::sharing::Load;

/// A set of nodes of a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    w: usize,
    h: usize,
    /// The marks in row-major order: 1 for a node of the set, 0 for any other node.
    marks: Vec<u8>,
}

impl Cells {
    /// An empty set of nodes of a mesh of `w` by `h` nodes.
    pub fn new(w: usize, h: usize) -> Self {
        Cells {
            w,
            h,
            marks: vec![0; w * h],
        }
    }

    /// Adds the nodes of a rectangle. Panics when it reaches beyond the mesh.
    pub fn fill(&mut self, columns: Range<usize>, rows: Range<usize>) {
        for y in rows {
            self.marks[y * self.w..][columns.clone()].fill(1);
        }
    }

    /// Adds a node. Panics when it is not in the mesh.
    pub fn insert(&mut self, column: usize, row: usize) {
        self.fill(column..column + 1, row..row + 1);
    }

    /// The number of nodes.
    pub fn count(&self) -> usize {
        self.marks.iter().map(|&mark| usize::from(mark)).sum()
    }

    /// The nodes, as their column and row, in row-major order.
    pub fn nodes(&self) -> impl Iterator<Item = (usize, usize)> {
        let marked = self.marks.iter().enumerate().filter(|(_, mark)| **mark > 0);
        marked.map(|(at, _)| (at % self.w, at / self.w))
    }

    fn row(&self, y: usize) -> &[u8] {
        &self.marks[y * self.w..][..self.w]
    }

    /// For each column the number of nodes.
    fn columns(&self) -> Vec<u64> {
        let mut columns = vec![0; self.w];
        for y in 0..self.h {
            for (column, &mark) in columns.iter_mut().zip(self.row(y)) {
                *column += u64::from(mark);
            }
        }
        columns
    }
}

/// The place of a link among the four of a node.
const EAST: usize = 0;
const WEST: usize = 1;
const NORTH: usize = 2;
const SOUTH: usize = 3;

/// The number of messages over each link of a mesh.
struct Counts {
    w: usize,
    links: Vec<u64>,
}

impl Counts {
    fn new(cells: &Cells) -> Self {
        Counts {
            w: cells.w,
            links: vec![0; 4 * cells.marks.len()],
        }
    }

    fn add(&mut self, x: usize, y: usize, direction: usize, messages: u64) {
        self.links[4 * (y * self.w + x) + direction] += messages;
    }

    fn loads(&self) -> Vec<Load> {
        let used = (0..)
            .zip(&self.links)
            .filter(|(_, messages)| **messages > 0);
        let load = |(resource, &messages): (u32, &u64)| Load {
            resource,
            amount: messages as f64,
        };
        used.map(load).collect()
    }
}

/// The loads when every source sends one message to every destination but itself. With XY routing a
/// message crosses the link from x to x + 1 of row y if its source is in row y up to column x and
/// its destination in any column behind x. It crosses the link from y to y + 1 of column x if its
/// source is in any row up to y and its destination in column x above y. So a link's load is a
/// product of two counts.
pub(super) fn complete(sources: &Cells, destinations: &Cells) -> Vec<Load> {
    let (w, h) = (sources.w, sources.h);
    let mut counts = Counts::new(sources);
    let columns = destinations.columns();
    let all = columns.iter().sum::<u64>();
    let sent = sources.count() as u64;
    // Destinations in each column up to this row.
    let mut below = vec![0; w];
    let mut sources_below = 0;
    for y in 0..h {
        let row = sources.row(y).iter();
        let in_row: u64 = row.map(|&mark| u64::from(mark)).sum();
        sources_below += in_row;
        let (mut west_sources, mut west_destinations) = (0, 0);
        for x in 0..w {
            west_sources += u64::from(sources.row(y)[x]);
            west_destinations += columns[x];
            if x + 1 < w {
                counts.add(x, y, EAST, west_sources * (all - west_destinations));
                let others = in_row - west_sources;
                counts.add(x + 1, y, WEST, others * west_destinations);
            }
            below[x] += u64::from(destinations.row(y)[x]);
            if y + 1 < h {
                counts.add(x, y, NORTH, sources_below * (columns[x] - below[x]));
                let others = sent - sources_below;
                counts.add(x, y + 1, SOUTH, others * below[x]);
            }
        }
    }
    counts.loads()
}

/// The loads when node `i` of the set, in row-major order, sends a message to node `to[i]`.
pub(super) fn pairs(cells: &Cells, to: &[u32]) -> Vec<Load> {
    let nodes: Vec<_> = cells.nodes().collect();
    let mut counts = Counts::new(cells);
    for (&(x, y), &to) in nodes.iter().zip(to) {
        let (to_x, to_y) = nodes[to as usize];
        (x..to_x).for_each(|x| counts.add(x, y, EAST, 1));
        (to_x..x).for_each(|x| counts.add(x + 1, y, WEST, 1));
        (y..to_y).for_each(|y| counts.add(to_x, y, NORTH, 1));
        (to_y..y).for_each(|y| counts.add(to_x, y + 1, SOUTH, 1));
    }
    counts.loads()
}
