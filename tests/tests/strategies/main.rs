//! The contiguous strategies against plain models of them: every occupancy of a small mesh, random
//! operations at the edges of words, and what each of them recognises.

mod exhaustive;
mod random;
mod recognition;
