//! The histories of runs in the form that the page reads: a description as JSON, and columns of numbers.
//!
//! A column is a sequence of LEB128 numbers, seven bits a byte, the lowest first. The columns stand one after another, compressed with
//! gzip and then written in base64:
//!
//! 1. of the `n` jobs: time since the arrival before; processors asked for; place of the shape in `shapes`; service time and 1, or 0 if it
//!    follows from the run; in a log, the number less that of the job before, doubled, and 1 less than twice its negative if it is below 0;
//! 2. for each run, of its first `jobs` jobs: time from arrival to start and 1, or 0 if it never started; then of each that started: time from
//!    start to departure and 2, 1 if that is its service time, 0 if it was there when the run ended; processors held beyond the request;
//!    misses; number of rectangles; of each rectangle its column, row, width and height in the picture. After those columns, of each job
//!    that never started, 1 if it was refused.
//!
//! Times are in ticks.

use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use meshalloc::Flags;
use serde_json::{Value, json};

use crate::map::layout::Layout;
use meshalloc_sim::experiment::{Experiment, StrategyResult};
use meshalloc_sim::history::{History, Means, PastJob};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::workload::Workload;

/// Points of the curves over time.
const POINTS: usize = 1200;

/// What a page holds.
pub(super) struct Data {
    /// JSON without a `<`.
    pub(super) meta: String,
    /// Base64.
    pub(super) columns: String,
}

/// A sequence of numbers.
#[derive(Default)]
struct Columns(Vec<u8>);

impl Columns {
    fn push(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

/// The histories of an experiment's strategies.
pub(super) fn data(experiment: &Experiment, histories: &[History]) -> Data {
    let machine = experiment.machine;
    let layout = Layout::new(machine, 1);
    let mut columns = Columns::default();
    // Every run has the same jobs; some runs have fewer.
    let longest = histories.iter().max_by_key(|history| history.jobs.len());
    let jobs = longest.map_or(&[][..], |history| &history.jobs);
    let shapes = push_jobs(experiment, jobs, &mut columns);
    for history in histories {
        push_run(&history.jobs, &layout, &mut columns);
    }
    let end = histories.iter().map(|history| history.end).max();
    let end = end.unwrap_or(0);
    // What a report of a single replication would show.
    let results = histories.iter().map(|history| vec![history.result.clone()]);
    let results = experiment.summaries(results.collect());
    let runs = histories.iter().zip(&results);
    let runs = runs.map(|(history, result)| run(history, result, end));
    let planes = layout.planes();
    let planes = planes.iter().map(|plane| {
        let (x, y) = (&plane.x, &plane.y);
        json!([x.start, y.start, x.len(), y.len()])
    });
    let [gaps_across, gaps_up] = [&layout.across, &layout.up].map(|axis| {
        let gaps = (0..axis.len()).map(|at| axis.gaps_before(at));
        gaps.collect::<Vec<_>>()
    });
    let dimensions = machine
        .sides()
        .iter()
        .enumerate()
        .map(|(number, side)| json!({"name": names::dimension(machine, number), "side": side}));
    let unit = experiment.workload.time_unit();
    let meta = json!({
        "nodes": machine.nodes(),
        "unit": unit.symbol(),
        "ticks": unit.ticks_each(),
        "end": end,
        "points": POINTS,
        "gapsAcross": gaps_across,
        "gapsUp": gaps_up,
        "planes": planes.collect::<Vec<_>>(),
        "dimensions": dimensions.collect::<Vec<_>>(),
        "highFirst": machine.is_written_high_first(),
        "jobs": jobs.len(),
        "isLog": matches!(experiment.workload, Workload::Log(_)),
        "shapes": shapes,
        "runs": runs.collect::<Vec<_>>(),
    });
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder
        .write_all(&columns.0)
        .and_then(|()| encoder.finish());
    Data {
        meta: meta.to_string().replace('<', "\\u003c"),
        columns: STANDARD.encode(written.expect("a vector takes all bytes")),
    }
}

fn run(history: &History, result: &StrategyResult, end: u64) -> Value {
    let means = history.means(end, POINTS);
    let curve = |value: fn(&Means) -> f64| -> Vec<f64> {
        let tenths = means.iter().map(|means| (value(means) * 10.0).round());
        tenths.map(|tenths| tenths / 10.0).collect()
    };
    let largest = (!history.largest.is_empty()).then(|| curve(|means| means.largest));
    let served = history.result.values[Metric::Jobs].map_or(0, |jobs| jobs as u64);
    let refused = result.refused.total();
    json!({
        "name": history.strategy.to_string(),
        "jobs": history.jobs.len(),
        "end": history.end,
        "meanWait": meshalloc_sim::results::shown(result, Metric::WaitingDelay).map(|wait| wait.mean),
        "saturated": result.saturated,
        "grows": meshalloc_sim::results::grows(result, Metric::WaitingDelay),
        "measuredRefused": refused,
        "measured": served + refused + result.left_behind,
        "used": curve(|means| means.used),
        "fragmented": curve(|means| means.fragmented),
        "waiting": curve(|means| means.waiting),
        // Null where it is not measured.
        "largest": largest,
    })
}

/// Writes what all runs share; gives the shapes by their places.
fn push_jobs(experiment: &Experiment, jobs: &[PastJob], columns: &mut Columns) -> Vec<String> {
    let mut before = 0;
    for PastJob { job, .. } in jobs {
        columns.push(job.arrival.saturating_sub(before));
        before = job.arrival;
    }
    for PastJob { job, .. } in jobs {
        columns.push(job.request.processors.into());
    }
    let mut places = BTreeMap::new();
    let mut shapes = Vec::new();
    for PastJob { job, .. } in jobs {
        // The page reads the number of a request without a shape.
        let shape = match job.request.flags.contains(Flags::CHIPS) {
            true => format!("any of {}", job.request.processors),
            false => job.request.shape.to_string(),
        };
        let place = *places.entry(shape).or_insert_with_key(|shape| {
            shapes.push(shape.clone());
            shapes.len() - 1
        });
        columns.push(place as u64);
    }
    for PastJob { job, .. } in jobs {
        columns.push(job.work.service().map_or(0, |ticks| ticks + 1));
    }
    if let Workload::Log(log) = &experiment.workload {
        let mut before = 0;
        for place in 0..jobs.len() as u32 {
            let number = log.job_number(place);
            let step = number.wrapping_sub(before);
            columns.push(((step << 1) ^ (step >> 63)) as u64);
            before = number;
        }
    }
    shapes
}

fn push_run(jobs: &[PastJob], layout: &Layout, columns: &mut Columns) {
    for job in jobs {
        let wait = job.start.map(|start| start - job.job.arrival + 1);
        columns.push(wait.unwrap_or(0));
    }
    let started = || jobs.iter().filter_map(|job| Some((job, job.start?)));
    for (job, start) in started() {
        let ran = job.end.map(|end| end - start);
        columns.push(match (ran, job.job.work.service()) {
            (None, _) => 0,
            (Some(ran), Some(service)) if ran == service => 1,
            (Some(ran), _) => ran + 2,
        });
    }
    for (job, _) in started() {
        let requested = job.job.request.processors;
        columns.push(job.held.saturating_sub(requested).into());
    }
    for (job, _) in started() {
        columns.push(job.misses.into());
    }
    let rectangles = |job: &PastJob| -> Vec<_> {
        let blocks = job.blocks.iter();
        blocks.flat_map(|&block| layout.rectangles(block)).collect()
    };
    let rectangles: Vec<_> = started().map(|(job, _)| rectangles(job)).collect();
    for list in &rectangles {
        columns.push(list.len() as u64);
    }
    for rect in rectangles.iter().flatten() {
        for number in [rect.x.start, rect.y.start, rect.x.len(), rect.y.len()] {
            columns.push(number as u64);
        }
    }
    for job in jobs.iter().filter(|job| job.start.is_none()) {
        columns.push(job.end.is_some().into());
    }
}
