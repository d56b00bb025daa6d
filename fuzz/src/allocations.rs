//! Handles of allocations: live, stale, foreign and made up, in two allocators.

use std::collections::BTreeMap;

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Allocation, AllocationError, Allocator, Block, Flags, Grid, NodeId, Request, StrategyKind,
};

use crate::bytes::Bytes;

/// Strategies that hold one, two and any number of blocks, one that keeps a list, and one whose
/// jobs are connected.
const STRATEGIES: [StrategyKind; 6] = [
    StrategyKind::FirstFit,
    StrategyKind::FreeSubmeshList,
    StrategyKind::LShape,
    StrategyKind::Naive,
    StrategyKind::Random { seed: 7 },
    StrategyKind::Neighbor,
];

/// Both allocators have room for at least this number of allocations.
const ALLOCATIONS: usize = 6;

/// The expected state of an allocator: the processors of each held allocation, by its integer.
type Held = BTreeMap<u128, Vec<NodeId>>;

/// Applies the operations that the bytes choose to two allocators, and compares these with a list
/// of the held allocations. From time to time both are created again in the same memories, also in
/// each other's.
///
/// # Panics
///
/// When an allocator accepts a handle that names none of its allocations, rejects one that does, or
/// changes although it returns an error.
pub fn allocations(bytes: &[u8]) {
    let machine = Grid::mesh(&[6, 5]).expect("a mesh");
    let needs = Needs::of_build(&[machine], ALLOCATIONS);
    let mut storages = [HeapStorage::new(needs, 0), HeapStorage::new(needs, 0)];
    let mut handles = Vec::new();
    let mut bytes = Bytes(bytes);
    while !bytes.0.is_empty() {
        if bytes.below(2) == 1 {
            storages.swap(0, 1);
        }
        round(&mut storages, machine, &mut handles, &mut bytes);
    }
}

/// Runs until the bytes say that both allocators are created again. `handles` has all handles so
/// far.
fn round(
    storages: &mut [HeapStorage; 2],
    machine: Grid,
    handles: &mut Vec<u128>,
    bytes: &mut Bytes<'_>,
) {
    let mut pairs = storages.each_mut().map(|storage| {
        let strategy = bytes.choose(&STRATEGIES);
        let allocator = Allocator::new(storage.allocator_memory(), machine, strategy);
        (allocator.expect("the memory suffices"), Held::new())
    });
    while let Some(choice) = bytes.next() {
        let (allocator, held) = &mut pairs[usize::from(choice & 1)];
        match choice >> 1 & 7 {
            0..=2 => {
                let (width, height) = (bytes.byte(), bytes.byte());
                let request = Request::submesh(1 + u16::from(width) % 4, 1 + u16::from(height) % 4);
                let request = match width >> 2 & 3 {
                    0 => Request::chips(request.processors),
                    _ => request,
                };
                // Any flags, in any combination.
                let flags = match height >> 2 & 3 {
                    0 => Flags::from_bits_truncate(bytes.byte()),
                    _ => Flags::empty(),
                };
                let request = request.with_flags(request.flags | flags);
                if let Ok(allocation) = allocator.allocate(&request) {
                    let blocks: Vec<Block> = allocator.blocks(&allocation).expect("live").collect();
                    let count = nodes(machine, &blocks).len() as u32;
                    assert!(count >= request.processors, "{request:?}");
                    let raw = allocation.into_raw();
                    assert!(!handles.contains(&raw), "a new allocation has a new handle");
                    handles.push(raw);
                    held.insert(raw, nodes(machine, &blocks));
                }
            }
            3..=5 if !handles.is_empty() => {
                let raw = handles[bytes.short() % handles.len()];
                release(allocator, held, raw);
            }
            6 if !handles.is_empty() => {
                // One bit is wrong, or any.
                let raw = handles[bytes.short() % handles.len()];
                release(allocator, held, raw ^ 1 << (bytes.byte() & 127));
            }
            7 if bytes.below(4) == 0 => return,
            _ => {}
        }
        for (allocator, held) in &pairs {
            compare(allocator, held);
        }
    }
}

/// The processors of some blocks, in ascending order.
fn nodes(machine: Grid, blocks: &[Block]) -> Vec<NodeId> {
    let all = (0..machine.nodes()).map(NodeId);
    all.filter(|&node| blocks.iter().any(|&block| machine.holds(block, node)))
        .collect()
}

/// Releases what may be no allocation of this allocator.
fn release(allocator: &mut Allocator<'_>, held: &mut Held, raw: u128) {
    let expected = held.remove(&raw);
    let (by, given_back) = (Allocation::from_raw(raw), Allocation::from_raw(raw));
    let processors = allocator.processors(&by).ok();
    let blocks = allocator.blocks(&by).map(|blocks| blocks.count()).ok();
    let is_supposed = allocator.suppose().give_back(&given_back).is_ok();
    let outcome = allocator.release(by);
    match &expected {
        Some(nodes) => {
            assert_eq!(outcome, Ok(nodes.len() as u32));
            assert_eq!(processors, Some(nodes.len() as u32));
            assert!(blocks.is_some() && is_supposed);
        }
        None => {
            let error = outcome.expect_err("it is not held here");
            assert_eq!(error.allocation, given_back, "it is handed back");
            assert_eq!((processors, blocks, is_supposed), (None, None, false));
            // The highest 32 bits in use belong to the allocator.
            if let Some(own) = held.keys().next() {
                let expected = if own >> 64 == raw >> 64 {
                    AllocationError::Stale
                } else {
                    AllocationError::Foreign
                };
                assert_eq!(error.reason, expected);
            }
        }
    }
}

fn compare(allocator: &Allocator<'_>, held: &Held) {
    let occupancy = allocator.occupancy();
    let mut busy: Vec<NodeId> = held.values().flatten().copied().collect();
    busy.sort();
    let all = (0..occupancy.grid().nodes()).map(NodeId);
    assert!(
        all.filter(|&node| occupancy.is_busy(node)).eq(busy),
        "busy is what is held"
    );
    for (&raw, nodes) in held {
        let processors = allocator.processors(&Allocation::from_raw(raw));
        assert_eq!(processors, Ok(nodes.len() as u32));
    }
    allocator.check_invariants();
}

#[cfg(test)]
mod tests {
    /// Random inputs, which may reach states that the corpus does not.
    #[test]
    fn any_sequence_of_handles() {
        let mut state = 1_u64;
        for _ in 0..400 {
            let input: Vec<u8> = (0..300)
                .map(|_| {
                    // Knuth, MMIX.
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as u8
                })
                .collect();
            super::allocations(&input);
        }
    }
}
