//! A picture as SVG. Plotters draws at whole units, and a unit is a tenth of a pixel, so that
//! slanted dashes stay on their line and a point is at its value.

use std::fmt::{self, Display, Write as _};

use plotters::coord::Shift;
use plotters::prelude::*;

pub(crate) const PIXEL: i32 = 10;

/// Where shapes are drawn, in units.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// The result of drawing.
pub type Drawn = Result<(), Box<dyn std::error::Error>>;

/// A picture.
pub struct Svg {
    /// Width and height in pixels.
    pub size: (i32, i32),
    /// The same in units.
    units: (u32, u32),
    shapes: String,
}

impl Svg {
    /// A picture of this many units, on white, that `draw` fills. An error has what went wrong, in
    /// words; drawing into memory gives no cause for it to happen.
    pub fn of(units: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<Self, String> {
        let mut text = String::new();
        let drawn = || -> Drawn {
            let root = SVGBackend::with_string(&mut text, units).into_drawing_area();
            root.fill(&WHITE)?;
            draw(&root)?;
            Ok(root.present()?)
        };
        drawn().map_err(|error| format!("cannot draw the picture: {error}"))?;
        // Plotters writes an element around the shapes whose size is in units.
        let shapes = text.split_once('>').map_or("", |(_, behind)| behind);
        let shapes = shapes.trim_end().trim_end_matches("</svg>").to_owned();
        let pixels = |units: u32| (f64::from(units) / f64::from(PIXEL)).round() as i32;
        Ok(Svg {
            size: (pixels(units.0), pixels(units.1)),
            units,
            shapes,
        })
    }

    /// The element with further attributes, such as `x="0" `.
    pub fn element(&self, attributes: impl Display) -> String {
        let ((width, height), (w, h)) = (self.size, self.units);
        let mut text = String::with_capacity(self.shapes.len() + 200);
        let head = write!(
            text,
            "<svg {attributes}width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {w} {h}\" \
             xmlns=\"http://www.w3.org/2000/svg\">"
        );
        head.expect("a string takes every text");
        text + &self.shapes + "</svg>\n"
    }
}

impl Display for Svg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.element(""))
    }
}
