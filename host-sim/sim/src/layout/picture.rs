//! A layout in the form that the scripts of pages read: [`Picture`].

use serde::Serialize;

use super::Layout;
use crate::names;

/// The coordinates along both sides of a picture. A page breaks a row of planes into several rows
/// if the window is narrow. Columns and rows are still counted as in the layout.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    dimensions: Vec<Side>,
    digits: Vec<Digit>,
    wraps: Vec<bool>,
    high_first: bool,
    /// The sides of a cube, if the machine has cubes.
    cube: Option<Vec<u16>>,
}

/// A dimension of a machine.
#[derive(Clone, Debug, Serialize)]
struct Side {
    name: String,
    side: u16,
}

/// Digits of a coordinate along one side of a picture.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Digit {
    dimension: usize,
    side: usize,
    step: usize,
    descends: bool,
    is_up: bool,
}

impl From<&Layout> for Picture {
    fn from(layout: &Layout) -> Self {
        let machine = layout.plan.machine;
        let sides = machine.sides().iter().enumerate();
        let dimensions = sides.map(|(number, &side)| Side {
            name: names::dimension(machine, number),
            side,
        });
        let digits = layout.digits().map(|(digit, is_up)| Digit {
            dimension: digit.number,
            side: digit.side,
            step: digit.step,
            descends: digit.descends,
            is_up,
        });
        let wraps = (0..machine.dimensions()).map(|number| machine.wraps(number));
        Picture {
            dimensions: dimensions.collect(),
            digits: digits.collect(),
            wraps: wraps.collect(),
            high_first: machine.is_written_high_first(),
            cube: layout.plan.cube.map(|cube| cube.to_vec()),
        }
    }
}
