//! The parts of `run` for a study of one point: outputs of single runs, search times, a board.

use std::io::Write;
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use meshalloc::{Configuration, Description, StrategyKind};

use super::{KeepArgs, Study};
use crate::failure::{self, Failure};
use crate::file::ReplaceArgs;
use crate::line::LineBackends;
use crate::map::{self, Plot, Show};
use crate::measured::{Measured, Timing};
use crate::outputs::Outputs;
use crate::plot::over_time;
use crate::progress::Bar;
use crate::records::JobsFile;
use crate::report;
use crate::settings::{self, ThreadsArgs};
use crate::view;
use meshalloc_sim::backend::{Backend, BackendError, Backends, InProcessBackends};
use meshalloc_sim::experiment::{self, StrategyResult};
use meshalloc_sim::history::Recording;

/// The error when the clock would be around a line.
const SEARCH_TIME_NEEDS_IN_PROCESS: &str = "--search-time is the controller's own time (expected --backend in-process; over a line, the \
     table has round trip times)";

/// The error when runs would have to share a line.
const THREADS_NEED_IN_PROCESS: &str =
    "--threads requires --backend in-process: a line serves one run at a time";

/// The option `--search-time`, for a study of one point.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SingleArgs {
    /// Also measure the wall-clock time of the controller for submit and release of a job; only in
    /// this process, in one thread unless --threads is given
    #[arg(long, help_heading = "Where and how")]
    search_time: bool,
}

impl SingleArgs {
    /// Checks that an option of single runs has one point, whose results are not kept, and that
    /// `--threads` and `--search-time` have a controller in this process.
    pub(crate) fn check(
        self,
        study: &Study,
        outputs: &Outputs,
        keep: &KeepArgs,
        threads: ThreadsArgs,
    ) -> Result<(), String> {
        let backend = settings::endpoint_of(&study.cases[0].scenario)?;
        let is_line = backend.is_some();
        let option = match outputs.of_one_run() {
            Some(option) => Some(option),
            None if self.search_time => Some("--search-time".to_owned()),
            None => backend.map(|_| "--backend".to_owned()),
        };
        if let Some(option) = option {
            if keep.save.is_some() {
                return Err(format!("{option} runs all points (expected no --save)"));
            }
            if let Some(axis) = study.given.axes().next() {
                let (key, count) = (axis.setting.key, axis.values.len());
                return Err(format!(
                    "{option} takes one point, and {key} has {count} values (expected one)"
                ));
            }
        }
        if is_line && threads.count.is_some() {
            return Err(THREADS_NEED_IN_PROCESS.to_owned());
        }
        if is_line && self.search_time {
            return Err(SEARCH_TIME_NEEDS_IN_PROCESS.to_owned());
        }
        Ok(())
    }

    /// Runs the points on the controller that their settings name. A single point that is not kept
    /// comes with the times that its runs took.
    pub(crate) fn measure(
        self,
        study: &Study,
        keep: &KeepArgs,
        threads: ThreadsArgs,
        bar: &Bar<'_>,
        output: &mut dyn Write,
    ) -> Result<Option<Measured>, Failure> {
        let endpoint = settings::endpoint_of(&study.cases[0].scenario)?;
        let mut line = endpoint.as_ref().map(LineBackends::open).transpose()?;
        let times = RunTimes::default();
        let measured = match &mut line {
            Some(line) => {
                let ran = experiment::run(study.first(), &mut times.timed(line), bar);
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
                let alone = self.search_time.then_some(NonZero::<usize>::MIN);
                let threads = threads.count.or(alone);
                let in_process = InProcessBackends {
                    timed: self.search_time,
                    ..InProcessBackends::default()
                };
                study.measure(keep, threads, &|| times.timed(in_process), bar, output)?
            }
        };
        let Some(mut measured) = measured else {
            return Ok(None);
        };
        // With `--save`, an earlier command may have run the point: its time is not known.
        if let ([results], None) = (&measured.results[..], &keep.save) {
            let timing = |result| times.timing(study, result, line.as_ref());
            measured.timings = Some(results.iter().map(timing).collect());
        }
        measured.controller = line.as_ref().map(|line| {
            let greeting = line.greeting();
            format!("meshalloc {} for {}", greeting.software, greeting.build)
        });
        Ok(Some(measured))
    }
}

/// The outputs that show single runs: a file of jobs, and a picture and a page of the first
/// replications.
pub(crate) struct RunOutputs<'s> {
    study: &'s Study,
    plot: Option<(Plot, Show<'s>)>,
    page: Option<view::Page<'s>>,
    pub(crate) jobs: Option<JobsFile<'s>>,
    /// The first replications, if an output shows them.
    pub(crate) recording: Option<Recording>,
}

impl<'s> RunOutputs<'s> {
    /// Checks before the runs whether the outputs can be made.
    pub(crate) fn open(
        study: &'s Study,
        outputs: &'s Outputs,
        replace: ReplaceArgs,
        on_terminal: bool,
    ) -> Result<Self, String> {
        let (scenario, experiment) = (&study.cases[0].scenario, study.first());
        let plot = outputs.plot().map(|plot| {
            map::check(plot, experiment)?;
            let show = Show::of(outputs.picture.as_ref(), plot, on_terminal)?;
            Ok::<_, String>((plot, show))
        });
        let plot = plot.transpose()?;
        // These make the folders of their files.
        let page = outputs.page.as_deref();
        let page = page.map(|path| view::Page::open(path, scenario, experiment, replace));
        let page = page.transpose()?;
        let jobs = outputs.jobs.as_ref();
        let jobs = jobs.map(|(path, form)| JobsFile::open(path, *form, replace, experiment));
        let jobs = jobs.transpose()?;
        let is_recorded = plot.is_some() || page.is_some();
        Ok(RunOutputs {
            study,
            plot,
            page,
            jobs,
            recording: is_recorded.then(Recording::default),
        })
    }

    /// Draws the picture and writes the page.
    pub(crate) fn draw(
        self,
        results: &[StrategyResult],
        on_terminal: bool,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        let Some(recording) = self.recording else {
            return Ok(());
        };
        let experiment = self.study.first();
        let histories = recording.histories(experiment, results)?;
        if let Some((plot, show)) = self.plot {
            let subtitle = report::subtitle(&self.study.cases[0].scenario);
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
        if let Some(page) = self.page {
            let line = page.write(&histories);
            let line = line.map_err(|failure| failure.after_results(&"--output"))?;
            if on_terminal {
                writeln!(output, "{line}")?;
            }
        }
        Ok(())
    }
}

/// The time that each run took, with the strategy of its controller.
#[derive(Default)]
struct RunTimes(Mutex<Vec<(StrategyKind, Duration)>>);

impl RunTimes {
    fn timed<B: Backends>(&self, backends: B) -> Timed<'_, B> {
        Timed {
            inner: backends,
            times: self,
        }
    }

    fn runs(&self) -> MutexGuard<'_, Vec<(StrategyKind, Duration)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of all runs of a strategy, which may have another seed in each replication.
    fn timing(
        &self,
        study: &Study,
        result: &StrategyResult,
        line: Option<&LineBackends>,
    ) -> Timing {
        let replications = 0..result.runs.len() as u32;
        let configured = replications.map(|replication| {
            let experiment = study.first();
            let configuration = experiment.configuration(result.strategy, replication);
            configuration.strategy
        });
        let mut configured: Vec<_> = configured.collect();
        configured.dedup();
        let runs = self.runs();
        let runs = runs.iter().filter(|run| configured.contains(&run.0));
        Timing {
            elapsed: runs.map(|run| run.1).sum(),
            round_trips: line.map(|line| line.round_trips(&configured)),
        }
    }
}

/// Backends that note how long each run takes.
struct Timed<'t, B> {
    inner: B,
    times: &'t RunTimes,
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
        self.times.runs().push((configuration.strategy, elapsed));
        Ok(())
    }
}
