//! The lines through a machine, and which part of a line is taken: [`CurveLine`], [`CurveFit`].

use crate::wire::wire;

wire! {
    /// Which of the free intervals on the curve that are long enough is taken.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum CurveFit {
        /// The first one.
        FirstFit,
        /// The shortest one, the first of those.
        BestFit,
        /// The one after which the sum of squares of N(1), N(2), .. is least, N(l) being the number
        /// of free intervals of length l; the first of those.
        SumOfSquares,
        /// None: always the n free processors that span the least part of the line, the first of
        /// those.
        SmallestRange,
    }

    /// The line through all processors of a two-dimensional mesh. On any other grid it is always
    /// the Hilbert curve.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum CurveLine {
        /// One that steps from neighbour to neighbour: the Hilbert curve on a square whose side is
        /// a power of two, on any other mesh row by row, forwards and backwards by turns.
        Neighbors,
        /// The Hilbert curve through the smallest square around the mesh whose side is a power of
        /// two. Places outside the mesh are skipped.
        Hilbert,
    }
}
