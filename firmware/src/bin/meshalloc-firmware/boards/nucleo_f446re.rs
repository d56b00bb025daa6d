//! NUCLEO-F446RE: STM32F446RE, 180 MHz. USART2 is the ST-LINK's virtual COM port (115200 baud,
//! 8N1).
//!
//! With the feature `qemu` the image runs on QEMU's netduinoplus2 (an STM32F405): it leaves the PLL
//! alone, which QEMU does not have, tells the clock how fast QEMU's SysTick runs, and keeps how
//! long commands take (`instructions.rs`).

use stm32f4xx_hal::gpio::{GpioExt, Output, PA5};
use stm32f4xx_hal::pac::{self, interrupt};
use stm32f4xx_hal::rcc::{Enable, RccExt};

use super::stm32f4::{self, Clocks, Parts, Stm32F4};

#[cfg(feature = "qemu")]
pub(crate) use super::cortex_m::ticks;

pub(super) type Usart = pac::USART2;

pub(super) const CLOCKS: Clocks = Clocks {
    core_mhz: 180,
    apb1_divisor: 4,
    apb2_divisor: 2,
    wait_states: 5,
};

/// How fast SysTick counts: with the core's clock, but QEMU's machine always at this one.
pub(super) const SYSTICK_HZ: u32 = if cfg!(feature = "qemu") {
    168_000_000
} else {
    CLOCKS.core_mhz * 1_000_000
};

/// Bytes of a unit of writing in the journal's file.
#[cfg(all(feature = "qemu", feature = "journal"))]
pub(super) const UNIT: usize = 4;

/// The line: PA2 is TX, PA3 RX. The LED: LD2, PA5.
pub(crate) fn start() -> Stm32F4<PA5<Output>> {
    let device = defmt::unwrap!(pac::Peripherals::take());
    let mut rcc = device.RCC.constrain();
    let gpio = device.GPIOA.split(&mut rcc);
    let _ = gpio.pa2.into_alternate::<7>();
    // A line that nothing drives is at rest.
    let _ = gpio.pa3.into_alternate::<7>().internal_pull_up(true);
    Usart::enable(&mut rcc);
    stm32f4::start(Parts {
        rcc,
        watchdog: device.IWDG,
        debug: device.DBGMCU,
        converter: (device.ADC1, device.ADC_COMMON),
        power: device.PWR,
        flash: device.FLASH,
        usart: device.USART2,
        interrupt: pac::Interrupt::USART2,
        led: gpio.pa5.into_push_pull_output(),
    })
}

#[interrupt]
fn USART2() {
    stm32f4::LINE.on_interrupt();
}
