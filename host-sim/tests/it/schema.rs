//! What is written is what its schema says.

mod validator;

use std::fs;
use std::path::Path;

use serde_json::Value;

use self::validator::Validator;
use crate::program::{host_sim_fed, host_sim_in};
use meshalloc_host_sim::schema::schemas;

fn schema(output: &str) -> Value {
    let schema = schemas().into_iter().find(|(name, _)| *name == output);
    schema.unwrap().1.to_value()
}

fn validator(output: &str) -> Validator {
    Validator::new(schema(output))
}

fn assert_valid(output: &str, document: &Value) {
    let errors = validator(output).errors(document);
    assert!(errors.is_empty(), "{output}: {errors:?} in {document}");
    // Keys that no schema knows would go unnoticed.
    let text = schema(output).to_string();
    each_key(document, &mut |key| {
        let is_described = text.contains(&format!("\"{key}\":"));
        assert!(is_described, "{output}: {key} is not described");
    });
}

/// The keys of all objects but those of a scenario, of refusals and of metrics, whose keys are
/// those of options, reasons and metrics.
fn each_key(value: &Value, on_key: &mut impl FnMut(&str)) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                on_key(key);
                if !["scenario", "refused", "metrics"].contains(&key.as_str()) {
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
        ("run", "run --machine 4-ary-2-cube --strategy tc,partner --replications 2 --format json".to_owned()),
        ("study", format!("compare --load .3,.5 {small}")),
        ("study", "compare --log log.swf --mesh 4x4 --format json".to_owned()),
        ("log", "log log.swf --mesh 4x4 --format json".to_owned()),
        ("run", format!("saturation --strategy ff,naive {small}")),
        ("list", "list --format json".to_owned()),
        ("list", "list dims --format json".to_owned()),
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
