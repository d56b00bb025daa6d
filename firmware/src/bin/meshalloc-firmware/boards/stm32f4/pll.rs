//! The chip's full speed: from the PLL, driven by the board's 8 MHz or, if these are missing, by
//! the internal 16 MHz.
//!
//! The registers are used without a driver: `stm32f4xx-hal` searches for the divisors at run time,
//! which takes 1.2 KB of flash, and waits without end for an external clock that is missing.
//!
//! ```text
//!   8 MHz / 4 ──┐                                              ┌──▶ core, AHB, SysTick
//!               ├─▶ 2 MHz ──× core MHz──▶ oscillator ──/ 2──▶ ─┼──▶ APB1: USART
//!  16 MHz / 8 ──┘                                              └──▶ APB2: ADC, off by then
//! ```
//!
//! | | STM32F446, STM32F429 | STM32F411 |
//! |---|---|---|
//! | core | 180 MHz, the most | 100 MHz, the most |
//! | APB1, APB2 | 45 and 90 MHz | 50 and 100 MHz |
//! | flash, from 2.7 V on | 5 wait states | 3 wait states |
//! | above 168 MHz, or 84 | over-drive mode (feature `over-drive`) | voltage scale 1 |
//!
//! Reference manuals RM0390 (section 5.1.4 has the order), RM0090 and RM0383. The loops here end
//! when the hardware is sound; the watchdog runs already.

use stm32f4xx_hal::pac::{FLASH, PWR, rcc};

use crate::boards::CLOCKS;

const _: () = assert!(
    CLOCKS.core_mhz >= 96 && CLOCKS.core_mhz <= 180,
    "core_mhz: expected 96 to 180; the PLL's oscillator runs at twice the rate"
);

/// How often the external clock is checked: for about 0.1 s at 16 MHz.
const LOOKS: u32 = 200_000;

/// Level 3, a reset below 2.7 V, as the option bytes have it (reference manual, section 3.6.1); 3
/// is off.
const BROWN_OUT_LEVEL: u8 = 0;

/// Goes from the internal 16 MHz, the clock after a reset, to the speed of [`CLOCKS`].
#[expect(unsafe_code, reason = "divisors are written as bits")]
pub(super) fn start(rcc: &rcc::RegisterBlock, power: &PWR, flash: &FLASH) {
    if flash.optcr().read().bor_lev().bits() != BROWN_OUT_LEVEL {
        defmt::warn!("no reset below 2.7 V: the brown-out level is not 3 (option bytes)");
    }
    rcc.apb1enr().modify(|_, w| w.pwren().set_bit());
    ::cortex_m::asm::dsb();
    // The chips that have the over-drive mode start with the highest voltage scale. The scale can
    // be set while the PLL is off.
    #[cfg(not(feature = "over-drive"))]
    // SAFETY: 3 is voltage scale 1.
    power.cr().modify(|_, w| unsafe { w.vos().bits(3) });

    rcc.cr()
        .modify(|_, w| w.hsebyp().set_bit().hseon().set_bit());
    let is_external = (0..LOOKS).any(|_| rcc.cr().read().hserdy().bit_is_set());
    if is_external {
        // Otherwise the PLL would go on at some rate if the clock stopped, and the line would not
        // work.
        rcc.cr().modify(|_, w| w.csson().set_bit());
    } else {
        rcc.cr().modify(|_, w| w.hseon().clear_bit());
        defmt::warn!("no clock of 8 MHz: the internal oscillator is within 1 % at 25 degrees only");
    }
    rcc.pllcfgr().modify(|_, w| {
        w.pllsrc().bit(is_external);
        w.pllp().div2();
        // SAFETY: the PLL's oscillator is made for an input of 2 MHz, 8 / 4 or 16 / 8, and for an
        // output of twice the core's rate, 200 or 360 MHz.
        unsafe {
            w.pllm()
                .bits(if is_external { 4 } else { 8 })
                .plln()
                .bits(CLOCKS.core_mhz as u16)
        }
    });
    rcc.cr().modify(|_, w| w.pllon().set_bit());

    #[cfg(feature = "over-drive")]
    {
        power.cr().modify(|_, w| w.oden().set_bit());
        while power.csr().read().odrdy().bit_is_clear() {}
        power.cr().modify(|_, w| w.odswen().set_bit());
        while power.csr().read().odswrdy().bit_is_clear() {}
    }

    flash.acr().write(|w| {
        // SAFETY: the number of wait states of the chip's data sheet.
        unsafe { w.latency().bits(CLOCKS.wait_states) };
        w.prften().set_bit();
        w.icen().set_bit();
        w.dcen().set_bit()
    });
    rcc.cfgr().modify(|_, w| {
        match CLOCKS.apb1_divisor {
            2 => w.ppre1().div2(),
            _ => w.ppre1().div4(),
        };
        match CLOCKS.apb2_divisor {
            1 => w.ppre2().div1(),
            _ => w.ppre2().div2(),
        }
    });
    while rcc.cr().read().pllrdy().bit_is_clear() {}
    rcc.cfgr().modify(|_, w| w.sw().pll());
    while !rcc.cfgr().read().sws().is_pll() {}
}
