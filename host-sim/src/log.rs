//! `log`: summarises a log before it is run.

use std::io::Write;
use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{Arg, Args};
use meshalloc::{Grid, NODES_MAX};
use serde::Serialize;

use crate::failure::Failure;
use crate::identity::{PROGRAM, VERSION};
use crate::report::{self, LogJson};
use crate::settings::{Given, JsonArgs, Takes, only};
use crate::tables::{table, trimmed};
use meshalloc_sim::statistics::Delays;
use meshalloc_sim::wording::counted;
use meshalloc_sim::workload::log::WEEK;
use meshalloc_sim::workload::{Log, LogJob, TimeUnit};

/// Which log, and on which machine.
#[derive(Args, Clone, Debug)]
pub(crate) struct LogStatisticsArgs {
    /// A log in the Standard Workload Format or in CSV, plain or .gz; - reads standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    #[command(flatten)]
    settings: Given<Self>,

    #[command(flatten)]
    format: JsonArgs,
}

impl Takes for LogStatisticsArgs {
    fn take(arg: Arg) -> Option<Arg> {
        let keys = [
            "mesh",
            "torus",
            "machine",
            "columns",
            "strict",
            "processors-per-node",
            "partition",
            "from",
            "to",
        ];
        let arg = only(&keys, arg)?;
        // Without a machine no load is shown.
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        Some(match arg.get_long()? {
            "mesh" => arg.help(
                help.split(" [default")
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            ),
            _ => arg,
        })
    }
}

pub(crate) fn log(args: &LogStatisticsArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let settings = args.settings.scenario("log")?;
    settings.check_contradictions()?;
    let machine = settings.grid(settings.description()?.as_ref())?;
    let options = settings.window(machine)?;
    let log = Log::read(&args.file, options, machine).map_err(|error| error.to_string())?;
    let machine = settings.is_machine_named().then_some(machine);
    let document = LogDocument::of(&log, machine);
    if args.format.is_json() {
        Ok(report::write_json(&document, output)?)
    } else {
        document.write_table(&log, machine, output)
    }
}

impl Distribution {
    /// The distribution of these values, in `unit`s; `None` if there are no values.
    fn of(values: impl Iterator<Item = u64>, unit: f64) -> Option<Self> {
        let (mut all, mut count, mut sum) = (Delays::default(), 0, 0_u128);
        for value in values {
            all.add(value);
            count += 1;
            sum += u128::from(value);
        }
        let mut quantile = |part| Some(all.quantile(part)? / unit);
        Some(Distribution {
            count,
            mean: sum as f64 / count as f64 / unit,
            min: quantile(0.0)?,
            median: quantile(0.5)?,
            p95: quantile(0.95)?,
            p99: quantile(0.99)?,
            max: quantile(1.0)?,
        })
    }
}

fn work(job: &LogJob) -> u128 {
    u128::from(job.processors) * u128::from(job.run_time)
}

fn total<'j>(jobs: impl IntoIterator<Item = &'j LogJob>) -> (usize, u128) {
    let each = jobs.into_iter().map(work);
    each.fold((0, 0), |(count, sum), work| (count + 1, sum + work))
}

fn share(part: u128, whole: u128) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}

impl LogDocument {
    /// The summary of a log; `machine` is the machine that is named.
    fn of(log: &Log, machine: Option<Grid>) -> Self {
        let jobs = || log.jobs.iter();
        let (_, all) = total(jobs());
        let nodes = machine.map_or(NODES_MAX, |machine| machine.nodes());
        let second = TimeUnit::Second.ticks_each() as f64;
        let requested = || jobs().filter_map(|job| Some((job.run_time, job.requested_time?)));
        let steps = log.jobs.windows(2);
        let steps = steps.map(|pair| pair[1].arrival - pair[0].arrival);
        // Loads of weeks in millionths.
        let week = |jobs: std::ops::Range<usize>| {
            let held = log.jobs[jobs].iter().filter(|job| job.processors <= nodes);
            let (_, work) = total(held);
            (share(work, u128::from(nodes) * u128::from(WEEK)) * 1e6) as u64
        };
        let weeks = log.whole_weeks().into_iter().map(week);
        let weeks = weeks.filter(|_| machine.is_some());
        let distributions = Distributions {
            processors: Distribution::of(jobs().map(|job| job.processors.into()), 1.0),
            run_time_seconds: Distribution::of(jobs().map(|job| job.run_time), second),
            requested_time_seconds: Distribution::of(requested().map(|(_, time)| time), second),
            interarrival_seconds: Distribution::of(steps, second),
            offered_load_of_a_week: Distribution::of(weeks, 1e6),
        };
        let processors = |job: &LogJob| u64::from(job.processors);
        let largest = jobs().map(processors).max().unwrap_or(1);
        let sizes = (0..=largest.next_power_of_two().ilog2()).map(|exponent| {
            let last = 1_u64 << exponent;
            let of_size = last / 2 + 1..=last;
            let (jobs, work) = total(jobs().filter(|job| of_size.contains(&processors(job))));
            Size {
                from: *of_size.start(),
                to: last,
                jobs,
                work_share: share(work, all),
            }
        });
        let too_large = total(jobs().filter(|job| job.processors > nodes));
        let date = |job: Option<&LogJob>| log.date(job?);
        let mut json = LogJson::new(log);
        json.offered_load = json.offered_load.filter(|_| machine.is_some());
        LogDocument {
            program: PROGRAM,
            version: VERSION,
            log: json,
            machine: machine.map(|machine| machine.to_string()),
            processors: machine.map(|machine| machine.nodes()),
            first_submitted: date(log.jobs.first()),
            last_submitted: date(log.jobs.last()),
            processors_of_log: log.header.max_procs.clone(),
            span_seconds: TimeUnit::Second.of(log.span()),
            whole_weeks: log.whole_weeks().len(),
            too_large: TooLargeJson {
                jobs: too_large.0,
                work_share: share(too_large.1, all),
            },
            requested_time_known: requested().count(),
            ran_longer_than_requested: requested().filter(|(ran, asked)| ran > asked).count(),
            distributions,
            sizes: sizes.collect(),
        }
    }

    fn write_table(
        &self,
        log: &Log,
        machine: Option<Grid>,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        let header = &log.header;
        writeln!(output, "{}", report::log_line(log))?;
        if let Some(processors) = &header.max_procs {
            writeln!(output, "processors of the logged machine: {processors}")?;
        }
        for thanks in &header.acknowledge {
            writeln!(output, "acknowledge: {thanks}")?;
        }
        let days = self.span_seconds / 86_400.0;
        let weeks = counted(self.whole_weeks, "whole week");
        writeln!(output, "span: {days:.2} days, {weeks}")?;
        if let (Some(first), Some(last)) = (&self.first_submitted, &self.last_submitted) {
            let zone = header.time_zone.as_ref();
            let zone = zone.map_or(String::new(), |zone| format!(", time zone {zone}"));
            writeln!(output, "submitted from {first} to {last}{zone}")?;
        }
        let larger = match machine {
            Some(machine) => {
                let load = match self.log.offered_load {
                    Some(load) => format!("load {load:.4}"),
                    None => "no load, as all jobs arrive at once or nothing runs".to_owned(),
                };
                let processors = counted(machine.nodes(), "processor");
                writeln!(output, "offered to {machine}, {processors}: {load}")?;
                "that"
            }
            None => {
                let known = log.processors_text();
                if let Some(sides) = log.fitting_mesh() {
                    writeln!(output, "no machine given; {known}: try --mesh {sides}")?;
                }
                "any machine"
            }
        };
        let TooLargeJson { jobs, work_share } = &self.too_large;
        if *jobs > 0 {
            let part = work_share * 100.0;
            writeln!(
                output,
                "jobs larger than {larger}: {jobs}, {part:.2} % of the work"
            )?;
        }
        if let (over, all @ 1..) = (self.ran_longer_than_requested, self.requested_time_known) {
            writeln!(output, "ran longer than was requested: {over} of {all}")?;
        }
        let mut rows = table(["", "count", "mean", "min", "median", "p95", "max"]);
        let of = &self.distributions;
        for (name, distribution) in [
            ("processors", of.processors),
            ("run time (s)", of.run_time_seconds),
            ("requested time (s)", of.requested_time_seconds),
            ("between arrivals (s)", of.interarrival_seconds),
            ("load of a week", of.offered_load_of_a_week),
        ] {
            let Some(row) = distribution else { continue };
            // Without the 99th percentile they fit a terminal.
            let numbers = [row.mean, row.min, row.median, row.p95, row.max];
            let numbers = numbers.map(|number| match name {
                "load of a week" => format!("{number:.3}"),
                // Rounded to a whole number, it would be another number.
                _ if number < 100.0 && number.fract() != 0.0 => format!("{number:.1}"),
                _ => format!("{number:.0}"),
            });
            let words = [name.to_owned(), row.count.to_string()];
            rows.add_row(words.into_iter().chain(numbers));
        }
        writeln!(output, "\n{}", trimmed(&rows))?;
        let mut rows = table(["processors", "jobs", "% of jobs", "% of work"]);
        for size in &self.sizes {
            let Size { from, to, .. } = size;
            let jobs = size.jobs as f64 / log.jobs.len() as f64;
            rows.add_row([
                if from == to {
                    from.to_string()
                } else {
                    format!("{from} to {to}")
                },
                size.jobs.to_string(),
                format!("{:.2}", jobs * 100.0),
                format!("{:.2}", size.work_share * 100.0),
            ]);
        }
        writeln!(output, "\n{}", trimmed(&rows))?;
        Ok(())
    }
}

/// What `log --format json` writes.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
pub(crate) struct LogDocument {
    /// The program's name.
    program: &'static str,
    /// The program's version.
    version: &'static str,
    log: LogJson,
    /// The machine; `null` if none is named.
    machine: Option<String>,
    /// The number of its processors.
    processors: Option<u32>,
    /// When the first job was submitted, in RFC 3339, by the clock of the logged machine, or in UTC
    /// if its time zone is not known; `null` if the header has no UnixStartTime.
    first_submitted: Option<String>,
    /// When the last job was submitted.
    last_submitted: Option<String>,
    /// The processors of the logged machine, from the header.
    processors_of_log: Option<String>,
    /// From the first submit time to the last one.
    span_seconds: f64,
    /// Whole weeks from the first submit time to the last one.
    whole_weeks: usize,
    too_large: TooLargeJson,
    /// The number of jobs with a requested time.
    requested_time_known: usize,
    /// The number of these that ran longer.
    ran_longer_than_requested: usize,
    distributions: Distributions,
    /// Jobs by number of processors, up to each power of two.
    sizes: Vec<Size>,
}

/// Jobs that are larger than the machine, or than any machine if none is named.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct TooLargeJson {
    /// Their number.
    jobs: usize,
    /// Their part of the total work, 0 to 1.
    work_share: f64,
}

/// Distributions; `null` where there is no value.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct Distributions {
    /// Processors of jobs.
    processors: Option<Distribution>,
    /// Run times.
    run_time_seconds: Option<Distribution>,
    /// Requested times.
    requested_time_seconds: Option<Distribution>,
    /// Times between submit times.
    interarrival_seconds: Option<Distribution>,
    /// The loads that whole weeks offer to the machine.
    offered_load_of_a_week: Option<Distribution>,
}

/// Values in one row.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct Distribution {
    /// The number of values.
    count: usize,
    /// The mean.
    mean: f64,
    /// The least.
    min: f64,
    /// The median; for an even number of values, halfway between the two in the middle.
    median: f64,
    /// The 95th percentile, interpolated between two values (definition 8 of Hyndman and Fan
    /// 1996).
    p95: f64,
    /// The 99th percentile, interpolated between two values (definition 8 of Hyndman and Fan
    /// 1996).
    p99: f64,
    /// The greatest.
    max: f64,
}

/// Jobs of similar size.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct Size {
    /// The least number of processors.
    from: u64,
    /// The greatest.
    to: u64,
    /// The jobs.
    jobs: usize,
    /// Their part of the total work, 0 to 1.
    work_share: f64,
}
