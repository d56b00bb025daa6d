//! Values that are known in closed form.

use super::*;
use crate::failures::Effect;

/// Whether the mean of a sample is within four standard errors of what is expected.
#[track_caller]
fn assert_mean(sample: &[f64], expected: f64) {
    let count = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / count;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    assert!(
        (mean - expected).abs() < 4.0 * error,
        "{mean} ± {error} instead of {expected}"
    );
    assert!(
        error < 0.05 * expected.abs(),
        "{error} is too much to tell {expected}"
    );
}

/// A job of a single processor that fails is there until e^(s/m) - 1 times the mean time to a
/// failure m and to a repair have passed, for each stretch s that it does not save (Daly 2006, A
/// higher order estimate of the optimum checkpoint interval for restart dumps, section 3, without
/// the time to restore).
#[test]
fn completion_times_with_restarts() {
    let machine = mesh(1, 1);
    let (up, down, service) = (40.0_f64, 6.0, 50);
    let stretches = |lengths: &[f64]| -> f64 {
        let of = |length: &f64| (up + down) * ((length / up).exp() - 1.0);
        lengths.iter().map(of).sum()
    };
    for (checkpoint, expected) in [
        (None, stretches(&[50.0])),
        (Some("20"), stretches(&[20.0, 20.0, 10.0])),
        (Some("10,2"), stretches(&[12.0, 12.0, 12.0, 12.0, 10.0])),
    ] {
        for restart in [Restart::InPlace, Restart::Elsewhere, Restart::ElsewhereLast] {
            let failures = failures(machine, &format!("node:{up},{down}"), restart, checkpoint);
            let turnaround = |replication| {
                let timeline = failures.timeline(5, replication).unwrap();
                let jobs = [job(0, service, 1, 1)];
                let run = run_jobs(machine, StrategyKind::FirstFit, 4, &jobs, Some(timeline));
                run.unwrap().0.values[Metric::Turnaround].unwrap()
            };
            let sample: Vec<_> = (0..4_000).map(turnaround).collect();
            assert_mean(&sample, expected);
        }
    }
}

/// In the long run a unit works for the part m / (m + r) of the time.
#[test]
fn availability_is_that_of_the_means() {
    let machine = mesh(6, 4);
    for (what, up, down, units_of_a_node) in [
        ("node", 50.0, 10.0, None),
        ("2x2", 20.0, 30.0, None),
        // A processor works while the links do that lead upwards from it.
        ("link", 80.0, 5.0, Some([15.0, 8.0, 1.0])),
    ] {
        let failures = failures(
            machine,
            &format!("{what}:{up},{down}"),
            Restart::InPlace,
            None,
        );
        let part = up / (up + down);
        let expected = match units_of_a_node {
            None => part,
            // Two links, one, and none at the corner.
            Some([two, one, none]) => (two * part * part + one * part + none) / 24.0,
        };
        let availability = |replication| {
            // The window is that between two arrivals.
            let jobs = [job(500, 0, 1, 1), job(5_500, 0, 1, 1)];
            let timeline = failures.timeline(2, replication).unwrap();
            with_backend(machine, StrategyKind::FirstFit, 8, |backend| {
                let conditions = Conditions {
                    failures: Some(timeline),
                    ..all(2).into()
                };
                let mut execution = FixedService::default();
                let run = run_with(&mut execution, conditions, backend, machine, jobs, &mut ());
                run.unwrap().values[Metric::Availability].unwrap()
            })
        };
        let sample: Vec<_> = (0..30).map(availability).collect();
        assert_mean(&sample, expected);
    }
}

/// A place of a row of n cubes with a spare is down as often as the binomial distribution says: if
/// f cubes have failed, f - 1 of the n - 1 places are.
#[test]
fn places_with_spares_are_down_as_the_binomial_distribution_says() {
    let machine = mesh(10, 4);
    let (up, down) = (30.0, 10.0);
    let failures = failures(machine, &format!("2x2:{up},{down}"), Restart::Spare, None);
    let failed = down / (up + down);
    let binomial = |count: i32| {
        let ways = [1.0, 5.0, 10.0, 10.0, 5.0, 1.0][count as usize];
        ways * f64::powi(failed, count) * f64::powi(1.0 - failed, 5 - count)
    };
    let expected: f64 = (2..=5)
        .map(|count| f64::from(count - 1) * binomial(count))
        .sum();
    let down_places = |replication| {
        let mut timeline = failures.timeline(4, replication).unwrap();
        assert_eq!(timeline.kept().len(), 2);
        let (mut places, mut integral, mut before) = (0_i64, 0.0, 500.0);
        while timeline.next_at().is_some_and(|at| at < 5_000 * SECOND) {
            let event = timeline.take().unwrap();
            let at = (event.at as f64 / 1e6).max(500.0);
            integral += places as f64 * (at - before);
            before = at;
            places += match event.effect {
                Effect::Down(_) => 1,
                Effect::Up(_) => -1,
                _ => 0,
            };
        }
        // Per row: there are two.
        (integral + places as f64 * (5_000.0 - before)) / 4_500.0 / 2.0
    };
    let sample: Vec<_> = (0..30).map(down_places).collect();
    assert_mean(&sample, expected);
}
