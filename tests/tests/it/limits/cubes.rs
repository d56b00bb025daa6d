//! The limits of k-ary n-cubes: every refusal and which comes first, and machines that do not fit.

use meshalloc::storage::Needs;
use meshalloc::{
    Change, Configuration, ConfigureError, Controller, Cube, Error, Flags, Grid, JobId, NodeId,
    Outcome, Query, Refusal, Request, Statistics, StrategyKind, Submesh,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::rig::{
    HeapMemory, ask, configuration, cube, list_jobs, mesh, release, set_faulty, subcube, submit,
};
use meshalloc_tests::strategy::counts_processors;

use super::{assert_fails, submission, with_every_strategy};

/// The strategies that serve a cube with this k.
fn strategies(k: u16) -> impl Iterator<Item = StrategyKind> {
    StrategyKind::built().filter(move |kind| kind.serves().includes(&cube(k, 2).grid()))
}

#[test]
fn what_fails_changes_nothing() {
    with_every_strategy(cube(4, 3), 6, |controller| {
        // Two rings and a plane are held; of what is left each ring along dimension 0 or 1 has a
        // fault.
        for (job, radices) in [(1, [4].as_slice()), (2, &[4]), (3, &[4, 4])] {
            assert_eq!(submit(controller, job, subcube(radices)).grants.len(), 1);
        }
        let held = list_jobs(controller, None);
        assert_eq!(held, [(JobId(1), 4), (JobId(2), 4), (JobId(3), 16)]);
        for node in 0..64 {
            let address = Cube::new(4, 3).unwrap().address(NodeId(node)).unwrap();
            if address.iter().sum::<u16>() % 4 == 0 {
                set_faulty(controller, node, true);
            }
        }
        let no_wait = Flags::NO_WAIT;
        let strategy = controller.configuration().strategy;
        let is_partner = strategy == StrategyKind::Partner;
        let mut never = vec![
            (subcube(&[2, 2]).with_processors(0), Refusal::EmptyRequest),
            (subcube(&[2, 2]).with_processors(5), Refusal::Malformed),
            (subcube(&[]).with_processors(2), Refusal::Malformed),
            (Request::submesh(0, 0), Refusal::EmptyRequest),
            (Request::submesh(9, 9), Refusal::NeverFits),
            (subcube(&[4, 4, 5]), Refusal::NeverFits),
            (subcube(&[65]), Refusal::NeverFits),
            (subcube(&[2, 2, 2, 2]), Refusal::TooManyExtents),
            // The first that applies: the extents' number, what is empty, what is malformed, what
            // the strategy serves.
            (
                subcube(&[5, 5, 5, 5]).with_processors(0),
                Refusal::TooManyExtents,
            ),
            (subcube(&[5, 0, 5]), Refusal::EmptyRequest),
            (subcube(&[5, 3]).with_processors(0), Refusal::EmptyRequest),
            (subcube(&[5, 3]).with_processors(16), Refusal::Malformed),
        ];
        // The shape does not matter.
        if !counts_processors(strategy) {
            never.push((subcube(&[5]), Refusal::NeverFits));
            never.push((subcube(&[2, 32]), Refusal::NeverFits));
            never.push((subcube(&[5, 3]), Refusal::NeverFits));
        }
        for (request, refusal) in never {
            assert!(!refusal.is_temporary());
            for flags in [Flags::empty(), no_wait, Flags::FIXED_ORIENTATION] {
                let command = submission(9, request.with_flags(flags));
                assert_fails(controller, &command, Error::Refused(refusal));
                // A request that can never be served gets this refusal even if its name is in use.
                let command = submission(2, request.with_flags(flags));
                assert_fails(controller, &command, Error::Refused(refusal));
            }
        }
        for radices in [[3].as_slice(), &[4, 2], &[2, 4], &[4, 4, 3]] {
            let command = submission(9, subcube(radices).with_flags(no_wait));
            let refusal = match (is_partner, radices) {
                (true, _) => Refusal::ExtentBelowSide,
                (false, [4, 4, 3]) => Refusal::TooFewFree,
                _ => continue,
            };
            assert_fails(controller, &command, Error::Refused(refusal));
        }
        for (request, refusal) in [
            (subcube(&[4]), Refusal::Fragmented),
            (subcube(&[4, 4]), Refusal::Fragmented),
            (subcube(&[4, 4, 4]), Refusal::TooFewFree),
        ] {
            // Squares of 2 x 2 are free, into which a ring is folded.
            let finds_room = counts_processors(strategy) || strategy == StrategyKind::Folding;
            if !finds_room || refusal != Refusal::Fragmented {
                let command = submission(9, request.with_flags(no_wait));
                assert_fails(controller, &command, Error::Refused(refusal));
            }
            let command = submission(1, request.with_flags(no_wait));
            assert_fails(controller, &command, Error::Refused(Refusal::DuplicateJob));
        }
        let node = NodeId(64);
        // A bit above the fields of three dimensions.
        let block = Submesh::new(64, 0, 0, 0).into();
        let outside = Error::NoSuchBlock { dimension: 3 };
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
        let query = Query::Occupancy { from: node };
        assert_eq!(
            controller.view().answer(&query),
            Err(Error::UnknownNode(node))
        );
        // With a queue: no job that may not wait is taken, however small.
        let waiting = submit(controller, 4, subcube(&[4, 4, 4]));
        assert!(waiting.outcome == Ok(Outcome::Done) && waiting.grants.is_empty());
        let small = submission(9, subcube(&[]).with_flags(no_wait));
        assert_fails(controller, &small, Error::Refused(Refusal::QueueNotEmpty));
        release(controller, 4);
        let again = submit(controller, 4, subcube(&[]).with_flags(no_wait));
        assert_eq!(again.grants.len(), 1);
    });
}

/// A request for more processors than are free is refused before a search. The processors that it
/// would hold count, not the requested ones.
#[test]
fn too_few_free_counts_what_would_be_held() {
    // Seven processors of 16 are free, all of them neighbours.
    for (kind, radices, refusal) in [
        (StrategyKind::TreeCollapsing, [2, 4], Refusal::TooFewFree),
        (StrategyKind::TreeCollapsing, [2, 3], Refusal::Fragmented),
        (
            StrategyKind::TreeCollapsingPrinted,
            [2, 3],
            Refusal::Fragmented,
        ),
        // It would hold 2 x 4.
        (StrategyKind::FreeList, [2, 3], Refusal::TooFewFree),
        // It would hold 3 x 3.
        (StrategyKind::Sniffing, [2, 3], Refusal::TooFewFree),
        (StrategyKind::Partner, [4, 4], Refusal::TooFewFree),
    ] {
        let cube = cube(4, 2);
        let mut memory = HeapMemory::new(cube, 1);
        let mut controller = Controller::new(memory.memory(), configuration(cube, kind)).unwrap();
        // A row and a column remain.
        for node in (0..16).filter(|node| node / 4 != 1 && node % 4 != 2) {
            set_faulty(&mut controller, node, true);
        }
        assert_eq!(controller.statistics().free, 7);
        let command = submission(1, subcube(&radices).with_flags(Flags::NO_WAIT));
        assert_fails(&mut controller, &command, Error::Refused(refusal));
    }
}

#[test]
fn strategies_serve_their_kind_of_machine_only() {
    let machines = [
        mesh(8, 8).grid(),
        mesh(8, 4).grid(),
        mesh(6, 6).grid(),
        cube(4, 3).grid(),
        cube(3, 3).grid(),
        cube(6, 1).grid(),
        Grid::torus(&[4, 4]).expect("a torus"),
        Grid::torus(&[4, 8]).expect("a torus"),
        Grid::mesh(&[4, 4, 4]).expect("a mesh"),
        Grid::new(&[8, 8], 0b10).expect("a ring of meshes"),
    ];
    for machine in machines {
        for kind in StrategyKind::built() {
            let mut memory = HeapMemory::new(machine, 1);
            let outcome = Controller::new(memory.memory(), configuration(machine, kind));
            let expected = if is_served(kind, &convert::grid(machine)) {
                None
            } else {
                Some(ConfigureError::MachineUnsuitable)
            };
            assert_eq!(outcome.err(), expected, "{kind} on {machine}");
        }
    }
}

#[test]
fn a_configuration_that_does_not_fit_is_not_taken() {
    with_every_strategy(cube(8, 2), 4, |controller| {
        set_faulty(controller, 11, true);
        let old = controller.configuration();
        // One processor more than there is memory for, a larger cube, and a mesh of as many
        // processors but more words.
        let too_large = Error::Configure(ConfigureError::MachineTooLarge);
        for (k, n) in [(65, 1), (9, 2), (3, 4), (2, 7), (2, 16)] {
            let machine = cube(k, n).into();
            let command = Change::Configure(Configuration { machine, ..old });
            assert_fails(controller, &command, too_large);
        }
        for (w, h) in [(8, 8), (64, 2)] {
            let command = Change::Configure(configuration(mesh(w, h), StrategyKind::FirstFit));
            assert_fails(controller, &command, too_large);
        }
        // Machines that are not served, of a size that would fit.
        let machine = mesh(1, 1).into();
        let unsuitable = Error::Configure(ConfigureError::MachineUnsuitable);
        if !old.strategy.serves().includes(&machine) {
            let command = Change::Configure(Configuration { machine, ..old });
            assert_fails(controller, &command, unsuitable);
        }
        let machine = cube(4, 3).into();
        let strategy = StrategyKind::FrameSliding;
        let command = Change::Configure(Configuration {
            machine,
            strategy,
            ..old
        });
        assert_fails(controller, &command, unsuitable);
        // A machine that needs all processors is not too large. The new configuration has no fault.
        // From cube to mesh and back. Some strategies need more memory in more dimensions.
        let built = Needs::of_build(&[cube(8, 2).grid()], 4);
        for strategy in strategies(8) {
            for (k, n) in [(4, 3), (2, 6), (64, 1), (8, 2)] {
                let command = Change::Configure(configuration(cube(k, n), strategy));
                if !strategy.serves().includes(&cube(k, n).grid()) {
                    assert_fails(controller, &command, unsuitable);
                    continue;
                }
                let needs = Needs::of(strategy, &cube(k, n).grid(), 4);
                if needs.scratch > built.scratch || needs.list > built.list {
                    let no_memory = Error::Configure(ConfigureError::StrategyMemory);
                    assert_fails(controller, &command, no_memory);
                    continue;
                }
                assert_eq!(ask(controller, &command).outcome, Ok(Outcome::Done));
                let expected = Statistics {
                    nodes: 64,
                    free: 64,
                    ..Statistics::default()
                };
                assert_eq!(controller.statistics(), expected);
                controller.check_invariants();
            }
            let command = Change::Configure(configuration(mesh(5, 2), StrategyKind::FirstFit));
            // With 64-bit words a cube of 64 processors has room for a mesh of one row.
            let rows = controller.capacity().words;
            if rows >= 2 {
                assert_eq!(ask(controller, &command).outcome, Ok(Outcome::Done));
            } else {
                assert_fails(controller, &command, too_large);
            }
        }
    });
}

#[test]
fn memory_that_is_too_small_is_refused() {
    let small = cube(8, 2);
    for strategy in strategies(8) {
        for (k, n) in [(128, 1), (16, 2), (2, 16)] {
            let large = cube(k, n);
            if !strategy.serves().includes(&large.grid()) {
                continue;
            }
            let mut memory = HeapMemory::new(small, 4);
            let outcome = Controller::new(memory.memory(), configuration(large, strategy));
            assert_eq!(
                outcome.err(),
                Some(ConfigureError::MachineTooLarge),
                "{strategy} on {large}"
            );
        }
        // Enough for the occupancy and the jobs; of scratch one word less than the strategy needs,
        // then all of it.
        let Needs { scratch, list, .. } = Needs::of(strategy, &small.grid(), 4);
        for missing in [1, 0].into_iter().filter(|&missing| missing <= scratch) {
            let needs = Needs {
                scratch: scratch - missing,
                list,
                ..Needs::of_build(&[small.grid()], 4)
            };
            let mut memory = HeapMemory::of(needs, 4);
            let outcome = Controller::new(memory.memory(), configuration(small, strategy));
            let expected = (missing > 0).then_some(ConfigureError::StrategyMemory);
            assert_eq!(outcome.err(), expected, "{strategy}");
        }
    }
}
