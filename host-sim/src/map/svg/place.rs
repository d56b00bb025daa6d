//! Where the processors of a machine are in an SVG picture, and how large.

use std::ops::Range;

use super::units;
use meshalloc_sim::layout::{Axis, Layout, ONE_ROW, Plan, Rect};

/// The longer side of a machine in pixels, without gaps.
const SIDE: f64 = 400.0;
/// A small machine needs no large picture.
const SCALE_MAX: f64 = 28.0;
/// A single row is at least as high as this, so that numbers fit into it.
const ROW_MIN: f64 = 20.0;
/// A picture of several planes gets larger where a processor would be smaller than this, in pixels.
const PLANES_SCALE: f64 = 9.0;
/// The longer side of several planes is no longer than this, in pixels, without gaps.
const PLANES_SIDE_MAX: f64 = 1200.0;
/// A row of planes is no wider than this, without gaps, if the planes may stand in several rows.
const PLANES_ROW_MAX: f64 = 600.0;
/// Room for the numbers above a row of planes or cubes.
pub(super) const HEADING: f64 = 16.0;
/// The least gap is this part of a plane, within these bounds in pixels.
const GAP_PART: f64 = 0.125;
const GAP_MIN: f64 = 2.0;
const GAP_MAX: f64 = 14.0;
/// All gaps together take at most this part of what the processors take; if they would take more,
/// planes are put together until they do not.
const GAPS_PART_MAX: f64 = 0.4;

/// The place of a machine in the picture.
#[derive(Clone, Debug)]
pub struct Place {
    pub(super) layout: Layout,
    /// Pixels a processor, across and up.
    pub(super) scale: f64,
    pub(super) tall: f64,
    /// Pixels a unit of the gaps.
    gap: f64,
    /// The lower left corner.
    left: f64,
    bottom: f64,
}

impl Place {
    /// The machine in its usual size, with its lower left corner at the origin.
    pub(super) fn new(plan: Plan) -> Place {
        let layers = plan.layers();
        let row = PLANES_SCALE * Layout::new(plan, ONE_ROW, 1).across.len() as f64;
        let rows = layers.min((row / PLANES_ROW_MAX).ceil() as usize);
        let columns = layers.div_ceil(rows.max(1));
        let mut layout = Layout::new(plan, columns, 1);
        let longer = layout.across.len().max(layout.up.len()) as f64;
        let levels = layout.across.levels();
        let side = match layout.across.dimensions() {
            [] => SIDE,
            _ => (PLANES_SCALE * longer).clamp(SIDE, PLANES_SIDE_MAX),
        };
        let scale = (side / longer).min(SCALE_MAX);
        let mut gap = 0.0;
        for finest in 1..=levels {
            layout = Layout::new(plan, columns, finest);
            let plane = layout.across.stretches().first().map_or(0, Range::len);
            gap = (GAP_PART * scale * plane as f64).clamp(GAP_MIN, GAP_MAX);
            if gap * layout.across.gaps() as f64 <= GAPS_PART_MAX * scale * longer {
                break;
            }
        }
        let tall = match layout.up.len() {
            1 => scale.max(ROW_MIN),
            _ => scale,
        };
        Place {
            layout,
            scale,
            tall,
            gap,
            left: 0.0,
            bottom: 0.0,
        }
    }

    pub(super) fn moved(&self, left: f64, bottom: f64) -> Place {
        Place {
            left,
            bottom,
            ..self.clone()
        }
    }

    pub(super) fn size(&self) -> (f64, f64) {
        let side = |axis: &Axis, scale| axis.len() as f64 * scale + axis.gaps() as f64 * self.gap;
        let Layout { across, up, .. } = &self.layout;
        let headings = HEADING * self.layout.headings_below(up.len()) as f64;
        (side(across, self.scale), side(up, self.tall) + headings)
    }

    /// A point in columns and rows of processors as one in units of the picture, without gaps
    /// beyond those before `within`, the part of a plane to which it belongs.
    pub(super) fn at(&self, within: &Rect, x: f64, y: f64) -> (i32, i32) {
        let (x, y) = self.pixels(within, x, y);
        (units(x), units(y))
    }

    pub(super) fn pixels(&self, within: &Rect, x: f64, y: f64) -> (f64, f64) {
        let gaps = |axis: &Axis, at: usize| axis.gaps_before(at) as f64 * self.gap;
        let (across, up) = (&self.layout.across, &self.layout.up);
        let headings = HEADING * self.layout.headings_below(within.y.start) as f64;
        (
            self.left + x * self.scale + gaps(across, within.x.start),
            self.bottom - y * self.tall - gaps(up, within.y.start) - headings,
        )
    }

    /// The middle of a rectangle in pixels. It may reach over several planes.
    pub(super) fn middle(&self, rect: &Rect) -> (f64, f64) {
        let middle = |axis: &Axis, side: &Range<usize>, scale: f64| {
            let processors = side.start as f64 + side.len() as f64 / 2.0;
            let gaps = axis.gaps_before(side.start) + axis.gaps_before(side.end - 1);
            (processors * scale, gaps as f64 / 2.0 * self.gap)
        };
        let (x, x_gaps) = middle(&self.layout.across, &rect.x, self.scale);
        let (y, y_gaps) = middle(&self.layout.up, &rect.y, self.tall);
        let headings = [rect.y.start, rect.y.end - 1].map(|y| self.layout.headings_below(y));
        let y_headings = HEADING * headings.iter().sum::<usize>() as f64 / 2.0;
        (
            self.left + x + x_gaps,
            self.bottom - y - y_gaps - y_headings,
        )
    }
}
