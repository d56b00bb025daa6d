//! A log as a workload: windows, stretched loads, resampled weeks.

use std::collections::BTreeSet;
use std::path::Path;

use meshalloc::{Mesh, StrategyKind, Ticks};
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{self, Experiment, Replications};
use meshalloc_sim::statistics::{Estimate, Sampling, Spread};
use meshalloc_sim::workload::log::WEEK;
use meshalloc_sim::workload::{Job, Log, LogOptions, Resample, Workload};

const SECOND: Ticks = 1_000_000;
const DAY: Ticks = 24 * 60 * 60;

/// Jobs as (submit time in seconds, run time in seconds, processors).
fn log(jobs: &[(u64, u64, u32)], options: LogOptions) -> Result<Log, String> {
    let line = |(number, (submit, run, processors)): (usize, &(u64, u64, u32))| {
        format!("{number} {submit} -1 {run} {processors} -1 -1 -1 -1 -1 1 1 1 -1 -1 1 -1 -1\n")
    };
    let text: String = jobs.iter().enumerate().map(line).collect();
    let machine = Mesh::new(10, 10).unwrap().into();
    let log = Log::from_reader(text.as_bytes(), Path::new("a.swf"), options, machine);
    log.map_err(|error| error.to_string())
}

fn jobs(log: &Log, seed: u64, replication: u32) -> Vec<Job> {
    let jobs: Vec<Job> = log.jobs(seed, replication).unwrap().collect();
    assert_eq!(
        jobs.len(),
        log.job_count(seed, replication).unwrap() as usize
    );
    jobs
}

fn run_time(job: &Job) -> Ticks {
    job.work.service().unwrap()
}

/// Processor seconds requested over those there are between the first arrival and the last.
fn offered(jobs: &[Job]) -> f64 {
    let work = |job: &Job| f64::from(job.request.processors) * run_time(job) as f64;
    let span = jobs.last().unwrap().arrival - jobs[0].arrival;
    jobs.iter().map(work).sum::<f64>() / (100.0 * span as f64)
}

#[test]
fn a_window_has_the_jobs_in_it_with_times_from_its_beginning() {
    let all = [(5, 9, 1), (10, 8, 2), (15, 7, 3), (20, 6, 4), (25, 5, 5)];
    for (from, to, kept) in [
        (None, None, 0..5),
        (Some(10), None, 1..5),
        (Some(11), Some(25), 2..4),
        (None, Some(15), 0..2),
        (Some(0), Some(1_000), 0..5),
    ] {
        let options = LogOptions {
            from: from.map(|time| time * SECOND),
            to: to.map(|time| time * SECOND),
            ..LogOptions::default()
        };
        let log = log(&all, options).unwrap();
        let found = jobs(&log, 1, 0).into_iter().map(|job| {
            (
                job.arrival / SECOND,
                run_time(&job) / SECOND,
                job.request.processors,
            )
        });
        let begin = from.unwrap_or(0);
        let expected = all[kept.clone()]
            .iter()
            .map(|&(at, run, size)| (at - begin, run, size));
        assert!(found.eq(expected), "{from:?} to {to:?}");
        assert_eq!(log.lines.outside as usize, all.len() - kept.len());
    }
    let options = LogOptions {
        from: Some(26 * SECOND),
        ..LogOptions::default()
    };
    let error = log(&all, options).unwrap_err();
    assert_eq!(error, "a.swf: no job is left of 5: 5 outside the window");
}

#[test]
fn a_stretched_log_offers_the_load_that_was_asked_for() {
    // One that no machine of 100 processors holds offers nothing.
    let all = [
        (0, 100, 50),
        (30, 200, 25),
        (70, 50, 100),
        (80, 9_999, 101),
        (100, 40, 10),
    ];
    let plain = log(&all, LogOptions::default()).unwrap();
    let by_hand = (100.0 * 50.0 + 200.0 * 25.0 + 50.0 * 100.0 + 40.0 * 10.0) / (100.0 * 100.0);
    assert_eq!(plain.offered_load(), Some(by_hand));
    for load in [0.1, 0.5, by_hand, 3.0] {
        let log = Log {
            load: Some(load),
            ..plain.clone()
        };
        let mut found = jobs(&log, 1, 0);
        let kept = |found: &[Job]| -> Vec<_> {
            found
                .iter()
                .map(|job| (run_time(job), job.request))
                .collect()
        };
        assert_eq!(kept(&found), kept(&jobs(&plain, 1, 0)));
        found.retain(|job| job.request.processors <= 100);
        // Arrivals are rounded to ticks.
        assert!((offered(&found) / load - 1.0).abs() < 1e-6, "{load}");
        let step = |job: usize| found[job].arrival as f64;
        assert!((step(1) / step(2) - 30.0 / 70.0).abs() < 1e-6);
    }
    let at_once = log(&[(5, 100, 50), (5, 10, 1)], LogOptions::default()).unwrap();
    for (log, load, part) in [
        (&at_once, 0.5, "offers no load"),
        (&plain, 1e-300, "would last longer"),
        (&plain, -1.0, "a number over 0"),
    ] {
        let log = Log {
            load: Some(load),
            ..log.clone()
        };
        let error = log.jobs(1, 0).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// A log of five whole weeks and a part of a sixth, that begins on its third day. In week w, from
/// 0, there are w + 1 jobs with w + 1 processors, at 1, 2, .. days after the week's beginning but
/// for the first.
fn weeks() -> Vec<(u64, u64, u32)> {
    let mut all = Vec::new();
    for week in 0..6_u64 {
        for job in 0..=week {
            let submit = 3 * DAY + week * 7 * DAY + job * DAY;
            all.push((submit, 3_600 + job, week as u32 + 1));
        }
    }
    all
}

#[test]
fn replications_are_made_of_whole_weeks() {
    let log = Log {
        resample: Some(Resample::Weeks),
        ..log(&weeks(), LogOptions::default()).unwrap()
    };
    assert_eq!(log.whole_weeks().len(), 5);
    let mut seen = BTreeSet::new();
    let mut counts = [0_u32; 5];
    for replication in 0..400 {
        let found = jobs(&log, 7, replication);
        assert_eq!(found, jobs(&log, 7, replication));
        let mut drawn = Vec::new();
        for place in 0..5 {
            let of_week = |job: &&Job| job.arrival / WEEK == place;
            let week: Vec<&Job> = found.iter().filter(of_week).collect();
            // Exactly the jobs of one week, at their times in it.
            let size = week[0].request.processors;
            assert_eq!(week.len(), size as usize);
            for (job, number) in week.iter().zip(0..) {
                assert_eq!(job.arrival, place * WEEK + number * DAY * SECOND);
                assert_eq!(run_time(job), (3_600 + number) * SECOND);
                assert_eq!(job.request.processors, size);
            }
            counts[size as usize - 1] += 1;
            drawn.push(size);
        }
        assert!(found.is_sorted_by_key(|job| job.arrival));
        seen.insert(drawn);
    }
    // Each week a fifth of 2,000 times, within four standard deviations.
    assert!(
        counts.iter().all(|count| (328..472).contains(count)),
        "{counts:?}"
    );
    assert!(seen.len() > 350, "{}", seen.len());
    assert_ne!(jobs(&log, 7, 0), jobs(&log, 8, 0));
}

#[test]
fn resampled_weeks_offer_the_load_in_the_mean() {
    let options = LogOptions {
        from: Some(3 * DAY * SECOND),
        to: Some((3 + 35) * DAY * SECOND),
        ..LogOptions::default()
    };
    let log = Log {
        resample: Some(Resample::Weeks),
        load: Some(0.25),
        ..log(&weeks(), options).unwrap()
    };
    assert_eq!((log.whole_weeks().len(), log.lines.outside), (5, 6));
    // Work of weeks 1 to 5 over five weeks of 100 processors.
    let work: u64 = weeks()
        .iter()
        .filter(|job| job.2 <= 5)
        .map(|job| job.1 * u64::from(job.2))
        .sum();
    let plain = work as f64 / (100 * 35 * DAY) as f64;
    assert!((log.offered_load().unwrap() - plain).abs() < 1e-12);
    let stretched = 35.0 * DAY as f64 * SECOND as f64 * (plain / 0.25);
    let loads = (0..400).map(|replication| {
        let work = |job: &Job| f64::from(job.request.processors) * run_time(job) as f64;
        jobs(&log, 1, replication).iter().map(work).sum::<f64>() / (100.0 * stretched)
    });
    let loads: Vec<f64> = loads.collect();
    let estimate = Estimate::of(&loads, Sampling::Independent, Spread::Even).unwrap();
    assert!(
        (estimate.mean - 0.25).abs() < 2.0 * estimate.ci95.unwrap().half_width(),
        "{estimate:?}"
    );
}

#[test]
fn a_draw_of_empty_weeks_is_drawn_again() {
    let options = LogOptions {
        from: Some(0),
        ..LogOptions::default()
    };
    // Jobs in the second of five weeks alone; with one in the sixth, which is not whole, in none.
    let gap = |submit| [(submit, 60, 1), (5 * 7 * DAY, 60, 1)];
    let resampled = |submit| Log {
        resample: Some(Resample::Weeks),
        ..log(&gap(submit), options.clone()).unwrap()
    };
    let one = resampled(8 * DAY);
    assert_eq!(one.whole_weeks().len(), 5);
    let counts = (0..300).map(|replication| jobs(&one, 1, replication).len());
    let counts: Vec<usize> = counts.collect();
    assert!(counts.iter().all(|&count| count > 0));
    // How often a draw with jobs has exactly one: 5 * .2 * .8^4 / (1 - .8^5) = .61.
    let single = counts.iter().filter(|&&count| count == 1).count();
    assert!((150..216).contains(&single), "{single}");

    let error = resampled(5 * 7 * DAY + 1).jobs(1, 0).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the number of jobs in whole weeks to resample (`resample`) is 0: expected at least 1, or the log as it is"
    );
}

#[test]
fn a_resampled_log_has_no_error_to_reach() {
    let log = Log {
        resample: Some(Resample::Weeks),
        ..log(&weeks(), LogOptions::default()).unwrap()
    };
    let experiment = Experiment {
        replications: Replications::UntilRelativeError {
            target: 0.1,
            max: 20,
        },
        ..Experiment::new(Workload::Log(log), 0, &[StrategyKind::FirstFit])
    };
    let failed = experiment::run(&experiment, &mut InProcessBackends::default(), &());
    let error = failed.unwrap_err().to_string();
    assert!(
        error.starts_with("the error to reach is 0.1: expected none, but a number of replications"),
        "{error}"
    );
}

#[test]
fn fewer_than_two_whole_weeks_are_not_resampled() {
    let two = [(0, 1, 1), (7 * DAY, 1, 1), (14 * DAY - 1, 1, 1)];
    let log = Log {
        resample: Some(Resample::Weeks),
        ..log(&two, LogOptions::default()).unwrap()
    };
    let error = log.jobs(1, 0).err().unwrap().to_string();
    assert_eq!(
        error,
        "the number of whole weeks to resample (`resample`) is 1: expected at least 2, or the log as it is"
    );
}
