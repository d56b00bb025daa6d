//! Borders of planes, and what stands beside them: columns and rows of a single plane, coordinates in each dimension
//! where there are several.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::super::layout::{Axis, Dimension, Rect};
use super::place::Place;
use super::{Area, Drawn, Label, PIXEL, THIN, stroke, units};

/// Room in pixels for the numbers left of a single plane and below it.
const LEFT: f64 = 44.0;
const BELOW: f64 = 30.0;
/// Room for each dimension where there are several planes: a column of digits at the left, a row of digits below.
const DIGIT_COLUMN: f64 = 24.0;
const DIGIT_ROW: f64 = 14.0;
/// Height of the numbers, and of the names of dimensions.
const NUMBER: f64 = 11.0;
const NAME: f64 = 9.0;
/// Width of a character as a part of its height.
const CHARACTER: f64 = 0.6;
/// The least space between numbers.
const SPACE: f64 = 2.0;
/// From the border to the ends of the ticks, to the right of row numbers, and to the middle of column numbers.
const TICK: f64 = 4.0;
const ROW_NUMBER: f64 = 7.0;
const COLUMN_NUMBER: f64 = 13.0;

/// Room around a machine in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Margins {
    pub(super) left: f64,
    pub(super) below: f64,
}

impl Margins {
    pub(super) fn new(place: &Place) -> Margins {
        let dimensions = |axis: &Axis| axis.dimensions().len() as f64;
        let columns = dimensions(&place.layout.up);
        let further_rows = (dimensions(&place.layout.across) - 1.0).max(0.0);
        Margins {
            left: LEFT.max(2.0 * ROW_NUMBER + columns * DIGIT_COLUMN),
            below: BELOW + further_rows * DIGIT_ROW,
        }
    }
}

pub(super) fn border(area: &Area<'_>, place: &Place, plane: &Rect) -> Drawn {
    let [left, right] = [plane.x.start, plane.x.end].map(|x| x as f64);
    let [bottom, top] = [plane.y.start, plane.y.end].map(|y| y as f64);
    let corners = [
        (left, bottom),
        (right, bottom),
        (right, top),
        (left, top),
        (left, bottom),
    ];
    let border = corners.map(|(x, y)| place.at(plane, x, y));
    area.draw(&PathElement::new(border, stroke(BLACK, THIN)))?;
    Ok(())
}

/// Numbers of columns and rows, or the coordinates in all dimensions.
pub(super) fn numbers(area: &Area<'_>, place: &Place) -> Drawn {
    let (across, up) = (&place.layout.across, &place.layout.up);
    if across.dimensions().is_empty() {
        for x in (0..across.len()).step_by(tick(across.len())) {
            tick_below(area, place, x)?;
            Number::below(place, &(x..x + 1), 0).draw(area, x)?;
        }
        for y in (0..up.len()).step_by(tick(up.len())) {
            tick_at_the_left(area, place, y)?;
            Number::at_the_left(place, &(y..y + 1), 0).draw(area, y)?;
        }
        return Ok(());
    }
    let width = |number: usize| CHARACTER * NUMBER * number.to_string().len() as f64;
    let (left, bottom) = corner(place);
    let [left, bottom] = [left, bottom].map(|at| f64::from(at) / PIXEL);
    let mut row = 0;
    for (level, dimension) in across.dimensions().iter().enumerate() {
        let room = width(dimension.side - 1) + SPACE;
        let digits = digits(across, dimension, room / place.scale);
        for (digit, group) in &digits {
            if level == 0 {
                tick_below(area, place, group.start)?;
            }
            Number::below(place, group, row).draw(area, *digit)?;
        }
        if !digits.is_empty() {
            let y = bottom + COLUMN_NUMBER + DIGIT_ROW * row as f64;
            let name = Label {
                side: HPos::Right,
                ..Label::new(left - ROW_NUMBER, y, NAME)
            };
            name.draw(area, &dimension.name)?;
            row += 1;
        }
    }
    let top = bottom - place.size().1;
    let mut column = 0;
    for (level, dimension) in up.dimensions().iter().enumerate() {
        let digits = digits(up, dimension, (NUMBER + SPACE) / place.scale);
        for (digit, group) in &digits {
            if level == 0 {
                tick_at_the_left(area, place, group.start)?;
            }
            Number::at_the_left(place, group, column).draw(area, *digit)?;
        }
        if !digits.is_empty() {
            let x = left - ROW_NUMBER - DIGIT_COLUMN * column as f64;
            let name = Label {
                side: HPos::Right,
                ..Label::new(x, top - NAME, NAME)
            };
            name.draw(area, &dimension.name)?;
            column += 1;
        }
    }
    Ok(())
}

/// The coordinates in one dimension along an axis and the processors that have each of them, as many as there is room
/// for: one needs as much as `room` processors take. None if there is no room for two along the side.
fn digits(axis: &Axis, dimension: &Dimension, room: f64) -> Vec<(usize, Range<usize>)> {
    let (side, each) = (dimension.side, dimension.stride);
    let apart = (room / each as f64).ceil() as usize;
    let step = tick(side).max(apart.next_power_of_two());
    let begins = (0..axis.len()).step_by(each);
    let digits = begins.map(|begin| (dimension.coordinate(begin), begin..begin + each));
    let shown = digits.filter(|(digit, _)| step < side && digit.is_multiple_of(step));
    shown.collect()
}

/// The lower left corner of the machine.
fn corner(place: &Place) -> (i32, i32) {
    place.at(&Rect { x: 0..1, y: 0..1 }, 0.0, 0.0)
}

/// The middle of these columns at the lower side.
fn below(place: &Place, x: &Range<usize>) -> (i32, i32) {
    let rect = Rect {
        x: x.clone(),
        y: 0..1,
    };
    (units(place.middle(&rect).0), corner(place).1)
}

/// The middle of these rows at the left side.
fn at_the_left(place: &Place, y: &Range<usize>) -> (i32, i32) {
    let rect = Rect {
        x: 0..1,
        y: y.clone(),
    };
    (corner(place).0, units(place.middle(&rect).1))
}

fn tick_below(area: &Area<'_>, place: &Place, x: usize) -> Drawn {
    let (centre, bottom) = below(place, &(x..x + 1));
    let ends = [(centre, bottom), (centre, bottom + units(TICK))];
    area.draw(&PathElement::new(ends, stroke(BLACK, THIN)))?;
    Ok(())
}

fn tick_at_the_left(area: &Area<'_>, place: &Place, y: usize) -> Drawn {
    let (left, centre) = at_the_left(place, &(y..y + 1));
    let ends = [(left - units(TICK), centre), (left, centre)];
    area.draw(&PathElement::new(ends, stroke(BLACK, THIN)))?;
    Ok(())
}

/// A number beside the machine.
struct Number(Label);

impl Number {
    /// For these columns, in this row of numbers from the machine on.
    fn below(place: &Place, x: &Range<usize>, row: usize) -> Number {
        let (x, bottom) = below(place, x);
        let y = f64::from(bottom) / PIXEL + COLUMN_NUMBER + DIGIT_ROW * row as f64;
        Number(Label {
            side: HPos::Center,
            ..Label::new(f64::from(x) / PIXEL, y, NUMBER)
        })
    }

    /// For these rows, in this column of numbers from the machine on.
    fn at_the_left(place: &Place, y: &Range<usize>, column: usize) -> Number {
        let (left, y) = at_the_left(place, y);
        let x = f64::from(left) / PIXEL - ROW_NUMBER - DIGIT_COLUMN * column as f64;
        Number(Label {
            side: HPos::Right,
            ..Label::new(x, f64::from(y) / PIXEL, NUMBER)
        })
    }

    fn draw(self, area: &Area<'_>, number: usize) -> Drawn {
        self.0.draw(area, &number.to_string())
    }
}

/// How far apart the numbers along a side stand: a power of two, so that there are at most eight.
fn tick(side: usize) -> usize {
    side.div_ceil(8).next_power_of_two()
}
