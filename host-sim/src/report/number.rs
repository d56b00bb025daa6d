//! Numbers of any size in tables and texts: [`number`].

use crate::statistics::Estimate;

/// Significant digits of a half-width.
const OF_WIDTH: i32 = 2;
/// Least significant digits and decimals of a mean without one.
const OF_MEAN: i32 = 3;
const DECIMALS_MIN: i32 = 2;
/// With more decimals a half-width has an exponent, a mean without one with one decimal more.
const DECIMALS_MAX: i32 = 5;

/// Mean and half-width, both times `scale`. The half-width has two significant digits, and the mean ends at the same place; a mean without
/// one has two decimals, and at least three significant digits.
pub fn number(estimate: &Estimate, scale: f64) -> String {
    let mean = estimate.mean * scale;
    match estimate.ci95.map(|width| width * scale) {
        Some(width) if width > 0.0 => {
            let decimals = OF_WIDTH - 1 - magnitude(width);
            if decimals <= DECIMALS_MAX {
                let decimals = decimals.max(0) as usize;
                return format!("{mean:.decimals$} ± {width:.decimals$}");
            }
            let power = magnitude(width.max(mean.abs()));
            let decimals = (decimals + power).max(0) as usize;
            let [mean, width] = [mean, width].map(|value| value / 10f64.powi(power));
            format!("({mean:.decimals$} ± {width:.decimals$})e{power}")
        }
        Some(_) => format!("{} ± 0", alone(mean)),
        None => alone(mean),
    }
}

/// A mean without a half-width.
fn alone(mean: f64) -> String {
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

    fn text(mean: f64, ci95: impl Into<Option<f64>>) -> String {
        let ci95 = ci95.into();
        let estimate = Estimate {
            mean,
            ci95,
            replications: 2,
        };
        number(&estimate, 1.0)
    }

    #[test]
    fn numbers_of_any_size_have_their_digits() {
        for (mean, ci95, expected) in [
            (47.123, 1.23, "47.1 ± 1.2"),
            (4712.3, 123.0, "4712 ± 123"),
            (0.034, 0.000_12, "0.03400 ± 0.00012"),
            (0.000_009, 0.000_019, "(0.9 ± 1.9)e-5"),
            (8e-6, 1.2e-7, "(8.00 ± 0.12)e-6"),
            (8e-300, 1.2e-300, "(8.0 ± 1.2)e-300"),
            (0.0, 1.2e-9, "(0.0 ± 1.2)e-9"),
            (3.0, 0.0, "3.00 ± 0"),
        ] {
            assert_eq!(text(mean, ci95), expected);
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
            assert_eq!(text(mean, None), expected);
        }
    }

    #[test]
    fn the_scale_is_that_of_mean_and_half_width() {
        let share = Estimate {
            mean: 0.000_123,
            ci95: Some(0.000_000_45),
            replications: 2,
        };
        assert_eq!(number(&share, 1.0), "(1.2300 ± 0.0045)e-4");
        assert_eq!(number(&share, 100.0), "(1.2300 ± 0.0045)e-2");
        assert_eq!(number(&share, 1e6), "123.00 ± 0.45");
    }
}
