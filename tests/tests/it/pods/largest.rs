//! The largest slice and the largest free box.

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Answer, Change, Configuration, Controller, Description as Described, Flags, Grid as Machine,
    JobId, NodeId, Query, Request, SchedulerKind, Shape, StrategyKind,
};
use meshalloc_tests::convert;
use meshalloc_tests::grid::{Place, lists};
use meshalloc_tests::pods;
use meshalloc_tests::random::Random;

use super::{CUBES, STATES, shape};

/// The largest legal slice and the largest free box, against a look at every box and every shape.
#[test]
fn the_largest_slice_is_that_of_a_look_at_every_shape() {
    let mut random = Random::new(4);
    let listed = [[1_u16, 1], [1, 2], [2, 3]].map(|sides| Shape::new(&sides).expect("a shape"));
    let plane = Described::new(Machine::mesh(&[6, 5]).expect("a mesh"));
    let torus = Described::new(Machine::torus(&[4, 3, 3]).expect("a torus"));
    let cubes = Described::new(Machine::torus(&[4, 4, 2]).expect("a torus"));
    for (machine, strategy) in [
        (plane, StrategyKind::AdaptiveScan),
        (
            plane.and_then(|it| it.with_shapes(&listed)),
            StrategyKind::AdaptiveScan,
        ),
        (torus, StrategyKind::AdaptiveScan),
        (
            torus.and_then(|it| it.with_multiple(&[2, 1, 1])),
            StrategyKind::AdaptiveScan,
        ),
        (cubes.and_then(|it| it.with_cube(&[2, 2, 1])), CUBES),
        (torus, StrategyKind::Naive),
        (plane, StrategyKind::LShape),
        (plane, StrategyKind::Neighbor),
    ] {
        let machine = machine.expect("a machine");
        let grid = *machine.grid();
        let model = convert::grid(grid);
        let needs = Needs::described(strategy, &machine, 4);
        let mut storage = HeapStorage::new(needs, 4);
        let configuration = Configuration {
            machine: grid,
            strategy,
            scheduler: SchedulerKind::Fcfs,
        };
        let memory = storage.memory().describing(&machine);
        let mut controller = Controller::new(memory, configuration).expect("it is served");
        // All boxes, the largest first, then by their first node.
        let sides = model.sides().to_vec();
        let all = lists(&sides).into_iter().flat_map(|extent| {
            let starts = (0..model.nodes()).map(|node| model.position(node));
            let place = move |start| Place {
                start,
                extent: extent.clone(),
            };
            starts.map(place).collect::<Vec<_>>()
        });
        let mut boxes: Vec<Place> = all.filter(|place| model.has(place)).collect();
        boxes.sort_by_key(|place| std::cmp::Reverse(place.size()));
        for _ in 0..STATES / 40 {
            controller.handle(&Change::Reset, 0).expect("it is reset");
            for _ in 0..random.below(grid.nodes()) {
                let block = grid
                    .unit(NodeId(random.below(grid.nodes())))
                    .expect("a node");
                let marked = controller.handle(&Change::MarkFaulty { block }, 0);
                marked.expect("a block of the machine");
            }
            let nodes = (0..model.nodes()).map(NodeId);
            let busy: Vec<bool> = nodes
                .map(|node| controller.occupancy().is_busy(node))
                .collect();
            let is_free = |place: &Place| {
                let mut nodes = model.nodes_of(place).into_iter();
                nodes.all(|node| !busy[node as usize])
            };
            let largest = boxes.iter().find(|place| is_free(place)).map(Place::size);
            let answer = controller.answer(&Query::Largest, None).expect("an answer");
            let Answer::Largest(report) = answer else {
                panic!("{answer:?}");
            };
            assert_eq!(report.block.map(|block| grid.area(block)), largest);
            if let Some(block) = report.block {
                assert!(is_free(&convert::place(grid, block)));
            }
            // The most processors with which a job that never waits is granted.
            let free = controller.occupancy().free();
            let n = grid.dimensions();
            let most = (1..=free).rev().find(|&chips| {
                let shapes = match strategy {
                    StrategyKind::Naive => vec![Request::chips(chips)],
                    _ => pods::boxes(chips, n)
                        .iter()
                        .map(|sides| shape(sides))
                        .collect(),
                };
                shapes.into_iter().any(|request| {
                    let request = request.with_flags(request.flags | Flags::NO_WAIT);
                    let job = JobId(1);
                    let granted = controller.handle(&Change::submit(job, request), 0).is_ok();
                    if granted {
                        let released = controller.handle(&Change::Release { job }, 0);
                        released.expect("it runs");
                    }
                    granted
                })
            });
            assert_eq!(report.processors, most.unwrap_or(0), "{strategy} {grid}");
            let volume = report.shape.map_or(report.processors, Shape::area);
            assert_eq!(volume, report.processors);
        }
    }
}
