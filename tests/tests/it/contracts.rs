//! Promises of single methods in addition to decisions: which calls change nothing, which events
//! exist, how refusals are named.

use std::num::NonZeroU64;

use meshalloc::storage::Needs;
use meshalloc::strategy::Candidate;
use meshalloc::{
    Allocator, Change, Commit, Configuration, Controller, Error, Flags, JobId, NodeId, Outcome,
    Refusal, Request, SchedulerKind, Shape, StrategyKind, Submesh, Threshold,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::rig::{
    HeapMemory, ask, ask_at, configuration, cube, mesh, set_faulty, subcube, submit,
};
use meshalloc_tests::saved::save;

const LEB: StrategyKind = StrategyKind::LeastExpectedBlocking { budget: 64 };

/// The score of each candidate of a job. The requests `between` come before it, often enough that
/// the strategy remembers no others.
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
            assert!(matches!(answer.outcome, Err(Error::Refused(_))));
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
        supposition.occupy(block.into());
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
    supposition.occupy(Submesh::new(2, 2, 2, 2).into());
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
        let command = Change::submit(JobId(1), request.with_flags(Flags::FIXED_ORIENTATION));
        let answer = ask(&mut controller, &command);
        match answer.block() {
            Some(block) => Ok(machine.place(block).to_string()),
            None => Err(Box::new(answer.outcome)),
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
        let never = Err(Error::Refused(Refusal::NeverFits));
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
        assert_eq!(answer.outcome, Err(Error::Refused(refusal)));
    }
}

/// A job whose lease ends at 10, and one that waits for it; then the change at 20.
fn with_lease(change: &Change) {
    let mut memory = HeapMemory::new(mesh(4, 4), 4);
    let configuration = configuration(mesh(4, 4), StrategyKind::FirstFit);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let leased = Change::Submit {
        job: JobId(1),
        request: Request::submesh(4, 4),
        lease: NonZeroU64::new(10),
    };
    ask_at(&mut controller, &leased, 0);
    submit(&mut controller, 2, Request::submesh(2, 2));
    let known = controller.events();
    assert!(controller.handle(change, 20).is_ok());
    let events = controller.view().events_since(known);
    let events = events.map(|event| (event.job, event.at));
    assert!(events.eq([(JobId(1), 20), (JobId(2), 20)]));
    assert!(controller.jobs().find(JobId(1)).is_none());
}

/// Every change ends the leases that have ended by its time.
#[test]
fn handling_a_change_ends_leases() {
    let block = Submesh::new(3, 3, 1, 1).into();
    with_lease(&Change::MarkFaulty { block });
    with_lease(&Change::Lease {
        job: JobId(2),
        ticks: NonZeroU64::new(5),
    });
}

/// A lease that is renewed at its end goes on.
#[test]
fn a_lease_that_is_renewed_at_its_end_runs() {
    let mut memory = HeapMemory::new(mesh(4, 4), 4);
    let configuration = configuration(mesh(4, 4), StrategyKind::FirstFit);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    submit(&mut controller, 1, Request::submesh(4, 4));
    let lease = |job| Change::Lease {
        job: JobId(job),
        ticks: NonZeroU64::new(10),
    };
    for now in [0, 10] {
        assert_eq!(controller.handle(&lease(1), now), Ok(Outcome::Done));
    }
    assert!(controller.jobs().find(JobId(1)).is_some());
    let unknown = controller.handle(&lease(2), 30);
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
        let whole = NodeId(first);
        let chunk = controller.view().occupancy_chunk(from);
        assert_eq!(chunk.as_ref().map(|chunk| chunk.from), Ok(whole));
        assert_eq!(chunk, controller.view().occupancy_chunk(whole));
    }
}

/// A grant that the caller could not keep leaves the state as it was, with statistics, also while
/// another job waits and has a reservation.
#[test]
fn a_grant_that_is_not_kept_changes_nothing() {
    let schedulers = [
        SchedulerKind::Fcfs,
        SchedulerKind::BypassQueue { threshold: 250 },
        SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 150 }),
        SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 10 }),
        SchedulerKind::ModifiedFcfs(Threshold::Count),
        SchedulerKind::Easy { reservations: 1 },
        SchedulerKind::Conservative,
        SchedulerKind::ShortestJobFirst { threshold: 250 },
    ];
    let (mut idle, mut waiting) = (0, 0);
    for machine in [mesh(8, 8).grid(), cube(2, 5).grid()] {
        let grid = convert::grid(machine);
        let kinds = StrategyKind::built().filter(|&kind| is_served(kind, &grid));
        for (strategy, scheduler) in
            kinds.flat_map(|kind| schedulers.map(|scheduler| (kind.seeded(7), scheduler)))
        {
            let mut memory = HeapMemory::new(machine, 8);
            let configuration = Configuration {
                machine,
                strategy,
                scheduler,
            };
            let mut controller = Controller::new(memory.memory(), configuration).unwrap();
            let lasting = |request: Request, ticks: u64| request.with_estimate(ticks);
            let all: Vec<u16> = machine.sides().to_vec();
            let all = Request::new(Shape::new(&all).unwrap());
            // The second job waits until the first one ends.
            let before = [lasting(Request::submesh(2, 1), 100), lasting(all, 100)];
            for (job, request) in (1..).zip(before) {
                submit(&mut controller, job, request);
                let request = lasting(Request::submesh(2, 2), 50).with_flags(Flags::NO_WAIT);
                // The slot of the job has been used, so it is saved as a free one.
                submit(&mut controller, 8, request);
                ask(&mut controller, &Change::Release { job: JobId(8) });
                let saved = save(&controller);
                let change = Change::submit(JobId(9), request);
                let mut asked = 0;
                let mut on_commit = |_: Commit| {
                    asked += 1;
                    Err(Error::LeaseRuns)
                };
                let outcome = controller.begin(&change, 3, None, Some(&mut on_commit));
                let context = format!("{configuration:?}, after job {job}");
                if asked == 0 {
                    // It passes no job that waits.
                    assert!(matches!(outcome, Err(Error::Refused(_))), "{context}");
                    assert_eq!(job, 2, "{context}: {outcome:?}");
                    continue;
                }
                assert_eq!((asked, outcome), (1, Err(Error::LeaseRuns)), "{context}");
                controller.check_invariants();
                // It has drawn.
                if !matches!(strategy, StrategyKind::Random { .. }) {
                    assert_eq!(save(&controller), saved, "{context}");
                    *(if job == 1 { &mut idle } else { &mut waiting }) += 1;
                }
            }
        }
    }
    assert!(idle > 100 && waiting > 50, "{idle} {waiting}");
}
