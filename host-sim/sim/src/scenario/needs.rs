//! Settings that have no effect without another one.

use super::table::{Scenario, Setting};
use crate::error::SettingError;
use crate::wording::any_of;

/// The keys of settings of which one is required.
pub(super) type Need = &'static [&'static str];

/// A need as a sentence has it.
pub(super) fn words(need: Need) -> String {
    any_of(need.iter().map(|key| format!("`{key}`")))
}

/// Whether each setting has what it requires. The workload knows which estimates it has.
pub(super) fn check(scenario: &Scenario) -> Result<(), SettingError> {
    let given: Vec<_> = scenario.given().map(|setting| setting.key).collect();
    for &Setting { key, needs, .. } in scenario.given() {
        let is_met = |need: &&Need| need.iter().any(|key| given.contains(key));
        if let Some(need) = needs.iter().find(|need| !is_met(need)) {
            let reason = format!("`{key}` requires {}", words(need));
            return Err(SettingError::new(&[key], reason));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::SETTINGS;

    #[test]
    fn every_setting_with_a_need_is_an_error_alone() {
        let with_needs = SETTINGS.iter().filter(|setting| !setting.needs.is_empty());
        let mut count = 0;
        for &Setting { key, needs, .. } in with_needs {
            let value = match key {
                "dims" | "radices" => "normal",
                "resample" => "weeks",
                "shape" => "near-square",
                "blocking" | "mix-drop" | "strict" => "true",
                "restart" => "spare",
                "preemption" => "on",
                "columns" => "submit=arrival",
                "max-replications" => "10",
                _ => "1",
            };
            let mut scenario = Scenario::default();
            scenario.set(key, value).unwrap();
            let error = scenario.resolve().unwrap_err().on_command_line();
            let expected = format!("--{key} requires --{}", needs[0][0]);
            assert!(error.contains(&expected), "{error}");
            count += 1;
        }
        assert!(count > 10, "{count}");
    }

    #[test]
    fn estimates_of_a_log_require_one() {
        let mut scenario = Scenario::default();
        scenario.set("estimates", "log").unwrap();
        let error = scenario.resolve().unwrap_err().to_string();
        assert!(error.contains("(`estimates`) is log"), "{error}");
    }
}
