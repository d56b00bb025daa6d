//! Searches in the occupancy that several strategies share.

pub(crate) mod aligned;
mod along_axis;
pub(crate) mod boxes;
pub(crate) mod busy_sides;
pub(crate) mod columns;
pub(crate) mod connected;
pub(crate) mod curve;
pub(crate) mod failed_searches;
pub(crate) mod fill;
pub(crate) mod gather;
pub(crate) mod halved_mesh;
pub(crate) mod hilbert;
pub(crate) mod line;
pub(crate) mod maximal;
pub(crate) mod orders;
pub(crate) mod rectangles;
mod rows;
pub(crate) mod shapes;
pub(crate) mod staircase;
pub(crate) mod steps;
pub(crate) mod submeshes;
pub(crate) mod surroundings;
pub(crate) mod tree;
pub(crate) mod unmarked;
