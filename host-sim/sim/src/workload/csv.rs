//! The rows of a CSV file behind a line with the names of its columns.
//!
//! Cells are separated by commas, or by `|`, `;` or tabs if the line of names has more of those. A
//! cell in quotes may have separators and line breaks in it; between `|` there are no quotes, since
//! Slurm writes none. Empty lines do not count.

use std::io::Read;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::LogError;
use super::text_file::TextFile;
use crate::input::LINE_BYTES_MAX;
use crate::wording::{counted, quoted};

/// The possible separators. If several are equally frequent, the first of them counts.
const SEPARATORS: [char; 4] = [',', '|', ';', '\t'];

/// A CSV file and the names of its columns.
pub(crate) struct CsvFile<'p, R> {
    file: TextFile<'p, R>,
    reader: Reader,
    names: Row,
    line: String,
    /// The number of the line in which the latest row begins.
    begin: usize,
}

/// A row of cells.
pub(crate) struct Row {
    text: Vec<u8>,
    /// Where each cell ends, behind the end of the one before.
    ends: Vec<usize>,
    count: usize,
}

impl Row {
    /// A row without cells, but with room for as many as a line can have.
    pub(crate) fn new() -> Self {
        Row {
            text: vec![0; LINE_BYTES_MAX],
            ends: vec![0; LINE_BYTES_MAX],
            count: 0,
        }
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        (0..self.count).map(|place| self.cell(place))
    }

    /// The cell in this place, without blanks around it; empty where there is none.
    pub(crate) fn cell(&self, place: usize) -> &str {
        let ends = &self.ends[..self.count];
        let begin = place.checked_sub(1).map_or(0, |before| ends[before]);
        let bytes = ends.get(place).map(|&end| &self.text[begin..end]);
        let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.unwrap_or_default().trim()
    }
}

impl<'p, R: Read> CsvFile<'p, R> {
    /// Reads the line of names, the first that is not empty; an error when there is none.
    pub(crate) fn new(file: TextFile<'p, R>) -> Result<Self, LogError> {
        let mut csv = CsvFile {
            file,
            reader: Reader::new(),
            names: Row::new(),
            line: String::new(),
            begin: 1,
        };
        let expected = "the file is empty (expected a line with the names of columns)";
        if !csv.next_line()? {
            return Err(csv.file.wrong(expected.to_owned()));
        }
        let count = |separator: &char| csv.line.matches(*separator).count();
        // If counts are equal, `max_by_key` takes the last separator.
        let separators = SEPARATORS.into_iter().rev();
        let separator = separators.max_by_key(count).unwrap_or(',');
        csv.reader = ReaderBuilder::new()
            .delimiter(separator as u8)
            .quoting(separator != '|')
            .terminator(Terminator::Any(b'\n'))
            .build();
        let mut names = Row::new();
        csv.row_of_line(&mut names)?;
        csv.names = names;
        Ok(csv)
    }

    /// Reads the next row; `false` behind the last. An error when it has more or fewer cells than
    /// there are names, or is too long.
    pub(crate) fn next_row(&mut self, row: &mut Row) -> Result<bool, LogError> {
        if !self.next_line()? {
            self.file.check_end()?;
            return Ok(false);
        }
        self.row_of_line(row)?;
        if row.count == self.names.count {
            return Ok(true);
        }
        let (cells, names) = (counted(row.count, "cell"), self.names.count);
        Err(self.wrong(format!("{cells} (expected {names}, as in the header)")))
    }

    /// Reads the next line with something in it; `false` behind the last.
    fn next_line(&mut self) -> Result<bool, LogError> {
        while self.file.next_line(&mut self.line)? {
            if !self.line.trim().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the row that begins with the latest line.
    fn row_of_line(&mut self, row: &mut Row) -> Result<(), LogError> {
        self.begin = self.file.line();
        let (mut text, mut ends) = (0, 0);
        loop {
            self.line.push('\n');
            let mut input = self.line.as_bytes();
            while !input.is_empty() {
                let (result, read, written, ended) =
                    self.reader
                        .read_record(input, &mut row.text[text..], &mut row.ends[ends..]);
                input = &input[read..];
                text += written;
                ends += ended;
                match result {
                    ReadRecordResult::Record => {
                        row.count = ends;
                        return Ok(());
                    }
                    ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                        return Err(self.wrong(format!(
                            "the row is longer than {LINE_BYTES_MAX} bytes (expected at most \
                             that; is a quote open?)"
                        )));
                    }
                    ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
                }
            }
            // If a line does not end the row, it ends within quotes.
            if !self.file.next_line(&mut self.line)? {
                return Err(self.wrong("a quote is open (expected a second one)".to_owned()));
            }
        }
    }

    /// The error about the line in which the latest row begins.
    pub(crate) fn wrong(&self, reason: String) -> LogError {
        self.file.wrong_at(self.begin, reason)
    }

    /// The number of the line in which the latest row begins.
    pub(crate) const fn begin(&self) -> usize {
        self.begin
    }

    /// The lines.
    pub(crate) const fn file(&self) -> &TextFile<'p, R> {
        &self.file
    }

    /// The place of a column; `None` if there is none, an error when there are two.
    pub(crate) fn place(&self, name: &str) -> Result<Option<usize>, String> {
        let names = self.names.cells().enumerate();
        let mut places = names.filter(|(_, found)| *found == name);
        match (places.next(), places.next()) {
            (place, None) => Ok(place.map(|(place, _)| place)),
            _ => Err(format!("two columns are called {name:?} (expected one)")),
        }
    }

    /// The place of a column that must exist exactly once.
    pub(crate) fn required(&self, name: &str) -> Result<usize, String> {
        self.place(name)?.ok_or_else(|| self.missing(name))
    }

    /// The message about a missing column.
    pub(crate) fn missing(&self, name: &str) -> String {
        let names: Vec<_> = self.names.cells().collect();
        let names = quoted(names.join(", ").as_bytes());
        format!("no column is called {name} (found {names})")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// For each row its line and its cells; then the error, if there is one.
    fn rows(text: &str) -> (Vec<(usize, String)>, Option<String>) {
        let mut found = Vec::new();
        let mut read = || {
            let mut csv = CsvFile::new(TextFile::new(text.as_bytes(), Path::new("a.csv")))?;
            let mut row = Row::new();
            while csv.next_row(&mut row)? {
                found.push((csv.begin, row.cells().collect::<Vec<_>>().join("/")));
            }
            Ok(())
        };
        let error = read().err().map(|error: LogError| error.to_string());
        (found, error)
    }

    #[test]
    fn rows_have_the_number_of_their_first_line() {
        let text = "a,b\n\n1,\"x, \"\"y\"\"\nz\n\n\"\r\n 2 , 3\n  \n4,\n";
        let expected = [(3, "1/x, \"y\"\nz"), (7, "2/3"), (9, "4/")];
        let expected = expected.map(|(line, row)| (line, row.to_owned()));
        assert_eq!(rows(text), (expected.to_vec(), None));
        let (_, error) = rows("a,b\n1,\"x\n\"\n4\n");
        assert_eq!(
            error.unwrap(),
            "a.csv:4: 1 cell (expected 2, as in the header)"
        );
        for open in ["a,b\n1,\"x\n2,3\n", "a,b\n1,\"x"] {
            let (_, error) = rows(open);
            assert_eq!(
                error.unwrap(),
                "a.csv:2: a quote is open (expected a second one)"
            );
        }
        let long = format!("a,b\n1,\"x{}", "\n1,2".repeat(LINE_BYTES_MAX));
        let (_, error) = rows(&long);
        assert!(
            error
                .unwrap()
                .starts_with("a.csv:2: the row is longer than 65536 bytes")
        );
    }

    #[test]
    fn cells_are_separated_as_in_the_header() {
        for (text, expected) in [
            ("a|b,c\n1|\"2,3|4\n", Some("1|\"2/3|4")),
            ("a|b|c\n1|\"2,3|4\n", Some("1/\"2,3/4")),
            ("a;b;c\n1;2,5;3\n", Some("1/2,5/3")),
            ("a\tb\tc\n\t2\t\n", Some("/2/")),
            ("a,b,c\n1,2|3,4\n", Some("1/2|3/4")),
        ] {
            let found = rows(text).0;
            let found = found.first().map(|(_, row)| row.as_str());
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(rows("a\n1|2\n").0, [(2, "1|2".to_owned())]);
    }
}
