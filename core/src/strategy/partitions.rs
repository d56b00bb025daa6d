//! Predefined partitions: a job gets one of the boxes that halve the machine again and again. The
//! walltime-aware rule puts it beside a job that is expected to end at about the same time.
//!
//! # Source
//!
//! W. Tang, Z. Lan, N. Desai, D. Buettner and Y. Yu, "Reducing Fragmentation on Torus-Connected
//! Supercomputers", IEEE Int. Parallel and Distributed Processing Symposium, 2011. The abstract was
//! read, not the text. The rules are those of another simulator's source code, which was read: the
//! simulator of the resource manager Cobalt (`ido/cobalt`, `bqsim.py` and `bg_base_system.py`).
//!
//! # Definition
//!
//! The whole machine is a *partition*. Each partition of more than one processor is halved across
//! its longest side, or the longest side of the lowest dimension, into a lower and an upper
//! partition. If the side is odd, the lower partition gets the larger half. The *parents* of a
//! partition are all partitions around it. Its *buddy* is the other half of its nearest parent, if
//! both halves are equally large. Partitions are in order of their names: those of the lower half
//! before those of the upper half.
//!
//! A request for n processors takes a partition of the smallest size that occurs and is at least n.
//! The shape of the request does not matter.
//!
//! - `partition`, the base rule: takes the idle partition of this size with the fewest idle
//!   parents, which become blocked; ties: the first in order.
//! - `walltime-aware`: among the partitions with the fewest idle parents, those count whose buddy
//!   is held by exactly one job. It takes the partition with the least difference between the
//!   estimate of the new job and the time that the buddy's job is still expected to run; ties: the
//!   first in order. If there is no such buddy, the base rule decides.
//!
//! So both halves of a parent become idle at about the same time, and larger jobs fit.
//!
//! # What belongs to a scheduler
//!
//! The paper's scheme also has rules for the queue. The schedulers here have one of them:
//!
//! - A job that cannot start closes ("drains") the partition of its size that frees soonest, and
//!   later jobs start only if they do not delay it. These are reservations:
//!   [`Easy`](crate::SchedulerKind::Easy) makes one for the head of the queue,
//!   [`Conservative`](crate::SchedulerKind::Conservative) one for every waiting job.
//!
//! The others are left out:
//!
//! - `aggr`: after a start beside an idle buddy, the job of the queue with the nearest shorter
//!   walltime starts on the buddy, out of order and whatever jobs wait before it. This rule chooses
//!   the job and the place in one step. Here a scheduler chooses the job and cannot name a place,
//!   and no job starts before the head without regard to it.
//! - The window: all orders of the first W jobs are tried, and the order with the earliest end is
//!   taken. A scheduler here asks for one attempt at a time, and would need W! passes over a
//!   supposed machine, more than the pauses on a board allow. With W = 1 there is no window.
//! - The order by (wait / walltime)^3 * size (WFP), which is a priority and not a rule of
//!   placement.
//!
//! # Differences from that code
//!
//! - There the machine has a list of partitions from a file, in which a partition may have several
//!   parents of a size, and names are texts. A tree of halves is the choice of this project.
//! - There partitions above 4096 nodes have no buddy. Here there is no limit.
//! - A job that has run for its estimate or longer ends now. There the time left is negative.
//! - A job without an estimate is placed by the base rule. A running job without an estimate does
//!   not count as the job of a buddy.
//! - A block that is reserved for a waiting job, and withheld from the job that is placed, counts
//!   as held by the waiting job until the waiting job's estimated end.
//! - The place of a reservation, which is a supposition, is chosen by the base rule. So is a place
//!   in an [`Allocator`](crate::Allocator), which knows no ends.
//!
//! # Complexity and memory
//!
//! At most 2 N / s partitions of at least the size s, each looked at in O(words of the box). The
//! walltime-aware rule also looks through the running jobs for each partition that is no worse than
//! the best before it. A release takes nothing. Memory: none.
//!
//! # Recognition
//!
//! Not complete: a free box that is not a partition of the size is not found. Among the partitions
//! of the size both rules are complete: in the same state they refuse the same requests.
//!
//! # Drawbacks
//!
//! A job holds up to nearly twice as many processors as it asks for.
//!
//! # Example
//!
//! A 4 x 4 mesh. Jobs A (until 100), B and C (until 10) of four processors get the squares of the
//! tree from the left; then B ends. A job of 3 processors for 12 arrives. The two idle squares have
//! no idle parent. The base rule takes the first, beside A. The walltime-aware rule takes the
//! square beside C, which ends at nearly the same time.
//!
//! ```text
//!   y  partition      y  walltime-aware
//!   3  D D . .        3  . . D D
//!   2  D D . .        2  . . D D
//!   1  A A C C        1  A A C C
//!   0  A A C C        0  A A C C
//!      0 1 2 3  x        0 1 2 3  x
//! ```
//!
//! ```
//! # use meshalloc::*;
//! let place = |strategy| {
//!     let machine = Mesh::new(4, 4).unwrap().into();
//!     let mut storage: storage!(mesh 4 x 4, strategies [Partition], jobs 8) = Storage::new();
//!     let mut controller = Controller::new(storage.memory(), Configuration {
//!         machine,
//!         strategy,
//!         scheduler: SchedulerKind::Fcfs,
//!     })?;
//!     let mut submit = |job, processors, estimate| {
//!         let request = Request::submesh(4, 4).with_processors(processors);
//!         let request = request.with_estimate(estimate);
//!         controller.handle(&Change::submit(JobId(job), request), 0)?;
//!         if job == 3 {
//!             controller.handle(&Change::Release { job: JobId(2) }, 0)?;
//!         }
//!         let block = controller.view().blocks(JobId(job)).next().expect("it runs");
//!         Ok::<_, Box<dyn std::error::Error>>(Submesh::of(&machine, block)?)
//!     };
//!     let mut place = |(job, processors, estimate)| submit(job, processors, estimate);
//!     [(1, 4, 100), (2, 4, 50), (3, 4, 10), (4, 3, 12)].into_iter().map(&mut place).collect()
//! };
//! let square = |x, y| Submesh::new(x, y, 2, 2);
//! let [a, b, c, d] = [square(0, 0), square(0, 2), square(2, 0), square(2, 2)];
//! let of = |strategy| -> Result<Vec<Submesh>, Box<dyn std::error::Error>> { place(strategy) };
//! assert_eq!(of(StrategyKind::Partition)?, [a, b, c, b]);
//! assert_eq!(of(StrategyKind::WalltimeAware)?, [a, b, c, d]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use heapless::Vec;

use super::{Draft, Request, Site, Workspace};
use crate::error::Refusal;
use crate::grid::{Block, Grid, NODES_MAX};
use crate::request::Ticks;

/// The partitions that wait during a search, one of each level. A side of s is halved at most
/// 2 log2 s times.
const WAITING_MAX: usize = 2 * NODES_MAX.ilog2() as usize + 2;

/// The choice of a partition if several have the fewest idle parents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// The first.
    First,
    /// The partition beside the job that ends at about the same time.
    NearestEnd,
}

/// A partition during a search.
#[derive(Clone, Copy)]
struct Partition {
    block: Block,
    buddy: Option<Block>,
    /// The number of idle parents. If a parent is idle, so is the partition.
    idle_parents: u32,
}

impl Partition {
    fn whole(grid: &Grid) -> Partition {
        Partition {
            block: grid.whole(),
            buddy: None,
            idle_parents: 0,
        }
    }

    /// The two halves, the lower one first; `None` for a single processor.
    fn halves(self, grid: &Grid, idle_parents: u32) -> Option<[Partition; 2]> {
        let extent = grid.extent(self.block);
        let longest = *extent.iter().max()?;
        let along = extent.iter().position(|&side| side == longest)?;
        if longest == 1 {
            return None;
        }
        let start = grid.start(self.block);
        let lower = longest.div_ceil(2);
        // A half begins at this distance from the start of the whole, and has this length.
        let half = |from: u16, len: u16| {
            grid.encode(
                |at| u32::from(start[at] + if at == along { from } else { 0 }),
                |at| u32::from(if at == along { len } else { extent[at] }),
            )
        };
        let [first, second] = [half(0, lower), half(lower, longest - lower)];
        let is_equal = longest.is_multiple_of(2);
        let partition = |block, other| Partition {
            block,
            buddy: is_equal.then_some(other),
            idle_parents,
        };
        Some([partition(first, second), partition(second, first)])
    }
}

/// The smallest size of a partition for this number of processors; `None` if the machine has fewer.
fn size(grid: &Grid, processors: u32) -> Option<u32> {
    let mut least = None;
    let mut waiting: Vec<Partition, WAITING_MAX> = Vec::new();
    let mut next = Some(Partition::whole(grid));
    while let Some(partition) = next.or_else(|| waiting.pop()) {
        next = None;
        let area = grid.area(partition.block);
        if area < processors {
            continue;
        }
        if least.is_none_or(|least| area < least) {
            least = Some(area);
        }
        if area == processors {
            break;
        }
        if let Some([lower, upper]) = partition.halves(grid, 0) {
            // Equal halves have parts of the same sizes.
            if lower.buddy.is_none() {
                let _ = waiting.push(upper);
            }
            next = Some(lower);
        }
    }
    least
}

/// The demand: the size of the partition that a request takes.
pub(super) fn partition(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    size(grid, request.processors).ok_or(Refusal::NeverFits)
}

/// The idle partition with the fewest idle parents; if there are several, the choice decides.
pub(super) fn place(
    site: &Site<'_>,
    _workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
    choice: Choice,
) -> Option<Block> {
    let grid = site.grid();
    let size = size(grid, request.processors)?;
    let knows_ends = choice == Choice::NearestEnd && !site.is_question();
    let outlook = site.outlook(draft).filter(|_| knows_ends);
    let both = outlook.zip(request.estimate);
    let difference = |buddy: Block| -> Option<Ticks> {
        let (outlook, estimate) = both?;
        let held = outlook.held().find(|held| held.block == buddy)?;
        Some(estimate.get().abs_diff(held.ends? - outlook.now()))
    };
    // The number of idle parents, and the difference of times. A partition without a difference
    // comes last.
    let mut best: Option<((u32, Option<Ticks>), Block)> = None;
    let mut waiting: Vec<Partition, WAITING_MAX> = Vec::new();
    let mut next = Some(Partition::whole(grid));
    while let Some(partition) = next.or_else(|| waiting.pop()) {
        next = None;
        draft.poll();
        let Partition {
            block,
            buddy,
            idle_parents,
        } = partition;
        let area = grid.area(block);
        if area < size {
            continue;
        }
        let is_idle = idle_parents > 0 || site.occupancy.is_free(block);
        if area > size {
            let parents = if is_idle { idle_parents + 1 } else { 0 };
            if let Some([lower, upper]) = partition.halves(grid, parents) {
                // There is room for one partition of each level.
                let _ = waiting.push(upper);
                next = Some(lower);
            }
            continue;
        }
        let is_behind = best.is_some_and(|((fewest, _), _)| fewest < idle_parents);
        if !is_idle || is_behind {
            continue;
        }
        let difference = buddy.and_then(difference);
        let is_better = best.is_none_or(|((fewest, least), _)| {
            let is_nearer = match (difference, least) {
                (Some(difference), Some(least)) => difference < least,
                (difference, least) => difference.is_some() && least.is_none(),
            };
            idle_parents < fewest || is_nearer
        });
        if is_better {
            best = Some(((idle_parents, difference), block));
        }
        if site.is_question() || idle_parents == 0 && both.is_none() {
            break;
        }
    }
    best.map(|(_, block)| block)
}
