//! Which requests are expected: [`Expected`].

use crate::mesh::{Mesh, Sides};
use crate::request::Request;
use crate::word::{WORD_BITS, Word};

/// How many of the latest requests are remembered.
pub(super) const RECENT: usize = 64;

/// How many waiting requests are looked at.
pub(super) const WAITING: usize = 8;

/// What it is worth that a waiting request fits, in the order of the queue; a recent request is
/// worth 1.
const WAITING_VALUES: [u32; WAITING] = [128, 90, 63, 44, 31, 22, 15, 11];

/// The words of the recent requests in a [`Mask`].
const RECENT_WORDS: usize = RECENT / WORD_BITS as usize;

/// The words of a [`Mask`]: those of the recent requests and one for those that wait.
pub(super) const MASK_WORDS: usize = RECENT_WORDS + 1;

/// A set of expected requests: a bit for each.
pub(super) type Mask = [Word; MASK_WORDS];

/// For a length: the requests that are not wider, and those that are not higher.
pub(super) type Within = [Mask; 2];

/// Sides, and whether they may be rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "restore", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Wanted {
    sides: Sides,
    may_rotate: bool,
}

impl Wanted {
    /// What fits nowhere.
    const NOTHING: Wanted = Wanted {
        sides: Sides::new(u16::MAX, u16::MAX),
        may_rotate: false,
    };
}

impl From<&Request> for Wanted {
    fn from(request: &Request) -> Wanted {
        Wanted {
            sides: request.sides(),
            may_rotate: request.may_rotate(),
        }
    }
}

/// The requests that arrived lately, and the first of those that wait.
#[derive(Debug)]
pub(super) struct Expected {
    /// First the recent ones, a ring, then those that wait.
    wanted: [Wanted; RECENT + WAITING],
    /// The place in the ring of the next request.
    next: usize,
    may_rotate: Mask,
}

impl Expected {
    pub(super) const fn new() -> Expected {
        Expected {
            wanted: [Wanted::NOTHING; RECENT + WAITING],
            next: 0,
            may_rotate: [0; MASK_WORDS],
        }
    }

    /// The words of the table for a mesh with a longest side of this length.
    pub(super) const fn words(longest: u16) -> usize {
        (longest as usize + 1) * 2 * MASK_WORDS
    }

    /// As at the beginning: all eighths of the mesh's sides arrived, each with each, and nothing
    /// waits.
    pub(super) fn begin(&mut self, mesh: Mesh, table: &mut [Within]) {
        *self = Expected::new();
        table.fill([[0; MASK_WORDS]; 2]);
        let Sides { w, h } = mesh.sides();
        let eighths = |eighths: usize, side: u16| (eighths * usize::from(side) / 8).max(1) as u16;
        for at in 0..RECENT {
            let sides = Sides::new(eighths(at % 8 + 1, w), eighths(at / 8 + 1, h));
            let wanted = Wanted {
                sides,
                may_rotate: true,
            };
            self.set(at, wanted, table);
        }
    }

    /// A request has arrived; the oldest is forgotten.
    pub(super) fn arrived(&mut self, wanted: Wanted, table: &mut [Within]) {
        self.set(self.next, wanted, table);
        self.next = (self.next + 1) % RECENT;
    }

    /// The recent requests, the oldest first. Their places in the ring do not matter otherwise.
    #[cfg(feature = "restore")]
    pub(super) fn recent(&self) -> impl Iterator<Item = Wanted> {
        let (later, earlier) = self.wanted[..RECENT].split_at(self.next);
        earlier.iter().chain(later).copied()
    }

    /// These requests wait, and maybe others behind them.
    pub(super) fn wait<'r>(
        &mut self,
        waiting: impl Iterator<Item = &'r Request>,
        table: &mut [Within],
    ) {
        let mut waiting = waiting.map(Wanted::from);
        for at in RECENT..RECENT + WAITING {
            self.set(at, waiting.next().unwrap_or(Wanted::NOTHING), table);
        }
    }

    /// Stores an expected request in a place.
    fn set(&mut self, at: usize, wanted: Wanted, table: &mut [Within]) {
        let Wanted {
            sides: before,
            may_rotate,
        } = self.wanted[at];
        let (word, bit) = (at / WORD_BITS as usize, 1 << (at % WORD_BITS as usize));
        if wanted.may_rotate != may_rotate {
            self.may_rotate[word] ^= bit;
        }
        self.wanted[at] = wanted;
        // It is not longer than any length from its own on: only what lies between is different.
        let lengths = [(before.w, wanted.sides.w), (before.h, wanted.sides.h)];
        for (along, (before, after)) in lengths.into_iter().enumerate() {
            let end = usize::from(before.max(after)).min(table.len());
            let start = usize::from(before.min(after)).min(end);
            for within in &mut table[start..end] {
                within[along][word] ^= bit;
            }
        }
    }

    /// Those that fit into a free rectangle of these sides.
    #[inline]
    pub(super) fn fitting(&self, sides: Sides, table: &[Within]) -> Mask {
        let (w, h) = (&table[usize::from(sides.w)], &table[usize::from(sides.h)]);
        core::array::from_fn(|word| {
            (w[0][word] & h[1][word]) | (h[0][word] & w[1][word] & self.may_rotate[word])
        })
    }
}

/// What it is worth that these requests fit.
#[inline]
pub(super) fn value(fitting: &Mask) -> u32 {
    let recent = fitting[..RECENT_WORDS].iter();
    let mut value = recent.map(|word| word.count_ones()).sum();
    let mut waiting = fitting[RECENT_WORDS];
    while waiting != 0 {
        value += WAITING_VALUES[waiting.trailing_zeros() as usize % WAITING];
        waiting &= waiting - 1;
    }
    value
}
