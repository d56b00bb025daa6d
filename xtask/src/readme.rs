//! Tables in the README that a chore writes.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::command::root;

fn path() -> PathBuf {
    root().join("README.md")
}

/// The README up to the table between these two lines, the table, and the rest.
pub(crate) fn split([begin, end]: [&str; 2]) -> Result<(String, String, String)> {
    let text = fs::read_to_string(path())?;
    let marks = text.find(begin).zip(text.find(end));
    let (start, end) = marks.with_context(|| format!("the README has no {begin} and {end}"))?;
    let start = start + begin.len();
    let [before, table, after] = [&text[..start], &text[start..end], &text[end..]];
    Ok((before.to_owned(), table.to_owned(), after.to_owned()))
}

/// Writes the README with another table between what [`split`] gave.
pub(crate) fn write(before: &str, table: &str, after: &str) -> Result<()> {
    Ok(fs::write(path(), format!("{before}\n{table}{after}"))?)
}
