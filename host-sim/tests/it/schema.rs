//! What is written is what its schema says.

mod validator;

use std::fs;
use std::path::Path;

use serde_json::Value;

use self::validator::Validator;
use crate::program::{host_sim, host_sim_fed, host_sim_in, write_kth};

fn validator(output: &str) -> Validator {
    Validator::new(host_sim(&format!("schema {output}")).json())
}

/// The page about all outputs, of the reference.
fn outputs_page() -> String {
    let folder = tempfile::tempdir().unwrap();
    host_sim_in(folder.path(), "reference pages").good();
    fs::read_to_string(folder.path().join("pages/outputs.md")).unwrap()
}

fn assert_valid(output: &str, document: &Value) {
    let errors = validator(output).errors(document);
    assert!(errors.is_empty(), "{output}: {errors:?} in {document}");
    // Keys that no schema knows would go unnoticed: each must stand in the page.
    let page = outputs_page();
    each_key(document, &mut |key| {
        assert!(page.contains(key), "{output}: {key} is not described");
    });
}

/// The keys of all objects but those of a scenario and of refusals, whose keys are those of options
/// and reasons.
fn each_key(value: &Value, on_key: &mut impl FnMut(&str)) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                on_key(key);
                if !["scenario", "refused"].contains(&key.as_str()) {
                    each_key(value, on_key);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| each_key(value, on_key)),
        _ => {}
    }
}

#[test]
fn documents_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let small = "--mesh 8x8 --jobs 200 --replications 2 --format json";
    let log = "1 0 -1 10 4 -1 -1 4 -1 -1 1 1 1 -1 -1 1 -1 -1\n";
    fs::write(folder.path().join("log.swf"), log).unwrap();
    for (output, line) in [
        ("run", format!("run --strategy ff,naive {small}")),
        ("run", format!("run --load 3 --strategy random:seed=7 --search-time {small}")),
        ("run", "run --mesh 4x4 --pattern ring --arrival-rate .001 --jobs 20 --replications 2 --format json".to_owned()),
        ("run", "run --log log.swf --mesh 4x4 --partition 1 --format json".to_owned()),
        ("run", "run --cube k=4,n=2 --strategy tc,partner --replications 2 --format json".to_owned()),
        ("study", format!("compare --load .3,.5 {small}")),
        ("study", "compare --log log.swf --mesh 4x4 --format json".to_owned()),
        ("log", "log log.swf --mesh 4x4 --format json".to_owned()),
        ("run", format!("saturation --strategy ff,naive {small}")),
        ("list", "list --format json".to_owned()),
        ("list", "list dims --format json".to_owned()),
        ("traffic", "traffic --mesh 4x4 --rate .01,.9 --replications 2 --format json".to_owned()),
    ] {
        assert_valid(output, &host_sim_in(folder.path(), &line).json());
    }
}

#[test]
fn what_is_not_of_the_schema_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run --mesh 4x4 --jobs 50 --replications 1 --format json";
    let good = host_sim_in(folder.path(), line).json();
    let validator = validator("run");
    assert!(validator.is_valid(&good));
    for (path, key, value) in [
        ("", "seed", Value::from("one")),
        ("/results/0", "saturated", Value::Null),
        ("/results/0/metrics", "no_such_metric", Value::from(1)),
        ("/results/0/metrics/waiting_delay", "mean", Value::from("x")),
    ] {
        let mut bad = good.clone();
        bad.pointer_mut(path).unwrap()[key] = value;
        assert!(!validator.is_valid(&bad), "{path} {key}");
    }
    let mut bad = good;
    bad["results"][0]
        .as_object_mut()
        .unwrap()
        .remove("decision_hash");
    assert!(!validator.is_valid(&bad));
}

#[test]
fn lines_of_a_replay_are_valid() {
    let operations =
        "alloc 1 3 3\nalloc 2 3 3\nalloc 1 1 1\nfault 0 0\nrepair 0 0\nfree 1\nfree 9\nfree 2\n";
    for options in ["--mesh 4x4", "--mesh 4x4 --scheduler fcfs", "--mesh 4x4x1"] {
        let operations = if options.ends_with("x1") {
            operations
                .replace(" 3 3", " 3x3")
                .replace(" 1 1", " 1")
                .replace("0 0", "0 0 0")
        } else {
            operations.to_owned()
        };
        let shown =
            host_sim_fed(Path::new("."), &format!("replay - {options}"), &operations).good();
        let validator = validator("replay");
        for line in shown.lines() {
            let object = serde_json::from_str(line).unwrap();
            let errors = validator.errors(&object);
            assert!(errors.is_empty(), "{line}: {errors:?}");
        }
        assert!(!validator.is_valid(&serde_json::json!({"line": 1, "op": "alloc"})));
    }
}

#[test]
fn operations_are_as_described() {
    let validator = validator("operation");
    for (operation, is_valid) in [
        (r#"{"op":"alloc","id":1,"shape":"4x3"}"#, true),
        (
            r#"{"op":"alloc","id":1,"shape":[4,3],"lease":5,"estimate":1}"#,
            true,
        ),
        (r#"{"op":"fault","at":[0,"1..2","*"]}"#, true),
        (r#"{"op":"lease","id":1,"time":0}"#, true),
        (r#"{"op":"alloc","id":1}"#, false),
        (r#"{"op":"alloc","id":1,"chips":12}"#, true),
        (r#"{"op":"alloc","id":1,"chips":12,"shape":"4x3"}"#, false),
        (r#"{"op":"free","id":1,"shape":"1x1"}"#, false),
        (r#"{"op":"dance"}"#, false),
    ] {
        let errors = validator.errors(&serde_json::from_str(operation).unwrap());
        assert_eq!(errors.is_empty(), is_valid, "{operation}: {errors:?}");
    }
}

#[test]
fn every_key_of_the_page_has_a_meaning() {
    let page = outputs_page();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let meaning = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        assert!(!meaning.is_empty() && !meaning.ends_with('|'), "{row}");
    }
    // Each object that several outputs have is described once.
    for once in ["`waiting_delay`", "| `over` |", "| `acknowledge` |"] {
        assert_eq!(page.matches(once).count(), 1, "{once}");
    }
    // What the clock measures is of `run` alone, in JSON.
    assert_eq!(page.matches("elapsed_seconds`").count(), 1);
    for row in [
        "| `waits`? | integer | The job waits; the number of jobs ahead of it. |",
        "| `granted[].x`? | integer | On a two-dimensional mesh: ",
    ] {
        assert!(page.contains(row), "{row} is missing in {page}");
    }
}

/// The columns of the section whose heading names this: those of a list, or the first cells of
/// rows.
fn columns(output: &str) -> Vec<String> {
    let page = outputs_page();
    let mut sections = page.split("\n### ");
    let is_of_output = |section: &&str| section.lines().next().unwrap().contains(output);
    let section = sections.find(is_of_output).unwrap();
    let list = section
        .lines()
        .find_map(|line| line.strip_prefix("Columns: "));
    if let Some(list) = list {
        let names = list.split('`').skip(1).step_by(2);
        return names.map(str::to_owned).collect();
    }
    let rows = section.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned())
        .collect()
}

/// The columns as the page has them: one name for all settings, and for each metric.
fn described(header: &[String]) -> Vec<String> {
    let settings = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/scenario.md"),
    );
    let settings = settings.unwrap();
    let is_setting = |name: &str| settings.contains(&format!("| `{} ", name.replace('_', "-")));
    let metrics = host_sim("list metrics --format json").json();
    let metrics = metrics["metrics"].as_array().unwrap().clone();
    let mut metrics: Vec<_> = metrics
        .iter()
        .map(|of| of["name"].as_str().unwrap())
        .collect();
    metrics.extend([
        "offered",
        "accepted",
        "link_utilization_max",
        "link_utilization",
    ]);
    // Of names that begin alike the longest.
    metrics.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let mut names: Vec<String> = Vec::new();
    let own = header
        .iter()
        .position(|name| ["rate", "strategy"].contains(&&**name))
        .unwrap_or(0);
    let parts = [
        "mean",
        "low",
        "high",
        "standard_deviation",
        "replications",
        "values",
    ];
    for (place, name) in header.iter().enumerate() {
        let part = metrics
            .iter()
            .find_map(|metric| name.strip_prefix(&format!("{metric}_")));
        let metric = part.filter(|part| parts.contains(part));
        let known = ["pattern", "warmup"].contains(&&**name) && header.contains(&"rate".to_owned());
        let name = match metric {
            Some(part) => format!("METRIC_{part}"),
            None if place < own && is_setting(name) && !known => "SETTING".to_owned(),
            None => name.clone(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[test]
fn tables_have_the_columns_that_are_described() {
    let folder = tempfile::tempdir().unwrap();
    let header = |path: &str| -> Vec<String> {
        let text = fs::read_to_string(folder.path().join(path)).unwrap();
        text.lines()
            .next()
            .unwrap()
            .split(',')
            .map(str::to_owned)
            .collect()
    };
    host_sim_in(
        folder.path(),
        "run --mesh 8x8 --jobs 50 --replications 1 --jobs-output j.csv",
    )
    .good();
    assert_eq!(header("j.csv"), columns("`run --jobs-output"));
    let line = "run --mesh 8x8 --jobs 50 --replications 2 --load .2,.3 --format";
    let csv = host_sim_in(folder.path(), &format!("{line} csv")).good();
    let names: Vec<_> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(names[0], "load");
    assert_eq!(
        names[1..],
        columns("`run`, `compare` and `saturation --format csv`")
    );
    for line in [
        "traffic --mesh 4x4 --rate .01 --cycles 100 --replications 1",
        "list",
    ] {
        let text = host_sim_in(folder.path(), &format!("{line} --format csv")).good();
        let header: Vec<_> = text
            .lines()
            .next()
            .unwrap()
            .split(',')
            .map(str::to_owned)
            .collect();
        let command = line.split(' ').next().unwrap();
        assert_eq!(
            described(&header),
            columns(&format!("`{command} --format csv`"))
        );
    }
    let document = host_sim_in(folder.path(), &format!("{line} json")).json();
    assert_valid("study", &document);

    write_kth(&folder.path().join("logs"));
    for (line, file) in [
        ("chuang-wu --figure 2 --replications 12", "figure-02.csv"),
        ("liu --figure 3 --replications 2", "figure-03.csv"),
        (
            "lookahead --figure 8 --replications 2 --traces logs",
            "figure-08.csv",
        ),
    ] {
        host_sim_in(folder.path(), &format!("reproduce {line} --output r")).good();
        let mut rest = columns("Figures of `reproduce`").into_iter();
        for column in described(&header(&format!("r/{file}"))) {
            // Replications of the paper are named in the columns.
            let digits = column.trim_end_matches(|c: char| c.is_ascii_digit());
            let name = if digits.ends_with("_first_") {
                format!("{digits}N")
            } else {
                column.clone()
            };
            assert!(
                rest.any(|described| described == name),
                "{file}: {column} is not described, or not there"
            );
        }
    }
}
