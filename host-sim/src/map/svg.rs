//! Maps as an SVG file, side by side: of jobs (`jobs.rs`) or of links (`links.rs`).
//!
//! Jobs are drawn by blocks, and what lies between two owners as one line, so that a map of 512 x 512
//! processors is no longer than its jobs make it. Outlines and numbers tell jobs apart in black and
//! white, too. More than two dimensions are drawn plane by plane, by the rules of `layout.rs`; a job that lies in several planes, or goes beyond
//! one side of a plane and on from the other, has its number in each of its parts.

use meshalloc::Grid;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use axes::Margins;
use place::Place;

mod axes;
mod jobs;
mod links;
mod place;

pub use links::{LinkMap, same_scale};

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

/// Width of the borders of planes and of ticks.
const THIN: f64 = 0.8;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// What is drawn on the picture of a machine.
pub(crate) trait Content: Sized {
    /// What the picture is about.
    const TITLE: &'static str;

    /// How the maps are read, in a line.
    fn legend(maps: &[Self]) -> String;

    /// The machine; all maps of a picture have the same.
    fn machine(&self) -> Grid;

    /// The title of this map.
    fn name(&self) -> String;

    /// Up to three short lines for under it.
    fn caption(&self) -> Vec<String>;

    /// Draws what is within the borders of the planes.
    fn draw(&self, area: &Area<'_>, place: &Place) -> Drawn;
}

/// The maps as the text of an SVG file; `subtitle` has what all of them share.
///
/// # Errors
///
/// What went wrong while drawing, in words. Drawing into memory gives no cause for it to happen.
pub(crate) fn svg<C: Content>(maps: &[C], subtitle: &str) -> Result<String, String> {
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
struct Picture<'m, C> {
    title: String,
    subtitle: &'m str,
    /// The lines below the maps.
    legend: Vec<String>,
    panels: Vec<Panel<'m, C>>,
    /// Maps beside each other.
    columns: usize,
    /// Room for each map.
    width: f64,
    height: f64,
    /// Of the whole.
    size: (f64, f64),
}

impl<'m, C: Content> Picture<'m, C> {
    fn new(maps: &'m [C], subtitle: &'m str) -> Self {
        let panels: Vec<Panel<'_, C>> = maps.iter().map(Panel::new).collect();
        let width = panels
            .iter()
            .map(|panel| panel.width)
            .fold(WIDTH_MIN, f64::max);
        let height = panels.iter().map(|panel| panel.height).fold(0.0, f64::max);
        let columns = match panels.len() {
            // Two by two looks better than three and one.
            4 => 2,
            count => count.clamp(1, COLUMNS_MAX),
        };
        let columns = columns.min((BESIDE_MAX / width) as usize).max(1);
        let rows = panels.len().div_ceil(columns);

        let machine = panels.first().map(|panel| panel.map.machine());
        let machine = machine.map(|machine| machine.to_string());
        let title = format!("{}, {}", C::TITLE, machine.unwrap_or_default());
        let mut legend = vec![C::legend(maps)];
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
struct Panel<'m, C> {
    map: &'m C,
    /// As if the lower left corner of the machine were at the origin.
    place: Place,
    margins: Margins,
    /// With everything around it.
    width: f64,
    height: f64,
}

impl<'m, C: Content> Panel<'m, C> {
    fn new(map: &'m C) -> Self {
        let place = Place::new(map.machine());
        let margins = Margins::new(&place);
        let (w, h) = place.size();
        Panel {
            map,
            margins,
            width: margins.left + w + RIGHT,
            height: ABOVE + h + margins.below,
            place,
        }
    }

    fn draw(&self, area: &Area<'_>, left: f64, top: f64) -> Drawn {
        let left = left + self.margins.left;
        Label::new(left, top + 14.0, 15.0).draw(area, &self.map.name())?;
        for (line, y) in self.map.caption().iter().zip([32.0, 48.0, 64.0]) {
            Label::new(left, top + y, 12.5).draw(area, line)?;
        }
        let place = self.place.moved(left, top + ABOVE + self.place.size().1);
        let planes = place.layout.planes();
        self.map.draw(area, &place)?;
        for plane in &planes {
            axes::border(area, &place, plane)?;
        }
        axes::numbers(area, &place)
    }
}
