//! Every occupancy of a 4 x 4 mesh, made of faulty nodes, times every request: each strategy answers
//! exactly as its plain model.
//!
//! First fit, adaptive scan, the free submesh list and naive have a test of their own, `exhaustive.rs`.

use meshalloc::{Controller, Error, Flags, Reply, Request, StrategyKind};
use meshalloc_tests::oracle::Rect;
use meshalloc_tests::plain::Strategy;
use meshalloc_tests::rig::{HeapMemory, configuration, mesh, release, set_faulty, submit};

const SIDE: u16 = 4;
const OCCUPANCIES: u32 = 1 << (SIDE * SIDE);
const JOB: u32 = 7;

/// All side lengths that the mesh can hold, and longer ones, some of which fit only turned, folded or
/// in another shape, and some never.
fn requests() -> Vec<Request> {
    let held = (1..=SIDE).flat_map(|b| (1..=SIDE).map(move |a| (a, b)));
    let long = [(5, 1), (6, 1), (8, 1), (6, 2), (8, 2), (16, 1), (5, 4)];
    let long = long.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
    let never = [
        (0, 1),
        (1, 0),
        (5, 5),
        (17, 1),
        (1, u16::MAX),
        (u16::MAX, 2),
    ];
    let mut requests = Vec::new();
    for (a, b) in held.chain(long).chain(never) {
        let request = Request::submesh(a, b).with_flags(Flags::NO_WAIT);
        requests.push(request);
        if a != b {
            requests.push(request.with_flags(Flags::NO_WAIT | Flags::FIXED_ORIENTATION));
        }
    }
    requests
}

/// In the order of a Gray code: each occupancy is made from the one before by one fault or repair.
fn answers_as_its_model(kind: StrategyKind) {
    let (mesh, requests) = (mesh(SIDE, SIDE), requests());
    let mut memory = HeapMemory::new(mesh, 1);
    let mut controller = Controller::new(memory.memory(), configuration(mesh, kind)).unwrap();
    let mut model = Strategy::new(kind, SIDE.into(), SIDE.into());
    for step in 0..OCCUPANCIES {
        if step > 0 {
            let node = step.trailing_zeros();
            let (x, y) = (node as i32 % i32::from(SIDE), node as i32 / i32::from(SIDE));
            let busy = (step ^ step >> 1) >> node & 1 == 1;
            set_faulty(&mut controller, node, busy);
            match Rect::based_at(x, y, 1, 1) {
                unit if busy => model.take(unit),
                unit => model.give_back(unit, |_, _| false),
            }
        }
        for request in &requests {
            ask(&mut controller, &model, request);
        }
        if step % 1024 == 0 {
            controller.check_invariants();
        }
    }
}

fn ask(controller: &mut Controller<'_>, model: &Strategy, request: &Request) {
    let answer = submit(controller, JOB, *request);
    let expected = model.place(request);
    let same = match expected {
        Ok(place) => answer.submesh().map(Rect::from) == Some(place),
        Err(refusal) => {
            answer.grants.is_empty() && answer.last == Reply::Error(Error::Refused(refusal))
        }
    };
    assert!(
        same,
        "{request:?}: {answer:?}, expected {expected:?}, in\n{}",
        model.busy()
    );
    if expected.is_ok() {
        let released = release(controller, JOB);
        assert!(matches!(released.last, Reply::Released { job, .. } if job.0 == JOB));
    }
}

macro_rules! strategies {
    ($($name:ident: $kind:ident;)*) => {
        $(
            #[test]
            fn $name() {
                answers_as_its_model(StrategyKind::$kind);
            }
        )*
    };
}

strategies! {
    buddy: Buddy;
    frame_sliding: FrameSliding;
    best_fit: BestFit;
    busy_list: BusyList;
    fixed_orientation: FixedOrientation;
    flex_fold: FlexFold;
    all_shapes: AllShapes;
}
