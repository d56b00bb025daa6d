//! Free submesh list (FSL): best fit by what is left over.
//!
//! # Source
//!
//! G. Kim and H. Yoon, "A Dynamic Processor Allocation Strategy for Mesh-Connected Multicomputers",
//! 1995, section III.
//!
//! The list holds the *dominant free submeshes*: the free submeshes that no other one covers
//! (definition 1). A request may go to any corner of any of them (definition 3); the place chosen
//! is the one with the largest *reservation factor* (definition 2) against
//! the first submesh of the list, ties by the second, and so on (definition 4): it leaves the large
//! free submeshes whole.
//!
//! # Differences from the paper
//!
//! - The signs of definition 2 are mended: what is left above is `y2' - y2`, what is left at the
//!   right `x2' - x2`. As printed, both would be negative whenever something is left. The factor is
//!   never less than 0.
//! - Definition 1 orders by size, then by squareness. Further ties, on which the paper is silent:
//!   `y` of the base node, then `x`, then the wider first.
//! - Candidates that tie against every submesh and the whole mesh: the smallest `(y, x)` of the
//!   base node, then `a x b` before `b x a`.
//! - A request may forbid rotation ([`Flags::FIXED_ORIENTATION`](crate::Flags)); then only `a x b`
//!   is considered.
//! - Theorem 1 (at most `4k` dominant free submeshes around `k` allocated ones) is false: three
//!   busy processors on a 7 x 7 mesh leave 13. The list has room for as many as there are
//!   processors, which is proven below.
//! - A release does not decompose the whole mesh again (Fig. 8) but joins what was released with
//!   the dominant submeshes beside it; the others stay as they are. The list that results is the
//!   same.
//! - Faulty processors count as allocated submeshes of one node.
//! - Any other grid than a two-dimensional mesh: see below.
//!
//! # Aligned slices
//!
//! Where a description aligns slices, the candidates are the places closest to the corners at which
//! a slice may begin. They differ in what they leave of the submesh, so of those from one submesh,
//! in all orientations, the ones with the largest reservation factor against it count.
//!
//! # On any grid
//!
//! With the feature `any-grid` the strategy serves any grid. The rules are the same, with boxes in
//! place of submeshes:
//!
//! - The list holds the maximal free boxes. One that spans a ring starts at 0 there.
//! - It is ordered by size, the largest first; then by the longest extent, the shortest first; then
//!   by the number of the first node; then by the extents, the shorter first, from the highest
//!   dimension down.
//! - The candidates are the corners of each box of the list: along each dimension a place starts
//!   where the box starts, or ends where it ends. Of all distinct orders of the extents, ones
//!   included, those with the largest reservation factor against that box are candidates.
//! - The reservation factor `rf(S, S')` is the size of the largest box within `S'` that does not
//!   meet `S`. Of a whole ring one arc is left.
//! - Last ties go to the smallest number of the first node, then to the order in which the extents
//!   are named, then to the first order in ascending lexicographic order.
//! - In three and more dimensions there may be more maximal free boxes than processors. A box takes
//!   half a cell for its size and half a cell for each dimension, and the list has a cell for each
//!   processor. So on 16 x 16 x 16 it has room for 2,048 boxes. It holds as many as have room, the
//!   first in order. A request for which no box of the list has room is placed as by adaptive
//!   scan, so no free box is ever missed.
//!
//! The list is made for a decision from the occupancy and kept until that changes.
//!
//! # The list is never too small
//!
//! Give each dominant free submesh the node at its bottom row in the leftmost of its columns whose
//! free stretch upwards from there is shortest. That node is free. Two submeshes cannot have the
//! same node: its free stretch is the height of both, and with bottom row and height given, a
//! dominant submesh is as wide as it can be around that column. Hence there are at most as many
//! dominant free submeshes as free nodes, and a list of `W * H` entries always suffices.
//!
//! While one list is turned into the next, both are there in part. The rest of the same memory
//! serves as scratch; if that is not enough, the list is built from the occupancy instead, which
//! needs no scratch at all. It happens only on small meshes, and on those that are nearly full of
//! tiny holes.
//!
//! # Complexity and memory
//!
//! With `F` submeshes in the list and `N` of them beside a block: an allocation takes O(F^2) in the
//! worst case (each candidate against each submesh), a release O(F + N^3), in ordinary occupancies
//! O(F). Neither depends on the size of the mesh. Memory: `W * H` entries of 8 bytes.
//!
//! On any other grid a decision finds the maximal free boxes (`search/maximal.rs`): O(rows + words
//! in a row * product of the squares of the bands along all dimensions but the first), and compares
//! candidates in O(F^2). A release takes nothing. Memory: a cell of 8 bytes for each processor, and
//! scratch for the search.
//!
//! # Recognition
//!
//! Complete: every free submesh is within a dominant one, in both orientations.
//!
//! # Example
//!
//! Example 1 of the paper: in the situation of Fig. 2 the request (3, 2) goes to the far end of
//! `S3`, so that `S1` and `S2` stay whole.
//!
//! ```text
//!   y
//!   9  # # # # 2 2 2 # # #       # busy
//!   8  # # # # 2 2 2 # # #       1 S1 = (<0, 0>, <6, 4>), which S2 overlaps
//!   7  # # # # 2 2 2 3 3 3       2 S2 = (<4, 0>, <6, 9>)
//!   6  # # # # 2 2 2 3 A A       3 S3 = (<4, 5>, <9, 7>)
//!   5  # # # # 2 2 2 3 A A       A the job, if 2 x 3: (<8, 5>, <9, 7>)
//!   4  1 1 1 1 2 2 2 # # #
//!   .  . . .
//!   0  1 1 1 1 2 2 2 # # #
//!      0 1 2 3 4 5 6 7 8 9  x
//! ```
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 10 x 10, strategies [FreeSubmeshList], jobs 16) = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(10, 10)?.into(),
//!     strategy: StrategyKind::FreeSubmeshList,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! for busy in [
//!     Submesh::between(7, 0, 9, 4),
//!     Submesh::between(7, 8, 9, 9),
//!     Submesh::between(0, 5, 3, 9),
//! ] {
//!     controller.handle(&Change::MarkFaulty { block: busy.into() }, 0)?;
//! }
//! let list = controller.strategy().dominant_free_submeshes().expect("it keeps a list");
//! assert!(list.eq([
//!     Submesh::between(0, 0, 6, 4), // S1
//!     Submesh::between(4, 0, 6, 9), // S2
//!     Submesh::between(4, 5, 9, 7), // S3
//! ]));
//!
//! let job = JobId(1);
//! controller.handle(&Change::submit(job, Request::submesh(3, 2)), 0)?;
//! let granted = controller.view().blocks(job).next();
//! assert_eq!(granted, Some(Submesh::between(8, 5, 9, 7).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::common::demand_in_any_order;
use super::{Strategy, Workspace};
use crate::draft::Draft;
use crate::error::{ConfigureError, Refusal};
use crate::grid::{Block, Grid};
use crate::mesh::{Mesh, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::request::Request;
#[cfg(feature = "any-grid")]
use crate::search::boxes::first_in_any_order;
#[cfg(feature = "any-grid")]
use crate::search::columns::Scratch;
use crate::search::rectangles::{fits_somewhere, for_each_maximal};
use crate::search::steps::{Rule, has_room};
use crate::word::runs;

#[cfg(feature = "any-grid")]
pub(super) mod boxes;
mod candidate;
mod entry;
mod list;

#[cfg(feature = "any-grid")]
use boxes::BoxList;
use candidate::best_place;
use entry::Entry;
use list::NoRoom;

/// The most faulty processors of a released block that are taken out of the list one by one.
const FEW_FAULTS: usize = 8;

/// Free submesh list.
#[derive(Debug)]
pub(super) struct FreeSubmeshList<'m> {
    pub(super) workspace: Workspace<'m>,
    form: Form,
}

/// The list on this machine, in the workspace.
#[derive(Debug)]
enum Form {
    /// On a two-dimensional mesh.
    Plane(PlaneList),
    /// On any other grid.
    #[cfg(feature = "any-grid")]
    Boxes(BoxList),
}

/// The list on a two-dimensional mesh. Its methods take the memory.
#[derive(Debug)]
struct PlaneList {
    mesh: Mesh,
    /// Invariant: `memory[..len]` are exactly the dominant free submeshes, in the order of
    /// definition 1.
    len: usize,
    /// Whether a supposition took the memory of the list, which then holds nothing.
    is_overwritten: bool,
}

impl PlaneList {
    #[inline]
    fn submeshes<'l>(&self, memory: &'l [u64]) -> impl ExactSizeIterator<Item = Submesh> + use<'l> {
        memory[..self.len].iter().map(|&cell| Entry(cell).into())
    }

    fn build_from(&mut self, memory: &mut [u64], occupancy: &Occupancy<'_>, poll: &dyn Fn()) {
        // There is room for any list.
        self.len = list::build(memory, occupancy, poll).unwrap_or(0);
        self.is_overwritten = false;
    }

    /// The place for a request in this occupancy, whose list is made in this memory.
    fn place_in(
        &self,
        memory: &mut [u64],
        occupancy: &Occupancy<'_>,
        request: &Request,
        rule: Option<Rule<'_>>,
        draft: &mut Draft<'_, '_>,
    ) -> Result<Option<Submesh>, NoRoom> {
        let poll = || draft.poll();
        let len = list::build(memory, occupancy, &poll)?;
        let whole = self.mesh.whole();
        Ok(best_place(&memory[..len], request, whole, rule, draft))
    }

    /// The list of the supposed occupancy is made behind the list that is kept, or over it if there
    /// is no room.
    fn suppose(
        &mut self,
        memory: &mut [u64],
        supposed: &Occupancy<'_>,
        request: &Request,
        rule: Option<Rule<'_>>,
        draft: &mut Draft<'_, '_>,
    ) -> Option<Submesh> {
        match self.place_in(&mut memory[self.len..], supposed, request, rule, draft) {
            Ok(place) => place,
            Err(NoRoom) => {
                self.is_overwritten = true;
                // There is room for any list.
                self.place_in(memory, supposed, request, rule, draft)
                    .unwrap_or(None)
            }
        }
    }

    /// Step 3 of `Alloc`: decomposes every submesh that overlaps the block.
    fn taken(
        &mut self,
        memory: &mut [u64],
        occupancy: &Occupancy<'_>,
        block: Block,
        poll: &dyn Fn(),
    ) {
        let len = list::take(memory, self.len, Submesh::of_plane(block), poll);
        self.keep(len, memory, occupancy, poll);
    }

    /// The list has changed to this length, or is made anew.
    fn keep(
        &mut self,
        len: Result<usize, NoRoom>,
        memory: &mut [u64],
        occupancy: &Occupancy<'_>,
        poll: &dyn Fn(),
    ) {
        match len {
            Ok(len) => self.len = len,
            Err(NoRoom) => self.build_from(memory, occupancy, poll),
        }
    }

    /// `Dealloc`, restricted to what changes. Processors of the block that are faulty are then
    /// taken out again; with more than a few the list is made anew, as each takes a pass over it.
    fn released(
        &mut self,
        memory: &mut [u64],
        occupancy: &Occupancy<'_>,
        block: Block,
        poll: &dyn Fn(),
    ) {
        let place = Submesh::of_plane(block);
        let is_any_faulty = occupancy.faulty_count() > 0;
        if is_any_faulty && faulty_nodes(occupancy, place).nth(FEW_FAULTS).is_some() {
            return self.build_from(memory, occupancy, poll);
        }
        let mut len = list::release(memory, self.len, place, poll);
        if is_any_faulty {
            for node in faulty_nodes(occupancy, place) {
                len = len.and_then(|len| list::take(memory, len, node, poll));
            }
        }
        self.keep(len, memory, occupancy, poll);
    }
}

impl<'m> FreeSubmeshList<'m> {
    /// The free submesh list of an empty machine.
    pub(super) fn new(grid: Grid, workspace: Workspace<'m>) -> Result<Self, ConfigureError> {
        let form = match Mesh::of(&grid) {
            Some(mesh) => {
                workspace.list[0] = Entry::from(mesh.whole()).0;
                Form::Plane(PlaneList {
                    mesh,
                    len: 1,
                    is_overwritten: false,
                })
            }
            #[cfg(feature = "any-grid")]
            None => Form::Boxes(BoxList::new(grid)),
            #[cfg(not(feature = "any-grid"))]
            None => return Err(ConfigureError::MachineUnsuitable),
        };
        Ok(FreeSubmeshList { workspace, form })
    }

    /// The list: every dominant free submesh, in the order of definition 1. `None` on a grid that
    /// is no two-dimensional mesh, whose list is made for a decision.
    #[inline]
    pub(super) fn dominant_free_submeshes(
        &self,
    ) -> Option<impl ExactSizeIterator<Item = Submesh> + '_> {
        match &self.form {
            Form::Plane(plane) => Some(plane.submeshes(self.workspace.list)),
            #[cfg(feature = "any-grid")]
            Form::Boxes(_) => None,
        }
    }

    /// Something has changed. On a two-dimensional mesh `update` follows in the list; any other
    /// list is made anew for the next decision.
    #[inline]
    fn change(&mut self, update: impl FnOnce(&mut PlaneList, &mut [u64])) {
        match &mut self.form {
            Form::Plane(plane) => update(plane, self.workspace.list),
            #[cfg(feature = "any-grid")]
            Form::Boxes(boxes) => boxes.forget(),
        }
    }
}

impl Strategy for FreeSubmeshList<'_> {
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        match &self.form {
            Form::Plane(plane) => demand_in_any_order(request, &plane.mesh.grid()),
            #[cfg(feature = "any-grid")]
            Form::Boxes(boxes) => demand_in_any_order(request, &boxes.grid),
        }
    }

    fn recognizes(&self, request: &Request, sides: Sides) -> bool {
        request.allows(sides)
    }

    fn propose(
        &mut self,
        _occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let rule = self.workspace.rule();
        let place = match &mut self.form {
            Form::Plane(plane) => {
                // The paper's steps 1 and 2 of `Alloc`.
                let list = &self.workspace.list[..plane.len];
                best_place(list, request, plane.mesh.whole(), rule, draft).map(Block::from)
            }
            #[cfg(feature = "any-grid")]
            Form::Boxes(boxes) => boxes.place(_occupancy, request, &mut self.workspace, draft),
        };
        place.map(|block| draft.push(block)).is_some()
    }

    fn suppose(
        &mut self,
        supposed: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let rule = self.workspace.rule();
        let place = match &mut self.form {
            Form::Plane(plane) => {
                let place = plane.suppose(self.workspace.list, supposed, request, rule, draft);
                place.map(Block::from)
            }
            #[cfg(feature = "any-grid")]
            Form::Boxes(boxes) => {
                boxes.forget();
                let place = boxes.place(supposed, request, &mut self.workspace, draft);
                boxes.forget();
                place
            }
        };
        place.map(|block| draft.push(block)).is_some()
    }

    fn would_fit(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let rule = self.workspace.rule();
        match &self.form {
            Form::Plane(_) if occupancy.is_supposed() => {
                fits_somewhere(occupancy, request, rule, draft)
            }
            Form::Plane(plane) => {
                let mut list = plane.submeshes(self.workspace.list);
                list.any(|submesh| has_room(submesh, request, rule))
            }
            #[cfg(feature = "any-grid")]
            Form::Boxes(_) => {
                let scratch = Scratch::Blank(self.workspace.words);
                first_in_any_order(occupancy, request, rule, scratch, draft).is_some()
            }
        }
    }

    fn end_supposing(&mut self, occupancy: &Occupancy<'_>, poll: &dyn Fn()) {
        match &mut self.form {
            Form::Plane(plane) if plane.is_overwritten => {
                plane.build_from(self.workspace.list, occupancy, poll);
            }
            _ => {}
        }
    }

    fn taken(&mut self, occupancy: &Occupancy<'_>, block: Block, poll: &dyn Fn()) {
        self.change(|plane, list| plane.taken(list, occupancy, block, poll));
    }

    fn released(&mut self, occupancy: &Occupancy<'_>, block: Block, poll: &dyn Fn()) {
        self.change(|plane, list| plane.released(list, occupancy, block, poll));
    }

    /// What was free of the block before is not known, unless it is one processor.
    fn repaired(&mut self, occupancy: &Occupancy<'_>, block: Block, poll: &dyn Fn()) {
        self.change(|plane, list| match occupancy.grid().area(block) {
            1 => plane.released(list, occupancy, block, poll),
            _ => plane.build_from(list, occupancy, poll),
        });
    }

    /// On a two-dimensional mesh the list has all that is free.
    fn blocks_unmarked(&self) -> usize {
        match &self.form {
            Form::Plane(_) => usize::MAX,
            #[cfg(feature = "any-grid")]
            Form::Boxes(_) => 0,
        }
    }

    fn rebuild(&mut self, occupancy: &Occupancy<'_>) {
        self.change(|plane, list| plane.build_from(list, occupancy, &|| ()));
    }

    fn check_invariants(&self, occupancy: &Occupancy<'_>) {
        let Some(list) = self.dominant_free_submeshes() else {
            return;
        };
        let list = &self.workspace.list[..list.len()];
        assert!(
            list.is_sorted_by(|&a, &b| Entry(a).precedes(Entry(b))),
            "the list is in order and has no duplicates"
        );
        let mut dominant = 0;
        for_each_maximal(occupancy, &|| (), |submesh| {
            let entry = Entry::from(submesh);
            assert!(list.contains(&entry.0), "{submesh} is in the list");
            dominant += 1;
        });
        assert_eq!(dominant, list.len(), "nothing else is in the list");
    }
}

/// The faulty processors of a submesh as submeshes of one node each, in row-major order.
fn faulty_nodes(occupancy: &Occupancy<'_>, submesh: Submesh) -> impl Iterator<Item = Submesh> {
    let (low, high) = (submesh.lower_left(), submesh.upper_right());
    (low.y..=high.y).flat_map(move |y| {
        let runs = runs(occupancy.faulty_row(y.into()));
        let nodes = runs.flat_map(|(start, len)| start as u16..(start + len) as u16);
        let within = nodes.filter(move |x| (low.x..=high.x).contains(x));
        within.map(move |x| Submesh::new(x, y, 1, 1))
    })
}
