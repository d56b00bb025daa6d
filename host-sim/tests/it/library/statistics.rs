use meshalloc_host_sim::statistics::{
    Delays, Estimate, Moments, Sampling, Trend, empty_start_bias,
};
use statrs::distribution::{ContinuousCDF, StudentsT};

#[test]
fn interval_uses_students_quantiles() {
    // Quantiles of the 95 % interval from printed tables, degrees of freedom 1, 7, 9, 29.
    for (n, quantile) in [(2, 12.706), (8, 2.365), (10, 2.262), (30, 2.045)] {
        // Deviations of +-1 in pairs: squares add up to n.
        let values: Vec<f64> = (0..n).map(|i| f64::from(i % 2 * 2)).collect();
        let expected = quantile / f64::from(n - 1).sqrt();
        let width = Estimate::of(&values, Sampling::Independent)
            .unwrap()
            .ci95
            .unwrap();
        assert!(
            (width / expected - 1.0).abs() < 5e-4,
            "{n}: {width} {expected}"
        );
    }
    assert_eq!(Estimate::of(&[], Sampling::Independent), None);
    assert_eq!(
        Estimate::of(&[3.0], Sampling::Independent).unwrap().ci95,
        None
    );
}

#[test]
fn skewness_lengthens_an_interval() {
    // Willink's formula by hand for n = 10, skewness 3.1623 (one value unlike the others): a = 1/6, t = 2.2622,
    // 1 - (2.2622 + 1/6) = -1.4288, whose cube root is -1.1263; (1 + 1.1263) / (1/3) = 6.379 standard errors of 1.
    let mut values = [0.0; 10];
    for far in [10.0, -10.0] {
        values[9] = far;
        let width = Estimate::of(&values, Sampling::Independent)
            .unwrap()
            .ci95
            .unwrap();
        assert!((width - 6.379).abs() < 5e-3, "{width}");
    }
}

#[test]
fn no_interval_is_narrower_than_students() {
    for n in 3..40 {
        for power in [1, 2, 5, 20] {
            let values: Vec<f64> = (1..=n).map(|i| f64::from(i).powi(power)).collect();
            let count = f64::from(n);
            let mean = values.iter().sum::<f64>() / count;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let student = StudentsT::new(0.0, 1.0, count - 1.0).unwrap();
            let least = student.inverse_cdf(0.975) * (squares / (count - 1.0) / count).sqrt();
            let width = Estimate::of(&values, Sampling::Independent)
                .unwrap()
                .ci95
                .unwrap();
            assert!(
                width >= least * (1.0 - 1e-12),
                "{n} {power}: {width} {least}"
            );
        }
    }
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
    let ratio = Estimate::paired_ratio(&a, &b, Sampling::Independent).unwrap();
    assert_eq!((ratio.mean, ratio.ci95), (0.5, Some(0.0)));
    assert!(
        Estimate::of(&a, Sampling::Independent)
            .unwrap()
            .ci95
            .unwrap()
            > 10.0
    );
    assert_eq!(
        Estimate::paired_ratio(&a, &b[..2], Sampling::Independent),
        None
    );
    assert_eq!(
        Estimate::paired_ratio(&a, &[0.0; 3], Sampling::Independent),
        None
    );
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
