//! Table 1 of Kim and Yoon 1995, "Characteristics of submesh allocation strategies", measured.
//!
//! ```text
//! cargo run --release -p meshalloc-tests --example table1 -- [--quick]
//! ```
//!
//! Prints Markdown. Recognition is exhaustive: at every occupancy of a 4 x 4 and of a 5 x 5 mesh
//! every request is made for which a free submesh exists, in either orientation; the share that is
//! granted is shown, and a strategy is complete if that is all. 5 x 5 has 33.5 million occupancies
//! and takes minutes on all cores; `--quick` leaves it out.
//!
//! Internal fragmentation and costs come from a steady load with uniform sides, 1 to the mesh's:
//! below 47 % of the nodes on offer the next operation allocates, at or above it a random job is
//! released. A cost is the mean time of an attempt to allocate, successful or not, or of a release,
//! through the whole controller (the median of such means); its growth is the exponent `e` of the
//! power `N^e` that fits the means at sides 16 to 512 best.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use meshalloc::{Change, Controller, Flags, JobId, Mesh, Request, StrategyKind};
use meshalloc_tests::convert;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, configuration, mesh};
use meshalloc_tests::survey::{Compare, Survey, occupancies, requests, survey};

const SIDES: [u16; 6] = [16, 32, 64, 128, 256, 512];
/// The mesh on which internal fragmentation is measured.
const FRAGMENTATION_SIDE: u16 = 64;
const ON_OFFER_PERCENT: u32 = 47;
/// Operations in a mean. The result is the median of [`ROUNDS`] means, so that interruptions of the
/// process do not count.
const OPERATIONS: u32 = 1000;
const ROUNDS: u32 = 21;
const SEED: u64 = 1995;
/// The parts into which the occupancies of a mesh are divided, for the threads.
const PARTS: usize = 64;

/// A strategy's row in the paper's table.
struct Paper {
    allocation: &'static str,
    deallocation: &'static str,
    complete: &'static str,
    internal: &'static str,
    policy: &'static str,
}

const fn paper(
    allocation: &'static str,
    deallocation: &'static str,
    complete: &'static str,
    internal: &'static str,
    policy: &'static str,
) -> Paper {
    Paper {
        allocation,
        deallocation,
        complete,
        internal,
        policy,
    }
}

/// The rows: those of the paper in its order, then the other contiguous strategies.
const ROWS: [(StrategyKind, Paper); 10] = [
    (
        StrategyKind::Buddy,
        paper("O(N)", "O(N)", "no", "yes", "best fit"),
    ),
    (
        StrategyKind::FrameSliding,
        paper("O(N)", "O(1)", "no", "no", "first fit"),
    ),
    (
        StrategyKind::FirstFit,
        paper("O(N)", "O(N)", "no", "no", "first fit"),
    ),
    (
        StrategyKind::BestFit,
        paper("O(N)", "O(N)", "no", "no", "best fit"),
    ),
    (
        StrategyKind::AdaptiveScan,
        paper("O(N)", "O(1)", "yes", "no", "first fit"),
    ),
    (
        StrategyKind::BusyList,
        paper("O(N^3)", "O(1)", "yes", "no", "best fit"),
    ),
    (
        StrategyKind::FreeSubmeshList,
        paper("O(N_f^2)", "O(N_a^3)", "yes", "no", "best fit"),
    ),
    (
        StrategyKind::FixedOrientation,
        paper("-", "-", "-", "-", "-"),
    ),
    (StrategyKind::FlexFold, paper("-", "-", "-", "-", "-")),
    (StrategyKind::AllShapes, paper("-", "-", "-", "-", "-")),
];

/// What a strategy recognises on a mesh; `None` where it does not serve it.
fn recognition(meshes: &[Mesh]) -> Vec<Vec<Option<Survey>>> {
    let mut tasks = Vec::new();
    let mut found: Vec<Vec<Option<Survey>>> = Vec::new();
    for (row, &(kind, _)) in ROWS.iter().enumerate() {
        found.push(vec![None; meshes.len()]);
        for (column, &mesh) in meshes.iter().enumerate() {
            if convert::is_served(kind, &convert::grid(mesh.into())) {
                found[row][column] = Some(Survey::default());
                tasks.extend((0..PARTS).map(|part| (row, column, part)));
            }
        }
    }
    let (found, next, done) = (Mutex::new(found), AtomicUsize::new(0), AtomicUsize::new(0));
    // A line that is overwritten makes no sense in a file.
    let shows_progress = std::io::stderr().is_terminal();
    let work = || {
        while let Some(&(row, column, part)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let grid = convert::grid(meshes[column].into());
            let all = occupancies(&grid);
            let len = all.len() / PARTS;
            let part = all.skip(part * len).take(len);
            let (kind, machine) = (ROWS[row].0, meshes[column].into());
            let part = survey(kind, machine, part, &requests(&grid), Compare::Nothing);
            let mut found = found.lock().expect("no thread has failed");
            let total = found[row][column].as_mut().expect("it serves the mesh");
            total.merge(part);
            drop(found);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if shows_progress {
                eprint!("\rrecognition: {} %", done * 100 / tasks.len());
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    if shows_progress {
        eprintln!();
    }
    found.into_inner().expect("no thread has failed")
}

/// Mean times and what was held, under the steady load.
struct Cost {
    allocation_ns: f64,
    release_ns: f64,
    requested: u64,
    held: u64,
}

/// The time between two readings of the clock.
fn clock_overhead() -> Duration {
    let mut readings: Vec<Duration> = (0..10_001).map(|_| Instant::now().elapsed()).collect();
    readings.sort_unstable();
    readings[readings.len() / 2]
}

fn cost(kind: StrategyKind, side: u16) -> Cost {
    let mesh = mesh(side, side);
    // On offer are never more jobs than nodes; far fewer, in fact.
    let mut memory = HeapMemory::new(mesh, usize::from(side) * usize::from(side));
    let mut controller = Controller::new(memory.memory(), configuration(mesh, kind))
        .expect("square meshes with a power of two as side are served by all");
    let overhead = clock_overhead();
    let mut random = Random::new(SEED);
    let grid = mesh.grid();
    let level = mesh.nodes() * ON_OFFER_PERCENT / 100;
    // Each job on offer, and whether it was granted.
    let mut on_offer: Vec<(JobId, u32, bool)> = Vec::new();
    let (mut nodes, mut requested, mut held) = (0, 0, 0);
    // The time and the number of the current round's allocations, and of its releases. `means` has
    // all rounds but the first, which fills the mesh.
    let mut sums = [(Duration::ZERO, 0u32); 2];
    let mut means = [const { Vec::new() }; 2];
    for operation in 0..OPERATIONS * (ROUNDS + 1) {
        if nodes < level {
            let [w, h] = [side; 2].map(|side| random.between(1, side.into()) as u16);
            let request = Request::submesh(w, h).with_flags(Flags::NO_WAIT);
            let job = JobId(operation);
            let change = Change::submit(job, request);
            let start = Instant::now();
            let outcome = controller.handle(&change, 0);
            let time = start.elapsed().saturating_sub(overhead);
            let block = outcome
                .ok()
                .and_then(|_| controller.view().blocks(job).next());
            let granted = block.map_or(0, |block| grid.area(block));
            sums[0] = (sums[0].0 + time, sums[0].1 + 1);
            if granted > 0 {
                requested += u64::from(request.processors);
                held += u64::from(granted);
            }
            on_offer.push((job, request.processors, granted > 0));
            nodes += request.processors;
        } else {
            let at = random.below(on_offer.len() as u32) as usize;
            let (job, processors, granted) = on_offer.swap_remove(at);
            nodes -= processors;
            if granted {
                let start = Instant::now();
                let released = controller.handle(&Change::Release { job }, 0);
                let time = start.elapsed().saturating_sub(overhead);
                assert!(released.is_ok(), "{released:?}");
                sums[1] = (sums[1].0 + time, sums[1].1 + 1);
            }
        }
        if operation % OPERATIONS == OPERATIONS - 1 {
            for ((time, count), means) in std::mem::take(&mut sums).into_iter().zip(&mut means) {
                if operation > OPERATIONS {
                    means.push(time.as_nanos() as f64 / f64::from(count));
                }
            }
        }
    }
    let [allocation_ns, release_ns] = means.map(median);
    Cost {
        allocation_ns,
        release_ns,
        requested,
        held,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The slope of the least squares line through the logarithms.
fn exponent(times: &[f64]) -> f64 {
    let points = SIDES.iter().zip(times);
    let points: Vec<(f64, f64)> = points
        .map(|(&side, &time)| (2.0 * f64::from(side).ln(), time.ln()))
        .collect();
    let n = points.len() as f64;
    let (x, y) = points
        .iter()
        .fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    let (x, y) = (x / n, y / n);
    let (products, squares) = points.iter().fold((0.0, 0.0), |sum, point| {
        let (dx, dy) = (point.0 - x, point.1 - y);
        (sum.0 + dx * dy, sum.1 + dx * dx)
    });
    products / squares
}

fn share(found: Option<&Survey>) -> String {
    match found {
        None => "not served".into(),
        Some(found) if found.is_complete() => "all".into(),
        // Rounded down: 100 % is only what is complete.
        Some(found) => format!("{:.2} %", (found.share() * 1e4).floor() / 1e2),
    }
}

fn print_recognition(meshes: &[Mesh], found: &[Vec<Option<Survey>>], costs: &[Vec<Cost>]) {
    println!("### Recognition and internal fragmentation\n");
    print!("| Strategy | Type | Complete, paper |");
    for mesh in meshes {
        print!(" Granted on {mesh} |");
    }
    println!(
        " Internal fragmentation, paper | measured, {FRAGMENTATION_SIDE}x{FRAGMENTATION_SIDE} |"
    );
    println!("|---|---|---|{}---|---:|", "---:|".repeat(meshes.len()));
    let at = SIDES.iter().position(|&side| side == FRAGMENTATION_SIDE);
    let at = at.expect("one of the sides");
    for ((&(kind, ref paper), found), costs) in ROWS.iter().zip(found).zip(costs) {
        print!("| {kind} | {} | {} |", paper.policy, paper.complete);
        for found in found {
            print!(" {} |", share(found.as_ref()));
        }
        let Cost {
            held, requested, ..
        } = costs[at];
        let internal = (held - requested) as f64 / held as f64;
        println!(" {} | {:.1} % |", paper.internal, internal * 100.0);
    }
}

/// Prints one of the two costs, the paper's expression beside it.
fn print_costs(
    name: &str,
    costs: &[Vec<Cost>],
    expression: impl Fn(&Paper) -> &'static str,
    nanoseconds: impl Fn(&Cost) -> f64,
) {
    println!("\n### {name}, nanoseconds\n");
    print!("| Strategy | Paper |");
    SIDES.iter().for_each(|side| print!(" {side}x{side} |"));
    println!(" Grows as |");
    println!("|---|---|{}---|", "---:|".repeat(SIDES.len()));
    for (&(kind, ref paper), costs) in ROWS.iter().zip(costs) {
        let times: Vec<f64> = costs.iter().map(&nanoseconds).collect();
        print!("| {kind} | {} |", expression(paper));
        times.iter().for_each(|time| print!(" {time:.0} |"));
        println!(" N^{:.2} |", exponent(&times));
    }
}

fn main() -> ExitCode {
    let mut quick = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => quick = true,
            other => {
                eprintln!("error: unknown argument {other:?}, expected nothing or --quick");
                return ExitCode::from(2);
            }
        }
    }
    let mut meshes = vec![mesh(4, 4)];
    if !quick {
        meshes.push(mesh(5, 5));
    }
    // Costs first and alone, so that nothing disturbs the clock.
    let costs: Vec<Vec<Cost>> = ROWS
        .iter()
        .map(|&(kind, _)| SIDES.iter().map(|&side| cost(kind, side)).collect())
        .collect();
    let start = Instant::now();
    let found = recognition(&meshes);
    print_recognition(&meshes, &found, &costs);
    print_costs(
        "Allocation",
        &costs,
        |paper| paper.allocation,
        |cost| cost.allocation_ns,
    );
    print_costs(
        "Release",
        &costs,
        |paper| paper.deallocation,
        |cost| cost.release_ns,
    );
    let names: Vec<String> = meshes.iter().map(ToString::to_string).collect();
    println!(
        "\nRecognition over all occupancies of {} took {:.0} s.",
        names.join(" and "),
        start.elapsed().as_secs_f64()
    );
    let wrong = ROWS.iter().zip(&found).filter(|((kind, _), found)| {
        let mut served = found.iter().flatten();
        served.all(Survey::is_complete) != kind.info().complete
    });
    let wrong: Vec<&str> = wrong.map(|((kind, _), _)| kind.name()).collect();
    if !wrong.is_empty() {
        eprintln!("error: recognition is not as stated: {}", wrong.join(", "));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
