//! The output of `run`: a table for people, JSON for programs. A number that does not exist (the
//! interval of a single run, the mean delay of a saturated system) is `null` in JSON and a word in
//! the table.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::failure::Incomplete;
use crate::file;
use crate::identity::hash;
use crate::measured::{Measured, Timing};
use crate::tables::{
    TimeChoice, cell, cell_in, fits, legend, refused_percent, table, time_unit, trimmed,
};
use comfy_table::Table;
use meshalloc_sim::experiment::{Experiment, Replications, Stop, StrategyResult};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::parameters::{
    failures_text, log_text, measured_text, messages_text, misses_text, preemption_text,
    slowdown_text, workload_text,
};
use meshalloc_sim::results::{is_comparable, shown};
use meshalloc_sim::scenario::{Resolved, Scenario};
use meshalloc_sim::simulation::PASSING_MAX;
use meshalloc_sim::statistics::Sampling;
use meshalloc_sim::wording::{counted, number};
use meshalloc_sim::workload::{Log, TimeUnit, Workload};

pub(crate) mod cells;
mod json;

#[cfg(feature = "reference")]
pub(crate) use json::RunDocument;
pub(crate) use json::{LogJson, write_json};

/// The report of a study of one point.
pub(crate) struct Report<'r> {
    /// The settings, with their defaults.
    pub(crate) settings: &'r Scenario,
    /// The experiment that was run, with the contents of its files.
    pub(crate) experiment: &'r Experiment,
    /// The unit of times in tables, if one is chosen.
    pub(crate) time_unit: Option<TimeChoice>,
    /// The metrics that are shown; if empty, those that the workload is about.
    pub(crate) metrics: &'r [Metric],
    pub(crate) measured: &'r Measured,
}

impl Report<'_> {
    fn workload(&self) -> &Workload {
        &self.experiment.workload
    }

    fn results(&self) -> &[StrategyResult] {
        &self.measured.results[0]
    }

    /// Each result, with the time that it took.
    fn timed(&self) -> impl Iterator<Item = (&StrategyResult, Option<&Timing>)> {
        let timing = |place| {
            self.measured
                .timings
                .as_ref()
                .map(|timings| &timings[place])
        };
        let results = self.results().iter().enumerate();
        results.map(move |(place, result)| (result, timing(place)))
    }

    /// Writes tables as wide as the terminal.
    pub(crate) fn table(&self, output: &mut dyn Write) -> io::Result<()> {
        writeln!(output, "{}", self.headline())?;
        if let Some(log) = self.workload().log() {
            write!(output, "{}", log_line(log))?;
            match log.offered_load() {
                Some(load) => writeln!(output, ", offered load {load:.3} as logged")?,
                None => writeln!(output)?,
            }
        }
        if let Some(controller) = &self.measured.controller {
            writeln!(output, "controller: {controller}")?;
        }
        for table in self.metric_tables(&self.metric_groups()) {
            writeln!(output, "\n{table}")?;
        }
        writeln!(output, "\n{}", trimmed(&self.runs_table()))?;
        for line in self.notes() {
            writeln!(output, "{line}")?;
        }
        if let Some(incomplete) = &self.measured.incomplete {
            let count = self.results()[0].runs.len();
            let line = incomplete_line(incomplete, &count.to_string());
            writeln!(output, "{line}")?;
        }
        Ok(())
    }

    /// Why jobs wait, where that is measured: what some job waits for.
    fn reasons(&self) -> Vec<Metric> {
        let is_found = |metric: &Metric| {
            let of = |result: &StrategyResult| result.metrics[*metric];
            let mut means = self.results().iter().filter_map(of);
            metric.needs() == Some("reasons") && means.any(|estimate| estimate.mean > 0.0)
        };
        Metric::ALL.into_iter().filter(is_found).collect()
    }

    /// Groups of metrics that belong together: the chosen ones, or else first those that the
    /// workload is about.
    fn metric_groups(&self) -> Vec<Vec<Metric>> {
        use Metric::*;
        if !self.metrics.is_empty() {
            return self.metrics.chunks(4).map(<[Metric]>::to_vec).collect();
        }
        let delays = [WaitingDelay, Turnaround, Utilization, AllocationMiss];
        let [internal, external] = [InternalFragmentation, ExternalFragmentation];
        let mut groups = if self.workload().time_unit() == TimeUnit::Cycle {
            vec![
                delays,
                [ServiceTime, MessageLatency, BlockedTime, Hops],
                [TurnaroundVariance, internal, external, CompletionTime],
            ]
        } else if self.workload().is_closed() {
            vec![
                [Utilization, CompletionTime, internal, external],
                [WaitingDelay, Turnaround, ServiceTime, AllocationMiss],
            ]
        } else {
            vec![
                delays,
                [TurnaroundVariance, ServiceTime, internal, external],
            ]
        };
        groups.push([WaitingMedian, WaitingP95, WaitingP99, BoundedSlowdown]);
        let mut strategies = self.results().iter().map(|result| result.strategy);
        if strategies.any(|strategy| !strategy.holds().is_contiguous()) {
            groups.push([Dispersal, Blocks, ContiguousShare, BoundingBoxShare]);
        }
        if self.experiment.failures.is_some() {
            groups.push([Availability, LostNodeHours, Restarts, RestartTime]);
        }
        let preempts = self
            .experiment
            .preemption
            .map(|_| [Preemptions, PreemptedNodeHours]);
        let reasons = self.reasons();
        let kills = self.experiment.switches.kill_at_estimate;
        let killed = if kills { vec![KilledShare] } else { Vec::new() };
        let groups = groups.into_iter().map(Vec::from);
        let preempts = preempts.map_or_else(Vec::new, Vec::from);
        let groups = groups.chain([reasons, killed, preempts]);
        groups.filter(|group| !group.is_empty()).collect()
    }

    /// The metrics in as few tables as fit: as many groups in each as there is room for, or parts
    /// of one. Next to the mean waiting delay is the number of refused jobs that it leaves out.
    fn metric_tables(&self, groups: &[Vec<Metric>]) -> Vec<String> {
        let any_refused = self
            .results()
            .iter()
            .any(|result| result.refused.total() > 0);
        let with_refused = |metric: Metric| any_refused && metric == Metric::WaitingDelay;
        let of = |metrics: &[Metric]| {
            let unit = self.workload().time_unit();
            let times = |metric| time_unit(metric, unit, self.time_unit, self.results().iter());
            let columns = metrics.iter().flat_map(|&metric| {
                let refused = with_refused(metric).then(|| "refused\njobs".to_owned());
                std::iter::once(metric.heading(times(metric).1)).chain(refused)
            });
            let mut table = table(std::iter::once("strategy".to_owned()).chain(columns));
            for result in self.results() {
                let values = metrics.iter().flat_map(|&metric| {
                    let refused = with_refused(metric).then(|| refused_text(result));
                    std::iter::once(cell_in(result, metric, times(metric).0)).chain(refused)
                });
                let row = std::iter::once(result.strategy.to_string()).chain(values);
                table.add_row(row);
            }
            trimmed(&table)
        };
        let mut tables = Vec::new();
        let mut left = groups;
        while let Some((first, others)) = left.split_first() {
            let mut counts = (1..=left.len()).rev();
            let together = counts.find_map(|count| {
                let table = of(&left[..count].concat());
                fits(&table).then_some((table, count))
            });
            match together {
                Some((table, count)) => {
                    tables.push(table);
                    left = &left[count..];
                }
                None => {
                    let parts = [2, 1].map(|count| first.chunks(count).map(of).collect::<Vec<_>>());
                    let [halves, singles] = parts;
                    let narrow = halves.iter().all(|table| fits(table));
                    tables.extend(if narrow { halves } else { singles });
                    left = others;
                }
            }
        }
        tables
    }

    fn headline(&self) -> String {
        let Experiment {
            scheduler,
            jobs,
            measure,
            backlog,
            slowdown_threshold,
            seed,
            ..
        } = self.experiment;
        let workload = self.workload();
        let slowdown = slowdown_text(*slowdown_threshold, workload.time_unit());
        let jobs = match workload {
            Workload::Synthetic(synthetic) => {
                let text = workload_text(synthetic, *backlog);
                let (counts, warmup) = measured_text(*measure);
                let jobs = if workload.is_closed() {
                    String::new()
                } else {
                    format!(", {} a run{warmup}", counted(*jobs, counts))
                };
                format!("seed {seed}{jobs}{slowdown}\n{text}")
            }
            Workload::Log(log) => {
                let mut text = format!("a log, {}, seed {seed}{slowdown}", log_text(log));
                if let Some(sent) = &log.messages {
                    let _ = write!(text, "\n{}", messages_text(&sent.messages));
                }
                text
            }
        };
        let scheduler = names::scheduler_text(*scheduler, self.workload().time_unit());
        let machine = machine_text(self.experiment);
        let interruptions = interruptions_text(self.experiment);
        format!("{machine}, {scheduler}, {jobs}{interruptions}")
    }

    fn runs_table(&self) -> Table {
        let mut timings = self.measured.timings.iter().flatten();
        let over_line = timings.any(|timing| timing.round_trips.is_some());
        let headers = ["strategy", "jobs", "runs", "decision hash"];
        let mut headers = headers.map(str::to_owned).to_vec();
        headers.extend(self.measured.timings.as_ref().map(|_| "jobs/s".to_owned()));
        let searched = |result: &StrategyResult| result.metrics[Metric::SearchTime].is_some();
        let any_searched = self.results().iter().any(searched);
        if any_searched {
            let unit = self.workload().time_unit();
            headers.push(Metric::SearchTime.heading(unit.symbol()));
        }
        if over_line {
            headers.extend(["round trip\n50 % (ms)", "99 %\n(ms)"].map(str::to_owned));
        }
        let mut table = table(headers);
        for (result, timing) in self.timed() {
            let mut row = vec![
                result.strategy.to_string(),
                result.served().to_string(),
                result.runs.len().to_string(),
                hash(result.decision_hash),
            ];
            row.extend(timing.map(|timing| {
                let rate = jobs_per_second(result, timing);
                rate.map_or("-".into(), |rate| format!("{rate:.0}"))
            }));
            if any_searched {
                row.push(cell(result, Metric::SearchTime));
            }
            if let Some(trips) = timing.and_then(|timing| timing.round_trips.as_ref()) {
                let mut trips = trips.clone();
                row.extend([0.5, 0.99].map(|quantile| {
                    let nanos = trips.quantile(quantile);
                    nanos.map_or("-".into(), |nanos| format!("{:.3}", nanos / 1e6))
                }));
            }
            table.add_row(row);
        }
        table
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(interval_note(self.results()).map(str::to_owned));
        notes.extend(legend(self.results().iter()));
        notes.extend(identical_text(self.results()));
        notes.extend(misses_text(self.experiment.scheduler).map(str::to_owned));
        notes.extend(best_gains(self.results()));
        for result in self.results() {
            let name = result.strategy;
            if result.metrics[Metric::WaitingAtEnd].is_some() {
                let waiting = cell(result, Metric::WaitingAtEnd);
                notes.push(format!("{name}: waiting at the last arrival: {waiting}."));
            }
            if result.metrics[Metric::LargestShare].is_some() {
                let [largest, free, share] = [
                    Metric::LargestSlice,
                    Metric::FreeProcessors,
                    Metric::LargestShare,
                ]
                .map(|metric| cell(result, metric));
                notes.push(format!(
                    "{name}: over time {free} processors are free, and the largest slice has \
                     {largest}, {share} %."
                ));
            }
            if result.saturated {
                let meaning = match (result.left_behind, result.has_delays) {
                    (0, true) => "the backlog grew; delays hold for these jobs only".to_owned(),
                    (0, false) if result.is_of_log => {
                        "the backlog grew; delays depend on where the log ends".to_owned()
                    }
                    (0, false) => {
                        "the backlog grew over the run; delays depend on its length".to_owned()
                    }
                    (left, _) => format!(
                        "jobs are passed without end; {} had not left when {PASSING_MAX} times as many later ones had passed",
                        counted(left, "measured job"),
                    ),
                };
                notes.push(format!("{name}: saturated, {meaning}."));
            }
            notes.extend(stop_text(result, self.experiment.replications));
            notes.extend(refused_texts(result));
            if result.table_limited > 0 {
                notes.push(format!(
                    "{name}: the controller's table was full {} while jobs could have been tried.",
                    counted(result.table_limited, "time")
                ));
            }
        }
        notes
    }
}

/// Why a strategy has no more replications, where an error was asked for.
pub(crate) fn stop_text(result: &StrategyResult, asked: Replications) -> Option<String> {
    let (error, target) = match asked {
        Replications::Fixed(_) => return None,
        Replications::UntilRelativeError { target, .. } => ("relative error", target),
        Replications::UntilAbsoluteError { target, .. } => ("utilization error", target),
    };
    let name = result.strategy;
    let runs = counted(result.runs.len(), "replication");
    match result.stop {
        Stop::ErrorReached => Some(format!(
            "{name}: the {error} is within {target} after {runs}."
        )),
        Stop::CapReached => Some(format!(
            "{name}: the {error} is still above {target} after {runs} (--max-replications)."
        )),
        Stop::Fixed | Stop::Saturated | Stop::Incomplete => None,
    }
}

/// How many jobs a strategy's runs refused, a line for each reason.
pub(crate) fn refused_texts(result: &StrategyResult) -> impl Iterator<Item = String> + use<'_> {
    result.refused.iter().map(|(reason, count)| {
        let (name, count) = (result.strategy, counted(count, "job"));
        format!("{name}: {count} refused: {}.", reason.name())
    })
}

/// The note if there is one run at each rate.
pub(crate) const ONE_REPLICATION: &str =
    "One replication has no interval: --replications 2 or more give one.";

/// The meaning of the numbers behind the means of these results, or why there are none.
pub(crate) fn interval_note<'r>(
    results: impl IntoIterator<Item = &'r StrategyResult>,
) -> Option<&'static str> {
    let longest = results.into_iter().max_by_key(|result| result.runs.len())?;
    match (longest.runs.len(), longest.sampling) {
        (0, _) => None,
        (1, Sampling::Independent) if longest.is_of_log => {
            Some("One run of a log has no interval: --resample weeks gives one.")
        }
        (1, _) => Some(ONE_REPLICATION),
        (_, sampling) => Some(sampling.interval_meaning()),
    }
}

/// The line that marks incomplete results; `count` is how many replications there are.
pub(crate) fn incomplete_line(incomplete: &Incomplete, count: &str) -> String {
    let reason = &incomplete.reason;
    format!("INCOMPLETE: {reason}\nReplications that all strategies completed: {count}.")
}

pub(crate) fn machine_text(experiment: &Experiment) -> String {
    let machine = experiment.machine;
    match &experiment.description {
        Some(description) => format!("{}: {machine}", description.name),
        None => machine.to_string(),
    }
}

/// What all pictures of a scenario's runs share, in a line. A log is named without its folder.
pub(crate) fn subtitle(scenario: &Resolved) -> String {
    let Experiment {
        workload,
        scheduler,
        backlog,
        seed,
        ..
    } = &scenario.plan;
    let scheduler = names::scheduler_text(*scheduler, workload.time_unit());
    let jobs = match workload {
        // The text has two lines for some workloads.
        Workload::Synthetic(workload) => workload_text(workload, *backlog).replace('\n', " "),
        Workload::Log(log) => format!("{}, {}", file::name(&log.path), log_text(log)),
    };
    let interruptions = interruptions_text(&scenario.plan);
    format!("{jobs}, {scheduler}{interruptions}, seed {seed}")
}

/// What interrupts jobs, in a few words.
fn interruptions_text(experiment: &Experiment) -> String {
    let failures = experiment.failures.as_ref();
    let preemption = preemption_text(experiment.preemption, failures.is_some());
    failures_text(failures) + &preemption
}

/// The strategies whose decisions are the same in all runs.
fn identical_text(results: &[StrategyResult]) -> Vec<String> {
    let mut alike: Vec<Vec<&StrategyResult>> = Vec::new();
    for result in results {
        let same = |group: &&mut Vec<&StrategyResult>| {
            let first = group[0];
            (first.decision_hash, first.decisions) == (result.decision_hash, result.decisions)
        };
        match alike.iter_mut().find(same) {
            Some(group) => group.push(result),
            None => alike.push(vec![result]),
        }
    }
    let groups = alike.iter().filter(|group| group.len() > 1);
    let text = |group: &Vec<&StrategyResult>| {
        let names: Vec<_> = group.iter().map(|it| it.strategy.to_string()).collect();
        format!("{}: identical decisions.", names.join(", "))
    };
    groups.map(text).collect()
}

/// How far the others are below the strategy with the longest comparable mean waiting delay.
fn best_gains(results: &[StrategyResult]) -> Vec<String> {
    let metric = Metric::WaitingDelay;
    let mean = |result: &StrategyResult| {
        let comparable = shown(result, metric).filter(|_| is_comparable(result));
        comparable.map(|estimate| estimate.mean)
    };
    let with_mean = results
        .iter()
        .filter_map(|result| Some((mean(result)?, result)));
    let Some((_, longest)) = with_mean.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Vec::new();
    };
    let others = results
        .iter()
        .filter(|result| result.strategy != longest.strategy && mean(result).is_some());
    others
        .filter_map(|result| {
            let gain = result.gain_over(longest, metric)?;
            let percent = number(&gain, 100.0);
            let (name, other) = (result.strategy, longest.strategy);
            Some(format!(
                "{name}: mean waiting delay {percent} % below {other}."
            ))
        })
        .collect()
}

pub(crate) fn log_line(log: &Log) -> String {
    let computer = log.header.computer.as_deref().unwrap_or("unknown machine");
    let mut line = format!(
        "log {}: {computer}, {}",
        log.path.display(),
        counted(log.jobs.len(), "job")
    );
    for (count, why) in log.lines.left_out() {
        let _ = write!(line, ", {count} {why}");
    }
    if log.has_more {
        line.push_str(", warning: other data behind the gzip data was not read");
    }
    line
}

fn jobs_per_second(result: &StrategyResult, timing: &Timing) -> Option<f64> {
    let rate = result.decisions as f64 / timing.elapsed.as_secs_f64();
    rate.is_finite().then_some(rate)
}

fn refused_text(result: &StrategyResult) -> String {
    match refused_percent(result) {
        Some(percent) => format!("{} ({percent})", result.refused.total()),
        None => "0".to_owned(),
    }
}
