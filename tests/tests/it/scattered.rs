//! Properties of `random` and `paging` that the comparison with naive forms does not show.

use meshalloc::{Allocator, NodeId, PageOrder, Refusal, Request, StrategyKind, Submesh};
use meshalloc::{Change, Controller};
use meshalloc_tests::convert;
use meshalloc_tests::grid::Grid;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, ask, configuration, mesh, release, set_faulty, submit};
use meshalloc_tests::scattered::Pages;

const RANDOM: StrategyKind = StrategyKind::Random { seed: 42 };

/// The processors of each grant of a run of allocations and releases.
fn grants(strategy: StrategyKind, rounds: u32) -> Vec<Vec<u32>> {
    let machine = mesh(12, 9).grid();
    let mut memory = HeapMemory::new(machine, 200);
    let mut controller =
        Controller::new(memory.memory(), configuration(machine, strategy)).unwrap();
    let mut random = Random::new(3);
    let mut all = Vec::new();
    for job in 0..rounds {
        let request = Request::submesh(random.between(1, 6) as u16, random.between(1, 5) as u16);
        let answer = submit(&mut controller, job, request);
        for granted in answer.grants {
            let held = |node: &u32| {
                let mut blocks = granted.blocks.iter();
                blocks.any(|&block| machine.holds(block, NodeId(*node)))
            };
            all.push((0..machine.nodes()).filter(held).collect());
        }
        if job >= 3 {
            release(&mut controller, job - 3);
        }
    }
    all
}

#[test]
fn the_same_seed_gives_the_same_decisions_and_another_seed_others() {
    let first = grants(RANDOM, 60);
    assert!(first.len() > 50);
    assert_eq!(first, grants(RANDOM, 60));
    assert_ne!(first, grants(StrategyKind::Random { seed: 43 }, 60));
}

#[test]
fn a_reset_begins_the_random_numbers_anew() {
    let machine = mesh(8, 8).grid();
    let mut memory = HeapMemory::new(machine, 4);
    let mut controller = Controller::new(memory.memory(), configuration(machine, RANDOM)).unwrap();
    let first = submit(&mut controller, 1, Request::submesh(3, 3)).grants;
    let second = submit(&mut controller, 2, Request::submesh(3, 3)).grants;
    assert_ne!(first[0].blocks, second[0].blocks);
    ask(&mut controller, &Change::Reset);
    assert_eq!(
        submit(&mut controller, 1, Request::submesh(3, 3)).grants,
        first
    );
}

/// A failed attempt draws no random number: the next placement is the same as without it.
#[test]
fn an_attempt_that_fails_leaves_the_generator_as_it_was() {
    let machine = mesh(8, 8).into();
    let allocator = |memory: &mut HeapMemory, fail: Option<Request>, refusal| {
        let mut allocator = Allocator::new(memory.allocator_memory(), machine, RANDOM).unwrap();
        let one = allocator.allocate(&Request::submesh(2, 1)).unwrap();
        if let Some(request) = fail {
            assert_eq!(allocator.allocate(&request).unwrap_err(), refusal);
        }
        let two = allocator.allocate(&Request::submesh(3, 1)).unwrap();
        let blocks: Vec<_> = allocator.blocks(&two).unwrap().collect();
        allocator.release(one).unwrap();
        allocator.release(two).unwrap();
        blocks
    };
    let mut memory = HeapMemory::for_strategy(mesh(8, 8), RANDOM, 64);
    let undisturbed = allocator(&mut memory, None, Refusal::TooFewFree);
    for (request, refusal) in [
        (Request::submesh(8, 8), Refusal::TooFewFree),
        (Request::submesh(9, 8), Refusal::NeverFits),
        (
            Request::submesh(2, 2).with_processors(5),
            Refusal::Malformed,
        ),
    ] {
        let blocks = allocator(&mut memory, Some(request), refusal);
        assert_eq!(blocks, undisturbed, "{refusal:?}");
    }
}

/// Pearson's statistic of how often each free processor is chosen, and each pair of them, stays
/// below its 99.9 % quantile.
#[test]
fn every_free_processor_and_every_pair_is_as_likely() {
    const ROUNDS: u32 = 20_000;
    let machine = mesh(5, 3).grid();
    let mut memory = HeapMemory::new(machine, 1);
    let mut controller = Controller::new(memory.memory(), configuration(machine, RANDOM)).unwrap();
    let faulty = [0, 6, 7, 13, 14];
    for node in faulty {
        set_faulty(&mut controller, node, true);
    }
    let free: Vec<u32> = (0..15).filter(|node| !faulty.contains(node)).collect();
    let mut single = [0_u32; 10];
    let mut pairs = [[0_u32; 10]; 10];
    for _ in 0..ROUNDS {
        let answer = submit(&mut controller, 1, Request::submesh(4, 1));
        let blocks = &answer.grants[0].blocks;
        let held = |node: u32| {
            blocks
                .iter()
                .any(|&block| machine.holds(block, NodeId(node)))
        };
        let chosen: Vec<usize> = (0..10).filter(|&at| held(free[at])).collect();
        assert_eq!(chosen.len(), 4);
        for (place, &at) in chosen.iter().enumerate() {
            single[at] += 1;
            for &other in &chosen[place + 1..] {
                pairs[at][other] += 1;
            }
        }
        release(&mut controller, 1);
    }
    let statistic = |counts: &[u32], expected: f64| -> f64 {
        let deviation = |&count: &u32| (f64::from(count) - expected).powi(2) / expected;
        counts.iter().map(deviation).sum()
    };
    // Draws without replacement: the statistic of single processors is 2/3 of one with 9 degrees of
    // freedom; that of pairs is 2.25 of one with 9 and .536 of one with 35, with mean 39 and
    // standard deviation 10.6.
    let rounds = f64::from(ROUNDS);
    let single = statistic(&single, rounds * 4.0 / 10.0) * 1.5;
    assert!(single < 27.9, "statistic of single processors: {single}");
    let pairs: Vec<u32> = (0..10)
        .flat_map(|at| pairs[at][at + 1..].to_vec())
        .collect();
    assert_eq!(pairs.len(), 45);
    let pairs = statistic(&pairs, rounds * 12.0 / 90.0);
    assert!(pairs < 39.0 + 4.0 * 10.6, "statistic of pairs: {pairs}");
}

#[test]
fn row_major_pages_of_one_processor_hold_what_naive_holds() {
    let pages = StrategyKind::Paging {
        order: PageOrder::RowMajor,
        exponent: 0,
    };
    let held = grants(pages, 80);
    assert!(held.len() > 60);
    assert_eq!(held, grants(StrategyKind::Naive, 80));
}

/// In the snake each page touches the one before, on any grid.
#[test]
fn the_snake_moves_one_page_at_a_time() {
    for (grid, exponent) in [
        (Grid::mesh(&[4, 3]), 0),
        (Grid::mesh(&[4, 8]), 1),
        (Grid::mesh(&[3, 2, 4]), 0),
        (Grid::torus(&[2, 3, 2, 5]), 0),
    ] {
        let machine = convert::machine(&grid);
        let strategy = StrategyKind::Paging {
            order: PageOrder::Snake,
            exponent,
        };
        let mut memory = HeapMemory::new(machine, 200);
        let mut controller =
            Controller::new(memory.memory(), configuration(machine, strategy)).unwrap();
        let pages = Pages::new(&grid, PageOrder::Snake, exponent);
        let mut before: Option<Vec<u16>> = None;
        // One page after the other.
        for job in 0..pages.count() {
            let answer = submit(&mut controller, job, Request::submesh(1, 1));
            let start = machine.start(answer.grants[0].blocks[0]);
            if let Some(before) = before.replace(start.to_vec()) {
                let steps = before.iter().zip(&*start).map(|(a, b)| a.abs_diff(*b));
                assert_eq!(steps.sum::<u16>(), 1 << exponent, "{grid}, {job}");
            }
        }
    }
}

#[test]
fn a_faulty_processor_takes_its_page_away() {
    let machine = mesh(4, 4).grid();
    let mut memory = HeapMemory::new(machine, 4);
    let strategy = "paging:row-major=1".parse().unwrap();
    let mut controller =
        Controller::new(memory.memory(), configuration(machine, strategy)).unwrap();
    set_faulty(&mut controller, 5, true);
    let answer = submit(
        &mut controller,
        1,
        Request::submesh(5, 1).with_processors(5),
    );
    assert_eq!(
        answer.grants[0].blocks,
        [
            Submesh::new(2, 0, 2, 2).into(),
            Submesh::new(0, 2, 2, 2).into()
        ]
    );
}
