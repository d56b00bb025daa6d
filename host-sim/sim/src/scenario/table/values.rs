//! Values of settings that no other part of the simulator reads.

use std::fmt::{self, Display};
use std::str::FromStr;

use meshalloc::{SchedulerKind, StrategyKind, Ticks};

use crate::names::{self, named};
use crate::workload::{Empirical, TimeUnit};

/// Where the controller is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// In this process.
    #[default]
    InProcess,
    /// At the end of a line: how the program that opens it calls the other end, `tcp:HOST:PORT`,
    /// `unix:PATH` or `serial:DEVICE@BAUD`.
    Line(String),
}

impl Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BackendChoice::InProcess => "in-process",
            BackendChoice::Line(endpoint) => endpoint,
        })
    }
}

impl FromStr for BackendChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if names::canonical(text) == "in-process" => Ok(BackendChoice::InProcess),
            Some(("tcp" | "unix" | "serial", _)) => Ok(BackendChoice::Line(text.to_owned())),
            _ => Err(
                "expected in-process, tcp:HOST:PORT, unix:PATH or serial:DEVICE@BAUD".to_owned(),
            ),
        }
    }
}

/// Which jobs are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// The first to arrive.
    Arrivals,
    /// The first to leave.
    Departures,
}

named!(Measured, "choice of measured jobs": Arrivals = "arrivals", Departures = "departures");

/// One word of `strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyChoice {
    /// All strategies that serve the machine.
    All,
    /// One of them.
    One(StrategyKind),
}

impl Display for StrategyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrategyChoice::All => f.write_str("all"),
            StrategyChoice::One(kind) => kind.fmt(f),
        }
    }
}

pub(super) fn strategy_choice(text: &str) -> Result<StrategyChoice, String> {
    match &*names::canonical(text) {
        "all" => Ok(StrategyChoice::All),
        _ => names::strategy(text).map(StrategyChoice::One),
    }
}

pub(super) fn column(text: &str) -> Result<Empirical, String> {
    let expected = "expected FILE:COLUMN, where the name of the file has a dot or a slash";
    Empirical::unread(text).ok_or_else(|| expected.to_owned())
}

pub(super) fn warmup(text: &str) -> Result<f64, String> {
    let is_good = |part: &f64| (0.0..1.0).contains(part);
    names::number(text, "a number from 0 to below 1", is_good)
}

pub(super) fn partition(text: &str) -> Result<i64, String> {
    names::value(text, "a whole number", |_| true)
}

/// A time in it was read as one in seconds.
pub(super) fn scheduler_text(kind: SchedulerKind) -> String {
    names::scheduler_text(kind, TimeUnit::Second)
}

pub(super) fn seconds(ticks: Ticks) -> f64 {
    TimeUnit::Second.of(ticks)
}
