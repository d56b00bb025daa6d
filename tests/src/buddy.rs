//! Buddy systems as Li and Cheng and Lo and others describe them: a list of free blocks for each
//! size, blocks that are split in four on the way down and merged in fours, greedily, on the way
//! up.

use std::collections::{BTreeMap, BTreeSet};

use crate::submesh::Rect;

/// The free blocks of a mesh: squares whose sides are powers of two.
#[derive(Clone, Debug)]
pub struct BuddySystem {
    whole: Rect,
    /// For each side length the base nodes `(y, x)` of the free blocks.
    free: BTreeMap<i32, BTreeSet<(i32, i32)>>,
}

impl BuddySystem {
    /// All free. The square around the mesh is split in four until every part lies in the mesh or
    /// outside; if the mesh is a square whose side is a power of two, it is one block.
    pub fn new(w: i32, h: i32) -> Self {
        let mut system = BuddySystem {
            whole: Rect::based_at(0, 0, w, h),
            free: BTreeMap::new(),
        };
        let side = BuddySystem::block_side(w, h);
        system.split_to_whole(Rect::based_at(0, 0, side, side));
        system
    }

    fn split_to_whole(&mut self, block: Rect) {
        if self.whole.covers(block) {
            self.add(block);
        } else if self.whole.overlaps(block) {
            for quarter in quarters(block) {
                self.split_to_whole(quarter);
            }
        }
    }

    /// The side of the smallest block that accommodates a request.
    pub fn block_side(a: i32, b: i32) -> i32 {
        let mut side = 1;
        while side < a || side < b {
            side *= 2;
        }
        side
    }

    fn add(&mut self, block: Rect) {
        let added = self
            .free
            .entry(block.w())
            .or_default()
            .insert((block.y1, block.x1));
        assert!(added, "{block} was free already");
    }

    fn remove(&mut self, block: Rect) -> bool {
        let list = self.free.get_mut(&block.w());
        list.is_some_and(|list| list.remove(&(block.y1, block.x1)))
    }

    /// Where a request goes: into the smallest free block that is large enough, the first of those
    /// in row-major order; of a larger one into the lower left part.
    pub fn place(&self, a: i32, b: i32) -> Option<Rect> {
        let wanted = BuddySystem::block_side(a, b);
        let mut sufficient = self.free.range(wanted..);
        let &(y, x) = sufficient.find_map(|(_, bases)| bases.first())?;
        Some(Rect::based_at(x, y, wanted, wanted))
    }

    /// The blocks of a request for `processors`, if they are free: the number in base 4 says how
    /// many blocks of which size are wanted, largest first. Each wanted block is the first free
    /// block of its size in row-major order. If there is none, it is a part of the smallest larger
    /// block. If there is no larger block either, four blocks of a quarter of the size are wanted
    /// instead.
    pub fn place_multiple(&self, processors: u32) -> Option<Vec<Rect>> {
        let mut system = self.clone();
        let mut wanted = BTreeMap::new();
        let (mut rest, mut side) = (processors, 1);
        while rest > 0 {
            wanted.insert(side, rest % 4);
            rest /= 4;
            side *= 2;
        }
        let mut taken = Vec::new();
        while let Some((side, count)) = wanted.pop_last() {
            for missing in (1..=count).rev() {
                if let Some(block) = system.place(side, side) {
                    system.take(block);
                    taken.push(block);
                } else if side > 1 {
                    *wanted.entry(side / 2).or_insert(0) += 4 * missing;
                    break;
                } else {
                    return None;
                }
            }
        }
        Some(taken)
    }

    /// Asserts that the blocks are free and as large as can be: exactly the free nodes, and never
    /// four buddies.
    ///
    /// # Panics
    ///
    /// When they are not.
    pub fn check(&self, is_free: impl Fn(i32, i32) -> bool) {
        let blocks = || {
            let lists = self.free.iter();
            lists.flat_map(|(&side, bases)| {
                let block = move |&(y, x): &(i32, i32)| Rect::based_at(x, y, side, side);
                bases.iter().map(block)
            })
        };
        let nodes: BTreeSet<_> = blocks().flat_map(Rect::nodes).collect();
        assert_eq!(
            nodes.len() as i32,
            blocks().map(Rect::size).sum(),
            "disjoint"
        );
        let free: BTreeSet<_> = self.whole.nodes().filter(|&(x, y)| is_free(x, y)).collect();
        assert_eq!(nodes, free);
        for parent in blocks().filter_map(|block| self.parent(block)) {
            let list = &self.free[&(parent.w() / 2)];
            let all_free = quarters(parent)
                .iter()
                .all(|b| list.contains(&(b.y1, b.x1)));
            assert!(!all_free, "{parent} is not merged");
        }
    }

    /// Takes a block out of the free one that it is part of; what is split off remains free.
    ///
    /// # Panics
    ///
    /// When it is not part of any.
    pub fn take(&mut self, block: Rect) {
        let mut around = block;
        while !self.remove(around) {
            around = self.parent(around).expect("the block is free");
        }
        while around != block {
            let quarters = quarters(around);
            let mut inner = quarters.into_iter().filter(|quarter| quarter.covers(block));
            let inner = inner.next().expect("a block of a buddy system");
            for quarter in quarters.into_iter().filter(|&quarter| quarter != inner) {
                self.add(quarter);
            }
            around = inner;
        }
    }

    /// Gives a block back and merges four free buddies as long as there are four.
    pub fn give_back(&mut self, block: Rect) {
        self.add(block);
        let mut merged = block;
        while let Some(parent) = self.parent(merged) {
            let buddies = quarters(parent);
            let list = &self.free[&merged.w()];
            if !buddies.iter().all(|b| list.contains(&(b.y1, b.x1))) {
                break;
            }
            for buddy in buddies {
                self.remove(buddy);
            }
            self.add(parent);
            merged = parent;
        }
    }

    /// Gives back all nodes of a block but those that are faulty, in blocks as large as possible.
    pub fn give_back_all_but(&mut self, block: Rect, is_faulty: &impl Fn(i32, i32) -> bool) {
        if !block.nodes().any(|(x, y)| is_faulty(x, y)) {
            self.give_back(block);
        } else if block.w() > 1 {
            for quarter in quarters(block) {
                self.give_back_all_but(quarter, is_faulty);
            }
        }
    }

    /// The block of twice the side that this one is a quarter of.
    fn parent(&self, block: Rect) -> Option<Rect> {
        let side = 2 * block.w();
        let (x, y) = (block.x1 / side * side, block.y1 / side * side);
        let parent = Rect::based_at(x, y, side, side);
        self.whole.covers(parent).then_some(parent)
    }
}

/// The four buddies that a block is split into.
fn quarters(block: Rect) -> [Rect; 4] {
    let half = block.w() / 2;
    let (x, y) = (block.x1, block.y1);
    [(x, y), (x + half, y), (x, y + half), (x + half, y + half)]
        .map(|(x, y)| Rect::based_at(x, y, half, half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_and_merges() {
        let mut system = BuddySystem::new(8, 8);
        let first = system.place(3, 3).unwrap();
        assert_eq!(first, Rect::based_at(0, 0, 4, 4));
        system.take(first);
        // Three blocks of side 4 are left; the next single node splits the first of them.
        let second = system.place(1, 1).unwrap();
        assert_eq!(second, Rect::based_at(4, 0, 1, 1));
        system.take(second);
        let lists: Vec<_> = system
            .free
            .iter()
            .map(|(&side, list)| (side, list.len()))
            .collect();
        assert_eq!(lists, [(1, 3), (2, 3), (4, 2), (8, 0)]);
        system.give_back(second);
        system.give_back(first);
        assert_eq!(system.place(8, 8), Some(Rect::based_at(0, 0, 8, 8)));
    }

    #[test]
    fn a_mesh_begins_as_the_largest_blocks_it_has() {
        let system = BuddySystem::new(7, 5);
        let lists: Vec<_> = system
            .free
            .iter()
            .map(|(&side, list)| (side, list.len()))
            .collect();
        assert_eq!(lists, [(1, 11), (2, 2), (4, 1)]);
        system.check(|_, _| true);
        // 35 is 203 in base 4: no second block of side 4, so four of side 2, of which two are
        // missing.
        let sides: Vec<i32> = system
            .place_multiple(35)
            .unwrap()
            .iter()
            .map(|b| b.w())
            .collect();
        assert_eq!(sides, [[4, 2, 2].as_slice(), &[1; 11]].concat());
        assert_eq!(system.place_multiple(36), None);
    }

    #[test]
    fn a_faulty_node_stays_behind() {
        let mut system = BuddySystem::new(4, 4);
        let block = Rect::based_at(0, 0, 4, 4);
        system.take(block);
        system.give_back_all_but(block, &|x, y| (x, y) == (1, 1));
        let lists: Vec<_> = system
            .free
            .iter()
            .map(|(&side, list)| (side, list.len()))
            .collect();
        assert_eq!(lists, [(1, 3), (2, 3), (4, 0)]);
        assert_eq!(system.place(2, 2), Some(Rect::based_at(2, 0, 2, 2)));
        assert_eq!(system.place(3, 1), None);
    }
}
