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

use crate::names;

mod axis;
mod picture;
#[cfg(test)]
mod tests;

pub use axis::{Axis, Dimension};
pub use picture::Picture;

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

    /// The number of planes, or layers of cubes, that may stand in several rows.
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
    /// The columns and rows of a plane or cube that has a number above it.
    headed: Option<[usize; 2]>,
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

    /// Its first column and row, and the numbers of both, as the scripts of pages read it.
    pub fn numbers(&self) -> [usize; 4] {
        [self.x.start, self.y.start, self.x.len(), self.y.len()]
    }
}

/// The number above a plane or cube.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// What is numbered: `z =` or `cube`.
    pub name: String,
    /// The number.
    pub number: usize,
    /// The plane or cube below the number.
    pub over: Rect,
}

/// The digits of all coordinates in the order in which they change, each with whether it goes
/// upwards. Also the number of the first digits that belong to a plane, or to a cube. Up to
/// `columns` planes of three dimensions, or layers of cubes, are in a row.
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
    /// The picture of a machine, with gaps from the level `finest`, at least 1, on. Gaps of level 1
    /// lie between planes next to each other. Gaps of level 2, wider by one unit, lie between
    /// groups of such planes, and so on. Up to `columns` planes of three dimensions, or layers of
    /// cubes, are in a row.
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
            // Numbers above planes replace the numbers of the further dimensions.
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

    /// The processor in this column and row, if there is one.
    pub fn node(&self, x: usize, y: usize) -> Option<NodeId> {
        let is_within = x < self.across.len() && y < self.up.len();
        let dimensions = 0..self.plan.machine.dimensions();
        let at = dimensions.map(|number| self.coordinate(number, x, y) as u16);
        is_within.then(|| self.plan.machine.node(&at.collect::<Vec<_>>()))?
    }

    /// The coordinate in a dimension that a column and a row stand for.
    fn coordinate(&self, number: usize, x: usize, y: usize) -> usize {
        self.across.part(number, x) + self.up.part(number, y)
    }

    /// The rectangles of a block in the picture, row by row.
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

    /// The rectangles of a block. Each of its dimensions lies along one axis, or has an extent of
    /// 1.
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

    /// The texts of the [headings](Layout::headings): the numbers with names if all of these texts
    /// fit, else without names. The first value says whether they have names; `None` if neither
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

    /// The numbers above planes or cubes, from below; empty if the sides have all coordinates.
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

    /// How to read a picture of several planes, as lines; empty for a single plane.
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
