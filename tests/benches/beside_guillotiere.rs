//! meshalloc beside `guillotiere`, a widely used allocator of rectangles: the same operations, in
//! one run.
//!
//! ```text
//! cargo bench -p meshalloc-tests --bench beside_guillotiere
//! ```
//!
//! A 64 x 64 mesh, sides uniform on 1..=16, and two levels of the nodes on offer: 50 % and 88 %;
//! for first fit a mesh of 128 x 128, whose rows have two words, sides on 1..=32, and for first
//! fit, adaptive scan and the free submesh list one of 1024 x 1024, sides on 1..=40, with 88 %.
//! Below the level the next operation offers a new rectangle, at or above it a random one of those
//! on offer is released. The operations are generated beforehand and do not depend on what an
//! allocator answers; releasing what was refused costs an allocator nothing. Rounds of the
//! allocators take turns, so that noise of the machine hits all alike; times are CPU times of the
//! thread, and a result is the median over the rounds.
//!
//! LEB looks ahead with E = 64; with 88 % some 50 rectangles are on offer.
//!
//! The exit code is 1 if one has fewer operations per second, in those of guillotiere, than
//! `Contender::ratio_min` says, or if one refuses a rectangle for which a hole of that orientation
//! is free.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use cpu_time::ThreadTime;
use guillotiere::{AllocId, AtlasAllocator, size2};
use meshalloc::{
    Allocation, Allocator, Change, Controller, Flags, JobId, Request, StrategyKind, Submesh,
};
use meshalloc_tests::bench;
use meshalloc_tests::grid::NaiveMachine;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, configuration, mesh, submesh};
use meshalloc_tests::submesh::Rect;

const OPERATIONS: usize = 20_000;
const SEED: u64 = 1995;

/// One operation; the slot names a rectangle while it is on offer.
#[derive(Clone, Copy)]
enum Operation {
    Allocate { slot: u32, w: u16, h: u16 },
    Release { slot: u32 },
}

/// A mesh with its side lengths and level.
#[derive(Clone, Copy)]
struct Setting {
    side: u16,
    side_requested_max: u32,
    percent: u32,
    rounds: usize,
    contenders: &'static [Contender],
}

const LOADS: [Setting; 4] = [
    Setting {
        side: 64,
        side_requested_max: 16,
        percent: 50,
        rounds: 41,
        contenders: &Contender::ALL,
    },
    Setting {
        side: 64,
        side_requested_max: 16,
        percent: 88,
        rounds: 41,
        contenders: &Contender::ALL,
    },
    Setting {
        side: 128,
        side_requested_max: 32,
        percent: 88,
        rounds: 41,
        contenders: &[
            Contender::Guillotiere,
            Contender::Strategy(StrategyKind::FirstFit),
        ],
    },
    Setting {
        side: 1024,
        side_requested_max: 40,
        percent: 88,
        rounds: 9,
        contenders: &[
            Contender::Guillotiere,
            Contender::Strategy(StrategyKind::FirstFit),
            Contender::Strategy(StrategyKind::AdaptiveScan),
            Contender::Strategy(StrategyKind::FreeSubmeshList),
        ],
    },
];

/// The operations of one level: those that fill up to it, and those that are measured.
struct Scenario {
    side: u16,
    warm_up: Vec<Operation>,
    measured: Vec<Operation>,
    slots: usize,
}

impl Scenario {
    fn new(setting: Setting) -> Self {
        let mut random = Random::new(SEED);
        let nodes = u32::from(setting.side) * u32::from(setting.side);
        let level = nodes * setting.percent / 100;
        let mut on_offer: Vec<(u32, u32)> = Vec::new();
        let mut unused: Vec<u32> = Vec::new();
        let (mut slots, mut nodes) = (0, 0);
        let mut next = || {
            if nodes < level {
                let (w, h) = (
                    random.between(1, setting.side_requested_max),
                    random.between(1, setting.side_requested_max),
                );
                let slot = unused.pop().unwrap_or_else(|| {
                    slots += 1;
                    slots - 1
                });
                on_offer.push((slot, w * h));
                nodes += w * h;
                Operation::Allocate {
                    slot,
                    w: w as u16,
                    h: h as u16,
                }
            } else {
                let at = random.below(on_offer.len() as u32) as usize;
                let (slot, area) = on_offer.swap_remove(at);
                nodes -= area;
                unused.push(slot);
                Operation::Release { slot }
            }
        };
        let mut warm_up = vec![next()];
        while matches!(warm_up.last(), Some(Operation::Allocate { .. })) {
            warm_up.push(next());
        }
        let measured = (0..OPERATIONS).map(|_| next()).collect();
        Scenario {
            side: setting.side,
            warm_up,
            measured,
            slots: slots as usize,
        }
    }
}

/// An allocator under test.
trait Placer {
    /// Where the rectangle lies, if there is room.
    fn allocate(&mut self, slot: u32, w: u16, h: u16) -> Option<Rect>;
    /// Releases the rectangle of the slot.
    fn release(&mut self, slot: u32);
}

struct Guillotiere {
    atlas: AtlasAllocator,
    ids: Vec<Option<AllocId>>,
}

impl Placer for Guillotiere {
    #[inline]
    fn allocate(&mut self, slot: u32, w: u16, h: u16) -> Option<Rect> {
        let allocation = self.atlas.allocate(size2(i32::from(w), i32::from(h)))?;
        self.ids[slot as usize] = Some(allocation.id);
        let (low, high) = (allocation.rectangle.min, allocation.rectangle.max);
        // Alignment 1: what is allocated is what was asked for.
        Some(Rect::new(low.x, low.y, high.x - 1, high.y - 1))
    }

    #[inline]
    fn release(&mut self, slot: u32) {
        if let Some(id) = self.ids[slot as usize].take() {
            self.atlas.deallocate(id);
        }
    }
}

#[inline]
fn rect(submesh: Submesh) -> Rect {
    let (base, sides) = (submesh.base, submesh.sides);
    Rect::based_at(base.x.into(), base.y.into(), sides.w.into(), sides.h.into())
}

struct Meshalloc<'m> {
    allocator: Allocator<'m>,
    held: Vec<Option<Allocation>>,
}

impl Placer for Meshalloc<'_> {
    #[inline]
    fn allocate(&mut self, slot: u32, w: u16, h: u16) -> Option<Rect> {
        let allocation = self.allocator.allocate(&Request::submesh(w, h)).ok()?;
        let block = self.allocator.blocks(&allocation).unwrap().next();
        self.held[slot as usize] = Some(allocation);
        block.map(|block| rect(submesh(block)))
    }

    #[inline]
    fn release(&mut self, slot: u32) {
        if let Some(allocation) = self.held[slot as usize].take() {
            black_box(self.allocator.release(allocation).unwrap());
        }
    }
}

/// The same behind a controller: jobs have names, a queue that stays empty, and statistics.
struct Served<'m> {
    controller: Controller<'m>,
    granted: Vec<bool>,
}

impl Placer for Served<'_> {
    #[inline]
    fn allocate(&mut self, slot: u32, w: u16, h: u16) -> Option<Rect> {
        let request = Request::submesh(w, h).with_flags(Flags::NO_WAIT);
        let job = JobId(slot);
        let outcome = self.controller.handle(&Change::submit(job, request), 0);
        let view = self.controller.view();
        let place = outcome.ok().and_then(|_| view.blocks(job).next());
        let place = place.map(submesh);
        self.granted[slot as usize] = place.is_some();
        place.map(rect)
    }

    #[inline]
    fn release(&mut self, slot: u32) {
        if std::mem::take(&mut self.granted[slot as usize]) {
            let release = Change::Release { job: JobId(slot) };
            let outcome = self.controller.handle(&release, 0);
            let _ = black_box(outcome);
        }
    }
}

/// The allocators that are compared.
#[derive(Clone, Copy, PartialEq)]
enum Contender {
    Guillotiere,
    Strategy(StrategyKind),
    /// First fit behind a controller.
    Served,
}

impl Contender {
    const ALL: [Contender; 8] = [
        Contender::Guillotiere,
        Contender::Strategy(StrategyKind::FirstFit),
        Contender::Served,
        Contender::Strategy(StrategyKind::AdaptiveScan),
        Contender::Strategy(StrategyKind::BestFit),
        Contender::Strategy(StrategyKind::BusyList),
        Contender::Strategy(StrategyKind::FreeSubmeshList),
        Contender::Strategy(StrategyKind::LeastExpectedBlocking { budget: 64 }),
    ];

    fn name(self) -> &'static str {
        match self {
            Contender::Guillotiere => "guillotiere",
            Contender::Strategy(kind) => kind.name(),
            Contender::Served => "first-fit, served",
        }
    }

    /// The least number of operations per second that is expected, in those of guillotiere. On a
    /// shared host the ratios vary by a fifth.
    fn ratio_min(self, setting: Setting) -> Option<f64> {
        // Half full, and at 88 %.
        let by_level = |half, most| match setting.percent {
            50 => Some(half),
            _ => Some(most),
        };
        match self {
            Contender::Strategy(StrategyKind::FirstFit) if setting.side == 1024 => Some(0.55),
            Contender::Strategy(StrategyKind::AdaptiveScan) if setting.side == 1024 => Some(0.5),
            Contender::Strategy(StrategyKind::FirstFit) if setting.side == 128 => Some(0.68),
            Contender::Strategy(StrategyKind::FirstFit) => by_level(1.08, 1.0),
            Contender::Served => by_level(0.7, 0.73),
            Contender::Strategy(StrategyKind::AdaptiveScan) => by_level(1.02, 0.87),
            Contender::Strategy(StrategyKind::BestFit) => by_level(0.21, 0.22),
            Contender::Strategy(StrategyKind::BusyList) => by_level(0.11, 0.125),
            Contender::Strategy(StrategyKind::FreeSubmeshList) if setting.side == 1024 => {
                Some(0.15)
            }
            Contender::Strategy(StrategyKind::FreeSubmeshList) => by_level(0.11, 0.115),
            Contender::Strategy(StrategyKind::LeastExpectedBlocking { .. }) => Some(0.011),
            _ => None,
        }
    }

    /// Runs `body` with a fresh allocator.
    fn with<T>(self, side: u16, slots: usize, body: impl FnOnce(&mut dyn Drive) -> T) -> T {
        match self {
            Contender::Guillotiere => body(&mut Guillotiere {
                atlas: AtlasAllocator::new(size2(i32::from(side), i32::from(side))),
                ids: vec![None; slots],
            }),
            Contender::Strategy(kind) => {
                let mesh = mesh(side, side);
                let mut memory = HeapMemory::new(mesh, slots);
                let allocator = Allocator::new(memory.allocator_memory(), mesh.into(), kind)
                    .expect("memory for the mesh");
                body(&mut Meshalloc {
                    allocator,
                    held: (0..slots).map(|_| None).collect(),
                })
            }
            Contender::Served => {
                let mesh = mesh(side, side);
                let mut memory = HeapMemory::new(mesh, slots);
                let kind = StrategyKind::FirstFit;
                let controller = Controller::new(memory.memory(), configuration(mesh, kind))
                    .expect("memory for the mesh");
                body(&mut Served {
                    controller,
                    granted: vec![false; slots],
                })
            }
        }
    }
}

/// A loop over an allocator. It is compiled for each kind, so that no operation chooses between
/// kinds.
trait Drive {
    fn run(&mut self, operations: &[Operation]);
    fn audit(&mut self, scenario: &Scenario) -> Audit;
}

impl<P: Placer> Drive for P {
    fn run(&mut self, operations: &[Operation]) {
        run(self, operations);
    }

    fn audit(&mut self, scenario: &Scenario) -> Audit {
        audit(self, scenario)
    }
}

fn run(allocator: &mut impl Placer, operations: &[Operation]) {
    for &operation in operations {
        match operation {
            Operation::Allocate { slot, w, h } => {
                black_box(allocator.allocate(slot, w, h));
            }
            Operation::Release { slot } => allocator.release(slot),
        }
    }
}

/// The refusals among the measured operations.
#[derive(Default)]
struct Audit {
    offered: u32,
    refused: u32,
    /// Refused although a free hole of these sides, not turned, existed.
    refused_in_vain: u32,
}

/// The same operations once more, outside the timing, beside a plain bitmap.
fn audit(allocator: &mut impl Placer, scenario: &Scenario) -> Audit {
    let mut picture = NaiveMachine::mesh(scenario.side, scenario.side);
    let mut held: Vec<Option<Rect>> = vec![None; scenario.slots];
    let mut audit = Audit::default();
    let operations = scenario.warm_up.iter().chain(&scenario.measured);
    for (at, &operation) in operations.enumerate() {
        let measured = at >= scenario.warm_up.len();
        match operation {
            Operation::Allocate { slot, w, h } => {
                audit.offered += u32::from(measured);
                let place = allocator.allocate(slot, w, h);
                match place {
                    Some(place) => {
                        assert!(picture.is_free(&place.into()), "{place} is given twice");
                        picture.fill(place, true);
                    }
                    None if measured => {
                        audit.refused += 1;
                        let hole = picture.scan().free(w.into(), h.into()).next();
                        audit.refused_in_vain += u32::from(hole.is_some());
                    }
                    None => {}
                }
                held[slot as usize] = place;
            }
            Operation::Release { slot } => {
                allocator.release(slot);
                if let Some(place) = held[slot as usize].take() {
                    picture.fill(place, false);
                }
            }
        }
    }
    audit
}

fn median(mut rounds: Vec<Duration>) -> Duration {
    rounds.sort_unstable();
    rounds[rounds.len() / 2]
}

/// Measures and prints one level. Returns the failures.
fn measure(setting: Setting) -> Vec<String> {
    let Setting {
        side,
        side_requested_max,
        percent,
        rounds: count,
        contenders,
        ..
    } = setting;
    let scenario = Scenario::new(setting);
    let mut rounds: Vec<Vec<Duration>> = contenders.iter().map(|_| Vec::new()).collect();
    for _ in 0..count {
        for (contender, rounds) in contenders.iter().zip(&mut rounds) {
            rounds.push(contender.with(side, scenario.slots, |driver| {
                driver.run(&scenario.warm_up);
                let start = ThreadTime::now();
                driver.run(&scenario.measured);
                start.elapsed()
            }));
        }
    }

    let title = format!(
        "{side} x {side}, sides 1..={side_requested_max}, {percent} % of the nodes on offer"
    );
    println!("\n{title}, {OPERATIONS} operations, median of {count} rounds");
    println!(
        "{:<22} {:>12} {:>8} {:>14} {:>14} {:>16}",
        "allocator", "operations/s", "ns each", "x guillotiere", "refused", "hole was there"
    );
    let mut wrong = Vec::new();
    let mut reference = None;
    for (contender, rounds) in contenders.iter().zip(rounds) {
        let seconds = median(rounds).as_secs_f64();
        let ratio = *reference.get_or_insert(seconds) / seconds;
        let audit = contender.with(side, scenario.slots, |driver| driver.audit(&scenario));
        println!(
            "{:<22} {:>12.0} {:>8.1} {:>14.3} {:>6} {:>6.2}% {:>16}",
            contender.name(),
            OPERATIONS as f64 / seconds,
            seconds * 1e9 / OPERATIONS as f64,
            ratio,
            audit.refused,
            f64::from(audit.refused) * 100.0 / f64::from(audit.offered),
            audit.refused_in_vain,
        );
        if *contender != Contender::Guillotiere && audit.refused_in_vain > 0 {
            wrong.push(format!(
                "{} refused {} times although a hole was free, at {percent} % on offer",
                contender.name(),
                audit.refused_in_vain
            ));
        }
        if let Some(least) = contender.ratio_min(setting).filter(|&least| ratio < least) {
            wrong.push(format!(
                "{} has {ratio:.2} times the operations per second of guillotiere on {side} x {side} at {percent} % on offer, expected at least {least}",
                contender.name()
            ));
        }
    }
    wrong
}

fn main() -> ExitCode {
    bench::main([], |_| LOADS.into_iter().flat_map(measure).collect())
}
