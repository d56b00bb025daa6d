//! A picture of runs over time, strategies below each other: how many processors are in use, and
//! how many jobs wait.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::collections::BTreeSet;

use super::{Head, at, label};
use crate::svg::{Area, PIXEL, Svg};
use meshalloc_sim::history::{History, Means};
use meshalloc_sim::wording::Number;

// Lengths are in pixels.

/// Width of a picture, and the height of a strategy's part.
const WIDTH: i32 = 1000;
const TIMELINE_HEIGHT: i32 = 250;
/// The part of that for the jobs that wait.
const QUEUE_HEIGHT: i32 = 100;
/// Room for the legend of a timeline, and below the last axis.
const LEGEND_HEIGHT: i32 = 30;
const BELOW: i32 = 8;
/// Room for the numbers of the vertical axis and its title.
const LEFT: i32 = 78;
/// The length of a mark of an interruption or restart.
const MARK: i32 = 7;

/// Means along a timeline, two pixels each.
const POINTS: usize = 440;

const USED: RGBColor = RGBColor(0, 114, 178);
const FRAGMENTED: RGBColor = RGBColor(230, 159, 0);
const DOWN: RGBColor = RGBColor(90, 90, 90);
const INTERRUPTED: RGBColor = RGBColor(213, 94, 0);
const RESTARTED: RGBColor = RGBColor(0, 158, 115);

/// Processors in use with fragmented ones above them, and below the jobs that wait, as the text of
/// an SVG file. Each value is a mean over a span of time; the jobs that wait have the same scale
/// for all strategies. Processors that are down hang from 100 %, and marks stand where failures
/// interrupt jobs and where these start again.
pub fn timeline(histories: &[History], subtitle: &str) -> Result<String, String> {
    let ends = histories.iter().map(|history| history.end);
    let end = ends.max().unwrap_or(0).max(1);
    let means = histories.iter().map(|history| history.means(end, POINTS));
    let means: Vec<Vec<Means>> = means.collect();
    let waiting = means.iter().flatten().map(|means| means.waiting);
    let most_waiting = waiting.fold(1.0, f64::max);
    let title = "Processors and queue over time";
    let head = Head::new(title, subtitle, LEFT, WIDTH, 15);
    let fails = histories.iter().any(|history| history.failures.is_some());
    let mut jobs = histories.iter().flat_map(|history| &history.jobs);
    let interrupts = fails || jobs.any(|job| job.stretches.len() > 1);
    let parts_height = TIMELINE_HEIGHT * histories.len() as i32;
    let height = head.height() + LEGEND_HEIGHT + parts_height + BELOW;
    let units = ((WIDTH * PIXEL) as u32, (height * PIXEL) as u32);
    let svg = Svg::of(units, |root| {
        let below = head.draw(root)?;
        let (legend, below) = below.split_vertically(LEGEND_HEIGHT * PIXEL);
        let (below, _) = below.split_vertically(parts_height * PIXEL);
        let entries = [
            (true, LEFT, USED, "in use (requested)"),
            (true, 272, FRAGMENTED, "free, but fragmented"),
            (fails, 478, DOWN, "down"),
            (interrupts, 572, INTERRUPTED, "jobs interrupted"),
            (interrupts, 752, RESTARTED, "jobs started again"),
        ];
        for (_, x, colour, text) in entries.into_iter().filter(|entry| entry.0) {
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
                // The outline runs to the end along the upper values, and back along the lower
                // ones. Each mean lasts for its whole span.
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
    });
    svg.map(|svg| svg.to_string())
}

struct Axes<'t> {
    name: &'t str,
    vertical: &'t str,
    most: f64,
    has_time: bool,
}

impl Axes<'_> {
    /// Draws the axes. Returns a function that gives the place of a time in ticks and a value.
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
