//! Least expected blocking with estimates (LEB-E): jobs leave in the order of their estimated ends.
//!
//! # Source
//!
//! This project; no paper. It is [`LeastExpectedBlocking`](super::LeastExpectedBlocking) with known
//! ends of jobs.
//!
//! # Definition
//!
//! Expected requests, values and candidates are those of least expected blocking. With a budget E
//! and k running jobs, max(4, floor(E / (1 + k))) candidates are kept. The states that are looked
//! at are those after 0, 1, .. k departures, in the order of the estimated ends. If there are more
//! than E pairs of a candidate and a state, the states are those after 0, 1, 2, 4, 8, ..
//! departures.
//!
//! The score of a candidate is a sum over these states: the value of the state with the candidate
//! placed, times floor(65536 * d / own estimate). d is how long the state lasts, until the next one
//! of them and not beyond the job's own end. A first weight of 0 counts as 1. The largest score is
//! chosen; ties go to the largest boundary value, then to the first in order of (y1, x1, y2, x2).
//!
//! # Decisions
//!
//! - A job that has run for its estimate or longer ends now.
//! - A running job without an estimate leaves after all others, and never within the time that is
//!   looked at.
//! - A job without an estimate is placed by least expected blocking.
//! - An [`Allocator`](crate::Allocator) knows no ends: its jobs never leave.
//! - Of running jobs with the same estimated end the one that was granted first leaves first.
//! - A block that is reserved for a waiting job, and withheld from the job that is placed, leaves
//!   at the waiting job's estimated end.
//! - The other decisions are those of least expected blocking.
//!
//! # Complexity and memory
//!
//! A decision finds the maximal rectangles around each running job that ends before the one that is
//! placed. Each takes O(rows^2 * words in a row), in practice a few dozen pairs of rows. Sorting k
//! ends takes O(k^2). Memory: that of least expected blocking, and for the ends 8 bytes for each
//! job that there is room for, at most one for each processor.
//!
//! # Recognition
//!
//! Complete: every free submesh is within a maximal one, in both orientations.
//!
//! # Drawbacks
//!
//! - It is as good as the estimates. If run times are overestimated by factors of 1 to 5, it keeps
//!   most of its gain on the free submesh list. But under backfilling it is then no better than
//!   least expected blocking.
//! - The other drawbacks are those of least expected blocking.
//!
//! # Example
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

use super::foresight::departures::{self, CANDIDATES_MIN};
use super::foresight::{Decision, Foresight, Rule};
use crate::request::Request;

/// Least expected blocking with estimates.
pub(super) type LebEstimates<'m> = Foresight<'m, FirstEndFirst>;

/// Running jobs leave in the order in which they are expected to end.
#[derive(Debug)]
pub(super) struct FirstEndFirst;

impl Rule for FirstEndFirst {
    const BY_ENDS: bool = true;

    fn candidates_max(budget: u64, running: u64, request: &Request) -> u64 {
        match request.estimate {
            Some(_) => CANDIDATES_MIN.max(budget / (1 + running)),
            None => departures::candidates_max(budget, running),
        }
    }

    fn score(decision: &mut Decision<'_>, budget: u64, request: &Request) {
        let Some(own) = request.estimate else {
            departures::score(decision, budget);
            return;
        };
        let own = own.get();
        decision.first_end_first();
        let running = decision.running();
        let is_every_state = decision.candidates() as u64 * (1 + running as u64) <= budget;
        // How many have left, and when the last of them left.
        let (mut gone, mut now) = (0, 0);
        loop {
            let next = match is_every_state {
                true => gone + 1,
                false => (2 * gone).max(1),
            };
            let end = match next <= running {
                true => decision.end(next - 1).min(own),
                false => own,
            };
            let weight = ((u128::from(end - now) << 16) / u128::from(own)) as u32;
            decision.score(0, if gone == 0 { weight.max(1) } else { weight });
            if end == own {
                break;
            }
            for job in gone..next {
                decision.leave(job, &|other| other < job);
                decision.describe(0, &[0], &[job]);
            }
            (gone, now) = (next, end);
        }
    }
}
