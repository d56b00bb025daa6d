//! Searches in the occupancy that several strategies share.

pub(crate) mod aligned;
#[cfg(feature = "any-grid")]
pub(crate) mod arcs;
pub(crate) mod boxes;
pub(crate) mod columns;
pub(crate) mod connected;
pub(crate) mod contact;
pub(crate) mod curve;
pub(crate) mod failed;
pub(crate) mod few;
pub(crate) mod fill;
pub(crate) mod gather;
pub(crate) mod halves;
pub(crate) mod hilbert;
pub(crate) mod line;
#[cfg(feature = "any-grid")]
pub(crate) mod maximal;
pub(crate) mod orders;
pub(crate) mod rectangles;
mod rows;
pub(crate) mod shapes;
pub(crate) mod staircase;
pub(crate) mod steps;
#[cfg(feature = "any-grid")]
pub(crate) mod surroundings;
pub(crate) mod tree;
mod turned;
