//! Tables on the terminal: their style and width, the cells of metrics, and what marks in them
//! mean.

use std::borrow::Cow;
use std::sync::LazyLock;

use clap::ValueEnum;
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::metrics::{Metric, Unit};
use meshalloc_sim::parameters::without_estimate_text;
use meshalloc_sim::results::{Mark, is_hidden, shown};
use meshalloc_sim::statistics::Estimate;
use meshalloc_sim::wording::{alone, number};
use meshalloc_sim::workload::TimeUnit;

/// The width of tables in characters: that of the terminal, or 80 where standard output is none.
pub(crate) fn width() -> usize {
    static WIDTH: LazyLock<usize> = LazyLock::new(|| {
        let size = console::Term::stdout().size_checked();
        let columns = size.map(|(_, columns)| usize::from(columns));
        columns.filter(|&columns| columns > 0).unwrap_or(80)
    });
    *WIDTH
}

/// An empty table in the style of all tables; the first column is text, the others are numbers.
pub(crate) fn table(headers: impl IntoIterator<Item = impl Into<Cell>>) -> Table {
    let line = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(line));
    table.set_header(headers);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
        if column.index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Whether no line of a table is longer than [`width`].
pub(crate) fn fits(table: &str) -> bool {
    let mut lines = table.lines();
    lines.all(|line| line.chars().count() <= width())
}

/// The table without blanks at the ends of lines.
pub(crate) fn trimmed(table: &Table) -> String {
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

pub(crate) fn title(words: &str) -> String {
    let (first, rest) = words.split_at(1);
    first.to_uppercase() + rest
}

/// A bar for a part of 1, of at most `width` characters.
pub(crate) fn bar(part: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part.clamp(0.0, 1.0) * 8.0 * width as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A metric in a table: `47.9 ± 1.2`, the same with [marks](Mark), `saturated` or `-`.
pub(crate) fn cell(result: &StrategyResult, metric: Metric) -> String {
    cell_in(result, metric, 1.0)
}

/// A metric in a table, as [`cell`] has it, with times in a unit of this size.
pub(crate) fn cell_in(result: &StrategyResult, metric: Metric, size: f64) -> String {
    if is_hidden(result, metric) {
        let mark = Mark::Unestimated;
        let is_marked = mark.is_on(result, metric);
        let mark = is_marked.then(|| format!(" {}", symbol(mark)));
        return format!("saturated{}", mark.unwrap_or_default());
    }
    let mut text = match &result.metrics[metric] {
        Some(Estimate {
            mean, ci95: None, ..
        }) if metric.unit() == Unit::Count && mean.fract() == 0.0 => mean.to_string(),
        Some(estimate) => match metric.unit() {
            Unit::Time => number(estimate, 1.0 / size),
            Unit::SquareTime => number(estimate, 1.0 / (size * size)),
            _ => number(estimate, metric.scale()),
        },
        None => return "-".to_owned(),
    };
    let marks = Mark::ALL.into_iter();
    let mut marks = marks.filter(|mark| mark.is_on(result, metric)).peekable();
    if marks.peek().is_some() {
        text.push(' ');
    }
    text.extend(marks.map(symbol));
    text
}

const fn symbol(mark: Mark) -> char {
    match mark {
        Mark::Grows => '↑',
        Mark::Saturated => '†',
        Mark::Partial => '*',
        Mark::Unestimated => '‡',
    }
}

fn meaning(mark: Mark, result: &StrategyResult) -> Cow<'static, str> {
    let text = match mark {
        Mark::Grows => "the mean still grows with the length of the run; use more --jobs.",
        Mark::Saturated => {
            "saturated: the backlog grew, so the mean depends on where the log ends."
        }
        Mark::Partial => {
            "a mean over less than 99 % of the measured jobs; the others were refused or\n\
             left behind."
        }
        Mark::Unestimated => return without_estimate_text(result.without_estimate).into(),
    };
    text.into()
}

/// The meanings of the marks on these results, in one line each.
pub(crate) fn legend<'r>(results: impl Iterator<Item = &'r StrategyResult>) -> Vec<String> {
    // For each mark, the first result that has it.
    let mut used = [None; Mark::ALL.len()];
    for result in results {
        for (used, mark) in used.iter_mut().zip(Mark::ALL) {
            let mut metrics = Metric::ALL.into_iter();
            if used.is_none() && metrics.any(|metric| mark.is_on(result, metric)) {
                *used = Some(result);
            }
        }
    }
    let marks = Mark::ALL.into_iter().zip(used);
    marks
        .filter_map(|(mark, result)| {
            let meaning = meaning(mark, result?);
            Some(format!("{}: {meaning}", symbol(mark)))
        })
        .collect()
}

/// Measured jobs that were refused, in percent of all; `None` where none was.
pub(crate) fn refused_percent(result: &StrategyResult) -> Option<String> {
    let refused = result.refused.total();
    let percent = || 100.0 * refused as f64 / result.measured() as f64;
    (refused > 0).then(|| format!("{} %", alone(percent())))
}

/// The unit of times in tables and pictures.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeChoice {
    /// Seconds.
    S,
    /// Minutes.
    #[value(alias = "m")]
    Min,
    /// Hours.
    H,
    /// Days.
    D,
}

impl TimeChoice {
    /// Its length in seconds, and its symbol.
    pub(crate) const fn unit(self) -> (f64, &'static str) {
        match self {
            TimeChoice::S => (1.0, "s"),
            TimeChoice::Min => (60.0, "min"),
            TimeChoice::H => (3_600.0, "h"),
            TimeChoice::D => (86_400.0, "d"),
        }
    }
}

/// The size and the symbol of the unit in which a table has a metric of these results. It is the
/// chosen unit; else, for a log, a unit that people can read easily.
pub(crate) fn time_unit<'r>(
    metric: Metric,
    unit: TimeUnit,
    chosen: Option<TimeChoice>,
    results: impl Iterator<Item = &'r StrategyResult>,
) -> (f64, &'static str) {
    if let Some(chosen) = chosen {
        return chosen.unit();
    }
    let times = results.filter(|result| result.is_of_log && unit == TimeUnit::Second);
    let means = times.filter_map(|result| match metric.unit() {
        Unit::Time => Some(shown(result, metric)?.mean),
        Unit::SquareTime => Some(shown(result, metric)?.mean.sqrt()),
        _ => None,
    });
    unit.readable(means.fold(0.0, f64::max))
}
