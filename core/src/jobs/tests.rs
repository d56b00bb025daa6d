//! Tests of the job table at its limits: the index against a plain map; the table with one job less
//! than its capacity, full, and with one more; the pool of blocks down to its last cell.

extern crate std;

use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

use super::*;
use crate::draft::Draft;
use crate::grid::Block;
use crate::mesh::Submesh;
use crate::pool::{BlockCell, BlockPool};

/// Memory for a table.
struct Memory {
    slots: Vec<JobSlot>,
    index: Vec<Link>,
    order: Vec<Link>,
    blocks: Vec<BlockCell>,
}

impl Memory {
    fn new(slots: usize, index: usize, blocks: usize) -> Self {
        Memory {
            slots: vec![JobSlot::EMPTY; slots],
            // Arbitrary old contents, which the table must ignore.
            index: vec![3; index],
            order: vec![3; slots],
            blocks: vec![BlockCell::EMPTY; blocks],
        }
    }

    fn table(&mut self) -> JobTable<'_> {
        self.table_and_pool().0
    }

    fn table_and_pool(&mut self) -> (JobTable<'_>, BlockPool<'_>) {
        (
            JobTable::new(&mut self.slots, &mut self.index, &mut self.order),
            BlockPool::new(&mut self.blocks),
        )
    }
}

/// Reproducible numbers (Knuth's constants), their low bits left out.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

const REQUEST: Request = Request::submesh(1, 1);

fn unit(x: u16) -> Submesh {
    Submesh::new(x, 0, 1, 1)
}

/// A job joins the queue.
fn wait(table: &mut JobTable<'_>, id: u32) -> Result<Slot, Refusal> {
    let id = JobId(id);
    let cell = table.cell_for(id)?;
    table.submit((id, cell), &REQUEST, REQUEST.processors, 7)
}

/// Grants a waiting job this number of blocks. Returns false if the pool has too little room.
fn grant(table: &mut JobTable<'_>, pool: &mut BlockPool<'_>, slot: Slot, blocks: u16) -> bool {
    let mut draft = Draft::unpaused(pool);
    (0..blocks).for_each(|x| draft.push(unit(x)));
    let chain = draft.finish(true);
    let complete = chain.is_ok();
    if let Ok(chain) = chain {
        table.grant(slot, chain, blocks.into(), 0, 1);
    }
    complete
}

fn end(table: &mut JobTable<'_>, pool: &mut BlockPool<'_>, slot: Slot) {
    let id = table.get(slot).id();
    let cell = table.cell_of(id).expect("it is there");
    let held = table.remove(cell);
    pool.free(held.expect("it runs"));
}

#[test]
fn the_capacity_fits_all_slices() {
    for (slots, index, jobs) in [
        (0, 0, 0),
        (0, 1, 0),
        (1, 0, 0),
        (1, 1, 0),
        (1, 2, 1),
        (5, 8, 4),
        (4, 8, 4),
        (3, 8, 3),
        (8, 15, 7),
        (8, 16, 8),
        (8, 17, 8),
        (8, 1024, 8),
    ] {
        let mut memory = Memory::new(slots, index, 1);
        let table = memory.table();
        assert_eq!(table.capacity(), jobs, "{slots} slots, {index} cells");
        table.check_invariants();
    }
}

#[test]
fn a_table_without_room_refuses_and_finds_nothing() {
    let mut memory = Memory::new(0, 0, 0);
    let mut table = memory.table();
    assert_eq!(table.find(JobId(0)), None);
    let outcome = wait(&mut table, 0);
    assert_eq!(outcome, Err(Refusal::TableFull));
    table.check_invariants();
}

/// One job less than the capacity, full, one more; then again after some jobs have left, in
/// different orders.
#[test]
fn the_table_takes_as_many_as_it_has_slots() {
    for n in [1, 2, 3, 8, 31, 32] {
        let mut memory = Memory::new(n, (2 * n).next_power_of_two(), n);
        let mut table = memory.table();
        for leaving in [0, 1, n / 2, n - 1, n] {
            let mut slots: Vec<Slot> = Vec::new();
            for id in 0..n as u32 - 1 {
                slots.push(wait(&mut table, id).unwrap());
            }
            table.check_invariants();
            let last = wait(&mut table, n as u32 - 1);
            slots.push(last.expect("room for one more"));
            table.check_invariants();
            assert_eq!(table.waiting_len() as usize, n);
            let beyond = wait(&mut table, n as u32);
            assert_eq!(beyond, Err(Refusal::TableFull));
            // A duplicate name is reported before a full table.
            let duplicate = wait(&mut table, 0);
            assert_eq!(duplicate, Err(Refusal::DuplicateJob));
            table.check_invariants();

            slots.rotate_left(n / 3);
            for slot in slots.drain(..leaving) {
                assert!(table.remove_slot(slot).is_none());
                table.check_invariants();
            }
            for id in 0..leaving as u32 {
                slots.push(wait(&mut table, 1000 + id).unwrap());
            }
            let beyond = wait(&mut table, 2000);
            assert_eq!(beyond, Err(Refusal::TableFull));
            slots
                .into_iter()
                .for_each(|slot| assert!(table.remove_slot(slot).is_none()));
            assert!(table.is_empty());
            table.check_invariants();
        }
    }
}

/// Names in ascending and in descending order, names that differ in high bits only, and multiples
/// of the hash constant: after every step each name is found in its slot, and no other name is
/// found.
#[test]
fn the_index_is_a_map() {
    let names: [fn(u64) -> u32; 4] = [
        |n| n as u32,
        |n| (n as u32) << 25,
        |n| u32::MAX - n as u32,
        |n| (n as u32).wrapping_mul(0x9E37_79B1),
    ];
    // Miri takes a thousand times as long.
    let (capacities, steps): (&[usize], _) = if cfg!(miri) {
        (&[1, 2, 5], 20)
    } else {
        (&[1, 2, 5, 16, 64], 2000)
    };
    for name in names {
        for &capacity in capacities {
            let mut memory = Memory::new(capacity, (2 * capacity).next_power_of_two(), 1);
            let mut table = memory.table();
            let mut map: BTreeMap<u32, Slot> = BTreeMap::new();
            let mut numbers = Numbers(capacity as u64);
            for _ in 0..steps {
                let id = name(numbers.below(2 * capacity as u64));
                match map.remove(&id) {
                    Some(slot) => assert!(table.remove_slot(slot).is_none()),
                    None if map.len() < capacity => {
                        let slot = wait(&mut table, id).unwrap();
                        map.insert(id, slot);
                    }
                    None => {
                        let outcome = wait(&mut table, id);
                        assert_eq!(outcome, Err(Refusal::TableFull));
                    }
                }
                table.check_invariants();
                for id in (0..2 * capacity as u64).map(name) {
                    assert_eq!(table.find(JobId(id)), map.get(&id).copied());
                }
            }
        }
    }
}

/// All names have their home in one of the last cells, so their entries wrap around to the first.
#[test]
fn entries_wrap_around_the_end_of_the_index() {
    let mut memory = Memory::new(8, 16, 1);
    let mut table = memory.table();
    // The cell is the upper 4 bits of the name times the constant.
    let cell = |id: &u32| id.wrapping_mul(0x9E37_79B1) >> 28;
    let names: Vec<u32> = (0..).filter(|id| cell(id) >= 14).take(8).collect();
    for first in 0..names.len() {
        for &id in &names {
            wait(&mut table, id).unwrap();
        }
        table.check_invariants();
        for at in 0..names.len() {
            let id = names[(first + 3 * at) % names.len()];
            let slot = table.find(JobId(id)).expect("it is still there");
            assert!(table.remove_slot(slot).is_none());
            table.check_invariants();
        }
        assert!(table.is_empty());
    }
}

/// The drawing in the documentation of [`index`].
#[test]
fn entries_move_back_as_drawn() {
    let mut memory = Memory::new(8, 16, 1);
    let mut table = memory.table();
    let home = |id: u32| id.wrapping_mul(0x9E37_79B1) >> 28;
    let name = |cell, nth| (0..).filter(|&id| home(id) == cell).nth(nth).unwrap();
    let names = [name(2, 0), name(2, 1), name(4, 0), name(3, 0)];
    let [a, b, c, d] = names.map(|id| wait(&mut table, id).unwrap());
    assert_eq!(table.index[2..7], [a.0, b.0, c.0, d.0, NONE]);
    assert!(table.remove_slot(a).is_none());
    assert_eq!(table.index[2..7], [b.0, d.0, c.0, NONE, NONE]);
    table.check_invariants();
}

#[test]
fn queue_and_running_jobs_keep_their_order() {
    let mut memory = Memory::new(4, 8, 4);
    let (mut table, mut pool) = memory.table_and_pool();
    let slots = [5, 3, 9, 1].map(|id| wait(&mut table, id).unwrap());
    let ahead = slots.map(|slot| table.queue().ahead(slot));
    assert_eq!(ahead, [0, 1, 2, 3]);
    for at in [2, 0] {
        assert!(grant(&mut table, &mut pool, slots[at], 1));
    }
    let running: Vec<u32> = table.running().map(|job| job.id().0).collect();
    assert_eq!(running, [9, 5]);
    let queue = table.queue();
    let head = queue.head().unwrap();
    let second = queue.next(head).unwrap();
    assert_eq!([head, second], [slots[1], slots[3]]);
    assert_eq!(queue.next(second), None);
    assert!(table.remove_slot(head).is_none());
    assert_eq!(table.queue().head(), Some(second));
    table.check_invariants();
}

/// The blocks of all jobs together fill the pool to its last cell. An allocation that does not fit
/// takes no cell.
#[test]
fn the_pool_gives_all_of_its_cells() {
    const CELLS: u16 = 6;
    let mut memory = Memory::new(3, 8, CELLS.into());
    let (mut table, mut pool) = memory.table_and_pool();
    for round in 0..4 {
        let slots = [1, 2, 3].map(|id| wait(&mut table, id).unwrap());
        assert!(grant(&mut table, &mut pool, slots[0], 1 + round));
        assert!(!grant(&mut table, &mut pool, slots[1], CELLS - round));
        assert!(!table.get(slots[1]).is_running());
        table.check_invariants();
        assert!(grant(&mut table, &mut pool, slots[1], CELLS - 1 - round));
        assert!(!grant(&mut table, &mut pool, slots[2], 1));
        table.check_invariants();

        let blocks: Vec<Block> = pool.iter(table.get(slots[1]).blocks()).collect();
        let expected: Vec<Block> = (0..CELLS - 1 - round).map(|x| unit(x).into()).collect();
        assert_eq!(blocks, expected, "in the order in which they were named");
        assert_eq!(table.get(slots[0]).processors(), u32::from(1 + round));
        assert_eq!(pool.held().count(), CELLS.into());

        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for at in order {
            end(&mut table, &mut pool, slots[at]);
        }
        assert!(grant(&mut table, &mut pool, slots[2], CELLS));
        end(&mut table, &mut pool, slots[2]);
        table.check_invariants();
    }
    assert!(table.is_empty());
}

#[test]
fn a_cleared_table_is_as_new() {
    let mut memory = Memory::new(2, 4, 2);
    let (mut table, mut pool) = memory.table_and_pool();
    let slot = wait(&mut table, 1).unwrap();
    assert!(grant(&mut table, &mut pool, slot, 2));
    wait(&mut table, 2).unwrap();
    table.clear();
    pool.clear(usize::MAX);
    table.check_invariants();
    assert!(table.is_empty());
    assert_eq!(table.find(JobId(1)), None);
    assert_eq!(table.jobs_from(0).count(), 0);
    let slots = [1, 2].map(|id| wait(&mut table, id).unwrap());
    assert!(grant(&mut table, &mut pool, slots[1], 2));
    table.check_invariants();
}

/// Chunks of the listing have every job once, also across free slots.
#[test]
fn jobs_are_listed_from_any_slot_on() {
    let mut memory = Memory::new(6, 16, 1);
    let mut table = memory.table();
    let slots = [10, 11, 12, 13, 14].map(|id| wait(&mut table, id).unwrap());
    assert!(table.remove_slot(slots[1]).is_none());
    assert!(table.remove_slot(slots[4]).is_none());
    let listed = |from| -> Vec<(u32, u32)> {
        let jobs = table.jobs_from(from);
        jobs.map(|(next, job)| (next, job.id().0)).collect()
    };
    assert_eq!(listed(0), [(1, 10), (3, 12), (4, 13)]);
    assert_eq!(listed(1), [(3, 12), (4, 13)]);
    assert_eq!(listed(3), [(4, 13)]);
    assert_eq!(listed(4), []);
    assert_eq!(listed(u32::MAX), []);
}

#[test]
fn running_jobs_that_end_together_are_sorted_as_they_were_granted() {
    let mut memory = Memory::new(8, 16, 8);
    let (mut table, mut pool) = memory.table_and_pool();
    // Without an estimate they end last, all together.
    for (id, estimate) in [
        (1, None),
        (2, Some(9)),
        (3, None),
        (4, Some(9)),
        (5, Some(3)),
    ] {
        let request = Request {
            estimate: estimate.and_then(core::num::NonZero::new),
            ..REQUEST
        };
        let id = JobId(id);
        let cell = table.cell_for(id).expect("it is new");
        let slot = table.submit((id, cell), &request, 1, 0);
        let slot = slot.expect("there is room");
        assert!(grant(&mut table, &mut pool, slot, 1));
    }
    let (mut last, mut sorted) = (None, 0);
    while let Some(next) = table.sort_next(last, sorted, 0) {
        (last, sorted) = (Some(next), sorted + 1);
    }
    let ids: Vec<u32> = table.running_sorted().map(|job| job.id().0).collect();
    assert_eq!(ids, [5, 2, 4, 1, 3]);
}

/// Also with times and priorities at the end of their range. If two jobs have the same time less
/// their priorities, the job that arrived first is before the other.
#[cfg(feature = "priorities")]
#[test]
fn jobs_join_the_queue_less_their_priorities() {
    const MAX: Ticks = Ticks::MAX;
    let mut memory = Memory::new(8, 16, 1);
    let mut table = memory.table();
    for (id, now, priority, expected) in [
        (1, 10, 0, vec![1]),
        (2, 20, 10, vec![1, 2]),
        (3, 20, 11, vec![3, 1, 2]),
        (4, 20, 0, vec![3, 1, 2, 4]),
        (5, MAX, 0, vec![3, 1, 2, 4, 5]),
        (6, MAX, MAX, vec![6, 3, 1, 2, 4, 5]),
        (7, MAX, MAX - 10, vec![6, 3, 1, 2, 7, 4, 5]),
        (8, MAX, 1, vec![6, 3, 1, 2, 7, 4, 8, 5]),
    ] {
        let id = JobId(id);
        let cell = table.cell_for(id).expect("it is new");
        let slot = table.submit((id, cell), &REQUEST.with_priority(priority), 1, now);
        let slot = slot.expect("there is room");
        table.check_invariants();
        let queue: Vec<u32> = table
            .queue()
            .slots()
            .map(|at| table.get(at).id().0)
            .collect();
        assert_eq!(queue, expected);
        let (ahead, behind) = (table.queue().ahead(slot), table.queue().behind(slot));
        assert_eq!(ahead + behind + 1, expected.len() as u32);
        assert_eq!(table.queue().is_before_others(slot), behind > 0);
    }
}
