//! NUCLEO-F429ZI: STM32F429ZI, 180 MHz. USART3 is the ST-LINK's virtual COM port (115200 baud,
//! 8N1).
//!
//! Not tried on hardware.

use stm32f4xx_hal::gpio::{GpioExt, Output, PB0};
use stm32f4xx_hal::pac::{self, interrupt};
use stm32f4xx_hal::rcc::{Enable, RccExt};

use super::stm32f4::{self, Clocks, Parts, Stm32F4};

pub(super) type Usart = pac::USART3;

pub(super) const CLOCKS: Clocks = Clocks {
    core_mhz: 180,
    apb1_divisor: 4,
    apb2_divisor: 2,
    wait_states: 5,
};

pub(super) const SYSTICK_HZ: u32 = CLOCKS.core_mhz * 1_000_000;

/// The line: PD8 is TX, PD9 RX. The LED: LD1, PB0.
pub(crate) fn start() -> Stm32F4<PB0<Output>> {
    let device = defmt::unwrap!(pac::Peripherals::take());
    let mut rcc = device.RCC.constrain();
    let led = device.GPIOB.split(&mut rcc).pb0.into_push_pull_output();
    let gpio = device.GPIOD.split(&mut rcc);
    let _ = gpio.pd8.into_alternate::<7>();
    // A line that nothing drives is at rest.
    let _ = gpio.pd9.into_alternate::<7>().internal_pull_up(true);
    Usart::enable(&mut rcc);
    stm32f4::start(Parts {
        rcc,
        watchdog: device.IWDG,
        debug: device.DBGMCU,
        converter: (device.ADC1, device.ADC_COMMON),
        power: device.PWR,
        flash: device.FLASH,
        usart: device.USART3,
        interrupt: pac::Interrupt::USART3,
        led,
    })
}

#[interrupt]
fn USART3() {
    stm32f4::LINE.on_interrupt();
}
