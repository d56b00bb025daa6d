//! The firmware as it is, in QEMU, at the other end of a TCP connection.

mod cubes;
mod log;
mod longest;

use std::time::{Duration, Instant};

use meshalloc::scheduler::Threshold;
use meshalloc::{
    Command, Configuration, Controller, Cube, Error, Flags, Grid, JobId, JobState, Mesh, NodeId,
    Refusal, Reply, Request, SchedulerKind, Shape, Storage, StrategyKind, Submesh,
};
use meshalloc_firmware::frame::{ClientFrameBuffer, Header};
use meshalloc_firmware::{Client, ClientError, ClientMessage, Line, PROTOCOL_VERSION};
use meshalloc_tests::qemu::{Qemu, call_at};

fn configuration(w: u16, h: u16, strategy: StrategyKind) -> Configuration {
    Configuration {
        machine: Mesh::new(w, h).expect("sides in range").into(),
        strategy,
        scheduler: SchedulerKind::Fcfs,
    }
}

fn submit(job: u32, w: u16, h: u16) -> Command {
    Command::Submit {
        job: JobId(job),
        request: Request::submesh(w, h),
    }
}

fn release(job: u32) -> Command {
    Command::Release { job: JobId(job) }
}

fn call(client: &mut Client<impl Line>, command: Command) -> Vec<Reply> {
    call_at(client, command, None).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

#[test]
fn qemu_greets_and_allocates() {
    let Some(qemu) = Qemu::start() else { return };
    let mut client = qemu.client().unwrap();

    let greeting = client.greeting().clone();
    assert_eq!(greeting.protocol, PROTOCOL_VERSION);
    assert_eq!(greeting.software, env!("CARGO_PKG_VERSION"));
    assert_eq!(greeting.build, "thumbv7em-none-eabihf firmware");
    assert_eq!(greeting.capacity.word_bits, 32);
    assert!(greeting.capacity.blocks >= 64 * 64);
    assert!(greeting.strategies().eq(StrategyKind::built()));
    assert_eq!(
        greeting.configuration,
        configuration(64, 64, StrategyKind::FirstFit)
    );

    let replies = call(&mut client, submit(1, 40, 30));
    let [Reply::Grant(grant), Reply::Submitted { state, .. }] = &replies[..] else {
        panic!("{replies:?}");
    };
    assert_eq!(grant.blocks[..], [Submesh::new(0, 0, 40, 30).into()]);
    assert_eq!(*state, JobState::Running { processors: 1200 });
    let replies = call(&mut client, submit(2, 64, 64));
    assert!(
        matches!(
            replies[..],
            [Reply::Submitted {
                state: JobState::Waiting { ahead: 0 },
                ..
            }]
        ),
        "{replies:?}"
    );
    let replies = call(&mut client, release(1));
    assert!(
        matches!(&replies[..], [Reply::Grant(grant), Reply::Released { job: JobId(1), processors: 1200 }]
            if grant.job == JobId(2)),
        "{replies:?}"
    );
    assert_eq!(
        call(&mut client, release(1)),
        [Reply::Error(Error::UnknownJob)]
    );

    assert!(
        !qemu.log().unwrap().is_empty(),
        "the firmware logs its start"
    );
}

/// The machines on which the decisions are compared. Every strategy serves two of them at least.
fn machines() -> [Grid; 11] {
    let mesh = |w, h| Mesh::new(w, h).expect("sides in range").grid();
    let cube = |k, n| Cube::new(k, n).expect("a cube").grid();
    let grid = |sides: &[u16], wraps| Grid::new(sides, wraps).expect("a grid");
    [
        mesh(64, 64),
        mesh(33, 20),
        mesh(16, 16),
        mesh(16, 22),
        cube(4, 3),
        cube(3, 5),
        cube(16, 3),
        cube(2, 12),
        grid(&[8, 8, 16], 0b111),
        grid(&[5, 4, 3], 0b010),
        grid(&[7, 5], 0b11),
    ]
}

/// A request of up to 256 processors on a two-dimensional mesh, of any m and any radices on a cube, and of any extents on
/// another grid; `random` has numbers below its argument.
fn request(machine: Grid, random: &mut impl FnMut(u32) -> u32) -> Request {
    let extents: Vec<u16> = match machine.radix() {
        _ if machine.is_plane() => (0..2).map(|_| 1 + random(16) as u16).collect(),
        Some(k) => {
            let dimensions = random(machine.dimensions() as u32 + 1);
            // Half of the requests are for whole rings, since one strategy serves no other.
            let rings = random(2) == 0;
            let radix = |_| match rings {
                true => k,
                false => 2 + random(u32::from(k) - 1) as u16,
            };
            (0..dimensions).map(radix).collect()
        }
        None => {
            let extent = |&side: &u16| 1 + random(side.into()) as u16;
            machine.sides().iter().map(extent).collect()
        }
    };
    let request = Request::new(Shape::new(&extents).expect("extents of the machine"));
    let mut flags = Flags::empty();
    flags.set(Flags::FIXED_ORIENTATION, random(4) == 0);
    // A large one at the head of the queue would keep the others waiting for long.
    flags.set(Flags::NO_WAIT, request.processors > machine.nodes() / 8);
    request.with_flags(flags)
}

/// Every strategy, every command, on full machines of every kind: the board says what a controller in process
/// says, whose words are twice as long.
#[test]
fn qemu_decides_as_in_process() {
    let Some(qemu) = Qemu::start() else { return };
    let mut client = qemu.client().unwrap();
    let schedulers = [
        SchedulerKind::Fcfs,
        SchedulerKind::BypassQueue { threshold: 50 },
        SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 10 }),
    ];
    let mut served = 0;
    let parameters = ["random:seed=7", "paging:snake", "paging:row-major=1"];
    let parameters = parameters.map(|text| text.parse().unwrap());
    for strategy in StrategyKind::built().chain(parameters) {
        let (mut rounds, mut granted) = (0, 0);
        for machine in machines() {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler: schedulers[rounds % schedulers.len()],
            };
            let mut storage = Box::new(Storage::<128, 512, 256, 4096, 4096>::new());
            assert_eq!(
                call_at(&mut client, Command::Reset, Some(0)).unwrap(),
                [Reply::Done]
            );
            let mut reference = match Controller::new(storage.memory(), configuration) {
                Ok(reference) => reference,
                Err(error) => {
                    // The board refuses what is refused in process, such as a buddy system on a mesh that
                    // is not a square of a power of two, or a grid that is not served.
                    let refusal = [Reply::Error(Error::Configure(error))];
                    assert_eq!(
                        call(&mut client, Command::Configure(configuration)),
                        refusal
                    );
                    continue;
                }
            };
            assert_eq!(
                call_at(&mut client, Command::Configure(configuration), Some(0)).unwrap(),
                [Reply::Done]
            );
            rounds += 1;
            let mut state = 1_u32;
            let mut random = |end: u32| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) % end
            };
            for step in 0..400 {
                let job = JobId(random(60));
                let node = NodeId(random(machine.nodes()) / 8 * 8);
                let command = match random(32) {
                    0 => Command::MarkFaulty { node },
                    1..=3 => Command::ClearFaulty { node },
                    4 => Command::Occupancy { from: node },
                    5 => Command::ListJobs { from: job.0 },
                    6 => Command::QueryJob { job },
                    7..=16 => Command::Release { job },
                    _ => Command::Submit {
                        job,
                        request: request(machine, &mut random),
                    },
                };
                let on_board = call_at(&mut client, command, Some(step)).unwrap();
                let mut in_process = Vec::new();
                reference.handle(&command, step, &mut |reply| in_process.push(reply.clone()));
                assert_eq!(
                    on_board, in_process,
                    "{strategy} on {machine}, step {step}: {command:?}"
                );
                let granted_now =
                    |reply: &Reply| matches!(reply, Reply::Grant(grant) if grant.first == 0);
                granted += in_process.iter().filter(|reply| granted_now(reply)).count();
            }
            reference.check_invariants();
        }
        assert!(rounds >= 2, "{strategy} serves {rounds} of the machines");
        assert!(granted >= 50, "{strategy}: {granted} grants");
        served += rounds;
    }
    assert!(
        served > 3 * StrategyKind::built().count(),
        "{served} rounds"
    );
}

#[test]
fn qemu_survives_garbage_and_broken_frames() {
    let Some(qemu) = Qemu::start() else { return };
    let mut client = qemu.client().unwrap();
    let mut buffer = ClientFrameBuffer::new();
    let hello = buffer
        .encode(Header::new(5, 0), &ClientMessage::Hello)
        .unwrap()
        .to_vec();
    let mut wrong_crc = hello.clone();
    let last = wrong_crc.len() - 2;
    wrong_crc[last] = wrong_crc[last].wrapping_add(1).max(1);
    let other_version = Header {
        version: 9,
        ..Header::new(6, 0)
    };
    let other_version = buffer
        .encode(other_version, &ClientMessage::Hello)
        .unwrap()
        .to_vec();

    let garbage: Vec<u8> = (0..2000_u32).map(|i| (i * 7 % 256) as u8).collect();
    // Cut within the CRC, four bytes without a zero: the COBS run says there are more.
    let cut = &hello[..hello.len() - 3];
    for bytes in [&garbage, cut, &wrong_crc, &other_version, &[0x55; 5000]] {
        client.line_mut().send(bytes).unwrap();
    }
    let counters = client.line_counters().unwrap();
    assert!(counters.bad_crc >= 1, "{counters:?}");
    assert!(counters.bad_cobs >= 1, "{counters:?}");
    assert!(counters.too_long >= 1, "{counters:?}");
    assert_eq!(counters.wrong_version, 1, "{counters:?}");
    let replies = call(&mut client, submit(1, 2, 2));
    assert_eq!(replies.len(), 2, "{replies:?}");
}

#[test]
fn qemu_does_not_carry_out_a_repeated_frame() {
    let Some(qemu) = Qemu::start() else { return };
    let mut client = qemu.client().unwrap();
    let mut buffer = ClientFrameBuffer::new();
    let message = ClientMessage::Command {
        at: None,
        command: submit(1, 2, 2),
    };
    let frame = buffer.encode(Header::new(77, 0), &message).unwrap();
    for _ in 0..3 {
        client.line_mut().send(frame).unwrap();
    }
    let counters = client.line_counters().unwrap();
    assert_eq!(counters.repeated, 2, "{counters:?}");
    let replies = call(&mut client, Command::Statistics);
    let [Reply::Statistics(statistics)] = &replies[..] else {
        panic!("{replies:?}");
    };
    assert_eq!((statistics.submitted, statistics.refused), (1, 0));
    assert_eq!(
        call(&mut client, submit(1, 1, 1)),
        [Reply::Error(Error::Refused(Refusal::DuplicateJob))]
    );
}

#[test]
fn qemu_tells_that_the_chip_was_reset() {
    let Some(mut qemu) = Qemu::start() else {
        return;
    };
    let mut client = qemu.client().unwrap();
    let other = configuration(16, 22, StrategyKind::Naive);
    assert_eq!(call(&mut client, Command::Configure(other)), [Reply::Done]);
    assert_eq!(call(&mut client, submit(1, 3, 3)).len(), 2);

    qemu.reset_chip().unwrap();
    let error = call_at(&mut client, submit(2, 3, 3), None).unwrap_err();
    assert!(
        matches!(error, ClientError::ControllerReset),
        "instead: {error}"
    );
    assert_eq!(
        client.hello().unwrap().configuration,
        configuration(64, 64, StrategyKind::FirstFit)
    );
    assert_eq!(
        call(&mut client, release(1)),
        [Reply::Error(Error::UnknownJob)]
    );

    // The same when the whole machine is another one.
    drop(qemu);
    let error = call_at(&mut client, release(1), None).unwrap_err();
    assert!(
        matches!(error, ClientError::Line { .. }),
        "instead: {error}"
    );
}

#[test]
fn qemu_answers_soon() {
    let Some(qemu) = Qemu::start() else { return };
    let mut client = qemu.client().unwrap();
    // The hello may have come before the chip was up.
    let retries = client.counters().retries;
    let mut times = Vec::new();
    for job in 0..500 {
        for command in [submit(job, 5, 7), release(job)] {
            let started = Instant::now();
            call(&mut client, command);
            times.push(started.elapsed());
        }
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    println!(
        "round trip over {} commands: median {median:.2?}, longest {:.2?}",
        times.len(),
        times[times.len() - 1]
    );
    assert_eq!(client.counters().retries, retries);
    assert!(median < Duration::from_millis(100), "median {median:?}");
}
