//! The worked examples of Alshdefat 2019, and the promises of her strategies on random states.
//!
//! The pictures of Figs. 3-2 to 3-10 are lost; the states are made so that each is consistent with
//! the text: the request, the nucleus and the number of neighbours are the thesis's, the busy
//! processors are ours.

use std::collections::BTreeSet;

use meshalloc::{Flags, Request, StrategyKind, Submesh};
use meshalloc_tests::convert;
use meshalloc_tests::grid::NaiveMachine;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, mesh, submesh};
use meshalloc_tests::shaped::components;
use meshalloc_tests::submesh::Rect;
use meshalloc_tests::trial::Probe;

/// Places a request on a mesh drawn as rows, the highest first, `#` for busy. Compares the result
/// with the naive form.
fn granted(kind: StrategyKind, rows: &[&str], request: Request) -> Vec<Submesh> {
    let machine = mesh(rows[0].len() as u16, rows.len() as u16);
    let mut memory = HeapMemory::new(machine, 1);
    let mut probe = Probe::new(&mut memory, kind, machine.grid());
    let marks = rows.iter().rev().flat_map(|row| row.chars());
    for (node, mark) in (0..).zip(marks) {
        probe.set(node, mark == '#');
    }
    let _ = probe.compare(request);
    let answer = probe.ask(request);
    let blocks = answer.grants.iter().flat_map(|granted| &granted.blocks);
    blocks.map(|&block| submesh(block)).collect()
}

fn submeshes<const LEN: usize>(expected: [(u16, u16, u16, u16); LEN]) -> Vec<Submesh> {
    let submesh = |(x, y, w, h)| Submesh::new(x, y, w, h);
    expected.map(submesh).to_vec()
}

/// Figs. 3-2 and 3-3: the nucleus 2 x 6, and the neighbours 1, 2 and 3.
#[test]
fn nas_3_by_5() {
    let rows = [
        "..#####", "..#####", "..#####", "..#####", "..#####", "..#####", ".......",
    ];
    let blocks = granted(StrategyKind::Neighbor, &rows, Request::submesh(3, 5));
    assert_eq!(
        blocks,
        submeshes([(0, 0, 2, 6), (2, 0, 1, 1), (0, 6, 2, 1)])
    );
    // On the empty mesh, which the text describes, step 3 of Fig. 3-11 finds the request as it is.
    let blocks = granted(
        StrategyKind::Neighbor,
        &["......."; 7],
        Request::submesh(3, 5),
    );
    assert_eq!(blocks, submeshes([(0, 0, 3, 5)]));
}

/// Figs. 3-4 and 3-5: beside the job of the first example the nucleus 2 x 4, and four neighbours.
#[test]
fn nas_4_by_3() {
    let rows = [
        "###....", "##.#..#", "##.#..#", "##.#..#", "##.#..#", "##.#.##", "######.",
    ];
    let blocks = granted(StrategyKind::Neighbor, &rows, Request::submesh(4, 3));
    // First pass: <4, 1>, <4, 6> and <5, 6>; second pass: <3, 6>, the first in row-major order.
    assert_eq!(
        blocks,
        submeshes([(4, 2, 2, 4), (4, 1, 1, 1), (3, 6, 3, 1)])
    );
}

/// Figs. 3-6 and 3-7: the nucleus 3 x 2. The text adds 6 processors, which is a slip: 18 - 6 = 12.
#[test]
fn nas_6_by_3() {
    let rows = [
        "..#####", "..#####", "..#####", "..#####", "...####", "...####", ".......",
    ];
    let blocks = granted(StrategyKind::Neighbor, &rows, Request::submesh(6, 3));
    assert_eq!(blocks[0], Submesh::new(0, 0, 3, 2));
    let added: u32 = blocks[1..].iter().map(|block| block.area()).sum();
    assert_eq!(added, 12);
}

/// Figs. 3-7 and 3-8: no row and no column of 5 is free; the nucleus 1 x 1 grows.
#[test]
fn nas_5_by_1() {
    let rows = [
        "#######", "#######", "####..#", "##...##", "##.####", ".######", "#######",
    ];
    let blocks = granted(StrategyKind::Neighbor, &rows, Request::submesh(5, 1));
    // The first free processor <0, 1> is alone: its component does not hold 5. Then <2, 2>, its
    // neighbours, and theirs.
    assert_eq!(
        blocks,
        submeshes([(2, 2, 1, 1), (2, 3, 3, 1), (4, 4, 1, 1)])
    );
}

/// Figs. 3-9 and 3-10: 4 x 3 has more processors than are wanted, 5 x 2 is nowhere free, 6 x 1 and
/// four neighbours.
#[test]
fn nas_5_by_2() {
    let rows = [
        "#######", "##.###.", "##.###.", "#......", "##.###.", "##.###.", "#######",
    ];
    let blocks = granted(StrategyKind::Neighbor, &rows, Request::submesh(5, 2));
    let expected = [
        (1, 3, 6, 1),
        (2, 2, 1, 1),
        (6, 2, 1, 1),
        (2, 4, 1, 1),
        (6, 4, 1, 1),
    ];
    assert_eq!(blocks, submeshes(expected));
}

/// The four shapes for (8, 6) in their order. Each mesh is as high as the next shape, and the shape
/// before does not fit.
#[test]
fn lssa_8_by_6() {
    // Each mesh has room for one of the shapes, upright; the eighth column of its lowest rows is
    // not as high.
    for [c, d, e, f] in [[4, 7, 4, 5], [4, 8, 4, 4], [4, 9, 4, 3], [4, 10, 4, 2]] {
        let row = |y: i32| -> &str { if y < f { "........" } else { "....####" } };
        let rows: Vec<&str> = (0..d).rev().map(row).collect();
        let blocks = granted(StrategyKind::LShape, &rows, Request::submesh(8, 6));
        let expected = [
            (0, 0, c as u16, d as u16),
            (c as u16, 0, e as u16, f as u16),
        ];
        assert_eq!(blocks, submeshes(expected));
        // Upside down the shorter part is at the top, and mirrored the taller one is at the right.
        let upside_down: Vec<&str> = rows.iter().rev().copied().collect();
        let blocks = granted(StrategyKind::LShape, &upside_down, Request::submesh(8, 6));
        assert_eq!(blocks[1].base.y, (d - f) as u16);
        let mirrored: Vec<String> = rows.iter().map(|row| row.chars().rev().collect()).collect();
        let mirrored: Vec<&str> = mirrored.iter().map(String::as_str).collect();
        let blocks = granted(StrategyKind::LShape, &mirrored, Request::submesh(8, 6));
        let expected = [
            (e as u16, 0, c as u16, d as u16),
            (0, 0, e as u16, f as u16),
        ];
        assert_eq!(blocks, submeshes(expected));
    }
}

/// Both shapes for (5, 5); a request that keeps its orientation is not bent.
#[test]
fn lssa_5_by_5() {
    let low = [
        "...##", "...##", "...##", "...##", "...##", ".....", ".....",
    ];
    let blocks = granted(StrategyKind::LShape, &low, Request::submesh(5, 5));
    assert_eq!(blocks, submeshes([(0, 0, 3, 7), (3, 0, 2, 2)]));
    let lower = ["....#", "....#", "....#", "....#", "....#", "....."];
    let blocks = granted(StrategyKind::LShape, &lower, Request::submesh(5, 5));
    assert_eq!(blocks, submeshes([(0, 0, 4, 6), (4, 0, 1, 1)]));
    let as_it_is = Request::submesh(5, 5).with_flags(Flags::FIXED_ORIENTATION);
    assert_eq!(granted(StrategyKind::LShape, &lower, as_it_is), []);
}

/// A random state of random density, made of single nodes and of rectangles.
fn random_state(machine: &NaiveMachine, random: &mut Random) -> Vec<u32> {
    let whole = machine.whole();
    let mut busy = NaiveMachine::new(machine.grid().clone());
    let single = random.below(60);
    (0..busy.nodes()).for_each(|node| busy.set(node, random.percent(single)));
    for _ in 0..random.below(6) {
        let [x, y] = [whole.w(), whole.h()].map(|side| random.below(side as u32) as i32);
        let [x2, y2] = [whole.w() - x, whole.h() - y].map(|side| random.below(side as u32) as i32);
        busy.fill(Rect::new(x, y, x + x2, y + y2), random.percent(50));
    }
    busy.busy_nodes().collect()
}

/// NAS fails only if no connected component of free processors has n of them. Its grants have n
/// processors and are connected. The test finds components by a search from node to node.
#[test]
fn nas_fails_only_if_no_component_has_enough() {
    let mut random = Random::new(2019);
    let (mut granted, mut refused) = (0, 0);
    for (w, h) in [
        (1, 40),
        (40, 1),
        (7, 7),
        (16, 16),
        (31, 5),
        (32, 7),
        (33, 9),
        (63, 4),
        (64, 6),
        (65, 6),
    ] {
        let machine = mesh(w, h).grid();
        let mut memory = HeapMemory::new(machine, 1);
        let mut probe = Probe::new(&mut memory, StrategyKind::Neighbor, machine);
        for _ in 0..60 {
            let busy = random_state(probe.model().machine(), &mut random);
            for node in 0..machine.nodes() {
                probe.set(node, busy.contains(&node));
            }
            let sizes = components(probe.model().machine());
            let largest = sizes.iter().map(BTreeSet::len).max().unwrap_or(0) as u32;
            for _ in 0..8 {
                let side = |random: &mut Random, side: u16| random.between(1, side.into()) as u16;
                let request = Request::submesh(side(&mut random, w), side(&mut random, h));
                let processors = match random.below(3) {
                    0 => random.between(1, request.processors),
                    // At the edge.
                    1 => largest.clamp(1, request.processors),
                    _ => request.processors,
                };
                let request = request.with_processors(processors);
                let outcome = probe.compare(request);
                assert_eq!(outcome.is_ok(), processors <= largest, "{request:?}");
                let Ok(held) = outcome else {
                    refused += 1;
                    continue;
                };
                granted += 1;
                let nodes = held.nodes(&convert::grid(machine));
                assert_eq!(nodes.len() as u32, processors);
                let mut job = NaiveMachine::new(convert::grid(machine));
                (0..machine.nodes()).for_each(|node| job.set(node, !nodes.contains(&node)));
                assert_eq!(components(&job).len(), 1, "{request:?}");
            }
        }
    }
    assert!(
        granted > 500 && refused > 500,
        "{granted} granted, {refused} refused"
    );
}

/// A grant of LSSA has the requested area: one rectangle, or two that touch along a side.
#[test]
fn lssa_keeps_the_area_in_parts_that_touch() {
    let mut random = Random::new(2003);
    let mut bent = 0;
    for (w, h) in [
        (9, 9),
        (16, 16),
        (16, 22),
        (12, 33),
        (31, 12),
        (32, 12),
        (33, 12),
        (64, 10),
        (65, 10),
    ] {
        let machine = mesh(w, h).grid();
        let mut memory = HeapMemory::new(machine, 1);
        let mut probe = Probe::new(&mut memory, StrategyKind::LShape, machine);
        for _ in 0..80 {
            let busy = random_state(probe.model().machine(), &mut random);
            for node in 0..machine.nodes() {
                probe.set(node, busy.contains(&node));
            }
            for _ in 0..8 {
                let side = |random: &mut Random| random.between(1, w.min(h).into()) as u16;
                let request = Request::submesh(side(&mut random), side(&mut random));
                let _ = probe.compare(request);
                let answer = probe.ask(request);
                let Some(granted) = answer.grants.first() else {
                    continue;
                };
                let parts: Vec<Submesh> =
                    granted.blocks.iter().map(|&block| submesh(block)).collect();
                let area: u32 = parts.iter().map(|part| part.area()).sum();
                assert_eq!(area, request.processors);
                if let [one, other] = parts[..] {
                    bent += 1;
                    assert!(!one.overlaps(other) && one.touches(other), "{parts:?}");
                    assert!(one.rows_meet(other) || one.columns_meet(other), "{parts:?}");
                }
            }
        }
    }
    assert!(bent > 50, "{bent} bent shapes");
}
