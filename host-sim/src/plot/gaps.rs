//! Heights for the jobs of a Gantt chart, where a job's processors are not one interval of numbers:
//! every job gets one piece of the axis if there is a gap that holds it, and the fewest otherwise.

use meshalloc_sim::history::Holding;

/// First and last unit of the axis, both included, as
/// [`Interval`](meshalloc_sim::processors::Interval) has them.
type Piece = (u32, u32);

/// The axis, and which of it is free.
struct Axis {
    /// Free pieces, ascending, none next to another.
    free: Vec<Piece>,
}

/// For each holding the pieces of an axis of `nodes` units that it has: as many units as the job
/// holds processors, and no two holdings at a time the same.
///
/// # Time complexity
///
/// For `n` holdings, of which `r` are there at a time, O(n (log n + r)).
pub(super) fn pieces(nodes: u32, holdings: &[Holding<'_>]) -> Vec<Vec<Piece>> {
    let mut pieces = vec![Vec::new(); holdings.len()];
    let mut order: Vec<usize> = (0..holdings.len()).collect();
    order.sort_by_key(|&place| {
        (
            holdings[place].start,
            holdings[place].end.unwrap_or(u64::MAX),
        )
    });
    let mut axis = Axis {
        free: vec![(0, nodes - 1)],
    };
    let mut present: Vec<usize> = Vec::new();
    for place in order {
        present.retain(|&other| {
            let end = holdings[other].end;
            let stays = end.is_none_or(|end| end > holdings[place].start);
            if !stays {
                axis.give_back(&pieces[other]);
            }
            stays
        });
        pieces[place] = axis.take(holdings[place].stretches[0].held);
        present.push(place);
    }
    pieces
}

impl Axis {
    /// Takes the smallest gap that is large enough, or the largest ones until there is enough.
    fn take(&mut self, mut count: u32) -> Vec<Piece> {
        let length = |&(first, last): &Piece| last - first + 1;
        let mut taken = Vec::new();
        while count > 0 {
            let large = self.free.iter().filter(|gap| length(gap) >= count);
            let gap = large.min_by_key(|gap| length(gap));
            // The first of equals, as `max_by_key` gives the last.
            let gap = gap.or_else(|| self.free.iter().rev().max_by_key(|gap| length(gap)));
            let Some(&gap) = gap else { break };
            let (first, last) = (gap.0, gap.1.min(gap.0 + count - 1));
            self.free.retain_mut(|free| {
                if *free == gap {
                    free.0 = last + 1;
                }
                free.0 <= free.1
            });
            count -= last - first + 1;
            taken.push((first, last));
        }
        taken
    }

    fn give_back(&mut self, pieces: &[Piece]) {
        self.free.extend(pieces);
        self.free.sort_unstable();
        self.free.dedup_by(|next, earlier| {
            let touches = earlier.1 + 1 == next.0;
            if touches {
                earlier.1 = next.1;
            }
            touches
        });
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;
    use meshalloc_sim::history::Stretch;

    /// A time in which a job held this number of processors.
    fn job(held: u32, start: u64, end: u64) -> Stretch {
        Stretch {
            start,
            end: Some(end),
            is_interrupted: false,
            held,
            blocks: Vec::new(),
        }
    }

    fn pieces(nodes: u32, jobs: &[Stretch]) -> Vec<Vec<Piece>> {
        let holdings = jobs.chunks(1).enumerate().map(|(job, stretches)| Holding {
            job,
            start: stretches[0].start,
            end: stretches[0].end,
            stretches,
        });
        super::pieces(nodes, &holdings.collect::<Vec<_>>())
    }

    #[test]
    fn a_job_has_one_piece_where_a_gap_holds_it() {
        // Of those that start at a time, the one that ends first is placed first.
        let jobs = [
            job(4, 0, 10),
            job(2, 0, 5),
            job(2, 0, 10),
            // A gap of two is left at the foot, and one of four above: the smaller one holds it.
            job(2, 5, 9),
            job(4, 10, 20),
            job(6, 10, 12),
            // Behind the job before, which leaves 6 of 8 free, in gaps of 6 and 2.
            job(8, 12, 20),
        ];
        let expected: [&[Piece]; 7] = [
            &[(2, 5)],
            &[(0, 1)],
            &[(6, 7)],
            &[(0, 1)],
            &[(6, 9)],
            &[(0, 5)],
            &[(0, 5), (10, 11)],
        ];
        assert_eq!(pieces(12, &jobs), expected);
    }

    /// Whatever runs at a time has as much of the axis as it holds, and no unit twice.
    #[test]
    fn no_unit_is_taken_twice() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut draw = |most: u32| rng.next_u32() % most;
        for nodes in [1, 7, 64] {
            let mut jobs: Vec<Stretch> = Vec::new();
            for start in 0..300 {
                let runs = |job: &&Stretch| job.end.is_some_and(|end| end > start);
                let held: u32 = jobs.iter().filter(runs).map(|job| job.held).sum();
                if held < nodes {
                    let count = 1 + draw(nodes - held);
                    jobs.push(job(count, start, start + u64::from(draw(9))));
                }
            }
            let pieces = pieces(nodes, &jobs);
            for at in 0..310 {
                let mut units = vec![0; nodes as usize];
                for (job, pieces) in jobs.iter().zip(&pieces) {
                    let held: u32 = pieces.iter().map(|(first, last)| last - first + 1).sum();
                    assert_eq!(held, job.held);
                    if job.start <= at && Some(at) < job.end {
                        let of = pieces.iter().flat_map(|&(first, last)| first..=last);
                        of.for_each(|unit| units[unit as usize] += 1);
                    }
                }
                assert!(units.iter().all(|&jobs| jobs <= 1), "{at}: {units:?}");
            }
        }
    }
}
