//! The control processor on a NUCLEO-F446RE: the server of this package behind USART2, which is the
//! ST-LINK's virtual COM port (115200 baud, 8N1).
//!
//! ```text
//!   USART2 interrupt ──bytes──▶ ring ──▶ main loop: Server::receive_from, work ──frames──▶ Outgoing ──▶ USART2 interrupt
//!   SysTick interrupt ──▶ milliseconds       │ feeds the watchdog, shows the status, sleeps
//! ```
//!
//! - **Clock**: 180 MHz (`pll.rs`); with the feature `qemu` the chip is left as it is after a reset.
//! - **Status LED** (PA5, LD2): lit while at least one job runs.
//! - **Watchdog**: resets the chip when the program has not looked at the line for [`WATCHDOG_MS`]. It does so in each round of the main loop, which takes
//!   a byte or tries one of the jobs that a command lets try, and in the pauses of an attempt.
//! - **Reset**: after any reset the server serves a 64 x 64 mesh, first fit, FCFS, and carries nothing out that is meant for
//!   an earlier boot ([`boot`]). An image without first fit has the first of its strategies, and if that does not serve the mesh, a
//!   16-ary 3-cube.
//! - **Journal** (feature `journal`): sectors 1 to 3 of the flash, from which the state is restored after a reset. Erasing one stops
//!   the processor for up to 0.8 s, every few hundred commands.
//! - **Logs**: defmt over RTT; with the feature `qemu` over semihosting, which on a chip without a
//!   debugger would be a fault. That feature also leaves the PLL alone, which QEMU does not have, tells the clock how fast QEMU's SysTick
//!   runs, and keeps how long commands take; nothing else differs.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(all(target_os = "none", feature = "journal"))]
mod area;
#[cfg(target_os = "none")]
mod boot;
#[cfg(target_os = "none")]
mod clock;
#[cfg(target_os = "none")]
mod crash;
#[cfg(all(target_os = "none", feature = "qemu"))]
mod instructions;
#[cfg(all(target_os = "none", not(feature = "qemu")))]
mod pll;
#[cfg(target_os = "none")]
mod serial;

/// The image runs on a board; on a host the program names the target and fails.
#[cfg(not(target_os = "none"))]
fn main() -> std::process::ExitCode {
    eprintln!("meshalloc-firmware is an image for a board: build it for thumbv7em-none-eabihf");
    std::process::ExitCode::from(2)
}

#[cfg(target_os = "none")]
mod board {
    #[cfg(not(feature = "qemu"))]
    use defmt_rtt as _;
    #[cfg(feature = "qemu")]
    use defmt_semihosting as _;

    #[cfg(feature = "journal")]
    use core::cell::RefCell;

    use cortex_m_rt::entry;
    use embedded_hal::digital::{OutputPin, PinState};
    use embedded_io::{ErrorType, Write};
    use meshalloc::storage::Needs;
    use meshalloc::{
        Configuration, Controller, Cube, Grid, Mesh, SchedulerKind, Storage, StrategyKind,
    };
    #[cfg(feature = "journal")]
    use meshalloc::{Pauses, View};
    use meshalloc_firmware::{BUILD, Port, SOFTWARE, Server};
    #[cfg(feature = "journal")]
    use meshalloc_firmware::{
        journal::{Journal, Recovered},
        keeping::durable::Durable,
        protocol::Origin,
    };
    use static_cell::ConstStaticCell;
    use stm32f4xx_hal::gpio::GpioExt;
    use stm32f4xx_hal::pac;
    use stm32f4xx_hal::prelude::_fugit_ExtU32;
    use stm32f4xx_hal::rcc::RccExt;
    use stm32f4xx_hal::watchdog::IndependentWatchdog;

    #[cfg(feature = "journal")]
    use crate::area::{Area, REGIONS};
    use crate::{boot, clock, serial};

    /// How long the program may not look at the line, in milliseconds. `tests/tests/it/qemu/longest.rs` has searches for a single job
    /// that are made to be long, on the 2-ary 12-cube, on a grid with 16 dimensions and on the 64 x 64 mesh, and frames that are answered meanwhile.
    const WATCHDOG_MS: u32 = 8_000;

    /// Jobs, waiting and running together: `MESHALLOC_JOBS` at the time of the build.
    const JOBS: usize = match usize::from_str_radix(env!("MESHALLOC_JOBS"), 10) {
        Ok(jobs) => jobs,
        Err(_) => panic!("MESHALLOC_JOBS: expected a number of jobs"),
    };
    /// What the strategies of this image need on machines of 4,096 processors: a mesh of 64 x 64, and any grid whose node
    /// numbers stand in one row, such as a torus of 16 x 16 x 16.
    const NEEDS: Needs = Needs::of_build(&[MESH, CUBE], JOBS);

    const AT_RESET: Configuration = Configuration {
        machine: match first_built().serves().includes(&MESH) {
            true => MESH,
            false => CUBE,
        },
        strategy: first_built(),
        scheduler: first_built_scheduler(),
    };

    const MESH: Grid = match Mesh::new(64, 64) {
        Ok(mesh) => mesh.grid(),
        Err(_) => panic!("64 x 64 is a mesh"),
    };
    const CUBE: Grid = match Cube::new(16, 3) {
        Ok(cube) => cube.grid(),
        Err(_) => panic!("16^3 is a cube"),
    };

    /// The first strategy of this image, in the order of core's table.
    const fn first_built() -> StrategyKind {
        let mut rest = StrategyKind::ALL;
        while let [kind, others @ ..] = rest {
            if kind.is_built() {
                return *kind;
            }
            rest = others;
        }
        panic!("an image needs a strategy: none of meshalloc's strategy features is on")
    }

    /// The first scheduler of this image, likewise.
    const fn first_built_scheduler() -> SchedulerKind {
        let mut rest = SchedulerKind::ALL;
        while let [kind, others @ ..] = rest {
            if kind.is_built() {
                return *kind;
            }
            rest = others;
        }
        panic!("an image needs a scheduler: none of meshalloc's scheduler features is on")
    }

    type BoardStorage =
        Storage<{ NEEDS.words }, JOBS, { NEEDS.scratch }, { NEEDS.blocks }, { NEEDS.list }>;

    /// Made at compile time: it would not pass through the stack.
    static STORAGE: ConstStaticCell<BoardStorage> = ConstStaticCell::new(Storage::new());

    #[entry]
    fn main() -> ! {
        #[cfg_attr(
            any(not(feature = "journal"), feature = "qemu"),
            expect(unused_mut, reason = "only a sector's erase is timed")
        )]
        let mut core = defmt::unwrap!(cortex_m::Peripherals::take());
        let device = defmt::unwrap!(pac::Peripherals::take());

        let by_watchdog = device.RCC.csr().read().wdgrstf().bit_is_set();
        device.RCC.csr().modify(|_, w| w.rmvf().set_bit());
        defmt::info!("meshalloc {=str} ({=str})", SOFTWARE, BUILD);
        if by_watchdog {
            defmt::error!("the watchdog has reset the chip");
        }

        let mut watchdog = IndependentWatchdog::new(device.IWDG);
        watchdog.stop_on_debug(&device.DBGMCU, true);
        watchdog.start(WATCHDOG_MS.millis());

        let mut rcc = device.RCC.constrain();
        #[cfg(feature = "qemu")]
        let boot = boot::identity();
        #[cfg(not(feature = "qemu"))]
        let boot = boot::identity(&device.ADC1, &device.ADC_COMMON, &mut rcc);
        #[cfg(not(feature = "qemu"))]
        crate::pll::start(&rcc, &device.PWR, &device.FLASH);
        let gpio = device.GPIOA.split(&mut rcc);
        let mut led = gpio.pa5.into_push_pull_output();
        let (receiver, transmitter) = serial::start(device.USART2, gpio.pa2, gpio.pa3, &mut rcc);
        clock::start(core.SYST);
        #[cfg(all(feature = "journal", not(feature = "qemu")))]
        {
            core.DCB.enable_trace();
            core.DWT.enable_cycle_counter();
        }

        let Ok(controller) = Controller::new(STORAGE.take().memory(), AT_RESET) else {
            defmt::panic!("no room for the machine");
        };
        #[cfg(not(feature = "journal"))]
        let mut server = Server::new(controller, boot);
        #[cfg(feature = "journal")]
        let mut server = {
            #[cfg(not(feature = "qemu"))]
            let area = Area::new(device.FLASH);
            #[cfg(feature = "qemu")]
            let area = defmt::unwrap!(Area::open().ok(), "the journal's file");
            let (journal, recovered) = defmt::unwrap!(Journal::open(area, &REGIONS));
            let mut server = Server::unrestored(controller, boot, journal);
            restore(&mut server, recovered, &mut watchdog);
            server
        };
        show_running(&mut led, server.controller());

        let mut port = BoardPort {
            receiver,
            transmitter,
            watchdog,
        };
        let (mut frames, mut faults) = (0, 0);
        loop {
            server.overrun(port.receiver.take_overruns());
            #[cfg(feature = "qemu")]
            let (begin, before) = (clock::ticks(), server.counters().changes);
            // A byte a round ends at most one frame, so each frame has the watchdog's whole time.
            // The server counts a reply that has no room.
            if matches!(server.receive_from(clock::now_ms(), &mut port), Ok(None)) {
                if server.has_work() {
                    let _ = server.work(&mut port);
                    show_running(&mut led, server.controller());
                    #[cfg(feature = "qemu")]
                    crate::instructions::add(clock::ticks() - begin);
                } else {
                    port.receiver.sleep();
                    #[cfg(feature = "qemu")]
                    crate::instructions::wake_up();
                }
            }
            #[cfg(feature = "rates")]
            if let Some(baud) =
                server.next_rate(clock::now_ms(), || port.transmitter.has_sent_all())
            {
                port.transmitter.set_baud(baud);
                defmt::info!("line: {=u32} baud", baud);
            }
            let counters = server.counters();
            #[cfg(feature = "qemu")]
            if counters.frames != frames {
                crate::instructions::keep(clock::ticks() - begin, counters.changes != before);
            }
            if counters.frames != frames {
                frames = counters.frames;
                show_running(&mut led, server.controller());
            }
            if counters.faults() != faults {
                faults = counters.faults();
                defmt::warn!("line: {=u32} faults since the reset", faults);
            }
        }
    }

    /// Has the server go on with what is in the journal.
    // Apart: what this takes of the stack is free again when the server is at work.
    #[cfg(feature = "journal")]
    #[inline(never)]
    fn restore(
        server: &mut Server<'static, Durable<Area, { REGIONS.len() }>>,
        recovered: Recovered,
        watchdog: &mut IndependentWatchdog,
    ) {
        defmt::info!("journal: {}", recovered);
        if boot::may_restore() {
            // The line is not looked at meanwhile.
            let watchdog = RefCell::new(watchdog);
            let feed = |_, _: &View<'_, '_>| {
                if let Ok(mut watchdog) = watchdog.try_borrow_mut() {
                    watchdog.feed();
                }
            };
            server.restore(recovered, &Pauses::new(FED_EVERY, &feed));
        } else {
            defmt::error!("the journal is not read: each time the chip was reset");
            server.leave_unread();
        }
        boot::restored();
        if let Origin::Damaged { .. } | Origin::Unread = server.origin() {
            defmt::error!("the journal: {}", server.origin());
        }
    }

    /// Instructions between two feeds of the watchdog in a restore.
    #[cfg(feature = "journal")]
    const FED_EVERY: u32 = 100_000;

    /// The serial port; whoever looks at it feeds the watchdog.
    struct BoardPort {
        receiver: serial::Receiver,
        transmitter: serial::Transmitter,
        watchdog: IndependentWatchdog,
    }

    impl Port for BoardPort {
        fn next(&mut self) -> Option<u8> {
            self.watchdog.feed();
            #[cfg(feature = "qemu")]
            crate::instructions::look();
            self.receiver.next()
        }
    }

    impl ErrorType for BoardPort {
        type Error = <serial::Transmitter as ErrorType>::Error;
    }

    impl Write for BoardPort {
        fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
            self.transmitter.write(bytes)
        }

        fn flush(&mut self) -> Result<(), Self::Error> {
            self.transmitter.flush()
        }
    }

    /// Lights the status LED while jobs run.
    fn show_running(led: &mut impl OutputPin, controller: &Controller<'_>) {
        let running = controller.jobs().running_len() > 0;
        // A pin of the chip itself cannot fail, one on an expander could: the light is not worth more.
        let _ = led.set_state(PinState::from(running));
    }
}
