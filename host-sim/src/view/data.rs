//! The histories of runs in the form that the page reads: a description, and lists of numbers for
//! the jobs and each run, both as JSON. The lists are compressed with gzip and written in base64.
//!
//! A run has *stretches*, times in which a job runs: the first of each of its jobs, also if it
//! never started, and then the later ones. Times are in ticks; null is never, or not known.

use std::collections::BTreeMap;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use meshalloc::{Block, Description, Flags, Grid, Request, Slice, SliceRule, Ticks};
use serde::Serialize;
use serde_json::{Value, json};

use meshalloc_sim::experiment::{Experiment, StrategyResult};
use meshalloc_sim::history::{History, Means, PastJob, Stretch};
use meshalloc_sim::layout::{Layout, ONE_ROW, Picture, Plan};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::workload::Workload;

const POINTS: usize = 1200;

pub(super) struct Data {
    /// JSON without a `<`.
    pub(super) meta: String,
    pub(super) lists: String,
}

#[derive(Serialize)]
struct Lists {
    jobs: Jobs,
    runs: Vec<Run>,
}

/// What all runs share.
#[derive(Default, Serialize)]
struct Jobs {
    arrival: Vec<Ticks>,
    processors: Vec<u32>,
    /// Places in the list of shapes.
    shape: Vec<usize>,
    service: Vec<Option<Ticks>>,
    /// The number of each job in its log.
    number: Vec<i64>,
}

/// A run: lists of its stretches, then of its jobs.
#[derive(Default, Serialize)]
struct Run {
    /// The jobs of the later stretches.
    later: Vec<usize>,
    start: Vec<Option<Ticks>>,
    end: Vec<Option<Ticks>>,
    interrupted: Vec<u8>,
    /// Stretches that another job ended, with the number of that job.
    preempted: Vec<(usize, u32)>,
    /// Processors held beyond the request.
    beyond: Vec<u32>,
    /// For each stretch, the place of its slice's kind in the list of kinds.
    slice: Vec<Option<usize>>,
    /// A folded slice has an entry: the number of its stretch, and its processors along the folded
    /// side by rank. A processor is its row times the columns of the picture, plus its column.
    ranks: Vec<(usize, Vec<usize>)>,
    #[serde(flatten)]
    areas: Areas,
    misses: Vec<u32>,
    refused: Vec<Option<Ticks>>,
    failures: Option<Down>,
}

/// Places that were down, with the spares behind them, and events of failures.
#[derive(Serialize)]
struct Down {
    start: Vec<Ticks>,
    end: Vec<Option<Ticks>>,
    #[serde(flatten)]
    areas: Areas,
    time: Vec<Ticks>,
    down: Vec<u32>,
    held: Vec<u32>,
}

/// Lists of rectangles: how many each has, and column, row, width and height of all.
#[derive(Default, Serialize)]
struct Areas {
    counts: Vec<usize>,
    rects: Vec<usize>,
}

impl Areas {
    fn push(&mut self, blocks: &[Block], layout: &Layout) {
        let before = self.rects.len();
        let rects = blocks.iter().flat_map(|&block| layout.rectangles(block));
        self.rects.extend(rects.flat_map(|rect| rect.numbers()));
        self.counts.push((self.rects.len() - before) / 4);
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
    // Every run has the same jobs; some runs have fewer.
    let longest = histories.iter().max_by_key(|history| history.jobs.len());
    let jobs = longest.map_or(&[][..], |history| &history.jobs);
    let (shapes, listed) = list_jobs(experiment, jobs);
    let slices: Vec<_> = histories
        .iter()
        .map(|history| Slices::new(history, description))
        .collect();
    let runs = histories.iter().zip(layouts.iter().zip(&slices));
    let lists = Lists {
        jobs: listed,
        runs: runs
            .map(|(history, (layout, slices))| list_run(history, layout, slices))
            .collect(),
    };
    let end = histories.iter().map(|history| history.end).max();
    let end = end.unwrap_or(0);
    // The results that a report of a single replication would show.
    let results = histories.iter().map(|history| vec![history.result.clone()]);
    let results = experiment.summaries(results.collect());
    let runs = histories
        .iter()
        .zip(&results)
        .zip(layouts.iter().zip(&slices));
    let runs = runs.map(|((history, result), (layout, slices))| {
        let mut run = run(history, result, slices, end);
        run["picture"] = json!(Picture::from(layout));
        run
    });
    let unit = experiment.workload.time_unit();
    let meta = json!({
        "nodes": machine.nodes(),
        "unit": unit.symbol(),
        "ticks": unit.ticks_each(),
        "end": end,
        "points": POINTS,
        "jobs": jobs.len(),
        // Null if nothing fails.
        "restart": experiment.failures.as_ref().map(|failures| failures.restart.to_string()),
        "preempts": experiment.preemption.is_some(),
        "isLog": matches!(experiment.workload, Workload::Log(_)),
        "shapes": shapes,
        "runs": runs.collect::<Vec<_>>(),
    });
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = serde_json::to_writer(&mut encoder, &lists).map_err(io::Error::from);
    let written = written.and_then(|()| encoder.finish());
    Data {
        meta: meta.to_string().replace('<', "\\u003c"),
        lists: STANDARD.encode(written.expect("a vector takes all bytes")),
    }
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
    /// For each entry, its slice and the place of that slice's kind in `kinds`; empty if no slices
    /// are shown.
    of_entries: Vec<Option<(usize, Slice)>>,
}

impl Slices {
    /// The slices on a machine that has a description, links around it, or more than two
    /// dimensions; no slices on any other machine.
    fn new(history: &History, machine: Option<&Description>) -> Slices {
        let grid = history.machine;
        let wraps = (0..grid.dimensions()).any(|dimension| grid.wraps(dimension));
        if machine.is_none() && !wraps && grid.dimensions() < 3 || grid.is_written_high_first() {
            return Slices::default();
        }
        let mut kinds = BTreeMap::new();
        let mut texts = Vec::new();
        let of_entries = entries(history).map(|Entry { job, stretch, .. }| {
            let request = &job.job.request;
            let blocks = first_slice(&grid, request, stretch?);
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

/// The blocks of the only slice of a job, or of the first of a gang.
fn first_slice<'s>(
    grid: &Grid,
    request: &Request,
    stretch: &'s Stretch,
) -> impl Iterator<Item = Block> + Clone + use<'s> {
    let blocks = stretch.blocks.iter().copied();
    request.slices.blocks_of(grid, blocks, 0)
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

/// What the jobs of a run waited for.
fn reasons(history: &History) -> Value {
    let jobs = history.jobs.iter().enumerate();
    let spans = jobs.map(|(place, job)| {
        let spans = job.waits.iter().map(|(cause, span)| (cause.name(), span));
        (place.to_string(), json!(spans.collect::<Vec<_>>()))
    });
    let waited = spans.filter(|(_, spans)| *spans != json!([]));
    waited.collect::<serde_json::Map<_, _>>().into()
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
        "end": history.end,
        "meanWait": meshalloc_sim::results::shown(result, Metric::WaitingDelay).map(|wait| wait.mean),
        "saturated": result.saturated,
        "grows": meshalloc_sim::results::grows(result, Metric::WaitingDelay),
        "measuredRefused": refused,
        "measured": served + refused + result.left_behind,
        "slices": &slices.kinds,
        // The reasons of each job that waited, and how many ticks each lasted; empty if they are
        // not measured.
        "reasons": reasons(history),
        "used": curve(|means| means.used),
        "fragmented": curve(|means| means.fragmented),
        "waiting": curve(|means| means.waiting),
        // Null if the largest slice is not measured.
        "largest": largest,
        "down": failures.map(|_| curve(|means| means.down)),
    })
}

/// The shapes of the jobs, each once, and what all runs share.
fn list_jobs(experiment: &Experiment, jobs: &[PastJob]) -> (Vec<String>, Jobs) {
    let mut places = BTreeMap::new();
    let mut shapes = Vec::new();
    let mut list = Jobs::default();
    for (number, PastJob { job, .. }) in (0..).zip(jobs) {
        // The page reads the number of a request without a shape.
        let shape = if job.request.flags.contains(Flags::CHIPS) {
            format!("any of {}", job.request.processors)
        } else {
            job.request.to_string()
        };
        let place = *places.entry(shape).or_insert_with_key(|shape| {
            shapes.push(shape.clone());
            shapes.len() - 1
        });
        list.arrival.push(job.arrival);
        list.processors.push(job.request.total());
        list.shape.push(place);
        list.service.push(job.work.service());
        if let Workload::Log(log) = &experiment.workload {
            list.number.push(log.job_number(number));
        }
    }
    (shapes, list)
}

fn list_run(history: &History, layout: &Layout, slices: &Slices) -> Run {
    let mut run = Run::default();
    let no_slices = std::iter::repeat(&None);
    let of_entries = slices.of_entries.iter().chain(no_slices);
    for ((place, entry), slice) in entries(history).enumerate().zip(of_entries) {
        let Entry {
            number,
            job,
            stretch,
        } = entry;
        let requested = job.job.request.total();
        if place >= history.jobs.len() {
            run.later.push(number);
        }
        run.start.push(stretch.map(|stretch| stretch.start));
        run.end.push(stretch.and_then(|stretch| stretch.end));
        let is_interrupted = stretch.is_some_and(|stretch| stretch.is_interrupted);
        run.interrupted.push(is_interrupted.into());
        let by = stretch.and_then(|stretch| stretch.preempted_by);
        run.preempted.extend(by.map(|by| (place, by)));
        run.beyond
            .push(stretch.map_or(0, |stretch| stretch.held.saturating_sub(requested)));
        run.slice.push(slice.as_ref().map(|(kind, _)| *kind));
        if let (Some((_, slice)), Some(stretch)) = (slice, stretch) {
            let blocks = first_slice(&history.machine, &job.job.request, stretch);
            let ranks = ranks(&blocks, slice, layout);
            run.ranks.extend(ranks.map(|ranks| (place, ranks)));
        }
        let blocks = stretch.map_or(&[][..], |stretch| &stretch.blocks);
        run.areas.push(blocks, layout);
    }
    for job in &history.jobs {
        let has_started = job.start().is_some();
        run.misses.push(if has_started { job.misses } else { 0 });
        run.refused.push(job.end.filter(|_| !has_started));
    }
    run.failures = history.failures.as_ref().map(|failures| {
        let mut areas = Areas::default();
        for outage in &failures.outages {
            areas.push(&[outage.block], layout);
        }
        areas.push(&failures.spares, layout);
        let (outages, events) = (failures.outages.iter(), failures.events.iter());
        Down {
            start: outages.clone().map(|outage| outage.start).collect(),
            end: outages.map(|outage| outage.end).collect(),
            areas,
            time: events.clone().map(|event| event.at).collect(),
            down: events.clone().map(|event| event.down).collect(),
            held: events.map(|event| event.down_and_held).collect(),
        }
    });
    run
}

/// The processors of a folded slice along its folded side, in the order of their ranks.
fn ranks(
    blocks: &(impl Iterator<Item = Block> + Clone),
    slice: &Slice,
    layout: &Layout,
) -> Option<Vec<usize>> {
    let ranks = slice.ranks()?;
    let nodes = ranks.filter_map(|at| slice.processor(&at, blocks.clone()));
    let width = layout.across.len();
    let cells = nodes.map(|node| {
        let (x, y) = layout.place(node);
        y * width + x
    });
    Some(cells.collect())
}
