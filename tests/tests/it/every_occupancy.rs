//! Every request at every occupancy of small machines, made of faulty nodes, and at random
//! occupancies of larger ones. Each strategy answers exactly as its naive form, grants only free
//! nodes, and is complete if its documentation says so.
//!
//! In the order of a Gray code each occupancy follows from the one before by a single fault or
//! repair. So a strategy updates its data 65,536 times in a row on 16 nodes, and again by every
//! grant and release.

use meshalloc::{CurveFit, Grid as Machine, PageOrder, StrategyKind};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::grid::Grid;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{cube, mesh};
use meshalloc_tests::strategy::counts_processors;
use meshalloc_tests::survey::{Compare, Survey, occupancies, requests, survey};

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

/// Makes every request.
fn over(
    kind: StrategyKind,
    machine: Machine,
    occupancies: impl Iterator<Item = u64>,
    compare: Compare,
) -> Survey {
    let grid = convert::grid(machine);
    let mut extents = requests(&grid);
    if grid.w_h() == Some((4, 4)) {
        extents.extend(LONG.map(|(a, b)| vec![a, b]));
    }
    let found = survey(kind, machine, occupancies, &extents, compare);
    assert!(found.granted > 0, "{kind} on {grid}");
    found
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

fn answers_as_its_naive_form(kind: StrategyKind) {
    // If only the number of processors matters, most of these requests are the same;
    // `io_processors` compares the others.
    let on_4_by_4 = match kind {
        StrategyKind::Naive | StrategyKind::Random { .. } => Compare::WithModel,
        _ if counts_processors(kind) => Compare::Nothing,
        // Their naive form takes minutes; `least_expected_blocking` compares.
        StrategyKind::LeastExpectedBlocking { .. } | StrategyKind::LebEstimates { .. } => {
            Compare::Nothing
        }
        _ => Compare::WithModel,
    };
    for (machine, compare) in [
        (mesh(4, 4), on_4_by_4),
        (mesh(5, 3), Compare::Nothing),
        (mesh(2, 7), Compare::Nothing),
    ] {
        let grid = convert::grid(machine.into());
        if is_served(kind, &grid) {
            let found = over(kind, machine.into(), occupancies(&grid), compare);
            assert_eq!(
                found.is_complete(),
                kind.info().complete,
                "{kind} on {grid}: {found:?}"
            );
        }
    }
    // On some cubes all are complete.
    let mut on_cubes = Survey::default();
    for (k, n) in [(3, 2), (2, 3), (2, 4), (12, 1), (4, 2), (4, 3), (2, 6)] {
        let grid = convert::grid(cube(k, n).into());
        if is_served(kind, &grid) {
            let machine = cube(k, n).into();
            let found = match grid.nodes() {
                ..=16 => over(kind, machine, occupancies(&grid), Compare::WithModel),
                _ => over(
                    kind,
                    machine,
                    random_occupancies(&grid, 12),
                    Compare::WithModel,
                ),
            };
            on_cubes.merge(found);
        }
    }
    if on_cubes.recognisable > 0 {
        assert!(on_cubes.granted > 500, "{kind}: {on_cubes:?}");
        assert_eq!(
            on_cubes.is_complete(),
            kind.info().complete,
            "{kind}: {on_cubes:?}"
        );
    }
}

macro_rules! strategies {
    ($($name:ident: $kind:ident $({ $($field:ident: $value:expr),+ })?;)*) => {
        $(
            #[test]
            fn $name() {
                answers_as_its_naive_form(StrategyKind::$kind $({ $($field: $value),+ })?);
            }
        )*

        /// Every strategy has a test above.
        #[test]
        fn none_is_left_out() {
            let tested = [$(StrategyKind::$kind $({ $($field: $value),+ })?),*];
            assert!(StrategyKind::built().all(|kind| tested.contains(&kind)));
        }
    };
}

strategies! {
    buddy: Buddy;
    frame_sliding: FrameSliding;
    first_fit: FirstFit;
    best_fit: BestFit;
    adaptive_scan: AdaptiveScan;
    busy_list: BusyList;
    free_submesh_list: FreeSubmeshList;
    naive: Naive;
    fixed_orientation: FixedOrientation;
    flex_fold: FlexFold;
    all_shapes: AllShapes;
    l_shape: LShape;
    neighbor: Neighbor;
    multiple_buddy: MultipleBuddy;
    tree_collapsing: TreeCollapsing;
    tree_collapsing_printed: TreeCollapsingPrinted;
    free_list: FreeList;
    sniffing: Sniffing;
    partner: Partner;
    random: Random { seed: 0 };
    paging: Paging { order: PageOrder::RowMajor, exponent: 0 };
    paging_snake: Paging { order: PageOrder::Snake, exponent: 0 };
    binary_tree: BinaryTree;
    static_binary_tree: StaticBinaryTree { tolerance: 256 };
    dynamic_binary_tree: DynamicBinaryTree { ratio: 500_000 };
    independent_binary_tree: IndependentBinaryTree;
    independent_static_binary_tree: IndependentStaticBinaryTree { tolerance: 256 };
    independent_dynamic_binary_tree: IndependentDynamicBinaryTree { ratio: 500_000 };
    dependent_binary_tree: DependentBinaryTree;
    dependent_static_binary_tree: DependentStaticBinaryTree { tolerance: 256 };
    dependent_dynamic_binary_tree: DependentDynamicBinaryTree { ratio: 500_000 };
    compact_binary_tree: CompactBinaryTree;
    parallel_layout: ParallelLayout;
    curve: Curve { fit: CurveFit::FirstFit };
    least_expected_blocking: LeastExpectedBlocking { budget: 64 };
    leb_estimates: LebEstimates { budget: 64 };
}

/// On a hypercube there is one radix, and nothing to round or to order: all are complete but
/// partner and first fit, which do not try all dimensions.
#[test]
fn on_a_hypercube_only_partner_and_first_fit_are_incomplete() {
    let machine = cube(2, 3).grid();
    let grid = convert::grid(machine);
    for kind in StrategyKind::built().filter(|&kind| is_served(kind, &grid)) {
        let found = over(kind, machine, occupancies(&grid), Compare::WithModel);
        let expected = ![StrategyKind::Partner, StrategyKind::FirstFit].contains(&kind);
        assert_eq!(found.is_complete(), expected, "{kind}: {found:?}");
    }
}
