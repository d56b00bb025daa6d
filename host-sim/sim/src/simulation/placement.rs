//! Which process of a job runs on which of its processors. Processes go in the order of their
//! numbers onto the job's processors in the order of theirs. A job that holds one block goes along
//! that block, from its start on, so that neighbours in the block are neighbours where it wraps
//! around, too; and if it is the requested shape with its sides in another order, the processes are
//! turned as it is.

use meshalloc::{Block, DIMENSIONS_MAX, Grid, NodeId, Request};

/// Puts the processor of each process of a job into `places`, in the order of processes: as many as
/// the request names, which are no more than the blocks have.
pub(super) fn place(machine: &Grid, request: &Request, blocks: &[Block], places: &mut Vec<NodeId>) {
    places.clear();
    let processors = request.processors as usize;
    match blocks {
        &[block] => along(machine, block, &order(machine, request, block), places),
        blocks => {
            let natural = natural();
            for &block in blocks {
                along(machine, block, &natural, places);
            }
            places.sort_unstable();
        }
    }
    places.truncate(processors);
}

/// The dimensions of the grid in the order in which process numbers grow along them.
type Order = [usize; DIMENSIONS_MAX];

fn natural() -> Order {
    std::array::from_fn(|dimension| dimension)
}

/// The order in which the sides of the block are those asked for; the natural one if none is.
fn order(machine: &Grid, request: &Request, block: Block) -> Order {
    let extent = machine.extent(block);
    let asked = request.shape.extents();
    let side = |dimension| asked.get(dimension).copied().unwrap_or(1);
    if (0..extent.len()).all(|dimension| extent[dimension] == side(dimension)) {
        return natural();
    }
    let mut order = natural();
    let mut taken = [false; DIMENSIONS_MAX];
    for (dimension, along) in order.iter_mut().enumerate().take(extent.len()) {
        let fits = |&other: &usize| !taken[other] && extent[other] == side(dimension);
        let Some(found) = (0..extent.len()).find(fits) else {
            return natural();
        };
        taken[found] = true;
        *along = found;
    }
    order
}

/// Adds the processors of a block.
fn along(machine: &Grid, block: Block, order: &Order, places: &mut Vec<NodeId>) {
    let (start, extent) = (machine.start(block), machine.extent(block));
    let mut strides = [1; DIMENSIONS_MAX];
    for dimension in 1..extent.len() {
        strides[dimension] = strides[dimension - 1] * u32::from(machine.side(dimension - 1));
    }
    let first = places.len();
    places.push(NodeId(0));
    for &dimension in &order[..extent.len()] {
        let side = u32::from(machine.side(dimension));
        let added = |offset: u16| {
            let at = u32::from(start[dimension]) + u32::from(offset);
            at % side * strides[dimension]
        };
        // The places so far have no coordinate in this dimension: each is copied for every
        // coordinate but the first.
        let so_far = places.len();
        for offset in 1..extent[dimension] {
            for place in first..so_far {
                places.push(NodeId(places[place].0 + added(offset)));
            }
        }
        for NodeId(node) in &mut places[first..so_far] {
            *node += added(0);
        }
    }
}
