//! Boxes of any grid as an arc of positions along each dimension: [`Arc`].

use super::steps::Steps;
use crate::grid::{Block, DIMENSIONS_MAX, Grid};

/// The positions of a box along one dimension: `len` of them from `start` on, around the ring if
/// need be.
///
/// ```text
///   ring of 8    0 1 2 3 4 5 6 7
///                # # . . . . # #     start 6, len 4
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arc {
    /// The first position.
    pub(crate) start: u16,
    /// At least 1. An arc all around a ring starts at 0.
    pub(crate) len: u16,
}

/// Arcs of a box; those beyond the dimensions of the grid are not used.
pub(crate) type Arcs = [Arc; DIMENSIONS_MAX];

/// One dimension of a grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) len: u16,
    pub(crate) wraps: bool,
}

impl Side {
    #[inline]
    pub(crate) fn of(grid: &Grid, dimension: usize) -> Side {
        Side {
            len: grid.side(dimension),
            wraps: grid.wraps(dimension),
        }
    }

    /// The steps ahead from one position to another; below the side's length on a ring. Elsewhere
    /// a position behind is a negative number of steps ahead.
    #[inline]
    const fn ahead(self, from: u16, to: u16) -> i32 {
        let steps = to as i32 - from as i32;
        if steps < 0 && self.wraps {
            steps + self.len as i32
        } else {
            steps
        }
    }

    /// Whether two arcs share a position: one starts within the other.
    #[inline]
    pub(crate) const fn meet(self, one: Arc, other: Arc) -> bool {
        let (ahead, behind) = (
            self.ahead(one.start, other.start),
            self.ahead(other.start, one.start),
        );
        (ahead >= 0 && ahead < one.len as i32) || (behind >= 0 && behind < other.len as i32)
    }

    /// Whether every position of `inner` is one of `outer`.
    #[inline]
    pub(crate) const fn covers(self, outer: Arc, inner: Arc) -> bool {
        let ahead = self.ahead(outer.start, inner.start);
        (self.wraps && self.is_whole(outer))
            || (ahead >= 0 && ahead + inner.len as i32 <= outer.len as i32)
    }

    /// The length of the longest arc that is left of `whole` without `taken`, which it meets; 0 if
    /// nothing is left.
    ///
    /// ```text
    ///   whole            # # # # # # #          on a ring `taken` may meet both ends,
    ///   taken                . . .              and of a whole ring one arc is left
    ///   left         before 2     after 2
    /// ```
    #[inline]
    pub(crate) fn left(self, whole: Arc, taken: Arc) -> u16 {
        if self.wraps && whole.len == self.len {
            return self.len - taken.len;
        }
        let len = i32::from(whole.len);
        let begin = self.ahead(whole.start, taken.start);
        let end = begin + i32::from(taken.len);
        // What `taken` covers at the beginning of `whole`, coming around.
        let around = if self.wraps {
            (end - i32::from(self.len)).max(0)
        } else {
            0
        };
        let before = begin.min(len) - around;
        let after = len - end;
        before.max(after).max(0) as u16
    }

    /// The next position; `None` behind the end where the dimension does not wrap.
    #[inline]
    pub(crate) const fn after(self, arc: Arc) -> Option<u16> {
        let end = arc.start as u32 + arc.len as u32;
        match end < self.len as u32 {
            true => Some(end as u16),
            false if self.wraps => Some((end - self.len as u32) as u16),
            false => None,
        }
    }

    /// The position before the first.
    #[inline]
    pub(crate) const fn before(self, arc: Arc) -> Option<u16> {
        match arc.start {
            0 if self.wraps => Some(self.len - 1),
            0 => None,
            start => Some(start - 1),
        }
    }

    /// Whether no box can be longer: an arc of all positions.
    #[inline]
    pub(crate) const fn is_whole(self, arc: Arc) -> bool {
        arc.len == self.len
    }

    /// The position this many steps ahead of another, at most once around. The sum of the two may
    /// have more bits than a position.
    #[inline]
    pub(crate) const fn moved(self, from: u16, steps: u16) -> u16 {
        let to = from as u32 + steps as u32;
        if to < self.len as u32 {
            to as u16
        } else {
            (to - self.len as u32) as u16
        }
    }
}

/// The arcs of a block. Along a ring that the block spans, the arc starts at 0, wherever the block
/// starts.
pub(crate) fn arcs_of(grid: &Grid, block: Block) -> Arcs {
    let mut arcs = Arcs::default();
    for (dimension, ((start, len), arc)) in grid.spans(block).zip(&mut arcs).enumerate() {
        *arc = Arc {
            start: if len == grid.side(dimension).into() {
                0
            } else {
                start as u16
            },
            len: len as u16,
        };
    }
    arcs
}

/// The block with these arcs.
pub(crate) fn block_of(grid: &Grid, arcs: &[Arc]) -> Block {
    grid.encode(|at| arcs[at].start.into(), |at| arcs[at].len.into())
}

/// The number of processors of a box.
#[inline]
pub(crate) fn area(arcs: &[Arc]) -> u32 {
    arcs.iter().map(|arc| u32::from(arc.len)).product()
}

/// Whether two boxes share a processor.
#[inline]
pub(crate) fn overlap(grid: &Grid, one: &[Arc], other: &[Arc]) -> bool {
    let mut both = one.iter().zip(other).enumerate();
    both.all(|(at, (&one, &other))| Side::of(grid, at).meet(one, other))
}

/// The size of the largest box that is left of `whole` when `taken` is taken out of it; all of it
/// if the two do not overlap.
///
/// The largest box is as long as `whole` in all dimensions but one.
#[inline]
pub(crate) fn left_without(grid: &Grid, whole: &[Arc], taken: &[Arc]) -> u32 {
    let area = area(whole);
    if !overlap(grid, whole, taken) {
        return area;
    }
    let both = whole.iter().zip(taken).enumerate();
    let left = both.map(|(at, (&whole, &taken))| {
        let left = Side::of(grid, at).left(whole, taken);
        area / u32::from(whole.len) * u32::from(left)
    });
    left.max().unwrap_or(0)
}

/// Calls `visit` once with each box of these extents that lies in a corner of this one: along each
/// dimension it starts where the box starts, or ends where it ends; with steps, as close to that as
/// they let it begin. Does not call it if the extents do not fit.
pub(crate) fn for_each_corner(
    grid: &Grid,
    within: &[Arc],
    extents: &[u16],
    steps: Option<Steps>,
    mut visit: impl FnMut(&[Arc]),
) {
    let fits = |(within, extent): (&Arc, &u16)| *extent <= within.len;
    if !within.iter().zip(extents).all(fits) {
        return;
    }
    let mut place = Arcs::default();
    let place = &mut place[..within.len()];
    // The two starts along each dimension.
    let mut starts = [[0; 2]; DIMENSIONS_MAX];
    for (dimension, (within, &len)) in within.iter().zip(extents).enumerate() {
        let (side, room) = (Side::of(grid, dimension), within.len - len);
        let ahead = match steps {
            None => [0, room],
            Some(steps) => match steps.ahead(dimension, side.len, within.start, room) {
                Some(ahead) => ahead,
                None => return,
            },
        };
        starts[dimension] = ahead.map(|ahead| side.moved(within.start, ahead));
        place[dimension] = Arc {
            start: starts[dimension][0],
            len,
        };
    }
    // Counts in binary: a dimension at the end is a 1.
    loop {
        visit(place);
        let mut dimension = 0;
        loop {
            let Some(place) = place.get_mut(dimension) else {
                return;
            };
            let [start, end] = starts[dimension];
            let is_at_start = place.start == start;
            place.start = if is_at_start { end } else { start };
            if place.start != start {
                break;
            }
            dimension += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// Every arc of every side up to 7, position by position.
    #[test]
    fn arcs_agree_with_their_positions() {
        for (len, wraps) in (1..8).flat_map(|len| [(len, false), (len, true)]) {
            let side = Side { len, wraps };
            let arcs = (0..len).flat_map(|start| (1..=len).map(move |len| Arc { start, len }));
            let exists = |arc: &Arc| {
                if arc.len == len {
                    arc.start == 0
                } else {
                    wraps || arc.start + arc.len <= len
                }
            };
            let arcs: Vec<Arc> = arcs.filter(exists).collect();
            let positions = |arc: Arc| (0..arc.len).map(move |at| (arc.start + at) % len);
            let has = |arc: Arc, at: u16| positions(arc).any(|position| position == at);
            for &one in &arcs {
                assert_eq!(
                    side.is_whole(one),
                    arcs.iter().all(|arc| arc.len <= one.len)
                );
                let outside = |at: Option<u16>| if side.is_whole(one) { None } else { at };
                let ends = [side.before(one), side.after(one)].map(outside);
                for (at, forward) in ends.into_iter().zip([false, true]) {
                    let longer = Arc {
                        start: if forward { one.start } else { at.unwrap_or(0) },
                        len: one.len + 1,
                    };
                    let expected = !side.is_whole(one)
                        && (wraps
                            || if forward {
                                one.start + one.len < len
                            } else {
                                one.start > 0
                            });
                    assert_eq!(at.is_some(), expected);
                    assert!(at.is_none_or(|at| !has(one, at) && has(longer, at)));
                }
                for &other in &arcs {
                    let meets = positions(one).any(|at| has(other, at));
                    let covers = positions(other).all(|at| has(one, at));
                    assert_eq!(
                        side.covers(one, other),
                        covers,
                        "{side:?} {one:?} {other:?}"
                    );
                    assert_eq!(side.meet(one, other), meets, "{side:?} {one:?} {other:?}");
                    let parts = arcs
                        .iter()
                        .filter(|&&part| positions(part).all(|at| has(one, at) && !has(other, at)));
                    let left = parts.map(|part| part.len).max().unwrap_or(0);
                    if meets {
                        assert_eq!(side.left(one, other), left, "{side:?} {one:?} {other:?}");
                    }
                }
            }
        }
    }
}
