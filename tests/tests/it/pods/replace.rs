//! On a machine of cubes only the cube that broke is replaced.

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Block, Change, Configuration, Controller, Description as Described, Grid as Machine, JobId,
    NodeId, Outcome, Refusal, SchedulerKind, Slice, Slices,
};
use meshalloc_tests::convert;
use meshalloc_tests::pods::{Aligned, Cubes, Form};
use meshalloc_tests::random::Random;

use super::{CUBES, check_slice, has_rings, named, random_request};

const ROUNDS: u64 = 20_000;

/// The first node of the cube of a node, and the offset in it, of 4 x 4 x 4 in cubes of side 2.
fn split(start: &[u16]) -> (Vec<u16>, Vec<u16>) {
    let origin = start.iter().map(|at| at / 2 * 2).collect();
    (origin, start.iter().map(|at| at % 2).collect())
}

#[test]
fn only_broken_cubes_are_replaced() {
    let grid = Machine::torus(&[4, 4, 4]).expect("a torus");
    let machine = Described::new(grid)
        .and_then(|machine| machine.with_cube(&[2, 2, 2]))
        .expect("eight cubes");
    let model = convert::grid(grid);
    let cube = [2; 3];
    let naive = Cubes::new(&model, &cube, Aligned::new(&[1; 3], true));
    let configuration = Configuration {
        machine: grid,
        strategy: CUBES,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut storage = HeapStorage::new(Needs::described(CUBES, &machine, 64), 64);
    let memory = storage.memory().describing(&machine);
    let mut controller = Controller::new(memory, configuration).expect("it is served");
    let mut random = Random::new(57);
    let (mut parts, mut whole, mut refused) = (0, 0, 0);
    // The cubes in the order of their numbers.
    let all = (0..8_u16).map(|at| vec![at % 2 * 2, at / 2 % 2 * 2, at / 4 * 2]);
    let all: Vec<Vec<u16>> = all.collect();
    for now in 0..ROUNDS {
        let job = JobId(random.below(8));
        let node = NodeId(random.below(grid.nodes()));
        let unit = grid.unit(node).expect("a node");
        let change = match random.below(10) {
            0..5 => {
                let slices = Slices::new(random.between(1, 2)).expect("a number of slices");
                let request = random_request(&mut random, 3, 4);
                Change::submit(job, request.with_slices(slices))
            }
            5..7 => Change::Release { job },
            7 => Change::MarkFaulty { block: unit },
            _ => Change::ClearFaulty { block: unit },
        };
        let _ = controller.handle(&change, now);
        let view = controller.view();
        let old: Vec<Block> = view.blocks(job).collect();
        let occupancy = controller.occupancy();
        let nodes = (0..grid.nodes()).map(NodeId);
        let nodes_of = |block: Block| nodes.clone().filter(move |&node| grid.holds(block, node));
        let is_broken = |block: Block| nodes_of(block).any(|node| occupancy.is_faulty(node));
        if !old.iter().any(|&block| is_broken(block)) {
            continue;
        }
        // Part by part: the cube with the fewest free processors, none of which has another part.
        let cube_at = |origin: &[u16]| grid.block(origin, &[2; 3]).expect("a cube");
        let mut taken: Vec<Vec<u16>> = old.iter().map(|&it| split(&grid.start(it)).0).collect();
        let mut moved = Some(Vec::new());
        for &block in &old {
            let offset = split(&grid.start(block)).1;
            let at = |origin: &Vec<u16>| {
                let start: Vec<_> = origin.iter().zip(&offset).map(|(at, by)| at + by).collect();
                grid.block(&start, &grid.extent(block))
                    .expect("within a cube")
            };
            if !is_broken(block) {
                moved.iter_mut().for_each(|moved| moved.push(block));
                continue;
            }
            let free = |origin: &&Vec<u16>| {
                let nodes = nodes_of(cube_at(origin));
                nodes.filter(|&node| !occupancy.is_busy(node)).count()
            };
            let others = all.iter().filter(|origin| !taken.contains(origin));
            let fits = others.filter(|origin| occupancy.is_free(at(origin)));
            let best = fits.min_by_key(free).cloned();
            match (best, &mut moved) {
                (Some(origin), Some(blocks)) => {
                    blocks.push(at(&origin));
                    taken.push(origin);
                }
                _ => moved = None,
            }
        }
        // Else the whole slice, as if the working processors were free.
        let slot = controller.jobs().find(job).expect("it runs");
        let request = *controller.jobs().get(slot).request();
        let (sides, demanded) = named(&request, 3);
        let is_own = |node| old.iter().any(|&block| grid.holds(block, NodeId(node)));
        let is_busy = |node: u32| {
            let (busy, faulty) = (
                occupancy.is_busy(NodeId(node)),
                occupancy.is_faulty(NodeId(node)),
            );
            faulty || busy && !is_own(node)
        };
        let accepts = |form: &Form, laid: &[u32]| {
            has_rings(request.may_rotate(), &cube, &sides, &demanded, form, laid)
        };
        // One slice of a gang after the other.
        let mut elsewhere = Some(Vec::<Block>::new());
        for _ in 0..request.slices() {
            let Some(blocks) = &mut elsewhere else { break };
            let is_taken = |node| {
                let mut earlier = blocks.iter();
                is_busy(node) || earlier.any(|&block| grid.holds(block, NodeId(node)))
            };
            let found = naive.place(&sides, request.may_rotate(), false, &is_taken, &accepts);
            match found {
                Some((_, places)) => {
                    blocks.extend(places.iter().map(|place| convert::block(grid, place)));
                }
                None => elsewhere = None,
            }
        }
        let is_moved = moved.is_some();
        let expected = moved.or(elsewhere);
        let outcome = controller.handle(&Change::Replace { job }, now);
        controller.check_invariants();
        let new: Vec<Block> = controller.view().blocks(job).collect();
        match (expected, outcome) {
            (Some(blocks), Ok(Outcome::Done)) => {
                assert_eq!(new, blocks, "{request:?} in {old:?}");
                for slice in 0..request.slices() {
                    let list: Vec<_> = controller.view().blocks_of_slice(job, slice).collect();
                    let (one, blocks) = (request.with_slices(Slices::ONE), list.iter().copied());
                    let slice = Slice::of(Some(&machine), &grid, CUBES, &one, &blocks);
                    check_slice(&slice.expect("a slice"), &model, Some(&cube), &one, &list);
                }
                *(if is_moved { &mut parts } else { &mut whole }) += 1;
            }
            (None, Err(error)) => {
                let refusal = error.refusal().expect("a refusal");
                assert!(
                    refusal.is_temporary() && refusal != Refusal::TableFull,
                    "{error}"
                );
                assert_eq!(new, old);
                refused += 1;
            }
            (expected, outcome) => panic!("{request:?}: {expected:?}, {outcome:?}"),
        }
    }
    println!("{parts} in parts, {whole} as a whole, {refused} refused");
    assert!(
        parts > 150 && whole > 80 && refused > 60,
        "{parts}, {whole}, {refused}"
    );
}
