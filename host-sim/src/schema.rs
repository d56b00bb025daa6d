//! The content of every file and document that `host-sim` writes, and of the operations that
//! `replay` reads, from the types that write and read them: `schema` prints the JSON Schema of a
//! JSON output, `page` writes the page `outputs.md` of the reference. Tests compare real output
//! with both.

use std::io::{self, Write};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use crate::columns::{object, resolved};
use crate::list::ListDocument;
use crate::log::{self, LogDocument};
use crate::records;
use crate::replay::{Line, ServedObject, SetObject};
use crate::report::{Document, RunContent};
use crate::reproduce::figure;
use crate::study::products::{self, StudyDocument};
use crate::traffic::{self, TrafficContent};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::wording::any_of;

/// What to describe.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SchemaArgs {
    /// The output to describe
    #[arg(value_name = "OUTPUT", value_enum)]
    output: Json,
}

/// A JSON output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Json {
    /// `run`, `compare` and `saturation --format json`, of one point.
    Run,
    /// The same of several points.
    Study,
    /// `traffic --format json`.
    Traffic,
    /// `log --format json`.
    Log,
    /// A line of `replay`.
    Replay,
    /// An operation that `replay` reads.
    Operation,
    /// `list --format json`.
    List,
}

/// A line of `replay`.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only the types of its fields are of interest")]
enum ReplayLine<'b> {
    Job(ServedObject<'b>),
    Fault(SetObject<'b>),
}

impl Json {
    fn schema(self) -> Schema {
        // Of what is written: a key that may be null is there.
        let generator = SchemaSettings::default().for_serialize().into_generator();
        match self {
            Json::Run => generator.into_root_schema_for::<Document<RunContent>>(),
            Json::Study => generator.into_root_schema_for::<StudyDocument<'_>>(),
            Json::Traffic => generator.into_root_schema_for::<Document<TrafficContent>>(),
            Json::Log => generator.into_root_schema_for::<LogDocument>(),
            Json::Replay => generator.into_root_schema_for::<ReplayLine<'_>>(),
            Json::Operation => {
                let generator = SchemaSettings::default().into_generator();
                generator.into_root_schema_for::<Line>()
            }
            Json::List => generator.into_root_schema_for::<ListDocument>(),
        }
    }

    fn title(self) -> String {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(PossibleValue::get_help);
        help.map(ToString::to_string).unwrap_or_default()
    }
}

pub(crate) fn schema(args: &SchemaArgs, output: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, &args.output.schema())?;
    writeln!(output)
}

/// Writes the sections of the page about all outputs, JSON and CSV.
pub(crate) fn page(output: &mut dyn Write) -> io::Result<()> {
    let documents = Json::value_variants();
    let schemas: Vec<_> = documents.iter().map(|json| json.schema()).collect();
    let shared = Shared::of(&schemas);
    writeln!(output, "## JSON\n\n{JSON_INTRODUCTION}\n")?;
    for (json, schema) in documents.iter().zip(&schemas) {
        let value = schema.as_value();
        shared.section(&json.title(), value, value, output)?;
    }
    for (place, part) in shared.0.iter().enumerate() {
        if part.heading == METRICS {
            let names = Metric::ALL.map(|metric| format!("`{}`", metric.name()));
            let names = names.join(", ");
            writeln!(
                output,
                "### {METRICS}\n\n{METRICS_INTRODUCTION}\n{names}.\n"
            )?;
            continue;
        }
        let mut others = shared.clone();
        others.0.remove(place);
        others.section(part.heading, part.schema, part.root, output)?;
    }
    writeln!(output, "## CSV\n\n{CSV_INTRODUCTION}\n")?;
    let tables = [
        ("`traffic --format csv`", traffic::columns()),
        ("`log --format csv`", log::columns()),
    ];
    // Tables with the same columns share a section.
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for (title, columns) in tables {
        let names = columns.described().into_iter();
        let names = names.map(|(name, _)| format!("`{name}`")).collect();
        match sections.iter_mut().find(|(_, known)| *known == names) {
            Some((titles, _)) => titles.push_str(&format!(", {title}")),
            None => sections.push((title.to_owned(), names)),
        }
    }
    for (titles, names) in sections {
        writeln!(output, "### {titles}\n\nColumns: {}.\n", names.join(", "))?;
    }
    writeln!(
        output,
        "### `run`, `compare` and `saturation --format csv`\n\n{STUDY_INTRODUCTION}\n\n\
         | column | meaning |\n|---|---|"
    )?;
    for (name, meaning) in products::COLUMNS {
        writeln!(output, "| `{name}` | {meaning} |")?;
    }
    writeln!(output)?;
    let tables = [
        ("`list --format csv`", ListDocument::columns()),
        ("`run --jobs-output FILE.csv`", records::table::columns()),
        ("Figures of `reproduce`", figure::columns()),
    ];
    for (title, columns) in tables {
        writeln!(output, "### {title}\n\n| column | meaning |\n|---|---|")?;
        for (name, meaning) in columns.described() {
            writeln!(output, "| `{name}` | {} |", cell(meaning))?;
        }
        writeln!(output)?;
    }
    Ok(())
}

const METRICS: &str = "Metrics of a run";
const METRICS_INTRODUCTION: &str = "\
    Each key is the name of a [metric](metrics.md), and has an \
    [object](#value-of-a-metric). Metrics that were not measured are absent:";
const JSON_INTRODUCTION: &str = "\
    An object whose type is a link has the keys of the linked section, and those of the rows below \
    it.";
const STUDY_INTRODUCTION: &str = "\
    One row for each point, strategy and metric. The first columns are the settings with several \
    values, by their names with underscores. With `--wide` there is one row for each point and \
    strategy, and each metric of `--metrics` has columns for the mean, `_low` and \
    `_high`, such as `hops_low`.";
const CSV_INTRODUCTION: &str = "\
    Where only the names of the columns are listed, a column is the key of that name in the JSON \
    document, with underscores for dots: `too_large_jobs` is `too_large.jobs`. `METRIC_mean` stands for a \
    column of each metric, such as `waiting_delay_mean`. `SETTING` stands for a column of each \
    setting that the command takes (of `reproduce`: that the runs have), empty where there is none. \
    In lists of names, the other columns are options of the command, and the version of host-sim.";

pub(crate) fn cell(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// What is known of an object that is one of several forms of a value.
#[derive(Default)]
struct Alternative<'s> {
    is_one_of_several: bool,
    /// What it means, which is also the meaning of its only key, or of the key that names it.
    meaning: Option<&'s str>,
    has_one_key: bool,
}

/// Objects that stand in several outputs, by the names of their types, each with its heading.
const SHARED: [(&str, &str); 7] = [
    ("StrategySummary", "Results of a strategy"),
    ("Metrics", METRICS),
    ("MetricSummary", "Value of a metric"),
    ("GainSummary", "Gain over a strategy"),
    ("LogJson", "Log"),
    ("Distribution", "Distribution of values"),
    ("NamedChoice", "Named choice"),
];

/// An object that stands in several outputs. The page describes it once.
#[derive(Clone, Copy)]
struct Part<'s> {
    heading: &'static str,
    schema: &'s Value,
    root: &'s Value,
}

impl Part<'_> {
    fn has(&self, key: &str) -> bool {
        self.schema["properties"].get(key).is_some()
    }

    fn anchor(&self) -> String {
        self.heading.to_lowercase().replace(' ', "-")
    }
}

#[derive(Clone)]
struct Shared<'s>(Vec<Part<'s>>);

impl<'s> Shared<'s> {
    fn of(schemas: &'s [Schema]) -> Self {
        let part = |(name, heading)| {
            let mut roots = schemas.iter().map(Schema::as_value);
            roots.find_map(|root| {
                let schema = root["$defs"].get(name)?;
                Some(Part {
                    heading,
                    schema,
                    root,
                })
            })
        };
        Shared(SHARED.into_iter().filter_map(part).collect())
    }

    /// The one whose keys this object has, perhaps with others.
    fn part(&self, schema: &Value, root: &Value) -> Option<Part<'s>> {
        let keys = &object(schema, root)?["properties"];
        let is_in = |part: &&Part<'_>| {
            let mut of_part = part.schema["properties"].as_object().into_iter().flatten();
            of_part.all(|(key, meaning)| keys.get(key) == Some(meaning))
        };
        self.0.iter().find(is_in).copied()
    }

    fn section(
        &self,
        title: &str,
        schema: &Value,
        root: &Value,
        output: &mut dyn Write,
    ) -> io::Result<()> {
        writeln!(
            output,
            "### {title}\n\n| key | type | meaning |\n|---|---|---|"
        )?;
        self.rows(schema, root, "", &Alternative::default(), output)?;
        writeln!(output)
    }

    /// A row for each key of an object, and of objects in it that are no part; `before` leads
    /// there.
    fn rows(
        &self,
        schema: &Value,
        root: &Value,
        before: &str,
        alternative: &Alternative<'_>,
        output: &mut dyn Write,
    ) -> io::Result<()> {
        let whole = Alternative::default();
        let schema = resolved(schema, root);
        let required: Vec<&str> = schema["required"].as_array().map_or_else(Vec::new, |keys| {
            keys.iter().filter_map(Value::as_str).collect()
        });
        let part = self.part(schema, root);
        let keys = schema["properties"].as_object().into_iter().flatten();
        let keys = keys.filter(|(key, _)| part.is_none_or(|part| !part.has(key)));
        for (key, of_key) in keys {
            let is_required = required.contains(&key.as_str()) || required.is_empty();
            let mark = if is_required && !alternative.is_one_of_several {
                ""
            } else {
                "?"
            };
            let path = format!("{before}{key}");
            let inner = resolved(of_key, root);
            let description = [of_key, inner]
                .into_iter()
                .find_map(|of| of["description"].as_str())
                .or_else(|| {
                    let is_its_own = alternative.has_one_key || of_key["const"].is_string();
                    alternative.meaning.filter(|_| is_its_own)
                });
            let meaning = cell(description.unwrap_or_default());
            let kind = self.kind(of_key, root);
            writeln!(output, "| `{path}`{mark} | {kind} | {meaning} |")?;
            match &inner["items"] {
                // The options of commands are in their help.
                _ if key == "scenario" => {}
                Value::Null => self.rows(of_key, root, &format!("{path}."), &whole, output)?,
                items => self.rows(items, root, &format!("{path}[]."), &whole, output)?,
            }
        }
        for part in ["anyOf", "oneOf", "allOf"] {
            let parts = schema[part].as_array().into_iter().flatten();
            // Of a value that may be null the other part has the keys.
            let parts: Vec<_> = parts.filter(|part| part["type"] != "null").collect();
            for form in &parts {
                let keys = form["properties"].as_object().map_or(0, Map::len);
                let alternative = Alternative {
                    // Where there is `anyOf`, each form is an object of its own.
                    is_one_of_several: part == "oneOf" && parts.len() > 1,
                    meaning: form["description"].as_str(),
                    has_one_key: keys == 1,
                };
                self.rows(form, root, before, &alternative, output)?;
            }
        }
        Ok(())
    }

    fn kind(&self, schema: &Value, root: &Value) -> String {
        let schema = resolved(schema, root);
        let words = match (&schema["type"], &schema["items"]) {
            (Value::String(kind), items) if kind == "array" => {
                vec![format!("array of {}", self.kind_of_items(items, root))]
            }
            (Value::String(kind), _) => match self.part(schema, root) {
                Some(part) => vec![format!("[{kind}](#{})", part.anchor())],
                None => vec![kind.clone()],
            },
            (Value::Array(kinds), items) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                let kinds = kinds.map(|kind| match kind {
                    "array" => format!("array of {}", self.kind_of_items(items, root)),
                    other => other.to_owned(),
                });
                kinds.collect()
            }
            _ => {
                let parts = ["anyOf", "oneOf", "allOf"].into_iter();
                let parts = parts.filter_map(|part| schema[part].as_array());
                let words = parts.flatten().map(|part| self.kind(part, root));
                let mut words: Vec<_> = words.collect();
                words.dedup();
                words
            }
        };
        any_of(words)
    }

    fn kind_of_items(&self, items: &Value, root: &Value) -> String {
        match self.kind(items, root) {
            kind if kind.is_empty() => "values".to_owned(),
            kind if kind.contains("](") => kind.replace("](", "s]("),
            kind => format!("{}s", kind.replace(", ", "s, ").replace(" or ", "s or ")),
        }
    }
}
