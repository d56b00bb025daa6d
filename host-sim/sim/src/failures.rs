//! Failures over time: what fails and is repaired, and what happens to the jobs that a failure
//! hits.
//!
//! # What fails
//!
//! A [`Unit`] is a processor, a link, or a box of processors such as a cube. When a unit fails, all
//! of its processors fail with it. With a link, the lower of its two ends fails, from which the
//! link leads upwards along its dimension. While a unit of a processor has failed, the processor is
//! down: it is not given to jobs, and a job that holds it is interrupted.
//!
//! At time 0 everything works. Units fail and are repaired independently of each other and of the
//! jobs, after exponential times (source 254 of the random numbers), or at the times of a file.
//! Failures and repairs come after the departures and arrivals of the same time.
//!
//! # What becomes of a job
//!
//! The work that the job has done since its start or its last complete [`Checkpoint`] is lost. The
//! job starts again as [`Restart`] says, with the same estimate in its request.
//!
//! # Spares
//!
//! With [`Restart::Spare`] the machine is cut into cubes (or other boxes). Cubes that differ only
//! along dimension 0 form a row. The last cube of a row is a spare, which is given to no job. When
//! a cube fails, a spare of its row that works takes its place (optical switches), and the jobs on
//! it start again at once. If there is no such spare, the place is down until a cube of the row is
//! repaired. The repaired cube goes to the place that has waited longest. Spares fail, too. A
//! repaired cube that no place waits for is a spare from then on.
//!
//! ```text
//!   row of 4 cubes          0  1  2  s     places 0 to 2 are served, s is the spare
//!   cube 1 fails            0  s  2  x     the spare takes place 1, and its jobs start again
//!   cube 2 fails            0  s  x  x     place 2 is down
//!   cube 1 is repaired      0  s  1  x     it takes place 2
//! ```

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use meshalloc::{Grid, Shape, Ticks};
use serde::{Serialize, Serializer};

use crate::error::SettingError;
use crate::names::grammar::{Form, Kind, Param, Value, Values, Written, numbers, param, written};
use crate::names::{canonical, named, sides, unknown};
use crate::wording::Number;
use crate::workload::empirical::{is_file_name, slice};
use crate::workload::{LogError, TIME_MAX, TimeUnit};

pub mod file;
mod random;
mod spares;
mod timeline;
mod units;

pub use file::Recorded;
pub use timeline::Timeline;
pub(crate) use units::Effect;
use units::Units;

/// The unit that fails as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A processor.
    Node,
    /// A link between two neighbours.
    Link,
    /// A cube of the machine's description.
    Cube,
    /// A box of these sides. The machine is cut into such boxes.
    Box(Shape),
}

const UNITS: [&str; 4] = ["node", "link", "cube", "sides such as 4x4x4"];

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match &*canonical(text) {
            "node" => Ok(Unit::Node),
            "link" => Ok(Unit::Link),
            "cube" => Ok(Unit::Cube),
            other => sides(other)
                .map(Unit::Box)
                .map_err(|_| unknown("unit of failures", other, &UNITS)),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Node => f.pad("node"),
            Unit::Link => f.pad("link"),
            Unit::Cube => f.pad("cube"),
            Unit::Box(sides) => fmt::Display::fmt(sides, f),
        }
    }
}

/// The source of failures: which units fail, and when.
///
/// ```
/// use meshalloc_sim::failures::FailureSource;
/// let source: FailureSource = "node:86400,3600".parse().unwrap();
/// assert_eq!(source.to_string(), "node:86400,3600");
/// let source: FailureSource = "failures.csv".parse().unwrap();
/// assert_eq!(source.path().unwrap().to_str(), Some("failures.csv"));
/// assert!("node:0,1".parse::<FailureSource>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum FailureSource {
    /// Each unit fails and is repaired after exponential times.
    Random {
        /// What fails.
        unit: Unit,
        /// The mean time from a unit's repair to its next failure, in seconds, at least 1.
        up_seconds: f64,
        /// The mean time of a repair, in seconds, at least 1.
        down_seconds: f64,
    },
    /// At recorded times.
    File {
        /// The file.
        path: PathBuf,
        /// The events of the file in order; empty before the file is read.
        events: Arc<[Recorded]>,
    },
}

impl FailureSource {
    /// The file, if failures come from a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            FailureSource::Random { .. } => None,
            FailureSource::File { path, .. } => Some(path),
        }
    }
}

/// Mean times between failures and of repairs, in seconds.
const UP_DOWN: &[Param] = &[param("up", MEAN), param("down", MEAN)];
const MEAN: Kind = Kind::Time(1.0, 2e9);

impl Written for FailureSource {
    const WHAT: &'static str = "source of failures";

    const FORMS: &'static [Form] = &[
        Form::new("node", UP_DOWN, "processors fail", ""),
        Form::new(
            "link",
            UP_DOWN,
            "links fail, each with the processor at its lower end",
            "",
        ),
        Form::new(
            "cube",
            UP_DOWN,
            "cubes of the machine's description fail",
            "",
        ),
        Form::new(
            "AxB...",
            UP_DOWN,
            "boxes of these sides fail, such as 4x4x4",
            "",
        ),
    ];

    const OTHERS: &'static [&'static str] = &["FILE.csv"];

    fn of(name: &str, values: &Values) -> Result<Self, String> {
        Ok(FailureSource::Random {
            unit: name.parse()?,
            up_seconds: values.number(0),
            down_seconds: values.number(1),
        })
    }

    fn placeholder(name: &str) -> Option<&'static str> {
        sides(name).ok().map(|_| "AxB...")
    }

    fn other(text: &str) -> Option<Self> {
        is_file_name(text).then(|| FailureSource::File {
            path: text.into(),
            events: Arc::default(),
        })
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        match self {
            &FailureSource::Random {
                unit,
                up_seconds,
                down_seconds,
            } => (unit.to_string().into(), numbers([up_seconds, down_seconds])),
            FailureSource::File { path, .. } => {
                (path.to_string_lossy().into_owned().into(), Vec::new())
            }
        }
    }
}

written!(FailureSource);

/// Serialised as text, except for events that were read from a file, since the file's name does not
/// matter.
impl Serialize for FailureSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FailureSource::Random { .. } => serializer.collect_str(self),
            FailureSource::File { events, .. } => slice(events, serializer),
        }
    }
}

/// Where a job that was interrupted starts again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Restart {
    /// On the same processors. The job keeps them until all of them work.
    InPlace,
    /// In the same place, in which a spare replaces the failed cube; see the [module](self).
    Spare,
    /// Anywhere, from the job's old place in the queue: before all jobs that arrived after it.
    #[default]
    Elsewhere,
    /// Anywhere. The job gives its processors back and joins the end of the queue.
    ElsewhereLast,
    /// On other processors at once ([`Change::Replace`](meshalloc::Change::Replace)), if there is
    /// a place; else as `Elsewhere`.
    Replace,
}

impl Restart {
    /// Whether the job keeps its processors.
    pub(crate) const fn keeps(self) -> bool {
        matches!(self, Restart::InPlace | Restart::Spare)
    }

    /// Whether the job may return to its old place in the controller's queue.
    pub(crate) const fn requeues(self) -> bool {
        matches!(self, Restart::Elsewhere | Restart::Replace)
    }
}

named!(Restart, "restart": InPlace = "in-place", Spare = "spare", Elsewhere = "elsewhere",
    ElsewhereLast = "elsewhere:last", Replace = "replace");

/// When jobs save what they have done: after each `interval` of work, but not at their end. Saving
/// takes the time `cost` and is complete after it.
///
/// ```
/// use meshalloc_sim::failures::Checkpoint;
/// let checkpoint: Checkpoint = "3600,60".parse().unwrap();
/// assert_eq!(checkpoint.to_string(), "3600,60");
/// assert_eq!("3600".parse::<Checkpoint>().unwrap().cost, 0);
/// assert!("0".parse::<Checkpoint>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Work between two checkpoints, in ticks, over 0.
    pub interval: Ticks,
    /// The time that a checkpoint takes, in ticks.
    pub cost: Ticks,
}

impl Checkpoint {
    /// How many checkpoints are made during this work.
    fn count(self, work: Ticks) -> Ticks {
        work.div_ceil(self.interval).saturating_sub(1)
    }

    /// How long a job runs if it has this work left.
    pub(crate) fn length(this: Option<Self>, work: Ticks) -> Ticks {
        let cost = this.map_or(0, |this| this.count(work).saturating_mul(this.cost));
        work.saturating_add(cost).min(TIME_MAX)
    }

    /// For a job that had `work` left and then ran for the time `ran`: the work that it has saved,
    /// and the time that is lost.
    pub(crate) fn saved(this: Option<Self>, work: Ticks, ran: Ticks) -> (Ticks, Ticks) {
        let Some(this) = this else { return (0, ran) };
        let each = this.interval + this.cost;
        let complete = (ran / each).min(this.count(work));
        (complete * this.interval, ran - complete * each)
    }
}

impl Written for Checkpoint {
    const WHAT: &'static str = "checkpoint";

    const FORMS: &'static [Form] = &[Form::new(
        "",
        &[
            param("interval", Kind::Time(1e-6, f64::MAX)),
            param("cost", Kind::Time(0.0, f64::MAX)).or("0"),
        ],
        "the work between two checkpoints, and what one takes",
        "",
    )];

    fn of(_name: &str, values: &Values) -> Result<Self, String> {
        let [interval, cost] = [0, 1].map(|at| TimeUnit::Second.ticks(values.number(at)));
        Ok(Checkpoint { interval, cost })
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        let seconds = |ticks| Some(Value::Number(TimeUnit::Second.of(ticks)));
        let cost = seconds(self.cost).filter(|_| self.cost > 0);
        ("".into(), vec![seconds(self.interval), cost])
    }
}

written!(Checkpoint);

/// Failures of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failures {
    /// The machine.
    pub machine: Grid,
    /// The sides of a cube, if the machine has cubes.
    #[serde(serialize_with = "as_text")]
    pub cube: Option<Shape>,
    /// The source of failures: which units fail, and when.
    pub source: FailureSource,
    /// Where jobs start again.
    pub restart: Restart,
    /// When jobs save what they have done; `None`: they start from the beginning.
    #[serde(serialize_with = "as_text")]
    pub checkpoint: Option<Checkpoint>,
}

pub(crate) fn as_text<T: fmt::Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value
        .as_ref()
        .map(ToString::to_string)
        .serialize(serializer)
}

impl Failures {
    /// Whether the machine has the units that fail, and spares if jobs need them. This does not
    /// read a file.
    pub fn check(&self) -> Result<(), SettingError> {
        match self.source {
            FailureSource::Random {
                unit, up_seconds, ..
            } => {
                if let Some(checkpoint) = self.checkpoint {
                    let cost = TimeUnit::Second.of(checkpoint.cost);
                    if cost > up_seconds {
                        return Err(SettingError::out_of_range(
                            "the COST of a checkpoint",
                            &["checkpoint"],
                            format_args!("{} s", Number(cost)),
                            format_args!("at most UP of `failures`, {} s", Number(up_seconds)),
                        ));
                    }
                }
                let units = Units::new(self.machine, unit, self.cube)?;
                Ok(self.check_spares(unit, &units)?)
            }
            FailureSource::File { .. } => Ok(()),
        }
    }

    /// The same failures with the events of their file; an error when the file cannot be read, or
    /// an event makes no sense.
    pub fn read(&self) -> Result<Self, LogError> {
        let FailureSource::File { path, events } = &self.source else {
            return Ok(self.clone());
        };
        let events = if events.is_empty() {
            file::read(path, self)?.into()
        } else {
            events.clone()
        };
        let path = path.clone();
        Ok(Failures {
            source: FailureSource::File { path, events },
            ..self.clone()
        })
    }

    /// Whether spares can replace these units.
    fn check_spares(&self, unit: Unit, units: &Units) -> Result<(), Wrong> {
        if self.restart != Restart::Spare {
            return Ok(());
        }
        let wrong = |given: String| Wrong {
            what: "what spares are of".into(),
            settings: &["restart"],
            given,
            expected: "cubes or boxes, at least two in a row along dimension 0".into(),
        };
        match unit {
            Unit::Node | Unit::Link => Err(wrong(unit.to_string())),
            Unit::Cube | Unit::Box(_) if units.in_row() < 2 => {
                Err(wrong(format!("{unit}, one in a row")))
            }
            Unit::Cube | Unit::Box(_) => Ok(()),
        }
    }
}

/// A part of the description that does not go with the machine.
#[derive(Clone, Debug)]
struct Wrong {
    what: String,
    settings: &'static [&'static str],
    given: String,
    expected: String,
}

impl From<Wrong> for SettingError {
    fn from(wrong: Wrong) -> Self {
        SettingError::out_of_range(&wrong.what, wrong.settings, wrong.given, wrong.expected)
    }
}
