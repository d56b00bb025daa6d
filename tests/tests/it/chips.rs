//! Requests for a number of processors, and the largest slice, on small machines: every number,
//! with every flag, under every strategy, against all boxes of the machine.

use std::fmt::Arguments;

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Allocator, Block, Contiguity, Description as Described, Flags, Grid as Machine, NodeId,
    Refusal, Request, Shape, StrategyKind,
};
use meshalloc_tests::convert;
use meshalloc_tests::exhaustive;
use meshalloc_tests::grid::{Grid, Place, lists, orders};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::cube;
use meshalloc_tests::strategy::keeps_sides;

/// The random states of each machine under each strategy.
const STATES: u32 = exhaustive(12, 3);

/// All boxes of a grid: their sides, and a bit for each of their nodes.
fn boxes(grid: &Grid) -> Vec<(Vec<u32>, u64)> {
    let mut boxes = Vec::new();
    for sides in lists(grid.sides()) {
        for start in (0..grid.nodes()).map(|node| grid.position(node)) {
            let extent = sides.clone();
            let place = Place { start, extent };
            if grid.has(&place) {
                boxes.push((sides.clone(), mask(&grid.nodes_of(&place))));
            }
        }
    }
    boxes
}

fn mask(nodes: &[u32]) -> u64 {
    nodes.iter().fold(0, |mask, node| mask | 1 << node)
}

/// Whether a slice may have these sides by dimension, by the rules of a description.
fn is_legal(machine: Option<&Described>, sides: &[u32]) -> bool {
    let Some(machine) = machine else {
        return true;
    };
    let mut given = vec![sides.to_vec()];
    if machine.rotates() {
        given = orders(sides);
    }
    given.iter().any(|sides| {
        let is_listed = machine.shapes().iter().any(|shape| {
            let mut extents: Vec<u32> = shape.extents().iter().map(|&e| e.into()).collect();
            extents.resize(sides.len(), 1);
            extents == *sides
        });
        let is_multiple = machine.multiple().is_some_and(|multiple| {
            // An order in which it is one must also lie within the machine.
            let mut all = sides.iter().zip(multiple).zip(machine.grid().sides());
            all.all(|((side, &of), &most)| side.is_multiple_of(of.into()) && *side <= most.into())
        });
        let has_rules = !machine.shapes().is_empty() || machine.multiple().is_some();
        is_listed || is_multiple || !has_rules
    })
}

/// Whether the strategy takes any free box of a number of processors.
fn takes_any_box(kind: StrategyKind) -> bool {
    let finds_all = matches!(kind, StrategyKind::FirstFit | StrategyKind::BestFit);
    kind.holds() == Contiguity::OneBlock && (finds_all || kind.info().complete)
}

/// Compares every number of processors in one state.
fn compare(
    allocator: &mut Allocator<'_>,
    kind: StrategyKind,
    machine: Option<&Described>,
    grid: &Grid,
    boxes: &[(Vec<u32>, u64)],
) {
    let nodes = grid.nodes();
    let busy = (0..nodes).filter(|&node| allocator.occupancy().is_busy(NodeId(node)));
    let busy = mask(&busy.collect::<Vec<_>>());
    let is_large = grid.dimensions() > 4;
    let counts = kind.holds() == Contiguity::Processors && kind != StrategyKind::Neighbor;
    let closes = |sides: &[u32]| {
        let spans = |at: usize| grid.wraps()[at] && sides[at] == grid.sides()[at];
        (0..sides.len()).all(|at| sides[at] <= 2 || spans(at))
    };
    let mut largest = 0;
    for chips in 1..=nodes + 1 {
        let of_chips = |boxes: &[(Vec<u32>, u64)], rings: bool| {
            let mut boxes = boxes.iter();
            boxes.any(|(sides, nodes)| {
                let is_it = sides.iter().product::<u32>() == chips && nodes & busy == 0;
                is_it && is_legal(machine, sides) && (!rings || closes(sides))
            })
        };
        for flags in [
            Flags::empty(),
            Flags::FIXED_ORIENTATION,
            Flags::NO_WAIT,
            Flags::RINGS,
            Flags::RINGS | Flags::FIXED_ORIENTATION,
        ] {
            let request = Request::chips(chips).with_flags(Flags::CHIPS | flags);
            let rings = flags.contains(Flags::RINGS);
            let context = format_args!("{kind} on {grid}, {machine:?}, busy {busy:b}: {request:?}");
            let granted = allocator.allocate(&request);
            // What the strategy says to each shape that has a name.
            let any_shape = |allocator: &mut Allocator<'_>| {
                lists(grid.sides()).iter().any(|sides| {
                    let extents: Vec<u16> = sides.iter().map(|&side| side as u16).collect();
                    let shape = Shape::new(&extents).expect("a box");
                    let named = Request::new(shape).with_flags(flags);
                    shape.area() == chips && allocator.fits(&named)
                })
            };
            let expected = match kind.holds() {
                _ if counts && rings => Some(false),
                _ if counts && kind.info().complete => Some(chips <= nodes - busy.count_ones()),
                _ if counts => None,
                _ if is_large => Some(false),
                // Some give other sides than those that they are asked for.
                _ if takes_any_box(kind) && (keeps_sides(kind) || !rings && machine.is_none()) => {
                    Some(of_chips(boxes, rings))
                }
                _ => {
                    if let Ok(granted) = granted {
                        check(allocator, &granted, kind, grid, busy, chips, context);
                        allocator.release(granted).expect("it is held");
                        assert!(any_shape(allocator), "{context}");
                        if flags.is_empty() {
                            largest = chips;
                        }
                    } else {
                        assert!(!any_shape(allocator), "{context}");
                    }
                    continue;
                }
            };
            let is_granted = granted.is_ok();
            match granted {
                Ok(granted) => {
                    check(allocator, &granted, kind, grid, busy, chips, context);
                    let blocks = allocator.blocks(&granted).expect("it is held");
                    let model = convert::machine(grid);
                    let places = blocks.map(|block| convert::place(model, block).extent);
                    let sides: Vec<_> = places.collect();
                    if keeps_sides(kind) {
                        assert!(is_legal(machine, &sides[0]), "{context}: {sides:?}");
                        assert!(!rings || closes(&sides[0]), "{context}: {sides:?}");
                    }
                    allocator.release(granted).expect("it is held");
                }
                Err(refusal) if refusal.is_temporary() => {}
                // It never fits, not even with all processors free.
                Err(refusal) => {
                    let all_free = boxes.iter().map(|(sides, _)| (sides.clone(), 0));
                    let all_free: Vec<_> = all_free.collect();
                    let ever = if counts {
                        chips <= nodes && !rings
                    } else {
                        !is_large && of_chips(&all_free, rings)
                    };
                    assert!(!ever, "{context}: {refusal}");
                }
            }
            if let Some(expected) = expected {
                assert_eq!(is_granted, expected, "{context}");
            }
            if flags.is_empty() && is_granted {
                largest = chips;
            }
        }
    }
    let report = allocator.largest();
    let context = format_args!("{kind} on {grid}, {machine:?}, busy {busy:b}: {report:?}");
    // Where the number alone counts, that of a slice may be one that has no legal shape.
    if counts && machine.is_some() {
        return;
    }
    if takes_any_box(kind) || counts && kind.info().complete {
        assert_eq!(report.processors, largest, "{context}");
    }
    // It could be placed, and nothing that is larger.
    let fits = |allocator: &mut Allocator<'_>, chips| allocator.fits(&Request::chips(chips));
    assert!(
        report.processors == 0 || fits(allocator, report.processors),
        "{context}"
    );
    for chips in report.processors + 1..=nodes {
        assert!(!fits(allocator, chips), "{context}, {chips}");
    }
}

/// The blocks of a grant were free, and are disjoint. They have as many processors as were asked
/// for, or more if the strategy rounds sides up.
fn check(
    allocator: &Allocator<'_>,
    granted: &meshalloc::Allocation,
    kind: StrategyKind,
    grid: &Grid,
    busy: u64,
    chips: u32,
    context: Arguments<'_>,
) {
    let blocks: Vec<Block> = allocator.blocks(granted).expect("it is held").collect();
    let machine = convert::machine(grid);
    let mut held = busy;
    for &block in &blocks {
        let nodes = mask(&grid.nodes_of(&convert::place(machine, block)));
        assert_eq!(held & nodes, 0, "{context}: {blocks:?}");
        held |= nodes;
    }
    let is_whole = blocks.len() == 1 || kind.holds() != Contiguity::OneBlock;
    assert!(is_whole, "{context}: {blocks:?}");
    let count = (held & !busy).count_ones();
    let rounds = matches!(
        kind,
        StrategyKind::Buddy
            | StrategyKind::FreeList
            | StrategyKind::Sniffing
            | StrategyKind::Partition
            | StrategyKind::WalltimeAware
    );
    assert!(
        count == chips || rounds && count > chips,
        "{context}: {count}"
    );
    allocator.check_invariants();
}

fn machine_of(sides: &[u16], wraps: u16) -> Machine {
    Machine::new(sides, wraps).expect("a grid")
}

/// Every strategy that serves the machine, in some states.
fn check_machine(machine: Machine, described: Option<&Described>) {
    let grid = convert::grid(machine);
    let boxes = boxes(&grid);
    let mut random = Random::new(machine.nodes().into());
    for kind in StrategyKind::built() {
        let serves = match described {
            Some(described) => kind.serves_described(described),
            None => kind.serves().includes(&machine),
        };
        if !serves || matches!(kind, StrategyKind::Cubes { .. } | StrategyKind::Torus3d) {
            continue;
        }
        let needs = match described {
            Some(described) => Needs::described(kind, described, 4),
            None => Needs::of(kind, &machine, 4),
        };
        let mut storage = HeapStorage::new(needs, 0);
        for _ in 0..STATES {
            let memory = storage.allocator_memory();
            let memory = match described {
                Some(described) => memory.describing(described),
                None => memory,
            };
            let mut allocator = Allocator::new(memory, machine, kind).expect("it is served");
            let busy = random.below(machine.nodes());
            for _ in 0..busy / 2 {
                let node = NodeId(random.below(machine.nodes()));
                allocator.mark_faulty(machine.unit(node).expect("a processor"));
            }
            compare(&mut allocator, kind, described, &grid, &boxes);
        }
    }
}

#[test]
fn a_number_of_processors_is_given_if_a_box_of_it_is_free() {
    for (sides, wraps) in [
        (&[7_u16][..], 0),
        (&[7], 1),
        (&[8, 4], 0),
        (&[4, 8], 0),
        (&[4, 4], 0),
        (&[5, 3], 0),
        (&[3, 6], 0b11),
        (&[4, 3], 0b10),
        (&[4, 3, 2], 0),
        (&[2, 3, 3], 0b101),
        (&[3, 2, 2, 2], 0b1111),
        (&[2, 1, 4, 3], 0b0100),
        (&[2, 2, 2, 2, 2], 0),
    ] {
        check_machine(machine_of(sides, wraps), None);
    }
    for (k, n) in [(3, 2), (4, 2), (2, 4), (3, 3)] {
        check_machine(cube(k, n).grid(), None);
    }
}

/// The same by the rules of descriptions.
#[test]
fn a_number_of_processors_is_given_by_the_rules_of_a_description() {
    for (sides, wraps, shapes, multiple) in [
        (&[8_u16, 4][..], 0, &[][..], None),
        (
            &[4, 8],
            0,
            &[&[1_u16, 1][..], &[1, 2], &[4, 1], &[2, 6]][..],
            None,
        ),
        (&[6, 4], 0b11, &[&[1, 1]], Some(&[3_u16, 2][..])),
        (&[3, 4, 2], 0b001, &[], Some(&[1, 2, 1])),
    ] {
        let machine = machine_of(sides, wraps);
        let shapes: Vec<Shape> = shapes
            .iter()
            .map(|extents| Shape::new(extents).expect("a shape"))
            .collect();
        let mut described = Described::new(machine)
            .and_then(|it| it.with_shapes(&shapes))
            .expect("a description");
        if let Some(multiple) = multiple {
            described = described.with_multiple(multiple).expect("as many sides");
        }
        for rotate in [true, false] {
            check_machine(machine, Some(&described.with_rotation(rotate)));
        }
    }
}

/// On a machine of the largest size the number of all its processors is given, and none above it.
#[test]
fn a_number_above_that_of_the_machine_is_refused() {
    let machine = Machine::torus(&[32, 32, 32, 32]).expect("a torus");
    let mut storage = HeapStorage::new(Needs::of(StrategyKind::FirstFit, &machine, 2), 0);
    let memory = storage.allocator_memory();
    let allocator = Allocator::new(memory, machine, StrategyKind::FirstFit);
    let allocator = allocator.expect("it is served");
    for chips in [(1 << 20) + 1, 3_491_888_400, u32::MAX] {
        let demand = allocator.demand(&Request::chips(chips));
        assert_eq!(demand, Err(Refusal::NotLegal), "{chips}");
    }
    assert_eq!(allocator.demand(&Request::chips(1 << 20)), Ok(1 << 20));
    // 28 x 28 x 30 x 30.
    assert_eq!(allocator.demand(&Request::chips(705_600)), Ok(705_600));
}
