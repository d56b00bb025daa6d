//! The columns of a trace, and their names in a file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::names::grammar::{Form, Kind, Param, Value, Values, Written, param, written};
use crate::names::named;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Column {
    Submit,
    Run,
    Shape,
    Processors,
    Estimate,
    Rings,
    Id,
    User,
    Group,
    Priority,
    Preemptible,
    Tolerate,
}

named!(Column, "column": Submit = "submit", Run = "run", Shape = "shape",
    Processors = "processors", Estimate = "estimate", Rings = "rings", Id = "id", User = "user",
    Group = "group", Priority = "priority", Preemptible = "preemptible", Tolerate = "tolerate");

impl Column {
    /// The name of the column in Batsim, and so in a jobs file that a run writes.
    pub(super) const fn written(self) -> Option<&'static str> {
        Some(match self {
            Column::Submit => "submission_time",
            Column::Run => "execution_time",
            Column::Shape => "requested_extents",
            Column::Processors => "requested_number_of_resources",
            Column::Estimate => "requested_time",
            Column::Id => "job_id",
            Column::Rings
            | Column::User
            | Column::Group
            | Column::Priority
            | Column::Preemptible
            | Column::Tolerate => return None,
        })
    }
}

/// The names of a trace's columns in a file. Columns that are not listed have their own names.
///
/// ```
/// use meshalloc_sim::workload::Columns;
/// let columns: Columns = "submit=arrival,run=duration".parse().unwrap();
/// assert_eq!(columns.to_string(), "submit=arrival,run=duration");
/// let error = "start=arrival".parse::<Columns>().unwrap_err();
/// assert!(error.contains("expected submit=COLUMN"), "{error}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Columns(pub(super) BTreeMap<Column, String>);

const fn column(name: Column) -> Param {
    param(name.name(), Kind::Text("COLUMN"))
        .keyed()
        .or("its own name")
}

impl Written for Columns {
    const WHAT: &'static str = "list of columns";

    const FORMS: &'static [Form] = &[Form::new("", &COLUMNS, "what a file calls its columns", "")];

    fn of(_name: &str, values: &Values) -> Result<Self, String> {
        let given = Column::ALL.into_iter().enumerate();
        let given = given.filter_map(|(at, column)| Some((column, values.text(at)?.to_owned())));
        Ok(Columns(given.collect()))
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        let value = |column| self.0.get(&column).cloned().map(Value::Text);
        ("".into(), Column::ALL.map(value).to_vec())
    }
}

static COLUMNS: [Param; Column::ALL.len()] = {
    let mut columns = [const { column(Column::Submit) }; Column::ALL.len()];
    let mut at = 0;
    while at < columns.len() {
        columns[at] = column(Column::ALL[at]);
        at += 1;
    }
    columns
};

written!(Columns);
