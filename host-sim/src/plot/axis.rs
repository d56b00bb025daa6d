//! The vertical axis: linear, or logarithmic where the values span more than a decade.
//!
//! Delays explode near saturation, and a linear axis that holds the last point would press all others
//! onto its foot.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;

use super::{Measured, Picture};

/// Spans below this factor are linear.
const LOGARITHMIC_FROM: f64 = 10.0;

/// A vertical axis for values of at least 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValueAxis {
    range: Range<f64>,
    logarithmic: bool,
}

impl ValueAxis {
    /// An axis that holds every mean and, as far as it goes down, every interval.
    pub(super) fn of(picture: &Picture) -> Self {
        let points = || picture.series.iter().flat_map(|series| &series.points);
        let measured = || points().filter_map(|point| point.y);
        let highest = measured().map(|y| y.high()).fold(0.0, f64::max);
        let lowest = measured().map(|y| y.mean).fold(f64::INFINITY, f64::min);
        let logarithmic = lowest > 0.0 && highest / lowest >= LOGARITHMIC_FROM;
        if logarithmic {
            let bars = measured()
                .map(|y| y.low())
                .filter(|&low| low > 0.1 * lowest);
            let foot = bars.fold(lowest, f64::min);
            return ValueAxis {
                range: 0.8 * foot..1.25 * highest,
                logarithmic,
            };
        }
        let top = if highest > 0.0 { 1.06 * highest } else { 1.0 };
        ValueAxis {
            range: 0.0..top,
            logarithmic,
        }
    }

    /// Whether equal ratios, not equal differences, are equally far apart.
    pub(super) const fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// What of a bar's lower end can be shown.
    pub(super) fn clipped(&self, value: f64) -> f64 {
        value.max(self.range.start)
    }

    fn linear(&self) -> RangedCoordf64 {
        self.range.clone().into()
    }
}

impl Measured {
    fn high(&self) -> f64 {
        self.mean + self.half_width.unwrap_or(0.0)
    }

    fn low(&self) -> f64 {
        self.mean - self.half_width.unwrap_or(0.0)
    }
}

impl Ranged for ValueAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        if !self.logarithmic {
            return self.linear().map(value, limit);
        }
        let Range { start, end } = self.range;
        let share = (value / start).ln() / (end / start).ln();
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if self.logarithmic {
            decades(&self.range, hint.max_num_points())
        } else {
            self.linear().key_points(hint)
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

impl ValueFormatter<f64> for ValueAxis {
    fn format_ext(&self, value: &f64) -> String {
        super::short(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Layout, Point, Scale, Series};

    fn picture(values: &[(f64, f64)]) -> Picture {
        let point = |&(mean, half_width): &(f64, f64)| Point {
            x: 0.5,
            y: Some(Measured {
                grows: false,
                mean,
                half_width: Some(half_width),
            }),
        };
        Picture {
            title: String::new(),
            subtitle: String::new(),
            x_label: String::new(),
            x_scale: Scale::Linear,
            layout: Layout::Page,
            y_label: String::new(),
            series: vec![Series {
                name: String::new(),
                points: values.iter().map(point).collect(),
            }],
        }
    }

    #[test]
    fn wide_spans_are_logarithmic() {
        let axis = ValueAxis::of(&picture(&[(1.0, 0.1), (1000.0, 50.0)]));
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
        for values in [
            &[(3.0, 0.5), (20.0, 1.0)][..],
            &[(0.0, 0.0), (500.0, 1.0)],
            &[],
        ] {
            let axis = ValueAxis::of(&picture(values));
            assert!(
                !axis.is_logarithmic() && axis.range.start == 0.0,
                "{values:?}"
            );
        }
    }

    #[test]
    fn an_interval_that_reaches_below_zero_is_cut_off_at_the_foot() {
        let axis = ValueAxis::of(&picture(&[(1.0, 2.0), (90.0, 100.0)]));
        assert!(axis.is_logarithmic());
        assert_eq!(axis.clipped(-1.0), axis.range.start);
        assert!(axis.range.start > 0.0 && axis.range.end > 190.0);
    }
}
