//! `cargo xtask benchmarks`: the benchmark against `guillotiere`, as the table of `benchmarks.md`.

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use crate::command::Cmd;
use crate::tables::Table;

/// The options of `cargo xtask benchmarks`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the table into its page
    #[arg(long)]
    update: bool,
}

const TABLE: Table = Table {
    page: "docs/measurements/benchmarks.md",
    name: "guillotiere",
};

/// Runs the benchmark and prints the table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut printed = String::new();
    let met =
        Cmd::new("cargo bench -p meshalloc-tests --bench beside_guillotiere").run_watched(|line| {
            println!("{line}");
            printed.push_str(line);
            printed.push('\n');
        });
    let table = table(&printed)?;
    if options.update {
        TABLE.write(&table)?;
    }
    // A ratio below its least one is an error, and stands in the table.
    met
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
        // The name; then operations a second, nanoseconds each, and the ratio.
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_number = |word: &&str| word.parse::<f64>().is_ok();
        let Some(at) = words.iter().position(is_number).filter(|&at| at > 0) else {
            continue;
        };
        let ratio = words.get(at + 2).and_then(|word| word.parse::<f64>().ok());
        if let Some(ratio) = ratio {
            writeln!(
                text,
                "| {setting} | {} | {ratio:.3} |",
                words[..at].join(" ")
            )?;
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
        let row = "| 64 x 64, sides 1..=16, 50 % of the nodes on offer | first fit | 1.664 |\n";
        assert!(table.ends_with(row), "{table}");
        assert!(super::table("nothing").is_err());
        assert!(TABLE.read().is_ok());
    }
}
