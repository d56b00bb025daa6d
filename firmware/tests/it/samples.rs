//! A message of every variant, each with a name.

use heapless::Vec as Bounded;
use meshalloc::message::{JobList, JobReport, OccupancyChunk};
use meshalloc::{
    Capacity, Command, Configuration, ConfigureError, Cube, DIMENSIONS_MAX, Error, Flags, Grant,
    JobId, JobState, MachineKind, NodeId, Refusal, Reply, Request, SchedulerKind, Statistics,
    StrategyKind, Subcube, Submesh,
};
use meshalloc_firmware::frame::CLIENT_FRAME_MAX;
use meshalloc_firmware::{ClientMessage, Greeting, LineCounters, ProtocolError, ServerMessage};

use crate::board::{configuration, on_cube, radices, submit_subcube};

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
        ("submit radices", command(submit_subcube(1, &[4, 2]))),
        ("submit without a radix", command(submit_subcube(2, &[]))),
        (
            "submit radices at a time, with flags",
            at(
                Some(1_000_000),
                Command::Submit {
                    job,
                    request: radices(&[200, 2, 3])
                        .with_flags(Flags::NO_WAIT | Flags::FIXED_ORIENTATION),
                },
            ),
        ),
        (
            "submit as many radices as there can be",
            command(submit_subcube(3, &[2; DIMENSIONS_MAX])),
        ),
        (
            "configure a cube of one dimension",
            command(Command::Configure(on_cube(
                4096,
                1,
                StrategyKind::TreeCollapsing,
            ))),
        ),
        (
            "configure a hypercube",
            command(Command::Configure(on_cube(
                2,
                12,
                StrategyKind::TreeCollapsing,
            ))),
        ),
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
                    ..served(strategy)
                })),
            ));
        }
    }
    messages
}

/// A machine of the strategy's kind.
fn served(strategy: StrategyKind) -> Configuration {
    match strategy.info().machine {
        MachineKind::Cube => on_cube(4, 3, strategy),
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
            ServerMessage::Hello(greeting_on_a_cube()),
        ),
        (
            "line counters".to_owned(),
            ServerMessage::LineCounters(line_counters()),
        ),
    ];
    for (name, reply) in [
        ("grant", Reply::Grant(grant())),
        ("grant of a subcube", Reply::Grant(grant_of_a_subcube())),
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
            "job, on a cube",
            Reply::Job(JobReport {
                job,
                request: radices(&[3, 2]),
                submitted: 1_000_000,
                state: JobState::Running { processors: 8 },
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

/// The greeting of an image with no strategy but those for meshes.
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
        strategies: StrategyKind::ALL
            .iter()
            .copied()
            .filter(|strategy| strategy.info().machine == MachineKind::Mesh)
            .collect(),
        schedulers: SchedulerKind::ALL.iter().copied().collect(),
        configuration: configuration(64, 64, StrategyKind::FirstFit),
        frame_bytes_max: 45,
    }
}

fn greeting_on_a_cube() -> Greeting {
    Greeting {
        strategies: StrategyKind::ALL.iter().copied().collect(),
        configuration: on_cube(16, 3, StrategyKind::TreeCollapsing),
        frame_bytes_max: CLIENT_FRAME_MAX as u16,
        ..greeting()
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

/// It wraps around: from (3, 0, 3) upwards to (0, 1, 0) of the 4-ary 3-cube.
fn grant_of_a_subcube() -> Grant {
    let cube = Cube::new(4, 3).expect("a cube");
    let subcube = Subcube::new(cube, &[3, 0, 3], &[2, 2, 2]).expect("in the cube");
    Grant {
        job: JobId(300),
        at: 1_000_000,
        attempts: 2,
        misses: 1,
        blocks_total: 1,
        first: 0,
        blocks: Bounded::from_slice(&[subcube.into()]).expect("1 block fits"),
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
