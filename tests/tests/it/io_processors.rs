//! The strategies of Liu, Hsu and Wu (binary trees, SCBT, PLAS) and allocation along a curve:
//! random operations against their naive models, and the effect of a tolerance.

mod compact;

use meshalloc::{Allocator, Grid, NodeId, Refusal, Request, Shape, StrategyKind, Submesh};
use meshalloc_tests::convert;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, clear_faulty, mark_faulty, mesh, submesh};
use meshalloc_tests::strategy::{Held, Strategy};

/// A strategy as it is written on the command line.
fn strategy(text: &str) -> StrategyKind {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A request for a number of processors of a machine, in any shape.
fn request(machine: Grid, processors: u32) -> Request {
    let shape = Shape::new(machine.sides()).expect("the sides of the machine");
    Request::new(shape).with_processors(processors)
}

/// A random number of processors: often few, sometimes more than are free.
fn processors(random: &mut Random, nodes: u32) -> u32 {
    let most = match random.below(4) {
        0 => nodes,
        1 => nodes / 2,
        _ => nodes / 6,
    };
    random.between(1, most.max(1))
}

/// Random allocations, releases, faults and repairs. The strategy grants the same processors as its
/// naive model, exactly as many as requested, none of them busy. A refusal changes nothing, and
/// released processors are free again.
fn agrees_with_its_model(text: &str, (w, h): (u16, u16), operations: u32) {
    let (kind, machine) = (strategy(text), mesh(w, h).grid());
    let mut memory = HeapMemory::new(machine, 1);
    let mut allocator = Allocator::new(memory.allocator_memory(), machine, kind).unwrap();
    let mut model = Strategy::new(kind, &convert::grid(machine));
    let mut random = Random::new(u64::from(w) << 16 | u64::from(h));
    let mut jobs = Vec::new();
    let mut faulty: Vec<u32> = Vec::new();
    let mut granted = 0;
    for operation in 0..operations {
        match random.below(20) {
            0..10 => {
                let processors = processors(&mut random, machine.nodes());
                let request = request(machine, processors);
                let expected = model.place(&request);
                match allocator.allocate(&request) {
                    Ok(allocation) => {
                        let blocks: Vec<_> = allocator.blocks(&allocation).unwrap().collect();
                        let held = expected.unwrap_or_else(|refusal| {
                            panic!(
                                "{kind} grants {processors} processors: {refusal}\n{}",
                                model.machine()
                            )
                        });
                        assert!(
                            held.is(model.grid(), &blocks),
                            "{kind}, {processors} processors, operation {operation}\n{held:?}\n{blocks:?}\n{}",
                            model.machine()
                        );
                        assert_eq!(held.nodes(model.grid()).len() as u32, processors);
                        model.take(&held);
                        jobs.push((allocation, held));
                        granted += 1;
                    }
                    Err(refusal) => assert_eq!(
                        expected,
                        Err(refusal),
                        "{kind}, {processors} processors\n{}",
                        model.machine()
                    ),
                }
            }
            10..19 if !jobs.is_empty() => {
                let (allocation, held) = jobs.swap_remove(random.below(jobs.len() as u32) as usize);
                let processors = allocator.release(allocation).unwrap();
                assert_eq!(processors as usize, held.nodes(model.grid()).len());
                model.give_back(&held, |node| faulty.contains(&node));
            }
            _ => {
                let node = random.below(machine.nodes());
                let holds = |(_, held): &(_, Held)| held.nodes(model.grid()).contains(&node);
                let is_held = jobs.iter().any(holds);
                let repairs = faulty.contains(&node);
                if !repairs && faulty.len() as u32 >= machine.nodes() / 8 {
                    continue;
                }
                if repairs {
                    clear_faulty(&mut allocator, NodeId(node));
                    faulty.retain(|&other| other != node);
                } else {
                    mark_faulty(&mut allocator, NodeId(node));
                    faulty.push(node);
                }
                if !is_held {
                    model.set(node, !repairs);
                }
            }
        }
        assert_eq!(allocator.occupancy().free(), model.machine().free());
    }
    assert!(granted > operations / 8, "{kind}: {granted} grants");
    for (allocation, _) in jobs {
        allocator.release(allocation).unwrap();
    }
    allocator.occupancy().check_invariants();
    let left = machine.nodes() - faulty.len() as u32;
    assert_eq!(allocator.occupancy().free(), left);
    for node in faulty {
        clear_faulty(&mut allocator, NodeId(node));
    }
    let all = allocator.allocate(&request(machine, machine.nodes()));
    assert_eq!(
        allocator.blocks(&all.unwrap()).unwrap().count(),
        1,
        "{kind}"
    );
}

macro_rules! strategies {
    ($($name:ident: $($text:literal),+;)*) => {
        $(
            #[test]
            fn $name() {
                for text in [$($text),+] {
                    agrees_with_its_model(text, (4, 4), 30_000);
                    agrees_with_its_model(text, (8, 8), 50_000);
                    agrees_with_its_model(text, (16, 8), 20_000);
                }
            }
        )*

        const EVERY: &[&str] = &[$($($text),+),*];
    };
}

strategies! {
    binary_tree: "bt";
    static_binary_tree: "sbt:4";
    dynamic_binary_tree: "dbt:0.5";
    independent_binary_tree: "ind-bt";
    independent_static_binary_tree: "ind-sbt:4";
    independent_dynamic_binary_tree: "ind-dbt:1/4";
    dependent_binary_tree: "d-bt";
    dependent_static_binary_tree: "d-sbt:16";
    dependent_dynamic_binary_tree: "d-dbt:1/16";
    compact_binary_tree: "scbt";
    parallel_layout: "plas";
    first_fit_on_a_curve: "curve:first-fit";
    best_fit_on_a_curve: "curve:best-fit";
    sum_of_squares_on_a_curve: "curve:sum-of-squares";
}

/// Strategies that take processors in a fixed order grant the same as their naive models: at the
/// edges of words and on small machines, with single busy processors and whole busy squares.
#[test]
fn orders_at_the_edges_of_words() {
    let sides = [1, 2, 3, 4, 8, 31, 32, 33, 63, 64, 65];
    let planes = sides.iter().flat_map(|&w| {
        let heights = [1, 3, w];
        heights.map(|h| mesh(w, h).grid())
    });
    let others = [
        &[70][..],
        &[4, 4, 4],
        &[33, 2, 3],
        &[3, 5, 31],
        &[2, 64, 2],
        &[64, 2, 2],
        &[12, 4, 2, 2],
    ];
    let others = others.map(|sides| Grid::mesh(sides).expect("a mesh"));
    let machines: Vec<Grid> = planes.chain(others).collect();
    for text in [
        "naive",
        "paging",
        "paging:snake",
        "paging:row-major=1",
        "paging:snake=1",
        "paging:snake=2",
        "paging:snake=5",
        "paging:snake=6",
        "curve:first-fit",
        "curve:best-fit",
        "curve:sum-of-squares",
        "plas",
    ] {
        let kind = strategy(text);
        let mut placed = 0;
        for &machine in &machines {
            let grid = convert::grid(machine);
            if !convert::is_served(kind, &grid) {
                continue;
            }
            let mut memory = HeapMemory::new(machine, 1);
            let mut random = Random::new(u64::from(machine.nodes()));
            for busy in [0, 2, 30, 80] {
                let mut allocator =
                    Allocator::new(memory.allocator_memory(), machine, kind).unwrap();
                let mut model = Strategy::new(kind, &grid);
                let squares: Vec<bool> = (0..64).map(|_| random.percent(busy)).collect();
                for node in 0..machine.nodes() {
                    let at = machine.coordinates(NodeId(node)).expect("a processor");
                    let square = at.iter().fold(0, |square, at| 3 * square + at / 4) % 64;
                    if squares[usize::from(square)] || random.percent(busy / 2) {
                        mark_faulty(&mut allocator, NodeId(node));
                        model.set(node, true);
                    }
                }
                let free = model.machine().free();
                for processors in [1, free / 9, free / 2, free] {
                    let request = request(machine, processors.max(1));
                    let expected = model.place(&request);
                    match allocator.allocate(&request) {
                        Ok(allocation) => {
                            let blocks: Vec<_> = allocator.blocks(&allocation).unwrap().collect();
                            let held = expected.expect("granted by the model");
                            assert!(
                                held.is(model.grid(), &blocks),
                                "{kind}, {processors} processors\n{held:?}\n{blocks:?}\n{}",
                                model.machine()
                            );
                            allocator.release(allocation).unwrap();
                            placed += 1;
                        }
                        Err(refusal) => assert_eq!(
                            expected,
                            Err(refusal),
                            "{kind}, {processors} processors\n{}",
                            model.machine()
                        ),
                    }
                }
            }
        }
        assert!(placed >= 4, "{kind}: {placed}");
    }
}

/// Other machines: of one row, with words of several lengths, and for those that serve them sides
/// that are no powers of two, and meshes higher than wide.
#[test]
fn every_strategy_on_other_machines() {
    let meshes = [
        (1, 1),
        (2, 1),
        (16, 1),
        (32, 2),
        (64, 2),
        (128, 4),
        (32, 32),
    ];
    let any_meshes = [(1, 9), (9, 1), (7, 5), (5, 7), (8, 16), (33, 3), (3, 65)];
    for &text in EVERY {
        for sides in meshes.into_iter().chain(any_meshes) {
            let machine = mesh(sides.0, sides.1).grid();
            let served = strategy(text).serves().includes(&machine);
            let any = text == "plas" || text.starts_with("curve");
            assert_eq!(
                served,
                any || meshes.contains(&sides),
                "{text} on {machine}"
            );
            if served {
                agrees_with_its_model(text, sides, 400);
            }
        }
    }
}

/// Whatever the tolerance, static and dynamic trees grant exactly what the plain tree grants in the
/// same state.
#[test]
fn a_tolerance_does_not_change_what_is_recognised() {
    let machine = mesh(8, 8).grid();
    let texts = [
        "bt",
        "sbt:0",
        "sbt:4",
        "sbt:64",
        "sbt:1048576",
        "dbt:0",
        "dbt:1/16",
        "dbt:0.5",
        "dbt:1",
    ];
    let mut memories = texts.map(|_| HeapMemory::new(machine, 1));
    let mut allocators: Vec<_> = memories
        .iter_mut()
        .zip(texts)
        .map(|(memory, text)| {
            Allocator::new(memory.allocator_memory(), machine, strategy(text)).unwrap()
        })
        .collect();
    let mut random = Random::new(8);
    let (mut granted, mut refused) = (0, 0);
    for round in 0..300 {
        let busy = round % 64;
        for node in (0..64)
            .filter(|_| random.below(64) < busy)
            .collect::<Vec<u32>>()
        {
            allocators.iter_mut().for_each(|allocator| {
                mark_faulty(allocator, NodeId(node));
            });
        }
        for processors in 1..=64 {
            let outcomes = allocators.iter_mut().map(|allocator| {
                let outcome = allocator.allocate(&request(machine, processors));
                outcome.map(|allocation| allocator.release(allocation).unwrap())
            });
            let outcomes: Vec<Result<u32, Refusal>> = outcomes.collect();
            assert!(
                outcomes.iter().all(|outcome| *outcome == outcomes[0]),
                "{outcomes:?}"
            );
            granted += u32::from(outcomes[0].is_ok());
            refused += u32::from(outcomes[0] == Err(Refusal::Fragmented));
        }
        for node in 0..64 {
            allocators.iter_mut().for_each(|allocator| {
                clear_faulty(allocator, NodeId(node));
            });
        }
    }
    assert!(
        granted > 1000 && refused > 1000,
        "{granted} granted, {refused} refused"
    );
}

/// With the largest tolerance jobs fill one half before the other is touched; with none they go to
/// both by turns.
#[test]
fn a_tolerance_packs_jobs_and_none_spreads_them() {
    let machine = mesh(16, 16).grid();
    let in_right_half = |text: &str| {
        let mut memory = HeapMemory::new(machine, 1);
        let mut allocator =
            Allocator::new(memory.allocator_memory(), machine, strategy(text)).unwrap();
        let mut processors = 0;
        for _ in 0..4 {
            let job = allocator.allocate(&request(machine, 16)).unwrap();
            let blocks = allocator.blocks(&job).unwrap().map(submesh);
            let right = blocks.filter(|block| block.base.x >= 8);
            processors += right.map(Submesh::area).sum::<u32>();
        }
        processors
    };
    for (packs, spreads) in [
        ("sbt:256", "sbt:0"),
        ("dbt:1", "dbt:0"),
        ("ind-dbt:1", "ind-sbt:0"),
        ("d-sbt:256", "d-dbt:0"),
    ] {
        assert_eq!(in_right_half(packs), 0, "{packs}");
        assert_eq!(in_right_half(spreads), 32, "{spreads}");
    }
}
