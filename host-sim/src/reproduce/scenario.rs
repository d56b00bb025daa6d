//! A figure as a scenario file, which one can change and run.

use std::fmt::Write as _;

use meshalloc_papers::figure::Figure;
use meshalloc_papers::length::Length;
use meshalloc_papers::measure::Plan;
use meshalloc_papers::setting::Setting;
use meshalloc_sim::experiment::Replications;
use meshalloc_sim::machine::MachineSource;
use meshalloc_sim::names::each_once;
use meshalloc_sim::scenario::SETTINGS;
use meshalloc_sim::workload::MixSource;
use serde_json::{Map, Value};

/// The file of a figure, whose runs have this length. Its panels are commented out behind the first
/// if they are no grid together.
pub(super) fn text(
    paper: &str,
    figure: &Figure,
    length: &dyn Fn(&Setting) -> Length,
) -> Result<String, String> {
    let number = figure.number;
    let mut text = format!("# Figure {number} of {paper}, {}.\n", figure.title);
    let metrics = figure.panels.iter().map(|panel| panel.metric.name());
    let metrics = each_once(metrics).join(",");
    let _ = writeln!(text, "# host-sim run --scenario FILE --metrics {metrics}");
    if let Some(grid) = grid(figure, length)? {
        return Ok(text + &grid);
    }
    for (place, panel) in figure.panels.iter().enumerate() {
        let alone = Figure {
            panels: vec![panel.clone()],
            ..figure.clone()
        };
        let grid = grid(&alone, length)?;
        let grid = grid.ok_or_else(|| {
            format!(
                "figure {number} of {paper} is no grid of settings, so no scenario has it; \
                 `reproduce {paper} --figure {number}` runs it"
            )
        })?;
        let _ = write!(text, "\n# {}: {}\n", panel.heading, panel.parameters);
        for line in grid.lines() {
            let mark = if place == 0 { "" } else { "# " };
            let _ = writeln!(text, "{mark}{line}");
        }
    }
    Ok(text)
}

/// The settings of a figure as keys with their values; `None` if not every combination is in it.
fn grid(figure: &Figure, length: &dyn Fn(&Setting) -> Length) -> Result<Option<String>, String> {
    let (mut plan, mut clocked) = (Plan::default(), Plan::default());
    figure.plan(&mut plan, &mut clocked);
    let all = plan.settings().iter().chain(clocked.settings());
    let mut points: Vec<Map<String, Value>> = Vec::new();
    for (setting, strategies) in all {
        let has_own_file = matches!(setting.settings.mix, Some(MixSource::Text { .. }))
            || matches!(setting.settings.machine, Some(MachineSource::Text { .. }));
        if has_own_file {
            let number = figure.number;
            return Err(format!(
                "figure {number} has a mix or a machine of the paper's own, which a file cannot name"
            ));
        }
        let mut point = setting.settings.record();
        let names = strategies.iter().map(ToString::to_string);
        point["strategy"] = names.collect::<Value>();
        let Length {
            jobs,
            replications,
            seed,
        } = length(setting);
        if setting.plan.workload.is_endless() {
            point["jobs"] = jobs.into();
        }
        match replications {
            _ if !setting.plan.workload.is_replicated() => {}
            Replications::Fixed(count) => point["replications"] = count.into(),
            Replications::UntilRelativeError { target, max } => {
                point["until_rel_error"] = target.into();
                point["max_replications"] = max.into();
            }
            Replications::UntilAbsoluteError { target, max } => {
                point["until_abs_error"] = target.into();
                point["max_replications"] = max.into();
            }
        }
        point["seed"] = seed.into();
        points.extend(point.as_object().cloned());
    }
    let mut text = String::new();
    let mut combinations = 1;
    for setting in SETTINGS {
        let values = points.iter().filter_map(|point| point.get(setting.name));
        let values: Vec<_> = values.collect();
        if values.is_empty() {
            continue;
        }
        let is_of_all = values.len() == points.len();
        let values = each_once(values);
        combinations *= values.len();
        if !is_of_all || setting.name == "strategy" && values.len() > 1 {
            return Ok(None);
        }
        // Lists and texts of JSON are those of TOML.
        let values: Vec<_> = values.into_iter().map(Value::to_string).collect();
        let value = match &values[..] {
            [value] => value.clone(),
            values => format!("[{}]", values.join(", ")),
        };
        let _ = writeln!(text, "{} = {value}", setting.key);
    }
    Ok((combinations == points.len()).then_some(text))
}
