use std::fs;

use meshalloc::{Mesh, SchedulerKind, StrategyKind};

use super::*;
use meshalloc_sim::experiment::{Measure, Replications};
use meshalloc_sim::failures::{Failures, Restart};
use meshalloc_sim::preemption::Preempting;
use meshalloc_sim::workload::{Rate, ServiceDistribution, SideDistribution, Synthetic, Workload};

fn points(loads: &[f64]) -> Vec<Point> {
    let mesh = Mesh::new(8, 8).unwrap();
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let point = |&load: &f64| Point {
        label: vec![("load".to_owned(), load.to_string())],
        experiment: Experiment {
            replications: Replications::Fixed(2),
            ..Experiment::new(
                Workload::Synthetic(Synthetic::new(
                    mesh,
                    SideDistribution::Uniform,
                    service.clone(),
                    Rate::Load(load),
                )),
                60,
                &[StrategyKind::FirstFit, StrategyKind::Naive],
            )
        },
    };
    loads.iter().map(point).collect()
}

const ONE_THREAD: StudyOptions = StudyOptions {
    threads: Some(NonZero::<usize>::MIN),
    shard: None,
    merge: false,
};

/// Runs a study whose files are not damaged.
fn run(points: &[Point], folder: &Path) -> Result<Vec<Finished>, StudyError> {
    let damaged = &mut |path: &Path| panic!("{path:?}");
    run_points(points, folder, ONE_THREAD, &(), damaged)
}

/// Runs a study whose files may be damaged; also gives the damaged files.
fn run_damaged(points: &[Point], folder: &Path) -> (Vec<Finished>, Vec<PathBuf>) {
    let mut paths = Vec::new();
    let damaged = &mut |path: &Path| paths.push(path.to_owned());
    let finished = run_points(points, folder, ONE_THREAD, &(), damaged);
    (finished.unwrap(), paths)
}

/// Everything about the results, to the last bit.
fn all(finished: &[Finished]) -> Vec<String> {
    let texts = finished.iter().map(|point| format!("{:?}", point.results));
    texts.collect()
}

fn resumed(finished: &[Finished]) -> usize {
    finished.iter().filter(|point| point.resumed).count()
}

#[test]
fn a_file_cut_anywhere_is_damaged_and_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("made/for/it");
    let mut points = points(&[0.3, 0.4]);
    for point in &mut points {
        // A short file: there will be a study for every byte. One whose parameter is part of its
        // name.
        point.experiment.strategies = vec!["random:seed=7".parse().unwrap()];
        point.experiment.replications = Replications::Fixed(1);
    }
    let first = run(&points, &folder).unwrap();
    assert_eq!(resumed(&first), 0);
    let path = Store::new(&points, &folder).path(1).to_owned();
    let whole = fs::read(&path).unwrap();
    for cut in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..cut]).unwrap();
        let (again, damaged) = run_damaged(&points, &folder);
        assert_eq!(all(&again), all(&first), "cut at {cut}");
        assert_eq!((resumed(&again), &damaged[..]), (1, &[path.clone()][..]));
        assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
    }
}

#[test]
fn a_flipped_bit_costs_a_point_and_never_changes_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let points = points(&[0.3, 0.4, 0.5]);
    let first = run(&points, folder.path()).unwrap();
    let path = Store::new(&points, folder.path()).path(2).to_owned();
    let whole = fs::read(&path).unwrap();
    for bit in (0..8 * whole.len()).step_by(211) {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, flipped).unwrap();
        let (again, damaged) = run_damaged(&points, folder.path());
        assert_eq!(all(&again), all(&first), "bit {bit}");
        assert_eq!((resumed(&again), damaged.len()), (2, 1), "bit {bit}");
        assert_eq!(fs::read(&path).unwrap(), whole, "bit {bit}");
    }
}

#[test]
fn files_without_cells_or_runs_and_files_of_others_are_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let points = points(&[0.3, 0.4]);
    let first = run(&points, folder.path()).unwrap();
    let store = Store::new(&points, folder.path());
    let whole = fs::read_to_string(store.path(0)).unwrap();
    let other = fs::read_to_string(store.path(1)).unwrap();
    // With a checksum that is right.
    let resealed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut content: serde_json::Value = serde_json::from_str(&whole).unwrap();
        content.as_object_mut().unwrap().remove("crc64").unwrap();
        let same = String::from_utf8(store::sealed(&content).unwrap()).unwrap();
        assert_eq!(same, whole);
        change(&mut content);
        String::from_utf8(store::sealed(&content).unwrap()).unwrap()
    };
    for wrong in [
        // A loss of power may leave the length of a file without its content.
        "\0".repeat(whole.len()),
        "x".repeat(6 << 20),
        format!("{whole}{whole}"),
        other,
        whole.replacen("\"decisions\":", "\"decision\":", 1),
        resealed(&|content| content["strategies"][0]["runs"][1] = serde_json::Value::Null),
        resealed(&|content| {
            let runs = content["strategies"][0]["runs"].as_array_mut();
            runs.unwrap().pop().unwrap();
        }),
        resealed(&|content| content["strategies"][1]["strategy"] = "native".into()),
        resealed(&|content| content["experiment"]["seed"] = 2.into()),
        resealed(&|content| content["sources"] = "0123456789abcdef".into()),
        resealed(&|content| content["program"] = "host-sin".into()),
    ] {
        fs::write(store.path(0), &wrong).unwrap();
        let (again, damaged) = run_damaged(&points, folder.path());
        let shown = &wrong[..wrong.len().min(500)];
        assert_eq!((all(&again), resumed(&again)), (all(&first), 1), "{shown}");
        assert_eq!(damaged, [store.path(0)], "{shown}");
        assert_eq!(fs::read_to_string(store.path(0)).unwrap(), whole);
    }
}

#[test]
fn strategies_with_parameters_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut points = points(&[0.3]);
    let strategies = ["random:seed=7", "paging:snake=1", "dbt:0.5"];
    points[0].experiment.strategies = strategies.map(|name| name.parse().unwrap()).into();
    let first = run(&points, folder.path()).unwrap();
    let again = run(&points, folder.path()).unwrap();
    assert_eq!((all(&again), resumed(&again)), (all(&first), 1));
}

#[test]
fn every_field_of_an_experiment_makes_another_point() {
    let folder = Path::new("points");
    let mut many = vec![points(&[0.3]).remove(0)];
    let mut add = |change: &dyn Fn(&mut Experiment)| {
        let mut point = many[0].clone();
        change(&mut point.experiment);
        many.push(point);
    };
    add(&|experiment| experiment.machine = Mesh::new(8, 9).unwrap().into());
    add(&|experiment| experiment.strategies.reverse());
    add(&|experiment| experiment.scheduler = SchedulerKind::BypassQueue { threshold: 3 });
    add(&|experiment| experiment.workload = points(&[0.4])[0].experiment.workload.clone());
    add(&|experiment| experiment.jobs = 61);
    add(&|experiment| experiment.measure = Measure::Departures);
    add(&|experiment| experiment.backlog = NonZero::new(1));
    let failures = |restart, checkpoint| {
        Some(Failures {
            machine: Mesh::new(8, 8).unwrap().into(),
            cube: None,
            source: "node:1000,10".parse().unwrap(),
            restart,
            checkpoint,
        })
    };
    let checkpoint = "5,1".parse().ok();
    add(&|experiment| experiment.failures = failures(Restart::InPlace, None));
    add(&|experiment| experiment.failures = failures(Restart::Elsewhere, None));
    add(&|experiment| experiment.failures = failures(Restart::Elsewhere, checkpoint));
    add(&|experiment| experiment.switches.largest = true);
    add(&|experiment| experiment.switches.reasons = true);
    add(&|experiment| experiment.switches.kill_at_estimate = true);
    for (grace, checkpoint) in [(0, None), (1, None), (1, checkpoint)] {
        let preempting = Some(Preempting { grace, checkpoint });
        add(&|experiment| experiment.preemption = preempting);
    }
    add(&|experiment| experiment.slowdown_threshold *= 2.0);
    add(&|experiment| experiment.replications = Replications::Fixed(3));
    add(&|experiment| experiment.seed = 2);
    let store = Store::new(&many, folder);
    let mut paths: Vec<_> = (0..many.len()).map(|point| store.path(point)).collect();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), many.len());
}

/// A file may be spelled in several ways, in a label, too.
#[test]
fn labels_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let mut points = points(&[0.3, 0.4]);
    run(&points, folder.path()).unwrap();
    points[0].label[0].1 = "0.30".to_owned();
    let finished = run(&points, folder.path()).unwrap();
    assert_eq!(resumed(&finished), 2);
}

#[test]
fn several_may_run_the_same_points_in_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let points = points(&[0.3, 0.4, 0.5]);
    let alone = run(&points, &folder.path().join("alone")).unwrap();
    let shared = folder.path().join("shared");
    std::thread::scope(|scope| {
        let each = [0; 4].map(|_| scope.spawn(|| run(&points, &shared).unwrap()));
        for one in each {
            assert_eq!(all(&one.join().unwrap()), all(&alone));
        }
    });
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 3);
    let merge = StudyOptions {
        merge: true,
        ..ONE_THREAD
    };
    let damaged = &mut |path: &Path| panic!("{path:?}");
    let gathered = run_points(&points, &shared, merge, &(), damaged).unwrap();
    assert_eq!(all(&gathered), all(&alone));
    remove(&points, &shared).unwrap();
    assert!(!shared.exists());
}

#[test]
fn a_point_that_cannot_be_run_is_named_and_the_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let mut points = points(&[0.3, 0.4, 0.5]);
    // The two-dimensional buddy system serves square meshes with a power of two a side only.
    points[2].experiment.strategies = vec![StrategyKind::Buddy];
    points[2].experiment.machine = Mesh::new(7, 7).unwrap().into();
    let error = run(&points, folder.path()).unwrap_err();
    assert!(error.to_string().starts_with("load = 0.5: "), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn numbers_are_read_again_to_the_last_bit() {
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

#[test]
fn the_longest_run_has_room_in_a_file() {
    let mut refused = meshalloc_sim::metrics::Refusals::default();
    for reason in meshalloc::Refusal::ALL {
        (0..1000).for_each(|_| refused.add(reason));
    }
    let run = meshalloc_sim::simulation::RunResult {
        values: meshalloc_sim::metrics::RunValues::from_fn(|_| Some(-2.225_073_858_507_201_4e-308)),
        refused,
        saturated: false,
        left_behind: u32::MAX,
        decision_hash: u64::MAX,
        decisions: u64::MAX,
        table_limited: u64::MAX,
    };
    // Counts of refusals have up to 20 digits.
    let bytes = serde_json::to_vec(&run).unwrap().len() + 20 * meshalloc::Refusal::ALL.len();
    assert!(bytes < store::RUN_BYTES_MAX / 2, "{bytes}");
}
