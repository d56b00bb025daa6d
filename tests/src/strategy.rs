//! A naive form of each strategy: it tries one place after the other.

use std::cell::{OnceCell, RefCell};

use meshalloc::{
    Block, Contiguity, CurveLine, Flags, Refusal, Request, Serves, SliceRule, StrategyKind,
};
use rand_core::SeedableRng;
use rand_pcg::Pcg32;

use crate::binary_tree::{self, Tree, parallel_layout};
use crate::buddy::BuddySystem;
use crate::convert;
use crate::curve;
use crate::foresight::{Foresight, Outlook};
use crate::grid::{Grid, NaiveMachine, Place, orders, padded};
use crate::nearest;
use crate::notation::{Notation, Symbol, notations};
use crate::partitions::Partitions;
use crate::pods::{self, Aligned};
use crate::scattered::{Pages, sample};
use crate::shaped;
use crate::split;
use crate::submesh::{Rect, Scan};

/// What a request asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Extents in the order in which they are named.
    pub extents: Vec<u32>,
    /// Processors; no more than the extents have.
    pub processors: u32,
    /// Whether the strategy may assign the extents to dimensions in another order.
    pub may_rotate: bool,
}

impl Wanted {
    /// The number of nodes of a box with these extents.
    pub fn area(&self) -> u64 {
        product(&self.extents)
    }
}

/// What [`Strategy::check`] finds out about a request.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What is tried, in order. The request itself, unless it names a number of processors or
    /// demands rings.
    pub wanted: Vec<Wanted>,
    /// The least number of nodes that it takes.
    pub taken: u64,
}

/// The flags that demand rings, by extent, and the one for all extents.
const RINGS: [Flags; 4] = [Flags::RING_0, Flags::RING_1, Flags::RING_2, Flags::RING_3];

/// Whether a request demands a ring along any extent, be it long enough for one or not.
fn demands_rings(request: &Request) -> bool {
    let rings = RINGS.into_iter().chain([Flags::RINGS]);
    rings
        .fold(Flags::empty(), Flags::union)
        .intersects(request.flags)
}

fn product(extents: &[u32]) -> u64 {
    let factors = extents.iter().map(|&extent| u64::from(extent));
    factors.fold(1, u64::saturating_mul)
}

/// What a job holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// This one box.
    Box(Place),
    /// These boxes, in this order.
    Boxes(Vec<Place>),
    /// These nodes, ascending, in any blocks.
    Nodes(Vec<u32>),
    /// This box, then these nodes in any blocks.
    Around(Place, Vec<u32>),
}

impl Held {
    /// The nodes, ascending.
    pub fn nodes(&self, grid: &Grid) -> Vec<u32> {
        let mut nodes = match self {
            Held::Box(place) => grid.nodes_of(place),
            Held::Boxes(places) => places.iter().flat_map(|p| grid.nodes_of(p)).collect(),
            Held::Nodes(nodes) => nodes.clone(),
            Held::Around(place, nodes) => [grid.nodes_of(place), nodes.clone()].concat(),
        };
        nodes.sort_unstable();
        nodes
    }

    /// The boxes, if they are given.
    fn boxes(&self) -> &[Place] {
        match self {
            Held::Box(place) => std::slice::from_ref(place),
            Held::Boxes(places) => places,
            Held::Nodes(_) | Held::Around(..) => &[],
        }
    }

    /// Whether a job that holds this holds these blocks.
    pub fn is(&self, grid: &Grid, blocks: &[Block]) -> bool {
        let machine = convert::machine(grid);
        let mut places = blocks.iter().map(|&block| convert::place(machine, block));
        match self {
            Held::Box(place) => places.eq([place.clone()]),
            Held::Boxes(held) => places.eq(held.iter().cloned()),
            Held::Around(place, _) if places.clone().next().as_ref() != Some(place) => false,
            Held::Nodes(_) | Held::Around(..) => {
                let mut held: Vec<u32> = places.by_ref().flat_map(|p| grid.nodes_of(&p)).collect();
                held.sort_unstable();
                held == self.nodes(grid)
            }
        }
    }
}

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

/// The runs of neighbours along dimension 0 that these nodes, ascending, consist of: their line,
/// first position and length.
fn runs(grid: &Grid, nodes: &[u32]) -> Vec<(u32, u32, u32)> {
    let mut runs: Vec<(u32, u32, u32)> = Vec::new();
    for (line, x) in nodes
        .iter()
        .map(|node| (node / grid.sides()[0], node % grid.sides()[0]))
    {
        match runs.last_mut() {
            Some((of, start, len)) if *of == line && *start + *len == x => *len += 1,
            _ => runs.push((line, x, 1)),
        }
    }
    runs
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

    /// Whether the shape does not matter.
    fn holds_processors(&self, wanted: &Wanted) -> bool {
        match self.kind {
            StrategyKind::Neighbor => wanted.may_rotate,
            kind => counts_processors(kind),
        }
    }

    /// What is tried for the request, if an empty machine could serve it, and the number of nodes
    /// it takes.
    ///
    /// # Errors
    ///
    /// Why it could not.
    pub fn check(&self, request: &Request) -> Result<Checked, Refusal> {
        let named = convert::wanted(self.grid(), request)?;
        let counts = counts_processors(self.kind) && self.kind != StrategyKind::Neighbor;
        let names_chips = request.flags.contains(Flags::CHIPS);
        let all = if names_chips && counts && demands_rings(request) {
            return Err(Refusal::NoRing);
        } else if names_chips && !counts {
            self.shapes_of_chips(request)
        } else {
            vec![named]
        };
        let mut checked = Checked {
            wanted: Vec::new(),
            taken: u64::MAX,
        };
        let mut refused = None;
        for shape in all {
            let orders = if demands_rings(request) {
                self.orders_with_rings(request, &shape)
            } else {
                vec![shape]
            };
            if orders.is_empty() {
                refused = refused.or(Some(Refusal::NoRing));
            }
            for wanted in orders {
                match self.check_wanted(&wanted) {
                    Ok(taken) => {
                        checked.taken = checked.taken.min(taken);
                        checked.wanted.push(wanted);
                    }
                    Err(refusal) => refused = refused.or(Some(refusal)),
                }
            }
        }
        match checked.taken {
            u64::MAX => Err(refused.unwrap_or(Refusal::NotLegal)),
            _ => Ok(checked),
        }
    }

    /// What a number of processors stands for: every box of that many nodes that fits the machine
    /// in some order of its sides, in each of its orders, the most compact first. Where a strategy
    /// turns what it is asked for, the later orders of the same sides find nothing new.
    fn shapes_of_chips(&self, request: &Request) -> Vec<Wanted> {
        let sides = self.grid().sides();
        if sides.len() > 4 || request.processors > self.grid().nodes() {
            return Vec::new();
        }
        let sorted = |sides: &[u32]| {
            let mut sides = sides.to_vec();
            sides.sort_unstable();
            sides
        };
        let fits = |extents: &Vec<u32>| {
            let (extents, sides) = (sorted(extents), sorted(sides));
            extents
                .iter()
                .zip(&sides)
                .all(|(extent, side)| extent <= side)
        };
        let boxes = pods::boxes(request.processors, sides.len()).into_iter();
        let mut shapes: Vec<_> = boxes
            .filter(fits)
            .flat_map(|sides| orders(&sides))
            .collect();
        shapes.sort_by_key(|shape| pods::compactness(shape));
        // Where the order matters, because it says which extent has a ring or is halved, but may be
        // any, the sides ascend.
        let matters = demands_rings(request) || self.kind == StrategyKind::FlexFold;
        let as_named = |shape: &Vec<u32>| shape.iter().zip(sides).all(|(a, b)| a <= b);
        shapes.retain(|shape| {
            if request.may_rotate() && turns(self.kind) {
                !matters || shape.is_sorted()
            } else {
                as_named(shape)
            }
        });
        let wanted = |extents| Wanted {
            extents,
            processors: request.processors,
            may_rotate: request.may_rotate(),
        };
        shapes.into_iter().map(wanted).collect()
    }

    /// What is tried for a shape so that the rings close that the request demands: nothing, if they
    /// never do.
    fn orders_with_rings(&self, request: &Request, shape: &Wanted) -> Vec<Wanted> {
        let (sides, wraps) = (self.grid().sides(), self.grid().wraps());
        let n = sides.len();
        let Some(named) = padded(&shape.extents, n) else {
            return Vec::new();
        };
        if counts_processors(self.kind) || n > 4 {
            return Vec::new();
        }
        let is_demanded = |at: usize| {
            let is_asked = request.flags.intersects(Flags::RINGS | RINGS[at]);
            is_asked && named[at] > 2 && at < shape.extents.len()
        };
        let demanded: Vec<usize> = (0..n).filter(|&at| is_demanded(at)).collect();
        if demanded.is_empty() {
            return vec![shape.clone()];
        }
        if !keeps_sides(self.kind) {
            return Vec::new();
        }
        // Along which dimension each extent lies.
        let numbers: Vec<u32> = (0..n as u32).collect();
        let others = orders(&named).into_iter().filter(|order| *order != named);
        let (lies, others) = if shape.may_rotate && turns(self.kind) {
            (orders(&numbers), others.collect())
        } else {
            (vec![numbers], Vec::new())
        };
        let closes = |order: &Vec<u32>| {
            lies.iter().any(|lie| {
                let along = |at: usize| lie[at] as usize;
                let is_order = (0..n).all(|at| order[along(at)] == named[at]);
                let close = |&at: &usize| wraps[along(at)] && sides[along(at)] == named[at];
                is_order && demanded.iter().all(close)
            })
        };
        let orders = [named.clone()].into_iter().chain(others);
        let wanted = |extents| Wanted {
            extents,
            processors: shape.processors,
            may_rotate: false,
        };
        orders.filter(closes).map(wanted).collect()
    }

    /// The number of nodes that this takes on an empty machine.
    fn check_wanted(&self, wanted: &Wanted) -> Result<u64, Refusal> {
        let (ever, taken) = match self.kind {
            _ if self.holds_processors(wanted) => {
                let taken = match (&self.pages, &self.partitions) {
                    (Some(pages), _) => pages.held(wanted.processors),
                    (None, Some(partitions)) => partitions
                        .size(wanted.processors)
                        .map_or(u64::MAX, u64::from),
                    (None, None) => wanted.processors.into(),
                };
                (taken <= self.grid().nodes().into(), taken)
            }
            _ if self.kind.holds() == Contiguity::Blocks => {
                (wanted.area() <= self.grid().nodes().into(), wanted.area())
            }
            StrategyKind::LShape => {
                let whole = NaiveMachine::new(self.grid().clone());
                let ever = shaped::l_shape(&whole, wanted).is_some();
                (ever, wanted.area())
            }
            _ => {
                let ever = self.candidates(wanted, &mut |_| true);
                (ever, product(&self.rounded(&wanted.extents)))
            }
        };
        let below = |&extent: &u32| (2..self.grid().sides()[0]).contains(&extent);
        if !ever {
            Err(Refusal::NeverFits)
        } else if self.kind == StrategyKind::Partner && wanted.extents.iter().any(below) {
            Err(Refusal::ExtentBelowSide)
        } else {
            Ok(taken)
        }
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

    /// The model of each strategy. A strategy without an arm of its own takes the first place of
    /// [`Strategy::candidates`].
    fn find(&self, wanted: &Wanted) -> Option<Held> {
        match self.kind {
            StrategyKind::Naive => {
                let nodes = self.machine.free_nodes().take(wanted.processors as usize);
                Some(Held::Nodes(nodes.collect()))
            }
            StrategyKind::MultipleBuddy => {
                let blocks = self.buddy.as_ref()?.place_multiple(wanted.processors)?;
                Some(Held::Boxes(blocks.into_iter().map(Place::from).collect()))
            }
            StrategyKind::LShape => {
                let parts = shaped::l_shape(&self.machine, wanted)?;
                Some(Held::Boxes(parts.into_iter().map(Place::from).collect()))
            }
            StrategyKind::Gabl | StrategyKind::PaldFf | StrategyKind::PaldBf => {
                let parts = split::place(&self.machine, self.kind, wanted)?;
                Some(Held::Boxes(parts.into_iter().map(Place::from).collect()))
            }
            StrategyKind::Neighbor => {
                let (nucleus, mut nodes) = shaped::neighbor(&self.machine, wanted)?;
                nodes.sort_unstable();
                Some(match nucleus {
                    Some(nucleus) => Held::Around(nucleus.into(), nodes),
                    None => Held::Nodes(nodes),
                })
            }
            StrategyKind::Random { .. } => {
                let mut generator = self.generator.borrow_mut();
                let nodes: Vec<u32> = self.machine.free_nodes().collect();
                let chosen = sample(generator.as_mut()?, &nodes, wanted.processors);
                Some(Held::Nodes(chosen))
            }
            StrategyKind::Paging { .. } => {
                let pages = self.pages.as_ref()?;
                let nodes = pages.first_free(&self.machine, wanted.processors)?;
                Some(Held::Nodes(nodes))
            }
            StrategyKind::GenAlg | StrategyKind::Mm | StrategyKind::Mc1x1 => {
                let nodes = nearest::place(&self.machine, self.kind, wanted.processors)?;
                Some(Held::Nodes(nodes))
            }
            StrategyKind::Partition | StrategyKind::WalltimeAware => {
                let partitions = self.partitions.as_ref()?;
                let place = partitions.place(&self.machine, wanted.processors)?;
                Some(Held::Box(place))
            }
            StrategyKind::Curve { fit, line }
                if line == CurveLine::Hilbert || self.grid().w_h().is_none() =>
            {
                let line = curve::hilbert_line(self.grid());
                let is_busy = |&node: &u32| self.machine.is_busy(node);
                let mut nodes = curve::place_on(&line, wanted.processors, fit, is_busy)?;
                nodes.sort_unstable();
                Some(Held::Nodes(nodes))
            }
            kind if counts_processors(kind) => {
                let (w, h) = self.grid().w_h()?;
                let busy = |x, y| self.machine.is_busy(y * w + x);
                let processors = wanted.processors;
                let places = match kind {
                    StrategyKind::ParallelLayout => parallel_layout(w, h, processors, busy),
                    StrategyKind::Curve { fit, .. } => curve::place(w, h, processors, fit, busy),
                    _ => {
                        let (choice, form) = binary_tree::form(kind)?;
                        Tree::new(w, h, busy).place(processors, choice, form)
                    }
                };
                let mut nodes: Vec<u32> = places?.into_iter().map(|(x, y)| y * w + x).collect();
                nodes.sort_unstable();
                Some(Held::Nodes(nodes))
            }
            StrategyKind::Buddy
            | StrategyKind::FreeSubmeshList
            | StrategyKind::FrameSliding
            | StrategyKind::BestFit
            | StrategyKind::BusyList
            | StrategyKind::LeastExpectedBlocking { .. }
            | StrategyKind::LebEstimates { .. } => {
                let place = match (&self.foresight, self.grid().w_h()) {
                    (Some(foresight), _) => foresight.place(&self.machine, wanted),
                    (None, Some(_)) if self.aligned.is_none() => {
                        self.find_submesh(wanted).map(Place::from)
                    }
                    (None, _) => self.find_box(wanted),
                };
                place.map(Held::Box)
            }
            _ => self.first_free(wanted).map(Held::Box),
        }
    }

    /// The first free place of [`Strategy::candidates`].
    fn first_free(&self, wanted: &Wanted) -> Option<Place> {
        let mut found = None;
        self.candidates(wanted, &mut |place| {
            let is_free = self.machine.is_free(place);
            found = is_free.then(|| place.clone());
            is_free
        });
        found
    }

    /// The place of a strategy that compares boxes by their surroundings, on any grid.
    fn find_box(&self, wanted: &Wanted) -> Option<Place> {
        let orders = self.shapes(wanted);
        let (machine, aligned) = (&self.machine, self.aligned.as_ref());
        let mut all = orders.iter();
        match self.kind {
            StrategyKind::BestFit => all.find_map(|order| machine.best_base(order, aligned)),
            StrategyKind::BusyList => all.find_map(|order| machine.best_boundary(order, aligned)),
            // As adaptive scan where no box of the list has room.
            _ => {
                let found = machine.free_submesh_list_place(&orders, aligned);
                found.or_else(|| self.first_free(wanted))
            }
        }
    }

    /// The place of a strategy that compares submeshes of a mesh by their surroundings.
    fn find_submesh(&self, wanted: &Wanted) -> Option<Rect> {
        let (a, b) = (wanted.extents[0] as i32, wanted.extents[1] as i32);
        let machine = &self.machine;
        match self.kind {
            StrategyKind::Buddy => self.buddy.as_ref()?.place(a, b),
            StrategyKind::FreeSubmeshList => {
                let list = self.dominant_free_submeshes();
                machine
                    .scan()
                    .free_submesh_list(list, a, b, wanted.may_rotate)
            }
            StrategyKind::FrameSliding => self.frame_sliding(a, b),
            StrategyKind::BestFit => {
                // The busy neighbours of the base node.
                let value = |s: Rect| machine.busy_beyond(Rect::new(0, 0, -1, -1), (s.x1, s.y1));
                best(&machine.scan(), a, b, value)
            }
            _ => {
                let scan = machine.scan();
                let mut shapes = self.shapes(wanted).into_iter();
                shapes.find_map(|shape| {
                    let (a, b) = (shape[0] as i32, shape[1] as i32);
                    best(&scan, a, b, |s| machine.boundary_value(s))
                })
            }
        }
    }

    /// From the first free node `<x0, y0>` on in strides of the request's sides; the first row of
    /// frames begins at `x0`, the later ones as far left as the strides allow.
    fn frame_sliding(&self, a: i32, b: i32) -> Option<Rect> {
        let whole = self.machine.whole();
        let scan = self.machine.scan();
        let first = scan.free(1, 1).next()?;
        let rows = (first.y1..whole.h()).step_by(b as usize);
        let mut frames = rows.flat_map(|y| {
            let from = if y == first.y1 {
                first.x1
            } else {
                first.x1 % a
            };
            let columns = (from..whole.w()).step_by(a as usize);
            columns.map(move |x| Rect::based_at(x, y, a, b))
        });
        frames.find(|&frame| scan.is_free(frame))
    }

    /// Offers every place that is tried to `accept`, in order, busy or not, up to the first that is
    /// accepted. Returns whether one is.
    pub fn candidates(&self, wanted: &Wanted, accept: &mut dyn FnMut(&Place) -> bool) -> bool {
        match self.kind {
            StrategyKind::TreeCollapsing
            | StrategyKind::TreeCollapsingPrinted
            | StrategyKind::FreeList
            | StrategyKind::Sniffing
            | StrategyKind::Partner => self.subnotations(wanted, accept),
            _ => {
                let mut shapes = self.shapes(wanted).into_iter();
                shapes.any(|shape| self.starts(shape, accept))
            }
        }
    }

    /// First fit: every start, by its number.
    fn starts(&self, extent: Vec<u32>, accept: &mut dyn FnMut(&Place) -> bool) -> bool {
        let grid = self.grid();
        let highest_first: Vec<usize> = (0..grid.dimensions()).rev().collect();
        let mut place = Place {
            start: vec![0; extent.len()],
            extent,
        };
        let is_allowed = |place: &Place| {
            let aligned = self.aligned.as_ref();
            aligned.is_none_or(|aligned| aligned.allows(place))
        };
        every_position(grid, &highest_first, &mut place, &mut |place| {
            grid.has(place) && is_allowed(place) && accept(place)
        })
    }

    /// The extents by dimension that a job of this request might hold, in the order in which they
    /// are looked for.
    fn shapes(&self, wanted: &Wanted) -> Vec<Vec<u32>> {
        let sides = self.grid().sides();
        let Some(named) = padded(&self.rounded(&wanted.extents), sides.len()) else {
            return Vec::new();
        };
        let (a, b) = (named[0], named.get(1).copied().unwrap_or(1));
        let mut shapes = vec![named.clone()];
        match self.kind {
            StrategyKind::Folding => shapes = pods::folded(&named, wanted.may_rotate),
            kind if !wanted.may_rotate || !turns(kind) => (),
            StrategyKind::FixedOrientation => {
                // The longer side along the mesh's longer side, along x when both are the same.
                shapes = vec![if sides[0] >= sides[1] {
                    vec![a.max(b), a.min(b)]
                } else {
                    vec![a.min(b), a.max(b)]
                }];
            }
            StrategyKind::FlexFold => {
                shapes.push(vec![b, a]);
                if a.is_multiple_of(2) {
                    shapes.push(vec![a / 2, 2 * b]);
                }
                if b.is_multiple_of(2) {
                    shapes.push(vec![2 * a, b / 2]);
                }
            }
            StrategyKind::AllShapes => {
                let pairs = (1..=sides[0]).flat_map(|x| (1..=sides[1]).map(move |y| vec![x, y]));
                let mut pairs: Vec<_> = pairs.filter(|pair| pair[0] * pair[1] == a * b).collect();
                // Most square first, wider first.
                pairs.sort_by_key(|pair| (pair[0].abs_diff(pair[1]), pair[1]));
                shapes.push(vec![b, a]);
                shapes.extend(pairs);
            }
            _ => shapes.extend(orders(&named).into_iter().filter(|order| *order != named)),
        }
        shapes.retain(|shape| shape.iter().zip(sides).all(|(extent, side)| extent <= side));
        shapes
    }

    /// The extents that are given to a request for these.
    fn rounded(&self, extents: &[u32]) -> Vec<u32> {
        let largest = extents.iter().copied().max().unwrap_or(1);
        let rounded = |&extent: &u32| match self.kind {
            StrategyKind::Buddy => largest.next_power_of_two(),
            StrategyKind::FreeList => extent.next_power_of_two(),
            StrategyKind::Sniffing if extent > 1 => largest,
            _ => extent,
        };
        extents.iter().map(rounded).collect()
    }

    /// The notations of algorithm G*, each with its orders of the extents, and each with its
    /// subnotations: start positions for the symbols `*`, then select digits for the symbols `□`,
    /// both in lexicographic order from the highest dimension down.
    fn subnotations(&self, wanted: &Wanted, accept: &mut dyn FnMut(&Place) -> bool) -> bool {
        let grid = self.grid();
        let mut extents = wanted.extents.clone();
        let is_laid_as_named = !wanted.may_rotate
            && grid.dimensions() == 2
            && !grid.is_cube()
            && !matches!(self.kind, StrategyKind::Sniffing | StrategyKind::Partner);
        if is_laid_as_named {
            extents.resize(2, 1);
        } else {
            extents.retain(|&extent| extent > 1);
        }
        // What is asked of a cube is read like an address; elsewhere x comes first.
        if !grid.is_cube() {
            extents.reverse();
        }
        let extents = self.rounded(&extents);
        if extents.len() > grid.dimensions() {
            return false;
        }
        let may_wrap = self.kind != StrategyKind::Sniffing;
        let orders = self.orders(&extents, wanted.may_rotate);
        self.notations(extents.len()).iter().any(|notation| {
            let (stars, selects) = dimensions_of(notation);
            orders.iter().any(|order| {
                let mut place = grid.unit(0);
                for (&d, &extent) in stars.iter().zip(order) {
                    place.extent[d] = extent;
                }
                every_position(grid, &stars, &mut place, &mut |place| {
                    let is_whole = |&d: &usize| place.start[d] + place.extent[d] <= grid.sides()[d];
                    grid.has(place)
                        && (may_wrap || stars.iter().all(is_whole))
                        && every_position(grid, &selects, place, &mut |place| accept(place))
                })
            })
        })
    }

    /// The orders in which the extents are laid along a notation: the one that is asked for, then
    /// the others around the circle of all of them.
    fn orders(&self, extents: &[u32], may_rotate: bool) -> Vec<Vec<u32>> {
        match self.kind {
            StrategyKind::TreeCollapsing | StrategyKind::FreeList if may_rotate => {
                let mut orders = orders(extents);
                let requested = orders.iter().position(|order| order == extents);
                orders.rotate_left(requested.expect("one of the orders"));
                orders
            }
            _ => vec![extents.to_vec()],
        }
    }

    /// The notations that are tried.
    fn notations(&self, m: usize) -> Vec<Notation> {
        let n = self.grid().dimensions();
        if self.kind != StrategyKind::Partner || m == 0 {
            return notations(n, m);
        }
        // The lowest m - 1 dimensions, and any one of the others.
        let with = |other: usize| {
            let symbols = (0..n).rev().map(|dimension| match dimension {
                _ if dimension < m - 1 || dimension == other => Symbol::DontCare,
                _ => Symbol::Select,
            });
            Notation(symbols.collect())
        };
        (m - 1..n).map(with).collect()
    }
}

/// The dimensions of the symbols `*` and those of the symbols `□`, the highest first.
fn dimensions_of(notation: &Notation) -> (Vec<usize>, Vec<usize>) {
    let dimensions = (0..notation.0.len()).rev().zip(&notation.0);
    let (stars, selects): (Vec<_>, Vec<_>) =
        dimensions.partition(|&(_, symbol)| *symbol == Symbol::DontCare);
    let numbers = |list: Vec<(usize, &Symbol)>| list.into_iter().map(|(d, _)| d).collect();
    (numbers(stars), numbers(selects))
}

/// Moves the place through all start positions in these dimensions, in lexicographic order, until
/// `accept`.
fn every_position(
    grid: &Grid,
    dimensions: &[usize],
    place: &mut Place,
    accept: &mut dyn FnMut(&mut Place) -> bool,
) -> bool {
    let Some((&d, others)) = dimensions.split_first() else {
        return accept(place);
    };
    (0..grid.sides()[d]).any(|at| {
        place.start[d] = at;
        every_position(grid, others, place, accept)
    })
}

/// Among all free `a x b` the first in row-major order with the highest value.
pub(crate) fn best(scan: &Scan, a: i32, b: i32, value: impl Fn(Rect) -> u32) -> Option<Rect> {
    let free: Vec<(u32, Rect)> = scan.free(a, b).map(|rect| (value(rect), rect)).collect();
    let highest = free.iter().map(|&(value, _)| value).max()?;
    let first = free.into_iter().find(|&(value, _)| value == highest)?;
    Some(first.1)
}
