//! `traffic`: messages on the bare network, generated at given rates whatever becomes of them (open
//! loop). One row for each rate: latency and accepted throughput, over independent replications.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::{Arg, Args};
use meshalloc::{Grid, Ticks};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::columns::Columns;
use crate::failure::{self, Failure, Incomplete};
use crate::file::ReplaceArgs;
use crate::map::{LinkMap, PictureArgs, Show};
use crate::progress::Bar;
use crate::report::{self, Document, table, trimmed};
use crate::settings::{self, Format, FormatArgs, Given, Takes, ThreadsArgs, only};
use meshalloc_sim::experiment::{self, Progress};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::network::{Link, Parameters};
use meshalloc_sim::results::MetricSummary;
use meshalloc_sim::scenario::{REPLICATIONS_DEFAULT, SEED_DEFAULT, Scenario, SettingError};
use meshalloc_sim::statistics::{Estimate, Sampling, Spread};
use meshalloc_sim::traffic::{Measured, OpenLoop, Pattern};
use meshalloc_sim::wording::{Number, counted, number};

/// What to run.
#[derive(Args, Clone, Debug)]
pub(crate) struct TrafficArgs {
    #[command(flatten)]
    settings: Given<Self>,

    #[command(flatten)]
    format: FormatArgs,

    /// Destinations of messages: random, transpose, hot-spot:SHARE,NODE or nearest-neighbor
    #[arg(long, value_name = "NAME", default_value = "random")]
    pattern: Pattern,

    /// Messages that a processor generates in a cycle, over 0 and at most 1; a row for each of
    /// several
    #[arg(long, value_name = "RATE,...", value_parser = rate, value_delimiter = ',', allow_negative_numbers = true, required = true)]
    rate: Vec<f64>,

    /// Cycles before those that are measured
    #[arg(long, value_name = "CYCLES", value_parser = cycles, allow_negative_numbers = true, default_value = "5000")]
    warmup: Ticks,

    /// Cycles that are measured
    #[arg(long, value_name = "CYCLES", value_parser = some_cycles, allow_negative_numbers = true, default_value = "20000")]
    cycles: Ticks,

    #[command(flatten)]
    threads: ThreadsArgs,

    /// Also draw how much each link of the grid is used, for each rate
    #[arg(long, value_name = "links", value_parser = ["links"])]
    plot: Option<String>,

    #[command(flatten)]
    picture: PictureArgs,

    #[command(flatten)]
    replace: ReplaceArgs,
}

impl Takes for TrafficArgs {
    fn take(arg: Arg) -> Option<Arg> {
        let keys = [
            "mesh",
            "wrap",
            "torus",
            "cube",
            "flits",
            "routing-delay",
            "replications",
            "seed",
        ];
        let arg = only(&keys, arg)?;
        Some(match arg.get_long()? {
            "flits" | "routing-delay" => arg.help_heading(None),
            "replications" => arg.help("Runs at each rate, each with new messages [default: 10]"),
            "seed" => arg.help(
                "Seed of all random numbers, 0 to 2^64-1; the same seed gives the same messages \
                 [default: 1]",
            ),
            _ => arg,
        })
    }
}

struct Traffic<'a> {
    args: &'a TrafficArgs,
    grid: Grid,
    network: Parameters,
    /// Each once.
    rates: Vec<f64>,
    replications: u32,
    seed: u64,
    format: Format,
    settings: Scenario,
}

/// What `traffic` adds to a document.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TrafficContent {
    /// One for each rate.
    results: Vec<TrafficResult>,
}

/// What came of one rate.
#[derive(Serialize, JsonSchema)]
struct TrafficResult {
    /// Messages that a processor generates in a cycle.
    rate: f64,
    /// Metrics by name.
    metrics: TrafficMetrics,
    /// Whether the number of messages under way grew throughout most replications.
    saturated: bool,
    /// Whether the run, with its warm-up, is shorter than the longest route takes in an empty
    /// network. `saturated` may then be wrongly false.
    too_short: bool,
    /// Messages measured in all replications.
    messages: u64,
    /// The number of replications.
    replications: usize,
    /// For each link the flits that it carries in a cycle, mean of the replications.
    #[serde(skip)]
    links: Vec<(Link, f64)>,
}

#[derive(Serialize, JsonSchema)]
struct TrafficMetrics {
    /// Mean cycles from generation to the delivery of the last flit; no value above saturation, nor
    /// in a run that is too short.
    message_latency: MetricSummary,
    /// Mean number of channels between processors that a message crosses; no value in a run that is
    /// too short.
    hops: MetricSummary,
    /// Mean cycles for which the header of a message waits for channels, without the wait for the
    /// first one, into the network. No value in a run that is too short.
    blocked_time: MetricSummary,
    /// Flits generated per processor and cycle.
    offered: MetricSummary,
    /// Flits delivered per processor and cycle.
    accepted: MetricSummary,
    /// Flits per cycle on the busiest link.
    link_utilization_max: MetricSummary,
    /// Flits per cycle, the mean of all links.
    link_utilization: MetricSummary,
}

fn rate(text: &str) -> Result<f64, String> {
    let expected = "messages a processor and cycle, over 0 and at most 1";
    names::value(text, expected, |rate| *rate > 0.0 && *rate <= 1.0)
}

const RUN_MAX: Ticks = 1_000_000_000;

fn cycles(text: &str) -> Result<Ticks, String> {
    let expected = format!("a whole number, 0 to {RUN_MAX}");
    names::value(text, &expected, |cycles| *cycles <= RUN_MAX)
}

fn some_cycles(text: &str) -> Result<Ticks, String> {
    let expected = format!("a whole number, 1 to {RUN_MAX}");
    names::value(text, &expected, |cycles| (1..=RUN_MAX).contains(cycles))
}

impl TrafficResult {
    /// A metric has no estimate where a replication has no value, or where it means nothing above
    /// saturation or in a short run.
    fn new(rate: f64, runs: &[Measured]) -> Self {
        let saturated = 2 * runs.iter().filter(|run| run.saturated).count() > runs.len();
        let too_short = !saturated && runs.iter().any(|run| run.too_short);
        let metric = |has_meaning: bool, spread: Spread, value: fn(&Measured) -> Option<f64>| {
            let values: Vec<_> = runs.iter().map(value).collect();
            let all: Option<Vec<f64>> = values.iter().copied().collect();
            let all = all.filter(|_| has_meaning);
            let estimate = all.and_then(|all| Estimate::of(&all, Sampling::Independent, spread));
            MetricSummary::new(estimate, values)
        };
        let mut links = runs.first().map_or_else(Vec::new, |run| run.links.clone());
        for (place, (_, mean)) in links.iter_mut().enumerate() {
            let flits = runs.iter().map(|run| run.links[place].1);
            *mean = flits.sum::<f64>() / runs.len() as f64;
        }
        TrafficResult {
            rate,
            metrics: TrafficMetrics {
                message_latency: metric(
                    !too_short && !saturated,
                    Metric::MessageLatency.spread(),
                    |run| run.latency,
                ),
                hops: metric(!too_short, Metric::Hops.spread(), |run| run.hops),
                blocked_time: metric(!too_short, Metric::BlockedTime.spread(), |run| run.blocked),
                offered: metric(true, Spread::Even, |run| Some(run.offered)),
                accepted: metric(true, Spread::Even, |run| Some(run.accepted)),
                link_utilization_max: metric(true, Spread::Even, Measured::link_utilization_max),
                link_utilization: metric(true, Spread::Even, Measured::link_utilization),
            },
            saturated,
            too_short,
            messages: runs.iter().map(|run| run.messages).sum(),
            replications: runs.len(),
            links,
        }
    }

    /// A map of its links, the means of all replications.
    fn map(&self, grid: Grid) -> LinkMap {
        let accepted = self.metrics.accepted.estimate.map(|accepted| {
            let accepted = number(&accepted, 1.0);
            format!("accepted {accepted} flits a processor and cycle")
        });
        LinkMap {
            machine: grid,
            name: format!("rate {}", Number(self.rate)),
            caption: accepted.into_iter().collect(),
            links: self.links.clone(),
        }
    }
}

pub(crate) fn traffic(args: &TrafficArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let traffic = Traffic::new(args)?;
    let args = &traffic;
    let picture = args.picture()?;
    let bar = Bar::of("runs")?;
    let results = args.results(&bar);
    bar.clear();
    let (results, incomplete) = results?;
    let is_drawn = picture.is_some() && incomplete.is_none();
    let map = |result: &TrafficResult| result.map(args.grid);
    let maps: Option<Vec<_>> = is_drawn.then(|| results.iter().map(map).collect());
    match args.format {
        Format::Table => args.write_table(&results, incomplete.as_ref(), output)?,
        Format::Json => {
            let (record, content) = (args.record(), TrafficContent { results });
            Document::new(record, args.seed, incomplete.as_ref(), content).write(output)?;
        }
        Format::Csv => {
            let record = args.record();
            let rows = results.into_iter().map(|result| (record.clone(), result));
            columns().runs(rows, &mut *output)?;
        }
    }
    if let Some(incomplete) = incomplete {
        return Err(Failure::Incomplete(incomplete));
    }
    if let Some((show, maps)) = picture.zip(maps) {
        let drawn = show.links(&maps, &args.parameters_text(), output);
        drawn.map_err(|failure| failure.after_results(&"--plot links"))?;
    }
    Ok(())
}

impl<'a> Traffic<'a> {
    fn new(args: &'a TrafficArgs) -> Result<Self, String> {
        let mut settings = args.settings.scenario("traffic")?;
        let machine = settings.grid(None);
        let grid = machine.map_err(|error: SettingError| error.on_command_line())?;
        settings.name_machine(grid);
        args.pattern.on(grid)?;
        Ok(Traffic {
            args,
            grid,
            network: settings.network(),
            rates: names::each_once(args.rate.iter().copied()),
            replications: *settings.replications.get_or_insert(REPLICATIONS_DEFAULT),
            seed: *settings.seed.get_or_insert(SEED_DEFAULT),
            format: args.format.get(),
            settings,
        })
    }

    /// Those of the complete rates, and why they may not be all.
    fn results(&self, bar: &Bar<'_>) -> Result<(Vec<TrafficResult>, Option<Incomplete>), Failure> {
        let each = self.replications as usize;
        let runs = self.rates.len() * each;
        bar.begin(runs as u64, 1);
        let (next, measured) = (AtomicUsize::new(0), Mutex::new(vec![None; runs]));
        experiment::on_threads(self.args.threads.count, runs as u64, &|| {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                if place >= runs {
                    return;
                }
                let run = OpenLoop {
                    grid: self.grid,
                    parameters: self.network,
                    pattern: self.args.pattern,
                    rate: self.rates[place / each],
                    warmup: self.args.warmup,
                    cycles: self.args.cycles,
                };
                let replication = (place % each) as u32;
                let outcome = run.run(self.seed, replication, &|| bar.is_interrupted());
                match outcome {
                    Ok(Some(_)) => bar.advance(1),
                    // No other run is begun.
                    _ => next.store(runs, Ordering::Relaxed),
                }
                let mut measured = measured.lock().unwrap_or_else(PoisonError::into_inner);
                measured[place] = outcome.transpose();
            }
        });
        let measured = measured
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let of_rates = self.rates.iter().zip(measured.chunks(each));
        let complete = of_rates.filter_map(|(&rate, runs)| {
            let runs: Option<Result<Vec<Measured>, String>> = runs.iter().cloned().collect();
            Some(runs?.map(|runs| TrafficResult::new(rate, &runs)))
        });
        let complete = complete.collect::<Result<Vec<_>, String>>()?;
        let mut incomplete = bar.is_interrupted().then(failure::interrupted);
        incomplete = incomplete.filter(|_| complete.len() < self.rates.len());
        match incomplete {
            Some(mut incomplete) if complete.is_empty() => {
                incomplete.reason.push_str("; no rate is complete");
                Err(Failure::Incomplete(incomplete))
            }
            incomplete => Ok((complete, incomplete)),
        }
    }

    fn picture(&self) -> Result<Option<Show>, String> {
        let kind = self.args.plot.as_deref();
        if kind.is_some() {
            LinkMap::check(self.grid)?;
        }
        let on_terminal = self.format == Format::Table;
        self.args.picture.show(kind, on_terminal, self.args.replace)
    }

    fn parameters_text(&self) -> String {
        let Parameters {
            flits,
            routing_delay,
        } = self.network;
        format!(
            "{}, {}, routing delay {}, seed {}",
            self.args.pattern,
            counted(flits, "flit"),
            counted(routing_delay, "cycle"),
            self.seed
        )
    }

    fn write_table(
        &self,
        results: &[TrafficResult],
        incomplete: Option<&Incomplete>,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        writeln!(
            output,
            "{}, {}\n{} of {} after {}\n",
            self.grid,
            self.parameters_text(),
            counted(self.replications, "run"),
            counted(self.args.cycles, "cycle"),
            self.args.warmup
        )?;
        let cell = |metric: &MetricSummary| {
            let shown = metric.estimate.map(|estimate| number(&estimate, 1.0));
            shown.unwrap_or_else(|| "-".to_owned())
        };
        let mut table = table([
            "rate",
            "latency",
            "hops",
            "blocked",
            "offered",
            "accepted",
            "busiest\nlink",
        ]);
        for result in results {
            let metrics = &result.metrics;
            table.add_row([
                Number(result.rate).to_string(),
                match result {
                    _ if result.saturated => "saturated".to_owned(),
                    _ if result.too_short => "too short".to_owned(),
                    _ => cell(&metrics.message_latency),
                },
                cell(&metrics.hops),
                cell(&metrics.blocked_time),
                cell(&metrics.offered),
                cell(&metrics.accepted),
                cell(&metrics.link_utilization_max),
            ]);
        }
        writeln!(output, "{}", trimmed(&table))?;
        writeln!(
            output,
            "Latency and blocked time in cycles; flits offered and accepted a processor and cycle, on the busiest link a cycle."
        )?;
        if results.iter().any(|result| result.too_short) {
            writeln!(
                output,
                "too short: the run ends before the longest route is crossed; use more --cycles."
            )?;
        }
        let note = match self.replications {
            1 => report::ONE_REPLICATION,
            _ => Sampling::Independent.interval_meaning(),
        };
        writeln!(output, "{note}")?;
        if let Some(Incomplete { reason, .. }) = incomplete {
            let (complete, all) = (results.len(), self.rates.len());
            writeln!(
                output,
                "INCOMPLETE: {reason}\nComplete rates: {complete} of {all}."
            )?;
        }
        Ok(())
    }

    fn record(&self) -> Value {
        let mut scenario = self.settings.record();
        scenario["pattern"] = self.args.pattern.to_string().into();
        scenario["rate"] = self.rates.iter().copied().collect();
        scenario["warmup"] = self.args.warmup.into();
        scenario["cycles"] = self.args.cycles.into();
        scenario
    }
}

pub(crate) fn columns() -> Columns {
    let more = [
        ("pattern", "Where messages go."),
        ("warmup", "Cycles before those that are measured."),
        ("cycles", "Cycles that are measured."),
    ];
    Columns::of_runs::<TrafficResult>(settings::takes::<TrafficArgs>, &more)
}
