//! MPS2 with the image AN386, as QEMU has it (machine `mps2-an386`): a Cortex-M4 at 25 MHz.
//!
//! - **Line**: UART0, a CMSDK APB UART (Cortex-M System Design Kit, ARM DDI 0479, section 4.3).
//! - **LED**: the first one of the FPGA's (application note AN386, FPGA system control).
//! - **Watchdog**: the CMSDK APB watchdog (section 4.6). Its interrupt is the NMI.
//! - **Journal**: a file on the host, as QEMU's machine has no flash. It is written in units of
//!   8 bytes, as the flash of an STM32L4 is.
//!
//! `docs/porting.md` walks through this file.
#![expect(unsafe_code, reason = "registers and interrupts")]

use core::convert::Infallible;

use ::cortex_m::asm;
use ::cortex_m::interrupt::InterruptNumber;
use ::cortex_m::peripheral::NVIC;
use cortex_m_rt::exception;
use embedded_hal::digital::{ErrorType, OutputPin};
use meshalloc::Ticks;
use meshalloc_firmware::BAUD_DEFAULT;
use meshalloc_firmware::board::{Board, WATCHDOG_MS};
use meshalloc_firmware::port::{Line, Status, Uart};

use super::cortex_m;
#[cfg(feature = "journal")]
use super::host_file::Area;
use super::register::Register;
use crate::crash::crash;

/// The system clock: that of the core, of SysTick and of the peripherals.
pub(super) const SYSTICK_HZ: u32 = 25_000_000;

/// Bytes of a unit of writing in the journal's file.
#[cfg(feature = "journal")]
pub(super) const UNIT: usize = 8;

/// UART0.
mod uart {
    use super::Register;

    const fn at(offset: usize) -> Register<u32> {
        // SAFETY: a register of UART0; it transfers no memory.
        unsafe { Register::at(0x4000_4000 + offset) }
    }

    pub(super) const DATA: Register<u32> = at(0x00);
    pub(super) const STATE: Register<u32> = at(0x04);
    pub(super) const CTRL: Register<u32> = at(0x08);
    /// INTSTATUS when it is read, INTCLEAR when it is written.
    pub(super) const INT: Register<u32> = at(0x0c);
    pub(super) const BAUDDIV: Register<u32> = at(0x10);

    /// STATE: the transmit buffer is full, the receive buffer is full, a received byte was lost.
    /// The last is cleared by writing it.
    pub(super) const TX_FULL: u32 = 1;
    pub(super) const RX_FULL: u32 = 1 << 1;
    pub(super) const RX_OVERRUN: u32 = 1 << 3;
    /// CTRL: transmitter, receiver and both of their interrupts on.
    pub(super) const ALL_ON: u32 = 0b1111;
    /// INT: the transmit buffer has become free, the receive buffer full.
    pub(super) const TX: u32 = 1;
    pub(super) const RX: u32 = 1 << 1;
}

/// The watchdog.
mod watchdog {
    use super::Register;

    const fn at(offset: usize) -> Register<u32> {
        // SAFETY: a register of the watchdog; it transfers no memory.
        unsafe { Register::at(0x4000_8000 + offset) }
    }

    pub(super) const LOAD: Register<u32> = at(0x00);
    pub(super) const CONTROL: Register<u32> = at(0x08);
    /// Begins the time anew.
    pub(super) const INTCLR: Register<u32> = at(0x0c);
    pub(super) const LOCK: Register<u32> = at(0xc00);

    /// LOCK: what unlocks the other registers.
    pub(super) const UNLOCK: u32 = 0x1acc_e551;
    /// CONTROL: interrupt at the end of the time, reset at the end of another one.
    pub(super) const ON: u32 = 0b11;
}

// SAFETY: a register of the FPGA; it transfers no memory.
const LEDS: Register<u32> = unsafe { Register::at(0x4002_8000) };

/// Interrupts of UART0.
#[derive(Clone, Copy)]
enum Irq {
    Received = 0,
    Sent = 1,
}

// SAFETY: the numbers are below 240 and fixed.
unsafe impl InterruptNumber for Irq {
    fn number(self) -> u16 {
        self as u16
    }
}

static LINE: Line<Cmsdk> = Line::new();

/// The registers of UART0.
pub(crate) struct Cmsdk;

impl Uart for Cmsdk {
    fn status(&mut self) -> Status {
        let state = uart::STATE.read();
        Status {
            is_received: state & uart::RX_FULL != 0,
            // This UART does not check the stop bit.
            is_misframed: false,
            is_overrun: state & uart::RX_OVERRUN != 0,
        }
    }

    fn has_room(&mut self) -> bool {
        uart::STATE.read() & uart::TX_FULL == 0
    }

    fn take(&mut self) -> u8 {
        // The interrupt is cleared before the byte is taken, since the next byte sets it again.
        uart::INT.write(uart::RX);
        uart::STATE.write(uart::RX_OVERRUN);
        uart::DATA.read() as u8
    }

    fn put(&mut self, byte: u8) {
        uart::INT.write(uart::TX);
        uart::DATA.write(byte.into());
    }

    /// The interrupt is always on. It comes when the buffer becomes free, not while the buffer is
    /// free.
    fn set_interrupt_on_room(&mut self, is_on: bool) {
        if !is_on {
            uart::INT.write(uart::TX);
        }
    }

    /// The last byte may still be in the shift register, which the UART does not show:
    /// [`Cmsdk::set_baud`] waits for it.
    fn has_sent_all(&mut self) -> bool {
        self.has_room()
    }

    /// The register has the number of clock cycles of a bit.
    fn set_baud(&mut self, baud: u32) {
        // A start bit, eight bits and a stop bit.
        asm::delay(10 * uart::BAUDDIV.read());
        uart::BAUDDIV.write((SYSTICK_HZ + baud / 2) / baud);
    }
}

/// The board.
pub(crate) struct Mps2 {
    serial: &'static Line<Cmsdk>,
    led: Led,
    #[cfg(feature = "journal")]
    area: Option<Area>,
}

/// Starts the board.
pub(crate) fn start() -> Mps2 {
    let core = defmt::unwrap!(::cortex_m::Peripherals::take());
    watchdog::LOCK.write(watchdog::UNLOCK);
    watchdog::LOAD.write(SYSTICK_HZ / 1_000 * WATCHDOG_MS);
    watchdog::CONTROL.write(watchdog::ON);
    Cmsdk.set_baud(BAUD_DEFAULT);
    uart::CTRL.write(uart::ALL_ON);
    LINE.open(Cmsdk);
    // SAFETY: no critical section masks these interrupts alone. What the handler uses is in place.
    unsafe {
        NVIC::unmask(Irq::Received);
        NVIC::unmask(Irq::Sent);
    }
    cortex_m::start_clock(core.SYST);
    Mps2 {
        serial: &LINE,
        led: Led,
        #[cfg(feature = "journal")]
        area: Area::open().ok(),
    }
}

impl Board for Mps2 {
    type Serial = &'static Line<Cmsdk>;
    type Led = Led;
    #[cfg(feature = "journal")]
    type Flash = Area;

    fn serial(&mut self) -> &mut Self::Serial {
        &mut self.serial
    }

    fn led(&mut self) -> &mut Led {
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
        watchdog::INTCLR.write(0);
    }

    fn sleep(&mut self) {
        cortex_m::sleep();
    }

    fn noise(&mut self) -> u64 {
        super::noise_of_host()
    }
}

/// The status LED.
pub(crate) struct Led;

impl ErrorType for Led {
    type Error = Infallible;
}

impl OutputPin for Led {
    fn set_low(&mut self) -> Result<(), Infallible> {
        LEDS.write(0);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        LEDS.write(1);
        Ok(())
    }
}

// SAFETY: the handler uses the line, which masks interrupts.
#[exception]
unsafe fn DefaultHandler(_: i16) {
    LINE.on_interrupt();
}

// SAFETY: writes to the logger, and never returns to the interrupted program.
#[exception]
unsafe fn NonMaskableInt() -> ! {
    crash(|| defmt::error!("the watchdog resets the board"))
}
