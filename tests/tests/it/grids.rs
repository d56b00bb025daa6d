//! Meshes, tori and mixed grids of any number of dimensions: every occupancy of 3 x 2 x 2 times
//! every request, and random operations on larger grids, for every strategy that serves all grids,
//! against their naive forms.

use meshalloc::{PageOrder, StrategyKind};
use meshalloc_tests::convert::{is_served, machine};
use meshalloc_tests::grid::{Grid, lists};
use meshalloc_tests::sample;
use meshalloc_tests::survey::{Compare, occupancies, survey};

use crate::random_operations::{check, config};

const ROW_MAJOR: StrategyKind = pages(PageOrder::RowMajor, 0);
const SNAKE: StrategyKind = pages(PageOrder::Snake, 0);

const fn pages(order: PageOrder, exponent: u64) -> StrategyKind {
    StrategyKind::Paging { order, exponent }
}

/// The strategies that serve every grid.
const STRATEGIES: [StrategyKind; 8] = [
    StrategyKind::FirstFit,
    StrategyKind::AdaptiveScan,
    StrategyKind::Naive,
    StrategyKind::Random { seed: 5 },
    ROW_MAJOR,
    SNAKE,
    StrategyKind::TreeCollapsing,
    StrategyKind::TreeCollapsingPrinted,
];

/// All 4,096 occupancies (every seventh, without the feature `exhaustive`) times all requests of up
/// to three extents, and some that are for no such grid. A complete strategy grants a request if
/// and only if a box with its extents is free, along whatever dimensions; naive also grants others.
fn every_occupancy_of_3_2_2(wraps: [bool; 3]) {
    let grid = Grid::new(&[3, 2, 2], &wraps);
    let mut extents: Vec<Vec<u32>> = (0..=3).flat_map(|m| lists(&vec![3; m])).collect();
    extents.extend([vec![4], vec![2, 1, 5], vec![13], vec![2, 0], vec![1; 4]]);
    assert_eq!(occupancies(&grid).len(), 4096);
    for kind in STRATEGIES {
        assert!(is_served(kind, &grid), "{kind} on {grid}");
        let occupancies = sample(occupancies(&grid), 7, 0);
        let found = survey(
            kind,
            machine(&grid),
            occupancies,
            &extents,
            Compare::WithModel,
        );
        assert!(found.granted > 0, "{kind} on {grid}");
        assert_eq!(
            found.is_complete(),
            kind.info().complete,
            "{kind} on {grid}: {found:?}"
        );
    }
}

#[test]
fn every_occupancy_of_a_mesh_of_3_2_2() {
    every_occupancy_of_3_2_2([false; 3]);
}

#[test]
fn every_occupancy_of_a_torus_of_3_2_2() {
    every_occupancy_of_3_2_2([true; 3]);
}

#[test]
fn every_occupancy_of_3_2_2_with_one_dimension_that_wraps() {
    every_occupancy_of_3_2_2([true, false, false]);
    every_occupancy_of_3_2_2([false, false, true]);
}

fn random_operations_on(grid: &Grid) {
    for kind in STRATEGIES {
        assert!(is_served(kind, grid), "{kind} on {grid}");
        // `Configure` switches to the others.
        let others = [Grid::mesh(&[6, 3]), Grid::cube(3, 3)];
        let machines = [grid, &others[0], &others[1]].map(machine);
        check(&machines, kind, config());
    }
}

#[test]
fn pages_of_several_processors() {
    let other = Grid::mesh(&[8, 4]);
    for grid in [
        Grid::mesh(&[8, 12]),
        Grid::torus(&[4, 4, 6]),
        Grid::new(&[2, 4, 2, 6], &[false, true, false, true]),
        Grid::cube(4, 3),
    ] {
        for order in [PageOrder::RowMajor, PageOrder::Snake] {
            check(
                &[machine(&grid), machine(&other)],
                pages(order, 1),
                config(),
            );
        }
    }
    let grid = Grid::mesh(&[8, 12]);
    check(&[machine(&grid)], pages(PageOrder::Snake, 2), config());
    assert!(!is_served(pages(PageOrder::Snake, 3), &grid));
}

macro_rules! grids {
    ($($name:ident: $grid:expr;)*) => {
        $(
            #[test]
            fn $name() {
                random_operations_on(&$grid);
            }
        )*
    };
}

grids! {
    mesh_5_4_3: Grid::mesh(&[5, 4, 3]);
    torus_5_4_3: Grid::torus(&[5, 4, 3]);
    mixed_5_4_3: Grid::new(&[5, 4, 3], &[false, true, false]);
    mesh_4_4_6: Grid::mesh(&[4, 4, 6]);
    torus_4_4_6: Grid::torus(&[4, 4, 6]);
    mixed_4_4_6: Grid::new(&[4, 4, 6], &[true, false, true]);
    torus_4_4_4: Grid::torus(&[4, 4, 4]);
    torus_7_5: Grid::torus(&[7, 5]);
    mesh_2_3_2_5: Grid::mesh(&[2, 3, 2, 5]);
    torus_2_3_2_5: Grid::torus(&[2, 3, 2, 5]);
    mixed_2_3_2_5: Grid::new(&[2, 3, 2, 5], &[false, true, false, true]);
}
