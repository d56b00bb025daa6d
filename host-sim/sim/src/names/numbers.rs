//! Numbers as they are written on the command line and in scenario files.

use std::num::NonZero;
use std::str::FromStr;

use super::SPANS;
use crate::time::JOBS_MAX;
use crate::wording::Number;

/// The plain digits of a number that is written with `_` between its digits, with an exponent, or
/// with `k` or `M` behind it; `None` if the text is not a number.
///
/// Digits alone stay as they are, however many there are.
pub(super) fn plain(text: &str) -> Option<String> {
    let begins = text
        .trim_start_matches('-')
        .starts_with(|it: char| it.is_ascii_digit() || it == '.');
    let is_spaced = text.contains("__") || text.ends_with('_') || text.contains("._");
    if !begins || is_spaced {
        return None;
    }
    let text = text.replace('_', "");
    let factors = [('k', 1e3), ('M', 1e6)].into_iter();
    let mut scaled = factors.filter_map(|(sign, factor)| Some((text.strip_suffix(sign)?, factor)));
    let scaled = scaled.next();
    if scaled.is_none() && !text.contains(['e', 'E']) {
        return text.parse::<f64>().ok().map(|_| text);
    }
    let (number, factor) = scaled.unwrap_or((&text, 1.0));
    let number = number.parse::<f64>().ok()? * factor;
    number.is_finite().then(|| number.to_string())
}

/// A time in seconds: a number, perhaps with a unit.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let mut units = SPANS.iter();
    let known = units.find_map(|&(unit, each)| Some((text.strip_suffix(unit)?, each)));
    let (number, each) = known.unwrap_or((text, 1.0));
    let number = plain(number)?.parse::<f64>().ok()? * each;
    // Adding 0 turns a negative zero into 0.
    Some(number + 0.0)
}

/// Reads a value that `is_good` accepts; the error is what was `expected`.
pub fn value<T: FromStr>(
    text: &str,
    expected: &str,
    is_good: impl FnOnce(&T) -> bool,
) -> Result<T, String> {
    let plain = plain(text);
    let read = plain.as_deref().unwrap_or(text).parse().ok();
    let read = read.filter(is_good);
    read.ok_or_else(|| format!("expected {expected}"))
}

/// Reads a whole number from 1 to 4294967295; anything else is an error.
///
/// ```
/// use meshalloc_sim::names::count;
/// assert_eq!(count("8"), Ok(8_u32));
/// assert_eq!(count::<u32>("0").unwrap_err(), "expected a whole number, 1 to 4294967295");
/// ```
pub fn count<T: FromStr>(text: &str) -> Result<T, String> {
    whole(1, u32::MAX)(text)
}

/// Reads a number of jobs of a run, 1 to [`JOBS_MAX`]; anything else is an error.
pub fn jobs(text: &str) -> Result<u32, String> {
    whole(1, JOBS_MAX)(text)
}

/// The most threads that may be asked for.
const THREADS_MAX: u32 = 65_535;

/// Reads a number of threads, 1 to 65535; anything else is an error.
pub fn threads(text: &str) -> Result<NonZero<usize>, String> {
    whole(1, THREADS_MAX)(text)
}

/// Reads a whole number from `least` to `most`, decimal digits and no sign.
pub(crate) fn whole<T: FromStr>(
    least: u64,
    most: impl Into<u64>,
) -> impl Fn(&str) -> Result<T, String> {
    let most = most.into();
    move |text| {
        let number = plain(text).and_then(|digits| digits.parse().ok());
        let is_whole = number.is_some_and(|number: u64| (least..=most).contains(&number));
        let expected = format!("a whole number, {least} to {most}");
        value(text, &expected, |_| is_whole)
    }
}

/// The maximum number of replications: the results of each are kept in memory.
pub const REPLICATIONS_MAX: u32 = 1_000_000;

/// The same for a number with a fraction; -0 is 0.
pub fn number(
    text: &str,
    expected: &str,
    is_good: impl FnOnce(&f64) -> bool,
) -> Result<f64, String> {
    // Adding 0 turns a negative zero into 0.
    Ok(value(text, expected, is_good)? + 0.0)
}

/// Reads a number over 0, not infinite; anything else is an error.
pub fn positive(text: &str) -> Result<f64, String> {
    let is_good = |number: &f64| number.is_finite() && *number > 0.0;
    value(text, "a number over 0", is_good)
}

/// Loads from this one on are taken for mistaken percentages.
const LOAD_MAX: f64 = 10.0;

/// Reads an offered load, a number over 0 and below 10; anything else is an error.
pub fn load(text: &str) -> Result<f64, String> {
    match positive(text)? {
        load if load < LOAD_MAX => Ok(load),
        load => Err(format!(
            "expected a fraction of the machine, over 0 and below {LOAD_MAX} ({} % is {})",
            Number(load),
            Number(load / 100.0)
        )),
    }
}

/// Reads a number between 0 and 1, both left out; anything else is an error.
pub fn fraction(text: &str) -> Result<f64, String> {
    let is_good = |number: &f64| *number > 0.0 && *number < 1.0;
    value(text, "a number between 0 and 1, both excluded", is_good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_errors() {
        assert_eq!(count::<u32>("8"), Ok(8));
        assert_eq!(jobs("16777216"), Ok(JOBS_MAX));
        assert_eq!(threads("65535").map(NonZero::get), Ok(65_535));
        for wrong in [
            "0",
            "-1",
            "1.5",
            "",
            "+1",
            "4294967296",
            "99999999999999999999",
        ] {
            let expected = |most: &str| format!("expected a whole number, 1 to {most}");
            assert_eq!(count::<u32>(wrong), Err(expected("4294967295")), "{wrong}");
            assert_eq!(jobs(wrong), Err(expected("16777216")), "{wrong}");
            assert_eq!(threads(wrong), Err(expected("65535")), "{wrong}");
        }
        assert!(jobs("16777217").is_err() && threads("65536").is_err());
        let seed = whole::<u64>(0, u64::MAX);
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        assert_eq!((seed("0"), seed("10k")), (Ok(0), Ok(10_000)));
        assert!(seed("18446744073709551616").is_err() && seed("+1").is_err());
        assert_eq!(positive(".47"), Ok(0.47));
        for wrong in ["0", "-1", "nan", "inf", "1e999", "x"] {
            assert!(positive(wrong).is_err(), "{wrong}");
        }
        assert_eq!(fraction("0.03"), Ok(0.03));
        let zero = number("-0.0", "a number", |_| true).unwrap();
        assert!(zero == 0.0 && zero.is_sign_positive());
        for wrong in ["0", "1", "nan", "-0.1"] {
            assert!(fraction(wrong).is_err(), "{wrong}");
        }
    }
}
