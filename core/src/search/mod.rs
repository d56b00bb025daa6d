//! Searches in the occupancy that several strategies share.

mod boxes;
#[cfg(any(
    feature = "free-list",
    feature = "partner",
    feature = "sniffing",
    feature = "tree-collapsing",
    feature = "tree-collapsing-printed"
))]
mod failed;
pub(crate) mod rectangles;
#[cfg(any(
    feature = "free-list",
    feature = "partner",
    feature = "sniffing",
    feature = "tree-collapsing",
    feature = "tree-collapsing-printed"
))]
pub(crate) mod tree;
mod turned;

pub(crate) use boxes::{first_box, first_in_any_order};
