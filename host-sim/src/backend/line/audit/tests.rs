//! What a right controller says is believed, whatever its strategy.

use meshalloc::{Controller, Cube, Grid, Mesh, NodeId, SchedulerKind, Shape};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::*;

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

/// Random commands, and what the controller replies to them; returns the number of grants.
fn believe(configuration: Configuration, seed: u64) -> u32 {
    let machine = configuration.machine;
    let mut storage = heap_storage(machine, configuration.strategy, JOBS);
    let Ok(mut controller) = Controller::new(storage.memory(), configuration) else {
        return 0;
    };
    let mut audit = Audit::new(configuration).unwrap();
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
        let command = match below(16) {
            0..=5 => Command::Submit { job, request },
            6 => Command::SubmitLeased {
                job,
                request,
                ticks: 1 + u64::from(below(30)),
            },
            7 => Command::Lease {
                job,
                ticks: below(30).into(),
            },
            8..=10 => Command::Release { job },
            11 if below(3) == 0 => Command::MarkFaulty { block },
            11 | 12 => Command::ClearFaulty { block },
            13 => Command::QueryJob { job },
            14 => Command::Occupancy {
                from: NodeId(node.0 / 8 * 8),
            },
            _ => Command::Statistics,
        };
        let now = 3 * now;
        audit.command(&command, now);
        controller.handle(&command, now, &mut |reply| {
            granted += u32::from(matches!(reply, Reply::Grant(_)));
            let checked = audit.reply(&command, reply);
            assert_eq!(checked, Ok(()), "{configuration:?}: {command:?}: {reply:?}");
        });
    }
    granted
}

#[test]
fn a_right_controller_is_believed() {
    for (number, &strategy) in StrategyKind::ALL.iter().enumerate() {
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
