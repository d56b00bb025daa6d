//! Maps as an SVG file, side by side: of jobs (`jobs.rs`) or of links (`links.rs`).
//!
//! Jobs are drawn as blocks, and the border between two owners as one line, so that the length of a
//! map of 512 x 512 processors depends only on its jobs. Outlines and numbers tell jobs apart in
//! black and white, too. More than two dimensions are drawn plane by plane, by the rules of
//! `layout.rs`; a job that lies in several planes, or goes beyond one side of a plane and on from
//! the other, has its number in each of its parts.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use axes::Margins;
use meshalloc_sim::layout::Plan;
use meshalloc_sim::wording::Number;
pub use place::Place;

use crate::svg::Svg;
pub use crate::svg::{Area, Drawn};

mod axes;
mod jobs;
mod links;
mod parts;
mod place;

pub use links::LinkMap;

/// The units of a pixel. The lengths below are in pixels.
const PIXEL: f64 = crate::svg::PIXEL as f64;
/// Room right of a machine, and above it for its name, and for each caption line.
const RIGHT: f64 = 16.0;
const ABOVE: f64 = 30.0;
const CAPTION_LINE: f64 = 16.0;
const WIDTH_MIN: f64 = 340.0;
/// Room for the title and what stands below the maps: its first line, and each further one.
const HEAD: f64 = 50.0;
const FOOT: f64 = 26.0;
const FOOT_LINE: f64 = 18.0;
/// Heights of the title, of the names of maps and of all other text.
const TITLE: f64 = 17.0;
const MAP_NAME: f64 = 15.0;
const TEXT: f64 = 12.5;
/// Room for a scale of colours, and its bar: where it begins, how long and how high it is.
const SCALE_HEIGHT: f64 = 40.0;
const SCALE_LEFT: f64 = 24.0;
const SCALE_LENGTH: f64 = 240.0;
const SCALE_BAR: f64 = 12.0;
const SCALE_STEPS: u32 = 60;
/// Maps beside each other, and how wide they may be together.
const COLUMNS_MAX: usize = 3;
const BESIDE_MAX: f64 = 1400.0;

/// Width of the borders of planes and of ticks.
const THIN: f64 = 0.8;

/// The content of the picture of a machine.
pub trait Content: Sized {
    /// What the picture is about.
    const TITLE: &'static str;

    /// A line that says how to read the maps.
    fn legend(maps: &[Self]) -> String;

    /// The scale of the colours, if they stand for numbers.
    fn scale(_: &[Self]) -> Option<ColourScale> {
        None
    }

    /// The machine and its cubes; all maps of a picture have the same.
    fn plan(&self) -> Plan;

    /// The title of this map.
    fn name(&self) -> String;

    /// Up to three short lines for under it.
    fn caption(&self) -> Vec<String>;

    /// Draws what is on the planes, over their borders, and the numbers above them.
    fn draw(&self, area: &Area<'_>, place: &Place, scale: Option<&ColourScale>) -> Drawn;
}

/// Colours that stand for numbers from 0 on.
pub struct ColourScale {
    /// The largest number.
    pub most: f64,
    /// What the numbers are.
    pub unit: &'static str,
    /// The colour of a part of the largest number, 0 to 1.
    pub colour: fn(f64) -> RGBColor,
}

impl ColourScale {
    /// Draws the colours as a bar from its upper left corner, numbers below, the unit beside it.
    fn draw(&self, area: &Area<'_>, left: f64, top: f64) -> Drawn {
        let step = SCALE_LENGTH / f64::from(SCALE_STEPS);
        for number in 0..SCALE_STEPS {
            let part = f64::from(number) / f64::from(SCALE_STEPS - 1);
            let from = left + f64::from(number) * step;
            // Each part reaches to the end of the bar, and the next part covers its rest, so that
            // there are no seams.
            let corners = [(from, top), (left + SCALE_LENGTH, top + SCALE_BAR)];
            let corners = corners.map(|(x, y)| (units(x), units(y)));
            let filled = (self.colour)(part).filled();
            area.draw(&Rectangle::new(corners, filled))?;
        }
        for part in [0.0, 0.5, 1.0] {
            let x = left + part * SCALE_LENGTH;
            let (from, to) = (top + SCALE_BAR, top + SCALE_BAR + 4.0);
            let tick = [(x, from), (x, to)].map(|(x, y)| (units(x), units(y)));
            area.draw(&PathElement::new(tick, stroke(BLACK, THIN)))?;
            let label = Label::new(x, top + SCALE_BAR + 12.0, TEXT);
            let side = HPos::Center;
            Label { side, ..label }.draw(area, &three_digits(part * self.most))?;
        }
        let beside = left + SCALE_LENGTH + 12.0;
        Label::new(beside, top + SCALE_BAR / 2.0, TEXT).draw(area, self.unit)
    }

    fn width(&self) -> f64 {
        SCALE_LEFT + SCALE_LENGTH + text_width(self.unit, TEXT)
    }
}

/// A number with three significant digits, or with fewer if these are enough.
fn three_digits(number: f64) -> String {
    let exponent = format!("{number:.2e}");
    let rounded = exponent.parse().unwrap_or(number);
    Number(rounded).to_string()
}

/// The width of a text of this height, with some space, as most fonts have it at most: its letters
/// are drawn in four fifths of its height.
fn text_width(text: &str, size: f64) -> f64 {
    24.0 + 0.48 * size * text.chars().count() as f64
}

/// The maps as the text of an SVG file; `subtitle` has what all of them share.
pub fn svg<C: Content>(maps: &[C], subtitle: &str) -> Result<String, String> {
    let picture = Picture::new(maps, subtitle);
    let size = (units(picture.size.0) as u32, units(picture.size.1) as u32);
    Svg::of(size, |root| picture.draw(root)).map(|svg| svg.to_string())
}

fn units(pixels: f64) -> i32 {
    (pixels * PIXEL).round() as i32
}

fn stroke(colour: RGBColor, pixels: f64) -> ShapeStyle {
    colour.stroke_width(units(pixels).max(1) as u32)
}

struct Picture<'m, C> {
    title: String,
    subtitle: &'m str,
    legend: Vec<String>,
    scale: Option<ColourScale>,
    panels: Vec<Panel<'m, C>>,
    columns: usize,
    width: f64,
    height: f64,
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
            // Two by two instead of three and one.
            4 => 2,
            count => count.clamp(1, COLUMNS_MAX),
        };
        let columns = columns.min((BESIDE_MAX / width) as usize).max(1);
        let rows = panels.len().div_ceil(columns);

        let plan = panels.first().map(|panel| panel.map.plan());
        let machine = plan.map(|plan| plan.machine.to_string());
        let title = format!("{}, {}", C::TITLE, machine.unwrap_or_default());
        let mut legend = vec![C::legend(maps)];
        let directions = panels.first().map(|panel| panel.place.layout.directions());
        legend.extend(directions.into_iter().flatten());
        let scale = C::scale(maps);
        // The lines above and below the maps may be wider than small maps.
        let texts = legend.iter().map(|line| text_width(line, TEXT));
        let lines = [text_width(subtitle, TEXT), text_width(&title, TITLE)];
        let scale_width = scale.iter().map(ColourScale::width);
        let widths = texts.chain(lines).chain(scale_width);
        let whole_width = widths.fold(width * columns as f64, f64::max);
        let foot = FOOT + FOOT_LINE * (legend.len() - 1) as f64;
        let foot = foot + scale.as_ref().map_or(0.0, |_| SCALE_HEIGHT);
        Picture {
            title,
            subtitle,
            legend,
            scale,
            columns,
            width,
            height,
            size: (whole_width, HEAD + height * rows as f64 + foot),
            panels,
        }
    }

    fn draw(&self, root: &Area<'_>) -> Drawn {
        Label::new(14.0, 18.0, TITLE).draw(root, &self.title)?;
        Label::new(14.0, 38.0, TEXT).draw(root, self.subtitle)?;
        for (place, panel) in self.panels.iter().enumerate() {
            let left = self.width * (place % self.columns) as f64;
            let top = HEAD + self.height * (place / self.columns) as f64;
            panel.draw(root, left, top, self.scale.as_ref())?;
        }
        for (line, below) in self.legend.iter().rev().zip(0..) {
            let y = self.size.1 - 14.0 - FOOT_LINE * f64::from(below);
            Label::new(14.0, y, TEXT).draw(root, line)?;
        }
        if let Some(scale) = &self.scale {
            let lines = FOOT_LINE * self.legend.len() as f64;
            let top = self.size.1 - 8.0 - lines - SCALE_HEIGHT;
            scale.draw(root, SCALE_LEFT, top)?;
        }
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

struct Panel<'m, C> {
    map: &'m C,
    /// As if the lower left corner of the machine were at the origin.
    place: Place,
    margins: Margins,
    /// Room for its name and caption.
    above: f64,
    width: f64,
    height: f64,
}

impl<'m, C: Content> Panel<'m, C> {
    fn new(map: &'m C) -> Self {
        let place = Place::new(map.plan());
        let margins = Margins::new(&place);
        let (w, h) = place.size();
        let caption = map.caption();
        let lines = caption.iter().map(|line| text_width(line, TEXT));
        let w = lines.fold(w.max(text_width(&map.name(), MAP_NAME)), f64::max);
        let above = ABOVE + CAPTION_LINE * caption.len() as f64;
        Panel {
            map,
            margins,
            above,
            width: margins.left + w + RIGHT,
            height: above + h + margins.below,
            place,
        }
    }

    fn draw(&self, area: &Area<'_>, left: f64, top: f64, scale: Option<&ColourScale>) -> Drawn {
        let left = left + self.margins.left;
        Label::new(left, top + 14.0, MAP_NAME).draw(area, &self.map.name())?;
        for (line, number) in self.map.caption().iter().zip(0..) {
            let y = top + 32.0 + CAPTION_LINE * f64::from(number);
            Label::new(left, y, TEXT).draw(area, line)?;
        }
        let bottom = top + self.above + self.place.size().1;
        let place = self.place.moved(left, bottom);
        for plane in &place.layout.planes() {
            axes::border(area, &place, plane)?;
        }
        self.map.draw(area, &place, scale)?;
        axes::numbers(area, &place)
    }
}
