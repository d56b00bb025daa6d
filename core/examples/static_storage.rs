//! A controller in a `static`, as in firmware: the memory is laid out at compile time, taken once,
//! and needs no `unsafe`.
//!
//! ```sh
//! cargo run -p meshalloc --example static_storage
//! ```

use std::error::Error;

use meshalloc::storage::Needs;
use meshalloc::{
    Change, Configuration, Controller, Grid, JobId, Request, SchedulerKind, Storage, StrategyKind,
};
use static_cell::ConstStaticCell;

const JOBS: usize = 32;
const CONFIGURATION: Configuration = Configuration {
    machine: match Grid::mesh(&[16, 16]) {
        Ok(mesh) => mesh,
        Err(_) => panic!("16 x 16 is a mesh"),
    },
    strategy: StrategyKind::FreeSubmeshList,
    scheduler: SchedulerKind::Fcfs,
};
/// What this strategy needs on this machine; `Needs::of_build` covers all strategies of a build.
const NEEDS: Needs = Needs::of(CONFIGURATION.strategy, &CONFIGURATION.machine, JOBS);

static STORAGE: ConstStaticCell<
    Storage<{ NEEDS.words }, JOBS, { NEEDS.scratch }, { NEEDS.blocks }, { NEEDS.list }>,
> = ConstStaticCell::new(Storage::new());

fn main() -> Result<(), Box<dyn Error>> {
    // A second `take` would panic.
    let memory = STORAGE.take().memory();
    let mut controller = Controller::new(memory, CONFIGURATION)?;

    for (job, w, h) in [(1, 16, 10), (2, 16, 6), (3, 8, 8)] {
        controller.handle(&Change::submit(JobId(job), Request::submesh(w, h)), 0)?;
    }
    let granted = controller.view().events_since(0).map(|event| event.job);
    assert!(granted.eq([JobId(1), JobId(2)]));
    // Jobs 1 and 2 fill the mesh; job 3 waits for job 1 to end.
    let known = controller.events();
    controller.handle(&Change::Release { job: JobId(2) }, 250)?;
    assert_eq!(controller.statistics().waiting, 1);
    controller.handle(&Change::Release { job: JobId(1) }, 300)?;
    let granted = controller.view().events_since(known);
    let granted = granted.map(|event| (event.job, event.at));
    assert!(granted.eq([(JobId(3), 300)]));
    println!("{} bytes of static memory", size_of_val(&STORAGE));
    Ok(())
}
