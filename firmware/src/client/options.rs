//! The options of a client.

use std::time::Duration;

use crate::BAUD_DEFAULT;

/// The options of a client.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long to wait for a reply before the frame is sent again.
    pub timeout: Duration,
    /// How often a frame is sent before the client gives up, at least once.
    pub tries: u32,
    /// The number of the client. `None` for a random number. No two clients of a server may have
    /// the same number, and a client that was started again needs another number than before.
    pub number: Option<u32>,
    /// How long to wait before asking again for the outcome of a change that is under way.
    pub interval: Duration,
    /// The rate to go to after each Hello, in bits a second: one of [`BAUDS`](crate::rate::BAUDS).
    pub baud: u32,
    /// How long a controller that answers may be without progress: no event, and no fewer attempts
    /// left. The whole call may take thirty times as long.
    pub patience: Duration,
    /// Called every twentieth of a second while an exchange waits. If it returns true, the exchange
    /// ends with [`ClientError::Interrupted`](super::ClientError::Interrupted).
    pub interrupted: Option<fn() -> bool>,
}

impl Default for Options {
    /// A timeout of one second, five tries, an interval of 10 ms, 115,200 baud, and a patience of
    /// two minutes, as a single attempt that pauses takes a few seconds at most.
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
