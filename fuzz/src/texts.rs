//! The files that the simulator reads.

use std::convert::Infallible;
use std::num::NonZeroU64;
use std::path::Path;

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{Change, Commit, Configuration, Controller, Description, Grid, Mesh, NodeId};
use meshalloc_host_sim::replay;
use meshalloc_sim::scenario::{Foreign, Study};
use meshalloc_sim::workload::{Columns, Log, LogOptions};

use crate::board;
use crate::bytes::Bytes;

/// The jobs there is room for.
const JOBS: usize = 12;

/// A log or a trace is refused, or its jobs come in order of arrival and request at least one
/// processor.
///
/// # Panics
///
/// If they do not.
pub fn swf(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let code = bytes.byte();
    let machine: Grid = Mesh::new(16, 22).expect("a mesh").grid();
    let some = |bit: u8, value: u64| (code >> bit & 1 == 1).then_some(value);
    let options = LogOptions {
        partition: some(0, 2).map(|partition| partition as i64),
        from: some(1, 100_000_000),
        to: some(2, 500_000_000),
        limit: some(3, 3).map(|limit| limit as usize),
        columns: some(4, 1).map(|_| Columns::default()),
        ..LogOptions::default()
    };
    let Ok(log) = Log::from_reader(bytes.0, Path::new("any"), options, machine) else {
        return;
    };
    let _ = (log.offered_load(), log.span(), log.whole_weeks());
    let Ok(jobs) = log.jobs(1, 0) else {
        return;
    };
    let mut latest = 0;
    for job in jobs.take(100) {
        assert!(latest <= job.arrival && job.request.processors > 0);
        latest = job.arrival;
    }
}

/// The file of a scenario is refused, or has points.
///
/// # Panics
///
/// If it has none.
pub fn scenario(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes)
        && let Ok(study) = Study::of_text(text, Path::new("any.toml"), Foreign::default())
        && let Ok(points) = study.points(Some(16), &|_| Ok(()))
    {
        assert!((1..=16).contains(&points.len()));
    }
}

/// A line of operations is refused, or reads the same after it is written again. The operations are
/// carried out too: the state is sound after each, and no longer than was said before.
///
/// # Panics
///
/// If that does not hold.
pub fn operations(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let configuration = board::some_configuration(&mut bytes);
    let machine = configuration.machine;
    let mut changes = Vec::new();
    for line in bytes.0.split(|&byte| byte == b'\n') {
        if let Ok(Some(change)) = replay::parse(line, machine) {
            let words = written(&change, machine);
            for text in [object(&words), words] {
                assert_eq!(
                    replay::parse(text.as_bytes(), machine),
                    Ok(Some(change)),
                    "{text}"
                );
            }
            changes.push(change);
        }
    }
    carry_out(configuration, &changes);
}

/// The most bytes that a free slot adds to a checkpoint: an item and a number.
const FREE_SLOT: usize = 4;

/// Carries changes out on a machine of cubes, if the strategy serves one.
fn carry_out(configuration: Configuration, changes: &[Change]) {
    let Configuration {
        machine, strategy, ..
    } = configuration;
    // As many cubes as there can be of more than one processor a side.
    let cube = |&side: &u16| (2..=side).find(|&of| side.is_multiple_of(of)).unwrap_or(1);
    let cube: Vec<u16> = machine.sides().iter().map(cube).collect();
    let described = Description::new(machine).and_then(|machine| machine.with_cube(&cube));
    let described = described.ok().filter(|it| strategy.serves_described(it));
    let needs = match &described {
        Some(described) => Needs::described(strategy, described, JOBS),
        None => Needs::of(strategy, &machine, JOBS),
    };
    let mut storage = HeapStorage::new(needs, JOBS);
    let memory = match &described {
        Some(described) => storage.memory().describing(described),
        None => storage.memory(),
    };
    let Ok(mut controller) = Controller::new(memory, configuration) else {
        return;
    };
    let saved = |controller: &Controller<'_>| {
        let mut len = 0;
        let saved = controller.save(&mut |part| {
            len += part.len();
            Ok::<(), Infallible>(())
        });
        saved.expect("no pass is under way");
        len
    };
    for (now, change) in (0..).step_by(10).zip(changes) {
        let before = saved(&controller) + controller.growth_by_time();
        // It may be refused, and leave a free slot.
        let mut adds = FREE_SLOT;
        let mut on_commit = |commit: Commit| {
            adds = commit.adds;
            Ok(())
        };
        let _ = controller.begin(change, now, None, Some(&mut on_commit));
        while controller.advance(None) {}
        while let Some((ends, job)) = controller.lease_ended(controller.clock()) {
            let ended = controller.begin(&Change::EndLease { job }, ends, None, None);
            assert!(ended.is_ok(), "{ended:?}");
            while controller.advance(None) {}
        }
        let most = before + adds;
        controller.check_invariants();
        board::check_apart(&controller);
        let len = saved(&controller);
        assert!(len <= most, "{change:?}: {len} bytes for {most}");
    }
}

/// The JSON object of a line of words.
fn object(words: &str) -> String {
    let words: Vec<_> = words.split(' ').collect();
    let list = |words: &[&str]| format!("{words:?}");
    let mut object = match words[..] {
        // A number of processors is added below.
        ["alloc", id, chips, ..] if chips.contains('=') => format!(r#"{{"op":"alloc","id":{id}"#),
        ["alloc", id, shape, ..] => format!(r#"{{"op":"alloc","id":{id},"shape":"{shape}""#),
        ["lease", id, time] => format!(r#"{{"op":"lease","id":{id},"time":{time}"#),
        ["free", id] => format!(r#"{{"op":"free","id":{id}"#),
        [op, ref at @ ..] => format!(r#"{{"op":"{op}","at":{}"#, list(at)),
        [] => String::new(),
    };
    for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
        let key = if name == "est" { "estimate" } else { name };
        object += &format!(r#","{key}":{value}"#);
    }
    object + "}"
}

fn written(change: &Change, machine: Grid) -> String {
    let ranges = |block| {
        let (start, extent) = (machine.start(block), machine.extent(block));
        let (start, extent) = (machine.written(start), machine.written(extent));
        let last = machine.coordinates(NodeId(machine.nodes() - 1));
        let last = machine.written(last.expect("a processor"));
        let dimensions = start.iter().zip(extent.iter()).zip(last.iter());
        let range =
            |((start, extent), last)| format!("{start}..{}", (start + extent - 1) % (last + 1));
        let words: Vec<_> = dimensions.map(range).collect();
        words.join(" ")
    };
    match *change {
        Change::Submit {
            job,
            request,
            lease,
        } => {
            let estimate = request.estimate.map(|ticks| format!(" est={ticks}"));
            let priority = match request.class.priority() {
                0 => String::new(),
                ticks => format!(" priority={ticks}"),
            };
            let tolerate = match request.tolerance.get() {
                0 => String::new(),
                faulty => format!(" tolerate={faulty}"),
            };
            let lease = lease.map(|ticks| format!(" lease={ticks}"));
            format!(
                "alloc {} {request}{priority}{tolerate}{}{}",
                job.0,
                lease.unwrap_or_default(),
                estimate.unwrap_or_default()
            )
        }
        Change::Lease { job, ticks } => {
            format!("lease {} {}", job.0, ticks.map_or(0, NonZeroU64::get))
        }
        Change::Release { job } => format!("free {}", job.0),
        Change::MarkFaulty { block } => format!("fault {}", ranges(block)),
        Change::ClearFaulty { block } => format!("repair {}", ranges(block)),
        other => panic!("{other:?} is no operation"),
    }
}
