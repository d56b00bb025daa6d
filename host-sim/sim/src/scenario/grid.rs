//! Grids: scenario files in which keys have lists of values.
//!
//! ```toml
//! service-mean = 10
//! [grid]
//! strategy = ["fsl", "as"]
//! mesh = ["32x32", "64x64"]
//! load = [0.3, 0.4, 0.5]
//! ```
//!
//! Every combination of the values under `[grid]` is a point, here six of them, the last key
//! changing fastest. A key that takes several values even outside of a grid is no dimension of it:
//! the two strategies share the jobs of each point.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::DeValue;

use super::Resolved;
use super::file::{self, Foreign, GRID, Reader, Wrong};
use super::origin::Origin;
use super::table::{Entry, Form, Scenario, Setting};
use crate::error::SettingError;

/// The most points of a grid: more are a slip, or ought to be several files.
const POINTS_MAX: usize = 100_000;

/// One point of a grid.
#[derive(Clone, Debug)]
pub struct GridPoint {
    /// The keys of the grid, and their values here.
    pub label: Vec<(String, String)>,
    /// What is to be run.
    pub scenario: Resolved,
}

/// Reads a scenario file with a grid; without one it has a single point.
///
/// # Errors
///
/// When the file cannot be read, is no TOML, or has a key that is unknown, contradicts another or
/// has a value that its setting does not take, or when the values of a point do not go together:
/// one line with the place and what was expected.
pub fn grid(path: &Path, foreign: Foreign<'_>) -> Result<Vec<GridPoint>, String> {
    let text = file::text(path)?;
    grid_of(&text, path, foreign, POINTS_MAX)
}

/// The points of the text of a scenario file, which errors call `path` and whose folder paths in it
/// are relative to. Errors are those of [`grid`], and more than `points_max` points.
pub fn grid_of(
    text: &str,
    path: &Path,
    foreign: Foreign<'_>,
    points_max: usize,
) -> Result<Vec<GridPoint>, String> {
    let name: Arc<str> = path.display().to_string().into();
    let locate = |file: &str| file::beside(path, file);
    let grid = Grid::parse(&Reader::new(&name, text, foreign, &locate), points_max)
        .map_err(|Wrong { line, reason }| format!("{name}:{line}: {reason}"))?;
    let points = grid.points().into_iter().map(|choice| {
        let label: Vec<_> = choice.iter().map(|entry| pair(entry)).collect();
        let entries = grid.fixed.iter().chain(choice.iter().copied());
        let origin = Origin::of_file(&name, entries, &label);
        let scenario = grid.scenario(&choice, origin)?;
        Ok(GridPoint { label, scenario })
    });
    points.collect()
}

fn pair(entry: &Entry) -> (String, String) {
    let value = entry.value.to_string_lossy().into_owned();
    (entry.setting.key.to_owned(), value)
}

#[derive(Debug)]
struct Grid {
    fixed: Vec<Entry>,
    axes: Vec<Vec<Entry>>,
}

impl Grid {
    fn parse(reader: &Reader<'_>, points_max: usize) -> Result<Self, Wrong> {
        let mut grid = Grid {
            fixed: Vec::new(),
            axes: Vec::new(),
        };
        let mut lines: Vec<(usize, &Setting)> = Vec::new();
        let table = reader.table()?;
        let mut pairs = Vec::new();
        for (line, key, value) in reader.in_order(&table) {
            let wrong = |reason| Wrong { line, reason };
            match value.get_ref() {
                DeValue::Table(table) if key == GRID => {
                    pairs = reader.in_order(table);
                    continue;
                }
                DeValue::Table(_) => {
                    return Err(wrong(format!("unknown table [{key}] (expected [{GRID}])")));
                }
                other if key == GRID => {
                    let reason = format!(
                        "`{GRID}` is of type {} (expected a table)",
                        other.type_str()
                    );
                    return Err(wrong(reason));
                }
                _ => {}
            }
            let entry = reader.entry(key, line, value)?;
            lines.push((line, entry.setting));
            file::agree(&lines)?;
            grid.fixed.push(entry);
        }
        for (line, key, value) in pairs {
            let wrong = |reason| Wrong { line, reason };
            if let Some((other, _)) = lines.iter().find(|(_, earlier)| earlier.key == key) {
                let reason =
                    format!("`{key}` stands in line {other} too (expected only one of them)");
                return Err(wrong(reason));
            }
            let mut values = values(key, line, value, reader)?;
            let setting = values[0].setting;
            lines.push((line, setting));
            file::agree(&lines)?;
            if setting.form == Form::List {
                grid.fixed.append(&mut values);
            } else {
                grid.axes.push(values);
            }
            let sizes = grid.axes.iter().map(Vec::len);
            let points = sizes.fold(1, usize::saturating_mul);
            if points > points_max {
                return Err(wrong(format!(
                    "the grid has {points} points with {} (expected at most {points_max})",
                    setting.key
                )));
            }
        }
        Ok(grid)
    }

    /// For each point one value of each axis.
    fn points(&self) -> Vec<Vec<&Entry>> {
        let mut points = vec![Vec::new()];
        for axis in &self.axes {
            let longer = points.iter().flat_map(|point: &Vec<&Entry>| {
                axis.iter().map(move |entry| {
                    let mut point = point.clone();
                    point.push(entry);
                    point
                })
            });
            points = longer.collect();
        }
        points
    }

    fn scenario(&self, choice: &[&Entry], origin: Origin) -> Result<Resolved, String> {
        let entries = self.fixed.iter().chain(choice.iter().copied());
        match Scenario::of(entries) {
            Ok(scenario) => scenario.resolve_of(origin),
            Err(error) => Err(origin.place(&error)),
        }
    }
}

/// The scenario of these keys, as a point of a grid has it; an error names a wrong key or value.
pub fn of_keys(keys: &[(String, String)]) -> Result<Scenario, SettingError> {
    let mut scenario = Scenario::default();
    for (key, value) in keys {
        scenario.set(key, value)?;
    }
    Ok(scenario)
}

/// The values of a key of the grid in this line; a single entry for all of them if they are shared.
fn values(
    key: &str,
    line: usize,
    value: &Spanned<DeValue<'_>>,
    reader: &Reader<'_>,
) -> Result<Vec<Entry>, Wrong> {
    let wrong = |reason| Wrong { line, reason };
    let items = match value.get_ref() {
        DeValue::Array(items) if !items.is_empty() => items,
        DeValue::Array(_) => return Err(wrong(file::no_values(key))),
        other => {
            // An unknown key is worse than a value of another type.
            reader.entry(key, line, value)?;
            return Err(wrong(format!(
                "`{key}` is of type {} (expected a list of values, or the key above [{GRID}])",
                other.type_str()
            )));
        }
    };
    if Setting::of(key).is_some_and(|setting| setting.form == Form::List) {
        return Ok(vec![reader.entry(key, line, value)?]);
    }
    let mut entries: Vec<Entry> = Vec::with_capacity(items.len());
    let mut seen = HashSet::with_capacity(items.len());
    for item in items {
        let entry = reader.entry(key, line, item)?;
        // The rule of `names::each_once`.
        if seen.insert(entry.value.clone()) {
            entries.push(entry);
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::super::origin::label_text;
    use super::*;

    fn parse(text: &str) -> Result<Grid, Wrong> {
        let foreign = Foreign {
            command_line: &["threads"],
            useless: &[("backend", "a sweep runs in the process that is started")],
        };
        let locate = |file: &str| Path::new("folder").join(file);
        let name = "s.toml".into();
        Grid::parse(&Reader::new(&name, text, foreign, &locate), POINTS_MAX)
    }

    fn labels(text: &str) -> Vec<String> {
        let grid = parse(text).unwrap();
        let points = grid.points();
        let labels = points.iter().map(|choice| {
            let pairs: Vec<_> = choice.iter().map(|entry| pair(entry)).collect();
            label_text(&pairs)
        });
        labels.collect()
    }

    #[test]
    fn the_last_key_changes_fastest() {
        let text = "jobs = 9\n[grid]\nmesh = [\"8x8\", \"9x9\"]\nload = [0.30, 1e-1, 1]\n";
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
    fn strategies_are_no_dimension() {
        for text in [
            "strategy = [\"ff\", \"as\"]\n[grid]\nseed = [1, 2]",
            "[grid]\nstrategy = [\"ff\", \"as\"]\nseed = [1, 2]",
        ] {
            assert_eq!(labels(text), ["seed = 1", "seed = 2"]);
            let grid = parse(text).unwrap();
            let scenario = grid.scenario(&grid.points()[1], Origin::default());
            let scenario = scenario.unwrap();
            assert_eq!(scenario.plan.strategies.len(), 2);
            assert_eq!(scenario.plan.seed, 2);
        }
        assert_eq!(labels("strategy = \"ff\""), [""]);
    }

    #[test]
    fn a_value_that_is_repeated_is_one_point() {
        let text = "[grid]\nload = [0.4, 0.5, 0.40]\nseed = [1, 1]";
        let expected = ["load = 0.4, seed = 1", "load = 0.5, seed = 1"];
        assert_eq!(labels(text), expected);
    }

    #[test]
    fn errors_name_line_and_reason() {
        for (text, line, part) in [
            ("[grid]\nlaod = [0.4]", 2, "did you mean \"load\"?"),
            ("[grid]\nlaod = 0.4", 2, "did you mean \"load\"?"),
            ("laod = 0.4\n[grid]", 1, "did you mean \"load\"?"),
            (
                "\n[gird]\nload = [0.4]",
                2,
                "unknown table [gird] (expected [grid])",
            ),
            ("grid = 4", 1, "of type integer (expected a table)"),
            ("[grid]\n\nload = 0.4", 3, "expected a list of values"),
            ("[grid]\nload = []", 2, "expected at least one"),
            ("[grid]\nload = [0.4, true]", 2, "of type boolean"),
            ("[grid]\nload = [0.4, [0.5]]", 2, "of type array"),
            ("[grid]\nload = [0.4, -1]", 2, "expected a number over 0"),
            ("[grid]\nstrategy = [\"fits\"]", 2, "known: "),
            (
                "load = 0.4\n[grid]\nload = [0.5]",
                3,
                "stands in line 1 too",
            ),
            (
                "load = 0.4\n[grid]\ntraffic-ratio = [0.5]",
                3,
                "contradicts `load` in line 1",
            ),
            (
                "[grid]\nload = [0.5]\ntraffic-ratio = [0.5]",
                3,
                "contradicts `load` in line 2",
            ),
            (
                "threads = 2\n[grid]",
                1,
                "`threads` is an option of the command line only",
            ),
            ("plot = \"map\"\n[grid]", 1, "unknown key \"plot\""),
            (
                "[grid]\nload = [\n  0.4,\n  -1,\n]",
                4,
                "load = -1: expected a number over 0",
            ),
            ("help = \"x\"\n[grid]", 1, "unknown key \"help\""),
            (
                "[grid]\nbackend = [\"tcp:a:1\"]",
                2,
                "`backend` has no use here: a sweep runs in the process",
            ),
            ("[grid]\nload = [0.4]\nload = [0.5]", 3, "duplicate"),
            ("jobs = 3\n[grid", 2, ""),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(
                wrong.line == line && wrong.reason.contains(part),
                "{text:?}: {wrong:?}"
            );
            assert!(!wrong.reason.contains('\n'), "{text:?}: {wrong:?}");
        }
    }

    /// Four times as many take about four times as long; sixteen times would be seen.
    #[test]
    fn long_lists_are_read_in_linear_time() {
        let seeds: Vec<_> = (0..100_000).map(|seed| seed.to_string()).collect();
        let text = format!("[grid]\nseed = [{}]\n", seeds.join(","));
        let begin = cpu_time::ThreadTime::now();
        assert_eq!(parse(&text).unwrap().points().len(), 100_000);
        // Far less than if each value were looked for among all others.
        let took = begin.elapsed();
        assert!(took.as_secs() < 10, "{took:?}");
    }

    #[test]
    fn a_grid_too_large_is_refused_before_it_is_made() {
        let list = |n: usize| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
        let text = format!("[grid]\nseed = [{0}]\njobs = [{0}]\n", list(317));
        let wrong = parse(&text).unwrap_err();
        assert!(
            wrong.line == 3 && wrong.reason.contains("100489 points"),
            "{wrong:?}"
        );
    }
}
