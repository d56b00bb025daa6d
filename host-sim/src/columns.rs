//! Tables for programs (CSV), whose columns are the fields of a struct: names and meanings come
//! from its JSON Schema.
//!
//! The fields of a nested struct are columns of their own: `count` in `processors` is
//! `processors_count`. Those in `metrics` have no prefix: `waiting_delay_mean`. A list is one cell,
//! its values separated by semicolons. Lists of structs are in JSON only.

use std::io::{self, Write};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::identity::VERSION;
use meshalloc_sim::scenario::{SETTINGS, Setting};

/// A struct in which metrics are fields, and the prefix that their columns do without.
const METRICS: &str = "metrics";

struct Column {
    name: String,
    meaning: String,
    is_setting: bool,
    path: Vec<String>,
}

pub(crate) struct Columns(Vec<Column>);

impl Columns {
    pub(crate) fn of<T: JsonSchema>() -> Self {
        // Of what is written: a field that may be null is there.
        let generator = SchemaSettings::default().for_serialize().into_generator();
        let schema = generator.into_root_schema_for::<T>();
        let root = schema.as_value();
        let mut columns = Columns(Vec::new());
        columns.collect(root, root, &[], "");
        columns
    }

    /// Those of the settings that a command takes, of `more` that results record in a scenario, and
    /// of rows, without settings that have the name of a row's field; last the version.
    pub(crate) fn of_runs<T: JsonSchema>(
        takes: fn(&'static Setting) -> bool,
        more: &[(&str, &str)],
    ) -> Self {
        let rows = Columns::of::<T>();
        let settings = SETTINGS.iter().filter(|setting| takes(setting));
        let settings = settings.map(|setting| (setting.name, SETTING_MEANING, true));
        let more = more.iter().map(|&(name, meaning)| (name, meaning, false));
        // Decisions do not depend on where they are made.
        let of_scenario = settings.filter(|(name, ..)| *name != "backend").chain(more);
        let of_scenario = of_scenario.map(|(name, meaning, is_setting)| Column {
            name: name.to_owned(),
            meaning: meaning.to_owned(),
            is_setting,
            path: vec![SCENARIO.to_owned(), name.to_owned()],
        });
        let mut columns: Vec<_> = of_scenario.collect();
        columns.retain(|column| !rows.0.iter().any(|row| row.name == column.name));
        columns.extend(rows.0);
        columns.push(Column {
            name: VERSION_NAME.to_owned(),
            meaning: "Version of host-sim.".to_owned(),
            is_setting: false,
            path: vec![VERSION_NAME.to_owned()],
        });
        Columns(columns)
    }

    /// These and others, each name once.
    pub(crate) fn and(mut self, others: Columns) -> Self {
        let known: Vec<_> = self.0.iter().map(|column| column.name.clone()).collect();
        let others = others.0.into_iter();
        self.0
            .extend(others.filter(|other| !known.contains(&other.name)));
        self
    }

    /// Adds the fields of an object; `of` has the meanings of those that lead to it.
    fn collect(&mut self, schema: &Value, root: &Value, path: &[String], of: &str) {
        let properties = object(schema, root).and_then(|object| object["properties"].as_object());
        for (key, field) in properties.into_iter().flatten() {
            let path = [path, std::slice::from_ref(key)].concat();
            let inner = object(field, root);
            let texts = [Some(field), inner, Some(resolved(field, root))]
                .into_iter()
                .flatten();
            let meaning = texts.filter_map(|of| of["description"].as_str()).next();
            let is_metric = path[0] == METRICS;
            let meaning = match meaning.unwrap_or_default() {
                own if of.is_empty() || is_metric => own.to_owned(),
                own => format!("{of} {own}"),
            };
            if inner.is_some() {
                self.collect(field, root, &path, &meaning);
                continue;
            }
            // Lists of structs have no column.
            if object(&resolved(field, root)["items"], root).is_none() {
                let names = path.iter().filter(|&name| name != METRICS);
                let names: Vec<_> = names.map(String::as_str).collect();
                self.0.push(Column {
                    name: names.join("_"),
                    meaning,
                    is_setting: false,
                    path,
                });
            }
        }
    }

    /// Names and meanings, in the order of the columns. `SETTING` stands for all settings, and the
    /// columns of one `METRIC` for those of all.
    pub(crate) fn described(&self) -> Vec<(String, &str)> {
        let mut described: Vec<(String, &str)> = Vec::new();
        for column in &self.0 {
            let name = match &*column.path {
                _ if column.is_setting => "SETTING".to_owned(),
                [metrics, _, rest @ ..] if metrics == METRICS => {
                    format!("METRIC_{}", rest.join("_"))
                }
                _ => column.name.clone(),
            };
            if !described.iter().any(|(known, _)| *known == name) {
                described.push((name, &column.meaning));
            }
        }
        described
    }

    pub(crate) fn header(&self, writer: &mut csv::Writer<impl Write>) -> csv::Result<()> {
        writer.write_record(self.0.iter().map(|column| &column.name))
    }

    pub(crate) fn rows<R: Serialize>(
        &self,
        rows: impl IntoIterator<Item = R>,
        mut output: impl Write,
    ) -> io::Result<()> {
        // Into memory first: an error of this writer would hide that a reader has closed the
        // output.
        let mut writer = csv::Writer::from_writer(Vec::new());
        self.header(&mut writer)?;
        for row in rows {
            let row = serde_json::to_value(row)?;
            let value = |column: &Column| {
                let fields = column.path.iter();
                cell(fields.fold(&row, |value, field| &value[field]))
            };
            writer.write_record(self.0.iter().map(value))?;
        }
        let table = writer.into_inner();
        output.write_all(&table.map_err(csv::IntoInnerError::into_error)?)
    }

    /// The same of rows about runs, each with its scenario as results record it.
    pub(crate) fn runs<R: Serialize>(
        &self,
        runs: impl IntoIterator<Item = (Value, R)>,
        output: impl Write,
    ) -> io::Result<()> {
        self.rows(runs.into_iter().map(Run::new), output)
    }

    /// The same as a text, without columns that no row has.
    pub(crate) fn text<R: Serialize>(mut self, runs: Vec<(Value, R)>) -> io::Result<String> {
        let rows = runs.into_iter().map(Run::new).map(serde_json::to_value);
        let rows = rows.collect::<Result<Vec<Value>, _>>()?;
        self.0.retain(|column| {
            let field = |row| {
                column
                    .path
                    .iter()
                    .try_fold(row, |value: &Value, key| value.get(key))
            };
            rows.iter().any(|row| field(row).is_some())
        });
        let mut text = Vec::new();
        self.rows(rows, &mut text)?;
        String::from_utf8(text).map_err(io::Error::other)
    }
}

/// A row with its scenario, of [`Columns::of_runs`].
#[derive(Serialize)]
struct Run<R> {
    scenario: Value,
    #[serde(flatten)]
    row: R,
    version: &'static str,
}

impl<R> Run<R> {
    fn new((scenario, row): (Value, R)) -> Self {
        Run {
            scenario,
            row,
            version: VERSION,
        }
    }
}

/// The fields of [`Run`] that are no fields of its row.
const SCENARIO: &str = "scenario";
const VERSION_NAME: &str = "version";

/// What a setting's column has.
const SETTING_MEANING: &str = "Each setting of the runs, by its name with underscores. Settings \
     that no run of the figure has are left out.";

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(";"),
        Value::Object(pairs) => {
            let pairs = pairs
                .iter()
                .map(|(key, value)| format!("{key}={}", cell(value)));
            pairs.collect::<Vec<_>>().join(";")
        }
        other => other.to_string(),
    }
}

/// What a reference in a schema stands for.
pub(crate) fn resolved<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let path = schema["$ref"].as_str();
    let path = path.and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| root.pointer(path)).unwrap_or(schema)
}

/// The schema of an object with known fields, which a value has unless it is `null`.
pub(crate) fn object<'s>(schema: &'s Value, root: &'s Value) -> Option<&'s Value> {
    let schema = resolved(schema, root);
    if schema["properties"]
        .as_object()
        .is_some_and(|fields: &Map<_, _>| !fields.is_empty())
    {
        return Some(schema);
    }
    let mut parts = ["allOf", "anyOf"]
        .into_iter()
        .filter_map(|part| schema[part].as_array());
    parts.find_map(|parts| parts.iter().find_map(|part| object(part, root)))
}
