use std::fs;

use meshalloc::{Mesh, SchedulerKind, StrategyKind};

use super::*;
use meshalloc_sim::experiment::{Measure, Replications};
use meshalloc_sim::metrics::SLOWDOWN_THRESHOLD;
use meshalloc_sim::workload::{Rate, ServiceDistribution, SizeDistribution, Synthetic, Workload};

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
            slowdown_threshold: SLOWDOWN_THRESHOLD,
            replications: Replications::Fixed(2),
            seed: 1,
        },
    };
    loads.iter().map(point).collect()
}

const ONE_THREAD: SweepOptions = SweepOptions {
    threads: Some(NonZero::<usize>::MIN),
    restart: false,
    shard: None,
};

/// Of a sweep whose journal is not damaged.
fn run(
    points: &[Point],
    journal: &Path,
    options: SweepOptions,
) -> Result<Vec<Finished>, SweepError> {
    let damaged = &mut |damage: &Damage| panic!("{damage}");
    run_points(points, journal, options, &(), damaged)
}

/// Of one whose journal may be; also gives the numbers of the damaged lines.
fn run_damaged(
    points: &[Point],
    journal: &Path,
) -> (Result<Vec<Finished>, SweepError>, Vec<usize>) {
    let mut lines = Vec::new();
    let damaged = &mut |damage: &Damage| lines.extend(&damage.lines);
    let finished = run_points(points, journal, ONE_THREAD, &(), damaged);
    (finished, lines)
}

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
    let first = run(&points, &path, ONE_THREAD).unwrap();
    let whole = fs::read(&path).unwrap();
    assert_eq!(resumed(&first), 0);
    let ends: Vec<usize> = (1..=whole.len())
        .filter(|&at| whole[at - 1] == b'\n')
        .collect();
    assert_eq!(ends.len(), 3, "a header and two points");
    // One after the other, a single thread leaves the same journal.
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let (again, damaged) = run_damaged(&points, &path);
        let again = again.unwrap();
        assert_eq!(all(&again), all(&first), "cut at {cut}");
        let is_torn = cut > ends[0] && !ends.contains(&cut);
        assert_eq!(damaged.len(), usize::from(is_torn), "cut at {cut}");
        let whole_lines = ends.iter().filter(|&&end| end <= cut).count();
        assert_eq!(
            resumed(&again),
            whole_lines.saturating_sub(1),
            "cut at {cut}"
        );
        assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
    }
}

/// A sweep of a few short points, its results and its journal.
fn swept(path: &Path) -> (Vec<Point>, Vec<Finished>, Vec<u8>) {
    let points = points(&[0.3, 0.4, 0.5]);
    let first = run(&points, path, ONE_THREAD).unwrap();
    (points, first, fs::read(path).unwrap())
}

#[test]
fn a_flipped_bit_costs_a_point_and_never_changes_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let (points, first, whole) = swept(&path);
    let line_of = |byte: usize| 1 + whole[..byte].iter().filter(|&&byte| byte == b'\n').count();
    // Each bit of a few bytes, and one bit of each of many others: about 1,000 journals.
    let bits = (0..whole.len() * 8).filter(|bit| bit % 61 == 0 || bit % 4099 < 8);
    for bit in bits {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &flipped).unwrap();
        let (again, damaged) = run_damaged(&points, &path);
        let again = again.unwrap_or_else(|error| panic!("bit {bit}: {error}"));
        assert_eq!(all(&again), all(&first), "bit {bit}");
        // A line break that is no longer one takes the next line with it.
        let line = line_of(bit / 8);
        let joined = whole[bit / 8] == b'\n' && line < 4;
        let lost = usize::from(line > 1) + usize::from(joined);
        assert_eq!(resumed(&again), 3 - lost, "bit {bit}");
        assert!(
            damaged.contains(&line) && damaged.len() <= 2,
            "bit {bit}: {damaged:?}"
        );
        // What was run again is there now; the damaged line is only where a good one follows it.
        let (again, _) = run_damaged(&points, &path);
        assert_eq!(resumed(&again.unwrap()), 3, "bit {bit}");
    }
}

#[test]
fn lines_without_cells_or_runs_and_lines_of_others_are_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let (points, first, whole) = swept(&path);
    let text = String::from_utf8(whole.clone()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // A loss of power may leave the length of a line without its content.
    let zeros = "\0".repeat(lines[3].len());
    let value = r#"{"values":"#;
    let of_other_sweep = {
        let path = folder.path().join("other.jsonl");
        let mut points = points.clone();
        points[1].experiment.seed = 2;
        run(&points, &path, ONE_THREAD).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let line = text.lines().find(|line| line.starts_with("{\"point\":1,"));
        format!("{}\n", line.unwrap())
    };
    let cut_run = {
        let begin = lines[2].find(value).unwrap();
        let end = lines[2][begin + 1..].find(value).unwrap() + begin + 1;
        format!("{}{}", &lines[2][..begin], &lines[2][end..])
    };
    for (replaced, by) in [
        (3, zeros),
        (3, zeros_with_break(lines[3].len())),
        (2, cut_run),
        (2, lines[2].replacen("\"decisions\":", "\"decision\":", 1)),
        (2, lines[2].replacen("\"point\":1", "\"point\":2", 1)),
        (1, lines[1].replacen("naive", "native", 1)),
        (2, of_other_sweep),
        (2, "\n".to_owned()),
        (2, String::from_utf8(vec![b'x'; 100_000]).unwrap() + "\n"),
    ] {
        let mut damaged: Vec<&str> = lines.clone();
        damaged[replaced] = &by;
        assert_ne!(damaged, lines);
        fs::write(&path, damaged.concat()).unwrap();
        let (again, numbers) = run_damaged(&points, &path);
        let again = again.unwrap();
        assert_eq!((all(&again), resumed(&again)), (all(&first), 2), "{by}");
        assert_eq!(numbers, [replaced + 1], "{by}");
        if replaced == 3 {
            assert_eq!(fs::read(&path).unwrap(), whole);
        }
    }
}

fn zeros_with_break(length: usize) -> String {
    "\0".repeat(length - 1) + "\n"
}

#[test]
fn damage_is_worded_with_the_numbers_of_the_lines() {
    let damage = |lines: std::ops::RangeInclusive<usize>| Damage {
        path: "a.jsonl".into(),
        lines: lines.collect(),
    };
    assert_eq!(
        damage(3..=3).to_string(),
        "a.jsonl: 1 line (3) is damaged and left out"
    );
    assert_eq!(
        damage(3..=14).to_string(),
        "a.jsonl: 12 lines (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ..) are damaged and left out"
    );
}

#[test]
fn strategies_with_parameters_come_back_from_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let mut points = points(&[0.3]);
    let strategies = ["random:seed=7", "paging:snake=1", "dbt:0.5"];
    points[0].experiment.strategies = strategies.map(|name| name.parse().unwrap()).into();
    let first = run(&points, &path, ONE_THREAD).unwrap();
    let again = run(&points, &path, ONE_THREAD).unwrap();
    assert_eq!((all(&again), resumed(&again)), (all(&first), 1));
}

#[test]
fn the_journal_of_something_else_is_left_alone_without_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let mine = points(&[0.3, 0.4]);
    run(&mine, &path, ONE_THREAD).unwrap();
    let text = fs::read_to_string(&path).unwrap();

    let mut other_seed = mine.clone();
    other_seed[1].experiment.seed = 2;
    let mut other_key = mine.clone();
    other_key[0].label[0].0 = "log-load".to_owned();
    let header = |program: &str, version: &str| {
        let header = serde_json::json!({
            "program": program, "version": version, "digest": "0", "points": 2,
        });
        String::from_utf8(record::sealed("", &header).unwrap()).unwrap()
    };
    let other_version = header("host-sim", "0.0.1");
    let other_program = header("host-sin", crate::identity::VERSION);
    for (points, content, part) in [
        (&other_seed, text.as_str(), "another scenario"),
        (&other_key, &text, "another scenario"),
        (&points(&[0.3]), &text, "another scenario"),
        (&points(&[0.4, 0.3]), &text, "another scenario"),
        (&mine, &other_version, "version 0.0.1 (expected"),
        (&mine, &other_program, "no journal of host-sim"),
        (&mine, "my notes", "no journal of host-sim"),
        (&mine, "\n", "no journal of host-sim"),
    ] {
        fs::write(&path, content).unwrap();
        let error = run(points, &path, ONE_THREAD).unwrap_err();
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
        let finished = run(points, &path, restart).unwrap();
        assert_eq!((finished.len(), resumed(&finished)), (points.len(), 0));
        let finished = run(points, &path, ONE_THREAD).unwrap();
        assert_eq!(resumed(&finished), points.len());
    }
}

/// A file may be spelled in several ways, in a label, too.
#[test]
fn values_in_labels_leave_the_results() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let mut points = points(&[0.3, 0.4]);
    run(&points, &path, ONE_THREAD).unwrap();
    points[0].label[0].1 = "0.30".to_owned();
    let finished = run(&points, &path, ONE_THREAD).unwrap();
    assert_eq!(resumed(&finished), 2);
    assert_eq!(finished[0].label, points[0].label);
}

#[test]
fn two_do_not_write_one_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let points = points(&[0.3]);
    let format = Format::new(&points);
    let (journal, _) = format.open(&path, false).unwrap();
    let error = run(&points, &path, ONE_THREAD).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(journal);
    run(&points, &path, ONE_THREAD).unwrap();
}

#[test]
fn a_point_that_cannot_be_run_is_named_and_the_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let mut points = points(&[0.3, 0.4, 0.5]);
    // The two-dimensional buddy system serves square meshes with a power of two a side only.
    points[2].experiment.strategies = vec![StrategyKind::Buddy];
    points[2].experiment.machine = Mesh::new(7, 7).unwrap().into();
    let error = run(&points, &path, ONE_THREAD).unwrap_err();
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

#[test]
fn a_line_longer_than_any_of_the_sweep_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.jsonl");
    let (points, first, whole) = swept(&path);
    let end = whole.len()
        - 1
        - whole[..whole.len() - 1]
            .iter()
            .rev()
            .position(|&byte| byte == b'\n')
            .unwrap();
    let long = vec![b'x'; 6 << 20];
    for broken in [&b""[..], b"\n"] {
        fs::write(
            &path,
            [&whole[..end], &long, broken, &whole[end..]].concat(),
        )
        .unwrap();
        let (again, damaged) = run_damaged(&points, &path);
        assert_eq!(all(&again.unwrap()), all(&first));
        assert_eq!(damaged, [4]);
    }
    // Behind the last whole line nothing is kept.
    fs::write(&path, [&whole, &long[..]].concat()).unwrap();
    let (again, damaged) = run_damaged(&points, &path);
    assert_eq!((resumed(&again.unwrap()), damaged), (3, vec![5]));
    assert_eq!(fs::read(&path).unwrap(), whole);
    // A file of something else.
    fs::write(&path, [&whole[..], &b"\n".repeat(200_000)].concat()).unwrap();
    let (again, _) = run_damaged(&points, &path);
    assert!(
        matches!(again, Err(SweepError::Journal { .. })),
        "{again:?}"
    );
}

#[test]
fn the_longest_run_has_room_in_a_line() {
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
    assert!(bytes < journal::RUN_BYTES_MAX / 2, "{bytes}");
}
