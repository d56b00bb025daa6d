//! The tables of `compare`.

use std::io::Write;
use std::ops::Range;

use super::{Comparison, Row, short};
use crate::failure::{Failure, Incomplete};
use crate::report::{self, cell, fits, table, trimmed};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::parameters;
use meshalloc_sim::workload::TimeUnit;

pub(super) fn write_tables(
    compared: &Comparison<'_>,
    rows: &[Row],
    incomplete: Option<&Incomplete>,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(output, "{}", compared.parameters())?;
    let log = compared.any().workload.log();
    if let Some(log) = log.filter(|log| log.has_more || log.lines.left_out().next().is_some()) {
        writeln!(output, "{}", report::log_line(log))?;
    }
    let mut metrics = vec![
        Metric::WaitingDelay,
        Metric::AllocationMiss,
        Metric::Utilization,
        Metric::WaitingAtEnd,
    ];
    if !metrics.contains(&compared.args.draw) {
        metrics.push(compared.args.draw);
    }
    for metric in metrics {
        for (under, scheduler) in compared.scheduler_names().iter().enumerate() {
            // Not those that an interruption left without runs.
            let has_runs = |row: &&Row| row.results[under].iter().any(|it| !it.runs.is_empty());
            let rows: Vec<_> = rows.iter().filter(has_runs).collect();
            if rows.is_empty() {
                continue;
            }
            let shown = metric_table(compared, &rows, (under, scheduler), metric);
            writeln!(output, "\n{shown}")?;
        }
    }
    if let Some(note) = report::interval_note(rows.iter().flat_map(Row::all)) {
        writeln!(output, "{note}")?;
    }
    let misses = compared.schedulers.iter();
    if let Some(note) = misses.copied().find_map(parameters::misses_text) {
        writeln!(output, "{note}")?;
    }
    let hidden = |row: &Row| {
        row.all()
            .any(|result| result.saturated && !result.is_of_log)
    };
    if rows.iter().any(hidden) {
        writeln!(
            output,
            "saturated: the backlog grew over the run, or jobs were passed without end, so a mean would depend on the length of the run."
        )?;
    }
    for line in report::legend(rows.iter().flat_map(Row::all)) {
        writeln!(output, "{line}")?;
    }
    let Some(incomplete) = incomplete else {
        return Ok(());
    };
    let counts = |under: usize| {
        let count = move |row: &Row| {
            let runs = row.results[under].iter().map(|result| result.runs.len());
            (compared.load_text(row.load), runs.min().unwrap_or(0))
        };
        rows.iter().map(count).collect()
    };
    let schedulers = compared.scheduler_names().into_iter().enumerate();
    let counts: Vec<_> = schedulers
        .map(|(under, name)| (name, counts(under)))
        .collect();
    let counts = completed(&counts);
    let line = report::incomplete_line(incomplete, &counts);
    writeln!(output, "{line}")?;
    Ok(())
}

/// A metric under one scheduler, given by place and name: a title, and as many tables below each
/// other as the width requires.
pub(super) fn metric_table(
    compared: &Comparison<'_>,
    rows: &[&Row],
    (under, scheduler): (usize, &str),
    metric: Metric,
) -> String {
    // Of the strategies in these columns.
    let of = |names: &[String], columns: Range<usize>| {
        let names = names[columns.clone()].iter().cloned();
        let mut table = table(std::iter::once("load".to_owned()).chain(names));
        for row in rows {
            let results = row.results[under][columns.clone()].iter();
            let cells = results.map(|result| {
                if result.runs.is_empty() {
                    return "…".to_owned();
                }
                let refused = report::refused_percent(result);
                match refused.filter(|_| metric == Metric::WaitingDelay) {
                    Some(percent) => {
                        format!("{} ({percent} refused)", cell(result, metric))
                    }
                    None => cell(result, metric),
                }
            });
            let load = compared.load_text(row.load);
            table.add_row(std::iter::once(load).chain(cells));
        }
        trimmed(&table)
    };
    let count = compared.strategies.len();
    let long: Vec<_> = compared
        .strategies
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut shown = vec![of(&long, 0..count)];
    if !shown.iter().all(|table| fits(table)) {
        // With short names; below each other if that is not enough.
        let names: Vec<_> = compared
            .strategies
            .iter()
            .map(|&kind| short(kind))
            .collect();
        for most in (1..=count).rev() {
            let begins = (0..count).step_by(most);
            let columns = begins.map(|begin| begin..count.min(begin + most));
            shown = columns.map(|columns| of(&names, columns)).collect();
            if shown.iter().all(|table| fits(table)) {
                break;
            }
        }
    }
    let title = report::title(&metric.label(TimeUnit::Second));
    format!("{title}, {scheduler}\n{}", shown.join("\n\n"))
}

/// How many replications there are under each scheduler, at each load; one scheduler is not named.
fn completed(counts: &[(String, Vec<(String, usize)>)]) -> String {
    let is_one = counts.len() == 1;
    let of = |(scheduler, counts): &(String, Vec<(String, usize)>)| {
        let at = |(load, count): &(String, usize)| format!("{count} at {load}");
        let counts: Vec<_> = counts.iter().map(at).collect();
        let counts = counts.join(", ");
        match is_one {
            true => counts,
            false => format!("under {scheduler} {counts}"),
        }
    };
    counts.iter().map(of).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::completed;

    #[test]
    fn replications_are_counted_under_each_scheduler() {
        let counts = |runs: [usize; 2]| {
            let loads = [".3", ".4"].map(str::to_owned);
            loads.into_iter().zip(runs).collect::<Vec<_>>()
        };
        let (fcfs, easy) = (
            ("fcfs".to_owned(), counts([0, 2])),
            ("easy".to_owned(), counts([0, 1])),
        );
        assert_eq!(completed(std::slice::from_ref(&fcfs)), "0 at .3, 2 at .4");
        assert_eq!(
            completed(&[fcfs, easy]),
            "under fcfs 0 at .3, 2 at .4; under easy 0 at .3, 1 at .4"
        );
    }
}
