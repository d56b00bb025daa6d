//! The meaning of a word of a log, in every format: the Standard Workload Format, CSV as programs
//! and libraries write it, and the output of Slurm.

use meshalloc::{Ticks, Tolerance};

use super::{TIME_MAX, TimeUnit};

/// The value that a word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<T> {
    Known(T),
    /// No value: the word is empty, or says that the value is missing.
    Unknown,
    /// No limit, or a time that is too long to be simulated.
    Unlimited,
}

/// Words for a value that is missing, in any case: of Slurm, of pandas, of R and of databases.
const UNKNOWN: [&str; 13] = [
    "",
    "-",
    "na",
    "n/a",
    "nan",
    "nat",
    "<na>",
    "null",
    "none",
    "\\n",
    "unknown",
    "invalid",
    // Slurm's word for the limit of the partition, which logs do not contain.
    "partition_limit",
];

/// Words for no limit, in any case.
const UNLIMITED: [&str; 4] = ["unlimited", "infinite", "infinity", "inf"];

fn word_for<T>(word: &str) -> Option<Value<T>> {
    let is_in = |words: &[&str]| words.iter().any(|other| word.eq_ignore_ascii_case(other));
    if is_in(&UNKNOWN) {
        return Some(Value::Unknown);
    }
    is_in(&UNLIMITED).then_some(Value::Unlimited)
}

/// A span of time in ticks: seconds, whole ones exactly and others to the nearest tick, or hours,
/// minutes and seconds. Any negative number is unknown, and a time too long to be simulated is
/// unlimited. `None` if the word is not a time.
pub(crate) fn span(word: &str) -> Option<Value<Ticks>> {
    let ticks = if let Ok(whole) = word.parse::<u64>() {
        whole.saturating_mul(TimeUnit::Second.ticks_each())
    } else if let Some(value) = word_for(word) {
        return Some(value);
    } else if let Ok(number) = word.parse::<f64>() {
        if number < 0.0 {
            return Some(Value::Unknown);
        }
        TimeUnit::Second.ticks(number)
    } else {
        TimeUnit::Second.ticks(clock(word)?)
    };
    Some(if ticks < TIME_MAX {
        Value::Known(ticks)
    } else {
        Value::Unlimited
    })
}

/// How many faulty processors a slice tolerates.
pub(super) const TOLERATE: &str = "a number of faulty processors, 0 to 255";

/// How many faulty processors a slice tolerates: none in an empty cell. `None`: the word is no such
/// number.
pub(super) fn tolerance(word: &str) -> Option<Tolerance> {
    if word.is_empty() {
        Some(Tolerance::NONE)
    } else {
        Tolerance::new(word.parse().ok()?)
    }
}

/// The form of a priority, for errors.
pub(super) const PRIORITY: &str = "seconds of a head start, or D-HH:MM:SS";

/// A head start in the queue in ticks: a [`span`], 0 if it is unknown. `None` if the word is not a
/// time.
pub(super) fn priority(word: &str) -> Option<Ticks> {
    Some(match span(word)? {
        Value::Known(priority) => priority,
        Value::Unknown => 0,
        Value::Unlimited => TIME_MAX,
    })
}

/// The words that say whether a job is preemptible, for errors.
pub(super) const PREEMPTIBLE: &str = "1, true or yes, or 0, false or no";

/// Whether a job is preemptible: not if that is unknown. `None`: the word says neither.
pub(super) fn preemptible(word: &str) -> Option<bool> {
    let is_in = |words: &[&str]| words.iter().any(|other| word.eq_ignore_ascii_case(other));
    let is_preemptible = is_in(&["1", "true", "yes"]);
    let is_not = is_in(&["0", "false", "no"]) || is_in(&UNKNOWN);
    (is_preemptible || is_not).then_some(is_preemptible)
}

/// The seconds in `MM:SS`, `HH:MM:SS`, `D-HH:MM:SS` of Slurm or `D days HH:MM:SS` of pandas, with
/// decimals if need be.
fn clock(word: &str) -> Option<f64> {
    let number = |digits: &str| {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| is_number)
    };
    let days = [" days ", " day ", "-"];
    let (days, clock) = match days.iter().find_map(|between| word.split_once(between)) {
        Some((days, clock)) => (Some(number(days)?), clock),
        None => (None, word),
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let fraction = number(fraction).and(format!("0.{fraction}").parse::<f64>().ok())?;
    let parts: Vec<u32> = clock.split(':').map(number).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match parts[..] {
        [hours, minutes, seconds] => (hours, minutes, seconds),
        [minutes, seconds] if days.is_none() => (0, minutes, seconds),
        _ => return None,
    };
    let is_clock = minutes < 60 && seconds < 60 && (days.is_none() || hours < 24);
    let whole = [
        (days.unwrap_or(0), 86_400),
        (hours, 3_600),
        (minutes, 60),
        (seconds, 1),
    ];
    let whole = whole.map(|(count, each)| f64::from(count) * f64::from(each));
    is_clock.then(|| whole.iter().sum::<f64>() + fraction)
}

/// The zero from which times of a log are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zero {
    /// A zero of the log.
    OfLog,
    /// The beginning of 1970: the times are dates with a time zone.
    Epoch,
    /// The same, but dates have no time zone, and are taken to be in UTC.
    EpochOfClock,
}

/// A point of time in ticks: a [`span`] from a zero, or a date. `None` if the word is neither.
pub(super) fn time(word: &str) -> Option<(Zero, Value<Ticks>)> {
    if let Some(span) = span(word) {
        return Some((Zero::OfLog, span));
    }
    let (has_zone, at) = date(word)?;
    let zero = if has_zone {
        Zero::Epoch
    } else {
        Zero::EpochOfClock
    };
    // A tick is a microsecond.
    let ticks = u64::try_from(at).ok()?;
    let is_simulated = ticks < TIME_MAX;
    is_simulated.then_some((zero, Value::Known(ticks)))
}

#[cfg(feature = "files")]
use super::date::microseconds as date;

/// Without the feature `files` no date is read.
#[cfg(not(feature = "files"))]
const fn date(_: &str) -> Option<(bool, i64)> {
    None
}

/// A whole number, also written with decimals that are 0. `None` if the word is not such a number.
pub(super) fn whole(word: &str) -> Option<Value<i64>> {
    if let Ok(number) = word.parse() {
        return Some(Value::Known(number));
    }
    word_for(word).or_else(|| {
        let number = word.parse::<f64>().ok()?;
        // A number that is too large becomes the largest.
        (number.fract() == 0.0).then_some(Value::Known(number as i64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Ticks = 1_000_000;

    #[test]
    fn spans_are_seconds_or_a_clock() {
        for (word, ticks) in [
            ("18", 18 * SECOND),
            ("18.0", 18 * SECOND),
            ("1.8e1", 18 * SECOND),
            ("0.25", SECOND / 4),
            ("-0.0", 0),
            ("02:03", 123 * SECOND),
            ("00:00:00", 0),
            ("01:02:03", 3723 * SECOND),
            ("30:00:00", 108_000 * SECOND),
            ("1-02:03:04", 93_784 * SECOND),
            ("0 days 00:00:18", 18 * SECOND),
            ("1 days 02:03:04.500000", 93_784 * SECOND + SECOND / 2),
            ("1 day 00:00:00", 86_400 * SECOND),
            ("2251799812", 2_251_799_812 * SECOND),
        ] {
            assert_eq!(span(word), Some(Value::Known(ticks)), "{word}");
        }
        for word in [
            "", "-1", "-1.0", "-7", "NaN", "nan", "NaT", "<NA>", "N/A", "None", "Unknown",
        ] {
            assert_eq!(span(word), Some(Value::Unknown), "{word}");
        }
        assert_eq!(span("Partition_Limit"), Some(Value::Unknown));
        for word in [
            "UNLIMITED",
            "infinite",
            "inf",
            "2251799814",
            "4294967294",
            "4294967295",
            "99999999999999999999",
            "1e99",
            "99999-00:00:00",
        ] {
            assert_eq!(span(word), Some(Value::Unlimited), "{word}");
        }
        for word in [
            "x",
            "1,5",
            "1h",
            "1:60",
            "1-25:00:00",
            "1-02:03",
            "-1 days +23:59:59",
            ":",
            "1:-1:00",
            "+1:00",
            "01:02:03:04",
            "1:00.",
            "2026-03-01",
        ] {
            assert_eq!(span(word), None, "{word}");
        }
    }

    #[test]
    fn times_are_spans_or_dates() {
        let date = |zero, seconds: u64| Some((zero, Value::Known(seconds * SECOND)));
        for word in [
            "2026-03-01T08:01:56Z",
            "2026-03-01 08:01:56 UTC",
            "2026-03-01T09:01:56+01:00",
            "2026-03-01 00:01:56-08:00",
            "2026-03-01T09:01:56.000+0100",
        ] {
            assert_eq!(time(word), date(Zero::Epoch, 1_772_352_116), "{word}");
        }
        for (word, seconds) in [
            ("2026-03-01T08:01:56", 1_772_352_116),
            ("2026-03-01 08:01:56.0", 1_772_352_116),
            ("2026-03-01", 1_772_323_200),
        ] {
            assert_eq!(time(word), date(Zero::EpochOfClock, seconds), "{word}");
        }
        assert_eq!(time("7.5"), Some((Zero::OfLog, Value::Known(7_500_000))));
        assert_eq!(time("None"), Some((Zero::OfLog, Value::Unknown)));
        for word in [
            "2026-13-01",
            "1969-12-31T00:00:00",
            "2100-01-01",
            "March",
            "2026-03-01T",
        ] {
            assert_eq!(time(word), None, "{word}");
        }
    }

    #[test]
    fn whole_numbers_may_have_decimals_that_are_0() {
        for (word, number) in [
            ("64", 64),
            ("64.0", 64),
            ("1e3", 1000),
            ("-1", -1),
            ("-1.0", -1),
            ("99999999999999999999", i64::MAX),
        ] {
            assert_eq!(whole(word), Some(Value::Known(number)), "{word}");
        }
        assert_eq!(whole("nan"), Some(Value::Unknown));
        assert_eq!(whole("UNLIMITED"), Some(Value::Unlimited));
        for word in ["64.5", "4 x", "0x10", "two"] {
            assert_eq!(whole(word), None, "{word}");
        }
    }
}
