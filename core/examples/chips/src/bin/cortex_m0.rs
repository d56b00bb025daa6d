//! The allocator alone on a Cortex-M0, with its memory in a `static`.
//!
//! ```sh
//! cargo build -p meshalloc-chips --bin cortex_m0 --profile firmware --target thumbv6m-none-eabi
//! ```

#![no_std]
#![no_main]

// Critical sections for `static_cell`.
use cortex_m as _;
use cortex_m_rt::entry;
use meshalloc::{Allocator, AllocatorStorage, Mesh, Request, StrategyKind, storage};
use panic_halt as _;
use static_cell::ConstStaticCell;

type Memory = storage!(mesh 16 x 16, strategies [FirstFit], allocations 32);

static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(AllocatorStorage::new());

#[entry]
fn main() -> ! {
    let memory = MEMORY.take().memory();
    let machine = Mesh::new(16, 16).map(Mesh::grid);
    let Ok(mut allocator) = machine.map_or_else(
        |_| panic!("16 x 16 is a mesh"),
        |machine| Allocator::new(memory, machine, StrategyKind::FirstFit),
    ) else {
        panic!("the memory is too small");
    };
    loop {
        let (w, h) = next_request();
        // Give `held` back when its job has ended.
        if let Ok(held) = allocator.allocate(&Request::submesh(w, h)) {
            start(allocator.processors(&held).unwrap_or(0));
            let _ = allocator.release(held);
        }
    }
}

/// The sides that the next job asks for; take them from your line.
fn next_request() -> (u16, u16) {
    cortex_m::asm::wfi();
    (3, 2)
}

/// Starts a job on its processors.
fn start(processors: u32) {
    core::hint::black_box(processors);
}
