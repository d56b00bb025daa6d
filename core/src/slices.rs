//! The number of slices of a request: [`Slices`], and its text.

use core::fmt;

use crate::grid::{Block, Grid};

/// How many slices of one shape a request asks for. They are granted together or not at all: a
/// *gang*, such as the slices of a JAX multislice job.
///
/// As a text it is a prefix of the shape: `3x 4x4x8` are three slices of `4x4x8`. One slice has no
/// prefix.
///
/// A build without the feature `gangs` knows only one slice.
///
/// ```
/// use meshalloc::{Request, Shape, Slices};
/// let (slices, shape) = Slices::split("3x 4x4x8")?;
/// let request = Request::new(shape.parse()?).with_slices(slices);
/// assert_eq!((request.slices(), request.processors, request.total()), (3, 128, 384));
/// assert_eq!(request.to_string(), "3x 4x4x8");
/// assert_eq!(Slices::split("4x4x8")?, (Slices::ONE, "4x4x8"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Slices([u16; Slices::BUILT as usize]);

impl Slices {
    /// Whether a request may have several slices in this build.
    pub(crate) const BUILT: bool = cfg!(feature = "gangs");

    /// One slice.
    pub const ONE: Slices = Slices([0; Slices::BUILT as usize]);

    /// The most slices of a request.
    pub const MOST: u32 = if Slices::BUILT { 1 << u16::BITS } else { 1 };

    /// Makes this number of slices; `None` for 0 and for more than [`Slices::MOST`].
    pub const fn new(slices: u32) -> Option<Slices> {
        if slices == 0 || slices > Slices::MOST {
            return None;
        }
        let mut number = Slices::ONE;
        // The slices after the first are stored, so that unused memory, which is 0, stands for one
        // slice.
        if let Some(further) = number.0.first_mut() {
            *further = (slices - 1) as u16;
        }
        Some(number)
    }

    /// The number, at least 1.
    #[inline]
    pub const fn get(self) -> u32 {
        match self.0.first() {
            Some(&further) => further as u32 + 1,
            None => 1,
        }
    }

    /// The blocks of one slice, numbered from 0, among the blocks that a job holds. A job holds its
    /// slices one after the other, each with the same number of processors. Strategies whose slices
    /// differ give jobs no shape; their blocks are not divided among slices.
    pub fn blocks_of<B: Iterator<Item = Block> + Clone>(
        self,
        grid: &Grid,
        blocks: B,
        number: u32,
    ) -> impl Iterator<Item = Block> + Clone + use<B> {
        let grid = *grid;
        let all: u32 = blocks.clone().map(|block| grid.area(block)).sum();
        let each = all / self.get();
        let from = each.saturating_mul(number);
        let mut before = 0;
        blocks.filter(move |&block| {
            let at = before;
            before += grid.area(block);
            at.checked_sub(from).is_some_and(|at| at < each)
        })
    }

    /// Takes the number of slices off the front of a text. Returns the slices and the rest of the
    /// text. A text that does not begin with a number of slices names one slice.
    ///
    /// # Errors
    ///
    /// [`SlicesError`] if the number is 0, or more than [`Slices::MOST`].
    pub fn split(text: &str) -> Result<(Slices, &str), SlicesError> {
        let Some((prefix, rest)) = text.split_once(char::is_whitespace) else {
            return Ok((Slices::ONE, text));
        };
        match prefix.strip_suffix('x') {
            Some(digits) if !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit()) => {
                let slices = digits.parse().ok().and_then(Slices::new);
                Ok((slices.ok_or(SlicesError)?, rest.trim_start()))
            }
            _ => Ok((Slices::ONE, text)),
        }
    }
}

impl Default for Slices {
    fn default() -> Self {
        Slices::ONE
    }
}

/// Writes the prefix of a shape; writes nothing for one slice.
impl fmt::Display for Slices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            1 => Ok(()),
            slices => write!(f, "{slices}x "),
        }
    }
}

/// The error for a text that names 0 slices, or more than [`Slices::MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlicesError;

impl fmt::Display for SlicesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected 1 to {} slices", Slices::MOST)
    }
}

impl core::error::Error for SlicesError {}

#[cfg(all(test, feature = "gangs"))]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_the_number_of_slices() {
        let split = |text| Slices::split(text).map(|(slices, rest)| (slices.get(), rest));
        for (text, expected) in [
            ("3x 4x4x8", Ok((3, "4x4x8"))),
            ("1x  4", Ok((1, "4"))),
            ("65536x 1", Ok((65_536, "1"))),
            ("4x4x8", Ok((1, "4x4x8"))),
            ("x 4", Ok((1, "x 4"))),
            ("+3x 4", Ok((1, "+3x 4"))),
            ("3 4x4", Ok((1, "3 4x4"))),
            ("0x 4x4", Err(SlicesError)),
            ("65537x 4x4", Err(SlicesError)),
            ("99999999999999999999x 4", Err(SlicesError)),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
