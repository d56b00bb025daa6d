//! How long the firmware in QEMU takes for the decisions that take the longest.

use std::sync::atomic::{AtomicU32, Ordering};

use meshalloc::{
    Command, Configuration, Cube, Flags, Grid, JobId, Mesh, NodeId, Reply, Request, SchedulerKind,
    Shape, Statistics, StrategyKind,
};
use meshalloc_firmware::frame::{ClientFrameBuffer, Header};
use meshalloc_firmware::{Client, ClientMessage, Line, Session};
use meshalloc_tests::qemu::{Qemu, call_at};
use meshalloc_tests::rig::{fault, unit};
use meshalloc_tests::strategy::places_anywhere;

/// The longest decision may take so many milliseconds of the board's clock, at a cycle an instruction: a quarter of the
/// time after which the watchdog resets the chip, as an instruction may take two cycles on average.
const DECISION_MS_MAX: u64 = 2_000;

/// The client that sends commands in bursts, and the number of its session: the second of the boot.
const OTHER_CLIENT: u32 = 77;
const OTHER_SESSION: u32 = 2;
/// Its next sequence number.
static NEXT_SEQ: AtomicU32 = AtomicU32::new(1);

fn call(client: &mut Client<impl Line>, command: Command) -> Vec<Reply> {
    call_at(client, command, None).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn configure(client: &mut Client<impl Line>, machine: Grid, strategy: StrategyKind) {
    let configuration = Configuration {
        machine,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    for command in [Command::Reset, Command::Configure(configuration)] {
        assert_eq!(call(client, command), [Reply::Done], "{strategy}");
    }
}

/// Sends commands all in one go, so that the board does not wait for frames in between; the replies are left to be skipped.
fn send(client: &mut Client<impl Line>, commands: impl Iterator<Item = Command>) {
    // Another client, which opens its session first; it goes on with the one it has from before.
    let number = OTHER_SESSION;
    let session = Session {
        number,
        ..client.greeting().session
    };
    let seq = NEXT_SEQ.fetch_add(1000, Ordering::Relaxed);
    let messages = commands.map(|command| ClientMessage::Command {
        session,
        since: u64::MAX,
        at: None,
        command,
    });
    let messages = std::iter::once(ClientMessage::Hello).chain(messages);
    let frames = messages.zip(seq..).flat_map(|(message, seq)| {
        let mut buffer = ClientFrameBuffer::new();
        let frame = buffer.encode(Header::new(OTHER_CLIENT, seq), &message);
        frame.expect("it fits").to_vec()
    });
    let burst: Vec<u8> = frames.collect();
    client.line_mut().send(&burst).expect("QEMU runs");
}

fn statistics(client: &mut Client<impl Line>) -> Statistics {
    match call(client, Command::Statistics)[0] {
        Reply::Statistics(statistics) => statistics,
        ref other => panic!("{other:?}"),
    }
}

/// Marks these processors as faulty, of a machine without any.
fn mark_faulty(client: &mut Client<impl Line>, busy: impl Iterator<Item = u32>) {
    let busy: Vec<u32> = busy.collect();
    let machine = client.greeting().configuration.machine;
    for nodes in busy.chunks(8) {
        let mark = |&node: &u32| fault(unit(&machine, NodeId(node)), true);
        send(client, nodes.iter().map(mark));
        call(client, Command::ListJobs { on: None, from: 0 });
    }
    assert_eq!(statistics(client).faulty as usize, busy.len());
}

/// How long a decision takes, in milliseconds of the board's clock, and whether the request is granted. Two jobs of one processor
/// each, before and after it, say the time.
fn decision_ms(client: &mut Client<impl Line>, request: Request) -> (u64, bool) {
    let unit = Request::new(Shape::new(&[]).expect("one processor"));
    let before = statistics(client);
    let jobs = [unit, request, unit].into_iter().zip(1..);
    send(
        client,
        jobs.map(|(request, job)| Command::Submit {
            job: JobId(job),
            request: request.with_flags(Flags::NO_WAIT),
        }),
    );
    let mut granted_at = |job| match &call(client, Command::QueryJob { job: JobId(job) })[..] {
        [Reply::Grant(grant), .., Reply::Job(_)] => grant.at,
        other => panic!("{other:?}"),
    };
    let elapsed = granted_at(3) - granted_at(1);
    let after = statistics(client);
    let is_granted = after.running == 3;
    let misses = after.misses - before.misses;
    assert_eq!(misses, u64::from(!is_granted), "enough were free");
    for job in (1..=3).filter(|&job| job != 2 || is_granted) {
        call(client, Command::Release { job: JobId(job) });
    }
    (elapsed, is_granted)
}

#[test]
fn qemu_searches_a_whole_cube_in_time() {
    searches_in_time(Cube::new(2, 12).expect("a cube").grid());
}

/// As many processors in more dimensions, and so more ways to choose those along which a request extends.
#[test]
fn qemu_searches_all_dimensions_in_time() {
    let sides = [2, 1, 2, 1, 2, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2];
    searches_in_time(Grid::new(&sides, 0).expect("a grid"));
}

/// The searches for m extents of 2 on a grid with twelve sides of 2, the others 1, where no such box is free, but one of
/// a dimension less along all dimensions.
fn searches_in_time(grid: Grid) {
    let Some(qemu) = Qemu::start_counting() else {
        return;
    };
    let mut client = qemu.client().unwrap();
    assert_eq!(grid.nodes(), 1 << 12);
    // Those that place a job anywhere never search in vain.
    let searches = |kind: &StrategyKind| kind.serves().includes(&grid) && !places_anywhere(*kind);
    for strategy in StrategyKind::built().filter(searches) {
        let longest = (5..=8).map(|m| {
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
            mark_faulty(&mut client, busy);
            let (elapsed, is_granted) = decision_ms(&mut client, request);
            assert!(!is_granted, "it was to be searched in vain");
            elapsed
        });
        assert_in_time(strategy, longest.max());
    }
}

fn assert_in_time(strategy: StrategyKind, longest: Option<u64>) {
    let longest = longest.expect("some decisions");
    println!("{strategy}: {longest} ms at most, a cycle an instruction");
    assert!(longest <= DECISION_MS_MAX, "{strategy}: {longest} ms");
}

/// Whether the processor with these coordinates is free.
type IsFree<'a> = &'a dyn Fn(u32, u32) -> bool;

/// The 64 x 64 mesh for the strategies that hold more than a rectangle.
///
/// - A corridor from row to row, as long as half the mesh, along which a set of neighbours grows by one processor a pass, and of
///   which no rectangle of the request's area is free.
/// - Columns at the left in which each of the taller parts of an L has room, and none of the shorter ones beside it.
/// - Columns at the left with less than n processors, in which nuclei are found, and the corridor at their right.
/// - A checkerboard, of which each processor is a block and a component.
#[test]
fn qemu_decides_on_a_whole_mesh_in_time() {
    let Some(qemu) = Qemu::start_counting() else {
        return;
    };
    let mut client = qemu.client().unwrap();
    let mesh = Mesh::new(64, 64).expect("sides in range").grid();
    let in_corridor = |x: u32, y: u32, left: u32| {
        let turn = if y % 4 == 1 { 63 } else { left };
        x >= left && (y.is_multiple_of(2) || x == turn)
    };
    let columns = |x: u32, _: u32| x < 40;
    let corridor = |x: u32, y: u32| in_corridor(x, y, 0);
    let both = |x: u32, y: u32| x < 22 || x > 22 && in_corridor(x, y, 23);
    let checkerboard = |x: u32, y: u32| (x + y).is_multiple_of(2);
    let states: [(IsFree<'_>, &[(u16, u16)]); 4] = [
        (&corridor, &[(47, 44), (61, 34), (41, 41), (63, 32)]),
        (&columns, &[(41, 41), (43, 41), (42, 41)]),
        (&both, &[(37, 39), (42, 34), (38, 38), (39, 35)]),
        (&checkerboard, &[(47, 43), (1, 64), (41, 41)]),
    ];
    let kinds = [
        StrategyKind::LShape,
        StrategyKind::Neighbor,
        StrategyKind::MultipleBuddy,
    ];
    for strategy in kinds {
        let mut longest = None;
        for (is_free, requests) in states {
            configure(&mut client, mesh, strategy);
            let is_busy = |node: &u32| !is_free(node % 64, node / 64);
            mark_faulty(&mut client, (0..mesh.nodes()).filter(is_busy));
            for &(w, h) in requests {
                let request = Request::submesh(w, h);
                let (elapsed, is_granted) = decision_ms(&mut client, request);
                println!("{strategy} {w}x{h}: {elapsed} ms, granted: {is_granted}");
                longest = longest.max(Some(elapsed));
            }
        }
        assert_in_time(strategy, longest);
    }
}
