//! What strategies that look ahead share: which requests are expected, and which of them still fit
//! after a job has been placed and others have left.
//!
//! A set of requests is a bit for each (`expected::Mask`). The requests that fit into a box are the
//! AND of entries of a table, one for each dimension, and those that fit into a machine are the OR
//! over its maximal free boxes. So nothing is computed for a single request.
//!
//! The rules that choose ([`Rule`]) know only jobs that leave and states of the machine. A
//! [`Space`] knows the machine: [`plane`] a two-dimensional mesh, [`boxes`] any other grid.

use core::fmt;
use core::marker::PhantomData;

use super::kind::BUDGETS;
use super::{Strategy, Workspace};
use crate::blocks::Draft;
#[cfg(feature = "restore")]
use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::error::{ConfigureError, Refusal};
use crate::grid::Grid;
use crate::mesh::Sides;
use crate::occupancy::Occupancy;
use crate::outlook::Outlook;
use crate::request::{Request, Ticks};
use crate::word::{WORD_BITS, Word};

mod bands;
#[cfg(feature = "any-grid")]
mod boxes;
mod candidates;
pub(super) mod departures;
mod expected;
mod fits;
mod plane;

#[cfg(feature = "any-grid")]
use boxes::Boxes;
pub use candidates::Candidate;
use plane::Plane;

/// Words of a time.
const TICKS_WORDS: usize = (Ticks::BITS / WORD_BITS) as usize;

/// The words that foresight needs, with room for the ends of `ends` running jobs. For an invalid
/// budget it is more than there can be, so that the configuration is refused.
pub(crate) const fn words(machine: &Grid, budget: u64, ends: usize) -> usize {
    if budget < *BUDGETS.start() || budget > *BUDGETS.end() {
        return usize::MAX;
    }
    #[cfg(feature = "any-grid")]
    if !machine.is_plane() {
        return boxes::words(machine, budget) + ends * TICKS_WORDS;
    }
    plane::words(machine, budget) + ends * TICKS_WORDS
}

/// How a strategy that looks ahead chooses.
pub(super) trait Rule: fmt::Debug {
    /// Whether it goes by when running jobs are expected to end.
    const BY_ENDS: bool;

    /// The most candidates that are kept with this number of running jobs; at least 1.
    fn candidates_max(budget: u64, running: u64, request: &Request) -> u64;

    /// Scores several candidates.
    fn score<S: Space>(decision: &mut Decision<'_, S>, budget: u64, request: &Request);
}

/// A machine with candidates: what is free, and which requests fit. Blocks are those of
/// [`Block::into_raw`].
pub(super) trait Space {
    /// The processors of a block.
    fn area(&self, block: u64) -> u32;

    /// Whether two blocks share a processor.
    fn overlap(&self, one: u64, other: u64) -> bool;

    /// A running job leaves.
    fn release(&mut self, block: u64);

    /// It is there again.
    fn take(&mut self, block: u64);

    /// The number of candidates.
    fn candidates(&self) -> usize;

    /// Describes a state: in it fits what fits in any of the states `from`, and what fits into
    /// boxes that are free now and meet each of these blocks, at most three.
    fn describe(&mut self, state: usize, from: &[usize], blocks: &[u64], spend: &dyn Fn(u32));

    /// Adds to the scores what the state is worth.
    fn score(&mut self, state: usize, weight: u32);
}

/// A strategy that looks ahead and chooses by this rule.
#[derive(Debug)]
pub(super) struct Foresight<'m, R> {
    /// `list[..running]` are the other jobs of the latest outlook: those that run, and those for
    /// which something is reserved.
    pub(super) workspace: Workspace<'m>,
    known: Known,
    form: Form,
    rule: PhantomData<R>,
}

/// What is known for the next decision.
#[derive(Debug)]
struct Known {
    budget: u64,
    running: usize,
    /// Whether some of them may hold the same processors.
    may_overlap: bool,
    /// Whether a bit is set in the bitmap of what never becomes free.
    is_any_fixed: bool,
}

impl Known {
    /// The number of running jobs, and the most candidates that are kept. What the outlook said is
    /// forgotten: it is good for one decision.
    fn take<R: Rule>(&mut self, occupancy: &Occupancy<'_>, request: &Request) -> (usize, usize) {
        // Of reservations that lie where jobs run there may be more than there is room for.
        let busy = occupancy.grid().nodes() - occupancy.free();
        let running = core::mem::take(&mut self.running).min(busy as usize);
        let most = R::candidates_max(self.budget, running as u64, request);
        (running, most.min(occupancy.free().into()) as usize)
    }

    /// The bits of what never becomes free; none if no bit is set.
    const fn fixed<'w>(&self, bits: &'w mut [Word]) -> &'w mut [Word] {
        match self.is_any_fixed {
            true => bits,
            false => &mut [],
        }
    }

    /// Has the rule score the candidates of a machine.
    fn scored<R: Rule, S: Space>(
        &self,
        space: S,
        request: &Request,
        running: &mut [u64],
        ends: &mut [[Word; TICKS_WORDS]],
        spend: &dyn Fn(u32),
    ) -> S {
        let mut decision = Decision {
            space,
            running,
            may_overlap: self.may_overlap,
            ends,
            spend,
        };
        R::score(&mut decision, self.budget, request);
        decision.space
    }
}

/// The machine that is served.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one, and no heap to put it on"
)]
enum Form {
    Plane(Plane),
    #[cfg(feature = "any-grid")]
    Boxes(Boxes),
}

/// Evaluates an expression with the form of the machine that is served.
macro_rules! with_form {
    ($form:expr, $name:ident => $result:expr) => {
        match $form {
            Form::Plane($name) => $result,
            #[cfg(feature = "any-grid")]
            Form::Boxes($name) => $result,
        }
    };
}

impl<'m, R: Rule> Foresight<'m, R> {
    /// The strategy on this machine.
    pub(super) fn new(
        grid: Grid,
        workspace: Workspace<'m>,
        budget: u64,
    ) -> Result<Self, ConfigureError> {
        let form = match Plane::new(&grid, budget) {
            Some(plane) => Form::Plane(plane),
            #[cfg(feature = "any-grid")]
            None => Form::Boxes(Boxes::new(grid, budget)),
            #[cfg(not(feature = "any-grid"))]
            None => return Err(ConfigureError::MachineUnsuitable),
        };
        let mut foresight = Foresight {
            workspace,
            known: Known {
                budget,
                running: 0,
                may_overlap: false,
                is_any_fixed: true,
            },
            form,
            rule: PhantomData,
        };
        foresight.forget();
        Ok(foresight)
    }

    /// Nothing has happened yet.
    fn forget(&mut self) {
        with_form!(&mut self.form, form => form.forget(self.workspace.words));
        self.known.running = 0;
    }

    /// The candidates of the latest decision with their scores, which are 0 if there was only one.
    /// For tests.
    pub(super) fn latest(&self, show: &mut dyn FnMut(Candidate)) {
        with_form!(&self.form, form => form.latest(&self.workspace).for_each(show));
    }
}

impl<R: Rule> Strategy for Foresight<'_, R> {
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        with_form!(&self.form, form => form.demand(request))
    }

    fn recognizes(&self, request: &Request, sides: Sides) -> bool {
        request.allows(sides)
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let (known, workspace) = (&mut self.known, &mut self.workspace);
        let place = with_form!(&mut self.form, form => {
            form.decide::<R>(known, workspace, occupancy, request, draft)
        });
        place.map(|block| draft.push(block)).is_some()
    }

    fn would_fit(
        &mut self,
        supposed: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let words = &mut *self.workspace.words;
        with_form!(&self.form, form => form.would_fit(supposed, request, words, draft))
    }

    fn arrived(&mut self, request: &Request) {
        with_form!(&mut self.form, form => form.arrived(request.into(), self.workspace.words));
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn look(&mut self, outlook: &Outlook<'_, '_>) {
        let words = &mut *self.workspace.words;
        let (fixed, ends) = with_form!(&mut self.form, form => form.look(outlook, words));
        let known = &mut self.known;
        if known.is_any_fixed {
            fixed.fill(0);
        }
        known.is_any_fixed = outlook.mark_never_free(fixed);
        known.running = 0;
        known.may_overlap = outlook.is_any_reserved();
        for (held, entry) in outlook.held().zip(&mut *self.workspace.list) {
            *entry = held.block.into_raw();
            if R::BY_ENDS
                && let Some(end) = ends.get_mut(known.running)
            {
                // Jobs without a known end end last.
                let left = held.ends.map_or(Ticks::MAX, |end| end - outlook.now());
                *end = ticks_to_words(left);
            }
            known.running += 1;
        }
    }

    fn rebuild(&mut self, _: &Occupancy<'_>) {
        self.forget();
    }

    /// The recent requests, the oldest first.
    #[cfg(feature = "restore")]
    fn save(&self, state: &mut Writer<'_>) {
        with_form!(&self.form, form => form.save(state));
    }

    #[cfg(feature = "restore")]
    fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
        let words = &mut *self.workspace.words;
        with_form!(&mut self.form, form => form.arrived(state.take()?, words));
        Ok(())
    }
}

/// A choice among several candidates, which are to be scored.
pub(super) struct Decision<'a, S> {
    space: S,
    running: &'a mut [u64],
    may_overlap: bool,
    /// How long the running jobs are expected to run, in ticks, as far as there is room: for all
    /// jobs that a controller has room for.
    #[cfg_attr(
        not(feature = "leb-estimates"),
        expect(dead_code, reason = "no rule of this build goes by ends")
    )]
    ends: &'a mut [[Word; TICKS_WORDS]],
    spend: &'a dyn Fn(u32),
}

impl<S: Space> Decision<'_, S> {
    pub(super) const fn running(&self) -> usize {
        self.running.len()
    }

    pub(super) fn candidates(&self) -> usize {
        self.space.candidates()
    }

    /// Puts the `count` largest of the running jobs first, the largest at the front; of the same
    /// size those that were granted first.
    pub(super) fn largest_first(&mut self, count: usize) {
        let area = |block| self.space.area(block);
        for at in 0..self.running.len() {
            let mut to = at.min(count);
            self.running.swap(at, to);
            while to > 0 && area(self.running[to - 1]) < area(self.running[to]) {
                self.running.swap(to - 1, to);
                to -= 1;
            }
        }
    }

    /// A running job leaves. What another one holds as well, of those that are not gone, stays
    /// busy.
    pub(super) fn leave(&mut self, job: usize, is_gone: &dyn Fn(usize) -> bool) {
        let block = self.running[job];
        self.space.release(block);
        if !self.may_overlap {
            return;
        }
        for other in 0..self.running.len() {
            let held = self.running[other];
            if other != job && self.space.overlap(held, block) && !is_gone(other) {
                self.space.take(held);
            }
        }
    }

    /// It is there again.
    pub(super) fn come_back(&mut self, job: usize) {
        self.space.take(self.running[job]);
    }

    /// Describes a state: in it fits what fits in any of the states `from`, and what fits into
    /// submeshes that are free now and meet each of these jobs.
    pub(super) fn describe(&mut self, state: usize, from: &[usize], jobs: &[usize]) {
        let mut blocks = [0; 3];
        for (block, &job) in blocks.iter_mut().zip(jobs) {
            *block = self.running[job];
        }
        let blocks = &blocks[..jobs.len()];
        self.space.describe(state, from, blocks, self.spend);
    }

    /// Adds to the scores what the state is worth.
    pub(super) fn score(&mut self, state: usize, weight: u32) {
        self.space.score(state, weight);
    }
}

/// What only a rule that goes by ends asks.
#[cfg(feature = "leb-estimates")]
impl<S> Decision<'_, S> {
    /// How long a running job is expected to run, in ticks; one that is not known to end never
    /// does.
    pub(super) fn end(&self, job: usize) -> Ticks {
        let end = self.ends.get(job);
        end.map_or(Ticks::MAX, |&words| words_to_ticks(words))
    }

    /// Puts the running jobs in the order in which they are expected to end; of the same end those
    /// that were granted first.
    pub(super) fn first_end_first(&mut self) {
        for len in 1..self.running.len().min(self.ends.len()) {
            let mut at = len;
            while at > 0 && self.end(at) < self.end(at - 1) {
                self.running.swap(at, at - 1);
                self.ends.swap(at, at - 1);
                at -= 1;
            }
            (self.spend)(100 + 100 * (len - at) as u32);
        }
    }
}

fn ticks_to_words(ticks: Ticks) -> [Word; TICKS_WORDS] {
    core::array::from_fn(|at| (ticks >> (at as u32 * WORD_BITS)) as Word)
}

#[cfg(feature = "leb-estimates")]
fn words_to_ticks(words: [Word; TICKS_WORDS]) -> Ticks {
    let words = words.into_iter().enumerate();
    words.fold(0, |ticks, (at, word)| {
        ticks | Ticks::from(word) << (at as u32 * WORD_BITS)
    })
}
