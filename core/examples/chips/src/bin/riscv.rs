//! The controller on a RISC-V chip, in a main loop that must come back soon: each turn makes one
//! attempt at most.
//!
//! ```sh
//! cargo build -p meshalloc-chips --bin riscv --profile firmware \
//!     --target riscv32imac-unknown-none-elf
//! ```

#![no_std]
#![no_main]

use meshalloc::{
    Change, Configuration, Controller, EventKind, Grid, SchedulerKind, Storage, StrategyKind,
    storage,
};
use panic_halt as _;
// Critical sections for `static_cell`.
use riscv as _;
use riscv_rt::entry;
use static_cell::ConstStaticCell;

type Memory = storage!(mesh 16 x 16, strategies [FreeSubmeshList], jobs 32);

static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Storage::new());

const CONFIGURATION: Configuration = Configuration {
    machine: match Grid::mesh(&[16, 16]) {
        Ok(mesh) => mesh,
        Err(_) => panic!("16 x 16 is a mesh"),
    },
    strategy: StrategyKind::FreeSubmeshList,
    scheduler: SchedulerKind::Fcfs,
};

#[entry]
fn main() -> ! {
    let Ok(mut controller) = Controller::new(MEMORY.take().memory(), CONFIGURATION) else {
        panic!("the memory is too small");
    };
    let mut known = 0;
    loop {
        if controller.advance(None) {
            // Other jobs may try: no other change can begin before that.
        } else if let Some(change) = next_change() {
            let outcome = controller.begin(&change, milliseconds(), None, None);
            core::hint::black_box(&outcome);
        }
        for event in controller.view().events_since(known) {
            known = event.number;
            if let EventKind::Granted { .. } = event.what {
                start(event.job.0);
            }
        }
    }
}

/// What a host asks for; take it from your line.
fn next_change() -> Option<Change> {
    core::hint::black_box(None)
}

/// Your clock.
fn milliseconds() -> u64 {
    core::hint::black_box(0)
}

/// Starts a job on the processors that it was granted.
fn start(job: u32) {
    core::hint::black_box(job);
}
