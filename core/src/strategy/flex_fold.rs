//! FlexFold: the request as it is, rotated, and folded once along either side.
//!
//! # Source
//!
//! V. Gupta and A. Jayendran, "A Flexible Processor Allocation Strategy for Mesh Connected Parallel
//! Systems", Proc. Int. Conf. on Parallel Processing, 1996; described by Alshdefat 2019, section "Flex Fold
//! Strategy", after Seo and Kim 2003.
//!
//! # Differences from the paper
//!
//! Alshdefat says that both sides must be even. Here a side is halved whenever it is even itself. A
//! request that forbids rotation ([`Flags::FIXED_ORIENTATION`](crate::Flags)) is served only as it is.
//!
//! # Complexity and memory
//!
//! Up to four searches of first fit; a release takes nothing. Scratch: as many words as the occupancy.
//!
//! # Recognition
//!
//! Complete for the requested submesh in both orientations; it accepts folded ones besides.
//!
//! ```text
//!   y
//!   1  A A A A A A     A request (3, 4) on a 6 x 2 mesh: neither 3 x 4 nor 4 x 3 fits, but half of
//!   0  A A A A A A     the even side and twice the other is 6 x 2.
//!      0 1 2 3 4 5  x
//! ```
//!
//! # Example
//!
//! The order of Alshdefat 2019: `(a, b)`, `(b, a)`, `(a/2, 2b)`, `(2a, b/2)`.
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: Storage<16, 16> = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(6, 2)?.into(),
//!     strategy: StrategyKind::FlexFold,
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
//! assert_eq!(place(1, 3, 4), Some(Submesh::new(0, 0, 6, 2).into()));
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
use crate::search::shapes::folded;

simple_strategy! {
    /// FlexFold.
    FlexFold, mesh: Mesh
}

/// The shapes in the order in which they are tried.
fn shapes(request: &Request) -> impl Iterator<Item = Sides> + use<> {
    let foldable = request.may_rotate().then(|| request.sides());
    let narrower = foldable.and_then(folded);
    let lower = foldable.and_then(|sides| folded(sides.rotated()));
    let lower = lower.map(Sides::rotated);
    request.orientations().chain(narrower).chain(lower)
}

impl Strategy for FlexFold<'_> {
    #[inline(never)]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        let mesh = self.mesh.sides();
        let mut shapes = shapes(request);
        let fitting = shapes.find(|sides| sides.fits_in(mesh));
        fitting.map(Sides::area).ok_or(Refusal::NeverFits)
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
        shapes(request)
            .find_map(|sides| first_rectangle(occupancy, sides, self.workspace.words, draft))
            .map(|block| draft.push(block))
            .is_some()
    }
}
