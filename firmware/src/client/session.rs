//! Opens sessions with the server, notices when they end, and goes to the rate of the options.

use std::boxed::Box;
use std::format;

use super::error::ClientError;
use super::exchange::Exchange;
use super::line::Line;
use super::{Client, check};
use crate::BAUD_DEFAULT;
use crate::protocol::{ClientMessage, Greeting, Origin, ProtocolError, ServerMessage, Session};

impl<L: Line> Client<L> {
    /// Sends Hello again. After a change without a reply ([`ClientError::NoReply`]) this makes sure
    /// that the change is not carried out later.
    ///
    /// # Errors
    ///
    /// As [`Client::connect`]; [`ClientError::ControllerReset`] once after each reset of the
    /// server. The greeting is that of the new boot then, and the client can be used.
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
            // Events that were not read are still there.
            Origin::Restored { .. } => self.since = self.since.min(events),
            // The grants of all jobs that run are read.
            Origin::Damaged { .. } | Origin::Unread | Origin::Forgetful | Origin::New => {
                self.since = 0;
                self.events.clear();
            }
        }
        Err(ClientError::ControllerReset { origin })
    }

    /// The session. If it has ended, another one is opened.
    pub(super) fn session(&mut self) -> Result<Session, ClientError> {
        match self.session {
            Some(session) => Ok(session),
            None => Ok(self.hello()?.session),
        }
    }

    pub(super) fn run(&mut self, message: &ClientMessage) -> Result<ServerMessage, ClientError> {
        let answer = self.exchange.run(message)?;
        self.session_kept(message, answer)
    }

    /// An answer that does not end the session.
    pub(super) fn session_kept(
        &mut self,
        message: &ClientMessage,
        answer: ServerMessage,
    ) -> Result<ServerMessage, ClientError> {
        match answer {
            ServerMessage::Error(ProtocolError::OtherBoot { .. }) => {
                self.session = None;
                self.hello()?;
                // Hello has found the known boot, so only one answer named another one.
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
}

pub(super) fn hello<L: Line>(exchange: &mut Exchange<L>) -> Result<Box<Greeting>, ClientError> {
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

/// Goes to a rate with the server, and returns the greeting at that rate; `None` if nothing
/// changed. If the line does not work at the rate, or the server does not have it, `baud` becomes
/// the present rate, so the other is not tried again.
pub(super) fn raised<L: Line>(
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
