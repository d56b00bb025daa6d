//! `--format csv`: the same numbers as in JSON, in columns that the reference describes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{host_sim, host_sim_in};

/// The rows of a CSV output, each with pairs of column and cell.
fn rows(folder: &Path, line: &str) -> Vec<Vec<(String, String)>> {
    let text = host_sim_in(folder, line).good();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader.headers().unwrap().clone();
    let pairs = |row: csv::Result<csv::StringRecord>| {
        let row = row.unwrap();
        let pairs = columns.iter().zip(row.iter());
        pairs
            .map(|(name, cell)| (name.to_owned(), cell.to_owned()))
            .collect()
    };
    reader.records().map(pairs).collect()
}

fn cell<'r>(row: &'r [(String, String)], name: &str) -> &'r str {
    let found = row.iter().find(|(column, _)| column == name);
    &found
        .unwrap_or_else(|| panic!("no column {name} in {row:?}"))
        .1
}

/// A value as a cell.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(string) => string.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(";"),
        other => other.to_string(),
    }
}

/// Compares an object of JSON with the cells whose names begin with `before`, as far as it has
/// numbers, texts, truths and lists of these. Returns how many.
fn compare(object: &Value, before: &str, row: &[(String, String)]) -> usize {
    let mut count = 0;
    for (key, value) in object.as_object().unwrap() {
        let name = format!("{before}{key}");
        count += match value {
            Value::Object(_) if key == "metrics" => compare(value, before, row),
            Value::Object(pairs) if key == "refused" => {
                let pairs = pairs
                    .iter()
                    .map(|(reason, count)| format!("{reason}={count}"));
                assert_eq!(cell(row, &name), pairs.collect::<Vec<_>>().join(";"));
                1
            }
            Value::Object(_) => compare(value, &format!("{name}_"), row),
            Value::Array(items) if items.iter().any(Value::is_object) => 0,
            // A list of structs that is empty here.
            Value::Array(items) if items.is_empty() && !row.iter().any(|(of, _)| *of == name) => 0,
            Value::Array(_) => {
                assert_eq!(cell(row, &name), text(value), "{name}");
                1
            }
            // Of a struct all columns are empty.
            Value::Null => {
                let inner = format!("{name}_");
                let cells = row
                    .iter()
                    .filter(|(of, _)| *of == name || of.starts_with(&inner));
                let cells: Vec<_> = cells.collect();
                assert!(
                    !cells.is_empty() && cells.iter().all(|(_, cell)| cell.is_empty()),
                    "{name}"
                );
                1
            }
            Value::String(text) => {
                assert_eq!(cell(row, &name), text, "{name}");
                1
            }
            // To the last bit.
            Value::Number(number) if number.is_f64() => {
                assert_eq!(cell(row, &name).parse().ok(), value.as_f64(), "{name}");
                1
            }
            other => {
                assert_eq!(cell(row, &name), other.to_string(), "{name}");
                1
            }
        };
    }
    count
}

#[test]
fn csv_of_traffic_has_what_json_has() {
    let folder = tempfile::tempdir().unwrap();
    let line = "traffic --mesh 4x4 --rate .01,.9 --replications 2";
    let json = host_sim_in(folder.path(), &format!("{line} --format json")).json();
    let rows = rows(folder.path(), &format!("{line} --format csv"));
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), rows.len());
    for (result, row) in results.iter().zip(&rows) {
        assert!(compare(result, "", row) > 15, "{result}");
        assert_eq!(cell(row, "seed"), "1");
    }
}

#[test]
fn a_log_is_one_row_and_the_list_has_all_items() {
    let folder = tempfile::tempdir().unwrap();
    let log = "1 0 -1 10 4 -1 -1 4 20 -1 1 1 1 -1 -1 1 -1 -1\n2 5 -1 9 2 -1 -1 4 -1 -1 1 1 1 -1 -1 1 -1 -1\n";
    fs::write(folder.path().join("log.swf"), log).unwrap();
    let line = "log log.swf --mesh 4x4 --format";
    let json = host_sim_in(folder.path(), &format!("{line} json")).json();
    let of_log = rows(folder.path(), &format!("{line} csv"));
    assert_eq!(of_log.len(), 1);
    assert!(compare(&json, "", &of_log[0]) > 40);
    assert_eq!(
        cell(&of_log[0], "distributions_run_time_seconds_max"),
        "10.0"
    );

    let json = host_sim("list --format json").json();
    let mut items = rows(folder.path(), "list --format csv").into_iter();
    for (kind, of_kind) in json.as_object().unwrap() {
        for item in of_kind.as_array().into_iter().flatten() {
            let row = items.next().unwrap();
            assert_eq!(cell(&row, "kind"), kind);
            assert!(compare(item, "", &row) > 2);
        }
    }
    assert!(items.next().is_none());
}

#[test]
fn saturation_is_sorted_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let line = "saturation --mesh 16x16 --strategy naive,ff,fs --jobs 600 --replications 2";
    let json = host_sim_in(folder.path(), &format!("{line} --format json")).json();
    let mut expected: Vec<_> = json["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let mean = result["metrics"]["utilization"]["mean"].as_f64().unwrap();
            (mean, result["strategy"].as_str().unwrap().to_owned())
        })
        .collect();
    expected.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shown = host_sim_in(folder.path(), &format!("{line} --output a/s.svg")).good();
    let table: Vec<_> = shown.lines().filter(|line| line.contains('█')).collect();
    assert_eq!(table.len(), 3, "{shown}");
    for (row, (mean, name)) in table.iter().zip(&expected) {
        assert!(row.starts_with(name.as_str()), "{shown}");
        let eighths: usize = row
            .chars()
            .map(|c| match c {
                '█' => 8,
                '▉' => 7,
                '▊' => 6,
                '▋' => 5,
                '▌' => 4,
                '▍' => 3,
                '▎' => 2,
                '▏' => 1,
                _ => 0,
            })
            .sum();
        assert_eq!(eighths, (mean * 128.0).round() as usize, "{row}");
    }
    let svg = fs::read_to_string(folder.path().join("a/s.svg")).unwrap();
    for (_, name) in &expected {
        assert!(svg.contains(name.as_str()), "{name}");
    }
    assert!(svg.contains("processor utilization (%)"));
    let places = expected.iter().map(|(_, name)| svg.find(name.as_str()));
    assert!(places.is_sorted(), "the legend is in another order");
}

#[test]
fn compare_draws_any_metric() {
    let folder = tempfile::tempdir().unwrap();
    let line = "compare --mesh 8x8 --strategy ff,naive --scheduler fcfs --load .3,.5 --jobs 200 \
                --replications 2 --output c.svg";
    for (metric, title, label) in [
        (
            "waiting_delay",
            "Mean waiting delay",
            "mean waiting delay (s)",
        ),
        (
            "waiting-delay-p95",
            "Waiting delay p95",
            "waiting delay p95 (s)",
        ),
        (
            "utilization",
            "Processor utilization",
            "processor utilization (%)",
        ),
        (
            "bounded_slowdown",
            "Mean bounded slowdown",
            "mean bounded slowdown",
        ),
    ] {
        let shown = host_sim_in(folder.path(), &format!("{line} --draw {metric}")).good();
        let svg = fs::read_to_string(folder.path().join("c.svg")).unwrap();
        assert!(
            svg.contains(title) && svg.contains(label),
            "{metric}: {svg}"
        );
        // The table shows it, too.
        let heading = format!("{}{}", label[..1].to_uppercase(), &label[1..]);
        let is_shown = shown.contains(&heading) || shown.contains(title);
        assert!(is_shown, "{metric}: {shown}");
    }
    let ended = host_sim_in(folder.path(), &format!("{line} --draw utilisation"));
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("did you mean \"utilization\"?"),
        "{ended}"
    );
}
