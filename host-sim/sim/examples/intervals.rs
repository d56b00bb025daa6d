//! Measures how often 95 % confidence intervals cover the true mean, and how wide they are: the
//! method in use beside those that it was chosen from.
//!
//! `cargo run --release -p meshalloc-sim --example intervals [SEEDS [REPLICATIONS]]`
//!
//! Jobs with sides of mean 8 on a 32 x 32 mesh, first fit, 10,000 jobs a run, at a low load, a
//! medium one, and one near saturation. First fit and free submesh list run REPLICATIONS times
//! (10,000) with the same jobs. Each of SEEDS samples (1,000) draws n of these runs, with
//! replacement; the true mean is that of all of them.
//!
//! At the end of each load stands every metric of first fit, by its name, below Student's interval.
//!
//! The columns: samples whose interval holds the true mean; samples whose interval is below it; the
//! mean width as a multiple of Student's mean width; the largest width as a multiple of Student's
//! of the same sample.

use std::error::Error;

use meshalloc::{Mesh, StrategyKind};
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{self, Experiment, Replications};
use meshalloc_sim::metrics::{Metric, RunValues};
use meshalloc_sim::statistics::{Estimate, Interval, Sampling, Spread};
use meshalloc_sim::workload::{Rate, ServiceDistribution, SideDistribution, Synthetic, Workload};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

const SEEDS: usize = 1_000;
const REPLICATIONS: u32 = 10_000;
const JOBS: u32 = 10_000;
const LOADS: [f64; 3] = [0.3, 0.4, 0.5];
const SIZES: [usize; 2] = [10, 40];
const RESAMPLES: usize = 999;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seeds = arguments.next().map_or(Ok(SEEDS), |text| text.parse())?;
    let replications = arguments
        .next()
        .map_or(Ok(REPLICATIONS), |text| text.parse())?;
    for load in LOADS {
        let runs = runs(load, replications)?;
        let waiting = |runs: &Runs| runs.waiting[0];
        let at_end = |runs: &Runs| runs.waiting_at_end;
        let difference = |runs: &Runs| runs.waiting[0] - runs.waiting[1];
        for (what, methods, value) in [
            (
                "mean waiting delay (s)",
                &METHODS[..],
                &waiting as &dyn Fn(&Runs) -> f64,
            ),
            ("jobs waiting at the last arrival", &METHODS, &at_end),
            ("difference to FSL (s)", &METHODS[..ANY_SIGN], &difference),
        ] {
            let values: Vec<f64> = runs.iter().map(value).collect();
            table(load, what, methods, &values, seeds);
        }
        ratios(load, &runs, seeds);
        all_metrics(load, &runs, seeds);
    }
    Ok(())
}

/// The runs of both strategies with the same jobs.
#[derive(Clone, Copy)]
struct Runs {
    /// Mean waiting delay of first fit and of free submesh list.
    waiting: [f64; 2],
    /// The jobs that wait at the end of first fit's run.
    waiting_at_end: f64,
    /// All metrics of first fit.
    values: RunValues,
}

fn runs(load: f64, replications: u32) -> Result<Vec<Runs>, Box<dyn Error>> {
    let mesh = Mesh::new(32, 32)?;
    let sizes: SideDistribution = "normal:mean=8,sd=4".parse()?;
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let workload = Synthetic::new(mesh, sizes, service, Rate::Load(load));
    let strategies = [StrategyKind::FirstFit, StrategyKind::FreeSubmeshList];
    let experiment = Experiment {
        replications: Replications::Fixed(replications),
        ..Experiment::new(Workload::Synthetic(workload), JOBS, &strategies)
    };
    let results = experiment::run_parallel(&experiment, None, &InProcessBackends::default, &())?;
    let value = |strategy: usize, run: usize, metric: Metric| {
        let value = results[strategy].runs[run].values[metric];
        value.ok_or("a run without a value")
    };
    let both = |run: usize| -> Result<Runs, Box<dyn Error>> {
        Ok(Runs {
            waiting: [
                value(0, run, Metric::WaitingDelay)?,
                value(1, run, Metric::WaitingDelay)?,
            ],
            waiting_at_end: value(0, run, Metric::WaitingAtEnd)?,
            values: results[0].runs[run].values,
        })
    };
    (0..replications as usize).map(both).collect()
}

/// Draws `count` of all with replacement.
fn drawn<T: Copy>(all: &[T], count: usize, rng: &mut ChaCha8Rng) -> Vec<T> {
    let draw = |_| all[(rng.next_u64() % all.len() as u64) as usize];
    (0..count).map(draw).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn table(load: f64, what: &str, methods: &[Method], values: &[f64], seeds: usize) {
    let truth = mean(values);
    let Moments {
        deviation,
        skewness,
        ..
    } = Moments::of(values);
    let (variation, all) = (deviation / truth.abs(), values.len());
    println!(
        "\nload {load}, {what}: mean of {all} {truth:.4}, coefficient of variation \
         {variation:.2}, skewness {skewness:.1}"
    );
    for size in SIZES {
        let mut rng = ChaCha8Rng::seed_from_u64(size as u64);
        let samples: Vec<Vec<f64>> = (0..seeds).map(|_| drawn(values, size, &mut rng)).collect();
        for (name, method) in methods {
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let intervals = samples.iter().map(|sample| method(sample, &mut rng));
            let students = samples.iter().map(|sample| student(sample));
            row(name, size, truth, intervals.zip(students));
        }
    }
}

/// The interval of the ratio of the two means, FSL to FF.
fn ratios(load: f64, runs: &[Runs], seeds: usize) {
    let column = |runs: &[Runs], strategy: usize| -> Vec<f64> {
        runs.iter().map(|runs| runs.waiting[strategy]).collect()
    };
    let truth = mean(&column(runs, 1)) / mean(&column(runs, 0));
    println!("\nload {load}, ratio of the mean waiting delays, FSL to FF: {truth:.4}");
    for size in SIZES {
        let mut rng = ChaCha8Rng::seed_from_u64(size as u64);
        let intervals = (0..seeds).map(|_| {
            let sample = drawn(runs, size, &mut rng);
            let (own, other) = (column(&sample, 1), column(&sample, 0));
            let ratio = Estimate::paired_ratio(&own, &other, Sampling::Independent, Spread::Skewed);
            let ratio = ratio.expect("both wait");
            let arm = students_arm(size as f64, ratio.deviation.expect("several runs"));
            let students = Interval::around(ratio.mean, arm);
            (known(Some(ratio)), students)
        });
        row("in use for ratios", size, truth, intervals);
    }
}

/// Each metric of first fit that differs between runs: Student's interval beside the one in use.
fn all_metrics(load: f64, runs: &[Runs], seeds: usize) {
    println!("\nload {load}, every metric:");
    for metric in Metric::ALL {
        let values: Option<Vec<f64>> = runs.iter().map(|run| run.values[metric]).collect();
        let Some(values) = values.filter(|values| values.iter().any(|it| *it != values[0])) else {
            continue;
        };
        let truth = mean(&values);
        for size in SIZES {
            let mut rng = ChaCha8Rng::seed_from_u64(size as u64);
            let samples: Vec<Vec<f64>> =
                (0..seeds).map(|_| drawn(&values, size, &mut rng)).collect();
            let students = || samples.iter().map(|sample| student(sample));
            let in_use = samples.iter().map(|sample| of(sample, metric.spread()));
            row("Student's t", size, truth, students().zip(students()));
            row(metric.name(), size, truth, in_use.zip(students()));
        }
    }
}

fn row(name: &str, size: usize, truth: f64, intervals: impl Iterator<Item = (Interval, Interval)>) {
    let (mut count, mut covers, mut below, mut largest) = (0, 0, 0, 0.0_f64);
    let (mut width, mut students_width) = (0.0, 0.0);
    for (interval, students) in intervals {
        count += 1;
        covers += u32::from((interval.low..=interval.high).contains(&truth));
        below += u32::from(interval.high < truth);
        width += interval.half_width();
        students_width += students.half_width();
        if students.half_width() > 0.0 {
            largest = largest.max(interval.half_width() / students.half_width());
        }
    }
    let percent = |part: u32| 100.0 * f64::from(part) / f64::from(count);
    let (covers, below, wide) = (percent(covers), percent(below), width / students_width);
    println!(
        "  n = {size}  {name:<32} covers {covers:5.1} %  below {below:4.1} %  width {wide:5.2}  \
         largest {largest:5.2}"
    );
}

type Method = (&'static str, fn(&[f64], &mut ChaCha8Rng) -> Interval);

/// The first [`ANY_SIGN`] are for values of any sign, too.
const METHODS: [Method; 11] = [
    ("in use for differences", |values, _| {
        of(values, Spread::SkewedDifferences)
    }),
    ("Student's t", |values, _| student(values)),
    ("Johnson 1978", |values, _| johnson(values)),
    ("Hall 1992", |values, _| hall(values)),
    ("Hall 1992, longer arm twice", |values, _| {
        longer_arm(values)
    }),
    ("bootstrap-t", bootstrap_t),
    ("BCa", bca),
    ("in use for means", |values, _| of(values, Spread::Skewed)),
    ("Student's t, logarithm of mean", |values, _| {
        log_of_mean(values)
    }),
    ("Student's t, mean of logarithms", |values, _| {
        mean_of_logs(values)
    }),
    ("Cox", |values, _| cox(values)),
];
const ANY_SIGN: usize = 7;

fn of(values: &[f64], spread: Spread) -> Interval {
    known(Estimate::of(values, Sampling::Independent, spread))
}

fn known(estimate: Option<Estimate>) -> Interval {
    estimate.and_then(|it| it.ci95).expect("several values")
}

struct Moments {
    count: f64,
    mean: f64,
    deviation: f64,
    skewness: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Self {
        let (count, mean) = (values.len() as f64, mean(values));
        let sum = |power: i32| -> f64 { values.iter().map(|it| (it - mean).powi(power)).sum() };
        let deviation = (sum(2) / (count - 1.0)).sqrt();
        let skewness = sum(3) * count / ((count - 1.0) * (count - 2.0)) / deviation.powi(3);
        Moments {
            count,
            mean,
            deviation,
            skewness: if deviation > 0.0 { skewness } else { 0.0 },
        }
    }

    fn error(&self) -> f64 {
        self.deviation / self.count.sqrt()
    }
}

fn quantile(count: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, count - 1.0).expect("several values");
    student.inverse_cdf(0.975)
}

fn students_arm(count: f64, deviation: f64) -> f64 {
    quantile(count) * deviation / count.sqrt()
}

fn student(values: &[f64]) -> Interval {
    let sample = Moments::of(values);
    Interval::around(sample.mean, students_arm(sample.count, sample.deviation))
}

/// N. J. Johnson, Modified t tests and confidence intervals for asymmetrical populations, JASA 73,
/// 1978.
fn johnson(values: &[f64]) -> Interval {
    let sample = Moments::of(values);
    let shift = sample.skewness * sample.deviation / (6.0 * sample.count);
    Interval::around(
        sample.mean + shift,
        students_arm(sample.count, sample.deviation),
    )
}

/// P. Hall, On the removal of skewness by transformation, J. R. Statist. Soc. B 54, 1992; with
/// Student's quantiles.
fn hall(values: &[f64]) -> Interval {
    let sample = Moments::of(values);
    let a = sample.skewness / (6.0 * sample.count.sqrt());
    let turned = |t: f64| {
        if a.abs() < 1e-6 {
            t
        } else {
            ((1.0 + 6.0 * a * (t - a)).cbrt() - 1.0) / (2.0 * a)
        }
    };
    let quantile = quantile(sample.count);
    Interval {
        low: sample.mean - turned(quantile) * sample.error(),
        high: sample.mean - turned(-quantile) * sample.error(),
    }
}

fn longer_arm(values: &[f64]) -> Interval {
    let sample = Moments::of(values);
    let Interval { low, high } = hall(values);
    let students = students_arm(sample.count, sample.deviation);
    let arm = (sample.mean - low).max(high - sample.mean).max(students);
    Interval::around(sample.mean, arm)
}

fn log_of_mean(values: &[f64]) -> Interval {
    let sample = Moments::of(values);
    if sample.deviation == 0.0 {
        return Interval::around(sample.mean, 0.0);
    }
    let arm = students_arm(sample.count, sample.deviation) / sample.mean;
    Interval {
        low: sample.mean * (-arm).exp(),
        high: sample.mean * arm.exp(),
    }
}

/// Logarithms of values of which some may be 0.
fn logarithms(values: &[f64]) -> Moments {
    let logarithms: Vec<f64> = values.iter().map(|value| value.max(1e-9).ln()).collect();
    Moments::of(&logarithms)
}

/// Covers the geometric mean, which is below the mean.
fn mean_of_logs(values: &[f64]) -> Interval {
    let logs = logarithms(values);
    let arm = students_arm(logs.count, logs.deviation);
    Interval {
        low: (logs.mean - arm).exp(),
        high: (logs.mean + arm).exp(),
    }
}

/// The mean of a lognormal distribution by Cox's method, with Student's quantile (U. Olsson, J.
/// Statistics Education 13, 2005).
fn cox(values: &[f64]) -> Interval {
    let logs = logarithms(values);
    let variance = logs.deviation.powi(2);
    let error = (variance / logs.count + variance.powi(2) / (2.0 * (logs.count - 1.0))).sqrt();
    let (middle, arm) = (logs.mean + variance / 2.0, quantile(logs.count) * error);
    Interval {
        low: (middle - arm).exp(),
        high: (middle + arm).exp(),
    }
}

fn bootstrap_t(values: &[f64], rng: &mut ChaCha8Rng) -> Interval {
    let sample = Moments::of(values);
    let t = |_| {
        let again = Moments::of(&drawn(values, values.len(), rng));
        // A sample of equal values has no t.
        let is_spread = again.deviation > 0.0;
        is_spread.then(|| (again.mean - sample.mean) / again.error())
    };
    let mut all: Vec<f64> = (0..RESAMPLES).filter_map(t).collect();
    all.sort_by(f64::total_cmp);
    if all.is_empty() {
        return Interval::around(sample.mean, 0.0);
    }
    let at = |part: f64| all[(part * all.len() as f64) as usize];
    Interval {
        low: sample.mean - at(0.975) * sample.error(),
        high: sample.mean - at(0.025) * sample.error(),
    }
}

/// B. Efron, Better bootstrap confidence intervals, JASA 82, 1987.
fn bca(values: &[f64], rng: &mut ChaCha8Rng) -> Interval {
    let sample = Moments::of(values);
    if sample.deviation == 0.0 {
        return Interval::around(sample.mean, 0.0);
    }
    let again = |_| mean(&drawn(values, values.len(), rng));
    let mut means: Vec<f64> = (0..RESAMPLES).map(again).collect();
    means.sort_by(f64::total_cmp);
    let normal = Normal::new(0.0, 1.0).expect("the standard normal distribution");
    let below = means.iter().filter(|&&mean| mean < sample.mean).count();
    let bias = normal.inverse_cdf(below as f64 / RESAMPLES as f64);
    let sum = |power: i32| -> f64 {
        let deviations = values.iter().map(|value| value - sample.mean);
        deviations.map(|deviation| deviation.powi(power)).sum()
    };
    let acceleration = sum(3) / (6.0 * sum(2).powf(1.5));
    let at = |part: f64| {
        let z = bias + normal.inverse_cdf(part);
        let corrected = normal.cdf(bias + z / (1.0 - acceleration * z));
        means[((corrected * RESAMPLES as f64) as usize).min(RESAMPLES - 1)]
    };
    Interval {
        low: at(0.025),
        high: at(0.975),
    }
}
