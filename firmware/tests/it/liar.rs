//! Controllers that give false answers, never finish or take no bytes: the client believes no false
//! answer, never waits without end, and reports the fault.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use meshalloc::message::JobList;
use meshalloc::{
    Answer, Block, Change, Counts, Error, Event, EventKind, JobId, NodeId, Outcome, Query, Refusal,
    SchedulerKind, Statistics, StrategyKind, Submesh,
};
use meshalloc_firmware::frame::{Decoder, SERVER_CONTENT_MAX, ServerFrameBuffer};
use meshalloc_firmware::{
    Client, ClientError, Events, IoLine, Line, Options, Server, ServerMessage,
};

use crate::board::{Board, at_reset, configuration, on_cube, release, submit};
use crate::line::{MemoryLine, OPTIONS};

const BOOT: u64 = 7;

/// A line to a correct server that changes some of its answers.
struct Liar<'s, 'm> {
    line: MemoryLine<'s, 'm>,
    /// Whether it changes answers already.
    lies: &'s Cell<bool>,
    lie: &'s mut dyn FnMut(&mut ServerMessage),
    decoder: Decoder<SERVER_CONTENT_MAX>,
    answers: VecDeque<u8>,
}

impl Line for Liar<'_, '_> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.line.send(bytes)
    }

    fn receive(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        let mut true_ones = [0; 1024];
        let len = self.line.receive(&mut true_ones, timeout)?;
        for &byte in &true_ones[..len] {
            let Some(frame) = self.decoder.push(byte) else {
                continue;
            };
            let frame = frame.expect("the line is good");
            let mut message = postcard::from_bytes(frame.body).expect("the server is right");
            if self.lies.get() {
                (self.lie)(&mut message);
            }
            let mut room = ServerFrameBuffer::new();
            let frame = room.encode(frame.header, &message).expect("it fits");
            self.answers.extend(frame);
        }
        io::Read::read(&mut self.answers, buffer)
    }
}

type Lie = fn(&mut ServerMessage);

/// A job that is not there.
const OTHER: JobId = JobId(77);

type Act = fn(&mut Client<Liar<'_, '_>>) -> Result<(), ClientError>;

/// The error of a client that does this while `lie` changes the answers. Job 1 runs on 4 x 3
/// processors, jobs 2 and 3 wait for the whole machine.
fn said(act: Act, lie: &mut dyn FnMut(&mut ServerMessage)) -> String {
    said_by(OPTIONS, act, lie)
}

/// The same by a client with these options.
fn said_by(options: Options, act: Act, lie: &mut dyn FnMut(&mut ServerMessage)) -> String {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let lies = Cell::new(false);
    let line = Liar {
        line: MemoryLine::new(&mut server),
        lies: &lies,
        lie,
        decoder: Decoder::new(),
        answers: VecDeque::new(),
    };
    let mut client = Client::connect(line, options).expect("it does not lie yet");
    for command in [submit(1, 4, 3), submit(2, 16, 16), submit(3, 16, 16)] {
        call(&mut client, &command).expect("it does not lie yet");
    }
    lies.set(true);
    match act(&mut client) {
        Ok(()) => "it was believed".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn call(client: &mut Client<impl Line>, change: &Change) -> Result<(), ClientError> {
    client.call(change, None, &mut |_, _| ()).map(|_| ())
}

fn query(client: &mut Client<impl Line>, query: &Query) -> Result<(), ClientError> {
    client.query(query).map(|_| ())
}

const NO_JOBS: Answer = Answer::Jobs(JobList {
    jobs: heapless::Vec::new(),
    next: None,
});
const NO_STATISTICS: Answer = Answer::Statistics(Statistics {
    nodes: 0,
    free: 0,
    faulty: 0,
    waiting: 0,
    running: 0,
    counts: Counts {
        submitted: 0,
        granted: 0,
        released: 0,
        refused: 0,
        attempts: 0,
        valid_attempts: 0,
        misses: 0,
        lease_ends: 0,
    },
});

/// A lie about one kind of message, as a function that changes such a message.
macro_rules! lie {
    ($kind:pat => $lie:expr) => {
        |message: &mut ServerMessage| {
            #[allow(clippy::single_match, reason = "other messages stay as they are")]
            match message {
                $kind => $lie,
                _ => {}
            }
        }
    };
}

/// A block of the job at this place.
fn granted(number: u64, job: u32) -> Event {
    Event {
        number,
        job: JobId(job),
        at: 0,
        processors: 1,
        what: EventKind::Granted {
            attempts: 1,
            misses: 0,
            blocks_total: 1,
            block: Submesh::new(0, 0, 1, 1).into(),
        },
    }
}

/// Each lie, and the expected answer in the error.
#[test]
fn no_lie_is_believed() {
    use ServerMessage as Says;
    let hello: Act = |client| client.hello().map(|_| ());
    let submits: Act = |client| call(client, &submit(9, 2, 2));
    let releases: Act = |client| call(client, &release(1));
    let marks: Act = |client| {
        let block = Submesh::new(0, 0, 2, 2).into();
        call(client, &Change::MarkFaulty { block })
    };
    let clock: Act = |client| client.use_virtual_clock(true);
    let polls: Act = |client| client.events(&mut |_, _| ());
    let asks: Act = |client| query(client, &Query::Job { job: JobId(1) });
    let reads: Act = |client| {
        let job = JobId(1);
        client.query(&Query::Blocks { job, from: 0 }).map(|_| ())
    };
    let lists: Act = |client| query(client, &Query::Jobs { on: None, from: 0 });
    let looks: Act = |client| query(client, &Query::Occupancy { from: NodeId(9) });
    let counts: Act = |client| query(client, &Query::Statistics);
    let table: Vec<(Act, Lie, &str)> = vec![
        // The greeting.
        (
            hello,
            lie!(Says::Hello(it) => it.protocol = 9),
            "expected protocol 8",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.session.number = 0),
            "a session from 1 on",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.events = 0),
            "the number of an event from 1 on",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.frame_bytes_max = 3),
            "room for frames of 17 bytes",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.strategies.reverse()),
            "strategies in ascending order",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.strategies.clear()),
            "the strategy first-fit among those of its build",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.schedulers.clear()),
            "the scheduler fcfs among those of its build",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.configuration.strategy = StrategyKind::Partner),
            "a machine that partner serves",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.configuration = configuration(1024, 1024, StrategyKind::FirstFit)),
            "words that a mesh 1024x1024 takes",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.capacity.word_bits = 0),
            "words of 8 to 128 bits",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.capacity.words = 2),
            "words that a mesh 16x16 takes",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.capacity.blocks = 2),
            "room for 24 blocks",
        ),
        (
            hello,
            lie!(Says::Hello(it) => it.configuration.strategy = StrategyKind::AllShapes),
            "it was believed",
        ),
        // Events.
        (
            polls,
            lie!(Says::Events(it) => it.latest = 0),
            "the number of the latest event from 1 on",
        ),
        (
            polls,
            lie!(Says::Events(it) => it.left = u32::MAX),
            "at most 24 attempts left",
        ),
        (
            polls,
            lie!(Says::Events(it) => it.list.push(granted(9, 1)).unwrap()),
            "events in ascending order from 2 to 1",
        ),
        (
            polls,
            lie!(Says::Events(it) => {
                it.latest = 9;
                it.list = [granted(9, 1), granted(8, 2)].into_iter().collect();
            }),
            "events in ascending order from 10 to 9",
        ),
        (
            releases,
            lie!(Says::Outcome { events, .. } => events.list[0].processors = u32::MAX),
            "at most 1048576 processors of job 2",
        ),
        (
            releases,
            lie!(Says::Outcome { events, .. } => events.list[0].processors = 0),
            "a block of job 2, and no more than its 0 processors",
        ),
        (
            releases,
            lie!(Says::Outcome { events, .. } => {
                if let EventKind::Granted { blocks_total, .. } = &mut events.list[0].what {
                    *blocks_total = 0;
                }
            }),
            "a block of job 2, and no more than its 256 processors",
        ),
        (
            releases,
            lie!(Says::Outcome { events, .. } => {
                if let EventKind::Granted { misses, .. } = &mut events.list[0].what {
                    *misses = 7;
                }
            }),
            "fewer misses of job 2 than its 2 attempts",
        ),
        // Outcomes.
        (
            submits,
            lie!(Says::Outcome { outcome, .. } => *outcome = Ok(Outcome::Released { processors: 4 })),
            "expected Done",
        ),
        (
            submits,
            lie!(Says::Outcome { outcome, .. } => *outcome = Err(Error::UnknownJob)),
            "an error of a change",
        ),
        (
            releases,
            lie!(Says::Outcome { outcome, .. } => *outcome = Ok(Outcome::Done)),
            "expected Released",
        ),
        (
            releases,
            lie!(Says::Outcome { outcome: Ok(Outcome::Released { processors }), .. } => {
                *processors = u32::MAX;
            }),
            "expected at most 1048576 processors",
        ),
        (
            marks,
            lie!(Says::Outcome { outcome, .. } => *outcome = Ok(Outcome::Done)),
            "expected Faults",
        ),
        (
            marks,
            lie!(Says::Outcome { outcome: Ok(Outcome::Faults(report)), .. } => report.first = None),
            "a job if there are some",
        ),
        (
            clock,
            lie!(Says::Outcome { outcome, .. } => {
                *outcome = Err(Error::Refused(Refusal::TableFull));
            }),
            "expected Done",
        ),
        // Replies to queries.
        (
            asks,
            lie!(Says::Answer(it) => *it = Ok(NO_JOBS)),
            "expected Job",
        ),
        (
            asks,
            lie!(Says::Answer(it) => *it = Err(Error::NoBlock { held: 1 })),
            "an error of a query",
        ),
        (
            asks,
            lie!(Says::Answer(Ok(Answer::Job(report))) => report.job = OTHER),
            "job 1, a block if it runs, and no more than its processors",
        ),
        (
            asks,
            lie!(Says::Answer(Ok(Answer::Job(report))) => report.blocks = u32::MAX),
            "job 1, a block if it runs, and no more than its processors",
        ),
        (
            reads,
            lie!(Says::Answer(it) => *it = Ok(NO_JOBS)),
            "expected Blocks",
        ),
        (
            reads,
            lie!(Says::Answer(Ok(Answer::Blocks(list))) => list.blocks.clear()),
            "blocks of job 1 from the one of index 0 on",
        ),
        (
            reads,
            lie!(Says::Answer(Ok(Answer::Blocks(list))) => list.first = 7),
            "blocks of job 1 from the one of index 0 on",
        ),
        (
            reads,
            lie!(Says::Answer(Ok(Answer::Blocks(list))) => list.total = u32::MAX),
            "blocks of job 1 from the one of index 0 on",
        ),
        (
            lists,
            lie!(Says::Answer(it) => *it = Ok(NO_STATISTICS)),
            "expected Jobs",
        ),
        (
            lists,
            lie!(Says::Answer(Ok(Answer::Jobs(list))) => list.next = Some(0)),
            "a list that goes on behind 0, up to 24",
        ),
        (
            lists,
            lie!(Says::Answer(Ok(Answer::Jobs(list))) => list.next = Some(u32::MAX)),
            "a list that goes on behind 0, up to 24",
        ),
        (
            lists,
            lie!(Says::Answer(Ok(Answer::Jobs(list))) => {
                list.jobs.clear();
                list.next = Some(5);
            }),
            "some jobs, and a list that goes on",
        ),
        (
            lists,
            lie!(Says::Answer(Ok(Answer::Jobs(list))) => list.jobs[0].1 = u32::MAX),
            "jobs of at most 1048576 processors",
        ),
        (
            looks,
            lie!(Says::Answer(it) => *it = Ok(NO_JOBS)),
            "expected Occupancy",
        ),
        (
            looks,
            lie!(Says::Answer(Ok(Answer::Occupancy(chunk))) => chunk.nodes = u32::MAX),
            "a machine of at most 1048576 processors, of which 9 is one",
        ),
        (
            looks,
            lie!(Says::Answer(Ok(Answer::Occupancy(chunk))) => chunk.nodes = 255),
            "the 256 processors of a mesh 16x16",
        ),
        (
            looks,
            lie!(Says::Answer(Ok(Answer::Occupancy(chunk))) => chunk.from = NodeId(16)),
            "31 bytes each from processor 8 on",
        ),
        (
            looks,
            lie!(Says::Answer(Ok(Answer::Occupancy(chunk))) => chunk.busy.clear()),
            "31 bytes each from processor 8 on",
        ),
        (
            looks,
            lie!(Says::Answer(Ok(Answer::Occupancy(chunk))) => {
                chunk.nodes = 253;
                chunk.busy[30] = 0xff;
            }),
            "no processor beyond the last",
        ),
        (
            looks,
            lie!(Says::Answer(Ok(Answer::Occupancy(chunk))) => chunk.faulty[30] = 1),
            "faulty processors that are busy",
        ),
        (
            counts,
            lie!(Says::Answer(it) => *it = Ok(NO_JOBS)),
            "expected Statistics",
        ),
        (
            counts,
            lie!(Says::Answer(Ok(Answer::Statistics(it))) => it.nodes = u32::MAX),
            "at most 1048576 processors",
        ),
        (
            counts,
            lie!(Says::Answer(Ok(Answer::Statistics(it))) => it.nodes = 4096),
            "the 256 processors of a mesh 16x16",
        ),
        (
            counts,
            lie!(Says::Answer(Ok(Answer::Statistics(it))) => it.free = 257),
            "free and faulty ones together no more than all",
        ),
        (
            counts,
            lie!(Says::Answer(Ok(Answer::Statistics(it))) => it.waiting = u32::MAX),
            "at most 24 jobs, and a processor for each that runs",
        ),
        (
            counts,
            lie!(Says::Answer(Ok(Answer::Statistics(it))) => it.counts.submitted = 9),
            "as many jobs as were submitted and not released",
        ),
        (
            counts,
            lie!(Says::Answer(Ok(Answer::Statistics(it))) => it.counts.granted = 9),
            "grants and misses among the attempts that were valid",
        ),
    ];
    for (number, (act, lie, expected)) in table.into_iter().enumerate() {
        let said = said(act, &mut |message| lie(message));
        assert!(
            said.contains(expected),
            "lie {number}: {said} (expected {expected})"
        );
        assert!(
            expected == "it was believed" || said.contains("(expected "),
            "{said}"
        );
    }
}

/// Answers that are each correct, but never end.
#[test]
fn nothing_that_has_no_end_is_waited_for() {
    use ServerMessage as Says;
    let submits: Act = |client| call(client, &submit(9, 2, 2));
    let clock: Act = |client| client.use_virtual_clock(true);
    let polls: Act = |client| client.events(&mut |_, _| ());
    let impatient = Options {
        patience: Duration::from_millis(20),
        ..OPTIONS
    };
    let under_way: Lie = |message| {
        if let Says::Outcome { events, .. } = message {
            let events = Events {
                left: 1,
                ..events.clone()
            };
            *message = Says::UnderWay(events);
        }
    };
    let without_progress = "jobs still to try after";
    let begun = Instant::now();
    for (act, lie, expected) in [
        // Busy, one job left, under way.
        (
            submits,
            lie!(Says::Outcome { outcome, .. } => *outcome = Err(Error::Busy { left: 1 })) as Lie,
            without_progress,
        ),
        (
            clock,
            lie!(Says::Outcome { outcome, .. } => *outcome = Err(Error::Busy { left: 1 })),
            without_progress,
        ),
        (
            submits,
            lie!(Says::Outcome { events, .. } | Says::Events(events) => events.left = 1),
            without_progress,
        ),
        (submits, under_way, without_progress),
        (
            polls,
            lie!(Says::Events(events) => events.left = 1),
            without_progress,
        ),
    ] {
        let said = said_by(impatient, act, &mut |message| lie(message));
        assert!(said.contains(expected), "{said}");
    }
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );

    // Events, and grants of many blocks.
    let events_without_end = |total: u32, latest: u64| {
        let mut number: u64 = 1;
        said(submits, &mut |message| {
            if let Says::Outcome { events, .. } | Says::Events(events) = message {
                let event = |number: u64| Event {
                    processors: total,
                    what: EventKind::Granted {
                        attempts: 1,
                        misses: 0,
                        blocks_total: total,
                        block: Block::from(Submesh::new(0, 0, 1, 1)),
                    },
                    ..granted(number, 1)
                };
                let last = latest.min(number + 4);
                events.latest = latest;
                events.list = (number + 1..=last).map(event).collect();
                number = last;
            }
        })
    };
    let said = events_without_end(1, u64::MAX);
    assert!(
        said.contains("at most 65536 events of one change"),
        "{said}"
    );
    let said = events_without_end(1 << 20, 4);
    assert!(said.contains("grants of at most 2097152 blocks"), "{said}");
}

/// The two ends of a connection.
fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    let stream = TcpStream::connect(address).expect("it listens");
    (stream, listener.accept().expect("it has connected").0)
}

/// It accepts the connection, but takes no byte.
#[test]
fn a_line_that_takes_no_bytes_is_given_up() {
    let (stream, _peer) = connected();
    let mut line = IoLine::tcp(stream).expect("it has options");
    let bytes = [0; 1 << 16];
    let begun = Instant::now();
    let error = (0..10_000).find_map(|_| line.send(&bytes).err());
    let error = error.expect("its buffers have an end");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("accepts no bytes"), "{error}");
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
}

/// It takes all bytes, and never answers.
#[test]
fn a_client_that_waits_can_be_interrupted() {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    let (stream, _peer) = connected();
    let options = Options {
        timeout: Duration::from_secs(100),
        interrupted: Some(|| INTERRUPTED.load(Ordering::Relaxed)),
        ..OPTIONS
    };
    let begun = Instant::now();
    let asker = thread::spawn(|| {
        thread::sleep(Duration::from_millis(200));
        INTERRUPTED.store(true, Ordering::Relaxed);
    });
    let error = Client::connect(IoLine::tcp(stream).expect("it has options"), options)
        .map(|_| ())
        .expect_err("nothing answers");
    assert!(matches!(error, ClientError::Interrupted), "{error}");
    assert!(
        begun.elapsed() < options.timeout / 2,
        "{:?}",
        begun.elapsed()
    );
    asker.join().expect("it does not panic");
}

#[test]
fn other_configurations_than_the_first_are_believed() {
    for configuration in [
        configuration(16, 16, StrategyKind::Naive),
        on_cube(2, 8, StrategyKind::TreeCollapsing),
        meshalloc::Configuration {
            scheduler: SchedulerKind::Conservative,
            ..configuration(8, 4, StrategyKind::LShape)
        },
    ] {
        let mut board = Board::new();
        let mut server = Server::new(at_reset(&mut board), BOOT);
        let mut client =
            Client::connect(MemoryLine::new(&mut server), OPTIONS).expect("a good line");
        call(&mut client, &Change::Configure(configuration)).expect("a good line");
        assert_eq!(
            client.hello().expect("a good line").configuration,
            configuration
        );
        query(&mut client, &Query::Statistics).expect("a good line");
    }
}
