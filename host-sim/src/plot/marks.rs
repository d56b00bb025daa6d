//! The look that tells one line of the picture from another: colour, dashes and marker.

use plotters::element::DashedPathElement;
use plotters::prelude::*;

use super::{MARKER, THICK, THIN};
use crate::svg::{Area, Drawn, PIXEL};

pub(super) struct Look {
    pub(super) color: RGBColor,
    /// Lengths, in pixels, of a dash and the gap behind it; `None` for a solid line.
    dashes: Option<(i32, i32)>,
    marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Plus,
    TriangleDown,
}

impl Look {
    /// Colours, markers and dashes have periods without a common factor: the first 42 series differ
    /// in colour and marker alone, as bars and saturated points have no dashes, and the first 35
    /// lines without colour. The colours are Okabe and Ito's, which the colour-blind can tell
    /// apart.
    pub(super) fn of(index: usize) -> Look {
        const COLORS: [RGBColor; 6] = [
            RGBColor(0, 114, 178),
            RGBColor(213, 94, 0),
            RGBColor(0, 158, 115),
            RGBColor(0, 0, 0),
            RGBColor(204, 121, 167),
            RGBColor(86, 100, 120),
        ];
        const DASHES: [Option<(i32, i32)>; 5] = [
            None,
            Some((9, 5)),
            Some((2, 4)),
            Some((16, 4)),
            Some((5, 3)),
        ];
        const MARKERS: [Marker; 7] = [
            Marker::Circle,
            Marker::Square,
            Marker::Triangle,
            Marker::Diamond,
            Marker::Cross,
            Marker::Plus,
            Marker::TriangleDown,
        ];
        Look {
            color: COLORS[index % COLORS.len()],
            dashes: DASHES[index % DASHES.len()],
            marker: MARKERS[index % MARKERS.len()],
        }
    }
}

pub(super) fn draw_line(area: &Area<'_>, path: &[(i32, i32)], look: &Look) -> Drawn {
    let style = look.color.stroke_width(THICK);
    let path = path.to_vec();
    match look.dashes {
        Some((dash, gap)) => {
            let (dash, gap) = (dash * PIXEL, gap * PIXEL);
            area.draw(&DashedPathElement::new(path, dash, gap, style))?;
        }
        None if path.len() > 1 => area.draw(&PathElement::new(path, style))?,
        None => {}
    }
    Ok(())
}

pub(super) fn draw_marker(area: &Area<'_>, (x, y): (i32, i32), look: &Look) -> Drawn {
    let m = MARKER;
    let outline = look.color.stroke_width(THICK);
    let closed = |corners: &[(i32, i32)]| -> Vec<(i32, i32)> {
        corners
            .iter()
            .map(|corner| (x + corner.0, y + corner.1))
            .collect()
    };
    let line = |corners: &[(i32, i32)]| area.draw(&PathElement::new(closed(corners), outline));
    // Filled with white first, so that the line of the series does not run through it.
    let hollow = |corners: &[(i32, i32)]| {
        area.draw(&Polygon::new(closed(corners), WHITE.filled()))?;
        line(corners)
    };
    match look.marker {
        Marker::Circle => area.draw(&Circle::new((x, y), m, look.color.filled()))?,
        Marker::Square => hollow(&[(-m, -m), (m, -m), (m, m), (-m, m), (-m, -m)])?,
        Marker::Triangle => {
            let corners = closed(&[(-m - PIXEL, m), (m + PIXEL, m), (0, -m - PIXEL)]);
            area.draw(&Polygon::new(corners, look.color.filled()))?;
        }
        Marker::TriangleDown => {
            let r = m + 2 * PIXEL;
            hollow(&[(-r, -m), (r, -m), (0, r), (-r, -m)])?;
        }
        Marker::Diamond => {
            let r = m + 2 * PIXEL;
            hollow(&[(-r, 0), (0, r), (r, 0), (0, -r), (-r, 0)])?;
        }
        Marker::Cross => {
            line(&[(-m, -m), (m, m)])?;
            line(&[(-m, m), (m, -m)])?;
        }
        Marker::Plus => {
            line(&[(-m - PIXEL, 0), (m + PIXEL, 0)])?;
            line(&[(0, -m - PIXEL), (0, m + PIXEL)])?;
        }
    }
    Ok(())
}

/// An error bar with caps.
pub(super) fn draw_interval(
    area: &Area<'_>,
    x: i32,
    [top, bottom]: [i32; 2],
    color: RGBColor,
) -> Drawn {
    for line in [
        [(x, top), (x, bottom)],
        [(x - MARKER, top), (x + MARKER, top)],
        [(x - MARKER, bottom), (x + MARKER, bottom)],
    ] {
        area.draw(&PathElement::new(line, color.stroke_width(THIN)))?;
    }
    Ok(())
}

/// A ring around this place, with room for a marker within.
pub(super) fn draw_ring(area: &Area<'_>, center: (i32, i32), color: RGBColor) -> Drawn {
    let (radius, width) = (2 * MARKER, THICK);
    area.draw(&Circle::new(center, radius, color.stroke_width(width)))?;
    Ok(())
}

/// An arrow upwards, beside a marker at this place.
pub(super) fn draw_arrow(area: &Area<'_>, (x, y): (i32, i32), color: RGBColor) -> Drawn {
    let x = x + 2 * MARKER + 4 * PIXEL;
    let (foot, tip, half) = (y + MARKER, y - 4 * MARKER, MARKER);
    for line in [
        vec![(x, foot), (x, tip)],
        vec![(x - half, tip + half), (x, tip), (x + half, tip + half)],
    ] {
        area.draw(&PathElement::new(line, color.stroke_width(THICK)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(count: usize, same: impl Fn(&Look, &Look) -> bool) {
        let looks: Vec<Look> = (0..count).map(Look::of).collect();
        for (i, look) in looks.iter().enumerate() {
            for (j, other) in looks[..i].iter().enumerate() {
                assert!(!same(look, other), "series {j} and {i}");
            }
        }
    }

    #[test]
    fn series_differ_without_dashes_and_without_colour() {
        differ(42, |one, other| {
            (one.color, one.marker) == (other.color, other.marker)
        });
        differ(35, |one, other| {
            (one.dashes, one.marker) == (other.dashes, other.marker)
        });
    }
}
