//! Strategies that are not of the crate: what they propose is checked before it takes effect.

use std::cell::RefCell;

use meshalloc::{
    AllocateError, Allocation, Allocator, Block, Draft, Grid, HeldBlock, IllegalProposal, NodeId,
    Refusal, Request, Site, Strategy, StrategyKind, Submesh,
};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, cube, mesh};

/// Proposes these blocks for any request.
struct Says<'a>(&'a RefCell<Vec<Block>>);

impl Strategy for Says<'_> {
    fn demand(&self, _: &Grid, request: &Request) -> Result<u32, Refusal> {
        Ok(request.processors)
    }

    fn propose(&mut self, _: &Site<'_>, _: &Request, draft: &mut Draft<'_, '_>) -> bool {
        self.0.borrow().iter().for_each(|&block| draft.push(block));
        true
    }
}

/// Proposes the first free processor to a request for one. Remembers the held blocks that it was
/// shown.
struct Looks<'a>(&'a RefCell<Vec<Option<Vec<HeldBlock>>>>);

impl Strategy for Looks<'_> {
    fn demand(&self, _: &Grid, _: &Request) -> Result<u32, Refusal> {
        Ok(1)
    }

    fn propose(&mut self, site: &Site<'_>, request: &Request, draft: &mut Draft<'_, '_>) -> bool {
        let held = site.outlook(draft).map(|outlook| outlook.held().collect());
        self.0.borrow_mut().push(held);
        if request.shape.area() > 1 {
            return false;
        }
        let mut nodes = (0..site.grid().nodes()).map(NodeId);
        let free = nodes.find(|&node| !site.occupancy.is_busy(node));
        let block = free.and_then(|node| site.grid().unit(node));
        block.map(|block| draft.push(block)).is_some()
    }
}

fn block(x: u16, y: u16, w: u16, h: u16) -> Block {
    Submesh::new(x, y, w, h).into()
}

/// The state that an allocation changes.
fn state<S: Strategy>(allocator: &Allocator<'_, S>) -> (u32, Vec<bool>) {
    let occupancy = allocator.occupancy();
    let busy = (0..occupancy.grid().nodes()).map(|node| occupancy.is_busy(NodeId(node)));
    (occupancy.free(), busy.collect())
}

#[test]
fn an_illegal_proposal_is_an_error_and_changes_nothing() {
    let machine = mesh(8, 8).grid();
    let (mut memory, request) = (
        HeapMemory::for_strategy(machine, StrategyKind::FirstFit, 3),
        Request::submesh(2, 2),
    );
    let good = vec![block(4, 4, 2, 2)];
    for (blocks, expected) in [
        (
            vec![block(7, 0, 2, 2)],
            IllegalProposal::Outside {
                at: 0,
                block: block(7, 0, 2, 2),
            },
        ),
        (
            vec![block(0, 0, 0, 2)],
            IllegalProposal::Outside {
                at: 0,
                block: block(0, 0, 0, 2),
            },
        ),
        // <2, 2> is faulty, <1, 1> is held.
        (
            vec![block(2, 2, 2, 2)],
            IllegalProposal::Busy {
                at: 0,
                block: block(2, 2, 2, 2),
            },
        ),
        (
            vec![block(5, 5, 2, 1), block(1, 1, 2, 1)],
            IllegalProposal::Busy {
                at: 1,
                block: block(1, 1, 2, 1),
            },
        ),
        (
            vec![block(4, 4, 2, 1), block(5, 3, 1, 2)],
            IllegalProposal::Overlapping {
                at: 1,
                block: block(5, 3, 1, 2),
            },
        ),
        (
            vec![block(4, 4, 1, 3)],
            IllegalProposal::TooFew {
                processors: 3,
                wanted: 4,
            },
        ),
        (
            Vec::new(),
            IllegalProposal::TooFew {
                processors: 0,
                wanted: 4,
            },
        ),
    ] {
        let said = RefCell::new(vec![block(0, 0, 2, 2)]);
        let lent = memory.allocator_memory();
        let mut allocator = Allocator::with_strategy(lent, machine, Says(&said)).unwrap();
        let held = allocator.allocate_checked(&request).unwrap();
        allocator.mark_faulty(block(2, 2, 1, 1));
        let before = state(&allocator);
        said.replace(blocks);
        // More often than there is room for blocks: the room is free again each time.
        for _ in 0..5 {
            let illegal = allocator.allocate_checked(&request).unwrap_err();
            assert_eq!(illegal, AllocateError::Illegal(expected));
            assert_eq!(state(&allocator), before, "{expected:?}");
        }
        said.replace(good.clone());
        let other = allocator.allocate_checked(&request).unwrap();
        assert!(allocator.blocks(&other).unwrap().eq(good.clone()));
        allocator.check_invariants();
        assert_eq!(allocator.release(other).unwrap(), 4);
        assert_eq!(allocator.release(held).unwrap(), 4);
        assert_eq!(allocator.occupancy().free(), 63);
    }
}

/// A proposal for which there is no room is refused, as for any strategy.
#[test]
fn a_proposal_of_more_blocks_than_there_is_room_for_is_refused() {
    let machine = mesh(8, 8).grid();
    let mut memory = HeapMemory::for_strategy(machine, StrategyKind::FirstFit, 3);
    let said = RefCell::new((0..4).map(|x| block(x, 0, 1, 1)).collect());
    let lent = memory.allocator_memory();
    let mut allocator = Allocator::with_strategy(lent, machine, Says(&said)).unwrap();
    let refused = allocator.allocate_checked(&Request::submesh(2, 2));
    assert_eq!(refused.unwrap_err(), Refusal::TableFull.into());
    let never = allocator.allocate_checked(&Request::submesh(0, 2));
    assert_eq!(never.unwrap_err(), Refusal::EmptyRequest.into());
    allocator.check_invariants();
}

/// The strategies of the crate propose nothing illegal, and the check changes no decision.
#[test]
fn what_the_strategies_of_the_crate_propose_is_legal() {
    let mut granted = 0;
    for machine in [mesh(8, 8).grid(), cube(4, 3).grid()] {
        for kind in StrategyKind::built().filter(|kind| kind.serves().includes(&machine)) {
            let mut memories = [(); 2].map(|()| HeapMemory::for_strategy(machine, kind, 64));
            let [checked, believed] = &mut memories;
            let mut checked = Allocator::new(checked.allocator_memory(), machine, kind).unwrap();
            let mut believed = Allocator::new(believed.allocator_memory(), machine, kind).unwrap();
            let mut held: Vec<[Allocation; 2]> = Vec::new();
            let mut random = Random::new(5);
            for _ in 0..200 {
                if !held.is_empty() && random.percent(40) {
                    let at = random.below(held.len() as u32) as usize;
                    let [one, other] = held.swap_remove(at);
                    assert_eq!(checked.release(one), believed.release(other));
                    continue;
                }
                let side = |random: &mut Random| random.between(1, 4) as u16;
                let request = Request::submesh(side(&mut random), side(&mut random));
                match (
                    checked.allocate_checked(&request),
                    believed.allocate(&request),
                ) {
                    (Ok(one), Ok(other)) => {
                        let blocks = checked.blocks(&one).unwrap();
                        assert!(blocks.eq(believed.blocks(&other).unwrap()), "{kind}");
                        held.push([one, other]);
                        granted += 1;
                    }
                    (Err(AllocateError::Refused(one)), Err(other)) => assert_eq!(one, other),
                    (one, other) => panic!("{kind}: {one:?}, {other:?}"),
                }
            }
            checked.check_invariants();
        }
    }
    assert!(granted > 2000, "{granted}");
}

/// The outlook comes before each search and ends with it, also with one that finds nothing.
#[test]
fn a_strategy_that_looks_ahead_is_shown_the_held_blocks() {
    let machine = mesh(2, 1).grid();
    let mut memory = HeapMemory::for_strategy(machine, StrategyKind::FirstFit, 3);
    let shown = RefCell::default();
    let memory = memory.allocator_memory();
    let mut allocator = Allocator::with_strategy(memory, machine, Looks(&shown)).unwrap();
    let request = Request::submesh(1, 1);
    let held = |x| HeldBlock {
        block: block(x, 0, 1, 1),
        ends: None,
    };
    for before in [vec![], vec![held(0)]] {
        let two = allocator.allocate_checked(&Request::submesh(2, 1));
        assert_eq!(two, Err(AllocateError::Refused(Refusal::Fragmented)));
        assert_eq!(shown.take(), [Some(before.clone())]);
        let _ = allocator.allocate_checked(&request).unwrap();
        assert_eq!(shown.take(), [Some(before)]);
    }
    assert!(!allocator.fits(&request));
    let refused = AllocateError::Refused(Refusal::TooFewFree);
    assert_eq!(allocator.allocate_checked(&request), Err(refused));
    assert_eq!(shown.take(), []);
}
