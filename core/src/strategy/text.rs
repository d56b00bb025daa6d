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

    /// The parts that a text is: a whole number, or one with decimals, or a fraction. `None` if it is none, or no whole
    /// number of parts, or out of range.
    fn read(&self, text: &str) -> Option<u64> {
        // "+1" is a number for `parse`.
        let digits = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse::<u64>().ok(),
            false => None,
        };
        let parts = |numerator: u64, denominator: u64| {
            let product = numerator.checked_mul(self.unit)?;
            (product.checked_rem(denominator)? == 0).then_some(product / denominator)
        };
        let value = match (text.split_once('.'), text.split_once('/')) {
            (Some((whole, decimals)), _) if self.unit > 1 => {
                let denominator = 10_u64.checked_pow(decimals.len() as u32)?;
                let fraction = parts(digits(decimals)?, denominator)?;
                parts(digits(whole)?, 1)?.checked_add(fraction)?
            }
            (_, Some((numerator, denominator))) if self.unit > 1 => {
                parts(digits(numerator)?, digits(denominator)?)?
            }
            _ => parts(digits(text)?, 1)?,
        };
        let range = self.range.as_ref()?;
        range.contains(&value).then_some(value)
    }

    /// Writes so many parts as [`StrategyForm::read`] reads them.
    fn write(&self, f: &mut dyn fmt::Write, value: u64) -> fmt::Result {
        write!(f, "{}", value / self.unit)?;
        let mut rest = value % self.unit;
        if rest > 0 {
            f.write_char('.')?;
        }
        while rest > 0 {
            // A part is less than one, and there is room for ten.
            write!(f, "{}", rest * 10 / self.unit)?;
            rest = rest * 10 % self.unit;
        }
        Ok(())
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
        let (start, number) = StrategyForm::split(form.text);
        fmt::Write::write_str(&mut text, start)?;
        if !number.is_empty() {
            form.write(&mut text, value)?;
        }
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
    /// What stands where this form has a number is none, is out of range, or has more decimals than are kept.
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
                let kind = match form.unit {
                    1 => "a whole number",
                    _ => "a decimal or a fraction",
                };
                write!(f, "expected {}, {kind}", form.text)?;
                if let Some(range) = &form.range {
                    f.write_str(" from ")?;
                    form.write(f, *range.start())?;
                    f.write_str(" to ")?;
                    form.write(f, *range.end())?;
                }
                match form.unit {
                    1 => Ok(()),
                    unit => write!(f, " with up to {} decimals", unit.ilog10()),
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
/// let sixteenth: StrategyKind = "dbt:1/16".parse()?;
/// assert_eq!(sixteenth, StrategyKind::DynamicBinaryTree { ratio: 62_500 });
/// assert_eq!(sixteenth.to_string(), "dynamic-binary-tree:0.0625");
/// let error = StrategyTextError::NoParameter(StrategyKind::FirstFit);
/// assert_eq!("ff:seed=7".parse::<StrategyKind>(), Err(error));
/// # Ok::<(), StrategyTextError>(())
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
            let value = match parameters.strip_prefix(start) {
                Some("") if number.is_empty() => 0,
                Some(text) if !number.is_empty() => {
                    form.read(text).ok_or(StrategyTextError::BadNumber(form))?
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
