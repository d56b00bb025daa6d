//! The same decisions with the board's 32-bit words and a host's 64-bit ones: one log of random
//! operations, one hash of everything that was answered.
//!
//! ```text
//! cargo test -p meshalloc-tests --test across word_lengths
//! cargo test -p meshalloc-tests --test across word_lengths --features word32
//! ```
//!
//! Both compare with the same files, `data/words-on-*.txt`. `cargo xtask docs` adds the lines of a
//! new strategy. Where decisions are changed on purpose, delete the lines that differ first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{env, fs};

use meshalloc::{
    Block, Change, Controller, Error, Flags, Grid, JobId, JobState, NodeId, Outcome, Refusal,
    Request, StrategyKind,
};
use meshalloc_tests::hash::Hash;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{
    Answer, HeapMemory, ask_at, configuration, cube, fault, mesh, subcube, unit,
};
use meshalloc_tests::{exhaustive, sample};

const OPERATIONS: u32 = 1500;
const JOBS: usize = 64;
/// Strategies with parameters, in addition to each strategy of the table with its defaults: both
/// ways of choosing happen.
const WITH_PARAMETERS: [&str; 11] = [
    "paging:snake=0",
    "sbt:16",
    "dbt:1/8",
    "ind-sbt:16",
    "ind-dbt:1/8",
    "d-sbt:16",
    "d-dbt:1/8",
    "curve:first-fit",
    "curve:best-fit",
    "curve:sum-of-squares",
    "curve:hilbert-best-fit",
];

/// Meshes with sides that are powers of two, not higher than wide.
const HALVABLE: [(u16, u16); 7] = [
    (1, 1),
    (16, 16),
    (32, 8),
    (32, 32),
    (64, 16),
    (64, 64),
    (128, 4),
];

/// Numbers of processors and periods of dimensions on both sides of both word lengths.
const CUBES: [(u16, u8); 16] = [
    (2, 3),
    (31, 1),
    (32, 1),
    (33, 1),
    (65, 1),
    (3, 3),
    (2, 5),
    (4, 3),
    (2, 6),
    (8, 2),
    (2, 7),
    (16, 2),
    (3, 5),
    (7, 3),
    (33, 2),
    (2, 10),
];

/// Widths on both sides of both word lengths, and of twice these.
const MESHES: [(u16, u16); 14] = [
    (1, 1),
    (1, 70),
    (70, 1),
    (31, 33),
    (32, 32),
    (33, 31),
    (63, 20),
    (64, 64),
    (65, 20),
    (95, 7),
    (96, 7),
    (97, 7),
    (128, 9),
    (129, 9),
];

fn put_block(hash: &mut Hash, grid: &Grid, block: Block) {
    for numbers in [grid.start(block), grid.extent(block)] {
        let numbers = grid.written(numbers);
        numbers.iter().for_each(|&at| hash.put(at.into()));
    }
}

fn put_answer(hash: &mut Hash, grid: &Grid, command: &Change, answer: &Answer) {
    for granted in &answer.grants {
        hash.put(granted.job.0.into());
        hash.put(granted.at);
        hash.put(granted.attempts.into());
        hash.put(granted.misses.into());
        for &block in &granted.blocks {
            put_block(hash, grid, block);
        }
    }
    let job = match *command {
        Change::Submit { job, .. } | Change::Release { job } => job.0,
        _ => 0,
    };
    match &answer.outcome {
        Ok(Outcome::Done) => {
            hash.put(job.into());
            match answer.state.expect("a submission") {
                JobState::Waiting { ahead } => hash.put(1 + u64::from(ahead)),
                JobState::Running { processors } => hash.put(u64::from(processors) << 32),
            }
        }
        Ok(Outcome::Released { processors }) => {
            hash.put(job.into());
            hash.put((*processors).into());
        }
        Ok(Outcome::Faults(report)) => {
            if let Change::MarkFaulty { block } | Change::ClearFaulty { block } = *command {
                let node = grid.node(&grid.start(block));
                hash.put(node.expect("it starts somewhere").0.into());
            }
            hash.put(report.first.map_or(u64::MAX, |job| job.0.into()));
            hash.put(report.changed.into());
        }
        Err(Error::Refused(refusal)) => {
            let place = Refusal::ALL.iter().position(|known| known == refusal);
            let place = place.expect("a known refusal") as u64;
            // There is no ninth refusal in the numbers that are hashed.
            hash.put(if place < 9 { place } else { place + 1 });
        }
        other => panic!("{other:?} was not asked for"),
    }
}

/// A log of operations that depends on the answers only through which jobs there are.
fn run(
    machine: Grid,
    strategy: StrategyKind,
    seed: u64,
    request: impl Fn(&mut Random) -> Request,
    hash: &mut Hash,
) {
    let mut memory = HeapMemory::new(machine, JOBS);
    let configuration = configuration(machine, strategy);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let mut random = Random::new(seed);
    let mut jobs: Vec<JobId> = Vec::new();
    for at in 0..OPERATIONS {
        let command = match random.below(20) {
            kind @ 0..=2 => {
                let node = NodeId(random.below(machine.nodes()));
                fault(unit(&machine, node), kind == 0)
            }
            3..=10 if !jobs.is_empty() => {
                let job = jobs.swap_remove(random.below(jobs.len() as u32) as usize);
                Change::Release { job }
            }
            _ => {
                let request = request(&mut random);
                let mut flags = Flags::empty();
                flags.set(Flags::NO_WAIT, random.percent(60));
                flags.set(Flags::FIXED_ORIENTATION, random.percent(20));
                Change::submit(JobId(at), request.with_flags(flags))
            }
        };
        let answer = ask_at(&mut controller, &command, at.into());
        if let (Change::Submit { job, .. }, Ok(_)) = (command, answer.outcome) {
            jobs.push(job);
        }
        put_answer(hash, &machine, &command, &answer);
    }
    controller.check_invariants();
    // The log must contain enough grants.
    assert!(
        controller.statistics().counts.granted > 50,
        "{machine} {strategy}"
    );
}

fn run_on_mesh(machine: Grid, strategy: StrategyKind, hash: &mut Hash) {
    let (w, h) = (machine.side(0), machine.side(1));
    let side = |random: &mut Random, side: u16| {
        let longest = if random.percent(5) {
            side
        } else {
            side.min(20)
        };
        random.between(1, longest.into()) as u16
    };
    let request = |random: &mut Random| Request::submesh(side(random, w), side(random, h));
    let seed = u64::from(w) << 16 | u64::from(h);
    run(machine, strategy, seed, request, hash);
}

fn run_on_cube(machine: Grid, strategy: StrategyKind, hash: &mut Hash) {
    let (k, n) = (machine.side(0), machine.dimensions());
    let request = |random: &mut Random| {
        // Mostly small; now and then what partner serves.
        let m = random.below(n as u32 + 1);
        let (least, most) = match random.below(4) {
            0 => (k, k),
            1 => (2, k),
            _ => (2, k.min(4)),
        };
        let radix = |_| random.between(least.into(), most.into()) as u16;
        subcube(&(0..m).map(radix).collect::<Vec<u16>>())
    };
    let seed = u64::from(k) << 16 | n as u64;
    run(machine, strategy, seed, request, hash);
}

/// Runs each strategy on those of these machines that it serves, and compares the hashes of all
/// answers with the lines `STRATEGY HASH` of a file. With `MESHALLOC_REFRESH_GOLDEN=1` lines that
/// are missing are added; lines that differ stay, so that no decision changes unnoticed.
fn assert_golden(file: &str, machines: &[Grid], run: impl Fn(Grid, StrategyKind, &mut Hash)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/data")
        .join(file);
    let golden = fs::read_to_string(&path).unwrap_or_default();
    let mut golden: BTreeMap<&str, &str> = golden
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let more = WITH_PARAMETERS.map(|text| text.parse().expect("a strategy"));
    let mut found = BTreeMap::new();
    let refreshes = env::var_os("MESHALLOC_REFRESH_GOLDEN").is_some_and(|value| value == "1");
    let strategies = StrategyKind::built().map(|kind| kind.seeded(7)).chain(more);
    let every = if refreshes || cfg!(feature = "word32") {
        1
    } else {
        exhaustive(1, 6)
    };
    for strategy in sample(strategies, every, 0) {
        let mut hash = Hash::default();
        let mut is_served = false;
        for &machine in machines {
            if strategy.serves().includes(&machine) {
                is_served = true;
                run(machine, strategy, &mut hash);
            }
        }
        if is_served {
            found.insert(strategy.to_string(), format!("{:#018x}", hash.get()));
        }
    }
    if refreshes {
        for (strategy, hash) in &found {
            golden.entry(strategy).or_insert(hash);
        }
        let lines = golden
            .iter()
            .map(|(strategy, hash)| format!("{strategy} {hash}\n"));
        fs::write(&path, lines.collect::<String>()).expect("the file can be written");
    }
    let is_asked = |strategy: &&str| every == 1 || found.contains_key(*strategy);
    golden.retain(|strategy, _| is_asked(strategy));
    let golden: BTreeSet<(&str, &str)> = golden.into_iter().collect();
    let found: BTreeSet<(&str, &str)> = found.iter().map(|(k, hash)| (&**k, &**hash)).collect();
    assert!(
        found == golden,
        "{file}, with words of {} bits: found {:?} in place of {:?}. `cargo xtask docs` adds \
         missing lines. A line that differs is a changed decision; if it is meant, delete the line \
         first.",
        word_bits(),
        &found - &golden,
        &golden - &found,
    );
}

#[test]
fn decisions_on_meshes_do_not_depend_on_the_length_of_a_word() {
    assert_golden("words-on-meshes.txt", &MESHES.map(grid), run_on_mesh);
}

/// Here binary trees and curves serve all.
#[test]
fn decisions_on_halvable_meshes_do_not_depend_on_the_length_of_a_word() {
    assert_golden(
        "words-on-halvable-meshes.txt",
        &HALVABLE.map(grid),
        run_on_mesh,
    );
}

#[test]
fn decisions_on_cubes_do_not_depend_on_the_length_of_a_word() {
    let cubes = CUBES.map(|(k, n)| cube(k, n).grid());
    assert_golden("words-on-cubes.txt", &cubes, run_on_cube);
}

fn grid((w, h): (u16, u16)) -> Grid {
    mesh(w, h).grid()
}

/// The bits in a word of this build.
fn word_bits() -> u32 {
    let mut memory = HeapMemory::new(mesh(1, 1), 1);
    let configuration = configuration(mesh(1, 1), StrategyKind::FirstFit);
    let controller = Controller::new(memory.memory(), configuration).expect("memory for it");
    controller.capacity().word_bits.into()
}

/// The two builds really differ.
#[test]
fn the_feature_chooses_the_length_of_a_word() {
    let expected = if cfg!(feature = "word32") {
        32
    } else {
        usize::BITS
    };
    assert_eq!(word_bits(), expected);
}
