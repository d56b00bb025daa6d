//! What tells one boot from any other: [`identity`].
//!
//! A number that clients have not seen before, or a command that was meant for an earlier boot could be carried out in this one. It is mixed
//! from a word of memory that no start-up code clears, which counts the resets between two losses of power, and from
//! something that differs after a loss of power: on the board the noise of the temperature sensor, in QEMU the host's random numbers.

use core::sync::atomic::{AtomicU32, Ordering};

#[cfg(not(feature = "qemu"))]
use stm32f4xx_hal::pac::{ADC_COMMON, ADC1};
#[cfg(not(feature = "qemu"))]
use stm32f4xx_hal::rcc::{Enable, Rcc};

/// Whatever the memory held at power on, then the state of the mixer at the last boot. The start-up code leaves the section
/// alone, and nothing else is ever stored there.
#[expect(unsafe_code, reason = "the name of a section is an unsafe attribute")]
#[unsafe(link_section = ".uninit.BOOTS")]
static BOOTS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Begun restores in a row that have not come to their end, and the complement of their number: anything else, as at power on, is none.
#[cfg(feature = "journal")]
#[expect(unsafe_code, reason = "the name of a section is an unsafe attribute")]
#[unsafe(link_section = ".uninit.RESTORES")]
static RESTORES: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// So many restores in a row that end in a reset are enough: something in the journal brings the image down.
#[cfg(feature = "journal")]
const RESTORES_MAX: u32 = 3;

/// Whether to restore the state that the journal has. To be told of the end by [`restored`].
#[cfg(feature = "journal")]
pub(crate) fn may_restore() -> bool {
    let [count, complement] = RESTORES.each_ref().map(|word| word.load(Ordering::Relaxed));
    let count = if complement == !count { count } else { 0 };
    keep_restores(count.saturating_add(1));
    count < RESTORES_MAX
}

/// The restore has come to its end.
#[cfg(feature = "journal")]
pub(crate) fn restored() {
    keep_restores(0);
}

#[cfg(feature = "journal")]
fn keep_restores(count: u32) {
    RESTORES[0].store(count, Ordering::Relaxed);
    RESTORES[1].store(!count, Ordering::Relaxed);
}

/// Samples of the sensor, of which the lowest bits are noise.
#[cfg(not(feature = "qemu"))]
const SAMPLES: usize = 256;
/// The sensor's channel.
#[cfg(not(feature = "qemu"))]
const TEMPERATURE: u32 = 18;
/// How often the end of a conversion is looked for: several times as long as one takes.
#[cfg(not(feature = "qemu"))]
const LOOKS: usize = 1000;

/// The identity of this boot. The registers are used as they are, since the driver takes more flash than all else here. The converter
/// has its clock for 16 MHz of the chip; it is off again after this.
#[cfg(not(feature = "qemu"))]
#[expect(unsafe_code, reason = "a channel's number is written as bits")]
pub(crate) fn identity(converter: &ADC1, common: &ADC_COMMON, rcc: &mut Rcc) -> u64 {
    ADC1::enable(rcc);
    common.ccr().modify(|_, w| w.tsvrefe().set_bit());
    // SAFETY: the first and only channel of the sequence is one that there is.
    converter.sqr3().write(|w| unsafe { w.bits(TEMPERATURE) });
    converter.cr2().modify(|_, w| w.adon().set_bit());
    let boot = next((0..SAMPLES).map(|_| {
        converter.cr2().modify(|_, w| w.swstart().set_bit());
        // Reading the sample clears the mark. Without one it is the last sample again.
        let _ = (0..LOOKS).find(|_| converter.sr().read().eoc().bit_is_set());
        u64::from(converter.dr().read().bits())
    }));
    converter.cr2().reset();
    boot
}

/// The identity of this boot.
#[cfg(feature = "qemu")]
pub(crate) fn identity() -> u64 {
    let mut bytes = [0; 8];
    if semihosting::experimental::random::fill_bytes(&mut bytes).is_err() {
        defmt::warn!("no random numbers of the host: a restart of QEMU may not be noticed");
    }
    next([u64::from_le_bytes(bytes)].into_iter())
}

/// Mixes what is left from the last boot with something new: FNV-1a (Fowler, Noll and Vo).
fn next(noise: impl Iterator<Item = u64>) -> u64 {
    let [low, high] = BOOTS.each_ref().map(|word| word.load(Ordering::Relaxed));
    let before = u64::from(high) << 32 | u64::from(low);
    let mixed = noise.fold(before, |sum, noise| {
        (sum ^ noise).wrapping_mul(0x100_0000_01B3)
    });
    // Also without any noise another one.
    let boot = mixed.wrapping_add(1);
    BOOTS[0].store(boot as u32, Ordering::Relaxed);
    BOOTS[1].store((boot >> 32) as u32, Ordering::Relaxed);
    boot
}
