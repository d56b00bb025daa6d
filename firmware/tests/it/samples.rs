//! A message of every variant, each with a name, and the longest of every kind.

use heapless::Vec as Bounded;
use meshalloc::message::{
    GRANT_BLOCKS_MAX, JobList, JobReport, LIST_JOBS_MAX, OCCUPANCY_BYTES_MAX, OccupancyChunk,
};
use meshalloc::{
    Block, Capacity, Command, Configuration, ConfigureError, Error, Flags, Grant, JobId, JobState,
    Machine, Mesh, NodeId, Refusal, Reply, Request, SIDE_MAX, SchedulerKind, Statistics,
    StrategyKind, Submesh,
};
use meshalloc_firmware::protocol::{
    BUILD_BYTES_MAX, SCHEDULERS_MAX, SOFTWARE_BYTES_MAX, STRATEGIES_MAX,
};
use meshalloc_firmware::{ClientMessage, Greeting, LineCounters, ProtocolError, ServerMessage};

use crate::board::configuration;

/// Every variant of what a client says.
pub(crate) fn client_messages() -> Vec<(String, ClientMessage)> {
    let at = |at, command| ClientMessage::Command { at, command };
    let command = |command| at(None, command);
    let request = Request::submesh(4, 3);
    let job = JobId(300);
    let mut messages = vec![
        ("hello", ClientMessage::Hello),
        ("line counters", ClientMessage::LineCounters),
        (
            "submit",
            command(Command::Submit {
                job: JobId(1),
                request,
            }),
        ),
        (
            "submit at a time, with flags",
            at(
                Some(1_000_000),
                Command::Submit {
                    job,
                    request: request
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
    ]
    .into_iter()
    .map(|(name, message)| (name.to_owned(), message))
    .collect::<Vec<_>>();
    for &strategy in StrategyKind::ALL {
        for &scheduler in SchedulerKind::ALL {
            messages.push((
                format!("configure {strategy}, {scheduler:?}"),
                command(Command::Configure(Configuration {
                    scheduler,
                    ..configuration(16, 22, strategy)
                })),
            ));
        }
    }
    messages
}

/// Every variant of what a server says.
pub(crate) fn server_messages() -> Vec<(String, ServerMessage)> {
    let job = JobId(300);
    let mut messages = vec![
        ("greeting".to_owned(), ServerMessage::Hello(greeting())),
        (
            "line counters".to_owned(),
            ServerMessage::LineCounters(line_counters()),
        ),
    ];
    for (name, reply) in [
        ("grant", Reply::Grant(grant())),
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
        ProtocolError::WrongVersion { ours: 1 },
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
        ]
        .map(Error::Configure),
    );
    errors
}

fn greeting() -> Greeting {
    Greeting {
        protocol: 1,
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
        strategies: StrategyKind::ALL.iter().copied().collect(),
        schedulers: SchedulerKind::ALL.iter().copied().collect(),
        configuration: configuration(64, 64, StrategyKind::FirstFit),
        frame_bytes_max: 45,
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

/// The longest of every kind of message that a client sends.
pub(crate) fn longest_client_messages() -> Vec<ClientMessage> {
    let side = u16::MAX;
    let request = Request::submesh(side, side)
        .with_processors(u32::MAX)
        .with_flags(Flags::all());
    let job = JobId(u32::MAX);
    let node = NodeId(u32::MAX);
    let last = *StrategyKind::ALL.last().expect("there are strategies");
    [
        Command::Submit { job, request },
        Command::Configure(configuration(SIDE_MAX, SIDE_MAX, last)),
        Command::Release { job },
        Command::QueryJob { job },
        Command::ListJobs { from: u32::MAX },
        Command::Occupancy { from: node },
        Command::MarkFaulty { node },
        Command::ClearFaulty { node },
    ]
    .into_iter()
    .map(|command| ClientMessage::Command {
        at: Some(u64::MAX),
        command,
    })
    .collect()
}

/// The longest of every kind of message that a server sends.
pub(crate) fn longest_server_messages() -> Vec<ServerMessage> {
    let (job, node) = (JobId(u32::MAX), NodeId(u32::MAX));
    let block = Block::Submesh(Submesh::new(u16::MAX, u16::MAX, u16::MAX, u16::MAX));
    let most = u32::MAX;
    let state = JobState::Running { processors: most };
    let text = |len: usize| "x".repeat(len);
    let mut messages = vec![
        ServerMessage::Hello(Greeting {
            protocol: u8::MAX,
            software: text(SOFTWARE_BYTES_MAX).as_str().try_into().expect("fits"),
            build: text(BUILD_BYTES_MAX).as_str().try_into().expect("fits"),
            capacity: Capacity {
                words: most,
                word_bits: u8::MAX,
                jobs: most,
                blocks: most,
                list: most,
            },
            strategies: std::iter::repeat_n(StrategyKind::ALL[0], STRATEGIES_MAX).collect(),
            schedulers: std::iter::repeat_n(SchedulerKind::ALL[0], SCHEDULERS_MAX).collect(),
            configuration: Configuration {
                machine: Machine::Mesh(Mesh::new(SIDE_MAX, SIDE_MAX).expect("in range")),
                ..configuration(1, 1, StrategyKind::ALL[0])
            },
            frame_bytes_max: u16::MAX,
        }),
        ServerMessage::LineCounters(LineCounters {
            frames: most,
            repeated: most,
            before_hello: most,
            bad_cobs: most,
            too_short: most,
            too_long: most,
            bad_crc: most,
            wrong_version: most,
            bad_message: most,
            overruns: most,
        }),
        ServerMessage::Error(ProtocolError::WrongVersion { ours: u8::MAX }),
    ];
    messages.extend(
        [
            Reply::Grant(Grant {
                job,
                at: u64::MAX,
                attempts: most,
                misses: most,
                blocks_total: most,
                first: most,
                blocks: std::iter::repeat_n(block, GRANT_BLOCKS_MAX).collect(),
            }),
            Reply::Submitted { job, state },
            Reply::Released {
                job,
                processors: most,
            },
            Reply::Job(JobReport {
                job,
                request: Request::submesh(u16::MAX, u16::MAX)
                    .with_processors(most)
                    .with_flags(Flags::all()),
                submitted: u64::MAX,
                state,
            }),
            Reply::Jobs(JobList {
                jobs: std::iter::repeat_n((job, most), LIST_JOBS_MAX).collect(),
                next: Some(most),
            }),
            Reply::Occupancy(OccupancyChunk {
                from: node,
                nodes: most,
                busy: std::iter::repeat_n(0xff, OCCUPANCY_BYTES_MAX).collect(),
                faulty: std::iter::repeat_n(0xff, OCCUPANCY_BYTES_MAX).collect(),
            }),
            Reply::Fault {
                node,
                job: Some(job),
                changed: true,
            },
            Reply::Statistics(Statistics {
                nodes: most,
                free: most,
                faulty: most,
                waiting: most,
                running: most,
                submitted: u64::MAX,
                granted: u64::MAX,
                released: u64::MAX,
                refused: u64::MAX,
                attempts: u64::MAX,
                valid_attempts: u64::MAX,
                misses: u64::MAX,
            }),
            Reply::Error(Error::UnknownNode(node)),
        ]
        .map(ServerMessage::Reply),
    );
    messages
}
