//! Pictures of measurements: a measure over the offered load, or over the side of the mesh, one
//! line a strategy; over categories, one bar a strategy.
//!
//! The pictures are made for print: every strategy has a marker and a dash pattern of its own in
//! addition to its colour. A saturated point is in a strip above the axes; it is also among the
//! numbers if it has a mean, as with a log. A point whose mean still grows with the length of the
//! run has an arrow. A point that leaves out refused jobs has their share of all jobs below it. A
//! number that a text states about a point is a ring. [`Layout`] is for a whole page or for a
//! column of it.

use std::fmt::Display;

use axis::Axis;
use bars::{Slot, draw_swatch};
use head::Head;
use marks::{Look, draw_arrow, draw_interval, draw_line, draw_marker, draw_ring};
use plotters::coord::ranged1d::{BoldPoints, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::svg::{Area, Drawn, PIXEL, Svg};
use meshalloc_sim::statistics::Interval;

mod axis;
mod bars;
mod head;
mod marks;
pub mod over_time;

/// Width and height in pixels of the axes of a picture with its legend at the right, labels
/// included; being a vector picture it scales.
const PAGE_BODY: (i32, i32) = (636, 462);
/// The least room for the legend at the right, in pixels.
const LEGEND_WIDTH: i32 = 204;
/// Width and height in pixels of the axes of a picture with its legend below.
const COLUMN_BODY: (i32, i32) = (560, 372);
/// Height of one entry of the legend, in pixels, and where its name begins.
const LEGEND_ROW: i32 = 24;
const LEGEND_NAME: i32 = 58;
/// Longer names do not fit beside each other below the axes, in characters.
const NAME_BESIDE_MAX: usize = 22;
/// Height of a row of the strip of saturated points, in pixels, and the most rows.
const STRIP_ROW: i32 = 16;
const STRIP_ROWS: i32 = 5;
/// Heights of names in the legend and numbers at the axes, and of the titles of the axes.
const NAME: i32 = 16;
const AXIS_TITLE: i32 = 18;
/// From the left border to the title of the vertical axis, and between it, numbers and axis.
const LEFT: i32 = 10;
const BESIDE_NUMBERS: i32 = 10;
/// The least room for these numbers and the title, in pixels.
const NUMBERS_MIN: i32 = 66;
/// Half the width of a marker and of the caps of an error bar.
const MARKER: i32 = 4 * PIXEL;
/// Width of axes and error bars.
const THIN: u32 = PIXEL as u32;
/// Width of the lines between the points.
const THICK: u32 = 2 * PIXEL as u32;

/// What the picture shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// The first line, large.
    pub title: String,
    /// The second line: the parameters that all points share.
    pub subtitle: String,
    /// The label of the horizontal axis, with the unit.
    pub x_label: String,
    /// The scale of the horizontal axis.
    pub x_scale: Scale,
    /// The label of the vertical axis, with the unit.
    pub y_label: String,
    /// The lines.
    pub series: Vec<Series>,
    /// Numbers that a text states about points of the series.
    pub stated: Vec<Stated>,
    /// Where the legend is.
    pub layout: Layout,
}

/// The scale of the horizontal axis, that is, which steps are equally far apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Doublings; for values over 0, powers of two as a rule.
    Doubling,
    /// Categories with these names: point `x` stands at number `x`, series beside each other.
    Categories(Vec<String>),
}

/// The shape of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Wide, the legend at the right.
    #[default]
    Page,
    /// Narrow, with larger letters for its width, the legend below.
    Column,
}

/// The points of one strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// The points, by increasing `x`.
    pub points: Vec<Point>,
}

/// One measured point.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Place on the horizontal axis.
    pub x: f64,
    /// What was measured; `None` where the system was saturated.
    pub y: Option<Measured>,
}

impl Point {
    fn is_saturated(&self) -> bool {
        self.y.as_ref().is_none_or(|y| y.saturated)
    }
}

/// A number that a text states about a point of a series: a ring, with one legend entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stated {
    /// The number of the series.
    pub series: usize,
    /// Place on the horizontal axis.
    pub x: f64,
    /// The number.
    pub y: f64,
}

/// A mean and its confidence interval, in the unit of the vertical axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The mean.
    pub mean: f64,
    /// The interval; `None` with a single replication.
    pub ci95: Option<Interval>,
    /// Whether the mean still grows with the length of the run, which an arrow marks.
    pub grows: bool,
    /// Whether the system was saturated, so that the mean belongs to this log alone.
    pub saturated: bool,
    /// The part of the jobs that was refused, in words, which stands below the marker.
    pub refused: Option<String>,
}

/// Draws the picture.
///
/// # Errors
///
/// What went wrong while drawing, in words. Drawing into memory should not fail.
pub fn svg(picture: &Picture) -> Result<Svg, String> {
    let frame = Frame::new(picture);
    let (width, height) = frame.size();
    let units = ((width * PIXEL) as u32, (height * PIXEL) as u32);
    Svg::of(units, |root| draw(picture, &frame, root))
}

struct Frame {
    axis: Axis,
    head: Head,
    /// The axes with their labels, and the strip of saturated points.
    body: (i32, i32),
    numbers: i32,
    legend: (i32, i32),
    layout: Layout,
}

impl Frame {
    fn new(picture: &Picture) -> Self {
        let axis = Axis::of_values(picture);
        // As many as the axis draws.
        let numbers = axis.key_points(BoldPoints(11)).into_iter();
        let longest = numbers.map(|number| axis.format_ext(&number).chars().count());
        let longest = head::text_width(longest.max().unwrap_or(0), NAME);
        let numbers = NUMBERS_MIN.max(AXIS_TITLE + longest + 2 * BESIDE_NUMBERS);
        let beyond = (saturated_rows(picture) as i32 - STRIP_ROWS).max(0);
        let entries = picture.series.len() + notes(picture).len();
        let rows = entries.div_ceil(legend_columns(picture)) as i32;
        let entries = rows * LEGEND_ROW + 14;
        let (width, height) = match picture.layout {
            Layout::Page => PAGE_BODY,
            Layout::Column => COLUMN_BODY,
        };
        let height = height + beyond * STRIP_ROW;
        let (title, subtitle) = (&picture.title, &picture.subtitle);
        let (head, height, legend) = match picture.layout {
            Layout::Page => {
                let names = picture
                    .series
                    .iter()
                    .map(|series| series.name.chars().count());
                let longest = head::text_width(names.max().unwrap_or(0), NAME);
                let legend = LEGEND_WIDTH.max(LEGEND_NAME + longest + BESIDE_NUMBERS);
                let left = LEFT + numbers + 2;
                let head = Head::new(title, subtitle, left, width + legend, 15);
                let height = height.max(entries);
                (head, height, (legend, height))
            }
            Layout::Column => {
                let head = Head::new(title, subtitle, 14, width, 17);
                (head, height, (width, entries))
            }
        };
        Frame {
            axis,
            head,
            body: (width, height),
            numbers,
            legend,
            layout: picture.layout,
        }
    }

    fn size(&self) -> (i32, i32) {
        let (width, height) = self.body;
        match self.layout {
            Layout::Page => (width + self.legend.0, self.head.height() + height),
            Layout::Column => (width, self.head.height() + height + self.legend.1),
        }
    }
}

fn saturated_rows(picture: &Picture) -> usize {
    let is_saturated = |series: &&Series| series.points.iter().any(Point::is_saturated);
    picture.series.iter().filter(is_saturated).count()
}

fn legend_columns(picture: &Picture) -> usize {
    let mut names = picture.series.iter().map(|series| series.name.chars());
    let short = names.all(|name| name.count() <= NAME_BESIDE_MAX);
    if picture.layout == Layout::Column && short {
        2
    } else {
        1
    }
}

/// A mark, drawn around a place, and its meaning.
type Note = (fn(&Area<'_>, (i32, i32)) -> Drawn, &'static str);

fn notes(picture: &Picture) -> Vec<Note> {
    let any = |is_so: fn(&Measured) -> bool| {
        let mut points = picture.series.iter().flat_map(|series| &series.points);
        points.any(|point| point.y.as_ref().is_some_and(is_so))
    };
    let mut notes: Vec<Note> = Vec::new();
    if any(|y| y.ci95.is_some()) {
        notes.push((
            |area, (x, y)| draw_interval(area, x, [y - 7 * PIXEL, y + 7 * PIXEL], BLACK),
            "95 % confidence",
        ));
    }
    if any(|y| y.grows) {
        notes.push((
            |area, (x, y)| draw_arrow(area, (x - 12 * PIXEL, y + 10 * PIXEL), BLACK),
            "grows with the run",
        ));
    }
    if any(|y| y.refused.is_some()) {
        notes.push((
            |area, place| label(area, "n %", place, 13, HPos::Center),
            "refused jobs",
        ));
    }
    if !picture.stated.is_empty() {
        notes.push((
            |area, place| draw_ring(area, place, BLACK),
            "number in the text",
        ));
    }
    notes
}

type Chart<'a, 'b> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

fn draw(picture: &Picture, frame: &Frame, root: &Area<'_>) -> Drawn {
    let units = |pixels: i32| (pixels * PIXEL) as u32;
    let below = frame.head.draw(root)?;
    let (body, legend) = match picture.layout {
        Layout::Page => below.split_horizontally(units(frame.body.0)),
        Layout::Column => below.split_vertically(units(frame.body.1)),
    };
    let axis = &frame.axis;
    let saturated_rows = saturated_rows(picture);
    let strip_height = match saturated_rows {
        0 => 4 * PIXEL,
        rows => (rows as i32 * STRIP_ROW + 8) * PIXEL,
    };
    let mut chart = ChartBuilder::on(&body)
        .margin_top(strip_height)
        .margin_bottom(units(6))
        .margin_left(units(LEFT))
        .margin_right(units(8))
        .x_label_area_size(units(46))
        .y_label_area_size(units(frame.numbers))
        .build_cartesian_2d(Axis::of_places(picture), axis.clone())?;
    let y_label = if axis.is_logarithmic() {
        format!("{}, logarithmic", picture.y_label)
    } else {
        picture.y_label.clone()
    };
    let mut grid = chart.configure_mesh();
    if matches!(picture.x_scale, Scale::Categories(_)) {
        // A line through each category would run through its bars.
        grid.disable_x_mesh();
    }
    grid.light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12).stroke_width(THIN))
        .axis_style(BLACK.stroke_width(THIN))
        .set_all_tick_mark_size(units(5))
        .x_desc(&picture.x_label)
        .y_desc(y_label)
        .axis_desc_style(("sans-serif", units(AXIS_TITLE)))
        .label_style(("sans-serif", units(NAME)))
        .draw()?;

    if saturated_rows > 0 {
        draw_strip(root, &chart, picture, strip_height)?;
    }
    for (index, series) in picture.series.iter().enumerate() {
        let slot = Slot::of(picture, index);
        draw_series(root, &chart, axis, series, &Look::of(index), slot)?;
    }
    for stated in &picture.stated {
        let offset = Slot::of(picture, stated.series).map_or(0.0, |slot| slot.offset);
        let place = (stated.x + offset, axis.clipped(stated.y));
        let place = chart.plotting_area().map_coordinate(&place);
        draw_ring(root, place, Look::of(stated.series).color)?;
    }
    draw_legend(&legend, picture, frame, !axis.is_logarithmic())
}

const fn at(x: i32, y: i32) -> (i32, i32) {
    (x * PIXEL, y * PIXEL)
}

fn draw_series(
    root: &Area<'_>,
    chart: &Chart<'_, '_>,
    axis: &Axis,
    series: &Series,
    look: &Look,
    slot: Option<Slot>,
) -> Drawn {
    let offset = slot.map_or(0.0, |slot| slot.offset);
    let place = |x: f64, y: f64| chart.plotting_area().map_coordinate(&(x + offset, y));
    if let Some(slot) = slot {
        slot.draw(root, chart, axis, series, look)?;
    } else {
        // A saturated point interrupts the line, since it has no number.
        for stretch in series.points.split(|point| point.y.is_none()) {
            let path: Vec<(i32, i32)> = stretch
                .iter()
                .filter_map(|point| Some(place(point.x, point.y.as_ref()?.mean)))
                .collect();
            draw_line(root, &path, look)?;
        }
    }
    for point in &series.points {
        let Some(y) = &point.y else { continue };
        if let Some(Interval { low, high }) = y.ci95 {
            let (x, top) = place(point.x, high);
            let (_, bottom) = place(point.x, axis.clipped(low));
            draw_interval(root, x, [top, bottom], look.color)?;
        }
        draw_marker(root, place(point.x, y.mean), look)?;
        if y.grows {
            draw_arrow(root, place(point.x, y.mean), look.color)?;
        }
        if let Some(refused) = &y.refused {
            let (x, y) = place(point.x, y.mean);
            let (axes, heights) = chart.plotting_area().get_pixel_range();
            if slot.is_some() {
                // Upwards from the foot of the bar, which is narrower than the text is long.
                let font = ("sans-serif", NAME * PIXEL).into_font();
                let text = font
                    .transform(FontTransform::Rotate270)
                    .into_text_style(root);
                let text = text.pos(Pos::new(HPos::Left, VPos::Center));
                root.draw_text(refused, &text, (x, heights.end - 4 * PIXEL))?;
                continue;
            }
            // Beside the interval, on the side that has more room.
            let (side, x) = if x < (axes.start + axes.end) / 2 {
                (HPos::Left, x + MARKER)
            } else {
                (HPos::Right, x - MARKER)
            };
            let text = ("sans-serif", 13 * PIXEL)
                .into_text_style(root)
                .color(&look.color)
                .pos(Pos::new(side, VPos::Top));
            root.draw_text(refused, &text, (x, y + 2 * MARKER))?;
        }
    }
    Ok(())
}

/// The saturated points: above the axes, one row a strategy.
fn draw_strip(root: &Area<'_>, chart: &Chart<'_, '_>, picture: &Picture, height: i32) -> Drawn {
    let (x_pixels, y_pixels) = chart.plotting_area().get_pixel_range();
    let top = y_pixels.start - height + 3 * PIXEL;
    root.draw(&Rectangle::new(
        [(x_pixels.start, top), (x_pixels.end, y_pixels.start)],
        BLACK.mix(0.06).filled(),
    ))?;
    root.draw(&PathElement::new(
        vec![
            (x_pixels.start, y_pixels.start),
            (x_pixels.end, y_pixels.start),
        ],
        BLACK.mix(0.4).stroke_width(THIN),
    ))?;
    label(
        root,
        "saturated",
        (x_pixels.start - 6 * PIXEL, (top + y_pixels.start) / 2),
        14,
        HPos::Right,
    )?;
    let mut row_y = top + (STRIP_ROW / 2 + 3) * PIXEL;
    for (index, series) in picture.series.iter().enumerate() {
        let mut drawn = false;
        let offset = Slot::of(picture, index).map_or(0.0, |slot| slot.offset);
        for point in series.points.iter().filter(|point| point.is_saturated()) {
            let (x, _) = chart
                .plotting_area()
                .map_coordinate(&(point.x + offset, 1.0));
            draw_marker(root, (x, row_y), &Look::of(index))?;
            drawn = true;
        }
        if drawn {
            row_y += STRIP_ROW * PIXEL;
        }
    }
    Ok(())
}

/// `bars`: series over categories have bars, and not their markers alone.
fn draw_legend(area: &Area<'_>, picture: &Picture, frame: &Frame, bars: bool) -> Drawn {
    let columns = legend_columns(picture);
    let (left, column_width) = match picture.layout {
        Layout::Page => (6, frame.legend.0),
        Layout::Column => (14, (frame.legend.0 - 14) / columns as i32),
    };
    let place = |index: usize| {
        let (row, column) = (index / columns, index % columns);
        let x = left + column_width * column as i32;
        (x, 20 + LEGEND_ROW * row as i32)
    };
    let name = |index: usize, name: &str| {
        let (x, y) = place(index);
        label(area, name, at(x + LEGEND_NAME - 6, y), NAME, HPos::Left)
    };
    for (index, series) in picture.series.iter().enumerate() {
        let look = Look::of(index);
        let (x, y) = place(index);
        match picture.x_scale {
            Scale::Categories(_) if bars => draw_swatch(area, at(x + 22, y), &look)?,
            Scale::Categories(_) => {}
            _ => draw_line(area, &[at(x, y), at(x + 44, y)], &look)?,
        }
        draw_marker(area, at(x + 22, y), &look)?;
        name(index, &series.name)?;
    }
    for (index, (draw, meaning)) in (picture.series.len()..).zip(notes(picture)) {
        let (x, y) = place(index);
        draw(area, at(x + 22, y))?;
        name(index, meaning)?;
    }
    Ok(())
}

/// Text of a size in pixels whose middle line is at `at.1`. The picture names a font family only:
/// nothing depends on the fonts of the machine that drew it.
fn label(area: &Area<'_>, text: impl Display, at: (i32, i32), size: i32, side: HPos) -> Drawn {
    let style = ("sans-serif", size * PIXEL)
        .into_text_style(area)
        .pos(Pos::new(side, VPos::Center));
    area.draw_text(&text.to_string(), &style, at)?;
    Ok(())
}

#[cfg(test)]
mod tests;
