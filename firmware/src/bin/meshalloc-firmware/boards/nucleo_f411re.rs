//! NUCLEO-F411RE: STM32F411RE, 100 MHz.
//!
//! Not tried on hardware.

pub(super) use super::nucleo64::Usart;
pub(crate) use super::nucleo64::start;
use super::stm32f4::Clocks;

pub(super) const CLOCKS: Clocks = Clocks {
    core_mhz: 100,
    apb1_divisor: 2,
    apb2_divisor: 1,
    wait_states: 3,
};

pub(super) const SYSTICK_HZ: u32 = CLOCKS.core_mhz * 1_000_000;
