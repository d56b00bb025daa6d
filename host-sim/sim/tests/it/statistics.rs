use meshalloc_sim::statistics::{
    Delays, Estimate, Interval, Moments, Sampling, Spread, Trend, empty_start_bias,
};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Student's interval of these values, by the formula.
fn student(values: &[f64]) -> Interval {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let student = StudentsT::new(0.0, 1.0, count - 1.0).unwrap();
    let arm = student.inverse_cdf(0.975) * (squares / (count - 1.0) / count).sqrt();
    Interval::around(mean, arm)
}

fn skewed(values: &[f64]) -> Estimate {
    Estimate::of(values, Sampling::Independent, Spread::Skewed).unwrap()
}

fn interval_of(values: &[f64]) -> Interval {
    skewed(values).ci95.unwrap()
}

#[test]
fn symmetric_intervals_use_students_quantiles() {
    // Quantiles of the 95 % interval from printed tables, degrees of freedom 1, 7, 9, 29.
    for (n, quantile) in [(2, 12.706), (8, 2.365), (10, 2.262), (30, 2.045)] {
        // Deviations of +-1 in pairs: squares add up to n.
        let values: Vec<f64> = (0..n).map(|i| f64::from(i % 2 * 2)).collect();
        let expected = quantile / f64::from(n - 1).sqrt();
        let lengthened = expected * (1.0 + 1.0 / f64::from(n));
        let resampled = expected * f64::from(n).sqrt();
        for (sampling, spread, expected) in [
            (Sampling::Independent, Spread::Even, expected),
            (Sampling::Independent, Spread::SkewedDifferences, lengthened),
            (Sampling::Resampled, Spread::Even, resampled),
            (Sampling::Resampled, Spread::Skewed, resampled),
            (Sampling::Resampled, Spread::SkewedDifferences, resampled),
        ] {
            let estimate = Estimate::of(&values, sampling, spread).unwrap();
            let Interval { low, high } = estimate.ci95.unwrap();
            for arm in [1.0 - low, high - 1.0] {
                assert!((arm / expected - 1.0).abs() < 5e-4, "{n}: {arm} {expected}");
            }
        }
    }
    let of_nothing = Estimate::of(&[], Sampling::Independent, Spread::Even);
    assert_eq!(of_nothing, None);
    let one = skewed(&[3.0]);
    assert_eq!((one.mean, one.ci95, one.deviation), (3.0, None, None));
}

#[test]
fn the_interval_of_a_mean_is_symmetric_on_the_logarithmic_scale() {
    // By hand: mean 11, deviation root (2/9), standard error 0.14907, quantile 2.26216, lengthened
    // by 1.1.
    let values = [10.5, 11.5, 10.5, 11.5, 11.0, 11.0, 10.5, 11.5, 11.0, 11.0];
    let arm: f64 = 1.1 * 2.262_157 * (1.5 / 9.0 / 10.0_f64).sqrt() / 11.0;
    let Interval { low, high } = interval_of(&values);
    assert!((low - 11.0 * (-arm).exp()).abs() < 1e-5, "{low}");
    assert!((high - 11.0 * arm.exp()).abs() < 1e-5, "{high}");
}

#[test]
fn no_interval_is_more_than_twice_as_wide_as_students() {
    // Nine zeros and a ten: the mean is its own standard error. Twice Student's width is 4 x
    // 2.26216.
    let mut values = [0.0; 10];
    values[9] = 10.0;
    let Interval { low, high } = interval_of(&values);
    assert!((high - low - 9.048_63).abs() < 1e-4, "{low} {high}");
    assert!((low * high - 1.0).abs() < 1e-12, "{low} {high}");
    for n in 2..40 {
        for power in [1, 2, 5, 20] {
            let values: Vec<f64> = (1..=n).map(|i| f64::from(i).powi(power)).collect();
            let ratio = interval_of(&values).half_width() / student(&values).half_width();
            assert!((1.0..2.0 + 1e-9).contains(&ratio), "{n} {power}: {ratio}");
            assert!(interval_of(&values).low > 0.0);
        }
    }
}

#[test]
fn equal_values_have_an_interval_without_width() {
    for value in [0.0, 7.0] {
        let estimate = skewed(&[value; 10]);
        assert_eq!(estimate.ci95, Some(Interval::around(value, 0.0)));
        assert_eq!(estimate.relative_error(), Some(0.0));
    }
}

#[test]
fn errors_are_those_of_the_longer_arm() {
    let estimate = Estimate {
        mean: 20.0,
        ci95: Some(Interval {
            low: 16.0,
            high: 30.0,
        }),
        deviation: None,
        replications: 10,
    };
    assert_eq!(estimate.absolute_error(), Some(10.0));
    // If the true mean is 30, 20 is a third too low; if it is 16, a quarter too high.
    assert_eq!(estimate.relative_error(), Some(1.0 / 3.0));
    let gain = estimate.affine(-0.5, 1.0);
    assert_eq!((gain.mean, gain.absolute_error()), (-9.0, Some(5.0)));
    assert_eq!(
        gain.ci95,
        Some(Interval {
            low: -14.0,
            high: -7.0
        })
    );
    assert_eq!(gain.relative_error(), Some(f64::INFINITY));
    // Arms of 3 and 4 below, of 10 and 24 above.
    let other = Estimate {
        mean: 50.0,
        ci95: Some(Interval {
            low: 26.0,
            high: 53.0,
        }),
        ..estimate
    };
    let difference = estimate.minus_independent(&other).unwrap();
    assert_eq!((difference.low, difference.high), (-35.0, -4.0));
}

#[test]
fn bias_of_the_empty_start_needs_a_spread() {
    assert_eq!(empty_start_bias(&[]), None);
    assert_eq!(empty_start_bias(&[3.0]), None);
    assert_eq!(empty_start_bias(&[0.0, 0.0]), None);
    assert_eq!(empty_start_bias(&[3.0, 3.0]), Some(0.0));
}

#[test]
fn paired_ratio_profits_from_pairs() {
    let b = [10.0, 20.0, 30.0];
    let a = [5.0, 10.0, 15.0];
    let independent =
        |a: &[f64], b: &[f64], spread| Estimate::paired_ratio(a, b, Sampling::Independent, spread);
    let ratio = independent(&a, &b, Spread::Skewed).unwrap();
    let exact = Interval::around(0.5, 0.0);
    assert_eq!((ratio.mean, ratio.ci95), (0.5, Some(exact)));
    assert!(interval_of(&a).half_width() > 10.0);
    // Both ends of the inverse ratio are the inverse ends.
    let b = [11.0, 18.0, 31.0];
    let ratio = |a, b| independent(a, b, Spread::Skewed).unwrap();
    let (ends, inverse) = (ratio(&a, &b).ci95.unwrap(), ratio(&b, &a).ci95.unwrap());
    assert!((ends.low * inverse.high - 1.0).abs() < 1e-12);
    assert!((ends.high * inverse.low - 1.0).abs() < 1e-12);
    // If values spread evenly, the interval is Student's: residuals 5 - 11/2, 10 - 18/2, 15 - 31/2.
    let even = independent(&a, &b, Spread::Even).unwrap();
    let arm = 4.302_65 * (1.5_f64 / 2.0 / 3.0).sqrt() / 20.0;
    assert_eq!(even.mean, 0.5);
    assert!(
        (even.ci95.unwrap().half_width() - arm).abs() < 1e-6,
        "{even:?}"
    );
    assert_eq!(independent(&a, &b[..2], Spread::Skewed), None);
    assert_eq!(independent(&a, &[0.0; 3], Spread::Skewed), None);
}

#[test]
fn moments_are_those_of_the_definition() {
    let mut moments = Moments::default();
    assert_eq!((moments.mean(), moments.variance()), (None, None));
    for value in [2, 4, 4, 4, 5, 5, 7, 9] {
        moments.add(value);
    }
    assert_eq!(moments.mean(), Some(5.0));
    assert!((moments.variance().unwrap() - 32.0 / 7.0).abs() < 1e-12);
}

#[test]
fn moments_hold_the_largest_values_exactly() {
    let largest = 1u64 << 51;
    let mut moments = Moments::default();
    for _ in 0..500 {
        moments.add(0);
        moments.add(largest);
    }
    let half = (largest / 2) as f64;
    assert_eq!(moments.mean(), Some(half));
    assert_eq!(moments.variance(), Some(half * half * (1000.0 / 999.0)));
}

#[test]
fn trend_rises_by_twice_the_mean_from_zero() {
    let (mut growing, mut level) = (Trend::default(), Trend::default());
    for i in 0..1001 {
        growing.add(i, u64::from(i) * 3);
        level.add(i, 7);
    }
    assert!((growing.relative_rise().unwrap() - 2.0).abs() < 1e-12);
    assert_eq!(level.relative_rise(), Some(0.0));
    assert_eq!(Trend::default().relative_rise(), None);
}

#[test]
fn quantiles_are_those_of_all_values_in_any_order() {
    // Hyndman and Fan's definition 8 by hand: the value at place (n + 1/3) p + 1/3 from 1.
    let mut delays = Delays::default();
    assert_eq!(delays.quantile(0.5), None);
    for i in 0..100 {
        delays.add(1 + i * 37 % 100);
    }
    for (part, expected) in [
        (0.5, 50.5),
        (0.95, 95.65),
        (0.99, 99.663_333),
        (0.0, 1.0),
        (1.0, 100.0),
    ] {
        let found = delays.quantile(part).unwrap();
        assert!((found - expected).abs() < 1e-6, "{part}: {found}");
    }
    let mut equal = Delays::default();
    (0..1_000).for_each(|_| equal.add(7));
    assert_eq!(equal.quantile(0.99), Some(7.0));
}
