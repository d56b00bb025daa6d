//! The lines through a machine ([`CurveLine`]), and the part of a line that is taken
//! ([`CurveFit`]).

use crate::wire::wire;

wire! {
    /// How a free interval of the curve is chosen among those that are long enough.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum CurveFit {
        /// The first one.
        FirstFit,
        /// The shortest interval; if several are, the first of them.
        BestFit,
        /// The interval after which the sum of squares of N(1), N(2), .. is least, where N(l) is
        /// the number of free intervals of length l; if there are several, the first of them.
        SumOfSquares,
        /// No interval: always the n free processors that span the least part of the line; if there
        /// are several such sets, the first.
        SmallestRange,
    }

    /// The line through all processors of a two-dimensional mesh. On any other grid it is always
    /// the Hilbert curve.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum CurveLine {
        /// A line that steps from neighbour to neighbour: the Hilbert curve on a square whose side
        /// is a power of two; on any other mesh row by row, forwards and backwards by turns.
        Neighbors,
        /// The Hilbert curve through the smallest square around the mesh whose side is a power of
        /// two. Places outside the mesh are skipped.
        Hilbert,
    }
}
