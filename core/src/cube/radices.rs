//! What is asked of a cube: [`Radices`].

use core::fmt;

use super::{CUBE_NODES_MAX, DIMENSIONS_MAX, Digits};

/// What a request asks of a cube: a radix, the number of consecutive nodes, for each of m dimensions. Every radix is
/// at least 2. None at all asks for one processor.
///
/// The radices are written like an address, `(r[m-1], ..., r[0])`. Which dimensions of the cube they are laid
/// along is for the strategy to say.
///
/// A list of radices is a value of six bytes, since every entry of a job table has one: each radix less one is a
/// digit, and the largest radix is the base. No digit is zero, so the number of digits need not be kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        try_from = "heapless::Vec<u16, DIMENSIONS_MAX>",
        into = "heapless::Vec<u16, DIMENSIONS_MAX>"
    )
)]
pub struct Radices {
    /// Invariant: the largest radix, or 0 without any.
    base: u16,
    /// The low and the high half, so that the alignment is that of `base`.
    code: [u16; 2],
}

impl Radices {
    /// No radix: one processor.
    pub const NONE: Radices = Radices {
        base: 0,
        code: [0; 2],
    };

    /// These radices, dimension 0 last.
    ///
    /// # Errors
    ///
    /// When a radix is below 2, or no cube has room for the largest radix in so many dimensions.
    ///
    /// ```
    /// use meshalloc::Radices;
    /// let mesh = Radices::new(&[4, 2]).unwrap();
    /// assert_eq!((mesh.area(), mesh.dimensions(), mesh.largest()), (8, 2, 4));
    /// assert_eq!(*mesh.digits(), [4, 2]);
    /// ```
    pub fn new(radices: &[u16]) -> Result<Radices, RadicesError> {
        if let Some(&radix) = radices.iter().find(|&&radix| radix < 2) {
            return Err(RadicesError::BelowTwo { radix });
        }
        let base = radices.iter().copied().max().unwrap_or(0);
        let mut code: u32 = 0;
        for &radix in radices {
            code = code
                .checked_mul(u32::from(base))
                .and_then(|code| code.checked_add(u32::from(radix) - 1))
                .ok_or(RadicesError::TooMany { largest: base })?;
        }
        if radices.len() > DIMENSIONS_MAX {
            return Err(RadicesError::TooMany { largest: base });
        }
        Ok(Radices {
            base,
            code: [code as u16, (code >> 16) as u16],
        })
    }

    const fn code(self) -> u32 {
        (self.code[1] as u32) << 16 | self.code[0] as u32
    }

    /// The number of processors, the product of the radices; `u32::MAX` when it is larger than that.
    pub const fn area(self) -> u32 {
        let mut area: u32 = 1;
        let mut rest = self.code();
        while rest > 0 {
            area = area.saturating_mul(rest % self.base as u32 + 1);
            rest /= self.base as u32;
        }
        area
    }

    /// The number of radices, m.
    pub const fn dimensions(self) -> usize {
        match self.code().checked_ilog(self.base as u32) {
            // A leading digit is not zero.
            Some(log) => log as usize + 1,
            None => 0,
        }
    }

    /// The largest radix; 0 without any.
    pub const fn largest(self) -> u16 {
        self.base
    }

    /// The radices that `change` makes of them.
    ///
    /// # Errors
    ///
    /// Those of [`Radices::new`].
    pub(crate) fn map(self, change: impl Fn(u16) -> u16) -> Result<Radices, RadicesError> {
        let digits = self.digits();
        Radices::new(&Digits::new(digits.len(), |at| change(digits[at])))
    }

    /// The radices, dimension 0 last.
    pub fn digits(self) -> Digits {
        let m = self.dimensions();
        let mut digits = Digits::new(m, |_| 0);
        let mut rest = self.code();
        for digit in digits.digits[..m].iter_mut().rev() {
            *digit = (rest % u32::from(self.base)) as u16 + 1;
            rest /= u32::from(self.base);
        }
        digits
    }
}

impl fmt::Debug for Radices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Radices").field(&&*self.digits()).finish()
    }
}

/// As in operations files, `4x2`; `1` without any radix.
impl fmt::Display for Radices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.base == 0 {
            return f.write_str("1");
        }
        for (at, radix) in self.digits().iter().enumerate() {
            write!(f, "{}{radix}", if at == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Radices {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Radices({=[?]})", &*self.digits());
    }
}

impl TryFrom<heapless::Vec<u16, DIMENSIONS_MAX>> for Radices {
    type Error = RadicesError;

    fn try_from(radices: heapless::Vec<u16, DIMENSIONS_MAX>) -> Result<Radices, RadicesError> {
        Radices::new(&radices)
    }
}

impl From<Radices> for heapless::Vec<u16, DIMENSIONS_MAX> {
    fn from(radices: Radices) -> Self {
        radices.digits().iter().copied().collect()
    }
}

/// No cube could serve these radices: [`Radices::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum RadicesError {
    /// A radix is 0 or 1: a dimension in which only one node is wanted is not named.
    BelowTwo {
        /// The radix.
        radix: u16,
    },
    /// No cube of up to [`CUBE_NODES_MAX`] processors has such a radix and so many dimensions.
    TooMany {
        /// The largest radix.
        largest: u16,
    },
}

impl fmt::Display for RadicesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RadicesError::BelowTwo { radix } => write!(
                f,
                "a radix of {radix}: a radix must be at least 2; leave a dimension of one node out"
            ),
            RadicesError::TooMany { largest } => write!(
                f,
                "no cube of at most {CUBE_NODES_MAX} processors has a radix of {largest} in so many dimensions"
            ),
        }
    }
}

impl core::error::Error for RadicesError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn radices_that_no_cube_has_are_refused() {
        let below = |radix| Err(RadicesError::BelowTwo { radix });
        assert_eq!(Radices::new(&[2, 1]), below(1));
        assert_eq!(Radices::new(&[0]), below(0));
        let too_many = |largest| Err(RadicesError::TooMany { largest });
        assert_eq!(Radices::new(&[2; 17]), too_many(2));
        assert_eq!(Radices::new(&[4; 17]), too_many(4));
        assert_eq!(Radices::new(&[u16::MAX; 3]), too_many(u16::MAX));
        // More than a cube could give, and still a request that can be refused by name.
        assert_eq!(Radices::new(&[4; 16]).map(Radices::area), Ok(u32::MAX));
        assert_eq!(
            Radices::new(&[u16::MAX; 2]).map(Radices::area),
            Ok(4_294_836_225)
        );
    }

    proptest! {
        #[test]
        fn radices_keep_what_they_are_made_of(radices in prop::collection::vec(2u16..8, 0..11)) {
            let packed = Radices::new(&radices).unwrap();
            prop_assert_eq!(&*packed.digits(), &*radices);
            prop_assert_eq!(packed.dimensions(), radices.len());
            prop_assert_eq!(packed.largest(), radices.iter().copied().max().unwrap_or(0));
            prop_assert_eq!(packed.area(), radices.iter().map(|&radix| u32::from(radix)).product());
        }
    }
}
