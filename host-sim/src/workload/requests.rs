//! What the jobs of a synthetic workload ask for: submeshes of a mesh, or subcubes of a k-ary n-cube.
//!
//! Numbers of dimensions and radices are drawn as side lengths are: whole numbers out of a range.

use std::fmt;
use std::str::FromStr;

use meshalloc::{Cube, DIMENSIONS_MAX, Machine, Mesh, Radices, Request};

use super::distributions::SideSampler;
use super::synthetic::{Source, Stream};
use super::{DistributionInfo, SideRange, SizeDistribution, Spread, WorkloadError};

/// The machine whose load is meant, and what is asked of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Requests {
    /// Of a mesh.
    Submeshes(Submeshes),
    /// Of a cube.
    Subcubes(Subcubes),
}

/// Requests for submeshes; width and height are independent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Submeshes {
    /// The mesh.
    pub mesh: Mesh,
    /// How side lengths are distributed.
    pub sizes: SizeDistribution,
    /// Which widths may be drawn.
    pub widths: SideRange,
    /// Which heights may be drawn.
    pub heights: SideRange,
}

impl Submeshes {
    /// Sides are 1 to the mesh's.
    pub fn new(mesh: Mesh, sizes: SizeDistribution) -> Self {
        let up_to = |side| SideRange::new(1, side).expect("a mesh's sides are at least 1");
        Submeshes {
            mesh,
            sizes,
            widths: up_to(mesh.sides().w),
            heights: up_to(mesh.sides().h),
        }
    }
}

/// Requests for subcubes as Chuang and Wu draw them: first the number m of dimensions, out of `1..=n`, then m
/// radices out of `2..=k`, independent of each other and of m. A request names them in the order in which they were
/// drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subcubes {
    /// The cube.
    pub cube: Cube,
    /// How the number of dimensions is distributed.
    pub dims: TaskDistribution,
    /// How each radix is distributed.
    pub radices: TaskDistribution,
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
pub enum TaskDistribution {
    /// Every number is equally likely.
    #[default]
    Uniform,
    /// Normal: the mean in the middle of the range, the standard deviation a quarter of the range (the largest less
    /// the smallest), rounded half up, drawn again outside. A range of one number is that number.
    Normal,
}

impl TaskDistribution {
    /// Every distribution by name.
    pub const LIST: &'static [DistributionInfo] = &[
        DistributionInfo {
            name: "uniform",
            meaning: "every number of dimensions 1..n, or every radix 2..k, equally likely",
            source: CHUANG_WU,
        },
        DistributionInfo {
            name: "normal",
            meaning: "mean in the middle of the range, standard deviation a quarter of the range",
            source: CHUANG_WU,
        },
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            TaskDistribution::Uniform => "uniform",
            TaskDistribution::Normal => "normal",
        }
    }

    /// Over the numbers `min..=max`, of which there is one at least.
    fn over(self, min: u16, max: u16) -> SideSampler {
        let sizes = match self {
            TaskDistribution::Normal if min < max => SizeDistribution::Normal {
                mean: None,
                spread: Spread::Deviation(f64::from(max - min) / 4.0),
            },
            _ => SizeDistribution::Uniform,
        };
        let range = SideRange::new(min, max);
        let sampler = range.and_then(|range| sizes.over(range));
        sampler.expect("two deviations to each side of the mean lie within the range")
    }
}

pub(super) const CHUANG_WU: &str =
    "Chuang and Wu, Processor Allocation in k-ary n-cube Multiprocessors";

impl FromStr for TaskDistribution {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let known = [TaskDistribution::Uniform, TaskDistribution::Normal];
        let found = known.into_iter().find(|known| known.name() == text);
        found.ok_or_else(|| WorkloadError::UnknownName {
            what: "distribution of tasks",
            given: text.into(),
            expected: "uniform or normal".into(),
        })
    }
}

impl fmt::Display for TaskDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Requests {
    /// The machine.
    pub fn machine(&self) -> Machine {
        match self {
            Requests::Submeshes(submeshes) => submeshes.mesh.into(),
            Requests::Subcubes(subcubes) => subcubes.cube.into(),
        }
    }

    /// The mean number of processors of a request, exact for the whole numbers that are drawn.
    ///
    /// # Errors
    ///
    /// When the size distribution cannot be used on these sides.
    pub fn mean_processors(&self) -> Result<f64, WorkloadError> {
        match self {
            Requests::Submeshes(of) => {
                let width = of.sizes.over(of.widths)?.mean();
                Ok(width * of.sizes.over(of.heights)?.mean())
            }
            Requests::Subcubes(of) => Ok(of.mean_processors()),
        }
    }

    /// The requests in the order of the jobs; `stream` gives the stream of a source by its number.
    pub(super) fn source(
        &self,
        stream: impl Fn(u8) -> Stream,
    ) -> Result<RequestSource, WorkloadError> {
        Ok(match self {
            Requests::Submeshes(of) => RequestSource::Submeshes {
                widths: stream(1).with(of.sizes.over(of.widths)?),
                heights: stream(2).with(of.sizes.over(of.heights)?),
            },
            Requests::Subcubes(of) => RequestSource::Subcubes {
                dims: stream(4).with(of.dims()),
                radices: stream(5).with(of.radices()),
            },
        })
    }
}

/// Requests, without end.
#[derive(Clone, Debug)]
pub(super) enum RequestSource {
    Submeshes {
        widths: Source<SideSampler>,
        heights: Source<SideSampler>,
    },
    Subcubes {
        dims: Source<SideSampler>,
        radices: Source<SideSampler>,
    },
}

impl RequestSource {
    #[inline]
    pub(super) fn next(&mut self) -> Request {
        match self {
            RequestSource::Submeshes { widths, heights } => {
                Request::submesh(draw(widths), draw(heights))
            }
            RequestSource::Subcubes { dims, radices } => subcube(dims, radices),
        }
    }
}

#[inline]
fn draw(source: &mut Source<SideSampler>) -> u16 {
    source.distribution.sample(&mut source.rng)
}

/// Apart, so that what draws sides stays short enough to be inlined.
#[inline(never)]
fn subcube(dims: &mut Source<SideSampler>, radices: &mut Source<SideSampler>) -> Request {
    let mut drawn = [0; DIMENSIONS_MAX];
    let drawn = &mut drawn[..usize::from(draw(dims))];
    drawn.fill_with(|| draw(radices));
    let radices = Radices::new(drawn);
    Request::subcube(radices.expect("no more dimensions and no larger radices than the cube's"))
}

#[cfg(test)]
mod tests;
