//! What tells one line of the picture from another: colour, dashes and marker.

use plotters::prelude::*;

use super::{Area, Drawn, MARKER, PIXEL, THICK};

/// How one line looks.
pub(super) struct Look {
    pub(super) color: RGBColor,
    /// Lengths, in pixels, of dash, gap, dash, gap, ...; empty for a solid line.
    dashes: &'static [f64],
    marker: Marker,
}

#[derive(Clone, Copy)]
enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Plus,
}

impl Look {
    /// Markers and dashes have different periods, so the first 30 lines all differ without colour. The
    /// colours are Okabe and Ito's, which the colour-blind can tell apart.
    pub(super) fn of(index: usize) -> Look {
        const COLORS: [RGBColor; 6] = [
            RGBColor(0, 114, 178),
            RGBColor(213, 94, 0),
            RGBColor(0, 158, 115),
            RGBColor(0, 0, 0),
            RGBColor(204, 121, 167),
            RGBColor(86, 100, 120),
        ];
        const DASHES: [&[f64]; 5] = [
            &[],
            &[9.0, 5.0],
            &[2.0, 4.0],
            &[11.0, 4.0, 2.0, 4.0],
            &[5.0, 3.0],
        ];
        const MARKERS: [Marker; 6] = [
            Marker::Circle,
            Marker::Square,
            Marker::Triangle,
            Marker::Diamond,
            Marker::Cross,
            Marker::Plus,
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
    if look.dashes.is_empty() {
        if path.len() > 1 {
            area.draw(&PathElement::new(path.to_vec(), style))?;
        }
        return Ok(());
    }
    for dash in dashed(path, look.dashes) {
        area.draw(&PathElement::new(dash, style))?;
    }
    Ok(())
}

/// Cuts a path, in units, into dashes of a pattern in pixels, which runs on around the corners.
fn dashed(path: &[(i32, i32)], pattern: &[f64]) -> Vec<Vec<(i32, i32)>> {
    let mut dashes = Vec::new();
    let mut dash: Vec<(i32, i32)> = path.first().copied().into_iter().collect();
    let (mut phase, mut left) = (0, pattern[0] * f64::from(PIXEL));
    for ends in path.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy);
        let mut at = 0.0;
        while length - at > left {
            at += left;
            let share = at / length;
            let corner = (
                from.0 + (dx * share).round() as i32,
                from.1 + (dy * share).round() as i32,
            );
            if phase % 2 == 0 {
                dash.push(corner);
                dashes.push(std::mem::take(&mut dash));
            } else {
                dash = vec![corner];
            }
            phase = (phase + 1) % pattern.len();
            left = pattern[phase] * f64::from(PIXEL);
        }
        left -= length - at;
        if phase % 2 == 0 {
            dash.push(to);
        }
    }
    if dash.len() > 1 {
        dashes.push(dash);
    }
    dashes
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
    use crate::plot::at;

    #[test]
    fn dashes_follow_the_pattern_around_a_corner() {
        let dashes = dashed(&[at(0, 0), at(10, 0), at(10, 10)], &[6.0, 2.0]);
        assert_eq!(
            dashes,
            [
                vec![at(0, 0), at(6, 0)],
                vec![at(8, 0), at(10, 0), at(10, 4)],
                vec![at(10, 6), at(10, 10)]
            ]
        );
        assert!(dashed(&[], &[6.0, 2.0]).is_empty());
    }
}
