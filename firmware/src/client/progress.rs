//! Bounds the time for which a client waits for a controller: [`Progress`].

use std::time::{Duration, Instant};

use super::error::{self, ClientError};
use crate::protocol::ClientMessage;

/// The bound of a whole call, in multiples of [`Options::patience`](super::Options::patience).
const PATIENCE_TIMES: u32 = 30;

/// The progress of a controller.
pub(super) struct Progress {
    begun: Instant,
    /// The time of the latest progress.
    since: Instant,
    /// The fewest attempts left, and the latest event, so far.
    left: u32,
    event: u64,
}

impl Progress {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Progress {
            begun: now,
            since: now,
            left: u32::MAX,
            event: 0,
        }
    }

    /// Notes the present state.
    ///
    /// # Errors
    ///
    /// When it takes too long.
    pub(super) fn note(
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
        if idle > patience || elapsed > patience * PATIENCE_TIMES {
            Err(ClientError::NoEnd {
                message: error::name(message),
                left,
                elapsed,
                idle,
            })
        } else {
            Ok(())
        }
    }
}
