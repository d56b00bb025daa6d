//! A failed command changes nothing, a table is full at exactly its size, and releasing never needs
//! room.

mod cubes;

use meshalloc::message::JobReport;
use meshalloc::message::LIST_JOBS_MAX;
use meshalloc::storage::Needs;
use meshalloc::{
    Block, Change, Configuration, ConfigureError, Controller, Counts, Error, Flags, Grid, JobId,
    NodeId, Outcome, Query, Refusal, Request, Statistics, StrategyKind, Submesh,
};
use meshalloc_tests::rig::{
    HeapMemory, ask, configuration, cube, free_submesh_list, list_jobs, mesh, occupancy_map,
    release, set_faulty, subcube, submit,
};
use meshalloc_tests::strategy::places_anywhere;

/// Strategies with every kind of memory of their own or none, and with one or many blocks for a
/// job.
const STRATEGIES: [StrategyKind; 6] = [
    StrategyKind::FirstFit,
    StrategyKind::AdaptiveScan,
    StrategyKind::FreeSubmeshList,
    StrategyKind::Naive,
    StrategyKind::LShape,
    StrategyKind::MultipleBuddy,
];

/// Everything that can be read, except the counters of refusals.
#[derive(Debug, PartialEq)]
struct Snapshot {
    statistics: Statistics,
    jobs: Vec<(JobId, JobReport, Vec<Block>)>,
    occupancy: Vec<(bool, bool)>,
    list: Vec<Submesh>,
    configuration: Configuration,
}

/// The statistics without the counters that a refusal changes.
fn lasting(statistics: Statistics) -> Statistics {
    let counts = Counts {
        refused: 0,
        attempts: 0,
        valid_attempts: 0,
        misses: 0,
        ..statistics.counts
    };
    Statistics {
        counts,
        ..statistics
    }
}

fn snapshot(controller: &mut Controller<'_>) -> Snapshot {
    let jobs = list_jobs(controller, None)
        .into_iter()
        .map(|(job, _)| {
            let view = controller.view();
            let report = view.job(job).unwrap();
            (job, report, view.blocks(job).collect())
        })
        .collect();
    let list = match controller.configuration().strategy {
        StrategyKind::FreeSubmeshList if controller.machine().is_plane() => {
            free_submesh_list(controller)
        }
        _ => Vec::new(),
    };
    Snapshot {
        statistics: lasting(controller.statistics()),
        jobs,
        occupancy: occupancy_map(controller),
        list,
        configuration: controller.configuration(),
    }
}

/// Runs `body` for every strategy that serves the machine.
fn with_every_strategy(machine: impl Into<Grid>, jobs: usize, body: impl Fn(&mut Controller<'_>)) {
    let machine = machine.into();
    let mut served = 0;
    for strategy in StrategyKind::built() {
        let mut memory = HeapMemory::new(machine, jobs);
        let configuration = configuration(machine, strategy);
        let mut controller = match Controller::new(memory.memory(), configuration) {
            Err(ConfigureError::MachineUnsuitable) => continue,
            outcome => outcome.unwrap(),
        };
        assert!(strategy.serves().includes(&machine), "{strategy}");
        body(&mut controller);
        controller.check_invariants();
        served += 1;
    }
    assert!(served >= 4, "{machine} is served by {served} strategies");
}

fn assert_fails(controller: &mut Controller<'_>, command: &Change, error: Error) {
    let before = snapshot(controller);
    let refused = controller.statistics().counts.refused;
    let answer = ask(controller, command);
    assert_eq!(answer.outcome, Err(error), "{command:?}");
    assert_eq!(answer.grants, [], "{command:?}");
    assert_eq!(snapshot(controller), before, "{command:?}");
    let counted = u64::from(matches!(error, Error::Refused(_)));
    assert_eq!(controller.statistics().counts.refused, refused + counted);
    controller.check_invariants();
}

fn submission(job: u32, request: Request) -> Change {
    let job = JobId(job);
    Change::submit(job, request)
}

#[test]
fn what_fails_changes_nothing() {
    with_every_strategy(mesh(9, 4), 6, |controller| {
        let strategy = controller.configuration().strategy;
        // A mesh with two faults, one under a job, that nothing wider than 3 fits into any more.
        for job in 1..=3 {
            let answer = submit(controller, job, Request::submesh(2, 4));
            assert_eq!(answer.grants.len(), 1);
        }
        set_faulty(controller, 1, true);
        set_faulty(controller, 8, true);
        let no_wait = |request: Request| request.with_flags(Flags::NO_WAIT);

        let never = Request::submesh(10, 10);
        let mut failures = vec![
            (submission(9, Request::submesh(0, 2)), Refusal::EmptyRequest),
            (submission(9, Request::submesh(2, 0)), Refusal::EmptyRequest),
            (
                submission(9, Request::submesh(2, 2).with_processors(0)),
                Refusal::EmptyRequest,
            ),
            (
                submission(9, Request::submesh(2, 2).with_processors(5)),
                Refusal::Malformed,
            ),
            (submission(9, never), Refusal::NeverFits),
            (submission(2, Request::submesh(1, 1)), Refusal::DuplicateJob),
            (
                submission(9, no_wait(Request::submesh(9, 4))),
                Refusal::TooFewFree,
            ),
        ];
        // Those that are left are connected.
        if !places_anywhere(strategy) && strategy != StrategyKind::Neighbor {
            let fragmented = submission(9, no_wait(Request::submesh(7, 1)));
            failures.push((fragmented, Refusal::Fragmented));
        }
        for (command, refusal) in failures {
            assert_fails(controller, &command, Error::Refused(refusal));
        }

        // A row above the last.
        let block = Submesh::new(3, 3, 1, 2).into();
        let outside = Error::NoSuchBlock { dimension: 1 };
        for (command, error) in [
            (Change::Release { job: JobId(9) }, Error::UnknownJob),
            (Change::MarkFaulty { block }, outside),
            (Change::ClearFaulty { block }, outside),
            (
                Change::Configure(controller.configuration()),
                Error::Configure(ConfigureError::JobsPresent),
            ),
        ] {
            assert_fails(controller, &command, error);
        }
        let job = JobId(9);
        for (query, error) in [
            (Query::Job { job }, Error::UnknownJob),
            (Query::Blocks { job, from: 0 }, Error::UnknownJob),
            (
                Query::Jobs {
                    on: Some(block),
                    from: 0,
                },
                outside,
            ),
            (
                Query::Occupancy { from: NodeId(40) },
                Error::UnknownNode(NodeId(40)),
            ),
        ] {
            assert_eq!(controller.view().answer(&query), Err(error), "{query:?}");
        }

        // With a queue: a job that may not wait is refused, however small.
        let waiting = submit(controller, 4, Request::submesh(9, 4));
        assert!(waiting.outcome == Ok(Outcome::Done) && waiting.grants.is_empty());
        let small = submission(9, no_wait(Request::submesh(1, 1)));
        assert_fails(controller, &small, Error::Refused(Refusal::QueueNotEmpty));
        let waiting = submission(4, no_wait(Request::submesh(1, 1)));
        assert_fails(controller, &waiting, Error::Refused(Refusal::DuplicateJob));

        // A stale name is unknown, and may be used again.
        release(controller, 4);
        assert_fails(
            controller,
            &Change::Release { job: JobId(4) },
            Error::UnknownJob,
        );
        let again = submit(controller, 4, no_wait(Request::submesh(1, 1)));
        assert_eq!(again.grants.len(), 1);
    });
}

#[test]
fn a_configuration_that_does_not_fit_is_not_taken() {
    with_every_strategy(mesh(8, 8), 4, |controller| {
        set_faulty(controller, 11, true);
        let old = controller.configuration();
        // One row of words more than there is memory for.
        for (w, h) in [(8, 9), (1, 65), (1024, 1024)] {
            let command = Change::Configure(Configuration {
                machine: mesh(w, h).into(),
                ..old
            });
            let error = Error::Configure(ConfigureError::MachineTooLarge);
            assert_fails(controller, &command, error);
        }
        // Few words, but one processor more than there are blocks and submeshes.
        for strategy in STRATEGIES {
            let command = Change::Configure(configuration(mesh(65, 1), strategy));
            let error = Error::Configure(ConfigureError::StrategyMemory);
            match strategy {
                StrategyKind::Naive
                | StrategyKind::MultipleBuddy
                | StrategyKind::FreeSubmeshList => {
                    assert_fails(controller, &command, error);
                }
                _ => assert_eq!(ask(controller, &command).outcome, Ok(Outcome::Done)),
            }
        }
        // A machine that needs all nodes and words is not too large. The new configuration has no
        // fault.
        for strategy in STRATEGIES {
            for (w, h) in [(64, 1), (8, 8)] {
                let command = Change::Configure(configuration(mesh(w, h), strategy));
                assert_eq!(ask(controller, &command).outcome, Ok(Outcome::Done));
                assert_eq!(
                    controller.statistics(),
                    Statistics {
                        nodes: 64,
                        free: 64,
                        ..Statistics::default()
                    }
                );
                controller.check_invariants();
            }
        }
    });
}

#[test]
fn memory_that_is_too_small_is_refused() {
    let small = mesh(8, 8);
    for strategy in STRATEGIES {
        for large in [mesh(8, 9), mesh(1, 65), mesh(64, 64)] {
            let mut memory = HeapMemory::new(small, 4);
            let outcome = Controller::new(memory.memory(), configuration(large, strategy));
            assert_eq!(
                outcome.err(),
                Some(ConfigureError::MachineTooLarge),
                "{strategy} on {large}"
            );
        }
        // Enough for the occupancy and the jobs, not for the strategy.
        let enough = Needs::of_build(&[small.grid()], 4);
        let needs = Needs {
            scratch: 0,
            list: 0,
            ..enough
        };
        let mut memory = HeapMemory::of(needs, 4);
        let outcome = Controller::new(memory.memory(), configuration(small, strategy));
        let needs_memory = strategy != StrategyKind::Naive;
        let expected = needs_memory.then_some(ConfigureError::StrategyMemory);
        assert_eq!(outcome.err(), expected, "{strategy}");
        // A block less than needed: one or two for each job, or one for each processor.
        let blocks = match strategy {
            StrategyKind::Naive | StrategyKind::MultipleBuddy => 64,
            StrategyKind::LShape => 8,
            _ => 4,
        };
        for (blocks, expected) in [
            (blocks - 1, Some(ConfigureError::StrategyMemory)),
            (blocks, None),
        ] {
            let mut memory = HeapMemory::of(Needs { blocks, ..enough }, 4);
            let outcome = Controller::new(memory.memory(), configuration(small, strategy));
            assert_eq!(outcome.err(), expected, "{strategy}, {blocks} blocks");
        }
    }
}

/// Tables of N jobs: the last that fits, the first that does not, and again after a release.
#[test]
fn the_table_is_full_at_exactly_its_size() {
    let on_mesh = (
        mesh(8, 8).into(),
        Request::submesh(1, 1),
        Request::submesh(8, 8),
    );
    let on_cube = (cube(4, 3).into(), subcube(&[]), subcube(&[4, 4, 4]));
    for (machine, unit, whole) in [on_mesh, on_cube] {
        the_table_of_a_machine_is_full_at_exactly_its_size(machine, unit, whole);
    }
}

fn the_table_of_a_machine_is_full_at_exactly_its_size(
    machine: Grid,
    unit: Request,
    whole: Request,
) {
    for size in [1, 2, 3, 7, 16, 33] {
        with_every_strategy(machine, size as usize, |controller| {
            assert_eq!(controller.capacity().jobs, size);
            let full = Error::Refused(Refusal::TableFull);
            // Running jobs, then, without the last of them, one that waits.
            for last in [unit, whole] {
                for job in 1..size {
                    assert_eq!(
                        submit(controller, job, unit).grants.len(),
                        1,
                        "{job} of {size}"
                    );
                }
                let answer = submit(controller, size, last);
                assert!(answer.outcome == Ok(Outcome::Done), "{answer:?}");
                for request in [unit, whole, unit.with_flags(Flags::NO_WAIT)] {
                    assert_fails(controller, &submission(size + 1, request), full);
                }
                // A known name is refused as a duplicate, not because the table is full.
                let duplicate = Error::Refused(Refusal::DuplicateJob);
                assert_fails(controller, &submission(size, unit), duplicate);

                release(controller, size);
                let answer = submit(controller, size + 1, unit);
                assert_eq!(answer.grants.len(), 1);
                assert_fails(controller, &submission(size + 2, unit), full);

                // Every release is answered, from a full table too.
                for (job, processors) in list_jobs(controller, None) {
                    let released = ask(controller, &Change::Release { job });
                    assert_eq!(released.outcome, Ok(Outcome::Released { processors }));
                }
                assert_eq!(controller.statistics().free, 64);
            }
        });
    }
}

/// Each node gets a job of its own: the greatest possible number of blocks, and a list of several
/// chunks.
#[test]
fn a_job_for_every_node() {
    let on_mesh = (
        mesh(20, 13).into(),
        Request::submesh(1, 1),
        Request::submesh(20, 13),
    );
    let on_cube = (cube(16, 2).into(), subcube(&[]), subcube(&[16, 16]));
    for (machine, unit, whole) in [on_mesh, on_cube] {
        a_job_for_every_node_of(machine, unit, whole);
    }
}

fn a_job_for_every_node_of(machine: Grid, unit: Request, whole: Request) {
    let nodes = machine.nodes();
    assert!(nodes as usize > 2 * LIST_JOBS_MAX);
    with_every_strategy(machine, nodes as usize, |controller| {
        for job in 0..nodes {
            let answer = submit(controller, job, unit);
            assert_eq!(answer.grants.len(), 1);
        }
        assert_eq!(controller.statistics().free, 0);
        assert_eq!(
            list_jobs(controller, None),
            (0..nodes).map(|job| (JobId(job), 1)).collect::<Vec<_>>()
        );
        controller.check_invariants();
        // Every other one, then the rest.
        for job in (0..nodes).step_by(2).chain((1..nodes).step_by(2)) {
            let released = release(controller, job);
            assert_eq!(released.outcome, Ok(Outcome::Released { processors: 1 }));
        }
        let whole = submit(controller, 0, whole);
        let held = whole.grants[0]
            .blocks
            .iter()
            .map(|&block| machine.area(block));
        assert_eq!(held.sum::<u32>(), nodes);
    });
}

/// Naive on a checkerboard: one job with more blocks than a reply holds.
#[test]
fn an_allocation_of_many_blocks() {
    let mesh = mesh(16, 8);
    let mut memory = HeapMemory::new(mesh, 2);
    let configuration = configuration(mesh, StrategyKind::Naive);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    for node in (0..mesh.nodes()).filter(|node| (node % 16 + node / 16) % 2 == 0) {
        set_faulty(&mut controller, node, true);
    }
    let answer = submit(&mut controller, 1, Request::submesh(8, 8));
    assert_eq!(answer.grants[0].blocks.len(), 64);
    controller.check_invariants();
    let again: Vec<_> = controller.view().blocks(JobId(1)).collect();
    assert_eq!(again, answer.grants[0].blocks);
    let released = release(&mut controller, 1);
    assert_eq!(released.outcome, Ok(Outcome::Released { processors: 64 }));
    controller.check_invariants();
}
