//! The naive forms of the strategies that serve every grid: which places they try on grids of three
//! and four dimensions, and in which order.

use std::collections::BTreeSet;

use meshalloc::StrategyKind;
use meshalloc_tests::grid::{Grid, Place, lists};
use meshalloc_tests::strategy::{Strategy, Wanted};

fn tried(kind: StrategyKind, grid: &Grid, extents: &[u32]) -> Vec<Place> {
    let wanted = Wanted {
        extents: extents.to_vec(),
        processors: 1,
        may_rotate: true,
    };
    let mut tried = Vec::new();
    Strategy::new(kind, grid).candidates(&wanted, &mut |place| {
        tried.push(place.clone());
        false
    });
    tried
}

fn grids() -> [Grid; 6] {
    [
        Grid::mesh(&[3, 2, 2]),
        Grid::torus(&[3, 2, 2]),
        Grid::new(&[3, 2, 2], &[true, false, false]),
        Grid::new(&[4, 4, 3], &[false, true, false]),
        Grid::torus(&[7, 5]),
        Grid::mesh(&[2, 3, 2, 5]),
    ]
}

/// Every box with the extents of a request, along any dimensions, is tried exactly once.
#[test]
fn adaptive_scan_and_tree_collapsing_try_every_box_once() {
    for grid in grids() {
        let longest = grid.sides().iter().copied().max().unwrap_or(1);
        for extents in (0..=grid.dimensions()).flat_map(|m| lists(&vec![longest; m])) {
            let key = |place: &Place| (place.start.clone(), place.extent.clone());
            let all: BTreeSet<_> = grid.boxes(&extents).iter().map(key).collect();
            for kind in [StrategyKind::AdaptiveScan, StrategyKind::TreeCollapsing] {
                let places = tried(kind, &grid, &extents);
                let distinct: BTreeSet<_> = places.iter().map(key).collect();
                assert_eq!(
                    distinct.len(),
                    places.len(),
                    "{kind}, {extents:?} on {grid}"
                );
                assert_eq!(distinct, all, "{kind}, {extents:?} on {grid}");
            }
        }
    }
}

/// Extents along dimensions 0, 1, .. as named, then all other assignments in lexicographic order;
/// starts by number.
#[test]
fn adaptive_scan_begins_as_first_fit() {
    let grid = Grid::new(&[4, 3, 3], &[true, false, false]);
    let first_fit = tried(StrategyKind::FirstFit, &grid, &[3, 2]);
    // Four starts around the ring, two along y, three along z.
    assert_eq!(first_fit.len(), 4 * 2 * 3);
    assert!(first_fit.iter().all(|place| place.extent == [3, 2, 1]));
    let starts: Vec<&[u32]> = first_fit[..5]
        .iter()
        .map(|place| &place.start[..])
        .collect();
    assert_eq!(
        starts,
        [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [0, 1, 0]]
    );
    let adaptive_scan = tried(StrategyKind::AdaptiveScan, &grid, &[3, 2]);
    assert_eq!(adaptive_scan[..first_fit.len()], first_fit);
    let mut extents: Vec<&[u32]> = adaptive_scan
        .iter()
        .map(|place| &place.extent[..])
        .collect();
    extents.dedup();
    let named_first = [
        [3, 2, 1],
        [1, 2, 3],
        [1, 3, 2],
        [2, 1, 3],
        [2, 3, 1],
        [3, 1, 2],
    ];
    assert_eq!(extents, named_first);
}

/// On a grid that is no cube the last extent named belongs to the highest `*`. Start positions come
/// in lexicographic order from the highest dimension down, then the select digits; a dimension that
/// does not wrap ends at its side.
#[test]
fn tree_collapsing_names_the_lowest_dimension_first() {
    let grid = Grid::new(&[4, 3, 2], &[true, false, false]);
    for kind in [
        StrategyKind::TreeCollapsing,
        StrategyKind::TreeCollapsingPrinted,
    ] {
        let places = tried(kind, &grid, &[3, 1, 2]);
        let first: Vec<(&[u32], &[u32])> = places[..5]
            .iter()
            .map(|place| (&place.start[..], &place.extent[..]))
            .collect();
        // □**: 3 along x, 2 along y.
        let extent = [3, 2, 1].as_slice();
        let starts = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [2, 0, 0]];
        assert_eq!(first, starts.each_ref().map(|start| (&start[..], extent)));
    }
    // On a cube the list is read like an address.
    let cube = Grid::cube(4, 3);
    let first = &tried(StrategyKind::TreeCollapsing, &cube, &[3, 2])[0];
    assert_eq!(first.extent, [2, 3, 1]);
}
