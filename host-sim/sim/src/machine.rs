//! Machines as one text: [`MachineSource`] is a grid or the source of a description, and
//! [`Described`] is a machine with a description, whose slices follow rules.
//!
//! A description is a preset, a TOML file with the keys of [`MachineKeys`], or a torus of Slurm's
//! `topology.yaml`:
//!
//! ```toml
//! name = "pod"
//! sides = [16, 16, 16]
//! wraps = [true, true, true]    # default: false each
//! rotate = true                 # whether a request may be turned; default: true
//! cube = [4, 4, 4]              # switches join cubes of these sides
//! shapes = ["1x1x2", "2x2x4"]   # legal shapes that need not be multiples
//! multiple = [4, 4, 4]          # the sides of all other legal shapes are multiples of these
//! align = [1, 1, 1]             # slices begin at multiples of these, or of a shorter side
//! chips-max = 3072              # the most processors of a slice
//! placements = [{ dims = [2, 2, 1], seed = [0, 0, 0], spacing = [2, 2, 1] }]  # of torus3d
//! ```

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use meshalloc::{Description, DescriptionError, Grid, GridTextError, Hole, Placement, Shape};
use serde::{Deserialize, Serialize, Serializer};
use toml::de::DeTable;

use crate::input;
use crate::names;
use crate::wording::counted;
use crate::workload::empirical::names_file;

#[cfg(feature = "slurm")]
mod hostlist;
#[cfg(feature = "slurm")]
mod slurm;
#[cfg(feature = "slurm")]
mod yaml;

/// A machine as it is written: a grid, or the source of its description.
///
/// Words of a grid may have hyphens, underscores or colons between them, so that a shell needs no
/// quotes.
///
/// ```
/// use meshalloc_sim::machine::MachineSource;
/// let cube: MachineSource = "4-ary-3-cube".parse().unwrap();
/// assert_eq!(cube.to_string(), "4-ary 3-cube");
/// assert_eq!("mesh:4x4".parse::<MachineSource>().unwrap().to_string(), "mesh 4x4");
/// let preset: MachineSource = "tpu-v4".parse().unwrap();
/// assert_eq!(preset.read().unwrap().0.nodes(), 4096);
/// let torus: MachineSource = "topology.yaml:rack2".parse().unwrap();
/// assert_eq!(torus.to_string(), "topology.yaml:rack2");
/// assert!("tpu-v9".parse::<MachineSource>().unwrap_err().contains("did you mean"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineSource {
    /// A mesh, torus or cube without rules for slices, in the words of [`Grid`].
    Grid(Grid),
    /// One of [`Description::PRESETS`].
    Preset(&'static str),
    /// A TOML file.
    Toml(PathBuf),
    /// A TOML file that has been read.
    Text {
        /// The name of the file, for errors.
        name: PathBuf,
        /// Its contents.
        text: String,
    },
    /// Slurm's `topology.yaml`: a torus by its name, or the first one.
    Slurm {
        /// The file.
        path: PathBuf,
        /// The name of the torus.
        torus: Option<String>,
    },
}

fn is_yaml(path: &str) -> bool {
    let extension = Path::new(path).extension();
    extension.is_some_and(|of| of.eq_ignore_ascii_case("yaml") || of.eq_ignore_ascii_case("yml"))
}

impl FromStr for MachineSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let presets = Description::PRESETS;
        if let Some(name) = presets
            .into_iter()
            .find(|&name| name == names::canonical(text))
        {
            return Ok(MachineSource::Preset(name));
        }
        let (path, torus) = match text.rsplit_once(':') {
            Some((path, name)) if is_yaml(path) && !name.is_empty() => (path, Some(name.into())),
            _ => (text, None),
        };
        if is_yaml(path) {
            let path = path.into();
            return Ok(MachineSource::Slurm { path, torus });
        }
        if names_file(text) {
            return Ok(MachineSource::Toml(text.into()));
        }
        let canonical = names::canonical(text);
        let is_between = |of: char| matches!(of, '-' | ':') || of.is_whitespace();
        let words: Vec<_> = canonical.split(is_between).collect();
        let grid = match *words {
            [k, "ary", n, "cube"] => format!("{k}-ary {n}-cube"),
            ["mesh" | "torus", ..] => words.join(" "),
            [_] if names::sides(text).is_ok() => {
                return Err(format!(
                    "unknown machine {text:?}; did you mean \"mesh {text}\"?"
                ));
            }
            _ => {
                let mut known = presets.to_vec();
                known.extend(MachineSource::FORMS);
                return Err(names::unknown("machine", text, &known));
            }
        };
        let grid = grid.parse().map_err(|error| match error {
            GridTextError::Unknown => error.to_string(),
            other => format!("{other} ({})", GridTextError::Unknown),
        });
        grid.map(MachineSource::Grid)
    }
}

impl fmt::Display for MachineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MachineSource::Grid(grid) => f.pad(&grid.to_string()),
            MachineSource::Preset(name) => f.pad(name),
            MachineSource::Toml(path)
            | MachineSource::Text { name: path, .. }
            | MachineSource::Slurm { path, torus: None } => f.pad(&path.to_string_lossy()),
            MachineSource::Slurm {
                path,
                torus: Some(torus),
            } => f.pad(&format!("{}:{torus}", path.display())),
        }
    }
}

impl MachineSource {
    /// How machines are written, except the names of presets.
    pub const FORMS: [&str; 7] = [
        "mesh WxH...",
        "mesh WxH... wrap D,...",
        "torus WxH...",
        "K-ary N-cube",
        "FILE.toml",
        "FILE.yaml",
        "FILE.yaml:TORUS",
    ];

    /// The file, if the description is in one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            MachineSource::Grid(_) | MachineSource::Preset(_) | MachineSource::Text { .. } => None,
            MachineSource::Toml(path) | MachineSource::Slurm { path, .. } => Some(path),
        }
    }

    /// The grid, and the description if there is one.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or describes no machine: one line, with the file and its line.
    pub fn read(&self) -> Result<(Grid, Option<Described>), String> {
        let file = |path: &Path| {
            let text = input::text(path);
            text.map_err(|error| format!("{}: cannot read the machine: {error}", path.display()))
        };
        let (path, read) = match self {
            MachineSource::Grid(grid) => return Ok((*grid, None)),
            MachineSource::Preset(name) => {
                let preset = Description::preset(name).expect("the name is that of a preset");
                return Ok((*preset.grid(), Some(Described::new(*name, preset))));
            }
            MachineSource::Toml(path) => (path, of_toml(&file(path)?)),
            MachineSource::Text { name, text } => (name, of_toml(text)),
            MachineSource::Slurm { path, torus } => {
                (path, of_slurm(&file(path)?, torus.as_deref()))
            }
        };
        let described = read.map_err(|Wrong { line, reason }| match line {
            Some(line) => format!("{}:{line}: {reason}", path.display()),
            None => format!("{}: {reason}", path.display()),
        });
        let (name, description) = described?;
        let stem = || path.file_stem().unwrap_or_default().to_string_lossy();
        let name = name.unwrap_or_else(|| stem().into_owned());
        Ok((*description.grid(), Some(Described::new(name, description))))
    }
}

#[cfg(feature = "slurm")]
use slurm::read as of_slurm;

#[cfg(not(feature = "slurm"))]
fn of_slurm(_: &str, _: Option<&str>) -> Result<(Option<String>, Description), Wrong> {
    let reason = "this program cannot read Slurm's topology.yaml (expected TOML, or a program \
                  built with --features slurm)"
        .to_owned();
    Err(Wrong { line: None, reason })
}

/// A machine with a name, which its serde form, that of [`MachineKeys`], leaves out.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The name in results.
    pub name: String,
    /// The grid and the rules.
    pub description: Description,
}

impl Described {
    /// Gives this machine this name.
    pub fn new(name: impl Into<String>, description: Description) -> Self {
        Described {
            name: name.into(),
            description,
        }
    }

    /// Whether only certain shapes are legal, so that a random one mostly is not.
    pub fn has_rules(&self) -> bool {
        !self.description.shapes().is_empty() || self.description.multiple().is_some()
    }
}

/// The name, the grid, and the rules in a few words.
impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let description = &self.description;
        let sides = |sides: &[u16]| {
            let sides: Vec<_> = sides.iter().map(u16::to_string).collect();
            sides.join("x")
        };
        write!(f, "{}, {}", self.name, description.grid())?;
        if let Some(cube) = description.cube() {
            write!(f, ", cubes {}", sides(cube))?;
        }
        let shapes = description.shapes().iter().map(Shape::to_string);
        let multiple = description
            .multiple()
            .map(|of| format!("multiples of {}", sides(of)));
        let legal: Vec<_> = shapes.chain(multiple).collect();
        if legal.is_empty() {
            f.write_str(", slices of any shape")?;
        } else {
            write!(f, ", slices {}", legal.join(", "))?;
        }
        if !description.rotates() {
            f.write_str(", never turned")?;
        }
        if description.align().iter().any(|&of| of > 1) {
            write!(
                f,
                ", that begin at multiples of {}",
                sides(description.align())
            )?;
        }
        if description.chips_max() < description.grid().nodes() {
            write!(f, ", up to {} processors", description.chips_max())?;
        }
        let absent = description.absent_processors();
        if absent > 0 {
            write!(f, ", without {}", counted(absent, "processor"))?;
        }
        match description.placements().len() {
            0 => Ok(()),
            count => write!(f, ", {}", counted(count, "placement")),
        }
    }
}

impl Serialize for Described {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MachineKeys::of(None, &self.description).serialize(serializer)
    }
}

/// What a file says of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MachineKeys {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The sides by dimension, 1 to 4 of them.
    pub sides: Vec<u16>,
    /// Which dimensions wrap around; by default none.
    #[serde(default)]
    pub wraps: Vec<bool>,
    /// Whether a request may be turned; by default it may.
    #[serde(default = "rotates")]
    pub rotate: bool,
    /// The sides of a cube, if switches join cubes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cube: Option<Vec<u16>>,
    /// Legal shapes that need not be multiples. Without these and `multiple` every shape is legal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<String>,
    /// The sides of all other legal shapes are multiples of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiple: Option<Vec<u16>>,
    /// A slice begins at multiples of these, or of its own side where that is smaller; by default
    /// 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align: Option<Vec<u16>>,
    /// The most processors of a slice; by default all. Machine files write `chips-max`.
    #[serde(
        rename(serialize = "chips_max", deserialize = "chips-max"),
        skip_serializing_if = "Option::is_none"
    )]
    pub chips_max: Option<u32>,
    /// Boxes of the grid in which the machine has no processors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<HoleKeys>,
    /// The places of the strategy `torus3d`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<PlacementKeys>,
}

/// A box of the grid in which the machine has no processors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HoleKeys {
    /// The coordinates of its first processor.
    pub start: Vec<u16>,
    /// Its sides; by default 1 along each dimension.
    #[serde(default)]
    pub sides: Vec<u16>,
}

/// Places at which slices of one shape may stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlacementKeys {
    /// The sides of a slice.
    pub dims: Vec<u16>,
    /// The start of the first place; by default 0 along each dimension.
    #[serde(default)]
    pub seed: Vec<u16>,
    /// The distance from one place to the next; by default, and where it is 0, the slice's side.
    #[serde(default)]
    pub spacing: Vec<u16>,
}

const fn rotates() -> bool {
    true
}

impl MachineKeys {
    /// The keys that describe this machine.
    pub fn of(name: Option<&str>, machine: &Description) -> Self {
        let grid = machine.grid();
        let n = grid.dimensions();
        let align = machine.align();
        let chips_max = machine.chips_max();
        MachineKeys {
            name: name.map(str::to_owned),
            sides: grid.sides().to_vec(),
            wraps: (0..n).map(|dimension| grid.wraps(dimension)).collect(),
            rotate: machine.rotates(),
            cube: machine.cube().map(<[u16]>::to_vec),
            shapes: machine.shapes().iter().map(Shape::to_string).collect(),
            multiple: machine.multiple().map(<[u16]>::to_vec),
            align: align.iter().any(|&of| of > 1).then(|| align.to_vec()),
            chips_max: (chips_max < grid.nodes()).then_some(chips_max),
            absent: machine
                .absent()
                .iter()
                .map(|hole| HoleKeys {
                    start: hole.start()[..n].to_vec(),
                    sides: hole.sides()[..n].to_vec(),
                })
                .collect(),
            placements: machine
                .placements()
                .iter()
                .map(|placement| PlacementKeys {
                    dims: placement.dims()[..n].to_vec(),
                    seed: placement.seed()[..n].to_vec(),
                    spacing: placement.spacing()[..n].to_vec(),
                })
                .collect(),
        }
    }

    /// The machine that the keys describe. The error is the wrong key, and why it is wrong.
    fn description(&self) -> Result<Description, (&'static str, String)> {
        let at = |key: &'static str| move |error: DescriptionError| (key, error.to_string());
        let count = self.sides.len();
        if !self.wraps.is_empty() && self.wraps.len() != count {
            let reason = format!(
                "{} (expected {count}, one for each side, each true or false)",
                counted(self.wraps.len(), "value")
            );
            return Err(("wraps", reason));
        }
        let wraps = self.wraps.iter().zip(0..16);
        let wraps = wraps.fold(0, |bits, (&wraps, at)| bits | u16::from(wraps) << at);
        let grid = Grid::new(&self.sides, wraps).map_err(|error| ("sides", error.to_string()))?;
        let mut description = Description::new(grid).map_err(at("sides"))?;
        description = description.with_rotation(self.rotate);
        if let Some(cube) = &self.cube {
            description = description.with_cube(cube).map_err(at("cube"))?;
        }
        let shape = |text: &String| {
            text.to_ascii_lowercase().parse::<Shape>().map_err(|error| {
                let reason = format!("{text:?}: {error} (expected a shape such as \"2x2x4\")");
                ("shapes", reason)
            })
        };
        let shapes = self.shapes.iter().map(shape);
        let shapes = shapes.collect::<Result<Vec<_>, _>>()?;
        description = description.with_shapes(&shapes).map_err(at("shapes"))?;
        if let Some(multiple) = &self.multiple {
            description = description
                .with_multiple(multiple)
                .map_err(at("multiple"))?;
        }
        if let Some(align) = &self.align {
            description = description.with_align(align).map_err(at("align"))?;
        }
        match self.chips_max {
            None => {}
            Some(0) => return Err(("chips-max", "0 (expected at least 1)".to_owned())),
            Some(chips) => description = description.with_chips_max(chips),
        }
        let holes = self.absent.iter().map(|of| {
            if of.start.len() == count {
                Hole::new(&of.start, &of.sides)
            } else {
                Err(DescriptionError::Dimensions)
            }
        });
        let holes = holes.collect::<Result<Vec<_>, _>>();
        let holes = holes.map_err(at("absent"))?;
        description = description.with_absent(&holes).map_err(at("absent"))?;
        let placements = self.placements.iter().map(|of| {
            let n = [&of.dims, &of.seed, &of.spacing].map(Vec::len);
            if n[0] == count {
                Placement::new(&of.dims, &of.seed, &of.spacing)
            } else {
                Err(DescriptionError::Dimensions)
            }
        });
        let placements = placements.collect::<Result<Vec<_>, _>>();
        let placements = placements.map_err(at("placements"))?;
        description
            .with_placements(&placements)
            .map_err(at("placements"))
    }
}

/// An error in a file, with its line.
struct Wrong {
    line: Option<usize>,
    reason: String,
}

/// The number of the line, from 1, in which the byte `at` is.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.bytes().take(at);
    1 + before.filter(|&byte| byte == b'\n').count()
}

/// The machine of a TOML file, with the name that it gives.
fn of_toml(text: &str) -> Result<(Option<String>, Description), Wrong> {
    let table = DeTable::parse(text).ok();
    let keys: MachineKeys = toml::from_str(text).map_err(|error| {
        let start = error.span().map(|span| span.start);
        let reason = error.message().replace('\n', ", ");
        // The reason in the words of the file.
        let reason = reason
            .replace("expected a sequence", "expected a list")
            .replace("expected u16", "expected a whole number")
            .replace("expected u32", "expected a whole number");
        let in_value = table.as_ref().zip(start).and_then(|(table, start)| {
            let mut values = table.get_ref().iter();
            values.find(|(_, value)| value.span().contains(&start))
        });
        Wrong {
            line: start.map(|start| line_of(text, start)),
            reason: match in_value {
                Some((key, _)) => format!("{}: {reason}", key.get_ref()),
                None => reason,
            },
        }
    })?;
    match keys.description() {
        Ok(machine) => Ok((keys.name, machine)),
        Err((key, reason)) => {
            let place = table.as_ref().and_then(|table| {
                let mut keys = table.get_ref().keys();
                keys.find(|of| **of.get_ref() == *key)
            });
            Err(Wrong {
                line: place.map(|key| line_of(text, key.span().start)),
                reason: format!("{key}: {reason}"),
            })
        }
    }
}

#[cfg(test)]
mod tests;
