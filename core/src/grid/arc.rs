//! The positions of a box along one dimension: [`Arc`].

/// The positions of a box along one dimension: `len` positions from `start` on, around the ring if
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
    /// The number of positions, at least 1. An arc all around a ring starts at 0.
    pub(crate) len: u16,
}

/// One dimension of a grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) len: u16,
    pub(crate) wraps: bool,
}

impl Side {
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

    /// The length of the longest arc that is left of `whole` without `taken`; 0 if nothing is left.
    /// The two must meet.
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
        // The positions at the beginning of `whole` that `taken` covers, coming around the ring.
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
        if end < self.len as u32 {
            Some(end as u16)
        } else if self.wraps {
            Some((end - self.len as u32) as u16)
        } else {
            None
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

    /// The position this many steps ahead of another, at most once around. The sum of position and
    /// steps may have more bits than a position.
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
