//! `cargo xtask round-trips`: how long a client waits for an answer over the line of QEMU.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use meshalloc::{
    Command, Configuration, Flags, Grid, JobId, Reply, Request, SchedulerKind, StrategyKind,
};
use meshalloc_firmware::{Client, Line};

use crate::emulator::Emulator;
use crate::tables::Table;
use crate::{image, setup};

/// The options of `cargo xtask round-trips`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the table into its page
    #[arg(long)]
    update: bool,
}

const IMAGES: [(&str, &str); 2] = [
    ("without a journal", "qemu"),
    ("with a journal", "qemu,journal"),
];
const TABLE: Table = Table {
    page: "docs/measurements/round-trips.md",
    name: "round trips",
};
/// Pings, and jobs that come and leave.
const EACH: u32 = 1000;
/// Jobs that run meanwhile.
const RUNNING: u32 = 32;

/// Builds the images, measures them and prints the table.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::board(image::MAIN)?;
    let names = ["ping", "submit", "release"];
    let columns = names.map(|name| format!("{name}, median | {name}, 99 %"));
    let mut table = format!(
        "| image | {} |\n|---|{}\n",
        columns.join(" | "),
        "--:|".repeat(6)
    );
    for (name, features) in IMAGES {
        image::build(image::MAIN, &image::build_command(image::MAIN, features))?;
        let (_emulator, mut client) = Emulator::start(&[])?;
        let cells = measure(&mut client)?.map(|mut times| {
            times.sort_unstable();
            let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e3;
            format!("{:.2} | {:.2}", at(50), at(99))
        });
        writeln!(table, "| {name} | {} |", cells.join(" | "))?;
    }
    println!("\n{table}");
    if options.update {
        TABLE.write(&table)?;
    }
    Ok(())
}

/// The times of pings, submits and releases.
fn measure(client: &mut Client<impl Line>) -> Result<[Vec<Duration>; 3]> {
    let configuration = Configuration {
        machine: Grid::mesh(&[64, 64])?,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    for command in [Command::Reset, Command::Configure(configuration)] {
        call(client, &command)?;
    }
    for job in 1..=RUNNING {
        call(client, &submit(job))?;
    }
    let mut times = [const { Vec::new() }; 3];
    let [pings, submits, releases] = &mut times;
    for job in (RUNNING + 1..).take(EACH as usize) {
        let begin = Instant::now();
        client.hello()?;
        pings.push(begin.elapsed());
        submits.push(call(client, &submit(job))?);
        let leaves = JobId(job - RUNNING);
        releases.push(call(client, &Command::Release { job: leaves })?);
    }
    Ok(times)
}

/// Sides of 1 to 8.
fn submit(job: u32) -> Command {
    let (w, h) = (1 + job * 7 % 8, 1 + job / 8 % 8);
    Command::Submit {
        job: JobId(job),
        request: Request::submesh(w as u16, h as u16).with_flags(Flags::NO_WAIT),
    }
}

/// How long the command takes.
fn call(client: &mut Client<impl Line>, command: &Command) -> Result<Duration> {
    let mut refused = None;
    let begin = Instant::now();
    client.call(command, None, &mut |reply| {
        if let Reply::Error(error) = reply {
            refused = Some(*error);
        }
    })?;
    let elapsed = begin.elapsed();
    match refused {
        Some(error) => bail!("{command:?} is refused: {error}"),
        None => Ok(elapsed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_the_table() {
        assert!(TABLE.read().is_ok());
    }
}
