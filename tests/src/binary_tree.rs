//! The strategies of Liu, Hsu and Wu on an explicit tree: rectangles with two halves each, and a
//! flag for each processor. Written from the paper's text, and from this project's decisions where
//! the paper leaves something open.

use std::rc::Rc;

use meshalloc::StrategyKind;

/// A rectangle of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// Columns and rows, from the lower left corner.
    pub x: u32,
    /// See above.
    pub y: u32,
    /// How many columns.
    pub w: u32,
    /// How many rows.
    pub h: u32,
    halves: Vec<Node>,
}

/// Which half is searched first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// BT: the left one.
    Left,
    /// SBT: the one with the heavier load, if the imbalance afterwards is within this.
    Tolerance(u32),
    /// DBT: the same with this share of the rectangle's area.
    Ratio(f64),
}

/// How many rectangles a job gets, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A part of one rectangle.
    One,
    /// One for each binary digit, each from the root.
    Independent,
    /// Each next digit climbs from the parent of the last rectangle.
    Dependent,
    /// The walk of SCBT.
    Compact,
}

/// The choice and form of a strategy; `None` for strategies of other papers.
pub fn form(kind: StrategyKind) -> Option<(Choice, Form)> {
    use StrategyKind as Kind;
    let within = |tolerance: u64| Choice::Tolerance(tolerance as u32);
    let share = |millionths: u64| Choice::Ratio(millionths as f64 / 1e6);
    Some(match kind {
        Kind::BinaryTree => (Choice::Left, Form::One),
        Kind::StaticBinaryTree { tolerance } => (within(tolerance), Form::One),
        Kind::DynamicBinaryTree { ratio } => (share(ratio), Form::One),
        Kind::IndependentBinaryTree => (Choice::Left, Form::Independent),
        Kind::IndependentStaticBinaryTree { tolerance } => (within(tolerance), Form::Independent),
        Kind::IndependentDynamicBinaryTree { ratio } => (share(ratio), Form::Independent),
        Kind::DependentBinaryTree => (Choice::Left, Form::Dependent),
        Kind::DependentStaticBinaryTree { tolerance } => (within(tolerance), Form::Dependent),
        Kind::DependentDynamicBinaryTree { ratio } => (share(ratio), Form::Dependent),
        Kind::CompactBinaryTree => (Choice::Left, Form::Compact),
        _ => return None,
    })
}

impl Node {
    fn new(x: u32, y: u32, w: u32, h: u32) -> Node {
        let halves = if w == 1 && h == 1 {
            vec![]
        } else if w >= h {
            vec![Node::new(x, y, w / 2, h), Node::new(x + w / 2, y, w / 2, h)]
        } else {
            vec![Node::new(x, y, w, h / 2), Node::new(x, y + h / 2, w, h / 2)]
        };
        Node { x, y, w, h, halves }
    }

    /// The number of processors.
    pub const fn area(&self) -> u32 {
        self.w * self.h
    }

    /// Column by column from the left.
    fn positions(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (self.x..self.x + self.w).flat_map(|x| (self.y..self.y + self.h).map(move |y| (x, y)))
    }

    /// All rectangles of this one, each before its halves.
    pub fn all(&self) -> Vec<&Node> {
        let below = self.halves.iter().flat_map(Node::all);
        std::iter::once(self).chain(below).collect()
    }
}

/// A mesh as a tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The whole mesh.
    pub root: Rc<Node>,
    /// By column, then by row.
    busy: Vec<Vec<bool>>,
}

impl Tree {
    /// A mesh; `busy` says which processors are.
    ///
    /// # Panics
    ///
    /// When the sides are not powers of two, or the mesh is higher than wide.
    pub fn new(w: u32, h: u32, busy: impl Fn(u32, u32) -> bool) -> Tree {
        assert!(w.is_power_of_two() && h.is_power_of_two() && h <= w);
        let column = |x| (0..h).map(|y| busy(x, y)).collect();
        Tree {
            root: Rc::new(Node::new(0, 0, w, h)),
            busy: (0..w).map(column).collect(),
        }
    }

    fn is_free(&self, (x, y): (u32, u32)) -> bool {
        !self.busy[x as usize][y as usize]
    }

    /// The number of free processors of a rectangle.
    pub fn free(&self, node: &Node) -> u32 {
        node.positions().filter(|&at| self.is_free(at)).count() as u32
    }

    /// Makes a processor busy or free.
    pub fn set(&mut self, x: u32, y: u32, busy: bool) {
        self.busy[x as usize][y as usize] = busy;
    }

    /// Takes `count` free processors of a rectangle, column by column from the left.
    fn take(&mut self, node: &Node, count: u32) -> Vec<(u32, u32)> {
        let free = node.positions().filter(|&at| self.is_free(at));
        let taken: Vec<_> = free.take(count as usize).collect();
        assert_eq!(taken.len(), count as usize);
        for &(x, y) in &taken {
            self.busy[x as usize][y as usize] = true;
        }
        taken
    }

    /// The halves in the order in which they are searched.
    fn in_order<'n>(&self, node: &'n Node, z: u32, choice: Choice) -> [&'n Node; 2] {
        let (left, right) = (&node.halves[0], &node.halves[1]);
        let (free_left, free_right) = (self.free(left), self.free(right));
        let alpha = match choice {
            Choice::Left => return [left, right],
            Choice::Tolerance(alpha) => f64::from(alpha),
            Choice::Ratio(ratio) => ratio * f64::from(node.area()),
        };
        if free_left == free_right {
            return [left, right];
        }
        let (heavy, light) = if free_left < free_right {
            (left, right)
        } else {
            (right, left)
        };
        let (free_heavy, free_light) = (i64::from(self.free(heavy)), i64::from(self.free(light)));
        let imbalance = (free_heavy - i64::from(z) - free_light).abs();
        if free_heavy >= i64::from(z) && imbalance as f64 <= alpha {
            [heavy, light]
        } else {
            [light, heavy]
        }
    }

    /// Searches depth first for a rectangle of z to 2z - 1 processors of which z are free. Returns
    /// the path to it, the root first.
    fn search<'n>(&self, node: &'n Node, z: u32, choice: Choice) -> Option<Vec<&'n Node>> {
        if self.free(node) < z {
            return None;
        }
        if node.area() < 2 * z {
            return Some(vec![node]);
        }
        let halves = self.in_order(node, z, choice);
        let mut path = halves
            .into_iter()
            .find_map(|half| self.search(half, z, choice))?;
        path.insert(0, node);
        Some(path)
    }

    /// The processors `(x, y)` that a request for `processors` gets.
    pub fn place(&self, processors: u32, choice: Choice, form: Form) -> Option<Vec<(u32, u32)>> {
        let mut tree = self.clone();
        let root = &self.root;
        match form {
            Form::One => {
                let path = self.search(root, processors, choice)?;
                Some(tree.take(path[path.len() - 1], processors))
            }
            Form::Independent | Form::Dependent => {
                tree.place_digits(root, processors, choice, form)
            }
            Form::Compact => {
                let digits = (0..32).rev().map(|i| processors & 1 << i);
                let mut taken = Vec::new();
                for digit in digits.filter(|&digit| digit > 0) {
                    taken.extend(tree.place_compact(root, digit)?);
                }
                Some(taken)
            }
        }
    }

    fn place_digits(
        &mut self,
        root: &Node,
        processors: u32,
        choice: Choice,
        form: Form,
    ) -> Option<Vec<(u32, u32)>> {
        let digits = (0..32).map(|i| processors & 1 << i);
        // The next one last.
        let mut requests: Vec<u32> = digits.filter(|&digit| digit > 0).collect();
        // The path to the last rectangle, the root first.
        let mut path: Vec<&Node> = vec![];
        let mut taken = vec![];
        while let Some(z) = requests.pop() {
            path.pop();
            if form == Form::Independent || path.is_empty() {
                path = vec![root];
            }
            let mut around = path.clone();
            let found = loop {
                let Some(node) = around.pop() else {
                    break None;
                };
                if let Some(below) = self.search(node, z, choice) {
                    break Some([around, below].concat());
                }
            };
            match found {
                Some(found) => {
                    taken.extend(self.take(found[found.len() - 1], z));
                    path = found;
                }
                None if z == 1 => return None,
                None => {
                    // The last rectangle stays what it was.
                    if let Some(&last) = path.last() {
                        path.push(last);
                    }
                    requests.extend([z / 2, z / 2]);
                }
            }
        }
        Some(taken)
    }

    /// As printed in section 4.1.1. A rectangle has been divided if some of its processors are free
    /// and some are not.
    fn place_compact(&mut self, root: &Node, digit: u32) -> Option<Vec<(u32, u32)>> {
        let (mut p, mut z) = (root, digit);
        if self.free(root) < z {
            return None;
        }
        // Once p is a left half: the right one.
        let mut sibling = root;
        let mut taken = vec![];
        loop {
            let s = self.free(p);
            let is_leaf = s == 0 || s == p.area();
            if is_leaf && s <= z {
                taken.extend(self.take(p, s));
                if s == z {
                    return Some(taken);
                }
                z -= s;
                p = sibling;
                continue;
            }
            let (left, right) = (&p.halves[0], &p.halves[1]);
            if is_leaf || self.free(left) >= z {
                (p, sibling) = (left, right);
            } else {
                let s = self.free(left);
                taken.extend(self.take(left, s));
                z -= s;
                p = right;
            }
        }
    }

    /// Definition 2: of the two halves of each rectangle at least one is free or full.
    pub fn is_spatially_compact(&self) -> bool {
        let partial = |node: &Node| (1..node.area()).contains(&self.free(node));
        let nodes = self.root.all();
        !nodes
            .iter()
            .any(|node| !node.halves.is_empty() && node.halves.iter().all(partial))
    }

    /// The largest rectangles of the tree that are free.
    pub fn free_blocks(&self) -> Vec<&Node> {
        let is_free = |node: &Node| self.free(node) == node.area();
        let mut blocks = vec![];
        let mut nodes: Vec<&Node> = vec![&self.root];
        while let Some(node) = nodes.pop() {
            if is_free(node) {
                blocks.push(node);
            } else {
                nodes.extend(&node.halves);
            }
        }
        blocks
    }

    /// Definition 1 of the free processors: if a square is not free, the sum over its quarters. On
    /// a mesh that is no square for all the squares it consists of.
    pub fn free_squares(&self) -> u32 {
        let root = &self.root;
        let squares = (0..root.w / root.h).map(|i| self.free_squares_of(i * root.h, 0, root.h));
        squares.sum()
    }

    /// The least free squares that a mesh with as many free processors can have: as many of the
    /// largest side as possible, then of each smaller side, up to three of each.
    pub fn free_squares_min(&self) -> u32 {
        let (free, largest) = (self.free(&self.root), self.root.h * self.root.h);
        let (mut squares, mut rest) = (free / largest, free % largest);
        while rest > 0 {
            squares += rest % 4;
            rest /= 4;
        }
        squares
    }

    /// Definition 1: whether there are as few free squares as can be.
    pub fn is_compact(&self) -> bool {
        self.free_squares() == self.free_squares_min()
    }

    fn free_squares_of(&self, x: u32, y: u32, side: u32) -> u32 {
        let mut nodes = (x..x + side).flat_map(|x| (y..y + side).map(move |y| (x, y)));
        if nodes.all(|at| self.is_free(at)) {
            return 1;
        }
        if side == 1 {
            return 0;
        }
        let half = side / 2;
        let quarters = [(x, y), (x + half, y), (x, y + half), (x + half, y + half)];
        quarters
            .map(|(x, y)| self.free_squares_of(x, y, half))
            .iter()
            .sum()
    }

    /// The condition of lemma 1: of each size there is at most one free block, and if p and q are
    /// free and p is larger, the parent of p is an ancestor of q.
    pub fn lemma_1_holds(&self) -> bool {
        let blocks = self.free_blocks();
        let nodes = self.root.all();
        let is = |a: &Node, b: &Node| (a.x, a.y, a.w, a.h) == (b.x, b.y, b.w, b.h);
        let has = |outer: &Node, inner: &Node| outer.all().iter().any(|node| is(node, inner));
        blocks.iter().all(|p| {
            blocks.iter().all(|q| {
                let parent = nodes
                    .iter()
                    .find(|node| node.halves.iter().any(|half| is(half, p)));
                is(p, q)
                    || p.area() < q.area()
                    || (p.area() > q.area() && parent.is_some_and(|parent| has(parent, q)))
            })
        })
    }
}

/// PLAS on any mesh: ceil(R / 2) from the half with more free processors, the rest from the other;
/// columns from the left, rows from the middle outwards.
pub fn parallel_layout(
    w: u32,
    h: u32,
    processors: u32,
    busy: impl Fn(u32, u32) -> bool,
) -> Option<Vec<(u32, u32)>> {
    let middle = h / 2;
    let column = |x: u32| (0..h).map(move |y| (x, y));
    let mut free: Vec<_> = (0..w)
        .flat_map(column)
        .filter(|&(x, y)| !busy(x, y))
        .collect();
    free.sort_by_key(|&(x, y)| {
        (
            x,
            if y < middle {
                middle - 1 - y
            } else {
                y - middle
            },
        )
    });
    let (below, above): (Vec<_>, Vec<_>) = free.into_iter().partition(|&(_, y)| y < middle);
    let (more, fewer) = if below.len() >= above.len() {
        (below, above)
    } else {
        (above, below)
    };
    let mut from_fewer = (processors / 2) as usize;
    let mut from_more = processors as usize - from_fewer;
    if from_fewer > fewer.len() {
        from_more += from_fewer - fewer.len();
        from_fewer = fewer.len();
    }
    let more = more.get(..from_more)?;
    Some([more, &fewer[..from_fewer]].concat())
}
