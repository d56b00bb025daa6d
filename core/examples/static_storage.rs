//! A controller in a `static`, as in firmware: the memory is laid out at compile time, taken once, and needs no `unsafe`.
//!
//! ```sh
//! cargo run -p meshalloc --example static_storage
//! ```

use std::error::Error;

use meshalloc::storage::Needs;
use meshalloc::{
    Command, Configuration, Controller, Grid, JobId, Reply, Request, SchedulerKind, Storage,
    StrategyKind,
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

    let mut replies = Vec::new();
    for (job, w, h) in [(1, 16, 10), (2, 16, 6), (3, 8, 8)] {
        let submit = Command::Submit {
            job: JobId(job),
            request: Request::submesh(w, h),
        };
        controller.handle(&submit, 0, &mut |reply| replies.push(reply.clone()));
    }
    // Jobs 1 and 2 fill the mesh; job 3 waits for one of them to end.
    let release = Command::Release { job: JobId(2) };
    controller.handle(&release, 250, &mut |reply| replies.push(reply.clone()));
    assert_eq!(controller.statistics().waiting, 1);
    let release = Command::Release { job: JobId(1) };
    controller.handle(&release, 300, &mut |reply| replies.push(reply.clone()));
    let granted = replies.iter().filter_map(|reply| match reply {
        Reply::Grant(grant) => Some((grant.job, grant.at)),
        _ => None,
    });
    let expected = [(JobId(1), 0), (JobId(2), 0), (JobId(3), 300)];
    assert!(granted.eq(expected));
    println!("{} bytes of static memory", size_of_val(&STORAGE));
    Ok(())
}
