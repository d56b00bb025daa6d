//! The dimensions in which a subcube extends: [`Notation`], and algorithm G*, which lists all
//! notations.

use core::fmt;

use crate::grid::DIMENSIONS_MAX;

/// A notation of n symbols, the leftmost for dimension n - 1. A `*` ("don't care") marks a
/// dimension in which the subcube extends. A `□` ("select") marks one in which it has a single
/// position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Notation {
    n: u8,
    /// Bit d for dimension d: set for `*`.
    stars: u16,
}

impl Notation {
    /// Makes the notation with these symbols, dimension n - 1 first: true for `*`, false for `□`.
    /// `None` for more than [`DIMENSIONS_MAX`] symbols.
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

    /// The right rotating transform from symbol `i`, counted from 0 at the left. It rotates the
    /// rightmost n - i symbols to the right by one.
    ///
    /// ```text
    ///   i = 2        □ * | □ * □ *
    ///                    |  \ \ \  and the last one to the front
    ///                □ * | * □ * □
    /// ```
    ///
    /// # Panics
    ///
    /// If `i` is not below n.
    ///
    /// ```
    /// use meshalloc::notation::Notation;
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

    /// Whether a subcube extends in this dimension, which is below [`DIMENSIONS_MAX`].
    pub const fn extends_in(self, dimension: usize) -> bool {
        self.stars >> dimension & 1 == 1
    }

    /// The dimensions in which it extends, the highest first.
    pub fn stars(self) -> impl Iterator<Item = usize> {
        (0..usize::from(self.n))
            .rev()
            .filter(move |&dimension| self.extends_in(dimension))
    }

    /// The dimensions in which it has a single position, the highest first.
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

/// Lists all `C(n, m)` notations of n symbols with m times `*`, in the order of algorithm G*. It
/// stores only the calls from the primary notation to the current one.
///
/// # Panics
///
/// If m is above n, or n above [`DIMENSIONS_MAX`].
///
/// # Source
///
/// Chuang and Wu, section 2, algorithm G*: `main` and `subsequent_rotate`.
///
/// ```
/// use meshalloc::notation::notations;
/// let names: Vec<String> = notations(3, 2).map(|notation| notation.to_string()).collect();
/// assert_eq!(names, ["□**", "*□*", "**□"]);
/// ```
pub fn notations(n: u8, m: u8) -> impl Iterator<Item = Notation> {
    Notations::new(n, m)
}

/// An open call of one of the paper's procedures.
#[derive(Clone, Copy, Default)]
struct Frame {
    /// `i`, the counter of the call's loop.
    level: u8,
    /// The notation that the call rotates.
    stars: u16,
}

/// The iterator of [`notations`], which can also skip notations.
///
/// The calls of algorithm G* form a tree. All notations within one call of `subsequent_rotate` with
/// step s share the leftmost s `*`. A search that finds no place for the beginning of a notation
/// can therefore skip all that begin alike. The notations of n = 4, m = 2 in their order:
///
/// ```text
///   □□**                  main, i = 1 and 0
///   ├─ □*□*               i = 1: the leftmost * is at symbol 1
///   │  └─ □**□
///   └─ *□□*               i = 0: the leftmost * is at symbol 0
///      ├─ **□□            step 1, from i = 0
///      └─ *□*□
///
///   leave_out(1) after *□□* skips **□□ and *□*□.
/// ```
pub(crate) struct Notations {
    n: u8,
    m: u8,
    latest: Option<Notation>,
    /// Whether to make the calls below the latest notation.
    descend: bool,
    /// The call of `main`, then those of `subsequent_rotate` with step 1, 2, and so on. While d
    /// calls are open, the leftmost d `*` of the latest notation stay the same.
    frames: [Frame; DIMENSIONS_MAX],
    depth: usize,
}

impl Notations {
    pub(crate) fn new(n: u8, m: u8) -> Notations {
        assert!(m <= n && usize::from(n) <= DIMENSIONS_MAX, "m <= n <= 16");
        Notations {
            n,
            m,
            latest: None,
            // With m = 0 or m = n there is only the primary notation.
            descend: 0 < m && m < n,
            frames: [Frame::default(); DIMENSIONS_MAX],
            depth: 0,
        }
    }

    /// Skips the notations that share the leftmost `stars` `*` with the latest one. The next
    /// notation is the first that does not share them.
    pub(crate) fn leave_out(&mut self, stars: usize) {
        if stars <= self.depth {
            self.depth = stars;
            self.descend = false;
        }
    }

    /// The bound of all loops, n - m - 1. Only for 0 < m < n.
    const fn last_level(&self) -> u8 {
        self.n - self.m - 1
    }

    /// Steps the innermost loop; when it has ended, the loop around it. False when all have ended.
    fn advance(&mut self) -> bool {
        while let Some(innermost) = self.depth.checked_sub(1) {
            let last_level = self.last_level();
            let level = &mut self.frames[innermost].level;
            // `main` counts down, `subsequent_rotate` up.
            match innermost {
                0 if *level > 0 => *level -= 1,
                1.. if *level < last_level => *level += 1,
                _ => {
                    self.depth -= 1;
                    continue;
                }
            }
            return true;
        }
        false
    }
}

impl Iterator for Notations {
    type Item = Notation;

    fn next(&mut self) -> Option<Notation> {
        let Some(latest) = self.latest else {
            self.latest = Some(Notation::primary(self.n, self.m));
            return self.latest;
        };
        if self.descend {
            // `main` starts at the last level, `subsequent_rotate` at the caller's.
            let level = match self.depth.checked_sub(1) {
                None => self.last_level(),
                Some(caller) => self.frames[caller].level,
            };
            let stars = latest.stars;
            self.frames[self.depth] = Frame { level, stars };
            self.depth += 1;
        } else if !self.advance() {
            return None;
        }
        let step = self.depth - 1;
        let Frame { level, stars } = self.frames[step];
        let before = Notation { n: self.n, stars };
        self.latest = Some(before.rotated(level + step as u8));
        // `subsequent_rotate` returns at once when its step is m.
        self.descend = self.depth < usize::from(self.m);
        self.latest
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

    /// The drawing in the documentation of [`Notations`].
    #[test]
    fn notations_follow_and_are_skipped_as_drawn() {
        let names = |skip_after: &str| {
            let mut walk = Notations::new(4, 2);
            let mut names = Vec::new();
            while let Some(notation) = walk.next() {
                names.push(notation.to_string());
                if notation.to_string() == skip_after {
                    walk.leave_out(1);
                }
            }
            names
        };
        let all = ["□□**", "□*□*", "□**□", "*□□*", "**□□", "*□*□"];
        assert_eq!(names(""), all);
        assert_eq!(names("*□□*"), all[..4]);
        assert_eq!(names("□*□*"), [&all[..2], &all[3..]].concat());
    }

    #[test]
    fn skipped_notations_begin_like_those_that_stay() {
        for (n, m) in [(5, 2), (6, 3), (7, 4), (6, 6), (6, 1)] {
            let all: Vec<Notation> = notations(n, m).collect();
            for stars in 1..=usize::from(m) {
                let prefix = |notation: &Notation| notation.stars().take(stars).collect::<Vec<_>>();
                let mut walk = Notations::new(n, m);
                let mut kept = Vec::new();
                while let Some(notation) = walk.next() {
                    kept.push(notation);
                    walk.leave_out(stars);
                }
                // No beginning is lost.
                let mut prefixes: Vec<_> = kept.iter().map(prefix).collect();
                let mut all_prefixes: Vec<_> = all.iter().map(prefix).collect();
                for prefixes in [&mut prefixes, &mut all_prefixes] {
                    prefixes.sort();
                    prefixes.dedup();
                }
                assert_eq!(prefixes, all_prefixes);
                if stars < usize::from(m) && m < n {
                    assert!(kept.len() < all.len(), "{n} {m} {stars}");
                }
            }
        }
    }
}
