//! Predefined partitions (`partition`, `walltime-aware`), from their definition: all partitions are
//! listed with those around them, and every idle one of the size is compared.

use std::cmp::Reverse;

use meshalloc::StrategyKind;

use crate::foresight::Outlook;
use crate::grid::{Grid, NaiveMachine, Place};

/// A partition, and where in the list the one around it and its other half are.
#[derive(Clone, Debug)]
struct Partition {
    place: Place,
    parent: Option<usize>,
    sibling: Option<usize>,
}

/// The partitions of a machine in the order of their names, and what is known of the jobs.
#[derive(Clone, Debug)]
pub struct Partitions {
    all: Vec<Partition>,
    is_by_walltime: bool,
    outlook: Outlook,
}

impl Partitions {
    /// For a grid; `None` if the strategy is another one.
    pub fn new(kind: StrategyKind, grid: &Grid) -> Option<Self> {
        let is_by_walltime = match kind {
            StrategyKind::Partition => false,
            StrategyKind::WalltimeAware => true,
            _ => return None,
        };
        let whole = Place {
            start: vec![0; grid.dimensions()],
            extent: grid.sides().to_vec(),
        };
        let mut partitions = Partitions {
            all: Vec::new(),
            is_by_walltime,
            outlook: Outlook::default(),
        };
        partitions.divide(whole, None);
        Some(partitions)
    }

    /// Lists the place and its parts. Returns where the place is in the list.
    fn divide(&mut self, place: Place, parent: Option<usize>) -> usize {
        let at = self.all.len();
        self.all.push(Partition {
            place: place.clone(),
            parent,
            sibling: None,
        });
        let sides = (0..place.extent.len()).map(|d| (place.extent[d], Reverse(d)));
        let (longest, Reverse(d)) = sides.max().expect("a dimension");
        if longest > 1 {
            let (mut lower, mut upper) = (place.clone(), place);
            upper.extent[d] = longest / 2;
            lower.extent[d] = longest - longest / 2;
            upper.start[d] += lower.extent[d];
            let lower = self.divide(lower, Some(at));
            let upper = self.divide(upper, Some(at));
            self.all[lower].sibling = Some(upper);
            self.all[upper].sibling = Some(lower);
        }
        at
    }

    /// The smallest size for this number of processors.
    pub fn size(&self, processors: u32) -> Option<u32> {
        let sizes = self.all.iter().map(|it| it.place.size());
        sizes.filter(|&size| size >= processors).min()
    }

    /// Takes the outlook for the next decision.
    pub fn look(&mut self, outlook: Outlook) {
        self.outlook = outlook;
    }

    /// The place of a job of this many processors.
    pub fn place(&self, machine: &NaiveMachine, processors: u32) -> Option<Place> {
        let size = self.size(processors)?;
        let idle = |it: &&Partition| it.place.size() == size && machine.is_free(&it.place);
        let idle: Vec<&Partition> = self.all.iter().filter(idle).collect();
        let parents = |it: &Partition| {
            let parents = std::iter::successors(it.parent, |&at| self.all[at].parent);
            let is_idle = |at: &usize| machine.is_free(&self.all[*at].place);
            parents.filter(is_idle).count()
        };
        let fewest = idle.iter().map(|it| parents(it)).min()?;
        let equal = || idle.iter().filter(|it| parents(it) == fewest);
        let beside = equal().filter_map(|it| Some((self.difference(machine, it)?, it)));
        // The first of equals.
        let nearest = beside.min_by_key(|&(difference, _)| difference);
        let chosen = nearest.map(|(_, it)| it).or_else(|| equal().next())?;
        Some(chosen.place.clone())
    }

    /// By how much the ends of the new job and of the one on the buddy differ.
    fn difference(&self, machine: &NaiveMachine, of: &Partition) -> Option<u64> {
        let buddy = &self.all[of.sibling?].place;
        if !self.is_by_walltime || buddy.size() != of.place.size() {
            return None;
        }
        let sorted = |nodes: &[u32]| {
            let mut nodes = nodes.to_vec();
            nodes.sort_unstable();
            nodes
        };
        let nodes = sorted(&machine.grid().nodes_of(buddy));
        let mut others = self.outlook.running.iter();
        let on_it = others.find(|other| sorted(&other.nodes) == nodes)?;
        Some(self.outlook.estimate?.abs_diff(on_it.left?))
    }
}
