//! Pictures of runs over time, strategies below each other: when jobs run and on how many
//! processors, and how many processors are in use.

use meshalloc::Grid;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::collections::BTreeSet;

use super::gaps::pieces;
use super::{Head, at, label, label_in};
use crate::map::colouring;
use crate::svg::{Area, Drawn, PIXEL, Svg};
use meshalloc_sim::history::{History, Means};
use meshalloc_sim::processors;
use meshalloc_sim::wording::Number;

/// Width of a picture, and the height of a strategy's part, in pixels.
const WIDTH: i32 = 1000;
const GANTT_HEIGHT: i32 = 300;
const TIMELINE_HEIGHT: i32 = 250;
/// The part of that for the jobs that wait.
const QUEUE_HEIGHT: i32 = 100;
/// Room for the legend of a timeline, and below the last axis, in pixels.
const LEGEND_HEIGHT: i32 = 30;
const BELOW: i32 = 8;
/// Room for the numbers of the vertical axis and its title.
const LEFT: i32 = 78;
/// Height of the numbers of jobs.
const NUMBER: i32 = 11;
/// A smaller rectangle has no outline, which would be most of it.
const OUTLINED_FROM: i32 = 4 * PIXEL;
/// The part of a Gantt chart for the processors that are down, and the width of the black end of a
/// job that a failure interrupts.
const DOWN_HEIGHT: i32 = 70;
const BLACK_END: i32 = 3 * PIXEL;
/// The length of a mark of an interruption or restart.
const MARK: i32 = 7;

/// The most rectangles of a Gantt chart: some ten to each pixel, and several megabytes.
pub const RECTANGLES_MAX: usize = 60_000;
/// Means along a timeline, two pixels each.
const POINTS: usize = 440;

const USED: RGBColor = RGBColor(0, 114, 178);
const FRAGMENTED: RGBColor = RGBColor(230, 159, 0);
const DOWN: RGBColor = RGBColor(90, 90, 90);
const INTERRUPTED: RGBColor = RGBColor(213, 94, 0);
const RESTARTED: RGBColor = RGBColor(0, 158, 115);

/// How a chart is read whose jobs have no place on the vertical axis.
const PLACELESS: &str = "a rectangle is a job, as high as the processors it holds; where these are \
     in the machine is not shown";

/// How failures are read in a chart of jobs.
const FAILURES: &str = "grey: processors that are down; black end: a failure interrupts the job, \
     which starts again under its number; pale: the job waits until its place works";

/// A Gantt chart as the text of an SVG file: time to the right, a rectangle for each job, as high
/// as the processors that it holds, with its number where there is room.
///
/// On a line or ring the vertical axis has the processors by number, and a job has a rectangle for
/// each interval of them. On any other machine the numbers of a job's processors are many short
/// intervals; there it has one rectangle, at a height that says nothing, unless no gap between the
/// other jobs is large enough. Processors that are down are rectangles on a line or ring, and else
/// a curve below.
///
/// # Errors
///
/// When there are more than [`RECTANGLES_MAX`] rectangles, too many to be told apart.
pub fn gantt(histories: &[History], subtitle: &str) -> Result<String, String> {
    let has_places = histories.iter().all(|history| is_line(history.machine));
    let rectangles = histories
        .iter()
        .map(|history| rectangles(history, has_places));
    let rectangles: Vec<_> = rectangles.collect();
    let count: usize = rectangles.iter().map(Vec::len).sum();
    if count > RECTANGLES_MAX {
        return Err(format!(
            "{count} rectangles are too many to be told apart (expected at most {RECTANGLES_MAX}: fewer --jobs, or --plot timeline)"
        ));
    }
    let (title, vertical) = match has_places {
        true => ("Processors over time", "processor"),
        false => ("Jobs over time", "processors held"),
    };
    let fails = histories.iter().any(|history| history.failures.is_some());
    let notes = [
        (!has_places).then_some(PLACELESS),
        fails.then_some(FAILURES),
    ];
    let note = notes.into_iter().flatten().collect::<Vec<_>>().join("; ");
    let head = Head::new(title, subtitle, &note, LEFT, WIDTH);
    let down_height = if fails && !has_places { DOWN_HEIGHT } else { 0 };
    let height = (GANTT_HEIGHT + down_height) * histories.len() as i32 + head.height() + BELOW;
    svg(height, |root| {
        let below = head.draw(root)?;
        let (below, _) = below.split_vertically((height - head.height() - BELOW) * PIXEL);
        let parts = below.split_evenly((histories.len(), 1));
        for ((part, history), rectangles) in parts.iter().zip(histories).zip(&rectangles) {
            let (part, lower) = part.split_vertically(GANTT_HEIGHT * PIXEL);
            if down_height > 0 {
                draw_down(&lower, history, end_of(histories))?;
            }
            let nodes = f64::from(history.machine.nodes());
            let axes = Axes {
                name: &history.strategy.to_string(),
                vertical,
                most: nodes,
                has_time: true,
            };
            let place = axes.draw(&part, history, end_of(histories))?;
            for rectangle in rectangles {
                let corners = [
                    place(rectangle.start, f64::from(rectangle.last) + 1.0),
                    place(rectangle.end, rectangle.first.into()),
                ];
                let [(left, top), (right, bottom)] = corners;
                let Some(job) = rectangle.job else {
                    part.draw(&Rectangle::new(corners, DOWN.mix(0.8).filled()))?;
                    continue;
                };
                let [red, green, blue] = colouring::rgb(job % colouring::PALETTE);
                let colour = RGBColor(red, green, blue);
                if rectangle.is_stopped {
                    part.draw(&Rectangle::new(corners, colour.mix(0.3).filled()))?;
                    continue;
                }
                part.draw(&Rectangle::new(corners, colour.filled()))?;
                if rectangle.is_interrupted {
                    let from = (right - BLACK_END).max(left);
                    let end = [(from, top), (right, bottom)];
                    part.draw(&Rectangle::new(end, BLACK.filled()))?;
                }
                let (width, height) = (right - left, bottom - top);
                if width.min(height) >= OUTLINED_FROM {
                    // The outline of a rectangle of plotters has no width.
                    let outline = [
                        (left, top),
                        (right, top),
                        (right, bottom),
                        (left, bottom),
                        (left, top),
                    ];
                    let style = BLACK.mix(0.6).stroke_width(PIXEL as u32 / 2);
                    part.draw(&PathElement::new(outline, style))?;
                }
                let number = job.to_string();
                // Digits are not as wide as high.
                let room = NUMBER * PIXEL * (7 * number.len() as i32 + 4) / 10;
                if room <= width && (NUMBER + 3) * PIXEL <= height {
                    let ink = match colouring::is_light([red, green, blue]) {
                        true => BLACK,
                        false => WHITE,
                    };
                    let middle = (left.midpoint(right), top.midpoint(bottom));
                    label_in(&part, number, middle, NUMBER, HPos::Center, ink)?;
                }
            }
        }
        Ok(())
    })
}

/// The processors that are down, below a chart of jobs.
fn draw_down(part: &Area<'_>, history: &History, end: u64) -> Drawn {
    let axes = Axes {
        name: "",
        vertical: "down",
        most: f64::from(history.machine.nodes()),
        has_time: false,
    };
    let place = axes.draw(part, history, end)?;
    let mut steps = history.steps();
    steps.dedup_by_key(|step| step.down);
    let ends = steps.iter().skip(1).map(|step| step.at);
    for (step, until) in steps.iter().zip(ends.chain([history.end])) {
        let corners = [
            place(step.at as f64, f64::from(step.down)),
            place(until as f64, 0.0),
        ];
        if step.down > 0 {
            part.draw(&Rectangle::new(corners, DOWN.filled()))?;
        }
    }
    Ok(())
}

/// An interval of processors for a time.
struct Held {
    /// Whose it is; `None`: it is down.
    job: Option<usize>,
    first: u32,
    last: u32,
    /// In ticks.
    start: f64,
    end: f64,
    /// Whether a failure ends it.
    is_interrupted: bool,
    /// Whether the job waits on it for a repair.
    is_stopped: bool,
}

/// Whether the processors of a job on this machine are mostly one interval of numbers.
fn is_line(machine: Grid) -> bool {
    let sides = machine.sides().iter();
    sides.filter(|&&side| side > 1).count() <= 1
}

fn rectangles(history: &History, has_places: bool) -> Vec<Held> {
    let holdings: Vec<_> = history.holdings().collect();
    let stacked = match has_places {
        true => None,
        false => Some(pieces(history.machine.nodes(), &holdings)),
    };
    let mut rectangles = Vec::new();
    let mut add = |job, intervals: &[(u32, u32)], start: u64, end: Option<u64>, ends: [bool; 2]| {
        rectangles.extend(intervals.iter().map(|&(first, last)| Held {
            job,
            first,
            last,
            start: start as f64,
            end: end.unwrap_or(history.end) as f64,
            is_interrupted: ends[0],
            is_stopped: ends[1],
        }));
    };
    for (place, holding) in holdings.iter().enumerate() {
        let intervals = match &stacked {
            None => processors::intervals(history.machine, &holding.stretches[0].blocks),
            Some(pieces) => pieces[place].clone(),
        };
        let job = Some(holding.job);
        for (at, stretch) in holding.stretches.iter().enumerate() {
            let is_interrupted = stretch.is_interrupted;
            let ends = [is_interrupted, false];
            add(job, &intervals, stretch.start, stretch.end, ends);
            let next = holding.stretches.get(at + 1).map(|next| next.start);
            if let (true, true, Some(end)) = (history.keeps(), is_interrupted, stretch.end) {
                add(job, &intervals, end, next.or(holding.end), [false, true]);
            }
        }
    }
    for failures in history.failures.iter().filter(|_| has_places) {
        for outage in &failures.outages {
            let intervals = processors::intervals(history.machine, &[outage.block]);
            add(None, &intervals, outage.start, outage.end, [false; 2]);
        }
    }
    rectangles
}

/// Processors in use with fragmented ones above them, and below the jobs that wait, as the text of
/// an SVG file. Each value is a mean over a span of time; the jobs that wait have the same scale
/// for all strategies. Processors that are down hang from 100 %, and marks stand where failures
/// interrupt jobs and where these start again.
///
/// # Errors
///
/// What went wrong while drawing, in words. Drawing into memory gives no cause for it to happen.
pub fn timeline(histories: &[History], subtitle: &str) -> Result<String, String> {
    let end = end_of(histories);
    let means = histories.iter().map(|history| history.means(end, POINTS));
    let means: Vec<Vec<Means>> = means.collect();
    let waiting = means.iter().flatten().map(|means| means.waiting);
    let most_waiting = waiting.fold(1.0, f64::max);
    let title = "Processors and queue over time";
    let head = Head::new(title, subtitle, "", LEFT, WIDTH);
    let fails = histories.iter().any(|history| history.failures.is_some());
    let parts_height = TIMELINE_HEIGHT * histories.len() as i32;
    let height = head.height() + LEGEND_HEIGHT + parts_height + BELOW;
    svg(height, |root| {
        let below = head.draw(root)?;
        let (legend, below) = below.split_vertically(LEGEND_HEIGHT * PIXEL);
        let (below, _) = below.split_vertically(parts_height * PIXEL);
        let entries = [
            (LEFT, USED, "in use (requested)"),
            (272, FRAGMENTED, "free, but fragmented"),
            (478, DOWN, "down"),
            (572, INTERRUPTED, "jobs interrupted"),
            (752, RESTARTED, "jobs started again"),
        ];
        for (x, colour, text) in entries.into_iter().take(if fails { 5 } else { 2 }) {
            let corners = [at(x, 8), at(x + 18, 22)];
            legend.draw(&Rectangle::new(corners, colour.filled()))?;
            label(&legend, text, at(x + 26, 15), 15, HPos::Left)?;
        }
        let parts = below.split_evenly((histories.len(), 1));
        for ((part, history), means) in parts.iter().zip(histories).zip(&means) {
            let (upper, lower) = part.split_vertically((TIMELINE_HEIGHT - QUEUE_HEIGHT) * PIXEL);
            let nodes = f64::from(history.machine.nodes());
            let name = history.strategy.to_string();
            let axes = Axes {
                name: &name,
                vertical: "% of all",
                most: 100.0,
                has_time: false,
            };
            let place = axes.draw(&upper, history, end)?;
            let percent = |count: f64| 100.0 * count / nodes;
            let span = end as f64 / POINTS as f64;
            let area = |low: &dyn Fn(&Means) -> f64, high: &dyn Fn(&Means) -> f64| {
                // There and back, each mean along its whole span.
                let there = means.iter().enumerate().flat_map(|(at, means)| {
                    [at, at + 1].map(|edge| (edge as f64 * span, high(means)))
                });
                let back = means.iter().enumerate().rev().flat_map(|(at, means)| {
                    [at + 1, at].map(|edge| (edge as f64 * span, low(means)))
                });
                there.chain(back).collect::<Vec<_>>()
            };
            let used = area(&|_| 0.0, &|means| percent(means.used));
            let fragmented = area(&|means| percent(means.used), &|means| {
                percent(means.used + means.fragmented)
            });
            let down = area(&|means| 100.0 - percent(means.down), &|_| 100.0);
            let mut areas = vec![(used, USED), (fragmented, FRAGMENTED)];
            areas.extend(fails.then_some((down, DOWN)));
            for (points, colour) in areas {
                let points: Vec<_> = points.into_iter().map(|(x, y)| place(x, y)).collect();
                upper.draw(&Polygon::new(points, colour.filled()))?;
            }
            let axes = Axes {
                name: "",
                vertical: "waiting",
                most: most_waiting,
                has_time: true,
            };
            let place = axes.draw(&lower, history, end)?;
            let waiting = area(&|_| 0.0, &|means| means.waiting);
            let points: Vec<_> = waiting.into_iter().map(|(x, y)| place(x, y)).collect();
            lower.draw(&Polygon::new(points, BLACK.mix(0.6).filled()))?;
            let stretches = history.jobs.iter().flat_map(|job| &job.stretches);
            let ends = stretches
                .filter(|one| one.is_interrupted)
                .map(|one| one.end);
            let starts = history
                .jobs
                .iter()
                .flat_map(|job| job.stretches.iter().skip(1));
            let starts = starts.map(|stretch| Some(stretch.start));
            // One mark at most for each place of the picture.
            let times = ends.map(|at| (0, at)).chain(starts.map(|at| (1, at)));
            let marks: BTreeSet<_> = times
                .map(|(row, at)| (row, place(at.unwrap_or(end) as f64, most_waiting)))
                .collect();
            for (row, (x, top)) in marks {
                let colour = [INTERRUPTED, RESTARTED][row as usize];
                let top = top + row * (MARK + 1) * PIXEL;
                let line = vec![(x, top), (x, top + MARK * PIXEL)];
                lower.draw(&PathElement::new(line, colour.stroke_width(PIXEL as u32)))?;
            }
        }
        Ok(())
    })
}

/// When the last run ended, in ticks.
fn end_of(histories: &[History]) -> u64 {
    let ends = histories.iter().map(|history| history.end);
    ends.max().unwrap_or(0).max(1)
}

fn svg(height: i32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String, String> {
    let units = ((WIDTH * PIXEL) as u32, (height * PIXEL) as u32);
    Svg::of(units, draw).map(|svg| svg.to_string())
}

/// The axes of one part of a picture.
struct Axes<'t> {
    name: &'t str,
    vertical: &'t str,
    most: f64,
    has_time: bool,
}

impl Axes<'_> {
    /// Draws them; gives the place in the part of a time in ticks and a value.
    fn draw(
        &self,
        part: &Area<'_>,
        history: &History,
        end: u64,
    ) -> Result<impl Fn(f64, f64) -> (i32, i32) + use<>, Box<dyn std::error::Error>> {
        let units = |pixels: i32| (pixels * PIXEL) as u32;
        let whole = history.unit.of(end);
        let (size, unit) = history.unit.readable(whole);
        let end = end as f64;
        let below = if self.has_time { 42 } else { 6 };
        let mut chart = ChartBuilder::on(part)
            .margin_top(units(if self.name.is_empty() { 6 } else { 26 }))
            .margin_left(units(14))
            .margin_right(units(14))
            .x_label_area_size(units(below))
            .y_label_area_size(units(64))
            .build_cartesian_2d(0.0..whole / size, 0.0..self.most)?;
        // A step of an axis may be a little more than 0.1, and so on.
        let round = |value: &f64| Number((value * 1e4).round() / 1e4).to_string();
        let mut grid = chart.configure_mesh();
        grid.disable_mesh()
            .axis_style(BLACK.stroke_width(PIXEL as u32))
            .set_all_tick_mark_size(units(4))
            .y_labels(4)
            .y_desc(self.vertical)
            .y_label_formatter(&|value| format!("{value:.0}"))
            .axis_desc_style(("sans-serif", units(15)))
            .label_style(("sans-serif", units(13)));
        if self.has_time {
            grid.x_desc(format!("time, {unit}"))
                .x_label_formatter(&round);
        } else {
            grid.x_labels(0);
        }
        grid.draw()?;
        label(part, self.name, at(LEFT, 13), 16, HPos::Left)?;
        let (across, down) = chart.plotting_area().get_pixel_range();
        let (left, top) = part.get_base_pixel();
        let most = self.most;
        Ok(move |time: f64, value: f64| {
            let x =
                f64::from(across.start - left) + f64::from(across.end - across.start) * time / end;
            let share = value.min(most) / most;
            let y = f64::from(down.end - top) - f64::from(down.end - down.start) * share;
            (x.round() as i32, y.round() as i32)
        })
    }
}
