//! The NUCLEO-64 boards with an STM32F4: USART2 is the ST-LINK's virtual COM port (115200 baud,
//! 8N1).

use stm32f4xx_hal::gpio::{GpioExt, Output, PA5};
use stm32f4xx_hal::pac::{self, interrupt};
use stm32f4xx_hal::rcc::{Enable, RccExt};

use super::stm32f4::{self, Parts, Stm32F4};

pub(super) type Usart = pac::USART2;

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
