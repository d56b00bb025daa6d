//! Where the processors of a machine are in a picture: columns, rows, and the gaps between them.
//!
//! A machine is drawn as planes of two dimensions: dimension 0 goes to the right and dimension 1
//! upwards, dimension 2 to the right from plane to plane, dimension 3 upwards from one row of
//! planes to the next, and so on in turn. Between planes there are gaps, the wider the higher the
//! dimension in which they lie apart.
//!
//! ```text
//!   2-ary 4-cube, node numbers in radix 2
//!   1010 1011  1110 1111
//!   1000 1001  1100 1101
//!
//!   0010 0011  0110 0111
//!   0000 0001  0100 0101
//! ```
//!
//! The planes of a machine of three dimensions may stand in several rows, like the words of a text:
//! the first is at the upper left. A machine of cubes is a grid of its cubes, and each cube a grid
//! of its planes, in the order of a text as well. Above each plane, or cube, stands its number.
//!
//! ```text
//!   5 planes, 3 in a row     2 x 2 x 1 cubes of 4 x 4 x 4
//!   z = 0   z = 1   z = 2    cube 2           cube 3
//!   . . .   . . .   . . .    z = 0   z = 1    z = 0   z = 1
//!   . . .   . . .   . . .    z = 2   z = 3    z = 2   z = 3
//!
//!   z = 3   z = 4            cube 0           cube 1
//!   . . .   . . .            z = 0   z = 1    z = 0   z = 1
//!   . . .   . . .            z = 2   z = 3    z = 2   z = 3
//! ```

use std::ops::Range;

use meshalloc::{Block, Description, Grid, NodeId, Tuple};

use meshalloc_sim::names;

/// A machine as it is drawn, with its cubes if switches join cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The machine.
    pub machine: Grid,
    /// The sides of a cube.
    pub cube: Option<Tuple>,
}

impl From<Grid> for Plan {
    fn from(machine: Grid) -> Plan {
        Plan {
            machine,
            cube: None,
        }
    }
}

impl Plan {
    /// A machine that may have a description.
    pub fn of(machine: Grid, description: Option<&Description>) -> Plan {
        let cube = description.and_then(Description::cube);
        Plan {
            machine,
            cube: cube.and_then(Tuple::from_slice),
        }
    }

    /// How many planes, or layers of cubes, may stand in several rows.
    pub fn layers(&self) -> usize {
        let Plan { machine, cube } = self;
        match cube {
            None if machine.dimensions() == 3 => machine.side(2).into(),
            Some(cube) if machine.dimensions() > 2 => usize::from(machine.side(2) / cube[2]),
            _ => 1,
        }
    }
}

/// All planes, or layers of cubes, in one row.
pub const ONE_ROW: usize = usize::MAX;

/// Columns and rows of a picture.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The drawn machine.
    pub plan: Plan,
    /// The columns, from the left.
    pub across: Axis,
    /// The rows, from below.
    pub up: Axis,
    /// Columns and rows of what has a number above it: a plane or cube.
    headed: Option<[usize; 2]>,
}

/// Digits of a coordinate along one side of a picture: the whole coordinate, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The number of the dimension.
    pub number: usize,
    /// What it is called.
    pub name: String,
    /// How many digits there are.
    pub side: usize,
    /// How many processors along this side of the picture have the same digit, one after another.
    pub stride: usize,
    /// How far apart the coordinates of two digits next to each other are.
    pub step: usize,
    /// Whether the digits descend.
    pub descends: bool,
}

impl Dimension {
    /// What the digit of a column or row contributes to the coordinate in this dimension.
    pub fn coordinate(&self, at: usize) -> usize {
        self.step * self.directed(at / self.stride % self.side)
    }

    /// The first column or row at which a coordinate has its digit.
    fn begin(&self, coordinate: usize) -> usize {
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

    /// What the digit of a coordinate contributes to it.
    fn part(&self, coordinate: usize) -> usize {
        self.step * (coordinate / self.step % self.side)
    }
}

/// The processors along one side of a picture.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The digits along this axis, those that change first at the beginning.
    digits: Vec<Dimension>,
    /// The dimensions with numbers along this axis.
    dimensions: Vec<Dimension>,
    /// For each dimension with digits here its number, and what they contribute at each processor.
    parts: Vec<(usize, Vec<usize>)>,
    /// For each processor how wide the gaps before it are together, in units of the least gap.
    gaps: Vec<usize>,
}

/// A rectangle of processors without a gap in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rect {
    /// Columns.
    pub x: Range<usize>,
    /// Rows.
    pub y: Range<usize>,
}

impl Rect {
    /// One processor.
    pub fn one(x: usize, y: usize) -> Rect {
        Rect {
            x: x..x + 1,
            y: y..y + 1,
        }
    }
}

/// The number above a plane or cube.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// What is numbered: `z =` or `cube`.
    pub name: String,
    /// The number.
    pub number: usize,
    /// What it stands above.
    pub over: Rect,
}

/// The digits of all coordinates, each with whether it is upwards, in the order in which they
/// change, and how many of the first are those of a plane, or of a cube. Up to `columns` planes of
/// three dimensions, or layers of cubes, are in a row.
fn digits(plan: &Plan, columns: usize) -> (Vec<(Dimension, bool)>, usize) {
    let Plan { machine, cube } = plan;
    let mut digits: Vec<(Dimension, bool)> = Vec::new();
    let mut strides = [1, 1];
    let mut push = |digits: &mut Vec<(Dimension, bool)>, number, side, step, is_up, descends| {
        let stride = strides[usize::from(is_up)];
        strides[usize::from(is_up)] *= side;
        let dimension = Dimension {
            number,
            name: names::dimension(*machine, number),
            side,
            stride,
            step,
            descends,
        };
        digits.push((dimension, is_up));
    };
    // In rows of `columns`, from above.
    let mut push_all = |digits: &mut _, number: usize, side: usize, step: usize, columns: usize| {
        if number != 2 || columns >= side {
            return push(digits, number, side, step, number % 2 == 1, false);
        }
        push(digits, number, columns, step, false, false);
        push(
            digits,
            number,
            side.div_ceil(columns),
            step * columns,
            true,
            true,
        );
    };
    let side = |number: usize| usize::from(machine.side(number));
    let dimensions = 0..machine.dimensions();
    let Some(cube) = cube else {
        let columns = if dimensions.end == 3 {
            columns
        } else {
            ONE_ROW
        };
        dimensions.for_each(|number| push_all(&mut digits, number, side(number), 1, columns));
        return (digits, 2);
    };
    // First the digits within a cube.
    for number in dimensions.clone() {
        let layers = usize::from(cube[number]);
        let square =
            |columns: &usize| layers.is_multiple_of(*columns) && columns * columns >= layers;
        let columns = (1..=layers).find(square).unwrap_or(layers);
        push_all(&mut digits, number, layers, 1, columns);
    }
    let within = digits.len();
    for number in dimensions {
        let side_within = usize::from(cube[number]);
        push_all(
            &mut digits,
            number,
            side(number) / side_within,
            side_within,
            columns,
        );
    }
    (digits, within)
}

impl Layout {
    /// The picture of a machine, with gaps from the level `finest`, at least 1, on: those of level
    /// 1 lie between planes next to each other, those of level 2, wider by one unit, between groups
    /// of such planes, and so on. Up to `columns` planes of three dimensions, or layers of cubes,
    /// are in a row.
    pub fn new(plan: impl Into<Plan>, columns: usize, finest: usize) -> Layout {
        let plan = plan.into();
        let machine = plan.machine;
        // Planes in several rows are always apart: the last row may have fewer.
        let finest = if columns < plan.layers() { 1 } else { finest };
        let is_solid = machine.dimensions() == 3 && machine.side(2) > 1;
        let is_headed = finest <= 1 && (is_solid || plan.cube.is_some());
        let mut axes = [Vec::new(), Vec::new()];
        let mut size = [1, 1];
        let (digits, within) = digits(&plan, columns);
        for (place, (digit, is_up)) in digits.into_iter().enumerate() {
            if place < within {
                size[usize::from(is_up)] *= digit.side;
            }
            axes[usize::from(is_up)].push(digit);
        }
        let is_named =
            machine.dimensions() > 2 || machine.is_written_high_first() || plan.cube.is_some();
        let [across, up] = axes.map(|digits| {
            // Numbers above planes replace those of the further dimensions.
            let is_numbered = |digit: &&Dimension| {
                let above =
                    |other: &Dimension| other.number == digit.number && other.step > digit.step;
                is_named && (!is_headed || digit.number < 2 && !digits.iter().any(above))
            };
            let dimensions = digits.iter().filter(is_numbered).cloned().collect();
            Axis::new(digits, dimensions, finest)
        });
        Layout {
            plan,
            across,
            up,
            headed: is_headed.then_some(size),
        }
    }

    /// Column and row of a processor.
    pub fn place(&self, node: NodeId) -> (usize, usize) {
        let coordinates = self.plan.machine.coordinates(node);
        let along = |axis: &Axis| {
            let begins = axis.digits.iter().map(|digit| {
                let coordinate = coordinates.map_or(0, |at| at[digit.number]);
                digit.begin(usize::from(coordinate))
            });
            begins.sum()
        };
        (along(&self.across), along(&self.up))
    }

    /// Whether there is a processor here: the last row of planes may have fewer planes.
    pub fn has(&self, x: usize, y: usize) -> bool {
        let mut sides = self.plan.machine.sides().iter().enumerate();
        sides.all(|(number, &side)| self.coordinate(number, x, y) < usize::from(side))
    }

    /// The coordinate in a dimension that a column and a row stand for.
    fn coordinate(&self, number: usize, x: usize, y: usize) -> usize {
        self.across.part(number, x) + self.up.part(number, y)
    }

    /// The rectangles that a block is in the picture, row by row.
    pub fn rectangles(&self, block: Block) -> Vec<Rect> {
        let machine = &self.plan.machine;
        let (mut start, mut extent) = (
            machine.start(block).to_vec(),
            machine.extent(block).to_vec(),
        );
        let has = |axis: &Axis| axis.parts.iter().any(|(number, _)| *number == 2);
        if !(has(&self.across) && has(&self.up)) {
            return self.product(&start, &extent);
        }
        // Dimension 2 goes to the right and downwards: plane by plane.
        let side = machine.side(2);
        let (first, planes) = (start[2], std::mem::replace(&mut extent[2], 1));
        let rectangles = (0..planes).flat_map(|plane| {
            start[2] = ((u32::from(first) + u32::from(plane)) % u32::from(side)) as u16;
            self.product(&start, &extent)
        });
        rectangles.collect()
    }

    /// The rectangles of a block of whose dimensions each is along one axis, or has an extent of 1.
    fn product(&self, start: &[u16], extent: &[u16]) -> Vec<Rect> {
        let sides = self.plan.machine.sides();
        let [columns, rows] =
            [&self.across, &self.up].map(|axis| axis.within(sides, start, extent));
        let rectangles = rows.iter().flat_map(|y| {
            columns.iter().map(|x| Rect {
                x: x.clone(),
                y: y.clone(),
            })
        });
        rectangles.collect()
    }

    /// How many rows of numbers are below this row.
    pub fn headings_below(&self, y: usize) -> usize {
        self.headed.map_or(0, |[_, h]| y / h)
    }

    /// Whether planes or cubes have numbers above them.
    pub fn is_headed(&self) -> bool {
        self.headed.is_some()
    }

    /// The digits of all coordinates, each with whether it is upwards.
    pub fn digits(&self) -> impl Iterator<Item = (&Dimension, bool)> {
        let across = self.across.digits.iter().map(|digit| (digit, false));
        across.chain(self.up.digits.iter().map(|digit| (digit, true)))
    }

    /// The texts of the [headings](Layout::headings): the numbers with names, if the lengths of all
    /// of these fit, else without. Whether they have names is the first value; `None` if neither
    /// fit.
    pub fn heading_texts(
        &self,
        fits: impl Fn(&Heading, usize) -> bool,
    ) -> Option<(bool, Vec<String>)> {
        let headings = self.headings();
        [true, false].into_iter().find_map(|is_named| {
            let texts = headings.iter().map(|heading| {
                if is_named {
                    format!("{} {}", heading.name, heading.number)
                } else {
                    heading.number.to_string()
                }
            });
            let texts: Vec<_> = texts.collect();
            let mut all = headings.iter().zip(&texts);
            let fit = all.all(|(heading, text)| fits(heading, text.len()));
            fit.then_some((is_named, texts))
        })
    }

    /// The numbers above planes or cubes, from below; none if the sides have all coordinates.
    pub fn headings(&self) -> Vec<Heading> {
        let Some([w, h]) = self.headed else {
            return Vec::new();
        };
        let Plan { machine, cube } = &self.plan;
        let corners = (0..self.up.len() / h)
            .flat_map(|row| (0..self.across.len() / w).map(move |column| (column * w, row * h)));
        let corners = corners.filter(|&(x, y)| self.has(x, y));
        let headings = corners.map(|(x, y)| {
            let coordinate = |number: usize| self.coordinate(number, x, y);
            let (name, number) = match cube {
                None => (
                    format!("{} =", names::dimension(*machine, 2)),
                    coordinate(2),
                ),
                Some(cube) => {
                    let mut stride = 1;
                    let numbers = (0..machine.dimensions()).map(|number| {
                        let within = usize::from(cube[number]);
                        let at = coordinate(number) / within * stride;
                        stride *= usize::from(machine.side(number)) / within;
                        at
                    });
                    ("cube".to_owned(), numbers.sum())
                }
            };
            let over = Rect {
                x: x..x + w,
                y: y..y + h,
            };
            Heading { name, number, over }
        });
        headings.collect()
    }

    /// What a picture of several planes is to be read by, in lines; nothing for a single one.
    pub fn directions(&self) -> Vec<String> {
        let Plan { machine, cube } = self.plan;
        if self.is_headed() {
            let name = |number: usize| names::dimension(machine, number);
            let names: Vec<_> = (0..machine.dimensions()).map(name).collect();
            let above = match cube {
                None => format!("above each plane: {}", names[2]),
                Some(_) => format!("above each cube: its number, {} fastest", names[0]),
            };
            let upwards = names.get(1).map(|name| format!(", {name} upwards"));
            let within = format!(
                "{above}; {} to the right{}",
                names[0],
                upwards.unwrap_or_default()
            );
            let layers = cube.filter(|cube| cube.len() > 2 && cube[2] > 1);
            let layers = layers.map(|_| {
                format!(
                    "in each cube: its planes by {}, the first at the upper left",
                    names[2]
                )
            });
            return std::iter::once(within).chain(layers).collect();
        }
        let direction = |name: &str, axis: &Axis| {
            let dimensions = axis.dimensions().iter().rev();
            let names: Vec<_> = dimensions.map(|dimension| &*dimension.name).collect();
            (!names.is_empty()).then(|| format!("{name}: {}", names.join(" ")))
        };
        let right = direction("to the right", &self.across);
        right
            .into_iter()
            .chain(direction("upwards", &self.up))
            .collect()
    }

    /// The parts of the picture that have no gap, row by row.
    pub fn planes(&self) -> Vec<Rect> {
        let columns = self.across.stretches();
        let rows = self.up.stretches();
        let planes = rows
            .iter()
            .flat_map(|y| columns.iter().map(|x| (x.clone(), y.clone())));
        let planes = planes.filter(|(x, y)| self.has(x.start, y.start));
        planes.map(|(x, y)| Rect { x, y }).collect()
    }
}

impl Axis {
    fn new(digits: Vec<Dimension>, dimensions: Vec<Dimension>, finest: usize) -> Axis {
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

    /// The dimensions whose coordinates stand along this axis, the lowest first; none in a picture
    /// that is a single plane with columns and rows.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// One more than the levels at which there may be gaps.
    pub fn levels(&self) -> usize {
        self.digits.len()
    }

    /// How many processors have no gap from the level `finest` on between them.
    pub fn together(&self, finest: usize) -> usize {
        let digit = self.digits.get(finest - 1);
        digit.map_or(1, |digit| digit.stride * digit.side)
    }

    /// What a column or row contributes to the coordinate in a dimension.
    pub fn part(&self, number: usize, at: usize) -> usize {
        let part = self.parts.iter().find(|(of, _)| *of == number);
        part.map_or(0, |(_, parts)| parts[at])
    }

    /// How wide all gaps before this processor are together, in units of the least.
    pub fn gaps_before(&self, at: usize) -> usize {
        self.gaps[at]
    }

    /// How wide all gaps are together, in units of the least.
    pub fn gaps(&self) -> usize {
        self.gaps.last().copied().unwrap_or(0)
    }

    /// The processors between gaps.
    pub fn stretches(&self) -> Vec<Range<usize>> {
        self.runs(0..self.len(), |_| true)
    }

    /// The processors whose coordinates are within a block.
    fn within(&self, sides: &[u16], start: &[u16], extent: &[u16]) -> Vec<Range<usize>> {
        // A block of extent 1 is where the digits here are those of its start.
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

    /// The longest runs within `range` for which it holds, each without a gap.
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

#[cfg(test)]
mod tests {
    use meshalloc::Cube;

    use super::*;

    fn cube(k: u16, n: u8) -> Grid {
        Cube::new(k, n).unwrap().into()
    }

    #[test]
    fn dimensions_go_right_and_up_in_turn() {
        let grid = |sides: &[u16]| Grid::mesh(sides).unwrap();
        for (machine, size) in [
            (cube(4, 1), (4, 1)),
            (cube(5, 2), (5, 5)),
            (cube(4, 3), (16, 4)),
            (cube(3, 4), (9, 9)),
            (cube(2, 12), (64, 64)),
            (cube(2, 5), (8, 4)),
            (grid(&[6, 4]), (6, 4)),
            (grid(&[7]), (7, 1)),
            (grid(&[3, 4, 2, 1, 5]), (30, 4)),
        ] {
            let layout = Layout::new(machine, ONE_ROW, 1);
            assert_eq!((layout.across.len(), layout.up.len()), size);
            let mut seen = vec![false; size.0 * size.1];
            for node in (0..machine.nodes()).map(NodeId) {
                let (x, y) = layout.place(node);
                assert!(!std::mem::replace(&mut seen[y * size.0 + x], true));
                let coordinates = machine.coordinates(node).unwrap();
                for (axis, at) in [(&layout.across, x), (&layout.up, y)] {
                    for digit in &axis.digits {
                        let expected = usize::from(coordinates[digit.number]);
                        assert_eq!(digit.coordinate(at), expected);
                    }
                }
            }
        }
        let layout = Layout::new(grid(&[6, 4]), ONE_ROW, 1);
        assert_eq!(layout.place(NodeId(6 * 3 + 2)), (2, 3));
        assert_eq!(layout.planes(), [Rect { x: 0..6, y: 0..4 }]);
    }

    #[test]
    fn gaps_grow_with_the_level() {
        let axis = Layout::new(cube(2, 6), ONE_ROW, 1).across;
        assert_eq!(axis.gaps, [0, 0, 1, 1, 3, 3, 4, 4]);
        assert_eq!(axis.stretches(), [0..2, 2..4, 4..6, 6..8]);
        let axis = Layout::new(cube(2, 6), ONE_ROW, 2).across;
        assert_eq!(axis.gaps, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(axis.stretches(), [0..4, 4..8]);
        let axis = Layout::new(cube(2, 6), ONE_ROW, 3).across;
        assert_eq!((axis.gaps(), axis.stretches().len()), (0, 1));
        let axis = Layout::new(Grid::mesh(&[3, 9, 2]).unwrap(), ONE_ROW, 1).across;
        assert_eq!(axis.stretches(), [0..3, 3..6]);
    }

    /// Every block of the machine.
    fn blocks(machine: Grid) -> Vec<Block> {
        let nodes = || (0..machine.nodes()).map(NodeId);
        let pairs = nodes().flat_map(|first| nodes().map(move |last| (first, last)));
        let blocks = pairs.filter_map(|(first, extent)| {
            let mut extent = machine.coordinates(extent)?;
            extent.iter_mut().for_each(|extent| *extent += 1);
            machine.block(&machine.coordinates(first)?, &extent)
        });
        blocks.collect()
    }

    #[test]
    fn rectangles_have_the_nodes_of_their_block() {
        let grid = |sides: &[u16]| Grid::torus(sides).unwrap();
        let cubes = |sides: &[u16], cube: &[u16]| Plan {
            machine: grid(sides),
            cube: Tuple::from_slice(cube),
        };
        for (plan, columns) in [
            (cube(4, 3).into(), ONE_ROW),
            (cube(4, 3).into(), 3),
            (cube(5, 2).into(), ONE_ROW),
            (cube(2, 6).into(), 2),
            (cube(7, 1).into(), ONE_ROW),
            (Grid::mesh(&[4, 3, 3]).unwrap().into(), 2),
            (grid(&[2, 3, 7]).into(), 3),
            (Grid::new(&[3, 2, 4, 2], 0b0101).unwrap().into(), ONE_ROW),
            (cubes(&[4, 4, 4], &[2, 2, 4]), ONE_ROW),
            (cubes(&[4, 2, 6], &[2, 2, 2]), 2),
            (cubes(&[2, 4, 6], &[2, 2, 3]), 1),
            (cubes(&[6, 4], &[3, 2]), ONE_ROW),
            (cubes(&[4, 2, 2, 2], &[2, 1, 2, 2]), ONE_ROW),
        ] {
            let machine = plan.machine;
            for block in blocks(machine).into_iter().step_by(7) {
                for finest in 1..3 {
                    let layout = Layout::new(plan, columns, finest);
                    let rectangles = layout.rectangles(block);
                    for node in (0..machine.nodes()).map(NodeId) {
                        let (x, y) = layout.place(node);
                        assert!(layout.has(x, y));
                        let holding = rectangles
                            .iter()
                            .filter(|rect| rect.x.contains(&x) && rect.y.contains(&y));
                        let times = usize::from(machine.holds(block, node));
                        assert_eq!(holding.count(), times, "{} {node}", machine.place(block));
                    }
                    for rect in &rectangles {
                        let gaps = |axis: &Axis, range: &Range<usize>| {
                            axis.gaps_before(range.end - 1) - axis.gaps_before(range.start)
                        };
                        assert_eq!(gaps(&layout.across, &rect.x), 0);
                        assert_eq!(gaps(&layout.up, &rect.y), 0);
                    }
                    // Each plane has its processors, and no place has two.
                    let mut places: Vec<_> = (0..machine.nodes())
                        .map(|node| layout.place(NodeId(node)))
                        .collect();
                    places.sort_unstable();
                    places.dedup();
                    let area = |rect: &Rect| rect.x.len() * rect.y.len();
                    let planes: usize = layout.planes().iter().map(area).sum();
                    assert_eq!(
                        (planes, places.len() as u32),
                        (places.len(), machine.nodes())
                    );
                }
            }
        }
    }

    /// The numbers above planes, with their columns and rows.
    fn headings(plan: Plan, columns: usize) -> Vec<(String, usize, usize)> {
        let headings = Layout::new(plan, columns, 1).headings().into_iter();
        let headings = headings.map(|Heading { name, number, over }| {
            (format!("{name} {number}"), over.x.start, over.y.start)
        });
        headings.collect()
    }

    #[test]
    fn planes_in_several_rows_begin_at_the_upper_left() {
        let machine = Grid::mesh(&[3, 2, 5]).unwrap();
        let expected = [
            ("z = 3", 0, 0),
            ("z = 4", 3, 0),
            ("z = 0", 0, 2),
            ("z = 1", 3, 2),
            ("z = 2", 6, 2),
        ];
        let expected = expected.map(|(text, x, y)| (text.to_owned(), x, y));
        assert_eq!(headings(machine.into(), 3), expected);
        let layout = Layout::new(machine, 3, 1);
        assert_eq!(layout.planes().len(), 5);
        assert!(layout.has(5, 1) && !layout.has(6, 1) && layout.has(6, 2));
        // x = 1, y = 1, z = 4.
        assert_eq!(layout.place(NodeId(4 * 6 + 3 + 1)), (4, 1));
        // Four dimensions have rows of planes already.
        let machine = Grid::mesh(&[3, 2, 5, 2]).unwrap();
        assert_eq!(Layout::new(machine, 3, 1).across.len(), 15);
    }

    #[test]
    fn cubes_are_grids_of_planes() {
        let plan = Plan {
            machine: Grid::torus(&[8, 8, 8]).unwrap(),
            cube: Tuple::from_slice(&[4, 4, 4]),
        };
        let expected = [
            ("cube 0", 0, 0),
            ("cube 1", 8, 0),
            ("cube 4", 16, 0),
            ("cube 5", 24, 0),
            ("cube 2", 0, 8),
            ("cube 3", 8, 8),
            ("cube 6", 16, 8),
            ("cube 7", 24, 8),
        ];
        let expected = expected.map(|(text, x, y)| (text.to_owned(), x, y));
        assert_eq!(headings(plan, ONE_ROW), expected);
        let layout = Layout::new(plan, ONE_ROW, 1);
        let place = |at: [u16; 3]| layout.place(plan.machine.node(&at).unwrap());
        // The planes of a cube: 0 and 1 above 2 and 3.
        assert_eq!(place([1, 2, 0]), (1, 6));
        assert_eq!(place([1, 2, 1]), (5, 6));
        assert_eq!(place([1, 2, 3]), (5, 2));
        assert_eq!(place([5, 6, 6]), (16 + 8 + 1, 8 + 2));
    }
}
