//! How deep the firmware's stack grows, measured in QEMU.
//!
//! Before the image starts, QEMU fills the room for its stack with a pattern; after some work the
//! lowest byte that differs tells how far the stack has grown. The image itself needs no change for
//! it. Interrupts use the same stack and are in the figure. A path that the work does not take is
//! not. An image with a journal is reset after the work, and restores its state.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use meshalloc::{Configuration, Cube, Grid, SchedulerKind, StrategyKind};
use meshalloc_firmware::ClientError;
use meshalloc_firmware::protocol::Origin;
use rayon::prelude::*;

use crate::emulator::Emulator;
use crate::image::Image;
use crate::instructions::commands::{CUBE, MESH, work};

/// The machines the work is done on, as far as a strategy serves them: of the largest that the
/// board has room for, the mesh, a cube of long rings and the one of the most dimensions.
const MACHINES: [Grid; 3] = [
    MESH,
    match Cube::new(16, 3) {
        Ok(cube) => cube.grid(),
        Err(_) => panic!("16^3 is a cube"),
    },
    CUBE,
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
    deepest.try_reduce(|| 0, |one, other| Ok(one.max(other)))
}

/// The deepest stack in bytes with this strategy.
fn high_water(image: &Image, strategy: StrategyKind, scheduler: SchedulerKind) -> Result<u64> {
    let end = image.symbol("_stack_end")?.0;
    let room = image.symbol("_stack_start")?.0 - end;
    let paint = tempfile::NamedTempFile::new()?;
    fs::write(&paint, vec![PAINT; usize::try_from(room)?])?;
    let file = paint.path().display();
    let loader = format!("loader,file={file},addr={end:#x},force-raw=on");
    let mut emulator = Emulator::start(image, &["-device", &loader])?;
    let used = |emulator: &mut Emulator| {
        let stack = emulator.peek((end, room))?;
        let untouched = stack.iter().take_while(|&&byte| byte == PAINT).count();
        ensure!(untouched > 0, "the stack has used all of its {room} bytes");
        Ok(room - untouched as u64)
    };
    let mut deepest = 0;
    for machine in MACHINES
        .into_iter()
        .filter(|machine| image.serves(strategy, machine))
    {
        let configuration = Configuration {
            machine,
            strategy,
            scheduler,
        };
        do_work(&mut emulator, configuration)
            .with_context(|| format!("the work on a {machine} under {scheduler:?}"))?;
        deepest = deepest.max(used(&mut emulator)?);
        if emulator.client.greeting().origin == Origin::Forgetful {
            continue;
        }
        // Commands are carried out again below all that the start has on the stack.
        emulator.reset()?;
        match emulator.client.hello() {
            Err(ClientError::ControllerReset {
                origin: Origin::Restored { .. },
            }) => deepest = deepest.max(used(&mut emulator)?),
            other => bail!("not restored after a reset: {other:?}"),
        }
    }
    Ok(deepest)
}

/// Has the image carry out commands of all kinds, among them submits that fill the machine.
fn do_work(emulator: &mut Emulator, configuration: Configuration) -> Result<()> {
    let configured = emulator.configure(configuration)?;
    ensure!(configured.is_ok(), "it is not served: {configured:?}");
    let mut granted = 0;
    for (now, (_, command)) in (2..).zip(work(configuration)?) {
        // Whether it is refused does not matter here.
        let _ = emulator.call(now, &command, |_| granted += 1)?;
    }
    ensure!(granted >= 20, "only {granted} jobs were placed");
    Ok(())
}
