//! Which strategies recognise completely, and what the others miss.

use meshalloc::{
    Controller, Error, Flags, MachineKind, Mesh, Refusal, Reply, Request, StrategyKind,
};
use meshalloc_tests::oracle::{NaiveMesh, Rect};
use meshalloc_tests::plain::recognition::{measure, occupancies};
use meshalloc_tests::rig::{HeapMemory, configuration, mesh, release, set_faulty, submit};

/// Asks for everything at every occupancy; 5 x 5 is part of the generator of table 1.
fn completeness_is_as_stated(kind: StrategyKind) {
    let meshes: &[(u16, u16)] = match kind {
        StrategyKind::Buddy => &[(4, 4)],
        _ => &[(4, 4), (5, 3), (2, 7)],
    };
    for &(w, h) in meshes {
        let mesh = mesh(w, h);
        let found = measure(kind, mesh, 0..occupancies(mesh));
        assert!(found.granted > 0);
        assert_eq!(
            found.is_complete(),
            kind.info().complete,
            "{kind} on {mesh}: {found:?}"
        );
    }
}

macro_rules! strategies {
    ($($name:ident: $kind:ident;)*) => {
        $(
            #[test]
            fn $name() {
                completeness_is_as_stated(StrategyKind::$kind);
            }
        )*

        /// Every strategy for meshes has a test above.
        #[test]
        fn none_is_left_out() {
            let tested = [$(StrategyKind::$kind),*];
            for kind in StrategyKind::built() {
                let on_mesh = kind.info().machine == MachineKind::Mesh;
                assert!(tested.contains(&kind) || !on_mesh, "{kind}");
            }
        }
    };
}

strategies! {
    buddy: Buddy;
    frame_sliding: FrameSliding;
    first_fit: FirstFit;
    best_fit: BestFit;
    adaptive_scan: AdaptiveScan;
    busy_list: BusyList;
    free_submesh_list: FreeSubmeshList;
    naive: Naive;
    fixed_orientation: FixedOrientation;
    flex_fold: FlexFold;
    all_shapes: AllShapes;
}

/// A mesh drawn as in the documentation, the top row first, `#` for busy.
fn refuses(kind: StrategyKind, picture: &[&str], (a, b): (u16, u16), free: Rect) {
    let mesh = mesh(picture[0].len() as u16, picture.len() as u16);
    let mut memory = HeapMemory::new(mesh, 1);
    let mut controller = Controller::new(memory.memory(), configuration(mesh, kind)).unwrap();
    let mut plain = NaiveMesh::new(mesh.sides().w.into(), mesh.sides().h.into());
    let rows = picture.iter().rev();
    let nodes = rows.flat_map(|row| row.chars()).enumerate();
    for (node, _) in nodes.filter(|&(_, mark)| mark == '#') {
        set_faulty(&mut controller, node as u32, true);
        let w = i32::from(mesh.sides().w);
        plain.set(node as i32 % w, node as i32 / w, true);
    }
    let sides = (i32::from(a), i32::from(b));
    assert!(plain.is_free(free), "{free} is free in\n{plain}");
    assert!((free.w(), free.h()) == sides || (free.h(), free.w()) == sides);
    let request = Request::submesh(a, b).with_flags(Flags::NO_WAIT);
    let answer = submit(&mut controller, 1, request);
    let refused = Reply::Error(Error::Refused(Refusal::Fragmented));
    assert_eq!(answer.last, refused, "{kind}, ({a}, {b}), in\n{plain}");
}

#[test]
fn the_counter_example_of_buddy() {
    let picture = ["....", "#..#", "....", "#.#."];
    refuses(
        StrategyKind::Buddy,
        &picture,
        (2, 2),
        Rect::based_at(1, 1, 2, 2),
    );
}

/// The first free node is <1, 0>, so frames of 2 x 1 would have to stand at odd columns.
#[test]
fn the_smallest_counter_example_of_frame_sliding() {
    refuses(
        StrategyKind::FrameSliding,
        &["..", "#."],
        (2, 1),
        Rect::based_at(0, 1, 2, 1),
    );
}

#[test]
fn the_counter_examples_of_those_that_do_not_turn() {
    let picture = ["#.#", "#.#", "#.#"];
    let free = Rect::based_at(1, 0, 1, 3);
    for kind in [
        StrategyKind::FrameSliding,
        StrategyKind::FirstFit,
        StrategyKind::BestFit,
        StrategyKind::FixedOrientation,
    ] {
        refuses(kind, &picture, (3, 1), free);
    }
    // Fixed orientation turns even what would fit as it is.
    refuses(StrategyKind::FixedOrientation, &picture, (1, 3), free);
}

/// No mesh of fewer than four nodes has an occupancy at which frame sliding misses a free `a x b`.
#[test]
fn no_smaller_counter_example_of_frame_sliding() {
    for nodes in 1..4u16 {
        for w in (1..=nodes).filter(|w| nodes % w == 0) {
            every_frame_is_found(mesh(w, nodes / w));
        }
    }
}

fn every_frame_is_found(mesh: Mesh) {
    let (w, h) = (mesh.sides().w, mesh.sides().h);
    let mut memory = HeapMemory::new(mesh, 1);
    let kind = StrategyKind::FrameSliding;
    for busy in 0..1u32 << mesh.nodes() {
        let mut controller = Controller::new(memory.memory(), configuration(mesh, kind)).unwrap();
        let mut plain = NaiveMesh::new(w.into(), h.into());
        for node in (0..mesh.nodes()).filter(|node| busy >> node & 1 == 1) {
            set_faulty(&mut controller, node, true);
            plain.set(node as i32 % i32::from(w), node as i32 / i32::from(w), true);
        }
        for (a, b) in (1..=h).flat_map(|b| (1..=w).map(move |a| (a, b))) {
            let exists = plain.scan().first_fit(a.into(), b.into()).is_some();
            let request = Request::submesh(a, b).with_flags(Flags::NO_WAIT);
            let answer = submit(&mut controller, 1, request);
            let granted = answer.submesh().is_some();
            assert_eq!(granted, exists, "({a}, {b}) in\n{plain}");
            if granted {
                release(&mut controller, 1);
            }
        }
    }
}
