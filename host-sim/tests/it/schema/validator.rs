//! Documents against those keywords of JSON Schema that the program's schemas use. A keyword that
//! stands here in no list is an error, so no part of a schema goes unchecked.

use serde_json::{Map, Value};

/// A schema whose references lead to its own definitions.
pub(crate) struct Validator(Value);

impl Validator {
    pub(crate) fn new(schema: Value) -> Self {
        Validator(schema)
    }

    /// What is wrong with the document, each with the path to it; empty if it is valid.
    pub(crate) fn errors(&self, document: &Value) -> Vec<String> {
        self.of("", &self.0, document)
    }

    pub(crate) fn is_valid(&self, document: &Value) -> bool {
        self.errors(document).is_empty()
    }

    fn of(&self, path: &str, schema: &Value, value: &Value) -> Vec<String> {
        let schema = match schema {
            Value::Bool(true) => return Vec::new(),
            Value::Bool(false) => return vec![format!("{path}: may not be there")],
            schema => schema.as_object().expect("a schema is an object"),
        };
        let keywords = schema.iter();
        keywords
            .flat_map(|(keyword, argument)| {
                self.keyword(path, schema, keyword, argument, value)
                    .into_iter()
            })
            .collect()
    }

    fn keyword(
        &self,
        path: &str,
        schema: &Map<String, Value>,
        keyword: &str,
        argument: &Value,
        value: &Value,
    ) -> Vec<String> {
        let unless = |is_valid: bool| {
            if is_valid {
                Vec::new()
            } else {
                vec![format!("{path}: {value} against {keyword} {argument}")]
            }
        };
        let each = || argument.as_array().expect("a list of schemas").iter();
        let matching = || {
            each()
                .filter(|schema| self.of(path, schema, value).is_empty())
                .count()
        };
        match keyword {
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => Vec::new(),
            "const" => unless(argument == value),
            "$ref" => {
                let pointer = argument.as_str().and_then(|to| to.strip_prefix('#'));
                let to = pointer.and_then(|pointer| self.0.pointer(pointer));
                self.of(path, to.expect("a definition"), value)
            }
            "type" => match argument {
                Value::Array(types) => unless(types.iter().any(|name| is_of(name, value))),
                name => unless(is_of(name, value)),
            },
            // Numbers only; the other types have no limits.
            "minimum" => unless(number(value).is_none_or(|value| value >= limit(argument))),
            "maximum" => unless(number(value).is_none_or(|value| value <= limit(argument))),
            "allOf" => unless(matching() == each().len()),
            "anyOf" => unless(matching() > 0),
            "oneOf" => unless(matching() == 1),
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                items
                    .flat_map(|(at, item)| self.of(&format!("{path}/{at}"), argument, item))
                    .collect()
            }
            "required" => {
                let names = each().map(|name| name.as_str().expect("a name"));
                unless(
                    value.as_object().is_none_or(|object| {
                        names.into_iter().all(|name| object.contains_key(name))
                    }),
                )
            }
            "properties" | "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                let members = value.as_object().into_iter().flatten();
                members
                    .flat_map(|(name, member)| {
                        let property = known.and_then(|known| known.get(name));
                        let schema = match keyword {
                            "properties" => property,
                            _ => Some(argument).filter(|_| property.is_none()),
                        };
                        let path = format!("{path}/{name}");
                        schema.map_or_else(Vec::new, |schema| self.of(&path, schema, member))
                    })
                    .collect()
            }
            _ => panic!("{path}: the keyword {keyword} is not known here"),
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn limit(argument: &Value) -> f64 {
    number(argument).expect("a limit is a number")
}

/// Whether the value is of the type of this name.
fn is_of(name: &Value, value: &Value) -> bool {
    match name.as_str().expect("a type has a name") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => number(value).is_some_and(|value| value.fract() == 0.0),
        name => panic!("there is no type {name}"),
    }
}

#[test]
fn each_keyword_tells_good_from_bad() {
    use serde_json::json;
    for (schema, good, bad) in [
        (json!({"type": "integer"}), json!(3), json!(3.5)),
        (json!({"type": ["string", "null"]}), json!(null), json!(1)),
        (json!({"minimum": 0}), json!(0), json!(-1)),
        (json!({"maximum": 9}), json!("x"), json!(10)),
        (
            json!({"items": {"type": "number"}}),
            json!([1, 2.5]),
            json!([1, "x"]),
        ),
        (
            json!({"required": ["a"]}),
            json!({"a": 1, "b": 2}),
            json!({"b": 2}),
        ),
        (
            json!({"properties": {"a": {"type": "null"}}}),
            json!({"a": null, "b": 1}),
            json!({"a": 1}),
        ),
        (
            json!({"properties": {"a": true}, "additionalProperties": false}),
            json!({"a": 1}),
            json!({"a": 1, "b": 1}),
        ),
        (
            json!({"additionalProperties": {"type": "boolean"}}),
            json!({"a": true}),
            json!({"a": 1}),
        ),
        (
            json!({"$ref": "#/$defs/small", "$defs": {"small": {"maximum": 3}}}),
            json!(3),
            json!(4),
        ),
        (
            json!({"allOf": [{"minimum": 1}, {"maximum": 3}]}),
            json!(2),
            json!(4),
        ),
        (
            json!({"anyOf": [{"maximum": 1}, {"minimum": 3}]}),
            json!(0),
            json!(2),
        ),
        (
            json!({"oneOf": [{"minimum": 1}, {"maximum": 3}]}),
            json!(4),
            json!(2),
        ),
    ] {
        let validator = Validator::new(schema);
        assert!(validator.is_valid(&good), "{:?}", validator.errors(&good));
        assert!(!validator.is_valid(&bad), "{:?} {bad}", validator.0);
    }
}
