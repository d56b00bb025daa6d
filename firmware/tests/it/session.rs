//! The real client and the real server: every decision over the line is the one made in process.

use std::num::NonZeroU64;

use meshalloc::Threshold;
use meshalloc::message::WhyReport;
use meshalloc::{
    Answer, Change, Class, Configuration, ConfigureError, Controller, Error, EventKind,
    FaultReport, Flags, Grid, JobId, NodeId, Outcome, Query, Reason, Refusal, Request,
    SchedulerKind, Storage, StrategyKind, Submesh, Tolerance,
};
use meshalloc_firmware::{BUILD, Client, ClientError, PROTOCOL_VERSION, SOFTWARE, Server};

use crate::board::{
    Board, JOBS, Led, at_reset, configuration, grid, handle, on, on_cube, preempt, release,
    request, submit, submit_shape,
};
use crate::line::{Faults, MemoryLine, OPTIONS, Random, call};

/// The boot of a server that is never reset.
const BOOT: u64 = 1;

#[test]
fn the_greeting_says_who_the_server_is() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    let greeting = client.greeting();
    assert_eq!(greeting.protocol, PROTOCOL_VERSION);
    assert_eq!(greeting.software, SOFTWARE);
    assert_eq!(greeting.build, BUILD);
    assert_eq!(greeting.capacity.jobs as usize, JOBS);
    assert!(greeting.strategies().eq(StrategyKind::built()));
    assert_eq!(
        greeting.configuration,
        configuration(16, 16, StrategyKind::FirstFit)
    );
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Mesh,
    Cube,
    /// Neither a two-dimensional mesh nor a k-ary n-cube.
    Other,
}

const KINDS: [Kind; 3] = [Kind::Mesh, Kind::Cube, Kind::Other];

/// The board has room for most of them.
fn some_machine(random: &mut Random, kind: Kind) -> Grid {
    let mut one_of = |texts: &[&str]| grid(texts[random.below(texts.len())]);
    match kind {
        Kind::Cube => one_of(&[
            "4-ary 3-cube",
            "4-ary 3-cube",
            "2-ary 8-cube",
            "16-ary 2-cube",
            "3-ary 5-cube",
            "6-ary 3-cube",
            "7-ary 3-cube",
        ]),
        Kind::Other => one_of(&[
            "torus 4x4x8",
            "mesh 8x4x4",
            "mesh 4x4x16 wrap 2",
            "torus 16x16",
            "mesh 9x9 wrap 0",
            "mesh 200",
            "torus 100",
            "mesh 2x3x2x5 wrap 1,3",
            "torus 2x1x2x1x2x1x2x1x2x1x2x1x2x1x2x1",
            "torus 4x4x4",
            "mesh 16x16x16",
        ]),
        Kind::Mesh => {
            let sides = [1 + random.below(20) as u16, 1 + random.below(16) as u16];
            Grid::mesh(&sides).expect("sides in range")
        }
    }
}

/// Mostly with a strategy that serves the machine.
fn some_configuration(random: &mut Random, kind: Kind) -> Configuration {
    let machine = some_machine(random, kind);
    let any = random.below(8) == 0;
    let strategies: Vec<StrategyKind> = StrategyKind::built()
        .filter(|strategy| any || strategy.serves().includes(&machine))
        .collect();
    Configuration {
        scheduler: SCHEDULERS[random.below(SCHEDULERS.len())],
        ..on(machine, strategies[random.below(strategies.len())])
    }
}

/// Many jobs may try after one departure. There are 10 ticks between two commands.
pub(crate) const SCHEDULERS: [SchedulerKind; 6] = [
    SchedulerKind::Fcfs,
    SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 400 }),
    SchedulerKind::BypassQueue { threshold: 400 },
    SchedulerKind::Easy { reservations: 1 },
    SchedulerKind::Conservative,
    SchedulerKind::ShortestJobFirst { threshold: 400 },
];

fn some_request(random: &mut Random, kind: Kind) -> Request {
    let request = match kind {
        Kind::Cube => {
            // Half of them of whole rings of a 4-ary cube, as one strategy serves no other.
            let rings = random.below(2) == 0;
            let of: Vec<u16> = (0..random.below(4))
                .map(|_| if rings { 4 } else { 2 + random.below(4) as u16 })
                .collect();
            request(&of)
        }
        Kind::Other => {
            let of: Vec<u16> = (0..random.below(5))
                .map(|_| 1 + random.below(5) as u16)
                .collect();
            request(&of)
        }
        Kind::Mesh => Request::submesh(random.below(9) as u16, random.below(9) as u16),
    };
    let request = request.with_flags(Flags::from_bits_truncate(random.below(16) as u8));
    let request = match random.below(3) {
        0 => {
            let class = Class::new(random.below(500) as u64, random.below(2) == 0);
            request.with_class(class.expect("this build has priorities"))
        }
        _ => request,
    };
    let tolerance = Tolerance::new(random.below(3) as u8);
    let request = request.with_tolerance(tolerance.expect("this build has tolerance"));
    match random.below(4) {
        0 => request,
        _ => request.with_estimate(1 + random.below(300) as u64),
    }
}

/// A change or a query.
#[derive(Debug)]
pub(crate) enum Command {
    Change(Change),
    Query(Query),
}

/// Changes and queries of every kind, many of them wrong in some way, on a machine, mostly of this
/// kind, that is nearly always full.
fn commands(random: &mut Random, count: usize, kind: Kind) -> Vec<Command> {
    (0..count)
        .map(|i| {
            let kind = match random.below(20) {
                0 => KINDS[random.below(KINDS.len())],
                _ => kind,
            };
            let job = random.below(40) as u32;
            let node = NodeId(random.below(130) as u32);
            let mut number = || random.below(4) as u16;
            let block = Submesh::new(2 * number(), number(), number(), number()).into();
            let query = match random.below(100) {
                0..=4 => Query::Job { job: JobId(job) },
                5..=7 => Query::Occupancy { from: node },
                8..=9 => Query::Jobs {
                    on: None,
                    from: job,
                },
                10 => Query::Jobs {
                    on: Some(block),
                    from: job / 4,
                },
                11..=13 => Query::Statistics,
                14 => Query::Blocks {
                    job: JobId(job),
                    from: 0,
                },
                15..=40 => Query::Why { job: JobId(job) },
                _ => Query::Statistics,
            };
            if i > 0 && random.below(100) < 14 {
                return Command::Query(query);
            }
            Command::Change(match random.below(86) {
                _ if i == 0 => Change::Configure(some_configuration(random, kind)),
                0 => Change::Reset,
                1..=3 => Change::Configure(some_configuration(random, kind)),
                4..=6 => Change::MarkFaulty { block },
                7..=9 => Change::ClearFaulty { block },
                10..=41 => release(job),
                42..=48 => Change::Submit {
                    job: JobId(job),
                    request: some_request(random, kind),
                    lease: NonZeroU64::new(1 + random.below(400) as u64),
                },
                49..=52 => Change::Lease {
                    job: JobId(job),
                    ticks: NonZeroU64::new(random.below(200) as u64),
                },
                53 => Change::EndLease { job: JobId(job) },
                54 | 55 => Change::Replace { job: JobId(job) },
                56..=60 => preempt(random),
                _ => Change::submit(JobId(job), some_request(random, kind)),
            })
        })
        .collect()
}

/// Counts of a comparison.
#[derive(Debug, Default)]
struct Seen {
    retries: u64,
    /// Faults of the line.
    happened: [u32; 6],
    grants: usize,
    leases_ended: usize,
    /// Jobs of which the reason why they wait was asked.
    reasons: u32,
}

impl Seen {
    fn add(&mut self, other: &Seen) {
        self.retries += other.retries;
        self.happened = std::array::from_fn(|i| self.happened[i] + other.happened[i]);
        self.grants += other.grants;
        self.leases_ended += other.leases_ended;
        self.reasons += other.reasons;
    }
}

/// Runs changes and queries over a line with these faults and in process, and compares every reply.
fn compare(seed: u64, faults: Faults, count: usize, kind: Kind) -> Seen {
    let (mut there, mut here) = (Board::new(), Board::new());
    let mut server = Server::new(at_reset(&mut there), BOOT);
    let mut reference = at_reset(&mut here);
    let line = MemoryLine::with_faults(&mut server, faults, seed);
    let mut client = Client::connect(line, OPTIONS).expect("the line lets some frames through");
    client.use_virtual_clock(true).expect("no job has a lease");
    let mut random = Random(seed ^ 0x5eed);
    let mut seen = Seen::default();
    for (i, command) in commands(&mut random, count, kind).iter().enumerate() {
        let now = 10 * i as u64;
        let context = format!("seed {seed}, command {i}: {command:?}");
        let change = match command {
            Command::Change(change) => change,
            Command::Query(query) => {
                let query = match (*query, reference.jobs().queue().head()) {
                    // Most names are of no job that waits.
                    (Query::Why { .. }, Some(head)) => Query::Why {
                        job: reference.jobs().get(head).id(),
                    },
                    (query, _) => query,
                };
                let mut ask = || match client.query(&query) {
                    // While it makes attempts.
                    Ok(Err(Error::Busy { .. })) => None,
                    answer => Some(answer),
                };
                let answer = (0..50).find_map(|_| ask()).expect("its work ends");
                let answer = answer.unwrap_or_else(|error| panic!("{context}: {error}"));
                assert_eq!(answer, reference.answer(&query, None), "{context}");
                let is_waiting = |report: &WhyReport| report.reason.is_some();
                seen.reasons +=
                    u32::from(matches!(&answer, Ok(Answer::Why(report)) if is_waiting(report)));
                continue;
            }
        };
        let mut over_line = call(&mut client, change, Some(now))
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        let in_process = handle(&mut reference, change, now);
        // A job that was granted and has gone again has no grant any more, unless the client has
        // read it.
        let gone: Vec<JobId> = in_process
            .events
            .iter()
            .map(|(event, _)| *event)
            .filter(|event| event.what == EventKind::LeaseEnded)
            .map(|event| event.job)
            .collect();
        seen.leases_ended += gone.len();
        over_line.events.retain(|(event, _)| {
            !matches!(event.what, EventKind::Granted { .. }) || !gone.contains(&event.job)
        });
        assert_eq!(over_line, in_process, "{context}");
        for (_, blocks) in over_line.grants() {
            seen.grants += 1;
            let machine = reference.machine();
            assert!(blocks.iter().all(|&block| machine.contains(block)));
        }
        if let Change::Submit { job, .. } = *change {
            let query = Query::Job { job };
            let answer = client.query(&query);
            let answer = answer.unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(answer, reference.view().answer(&query), "{context}");
        }
    }
    seen.retries = client.counters().retries;
    seen.happened = client.line_mut().happened();
    server.controller().check_invariants();
    seen
}

#[test]
fn on_a_good_line_every_reply_equals_the_one_in_process() {
    for kind in KINDS {
        let mut all = Seen::default();
        for seed in 0..16 {
            all.add(&compare(seed, Faults::default(), 600, kind));
        }
        assert_eq!((all.retries, all.happened), (0, [0; 6]));
        assert!(
            all.grants > 500 && all.leases_ended > 50 && all.reasons > 20,
            "{kind:?}: {all:?}"
        );
    }
}

#[test]
fn on_a_bad_line_every_reply_equals_the_one_in_process() {
    let one = |seed| {
        let mut random = Random(seed);
        let mut rate = || [0, 4, 8, 30][random.below(4)];
        Faults {
            lose: rate(),
            repeat: rate(),
            cut: rate(),
            change: rate(),
            insert: rate(),
            hold: rate(),
        }
    };
    for kind in KINDS {
        let mut all = Seen::default();
        for seed in 0..40 {
            all.add(&compare(seed, one(seed), 250, kind));
        }
        assert!(
            all.retries > 1000 && all.happened.iter().all(|&times| times > 500),
            "the faults did not bite: {all:?}"
        );
        assert!(
            all.grants > 500 && all.leases_ended > 50 && all.reasons > 20,
            "{kind:?}: {all:?}"
        );
    }
}

#[test]
fn a_full_table_refuses_and_loses_nothing() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    let mut submit_job = |job: usize| call(&mut client, &submit(job as u32, 1, 1), None).unwrap();
    for job in 1..JOBS {
        assert_eq!(submit_job(job).grants().len(), 1, "job {job} of {JOBS}");
    }
    assert_eq!(submit_job(JOBS).grants().len(), 1, "the last that fits");
    let refused = submit_job(JOBS + 1).outcome;
    assert_eq!(refused, Err(Error::Refused(Refusal::TableFull)));
    // What was refused was not taken; releasing needs no room and makes some.
    let mut call = |change| call(&mut client, &change, None).unwrap();
    let unknown = call(release(JOBS as u32 + 1)).outcome;
    assert_eq!(unknown, Err(Error::UnknownJob));
    let released = call(release(1)).outcome;
    assert_eq!(released, Ok(Outcome::Released { processors: 1 }));
    assert_eq!(call(submit(JOBS as u32 + 1, 1, 1)).grants().len(), 1);
}

/// 4,096 single processors, which are read in 228 parts, on a line that loses and repeats frames.
#[test]
fn a_job_of_4096_single_processors_is_one_grant_in_many_parts() {
    const PROCESSORS: u32 = 4096;
    let random = configuration(128, 64, StrategyKind::Random { seed: 9 });
    let mut storage = Box::new(Storage::<256, 4, 0, 8192, 0>::new());
    let mut server = Server::new(Controller::new(storage.memory(), random).unwrap(), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    // A checkerboard of faults leaves no two free processors side by side.
    for node in (0..8192).filter(|node| (node / 128 + node % 128) % 2 == 0) {
        let block = Submesh::new(node % 128, node / 128, 1, 1).into();
        call(&mut client, &Change::MarkFaulty { block }, None).unwrap();
    }
    client.line_mut().set_faults(Faults {
        lose: 8,
        repeat: 50,
        ..Faults::default()
    });
    let led = call(&mut client, &submit(1, 64, 64), None).unwrap();
    let [(JobId(1), blocks)] = led.grants()[..] else {
        panic!("{:?}", led.outcome);
    };
    assert_eq!(blocks.len() as u32, PROCESSORS);
    let mut nodes = Vec::new();
    for &block in blocks {
        let Submesh { base, sides } = Submesh::of(&random.machine, block).unwrap();
        assert_eq!((sides.w, sides.h), (1, 1));
        nodes.push(u32::from(base.y) * 128 + u32::from(base.x));
    }
    let free = (0..8192).filter(|node| (node / 128 + node % 128) % 2 == 1);
    assert!(nodes.iter().copied().eq(free));
    let [lost, repeated, ..] = client.line_mut().happened();
    assert!(lost > 0 && repeated > 0, "{lost} lost, {repeated} repeated");
    client.line_mut().set_faults(Faults::default());
    let released = call(&mut client, &release(1), None).unwrap().outcome;
    let processors = PROCESSORS;
    assert_eq!(released, Ok(Outcome::Released { processors }));
    assert_eq!(server.controller().statistics().counts.granted, 1);
}

#[test]
fn a_lost_grant_on_a_cube_comes_again() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    let cube = on_cube(4, 3, StrategyKind::TreeCollapsing);
    call(&mut client, &Change::Configure(cube), None).unwrap();
    client.line_mut().set_faults(Faults {
        lose: 2,
        ..Faults::default()
    });
    // Four planes are all of the cube; the fifth job gets the first to be free.
    for job in 1..=4 {
        let led = call(&mut client, &submit_shape(job, &[4, 4]), None).unwrap();
        assert_eq!(led.grants().len(), 1, "{led:?}");
    }
    let waits = call(&mut client, &submit_shape(5, &[4, 4]), None).unwrap();
    assert_eq!(waits.events, []);
    let led = call(&mut client, &release(3), None).unwrap();
    // From node 32 on, along dimensions 0 and 1.
    let plane = cube.machine.block(&[0, 0, 2], &[4, 4, 1]);
    assert_eq!(led.outcome, Ok(Outcome::Released { processors: 16 }));
    assert_eq!(led.grants(), [(JobId(5), &[plane.unwrap()][..])]);
    assert!(client.counters().retries > 0, "nothing was lost");
    assert_eq!(server.controller().statistics().counts.granted, 5);
}

#[test]
fn everything_can_be_asked_of_a_cube() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    let mut ask = |change: &Change| call(&mut client, change, None).unwrap();
    // 243 processors, which fill 30 bytes and three bits.
    let cube = on_cube(3, 5, StrategyKind::TreeCollapsing);
    assert_eq!(ask(&Change::Configure(cube)).outcome, Ok(Outcome::Done));
    let ring = submit_shape(1, &[3]);
    let led = ask(&ring);
    let [(JobId(1), &[block])] = led.grants()[..] else {
        panic!("{led:?}");
    };
    let place = cube.machine.place(block).to_string();
    assert_eq!(place, "(0, 0, 0, 0, 0)+(1, 1, 1, 1, 3)");
    let unit = |node| cube.machine.unit(NodeId(node)).expect("a processor");
    assert_eq!(
        ask(&Change::MarkFaulty { block: unit(242) }).outcome,
        Ok(Outcome::Faults(FaultReport {
            changed: 1,
            jobs: 0,
            first: None
        }))
    );
    assert_eq!(
        ask(&Change::MarkFaulty { block: unit(2) }).outcome,
        Ok(Outcome::Faults(FaultReport {
            changed: 1,
            jobs: 1,
            first: Some(JobId(1))
        }))
    );
    // Two bits stand for each coordinate, and 3 is none.
    let beyond = Submesh::new(3 << 4, 0, 0, 0).into();
    assert_eq!(
        ask(&Change::MarkFaulty { block: beyond }).outcome,
        Err(Error::NoSuchBlock { dimension: 2 })
    );
    let answer = client.query(&Query::Occupancy { from: NodeId(0) }).unwrap();
    let Ok(Answer::Occupancy(chunk)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(
        (chunk.nodes, chunk.busy.len(), chunk.faulty.len()),
        (243, 31, 31)
    );
    // The ring is (0, 0, 0, 0, *): the processors 0, 1 and 2.
    assert_eq!((chunk.busy[0], chunk.busy[30]), (0b111, 0b100));
    assert_eq!((chunk.faulty[0], chunk.faulty[30]), (0b100, 0b100));
    let job = JobId(1);
    let answer = client.query(&Query::Job { job }).unwrap();
    assert!(
        matches!(&answer, Ok(Answer::Job(report)) if report.request == request(&[3])),
        "{answer:?}"
    );
    assert_eq!(client.blocks(job, 1).unwrap(), [block]);
    let mut ask = |change: &Change| call(&mut client, change, None).unwrap();
    // A whole cube never fits while a processor is faulty, and waits.
    assert_eq!(ask(&submit_shape(2, &[3; 5])).events, []);
    let why = WhyReport {
        job: JobId(2),
        reason: Some(Reason::Faults),
        ahead: 0,
        needs: 243,
        free: 239,
        faulty: 2,
    };
    let answer = client.query(&Query::Why { job: JobId(2) }).unwrap();
    assert_eq!(answer, Ok(Answer::Why(why)));
    let mut ask = |change: &Change| call(&mut client, change, None).unwrap();
    let too_many_processors = Change::submit(JobId(3), request(&[3, 2]).with_processors(7));
    for (command, refusal) in [
        (submit_shape(3, &[4]), Refusal::NeverFits),
        (submit_shape(3, &[2; 6]), Refusal::TooManyExtents),
        (submit_shape(3, &[2, 0, 2]), Refusal::EmptyRequest),
        (too_many_processors, Refusal::Malformed),
        (ring, Refusal::DuplicateJob),
    ] {
        let outcome = ask(&command).outcome;
        assert_eq!(outcome, Err(Error::Refused(refusal)), "{command:?}");
    }
}

#[test]
fn after_a_reset_of_the_server_nothing_old_is_carried_out() {
    let (mut one, mut two) = (Board::new(), Board::new());
    let mut before = Server::new(at_reset(&mut one), BOOT);
    let mut after = Server::new(at_reset(&mut two), BOOT + 1);
    let mut client = Client::connect(MemoryLine::new(&mut before), OPTIONS).unwrap();
    let naive = Change::Configure(configuration(4, 4, StrategyKind::Naive));
    call(&mut client, &naive, None).unwrap();
    call(&mut client, &submit(1, 2, 2), None).unwrap();
    client.line_mut().server = &mut after;
    let error = call(&mut client, &submit(2, 2, 2), None).unwrap_err();
    assert!(
        matches!(error, ClientError::ControllerReset { .. }),
        "{error}"
    );
    let greeting = client.hello().unwrap();
    assert_eq!(
        greeting.configuration,
        configuration(16, 16, StrategyKind::FirstFit)
    );
    let led = call(&mut client, &submit(2, 2, 2), None).unwrap();
    assert_eq!(led.outcome, Ok(Outcome::Done));
    assert_eq!(led.grants()[0].0, JobId(2));
    assert_eq!(after.controller().statistics().counts.submitted, 1);
}

#[test]
fn a_command_without_a_time_gets_the_clock_of_the_server() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    let granted_at = |led: &Led| match &led.events[..] {
        [(event, _)] => event.at,
        other => panic!("{other:?}"),
    };
    client.line_mut().now = 70;
    let led = call(&mut client, &submit(1, 2, 2), None).unwrap();
    assert_eq!(granted_at(&led), 70);
    client.use_virtual_clock(true).unwrap();
    let led = call(&mut client, &submit(2, 2, 2), Some(100)).unwrap();
    assert_eq!(granted_at(&led), 100);
    let led = call(&mut client, &submit(3, 2, 2), None).unwrap();
    assert_eq!(granted_at(&led), 100, "it stands still");
    client.use_virtual_clock(false).unwrap();
    client.line_mut().now = 75;
    let led = call(&mut client, &submit(4, 2, 2), None).unwrap();
    assert_eq!(granted_at(&led), 105, "and goes on from there");
}

#[test]
fn a_configuration_that_does_not_fit_leaves_the_old_one() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    for (refused, why) in [
        (
            configuration(1024, 1024, StrategyKind::FirstFit),
            ConfigureError::MachineTooLarge,
        ),
        (
            on_cube(2, 11, StrategyKind::TreeCollapsing),
            ConfigureError::MachineTooLarge,
        ),
        (
            on(grid("torus 8x8x32"), StrategyKind::FirstFit),
            ConfigureError::MachineTooLarge,
        ),
        (
            on(grid("torus 8x8x8"), StrategyKind::Naive),
            ConfigureError::StrategyMemory,
        ),
        (
            on_cube(4, 3, StrategyKind::Buddy),
            ConfigureError::MachineUnsuitable,
        ),
        (
            on(grid("mesh 4x4x4 wrap 0,1"), StrategyKind::Sniffing),
            ConfigureError::MachineUnsuitable,
        ),
        (
            configuration(8, 8, StrategyKind::Partner),
            ConfigureError::MachineUnsuitable,
        ),
        (
            on_cube(3, 2, StrategyKind::FreeList),
            ConfigureError::MachineUnsuitable,
        ),
    ] {
        assert_eq!(
            call(&mut client, &Change::Configure(refused), None)
                .unwrap()
                .outcome,
            Err(Error::Configure(why)),
            "{refused:?}"
        );
    }
    assert_eq!(
        client.hello().unwrap().configuration,
        configuration(16, 16, StrategyKind::FirstFit)
    );
}
