//! `cargo xtask benchmarks`: the benchmark against `guillotiere`, as the table of `benchmarks.md`.

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::tables::{Row, Table, markdown};

/// The options of the chores that write a table into its page.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the table into its page
    #[arg(long)]
    pub(crate) update: bool,
}

pub(crate) const TABLE: Table = Table {
    page: "docs/measurements/benchmarks.md",
    name: "guillotiere",
};
const COLUMNS: [&str; 3] = [
    "mesh, side lengths, offered",
    "allocator",
    "operations a second, guillotiere = 1",
];

/// Runs the benchmark and prints the table.
pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    let bench = cmd!(
        sh,
        "cargo bench -p meshalloc-tests --bench beside_guillotiere"
    );
    let output = bench.ignore_status().output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let rows = rows(&printed);
    ensure!(
        !rows.is_empty(),
        "the benchmark printed no rows:\n{printed}"
    );
    println!("{}", markdown(&COLUMNS, &rows));
    if options.update {
        TABLE.write(&COLUMNS, &rows)?;
    }
    // A ratio below its least one is an error, and stands in the table.
    ensure!(output.status.success(), "the benchmark failed:\n{printed}");
    Ok(())
}

/// The ratios in what the benchmark prints.
fn rows(printed: &str) -> Vec<Row> {
    let (mut setting, mut rows) = (String::new(), Vec::new());
    for line in printed.lines() {
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            setting = line.split(", ").take(3).collect::<Vec<_>>().join(", ");
            continue;
        }
        // The name; then operations a second, nanoseconds each, and the ratio.
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = words.iter().position(|word| word.parse::<f64>().is_ok());
        let ratio = |at: usize| words.get(at + 2)?.parse::<f64>().ok();
        if let Some((at, ratio)) = number
            .filter(|&at| at > 0)
            .and_then(|at| Some((at, ratio(at)?)))
        {
            rows.push(vec![
                setting.clone(),
                words[..at].join(" "),
                format!("{ratio:.3}"),
            ]);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    #[test]
    fn rows_are_read_from_what_the_benchmark_prints() {
        let printed = "\n64 x 64, sides 1..=16, 50 % of the nodes on offer, 20000 operations\n\
            allocator              operations/s  ns each  x guillotiere        refused\n\
            first fit                  30000000     33.3          1.664      0   0.00%\n";
        let setting = "64 x 64, sides 1..=16, 50 % of the nodes on offer";
        assert_eq!(super::rows(printed), [[setting, "first fit", "1.664"]]);
    }
}
