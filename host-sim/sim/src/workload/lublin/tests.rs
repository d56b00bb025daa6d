use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use statrs::function::gamma::ln_gamma;

use super::*;

const CLASSES: [Lublin; 3] = [Lublin::Combined, Lublin::Batch, Lublin::Interactive];

fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(1)
}

/// The integral of a gamma density times a function up to a value, by Simpson's rule.
fn integral((shape, scale): (f64, f64), most: f64, of: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 40_000;
    let density = |x: f64| {
        let logarithm = (shape - 1.0) * x.ln() - x / scale - shape * scale.ln() - ln_gamma(shape);
        logarithm.exp()
    };
    let step = most / f64::from(STEPS);
    let at = |place: u32| {
        let x = f64::from(place) * step;
        let weight = match place {
            0 => return 0.0,
            STEPS => 1.0,
            _ if place.is_multiple_of(2) => 2.0,
            _ => 4.0,
        };
        weight * density(x) * of(x)
    };
    (0..=STEPS).map(at).sum::<f64>() * step / 3.0
}

#[test]
fn the_parameters_are_the_published_ones_on_128_processors() {
    for (class, middle, high, most) in [
        (Lublin::Combined, 4.5, 7.0, 128),
        (Lublin::Batch, 5.0, 7.0, 128),
        (Lublin::Interactive, 3.0, 5.5, 45),
    ] {
        let sizes = Sizes::new(class, 128);
        assert_eq!((sizes.middle, sizes.high, sizes.most), (middle, high, most));
    }
}

#[test]
fn numbers_of_processors_are_drawn_with_their_probabilities() {
    for class in CLASSES {
        for nodes in [100, 128, 1000] {
            let sizes = Sizes::new(class, nodes);
            let mut probabilities = vec![0.0; nodes as usize + 1];
            for (processors, probability) in sizes.probabilities() {
                probabilities[processors as usize] += probability;
            }
            let sum: f64 = probabilities.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{class} {nodes}: {sum}");
            let mut rng = rng();
            let mut counts = vec![0_u32; nodes as usize + 1];
            (0..200_000).for_each(|_| counts[sizes.sample(&mut rng) as usize] += 1);
            // Kolmogorov and Smirnov's distance.
            let (mut drawn, mut expected) = (0.0, 0.0);
            for (count, probability) in counts.iter().zip(&probabilities) {
                drawn += f64::from(*count) / 200_000.0;
                expected += probability;
                assert!((drawn - expected).abs() < 0.004, "{class} {nodes}");
            }
            let parameters = class.parameters();
            let share = |count: u32| f64::from(count) / 200_000.0;
            assert!((share(counts[1]) - parameters.serial).abs() < 0.005);
            let parallel = 1.0 - parameters.serial;
            let powers: u32 = (1..10).filter_map(|at| counts.get(1 << at)).sum();
            // Other jobs have a power of two by chance.
            assert!(share(powers) > parameters.power_of_two * 0.95, "{class}");
            assert!(share(powers) < parallel, "{class}");
        }
    }
}

/// The mean of the two-stage uniform distribution is that of the middles of its stages.
#[test]
fn logarithms_of_sizes_have_the_mean_of_their_stages() {
    for class in CLASSES {
        let sizes = Sizes::new(class, 128);
        let first = sizes.of.first_stage_share;
        let expected = first * f64::midpoint(sizes.of.low, sizes.middle)
            + (1.0 - first) * f64::midpoint(sizes.middle, sizes.high);
        // The area over the distribution function.
        let step = 1e-4;
        let above = (0..80_000).map(|at| (1.0 - sizes.below((f64::from(at) + 0.5) * step)) * step);
        let found: f64 = above.sum();
        assert!(
            (found - expected).abs() < 1e-3,
            "{class}: {found} for {expected}"
        );
    }
}

#[test]
fn run_times_have_the_moments_of_the_published_parameters() {
    for class in CLASSES {
        let runs = RunTimes::new(class);
        let Parameters { run, first, .. } = class.parameters();
        for processors in [1, 16, 64, 128, 1000] {
            let part = (first.0 * f64::from(processors) + first.1).clamp(0.0, 1.0);
            let mixed = |of: &dyn Fn(f64) -> f64| {
                part * integral(run[0], 12.0, of) + (1.0 - part) * integral(run[1], 12.0, of)
            };
            let mass = mixed(&|_| 1.0);
            let seconds = mixed(&f64::exp) / mass;
            let closed = runs.mean_seconds(processors);
            assert!(
                (closed / seconds - 1.0).abs() < 1e-6,
                "{closed} for {seconds}"
            );
            let (mean, square) = (mixed(&|x| x) / mass, mixed(&|x| x * x) / mass);
            let mut rng = rng();
            let drawn: Vec<f64> = (0..100_000)
                .map(|_| runs.sample(processors, &mut rng))
                .collect();
            let average = |of: &dyn Fn(f64) -> f64| {
                drawn.iter().map(|&time| of(time)).sum::<f64>() / drawn.len() as f64
            };
            let found = average(&f64::ln);
            assert!(
                (found / mean - 1.0).abs() < 0.01,
                "{class}: {found} for {mean}"
            );
            let variance = average(&|time| time.ln().powi(2)) - found * found;
            let expected = square - mean * mean;
            assert!(
                (variance / expected - 1.0).abs() < 0.02,
                "{class}: {variance}"
            );
            // Few jobs are most of the work: the standard error of the mean is a percent and more.
            let deviation = (mixed(&|x| (2.0 * x).exp()) / mass - seconds * seconds).sqrt();
            let found = average(&|time| time);
            assert!(
                (found - seconds).abs() < 4.0 * deviation / 1e5_f64.sqrt(),
                "{class}: {found} for {seconds}"
            );
        }
    }
}

#[test]
fn jobs_come_at_their_rate_and_by_the_time_of_the_day() {
    for (class, stretch) in [
        (Lublin::Combined, 1.0),
        (Lublin::Batch, 0.5),
        (Lublin::Interactive, 3.0),
    ] {
        let gap = class.parameters().gap;
        let mean = integral(gap, 13.0, f64::exp) / integral(gap, 13.0, |_| 1.0);
        assert!((class.rate() * mean - 1.0).abs() < 1e-6, "{class}");
        let mut cycle = DailyCycle::new(class, stretch);
        let weights = cycle.weights;
        assert!((weights.iter().sum::<f64>() / 48.0 - 1.0).abs() < 1e-12);
        // Few jobs at night, most in the afternoon.
        let greatest = (0..48).max_by(|&a, &b| weights[a].total_cmp(&weights[b]));
        assert!(
            (22..34).contains(&greatest.unwrap()),
            "{class}: {greatest:?}"
        );
        // The clock of weights, half hour by half hour.
        let by_weights = |seconds: f64| {
            let slots = seconds / 1800.0;
            let whole: f64 = weights.iter().cycle().take(slots as usize).sum();
            (whole + weights[slots as usize % 48] * slots.fract()) * 1800.0
        };
        let mut rng = rng();
        let (mut last, mut logarithms) = (0.0, Vec::new());
        for _ in 0..3_000 {
            let time = by_weights(cycle.next(&mut rng));
            assert!(time >= last);
            logarithms.push(((time - last) / stretch).ln());
            last = time;
        }
        // Kolmogorov and Smirnov's distance to the gamma distribution of logarithms.
        logarithms.sort_by(f64::total_cmp);
        let mass = integral(gap, 13.0, |_| 1.0);
        let distance = logarithms.iter().enumerate().map(|(place, &logarithm)| {
            let expected = gamma_lr(gap.0, logarithm / gap.1) / mass;
            (expected - place as f64 / 3e3).abs()
        });
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.95 / 3e3_f64.sqrt(), "{class}: {distance}");
        // In real time they come at the same rate. A few long gaps are most of the time.
        let square = integral(gap, 13.0, |x| (2.0 * x).exp()) / mass;
        let deviation = (square / (mean * mean) - 1.0).sqrt();
        let (mut cycle, mut time) = (DailyCycle::new(class, stretch), 0.0);
        (0..400_000).for_each(|_| time = cycle.next(&mut rng));
        let found = time / 4e5 / (mean * stretch);
        assert!(
            (found - 1.0).abs() < 4.0 * deviation / 4e5_f64.sqrt(),
            "{class}: {found}"
        );
    }
}

/// The means of both classes are those of a job of either, as often as it arrives.
#[test]
fn means_are_those_of_the_draws() {
    for model in Lublin::ALL {
        let (mut work, mut all, mut processors, mut runs) = (0.0, 0.0, 0.0, 0.0);
        for class in model.classes() {
            let (sizes, times) = (Sizes::new(*class, 256), RunTimes::new(*class));
            let mut rng = rng();
            let rate = class.rate();
            for _ in 0..200_000 {
                let size = sizes.sample(&mut rng);
                let time = times.sample(size, &mut rng);
                work += rate * f64::from(size) * time;
                processors += rate * f64::from(size);
                runs += rate * time;
                all += rate;
            }
        }
        for (found, expected) in [
            (work, model.mean_work(256)),
            (processors, model.mean_processors(256)),
            (runs, model.mean_run_seconds(256)),
        ] {
            let found = found / all;
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{model}: {found} for {expected}"
            );
        }
    }
}

#[test]
fn a_machine_can_be_too_small() {
    for (model, least) in [
        (Lublin::Combined, 10),
        (Lublin::Batch, 10),
        (Lublin::Interactive, 33),
        (Lublin::Both, 33),
    ] {
        assert_eq!(model.to_string().parse(), Ok(model));
        assert!(model.check(least).is_ok());
        let error = model.check(least - 1).unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("expected at least {least}")),
            "{error}"
        );
    }
    let error = "lublin:serial".parse::<Lublin>().unwrap_err().to_string();
    assert!(
        error.contains("does not take \"serial\" (expected lublin, lublin:batch, "),
        "{error}"
    );
}
