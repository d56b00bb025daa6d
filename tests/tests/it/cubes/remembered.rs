//! A strategy forgets a failed search in time: an operation that frees processors makes room for
//! the refused request.

use meshalloc::{
    Change, Configuration, Controller, Flags, JobState, Outcome, Request, StrategyKind,
};
use meshalloc_tests::rig::{
    Answer, HeapMemory, ask, configuration, cube, release, set_faulty, subcube, submit,
};

/// A request that every strategy serves as it is, for a quarter of the cube.
fn ring() -> Request {
    subcube(&[4]).with_flags(Flags::NO_WAIT)
}

/// Those that serve the cube and look for a box.
fn strategies() -> impl Iterator<Item = StrategyKind> {
    let serves = |kind: &StrategyKind| kind.serves().includes(&cube(4, 2).grid());
    StrategyKind::built().filter(move |kind| serves(kind) && kind.holds().is_contiguous())
}

/// Makes many requests for rings and planes of a 4-ary 2-cube that all fail, so that a strategy
/// remembers as much as it can.
fn assert_every_search_fails(controller: &mut Controller<'_>) {
    for radices in [
        [4].as_slice(),
        &[2],
        &[3],
        &[2, 2],
        &[3, 2],
        &[2, 3],
        &[4, 2],
        &[4, 4],
    ] {
        for flags in [Flags::NO_WAIT, Flags::NO_WAIT | Flags::FIXED_ORIENTATION] {
            let answer = submit(controller, 9, subcube(radices).with_flags(flags));
            assert!(answer.grants.is_empty(), "{radices:?}: {answer:?}");
            assert!(answer.outcome.is_err(), "{radices:?}: {answer:?}");
        }
    }
}

fn assert_granted(answer: &Answer) {
    assert_eq!(answer.grants.len(), 1, "{answer:?}");
    assert_eq!(answer.state, Some(JobState::Running { processors: 4 }));
}

/// Two rings side by side of a 4-ary 2-cube are free: a plane of 4 x 2 fits in one orientation
/// only.
#[test]
fn a_request_that_fails_as_it_is_fits_turned() {
    for kind in [StrategyKind::TreeCollapsing, StrategyKind::AdaptiveScan] {
        let cube = cube(4, 2);
        let mut memory = HeapMemory::new(cube, 4);
        let mut in_vain = 0;
        for radices in [[4, 2], [2, 4]] {
            let mut controller =
                Controller::new(memory.memory(), configuration(cube, kind)).unwrap();
            for node in (0..16).filter(|node| node % 4 >= 2) {
                set_faulty(&mut controller, node, true);
            }
            let plane = subcube(&radices).with_flags(Flags::NO_WAIT);
            let fixed = plane.with_flags(Flags::NO_WAIT | Flags::FIXED_ORIENTATION);
            if submit(&mut controller, 1, fixed).grants.is_empty() {
                in_vain += 1;
                let turned = submit(&mut controller, 2, plane);
                assert_eq!(turned.grants.len(), 1, "{kind}: {radices:?}: {turned:?}");
            }
        }
        assert_eq!(in_vain, 1, "{kind}");
    }
}

#[test]
fn what_makes_room_is_seen_at_once() {
    for kind in strategies() {
        let cube = cube(4, 2);
        let mut memory = HeapMemory::new(cube, 4);
        let configuration = configuration(cube, kind);
        let mut controller = Controller::new(memory.memory(), configuration).unwrap();
        // Two rings are held. In the other two rings the processors of one colour of a checkerboard
        // are faulty, so no two free processors are neighbours.
        let checkerboard = |controller: &mut Controller<'_>| {
            for job in 0..2 {
                assert_granted(&submit(controller, job, ring()));
            }
            for node in (8..16).filter(|node| (node % 4 + node / 4) % 2 == 0) {
                set_faulty(controller, node, true);
            }
            assert_every_search_fails(controller);
        };
        checkerboard(&mut controller);
        // A job ends.
        assert_eq!(
            release(&mut controller, 1).outcome,
            Ok(Outcome::Released { processors: 4 })
        );
        assert_granted(&submit(&mut controller, 1, ring()));
        assert_every_search_fails(&mut controller);
        // Faulty processors work again; the first makes room only for a line.
        for node in [8, 10] {
            set_faulty(&mut controller, node, false);
        }
        assert_granted(&submit(&mut controller, 2, ring()));
        assert_every_search_fails(&mut controller);
        // Everything is forgotten.
        assert_eq!(
            ask(&mut controller, &Change::Reset).outcome,
            Ok(Outcome::Done)
        );
        assert_granted(&submit(&mut controller, 1, ring()));
        assert_eq!(
            ask(&mut controller, &Change::Reset).outcome,
            Ok(Outcome::Done)
        );
        checkerboard(&mut controller);
        // The same configuration again, and another cube.
        for (k, n) in [(4, 2), (4, 1)] {
            let machine = meshalloc_tests::rig::cube(k, n).into();
            if !kind.serves().includes(&machine) {
                continue;
            }
            for job in 0..3 {
                release(&mut controller, job);
            }
            let command = Change::Configure(Configuration {
                machine,
                ..configuration
            });
            assert_eq!(ask(&mut controller, &command).outcome, Ok(Outcome::Done));
            assert_granted(&submit(&mut controller, 1, ring()));
        }
        controller.check_invariants();
    }
}
