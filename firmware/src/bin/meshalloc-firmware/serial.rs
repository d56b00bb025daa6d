//! USART2: received by interrupt into a ring, sent by waiting.
//!
//! A client has one exchange at a time and a server that sends reads nothing, so the ring only has to
//! hold what a client sends again meanwhile.

use core::cell::RefCell;
use core::convert::Infallible;
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::interrupt::{Mutex, free};
use cortex_m::peripheral::NVIC;
use heapless::spsc::{Consumer, Producer, Queue};
use static_cell::StaticCell;
use stm32f4xx_hal::gpio::{PA2, PA3};
use stm32f4xx_hal::hal_02::serial::Read;
use stm32f4xx_hal::nb;
use stm32f4xx_hal::pac::{self, USART2, interrupt};
use stm32f4xx_hal::rcc::Rcc;
use stm32f4xx_hal::serial::config::Config;
use stm32f4xx_hal::serial::{Rx, RxListen, Serial, Tx};
use stm32f4xx_hal::time::U32Ext;

/// Bits a second, 8N1.
const BAUD: u32 = 115_200;
/// Bytes of the ring: what comes in 44 ms, while a job is tried or a reply is sent; five of the longest frames.
const RING_LEN: usize = 512;

static RING: StaticCell<Queue<u8, RING_LEN>> = StaticCell::new();
static INCOMING: Mutex<RefCell<Option<Incoming>>> = Mutex::new(RefCell::new(None));
/// Bytes lost: the port had the next one before the interrupt took the last, or the ring was full.
static OVERRUNS: AtomicU32 = AtomicU32::new(0);

/// The interrupt's side.
struct Incoming {
    port: Rx<USART2>,
    ring: Producer<'static, u8>,
}

/// The main loop's side.
pub(crate) struct Receiver {
    ring: Consumer<'static, u8>,
    overruns_seen: u32,
}

/// The port's sending half.
pub(crate) struct Transmitter(Tx<USART2>);

/// Sets up the port and begins to receive.
pub(crate) fn start(usart: USART2, tx: PA2, rx: PA3, rcc: &mut Rcc) -> (Receiver, Transmitter) {
    let config = Config::default().baudrate(BAUD.bps());
    let Ok(port) = Serial::new(usart, (tx, rx), config, rcc) else {
        defmt::panic!("{=u32} baud is out of the port's range", BAUD);
    };
    let (tx, mut rx) = port.split();
    let (producer, consumer) = RING.init_with(Queue::new).split();
    rx.listen();
    free(|cs| {
        INCOMING.borrow(cs).replace(Some(Incoming {
            port: rx,
            ring: producer,
        }));
    });
    unmask();
    let receiver = Receiver {
        ring: consumer,
        overruns_seen: 0,
    };
    (receiver, Transmitter(tx))
}

#[expect(unsafe_code, reason = "cortex-m marks unmasking as unsafe")]
fn unmask() {
    // SAFETY: it would break a critical section made by masking this interrupt. There is none: all of
    // them mask every interrupt. What the handler uses is in place.
    unsafe { NVIC::unmask(pac::Interrupt::USART2) };
}

#[interrupt]
fn USART2() {
    free(|cs| {
        let mut incoming = INCOMING.borrow(cs).borrow_mut();
        let Some(incoming) = incoming.as_mut() else {
            return;
        };
        let lost = match incoming.port.read() {
            Ok(byte) => incoming.ring.enqueue(byte).is_err(),
            Err(nb::Error::WouldBlock) => false,
            // An overrun, or a byte without a stop bit. Reading has cleared it; the frame's CRC tells.
            Err(nb::Error::Other(_)) => true,
        };
        if lost {
            OVERRUNS.fetch_add(1, Ordering::Relaxed);
        }
    });
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

impl embedded_io::ErrorType for Transmitter {
    type Error = Infallible;
}

impl embedded_io::Write for Transmitter {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        use stm32f4xx_hal::hal_02::serial::Write;
        for &byte in bytes {
            // The port has no errors in sending: all that fails is to have room at once.
            while self.0.write(byte).is_err() {}
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        use stm32f4xx_hal::hal_02::serial::Write;
        while Write::flush(&mut self.0).is_err() {}
        Ok(())
    }
}
