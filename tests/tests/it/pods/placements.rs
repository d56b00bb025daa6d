//! Fixed placements: `torus3d`.

use meshalloc::{
    Allocator, Block, Description as Described, Grid as Machine, NodeId, Placement, Refusal,
    Request, StrategyKind,
};
use meshalloc_tests::convert;
use meshalloc_tests::pods;
use meshalloc_tests::random::Random;

use super::{STATES, nodes_of, shape, with};

/// The trace of `topology/torus3d` with which the definition ends.
#[test]
fn the_reference_trace_of_fixed_placements() {
    let of = |dims: &[u16]| Placement::new(dims, &[], &[]).expect("a placement");
    let grid = Machine::torus(&[4, 4, 2]).expect("a torus");
    let machine = Described::new(grid)
        .and_then(|machine| {
            machine.with_placements(&[of(&[2, 2, 1]), of(&[2, 2, 2]), of(&[4, 4, 2])])
        })
        .expect("a machine");
    with(&machine, StrategyKind::Torus3d, |allocator| {
        let naive = convert::grid(grid);
        let start = |allocator: &mut Allocator<'_>, chips: u32| {
            let job = allocator.allocate(&Request::chips(chips))?;
            let blocks: Vec<Block> = allocator.blocks(&job).expect("it is held").collect();
            let mut nodes = nodes_of(&naive, &blocks);
            nodes.sort_unstable();
            Ok::<_, Refusal>((nodes, job))
        };
        let (nodes, first) = start(allocator, 4).expect("a place");
        assert_eq!(nodes, [0, 1, 4, 5]);
        assert_eq!(start(allocator, 4).expect("a place").0, [16, 17, 20, 21]);
        let (nodes, _) = start(allocator, 8).expect("a place");
        assert_eq!(nodes, [8, 9, 12, 13, 24, 25, 28, 29]);
        assert_eq!(start(allocator, 4).expect("a place").0, [2, 3, 6, 7]);
        assert_eq!(allocator.release(first), Ok(4));
        assert_eq!(start(allocator, 4).expect("a place").0, [0, 1, 4, 5]);
        assert_eq!(
            start(allocator, 7).map(|(nodes, _)| nodes),
            Err(Refusal::NeverFits)
        );
        // A shape stands for its number of processors.
        let as_shape = allocator.allocate(&shape(&[4])).expect("a place");
        assert_eq!(allocator.processors(&as_shape), Ok(4));
    });
}

/// Random machines and placements, against the naive form after every operation.
#[test]
fn fixed_placements_are_those_of_the_naive_form() {
    let mut random = Random::new(7);
    for round in 0..STATES.div_ceil(50) {
        let n = 1 + random.below(3) as usize;
        let sides: Vec<u16> = (0..n).map(|_| 2 + random.below(5) as u16).collect();
        let grid = Machine::torus(&sides).expect("a torus");
        let list = |random: &mut Random, most: &dyn Fn(usize) -> u32, least: u32| {
            let number = |at| (least + random.below(most(at))) as u16;
            (0..n).map(number).collect::<Vec<u16>>()
        };
        let placements: Vec<[Vec<u16>; 3]> = (0..1 + random.below(4))
            .map(|_| {
                let side = |at: usize| u32::from(sides[at]);
                [
                    list(&mut random, &side, 1),
                    list(&mut random, &side, 0),
                    list(&mut random, &side, 1),
                ]
            })
            .collect();
        let described: Vec<Placement> = placements
            .iter()
            .map(|[dims, seed, spacing]| Placement::new(dims, seed, spacing).expect("one"))
            .collect();
        let long = |numbers: &Vec<u16>| numbers.iter().map(|&n| n.into()).collect::<Vec<u32>>();
        let naive: Vec<pods::Placement> = placements
            .iter()
            .map(|[dims, seed, spacing]| (long(dims), long(seed), long(spacing)))
            .collect();
        let machine = Described::new(grid)
            .and_then(|machine| machine.with_placements(&described))
            .expect("a machine");
        with(&machine, StrategyKind::Torus3d, |allocator| {
            let model = convert::grid(grid);
            let mut held = Vec::new();
            for _ in 0..50 {
                if random.below(3) == 0 && !held.is_empty() {
                    let job = held.swap_remove(random.below(held.len() as u32) as usize);
                    allocator.release(job).expect("it is held");
                    continue;
                }
                let chips = match random.below(4) {
                    0 => 1 + random.below(grid.nodes()),
                    _ => {
                        let (dims, ..) = &naive[random.below(naive.len() as u32) as usize];
                        dims.iter().product()
                    }
                };
                let is_busy = |node: u32| allocator.occupancy().is_busy(NodeId(node));
                let expected = pods::torus3d(&model, &naive, chips, &is_busy);
                let granted = allocator.allocate(&Request::chips(chips));
                match (expected, granted) {
                    (Some(place), Ok(job)) => {
                        let block = convert::block(grid, &place);
                        let blocks: Vec<Block> = allocator.blocks(&job).expect("held").collect();
                        assert_eq!(blocks, [block], "round {round}");
                        held.push(job);
                    }
                    (None, Err(_)) => {}
                    (expected, granted) => panic!("round {round}: {expected:?} {granted:?}"),
                }
            }
            allocator.check_invariants();
        });
    }
}
