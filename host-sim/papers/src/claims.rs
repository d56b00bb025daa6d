//! The claims of a paper, and whether the measurement confirms them: each names a
//! [rule](rule::Rule) and its parameters. All intervals are 95 % ones. A point whose mean still
//! grows with the length of the run (see [`statistics`](meshalloc_sim::statistics)) decides no
//! claim but those of the rules about [differences](rule::Rule::Difference) and
//! [values](rule::Rule::Value), which name that length.

mod crossing;
mod difference;
mod gains;
mod growth;
mod judgement;
mod number;
mod ratios;
pub mod rule;
mod saturation;
#[cfg(test)]
mod tests;

pub use judgement::{At, CLOCKED, Claim, Compared, Judgement, Verdict, tally};
pub use saturation::{Backlog, Ladder};
