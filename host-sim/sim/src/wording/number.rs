//! Numbers of any size in tables and texts: [`number`].

use crate::statistics::{Estimate, Interval};

/// Significant digits of a half-width.
const OF_WIDTH: i32 = 2;
/// Arms that differ by more than this part of the half-width are shown by their ends.
const ARMS_DIFFER: f64 = 0.1;
/// Below these first digits the ends of an interval have one more (as the Particle Data Group has
/// it).
const TWO_DIGITS_BELOW: f64 = 3.55;
/// At most this number of decimals is added for a lower end that is near 0.
const MORE_DECIMALS_MAX: i32 = 2;
/// Least significant digits and decimals of a mean without one.
const OF_MEAN: i32 = 3;
const DECIMALS_MIN: i32 = 2;
/// With more decimals than this, a half-width has an exponent; a mean without a half-width, with
/// one decimal more.
const DECIMALS_MAX: i32 = 5;

/// A mean with its interval, both times `scale`, as everything shows them to people: `47.1 ± 1.2`,
/// or `20 [15, 29]` where the arms differ by more than a tenth of the half-width. A half-width has
/// two significant digits, the ends of an interval one or two, and the mean ends at the same place;
/// a mean without an interval has two decimals, and at least three significant digits.
pub fn number(estimate: &Estimate, scale: f64) -> String {
    // Adding 0 turns -0 into 0.
    let scaled = estimate.affine(scale, 0.0);
    let mean = scaled.mean;
    let Some(interval) = scaled.ci95 else {
        return alone(mean);
    };
    let width = interval.half_width();
    if width <= 0.0 {
        return format!("{} ± 0", alone(mean));
    }
    let Interval { low, high } = interval;
    let differ = (high - mean - (mean - low)).abs() > ARMS_DIFFER * width;
    let place = if differ {
        last_of_ends(width, low)
    } else {
        OF_WIDTH - 1 - magnitude(width)
    };
    // With this many decimals, in units of a power of ten.
    let shown = |decimals: i32, power: i32| {
        let decimals = decimals.max(0) as usize;
        let [mean, low, high, width] =
            [mean, low, high, width].map(|value| value / 10f64.powi(power));
        if differ {
            format!("{mean:.decimals$} [{low:.decimals$}, {high:.decimals$}]")
        } else {
            format!("{mean:.decimals$} ± {width:.decimals$}")
        }
    };
    let power = if differ && mean != 0.0 {
        magnitude(mean.abs())
    } else {
        magnitude(width.max(mean.abs()))
    };
    if place <= DECIMALS_MAX || power == 0 {
        return shown(place, 0);
    }
    format!("({})e{power}", shown(place + power, power))
}

/// The decimals of the ends of an interval with this half-width: one significant digit of it, two
/// where that would round it by more than a seventh, and more where the lower end would be shown
/// as 0.
fn last_of_ends(width: f64, low: f64) -> i32 {
    let first = magnitude(width);
    let decimals = if width / 10f64.powi(first) < TWO_DIGITS_BELOW {
        1 - first
    } else {
        -first
    };
    if low > 0.0 {
        (-magnitude(low)).clamp(decimals, decimals + MORE_DECIMALS_MAX)
    } else {
        decimals
    }
}

/// A number without an interval.
pub fn alone(mean: f64) -> String {
    let least = match mean {
        0.0 => DECIMALS_MIN,
        _ => OF_MEAN - 1 - magnitude(mean.abs()),
    };
    if least <= DECIMALS_MAX + 1 {
        let decimals = least.max(DECIMALS_MIN) as usize;
        return format!("{mean:.decimals$}");
    }
    let digits = (OF_MEAN - 1) as usize;
    format!("{mean:.digits$e}")
}

/// The power of ten of the first digit of a number over 0.
fn magnitude(value: f64) -> i32 {
    value.log10().floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mean: f64, ci95: Option<(f64, f64)>) -> Estimate {
        Estimate {
            mean,
            ci95: ci95.map(|(low, high)| Interval { low, high }),
            deviation: None,
            replications: 2,
        }
    }

    /// A mean with a symmetric interval.
    fn symmetric(mean: f64, width: f64) -> Estimate {
        let ci95 = Some(Interval::around(mean, width));
        Estimate {
            ci95,
            ..of(mean, None)
        }
    }

    #[test]
    fn numbers_of_any_size_have_their_digits() {
        for (mean, width, expected) in [
            (47.123, 1.23, "47.1 ± 1.2"),
            (4712.3, 123.0, "4712 ± 123"),
            (0.034, 0.000_12, "0.03400 ± 0.00012"),
            (0.000_009, 0.000_019, "(0.9 ± 1.9)e-5"),
            (8e-6, 1.2e-7, "(8.00 ± 0.12)e-6"),
            (1.000_489, 8.3e-5, "1.000489 ± 0.000083"),
            (8e-300, 1.2e-300, "(8.0 ± 1.2)e-300"),
            (0.0, 1.2e-9, "(0.0 ± 1.2)e-9"),
            (3.0, 0.0, "3.00 ± 0"),
        ] {
            assert_eq!(number(&symmetric(mean, width), 1.0), expected);
        }
        for (mean, expected) in [
            (0.0, "0.00"),
            (47.123, "47.12"),
            (2.6667, "2.67"),
            (123_456.0, "123456.00"),
            (0.434, "0.434"),
            (0.034, "0.0340"),
            (0.0034, "0.00340"),
            (8e-6, "8.00e-6"),
            (8e-300, "8.00e-300"),
        ] {
            assert_eq!(number(&of(mean, None), 1.0), expected);
        }
    }

    #[test]
    fn arms_that_differ_are_shown_by_the_ends() {
        for (mean, low, high, expected) in [
            (19.9, 14.6, 29.1, "20 [15, 29]"),
            (0.921, 0.79, 1.074, "0.92 [0.79, 1.07]"),
            (132.7, 89.0, 197.0, "133 [89, 197]"),
            (8e-6, 6.1e-6, 1.2e-5, "(8.0 [6.1, 12.0])e-6"),
            (1e-5, 1.3e-6, 7.6e-5, "(1.0 [0.1, 7.6])e-5"),
            (0.54, 0.021, 13.1, "0.54 [0.02, 13.10]"),
            (3.0, 1e-9, 14.0, "3.00 [0.00, 14.00]"),
            (-1.0, -9.0, 2.0, "-1 [-9, 2]"),
            // By a little less than a tenth of the half-width, and by a little more, on either
            // side.
            (10.0, 8.94, 11.13, "10.0 ± 1.1"),
            (10.0, 8.96, 11.18, "10.0 [9.0, 11.2]"),
            (10.0, 8.82, 11.04, "10.0 [8.8, 11.0]"),
        ] {
            assert_eq!(number(&of(mean, Some((low, high))), 1.0), expected);
        }
    }

    #[test]
    fn the_scale_is_that_of_mean_and_interval() {
        let share = symmetric(0.000_123, 0.000_000_45);
        assert_eq!(number(&share, 1.0), "(1.2300 ± 0.0045)e-4");
        assert_eq!(number(&share, 100.0), "(1.2300 ± 0.0045)e-2");
        assert_eq!(number(&share, 1e6), "123.00 ± 0.45");
        let gain = of(0.2, Some((0.15, 0.29)));
        assert_eq!(number(&gain, -100.0), "-20 [-29, -15]");
        assert_eq!(number(&of(0.0, None), -100.0), "0.00");
        assert_eq!(number(&of(-0.0, None), 1.0), "0.00");
    }
}
