//! Algorithm G* of Chuang and Wu, section 2, written down as it is printed: procedures that call
//! themselves, on a list of symbols.

use std::fmt;

/// A symbol of a notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symbol {
    /// `□`: one position.
    Select,
    /// `*`: several.
    DontCare,
}

/// A list of symbols, the leftmost for the highest dimension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notation(pub Vec<Symbol>);

impl fmt::Display for Notation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|symbol| {
            f.write_str(match symbol {
                Symbol::Select => "□",
                Symbol::DontCare => "*",
            })
        })
    }
}

/// The R-transform from symbol `i`: its three rules.
pub fn rotate(i: usize, a: &Notation) -> Notation {
    let last = a.0.len() - 1;
    let symbol = |j: usize| {
        if j < i {
            a.0[j]
        } else if j > i {
            a.0[j - 1]
        } else {
            a.0[last]
        }
    };
    Notation((0..=last).map(symbol).collect())
}

/// The primary notation and then those that the algorithm makes of it, in its order.
pub fn notations(n: usize, m: usize) -> Vec<Notation> {
    let mut primary = vec![Symbol::Select; n - m];
    primary.extend(vec![Symbol::DontCare; m]);
    let mut search = Search {
        n,
        m,
        found: Vec::new(),
    };
    search.main(&Notation(primary));
    search.found
}

struct Search {
    n: usize,
    m: usize,
    found: Vec<Notation>,
}

impl Search {
    fn main(&mut self, primary: &Notation) {
        self.found.push(primary.clone());
        if self.m == 0 || self.m == self.n {
            return;
        }
        for i in (0..=self.n - self.m - 1).rev() {
            let new = rotate(i, primary);
            self.found.push(new.clone());
            self.subsequent_rotate(i, 0, &new);
        }
    }

    fn subsequent_rotate(&mut self, pre_level: usize, pre_step: usize, pre: &Notation) {
        let step = pre_step + 1;
        if step >= self.m {
            return;
        }
        for i in pre_level..=self.n - self.m - 1 {
            let new = rotate(i + step, pre);
            self.found.push(new.clone());
            self.subsequent_rotate(i, step, &new);
        }
    }
}
