//! The columns of a trace, and what a file calls them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::error::out_of_range;
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
}

named!(Column, "column": Submit = "submit", Run = "run", Shape = "shape",
    Processors = "processors", Estimate = "estimate", Rings = "rings", Id = "id", User = "user",
    Group = "group", Priority = "priority");

/// What a file calls the columns of a trace: those that are not named have their own names.
///
/// ```
/// use meshalloc_sim::workload::Columns;
/// let columns: Columns = "submit=arrival,run=duration".parse().unwrap();
/// assert_eq!(columns.to_string(), "submit=arrival,run=duration");
/// let error = "start=arrival".parse::<Columns>().unwrap_err();
/// assert!(error.contains("expected NAME=COLUMN,... with the names submit, run"), "{error}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Columns(pub(super) BTreeMap<Column, String>);

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let names = Column::ALL.map(Column::name).join(", ");
            let expected = format!(
                "NAME=COLUMN,... with the names {names}, each once; nothing behind the = leaves a column out"
            );
            out_of_range("the list of columns", text, expected)
        };
        let mut columns = BTreeMap::new();
        for part in text.split(',') {
            let (name, column) = part.split_once('=').ok_or_else(wrong)?;
            let known = name.trim().parse::<Column>().map_err(|_| wrong())?;
            if columns.insert(known, column.trim().to_owned()).is_some() {
                return Err(wrong());
            }
        }
        Ok(Columns(columns))
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.0.iter();
        let pairs = pairs.map(|(column, name)| format!("{}={name}", column.name()));
        f.pad(&pairs.collect::<Vec<_>>().join(","))
    }
}
