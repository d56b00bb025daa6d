//! Maps of jobs: who holds which processors.

use std::collections::BTreeSet;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::super::Map;
use super::super::colouring::{self, PALETTE};
use super::parts::{Parts, ink_on};
use super::place::Place;
use super::{Area, ColourScale, Content, Drawn, Label, axes, units};
use meshalloc_sim::layout::{Heading, Plan, Rect};

impl Content for Map {
    const TITLE: &'static str = "Who holds which processors";

    fn legend(_: &[Self]) -> String {
        "white: free; coloured: one job, with its number where there is room; cross: faulty"
            .to_owned()
    }

    fn plan(&self) -> Plan {
        self.snapshot.plan
    }

    fn name(&self) -> String {
        self.strategy.to_string()
    }

    fn caption(&self) -> Vec<String> {
        Map::caption(self).to_vec()
    }

    fn draw(&self, area: &Area<'_>, place: &Place, _: Option<&ColourScale>) -> Drawn {
        let layout = &place.layout;
        let colours = colouring::colours(&self.snapshot, PALETTE);
        let parts = Parts {
            layout,
            owners: &self.snapshot.owners(layout),
            colours: &colours,
        };
        for (number, job) in self.snapshot.jobs.iter().enumerate() {
            parts.blocks(area, place, number, &job.blocks)?;
        }
        parts.draw(area, place)?;
        self.faults(area, place)?;
        self.numbers(area, place, &colours)?;
        axes::headings(area, place, |heading| parts.ink_of(heading))
    }
}

impl Map {
    fn faults(&self, area: &Area<'_>, place: &Place) -> Drawn {
        // In a large machine a processor is too small for a cross that can be seen.
        let half = (0.4 * place.scale).max(2.0);
        for &node in &self.snapshot.faulty {
            let (x, y) = place.layout.place(node);
            let (x, y) = place.at(&Rect::one(x, y), x as f64 + 0.5, y as f64 + 0.5);
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

    /// Draws the number of each job in every part of its blocks that has room for it. If the
    /// machine has cubes, a job has at most one number in each cube.
    fn numbers(&self, area: &Area<'_>, place: &Place, colours: &[usize]) -> Drawn {
        const SIZES: [f64; 2] = [12.5, 9.0];
        let cubes = match self.snapshot.plan.cube {
            Some(_) => place.layout.headings(),
            None => Vec::new(),
        };
        for (job, colour) in self.snapshot.jobs.iter().zip(colours) {
            let text = job.id.to_string();
            let colour = ink_on(*colour);
            let mut numbered = BTreeSet::new();
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
                let holds = |cube: &Heading| {
                    cube.over.x.contains(&rect.x.start) && cube.over.y.contains(&rect.y.start)
                };
                let cube = cubes.iter().find(|cube| holds(cube));
                if cube.is_some_and(|cube| !numbered.insert(cube.number)) {
                    continue;
                }
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
