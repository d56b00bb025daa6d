use super::*;
use crate::workload::{
    Arrivals, EstimateModel, Job, Rate, ServiceDistribution, Synthetic, WorkDistribution,
};

use CubeDistribution::{Normal, Uniform};

const SERVICE: ServiceDistribution = ServiceDistribution::Uniform {
    lo_seconds: 5.0,
    hi_seconds: 10.0,
};

fn subcubes(k: u16, n: u8, dims: CubeDistribution, radices: CubeDistribution) -> Subcubes {
    let cube = Cube::new(k, n).unwrap();
    Subcubes {
        cube,
        dims,
        radices,
    }
}

fn closed(requests: Subcubes, jobs: u32) -> Synthetic {
    Synthetic {
        requests: Requests::Subcubes(requests),
        work: WorkDistribution::Service(SERVICE),
        arrivals: Arrivals::AtOnce { jobs },
        estimates: EstimateModel::Perfect,
        absent: 0,
    }
}

fn jobs(workload: &Synthetic, seed: u64, replication: u32) -> Vec<Job> {
    let jobs = workload.jobs(seed, replication).unwrap();
    jobs.take(1_000).collect()
}

fn radices(job: &Job) -> Vec<u16> {
    job.request.shape.extents().to_vec()
}

/// The part of a normal distribution within this number of standard deviations of its mean.
fn within(deviations: f64) -> f64 {
    use statrs::distribution::{ContinuousCDF, Normal};
    let normal = Normal::new(0.0, 1.0).unwrap();
    normal.cdf(deviations) - normal.cdf(-deviations)
}

#[test]
fn uniform_means_are_the_closed_forms() {
    // Every m alike, and the mean radix is (2 + k) / 2.
    for (k, n) in [(4, 3), (8, 3), (16, 3), (2, 12), (3, 1), (2, 1)] {
        let radix = f64::midpoint(2.0, f64::from(k));
        let expected = (1..=n).map(|m| radix.powi(i32::from(m))).sum::<f64>() / f64::from(n);
        let mean = subcubes(k, n, Uniform, Uniform).mean_processors();
        assert!((mean / expected - 1.0).abs() < 1e-12, "{k}, {n}: {mean}");
    }
    // (3 + 9 + 27) / 3.
    let mean = subcubes(4, 3, Uniform, Uniform).mean_processors();
    assert!((mean - 13.0).abs() < 1e-9, "{mean}");
}

#[test]
fn normal_means_are_the_closed_forms() {
    // On 2..=4 and on 1..=3 the standard deviation is one half: the middle is within one, the ends
    // are cut off at three.
    let middle = within(1.0) / within(3.0);
    let end = (1.0 - middle) / 2.0;
    let requests = subcubes(4, 3, Normal, Normal);
    for (sampler, first) in [(requests.dims(), 1), (requests.radices(), 2)] {
        for (value, expected) in [(first, end), (first + 1, middle), (first + 2, end)] {
            let found = sampler.probability(value);
            assert!((found - expected).abs() < 1e-9, "{value}: {found}");
        }
    }
    // The distribution of radices is symmetric, so their mean is 3 in both.
    for radices in [Uniform, Normal] {
        let mean = subcubes(4, 3, Normal, radices).mean_processors();
        let expected = end * 3.0 + middle * 9.0 + end * 27.0;
        assert!((mean - expected).abs() < 1e-9, "{mean}");
    }
}

#[test]
fn tasks_are_drawn_as_the_means_say() {
    const TASKS: u32 = 100_000;
    for (dims, of_radices) in [
        (Uniform, Uniform),
        (Uniform, Normal),
        (Normal, Uniform),
        (Normal, Normal),
    ] {
        for (k, n) in [(4, 3), (7, 2)] {
            let requests = subcubes(k, n, dims, of_radices);
            let drawn = closed(requests, TASKS).jobs(1, 0).unwrap();
            let (mut processors, mut counts) = (0.0, vec![0u32; usize::from(n) + 1]);
            for job in drawn {
                let radices = radices(&job);
                assert!((1..=usize::from(n)).contains(&radices.len()));
                assert!(radices.iter().all(|radix| (2..=k).contains(radix)));
                assert_eq!(job.arrival, 0);
                assert!((5_000_000..=10_000_000).contains(&job.work.service().unwrap()));
                processors += f64::from(job.request.processors);
                counts[radices.len()] += 1;
            }
            let mean = processors / f64::from(TASKS);
            let expected = requests.mean_processors();
            assert!((mean / expected - 1.0).abs() < 0.01, "{mean}, {expected}");
            for m in 1..=n {
                let part = f64::from(counts[usize::from(m)]) / f64::from(TASKS);
                let expected = requests.dims().probability(u16::from(m));
                assert!((part - expected).abs() < 0.006, "{m}: {part}, {expected}");
            }
        }
    }
}

#[test]
fn a_range_of_one_number_is_that_number() {
    for distribution in [Uniform, Normal] {
        let hypercube = closed(subcubes(2, 4, distribution, distribution), 500);
        let hypercube = jobs(&hypercube, 1, 0);
        assert!(hypercube.iter().flat_map(radices).all(|radix| radix == 2));
        let ring = closed(subcubes(5, 1, distribution, distribution), 500);
        assert!(jobs(&ring, 1, 0).iter().all(|job| radices(job).len() == 1));
        let least = closed(subcubes(2, 1, distribution, distribution), 500);
        assert_eq!(least.mean_processors().unwrap(), 2.0);
        assert!(jobs(&least, 1, 0).iter().all(|job| radices(job) == [2]));
    }
}

#[test]
fn each_source_has_its_own_stream() {
    let uniform = jobs(&closed(subcubes(4, 3, Uniform, Uniform), 1_000), 7, 2);
    let dims = |jobs: &[Job]| {
        jobs.iter()
            .map(|job| radices(job).len())
            .collect::<Vec<_>>()
    };
    let all_radices = |jobs: &[Job]| jobs.iter().flat_map(radices).collect::<Vec<_>>();
    let services = |jobs: &[Job]| {
        jobs.iter()
            .map(|job| job.work.service().unwrap())
            .collect::<Vec<_>>()
    };

    let other_radices = jobs(&closed(subcubes(4, 3, Uniform, Normal), 1_000), 7, 2);
    assert_eq!(dims(&uniform), dims(&other_radices));
    assert_eq!(services(&uniform), services(&other_radices));
    assert_ne!(all_radices(&uniform), all_radices(&other_radices));

    let other_dims = jobs(&closed(subcubes(4, 3, Normal, Uniform), 1_000), 7, 2);
    let [one, other] = [all_radices(&uniform), all_radices(&other_dims)];
    let both = one.len().min(other.len());
    assert_eq!(one[..both], other[..both]);
    assert_ne!(dims(&uniform), dims(&other_dims));

    // Jobs that arrive one after the other are the same as those of a batch.
    let mut dynamic = closed(subcubes(4, 3, Uniform, Uniform), 1_000);
    dynamic.arrivals = Arrivals::Poisson(Rate::Load(0.5));
    let dynamic = jobs(&dynamic, 7, 2);
    assert_eq!(all_radices(&uniform), all_radices(&dynamic));
    assert_eq!(services(&uniform), services(&dynamic));
    assert!(dynamic.is_sorted_by_key(|job| job.arrival) && dynamic[0].arrival > 0);

    assert_ne!(
        dims(&uniform),
        all_radices(&uniform)[..1_000]
            .iter()
            .map(|&r| usize::from(r) - 1)
            .collect::<Vec<_>>()
    );
    let other_replication = jobs(&closed(subcubes(4, 3, Uniform, Uniform), 1_000), 7, 3);
    assert_ne!(uniform, other_replication);
}

#[test]
fn a_load_is_that_of_the_exact_mean() {
    let mut workload = closed(subcubes(4, 3, Uniform, Uniform), 1);
    assert_eq!(workload.arrival_rate(), Ok(None));
    workload.arrivals = Arrivals::Poisson(Rate::Load(0.5));
    // 64 processors, 13 of them and 7.5 s a job.
    let rate = workload.arrival_rate().unwrap().unwrap();
    assert!((rate / (0.5 * 64.0 / (13.0 * 7.5)) - 1.0).abs() < 1e-12);
}

#[test]
fn a_seed_gives_these_tasks_for_good() {
    let workload = closed(subcubes(4, 3, Uniform, Normal), 3);
    let found: Vec<_> = jobs(&workload, 1, 0)
        .iter()
        .map(|job| (job.work.service().unwrap(), radices(job)))
        .collect();
    let expected: Vec<_> = GOLDEN
        .iter()
        .map(|(service, radices)| (*service, radices.to_vec()))
        .collect();
    assert_eq!(
        found, expected,
        "published results would no longer be reproducible"
    );
}

const GOLDEN: [(u64, &[u16]); 3] = [
    (7_841_120, &[3, 4]),
    (8_370_550, &[3, 3]),
    (5_989_514, &[3]),
];

#[test]
fn distributions_have_names() {
    for form in CubeDistribution::FORMS {
        let distribution: CubeDistribution = form.name.parse().unwrap();
        assert_eq!(distribution.to_string(), form.name);
    }
    let error = "exponential".parse::<CubeDistribution>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown distribution \"exponential\" (known: uniform, normal)"
    );
}
