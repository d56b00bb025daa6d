//! The horizontal axis: linear for loads, by doublings for the sides of meshes, and categories by name.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;

use super::{Picture, Scale};

/// A horizontal axis that holds every point, with some air at both ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HorizontalAxis {
    range: Range<f64>,
    scale: Scale,
}

impl HorizontalAxis {
    pub(super) fn of(picture: &Picture) -> Self {
        let points = || picture.series.iter().flat_map(|series| &series.points);
        let low = points().map(|point| point.x).fold(f64::INFINITY, f64::min);
        let high = points()
            .map(|point| point.x)
            .fold(f64::NEG_INFINITY, f64::max);
        // There is no doubling from 0 or below.
        let scale = match &picture.x_scale {
            Scale::Doubling if low <= 0.0 => Scale::Linear,
            other => other.clone(),
        };
        let range = match &scale {
            // Each has a unit of width, in the middle of which it stands.
            Scale::Categories(names) => -0.5..names.len().max(1) as f64 - 0.5,
            _ if low > high => 0.0..1.0,
            Scale::Doubling => low / 1.25..high * 1.25,
            Scale::Linear => {
                let air = if high > low {
                    0.06 * (high - low)
                } else {
                    0.1 * high.abs().max(0.1)
                };
                (low - air)..(high + air)
            }
        };
        HorizontalAxis { range, scale }
    }

    fn linear(&self) -> RangedCoordf64 {
        self.range.clone().into()
    }
}

impl Ranged for HorizontalAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        match &self.scale {
            Scale::Linear | Scale::Categories(_) => self.linear().map(value, limit),
            Scale::Doubling => {
                let Range { start, end } = self.range;
                let share = (value / start).ln() / (end / start).ln();
                limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
            }
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match &self.scale {
            Scale::Categories(names) => (0..names.len()).map(|i| i as f64).collect(),
            Scale::Linear => self.linear().key_points(hint),
            Scale::Doubling => {
                let (first, last) = (
                    self.range.start.log2().ceil(),
                    self.range.end.log2().floor(),
                );
                (first as i32..=last as i32).map(|e| 2f64.powi(e)).collect()
            }
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for HorizontalAxis {
    fn format_ext(&self, value: &f64) -> String {
        let name = match &self.scale {
            Scale::Categories(names) => names.get(value.round() as usize),
            Scale::Linear | Scale::Doubling => None,
        };
        name.cloned().unwrap_or_else(|| super::short(*value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Layout, Point, Series};

    fn axis(x_scale: Scale, values: &[f64]) -> HorizontalAxis {
        let points = values.iter().map(|&x| Point { x, y: None }).collect();
        HorizontalAxis::of(&Picture {
            title: String::new(),
            subtitle: String::new(),
            x_label: String::new(),
            x_scale,
            y_label: String::new(),
            series: vec![Series {
                name: String::new(),
                points,
            }],
            layout: Layout::Page,
        })
    }

    #[test]
    fn doublings_are_equally_far_apart() {
        let axis = axis(Scale::Doubling, &[16.0, 32.0, 512.0]);
        let at = |side| axis.map(&side, (0, 100_000));
        assert!((at(64.0) - at(32.0) - (at(512.0) - at(256.0))).abs() <= 1);
        let marked = axis.key_points(10);
        assert_eq!(marked, [16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
        assert_eq!(axis.format_ext(&16.0), "16");
    }

    #[test]
    fn categories_are_named_and_equally_far_apart() {
        let names = ["U*U", "U*N"].map(str::to_owned).to_vec();
        let axis = axis(Scale::Categories(names), &[0.0, 1.0]);
        assert_eq!(axis.key_points(1), [0.0, 1.0]);
        assert_eq!(axis.format_ext(&0.0), "U*U");
        assert_eq!(axis.format_ext(&1.0), "U*N");
        assert_eq!(axis.map(&0.0, (0, 400)), 100);
        assert_eq!(axis.map(&1.0, (0, 400)), 300);
    }

    #[test]
    fn one_value_none_and_zero_still_give_an_axis() {
        for (scale, values) in [
            (Scale::Linear, &[0.5][..]),
            (Scale::Linear, &[]),
            (Scale::Doubling, &[]),
            (Scale::Categories(Vec::new()), &[]),
            (Scale::Doubling, &[0.0, 1.0]),
        ] {
            let range = axis(scale, values).range();
            assert!(range.start < range.end, "{values:?}: {range:?}");
        }
    }
}
