//! The steps of `run`, `compare` and `saturation`: a study, from its settings to what is shown.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;

use super::frame::Frame;
use super::single::{RunOutputs, SingleArgs};
use super::{KeepArgs, Study};
use crate::completion::{Known, metrics};
use crate::failure::Failure;
use crate::file::Output;
use crate::measured::Measured;
use crate::outputs::OutputArgs;
use crate::progress::Bar;
use crate::records::JobsFile;
use crate::settings::{Format, FormatArgs, ThreadsArgs};
use crate::tables::TimeChoice;
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::scenario::{self, Scenario, SettingError};
use meshalloc_sim::simulation::RunResult;

/// How results are shown.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    format: FormatArgs,

    /// Only these metrics, separated by commas; `host-sim list metrics` lists them [default: in
    /// tables those that the workload is about and the one of the picture, in files all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = Known { parser: names::metric, values: metrics() }, hide_possible_values = true, help_heading = "Where and how")]
    pub(crate) metrics: Vec<Metric>,

    /// The unit of times in tables and pictures: s, min, h or d; files of numbers have seconds
    /// [default: s; for a log the unit in which numbers are short]
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
    /// The metric of the picture, unless `--draw` names another one; the tables show it, too.
    /// `None`: the metric of the first table.
    pub(crate) draw: Option<Metric>,
    pub(crate) table: Option<Table>,
    /// Its last lines; with some, the tables fill on a terminal while it runs.
    pub(crate) answer: Option<&'p Lines<'p>>,
    /// The option of `run`, which alone has outputs of single runs.
    pub(crate) single: Option<SingleArgs>,
}

pub(crate) type Lines<'p> = dyn Fn(&Study, &Measured, &mut dyn Write) -> io::Result<()> + 'p;

impl StudyArgs {
    /// Measures the study of these settings, perhaps from a scenario file, and shows it.
    pub(crate) fn carry_out(
        &self,
        given: scenario::Study,
        file: Option<&Path>,
        preset: &Preset<'_>,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        let (show, keep, threads) = (&self.show, &self.keep, self.threads);
        keep.check()?;
        let study = Study::new(given, preset.fill, show.time_unit)?;
        let outputs = &self.outputs;
        let outputs = outputs.open(&study.files(), file, keep.replace)?;
        match (preset.single, outputs.of_one_run()) {
            (Some(args), _) => args.check(&study, &outputs, keep, threads)?,
            (None, Some(option)) => {
                return Err(
                    format!("{option} is of single runs (expected the command run)").into(),
                );
            }
            (None, None) => {}
        }
        let drawn = outputs.metric(preset.draw.unwrap_or(study.metrics()[0]));
        study.check_drawn(drawn)?;
        let format = show.format.get();
        let on_terminal = format == Format::Table;
        let single = RunOutputs::open(&study, &outputs, keep.replace, on_terminal)?;
        let has_frame = preset.answer.is_some() && keep.save.is_none();
        let frame = has_frame.then(|| Frame::new(&study));
        let after = |place, strategy, run: &RunResult| frame.as_ref()?.after(place, strategy, run);
        let bar = Bar::interruptible()?;
        let bar = bar.recording(single.jobs.as_ref(), single.recording.as_ref());
        let bar = match &frame {
            Some(frame) => bar.below(frame.first(), &after),
            None => bar,
        };
        let measured = match preset.single {
            Some(args) => args.measure(&study, keep, threads, &bar, output)?,
            None => {
                let backends = InProcessBackends::default;
                study.measure(keep, threads.count, &backends, &bar, output)?
            }
        };
        let Some(measured) = measured else {
            return Ok(());
        };

        // The files come before the lines about them.
        let draw = |(file, metric): (&Output, Metric)| {
            let drawn = study.draw(metric, &measured, file);
            drawn.map(|()| file.line("picture"))
        };
        let picture = outputs.picture.as_ref().zip(drawn);
        let picture = picture.filter(|_| measured.incomplete.is_none());
        let picture = picture.map(draw).transpose();
        let record = |jobs: &JobsFile<'_>| jobs.finish(&measured.results[0]).map(|()| jobs.line());
        let recorded = single.jobs.as_ref().map(record).transpose();
        let mut metrics = study.metrics().to_vec();
        metrics.extend(drawn.or(preset.draw));
        let metrics = names::each_once(metrics);
        let write = |format: Format, output: &mut dyn Write| {
            study.show(format, show, &metrics, &measured, output)
        };
        let written = outputs.write_results(&write);
        match preset.table {
            Some(table) if on_terminal && study.points.len() == 1 => {
                table(&study, &measured, output)?;
            }
            // For one point, too.
            _ if on_terminal && preset.answer.is_some() => {
                study.tables(&show.metrics(&metrics), &measured, output)?;
            }
            _ => write(format, output)?,
        }
        if on_terminal {
            let results = outputs.lines().filter(|_| written.is_ok());
            let jobs = recorded.iter().flatten().cloned();
            let picture = picture.iter().flatten().cloned();
            for line in results
                .chain(jobs)
                .chain(picture)
                .chain(measured.kept.clone())
            {
                writeln!(output, "{line}")?;
            }
            if let (Some(answer), None) = (preset.answer, &measured.incomplete) {
                answer(&study, &measured, output)?;
            }
        }
        let failed = [
            written.err(),
            recorded.err().map(Failure::from),
            picture.err(),
        ];
        let failed = failed.iter().flatten();
        let failed = failed.filter_map(|failure| failure.ending().1);
        let failed = failed.collect::<Vec<_>>().join("; ");
        if let Some(mut incomplete) = measured.incomplete {
            if !failed.is_empty() {
                incomplete.reason += &format!("; --output: {failed}");
            }
            return Err(incomplete.behind_results());
        }
        if !failed.is_empty() {
            return Err(Failure::from(failed).after_results(&"--output"));
        }
        single.draw(&measured.results[0], on_terminal, output)
    }
}
