//! The order of a job's ranks in a box: [`Ranks`].
//!
//! A line of n ranks goes through every processor of a box of n, from neighbour to neighbour. If
//! the box has an even number of processors and two of its sides are longer than 1, the last rank
//! is a neighbour of the first: a ring.
//!
//! ```text
//!   4 x 3, even: a ring             3 x 3, odd: a snake
//!
//!   2   1  2  5  6                  2   6 7 8
//!   1   0  3  4  7                  1   5 4 3
//!   0  11 10  9  8                  0   0 1 2
//! ```
//!
//! A ring needs a side of even length: the columns of the drawing. The snake goes through all rows
//! but the lowest, and the lowest row is the way back. In more dimensions the rows are the places
//! of a snake through the other sides, and neighbours on that snake are neighbours in the box.

use super::{DESCRIBED_MAX, Extents, volume};

/// An iterator over the coordinates of ranks 0, 1, .. in a box. Its state is the next rank.
#[derive(Clone, Copy, Debug)]
pub struct Ranks {
    extents: Extents,
    next: u32,
}

impl Ranks {
    /// The ranks of a box with these extents, by dimension.
    pub(crate) const fn new(extents: Extents) -> Ranks {
        Ranks { extents, next: 0 }
    }
}

impl Iterator for Ranks {
    type Item = [u16; DESCRIBED_MAX];

    fn next(&mut self) -> Option<[u16; DESCRIBED_MAX]> {
        if self.next == volume(&self.extents) {
            return None;
        }
        let at = coordinate_of_rank(&self.extents, self.next);
        self.next += 1;
        Some(at)
    }
}

/// The coordinates of a rank in a box with these extents by dimension: along a ring if there is
/// one, else along a snake. The rank is below the number of processors. O(dimensions).
fn coordinate_of_rank(extents: &[u16; DESCRIBED_MAX], rank: u32) -> [u16; DESCRIBED_MAX] {
    let even = |&at: &usize| extents[at] > 1 && extents[at].is_multiple_of(2);
    let Some(columns) = (0..DESCRIBED_MAX).find(even) else {
        return snake(extents, rank, DESCRIBED_MAX);
    };
    let w = u32::from(extents[columns]);
    let h = volume(extents) / w;
    if h == 1 {
        return snake(extents, rank, DESCRIBED_MAX);
    }
    // Through all rows but the lowest, column by column; then back through the lowest.
    let (column, row) = match rank.checked_sub(w * (h - 1)) {
        Some(back) => (w - 1 - back, 0),
        None => {
            let (column, along) = (rank / (h - 1), rank % (h - 1));
            if column.is_multiple_of(2) {
                (column, 1 + along)
            } else {
                (column, h - 1 - along)
            }
        }
    };
    let mut at = snake(extents, row, columns);
    at[columns] = column as u16;
    at
}

/// The coordinates of a place on the snake through all dimensions but one. The snake goes through
/// each line in the direction opposite to the line before.
fn snake(extents: &Extents, place: u32, without: usize) -> Extents {
    let mut at = [0; DESCRIBED_MAX];
    let mut rest = place;
    for dimension in (0..DESCRIBED_MAX).filter(|&dimension| dimension != without) {
        let side = u32::from(extents[dimension]);
        let step = rest % side;
        rest /= side;
        // The number of the line decides the direction.
        at[dimension] = if rest.is_multiple_of(2) {
            step
        } else {
            side - 1 - step
        } as u16;
    }
    at
}
