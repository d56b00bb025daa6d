//! What all boards with an STM32F4 share. The module of a board adds its pins and speeds.
//!
//! - **Clock**: the PLL (`pll.rs`). With the feature `qemu` the chip is left as it is after a
//!   reset.
//! - **Watchdog**: the independent one, which runs from before the clock is raised.
//! - **Noise**: the noise of the temperature sensor; in QEMU the host's random numbers.
//! - **Journal** (feature `journal`): the sectors 1 to 3 of the flash (`flash.rs`). Erasing a
//!   sector stops the processor for up to 0.8 s, once in a few hundred commands. In QEMU it is a
//!   file of the host.

#[cfg(all(feature = "journal", not(feature = "qemu")))]
mod flash;
#[cfg(not(feature = "qemu"))]
mod pll;
mod usart;

use embedded_hal::digital::OutputPin;
use meshalloc::Ticks;
use meshalloc_firmware::board::{Board, WATCHDOG_MS};
use meshalloc_firmware::port::Line;
use stm32f4xx_hal::pac;
use stm32f4xx_hal::prelude::_fugit_ExtU32;
use stm32f4xx_hal::rcc::Rcc;
use stm32f4xx_hal::watchdog::IndependentWatchdog;

#[cfg(feature = "journal")]
use self::area::Area;
use super::{Usart, cortex_m};

#[cfg(all(feature = "journal", feature = "qemu"))]
use super::host_file as area;
#[cfg(all(feature = "journal", not(feature = "qemu")))]
use flash as area;

/// The speeds of a chip whose board feeds it a clock of 8 MHz.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    /// The clock of the core, the AHB and SysTick, in MHz: 96 to 180.
    pub(super) core_mhz: u32,
    /// Core clocks in one of the bus APB1, where the USART is: 2 or 4.
    pub(super) apb1_divisor: u32,
    /// Core clocks in one of the bus APB2: 1 or 2.
    #[cfg_attr(feature = "qemu", expect(dead_code, reason = "QEMU has no PLL"))]
    pub(super) apb2_divisor: u32,
    /// Wait states of the flash from 2.7 V on.
    #[cfg_attr(feature = "qemu", expect(dead_code, reason = "QEMU has no PLL"))]
    pub(super) wait_states: u8,
}

/// The line to the clients. The interrupt of the USART calls its `on_interrupt`.
pub(super) static LINE: Line<usart::Registers> = Line::new();

/// The parts of a chip that this module uses. The board has set up the pins and the USART's clock.
pub(super) struct Parts<L> {
    pub(super) rcc: Rcc,
    pub(super) watchdog: pac::IWDG,
    pub(super) debug: pac::DBGMCU,
    #[cfg_attr(feature = "qemu", expect(dead_code, reason = "the host has noise"))]
    pub(super) converter: (pac::ADC1, pac::ADC_COMMON),
    #[cfg_attr(feature = "qemu", expect(dead_code, reason = "QEMU has no PLL"))]
    pub(super) power: pac::PWR,
    #[cfg_attr(
        feature = "qemu",
        expect(dead_code, reason = "QEMU's cannot be written")
    )]
    pub(super) flash: pac::FLASH,
    pub(super) usart: Usart,
    pub(super) interrupt: pac::Interrupt,
    pub(super) led: L,
}

/// A board with an STM32F4 and this LED.
pub(crate) struct Stm32F4<L> {
    serial: &'static Line<usart::Registers>,
    led: L,
    watchdog: IndependentWatchdog,
    noise: u64,
    #[cfg(feature = "journal")]
    area: Option<Area>,
}

/// Starts the chip.
pub(super) fn start<L: OutputPin>(parts: Parts<L>) -> Stm32F4<L> {
    #[cfg_attr(
        any(not(feature = "journal"), feature = "qemu"),
        expect(unused_mut, reason = "only a sector's erase is timed")
    )]
    let mut core = defmt::unwrap!(::cortex_m::Peripherals::take());
    #[cfg_attr(feature = "qemu", expect(unused_mut, reason = "QEMU needs no set-up"))]
    let mut rcc = parts.rcc;
    let by_watchdog = rcc.csr().read().wdgrstf().bit_is_set();
    rcc.csr().modify(|_, w| w.rmvf().set_bit());
    if by_watchdog {
        defmt::error!("the watchdog has reset the chip");
    }
    let mut watchdog = IndependentWatchdog::new(parts.watchdog);
    watchdog.stop_on_debug(&parts.debug, true);
    watchdog.start(WATCHDOG_MS.millis());

    #[cfg(feature = "qemu")]
    let noise = super::noise_of_host();
    #[cfg(not(feature = "qemu"))]
    let noise = noise(&parts.converter.0, &parts.converter.1, &mut rcc);
    #[cfg(not(feature = "qemu"))]
    pll::start(&rcc, &parts.power, &parts.flash);
    usart::start(&LINE, parts.usart, parts.interrupt);
    cortex_m::start_clock(core.SYST);
    #[cfg(all(feature = "journal", not(feature = "qemu")))]
    {
        core.DCB.enable_trace();
        core.DWT.enable_cycle_counter();
    }
    Stm32F4 {
        serial: &LINE,
        led: parts.led,
        watchdog,
        noise,
        #[cfg(all(feature = "journal", not(feature = "qemu")))]
        area: Some(Area::new(parts.flash)),
        #[cfg(all(feature = "journal", feature = "qemu"))]
        area: Area::open().ok(),
    }
}

impl<L: OutputPin> Board for Stm32F4<L> {
    type Serial = &'static Line<usart::Registers>;
    type Led = L;
    #[cfg(feature = "journal")]
    type Flash = Area;

    fn serial(&mut self) -> &mut Self::Serial {
        &mut self.serial
    }

    fn led(&mut self) -> &mut L {
        &mut self.led
    }

    #[cfg(feature = "journal")]
    fn flash(&mut self) -> Option<Area> {
        self.area.take()
    }

    fn now_ms(&self) -> Ticks {
        cortex_m::now_ms()
    }

    fn feed(&mut self) {
        self.watchdog.feed();
        #[cfg(all(feature = "board-nucleo-f446re", feature = "qemu"))]
        crate::instructions::look();
    }

    fn sleep(&mut self) {
        cortex_m::sleep();
    }

    fn noise(&mut self) -> u64 {
        self.noise
    }
}

/// The noise in the lowest bits of samples of the temperature sensor. The registers are used
/// without a driver, since a driver takes more flash than the rest of this module. The converter
/// has its clock for 16 MHz of the chip; it is off again after this.
#[cfg(not(feature = "qemu"))]
#[expect(unsafe_code, reason = "a channel's number is written as bits")]
fn noise(converter: &pac::ADC1, common: &pac::ADC_COMMON, rcc: &mut Rcc) -> u64 {
    use meshalloc_firmware::board::mixed;
    use stm32f4xx_hal::rcc::Enable;

    const SAMPLES: usize = 256;
    /// The sensor's channel.
    const TEMPERATURE: u32 = 18;
    /// How often the end of a conversion is checked. This takes several times as long as a
    /// conversion.
    const LOOKS: usize = 1000;

    pac::ADC1::enable(rcc);
    common.ccr().modify(|_, w| w.tsvrefe().set_bit());
    // SAFETY: the first and only channel of the sequence is one that exists.
    converter.sqr3().write(|w| unsafe { w.bits(TEMPERATURE) });
    converter.cr2().modify(|_, w| w.adon().set_bit());
    let samples = (0..SAMPLES).map(|_| {
        converter.cr2().modify(|_, w| w.swstart().set_bit());
        // Reading the sample clears the mark. Without a mark it is the last sample again.
        let _ = (0..LOOKS).find(|_| converter.sr().read().eoc().bit_is_set());
        u64::from(converter.dr().read().bits())
    });
    let noise = mixed(0, samples);
    converter.cr2().reset();
    noise
}

#[cfg(not(feature = "qemu"))]
#[expect(unsafe_code, reason = "cortex-m-rt wants this handler to be unsafe")]
mod faults {
    // SAFETY: writes to the logger, and never returns to the interrupted program.
    #[cortex_m_rt::exception]
    unsafe fn NonMaskableInt() -> ! {
        // The chip goes on with the internal clock, at which the line has another rate. The next
        // start finds out which clocks there are.
        crate::crash::crash(|| defmt::error!("the external clock has stopped"))
    }
}
