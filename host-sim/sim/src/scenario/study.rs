//! A study: settings, any of which may have several values.
//!
//! ```toml
//! strategy = ["fsl", "as"]
//! mesh = ["32x32", "64x64"]
//! load = ".3..:.5:.1"
//! ```
//!
//! A setting with several values is an *axis*. Every combination of the values is a *point*. Here
//! there are six points; the last axis changes fastest. Strategies are not an axis: all share the
//! jobs of each point.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use super::Resolved;
use super::file::{self, Foreign};
use super::origin::Origin;
use super::place::Place;
use super::table::{Entry, Scenario, Setting};
use crate::error::SettingError;

/// The maximum number of points: more are a mistake, or should be several studies.
const POINTS_MAX: usize = 100_000;

/// Settings, and where they were given.
#[derive(Clone, Debug, Default)]
pub struct Study {
    entries: Vec<Entry>,
    /// The file that gives some of the settings, as errors name it.
    file: Option<Arc<str>>,
}

/// A point of a study.
#[derive(Clone, Debug)]
pub struct StudyPoint {
    /// The axes, with their values at this point.
    pub label: Vec<(String, String)>,
    /// The scenario to run.
    pub scenario: Resolved,
}

impl Study {
    pub(super) fn of(entries: Vec<Entry>, file: Option<Arc<str>>) -> Self {
        Study { entries, file }
    }

    /// The study in the text of a scenario file. Errors name the file as `path`, and paths in the
    /// text are relative to the folder of `path`.
    ///
    /// # Errors
    ///
    /// Those of [`read`](super::read).
    pub fn of_text(text: &str, path: &Path, foreign: Foreign<'_>) -> Result<Self, String> {
        let name: Arc<str> = path.display().to_string().into();
        let entries = file::entries(text, path, &name, foreign)?;
        Ok(Study::of(entries, Some(name)))
    }

    /// The settings that have several values.
    pub fn axes(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.values.len() > 1)
    }

    /// The settings that were given one value.
    pub fn fixed(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.values.len() == 1)
    }

    /// Adds the values of a setting, unless it was given, or one that contradicts it.
    pub fn default(&mut self, command: &'static str, key: &str, values: &[&str]) {
        let Some(setting) = Setting::of(key) else {
            return;
        };
        let excludes =
            |other: &Entry| other.setting.key == key || other.setting.contradicts(setting);
        if !self.entries.iter().any(excludes) {
            self.entries.push(Entry {
                setting,
                values: values.iter().map(OsString::from).collect(),
                place: Place::Command(command),
            });
        }
    }

    /// The one scenario, and where its settings were given.
    ///
    /// # Errors
    ///
    /// When a setting has several values: `command` takes one.
    pub fn scenario(&self, command: &str) -> Result<(Scenario, Origin), String> {
        if let Some(Entry {
            setting, values, ..
        }) = self.axes().next()
        {
            let reason = format!(
                "`{}` has {} values (expected one with {command})",
                setting.key,
                values.len()
            );
            let error = SettingError::new(&[setting.key], reason);
            return Err(self.origin(&[]).place(&error));
        }
        self.choice(&[])
    }

    /// All points, at most `most`, in the order in which the last axis changes fastest. `fill` adds
    /// the settings that depend on the machine.
    ///
    /// # Errors
    ///
    /// When there are too many points, or the values of a point do not go together: one line with
    /// the place, and what was expected.
    pub fn points(
        &self,
        most: Option<usize>,
        fill: &dyn Fn(&mut Scenario) -> Result<(), SettingError>,
    ) -> Result<Vec<StudyPoint>, String> {
        let most = most.unwrap_or(POINTS_MAX);
        let mut labels = vec![Vec::new()];
        for Entry {
            setting, values, ..
        } in self.axes()
        {
            let count = labels.len().saturating_mul(values.len());
            if count > most {
                let key = setting.key;
                let reason =
                    format!("the study has {count} points with `{key}` (expected at most {most})");
                return Err(self.origin(&[]).place(&SettingError::new(&[key], reason)));
            }
            let longer = labels.iter().flat_map(|label: &Vec<(String, String)>| {
                values.iter().map(|value| {
                    let pair = (setting.key.to_owned(), value.to_string_lossy().into_owned());
                    [&label[..], &[pair]].concat()
                })
            });
            labels = longer.collect();
        }
        let points = labels.into_iter().map(|label| {
            let (mut scenario, origin) = self.choice(&label)?;
            fill(&mut scenario).map_err(|error| origin.place(&error))?;
            let scenario = scenario.resolve_of(origin)?;
            Ok(StudyPoint { label, scenario })
        });
        points.collect()
    }

    /// The origin of the point with this label; errors do not show what a command adds.
    fn origin(&self, label: &[(String, String)]) -> Origin {
        let is_given = |key: &str| {
            let mut axes = self
                .axes()
                .filter(|axis| !matches!(axis.place, Place::Command(_)));
            axes.any(|axis| axis.setting.key == key)
        };
        let label: Vec<_> = label
            .iter()
            .filter(|(key, _)| is_given(key))
            .cloned()
            .collect();
        Origin::of(self.file.as_ref(), &self.entries, &label)
    }

    /// The scenario at the point of this label.
    fn choice(&self, label: &[(String, String)]) -> Result<(Scenario, Origin), String> {
        let origin = self.origin(label);
        let fixed = self
            .fixed()
            .map(|entry| (entry.setting.key, &entry.values[0]));
        let scenario = Scenario::of(fixed).and_then(|mut scenario| {
            for (key, value) in label {
                scenario.set(key, value)?;
            }
            Ok(scenario)
        });
        let scenario = scenario.map_err(|error| origin.place(&error))?;
        Ok((scenario, origin))
    }
}

#[cfg(test)]
mod tests {
    use super::super::origin::label_text;
    use super::*;

    fn study(text: &str) -> Result<Study, String> {
        let foreign = Foreign {
            command_line: &["threads"],
            ..Foreign::default()
        };
        Study::of_text(text, Path::new("s.toml"), foreign)
    }

    fn points(text: &str) -> Result<Vec<StudyPoint>, String> {
        study(text)?.points(None, &|_| Ok(()))
    }

    fn labels(text: &str) -> Vec<String> {
        let points = points(text).unwrap();
        points
            .iter()
            .map(|point| label_text(&point.label))
            .collect()
    }

    #[test]
    fn the_last_axis_changes_fastest() {
        let text = "jobs = 9\nmesh = [\"8x8\", \"9x9\"]\nload = [0.30, 1e-1, 1]\n";
        let expected = [
            "mesh = 8x8, load = 0.3",
            "mesh = 8x8, load = 0.1",
            "mesh = 8x8, load = 1",
            "mesh = 9x9, load = 0.3",
            "mesh = 9x9, load = 0.1",
            "mesh = 9x9, load = 1",
        ];
        assert_eq!(labels(text), expected);
    }

    #[test]
    fn a_range_is_a_list() {
        let expected = [
            "load = 0.3",
            "load = 0.4",
            "load = 0.5",
            "load = 0.6",
            "load = 0.7",
        ];
        assert_eq!(labels("load = \".3..:.7:.1\""), expected);
        assert_eq!(labels("load = [\".3..:.65:.1\", 0.7]"), expected);
        assert_eq!(
            labels("seed = \"1..:9:4\""),
            ["seed = 1", "seed = 5", "seed = 9"]
        );
        for (wrong, part) in [
            (".3..:.2:.1", "expected FIRST..:LAST:STEP"),
            (".3..:.7:0", "expected FIRST..:LAST:STEP"),
            (".3..:.7", "expected FIRST..:LAST:STEP"),
            ("0..:.7:.1", "expected a number over 0"),
        ] {
            let error = study(&format!("\nload = \"{wrong}\"")).unwrap_err();
            assert!(
                error.starts_with("s.toml:2: ") && error.contains(part),
                "{error}"
            );
        }
    }

    #[test]
    fn values_may_have_commas() {
        for (key, text, expected) in [
            ("side-range", "1..4,1..8", &["1..4,1..8"][..]),
            ("machine", "mesh-4x4-wrap-0,1", &["mesh-4x4-wrap-0,1"]),
            (
                "machine",
                "mesh 4x4x4 wrap 2,4_ary_3_cube,TPU-v4",
                &["mesh 4x4x4 wrap 2", "4_ary_3_cube", "TPU-v4"],
            ),
            ("failures", "node:10,1,link:5,2", &["node:10,1", "link:5,2"]),
            ("mix", "tpu-v4,a.csv", &["tpu-v4", "a.csv"]),
            ("service", "uniform:5.5,10", &["uniform:5.5,10"]),
            ("log", "a.swf,b.swf", &["a.swf", "b.swf"]),
            ("log", "a,b.swf", &["a,b.swf"]),
            ("strategy", "ff,fsl", &["ff,fsl"]),
            ("load", ".3,.30,.4", &["0.3", "0.4"]),
        ] {
            let values = Setting::of(key).unwrap().values(text.as_ref());
            assert_eq!(values.unwrap(), expected, "{key} {text}");
        }
        for (key, text, part) in [
            ("load", ".3,x", "expected a number over 0"),
            ("service", "uniform:5,a", "expected"),
            ("load", ".3,,.4", "expected"),
        ] {
            let error = Setting::of(key).unwrap().values(text.as_ref()).unwrap_err();
            assert!(error.contains(part), "{key} {text}: {error}");
        }
    }

    #[test]
    fn strategies_are_no_axis() {
        let text = "strategy = [\"ff\", \"as\"]\nseed = [1, 2]";
        assert_eq!(labels(text), ["seed = 1", "seed = 2"]);
        let plan = &points(text).unwrap()[1].scenario.plan;
        assert_eq!((plan.strategies.len(), plan.seed), (2, 2));
        assert_eq!(labels("strategy = \"ff\""), [""]);
    }

    #[test]
    fn a_value_that_is_repeated_is_one_point() {
        let text = "load = [0.4, 0.5, 0.40]\nseed = [1, 1]";
        assert_eq!(labels(text), ["load = 0.4", "load = 0.5"]);
    }

    #[test]
    fn one_scenario_has_no_axis() {
        let two = study("jobs = 9\nload = [0.4, 0.5]").unwrap();
        let error = two.scenario("view").unwrap_err();
        assert_eq!(
            error,
            "s.toml:2: `load` has 2 values (expected one with view)"
        );
        let one = study("load = [0.4]").unwrap().scenario("view").unwrap();
        assert_eq!(one.0.load, Some(0.4));
    }

    #[test]
    fn errors_name_line_and_reason() {
        for (text, line, part) in [
            ("load = [0.4, -1]", 1, "expected a number over 0"),
            ("load = [0.4, [0.5]]", 1, "of type array"),
            (
                "load = [\n  0.4,\n  -1,\n]",
                3,
                "load = -1: expected a number over 0",
            ),
            (
                "load = [0.5]\ntraffic-ratio = [0.5]",
                2,
                "contradicts `load` in line 1",
            ),
            (
                "jobs = 3\nmesh = [\"8x8\", \"9x9\"]\nstrategy = \"2db\"",
                3,
                "(mesh = 9x9)",
            ),
        ] {
            let error = points(text).unwrap_err();
            assert!(
                error.starts_with(&format!("s.toml:{line}: ")) && error.contains(part),
                "{text:?}: {error}"
            );
            assert!(!error.contains('\n'), "{text:?}: {error}");
        }
    }

    /// Four times as many take about four times as long; sixteen times would be seen.
    #[test]
    fn long_lists_are_read_in_linear_time() {
        let seeds: Vec<_> = (0..100_000).map(|seed| seed.to_string()).collect();
        let begin = cpu_time::ThreadTime::now();
        let study = study(&format!("seed = [{}]\n", seeds.join(","))).unwrap();
        assert_eq!(study.axes().next().unwrap().values.len(), 100_000);
        // Far less than if each value were looked for among all others.
        let took = begin.elapsed();
        assert!(took.as_secs() < 10, "{took:?}");
    }

    #[test]
    fn a_study_too_large_is_refused_before_it_is_made() {
        let text = "\nseed = \"1..:317:1\"\njobs = \"1..:317:1\"\n";
        let error = points(text).unwrap_err();
        assert!(
            error.starts_with("s.toml:3: the study has 100489 points"),
            "{error}"
        );
    }
}
