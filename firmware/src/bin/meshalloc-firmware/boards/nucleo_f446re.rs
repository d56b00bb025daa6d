//! NUCLEO-F446RE: STM32F446RE, 180 MHz.
//!
//! With the feature `qemu` the image runs on QEMU's netduinoplus2 (an STM32F405): it does not use
//! the PLL, which QEMU does not have; it sets the clock to the speed of QEMU's SysTick; and it
//! stores how long commands take (`instructions.rs`).

pub(super) use super::nucleo64::Usart;
pub(crate) use super::nucleo64::start;
use super::stm32f4::Clocks;

#[cfg(feature = "qemu")]
pub(crate) use super::cortex_m::ticks;

pub(super) const CLOCKS: Clocks = Clocks {
    core_mhz: 180,
    apb1_divisor: 4,
    apb2_divisor: 2,
    wait_states: 5,
};

/// The rate of SysTick: the core's clock. QEMU's machine always has this rate.
pub(super) const SYSTICK_HZ: u32 = if cfg!(feature = "qemu") {
    168_000_000
} else {
    CLOCKS.core_mhz * 1_000_000
};

/// Bytes of a unit of writing in the journal's file.
#[cfg(all(feature = "qemu", feature = "journal"))]
pub(super) const UNIT: usize = 4;
