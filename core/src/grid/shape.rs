//! The extents that a request asks for: [`Shape`].

use core::fmt;
use core::str::FromStr;

use super::limits::DIMENSIONS_MAX;
use super::tuple::Tuple;
use crate::texts::texts;

/// The maximum number of extents that are stored plainly.
const PLAIN_MAX: usize = 3;

/// This bit of the last word marks a coded shape.
const CODED: u16 = 1 << 15;

/// The extents that a request asks for, in the order of the request: side lengths on a mesh,
/// radices on a k-ary n-cube. A shape without extents asks for a single processor. The strategy
/// chooses the dimension along which it lays each extent.
///
/// An extent may be zero; a request with a zero is refused as empty. If there are more than three
/// extents and one of them is zero, the shape becomes that of the single extent 0.
///
/// # Memory
///
/// Eight bytes, since every entry of a job table has a shape.
///
/// Up to three extents are stored plainly, then their number. Ones fill the unused words. The shape
/// 8 x 4:
///
/// ```text
///   word     0   1   2   3
///          | 8 | 4 | 1 | 2 |
/// ```
///
/// Four or more extents are one number of 63 bits in the gamma code (Elias 1975): each extent is
/// written in binary, after one zero fewer than it has digits. A leading one starts the number, so
/// that the zeros of the first extent count. The shape 5 x 2 x 1 x 3:
///
/// ```text
///   bit 63 62         16 15 14   10 9  7 6 5   3   2   0
///      | 1 | 0 .. 0 |     1 | 00101 | 010 | 1 | 011 |
///      coded         leading      5     2   1     3
/// ```
///
/// Extents whose product is at most 2^20, in up to 16 dimensions, take at most 57 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        try_from = "heapless::Vec<u16, DIMENSIONS_MAX>",
        into = "heapless::Vec<u16, DIMENSIONS_MAX>"
    )
)]
pub struct Shape([u16; PLAIN_MAX + 1]);

impl Shape {
    /// The filling of unused memory: all zeros.
    pub(crate) const UNUSED: Shape = Shape([0; 4]);

    /// The shape without extents.
    pub(crate) const SINGLE: Shape = Shape([1, 1, 1, 0]);

    /// Makes a shape with these extents.
    ///
    /// # Errors
    ///
    /// `TooManyExtents` for more than [`DIMENSIONS_MAX`] extents. `TooLarge` for four or more
    /// extents that do not fit into the code: no machine is that large.
    ///
    /// ```
    /// use meshalloc::Shape;
    /// let shape = Shape::new(&[8, 4, 16])?;
    /// assert_eq!((shape.area(), shape.to_string().as_str()), (512, "8x4x16"));
    /// assert_eq!(*shape.extents(), [8, 4, 16]);
    /// # Ok::<(), meshalloc::ShapeError>(())
    /// ```
    pub const fn new(extents: &[u16]) -> Result<Shape, ShapeError> {
        match *extents {
            [] => Ok(Shape([1, 1, 1, 0])),
            [a] => Ok(Shape([a, 1, 1, 1])),
            [a, b] => Ok(Shape([a, b, 1, 2])),
            [a, b, c] => Ok(Shape([a, b, c, 3])),
            _ => Shape::coded(extents),
        }
    }

    const fn coded(extents: &[u16]) -> Result<Shape, ShapeError> {
        if extents.len() > DIMENSIONS_MAX {
            return Err(ShapeError::TooManyExtents);
        }
        let mut code: u64 = 1;
        let mut at = 0;
        while at < extents.len() {
            let extent = extents[at] as u64;
            if extent == 0 {
                return Ok(Shape([0, 1, 1, 1]));
            }
            let digits = 2 * extent.ilog2() + 1;
            if code.leading_zeros() <= digits {
                return Err(ShapeError::TooLarge);
            }
            code = code << digits | extent;
            at += 1;
        }
        Ok(Shape([
            code as u16,
            (code >> 16) as u16,
            (code >> 32) as u16,
            (code >> 48) as u16 | CODED,
        ]))
    }

    /// The shape `w` x `h`.
    pub const fn sides(w: u16, h: u16) -> Shape {
        Shape([w, h, 1, 2])
    }

    /// The first two extents, or 1 for a missing one: the sides of a request for a two-dimensional
    /// mesh. The result is meaningless for a shape of more than three extents, which no such mesh
    /// serves.
    #[inline]
    pub(crate) const fn first_two(self) -> (u16, u16) {
        (self.0[0], self.0[1])
    }

    /// The number of extents, at most [`DIMENSIONS_MAX`].
    #[inline]
    pub const fn len(self) -> usize {
        match self.0[PLAIN_MAX] {
            plain @ 0..CODED => plain as usize,
            _ => self.decoded().0,
        }
    }

    /// Whether the shape has no extent: a request for a single processor.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The extents, in the order of the request.
    pub fn extents(self) -> Tuple {
        let (len, extents) = self.extents_array();
        Tuple::new(len, |at| extents[at])
    }

    #[inline]
    const fn extents_array(self) -> (usize, [u16; DIMENSIONS_MAX]) {
        match self.0 {
            // Callers read only the first `len`.
            [a, b, c, len @ 0..CODED] => {
                let extents = [a, b, c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                (len as usize, extents)
            }
            _ => self.decoded(),
        }
    }

    // Out of line, so that the code for few dimensions stays short.
    #[inline(never)]
    const fn decoded(self) -> (usize, [u16; DIMENSIONS_MAX]) {
        let mut extents = [0; DIMENSIONS_MAX];
        let [a, b, c, d] = self.0;
        let code = (a as u64) | (b as u64) << 16 | (c as u64) << 32 | ((d & !CODED) as u64) << 48;
        // The number of unread bits, below the leading one.
        let mut left = code.ilog2();
        let mut len = 0;
        while left > 0 {
            let rest = code & ((1 << left) - 1);
            // The number of zeros at the top is the number of digits after the extent's first one.
            let log = left - 1 - rest.ilog2();
            left -= 2 * log + 1;
            extents[len] = (rest >> left) as u16;
            len += 1;
        }
        (len, extents)
    }

    /// The number of processors: the product of the extents, at most `u32::MAX`.
    #[inline]
    pub const fn area(self) -> u32 {
        self.measures().1
    }

    /// The results of [`Shape::len`] and [`Shape::area`].
    #[inline]
    pub(super) const fn measures(self) -> (usize, u32) {
        match self.0 {
            [a, b, c, len @ 0..CODED] => {
                let area = (a as u32 * b as u32).saturating_mul(c as u32);
                (len as usize, area)
            }
            _ => self.decoded_measures(),
        }
    }

    #[inline(never)]
    const fn decoded_measures(self) -> (usize, u32) {
        let (len, extents) = self.decoded();
        let mut area: u32 = 1;
        let mut at = 0;
        while at < len {
            area = area.saturating_mul(extents[at] as u32);
            at += 1;
        }
        (len, area)
    }

    /// The shape in which `change` has replaced every extent.
    ///
    /// # Errors
    ///
    /// As for [`Shape::new`].
    pub fn map(self, change: impl Fn(u16) -> u16) -> Result<Shape, ShapeError> {
        let extents = self.extents();
        Shape::new(&Tuple::new(extents.len(), |at| change(extents[at])))
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shape").field(&&*self.extents()).finish()
    }
}

/// `4x2`; `1` for a shape without extents.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sides(f, &self.extents())
    }
}

/// Writes the numbers with an `x` between them, or `1` if there is no number.
pub(super) fn write_sides(f: &mut fmt::Formatter<'_>, sides: &[u16]) -> fmt::Result {
    if sides.is_empty() {
        return f.write_str("1");
    }
    for (at, side) in sides.iter().enumerate() {
        write!(f, "{}{side}", if at == 0 { "" } else { "x" })?;
    }
    Ok(())
}

/// Reads numbers with an `x` between them.
impl FromStr for Shape {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Shape, ShapeError> {
        Shape::new(&text.parse::<Tuple>()?)
    }
}

/// Reads numbers with an `x` between them.
impl FromStr for Tuple {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Tuple, ShapeError> {
        let mut numbers = heapless::Vec::<u16, DIMENSIONS_MAX>::new();
        for number in text.split('x') {
            let number = read_number(number).ok_or(ShapeError::NotNumbers)?;
            let pushed = numbers.push(number);
            pushed.map_err(|_| ShapeError::TooManyExtents)?;
        }
        Tuple::from_slice(&numbers).ok_or(ShapeError::TooManyExtents)
    }
}

/// Reads a number that has only digits: no sign, no blank.
pub(super) fn read_number<T: FromStr>(text: &str) -> Option<T> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(feature = "defmt")]
impl defmt::Format for Shape {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Shape({=[?]})", &*self.extents());
    }
}

impl TryFrom<heapless::Vec<u16, DIMENSIONS_MAX>> for Shape {
    type Error = ShapeError;

    fn try_from(extents: heapless::Vec<u16, DIMENSIONS_MAX>) -> Result<Shape, ShapeError> {
        Shape::new(&extents)
    }
}

impl From<Shape> for heapless::Vec<u16, DIMENSIONS_MAX> {
    fn from(shape: Shape) -> Self {
        shape.extents().iter().copied().collect()
    }
}

/// Why [`Shape::new`] refuses: no machine could serve the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ShapeError {
    /// The text is not a list of numbers from 0 to 65,535 with an `x` between them.
    NotNumbers,
    /// There are more extents than [`DIMENSIONS_MAX`].
    TooManyExtents,
    /// The product of the extents is far beyond the processors of any machine.
    TooLarge,
}

texts! { ShapeError: {
    ShapeError::NotNumbers =>
        "expected numbers from 0 to 65535 with an x between them, as in 4x2";
    ShapeError::TooManyExtents =>
        "more than {DIMENSIONS_MAX} extents: a machine has at most {DIMENSIONS_MAX} dimensions";
    ShapeError::TooLarge => "the shape has more processors than the largest machine";
} }

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;

    /// The drawing in the documentation of [`Shape`].
    #[test]
    fn a_long_shape_is_its_gamma_code() {
        let bits = ["1", "00101", "010", "1", "011"].concat();
        let code = 1 << 63 | u64::from_str_radix(&bits, 2).unwrap();
        let halves = [0, 16, 32, 48].map(|shift| (code >> shift) as u16);
        assert_eq!(Shape::new(&[5, 2, 1, 3]), Ok(Shape(halves)));
        assert_eq!(Shape::new(&[8, 4]), Ok(Shape([8, 4, 1, 2])));
    }

    #[test]
    fn any_shape_of_a_machine_has_room() {
        for extents in [
            &[2; 16][..],
            &[4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
            &[3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1],
            &[1024, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1],
            &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 65_535],
            &[u16::MAX; 3],
        ] {
            let shape = Shape::new(extents).unwrap();
            assert_eq!(*shape.extents(), *extents);
            assert_eq!((shape.len(), shape.is_empty()), (extents.len(), false));
        }
        let single = Shape::new(&[]).unwrap();
        assert_eq!((single.len(), single.is_empty()), (0, true));
    }

    #[test]
    fn shapes_beyond_any_machine_are_refused() {
        assert_eq!(Shape::new(&[2; 17]), Err(ShapeError::TooManyExtents));
        assert_eq!(Shape::new(&[u16::MAX; 4]), Err(ShapeError::TooLarge));
        assert_eq!("4x".parse::<Shape>(), Err(ShapeError::NotNumbers));
        assert_eq!("+4".parse::<Shape>(), Err(ShapeError::NotNumbers));
        assert_eq!("70000x1".parse::<Shape>(), Err(ShapeError::NotNumbers));
    }

    #[test]
    fn a_shape_with_a_zero_is_empty() {
        for extents in [&[0][..], &[3, 0], &[2, 2, 0], &[2, 2, 2, 0, 2]] {
            assert_eq!(Shape::new(extents).map(Shape::area), Ok(0));
        }
        assert_eq!(Shape::new(&[2, 2, 2, 0, 2]), Shape::new(&[0]));
        assert_eq!(Shape::new(&[]).map(Shape::area), Ok(1));
    }

    proptest! {
        #[test]
        fn a_shape_keeps_its_extents(extents in prop::collection::vec(1u16..9, 0..9)) {
            let shape = Shape::new(&extents).unwrap();
            prop_assert_eq!(&*shape.extents(), &*extents);
            prop_assert_eq!(shape.len(), extents.len());
            let area: u32 = extents.iter().map(|&extent| u32::from(extent)).product();
            prop_assert_eq!(shape.area(), area);
            if extents.len() <= PLAIN_MAX {
                let at = |at: usize| extents.get(at).copied().unwrap_or(1);
                prop_assert_eq!(shape.first_two(), (at(0), at(1)));
            }
            if !extents.is_empty() {
                prop_assert_eq!(shape.to_string().parse(), Ok(shape));
            }
        }
    }
}
