//! The common part of `compare` and `saturation`: a study with default values and a picture.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;

use super::frame::Frame;
use super::{KeepArgs, Measured, Study};
use crate::completion::{Known, metrics};
use crate::failure::Failure;
use crate::outputs::OutputArgs;
use crate::progress::Bar;
use crate::settings::{FileArgs, Format, FormatArgs, ThreadsArgs};
use crate::tables::TimeChoice;
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::scenario::{self, Scenario, SettingError};

/// How results are shown.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,

    /// Only these metrics, separated by commas; `host-sim list metrics` lists them [default: in
    /// tables those that the workload is about, in files all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = Known { parser: names::metric, values: metrics() }, hide_possible_values = true, help_heading = "Where and how")]
    pub(crate) metrics: Vec<Metric>,

    /// The unit of times in tables and pictures: s, min, h or d; files of numbers have seconds
    /// [default: s; of a log one in which numbers are short]
    #[arg(
        long,
        value_name = "UNIT",
        value_enum,
        hide_possible_values = true,
        help_heading = "Where and how"
    )]
    pub(crate) time_unit: Option<TimeChoice>,

    /// In CSV one row for each point and strategy, with the metrics as columns [default: one row
    /// for each metric]
    #[arg(long, help_heading = "Where and how")]
    pub(crate) wide: bool,
}

impl ShowArgs {
    /// The chosen metrics, or else these.
    pub(crate) fn metrics(&self, default: &[Metric]) -> Vec<Metric> {
        if self.metrics.is_empty() {
            default.to_vec()
        } else {
            names::each_once(self.metrics.iter().copied())
        }
    }
}

/// The options of a study, beside its settings.
#[derive(Args, Clone, Debug)]
pub(crate) struct StudyArgs {
    #[command(flatten)]
    file: FileArgs,

    #[command(flatten)]
    show: ShowArgs,

    #[command(flatten)]
    outputs: OutputArgs,

    #[command(flatten)]
    threads: ThreadsArgs,

    #[command(flatten)]
    keep: KeepArgs,
}

/// A table of a command for a study of one point.
pub(crate) type Table = fn(&Study, &Measured, &mut dyn Write) -> Result<(), Failure>;

/// The parts that a command adds to a study.
pub(crate) struct Preset<'p> {
    /// Adds settings that depend on the machine.
    pub(crate) fill: &'p dyn Fn(&mut Scenario) -> Result<(), SettingError>,
    /// The metric of its picture, unless --draw names another.
    pub(crate) draw: Metric,
    pub(crate) table: Option<Table>,
    /// Its last lines; with some, the tables fill on a terminal while it runs.
    pub(crate) answer: Option<&'p Lines<'p>>,
}

pub(crate) type Lines<'p> = dyn Fn(&Study, &Measured, &mut dyn Write) -> io::Result<()> + 'p;

impl StudyArgs {
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.path()
    }

    /// Measures the study of these settings, and shows it.
    pub(crate) fn carry_out(
        &self,
        given: scenario::Study,
        preset: &Preset<'_>,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        self.keep.check()?;
        let study = Study::new(given, preset.fill)?.in_time_unit(self.show.time_unit)?;
        let outputs = &self.outputs;
        let outputs = outputs.open(&study.files(), self.file(), self.keep.replace)?;
        if let Some(option) = outputs.of_one_run() {
            return Err(format!("{option} is of single runs (expected the command run)").into());
        }
        let metric = outputs.metric(preset.draw);
        study.check_drawn(metric)?;
        let metric = metric.unwrap_or(preset.draw);
        let file = outputs.picture.as_ref();
        let frame = Frame::new(&study);
        let bar = Bar::interruptible()?;
        let bar = if preset.answer.is_some() && self.keep.save.is_none() {
            bar.below(&frame)
        } else {
            bar
        };
        let backends = InProcessBackends::default;
        let measured = study.measure(&self.keep, self.threads.count, &backends, &bar, output)?;
        let Some(measured) = measured else {
            return Ok(());
        };
        // Before the results, which name it only if it is there.
        let drawn = file.filter(|_| measured.incomplete.is_none());
        let draw = |file| study.draw(metric, &measured, file).map(|()| file);
        let drawn = drawn.map(draw).transpose();
        let write = |format: Format, output: &mut dyn Write| {
            study.show(format, &self.show, study.metrics(), &measured, output)
        };
        let written = outputs.write_results(&write);
        let format = self.show.format.get();
        let mut metrics = study.metrics().to_vec();
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
        match preset.table {
            Some(table) if format == Format::Table && study.points.len() == 1 => {
                table(&study, &measured, output)?;
            }
            // Also of one point.
            _ if format == Format::Table && preset.answer.is_some() => {
                study.tables(&self.show.metrics(&metrics), &measured, output)?;
            }
            _ => study.show(format, &self.show, &metrics, &measured, output)?,
        }
        if format == Format::Table {
            let drawn = drawn.as_ref().ok().copied().flatten();
            let drawn = drawn.map(|file| file.line("picture"));
            let results = outputs.lines().filter(|_| written.is_ok());
            for line in results.chain(drawn).chain(measured.kept.clone()) {
                writeln!(output, "{line}")?;
            }
            if let (Some(answer), true) = (preset.answer, measured.incomplete.is_none()) {
                answer(&study, &measured, output)?;
            }
        }
        if let Some(incomplete) = measured.incomplete {
            return Err(incomplete.behind_results());
        }
        let done = written.and(drawn.map(|_| ()));
        done.map_err(|failure| failure.after_results(&"--output"))
    }
}
