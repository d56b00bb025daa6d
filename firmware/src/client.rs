//! The client's half of the protocol: [`Client`], over any [`Line`].
//!
//! A client has one exchange at a time: it sends a frame and listens for the reply. When that is missing, damaged or late it
//! sends *the same* frame again, which the server does not carry out twice. Whatever the line does, the caller sees each grant once, and
//! learns of each reset of the server once.
//!
//! ```no_run
//! use meshalloc::{Command, JobId, Request};
//! use meshalloc_firmware::{Client, IoLine, Options};
//!
//! // A serial port is a line as well: `IoLine::new(port, |port, timeout| ..)`, which sets the timeout of its reads.
//! let line = IoLine::tcp(std::net::TcpStream::connect("127.0.0.1:4000")?)?;
//! let mut client = Client::connect(line, Options::default())?;
//! println!("{:?}", client.greeting());
//! let submit = Command::Submit { job: JobId(1), request: Request::submesh(5, 3) };
//! // The grants, this one and those that others' commands have brought about, then Submitted, or an error.
//! client.call(&submit, None, &mut |reply| println!("{reply:?}"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod error;
mod exchange;
mod line;
pub mod smoke;

use std::boxed::Box;
use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::format;
use std::hash::BuildHasher;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::vec::Vec;

use meshalloc::grid::NODES_MAX;
use meshalloc::{Command, Grant, Grid, JobId, JobState, LeaseEnded, Reply, Ticks};

pub use error::{ClientError, Stray};
use exchange::Exchange;
pub use line::{IoLine, Line};

use crate::BAUD_DEFAULT;
use crate::protocol::{
    ClientMessage, Event, Events, Greeting, Happened, LineCounters, Origin, ProtocolError,
    ServerMessage, Session,
};

/// How patient a client is.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long to wait for a reply before the frame is sent again.
    pub timeout: Duration,
    /// How often a frame is sent before the client gives up, at least once.
    pub tries: u32,
    /// The number of the client. `None` for one at random: no two clients of a server may have the same, nor
    /// one that was started again the one from before.
    pub number: Option<u32>,
    /// How long to wait before asking what a command has come to that is under way.
    pub interval: Duration,
    /// The rate to go to after each Hello, in bits a second: one of [`BAUDS`](crate::rate::BAUDS).
    pub baud: u32,
    /// How long a controller that answers may be without progress: no job less to be tried, and no
    /// event. In all it has thirty times that.
    pub patience: Duration,
    /// While it is true every exchange ends within a twentieth of a second, with
    /// [`ClientError::Interrupted`].
    pub interrupted: Option<&'static AtomicBool>,
}

/// The bound of a whole call, in multiples of [`Options::patience`].
const PATIENCE_TIMES: u32 = 30;
/// The most events that wait for a caller: a controller has one for each of at most 65,534 jobs,
/// and 16 ends of leases.
const EVENTS_WAITING_MAX: usize = 1 << 16;
/// The most blocks that are read for the grants of one command.
const BLOCKS_MAX: u32 = 2 * NODES_MAX;

impl Default for Options {
    /// One second, five tries, 10 ms, 115,200 baud, two minutes: a single attempt that pauses takes
    /// seconds at the most.
    fn default() -> Self {
        Options {
            timeout: Duration::from_secs(1),
            tries: 5,
            number: None,
            interval: Duration::from_millis(10),
            baud: BAUD_DEFAULT,
            patience: Duration::from_secs(120),
            interrupted: None,
        }
    }
}

/// What a client has seen on its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCounters {
    /// Exchanges that came to an end.
    pub exchanges: u64,
    /// Frames that were sent again.
    pub retries: u64,
    /// Replies that a command is under way.
    pub under_way: u64,
    /// Whole frames that belong to no exchange of the moment, or to another client.
    pub stale: u64,
    /// Frames that were damaged on their way here.
    pub damaged: u64,
}

/// A connection to a [`Server`](crate::Server). The [module](self) has an example.
#[derive(Debug)]
pub struct Client<L> {
    exchange: Exchange<L>,
    greeting: Box<Greeting>,
    /// `None`: it is no more, and another must be opened.
    session: Option<Session>,
    /// The boot that the caller knows of.
    boot: u64,
    /// The number of the last event that was taken.
    since: u64,
    /// Events that were taken and not passed on yet.
    events: VecDeque<Event>,
    /// The number of the latest event that the server has told of.
    latest: u64,
    /// The most jobs that are still to be tried.
    left: u32,
    /// The rate to go to after a Hello.
    baud: u32,
    /// What is served, as far as this client knows.
    machine: Grid,
}

/// How far a controller has come with what it was given.
struct Progress {
    begun: Instant,
    /// When it got on last.
    since: Instant,
    /// The least jobs to be tried, and the latest event, so far.
    left: u32,
    event: u64,
}

impl Progress {
    fn new() -> Self {
        let now = Instant::now();
        Progress {
            begun: now,
            since: now,
            left: u32::MAX,
            event: 0,
        }
    }

    /// Notes how far it is.
    ///
    /// # Errors
    ///
    /// When it takes too long.
    fn note(
        &mut self,
        left: u32,
        event: u64,
        patience: Duration,
        message: &ClientMessage,
    ) -> Result<(), ClientError> {
        if left < self.left || event > self.event {
            self.since = Instant::now();
        }
        (self.left, self.event) = (self.left.min(left), self.event.max(event));
        let (elapsed, idle) = (self.begun.elapsed(), self.since.elapsed());
        match idle > patience || elapsed > patience * PATIENCE_TIMES {
            true => Err(ClientError::NoEnd {
                message: error::name(message),
                left,
                elapsed,
                idle,
            }),
            false => Ok(()),
        }
    }
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

    /// Sends Hello again. After a command without a reply ([`ClientError::NoReply`]) it makes sure that this command
    /// is not carried out any more, if it has not been.
    ///
    /// # Errors
    ///
    /// As [`Client::connect`]; [`ClientError::ControllerReset`] if the server was reset since the caller last heard of it. The greeting
    /// is that of the new boot then, and the client can be used.
    pub fn hello(&mut self) -> Result<&Greeting, ClientError> {
        self.greeting = hello(&mut self.exchange)?;
        if let Some(greeting) = raised(&mut self.exchange, &mut self.baud)? {
            self.greeting = greeting;
        }
        let Greeting {
            session,
            events,
            origin,
            configuration,
            ..
        } = *self.greeting;
        self.session = Some(session);
        self.machine = configuration.machine;
        if session.boot == self.boot {
            if events < self.since {
                let expected = format!("the number of an event from {} on", self.since);
                let answer = &self.greeting;
                return Err(ClientError::untrue(&ClientMessage::Hello, answer, expected));
            }
            return Ok(&self.greeting);
        }
        self.boot = session.boot;
        (self.latest, self.left) = (events, 0);
        match origin {
            // What was not fetched is still there.
            Origin::Restored { .. } => self.since = self.since.min(events),
            // All jobs that run are told of.
            Origin::Damaged { .. } | Origin::Unread | Origin::Forgetful | Origin::New => {
                self.since = 0;
                self.events.clear();
            }
        }
        Err(ClientError::ControllerReset { origin })
    }

    /// The greeting that answered the last Hello.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Lets the controller handle a command and passes on its replies, as [`Controller::handle`](meshalloc::Controller::handle) does:
    /// grants and ends of leases first, the final one last; on an error none. `at` is the time of
    /// the command where this client has a virtual clock ([`Client::use_virtual_clock`]), `None`
    /// for the present time. It returns
    /// when the scheduling that follows from the command has come to its end. Events that other clients' commands or time have brought about
    /// since the last call are passed on as well.
    ///
    /// # Errors
    ///
    /// When no reply comes. That the controller refuses the command is no error here but a [`Reply::Error`].
    pub fn call(
        &mut self,
        command: &Command,
        at: Option<Ticks>,
        on_reply: &mut dyn FnMut(&Reply),
    ) -> Result<(), ClientError> {
        if !command.changes_state() {
            let reply = self.query(command)?;
            if let (Command::QueryJob { job }, Reply::Job(report)) = (command, &reply) {
                let mut parts = Vec::new();
                self.blocks(*job, report.blocks, &mut parts)?;
                parts.iter().for_each(&mut *on_reply);
            }
            on_reply(&reply);
            return Ok(());
        }
        let mut progress = Progress::new();
        let (mut last, as_of) = loop {
            match self.change(command, at, &mut progress)? {
                // Another client's command, or one of this client without a reply.
                (Reply::Error(meshalloc::Error::Busy { .. }), _) => {
                    self.settle(&mut progress)?;
                    self.exchange.pause();
                }
                answered => break answered,
            }
        };
        self.settle(&mut progress)?;
        if let Reply::Submitted { job, state } = &mut last {
            // What has happened since then, as if the reply had come after it.
            for event in self.events.iter().filter(|event| event.number > as_of) {
                *state = match (*state, event.what) {
                    (JobState::Waiting { .. }, Happened::Granted { .. }) if event.job == *job => {
                        JobState::Running {
                            processors: event.processors,
                        }
                    }
                    // Granted, or gone from the queue.
                    (JobState::Waiting { ahead }, what)
                        if event.job != *job
                            && (what != Happened::LeaseEnded || event.processors == 0) =>
                    {
                        JobState::Waiting {
                            ahead: ahead.saturating_sub(1),
                        }
                    }
                    (state, _) => state,
                };
            }
        }
        let mut parts = Vec::new();
        let mut blocks = 0;
        for at in 0..self.events.len() {
            let event = self.events[at];
            let Happened::Granted {
                attempts,
                misses,
                blocks_total,
                block,
            } = event.what
            else {
                parts.push(Reply::LeaseEnded(LeaseEnded {
                    job: event.job,
                    at: event.at,
                    processors: event.processors,
                }));
                continue;
            };
            match blocks_total {
                1 => parts.push(Reply::Grant(Grant {
                    job: event.job,
                    at: event.at,
                    attempts,
                    misses,
                    blocks_total,
                    first: 0,
                    blocks: [block].into_iter().collect(),
                })),
                total => {
                    blocks += total;
                    if blocks > BLOCKS_MAX {
                        let expected = format!("grants of at most {BLOCKS_MAX} blocks");
                        let message = ClientMessage::Command {
                            session: self.greeting.session,
                            since: self.since,
                            at: None,
                            command: *command,
                        };
                        return Err(ClientError::untrue(&message, &event, expected));
                    }
                    self.blocks(event.job, total, &mut parts)?;
                }
            }
        }
        self.events.clear();
        parts.iter().for_each(&mut *on_reply);
        on_reply(&last);
        Ok(())
    }

    /// Lets the controller carry out a command that changes something, and returns its final reply as it is while jobs may yet be
    /// tried in consequence: [`Client::next_event`] tells who is granted processors.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub fn begin(&mut self, command: &Command, at: Option<Ticks>) -> Result<Reply, ClientError> {
        let changed = self.change(command, at, &mut Progress::new());
        changed.map(|(reply, _)| reply)
    }

    /// Asks for a virtual clock: until it is given back, or the session ends, time is what commands
    /// of this client say with `at`. With false the controller's own clock goes on.
    ///
    /// # Errors
    ///
    /// [`ClientError::Refused`] with [`ProtocolError::LeasesRun`] while jobs have leases; when no
    /// reply comes.
    pub fn use_virtual_clock(&mut self, is_virtual: bool) -> Result<(), ClientError> {
        let mut progress = Progress::new();
        loop {
            let message = ClientMessage::Clock {
                session: self.session()?,
                since: self.since,
                is_virtual,
            };
            match self.change_by(&message, &mut progress)?.0 {
                Reply::Error(_) => {
                    self.settle(&mut progress)?;
                    self.exchange.pause();
                }
                _ => return Ok(()),
            }
        }
    }

    /// The reply, and the number of the latest event at its time.
    fn change(
        &mut self,
        command: &Command,
        at: Option<Ticks>,
        progress: &mut Progress,
    ) -> Result<(Reply, u64), ClientError> {
        let message = ClientMessage::Command {
            session: self.session()?,
            since: self.since,
            at,
            command: *command,
        };
        let changed = self.change_by(&message, progress)?;
        if let (Command::Configure(configuration), Reply::Done) = (command, &changed.0) {
            self.machine = configuration.machine;
        }
        Ok(changed)
    }

    /// The reply to a message that changes something, and the number of the latest event at its
    /// time.
    fn change_by(
        &mut self,
        message: &ClientMessage,
        progress: &mut Progress,
    ) -> Result<(Reply, u64), ClientError> {
        let command = match message {
            ClientMessage::Command { command, .. } => Some(command),
            _ => None,
        };
        let mut answer = self.run(message)?;
        loop {
            let ServerMessage::Outcome {
                outcome,
                as_of,
                events,
            } = answer
            else {
                return Err(ClientError::unknown_reply(message));
            };
            check::outcome(command, &outcome)
                .map_err(|expected| ClientError::untrue(message, &outcome, expected))?;
            self.take(message, events)?;
            progress.note(self.left, self.since, self.exchange.patience(), message)?;
            if let Some(reply) = outcome.reply() {
                return Ok((reply, as_of));
            }
            // It is under way: the same frame is answered by what it has come to.
            let answered = self.exchange.ask_again(message)?;
            answer = self.session_kept(message, answered)?;
        }
    }

    /// Answers a query.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub fn query(&mut self, query: &Command) -> Result<Reply, ClientError> {
        let (message, reply) = self.ask(query)?;
        if check::nodes(&reply).is_none_or(|nodes| nodes == self.machine.nodes()) {
            return Ok(reply);
        }
        // Another client may have had another machine configured.
        self.hello()?;
        let (_, reply) = self.ask(query)?;
        let machine = self.machine;
        match check::nodes(&reply).is_none_or(|nodes| nodes == machine.nodes()) {
            true => Ok(reply),
            false => {
                let expected = format!("the {} processors of a {machine}", machine.nodes());
                Err(ClientError::untrue(&message, &reply, expected))
            }
        }
    }

    /// Sends a query; returns it and the reply.
    fn ask(&mut self, query: &Command) -> Result<(ClientMessage, Reply), ClientError> {
        let message = ClientMessage::Command {
            session: self.session()?,
            since: self.since,
            at: None,
            command: *query,
        };
        match self.run(&message)? {
            ServerMessage::Reply(reply) => {
                check::reply(query, &reply, &self.greeting.capacity)
                    .map_err(|expected| ClientError::untrue(&message, &reply, expected))?;
                Ok((message, reply))
            }
            _ => Err(ClientError::unknown_reply(&message)),
        }
    }

    /// The oldest event that was not passed on yet; `None` if there was none at the time of the last exchange
    /// and no job is still to be tried.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub fn next_event(&mut self) -> Result<Option<Event>, ClientError> {
        let mut progress = Progress::new();
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if self.is_settled() {
                return Ok(None);
            }
            self.wait(&mut progress)?;
        }
    }

    /// Waits until nothing is left to be done, and takes the events.
    fn settle(&mut self, progress: &mut Progress) -> Result<(), ClientError> {
        while !self.is_settled() {
            self.wait(progress)?;
        }
        Ok(())
    }

    /// Asks for events, and notes whether the controller gets on.
    fn wait(&mut self, progress: &mut Progress) -> Result<(), ClientError> {
        let message = self.poll_by()?;
        progress.note(self.left, self.since, self.exchange.patience(), &message)
    }

    const fn is_settled(&self) -> bool {
        self.since >= self.latest && self.left == 0
    }

    /// Asks the server for events.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub fn poll(&mut self) -> Result<(), ClientError> {
        self.poll_by().map(|_| ())
    }

    /// The same; returns the message.
    fn poll_by(&mut self) -> Result<ClientMessage, ClientError> {
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
            ClientMessage::Command { since, .. }
            | ClientMessage::Clock { since, .. }
            | ClientMessage::Events { since, .. } => since,
            _ => self.since,
        };
        check::events(&events, since, &self.greeting.capacity)
            .map_err(|expected| ClientError::untrue(message, &events, expected))?;
        if self.events.len() + events.list.len() > EVENTS_WAITING_MAX {
            let expected = format!("at most {EVENTS_WAITING_MAX} events of one command");
            return Err(ClientError::untrue(message, &events, expected));
        }
        let known = self.since;
        self.latest = self.latest.max(events.latest);
        self.left = events.left;
        let taken = match events.list.last() {
            Some(last) if events.list.is_full() => last.number,
            _ => events.latest,
        };
        // The answer to an earlier copy of the frame may know less.
        self.since = known.max(taken);
        let new = events.list.into_iter();
        self.events.extend(new.filter(|event| event.number > known));
        Ok(())
    }

    /// Reads all blocks of a job, as the parts of a grant. If another client has released the job meanwhile, or its lease has ended, some are missing.
    fn blocks(
        &mut self,
        job: JobId,
        total: u32,
        parts: &mut Vec<Reply>,
    ) -> Result<(), ClientError> {
        let (mut from, mut granted_at) = (0, None);
        while from < total {
            let reply = self.query(&Command::Blocks { job, from })?;
            let Reply::Grant(grant) = &reply else {
                break;
            };
            // Otherwise it is a later job of the same name.
            let is_same = *granted_at.get_or_insert(grant.at) == grant.at;
            if grant.blocks_total != total || !is_same {
                break;
            }
            from += grant.blocks.len() as u32;
            parts.push(reply);
        }
        Ok(())
    }

    /// The session; opens another one if it is no more.
    fn session(&mut self) -> Result<Session, ClientError> {
        match self.session {
            Some(session) => Ok(session),
            None => Ok(self.hello()?.session),
        }
    }

    fn run(&mut self, message: &ClientMessage) -> Result<ServerMessage, ClientError> {
        let answer = self.exchange.run(message)?;
        self.session_kept(message, answer)
    }

    /// An answer that does not end the session.
    fn session_kept(
        &mut self,
        message: &ClientMessage,
        answer: ServerMessage,
    ) -> Result<ServerMessage, ClientError> {
        match answer {
            ServerMessage::Error(ProtocolError::OtherBoot { .. }) => {
                self.session = None;
                self.hello()?;
                // It was another boot for the moment of one frame.
                Err(ClientError::SessionLost)
            }
            ServerMessage::Error(ProtocolError::NoSession) => {
                self.session = None;
                Err(ClientError::SessionLost)
            }
            ServerMessage::Error(error) => Err(ClientError::refused(message, error)),
            reply => Ok(reply),
        }
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

    /// The rate of the line, in bits a second: that of the options, or 115,200 where the server does not have it, the line does not bear it, or
    /// no Hello was sent since it has failed.
    pub const fn baud(&self) -> u32 {
        self.exchange.baud()
    }

    /// What this client has seen on its line.
    pub const fn counters(&self) -> ClientCounters {
        self.exchange.counters()
    }

    /// From now on the client is less patient, and is not interrupted: to put things in order at
    /// the end.
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

fn hello<L: Line>(exchange: &mut Exchange<L>) -> Result<Box<Greeting>, ClientError> {
    let message = ClientMessage::Hello;
    match exchange.run(&message)? {
        ServerMessage::Hello(greeting) => {
            check::greeting(&greeting)
                .map_err(|expected| ClientError::untrue(&message, &greeting, expected))?;
            Ok(Box::new(greeting))
        }
        _ => Err(ClientError::unknown_reply(&message)),
    }
}

/// Goes to a rate with the server, and returns the greeting that was heard there; `None` if nothing was changed. If the line does not bear
/// the rate, or the server does not have it, `baud` becomes the one there is, so that it is not tried again.
fn raised<L: Line>(
    exchange: &mut Exchange<L>,
    baud: &mut u32,
) -> Result<Option<Box<Greeting>>, ClientError> {
    if *baud == exchange.baud() {
        return Ok(None);
    }
    *baud = match exchange.run(&ClientMessage::Rate { baud: *baud })? {
        ServerMessage::Rate { baud } => baud,
        // A server with one rate does not know the message.
        _ => BAUD_DEFAULT,
    };
    if *baud == exchange.baud() {
        return Ok(None);
    }
    exchange.follow(*baud)?;
    let greeting = hello(exchange)?;
    *baud = exchange.baud();
    Ok(Some(greeting))
}
