//! From a number of processors, which is all that logs have, to extents; results name the rule.

use std::borrow::Cow;
use std::cmp::Reverse;

use meshalloc::machine::DESCRIBED_MAX;
use meshalloc::{DIMENSIONS_MAX, Grid, Request, Shape};
use rand_distr::Distribution;

use super::{SideDistribution, SideRange, Spread};
use crate::names::grammar::{Form, Kind, Param, Value, Values, Written, param, written};
use crate::wording::any_of;

/// A rule that gives a number of processors a shape.
///
/// ```
/// use meshalloc_sim::workload::ShapeRule;
/// let rule: ShapeRule = "drawn:exponential".parse().unwrap();
/// assert_eq!(rule.to_string(), "drawn:exponential");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ShapeRule {
    /// [`ShapeRule::NearCubic`] for two-dimensional meshes alone.
    #[default]
    NearSquare,
    /// [`near_cubic`].
    NearCubic,
    /// [`power_of_two`].
    PowerOfTwo,
    /// [`flat`].
    Flat,
    /// One extent after the other is drawn, dimension 0 first, among the extents that leave room
    /// for all processors; the last extent is the least one that holds them. One of
    /// [`ShapeRule::DRAWN`].
    Drawn(SideDistribution),
    /// No shape: the job asks for a number of processors, and the allocator tries its legal shapes.
    Chips,
}

impl ShapeRule {
    /// Every rule.
    pub const FORMS: &'static [Form] = <Self as Written>::FORMS;

    /// How the rules of [`ShapeRule::DRAWN`] are written.
    fn drawn() -> [String; 4] {
        ShapeRule::DRAWN.map(|distribution| ShapeRule::Drawn(distribution).to_string())
    }

    /// The distributions that extents may be drawn from: those that are defined over any range.
    pub const DRAWN: [SideDistribution; 4] = [
        SideDistribution::Uniform,
        SideDistribution::Normal {
            mean: None,
            spread: Spread::QuarterDeviation,
        },
        SideDistribution::Normal {
            mean: None,
            spread: Spread::QuarterVariance,
        },
        SideDistribution::Exponential,
    ];

    /// The rule for a machine if no rule is named: near-square in two dimensions, else near-cubic.
    pub const fn of(machine: &Grid) -> ShapeRule {
        if machine.is_plane() {
            ShapeRule::NearSquare
        } else {
            ShapeRule::NearCubic
        }
    }

    /// Whether the rule is for this machine; the error says which one is.
    pub fn check(self, machine: Grid) -> Result<(), String> {
        match self {
            ShapeRule::NearSquare if !machine.is_plane() => Err(format!(
                "the shape rule {self} is for two-dimensional meshes, not for {machine} (expected {})",
                ShapeRule::NearCubic
            )),
            ShapeRule::Drawn(distribution) if !ShapeRule::DRAWN.contains(&distribution) => {
                Err(format!(
                    "the shape rule {self} is not defined (expected {})",
                    any_of(ShapeRule::drawn())
                ))
            }
            ShapeRule::Chips if machine.dimensions() > DESCRIBED_MAX => Err(format!(
                "the shape rule {self} is for up to {DESCRIBED_MAX} dimensions, not for {machine} (expected {})",
                ShapeRule::NearCubic
            )),
            _ => Ok(()),
        }
    }

    /// A request for exactly `processors`, at least 1, in the shape of this rule. Random numbers
    /// are taken from `rng` only where the shape is drawn. When the machine has fewer processors,
    /// the shape is the near-cubic one for an unbounded machine, in at most three dimensions, as
    /// far as such extents can be written down. A shape may then have fewer processors than the
    /// request, which never fits.
    ///
    /// # Errors
    ///
    /// When the rule is not for this machine.
    pub fn request<R: rand_core::Rng + ?Sized>(
        self,
        processors: u32,
        machine: Grid,
        rng: &mut R,
    ) -> Result<Request, String> {
        self.check(machine)?;
        let sides = machine.sides();
        let shape = match self {
            ShapeRule::Chips => return Ok(Request::chips(processors)),
            _ if processors > machine.nodes() => None,
            ShapeRule::NearSquare | ShapeRule::NearCubic => near_cubic(processors, sides),
            ShapeRule::PowerOfTwo => {
                power_of_two(processors, sides).or_else(|| near_cubic(processors, sides))
            }
            ShapeRule::Flat => flat(processors, sides),
            ShapeRule::Drawn(distribution) => drawn(processors, sides, |count| {
                let range = SideRange::new(1, count).ok()?;
                Some(distribution.over(range).ok()?.sample(rng))
            }),
        };
        let shape = shape.unwrap_or_else(|| unbounded(processors, machine));
        Ok(Request::new(shape).with_processors(processors))
    }

    /// Whether the shape depends on the number of processors alone.
    pub(super) const fn is_fixed(self) -> bool {
        !matches!(self, ShapeRule::Drawn(_))
    }
}

/// Extents that are powers of two: the least product that holds all processors, then the shortest
/// longest extent, then the shortest second longest, and so on; the longer extents along the longer
/// sides, along the lower dimension when these are equal. `None` when no such extents fit.
///
/// ```
/// use meshalloc_sim::workload::shape::power_of_two;
/// let shape = |processors, sides| power_of_two(processors, sides).map(|shape| shape.to_string());
/// assert_eq!(shape(7, &[16, 22]).unwrap(), "2x4");
/// assert_eq!(shape(100, &[16, 22]).unwrap(), "8x16");
/// assert_eq!(shape(65, &[10, 10]), None);
/// ```
pub fn power_of_two(processors: u32, sides: &[u16]) -> Option<Shape> {
    let mut exponents = [0; DIMENSIONS_MAX];
    for _ in 0..processors.next_power_of_two().ilog2() {
        let open = (0..sides.len()).filter(|&d| exponents[d] < sides[d].ilog2());
        let least = open.min_by_key(|&d| (exponents[d], Reverse(sides[d]), d))?;
        exponents[least] += 1;
    }
    let extents = exponents[..sides.len()]
        .iter()
        .map(|&exponent| 1 << exponent);
    Shape::new(&extents.collect::<Vec<u16>>()).ok()
}

/// Extents that hold all processors, with the least extent along the shortest side, then the least
/// along the next longer side, and so on: parts of a row, then whole rows. If sides are equal, the
/// higher dimension counts as the shorter. `None` when the sides do not hold that number of
/// processors.
///
/// ```
/// use meshalloc_sim::workload::shape::flat;
/// let shape = |processors, sides| flat(processors, sides).map(|shape| shape.to_string());
/// assert_eq!(shape(13, &[16, 22]).unwrap(), "1x13");
/// assert_eq!(shape(100, &[16, 22]).unwrap(), "5x20");
/// assert_eq!(shape(100, &[64, 64]).unwrap(), "50x2");
/// ```
pub fn flat(processors: u32, sides: &[u16]) -> Option<Shape> {
    let mut dimensions: Vec<usize> = (0..sides.len()).collect();
    dimensions.sort_by_key(|&dimension| Reverse(sides[dimension]));
    let mut extents = vec![1; sides.len()];
    let mut left = processors;
    while let Some(dimension) = dimensions.pop() {
        let longer = dimensions.iter().map(|&longer| u32::from(sides[longer]));
        let extent = left.div_ceil(longer.product());
        extents[dimension] = u16::try_from(extent)
            .ok()
            .filter(|&it| it <= sides[dimension])?;
        left = left.div_ceil(extent);
    }
    Shape::new(&extents).ok()
}

/// Extents, drawn one after the other: `draw` is given the number of possible extents and chooses
/// one by its number, from 1; the last extent is the least that holds the job. `None` when the
/// sides do not hold all processors.
fn drawn(
    processors: u32,
    sides: &[u16],
    mut draw: impl FnMut(u16) -> Option<u16>,
) -> Option<Shape> {
    let mut extents = Vec::with_capacity(sides.len());
    let mut left = processors;
    for (dimension, &side) in sides.iter().enumerate() {
        let later = sides[dimension + 1..].iter().map(|&side| u32::from(side));
        let least = u16::try_from(left.div_ceil(later.product())).ok()?;
        let most = u32::from(side).min(left) as u16;
        let extent = if dimension + 1 == sides.len() {
            least
        } else {
            least + (draw(most.checked_sub(least)? + 1)? - 1)
        };
        extents.push(extent);
        left = left.div_ceil(extent.into());
    }
    Shape::new(&extents).ok()
}

/// The shape on an unbounded machine, longer along the same dimensions as this one; the largest
/// shape if there is none. Three dimensions hold any number of processors.
fn unbounded(processors: u32, machine: Grid) -> Shape {
    let sides = &machine.sides()[..machine.dimensions().min(3)];
    let mut order = sides.to_vec();
    order.sort_unstable_by_key(|&side| Reverse(side));
    let rank = |side: &u16| order.iter().take_while(|&longer| longer > side).count();
    let longest = sides.iter().map(|side| u16::MAX - rank(side) as u16);
    let longest: Vec<u16> = longest.collect();
    near_cubic(processors, &longest)
        .unwrap_or_else(|| Shape::new(&longest).expect("up to three extents stand as they are"))
}

/// Among extents that fit the sides, at least one, and hold all processors, the longest at most
/// twice the shortest: the least product, then the shortest longest extent, then the shortest
/// second longest, and so on. Where none fits, the same without the limit on the ratio. The longer
/// extents lie along the longer sides, along the lower dimension when these are equal. A dimension
/// of side 1 does not count for the ratio. `None` when no extents fit.
///
/// Up to some thousands of shapes are tried, about the square root of the number of processors in
/// two dimensions: from the shortest extent on, as long as the product can be no larger than the
/// best.
///
/// ```
/// use meshalloc::Shape;
/// use meshalloc_sim::workload::shape::near_cubic;
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
    sides: &'s [u64],
    /// The greatest ratio of the longest extent to the shortest.
    ratio_max: u64,
    /// In descending order; those chosen so far stand at the end.
    extents: [u64; DIMENSIONS_MAX],
    /// The least product so far, with its extents: compared as a whole, the best is the least.
    best: Option<(u64, [u64; DIMENSIONS_MAX])>,
}

impl Search<'_> {
    /// Chooses the extents up to `place`, each at least `least`; the others have this `product`.
    fn extend(&mut self, place: usize, least: u64, product: u64) {
        let shortest = self.extents[self.sides.len() - 1];
        let mut longest = self.sides[place];
        if place < self.sides.len() - 1 {
            longest = longest.min(shortest.saturating_mul(self.ratio_max));
        }
        if place == 0 {
            // Any longer extent makes the product larger.
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

const DRAWN: &[Param] = &[param(
    "distribution",
    Kind::Word(&["uniform", "normal", "normal:var", "exponential"]),
)];

impl Written for ShapeRule {
    const WHAT: &'static str = "shape rule";

    const FORMS: &'static [Form] = &[
        Form::new(
            "near-square",
            &[],
            "on two-dimensional meshes: least area, then most square, the longer side at most twice the shorter",
            "",
        ),
        Form::new(
            "near-cubic",
            &[],
            "on any grid: least product of the extents, then most cubic, the longest extent at most twice the shortest",
            "",
        ),
        Form::new(
            "power-of-two",
            &[],
            "extents that are powers of two: least product, then most cubic; near-cubic where none hold the job",
            "",
        ),
        Form::new(
            "flat",
            &[],
            "least along the shortest side of the machine, then along the next: whole rows where one is not enough",
            "",
        ),
        Form::new(
            "drawn",
            DRAWN,
            "extents drawn one after the other, uniform, normal, normal:var or exponential; the last is the least that holds the job",
            "",
        ),
        Form::new(
            "chips",
            &[],
            "no shape: the most compact legal shape with this number of processors that fits; up to four dimensions",
            "",
        ),
    ];

    fn of(name: &str, values: &Values) -> Result<Self, String> {
        Ok(match name {
            "near-square" => ShapeRule::NearSquare,
            "near-cubic" => ShapeRule::NearCubic,
            "power-of-two" => ShapeRule::PowerOfTwo,
            "flat" => ShapeRule::Flat,
            "chips" => ShapeRule::Chips,
            _ => ShapeRule::Drawn(values.text(0).unwrap_or_default().parse()?),
        })
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        let name = match self {
            ShapeRule::NearSquare => "near-square",
            ShapeRule::NearCubic => "near-cubic",
            ShapeRule::PowerOfTwo => "power-of-two",
            ShapeRule::Flat => "flat",
            ShapeRule::Chips => "chips",
            ShapeRule::Drawn(distribution) => {
                let distribution = Value::Text(distribution.to_string());
                return ("drawn".into(), vec![Some(distribution)]);
            }
        };
        (name.into(), Vec::new())
    }
}

written!(ShapeRule);
