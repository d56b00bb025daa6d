//! A serial port that works by interrupt, without its registers: [`Line`].
//!
//! ```text
//!   line ──▶ Uart ──interrupt──▶ Ring ──▶ Server      Server ──▶ Ring ──interrupt──▶ Uart ──▶ line
//! ```
//!
//! The program never waits for the line: received bytes go into a ring, and bytes to send into
//! another. A byte or frame without room is dropped and counted, and the client sends its frame
//! again.

use core::cell::RefCell;

use critical_section::Mutex;
use embedded_io::{ErrorType, SliceWriteError, Write};

use crate::board::Serial;
use crate::frame::SERVER_FRAME_MAX;

/// The registers of a port, 8N1.
pub trait Uart {
    /// The events since the last byte was taken.
    fn status(&mut self) -> Status;
    /// Whether there is room for a byte to send.
    fn has_room(&mut self) -> bool;
    /// Takes the byte that was received last, and clears the errors of the status.
    fn take(&mut self) -> u8;
    /// Sends a byte; there is room for it.
    fn put(&mut self, byte: u8);
    /// Whether there is to be an interrupt as soon as there is room for a byte.
    fn set_interrupt_on_room(&mut self, is_on: bool);
    /// Whether the last stop bit of the last byte has left.
    fn has_sent_all(&mut self) -> bool;
    /// Sets the rate, of sending and of receiving, in bits a second.
    fn set_baud(&mut self, baud: u32);
}

/// The status of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// A byte has come.
    pub is_received: bool,
    /// The byte has no stop bit: a break, another rate, or noise.
    pub is_misframed: bool,
    /// A later byte was lost, since this one was not taken in time.
    pub is_overrun: bool,
}

/// The bytes that a ring has room for. To send: two of the longest frames, or a dozen grants.
/// Received: the bytes of 55 ms at 115200 baud, or of 6 ms at 1 Mbaud, while a job is tried.
const RING_LEN: usize = 640;
const _: () = assert!(2 * SERVER_FRAME_MAX <= RING_LEN);

/// A serial port between its interrupt and the main loop. It is a `static` of the board, whose
/// interrupt calls [`Line::on_interrupt`]; `&Line` is the [`Serial`] of the main loop.
#[derive(Debug)]
pub struct Line<U>(Mutex<RefCell<State<U>>>);

#[derive(Debug)]
struct State<U> {
    /// Absent before [`Line::open`].
    uart: Option<U>,
    received: Ring,
    to_send: Ring,
    /// How often received bytes were lost since this was asked last.
    losses: u32,
}

impl<U> Line<U> {
    /// A line without a port.
    pub const fn new() -> Self {
        Line(Mutex::new(RefCell::new(State {
            uart: None,
            received: Ring::new(),
            to_send: Ring::new(),
            losses: 0,
        })))
    }

    /// Uses this port, which was set up, from now on.
    pub fn open(&self, uart: U) {
        self.with(|state| state.uart = Some(uart));
    }

    fn with<R>(&self, body: impl FnOnce(&mut State<U>) -> R) -> R {
        critical_section::with(|cs| body(&mut self.0.borrow_ref_mut(cs)))
    }
}

impl<U> Default for Line<U> {
    fn default() -> Self {
        Self::new()
    }
}

impl<U: Uart> Line<U> {
    /// Serves the port. Its interrupt calls this, for any reason.
    pub fn on_interrupt(&self) {
        self.with(State::serve);
    }
}

impl<U: Uart> State<U> {
    /// Takes the byte that has come, and sends as many bytes as there is room for.
    ///
    /// A byte without a stop bit is dropped. A byte with noise is kept, since most such bytes are
    /// right and the frame's CRC finds the others.
    ///
    /// Time: constant for each byte that the port takes at once; a port in hardware takes two.
    fn serve(&mut self) {
        let Some(uart) = &mut self.uart else { return };
        let status = uart.status();
        let mut is_lost = status.is_misframed || status.is_overrun;
        if is_lost || status.is_received {
            let byte = uart.take();
            if status.is_received && !status.is_misframed {
                is_lost |= self.received.put(&[byte]).is_err();
            }
        }
        self.losses = self.losses.saturating_add(is_lost.into());
        while uart.has_room()
            && let Some(byte) = self.to_send.take()
        {
            uart.put(byte);
        }
        uart.set_interrupt_on_room(!self.to_send.is_empty());
    }
}

impl<U> ErrorType for &Line<U> {
    type Error = SliceWriteError;
}

impl<U: Uart> Write for &Line<U> {
    /// Takes all bytes or none.
    ///
    /// # Errors
    ///
    /// [`SliceWriteError::Full`] when there is no room for all of them.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SliceWriteError> {
        self.with(|state| {
            state.to_send.put(bytes)?;
            state.serve();
            Ok(bytes.len())
        })
    }

    // The default calls `write` until all is written.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), SliceWriteError> {
        self.write(bytes).map(|_| ())
    }

    fn flush(&mut self) -> Result<(), SliceWriteError> {
        Ok(())
    }
}

impl<U: Uart> Serial for &Line<U> {
    fn next(&mut self) -> Option<u8> {
        self.with(|state| state.received.take())
    }

    fn has_next(&self) -> bool {
        self.with(|state| !state.received.is_empty())
    }

    fn take_losses(&mut self) -> u32 {
        self.with(|state| core::mem::take(&mut state.losses))
    }

    fn has_sent_all(&mut self) -> bool {
        self.with(|state| {
            let uart = state.uart.as_mut();
            state.to_send.is_empty() && uart.is_none_or(Uart::has_sent_all)
        })
    }

    fn set_baud(&mut self, baud: u32) {
        self.with(|state| {
            if let Some(uart) = &mut state.uart {
                uart.set_baud(baud);
            }
        });
    }
}

/// Bytes in order, at most [`RING_LEN`].
///
/// ```text
///   bytes  │ 4 5 6 │ free │ 1 2 3 │     len = 6
///                          start
/// ```
#[derive(Debug)]
struct Ring {
    bytes: [u8; RING_LEN],
    /// Where the oldest byte is, below [`RING_LEN`].
    start: usize,
    /// The number of bytes, at most [`RING_LEN`]. Behind the last place of `bytes` they go on at
    /// the first.
    len: usize,
}

impl Ring {
    const fn new() -> Self {
        Ring {
            bytes: [0; RING_LEN],
            start: 0,
            len: 0,
        }
    }

    const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes the oldest byte out.
    fn take(&mut self) -> Option<u8> {
        self.len = self.len.checked_sub(1)?;
        let byte = self.bytes.get(self.start).copied();
        let next = self.start + 1;
        self.start = if next < RING_LEN { next } else { 0 };
        byte
    }

    /// Puts all of these bytes in, or none if there is no room for all.
    fn put(&mut self, bytes: &[u8]) -> Result<(), SliceWriteError> {
        if bytes.len() > RING_LEN - self.len {
            return Err(SliceWriteError::Full);
        }
        let end = self.start + self.len;
        let place = if end < RING_LEN { end } else { end - RING_LEN };
        let (before, behind) = self.bytes.split_at_mut(place);
        let (first, rest) = bytes.split_at(bytes.len().min(behind.len()));
        behind[..first.len()].copy_from_slice(first);
        before[..rest.len()].copy_from_slice(rest);
        self.len += bytes.len();
        Ok(())
    }
}
