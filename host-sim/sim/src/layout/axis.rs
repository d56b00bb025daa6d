//! Columns or rows of a picture: [`Axis`].

use std::ops::Range;

/// Digits of a coordinate along one side of a picture: the whole coordinate, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The number of the dimension.
    pub number: usize,
    /// The name of the dimension.
    pub name: String,
    /// The number of digits.
    pub side: usize,
    /// The number of processors along this side of the picture, one after another, that have the
    /// same digit.
    pub stride: usize,
    /// The distance between the coordinates of two digits next to each other.
    pub step: usize,
    /// Whether the digits descend.
    pub descends: bool,
}

impl Dimension {
    /// The part of the coordinate in this dimension that the digit of a column or row gives.
    pub fn coordinate(&self, at: usize) -> usize {
        self.step * self.directed(at / self.stride % self.side)
    }

    /// The first column or row at which a coordinate has its digit.
    pub(super) fn begin(&self, coordinate: usize) -> usize {
        self.stride * self.directed(coordinate / self.step % self.side)
    }

    /// A digit of a coordinate by its place along the axis, and the other way round.
    fn directed(&self, digit: usize) -> usize {
        if self.descends {
            self.side - 1 - digit
        } else {
            digit
        }
    }

    /// The part of a coordinate that its digit gives.
    fn part(&self, coordinate: usize) -> usize {
        self.step * (coordinate / self.step % self.side)
    }
}

/// The processors along one side of a picture.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The digits along this axis. Digits that change first come first.
    pub(super) digits: Vec<Dimension>,
    /// The dimensions with numbers along this axis.
    dimensions: Vec<Dimension>,
    /// For each dimension with digits along this axis: its number, and the part of the coordinate
    /// that the digits give at each processor.
    pub(super) parts: Vec<(usize, Vec<usize>)>,
    /// For each processor, the total width of the gaps before it, in units of the least gap.
    pub(super) gaps: Vec<usize>,
}

impl Axis {
    pub(super) fn new(digits: Vec<Dimension>, dimensions: Vec<Dimension>, finest: usize) -> Axis {
        let len = digits.iter().map(|digit| digit.side).product();
        let mut parts: Vec<(usize, Vec<usize>)> = Vec::new();
        for digit in &digits {
            let place = parts.iter().position(|(number, _)| *number == digit.number);
            let place = place.unwrap_or_else(|| {
                parts.push((digit.number, vec![0; len]));
                parts.len() - 1
            });
            for (at, part) in parts[place].1.iter_mut().enumerate() {
                *part += digit.coordinate(at);
            }
        }
        let mut before = 0;
        let gaps = (0..len).map(|at| {
            before += (level(&digits, at) + 1).saturating_sub(finest.max(1));
            before
        });
        Axis {
            gaps: gaps.collect(),
            digits,
            dimensions,
            parts,
        }
    }

    /// The number of processors.
    #[expect(clippy::len_without_is_empty, reason = "there is a processor at least")]
    pub fn len(&self) -> usize {
        self.gaps.len()
    }

    /// The dimensions whose coordinates stand along this axis, the lowest first; empty in a picture
    /// that is a single plane with columns and rows.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// One more than the levels at which there may be gaps.
    pub fn levels(&self) -> usize {
        self.digits.len()
    }

    /// The number of processors that have no gap of the level `finest` or higher between them.
    pub fn together(&self, finest: usize) -> usize {
        let digit = self.digits.get(finest - 1);
        digit.map_or(1, |digit| digit.stride * digit.side)
    }

    /// The part of the coordinate in a dimension that a column or row gives.
    pub fn part(&self, number: usize, at: usize) -> usize {
        let part = self.parts.iter().find(|(of, _)| *of == number);
        part.map_or(0, |(_, parts)| parts[at])
    }

    /// The total width of the gaps before this processor, in units of the least gap.
    pub fn gaps_before(&self, at: usize) -> usize {
        self.gaps[at]
    }

    /// The total width of all gaps, in units of the least gap.
    pub fn gaps(&self) -> usize {
        self.gaps.last().copied().unwrap_or(0)
    }

    /// The processors between gaps.
    pub fn stretches(&self) -> Vec<Range<usize>> {
        self.runs(0..self.len(), |_| true)
    }

    /// The processors whose coordinates are within a block.
    pub(super) fn within(&self, sides: &[u16], start: &[u16], extent: &[u16]) -> Vec<Range<usize>> {
        // A block of extent 1 is where the digits along this axis are those of its start.
        let start: Vec<usize> = (0..sides.len())
            .map(|number| {
                let from = usize::from(start[number]);
                if extent[number] > 1 {
                    return from;
                }
                let digits = self.digits.iter().filter(|digit| digit.number == number);
                digits.map(|digit| digit.part(from)).sum()
            })
            .collect();
        self.runs(0..self.len(), |at| {
            self.parts.iter().all(|(number, parts)| {
                let side = usize::from(sides[*number]);
                match usize::from(extent[*number]) {
                    1 => parts[at] == start[*number],
                    extent => (parts[at] + side - start[*number]) % side < extent,
                }
            })
        })
    }

    /// The longest runs within `range` for which `holds` is true, each without a gap.
    pub fn runs(&self, range: Range<usize>, holds: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in range.filter(|&at| holds(at)) {
            match runs.last_mut() {
                Some(run) if run.end == at && self.gaps[run.start] == self.gaps[at] => run.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
        runs
    }
}

/// How many digits begin anew at this place of an axis: the level of the gap before it.
fn level(digits: &[Dimension], at: usize) -> usize {
    let ends = |digit: &&Dimension| at.is_multiple_of(digit.stride * digit.side);
    match at {
        0 => 0,
        _ => digits.iter().take_while(ends).count(),
    }
}
