//! The code that all readers share: lines of bounded length, whole files of bounded size, and byte
//! order marks. Memory is bounded on any input. An error about the text is an [`io::Error`] of the
//! kind `InvalidData`; the caller adds the file and the line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// The longest line of a log or of a file of operations, in bytes, its end included.
pub const LINE_BYTES_MAX: usize = 1 << 16;

/// The largest file that is read whole, in bytes.
pub const FILE_BYTES_MAX: usize = 1 << 22;

/// The first bytes of a file of UTF-8, if it has a byte order mark.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// The first bytes of a gzip file.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Formats of compressed files, and the first bytes of each.
const COMPRESSED: [(&str, &[u8]); 5] = [
    ("gzip", &GZIP),
    ("bzip2", b"BZh"),
    ("xz", b"\xfd7zXZ\0"),
    ("zstd", b"\x28\xb5\x2f\xfd"),
    ("zip", b"PK\x03\x04"),
];

/// The lines of a text of any length.
pub struct Lines<R> {
    reader: BufReader<R>,
    longest: usize,
    line: Vec<u8>,
    number: usize,
    bytes: u64,
}

impl<R: Read> Lines<R> {
    /// Reads lines of at most `longest` bytes, their ends included.
    pub fn new(input: R, longest: usize) -> Self {
        Lines {
            reader: BufReader::with_capacity(LINE_BYTES_MAX, input),
            longest,
            line: Vec::new(),
            number: 0,
            bytes: 0,
        }
    }

    /// The number of the latest line, from 1.
    pub const fn number(&self) -> usize {
        self.number
    }

    /// The bytes up to the end of the latest line.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first bytes of the text, without its byte order mark; empty if they cannot be read.
    pub fn begin(&mut self) -> &[u8] {
        let begin = self.reader.fill_buf().unwrap_or_default();
        begin.strip_prefix(UTF8_MARK).unwrap_or(begin)
    }

    /// Whether the input may have to be waited for.
    pub fn is_drained(&self) -> bool {
        self.reader.buffer().is_empty()
    }

    /// The next line with its end, the first without its byte order mark; `None` behind the last.
    ///
    /// # Errors
    ///
    /// When the input cannot be read, is compressed or UTF-16, has lines that end in CR alone, or
    /// has a line that is too long.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        self.number += 1;
        self.line.clear();
        let room = self.longest as u64 + 1;
        let mut part = self.reader.by_ref().take(room);
        let read = part.read_until(b'\n', &mut self.line)?;
        self.bytes += read as u64;
        if self.number == 1 {
            check_encoding(&self.line)?;
        }
        let is_odd = self.number == 1 || read > self.longest;
        if is_odd && has_cr_alone(&self.line) {
            return Err(invalid(
                "the lines end in CR alone (expected LF, or CR LF; tr '\\r' '\\n' converts them)"
                    .to_owned(),
            ));
        }
        if read > self.longest {
            let longest = self.longest;
            return Err(invalid(format!(
                "the line is longer than {longest} bytes (expected at most that)"
            )));
        }
        let is_first = self.number == 1;
        let line = self.line.strip_prefix(UTF8_MARK).filter(|_| is_first);
        Ok((read > 0).then_some(line.unwrap_or(&self.line)))
    }
}

/// A text file as a whole, without its byte order mark; an error when it cannot be read, is not
/// plain UTF-8, or has more than [`FILE_BYTES_MAX`] bytes.
pub fn text(path: &Path) -> io::Result<String> {
    text_of(File::open(path)?)
}

fn text_of(input: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    input
        .take(FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    check_encoding(&bytes)?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(invalid(format!(
            "the file is larger than {FILE_BYTES_MAX} bytes (expected at most that)"
        )));
    }
    if bytes.starts_with(UTF8_MARK) {
        bytes.drain(..UTF8_MARK.len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
        invalid(format!("line {line} is not UTF-8 (expected UTF-8)"))
    })
}

/// An error for a compressed text, and for UTF-16: a text with the byte order mark of UTF-16, or
/// with a zero among its first two bytes.
fn check_encoding(first: &[u8]) -> io::Result<()> {
    let compressed = |(_, start): &&(&str, &[u8])| first.starts_with(start);
    if let Some((format, _)) = COMPRESSED.iter().find(compressed) {
        return Err(invalid(format!(
            "the file is compressed with {format} (expected plain text, or gzip for a log or a CSV \
             file)"
        )));
    }
    match first {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 1..=255, ..] | [1..=255, 0, ..] => Err(invalid(
            "the text is UTF-16 (expected UTF-8; iconv -f UTF-16 -t UTF-8 converts it)".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Whether a line has a CR that is not a part of its end.
fn has_cr_alone(line: &[u8]) -> bool {
    let mut pairs = line.windows(2);
    pairs.any(|pair| pair[0] == b'\r' && !matches!(pair[1], b'\r' | b'\n'))
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes without end, which counts how many are taken.
    struct Endless<'c> {
        byte: u8,
        taken: &'c mut u64,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(self.byte);
            *self.taken += buffer.len() as u64;
            Ok(buffer.len())
        }
    }

    fn all(input: &[u8], longest: usize) -> Vec<Result<String, String>> {
        let mut lines = Lines::new(input, longest);
        let mut all = Vec::new();
        loop {
            let line = lines.next_line().map_err(|error| error.to_string());
            let line = line.map(|line| line.map(|line| String::from_utf8_lossy(line).into_owned()));
            match line.transpose() {
                None => return all,
                Some(Err(error)) => {
                    all.push(Err(error));
                    return all;
                }
                Some(line) => all.push(line),
            }
        }
    }

    #[test]
    fn lines_of_up_to_the_longest_are_read_and_a_longer_one_is_refused() {
        let good = |lines: &[&str]| -> Vec<Result<String, String>> {
            lines.iter().map(|line| Ok((*line).to_owned())).collect()
        };
        assert_eq!(all(b"", 4), []);
        assert_eq!(all(b"a\n\nbc", 4), good(&["a\n", "\n", "bc"]));
        assert_eq!(all(b"abc\nabcd", 4), good(&["abc\n", "abcd"]));
        for input in [&b"a\nabcd\n"[..], b"a\nabcde"] {
            let lines = all(input, 4);
            assert_eq!(lines[0], Ok("a\n".to_owned()));
            assert!(
                lines[1]
                    .as_ref()
                    .unwrap_err()
                    .contains("longer than 4 bytes")
            );
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped_once_and_utf_16_is_named() {
        assert_eq!(
            all(b"\xef\xbb\xbf1\n\xef\xbb\xbf2", 9),
            [Ok("1\n".to_owned()), Ok("\u{feff}2".to_owned())]
        );
        assert_eq!(text_of(&b"\xef\xbb\xbfa = 1"[..]).unwrap(), "a = 1");
        for utf16 in [&b"\xff\xfe;\0"[..], b"\xfe\xff\0;", b";\0 \0", b"\0;\0 "] {
            let lines = all(utf16, 9);
            assert!(
                lines[0].as_ref().unwrap_err().contains("UTF-16"),
                "{lines:?}"
            );
            let error = text_of(utf16).unwrap_err().to_string();
            assert!(error.contains("UTF-16"), "{error}");
        }
        let error = text_of(&b"a\nb\n\xff\n"[..]).unwrap_err().to_string();
        assert!(error.contains("line 3 is not UTF-8"), "{error}");
    }

    #[test]
    fn a_compressed_file_is_named() {
        let starts: [(&str, &[u8]); 5] = [
            ("gzip", b"\x1f\x8b\x08\x08"),
            ("bzip2", b"BZh91AY&SY"),
            ("xz", b"\xfd\x37\x7a\x58\x5a\x00\x00\x04"),
            ("zstd", b"\x28\xb5\x2f\xfd\x24"),
            ("zip", b"PK\x03\x04\x14"),
        ];
        for (format, start) in starts {
            let expected = format!("compressed with {format} (expected plain text");
            let error = all(start, 99)[0].clone().unwrap_err();
            assert!(error.contains(&expected), "{error}");
            let error = text_of(start).unwrap_err().to_string();
            assert!(error.contains(&expected), "{error}");
        }
    }

    #[test]
    fn of_an_endless_line_little_is_read() {
        for byte in [b'x', 0] {
            let mut taken = 0;
            let mut lines = Lines::new(
                Endless {
                    byte,
                    taken: &mut taken,
                },
                LINE_BYTES_MAX,
            );
            assert!(lines.next_line().is_err());
            assert!(lines.line.capacity() <= 4 * LINE_BYTES_MAX);
            assert!(taken <= 4 * LINE_BYTES_MAX as u64, "{taken}");
            let mut taken = 0;
            let error = text_of(Endless {
                byte,
                taken: &mut taken,
            })
            .unwrap_err();
            assert!(
                error.to_string().contains("larger than 4194304 bytes"),
                "{error}"
            );
            assert!(taken <= 4 * FILE_BYTES_MAX as u64, "{taken}");
        }
    }
}
