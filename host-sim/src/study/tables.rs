//! The tables of a study of several points: one for each metric and each combination of the other
//! axes, with the values of the first axis as rows and strategies as columns.

use std::io::Write;

use meshalloc::StrategyKind;

use super::{Study, short};
use crate::failure::Failure;
use crate::measured::{Measured, Results};
use crate::report;
use crate::tables::{self, cell_in, fits, refused_percent, table, trimmed};
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::parameters;
use meshalloc_sim::wording::wrapped;

/// The points that differ in the first axis only.
struct Group<'s> {
    /// The values of the other axes.
    others: String,
    /// The value of the first axis, and the results there.
    rows: Vec<(String, &'s [StrategyResult])>,
}

impl Study {
    fn groups<'s>(&'s self, results: &'s Results) -> Vec<Group<'s>> {
        let mut groups: Vec<Group<'s>> = Vec::new();
        for (point, results) in self.points.iter().zip(results) {
            let (value, others) = match point.label.split_first() {
                Some(((_, value), others)) => (value.clone(), others),
                None => (
                    self.load_of(point).unwrap_or_else(|| "-".to_owned()),
                    &[][..],
                ),
            };
            let pairs = others.iter().map(|(key, value)| format!("{key}={value}"));
            let others = pairs.collect::<Vec<_>>().join(" ");
            let row = (value, &**results);
            match groups.iter_mut().find(|group| group.others == others) {
                Some(group) => group.rows.push(row),
                None => groups.push(Group {
                    others,
                    rows: vec![row],
                }),
            }
        }
        groups
    }

    /// The tables of a metric, each with a title. For a study that is under way the tables also
    /// have rows without runs.
    pub(super) fn metric_tables(
        &self,
        metric: Metric,
        results: &Results,
        is_under_way: bool,
    ) -> Vec<String> {
        let all = results.iter().flatten();
        let (size, time) = tables::time_unit(metric, self.unit(), self.time_unit, all);
        let title = tables::title(&metric.label(time));
        let axis = self.points[0].label.first();
        let axis = axis.map_or("load", |(key, _)| key);
        let groups = self.groups(results);
        let tables = groups.iter().filter_map(|group| {
            let table = group.table(axis, metric, size, is_under_way)?;
            Some(match &*group.others {
                "" => format!("{title}\n{table}"),
                others => format!("{title}, {others}\n{table}"),
            })
        });
        tables.collect()
    }

    pub(super) fn tables(
        &self,
        metrics: &[Metric],
        measured: &Measured,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        writeln!(output, "{}", self.heading())?;
        let experiments = || self.points.iter().map(|point| &point.experiment);
        let logs = experiments().filter_map(|experiment| experiment.workload.log());
        let odd = logs.filter(|log| log.has_more || log.lines.left_out().next().is_some());
        for line in names::each_once(odd.map(report::log_line)) {
            writeln!(output, "{line}")?;
        }
        for &metric in metrics {
            for table in self.metric_tables(metric, &measured.results, false) {
                writeln!(output, "\n{table}")?;
            }
        }
        let all = || measured.results.iter().flatten();
        if let Some(note) = report::interval_note(all()) {
            writeln!(output, "{note}")?;
        }
        let mut schedulers = experiments().map(|experiment| experiment.scheduler);
        if let Some(note) = schedulers.find_map(parameters::misses_text) {
            writeln!(output, "{note}")?;
        }
        let is_hidden = |result: &StrategyResult| {
            let mut metrics = metrics.iter();
            metrics.any(|&metric| meshalloc_sim::results::is_hidden(result, metric))
        };
        if all().any(is_hidden) {
            const SATURATED: &str = "saturated: the backlog grew over the run, or jobs were passed \
                 without end, so a mean would depend on the length of the run.";
            for line in wrapped(SATURATED, tables::width()) {
                writeln!(output, "{line}")?;
            }
        }
        for line in tables::legend(all()) {
            writeln!(output, "{line}")?;
        }
        if let Some(incomplete) = &measured.incomplete {
            let counts = completed(&self.groups(&measured.results));
            let line = report::incomplete_line(incomplete, &counts);
            writeln!(output, "{line}")?;
        }
        Ok(())
    }
}

impl Group<'_> {
    /// The table of a metric with times in a unit of this size, unless an interruption left the
    /// table without runs. A table that is too wide has short names, and is in parts below each
    /// other.
    fn table(&self, axis: &str, metric: Metric, size: f64, is_under_way: bool) -> Option<String> {
        let has_runs = |results: &&[StrategyResult]| results.iter().any(|it| !it.runs.is_empty());
        let rows: Vec<_> = self
            .rows
            .iter()
            .filter(|(_, it)| is_under_way || has_runs(it))
            .collect();
        let kinds = rows.iter().flat_map(|(_, results)| results.iter());
        let kinds: Vec<StrategyKind> = names::each_once(kinds.map(|result| result.strategy));
        if kinds.is_empty() {
            return None;
        }
        let of = |kinds: &[StrategyKind], name: &dyn Fn(StrategyKind) -> String| {
            let names = kinds.iter().map(|&kind| name(kind));
            let mut table = table(std::iter::once(axis.to_owned()).chain(names));
            for (value, results) in &rows {
                let cells = kinds.iter().map(|&kind| {
                    let mut results = results.iter();
                    let result = results.find(|result| result.strategy == kind);
                    result.map_or_else(String::new, |result| {
                        if result.runs.is_empty() {
                            return "…".to_owned();
                        }
                        let text = cell_in(result, metric, size);
                        match refused_percent(result) {
                            Some(percent) if metric == Metric::WaitingDelay => {
                                format!("{text} ({percent} refused)")
                            }
                            _ => text,
                        }
                    })
                });
                table.add_row(std::iter::once(value.clone()).chain(cells));
            }
            trimmed(&table)
        };
        let whole = of(&kinds, &|kind| kind.to_string());
        if fits(&whole) {
            return Some(whole);
        }
        let parts = |most: usize| -> Vec<String> {
            kinds.chunks(most).map(|kinds| of(kinds, &short)).collect()
        };
        let mut narrower = (1..=kinds.len()).rev().map(parts);
        let shown = narrower.find(|tables| tables.iter().all(|table| fits(table)));
        Some(shown.unwrap_or_else(|| parts(1)).join("\n\n"))
    }
}

/// How many replications there are at each point.
fn completed(groups: &[Group<'_>]) -> String {
    let of = |group: &Group<'_>| {
        let at = |(value, results): &(String, &[StrategyResult])| {
            let runs = results.iter().map(|result| result.runs.len());
            format!("{} at {value}", runs.min().unwrap_or(0))
        };
        let counts: Vec<_> = group.rows.iter().map(at).collect();
        let counts = counts.join(", ");
        match &*group.others {
            "" => counts,
            others => format!("with {others} {counts}"),
        }
    };
    groups.iter().map(of).collect::<Vec<_>>().join("; ")
}
