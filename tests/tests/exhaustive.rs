//! Every occupancy of a 4 x 4 mesh, made of faulty nodes, times every request: the strategies answer
//! exactly as the oracle, and the free submesh list is exactly the ordered set of maximal free
//! rectangles.

use meshalloc::{
    Command, Controller, Error, Flags, Refusal, Reply, Request, StrategyKind, Submesh,
};
use meshalloc_tests::oracle::{NaiveMesh, Placement, Rect, Scan};
use meshalloc_tests::rig::{
    Answer, HeapMemory, ask, configuration, free_submesh_list, mesh, release, set_faulty, submit,
};

const SIDE: u16 = 4;
const NODES: u32 = 16;
const OCCUPANCIES: u32 = 1 << NODES;
const JOB: u32 = 7;

/// All side lengths that the mesh can hold, and some that are longer than one of its sides.
fn requests() -> Vec<Request> {
    let held = (1..=SIDE).flat_map(|b| (1..=SIDE).map(move |a| (a, b)));
    let too_long = [(5, 1), (1, 5), (5, 4), (4, 5), (17, 1), (1, 17), (5, 5)];
    let mut requests = Vec::new();
    for (a, b) in held.chain(too_long) {
        let request = Request::submesh(a, b).with_flags(Flags::NO_WAIT);
        requests.push(request);
        if a != b {
            requests.push(request.with_flags(Flags::NO_WAIT | Flags::FIXED_ORIENTATION));
        }
    }
    requests
}

fn set(picture: &mut NaiveMesh, node: u32, busy: bool) {
    let (x, y) = (node % u32::from(SIDE), node / u32::from(SIDE));
    picture.set(x as i32, y as i32, busy);
}

fn assert_list(controller: &Controller<'_>, expected: &[Rect], picture: &NaiveMesh) {
    let found = free_submesh_list(controller);
    let same = found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(&s, &t)| Rect::from(s) == t);
    assert!(same, "{found:?}, expected {expected:?}, in\n{picture}");
}

/// Asserts that the answer is the one that the oracle gives. Returns whether a job runs now.
fn assert_answer(
    answer: &Answer,
    expected: &Result<Placement, Refusal>,
    context: impl Fn() -> String,
) -> bool {
    let (same, granted) = match expected {
        Ok(Placement::Submesh(rect)) => {
            let place = answer.submesh().map(Rect::from);
            (place == Some(*rect), true)
        }
        Ok(Placement::Nodes(nodes)) => {
            let blocks = answer.grants.iter().flat_map(|granted| &granted.blocks);
            let mut held: Vec<_> = blocks
                .flat_map(|&block| Rect::from(block).nodes())
                .collect();
            held.sort_unstable_by_key(|&(x, y)| (y, x));
            (held == *nodes && answer.grants.len() == 1, true)
        }
        Err(refusal) => {
            let refused = Reply::Error(Error::Refused(*refusal));
            (answer.grants.is_empty() && answer.last == refused, false)
        }
    };
    assert!(same, "{answer:?}, expected {expected:?}, {}", context());
    granted
}

/// Every request to one controller, whose occupancy is `picture`.
fn ask_everything(
    controller: &mut Controller<'_>,
    strategy: StrategyKind,
    requests: &[Request],
    picture: &NaiveMesh,
    scan: &Scan<'_>,
    list: &[Rect],
) {
    for request in requests {
        let answer = submit(controller, JOB, *request);
        let expected = scan.place(strategy, list, request);
        let context = || format!("{strategy}, {request:?}, in\n{picture}");
        if assert_answer(&answer, &expected, context) {
            let released = release(controller, JOB);
            let gone = matches!(released.last, Reply::Released { job, .. } if job.0 == JOB);
            assert!(gone && released.grants.is_empty(), "{released:?}");
        }
    }
}

/// In the order of a Gray code each occupancy is made from the one before by a single fault or repair,
/// so what a strategy keeps has been updated 65,536 times in a row, and once more by every grant and
/// release.
fn in_gray_code_order(strategy: StrategyKind) {
    let (mesh, requests) = (mesh(SIDE, SIDE), requests());
    let mut memory = HeapMemory::new(mesh, 1);
    let mut controller = Controller::new(memory.memory(), configuration(mesh, strategy)).unwrap();
    let mut picture = NaiveMesh::new(SIDE.into(), SIDE.into());
    for step in 0..OCCUPANCIES {
        if step > 0 {
            let node = step.trailing_zeros();
            let busy = (step ^ step >> 1) >> node & 1 == 1;
            set_faulty(&mut controller, node, busy);
            set(&mut picture, node, busy);
        }
        let scan = picture.scan();
        let mut list = Vec::new();
        if strategy == StrategyKind::FreeSubmeshList {
            list = scan.dominant_free_submeshes();
            assert_list(&controller, &list, &picture);
        }
        ask_everything(&mut controller, strategy, &requests, &picture, &scan, &list);
        if strategy == StrategyKind::FreeSubmeshList {
            assert_list(&controller, &list, &picture);
        }
        if step % 1024 == 0 {
            controller.check_invariants();
        }
    }
}

#[test]
fn first_fit_answers_as_the_oracle() {
    in_gray_code_order(StrategyKind::FirstFit);
}

#[test]
fn adaptive_scan_answers_as_the_oracle() {
    in_gray_code_order(StrategyKind::AdaptiveScan);
}

#[test]
fn free_submesh_list_answers_as_the_oracle() {
    in_gray_code_order(StrategyKind::FreeSubmeshList);
}

#[test]
fn naive_answers_as_the_oracle() {
    in_gray_code_order(StrategyKind::Naive);
}

/// The same lists when each occupancy is made from an empty mesh, the faults in another order.
#[test]
fn free_submesh_list_does_not_depend_on_the_way_to_an_occupancy() {
    let mesh = mesh(SIDE, SIDE);
    let strategy = StrategyKind::FreeSubmeshList;
    let mut memory = HeapMemory::new(mesh, 1);
    let mut controller = Controller::new(memory.memory(), configuration(mesh, strategy)).unwrap();
    for occupancy in 0..OCCUPANCIES {
        ask(&mut controller, &Command::Reset);
        let mut picture = NaiveMesh::new(SIDE.into(), SIDE.into());
        // 5 and 16 have no common factor, so every node has its turn.
        for node in (0..NODES).map(|at| (at * 5 + 3) % NODES) {
            if occupancy >> node & 1 == 1 {
                set_faulty(&mut controller, node, true);
                set(&mut picture, node, true);
            }
        }
        let list = picture.scan().dominant_free_submeshes();
        assert_list(&controller, &list, &picture);
    }
}

/// The same lists when faults come under a running job, beside it and both, and when the job then leaves
/// its faulty nodes behind.
#[test]
fn free_submesh_list_follows_every_fault_under_a_job() {
    let mesh = mesh(SIDE, SIDE);
    let strategy = StrategyKind::FreeSubmeshList;
    let mut memory = HeapMemory::new(mesh, 1);
    let mut controller = Controller::new(memory.memory(), configuration(mesh, strategy)).unwrap();
    let job = Rect::based_at(0, 0, 3, 2);
    for faults in 0..OCCUPANCIES {
        ask(&mut controller, &Command::Reset);
        let answer = submit(&mut controller, JOB, Request::submesh(3, 2));
        assert_eq!(answer.submesh(), Some(Submesh::new(0, 0, 3, 2)));
        let mut picture = NaiveMesh::new(SIDE.into(), SIDE.into());
        picture.fill(job, true);
        for node in (0..NODES).filter(|node| faults >> node & 1 == 1) {
            set_faulty(&mut controller, node, true);
            set(&mut picture, node, true);
        }
        assert_list(
            &controller,
            &picture.scan().dominant_free_submeshes(),
            &picture,
        );
        release(&mut controller, JOB);
        picture.fill(job, false);
        for node in (0..NODES).filter(|node| faults >> node & 1 == 1) {
            set(&mut picture, node, true);
        }
        assert_list(
            &controller,
            &picture.scan().dominant_free_submeshes(),
            &picture,
        );
    }
}
