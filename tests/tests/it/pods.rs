//! Machines with descriptions: slices in cubes, folding, fixed placements, rings.

mod aligned;
mod cubes;
mod folding;
mod largest;
mod placements;
mod presets;
mod reasons;
mod replace;
#[cfg(feature = "host-sim")]
mod smallest_sets;

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{Allocator, Block, Description as Described, Flags, Request, Slice, StrategyKind};
use meshalloc_tests::grid::{Grid, Place};
use meshalloc_tests::pods::Form;
use meshalloc_tests::random::Random;
use meshalloc_tests::{convert, exhaustive};

const CUBES: StrategyKind = StrategyKind::Cubes { fold: false };
const FOLD: StrategyKind = StrategyKind::Cubes { fold: true };

/// How many random states are compared.
const STATES: u32 = exhaustive(2000, 600);

/// An allocator on a described machine, in memory of its own.
fn with<T>(
    machine: &Described,
    strategy: StrategyKind,
    use_it: impl FnOnce(&mut Allocator<'_>) -> T,
) -> T {
    let needs = Needs::described(strategy, machine, 4096);
    let mut storage = HeapStorage::new(needs, 0);
    let mut seed = 1;
    storage.overwrite(|| {
        seed = u64::wrapping_mul(seed, 0x5851_f42d_4c95_7f2d) + 1;
        seed
    });
    let memory = storage.allocator_memory().describing(machine);
    let mut allocator = Allocator::new(memory, *machine.grid(), strategy).expect("it is served");
    use_it(&mut allocator)
}

fn shape(extents: &[u32]) -> Request {
    convert::request(extents)
}

fn nodes_of(grid: &Grid, blocks: &[Block]) -> Vec<u32> {
    let machine = convert::machine(grid);
    let places = blocks.iter().map(|&block| convert::place(machine, block));
    places.flat_map(|place| grid.nodes_of(&place)).collect()
}

/// Whether two processors of a machine of cubes are joined along a dimension: neighbours in a cube,
/// or the last of any cube and the first of any other, or of the same.
fn are_joined(grid: &Grid, cube: &[u32], from: u32, to: u32, along: usize) -> bool {
    let (from, to) = (grid.position(from), grid.position(to));
    (0..cube.len()).all(|at| {
        let (a, b) = (from[at] % cube[at], to[at] % cube[at]);
        let is_same_cube = (0..cube.len()).all(|at| from[at] / cube[at] == to[at] / cube[at]);
        if at != along {
            a == b
        } else if b == a + 1 {
            is_same_cube
        } else {
            a == cube[at] - 1 && b == 0
        }
    })
}

/// Checks every link of a slice, its rings, and the order of its ranks.
fn check_slice(
    slice: &Slice,
    grid: &Grid,
    cube: Option<&[u32]>,
    request: &Request,
    blocks: &[Block],
) {
    let sides: Vec<u32> = slice.sides().iter().map(|&side| side.into()).collect();
    let n = sides.len();
    let text = format!("{request:?} {sides:?}");
    let node = |at: &[u32]| {
        let at: Vec<u16> = at.iter().map(|&at| at as u16).collect();
        let node = slice.processor(&at, blocks.iter().copied());
        node.unwrap_or_else(|| panic!("{text}: no processor at {at:?}"))
            .0
    };
    let joined = |from: u32, to: u32, along: usize| match cube {
        Some(cube) => are_joined(grid, cube, from, to, along),
        None => {
            let (from, to) = (grid.position(from), grid.position(to));
            let side = grid.sides()[along];
            let next = from[along] + 1;
            (0..n).all(|at| at == along || from[at] == to[at])
                && (next == to[along] || grid.wraps()[along] && next == side && to[along] == 0)
        }
    };
    let place = Place {
        start: vec![0; n],
        extent: sides.clone(),
    };
    let inner = Grid::mesh(&sides);
    let all = inner.nodes_of(&place);
    let mut nodes: Vec<u32> = all.iter().map(|&at| node(&inner.position(at))).collect();
    for &at in &all {
        let at = inner.position(at);
        for along in 0..n {
            let mut next = at.clone();
            next[along] += 1;
            if next[along] < sides[along] {
                assert!(
                    joined(node(&at), node(&next), along),
                    "{text}: {at:?} {along}"
                );
            } else if slice.has_ring(along) && sides[along] > 2 {
                next[along] = 0;
                assert!(
                    joined(node(&at), node(&next), along),
                    "{text}: {at:?} ring {along}"
                );
            }
        }
    }
    nodes.sort_unstable();
    let mut held = nodes_of(grid, blocks);
    held.sort_unstable();
    assert_eq!(nodes, held, "{text}");
    // Ranks that follow each other are neighbours within the slice, whose links were checked.
    let extents = slice.shape().extents();
    if let Some(folded) = slice.folded() {
        let ranks: Vec<[u16; 4]> = slice.ranks().expect("it is folded").collect();
        assert_eq!(ranks.len(), usize::from(extents[folded]), "{text}");
        let is_step = |one: &[u16; 4], other: &[u16; 4]| {
            let steps = one.iter().zip(other).map(|(a, b)| a.abs_diff(*b));
            steps.sum::<u16>() == 1
        };
        assert!(
            ranks.windows(2).all(|pair| is_step(&pair[0], &pair[1])),
            "{text}"
        );
        let closes = is_step(&ranks[0], &ranks[ranks.len() - 1]);
        assert_eq!(closes, slice.has_ring_along(folded), "{text}");
        assert!(
            ranks
                .iter()
                .all(|at| (0..n).all(|d| u32::from(at[d]) < sides[d])),
            "{text}"
        );
    }
    // The demanded rings exist.
    let flags = [Flags::RING_0, Flags::RING_1, Flags::RING_2, Flags::RING_3];
    for (extent, flag) in flags.into_iter().enumerate().take(extents.len()) {
        let is_demanded = request.flags.intersects(flag | Flags::RINGS) && extents[extent] > 1;
        assert!(
            !is_demanded || slice.has_ring_along(extent),
            "{text}: ring {extent}"
        );
    }
}

/// A request for random sides.
fn random_request(random: &mut Random, n: usize, longest: u32) -> Request {
    let extents: Vec<u32> = (0..1 + random.below(n as u32))
        .map(|_| match random.below(3) {
            0 => 1,
            _ => 1 + random.below(longest),
        })
        .collect();
    let mut flags = Flags::empty();
    if random.below(6) == 0 {
        flags |= Flags::FIXED_ORIENTATION;
    }
    if random.below(5) == 0 {
        let rings = [Flags::RINGS, Flags::RING_0, Flags::RING_1];
        flags |= rings[random.below(3) as usize];
    }
    shape(&extents).with_flags(flags)
}

/// The extents of a request in every dimension, and which of them must have a ring.
fn named(request: &Request, n: usize) -> (Vec<u32>, Vec<bool>) {
    let extents = request.shape.extents();
    let flags = [Flags::RING_0, Flags::RING_1, Flags::RING_2, Flags::RING_3];
    let of = |at: usize| extents.get(at).map_or(1, |&extent| u32::from(extent));
    let demanded = |at: usize| {
        let flag = flags[at] | Flags::RINGS;
        at < extents.len() && request.flags.intersects(flag) && of(at) > 2
    };
    ((0..n).map(of).collect(), (0..n).map(demanded).collect())
}

/// Whether the sides of a form in this order have the rings that are demanded: by trying every way
/// to lay the extents that are not folded.
fn has_rings(
    may_rotate: bool,
    cube: &[u32],
    named: &[u32],
    demanded: &[bool],
    form: &Form,
    sides: &[u32],
) -> bool {
    if form
        .folded
        .is_some_and(|at| demanded[at] && !named[at].is_multiple_of(2))
    {
        return false;
    }
    let wanted: Vec<usize> = (0..named.len())
        .filter(|&at| demanded[at] && form.folded != Some(at))
        .collect();
    let places: Vec<u32> = (0..sides.len() as u32).collect();
    let orders = if may_rotate {
        meshalloc_tests::grid::orders(&places)
    } else {
        vec![places]
    };
    orders.iter().any(|order| {
        wanted.iter().all(|&at| {
            let along = order[at] as usize;
            sides[along] == named[at] && sides[along].is_multiple_of(cube[along])
        })
    })
}
