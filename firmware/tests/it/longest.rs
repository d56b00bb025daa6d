//! The longest message of every kind. They determine the lengths of frames.

use std::num::NonZeroU64;

use meshalloc::Threshold;
use meshalloc::message::{
    BLOCKS_MAX, BlockList, JobList, JobReport, LIST_JOBS_MAX, OCCUPANCY_BYTES_MAX, OccupancyChunk,
};
use meshalloc::{
    Answer, Block, Capacity, Change, Class, Configuration, Counts, Error, Event, EventKind,
    FaultReport, Flags, Grid, JobId, JobState, MESH_SIDE_MAX, NodeId, Outcome, PageOrder, Query,
    Request, SchedulerKind, Slices, Statistics, StrategyKind, Tolerance, VICTIMS_MAX, Victims,
};
use meshalloc_firmware::protocol::{
    BUILD_BYTES_MAX, EVENTS_MAX, SCHEDULERS_MAX, SOFTWARE_BYTES_MAX, STRATEGIES_MAX,
};
use meshalloc_firmware::protocol::{Origin, TIME_MAX};
use meshalloc_firmware::{
    ClientMessage, Events, Greeting, LineCounters, ProtocolError, ServerMessage, Session,
};

use crate::board::{configuration, request};

const LONGEST_SESSION: Session = Session {
    boot: u64::MAX,
    number: u32::MAX,
};

/// The longest of every kind of message that a client sends.
pub(crate) fn longest_client_messages() -> Vec<ClientMessage> {
    let job = JobId(u32::MAX);
    let node = NodeId(u32::MAX);
    let submit = |request| Change::submit(job, request);
    let queries = [
        Query::Job { job },
        Query::Blocks {
            job,
            from: u32::MAX,
        },
        Query::Jobs {
            on: Some(longest_block()),
            from: u32::MAX,
        },
        Query::Occupancy { from: node },
    ]
    .map(|query| ClientMessage::Query {
        session: LONGEST_SESSION,
        query,
    });
    [
        submit(longest(Request::submesh(u16::MAX, u16::MAX))),
        submit(longest(request(&[u16::MAX; 3]))),
        submit(longest(longest_shape())),
        submit(longest(request(&[2; 16]))),
        // As many extents of two bytes each as possible.
        submit(longest(request(&[128; 4]))),
        Change::Submit {
            job,
            request: longest(longest_shape()),
            lease: NonZeroU64::new(u64::MAX),
        },
        Change::Submit {
            job,
            request: longest(request(&[128; 4])),
            lease: NonZeroU64::new(u64::MAX),
        },
        Change::Lease {
            job,
            ticks: NonZeroU64::new(u64::MAX),
        },
        Change::EndLease { job },
        Change::Configure(longest_configuration()),
        Change::Configure(Configuration {
            scheduler: longest_configuration().scheduler,
            ..configuration(MESH_SIDE_MAX, MESH_SIDE_MAX, StrategyKind::FirstFit)
        }),
        Change::Release { job },
        Change::Replace { job },
        Change::Preempt {
            job,
            victims: Victims::new(&[job; VICTIMS_MAX]).expect("at most so many"),
        },
        Change::MarkFaulty {
            block: longest_block(),
        },
        Change::ClearFaulty {
            block: longest_block(),
        },
    ]
    .map(|change| ClientMessage::Change {
        session: LONGEST_SESSION,
        since: u64::MAX,
        at: Some(TIME_MAX),
        change,
    })
    .into_iter()
    .chain(queries)
    .chain([ClientMessage::Events {
        session: LONGEST_SESSION,
        since: u64::MAX,
    }])
    .collect()
}

/// The same request as long as it can be.
fn longest(request: Request) -> Request {
    let request = request.with_processors(u32::MAX);
    let slices = Slices::new(Slices::MOST).expect("the most slices");
    let class = Class::new(u64::MAX, true).expect("this build has priorities");
    let request = request.with_slices(slices).with_class(class);
    let tolerance = Tolerance::new(u8::MAX).expect("this build has tolerance");
    let request = request.with_tolerance(tolerance);
    request.with_flags(Flags::all()).with_estimate(u64::MAX)
}

/// 16 extents, three of them of two bytes each. A fourth of that size is more than the code of a
/// shape has room for.
fn longest_shape() -> Request {
    let mut extents = [1; 16];
    extents[..3].fill(128);
    request(&extents)
}

/// 16 sides, two of them of two bytes each: a third of that size is more processors than there can
/// be.
fn longest_configuration() -> Configuration {
    let mut sides = [1; 16];
    sides[..3].copy_from_slice(&[128, 128, 64]);
    let threshold = Threshold::Static { ticks: u64::MAX };
    Configuration {
        machine: Grid::torus(&sides).expect("2^20 processors"),
        strategy: StrategyKind::Paging {
            order: PageOrder::Snake,
            exponent: u64::MAX,
        },
        scheduler: SchedulerKind::ModifiedFcfs(threshold),
    }
}

/// Not within any grid; a block may have any numbers.
fn longest_block() -> Block {
    let numbers: Vec<u8> = [0xff, 0xff, 0x03].repeat(4);
    postcard::from_bytes(&numbers).expect("four numbers")
}

/// The longest of every kind of message that a server sends.
pub(crate) fn longest_server_messages() -> Vec<ServerMessage> {
    let (job, node) = (JobId(u32::MAX), NodeId(u32::MAX));
    let block = longest_block();
    let most = u32::MAX;
    let form = SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 1 });
    let state = JobState::Running { processors: most };
    let event = Event {
        number: u64::MAX,
        job,
        at: u64::MAX,
        processors: most,
        what: EventKind::Granted {
            attempts: most,
            misses: most,
            blocks_total: most,
            block,
        },
    };
    let events = Events {
        list: std::iter::repeat_n(event, EVENTS_MAX).collect(),
        latest: u64::MAX,
        left: most,
    };
    let text = |len: usize| "x".repeat(len);
    let mut messages = vec![
        ServerMessage::Hello(Greeting {
            origin: Origin::Restored { at: u64::MAX },
            protocol: u8::MAX,
            session: LONGEST_SESSION,
            events: u64::MAX,
            software: text(SOFTWARE_BYTES_MAX).as_str().try_into().expect("fits"),
            build: text(BUILD_BYTES_MAX).as_str().try_into().expect("fits"),
            capacity: Capacity {
                words: most,
                word_bits: u8::MAX,
                jobs: most,
                blocks: most,
                list: most,
            },
            strategies: std::iter::repeat_n(u8::MAX, STRATEGIES_MAX).collect(),
            schedulers: std::iter::repeat_n(form, SCHEDULERS_MAX).collect(),
            configuration: longest_configuration(),
            description: Some(most),
            frame_bytes_max: u16::MAX,
        }),
        ServerMessage::LineCounters(LineCounters {
            frames: most,
            changes: most,
            repeated: most,
            other_session: most,
            too_old: most,
            bad_cobs: most,
            too_short: most,
            too_long: most,
            bad_crc: most,
            wrong_version: most,
            bad_message: most,
            overruns: most,
            dropped: most,
        }),
        ServerMessage::Error(ProtocolError::OtherBoot { boot: u64::MAX }),
        ServerMessage::Events(events.clone()),
        ServerMessage::UnderWay(events.clone()),
    ];
    messages.extend(
        [
            Ok(Outcome::Released { processors: most }),
            Ok(Outcome::Faults(FaultReport {
                changed: most,
                jobs: most,
                first: Some(job),
            })),
            Err(Error::UnknownNode(node)),
        ]
        .map(|outcome| ServerMessage::Outcome {
            outcome,
            events: events.clone(),
        }),
    );
    messages.extend(
        [
            Ok(Answer::Blocks(BlockList {
                job,
                granted_at: u64::MAX,
                total: most,
                first: most,
                blocks: std::iter::repeat_n(block, BLOCKS_MAX).collect(),
            })),
            Ok(Answer::Job(JobReport {
                job,
                request: longest(longest_shape()),
                submitted: u64::MAX,
                state,
                blocks: most,
            })),
            Ok(Answer::Jobs(JobList {
                jobs: std::iter::repeat_n((job, most), LIST_JOBS_MAX).collect(),
                next: Some(most),
            })),
            Ok(Answer::Occupancy(OccupancyChunk {
                from: node,
                nodes: most,
                busy: std::iter::repeat_n(0xff, OCCUPANCY_BYTES_MAX).collect(),
                faulty: std::iter::repeat_n(0xff, OCCUPANCY_BYTES_MAX).collect(),
            })),
            Ok(Answer::Statistics(Statistics {
                nodes: most,
                free: most,
                faulty: most,
                waiting: most,
                running: most,
                counts: Counts {
                    submitted: u64::MAX,
                    granted: u64::MAX,
                    released: u64::MAX,
                    refused: u64::MAX,
                    attempts: u64::MAX,
                    valid_attempts: u64::MAX,
                    misses: u64::MAX,
                    lease_ends: u64::MAX,
                },
            })),
            Err(Error::UnknownNode(node)),
        ]
        .map(ServerMessage::Answer),
    );
    messages
}
