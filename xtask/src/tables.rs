//! Tables in documents that a chore writes.

use std::fs;

use anyhow::{Context, Result};

use crate::shell::root;

/// A table between `<!-- begin NAME -->` and `<!-- end NAME -->`; the prose around it stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// The document, from the root of the workspace.
    pub(crate) page: &'static str,
    /// The table's name, which no other table of the page has.
    pub(crate) name: &'static str,
}

/// The cells of a row. The first one is the row's name.
pub(crate) type Row = Vec<String>;

impl Table {
    /// The page up to the table, the table, and the rest.
    fn split(self) -> Result<[String; 3]> {
        let text = fs::read_to_string(root().join(self.page)).context(self.page)?;
        let [begin, end] = ["begin", "end"].map(|word| format!("<!-- {word} {} -->", self.name));
        let marks = text.find(&begin).zip(text.find(&end));
        let (start, end) = marks
            .with_context(|| format!("{} has no table between {begin} and {end}", self.page))?;
        let start = start + begin.len();
        Ok([&text[..start], &text[start..end], &text[end..]].map(str::to_owned))
    }

    /// The table in the page.
    pub(crate) fn read(self) -> Result<String> {
        let [_, table, _] = self.split()?;
        Ok(table.trim().to_owned() + "\n")
    }

    /// The rows in the page.
    pub(crate) fn rows(self) -> Result<Vec<Row>> {
        let table = self.read()?;
        let cells = |line: &str| {
            line.trim_matches('|')
                .split('|')
                .map(|it| it.trim().to_owned())
                .collect()
        };
        Ok(table.lines().skip(2).map(cells).collect())
    }

    /// Replaces the table in the page.
    pub(crate) fn write(self, columns: &[&str], rows: &[Row]) -> Result<()> {
        let [before, _, after] = self.split()?;
        let page = format!("{before}\n\n{}\n{after}", markdown(columns, rows));
        fs::write(root().join(self.page), page).context(self.page)
    }

    /// Replaces the rows that were measured. The table has the rows of these names in their order,
    /// and no others.
    pub(crate) fn update(self, columns: &[&str], measured: &[Row], names: &[String]) -> Result<()> {
        let before = self.rows()?;
        let row = |name: &String| {
            measured
                .iter()
                .chain(&before)
                .find(|row| row[0] == code(name))
        };
        let rows: Vec<Row> = names.iter().filter_map(row).cloned().collect();
        self.write(columns, &rows)
    }

    /// The names without a row.
    pub(crate) fn lacks(self, names: Vec<String>) -> Result<Vec<String>> {
        let rows = self.rows()?;
        let is_new = |name: &String| rows.iter().all(|row| row[0] != code(name));
        Ok(names.into_iter().filter(is_new).collect())
    }
}

/// A name as a cell has it.
pub(crate) fn code(name: &str) -> String {
    format!("`{name}`")
}

/// A table with numbers on the right of their columns.
pub(crate) fn markdown(columns: &[&str], rows: &[Row]) -> String {
    let is_number =
        |cell: &String| !cell.is_empty() && cell.chars().all(|c| "0123456789.-/ ".contains(c));
    let ends =
        (0..columns.len()).map(
            |at| match rows.first().is_some_and(|row| is_number(&row[at])) {
                true => "--:|",
                false => "---|",
            },
        );
    let mut text = format!(
        "| {} |\n|{}\n",
        columns.join(" | "),
        ends.collect::<String>()
    );
    for row in rows {
        let cells = row.iter().map(|cell| {
            if cell.is_empty() {
                " |".into()
            } else {
                format!(" {cell} |")
            }
        });
        text += &format!("|{}\n", cells.collect::<String>());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{c, docs, instructions, size};

    #[test]
    fn each_table_is_written_as_it_is_read() {
        let mut tables = vec![size::TABLE, c::TABLE];
        tables.extend(instructions::Table::ALL.map(instructions::Table::in_page));
        tables.extend(docs::tables().map(|(table, ..)| table));
        for table in tables {
            let text = table.read().unwrap();
            let head = text
                .lines()
                .next()
                .unwrap()
                .trim_matches('|')
                .split('|')
                .map(str::trim);
            let head: Vec<_> = head.collect();
            assert_eq!(markdown(&head, &table.rows().unwrap()), text, "{table:?}");
        }
    }
}
