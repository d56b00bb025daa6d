//! A real log under EASY.

use std::path::Path;

use meshalloc::{StrategyKind, Ticks};
use meshalloc_sim::workload::{self, EstimateModel, Log, LogOptions, Workload};
use meshalloc_tests::rig::mesh;

use super::{EASY, Job, configuration, naive_starts, starts_with_room};

/// The jobs of a log of 100 processors.
fn kth(estimates: EstimateModel) -> Option<Vec<Job>> {
    let Some(folder) = std::env::var_os("MESHALLOC_TRACES") else {
        println!("SKIPPED: the KTH-SP2 log, since MESHALLOC_TRACES is unset");
        return None;
    };
    let path = Path::new(&folder).join("KTH-SP2-1996-2.1-cln.swf.gz");
    let mut log =
        Log::read(&path, LogOptions::default(), mesh(10, 10).into()).expect("the log can be read");
    log.estimates = estimates;
    let workload = Workload::Log(log);
    let jobs = workload.jobs(1, 0).expect("estimates of a log");
    let job = |job: workload::Job| Job {
        arrival: job.arrival,
        request: job.request,
        service: job.work.service().expect("a log has run times"),
    };
    Some(jobs.map(job).collect())
}

/// By counts, with the estimates of the log and with perfect ones.
#[test]
fn kth_starts_as_the_naive_form() {
    for estimates in [EstimateModel::Log, EstimateModel::Perfect] {
        let Some(jobs) = kth(estimates) else {
            return;
        };
        let easy = configuration(mesh(10, 10), StrategyKind::Naive, EASY);
        let starts = starts_with_room(easy, &jobs, 2000, |_| ());
        assert!(
            !starts.contains(&Ticks::MAX),
            "{estimates:?}: every job starts"
        );
        let naive = naive_starts(easy, &jobs);
        let different = starts.iter().zip(&naive).position(|(one, two)| one != two);
        assert_eq!(different, None, "{estimates:?}: the first that differs");
        println!("{estimates:?}: {} jobs start alike", jobs.len());
    }
}
