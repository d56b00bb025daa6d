//! The histories of runs in the form that the page reads: a description as JSON, and columns of
//! numbers.
//!
//! A column is a sequence of LEB128 numbers, seven bits a byte, the lowest first. The columns stand
//! one after another, compressed with gzip and then written in base64:
//!
//! 1. of the `n` jobs: time since the arrival before; processors asked for; place of the shape in
//!    `shapes`; service time and 1, or 0 if it follows from the run; in a log, its number;
//! 2. for each run its *stretches*, times in which a job runs: the first of each of its first
//!    `jobs` jobs, also if it never started, and then the `restarts` later ones, whose first column
//!    is the number of the job, less that before. Of each stretch: time from the job's arrival to
//!    the start and 1, or 0 if it never started. Then of each that started: its length twice and 2,
//!    and 1 more if a failure ended it, 1 if it is the service time, 0 if it ran when the run
//!    ended; processors held beyond the request; of a first stretch, misses; if the run has slices,
//!    the place of its slice in `slices` and 1, or 0 if it has none, and of one that is folded the
//!    number of ranks and the processor of each; number of rectangles; of each rectangle its
//!    column, row, width and height in the picture. After those columns, of each job that never
//!    started, the time from arrival to refusal and 1, or 0 if it was not refused;
//! 3. after each run in which something may fail: of each of its `outages` the time from the start
//!    of the one before, its length and 1, or 0 if it goes on when the run ends; number of
//!    rectangles of each, and of the spares; these rectangles. Then of each of its `places`, events
//!    of failures, the time since the one before, the processors that are down from then on, and
//!    those of them that jobs hold.
//!
//! Times are in ticks. Numbers of a log's jobs, and processors of ranks (the row times the columns
//! of the picture, plus the column), are given less the one before, doubled, and 1 less than twice
//! the negative if that is below 0.

use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use meshalloc::{Block, Description, Flags, Grid, Slice, SliceRule, Ticks};
use serde_json::{Value, json};

use crate::map::layout::{Layout, ONE_ROW, Plan};
use meshalloc_sim::experiment::{Experiment, StrategyResult};
use meshalloc_sim::history::{History, Means, PastJob, Stretch};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::workload::Workload;

const POINTS: usize = 1200;

pub(super) struct Data {
    /// JSON without a `<`.
    pub(super) meta: String,
    pub(super) columns: String,
}

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

    fn push_signed(&mut self, number: i64) {
        self.push(((number << 1) ^ (number >> 63)) as u64);
    }
}

pub(super) fn data(experiment: &Experiment, histories: &[History]) -> Data {
    let machine = experiment.machine;
    let description = experiment.description.as_ref();
    let description = description.map(|description| &description.description);
    let layouts: Vec<_> = histories
        .iter()
        .map(|history| {
            // Where switches do not join cubes, a slice is a box of neighbours in planes.
            let in_cubes = matches!(SliceRule::from(history.strategy), SliceRule::InCubes { .. });
            Layout::new(
                Plan::of(machine, description.filter(|_| in_cubes)),
                ONE_ROW,
                1,
            )
        })
        .collect();
    let mut columns = Columns::default();
    // Every run has the same jobs; some runs have fewer.
    let longest = histories.iter().max_by_key(|history| history.jobs.len());
    let jobs = longest.map_or(&[][..], |history| &history.jobs);
    let shapes = push_jobs(experiment, jobs, &mut columns);
    let slices: Vec<_> = histories
        .iter()
        .map(|history| Slices::new(history, description))
        .collect();
    for ((history, layout), slices) in histories.iter().zip(&layouts).zip(&slices) {
        push_run(history, layout, slices, &mut columns);
        push_failures(history, layout, &mut columns);
    }
    let end = histories.iter().map(|history| history.end).max();
    let end = end.unwrap_or(0);
    // What a report of a single replication would show.
    let results = histories.iter().map(|history| vec![history.result.clone()]);
    let results = experiment.summaries(results.collect());
    let runs = histories
        .iter()
        .zip(&results)
        .zip(layouts.iter().zip(&slices));
    let runs = runs.map(|((history, result), (layout, slices))| {
        let mut run = run(history, result, slices, end);
        run["digits"] = digits(layout);
        run["cube"] = json!(layout.plan.cube.map(|cube| cube.to_vec()));
        run
    });
    let wraps = (0..machine.dimensions()).map(|dimension| machine.wraps(dimension));
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
        "wraps": wraps.collect::<Vec<_>>(),
        "dimensions": dimensions.collect::<Vec<_>>(),
        "highFirst": machine.is_written_high_first(),
        "jobs": jobs.len(),
        // Null if nothing fails.
        "restart": experiment.failures.as_ref().map(|failures| failures.restart.to_string()),
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

/// The digits of coordinates along both sides of a picture.
fn digits(layout: &Layout) -> Value {
    let digits = layout.digits().map(|(digit, is_up)| {
        json!({
            "dimension": digit.number,
            "side": digit.side,
            "step": digit.step,
            "descends": digit.descends,
            "isUp": is_up,
        })
    });
    digits.collect()
}

/// A time in which a job runs, or a job that never started.
struct Entry<'h> {
    number: usize,
    job: &'h PastJob,
    stretch: Option<&'h Stretch>,
}

/// The first stretch of each job, and then the later ones.
fn entries(history: &History) -> impl Iterator<Item = Entry<'_>> {
    let jobs = || history.jobs.iter().enumerate();
    let first = jobs().map(|(number, job)| Entry {
        number,
        job,
        stretch: job.stretches.first(),
    });
    first.chain(jobs().flat_map(|(number, job)| {
        let later = job.stretches.iter().skip(1);
        later.map(move |stretch| Entry {
            number,
            job,
            stretch: Some(stretch),
        })
    }))
}

/// The slices of a run's stretches.
#[derive(Default)]
struct Slices {
    /// Each kind of slice once.
    kinds: Vec<Value>,
    /// Of each entry its slice and the place of that in `kinds`; nothing if no slices are shown.
    of_entries: Vec<Option<(usize, Slice)>>,
}

impl Slices {
    /// Those of a machine that has a description, links around it, or more than two dimensions.
    fn new(history: &History, machine: Option<&Description>) -> Slices {
        let grid = history.machine;
        let wraps = (0..grid.dimensions()).any(|dimension| grid.wraps(dimension));
        if machine.is_none() && !wraps && grid.dimensions() < 3 || grid.is_written_high_first() {
            return Slices::default();
        }
        let mut kinds = BTreeMap::new();
        let mut texts = Vec::new();
        let of_entries = entries(history).map(|Entry { job, stretch, .. }| {
            let blocks = stretch?.blocks.iter().copied();
            let request = &job.job.request;
            let slice = Slice::of(machine, &grid, history.strategy, request, &blocks)?;
            let kind = kind(&grid, &slice);
            let place = *kinds.entry(kind.to_string()).or_insert_with(|| {
                texts.push(kind);
                texts.len() - 1
            });
            Some((place, slice))
        });
        let of_entries: Vec<_> = of_entries.collect();
        // Strategies whose jobs have no shape have no slices.
        if of_entries.iter().any(Option::is_some) {
            Slices {
                kinds: texts,
                of_entries,
            }
        } else {
            Slices::default()
        }
    }
}

/// What the page shows of a slice: its sides, the dimensions along which it has a ring of more
/// than one processor, and the extent of the request that is folded.
fn kind(grid: &Grid, slice: &Slice) -> Value {
    let sides = slice.sides();
    let dimensions = 0..grid.dimensions();
    let rings = dimensions.filter(|&at| sides[at] > 1 && slice.has_ring(at));
    let texts: Vec<_> = sides.iter().map(u16::to_string).collect();
    let folded = slice.folded();
    json!({
        "sides": texts.join("x"),
        "rings": rings.collect::<Vec<_>>(),
        "folded": folded.map(|extent| slice.shape().extents()[extent]),
        "closes": folded.is_some_and(|extent| slice.has_ring_along(extent)),
    })
}

fn run(history: &History, result: &StrategyResult, slices: &Slices, end: u64) -> Value {
    let means = history.means(end, POINTS);
    let curve = |value: fn(&Means) -> f64| -> Vec<f64> {
        let tenths = means.iter().map(|means| (value(means) * 10.0).round());
        tenths.map(|tenths| tenths / 10.0).collect()
    };
    let largest = (!history.largest.is_empty()).then(|| curve(|means| means.largest));
    let failures = history.failures.as_ref();
    let served = history.result.values[Metric::Jobs].map_or(0, |jobs| jobs as u64);
    let refused = result.refused.total();
    json!({
        "name": history.strategy.to_string(),
        "jobs": history.jobs.len(),
        "restarts": entries(history).count() - history.jobs.len(),
        "outages": failures.map_or(0, |failures| failures.outages.len()),
        "places": failures.map_or(0, |failures| failures.events.len()),
        "end": history.end,
        "meanWait": meshalloc_sim::results::shown(result, Metric::WaitingDelay).map(|wait| wait.mean),
        "saturated": result.saturated,
        "grows": meshalloc_sim::results::grows(result, Metric::WaitingDelay),
        "measuredRefused": refused,
        "measured": served + refused + result.left_behind,
        "slices": &slices.kinds,
        "used": curve(|means| means.used),
        "fragmented": curve(|means| means.fragmented),
        "waiting": curve(|means| means.waiting),
        // Null where it is not measured.
        "largest": largest,
        "down": failures.map(|_| curve(|means| means.down)),
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
        let shape = if job.request.flags.contains(Flags::CHIPS) {
            format!("any of {}", job.request.processors)
        } else {
            job.request.shape.to_string()
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
            columns.push_signed(number.wrapping_sub(before));
            before = number;
        }
    }
    shapes
}

fn push_run(history: &History, layout: &Layout, slices: &Slices, columns: &mut Columns) {
    let jobs = &history.jobs;
    let mut before = 0;
    for Entry { number, .. } in entries(history).skip(jobs.len()) {
        columns.push((number - before) as u64);
        before = number;
    }
    for Entry { job, stretch, .. } in entries(history) {
        columns.push(stretch.map_or(0, |stretch| stretch.start - job.job.arrival + 1));
    }
    let started = || entries(history).filter_map(|entry| Some((entry.job, entry.stretch?)));
    for (job, stretch) in started() {
        let ran = stretch.end.map(|end| end - stretch.start);
        let is_service = ran == job.job.work.service() && !stretch.is_interrupted;
        columns.push(match ran {
            None => 0,
            Some(_) if is_service => 1,
            Some(ran) => 2 * ran + 2 + u64::from(stretch.is_interrupted),
        });
    }
    for (job, stretch) in started() {
        let requested = job.job.request.processors;
        columns.push(stretch.held.saturating_sub(requested).into());
    }
    for job in jobs.iter().filter(|job| job.start().is_some()) {
        columns.push(job.misses.into());
    }
    let with_slices = entries(history).zip(&slices.of_entries);
    for (entry, slice) in with_slices {
        let Some(stretch) = entry.stretch else {
            continue;
        };
        columns.push(slice.map_or(0, |(kind, _)| kind as u64 + 1));
        if let Some((_, slice)) = slice {
            push_ranks(stretch, slice, layout, columns);
        }
    }
    push_rectangles(
        started().map(|(_, stretch)| &*stretch.blocks),
        layout,
        columns,
    );
    for job in jobs.iter().filter(|job| job.start().is_none()) {
        columns.push(job.end.map_or(0, |end| end - job.job.arrival + 1));
    }
}

/// Places that were down, spares, and how many processors were down.
fn push_failures(history: &History, layout: &Layout, columns: &mut Columns) {
    let Some(failures) = &history.failures else {
        return;
    };
    let mut before = 0;
    let mut since = |at: Ticks| at - std::mem::replace(&mut before, at);
    for outage in &failures.outages {
        columns.push(since(outage.start));
        columns.push(outage.end.map_or(0, |end| end - outage.start + 1));
    }
    let outages = failures.outages.iter();
    let blocks = outages.map(|outage| std::slice::from_ref(&outage.block));
    push_rectangles(blocks.chain([&*failures.spares]), layout, columns);
    let mut before = 0;
    let mut since = |at: Ticks| at - std::mem::replace(&mut before, at);
    for event in &failures.events {
        columns.push(since(event.at));
        columns.push(event.down.into());
        columns.push(event.down_and_held.into());
    }
}

/// How many rectangles the blocks of each list are in the picture, and then these rectangles.
fn push_rectangles<'b>(
    lists: impl Iterator<Item = &'b [Block]>,
    layout: &Layout,
    columns: &mut Columns,
) {
    let rectangles = |blocks: &[Block]| -> Vec<_> {
        let blocks = blocks.iter();
        blocks.flat_map(|&block| layout.rectangles(block)).collect()
    };
    let rectangles: Vec<_> = lists.map(rectangles).collect();
    for list in &rectangles {
        columns.push(list.len() as u64);
    }
    for rect in rectangles.iter().flatten() {
        for number in [rect.x.start, rect.y.start, rect.x.len(), rect.y.len()] {
            columns.push(number as u64);
        }
    }
}

/// The processors of a folded slice along its folded side, in the order of their ranks.
fn push_ranks(stretch: &Stretch, slice: &Slice, layout: &Layout, columns: &mut Columns) {
    let Some(ranks) = slice.ranks() else {
        return;
    };
    let blocks = || stretch.blocks.iter().copied();
    let nodes = ranks.filter_map(|at| slice.processor(&at, blocks()));
    let width = layout.across.len() as i64;
    let cells = nodes.map(|node| {
        let (x, y) = layout.place(node);
        y as i64 * width + x as i64
    });
    let cells: Vec<_> = cells.collect();
    columns.push(cells.len() as u64);
    let mut before = 0;
    for cell in cells {
        columns.push_signed(cell - before);
        before = cell;
    }
}
