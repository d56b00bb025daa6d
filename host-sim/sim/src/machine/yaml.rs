//! YAML as a tree. An error about a value has its line, its key, and what is expected there.
//! Aliases are an error, as in Slurm.

use std::collections::BTreeSet;
use std::fmt::Display;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::Wrong;

/// The most lists and maps around a value.
const DEPTH_MAX: usize = 64;

/// A file in parts, with the line of each.
pub(super) struct Events<'a>(Vec<(Event<'a>, usize)>);

/// A value, and where it is.
pub(super) struct Node<'a> {
    line: usize,
    /// Its key in a map, else empty.
    key: &'a str,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Null,
    Text(&'a str),
    List(Vec<Node<'a>>),
    Map(Vec<Node<'a>>),
}

fn wrong<T>(line: usize, reason: impl Display) -> Result<T, Wrong> {
    let (line, reason) = (Some(line), reason.to_string());
    Err(Wrong { line, reason })
}

impl<'a> Events<'a> {
    pub(super) fn of(text: &'a str) -> Result<Self, Wrong> {
        let mut events = Vec::new();
        for event in Parser::new_from_str(text) {
            let (event, line) = match event {
                Ok((event, span)) => (event, span.start.line()),
                Err(error) => return wrong(error.marker().line(), error.info()),
            };
            match event {
                Event::Alias(_) => return wrong(line, "an alias (Slurm reads none)"),
                Event::DocumentStart(_) if !events.is_empty() => {
                    return wrong(line, "a second document (expected one)");
                }
                Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::MappingStart(..)
                | Event::SequenceEnd
                | Event::MappingEnd => events.push((event, line)),
                _ => {}
            }
        }
        Ok(Events(events))
    }

    pub(super) fn root(&self) -> Result<Node<'_>, Wrong> {
        if self.0.is_empty() {
            return wrong(1, "nothing (expected a list)");
        }
        self.node(&mut 0, "", 0)
    }

    /// The value that begins at the event `next`.
    fn node<'b>(&'b self, next: &mut usize, key: &'b str, depth: usize) -> Result<Node<'b>, Wrong> {
        let (ref event, line) = self.0[*next];
        *next += 1;
        if depth > DEPTH_MAX {
            return wrong(line, format!("more than {DEPTH_MAX} levels"));
        }
        let is_end = |next: usize| matches!(self.0[next].0, Event::SequenceEnd | Event::MappingEnd);
        let kind = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..)
                if matches!(&**text, "" | "~" | "null" | "Null" | "NULL") =>
            {
                Kind::Null
            }
            Event::Scalar(text, ..) => Kind::Text(text),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                while !is_end(*next) {
                    items.push(self.node(next, "", depth + 1)?);
                }
                *next += 1;
                Kind::List(items)
            }
            _ => {
                let (mut values, mut keys) = (Vec::new(), BTreeSet::new());
                while !is_end(*next) {
                    let name = self.node(next, key, depth + 1)?;
                    let key = name.text()?;
                    if !keys.insert(key) {
                        return wrong(name.line, format!("the key {key:?} is there twice"));
                    }
                    values.push(self.node(next, key, depth + 1)?);
                }
                *next += 1;
                Kind::Map(values)
            }
        };
        Ok(Node { line, key, kind })
    }
}

impl<'a> Node<'a> {
    pub(super) fn wrong<T>(&self, reason: impl Display) -> Result<T, Wrong> {
        let colon = if self.key.is_empty() { "" } else { ": " };
        let key = self.key.escape_debug();
        wrong(self.line, format!("{key}{colon}{reason}"))
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T, Wrong> {
        let found = match &self.kind {
            Kind::Null => "nothing",
            Kind::Text(text) => &format!("{text:?}"),
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        };
        self.wrong(format!("{found} (expected {expected})"))
    }

    fn map(&self) -> Result<&[Self], Wrong> {
        match &self.kind {
            Kind::Map(values) => Ok(values),
            _ => self.unexpected("a map"),
        }
    }

    /// Refuses keys of a map other than these.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Wrong> {
        let mut values = self.map()?.iter();
        let Some(Node { line, key, .. }) = values.find(|value| !known.contains(&value.key)) else {
            return Ok(());
        };
        let known = known.join(", ");
        let reason = format!("unknown key {key:?} (expected one of {known})");
        wrong(*line, reason)
    }

    /// The value of a key of a map, unless it is null.
    pub(super) fn get(&self, key: &str) -> Result<Option<&Self>, Wrong> {
        let value = self.map()?.iter().find(|value| value.key == key);
        Ok(value.filter(|value| !matches!(value.kind, Kind::Null)))
    }

    pub(super) fn need(&self, key: &str) -> Result<&Self, Wrong> {
        let value = self.get(key)?;
        value.map_or_else(|| self.wrong(format!("no {key}")), Ok)
    }

    pub(super) fn list(&self) -> Result<&[Self], Wrong> {
        match &self.kind {
            Kind::List(items) => Ok(items),
            _ => self.unexpected("a list"),
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, Wrong> {
        match self.kind {
            Kind::Text(text) => Ok(text),
            _ => self.unexpected("a text"),
        }
    }

    pub(super) fn number(&self) -> Result<u16, Wrong> {
        let text = self.text()?;
        let text = text.strip_prefix('+').unwrap_or(text);
        let (radix, digits) = match text.as_bytes() {
            [b'0', b'x', ..] => (16, &text[2..]),
            [b'0', b'o', ..] => (8, &text[2..]),
            [b'0', b'b', ..] => (2, &text[2..]),
            // Some programs take such a number as octal.
            [b'0', _, ..] => (10, ""),
            _ => (10, text),
        };
        match u16::from_str_radix(digits, radix) {
            Ok(number) if !digits.starts_with('+') => Ok(number),
            _ => self.unexpected("a number from 0 to 65535"),
        }
    }
}
