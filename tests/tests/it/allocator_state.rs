//! An allocator without jobs that is told which blocks to take, and is saved and restored, against
//! a naive model.

use std::collections::BTreeSet;
use std::convert::Infallible;

use meshalloc::{
    Allocation, AllocationError, Allocator, Block, Contiguity, Grid, NodeId, PlaceError, Request,
    RestoreError, Shape, StrategyKind, Submesh,
};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, configuration, mesh};
use meshalloc_tests::saved::{end_len, save, seal};

type Nodes = BTreeSet<u32>;

/// An allocation of the allocator that is saved now and then, and of its twin, which never is.
struct Held {
    handle: u128,
    twins: u128,
    nodes: Nodes,
}

/// What is held and faulty.
#[derive(Default)]
struct Model {
    held: Vec<Held>,
    faulty: Nodes,
}

impl Model {
    fn is_busy(&self, node: u32) -> bool {
        self.faulty.contains(&node) || self.held.iter().any(|held| held.nodes.contains(&node))
    }

    /// Why these blocks are not taken, in the order of the blocks.
    fn place(&self, grid: &Grid, strategy: StrategyKind, blocks: &[Block]) -> Option<PlaceError> {
        let most = match strategy.holds() {
            Contiguity::OneBlock => 1,
            Contiguity::TwoBlocks => 2,
            _ => u32::MAX,
        };
        if blocks.is_empty() {
            return Some(PlaceError::NoBlock);
        }
        if blocks.len() > most as usize {
            return Some(PlaceError::TooManyBlocks { most });
        }
        let mut before = Nodes::new();
        for (at, &block) in (0..).zip(blocks) {
            let nodes = nodes(grid, block);
            if nodes.is_empty() {
                return Some(PlaceError::Outside { at });
            }
            if nodes.iter().any(|&node| self.is_busy(node)) {
                return Some(PlaceError::Busy { at });
            }
            if !before.is_disjoint(&nodes) {
                return Some(PlaceError::Overlapping { at });
            }
            before.extend(nodes);
        }
        // The buddy strategy gives squares whose sides are powers of two.
        let extents = grid.extent(blocks[0]);
        let is_buddy = extents[0] == extents[1] && extents[0].is_power_of_two();
        let is_wrong = strategy == StrategyKind::Buddy && !is_buddy;
        is_wrong.then_some(PlaceError::NotOfStrategy { at: 0 })
    }
}

/// The processors of a block; none if it is not within the machine.
fn nodes(grid: &Grid, block: Block) -> Nodes {
    let all = 0..grid.nodes();
    if grid.contains(block) {
        all.filter(|&node| grid.holds(block, NodeId(node)))
            .collect()
    } else {
        Nodes::new()
    }
}

fn random_block(random: &mut Random, grid: &Grid, longest: u32) -> Block {
    if grid.is_plane() && random.percent(5) {
        return Submesh::new(grid.side(0) - 1, 0, 2, 1).into();
    }
    let sides = grid.sides();
    loop {
        let starts = sides.iter().map(|&side| random.below(side.into()) as u16);
        let start = starts.collect::<Vec<_>>();
        let extents = sides.iter();
        let extents = extents.map(|&side| random.between(1, longest.min(side.into())) as u16);
        let extent = extents.collect::<Vec<_>>();
        if let Some(block) = grid.block(&start, &extent) {
            return block;
        }
    }
}

/// Saves an allocator.
fn parts_of(allocator: &Allocator<'_>) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let saved = allocator.save(&mut |part| {
        parts.push(part.to_vec());
        Ok::<(), Infallible>(())
    });
    saved.expect("storing never fails");
    parts
}

fn restore(allocator: &mut Allocator<'_>, parts: &[Vec<u8>]) -> Result<(), RestoreError> {
    let mut restoring = allocator.restore();
    for part in parts {
        restoring.part(part)?;
    }
    restoring.finish()
}

/// Strategies that give a block of any extents, if they give one block.
fn gives_any_extents(strategy: StrategyKind) -> bool {
    let block = Request::submesh(3, 2);
    let grid = mesh(8, 8).grid();
    let mut memory = HeapMemory::for_strategy(grid, strategy, 4);
    let allocator = Allocator::new(memory.allocator_memory(), grid, strategy);
    allocator.is_ok_and(|allocator| allocator.demand(&block) == Ok(6))
}

/// Random steps in rounds, between which one of the twins is saved and restored in other memory.
fn check(grid: Grid, strategy: StrategyKind, seed: u64) -> [u32; 3] {
    const BLOCKS: usize = 40;
    let mut random = Random::new(seed);
    let mut memory = HeapMemory::for_strategy(grid, strategy, BLOCKS);
    let mut twin = Allocator::new(memory.allocator_memory(), grid, strategy).expect("it is served");
    let mut model = Model::default();
    let (mut parts, mut counts) = (None::<Vec<Vec<u8>>>, [0; 3]);
    for round in 0..6 {
        // The machine and the strategy are those of the checkpoint.
        let other = if grid.dimensions() == 2 {
            StrategyKind::Naive
        } else {
            strategy
        };
        let needs =
            [other, strategy].map(|kind| meshalloc::storage::Needs::of(kind, &grid, BLOCKS));
        let mut memory = HeapMemory::of(needs[0].and(needs[1]), 1);
        memory.fill_with_noise(&mut random);
        let kind = if parts.is_some() { other } else { strategy };
        let mut saved =
            Allocator::new(memory.allocator_memory(), grid, kind).expect("it is served");
        if let Some(parts) = &parts {
            assert_eq!(
                restore(&mut saved, parts),
                Ok(()),
                "{strategy} in round {round}"
            );
            for held in &mut model.held {
                let was = Allocation::from_raw(held.handle);
                assert_eq!(saved.blocks(&was).err(), Some(AllocationError::Foreign));
                held.handle = saved.renew(&was).expect("it is held").into_raw();
            }
        }
        for step in 0..60 {
            let context = format!("{strategy} on {grid}, seed {seed}, round {round}, step {step}");
            let given = match random.below(100) {
                0..35 => {
                    let extents = grid
                        .sides()
                        .iter()
                        .map(|&side| random.between(1, u32::from(side) / 2 + 1) as u16);
                    let extents: Vec<_> = extents.collect();
                    let request = Request::new(Shape::new(&extents).expect("a shape"));
                    let allocations = (saved.allocate(&request), twin.allocate(&request));
                    assert_eq!(
                        allocations.0.as_ref().err(),
                        allocations.1.as_ref().err(),
                        "{context}"
                    );
                    allocations.0.ok().zip(allocations.1.ok())
                }
                35..60 => {
                    let len = [1, 1, 1, 1, 2, 0][random.below(6) as usize];
                    let blocks: Vec<_> = (0..len)
                        .map(|_| random_block(&mut random, &grid, 4))
                        .collect();
                    let before = parts_of(&saved);
                    let take = |allocator: &mut Allocator<'_>| match blocks[..] {
                        [block] => allocator.allocate_at(block),
                        _ => allocator.allocate_blocks(blocks.iter().copied()),
                    };
                    let allocations = (take(&mut saved), take(&mut twin));
                    match model.place(&grid, strategy, &blocks) {
                        Some(error) => {
                            assert_eq!(allocations.0, Err(error), "{context}: {blocks:?}");
                            assert_eq!(parts_of(&saved), before, "{context}");
                            counts[0] += 1;
                        }
                        None => {
                            let held = allocations
                                .0
                                .as_ref()
                                .unwrap_or_else(|error| panic!("{context}: {error}"));
                            assert!(saved.blocks(held).unwrap().eq(blocks), "{context}");
                            counts[1] += 1;
                        }
                    }
                    allocations.0.ok().zip(allocations.1.ok())
                }
                60..85 if !model.held.is_empty() => {
                    let at = random.below(model.held.len() as u32) as usize;
                    let held = model.held.swap_remove(at);
                    let processors = held.nodes.len() as u32;
                    let handle = || Allocation::from_raw(held.handle);
                    assert_eq!(saved.release(handle()), Ok(processors), "{context}");
                    let again = saved.release(handle()).unwrap_err().reason;
                    assert_eq!(again, AllocationError::Stale, "{context}");
                    assert_eq!(
                        twin.release(Allocation::from_raw(held.twins)),
                        Ok(processors)
                    );
                    counts[2] += 1;
                    None
                }
                other => {
                    let block = random_block(&mut random, &grid, 2);
                    let nodes = nodes(&grid, block);
                    let set = |allocator: &mut Allocator<'_>| {
                        if other < 92 {
                            allocator.mark_faulty(block)
                        } else {
                            allocator.clear_faulty(block)
                        }
                    };
                    assert_eq!(set(&mut saved), set(&mut twin), "{context}");
                    if other < 92 {
                        model.faulty.extend(nodes);
                    } else {
                        model.faulty.retain(|node| !nodes.contains(node));
                    }
                    None
                }
            };
            if let Some((own, twins)) = given {
                let blocks: Vec<_> = saved.blocks(&own).unwrap().collect();
                assert!(
                    twin.blocks(&twins).unwrap().eq(blocks.iter().copied()),
                    "{context}"
                );
                let nodes = blocks
                    .iter()
                    .flat_map(|&block| nodes(&grid, block))
                    .collect();
                let [handle, twins] = [own, twins].map(Allocation::into_raw);
                model.held.push(Held {
                    handle,
                    twins,
                    nodes,
                });
            }
            for node in 0..grid.nodes() {
                let is_busy = saved.occupancy().is_busy(NodeId(node));
                assert_eq!(is_busy, model.is_busy(node), "{context}: processor {node}");
            }
            saved.check_invariants();
        }
        parts = Some(parts_of(&saved));
    }
    counts
}

#[test]
fn an_allocator_that_is_restored_decides_like_its_twin() {
    let (plane, torus) = (mesh(8, 8).grid(), Grid::torus(&[4, 3, 5]).expect("a torus"));
    let mut counts = [0; 3];
    for (seed, &strategy) in (1..).zip(StrategyKind::ALL) {
        for grid in [plane, torus] {
            // The model knows what the buddy strategy rounds up, and no other.
            let is_known = strategy == StrategyKind::Buddy
                || strategy.holds() != Contiguity::OneBlock
                || gives_any_extents(strategy);
            if strategy.serves().includes(&grid) && is_known {
                let more = check(grid, strategy, seed);
                for (count, more) in counts.iter_mut().zip(more) {
                    *count += more;
                }
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 300), "{counts:?}");
}

/// The checkpoint of an allocator with several blocks and a fault.
fn example(strategy: StrategyKind) -> Vec<Vec<u8>> {
    let grid = mesh(8, 8).grid();
    let mut memory = HeapMemory::for_strategy(grid, strategy, 10);
    let mut allocator = Allocator::new(memory.allocator_memory(), grid, strategy).expect("served");
    let mut held = Vec::new();
    for (w, h) in [(3, 2), (2, 2), (4, 1), (1, 1)] {
        held.push(
            allocator
                .allocate(&Request::submesh(w, h))
                .expect("it fits"),
        );
    }
    allocator.release(held.remove(1)).expect("it is held");
    allocator.mark_faulty(Submesh::new(7, 7, 1, 1).into());
    parts_of(&allocator)
}

#[test]
fn a_checkpoint_of_an_allocator_that_is_damaged_is_refused() {
    let grid = mesh(8, 8).grid();
    for strategy in [
        StrategyKind::FirstFit,
        StrategyKind::FreeSubmeshList,
        StrategyKind::Naive,
    ] {
        let parts = example(strategy);
        let mut memory = HeapMemory::for_strategy(grid, strategy, 10);
        let mut allocator = Allocator::new(memory.allocator_memory(), grid, strategy).unwrap();
        let is_empty = |allocator: &Allocator<'_>| {
            allocator.check_invariants();
            // The machine may be another one that was read.
            allocator.occupancy().free() == allocator.occupancy().grid().nodes()
        };
        let (mut refused, mut taken) = (0, 0);
        for bit in 0..8 * parts[0].len() {
            let mut damaged = parts.clone();
            damaged[0][bit / 8] ^= 1 << (bit % 8);
            assert!(
                restore(&mut allocator, &damaged).is_err(),
                "{strategy}: bit {bit}"
            );
            assert!(is_empty(&allocator), "{strategy}: bit {bit}");
            // With the right checksum it may be another state, but none that contradicts itself.
            let end_len = end_len(&parts);
            if bit / 8 < parts[0].len() - end_len {
                seal(&mut damaged, end_len);
                match restore(&mut allocator, &damaged) {
                    Ok(()) => taken += 1,
                    Err(_) => {
                        refused += 1;
                        assert!(is_empty(&allocator), "{strategy}: bit {bit}");
                    }
                }
                allocator.check_invariants();
            }
        }
        assert!(
            refused > 50 && taken > 0,
            "{strategy}: {refused} refused, {taken} taken"
        );
        // Too few parts, none, and one too many.
        assert_eq!(restore(&mut allocator, &[]), Err(RestoreError::Incomplete));
        let mut cut = parts[0].clone();
        cut.truncate(cut.len() - end_len(&parts));
        assert_eq!(
            restore(&mut allocator, &[cut]),
            Err(RestoreError::Incomplete)
        );
        assert!(restore(&mut allocator, &[parts[0].clone(), parts[0].clone()]).is_err());
        assert!(is_empty(&allocator));
    }
}

#[test]
fn the_checkpoints_of_allocators_and_controllers_are_told_apart() {
    let (grid, strategy) = (mesh(8, 8).grid(), StrategyKind::FirstFit);
    let mut memory = HeapMemory::for_strategy(grid, strategy, 10);
    let mut other = HeapMemory::for_strategy(grid, strategy, 10);
    let mut allocator = Allocator::new(memory.allocator_memory(), grid, strategy).unwrap();
    let configuration = configuration(grid, strategy);
    let mut controller = meshalloc::Controller::new(other.memory(), configuration).unwrap();
    let (of_allocator, of_controller) = (parts_of(&allocator), save(&controller));
    let refused = Err(RestoreError::Format);
    assert_eq!(restore(&mut allocator, &of_controller), refused);
    assert_eq!(
        meshalloc_tests::saved::restore(&mut controller, &of_allocator),
        refused
    );
}

/// Where slices begin at multiples of the sides of a host, so do blocks that are taken.
#[test]
fn a_block_is_taken_where_the_description_allows_a_slice() {
    let grid = mesh(8, 8).grid();
    let machine = meshalloc::Description::new(grid).and_then(|machine| machine.with_align(&[2, 2]));
    let machine = machine.expect("a description");
    let strategy = StrategyKind::FirstFit;
    let mut memory = HeapMemory::for_strategy(grid, strategy, 10);
    let memory = memory.allocator_memory().describing(&machine);
    let mut allocator = Allocator::new(memory, grid, strategy).expect("it is served");
    let mut take = |x, y, w, h| {
        allocator
            .allocate_at(Submesh::new(x, y, w, h).into())
            .map(drop)
    };
    assert_eq!(take(1, 0, 4, 2), Err(PlaceError::NotOfStrategy { at: 0 }));
    assert_eq!(take(2, 0, 4, 2), Ok(()));
    assert_eq!(take(0, 4, 2, 2), Ok(()));
}
