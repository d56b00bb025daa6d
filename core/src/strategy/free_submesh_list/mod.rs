//! Free submesh list (FSL): best fit by the free submeshes that are left over.
//!
//! # Source
//!
//! G. Kim and H. Yoon, "A Dynamic Processor Allocation Strategy for Mesh-Connected Multicomputers",
//! 1995, section III.
//!
//! The list holds the *dominant free submeshes*: the free submeshes that no other free submesh
//! covers (definition 1). A request may go to any corner of any of them (definition 3); the
//! strategy chooses the place with the largest *reservation factor* (definition 2) against the
//! first submesh of the list, ties by the second, and so on (definition 4). This place leaves the
//! large free submeshes whole.
//!
//! # Differences from the paper
//!
//! - The signs of definition 2 are corrected: the rest above is `y2' - y2`, the rest at the right
//!   `x2' - x2`. As printed, both would be negative whenever something is left. The factor is never
//!   less than 0.
//! - Definition 1 orders by size, then by squareness. Further ties, on which the paper is silent:
//!   `y` of the base node, then `x`, then the wider first.
//! - Candidates that tie against every submesh and the whole mesh: the smallest `(y, x)` of the
//!   base node, then `a x b` before `b x a`.
//! - A request may forbid rotation ([`Flags::FIXED_ORIENTATION`](crate::Flags)); then only `a x b`
//!   is considered.
//! - Theorem 1 (at most `4k` dominant free submeshes around `k` allocated ones) is false: three
//!   busy processors on a 7 x 7 mesh leave 13. The list has room for as many as there are
//!   processors, which is proven below.
//! - A release does not decompose the whole mesh again (Fig. 8). It joins the released submesh with
//!   the dominant submeshes beside it; the others stay as they are. The resulting list is the same.
//! - Faulty processors count as allocated submeshes of one node.
//! - Any other grid than a two-dimensional mesh: see below.
//!
//! # Aligned slices
//!
//! Where a description aligns slices, the candidates are the places closest to the corners at which
//! a slice may begin. Such places leave different parts of the submesh. So among the places from
//! one submesh, in all orientations, only those with the largest reservation factor against it
//! count.
//!
//! # On any grid
//!
//! With the feature `any-grid` the strategy serves any grid. The rules are the same, with boxes in
//! place of submeshes:
//!
//! - The list holds the maximal free boxes. A box that spans a ring starts at 0 there.
//! - It is ordered by size, the largest first; then by the longest extent, the shortest first; then
//!   by the number of the first node; then by the extents, the shorter first, from the highest
//!   dimension down.
//! - The candidates are the corners of each box of the list: along each dimension a place starts
//!   where the box starts, or ends where it ends. The extents, ones included, come in every
//!   distinct order; those with the largest reservation factor against that box are candidates.
//! - The reservation factor `rf(S, S')` is the size of the largest box within `S'` that does not
//!   meet `S`. The rest of a whole ring is one arc.
//! - Last ties go to the smallest number of the first node, then to the order in which the extents
//!   are named, then to the first order in ascending lexicographic order.
//! - In three and more dimensions there may be more maximal free boxes than processors. A box takes
//!   half a cell for its size and half a cell for each dimension, and the list has a cell for each
//!   processor. So on 16 x 16 x 16 it has room for 2,048 boxes. The list holds the first boxes in
//!   order, as many as there is room for. If no box of the list has room for a request, the request
//!   is placed as by adaptive scan. So no free box is ever missed.
//!
//! The list is made from the occupancy for a decision, and kept until the occupancy changes.
//!
//! # The list is never too small
//!
//! Give each dominant free submesh the node at its bottom row in the leftmost of its columns whose
//! free stretch upwards from there is shortest. That node is free. Two submeshes cannot have the
//! same node: the node's free stretch is the height of both, and with bottom row and height given,
//! a dominant submesh is as wide as it can be around that column. Hence there are at most as many
//! dominant free submeshes as free nodes, and a list of `W * H` entries always suffices.
//!
//! While one list is turned into the next, the memory has parts of both. The rest of the same
//! memory serves as scratch. If that is not enough, the list is built from the occupancy instead,
//! which needs no scratch. This happens only on small meshes, and on meshes that are nearly full of
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

use super::contiguous::first_in;
use super::keeps::Keeps;
use super::{Draft, OccupancyEvent, Request, Site, Workspace};
use crate::grid::{ANY_GRID, Block, Grid};
use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::search::columns::Scratch;
use crate::search::shapes::AnyOrder;
use crate::search::steps::has_room;
use crate::search::submeshes::{fits_somewhere, for_each_maximal};
use crate::word::runs;

pub(super) mod boxes;
mod candidate;
mod entry;
mod list;

use candidate::best_place;
use entry::Entry;
use list::NoRoom;

/// The most faulty processors of a released block that are taken out of the list one by one.
const FEW_FAULTS: usize = 8;

/// The data that the free submesh list keeps. The list is in the workspace.
#[derive(Debug)]
pub(super) struct FreeSubmeshList {
    is_plane: bool,
    /// The number of entries of the list, if it is the list of the machine's occupancy. On a
    /// two-dimensional mesh it always is, except during a supposition. Invariant: these entries
    /// then are exactly the dominant free submeshes, in the order of definition 1. On any other
    /// grid the list is made for a decision.
    len: Option<usize>,
}

impl FreeSubmeshList {
    /// The list of this machine.
    pub(super) const fn new(grid: &Grid) -> Self {
        FreeSubmeshList {
            is_plane: grid.is_plane(),
            len: None,
        }
    }

    /// Whether the machine is a two-dimensional mesh.
    const fn is_plane(&self) -> bool {
        !ANY_GRID || self.is_plane
    }

    /// The list: every dominant free submesh, in the order of definition 1. `None` on a grid that
    /// is not a two-dimensional mesh.
    #[inline]
    pub(super) fn dominant_free_submeshes<'l>(
        &self,
        list: &'l [u64],
    ) -> Option<impl ExactSizeIterator<Item = Submesh> + use<'l>> {
        let len = self.len.filter(|_| self.is_plane())?;
        Some(list[..len].iter().map(|&cell| Entry(cell).into()))
    }

    /// The place for a request on a two-dimensional mesh. The list of a supposed occupancy is made
    /// behind the kept list, or over it if there is no room.
    fn place(
        &mut self,
        site: &Site<'_>,
        workspace: &mut Workspace<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> Option<Submesh> {
        let (rule, memory) = (workspace.rule(), &mut *workspace.list);
        let (whole, len) = (
            Submesh::of_plane(site.grid().whole()),
            self.len.unwrap_or(0),
        );
        if !site.is_supposed() {
            // The paper's steps 1 and 2 of `Alloc`.
            return best_place(&memory[..len], request, whole, rule, draft);
        }
        let built = list::build(&mut memory[len..], site.occupancy, &|| draft.poll());
        if let Ok(more) = built {
            return best_place(&memory[len..len + more], request, whole, rule, draft);
        }
        self.len = None;
        // There is room for any list.
        let len = list::build(memory, site.occupancy, &|| draft.poll()).unwrap_or(0);
        best_place(&memory[..len], request, whole, rule, draft)
    }
}

/// The length of the list after the block has become free: `Dealloc`, restricted to the entries
/// that change. Faulty processors of the block are then taken out again. With more than a few
/// faulty processors there is no answer, as each takes a pass over the list.
fn released(
    memory: &mut [u64],
    len: usize,
    occupancy: &Occupancy<'_>,
    block: Block,
    poll: &dyn Fn(),
) -> Result<usize, NoRoom> {
    let place = Submesh::of_plane(block);
    let is_any_faulty = occupancy.faulty_count() > 0;
    if is_any_faulty && faulty_nodes(occupancy, place).nth(FEW_FAULTS).is_some() {
        return Err(NoRoom);
    }
    let mut len = list::release(memory, len, place, poll)?;
    if is_any_faulty {
        for node in faulty_nodes(occupancy, place) {
            len = list::take(memory, len, node, poll)?;
        }
    }
    Ok(len)
}

impl Keeps for FreeSubmeshList {
    fn changed(
        &mut self,
        workspace: &mut Workspace<'_>,
        occupancy: &Occupancy<'_>,
        event: OccupancyEvent,
        poll: &dyn Fn(),
    ) {
        if !self.is_plane() {
            self.len = None;
            return;
        }
        let memory = &mut *workspace.list;
        let len = match (event, self.len) {
            (OccupancyEvent::SuppositionEnded, Some(_)) => return,
            // Step 3 of `Alloc`: decomposes every submesh that overlaps the block.
            (OccupancyEvent::Taken(block), Some(len)) => {
                list::take(memory, len, Submesh::of_plane(block), poll)
            }
            (OccupancyEvent::Released(block), Some(len)) => {
                released(memory, len, occupancy, block, poll)
            }
            // Unless the block is one processor, it is not known which of its processors were free
            // before.
            (OccupancyEvent::Repaired(block), Some(len)) if occupancy.grid().area(block) == 1 => {
                released(memory, len, occupancy, block, poll)
            }
            (OccupancyEvent::Reset | OccupancyEvent::Repaired(_), _) | (_, None) => Err(NoRoom),
        };
        // The memory has room for any list that is made anew.
        self.len = len
            .or_else(|NoRoom| list::build(memory, occupancy, poll))
            .ok();
    }

    fn check_invariants(&self, workspace: &Workspace<'_>, occupancy: &Occupancy<'_>) {
        let Some(list) = self.dominant_free_submeshes(workspace.list) else {
            return;
        };
        let list = &workspace.list[..list.len()];
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

/// Takes the best place in a dominant free submesh.
pub(super) fn propose(
    kept: &mut FreeSubmeshList,
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> bool {
    let (occupancy, rule) = (site.occupancy, workspace.rule());
    if !kept.is_plane() {
        let place = if site.is_question() {
            let scratch = Scratch::Blank(workspace.words);
            first_in(occupancy, rule, scratch, request, draft, AnyOrder)
        } else {
            // The memory has room for one list.
            kept.len = kept.len.filter(|_| !site.is_supposed());
            let place = boxes::place(&mut kept.len, occupancy, request, workspace, draft);
            kept.len = kept.len.filter(|_| !site.is_supposed());
            place
        };
        return place.map(|place| draft.push(place)).is_some();
    }
    if !site.is_question() {
        let place = kept.place(site, workspace, request, draft);
        return place.map(|place| draft.push(place)).is_some();
    }
    if site.is_supposed() {
        return fits_somewhere(occupancy, request, rule, draft);
    }
    let list = kept.dominant_free_submeshes(workspace.list);
    list.is_some_and(|mut list| list.any(|submesh| has_room(submesh, request, rule)))
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
