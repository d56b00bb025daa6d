//! The rate of a serial line, which a client chooses, and on which neither side can lose the other: [`Rate`].
//!
//! ```text
//!               Rate { baud }, once the reply has left
//!   115,200 ────────────────────────────────────────▶ another, on trial ──a frame──▶ another
//!      ▲                                                     │                          │
//!      └──────────────── 2.5 s without a frame ──────────────┴── 2.5 s of bytes without a frame
//! ```
//!
//! So a client that asks again after a second is heard at the rate that there is. One that hears nothing twice goes back to 115,200 baud too and is heard there soon, whatever it
//! was that failed: the line, the client, which may be another by now, or the board, which is at 115,200 baud after each reset.

use meshalloc::Ticks;

use crate::BAUD_DEFAULT;

/// The rates there are, in bits a second, 8N1.
pub const BAUDS: [u32; 5] = [BAUD_DEFAULT, 230_400, 460_800, 921_600, 1_000_000];
/// How long a rate stays without a frame, in milliseconds: after it was set, and after the first byte since the last frame.
pub const PATIENCE_MS: Ticks = 2500;

/// The server's side of it.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    baud: u32,
    /// To be set once the reply has left.
    asked: Option<u32>,
    due: Due,
}

/// Whether a frame is due. Never at [`BAUD_DEFAULT`].
#[derive(Clone, Copy, Debug)]
enum Due {
    No,
    /// From the next time on at which the clock is looked at.
    FromNow,
    Since(Ticks),
}

impl Rate {
    /// As after a reset.
    pub const fn new() -> Self {
        Rate {
            baud: BAUD_DEFAULT,
            asked: None,
            due: Due::No,
        }
    }

    /// A client asks for a rate. Returns that from the reply on: the one asked for if it is one of [`BAUDS`], else the present one.
    pub fn ask(&mut self, baud: u32) -> u32 {
        if BAUDS.contains(&baud) {
            self.asked = Some(baud);
            baud
        } else {
            self.baud
        }
    }

    /// A byte was heard, or what is none. The time counts from the next [`Rate::next`] on: an attempt in which bytes are heard may take longer than a frame is waited for.
    pub const fn hear(&mut self) {
        if self.baud != BAUD_DEFAULT && matches!(self.due, Due::No) {
            self.due = Due::FromNow;
        }
    }

    /// A whole frame was heard.
    pub const fn hear_frame(&mut self) {
        self.due = Due::No;
    }

    /// The rate to set now, if it is another. `has_left`: whether everything was sent.
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
