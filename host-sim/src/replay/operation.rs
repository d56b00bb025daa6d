//! One line of a file of operations, a JSON object or the same in words, as a change of the
//! controller.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::RangeInclusive;

use meshalloc::{Block, Change, Grid, JobId, Request, Shape, Slices, Ticks, Tolerance, Tuple};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use meshalloc_sim::names;
use meshalloc_sim::wording::{any_of, quoted, shortened};

/// A line of a file of operations. Words are short for an object: `alloc 17 4x3 lease=50` is
/// `{"op":"alloc","id":17,"shape":"4x3","lease":50}`; `object` has the keys that words stand for.
#[derive(Deserialize, Debug)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Line {
    /// A job asks for processors, by a shape or by their number.
    #[cfg_attr(feature = "reference", schemars(extend("oneOf" = [{ "required": ["shape"] }, { "required": ["chips"] }])))]
    Alloc {
        /// The job, 0 to 4294967295.
        #[serde(deserialize_with = "id")]
        id: u32,
        /// The extents: `"4x3"`, or `[4,3]`; `"2x 4x3"` for two slices of them, all or none.
        #[serde(default, deserialize_with = "extents")]
        #[cfg_attr(feature = "reference", schemars(with = "Option<ShapeSchema>"))]
        shape: Option<(Slices, Vec<u64>)>,
        /// A number of processors in place of a shape; of its legal shapes the most compact that
        /// fits is taken. `"2x 16"` for two slices of this number.
        #[serde(default, deserialize_with = "chips")]
        #[cfg_attr(feature = "reference", schemars(with = "Option<ChipsSchema>"))]
        chips: Option<(Slices, u32)>,
        /// The operations until the job is expected to be freed, at least 1.
        #[serde(default, deserialize_with = "estimate")]
        estimate: Option<Ticks>,
        /// Its head start in the queue: it waits as if it were this many operations earlier.
        #[serde(default, deserialize_with = "time")]
        priority: Ticks,
        /// The operations until its lease ends, at least 1.
        #[serde(default, deserialize_with = "lease")]
        lease: Option<Ticks>,
        /// The faulty processors that each of its slices may have, if it has no other place; up to
        /// 255.
        #[serde(default, deserialize_with = "tolerate")]
        tolerate: u8,
    },
    /// The job's lease is replaced.
    Lease {
        /// The job.
        #[serde(deserialize_with = "id")]
        id: u32,
        /// The operations until the lease ends; 0 takes the lease away.
        #[serde(deserialize_with = "time")]
        time: Ticks,
    },
    /// The job gives its processors back.
    Free {
        /// The job.
        #[serde(deserialize_with = "id")]
        id: u32,
    },
    /// These processors are faulty.
    Fault {
        /// A coordinate for each dimension: a number, a range `"A..B"` with both ends, or `"*"`.
        #[cfg_attr(feature = "reference", schemars(with = "Vec<SpanSchema>"))]
        at: Vec<Value>,
    },
    /// These processors work again.
    Repair {
        /// A coordinate for each dimension, as for `fault`.
        #[cfg_attr(feature = "reference", schemars(with = "Vec<SpanSchema>"))]
        at: Vec<Value>,
    },
}

/// The forms of a shape, for the schema.
#[cfg(feature = "reference")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ShapeSchema {
    Text(String),
    List(Vec<u64>),
}

/// The forms of a number of processors, for the schema.
#[cfg(feature = "reference")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ChipsSchema {
    Number(u32),
    OfGang(String),
}

/// The forms of a coordinate, for the schema.
#[cfg(feature = "reference")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum SpanSchema {
    One(u16),
    Range(String),
}

const OPERATIONS: [&str; 5] = ["alloc", "lease", "free", "fault", "repair"];

/// The change that one line asks for; `None` for a blank line or a comment. An error says what is
/// wrong and what was expected. A request that is only too large for this machine is no error, even
/// with an extent over 65,535: it never fits.
pub fn parse(line: &[u8], machine: Grid) -> Result<Option<Change>, String> {
    let line = line.trim_ascii();
    let mut usage = Usage {
        op: String::new(),
        machine,
        is_json: line.starts_with(b"{"),
        is_broken: false,
    };
    let line = if usage.is_json {
        match serde_json::from_slice::<Value>(line) {
            Ok(object) => {
                let Some(op) = object.get("op").and_then(Value::as_str) else {
                    return Err(format!(
                        "\"op\" is missing or no string (expected {})",
                        any_of(OPERATIONS)
                    ));
                };
                op.clone_into(&mut usage.op);
            }
            Err(_) => usage.is_broken = true,
        }
        serde_json::from_slice(line)
    } else {
        match object(line, &mut usage.op) {
            Ok(Some(object)) => Line::deserialize(Value::Object(object)),
            Ok(None) => return Ok(None),
            Err(reason) => Err(serde_json::Error::custom(reason)),
        }
    };
    if !usage.is_broken && !OPERATIONS.contains(&&*usage.op) {
        return Err(names::unknown(
            "operation",
            &shortened(usage.op.as_bytes()),
            &OPERATIONS,
        ));
    }
    let line = line.map_err(|error| {
        let reason = error
            .to_string()
            .replace(" at line 1 column", ", at column");
        // A key of an object may have any character.
        let escaped = |char: char| {
            if char.is_control() {
                char.escape_default().to_string()
            } else {
                char.to_string()
            }
        };
        reason.chars().map(escaped).collect::<String>()
    });
    let change = line.and_then(|line| {
        Ok(match line {
            Line::Alloc {
                id,
                shape,
                chips,
                estimate,
                priority,
                lease,
                tolerate,
            } => Change::Submit {
                job: JobId(id),
                request: {
                    let (slices, request) = match (shape, chips) {
                        (Some((slices, extents)), None) => (slices, request(&extents, machine)?),
                        (None, Some((slices, chips))) => (slices, Request::chips(chips)),
                        (None, None) => return Err("missing field `shape`".to_owned()),
                        (Some(_), Some(_)) => {
                            return Err("shape and chips (expected one of them)".to_owned());
                        }
                    };
                    let estimate = estimate.and_then(NonZeroU64::new);
                    Request {
                        estimate,
                        slices,
                        tolerance: Tolerance::new(tolerate).expect("this build has tolerance"),
                        ..request.with_priority(priority)
                    }
                },
                lease: lease.and_then(NonZeroU64::new),
            },
            Line::Lease { id, time } => Change::Lease {
                job: JobId(id),
                ticks: NonZeroU64::new(time),
            },
            Line::Free { id } => Change::Release { job: JobId(id) },
            Line::Fault { at } => Change::MarkFaulty {
                block: block(&at, machine)?,
            },
            Line::Repair { at } => Change::ClearFaulty {
                block: block(&at, machine)?,
            },
        })
    });
    change.map(Some).map_err(|reason| usage.complete(reason))
}

/// The object that words are short for; `None` for a blank line or a comment.
///
/// ```text
///  alloc 17 4 3 est=9   ->  {"op":"alloc","id":"17","shape":"4 3","estimate":"9"}
///  alloc 17 2x chips=9  ->  {"op":"alloc","id":"17","chips":"2x 9"}
///  fault 0..3 *         ->  {"op":"fault","at":["0..3","*"]}
/// ```
fn object(line: &[u8], op: &mut String) -> Result<Option<Map<String, Value>>, String> {
    let text = line.split(|&byte| byte == b'#').next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let words = text.split_ascii_whitespace();
    let (named, plain): (Vec<_>, Vec<_>) = words.partition(|word| word.contains('='));
    if named.is_empty() && plain.is_empty() {
        return Ok(None);
    }
    let (first, operands) = plain.split_first().unwrap_or((&"", &[]));
    (*first).clone_into(op);
    let mut pairs = vec![("op", Value::from(*first))];
    let id = operands.first().map(|&id| ("id", id.into()));
    let more = operands.get(1..).filter(|more| !more.is_empty());
    let is_chips = |word: &&str| word.starts_with("chips=");
    let mut slices = "";
    match (*first, more) {
        ("alloc", Some([word])) if word.ends_with(['x', 'X']) && named.iter().any(is_chips) => {
            pairs.extend(id);
            slices = word;
        }
        ("alloc", more) => {
            pairs.extend(id);
            pairs.extend(more.map(|words| ("shape", words.join(" ").into())));
        }
        ("lease", Some([time])) => pairs.extend(id.into_iter().chain([("time", (*time).into())])),
        ("lease" | "free", None) => pairs.extend(id),
        ("lease" | "free", Some(more)) => {
            let word = more.last().expect("more than the id");
            return Err(format!("{} is one word too many", quoted(word.as_bytes())));
        }
        _ => pairs.push(("at", operands.into())),
    }
    for word in named {
        let pair = match word.split_once('=') {
            Some(("est", time)) => ("estimate", time.into()),
            Some((key @ ("lease" | "priority" | "tolerate"), number)) => (key, number.into()),
            Some(("chips", count)) => ("chips", format!("{slices} {count}").trim_start().into()),
            _ => return Err(format!("{} is not known", quoted(word.as_bytes()))),
        };
        pairs.push(pair);
    }
    let mut object = Map::new();
    for (key, value) in pairs {
        if object.insert(key.to_owned(), value).is_some() {
            return Err(format!("{key} is given twice"));
        }
    }
    Ok(Some(object))
}

struct Usage {
    op: String,
    machine: Grid,
    is_json: bool,
    /// Whether the line is no JSON.
    is_broken: bool,
}

impl Usage {
    /// The reason, with what was expected if it does not say so itself.
    fn complete(&self, reason: String) -> String {
        if reason.contains("expected ") {
            reason
        } else if self.is_broken {
            format!("{reason} (expected one JSON object a line)")
        } else if self.op.is_empty() {
            reason
        } else {
            format!("{reason} (expected {self})")
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = self.machine;
        let count = machine.dimensions();
        let extents: Vec<_> = ('A'..).take(count).map(String::from).collect();
        let extents = extents.join("x");
        let at = dimensions(machine).map(|name| name.to_uppercase());
        let at: Vec<_> = at.collect();
        let form = match (self.is_json, &*self.op) {
            (true, "alloc") => {
                format!(r#"{{"op":"alloc","id":ID,"shape":"[Sx ]{extents}"|"chips":N}}"#)
            }
            (true, "lease") => r#"{"op":"lease","id":ID,"time":TIME}"#.to_owned(),
            (true, "free") => r#"{"op":"free","id":ID}"#.to_owned(),
            (true, op) => format!(r#"{{"op":"{op}","at":[{}]}}"#, at.join(",")),
            (false, "alloc") => {
                format!(
                    "alloc ID [Sx] {extents}|chips=N [est=TIME] [priority=TIME] [lease=TIME] \
                     [tolerate=N]"
                )
            }
            (false, "lease") => "lease ID TIME".to_owned(),
            (false, "free") => "free ID".to_owned(),
            (false, op) => format!("{op} {}", at.join(" ")),
        };
        write!(f, "`{form}` on {machine}")
    }
}

/// The names of the machine's dimensions in the order in which coordinates are written.
fn dimensions(machine: Grid) -> impl Iterator<Item = String> {
    let count = machine.dimensions();
    let is_high_first = machine.is_written_high_first();
    let at = move |at| if is_high_first { count - 1 - at } else { at };
    (0..count).map(move |place| names::dimension(machine, at(place)))
}

// Values, which are numbers of JSON or words.

fn written(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

/// A whole number of any length. A number that is too large for 64 bits becomes the largest of 64
/// bits.
fn digits(text: &str, what: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let given = quoted(text.as_bytes());
        return Err(format!("{given} is not {what}"));
    }
    Ok(text.parse().unwrap_or(u64::MAX))
}

fn number<'de, D: Deserializer<'de>>(
    deserializer: D,
    what: &str,
    range: RangeInclusive<u64>,
) -> Result<u64, D::Error> {
    in_range(&written(&Value::deserialize(deserializer)?), what, range)
}

fn in_range<E: Error>(text: &str, what: &str, range: RangeInclusive<u64>) -> Result<u64, E> {
    let value = digits(text, what).map_err(E::custom)?;
    // All larger numbers have the value of the largest number of 64 bits.
    let is_exact = value < u64::MAX || text.trim_start_matches('0') == u64::MAX.to_string();
    if range.contains(&value) && is_exact {
        Ok(value)
    } else {
        let (given, least, most) = (shortened(text.as_bytes()), range.start(), range.end());
        let reason = format!("{given} is out of range for {what} (expected {least} to {most})");
        Err(E::custom(reason))
    }
}

fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(number(deserializer, "a job id", 0..=u32::MAX.into())? as u32)
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ticks, D::Error> {
    number(deserializer, "a time", 0..=Ticks::MAX)
}

fn estimate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Ticks>, D::Error> {
    number(deserializer, "an estimate", 1..=Ticks::MAX).map(Some)
}

fn lease<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Ticks>, D::Error> {
    number(deserializer, "a lease", 1..=Ticks::MAX).map(Some)
}

fn tolerate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    Ok(number(
        deserializer,
        "a number of faulty processors",
        0..=u8::MAX.into(),
    )? as u8)
}

/// Takes the number of slices off the front of a text.
fn split<E: Error>(text: &str) -> Result<(Slices, &str), E> {
    let slices = Slices::split(text);
    slices.map_err(|error| E::custom(format!("{}: {error}", quoted(text.as_bytes()))))
}

fn extents<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<(Slices, Vec<u64>)>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let (slices, texts) = match &value {
        Value::Array(values) => (Slices::ONE, values.iter().map(written).collect()),
        value => {
            let text = written(value).to_ascii_lowercase();
            let (slices, shape) = split(&text)?;
            let texts = shape.split(['x', ' ']).map(str::to_owned);
            (slices, texts.collect::<Vec<_>>())
        }
    };
    let shape = value.to_string();
    let what = format!("an extent, in shape {}", shortened(shape.as_bytes()));
    let extents = texts.iter().map(|text| digits(text, &what));
    let extents = extents
        .collect::<Result<_, _>>()
        .map_err(D::Error::custom)?;
    Ok(Some((slices, extents)))
}

fn chips<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<(Slices, u32)>, D::Error> {
    let text = written(&Value::deserialize(deserializer)?).to_ascii_lowercase();
    let (slices, count) = split(&text)?;
    let count = in_range(count, "a number of processors", 1..=u32::MAX.into())?;
    Ok(Some((slices, count as u32)))
}

/// The request for a shape, which holds extents up to 65,535. If an extent is longer, the request
/// becomes one that fits no machine: the largest with two extents, or with one extent on a shorter
/// dimension. Extents of zero are left as they are, because an empty request is another error.
fn request(extents: &[u64], machine: Grid) -> Result<Request, String> {
    let is_beyond = extents.iter().any(|&extent| extent > u64::from(u16::MAX));
    let shape = if is_beyond && !extents.contains(&0) {
        // On one dimension two extents are too many, unless it is as long as the longest extent.
        match machine.sides() {
            [side] if *side < u16::MAX => Shape::new(&[u16::MAX]),
            _ => Shape::new(&[u16::MAX; 2]),
        }
    } else {
        let extent = |&extent| u16::try_from(extent).unwrap_or(u16::MAX);
        Shape::new(&extents.iter().map(extent).collect::<Vec<_>>())
    };
    Ok(Request::new(shape.map_err(|error| error.to_string())?))
}

fn block(at: &[Value], machine: Grid) -> Result<Block, String> {
    const KNOWN: &str = "coordinates below each side and extents up to it are a block";
    let tuple = |numbers: &[u16]| Tuple::from_slice(numbers).expect(KNOWN);
    let sides = machine.written(tuple(machine.sides()));
    let mut words = at.iter().map(written);
    let (mut starts, mut extents) = (Vec::new(), Vec::new());
    for (place, (name, &side)) in dimensions(machine).zip(sides.iter()).enumerate() {
        let dimension = if machine.is_written_high_first() {
            machine.dimensions() - 1 - place
        } else {
            place
        };
        let word = words.next().ok_or_else(|| format!("{name} is missing"))?;
        let (start, extent) = span(&word, &name, side, dimension, machine)?;
        starts.push(start);
        extents.push(extent);
    }
    if let Some(word) = words.next() {
        let count = machine.dimensions();
        let given = quoted(word.as_bytes());
        return Err(format!("{given} is more than the {count} coordinates"));
    }
    let [start, extent] = [starts, extents].map(|numbers| machine.written(tuple(&numbers)));
    Ok(machine.block(&start, &extent).expect(KNOWN))
}

/// Where a coordinate, `A..B` or `*` starts along a dimension, and how far it goes.
fn span(
    word: &str,
    name: &str,
    side: u16,
    dimension: usize,
    machine: Grid,
) -> Result<(u16, u16), String> {
    if word == "*" {
        return Ok((0, side));
    }
    let coordinate = |text: &str| match digits(text, name)? {
        number if number < u64::from(side) => Ok(number as u16),
        _ => Err(format!(
            "{name} = {} is outside {machine} (expected 0 to {})",
            shortened(text.as_bytes()),
            side - 1
        )),
    };
    let (first, last) = word.split_once("..").unwrap_or((word, word));
    let (first, last) = (coordinate(first)?, coordinate(last)?);
    match last.checked_sub(first) {
        Some(more) => Ok((first, more + 1)),
        None if machine.wraps(dimension) => Ok((first, side - first + last + 1)),
        None => Err(format!(
            "{} ends before it begins, and {name} does not wrap on {machine}",
            quoted(word.as_bytes())
        )),
    }
}
