//! The firmware in QEMU answers during the longest decisions.

use std::sync::atomic::{AtomicU32, Ordering};

use meshalloc::{
    Answer, Change, Configuration, Cube, Error, Flags, Grid, JobId, Mesh, NodeId, Outcome, Query,
    Request, SchedulerKind, Shape, Statistics, StrategyKind, Submesh,
};
use meshalloc_firmware::frame::{ClientFrameBuffer, Header};
use meshalloc_firmware::{Client, ClientMessage, Line, Session};
use meshalloc_tests::qemu::Qemu;
use meshalloc_tests::rig::fault;
use meshalloc_tests::sample;
use meshalloc_tests::strategy::places_anywhere;

use super::call;

/// The most milliseconds for which the firmware may not look at its line.
const SLICE_MAX_MS: f64 = 50.0;

/// Frames that are sent behind the one whose decision takes long.
const BEHIND: u32 = 8;

/// The most rounds until one of them is answered.
const ROUNDS_MAX: usize = 5;

/// The client that sends commands in bursts, and the number of its session: the second of the boot.
const OTHER_CLIENT: u32 = 77;
const OTHER_SESSION: u32 = 2;
/// Its next sequence number.
static NEXT_SEQ: AtomicU32 = AtomicU32::new(1);

fn configure(client: &mut Client<impl Line>, machine: Grid, strategy: StrategyKind) {
    let configuration = Configuration {
        machine,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    for command in [Change::Reset, Change::Configure(configuration)] {
        assert_eq!(
            call(client, command).outcome,
            Ok(Outcome::Done),
            "{strategy}"
        );
    }
}

/// A client, beside which another has opened its session.
fn two_clients(qemu: &Qemu) -> Client<impl Line + use<>> {
    let mut client = qemu.client().expect("it answers");
    send_frames(&mut client, std::iter::once(ClientMessage::Hello));
    client
}

/// Sends changes of the other client in one go, so that the board does not wait for frames in
/// between. Their replies remain on the line, to be skipped.
fn send(client: &mut Client<impl Line>, changes: impl Iterator<Item = Change>) {
    let session = Session {
        number: OTHER_SESSION,
        ..client.greeting().session
    };
    let messages = changes.map(|change| ClientMessage::Change {
        session,
        since: u64::MAX,
        at: None,
        change,
    });
    send_frames(client, messages);
}

fn send_frames(client: &mut Client<impl Line>, messages: impl Iterator<Item = ClientMessage>) {
    let seq = NEXT_SEQ.fetch_add(1000, Ordering::Relaxed);
    let frames = messages.zip(seq..).flat_map(|(message, seq)| {
        let mut buffer = ClientFrameBuffer::new();
        let frame = buffer.encode(Header::new(OTHER_CLIENT, seq), &message);
        frame.expect("it fits").to_vec()
    });
    let burst: Vec<u8> = frames.collect();
    client.line_mut().send(&burst).expect("QEMU runs");
}

/// No two looks at the line were further apart than the bound.
fn looks_often(qemu: &mut Qemu) {
    let longest = qemu.longest_slice_ms();
    println!("{longest:.1} ms between two looks at the line");
    assert!(longest > 1.0 && longest < SLICE_MAX_MS, "{longest} ms");
}

fn statistics(client: &mut Client<impl Line>) -> Statistics {
    match client.query(&Query::Statistics).expect("it answers") {
        Ok(Answer::Statistics(statistics)) => statistics,
        other => panic!("{other:?}"),
    }
}

/// Marks these processors as faulty, of a machine without any; those that follow one another along
/// the first dimension in one go.
fn mark_faulty(client: &mut Client<impl Line>, machine: Grid, busy: impl Iterator<Item = u32>) {
    let busy: Vec<u32> = busy.collect();
    let at = |node| {
        let coordinates = machine.coordinates(NodeId(node));
        coordinates.expect("a processor of the machine")
    };
    let follows = |&node: &u32, &next: &u32| next == node + 1 && at(node)[1..] == at(next)[1..];
    let runs: Vec<&[u32]> = busy.chunk_by(follows).collect();
    let mark = |run: &&[u32]| {
        let mut extent = vec![1; machine.dimensions()];
        extent[0] = run.len() as u16;
        let block = machine.block(&at(run[0]), &extent);
        fault(block.expect("a box of the machine"), true)
    };
    for runs in runs.chunks(8) {
        let (last, others) = runs.split_last().expect("no chunk is empty");
        send(client, others.iter().map(mark));
        call(client, mark(last));
    }
    assert_eq!(statistics(client).faulty as usize, busy.len());
}

/// Sends a request and [`BEHIND`] frames directly behind it. Returns the number of frames that are
/// answered during the search, and whether the request is granted. A submission for one free
/// processor is answered with Busy meanwhile.
fn answered_meanwhile(client: &mut Client<impl Line>, request: Request) -> (u32, bool) {
    let unit = Request::new(Shape::new(&[]).expect("one processor"));
    let before = statistics(client);
    let behind = (2..).take(BEHIND as usize).map(|job| (unit, job));
    let submit = |(request, job): (Request, u32)| {
        Change::submit(JobId(job), request.with_flags(Flags::NO_WAIT))
    };
    send(client, [(request, 1)].into_iter().chain(behind).map(submit));
    // Refused as Busy until the decision is made, and asked again.
    let unknown = Change::Release { job: JobId(1000) };
    assert_eq!(call(client, unknown).outcome, Err(Error::UnknownJob));
    let after = statistics(client);
    let mut end = |job| {
        let job = JobId(job);
        call(client, Change::Release { job }).outcome.is_ok()
    };
    let is_granted = end(1);
    let granted = (2..).take(BEHIND as usize).filter(|&job| end(job)).count();
    assert_eq!(after.running as usize, granted + usize::from(is_granted));
    let misses = after.counts.misses - before.counts.misses;
    assert_eq!(misses, u64::from(!is_granted), "enough were free");
    (BEHIND - granted as u32, is_granted)
}

#[test]
fn qemu_answers_while_it_searches_a_whole_cube() {
    searches_with_answers(Cube::new(2, 12).expect("a cube").grid());
}

/// As many processors in more dimensions, and so more ways to choose those along which a request
/// extends.
#[test]
fn qemu_answers_while_it_searches_all_dimensions() {
    let sides = [2, 1, 2, 1, 2, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2];
    searches_with_answers(Grid::new(&sides, 0).expect("a grid"));
}

/// The searches for m extents of 2 on a grid with twelve sides of 2, the others 1, where no such
/// box is free, but one of a dimension less along all dimensions.
fn searches_with_answers(grid: Grid) {
    let mut qemu = Qemu::start_counting();
    let mut client = two_clients(&qemu);
    assert_eq!(grid.nodes(), 1 << 12);
    // Strategies that place a job anywhere never fail after a search.
    let searches = |kind: &StrategyKind| kind.serves().includes(&grid) && !places_anywhere(*kind);
    for strategy in StrategyKind::built().filter(searches) {
        // The search takes the longest for one of these lengths. Marking processors takes most of
        // the time, so only adaptive scan, whose searches are the longest, tries all lengths.
        let lengths = match strategy {
            StrategyKind::AdaptiveScan => 5..=8,
            _ => 6..=6,
        };
        let most = lengths.map(|m| {
            configure(&mut client, grid, strategy);
            // The nodes of a box with m extents of 2 have m + 1 numbers of ones in a row.
            let busy = (0..grid.nodes()).filter(|node| node.count_ones() % (m + 1) == 0);
            // Extents that fit as they are named.
            let mut extents = grid.sides().to_vec();
            let is_two = |&(_, side): &(usize, &u16)| *side == 2;
            let twos = grid.sides().iter().enumerate().filter(is_two);
            let end = twos.map(|(at, _)| at).nth(m as usize - 1);
            extents.truncate(end.expect("more sides of 2") + 1);
            let request = Request::new(Shape::new(&extents).expect("extents"));
            mark_faulty(&mut client, grid, busy);
            let (answered, is_granted) = answered_meanwhile(&mut client, request);
            assert!(!is_granted, "it was to be searched in vain");
            answered
        });
        let most = most.max().expect("some decisions");
        println!("{strategy}: {most} of {BEHIND} frames answered in pauses");
        // It tries up to 924 orders of the extents, which takes longer than the time between two
        // pauses.
        if strategy == StrategyKind::AdaptiveScan {
            assert_eq!(most, BEHIND);
        }
    }
    looks_often(&mut qemu);
}

/// Whether the processor with these coordinates is free.
type IsFree<'a> = &'a dyn Fn(u32, u32) -> bool;

/// The 64 x 64 mesh for strategies whose jobs may hold more than a rectangle, with decisions that
/// take longer than the time between two looks at the line.
///
/// - A corridor from row to row, as long as half the mesh, along which a set of neighbours grows by
///   one processor a pass, and of which no rectangle of the request's area is free.
/// - Columns at the left with less than n processors, in which nuclei are found, and the corridor
///   at their right.
/// - A checkerboard, of which each processor is a block and a component.
#[test]
fn qemu_answers_while_it_decides_on_a_whole_mesh() {
    let mut qemu = Qemu::start_counting();
    let mut client = two_clients(&qemu);
    let mesh = Mesh::new(64, 64).expect("sides in range").grid();
    let in_corridor = |x: u32, y: u32, left: u32| {
        let turn = if y % 4 == 1 { 63 } else { left };
        x >= left && (y.is_multiple_of(2) || x == turn)
    };
    let corridor = |x: u32, y: u32| in_corridor(x, y, 0);
    let both = |x: u32, y: u32| x < 22 || x > 22 && in_corridor(x, y, 23);
    let checkerboard = |x: u32, y: u32| (x + y).is_multiple_of(2);
    let states: [(IsFree<'_>, &[(u16, u16)]); 3] = [
        (&corridor, &[(47, 44), (61, 34), (41, 41), (63, 32)]),
        (&both, &[(37, 39), (42, 34), (38, 38), (39, 35)]),
        (&checkerboard, &[(47, 43), (1, 64), (41, 41)]),
    ];
    let kinds = [
        StrategyKind::Neighbor,
        StrategyKind::Random { seed: 1 },
        StrategyKind::DependentBinaryTree,
    ];
    for strategy in kinds {
        let mut most = 0;
        // There are few pauses, and the host determines when frames arrive: repeat if all come
        // after a pause.
        for (round, (is_free, requests)) in std::iter::repeat_n(states, ROUNDS_MAX)
            .flatten()
            .enumerate()
        {
            if most > 0 && round.is_multiple_of(states.len()) {
                break;
            }
            configure(&mut client, mesh, strategy);
            let is_busy = |node: &u32| !is_free(node % 64, node / 64);
            mark_faulty(&mut client, mesh, (0..mesh.nodes()).filter(is_busy));
            for &(w, h) in requests {
                let request = Request::submesh(w, h);
                let (answered, is_granted) = answered_meanwhile(&mut client, request);
                println!("{strategy} {w}x{h}: {answered} answered, granted: {is_granted}");
                most = most.max(answered);
            }
        }
        assert!(most > 0, "{strategy}: no frame was answered in a pause");
    }
    looks_often(&mut qemu);
}

/// Thousands of blocks, reservations for all jobs that wait, and every processor one by one.
#[test]
fn qemu_looks_at_its_line_while_many_jobs_wait() {
    let mut qemu = Qemu::start_counting();
    let mut client = qemu.client().expect("it answers");
    let machine = Mesh::new(64, 64).expect("sides in range").grid();
    let strategies = [
        StrategyKind::FirstFit,
        StrategyKind::FreeSubmeshList,
        StrategyKind::BusyList,
        StrategyKind::Naive,
        StrategyKind::LeastExpectedBlocking { budget: 64 },
    ];
    for strategy in sample(strategies, 3, 1) {
        let configuration = Configuration {
            machine,
            strategy,
            scheduler: SchedulerKind::Conservative,
        };
        let mut ask = |change| call(&mut client, change).outcome;
        for change in [Change::Reset, Change::Configure(configuration)] {
            assert_eq!(ask(change), Ok(Outcome::Done), "{strategy}");
        }
        for y in 0..64 {
            for x in (y % 9..64).step_by(9) {
                let block = Submesh::new(x, y, 1, 1).into();
                assert!(ask(Change::MarkFaulty { block }).is_ok());
            }
        }
        for job in 0..40 {
            let side = |factor| 2 + (job * factor % 7) as u16;
            let request = Request::submesh(side(3), side(5));
            let request = request.with_estimate(100 + u64::from(job * 37 % 50));
            assert!(ask(Change::submit(JobId(job), request)).is_ok());
        }
        for job in 0..40 {
            assert!(ask(Change::Release { job: JobId(job) }).is_ok());
        }
    }
    looks_often(&mut qemu);
}
