//! How deep the firmware's stack grows, measured in QEMU.
//!
//! Before the image starts, QEMU fills the room for its stack with a pattern; after some work the
//! lowest byte that differs tells how far the stack has grown. The image itself needs no change for
//! it. Interrupts use the same stack and are in the figure. A path that the work does not take is
//! not. An image with a journal is reset after the work, and restores its state.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use meshalloc::{Change, Configuration, Cube, Error, Grid, SchedulerKind, StrategyKind};
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{Client, ClientError, Line};
use rayon::prelude::*;

use crate::emulator::{Ask, Emulator};
use crate::image::{Image, needs_description};
use crate::instructions::commands::{POD, work};

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
    let pod = needs_description(strategy).then_some(POD);
    for machine in MACHINES
        .into_iter()
        .chain(pod)
        .filter(|machine| image.serves(strategy, machine))
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

/// Has the image carry out commands of all kinds, among them submits that fill the machine.
fn do_work(client: &mut Client<impl Line>, configuration: Configuration) -> Result<()> {
    let first = [Change::Reset, Change::Configure(configuration)].map(Ask::Change);
    let mut granted = 0;
    client.use_virtual_clock(true)?;
    for (now, command) in (0..).zip(first.into_iter().chain(work(configuration)?)) {
        let outcome = command.call(client, Some(now), &mut |_, _| granted += 1)?;
        if let Err(Error::Configure(error)) = outcome {
            bail!("it is not served: {error}");
        }
    }
    ensure!(granted >= 20, "only {granted} jobs were placed");
    Ok(())
}
