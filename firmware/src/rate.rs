//! The rate of a serial line: [`Rate`]. A client chooses it, and a failure always leads both sides
//! back to 115,200 baud.
//!
//! ```text
//!               Rate { baud }, once the reply has left
//!   115,200 ────────────────────────────────────────▶ another, on trial ──a frame──▶ another
//!      ▲                                                     │                          │
//!      └──────────────── 2.5 s without a frame ──────────────┴── 2.5 s of bytes without a frame
//! ```
//!
//! A client repeats its frame after a second, so the server receives it at the new rate in time. A
//! client without a reply to two frames returns to 115,200 baud. The server soon returns there,
//! too: after a failure of the line, after a change of the client, and after a reset of the board,
//! which always starts at 115,200 baud.

use meshalloc::Ticks;

use crate::BAUD_DEFAULT;

/// The rates that a client may choose, in bits per second, 8N1.
pub const BAUDS: [u32; 5] = [BAUD_DEFAULT, 230_400, 460_800, 921_600, 1_000_000];
/// The time for which a rate stays without a frame, in milliseconds. It counts from the setting of
/// the rate, and from the first byte since the last frame.
pub const PATIENCE_MS: Ticks = 2500;

/// The rate of the server's end of the line.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    baud: u32,
    /// The rate to set once the reply has left.
    asked: Option<u32>,
    due: Due,
}

/// Whether the server waits for a frame. It never does at [`BAUD_DEFAULT`].
#[derive(Clone, Copy, Debug)]
enum Due {
    No,
    /// The wait starts at the next reading of the clock.
    FromNow,
    Since(Ticks),
}

impl Rate {
    /// The rate after a reset.
    pub const fn new() -> Self {
        Rate {
            baud: BAUD_DEFAULT,
            asked: None,
            due: Due::No,
        }
    }

    /// Handles a client's request for a rate. Returns the rate after the reply: the requested one
    /// if it is one of [`BAUDS`], else the present one.
    pub fn ask(&mut self, baud: u32) -> u32 {
        if BAUDS.contains(&baud) {
            self.asked = Some(baud);
            baud
        } else {
            self.baud
        }
    }

    /// Reports a byte, or noise in place of one. The wait starts at the next [`Rate::next`], since
    /// an attempt to place a job may take longer than the wait while bytes arrive.
    pub const fn hear(&mut self) {
        if self.baud != BAUD_DEFAULT && matches!(self.due, Due::No) {
            self.due = Due::FromNow;
        }
    }

    /// Reports a whole frame.
    pub const fn hear_frame(&mut self) {
        self.due = Due::No;
    }

    /// The rate to set now, if it changes. `has_left` returns whether all bytes were sent.
    pub fn next(&mut self, now: Ticks, has_left: impl FnOnce() -> bool) -> Option<u32> {
        if let Due::FromNow = self.due {
            self.due = Due::Since(now);
        }
        let is_late =
            matches!(self.due, Due::Since(since) if now.saturating_sub(since) >= PATIENCE_MS);
        let next = match self.asked {
            Some(asked) if has_left() => asked,
            _ if is_late => BAUD_DEFAULT,
            _ => return None,
        };
        self.asked = None;
        self.due = match next {
            BAUD_DEFAULT => Due::No,
            _ => Due::Since(now),
        };
        (core::mem::replace(&mut self.baud, next) != next).then_some(next)
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self::new()
    }
}
