//! The client's half of the protocol: [`Client`], over any [`Line`].
//!
//! A client has one exchange at a time: it sends a frame and listens until it has every part of the
//! reply. When a part is missing, damaged or late it sends *the same* frame again, which the server
//! does not carry out twice. Nothing is passed on before the reply is whole, so the caller sees each
//! grant once, whatever the line does.

mod error;
mod exchange;
mod line;

use std::boxed::Box;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use meshalloc::{Command, Reply, Ticks};

pub use error::{ClientError, Heard};
use exchange::Exchange;
pub use line::{IoLine, Line};

use crate::protocol::{ClientMessage, Greeting, LineCounters, ServerMessage};

/// How patient a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long to wait for the next part of a reply before the frame is sent again.
    pub timeout: Duration,
    /// How often a frame is sent before the client gives up, at least once.
    pub tries: u32,
    /// The sequence number of the first frame. `None` for one at random: it must not be that of the
    /// last frame of an earlier client of the same server.
    pub first_seq: Option<u32>,
}

impl Default for Options {
    /// One second, five tries.
    fn default() -> Self {
        Options {
            timeout: Duration::from_secs(1),
            tries: 5,
            first_seq: None,
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
    /// Whole frames that belong to no exchange of the moment.
    pub stale: u64,
    /// Frames that were damaged on their way here.
    pub damaged: u64,
}

/// A connection to a [`Server`](crate::Server).
///
/// ```no_run
/// use std::net::TcpStream;
/// use meshalloc::{Command, JobId, Request};
/// use meshalloc_firmware::{Client, IoLine, Options};
///
/// let line = IoLine::tcp(TcpStream::connect("127.0.0.1:4000")?)?;
/// let mut client = Client::connect(line, Options::default())?;
/// println!("{}", client.greeting().build);
///
/// let command = Command::Submit { job: JobId(1), request: Request::submesh(4, 3) };
/// client.call(&command, None, &mut |reply| println!("{reply:?}"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Client<L> {
    exchange: Exchange<L>,
    greeting: Box<Greeting>,
}

impl<L: Line> Client<L> {
    /// Opens a session: sends Hello, as often as the options allow, and keeps the greeting.
    ///
    /// # Errors
    ///
    /// When nothing answers, or something that speaks another version.
    pub fn connect(line: L, options: Options) -> Result<Self, ClientError> {
        let seq = options
            .first_seq
            .unwrap_or_else(|| RandomState::new().hash_one(0_u8) as u32);
        let mut exchange = Exchange::new(line, options, seq);
        let greeting = hello(&mut exchange)?;
        Ok(Client { exchange, greeting })
    }

    /// Sends Hello again, for example after [`ClientError::ControllerReset`].
    ///
    /// # Errors
    ///
    /// As [`Client::connect`].
    pub fn hello(&mut self) -> Result<&Greeting, ClientError> {
        self.greeting = hello(&mut self.exchange)?;
        Ok(&self.greeting)
    }

    /// The greeting that answered the last Hello.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Lets the controller handle a command and passes on its replies: grants first, the final one
    /// last; on an error none. `at` is the time of the command, `None` for the controller's clock.
    ///
    /// # Errors
    ///
    /// When no whole reply comes. That the controller refuses the command is no error here but a
    /// [`Reply::Error`].
    pub fn call(
        &mut self,
        command: &Command,
        at: Option<Ticks>,
        on_reply: &mut dyn FnMut(&Reply),
    ) -> Result<(), ClientError> {
        let message = ClientMessage::Command {
            at,
            command: *command,
        };
        match self.exchange.run(&message)? {
            ServerMessage::Reply(last) => {
                self.exchange.parts().iter().for_each(&mut *on_reply);
                on_reply(&last);
                Ok(())
            }
            _ => Err(ClientError::unknown_reply(&message)),
        }
    }

    /// What the controller has seen on its line.
    ///
    /// # Errors
    ///
    /// When no whole reply comes.
    pub fn line_counters(&mut self) -> Result<LineCounters, ClientError> {
        let message = ClientMessage::LineCounters;
        match self.exchange.run(&message)? {
            ServerMessage::LineCounters(counters) => Ok(counters),
            _ => Err(ClientError::unknown_reply(&message)),
        }
    }

    /// What this client has seen on its line.
    pub const fn counters(&self) -> ClientCounters {
        self.exchange.counters()
    }

    /// The line below.
    pub const fn line_mut(&mut self) -> &mut L {
        self.exchange.line_mut()
    }
}

fn hello<L: Line>(exchange: &mut Exchange<L>) -> Result<Box<Greeting>, ClientError> {
    let message = ClientMessage::Hello;
    match exchange.run(&message)? {
        ServerMessage::Hello(greeting) => Ok(Box::new(greeting)),
        _ => Err(ClientError::unknown_reply(&message)),
    }
}
