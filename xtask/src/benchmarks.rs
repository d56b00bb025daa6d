//! `cargo xtask benchmarks`: the benchmark against `guillotiere`, as the table of `benchmarks.md`.

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use crate::command::Cmd;
use crate::measurements::Table;

/// The options of `cargo xtask benchmarks`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the table into its page
    #[arg(long)]
    update: bool,
}

const TABLE: Table = Table {
    page: "benchmarks.md",
    name: "guillotiere",
};
/// The benchmark prints a line for each allocator, with its name in as many columns.
const NAME_COLUMNS: usize = 22;

/// Runs the benchmark and prints the table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let printed = Cmd::new("cargo bench -p meshalloc-tests --bench beside_guillotiere").output()?;
    let table = table(&printed)?;
    println!("{table}");
    match options.update {
        true => TABLE.write(&table),
        false => Ok(()),
    }
}

/// The ratios in what the benchmark prints.
fn table(printed: &str) -> Result<String> {
    let mut text = String::from(
        "| mesh, side lengths, offered | allocator | operations a second, guillotiere = 1 |\n\
         |---|---|--:|\n",
    );
    let (mut setting, mut rows) = (String::new(), 0);
    for line in printed.lines() {
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            setting = line.split(", ").take(3).collect::<Vec<_>>().join(", ");
            continue;
        }
        let Some((name, numbers)) = line.split_at_checked(NAME_COLUMNS) else {
            continue;
        };
        // Operations a second, nanoseconds each, the ratio.
        let mut numbers = numbers.split_whitespace().map(str::parse::<f64>);
        if let (Some(Ok(_)), Some(Ok(_)), Some(Ok(ratio))) =
            (numbers.next(), numbers.next(), numbers.next())
        {
            writeln!(text, "| {setting} | {} | {ratio:.2} |", name.trim())?;
            rows += 1;
        }
    }
    ensure!(rows > 0, "the benchmark printed no rows:\n{printed}");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_from_what_the_benchmark_prints() {
        let printed = "\n64 x 64, sides 1..=16, 50 % of the nodes on offer, 20000 operations\n\
            allocator              operations/s  ns each  x guillotiere        refused\n\
            first fit                  30000000     33.3          1.664      0   0.00%\n";
        let table = table(printed).unwrap();
        let row = "| 64 x 64, sides 1..=16, 50 % of the nodes on offer | first fit | 1.66 |\n";
        assert!(table.ends_with(row), "{table}");
        assert!(super::table("nothing").is_err());
        assert!(TABLE.read().is_ok());
    }
}
