//! Fixed placements: jobs stand at the places that a description lists, as Slurm places them on a
//! three-dimensional torus.
//!
//! # Source
//!
//! Slurm 26.05, plugin `topology/torus3d`, and its documentation of `topology.yaml`.
//!
//! A *placement* is a box with a list of anchors ([`Placement`]). Along an axis of side L the
//! anchors are seed, seed + spacing, .. modulo L until the seed returns; all anchors of a placement
//! are taken with x outermost and z innermost. A request names a number of processors, which must
//! be that of a placement. The first placement of this number that has a free anchor counts. Among
//! its free anchors, the job gets the one that breaks the fewest free anchors of the next larger
//! placement; ties by order. If a number has several placements, a later one is taken only if no
//! earlier one is free.
//!
//! # Differences from the source
//!
//! None is intended. Machines of one to four dimensions are served.
//!
//! # Complexity and memory
//!
//! An allocation looks at each anchor of the placements of this number, and for each free anchor at
//! the anchors of the next larger placement. A release takes nothing. No memory.
//!
//! # Recognition
//!
//! Complete for the places that are listed.
//!
//! ```text
//!   z = 0         z = 1          4 x 4 x 2, places for 2x2x1, 2x2x2 and the whole. A and B stand
//!   y             y              at the same four columns, since any other anchor would break a
//!   3  . . . .    . . . .        free place for 2x2x2. C has 8.
//!   2  C C . .    C C . .
//!   1  A A . .    B B . .
//!   0  A A . .    B B . .
//!      0 1 2 3    0 1 2 3  x
//! ```
//!
//! # Example
//!
//! The drawing.
//!
//! ```
//! use meshalloc::{
//!     Allocator, AllocatorMemory, Description, Grid, Placement, Refusal, Request, StrategyKind,
//!     storage::{HeapStorage, Needs},
//! };
//! let of = |dims: &[u16]| Placement::new(dims, &[], &[]);
//! let placements = [of(&[2, 2, 1])?, of(&[2, 2, 2])?, of(&[4, 4, 2])?];
//! let machine = Description::new(Grid::torus(&[4, 4, 2])?)?.with_placements(&placements)?;
//! let needs = Needs::described(StrategyKind::Torus3d, &machine, 32);
//! let mut storage = HeapStorage::new(needs, 0);
//! let memory: AllocatorMemory<'_> = storage.allocator_memory().describing(&machine);
//! let mut allocator = Allocator::new(memory, *machine.grid(), StrategyKind::Torus3d)?;
//! let mut start = |chips| {
//!     let job = allocator.allocate(&Request::chips(chips))?;
//!     let block = allocator.blocks(&job).unwrap().next().expect("one block");
//!     Ok::<_, Refusal>(machine.grid().start(block).to_vec())
//! };
//! assert_eq!([start(4)?, start(4)?, start(8)?], [[0, 0, 0], [0, 0, 1], [0, 2, 0]]);
//! assert_eq!(start(7), Err(Refusal::NeverFits));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Draft, Request, Site, Workspace};
use crate::error::Refusal;
use crate::grid::{Block, Grid};
use crate::machine::{Description, Placement};

fn placements(machine: Option<&Description>) -> &[Placement] {
    machine.map_or(&[], Description::placements)
}

/// The demand: a number of processors that a placement has, whatever the shape.
pub(super) fn volume(
    request: &Request,
    _: &Grid,
    machine: Option<&Description>,
) -> Result<u32, Refusal> {
    let wanted = request.processors;
    let fits = placements(machine).iter().any(|of| of.volume() == wanted);
    fits.then_some(wanted).ok_or(Refusal::NeverFits)
}

/// The anchor that breaks the fewest larger placements.
pub(super) fn place(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let (grid, wanted) = (site.grid(), request.processors);
    let placements = placements(workspace.machine());
    let is_free = |block: &Block| {
        draft.poll();
        site.occupancy.is_free(*block)
    };
    // Placements are sorted by volume.
    let larger = placements.iter().find(|of| of.volume() > wanted);
    let mut best: Option<(u32, Block)> = None;
    for placement in placements.iter().filter(|of| of.volume() == wanted) {
        for place in anchors(placement, grid).filter(is_free) {
            // The count stops where the place is no better than the best place so far.
            let most = best.map_or(u32::MAX, |(cost, _)| cost);
            let broken = larger.into_iter().flat_map(|of| anchors(of, grid));
            let broken = broken
                .inspect(|_| draft.poll())
                .filter(|of| grid.overlap(*of, place))
                .filter(is_free)
                .take(most as usize);
            let cost = broken.count() as u32;
            if cost < most {
                best = Some((cost, place));
            }
            if cost == 0 {
                break;
            }
        }
        // A later placement of the same volume does not replace it.
        if best.is_some() {
            break;
        }
    }
    best.map(|(_, place)| place)
}

/// The places of a placement, in the order of its anchors: the highest dimension varies fastest.
fn anchors<'a>(placement: &'a Placement, grid: &'a Grid) -> impl Iterator<Item = Block> + use<'a> {
    let n = grid.dimensions();
    // Until the seed returns.
    let count = move |at: usize| {
        let (side, spacing) = (grid.side(at), placement.spacing[at]);
        u32::from(side / greatest_common_divisor(side, spacing))
    };
    let all = (0..n).map(count).product::<u32>();
    (0..all).filter_map(move |number| {
        let mut rest = number;
        let mut start = [0; crate::machine::DESCRIBED_MAX];
        for at in (0..n).rev() {
            let step = rest % count(at);
            rest /= count(at);
            let position = u32::from(placement.seed[at]) + step * u32::from(placement.spacing[at]);
            start[at] = (position % u32::from(grid.side(at))) as u16;
        }
        grid.block(&start[..n], &placement.dims[..n])
    })
}

const fn greatest_common_divisor(mut a: u16, mut b: u16) -> u16 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
