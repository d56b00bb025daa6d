//! The log of a command: [`LogArgs`], the options of every command that runs one, and the [`LogSource`] that they come to.

use std::path::PathBuf;

use clap::Args;
use clap::builder::ValueHint;
use meshalloc::{Grid, NODES_MAX, Ticks};
use serde_json::Value;

use super::{MachineArgs, OptionError, needs};
use crate::names;
use crate::workload::{Log, LogOptions, Resample, ShapeRule, SharedLogs, TimeUnit};

/// Under which options about logs stand in the help.
pub(super) const HEADING: &str = "Workload log (in place of a synthetic workload)";

/// Which jobs of a log.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct WindowArgs {
    /// Only the log's jobs of this partition [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = partition, allow_negative_numbers = true, help_heading = HEADING)]
    pub partition: Option<i64>,

    /// Only the log's jobs submitted this long after the log's zero, or later: seconds, or a number with a unit, such as 90m,
    /// 12h, 30d or 4w. Times are then counted from there
    #[arg(long, value_name = "TIME", value_parser = names::span, allow_negative_numbers = true, help_heading = HEADING)]
    pub from: Option<Ticks>,

    /// Only the log's jobs submitted less than this after the log's zero, written like --from
    #[arg(long, value_name = "TIME", value_parser = names::span, allow_negative_numbers = true, help_heading = HEADING)]
    pub to: Option<Ticks>,
}

impl WindowArgs {
    /// What is to be taken from a log, near-square or near-cubic.
    ///
    /// # Errors
    ///
    /// When the window is empty.
    pub(crate) fn options(&self, machine: &Grid) -> Result<LogOptions, OptionError> {
        if let (Some(from), Some(to)) = (self.from, self.to)
            && to <= from
        {
            let [from, to] = [from, to].map(names::span_text);
            let reason = format!("`to` is {to}, not after `from`, {from} (expected a later time)");
            return Err(OptionError::new(&["to", "from"], reason));
        }
        Ok(LogOptions {
            partition: self.partition,
            from: self.from,
            to: self.to,
            limit: None,
            shape: ShapeRule::of(machine),
        })
    }
}

/// The log that is run.
#[derive(Args, Clone, Debug, Default)]
pub struct LogArgs {
    /// A log in the Standard Workload Format, plain or .gz, measured whole, on a machine that is
    /// named; - reads standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = HEADING,
        conflicts_with_all = ["sizes", "side_lengths", "dims", "radices", "load", "mean_service",
            "service", "residence"])]
    pub swf: Option<PathBuf>,

    /// Which of its jobs.
    #[command(flatten)]
    pub window: WindowArgs,

    /// Replications of a log: weeks, each is made of whole weeks of the log, drawn with replacement [default: the log is run
    /// once, as it is]
    #[arg(long, value_name = "BY", help_heading = HEADING)]
    pub resample: Option<Resample>,

    /// The rule that gives a number of processors a shape, of a log's jobs or with --task-processors: near-square, near-cubic,
    /// power-of-two, flat or drawn:DISTRIBUTION; `host-sim list` shows them [default: near-square on a two-dimensional mesh, else
    /// near-cubic]
    #[arg(long, value_name = "RULE", help_heading = HEADING)]
    pub shape: Option<ShapeRule>,
}

/// A log, and what is made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LogSource {
    /// The file; `-` is standard input.
    pub file: PathBuf,
    /// Which of its jobs, in which shapes.
    pub options: LogOptions,
    /// The offered load to which submit times are stretched.
    pub load: Option<f64>,
    /// How replications are made.
    pub resample: Option<Resample>,
    /// Whether the machine is named: the default one is not for logs.
    pub is_machine_named: bool,
}

impl LogArgs {
    /// The log for the machine of these options, its first `jobs` jobs, stretched to `load`; `None`
    /// if none is named.
    ///
    /// # Errors
    ///
    /// When the window is empty, the rule of shapes is not for the machine, or an option about logs was given without one.
    pub(crate) fn source(
        &self,
        machine: &MachineArgs,
        load: Option<f64>,
        jobs: Option<u32>,
    ) -> Result<Option<LogSource>, OptionError> {
        let Some(file) = &self.swf else {
            needs::LOGS.refuse([
                (self.window.partition.is_some(), "partition"),
                (self.window.from.is_some(), "from"),
                (self.window.to.is_some(), "to"),
                (load.is_some(), "log-load"),
                (self.resample.is_some(), "resample"),
            ])?;
            return Ok(None);
        };
        let is_machine_named = machine.is_named();
        let machine = machine.machine()?;
        let mut options = self.window.options(&machine)?;
        options.limit = jobs.map(|jobs| jobs as usize);
        options.shape = self.shape.unwrap_or(options.shape);
        let usable = options.shape.check(machine);
        usable.map_err(|reason| OptionError::unquoted(&["shape"], &reason))?;
        Ok(Some(LogSource {
            file: file.clone(),
            options,
            load,
            resample: self.resample,
            is_machine_named,
        }))
    }
}

impl LogSource {
    /// Options and their values, but for the machine.
    pub(crate) fn entries(&self) -> Vec<(&'static str, Value)> {
        let options = &self.options;
        let seconds = |ticks: Ticks| Value::from(TimeUnit::Second.of(ticks));
        let given = [
            ("partition", options.partition.map(Value::from)),
            ("from", options.from.map(seconds)),
            ("to", options.to.map(seconds)),
            ("jobs", options.limit.map(Value::from)),
            ("log-load", self.load.map(Value::from)),
            ("resample", self.resample.map(|by| by.to_string().into())),
        ];
        let given = given
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        let all = [
            ("swf", self.file.to_string_lossy().into()),
            ("shape", options.shape.to_string().into()),
        ];
        all.into_iter().chain(given).collect()
    }

    /// The log of `logs`; its jobs have run times.
    ///
    /// # Errors
    ///
    /// Those of [`Log::read`]; when the machine is not named, or none of the jobs fits on it.
    pub(crate) fn read(&self, machine: Grid, logs: &SharedLogs) -> Result<Log, OptionError> {
        let unquoted = |error| OptionError::unquoted(&["swf"], &error);
        let log = logs.read(&self.file, self.options, machine);
        let log = log.map_err(unquoted)?;
        if !self.is_machine_named {
            let path = log.path.display().to_string().replace('`', "'");
            let reason = format!(
                "{path}: no machine is named, and {} (expected `mesh`, `torus` or `cube`{})",
                log.processors_text(),
                match log.fitting_mesh() {
                    Some(sides) => format!(", such as `mesh` {sides}"),
                    None => format!("; machines have up to {NODES_MAX} processors"),
                }
            );
            return Err(OptionError::new(&["swf"], reason));
        }
        log.check_fits().map_err(unquoted)?;
        Ok(Log {
            load: self.load,
            resample: self.resample,
            ..log
        })
    }

    /// Whether jobs can be made of the log.
    ///
    /// # Errors
    ///
    /// When they cannot, with the name of the file.
    pub(crate) fn check(log: &Log, seed: u64) -> Result<(), OptionError> {
        let path = log.path.display();
        let usable = log.jobs(seed, 0);
        usable.map_err(|error| OptionError::of_file("swf", &path, error))?;
        Ok(())
    }
}

fn partition(text: &str) -> Result<i64, String> {
    names::value(text, "a whole number", |_| true)
}
