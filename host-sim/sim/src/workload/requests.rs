//! The requests of the jobs of a synthetic workload: parts of a grid by their side lengths,
//! subcubes of a k-ary n-cube (dimensions and radices are drawn as side lengths are), a number of
//! processors, or shapes with weights.

use serde::{Serialize, Serializer};
use std::array;
use std::fmt;
use std::str::FromStr;

use meshalloc::{Cube, DIMENSIONS_MAX, Grid, Request, Shape};

use super::counts::Counts;
use super::distributions::{SideSampler, listed};
use super::mix::Mix;
use super::stream::{Source, Stream};
use super::{SideDistribution, SideRange, Spread};
use crate::error::{SettingError, out_of_range};

/// The machine and the requests to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Requests {
    /// A side for each dimension of a grid.
    Submeshes(Submeshes),
    /// Subcubes of a cube, as Chuang and Wu draw them.
    Subcubes(Subcubes),
    /// A number of processors.
    Counts(Counts),
    /// Shapes with weights.
    Mix(Mix),
}

/// Requests with a side for each dimension of a grid, all of them independent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Submeshes {
    /// The machine.
    pub machine: Grid,
    /// How side lengths are distributed.
    pub distribution: SideDistribution,
    /// The sides that may be drawn along each dimension of the machine. Further entries are not
    /// used.
    pub sides: [SideRange; DIMENSIONS_MAX],
}

impl Submeshes {
    /// Sides are 1 to the machine's.
    pub fn new(machine: impl Into<Grid>, distribution: SideDistribution) -> Self {
        let machine = machine.into();
        let up_to = |dimension| SideRange::new(1, machine.side(dimension));
        Submeshes {
            machine,
            distribution,
            sides: array::from_fn(|dimension| up_to(dimension).expect("a side is at least 1")),
        }
    }

    /// Which sides may be drawn along the dimensions of the machine.
    pub fn side_range(&self) -> SideRanges {
        SideRanges::new(&self.sides[..self.machine.dimensions()])
    }

    /// The distribution of the side along each dimension.
    fn samplers(&self) -> Result<Vec<SideSampler>, SettingError> {
        let sides = &self.sides[..self.machine.dimensions()];
        sides
            .iter()
            .map(|&side| self.distribution.over(side))
            .collect()
    }
}

/// Which side lengths may be drawn: one range for all dimensions, or one for each.
///
/// ```
/// use meshalloc_sim::workload::SideRanges;
/// let lengths: SideRanges = "2..9,4".parse().unwrap();
/// assert_eq!(lengths.to_string(), "2..9,1..4");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideRanges(Vec<SideRange>);

impl SideRanges {
    /// The ranges of all dimensions, dimension 0 first; a single range if they are equal.
    fn new(ranges: &[SideRange]) -> Self {
        let is_one = ranges.iter().all(|range| *range == ranges[0]);
        SideRanges(ranges[..if is_one { 1 } else { ranges.len() }].to_vec())
    }

    /// The number of ranges: 1, or one for each dimension.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The range of each of `dimensions` dimensions; `None` if the number of ranges differs.
    pub fn of(&self, dimensions: usize) -> Option<impl Iterator<Item = SideRange>> {
        let is_one = self.count() == 1;
        let ranges = self.0.iter().copied().cycle().take(dimensions);
        (is_one || self.count() == dimensions).then_some(ranges)
    }
}

impl FromStr for SideRanges {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = |text: &str| {
            let (min, max) = text.split_once("..").unwrap_or(("1", text));
            SideRange::new(min.parse().ok()?, max.parse().ok()?).ok()
        };
        let ranges: Option<Vec<_>> = text.split(',').map(|text| range(text.trim())).collect();
        let expected = "MIN..MAX with 1 <= MIN <= MAX, such as 1..32, or one for each dimension, \
                        such as 1..32,1..8";
        let wrong = || out_of_range("the range of side lengths", text, expected);
        ranges.map(SideRanges).ok_or_else(wrong)
    }
}

impl fmt::Display for SideRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |range: &SideRange| format!("{}..{}", range.min(), range.max());
        f.pad(&self.0.iter().map(text).collect::<Vec<_>>().join(","))
    }
}

fn as_grid<S: Serializer>(cube: &Cube, serializer: S) -> Result<S::Ok, S::Error> {
    Grid::from(*cube).serialize(serializer)
}

/// Requests for subcubes as Chuang and Wu draw them: first the number m of dimensions, out of
/// `1..=n`, then m radices out of `2..=k`, all independent. A request names the radices in the
/// order drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Subcubes {
    /// The cube.
    #[serde(serialize_with = "as_grid")]
    pub cube: Cube,
    /// How the number of dimensions is distributed.
    pub dims: CubeDistribution,
    /// How each radix is distributed.
    pub radices: CubeDistribution,
}

impl Subcubes {
    fn dims(&self) -> SideSampler {
        self.dims.over(1, u16::from(self.cube.n()))
    }

    fn radices(&self) -> SideSampler {
        self.radices.over(2, self.cube.k())
    }

    /// The sum over m of `P(m) * E[r]^m`, as the radices are independent.
    fn mean_processors(&self) -> f64 {
        let (dims, radix) = (self.dims(), self.radices().mean());
        let parts =
            (1..=self.cube.n()).map(|m| dims.probability(u16::from(m)) * radix.powi(i32::from(m)));
        parts.sum()
    }
}

/// How a number of dimensions, or a radix, is distributed over its range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CubeDistribution {
    /// Every number is equally likely.
    #[default]
    Uniform,
    /// Normal: the mean in the middle of the range, the standard deviation a quarter of it (the
    /// largest less the smallest), rounded half up, drawn again outside. A range of one number is
    /// that number.
    Normal,
}

listed! { CubeDistribution, "distribution":
    Uniform = "uniform", "every number of dimensions 1..n, or every radix 2..k, equally likely",
        CHUANG_WU;
    Normal = "normal", "mean in the middle of the range, standard deviation a quarter of the range",
        CHUANG_WU;
}

impl CubeDistribution {
    /// The distribution over the numbers `min..=max`, of which there is at least one.
    fn over(self, min: u16, max: u16) -> SideSampler {
        let distribution = match self {
            CubeDistribution::Normal if min < max => SideDistribution::Normal {
                mean: None,
                spread: Spread::Deviation(f64::from(max - min) / 4.0),
            },
            _ => SideDistribution::Uniform,
        };
        let range = SideRange::new(min, max);
        let sampler = range.and_then(|range| distribution.over(range));
        sampler.expect("two deviations to each side of the mean lie within the range")
    }
}

pub(super) const CHUANG_WU: &str =
    "Chuang and Wu, Processor Allocation in k-ary n-cube Multiprocessors";

impl Requests {
    /// The machine.
    pub fn machine(&self) -> Grid {
        match self {
            Requests::Submeshes(submeshes) => submeshes.machine,
            Requests::Subcubes(subcubes) => subcubes.cube.into(),
            Requests::Counts(counts) => counts.machine,
            Requests::Mix(mix) => mix.machine,
        }
    }

    /// The mean number of processors of a request, exact for the whole numbers that are drawn; an
    /// error when the distribution of side lengths cannot be used on these sides.
    pub fn mean_processors(&self) -> Result<f64, SettingError> {
        match self {
            Requests::Submeshes(of) => Ok(of.samplers()?.iter().map(SideSampler::mean).product()),
            Requests::Subcubes(of) => Ok(of.mean_processors()),
            Requests::Counts(of) => Ok(of.distribution.mean(of.machine.nodes())),
            Requests::Mix(mix) => Ok(mix.mean_processors()),
        }
    }

    /// A function that draws the requests in the order of the jobs. `stream` makes the stream of a
    /// source by its number.
    pub(super) fn source(
        &self,
        stream: impl Fn(u8) -> Stream,
    ) -> Result<Box<dyn FnMut() -> Request>, SettingError> {
        Ok(match self {
            Requests::Submeshes(of) => {
                let sides = SIDE_SOURCES.into_iter().zip(of.samplers()?);
                let sides = sides.map(|(source, sampler)| stream(source).with(sampler));
                match <[_; 2]>::try_from(sides.collect::<Vec<_>>()) {
                    // The most frequent case has a faster way.
                    Ok([mut widths, mut heights]) => {
                        Box::new(move || Request::submesh(widths.draw(), heights.draw()))
                    }
                    Err(mut sides) => Box::new(move || request(sides.iter_mut().map(Source::draw))),
                }
            }
            Requests::Subcubes(of) => {
                let mut dims = stream(4).with(of.dims());
                let mut radices = stream(5).with(of.radices());
                Box::new(move || {
                    let dims: u16 = dims.draw();
                    request((0..dims).map(|_| radices.draw()))
                })
            }
            Requests::Counts(of) => {
                let (sampler, Stream(mut rng)) = (of.sampler()?, stream(21));
                Box::new(move || sampler(&mut rng))
            }
            Requests::Mix(mix) => {
                let sampler = mix.sampler().ok_or_else(|| {
                    let what = format!("the number of shapes of the mix {}", mix.source);
                    let expected = "shapes, which are read before jobs are drawn";
                    SettingError::out_of_range(&what, &["mix"], 0, expected)
                })?;
                let Stream(mut rng) = stream(25);
                Box::new(move || sampler(&mut rng))
            }
        })
    }
}

/// The numbers of the sources of sides, by dimension.
const SIDE_SOURCES: [u8; DIMENSIONS_MAX] =
    [1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];

/// The request with these extents.
fn request(extents: impl Iterator<Item = u16>) -> Request {
    let mut drawn = [0; DIMENSIONS_MAX];
    let mut len = 0;
    for (place, extent) in drawn.iter_mut().zip(extents) {
        *place = extent;
        len += 1;
    }
    let shape = Shape::new(&drawn[..len]);
    Request::new(shape.expect("no more extents and no larger ones than the machine's"))
}

#[cfg(test)]
mod tests;
