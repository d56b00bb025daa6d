//! Where boxes may begin on a machine whose description aligns slices: [`Steps`].

use crate::grid::arcs::Arcs;
use crate::grid::{Arc, DESCRIBED_MAX, DIMENSIONS_MAX, Grid};
use crate::machine::Description;
use crate::mesh::{Coord, Sides, Submesh};
use crate::request::Request;
use crate::word::{WORD_BITS, Word};

/// The rule of a description about where slices begin. Builds without descriptions have no rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule<'m> {
    machine: &'m Description,
}

impl<'m> Rule<'m> {
    /// The rule of this description; `None` if slices may begin anywhere.
    pub(crate) fn of(machine: Option<&'m Description>) -> Option<Self> {
        let machine = machine.filter(|machine| !machine.is_unaligned())?;
        Some(Rule { machine })
    }

    /// The rule that was passed. In a build without descriptions, the compiler knows that there is
    /// none.
    #[inline]
    pub(crate) fn built(rule: Option<Self>) -> Option<Self> {
        if Description::BUILT { rule } else { None }
    }

    /// Where boxes of these sides, by dimension, may begin.
    pub(crate) fn steps(self, sides: &[u16]) -> Steps {
        Steps(self.machine.steps(sides))
    }
}

/// Whether there is a place for the request in this free submesh.
// The board has one copy.
#[cfg_attr(not(target_os = "none"), inline(always))]
pub(crate) fn has_room(free: Submesh, request: &Request, rule: Option<Rule<'_>>) -> bool {
    match rule {
        None => request.fits_in(free.sides),
        Some(rule) => has_room_on_steps(free, request, rule),
    }
}

// A function of its own, so that the question without a rule stays short.
#[inline(never)]
fn has_room_on_steps(free: Submesh, request: &Request, rule: Rule<'_>) -> bool {
    request.orientations().any(|sides: Sides| {
        let mut is_any = false;
        let steps = rule.steps(&[sides.w, sides.h]);
        for_each_corner(free, sides, Some(steps), |_| is_any = true);
        is_any
    })
}

/// Along each dimension a box begins at multiples of a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps([u16; DESCRIBED_MAX]);

impl Steps {
    fn step(self, dimension: usize) -> u16 {
        self.0.get(dimension).copied().unwrap_or(1)
    }

    /// The numbers by dimension.
    pub(crate) const fn numbers(self) -> [u16; DESCRIBED_MAX] {
        self.0
    }

    fn allows(self, dimension: usize, at: u32) -> bool {
        at.is_multiple_of(self.step(dimension).into())
    }

    /// Whether a box may begin at this node of a grid.
    pub(crate) fn allow(self, grid: &Grid, node: u32) -> bool {
        let mut rest = node;
        (0..grid.dimensions()).all(|dimension| {
            let side = u32::from(grid.side(dimension));
            let at = rest % side;
            rest /= side;
            self.allows(dimension, at)
        })
    }

    /// The nodes of a word at which a submesh may begin: word `at` of a two-dimensional mesh in
    /// rows of `stride` words.
    ///
    /// ```text
    ///   steps (2, 3)      row 3   1 . 1 . 1 . 1 .
    ///                     row 2   . . . . . . . .
    ///                     row 1   . . . . . . . .
    ///                     row 0   1 . 1 . 1 . 1 .
    /// ```
    pub(crate) fn columns(self, at: usize, stride: usize) -> Word {
        if !self.allows(1, (at / stride) as u32) {
            return 0;
        }
        let first = (at % stride) as u32 * WORD_BITS;
        let step = u32::from(self.step(0));
        let mut columns = 0;
        let mut x = first.next_multiple_of(step) - first;
        while x < WORD_BITS {
            columns |= 1 << x;
            x += step;
        }
        columns
    }

    /// The least and the greatest number of positions from `start` to where a box may begin, around
    /// the ring if need be. The box may begin within `room` positions from `start`, along a
    /// dimension of length `side`. `None` if it may begin nowhere.
    ///
    /// ```text
    ///   step 4, a ring of 12     0 1 2 3 4 5 6 7 8 9 a b
    ///   from 6 on, a room of 8   ^   v         * * . . .      ahead: 2 and 6
    /// ```
    pub(crate) fn ahead(
        self,
        dimension: usize,
        side: u16,
        start: u16,
        room: u16,
    ) -> Option<[u16; 2]> {
        let (side, start, room) = (u32::from(side), u32::from(start), u32::from(room));
        let step = u32::from(self.step(dimension));
        // Behind the end of a ring comes position 0; without a ring no box fits there.
        let first = start.next_multiple_of(step).min(side) - start;
        let behind = (start + room) % side % step;
        (first <= room).then(|| [first as u16, (room - behind) as u16])
    }
}

/// Calls `visit` once with each submesh that has these sides and lies in a corner of this one, or
/// where the steps let it begin closest to the corner. Does not call `visit` if the sides do not
/// fit.
#[inline]
pub(crate) fn for_each_corner(
    within: Submesh,
    sides: Sides,
    steps: Option<Steps>,
    mut visit: impl FnMut(Submesh),
) {
    if !sides.fits_in(within.sides) {
        return;
    }
    let Coord { x, y } = within.base;
    let (w, h) = (within.sides.w - sides.w, within.sides.h - sides.h);
    let [[left, right], [low, top]] = match steps {
        None => [[0, w], [0, h]],
        Some(steps) => {
            let columns = steps.ahead(0, u16::MAX, x, w);
            let (Some(columns), Some(rows)) = (columns, steps.ahead(1, u16::MAX, y, h)) else {
                return;
            };
            [columns, rows]
        }
    };
    let mut corner = |across, up| {
        visit(Submesh {
            base: Coord::new(x + across, y + up),
            sides,
        });
    };
    corner(left, low);
    if right != left {
        corner(right, low);
    }
    if top != low {
        corner(left, top);
        if right != left {
            corner(right, top);
        }
    }
}

/// [`for_each_corner`] on any grid: calls `visit` once with each box of these extents that lies in
/// a corner of this one. Along each dimension it starts where the box starts, or ends where the box
/// ends; with steps, as close to that as they let it begin. Does not call `visit` if the extents do
/// not fit.
pub(crate) fn for_each_corner_of_box(
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
        let (side, room) = (grid.along(dimension), within.len - len);
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
    use super::Steps;

    /// Every stretch of every ring and line of up to nine positions, position by position.
    #[test]
    fn the_first_and_the_last_start_are_those_of_a_look_at_each() {
        for (side, step) in (1..10_u16).flat_map(|side| (1..10_u16).map(move |step| (side, step))) {
            for (start, room) in (0..side).flat_map(|at| (0..side).map(move |room| (at, room))) {
                let is_start = |ahead: &u16| ((start + ahead) % side).is_multiple_of(step);
                let mut starts = (0..=room).filter(is_start);
                let expected = starts
                    .next()
                    .map(|first| [first, starts.next_back().unwrap_or(first)]);
                let found = Steps([1, step, 1, 1]).ahead(1, side, start, room);
                assert_eq!(found, expected, "{side} {step} {start} {room}");
            }
        }
    }
}
