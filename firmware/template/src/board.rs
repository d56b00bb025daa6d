//! QEMU's `lm3s6965evb`: a Cortex-M3 at 12.5 MHz whose UART0 is a PL011.
//!
//! QEMU leaves out what a chip needs besides: the clock tree, the gates of the UART's and the pins'
//! clocks, the pins' functions, and a watchdog. On a chip `start` sets them up.

use core::cell::Cell;
use core::ptr;

use cortex_m::Peripherals;
use cortex_m::asm;
use cortex_m::interrupt::{self, InterruptNumber, Mutex};
use cortex_m::peripheral::NVIC;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::exception;
use meshalloc::Ticks;
use meshalloc_firmware::BAUD_DEFAULT;
use meshalloc_firmware::board::{Board, NoLed, mixed};
use meshalloc_firmware::port::{Line, Status, Uart};

const CLOCK_HZ: u32 = 12_500_000;

static LINE: Line<Pl011> = Line::new();
static NOW_MS: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));

/// The board: its line and its LED.
pub(crate) struct Lm3s {
    serial: &'static Line<Pl011>,
    led: NoLed,
}

/// Starts the board.
pub(crate) fn start() -> Lm3s {
    let Some(mut core) = Peripherals::take() else {
        panic!("start is called once");
    };
    Pl011.set_baud(BAUD_DEFAULT);
    Pl011::CTL.write(Pl011::ALL_ON);
    Pl011::IM.write(Pl011::RX);
    LINE.open(Pl011);
    // SAFETY: no critical section masks this interrupt alone.
    unsafe { NVIC::unmask(Uart0) };
    core.SYST.set_clock_source(SystClkSource::Core);
    core.SYST.set_reload(CLOCK_HZ / 1_000 - 1);
    core.SYST.clear_current();
    core.SYST.enable_interrupt();
    core.SYST.enable_counter();
    Lm3s {
        serial: &LINE,
        led: NoLed,
    }
}

impl Board for Lm3s {
    type Serial = &'static Line<Pl011>;
    type Led = NoLed;

    fn serial(&mut self) -> &mut Self::Serial {
        &mut self.serial
    }

    fn led(&mut self) -> &mut NoLed {
        &mut self.led
    }

    fn now_ms(&self) -> Ticks {
        // Two words cannot be read at once without keeping the interrupt out.
        interrupt::free(|cs| NOW_MS.borrow(cs).get())
    }

    /// A chip has a watchdog, which is fed here.
    fn feed(&mut self) {}

    fn sleep(&mut self) {
        asm::wfi();
    }

    /// At power on, RAM that nothing has written may hold any values. QEMU's holds zeros. A random
    /// number generator is a better source.
    fn noise(&mut self) -> u64 {
        const RAM: *const u32 = 0x2000_8000 as *const u32;
        // SAFETY: this RAM lies between the variables and the stack; reading it changes nothing.
        mixed(
            0,
            (0..256).map(|at| unsafe { ptr::read_volatile(RAM.add(at)) }.into()),
        )
    }
}

/// The registers of UART0.
pub(crate) struct Pl011;

impl Pl011 {
    const DATA: Register = Register(0x4000_c000);
    /// The errors of the byte that was read last; cleared by writing it.
    const ERRORS: Register = Register(0x4000_c004);
    const FLAGS: Register = Register(0x4000_c018);
    /// Clock cycles of a sixteenth of a bit: the whole ones, and 64ths of one.
    const WHOLE: Register = Register(0x4000_c024);
    const PARTS: Register = Register(0x4000_c028);
    /// Writing it takes over the two registers above.
    const LINE: Register = Register(0x4000_c02c);
    const CTL: Register = Register(0x4000_c030);
    /// Which interrupts are on.
    const IM: Register = Register(0x4000_c038);
    /// Clears interrupts.
    const CLEAR: Register = Register(0x4000_c044);

    const OVERRUN: u32 = 1 << 3;
    const BUSY: u32 = 1 << 3;
    const RX_EMPTY: u32 = 1 << 4;
    const TX_FULL: u32 = 1 << 5;
    const EIGHT_BITS: u32 = 0b11 << 5;
    /// UART, transmitter and receiver.
    const ALL_ON: u32 = 1 | 1 << 8 | 1 << 9;
    /// A byte has come; there is room for one.
    const RX: u32 = 1 << 4;
    const TX: u32 = 1 << 5;
}

impl Uart for Pl011 {
    fn status(&mut self) -> Status {
        Status {
            is_received: Self::FLAGS.read() & Self::RX_EMPTY == 0,
            // That is known only when the byte was taken. The frame's CRC finds it.
            is_misframed: false,
            is_overrun: Self::ERRORS.read() & Self::OVERRUN != 0,
        }
    }

    fn has_room(&mut self) -> bool {
        Self::FLAGS.read() & Self::TX_FULL == 0
    }

    fn take(&mut self) -> u8 {
        Self::CLEAR.write(Self::RX);
        let byte = Self::DATA.read() as u8;
        Self::ERRORS.write(0);
        byte
    }

    fn put(&mut self, byte: u8) {
        Self::CLEAR.write(Self::TX);
        Self::DATA.write(byte.into());
    }

    fn set_interrupt_on_room(&mut self, is_on: bool) {
        Self::IM.write(if is_on { Self::RX | Self::TX } else { Self::RX });
    }

    fn has_sent_all(&mut self) -> bool {
        Self::FLAGS.read() & Self::BUSY == 0
    }

    fn set_baud(&mut self, baud: u32) {
        // 64ths of the cycles of a sixteenth of a bit.
        let parts = (CLOCK_HZ * 4 + baud / 2) / baud;
        Self::WHOLE.write(parts / 64);
        Self::PARTS.write(parts % 64);
        Self::LINE.write(Self::EIGHT_BITS);
    }
}

/// A register, by its address.
struct Register(usize);

impl Register {
    fn read(&self) -> u32 {
        // SAFETY: a register of UART0; it transfers no memory.
        unsafe { ptr::read_volatile(self.0 as *const u32) }
    }

    fn write(&self, value: u32) {
        // SAFETY: as above.
        unsafe { ptr::write_volatile(self.0 as *mut u32, value) }
    }
}

/// The interrupt of UART0.
#[derive(Clone, Copy)]
struct Uart0;

// SAFETY: the number is fixed.
unsafe impl InterruptNumber for Uart0 {
    fn number(self) -> u16 {
        5
    }
}

/// All interrupts: that of UART0 is the only one that is on.
// SAFETY: the handler uses the line, which masks interrupts.
#[exception]
unsafe fn DefaultHandler(_: i16) {
    LINE.on_interrupt();
}

#[exception]
fn SysTick() {
    interrupt::free(|cs| {
        let now = NOW_MS.borrow(cs);
        now.set(now.get() + 1);
    });
}
