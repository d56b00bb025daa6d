//! A control processor for a 16 x 16 mesh: the memory of the controller and its configuration after
//! a reset. `board.rs` has the drivers.
#![no_std]
#![no_main]

mod board;

use core::panic::PanicInfo;

use cortex_m::peripheral::SCB;
use cortex_m_rt::entry;
use meshalloc::{Configuration, Controller, Grid, SchedulerKind, Storage, StrategyKind, storage};
use meshalloc_firmware::Processor;
use meshalloc_firmware::board::Kept;
use static_cell::ConstStaticCell;

const AT_RESET: Configuration = Configuration {
    machine: match Grid::mesh(&[16, 16]) {
        Ok(mesh) => mesh,
        Err(_) => panic!("16 x 16 is a mesh"),
    },
    strategy: StrategyKind::FirstFit,
    scheduler: SchedulerKind::Fcfs,
};

static STORAGE: ConstStaticCell<storage!(mesh 16 x 16, strategies [FirstFit], jobs 64)> =
    ConstStaticCell::new(Storage::new());

/// What outlives a reset: the start-up code does not clear this section.
// SAFETY: nothing else is stored in this section.
#[unsafe(link_section = ".uninit.KEPT")]
static KEPT: Kept = Kept::new();

#[entry]
fn main() -> ! {
    let memory = STORAGE.take().memory();
    let Ok(controller) = Controller::new(memory, AT_RESET) else {
        panic!("the storage is too small for the machine");
    };
    Processor::new(board::start(), controller, &KEPT).run()
}

/// The client finds the session lost and starts its jobs again.
#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    SCB::sys_reset()
}
