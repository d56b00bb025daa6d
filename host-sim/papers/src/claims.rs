//! The claims of a paper, and whether the measurement confirms them.
//!
//! A verdict is computed: each claim names a [rule](rule::Rule) and its parameters. All intervals
//! are 95 % ones. What a rule requires is stated where it is applied, and the page shows that text.
//! A point whose mean still grows with the length of the run (see
//! [`statistics`](meshalloc_sim::statistics)) decides no claim but those of the rules about
//! [differences](rule::Rule::Difference) and [values](rule::Rule::Value), which name the length of
//! the run.

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

pub use judgement::{At, Claim, Gain, Judgement, Verdict, tally};
pub use saturation::{Backlog, Ladder};
