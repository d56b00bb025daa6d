//! Pictures of runs over time, strategies below each other: which jobs hold which processors, and how many are in use.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{Area, Drawn, HEAD_HEIGHT, PIXEL, at, label};
use crate::history::{History, Means};
use crate::map::colouring;
use crate::processors;

/// Width of a picture, and the height of a strategy's part, in pixels.
const WIDTH: i32 = 1000;
const GANTT_HEIGHT: i32 = 300;
const TIMELINE_HEIGHT: i32 = 250;
/// The part of that for the jobs that wait.
const QUEUE_HEIGHT: i32 = 100;
/// Room for the legend of a timeline, in pixels.
const LEGEND_HEIGHT: i32 = 30;

/// The most rectangles of a Gantt chart: some ten to each pixel, and several megabytes.
pub const RECTANGLES_MAX: usize = 60_000;
/// Means along a timeline, two pixels each.
const POINTS: usize = 440;

const USED: RGBColor = RGBColor(0, 114, 178);
const FRAGMENTED: RGBColor = RGBColor(230, 159, 0);

/// A Gantt chart as the text of an SVG file: time to the right, processors by number upwards, a rectangle for each job and interval
/// of processors.
///
/// # Errors
///
/// When there are more than [`RECTANGLES_MAX`] rectangles, which nobody could tell apart.
pub fn gantt(histories: &[History], subtitle: &str) -> Result<String, String> {
    let rectangles: Vec<_> = histories.iter().map(rectangles).collect();
    let count: usize = rectangles.iter().map(Vec::len).sum();
    if count > RECTANGLES_MAX {
        return Err(format!(
            "{count} rectangles are too many to be told apart (expected at most {RECTANGLES_MAX}: fewer --jobs, or --plot timeline)"
        ));
    }
    let height = GANTT_HEIGHT * histories.len() as i32 + HEAD_HEIGHT;
    svg(height, |root| {
        let below = head(root, "Processors over time", subtitle)?;
        let parts = below.split_evenly((histories.len(), 1));
        for ((part, history), rectangles) in parts.iter().zip(histories).zip(&rectangles) {
            let nodes = f64::from(history.machine.nodes());
            let axes = Axes {
                name: &history.strategy.to_string(),
                vertical: "processor",
                most: nodes,
                has_time: true,
            };
            let place = axes.draw(part, history, end_of(histories))?;
            for rectangle in rectangles {
                let corners = [
                    place(rectangle.start, f64::from(rectangle.last) + 1.0),
                    place(rectangle.end, rectangle.first.into()),
                ];
                let [red, green, blue] = colouring::rgb(rectangle.job % colouring::PALETTE);
                let colour = RGBColor(red, green, blue);
                part.draw(&Rectangle::new(corners, colour.filled()))?;
                part.draw(&Rectangle::new(corners, BLACK.mix(0.5).stroke_width(3)))?;
            }
        }
        Ok(())
    })
}

/// A job on an interval of processors.
struct Held {
    job: usize,
    first: u32,
    last: u32,
    /// In ticks.
    start: f64,
    end: f64,
}

fn rectangles(history: &History) -> Vec<Held> {
    let mut rectangles = Vec::new();
    for (job, past) in history.jobs.iter().enumerate() {
        let Some(start) = past.start else { continue };
        let end = past.end.unwrap_or(history.end);
        for (first, last) in processors::intervals(history.machine, &past.blocks) {
            rectangles.push(Held {
                job,
                first,
                last,
                start: start as f64,
                end: end as f64,
            });
        }
    }
    rectangles
}

/// Processors in use with fragmented ones above them, and below the jobs that wait, as the text of an SVG file. Each value is a mean
/// over a span of time; the jobs that wait have the same scale for all strategies.
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
    let height = TIMELINE_HEIGHT * histories.len() as i32 + HEAD_HEIGHT + LEGEND_HEIGHT;
    svg(height, |root| {
        let below = head(root, "Processors and queue over time", subtitle)?;
        let (legend, below) = below.split_vertically(LEGEND_HEIGHT * PIXEL);
        for (x, colour, text) in [
            (78, USED, "in use (requested)"),
            (290, FRAGMENTED, "free, but fragmented"),
        ] {
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
            for (points, colour) in [(used, USED), (fragmented, FRAGMENTED)] {
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
    let mut text = String::new();
    let size = ((WIDTH * PIXEL) as u32, (height * PIXEL) as u32);
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let drawn = root.fill(&WHITE).map_err(Into::into);
        let drawn = drawn.and_then(|()| draw(&root));
        let drawn = drawn.and_then(|()| root.present().map_err(Into::into));
        drawn.map_err(|error| format!("cannot draw the picture: {error}"))?;
    }
    // The coordinates are tenths of a pixel (the view box); the picture's own size is in pixels.
    let drawn = format!("width=\"{}\" height=\"{}\"", size.0, size.1);
    Ok(text.replacen(&drawn, &format!("width=\"{WIDTH}\" height=\"{height}\""), 1))
}

/// Writes title and subtitle; gives what is below.
fn head<'a>(
    root: &Area<'a>,
    title: &str,
    subtitle: &str,
) -> Result<Area<'a>, Box<dyn std::error::Error>> {
    let (head, below) = root.split_vertically(HEAD_HEIGHT * PIXEL);
    label(&head, title, at(78, 22), 21, HPos::Left)?;
    label(&head, subtitle, at(78, 45), 15, HPos::Left)?;
    Ok(below)
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
        let unit = history.unit;
        let end = end as f64;
        let below = if self.has_time { 42 } else { 6 };
        let mut chart = ChartBuilder::on(part)
            .margin_top(units(if self.name.is_empty() { 6 } else { 26 }))
            .margin_left(units(14))
            .margin_right(units(14))
            .x_label_area_size(units(below))
            .y_label_area_size(units(64))
            .build_cartesian_2d(0.0..unit.of(end as u64), 0.0..self.most)?;
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
            grid.x_desc(format!("time, {}", unit.symbol()))
                .x_label_formatter(&|value| format!("{value}"));
        } else {
            grid.x_labels(0);
        }
        grid.draw()?;
        label(part, self.name, at(78, 13), 16, HPos::Left)?;
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
