//! Papers on processor allocation as data. A [paper] is a list of [figures](figure) and of
//! [claims], read from `data/NAME.toml`. What the figures need is [measured](measure) by
//! `meshalloc_sim`; each claim is then judged by a [rule](claims::rule).

// A library prints nothing.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod axis;
pub mod case;
pub mod claims;
pub mod extent;
pub mod figure;
pub mod length;
pub mod logs;
pub mod measure;
pub mod paper;
pub mod setting;

#[cfg(test)]
mod tests;
