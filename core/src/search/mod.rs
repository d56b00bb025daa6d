//! Searches in the occupancy that several strategies share.

pub(crate) mod boxes;
pub(crate) mod connected;
mod failed;
pub(crate) mod orders;
pub(crate) mod rectangles;
pub(crate) mod shapes;
pub(crate) mod squares;
pub(crate) mod tree;
mod turned;
