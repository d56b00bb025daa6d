//! The fields of a line in the Standard Workload Format.

use std::path::Path;

use meshalloc::Ticks;

use crate::wording::{counted, quoted};
use crate::workload::LogOptions;
use crate::workload::columns::Column;
use crate::workload::entry::{Fields, Reason};
use crate::workload::value::{self, Value};

#[derive(Clone, Copy)]
pub(crate) struct Field {
    /// Its number, from 1.
    number: usize,
    name: &'static str,
}

/// The fields of a line.
const FIELDS: usize = 18;

const JOB: Field = field(1, "job number");
const SUBMIT: Field = field(2, "submit time");
const WAIT: Field = field(3, "wait time");
const RUN: Field = field(4, "run time");
const ALLOCATED: Field = field(5, "allocated processors");
const REQUESTED: Field = field(8, "requested processors");
const REQUESTED_TIME: Field = field(9, "requested time");
const STATUS: Field = field(11, "status");
const USER: Field = field(12, "user");
const GROUP: Field = field(13, "group");
const PARTITION: Field = field(16, "partition");

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
    match value::span(record.field(field)) {
        Some(Value::Known(time)) => Ok(Some(time)),
        Some(Value::Unknown | Value::Unlimited) => Ok(None),
        None => Err(record.bad_field(field, "seconds, or D-HH:MM:SS; -1 if unknown")),
    }
}

/// A line of a log.
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
            let cut = if found > FIELDS {
                format!("; awk '!/^;/ {{ NF = {FIELDS} }} 1' FILE cuts off the fields behind them")
            } else {
                String::new()
            };
            let found = counted(found, "field");
            return Err(format!("{found}: expected {FIELDS}, one job a line{cut}"));
        }
        Ok(Record(words))
    }

    /// Why a line is left out whatever its job is; `is_double` is whether partial executions have
    /// lines of their own in addition to those of jobs.
    pub(crate) fn left_out(
        &self,
        options: &LogOptions,
        is_double: bool,
    ) -> Result<Option<Reason>, String> {
        if is_double && (2..=4).contains(&self.whole(STATUS)?) {
            return Ok(Some(Reason::PartialExecution));
        }
        let is_other = match options.partition {
            Some(partition) => self.whole(PARTITION)? != partition,
            None => false,
        };
        Ok(is_other.then_some(Reason::OtherPartition))
    }

    fn field(&self, field: Field) -> &'t str {
        self.0[field.number - 1]
    }

    fn bad_field(&self, field: Field, expected: &str) -> String {
        let Field { number, name } = field;
        let found = quoted(self.field(field).as_bytes());
        format!("field {number} ({name}) is {found}: expected {expected}")
    }

    fn whole(&self, field: Field) -> Result<i64, String> {
        match value::whole(self.field(field)) {
            Some(Value::Known(number)) => Ok(number),
            Some(Value::Unknown | Value::Unlimited) => Ok(-1),
            None => Err(self.bad_field(field, "a whole number; -1 if unknown")),
        }
    }

    fn field_of(&self, column: Column) -> Option<Field> {
        Some(match column {
            Column::Submit => SUBMIT,
            Column::Run => RUN,
            // The processors that were allocated, else those that were requested.
            Column::Processors => match value::whole(self.field(ALLOCATED)) {
                Some(Value::Known(1..)) | None => ALLOCATED,
                Some(_) => REQUESTED,
            },
            Column::Estimate => REQUESTED_TIME,
            Column::Id => JOB,
            Column::User => USER,
            Column::Group => GROUP,
            Column::Shape
            | Column::Rings
            | Column::Priority
            | Column::Preemptible
            | Column::Tolerate => return None,
        })
    }
}

impl Fields for Record<'_> {
    const UNKNOWN: &'static str = "-1";
    const CAN_LEAVE_OUT: bool = false;

    fn word(&self, column: Column) -> &str {
        self.field_of(column).map_or("", |field| self.field(field))
    }

    fn bad(&self, column: Column, expected: &str) -> String {
        match self.field_of(column) {
            Some(field) => self.bad_field(field, expected),
            None => expected.to_owned(),
        }
    }
}
