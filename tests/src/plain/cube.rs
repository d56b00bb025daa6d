//! A k-ary n-cube with a flag for each node, and its subcubes as lists of digits.

use std::fmt;

use super::notation::{Notation, Symbol};

/// Digits, the highest dimension first.
pub type Digits = Vec<u16>;

/// A part of a cube: in each dimension so many nodes from a start position on, k - 1 being followed by 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Start positions.
    pub start: Digits,
    /// Extents.
    pub extents: Digits,
}

impl Part {
    /// The number of nodes.
    pub fn size(&self) -> u32 {
        self.extents
            .iter()
            .map(|&extent| u32::from(extent))
            .product()
    }

    /// The part that subnotation and select digits name: start positions and radices for the symbols `*`, from left
    /// to right, single positions for the symbols `□`.
    pub fn named(notation: &Notation, starts: &[u16], radices: &[u16], selects: &[u16]) -> Part {
        let mut starts = starts.iter().zip(radices);
        let mut selects = selects.iter();
        let (start, extents) = notation
            .0
            .iter()
            .map(|symbol| match symbol {
                Symbol::DontCare => starts.next().map(|(&start, &radix)| (start, radix)),
                Symbol::Select => selects.next().map(|&digit| (digit, 1)),
            })
            .map(|digits| digits.expect("digits for all symbols"))
            .unzip();
        Part { start, extents }
    }
}

/// All lists of `len` digits below `k` in lexicographic order.
pub fn all_digits(k: u16, len: usize) -> Vec<Digits> {
    let mut lists = vec![Vec::new()];
    for _ in 0..len {
        lists = lists
            .into_iter()
            .flat_map(|list: Digits| {
                (0..k).map(move |digit| {
                    let mut longer = list.clone();
                    longer.push(digit);
                    longer
                })
            })
            .collect();
    }
    lists
}

/// All distinct orders of the radices, in lexicographic order.
pub fn all_orders(radices: &[u16]) -> Vec<Digits> {
    if radices.is_empty() {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for (at, &first) in radices.iter().enumerate() {
        let mut others = radices.to_vec();
        others.remove(at);
        for mut order in all_orders(&others) {
            order.insert(0, first);
            orders.push(order);
        }
    }
    orders.sort();
    orders.dedup();
    orders
}

/// A k-ary n-cube.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainCube {
    k: u16,
    n: usize,
    /// In the order of the addresses.
    busy: Vec<bool>,
}

impl PlainCube {
    /// A cube whose nodes are all free.
    pub fn new(k: u16, n: usize) -> Self {
        let nodes = (0..n).fold(1, |nodes, _| nodes * usize::from(k));
        PlainCube {
            k,
            n,
            busy: vec![false; nodes],
        }
    }

    /// The radix.
    pub const fn k(&self) -> u16 {
        self.k
    }

    /// The number of dimensions.
    pub const fn n(&self) -> usize {
        self.n
    }

    /// The number of nodes.
    pub const fn len(&self) -> u32 {
        self.busy.len() as u32
    }

    /// Whether there is no node; there always is one.
    pub const fn is_empty(&self) -> bool {
        self.busy.is_empty()
    }

    /// The number of free nodes.
    pub fn free(&self) -> u32 {
        self.busy.iter().filter(|&&busy| !busy).count() as u32
    }

    /// Whether the node is busy.
    pub fn is_busy(&self, node: u32) -> bool {
        self.busy[node as usize]
    }

    /// Makes the node busy or free.
    pub fn set(&mut self, node: u32, busy: bool) {
        self.busy[node as usize] = busy;
    }

    /// The node's address.
    pub fn address(&self, node: u32) -> Digits {
        let k = u32::from(self.k);
        let mut digits = Vec::new();
        let mut rest = node;
        for _ in 0..self.n {
            digits.insert(0, (rest % k) as u16);
            rest /= k;
        }
        digits
    }

    /// The nodes of a part, by its digits from the left.
    pub fn nodes(&self, part: &Part) -> Vec<u32> {
        let mut nodes = Vec::new();
        self.every_node(part, 0, 0, &mut |node| {
            nodes.push(node);
            true
        });
        nodes
    }

    /// Whether all nodes of a part are free.
    pub fn is_free(&self, part: &Part) -> bool {
        self.every_node(part, 0, 0, &mut |node| !self.is_busy(node))
    }

    /// Whether `holds` for all nodes of a part whose digits left of `at` make the number `prefix`.
    fn every_node(
        &self,
        part: &Part,
        at: usize,
        prefix: u32,
        holds: &mut dyn FnMut(u32) -> bool,
    ) -> bool {
        if at == self.n {
            return holds(prefix);
        }
        let (k, start) = (u32::from(self.k), u32::from(part.start[at]));
        (0..u32::from(part.extents[at])).all(|step| {
            let digit = (start + step) % k;
            self.every_node(part, at + 1, prefix * k + digit, holds)
        })
    }

    /// All parts of such radices, whatever dimensions they lie along and wherever they start, in no particular
    /// order: of all extents those that are the radices and ones, at every node. For brute force.
    pub fn parts_of(&self, radices: &[u16]) -> Vec<Part> {
        let mut wanted = vec![1; self.n - radices.len()];
        wanted.extend(radices);
        wanted.sort_unstable();
        let mut parts = Vec::new();
        for digits in all_digits(self.k, self.n) {
            let extents: Digits = digits.iter().map(|digit| digit + 1).collect();
            let mut sorted = extents.clone();
            sorted.sort_unstable();
            if sorted == wanted {
                parts.extend((0..self.len()).map(|node| Part {
                    start: self.address(node),
                    extents: extents.clone(),
                }));
            }
        }
        parts
    }
}

/// Rows along dimension 0, `#` for busy; each row begins with the other digits.
impl fmt::Display for PlainCube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (row, first) in self
            .busy
            .chunks(self.k.into())
            .zip((0..).step_by(self.k.into()))
        {
            let address = self.address(first);
            write!(f, "{:?} ", &address[..self.n - 1])?;
            for &busy in row {
                f.write_str(if busy { "#" } else { "." })?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_wrap_around() {
        let cube = PlainCube::new(4, 2);
        let part = Part {
            start: vec![1, 3],
            extents: vec![2, 2],
        };
        assert_eq!(cube.nodes(&part), [7, 4, 11, 8]);
        assert_eq!(cube.address(7), [1, 3]);
    }

    #[test]
    fn orders_are_distinct_and_sorted() {
        let orders = all_orders(&[3, 2, 3]);
        assert_eq!(orders, [vec![2, 3, 3], vec![3, 2, 3], vec![3, 3, 2]]);
    }
}
