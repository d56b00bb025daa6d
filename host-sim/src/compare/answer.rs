//! The last lines of `compare`: a sentence with its answer, and a command that goes on from there.

use std::env;
use std::io::{self, Write};

use super::CompareArgs;
use crate::failure::command_line;
use crate::measured::Measured;
use crate::printable::printable;
use crate::settings::Takes;
use crate::study::{Point, Study};
use crate::tables::width;
use crate::view::ViewArgs;
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::results::{grows, is_comparable};
use meshalloc_sim::statistics::Estimate;
use meshalloc_sim::wording::{alone, wrapped};
use meshalloc_sim::workload::{TimeUnit, Workload};

/// The factor by which the next command has more replications or jobs, if these were too few.
const MORE: u32 = 4;

pub(super) fn write_answer(
    args: &CompareArgs,
    study: &Study,
    measured: &Measured,
    output: &mut dyn Write,
) -> io::Result<()> {
    if study.unit() == TimeUnit::Cycle {
        return Ok(());
    }
    let answer = Answer {
        args,
        study,
        measured,
    };
    let pair = answer.pair();
    let (sentence, next) = match &pair {
        Some(pair) => (Some(answer.sentence(pair)), answer.after(pair)),
        None => answer.without(),
    };
    writeln!(output)?;
    if let Some(sentence) = sentence {
        writeln!(output, "{}", wrapped(&sentence, width()).join("\n"))?;
    }
    let log = study.first().workload.log();
    // Standard input was read, and cannot be read again.
    if log.is_none_or(|log| log.path.as_os_str() != "-") {
        writeln!(output, "next: {}", printable(&next))?;
    }
    Ok(())
}

/// The shortest and the longest mean waiting delay among points that differ in other axes than the
/// first.
struct Pair<'r> {
    shorter: Waiting<'r>,
    longer: Waiting<'r>,
}

struct Waiting<'r> {
    point: &'r Point,
    result: &'r StrategyResult,
    estimate: Estimate,
}

/// The difference between the two means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Difference {
    /// The intervals of the means have no value in common, or both means are of the same log.
    Clear,
    Overlap,
    /// The means have no intervals, since there is one replication.
    Unknown,
}

impl Pair<'_> {
    fn difference(&self) -> Difference {
        let intervals = [&self.shorter, &self.longer].map(|it| it.estimate.ci95);
        match intervals {
            [Some(shorter), Some(longer)] if shorter.high < longer.low => Difference::Clear,
            [Some(_), Some(_)] => Difference::Overlap,
            _ if self.shorter.result.is_of_log => Difference::Clear,
            _ => Difference::Unknown,
        }
    }
}

/// A number with as few digits as a reader keeps in mind.
fn rough(value: f64) -> String {
    match value {
        10.0.. => format!("{value:.0}"),
        0.1..10.0 => format!("{value:.1}"),
        _ => alone(value),
    }
}

type Candidate<'a> = (&'a Point, &'a StrategyResult);

struct Answer<'a> {
    args: &'a CompareArgs,
    study: &'a Study,
    measured: &'a Measured,
}

impl<'a> Answer<'a> {
    /// Whether strategies are compared, at the first values of the other axes. If there is one
    /// strategy, the values of the other axes are compared.
    fn is_of_strategies(&self) -> bool {
        self.study.first().strategies.len() > 1
    }

    /// Whether only strategies that give a job one block are compared. This is so if there are
    /// several of them.
    fn is_of_blocks(&self) -> bool {
        let strategies = self.study.first().strategies.iter();
        let blocks = strategies.filter(|kind| kind.holds().is_contiguous());
        blocks.count() > 1
    }

    /// The candidates that are compared with each other, by the value of the first axis.
    fn rows(&self) -> Vec<Vec<Candidate<'a>>> {
        let mut rows: Vec<(&str, Vec<Candidate<'a>>)> = Vec::new();
        let has_loads = self.study.given.axes().next();
        let has_loads =
            has_loads.is_some_and(|axis| ["load", "log-load"].contains(&axis.setting.key));
        for (point, results) in self.study.points.iter().zip(&self.measured.results) {
            let value = point.label.first().filter(|_| has_loads);
            let value = value.map_or("", |(_, value)| &**value);
            let is_candidate = |result: &&StrategyResult| {
                !self.is_of_blocks() || result.strategy.holds().is_contiguous()
            };
            let candidates = results.iter().filter(is_candidate);
            let candidates = candidates.map(|result| (point, result));
            match rows.iter_mut().find(|(known, _)| *known == value) {
                Some((_, row)) if !self.is_of_strategies() => row.extend(candidates),
                Some(_) => {}
                None => rows.push((value, candidates.collect())),
            }
        }
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// The shortest and the longest mean of the row in which the most means can be compared. If
    /// several rows have as many, the last of them counts.
    fn pair(&self) -> Option<Pair<'a>> {
        let waiting = |(point, result): Candidate<'a>| {
            let estimate = result.metrics[Metric::WaitingDelay].filter(|_| is_comparable(result));
            Some(Waiting {
                point,
                result,
                estimate: estimate?,
            })
        };
        let all = self.rows().into_iter().map(|row| {
            let mut waiting: Vec<_> = row.into_iter().filter_map(waiting).collect();
            waiting.sort_by(|a, b| a.estimate.mean.total_cmp(&b.estimate.mean));
            waiting
        });
        let mut waiting = all.max_by_key(Vec::len)?;
        let longer = waiting.pop()?;
        let shorter = (!waiting.is_empty()).then(|| waiting.swap_remove(0))?;
        Some(Pair { shorter, longer })
    }

    fn name(&self, waiting: &Waiting<'_>) -> String {
        if self.is_of_strategies() {
            waiting.result.strategy.to_string()
        } else {
            let is_load = |key: &str| ["load", "log-load"].contains(&key);
            let others = waiting.point.label.iter().filter(|(key, _)| !is_load(key));
            let values: Vec<_> = others.map(|(_, value)| &**value).collect();
            values.join(" ")
        }
    }

    fn sentence(&self, pair: &Pair<'_>) -> String {
        let [shorter, longer] = [&pair.shorter, &pair.longer];
        let (size, unit) = TimeUnit::Second.readable(longer.estimate.mean);
        let [short, long] = [shorter, longer].map(|it| {
            let mean = rough(it.estimate.mean / size);
            format!("{mean} {unit} under {}", self.name(it))
        });
        let begin = match self.study.load_of(shorter.point) {
            Some(load) => format!("At load {load}"),
            None => "Here".to_owned(),
        };
        let under = if self.is_of_strategies() {
            names::scheduler_text(shorter.result.scheduler, TimeUnit::Second)
        } else {
            shorter.result.strategy.to_string()
        };
        let mut strategies = self.study.first().strategies.iter();
        let is_scattered = strategies.any(|kind| !kind.holds().is_contiguous());
        let blocks = if self.is_of_blocks() && is_scattered {
            "; strategies that give a job one block"
        } else {
            ""
        };
        let times = longer.estimate.mean / shorter.estimate.mean;
        let times = match times {
            ..1.05 => ", nearly as long".to_owned(),
            _ if times.is_finite() => format!(", {} times as long", rough(times)),
            _ => String::new(),
        };
        let text = match pair.difference() {
            Difference::Clear => format!("jobs wait {short}, {long}{times}"),
            Difference::Overlap => {
                format!("the waits overlap in their 95 % intervals: {short}, {long}")
            }
            Difference::Unknown => {
                format!("jobs wait {short}, {long}, in one replication, which has no interval")
            }
        };
        format!("{begin} {text} ({under}{blocks}).")
    }

    /// Clear differences are worth a look; others need more replications.
    fn after(&self, pair: &Pair<'_>) -> String {
        let [shorter, longer] = [&pair.shorter, &pair.longer];
        let strategies = if self.is_of_strategies() {
            format!("{},{}", shorter.result.strategy, longer.result.strategy)
        } else {
            shorter.result.strategy.to_string()
        };
        let mut over = vec![("strategy", strategies)];
        if pair.difference() == Difference::Clear || shorter.result.is_of_log {
            over.extend(pairs(shorter.point));
            return self.command::<ViewArgs>("view", &over);
        }
        let both = pairs(shorter.point).into_iter().zip(pairs(longer.point));
        over.extend(both.map(|((key, one), (_, other))| {
            if one == other {
                (key, one)
            } else {
                (key, format!("{one},{other}"))
            }
        }));
        let replications = self.study.cases[0].scenario.settings.replications;
        let replications = replications.unwrap_or(1).saturating_mul(MORE);
        over.push(("replications", replications.to_string()));
        self.command::<CompareArgs>("compare", &over)
    }

    /// The answer if nothing was compared, or no two means can be compared.
    fn without(&self) -> (Option<String>, String) {
        let rows = self.rows();
        let mut candidates = rows.iter().flatten();
        let is_of_one = rows.iter().all(|row| row.len() < 2);
        let is_short = candidates.any(|(_, result)| grows(result, Metric::WaitingDelay));
        let sentence = (!is_of_one).then(|| {
            let why = if is_short {
                "the runs are too short, and their means grow with them (↑)"
            } else {
                "at each load all but one are saturated or have a mark"
            };
            format!("No answer: {why}.")
        });
        let any = self.study.first();
        let is_synthetic = matches!(any.workload, Workload::Synthetic(_));
        if !is_of_one && is_short && is_synthetic {
            let over = [("jobs", any.jobs.saturating_mul(MORE).to_string())];
            return (sentence, self.command::<CompareArgs>("compare", &over));
        }
        let mut over = pairs(&self.study.points[0]);
        let strategies = any.strategies.iter().map(ToString::to_string);
        over.push(("strategy", strategies.collect::<Vec<_>>().join(",")));
        (sentence, self.command::<ViewArgs>("view", &over))
    }

    fn command<O: Takes>(&self, name: &str, over: &[(&str, String)]) -> String {
        let program = env::args().next().unwrap_or_default();
        let mut words = vec![program, name.to_owned()];
        if let Some(path) = self.args.file.path() {
            words.extend(["--scenario".to_owned(), path.to_string_lossy().into_owned()]);
        }
        words.extend(self.args.settings.words::<O>(over));
        command_line(&words)
    }
}

/// The axes of a point, and their values there.
fn pairs(point: &Point) -> Vec<(&str, String)> {
    let pairs = point.label.iter();
    pairs.map(|(key, value)| (&**key, value.clone())).collect()
}
