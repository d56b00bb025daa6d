//! What strategies that look ahead share: which requests are expected, and which of them still fit
//! after a job has been placed and others have left.
//!
//! A set of requests is a [`Mask`], a bit for each. The requests that fit into a rectangle of `w x
//! h` processors are the AND of two entries of a table ([`Expected::fitting`]), and those that fit
//! into a mesh are the OR over its maximal free rectangles. So nothing is computed for a single
//! request.
//!
//! What is free is a list of [`Bands`]: rows that are alike are one. The maximal free rectangles
//! that meet given blocks are found by going through the pairs of bands around them, at most as
//! many as there are edges of blocks; only those that are free now are kept in a list.

use core::fmt;
use core::marker::PhantomData;

use super::common::demand_either_way;
use super::kind::BUDGETS;
use super::{Strategy, Workspace};
use crate::blocks::Draft;
#[cfg(feature = "restore")]
use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::error::{ConfigureError, Refusal};
use crate::grid::Grid;
use crate::mesh::{Mesh, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::outlook::Outlook;
use crate::request::{Request, Ticks};
use crate::search::rectangles::fits_somewhere;
use crate::word::{WORD_BITS, Word, low_half, words_for};

mod bands;
mod candidates;
pub(super) mod departures;
mod expected;
mod fits;

use bands::{Bands, Room};
pub use candidates::Candidate;
use candidates::{Candidates, Shapes};
use expected::{Expected, MASK_WORDS, Mask, Within};
use fits::Fits;

/// Words of a time.
const TICKS_WORDS: usize = (Ticks::BITS / WORD_BITS) as usize;

/// The words that foresight needs on a two-dimensional mesh, with room for the ends of `ends`
/// running jobs. For an invalid budget it is more than there can be, so that the configuration is
/// refused.
pub(crate) const fn words(machine: &Grid, budget: u64, ends: usize) -> usize {
    if budget < *BUDGETS.start() || budget > *BUDGETS.end() {
        return usize::MAX;
    }
    Division::new(machine.side(0), machine.side(1), budget).words() + ends * TICKS_WORDS
}

/// How the words of the workspace are divided. The rest is for the ends of running jobs.
#[derive(Clone, Copy, Debug)]
struct Division {
    /// For [`Expected`].
    table: usize,
    /// Each of the two bitmaps of [`Bands`].
    rows: usize,
    /// Where the bands start, and the band of each row: as many for each.
    starts: usize,
    /// For [`Fits`].
    masks: usize,
    /// For the keys of the candidates, for their contacts, and for their scores.
    candidates: usize,
}

impl Division {
    const fn new(w: u16, h: u16, budget: u64) -> Division {
        Division {
            table: Expected::words(if w > h { w } else { h }),
            rows: h as usize * words_for(w as u32),
            starts: h as usize + 1,
            masks: budget as usize * MASK_WORDS,
            candidates: budget as usize,
        }
    }

    const fn words(self) -> usize {
        self.keys() + 3 * self.candidates
    }

    /// Where the keys begin; the contacts are behind them, then the scores.
    const fn keys(self) -> usize {
        self.table + 2 * self.rows + 2 * self.starts + self.masks
    }
}

/// The parts of the words.
struct Parts<'a> {
    table: &'a mut [Within],
    fixed: &'a mut [Word],
    busy: &'a mut [Word],
    starts: &'a mut [Word],
    of_rows: &'a mut [Word],
    masks: &'a mut [Mask],
    keys: &'a mut [Word],
    contacts: &'a mut [Word],
    scores: &'a mut [Word],
    ends: &'a mut [[Word; TICKS_WORDS]],
}

impl<'a> Parts<'a> {
    fn new(mut words: &'a mut [Word], division: Division) -> Self {
        let mut part = |len: usize| words.split_off_mut(..len).unwrap_or_default();
        let table = part(division.table).as_chunks_mut().0;
        Parts {
            table: table.as_chunks_mut().0,
            fixed: part(division.rows),
            busy: part(division.rows),
            starts: part(division.starts),
            of_rows: part(division.starts),
            masks: part(division.masks).as_chunks_mut().0,
            keys: part(division.candidates),
            contacts: part(division.candidates),
            scores: part(division.candidates),
            ends: words.as_chunks_mut().0,
        }
    }
}

/// How a strategy that looks ahead chooses.
pub(super) trait Rule: fmt::Debug {
    /// Whether it goes by when running jobs are expected to end.
    const BY_ENDS: bool;

    /// The most candidates that are kept with this number of running jobs; at least 1.
    fn candidates_max(budget: u64, running: u64, request: &Request) -> u64;

    /// Scores several candidates.
    fn score(decision: &mut Decision<'_>, budget: u64, request: &Request);
}

/// A strategy that looks ahead and chooses by this rule.
#[derive(Debug)]
pub(super) struct Foresight<'m, R> {
    mesh: Mesh,
    budget: u64,
    division: Division,
    /// `list[..running]` are the other jobs of the latest outlook: those that run, and those for
    /// which something is reserved.
    pub(super) workspace: Workspace<'m>,
    running: usize,
    /// Whether some of them may hold the same processors.
    may_overlap: bool,
    /// Whether a bit is set in the bitmap of what never becomes free.
    is_any_fixed: bool,
    expected: Expected,
    /// The candidates of the latest decision: their shapes, and how many there were.
    latest: Option<(Shapes, usize)>,
    rule: PhantomData<R>,
}

impl<'m, R: Rule> Foresight<'m, R> {
    /// The strategy on this machine.
    pub(super) fn new(
        grid: Grid,
        workspace: Workspace<'m>,
        budget: u64,
    ) -> Result<Self, ConfigureError> {
        let mesh = Mesh::of(&grid).ok_or(ConfigureError::MachineUnsuitable)?;
        let (w, h) = (mesh.sides().w, mesh.sides().h);
        let mut foresight = Foresight {
            mesh,
            budget,
            division: Division::new(w, h, budget),
            workspace,
            running: 0,
            may_overlap: false,
            is_any_fixed: true,
            expected: Expected::new(),
            latest: None,
            rule: PhantomData,
        };
        foresight.forget();
        Ok(foresight)
    }

    /// Nothing has happened yet.
    fn forget(&mut self) {
        let parts = Parts::new(self.workspace.words, self.division);
        self.expected.begin(self.mesh, parts.table);
        self.running = 0;
        self.latest = None;
    }

    /// Chooses among the corners of the maximal free submeshes. What the outlook said is forgotten:
    /// it is good for one decision.
    fn decide(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> Option<Submesh> {
        // Of reservations that lie where jobs run there may be more than there is room for.
        let busy = self.mesh.nodes() - occupancy.free();
        let running = core::mem::take(&mut self.running).min(busy as usize);
        let parts = Parts::new(self.workspace.words, self.division);
        // There is room for as many submeshes as processors are free, which maximal ones are no
        // more than.
        let (running, list) = self.workspace.list.split_at_mut(running);
        let most = R::candidates_max(self.budget, running.len() as u64, request);
        let most = most.min(occupancy.free().into()) as usize;
        let blocks = running.iter().map(|&block| Submesh::from_bits(block));
        let room = Room {
            starts: parts.starts,
            of_rows: parts.of_rows,
            busy: parts.busy,
            fixed: match self.is_any_fixed {
                true => parts.fixed,
                false => &mut [],
            },
        };
        let bands = Bands::new(occupancy, blocks, room);
        let mut count = 0;
        let spend = |instructions| draft.spend(instructions);
        bands.for_each_maximal_meeting(&[], &spend, &mut |free| {
            if let Some(entry) = list.get_mut(count) {
                *entry = free.to_bits();
                count += 1;
            }
        });
        let free = &list[..count];
        let shapes = Shapes::of(request);
        let mut candidates = Candidates::new(shapes, parts.keys, parts.contacts, parts.scores);
        for free in free.iter().map(|&free| Submesh::from_bits(free)) {
            spend(1_500 + (300 * bands.len() + 100 * candidates.len()) as u32);
            for sides in request.orientations() {
                free.for_each_corner(sides, |place| {
                    candidates.consider(place, most, |place, least| {
                        bands.contact(place, free, least)
                    });
                });
            }
        }
        candidates.sort(&spend);
        self.latest = Some((shapes, candidates.len()));
        if candidates.len() > 1 {
            let mut decision = Decision {
                bands,
                candidates,
                fits: Fits::new(&self.expected, parts.table, parts.masks),
                running,
                may_overlap: self.may_overlap,
                ends: parts.ends,
                spend: &spend,
            };
            decision.begin(free);
            R::score(&mut decision, self.budget, request);
            candidates = decision.candidates;
        }
        candidates.best()
    }

    /// The candidates of the latest decision with their scores, which are 0 if there was only one.
    /// For tests.
    pub(super) fn latest(&self) -> impl Iterator<Item = Candidate> + '_ {
        let keys = self.division.keys();
        let contacts = keys + self.division.candidates;
        let scores = contacts + self.division.candidates;
        let words = &self.workspace.words;
        let candidates = move |(shapes, len): (Shapes, usize)| {
            (0..len).map(move |at| Candidate {
                place: shapes.place(words[keys + at]),
                contact: low_half(words[contacts + at]),
                score: low_half(words[scores + at]),
            })
        };
        self.latest.into_iter().flat_map(candidates)
    }
}

impl<R: Rule> Strategy for Foresight<'_, R> {
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_either_way(request, self.mesh)
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
        let place = self.decide(occupancy, request, draft);
        place.map(|submesh| draft.push(submesh)).is_some()
    }

    fn would_fit(
        &mut self,
        supposed: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        fits_somewhere(supposed, request, draft)
    }

    fn arrived(&mut self, request: &Request) {
        let parts = Parts::new(self.workspace.words, self.division);
        self.expected.arrived(request.into(), parts.table);
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn look(&mut self, outlook: &Outlook<'_, '_>) {
        let parts = Parts::new(self.workspace.words, self.division);
        self.expected.wait(outlook.waiting(), parts.table);
        if self.is_any_fixed {
            parts.fixed.fill(0);
        }
        self.is_any_fixed = outlook.mark_never_free(parts.fixed);
        self.running = 0;
        self.may_overlap = outlook.is_any_reserved();
        for (held, entry) in outlook.held().zip(&mut *self.workspace.list) {
            *entry = Submesh::of_plane(held.block).to_bits();
            if R::BY_ENDS
                && let Some(end) = parts.ends.get_mut(self.running)
            {
                // Jobs without a known end end last.
                let left = held.ends.map_or(Ticks::MAX, |end| end - outlook.now());
                *end = ticks_to_words(left);
            }
            self.running += 1;
        }
    }

    fn rebuild(&mut self, _: &Occupancy<'_>) {
        self.forget();
    }

    /// The recent requests, the oldest first.
    #[cfg(feature = "restore")]
    fn save(&self, state: &mut Writer<'_>) {
        for wanted in self.expected.recent() {
            state.put(&wanted);
        }
    }

    #[cfg(feature = "restore")]
    fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
        let parts = Parts::new(self.workspace.words, self.division);
        self.expected.arrived(state.take()?, parts.table);
        Ok(())
    }
}

/// A choice among several candidates, which are to be scored.
pub(super) struct Decision<'a> {
    bands: Bands<'a>,
    candidates: Candidates<'a>,
    fits: Fits<'a>,
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

impl fmt::Debug for Decision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { candidates, .. } = self;
        f.debug_struct("Decision")
            .field("candidates", candidates)
            .finish()
    }
}

impl Decision<'_> {
    /// State 0: nothing has changed but that the candidate is placed; these are the maximal free
    /// submeshes.
    fn begin(&mut self, free: &[u64]) {
        self.fits.begin(0, &[], self.candidates.len());
        let instructions = self.instructions_each();
        for &free in free {
            (self.spend)(instructions);
            self.fits
                .add(0, Submesh::from_bits(free), self.candidates.places());
        }
        self.fits.settle(self.candidates.len());
    }

    pub(super) const fn running(&self) -> usize {
        self.running.len()
    }

    /// What a running job holds.
    fn block(&self, job: usize) -> Submesh {
        Submesh::from_bits(self.running[job])
    }

    pub(super) const fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// Puts the `count` largest of the running jobs first, the largest at the front; of the same
    /// size those that were granted first.
    pub(super) fn largest_first(&mut self, count: usize) {
        let area = |block| Submesh::from_bits(block).area();
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
        let block = self.block(job);
        self.bands.release(block);
        if !self.may_overlap {
            return;
        }
        for other in 0..self.running.len() {
            let held = self.block(other);
            if other != job && held.overlaps(block) && !is_gone(other) {
                self.bands.take(held);
            }
        }
    }

    /// It is there again.
    pub(super) fn come_back(&mut self, job: usize) {
        self.bands.take(self.block(job));
    }

    /// Describes a state: in it fits what fits in any of the states `from`, and what fits into
    /// submeshes that are free now and meet each of these jobs.
    pub(super) fn describe(&mut self, state: usize, from: &[usize], jobs: &[usize]) {
        self.fits.begin(state, from, self.candidates.len());
        let instructions = self.instructions_each();
        let mut blocks = [Submesh::EMPTY; 3];
        for (block, &job) in blocks.iter_mut().zip(jobs) {
            *block = self.block(job);
        }
        let blocks = &blocks[..jobs.len()];
        self.bands
            .for_each_maximal_meeting(blocks, self.spend, &mut |free| {
                (self.spend)(instructions);
                self.fits.add(state, free, self.candidates.places());
            });
    }

    /// About how many instructions each free submesh takes.
    const fn instructions_each(&self) -> u32 {
        1_000 + 150 * self.candidates.len() as u32
    }

    /// Adds to the scores what the state is worth.
    pub(super) fn score(&mut self, state: usize, weight: u32) {
        let fits = &self.fits;
        let count = self.candidates.len();
        self.candidates
            .score(weight, |at| fits.value(state, at, count));
    }
}

/// What only a rule that goes by ends asks.
#[cfg(feature = "leb-estimates")]
impl Decision<'_> {
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
