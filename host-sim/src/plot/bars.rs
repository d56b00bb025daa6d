//! Bars over categories: one a series, those of a category beside each other.

use plotters::prelude::*;

use super::axis::Axis;
use super::marks::Look;
use super::{Chart, MARKER, Picture, Scale, Series, THIN};
use crate::svg::{Area, Drawn, PIXEL};

/// The width of all bars of a category together; the rest is empty. A category has a width of 1.
const GROUP_WIDTH: f64 = 0.8;
/// The share of its slot that a bar fills.
const BAR_SHARE: f64 = 0.84;

/// The room of one series within each category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slot {
    /// The offset of the slot's middle from the middle of the category.
    pub(super) offset: f64,
    width: f64,
}

impl Slot {
    /// The slot of series number `index`; `None` where the axis has no categories.
    pub(super) fn of(picture: &Picture, index: usize) -> Option<Slot> {
        let Scale::Categories(_) = picture.x_scale else {
            return None;
        };
        let count = picture.series.len() as f64;
        let width = GROUP_WIDTH / count;
        Some(Slot {
            offset: (index as f64 + 0.5) * width - GROUP_WIDTH / 2.0,
            width,
        })
    }

    /// The bars of a series, from the axis to its means. A logarithmic axis has no 0, so a bar's
    /// length would have no meaning: there are no bars.
    pub(super) fn draw(
        self,
        root: &Area<'_>,
        chart: &Chart<'_, '_>,
        axis: &Axis,
        series: &Series,
        look: &Look,
    ) -> Drawn {
        if axis.is_logarithmic() {
            return Ok(());
        }
        let half = self.width * BAR_SHARE / 2.0;
        for point in &series.points {
            let Some(y) = &point.y else { continue };
            let middle = point.x + self.offset;
            let place = |x: f64, y: f64| chart.plotting_area().map_coordinate(&(x, y));
            draw_bar(
                root,
                [place(middle - half, y.mean), place(middle + half, 0.0)],
                look,
            )?;
        }
        Ok(())
    }
}

/// The bar is light, so that the marker and the interval on it can be seen.
fn draw_bar(area: &Area<'_>, corners: [(i32, i32); 2], look: &Look) -> Drawn {
    // White first, so that the grid does not run through it.
    area.draw(&Rectangle::new(corners, WHITE.filled()))?;
    area.draw(&Rectangle::new(corners, look.color.mix(0.3).filled()))?;
    let [(left, top), (right, bottom)] = corners;
    let outline = [
        (left, bottom),
        (left, top),
        (right, top),
        (right, bottom),
        (left, bottom),
    ];
    area.draw(&PathElement::new(outline, look.color.stroke_width(THIN)))?;
    Ok(())
}

/// What stands for a series in the legend, around its marker at `(x, y)`.
pub(super) fn draw_swatch(area: &Area<'_>, (x, y): (i32, i32), look: &Look) -> Drawn {
    let (half_width, half_height) = (3 * MARKER, MARKER + 4 * PIXEL);
    let corners = [
        (x - half_width, y - half_height),
        (x + half_width, y + half_height),
    ];
    draw_bar(area, corners, look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_stand_beside_each_other_around_the_middle() {
        let series = Series {
            name: String::new(),
            points: Vec::new(),
        };
        let mut picture = Picture {
            x_scale: Scale::Categories(vec!["one".to_owned()]),
            series: vec![series; 4],
            ..Picture::default()
        };
        let slots: Vec<Slot> = (0..4).filter_map(|i| Slot::of(&picture, i)).collect();
        for (slot, offset) in slots.iter().zip([-0.3, -0.1, 0.1, 0.3]) {
            assert!((slot.offset - offset).abs() < 1e-12, "{slots:?}");
            assert!((slot.width - 0.2).abs() < 1e-12, "{slots:?}");
        }
        picture.x_scale = Scale::Linear;
        assert_eq!(Slot::of(&picture, 0), None);
    }
}
