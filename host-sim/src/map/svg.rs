//! Maps as an SVG file, side by side.
//!
//! Jobs are drawn by blocks, and what lies between two owners as one line, so that a map of 512 x 512
//! processors is no longer than its jobs make it. Outlines and numbers tell jobs apart in black and
//! white, too. More than two dimensions are drawn plane by plane, by the rules of `layout.rs`; a job that lies in several planes, or goes beyond
//! one side of a plane and on from the other, has its number in each of its parts.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use axes::Margins;
use place::Place;

use super::Map;
use super::colouring::{self, PALETTE};
use super::layout::Rect;
use super::snapshot::{Owner, Owners};

mod axes;
mod place;

/// Plotters places everything at whole units. The picture is drawn in tenths of a pixel, so that borders are
/// where processors end.
const PIXEL: f64 = 10.0;
/// Room around each machine, in pixels: right of it, and above it for the caption.
const RIGHT: f64 = 16.0;
const ABOVE: f64 = 78.0;
/// The least width of a map, for its caption.
const WIDTH_MIN: f64 = 340.0;
/// Room for the title and what stands below the maps: its first line, and each further one.
const HEAD: f64 = 50.0;
const FOOT: f64 = 26.0;
const FOOT_LINE: f64 = 18.0;
/// Maps beside each other, and how wide they may be together.
const COLUMNS_MAX: usize = 3;
const BESIDE_MAX: f64 = 1400.0;

/// Width of the outlines of jobs.
const OUTLINE: f64 = 1.4;
/// Width of the borders of planes and of ticks.
const THIN: f64 = 0.8;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The maps as the text of an SVG file; `subtitle` has what all of them share.
///
/// # Errors
///
/// What went wrong while drawing, in words. Drawing into memory gives no cause for it to happen.
pub fn svg(maps: &[Map], subtitle: &str) -> Result<String, String> {
    let picture = Picture::new(maps, subtitle);
    let mut text = String::new();
    let drawn = picture.draw(&mut text);
    drawn.map_err(|error| format!("cannot draw the map: {error}"))?;
    // The coordinates are tenths of a pixel (the view box); the picture's own size is in pixels.
    let size = picture.size;
    let [w, h] = [size.0, size.1].map(units);
    let drawn = format!("width=\"{w}\" height=\"{h}\"");
    let [w, h] = [size.0, size.1].map(f64::round);
    Ok(text.replacen(&drawn, &format!("width=\"{w}\" height=\"{h}\""), 1))
}

/// Pixels in units.
fn units(pixels: f64) -> i32 {
    (pixels * PIXEL).round() as i32
}

fn stroke(colour: RGBColor, pixels: f64) -> ShapeStyle {
    colour.stroke_width(units(pixels).max(1) as u32)
}

/// All maps, and where each of them goes.
struct Picture<'m> {
    title: String,
    subtitle: &'m str,
    /// The lines below the maps.
    legend: Vec<String>,
    panels: Vec<Panel<'m>>,
    /// Maps beside each other.
    columns: usize,
    /// Room for each map.
    width: f64,
    height: f64,
    /// Of the whole.
    size: (f64, f64),
}

impl<'m> Picture<'m> {
    fn new(maps: &'m [Map], subtitle: &'m str) -> Self {
        let panels: Vec<Panel<'_>> = maps.iter().map(Panel::new).collect();
        let width = panels
            .iter()
            .map(|panel| panel.width)
            .fold(WIDTH_MIN, f64::max);
        let height = panels.iter().map(|panel| panel.height).fold(0.0, f64::max);
        let columns = match panels.len() {
            // Two by two instead of three and one.
            4 => 2,
            count => count.clamp(1, COLUMNS_MAX),
        };
        let columns = columns.min((BESIDE_MAX / width) as usize).max(1);
        let rows = panels.len().div_ceil(columns);

        let machine = panels.first().map(|panel| panel.map.snapshot.machine);
        let machine = machine.map(|machine| machine.to_string());
        let title = format!(
            "Who holds which processors, {}",
            machine.unwrap_or_default()
        );
        let mut legend = vec![
            "white: free; coloured: one job, with its number where there is room; cross: faulty"
                .to_owned(),
        ];
        let directions = panels.first().map(|panel| panel.place.layout.directions());
        legend.extend(directions.into_iter().flatten());
        // The subtitle may be wider than a single map; so may the legend be than small planes.
        let text_width = |text: &str| 20.0 + 7.0 * text.chars().count() as f64;
        let mut whole_width = (width * columns as f64).max(text_width(subtitle));
        if legend.len() > 1 {
            whole_width = legend
                .iter()
                .map(|line| text_width(line))
                .fold(whole_width, f64::max);
        }
        let foot = FOOT + FOOT_LINE * (legend.len() - 1) as f64;
        Picture {
            title,
            subtitle,
            legend,
            columns,
            width,
            height,
            size: (whole_width, HEAD + height * rows as f64 + foot),
            panels,
        }
    }

    fn draw(&self, text: &mut String) -> Drawn {
        let size = (units(self.size.0) as u32, units(self.size.1) as u32);
        let root = SVGBackend::with_string(text, size).into_drawing_area();
        root.fill(&WHITE)?;
        Label::new(14.0, 18.0, 17.0).draw(&root, &self.title)?;
        Label::new(14.0, 38.0, 12.5).draw(&root, self.subtitle)?;
        for (place, panel) in self.panels.iter().enumerate() {
            let left = self.width * (place % self.columns) as f64;
            let top = HEAD + self.height * (place / self.columns) as f64;
            panel.draw(&root, left, top)?;
        }
        for (line, below) in self.legend.iter().rev().zip(0..) {
            let y = self.size.1 - 14.0 - FOOT_LINE * f64::from(below);
            Label::new(14.0, y, 12.5).draw(&root, line)?;
        }
        root.present()?;
        Ok(())
    }
}

/// Text at a place in pixels, of a height in pixels.
struct Label {
    x: f64,
    y: f64,
    size: f64,
    colour: RGBColor,
    side: HPos,
}

impl Label {
    fn new(x: f64, y: f64, size: f64) -> Self {
        Label {
            x,
            y,
            size,
            colour: BLACK,
            side: HPos::Left,
        }
    }

    fn draw(self, area: &Area<'_>, text: &str) -> Drawn {
        let style = ("sans-serif", units(self.size))
            .into_text_style(area)
            .color(&self.colour)
            .pos(Pos::new(self.side, VPos::Center));
        area.draw_text(text, &style, (units(self.x), units(self.y)))?;
        Ok(())
    }
}

/// A map and where its parts go.
struct Panel<'m> {
    map: &'m Map,
    owners: Owners,
    /// As if the lower left corner of the machine were at the origin.
    place: Place,
    margins: Margins,
    /// With everything around it.
    width: f64,
    height: f64,
}

impl<'m> Panel<'m> {
    fn new(map: &'m Map) -> Self {
        let place = Place::new(map.snapshot.machine);
        let margins = Margins::new(&place);
        let (w, h) = place.size();
        Panel {
            map,
            owners: map.snapshot.owners(),
            margins,
            width: margins.left + w + RIGHT,
            height: ABOVE + h + margins.below,
            place,
        }
    }

    fn draw(&self, area: &Area<'_>, left: f64, top: f64) -> Drawn {
        let left = left + self.margins.left;
        let name = self.map.strategy.name();
        Label::new(left, top + 14.0, 15.0).draw(area, name)?;
        for (line, y) in self.map.caption().iter().zip([32.0, 48.0, 64.0]) {
            Label::new(left, top + y, 12.5).draw(area, line)?;
        }
        let place = self.place.moved(left, top + ABOVE + self.place.size().1);
        let planes = place.layout.planes();
        self.blocks(area, &place)?;
        for plane in &planes {
            self.outlines(area, &place, plane)?;
        }
        self.faults(area, &place)?;
        self.numbers(area, &place)?;
        for plane in &planes {
            axes::border(area, &place, plane)?;
        }
        axes::numbers(area, &place)
    }

    fn blocks(&self, area: &Area<'_>, place: &Place) -> Drawn {
        let snapshot = &self.map.snapshot;
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

    /// Lines between different owners within a plane, each as long as possible.
    fn outlines(&self, area: &Area<'_>, place: &Place, plane: &Rect) -> Drawn {
        // The side of the plane beyond the last row or column has no owner, and before the first neither.
        let job = |x: Option<usize>, y: Option<usize>| {
            let (x, y) = (
                x.filter(|x| plane.x.contains(x))?,
                y.filter(|y| plane.y.contains(y))?,
            );
            self.owners.get(x, y).filter(|&owner| owner != Owner::Free)
        };
        let line = |x: Range<usize>, y: Range<usize>| -> Drawn {
            let ends = [(x.start, y.start), (x.end, y.end)]
                .map(|(x, y)| place.at(plane, x as f64, y as f64));
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

    fn faults(&self, area: &Area<'_>, place: &Place) -> Drawn {
        // In a large machine a processor is too small for a cross that can be seen.
        let half = (0.4 * place.scale).max(2.0);
        for &node in &self.map.snapshot.faulty {
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
        let snapshot = &self.map.snapshot;
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
                    text_width + 4.0 <= w * place.scale && size + 2.0 <= h * place.scale
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
