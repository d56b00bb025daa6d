//! The two axes. Values are linear, or logarithmic where they span more than a decade: delays
//! explode near saturation. The horizontal axis is linear for loads, by doublings for the sides of
//! meshes, and has categories by name.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;

use super::{Measured, Picture, Scale};

/// Spans of values below this factor are linear.
const LOGARITHMIC_FROM: f64 = 10.0;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    range: Range<f64>,
    spacing: Spacing,
}

/// The steps that are equally far apart.
#[derive(Clone, Debug, PartialEq)]
enum Spacing {
    Differences,
    Decades,
    Doublings,
    /// Categories with these names, at 0, 1 and so on.
    Names(Vec<String>),
}

impl Axis {
    /// A vertical axis that holds 0, every mean and every interval; below 0 only for such means.
    pub(super) fn of_values(picture: &Picture) -> Self {
        let points = || picture.series.iter().flat_map(|series| &series.points);
        let measured = || points().filter_map(|point| point.y.as_ref());
        let stated = || picture.stated.iter().map(|stated| stated.y);
        let highest = measured().map(Measured::high).chain(stated());
        let highest = highest.fold(0.0, f64::max);
        let lowest = measured().map(|y| y.mean).chain(stated());
        let lowest = lowest.fold(f64::INFINITY, f64::min);
        if lowest > 0.0 && highest / lowest >= LOGARITHMIC_FROM {
            let bars = measured()
                .map(Measured::low)
                .filter(|&low| low > 0.1 * lowest);
            let foot = bars.fold(lowest, f64::min);
            return Axis {
                range: 0.8 * foot..1.25 * highest,
                spacing: Spacing::Decades,
            };
        }
        let bottom = if lowest < 0.0 {
            let lows = measured().map(Measured::low).chain(stated());
            1.06 * lows.fold(0.0, f64::min)
        } else {
            0.0
        };
        let top = match (highest > 0.0, bottom < 0.0) {
            (true, _) => 1.06 * highest,
            (false, true) => -0.04 * bottom,
            (false, false) => 1.0,
        };
        Axis {
            range: bottom..top,
            spacing: Spacing::Differences,
        }
    }

    /// A horizontal axis that holds every point, with some air at both ends.
    pub(super) fn of_places(picture: &Picture) -> Self {
        let points = || picture.series.iter().flat_map(|series| &series.points);
        let low = points().map(|point| point.x).fold(f64::INFINITY, f64::min);
        let high = points()
            .map(|point| point.x)
            .fold(f64::NEG_INFINITY, f64::max);
        let spacing = match &picture.x_scale {
            // Doublings need points, all of which are over 0.
            Scale::Doubling if low > 0.0 && low <= high => Spacing::Doublings,
            Scale::Categories(names) => Spacing::Names(names.clone()),
            Scale::Linear | Scale::Doubling => Spacing::Differences,
        };
        let range = match &spacing {
            // Each category has a width of one unit, and stands in its middle.
            Spacing::Names(names) => -0.5..names.len().max(1) as f64 - 0.5,
            _ if low > high => 0.0..1.0,
            Spacing::Doublings => low / 1.25..high * 1.25,
            _ => {
                let air = if high > low {
                    0.06 * (high - low)
                } else {
                    0.1 * high.abs().max(0.1)
                };
                (low - air)..(high + air)
            }
        };
        Axis { range, spacing }
    }

    /// Whether equal ratios, not equal differences, are equally far apart.
    pub(super) const fn is_logarithmic(&self) -> bool {
        matches!(self.spacing, Spacing::Decades | Spacing::Doublings)
    }

    /// The lower end of a bar, as far as the axis can show it.
    pub(super) fn clipped(&self, value: f64) -> f64 {
        value.max(self.range.start)
    }

    fn linear(&self) -> RangedCoordf64 {
        self.range.clone().into()
    }
}

impl Measured {
    fn high(&self) -> f64 {
        self.ci95.map_or(self.mean, |interval| interval.high)
    }

    fn low(&self) -> f64 {
        self.ci95.map_or(self.mean, |interval| interval.low)
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        if !self.is_logarithmic() {
            return self.linear().map(value, limit);
        }
        let Range { start, end } = self.range;
        let share = (value / start).ln() / (end / start).ln();
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let Range { start, end } = self.range;
        match &self.spacing {
            Spacing::Differences => self.linear().key_points(hint),
            Spacing::Decades => decades(&self.range, hint.max_num_points()),
            Spacing::Doublings => (start.log2().ceil() as i32..=end.log2().floor() as i32)
                .map(|exponent| 2f64.powi(exponent))
                .collect(),
            Spacing::Names(names) => (0..names.len()).map(|i| i as f64).collect(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// 1, 2 and 5 times the powers of ten within the range, or the powers alone if that is too many.
fn decades(range: &Range<f64>, points_max: usize) -> Vec<f64> {
    let exponents = range.start.log10().floor() as i32..=range.end.log10().ceil() as i32;
    let points = |steps: &'static [f64]| -> Vec<f64> {
        let values = exponents
            .clone()
            .flat_map(|exponent| steps.iter().map(move |step| step * 10f64.powi(exponent)));
        values.filter(|value| range.contains(value)).collect()
    };
    let fine = points(&[1.0, 2.0, 5.0]);
    if fine.len() <= points_max {
        fine
    } else {
        points(&[1.0])
    }
}

/// A number has no more digits than it needs.
impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        if let Spacing::Names(names) = &self.spacing
            && let Some(name) = names.get(value.round() as usize)
        {
            return name.clone();
        }
        // Adding 0 turns a rounded -0 into 0.
        ((value * 1e4).round() / 1e4 + 0.0).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Point, Series};
    use meshalloc_sim::statistics::Interval;

    fn picture(x_scale: Scale, points: Vec<Point>) -> Picture {
        let name = String::new();
        Picture {
            x_scale,
            series: vec![Series { name, points }],
            ..Picture::default()
        }
    }

    fn values(values: &[(f64, f64)]) -> Axis {
        let point = |&(mean, half_width): &(f64, f64)| Point {
            x: 0.5,
            y: Some(Measured {
                mean,
                ci95: Some(Interval::around(mean, half_width)),
                ..Measured::default()
            }),
        };
        let points = values.iter().map(point).collect();
        Axis::of_values(&picture(Scale::Linear, points))
    }

    fn places(x_scale: Scale, places: &[f64]) -> Axis {
        let points = places.iter().map(|&x| Point { x, y: None });
        Axis::of_places(&picture(x_scale, points.collect()))
    }

    #[test]
    fn wide_spans_are_logarithmic() {
        let axis = values(&[(1.0, 0.1), (1000.0, 50.0)]);
        assert!(axis.is_logarithmic());
        let at = |value| axis.map(&value, (10_000, 0));
        assert!((at(10.0) - at(100.0) - (at(1.0) - at(10.0))).abs() <= 1);
        assert_eq!(
            decades(&(0.8..1250.0), 20),
            [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
        );
        assert_eq!(decades(&(0.8..1250.0), 5), [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn narrow_spans_and_zeros_are_linear() {
        for of in [
            &[(3.0, 0.5), (20.0, 1.0)][..],
            &[(0.0, 0.0), (500.0, 1.0)],
            &[],
        ] {
            let axis = values(of);
            assert!(!axis.is_logarithmic() && axis.range.start == 0.0, "{of:?}");
        }
    }

    #[test]
    fn an_interval_that_reaches_below_zero_is_cut_off_at_the_foot() {
        let axis = values(&[(1.0, 2.0), (90.0, 100.0)]);
        assert!(axis.is_logarithmic());
        assert_eq!(axis.clipped(-1.0), axis.range.start);
        assert!(axis.range.start > 0.0 && axis.range.end > 190.0);
    }

    #[test]
    fn doublings_are_equally_far_apart() {
        let axis = places(Scale::Doubling, &[16.0, 32.0, 512.0]);
        let at = |side| axis.map(&side, (0, 100_000));
        assert!((at(64.0) - at(32.0) - (at(512.0) - at(256.0))).abs() <= 1);
        let marked = axis.key_points(10);
        assert_eq!(marked, [16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
        assert_eq!(axis.format_ext(&16.0), "16");
    }

    #[test]
    fn categories_are_named_and_equally_far_apart() {
        let names = ["U*U", "U*N"].map(str::to_owned).to_vec();
        let axis = places(Scale::Categories(names), &[0.0, 1.0]);
        assert_eq!(axis.key_points(1), [0.0, 1.0]);
        assert_eq!([0.0, 1.0].map(|x| axis.format_ext(&x)), ["U*U", "U*N"]);
        assert_eq!([0.0, 1.0].map(|x| axis.map(&x, (0, 400))), [100, 300]);
    }

    #[test]
    fn one_value_none_and_zero_still_give_an_axis() {
        for (scale, at) in [
            (Scale::Linear, &[0.5][..]),
            (Scale::Linear, &[]),
            (Scale::Doubling, &[]),
            (Scale::Categories(Vec::new()), &[]),
            (Scale::Doubling, &[0.0, 1.0]),
        ] {
            let range = places(scale, at).range();
            assert!(range.start < range.end, "{at:?}: {range:?}");
        }
    }
}
