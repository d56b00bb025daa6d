//! A row of the table, and how its values are written.

use std::ffi::{OsStr, OsString};

use serde_json::Value;

use super::{SETTINGS, Scenario};
use crate::names;
use crate::scenario::place::Place;
use crate::wording::Number;

/// The form of a setting's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A text, such as `16x22`.
    Text,
    /// A number.
    Number,
    /// Several texts, separated by commas.
    List,
    /// The path of a file.
    File,
    /// A text that may name a file; see [`names_file`](crate::workload::empirical::names_file).
    NameOrFile,
    /// True or false.
    Switch,
}

/// A setting: a row of [`SETTINGS`].
#[derive(Debug)]
pub struct Setting {
    /// Its name in files and, behind two dashes, on the command line: words with hyphens.
    pub key: &'static str,
    /// Its name in results (JSON and CSV) and in programs: words with underscores.
    pub name: &'static str,
    pub(super) help: &'static [&'static str],
    /// The word for its value in help texts.
    pub value_name: &'static str,
    /// The group of settings to which it belongs.
    pub heading: &'static str,
    /// The form of its values.
    pub form: Form,
    pub(super) not: &'static [&'static str],
    pub(in crate::scenario) needs: &'static [&'static [&'static str]],
    pub(super) read: fn(&mut Scenario, &OsStr) -> Result<(), String>,
    pub(super) record: fn(&Scenario) -> Option<Value>,
}

impl Setting {
    /// The setting with this key.
    pub fn of(key: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// What it means, in a sentence or two, with its default in brackets.
    pub fn help(&self) -> String {
        let lines: Vec<_> = self.help.iter().map(|line| line.trim()).collect();
        lines.join(" ")
    }

    /// Whether the two settings cannot be given together.
    pub fn contradicts(&self, other: &Setting) -> bool {
        self.not.contains(&other.key) || other.not.contains(&self.key)
    }

    /// The value, if it is a time of the workload's clock and has a unit.
    pub(super) fn unit_in<'v>(&self, value: &'v OsStr) -> Option<&'v str> {
        let text = value.to_str().filter(|text| names::has_unit(text));
        text.filter(|_| OF_THE_CLOCK.contains(&self.key))
    }

    /// Checks that the setting takes this value. The error says what was expected.
    pub fn check(&self, value: &OsStr) -> Result<(), String> {
        (self.read)(&mut Scenario::default(), value)
    }

    /// The values in a text with one value, a range of numbers `FIRST..:LAST:STEP`, or several of
    /// them separated by commas. A value may have commas itself: `uniform:5,10` is one.
    ///
    /// ```
    /// use meshalloc_sim::scenario::Setting;
    /// let values = |key, text: &str| Setting::of(key).unwrap().values(text.as_ref()).unwrap();
    /// assert_eq!(values("load", ".3,.4"), ["0.3", "0.4"]);
    /// assert_eq!(values("load", ".3..:.5:.1"), ["0.3", "0.4", "0.5"]);
    /// assert_eq!(values("service", "uniform:5,10,exponential:7").len(), 2);
    /// ```
    ///
    /// # Errors
    ///
    /// What was expected, when there is a value that the setting does not take.
    pub fn values(&self, text: &OsStr) -> Result<Vec<OsString>, String> {
        let may_be_file = matches!(self.form, Form::File | Form::NameOrFile);
        let whole = self.one_or_range(text);
        let parts: Vec<&str> = text
            .to_str()
            .map_or_else(Vec::new, |it| it.split(',').collect());
        // A file may have any name, so a list of them is looked for first.
        let is_list = |part: &&str| self.form == Form::NameOrFile || part.contains('.');
        if parts.len() < 2 || whole.is_ok() && !(may_be_file && parts.iter().all(is_list)) {
            return whole;
        }
        let mut values = Vec::new();
        let (mut begin, mut has_commas) = (0, self.form != Form::Number);
        while begin < parts.len() {
            let ends = begin + 1..=parts.len().min(begin + VALUE_PARTS_MAX);
            let found = ends.into_iter().find_map(|end| {
                let value = OsString::from(parts[begin..end].join(","));
                Some((end, self.one_or_range(&value).ok()?))
            });
            let Some((end, found)) = found else {
                // The text may still be a single value.
                return if has_commas || whole.is_ok() {
                    whole
                } else {
                    self.one_or_range(parts[begin].as_ref())
                };
            };
            values.extend(found);
            has_commas = end - begin > 1;
            begin = end;
        }
        Ok(names::each_once(values))
    }

    /// The values of a text that is one value or a range of numbers, each in its usual form.
    pub(in crate::scenario) fn one_or_range(&self, text: &OsStr) -> Result<Vec<OsString>, String> {
        if let (Form::Number, Some((first, rest))) = (
            self.form,
            text.to_str().and_then(|text| text.split_once("..:")),
        ) {
            let numbers =
                range(first, rest).ok_or("expected FIRST..:LAST:STEP, such as .3..:.7:.1")?;
            let values = numbers.into_iter().map(|number| {
                let text = OsString::from(Number(number).to_string());
                self.usual(&text)
            });
            return values.collect();
        }
        Ok(vec![self.usual(text)?])
    }

    /// The value in the one way in which results record it, so that equal values have equal texts.
    fn usual(&self, value: &OsStr) -> Result<OsString, String> {
        let mut scenario = Scenario::default();
        (self.read)(&mut scenario, value)?;
        if self.unit_in(value).is_some() {
            return Ok(value.to_owned());
        }
        let recorded = match (self.record)(&scenario) {
            Some(Value::String(text)) if self.form == Form::Text => Some(text),
            Some(Value::Number(number)) => match number.as_f64().filter(|_| number.is_f64()) {
                Some(number) => Some(Number(number).to_string()),
                None => Some(number.to_string()),
            },
            _ => None,
        };
        let recorded = recorded.map(OsString::from);
        Ok(recorded.unwrap_or_else(|| value.to_owned()))
    }
}

/// Settings with times of the workload's clock: seconds, or cycles where jobs send messages.
const OF_THE_CLOCK: [&str; 2] = ["slowdown-threshold", "scheduler"];
/// The most parts between commas of one value.
const VALUE_PARTS_MAX: usize = 16;
/// The most values of a range.
const RANGE_MAX: usize = 100_000;

/// The numbers from `first` on, `rest` being `LAST:STEP`.
fn range(first: &str, rest: &str) -> Option<Vec<f64>> {
    let (last, step) = rest.split_once(':')?;
    let [first, last, step] = [first, last, step].map(names::seconds);
    let (first, last, step) = (first?, last?, step?);
    // Half a thousandth of a step makes up for rounding.
    let steps = ((last - first) / step + 5e-4).floor();
    if !(step > 0.0 && (0.0..RANGE_MAX as f64).contains(&steps)) {
        return None;
    }
    let number = |at: usize| {
        let text = format!("{:.12e}", first + at as f64 * step);
        text.parse().ok()
    };
    (0..=steps as usize).map(number).collect()
}

/// A setting with its values as texts.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The setting.
    pub setting: &'static Setting,
    /// Its values, at least one; with more it is an axis of a
    /// [`Study`](crate::scenario::Study). The names of a [`Form::List`] are one value, separated by
    /// commas.
    pub values: Vec<OsString>,
    /// Where it was given.
    pub place: Place,
}

/// The message about an unknown key.
pub(in crate::scenario) fn unknown_key(
    key: &str,
    known: impl Iterator<Item = &'static str>,
) -> String {
    let keys: Vec<_> = known.collect();
    match names::nearest(key, keys.iter().copied()) {
        Some(near) => format!("unknown key {key:?}; did you mean {near:?}?"),
        None => format!("unknown key {key:?} (known: {})", keys.join(", ")),
    }
}

/// The first of these settings that contradicts an earlier one: the place of the earlier setting,
/// and its own place.
pub fn contradiction(settings: &[&Setting]) -> Option<(usize, usize)> {
    let mut pairs = (0..settings.len()).flat_map(|at| (0..at).map(move |earlier| (earlier, at)));
    pairs.find(|&(earlier, at)| settings[at].contradicts(settings[earlier]))
}
