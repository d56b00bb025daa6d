//! Compactness: definitions 1 and 2, lemmas 1 and 2 and theorem 1 of Liu, Hsu and Wu.

use meshalloc::{Allocator, Mesh};
use meshalloc_tests::binary_tree::Tree;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, mesh};

use super::{request, strategy};

/// The meshes of 16 processors, whose states are all visited.
const SMALL: [(u32, u32); 3] = [(4, 4), (8, 2), (16, 1)];

/// Every state of a mesh of up to 16 processors, in the order of a Gray code.
fn every_state((w, h): (u32, u32), mut visit: impl FnMut(&Tree)) {
    let mut tree = Tree::new(w, h, |_, _| false);
    let mut busy = 0_u32;
    for step in 0..1_u32 << (w * h) {
        let next = step ^ step >> 1;
        for node in (0..w * h).filter(|node| (busy ^ next) >> node & 1 == 1) {
            tree.set(node % w, node / w, next >> node & 1 == 1);
        }
        busy = next;
        visit(&tree);
    }
}

/// The tree of a machine's processors.
fn tree_of(allocator: &Allocator<'_>) -> Tree {
    let occupancy = allocator.occupancy();
    let mesh = Mesh::of(occupancy.grid()).expect("a mesh");
    let (w, h) = (mesh.sides().w.into(), mesh.sides().h.into());
    Tree::new(w, h, |x, y| {
        let node = mesh.grid().node(&[x as u16, y as u16]);
        occupancy.is_busy(node.expect("a processor"))
    })
}

/// No state has fewer squares than the stated minimum, and some state has exactly as few.
#[test]
fn the_least_number_of_squares_in_every_state_of_16_processors() {
    for sides in SMALL {
        let mut least = [u32::MAX; 17];
        let mut said = [0; 17];
        every_state(sides, |tree| {
            let free = tree.free(&tree.root) as usize;
            least[free] = least[free].min(tree.free_squares());
            said[free] = tree.free_squares_min();
        });
        assert_eq!(least, said);
    }
}

/// Lemma 1: a state is spatially compact if and only if there is at most one free block of each
/// size, and the parent of a larger one is an ancestor of the smaller ones.
#[test]
fn lemma_1_in_every_state() {
    for sides in [(4, 2), (8, 1)] {
        let (mut compact, mut states) = (0, 0);
        every_state(sides, |tree| {
            let is_spatial = tree.is_spatially_compact();
            assert_eq!(is_spatial, tree.lemma_1_holds());
            compact += u32::from(is_spatial);
            states += 1;
        });
        assert!(compact > 0 && compact < states);
    }
}

/// Theorem 1: a state that is spatially compact is compact. The converse does not hold.
#[test]
fn theorem_1_in_every_state_of_16_processors() {
    for sides in SMALL {
        let mut only_compact = 0;
        every_state(sides, |tree| {
            let (is_compact, is_spatial) = (tree.is_compact(), tree.is_spatially_compact());
            assert!(!is_spatial || is_compact);
            only_compact += u32::from(is_compact && !is_spatial);
        });
        assert!(only_compact > 0);
    }
}

/// The states after each allocation of random numbers of processors, until meshes of several sides
/// are full.
fn states_without_releases(text: &str, mut visit: impl FnMut(&Tree)) {
    for sides in [(4, 4), (8, 8), (16, 8), (16, 16), (64, 2)] {
        let machine = mesh(sides.0, sides.1).grid();
        let mut memory = HeapMemory::new(machine, 1);
        let mut random = Random::new(4);
        for _ in 0..20 {
            let mut allocator =
                Allocator::new(memory.allocator_memory(), machine, strategy(text)).unwrap();
            while allocator.occupancy().free() > 0 {
                let most = (machine.nodes() / 4).min(allocator.occupancy().free());
                let processors = random.between(1, most);
                let _ = allocator.allocate(&request(machine, processors)).unwrap();
                visit(&tree_of(&allocator));
            }
        }
    }
}

/// Lemma 2: as long as nothing is released, SCBT keeps a mesh spatially compact, and so compact.
#[test]
fn allocations_by_the_compact_tree_keep_every_mesh_compact() {
    states_without_releases("scbt", |state| {
        assert!(
            state.is_spatially_compact() && state.is_compact(),
            "{state:?}"
        );
    });
}

/// As long as nothing is released, MBS keeps a mesh compact: it divides a block only when there is
/// none of the size. It is not spatially compact, as the first free block of a size need not be
/// next to what is allocated.
#[test]
fn allocations_by_the_multiple_buddy_strategy_keep_every_mesh_compact() {
    let (mut states, mut spatial) = (0, 0);
    states_without_releases("multiple-buddy", |state| {
        assert!(state.is_compact(), "{state:?}");
        states += 1;
        spatial += u32::from(state.is_spatially_compact());
    });
    assert!(spatial < states);
}

/// Strategies without squares do not keep a mesh compact.
#[test]
fn allocations_by_other_strategies_leave_more_squares() {
    for text in ["naive", "plas"] {
        let mut excess = 0;
        states_without_releases(text, |state| {
            excess += state.free_squares() - state.free_squares_min();
        });
        assert!(excess > 0, "{text}");
    }
}

/// Compactness with releases: the share of states that are compact and spatially compact, and the
/// mean number of free squares above the minimum. `cargo test -p meshalloc-tests --test across
/// after_releases -- --nocapture` prints them, also for other strategies.
#[test]
fn compactness_after_releases_is_measured() {
    let machine = mesh(16, 16).grid();
    let measure = |text: &str| {
        let mut memory = HeapMemory::new(machine, 1);
        let mut allocator =
            Allocator::new(memory.allocator_memory(), machine, strategy(text)).unwrap();
        let mut random = Random::new(16);
        let mut jobs = Vec::new();
        let (mut compact, mut spatial, mut excess) = (0, 0, 0);
        const OPERATIONS: u32 = 4000;
        for _ in 0..OPERATIONS {
            // At half load on average.
            let is_full = allocator.occupancy().free() < 128;
            if jobs.is_empty() || random.percent(if is_full { 35 } else { 65 }) {
                let processors = random.between(1, 32);
                jobs.extend(allocator.allocate(&request(machine, processors)));
            } else {
                let job = jobs.swap_remove(random.below(jobs.len() as u32) as usize);
                allocator.release(job).unwrap();
            }
            let tree = tree_of(&allocator);
            compact += u32::from(tree.is_compact());
            spatial += u32::from(tree.is_spatially_compact());
            excess += tree.free_squares() - tree.free_squares_min();
        }
        let share = |count: u32| f64::from(count) / f64::from(OPERATIONS);
        let (compact, spatial, excess) = (share(compact), share(spatial), share(excess));
        println!(
            "{text}: compact {:.1} %, spatially compact {:.1} %, {excess:.1} free squares above the least",
            100.0 * compact,
            100.0 * spatial
        );
        (compact, spatial, excess)
    };
    let (compact, spatial, excess) = measure("scbt");
    assert!(spatial <= compact && compact < 0.5 && excess > 5.0);
    let (compact, _, excess) = measure("multiple-buddy");
    assert!(compact < 0.5 && excess > 2.0);
    for other in [
        "bt",
        "ind-bt",
        "d-bt",
        "d-dbt:0.5",
        "plas",
        "curve:best-fit",
        "naive",
    ] {
        measure(other);
    }
}
