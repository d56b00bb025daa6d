//! The products of a study: a table for people, JSON and CSV for programs, and a picture.

use std::io::{self, Write};

use meshalloc::StrategyKind;
use serde::Serialize;
use serde_json::Value;

use super::Study;
use super::command::ShowArgs;
use crate::failure::{Failure, Incomplete};
use crate::file::{self, Output};
use crate::identity::{PROGRAM, VERSION};
use crate::measured::Measured;
use crate::plot::{self, Layout, Picture, Point, Scale, Series};
use crate::report::{self, LogJson, Report, cells};
use crate::settings::Format;
use crate::tables::{self, TimeChoice, refused_percent};
use meshalloc_sim::experiment::{Experiment, Measure, StrategyResult};
use meshalloc_sim::metrics::{Metric, Unit};
use meshalloc_sim::results::{StrategySummary, grows, shown, state};
use meshalloc_sim::scenario::{Form, Setting};
use meshalloc_sim::statistics::Interval;
use meshalloc_sim::wording::Number;
use meshalloc_sim::workload::TimeUnit;

impl Study {
    /// The experiment of the first point.
    pub(crate) fn first(&self) -> &Experiment {
        &self.points[0].experiment
    }

    /// The load that is offered at a point, as it was given, or rounded as it was found in a log.
    pub(crate) fn load_of(&self, point: &super::Point) -> Option<String> {
        let found = |key: &str| point.label.iter().find(|(known, _)| known == key);
        if let Some((_, load)) = found("load").or_else(|| found("log-load")) {
            return Some(load.clone());
        }
        let settings = &self.cases[0].scenario.settings;
        let log = point.experiment.workload.log();
        let given = settings.load.or(settings.log_load);
        let given = given.map(|load| Number(load).to_string());
        given.or_else(|| Some(format!("{:.3}", log?.offered_load()?)))
    }

    pub(crate) fn unit(&self) -> TimeUnit {
        self.first().workload.time_unit()
    }

    /// The metrics of tables, by what the first point is about.
    pub(crate) fn metrics(&self) -> &'static [Metric] {
        use Metric::*;
        let Experiment {
            workload, backlog, ..
        } = self.first();
        if backlog.is_some() {
            &[Utilization, InternalFragmentation]
        } else if self.unit() == TimeUnit::Cycle {
            &[
                WaitingDelay,
                Turnaround,
                ServiceTime,
                MessageLatency,
                Utilization,
            ]
        } else if workload.is_closed() {
            &[Utilization, CompletionTime, WaitingDelay, Turnaround]
        } else {
            &[WaitingDelay, AllocationMiss, Utilization, WaitingAtEnd]
        }
    }

    /// The settings that all points share and that are not the default, as they are typed, with the
    /// machine and the seed.
    pub(crate) fn heading(&self) -> String {
        const MACHINE: [&str; 3] = ["mesh", "torus", "machine"];
        let settings = self.cases[0].scenario.settings.record();
        let is_axis = |key: &str| self.given.axes().any(|axis| axis.setting.key == key);
        let recorded = |key: &str| {
            let value = settings.get(key).filter(|_| !is_axis(key))?;
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            // A machine may have blanks.
            Some(if text.contains(' ') {
                format!("{key}='{text}'")
            } else {
                format!("{key}={text}")
            })
        };
        let has_axis = MACHINE.iter().any(|key| is_axis(key));
        let machine = MACHINE.iter().filter(|_| !has_axis);
        let given = self.given.fixed().filter(|entry| {
            let key = entry.setting.key;
            let is_shown =
                key == "strategy" || key == "seed" || !has_axis && MACHINE.contains(&key);
            !is_shown
        });
        let given = given.map(|entry| {
            let value = match entry.setting.form {
                Form::File => file::name(entry.values[0].as_ref()),
                _ => entry.values[0].to_string_lossy().into_owned(),
            };
            format!("{}={value}", entry.setting.key)
        });
        let machine = machine.filter_map(|key| recorded(key));
        let parts: Vec<_> = machine.chain(given).chain(recorded("seed")).collect();
        parts.join(" ")
    }

    /// An error unless every run has a value of the metric that is drawn, if one is.
    pub(crate) fn check_drawn(&self, metric: Option<Metric>) -> Result<(), String> {
        let Some(metric) = metric else { return Ok(()) };
        for case in &self.cases {
            let record = case.scenario.settings.record();
            let is_set = |key: &str| {
                let name = Setting::of(key).map_or(key, |setting| setting.name);
                record.get(name).is_some_and(|value| *value != false)
            };
            let plan = &case.scenario.plan;
            let requires = match metric.needs() {
                Some(key) if !is_set(key) => key,
                None if metric == Metric::WaitingAtEnd
                    && plan.workload.log().is_none()
                    && plan.measure == Measure::Departures =>
                {
                    "measure arrivals"
                }
                _ => continue,
            };
            return Err(format!("--draw {} requires --{requires}", metric.name()));
        }
        Ok(())
    }

    /// Writes what was measured: of one point all metrics, of several points tables of those of
    /// `show`, or else of `metrics`.
    pub(crate) fn show(
        &self,
        format: Format,
        show: &ShowArgs,
        metrics: &[Metric],
        measured: &Measured,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        if self.points.len() == 1 && format != Format::Csv {
            let report = Report {
                settings: &self.cases[0].scenario.settings,
                experiment: self.first(),
                time_unit: self.time_unit,
                metrics: &show.metrics,
                measured,
            };
            let written = match format {
                Format::Json => report.json(output),
                _ => report.table(output),
            };
            return Ok(written?);
        }
        match format {
            Format::Table => self.tables(&show.metrics(metrics), measured, output),
            Format::Json => Ok(self.json(&show.metrics, measured, output)?),
            Format::Csv => Ok(self.csv(show, measured, output)?),
        }
    }

    /// A row for each point, strategy and metric; in the wide form for each point and strategy.
    fn csv(&self, show: &ShowArgs, measured: &Measured, output: &mut dyn Write) -> io::Result<()> {
        // Into memory first: an error of this writer would hide that a reader has closed the
        // output.
        let mut writer = csv::Writer::from_writer(Vec::new());
        let axes = self.given.axes().map(|axis| axis.setting.name.to_owned());
        let wide = show.wide.then(|| show.metrics(self.metrics()));
        match &wide {
            None => {
                let columns = COLUMNS.map(|(name, _)| name.to_owned());
                writer.write_record(axes.chain(columns))?;
            }
            Some(metrics) => {
                let names = metrics.iter().map(|metric| metric.name());
                let of_metric = |name| ["", "_low", "_high"].map(|end| format!("{name}{end}"));
                let columns = names.flat_map(of_metric);
                let first = std::iter::once("strategy".to_owned());
                writer.write_record(axes.chain(first).chain(columns))?;
            }
        }
        let ends = |result: &StrategyResult, metric| {
            let [mean, low, high, _] = cells::estimate(shown(result, metric), 1.0);
            [mean, low, high]
        };
        for (point, results) in self.points.iter().zip(&measured.results) {
            let label = || point.label.iter().map(|(_, value)| value.clone());
            for result in results {
                let row = || label().chain([result.strategy.to_string()]);
                if let Some(metrics) = &wide {
                    let cells = metrics.iter().flat_map(|&metric| ends(result, metric));
                    writer.write_record(row().chain(cells))?;
                    continue;
                }
                for metric in show.metrics(&Metric::ALL) {
                    let values = result.values(metric);
                    let count = values.iter().flatten().count();
                    let is_chosen = !show.metrics.is_empty();
                    if count > 0 && metric.is_reproducible() || is_chosen {
                        let metric_name = [metric.name().to_owned()];
                        let cells = metric_name.into_iter().chain(ends(result, metric));
                        let last = [count.to_string(), state(result, metric).to_owned()];
                        writer.write_record(row().chain(cells).chain(last))?;
                    }
                }
            }
        }
        let table = writer
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)?;
        output.write_all(&table)
    }

    /// Each point's scenario and results as of one.
    fn json(
        &self,
        metrics: &[Metric],
        measured: &Measured,
        output: &mut dyn Write,
    ) -> io::Result<()> {
        let axes = self.given.axes().map(|axis| axis.setting.name);
        let incomplete = measured.incomplete.as_ref();
        let points = self.cases.iter().zip(&self.points).zip(&measured.results);
        let points = points.map(|((case, point), results)| {
            let summary = |result| StrategySummary::new(result, results, metrics);
            PointDocument {
                scenario: case.scenario.settings.record(),
                log: point.experiment.workload.log().map(LogJson::new),
                results: results.iter().map(summary).collect(),
            }
        });
        let document = StudyDocument {
            program: PROGRAM,
            version: VERSION,
            axes: axes.collect(),
            incomplete: incomplete.map(|Incomplete { reason, .. }| &**reason),
            points: points.collect(),
        };
        report::write_json(&document, output)
    }

    /// Draws a metric into a file.
    pub(crate) fn draw(
        &self,
        metric: Metric,
        measured: &Measured,
        file: &Output,
    ) -> Result<(), Failure> {
        let svg = plot::svg(&self.picture(metric, measured))?;
        Ok(file.write(svg.to_string())?)
    }

    /// A metric over the first axis: a line for each strategy and combination of the other axes, or
    /// bars.
    fn picture(&self, metric: Metric, measured: &Measured) -> Picture {
        let results = measured.results.iter().flatten();
        let means = results.filter_map(|result| Some(measured_in(result, metric, 1.0)?.mean));
        let (y_label, size) = axis_of(
            metric,
            self.unit(),
            self.time_unit,
            means.fold(0.0, f64::max),
        );
        let axis = self.given.axes().next();
        let values: Vec<String> = match axis {
            Some(axis) => {
                let values = axis.values.iter();
                values.map(|it| it.to_string_lossy().into_owned()).collect()
            }
            None => vec![report::machine_text(self.first())],
        };
        let numbers = values.iter().map(|value| value.parse::<f64>().ok());
        let numbers = numbers.collect::<Option<Vec<f64>>>();
        let mut series: Vec<Series> = Vec::new();
        let place_of = |value: &str| values.iter().position(|known| known == value);
        let is_named = self.given.axes().count() > 1;
        for (point, results) in self.points.iter().zip(&measured.results) {
            let (first, others) = match point.label.split_first() {
                Some(((_, value), others)) => (&**value, others),
                None => (&*values[0], &[][..]),
            };
            let place = place_of(first).unwrap_or(0);
            let x = numbers
                .as_ref()
                .map_or(place as f64, |numbers| numbers[place]);
            for result in results {
                let name = if is_named {
                    let others = others.iter().map(|(_, value)| &**value);
                    let name = short(result.strategy);
                    std::iter::once(&*name)
                        .chain(others)
                        .collect::<Vec<_>>()
                        .join(", ")
                } else {
                    result.strategy.to_string()
                };
                let point = Point {
                    x,
                    y: self.drawn(result, metric, size),
                };
                match series.iter_mut().find(|series| series.name == name) {
                    Some(series) => series.points.push(point),
                    None => series.push(Series {
                        name,
                        points: vec![point],
                    }),
                }
            }
        }
        for series in &mut series {
            series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        let x_label = match axis.map(|axis| axis.setting.key) {
            Some("load" | "log-load") => "offered load (fraction of the processors)",
            Some(key) => key,
            None => "strategy",
        };
        Picture {
            title: tables::title(&metric.words()),
            subtitle: self.heading(),
            x_label: x_label.to_owned(),
            x_scale: match numbers {
                Some(_) => Scale::Linear,
                None => Scale::Categories(values),
            },
            y_label,
            series,
            stated: Vec::new(),
            layout: Layout::Page,
        }
    }

    fn drawn(&self, result: &StrategyResult, metric: Metric, size: f64) -> Option<plot::Measured> {
        let drawn = measured_in(result, metric, size)?;
        // With jobs that always wait every system is saturated, so this is not marked.
        let saturated = drawn.saturated && self.first().backlog.is_none();
        Some(plot::Measured { saturated, ..drawn })
    }
}

/// A metric as a point of a picture, in a unit that is `size` times as large as its own; `None`
/// where the system was saturated.
fn measured_in(result: &StrategyResult, metric: Metric, size: f64) -> Option<plot::Measured> {
    let number = |value: f64| value * metric.scale() / size;
    shown(result, metric).map(|estimate| plot::Measured {
        mean: number(estimate.mean),
        ci95: estimate.ci95.map(|Interval { low, high }| Interval {
            low: number(low),
            high: number(high),
        }),
        grows: grows(result, metric),
        saturated: result.saturated,
        refused: refused_percent(result).filter(|_| metric.is_of_served_jobs()),
    })
}

/// The axis of a metric in a picture with values up to `most`, and the size of its unit. Times are
/// shown in the chosen unit, or else a [readable](TimeUnit::readable) one.
fn axis_of(metric: Metric, unit: TimeUnit, chosen: Option<TimeChoice>, most: f64) -> (String, f64) {
    match metric.unit() {
        Unit::Time => {
            let readable = || unit.readable(most);
            let (size, name) = chosen.map_or_else(readable, TimeChoice::unit);
            (format!("{} ({name})", metric.words()), size)
        }
        _ => (metric.label(unit.symbol()), 1.0),
    }
}

/// The abbreviation of a strategy, or its name if it has none, with its parameters.
pub(super) fn short(kind: StrategyKind) -> String {
    let (name, text) = (kind.name(), kind.to_string());
    let alias = kind.info().aliases.first().copied().unwrap_or(name);
    text.replacen(name, alias, 1)
}

/// The columns behind those of the settings with several values, and what they have.
pub(crate) const COLUMNS: [(&str, &str); 7] = [
    ("strategy", "Allocation strategy with its parameters."),
    (
        "metric",
        "Name of the [metric](metrics.md); times are in seconds or cycles.",
    ),
    (
        "mean",
        "Mean over the replications; empty where a synthetic workload saturates the strategy, so \
         that it would depend on the length of the run.",
    ),
    (
        "low",
        "Lower end of its 95 % confidence interval; empty with one replication.",
    ),
    ("high", "Upper end of this interval."),
    (
        "replications",
        "The number of replications that had something to measure.",
    ),
    (
        "state",
        "Why the mean says less than it seems to: `saturated`, `grows` (with the length of the \
         run), `partial` (over less than 99 % of the jobs) or `unestimated` (some jobs have no \
         estimate); else empty.",
    ),
];

/// A study of several points.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "reference", schemars(rename = "Study"))]
pub(crate) struct StudyDocument<'a> {
    /// The program's name.
    program: &'a str,
    /// The program's version.
    version: &'a str,
    /// The settings with several values.
    axes: Vec<&'a str>,
    /// Why replications are missing; absent if none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<&'a str>,
    /// One for each point, the last axis changing fastest.
    points: Vec<PointDocument>,
}

/// A point of a study.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct PointDocument {
    /// What was run, as in the document of one point.
    scenario: Value,
    /// The log; absent for a synthetic workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<LogJson>,
    /// One for each strategy.
    results: Vec<StrategySummary>,
}
