//! Communication patterns: the receivers of each process of a job, in order.
//!
//! A job of n processes has a *logical box*, the shape that its request names, dimension 0 fastest:
//! process p of a 4 x 3 job is at (p mod 4, p div 4). Where the job has fewer processes than the
//! box, the last places are empty. In one iteration each process goes through the *steps* of its
//! pattern, in order; in a step it sends to one other process, or to none. There is no barrier
//! between steps, nor between iterations: a process waits only for its own injection channel (or,
//! if sending blocks, for the delivery of its message).
//!
//! | pattern | step | process p sends to |
//! |---|---|---|
//! | one-to-all | k = 0 .. n-1 | k, if p is the root and k is not |
//! | all-to-all | k = 1 .. n-1 | (p + k) mod n |
//! | nearest-neighbor | 2d, then 2d + 1, d = 0, 1, .. | its neighbours along dimension d of the box: upwards, downwards; the box does not wrap |
//! | random | one | another process, each equally likely, drawn anew in each iteration |
//! | all-to-one | one | the root |
//! | ring | one | (p + 1) mod n |
//! | transpose | one | the process whose number has the coordinates of p with the last dimension fastest: (x, y) of a x b to number x b + y |
//! | n-body | floor(n/2) times | (p + 1) mod n, the ring |
//! | | then once | (p + floor(n/2)) mod n, the chord |
//! | fft | s = 0, 1, .. while 2^s < n | p xor 2^s |
//! | multigrid | levels 0, 1, .., h, .., 1, 0 | at level l, if all coordinates are multiples of 2^l: its neighbours at distance 2^l, as nearest-neighbor; h is the largest l with 2^l less than the longest side |
//!
//! No process sends to itself or to a place that is empty: in `fft` with n = 6, processes 2 and 3
//! have no partner in the last step; in `transpose` the diagonal is silent. A job of one process
//! sends nothing. The root is drawn uniformly, a number of the job's own.
//!
//! Sources: one-to-all, all-to-all, near neighbour: the thesis on neighbour allocation (Alshdefat
//! 2019), whose simulator is ProcSimity; n-body, fft, multigrid: Lo, Windisch, Liu and Nitzberg
//! 1997; Bunde, Leung and Mache 2004 for the ring and its chord.

use std::fmt;
use std::str::FromStr;

use meshalloc::{DIMENSIONS_MAX, Request};

use super::distributions::listed;
use super::stream::{GAMMA, shuffled};
use crate::error::out_of_range;

/// A communication pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// One process, the root, sends to all others, in the order of their numbers.
    OneToAll,
    /// Every process sends to all others, beginning with the one after it.
    AllToAll,
    /// Every process sends to its neighbours in the logical box.
    NearestNeighbor,
    /// Every process sends to one that is drawn.
    Random,
    /// All other processes send to one, the root.
    AllToOne,
    /// Every process sends to the next.
    Ring,
    /// Every process sends to the place it has in the transposed box.
    Transpose,
    /// Half-way around a ring, step by step, and back along a chord.
    NBody,
    /// Exchange along the dimensions of a hypercube.
    Fft,
    /// Neighbours at distances 1, 2, 4 and back: a V-cycle.
    Multigrid,
}

const THESIS: &str = "Alshdefat 2019, after ProcSimity";
const LO: &str = "Lo, Windisch, Liu and Nitzberg 1997";

listed! { Pattern, "pattern":
    OneToAll = "one-to-all", "a root, drawn uniformly, sends to all others", THESIS;
    AllToAll = "all-to-all", "every process sends to all others, beginning with the next", THESIS;
    NearestNeighbor = "nearest-neighbor", "every process sends to its neighbours in the requested shape",
        THESIS;
    Random = "random", "every process sends to another, drawn in each iteration", LO;
    AllToOne = "all-to-one", "all others send to a root, drawn uniformly",
        "the reverse of one-to-all";
    Ring = "ring", "every process sends to the next", "the first part of n-body";
    Transpose = "transpose", "every process sends to its place in the transposed shape",
        "matrix transposition";
    NBody = "n-body", "half-way around a ring, step by step, then along the chord", LO;
    Fft = "fft", "exchange along the dimensions of a hypercube", LO;
    Multigrid = "multigrid", "neighbours at distances 1, 2, 4, .. and back to 1", LO;
}

/// The patterns of a workload: job number i has pattern number i modulo the number of patterns.
/// Written with `+` between them.
///
/// ```
/// use meshalloc_sim::workload::{Pattern, Patterns};
/// let patterns: Patterns = "all-to-all+fft".parse().unwrap();
/// assert_eq!(patterns.of(3), Pattern::Fft);
/// assert_eq!(patterns.to_string(), "all-to-all+fft");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patterns {
    list: [Pattern; PATTERNS_MAX],
    len: usize,
}

/// The most patterns of one workload.
pub const PATTERNS_MAX: usize = 16;

impl Patterns {
    /// The pattern of a job by its number, from 0, in order of arrival.
    pub const fn of(&self, job: u32) -> Pattern {
        self.list[job as usize % self.len]
    }

    /// The patterns, in order.
    pub fn as_slice(&self) -> &[Pattern] {
        &self.list[..self.len]
    }
}

impl From<Pattern> for Patterns {
    fn from(pattern: Pattern) -> Self {
        Patterns {
            list: [pattern; PATTERNS_MAX],
            len: 1,
        }
    }
}

impl FromStr for Patterns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut list = [Pattern::OneToAll; PATTERNS_MAX];
        let mut len = 0;
        for name in text.split('+') {
            let place = list.get_mut(len);
            *place.ok_or_else(|| {
                let given = text.split('+').count();
                out_of_range(
                    "the number of patterns",
                    given,
                    format!("at most {PATTERNS_MAX}"),
                )
            })? = name.parse()?;
            len += 1;
        }
        Ok(Patterns { list, len })
    }
}

impl fmt::Display for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .as_slice()
            .iter()
            .map(|pattern| pattern.name())
            .collect();
        f.pad(&names.join("+"))
    }
}

/// The steps of one job: who sends to whom. Some 160 bytes, whatever the number of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    pattern: Pattern,
    processes: u32,
    /// For each dimension of the logical box its side and the distance of neighbours by number.
    dimensions: [(u32, u32); DIMENSIONS_MAX],
    rank: usize,
    root: u32,
    draw: u32,
    count: u32,
}

impl Steps {
    /// The steps of a job with this request. The root and random destinations derive from `draw`.
    pub fn new(pattern: Pattern, request: &Request, draw: u32) -> Self {
        let processes = request.processors.max(1);
        let extents = request.shape.extents();
        let mut dimensions = [(1, 0); DIMENSIONS_MAX];
        let mut stride = 1;
        for (place, &extent) in dimensions.iter_mut().zip(extents.iter()) {
            *place = (extent.into(), stride);
            stride *= u32::from(extent);
        }
        let rank = extents.len();
        let longest = extents.iter().copied().max().unwrap_or(1).into();
        let count = match pattern {
            _ if processes == 1 => 0,
            Pattern::OneToAll => processes,
            Pattern::AllToAll => processes - 1,
            Pattern::NearestNeighbor => 2 * rank as u32,
            Pattern::Random | Pattern::AllToOne | Pattern::Ring | Pattern::Transpose => 1,
            Pattern::NBody => processes / 2 + 1,
            Pattern::Fft => bits(processes),
            Pattern::Multigrid => 2 * rank as u32 * (2 * top_level(longest) + 1),
        };
        let root = (u64::from(draw) * u64::from(processes)) >> 32;
        Steps {
            pattern,
            processes,
            dimensions,
            rank,
            root: root as u32,
            draw,
            count,
        }
    }

    /// The number of processes.
    pub const fn processes(&self) -> u32 {
        self.processes
    }

    /// The steps of process `p` in one iteration.
    #[inline]
    pub const fn count(&self, p: u32) -> u32 {
        match self.pattern {
            Pattern::OneToAll if p != self.root => 0,
            _ => self.count,
        }
    }

    /// The receiver of process `p` in this step of this iteration, both counted from 0; `None` if
    /// it sends nothing. Constant time for a given number of dimensions.
    #[inline]
    pub fn destination(&self, p: u32, step: u32, iteration: u32) -> Option<u32> {
        let n = self.processes;
        let to = match self.pattern {
            Pattern::AllToAll => around(p + 1 + step, n),
            Pattern::OneToAll => step,
            Pattern::AllToOne => self.root,
            Pattern::Ring => around(p + 1, n),
            Pattern::NBody if step < n / 2 => around(p + 1, n),
            Pattern::NBody => around(p + n / 2, n),
            Pattern::Fft => p ^ (1 << step),
            Pattern::NearestNeighbor => self.neighbor(p, step, 1)?,
            Pattern::Multigrid => {
                let around = 2 * self.rank as u32;
                let top = self.count / around / 2;
                let level = (step / around).min(2 * top - step / around);
                self.neighbor(p, step % around, 1 << level)?
            }
            Pattern::Random => {
                let drawn = mix(u64::from(self.draw) << 32 | u64::from(p), iteration);
                let other = ((u128::from(drawn) * u128::from(n - 1)) >> 64) as u32;
                // All numbers but its own.
                other + u32::from(other >= p)
            }
            Pattern::Transpose => {
                let sides = &self.dimensions[..self.rank];
                sides.iter().fold(0, |number, &(side, stride)| {
                    number * side + p / stride % side
                })
            }
        };
        (to != p && to < n).then_some(to)
    }

    /// The neighbour upwards (even) or downwards along dimension `direction / 2`, at this distance;
    /// `None` if there is no such neighbour, or a coordinate is not a multiple of that distance.
    fn neighbor(&self, p: u32, direction: u32, distance: u32) -> Option<u32> {
        let sides = &self.dimensions[..self.rank];
        let at = |(side, stride)| p / stride % side;
        if distance > 1 && sides.iter().any(|&side| !at(side).is_multiple_of(distance)) {
            return None;
        }
        let (side, stride) = sides[direction as usize / 2];
        let upwards = direction.is_multiple_of(2);
        let own = at((side, stride));
        if upwards {
            (own + distance < side).then(|| p + distance * stride)
        } else {
            (own >= distance).then(|| p - distance * stride)
        }
    }
}

/// Modulo `n`, of a number below `2 n`.
#[inline]
const fn around(number: u32, n: u32) -> u32 {
    if number < n { number } else { number - n }
}

/// The least number of bits that can write all numbers below `n`.
const fn bits(n: u32) -> u32 {
    u32::BITS - (n - 1).leading_zeros()
}

/// The largest l with 2^l less than this side; 0 for a side of 1.
const fn top_level(side: u32) -> u32 {
    bits(side).saturating_sub(1)
}

/// A number of SplitMix64 from this seed: the same wherever it is asked for.
const fn mix(seed: u64, number: u32) -> u64 {
    shuffled(seed.wrapping_add(GAMMA.wrapping_mul(number as u64)))
}

#[cfg(test)]
mod tests;
