//! Maps of jobs: who holds which processors.

use std::ops::Range;

use meshalloc::Grid;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::super::Map;
use super::super::colouring::{self, PALETTE};
use super::super::layout::Rect;
use super::super::snapshot::{Owner, Owners};
use super::place::Place;
use super::{Area, Content, Drawn, Label, stroke, units};

/// Width of the outlines of jobs.
const OUTLINE: f64 = 1.4;

impl Content for Map {
    const TITLE: &'static str = "Who holds which processors";

    fn legend(_: &[Self]) -> String {
        "white: free; coloured: one job, with its number where there is room; cross: faulty"
            .to_owned()
    }

    fn machine(&self) -> Grid {
        self.snapshot.machine
    }

    fn name(&self) -> String {
        self.strategy.to_string()
    }

    fn caption(&self) -> Vec<String> {
        Map::caption(self).to_vec()
    }

    fn draw(&self, area: &Area<'_>, place: &Place) -> Drawn {
        let owners = self.snapshot.owners();
        self.blocks(area, place)?;
        for plane in &place.layout.planes() {
            outlines(&owners, area, place, plane)?;
        }
        self.faults(area, place)?;
        self.numbers(area, place)
    }
}

impl Map {
    fn blocks(&self, area: &Area<'_>, place: &Place) -> Drawn {
        let snapshot = &self.snapshot;
        let colours = colouring::colours(snapshot, PALETTE);
        for (job, colour) in snapshot.jobs.iter().zip(&colours) {
            let [red, green, blue] = colouring::rgb(*colour);
            for block in &job.blocks {
                for rect in place.layout.rectangles(*block) {
                    let corners = [
                        place.at(&rect, rect.x.start as f64, rect.y.end as f64),
                        place.at(&rect, rect.x.end as f64, rect.y.start as f64),
                    ];
                    let filled = RGBColor(red, green, blue).filled();
                    area.draw(&Rectangle::new(corners, filled))?;
                }
            }
        }
        Ok(())
    }

    fn faults(&self, area: &Area<'_>, place: &Place) -> Drawn {
        // In a large machine a processor is too small for a cross that can be seen.
        let half = (0.4 * place.scale).max(2.0);
        for &node in &self.snapshot.faulty {
            let (x, y) = place.layout.place(node);
            let (columns, rows) = (x..x + 1, y..y + 1);
            let processor = Rect {
                x: columns,
                y: rows,
            };
            let (x, y) = place.at(&processor, x as f64 + 0.5, y as f64 + 0.5);
            let half = units(half);
            // White under black stands out from every colour.
            for (colour, thick) in [(WHITE, half / 2), (BLACK, half / 4)] {
                for sign in [-1, 1] {
                    let ends = [(x - half, y - sign * half), (x + half, y + sign * half)];
                    let style = colour.stroke_width(thick.max(1) as u32);
                    area.draw(&PathElement::new(ends, style))?;
                }
            }
        }
        Ok(())
    }

    /// The jobs' numbers, in every part of a block that has room for it.
    fn numbers(&self, area: &Area<'_>, place: &Place) -> Drawn {
        const SIZES: [f64; 2] = [12.5, 9.0];
        let snapshot = &self.snapshot;
        let colours = colouring::colours(snapshot, PALETTE);
        for (job, colour) in snapshot.jobs.iter().zip(&colours) {
            let text = job.id.to_string();
            let colour = if colouring::is_light(colouring::rgb(*colour)) {
                BLACK
            } else {
                WHITE
            };
            let blocks = job.blocks.iter();
            for rect in blocks.flat_map(|&block| place.layout.rectangles(block)) {
                let (w, h) = (rect.x.len() as f64, rect.y.len() as f64);
                let fits = |size: &f64| {
                    let text_width = 0.6 * size * text.len() as f64;
                    text_width + 4.0 <= w * place.scale && size + 2.0 <= h * place.tall
                };
                let Some(size) = SIZES.into_iter().find(fits) else {
                    continue;
                };
                let (x, y) = place.middle(&rect);
                let label = Label {
                    x,
                    y,
                    size,
                    colour,
                    side: HPos::Center,
                };
                label.draw(area, &text)?;
            }
        }
        Ok(())
    }
}

/// Lines between different owners within a plane, each as long as possible.
fn outlines(owners: &Owners, area: &Area<'_>, place: &Place, plane: &Rect) -> Drawn {
    // The side of the plane beyond the last row or column has no owner, and before the first
    // neither.
    let job = |x: Option<usize>, y: Option<usize>| {
        let (x, y) = (
            x.filter(|x| plane.x.contains(x))?,
            y.filter(|y| plane.y.contains(y))?,
        );
        owners.get(x, y).filter(|&owner| owner != Owner::Free)
    };
    let line = |x: Range<usize>, y: Range<usize>| -> Drawn {
        let ends =
            [(x.start, y.start), (x.end, y.end)].map(|(x, y)| place.at(plane, x as f64, y as f64));
        area.draw(&PathElement::new(ends, stroke(BLACK, OUTLINE)))?;
        Ok(())
    };
    let layout = &place.layout;
    for y in plane.y.start..=plane.y.end {
        let differs = |x: usize| job(Some(x), y.checked_sub(1)) != job(Some(x), Some(y));
        for x in layout.across.runs(plane.x.clone(), differs) {
            line(x, y..y)?;
        }
    }
    for x in plane.x.start..=plane.x.end {
        let differs = |y: usize| job(x.checked_sub(1), Some(y)) != job(Some(x), Some(y));
        for y in layout.up.runs(plane.y.clone(), differs) {
            line(x..x, y)?;
        }
    }
    Ok(())
}
