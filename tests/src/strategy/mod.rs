//! A naive form of each strategy: it tries one place after the other.

mod check;
mod find;
mod held;

use std::cell::{OnceCell, RefCell};

use meshalloc::{Contiguity, Flags, Refusal, Request, Serves, SliceRule, StrategyKind};
use rand_core::SeedableRng;
use rand_pcg::Pcg32;

use check::demands_rings;
use held::runs;

use crate::binary_tree;
use crate::buddy::BuddySystem;
use crate::convert;
use crate::foresight::{Foresight, Outlook};
use crate::grid::{Grid, NaiveMachine, padded};
use crate::partitions::Partitions;
use crate::pods::Aligned;
use crate::scattered::Pages;
use crate::submesh::Rect;

pub use check::{Checked, Wanted};
pub(crate) use find::best;
pub use held::Held;

/// Whether the strategy gives a job any free processors, exactly as many as it asks for, or as its
/// shape has.
pub fn places_anywhere(kind: StrategyKind) -> bool {
    match kind {
        // Connected processors, and whole pages.
        StrategyKind::Neighbor => false,
        StrategyKind::Paging { exponent, .. } => exponent == 0,
        _ if kind.holds() == Contiguity::Blocks => true,
        _ => counts_processors(kind) && kind.info().complete,
    }
}

/// Whether the number of processors of a request counts, not its shape.
pub fn counts_processors(kind: StrategyKind) -> bool {
    kind.holds() == Contiguity::Processors
}

/// Whether the strategy keeps to the sides that it is asked for.
pub fn keeps_sides(kind: StrategyKind) -> bool {
    matches!(SliceRule::from(kind), SliceRule::Box { rings: true, .. })
}

/// Whether the strategy lays a request that may be turned in any order of its extents.
fn turns(kind: StrategyKind) -> bool {
    !matches!(SliceRule::from(kind), SliceRule::Box { turns: false, .. })
}

/// A strategy with its state: the busy nodes, and for a buddy system its lists of free blocks.
#[derive(Clone, Debug)]
pub struct Strategy {
    kind: StrategyKind,
    machine: NaiveMachine,
    buddy: Option<BuddySystem>,
    /// The generator of [`StrategyKind::Random`]; each successful search advances it.
    generator: RefCell<Option<Pcg32>>,
    /// The pages of [`StrategyKind::Paging`].
    pages: Option<Pages>,
    /// The dominant free submeshes, computed on demand.
    list: OnceCell<Vec<Rect>>,
    /// The memory of the strategies that look ahead.
    foresight: Option<Foresight>,
    /// The predefined partitions.
    partitions: Option<Partitions>,
    /// Where slices may begin.
    aligned: Option<Aligned>,
}

impl Strategy {
    /// Whether the strategy serves the grid.
    pub fn serves(kind: StrategyKind, grid: &Grid) -> bool {
        let is_plane =
            |is_served: &dyn Fn(u32, u32) -> bool| grid.w_h().is_some_and(|(w, h)| is_served(w, h));
        match kind.serves() {
            Serves::AnyGrid => true,
            Serves::MultiplesOf { exponent } => Pages::divide(grid, exponent),
            Serves::Mesh => is_plane(&|_, _| true),
            Serves::PowerOfTwoMesh => is_plane(&|w, h| w == h && w.is_power_of_two()),
            Serves::HalvableMesh => {
                is_plane(&|w, h| w.is_power_of_two() && h.is_power_of_two() && w >= h)
            }
            Serves::FewDimensions => grid.dimensions() <= 6,
            Serves::Cube => grid.k().is_some(),
            Serves::PowerOfTwoCube => grid.k().is_some_and(u32::is_power_of_two),
            Serves::TwoOrThreeDimensions => matches!(grid.dimensions(), 2 | 3),
            Serves::MeshOfTwoOrThreeDimensions => {
                matches!(grid.dimensions(), 2 | 3) && !grid.wraps().contains(&true)
            }
            Serves::HilbertCurve => {
                let longest = grid.sides().iter().max().expect("a side");
                let side = u64::from(longest.next_power_of_two());
                let places = side.checked_pow(grid.dimensions() as u32);
                grid.w_h().is_some() || places.is_some_and(|places| places <= 1 << 22)
            }
            // They take a description; `pods` compares.
            Serves::Cubes | Serves::Placements => false,
            other => panic!("no model of {other:?}"),
        }
    }

    /// The strategy on a grid whose nodes are all free.
    ///
    /// # Panics
    ///
    /// When it does not serve the grid.
    pub fn new(kind: StrategyKind, grid: &Grid) -> Self {
        assert!(Strategy::serves(kind, grid), "{kind} on {grid}");
        let is_buddy = matches!(kind, StrategyKind::Buddy | StrategyKind::MultipleBuddy);
        let sides = grid.w_h().filter(|_| is_buddy);
        Strategy {
            kind,
            machine: NaiveMachine::new(grid.clone()),
            buddy: sides.map(|(w, h)| BuddySystem::new(w as i32, h as i32)),
            pages: match kind {
                StrategyKind::Paging { order, exponent } => Some(Pages::new(grid, order, exponent)),
                _ => None,
            },
            generator: RefCell::new(match kind {
                StrategyKind::Random { seed } => Some(Pcg32::seed_from_u64(seed)),
                _ => None,
            }),
            list: OnceCell::new(),
            foresight: Foresight::new(kind, grid),
            partitions: Partitions::new(kind, grid),
            aligned: None,
        }
    }

    /// The same strategy on a machine whose slices begin only there.
    #[must_use]
    pub fn aligned(mut self, aligned: Aligned) -> Self {
        if let Some(foresight) = &mut self.foresight {
            foresight.aligned = Some(aligned.clone());
        }
        self.aligned = Some(aligned);
        self
    }

    /// A request has arrived; it may be refused.
    pub fn arrived(&mut self, request: &Request) {
        if self.foresight.is_some() && self.check(request).is_ok() {
            let wanted = self.expected(request);
            let foresight = self.foresight.as_mut();
            foresight.expect("it is there").arrived(&wanted);
        }
    }

    /// As what a request that may be granted counts for a strategy that looks ahead: its shape, or
    /// the first shape of the number of processors that it names. Rings do not matter.
    ///
    /// # Panics
    ///
    /// When the request is never granted.
    pub fn expected(&self, request: &Request) -> Wanted {
        if request.flags.contains(Flags::CHIPS) && self.foresight.is_some() {
            self.shapes_of_chips(request).swap_remove(0)
        } else {
            convert::wanted(self.grid(), request).expect("a request that fits")
        }
    }

    /// Whether it uses an [`Outlook`].
    pub const fn looks_ahead(&self) -> bool {
        self.foresight.is_some() || self.partitions.is_some()
    }

    /// Takes the outlook for the next decision.
    pub fn look(&mut self, outlook: Outlook) {
        if let Some(partitions) = &mut self.partitions {
            partitions.look(outlook);
        } else if let Some(foresight) = &mut self.foresight {
            foresight.look(outlook);
        }
    }

    /// The same strategy where these nodes are busy and no others.
    pub fn where_busy(&self, busy: &[bool]) -> Self {
        let mut other = Strategy::new(self.kind, self.grid());
        other.foresight.clone_from(&self.foresight);
        other.partitions.clone_from(&self.partitions);
        other.aligned.clone_from(&self.aligned);
        for node in (0..)
            .zip(busy)
            .filter(|&(_, &busy)| busy)
            .map(|(node, _)| node)
        {
            other.machine.set(node, true);
            if let Some(buddy) = &mut other.buddy {
                buddy.take((&self.grid().unit(node)).into());
            }
        }
        other
    }

    /// The shapes that are recognised on a two-dimensional mesh: whenever a submesh of one of them
    /// is free, the strategy grants the request.
    pub fn recognized(&self, request: &Request) -> Vec<(i32, i32)> {
        use StrategyKind as Kind;
        let is_ruled = request.flags.contains(Flags::CHIPS) || demands_rings(request);
        let Ok(Checked { wanted, .. }) = self.check(request) else {
            return Vec::new();
        };
        let [wanted] = &wanted[..] else {
            return Vec::new();
        };
        if is_ruled {
            return Vec::new();
        }
        let Some(sides) = self.grid().w_h().and(padded(&wanted.extents, 2)) else {
            return Vec::new();
        };
        let named = (sides[0] as i32, sides[1] as i32);
        match self.kind {
            Kind::FirstFit | Kind::BestFit => vec![named],
            // Without rotation nothing else serves.
            Kind::Neighbor if !wanted.may_rotate => vec![named],
            Kind::FixedOrientation => {
                let turned = self.shapes(wanted);
                let pair = |shape: &Vec<u32>| (shape[0] as i32, shape[1] as i32);
                turned.iter().map(pair).collect()
            }
            Kind::AdaptiveScan
            | Kind::BusyList
            | Kind::FreeSubmeshList
            | Kind::FlexFold
            | Kind::AllShapes
            | Kind::TreeCollapsing
            | Kind::LeastExpectedBlocking { .. }
            | Kind::LebEstimates { .. } => {
                let turned = wanted.may_rotate.then_some((named.1, named.0));
                [named].into_iter().chain(turned).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The room for blocks: those of running jobs, and those of reservations with several.
    pub const fn room(&self) -> usize {
        self.machine.nodes() as usize
    }

    /// The number of blocks in which a job holds this. A block is a run along dimension 0, or equal
    /// runs of consecutive lines. Strategies that select rectangles merge a run with the line
    /// below, others only with the run before.
    pub fn blocks(&self, held: &Held) -> usize {
        let nodes = match held {
            Held::Box(_) => return 1,
            Held::Boxes(places) => return places.len(),
            Held::Nodes(nodes) | Held::Around(_, nodes) => nodes,
        };
        let runs = runs(self.grid(), nodes);
        let is_selected = binary_tree::form(self.kind).is_some();
        let lines = self.grid().sides().get(1).copied().unwrap_or(1);
        let goes_on = |(at, &(line, x, len)): (usize, &(u32, u32, u32))| {
            let below = (line.wrapping_sub(1), x, len);
            let begins_plane = line % lines == 0;
            let before = if is_selected {
                &runs[..at]
            } else {
                &runs[at.saturating_sub(1)..at]
            };
            !begins_plane && before.contains(&below)
        };
        let ends = runs.iter().enumerate().filter(|&run| !goes_on(run));
        ends.count() + usize::from(matches!(held, Held::Around(..)))
    }

    /// The nodes that must stay free so that the search finds a place for the request again.
    pub fn kept_free(&self, found: &Held) -> Vec<u32> {
        let nodes = found.nodes(self.grid());
        if self.kind != StrategyKind::FrameSliding {
            return nodes;
        }
        // All that lies between the frame and the node at which the sliding begins.
        let scan = self.machine.scan();
        let begin = scan.free(1, 1).next();
        let begin = begin.map(|one| self.machine.node(one.x1, one.y1));
        let (w, _) = self.grid().w_h().expect("a mesh");
        let all: Vec<u32> = nodes.into_iter().chain(begin).collect();
        let columns = || all.iter().map(|node| node % w);
        let rows = || all.iter().map(|node| node / w);
        let is_between = |of: u32, among: &mut dyn Iterator<Item = u32>| {
            let (mut below, mut above) = (false, false);
            for other in among {
                below |= other <= of;
                above |= other >= of;
            }
            below && above
        };
        let is_kept =
            |node: &u32| is_between(node % w, &mut columns()) && is_between(node / w, &mut rows());
        (0..self.grid().nodes()).filter(is_kept).collect()
    }

    /// Which strategy it is.
    pub const fn kind(&self) -> StrategyKind {
        self.kind
    }

    /// Which nodes are busy.
    pub const fn machine(&self) -> &NaiveMachine {
        &self.machine
    }

    /// The grid.
    pub const fn grid(&self) -> &Grid {
        self.machine.grid()
    }

    /// The nodes have been allocated.
    ///
    /// # Panics
    ///
    /// When one of them is busy.
    pub fn take(&mut self, held: &Held) {
        self.list.take();
        for node in held.nodes(self.grid()) {
            assert!(!self.machine.is_busy(node), "{node} is taken twice");
            self.machine.set(node, true);
        }
        for place in held.boxes() {
            if let Some(buddy) = &mut self.buddy {
                buddy.take(place.into());
            }
        }
        self.check_buddies();
    }

    fn check_buddies(&self) {
        if let Some(buddy) = &self.buddy {
            buddy.check(|x, y| !self.machine.is_busy_at(x, y));
        }
    }

    /// The nodes have been released; those that are faulty stay busy.
    ///
    /// # Panics
    ///
    /// When one of them is free.
    pub fn give_back(&mut self, held: &Held, is_faulty: impl Fn(u32) -> bool) {
        self.list.take();
        for node in held.nodes(self.grid()) {
            assert!(self.machine.is_busy(node), "{node} is given back twice");
            self.machine.set(node, is_faulty(node));
        }
        for place in held.boxes() {
            if let Some(buddy) = &mut self.buddy {
                let is_faulty = |x: i32, y: i32| is_faulty(self.machine.node(x, y));
                buddy.give_back_all_but(place.into(), &is_faulty);
            }
        }
        self.check_buddies();
    }

    /// A node that no job holds becomes faulty, or works again.
    pub fn set(&mut self, node: u32, faulty: bool) {
        let unit = Held::Box(self.grid().unit(node));
        if faulty {
            self.take(&unit);
        } else {
            self.give_back(&unit, |_| false);
        }
    }

    /// Places a request as if these faulty nodes, which no job holds, worked, and as if nothing
    /// were known of other jobs.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn place_with(&self, works: &[u32], request: &Request) -> Result<Held, Refusal> {
        let mut then = self.clone();
        for &node in works {
            then.set(node, false);
        }
        then.look(Outlook::default());
        let held = then.place(request)?;
        // What was drawn is drawn.
        self.generator.swap(&then.generator);
        Ok(held)
    }

    /// The dominant free submeshes of a mesh, in the order of definition 1.
    pub fn dominant_free_submeshes(&self) -> &[Rect] {
        let list = || self.machine.scan().dominant_free_submeshes();
        self.list.get_or_init(list)
    }

    /// Where the request goes, when no other job waits before it.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn place(&self, request: &Request) -> Result<Held, Refusal> {
        let placed = self.place_checked(&self.check(request)?);
        placed.map_err(|refusal| match refusal {
            Refusal::Fragmented if demands_rings(request) => Refusal::RingBusy,
            other => other,
        })
    }

    /// The same for what [`Strategy::check`] has returned.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn place_checked(&self, checked: &Checked) -> Result<Held, Refusal> {
        if checked.taken > self.machine.free().into() {
            return Err(Refusal::TooFewFree);
        }
        let found = checked.wanted.iter().find_map(|wanted| self.find(wanted));
        found.ok_or(Refusal::Fragmented)
    }
}
