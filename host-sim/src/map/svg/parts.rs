//! How the parts of a job belong together in a map: outlines around them, the gaps of a machine of
//! cubes between them, and strips beyond the border of a machine that wraps around.

use std::ops::Range;

use meshalloc::Block;
use plotters::prelude::*;

use super::super::colouring;
use super::super::snapshot::{Owner, Owners};
use super::place::Place;
use super::{Area, Drawn, THIN, stroke, units};
use meshalloc_sim::layout::{Heading, Layout, Rect};

// Lengths are in pixels.

/// Width of the outlines of jobs.
const OUTLINE: f64 = 1.4;
/// How far a job that wraps around goes beyond the border of the machine.
const OPEN: f64 = 3.5;

/// The parts of jobs, and how they belong together.
pub(super) struct Parts<'p> {
    pub(super) layout: &'p Layout,
    pub(super) owners: &'p Owners,
    pub(super) colours: &'p [usize],
}

/// A side of a plane: a dimension, and whether it is the side of the high coordinates.
#[derive(Clone, Copy)]
struct Side {
    dimension: usize,
    is_high: bool,
}

const SIDES: [Side; 4] = [
    Side::new(0, false),
    Side::new(0, true),
    Side::new(1, false),
    Side::new(1, true),
];

impl Side {
    const fn new(dimension: usize, is_high: bool) -> Side {
        Side { dimension, is_high }
    }

    /// The columns and rows along this side of a plane.
    fn of(self, plane: &Rect) -> Rect {
        let end = |range: &Range<usize>| {
            if self.is_high {
                range.end - 1..range.end
            } else {
                range.start..range.start + 1
            }
        };
        match self.dimension {
            0 => Rect {
                x: end(&plane.x),
                y: plane.y.clone(),
            },
            _ => Rect {
                x: plane.x.clone(),
                y: end(&plane.y),
            },
        }
    }
}

impl Parts<'_> {
    fn job(&self, x: usize, y: usize) -> Option<usize> {
        match self.owners.get(x, y) {
            Some(Owner::Job(job)) => Some(job),
            _ => None,
        }
    }

    /// The column and row beyond the border of a plane. If cubes are drawn, they belong to the
    /// plane next to it; else, if the machine wraps around, to the other end of the same plane.
    fn beyond(&self, plane: &Rect, side: Side, (x, y): (usize, usize)) -> Option<(usize, usize)> {
        let Side { dimension, is_high } = side;
        if self.layout.plan.cube.is_some() {
            let next = |at: usize| {
                if is_high {
                    Some(at + 1)
                } else {
                    at.checked_sub(1)
                }
            };
            return match dimension {
                0 => Some((next(x)?, y)),
                _ => Some((x, next(y)?)),
            };
        }
        let machine = &self.layout.plan.machine;
        let wraps = dimension < machine.dimensions() && machine.wraps(dimension);
        let other = Side::new(dimension, !is_high).of(plane);
        wraps.then_some(match dimension {
            0 => (other.x.start, y),
            _ => (x, other.y.start),
        })
    }

    /// The job that goes on beyond the border of a plane.
    fn open(&self, plane: &Rect, side: Side, (x, y): (usize, usize)) -> Option<usize> {
        let job = self.job(x, y)?;
        let (x, y) = self.beyond(plane, side, (x, y))?;
        (self.job(x, y) == Some(job)).then_some(job)
    }

    /// The longest runs of a job along a side of a plane that go on beyond it.
    fn open_runs(&self, plane: &Rect, side: Side) -> Vec<(usize, Rect)> {
        let mut runs: Vec<(usize, Rect)> = Vec::new();
        let Rect { x, y } = side.of(plane);
        for (x, y) in y.flat_map(|y| x.clone().map(move |x| (x, y))) {
            let Some(job) = self.open(plane, side, (x, y)) else {
                continue;
            };
            match runs.last_mut() {
                Some((last, run)) if *last == job && side.dimension == 0 && run.y.end == y => {
                    run.y.end += 1;
                }
                Some((last, run)) if *last == job && side.dimension == 1 && run.x.end == x => {
                    run.x.end += 1;
                }
                _ => runs.push((job, Rect::one(x, y))),
            }
        }
        runs
    }

    /// Colours strips beyond the border of a plane where jobs wrap around.
    fn wraps(&self, area: &Area<'_>, place: &Place, plane: &Rect) -> Drawn {
        for side in SIDES {
            for (job, Rect { x, y }) in self.open_runs(plane, side) {
                let mut from = place.at(plane, x.start as f64, y.start as f64);
                let mut to = place.at(plane, x.end as f64, y.end as f64);
                match (side.dimension, side.is_high) {
                    (0, true) => (from.0, to.0) = (to.0, to.0 + units(OPEN)),
                    (0, false) => (from.0, to.0) = (from.0 - units(OPEN), from.0),
                    (_, true) => (from.1, to.1) = (to.1, to.1 - units(OPEN)),
                    (_, false) => (from.1, to.1) = (from.1 + units(OPEN), from.1),
                }
                self.fill(area, job, from, to)?;
            }
        }
        Ok(())
    }

    /// Colours the gaps to the next planes of a machine of cubes, with their outlines.
    fn gaps(&self, area: &Area<'_>, place: &Place, plane: &Rect) -> Drawn {
        // The gap is drawn over the borders of the planes, too.
        let over = units(THIN);
        let at = |within: &Rect, x: usize, y: usize| place.at(within, x as f64, y as f64);
        let corner = (plane.x.end, plane.y.end);
        for side in SIDES.into_iter().filter(|side| side.is_high) {
            for (job, Rect { x, y }) in self.open_runs(plane, side) {
                let (mut from, mut to) = (at(plane, x.start, y.start), at(plane, x.end, y.end));
                let lines = match side.dimension {
                    0 => {
                        let end = at(&Rect::one(x.end, y.start), x.end, y.start).0;
                        (from.0, to.0) = (to.0, end);
                        [(y.start, from.1), (y.end, to.1)]
                            .map(|(y, line)| ((corner.0, y), [(from.0, line), (end, line)]))
                    }
                    _ => {
                        let end = at(&Rect::one(x.start, y.end), x.start, y.end).1;
                        (from.1, to.1) = (to.1, end);
                        [(x.start, from.0), (x.end, to.0)]
                            .map(|(x, line)| ((x, corner.1), [(line, from.1), (line, end)]))
                    }
                };
                match side.dimension {
                    0 => self.fill(area, job, (from.0 - over, from.1), (to.0 + over, to.1))?,
                    _ => self.fill(area, job, (from.0, from.1 + over), (to.0, to.1 - over))?,
                }
                let outer = lines
                    .into_iter()
                    .filter(|((x, y), _)| !self.is_around(job, *x, *y));
                for (_, ends) in outer {
                    area.draw(&PathElement::new(ends, stroke(BLACK, OUTLINE)))?;
                }
            }
        }
        let (x, y) = corner;
        match self.job(x - 1, y - 1) {
            Some(job) if self.is_around(job, x, y) => {
                let (from, to) = (at(plane, x, y), at(&Rect::one(x, y), x, y));
                let from = (from.0 - over, from.1 + over);
                self.fill(area, job, from, (to.0 + over, to.1 - over))
            }
            _ => Ok(()),
        }
    }

    /// Whether a job has the four places around a corner.
    fn is_around(&self, job: usize, x: usize, y: usize) -> bool {
        let has = |x, y| self.job(x, y) == Some(job);
        match (x.checked_sub(1), y.checked_sub(1)) {
            (Some(left), Some(low)) => has(left, low) && has(x, low) && has(left, y) && has(x, y),
            _ => false,
        }
    }

    /// Draws how the parts of jobs belong together, and outlines around them.
    pub(super) fn draw(&self, area: &Area<'_>, place: &Place) -> Drawn {
        let planes = self.layout.planes();
        for plane in &planes {
            if self.layout.plan.cube.is_none() {
                self.wraps(area, place, plane)?;
            }
            self.outlines(area, place, plane)?;
        }
        for plane in planes.iter().filter(|_| self.layout.plan.cube.is_some()) {
            self.gaps(area, place, plane)?;
        }
        Ok(())
    }

    /// Colours the blocks of a job.
    pub(super) fn blocks(
        &self,
        area: &Area<'_>,
        place: &Place,
        job: usize,
        blocks: &[Block],
    ) -> Drawn {
        for rect in blocks
            .iter()
            .flat_map(|&block| place.layout.rectangles(block))
        {
            let from = place.at(&rect, rect.x.start as f64, rect.y.start as f64);
            let to = place.at(&rect, rect.x.end as f64, rect.y.end as f64);
            self.fill(area, job, from, to)?;
        }
        Ok(())
    }

    /// Colours a rectangle from its lower left to its upper right corner.
    fn fill(&self, area: &Area<'_>, job: usize, from: (i32, i32), to: (i32, i32)) -> Drawn {
        let [red, green, blue] = colouring::rgb(self.colours[job]);
        let filled = RGBColor(red, green, blue).filled();
        area.draw(&Rectangle::new([(from.0, to.1), (to.0, from.1)], filled))?;
        Ok(())
    }

    /// Lines between different owners within a plane, each as long as possible. A job that goes on
    /// beyond the border has no line there.
    fn outlines(&self, area: &Area<'_>, place: &Place, plane: &Rect) -> Drawn {
        let owner =
            |x: usize, y: usize| self.owners.get(x, y).filter(|&owner| owner != Owner::Free);
        let line = |x: Range<usize>, y: Range<usize>| -> Drawn {
            let ends = [(x.start, y.start), (x.end, y.end)]
                .map(|(x, y)| place.at(plane, x as f64, y as f64));
            area.draw(&PathElement::new(ends, stroke(BLACK, OUTLINE)))?;
            Ok(())
        };
        // Whether there is a line between a place and the one below it in a dimension.
        let differs = |dimension: usize, x: usize, y: usize| {
            let (range, at) = match dimension {
                0 => (&plane.x, x),
                _ => (&plane.y, y),
            };
            let low = match dimension {
                0 => (x.wrapping_sub(1), y),
                _ => (x, y.wrapping_sub(1)),
            };
            let ends = |(x, y), is_high| {
                let side = Side::new(dimension, is_high);
                owner(x, y).is_some() && self.open(plane, side, (x, y)).is_none()
            };
            match at {
                at if at == range.start => ends((x, y), false),
                at if at == range.end => ends(low, true),
                _ => owner(low.0, low.1) != owner(x, y),
            }
        };
        let Layout { across, up, .. } = self.layout;
        for y in plane.y.start..=plane.y.end {
            for x in across.runs(plane.x.clone(), |x| differs(1, x, y)) {
                line(x, y..y)?;
            }
        }
        for x in plane.x.start..=plane.x.end {
            for y in up.runs(plane.y.clone(), |y| differs(0, x, y)) {
                line(x..x, y)?;
            }
        }
        Ok(())
    }

    /// The colour of the number above a plane or cube, which may be on a job that goes on there.
    pub(super) fn ink_of(&self, heading: &Heading) -> RGBColor {
        let Rect { x, y } = &heading.over;
        let job = self.job(x.start, y.end - 1).filter(|&job| {
            let has = |x: usize, y: usize| self.job(x, y) == Some(job);
            let mut columns = x.clone();
            self.layout.plan.cube.is_some() && columns.all(|x| has(x, y.end - 1) && has(x, y.end))
        });
        job.map_or(BLACK, |job| ink_on(self.colours[job]))
    }
}

/// Black or white, whichever can be read on a colour.
pub(super) fn ink_on(colour: usize) -> RGBColor {
    if colouring::is_light(colouring::rgb(colour)) {
        BLACK
    } else {
        WHITE
    }
}
