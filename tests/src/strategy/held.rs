//! What a job holds in a naive model.

use meshalloc::Block;

use crate::convert;
use crate::grid::{Grid, Place};

/// What a job holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// This one box.
    Box(Place),
    /// These boxes, in this order.
    Boxes(Vec<Place>),
    /// These nodes, ascending, in any blocks.
    Nodes(Vec<u32>),
    /// This box, then these nodes in any blocks.
    Around(Place, Vec<u32>),
}

impl Held {
    /// The nodes, ascending.
    pub fn nodes(&self, grid: &Grid) -> Vec<u32> {
        let mut nodes = match self {
            Held::Box(place) => grid.nodes_of(place),
            Held::Boxes(places) => places.iter().flat_map(|p| grid.nodes_of(p)).collect(),
            Held::Nodes(nodes) => nodes.clone(),
            Held::Around(place, nodes) => [grid.nodes_of(place), nodes.clone()].concat(),
        };
        nodes.sort_unstable();
        nodes
    }

    /// The boxes, if they are given.
    pub(super) fn boxes(&self) -> &[Place] {
        match self {
            Held::Box(place) => std::slice::from_ref(place),
            Held::Boxes(places) => places,
            Held::Nodes(_) | Held::Around(..) => &[],
        }
    }

    /// Whether a job that holds this holds these blocks.
    pub fn is(&self, grid: &Grid, blocks: &[Block]) -> bool {
        let machine = convert::machine(grid);
        let mut places = blocks.iter().map(|&block| convert::place(machine, block));
        match self {
            Held::Box(place) => places.eq([place.clone()]),
            Held::Boxes(held) => places.eq(held.iter().cloned()),
            Held::Around(place, _) if places.clone().next().as_ref() != Some(place) => false,
            Held::Nodes(_) | Held::Around(..) => {
                let mut held: Vec<u32> = places.by_ref().flat_map(|p| grid.nodes_of(&p)).collect();
                held.sort_unstable();
                held == self.nodes(grid)
            }
        }
    }
}

/// The runs of neighbours along dimension 0 that these nodes, ascending, consist of: their line,
/// first position and length.
pub(super) fn runs(grid: &Grid, nodes: &[u32]) -> Vec<(u32, u32, u32)> {
    let mut runs: Vec<(u32, u32, u32)> = Vec::new();
    for (line, x) in nodes
        .iter()
        .map(|node| (node / grid.sides()[0], node % grid.sides()[0]))
    {
        match runs.last_mut() {
            Some((of, start, len)) if *of == line && *start + *len == x => *len += 1,
            _ => runs.push((line, x, 1)),
        }
    }
    runs
}
