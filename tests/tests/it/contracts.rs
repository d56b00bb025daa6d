//! Promises of single methods: which calls change nothing, which grants are reported, and the names
//! of refusals.

use meshalloc::storage::Needs;
use meshalloc::strategy::Candidate;
use meshalloc::{
    Allocator, Command, Configuration, Controller, Error, Flags, JobId, NodeId, Refusal, Reply,
    Request, SchedulerKind, StrategyKind, Submesh,
};
use meshalloc_tests::rig::{
    HeapMemory, ask, ask_at, configuration, cube, mesh, set_faulty, subcube, submit,
};
use meshalloc_tests::saved::save;

const LEB: StrategyKind = StrategyKind::LeastExpectedBlocking { budget: 64 };

#[test]
fn a_query_that_is_begun_changes_nothing() {
    let mut memory = HeapMemory::new(mesh(4, 4), 4);
    let configuration = configuration(mesh(4, 4), StrategyKind::FirstFit);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    submit(&mut controller, 1, Request::submesh(2, 3));
    set_faulty(&mut controller, 15, true);
    let before = save(&controller);
    let job = JobId(1);
    for query in [
        Command::Statistics,
        Command::QueryJob { job },
        Command::QueryJob { job: JobId(2) },
        Command::Blocks { job, from: 0 },
        Command::ListJobs { on: None, from: 0 },
        Command::Occupancy { from: NodeId(0) },
    ] {
        let reply = controller.begin(&query, 7, None);
        assert_eq!(reply, Reply::Done, "{query:?}");
        assert_eq!(save(&controller), before, "{query:?}");
    }
}

/// The scores of a job's candidates. Before it comes `between`, repeated until the strategy
/// remembers nothing else.
fn scores_after(between: &[(u32, Request)]) -> Vec<u32> {
    let mut memory = HeapMemory::for_strategy(mesh(8, 8), LEB, 2);
    let configuration = Configuration {
        scheduler: SchedulerKind::Fcfs,
        ..configuration(mesh(8, 8), LEB)
    };
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    submit(&mut controller, 1, Request::submesh(3, 2));
    for &(job, request) in between {
        for _ in 0..64 {
            let answer = submit(&mut controller, job, request);
            assert!(matches!(answer.last, Reply::Error(Error::Refused(_))));
        }
    }
    submit(&mut controller, 2, Request::submesh(2, 5));
    let mut scores = Vec::new();
    let mut push = |candidate: Candidate| scores.push(candidate.score);
    controller.strategy().latest_candidates(&mut push);
    scores
}

/// A strategy remembers a refused request only if there was no place for it.
#[test]
fn a_duplicate_does_not_change_what_is_expected() {
    let one = Request::submesh(1, 1);
    let usual = scores_after(&[]);
    assert_eq!(scores_after(&[(1, one)]), usual);
    assert_eq!(scores_after(&[(3, Request::submesh(9, 1))]), usual);
    let in_vain = Request::submesh(8, 8).with_flags(Flags::NO_WAIT);
    assert_ne!(scores_after(&[(3, in_vain)]), usual);
}

#[test]
fn a_block_over_the_border_changes_nothing() {
    let mut memory = HeapMemory::new(mesh(8, 8), 4);
    let kind = StrategyKind::FirstFit;
    let mut allocator = Allocator::new(memory.allocator_memory(), mesh(8, 8).into(), kind).unwrap();
    for block in [
        Submesh::new(6, 6, 4, 1),
        Submesh::new(6, 7, 1, 2),
        Submesh::new(8, 0, 1, 1),
        Submesh::new(0, 900, 1, 1),
        Submesh::new(60, 0, 8, 1),
    ] {
        assert_eq!(allocator.mark_faulty(block.into()), 0, "{block}");
        assert_eq!(allocator.clear_faulty(block.into()), 0, "{block}");
        let mut supposition = allocator.suppose();
        supposition.withhold(block.into());
        assert_eq!(supposition.free(), 64, "{block}");
        allocator.occupancy().check_invariants();
        assert_eq!(allocator.occupancy().free(), 64, "{block}");
    }
    assert_eq!(allocator.mark_faulty(Submesh::new(6, 6, 2, 2).into()), 4);
    assert_eq!(allocator.occupancy().faulty_count(), 4);
}

/// Processors that are supposed to be free are counted once, however often they are given back.
#[test]
fn an_allocation_may_be_supposed_to_be_given_back_twice() {
    let mut memory = HeapMemory::new(mesh(8, 8), 4);
    let kind = StrategyKind::FirstFit;
    let mut allocator = Allocator::new(memory.allocator_memory(), mesh(8, 8).into(), kind).unwrap();
    let held = allocator.allocate(&Request::submesh(3, 3)).unwrap();
    let mut supposition = allocator.suppose();
    supposition.give_back(&held).unwrap();
    assert_eq!(supposition.free(), 64);
    supposition.withhold(Submesh::new(2, 2, 2, 2).into());
    assert_eq!(supposition.free(), 60);
    // One of the withheld processors is held.
    supposition.give_back(&held).unwrap();
    assert_eq!(supposition.free(), 61);
    assert_eq!(allocator.release(held).unwrap(), 9);
    allocator.check_invariants();
}

/// On a mesh `a x b` is not served by `b x a`, be a or b 1.
#[test]
fn tree_collapsing_does_not_turn_a_line_that_is_fixed() {
    use StrategyKind::{TreeCollapsing, TreeCollapsingPrinted};
    let place = |kind, machine: meshalloc::Grid, request: Request| {
        let mut memory = HeapMemory::new(machine, 4);
        let mut controller =
            Controller::new(memory.memory(), configuration(machine, kind)).unwrap();
        let command = Command::Submit {
            job: JobId(1),
            request: request.with_flags(Flags::FIXED_ORIENTATION),
        };
        let answer = ask(&mut controller, &command);
        match answer.block() {
            Some(block) => Ok(machine.place(block).to_string()),
            None => Err(Box::new(answer.last)),
        }
    };
    for kind in [TreeCollapsing, TreeCollapsingPrinted] {
        for (w, h) in [(1, 3), (3, 1), (1, 1), (4, 1), (1, 4), (2, 3)] {
            let machine = mesh(4, 4).grid();
            let expected = machine.place(Submesh::new(0, 0, w, h).into()).to_string();
            let found = place(kind, machine, Request::submesh(w, h));
            assert_eq!(found, Ok(expected), "{kind}, {w} x {h}");
        }
        let found = place(kind, mesh(4, 2).grid(), Request::submesh(1, 3));
        let never = Reply::Error(Error::Refused(Refusal::NeverFits));
        assert_eq!(found, Err(Box::new(never)), "{kind}");
    }
    // On a cube the radices have an order, and an extent of 1 is none.
    for (radices, expected) in [([1, 3], (1, 3)), ([3, 1], (1, 3)), ([2, 3], (2, 3))] {
        let found = place(TreeCollapsing, cube(4, 2).grid(), subcube(&radices));
        let (high, low) = expected;
        assert_eq!(found, Ok(format!("(0, 0)+({high}, {low})")), "{radices:?}");
    }
}

/// Four free processors, none beside another: a job of 2 x 2 would not fit even if nothing was
/// reserved.
#[test]
fn what_would_not_fit_anyway_is_not_refused_for_a_reservation() {
    let configuration = Configuration {
        machine: mesh(4, 4).into(),
        strategy: StrategyKind::LShape,
        scheduler: SchedulerKind::Easy { reservations: 1 },
    };
    for (faulty, refusal) in [
        ([9, 11, 12, 14], Refusal::Fragmented),
        ([10, 11, 14, 15], Refusal::Reserved),
    ] {
        let mut memory = HeapMemory::new(mesh(4, 4), 4);
        let mut controller = Controller::new(memory.memory(), configuration).unwrap();
        submit(
            &mut controller,
            1,
            Request::submesh(4, 2).with_estimate(100),
        );
        for node in faulty {
            set_faulty(&mut controller, node, true);
        }
        let waits = submit(&mut controller, 2, Request::submesh(3, 3));
        assert!(waits.grants.is_empty());
        let never_waits = Request::submesh(2, 2).with_flags(Flags::NO_WAIT);
        let answer = submit(&mut controller, 3, never_waits);
        assert_eq!(answer.last, Reply::Error(Error::Refused(refusal)));
    }
}

/// Runs `act` with a job whose lease ends at 10, and one that waits for it.
fn with_lease(act: impl FnOnce(&mut Controller<'_>, &mut Vec<JobId>)) {
    let mut memory = HeapMemory::new(mesh(4, 4), 4);
    let configuration = configuration(mesh(4, 4), StrategyKind::FirstFit);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let leased = Command::SubmitLeased {
        job: JobId(1),
        request: Request::submesh(4, 4),
        ticks: 10,
    };
    ask_at(&mut controller, &leased, 0);
    submit(&mut controller, 2, Request::submesh(2, 2));
    let mut granted = Vec::new();
    act(&mut controller, &mut granted);
    assert_eq!(granted, [JobId(2)]);
    assert!(controller.jobs().find(JobId(1)).is_none());
}

#[test]
fn every_method_of_a_command_ends_leases_and_tells_of_the_grants() {
    with_lease(|controller, granted| {
        let block = Submesh::new(3, 3, 1, 1).into();
        let report = controller.mark_faulty(block, 20, &mut |grant| granted.push(grant.job().id()));
        assert_eq!(report.map(|report| report.jobs), Ok(1));
    });
    with_lease(|controller, granted| {
        let done = controller.lease(JobId(2), 5, 20, &mut |grant| granted.push(grant.job().id()));
        assert_eq!(done, Ok(()));
    });
}

/// A lease can be renewed at its end, by the method as by the command.
#[test]
fn a_lease_that_is_renewed_at_its_end_runs() {
    let mut memory = HeapMemory::new(mesh(4, 4), 4);
    let configuration = configuration(mesh(4, 4), StrategyKind::FirstFit);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    submit(&mut controller, 1, Request::submesh(4, 4));
    let mut on_grant = |_: meshalloc::controller::Granted<'_, '_>| panic!("no job waits");
    for now in [0, 10] {
        assert_eq!(controller.lease(JobId(1), 10, now, &mut on_grant), Ok(()));
    }
    assert!(controller.jobs().find(JobId(1)).is_some());
    let unknown = controller.lease(JobId(2), 10, 30, &mut on_grant);
    assert_eq!(unknown, Err(Error::UnknownJob));
    assert!(controller.jobs().find(JobId(1)).is_some(), "it was refused");
}

#[test]
fn frame_sliding_needs_no_memory_of_its_own() {
    let needs = Needs::of(StrategyKind::FrameSliding, &mesh(8, 8).grid(), 4);
    assert_eq!((needs.scratch, needs.list), (0, 0));
    let mut memory = HeapMemory::for_strategy(mesh(8, 8), StrategyKind::FrameSliding, 4);
    let configuration = configuration(mesh(8, 8), StrategyKind::FrameSliding);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let place = submit(&mut controller, 1, Request::submesh(3, 2)).submesh();
    assert_eq!(place, Some(Submesh::new(0, 0, 3, 2)));
}

/// A chunk of the occupancy begins with a whole byte.
#[test]
fn a_chunk_begins_with_a_multiple_of_eight() {
    let mut memory = HeapMemory::new(mesh(8, 5), 4);
    let configuration = configuration(mesh(8, 5), StrategyKind::FirstFit);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    submit(&mut controller, 1, Request::submesh(3, 2));
    for (from, first) in [(0, 0), (3, 0), (7, 0), (8, 8), (39, 32)] {
        let from = NodeId(from);
        let Reply::Occupancy(chunk) = ask(&mut controller, &Command::Occupancy { from }).last
        else {
            panic!("no occupancy from {from}");
        };
        let whole = NodeId(first);
        let expected = ask(&mut controller, &Command::Occupancy { from: whole }).last;
        assert_eq!(chunk.from, whole);
        assert_eq!(Reply::Occupancy(chunk), expected);
    }
}
