//! Tables in documents that a chore writes.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::command::root;

/// A table between `<!-- begin NAME -->` and `<!-- end NAME -->`; the prose around it stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// The document, from the root of the workspace.
    pub(crate) page: &'static str,
    /// The table's name, which no other table of the page has.
    pub(crate) name: &'static str,
}

impl Table {
    fn path(self) -> PathBuf {
        root().join(self.page)
    }

    /// The page up to the table, the table, and the rest.
    fn split(self) -> Result<[String; 3]> {
        let text = fs::read_to_string(self.path()).context(self.page)?;
        let [begin, end] = ["begin", "end"].map(|word| format!("<!-- {word} {} -->", self.name));
        let marks = text.find(&begin).zip(text.find(&end));
        let (start, end) = marks
            .with_context(|| format!("{} has no table between {begin} and {end}", self.page))?;
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

    /// The names that no row of the table begins with.
    pub(crate) fn lacks(self, names: impl IntoIterator<Item = String>) -> Result<Vec<String>> {
        let table = self.read()?;
        let has_row = |name: &String| table.lines().any(|line| row_name(line) == Some(name));
        Ok(names.into_iter().filter(|name| !has_row(name)).collect())
    }

    /// Replaces the rows that `measured`, a table of the same columns, has. The other rows stay.
    /// The table has the rows with these names in their order, and no others.
    pub(crate) fn update(
        self,
        measured: &str,
        names: impl IntoIterator<Item = String>,
    ) -> Result<()> {
        let before = self.read()?;
        let head = measured.lines().take_while(|line| row_name(line).is_none());
        let row = |name: String| {
            let mut newest = measured.lines().chain(before.lines());
            newest.find(|line| row_name(line) == Some(&name))
        };
        let rows = names.into_iter().filter_map(row);
        self.write(&head.chain(rows).collect::<Vec<_>>().join("\n"))
    }
}

/// The name with which a row begins.
fn row_name(line: &str) -> Option<&str> {
    line.strip_prefix("| `")?.split('`').next()
}
