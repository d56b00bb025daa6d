//! `list`: the values to choose from, with their sources.

use std::io::{self, Write};

use clap::ValueEnum;
use meshalloc::{Description, SchedulerKind, StrategyKind};

use crate::report;
use crate::tables;
use meshalloc_sim::machine::Described;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::wording::{any_of, wrapped};

mod document;
pub(crate) mod part;

pub(crate) use document::ListDocument;
pub use part::Part;

/// Longer lines are hard to read, on terminals of any width.
const WIDTH_MAX: usize = 100;

/// Writes the list, or a part of it.
pub fn list(part: Option<Part>, is_json: bool, output: &mut dyn Write) -> io::Result<()> {
    if is_json {
        return report::write_json(&ListDocument::new(part), output);
    }
    let all = Part::value_variants().iter().copied();
    let parts = all.filter(|&of| part.is_none_or(|part| part == of));
    for (place, part) in parts.enumerate() {
        if place > 0 {
            writeln!(output)?;
        }
        section(part, output)?;
    }
    Ok(())
}

fn section(part: Part, output: &mut dyn Write) -> io::Result<()> {
    let Some((keys, forms)) = part.entries() else {
        return match part {
            Part::Strategies => strategies(output),
            Part::Schedulers => schedulers(output),
            Part::Machines => machines(output),
            _ => metrics(output),
        };
    };
    writeln!(output, "{}", part.title(keys))?;
    for form in forms {
        item(output, &form.to_string(), &[form.meaning, form.source])?;
    }
    Ok(())
}

fn strategies(output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "Strategies (--strategy)")?;
    for kind in StrategyKind::ALL {
        let info = kind.info();
        let names: Vec<_> = std::iter::once(&info.name)
            .chain(info.aliases)
            .copied()
            .collect();
        let complete = if info.complete {
            "complete (finds a place whenever one exists)"
        } else {
            "may overlook a free place"
        };
        let contiguous = if info.holds.is_contiguous() {
            "contiguous"
        } else {
            "non-contiguous"
        };
        let built = if info.built {
            ""
        } else {
            ", left out of this build"
        };
        let serves = kind.serves();
        let parameters = match &strategy_parameters(*kind)[..] {
            [] => String::new(),
            parameters => format!("; parameters: {}", parameters.join(", ")),
        };
        let properties = format!("for {serves}: {contiguous}, {complete}{built}{parameters}");
        item(output, &names.join(", "), &[&properties, info.source])?;
    }
    Ok(())
}

fn schedulers(output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "Schedulers (--scheduler)")?;
    for info in SchedulerKind::INFO {
        let written = format!("Written {}.", any_of(info.forms));
        item(output, info.name, &[info.meaning, &written, info.source])?;
    }
    Ok(())
}

pub(crate) fn presets() -> impl Iterator<Item = Described> {
    let presets = Description::PRESETS.into_iter();
    presets.filter_map(|name| Some(Described::new(name, Description::preset(name)?)))
}

fn machines(output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "Machines (--machine)")?;
    for preset in presets() {
        let text = preset.to_string();
        let rules = text.split_once(", ").map_or("", |(_, rules)| rules);
        item(output, &preset.name, &[rules])?;
    }
    Ok(())
}

fn metrics(output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "Metrics")?;
    for metric in Metric::ALL {
        let unit = format!("Unit: {}.", metric.unit().words());
        item(
            output,
            metric.name(),
            &[metric.meaning(), &unit, metric.source()],
        )?;
    }
    Ok(())
}

/// What may follow the strategy's name and a colon.
pub(crate) fn strategy_parameters(kind: StrategyKind) -> Vec<&'static str> {
    let forms = kind.info().forms.iter();
    let parts = forms.filter_map(|form| form.text.split_once(':'));
    parts.map(|(_, parameters)| parameters).collect()
}

fn item(output: &mut dyn Write, name: &str, texts: &[&str]) -> io::Result<()> {
    writeln!(output, "  {name}")?;
    let width = tables::width().min(WIDTH_MAX).saturating_sub(6);
    for text in texts.iter().filter(|text| !text.is_empty()) {
        for line in wrapped(text, width) {
            writeln!(output, "      {line}")?;
        }
    }
    Ok(())
}
