//! The same decisions with the board's 32-bit words and a host's 64-bit ones: one log of random
//! operations, one hash of everything that was answered.
//!
//! ```text
//! cargo test -p meshalloc-tests --test across word_lengths
//! cargo test -p meshalloc-tests --test across word_lengths --features word32
//! ```
//!
//! Both compare with the same constant. When decisions are changed on purpose, the failing test
//! prints the new one.

use meshalloc::{
    Block, Command, Controller, Error, Flags, Grid, JobId, JobState, NodeId, PageOrder, Refusal,
    Reply, Request, StrategyKind,
};
use meshalloc_tests::hash::Hash;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{
    Answer, HeapMemory, ask_at, configuration, cube, fault, mesh, subcube, unit,
};

const OPERATIONS: u32 = 1500;
const JOBS: usize = 64;
const SNAKE: StrategyKind = StrategyKind::Paging {
    order: PageOrder::Snake,
    exponent: 0,
};
/// The hash of all answers in [`run`] on all meshes, for strategies that serve any mesh.
const GOLDEN: [(StrategyKind, u64); 9] = [
    (StrategyKind::FirstFit, 0x81e2_87c1_bcd9_cc33),
    (StrategyKind::AdaptiveScan, 0x78c7_4114_139b_13b0),
    (StrategyKind::FreeSubmeshList, 0x6af9_ad33_2a42_20d8),
    (StrategyKind::Naive, 0xd854_c09b_a7c5_fd77),
    (StrategyKind::LShape, 0x87e3_36a1_8484_0240),
    (StrategyKind::Neighbor, 0xb837_1beb_4552_7205),
    (StrategyKind::MultipleBuddy, 0xffb8_2c22_d2b6_812b),
    (StrategyKind::Random { seed: 7 }, 0xef32_8253_0d85_1a22),
    (SNAKE, 0x64a3_fbfe_3f01_f689),
];

/// The same on all cubes, for each strategy that serves any cube.
const GOLDEN_CUBES: [(StrategyKind, u64); 5] = [
    (StrategyKind::TreeCollapsing, 0xae00_58ce_6661_634d),
    (StrategyKind::TreeCollapsingPrinted, 0x5532_5d69_bb21_e3b6),
    (StrategyKind::FreeList, 0x28bc_6b70_2687_f466),
    (StrategyKind::Sniffing, 0xee7b_29c6_91a3_2265),
    (StrategyKind::Partner, 0x074c_2a3f_1ddf_c5d4),
];

/// The same on all halvable meshes, for each strategy that serves those or any, with parameters
/// that make both ways of choosing happen.
const GOLDEN_HALVABLE: [(&str, u64); 14] = [
    ("bt", 0x06e6_66d2_6565_bef5),
    ("sbt:16", 0x230f_1b49_158d_521c),
    ("dbt:1/8", 0x3285_3332_c3b0_5cf7),
    ("ind-bt", 0xa4e7_0dc8_a404_ec8d),
    ("ind-sbt:16", 0x7713_23fc_8d51_b9ae),
    ("ind-dbt:1/8", 0xcfd0_7659_5846_288d),
    ("d-bt", 0x41ad_e702_1ff8_bd1f),
    ("d-sbt:16", 0xe103_dc32_7af9_264f),
    ("d-dbt:1/8", 0xaa16_40e0_106b_bcd1),
    ("scbt", 0x4af8_a302_ef1c_fdf2),
    ("plas", 0x9fd7_3815_91cf_d7db),
    ("curve:first-fit", 0xc686_3c7d_8093_2f03),
    ("curve:best-fit", 0x0119_686b_9952_ee4e),
    ("curve:sum-of-squares", 0xcd5b_3379_4b65_39fa),
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

fn put_answer(hash: &mut Hash, grid: &Grid, command: &Command, answer: &Answer) {
    for granted in &answer.grants {
        hash.put(granted.job.0.into());
        hash.put(granted.at);
        hash.put(granted.attempts.into());
        hash.put(granted.misses.into());
        for &block in &granted.blocks {
            put_block(hash, grid, block);
        }
    }
    match &answer.last {
        Reply::Submitted { job, state } => {
            hash.put(job.0.into());
            match *state {
                JobState::Waiting { ahead } => hash.put(1 + u64::from(ahead)),
                JobState::Running { processors } => hash.put(u64::from(processors) << 32),
            }
        }
        Reply::Released { job, processors } => {
            hash.put(job.0.into());
            hash.put((*processors).into());
        }
        Reply::Fault(report) => {
            if let Command::MarkFaulty { block } | Command::ClearFaulty { block } = *command {
                let node = grid.node(&grid.start(block));
                hash.put(node.expect("it starts somewhere").0.into());
            }
            hash.put(report.first.map_or(u64::MAX, |job| job.0.into()));
            hash.put(report.changed.into());
        }
        Reply::Error(Error::Refused(refusal)) => {
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
                Command::Release { job }
            }
            _ => {
                let request = request(&mut random);
                let mut flags = Flags::empty();
                flags.set(Flags::NO_WAIT, random.percent(60));
                flags.set(Flags::FIXED_ORIENTATION, random.percent(20));
                Command::Submit {
                    job: JobId(at),
                    request: request.with_flags(flags),
                }
            }
        };
        let answer = ask_at(&mut controller, &command, at.into());
        if let Reply::Submitted { job, .. } = answer.last {
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

fn run_on_mesh(w: u16, h: u16, strategy: StrategyKind, hash: &mut Hash) {
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
    run(mesh(w, h).into(), strategy, seed, request, hash);
}

fn run_on_cube(k: u16, n: u8, strategy: StrategyKind, hash: &mut Hash) {
    let request = |random: &mut Random| {
        // Mostly small; now and then what partner serves.
        let m = random.below(u32::from(n) + 1);
        let (least, most) = match random.below(4) {
            0 => (k, k),
            1 => (2, k),
            _ => (2, k.min(4)),
        };
        let radix = |_| random.between(least.into(), most.into()) as u16;
        subcube(&(0..m).map(radix).collect::<Vec<u16>>())
    };
    let seed = u64::from(k) << 16 | u64::from(n);
    run(cube(k, n).into(), strategy, seed, request, hash);
}

fn assert_golden<const LEN: usize>(
    golden: [(StrategyKind, u64); LEN],
    run_all: impl Fn(StrategyKind, &mut Hash),
) {
    let found = golden.map(|(strategy, _)| {
        let mut hash = Hash::default();
        run_all(strategy, &mut hash);
        (strategy, format!("{:#018x}", hash.get()))
    });
    let expected = golden.map(|(strategy, hash)| (strategy, format!("{hash:#018x}")));
    assert_eq!(found, expected, "with words of {} bits", word_bits());
}

#[test]
fn decisions_do_not_depend_on_the_length_of_a_word() {
    assert_golden(GOLDEN, |strategy, hash| {
        for (w, h) in MESHES {
            run_on_mesh(w, h, strategy, hash);
        }
    });
}

#[test]
fn decisions_on_cubes_do_not_depend_on_the_length_of_a_word() {
    assert_golden(GOLDEN_CUBES, |strategy, hash| {
        let powers_of_two = strategy == StrategyKind::FreeList;
        for (k, n) in CUBES {
            if !powers_of_two || k.is_power_of_two() {
                run_on_cube(k, n, strategy, hash);
            }
        }
    });
}

#[test]
fn decisions_of_trees_and_curves_do_not_depend_on_the_length_of_a_word() {
    let golden = GOLDEN_HALVABLE
        .map(|(text, hash)| (text.parse().expect("a strategy with its parameter"), hash));
    assert_golden(golden, |strategy, hash| {
        for (w, h) in HALVABLE {
            run_on_mesh(w, h, strategy, hash);
        }
    });
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
    let expected = match cfg!(feature = "word32") {
        true => 32,
        false => usize::BITS,
    };
    assert_eq!(word_bits(), expected);
}
