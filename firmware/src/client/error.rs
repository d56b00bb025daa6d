//! The errors of a client: [`ClientError`].

use std::boxed::Box;
use std::fmt;
use std::io;
use std::string::String;
use std::time::Duration;

use crate::protocol::{ClientMessage, Origin, ProtocolError};

/// Why an exchange failed. It is then unknown whether the command was carried out, unless the
/// variant says so.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The line has failed.
    #[error("the line to the controller failed while {doing}: {source}")]
    Line {
        /// What the client was doing.
        doing: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// No reply arrived.
    #[error(
        "no reply from the controller to {message}: sent {tries} times in {} ms, received {stray}",
        elapsed.as_millis()
    )]
    NoReply {
        /// The message.
        message: Box<str>,
        /// The number of times it was sent.
        tries: u32,
        /// The total time.
        elapsed: Duration,
        /// What the client received instead.
        stray: Stray,
    },
    /// The controller has another version of the protocol. Nothing was carried out.
    #[error("the controller speaks protocol version {theirs}, this program speaks {ours}")]
    WrongVersion {
        /// The client's version.
        ours: u8,
        /// The controller's version.
        theirs: u8,
    },
    /// The controller was reset since its last reply. A command was not carried out in the new
    /// boot; it is unknown whether it was in the old one. This error comes once for each boot; the
    /// client continues with the new boot.
    #[error("the controller was reset in the meantime and {origin}")]
    ControllerReset {
        /// The state that it has kept.
        origin: Origin,
    },
    /// The client's session had to make room for the sessions of others. It is unknown whether the
    /// command was carried out. The client continues with a new session.
    #[error("the controller has given the session of this client to another one")]
    SessionLost,
    /// The controller did not understand the frame, or could not record the command. Nothing was
    /// carried out.
    #[error("the controller refused {message}: {error}")]
    Refused {
        /// The message.
        message: Box<str>,
        /// The controller's error.
        error: ProtocolError,
    },
    /// The controller answers but does not finish. It may still carry out the command.
    #[error(
        "the controller does not finish {message}: {left} jobs still to try after {} s, \
         {} s of them without progress",
        elapsed.as_secs(),
        idle.as_secs()
    )]
    NoEnd {
        /// The message.
        message: Box<str>,
        /// The number of jobs still to try, by its last answer.
        left: u32,
        /// The total time.
        elapsed: Duration,
        /// The time without progress.
        idle: Duration,
    },
    /// The answer cannot be true.
    #[error("the controller answered {message} with {answer} (expected {expected})")]
    Untrue {
        /// The message.
        message: Box<str>,
        /// The controller's answer.
        answer: Box<str>,
        /// A description of the answers that can be true.
        expected: Box<str>,
    },
    /// The caller has interrupted it ([`Options::interrupted`](super::Options::interrupted)).
    #[error("interrupted")]
    Interrupted,
    /// The reply is whole, but this client does not know it: the controller's software is newer, or
    /// answers another question.
    #[error("this program does not know the controller's reply to {message}")]
    UnknownReply {
        /// The message.
        message: Box<str>,
    },
}

impl ClientError {
    pub(super) fn no_reply(
        message: &ClientMessage,
        tries: u32,
        elapsed: Duration,
        stray: Stray,
    ) -> Self {
        ClientError::NoReply {
            message: name(message),
            tries,
            elapsed,
            stray,
        }
    }

    pub(super) fn untrue(
        message: &ClientMessage,
        answer: &dyn fmt::Debug,
        expected: String,
    ) -> Self {
        ClientError::Untrue {
            message: name(message),
            answer: std::format!("{answer:?}").into(),
            expected: expected.into(),
        }
    }

    pub(super) fn refused(message: &ClientMessage, error: ProtocolError) -> Self {
        ClientError::Refused {
            message: name(message),
            error,
        }
    }

    pub(super) fn unknown_reply(message: &ClientMessage) -> Self {
        ClientError::UnknownReply {
            message: name(message),
        }
    }
}

/// What a controller has kept over its reset, as the end of a sentence about it.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Forgetful => "has forgotten all jobs: it keeps no journal",
            Origin::New => "has forgotten all jobs: its journal is empty",
            Origin::Restored { .. } => "has restored its state",
            Origin::Damaged { .. } => "has found its journal damaged: jobs may be lost",
            Origin::Unread => "has not read its journal, which stays as it is",
        })
    }
}

/// The text of a message in an error.
pub(super) fn name(message: &ClientMessage) -> Box<str> {
    match message {
        ClientMessage::Change { change, .. } => std::format!("{change:?}"),
        ClientMessage::Query { query, .. } => std::format!("{query:?}"),
        other => std::format!("{other:?}"),
    }
    .into()
}

/// What a client received in place of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stray {
    /// The number of bytes.
    pub bytes: u64,
    /// The number of frames that arrived damaged.
    pub damaged: u64,
    /// The number of whole frames of other exchanges.
    pub stale: u64,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stray {
            bytes,
            damaged,
            stale,
        } = self;
        if *bytes == 0 {
            return f.write_str("nothing at all");
        }
        write!(
            f,
            "{bytes} bytes: {stale} frames of other exchanges, {damaged} damaged ones"
        )
    }
}
