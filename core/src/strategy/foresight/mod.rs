//! The code that strategies that look ahead share. It finds the expected requests, and those of
//! them that still fit after a job has been placed and others have left.
//!
//! A set of requests is a mask with a bit for each (`expected::Mask`). The requests that fit into a
//! box are the AND of table entries, one for each dimension. The requests that fit into a machine
//! are the OR over its maximal free boxes. So nothing is computed for a single request.
//!
//! The rules that choose (`departures`, `ends`) know only jobs that leave and states of the
//! machine. A [`Space`] knows the free processors: [`Bands`] of a two-dimensional mesh,
//! [`Planes`](crate::search::maximal::Planes) of any other grid.

use super::contiguous::first_in;
use super::demand::in_any_order;
use super::keeps::Keeps;
use super::kind::BUDGETS;
use super::{Draft, OccupancyEvent, Site, Workspace};
use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::grid::{ANY_GRID, Block, Grid, Shape};
use crate::machine::{Description, Layouts, SliceRule, may_turn};
use crate::occupancy::Occupancy;
use crate::request::Flags;
use crate::request::{Request, Ticks};
use crate::search::columns::Scratch;
use crate::search::maximal::{Planes, words_for_boxes};
use crate::search::shapes::AnyOrder;
use crate::search::steps::Rule;
use crate::word::{WORD_BITS, Word, low_half};

mod bands;
mod candidates;
mod departures;
mod ends;
mod expected;
mod fits;
mod planes;

use bands::Bands;
pub use candidates::Candidate;
use candidates::{Candidates, place_of};
use expected::{Expected, MASK_WORDS, Mask, WAITING, Wanted};
use fits::{Adding, Fits};

/// The words that a time takes.
const TICKS_WORDS: usize = (Ticks::BITS / WORD_BITS) as usize;

/// The words that foresight needs, with room for the ends of `ends` running jobs. An invalid
/// budget, which no allocator serves, counts as the nearest valid one.
pub(crate) const fn words(machine: &Grid, budget: u64, ends: usize) -> usize {
    let budget = match budget {
        less if less < *BUDGETS.start() => *BUDGETS.start(),
        more if more > *BUDGETS.end() => *BUDGETS.end(),
        valid => valid,
    };
    let division = Division::new(machine, budget);
    division.contacts() + 2 * division.candidates + ends * TICKS_WORDS
}

/// How the words of the workspace are divided. The remaining words are for the ends of running
/// jobs.
#[derive(Clone, Copy, Debug)]
struct Division {
    /// The words for the tables of [`Expected`].
    table: usize,
    /// The words for a bitmap of all processors.
    fixed: usize,
    /// The words for the [`Space`] and for searches of one box.
    space: usize,
    /// The words for [`Fits`].
    masks: usize,
    /// The words for the contacts of the candidates; as many again are for their scores.
    candidates: usize,
}

impl Division {
    const fn new(grid: &Grid, budget: u64) -> Division {
        Division {
            table: Expected::words(grid),
            fixed: Occupancy::words_needed(grid),
            space: if ANY_GRID && !grid.is_plane() {
                words_for_boxes(grid)
            } else {
                Bands::words(grid)
            },
            masks: budget as usize * MASK_WORDS,
            candidates: budget as usize,
        }
    }

    /// Where the contacts begin; the scores are behind them.
    const fn contacts(self) -> usize {
        self.table + self.fixed + self.space + self.masks
    }
}

/// The parts of the words.
struct Parts<'a> {
    table: &'a mut [Mask],
    fixed: &'a mut [Word],
    space: &'a mut [Word],
    masks: &'a mut [Mask],
    contacts: &'a mut [Word],
    scores: &'a mut [Word],
    ends: &'a mut [[Word; TICKS_WORDS]],
}

impl<'a> Parts<'a> {
    fn new(mut words: &'a mut [Word], division: Division) -> Self {
        let mut part = |len: usize| words.split_off_mut(..len).unwrap_or_default();
        Parts {
            table: part(division.table).as_chunks_mut().0,
            fixed: part(division.fixed),
            space: part(division.space),
            masks: part(division.masks).as_chunks_mut().0,
            contacts: part(division.candidates),
            scores: part(division.candidates),
            ends: words.as_chunks_mut().0,
        }
    }
}

/// The free processors of a machine, with blocks that can become free for a while.
trait Space {
    /// Considers every corner of every maximal free box, in all orders of the extents that the
    /// request allows. With a rule about where slices begin, it considers the allowed places
    /// closest to the corner.
    fn find(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        rule: Option<Rule<'_>>,
        candidates: &mut Candidates<'_>,
        poll: &dyn Fn(),
    );

    /// Makes the block of a running job free.
    fn release(&mut self, block: Block);

    /// Makes the block busy again.
    fn take(&mut self, block: Block);

    /// Adds the maximal boxes that are free now and meet each of these blocks, at most three.
    fn add(&mut self, blocks: &[Block], adding: Adding<'_, '_>, poll: &dyn Fn());
}

/// The data that a strategy that looks ahead keeps. Its tables are in the words of the workspace.
#[derive(Debug)]
pub(super) struct Foresight {
    division: Division,
    expected: Expected,
    budget: u64,
    /// Whether running jobs leave in the order of their expected ends, if the placed job has an
    /// estimate. Otherwise any of them may leave next.
    by_ends: bool,
    /// The candidates of the latest decision: where they are in the list, and how many.
    latest: (usize, usize),
}

/// The data from an outlook that is not in the workspace. `list[..running]` has the other jobs:
/// those that run, and those with a reservation. Blocks are stored as [`Block::into_raw`].
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    running: usize,
    /// Whether some of these jobs may hold the same processors.
    may_overlap: bool,
    /// Whether a bit is set in the bitmap of processors that never become free.
    is_any_fixed: bool,
}

impl Foresight {
    /// The strategy on this machine.
    pub(super) fn new(grid: &Grid, budget: u64, by_ends: bool) -> Self {
        Foresight {
            division: Division::new(grid, budget),
            expected: Expected::new(*grid),
            budget,
            by_ends,
            latest: (0, 0),
        }
    }

    /// The shape for which an expected request stands. A request for a number of processors stands
    /// for the first of its shapes that fits the machine; `None` if no shape fits.
    fn wanted(&self, machine: Option<&Description>, request: &Request) -> Option<Wanted> {
        if !Description::BUILT {
            let (shape, may_rotate) = (request.shape, request.may_rotate());
            return Some(Wanted { shape, may_rotate });
        }
        let grid = &self.expected.grid;
        let may_rotate = may_turn(request, machine);
        let flags = if may_rotate {
            Flags::empty()
        } else {
            Flags::FIXED_ORIENTATION
        };
        let fits = |shape: &Shape| {
            let form = Request::new(*shape).with_flags(flags);
            in_any_order(&form, grid).is_ok()
        };
        let layouts = Layouts::new(SliceRule::Folded, machine, grid);
        let shape = layouts.forms(request).find(fits)?;
        Some(Wanted { shape, may_rotate })
    }

    /// Notes the blocks and ends of the other jobs.
    fn look(
        &mut self,
        site: &Site<'_>,
        workspace: &mut Workspace<'_>,
        draft: &Draft<'_, '_>,
    ) -> Seen {
        let mut waiting = [None; WAITING];
        let outlook = site.outlook(draft);
        if let Some(outlook) = &outlook {
            for (wanted, request) in waiting.iter_mut().zip(outlook.waiting()) {
                *wanted = self.wanted(workspace.machine(), request);
            }
        }
        let parts = Parts::new(workspace.words, self.division);
        self.expected.wait(waiting, parts.table);
        let Some(outlook) = outlook else {
            return Seen::default();
        };
        let mut running = 0;
        for (held, entry) in outlook.held().zip(&mut *workspace.list) {
            *entry = held.block.into_raw();
            if self.by_ends
                && let Some(end) = parts.ends.get_mut(running)
            {
                // Jobs without a known end end last.
                let left = held.ends.map_or(Ticks::MAX, |end| end - outlook.now());
                *end = ticks_to_words(left);
            }
            running += 1;
        }
        Seen {
            running,
            may_overlap: outlook.is_any_reserved(),
            is_any_fixed: mark_faulty(outlook.occupancy(), parts.fixed),
        }
    }

    /// Shows the candidates of the latest decision with their scores. The score of a single
    /// candidate is 0. For tests.
    pub(super) fn latest(&self, workspace: &Workspace<'_>, show: &mut dyn FnMut(Candidate)) {
        let Workspace { words, list, .. } = workspace;
        let (first, len) = self.latest;
        let contacts = &words[self.division.contacts()..];
        let scores = &contacts[self.division.candidates..];
        let both = contacts.iter().zip(scores);
        for (&key, (&contact, &score)) in list[first..].iter().zip(both).take(len) {
            show(Candidate {
                place: place_of(key),
                contact: low_half(contact),
                score: low_half(score),
            });
        }
    }
}

impl Keeps for Foresight {
    fn arrived(&mut self, workspace: &mut Workspace<'_>, request: &Request) {
        if let Some(wanted) = self.wanted(workspace.machine(), request) {
            let parts = Parts::new(workspace.words, self.division);
            self.expected.arrived(wanted, parts.table);
        }
    }

    fn changed(
        &mut self,
        workspace: &mut Workspace<'_>,
        _: &Occupancy<'_>,
        event: OccupancyEvent,
        _: &dyn Fn(),
    ) {
        if matches!(event, OccupancyEvent::Reset) {
            let parts = Parts::new(workspace.words, self.division);
            self.expected.begin(parts.table);
            self.latest = (0, 0);
        }
    }

    /// The recent requests, the oldest first.
    fn save(&self, state: &mut Writer<'_>) {
        for wanted in self.expected.recent() {
            state.put(&wanted);
        }
    }

    fn restore(
        &mut self,
        workspace: &mut Workspace<'_>,
        state: &mut Reader<'_>,
    ) -> Result<(), RestoreError> {
        let parts = Parts::new(workspace.words, self.division);
        self.expected.arrived(state.take()?, parts.table);
        Ok(())
    }
}

/// The best of the corners of the maximal free boxes. If only the answer yes or no counts, the
/// first place of adaptive scan.
pub(super) fn place(
    foresight: &mut Foresight,
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let (occupancy, rule) = (site.occupancy, workspace.rule());
    if site.is_question() {
        let parts = Parts::new(workspace.words, foresight.division);
        let scratch = Scratch::Blank(parts.space);
        return first_in(occupancy, rule, scratch, request, draft, AnyOrder);
    }
    let seen = foresight.look(site, workspace, draft);
    let poll = || draft.poll();
    let parts = Parts::new(workspace.words, foresight.division);
    // Reservations may lie where jobs run, so there may be more reservations than there is room
    // for.
    let busy = occupancy.grid().nodes() - occupancy.free();
    let running = seen.running.min(busy as usize);
    let own_end = request.estimate.filter(|_| foresight.by_ends);
    let most = match own_end {
        Some(_) => ends::candidates_max(foresight.budget, running as u64),
        None => departures::candidates_max(foresight.budget, running as u64),
    };
    // Behind the jobs there is room for as many places as processors are free.
    let most = most.min(occupancy.free().into()) as usize;
    let (running, keys) = workspace.list.split_at_mut(running);
    let mut candidates = Candidates::new(keys, parts.contacts, parts.scores, most);

    let blocks = running.iter().map(|&block| Block::from_raw(block));
    let fixed = if seen.is_any_fixed {
        &*parts.fixed
    } else {
        &[]
    };
    let (mut bands, mut planes);
    let space: &mut dyn Space = if ANY_GRID && !occupancy.layout().is_plane() {
        draft.poll();
        planes = Planes::new(occupancy, blocks, fixed, parts.space);
        &mut planes
    } else {
        bands = Bands::new(occupancy, blocks, fixed, parts.space);
        &mut bands
    };
    space.find(occupancy, request, rule, &mut candidates, &poll);
    candidates.sort(&poll);
    foresight.latest = (running.len(), candidates.len());
    if candidates.len() > 1 {
        let mut decision = Decision {
            space,
            candidates,
            fits: Fits::new(&foresight.expected, parts.table, parts.masks),
            grid: occupancy.grid(),
            running,
            may_overlap: seen.may_overlap,
            ends: parts.ends,
            poll: &poll,
        };
        // State 0: only the candidate is placed.
        decision.describe(0, &[], &[]);
        decision.fits.settle(decision.candidates.len());
        match own_end {
            Some(own) => ends::score(&mut decision, foresight.budget, own.get()),
            None => departures::score(&mut decision, foresight.budget),
        }
        candidates = decision.candidates;
    }
    candidates.best()
}

/// A choice among several candidates, which are to be scored.
struct Decision<'a> {
    space: &'a mut dyn Space,
    candidates: Candidates<'a>,
    fits: Fits<'a>,
    grid: &'a Grid,
    running: &'a mut [u64],
    may_overlap: bool,
    /// How long the running jobs are expected to run, in ticks. A controller has room for the times
    /// of all its jobs.
    ends: &'a mut [[Word; TICKS_WORDS]],
    poll: &'a dyn Fn(),
}

impl Decision<'_> {
    const fn running(&self) -> usize {
        self.running.len()
    }

    const fn candidates(&self) -> usize {
        self.candidates.len()
    }

    fn block(&self, job: usize) -> Block {
        Block::from_raw(self.running[job])
    }

    /// Puts the `count` largest of the running jobs first, the largest at the front; ties: the job
    /// that was granted first.
    // A function of its own, so that the computation of areas is inlined.
    #[inline(never)]
    fn largest_first(&mut self, count: usize) {
        let area = |block| self.grid.area(Block::from_raw(block));
        for at in 0..self.running.len() {
            let mut to = at.min(count);
            self.running.swap(at, to);
            while to > 0 && area(self.running[to - 1]) < area(self.running[to]) {
                self.running.swap(to - 1, to);
                to -= 1;
            }
        }
    }

    /// Lets a running job leave. Processors that another job holds as well, if it is not gone, stay
    /// busy.
    fn leave(&mut self, job: usize, is_gone: &dyn Fn(usize) -> bool) {
        let block = self.block(job);
        self.space.release(block);
        if !self.may_overlap {
            return;
        }
        for other in 0..self.running.len() {
            let held = self.block(other);
            if other != job && self.grid.overlap(held, block) && !is_gone(other) {
                self.space.take(held);
            }
        }
    }

    /// Lets the job come back.
    fn come_back(&mut self, job: usize) {
        self.space.take(self.block(job));
    }

    /// Describes a state. In it fit the requests that fit in any of the states `from`, and those
    /// that fit into boxes that are free now and meet each of these jobs, at most three.
    fn describe(&mut self, state: usize, from: &[usize], jobs: &[usize]) {
        // The filling is never read.
        let mut blocks = [Block::ZERO; 3];
        for (block, &job) in blocks.iter_mut().zip(jobs) {
            *block = self.block(job);
        }
        let adding = self.fits.begin(state, from, &self.candidates);
        self.space.add(&blocks[..jobs.len()], adding, self.poll);
    }

    /// Adds the value of the state to the scores.
    fn score(&mut self, state: usize, weight: u32) {
        let (fits, count) = (&self.fits, self.candidates.len());
        self.candidates
            .score(weight, |at| fits.value(state, at, count));
    }

    /// How long a running job is expected to run, in ticks. A job without a known end never ends.
    fn end(&self, job: usize) -> Ticks {
        let end = self.ends.get(job);
        end.map_or(Ticks::MAX, |&words| words_to_ticks(words))
    }

    /// Puts the running jobs in the order of their expected ends; ties: the job that was granted
    /// first.
    fn first_end_first(&mut self) {
        for len in 1..self.running.len().min(self.ends.len()) {
            let mut at = len;
            while at > 0 && self.end(at) < self.end(at - 1) {
                self.running.swap(at, at - 1);
                self.ends.swap(at, at - 1);
                at -= 1;
            }
            (self.poll)();
        }
    }
}

/// Writes the faulty processors to `bits`, in the layout of the occupancy. No departure of a job
/// makes them free. Returns whether any processor is faulty; if none is, `bits` is left alone.
fn mark_faulty(occupancy: &Occupancy<'_>, bits: &mut [Word]) -> bool {
    let is_any_faulty = occupancy.faulty_count() > 0;
    if is_any_faulty {
        let rows = bits.chunks_exact_mut(occupancy.stride());
        for (row, bits) in rows.enumerate() {
            bits.copy_from_slice(occupancy.faulty_row(row));
        }
    }
    is_any_faulty
}

fn ticks_to_words(ticks: Ticks) -> [Word; TICKS_WORDS] {
    core::array::from_fn(|at| (ticks >> (at as u32 * WORD_BITS)) as Word)
}

fn words_to_ticks(words: [Word; TICKS_WORDS]) -> Ticks {
    let words = words.into_iter().enumerate();
    words.fold(0, |ticks, (at, word)| {
        ticks | Ticks::from(word) << (at as u32 * WORD_BITS)
    })
}
