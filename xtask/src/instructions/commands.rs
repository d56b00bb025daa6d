//! The instructions of every command, with each strategy.

use std::num::NonZeroU64;

use anyhow::{Context, Result};
use meshalloc::{
    Change, Configuration, Cube, Flags, Grid, JobId, NodeId, Query, Request, SchedulerKind, Shape,
    StrategyKind,
};

use rayon::prelude::*;

use super::count::{Spread, Step, instructions, rounded};
use super::{MESH, Measured};
use crate::emulator::Ask;
use crate::image::{self, Image, needs_any_grid};
use crate::tables::{Row, code};

/// Of as many processors as the mesh, for strategies that do not serve that.
const CUBE: Grid = match Cube::new(2, 12) {
    Ok(cube) => cube.grid(),
    Err(_) => panic!("2^12 is a cube"),
};
/// The pod of [`DESCRIBED`](crate::image::DESCRIBED).
pub(crate) const POD: Grid = match Grid::torus(&[16, 16, 16]) {
    Ok(pod) => pod,
    Err(_) => panic!("16 x 16 x 16 is a torus"),
};
/// Jobs that hold processors, or were refused, at any time of the measurement.
const JOBS: u32 = 64;
/// Jobs that leave and are replaced while it is measured.
const REPLACED: u32 = 160;
/// After how many of these all other commands are measured.
const EVERY: u32 = 5;

/// The columns of the table.
const KINDS: [&str; 14] = [
    "submit",
    "release",
    "submit leased",
    "lease",
    "mark faulty",
    "clear faulty",
    "query job",
    "blocks",
    "list jobs",
    "jobs on a row",
    "occupancy",
    "statistics",
    "reset",
    "configure",
];

/// The column of a command.
fn kind(ask: &Ask) -> &'static str {
    match ask {
        Ask::Change(Change::Submit { lease: None, .. }) => "submit",
        Ask::Change(Change::Submit { .. }) => "submit leased",
        Ask::Change(Change::Release { .. }) => "release",
        Ask::Change(Change::Lease { .. }) => "lease",
        Ask::Change(Change::MarkFaulty { .. }) => "mark faulty",
        Ask::Change(Change::ClearFaulty { .. }) => "clear faulty",
        Ask::Change(Change::Reset) => "reset",
        Ask::Change(Change::Configure(_)) => "configure",
        Ask::Query(Query::Job { .. }) => "query job",
        Ask::Query(Query::Blocks { .. }) => "blocks",
        Ask::Query(Query::Jobs { on: None, .. }) => "list jobs",
        Ask::Query(Query::Jobs { .. }) => "jobs on a row",
        Ask::Query(Query::Occupancy { .. }) => "occupancy",
        Ask::Query(Query::Statistics) => "statistics",
        _ => "none of the table",
    }
}

pub(super) fn table(image: &Image, strategies: &[StrategyKind]) -> Result<Measured> {
    let rows = strategies.par_iter().flat_map_iter(|&strategy| {
        rows_of(strategy).into_iter().map(move |(name, machines)| {
            let row = row(image, strategy, &name, machines);
            row.with_context(|| format!("counting the instructions of {name}"))
        })
    });
    let columns = ["strategy", "jobs placed"].into_iter().chain(KINDS);
    Ok(Measured::new(columns, rows.collect::<Result<_>>()?))
}

/// The rows of a strategy: names, and machines of which the first that is served is used.
/// Strategies that also serve grids of three dimensions have a row on the pod.
fn rows_of(strategy: StrategyKind) -> Vec<(String, &'static [Grid])> {
    use StrategyKind::{Curve, Folding};
    let name = strategy.name();
    let mut rows = vec![(name.to_owned(), &[MESH, CUBE, POD][..])];
    if needs_any_grid(strategy) || matches!(strategy, Curve { .. } | Folding) {
        rows.push((format!("{name} on 16x16x16"), &[POD]));
    }
    rows
}

/// The names of all rows.
pub(super) fn names() -> Vec<String> {
    let rows = image::strategies().flat_map(rows_of);
    rows.map(|(name, _)| name).collect()
}

fn row(image: &Image, strategy: StrategyKind, name: &str, machines: &[Grid]) -> Result<Row> {
    let machine = machines
        .iter()
        .copied()
        .find(|machine| image.serves(strategy, machine))
        .context("it serves none of the machines")?;
    let configuration = Configuration {
        machine,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    let work: Vec<Step> = work(configuration)?
        .into_iter()
        .map(|ask| (0, ask))
        .collect();
    let (granted, counted) = instructions(image, configuration, &work)?;
    let mut row = vec![code(name), granted.to_string()];
    for name in KINDS {
        let commands = work
            .iter()
            .zip(&counted)
            .filter(|((_, command), _)| kind(command) == name);
        let spread = Spread::of(commands.map(|(_, &counted)| counted)).context(name)?;
        let thousands = |count: u64| rounded(count) as f64 / 1e3;
        row.push(format!(
            "{} / {}",
            thousands(spread.median),
            thousands(spread.most)
        ));
    }
    Ok(row)
}

/// Fills the machine with jobs, then has one after the other leave, out of order, and another come;
/// in between, all other commands. Under other schedulers than first come, first served, jobs have
/// estimates, and every eighth may wait.
pub(crate) fn work(configuration: Configuration) -> Result<Vec<Ask>> {
    let machine = configuration.machine;
    let is_fcfs = configuration.scheduler == SchedulerKind::Fcfs;
    let request = |job: u32| {
        let request = match machine == POD {
            true => slice(job),
            false => request(machine, job),
        };
        let request = match is_fcfs || job.is_multiple_of(7) {
            true => request,
            false => request.with_estimate((20 + job * 37 % 200).into()),
        };
        match !is_fcfs && job.is_multiple_of(8) {
            true => request,
            false => request.with_flags(Flags::NO_WAIT),
        }
    };
    let submit = |job: u32| Change::submit(JobId(job), request(job)).into();
    let mut jobs: Vec<u32> = (1..=JOBS).collect();
    let mut commands: Vec<Ask> = jobs.iter().copied().map(submit).collect();
    let mut row = vec![1; machine.dimensions()];
    row[0] = machine.side(0);
    for job in (JOBS + 1..).take(REPLACED as usize) {
        let place = (job * 37 % JOBS) as usize;
        let leaves = std::mem::replace(&mut jobs[place], job);
        commands.push(Change::Release { job: JobId(leaves) }.into());
        if !job.is_multiple_of(EVERY) {
            commands.push(submit(job));
            continue;
        }
        let node = NodeId(job * 1021 % machine.nodes());
        let block = machine.unit(node).context("a processor of the machine")?;
        let mut start = machine.coordinates(node).context("the same")?.to_vec();
        start[0] = 0;
        let on = machine.block(&start, &row);
        let other = JobId(jobs[(place + 1) % jobs.len()]);
        let (leased, ticks) = (request(job), NonZeroU64::new(1000));
        commands.extend([
            Ask::Change(Change::Submit {
                job: JobId(job),
                request: leased,
                lease: ticks,
            }),
            Ask::Change(Change::Lease { job: other, ticks }),
            Ask::Change(Change::MarkFaulty { block }),
            Ask::Change(Change::ClearFaulty { block }),
            Ask::Query(Query::Job { job: other }),
            Ask::Query(Query::Blocks {
                job: other,
                from: 0,
            }),
            Ask::Query(Query::Jobs { on: None, from: 0 }),
            Ask::Query(Query::Jobs { on, from: 0 }),
            Ask::Query(Query::Occupancy { from: NodeId(0) }),
            Ask::Query(Query::Statistics),
        ]);
    }
    commands.extend([Change::Reset, Change::Configure(configuration)].map(Ask::Change));
    Ok(commands)
}

/// 64 of these jobs are as large as the machine, about.
fn request(machine: Grid, job: u32) -> Request {
    let Some(cube) = Cube::of(&machine) else {
        let (w, h) = (1 + job * 7 % 15, 1 + job * job * 11 / 4 % 15);
        return Request::submesh(w as u16, h as u16);
    };
    let (k, n) = (u32::from(cube.k()), u32::from(cube.n()));
    // There are strategies that serve whole rings only.
    let is_whole = job.is_multiple_of(3);
    let radix = |dimension| match is_whole {
        true => cube.k(),
        false => (2 + (job * job + 5 * dimension) % (k - 1)) as u16,
    };
    let radices: Vec<u16> = (0..job * 7 % (2 * n / 3 + 1)).map(radix).collect();
    Request::new(Shape::new(&radices).expect("radices of the cube"))
}

/// 64 of these slices are as large as the pod, about.
fn slice(job: u32) -> Request {
    let shapes: [&[u16]; 6] = [
        &[2, 2, 4],
        &[4, 4, 4],
        &[4, 4, 8],
        &[1, 2, 2],
        &[4, 8, 4],
        &[2, 4, 4],
    ];
    Request::new(Shape::new(shapes[job as usize % 6]).expect("a slice of the pod"))
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
            let changes = work.iter().filter(|ask| matches!(ask, Ask::Change(_)));
            // The image keeps as many.
            assert!(changes.count() <= 512);
            for name in KINDS {
                assert!(work.iter().any(|command| kind(command) == name), "{name}");
            }
            let processors: u32 = (1..=JOBS).map(|job| request(machine, job).processors).sum();
            assert!((3000..5500).contains(&processors), "{processors}");
        }
    }
}
