//! Settings that have no effect without another one.

use std::ffi::OsStr;

use super::error::OptionError;
use super::settings::Scenario;

/// Settings, and those of which each requires one.
#[derive(Debug)]
pub(super) struct Need {
    keys: &'static [&'static str],
    /// The value with which they require it; `None`: with any.
    value: Option<&'static str>,
    /// One of these is required.
    pub(super) of: &'static [&'static str],
}

const ALL: [Need; 9] = [
    Need {
        keys: &["dims", "radices"],
        value: None,
        of: &["cube"],
    },
    Need {
        keys: &[
            "flits",
            "routing-delay",
            "messages",
            "iterations",
            "iteration-seconds",
            "cycles-per-second",
            "blocking",
        ],
        value: None,
        of: &["pattern"],
    },
    Need {
        keys: &["partition"],
        value: None,
        of: &["swf"],
    },
    Need {
        keys: &["columns"],
        value: None,
        of: &["jobs-file"],
    },
    Need {
        keys: &["mix-drop"],
        value: None,
        of: &["mix"],
    },
    Need {
        keys: &[
            "from",
            "to",
            "log-load",
            "resample",
            "iteration-seconds",
            "cycles-per-second",
            "processors-per-node",
        ],
        value: None,
        of: &["swf", "jobs-file"],
    },
    Need {
        keys: &["shape"],
        value: None,
        of: &["swf", "jobs-file", "task-processors", "model"],
    },
    Need {
        keys: &["max-replications"],
        value: None,
        of: &["until-rel-error"],
    },
    Need {
        keys: &["estimates"],
        value: Some("log"),
        of: &["swf", "jobs-file"],
    },
];

impl Need {
    /// What this key requires with this value.
    pub(super) fn of(key: &str, value: &OsStr) -> impl Iterator<Item = &'static Need> {
        ALL.iter().filter(move |need| {
            need.keys.contains(&key) && need.value.is_none_or(|own| value == own)
        })
    }

    /// Those of which one is required, as a sentence has them.
    pub(super) fn words(&self) -> String {
        let keys: Vec<_> = self.of.iter().map(|key| format!("`{key}`")).collect();
        keys.join(" or ")
    }
}

/// Whether each setting has what it requires.
///
/// # Errors
///
/// The first that has not.
pub(super) fn check(scenario: &Scenario) -> Result<(), OptionError> {
    let record = scenario.record();
    let is_given = |key: &&str| record.get(*key).is_some();
    // The workload knows which estimates it has.
    for need in ALL.iter().filter(|need| need.value.is_none()) {
        if let Some(key) = need.keys.iter().copied().find(|key| is_given(key))
            && !need.of.iter().any(&is_given)
        {
            let reason = format!("`{key}` requires {}", need.words());
            return Err(OptionError::new(&[key], reason));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::file::{Entry, Options};
    use super::super::given;
    use super::*;
    use crate::scenario::options;

    #[test]
    fn every_key_of_the_table_is_an_error_alone() {
        let options = Options::new(options());
        for need in &ALL {
            for key in need.keys {
                let value = match *key {
                    "dims" | "radices" => "normal",
                    "resample" => "weeks",
                    "shape" => "near-square",
                    "blocking" | "mix-drop" => "true",
                    "columns" => "submit=arrival",
                    _ => need.value.unwrap_or("1"),
                };
                let entry = Entry::from((*key, value.into()));
                let scenario = given::scenario(&options, [&entry]).unwrap();
                let error = scenario.resolve().unwrap_err().to_string();
                let first = Need::of(key, value.as_ref()).next().unwrap().of[0];
                let expected = match need.value {
                    None => format!("--{key} requires --{first}"),
                    Some(_) => format!("(--{key}) is {value}"),
                };
                assert!(error.contains(&expected), "{error}");
            }
        }
    }
}
