//! Borders of planes, and the numbers beside them: columns and rows of a single plane, or
//! coordinates in each dimension if there are several planes.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::place::{HEADING, Place};
use super::{Area, Drawn, Label, PIXEL, THIN, stroke, units};
use meshalloc_sim::layout::{Axis, Dimension, Heading, Rect};

// Lengths are in pixels.

/// Room for the numbers left of a single plane and below it.
const LEFT: f64 = 44.0;
const BELOW: f64 = 30.0;
/// Room for each dimension of several planes: digits in a column at the left, a row below.
const DIGIT_COLUMN: f64 = 24.0;
const DIGIT_ROW: f64 = 14.0;
/// Height of the numbers, and of the names of dimensions.
const NUMBER: f64 = 11.0;
const NAME: f64 = 9.0;
/// Width of a character as a part of its height.
const CHARACTER: f64 = 0.6;
/// The least space between numbers.
const SPACE: f64 = 2.0;
/// From the border to the ends of ticks, to row numbers, and to the middle of column numbers.
const TICK: f64 = 4.0;
const ROW_NUMBER: f64 = 7.0;
const COLUMN_NUMBER: f64 = 13.0;

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

/// The numbers above planes or cubes, as long as all of them have room.
pub(super) fn headings(
    area: &Area<'_>,
    place: &Place,
    colour: impl Fn(&Heading) -> RGBColor,
) -> Drawn {
    let left = |heading: &Heading| {
        let Rect { x, y } = &heading.over;
        let within = Rect {
            x: x.clone(),
            y: y.end - 1..y.end,
        };
        place.pixels(&within, x.start as f64, y.end as f64)
    };
    let headings = place.layout.headings();
    let narrowest = headings.iter().map(|heading| heading.over.x.len()).min();
    let room = narrowest.unwrap_or(0) as f64 * place.scale;
    let fits = |_: &Heading, length| CHARACTER * NUMBER * length as f64 <= room;
    let (_, texts) = place.layout.heading_texts(fits).unwrap_or_default();
    for (heading, text) in headings.iter().zip(&texts) {
        let (x, y) = left(heading);
        let label = Label::new(x, y - HEADING / 2.0, NUMBER);
        let colour = colour(heading);
        Label { colour, ..label }.draw(area, text)?;
    }
    Ok(())
}

/// Numbers of columns and rows, or the coordinates in all dimensions.
pub(super) fn numbers(area: &Area<'_>, place: &Place) -> Drawn {
    let is_single = place.layout.across.dimensions().is_empty();
    for side in [Side::Below, Side::Left] {
        let axis = side.axis(place);
        if is_single && axis.len() == 1 {
            // A line has no second coordinate.
            continue;
        }
        if is_single {
            for at in (0..axis.len()).step_by(tick(axis.len())) {
                side.tick(area, place, at)?;
                side.number(area, place, &(at..at + 1), 0, at)?;
            }
            continue;
        }
        let mut line = 0;
        for (level, dimension) in axis.dimensions().iter().enumerate() {
            let most = dimension.step * (dimension.side - 1);
            let size = match side {
                Side::Below => CHARACTER * NUMBER * most.to_string().len() as f64,
                Side::Left => NUMBER,
            };
            let digits = digits(axis, dimension, (size + SPACE) / place.scale);
            for (digit, group) in &digits {
                let is_there = match side {
                    Side::Below => place.layout.has(group.start, 0),
                    Side::Left => place.layout.has(0, group.start),
                };
                if !is_there {
                    continue;
                }
                if level == 0 {
                    side.tick(area, place, group.start)?;
                }
                side.number(area, place, group, line, *digit)?;
            }
            if !digits.is_empty() {
                side.name(area, place, line, &dimension.name)?;
                line += 1;
            }
        }
    }
    Ok(())
}

/// The coordinates in one dimension along an axis, with their processors: as many as fit when each
/// takes the room of `room` processors; none if two do not fit along the side.
fn digits(axis: &Axis, dimension: &Dimension, room: f64) -> Vec<(usize, Range<usize>)> {
    let (side, each) = (dimension.side, dimension.stride);
    let apart = (room / each as f64).ceil() as usize;
    let step = tick(side).max(apart.next_power_of_two());
    let begins = (0..axis.len()).step_by(each);
    // The coordinate of a cube is that of its first processor.
    let width = if dimension.step > 1 { 1 } else { each };
    let digits = begins.map(|begin| (dimension.coordinate(begin), begin..begin + width));
    let shown =
        digits.filter(|(digit, _)| step < side && digit.is_multiple_of(step * dimension.step));
    shown.collect()
}

/// Where the numbers of an axis stand: columns or dimensions to the right below the machine, rows
/// or dimensions upwards at its left. There are lines of them, the first next to the machine.
#[derive(Clone, Copy)]
enum Side {
    Below,
    Left,
}

impl Side {
    fn axis(self, place: &Place) -> &Axis {
        match self {
            Side::Below => &place.layout.across,
            Side::Left => &place.layout.up,
        }
    }

    /// The middle of these processors at the border.
    fn middle(self, place: &Place, at: &Range<usize>) -> (i32, i32) {
        let (left, bottom) = place.at(&Rect::one(0, 0), 0.0, 0.0);
        let (at, one) = (at.clone(), 0..1);
        match self {
            Side::Below => (units(place.middle(&Rect { x: at, y: one }).0), bottom),
            Side::Left => (left, units(place.middle(&Rect { x: one, y: at }).1)),
        }
    }

    fn tick(self, area: &Area<'_>, place: &Place, at: usize) -> Drawn {
        let (x, y) = self.middle(place, &(at..at + 1));
        let ends = match self {
            Side::Below => [(x, y), (x, y + units(TICK))],
            Side::Left => [(x - units(TICK), y), (x, y)],
        };
        area.draw(&PathElement::new(ends, stroke(BLACK, THIN)))?;
        Ok(())
    }

    fn number(
        self,
        area: &Area<'_>,
        place: &Place,
        at: &Range<usize>,
        line: u32,
        number: usize,
    ) -> Drawn {
        let (x, y) = self.middle(place, at);
        let (x, y) = (f64::from(x) / PIXEL, f64::from(y) / PIXEL);
        let line = f64::from(line);
        let (x, y, side) = match self {
            Side::Below => (x, y + COLUMN_NUMBER + DIGIT_ROW * line, HPos::Center),
            Side::Left => (x - ROW_NUMBER - DIGIT_COLUMN * line, y, HPos::Right),
        };
        let label = Label::new(x, y, NUMBER);
        Label { side, ..label }.draw(area, &number.to_string())
    }

    /// The name of a dimension: left of its line below, above its line at the left.
    fn name(self, area: &Area<'_>, place: &Place, line: u32, name: &str) -> Drawn {
        let (left, bottom) = place.at(&Rect::one(0, 0), 0.0, 0.0);
        let [left, bottom] = [left, bottom].map(|at| f64::from(at) / PIXEL);
        let (x, line) = (left - ROW_NUMBER, f64::from(line));
        let (x, y) = match self {
            Side::Below => (x, bottom + COLUMN_NUMBER + DIGIT_ROW * line),
            Side::Left => {
                let heading = HEADING * f64::from(u8::from(place.layout.is_headed()));
                (
                    x - DIGIT_COLUMN * line,
                    bottom - place.size().1 - NAME + heading,
                )
            }
        };
        let side = HPos::Right;
        let label = Label::new(x, y, NAME);
        Label { side, ..label }.draw(area, name)
    }
}

/// How far apart the numbers along a side stand: a power of two, so that there are at most eight.
fn tick(side: usize) -> usize {
    side.div_ceil(8).next_power_of_two()
}
