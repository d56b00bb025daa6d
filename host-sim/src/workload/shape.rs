//! From a number of processors to extents.
//!
//! Logs have the number of processors of a job and not their shape; the rule that is used must be named
//! with every result.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use meshalloc::{DIMENSIONS_MAX, Grid, Request, Shape};

use super::WorkloadError;

/// A rule that gives a number of processors a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShapeRule {
    /// [`ShapeRule::NearCubic`] for two-dimensional meshes alone.
    #[default]
    NearSquare,
    /// Among extents that fit the grid and hold all processors, the longest at most twice the shortest: the least
    /// product, then the shortest longest extent, then the shortest second longest, and so on. Where none fits, the same
    /// without the limit on the ratio. The longer extents lie along the longer sides, along the lower dimension when
    /// these are equal. A dimension of side 1 does not count for the ratio.
    NearCubic,
}

impl ShapeRule {
    /// Every rule.
    pub const ALL: &'static [ShapeRule] = &[ShapeRule::NearSquare, ShapeRule::NearCubic];

    /// The rule for a machine where none is named: near-square on two-dimensional meshes, else near-cubic.
    pub const fn of(machine: &Grid) -> ShapeRule {
        match machine.is_plane() {
            true => ShapeRule::NearSquare,
            false => ShapeRule::NearCubic,
        }
    }

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            ShapeRule::NearSquare => "near-square",
            ShapeRule::NearCubic => "near-cubic",
        }
    }

    /// What it gives, in a few words.
    pub const fn meaning(self) -> &'static str {
        match self {
            ShapeRule::NearSquare => {
                "on two-dimensional meshes: least area, then most square, the longer side at most twice the shorter"
            }
            ShapeRule::NearCubic => {
                "on any grid: least product of the extents, then most cubic, the longest extent at most twice the shortest"
            }
        }
    }

    /// Whether the rule is for this machine.
    ///
    /// # Errors
    ///
    /// When it is not: which one is.
    pub fn check(self, machine: Grid) -> Result<(), String> {
        match self {
            ShapeRule::NearSquare if !machine.is_plane() => Err(format!(
                "the shape rule {self} is for two-dimensional meshes, not for {machine} (expected {})",
                ShapeRule::NearCubic
            )),
            _ => Ok(()),
        }
    }

    /// A request for exactly `processors`, at least 1, in the shape of this rule.
    ///
    /// When the machine has fewer processors, the shape is the rule's for an unbounded machine, and the
    /// request will be refused as one that never fits.
    ///
    /// # Errors
    ///
    /// When the rule is not for this machine, or there are too many processors for any shape to be written down.
    pub fn request(self, processors: u32, machine: Grid) -> Result<Request, String> {
        self.check(machine)?;
        let shape = near_cubic(processors, machine.sides())
            .or_else(|| unbounded(processors, machine))
            .ok_or_else(|| format!("{processors} processors: no machine has so many"))?;
        Ok(Request::new(shape).with_processors(processors))
    }
}

/// The rule for the longest sides there are, longer along the same dimensions.
fn unbounded(processors: u32, machine: Grid) -> Option<Shape> {
    let mut order: Vec<u16> = machine.sides().to_vec();
    order.sort_unstable_by_key(|&side| Reverse(side));
    let rank = |side: &u16| order.iter().take_while(|&longer| longer > side).count();
    let sides = machine
        .sides()
        .iter()
        .map(|side| u16::MAX - rank(side) as u16);
    near_cubic(processors, &sides.collect::<Vec<_>>())
}

/// The rule of [`ShapeRule::NearCubic`] for these sides, at least one; `None` when no extents fit.
///
/// # Time complexity
///
/// Shapes are tried from the shortest extent on, as long as their product can be no larger than the best so far: up to
/// some thousands of them for any machine, about the square root of the number of processors in two dimensions.
///
/// ```
/// use meshalloc::Shape;
/// use meshalloc_host_sim::workload::shape::near_cubic;
/// let shape = |processors, sides| near_cubic(processors, sides).map(|shape| shape.to_string());
/// assert_eq!(shape(7, &[16, 22]).unwrap(), "2x4");
/// assert_eq!(shape(7, &[16, 16]).unwrap(), "4x2");
/// assert_eq!(shape(100, &[8, 8, 16]).unwrap(), "5x4x5");
/// ```
pub fn near_cubic(processors: u32, sides: &[u16]) -> Option<Shape> {
    let mut dimensions: Vec<usize> = (0..sides.len()).collect();
    dimensions.sort_by_key(|&dimension| Reverse(sides[dimension]));
    let descending: Vec<u64> = dimensions
        .iter()
        .map(|&dimension| sides[dimension].into())
        .collect();
    let wide = descending.iter().filter(|&&side| side > 1).count().max(1);
    let search = |ratio_max| {
        let mut search = Search {
            processors: processors.into(),
            sides: &descending[..wide],
            ratio_max,
            extents: [1; DIMENSIONS_MAX],
            best: None,
        };
        search.extend(wide - 1, 1, 1);
        search.best
    };
    let (_, found) = search(2).or_else(|| search(u64::MAX))?;
    let mut extents = [1; DIMENSIONS_MAX];
    for (&dimension, extent) in dimensions.iter().zip(found) {
        extents[dimension] = u16::try_from(extent).ok()?;
    }
    Shape::new(&extents[..sides.len()]).ok()
}

/// A search for the best extents, from the shortest to the longest.
struct Search<'s> {
    processors: u64,
    /// In descending order.
    sides: &'s [u64],
    /// Of the longest extent to the shortest.
    ratio_max: u64,
    /// In descending order; those chosen so far stand at the end.
    extents: [u64; DIMENSIONS_MAX],
    /// The least product so far, with its extents: compared as a whole, the best is the least.
    best: Option<(u64, [u64; DIMENSIONS_MAX])>,
}

impl Search<'_> {
    /// Chooses the extents up to `place`, all at least `least`; `product` is that of those behind it.
    fn extend(&mut self, place: usize, least: u64, product: u64) {
        let shortest = self.extents[self.sides.len() - 1];
        let mut longest = self.sides[place];
        if place < self.sides.len() - 1 {
            longest = longest.min(shortest.saturating_mul(self.ratio_max));
        }
        if place == 0 {
            // Any longer one only makes the product larger.
            let extent = least.max(self.processors.div_ceil(product));
            if extent <= longest {
                self.extents[0] = extent;
                let found = (product * extent, self.extents);
                self.best = Some(self.best.map_or(found, |best| best.min(found)));
            }
            return;
        }
        for extent in least..=longest {
            let product_min = product.saturating_mul(extent.saturating_pow(place as u32 + 1));
            if self.best.is_some_and(|(best, _)| product_min > best) {
                break;
            }
            self.extents[place] = extent;
            self.extend(place - 1, extent, product * extent);
        }
        self.extents[place] = 1;
    }
}

impl FromStr for ShapeRule {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let rule = ShapeRule::ALL.iter().find(|rule| rule.name() == text);
        rule.copied().ok_or_else(|| WorkloadError::UnknownName {
            what: "shape rule",
            given: text.into(),
            expected: "near-square or near-cubic".into(),
        })
    }
}

impl fmt::Display for ShapeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
