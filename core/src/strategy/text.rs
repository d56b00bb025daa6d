//! How a strategy and its parameters are written: [`StrategyKind`] as text.

use core::fmt;
use core::str::FromStr;

use heapless::String;

use super::{StrategyForm, StrategyKind};

impl StrategyForm {
    /// The text up to the number, and the capitals that stand for the number.
    fn split(text: &'static str) -> (&'static str, &'static str) {
        let is_capital = |character: char| character.is_ascii_uppercase();
        text.split_at(text.trim_end_matches(is_capital).len())
    }

    /// The number of parts in a text: a whole number, or one with decimals, or a fraction. `None`
    /// if the text is not a number, not a whole number of parts, or out of range.
    fn read(&self, text: &str) -> Option<u64> {
        // "+1" is a number for `parse`.
        let digits = |text: &str| {
            if text.bytes().all(|byte| byte.is_ascii_digit()) {
                text.parse::<u64>().ok()
            } else {
                None
            }
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

    /// Writes a number of parts as [`StrategyForm::read`] reads it.
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

/// Why a text does not name a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StrategyTextError {
    /// No strategy has this name or alias.
    UnknownName,
    /// The strategy takes no parameter.
    NoParameter(StrategyKind),
    /// The strategy takes parameters, but not in this form.
    UnknownForm(StrategyKind),
    /// The number in this form is missing, is out of range, or has more decimals than are kept.
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

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::strategy::{CurveFit, CurveLine};
    use std::string::{String, ToString};

    fn ratio(text: &str) -> Result<u64, String> {
        match text.parse() {
            Ok(StrategyKind::DynamicBinaryTree { ratio }) => Ok(ratio),
            Ok(other) => panic!("{other}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_ratio_is_a_decimal_or_a_fraction_and_never_rounded() {
        for (text, millionths) in [
            ("dbt:0", 0),
            ("dbt:1", 1_000_000),
            ("dbt:1.0", 1_000_000),
            ("dbt:0.5", 500_000),
            ("dbt:1/2", 500_000),
            ("dbt:1/16", 62_500),
            ("dbt:0.0625", 62_500),
            ("dbt:0.000001", 1),
            ("dbt:0.1", 100_000),
            ("dbt:3/64", 46_875),
        ] {
            assert_eq!(ratio(text), Ok(millionths), "{text}");
        }
        let expected = "expected dynamic-binary-tree:RATIO, a decimal or a fraction \
            from 0 to 1 with up to 6 decimals";
        for text in [
            "1/3",
            "1.1",
            "2",
            "-0.5",
            "+0.5",
            ".5",
            "0.",
            "0.0000001",
            "1/0",
            "0/0",
            "1/",
            "/2",
            "0.5/2",
            "",
            "0x1",
            "1e-1",
            "0.5 ",
            "99999999999999999999",
            "0.99999999999999999999999999",
        ] {
            assert_eq!(
                ratio(&["dbt:", text].concat()),
                Err(expected.to_string()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_written_is_read() {
        // Miri takes a millisecond for each.
        let step = if cfg!(miri) { 10_007 } else { 7 };
        for millionths in (0..=1_000_000).step_by(step) {
            let kind = StrategyKind::DependentDynamicBinaryTree { ratio: millionths };
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for tolerance in [0, 1, 255, 256, 257, 1 << 20] {
            let kind = StrategyKind::StaticBinaryTree { tolerance };
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for fit in [
            CurveFit::FirstFit,
            CurveFit::BestFit,
            CurveFit::SumOfSquares,
        ] {
            for line in [CurveLine::Neighbors, CurveLine::Hilbert] {
                let kind = StrategyKind::Curve { fit, line };
                assert_eq!(kind.to_string().parse(), Ok(kind));
            }
        }
        assert_eq!(
            "curve:hilbert-best-fit".parse(),
            Ok(StrategyKind::Curve {
                fit: CurveFit::BestFit,
                line: CurveLine::Hilbert,
            })
        );
        let error = "curve:worst-fit".parse::<StrategyKind>().unwrap_err();
        assert!(
            error
                .to_string()
                .contains("curve:first-fit or curve:best-fit"),
            "{error}"
        );
        let error = "sbt:1048577".parse::<StrategyKind>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected static-binary-tree:TOLERANCE, a whole number from 0 to 1048576"
        );
    }
}
