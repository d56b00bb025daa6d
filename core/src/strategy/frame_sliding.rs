//! Frame sliding (FS): a frame of the requested size moves over the mesh in strides of its own size.
//!
//! # Source
//!
//! P. Chuang and N. Tzeng, "An Efficient Submesh Allocation Strategy for Mesh Computer Systems", Proc.
//! 11th Int. Conf. on Distributed Computing Systems, 1991; described by Kim and Yoon 1995, section II.2, and in
//! Fig. 2-2 of Alshdefat 2019.
//!
//! # Differences from the paper
//!
//! None known. The frame starts at the first free node in row-major order, `<x0, y0>`; the frames of that
//! row have their bases at `x0 + i*a`, those of the rows `y0 + j*b` above at `(x0 mod a) + i*a`. There
//! is no rotation.
//!
//! # Complexity and memory
//!
//! O(frames * b * ceil(a / word)), at most W / a * H / b frames; a release takes nothing. No memory.
//!
//! # Recognition
//!
//! Not complete: a free submesh between two strides is missed, and so is any that must be rotated.
//!
//! ```text
//!   y
//!   1  . . . .     A 4 x 2 mesh, # busy. The frames of a request (2, 1) have their bases at
//!   0  . # . .     x = 0 and 2: <0, 0> is not free, <2, 0> is. Were <2, 0> busy as well, both
//!      0 1 2 3  x  frames of row 1 would do. For (2, 2) on the same mesh <2, 0> does.
//! ```
//!
//! # Example
//!
//! A free submesh that lies between the strides, as in Fig. 2-2 of Alshdefat 2019:
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<16, 16, 32, 128>::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(5, 2)?.into(),
//!     strategy: StrategyKind::FrameSliding,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! // Busy: <1, 0> and <4, 1>. Free for (2, 2) is only <2, 0>..<3, 1>; the frames are at x = 0 and 2.
//! for node in [1, 9] {
//!     controller.handle(&Command::MarkFaulty { node: NodeId(node) }, 0, &mut |_| ());
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
//! assert_eq!(place(1, 2, 2), Some(Submesh::new(2, 0, 2, 2).into()));
//! // Free now: <0, 0>, <4, 0>, <0, 1> and <1, 1>. (2, 1) is free at <0, 1>, and the frames find it.
//! assert_eq!(place(2, 2, 1), Some(Submesh::new(0, 1, 2, 1).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<16, 16, 32, 128>::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(4, 1)?.into(),
//!     strategy: StrategyKind::FrameSliding,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! // Busy: <3, 0>. (1, 1) takes <0, 0>; free for (2, 1) is then <1, 0>..<2, 0>, which is where the
//! // frame starts. With <0, 0> free and <1, 0> busy it would start at <0, 0> and jump over.
//! controller.handle(&Command::MarkFaulty { node: NodeId(1) }, 0, &mut |_| ());
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
//! assert_eq!(place(1, 2, 1), Some(Submesh::new(2, 0, 2, 1).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Strategy, demand_as_requested};
use crate::blocks::Draft;
use crate::mesh::{Coord, Submesh};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::word::next_bit;

scanning_strategy! {
    /// Frame sliding.
    FrameSliding
}

impl Strategy for FrameSliding<'_> {
    fn demand(&self, request: &Request) -> Option<u32> {
        demand_as_requested(request, self.mesh)
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let (Some(sides), Some(start)) = (request.sides(), first_free(occupancy)) else {
            return false;
        };
        let mesh = self.mesh.sides();
        let mut from = start.x;
        for y in (start.y..=mesh.h.saturating_sub(sides.h)).step_by(usize::from(sides.h)) {
            for x in (from..=mesh.w.saturating_sub(sides.w)).step_by(usize::from(sides.w)) {
                let frame = Submesh {
                    base: Coord::new(x, y),
                    sides,
                };
                if occupancy.is_free(frame.into()) {
                    draft.push(frame);
                    return true;
                }
            }
            from = start.x % sides.w;
        }
        false
    }
}

/// The first free node in row-major order.
fn first_free(occupancy: &Occupancy<'_>) -> Option<Coord> {
    (0..occupancy.machine().rows()).find_map(|y| {
        let x = next_bit(occupancy.busy_row(y as usize), 0, false)?;
        Some(Coord::new(x as u16, y as u16))
    })
}
