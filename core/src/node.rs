//! The number of a processor: [`NodeId`].

use crate::wire::wire;

use core::fmt;

wire! {
    /// A processor's number, `0..grid.nodes()`; dimension 0 varies fastest. On a two-dimensional
    /// mesh it is `y * width + x`, on a k-ary n-cube the address read as a number in radix k.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct NodeId(pub u32);
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
