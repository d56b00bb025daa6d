//! Maps as an SVG file, side by side.
//!
//! Jobs are drawn by blocks, and what lies between two owners as one line, so that a map of 512 x 512
//! processors is no longer than its jobs make it. Outlines and numbers tell jobs apart in black and
//! white, too.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Map;
use super::colouring::{self, PALETTE};
use super::snapshot::{Owner, Owners};

/// Plotters places everything at whole units. The picture is drawn in tenths of a pixel, so that borders are
/// where processors end.
const PIXEL: f64 = 10.0;
/// The longer side of a mesh in pixels.
const MESH: f64 = 400.0;
/// Room around each mesh, in pixels: for the row numbers, the column numbers and the caption.
const LEFT: f64 = 44.0;
const RIGHT: f64 = 16.0;
const BELOW: f64 = 30.0;
const ABOVE: f64 = 78.0;
/// The least width of a map, for its caption.
const WIDTH_MIN: f64 = 340.0;
/// Room for the title and what stands below the maps.
const HEAD: f64 = 50.0;
const FOOT: f64 = 26.0;
/// Maps beside each other.
const COLUMNS_MAX: usize = 3;

/// Width of the outlines of jobs.
const OUTLINE: f64 = 1.4;
/// Width of the border of the mesh and of ticks.
const THIN: f64 = 0.8;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The maps as the text of an SVG file; `subtitle` has what all of them share.
///
/// # Errors
///
/// What went wrong while drawing, in words. Drawing into memory gives no cause for it to happen.
pub fn svg(maps: &[Map], subtitle: &str) -> Result<String, String> {
    let panels: Vec<Panel<'_>> = maps.iter().map(Panel::new).collect();
    let columns = match panels.len() {
        // Two by two looks better than three and one.
        4 => 2,
        count => count.clamp(1, COLUMNS_MAX),
    };
    let rows = panels.len().div_ceil(columns);
    let width = panels
        .iter()
        .map(|panel| panel.width)
        .fold(WIDTH_MIN, f64::max);
    let height = panels.iter().map(|panel| panel.height).fold(0.0, f64::max);
    // The subtitle may be wider than a single map.
    let whole_width = (width * columns as f64).max(20.0 + 7.0 * subtitle.chars().count() as f64);
    let size = (whole_width, HEAD + height * rows as f64 + FOOT);

    let mut text = String::new();
    let drawn = draw(&panels, columns, (width, height), size, subtitle, &mut text);
    drawn.map_err(|error| format!("cannot draw the map: {error}"))?;
    // The coordinates are tenths of a pixel (the view box); the picture's own size is in pixels.
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

fn draw(
    panels: &[Panel<'_>],
    columns: usize,
    (width, height): (f64, f64),
    size: (f64, f64),
    subtitle: &str,
    text: &mut String,
) -> Drawn {
    let backend = SVGBackend::with_string(text, (units(size.0) as u32, units(size.1) as u32));
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    let mesh = panels
        .first()
        .map(|panel| panel.map.snapshot.mesh.to_string());
    let title = format!(
        "Who holds which processors, mesh {}",
        mesh.unwrap_or_default()
    );
    Label::new(14.0, 18.0, 17.0).draw(&root, &title)?;
    Label::new(14.0, 38.0, 12.5).draw(&root, subtitle)?;
    for (place, panel) in panels.iter().enumerate() {
        let left = width * (place % columns) as f64;
        let top = HEAD + height * (place / columns) as f64;
        panel.draw(&root, left, top)?;
    }
    let legend =
        "white: free; coloured: one job, with its number where there is room; cross: faulty";
    Label::new(14.0, size.1 - 14.0, 12.5).draw(&root, legend)?;
    root.present()?;
    Ok(())
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
    /// Pixels a processor.
    scale: f64,
    /// With everything around it.
    width: f64,
    height: f64,
}

impl<'m> Panel<'m> {
    fn new(map: &'m Map) -> Self {
        let owners = map.snapshot.owners();
        let (w, h) = (owners.width() as f64, owners.height() as f64);
        // A small mesh needs no large picture.
        let scale = (MESH / w.max(h)).min(28.0);
        Panel {
            map,
            owners,
            scale,
            width: LEFT + w * scale + RIGHT,
            height: ABOVE + h * scale + BELOW,
        }
    }

    fn draw(&self, area: &Area<'_>, left: f64, top: f64) -> Drawn {
        let name = self.map.strategy.name();
        Label::new(left + LEFT, top + 14.0, 15.0).draw(area, name)?;
        for (line, y) in self.map.caption().iter().zip([32.0, 48.0, 64.0]) {
            Label::new(left + LEFT, top + y, 12.5).draw(area, line)?;
        }
        let rows = self.owners.height() as f64;
        let place = Place {
            left: left + LEFT,
            bottom: top + ABOVE + rows * self.scale,
            scale: self.scale,
        };
        self.blocks(area, &place)?;
        self.outlines(area, &place)?;
        self.faults(area, &place)?;
        self.numbers(area, &place)?;
        self.frame(area, &place)
    }

    fn blocks(&self, area: &Area<'_>, place: &Place) -> Drawn {
        let snapshot = &self.map.snapshot;
        let colours = colouring::colours(snapshot, PALETTE);
        for (job, colour) in snapshot.jobs.iter().zip(&colours) {
            let [red, green, blue] = colouring::rgb(*colour);
            for block in &job.blocks {
                let (x, y) = (f64::from(block.base.x), f64::from(block.base.y));
                let (w, h) = (f64::from(block.sides.w), f64::from(block.sides.h));
                let corners = [place.at(x, y + h), place.at(x + w, y)];
                let filled = RGBColor(red, green, blue).filled();
                area.draw(&Rectangle::new(corners, filled))?;
            }
        }
        Ok(())
    }

    /// Lines between different owners, each as long as possible.
    fn outlines(&self, area: &Area<'_>, place: &Place) -> Drawn {
        let (w, h) = (self.owners.width(), self.owners.height());
        let job = |x: usize, y: usize| self.owners.get(x, y).filter(|&owner| owner != Owner::Free);
        let line = |from: (usize, usize), to: (usize, usize)| -> Drawn {
            let ends = [from, to].map(|(x, y)| place.at(x as f64, y as f64));
            area.draw(&PathElement::new(ends, stroke(BLACK, OUTLINE)))?;
            Ok(())
        };
        // The side of the mesh beyond the last row or column has no owner, and before the first neither.
        for y in 0..=h {
            let differs = |x: usize| {
                let below = y.checked_sub(1).and_then(|y| job(x, y));
                below != job(x, y)
            };
            for (begin, end) in runs(w, differs) {
                line((begin, y), (end, y))?;
            }
        }
        for x in 0..=w {
            let differs = |y: usize| {
                let before = x.checked_sub(1).and_then(|x| job(x, y));
                before != job(x, y)
            };
            for (begin, end) in runs(h, differs) {
                line((x, begin), (x, end))?;
            }
        }
        Ok(())
    }

    fn faults(&self, area: &Area<'_>, place: &Place) -> Drawn {
        // In a large mesh a processor is too small for a cross that can be seen.
        let half = (0.4 * self.scale).max(2.0);
        for at in &self.map.snapshot.faulty {
            let (x, y) = place.at(f64::from(at.x) + 0.5, f64::from(at.y) + 0.5);
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

    /// The jobs' numbers, in every block that has room for it.
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
            for block in &job.blocks {
                let (w, h) = (f64::from(block.sides.w), f64::from(block.sides.h));
                let fits = |size: &f64| {
                    let text_width = 0.6 * size * text.len() as f64;
                    text_width + 4.0 <= w * self.scale && size + 2.0 <= h * self.scale
                };
                let Some(size) = SIZES.into_iter().find(fits) else {
                    continue;
                };
                let (x, y) = (f64::from(block.base.x), f64::from(block.base.y));
                let label = Label {
                    x: place.left + (x + w / 2.0) * self.scale,
                    y: place.bottom - (y + h / 2.0) * self.scale,
                    size,
                    colour,
                    side: HPos::Center,
                };
                label.draw(area, &text)?;
            }
        }
        Ok(())
    }

    /// The border of the mesh, and numbers of columns and rows.
    fn frame(&self, area: &Area<'_>, place: &Place) -> Drawn {
        let (w, h) = (self.owners.width(), self.owners.height());
        let (right, top) = (w as f64, h as f64);
        let corners = [
            (0.0, 0.0),
            (right, 0.0),
            (right, top),
            (0.0, top),
            (0.0, 0.0),
        ];
        let border = corners.map(|(x, y)| place.at(x, y));
        area.draw(&PathElement::new(border, stroke(BLACK, THIN)))?;
        for x in (0..w).step_by(tick(w)) {
            let (centre, bottom) = place.at(x as f64 + 0.5, 0.0);
            let ends = [(centre, bottom), (centre, bottom + units(4.0))];
            area.draw(&PathElement::new(ends, stroke(BLACK, THIN)))?;
            let label = Label {
                side: HPos::Center,
                ..Label::new(
                    f64::from(centre) / PIXEL,
                    f64::from(bottom) / PIXEL + 13.0,
                    11.0,
                )
            };
            label.draw(area, &x.to_string())?;
        }
        for y in (0..h).step_by(tick(h)) {
            let (left, centre) = place.at(0.0, y as f64 + 0.5);
            let ends = [(left - units(4.0), centre), (left, centre)];
            area.draw(&PathElement::new(ends, stroke(BLACK, THIN)))?;
            let label = Label {
                side: HPos::Right,
                ..Label::new(
                    f64::from(left) / PIXEL - 7.0,
                    f64::from(centre) / PIXEL,
                    11.0,
                )
            };
            label.draw(area, &y.to_string())?;
        }
        Ok(())
    }
}

/// Where a mesh is in the picture.
struct Place {
    left: f64,
    bottom: f64,
    scale: f64,
}

impl Place {
    /// The point at the lower left corner of processor `<x, y>`, in units.
    fn at(&self, x: f64, y: f64) -> (i32, i32) {
        (
            units(self.left + x * self.scale),
            units(self.bottom - y * self.scale),
        )
    }
}

/// Longest runs of numbers below `end` for which it holds, each from its first to one past its last.
fn runs(end: usize, holds: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in (0..end).filter(|&at| holds(at)) {
        match runs.last_mut() {
            Some((_, past)) if *past == at => *past += 1,
            _ => runs.push((at, at + 1)),
        }
    }
    runs
}

/// How far apart the numbers along a side stand: a power of two, so that there are at most eight.
fn tick(side: usize) -> usize {
    side.div_ceil(8).next_power_of_two()
}
