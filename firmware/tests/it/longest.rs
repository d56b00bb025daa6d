//! The longest message of every kind: what the sizes of frames are made for.

use meshalloc::message::{
    GRANT_BLOCKS_MAX, JobList, JobReport, LIST_JOBS_MAX, OCCUPANCY_BYTES_MAX, OccupancyChunk,
};
use meshalloc::scheduler::Threshold;
use meshalloc::{
    Block, Capacity, Command, Configuration, Cube, DIMENSIONS_MAX, Error, Flags, Grant, JobId,
    JobState, NodeId, Reply, Request, SIDE_MAX, SchedulerKind, Statistics, StrategyKind, Subcube,
    Submesh,
};
use meshalloc_firmware::protocol::{
    BUILD_BYTES_MAX, SCHEDULERS_MAX, SOFTWARE_BYTES_MAX, STRATEGIES_MAX,
};
use meshalloc_firmware::{ClientMessage, Greeting, LineCounters, ProtocolError, ServerMessage};

use crate::board::{configuration, radices};

/// The longest of every kind of message that a client sends.
pub(crate) fn longest_client_messages() -> Vec<ClientMessage> {
    let job = JobId(u32::MAX);
    let node = NodeId(u32::MAX);
    let submit = |request| Command::Submit { job, request };
    [
        submit(longest(Request::submesh(u16::MAX, u16::MAX))),
        submit(longest(radices(&[2; DIMENSIONS_MAX]))),
        // As many as there can be of two bytes each, and of three.
        submit(longest(radices(&[2, 128, 128, 128, 128]))),
        submit(longest(radices(&[2, 2, 65_535]))),
        Command::Configure(longest_configuration()),
        Command::Configure(Configuration {
            machine: Cube::new(u16::MAX, 1).expect("a ring").into(),
            ..longest_configuration()
        }),
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

/// The same request as long as it can be.
fn longest(request: Request) -> Request {
    let request = request.with_processors(u32::MAX);
    request.with_flags(Flags::all())
}

fn longest_configuration() -> Configuration {
    let last = *StrategyKind::ALL.last().expect("there are strategies");
    let threshold = Threshold::Static { ticks: u64::MAX };
    Configuration {
        scheduler: SchedulerKind::ModifiedFcfs(threshold),
        ..configuration(SIDE_MAX, SIDE_MAX, last)
    }
}

/// The longest of every kind of message that a server sends.
pub(crate) fn longest_server_messages() -> Vec<ServerMessage> {
    let (job, node) = (JobId(u32::MAX), NodeId(u32::MAX));
    let submesh = Block::Submesh(Submesh::new(u16::MAX, u16::MAX, u16::MAX, u16::MAX));
    let ring = Cube::new(u16::MAX, 1).expect("a ring");
    let end = NodeId(u32::from(u16::MAX) - 1);
    let subcube = Block::Subcube(Subcube::between(ring, end, end).expect("a node of it"));
    let most = u32::MAX;
    let form = SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 1 });
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
            schedulers: std::iter::repeat_n(form, SCHEDULERS_MAX).collect(),
            configuration: longest_configuration(),
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
    let grant = |block| {
        Reply::Grant(Grant {
            job,
            at: u64::MAX,
            attempts: most,
            misses: most,
            blocks_total: most,
            first: most,
            blocks: std::iter::repeat_n(block, GRANT_BLOCKS_MAX).collect(),
        })
    };
    messages.extend(
        [
            grant(submesh),
            grant(subcube),
            Reply::Submitted { job, state },
            Reply::Released {
                job,
                processors: most,
            },
            Reply::Job(JobReport {
                job,
                request: longest(radices(&[2; DIMENSIONS_MAX])),
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
