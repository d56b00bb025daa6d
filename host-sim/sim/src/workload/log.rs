//! A log as a workload: its jobs as they are, stretched to a load, resampled by weeks, in shapes.
//!
//! A log is measured whole. Its jobs keep their submit times, counted from the log's zero or from
//! the beginning of a window, and their run times.
//!
//! The offered load is a ratio: the processor seconds of all jobs that the machine can hold, over
//! the processor seconds of the machine from the first submit time to the last. With [`Log::load`]
//! all submit times are multiplied by one factor, so that the offered load becomes that load.
//!
//! # Resampling
//!
//! A log is one path, and a mean over it has no interval. With [`Resample::Weeks`] each replication
//! is made of as many weeks as the log has whole ones, drawn with replacement and put one after the
//! other: the bootstrap by blocks that do not overlap (E. Carlstein, "The use of subseries values
//! for estimating the variance of a general statistic from a stationary sequence", Annals of
//! Statistics 14(3), 1986). A block of a week keeps the daily and the weekly cycle, as do N. Zakay
//! and D. Feitelson, "Workload resampling for performance evaluation of parallel job schedulers",
//! Concurrency and Computation: Practice and Experience 26(12), 2014, who resample the jobs of
//! single users. Weeks are counted from the first submit time, or from the beginning of the window;
//! the incomplete week at the end is not used. The load is then that of all whole weeks.
//!
//! The standard deviation of the replications is itself the standard error of the log's mean, and
//! more replications do not narrow an interval: [`Sampling::Resampled`]. Dependence over more than
//! a week is lost: a log whose load rises over months has replications in which it does not.
//!
//! A week without jobs is drawn like any other. If only such weeks are drawn, the replication
//! cannot be simulated, and all weeks are drawn again from the same stream. With `e` such weeks of
//! `k` this has the probability `(e / k)^k`. So the mean offered load of a replication is the load
//! of all whole weeks times `1 / (1 - (e / k)^k)`: 1.33 with one of two, 1.004 with four of eight.
//!
//! Random numbers of the weeks have source 23, those of drawn shapes 24.

use serde::Serialize;
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use meshalloc::{Class, Grid, MESH_SIDE_MAX, Request, Shape, Ticks};
use rand_distr::{StandardUniform, Uniform};

use super::log_job::{LogJob, LogOptions, Owner};
use super::shape::near_cubic;
use super::stream::Stream;
use super::work::DRAWS;
use super::{EstimateModel, Job, Jobs, LineCounts, Messages, TIME_MAX, TimeUnit, Work};
use crate::error::SettingError;
use crate::names::named;
use crate::statistics::Sampling;
use crate::wording::{Number, counted};

/// The numbers of the sources of weeks and of drawn shapes.
const WEEKS: u8 = 23;
const SHAPES: u8 = 24;

/// A week, in ticks.
pub const WEEK: Ticks = 7 * 24 * 60 * 60 * TimeUnit::Second.ticks_each();

/// The least number of whole weeks to draw from.
pub const WEEKS_MIN: usize = 2;

/// The fields of a log's header that are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogHeader {
    /// `Computer` in the header: the machine.
    pub computer: Option<String>,
    /// `Installation` in the header: where the machine is.
    pub installation: Option<String>,
    /// The lines `Acknowledge` in the header: whom to acknowledge where results are published.
    pub acknowledge: Vec<String>,
    /// `MaxProcs`, as it is written.
    #[serde(skip)]
    pub max_procs: Option<String>,
    /// `MaxNodes`, as it is written.
    #[serde(skip)]
    pub max_nodes: Option<String>,
    /// Whether `Preemption` is `Double`: parts of a job have lines beside that of the job.
    #[serde(skip)]
    pub is_double: bool,
    /// `UnixStartTime` in the header: the Unix time of the log's zero, in seconds. Add it, and
    /// [`LogOptions::from`] if given, to a job's time for Unix time, unless [`Log::load`] or
    /// [`Log::resample`] changes the times.
    #[cfg_attr(
        feature = "schema",
        schemars(
            description = "`UnixStartTime` in the header: the Unix time of the log's zero, in seconds. \
                       Add it, and `from` if given, to a job's time for Unix time, unless \
                       `log_load` or `resample` changes the times."
        )
    )]
    pub unix_start_time: Option<i64>,
    /// `TimeZoneString` in the header: the time zone of the machine, such as `Europe/Paris`.
    pub time_zone: Option<String>,
}

impl LogHeader {
    /// The number of processors of the logged machine, and its field: `MaxProcs`, else `MaxNodes`.
    pub fn processors(&self) -> Option<(&'static str, u32)> {
        let fields = [("MaxProcs", &self.max_procs), ("MaxNodes", &self.max_nodes)];
        let known = |(name, value): (_, &Option<String>)| Some((name, leading(value.as_ref()?)?));
        fields.into_iter().find_map(known)
    }
}

/// The number over 0 that a value of the header begins with; a remark may follow.
pub(super) fn leading<T: FromStr + PartialOrd + From<u8>>(value: &str) -> Option<T> {
    let digits = value.split(|sign: char| !sign.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|number| *number > T::from(0))
}

/// A log, ready to be simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Log {
    /// Where it was read from; not serialised, as header and jobs: results depend on jobs' content.
    #[serde(skip)]
    pub path: PathBuf,
    /// The options it was read with.
    pub options: LogOptions,
    /// The machine that its jobs are for.
    pub machine: Grid,
    /// Processors that the machine lacks ([`Description::absent`](meshalloc::Description::absent)).
    pub absent: u32,
    /// Its header.
    #[serde(skip)]
    pub header: Arc<LogHeader>,
    /// Its lines.
    pub lines: LineCounts,
    /// Whether other data follows the gzip data of the file. It was not read.
    #[serde(skip)]
    pub has_more: bool,
    /// The jobs in order of arrival; at least one once it [was read](Log::unread).
    #[serde(skip)]
    pub jobs: Arc<Vec<LogJob>>,
    /// The end of the time in which all arrivals are known, counted as arrivals are.
    pub end: Ticks,
    /// The offered load to which submit times are stretched; `None`: they stay as they are.
    pub load: Option<f64>,
    /// How replications differ; `None` if there is only one.
    pub resample: Option<Resample>,
    /// The messages that the log's jobs send in place of running for their run times.
    pub messages: Option<LogMessages>,
    /// The run-time estimate of each request.
    pub estimates: EstimateModel,
}

/// How replications of a log are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Resample {
    /// Replications are made of whole weeks.
    Weeks,
}

named!(Resample, "resampling": Weeks = "weeks");

impl Resample {
    /// How the replications of a log are made; `None` is a log that is not resampled.
    pub const fn sampling(this: Option<Self>) -> Sampling {
        match this {
            Some(Resample::Weeks) => Sampling::Resampled,
            None => Sampling::Independent,
        }
    }
}

/// What the jobs of a log send.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LogMessages {
    /// The messages; the pattern of a job follows from its place in the order of arrival.
    pub messages: Messages,
    /// The seconds of a job's run time for one iteration; the quotient is rounded to the nearest
    /// whole number, at least one. `None`: each job has the number of iterations in `messages`.
    pub seconds_per_iteration: Option<f64>,
    /// The cycles of the network between two jobs that were submitted a second apart.
    pub cycles_per_second: f64,
}

/// Jobs of a log that arrive in a part of its time. They keep their order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    /// Which of the log's jobs.
    jobs: Range<usize>,
    /// When the part begins in the log.
    begin: Ticks,
    /// When the part begins in the workload.
    at: Ticks,
}

impl Log {
    /// A log in this file whose jobs were not read yet: it has none.
    pub fn unread(path: PathBuf, options: LogOptions, machine: Grid) -> Self {
        Log {
            path,
            options,
            machine,
            header: Arc::default(),
            lines: LineCounts::default(),
            has_more: false,
            jobs: Arc::default(),
            end: 0,
            load: None,
            resample: None,
            messages: None,
            estimates: EstimateModel::Log,
            absent: 0,
        }
    }

    /// The offered load on the machine as the log is, without stretching; see the module. `None`
    /// where all jobs arrive at once or nothing runs.
    pub fn offered_load(&self) -> Option<f64> {
        let (jobs, span) = match self.resample {
            Some(Resample::Weeks) => {
                let weeks = self.whole_weeks();
                let jobs = weeks.first()?.start..weeks.last()?.end;
                (&self.jobs[jobs], weeks.len() as u64 * WEEK)
            }
            None => (&self.jobs[..], self.span()),
        };
        let work = jobs
            .iter()
            .filter(|job| job.processors <= self.machine.nodes());
        let work = work.map(|job| u128::from(job.processors) * u128::from(job.run_time));
        let there_is = u128::from(self.machine.nodes() - self.absent) * u128::from(span);
        let load = work.sum::<u128>() as f64 / there_is as f64;
        (load.is_finite() && load > 0.0).then_some(load)
    }

    fn largest(&self) -> u32 {
        let sizes = self.jobs.iter().map(|job| job.processors);
        sizes.max().unwrap_or_default()
    }

    /// In words, the processors of the logged machine if they are known, else of the largest job.
    pub fn processors_text(&self) -> String {
        match self.header.processors() {
            Some((name, count)) => format!("the log has {name} {count}"),
            None => format!(
                "its largest job has {}",
                counted(self.largest(), "processor")
            ),
        }
    }

    /// The Unix time, in whole seconds, of an arrival; `None` if the header has no beginning.
    pub fn unix_time(&self, time: Ticks) -> Option<i64> {
        let ticks = self.options.from.unwrap_or(0).saturating_add(time);
        let seconds = ticks / TimeUnit::Second.ticks_each();
        self.header.unix_start_time?.checked_add_unsigned(seconds)
    }

    /// When a job arrived by the clock of the logged machine, in RFC 3339, or in UTC where the time
    /// zone is not known. `None` if the header has no beginning.
    #[cfg(feature = "files")]
    pub fn date(&self, job: &LogJob) -> Option<String> {
        let zone = self.header.time_zone.as_deref();
        super::date::local(self.unix_time(job.arrival)?, zone)
    }

    /// The sides of a mesh for these processors: the most square one that has exactly as many, else
    /// the smallest nearly square one that has more. `None` if no mesh has as many.
    pub fn fitting_mesh(&self) -> Option<Shape> {
        let processors = self.header.processors();
        let processors = processors.map(|(_, count)| self.options.nodes(count));
        let processors = processors.unwrap_or_else(|| self.largest());
        let side = |processors: u32| {
            u16::try_from(processors)
                .ok()
                .filter(|&side| side <= MESH_SIDE_MAX)
        };
        let longest = u32::from(MESH_SIDE_MAX).min(processors.isqrt());
        let shorter = (1..=longest)
            .rev()
            .find(|&shorter| processors.is_multiple_of(shorter))?;
        match side(processors / shorter) {
            Some(longer) => Some(Shape::sides(side(shorter)?, longer)),
            None => near_cubic(processors, &[MESH_SIDE_MAX; 2]),
        }
    }

    /// The time from the first submit time to the last, in ticks.
    pub fn span(&self) -> Ticks {
        match &self.jobs[..] {
            [first, .., last] => last.arrival - first.arrival,
            _ => 0,
        }
    }

    /// For each whole week its jobs, by place.
    pub fn whole_weeks(&self) -> Vec<Range<usize>> {
        let begin = self.first_week();
        let count = self.end.saturating_sub(begin) / WEEK;
        let at = |week| {
            let is_before = |job: &LogJob| job.arrival < begin + week * WEEK;
            self.jobs.partition_point(is_before)
        };
        (0..count).map(|week| at(week)..at(week + 1)).collect()
    }

    fn first_week(&self) -> Ticks {
        match self.options.from {
            Some(_) => 0,
            None => self.jobs.first().map_or(0, |job| job.arrival),
        }
    }

    fn stretch(&self) -> Result<f64, SettingError> {
        let Some(load) = self.load else {
            return Ok(1.0);
        };
        let bad = |expected: &str| {
            SettingError::out_of_range("the load of the log", &["log-load"], Number(load), expected)
        };
        if !(load.is_finite() && load > 0.0) {
            return Err(bad("a number over 0"));
        }
        if self.messages.is_some() {
            return Err(bad(
                "none where jobs send messages, whose load is not known beforehand; the number of cycles in a second stretches the log",
            ));
        }
        let offered = self.offered_load().ok_or_else(|| {
            bad("none: the log offers no load, as all jobs arrive at once or nothing runs")
        })?;
        let factor = offered / load;
        let end = self.end.max(self.weeks_end()) as f64;
        if end * factor >= TIME_MAX as f64 {
            let least = offered * end / TIME_MAX as f64;
            return Err(bad(&format!(
                "over {least:e}: the log would last longer than is simulated"
            )));
        }
        Ok(factor)
    }

    /// When the last week of a replication ends.
    fn weeks_end(&self) -> Ticks {
        self.end.saturating_sub(self.first_week()) / WEEK * WEEK
    }

    /// Whether each replication has jobs of its own.
    pub const fn is_resampled(&self) -> bool {
        self.resample.is_some()
    }

    /// The parts of the log that make up a replication.
    fn parts(&self, seed: u64, replication: u32) -> Result<Vec<Part>, SettingError> {
        let Some(Resample::Weeks) = self.resample else {
            return Ok(vec![Part {
                jobs: 0..self.jobs.len(),
                begin: 0,
                at: 0,
            }]);
        };
        let weeks = self.whole_weeks();
        let bad = |what: &str, given: usize, least: usize| {
            let expected = format!("at least {least}, or the log as it is");
            SettingError::out_of_range(what, &["resample"], given, expected)
        };
        if weeks.len() < WEEKS_MIN {
            let what = "the number of whole weeks to resample";
            return Err(bad(what, weeks.len(), WEEKS_MIN));
        }
        if weeks.iter().all(Range::is_empty) {
            return Err(bad("the number of jobs in whole weeks to resample", 0, 1));
        }
        let any = Uniform::new(0, weeks.len()).expect("there are weeks");
        let mut source = Stream::new(seed, replication, WEEKS).with(any);
        loop {
            let parts = (0..weeks.len() as u64).map(|place| {
                let week: usize = source.draw();
                Part {
                    jobs: weeks[week].clone(),
                    begin: self.first_week() + week as u64 * WEEK,
                    at: place * WEEK,
                }
            });
            let parts: Vec<Part> = parts.collect();
            // With jobs in a single one of k weeks (1 - 1/k)^k of the draws have none, less than
            // 1/e.
            if parts.iter().any(|part| !part.jobs.is_empty()) {
                return Ok(parts);
            }
        }
    }

    /// The number of jobs of a replication; an error when there are too few weeks to resample.
    pub fn job_count(&self, seed: u64, replication: u32) -> Result<u32, SettingError> {
        let parts = self.parts(seed, replication)?;
        let count: usize = parts.iter().map(|part| part.jobs.len()).sum();
        // A number that is too large to be simulated stays too large.
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// The log's number of the job in this place of the order of arrival; resampled, a unique one.
    pub fn job_number(&self, place: u32) -> i64 {
        match self.resample {
            None => self.jobs[place as usize].number,
            Some(Resample::Weeks) => i64::from(place) + 1,
        }
    }

    /// Who submitted the job in this place of the order of arrival; not known if resampled.
    pub fn owner(&self, place: u32) -> Owner {
        match self.resample {
            None => self.jobs[place as usize].owner,
            Some(Resample::Weeks) => Owner::UNKNOWN,
        }
    }

    /// The jobs of one replication, in order of arrival.
    ///
    /// # Errors
    ///
    /// When the log cannot be stretched or resampled as asked, or the model of estimates cannot be
    /// used.
    pub fn jobs(&self, seed: u64, replication: u32) -> Result<Jobs<'_>, SettingError> {
        self.estimates.check(self.messages.is_none(), true)?;
        let parts = self.parts(seed, replication)?;
        let stretch = self.stretch()?;
        let mut requests = self.requests(Stream::new(seed, replication, SHAPES));
        let mut draws = Stream::new(seed, replication, DRAWS).with(StandardUniform);
        let mut estimator = self.estimates.estimator(seed, replication)?;
        let entries = parts.into_iter().flat_map(|Part { jobs, begin, at }| {
            let entries = self.jobs[jobs].iter();
            entries.map(move |entry| (entry, at + (entry.arrival - begin)))
        });
        let jobs = (0..).zip(entries).map(move |(place, (entry, arrival))| {
            let arrival = match self.load {
                None => arrival,
                Some(_) => (arrival as f64 * stretch).round() as Ticks,
            };
            let (arrival, priority, work) = match &self.messages {
                None => (arrival, entry.priority, Work::Service(entry.run_time)),
                Some(sent) => {
                    let cycles = |time| {
                        let cycles = TimeUnit::Second.of(time) * sent.cycles_per_second;
                        TimeUnit::Cycle.ticks(cycles)
                    };
                    let work = sent.work(place, draws.draw(), entry.run_time);
                    (cycles(arrival), cycles(entry.priority), work)
                }
            };
            // A build without priorities reads none.
            let class = Class::new(priority, entry.is_preemptible).unwrap_or_default();
            let request = requests(entry).with_class(class);
            estimator.estimated(Job {
                arrival,
                request,
                work,
            })
        });
        Ok(Box::new(jobs))
    }

    /// A function that makes the request of each job in turn.
    fn requests(&self, Stream(mut rng): Stream) -> impl FnMut(&LogJob) -> Request {
        let (rule, machine) = (self.options.shape, self.machine);
        // The requests by number of processors, if that number determines the shape.
        let mut known = HashMap::new();
        move |entry| {
            let processors = entry.processors;
            let mut shaped = || {
                let request = rule.request(processors, machine, &mut rng);
                request.expect("reading the log has seen to it")
            };
            let request = match entry.shape {
                Some(shape) => Request::new(shape)
                    .with_processors(processors / entry.slices.get())
                    .with_slices(entry.slices),
                None if rule.is_fixed() => *known.entry(processors).or_insert_with(shaped),
                None => shaped(),
            };
            let request = request.with_flags(request.flags | entry.flags);
            let request = request.with_tolerance(entry.tolerance);
            match entry.requested_time {
                Some(time) => request.with_estimate(time),
                None => request,
            }
        }
    }
}

impl LogMessages {
    /// What the job in this place of the order of arrival sends.
    fn work(&self, place: u32, draw: u32, run_time: Ticks) -> Work {
        let mut program = self.messages.program(place, draw);
        if let Some(each) = self.seconds_per_iteration {
            // A number too large becomes the largest.
            let iterations = (TimeUnit::Second.of(run_time) / each).round() as u32;
            program.iterations = iterations.max(1);
        }
        Work::Messages(program)
    }
}
