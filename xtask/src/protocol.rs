//! The tables of `firmware/PROTOCOL.md` that are made from the tables of strategies and schedulers.

use anyhow::Result;
use meshalloc::{SchedulerKind, StrategyInfo, StrategyKind};

use crate::tables::Table;

/// Writes the tables.
pub(crate) fn write() -> Result<()> {
    for (table, text) in tables() {
        table.write(&text)?;
    }
    Ok(())
}

/// Whether the tables are those that would be written.
pub(crate) fn is_up_to_date() -> Result<bool> {
    let mut same = true;
    for (table, text) in tables() {
        same &= table.read()? == text.trim();
    }
    Ok(same)
}

/// The document.
pub(crate) const PAGE: &str = "firmware/PROTOCOL.md";

fn tables() -> [(Table, String); 2] {
    let named = |name| Table { page: PAGE, name };
    [
        (named("strategies"), strategies()),
        (named("schedulers"), schedulers()),
    ]
}

fn strategies() -> String {
    let rows = StrategyKind::ALL.iter().enumerate().map(|(number, kind)| {
        let info = kind.info();
        let parameters = parameters(info.parameters, unit(info));
        let serves = serves(*kind);
        format!("| {number} | `{}` | {parameters}| {serves} |\n", info.name)
    });
    "| number | strategy | parameters | serves |\n|---|---|---|---|\n".to_owned()
        + &rows.collect::<String>()
}

/// The machines that a strategy serves. The exponent of a page decides for paging, so the row names
/// it in place of a number.
fn serves(kind: StrategyKind) -> String {
    match kind {
        StrategyKind::Paging { order, .. } => {
            let exponent = 7;
            let pages = StrategyKind::Paging { order, exponent };
            pages.serves().to_string().replace('7', "exponent")
        }
        kind => kind.serves().to_string(),
    }
}

fn schedulers() -> String {
    let rows = SchedulerKind::INFO
        .iter()
        .enumerate()
        .map(|(number, info)| {
            let parameters = parameters(info.parameters, 1);
            format!("| {number} | `{}` | {parameters}|\n", info.name)
        });
    "| number | scheduler | parameters |\n|---|---|---|\n".to_owned() + &rows.collect::<String>()
}

/// In how many parts a number of the strategy is counted.
fn unit(info: &StrategyInfo) -> u64 {
    info.forms.iter().map(|form| form.unit).max().unwrap_or(1)
}

/// The cell of a list of names and types, with a blank behind each text.
fn parameters(parameters: &[(&str, &str)], unit: u64) -> String {
    let one = |&(name, kind): &(&str, &str)| {
        let kind = match (kind, unit) {
            ("Ticks", _) => "u64, ticks".to_owned(),
            ("u64", 1_000_000) => "u64, in millionths".to_owned(),
            ("u64", unit) if unit > 1 => format!("u64, in parts of 1/{unit}"),
            _ => kind.to_owned(),
        };
        format!("{name} {kind}").trim_start().to_owned()
    };
    let list: Vec<_> = parameters.iter().map(one).collect();
    match &list[..] {
        [] => String::new(),
        list => list.join(", ") + " ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_has_the_tables_of_this_build() {
        for (table, text) in tables() {
            assert_eq!(
                table.read().unwrap(),
                text.trim(),
                "cargo xtask docs writes it"
            );
        }
    }

    #[test]
    fn numbers_in_parts_say_so() {
        let cell = parameters(&[("ratio", "u64"), ("", "Threshold")], 8);
        assert_eq!(cell, "ratio u64, in parts of 1/8, Threshold ");
        assert_eq!(parameters(&[("after", "Ticks")], 1), "after u64, ticks ");
        assert_eq!(parameters(&[], 1), "");
    }
}
