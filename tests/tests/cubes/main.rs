//! k-ary n-cubes: algorithm G*, what the strategies recognise, and each of them against its plain model.

mod geometry;
mod largest;
mod notations;
mod random;
mod recognition;
mod record;
mod remembered;
mod topologies;

use meshalloc::{Allocator, NodeId, Refusal, Request, StrategyKind};
use meshalloc_tests::plain::cube::{Digits, Part, all_digits};
use meshalloc_tests::plain::{CubeStrategy, Places};
use meshalloc_tests::rig::{HeapMemory, cube};

/// An allocator of a cube and its plain model, whose busy nodes are the faulty ones.
struct Probe<'m> {
    allocator: Allocator<'m>,
    model: CubeStrategy,
}

impl<'m> Probe<'m> {
    /// All nodes are free. The memory is one for this cube.
    fn new(memory: &'m mut HeapMemory, kind: StrategyKind, k: u16, n: u8) -> Self {
        let machine = cube(k, n).into();
        Probe {
            allocator: Allocator::new(memory.memory(), machine, kind).unwrap(),
            model: CubeStrategy::new(kind, k, n.into()),
        }
    }

    /// Makes a node busy or free.
    fn set(&mut self, node: u32, busy: bool) {
        match busy {
            true => self.allocator.mark_faulty(NodeId(node)),
            false => self.allocator.clear_faulty(NodeId(node)),
        };
        self.model.set(node, busy);
    }

    /// Where the allocator places the request; it is given back.
    fn ask(&mut self, request: &Request) -> Result<Part, Refusal> {
        let allocation = self.allocator.allocate(request)?;
        let mut blocks = self.allocator.blocks(&allocation).map(CubeStrategy::said);
        let part = blocks.next().flatten().expect("a subcube");
        assert_eq!(blocks.next(), None, "one subcube");
        drop(blocks);
        assert_eq!(self.allocator.release(allocation), part.size());
        Ok(part)
    }
}

/// All radices that can be asked of a k-ary n-cube, of m = 0 .. n dimensions.
fn all_radices(k: u16, n: usize) -> Vec<Digits> {
    let of_m = |m| all_digits(k - 1, m).into_iter();
    let lists = (0..=n).flat_map(of_m);
    lists
        .map(|digits| digits.iter().map(|digit| digit + 2).collect())
        .collect()
}
