//! The control processor: a [`meshalloc`] controller that clients reach over a serial line.
//!
//! ```text
//!   Client ──ClientMessage──▶ frame ──bytes──▶ Decoder ──▶ Server ──▶ Controller
//!          ◀──ServerMessage──       ◀──bytes──  FrameBuffer ◀──        ◀──Reply──
//! ```
//!
//! - [`protocol`]: the messages and their maximum lengths. `PROTOCOL.md` has the bytes.
//! - [`frame`]: converts messages to frames and back (`body`: postcard; then CRC-32, COBS), also on
//!   a line that loses or changes bytes.
//! - [`port`]: the interrupt of a serial port; `rate` (feature `rates`): its rate.
//! - [`server`]: the controller's half of the protocol. It has no I/O of its own: bytes in, bytes
//!   out.
//! - [`journal`]: keeps the state in flash over a reset.
//! - [`client`] (feature `client`, needs `std`): the other half, for programs that need processors.
//!
//! The same library runs on the board and on a host. On the board `main.rs` adds the serial port
//! and the clock. On a host the tests connect the two halves by a line in memory.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(any(feature = "client", feature = "memory-flash"))]
extern crate std;

mod body;
mod checksum;
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

#[cfg(feature = "client")]
pub use client::{Client, ClientError, IoLine, Line, Options};
pub use protocol::{
    ClientMessage, Event, Events, Greeting, Happened, LineCounters, Outcome, PROTOCOL_VERSION,
    ProtocolError, ServerMessage, Session,
};
pub use server::{Port, Received, Server};

/// The rate of a serial line after a reset, in bits per second, 8N1.
pub const BAUD_DEFAULT: u32 = 115_200;
/// The version of the software, a field of the greeting.
pub const SOFTWARE: &str = env!("CARGO_PKG_VERSION");
/// The target and the profile of the build, a field of the greeting.
pub const BUILD: &str = concat!(
    env!("MESHALLOC_BUILD_TARGET"),
    " ",
    env!("MESHALLOC_BUILD_PROFILE")
);
