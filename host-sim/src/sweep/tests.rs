use std::fs;

use meshalloc::{Mesh, SchedulerKind, StrategyKind};

use super::*;
use crate::experiment::{Measure, Replications};
use crate::workload::{Rate, ServiceDistribution, SizeDistribution, Synthetic, Workload};

fn points(loads: &[f64]) -> Vec<Point> {
    let mesh = Mesh::new(8, 8).unwrap();
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let point = |&load: &f64| Point {
        label: vec![("load".to_owned(), load.to_string())],
        experiment: Experiment {
            machine: mesh.into(),
            strategies: vec![StrategyKind::FirstFit, StrategyKind::Naive],
            scheduler: SchedulerKind::Fcfs,
            workload: Workload::Synthetic(Synthetic::new(
                mesh,
                SizeDistribution::Uniform,
                service,
                Rate::Load(load),
            )),
            jobs: 60,
            measure: Measure::Arrivals {
                warmup_fraction: 0.05,
            },
            backlog: None,
            replications: Replications::Fixed(2),
            seed: 1,
        },
    };
    loads.iter().map(point).collect()
}

const ONE_THREAD: SweepOptions = SweepOptions {
    threads: Some(NonZero::<usize>::MIN),
    restart: false,
};

/// Everything about the results, to the last bit.
fn all(finished: &[Finished]) -> Vec<String> {
    let texts = finished
        .iter()
        .map(|point| format!("{:?} {:?}", point.label, point.results));
    texts.collect()
}

fn resumed(finished: &[Finished]) -> usize {
    finished.iter().filter(|point| point.resumed).count()
}

#[test]
fn a_journal_cut_anywhere_goes_on_to_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/for/it/points.jsonl");
    let mut points = points(&[0.3, 0.4]);
    for point in &mut points {
        // Short lines: there will be a sweep for every byte. One whose parameter is part of its name.
        point.experiment.strategies = vec!["random:seed=7".parse().unwrap()];
        point.experiment.replications = Replications::Fixed(1);
    }
    let first = run_points(&points, &path, ONE_THREAD, &()).unwrap();
    let whole = fs::read(&path).unwrap();
    assert_eq!(resumed(&first), 0);
    let ends: Vec<usize> = (1..=whole.len())
        .filter(|&at| whole[at - 1] == b'\n')
        .collect();
    assert_eq!(ends.len(), 3, "a header and two points");
    // One after the other, a single thread leaves the same journal.
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let again = run_points(&points, &path, ONE_THREAD, &()).unwrap();
        assert_eq!(all(&again), all(&first), "cut at {cut}");
        let whole_lines = ends.iter().filter(|&&end| end <= cut).count();
        assert_eq!(
            resumed(&again),
            whole_lines.saturating_sub(1),
            "cut at {cut}"
        );
        assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
    }
}

#[test]
fn a_last_line_of_garbage_is_dropped_and_one_before_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let points = points(&[0.3, 0.4, 0.5]);
    let first = run_points(&points, &path, ONE_THREAD, &()).unwrap();
    let whole = fs::read(&path).unwrap();
    // A loss of power may leave the length of a line without its content.
    let mut torn = whole.clone();
    let last = whole[..whole.len() - 1]
        .iter()
        .rposition(|&byte| byte == b'\n')
        .unwrap();
    torn[last + 1..whole.len() - 1].fill(0);
    fs::write(&path, &torn).unwrap();
    let again = run_points(&points, &path, ONE_THREAD, &()).unwrap();
    assert_eq!((all(&again), resumed(&again)), (all(&first), 2));
    assert_eq!(fs::read(&path).unwrap(), whole);

    let text = String::from_utf8(whole).unwrap();
    for (from, to, part) in [
        (
            "{\"point\":1",
            "{\"point\":1x",
            "line 3 is damaged: expected",
        ),
        ("{\"point\":1", "{\"point\":3", "expected less than 3"),
        (
            "\"naive\"",
            "\"native\"",
            "line 2 is damaged: strategies are first-fit, native",
        ),
        (
            "\"decisions\":",
            "\"decision\":",
            "missing field `decisions`",
        ),
        ("\"refused\":[0", "\"refused\":[-1", "invalid value"),
        ("\"values\":[", "\"values\":[1.5,", "trailing"),
    ] {
        assert!(text.contains(from), "{from}");
        let damaged = text.replacen(from, to, 1);
        fs::write(&path, &damaged).unwrap();
        let error = run_points(&points, &path, ONE_THREAD, &()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(part) && error.contains("deleting it starts over"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged, "left alone");
    }
}

#[test]
fn the_journal_of_something_else_is_left_alone_without_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let mine = points(&[0.3, 0.4]);
    run_points(&mine, &path, ONE_THREAD, &()).unwrap();
    let text = fs::read_to_string(&path).unwrap();

    let mut other_seed = mine.clone();
    other_seed[1].experiment.seed = 2;
    let mut other_label = mine.clone();
    other_label[0].label[0].1 = "0.30".to_owned();
    let version = format!("\"version\":\"{}\"", crate::identity::VERSION);
    let other_version = text.replacen(&version, "\"version\":\"0.0.1\"", 1);
    assert_ne!(text, other_version);
    for (points, content, part) in [
        (&other_seed, text.as_str(), "another scenario"),
        (&other_label, &text, "another scenario"),
        (&points(&[0.3]), &text, "another scenario"),
        (&points(&[0.4, 0.3]), &text, "another scenario"),
        (&mine, &other_version, "version 0.0.1 (expected"),
        (
            &mine,
            &text.replacen("host-sim", "host-sin", 1),
            "no journal of host-sim",
        ),
        (&mine, "my notes", "no journal of host-sim"),
        (&mine, "\n", "no journal of host-sim"),
    ] {
        fs::write(&path, content).unwrap();
        let error = run_points(points, &path, ONE_THREAD, &()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(part) && error.contains("deleting it starts over"),
            "{error}"
        );
        assert!(error.contains("points.jsonl: "), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        let restart = SweepOptions {
            restart: true,
            ..ONE_THREAD
        };
        let finished = run_points(points, &path, restart, &()).unwrap();
        assert_eq!((finished.len(), resumed(&finished)), (points.len(), 0));
        let finished = run_points(points, &path, ONE_THREAD, &()).unwrap();
        assert_eq!(resumed(&finished), points.len());
    }
}

#[test]
fn two_do_not_write_one_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let points = points(&[0.3]);
    let (journal, _) = Journal::open(&path, &points, false).unwrap();
    let error = run_points(&points, &path, ONE_THREAD, &()).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(journal);
    run_points(&points, &path, ONE_THREAD, &()).unwrap();
}

#[test]
fn a_point_that_cannot_be_run_is_named_and_the_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let mut points = points(&[0.3, 0.4, 0.5]);
    // The two-dimensional buddy system serves square meshes with a power of two a side only.
    points[2].experiment.strategies = vec![StrategyKind::Buddy];
    points[2].experiment.machine = Mesh::new(7, 7).unwrap().into();
    let error = run_points(&points, &path, ONE_THREAD, &()).unwrap_err();
    assert!(error.to_string().starts_with("load = 0.5: "), "{error}");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 3);
}

#[test]
fn numbers_come_back_from_the_journal_to_the_last_bit() {
    let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..100_000 {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        let number = f64::from_bits(bits);
        if !number.is_finite() {
            continue;
        }
        let text = serde_json::to_string(&number).unwrap();
        let again: f64 = serde_json::from_str(&text).unwrap();
        assert_eq!(number.to_bits(), again.to_bits(), "{text}");
    }
}
