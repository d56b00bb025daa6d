//! Which subcubes are found: against brute force and against the plain models, over all occupancies of small cubes
//! and random ones of larger cubes.

use std::collections::BTreeSet;

use meshalloc::{Refusal, StrategyKind};
use meshalloc_tests::plain::CubeStrategy;
use meshalloc_tests::plain::cube::{Digits, Part, PlainCube};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, cube, subcube};

use crate::{Probe, all_radices};

/// A place and its nodes.
type Known = (Part, Vec<u32>);

/// All that is known of the radices of a request before any occupancy is.
struct Wanted {
    radices: Digits,
    /// What the strategy tries, in its order.
    tried: Vec<Known>,
    /// All there is.
    all: Vec<Vec<u32>>,
}

/// What can be asked of a strategy on a cube; of partner, only radices k.
fn wanted(kind: StrategyKind, k: u16, n: u8) -> Vec<Wanted> {
    let model = CubeStrategy::new(kind, k, n.into());
    let cube = model.cube();
    let wanted = |radices: Digits| Wanted {
        tried: model
            .candidates(&radices, true)
            .map(|part| {
                let nodes = cube.nodes(&part);
                (part, nodes)
            })
            .collect(),
        all: node_sets(cube, &radices).into_iter().collect(),
        radices,
    };
    let served =
        |radices: &Digits| kind != StrategyKind::Partner || radices.iter().all(|&radix| radix == k);
    let radices = all_radices(k, n.into()).into_iter();
    radices.filter(served).map(wanted).collect()
}

/// The subcubes of such radices as sets of nodes, by brute force.
fn node_sets(cube: &PlainCube, radices: &[u16]) -> BTreeSet<Vec<u32>> {
    let parts = cube.parts_of(radices);
    parts.iter().map(|part| sorted(cube.nodes(part))).collect()
}

fn sorted(mut nodes: Vec<u32>) -> Vec<u32> {
    nodes.sort_unstable();
    nodes
}

/// What was found over some occupancies.
#[derive(Clone, Debug, Default)]
struct Found {
    granted: u64,
    /// Requests refused although brute force finds a place: the free nodes and the radices.
    missed: Vec<(Vec<u32>, Digits)>,
}

/// Asks for everything at one occupancy: exactly the first free subcube of the plain model is granted.
fn ask_everything(probe: &mut Probe<'_>, wanted: &[Wanted], found: &mut Found) {
    for Wanted {
        radices,
        tried,
        all,
    } in wanted
    {
        let cube = probe.model.cube();
        let is_free = |nodes: &[u32]| nodes.iter().all(|&node| !cube.is_busy(node));
        let expected = tried.iter().find(|(_, nodes)| is_free(nodes));
        let expected = expected.map(|(part, _)| part.clone());
        let exists = all.iter().any(|nodes| is_free(nodes));
        assert!(exists || expected.is_none(), "{radices:?} in\n{cube}");
        let (first, _) = tried.first().expect("something is tried");
        let too_few = first.size() > cube.free();
        let answer = probe.ask(&subcube(radices));
        let picture = probe.model.cube();
        match expected {
            Some(part) => {
                assert_eq!(answer, Ok(part), "{radices:?} in\n{picture}");
                found.granted += 1;
            }
            None => {
                let refusal = match too_few {
                    true => Refusal::TooFewFree,
                    false => Refusal::Fragmented,
                };
                assert_eq!(answer, Err(refusal), "{radices:?} in\n{picture}");
                if exists {
                    let free = (0..picture.len()).filter(|&node| !picture.is_busy(node));
                    found.missed.push((free.collect(), radices.clone()));
                }
            }
        }
    }
}

/// Every occupancy of a small cube, in the order of a Gray code: each is made from the one before by one fault or
/// repair.
fn over_all_occupancies(kind: StrategyKind, k: u16, n: u8) -> Found {
    let mut memory = HeapMemory::new(cube(k, n), 1);
    let mut probe = Probe::new(&mut memory, kind, k, n);
    let wanted = wanted(kind, k, n);
    let mut found = Found::default();
    for step in 0..1_u32 << probe.model.cube().len() {
        if step > 0 {
            let node = step.trailing_zeros();
            let busy = probe.model.cube().is_busy(node);
            probe.set(node, !busy);
        }
        ask_everything(&mut probe, &wanted, &mut found);
    }
    found
}

/// Random occupancies of every density, each with every request.
fn over_random_occupancies(kind: StrategyKind, k: u16, n: u8, rounds: u64) -> Found {
    let mut memory = HeapMemory::new(cube(k, n), 1);
    let mut probe = Probe::new(&mut memory, kind, k, n);
    let wanted = wanted(kind, k, n);
    let mut random = Random::new(u64::from(k) << 8 | u64::from(n));
    let mut found = Found::default();
    let nodes = probe.model.cube().len();
    for _ in 0..rounds {
        for busy in 0..=nodes {
            for node in 0..nodes {
                let is_busy = random.below(nodes) < busy;
                probe.set(node, is_busy);
            }
            ask_everything(&mut probe, &wanted, &mut found);
        }
    }
    found
}

fn assert_complete(found: &Found) {
    assert!(found.granted > 500, "{} granted", found.granted);
    assert_eq!(found.missed, [], "complete");
}

#[test]
fn tree_collapsing_is_brute_force_on_every_occupancy_of_a_3_ary_2_cube() {
    // 512 occupancies, 1 + 2 + 4 requests.
    assert_complete(&over_all_occupancies(StrategyKind::TreeCollapsing, 3, 2));
}

#[test]
fn tree_collapsing_is_brute_force_on_every_occupancy_of_other_small_cubes() {
    for (k, n) in [(2, 3), (2, 4), (12, 1), (4, 2)] {
        assert_complete(&over_all_occupancies(StrategyKind::TreeCollapsing, k, n));
    }
}

#[test]
fn tree_collapsing_is_brute_force_on_random_occupancies_of_a_4_ary_3_cube() {
    // A processor, and 3 + 9 + 27 requests with their orders of radices.
    assert_eq!(all_radices(4, 3).len(), 1 + 39);
    assert_complete(&over_random_occupancies(
        StrategyKind::TreeCollapsing,
        4,
        3,
        12,
    ));
}

/// All m from 0 to 6.
#[test]
fn tree_collapsing_is_brute_force_on_random_occupancies_of_a_hypercube() {
    let radices = all_radices(2, 6);
    assert!(radices.iter().map(Vec::len).eq(0..=6));
    assert_complete(&over_random_occupancies(
        StrategyKind::TreeCollapsing,
        2,
        6,
        30,
    ));
}

/// The other strategies grant exactly what their plain models say, and nothing that is busy, and what their docs say
/// of recognition holds: on these cubes they miss something.
#[test]
fn the_other_strategies_are_their_plain_models_and_incomplete() {
    let kinds = CubeStrategy::KINDS.into_iter();
    for kind in kinds.filter(|&kind| kind != StrategyKind::TreeCollapsing) {
        assert!(!kind.info().complete);
        // Free list serves only powers of two.
        let k = if kind == StrategyKind::FreeList { 4 } else { 3 };
        for found in [
            over_all_occupancies(kind, k, 2),
            over_random_occupancies(kind, 4, 3, 4),
        ] {
            assert!(found.granted > 100, "{kind}: {} granted", found.granted);
        }
    }
}

/// The least that a strategy misses on a cube of which every occupancy is tried: free processors and radices.
fn least_missed(kind: StrategyKind, k: u16, n: u8) -> Option<(Vec<u32>, Digits)> {
    let missed = over_all_occupancies(kind, k, n).missed.into_iter();
    missed.min_by_key(|(free, radices)| (free.len(), free.clone(), radices.clone()))
}

/// On a hypercube there is one radix, and nothing to round or to order: all but partner are complete.
#[test]
fn on_a_hypercube_only_partner_is_incomplete() {
    for kind in CubeStrategy::KINDS {
        let found = over_all_occupancies(kind, 2, 3);
        let expected = kind != StrategyKind::Partner;
        assert_eq!(
            found.missed.is_empty(),
            expected,
            "{kind}: {:?}",
            found.missed.first()
        );
    }
}

/// Of the 1 + 39 requests on a 4-ary 3-cube, those for which the printed form does not try every subcube.
#[test]
fn the_printed_form_does_not_try_all_subcubes_of_30_of_39_requests() {
    let misses = |kind| {
        let model = CubeStrategy::new(kind, 4, 3);
        let cube = model.cube();
        let radices = all_radices(4, 3);
        let misses = |radices: &&Digits| {
            let tried = model.candidates(radices, true);
            let tried: BTreeSet<_> = tried.map(|part| sorted(cube.nodes(&part))).collect();
            let all = node_sets(cube, radices);
            assert!(tried.is_subset(&all), "{radices:?}");
            tried != all
        };
        radices.iter().filter(misses).count()
    };
    assert_eq!(misses(StrategyKind::TreeCollapsing), 0);
    assert_eq!(misses(StrategyKind::TreeCollapsingPrinted), 30);
}

/// The cubes with the fewest processors first; of all that the printed form misses there, what has the fewest free
/// processors, then the first of these lists of processors, then of radices.
#[test]
fn the_smallest_counter_example_of_the_printed_form() {
    let kind = StrategyKind::TreeCollapsingPrinted;
    // All cubes of up to 9 processors but the last.
    let smaller = [
        (2, 1),
        (3, 1),
        (2, 2),
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 1),
        (2, 3),
        (9, 1),
    ];
    for (k, n) in smaller {
        assert_eq!(least_missed(kind, k, n), None, "{k}-ary {n}-cube");
    }
    // 00, 01, 02, 10, 11 and 12 are free: three along dimension 0 and two along dimension 1, not the other way round.
    let expected = (vec![0, 1, 2, 3, 4, 5], vec![3, 2]);
    assert_eq!(least_missed(kind, 3, 2), Some(expected));
}

/// What the others say of themselves: no cube with fewer processors has an example.
#[test]
fn the_smallest_counter_examples_of_the_others() {
    for (kind, smaller, (k, n), missed) in [
        // A radix of 3 is rounded up to 4.
        (
            StrategyKind::FreeList,
            [(2, 1), (2, 2)].as_slice(),
            (4, 1),
            (vec![0, 1, 2], vec![3]),
        ),
        // The only place wraps around.
        (
            StrategyKind::Sniffing,
            &[(2, 1)],
            (3, 1),
            (vec![0, 2], vec![2]),
        ),
        // **0, of which neither dimension is the lowest.
        (
            StrategyKind::Partner,
            &[
                (2, 1),
                (3, 1),
                (2, 2),
                (4, 1),
                (5, 1),
                (6, 1),
                (7, 1),
                (8, 1),
            ],
            (2, 3),
            (vec![0, 2, 4, 6], vec![2, 2]),
        ),
    ] {
        for &(k, n) in smaller {
            assert_eq!(least_missed(kind, k, n), None, "{kind}, {k}-ary {n}-cube");
        }
        assert_eq!(least_missed(kind, k, n), Some(missed), "{kind}");
    }
}
