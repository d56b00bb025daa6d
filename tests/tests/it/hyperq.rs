//! A published run, decision by decision: HyperQ (Tao, Zhu, Nieh, Yao and Gu, OSDI 2025) places
//! quantum circuits on a 3 x 3 grid of regions. First fit decides as its artifact does.

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{Allocator, Flags, Grid, Request, Shape, StrategyKind};

/// Rows and columns of what a circuit may get, in the order in which they are tried.
const SHAPES: [(u16, u16); 9] = [
    (1, 1),
    (1, 2),
    (2, 1),
    (1, 3),
    (3, 1),
    (2, 2),
    (2, 3),
    (3, 2),
    (3, 3),
];

/// The qubits of so many rows and columns of regions: 7 of each, and those that join neighbours.
fn capacity((n, m): (u16, u16)) -> u16 {
    7 * n * m + 2 * n * (m - 1) + 3 * (n - 1) * m - 2 * (n - 1) * (m - 1)
}

/// A job, as the artifact logged it.
#[derive(Debug)]
struct Job {
    arrival: f64,
    run_time: f64,
    qubits: u16,
    batch: usize,
    /// Row and column.
    place: (u16, u16),
    /// Whether it was added to a region of another job.
    is_shared: bool,
}

/// The jobs of a run of the file.
fn jobs(run: &str) -> Vec<Job> {
    let text = include_str!("data/hyperq.csv");
    let rows = text.lines().filter_map(|line| line.strip_prefix(run));
    let rows = rows.filter_map(|row| row.strip_prefix(','));
    rows.map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        let [times @ .., qubits, batch, row, column, shared] = cells.as_slice() else {
            panic!("seven numbers: {row}");
        };
        let [arrival, run_time] = [0, 1].map(|at| times[at].parse().unwrap());
        Job {
            arrival,
            run_time,
            qubits: qubits.parse().unwrap(),
            batch: batch.parse().unwrap(),
            place: (row.parse().unwrap(), column.parse().unwrap()),
            is_shared: *shared == "1",
        }
    })
    .collect()
}

/// Which of the waiting jobs the next batch takes, in order of arrival, and where.
fn batch(jobs: &[Job], waiting: &[usize]) -> Vec<(usize, (u16, u16))> {
    let grid = Grid::mesh(&[3, 3]).unwrap();
    let mut storage = HeapStorage::new(Needs::of(StrategyKind::FirstFit, &grid, 9), 0);
    let memory = storage.allocator_memory();
    let mut regions = Allocator::new(memory, grid, StrategyKind::FirstFit).unwrap();
    let mut taken = Vec::new();
    for &job in waiting.iter().filter(|&&job| !jobs[job].is_shared) {
        if regions.occupancy().free() == 0 {
            break;
        }
        let suffices = |&shape: &(u16, u16)| capacity(shape) >= jobs[job].qubits;
        let (n, m) = *SHAPES.iter().find(|shape| suffices(shape)).unwrap();
        let versions = [(n, m), (m, n)];
        let versions = versions[..if n == m { 1 } else { 2 }].iter();
        let granted = versions
            .filter(|shape| suffices(shape))
            .find_map(|&(n, m)| {
                // The first dimension runs along a row.
                let request = Request::new(Shape::new(&[m, n]).unwrap());
                let request = request.with_flags(Flags::FIXED_ORIENTATION);
                regions.allocate(&request).ok()
            });
        if let Some(granted) = granted {
            let block = regions.blocks(&granted).unwrap().next().unwrap();
            let start = grid.start(block);
            taken.push((job, (start[1], start[0])));
        }
    }
    taken
}

/// The batches, the jobs that were placed in them, and the mean time from arrival to end. All jobs
/// of a batch start and end together; the next begins as soon as it has ended and a job waits.
fn replay(run: &str) -> (usize, usize, f64) {
    let jobs = jobs(run);
    let (mut now, mut next, mut batches, mut placed) = (0.0, 0, 0, 0);
    let mut waiting: Vec<usize> = Vec::new();
    let mut ends = vec![0.0; jobs.len()];
    while next < jobs.len() || !waiting.is_empty() {
        if waiting.is_empty() {
            now = jobs[next].arrival.max(now);
        }
        while next < jobs.len() && jobs[next].arrival <= now {
            waiting.push(next);
            next += 1;
        }
        let taken = batch(&jobs, &waiting);
        for &(job, place) in &taken {
            let Job {
                batch,
                place: logged,
                ..
            } = jobs[job];
            assert_eq!((batches, place), (batch, logged), "{run}, job {job}");
        }
        now += jobs[taken[0].0].run_time;
        placed += taken.len();
        waiting.retain(|&job| {
            let leaves = jobs[job].batch == batches;
            let is_taken = taken.iter().any(|&(other, _)| other == job);
            assert_eq!(
                leaves,
                is_taken || leaves && jobs[job].is_shared,
                "{run}, job {job}"
            );
            if leaves {
                ends[job] = now;
            }
            !leaves
        });
        batches += 1;
    }
    let waits = ends.iter().zip(&jobs).map(|(end, job)| end - job.arrival);
    (batches, placed, waits.sum::<f64>() / jobs.len() as f64)
}

/// Every place in every batch, and the means that the artifact prints.
#[test]
fn first_fit_decides_as_hyperq_and_gives_its_means() {
    let runs = [
        ("small", (57, 145, 3.692_465_789_489_359_6)),
        ("small+med", (46, 191, 11.980_725_124_624_245)),
        ("small at once", (15, 115, 0.0)),
        ("small+med at once", (35, 172, 0.0)),
    ];
    for (run, (batches, placed, mean)) in runs {
        let replayed = replay(run);
        assert_eq!((replayed.0, replayed.1), (batches, placed), "{run}");
        assert!((replayed.2 - mean).abs() < 1e-12, "{run}: {}", replayed.2);
    }
}

/// The rule of the paper's artifact for the shape of a circuit.
#[test]
fn the_shapes_of_circuits() {
    let shape = |qubits| SHAPES.into_iter().find(|&shape| capacity(shape) >= qubits);
    for (qubits, expected) in [
        (7, (1, 1)),
        (8, (1, 2)),
        (17, (2, 1)),
        (25, (1, 3)),
        (27, (3, 1)),
    ] {
        assert_eq!(shape(qubits), Some(expected), "{qubits}");
    }
}
