//! The fields of a line in the Standard Workload Format.

use std::path::Path;

use meshalloc::Ticks;

use crate::time::{TIME_MAX, TimeUnit};
use crate::wording::{counted, quoted};

#[derive(Clone, Copy)]
pub(crate) struct Field {
    /// Its number, from 1.
    number: usize,
    name: &'static str,
}

/// The fields of a line.
pub(crate) const FIELDS: usize = 18;

pub(crate) const JOB: Field = field(1, "job number");
pub(crate) const SUBMIT: Field = field(2, "submit time");
const WAIT: Field = field(3, "wait time");
pub(crate) const RUN: Field = field(4, "run time");
pub(crate) const ALLOCATED: Field = field(5, "allocated processors");
pub(crate) const REQUESTED: Field = field(8, "requested processors");
pub(crate) const REQUESTED_TIME: Field = field(9, "requested time");
pub(crate) const STATUS: Field = field(11, "status");
pub(crate) const USER: Field = field(12, "user");
pub(crate) const GROUP: Field = field(13, "group");
pub(crate) const PARTITION: Field = field(16, "partition");

const fn field(number: usize, name: &'static str) -> Field {
    Field { number, name }
}

/// Whether the name of a file says that it is a log in this format.
pub(crate) fn is_name(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    name.ends_with(".swf") || name.ends_with(".swf.gz")
}

/// The field of a time that CSV files call so.
pub(crate) fn field_of(column: &str) -> Option<Field> {
    match column {
        "submit" => Some(SUBMIT),
        "wait" => Some(WAIT),
        "run" => Some(RUN),
        "estimate" => Some(REQUESTED_TIME),
        _ => None,
    }
}

/// The time in a field of a line; `None` in a comment, or if it is not known.
pub(crate) fn time_in(line: &str, field: Field) -> Result<Option<Ticks>, String> {
    if line.starts_with(';') {
        return Ok(None);
    }
    let record = Record::split(line)?;
    let time = record.time(field)?;
    if let Some(time) = time {
        check_time(time, &record, field)?;
    }
    Ok(time)
}

/// Whether a time is simulated.
pub(crate) fn check_time(time: Ticks, record: &Record<'_>, field: Field) -> Result<(), String> {
    if time < TIME_MAX {
        return Ok(());
    }
    let seconds = TIME_MAX / TimeUnit::Second.ticks_each();
    Err(record.bad(field, &format!("less than {seconds} seconds")))
}

pub(crate) struct Record<'t>([&'t str; FIELDS]);

impl<'t> Record<'t> {
    pub(crate) fn split(text: &'t str) -> Result<Self, String> {
        let mut words = [""; FIELDS];
        let mut found = 0;
        for word in text.split_ascii_whitespace() {
            if let Some(place) = words.get_mut(found) {
                *place = word;
            }
            found += 1;
        }
        if found != FIELDS {
            let found = counted(found, "field");
            return Err(format!("{found}: expected {FIELDS}, one job a line"));
        }
        Ok(Record(words))
    }

    fn word(&self, field: Field) -> &'t str {
        self.0[field.number - 1]
    }

    pub(crate) fn bad(&self, field: Field, expected: &str) -> String {
        let Field { number, name } = field;
        let found = quoted(self.word(field).as_bytes());
        format!("field {number} ({name}) is {found}: expected {expected}")
    }

    pub(crate) fn whole(&self, field: Field) -> Result<i64, String> {
        let number = self.word(field).parse();
        number.map_err(|_| self.bad(field, "a whole number, -1 if unknown"))
    }

    /// Whether a field that is a number is -1.
    pub(crate) fn is_unknown(&self, field: Field) -> bool {
        self.word(field).parse() == Ok(-1.0)
    }

    /// Seconds in ticks, at most [`TIME_MAX`]: exactly, or to the nearest tick; `None` below 0.
    pub(crate) fn time(&self, field: Field) -> Result<Option<Ticks>, String> {
        let word = self.word(field);
        if let Ok(whole) = word.parse::<i64>() {
            let seconds = u64::try_from(whole).ok();
            let ticks = |seconds: u64| seconds.saturating_mul(TimeUnit::Second.ticks_each());
            return Ok(seconds.map(|seconds| ticks(seconds).min(TIME_MAX)));
        }
        let number = word.parse::<f64>().ok().filter(|time| time.is_finite());
        let number = number.ok_or_else(|| self.bad(field, "a number of seconds, -1 if unknown"))?;
        Ok((number >= 0.0).then(|| TimeUnit::Second.ticks(number)))
    }
}
