//! The USART of the line (reference manual RM0390, section 25).

use ::cortex_m::peripheral::NVIC;
use meshalloc_firmware::BAUD_DEFAULT;
use meshalloc_firmware::port::{Line, Status, Uart};
use stm32f4xx_hal::pac::Interrupt;

use crate::boards::{CLOCKS, Usart};

/// The clock of the USART. QEMU's port is as fast as it can be.
const HZ: u32 = CLOCKS.core_mhz * 1_000_000 / CLOCKS.apb1_divisor;

pub(crate) struct Registers(Usart);

/// Sets up the port and begins to receive.
#[expect(unsafe_code, reason = "cortex-m marks unmasking as unsafe")]
pub(super) fn start(line: &Line<Registers>, usart: Usart, interrupt: Interrupt) {
    let mut registers = Registers(usart);
    registers.set_baud(BAUD_DEFAULT);
    registers.0.cr1().write(|w| {
        w.ue().set_bit();
        w.te().set_bit();
        w.re().set_bit();
        w.rxneie().set_bit()
    });
    line.open(registers);
    // SAFETY: it would break a critical section made by masking this interrupt. There is none: all
    // of them mask every interrupt. What the handler uses is in place.
    unsafe { NVIC::unmask(interrupt) };
}

impl Uart for Registers {
    fn status(&mut self) -> Status {
        let status = self.0.sr().read();
        Status {
            is_received: status.rxne().bit_is_set(),
            is_misframed: status.fe().bit_is_set(),
            is_overrun: status.ore().bit_is_set(),
        }
    }

    fn has_room(&mut self) -> bool {
        self.0.sr().read().txe().bit_is_set()
    }

    fn take(&mut self) -> u8 {
        self.0.dr().read().dr().bits() as u8
    }

    fn put(&mut self, byte: u8) {
        self.0.dr().write(|w| w.dr().set(byte.into()));
    }

    fn set_interrupt_on_room(&mut self, is_on: bool) {
        self.0.cr1().modify(|_, w| w.txeie().bit(is_on));
    }

    fn has_sent_all(&mut self) -> bool {
        self.0.sr().read().tc().bit_is_set()
    }

    /// 16 samples a bit: the register has the number of clock cycles of a bit.
    fn set_baud(&mut self, baud: u32) {
        let cycles = (HZ + baud / 2) / baud;
        self.0.brr().write(|w| {
            w.div_mantissa().set((cycles / 16) as u16);
            w.div_fraction().set((cycles % 16) as u8)
        });
    }
}
