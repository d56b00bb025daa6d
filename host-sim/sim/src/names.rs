//! Names and values as they are written on the command line and in scenario files, and the messages
//! about names and values that cannot be read.

use std::fmt::Display;

use meshalloc::{
    Grid, SchedulerKind, Shape, ShapeError, StrategyKind, StrategyTextError, Ticks, Tuple,
};

use crate::metrics::Metric;
use crate::time::{TIME_MAX, TimeUnit};
use crate::wording::any_of;

pub mod grammar;
mod numbers;

use numbers::plain;
pub use numbers::{REPLICATIONS_MAX, count, fraction, jobs, load, positive, threads};
pub use numbers::{number, value};
pub(crate) use numbers::{seconds, whole};

/// Gives the values of a type without fields their names: `ALL`, `name`, `FromStr` and `Display`.
macro_rules! named {
    ($type:ident, $what:literal: $($value:ident = $name:literal),+) => {
        #[allow(unreachable_pub, reason = "the type may be private")]
        impl $type {
            /// Every value.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$value),+];

            /// The name on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name),+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match &*$crate::names::canonical(text) {
                    $($name => Ok($type::$value),)+
                    _ => Err($crate::names::unknown($what, text, &[$($name),+])),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
pub(crate) use named;

/// A name in its canonical form: in lower case, with hyphens in place of underscores.
///
/// ```
/// use meshalloc_sim::names::canonical;
/// assert_eq!(canonical("First_Fit"), "first-fit");
/// ```
pub fn canonical(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// The canonical form of a name with parameters. The numbers are in their plain form.
fn canonical_text(text: &str) -> String {
    let parts = text.split_inclusive([':', ',', '=']).map(|part| {
        let word = part.trim_end_matches([':', ',', '=']);
        let number = plain(word).unwrap_or_else(|| canonical(word));
        number + &part[word.len()..]
    });
    parts.collect()
}

/// The known name that is most like `given`, if any is similar. A name that differs by a slip or
/// two (letters missing, too many, wrong or swapped, at most a third of them) comes first, else the
/// most similar one.
pub fn nearest<'n>(given: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    /// Below this similarity, 0 to 1, a suggestion is more often wrong than right.
    const SIMILARITY_MIN: f64 = 0.8;
    let given = given.to_lowercase();
    let slips_max = (given.chars().count() / 3).max(1);
    let likeness = |name: &'n str| {
        let slips = strsim::osa_distance(&given, name);
        // With the same number of slips, swapped letters are likelier than a missing letter.
        let slips = (slips <= slips_max).then_some((slips, name.len().abs_diff(given.len())));
        (slips, strsim::jaro_winkler(&given, name), name)
    };
    let known = known.into_iter().map(likeness);
    let like =
        known.filter(|(slips, similarity, _)| slips.is_some() || *similarity >= SIMILARITY_MIN);
    let by_slips = |slips: Option<(usize, usize)>| slips.unwrap_or((usize::MAX, 0));
    like.min_by(|a, b| by_slips(a.0).cmp(&by_slips(b.0)).then(b.1.total_cmp(&a.1)))
        .map(|(.., name)| name)
}

/// The message about a text that has none of these forms, each of which is a name, perhaps with
/// other names in brackets, and what follows behind a colon: `hot-spot:SHARE,NODE`. For an unknown
/// name it has the nearest one, or all forms if none is near; for a known one its forms.
pub fn unknown(what: &str, given: &str, forms: &[&str]) -> String {
    let (name, parameter) = match given.split_once(':') {
        Some((name, parameter)) => (name, Some(parameter)),
        None => (given, None),
    };
    let own = forms.iter().copied();
    let own = own.filter(|form| names_of(form).any(|other| other == canonical(name)));
    let own: Vec<_> = own.collect();
    if !own.is_empty() {
        return wrong_parameter(what, name, parameter, &own);
    }
    let hint = match nearest(name, forms.iter().flat_map(|form| names_of(form))) {
        Some(name) => format!("; did you mean {name:?}?"),
        None => format!(" (known: {})", forms.join(", ")),
    };
    format!("unknown {what} {given:?}{hint}")
}

/// The names of a form: the name before a colon, and the names in brackets; but not a placeholder,
/// such as `FILE`, nor a description in words.
fn names_of(form: &str) -> impl Iterator<Item = &str> {
    let (first, brackets) = form.split_once(" (").unwrap_or((form, ""));
    let first = first.split([':', '[']).next();
    let others = brackets.trim_end_matches(')').split(", ");
    let is_name = |name: &&str| {
        !name.is_empty() && !name.contains([' ', ',']) && !name.starts_with(char::is_uppercase)
    };
    first.into_iter().chain(others).filter(is_name)
}

/// Reads the name of a metric; hyphens stand for underscores. An unknown name is an error.
///
/// ```
/// use meshalloc_sim::{metrics::Metric, names::metric};
/// assert_eq!(metric("waiting-delay"), Ok(Metric::WaitingDelay));
/// assert!(metric("utilisation").unwrap_err().contains("did you mean \"utilization\"?"));
/// ```
pub fn metric(text: &str) -> Result<Metric, String> {
    let name = canonical(text).replace('-', "_");
    let names = Metric::ALL.map(Metric::name);
    let found = Metric::ALL.into_iter().find(|metric| metric.name() == name);
    found.ok_or_else(|| unknown("metric", text, &names))
}

/// The message about a known name with parameters that it does not take, or without parameters that
/// it needs.
fn wrong_parameter(what: &str, name: &str, parameter: Option<&str>, forms: &[&str]) -> String {
    let wrong = match parameter {
        None => "needs a parameter".to_owned(),
        Some(parameter) => format!("does not take {parameter:?}"),
    };
    format!("the {what} {name} {wrong} (expected {})", any_of(forms))
}

const SIDES_EXPECTED: &str =
    "expected WxH or the sides of more dimensions, each 1 to 65535, such as 64x64 or 8x8x16";

/// Reads the sides of a machine, dimension 0 (x) first, with an `x` between them; sides that no
/// machine has are an error.
///
/// ```
/// use meshalloc_sim::names::sides;
/// assert_eq!(*sides("16x22").unwrap().extents(), [16, 22]);
/// assert!(sides("4x4x0x4").unwrap_err().contains("dimension 2 is 0"));
/// ```
pub fn sides(text: &str) -> Result<Shape, String> {
    let wrong = |error: &dyn Display| format!("{error} ({SIDES_EXPECTED})");
    let sides = text.to_ascii_lowercase().parse::<Tuple>();
    let sides = sides.map_err(|error| match error {
        ShapeError::NotNumbers => SIDES_EXPECTED.to_owned(),
        other => wrong(&other),
    })?;
    // A torus has the most lenient limits of all machines with these sides.
    Grid::torus(&sides).map_err(|error| wrong(&error))?;
    Shape::new(&sides).map_err(|error| wrong(&error))
}

/// The name of a dimension of a machine: `A[0]` on a machine made as a cube, as the digits of its
/// addresses are called, otherwise `x`, `y`, `z`, `d3` and so on.
pub fn dimension(machine: Grid, dimension: usize) -> String {
    match dimension {
        _ if machine.is_written_high_first() => format!("A[{dimension}]"),
        0..3 => ["x", "y", "z"][dimension].to_owned(),
        _ => format!("d{dimension}"),
    }
}

/// The values, each once, in the order of their first places. This is the rule for every option
/// that takes a list: a value that is repeated counts once.
pub fn each_once<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for value in values {
        if !once.contains(&value) {
            once.push(value);
        }
    }
    once
}

/// Reads a strategy's name or its abbreviation and, after a colon, its parameters.
///
/// # Errors
///
/// When there is no such strategy, it takes no such parameter, or it was left out of this build.
pub fn strategy(text: &str) -> Result<StrategyKind, String> {
    let kind = match canonical_text(text).parse::<StrategyKind>() {
        Ok(kind) => kind,
        Err(StrategyTextError::UnknownName) => return Err(unknown_strategy(text)),
        Err(error) => return Err(error.to_string()),
    };
    built("strategy", kind.name(), kind.is_built()).map(|()| kind)
}

/// An error if the strategy or scheduler of this name was left out of this build.
fn built(what: &str, name: &str, is_built: bool) -> Result<(), String> {
    if is_built {
        Ok(())
    } else {
        Err(format!("the {what} {name} was left out of this build"))
    }
}

fn unknown_strategy(text: &str) -> String {
    let name = text.split(':').next().unwrap_or(text);
    let infos = StrategyKind::ALL.iter().map(|kind| kind.info());
    let known = infos.map(|info| match info.aliases {
        [] => info.name.to_owned(),
        aliases => format!("{} ({})", info.name, aliases.join(", ")),
    });
    let known: Vec<_> = known.collect();
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    unknown("strategy", name, &known)
}

/// Reads a scheduler: its name and, after a colon, its parameter. A time in the parameter is in
/// seconds.
///
/// # Errors
///
/// When there is no such scheduler, the parameter is not one of its forms, or it was left out of
/// this build.
pub fn scheduler(text: &str) -> Result<SchedulerKind, String> {
    let text = &*canonical_text(text);
    for info in SchedulerKind::INFO {
        for (place, form) in info.forms.iter().enumerate() {
            // The first form is the one that is meant by the name alone.
            let is_meant = text == *form || (text == info.name && place == 0);
            let number = match (form.strip_suffix(TIME), form.strip_suffix(COUNT)) {
                (None, None) if is_meant => 0,
                (Some(start), _) if let Some(seconds) = text.strip_prefix(start) => {
                    duration(seconds)?
                }
                (_, Some(start)) if let Some(number) = text.strip_prefix(start) => count(number)?,
                _ => continue,
            };
            let second = TimeUnit::Second.ticks_each();
            if let Some(kind) = SchedulerKind::from_form(form, number, second) {
                return built("scheduler", kind.name(), kind.is_built()).map(|()| kind);
            }
        }
    }
    Err(unknown("scheduler", text, &scheduler_forms()))
}

/// The word that stands for a time in a scheduler's form.
const TIME: &str = "SECONDS";
/// The word that stands for a whole number of at least 1.
const COUNT: &str = "COUNT";

/// How each scheduler is written, one entry a form.
pub fn scheduler_forms() -> Vec<&'static str> {
    let infos = SchedulerKind::INFO.iter();
    infos.flat_map(|info| info.forms).copied().collect()
}

/// A scheduler as it is written on the command line, for a workload with times in this unit.
pub fn scheduler_text(kind: SchedulerKind, unit: TimeUnit) -> String {
    let (form, number) = kind.form();
    if form.contains(TIME) {
        form.replace(TIME, &unit.of(number).to_string())
    } else {
        form.replace(COUNT, &number.to_string())
    }
}

/// Converts a scheduler that was [read](scheduler) so that a time in it is in another unit.
pub fn scheduler_in(kind: SchedulerKind, unit: TimeUnit) -> SchedulerKind {
    let (form, number) = kind.form();
    let number = if form.contains(TIME) {
        unit.ticks(TimeUnit::Second.of(number))
    } else {
        number
    };
    SchedulerKind::from_form(form, number, unit.ticks_each()).unwrap_or(kind)
}

/// Reads a time of at least 0 in seconds, into ticks.
fn duration(text: &str) -> Result<u64, String> {
    // A year is more than any threshold, and far below the overflow of ticks.
    const SECONDS_MAX: f64 = 366.0 * 86_400.0;
    seconds(text)
        .filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds))
        .map(|seconds| TimeUnit::Second.ticks(seconds))
        .ok_or_else(|| format!("\"{text}\" is not a time: expected seconds, 0 to {SECONDS_MAX}"))
}

/// Units of spans of time, and seconds in each.
const SPANS: [(char, f64); 5] = [
    ('s', 1.0),
    ('m', 60.0),
    ('h', 3_600.0),
    ('d', 86_400.0),
    ('w', 604_800.0),
];

/// Reads a span of time, seconds or a number with a unit, in ticks of seconds; one that is negative
/// or too long is an error.
///
/// ```
/// use meshalloc_sim::names::span;
/// assert_eq!(span("1.5h"), Ok(5_400_000_000));
/// assert_eq!(span("30"), span("30s"));
/// assert!(span("3 weeks").unwrap_err().contains("such as 3600, 90m"));
/// ```
pub fn span(text: &str) -> Result<Ticks, String> {
    let most = TimeUnit::Second.of(TIME_MAX);
    let seconds = seconds(text).filter(|seconds| (0.0..most).contains(seconds));
    let seconds = seconds.ok_or_else(|| {
        format!(
            "expected seconds, 0 to below {most:.0}, or a number with a unit, s, m, h, d or w, \
             such as 3600, 90m, 12h, 30d or 4w"
        )
    })?;
    Ok(TimeUnit::Second.ticks(seconds))
}

/// Whether a time in a text has a unit.
///
/// ```
/// use meshalloc_sim::names::has_unit;
/// assert!(has_unit("90m") && has_unit("bypass-queue:1h"));
/// assert!(!has_unit("90") && !has_unit("modified-fcfs:static=50"));
/// ```
pub fn has_unit(text: &str) -> bool {
    let mut words = text.split([':', ',', '=']);
    words.any(|word| {
        SPANS
            .iter()
            .any(|(unit, _)| word.strip_suffix(*unit).is_some_and(is_number))
    })
}

fn is_number(text: &str) -> bool {
    plain(text).is_some()
}

/// Reads a time over 0 as [`span`] does, in seconds.
pub fn time(text: &str) -> Result<f64, String> {
    let time = seconds(text).filter(|time| time.is_finite() && *time > 0.0);
    time.ok_or_else(|| "expected a time over 0, seconds or with a unit, such as 90m or 12h".into())
}

/// A span of time as [`span`] reads it, in the largest unit of which it is a whole number.
///
/// ```
/// use meshalloc_sim::names::{span, span_text};
/// assert_eq!(span_text(span("14d").unwrap()), "2w");
/// assert_eq!(span_text(span("0.5").unwrap()), "0.5s");
/// ```
pub fn span_text(ticks: Ticks) -> String {
    let seconds = TimeUnit::Second.of(ticks);
    let mut units = SPANS.iter().rev();
    let whole = units.find(|(_, each)| seconds > 0.0 && seconds % each == 0.0);
    let (unit, each) = whole.unwrap_or(&SPANS[0]);
    format!("{}{unit}", seconds / each)
}

#[cfg(test)]
mod tests;
