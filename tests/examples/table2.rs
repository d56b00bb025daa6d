//! Table 2-1 of Alshdefat 2019, "Comparison among allocation strategies", measured for every
//! strategy that serves two-dimensional meshes.
//!
//! ```text
//! cargo run --release -p meshalloc-tests --example table2
//! ```
//!
//! Prints Markdown. Fragmentation comes from a steady load with uniform sides, 1 to half the
//! mesh's: while the jobs that run and the next one together ask for no more than all processors
//! the next operation allocates, otherwise a random job leaves. When a job is not granted it is
//! given up, and a random job leaves.
//!
//! - External fragmentation: the free processors, as a part of all, at an attempt that fails
//!   although at least as many are free as are requested; the mean over such attempts, and the part
//!   that they are of all attempts. A strategy suffers from it if there is such an attempt.
//! - Internal fragmentation: processors held beyond those requested, as a part of those held.
//! - Rotation: whether a request for 1 x 4 is granted where only 4 x 1 is free.
//!
//! The mark of the thesis stands next to each measurement, if the thesis has the strategy.

use meshalloc::{Command, Controller, Error, Flags, JobId, Reply, Request, StrategyKind};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, configuration, mesh, set_faulty, submit};

/// A power of two, as the buddy system serves no other.
const SIDE: u16 = 32;
const OPERATIONS: u32 = 40_000;
const SEED: u64 = 2019;

/// The rows of the thesis: external fragmentation, internal fragmentation, rotation.
const THESIS: [(&str, [bool; 3]); 8] = [
    ("buddy", [true, true, false]),
    ("frame-sliding", [true, false, false]),
    ("adaptive-scan", [true, false, true]),
    ("first-fit", [true, false, false]),
    ("best-fit", [true, false, false]),
    ("flex-fold", [true, false, true]),
    ("all-shapes", [true, false, true]),
    ("l-shape", [true, false, true]),
];

/// The counts under the steady load.
#[derive(Default)]
struct Measured {
    attempts: u64,
    /// Attempts that failed although enough processors were free, and the free processors at all of
    /// them together.
    failed: u64,
    free: u64,
    requested: u64,
    held: u64,
}

fn measure(kind: StrategyKind) -> Measured {
    let machine = mesh(SIDE, SIDE).grid();
    let mut memory = HeapMemory::new(machine, machine.nodes() as usize);
    let mut controller = Controller::new(memory.memory(), configuration(machine, kind))
        .expect("it serves square meshes with a power of two as side");
    let mut random = Random::new(SEED);
    let mut jobs: Vec<(JobId, u32)> = Vec::new();
    let (mut wanted, mut measured) = (0, Measured::default());
    for operation in 0..OPERATIONS {
        let [w, h] = [SIDE / 2; 2].map(|side| random.between(1, side.into()) as u16);
        let request = Request::submesh(w, h).with_flags(Flags::NO_WAIT);
        let asked = request.processors;
        let free = controller.occupancy().free();
        if wanted + asked > machine.nodes() {
            wanted -= leave(&mut controller, &mut jobs, &mut random);
            continue;
        }
        let job = JobId(operation);
        let mut answer = None;
        controller.handle(&Command::Submit { job, request }, 0, &mut |reply| {
            if reply.is_final() {
                answer = Some(reply.clone());
            }
        });
        measured.attempts += 1;
        match answer {
            Some(Reply::Submitted { .. }) => {
                jobs.push((job, asked));
                wanted += asked;
                measured.requested += u64::from(asked);
                measured.held += u64::from(free - controller.occupancy().free());
            }
            Some(Reply::Error(Error::Refused(_))) => {
                if free >= asked {
                    measured.failed += 1;
                    measured.free += u64::from(free);
                }
                // Room for the next one.
                wanted -= leave(&mut controller, &mut jobs, &mut random);
            }
            other => panic!("{other:?}"),
        }
    }
    measured
}

/// A random job leaves. Returns what it asked for.
fn leave(
    controller: &mut Controller<'_>,
    jobs: &mut Vec<(JobId, u32)>,
    random: &mut Random,
) -> u32 {
    let (job, asked) = jobs.swap_remove(random.below(jobs.len() as u32) as usize);
    controller.handle(&Command::Release { job }, 0, &mut |_| ());
    asked
}

/// Whether 1 x 4 is granted where only the row y = 0 of a 4 x 4 mesh is free.
fn rotates(kind: StrategyKind) -> bool {
    let machine = mesh(4, 4).grid();
    let mut memory = HeapMemory::new(machine, 1);
    let mut controller = Controller::new(memory.memory(), configuration(machine, kind))
        .expect("it serves square meshes with a power of two as side");
    for node in 4..16 {
        set_faulty(&mut controller, node, true);
    }
    let request = Request::submesh(1, 4).with_flags(Flags::NO_WAIT);
    matches!(
        submit(&mut controller, 1, request).last,
        Reply::Submitted { .. }
    )
}

fn main() {
    println!(
        "| Strategy | External fragmentation | thesis | Internal fragmentation | thesis | Rotation | thesis |"
    );
    println!("|---|---:|---|---:|---|---|---|");
    let yes_no = |yes: bool| if yes { "yes" } else { "no" };
    let machine = mesh(SIDE, SIDE).grid();
    let mut differ = Vec::new();
    for kind in StrategyKind::built().filter(|kind| kind.serves().includes(&machine)) {
        let found = measure(kind);
        let rotates = rotates(kind);
        let part = |some: u64, all: u64| 100.0 * some as f64 / all.max(1) as f64;
        let external = match found.failed {
            0 => "none".to_owned(),
            failed => format!(
                "{:.1} % free at {:.1} % of attempts",
                part(found.free, failed * u64::from(machine.nodes())),
                part(failed, found.attempts)
            ),
        };
        let internal = match found.held - found.requested {
            0 => "none".to_owned(),
            beyond => format!("{:.1} %", part(beyond, found.held)),
        };
        let thesis = THESIS.iter().find(|row| row.0 == kind.name());
        let [says_external, says_internal, says_rotation] = match thesis {
            Some((_, marks)) => marks.map(yes_no),
            None => ["-"; 3],
        };
        println!(
            "| {kind} | {external} | {says_external} | {internal} | {says_internal} | {} | {says_rotation} |",
            yes_no(rotates)
        );
        let measured = [found.failed > 0, found.held > found.requested, rotates];
        if thesis.is_some_and(|(_, marks)| *marks != measured) {
            differ.push(kind.name());
        }
    }
    println!(
        "\n{SIDE} x {SIDE}, {OPERATIONS} operations, seed {SEED}. Where the thesis is contradicted: {}.",
        match &differ[..] {
            [] => "nowhere".to_owned(),
            differ => differ.join(", "),
        }
    );
}
