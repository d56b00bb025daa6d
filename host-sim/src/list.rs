//! `list`: what there is to choose from, and where it comes from.

use std::io::{self, Write};

use meshalloc::scheduler::SchedulerInfo;
use meshalloc::{SchedulerKind, StrategyKind};
use serde_json::{Value, json};

use crate::identity::{PROGRAM, VERSION};
use crate::metrics::Metric;
use crate::scenario::Format;
use crate::workload::distributions::DistributionInfo;
use crate::workload::{
    CountDistribution, EstimateModel, Pattern, ServiceDistribution, ShapeRule, SizeDistribution,
    TaskDistribution,
};

/// Columns of a terminal.
const WIDTH: usize = 80;

/// Writes the list.
///
/// # Errors
///
/// When `output` does not take it.
pub fn list(format: Format, output: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Table => text(output),
        Format::Json => {
            serde_json::to_writer_pretty(&mut *output, &json())?;
            writeln!(output)
        }
    }
}

fn text(output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "Strategies (--strategy)")?;
    for kind in StrategyKind::ALL {
        let info = kind.info();
        let names: Vec<_> = std::iter::once(&info.name)
            .chain(info.aliases)
            .copied()
            .collect();
        let complete = if info.complete {
            "recognises completely"
        } else {
            "does not recognise completely"
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
        item(output, &names.join(", "), &properties, info.source)?;
    }
    writeln!(output, "\nSchedulers (--scheduler)")?;
    for info in SchedulerKind::INFO {
        item(
            output,
            info.name,
            &scheduler_parameters(info).join(", "),
            info.source,
        )?;
    }
    for (title, infos) in [
        (
            "Distributions of side lengths (--sizes)",
            SizeDistribution::LIST,
        ),
        (
            "Distributions of service times (--service)",
            ServiceDistribution::LIST,
        ),
        (
            "Distributions of dimensions and radices on a cube (--dims, --radices)",
            TaskDistribution::LIST,
        ),
        (
            "Communication patterns of jobs that send messages (--pattern)",
            Pattern::LIST,
        ),
        (
            "Distributions of numbers of processors (--task-processors)",
            CountDistribution::LIST,
        ),
        ("Estimates of run times (--estimates)", EstimateModel::LIST),
    ] {
        writeln!(output, "\n{title}")?;
        for info in infos {
            item(output, info.name, info.meaning, info.source)?;
        }
    }
    writeln!(output, "\nMetrics")?;
    for metric in Metric::ALL {
        item(output, metric.name(), metric.meaning(), "")?;
    }
    writeln!(output, "\nShapes of a log's jobs (--shape)")?;
    for rule in ShapeRule::LIST {
        item(output, rule.name, rule.meaning, rule.source)?;
    }
    Ok(())
}

/// What follows the colon in each of these forms, where there is one.
fn parameters(forms: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
    let forms = forms.into_iter().filter_map(|form| form.split_once(':'));
    forms.map(|(_, parameters)| parameters).collect()
}

/// What may follow the strategy's name and a colon.
fn strategy_parameters(kind: StrategyKind) -> Vec<&'static str> {
    parameters(kind.info().forms.iter().map(|form| form.text))
}

/// What may follow the scheduler's name and a colon.
fn scheduler_parameters(info: &SchedulerInfo) -> Vec<&'static str> {
    parameters(info.forms.iter().copied())
}

fn item(output: &mut dyn Write, name: &str, meaning: &str, source: &str) -> io::Result<()> {
    writeln!(output, "  {name}")?;
    for text in [meaning, source] {
        for line in wrapped(text, WIDTH - 6) {
            writeln!(output, "      {line}")?;
        }
    }
    Ok(())
}

/// The text in lines of at most `width` characters, except where a word is longer.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn json() -> Value {
    let strategies: Vec<_> = StrategyKind::ALL
        .iter()
        .map(|kind| {
            let info = kind.info();
            json!({
                "name": info.name,
                "aliases": info.aliases,
                "source": info.source,
                "serves": kind.serves().to_string(),
                "complete": info.complete,
                "contiguous": info.holds.is_contiguous(),
                "built": info.built,
                "parameters": strategy_parameters(*kind),
            })
        })
        .collect();
    let schedulers: Vec<_> = SchedulerKind::INFO
        .iter()
        .map(
            |info| json!({"name": info.name, "parameters": scheduler_parameters(info), "source": info.source}),
        )
        .collect();
    let distributions = |infos: &[DistributionInfo]| -> Vec<Value> {
        let info = |info: &DistributionInfo| json!({"name": info.name, "meaning": info.meaning, "source": info.source});
        infos.iter().map(info).collect()
    };
    let metrics: Vec<_> = Metric::ALL
        .into_iter()
        .map(|metric| json!({"name": metric.name(), "meaning": metric.meaning()}))
        .collect();
    json!({
        "program": PROGRAM,
        "version": VERSION,
        "strategies": strategies,
        "schedulers": schedulers,
        "sizes": distributions(SizeDistribution::LIST),
        "service": distributions(ServiceDistribution::LIST),
        "patterns": distributions(Pattern::LIST),
        "task_processors": distributions(CountDistribution::LIST),
        "estimates": distributions(EstimateModel::LIST),
        "dims": distributions(TaskDistribution::LIST),
        "radices": distributions(TaskDistribution::LIST),
        "shapes": distributions(ShapeRule::LIST),
        "metrics": metrics,
    })
}
