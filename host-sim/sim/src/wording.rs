//! Numbers and words of the input, formatted for sentences.

use std::fmt;

mod number;

pub use number::{alone, number};

/// A number with an exponent where it would have very many digits otherwise; it can be read again.
///
/// ```
/// use meshalloc_sim::wording::Number;
/// assert_eq!(Number(0.47).to_string(), "0.47");
/// assert_eq!(Number(-1e300).to_string(), "-1e300");
/// assert_eq!(Number(-0.0).to_string(), "0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.abs() {
            // Never -0.
            0.0 | 1e-6..1e16 => write!(f, "{}", self.0 + 0.0),
            _ => write!(f, "{:e}", self.0),
        }
    }
}

/// A number of things: `1 job`, `2 jobs`.
///
/// ```
/// use meshalloc_sim::wording::counted;
/// assert_eq!([0, 1, 2].map(|count| counted(count, "job")), ["0 jobs", "1 job", "2 jobs"]);
/// assert_eq!([0.5, 1.0].map(|count| counted(count, "job")), ["0.5 jobs", "1 job"]);
/// ```
pub fn counted(count: impl fmt::Display, what: &str) -> String {
    // As it is written: a number may have a fraction.
    let mut text = count.to_string();
    let plural = if text == "1" { "" } else { "s" };
    text.extend([" ", what, plural]);
    text
}

/// The verb that follows a count: `1 line is`, `2 lines are`.
pub fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// The items as a choice. If there are several items, those that contain a comma are in quotes.
///
/// ```
/// use meshalloc_sim::wording::any_of;
/// assert_eq!(any_of(["a"]), "a");
/// assert_eq!(any_of(["a", "b"]), "a or b");
/// assert_eq!(any_of(["a", "b:X,Y", "c"]), "a, \"b:X,Y\" or c");
/// ```
pub fn any_of(items: impl IntoIterator<Item = impl ToString>) -> String {
    choice(items.into_iter().map(|item| item.to_string()).collect())
}

/// The part of [`any_of`] that is compiled once for all kinds of items.
fn choice(mut items: Vec<String>) -> String {
    if items.len() > 1 {
        let with_commas = items.iter_mut().filter(|item| item.contains(','));
        with_commas.for_each(|item| *item = format!("{item:?}"));
    }
    match items.pop() {
        Some(last) if !items.is_empty() => format!("{} or {last}", items.join(", ")),
        only => only.unwrap_or_default(),
    }
}

/// A word of the input, shortened, as an error message shows it.
pub fn quoted(word: &[u8]) -> String {
    let (shown, more) = cut(word);
    format!("{:?}{more}", String::from_utf8_lossy(shown))
}

/// Digits of the input, shortened.
pub fn shortened(digits: &[u8]) -> String {
    let (shown, more) = cut(digits);
    format!("{}{more}", String::from_utf8_lossy(shown))
}

/// The beginning of a word, and the text that replaces the rest.
fn cut(word: &[u8]) -> (&[u8], &'static str) {
    const BYTES_MAX: usize = 40;
    let more = if word.len() > BYTES_MAX { "..." } else { "" };
    (&word[..word.len().min(BYTES_MAX)], more)
}

/// The text in lines of at most `width` characters, except where a word is longer.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
