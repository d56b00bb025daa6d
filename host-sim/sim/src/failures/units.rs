//! The units of a machine that fail, by number.

use meshalloc::{Block, Grid, NodeId, Shape};

use super::{Unit, Wrong};

/// The effect of an event on the places in which jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Down(Block),
    Up(Block),
    /// Jobs on the place are interrupted, but the place works.
    Interrupts(Block),
    Nothing,
}

/// The units of one kind, numbered from 0: boxes in the order of their first processors, dimension
/// 0 fastest; links by the processor from which they lead upwards, then by dimension. A link around
/// a ring leads upwards from the last processor.
#[derive(Clone, Debug)]
pub(super) struct Units {
    machine: Grid,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Boxes with these sides, and the number of boxes along each dimension.
    Boxes { sides: Vec<u16>, counts: Vec<u16> },
    /// The lower end and the dimension of each link.
    Links(Vec<(u32, u8)>),
}

impl Units {
    /// The units of the machine. If the machine has cubes, `cube` gives their sides.
    pub(super) fn new(machine: Grid, unit: Unit, cube: Option<Shape>) -> Result<Self, Wrong> {
        let n = machine.dimensions();
        let wrong = |given: String, expected: &str| Wrong {
            what: format!("what fails on {machine}"),
            settings: &["failures"],
            given,
            expected: expected.into(),
        };
        let sides = match (unit, cube) {
            (Unit::Node, _) => Shape::new(&[]).expect("a single processor"),
            (Unit::Box(sides), _) | (Unit::Cube, Some(sides)) => sides,
            (Unit::Cube, None) => {
                let expected = "node, link or the sides of a box; the machine has no cubes";
                return Err(wrong("cube".into(), expected));
            }
            (Unit::Link, _) => return Ok(Units::links(machine)),
        };
        let extents = sides.extents();
        let side = |at: usize| extents.get(at).copied().unwrap_or(1);
        let fits = |at: usize| machine.side(at).is_multiple_of(side(at));
        if extents.iter().skip(n).any(|&side| side > 1) || !(0..n).all(fits) {
            let expected = "sides that divide those of the machine";
            return Err(wrong(sides.to_string(), expected));
        }
        Ok(Units {
            machine,
            kind: Kind::Boxes {
                sides: (0..n).map(side).collect(),
                counts: (0..n).map(|at| machine.side(at) / side(at)).collect(),
            },
        })
    }

    fn links(machine: Grid) -> Self {
        let mut links = Vec::new();
        for node in 0..machine.nodes() {
            let Some(at) = machine.coordinates(NodeId(node)) else {
                continue;
            };
            for (dimension, &at) in at.iter().enumerate() {
                let side = machine.side(dimension);
                if at + 1 < side || (side > 1 && machine.wraps(dimension)) {
                    links.push((node, dimension as u8));
                }
            }
        }
        Units {
            machine,
            kind: Kind::Links(links),
        }
    }

    pub(super) fn count(&self) -> u32 {
        match &self.kind {
            Kind::Boxes { counts, .. } => counts.iter().map(|&count| u32::from(count)).product(),
            Kind::Links(links) => links.len() as u32,
        }
    }

    /// The processors of a unit. The unit's number is less than the count.
    pub(super) fn block(&self, unit: u32) -> Block {
        let block = match &self.kind {
            Kind::Boxes { sides, counts } => {
                let mut rest = unit;
                let start = sides.iter().zip(counts.iter()).map(|(&side, &count)| {
                    let at = rest % u32::from(count);
                    rest /= u32::from(count);
                    at as u16 * side
                });
                let start: Vec<_> = start.collect();
                self.machine.block(&start, sides)
            }
            Kind::Links(links) => self.machine.unit(NodeId(links[unit as usize].0)),
        };
        block.expect("a unit is within the machine")
    }

    /// The number of boxes in a row along dimension 0; 1 for links.
    pub(super) fn in_row(&self) -> u32 {
        match &self.kind {
            Kind::Boxes { counts, .. } => counts.first().map_or(1, |&count| count.into()),
            Kind::Links(_) => 1,
        }
    }

    /// The number of a unit, as a file names it: the number of a box, or, for a link, the number of
    /// its lower end and its dimension with a colon between them. The error says what was expected.
    pub(super) fn number(&self, text: &str) -> Result<u32, String> {
        match &self.kind {
            Kind::Boxes { .. } => {
                let number = text.parse().ok().filter(|&number| number < self.count());
                number.ok_or_else(|| format!("a number from 0 to {}", self.count() - 1))
            }
            Kind::Links(links) => {
                let ends = text.split_once(':');
                let link = ends.and_then(|(node, dimension)| {
                    Some((node.parse().ok()?, dimension.parse().ok()?))
                });
                let place = link.and_then(|link: (u32, u8)| links.binary_search(&link).ok());
                place.map(|place| place as u32).ok_or_else(|| {
                    format!(
                        "NODE:DIMENSION, the lower end and the dimension of a link of {}",
                        self.machine
                    )
                })
            }
        }
    }
}
