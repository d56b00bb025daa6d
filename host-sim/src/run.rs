//! `run`: one scenario, one report.

use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use meshalloc::{Configuration, StrategyKind};

use crate::backend::line::LineBackends;
use crate::backend::{Backend, BackendError, Backends, InProcessBackends};
use crate::cli::Failure;
use crate::experiment::{self, Progress};
use crate::report::{Report, Timing};
use crate::scenario::{BackendChoice, Format, Scenario};
use crate::workload::Workload;

/// Runs a scenario and writes its report.
///
/// # Errors
///
/// When it cannot be run, or the report cannot be written.
pub(crate) fn run(scenario: &Scenario, output: &mut dyn Write) -> Result<(), Failure> {
    let experiment = scenario.experiment()?;
    let mut line = match &scenario.backend {
        BackendChoice::InProcess => None,
        BackendChoice::Line(endpoint) => {
            Some(LineBackends::open(endpoint).map_err(|error| error.to_string())?)
        }
    };
    let mut in_process = InProcessBackends::default();
    let mut timed = Timed {
        inner: match &mut line {
            Some(line) => line,
            None => &mut in_process,
        },
        runs: Vec::new(),
    };
    let bar = Bar::new(None);
    let results = experiment::run(&experiment, &mut timed, &bar);
    bar.clear();
    let results = results.map_err(|error| error.to_string())?;
    let runs = timed.runs;
    let timing = |strategy: StrategyKind| Timing {
        elapsed: (runs.iter().filter(|run| run.0 == strategy).map(|run| run.1)).sum(),
        round_trips: line.as_ref().map(|line| line.round_trips(strategy)),
    };
    let timings: Vec<_> = results
        .iter()
        .map(|result| timing(result.strategy))
        .collect();
    let report = Report {
        scenario,
        log: match &experiment.workload {
            Workload::Log(log) => Some(log),
            Workload::Synthetic(_) => None,
        },
        controller: line.as_ref().map(|line| {
            let greeting = line.greeting();
            format!("meshalloc {} for {}", greeting.software, greeting.build)
        }),
        results: &results,
        timings: &timings,
    };
    match scenario.format {
        Format::Table => report.table(output)?,
        Format::Json => report.json(output)?,
    }
    Ok(())
}

/// Backends with a clock beside them.
struct Timed<'b> {
    inner: &'b mut dyn Backends,
    /// Every run and how long it took.
    runs: Vec<(StrategyKind, Duration)>,
}

impl Backends for Timed<'_> {
    fn with(
        &mut self,
        configuration: Configuration,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let mut elapsed = Duration::ZERO;
        self.inner.with(configuration, &mut |backend| {
            let begin = Instant::now();
            body(backend);
            elapsed = begin.elapsed();
        })?;
        self.runs.push((configuration.strategy, elapsed));
        Ok(())
    }
}

/// A progress bar on standard error, if that is a terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// Whether the number of jobs is known, and not to be learned from the experiment.
    length_known: bool,
}

impl Bar {
    /// A bar for so many jobs; `None` for as many as the experiment says that begins.
    pub(crate) fn new(jobs: Option<u64>) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let bar = ProgressBar::with_draw_target(Some(jobs.unwrap_or(0)), target);
        let template = "{wide_bar} {human_pos}/{human_len} jobs, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Bar {
            bar,
            length_known: jobs.is_some(),
        }
    }

    /// Takes it off the screen.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, runs_max: u64, jobs_per_run: u64) {
        if !self.length_known {
            self.bar.inc_length(runs_max * jobs_per_run);
        }
    }

    fn advance(&self, jobs: u64) {
        self.bar.inc(jobs);
    }
}
