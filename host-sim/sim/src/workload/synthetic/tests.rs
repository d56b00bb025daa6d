use meshalloc::Mesh;

use super::*;

fn workload(w: u16, h: u16, rate: Rate) -> Synthetic {
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    Synthetic::new(
        Mesh::new(w, h).unwrap(),
        SizeDistribution::Uniform,
        service,
        rate,
    )
}

fn take(workload: &Synthetic, seed: u64, replication: u32, count: usize) -> Vec<Job> {
    workload
        .jobs(seed, replication)
        .unwrap()
        .take(count)
        .collect()
}

#[test]
fn rates_are_the_closed_forms() {
    // m = ((1 + L) / 2)^2.
    let load = workload(64, 64, Rate::Load(0.47));
    assert!((load.mean_processors().unwrap() - 32.5 * 32.5).abs() < 1e-9);
    let expected = 0.47 * 4096.0 / (32.5 * 32.5 * 10.0);
    assert!((load.arrival_rate().unwrap().unwrap() / expected - 1.0).abs() < 1e-12);
    let oblong = workload(16, 22, Rate::Load(1.0));
    assert!((oblong.mean_processors().unwrap() - 8.5 * 11.5).abs() < 1e-9);
    let traffic = workload(32, 32, Rate::Traffic(1.5));
    assert!((traffic.arrival_rate().unwrap().unwrap() - 0.15).abs() < 1e-12);
    let small = workload(64, 64, Rate::Load(1.0)).with_sides(1, 16).unwrap();
    assert!((small.mean_processors().unwrap() - 8.5 * 8.5).abs() < 1e-9);
}

#[test]
fn jobs_come_at_the_rate_and_offer_the_load() {
    const JOBS: usize = 100_000;
    let jobs = take(&workload(64, 64, Rate::Load(0.47)), 1, 0, JOBS);
    assert!(jobs.is_sorted_by_key(|job| job.arrival));
    let span = TimeUnit::Second.of(jobs[JOBS - 1].arrival);
    let rate = 0.47 * 4096.0 / (32.5 * 32.5 * 10.0);
    assert!((JOBS as f64 / span / rate - 1.0).abs() < 0.01, "{span}");
    let work = jobs.iter().map(|job| {
        f64::from(job.request.processors) * TimeUnit::Second.of(job.work.service().unwrap())
    });
    let load = work.sum::<f64>() / (span * 4096.0);
    assert!((load - 0.47).abs() < 0.01, "{load}");
    // Poisson: gaps have a coefficient of variation of 1, and e^-1 of them exceed the mean.
    let gaps = jobs
        .windows(2)
        .map(|pair| TimeUnit::Second.of(pair[1].arrival - pair[0].arrival));
    let longer = gaps.filter(|gap| *gap > 1.0 / rate).count();
    assert!((longer as f64 / JOBS as f64 - (-1.0f64).exp()).abs() < 0.005);
}

#[test]
fn each_source_has_its_own_stream() {
    let wide = take(&workload(64, 64, Rate::Load(0.5)), 7, 2, 100);
    let mut other = workload(64, 64, Rate::Load(0.5));
    let Requests::Submeshes(submeshes) = &mut other.requests else {
        panic!("it is a workload for a mesh");
    };
    submeshes.sides[1] = SideRange::new(1, 3).unwrap();
    other.arrivals = Arrivals::Poisson(Rate::Traffic(3.0));
    let other = take(&other, 7, 2, 100);
    let width = |job: &Job| job.request.sides().w;
    assert!(wide.iter().map(width).eq(other.iter().map(width)));
    assert!(
        wide.iter()
            .map(|job| job.work.service())
            .eq(other.iter().map(|job| job.work.service()))
    );
    assert_ne!(wide[99].arrival, other[99].arrival);
    // Widths and heights are not the same numbers twice.
    let square = wide.iter().filter(|job| job.request.sides().is_square());
    assert!(square.count() < 10);
}

#[test]
fn each_dimension_has_a_side_of_its_own() {
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let torus = Grid::torus(&[64, 32, 4, 9]).unwrap();
    let torus = Synthetic::new(
        torus,
        SizeDistribution::Uniform,
        service,
        Rate::Traffic(1.0),
    );
    let mean = 32.5 * 16.5 * 2.5 * 5.0;
    assert!((torus.mean_processors().unwrap() / mean - 1.0).abs() < 1e-12);
    let jobs = take(&torus, 1, 0, 20_000);
    // The sides along x and y are those of a mesh.
    let plane = take(&workload(64, 32, Rate::Traffic(1.0)), 1, 0, 20_000);
    for (job, other) in jobs.iter().zip(&plane) {
        assert_eq!(
            job.request.shape.extents()[..2],
            *other.request.shape.extents()
        );
    }
    let processors = jobs.iter().map(|job| f64::from(job.request.processors));
    let drawn = processors.sum::<f64>() / jobs.len() as f64;
    assert!((drawn / mean - 1.0).abs() < 0.03, "{drawn}");
    for (dimension, side) in [(2, 4), (3, 9)] {
        let sides = jobs
            .iter()
            .map(|job| job.request.shape.extents()[dimension]);
        assert_eq!((sides.clone().min(), sides.max()), (Some(1), Some(side)));
    }
}

#[test]
fn seed_and_replication_choose_the_jobs() {
    let workload = workload(16, 16, Rate::Load(0.5));
    assert_eq!(take(&workload, 1, 0, 50), take(&workload, 1, 0, 50));
    assert_ne!(take(&workload, 1, 0, 50), take(&workload, 1, 1, 50));
    assert_ne!(take(&workload, 1, 0, 50), take(&workload, 2, 0, 50));
}

#[test]
fn a_seed_gives_these_jobs_for_good() {
    let jobs = take(&workload(64, 64, Rate::Load(0.47)), 1, 0, 3);
    let found: Vec<_> = jobs
        .iter()
        .map(|job| {
            (
                job.arrival,
                job.work.service().unwrap(),
                job.request.sides().to_string(),
            )
        })
        .collect();
    let expected = GOLDEN.map(|(arrival, service, sides)| (arrival, service, sides.into()));
    assert_eq!(
        found, expected,
        "published results would no longer be reproducible"
    );
}

const GOLDEN: [(Ticks, Ticks, &str); 3] = [
    (2_452_011, 7_551_448, "57x37"),
    (3_311_778, 6_259_264, "55x57"),
    (9_976_976, 4_149_012, "59x59"),
];

#[test]
fn what_makes_no_sense_is_refused() {
    for rate in [Rate::Load(0.0), Rate::Load(f64::NAN), Rate::Traffic(-1.0)] {
        let error = workload(8, 8, rate).jobs(1, 0).unwrap_err().to_string();
        assert!(error.contains("expected a number over 0"), "{error}");
    }
    for rate in [Rate::Load(1e6), Rate::Traffic(f64::INFINITY)] {
        let error = workload(64, 64, rate).jobs(1, 0).unwrap_err().to_string();
        assert!(error.contains("at most 100000 jobs a second"), "{error}");
    }
    let error = workload(8, 4, Rate::Load(0.5)).with_sides(1, 5);
    assert!(error.unwrap_err().to_string().contains("at most 4"));
}
