//! Naive: the first n free processors, wherever they are.
//!
//! # Source
//!
//! V. Lo, K. J. Windisch, W. Liu and B. Nitzberg, "Noncontiguous Processor Allocation Algorithms for
//! Mesh-Connected Multicomputers", IEEE Trans. on Parallel and Distributed Systems 8(7), 1997.
//!
//! # Differences from the paper
//!
//! None in which processors are held. They are listed as blocks: runs within a row, and runs of
//! consecutive rows that cover the same columns as one submesh.
//!
//! # Complexity and memory
//!
//! O(H * ceil(W / word) + blocks) for an allocation, nothing for a release, no memory.
//!
//! # Recognition
//!
//! Complete: it fails only if fewer than n processors are free. No fragmentation of either kind; what
//! is lost is the contiguity.
//!
//! ```text
//!   y
//!   2  A A . .     A request for 6 processors on a 4 x 3 mesh, # busy: the job A
//!   1  # # # A     holds three blocks.
//!   0  A A A #
//!      0 1 2 3  x
//! ```
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<8, 16, 0, 16, 0>::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(4, 3)?.into(),
//!     strategy: StrategyKind::Naive,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! for node in [3, 4, 5, 6] {
//!     controller.handle(&Command::MarkFaulty { node: NodeId(node) }, 0, &mut |_| ());
//! }
//! let submit = Command::Submit { job: JobId(1), request: Request::submesh(3, 2) };
//! let mut granted = Vec::new();
//! controller.handle(&submit, 0, &mut |reply| {
//!     if let Reply::Grant(grant) = reply {
//!         granted.extend(grant.blocks.iter().copied());
//!     }
//! });
//! let expected = [(0, 0, 3), (3, 1, 1), (0, 2, 2)];
//! assert_eq!(granted, expected.map(|(x, y, w)| Submesh::new(x, y, w, 1).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::common::mesh_of;
use super::{Strategy, Workspace};
use crate::blocks::Draft;
use crate::error::{ConfigureError, Refusal};
use crate::machine::Machine;
use crate::mesh::{Mesh, Submesh};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::word::next_bit;

/// Naive.
#[derive(Debug)]
pub struct Naive<'m> {
    mesh: Mesh,
    pub(super) workspace: Workspace<'m>,
}

impl<'m> Naive<'m> {
    /// Whether it serves the machine: any mesh.
    pub(super) fn check(machine: Machine) -> Result<(), ConfigureError> {
        mesh_of(machine).map(|_| ())
    }

    /// Naive on a mesh.
    pub(super) fn new(machine: Machine, workspace: Workspace<'m>) -> Result<Self, ConfigureError> {
        Ok(Naive {
            mesh: mesh_of(machine)?,
            workspace,
        })
    }
}

impl Strategy for Naive<'_> {
    /// The shape does not matter, only the number of processors.
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        match request.processors <= self.mesh.nodes() {
            true => Ok(request.processors),
            false => Err(Refusal::NeverFits),
        }
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let mut missing = request.processors;
        // The block in the making: a later row may still make it taller.
        let mut open: Option<Submesh> = None;
        for y in 0..self.mesh.sides().h {
            let busy = occupancy.busy_row(usize::from(y));
            let mut at = 0;
            // Padding is busy, so a run always ends within the row or with it.
            while missing > 0
                && at < u32::from(self.mesh.sides().w)
                && let Some(start) = next_bit(busy, at, false)
            {
                let end = next_bit(busy, start, true).unwrap_or(u32::from(self.mesh.sides().w));
                let w = (end - start).min(missing);
                missing -= w;
                at = end;
                let run = Submesh::new(start as u16, y, w as u16, 1);
                open = Some(match open {
                    Some(mut block)
                        if block.base.x == run.base.x
                            && block.sides.w == run.sides.w
                            && block.base.y + block.sides.h == y =>
                    {
                        block.sides.h += 1;
                        block
                    }
                    Some(block) => {
                        draft.push(block);
                        run
                    }
                    None => run,
                });
            }
            if missing == 0 {
                break;
            }
        }
        if let Some(block) = open {
            draft.push(block);
        }
        missing == 0
    }
}
