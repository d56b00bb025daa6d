//! A message of every variant, each with a name.

use heapless::Vec as Bounded;
use meshalloc::message::{JobList, JobReport, OccupancyChunk};
use meshalloc::{
    Capacity, Command, Configuration, ConfigureError, CurveFit, DIMENSIONS_MAX, Error, Flags,
    Grant, JobId, JobState, NodeId, PageOrder, Refusal, Reply, Request, SchedulerKind, Serves,
    Statistics, StrategyKind, Submesh,
};
use meshalloc_firmware::frame::CLIENT_FRAME_MAX;
use meshalloc_firmware::{
    ClientMessage, Greeting, LineCounters, PROTOCOL_VERSION, ProtocolError, ServerMessage,
};

use crate::board::{configuration, grid, on, on_cube, request, submit_shape};

/// Every variant of what a client says.
pub(crate) fn client_messages() -> Vec<(String, ClientMessage)> {
    let at = |at, command| ClientMessage::Command { at, command };
    let command = |command| at(None, command);
    let submesh = Request::submesh(4, 3);
    let job = JobId(300);
    let configure = |machine: &str| {
        let first_fit = on(grid(machine), StrategyKind::FirstFit);
        command(Command::Configure(first_fit))
    };
    let mut messages = vec![
        ("hello", ClientMessage::Hello),
        ("line counters", ClientMessage::LineCounters),
        (
            "submit",
            command(Command::Submit {
                job: JobId(1),
                request: submesh,
            }),
        ),
        (
            "submit at a time, with flags",
            at(
                Some(1_000_000),
                Command::Submit {
                    job,
                    request: submesh
                        .with_processors(11)
                        .with_flags(Flags::NO_WAIT | Flags::FIXED_ORIENTATION),
                },
            ),
        ),
        ("release", command(Command::Release { job })),
        ("query job", command(Command::QueryJob { job })),
        ("list jobs", command(Command::ListJobs { from: 16 })),
        (
            "occupancy",
            command(Command::Occupancy { from: NodeId(1024) }),
        ),
        (
            "mark faulty",
            command(Command::MarkFaulty { node: NodeId(7) }),
        ),
        (
            "clear faulty",
            command(Command::ClearFaulty { node: NodeId(7) }),
        ),
        ("statistics", command(Command::Statistics)),
        ("reset", command(Command::Reset)),
        (
            "submit with an estimate",
            command(Command::Submit {
                job,
                request: request(&[4, 3]).with_estimate(300),
            }),
        ),
        ("submit without an extent", command(submit_shape(2, &[]))),
        (
            "submit three extents at a time, with flags",
            at(
                Some(1_000_000),
                Command::Submit {
                    job,
                    request: request(&[200, 2, 3])
                        .with_flags(Flags::NO_WAIT | Flags::FIXED_ORIENTATION),
                },
            ),
        ),
        (
            "submit as many extents as there can be",
            command(submit_shape(3, &[2; DIMENSIONS_MAX])),
        ),
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
                command(Command::Configure(Configuration {
                    scheduler,
                    ..served(strategy)
                })),
            ));
        }
    }
    messages
}

/// Every strategy, and those with parameters with others as well.
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
        },
    ];
    StrategyKind::ALL.iter().copied().chain(parameters)
}

/// A machine like those that the strategy serves.
fn served(strategy: StrategyKind) -> Configuration {
    match strategy.serves() {
        Serves::Cube | Serves::PowerOfTwoCube => on_cube(4, 3, strategy),
        Serves::HalvableMesh => configuration(32, 16, strategy),
        _ => configuration(16, 22, strategy),
    }
}

/// Every variant of what a server says.
pub(crate) fn server_messages() -> Vec<(String, ServerMessage)> {
    let job = JobId(300);
    let mut messages = vec![
        ("greeting".to_owned(), ServerMessage::Hello(greeting())),
        (
            "greeting, on a cube".to_owned(),
            ServerMessage::Hello(Greeting {
                strategies: (0..).take(StrategyKind::ALL.len()).collect(),
                configuration: on_cube(16, 3, StrategyKind::TreeCollapsing),
                ..greeting()
            }),
        ),
        (
            "line counters".to_owned(),
            ServerMessage::LineCounters(line_counters()),
        ),
    ];
    for (name, reply) in [
        ("grant", Reply::Grant(grant())),
        (
            "grant on the 4-ary 3-cube",
            Reply::Grant(grant_on("4-ary 3-cube", &[3, 0, 3], &[2, 2, 2])),
        ),
        (
            "grant on torus 8x8x16",
            Reply::Grant(grant_on("torus 8x8x16", &[7, 2, 12], &[2, 3, 8])),
        ),
        ("done", Reply::Done),
        (
            "submitted, runs",
            Reply::Submitted {
                job,
                state: JobState::Running { processors: 12 },
            },
        ),
        (
            "submitted, waits",
            Reply::Submitted {
                job,
                state: JobState::Waiting { ahead: 3 },
            },
        ),
        (
            "released",
            Reply::Released {
                job,
                processors: 12,
            },
        ),
        (
            "job",
            Reply::Job(JobReport {
                job,
                request: Request::submesh(4, 3).with_processors(11),
                submitted: 1_000_000,
                state: JobState::Running { processors: 12 },
            }),
        ),
        (
            "job of three extents",
            Reply::Job(JobReport {
                job,
                request: request(&[3, 2, 2]),
                submitted: 1_000_000,
                state: JobState::Running { processors: 12 },
            }),
        ),
        (
            "jobs",
            Reply::Jobs(JobList {
                jobs: Bounded::from_slice(&[(job, 12), (JobId(301), 0)]).expect("2 jobs fit"),
                next: Some(16),
            }),
        ),
        (
            "jobs, the last",
            Reply::Jobs(JobList {
                jobs: Bounded::new(),
                next: None,
            }),
        ),
        (
            "occupancy",
            Reply::Occupancy(OccupancyChunk {
                from: NodeId(8),
                nodes: 20,
                busy: Bounded::from_slice(&[0x81, 0x0f]).expect("2 bytes fit"),
                faulty: Bounded::from_slice(&[0x01, 0x00]).expect("2 bytes fit"),
            }),
        ),
        (
            "fault under a job",
            Reply::Fault {
                node: NodeId(7),
                job: Some(job),
                changed: true,
            },
        ),
        (
            "fault under none",
            Reply::Fault {
                node: NodeId(7),
                job: None,
                changed: false,
            },
        ),
        ("statistics", Reply::Statistics(statistics())),
    ] {
        messages.push((name.to_owned(), ServerMessage::Reply(reply)));
    }
    for error in errors() {
        messages.push((
            format!("error: {error}"),
            ServerMessage::Reply(Reply::Error(error)),
        ));
    }
    for error in [
        ProtocolError::Damaged,
        ProtocolError::TooLong,
        ProtocolError::WrongVersion {
            ours: PROTOCOL_VERSION,
        },
        ProtocolError::BadMessage,
        ProtocolError::HelloFirst,
    ] {
        messages.push((
            format!("protocol error: {error}"),
            ServerMessage::Error(error),
        ));
    }
    messages
}

fn errors() -> Vec<Error> {
    let mut errors: Vec<Error> = Refusal::ALL.into_iter().map(Error::Refused).collect();
    errors.extend([Error::UnknownJob, Error::UnknownNode(NodeId(5000))]);
    errors.extend(
        [
            ConfigureError::JobsPresent,
            ConfigureError::MachineTooLarge,
            ConfigureError::StrategyMemory,
            ConfigureError::MachineUnsuitable,
            ConfigureError::StrategyNotBuilt,
            ConfigureError::SchedulerNotBuilt,
        ]
        .map(Error::Configure),
    );
    errors
}

/// The greeting of an image with the strategies that serve two-dimensional meshes.
fn greeting() -> Greeting {
    Greeting {
        protocol: PROTOCOL_VERSION,
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
        frame_bytes_max: CLIENT_FRAME_MAX as u16,
    }
}

fn line_counters() -> LineCounters {
    LineCounters {
        frames: 1,
        repeated: 2,
        before_hello: 3,
        bad_cobs: 4,
        too_short: 5,
        too_long: 6,
        bad_crc: 7,
        wrong_version: 8,
        bad_message: 9,
        overruns: 10,
    }
}

fn grant() -> Grant {
    Grant {
        job: JobId(300),
        at: 1_000_000,
        attempts: 2,
        misses: 1,
        blocks_total: 14,
        first: 12,
        blocks: Bounded::from_slice(&[
            Submesh::new(0, 5, 4, 3).into(),
            Submesh::new(300, 0, 1, 1).into(),
        ])
        .expect("2 blocks fit"),
    }
}

/// One block with this start and extent, dimension 0 first.
fn grant_on(machine: &str, start: &[u16], extent: &[u16]) -> Grant {
    let block = grid(machine)
        .block(start, extent)
        .expect("a part of the grid");
    Grant {
        blocks_total: 1,
        first: 0,
        blocks: Bounded::from_slice(&[block]).expect("1 block fits"),
        ..grant()
    }
}

fn statistics() -> Statistics {
    Statistics {
        nodes: 4096,
        free: 4000,
        faulty: 1,
        waiting: 2,
        running: 3,
        submitted: 4,
        granted: 5,
        released: 6,
        refused: 7,
        attempts: 8,
        valid_attempts: 9,
        misses: 10,
    }
}
