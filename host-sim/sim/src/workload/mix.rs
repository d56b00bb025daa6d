//! Mixes: shapes of jobs, or gangs of them (`3x 4x4x8`), with their weights. A mix is built in or
//! comes from a CSV file with the columns `shape` and `weight`. The file may have more columns.
//! `rings` has the rings that a job demands: `all`, or the numbers of the extents along which it
//! demands a ring, from 0, with `+` between them. `priority` is a head start in the queue: seconds,
//! or cycles where jobs send messages. `preemptible` is 1 if the job may be interrupted for a job
//! of a higher priority. `tolerate` is the number of faulty processors that each slice may have. A
//! job has a shape with a probability in proportion to its weight. The draws are source 25 of the
//! random numbers.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshalloc::{Class, Grid, Request, Shape};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::LogError;
use super::csv::{CsvFile, Row};
use super::empirical::{is_file_name, slice};
use super::shape_cells::{read_rings, read_shape};
use super::stream::fraction;
use super::text_file::{TextFile, bad};
use super::value::{self, PREEMPTIBLE, PRIORITY, TOLERATE};
use crate::input::FILE_BYTES_MAX;
use crate::names::grammar::{Form, Kind, Param, Value, Values, Written, param, written};
use crate::wording::counted;

/// Where a mix comes from.
///
/// ```
/// use meshalloc_sim::workload::MixSource;
/// let source: MixSource = "tpu-v4:16".parse().unwrap();
/// assert_eq!(source.to_string(), "tpu-v4:16");
/// assert_eq!("slices.csv".parse(), Ok(MixSource::File("slices.csv".into())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MixSource {
    /// A built-in mix, without the shapes that have a side longer than this.
    BuiltIn(BuiltInMix, Option<u16>),
    /// A CSV file.
    File(PathBuf),
    /// A CSV file that has been read.
    Text {
        /// Its name, for errors.
        name: PathBuf,
        /// Its contents.
        text: String,
    },
}

/// A mix that is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInMix {
    /// The popularity of the slices of a TPU v4 pod.
    TpuV4,
    /// The mix of the simulator of RFold.
    RFold,
}

impl BuiltInMix {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            BuiltInMix::TpuV4 => "tpu-v4",
            BuiltInMix::RFold => "rfold",
        }
    }
}

impl BuiltInMix {
    fn entries(self) -> Vec<MixEntry> {
        match self {
            BuiltInMix::TpuV4 => {
                // Table 2 of Jouppi and others, in percent.
                let table = include_str!("mix/tpu_v4.csv").as_bytes();
                let table = of_file(TextFile::new(table, Path::new("tpu-v4")));
                table.expect("the built-in table is well-formed")
            }
            BuiltInMix::RFold => rfold(),
        }
    }
}

const SIDE: &[Param] = &[param("side", Kind::Whole(1, u16::MAX as u32)).or("any")];

impl MixSource {
    /// The forms of mixes.
    pub const FORMS: &'static [Form] = <Self as Written>::FORMS;
}

impl Written for MixSource {
    const WHAT: &'static str = "mix";

    const FORMS: &'static [Form] = &[
        Form::new(
            "tpu-v4",
            SIDE,
            "popularity of the slices of a TPU v4 pod, twisted and untwisted ones of a shape together; tpu-v4:16 leaves out sides over 16",
            "Jouppi and others 2023, TPU v4: An Optically Reconfigurable Supercomputer for Machine Learning with Hardware Support for Embeddings, Table 2",
        ),
        Form::new(
            "rfold",
            SIDE,
            "1 to 4096 chips, small jobs in 1 or 2 dimensions, large ones in 2 or 3, on 64 cubes of 4x4x4; rfold:16 leaves out sides over 16",
            "Chen and others 2025, Toward Co-adapting Machine Learning Job Shape and Cluster Topology, its simulator",
        ),
    ];

    const OTHERS: &'static [&'static str] = &["FILE.csv"];

    fn of(name: &str, values: &Values) -> Result<Self, String> {
        let mix = match name {
            "tpu-v4" => BuiltInMix::TpuV4,
            _ => BuiltInMix::RFold,
        };
        Ok(MixSource::BuiltIn(
            mix,
            values.given(0).map(|side| side as u16),
        ))
    }

    fn other(text: &str) -> Option<Self> {
        is_file_name(text).then(|| MixSource::File(text.into()))
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        match self {
            MixSource::BuiltIn(mix, side) => {
                let side = side.map(|side| Value::Number(side.into()));
                (mix.name().into(), vec![side])
            }
            MixSource::File(path) | MixSource::Text { name: path, .. } => {
                (path.to_string_lossy().into_owned().into(), Vec::new())
            }
        }
    }
}

written!(MixSource);

/// A shape of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MixEntry {
    /// What a job asks for.
    pub request: Request,
    /// How often, in proportion to the others; 0 or more.
    pub weight: f64,
}

/// Shapes of jobs with their weights. The file that a mix was read from is not a part of its
/// record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mix {
    /// The machine.
    pub machine: Grid,
    /// Where it comes from.
    #[serde(skip)]
    pub source: MixSource,
    /// The shapes; none before they are read.
    #[serde(serialize_with = "slice")]
    pub entries: Arc<[MixEntry]>,
    /// The shapes that the machine never gives, which were left out.
    #[serde(skip)]
    pub dropped: Arc<[MixEntry]>,
    /// Whether shapes that the machine never gives are left out, or an error.
    #[serde(skip)]
    pub drop: bool,
}

/// The most shapes that an error lists.
const LISTED_MAX: usize = 12;

impl Mix {
    /// A mix that is not read yet.
    pub fn unread(machine: Grid, source: MixSource, drop: bool) -> Self {
        Mix {
            machine,
            source,
            entries: Arc::default(),
            dropped: Arc::default(),
            drop,
        }
    }

    /// The mix with its shapes. Shapes that are not legal are left out and counted, or are an error
    /// that lists them. A mix that has its shapes already keeps them.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, a shape is not legal and none is to be left out, or none
    /// remains.
    pub fn read(&self, is_legal: impl Fn(&Request) -> bool) -> Result<Self, MixError> {
        if !self.entries.is_empty() {
            return Ok(self.clone());
        }
        let all = match &self.source {
            MixSource::BuiltIn(mix, side_max) => {
                let side_max = side_max.unwrap_or(u16::MAX);
                let mut entries = mix.entries();
                entries.retain(|entry| {
                    entry
                        .request
                        .shape
                        .extents()
                        .iter()
                        .all(|&side| side <= side_max)
                });
                entries
            }
            MixSource::File(path) => of_file(TextFile::open(path)?)?,
            MixSource::Text { name, text } => of_file(TextFile::new(text.as_bytes(), name))?,
        };
        let count = all.len();
        let (kept, dropped): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|entry| is_legal(&entry.request));
        let mix = self.source.to_string();
        if !self.drop && !dropped.is_empty() {
            let shapes = dropped.iter().take(LISTED_MAX);
            let shapes = shapes.map(|entry| entry.request.to_string());
            let shapes = shapes.collect::<Vec<_>>().join(", ");
            let more = match dropped.len().saturating_sub(LISTED_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            return Err(MixError::NeverPlaced {
                mix,
                count: dropped.len(),
                shapes: format!("{shapes}{more}"),
            });
        }
        if weight(&kept) <= 0.0 {
            return Err(MixError::NonePlaced { mix, count });
        }
        Ok(Mix {
            entries: kept.into(),
            dropped: dropped.into(),
            ..self.clone()
        })
    }

    /// The part of the weight of all shapes that was left out, 0 to 1.
    pub fn dropped_share(&self) -> f64 {
        let dropped = weight(&self.dropped);
        dropped / (weight(&self.entries) + dropped)
    }

    /// The mean number of processors of a job.
    pub fn mean_processors(&self) -> f64 {
        let parts = self.entries.iter();
        let parts = parts.map(|entry| entry.weight * f64::from(entry.request.total()));
        parts.sum::<f64>() / weight(&self.entries)
    }

    /// A function that draws a request; `None` without shapes.
    pub(super) fn sampler(&self) -> Option<impl Fn(&mut ChaCha8Rng) -> Request + use<>> {
        let mut sum = 0.0;
        let up_to = |entry: &MixEntry| {
            sum += entry.weight;
            (sum, entry.request)
        };
        let cumulative: Vec<_> = self.entries.iter().map(up_to).collect();
        let &(all, last) = cumulative.last().filter(|(all, _)| *all > 0.0)?;
        Some(move |rng: &mut ChaCha8Rng| {
            let at = fraction(rng) * all;
            let place = cumulative.partition_point(|(up_to, _)| *up_to <= at);
            // What rounding leaves at the top goes to the last shape.
            cumulative.get(place).map_or(last, |(_, request)| *request)
        })
    }
}

fn weight(entries: &[MixEntry]) -> f64 {
    entries.iter().fold(0.0, |sum, entry| sum + entry.weight)
}

/// Why a mix cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MixError {
    /// Its file cannot be read.
    #[error(transparent)]
    File(#[from] LogError),
    /// Some of its shapes are never placed.
    #[error("{mix}: {} can never be placed ({shapes})", counted(count, "shape"))]
    NeverPlaced {
        /// Where it comes from.
        mix: String,
        /// The number of these shapes.
        count: usize,
        /// These shapes, or the first of many.
        shapes: String,
    },
    /// Jobs that send messages or use I/O nodes are gangs.
    #[error(
        "gangs such as 3x 4x4x8 send no messages and use no I/O nodes (expected jobs of one slice)"
    )]
    GangsSendNothing,
    /// No shape is left.
    #[error("{mix}: none of its {count} shapes can be placed, or their weights are 0")]
    NonePlaced {
        /// Where it comes from.
        mix: String,
        /// The number of its shapes.
        count: usize,
    },
}

/// Whether some orientation of the shape fits on the machine: the longest extent along the longest
/// side, and so on.
///
/// ```
/// use meshalloc::{Grid, Shape};
/// use meshalloc_sim::workload::fits_turned;
/// let machine = Grid::torus(&[4, 8, 2]).unwrap();
/// assert!(fits_turned(machine, Shape::new(&[2, 4, 8]).unwrap()));
/// assert!(!fits_turned(machine, Shape::new(&[3, 4, 3]).unwrap()));
/// ```
pub fn fits_turned(machine: Grid, shape: Shape) -> bool {
    let descending = |lengths: &[u16]| {
        let mut lengths = lengths.to_vec();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths
    };
    let (sides, extents) = (descending(machine.sides()), descending(&shape.extents()));
    let extents = extents.iter().filter(|&&extent| extent > 1);
    let count = extents.clone().count();
    count <= sides.len() && extents.zip(&sides).all(|(extent, side)| extent <= side)
}

/// The shapes of a CSV file with the columns `shape` and `weight`.
fn of_file<R: std::io::Read>(file: TextFile<'_, R>) -> Result<Vec<MixEntry>, LogError> {
    let mut csv = CsvFile::new(file.up_to(FILE_BYTES_MAX as u64))?;
    let places = || {
        let others = ["rings", "priority", "preemptible", "tolerate"];
        let [rings, priority, preemptible, tolerate] = others.map(|name| csv.place(name));
        let others = [rings?, priority?, preemptible?, tolerate?];
        Ok((csv.required("shape")?, csv.required("weight")?, others))
    };
    let (shape, weight, [rings, priority, preemptible, tolerate]) =
        places().map_err(|reason| csv.wrong(reason))?;
    let entry = |row: &Row| {
        let (slices, shape) = read_shape(row.cell(shape))?;
        let cell = |place: Option<usize>| place.map_or("", |place| row.cell(place));
        let word = cell(priority);
        let priority = value::priority(word).ok_or_else(|| bad("priority", word, PRIORITY))?;
        let word = cell(preemptible);
        let is_preemptible = value::preemptible(word);
        let is_preemptible = is_preemptible.ok_or_else(|| bad("preemptible", word, PREEMPTIBLE))?;
        // A build without priorities reads none.
        let class = Class::new(priority, is_preemptible).unwrap_or_default();
        let word = cell(tolerate);
        let tolerance = value::tolerance(word).ok_or_else(|| bad("tolerate", word, TOLERATE))?;
        Ok(MixEntry {
            request: Request::new(shape)
                .with_slices(slices)
                .with_tolerance(tolerance)
                .with_class(class)
                .with_flags(read_rings(cell(rings))?),
            weight: read_weight(row.cell(weight))?,
        })
    };
    let mut entries = Vec::new();
    let mut row = Row::new();
    while csv.next_row(&mut row)? {
        let entry = entry(&row).map_err(|reason| csv.wrong(reason))?;
        csv.file().push(&mut entries, entry, "shapes")?;
    }
    Ok(entries)
}

fn read_weight(cell: &str) -> Result<f64, String> {
    let weight = cell.parse::<f64>().ok();
    let weight = weight.filter(|weight| weight.is_finite() && *weight >= 0.0);
    weight.ok_or_else(|| bad("weight", cell, "a number, 0 or more"))
}

fn entry(extents: &[u16], weight: f64) -> MixEntry {
    let shape = Shape::new(extents).expect("a shape of a mix has three extents");
    MixEntry {
        request: Request::new(shape),
        weight,
    }
}

/// The chips along a side of a cube of RFold's machine, and the number of cubes.
const RFOLD_CUBE: u32 = 4;
const RFOLD_CUBES: u32 = 64;
const RFOLD_CHIPS: u32 = RFOLD_CUBES * RFOLD_CUBE.pow(3);

/// The mix of RFold's simulator. The sizes are 1, 2 and the even numbers up to 4096 that have a
/// shape. The place of a job's size in this list is exponential with a quarter of the list as the
/// mean, rounded down, and within the list. Then a dimension is drawn, and one of the shapes with
/// this size and dimension, each equally likely. Shapes that differ only in the order of sides are
/// the same shape.
fn rfold() -> Vec<MixEntry> {
    let shapes = rfold_shapes();
    let count = shapes.len() as f64;
    let beyond = |place: f64| (-4.0 * place / count).exp();
    let mut entries = Vec::new();
    for (place, (chips, by_dimension)) in shapes.iter().enumerate() {
        let place = place as f64;
        let size = (beyond(place) - beyond(place + 1.0)) / (1.0 - beyond(count));
        // The two dimensions of jobs of this size, and the probability of the lower.
        let (lower, part) = match chips {
            ..=256 => (1, 0.8),
            257..=1024 => (2, 0.8),
            _ => (2, 0.2),
        };
        let [low, high] = [&by_dimension[lower - 1], &by_dimension[lower]];
        let parts = match (low.is_empty(), high.is_empty()) {
            (false, false) => [part, 1.0 - part],
            (false, true) => [1.0, 0.0],
            _ => [0.0, 1.0],
        };
        for (shapes, part) in [low, high].into_iter().zip(parts) {
            let each = size * part / shapes.len() as f64;
            entries.extend(shapes.iter().map(|extents| entry(extents, each)));
        }
    }
    entries
}

/// For each size its shapes of one to three dimensions: sides over 1 even, ascending, on at most as
/// many cubes as the machine has.
fn rfold_shapes() -> Vec<(u32, [Vec<[u16; 3]>; 3])> {
    let mut by_size = vec![<[Vec<[u16; 3]>; 3]>::default(); RFOLD_CHIPS as usize + 1];
    let cubes = |side: u32| side.div_ceil(RFOLD_CUBE);
    let sides = || std::iter::once(1).chain((2..=RFOLD_CUBE * RFOLD_CUBES).step_by(2));
    for a in sides() {
        for b in sides().filter(|&b| b >= a && cubes(a) * cubes(b) <= RFOLD_CUBES) {
            for c in sides().filter(|&c| c >= b) {
                if cubes(a) * cubes(b) * cubes(c) > RFOLD_CUBES {
                    break;
                }
                let extents = [a, b, c].map(|side| side as u16);
                let dimensions = extents.iter().filter(|&&side| side > 1).count().max(1);
                by_size[(a * b * c) as usize][dimensions - 1].push(extents);
            }
        }
    }
    let by_size = by_size.into_iter().enumerate();
    let by_size = by_size.map(|(chips, shapes)| (chips as u32, shapes));
    by_size
        .filter(|(_, shapes)| shapes.iter().any(|shapes| !shapes.is_empty()))
        .collect()
}

#[cfg(test)]
mod tests;
