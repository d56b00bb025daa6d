//! Tables in documents whose rows a chore writes. Their heads are written by hand.

use anyhow::{Context, Result, ensure};

use crate::shell::shell;

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
        let text = shell().read_file(self.page)?;
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
        Ok(self.read()?.lines().skip(2).map(cells).collect())
    }

    /// The table with other rows.
    pub(crate) fn with(self, rows: &[Row]) -> Result<String> {
        let table = self.read()?;
        let mut lines: Vec<_> = table.lines().take(2).map(str::to_owned).collect();
        for row in rows {
            let columns = cells(&lines[0]).len();
            ensure!(
                row.len() == columns,
                "{self:?} has {columns} columns, not those of {row:?}"
            );
            let cells = row.iter().map(|cell| match &**cell {
                "" => " |".to_owned(),
                cell => format!(" {cell} |"),
            });
            lines.push(format!("|{}", cells.collect::<String>()));
        }
        Ok(lines.join("\n") + "\n")
    }

    /// Replaces the rows in the page.
    pub(crate) fn write(self, rows: &[Row]) -> Result<()> {
        let ([before, _, after], table) = (self.split()?, self.with(rows)?);
        Ok(shell().write_file(self.page, format!("{before}\n\n{table}\n{after}"))?)
    }

    /// Replaces the rows that were measured. The table has the rows of these names in their order,
    /// and no others.
    pub(crate) fn update(self, measured: &[Row], names: &[&str]) -> Result<()> {
        let before = self.rows()?;
        let rows = names.iter().filter_map(|name| {
            let mut rows = measured.iter().chain(&before);
            rows.find(|row| row[0] == code(name)).cloned()
        });
        self.write(&rows.collect::<Vec<_>>())
    }

    /// The names without a row.
    pub(crate) fn lacks(self, names: &[&str]) -> Result<Vec<String>> {
        let rows = self.rows()?;
        let is_new = |name: &&&str| rows.iter().all(|row| row[0] != code(name));
        Ok(names
            .iter()
            .filter(is_new)
            .map(|&name| name.to_owned())
            .collect())
    }

    /// Fails if a figure is over 2 % larger than in the page, in the last column also by over
    /// `slack`, or a row is not there; `chore` writes the table.
    pub(crate) fn check(self, rows: &[Row], slack: u64, chore: &str) -> Result<()> {
        let (table, before) = (self.read()?, self.rows()?);
        let head = cells(table.lines().next().unwrap_or_default());
        let grown = rows
            .iter()
            .flat_map(|row| growth(&head, row, &before, slack));
        let grown = grown.collect::<Vec<_>>().join("\n");
        ensure!(grown.is_empty(), "{grown}\nIf that is intended: {chore}");
        println!(
            "nothing is over 2 % larger than in the table of {}",
            self.page
        );
        Ok(())
    }
}

/// The figures of a row that have grown.
fn growth(head: &Row, row: &Row, before: &[Row], slack: u64) -> Vec<String> {
    let Some(before) = before.iter().find(|before| before[0] == row[0]) else {
        return vec![format!("{}: not in the table", row[0])];
    };
    let grown = (1..row.len()).filter_map(|at| {
        let (now, before) = (
            row[at].parse::<u64>().ok()?,
            before[at].parse::<u64>().ok()?,
        );
        let slack = if at == row.len() - 1 { slack } else { 0 };
        let text = format!("{}: {} {now}, {before} in the table", row[0], head[at]);
        (now > before + before / 50 + slack).then_some(text)
    });
    grown.collect()
}

/// The cells of a line.
pub(crate) fn cells(line: &str) -> Row {
    let line = line.strip_prefix('|').unwrap_or(line);
    let cells = line.strip_suffix('|').unwrap_or(line).split('|');
    cells.map(|cell| cell.trim().to_owned()).collect()
}

/// A name as a cell has it.
pub(crate) fn code(name: &str) -> String {
    format!("`{name}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{c, docs, instructions, size};

    #[test]
    fn each_table_is_written_as_it_is_read() {
        let mut tables = vec![size::TABLE, c::TABLE];
        tables.extend(instructions::tables());
        tables.extend(docs::tables().map(|(table, _)| table));
        for table in tables {
            let (text, rows) = (table.read().unwrap(), table.rows().unwrap());
            assert!(!rows.is_empty(), "{table:?}");
            assert_eq!(table.with(&rows).unwrap(), text, "{table:?}");
            assert!(table.with(&[vec![]]).is_err());
        }
    }

    #[test]
    fn growth_of_more_than_two_percent_is_reported() {
        let row = |flash: u64, stack: u64| {
            let [flash, stack] = [flash, stack].map(|number| number.to_string());
            vec![code("first-fit"), flash, "-".into(), stack]
        };
        let head = ["image", "flash", "RAM", "stack"]
            .map(str::to_owned)
            .to_vec();
        let before = [row(10_000, 2_000)];
        let growth = |now: Row, before: &[Row]| growth(&head, &now, before, 160);
        assert_eq!(growth(row(10_200, 2_200), &before), [""; 0]);
        assert_eq!(growth(row(9_000, 100), &before), [""; 0]);
        let grown = growth(row(10_201, 2_201), &before);
        assert_eq!(grown.len(), 2, "{grown:?}");
        assert_eq!(grown[0], "`first-fit`: flash 10201, 10000 in the table");
        assert_eq!(growth(row(1, 1), &[]).len(), 1);
    }
}
