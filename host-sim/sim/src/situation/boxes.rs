//! The boxes of a machine, and who holds the processors in them.

use std::collections::BTreeSet;

use meshalloc::{Block, Grid, NodeId, Shape};

use super::Situation;

impl Situation<'_> {
    /// Who holds each processor, by number.
    pub(super) fn owners(&self) -> Vec<Owner> {
        let machine = &self.configuration.machine;
        let mut owners = vec![Owner::Free; machine.nodes() as usize];
        for (at, job) in self.running.iter().enumerate() {
            for node in job.blocks.iter().flat_map(|&block| nodes(machine, block)) {
                owners[node.0 as usize] = Owner::Job(at);
            }
        }
        for node in &self.faulty {
            owners[node.0 as usize] = Owner::Faulty;
        }
        owners
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Free,
    /// Faulty, even if a job holds the processor.
    Faulty,
    /// The job at this place of [`Situation::running`].
    Job(usize),
}

/// The extents of a shape along all dimensions of the machine, in each order in which they may lie.
pub(super) fn orders(machine: &Grid, shape: Shape, turns: bool) -> BTreeSet<Vec<u16>> {
    let mut extents = shape.extents().to_vec();
    let dimensions = machine.dimensions();
    // Extents of 1 may be left out.
    while extents.len() > dimensions && extents.last() == Some(&1) {
        extents.pop();
    }
    extents.resize(extents.len().max(dimensions), 1);
    let mut all = BTreeSet::from([extents.clone()]);
    if turns {
        let mut next = vec![extents];
        // Swapping two extents of an order gives another order, and all orders are reached in this
        // way.
        while let Some(extents) = next.pop() {
            for (one, other) in (0..dimensions).flat_map(|at| (0..at).map(move |to| (at, to))) {
                let mut swapped = extents.clone();
                swapped.swap(one, other);
                if all.insert(swapped.clone()) {
                    next.push(swapped);
                }
            }
        }
    }
    all
}

/// All boxes of these extents. One that covers a whole ring begins at 0 along it.
pub(super) fn boxes<'a>(machine: &'a Grid, extents: &'a [u16]) -> impl Iterator<Item = Block> + 'a {
    (0..machine.nodes()).filter_map(move |node| {
        let start = machine.coordinates(NodeId(node))?;
        let mut along = start.iter().zip(extents).zip(machine.sides());
        let is_first = along.all(|((&start, extent), side)| start == 0 || extent < side);
        is_first.then(|| machine.block(&start, extents)).flatten()
    })
}

/// The processors of a block of the machine.
pub(super) fn nodes(machine: &Grid, block: Block) -> impl Iterator<Item = NodeId> {
    let (start, extent) = (machine.start(block), machine.extent(block));
    (0..machine.area(block)).filter_map(move |number| {
        let mut rest = number;
        let coordinates: Vec<u16> = start
            .iter()
            .zip(extent.iter())
            .zip(machine.sides())
            .map(|((&start, &extent), &side)| {
                let offset = rest % u32::from(extent);
                rest /= u32::from(extent);
                ((u32::from(start) + offset) % u32::from(side)) as u16
            })
            .collect();
        machine.node(&coordinates)
    })
}
