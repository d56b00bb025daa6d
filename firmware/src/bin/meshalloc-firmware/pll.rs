//! The chip's full speed: 180 MHz from the PLL, out of the ST-LINK's 8 MHz or, where there are none, of the internal 16 MHz.
//!
//! The registers are used as they are: `stm32f4xx-hal` searches for the divisors at run time, which takes 1.2 KB of flash, and waits for ever
//! for an external clock that is not there.
//!
//! | | | |
//! |---|---|---|
//! | core, AHB, SysTick | 180 MHz | the most that the chip does |
//! | APB1: USART2 | 45 MHz | the most |
//! | APB2: ADC | 90 MHz | the most; the ADC is off by then ([`boot`](crate::boot)) |
//! | flash | 5 wait states, prefetch, both caches | from 2.7 V (reference manual RM0390, table 5) |
//!
//! The order is that of section 5.1.4 of the manual. The loops here end when the hardware is sound; the watchdog runs already.

use stm32f4xx_hal::pac::{FLASH, PWR, rcc};

/// How often the external clock is looked for: about 0.1 s at 16 MHz.
const LOOKS: u32 = 200_000;

/// Level 3, a reset below 2.7 V, as the option bytes have it (reference manual, section 3.6.1); 3 is off.
const BROWN_OUT_LEVEL: u8 = 0;

/// Goes from the internal 16 MHz, as they are after a reset, to 180 MHz.
#[expect(unsafe_code, reason = "divisors are written as bits")]
pub(crate) fn start(rcc: &rcc::RegisterBlock, power: &PWR, flash: &FLASH) {
    if flash.optcr().read().bor_lev().bits() != BROWN_OUT_LEVEL {
        defmt::warn!("no reset below 2.7 V: the brown-out level is not 3 (option bytes)");
    }
    rcc.cr()
        .modify(|_, w| w.hsebyp().set_bit().hseon().set_bit());
    let is_external = (0..LOOKS).any(|_| rcc.cr().read().hserdy().bit_is_set());
    if is_external {
        // Without it the PLL would go on at any rate, and nobody would notice that the line does not understand anything.
        rcc.cr().modify(|_, w| w.csson().set_bit());
    } else {
        rcc.cr().modify(|_, w| w.hseon().clear_bit());
        defmt::warn!("no clock of 8 MHz: the internal oscillator is within 1 % at 25 degrees only");
    }
    rcc.pllcfgr().modify(|_, w| {
        w.pllsrc().bit(is_external);
        w.pllp().div2();
        // SAFETY: 2 MHz for the oscillator of the PLL, 8 / 4 or 16 / 8, and 360 MHz out of it are what it is made for.
        unsafe {
            w.pllm()
                .bits(if is_external { 4 } else { 8 })
                .plln()
                .bits(180)
        }
    });
    rcc.cr().modify(|_, w| w.pllon().set_bit());

    // More than 168 MHz take the over-drive mode. The voltage scale is the highest after a reset.
    rcc.apb1enr().modify(|_, w| w.pwren().set_bit());
    cortex_m::asm::dsb();
    power.cr().modify(|_, w| w.oden().set_bit());
    while power.csr().read().odrdy().bit_is_clear() {}
    power.cr().modify(|_, w| w.odswen().set_bit());
    while power.csr().read().odswrdy().bit_is_clear() {}

    flash.acr().write(|w| {
        w.latency().ws5();
        w.prften().set_bit();
        w.icen().set_bit();
        w.dcen().set_bit()
    });
    rcc.cfgr().modify(|_, w| w.ppre1().div4().ppre2().div2());
    while rcc.cr().read().pllrdy().bit_is_clear() {}
    rcc.cfgr().modify(|_, w| w.sw().pll());
    while !rcc.cfgr().read().sws().is_pll() {}
}
