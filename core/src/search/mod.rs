//! Searches in the occupancy that several strategies share.

pub(crate) mod boxes;
mod failed;
pub(crate) mod orders;
pub(crate) mod rectangles;
pub(crate) mod tree;
mod turned;
