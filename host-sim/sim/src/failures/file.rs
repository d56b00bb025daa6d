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
use crate::workload::LogError;
use crate::workload::text_file::{Header, TextFile, bad, time};

/// A failure or a repair at a known time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    pub(super) at: Ticks,
    pub(super) unit: Unit,
    pub(super) number: u32,
    /// The processors that it takes with it.
    pub(super) block: Block,
    /// Whether it fails, or is repaired.
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
    mut file: TextFile<'_, R>,
    failures: &Failures,
) -> Result<Vec<Recorded>, LogError> {
    let header = Header::read(&mut file)?;
    let places = || -> Result<[usize; 4], String> {
        Ok([
            header.required("time")?,
            header.required("what")?,
            header.required("which")?,
            header.required("state")?,
        ])
    };
    let places = places().map_err(|reason| file.wrong(reason))?;
    let mut reader = Reader {
        failures,
        kinds: Vec::new(),
        down: BTreeSet::new(),
        latest: 0,
    };
    let mut events = Vec::new();
    while let Some(line) = file.next_line()? {
        if line.is_empty() {
            continue;
        }
        let event = header.row(&line).and_then(|row| {
            let cells = places.map(|place| &row[place]);
            reader.event(cells)
        });
        events.push(event.map_err(|reason| file.wrong(reason))?);
    }
    match events.is_empty() {
        true => Err(file.wrong("no failure in it (expected one at least)".to_owned())),
        false => Ok(events),
    }
}

struct Reader<'f> {
    failures: &'f Failures,
    /// Each kind of unit that was named.
    kinds: Vec<(Unit, Units)>,
    /// What has failed: the place of its kind, and its number.
    down: BTreeSet<(usize, u32)>,
    latest: Ticks,
}

impl Reader<'_> {
    fn event(&mut self, [at, what, which, state]: [&str; 4]) -> Result<Recorded, String> {
        let known = time("time", at)?;
        let at = known.ok_or_else(|| bad("time", at, "seconds"))?;
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
        let changes = match fails {
            true => self.down.insert((kind, number)),
            false => self.down.remove(&(kind, number)),
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
