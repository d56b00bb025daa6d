//! What the page learns after a command, as JSON.

use meshalloc::{Statistics, Ticks};
use meshalloc_sim::layout::Picture;
use meshalloc_sim::metrics::{Metric, RunValues};
use serde::Serialize;

use crate::history::Levels;

/// The first column and row of a rectangle, and the numbers of both.
type Rect = [usize; 4];

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
    pub free: u32,
    pub faulty: u32,
    pub waiting: u32,
    pub running: u32,
    pub granted: u64,
    pub refused: u64,
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

/// What the simulator measured of the first jobs to leave.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Means {
    /// The mean waiting delay, in seconds.
    pub waiting_delay: Option<f64>,
    /// The mean time from arrival to departure, in seconds.
    pub turnaround: Option<f64>,
    /// Requested processors in use, as a part of all.
    pub utilization: Option<f64>,
    /// Free but fragmented processors, as a part of all.
    pub external_fragmentation: Option<f64>,
    /// Processors held beyond those requested, as a part of those held.
    pub internal_fragmentation: Option<f64>,
}

impl From<&RunValues> for Means {
    fn from(values: &RunValues) -> Self {
        Means {
            waiting_delay: values[Metric::WaitingDelay],
            turnaround: values[Metric::Turnaround],
            utilization: values[Metric::Utilization],
            external_fragmentation: values[Metric::ExternalFragmentation],
            internal_fragmentation: values[Metric::InternalFragmentation],
        }
    }
}

/// Results that a command repeats.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Results {
    /// How many jobs have left.
    pub jobs: u32,
    /// The means of each strategy; `None` for a strategy that does not serve the machine.
    pub means: Vec<Option<Means>>,
    /// The command.
    pub command: String,
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
    /// Whether nothing but the settings has determined the random jobs so far.
    pub is_repeatable: bool,
    /// The results of the first jobs to leave, as many as have left under each strategy.
    pub results: Option<Results>,
    /// What the command did.
    pub message: String,
    /// The strategies.
    pub panels: Vec<PanelReport>,
}
