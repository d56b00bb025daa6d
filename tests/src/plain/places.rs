//! Where each contiguous strategy places a request on a mesh.

use std::fmt;

use meshalloc::{Block, Machine, Refusal, Request, StrategyKind};

use super::buddy::BuddySystem;
use super::system::Places;
use crate::oracle::{NaiveMesh, Rect, Scan};

/// A contiguous strategy with all that it must know: which nodes are busy, and for the buddy system its
/// lists of free blocks.
#[derive(Clone, Debug)]
pub struct Strategy {
    kind: StrategyKind,
    busy: NaiveMesh,
    buddy: Option<BuddySystem>,
}

impl Strategy {
    /// The strategies that are known here: all for meshes whose allocation is one submesh.
    pub const KINDS: [StrategyKind; 10] = [
        StrategyKind::Buddy,
        StrategyKind::FrameSliding,
        StrategyKind::FirstFit,
        StrategyKind::BestFit,
        StrategyKind::AdaptiveScan,
        StrategyKind::BusyList,
        StrategyKind::FreeSubmeshList,
        StrategyKind::FixedOrientation,
        StrategyKind::FlexFold,
        StrategyKind::AllShapes,
    ];

    /// The strategy on a mesh whose nodes are all free.
    ///
    /// # Panics
    ///
    /// When it is not one of [`Strategy::KINDS`], or does not serve the mesh.
    pub fn new(kind: StrategyKind, w: i32, h: i32) -> Self {
        assert!(Strategy::KINDS.contains(&kind), "no plain model of {kind}");
        let buddy = (kind == StrategyKind::Buddy).then(|| {
            assert_eq!(w, h, "the buddy system serves only square meshes");
            BuddySystem::new(w)
        });
        Strategy {
            kind,
            busy: NaiveMesh::new(w, h),
            buddy,
        }
    }

    /// Which nodes are busy.
    pub const fn busy(&self) -> &NaiveMesh {
        &self.busy
    }

    /// The submesh has been allocated, or the single node has become faulty.
    pub fn take(&mut self, block: Rect) {
        assert!(self.busy.is_free(block), "{block} is taken twice");
        self.busy.fill(block, true);
        if let Some(buddy) = &mut self.buddy {
            buddy.take(block);
        }
    }

    /// The submesh has been released, or the single node works again; nodes that are faulty stay busy.
    pub fn give_back(&mut self, block: Rect, is_faulty: impl Fn(i32, i32) -> bool) {
        for (x, y) in block.nodes() {
            assert!(self.busy.is_busy(x, y), "<{x}, {y}> is given back twice");
            self.busy.set(x, y, is_faulty(x, y));
        }
        if let Some(buddy) = &mut self.buddy {
            buddy.give_back_all_but(block, &is_faulty);
        }
    }

    /// The submeshes that a job of this request might hold, in the order in which they are looked for.
    fn shapes(&self, request: &Request) -> Vec<(i32, i32)> {
        let sides = request.sides().expect("a request for a mesh has sides");
        let (a, b) = (i32::from(sides.w), i32::from(sides.h));
        let (w, h) = (self.busy.w(), self.busy.h());
        let may_rotate = request.may_rotate();
        let mut shapes = match self.kind {
            StrategyKind::Buddy => {
                let side = BuddySystem::block_side(a, b);
                vec![(side, side)]
            }
            StrategyKind::FrameSliding | StrategyKind::FirstFit | StrategyKind::BestFit => {
                vec![(a, b)]
            }
            StrategyKind::FixedOrientation if may_rotate => {
                // The longer side along the mesh's longer side, along x when both are the same.
                let (longer, shorter) = (a.max(b), a.min(b));
                match w >= h {
                    true => vec![(longer, shorter)],
                    false => vec![(shorter, longer)],
                }
            }
            StrategyKind::FlexFold if may_rotate => {
                let mut shapes = vec![(a, b), (b, a)];
                if a % 2 == 0 {
                    shapes.push((a / 2, 2 * b));
                }
                if b % 2 == 0 {
                    shapes.push((2 * a, b / 2));
                }
                shapes
            }
            StrategyKind::AllShapes if may_rotate => {
                let n = a * b;
                let mut pairs: Vec<_> = (1..=w)
                    .flat_map(|x| (1..=h).map(move |y| (x, y)))
                    .filter(|&(x, y)| x * y == n)
                    .collect();
                // Most square first, wider first.
                pairs.sort_by_key(|&(x, y)| ((x - y).abs(), y));
                let mut shapes = vec![(a, b), (b, a)];
                shapes.extend(pairs);
                shapes
            }
            _ if may_rotate => vec![(a, b), (b, a)],
            _ => vec![(a, b)],
        };
        shapes.retain(|&(x, y)| x <= w && y <= h);
        shapes
    }

    /// What the strategy must answer to a request that no other job waits before.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn place(&self, request: &Request) -> Result<Rect, Refusal> {
        let &held = self.validate(request)?.first().expect("at least one shape");
        let place = self.place_now(request);
        place.ok_or(match held.0 * held.1 > self.busy.free() {
            true => Refusal::TooFewFree,
            false => Refusal::Fragmented,
        })
    }

    /// The shapes in which the request could be granted if all nodes were free.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn validate(&self, request: &Request) -> Result<Vec<(i32, i32)>, Refusal> {
        let Some(sides) = request.sides() else {
            return Err(Refusal::Malformed);
        };
        if sides.w == 0 || sides.h == 0 || request.processors == 0 {
            return Err(Refusal::EmptyRequest);
        }
        if request.processors > u32::from(sides.w) * u32::from(sides.h) {
            return Err(Refusal::Malformed);
        }
        let shapes = self.shapes(request);
        match shapes.is_empty() {
            true => Err(Refusal::NeverFits),
            false => Ok(shapes),
        }
    }

    fn place_now(&self, request: &Request) -> Option<Rect> {
        let sides = request.sides()?;
        let (a, b) = (i32::from(sides.w), i32::from(sides.h));
        if let Some(buddy) = &self.buddy {
            return buddy.place(a, b);
        }
        let scan = self.busy.scan();
        let shapes = self.shapes(request);
        let mut shapes = shapes.into_iter();
        match self.kind {
            StrategyKind::FreeSubmeshList => {
                let list = scan.dominant_free_submeshes();
                scan.free_submesh_list(&list, a, b, request.may_rotate())
            }
            StrategyKind::FrameSliding => frame_sliding(&self.busy, &scan, a, b),
            StrategyKind::BestFit => {
                best(&self.busy, &scan, a, b, |base| neighbours(&self.busy, base))
            }
            StrategyKind::BusyList => shapes
                .find_map(|(a, b)| best(&self.busy, &scan, a, b, |s| self.busy.boundary_value(s))),
            // All others are first fit for one shape after another.
            _ => shapes.find_map(|(a, b)| scan.first_fit(a, b)),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.busy.fmt(f)
    }
}

impl Places for Strategy {
    type Place = Rect;

    fn of(kind: StrategyKind, machine: Machine) -> Self {
        let Machine::Mesh(mesh) = machine else {
            unreachable!("{kind} does not serve a {machine}");
        };
        Strategy::new(kind, mesh.sides().w.into(), mesh.sides().h.into())
    }

    fn said(block: Block) -> Option<Rect> {
        match block {
            Block::Submesh(submesh) => Some(submesh.into()),
            _ => None,
        }
    }

    fn area(request: &Request) -> u32 {
        let sides = request.sides().expect("a request for a mesh has sides");
        u32::from(sides.w) * u32::from(sides.h)
    }

    fn nodes(&self) -> u32 {
        self.busy.whole().size() as u32
    }

    fn is_busy(&self, node: u32) -> bool {
        let unit = self.unit(node);
        self.busy.is_busy(unit.x1, unit.y1)
    }

    fn members(&self, place: &Rect) -> Vec<u32> {
        let w = self.busy.w();
        place.nodes().map(|(x, y)| (y * w + x) as u32).collect()
    }

    fn unit(&self, node: u32) -> Rect {
        let (w, node) = (self.busy.w(), node as i32);
        Rect::based_at(node % w, node / w, 1, 1)
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        self.validate(request).map(|_| ())
    }

    fn place(&self, request: &Request) -> Result<Rect, Refusal> {
        Strategy::place(self, request)
    }

    fn take(&mut self, place: &Rect) {
        Strategy::take(self, *place);
    }

    fn give_back(&mut self, place: &Rect, is_faulty: &dyn Fn(u32) -> bool) {
        let w = self.busy.w();
        Strategy::give_back(self, *place, |x, y| is_faulty((y * w + x) as u32));
    }
}

/// From the first free node `<x0, y0>` on in strides of the request's sides; the first row of frames
/// begins at `x0`, the later ones as far left as the strides allow.
fn frame_sliding(mesh: &NaiveMesh, scan: &Scan<'_>, a: i32, b: i32) -> Option<Rect> {
    let mut nodes = mesh.whole().nodes();
    let (x0, y0) = nodes.find(|&(x, y)| !mesh.is_busy(x, y))?;
    let mut frames = Vec::new();
    let mut y = y0;
    while y < mesh.h() {
        let mut x = if y == y0 { x0 } else { x0 % a };
        while x < mesh.w() {
            frames.push(Rect::based_at(x, y, a, b));
            x += a;
        }
        y += b;
    }
    frames.into_iter().find(|&frame| scan.is_free(frame))
}

/// Among all free `a x b` the first in row-major order with the highest value.
fn best(
    mesh: &NaiveMesh,
    scan: &Scan<'_>,
    a: i32,
    b: i32,
    value: impl Fn(Rect) -> i32,
) -> Option<Rect> {
    let bases = mesh.whole().nodes();
    let free: Vec<(i32, Rect)> = bases
        .map(|(x, y)| Rect::based_at(x, y, a, b))
        .filter(|&rect| scan.is_free(rect))
        .map(|rect| (value(rect), rect))
        .collect();
    let highest = free.iter().map(|&(value, _)| value).max()?;
    let first = free.into_iter().find(|&(value, _)| value == highest)?;
    Some(first.1)
}

/// The busy neighbours of the base node, in four directions; outside the mesh is busy.
fn neighbours(mesh: &NaiveMesh, s: Rect) -> i32 {
    let (x, y) = (s.x1, s.y1);
    let around = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
    around.iter().filter(|&&(x, y)| mesh.is_busy(x, y)).count() as i32
}
