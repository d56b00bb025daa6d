//! How strategies lay the shapes of requests: [`SliceRule`].

/// How a strategy lays the shape of a request, that is, which forms its slices may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SliceRule {
    /// The strategy's jobs hold processors anywhere, and have no shape.
    Anywhere,
    /// The strategy's jobs hold connected processors. The search for them begins with the shape.
    Connected,
    /// The strategy's jobs hold several blocks.
    InBlocks,
    /// The shape is laid as a box.
    Box {
        /// Whether the extents may lie along other dimensions than those for which they are named.
        turns: bool,
        /// Whether the box keeps the sides of the request, so that a demand for rings makes sense.
        rings: bool,
    },
    /// The shape is laid as a box, or folded.
    Folded,
    /// The shape is laid in cubes that optical switches join.
    InCubes {
        /// Whether the shape may be folded.
        fold: bool,
    },
}

impl SliceRule {
    /// Whether the strategy turns requests that may be turned, so that the order of the extents
    /// does not matter.
    pub(crate) const fn turns(self) -> bool {
        !matches!(self, SliceRule::Box { turns: false, .. })
    }
}
