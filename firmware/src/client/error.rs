//! Why an exchange came to nothing: [`ClientError`].

use std::boxed::Box;
use std::fmt;
use std::io;
use std::string::String;
use std::time::Duration;

use crate::protocol::{ClientMessage, Origin, ProtocolError};

/// Why an exchange came to nothing. Whether the command was carried out is then unknown, except where
/// the variant says.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The line is gone.
    #[error("the line to the controller failed while {doing}: {source}")]
    Line {
        /// What the client was at.
        doing: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// No reply came.
    #[error(
        "no reply from the controller to {message}: sent {tries} times in {} ms, heard {heard}",
        elapsed.as_millis()
    )]
    NoReply {
        /// What was sent.
        message: Box<str>,
        /// How often.
        tries: u32,
        /// How long it took in all.
        elapsed: Duration,
        /// What came instead.
        heard: Heard,
    },
    /// The controller speaks another version of the protocol. Nothing was carried out.
    #[error("the controller speaks protocol version {theirs}, this program speaks {ours}")]
    WrongVersion {
        /// This client's.
        ours: u8,
        /// The controller's.
        theirs: u8,
    },
    /// The controller was reset since the caller last heard of it. The command, if it was one, was not carried out in the new boot; whether
    /// it was in the old one is open. It comes once for each boot; the client goes on with the new one.
    #[error("the controller was reset in the meantime and {}", kept(*origin))]
    ControllerReset {
        /// What it has kept.
        origin: Origin,
    },
    /// The client's session had to make room for those of others. Whether the command was carried out is open. The client goes on
    /// with another session.
    #[error("the controller has given the place of this client to another one")]
    SessionLost,
    /// The controller did not understand the frame, or could not write the command down. Nothing was carried out.
    #[error("the controller did not take {message}: {error}")]
    Refused {
        /// What was sent.
        message: Box<str>,
        /// Its error.
        error: ProtocolError,
    },
    /// The controller answers, and does not come to an end. What it was given may be carried out
    /// yet.
    #[error(
        "the controller does not come to an end of {message}: {left} jobs are still to be tried \
         after {} s, {} s of them without progress",
        elapsed.as_secs(),
        idle.as_secs()
    )]
    NoEnd {
        /// What was sent.
        message: Box<str>,
        /// The jobs that are still to be tried, by its last answer.
        left: u32,
        /// How long it took in all.
        elapsed: Duration,
        /// How long nothing has happened.
        idle: Duration,
    },
    /// The answer cannot be true.
    #[error("the controller answered {message} with {answer} (expected {expected})")]
    Untrue {
        /// What was sent.
        message: Box<str>,
        /// Its answer.
        answer: Box<str>,
        /// What could be true.
        expected: Box<str>,
    },
    /// The caller has asked to stop ([`Options::interrupted`](super::Options::interrupted)).
    #[error("interrupted")]
    Interrupted,
    /// The reply is whole but no message this client knows: the controller's software is newer, or
    /// answers something else than it was asked.
    #[error("the controller's reply to {message} is none that this program knows")]
    UnknownReply {
        /// What was sent.
        message: Box<str>,
    },
}

impl ClientError {
    pub(super) fn no_reply(
        message: &ClientMessage,
        tries: u32,
        elapsed: Duration,
        heard: Heard,
    ) -> Self {
        ClientError::NoReply {
            message: name(message),
            tries,
            elapsed,
            heard,
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

/// What a controller has kept over a reset.
const fn kept(origin: Origin) -> &'static str {
    match origin {
        Origin::Forgetful | Origin::New => "has forgotten all jobs",
        Origin::Restored { .. } => "has restored its state",
        Origin::Damaged { .. } => "has found its journal damaged: jobs may be lost",
        Origin::Unread => "has not read its journal, which stays as it is",
    }
}

/// What was sent.
pub(super) fn name(message: &ClientMessage) -> Box<str> {
    match message {
        ClientMessage::Change { change, .. } => std::format!("{change:?}"),
        ClientMessage::Query { query, .. } => std::format!("{query:?}"),
        other => std::format!("{other:?}"),
    }
    .into()
}

/// What came in place of a whole reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Bytes of any kind.
    pub bytes: u64,
    /// Frames that were damaged on their way here.
    pub damaged: u64,
    /// Whole frames that belong to another exchange.
    pub stale: u64,
}

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Heard {
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
