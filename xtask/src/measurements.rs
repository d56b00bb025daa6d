//! Tables of `docs/measurements/` that a chore writes.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::command::root;

/// The folder of the pages.
const FOLDER: &str = "docs/measurements";

/// A table between `<!-- begin NAME -->` and `<!-- end NAME -->`; the prose around it stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// The page's file name.
    pub(crate) page: &'static str,
    /// The table's name, which no other table of the page has.
    pub(crate) name: &'static str,
}

impl Table {
    fn path(self) -> PathBuf {
        root().join(FOLDER).join(self.page)
    }

    /// The page up to the table, the table, and the rest.
    fn split(self) -> Result<[String; 3]> {
        let text = fs::read_to_string(self.path()).context(self.page)?;
        let [begin, end] = ["begin", "end"].map(|word| format!("<!-- {word} {} -->", self.name));
        let marks = text.find(&begin).zip(text.find(&end));
        let (start, end) = marks.with_context(|| {
            format!(
                "{FOLDER}/{} has no table between {begin} and {end}",
                self.page
            )
        })?;
        let start = start + begin.len();
        Ok([&text[..start], &text[start..end], &text[end..]].map(str::to_owned))
    }

    /// The table as it stands in the page.
    pub(crate) fn read(self) -> Result<String> {
        let [_, table, _] = self.split()?;
        Ok(table.trim().to_owned())
    }

    /// Replaces the table in the page.
    pub(crate) fn write(self, table: &str) -> Result<()> {
        let [before, _, after] = self.split()?;
        let page = format!("{before}\n\n{}\n\n{after}", table.trim());
        fs::write(self.path(), page).context(self.page)
    }
}
