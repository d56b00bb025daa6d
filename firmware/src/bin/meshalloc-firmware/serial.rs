//! USART2: received and sent by interrupt, so that neither a fast client nor a slow line stops the main loop. What
//! the interrupt does is in [`port`].

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::interrupt::{Mutex, free};
use cortex_m::peripheral::NVIC;
use embedded_io::SliceWriteError;
use heapless::spsc::{Consumer, Producer, Queue};
use meshalloc_firmware::BAUD_DEFAULT;
use meshalloc_firmware::frame::SERVER_FRAME_MAX;
use meshalloc_firmware::port::{self, Outgoing, Status, Uart};
use static_cell::{ConstStaticCell, StaticCell};
use stm32f4xx_hal::gpio::{PA2, PA3};
use stm32f4xx_hal::pac::{self, USART2, interrupt};
use stm32f4xx_hal::rcc::{Enable, Rcc};

use crate::clock;

/// Bytes of the ring of received ones: what comes in 44 ms at 115200 baud, in 5 ms at 1 Mbaud, while a job is tried; five of the longest frames.
const RING_LEN: usize = 512;
/// Bytes that may wait to be sent: two of the longest frames, or a dozen grants.
const OUTGOING_LEN: usize = 640;
const _: () = assert!(2 * SERVER_FRAME_MAX <= OUTGOING_LEN);

static RING: StaticCell<Queue<u8, RING_LEN>> = StaticCell::new();
static OUTGOING: ConstStaticCell<Outgoing<OUTGOING_LEN>> = ConstStaticCell::new(Outgoing::new());
static PORT: Mutex<RefCell<Option<Port>>> = Mutex::new(RefCell::new(None));
/// How often bytes were lost: without a stop bit, or the port had the next one before the interrupt took the last, or the ring was full.
static OVERRUNS: AtomicU32 = AtomicU32::new(0);

/// What the interrupt works on.
struct Port {
    registers: Registers,
    incoming: Producer<'static, u8>,
    outgoing: &'static mut Outgoing<OUTGOING_LEN>,
}

struct Registers(USART2);

/// The main loop's side of what is received.
pub(crate) struct Receiver {
    ring: Consumer<'static, u8>,
    overruns_seen: u32,
}

/// The main loop's side of what is sent.
pub(crate) struct Transmitter;

/// Sets up the port and begins to receive.
pub(crate) fn start(usart: USART2, tx: PA2, rx: PA3, rcc: &mut Rcc) -> (Receiver, Transmitter) {
    let _ = tx.into_alternate::<7>();
    // A line that nobody drives is at rest.
    let _ = rx.into_alternate::<7>().internal_pull_up(true);
    USART2::enable(rcc);
    let (incoming, ring) = RING.init_with(Queue::new).split();
    let registers = Registers(usart);
    registers.set_baud(BAUD_DEFAULT);
    registers.0.cr1().write(|w| {
        w.ue().set_bit();
        w.te().set_bit();
        w.re().set_bit();
        w.rxneie().set_bit()
    });
    free(|cs| {
        PORT.borrow(cs).replace(Some(Port {
            registers,
            incoming,
            outgoing: OUTGOING.take(),
        }));
    });
    unmask();
    let receiver = Receiver {
        ring,
        overruns_seen: 0,
    };
    (receiver, Transmitter)
}

#[expect(unsafe_code, reason = "cortex-m marks unmasking as unsafe")]
fn unmask() {
    // SAFETY: it would break a critical section made by masking this interrupt. There is none: all of
    // them mask every interrupt. What the handler uses is in place.
    unsafe { NVIC::unmask(pac::Interrupt::USART2) };
}

/// Calls `body` with the port while no interrupt comes between; there is one after [`start`].
fn with_port<R>(body: impl FnOnce(&mut Port) -> R) -> Option<R> {
    free(|cs| PORT.borrow(cs).borrow_mut().as_mut().map(body))
}

#[interrupt]
fn USART2() {
    let is_lost =
        with_port(|port| port::serve(&mut port.registers, &mut port.incoming, port.outgoing));
    if is_lost == Some(true) {
        OVERRUNS.fetch_add(1, Ordering::Relaxed);
    }
}

impl Registers {
    /// 16 samples a bit: the register has the number of clock cycles of a bit.
    fn set_baud(&self, baud: u32) {
        let cycles = (clock::APB1_HZ + baud / 2) / baud;
        self.0.brr().write(|w| {
            w.div_mantissa().set((cycles / 16) as u16);
            w.div_fraction().set((cycles % 16) as u8)
        });
    }
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
}

impl Receiver {
    /// The oldest byte that was not taken yet.
    pub(crate) fn next(&mut self) -> Option<u8> {
        self.ring.dequeue()
    }

    /// How often bytes were lost since the last call.
    pub(crate) fn take_overruns(&mut self) -> u32 {
        let overruns = OVERRUNS.load(Ordering::Relaxed);
        let new = overruns.wrapping_sub(self.overruns_seen);
        self.overruns_seen = overruns;
        new
    }

    /// Sleeps until an interrupt, unless bytes are there already.
    pub(crate) fn sleep(&self) {
        // With interrupts masked none can come between the look and the sleep; one that is pending
        // ends the sleep all the same, and is served after.
        free(|_| {
            if !self.ring.ready() {
                cortex_m::asm::wfi();
            }
        });
    }
}

#[cfg(feature = "rates")]
impl Transmitter {
    /// Whether the last stop bit of the last byte has left.
    pub(crate) fn has_sent_all(&self) -> bool {
        let has = |port: &mut Port| {
            port.outgoing.is_empty() && port.registers.0.sr().read().tc().bit_is_set()
        };
        with_port(has) == Some(true)
    }

    /// Sets the rate, of sending and of receiving.
    pub(crate) fn set_baud(&self, baud: u32) {
        with_port(|port| port.registers.set_baud(baud));
    }
}

impl embedded_io::ErrorType for Transmitter {
    type Error = SliceWriteError;
}

impl embedded_io::Write for Transmitter {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SliceWriteError> {
        let written = with_port(|port| port.outgoing.write(bytes));
        NVIC::pend(pac::Interrupt::USART2);
        written.unwrap_or(Err(SliceWriteError::Full))
    }

    // The default calls `write` until all is written.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), SliceWriteError> {
        self.write(bytes).map(|_| ())
    }

    fn flush(&mut self) -> Result<(), SliceWriteError> {
        Ok(())
    }
}
