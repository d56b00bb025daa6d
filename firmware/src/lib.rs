//! The control processor: the [`meshalloc`] controller behind a serial line.
//!
//! ```text
//!   Client ──ClientMessage──▶ frame ──bytes──▶ Decoder ────▶ Server ──Change, Query──▶ Controller
//!          ◀──ServerMessage──       ◀──bytes── FrameBuffer ◀──      ◀──Outcome, Answer, Event──
//! ```
//!
//! - [`protocol`]: the messages, and the longest form of each. `PROTOCOL.md` has the bytes.
//! - [`frame`]: messages to frames (`body`: postcard; CRC-32, COBS) and back, whatever the line
//!   does to them.
//! - [`port`]: the interrupt of a serial port; `rate` (feature `rates`): its rate.
//! - [`board`]: the interface of a board to the control processor, and the main loop; [`boards`]:
//!   the table of boards.
//! - [`server`]: the controller's half. No I/O of its own: bytes in, bytes out.
//! - [`journal`]: the state that survives a reset, in flash.
//! - `client` (feature `client`, needs `std`): the other half, for programs that need processors.
//!
//! The same library runs on the board, where `src/bin/` adds drivers, and on a host, where the
//! tests let the two halves talk over a line in memory.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "client", feature = "memory-flash"))]
extern crate std;

pub mod board;
pub mod boards;
mod body;
#[cfg(feature = "client")]
pub mod client;
pub mod frame;
pub mod journal;
pub mod keeping;
pub mod port;
pub mod protocol;
#[cfg(feature = "rates")]
pub mod rate;
pub mod server;
pub mod sessions;

pub use board::{Board, Processor};
#[cfg(feature = "client")]
pub use client::{Client, ClientError, IoLine, Line, Options, Stream};
pub use protocol::{
    ClientMessage, Events, Greeting, LineCounters, PROTOCOL_VERSION, ProtocolError, ServerMessage,
    Session,
};
pub use server::{Port, Received, Server};

/// The rate of a serial line after a reset, in bits a second, 8N1.
pub const BAUD_DEFAULT: u32 = 115_200;
/// The version of the software, as the greeting has it.
pub const SOFTWARE: &str = env!("CARGO_PKG_VERSION");
/// The target and the profile this was built for, as the greeting has them.
pub const BUILD: &str = concat!(
    env!("MESHALLOC_BUILD_TARGET"),
    " ",
    env!("MESHALLOC_BUILD_PROFILE")
);
