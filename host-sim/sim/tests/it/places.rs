//! How often a request fits and in how many places, against definitions by brute force.

use std::collections::BTreeSet;

use meshalloc::{
    Change, Configuration, Description, Flags, Grid, JobId, NodeId, Request, SchedulerKind, Shape,
    StrategyKind,
};
use meshalloc_sim::situation::{Room, Situation};

use crate::situation::{free_boxes, in_random_states, points_of, runs, submit};

const ANY_MAY_TRY: SchedulerKind = SchedulerKind::BypassQueue {
    threshold: u64::MAX,
};

/// A situation without jobs, with these faulty processors.
fn idle<'d>(
    machine: Grid,
    strategy: StrategyKind,
    description: Option<&'d Description>,
    faulty: Vec<NodeId>,
) -> Situation<'d> {
    let configuration = Configuration {
        machine,
        strategy,
        scheduler: ANY_MAY_TRY,
    };
    Situation {
        faulty,
        ..Situation::idle(configuration, description)
    }
}

#[test]
fn places_of_small_machines_are_counted_by_hand() {
    let machine = Grid::mesh(&[4, 4]).unwrap();
    let room = |strategy, request| {
        let situation = idle(machine, strategy, None, vec![NodeId(5)]);
        situation.room(&request).unwrap()
    };
    // 2 x 2 has nine places on 4 x 4, and the processor (1, 1) is in four of them. First fit takes
    // (2, 0), (0, 2) and (2, 2).
    let square = Request::submesh(2, 2);
    let places = Some(5);
    assert_eq!(
        room(StrategyKind::FirstFit, square),
        Room { times: 3, places }
    );
    // First fit turns nothing: 1 x 3 has eight places, two of them with x = 1 and y from 0 or 1 on.
    let line = Request::submesh(1, 3);
    assert_eq!(room(StrategyKind::FirstFit, line).places, Some(6));
    assert_eq!(room(StrategyKind::AdaptiveScan, line).places, Some(12));
    // Three processors are a line of three, in any order.
    assert_eq!(
        room(StrategyKind::AdaptiveScan, Request::chips(3)).places,
        Some(12)
    );
    // A buddy of side 3 is one of 4, which has the faulty processor; one of side 2 is as named.
    assert_eq!(
        room(StrategyKind::Buddy, Request::submesh(3, 3)).places,
        Some(0)
    );
    assert_eq!(room(StrategyKind::Buddy, square).times, 3);
    let gang = square.with_slices(meshalloc::Slices::new(2).unwrap());
    assert_eq!(
        room(StrategyKind::FirstFit, gang),
        Room { times: 1, places }
    );
    // It can never fit.
    let long = Request::submesh(5, 1);
    assert_eq!(
        room(StrategyKind::FirstFit, long),
        Room {
            times: 0,
            places: Some(0)
        }
    );
    // These do not choose one box.
    assert_eq!(room(StrategyKind::LShape, square).places, None);
    assert_eq!(
        room(StrategyKind::AdaptiveScan, square.with_flags(Flags::RINGS)).places,
        None
    );
    let (machine, strategy) = (Grid::torus(&[4, 4]).unwrap(), StrategyKind::FirstFit);
    // A box that covers a ring begins nowhere else.
    let ring = idle(machine, strategy, None, Vec::new())
        .room(&Request::submesh(4, 2))
        .unwrap();
    assert_eq!((ring.places, ring.times), (Some(4), 2));
}

/// The number of places is that of free boxes, and as many jobs start as there is room for.
#[test]
fn room_is_that_of_brute_force() {
    for (machine, strategy, turns) in [
        (Grid::mesh(&[6, 6]), StrategyKind::FirstFit, false),
        (Grid::mesh(&[6, 6]), StrategyKind::AdaptiveScan, true),
        (Grid::torus(&[3, 3, 3]), StrategyKind::AdaptiveScan, true),
    ] {
        let machine = machine.unwrap();
        let configuration = Configuration {
            machine,
            strategy,
            scheduler: ANY_MAY_TRY,
        };
        let mut seen = [0_u32; 2];
        // Ten thousand in all with the feature.
        let states = if cfg!(feature = "exhaustive") {
            3_400
        } else {
            200
        };
        in_random_states(configuration, states, &mut |backend, situation, _| {
            let busy = points_of(&machine, situation, 0);
            for waiting in situation.waiting.iter().map(|waiting| waiting.request) {
                let extents = waiting.shape.extents();
                let boxes = free_boxes(&machine, &extents, turns, &busy);
                let boxes: BTreeSet<BTreeSet<_>> =
                    boxes.map(|places| places.into_iter().collect()).collect();
                let room = situation.room(&waiting).unwrap();
                assert_eq!(room.places, Some(boxes.len() as u32), "{situation:?}");
                assert_eq!(room.times == 0, boxes.is_empty(), "{situation:?}");
            }
            for waiting in &situation.waiting {
                let release = Change::Release { job: waiting.job };
                let _ = backend.call(&release, 30, &mut |_, _| ()).unwrap();
            }
            let request = Request::new(Shape::new(&[2, 1]).unwrap());
            let room = situation.room(&request).unwrap();
            let started = (100..).take_while(|&job| {
                submit(backend, job, request, 30);
                runs(backend, JobId(job))
            });
            assert_eq!(room.times, started.count() as u32, "{situation:?}");
            seen[usize::from(room.times > 0)] += 1;
        });
        assert!(seen.iter().all(|&count| count > 3), "{strategy}: {seen:?}");
    }
}

/// The places on a machine with rules are those at which the strategy grants the request when
/// nothing else is free.
#[test]
fn places_follow_the_rules_of_the_machine() {
    let machine = Grid::mesh(&[6, 6]).unwrap();
    let shapes: Vec<_> = [[2, 2], [2, 3], [2, 4], [4, 4]]
        .iter()
        .map(|sides| Shape::new(sides).unwrap())
        .collect();
    let described = Description::new(machine).unwrap();
    let described = described.with_shapes(&shapes).unwrap();
    let aligned = described.with_align(&[2, 1]).unwrap();
    let fixed = aligned.with_rotation(false);
    let mut counted = BTreeSet::new();
    for description in [&described, &aligned, &fixed] {
        for strategy in [StrategyKind::FirstFit, StrategyKind::AdaptiveScan] {
            let faulty = vec![NodeId(8), NodeId(22)];
            let situation = idle(machine, strategy, Some(description), faulty);
            assert_eq!(situation.legal_shapes(), shapes);
            let requests = shapes.iter().map(|&shape| Request::new(shape));
            for request in requests.chain([4, 8, 5].map(Request::chips)) {
                let extents = (1..=6).flat_map(|w| (1..=6).map(move |h| [w, h]));
                let is_size = |&[w, h]: &[u16; 2]| u32::from(w * h) == request.processors;
                let boxes = extents.filter(is_size).flat_map(|extents| {
                    let busy = points_of(&machine, &situation, 0);
                    free_boxes(&machine, &extents, false, &busy).collect::<Vec<_>>()
                });
                let granted = boxes.filter(|places| {
                    let nodes = (0..machine.nodes()).map(NodeId);
                    let is_other = |&node: &NodeId| {
                        !places.contains(&machine.coordinates(node).unwrap().to_vec())
                    };
                    let others = nodes.filter(is_other).collect();
                    let alone = idle(machine, strategy, Some(description), others);
                    alone.attempt(&request).unwrap().is_ok()
                });
                let granted = granted.count() as u32;
                let room = situation.room(&request).unwrap();
                assert_eq!(room.places, Some(granted), "{strategy}, {request:?}");
                counted.insert(granted);
            }
        }
    }
    assert!(counted.len() > 8 && counted.contains(&0), "{counted:?}");
}

#[test]
fn legal_shapes_are_those_of_the_description() {
    let legal = |preset: &str, strategy| {
        let description = Description::preset(preset).unwrap();
        let situation = idle(
            *description.grid(),
            strategy,
            Some(&description),
            Vec::new(),
        );
        let shapes = situation.legal_shapes();
        for &shape in &shapes {
            assert!(
                situation.room(&Request::new(shape)).unwrap().times > 0,
                "{shape}"
            );
        }
        shapes.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let v5e = legal("tpu-v5e", StrategyKind::FirstFit);
    assert_eq!(
        v5e,
        ["1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16"]
    );
    let v4 = legal("tpu-v4", StrategyKind::Cubes { fold: false });
    let first = ["1x1x1", "1x1x2"];
    assert_eq!(v4[..2], first);
    assert!(v4.contains(&"4x4x4".to_owned()) && v4.contains(&"16x16x16".to_owned()));
    let machine = Grid::mesh(&[4, 4]).unwrap();
    let any = idle(machine, StrategyKind::FirstFit, None, Vec::new());
    assert_eq!(any.legal_shapes(), []);
}
