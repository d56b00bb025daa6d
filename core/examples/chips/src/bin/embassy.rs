//! The controller as a task of Embassy: other tasks send it changes through a channel.
//!
//! ```sh
//! cargo build -p meshalloc-chips --bin embassy --profile firmware --target thumbv7em-none-eabihf
//! ```

#![no_std]
#![no_main]

// Critical sections for `static_cell` and for channels.
use cortex_m as _;
use embassy_executor::Spawner;
use embassy_futures::yield_now;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use meshalloc::{
    Change, Configuration, Controller, Grid, JobId, Request, SchedulerKind, Storage, StrategyKind,
    storage,
};
use panic_halt as _;
use static_cell::ConstStaticCell;

type Memory = storage!(mesh 16 x 16, strategies [FirstFit], jobs 32);

static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Storage::new());

/// What other tasks ask for.
static CHANGES: Channel<CriticalSectionRawMutex, Change, 4> = Channel::new();

const CONFIGURATION: Configuration = Configuration {
    machine: match Grid::mesh(&[16, 16]) {
        Ok(mesh) => mesh,
        Err(_) => panic!("16 x 16 is a mesh"),
    },
    strategy: StrategyKind::FirstFit,
    scheduler: SchedulerKind::Fcfs,
};

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    spawner.spawn(control().expect("it is spawned once"));
    // Another task's part: a job comes and goes.
    let (job, request) = (JobId(1), Request::submesh(4, 3));
    CHANGES.send(Change::submit(job, request)).await;
    CHANGES.send(Change::Release { job }).await;
}

#[embassy_executor::task]
async fn control() {
    let Ok(mut controller) = Controller::new(MEMORY.take().memory(), CONFIGURATION) else {
        panic!("the memory is too small");
    };
    let mut known = 0;
    loop {
        let change = CHANGES.receive().await;
        // Take the time of your clock.
        let outcome = controller.begin(&change, 0, None, None);
        core::hint::black_box(&outcome);
        // Other tasks run between two attempts.
        while controller.advance(None) {
            yield_now().await;
        }
        for event in controller.view().events_since(known) {
            known = event.number;
            core::hint::black_box(event.job);
        }
    }
}
