//! `run`: one scenario, one report.

use std::io::Write;
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::{Arg, Args};
use meshalloc::{Configuration, Description, StrategyKind};

use crate::failure::{self, Failure};
use crate::line::LineBackends;
use crate::map::{self, LinkMap, Plot, Show};
use crate::outputs::{OutputArgs, Outputs};
use crate::plot::over_time;
use crate::policy::{self, PolicyArgs};
use crate::progress::Bar;
use crate::records::JobsFile;
use crate::report::{self, Timing};
use crate::settings::{self, FileArgs, Format, Given, Takes, ThreadsArgs};
use crate::study::command::ShowArgs;
use crate::study::{KeepArgs, Measured, Study};
use crate::view;
use meshalloc_sim::backend::{Backend, BackendError, Backends, InProcessBackends};
use meshalloc_sim::experiment::{self, Experiment, StrategyResult};
use meshalloc_sim::history::Recording;

/// The error when the clock would be around a line.
const SEARCH_TIME_NEEDS_IN_PROCESS: &str = "--search-time is the controller's own time (expected --backend in-process; over a line, the \
     table has round trip times)";

/// The error when runs would have to share a line.
const THREADS_NEED_IN_PROCESS: &str =
    "--threads requires --backend in-process: a line serves one run at a time";

/// The options of `run`.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    file: FileArgs,

    #[command(flatten)]
    policy: PolicyArgs,

    #[command(flatten)]
    options: Given<Self>,

    #[command(flatten)]
    show: ShowArgs,

    #[command(flatten)]
    outputs: OutputArgs,

    #[command(flatten)]
    threads: ThreadsArgs,

    #[command(flatten)]
    keep: KeepArgs,

    /// Also measure the wall-clock time of the controller for submit and release of a job; only in
    /// this process, in one thread unless --threads is given
    #[arg(long, help_heading = "Where and how")]
    search_time: bool,
}

impl Takes for RunArgs {
    fn take(arg: Arg) -> Option<Arg> {
        Some(arg)
    }
}

pub(crate) fn run(args: &RunArgs, output: &mut dyn Write) -> Result<(), Failure> {
    if args.policy.is_given() {
        return Err(policy::run());
    }
    args.keep.check()?;
    let study = Study::new(args.options.over(args.file.path())?, &|_| Ok(()))?;
    let study = study.in_time_unit(args.show.time_unit)?;
    let scenario = &study.cases[0].scenario;
    let experiment = &study.points[0].experiment;
    let replace = args.keep.replace;
    let mut outputs = args
        .outputs
        .open(&study.files(), args.file.path(), replace)?;
    args.check_one(&study, &outputs)?;
    let plot = outputs.plot();
    let drawn = outputs.metric(study.metrics()[0]);
    study.check_drawn(drawn)?;
    let threads = args.threads.count;
    let endpoint = settings::endpoint_of(scenario)?;
    if threads.is_some() && endpoint.is_some() {
        return Err(THREADS_NEED_IN_PROCESS.to_owned().into());
    }
    if args.search_time && endpoint.is_some() {
        return Err(SEARCH_TIME_NEEDS_IN_PROCESS.to_owned().into());
    }
    if let Some(plot) = plot {
        check_plot(plot, experiment)?;
    }
    let format = args.show.format.get();
    let on_terminal = format == Format::Table;
    let show = match plot {
        None => None,
        Some(plot) => Some(Show::of(outputs.picture.take(), plot, on_terminal)?),
    };
    let page = outputs.page.as_deref();
    let page = page.map(|path| view::Page::open(path, scenario, experiment, replace));
    let page = page.transpose()?;
    let line = endpoint.map(|endpoint| LineBackends::open(&endpoint));
    let mut line = line.transpose().map_err(|error| error.to_string())?;
    let jobs = outputs.jobs.as_deref();
    let jobs = jobs.map(|path| JobsFile::open(path, replace, experiment));
    let jobs = jobs.transpose()?;
    let clock = Clock::default();
    let is_recorded = show.is_some() || page.is_some();
    let recording = is_recorded.then(Recording::default);
    let bar = Bar::interruptible()?.recording(jobs.as_ref(), recording.as_ref());
    let measured = match &mut line {
        Some(line) => {
            let ran = experiment::run(experiment, &mut clock.time(line), &bar);
            bar.clear();
            let (results, incomplete) = failure::complete(ran.map(|results| vec![results]))?;
            Some(Measured {
                results,
                incomplete,
                ..Measured::default()
            })
        }
        None => {
            // Concurrent runs would disturb the measurement.
            let alone = args.search_time.then_some(NonZero::<usize>::MIN);
            let threads = threads.or(alone);
            let in_process = InProcessBackends {
                timed: args.search_time,
                ..InProcessBackends::default()
            };
            let backends = || clock.time(in_process);
            study.measure(&args.keep, threads, &backends, &bar, output)?
        }
    };
    let Some(mut measured) = measured else {
        return Ok(());
    };
    let runs = clock.runs();
    let timing = |result: &StrategyResult| {
        let replications = 0..result.runs.len() as u32;
        let mut configured: Vec<_> = replications
            .map(|replication| {
                experiment
                    .configuration(result.strategy, replication)
                    .strategy
            })
            .collect();
        configured.dedup();
        let runs = runs.iter().filter(|run| configured.contains(&run.0));
        Timing {
            elapsed: runs.map(|run| run.1).sum(),
            round_trips: line.as_ref().map(|line| line.round_trips(&configured)),
        }
    };
    // With `--save`, an earlier command may have run the point: its time is not known.
    if let ([results], None) = (&measured.results[..], &args.keep.save) {
        measured.timings = Some(results.iter().map(timing).collect());
    }
    measured.controller = line.as_ref().map(|line| {
        let greeting = line.greeting();
        format!("meshalloc {} for {}", greeting.software, greeting.build)
    });
    let results = &measured.results[0];
    let write = |format: Format, output: &mut dyn Write| {
        study.show(format, &args.show, study.metrics(), &measured, output)
    };
    write(format, output)?;
    if let (true, Some(kept)) = (on_terminal, &measured.kept) {
        writeln!(output, "{kept}")?;
    }
    let written = outputs.write_results(&write);
    let recorded = jobs.as_ref().map_or(Ok(()), |jobs| jobs.finish(results));
    if let Some(mut incomplete) = measured.incomplete {
        if let Err(reason) = recorded {
            incomplete.reason = format!("{}; --output: {reason}", incomplete.reason);
        }
        return Err(incomplete.behind_results());
    }
    let recorded = recorded.map_err(Failure::from);
    let done = written.and(recorded);
    done.map_err(|failure| failure.after_results(&"--output"))?;
    for line in outputs
        .lines()
        .chain(jobs.as_ref().map(JobsFile::line))
        .filter(|_| on_terminal)
    {
        writeln!(output, "{line}")?;
    }
    if let Some((file, metric)) = outputs.picture.as_ref().zip(drawn) {
        let drawn = study.draw(metric, &measured, file);
        drawn.map_err(|failure| failure.after_results(&"--output"))?;
        if on_terminal {
            writeln!(output, "{}", file.line("picture"))?;
        }
    }
    if plot.is_none() && page.is_none() {
        return Ok(());
    }
    let histories = recording
        .unwrap_or_default()
        .histories(experiment, results)?;
    if let Some((plot, show)) = plot.zip(show) {
        let subtitle = report::subtitle(scenario);
        let drawn = match plot {
            Plot::Map(moment) => {
                let maps = map::maps(experiment, &histories, moment);
                maps.map_err(Failure::from)
                    .and_then(|maps| show.maps(&maps, &subtitle, output))
            }
            Plot::Links => {
                let drawn = map::svg::svg(&map::link_maps(&histories), &subtitle);
                show.drawn(plot.kind(), drawn, output)
            }
            Plot::Timeline => {
                let drawn = over_time::timeline(&histories, &subtitle);
                show.drawn(plot.kind(), drawn, output)
            }
        };
        drawn.map_err(|failure| failure.after_results(&format_args!("--draw {plot}")))?;
    }
    if let Some(page) = page {
        let line = page.write(&histories);
        let line = line.map_err(|failure| failure.after_results(&"--output"))?;
        if on_terminal {
            writeln!(output, "{line}")?;
        }
    }
    Ok(())
}

impl RunArgs {
    /// An error about an option of single runs where there are several points, or where their
    /// results are kept.
    fn check_one(&self, study: &Study, outputs: &Outputs) -> Result<(), String> {
        let backend = settings::endpoint_of(&study.cases[0].scenario)?;
        let option = match outputs.of_one_run() {
            Some(option) => Some(option),
            None if self.search_time => Some("--search-time".to_owned()),
            None => backend.map(|_| "--backend".to_owned()),
        };
        if let Some(option) = option {
            if self.keep.save.is_some() {
                return Err(format!("{option} runs all points (expected no --save)"));
            }
            if let Some(axis) = study.given.axes().next() {
                let (key, count) = (axis.setting.key, axis.values.len());
                return Err(format!(
                    "{option} takes one point, and {key} has {count} values (expected one)"
                ));
            }
        }
        Ok(())
    }
}

/// Checks what is known of a picture before the runs.
fn check_plot(plot: Plot, experiment: &Experiment) -> Result<(), String> {
    match plot {
        Plot::Map(moment) => map::check(moment, experiment),
        Plot::Links if experiment.workload.messages().is_none() => Err(map::NO_LINKS.to_owned()),
        Plot::Links => LinkMap::check(experiment.machine),
        Plot::Timeline => Ok(()),
    }
}

#[derive(Default)]
struct Clock(Mutex<Vec<(StrategyKind, Duration)>>);

impl Clock {
    fn time<B: Backends>(&self, backends: B) -> Timed<'_, B> {
        Timed {
            inner: backends,
            clock: self,
        }
    }

    fn runs(&self) -> MutexGuard<'_, Vec<(StrategyKind, Duration)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Timed<'c, B> {
    inner: B,
    clock: &'c Clock,
}

impl<B: Backends> Backends for Timed<'_, B> {
    fn with(
        &mut self,
        configuration: Configuration,
        description: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let mut elapsed = Duration::ZERO;
        self.inner
            .with(configuration, description, &mut |backend| {
                let begin = Instant::now();
                body(backend);
                elapsed = begin.elapsed();
            })?;
        self.clock.runs().push((configuration.strategy, elapsed));
        Ok(())
    }
}
