//! The nearest family: for each centre the n nearest free processors are a candidate, and the
//! candidate of the lowest score is taken.
//!
//! | strategy | centres | distance | score |
//! |---|---|---|---|
//! | `gen-alg` | each free processor | L1 | sum of the L1 distances of all pairs |
//! | `mm` | each place whose coordinates each occur among free processors; it may be busy | L1 | the same |
//! | `mc1x1` | each free processor | L-infinity | sum of the L-infinity distances to the centre |
//!
//! The L1 distance of two processors is the sum of their distances along each dimension, the
//! L-infinity distance the largest of these.
//!
//! # Source
//!
//! None of the papers could be read in full. The entries say what was read.
//!
//! - `gen-alg`: S. O. Krumke, M. V. Marathe, H. Noltemeier, V. Radhakrishnan, S. S. Ravi and D. J.
//!   Rosenkrantz, "Compact Location Problems", Theoretical Computer Science 181(2), 1997. Recalled,
//!   not read.
//! - `mm`: M. A. Bender, D. P. Bunde, E. D. Demaine, S. P. Fekete, V. J. Leung, H. Meijer and C. A.
//!   Phillips, "Communication-Aware Processor Allocation for Supercomputers: Finding Point Sets of
//!   Small Average Distance", Algorithmica 50(2), 2008. The abstract was read.
//! - `mc1x1`: J. Mache, V. Lo and K. Windisch, "Minimizing Message-Passing Contention in
//!   Fragmentation-Free Processor Allocation", Int. Conf. on Parallel and Distributed Computing
//!   Systems, 1997. Recalled, not read.
//!
//! The orders below are those of the source code of another simulator, the scheduler of the
//! Structural Simulation Toolkit (`sstsimulator/sst-elements`), which was read in full.
//!
//! # Orders
//!
//! A candidate replaces an earlier one only if its score is lower. Free processors are centres in
//! the order of their numbers. The centres of `mm` are taken with x outermost, then y, then z, each
//! coordinate in the order in which it first appears among the free processors by number. At
//! equal L1 distances the lower x comes first, then the lower y, then the lower z. At equal
//! L-infinity distances on a two-dimensional mesh the processors on the left side come first, then
//! those on the lower, the upper and the right side, each ascending and without corners; then the
//! corners, lower left, upper left, lower right and upper right.
//!
//! # Differences from that code
//!
//! - The centre of `mm` is taken only if it is free. That code takes it in any case, and so may
//!   hand out a busy processor.
//! - In three dimensions the sides are faces, and edges come between faces and corners. Within each
//!   of the three, lower x is first, then lower y, then lower z. A face or edge at the lower end of
//!   a dimension counts as lower than one in the middle. Read like this, the order above is the
//!   same.
//! - That code can also break ties of `mc1x1` by five parameters. Here there are no such
//!   parameters, as in that code by default.
//!
//! # Machines
//!
//! Meshes of two or three dimensions. On a ring the sides above are not defined.
//!
//! # Complexity and memory
//!
//! For each centre O(b + sides), where b is the number of processors, busy or not, that are no
//! farther from the centre than the farthest processor of its candidate. There are as many centres
//! as free processors, for `mm` up to as many as processors. So an allocation takes up to O(N^2) on
//! N processors: use the strategies on small machines. `mc1x1` leaves a centre as soon as its score
//! cannot be lower. A release takes nothing. Scratch: as many words as the occupancy, and two for
//! each coordinate of each dimension.
//!
//! # Recognition
//!
//! Complete: a request fails only if fewer than n processors are free. In two dimensions the sum of
//! the distances of all pairs is at most 7/4 of the least under `mm` (Bender and others), at most
//! twice the least under `gen-alg` (recalled). `mc1x1` has no bound.
//!
//! # Example
//!
//! A request for 6 processors on a 5 x 4 mesh, # busy. The centre is `o`. The centre of `mm` is
//! busy. The distances of all pairs of processors add up to 34 for `mm` and to 35 for `gen-alg`.
//! `mc1x1` takes all free neighbours of `<3, 1>`, of which only the one in the upper right corner
//! remains.
//!
//! ```text
//!   y  gen-alg        y  mm             y  mc1x1
//!   3  A A # . .      3  . . # A A      3  . . # . .
//!   2  A # A # .      2  . # A o A      2  . # A # A
//!   1  o # # . #      1  . # # A #      1  . # # o #
//!   0  # A # . .      0  # . # A .      0  # A # A A
//!      0 1 2 3 4  x      0 1 2 3 4  x      0 1 2 3 4  x
//! ```
//!
//! ```
//! use meshalloc::{Allocator, AllocatorStorage, Mesh, Refusal, Request, Submesh, storage};
//!
//! /// The blocks of the job.
//! fn place(strategy: &str) -> Result<Vec<Submesh>, Refusal> {
//!     let mut storage: storage!(mesh 5 x 4, strategies [GenAlg, Mm, Mc1x1], allocations 20) =
//!         AllocatorStorage::new();
//!     let machine = Mesh::new(5, 4).unwrap().into();
//!     let strategy = strategy.parse().unwrap();
//!     let mut allocator = Allocator::new(storage.memory(), machine, strategy).unwrap();
//!     for (x, y) in [(0, 0), (2, 0), (1, 1), (2, 1), (4, 1), (1, 2), (3, 2), (2, 3)] {
//!         allocator.mark_faulty(Submesh::new(x, y, 1, 1).into());
//!     }
//!     let job = allocator.allocate(&Request::submesh(3, 2))?;
//!     let blocks = allocator.blocks(&job).unwrap();
//!     Ok(blocks.map(|block| Submesh::of(&machine, block).unwrap()).collect())
//! }
//! let b = Submesh::new;
//!
//! let gen_alg = [b(1, 0, 1, 1), b(0, 1, 1, 2), b(2, 2, 1, 1), b(0, 3, 2, 1)];
//! assert_eq!(place("gen-alg")?, gen_alg);
//! let mm = [b(3, 0, 1, 2), b(2, 2, 1, 1), b(4, 2, 1, 1), b(3, 3, 2, 1)];
//! assert_eq!(place("mm")?, mm);
//! let mc = [b(1, 0, 1, 1), b(3, 0, 2, 1), b(3, 1, 1, 1), b(2, 2, 1, 1), b(4, 2, 1, 1)];
//! assert_eq!(place("mc1x1")?, mc);
//! # Ok::<(), Refusal>(())
//! ```

use core::ops::Range;

use super::{Draft, Gather, Request, Site, Workspace};
use crate::occupancy::Occupancy;
use crate::word::{WORD_BITS, Word, low_half};

/// The places that are centres.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Centres {
    /// Each free processor.
    Free,
    /// Each place whose coordinates each occur among free processors.
    Crossings,
}

/// How the distance of a processor from the centre and the score of a candidate are computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Norm {
    /// Sums of distances along the dimensions; the score is the sum over all pairs.
    L1,
    /// The largest distance along a dimension; the score is the sum over all processors of their
    /// distance to the centre.
    LInfinity,
}

/// Coordinates, the highest order of ties first: x, y and z, or 0, x and y in two dimensions. So
/// the last coordinate always belongs to a dimension of the mesh.
type Place = [u32; 3];

/// The sides of a mesh in this order.
#[derive(Clone, Copy)]
struct Sides(Place);

impl Sides {
    fn of(occupancy: &Occupancy<'_>) -> Sides {
        let grid = occupancy.grid();
        let side = |dimension| u32::from(grid.side(dimension));
        Sides(if occupancy.layout().is_plane() {
            [1, side(0), side(1)]
        } else {
            [side(0), side(1), side(2)]
        })
    }

    /// All places in the order of the numbers of processors.
    fn places(self) -> impl Iterator<Item = Place> {
        let [a, b, c] = self.0;
        (0..c).flat_map(move |c| (0..b).flat_map(move |b| (0..a).map(move |a| [a, b, c])))
    }

    /// The coordinates along an axis at most this far from the centre.
    fn span(self, axis: usize, centre: u32, distance: u32) -> Range<u32> {
        centre.saturating_sub(distance)..self.0[axis].min(centre + distance + 1)
    }

    /// Calls `visit` with each place at this distance from the centre, in the order of ties, until
    /// `visit` returns false. Returns whether it reached the end.
    fn shell(
        self,
        norm: Norm,
        centre: Place,
        distance: u32,
        visit: &mut dyn FnMut(Place) -> bool,
    ) -> bool {
        match norm {
            _ if distance == 0 => visit(centre),
            Norm::L1 => self.diamond(centre, distance, visit),
            Norm::LInfinity => ENDS.iter().all(|ends| {
                let range = |axis: usize| {
                    let at = centre[axis];
                    let end = match ends[axis] {
                        MIDDLE => return self.span(axis, at, distance - 1),
                        LOWER => at.checked_sub(distance),
                        _ => Some(at + distance).filter(|&end| end < self.0[axis]),
                    };
                    end.map_or(0..0, |end| end..end + 1)
                };
                range(0).all(|a| range(1).all(|b| range(2).all(|c| visit([a, b, c]))))
            }),
        }
    }

    /// [`Sides::shell`] of [`Norm::L1`].
    fn diamond(self, centre: Place, distance: u32, visit: &mut dyn FnMut(Place) -> bool) -> bool {
        self.span(0, centre[0], distance).all(|a| {
            let left = distance - a.abs_diff(centre[0]);
            self.span(1, centre[1], left).all(|b| {
                let left = left - b.abs_diff(centre[1]);
                let lower = centre[2].checked_sub(left);
                let upper = Some(centre[2] + left).filter(|&c| c < self.0[2] && left > 0);
                [lower, upper]
                    .into_iter()
                    .flatten()
                    .all(|c| visit([a, b, c]))
            })
        })
    }
}

/// Where a part of a shell lies along an axis: at the lower end, between the ends, or, with 2, at
/// the upper end.
const LOWER: u8 = 0;
const MIDDLE: u8 = 1;

/// The parts of the shell around a box in the order of ties: faces, edges, corners.
const ENDS: [[u8; 3]; 26] = {
    let mut all = [[MIDDLE; 3]; 26];
    let (mut len, mut at_ends) = (0, 1);
    while at_ends <= 3 {
        let mut number = 0;
        while number < 27 {
            let ends = [number / 9, number / 3 % 3, number % 3];
            let middles =
                (ends[0] == MIDDLE) as u8 + (ends[1] == MIDDLE) as u8 + (ends[2] == MIDDLE) as u8;
            if middles + at_ends == 3 {
                all[len] = ends;
                len += 1;
            }
            number += 1;
        }
        at_ends += 1;
    }
    all
};

/// The search for a candidate.
struct Search<'a, 'm, 'd, 'p> {
    occupancy: &'a Occupancy<'m>,
    sides: Sides,
    norm: Norm,
    processors: u32,
    draft: &'a mut Draft<'d, 'p>,
}

impl Search<'_, '_, '_, '_> {
    /// The word of the occupancy in which the processor of this place has its bit, and the bit.
    fn word(&self, [a, b, c]: Place) -> (usize, Word) {
        let [first, second, _] = self.sides.0;
        let (row, at) = if self.occupancy.layout().is_plane() {
            (c as usize, b)
        } else {
            (0, a + first * (b + second * c))
        };
        let word = row * self.occupancy.stride() + (at / WORD_BITS) as usize;
        (word, 1 << (at % WORD_BITS))
    }

    fn is_free(&self, place: Place) -> bool {
        let (word, bit) = self.word(place);
        let busy = self.occupancy.busy_rows().get(word);
        busy.is_some_and(|busy| busy & bit == 0)
    }

    /// Calls `take` with each processor of the candidate of this centre and its distance. At least
    /// as many processors are free as are wanted. Stops before a shell for which `goes_on`, given
    /// its distance and the number of missing processors, returns false.
    fn candidate(
        &self,
        centre: Place,
        mut goes_on: impl FnMut(u32, u32) -> bool,
        mut take: impl FnMut(Place, u32),
    ) {
        let mut missing = self.processors;
        let [a, b, c] = self.sides.0;
        for distance in 0..a + b + c {
            if missing == 0 || !goes_on(distance, missing) {
                break;
            }
            self.sides.shell(self.norm, centre, distance, &mut |place| {
                if self.is_free(place) {
                    missing -= 1;
                    take(place, distance);
                }
                missing > 0
            });
            self.draft.poll();
        }
    }

    /// The score of the candidate of this centre, if it is below `bound`. `counts` has a cell for
    /// each coordinate of each axis.
    fn score(&self, centre: Place, bound: u64, counts: &mut [Word]) -> Option<u64> {
        let score = match self.norm {
            Norm::LInfinity => {
                let score = core::cell::Cell::new(0);
                // The missing processors are at least as far away as this shell.
                let goes_on = |distance, missing| {
                    score.get() + u64::from(distance) * u64::from(missing) < bound
                };
                let mut taken = 0;
                self.candidate(centre, goes_on, |_, distance| {
                    taken += 1;
                    score.set(score.get() + u64::from(distance));
                });
                (taken == self.processors).then(|| score.get())?
            }
            Norm::L1 => {
                counts.fill(0);
                let starts = self.starts();
                let take = |place: Place, _| {
                    for (start, at) in starts.into_iter().zip(place) {
                        if let Some(count) = counts.get_mut(start + at as usize) {
                            *count += 1;
                        }
                    }
                };
                self.candidate(centre, |_, _| true, take);
                // Each gap along an axis lies on the way of every pair on its two sides.
                let all = u64::from(self.processors);
                let mut below = 0;
                let gaps = counts.iter().map(|&count| {
                    below += count as usize as u64;
                    if below == all {
                        // The next processors are those along the next axis.
                        below = 0;
                    }
                    below * (all - below)
                });
                gaps.sum()
            }
        };
        (score < bound).then_some(score)
    }

    /// The first cell of each axis among those of all coordinates.
    const fn starts(&self) -> [usize; 3] {
        let [a, b, _] = self.sides.0;
        [0, a as usize, (a + b) as usize]
    }

    /// Proposes the best candidate. `words` is the scratch of the strategy.
    fn propose(self, centres: Centres, words: &mut [Word]) -> bool {
        let (processors, free) = (self.processors, self.occupancy.free());
        if processors > free {
            return false;
        }
        let [a, b, c] = self.sides.0;
        let coordinates = (a + b + c) as usize;
        let (chosen, rest) = words.split_at_mut(self.occupancy.busy_rows().len());
        let (counts, order) = rest.split_at_mut(coordinates);
        let mut best = None;
        let mut consider = |centre, counts: &mut [Word]| {
            let bound = best.map_or(u64::MAX, |(score, _)| score);
            if let Some(score) = self.score(centre, bound, counts) {
                best = Some((score, centre));
            }
            // If all free processors are taken, every candidate is the same; no score is below 0.
            processors < free && best.is_none_or(|(score, _)| score > 0)
        };
        match centres {
            Centres::Free => {
                let mut centres = self.sides.places().filter(|&place| self.is_free(place));
                centres.all(|centre| consider(centre, counts));
            }
            Centres::Crossings => {
                let [first, second, third] = self.first_seen(counts, order);
                let mut consider = |centre: [Word; 3]| consider(centre.map(low_half), counts);
                first.iter().all(|&a| {
                    let mut rows = second.iter();
                    rows.all(|&b| third.iter().all(|&c| consider([a, b, c])))
                });
            }
        }
        let Some((_, centre)) = best else {
            return false;
        };
        chosen.fill(0);
        self.candidate(
            centre,
            |_, _| true,
            |place, _| {
                let (word, bit) = self.word(place);
                if let Some(word) = chosen.get_mut(word) {
                    *word |= bit;
                }
            },
        );
        Gather::new(*self.occupancy.grid(), self.draft).bits(self.occupancy, chosen);
        true
    }

    /// The coordinates of free processors along each axis, in the order in which they first appear
    /// among the free processors by number. `seen` and `order` have a cell for each coordinate of
    /// each axis.
    #[allow(
        clippy::cast_lossless,
        clippy::unnecessary_cast,
        reason = "words are shorter on the board"
    )]
    fn first_seen<'o>(&self, seen: &mut [Word], order: &'o mut [Word]) -> [&'o [Word]; 3] {
        seen.fill(0);
        let starts = self.starts();
        let mut lens = [0; 3];
        for place in self.sides.places().filter(|&place| self.is_free(place)) {
            for ((start, len), at) in starts.into_iter().zip(&mut lens).zip(place) {
                let seen = &mut seen[start + at as usize];
                if *seen == 0 {
                    *seen = 1;
                    order[start + *len] = at as Word;
                    *len += 1;
                }
            }
        }
        let [first, second, third] = starts;
        [
            &order[first..first + lens[0]],
            &order[second..second + lens[1]],
            &order[third..third + lens[2]],
        ]
    }
}

/// Takes the best candidate around one of these centres.
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
    centres: Centres,
    norm: Norm,
) -> bool {
    let search = Search {
        occupancy: site.occupancy,
        sides: Sides::of(site.occupancy),
        norm,
        processors: request.processors,
        draft,
    };
    search.propose(centres, workspace.words)
}
