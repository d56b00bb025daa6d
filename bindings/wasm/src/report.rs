//! What the page learns after a command, as JSON.

use meshalloc::{Statistics, Ticks};
use serde::Serialize;

use crate::history::Levels;
use crate::picture::{Picture, Rect};

/// Lists of rectangles, one after another.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pieces {
    /// The index of the first rectangle of each list, and at last the number of rectangles.
    pub first: Vec<usize>,
    /// The rectangles.
    pub rects: Vec<Rect>,
}

impl Default for Pieces {
    fn default() -> Self {
        Pieces {
            first: vec![0],
            rects: Vec::new(),
        }
    }
}

impl Pieces {
    /// Adds a list.
    pub(crate) fn push(&mut self, rects: impl Iterator<Item = Rect>) {
        self.rects.extend(rects);
        self.first.push(self.rects.len());
    }
}

/// A job that waits.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WaitingJob {
    /// Its number.
    pub number: u32,
    /// Width and height of its request in a picture.
    pub size: [u16; 2],
}

/// The machine and its jobs in numbers.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Numbers {
    free: u32,
    faulty: u32,
    waiting: u32,
    running: u32,
    granted: u64,
    refused: u64,
}

impl From<Statistics> for Numbers {
    fn from(statistics: Statistics) -> Self {
        Numbers {
            free: statistics.free,
            faulty: statistics.faulty,
            waiting: statistics.waiting,
            running: statistics.running,
            granted: statistics.counts.granted,
            refused: statistics.counts.refused,
        }
    }
}

/// The state of a strategy.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunReport {
    /// The jobs that run.
    pub numbers: Vec<u32>,
    /// Where they are, in the same order.
    pub jobs: Pieces,
    /// The jobs that wait, the first one first.
    pub waiting: Vec<WaitingJob>,
    /// Why the first of them waits.
    pub blocked: Option<String>,
    /// The largest of the maximal free boxes.
    pub boxes: Pieces,
    /// The number of all maximal free boxes.
    pub boxes_total: usize,
    /// The largest of them, as text.
    pub largest: Option<String>,
    /// Counts.
    pub statistics: Numbers,
    /// Utilisation, external and internal fragmentation now, in thousandths.
    pub levels: Levels,
    /// The same over time.
    pub over_time: [Vec<u32>; 3],
    /// What happened.
    pub messages: Vec<String>,
}

/// A place for a strategy on the page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PanelReport {
    /// The strategy.
    pub name: String,
    /// The rule by which it chooses a place.
    pub rule: Option<&'static str>,
    /// Its state.
    pub run: Option<RunReport>,
    /// Why it has none.
    pub error: Option<String>,
}

/// The whole state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// The machine as text.
    pub machine: String,
    /// The number of its processors.
    pub nodes: u32,
    /// Its picture.
    pub picture: Picture,
    /// The strategies that serve the machine.
    pub choices: Vec<&'static str>,
    /// The present, in ticks.
    pub now: Ticks,
    /// The number of samples over time.
    pub points: usize,
    /// The end of the last sample, in ticks.
    pub end: Ticks,
    /// Columns and rows of faulty processors.
    pub faulty: Vec<[usize; 2]>,
    /// The job that came last.
    pub latest: Option<u32>,
    /// What the command did.
    pub message: String,
    /// The strategies.
    pub panels: Vec<PanelReport>,
}
