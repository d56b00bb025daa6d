//! Least expected blocking (LEB): the place that leaves a request least likely to be blocked after
//! other jobs have left.
//!
//! # Source
//!
//! This project; no paper.
//!
//! Under first come first served, processors are lost only while the head of the queue is blocked.
//! The free submesh list preserves large rectangles that are free now. LEB preserves the rectangles
//! that the next departures open. It draws a request from those that arrived lately and those that
//! wait, and places the job where that request is least likely to be blocked after 0, 1, 2 or 3
//! other jobs have left. All sets with the same number of jobs are equally likely to leave (times
//! without memory).
//!
//! # Definition
//!
//! The *expected requests* are the last 64 that arrived and the first 8 that wait, without the job
//! that is placed and the head of the queue. At first the 64 are the sides `(i mod 8 + 1) W / 8` by
//! `(i / 8 + 1) H / 8` for i = 0 .. 63, at least 1. The *value* of the free processors is the
//! number of recent requests that fit, plus 128, 90, 63, 44, 31, 22, 15, 11 for the waiting
//! requests that fit, in their order.
//!
//! Let E be the budget, k the number of running jobs, K = k + 1, and S(T) the number of sets of at
//! most T of the k jobs.
//!
//! 1. The candidates are the four corners of every maximal free submesh, in both orientations, each
//!    once, in the order of (y1, x1, y2, x2). If there is only one, it is chosen.
//! 2. T* is the largest T from 1 to min(3, k) with 4 S(T) <= E, or 1 if none has. At most
//!    max(4, floor(E / S(T*))) candidates are kept, those of the largest boundary value (see
//!    `busy-list`), and among equal values the first in order.
//! 3. T is the largest number from 1 to min(3, k) with count * S(T) <= E. If there is none, T is 1
//!    and only the floor(E / count) - 1 largest jobs leave, among equally large ones the jobs that
//!    were granted first.
//! 4. For every set of t <= T jobs that have left and every candidate that is placed, the
//!    candidate's score grows by floor(2^(16 + t) / ((K - t) C(K, t))) times the value of the
//!    processors that are then free.
//! 5. The candidate with the largest score is chosen; ties go to the largest boundary value, then
//!    to the first in order.
//!
//! # Decisions
//!
//! - A request that must not be rotated fits only in its own orientation. The prototype had no such
//!   requests.
//! - The head of the queue never counts as a waiting request, whichever scheduler runs. Under
//!   shortest job first a job from behind it may be placed before the head has tried. The head
//!   counts as a recent request like any other.
//! - A request counts as recent if it is refused for lack of room. It does not count if it is
//!   refused because its name is taken, or because it could never be granted.
//! - At most as many candidates are kept as processors are free.
//! - A block that is reserved for a waiting job, and withheld from the job that is placed, counts
//!   as one more of the k jobs, behind the running ones. It is busy now, and leaves like any other.
//!   Where the block covers processors of a running job, these are free when both have left.
//!   Running jobs and such blocks together are at most as many as the processors that are not free.
//!   Further blocks never leave.
//! - Faulty processors stay busy when their job leaves.
//! - Without jobs ([`Allocator`](crate::Allocator)) nothing waits, and the order of grants is that
//!   of the blocks in memory.
//! - An expected request that names a number of processors counts as the most compact of its shapes
//!   that fit the machine. A demand for rings does not count. Where the machine's description
//!   forbids turning, an expected request fits only in its own orientation.
//! - Where the description aligns slices, the candidates are the places closest to the corners at
//!   which a slice may begin. An expected request may begin anywhere: it fits into every box that
//!   is large enough.
//! - The place of a reservation, which is a supposition, is chosen as if no job ran and none
//!   waited.
//!
//! # How it is computed
//!
//! A set of expected requests is a mask of 72 bits. A rotated request fits into a rectangle exactly
//! if its longer side is not longer than the rectangle's longer side, and its shorter side not
//! longer than the shorter one. So there is a table for each dimension. It is about the sides of
//! that rank for requests that may be rotated, and about the sides along that dimension for the
//! others. For each length the table holds the requests that are not longer. Two look-ups find the
//! requests that fit into a rectangle, two more those that keep their orientation, and an OR over
//! the maximal free rectangles finds those that fit at all.
//!
//! A request that fits now also fits after any departure. When a set of jobs leaves, the new
//! rectangles are those that meet each job of the set, less what the candidate cuts out of them.
//! All others were free after fewer departures. So only these rectangles are built for a set, once
//! for all candidates. They are built from the rows of the mesh, with equal neighbour rows merged
//! into one. No rectangle is kept: the rectangles that are free now are searched once for the
//! candidates and once for the requests that fit.
//!
//! # On any grid
//!
//! With the feature `any-grid` both strategies serve grids of up to six dimensions. The rules are
//! the same, with boxes in place of submeshes:
//!
//! - A box that spans a ring starts at 0 there.
//! - The candidates are the corners of every maximal free box: along each dimension a place starts
//!   where the box starts, or ends where it ends; in all distinct orders of the extents, ones
//!   included. Their order is that of the numbers of their first nodes, then that of the extents
//!   from the highest dimension down, the shorter first.
//! - The boundary value is that of `busy-list` on any grid.
//! - At first the recent requests are all combinations of parts of the sides. With b parts of each
//!   of D sides, where b is the largest number with b^D <= 64, at least 2, request i has the extent
//!   `(i / b^d mod b + 1) S / b` along dimension d of side S, at least 1. These are quarters in
//!   three dimensions.
//! - The rest that a candidate leaves of a box is as long as the box in all dimensions but one. In
//!   that dimension it is the longest arc that the candidate does not meet. The rest of a whole
//!   ring is one arc.
//!
//! `search/maximal.rs` finds the maximal free boxes.
//!
//! # Complexity and memory
//!
//! A decision finds the maximal rectangles that are free now twice: for the candidates, and for the
//! requests that fit before any departure. Then it finds the rectangles around fewer than E / 2
//! sets of jobs. Each of these searches takes O(rows^2 * words in a row), in practice a few dozen
//! pairs of rows. The decision computes at most E values. An arrival takes O(W + H), a release
//! nothing.
//!
//! Memory: a list of `W * H` entries of 8 bytes for the running jobs and the candidates. Scratch:
//! twice the words of the occupancy, two words for each row, 2 masks for each length up to the
//! longest side, and a mask and two words for each unit of the budget.
//!
//! # Recognition
//!
//! Complete: every free submesh is within a maximal one, in both orientations.
//!
//! # Drawbacks
//!
//! - A decision takes several times as long as one of the free submesh list.
//! - The strategy learns from the requests that arrived. So, unlike with most strategies, the same
//!   occupancy does not always lead to the same place.
//! - The strategy gains less where service is far from memoryless: with fixed service times about
//!   8 % of the waiting delay at load .5, with exponential ones about 21 %. Least expected blocking
//!   with estimates is better where run times can be estimated.
//! - It decides for one job at a time and does not plan where the next two go.
//!
//! # Example
//!
//! An 8 x 8 mesh with jobs A and B; a job of 2 x 6 arrives. The free submesh list places it at C
//! and keeps the 3 x 8 at the right. Least expected blocking places it at L. As many processors are
//! free now, and when B leaves, a free 6 x 7 opens instead of a 3 x 7.
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
//!     let [a, b] = [(1, 2), (3, 6)]
//!         .map(|(w, h)| allocator.allocate(&Request::submesh(w, h)).expect("room"));
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
//!
//! # Least expected blocking with estimates
//!
//! LEB-E: jobs leave in the order of their estimated ends.
//!
//! ## Definition
//!
//! Expected requests, values and candidates are those of least expected blocking. With a budget E
//! and k running jobs, max(4, floor(E / (1 + k))) candidates are kept. The states considered are
//! those after 0, 1, .. k departures, in the order of the estimated ends. If there are more than E
//! pairs of a candidate and a state, the states are those after 0, 1, 2, 4, 8, .. departures.
//!
//! The score of a candidate is a sum over these states: the value of the state with the candidate
//! placed, times floor(65536 * d / own estimate). d is the time that the state lasts: until the
//! next of these states, but not beyond the job's own end. A first weight of 0 counts as 1. The
//! largest score is chosen; ties go to the largest boundary value, then to the first in order of
//! (y1, x1, y2, x2).
//!
//! ## Decisions
//!
//! - A job that has run for its estimate or longer ends now.
//! - A running job without an estimate leaves after all others, and never within the time
//!   considered.
//! - A job without an estimate is placed by least expected blocking.
//! - An [`Allocator`](crate::Allocator) knows no ends: its jobs never leave.
//! - If running jobs have the same estimated end, the one that was granted first leaves first.
//! - A block that is reserved for a waiting job, and withheld from the job that is placed, leaves
//!   at the waiting job's estimated end.
//! - The other decisions, recognition and the other drawbacks are those of least expected blocking.
//!
//! ## Complexity and memory
//!
//! A decision finds the maximal rectangles that are free now twice, and the rectangles around each
//! running job that ends before the job that is placed. Each of these searches takes O(rows^2 *
//! words in a row), in practice a few dozen pairs of rows. Sorting k ends takes O(k^2). Memory:
//! that of least expected blocking, and for the ends 8 bytes for each job that there is room for,
//! at most one for each processor.
//!
//! ## Drawbacks
//!
//! LEB-E is only as good as the estimates. If run times are overestimated by factors of 1 to 5, it
//! keeps most of its gain on the free submesh list. But under backfilling it is then no better than
//! least expected blocking.
//!
//! ## Example
//!
//! An 8 x 8 mesh with jobs A, which ends soon, and B, which runs long; a job of 4 x 5 arrives. The
//! free submesh list places it at C. Least expected blocking with estimates places it at L. As many
//! processors are free now, and when A leaves, a free 4 x 8 opens in one piece.
//!
//! ```text
//!   y        free submesh list           with estimates
//!   7  . . . . . . . .             . . . . . . . .
//!   6  C C C C . . . .             . . . . L L L L
//!   5  C C C C . . . .             . . . . L L L L
//!   4  C C C C . . . .             . . . . L L L L
//!   3  C C C C . . . .             . . . . L L L L
//!   2  C C C C . . . .             . . . . L L L L
//!   1  A A A A B B B B             A A A A B B B B
//!   0  A A A A B B B B             A A A A B B B B
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
//!     let mut storage: storage!(needs (NEEDS), jobs 8) = Storage::new();
//!     let mut controller = Controller::new(storage.memory(), Configuration {
//!         machine: MESH,
//!         strategy,
//!         scheduler: SchedulerKind::Fcfs,
//!     })?;
//!     let mut places = Vec::new();
//!     for (job, (w, h, estimate)) in (0..).zip([(4, 2, 10), (4, 2, 1000), (4, 5, 100)]) {
//!         let request = Request::submesh(w, h).with_estimate(estimate);
//!         controller.handle(&Change::submit(JobId(job), request), 0)?;
//!         let blocks = controller.view().blocks(JobId(job));
//!         places.extend(blocks.map(|block| Submesh::of(&MESH, block).unwrap()));
//!     }
//!     Ok::<_, Box<dyn std::error::Error>>(places)
//! };
//! let (a, b) = (Submesh::between(0, 0, 3, 1), Submesh::between(4, 0, 7, 1));
//! let fsl = place(StrategyKind::FreeSubmeshList)?;
//! assert_eq!(fsl, [a, b, Submesh::between(0, 2, 3, 6)]);
//! let leb_e = place(StrategyKind::LebEstimates { budget: 64 })?;
//! assert_eq!(leb_e, [a, b, Submesh::between(4, 2, 7, 6)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(super) use super::foresight::{Foresight, place};
