//! A right controller is believed, whatever its strategy.

use meshalloc::{Cube, Grid, Mesh, NodeId, SchedulerKind, Shape};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::*;
use meshalloc_sim::backend::{Backend, InProcess};

/// A few jobs more than can run.
const JOBS: usize = 40;

fn machines() -> [Grid; 4] {
    [
        Mesh::new(16, 8).unwrap().grid(),
        Mesh::new(8, 8).unwrap().grid(),
        Cube::new(4, 3).unwrap().grid(),
        "mesh 4x4x8 wrap 2".parse().unwrap(),
    ]
}

/// Random changes and queries, and all answers to them. Returns the number of grants.
fn believe(configuration: Configuration, seed: u64) -> u32 {
    let machine = configuration.machine;
    let mut storage = heap_storage(machine, None, configuration.strategy, JOBS);
    let Ok(mut controller) = InProcess::new(storage.memory(), configuration) else {
        return 0;
    };
    let mut audit = Audit::new(configuration, None).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |end: u32| random.next_u32() % end;
    let mut granted = 0;
    for now in 0..400 {
        let job = JobId(below(24));
        let extents: Vec<u16> = machine
            .sides()
            .iter()
            .map(|&side| match below(6) {
                0 => side,
                1 | 2 => 1,
                _ => 1 + below(u32::from(side) / 2) as u16,
            })
            .collect();
        let mut request = Request::new(Shape::new(&extents).unwrap());
        if below(3) == 0 {
            request = request.with_processors(1 + below(request.processors));
        }
        for flag in [Flags::NO_WAIT, Flags::FIXED_ORIENTATION] {
            if below(3) == 0 {
                request = request.with_flags(request.flags | flag);
            }
        }
        let node = NodeId(below(machine.nodes()));
        let coordinates = machine.coordinates(node).unwrap();
        let ones = vec![1; machine.dimensions()];
        let block = machine.block(&coordinates, &ones).unwrap();
        let change = match below(16) {
            0..=5 => Change::submit(job, request),
            6 => Change::Submit {
                job,
                request,
                lease: NonZeroU64::new(1 + u64::from(below(30))),
            },
            7 => Change::Lease {
                job,
                ticks: NonZeroU64::new(below(30).into()),
            },
            8..=10 => Change::Release { job },
            11 if below(3) == 0 => Change::MarkFaulty { block },
            11 | 12 => Change::ClearFaulty { block },
            which => {
                let query = match which {
                    13 if below(2) == 0 => Query::Job { job },
                    13 => Query::Blocks { job, from: 0 },
                    14 => Query::Occupancy {
                        from: NodeId(node.0 / 8 * 8),
                    },
                    _ => Query::Statistics,
                };
                let answer = controller.query(&query).unwrap();
                let checked = audit.answer(&query, &answer);
                assert_eq!(checked, Ok(()), "{configuration:?}: {query:?}: {answer:?}");
                continue;
            }
        };
        let now = 3 * now;
        audit.begin(&change, now);
        let outcome = controller.call(&change, now, &mut |event, blocks| {
            granted += u32::from(event.what != Happened::LeaseEnded);
            let checked = audit.event(event, blocks);
            assert_eq!(checked, Ok(()), "{configuration:?}: {change:?}: {event:?}");
        });
        let outcome = outcome.unwrap();
        let checked = audit.end(&change, &outcome);
        assert_eq!(
            checked,
            Ok(()),
            "{configuration:?}: {change:?}: {outcome:?}"
        );
    }
    granted
}

#[test]
fn a_right_controller_is_believed() {
    for (number, &strategy) in StrategyKind::ALL.iter().enumerate() {
        // Machines that are described are no part of a configuration.
        if strategy.serves().needs_description() {
            continue;
        }
        let mut granted = 0;
        for machine in machines() {
            for scheduler in [SchedulerKind::Fcfs, SchedulerKind::Conservative] {
                let configuration = Configuration {
                    machine,
                    strategy,
                    scheduler,
                };
                granted += believe(configuration, number as u64);
            }
        }
        assert!(granted > 10, "{strategy}: {granted}");
    }
}
