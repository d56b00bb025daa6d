//! A message of every variant, each with a name.

use std::num::NonZeroU64;

use heapless::Vec as Bounded;
use meshalloc::message::{
    BlockList, JobList, JobReport, LargestReport, OccupancyChunk, SliceReport, WhyReport,
};
use meshalloc::{
    Answer, Block, Capacity, Change, Class, Configuration, ConfigureError, Counts, CurveFit,
    CurveLine, DIMENSIONS_MAX, Error, Event, EventKind, FaultReport, Flags, JobId, JobState,
    NodeId, Outcome, PageOrder, Query, Reason, Refusal, Request, SchedulerKind, Serves, Shape,
    Slices, Statistics, StrategyKind, Submesh, Tolerance, Victims,
};
use meshalloc_firmware::frame::CLIENT_FRAME_MAX;
use meshalloc_firmware::protocol::EVENTS_MAX;
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{
    ClientMessage, Events, Greeting, LineCounters, PROTOCOL_VERSION, ProtocolError, ServerMessage,
    Session,
};

use crate::board::{configuration, grid, on, on_cube, request, submit_shape};

/// The session of most messages here.
const SESSION: Session = Session {
    boot: 1000,
    number: 1,
};

/// Every variant of a client's messages.
pub(crate) fn client_messages() -> Vec<(String, ClientMessage)> {
    let at = |at, change| ClientMessage::Change {
        session: SESSION,
        since: 0,
        at,
        change,
    };
    let ask = |query| ClientMessage::Query {
        session: SESSION,
        query,
    };
    let command = |command| at(None, command);
    let submesh = Request::submesh(4, 3);
    let gang = submesh.with_slices(Slices::new(3).expect("some slices"));
    let class = |priority, is_preemptible| {
        Class::new(priority, is_preemptible).expect("this build has priorities")
    };
    let tolerance = |faulty| Tolerance::new(faulty).expect("this build has tolerance");
    let job = JobId(300);
    let configure = |machine: &str| {
        let first_fit = on(grid(machine), StrategyKind::FirstFit);
        command(Change::Configure(first_fit))
    };
    let mut messages = vec![
        ("hello", ClientMessage::Hello),
        (
            "events",
            ClientMessage::Events {
                session: SESSION,
                since: 300,
            },
        ),
        ("line counters", ClientMessage::LineCounters),
        (
            "virtual clock",
            ClientMessage::Clock {
                session: SESSION,
                since: 300,
                is_virtual: true,
            },
        ),
        ("rate", ClientMessage::Rate { baud: 1_000_000 }),
        ("submit", command(Change::submit(JobId(1), submesh))),
        (
            "submit at a time, with flags",
            at(
                Some(1_000_000),
                Change::submit(
                    job,
                    submesh
                        .with_processors(11)
                        .with_flags(Flags::NO_WAIT | Flags::FIXED_ORIENTATION),
                ),
            ),
        ),
        ("release", command(Change::Release { job })),
        (
            "release, in a boot of a board and after an event",
            ClientMessage::Change {
                session: Session {
                    boot: 0x9e37_79b9_7f4a_7c15,
                    number: 2,
                },
                since: 300,
                at: None,
                change: Change::Release { job },
            },
        ),
        ("query job", ask(Query::Job { job })),
        ("blocks", ask(Query::Blocks { job, from: 18 })),
        ("list jobs", ask(Query::Jobs { on: None, from: 16 })),
        (
            "list jobs on a block",
            ask(Query::Jobs {
                on: Some(Submesh::new(2, 3, 4, 5).into()),
                from: 0,
            }),
        ),
        ("occupancy", ask(Query::Occupancy { from: NodeId(1024) })),
        (
            "mark faulty",
            command(Change::MarkFaulty {
                block: Submesh::new(7, 0, 1, 1).into(),
            }),
        ),
        (
            "mark a row of mesh 16x22 faulty",
            command(Change::MarkFaulty {
                block: Submesh::new(0, 21, 16, 1).into(),
            }),
        ),
        (
            "clear faulty",
            command(Change::ClearFaulty {
                block: Submesh::new(7, 0, 1, 1).into(),
            }),
        ),
        ("statistics", ask(Query::Statistics)),
        ("reset", command(Change::Reset)),
        (
            "submit with a lease",
            command(Change::Submit {
                job,
                request: submesh,
                lease: NonZeroU64::new(60_000),
            }),
        ),
        (
            "lease",
            command(Change::Lease {
                job,
                ticks: NonZeroU64::new(60_000),
            }),
        ),
        ("end lease", command(Change::EndLease { job })),
        ("replace", command(Change::Replace { job })),
        (
            "preempt jobs 7 and 8",
            command(Change::Preempt {
                job,
                victims: Victims::new(&[JobId(7), JobId(8)]).expect("at most 8"),
            }),
        ),
        (
            "submit with an estimate",
            command(Change::submit(job, request(&[4, 3]).with_estimate(300))),
        ),
        (
            "submit a gang of 3 slices",
            command(Change::submit(job, gang)),
        ),
        (
            "submit a gang of 3 slices with an estimate",
            command(Change::submit(job, gang.with_estimate(300))),
        ),
        (
            "submit with a priority",
            command(Change::submit(job, submesh.with_class(class(300, false)))),
        ),
        (
            "submit a preemptible job without a priority",
            command(Change::submit(job, submesh.with_class(class(0, true)))),
        ),
        (
            "submit a preemptible gang of 3 slices with an estimate and a priority",
            command(Change::submit(
                job,
                gang.with_estimate(300).with_class(class(400, true)),
            )),
        ),
        (
            "submit a job that tolerates a faulty processor",
            command(Change::submit(job, submesh.with_tolerance(tolerance(1)))),
        ),
        (
            "submit a preemptible gang of 3 slices that each tolerate 2 faulty processors",
            command(Change::submit(
                job,
                gang.with_estimate(300)
                    .with_class(class(400, true))
                    .with_tolerance(tolerance(2)),
            )),
        ),
        ("submit without an extent", command(submit_shape(2, &[]))),
        (
            "submit three extents at a time, with flags",
            at(
                Some(1_000_000),
                Change::submit(
                    job,
                    request(&[200, 2, 3]).with_flags(Flags::NO_WAIT | Flags::FIXED_ORIENTATION),
                ),
            ),
        ),
        (
            "submit as many extents as there can be",
            command(submit_shape(3, &[2; DIMENSIONS_MAX])),
        ),
        (
            "submit a number of processors, with all rings",
            command(Change::submit(job, Request::chips(192).with_rings())),
        ),
        (
            "submit with a ring along the second extent",
            command(Change::submit(
                job,
                request(&[4, 8, 8]).with_flags(Flags::RING_1),
            )),
        ),
        ("slice", ask(Query::Slice { job })),
        ("largest", ask(Query::Largest)),
        ("why", ask(Query::Why { job })),
        ("configure mesh 4096", configure("mesh 4096")),
        ("configure mesh 8x8x16", configure("mesh 8x8x16")),
        (
            "configure mesh 8x8x16 wrap 2",
            configure("mesh 8x8x16 wrap 2"),
        ),
        ("configure torus 8x8x16", configure("torus 8x8x16")),
        ("configure torus 4x4x4", configure("torus 4x4x4")),
        ("configure 4-ary 3-cube", configure("4-ary 3-cube")),
        ("configure 2-ary 16-cube", configure("2-ary 16-cube")),
    ]
    .into_iter()
    .map(|(name, message)| (name.to_owned(), message))
    .collect::<Vec<_>>();
    for strategy in every_strategy() {
        for &scheduler in SchedulerKind::ALL {
            messages.push((
                format!("configure {strategy}, {scheduler:?}"),
                command(Change::Configure(Configuration {
                    scheduler,
                    ..served(strategy)
                })),
            ));
        }
    }
    messages
}

/// Every strategy; those with parameters also with other values.
fn every_strategy() -> impl Iterator<Item = StrategyKind> {
    let parameters = [
        StrategyKind::Random { seed: 300 },
        StrategyKind::Paging {
            order: PageOrder::Snake,
            exponent: 1,
        },
        StrategyKind::StaticBinaryTree { tolerance: 16 },
        StrategyKind::DependentDynamicBinaryTree { ratio: 62_500 },
        StrategyKind::Curve {
            fit: CurveFit::SumOfSquares,
            line: CurveLine::Hilbert,
        },
        StrategyKind::Cubes { fold: true },
    ];
    StrategyKind::ALL.iter().copied().chain(parameters)
}

/// A machine like those that the strategy serves.
fn served(strategy: StrategyKind) -> Configuration {
    match strategy.serves() {
        Serves::Cube | Serves::PowerOfTwoCube => on_cube(4, 3, strategy),
        Serves::HalvableMesh => configuration(32, 16, strategy),
        Serves::Cubes | Serves::Placements => on(grid("torus 16x16x16"), strategy),
        _ => configuration(16, 22, strategy),
    }
}

/// Every variant of a server's messages.
pub(crate) fn server_messages() -> Vec<(String, ServerMessage)> {
    let mut messages = greetings_and_counters();
    let named =
        |(name, answer): (&str, Answer)| (name.to_owned(), ServerMessage::Answer(Ok(answer)));
    messages.extend(answers().into_iter().map(named));
    for error in query_errors() {
        messages.push((format!("error: {error}"), ServerMessage::Answer(Err(error))));
    }
    messages.push((
        "under way".to_owned(),
        ServerMessage::UnderWay(none_since(7)),
    ));
    for (name, outcome, events) in outcomes() {
        messages.push((
            format!("outcome: {name}"),
            ServerMessage::Outcome {
                outcome: Ok(outcome),
                events,
            },
        ));
    }
    for error in errors() {
        messages.push((
            format!("outcome: error: {error}"),
            ServerMessage::Outcome {
                outcome: Err(error),
                events: none_since(7),
            },
        ));
    }
    for (name, events) in [
        ("none", none_since(7)),
        ("one, and more jobs to try", events(1, 8, 3)),
        ("as many as there can be", events(EVENTS_MAX, 300, 0)),
        ("the end of a lease", ended(EventKind::LeaseEnded)),
        (
            "a job is preempted",
            ended(EventKind::Preempted { by: JobId(301) }),
        ),
    ] {
        messages.push((format!("events: {name}"), ServerMessage::Events(events)));
    }
    for error in [
        ProtocolError::Damaged,
        ProtocolError::TooLong,
        ProtocolError::WrongVersion {
            ours: PROTOCOL_VERSION,
        },
        ProtocolError::BadMessage,
        ProtocolError::OtherBoot { boot: 1001 },
        ProtocolError::NoSession,
        ProtocolError::TooOld,
        ProtocolError::NotKept,
        ProtocolError::Unread,
        ProtocolError::NoVirtualClock,
        ProtocolError::VirtualClock,
        ProtocolError::LeasesRun,
    ] {
        messages.push((
            format!("protocol error: {error}"),
            ServerMessage::Error(error),
        ));
    }
    messages
}

fn greetings_and_counters() -> Vec<(String, ServerMessage)> {
    vec![
        ("greeting".to_owned(), ServerMessage::Hello(greeting())),
        (
            "greeting, on a cube".to_owned(),
            ServerMessage::Hello(Greeting {
                origin: Origin::Restored { at: 1_000_000 },
                strategies: (0..).take(StrategyKind::ALL.len()).collect(),
                configuration: on_cube(16, 3, StrategyKind::TreeCollapsing),
                ..greeting()
            }),
        ),
        (
            "greeting, of a described machine".to_owned(),
            ServerMessage::Hello(Greeting {
                configuration: Configuration {
                    machine: grid("torus 16x16x16"),
                    strategy: StrategyKind::Cubes { fold: true },
                    ..configuration(64, 64, StrategyKind::FirstFit)
                },
                description: Some(0x0123_4567),
                ..greeting()
            }),
        ),
        (
            "greeting, the journal is not read".to_owned(),
            ServerMessage::Hello(Greeting {
                origin: Origin::Unread,
                ..greeting()
            }),
        ),
        (
            "line counters".to_owned(),
            ServerMessage::LineCounters(line_counters()),
        ),
        ("rate".to_owned(), ServerMessage::Rate { baud: 1_000_000 }),
    ]
}

/// An answer to every query.
fn answers() -> Vec<(&'static str, Answer)> {
    let job = JobId(300);
    vec![
        ("blocks, the last of 14", Answer::Blocks(block_list())),
        (
            "blocks on the 4-ary 3-cube",
            Answer::Blocks(blocks_on("4-ary 3-cube", &[3, 0, 3], &[2, 2, 2])),
        ),
        (
            "blocks on torus 8x8x16",
            Answer::Blocks(blocks_on("torus 8x8x16", &[7, 2, 12], &[2, 3, 8])),
        ),
        (
            "job",
            Answer::Job(JobReport {
                job,
                request: Request::submesh(4, 3).with_processors(11),
                submitted: 1_000_000,
                state: JobState::Running { processors: 12 },
                blocks: 1,
            }),
        ),
        (
            "job of three extents",
            Answer::Job(JobReport {
                job,
                request: request(&[3, 2, 2]),
                submitted: 1_000_000,
                state: JobState::Running { processors: 12 },
                blocks: 1,
            }),
        ),
        (
            "jobs",
            Answer::Jobs(JobList {
                jobs: Bounded::from_slice(&[(job, 12), (JobId(301), 0)]).expect("2 jobs fit"),
                next: Some(16),
            }),
        ),
        (
            "jobs, the last",
            Answer::Jobs(JobList {
                jobs: Bounded::new(),
                next: None,
            }),
        ),
        (
            "occupancy",
            Answer::Occupancy(OccupancyChunk {
                from: NodeId(8),
                nodes: 20,
                busy: Bounded::from_slice(&[0x81, 0x0f]).expect("2 bytes fit"),
                faulty: Bounded::from_slice(&[0x01, 0x00]).expect("2 bytes fit"),
            }),
        ),
        ("statistics", Answer::Statistics(statistics())),
        (
            "slice, folded",
            Answer::Slice(SliceReport {
                job,
                shape: Shape::new(&[16]).expect("an extent"),
                sides: Shape::new(&[2, 2, 4]).expect("three sides"),
                folded: Some(0),
                rings: 1,
            }),
        ),
        (
            "largest",
            Answer::Largest(LargestReport {
                processors: 512,
                shape: Some(Shape::new(&[8, 8, 8]).expect("three extents")),
                block: blocks_on("torus 16x16x16", &[0, 4, 12], &[8, 8, 9])
                    .blocks
                    .first()
                    .copied(),
            }),
        ),
        (
            "largest, none is free",
            Answer::Largest(LargestReport::default()),
        ),
        (
            "why it waits",
            Answer::Why(WhyReport {
                job,
                reason: Some(Reason::Fragmented),
                ahead: 2,
                needs: 64,
                free: 300,
                faulty: 1,
            }),
        ),
    ]
}

/// An outcome of every variant but errors, with events.
fn outcomes() -> Vec<(&'static str, Outcome, Events)> {
    let job = JobId(300);
    vec![
        ("done", Outcome::Done, none_since(0)),
        ("done, and an event", Outcome::Done, events(1, 8, 0)),
        (
            "released, and more jobs to try",
            Outcome::Released { processors: 12 },
            events(2, 9, 5),
        ),
        (
            "fault under a job",
            Outcome::Faults(FaultReport {
                changed: 1,
                jobs: 1,
                first: Some(job),
            }),
            none_since(7),
        ),
        (
            "fault under none",
            Outcome::Faults(FaultReport {
                changed: 0,
                jobs: 0,
                first: None,
            }),
            none_since(7),
        ),
    ]
}

/// No event after the one of this number, and no job to try.
fn none_since(latest: u64) -> Events {
    Events {
        latest,
        ..Events::default()
    }
}

/// The events from the 8th on, each of a job of its own.
fn events(count: usize, latest: u64, left: u32) -> Events {
    let event = |(number, job)| Event {
        number,
        job: JobId(job),
        at: 1_000_000,
        processors: 12,
        what: EventKind::Granted {
            attempts: 2,
            misses: 1,
            blocks_total: 1,
            block: Block::from(Submesh::new(0, 5, 4, 3)),
        },
    };
    Events {
        list: (8..).zip(300..).take(count).map(event).collect(),
        latest,
        left,
    }
}

/// An event that is not a grant.
fn ended(what: EventKind) -> Events {
    let event = Event {
        number: 8,
        job: JobId(300),
        at: 1_000_000,
        processors: 12,
        what,
    };
    Events {
        list: Bounded::from_slice(&[event]).expect("1 event fits"),
        latest: 8,
        left: 0,
    }
}

/// The errors that answer queries.
fn query_errors() -> [Error; 7] {
    [
        Error::UnknownJob,
        Error::UnknownNode(NodeId(5000)),
        Error::NoSuchBlock { dimension: 1 },
        Error::NoBlock { held: 18 },
        Error::Busy { left: 3 },
        Error::NoSlice,
        Error::MachinesNotBuilt,
    ]
}

/// The errors of commands that change something.
fn errors() -> Vec<Error> {
    // The controller answers with `Error::NotLegal` in place of this refusal.
    let refusals = Refusal::ALL.into_iter();
    let refusals = refusals.filter(|&refusal| refusal != Refusal::NotLegal);
    let mut errors: Vec<Error> = refusals.map(Error::Refused).collect();
    errors.extend([Error::UnknownJob, Error::NoSuchBlock { dimension: 1 }]);
    errors.extend(
        [
            ConfigureError::JobsPresent,
            ConfigureError::MachineTooLarge,
            ConfigureError::StrategyMemory,
            ConfigureError::MachineUnsuitable,
            ConfigureError::StrategyNotBuilt,
            ConfigureError::SchedulerNotBuilt,
            ConfigureError::OtherMachine,
            ConfigureError::BadParameter,
        ]
        .map(Error::Configure),
    );
    errors.extend([
        Error::Busy { left: 300 },
        Error::LeaseRuns,
        Error::LeasesNotBuilt,
        Error::NotLegal {
            nearest: [Some(Shape::sides(2, 4)), Some(Shape::sides(4, 4))],
        },
        Error::NotLegal { nearest: [None; 2] },
        Error::NothingToReplace,
        Error::NotWaiting,
        Error::NoVictim { job: JobId(7) },
    ]);
    errors
}

/// The greeting of an image with the strategies that serve two-dimensional meshes.
fn greeting() -> Greeting {
    Greeting {
        origin: Origin::Forgetful,
        protocol: PROTOCOL_VERSION,
        session: SESSION,
        events: 7,
        software: "0.1.0".try_into().expect("5 bytes fit"),
        build: "thumbv7em-none-eabihf firmware"
            .try_into()
            .expect("30 bytes fit"),
        capacity: Capacity {
            words: 128,
            word_bits: 32,
            jobs: 512,
            blocks: 4096,
            list: 4096,
        },
        strategies: (0..)
            .zip(StrategyKind::ALL)
            .filter(|(_, strategy)| strategy.serves().includes(&grid("mesh 64x64")))
            .map(|(number, _)| number)
            .collect(),
        schedulers: SchedulerKind::ALL.iter().copied().collect(),
        configuration: configuration(64, 64, StrategyKind::FirstFit),
        description: None,
        frame_bytes_max: CLIENT_FRAME_MAX as u16,
    }
}

fn line_counters() -> LineCounters {
    LineCounters {
        frames: 1,
        changes: 2,
        repeated: 3,
        other_session: 4,
        too_old: 5,
        bad_cobs: 6,
        too_short: 7,
        too_long: 8,
        bad_crc: 9,
        wrong_version: 10,
        bad_message: 11,
        overruns: 12,
        dropped: 13,
    }
}

fn block_list() -> BlockList {
    BlockList {
        job: JobId(300),
        granted_at: 1_000_000,
        total: 14,
        first: 12,
        blocks: Bounded::from_slice(&[
            Submesh::new(0, 5, 4, 3).into(),
            Submesh::new(300, 0, 1, 1).into(),
        ])
        .expect("2 blocks fit"),
    }
}

/// One block with this start and extent, dimension 0 first.
fn blocks_on(machine: &str, start: &[u16], extent: &[u16]) -> BlockList {
    let block = grid(machine)
        .block(start, extent)
        .expect("a part of the grid");
    BlockList {
        total: 1,
        first: 0,
        blocks: Bounded::from_slice(&[block]).expect("1 block fits"),
        ..block_list()
    }
}

fn statistics() -> Statistics {
    Statistics {
        nodes: 4096,
        free: 4000,
        faulty: 1,
        waiting: 2,
        running: 3,
        counts: Counts {
            submitted: 4,
            granted: 5,
            released: 6,
            refused: 7,
            attempts: 8,
            valid_attempts: 9,
            misses: 10,
            lease_ends: 11,
        },
    }
}
