//! The k-ary n-cube and the shapes in it: [`Cube`], [`Radices`], [`Subcube`].
//!
//! A node is named by an address of n digits in radix k, `A[n-1] ... A[1] A[0]`; its number is the address read as
//! a number. Along each dimension the k nodes form a ring. A subcube takes, in each dimension, a number of
//! consecutive nodes, its *extent*, from a start position on; behind position k - 1 comes position 0 again.
//!
//! ```text
//!   4-ary 2-cube, A[0] to the right, A[1] upwards     The subcube with the start (1, 3) and the
//!   3  . . . .                                        extents (2, 2): its nodes are 13, 10, 23
//!   2  # . . #                                        and 20 in radix 4, or 7, 4, 11 and 8.
//!   1  # . . #
//!   0  . . . .
//!      0 1 2 3
//! ```
//!
//! # Special cases
//!
//! | topology | cube or request |
//! |---|---|
//! | hypercube of n dimensions | k = 2 |
//! | torus, k x k | n = 2 |
//! | ring of k | n = 1, or a request for one radix k |
//! | line of r | a request for one radix r below k |
//! | mesh, a x b | a request for the radices (a, b) below k |
//! | torus, k x k, within a larger cube | a request for the radices (k, k) |
//! | hypercube of m dimensions | a request for m radices 2 |
//!
//! # Source
//!
//! Chuang and Wu, "Processor Allocation in k-ary n-cube Multiprocessors", section 1 and figure 1.

use core::fmt;
use core::ops::Deref;

use crate::machine::NodeId;
use crate::word::{Span, WORD_BITS, Word};

mod notation;
pub(crate) mod search;

pub use notation::{Notation, notations};

/// The most processors a [`Cube`] may have.
pub const CUBE_NODES_MAX: u32 = 65_536;

/// The most dimensions a [`Cube`] may have, and a request name.
pub const DIMENSIONS_MAX: usize = CUBE_NODES_MAX.ilog2() as usize;

/// A number for each dimension, the highest dimension first and dimension 0 last: the order in which addresses are
/// written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digits {
    len: u8,
    /// Invariant: zeros from `len` on.
    digits: [u16; DIMENSIONS_MAX],
}

impl Digits {
    fn new(len: usize, mut digit: impl FnMut(usize) -> u16) -> Digits {
        let mut digits = [0; DIMENSIONS_MAX];
        for (at, place) in digits[..len].iter_mut().enumerate() {
            *place = digit(at);
        }
        Digits {
            len: len as u8,
            digits,
        }
    }
}

impl Deref for Digits {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        &self.digits[..usize::from(self.len)]
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (at, digit) in self.iter().enumerate() {
            write!(f, "{}{digit}", if at == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

/// A k-ary n-cube: `k^n` processors, at most [`CUBE_NODES_MAX`]; k is at least 2, n at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "(u16, u8)", into = "(u16, u8)"))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Cube {
    k: u16,
    n: u8,
}

impl Cube {
    /// The `k`-ary `n`-cube.
    ///
    /// # Errors
    ///
    /// When k is below 2, n is 0, or there would be more than [`CUBE_NODES_MAX`] processors.
    ///
    /// ```
    /// use meshalloc::Cube;
    /// assert_eq!(Cube::new(4, 3).unwrap().nodes(), 64);
    /// assert!(Cube::new(16, 5).is_err());
    /// ```
    pub const fn new(k: u16, n: u8) -> Result<Cube, CubeError> {
        let error = Err(CubeError { k, n });
        if k < 2 || n == 0 || n as usize > DIMENSIONS_MAX {
            return error;
        }
        match (k as u32).checked_pow(n as u32) {
            Some(nodes) if nodes <= CUBE_NODES_MAX => Ok(Cube { k, n }),
            _ => error,
        }
    }

    /// The radix: the number of processors along each dimension.
    pub const fn k(self) -> u16 {
        self.k
    }

    /// The number of dimensions.
    pub const fn n(self) -> u8 {
        self.n
    }

    /// The number of processors, `k^n`.
    pub const fn nodes(self) -> u32 {
        self.stride(self.n as usize)
    }

    /// How far apart the numbers of neighbours along a dimension are: `k^dimension`.
    pub(crate) const fn stride(self, dimension: usize) -> u32 {
        (self.k as u32).pow(dimension as u32)
    }

    /// The node's address; `None` outside the cube.
    ///
    /// ```
    /// use meshalloc::{Cube, NodeId};
    /// let cube = Cube::new(4, 3).unwrap();
    /// assert_eq!(*cube.address(NodeId(27)).unwrap(), [1, 2, 3]);
    /// ```
    pub fn address(self, node: NodeId) -> Option<Digits> {
        (node.0 < self.nodes()).then(|| {
            let n = usize::from(self.n);
            let mut rest = node.0;
            let mut address = Digits::new(n, |_| 0);
            for digit in address.digits[..n].iter_mut().rev() {
                *digit = (rest % u32::from(self.k)) as u16;
                rest /= u32::from(self.k);
            }
            address
        })
    }

    /// The number of the node with this address; `None` when there are not n digits below k.
    pub fn node(self, address: &[u16]) -> Option<NodeId> {
        if address.len() != usize::from(self.n) || address.iter().any(|&digit| digit >= self.k) {
            return None;
        }
        let number = address.iter().fold(0, |number, &digit| {
            number * u32::from(self.k) + u32::from(digit)
        });
        Some(NodeId(number))
    }
}

impl TryFrom<(u16, u8)> for Cube {
    type Error = CubeError;

    fn try_from((k, n): (u16, u8)) -> Result<Cube, CubeError> {
        Cube::new(k, n)
    }
}

impl From<Cube> for (u16, u8) {
    fn from(cube: Cube) -> (u16, u8) {
        (cube.k, cube.n)
    }
}

impl fmt::Display for Cube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-ary {}-cube", self.k, self.n)
    }
}

/// There is no such cube: [`Cube::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CubeError {
    /// The radix that was asked for.
    pub k: u16,
    /// The number of dimensions that was asked for.
    pub n: u8,
}

impl fmt::Display for CubeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a {}-ary {}-cube: k must be at least 2, n at least 1, and k^n at most {CUBE_NODES_MAX}",
            self.k, self.n
        )
    }
}

impl core::error::Error for CubeError {}

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

/// A part of a cube: in each dimension consecutive nodes, the last position being followed by the first.
///
/// It is kept as its first and its last node: from the digit of the one upwards to the digit of the other, in
/// each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "(Cube, u16, u16)", into = "(Cube, u16, u16)")
)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Subcube {
    cube: Cube,
    first: u16,
    last: u16,
}

impl Subcube {
    /// The subcube from `first` upwards, in each dimension, to `last`. `None` if one of them is not in the cube.
    ///
    /// ```
    /// use meshalloc::{Cube, NodeId, Subcube};
    /// let torus = Cube::new(4, 2).unwrap();
    /// let around = Subcube::between(torus, NodeId(7), NodeId(8)).unwrap();
    /// assert_eq!(around.to_string(), "(1, 3)+(2, 2)");
    /// ```
    pub fn between(cube: Cube, first: NodeId, last: NodeId) -> Option<Subcube> {
        let number = |node: NodeId| (node.0 < cube.nodes()).then_some(node.0 as u16);
        Some(Subcube {
            cube,
            first: number(first)?,
            last: number(last)?,
        })
    }

    /// The subcube with this start position and extent in each dimension, dimension 0 last. `None` if there are not
    /// n positions below k and n extents of 1 to k.
    pub fn new(cube: Cube, start: &[u16], extents: &[u16]) -> Option<Subcube> {
        let k = u32::from(cube.k);
        if extents.len() != start.len()
            || !extents.iter().all(|&extent| (1..=cube.k).contains(&extent))
        {
            return None;
        }
        let first = cube.node(start)?;
        let last = Digits::new(start.len(), |at| {
            ((u32::from(start[at]) + u32::from(extents[at]) - 1) % k) as u16
        });
        Subcube::between(cube, first, cube.node(&last)?)
    }

    /// The subcube between two nodes that are known to be in the cube.
    #[inline]
    pub(crate) const fn from_numbers(cube: Cube, first: u16, last: u16) -> Subcube {
        Subcube { cube, first, last }
    }

    /// The cube it is a part of.
    pub const fn cube(self) -> Cube {
        self.cube
    }

    /// The first node: the start position in each dimension.
    pub const fn first(self) -> NodeId {
        NodeId(self.first as u32)
    }

    /// The last node.
    pub const fn last(self) -> NodeId {
        NodeId(self.last as u32)
    }

    /// The start position in each dimension, dimension 0 last.
    pub fn start(self) -> Digits {
        self.cube.address(self.first()).unwrap_or_default()
    }

    /// The extent in each dimension, 1 to k, dimension 0 last.
    pub fn extents(self) -> Digits {
        let mut spans = self.spans();
        let mut extents = Digits::new(usize::from(self.cube.n), |_| 0);
        for extent in extents.digits[..usize::from(self.cube.n)].iter_mut().rev() {
            // As many spans as dimensions.
            *extent = spans.next().map_or(0, |(_, len)| len);
        }
        extents
    }

    /// Start position and extent of each dimension, dimension 0 first.
    fn spans(self) -> impl Iterator<Item = (u16, u16)> {
        let k = self.cube.k;
        let (mut first, mut last) = (self.first, self.last);
        (0..self.cube.n).map(move |_| {
            let (from, to) = (first % k, last % k);
            (first, last) = (first / k, last / k);
            let len = if to >= from { to - from } else { k - from + to };
            (from, len + 1)
        })
    }

    /// The number of processors, the product of the extents.
    // Apart from what a mesh does in the same place, whose code it would only push out.
    #[inline(never)]
    pub const fn area(self) -> u32 {
        let k = self.cube.k;
        let (mut first, mut last) = (self.first, self.last);
        let mut area = 1;
        let mut dimension = 0;
        while dimension < self.cube.n {
            let (from, to) = (first % k, last % k);
            area *= 1 + if to >= from { to - from } else { k - from + to } as u32;
            first /= k;
            last /= k;
            dimension += 1;
        }
        area
    }

    /// Whether the node belongs to the subcube.
    #[inline(never)]
    pub fn contains(self, node: NodeId) -> bool {
        let k = u32::from(self.cube.k);
        let mut rest = node.0;
        let mut spans = self.spans();
        node.0 < self.cube.nodes()
            && spans.all(|(from, len)| {
                let digit = rest % k;
                rest /= k;
                (digit + k - u32::from(from)) % k < u32::from(len)
            })
    }

    /// Whether the two share a processor. Those of different cubes share none.
    #[inline(never)]
    pub fn overlaps(self, other: Subcube) -> bool {
        let k = u32::from(self.cube.k);
        let meet = |(a, a_len): (u16, u16), (b, b_len): (u16, u16)| {
            let distance = |from: u16, to: u16| (u32::from(to) + k - u32::from(from)) % k;
            distance(a, b) < u32::from(a_len) || distance(b, a) < u32::from(b_len)
        };
        let mut both = self.spans().zip(other.spans());
        self.cube == other.cube && both.all(|(one, other)| meet(one, other))
    }

    /// Calls `visit` with words of the occupancy and the subcube's bits in them, in ascending order, until it returns
    /// false. Returns whether it never did. A word may be named more than once.
    ///
    /// The lowest dimensions, whose nodes together fit into a word, are put together as one pattern, which is laid down
    /// wherever the higher dimensions say; if they are full, runs of nodes are laid down instead.
    #[inline(never)]
    pub(crate) fn words(self, mut visit: impl FnMut(usize, Word) -> bool) -> bool {
        let k = u32::from(self.cube.k);
        let n = usize::from(self.cube.n);
        let mut spans = [(0, 0); DIMENSIONS_MAX];
        for (place, (from, len)) in spans.iter_mut().zip(self.spans()) {
            *place = (u32::from(from), u32::from(len));
        }
        let spans = &spans[..n];
        // The nodes of the full dimensions at the bottom are neighbours.
        let full = spans.iter().take_while(|&&(_, len)| len == k).count();
        let low = WORD_BITS.ilog(k) as usize;
        if full >= low.min(n) {
            let Some(&(from, len)) = spans.get(full) else {
                return visit_span(Span::new(0, self.cube.nodes()), &mut visit);
            };
            let unit = self.cube.stride(full);
            // What wraps around comes first.
            let wrapped = (from + len).saturating_sub(k);
            return offsets(self.cube, &spans[full + 1..], full + 1, &mut |offset| {
                let run = |at: u32, len: u32, visit: &mut _| {
                    len == 0 || visit_span(Span::new(offset + at * unit, len * unit), visit)
                };
                run(0, wrapped, &mut visit) && run(from, len - wrapped, &mut visit)
            });
        }
        let low = low.min(n);
        let pattern =
            spans[..low]
                .iter()
                .zip(0..)
                .fold(1, |pattern: Word, (&(from, len), dimension)| {
                    let stride = self.cube.stride(dimension);
                    (from..from + len).fold(0, |sum, at| sum | pattern << ((at % k) * stride))
                });
        offsets(self.cube, &spans[low..], low, &mut |offset| {
            let (word, bit) = ((offset / WORD_BITS) as usize, offset % WORD_BITS);
            let over = match bit {
                0 => 0,
                bit => pattern >> (WORD_BITS - bit),
            };
            visit(word, pattern << bit) && (over == 0 || visit(word + 1, over))
        })
    }
}

/// Calls `visit` with each word of the span and its mask, until it returns false.
fn visit_span(span: Span, visit: &mut impl FnMut(usize, Word) -> bool) -> bool {
    (span.first..=span.last).all(|word| visit(word, span.mask(word)))
}

/// Calls `visit` with the number of each node whose digits from `dimension` on lie in `spans`, those below being 0,
/// in ascending order, until it returns false.
fn offsets(
    cube: Cube,
    spans: &[(u32, u32)],
    dimension: usize,
    visit: &mut impl FnMut(u32) -> bool,
) -> bool {
    let k = u32::from(cube.k);
    let mut strides = [0; DIMENSIONS_MAX];
    for (stride, dimension) in strides.iter_mut().zip(dimension..).take(spans.len()) {
        *stride = cube.stride(dimension);
    }
    // Each digit starts at its least value: 0 where the span wraps around, and then it skips to where the rest begins.
    let least = |(from, len): (u32, u32)| if from + len > k { 0 } else { from };
    let mut digits = [0; DIMENSIONS_MAX];
    let mut offset = 0;
    for ((digit, &span), stride) in digits.iter_mut().zip(spans).zip(strides) {
        *digit = least(span);
        offset += *digit * stride;
    }
    loop {
        if !visit(offset) {
            return false;
        }
        let mut at = 0;
        loop {
            let Some(&span) = spans.get(at) else {
                return true;
            };
            let (from, len) = span;
            let before = digits[at];
            let next = before + 1;
            let after = match from + len {
                end if end > k && next == end - k => from,
                end if end > k && next == k => least(span),
                end if end <= k && next == end => from,
                _ => next,
            };
            digits[at] = after;
            offset = offset + after * strides[at] - before * strides[at];
            if after > before {
                break;
            }
            at += 1;
        }
    }
}

impl TryFrom<(Cube, u16, u16)> for Subcube {
    type Error = SubcubeError;

    fn try_from((cube, first, last): (Cube, u16, u16)) -> Result<Subcube, SubcubeError> {
        Subcube::between(cube, NodeId(u32::from(first)), NodeId(u32::from(last)))
            .ok_or(SubcubeError)
    }
}

impl From<Subcube> for (Cube, u16, u16) {
    fn from(subcube: Subcube) -> (Cube, u16, u16) {
        (subcube.cube, subcube.first, subcube.last)
    }
}

/// A subcube's first or last node is not in its cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubcubeError;

impl fmt::Display for SubcubeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a subcube's first or last node is not in its cube")
    }
}

impl core::error::Error for SubcubeError {}

/// Start and extents, `(1, 3)+(2, 2)`.
impl fmt::Display for Subcube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.start(), self.extents())
    }
}
