//! An axis of a paper, as its file has it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

use super::figure::XScale;

#[derive(Debug, Deserialize)]
pub(super) struct AxisRow {
    #[serde(default)]
    keys: Vec<String>,
    /// A value for the key, or a list of one value a key.
    #[serde(default)]
    values: Vec<Value>,
    /// As a horizontal axis: the name in CSV files.
    pub(super) column: Option<String>,
    /// As a horizontal axis: its label, with the unit.
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) scale: XScale,
    /// Words that go with the values.
    #[serde(flatten)]
    words: BTreeMap<String, Vec<Value>>,
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl AxisRow {
    /// Whether it has values for this key.
    pub(super) fn varies(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    pub(super) fn len(&self) -> usize {
        let words = self.words.values().map(Vec::len);
        words.chain([self.values.len()]).max().unwrap_or(0)
    }

    pub(super) fn value(&self, row: usize) -> String {
        self.values.get(row).map_or_else(String::new, text)
    }

    pub(super) fn word(&self, column: &str, row: usize) -> Option<String> {
        self.words.get(column)?.get(row).map(text)
    }

    /// The number of the value that has this word in one of its columns.
    pub(super) fn find(&self, word: &str) -> Option<usize> {
        let has = |&row: &usize| {
            let mut words = self.words.values().filter_map(|words| words.get(row));
            self.value(row) == word || words.any(|known| text(known) == word)
        };
        (0..self.len()).find(has)
    }

    /// The keys of a scenario that this value sets.
    pub(super) fn entries(&self, row: usize) -> Vec<(String, String)> {
        let values = match self.values.get(row) {
            Some(Value::Array(values)) => values.iter().map(text).collect(),
            Some(value) => vec![text(value)],
            None => Vec::new(),
        };
        self.keys.iter().cloned().zip(values).collect()
    }

    pub(super) fn is_mesh(&self) -> bool {
        self.keys.len() == 1 && self.keys[0] == "mesh"
    }
}
