//! `folding` and `curve` on any grid.

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Allocator, Block, CurveFit, CurveLine, Flags, Grid as Machine, NodeId, StrategyKind,
};
use meshalloc_tests::convert;
use meshalloc_tests::random::Random;
use meshalloc_tests::strategy::Strategy;

use super::{STATES, random_request};

/// Folding and curves on grids of one to five dimensions that wrap or not, at random occupancies.
#[test]
fn folding_and_curves_on_any_grid_are_those_of_the_naive_form() {
    let mut random = Random::new(3);
    let fits = [
        CurveFit::FirstFit,
        CurveFit::BestFit,
        CurveFit::SumOfSquares,
        CurveFit::SmallestRange,
    ];
    for (sides, wraps) in [
        (&[4_u16, 4][..], 0_u16),
        (&[5, 3], 0),
        (&[6, 5], 0b11),
        (&[4, 4, 4], 0b111),
        (&[3, 4, 5], 0b101),
        (&[2, 3, 2, 4], 0b1111),
        (&[7], 1),
        (&[2, 2, 2, 2, 2], 0b1_1111),
    ] {
        let grid = Machine::new(sides, wraps).expect("a grid");
        let model = convert::grid(grid);
        let lines = [CurveLine::Neighbors, CurveLine::Hilbert];
        let kinds = lines
            .into_iter()
            .flat_map(|line| fits.map(|fit| StrategyKind::Curve { fit, line }));
        for kind in kinds.chain([StrategyKind::Folding]) {
            if !convert::is_served(kind, &model) {
                continue;
            }
            let needs = Needs::of(kind, &grid, grid.nodes() as usize);
            let mut storage = HeapStorage::new(needs, 0);
            let memory = storage.allocator_memory();
            let mut allocator = Allocator::new(memory, grid, kind).expect("it is served");
            let empty = Strategy::new(kind, &model);
            let mut granted = 0;
            for _ in 0..STATES / 10 {
                let mut busy = vec![false; grid.nodes() as usize];
                for _ in 0..random.below(grid.nodes()) {
                    let node = random.below(grid.nodes());
                    busy[node as usize] = true;
                    allocator.mark_faulty(grid.unit(NodeId(node)).expect("a node"));
                }
                let naive = empty.where_busy(&busy);
                for _ in 0..4 {
                    let request = random_request(&mut random, sides.len(), 8);
                    let flags = request.flags & Flags::FIXED_ORIENTATION;
                    let request = request.with_flags(flags);
                    match (naive.place(&request), allocator.allocate(&request)) {
                        (Ok(held), Ok(job)) => {
                            let blocks = allocator.blocks(&job).expect("it is held");
                            let blocks: Vec<Block> = blocks.collect();
                            let text = format!("{kind} {grid} {request:?}: {held:?}");
                            assert!(held.is(&model, &blocks), "{text}");
                            allocator.release(job).expect("it is held");
                            granted += 1;
                        }
                        (Err(expected), Err(refusal)) => assert_eq!(expected, refusal, "{kind}"),
                        (expected, answer) => panic!("{kind} {grid}: {expected:?} {answer:?}"),
                    }
                }
                let all = grid.block(&vec![0; sides.len()], sides).expect("all");
                allocator.clear_faulty(all);
            }
            assert!(granted > 0, "{kind} {grid}");
        }
    }
}
