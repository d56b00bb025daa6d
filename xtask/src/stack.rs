//! How deep the firmware's stack grows, measured in QEMU.
//!
//! Before the image starts, QEMU fills the room for its stack with a pattern; after some work the
//! lowest byte that differs tells how far the stack has grown. The image itself needs no change for
//! it. Interrupts use the same stack and are in the figure. A path that the work does not take is
//! not. An image with a journal is reset after the work, and restores its state.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use meshalloc::{
    Change, Configuration, Cube, Error, Flags, Grid, JobId, NodeId, Query, Request, SchedulerKind,
    Shape, StrategyKind,
};
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{Client, ClientError, Line};
use rayon::prelude::*;

use crate::emulator::{Ask, Emulator};
use crate::image::Image;

/// The machines the work is done on, as far as a strategy serves them: of the largest that the
/// board has room for, the mesh, a cube of long rings and the one of the most dimensions.
const MACHINES: [Grid; 3] = [
    match Grid::mesh(&[64, 64]) {
        Ok(mesh) => mesh,
        Err(_) => panic!("64 x 64 is a mesh"),
    },
    match Cube::new(16, 3) {
        Ok(cube) => cube.grid(),
        Err(_) => panic!("16^3 is a cube"),
    },
    match Cube::new(2, 12) {
        Ok(cube) => cube.grid(),
        Err(_) => panic!("2^12 is a cube"),
    },
];
/// Jobs that the work asks to place on each of them. With three times as many the stack of the
/// image with all strategies is no deeper.
const JOBS: u32 = 100;

const PAINT: u8 = 0xa5;

/// The deepest stack in bytes while the image does the work with each of these strategies, in a
/// QEMU for each processor of this machine.
///
/// # Errors
///
/// When QEMU or the image fails, or the stack has used all its room.
pub(crate) fn deepest(
    image: &Image,
    strategies: &[StrategyKind],
    scheduler: SchedulerKind,
) -> Result<u64> {
    let deepest = strategies.par_iter().map(|&strategy| {
        let bytes = high_water(image, strategy, scheduler);
        let bytes = bytes.with_context(|| format!("measuring the stack with {strategy}"))?;
        println!("deepest stack with {strategy}: {bytes}");
        Ok(bytes)
    });
    Ok(deepest
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .max()
        .unwrap_or(0))
}

/// The deepest stack in bytes with this strategy.
fn high_water(image: &Image, strategy: StrategyKind, scheduler: SchedulerKind) -> Result<u64> {
    let (address, room) = image.stack()?;
    let paint = tempfile::NamedTempFile::new()?;
    fs::write(&paint, vec![PAINT; usize::try_from(room)?])?;
    let file = paint.path().display();
    let loader = format!("loader,file={file},addr={address:#x},force-raw=on");
    let (mut emulator, mut client) = Emulator::start(image, &["-device", &loader])?;
    let used = |emulator: &mut Emulator| {
        let stack = emulator.peek((address, room))?;
        let untouched = stack.iter().take_while(|&&byte| byte == PAINT).count();
        ensure!(untouched > 0, "the stack has used all of its {room} bytes");
        Ok(room - untouched as u64)
    };
    let mut deepest = 0;
    for machine in MACHINES
        .into_iter()
        .filter(|machine| strategy.serves().includes(machine))
    {
        let configuration = Configuration {
            machine,
            strategy,
            scheduler,
        };
        do_work(&mut client, configuration)
            .with_context(|| format!("the work on a {machine} under {scheduler:?}"))?;
        deepest = deepest.max(used(&mut emulator)?);
        if client.greeting().origin == Origin::Forgetful {
            continue;
        }
        // Commands are carried out again below all that the start has on the stack.
        emulator.reset()?;
        match client.hello() {
            Err(ClientError::ControllerReset {
                origin: Origin::Restored { .. },
            }) => {
                deepest = deepest.max(used(&mut emulator)?);
            }
            other => bail!("not restored after a reset: {other:?}"),
        }
    }
    Ok(deepest)
}

/// Has the image do the work.
fn do_work(client: &mut Client<impl Line>, configuration: Configuration) -> Result<()> {
    let first = [Change::Reset, Change::Configure(configuration)].map(Ask::Change);
    let mut granted = 0;
    client.use_virtual_clock(true)?;
    for (now, command) in (0..).zip(first.into_iter().chain(work(&configuration))) {
        let outcome = command.call(client, Some(now), &mut |_, _| granted += 1)?;
        if let Err(Error::Configure(error)) = outcome {
            bail!("it is not served: {error}");
        }
    }
    if granted < JOBS / 10 {
        bail!("only {granted} of {JOBS} jobs were placed");
    }
    Ok(())
}

/// Commands that fill the machine with jobs of many sizes, large ones first and then small ones,
/// while earlier jobs leave out of order and processors fail and are repaired; in between, all that
/// can be asked. Every eighth job waits where others may pass it, and most have an estimate, in
/// commands.
fn work(configuration: &Configuration) -> Vec<Ask> {
    let machine = configuration.machine;
    // First come, first served: all would wait behind one that does.
    let may_wait = configuration.scheduler != SchedulerKind::Fcfs;
    let mut commands = Vec::new();
    for job in 1..=JOBS {
        let mut request = request(machine, job);
        if !(may_wait && job.is_multiple_of(8)) {
            request = request.with_flags(Flags::NO_WAIT);
        }
        if !job.is_multiple_of(7) {
            request = request.with_estimate((20 + job * 37 % 200).into());
        }
        commands.push(Change::submit(JobId(job), request).into());
        if job % 4 != 0 && job > 40 {
            let job = JobId(job - 8 * (1 + job % 5));
            commands.push(Change::Release { job }.into());
        }
        if job % 16 == 0 {
            let node = NodeId(job * 63 / 100 % machine.nodes());
            let Some(block) = machine.unit(node) else {
                continue;
            };
            commands.push(Change::MarkFaulty { block }.into());
            let queries = [
                Query::Job {
                    job: JobId(job - 1),
                },
                Query::Jobs { on: None, from: 0 },
                Query::Occupancy { from: NodeId(0) },
                Query::Statistics,
            ];
            commands.extend(queries.map(Ask::Query));
            if job % 32 == 0 {
                commands.push(Change::ClearFaulty { block }.into());
            }
        }
    }
    commands
}

/// What the job asks for: of the first half of the jobs up to a few hundred processors, of the
/// others less.
fn request(machine: Grid, job: u32) -> Request {
    let large = job < JOBS / 2;
    match Cube::of(&machine) {
        Some(cube) => {
            let (k, n) = (u32::from(cube.k()), u32::from(cube.n()));
            let dimensions = job * 7 % (if large { 2 * n / 3 } else { n / 3 } + 1);
            // There are strategies that serve whole rings only.
            let whole = job.is_multiple_of(3);
            let radices: Vec<u16> = (0..dimensions)
                .map(|dimension| match whole {
                    true => cube.k(),
                    false => (2 + (job * job + 5 * dimension) % (k - 1)) as u16,
                })
                .collect();
            Request::new(Shape::new(&radices).expect("radices of this cube"))
        }
        _ => {
            let longest = if large { 17 } else { 5 };
            let (w, h) = (1 + job * 7 % longest, 1 + job * job % longest);
            Request::submesh(w as u16, h as u16)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_has_every_command_and_shapes_of_the_machine() {
        for machine in MACHINES {
            let configuration = Configuration {
                machine,
                strategy: StrategyKind::FirstFit,
                scheduler: SchedulerKind::Conservative,
            };
            let work = work(&configuration);
            let count = |pattern: fn(&Ask) -> bool| work.iter().filter(|c| pattern(c)).count();
            assert_eq!(
                count(|c| matches!(c, Ask::Change(Change::Submit { .. }))),
                JOBS as usize
            );
            assert!(count(|c| matches!(c, Ask::Change(Change::Release { .. }))) >= 40);
            assert!(count(|c| matches!(c, Ask::Change(Change::MarkFaulty { .. }))) >= 6);
            assert!(count(|c| matches!(c, Ask::Change(Change::ClearFaulty { .. }))) >= 3);
            for command in work {
                if let Ask::Change(Change::Submit { request, .. }) = command {
                    assert!(machine.check(request.shape).is_ok(), "{request:?}");
                }
            }
        }
    }
}
