//! How a strategy and its parameters are written: [`StrategyKind`] as text.

use core::fmt;
use core::str::FromStr;

use heapless::String;

use super::{StrategyForm, StrategyKind};

impl StrategyForm {
    /// The text up to the number, and what stands for that.
    fn split(text: &'static str) -> (&'static str, &'static str) {
        let is_capital = |character: char| character.is_ascii_uppercase();
        text.split_at(text.trim_end_matches(is_capital).len())
    }
}

/// The name, or the name with the parameters.
impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The longest form has fewer characters, and a number at most 20.
        type Text = String<64>;
        let Some((form, value)) = self.form() else {
            return f.pad(self.name());
        };
        let mut text = Text::new();
        match StrategyForm::split(form) {
            (form, "") => fmt::write(&mut text, format_args!("{form}")),
            (start, _) => fmt::write(&mut text, format_args!("{start}{value}")),
        }?;
        f.pad(&text)
    }
}

/// Why a text is no strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyTextError {
    /// No strategy has this name or alias.
    UnknownName,
    /// The strategy takes no parameter.
    NoParameter(StrategyKind),
    /// The strategy takes parameters, but not in this form.
    UnknownForm(StrategyKind),
    /// What stands where this form has a number is none, or is out of range.
    BadNumber(&'static StrategyForm),
}

impl fmt::Display for StrategyTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrategyTextError::UnknownName => f.write_str("unknown strategy"),
            StrategyTextError::NoParameter(kind) => {
                write!(f, "the strategy {} takes no parameter", kind.name())
            }
            StrategyTextError::UnknownForm(kind) => {
                write!(f, "expected {}", kind.name())?;
                for form in kind.info().forms {
                    write!(f, " or {}", form.text)?;
                }
                Ok(())
            }
            StrategyTextError::BadNumber(form) => {
                write!(f, "expected {}, a whole number", form.text)?;
                match &form.range {
                    Some(range) => write!(f, " from {} to {}", range.start(), range.end()),
                    None => Ok(()),
                }
            }
        }
    }
}

impl core::error::Error for StrategyTextError {}

/// Reads a name or alias, and after a colon parameters in one of the strategy's forms.
///
/// ```
/// use meshalloc::{StrategyKind, StrategyTextError};
/// assert_eq!("ff".parse(), Ok(StrategyKind::FirstFit));
/// assert_eq!("random:seed=7".parse(), Ok(StrategyKind::Random { seed: 7 }));
/// assert_eq!("random".parse(), Ok(StrategyKind::Random { seed: 0 }));
/// let error = StrategyTextError::NoParameter(StrategyKind::FirstFit);
/// assert_eq!("ff:seed=7".parse::<StrategyKind>(), Err(error));
/// ```
impl FromStr for StrategyKind {
    type Err = StrategyTextError;

    fn from_str(text: &str) -> Result<Self, StrategyTextError> {
        let (name, parameters) = match text.split_once(':') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (text, None),
        };
        let mut known = Self::ALL.iter().copied();
        let kind = known
            .find(|kind| kind.name() == name || kind.info().aliases.contains(&name))
            .ok_or(StrategyTextError::UnknownName)?;
        let Some(parameters) = parameters else {
            return Ok(kind);
        };
        let forms = kind.info().forms;
        if forms.is_empty() {
            return Err(StrategyTextError::NoParameter(kind));
        }
        for form in forms {
            let (start, number) = StrategyForm::split(form.text);
            // A form begins with the name and a colon.
            let start = &start[kind.name().len() + 1..];
            let value = match (parameters.strip_prefix(start), &form.range) {
                (Some(""), _) if number.is_empty() => 0,
                (Some(digits), Some(range)) if !number.is_empty() => {
                    let digits = digits.parse().ok().filter(|_| !digits.starts_with('+'));
                    let in_range = digits.filter(|value| range.contains(value));
                    in_range.ok_or(StrategyTextError::BadNumber(form))?
                }
                _ => continue,
            };
            if let Some(kind) = Self::from_form(form.text, value) {
                return Ok(kind);
            }
        }
        Err(StrategyTextError::UnknownForm(kind))
    }
}
