//! Slices in cubes: `cubes` and `cubes:fold`.

use meshalloc::{
    Block, Description as Described, Grid as Machine, NodeId, Refusal, Slice, StrategyKind,
};
use meshalloc_tests::convert;
use meshalloc_tests::pods::{Aligned, Cubes, Form};
use meshalloc_tests::random::Random;

use super::{CUBES, STATES, check_slice, has_rings, named, random_request, shape, with};

/// Random states of machines of cubes, `cubes` and `cubes:fold` against the naive form, and each
/// link of each slice.
#[test]
fn slices_in_cubes_are_those_of_the_naive_form_and_their_links_meet() {
    let mut random = Random::new(38);
    let machines: [(&[u16], &[u16], u32); 4] = [
        (&[4, 4, 4], &[2, 2, 2], 100),
        (&[6, 4], &[3, 2], 20),
        (&[4, 2, 2, 4], &[2, 2, 1, 2], 10),
        (&[12], &[3], 5),
    ];
    let (mut granted, mut mixed, mut folded, mut refused) = (0, 0, 0, 0);
    for (sides, cube, share) in machines {
        let grid = Machine::torus(sides).expect("a torus");
        let machine = Described::new(grid)
            .and_then(|machine| machine.with_cube(cube))
            .expect("a machine");
        let model = convert::grid(grid);
        let cube: Vec<u32> = cube.iter().map(|&side| side.into()).collect();
        let anywhere = Aligned::new(&vec![1; cube.len()], true);
        let naive = Cubes::new(&model, &cube, anywhere);
        let longest = if sides.len() == 1 { 12 } else { 7 };
        for fold in [false, true] {
            with(&machine, StrategyKind::Cubes { fold }, |allocator| {
                for _ in 0..STATES * share / 100 {
                    let faults = random.below(grid.nodes());
                    for _ in 0..faults {
                        let node = NodeId(random.below(grid.nodes()));
                        allocator.mark_faulty(grid.unit(node).expect("a node"));
                    }
                    for _ in 0..3 {
                        let request = random_request(&mut random, sides.len(), longest);
                        let (named, demanded) = named(&request, sides.len());
                        let is_busy = |node: u32| allocator.occupancy().is_busy(NodeId(node));
                        let accepts = |form: &Form, sides: &[u32]| {
                            has_rings(request.may_rotate(), &cube, &named, &demanded, form, sides)
                        };
                        let rotates = request.may_rotate();
                        let expected = naive.place(&named, rotates, fold, &is_busy, &accepts);
                        let answer = allocator.allocate(&request);
                        let job = match (&expected, answer) {
                            (Some(_), Ok(job)) => job,
                            (None, Err(_)) => {
                                refused += 1;
                                continue;
                            }
                            (expected, answer) => panic!("{request:?}: {expected:?}, {answer:?}"),
                        };
                        let (sides, places) = expected.expect("a place");
                        let places: Vec<Block> = places
                            .iter()
                            .map(|place| convert::block(grid, place))
                            .collect();
                        let blocks: Vec<Block> = allocator.blocks(&job).expect("held").collect();
                        assert_eq!(blocks, places, "{request:?} {sides:?}");
                        let kind = StrategyKind::Cubes { fold };
                        let list = blocks.iter().copied();
                        let slice = Slice::of(Some(&machine), &grid, kind, &request, &list);
                        let slice = slice.expect("a slice");
                        check_slice(&slice, &model, Some(&cube), &request, &blocks);
                        granted += 1;
                        folded += u32::from(slice.folded().is_some());
                        let is_mixed = |(side, of): (&u32, &u32)| side > of && side % of > 0;
                        mixed += u32::from(sides.iter().zip(&cube).any(is_mixed));
                        allocator.release(job).expect("it is held");
                    }
                    allocator.clear_faulty(grid.block(&vec![0; sides.len()], sides).expect("all"));
                }
                allocator.check_invariants();
            });
        }
    }
    println!("{granted} granted, {mixed} mixed, {folded} folded, {refused} refused");
    assert!(granted > STATES && mixed > STATES / 20 && folded > STATES / 20);
}

/// The drawing in the documentation of `cubes`: a place exists, but one part takes the cube that
/// another part needs.
#[test]
fn mixed_slices_are_greedy() {
    let grid = Machine::torus(&[4, 4]).expect("a torus");
    let machine = Described::new(grid)
        .and_then(|machine| machine.with_cube(&[2, 2]))
        .expect("a machine");
    with(&machine, CUBES, |allocator| {
        let busy = [(1, 1), (3, 0), (1, 2), (0, 3), (1, 3)];
        for (x, y) in busy {
            allocator.mark_faulty(grid.block(&[x, y], &[1, 1]).expect("a node"));
        }
        assert_eq!(
            allocator.allocate(&shape(&[3, 3])).unwrap_err(),
            Refusal::Fragmented
        );
        // The parts in other cubes: all are free, and the links meet.
        let parts = [
            ((2, 2), (2, 2)),
            ((2, 0), (1, 2)),
            ((0, 0), (2, 1)),
            ((0, 2), (1, 1)),
        ];
        let parts = parts.map(|((x, y), (w, h))| grid.block(&[x, y], &[w, h]).expect("a part"));
        assert!(
            parts
                .iter()
                .all(|&part| allocator.occupancy().is_free(part))
        );
        let request = shape(&[3, 3]);
        let slice = Slice::of(Some(&machine), &grid, CUBES, &request, &parts.into_iter());
        let slice = slice.expect("a slice");
        check_slice(
            &slice,
            &convert::grid(grid),
            Some(&[2, 2]),
            &request,
            &parts,
        );
        // Without the cube that is in the way there is no choice.
        allocator.mark_faulty(grid.block(&[0, 1], &[1, 1]).expect("a node"));
        let job = allocator.allocate(&request).expect("a place");
        assert!(allocator.blocks(&job).expect("held").eq(parts));
    });
}
