//! The free submesh list is that of the dominant free submeshes, by whatever operations an
//! occupancy arises, also in memory of exactly one entry for each node. The tests also measure its
//! length.
//!
//! Theorem 1 of Kim and Yoon 1995 (at most `4 * k` dominant free submeshes around `k` allocated
//! ones) is false. What holds is `min(free nodes, (k + 1)^2)`.

use meshalloc::{Allocation, Allocator, Change, Controller, Request, StrategyKind, Submesh};
use meshalloc_tests::convert;
use meshalloc_tests::grid::NaiveMachine;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{
    HeapMemory, ask, configuration, free_submesh_list, mesh, release, set_faulty, submesh, submit,
};
use meshalloc_tests::submesh::Rect;

/// A controller whose busy nodes are all faulty, and a map of the busy nodes.
struct Bench<'m> {
    controller: Controller<'m>,
    picture: NaiveMachine,
    /// The busy nodes.
    k: usize,
}

impl Bench<'_> {
    /// Runs `body` with an empty mesh and memory of exactly the necessary size.
    fn with(w: u16, h: u16, body: impl FnOnce(&mut Bench<'_>)) {
        let mesh = mesh(w, h);
        let mut memory = HeapMemory::new(mesh, 1);
        let configuration = configuration(mesh, StrategyKind::FreeSubmeshList);
        let controller = Controller::new(memory.memory(), configuration).unwrap();
        assert_eq!(controller.capacity().list, mesh.nodes());
        body(&mut Bench {
            controller,
            picture: NaiveMachine::mesh(w, h),
            k: 0,
        });
    }

    fn set(&mut self, (x, y): (i32, i32), busy: bool) {
        let node = self.picture.node(x, y);
        if self.picture.is_busy(node) != busy {
            set_faulty(&mut self.controller, node, busy);
            self.picture.set(node, busy);
            self.k = if busy { self.k + 1 } else { self.k - 1 };
        }
    }

    fn list(&self) -> Vec<Rect> {
        let list = free_submesh_list(&self.controller).into_iter();
        list.map(convert::rect).collect()
    }

    fn len(&self) -> usize {
        free_submesh_list(&self.controller).len()
    }

    /// Checks the invariants (the list is complete and in order) and the bound.
    fn check(&self) {
        self.controller.check_invariants();
        let free = self.picture.free() as usize;
        let bound = free.min((self.k + 1) * (self.k + 1));
        assert!(
            self.len() <= bound,
            "{} > {bound} in\n{}",
            self.len(),
            self.picture
        );
    }

    /// Against the naive list.
    fn check_by_definition(&self) {
        self.check();
        let expected = self.picture.scan().dominant_free_submeshes();
        assert_eq!(self.list(), expected, "in\n{}", self.picture);
    }

    /// Makes the nodes busy in random order, then free in another order, with checks at intervals.
    fn fill_and_empty(&mut self, nodes: &[(i32, i32)], seed: u64, check_every: usize) {
        let mut random = Random::new(seed);
        for busy in [true, false] {
            for (at, node) in shuffled(nodes, &mut random).into_iter().enumerate() {
                self.set(node, busy);
                if at % check_every == 0 {
                    self.check();
                }
            }
            self.check_by_definition();
        }
        let whole = self.picture.whole();
        assert_eq!(self.list(), [whole]);
    }
}

fn shuffled(nodes: &[(i32, i32)], random: &mut Random) -> Vec<(i32, i32)> {
    let mut nodes = nodes.to_vec();
    for at in (1..nodes.len()).rev() {
        nodes.swap(at, random.below(at as u32 + 1) as usize);
    }
    nodes
}

#[test]
fn three_units_on_7_by_7_leave_thirteen() {
    Bench::with(7, 7, |bench| {
        for node in [(1, 1), (5, 3), (3, 5)] {
            bench.set(node, true);
            bench.check_by_definition();
        }
        assert_eq!((bench.k, bench.len()), (3, 13));
    });
}

/// Two chains of units, each down and to the right, one behind the other. Any neighbours in one
/// chain bound a free submesh at the lower left, any in the other at the upper right.
#[test]
fn two_antidiagonal_chains_leave_quadratically_many() {
    for m in 2..=15 {
        let side = 4 * m + 1;
        Bench::with(side, side, |bench| {
            let m = i32::from(m);
            for i in 0..m {
                let near = (1 + 2 * i, 1 + 2 * (m - 1 - i));
                bench.set(near, true);
                bench.set((near.0 + 2 * m, near.1 + 2 * m), true);
            }
            bench.check_by_definition();
            // With k = 2 m units: k^2 / 4 + 4 k - 1.
            assert_eq!(bench.len() as i32, m * m + 8 * m - 1);
            assert!(bench.len() > 4 * bench.k);
        });
    }
}

#[test]
fn checkerboard() {
    Bench::with(64, 64, |bench| {
        let whole = bench.picture.whole();
        let black: Vec<_> = whole.nodes().filter(|(x, y)| (x + y) % 2 == 0).collect();
        let mut random = Random::new(1);
        for (at, node) in shuffled(&black, &mut random).into_iter().enumerate() {
            bench.set(node, true);
            if at % 128 == 0 {
                bench.check();
            }
        }
        // Every free node is alone.
        bench.check_by_definition();
        assert_eq!(bench.len(), 64 * 64 / 2);
        bench.fill_and_empty(&black, 2, 128);
    });
}

#[test]
fn combs() {
    Bench::with(64, 64, |bench| {
        let whole = bench.picture.whole();
        // Busy teeth, three nodes apart and of different lengths, from below and from above.
        let teeth: Vec<_> = whole
            .nodes()
            .filter(|&(x, y)| x % 3 == 1 && (y < x || y > 72 - x / 2))
            .collect();
        bench.fill_and_empty(&teeth, 3, 64);
        // Free teeth of width 1: every other column, joined at the bottom.
        let gaps: Vec<_> = whole
            .nodes()
            .filter(|&(x, y)| x % 2 == 1 && y > 0)
            .collect();
        bench.fill_and_empty(&gaps, 4, 64);
        // A grid of single busy nodes.
        let grid: Vec<_> = whole
            .nodes()
            .filter(|&(x, y)| x % 4 == 1 && y % 4 == 2)
            .collect();
        bench.fill_and_empty(&grid, 5, 16);
    });
}

#[test]
fn random_units_at_every_density() {
    for percent in (10..=90).step_by(10) {
        Bench::with(33, 33, |bench| {
            let mut random = Random::new(u64::from(percent));
            let whole = bench.picture.whole();
            let nodes: Vec<_> = whole.nodes().filter(|_| random.percent(percent)).collect();
            bench.fill_and_empty(&nodes, u64::from(percent), 16);
        });
    }
}

/// From every occupancy of a small mesh, every single node is made busy or free and back. Returns
/// the number of steps for which the memory is certainly too small.
///
/// Before a node leaves the list, the submeshes that touch it are copied behind the list. If the
/// memory has too few entries for that, which the naive lists show, the list must come from the
/// fallback and be the same. (Releases need scratch memory too, but no test can see for which
/// lists.)
fn every_step(w: u16, h: u16) -> usize {
    let mut steps_without_room = 0;
    Bench::with(w, h, |bench| {
        let nodes: Vec<_> = bench.picture.whole().nodes().collect();
        let lists: Vec<Vec<Rect>> = (0..1u32 << nodes.len())
            .map(|occupancy| {
                let mut picture = bench.picture.clone();
                for at in 0..picture.nodes() {
                    picture.set(at, occupancy >> at & 1 == 1);
                }
                picture.scan().dominant_free_submeshes()
            })
            .collect();
        let assert_list = |bench: &Bench<'_>, occupancy: u32| {
            let expected = &lists[occupancy as usize];
            assert_eq!(bench.list(), *expected, "in\n{}", bench.picture);
        };
        for step in 0..1u32 << nodes.len() {
            let occupancy = step ^ step >> 1;
            for (at, &node) in nodes.iter().enumerate() {
                bench.set(node, occupancy >> at & 1 == 1);
            }
            for (at, &(x, y)) in nodes.iter().enumerate() {
                let busy = occupancy >> at & 1 == 1;
                let after = occupancy ^ 1 << at;
                bench.set((x, y), !busy);
                assert_list(bench, after);
                bench.set((x, y), busy);
                assert_list(bench, occupancy);
                let list = &lists[occupancy as usize];
                let copied = list.iter().filter(|s| touches(s, x, y)).count();
                let without_room = !busy && list.len() + copied > nodes.len();
                steps_without_room += usize::from(without_room);
            }
        }
        bench.check_by_definition();
    });
    steps_without_room
}

/// Whether the node belongs to the submesh or is beside it or at a corner of it.
fn touches(s: &Rect, x: i32, y: i32) -> bool {
    Rect::new(s.x1 - 1, s.y1 - 1, s.x2 + 1, s.y2 + 1).has(x, y)
}

#[test]
fn every_step_of_small_meshes_in_exactly_enough_memory() {
    let sides = [
        (1, 1),
        (2, 1),
        (2, 2),
        (1, 7),
        (3, 2),
        (3, 3),
        (4, 3),
        (3, 5),
        (4, 4),
    ];
    let without_room = sides.map(|(w, h)| every_step(w, h));
    // The first is the only node of a 1 x 1 mesh; the others are in the middle of holes on 3 x 3, 4
    // x 3 and 4 x 4.
    assert_eq!(without_room, [1, 0, 0, 0, 0, 5, 4, 0, 4]);
}

/// All nodes of a 4 x 4 mesh whose bits are set, from a number that has one for each.
fn nodes_4_by_4(bits: u32) -> impl Iterator<Item = u32> {
    // 5 and 16 have no common factor, so every node has its turn.
    (0..16)
        .map(|at| (at * 5 + 3) % 16)
        .filter(move |node| bits >> node & 1 == 1)
}

/// Every occupancy, each made from an empty mesh, the faults in another order than that of the
/// nodes.
#[test]
fn every_occupancy_from_an_empty_mesh() {
    Bench::with(4, 4, |bench| {
        for occupancy in 0..1 << 16 {
            ask(&mut bench.controller, &Change::Reset);
            bench.picture = NaiveMachine::mesh(4, 4);
            for node in nodes_4_by_4(occupancy) {
                set_faulty(&mut bench.controller, node, true);
                bench.picture.set(node, true);
            }
            let expected = bench.picture.scan().dominant_free_submeshes();
            assert_eq!(bench.list(), expected, "in\n{}", bench.picture);
        }
    });
}

/// The same when faults come under a running job, beside it and both, and when the job then leaves
/// its faulty nodes behind.
#[test]
fn every_fault_under_a_job() {
    Bench::with(4, 4, |bench| {
        for faults in 0..1 << 16 {
            ask(&mut bench.controller, &Change::Reset);
            let answer = submit(&mut bench.controller, 7, Request::submesh(3, 2));
            assert_eq!(answer.submesh(), Some(Submesh::new(0, 0, 3, 2)));
            for node in nodes_4_by_4(faults) {
                set_faulty(&mut bench.controller, node, true);
            }
            for held in [Some(Rect::based_at(0, 0, 3, 2)), None] {
                if held.is_none() {
                    release(&mut bench.controller, 7);
                }
                bench.picture = NaiveMachine::mesh(4, 4);
                held.into_iter()
                    .for_each(|job| bench.picture.fill(job, true));
                nodes_4_by_4(faults).for_each(|node| bench.picture.set(node, true));
                let expected = bench.picture.scan().dominant_free_submeshes();
                assert_eq!(bench.list(), expected, "in\n{}", bench.picture);
            }
        }
    });
}

/// The list of a supposition is made behind the list, or over it where there is no room. Every
/// occupancy of a 3 x 3 mesh, and every one that is supposed there.
#[test]
fn the_list_is_the_same_behind_every_supposition() {
    const NODES: usize = 9;
    let machine = mesh(3, 3);
    let unit = Request::submesh(1, 1);
    // A supposed place is a block for a while, for which there is no room beside nine.
    for held in 0u32..(1 << NODES) - 1 {
        let mut memory = HeapMemory::for_strategy(machine, StrategyKind::FreeSubmeshList, NODES);
        let mut allocator = Allocator::new(
            memory.allocator_memory(),
            machine.into(),
            StrategyKind::FreeSubmeshList,
        )
        .unwrap();
        // Each node gets a job of its own; then the jobs of the nodes that are to be free leave.
        let mut jobs: [Option<Allocation>; NODES] = Default::default();
        for _ in 0..NODES {
            let job = allocator.allocate(&unit).unwrap();
            let base = submesh(allocator.blocks(&job).unwrap().next().unwrap()).base;
            jobs[usize::from(3 * base.y + base.x)] = Some(job);
        }
        for (node, job) in jobs.iter_mut().enumerate() {
            if held >> node & 1 == 0 {
                allocator.release(job.take().unwrap()).unwrap();
            }
        }
        let list = |allocator: &Allocator<'_>| {
            let list = allocator.strategy().dominant_free_submeshes();
            list.expect("it was asked for").collect::<Vec<_>>()
        };
        let before = list(&allocator);
        for busy in 0u32..1 << NODES {
            let mut supposition = allocator.suppose();
            for (node, job) in (0..).zip(&jobs) {
                let is_busy = busy >> node & 1 == 1;
                match job {
                    Some(job) if !is_busy => supposition.give_back(job).unwrap(),
                    None if is_busy => {
                        supposition.occupy(Submesh::new(node % 3, node / 3, 1, 1).into());
                    }
                    _ => {}
                }
            }
            let block = supposition.block(&unit);
            assert_eq!(block.is_some(), busy.count_ones() < NODES as u32);
            let nodes = |bits: u32| (0..NODES).filter(move |node| bits >> node & 1 == 1);
            let [held, busy] = [held, busy].map(|bits| nodes(bits).collect::<Vec<_>>());
            assert_eq!(
                list(&allocator),
                before,
                "jobs on the nodes {held:?} of 3 x 3, supposed busy: {busy:?}"
            );
        }
    }
}
