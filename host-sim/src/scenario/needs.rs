//! Keys that mean nothing without another one.

use std::ffi::OsStr;

use super::error::OptionError;

/// Keys, and those of which one is needed beside each of them.
#[derive(Debug)]
pub(super) struct Need {
    /// The keys.
    keys: &'static [&'static str],
    /// The value with which they need it; `None`: with any.
    value: Option<&'static str>,
    /// What each is.
    what: &'static str,
    /// One of these is needed.
    pub(super) beside: &'static [&'static str],
}

/// Of cubes.
pub(super) const CUBES: &Need = &Need {
    keys: &["dims", "radices"],
    value: None,
    what: "about cubes",
    beside: &["cube"],
};

/// Of jobs that send messages.
pub(super) const MESSAGES: &Need = &Need {
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
    what: "about jobs that send messages",
    beside: &["pattern"],
};

/// Of logs.
pub(super) const LOGS: &Need = &Need {
    keys: &[
        "partition",
        "from",
        "to",
        "log-load",
        "resample",
        "iteration-seconds",
        "cycles-per-second",
    ],
    value: None,
    what: "about logs",
    beside: &["swf"],
};

/// Of numbers of processors.
pub(super) const COUNTS: &Need = &Need {
    keys: &["shape"],
    value: None,
    what: "about numbers of processors",
    beside: &["swf", "task-processors"],
};

/// Of an error to reach.
pub(super) const ERROR_TO_REACH: &Need = &Need {
    keys: &["max-replications"],
    value: None,
    what: "a cap",
    beside: &["until-rel-error"],
};

/// Of estimates that a log has.
const REQUESTED_TIMES: &Need = &Need {
    keys: &["estimates"],
    value: Some("log"),
    what: "about logs",
    beside: &["swf"],
};

const ALL: [&Need; 6] = [
    CUBES,
    MESSAGES,
    LOGS,
    COUNTS,
    ERROR_TO_REACH,
    REQUESTED_TIMES,
];

impl Need {
    /// What this key needs with this value.
    pub(super) fn of(key: &str, value: &OsStr) -> impl Iterator<Item = &'static Need> {
        ALL.into_iter().filter(move |need| {
            need.keys.contains(&key) && need.value.is_none_or(|own| value == own)
        })
    }

    /// Those of which one is needed, as a sentence has them.
    pub(super) fn beside(&self) -> String {
        let beside: Vec<_> = self.beside.iter().map(|key| format!("`{key}`")).collect();
        beside.join(" or ")
    }

    /// Refuses each of its keys that is given, where there is none of those that they need.
    ///
    /// # Errors
    ///
    /// When one is given.
    pub(super) fn refuse(
        &self,
        keys: impl IntoIterator<Item = (bool, &'static str)>,
    ) -> Result<(), OptionError> {
        for (given, key) in keys {
            debug_assert!(self.keys.contains(&key), "{key} is not in the table");
            if given {
                let (what, beside) = (self.what, self.beside());
                let reason = format!("`{key}` is {what} (expected {beside} beside it)");
                return Err(OptionError::new(&[key], reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::scenario::{Scenario, ScenarioArgs, options};

    #[test]
    fn every_key_of_the_table_is_an_error_alone() {
        let mut command = options();
        for need in ALL {
            for key in need.keys {
                let value = match *key {
                    "dims" | "radices" => "normal",
                    "resample" => "weeks",
                    "shape" => "near-square",
                    "blocking" => "true",
                    _ => need.value.unwrap_or("1"),
                };
                let line = ["scenario".to_owned(), format!("--{key}={value}")];
                let matches = command.try_get_matches_from_mut(line).unwrap();
                let args = ScenarioArgs::from_arg_matches(&matches).unwrap();
                let error = Scenario::new(&args).unwrap_err().to_string();
                let first = Need::of(key, value.as_ref()).next().unwrap().beside[0];
                match need.value {
                    None => assert!(
                        error.starts_with(&format!("--{key} is "))
                            && error.contains(&format!("(expected --{first}")),
                        "{error}"
                    ),
                    Some(_) => assert!(error.contains(&format!("(--{key}) is {value}")), "{error}"),
                }
            }
        }
    }
}
