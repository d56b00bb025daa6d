//! Messages on the bare network, generated at given rates whether or not earlier ones have arrived
//! (open loop).

mod open_loop;
mod pattern;

pub use open_loop::{Measured, OpenLoop};
pub use pattern::{Destinations, Pattern};
