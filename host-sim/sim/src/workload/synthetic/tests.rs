use meshalloc::{Mesh, Ticks};

use super::*;
use crate::workload::{BuiltInMix, Empirical, Mix, MixSource, SideRange, TimeUnit, fits_turned};

fn workload(w: u16, h: u16, rate: Rate) -> Synthetic {
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    Synthetic::new(
        Mesh::new(w, h).unwrap(),
        SideDistribution::Uniform,
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
    let lacking = Synthetic {
        absent: 1024,
        ..load
    };
    let rate = lacking.arrival_rate().unwrap().unwrap();
    assert!((rate / (0.75 * expected) - 1.0).abs() < 1e-12);
    let oblong = workload(16, 22, Rate::Load(1.0));
    assert!((oblong.mean_processors().unwrap() - 8.5 * 11.5).abs() < 1e-9);
    let traffic = workload(32, 32, Rate::TrafficRatio(1.5));
    assert!((traffic.arrival_rate().unwrap().unwrap() - 0.15).abs() < 1e-12);
    let mut small = workload(64, 64, Rate::Load(1.0));
    if let Requests::Submeshes(submeshes) = &mut small.requests {
        submeshes.sides.fill(SideRange::new(1, 16).unwrap());
    }
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
    other.arrivals = Arrivals::Poisson(Rate::TrafficRatio(3.0));
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
        SideDistribution::Uniform,
        service,
        Rate::TrafficRatio(1.0),
    );
    let mean = 32.5 * 16.5 * 2.5 * 5.0;
    assert!((torus.mean_processors().unwrap() / mean - 1.0).abs() < 1e-12);
    let jobs = take(&torus, 1, 0, 20_000);
    // The sides along x and y are those of a mesh.
    let plane = take(&workload(64, 32, Rate::TrafficRatio(1.0)), 1, 0, 20_000);
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
    for rate in [
        Rate::Load(0.0),
        Rate::Load(f64::NAN),
        Rate::TrafficRatio(-1.0),
    ] {
        let error = workload(8, 8, rate).jobs(1, 0).err().unwrap().to_string();
        assert!(error.contains("expected a number over 0"), "{error}");
    }
    for rate in [Rate::Load(1e6), Rate::TrafficRatio(f64::INFINITY)] {
        let error = workload(64, 64, rate).jobs(1, 0).err().unwrap().to_string();
        assert!(error.contains("at most 100000 jobs a second"), "{error}");
    }
}

#[test]
fn a_model_offers_the_load_that_is_asked_for() {
    const JOBS: usize = 300_000;
    let machine = Grid::mesh(&[16, 16]).unwrap();
    for model in [Lublin::Combined, Lublin::Both] {
        let of = |rate| Synthetic::lublin(model, machine, ShapeRule::NearSquare, rate);
        let workload = of(Some(Rate::Load(0.6)));
        let jobs = take(&workload, 1, 0, JOBS);
        assert!(jobs.is_sorted_by_key(|job| job.arrival));
        let span = TimeUnit::Second.of(jobs[JOBS - 1].arrival);
        let rate = workload.arrival_rate().unwrap().unwrap();
        assert!((JOBS as f64 / span / rate - 1.0).abs() < 0.03, "{model}");
        let work = jobs.iter().map(|job| {
            f64::from(job.request.processors) * TimeUnit::Second.of(job.work.service().unwrap())
        });
        let load = work.sum::<f64>() / (span * 256.0);
        assert!((load / 0.6 - 1.0).abs() < 0.05, "{model}: {load}");
        // The jobs are the same at any rate.
        let own = take(&of(None), 1, 0, 50);
        let requests = |jobs: &[Job]| jobs.iter().map(|job| job.request).collect::<Vec<_>>();
        if model == Lublin::Combined {
            assert_eq!(requests(&own), requests(&jobs[..50]));
        }
        let own = of(None).arrival_rate().unwrap().unwrap();
        assert!((own / model.rate() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn both_classes_are_those_of_their_own_streams() {
    let machine = Grid::mesh(&[16, 16]).unwrap();
    let of = |model| Synthetic::lublin(model, machine, ShapeRule::NearSquare, None);
    let both = take(&of(Lublin::Both), 3, 1, 2_000);
    let batch = take(&of(Lublin::Batch), 3, 1, 2_000);
    // Batch jobs have the streams that they have alone; the others are interactive.
    let last = both[1_999].arrival;
    let mut others = both.clone();
    for job in batch.iter().filter(|job| job.arrival < last) {
        let place = others.iter().position(|other| other == job);
        others.remove(place.expect("a batch job is one of both"));
    }
    let interactive = others.iter().filter(|job| job.request.processors > 90);
    assert_eq!((others.len() > 500, interactive.count()), (true, 0));
}

#[test]
fn measured_times_are_drawn_with_replacement() {
    let second = 1_000_000;
    let mut workload = workload(8, 8, Rate::Load(0.5));
    let times = Empirical::of(vec![second, 4 * second]);
    workload.work = WorkDistribution::Service(ServiceDistribution::Empirical(times));
    let gaps = || Process::Empirical(Empirical::of(vec![0, 3 * second, 9 * second]));
    let arrivals = |rate| Arrivals::Process {
        process: gaps(),
        rate,
    };
    workload.arrivals = arrivals(None);
    assert_eq!(workload.arrival_rate(), Ok(Some(0.25)));
    let jobs = take(&workload, 1, 0, 3_000);
    let mut clock = 0;
    for job in &jobs {
        assert!([0, 3, 9].contains(&((job.arrival - clock) / second)));
        clock = job.arrival;
        assert!([second, 4 * second].contains(&job.work.service().unwrap()));
    }
    assert!((3_000.0 / TimeUnit::Second.of(clock) / 0.25 - 1.0).abs() < 0.05);
    // Stretched to a load: 0.5 * 64 / (4.5^2 * 2.5) jobs a second.
    workload.arrivals = arrivals(Some(Rate::Load(0.5)));
    let rate = 0.5 * 64.0 / (4.5 * 4.5 * 2.5);
    let stretched = take(&workload, 1, 0, 3_000);
    for (job, own) in stretched.iter().zip(&jobs) {
        let expected = own.arrival as f64 * 0.25 / rate;
        assert!((job.arrival as f64 - expected).abs() < 3_000.0);
        assert_eq!(job.work, own.work);
    }
    workload.arrivals = Arrivals::Process {
        process: Process::Empirical(Empirical::of(vec![0])),
        rate: None,
    };
    let error = workload.jobs(1, 0).err().unwrap().to_string();
    assert!(
        error.contains("the number of jobs a second (`interarrival`) is 0"),
        "{error}"
    );
}

#[test]
fn a_mix_offers_the_load_of_its_shapes() {
    let machine = Grid::torus(&[16, 16, 16]).unwrap();
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let sizes = SideDistribution::Uniform;
    let mut workload = Synthetic::new(machine, sizes, service, Rate::Load(0.3));
    let mix = Mix::unread(machine, MixSource::BuiltIn(BuiltInMix::TpuV4, None), true);
    workload.requests = Requests::Mix(mix);
    assert!(workload.jobs(1, 0).is_err());
    let workload = workload
        .read(|request| fits_turned(machine, request.shape))
        .unwrap();
    // The mean of the table without sides over 16, by hand.
    let mean: f64 = 2.1
        + 0.4 * 2.0
        + 6.7 * 4.0
        + 4.7 * 8.0
        + 6.4 * 16.0
        + 8.9 * 32.0
        + 13.9 * 64.0
        + 17.5 * 128.0
        + 0.7 * 192.0
        + 10.7 * 256.0
        + 1.0 * 256.0
        + 0.1 * 384.0
        + 9.6 * 512.0
        + 1.7 * 512.0
        + 0.7 * 768.0
        + 3.2 * 1024.0
        + 0.3 * 1024.0
        + 0.1 * 1536.0
        + 1.7 * 2048.0
        + 5.7 * 3072.0;
    let mean = mean / 96.1;
    assert!((workload.mean_processors().unwrap() / mean - 1.0).abs() < 1e-12);
    let rate = workload.arrival_rate().unwrap().unwrap();
    assert!((rate / (0.3 * 4096.0 / (mean * 10.0)) - 1.0).abs() < 1e-12);
}
