//! The instructions of every command, with each strategy.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use meshalloc::{
    Command, Configuration, Cube, Flags, Grid, JobId, NodeId, Request, SchedulerKind, Shape,
    StrategyKind,
};

use super::MESH;
use super::count::{Spread, Step, instructions, rounded};
use crate::command::in_parallel;
use crate::image::Image;

/// Of as many processors as the mesh, for strategies that do not serve that.
const CUBE: Grid = match Cube::new(2, 12) {
    Ok(cube) => cube.grid(),
    Err(_) => panic!("2^12 is a cube"),
};
/// Jobs that hold processors, or were refused, at any time of the measurement.
const JOBS: u32 = 64;
/// Jobs that leave and are replaced while it is measured.
const REPLACED: u32 = 160;
/// After how many of these all other commands are measured.
const EVERY: u32 = 5;

/// A kind of command.
type Kind = (&'static str, fn(&Command) -> bool);

/// The columns of the table.
const KINDS: [Kind; 14] = [
    ("submit", |command| {
        matches!(command, Command::Submit { .. })
    }),
    ("release", |command| {
        matches!(command, Command::Release { .. })
    }),
    ("submit leased", |command| {
        matches!(command, Command::SubmitLeased { .. })
    }),
    ("lease", |command| matches!(command, Command::Lease { .. })),
    ("mark faulty", |command| {
        matches!(command, Command::MarkFaulty { .. })
    }),
    ("clear faulty", |command| {
        matches!(command, Command::ClearFaulty { .. })
    }),
    ("query job", |command| {
        matches!(command, Command::QueryJob { .. })
    }),
    ("blocks", |command| {
        matches!(command, Command::Blocks { .. })
    }),
    ("list jobs", |command| {
        matches!(command, Command::ListJobs { on: None, .. })
    }),
    ("jobs on a row", |command| {
        matches!(command, Command::ListJobs { on: Some(_), .. })
    }),
    ("occupancy", |command| {
        matches!(command, Command::Occupancy { .. })
    }),
    ("statistics", |command| {
        matches!(command, Command::Statistics)
    }),
    ("reset", |command| matches!(command, Command::Reset)),
    ("configure", |command| {
        matches!(command, Command::Configure(_))
    }),
];

/// `names` are those of the strategies to be measured; none for all.
pub(super) fn table(image: &Image, names: &[String]) -> Result<String> {
    let is_wanted = |strategy: &StrategyKind| {
        names.is_empty() || names.iter().any(|name| name == strategy.name())
    };
    let strategies = StrategyKind::ALL.iter().copied();
    let strategies: Vec<_> = strategies.filter(is_wanted).collect();
    let rows = in_parallel(&strategies, |_, &strategy| {
        row(image, strategy).with_context(|| format!("counting the instructions of {strategy}"))
    })?;
    let names = KINDS.map(|(name, _)| name).join(" | ");
    let mut text = format!(
        "| strategy | jobs placed | {names} |\n|---|--:|{}\n",
        "--:|".repeat(KINDS.len())
    );
    text.push_str(&rows.concat());
    Ok(text)
}

fn row(image: &Image, strategy: StrategyKind) -> Result<String> {
    let machine = match strategy.serves().includes(&MESH) {
        true => MESH,
        false => CUBE,
    };
    let configuration = Configuration {
        machine,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    let work = work(configuration)?;
    let (granted, counted) = instructions(image, configuration, &work)?;
    let mut row = format!("| `{}` | {granted} ", strategy.name());
    for (name, is_kind) in KINDS {
        let commands = work.iter().zip(&counted);
        let of_kind = commands.filter(|((_, command), _)| is_kind(command));
        let spread = Spread::of(of_kind.map(|(_, &counted)| counted)).context(name)?;
        let thousands = |count: u64| rounded(count) as f64 / 1e3;
        write!(
            row,
            "| {} / {} ",
            thousands(spread.median),
            thousands(spread.most)
        )?;
    }
    row.push_str("|\n");
    Ok(row)
}

/// Fills the machine with jobs, then has one after the other leave, out of order, and another come;
/// in between, all other commands.
fn work(configuration: Configuration) -> Result<Vec<Step>> {
    let machine = configuration.machine;
    let submit = |job: u32| Command::Submit {
        job: JobId(job),
        request: request(machine, job).with_flags(Flags::NO_WAIT),
    };
    let mut jobs: Vec<u32> = (1..=JOBS).collect();
    let mut commands: Vec<_> = jobs.iter().copied().map(submit).collect();
    let mut row = vec![1; machine.dimensions()];
    row[0] = machine.side(0);
    for job in (JOBS + 1..).take(REPLACED as usize) {
        let place = (job * 37 % JOBS) as usize;
        let leaves = std::mem::replace(&mut jobs[place], job);
        commands.push(Command::Release { job: JobId(leaves) });
        if !job.is_multiple_of(EVERY) {
            commands.push(submit(job));
            continue;
        }
        let node = NodeId(job * 1021 % machine.nodes());
        let block = machine.unit(node).context("a processor of the machine")?;
        let mut start = machine.coordinates(node).context("the same")?.to_vec();
        start[0] = 0;
        let other = JobId(jobs[(place + 1) % jobs.len()]);
        commands.extend([
            Command::SubmitLeased {
                job: JobId(job),
                request: request(machine, job).with_flags(Flags::NO_WAIT),
                ticks: 1000,
            },
            Command::Lease {
                job: other,
                ticks: 1000,
            },
            Command::MarkFaulty { block },
            Command::ClearFaulty { block },
            Command::QueryJob { job: other },
            Command::Blocks {
                job: other,
                from: 0,
            },
            Command::ListJobs { on: None, from: 0 },
            Command::ListJobs {
                on: machine.block(&start, &row),
                from: 0,
            },
            Command::Occupancy { from: NodeId(0) },
            Command::Statistics,
        ]);
    }
    commands.extend([Command::Reset, Command::Configure(configuration)]);
    Ok(commands.into_iter().map(|command| (0, command)).collect())
}

/// 64 such jobs are as large as the machine, about.
fn request(machine: Grid, job: u32) -> Request {
    if machine == MESH {
        let (w, h) = (1 + job * 7 % 15, 1 + job * job * 11 / 4 % 15);
        return Request::submesh(w as u16, h as u16);
    }
    let extents = &[2; 8][..(job * 7 % 9) as usize];
    Request::new(Shape::new(extents).expect("extents of the cube"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_about_as_large_as_the_machine_and_has_each_kind() {
        for (machine, strategy) in [
            (MESH, StrategyKind::FirstFit),
            (CUBE, StrategyKind::TreeCollapsing),
        ] {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler: SchedulerKind::Fcfs,
            };
            let work = work(configuration).unwrap();
            let changes = work.iter().filter(|(_, command)| command.changes_state());
            // The image keeps as many.
            assert!(changes.count() <= 512);
            for (name, is_kind) in KINDS {
                assert!(work.iter().any(|(_, command)| is_kind(command)), "{name}");
            }
            let processors: u32 = (1..=JOBS).map(|job| request(machine, job).processors).sum();
            assert!((3000..5500).contains(&processors), "{processors}");
        }
    }
}
