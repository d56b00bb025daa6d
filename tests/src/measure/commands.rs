//! The instructions of every command, with each strategy.

use std::num::NonZeroU64;

use meshalloc::{
    Change, Configuration, Flags, Grid, JobId, NodeId, Query, Request, SchedulerKind, Shape,
    StrategyKind,
};

use super::count::{count, rounded};
use super::{Ask, Image, Machines, POD, Row};

/// Jobs that hold processors, or were refused, at any time of the measurement.
const JOBS: u32 = 64;
/// Jobs that leave and are replaced while it is measured.
const REPLACED: u32 = 160;
/// After how many of these all other commands are measured.
const EVERY: u32 = 5;

/// Strategies that also have a row on the pod.
const ON_POD: [&str; 7] = [
    "free-submesh-list",
    "best-fit",
    "busy-list",
    "curve",
    "least-expected-blocking",
    "leb-estimates",
    "folding",
];

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

/// The rows of a strategy: on the first of the machines that the image serves with it, and on the
/// pod if it is one of [`ON_POD`].
pub(super) fn rows(image: &Image, strategy: StrategyKind) -> Vec<Row> {
    let name = strategy.name();
    let Machines { mesh, cube, .. } = Machines::of(strategy);
    let mut rows = vec![row(image, strategy, name, &[mesh, cube, POD])];
    if ON_POD.contains(&name) {
        let name = format!("{name} on 16x16x16");
        rows.push(row(image, strategy, &name, &[POD]));
    }
    rows
}

fn row(image: &Image, strategy: StrategyKind, name: &str, machines: &[Grid]) -> Row {
    let counted = machines.iter().find_map(|&machine| {
        let configuration = Configuration {
            machine,
            strategy,
            scheduler: SchedulerKind::Fcfs,
        };
        count(image, configuration, |counter| {
            for (kind, ask) in work(configuration) {
                counter.call(kind, 0, &ask);
            }
        })
    });
    let (granted, counted) = counted.expect("the image serves the strategy");
    let cells = KINDS.map(|kind| {
        let spread = counted[kind];
        let [median, most] = [spread.median, spread.most].map(|it| rounded(it) as f64 / 1e3);
        format!("{median} / {most}")
    });
    let row = [format!("`{name}`"), granted.to_string()];
    row.into_iter().chain(cells).collect()
}

/// Fills the machine with jobs. Then jobs leave one after the other, out of order, and others come;
/// in between come all other commands, each counted as its kind. Under other schedulers than first
/// come, first served, jobs have estimates, and every eighth may wait.
pub(super) fn work(configuration: Configuration) -> Vec<(&'static str, Ask)> {
    let machine = configuration.machine;
    let is_fcfs = configuration.scheduler == SchedulerKind::Fcfs;
    let request = |job: u32| {
        let request = if machine == POD {
            slice(job)
        } else {
            request(machine, job)
        };
        let request = if is_fcfs || job.is_multiple_of(7) {
            request
        } else {
            request.with_estimate((20 + job * 37 % 200).into())
        };
        if !is_fcfs && job.is_multiple_of(8) {
            request
        } else {
            request.with_flags(Flags::NO_WAIT)
        }
    };
    let submit = |job: u32| {
        let change = Change::submit(JobId(job), request(job));
        ("submit", Ask::Change(change))
    };
    let mut jobs: Vec<u32> = (1..=JOBS).collect();
    let mut commands: Vec<_> = jobs.iter().copied().map(submit).collect();
    let mut row = vec![1; machine.dimensions()];
    row[0] = machine.side(0);
    for job in (JOBS + 1..).take(REPLACED as usize) {
        let place = (job * 37 % JOBS) as usize;
        let leaves = JobId(std::mem::replace(&mut jobs[place], job));
        commands.push(("release", Ask::Change(Change::Release { job: leaves })));
        if !job.is_multiple_of(EVERY) {
            commands.push(submit(job));
            continue;
        }
        let node = NodeId(job * 1021 % machine.nodes());
        let block = machine.unit(node).expect("a processor of the machine");
        let mut start = machine.coordinates(node).expect("the same").to_vec();
        start[0] = 0;
        let on = machine.block(&start, &row);
        let ticks = NonZeroU64::new(1000);
        let leased = Change::Submit {
            job: JobId(job),
            request: request(job),
            lease: ticks,
        };
        let job = JobId(jobs[(place + 1) % jobs.len()]);
        let from = NodeId(0);
        commands.extend([
            ("submit leased", Ask::Change(leased)),
            ("lease", Ask::Change(Change::Lease { job, ticks })),
            ("mark faulty", Ask::Change(Change::MarkFaulty { block })),
            ("clear faulty", Ask::Change(Change::ClearFaulty { block })),
            ("query job", Ask::Query(Query::Job { job })),
            ("blocks", Ask::Query(Query::Blocks { job, from: 0 })),
            ("list jobs", Ask::Query(Query::Jobs { on: None, from: 0 })),
            ("jobs on a row", Ask::Query(Query::Jobs { on, from: 0 })),
            ("occupancy", Ask::Query(Query::Occupancy { from })),
            ("statistics", Ask::Query(Query::Statistics)),
        ]);
    }
    commands.push(("reset", Ask::Change(Change::Reset)));
    commands.push(("configure", Ask::Change(Change::Configure(configuration))));
    commands
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

/// 64 of these jobs are as large as the machine, about.
fn request(machine: Grid, job: u32) -> Request {
    let Some(k) = machine.radix() else {
        let most = u32::from(machine.side(0)) / 4 - 1;
        let (w, h) = (1 + job * 7 % most, 1 + job * job * 11 / 4 % most);
        return Request::submesh(w as u16, h as u16);
    };
    let n = machine.dimensions() as u32;
    // There are strategies that serve whole rings only.
    let is_whole = job.is_multiple_of(3);
    let radix = |dimension| {
        if is_whole {
            k
        } else {
            (2 + (job * job + 5 * dimension) % (u32::from(k) - 1)) as u16
        }
    };
    let radices: Vec<u16> = (0..job * 7 % (2 * n / 3 + 1)).map(radix).collect();
    Request::new(Shape::new(&radices).expect("radices of the cube"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::measure::{MACHINES, SMALL};

    #[test]
    fn the_table_has_these_columns() {
        let head = format!("| strategy | jobs placed | {} |", KINDS.join(" | "));
        crate::measure::assert_head(&head);
    }

    #[test]
    fn the_work_is_about_as_large_as_the_machine_and_has_each_kind() {
        for (machine, strategy) in [
            (MACHINES.mesh, StrategyKind::FirstFit),
            (SMALL.mesh, StrategyKind::GenAlg),
            (MACHINES.cube, StrategyKind::TreeCollapsing),
        ] {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler: SchedulerKind::Fcfs,
            };
            let work = work(configuration);
            let changes = work.iter().filter(|(_, ask)| matches!(ask, Ask::Change(_)));
            // The image keeps as many.
            assert!(changes.count() <= 512);
            let kinds: BTreeSet<_> = work.iter().map(|(kind, _)| *kind).collect();
            assert_eq!(kinds, BTreeSet::from(KINDS));
            let processors: u32 = (1..=JOBS).map(|job| request(machine, job).processors).sum();
            let part = f64::from(processors) / f64::from(machine.nodes());
            assert!((0.7..1.35).contains(&part), "{part}");
        }
    }
}
