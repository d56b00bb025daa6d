//! Least expected blocking (LEB): the place after which a request is least likely to be blocked once other jobs have left.
//!
//! # Source
//!
//! This project; no paper.
//!
//! First come first served loses processors only while its head is blocked. The free submesh list keeps large rectangles whole that are
//! free now. LEB keeps those whole that the next departures open: it places a job where a request, drawn from those lately seen
//! and those waiting, is least likely to be blocked after 0, 1, 2 or 3 other jobs have left, each set of as many being equally likely
//! (residence without memory).
//!
//! # Definition
//!
//! *Expected requests* are the last 64 that arrived, at first the sides `(i mod 8 + 1) W / 8` by `(i / 8 + 1) H / 8` for i = 0 .. 63, at least 1; and the
//! first 8 that wait, without the job that is placed and the head of the queue. The *value* of what is free is the number of recent
//! requests that fit, plus 128, 90, 63, 44, 31, 22, 15, 11 for the waiting requests that fit, in their order.
//!
//! With a budget E and k running jobs, K = k + 1, and S(T) the number of sets of at most T of the k:
//!
//! 1. Candidates are the four corners of every maximal free submesh, in both orientations, each once, in the order of
//!    (y1, x1, y2, x2). If there is one only, it is chosen.
//! 2. T* is the largest T, 1 to min(3, k), with 4 S(T) <= E; 1 if there is none. At most max(4, floor(E / S(T*))) candidates of the largest boundary
//!    value (see `busy-list`) are kept; ties: the first in order.
//! 3. T is the largest, 1 to min(3, k), with count * S(T) <= E. If there is none, T is 1 and only the floor(E / count) - 1 largest jobs leave; ties: those
//!    that were granted first.
//! 4. For every set of t <= T jobs that have left and every candidate that is placed, the candidate's score grows by
//!    floor(2^(16 + t) / ((K - t) C(K, t))) times the value of what is free then.
//! 5. The largest score is chosen; ties: the largest boundary value, then the first in order.
//!
//! # Decisions
//!
//! - A request that must not be rotated fits only as it is; the prototype knew none.
//! - The head of the queue is none of the waiting requests whichever scheduler there is: under shortest job first a job from behind it may be placed
//!   before the head has tried. It counts among the recent requests like any other.
//! - A request that is refused because its name is taken, or because it could never be granted, is none of the recent requests; one that is refused
//!   for lack of room is.
//! - No more candidates are kept than processors are free.
//! - A block that is reserved for a job that waits, and withheld from the one that is placed,
//!   counts as one more of the k jobs, behind those that run: it is busy now, and leaves like any
//!   other. Where it covers what a running job holds, those processors are free when both have
//!   left. There are no more such jobs than, with those that run, processors are not free; others
//!   behind them never leave.
//! - Faulty processors stay busy when their job leaves.
//! - Without jobs ([`Allocator`](crate::Allocator)) nothing waits, and the order of grants is that of the blocks in memory.
//! - In a supposition nothing is known of running jobs but what the outlook just before said; without one, that nothing runs.
//!
//! # How it is computed
//!
//! A set of expected requests is a mask of 72 bits. Tables hold, for each length, which requests are not wider and which are not higher, so those that
//! fit into a rectangle are found by four look-ups, and those that fit into what is free by an OR over its maximal rectangles.
//! A request that fits fits after any departure too. After the departure of a set of jobs only rectangles are new that meet each job
//! of the set, less what the candidate cuts out of them (at most four pieces); the others were free after the departure of fewer. So for a set
//! only these are built, once for all candidates, directly from the rows of the mesh, of which neighbours that are alike are one.
//!
//! # Complexity and memory
//!
//! A decision finds the maximal rectangles around at most S(T) <= E / 2 sets of jobs, O(rows^2 * words in a row) each and in practice a few dozen
//! pairs of rows, and computes at most E values. An arrival takes O(W + H), a release nothing. Memory: a list of `W * H` entries of 8 bytes for the
//! running jobs and the maximal free submeshes, which are no more than free processors, and scratch: twice the words of the occupancy, two words for each row, 2 masks for
//! each length up to the longest side, and a mask and three words for each unit of the budget.
//!
//! # Recognition
//!
//! Complete: every free submesh is within a maximal one, in both orientations.
//!
//! # Drawbacks
//!
//! - A decision takes several times as long as one of the free submesh list.
//! - What it learns depends on the requests that arrived: other than for most strategies the same occupancy does not always lead to the same place.
//! - Where residence is far from memoryless it gains less: with fixed service times about 8 % of the waiting delay at load .5, with
//!   exponential ones about 21 %. [`LebEstimates`](super::LebEstimates) is better where run times can be estimated.
//! - It looks at jobs one decision ahead; it does not plan where the next two go.
//!
//! # Example
//!
//! An 8 x 8 mesh with jobs A and B; a job of 2 x 6 arrives. The free submesh list places it at C and keeps the 3 x 8 at the right. Least
//! expected blocking places it at L: as much is free now, and when B leaves, 6 x 7 become free in one piece, not 3 x 7.
//!
//! ```text
//!   y        free submesh list           least expected blocking
//!   7  . . . C C . . .             . . . . . . . .
//!   6  B B B C C . . .             B B B . . . . .
//!   5  B B B C C . . .             B B B . . . L L
//!   4  B B B C C . . .             B B B . . . L L
//!   3  B B B C C . . .             B B B . . . L L
//!   2  B B B C C . . .             B B B . . . L L
//!   1  B B B . . . . .             B B B . . . L L
//!   0  . . . . A A . .             . . . . A A L L
//!      0 1 2 3 4 5 6 7  x
//! ```
//!
//! ```
//! # use meshalloc::*;
//! # use meshalloc::storage::Needs;
//! const MESH: Grid = match Mesh::new(8, 8) {
//!     Ok(mesh) => mesh.grid(),
//!     Err(_) => unreachable!(),
//! };
//! const NEEDS: Needs = Needs::of_build(&[MESH], 8);
//!
//! let place = |strategy| {
//!     let mut storage: storage!(needs (NEEDS)) = AllocatorStorage::new();
//!     let mut allocator = Allocator::new(storage.memory(), MESH, strategy)?;
//!     let first = allocator.allocate(&Request::submesh(4, 1)).expect("room");
//!     let [a, b] = [(1, 2), (3, 6)].map(|(w, h)| allocator.allocate(&Request::submesh(w, h)).expect("room"));
//!     allocator.release(first)?;
//!     assert_eq!(allocator.blocks(&a)?.next(), Some(Submesh::between(4, 0, 5, 0).into()));
//!     assert_eq!(allocator.blocks(&b)?.next(), Some(Submesh::between(0, 1, 2, 6).into()));
//!     let job = allocator.allocate(&Request::submesh(2, 6)).expect("room");
//!     let place = allocator.blocks(&job)?.next().expect("one block");
//!     allocator.release(b)?;
//!     let place = Submesh::of(&MESH, place)?;
//!     let fits = allocator.suppose().fits(&Request::submesh(6, 7));
//!     Ok::<_, Box<dyn std::error::Error>>((place, fits))
//! };
//! assert_eq!(place(StrategyKind::FreeSubmeshList)?, (Submesh::between(3, 2, 4, 7), false));
//! let leb = StrategyKind::LeastExpectedBlocking { budget: 64 };
//! assert_eq!(place(leb)?, (Submesh::between(6, 0, 7, 5), true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::foresight::{Decision, Foresight, Rule, departures};
use crate::request::Request;

/// Least expected blocking.
pub(super) type LeastExpectedBlocking<'m> = Foresight<'m, AnyDepartures>;

/// Each set of running jobs is as likely to be the next that leave as any other of as many.
#[derive(Debug)]
pub(super) struct AnyDepartures;

impl Rule for AnyDepartures {
    const BY_ENDS: bool = false;

    fn candidates_max(budget: u64, running: u64, _: &Request) -> u64 {
        departures::candidates_max(budget, running)
    }

    fn score(decision: &mut Decision<'_>, budget: u64, _: &Request) {
        departures::score(decision, budget);
    }
}
