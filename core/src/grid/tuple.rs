//! A number for each dimension: [`Tuple`].

use core::fmt;
use core::ops::{Deref, DerefMut};

use super::limits::DIMENSIONS_MAX;

/// Up to [`DIMENSIONS_MAX`] numbers: coordinates, side lengths, extents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tuple {
    len: u8,
    /// Invariant: zeros from `len` on.
    numbers: [u16; DIMENSIONS_MAX],
}

impl Tuple {
    /// Makes a tuple of `len` numbers, at most [`DIMENSIONS_MAX`]; `number` returns each from its
    /// index.
    pub(crate) fn new(len: usize, mut number: impl FnMut(usize) -> u16) -> Tuple {
        let mut numbers = [0; DIMENSIONS_MAX];
        for (at, entry) in numbers[..len].iter_mut().enumerate() {
            *entry = number(at);
        }
        Tuple {
            len: len as u8,
            numbers,
        }
    }

    /// Copies the numbers. `None` for more than [`DIMENSIONS_MAX`].
    pub fn from_slice(numbers: &[u16]) -> Option<Tuple> {
        (numbers.len() <= DIMENSIONS_MAX).then(|| Tuple::new(numbers.len(), |at| numbers[at]))
    }

    /// The numbers in the opposite order.
    #[must_use]
    pub fn reversed(mut self) -> Tuple {
        self.reverse();
        self
    }

    /// The numbers for which `keep` returns true, in the same order.
    #[must_use]
    pub(crate) fn filtered(&self, mut keep: impl FnMut(u16) -> bool) -> Tuple {
        let mut filtered = Tuple::default();
        for &number in self.iter().filter(|&&number| keep(number)) {
            filtered.numbers[usize::from(filtered.len)] = number;
            filtered.len += 1;
        }
        filtered
    }

    /// The numbers sorted, the largest first.
    #[must_use]
    pub(crate) fn descending(mut self) -> Tuple {
        sort_descending(&mut self);
        self
    }
}

impl Tuple {
    /// All numbers, then zeros. For tuples of the same length, these arrays are in lexicographic
    /// order.
    pub(crate) const fn numbers(&self) -> [u16; DIMENSIONS_MAX] {
        self.numbers
    }

    /// The product of the numbers, at most `u32::MAX`.
    pub(crate) fn product(&self) -> u32 {
        self.iter()
            .fold(1, |product, &number| product.saturating_mul(number.into()))
    }
}

/// Sorts at most [`DIMENSIONS_MAX`] numbers, the largest first.
///
/// Insertion sort: at this length it is as fast as the sort of `core`, which takes 2 KB of flash
/// for each order.
pub(crate) fn sort_descending(numbers: &mut [u16]) {
    for len in 1..numbers.len() {
        let mut at = len;
        while at > 0 && numbers[at - 1] < numbers[at] {
            numbers.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// Whether any order of the numbers is `wanted`; calls `wanted` with each distinct order, in
/// ascending lexicographic order, until it returns true.
pub(crate) fn any_order(numbers: &mut [u16], wanted: &mut dyn FnMut(&[u16]) -> bool) -> bool {
    sort_descending(numbers);
    numbers.reverse();
    loop {
        if wanted(numbers) {
            return true;
        }
        if !next_order(numbers) {
            return false;
        }
    }
}

/// Moves to the next order of the numbers in lexicographic order. At the last order it returns
/// false and moves to the first.
pub(crate) fn next_order(order: &mut [u16]) -> bool {
    let Some(at) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else {
        order.reverse();
        return false;
    };
    // There is a larger number: at least `order[at + 1]`.
    let larger = order.iter().rposition(|&number| number > order[at]);
    order.swap(at, larger.unwrap_or(at));
    order[at + 1..].reverse();
    true
}

impl Deref for Tuple {
    type Target = [u16];

    #[inline]
    fn deref(&self) -> &[u16] {
        &self.numbers[..usize::from(self.len)]
    }
}

impl DerefMut for Tuple {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u16] {
        &mut self.numbers[..usize::from(self.len)]
    }
}

/// `(1, 2, 3)`.
impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (at, number) in self.iter().enumerate() {
            write!(f, "{}{number}", if at == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Tuple {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
