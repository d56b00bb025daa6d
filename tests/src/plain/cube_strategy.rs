//! Where each strategy for cubes places a request: all that it would try, one subcube after the other.

use std::fmt;

use meshalloc::{Block, Flags, Machine, Refusal, Request, StrategyKind};

use super::cube::{Digits, Part, PlainCube, all_digits, all_orders};
use super::notation::{Notation, Symbol, notations};
use super::system::Places;

/// A strategy on a cube.
#[derive(Clone, Debug)]
pub struct CubeStrategy {
    kind: StrategyKind,
    cube: PlainCube,
}

impl CubeStrategy {
    /// The strategies that are known here: all for cubes.
    pub const KINDS: [StrategyKind; 5] = [
        StrategyKind::TreeCollapsing,
        StrategyKind::TreeCollapsingPrinted,
        StrategyKind::FreeList,
        StrategyKind::Sniffing,
        StrategyKind::Partner,
    ];

    /// The strategy on a k-ary n-cube whose nodes are all free.
    ///
    /// # Panics
    ///
    /// When it is not one of [`CubeStrategy::KINDS`].
    pub fn new(kind: StrategyKind, k: u16, n: usize) -> Self {
        assert!(
            CubeStrategy::KINDS.contains(&kind),
            "no plain model of {kind}"
        );
        CubeStrategy {
            kind,
            cube: PlainCube::new(k, n),
        }
    }

    /// Which nodes are busy.
    pub const fn cube(&self) -> &PlainCube {
        &self.cube
    }

    /// Makes a node busy or free.
    pub fn set(&mut self, node: u32, busy: bool) {
        self.cube.set(node, busy);
    }

    /// The radices of the subcube that the request is given.
    fn held(&self, requested: &[u16]) -> Digits {
        let largest = requested.iter().copied().max().unwrap_or(1);
        let power_of_two = |radix: u16| {
            let mut power = 1;
            while power < radix {
                power *= 2;
            }
            power
        };
        let held = |&radix: &u16| match self.kind {
            StrategyKind::FreeList => power_of_two(radix),
            StrategyKind::Sniffing => largest,
            _ => radix,
        };
        requested.iter().map(held).collect()
    }

    /// The orders in which the radices are laid along a notation.
    fn orders(&self, radices: &[u16], may_reorder: bool) -> Vec<Digits> {
        let all = match self.kind {
            StrategyKind::TreeCollapsing | StrategyKind::FreeList => may_reorder,
            _ => false,
        };
        if !all {
            return vec![radices.to_vec()];
        }
        // Around the circle of all of them, from the requested one on.
        let mut orders = all_orders(radices);
        let requested = orders.iter().position(|order| order == radices);
        orders.rotate_left(requested.expect("one of the orders"));
        orders
    }

    /// The notations that are tried.
    fn notations(&self, m: usize) -> Vec<Notation> {
        let n = self.cube.n();
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

    /// All subcubes that are tried for radices that are within bounds, in order.
    pub fn candidates(
        &self,
        radices: &[u16],
        may_reorder: bool,
    ) -> impl Iterator<Item = Part> + '_ {
        let (k, n, m) = (self.cube.k(), self.cube.n(), radices.len());
        let held = self.held(radices);
        let orders = self.orders(&held, may_reorder);
        let starts = all_digits(k, m);
        let selects = all_digits(k, n - m);
        let wraps = self.kind != StrategyKind::Sniffing;
        let subnotations = self.notations(m).into_iter().flat_map(move |notation| {
            let named = orders.clone().into_iter().flat_map({
                let starts = starts.clone();
                move |order| starts.clone().into_iter().map(move |s| (s, order.clone()))
            });
            named.map(move |(start, order)| (notation.clone(), start, order))
        });
        let allowed = subnotations.filter(move |(_, start, order)| {
            let mut ends = start.iter().zip(order).map(|(start, radix)| start + radix);
            wraps || ends.all(|end| end <= k)
        });
        allowed.flat_map(move |(notation, start, order)| {
            let named = |select: &Digits| Part::named(&notation, &start, &order, select);
            selects.iter().map(named).collect::<Vec<Part>>()
        })
    }
}

impl fmt::Display for CubeStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cube.fmt(f)
    }
}

/// The radices of a request for a subcube.
fn radices(request: &Request) -> Option<Digits> {
    request.radices().map(|radices| radices.digits().to_vec())
}

fn product(radices: &[u16]) -> u64 {
    let factors = radices.iter().map(|&radix| u64::from(radix));
    factors.fold(1, u64::saturating_mul)
}

impl Places for CubeStrategy {
    type Place = Part;

    fn of(kind: StrategyKind, machine: Machine) -> Self {
        let Machine::Cube(cube) = machine else {
            unreachable!("{kind} does not serve a {machine}");
        };
        CubeStrategy::new(kind, cube.k(), cube.n().into())
    }

    fn said(block: Block) -> Option<Part> {
        match block {
            Block::Subcube(subcube) => Some(Part {
                start: subcube.start().to_vec(),
                extents: subcube.extents().to_vec(),
            }),
            _ => None,
        }
    }

    fn area(request: &Request) -> u32 {
        product(&radices(request).expect("a request for a cube has radices")) as u32
    }

    fn nodes(&self) -> u32 {
        self.cube.len()
    }

    fn is_busy(&self, node: u32) -> bool {
        self.cube.is_busy(node)
    }

    fn members(&self, place: &Part) -> Vec<u32> {
        self.cube.nodes(place)
    }

    fn unit(&self, node: u32) -> Part {
        Part {
            start: self.cube.address(node),
            extents: vec![1; self.cube.n()],
        }
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let Some(radices) = radices(request) else {
            return Err(Refusal::Malformed);
        };
        let k = self.cube.k();
        let below = self.kind == StrategyKind::Partner && radices.iter().any(|&radix| radix < k);
        // The first that applies.
        let refusals = [
            (
                product(&radices) > u64::from(self.cube.len()),
                Refusal::NeverFits,
            ),
            (radices.len() > self.cube.n(), Refusal::DimensionAboveN),
            (radices.iter().any(|&radix| radix > k), Refusal::RadixAboveK),
            (request.processors == 0, Refusal::EmptyRequest),
            (
                u64::from(request.processors) > product(&radices),
                Refusal::Malformed,
            ),
            (below, Refusal::RadixBelowK),
        ];
        let mut refusals = refusals.into_iter().filter(|&(applies, _)| applies);
        refusals.next().map_or(Ok(()), |(_, refusal)| Err(refusal))
    }

    fn place(&self, request: &Request) -> Result<Part, Refusal> {
        self.check(request)?;
        let radices = radices(request).unwrap_or_default();
        if product(&self.held(&radices)) > u64::from(self.cube.free()) {
            return Err(Refusal::TooFewFree);
        }
        let may_reorder = !request.flags.contains(Flags::FIXED_ORIENTATION);
        let mut candidates = self.candidates(&radices, may_reorder);
        let found = candidates.find(|part| self.cube.is_free(part));
        found.ok_or(Refusal::Fragmented)
    }

    fn take(&mut self, place: &Part) {
        for node in self.cube.nodes(place) {
            assert!(!self.cube.is_busy(node), "{node} is taken twice");
            self.cube.set(node, true);
        }
    }

    fn give_back(&mut self, place: &Part, is_faulty: &dyn Fn(u32) -> bool) {
        for node in self.cube.nodes(place) {
            assert!(self.cube.is_busy(node), "{node} is given back twice");
            self.cube.set(node, is_faulty(node));
        }
    }
}
