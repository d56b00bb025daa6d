//! QEMU's machine `virt`: RISC-V (RV32IMAC) in machine mode.
//!
//! - **Line**: a 16550 UART (National Semiconductor, data sheet PC16550D), through the PLIC.
//! - **Clock**: `mtime` of the CLINT, 10 MHz; its interrupt ends a sleep every millisecond.
//! - **LED, watchdog**: the machine has none. A program that hangs is not reset.
//! - **Journal**: a file on the host, written in units of 32 bytes, as the flash of an STM32H7 is.
#![expect(unsafe_code, reason = "registers and interrupts")]

use meshalloc::Ticks;
use meshalloc_firmware::BAUD_DEFAULT;
use meshalloc_firmware::board::{Board, NoLed};
use meshalloc_firmware::port::{Line, Status, Uart};
use riscv::interrupt::Interrupt;
use riscv::register::{mcause, mepc, mie};
pub(crate) use riscv_rt::entry;

#[cfg(feature = "journal")]
use super::host_file::Area;
use super::register::Register;
use crate::crash::crash;

/// Bytes of a unit of writing in the journal's file.
#[cfg(feature = "journal")]
pub(super) const UNIT: usize = 32;

/// The UART.
mod uart {
    use super::Register;

    const fn at(offset: usize) -> Register<u8> {
        // SAFETY: a register of the UART; it transfers no memory.
        unsafe { Register::at(0x1000_0000 + offset) }
    }

    /// RBR when it is read, THR when it is written; the low byte of the divisor while [`DLAB`] is
    /// set.
    pub(super) const DATA: Register<u8> = at(0);
    /// IER; the high byte of the divisor while [`DLAB`] is set.
    pub(super) const IER: Register<u8> = at(1);
    pub(super) const LCR: Register<u8> = at(3);
    pub(super) const LSR: Register<u8> = at(5);

    /// IER: interrupts while there is a received byte, and while there is room for one to send.
    pub(super) const ERBFI: u8 = 1;
    pub(super) const ETBEI: u8 = 1 << 1;
    /// LCR: 8 bits, no parity, one stop bit; access to the divisor.
    pub(super) const EIGHT_BITS: u8 = 0b11;
    pub(super) const DLAB: u8 = 1 << 7;
    /// LSR: a received byte, one was lost, it has no stop bit, room for a byte, all have left.
    pub(super) const DR: u8 = 1;
    pub(super) const OE: u8 = 1 << 1;
    pub(super) const FE: u8 = 1 << 3;
    pub(super) const THRE: u8 = 1 << 5;
    pub(super) const TEMT: u8 = 1 << 6;
    /// Its clock in QEMU.
    pub(super) const HZ: u32 = 399_193 * 16;
}

/// The interrupt controller (RISC-V PLIC specification). The image uses only the UART's interrupt.
mod plic {
    use super::Register;

    const fn at(offset: usize) -> Register<u32> {
        // SAFETY: a register of the PLIC; it transfers no memory.
        unsafe { Register::at(0x0c00_0000 + offset) }
    }

    /// The interrupt of the UART.
    pub(super) const UART: u32 = 10;
    pub(super) const PRIORITY: Register<u32> = at(4 * UART as usize);
    /// The enabled interrupts and the threshold of the first processor in machine mode.
    pub(super) const ENABLE: Register<u32> = at(0x2000);
    pub(super) const THRESHOLD: Register<u32> = at(0x20_0000);
    /// Claims an interrupt when it is read, completes it when it is written.
    pub(super) const CLAIM: Register<u32> = at(0x20_0004);
}

/// The timer (SiFive CLINT).
mod clint {
    use super::Register;

    const fn at(offset: usize) -> Register<u32> {
        // SAFETY: a register of the CLINT; it transfers no memory.
        unsafe { Register::at(0x0200_0000 + offset) }
    }

    /// The time, and when its interrupt comes; low word, high word.
    pub(super) const TIME: [Register<u32>; 2] = [at(0xbff8), at(0xbffc)];
    pub(super) const COMPARE: [Register<u32>; 2] = [at(0x4000), at(0x4004)];
    /// Ticks of the time in a millisecond.
    pub(super) const EACH_MS: u64 = 10_000;
}

// SAFETY: the register of the machine's end; it transfers no memory.
const TEST: Register<u32> = unsafe { Register::at(0x10_0000) };
/// TEST: resets the machine.
const RESET: u32 = 0x7777;

static LINE: Line<Ns16550> = Line::new();

/// The registers of the UART.
pub(crate) struct Ns16550;

impl Uart for Ns16550 {
    /// Reading clears the errors, so an error that comes before the next look at the room is not
    /// seen. The frame's CRC detects it.
    fn status(&mut self) -> Status {
        let status = uart::LSR.read();
        Status {
            is_received: status & uart::DR != 0,
            is_misframed: status & uart::FE != 0,
            is_overrun: status & uart::OE != 0,
        }
    }

    fn has_room(&mut self) -> bool {
        uart::LSR.read() & uart::THRE != 0
    }

    fn take(&mut self) -> u8 {
        uart::DATA.read()
    }

    fn put(&mut self, byte: u8) {
        uart::DATA.write(byte);
    }

    fn set_interrupt_on_room(&mut self, is_on: bool) {
        let room = if is_on { uart::ETBEI } else { 0 };
        uart::IER.write(uart::ERBFI | room);
    }

    fn has_sent_all(&mut self) -> bool {
        uart::LSR.read() & uart::TEMT != 0
    }

    /// 16 samples a bit.
    fn set_baud(&mut self, baud: u32) {
        let divisor = ((uart::HZ / 16 + baud / 2) / baud).max(1);
        let [low, high, ..] = divisor.to_le_bytes();
        uart::LCR.write(uart::DLAB | uart::EIGHT_BITS);
        uart::DATA.write(low);
        uart::IER.write(high);
        uart::LCR.write(uart::EIGHT_BITS);
    }
}

/// The board.
pub(crate) struct Virt {
    serial: &'static Line<Ns16550>,
    led: NoLed,
    #[cfg(feature = "journal")]
    area: Option<Area>,
}

/// Starts the board.
pub(crate) fn start() -> Virt {
    set_time(clint::TIME, 0);
    set_time(clint::COMPARE, clint::EACH_MS);
    Ns16550.set_baud(BAUD_DEFAULT);
    LINE.open(Ns16550);
    plic::PRIORITY.write(1);
    plic::ENABLE.write(1 << plic::UART);
    plic::THRESHOLD.write(0);
    // This comes last: a byte that came before the start causes an interrupt now, and QEMU's PLIC
    // would not pass it on if it were enabled later.
    Ns16550.set_interrupt_on_room(false);
    // SAFETY: no critical section masks these interrupts alone. What their handlers use is in
    // place.
    unsafe {
        mie::set_mtimer();
        mie::set_mext();
        riscv::interrupt::enable();
    }
    Virt {
        serial: &LINE,
        led: NoLed,
        #[cfg(feature = "journal")]
        area: Area::open().ok(),
    }
}

impl Board for Virt {
    type Serial = &'static Line<Ns16550>;
    type Led = NoLed;
    #[cfg(feature = "journal")]
    type Flash = Area;

    fn serial(&mut self) -> &mut Self::Serial {
        &mut self.serial
    }

    fn led(&mut self) -> &mut NoLed {
        &mut self.led
    }

    #[cfg(feature = "journal")]
    fn flash(&mut self) -> Option<Area> {
        self.area.take()
    }

    fn now_ms(&self) -> Ticks {
        now_ms()
    }

    fn feed(&mut self) {}

    fn sleep(&mut self) {
        riscv::asm::wfi();
    }

    fn noise(&mut self) -> u64 {
        super::noise_of_host()
    }
}

/// Milliseconds since the reset.
pub(crate) fn now_ms() -> u64 {
    time() / clint::EACH_MS
}

/// The time in ticks. The high word is read twice, as the low word may overflow between the two
/// reads.
fn time() -> u64 {
    let [low, high] = clint::TIME;
    loop {
        let before = high.read();
        let low = low.read();
        if high.read() == before {
            return u64::from(before) << 32 | u64::from(low);
        }
    }
}

/// Sets one of the two words of a time to the highest value first, so that no interrupt comes
/// between.
fn set_time([low, high]: [Register<u32>; 2], ticks: u64) {
    low.write(u32::MAX);
    high.write((ticks >> 32) as u32);
    low.write(ticks as u32);
}

#[riscv_rt::core_interrupt(Interrupt::MachineTimer)]
fn on_timer() {
    set_time(clint::COMPARE, time() + clint::EACH_MS);
}

#[riscv_rt::core_interrupt(Interrupt::MachineExternal)]
fn on_external() {
    let claimed = plic::CLAIM.read();
    if claimed == plic::UART {
        LINE.on_interrupt();
    }
    plic::CLAIM.write(claimed);
}

/// QEMU has the log as soon as it is written, so there is no wait.
pub(crate) fn wait_for_debugger() {}

/// Resets the machine.
pub(crate) fn reset() -> ! {
    TEST.write(RESET);
    loop {
        riscv::asm::wfi();
    }
}

// SAFETY: the name that riscv-rt looks for, and nothing else has it.
#[unsafe(no_mangle)]
extern "C" fn ExceptionHandler(frame: &riscv_rt::TrapFrame) -> ! {
    crash(|| {
        defmt::error!(
            "exception {=usize} at {=usize:#010x}, called from {=usize:#010x}",
            mcause::read().code(),
            mepc::read(),
            frame.ra
        );
    })
}
