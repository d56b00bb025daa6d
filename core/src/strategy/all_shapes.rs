//! All shapes first fit (ASFF): any rectangle of the requested size.
//!
//! # Source
//!
//! I. Ababneh, S. Bani-Mohammad and M. Ould-Khaoua, "All Shapes Contiguous Submesh Allocation for 2D Mesh
//! Multicomputers", Int. J. of Parallel, Emergent and Distributed Systems 25(5), 2010; described by
//! Alshdefat 2019, section "ALL Shapes FF Sub-Mesh Allocation Strategy".
//!
//! # Differences from the paper
//!
//! The text gives one example of the order of the shapes. Here: the requested shape, the rotated one, then
//! the pairs of factors of `a * b` that fit the mesh, the most square first, of two that are rotations of
//! each other the wider first. A request that forbids rotation
//! ([`Flags::FIXED_ORIENTATION`](crate::Flags)) is served only as it is.
//!
//! # Complexity and memory
//!
//! A search of first fit for each shape, at most two for each divisor of `a * b` up to its square root; a
//! release takes nothing. Scratch: as many words as the occupancy.
//!
//! # Recognition
//!
//! Complete for the requested submesh in both orientations; it accepts any other shape of the same size
//! besides.
//!
//! ```text
//!   y
//!   5  . . # . . .     # busy: on this 6 x 6 mesh 12 processors in the shape (4, 3) or (3, 4) are
//!   4  . . # . . .     found nowhere, (6, 2) neither; (2, 6) is free at <0, 0>.
//!   3  . . # # . .
//!   2  . . . # # .
//!   1  . . # . . .
//!   0  . . # . . .
//!      0 1 2 3 4 5  x
//! ```
//!
//! # Example
//!
//! Alshdefat 2019: 12 processors on a 6 x 6 mesh are tried as (4, 3), (3, 4), (6, 2), (2, 6).
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: Storage<16, 16> = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(6, 6)?.into(),
//!     strategy: StrategyKind::AllShapes,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! for (x, y) in [(2, 0), (2, 1), (3, 2), (4, 2), (2, 3), (3, 3), (2, 4), (2, 5)] {
//!     controller.handle(&Command::MarkFaulty { block: Submesh::new(x, y, 1, 1).into() }, 0, &mut |_| ());
//! }
//! let mut place = |job, w, h| {
//!     let request = Request::submesh(w, h).with_flags(Flags::NO_WAIT);
//!     let mut granted = None;
//!     controller.handle(&Command::Submit { job: JobId(job), request }, 0, &mut |reply| {
//!         if let Reply::Grant(grant) = reply {
//!             granted = Some(grant.blocks[0]);
//!         }
//!     });
//!     granted
//! };
//! assert_eq!(place(1, 4, 3), Some(Submesh::new(0, 0, 2, 6).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::mesh::Sides;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::boxes::first_rectangle;
use crate::search::few::blocks_for_first_fit;
use crate::search::shapes::all_shapes;

simple_strategy! {
    /// All shapes first fit.
    AllShapes, mesh: Mesh
}

impl Strategy for AllShapes<'_> {
    #[inline(never)]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        let first = all_shapes(request, self.mesh.sides()).next();
        first.map(Sides::area).ok_or(Refusal::NeverFits)
    }

    fn recognizes(&self, request: &Request, sides: Sides) -> bool {
        request.allows(sides)
    }

    fn blocks_unmarked(&self) -> usize {
        blocks_for_first_fit(&self.mesh.grid())
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        all_shapes(request, self.mesh.sides())
            .find_map(|sides| first_rectangle(occupancy, sides, self.workspace.words, draft))
            .map(|block| draft.push(block))
            .is_some()
    }
}
