//! Files of failures.
//!
//! A CSV file, plain or compressed with gzip, whose first line has the names of its columns, in any
//! order:
//!
//! | column | values |
//! |---|---|
//! | `time` | seconds, 0 or more, in order |
//! | `what` | `node`, `link`, `cube`, or the sides of a box, as `4x4x4` |
//! | `which` | the number of the unit, from 0, dimension 0 fastest; of a link `NODE:DIMENSION` |
//! | `state` | `down` or `up` |
//!
//! ```text
//! time,what,which,state
//! 100,node,17,down
//! 160.5,node,17,up
//! 200,link,4:0,down
//! ```
//!
//! NODE is the number of a link's lower end, from which it leads upwards along DIMENSION. A unit
//! fails only while it works, and is repaired only after it failed.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use meshalloc::{Block, Ticks};
use serde::{Serialize, Serializer};

use super::units::Units;
use super::{Failures, Restart, Unit};
use crate::workload::csv::{CsvFile, Row};
use crate::workload::text_file::{TextFile, bad};
use crate::workload::value::{self, Value};
use crate::workload::{LogError, TIME_MAX, TimeUnit};

/// A failure or a repair at a known time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    pub(super) at: Ticks,
    pub(super) unit: Unit,
    pub(super) number: u32,
    /// The processors of the unit.
    pub(super) block: Block,
    /// Whether the unit fails; else it is repaired.
    pub(super) fails: bool,
}

impl Serialize for Recorded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.at, self.unit.to_string(), self.number, self.fails).serialize(serializer)
    }
}

pub(super) fn read(path: &Path, failures: &Failures) -> Result<Vec<Recorded>, LogError> {
    of_file(TextFile::open(path)?, failures)
}

pub(crate) fn of_file<R: Read>(
    file: TextFile<'_, R>,
    failures: &Failures,
) -> Result<Vec<Recorded>, LogError> {
    let mut csv = CsvFile::new(file)?;
    let places = || -> Result<[usize; 4], String> {
        Ok([
            csv.required("time")?,
            csv.required("what")?,
            csv.required("which")?,
            csv.required("state")?,
        ])
    };
    let places = places().map_err(|reason| csv.wrong(reason))?;
    let mut reader = Reader {
        failures,
        kinds: Vec::new(),
        down: BTreeSet::new(),
        latest: 0,
    };
    let mut events = Vec::new();
    let mut row = Row::new();
    while csv.next_row(&mut row)? {
        let event = reader.event(places.map(|place| row.cell(place)));
        let event = event.map_err(|reason| csv.wrong(reason))?;
        csv.file()
            .push(&mut events, event, "failures and repairs")?;
    }
    if events.is_empty() {
        return Err(csv
            .file()
            .wrong("no failure in it (expected one at least)".to_owned()));
    }
    Ok(events)
}

struct Reader<'f> {
    failures: &'f Failures,
    /// Each kind of unit that was named.
    kinds: Vec<(Unit, Units)>,
    /// The units that have failed: the place of the unit's kind, and the unit's number.
    down: BTreeSet<(usize, u32)>,
    latest: Ticks,
}

impl Reader<'_> {
    fn event(&mut self, [at, what, which, state]: [&str; 4]) -> Result<Recorded, String> {
        let Some(Value::Known(at)) = value::span(at) else {
            let seconds = TIME_MAX / TimeUnit::Second.ticks_each();
            let expected = format!("seconds, 0 or more and less than {seconds}");
            return Err(bad("time", at, &expected));
        };
        if at < self.latest {
            return Err(
                "its time is before that of the line before (expected times in order)".into(),
            );
        }
        self.latest = at;
        let kind = self.kind(what)?;
        let (unit, units) = &self.kinds[kind];
        let number = units.number(which);
        let number = number.map_err(|expected| bad("which", which, &expected))?;
        let fails = match state {
            "down" => true,
            "up" => false,
            _ => return Err(bad("state", state, "down or up")),
        };
        let changes = if fails {
            self.down.insert((kind, number))
        } else {
            self.down.remove(&(kind, number))
        };
        match (changes, fails) {
            (true, _) => Ok(Recorded {
                at,
                unit: *unit,
                number,
                block: units.block(number),
                fails,
            }),
            (false, true) => Err(format!("{unit} {which} is down already (expected up)")),
            (false, false) => Err(format!("{unit} {which} is not down (expected down)")),
        }
    }

    /// The place of the kind of unit.
    fn kind(&mut self, what: &str) -> Result<usize, String> {
        let unit: Unit = what
            .parse()
            .map_err(|error: String| format!("what is {what:?}: {error}"))?;
        if let Some(place) = self.kinds.iter().position(|kind| kind.0 == unit) {
            return Ok(place);
        }
        let Failures { machine, cube, .. } = *self.failures;
        let units = Units::new(machine, unit, cube);
        let units = units.map_err(|wrong| bad("what", what, &wrong.expected))?;
        let spared = self.failures.check_spares(unit, &units);
        spared.map_err(|wrong| {
            let expected = format!("{}, as restart is spare", wrong.expected);
            bad("what", what, &expected)
        })?;
        if self.failures.restart == Restart::Spare
            && let Some((first, _)) = self.kinds.first()
        {
            let expected = format!("{first} as in the lines before, as restart is spare");
            return Err(bad("what", what, &expected));
        }
        self.kinds.push((unit, units));
        Ok(self.kinds.len() - 1)
    }
}
