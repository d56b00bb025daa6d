//! The processor of each process of a job. Processes in the order of their numbers are put on
//! processors in the order of theirs. If a job holds a single block, processes follow the block
//! from its start on, so that neighbours in the block are neighbours even where the block wraps
//! around. If that block is the requested shape with its sides in another order, the processes are
//! turned in the same way.

use meshalloc::{Block, DIMENSIONS_MAX, Grid, NodeId, Request};

use crate::processors::push_box;

/// Puts the processor of each process of a job into `places`, in the order of processes: as many as
/// the request names, which are no more than the blocks have.
pub(super) fn place(machine: &Grid, request: &Request, blocks: &[Block], places: &mut Vec<NodeId>) {
    places.clear();
    let mut push = |block: Block, order: Order| {
        let (start, extent) = (machine.start(block), machine.extent(block));
        let span = |dimension: usize| (start[dimension].into(), extent[dimension].into());
        push_box(*machine, span, order.into_iter().take(start.len()), places);
    };
    match blocks {
        &[block] => push(block, order(machine, request, block)),
        blocks => {
            blocks.iter().for_each(|&block| push(block, natural()));
            places.sort_unstable();
        }
    }
    places.truncate(request.processors as usize);
}

/// The dimensions of the grid in the order in which process numbers grow along them.
type Order = [usize; DIMENSIONS_MAX];

fn natural() -> Order {
    std::array::from_fn(|dimension| dimension)
}

/// The order of dimensions in which the block has the requested sides; the natural order if there
/// is none.
fn order(machine: &Grid, request: &Request, block: Block) -> Order {
    let extent = machine.extent(block);
    let asked = request.shape.extents();
    let side = |dimension| asked.get(dimension).copied().unwrap_or(1);
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
