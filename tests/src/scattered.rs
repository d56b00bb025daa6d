//! Naive forms of two strategies that scatter jobs: `random` and `paging`.

use meshalloc::PageOrder;
use rand_core::Rng;
use rand_pcg::Pcg32;

use crate::grid::{Grid, NaiveMachine};

/// Selection sampling: each of the nodes in turn with a chance of those still missing in those
/// still left.
pub fn sample(generator: &mut Pcg32, nodes: &[u32], count: u32) -> Vec<u32> {
    let mut chosen = Vec::new();
    for (at, &node) in nodes.iter().enumerate() {
        let missing = count as usize - chosen.len();
        if missing > 0 && below(generator, (nodes.len() - at) as u64) < missing as u64 {
            chosen.push(node);
        }
    }
    chosen
}

/// The quotient of draw times bound by 2^32, among the draws whose remainder is at least 2^32
/// modulo the bound: as many of them for each quotient.
fn below(generator: &mut Pcg32, bound: u64) -> u64 {
    const DRAWS: u64 = 1 << 32;
    loop {
        let product = u64::from(generator.next_u32()) * bound;
        if product % DRAWS >= DRAWS % bound {
            return product / DRAWS;
        }
    }
}

/// The pages of a grid.
#[derive(Clone, Debug)]
pub struct Pages {
    /// The nodes of each page, the pages in their order.
    pages: Vec<Vec<u32>>,
}

impl Pages {
    /// Whether the grid divides into pages with sides of 2^exponent.
    pub fn divide(grid: &Grid, exponent: u64) -> bool {
        let mut sides = grid.sides().iter();
        exponent < 32 && sides.all(|side| side % (1 << exponent) == 0)
    }

    /// All pages: each node belongs to that of its coordinates divided by the side, and pages are
    /// sorted by their rank.
    pub fn new(grid: &Grid, order: PageOrder, exponent: u64) -> Pages {
        let side = 1 << exponent;
        let mut pages = std::collections::BTreeMap::<u64, Vec<u32>>::new();
        for node in 0..grid.nodes() {
            let mut rest = node;
            let mut places = Vec::new();
            for &length in grid.sides() {
                places.push((rest % length / side, length / side));
                rest /= length;
            }
            // From the highest dimension down. In the snake a line runs backwards if an odd number
            // of lines came before it.
            let mut rank = 0;
            for &(place, count) in places.iter().rev() {
                let backwards = order == PageOrder::Snake && rank % 2 == 1;
                let digit = if backwards { count - 1 - place } else { place };
                rank = rank * u64::from(count) + u64::from(digit);
            }
            pages.entry(rank).or_default().push(node);
        }
        Pages {
            pages: pages.into_values().collect(),
        }
    }

    /// The number of pages.
    pub fn count(&self) -> u32 {
        self.pages.len() as u32
    }

    /// The number of processors that a job holds which asks for `processors`.
    pub fn held(&self, processors: u32) -> u64 {
        let size = self.pages[0].len() as u64;
        u64::from(processors).div_ceil(size) * size
    }

    /// The nodes of the first free pages, ascending; `None` if there are too few.
    pub fn first_free(&self, machine: &NaiveMachine, processors: u32) -> Option<Vec<u32>> {
        let wanted = self.held(processors) as usize / self.pages[0].len();
        let free = |page: &&Vec<u32>| page.iter().all(|&node| !machine.is_busy(node));
        let found: Vec<&Vec<u32>> = self.pages.iter().filter(free).take(wanted).collect();
        let mut nodes: Vec<u32> = found.iter().copied().flatten().copied().collect();
        nodes.sort_unstable();
        (found.len() == wanted).then_some(nodes)
    }
}
