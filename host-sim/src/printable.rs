//! Makes texts safe to print. Texts of files, of programs at the other end of a line and of
//! arguments may have control characters in them, which a terminal would obey. All output passes
//! through this module, which prints such characters as JSON writes them: `\u001b`. In JSON the
//! value stays the same.

use std::borrow::Cow;
use std::io::{self, Write};

/// Stands for the first character of the program's own colours. No text in UTF-8 has it.
const COLOUR: u8 = 0xff;
const ESCAPE: u8 = 0x1b;

/// The first of the two bytes of the control characters from U+0080 on.
const LEAD: u8 = 0xc2;

/// Text that the program has coloured, to be written to a [`Printable`].
pub(crate) fn coloured(mut text: Vec<u8>) -> Vec<u8> {
    for byte in &mut text {
        if *byte == ESCAPE {
            *byte = COLOUR;
        }
    }
    text
}

/// The text with escapes in place of control characters.
pub(crate) fn printable(text: &str) -> String {
    let mut output = Printable::new(Vec::new());
    // A vector takes everything.
    let _ = output.write_all(text.as_bytes());
    String::from_utf8_lossy(&output.output).into_owned()
}

/// Prints text with escapes in place of control characters other than line feeds and tabs.
pub(crate) struct Printable<W> {
    output: W,
    /// Whether the bytes so far end with [`LEAD`], which is not written yet.
    is_led: bool,
}

impl<W: Write> Printable<W> {
    pub(crate) const fn new(output: W) -> Self {
        Printable {
            output,
            is_led: false,
        }
    }

    fn escaped<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let is_plain = |&byte: &u8| match byte {
            b'\n' | b'\t' => true,
            0..0x20 | 0x7f | LEAD | COLOUR => false,
            _ => true,
        };
        if !self.is_led && bytes.iter().all(is_plain) {
            return bytes.into();
        }
        let mut text = Vec::with_capacity(bytes.len() + 5);
        for byte in bytes {
            match byte {
                0x80..=0x9f if self.is_led => text.extend(format!("\\u{byte:04x}").bytes()),
                _ if self.is_led => text.extend([LEAD, *byte]),
                &LEAD => {}
                &COLOUR => text.push(ESCAPE),
                byte if is_plain(byte) => text.push(*byte),
                byte => text.extend(format!("\\u{byte:04x}").bytes()),
            }
            self.is_led = *byte == LEAD;
        }
        text.into()
    }
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = self.escaped(bytes);
        self.output.write_all(&text)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_wherever_the_text_is_divided() {
        let text = "a\tb\n± é € \u{1b}[31m\u{7}\r\u{7f}\u{9b}2J\u{85}\u{a0}";
        let expected = "a\tb\n± é € \\u001b[31m\\u0007\\u000d\\u007f\\u009b2J\\u0085\u{a0}";
        assert_eq!(printable(text), expected);
        for at in 0..text.len() {
            let mut output = Printable::new(Vec::new());
            let (first, rest) = text.as_bytes().split_at(at);
            output.write_all(first).unwrap();
            output.write_all(rest).unwrap();
            assert_eq!(String::from_utf8(output.output).unwrap(), expected, "{at}");
        }
        let json = serde_json::to_string(text).unwrap();
        let back: String = serde_json::from_str(&printable(&json)).unwrap();
        assert_eq!(back, text);
    }

    #[test]
    fn only_the_program_colours() {
        let own = coloured("\u{1b}[48;5;1m \u{1b}[0m".as_bytes().to_vec());
        let mut output = Printable::new(Vec::new());
        output.write_all(&own).unwrap();
        output.write_all(b"\x1b[0m").unwrap();
        assert_eq!(output.output, b"\x1b[48;5;1m \x1b[0m\\u001b[0m");
    }
}
