//! From the line of a log, whatever its format, to a job. One rule decides which lines are left
//! out.

use std::collections::HashMap;

use meshalloc::{Flags, Slices, Ticks};

use super::columns::Column;
use super::log_job::{LogJob, LogOptions, Owner};
use super::shape_cells::{read_rings, read_shape};
use super::value::{self, PREEMPTIBLE, PRIORITY, TOLERATE, Value, Zero};
use super::{TIME_MAX, TimeUnit};

/// A line of a log, by the columns of a trace.
pub(super) trait Fields {
    /// The word in a column; empty where there is no such column.
    fn word(&self, column: Column) -> &str;

    /// The message about a word that is not what is expected.
    fn bad(&self, column: Column, expected: &str) -> String;

    /// The word for an unknown value.
    const UNKNOWN: &'static str;

    /// The message about a word that cannot be read.
    fn unreadable(&self, column: Column) -> String {
        let form = match column {
            Column::Submit => "seconds, 0 or more, or a date such as 2026-03-01T08:01:56".into(),
            Column::Run | Column::Estimate => "seconds, or D-HH:MM:SS".into(),
            Column::Priority => format!("{PRIORITY}; --columns priority= leaves the column out"),
            Column::Preemptible => {
                format!("{PREEMPTIBLE}; --columns preemptible= leaves the column out")
            }
            Column::Id if Self::CAN_LEAVE_OUT => {
                "a whole number; --columns id= leaves the column out".into()
            }
            _ => "a whole number".to_owned(),
        };
        self.bad(column, &format!("{form}; {} if unknown", Self::UNKNOWN))
    }

    /// The message about a word for which the line is left out.
    fn unusable(&self, column: Column) -> String {
        let seconds = TIME_MAX / TimeUnit::Second.ticks_each();
        match column {
            Column::Submit | Column::Run => self.bad(
                column,
                &format!("0 or more and less than {seconds} seconds"),
            ),
            _ => self.bad(column, "1 or more"),
        }
    }

    /// Whether a column can be left out.
    const CAN_LEAVE_OUT: bool;
}

/// Why a line is not a job of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    PartialExecution,
    OtherPartition,
    NoSubmitTime,
    Outside,
    NoProcessors,
    NoRunTime,
}

impl Reason {
    /// The column whose word is not known or cannot be simulated; `None` for lines that are not
    /// asked for.
    pub(super) const fn column(self) -> Option<Column> {
        match self {
            Reason::NoSubmitTime => Some(Column::Submit),
            Reason::NoProcessors => Some(Column::Processors),
            Reason::NoRunTime => Some(Column::Run),
            Reason::PartialExecution | Reason::OtherPartition | Reason::Outside => None,
        }
    }
}

/// The result of reading a line.
pub(super) enum Entry {
    Job(LogJob),
    LeftOut(Reason),
}

/// The facts about the lines so far.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The zero from which times are counted, as the first time shows; `None` before the first
    /// time.
    pub(super) zero: Option<Zero>,
    /// The least submit time and the greatest; `None` before the first.
    pub(super) submitted: Option<(Ticks, Ticks)>,
    pub(super) users: Names,
    pub(super) groups: Names,
}

impl Lines {
    /// Whether times are dates. Their windows are known only behind the last line.
    pub(super) fn are_dated(&self) -> bool {
        !matches!(self.zero, None | Some(Zero::OfLog))
    }

    fn submitted<F: Fields>(&mut self, fields: &F) -> Result<Option<Ticks>, String> {
        let word = fields.word(Column::Submit);
        let (zero, value) = value::time(word).ok_or_else(|| fields.unreadable(Column::Submit))?;
        let Value::Known(at) = value else {
            // No log begins before its zero, so a negative number other than -1 is a mistake.
            let is_wrong = |number: f64| number < 0.0 && number != -1.0;
            if word.parse().is_ok_and(is_wrong) {
                return Err(fields.unreadable(Column::Submit));
            }
            return Ok(None);
        };
        let of_others = *self.zero.get_or_insert(zero);
        if of_others != zero {
            let expected = match of_others {
                Zero::OfLog => "seconds",
                Zero::Epoch => "a date with a time zone",
                Zero::EpochOfClock => "a date without a time zone",
            };
            let expected = format!("{expected}, as in the lines before");
            return Err(fields.bad(Column::Submit, &expected));
        }
        let (least, greatest) = self.submitted.unwrap_or((at, at));
        self.submitted = Some((at.min(least), at.max(greatest)));
        Ok(Some(at))
    }

    /// The result of reading a line; `number` is the number of a job that has none in the log.
    pub(super) fn entry<F: Fields>(
        &mut self,
        fields: &F,
        number: i64,
        options: &LogOptions,
    ) -> Result<Entry, String> {
        let span = |column| {
            let value = value::span(fields.word(column));
            value.ok_or_else(|| fields.unreadable(column))
        };
        let whole = |column| {
            let value = value::whole(fields.word(column));
            value.ok_or_else(|| fields.unreadable(column))
        };
        let Some(submitted) = self.submitted(fields)? else {
            return Ok(Entry::LeftOut(Reason::NoSubmitTime));
        };
        let arrival = if self.are_dated() {
            Some(submitted)
        } else {
            options.arrival(submitted)
        };
        let Some(arrival) = arrival else {
            return Ok(Entry::LeftOut(Reason::Outside));
        };
        let shape = match fields.word(Column::Shape) {
            "" => None,
            word => Some(read_shape(word)?),
        };
        let slices = shape.map_or(Slices::ONE, |(slices, _)| slices);
        let all = shape.map(|(_, shape)| shape.area().saturating_mul(slices.get()));
        let processors = match whole(Column::Processors)? {
            Value::Known(count @ 1..) => {
                // No machine has room for more either.
                let count = options.nodes(u32::try_from(count).unwrap_or(u32::MAX));
                if !count.is_multiple_of(slices.get()) {
                    let expected = format!("as many for each of {} slices", slices.get());
                    return Err(fields.bad(Column::Processors, &expected));
                }
                count
            }
            _ => match all {
                Some(all) => all,
                None => return Ok(Entry::LeftOut(Reason::NoProcessors)),
            },
        };
        if let Some(all) = all.filter(|&all| processors > all) {
            let expected = format!("at most the {all} of the shape");
            return Err(fields.bad(Column::Processors, &expected));
        }
        let requested_time = match span(Column::Estimate)? {
            Value::Known(0) | Value::Unknown => None,
            Value::Known(time) => Some(time),
            Value::Unlimited => Some(TIME_MAX),
        };
        let priority = value::priority(fields.word(Column::Priority));
        let priority = priority.ok_or_else(|| fields.unreadable(Column::Priority))?;
        let is_preemptible = value::preemptible(fields.word(Column::Preemptible));
        let is_preemptible =
            is_preemptible.ok_or_else(|| fields.unreadable(Column::Preemptible))?;
        let tolerance = value::tolerance(fields.word(Column::Tolerate));
        let tolerance = tolerance.ok_or_else(|| fields.bad(Column::Tolerate, TOLERATE))?;
        let Value::Known(run_time) = span(Column::Run)? else {
            return Ok(Entry::LeftOut(Reason::NoRunTime));
        };
        let known = |value, unknown| match value {
            Value::Known(number) => number,
            Value::Unknown | Value::Unlimited => unknown,
        };
        Ok(Entry::Job(LogJob {
            number: known(whole(Column::Id)?, number),
            arrival,
            processors,
            shape: shape.map(|(_, shape)| shape),
            slices,
            flags: match fields.word(Column::Rings) {
                "" => Flags::empty(),
                word => read_rings(word)?,
            },
            run_time,
            requested_time,
            priority,
            is_preemptible,
            tolerance,
            owner: Owner {
                user: self.users.number(fields, Column::User)?,
                group: self.groups.number(fields, Column::Group)?,
            },
        }))
    }
}

/// The most different names in a column, and the most bytes of one.
const NAMES_MAX: usize = 1 << 16;
const NAME_BYTES_MAX: usize = 256;

/// Up to this, numbers stand for names until all lines are read.
const PROVISIONAL_MAX: i64 = i64::MIN + NAMES_MAX as i64;

/// Names in a column, which are numbered in the order of their first lines, from 1, or from the
/// greatest number in the column on.
#[derive(Debug, Default)]
pub(super) struct Names {
    provisional: HashMap<String, i64>,
    greatest: i64,
}

impl Names {
    /// The number in a column, or -1 if it is unknown. A name has a provisional number.
    fn number<F: Fields>(&mut self, fields: &F, column: Column) -> Result<i64, String> {
        let word = fields.word(column);
        match value::whole(word) {
            // A greater number would leave no numbers for names.
            Some(Value::Known(number)) if number.unsigned_abs() < 1 << 62 => {
                self.greatest = self.greatest.max(number);
                return Ok(number);
            }
            Some(Value::Unknown) => return Ok(-1),
            _ => {}
        }
        if let Some(&number) = self.provisional.get(word) {
            return Ok(number);
        }
        if word.len() > NAME_BYTES_MAX {
            let expected = format!("a name of at most {NAME_BYTES_MAX} bytes");
            return Err(fields.bad(column, &expected));
        }
        if self.provisional.len() == NAMES_MAX {
            let expected = format!("one of the {NAMES_MAX} names in the lines before");
            return Err(fields.bad(column, &expected));
        }
        let number = i64::MIN + self.provisional.len() as i64;
        self.provisional.insert(word.to_owned(), number);
        Ok(number)
    }

    /// Turns a provisional number into the number of its name, and leaves any other number as it
    /// is.
    pub(super) fn settled(&self, number: i64) -> i64 {
        if number >= PROVISIONAL_MAX {
            return number;
        }
        self.greatest + 1 + (number - i64::MIN)
    }

    pub(super) fn has_names(&self) -> bool {
        !self.provisional.is_empty()
    }
}
