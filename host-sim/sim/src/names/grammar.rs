//! How values with a name and parameters are written, such as `uniform:5,10` or
//! `normal:mean=16,sd=4`: a [`Form`] for each. Reading, writing, lists and errors all follow from
//! these rows.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::numbers::{number, seconds, whole};
use super::{canonical, has_unit, span_text, unknown};
use crate::error::out_of_range;
use crate::time::TimeUnit;
use crate::wording::{Number, any_of};

/// A name, and the parameters that may follow it behind a colon. The name is empty if only the
/// parameters are written.
#[derive(Debug)]
pub struct Form {
    /// The name.
    pub name: &'static str,
    /// Its parameters, in the order in which they are written.
    pub params: &'static [Param],
    /// The meaning, in words.
    pub meaning: &'static str,
    /// The source; empty if there is no author.
    pub source: &'static str,
    /// The text between parameters.
    between: &'static str,
}

/// A parameter of a [`Form`].
#[derive(Debug)]
pub struct Param {
    /// The name of the parameter, written before the value if it is `keyed`.
    pub key: &'static str,
    /// Whether it is written `key=value`.
    pub keyed: bool,
    /// The kind of value.
    pub kind: Kind,
    /// The value if the parameter is left out, as errors and lists show it; `None` if the parameter
    /// is required.
    pub default: Option<&'static str>,
}

/// The kind of value that a parameter has.
#[derive(Debug)]
pub enum Kind {
    /// A finite number over this.
    Over(f64),
    /// A finite number over this, or the key alone.
    OverOrAlone(f64),
    /// A finite number.
    Any,
    /// A number from the first to the second.
    Within(f64, f64),
    /// A whole number from the first to the second.
    Whole(u32, u32),
    /// A time in seconds from the first to the second, in ticks that can be counted.
    Time(f64, f64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text of this form, which another reader reads.
    Text(&'static str),
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The key alone.
    Alone,
    /// A number, or a time without a unit.
    Number(f64),
    /// A time with a unit, in seconds.
    Seconds(f64),
    /// A word, or another text.
    Text(String),
}

/// The values of the parameters of a form, in its order; `None` where one was left out.
#[derive(Debug)]
pub struct Values(Vec<Option<Value>>);

impl Values {
    /// A number that was given, or has a default.
    pub fn number(&self, at: usize) -> f64 {
        self.given(at).unwrap_or_default()
    }

    /// A number, if it is given.
    pub fn given(&self, at: usize) -> Option<f64> {
        match self.0[at] {
            Some(Value::Number(number) | Value::Seconds(number)) => Some(number),
            _ => None,
        }
    }

    /// Whether it is a time with a unit.
    pub const fn has_unit(&self, at: usize) -> bool {
        matches!(self.0.as_slice()[at], Some(Value::Seconds(_)))
    }

    /// Whether the key stands alone.
    pub(crate) fn is_alone(&self, at: usize) -> bool {
        self.0[at] == Some(Value::Alone)
    }

    /// A word or text that is read as this type, if it is given.
    pub(crate) fn parsed<T: FromStr<Err = String>>(&self, at: usize) -> Result<Option<T>, String> {
        self.text(at).map(str::parse).transpose()
    }

    /// A word or text, if it is given.
    pub(crate) fn text(&self, at: usize) -> Option<&str> {
        match &self.0[at] {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// A parameter without a key that is required.
pub const fn param(key: &'static str, kind: Kind) -> Param {
    Param {
        key,
        keyed: false,
        kind,
        default: None,
    }
}

impl Param {
    /// The same, written with its key.
    pub const fn keyed(self) -> Self {
        Param {
            keyed: true,
            ..self
        }
    }

    /// The same, with this value where it is left out.
    pub const fn or(self, default: &'static str) -> Self {
        Param {
            default: Some(default),
            ..self
        }
    }

    fn expected(&self) -> String {
        match self.kind {
            Kind::Over(least) | Kind::OverOrAlone(least) => {
                format!("a number over {}", Number(least))
            }
            Kind::Any => "a number".to_owned(),
            Kind::Within(least, most) => {
                format!("a number from {} to {}", Number(least), Number(most))
            }
            Kind::Whole(least, most) => format!("a whole number, {least} to {most}"),
            Kind::Time(least, most) => {
                let up_to = if most < f64::MAX {
                    format!(" to {}", Number(most))
                } else {
                    " or more".to_owned()
                };
                let range = match least {
                    0.0 | 1.0.. => format!(", {}{up_to} seconds", Number(least)),
                    _ => " over 0 seconds".to_owned(),
                };
                format!("a time{range}, or with a unit, such as 90m or 12h")
            }
            Kind::Word(words) => any_of(words),
            Kind::Text(form) => form.to_owned(),
        }
    }

    fn read(&self, text: &str) -> Option<Value> {
        let within = |least: f64, most: f64| move |it: &f64| (least..=most).contains(it);
        let number = |is_good: &dyn Fn(&f64) -> bool| number(text, "", is_good).ok();
        Some(Value::Number(match self.kind {
            Kind::Over(least) | Kind::OverOrAlone(least) => {
                number(&|it| *it > least && it.is_finite())?
            }
            Kind::Any => number(&|it| it.is_finite())?,
            Kind::Within(least, most) => number(&within(least, most))?,
            Kind::Whole(least, most) => whole::<u32>(least.into(), most)(text).ok()?.into(),
            Kind::Time(least, most) => {
                let time = seconds(text).filter(within(least, most))?;
                return Some(if has_unit(text) {
                    Value::Seconds(time)
                } else {
                    Value::Number(time)
                });
            }
            Kind::Word(words) => {
                let text = canonical(text);
                let word = words.iter().find(|word| **word == text)?;
                return Some(Value::Text((*word).to_owned()));
            }
            Kind::Text(_) => return Some(Value::Text(text.to_owned())),
        }))
    }
}

/// As lists and errors have it: `SHORTEST`, `mean=NUMBER`.
impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.to_uppercase();
        match (self.keyed, &self.kind) {
            (false, _) => f.write_str(&key),
            (true, Kind::Word(words)) => write!(f, "{}={}", self.key, words.join("|")),
            (true, Kind::Text(form)) => write!(f, "{}={form}", self.key),
            (true, _) => write!(f, "{}={key}", self.key),
        }
    }
}

impl Form {
    /// A name with these parameters.
    pub const fn new(
        name: &'static str,
        params: &'static [Param],
        meaning: &'static str,
        source: &'static str,
    ) -> Self {
        Form {
            name,
            params,
            meaning,
            source,
            between: ",",
        }
    }

    /// The same with parameters of which only one is given: `[:key=VALUE][|VALUE]`.
    pub const fn either(self) -> Self {
        Form {
            between: "|",
            ..self
        }
    }

    /// The same with two parameters that are the ends of a range: `LOW..HIGH`.
    pub(crate) const fn ends(self) -> Self {
        Form {
            between: "..",
            ..self
        }
    }

    /// The part that follows the name in a text of this form. The inner value is `None` if the name
    /// stands alone.
    fn parameters<'t>(&self, text: &'t str) -> Option<Option<&'t str>> {
        if self.name.is_empty() {
            return Some(Some(text));
        }
        let name = text.get(..self.name.len())?;
        match text.as_bytes().get(self.name.len()) {
            _ if canonical(name) != self.name => None,
            None => Some(None),
            Some(b':') => Some(Some(&text[self.name.len() + 1..])),
            Some(_) => None,
        }
    }

    fn values(&self, what: &str, text: &str, given: Option<&str>) -> Result<Values, String> {
        let wrong = || match self.name {
            "" => out_of_range(&format!("the {what}"), format_args!("{text:?}"), self),
            _ => unknown(what, text, &[&self.to_string()]),
        };
        let mut values: Vec<Option<Value>> = self.params.iter().map(|_| None).collect();
        for part in given.into_iter().flat_map(|it| it.split(self.between)) {
            let part = part.trim();
            let (key, behind) = part.split_once('=').unwrap_or((part, ""));
            let key = canonical(key.trim());
            let is_alone = key.len() == part.len();
            let takes = |at: usize, param: &Param| match (param.keyed, &param.kind) {
                (false, _) => values[at].is_none(),
                (true, Kind::OverOrAlone(_)) => param.key == key,
                (true, _) => param.key == key && !is_alone,
            };
            let mut params = self.params.iter().enumerate();
            let (at, param) = params
                .find(|&(at, param)| takes(at, param))
                .ok_or_else(wrong)?;
            let value = if param.keyed { behind.trim() } else { part };
            let read = if param.keyed && is_alone {
                Some(Value::Alone)
            } else {
                param.read(value)
            };
            let read = read.ok_or_else(|| {
                let (key, name) = (param.key, self.name);
                let shown = match name {
                    _ if param.keyed && name.is_empty() => key.to_owned(),
                    _ if param.keyed => format!("{key} of {name}"),
                    "" => key.to_uppercase(),
                    _ => format!("{} of {name}", key.to_uppercase()),
                };
                out_of_range(&shown, format_args!("{value:?}"), param.expected())
            })?;
            if values[at].replace(read).is_some() {
                return Err(format!("{} is given twice (expected {self})", param.key));
            }
        }
        let mut all = self.params.iter().zip(&values);
        if all.any(|(param, value)| param.default.is_none() && value.is_none()) {
            return Err(wrong());
        }
        Ok(Values(values))
    }

    /// A text of this form with these values. Values that are `None` are left out.
    pub(crate) fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        values: &[Option<Value>],
    ) -> fmt::Result {
        let mut text = name.to_owned();
        let given = self.params.iter().zip(values);
        let given = given.filter_map(|(param, value)| Some((param, value.as_ref()?)));
        for (place, (param, value)) in given.enumerate() {
            text.push_str(match place {
                0 if text.is_empty() => "",
                0 => ":",
                _ => self.between,
            });
            let value = match value {
                Value::Alone => {
                    text.push_str(param.key);
                    continue;
                }
                Value::Number(number) => Number(*number).to_string(),
                Value::Seconds(seconds) => span_text(TimeUnit::Second.ticks(*seconds)),
                Value::Text(text) => text.clone(),
            };
            if param.keyed {
                text.extend([param.key, "="]);
            }
            text.push_str(&value);
        }
        f.pad(&text)
    }
}

/// As lists and errors have it, with optional parts in brackets: `uniform:SHORTEST,LONGEST`,
/// `wormhole[:FLITS]`.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        for (place, param) in self.params.iter().enumerate() {
            let before = match place {
                0 if self.name.is_empty() => "",
                0 => ":",
                _ => self.between,
            };
            match param.default {
                None => write!(f, "{before}{param}")?,
                Some(_) if before.is_empty() => write!(f, "{param}")?,
                Some(_) => write!(f, "[{before}{param}]")?,
            }
        }
        Ok(())
    }
}

/// A type whose values are written in forms. `written!` makes its texts from the forms.
pub trait Written: Sized {
    /// The name of the type in errors.
    const WHAT: &'static str;

    /// All forms, except those of [`Written::other`].
    const FORMS: &'static [Form];

    /// Forms of texts that are not [`Written::FORMS`], for errors.
    const OTHERS: &'static [&'static str] = &[];

    /// The value with this name and these parameters. The error says what was expected.
    fn of(name: &str, values: &Values) -> Result<Self, String>;

    /// The name of the form that stands for this name, such as one for all sides of a box.
    fn placeholder(_name: &str) -> Option<&'static str> {
        None
    }

    /// A text that has none of the forms, such as the name of a file.
    fn other(_text: &str) -> Option<Self> {
        None
    }

    /// The name and the values of the parameters.
    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>);
}

/// Reads a text in one of the forms of its type.
pub fn parse<T: Written>(text: &str) -> Result<T, String> {
    let forms = T::FORMS.iter();
    let named = forms.filter_map(|form| Some((form, form.parameters(text)?)));
    // A name may begin with another one and a colon.
    if let Some((form, given)) = named.max_by_key(|(form, _)| form.name.len()) {
        return T::of(form.name, &form.values(T::WHAT, text, given)?);
    }
    let (name, given) = match text.split_once(':') {
        Some((name, given)) => (name, Some(given)),
        None => (text, None),
    };
    if let Some(form) = T::placeholder(name).and_then(form_of::<T>) {
        return T::of(name, &form.values(T::WHAT, text, given)?);
    }
    T::other(text).ok_or_else(|| {
        let forms: Vec<_> = T::FORMS.iter().map(ToString::to_string).collect();
        let all = forms.iter().map(String::as_str);
        let all: Vec<_> = all.chain(T::OTHERS.iter().copied()).collect();
        unknown(T::WHAT, text, &all)
    })
}

fn form_of<T: Written>(name: &str) -> Option<&'static Form> {
    T::FORMS.iter().find(|form| form.name == name)
}

/// Writes a value as [`parse`] reads it.
pub fn print<T: Written>(value: &T, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (name, values) = value.parts();
    match form_of::<T>(T::placeholder(&name).unwrap_or(&name)) {
        Some(form) => form.write(f, &name, &values),
        None => f.pad(&name),
    }
}

/// `FromStr` and `Display` of a type that is [`Written`].
macro_rules! written {
    ($type:ty) => {
        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                $crate::names::grammar::parse(text)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::names::grammar::print(self, f)
            }
        }
    };
}
pub(crate) use written;

/// Numbers as values of parameters.
pub(crate) fn numbers<const N: usize>(numbers: [f64; N]) -> Vec<Option<Value>> {
    numbers.map(|number| Some(Value::Number(number))).to_vec()
}
