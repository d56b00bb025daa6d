//! Some strategies search among the sides of blocks while these are few, and read the bitmap
//! otherwise. They decide like the naive ones in both ways and when they change between them: while
//! blocks become more and fewer, with faults inside released blocks.

use meshalloc::{
    Allocator, Block, Change, Configuration, Flags, JobId, Mesh, Request, SchedulerKind, Strategy,
    StrategyKind,
};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, configuration, mesh};
use meshalloc_tests::saved;
use meshalloc_tests::trial::Trial;

/// Edges of words of both lengths, and one row or column.
const MESHES: [(u16, u16); 13] = [
    (1, 1),
    (1, 130),
    (130, 1),
    (8, 8),
    (16, 16),
    (32, 32),
    (33, 12),
    (63, 7),
    (64, 64),
    (65, 9),
    (96, 5),
    (127, 4),
    (129, 6),
];
const OPERATIONS: u32 = 220;
/// More blocks than are searched without the bitmap.
const JOBS: u32 = 24;

/// The strategies that do not read the bitmap while few blocks are busy, on this mesh.
fn strategies(machine: Mesh) -> impl Iterator<Item = StrategyKind> {
    StrategyKind::built().filter(move |&kind| {
        let mut memory = HeapMemory::for_strategy(machine, kind, 1);
        let allocator = Allocator::new(memory.allocator_memory(), machine.into(), kind);
        allocator.is_ok_and(|allocator| allocator.strategy().facts().blocks_unmarked > 0)
    })
}

fn run(strategy: StrategyKind, (w, h): (u16, u16), scheduler: SchedulerKind) {
    let machine = mesh(w, h);
    let mut memory = HeapMemory::for_strategy(machine, strategy, JOBS as usize);
    let mut trial = Trial::new(
        &mut memory,
        Configuration {
            scheduler,
            ..configuration(machine, strategy)
        },
    );
    let mut random = Random::new(u64::from(w) * 1000 + u64::from(h));
    let mut faults: Vec<Block> = Vec::new();
    for operation in 0..OPERATIONS {
        let now = u64::from(operation) * 10;
        // First few large blocks, then more and more small ones, repeatedly.
        let part = 1 << (operation / 20 % 4);
        let job = JobId(random.below(JOBS));
        let command = match random.below(20) {
            // Not in the first round, so that all blocks are unmarked there.
            0 if operation >= 80 => {
                let block = saved::block(&machine.grid(), &mut random);
                faults.push(block);
                Change::MarkFaulty { block }
            }
            1..=3 if !faults.is_empty() => Change::ClearFaulty {
                block: faults.swap_remove(random.below(faults.len() as u32) as usize),
            },
            0..=11 => {
                let side = |random: &mut Random, side: u16| {
                    random.between(1, (u32::from(side) / part).max(1)) as u16
                };
                let request = Request::submesh(side(&mut random, w), side(&mut random, h));
                let flags = match scheduler {
                    SchedulerKind::Fcfs => Flags::NO_WAIT,
                    _ => Flags::empty(),
                };
                let request = request.with_flags(flags).with_estimate(200);
                Change::submit(job, request)
            }
            _ => Change::Release { job },
        };
        trial.step(&command, now);
    }
    trial.finish();
}

/// On all meshes of up to `nodes_max` nodes.
fn run_all(scheduler: SchedulerKind, nodes_max: u32) {
    let mut runs = 0;
    for (w, h) in MESHES {
        if mesh(w, h).nodes() <= nodes_max {
            for strategy in strategies(mesh(w, h)) {
                run(strategy, (w, h), scheduler);
                runs += 1;
            }
        }
    }
    // Short words have fewer of the meshes.
    assert!(runs > 12, "{runs} runs");
}

#[test]
fn few_blocks_are_searched_as_the_naive_form_searches() {
    run_all(SchedulerKind::Fcfs, u32::MAX);
}

/// A supposition is a bitmap, while the real occupancy has few blocks.
#[test]
fn few_blocks_are_searched_between_suppositions() {
    run_all(SchedulerKind::Easy { reservations: 1 }, 1024);
}
