//! Where the journal is: the sectors of 16 KB behind the vector table, or in QEMU what stands for them.

#[cfg(not(feature = "qemu"))]
mod flash;
#[cfg(feature = "qemu")]
mod host_file;

use core::ops::Range;

#[cfg(not(feature = "qemu"))]
pub(crate) use flash::Area;
#[cfg(feature = "qemu")]
pub(crate) use host_file::Area;

/// Bytes of a sector.
const SECTOR_LEN: usize = 16 * 1024;
const SECTORS: usize = 3;

/// A region of the journal for each sector, counted from the start of the area.
pub(crate) const REGIONS: [Range<u32>; SECTORS] = {
    const LEN: u32 = SECTOR_LEN as u32;
    [0..LEN, LEN..2 * LEN, 2 * LEN..3 * LEN]
};
