//! Numbers as sentences have them.

use std::fmt;

/// A number with an exponent where it would have very many digits otherwise; it can be read again.
///
/// ```
/// use meshalloc_host_sim::wording::Number;
/// assert_eq!(Number(0.47).to_string(), "0.47");
/// assert_eq!(Number(-1e300).to_string(), "-1e300");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.abs() {
            0.0 | 1e-6..1e16 => write!(f, "{}", self.0),
            _ => write!(f, "{:e}", self.0),
        }
    }
}

/// How many there are of something: `1 job`, `2 jobs`.
///
/// ```
/// use meshalloc_host_sim::wording::counted;
/// assert_eq!([0, 1, 2].map(|count| counted(count, "job")), ["0 jobs", "1 job", "2 jobs"]);
/// ```
pub fn counted(count: impl TryInto<u64> + fmt::Display + Copy, what: &str) -> String {
    match count.try_into() {
        Ok(1) => format!("{count} {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// The text in lines of at most `width` characters, except where a word is longer.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
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
