//! Machines whose description aligns slices: every strategy that serves them, against its naive
//! form.

use meshalloc::{
    Allocator, Block, Description as Described, Flags, Grid as Machine, NodeId, Refusal, Request,
    StrategyKind,
};
use meshalloc_tests::convert;
use meshalloc_tests::grid::{Grid, lists, orders, padded};
use meshalloc_tests::pods::{Aligned, Cubes};
use meshalloc_tests::random::Random;
use meshalloc_tests::strategy::{Held, Strategy};
use meshalloc_tests::survey::{occupancies, requests};

use super::{CUBES, shape, with};

/// An aligned machine with its model.
fn described(grid: &Grid, host: &[u32], turns: bool) -> (Described, Aligned) {
    let numbers: Vec<u16> = host.iter().map(|&side| side as u16).collect();
    let machine = Described::new(convert::machine(grid))
        .and_then(|machine| machine.with_rotation(turns).with_align(&numbers))
        .expect("a machine");
    (machine, Aligned::new(host, turns))
}

/// Makes every request of a strategy on these occupancies of an aligned machine, and compares each
/// place with that of the naive form. Returns how many were granted.
fn compare(
    kind: StrategyKind,
    grid: &Grid,
    (machine, aligned): &(Described, Aligned),
    occupancies: impl Iterator<Item = u64>,
) -> u32 {
    let machine_grid = *machine.grid();
    let mut granted = 0;
    with(machine, kind, |allocator: &mut Allocator<'_>| {
        let mut model = Strategy::new(kind, grid).aligned(aligned.clone());
        let mut busy = 0_u64;
        for next in occupancies {
            for node in (0..grid.nodes()).filter(|node| (busy ^ next) >> node & 1 == 1) {
                let unit = machine_grid.unit(NodeId(node)).expect("a node");
                let is_busy = next >> node & 1 == 1;
                if is_busy {
                    allocator.mark_faulty(unit)
                } else {
                    allocator.clear_faulty(unit)
                };
                model.set(node, is_busy);
            }
            busy = next;
            for extents in requests(grid) {
                let request = shape(&extents);
                // As a machine that never turns a slice sees it.
                let seen = if machine.rotates() {
                    request
                } else {
                    request.with_flags(Flags::FIXED_ORIENTATION)
                };
                // A shape that is longer than the machine is not legal, though it may be folded.
                let named = padded(&extents, grid.dimensions()).expect("few extents");
                let fits = |order: &Vec<u32>| order.iter().zip(grid.sides()).all(|(a, b)| a <= b);
                let is_legal = if machine.rotates() {
                    orders(&named).iter().any(fits)
                } else {
                    fits(&named)
                };
                if is_legal {
                    model.arrived(&seen);
                }
                let expected = if is_legal {
                    model.place(&seen)
                } else {
                    Err(Refusal::NotLegal)
                };
                let fits = allocator.fits(&request);
                let answer = allocator.allocate(&request);
                let text = || {
                    let host = machine.align();
                    format!(
                        "{kind} {request:?}, hosts {host:?}, in\n{}",
                        model.machine()
                    )
                };
                assert_eq!(fits, expected.is_ok(), "{}", text());
                match (expected, answer) {
                    (Ok(Held::Box(place)), Ok(job)) => {
                        let blocks: Vec<Block> = allocator.blocks(&job).expect("held").collect();
                        let place = convert::block(machine_grid, &place);
                        assert_eq!(blocks, [place], "{}", text());
                        allocator.release(job).expect("it is held");
                        granted += 1;
                    }
                    (Err(_), Err(_)) => {}
                    (expected, answer) => panic!("{}: {expected:?}, {answer:?}", text()),
                }
            }
        }
        allocator.check_invariants();
    });
    granted
}

/// Random occupancies of every density.
fn random_occupancies(grid: &Grid, rounds: u32) -> impl Iterator<Item = u64> + use<> {
    let nodes = grid.nodes();
    let mut random = Random::new(nodes.into());
    let densities = (0..rounds).flat_map(move |_| 0..nodes);
    densities.map(move |busy| {
        let nodes = (0..nodes).filter(|_| random.below(nodes) < busy);
        nodes.fold(0, |mask, node| mask | 1 << node)
    })
}

/// Every request at every occupancy of small machines, and at random ones of larger machines: on
/// meshes, on tori, and with hosts that are turned and not.
#[test]
fn aligned_slices_are_those_of_the_naive_forms() {
    let machines: [(Grid, &[u32]); 8] = [
        (Grid::mesh(&[2, 3]), &[2, 1]),
        (Grid::torus(&[3, 2]), &[1, 2]),
        (Grid::mesh(&[4, 2]), &[2, 2]),
        (Grid::new(&[4, 2], &[true, false]), &[3, 2]),
        (Grid::torus(&[4, 4]), &[2, 4]),
        (Grid::mesh(&[5, 4]), &[4, 2]),
        (Grid::torus(&[2, 4, 2]), &[2, 2, 1]),
        (Grid::new(&[4, 3, 2], &[true, false, true]), &[1, 2, 2]),
    ];
    let serving = StrategyKind::ALL.iter().copied().filter(|&kind| {
        let machine = described(&Grid::mesh(&[4, 2]), &[2, 2], true).0;
        kind.serves_described(&machine)
    });
    let serving: Vec<StrategyKind> = serving.collect();
    assert_eq!(serving.len(), 11, "{serving:?}");
    for (grid, host) in &machines {
        for turns in [false, true] {
            let both = described(grid, host, turns);
            for &kind in serving.iter().filter(|kind| kind.serves_described(&both.0)) {
                let looks_ahead = matches!(
                    kind,
                    StrategyKind::LeastExpectedBlocking { .. } | StrategyKind::LebEstimates { .. }
                );
                let (most, rounds) = if looks_ahead { (6, 1) } else { (8, 4) };
                let granted = if grid.nodes() <= most {
                    compare(kind, grid, &both, occupancies(grid))
                } else {
                    compare(kind, grid, &both, random_occupancies(grid, rounds))
                };
                assert!(granted > 10, "{kind} on {grid}: {granted}");
            }
        }
    }
}

/// The free submesh list, best fit and the busy list at every occupancy of a 4 x 3 mesh and torus.
#[test]
fn places_by_their_surroundings_at_every_occupancy() {
    for grid in [Grid::mesh(&[4, 3]), Grid::torus(&[4, 3])] {
        let both = described(&grid, &[2, 1], true);
        for kind in [
            StrategyKind::FreeSubmeshList,
            StrategyKind::BestFit,
            StrategyKind::BusyList,
        ] {
            // Each fifth: an odd number, so that the first nodes have all patterns.
            let all = occupancies(&grid).step_by(5);
            assert!(compare(kind, &grid, &both, all) > 1000, "{kind} on {grid}");
        }
    }
}

/// Partitions of two cubes at every occupancy: a slice within a cube begins at multiples of its own
/// sides.
#[test]
fn cubes_are_divided_into_partitions() {
    let grid = Machine::torus(&[4, 4]).expect("a torus");
    let model = convert::grid(grid);
    for (cube, host, turns) in [
        ([4, 2], [4, 2], false),
        ([2, 4], [2, 4], true),
        ([4, 4], [2, 1], true),
        ([4, 4], [4, 4], false),
    ] {
        let sides = |of: [u32; 2]| of.map(|side| side as u16);
        let machine = Described::new(grid)
            .and_then(|machine| machine.with_rotation(turns).with_cube(&sides(cube)))
            .and_then(|machine| machine.with_align(&sides(host)))
            .expect("a machine");
        let naive = Cubes::new(&model, &cube, Aligned::new(&host, turns));
        let (mut granted, mut busy) = (0, 0_u64);
        with(&machine, CUBES, |allocator| {
            for next in occupancies(&model).step_by(17) {
                for node in (0..16).filter(|node| (busy ^ next) >> node & 1 == 1) {
                    let unit = grid.unit(NodeId(node)).expect("a node");
                    match next >> node & 1 {
                        1 => allocator.mark_faulty(unit),
                        _ => allocator.clear_faulty(unit),
                    };
                }
                busy = next;
                for extents in lists(&[6, 6]) {
                    let is_busy = |node: u32| busy >> node & 1 == 1;
                    let expected = naive.place(&extents, turns, false, &is_busy, &|_, _| true);
                    let answer = allocator.allocate(&shape(&extents));
                    match (expected, answer) {
                        (Some((_, places)), Ok(job)) => {
                            let blocks: Vec<Block> =
                                allocator.blocks(&job).expect("held").collect();
                            let places = places.iter().map(|place| convert::block(grid, place));
                            let places: Vec<Block> = places.collect();
                            assert_eq!(blocks, places, "{cube:?} {host:?} {extents:?} {busy:b}");
                            allocator.release(job).expect("it is held");
                            granted += 1;
                        }
                        (None, Err(_)) => {}
                        (expected, answer) => {
                            panic!(
                                "{cube:?} {host:?} {extents:?} {busy:b}: {expected:?} {answer:?}"
                            )
                        }
                    }
                }
            }
        });
        assert!(granted > 1000, "{granted}");
    }
    let pod = Described::preset("tpu-v7x").expect("a preset");
    with(&pod, CUBES, |allocator| {
        // The partitions of one cube: none is left over.
        let sizes = [[2, 4, 4], [2, 2, 4], [2, 2, 2], [2, 2, 1], [2, 2, 1]];
        let starts = sizes.map(|sides| {
            let job = allocator.allocate(&shape(&sides)).expect("a place");
            let block = allocator.blocks(&job).expect("held").next().expect("one");
            pod.grid().start(block).to_vec()
        });
        let expected = [[0, 0, 0], [2, 0, 0], [2, 2, 0], [2, 2, 2], [2, 2, 3]];
        assert_eq!(starts, expected);
        for wrong in [[1, 2, 2], [4, 2, 2], [4, 4, 2]] {
            assert!(allocator.allocate(&shape(&wrong)).is_err());
        }
        let job = allocator.allocate(&Request::chips(4)).expect("a place");
        assert_eq!(allocator.processors(&job), Ok(4));
    });
}
