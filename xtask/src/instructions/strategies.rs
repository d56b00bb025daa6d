//! The instructions of a submit and a release, with each strategy for meshes.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use meshalloc::{Command, Configuration, Flags, JobId, Request, SchedulerKind, StrategyKind};

use super::MESH;
use super::count::{Spread, Step, instructions};
use crate::command::in_parallel;
use crate::image::Image;

/// Jobs that hold processors, or were refused, at any time of the measurement.
const JOBS: u32 = 64;
/// Jobs that leave and are replaced while it is measured.
const REPLACED: u32 = 192;

/// `names` are those of the strategies to be measured; none for all.
pub(super) fn table(image: &Image, names: &[String]) -> Result<String> {
    let is_wanted = |strategy: &StrategyKind| {
        names.is_empty() || names.iter().any(|name| name == strategy.name())
    };
    let strategies = StrategyKind::ALL.iter().copied();
    let strategies: Vec<_> = strategies
        .filter(|strategy| strategy.serves().includes(&MESH) && is_wanted(strategy))
        .collect();
    let rows = in_parallel(&strategies, |_, &strategy| {
        row(image, strategy).with_context(|| format!("counting the instructions of {strategy}"))
    })?;
    let mut text = String::from(
        "| strategy | jobs placed | submit, median | submit, most | release, median | release, most |\n|---|--:|--:|--:|--:|--:|\n",
    );
    text.push_str(&rows.concat());
    write!(
        text,
        "\nInstructions of the image with all strategies in QEMU, from the last byte of a command to that of its last reply, on a 64 x 64 mesh.\n{JOBS} jobs \
         of 1 to 15 by 1 to 15 processors fill it, then {REPLACED} times one leaves and another comes; those that find no place do not\nwait. Two digits.\n"
    )?;
    Ok(text)
}

fn row(image: &Image, strategy: StrategyKind) -> Result<String> {
    let configuration = Configuration {
        machine: MESH,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    let work = work();
    let (granted, counted) = instructions(image, configuration, &work)?;
    let spread = |is_submit: bool| {
        let commands = work.iter().zip(&counted);
        let of_kind = commands
            .filter(|((_, command), _)| matches!(command, Command::Submit { .. }) == is_submit);
        Spread::of(of_kind.map(|(_, &counted)| counted))
    };
    Ok(format!(
        "| `{}` | {granted} | {} | {} |\n",
        strategy.name(),
        spread(true)?.cells(),
        spread(false)?.cells()
    ))
}

/// Fills the mesh with jobs, then has one after the other leave, out of order, and another come.
fn work() -> Vec<Step> {
    let submit = |job: u32| Command::Submit {
        job: JobId(job),
        request: request(job).with_flags(Flags::NO_WAIT),
    };
    let mut jobs: Vec<u32> = (1..=JOBS).collect();
    let mut commands: Vec<_> = jobs.iter().copied().map(submit).collect();
    for job in (JOBS + 1..).take(REPLACED as usize) {
        let place = (job * 37 % JOBS) as usize;
        let leaves = std::mem::replace(&mut jobs[place], job);
        commands.push(Command::Release { job: JobId(leaves) });
        commands.push(submit(job));
    }
    commands.into_iter().map(|command| (0, command)).collect()
}

/// Sides of 1 to 15: 64 such jobs are as large as the mesh, about.
fn request(job: u32) -> Request {
    let (w, h) = (1 + job * 7 % 15, 1 + job * job * 11 / 4 % 15);
    Request::submesh(w as u16, h as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_about_as_large_as_the_mesh() {
        assert_eq!(work().len() as u32, JOBS + 2 * REPLACED);
        let processors: u32 = (1..=JOBS).map(|job| request(job).processors).sum();
        assert!((3000..5500).contains(&processors), "{processors}");
    }
}
