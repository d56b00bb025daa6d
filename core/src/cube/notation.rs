//! Which dimensions a subcube extends in: [`Notation`], and algorithm G* that names all of them.

use core::fmt;

use super::DIMENSIONS_MAX;

/// A notation of n symbols, the leftmost for dimension n - 1: `*` ("don't care") for a dimension in which a subcube
/// extends, `□` ("select") for one in which it has a single position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Notation {
    n: u8,
    /// Bit d for dimension d: set for `*`.
    stars: u16,
}

impl Notation {
    /// The notation with these symbols, dimension n - 1 first: true for `*`. `None` for more than
    /// [`DIMENSIONS_MAX`] symbols.
    pub fn new(symbols: &[bool]) -> Option<Notation> {
        (symbols.len() <= DIMENSIONS_MAX).then(|| Notation {
            n: symbols.len() as u8,
            stars: symbols
                .iter()
                .fold(0, |stars, &star| stars << 1 | u16::from(star)),
        })
    }

    /// The primary notation: n - m times `□`, then m times `*`.
    const fn primary(n: u8, m: u8) -> Notation {
        let stars = ((1_u32 << m) - 1) as u16;
        Notation { n, stars }
    }

    /// The right rotating transform from symbol `i`, counted from 0 at the left: rotates the rightmost n - i symbols
    /// to the right by one.
    ///
    /// # Panics
    ///
    /// When `i` is not below n.
    ///
    /// ```
    /// use meshalloc::cube::Notation;
    /// let before = Notation::new(&[false, true, false, true, false, true]).unwrap();
    /// assert_eq!(before.to_string(), "□*□*□*");
    /// assert_eq!(before.rotated(2).to_string(), "□**□*□");
    /// ```
    #[must_use]
    pub const fn rotated(self, i: u8) -> Notation {
        assert!(i < self.n, "a symbol of the notation");
        let top = self.n - i - 1;
        let tail = self.stars & ((1_u32 << (top + 1)) - 1) as u16;
        let rotated = tail >> 1 | (tail & 1) << top;
        Notation {
            n: self.n,
            stars: self.stars & !tail | rotated,
        }
    }

    /// Whether a subcube extends in this dimension.
    pub const fn extends_in(self, dimension: usize) -> bool {
        self.stars >> dimension & 1 == 1
    }

    /// The dimensions in which it extends, the highest first.
    pub fn stars(self) -> impl Iterator<Item = usize> {
        (0..usize::from(self.n))
            .rev()
            .filter(move |&dimension| self.extends_in(dimension))
    }

    /// The dimensions in which it does not, the highest first.
    pub fn selects(self) -> impl Iterator<Item = usize> {
        (0..usize::from(self.n))
            .rev()
            .filter(move |&dimension| !self.extends_in(dimension))
    }
}

impl fmt::Display for Notation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for dimension in (0..usize::from(self.n)).rev() {
            f.write_str(if self.extends_in(dimension) {
                "*"
            } else {
                "□"
            })?;
        }
        Ok(())
    }
}

/// All `C(n, m)` notations of n symbols with m times `*`, in the order in which algorithm G* names them. Nothing
/// is kept but the way from the primary notation to the current one.
///
/// # Panics
///
/// When m is above n, or n above [`DIMENSIONS_MAX`].
///
/// # Source
///
/// Chuang and Wu, section 2, algorithm G*: `main` and `subsequent_rotate`.
///
/// ```
/// use meshalloc::cube::notations;
/// let names: Vec<String> = notations(3, 2).map(|notation| notation.to_string()).collect();
/// assert_eq!(names, ["□**", "*□*", "**□"]);
/// ```
pub fn notations(n: u8, m: u8) -> impl Iterator<Item = Notation> {
    assert!(m <= n && usize::from(n) <= DIMENSIONS_MAX, "m <= n <= 16");
    Walk {
        m,
        last_level: n.saturating_sub(m + 1),
        next: Some(Notation::primary(n, m)),
        // With m = 0 or m = n there is only the primary notation.
        frames: [Frame::default(); DIMENSIONS_MAX],
        depth: 0,
    }
}

/// A call of the paper's procedures that has not returned.
#[derive(Clone, Copy, Default)]
struct Frame {
    /// `i`, the loop's counter.
    level: u8,
    /// Whether the loop has ended.
    done: bool,
    /// What it rotates, as bits.
    stars: u16,
}

struct Walk {
    m: u8,
    /// n - m - 1, the bound of all loops.
    last_level: u8,
    next: Option<Notation>,
    /// The call of `main`, then those of `subsequent_rotate` with step 1, 2, and so on.
    frames: [Frame; DIMENSIONS_MAX],
    depth: usize,
}

impl Iterator for Walk {
    type Item = Notation;

    fn next(&mut self) -> Option<Notation> {
        let current = self.next?;
        let n = current.n;
        self.next = None;
        let calls = match self.depth {
            // The primary notation: `main` begins its loop.
            0 => self.m > 0 && self.m < n,
            // `subsequent_rotate` returns at once when its step is m.
            step => step < usize::from(self.m),
        };
        if calls {
            // `main` counts down from the last level, `subsequent_rotate` up from the caller's.
            let level = match self.depth.checked_sub(1) {
                None => self.last_level,
                Some(caller) => self.frames[caller].level,
            };
            self.frames[self.depth] = Frame {
                level,
                done: false,
                stars: current.stars,
            };
            self.depth += 1;
        } else {
            self.advance();
        }
        // Loops that have ended return to their callers.
        while self.depth > 0 && self.frames[self.depth - 1].done {
            self.depth -= 1;
            self.advance();
        }
        if self.depth > 0 {
            let step = self.depth - 1;
            let frame = self.frames[step];
            let pre = Notation {
                n,
                stars: frame.stars,
            };
            self.next = Some(pre.rotated(frame.level + step as u8));
        }
        Some(current)
    }
}

impl Walk {
    /// Counts the innermost loop on.
    fn advance(&mut self) {
        let Some(innermost) = self.depth.checked_sub(1) else {
            return;
        };
        let frame = &mut self.frames[innermost];
        match innermost {
            0 if frame.level == 0 => frame.done = true,
            0 => frame.level -= 1,
            _ if frame.level == self.last_level => frame.done = true,
            _ => frame.level += 1,
        }
    }
}
