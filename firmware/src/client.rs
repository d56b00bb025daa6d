//! The client's half of the protocol: [`Client`], over any [`Line`].
//!
//! A client has one exchange at a time: it sends a frame and waits for the reply. If the reply is
//! missing, damaged or late, the client sends *the same* frame again, which the server does not
//! carry out twice. Whatever the line does, the caller sees each grant once, and learns of each
//! reset of the server once.
//!
//! ```no_run
//! use meshalloc::{Change, JobId, Request};
//! use meshalloc_firmware::{Client, IoLine, Options};
//!
//! // `IoLine::new` takes every `Stream`, also a serial port (feature `serial`).
//! let line = IoLine::tcp(std::net::TcpStream::connect("127.0.0.1:4000")?)?;
//! let mut client = Client::connect(line, Options::default())?;
//! println!("{:?}", client.greeting());
//! let submit = Change::submit(JobId(1), Request::submesh(5, 3));
//! // The events, also those of other clients' jobs, each with the blocks of the job.
//! let outcome = client.call(&submit, None, &mut |event, blocks| {
//!     println!("{event:?}, {blocks:?}");
//! })?;
//! println!("{outcome:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
#[cfg(feature = "serial")]
mod endpoint;
mod error;
mod exchange;
mod line;
mod options;
mod progress;
mod session;
pub mod smoke;

use std::boxed::Box;
use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::format;
use std::hash::BuildHasher;
use std::time::Duration;
use std::vec;
use std::vec::Vec;

use meshalloc::grid::NODES_MAX;
use meshalloc::{
    Answer, Block, Change, Error, Event, EventKind, Grid, JobId, Outcome, Query, Ticks,
};

#[cfg(feature = "serial")]
pub use endpoint::{Endpoint, serial_ports};
pub use error::{ClientError, Stray};
use exchange::Exchange;
pub use line::{IoLine, Line, Stream};
pub use options::Options;
use progress::Progress;
use session::{hello, raised};

use crate::protocol::{ClientMessage, Events, Greeting, LineCounters, ServerMessage, Session};

/// The most events that wait for a caller: a controller has one for each of at most 65,534 jobs,
/// and 16 ends of leases.
const EVENTS_WAITING_MAX: usize = 1 << 16;
/// The most blocks that are read for the grants of one change.
const BLOCKS_MAX: u32 = 2 * NODES_MAX;

/// Counts of what a client has seen on its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCounters {
    /// Exchanges that came to an end.
    pub exchanges: u64,
    /// Frames that were sent again.
    pub retries: u64,
    /// Replies that a change is under way.
    pub under_way: u64,
    /// Whole frames that belong to another exchange or to another client.
    pub stale: u64,
    /// Frames that were damaged on their way here.
    pub damaged: u64,
}

/// A connection to a [`Server`](crate::Server). The [module](self) has an example.
#[derive(Debug)]
pub struct Client<L> {
    exchange: Exchange<L>,
    greeting: Box<Greeting>,
    /// `None` if the session has ended and another must be opened.
    session: Option<Session>,
    /// The boot that the caller knows of.
    boot: u64,
    /// The number of the last event that was taken.
    since: u64,
    /// Events that were taken but not passed on yet.
    events: VecDeque<Event>,
    /// The number of the latest event of the server.
    latest: u64,
    /// The most attempts that may still follow.
    left: u32,
    /// The rate to go to after a Hello.
    baud: u32,
    /// The machine that the controller serves, as far as this client knows.
    machine: Grid,
}

impl<L: Line> Client<L> {
    /// Opens a session: sends Hello, as often as the options allow, and keeps the greeting.
    ///
    /// # Errors
    ///
    /// When nothing answers, or something that speaks another version.
    pub fn connect(line: L, options: Options) -> Result<Self, ClientError> {
        let number = options.number;
        let number = number.unwrap_or_else(|| RandomState::new().hash_one(0_u8) as u32);
        let mut exchange = Exchange::new(line, options, number);
        let mut baud = options.baud;
        let greeting = hello(&mut exchange)?;
        let greeting = raised(&mut exchange, &mut baud)?.unwrap_or(greeting);
        Ok(Client {
            exchange,
            baud,
            machine: greeting.configuration.machine,
            session: Some(greeting.session),
            boot: greeting.session.boot,
            since: greeting.events,
            latest: greeting.events,
            greeting,
            events: VecDeque::new(),
            left: 0,
        })
    }

    /// The greeting that answered the last Hello.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// The machine that the controller serves, as far as this client knows: another client may have
    /// configured another machine.
    pub const fn machine(&self) -> Grid {
        self.machine
    }

    /// Lets the controller carry out a change, waits until all attempts that follow from it are
    /// made, and passes on the events, including those of other clients' jobs since the last call.
    /// Each grant comes with the blocks of the job; some are missing if another client has released
    /// it meanwhile. On an error no event is passed on.
    ///
    /// `at` is the time of the change if this client has a virtual clock
    /// ([`Client::use_virtual_clock`]), `None` for the present time.
    ///
    /// # Errors
    ///
    /// When no reply comes. A change that the controller refuses is not an error of the client: the
    /// inner result says why.
    pub fn call(
        &mut self,
        change: &Change,
        at: Option<Ticks>,
        on_event: &mut dyn FnMut(&Event, &[Block]),
    ) -> Result<Result<Outcome, Error>, ClientError> {
        let mut progress = Progress::new();
        let outcome = loop {
            match self.change(change, at, &mut progress)? {
                // Another client's change, or one of this client without a reply.
                Err(Error::Busy { .. }) => {
                    self.settle(&mut progress)?;
                    self.exchange.pause();
                }
                outcome => break outcome,
            }
        };
        self.settle(&mut progress)?;
        self.pass_on(on_event)?;
        Ok(outcome)
    }

    /// Asks for the events since the last call, waits until no attempt is left, and passes them on
    /// as [`Client::call`] does.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub fn events(
        &mut self,
        on_event: &mut dyn FnMut(&Event, &[Block]),
    ) -> Result<(), ClientError> {
        self.poll()?;
        self.settle(&mut Progress::new())?;
        self.pass_on(on_event)
    }

    /// Reads the blocks of all grants, and only then passes the events on.
    fn pass_on(&mut self, on_event: &mut dyn FnMut(&Event, &[Block])) -> Result<(), ClientError> {
        let mut happened = Vec::new();
        let mut read = 0;
        for at in 0..self.events.len() {
            let event = self.events[at];
            let blocks = match event.what {
                EventKind::LeaseEnded | EventKind::Preempted { .. } => Vec::new(),
                EventKind::Granted {
                    blocks_total: 1,
                    block,
                    ..
                } => vec![block],
                EventKind::Granted { blocks_total, .. } => {
                    read += blocks_total;
                    if read > BLOCKS_MAX {
                        let expected = format!("grants of at most {BLOCKS_MAX} blocks");
                        let session = self.greeting.session;
                        let since = self.since;
                        let message = ClientMessage::Events { session, since };
                        return Err(ClientError::untrue(&message, &event, expected));
                    }
                    self.blocks(event.job, blocks_total)?
                }
            };
            happened.push((event, blocks));
        }
        self.events.clear();
        for (event, blocks) in &happened {
            on_event(event, blocks);
        }
        Ok(())
    }

    /// Asks for a virtual clock: until it is given back, or the session ends, the changes of this
    /// client set the time with `at`. With false the controller's own clock goes on.
    ///
    /// # Errors
    ///
    /// [`ClientError::Refused`] with
    /// [`LeasesRun`](crate::protocol::ProtocolError::LeasesRun) while jobs have leases; when no
    /// reply comes.
    pub fn use_virtual_clock(&mut self, is_virtual: bool) -> Result<(), ClientError> {
        let mut progress = Progress::new();
        loop {
            let message = ClientMessage::Clock {
                session: self.session()?,
                since: self.since,
                is_virtual,
            };
            if self.change_by(&message, &mut progress)?.is_ok() {
                return Ok(());
            }
            self.settle(&mut progress)?;
            self.exchange.pause();
        }
    }

    fn change(
        &mut self,
        change: &Change,
        at: Option<Ticks>,
        progress: &mut Progress,
    ) -> Result<Result<Outcome, Error>, ClientError> {
        let message = ClientMessage::Change {
            session: self.session()?,
            since: self.since,
            at,
            change: *change,
        };
        let outcome = self.change_by(&message, progress)?;
        if let (Change::Configure(configuration), Ok(_)) = (change, outcome) {
            self.machine = configuration.machine;
        }
        Ok(outcome)
    }

    /// The outcome of a message that asks for a change.
    fn change_by(
        &mut self,
        message: &ClientMessage,
        progress: &mut Progress,
    ) -> Result<Result<Outcome, Error>, ClientError> {
        let change = match message {
            ClientMessage::Change { change, .. } => Some(change),
            _ => None,
        };
        let mut answer = self.run(message)?;
        loop {
            let (outcome, events) = match answer {
                ServerMessage::Outcome { outcome, events } => (Some(outcome), events),
                ServerMessage::UnderWay(events) => (None, events),
                _ => return Err(ClientError::unknown_reply(message)),
            };
            if let Some(outcome) = &outcome {
                check::outcome(change, outcome)
                    .map_err(|expected| ClientError::untrue(message, outcome, expected))?;
            }
            self.take(message, events)?;
            progress.note(self.left, self.since, self.exchange.patience(), message)?;
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
            // The same frame is answered by the outcome later.
            let answered = self.exchange.ask_again(message)?;
            answer = self.session_kept(message, answered)?;
        }
    }

    /// Lets the controller answer a query.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub fn query(&mut self, query: &Query) -> Result<Result<Answer, Error>, ClientError> {
        let (message, answer) = self.ask(query)?;
        if check::nodes(&answer).is_none_or(|nodes| nodes == self.machine.nodes()) {
            return Ok(answer);
        }
        // Another client may have configured another machine.
        self.hello()?;
        let (_, answer) = self.ask(query)?;
        let machine = self.machine;
        if check::nodes(&answer).is_none_or(|nodes| nodes == machine.nodes()) {
            Ok(answer)
        } else {
            let expected = format!("the {} processors of a {machine}", machine.nodes());
            Err(ClientError::untrue(&message, &answer, expected))
        }
    }

    /// Sends a query; returns its message and the answer.
    fn ask(
        &mut self,
        query: &Query,
    ) -> Result<(ClientMessage, Result<Answer, Error>), ClientError> {
        let message = ClientMessage::Query {
            session: self.session()?,
            query: *query,
        };
        match self.run(&message)? {
            ServerMessage::Answer(answer) => {
                check::answer(query, &answer, &self.greeting.capacity)
                    .map_err(|expected| ClientError::untrue(&message, &answer, expected))?;
                Ok((message, answer))
            }
            _ => Err(ClientError::unknown_reply(&message)),
        }
    }

    /// Waits until no work is left, and takes the events.
    fn settle(&mut self, progress: &mut Progress) -> Result<(), ClientError> {
        while !self.is_settled() {
            self.wait(progress)?;
        }
        Ok(())
    }

    /// Asks for events, and notes whether the controller makes progress.
    fn wait(&mut self, progress: &mut Progress) -> Result<(), ClientError> {
        let message = self.poll()?;
        progress.note(self.left, self.since, self.exchange.patience(), &message)
    }

    const fn is_settled(&self) -> bool {
        self.since >= self.latest && self.left == 0
    }

    /// Asks the server for events; returns the message.
    fn poll(&mut self) -> Result<ClientMessage, ClientError> {
        let message = ClientMessage::Events {
            session: self.session()?,
            since: self.since,
        };
        match self.run(&message)? {
            ServerMessage::Events(events) => {
                self.take(&message, events)?;
                Ok(message)
            }
            _ => Err(ClientError::unknown_reply(&message)),
        }
    }

    /// Takes the events in the answer to a message.
    fn take(&mut self, message: &ClientMessage, events: Events) -> Result<(), ClientError> {
        // A frame that is repeated asks for those since its first time.
        let since = match *message {
            ClientMessage::Change { since, .. }
            | ClientMessage::Clock { since, .. }
            | ClientMessage::Events { since, .. } => since,
            _ => self.since,
        };
        check::events(&events, since, &self.greeting.capacity)
            .map_err(|expected| ClientError::untrue(message, &events, expected))?;
        if self.events.len() + events.list.len() > EVENTS_WAITING_MAX {
            let expected = format!("at most {EVENTS_WAITING_MAX} events of one change");
            return Err(ClientError::untrue(message, &events, expected));
        }
        let known = self.since;
        self.latest = self.latest.max(events.latest);
        self.left = events.left;
        let taken = match events.list.last() {
            Some(last) if events.list.is_full() => last.number,
            _ => events.latest,
        };
        // An answer to an earlier copy of the frame may have fewer events.
        self.since = known.max(taken);
        let new = events.list.into_iter();
        self.events.extend(new.filter(|event| event.number > known));
        Ok(())
    }

    /// Reads the blocks of a job that holds `total` of them. Some are missing if another client has
    /// released the job meanwhile, or its lease has ended.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub fn blocks(&mut self, job: JobId, total: u32) -> Result<Vec<Block>, ClientError> {
        let (mut blocks, mut granted_at) = (Vec::new(), None);
        while (blocks.len() as u32) < total {
            let from = blocks.len() as u32;
            let Ok(Answer::Blocks(list)) = self.query(&Query::Blocks { job, from })? else {
                break;
            };
            // Otherwise the job is a later one of the same name.
            let is_same = *granted_at.get_or_insert(list.granted_at) == list.granted_at;
            if list.total != total || !is_same {
                break;
            }
            blocks.extend(list.blocks);
        }
        Ok(blocks)
    }

    /// What the controller has seen on its line.
    ///
    /// # Errors
    ///
    /// When no whole reply comes.
    pub fn line_counters(&mut self) -> Result<LineCounters, ClientError> {
        let message = ClientMessage::LineCounters;
        match self.run(&message)? {
            ServerMessage::LineCounters(counters) => Ok(counters),
            _ => Err(ClientError::unknown_reply(&message)),
        }
    }

    /// The rate of the line, in bits a second: that of the options, or 115,200 if the server does
    /// not have it, the line does not work at it, or no Hello was sent since it failed.
    pub const fn baud(&self) -> u32 {
        self.exchange.baud()
    }

    /// The counts of what this client has seen on its line.
    pub const fn counters(&self) -> ClientCounters {
        self.exchange.counters()
    }

    /// Makes the client less patient, and not interruptible: for the last exchanges of a program.
    pub const fn hurry(&mut self, timeout: Duration, tries: u32, patience: Duration) {
        let options = self.exchange.options_mut();
        (options.timeout, options.tries, options.patience) = (timeout, tries, patience);
        options.interrupted = None;
    }

    /// The line below.
    pub const fn line_mut(&mut self) -> &mut L {
        self.exchange.line_mut()
    }
}
