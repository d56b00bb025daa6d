//! Random operations, every scheduler with plain arithmetic: after every one the answer, the statistics and the
//! occupancy are those of the plain model, and all invariants hold.

use std::collections::BTreeSet;

use meshalloc::scheduler::Threshold;
use meshalloc::{
    Configuration, Cube, Flags, MachineKind, Radices, Refusal, Request, SchedulerKind, StrategyKind,
};
use meshalloc_tests::plain::{CubeStrategy, trial};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::cube;

const OPERATIONS: u64 = 200;
const SEEDS: u64 = 12;

/// Words with padding: a part of one, or several; exactly one word; exactly several.
const CUBES: [(u16, u8); 13] = [
    (2, 1),
    (7, 1),
    (3, 3),
    (5, 2),
    (64, 1),
    (4, 3),
    (2, 6),
    (8, 2),
    (129, 1),
    (16, 2),
    (3, 5),
    (2, 8),
    (7, 3),
];

/// Now and then a radix above k, a dimension too many, or a wrong number of processors.
fn request(cube: Cube, radix_max: u16, random: &mut Random) -> Request {
    let upto = |random: &mut Random, bound: u16| random.between(0, bound.into()) as u16;
    let m = upto(random, cube.n().into());
    let most = radix_max.min(cube.k()) - 2;
    let mut radices: Vec<u16> = (0..m).map(|_| 2 + upto(random, most)).collect();
    match random.below(20) {
        0 => radices.push(2),
        // What partner serves.
        1..=4 => radices.fill(cube.k()),
        5 => {
            if let Some(radix) = radices.first_mut() {
                *radix = cube.k() + 1;
            }
        }
        _ => (),
    }
    // No cube has as many processors as some of the longest lists ask for.
    let request = Request::subcube(Radices::new(&radices).unwrap_or_default());
    let mut flags = Flags::empty();
    flags.set(Flags::FIXED_ORIENTATION, random.percent(25));
    flags.set(Flags::NO_WAIT, random.percent(50));
    let request = request.with_flags(flags);
    match random.below(60) {
        0 => request.with_processors(0),
        1 => request.with_processors(request.processors + 1),
        _ => request,
    }
}

fn scheduler(seed: u64) -> SchedulerKind {
    match seed % 3 {
        0 => SchedulerKind::Fcfs,
        1 => SchedulerKind::BypassQueue { threshold: 25 },
        _ => SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 15 }),
    }
}

fn answers_as_its_model(kind: StrategyKind) {
    let mut total = trial::Outcome::default();
    for (k, n) in CUBES {
        if kind == StrategyKind::FreeList && !k.is_power_of_two() {
            continue;
        }
        let cube = cube(k, n);
        for seed in 0..SEEDS {
            let radix_max = [2, 3, 5, u16::MAX][(seed % 4) as usize];
            let configuration = Configuration {
                machine: cube.into(),
                strategy: kind,
                scheduler: scheduler(seed),
            };
            let requests = |random: &mut Random| request(cube, radix_max, random);
            let outcome = trial::run::<CubeStrategy>(configuration, seed, OPERATIONS, requests);
            assert!(outcome.granted > 0, "{kind} on a {cube}, seed {seed}");
            total.merge(outcome);
        }
    }
    assert!(
        total.granted > 500 && total.misses > 50,
        "{kind}: {total:?}"
    );
    let mut expected: BTreeSet<&str> = Refusal::ALL.map(Refusal::name).into();
    // Names of jobs are used once here.
    expected.remove(Refusal::DuplicateJob.name());
    if kind != StrategyKind::Partner {
        expected.remove(Refusal::RadixBelowK.name());
    }
    assert_eq!(total.refusals, expected, "{kind}");
}

macro_rules! strategies {
    ($($name:ident: $kind:ident;)*) => {
        $(
            #[test]
            fn $name() {
                answers_as_its_model(StrategyKind::$kind);
            }
        )*

        /// Every strategy for cubes has a test above.
        #[test]
        fn none_is_left_out() {
            let tested = [$(StrategyKind::$kind),*];
            for kind in StrategyKind::built() {
                let on_cube = kind.info().machine == MachineKind::Cube;
                assert!(tested.contains(&kind) || !on_cube, "{kind}");
            }
        }
    };
}

strategies! {
    tree_collapsing: TreeCollapsing;
    tree_collapsing_printed: TreeCollapsingPrinted;
    free_list: FreeList;
    sniffing: Sniffing;
    partner: Partner;
}
