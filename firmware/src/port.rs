//! What a serial port's interrupt does, without the port's registers: [`serve`].
//!
//! ```text
//!   line ──▶ Uart ──interrupt──▶ ring ──▶ Server          Server ──▶ Outgoing ──interrupt──▶ Uart ──▶ line
//! ```
//!
//! Nobody waits for the line: what is received goes into a ring, what is to be sent into [`Outgoing`], and what has no room is
//! dropped and counted. The client sends its frame again.

use embedded_io::{ErrorType, SliceWriteError, Write};
use heapless::spsc::Producer;

/// The registers of a port, 8N1.
pub trait Uart {
    /// What has happened since the last byte was taken.
    fn status(&mut self) -> Status;
    /// Whether there is room for a byte to send.
    fn has_room(&mut self) -> bool;
    /// Takes the byte that was received last, and clears the errors of the status.
    fn take(&mut self) -> u8;
    /// Sends a byte; there is room for it.
    fn put(&mut self, byte: u8);
    /// Whether there is to be an interrupt as soon as there is room for a byte.
    fn set_interrupt_on_room(&mut self, is_on: bool);
}

/// What a port reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// A byte is there.
    pub is_received: bool,
    /// It has no stop bit: a break, another rate, or noise.
    pub is_misframed: bool,
    /// A byte after it was lost, since it was not taken in time.
    pub is_overrun: bool,
}

/// Handles an interrupt: takes the byte that is there, and sends as many as there is room for. Returns whether anything that was received is lost.
///
/// A byte without a stop bit is dropped. One with noise is not, since most such bytes are right and the frame's CRC tells.
///
/// Time: constant, and that of a byte for each that the port takes at once: two in hardware.
pub fn serve<const N: usize>(
    uart: &mut impl Uart,
    incoming: &mut Producer<'_, u8>,
    outgoing: &mut Outgoing<N>,
) -> bool {
    let status = uart.status();
    let mut is_lost = status.is_misframed || status.is_overrun;
    if is_lost || status.is_received {
        let byte = uart.take();
        if status.is_received && !status.is_misframed {
            is_lost |= incoming.enqueue(byte).is_err();
        }
    }
    while uart.has_room()
        && let Some(byte) = outgoing.pop()
    {
        uart.put(byte);
    }
    uart.set_interrupt_on_room(!outgoing.is_empty());
    is_lost
}

/// Frames on their way to the line, at most `N` bytes. A frame that does not fit is dropped as a whole.
#[derive(Debug)]
pub struct Outgoing<const N: usize> {
    bytes: [u8; N],
    /// Where the oldest byte is, below `N`.
    start: usize,
    /// Bytes still to be sent, at most `N`; behind the last place of `bytes` they go on at the first.
    len: usize,
}

impl<const N: usize> Outgoing<N> {
    /// Nothing is to be sent.
    pub const fn new() -> Self {
        Outgoing {
            bytes: [0; N],
            start: 0,
            len: 0,
        }
    }

    /// Whether everything was handed to the port.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn pop(&mut self) -> Option<u8> {
        self.len = self.len.checked_sub(1)?;
        let byte = self.bytes.get(self.start).copied();
        let next = self.start + 1;
        self.start = if next < N { next } else { 0 };
        byte
    }
}

impl<const N: usize> Default for Outgoing<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> ErrorType for Outgoing<N> {
    type Error = SliceWriteError;
}

impl<const N: usize> Write for Outgoing<N> {
    /// Takes all bytes or none.
    ///
    /// # Errors
    ///
    /// [`SliceWriteError::Full`] when there is no room for all of them.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SliceWriteError> {
        if bytes.len() > N - self.len {
            return Err(SliceWriteError::Full);
        }
        let end = self.start + self.len;
        let place = if end < N { end } else { end - N };
        let (before, behind) = self.bytes.split_at_mut(place);
        let (first, rest) = bytes.split_at(bytes.len().min(behind.len()));
        behind[..first.len()].copy_from_slice(first);
        before[..rest.len()].copy_from_slice(rest);
        self.len += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), SliceWriteError> {
        Ok(())
    }
}
