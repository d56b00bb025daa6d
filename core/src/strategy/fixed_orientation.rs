//! Fixed orientation (FO): every request is turned the same way, then first fit.
//!
//! # Source
//!
//! C. Chang and P. Mohapatra, "An Integrated Processor Management Scheme for the Mesh-Connected
//! Multicomputer Systems", section 2.2.
//!
//! # Differences from the paper
//!
//! The paper turns all requests "according to the orientation of the system" and is silent on square
//! meshes. Here the longer side goes along the longer side of the mesh, along x when the mesh is square. A
//! request that forbids rotation ([`Flags::FIXED_ORIENTATION`](crate::Flags)) is not turned.
//!
//! # Complexity and memory
//!
//! One search of first fit for `a x b`: O(H * ceil(W / word) * log a) in ordinary occupancies, O(H * ceil(W / word) * (log a + b)) in the worst
//! case; a release takes nothing. Scratch: as many
//! words as the occupancy.
//!
//! # Recognition
//!
//! Not complete: where only the other orientation is free, the request waits.
//!
//! ```text
//!   y
//!   2  # . #       Requests on a 3 x 3 mesh, # busy:
//!   1  # . #       (1, 3) and (3, 1) are both tried as 3 x 1 and refused.
//!   0  # . #
//!      0 1 2  x
//! ```
//!
//! # Example
//!
//! The situation of Fig. 1 of the paper: four jobs, two of them lying and two standing, fit only when all
//! are turned the same way.
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: Storage<16, 16> = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(4, 4)?.into(),
//!     strategy: StrategyKind::FixedOrientation,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
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
//! assert_eq!(place(1, 4, 1), Some(Submesh::new(0, 0, 4, 1).into()));
//! assert_eq!(place(2, 1, 4), Some(Submesh::new(0, 1, 4, 1).into()));
//! assert_eq!(place(3, 4, 1), Some(Submesh::new(0, 2, 4, 1).into()));
//! // First fit would have put the second job at <0, 1>, upright, which does not fit, and made it wait.
//! assert_eq!(place(4, 1, 4), Some(Submesh::new(0, 3, 4, 1).into()));
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

simple_strategy! {
    /// Fixed orientation.
    FixedOrientation, mesh: Mesh
}

impl FixedOrientation<'_> {
    /// The request as it is placed.
    fn turned(&self, request: &Request) -> Sides {
        let sides = request.sides();
        let mesh = self.mesh.sides();
        let lying = mesh.w >= mesh.h;
        let agrees = if lying {
            sides.w >= sides.h
        } else {
            sides.h >= sides.w
        };
        match agrees || !request.may_rotate() {
            true => sides,
            false => sides.rotated(),
        }
    }
}

impl Strategy for FixedOrientation<'_> {
    #[inline(never)]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        let turned = self.turned(request);
        match turned.fits_in(self.mesh.sides()) {
            true => Ok(turned.area()),
            false => Err(Refusal::NeverFits),
        }
    }

    fn recognizes(&self, request: &Request, sides: Sides) -> bool {
        sides == self.turned(request)
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
        let place = first_rectangle(occupancy, self.turned(request), self.workspace.words, draft);
        place.map(|block| draft.push(block)).is_some()
    }
}
