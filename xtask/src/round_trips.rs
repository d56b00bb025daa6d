//! `cargo xtask round-trips`: how long a client waits for an answer over the line of QEMU.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use meshalloc::{Change, Configuration, Flags, Grid, JobId, Request, SchedulerKind, StrategyKind};
use meshalloc_firmware::{Client, Line};
use xshell::Shell;

use crate::benchmarks::Options;
use crate::emulator::Emulator;
use crate::image::{Image, MAIN};
use crate::setup;
use crate::tables::{Table, markdown};

pub(crate) const TABLE: Table = Table {
    page: "docs/measurements/round-trips.md",
    name: "round trips",
};
const COLUMNS: [&str; 7] = [
    "image",
    "ping, median",
    "ping, 99 %",
    "submit, median",
    "submit, 99 %",
    "release, median",
    "release, 99 %",
];
/// Pings, and jobs that come and leave.
const EACH: u32 = 1000;
/// Jobs that run meanwhile.
const RUNNING: u32 = 32;

/// Builds the images, measures them and prints the table.
pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    setup::target_and_emulator(sh, MAIN)?;
    let mut rows = Vec::new();
    for (name, features) in [
        ("without a journal", "qemu"),
        ("with a journal", "qemu,journal"),
    ] {
        let image = Image::build(sh, MAIN, features, true)?;
        let (_emulator, mut client) = Emulator::start(&image, &[])?;
        let mut row = vec![name.to_owned()];
        for mut times in measure(&mut client)? {
            times.sort_unstable();
            let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1e3;
            row.extend([50, 99].map(|percent| format!("{:.2}", at(percent))));
        }
        rows.push(row);
    }
    println!("\n{}", markdown(&COLUMNS, &rows));
    if options.update {
        TABLE.write(&COLUMNS, &rows)
    } else {
        Ok(())
    }
}

/// The times of pings, submits and releases.
fn measure(client: &mut Client<impl Line>) -> Result<[Vec<Duration>; 3]> {
    let configuration = Configuration {
        machine: Grid::mesh(&[64, 64])?,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    for command in [Change::Reset, Change::Configure(configuration)] {
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
        releases.push(call(client, &Change::Release { job: leaves })?);
    }
    Ok(times)
}

/// Sides of 1 to 8.
fn submit(job: u32) -> Change {
    let (w, h) = (1 + job * 7 % 8, 1 + job / 8 % 8);
    Change::submit(
        JobId(job),
        Request::submesh(w as u16, h as u16).with_flags(Flags::NO_WAIT),
    )
}

/// How long the command takes.
fn call(client: &mut Client<impl Line>, command: &Change) -> Result<Duration> {
    let begin = Instant::now();
    let outcome = client.call(command, None, &mut |_, _| ())?;
    let elapsed = begin.elapsed();
    match outcome {
        Err(error) => bail!("{command:?} is refused: {error}"),
        Ok(_) => Ok(elapsed),
    }
}
