//! Foresight on a two-dimensional mesh.
//!
//! What is free is a list of [`Bands`]: rows that are alike are one. The maximal free rectangles
//! that meet given blocks are found by going through the pairs of bands around them, at most as
//! many as there are edges of blocks; only those that are free now are kept in a list.

#[cfg(feature = "restore")]
use super::Writer;
use super::bands::{Bands, Room};
use super::candidates::{Candidate, Candidates, Shapes};
use super::expected::{Expected, MASK_WORDS, Mask, Wanted, Within};
use super::fits::Fits;
use super::{Known, Rule, Space, TICKS_WORDS};
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::grid::{Block, Grid};
use crate::mesh::{Mesh, Submesh};
use crate::occupancy::Occupancy;
use crate::outlook::Outlook;
use crate::request::Request;
use crate::search::rectangles::fits_somewhere;
use crate::strategy::Workspace;
use crate::strategy::common::demand_either_way;
use crate::word::{Word, low_half, words_for};

/// The words that it needs, apart from the ends of jobs.
pub(super) const fn words(machine: &Grid, budget: u64) -> usize {
    Division::new(machine.side(0), machine.side(1), budget).words()
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

/// Foresight on a two-dimensional mesh.
#[derive(Debug)]
pub(super) struct Plane {
    mesh: Mesh,
    division: Division,
    expected: Expected,
    /// The candidates of the latest decision: their shapes, and how many there were.
    latest: Option<(Shapes, usize)>,
}

impl Plane {
    pub(super) fn new(grid: &Grid, budget: u64) -> Option<Plane> {
        let mesh = Mesh::of(grid)?;
        Some(Plane {
            mesh,
            division: Division::new(mesh.sides().w, mesh.sides().h, budget),
            expected: Expected::new(),
            latest: None,
        })
    }

    pub(super) fn forget(&mut self, words: &mut [Word]) {
        let parts = Parts::new(words, self.division);
        self.expected.begin(self.mesh, parts.table);
        self.latest = None;
    }

    pub(super) fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_either_way(request, self.mesh)
    }

    pub(super) fn would_fit(
        &self,
        supposed: &Occupancy<'_>,
        request: &Request,
        _: &mut [Word],
        draft: &Draft<'_, '_>,
    ) -> bool {
        fits_somewhere(supposed, request, draft)
    }

    pub(super) fn arrived(&mut self, wanted: Wanted, words: &mut [Word]) {
        let parts = Parts::new(words, self.division);
        self.expected.arrived(wanted, parts.table);
    }

    #[cfg(feature = "restore")]
    pub(super) fn save(&self, state: &mut Writer<'_>) {
        for wanted in self.expected.recent() {
            state.put(&wanted);
        }
    }

    /// Learns what waits. Returns the bitmap of what never becomes free, and the ends of jobs.
    pub(super) fn look<'w>(
        &mut self,
        outlook: &Outlook<'_, '_>,
        words: &'w mut [Word],
    ) -> (&'w mut [Word], &'w mut [[Word; TICKS_WORDS]]) {
        let parts = Parts::new(words, self.division);
        self.expected.wait(outlook.waiting(), parts.table);
        (parts.fixed, parts.ends)
    }

    /// Chooses among the corners of the maximal free submeshes.
    pub(super) fn decide<R: Rule>(
        &mut self,
        known: &mut Known,
        workspace: &mut Workspace<'_>,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> Option<Block> {
        let (running, most) = known.take::<R>(occupancy, request);
        let parts = Parts::new(workspace.words, self.division);
        // There is room for as many submeshes as processors are free, which maximal ones are no
        // more than.
        let (running, list) = workspace.list.split_at_mut(running);
        let blocks = running.iter().map(|&block| Submesh::from_bits(block));
        let room = Room {
            starts: parts.starts,
            of_rows: parts.of_rows,
            busy: parts.busy,
            fixed: known.fixed(parts.fixed),
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
                    candidates.consider(shapes.key(place), most, |least| {
                        bands.contact(place, free, least)
                    });
                });
            }
        }
        candidates.sort(&spend);
        self.latest = Some((shapes, candidates.len()));
        if candidates.len() > 1 {
            let mut space = Placing {
                bands,
                candidates,
                fits: Fits::new((&self.expected, parts.table), parts.masks),
            };
            space.begin(free, &spend);
            let space = known.scored::<R, _>(space, request, running, parts.ends, &spend);
            candidates = space.candidates;
        }
        let best = candidates.best();
        best.map(|best| shapes.place(best).into())
    }

    /// The candidates of the latest decision with their scores, which are 0 if there was only one.
    /// For tests.
    pub(super) fn latest<'w>(
        &self,
        workspace: &'w Workspace<'_>,
    ) -> impl Iterator<Item = Candidate> + use<'w> {
        let words = &*workspace.words;
        let keys = self.division.keys();
        let contacts = keys + self.division.candidates;
        let scores = contacts + self.division.candidates;
        let candidates = move |(shapes, len): (Shapes, usize)| {
            (0..len).map(move |at| Candidate {
                place: shapes.place(words[keys + at]).into(),
                contact: low_half(words[contacts + at]),
                score: low_half(words[scores + at]),
            })
        };
        self.latest.into_iter().flat_map(candidates)
    }
}

/// The mesh while a job is placed.
struct Placing<'a> {
    bands: Bands<'a>,
    candidates: Candidates<'a, Shapes>,
    fits: Fits<'a, (&'a Expected, &'a [Within])>,
}

/// Where the candidates are.
#[inline]
fn places(candidates: &Candidates<'_, Shapes>) -> impl ExactSizeIterator<Item = Submesh> {
    let shapes = *candidates.kind();
    candidates.keys().iter().map(move |&key| shapes.place(key))
}

impl Placing<'_> {
    /// State 0: nothing has changed but that the candidate is placed; these are the maximal free
    /// submeshes.
    fn begin(&mut self, free: &[u64], spend: &dyn Fn(u32)) {
        self.fits.begin(0, &[], self.candidates.len());
        let instructions = self.instructions_each();
        for &free in free {
            spend(instructions);
            self.fits
                .add(0, Submesh::from_bits(free), places(&self.candidates));
        }
        self.fits.settle(self.candidates.len());
    }

    /// About how many instructions each free submesh takes.
    const fn instructions_each(&self) -> u32 {
        1_000 + 150 * self.candidates.len() as u32
    }
}

impl Space for Placing<'_> {
    fn area(&self, block: u64) -> u32 {
        Submesh::from_bits(block).area()
    }

    fn overlap(&self, one: u64, other: u64) -> bool {
        Submesh::from_bits(one).overlaps(Submesh::from_bits(other))
    }

    fn release(&mut self, block: u64) {
        self.bands.release(Submesh::from_bits(block));
    }

    fn take(&mut self, block: u64) {
        self.bands.take(Submesh::from_bits(block));
    }

    fn candidates(&self) -> usize {
        self.candidates.len()
    }

    fn describe(&mut self, state: usize, from: &[usize], jobs: &[u64], spend: &dyn Fn(u32)) {
        self.fits.begin(state, from, self.candidates.len());
        let instructions = self.instructions_each();
        let mut blocks = [Submesh::EMPTY; 3];
        for (block, &job) in blocks.iter_mut().zip(jobs) {
            *block = Submesh::from_bits(job);
        }
        let blocks = &blocks[..jobs.len()];
        self.bands
            .for_each_maximal_meeting(blocks, spend, &mut |free| {
                spend(instructions);
                self.fits.add(state, free, places(&self.candidates));
            });
    }

    fn score(&mut self, state: usize, weight: u32) {
        let fits = &self.fits;
        let count = self.candidates.len();
        self.candidates
            .score(weight, |at| fits.value(state, at, count));
    }
}
