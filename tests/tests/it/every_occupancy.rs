//! Every request at every occupancy of small machines, made of faulty nodes, and at random
//! occupancies of larger ones. Each strategy answers exactly as its naive form, grants only free
//! nodes, and is complete if its documentation says so.
//!
//! In the order of a Gray code each occupancy follows from the one before by a single fault or
//! repair. So a strategy updates its data 65,536 times in a row on 16 nodes, and again by every
//! grant and release. There the naive form answers at every fifth occupancy. Without the feature
//! `exhaustive` only a fifth of the occupancies come where there are more than 1,024.

use std::sync::atomic::{AtomicUsize, Ordering};

use meshalloc::{Grid as Machine, PageOrder, StrategyKind};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::grid::Grid;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{cube, mesh};
use meshalloc_tests::strategy::counts_processors;
use meshalloc_tests::survey::{Compare, Survey, occupancies, requests, survey};
use meshalloc_tests::{exhaustive, sample};

/// On 4 x 4 the naive form answers at one occupancy of so many. Odd: with an even number the first
/// nodes would not have all patterns of the Gray code.
const PART: usize = 5;

/// Sides that fit a 4 x 4 mesh only turned, folded or in another shape, and some that never fit.
const LONG: [(u32, u32); 20] = [
    (5, 1),
    (1, 5),
    (6, 1),
    (1, 6),
    (8, 1),
    (1, 8),
    (6, 2),
    (2, 6),
    (8, 2),
    (2, 8),
    (16, 1),
    (1, 16),
    (5, 4),
    (4, 5),
    (17, 1),
    (1, 17),
    (1, 65_535),
    (65_535, 2),
    (0, 1),
    (1, 0),
];

/// Makes every request whose extents are at most the longest side.
fn over(
    kind: StrategyKind,
    machine: Machine,
    occupancies: impl Iterator<Item = u64>,
    compare: Compare,
) -> Survey {
    let grid = convert::grid(machine);
    let found = survey(kind, machine, occupancies, &requests(&grid), compare);
    assert!(found.granted > 0, "{kind} on {grid}");
    found
}

/// All occupancies of a grid, or a fifth of those of a grid of more than 10 nodes.
fn sampled(grid: &Grid) -> impl Iterator<Item = u64> {
    sample(occupancies(grid), if grid.nodes() > 10 { 5 } else { 1 }, 0)
}

/// Random occupancies of every density, `rounds` times.
fn random_occupancies(grid: &Grid, rounds: u32) -> impl Iterator<Item = u64> {
    let nodes = grid.nodes();
    let mut random = Random::new(
        grid.sides()
            .iter()
            .fold(0, |seed, &side| seed << 8 | u64::from(side)),
    );
    let densities = (0..rounds).flat_map(move |_| 0..=nodes);
    densities.map(move |busy| {
        let nodes = (0..nodes).filter(|_| random.below(nodes) < busy);
        nodes.fold(0, |mask, node| mask | 1 << node)
    })
}

/// Meshes, tori, and grids of which some dimensions wrap.
fn other_grids() -> [Grid; 7] {
    [
        Grid::new(&[4, 3], &[false, true]),
        Grid::mesh(&[2, 3, 2]),
        Grid::torus(&[3, 3, 3]),
        Grid::new(&[4, 3, 2], &[true, false, true]),
        Grid::mesh(&[3, 2, 1, 2]),
        Grid::torus(&[3, 2, 2, 2]),
        Grid::new(&[5, 1, 4], &[false, true, true]),
    ]
}

fn answers_as_its_naive_form(kind: StrategyKind) {
    // If only the number of processors matters, most of these requests are the same;
    // `io_processors` compares the others.
    let on_4_by_4 = match kind {
        StrategyKind::Naive
        | StrategyKind::GenAlg
        | StrategyKind::Mm
        | StrategyKind::Mc1x1
        | StrategyKind::Partition => Compare::Every(PART),
        // Every draw of its generator is compared.
        StrategyKind::Random { .. } => Compare::WithModel,
        _ if counts_processors(kind) => Compare::Nothing,
        _ => Compare::Every(PART),
    };
    let machines = [
        (mesh(4, 4), on_4_by_4),
        (mesh(5, 2), Compare::Nothing),
        (mesh(2, 5), Compare::Nothing),
    ];
    // LEB and its naive form take minutes on 4 x 4; `least_expected_blocking` compares.
    let is_long = matches!(
        kind,
        StrategyKind::LeastExpectedBlocking { .. } | StrategyKind::LebEstimates { .. }
    );
    for (machine, compare) in machines.into_iter().skip(usize::from(is_long)) {
        let grid = convert::grid(machine.into());
        if is_served(kind, &grid) {
            let found = over(kind, machine.into(), sampled(&grid), compare);
            if grid.w_h() == Some((4, 4)) && compare != Compare::Nothing {
                let long = LONG.map(|(a, b)| vec![a, b]);
                let busy = random_occupancies(&grid, 30);
                survey(kind, machine.into(), busy, &long, Compare::WithModel);
            }
            assert_eq!(
                found.is_complete(),
                kind.info().complete,
                "{kind} on {grid}: {found:?}"
            );
        }
    }
    // The most nodes of a machine on which every occupancy is compared, and the rounds of random
    // ones on larger machines: the naive forms that look at every box take long. Without the
    // feature `exhaustive` a third of the random ones come.
    let (nodes_max, rounds) = match kind {
        StrategyKind::LeastExpectedBlocking { .. } | StrategyKind::LebEstimates { .. } => (6, 1),
        StrategyKind::FreeSubmeshList => (12, 2),
        StrategyKind::BestFit | StrategyKind::BusyList => (12, 6),
        _ => (12, 12),
    };
    let compared = |machine: Machine, grid: &Grid| match grid.nodes() {
        nodes if nodes <= nodes_max => over(kind, machine, sampled(grid), Compare::WithModel),
        _ => over(
            kind,
            machine,
            sample(random_occupancies(grid, rounds), 3, 0),
            Compare::WithModel,
        ),
    };
    // On some cubes all strategies are complete.
    let mut on_cubes = Survey::default();
    for (k, n) in [(3, 2), (2, 3), (2, 4), (12, 1), (4, 2), (4, 3), (2, 6)] {
        let grid = convert::grid(cube(k, n).into());
        if is_served(kind, &grid) {
            on_cubes.merge(compared(cube(k, n).into(), &grid));
        }
    }
    for grid in other_grids() {
        if is_served(kind, &grid) {
            let found = compared(convert::machine(&grid), &grid);
            assert!(
                found.is_complete() || !kind.info().complete,
                "{kind} on {grid}: {found:?}"
            );
        }
    }
    if on_cubes.recognisable > 0 {
        assert!(
            on_cubes.granted > exhaustive(500, 200).into(),
            "{kind}: {on_cubes:?}"
        );
        assert_eq!(
            on_cubes.is_complete(),
            kind.info().complete,
            "{kind}: {on_cubes:?}"
        );
    }
}

/// Every strategy with its default parameters, and paging in the other order. With
/// `MESHALLOC_STRATEGY=NAME` only this one.
#[test]
fn each_strategy_answers_as_its_naive_form() {
    let snake = StrategyKind::Paging {
        order: PageOrder::Snake,
        exponent: 0,
    };
    let only: Option<StrategyKind> = std::env::var("MESHALLOC_STRATEGY")
        .ok()
        .map(|name| name.parse().expect("MESHALLOC_STRATEGY is a strategy"));
    let kinds = StrategyKind::built().chain([snake]);
    let kinds: Vec<_> = kinds
        .filter(|kind| only.is_none_or(|only| only == *kind))
        .collect();
    assert!(!kinds.is_empty(), "{only:?} is not in this build");
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&kind) = kinds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    println!("{kind}");
                    answers_as_its_naive_form(kind);
                }
            });
        }
    });
}

/// On a hypercube there is one radix, and nothing to round or to order. So the searches for
/// subcubes are complete, except partner and first fit, which do not try all dimensions.
#[test]
fn on_a_hypercube_only_partner_and_first_fit_are_incomplete() {
    let machine = cube(2, 3).grid();
    let grid = convert::grid(machine);
    for kind in StrategyKind::built().filter(|&kind| is_served(kind, &grid)) {
        let found = over(kind, machine, occupancies(&grid), Compare::WithModel);
        let expected = match kind {
            StrategyKind::Partner | StrategyKind::FirstFit => false,
            StrategyKind::TreeCollapsingPrinted
            | StrategyKind::FreeList
            | StrategyKind::Sniffing => true,
            _ if kind.info().complete => true,
            _ => continue,
        };
        assert_eq!(found.is_complete(), expected, "{kind}: {found:?}");
    }
}
