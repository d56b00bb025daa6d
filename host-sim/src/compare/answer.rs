//! The last lines of `compare`: a sentence with its answer, and a command that goes on from there.

use std::env;
use std::io::{self, Write};

use super::{Comparison, Row, known};
use crate::failure::command_line;
use crate::printable::printable;
use crate::report::width;
use crate::settings::Takes;
use crate::view::ViewArgs;
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::results::{grows, is_comparable};
use meshalloc_sim::statistics::Estimate;
use meshalloc_sim::wording::{alone, wrapped};
use meshalloc_sim::workload::{TimeUnit, Workload};

/// How many times as many replications or jobs the next command has, where these were too few.
const MORE: u32 = 4;

pub(super) fn write_answer(
    compared: &Comparison<'_>,
    rows: &[Row],
    output: &mut dyn Write,
) -> io::Result<()> {
    let answer = Answer { compared };
    let pair = answer.pair(rows);
    let (sentence, next) = match &pair {
        Some(pair) => (Some(answer.sentence(pair)), answer.after(pair)),
        None => answer.without(rows),
    };
    writeln!(output)?;
    if let Some(sentence) = sentence {
        writeln!(output, "{}", wrapped(&sentence, width()).join("\n"))?;
    }
    let log = compared.any().workload.log();
    // It has been read, and is there no more.
    if log.is_none_or(|log| log.path.as_os_str() != "-") {
        writeln!(output, "next: {}", printable(&next))?;
    }
    Ok(())
}

/// The shortest and the longest mean waiting delay at one load.
struct Pair<'r> {
    load: f64,
    shorter: Waiting<'r>,
    longer: Waiting<'r>,
}

struct Waiting<'r> {
    result: &'r StrategyResult,
    estimate: Estimate,
}

/// What can be said of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Difference {
    /// Their intervals have no value in common, or it is the same log for both.
    Clear,
    Overlap,
    /// One replication has no interval.
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

/// As many digits as a reader keeps in mind.
fn rough(value: f64) -> String {
    match value {
        10.0.. => format!("{value:.0}"),
        0.1..10.0 => format!("{value:.1}"),
        _ => alone(value),
    }
}

struct Answer<'c> {
    compared: &'c Comparison<'c>,
}

impl Answer<'_> {
    /// Whether strategies are compared, under the first scheduler; otherwise schedulers are.
    fn is_of_strategies(&self) -> bool {
        self.compared.strategies.len() > 1
    }

    /// Whether only strategies count that give a job one block: others have no such choice to make.
    fn is_of_blocks(&self) -> bool {
        let strategies = self.compared.strategies.iter();
        strategies
            .filter(|kind| kind.holds().is_contiguous())
            .count()
            > 1
    }

    fn candidates<'r>(&self, row: &'r Row) -> Vec<&'r StrategyResult> {
        let is_candidate = |result: &&StrategyResult| {
            !self.is_of_blocks() || result.strategy.holds().is_contiguous()
        };
        let under = row.results.iter();
        let under = under.take(if self.is_of_strategies() {
            1
        } else {
            usize::MAX
        });
        under.flatten().filter(is_candidate).collect()
    }

    /// At the load with most means that can be compared, of several the highest.
    fn pair<'r>(&self, rows: &'r [Row]) -> Option<Pair<'r>> {
        let waiting = |result: &'r StrategyResult| {
            let estimate = result.metrics[Metric::WaitingDelay].filter(|_| is_comparable(result));
            Some(Waiting {
                result,
                estimate: estimate?,
            })
        };
        let all = rows.iter().map(|row| {
            let mut waiting: Vec<_> = self
                .candidates(row)
                .into_iter()
                .filter_map(waiting)
                .collect();
            waiting.sort_by(|a, b| a.estimate.mean.total_cmp(&b.estimate.mean));
            (row.load, waiting)
        });
        let (load, mut waiting) = all.max_by_key(|(_, waiting)| waiting.len())?;
        let longer = waiting.pop()?;
        let shorter = (!waiting.is_empty()).then(|| waiting.swap_remove(0))?;
        Some(Pair {
            load,
            shorter,
            longer,
        })
    }

    fn name(&self, result: &StrategyResult) -> String {
        match self.is_of_strategies() {
            true => result.strategy.to_string(),
            false => names::scheduler_text(result.scheduler, TimeUnit::Second),
        }
    }

    fn sentence(&self, pair: &Pair<'_>) -> String {
        let [shorter, longer] = [&pair.shorter, &pair.longer];
        let (size, unit) = TimeUnit::Second.readable(longer.estimate.mean);
        let [short, long] = [shorter, longer].map(|it| {
            let mean = rough(it.estimate.mean / size);
            format!("{mean} {unit} under {}", self.name(it.result))
        });
        let load = match known(pair.load) {
            Some(load) => format!("At load {}", self.compared.load_text(load)),
            None => "In this log".to_owned(),
        };
        let under = match self.is_of_strategies() {
            true => &self.compared.scheduler_names()[0],
            false => &self.compared.strategies[0].to_string(),
        };
        let strategies = self.compared.strategies.iter();
        let is_scattered = strategies.clone().any(|kind| !kind.holds().is_contiguous());
        let blocks = match self.is_of_blocks() && is_scattered {
            true => "; strategies that give a job one block",
            false => "",
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
        format!("{load} {text} ({under}{blocks}).")
    }

    /// Clear differences are worth a look; others need more replications.
    fn after(&self, pair: &Pair<'_>) -> String {
        let [shorter, longer] = [&pair.shorter, &pair.longer].map(|it| it.result);
        let strategies = match self.is_of_strategies() {
            true => format!("{},{}", shorter.strategy, longer.strategy),
            false => shorter.strategy.to_string(),
        };
        let scheduler =
            |result: &StrategyResult| names::scheduler_text(result.scheduler, TimeUnit::Second);
        let mut over = vec![("strategy", strategies)];
        over.extend(self.load(pair.load));
        if pair.difference() == Difference::Clear || shorter.is_of_log {
            over.push(("scheduler", scheduler(shorter)));
            return self.command::<ViewArgs>("view", &over);
        }
        over.push(match self.is_of_strategies() {
            true => ("scheduler", scheduler(shorter)),
            false => ("scheduler", [shorter, longer].map(scheduler).join(",")),
        });
        let replications = self.compared.replications().saturating_mul(MORE);
        over.push(("replications", replications.to_string()));
        self.command::<super::CompareArgs>("compare", &over)
    }

    /// Nothing was compared, or no two means can be.
    fn without(&self, rows: &[Row]) -> (Option<String>, String) {
        let mut candidates = rows.iter().flat_map(|row| self.candidates(row));
        let is_of_one = rows.iter().all(|row| self.candidates(row).len() < 2);
        let is_short = candidates.any(|result| grows(result, Metric::WaitingDelay));
        let sentence = (!is_of_one).then(|| {
            let why = match is_short {
                true => "the runs are too short, and their means grow with them (↑)",
                false => "at each load all but one are saturated or have a mark",
            };
            format!("No answer: {why}.")
        });
        let is_synthetic = matches!(self.compared.any().workload, Workload::Synthetic(_));
        if !is_of_one && is_short && is_synthetic {
            let jobs = self.compared.any().jobs.saturating_mul(MORE);
            let over = [("jobs", jobs.to_string())];
            return (
                sentence,
                self.command::<super::CompareArgs>("compare", &over),
            );
        }
        let lowest = rows.first().map_or(0.0, |row| row.load);
        let mut over: Vec<_> = self.load(lowest).into_iter().collect();
        let first = self.compared.scheduler_names().swap_remove(0);
        over.push(("scheduler", first));
        let strategies = self.compared.strategies.iter().map(ToString::to_string);
        over.push(("strategy", strategies.collect::<Vec<_>>().join(",")));
        (sentence, self.command::<ViewArgs>("view", &over))
    }

    /// The option of a load; a log keeps its own unless it was stretched.
    fn load(&self, load: f64) -> Option<(&'static str, String)> {
        let key = match self.compared.any().workload.log() {
            None => "load",
            Some(log) => log.load.map(|_| "log-load")?,
        };
        Some((key, load.to_string()))
    }

    fn command<O: Takes>(&self, name: &str, over: &[(&str, String)]) -> String {
        let args = self.compared.args;
        let program = env::args().next().unwrap_or_default();
        let mut words = vec![program, name.to_owned()];
        if let Some(path) = args.file.path() {
            words.extend(["--scenario".to_owned(), path.to_string_lossy().into_owned()]);
        }
        words.extend(args.settings.words::<O>(over));
        command_line(&words)
    }
}
