//! How deep the firmware's stack grows, measured in QEMU.
//!
//! Before the image starts, QEMU fills the room for its stack with a pattern; after some work the
//! lowest byte that differs tells how far the stack has grown. The image itself needs no change for
//! it. Interrupts use the same stack and are in the figure. A path that the work does not take is
//! not. An image with a journal is reset after the work, and restores its state.

use std::fs;

use meshalloc::{Configuration, SchedulerKind, StrategyKind};
use meshalloc_firmware::ClientError;
use meshalloc_firmware::protocol::Origin;

use super::commands::work;
use super::{Image, Machines, POD, Row, Running};

const PAINT: u8 = 0xa5;

/// The row of a strategy: the deepest stack in bytes on the mesh, a cube of long rings and the one
/// of the most dimensions, or else on the pod, as far as the image serves them.
pub(super) fn row(image: &Image, strategy: StrategyKind, scheduler: SchedulerKind) -> Row {
    let [end, room] = image.place;
    let paint = tempfile::NamedTempFile::new().expect("a file can be made");
    fs::write(&paint, vec![PAINT; room as usize]).expect("a file can be written");
    let file = paint.path().display();
    let loader = format!("loader,file={file},addr={end:#x},force-raw=on");
    let mut running = image.start(&["-device", &loader]);
    let mut deepest = 0;
    let Machines { mesh, torus, cube } = Machines::of(strategy);
    for machine in [mesh, torus, cube, POD] {
        if machine == POD && deepest > 0 {
            continue;
        }
        let configuration = Configuration {
            machine,
            strategy,
            scheduler,
        };
        if !running.configure(configuration) {
            continue;
        }
        do_work(&mut running, configuration);
        deepest = deepest.max(used(&mut running));
        if running.client.greeting().origin == Origin::Forgetful {
            continue;
        }
        // The start carries out the commands again, below its own frames on the stack.
        running.qemu.reset_chip().expect("the image starts again");
        match running.client.hello() {
            Err(ClientError::ControllerReset {
                origin: Origin::Restored { .. },
            }) => deepest = deepest.max(used(&mut running)),
            other => panic!("not restored after a reset: {other:?}"),
        }
    }
    assert!(deepest > 0, "the image does not serve {strategy}");
    eprintln!("deepest stack with {strategy}: {deepest}");
    vec![strategy.to_string(), deepest.to_string()]
}

/// How many bytes of the room for the stack were used so far.
fn used(running: &mut Running) -> u64 {
    let stack = running.memory();
    let untouched = stack.iter().take_while(|&&byte| byte == PAINT).count();
    assert!(
        untouched > 0,
        "the stack has used all of its {} bytes",
        stack.len()
    );
    (stack.len() - untouched) as u64
}

/// Has the image carry out commands of all kinds, among them submits that fill the machine.
fn do_work(running: &mut Running, configuration: Configuration) {
    let mut granted = 0;
    for (now, (_, command)) in (1..).zip(work(configuration)) {
        // Whether it is refused does not matter here.
        running.call(now, &command, |_| granted += 1);
    }
    assert!(
        granted >= 20,
        "only {granted} jobs were placed: {configuration:?}"
    );
}
