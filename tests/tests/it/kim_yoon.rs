//! Every value that the text of Kim and Yoon 1995 gives, step by step.
//!
//! The names are the paper's: `S1`..`S3` are the dominant free submeshes of its Fig. 2, `A1`..`A3`
//! the allocated ones. The superscripts of the candidates in the copy at hand contradict each other
//! (it lists three candidates of `S1` and three of `S2`, and keeps "only C31" where the value 30
//! belongs to "C32"). The values decide: a candidate `Ckj` originates from `Sk`, so with the values
//! of definition 2 there are four of `S1`, two of `S2` and two of `S3`, eight in all as in the
//! text, and each of its values belongs to exactly one of them.

use std::cmp::Reverse;

use meshalloc::{Controller, Error, Flags, Mesh, Outcome, Refusal, Request, StrategyKind, Submesh};
use meshalloc_tests::convert;
use meshalloc_tests::grid::NaiveMachine;
use meshalloc_tests::rig::{
    HeapMemory, configuration, free_submesh_list, mesh, release, set_faulty, submit,
};
use meshalloc_tests::submesh::{self, Rect, candidates, reject_all_but_dominant};

const S1: Rect = Rect::new(0, 0, 6, 4);
const S2: Rect = Rect::new(4, 0, 6, 9);
const S3: Rect = Rect::new(4, 5, 9, 7);
const A1: Rect = Rect::new(7, 0, 9, 4);
const A2: Rect = Rect::new(7, 8, 9, 9);
const A3: Rect = Rect::new(0, 5, 3, 9);

/// The candidates of Example 1 in the order of the text's values.
const C1: [Rect; 4] = [
    Rect::new(0, 0, 1, 2),
    Rect::new(0, 2, 1, 4),
    Rect::new(5, 0, 6, 2),
    Rect::new(5, 2, 6, 4),
];
const C2: [Rect; 2] = [Rect::new(4, 0, 6, 1), Rect::new(4, 8, 6, 9)];
const C3: [Rect; 2] = [Rect::new(4, 5, 5, 7), Rect::new(8, 5, 9, 7)];

fn core_submesh(rect: Rect) -> Submesh {
    let [x1, y1, x2, y2] = [rect.x1, rect.y1, rect.x2, rect.y2].map(|at| at as u16);
    Submesh::between(x1, y1, x2, y2)
}

fn rect(submesh: Submesh) -> Rect {
    convert::rect(submesh)
}

/// The reservation factor.
fn rf(s: Rect, s_prime: Rect) -> u32 {
    submesh::reservation_factor(s, s_prime) as u32
}

/// Runs `body` with an empty mesh.
fn with_mesh(mesh: Mesh, strategy: StrategyKind, body: impl FnOnce(&mut Controller<'_>)) {
    let mut memory = HeapMemory::new(mesh, 8);
    let mut controller = Controller::new(memory.memory(), configuration(mesh, strategy)).unwrap();
    body(&mut controller);
    controller.check_invariants();
}

/// Lets a job take exactly this submesh: all other free processors are faulty for as long as it is
/// submitted.
fn occupy(controller: &mut Controller<'_>, job: u32, rect: Rect) {
    let mesh = Mesh::of(controller.machine()).expect("a mesh was configured");
    let width = i32::from(mesh.sides().w);
    let others: Vec<u32> = (0..mesh.nodes())
        .filter(|&node| {
            let (x, y) = (node as i32 % width, node as i32 / width);
            !rect.has(x, y) && !controller.occupancy().is_busy(meshalloc::NodeId(node))
        })
        .collect();
    for &node in &others {
        set_faulty(controller, node, true);
    }
    let request = Request::submesh(rect.w() as u16, rect.h() as u16);
    let answer = submit(
        controller,
        job,
        request.with_flags(Flags::FIXED_ORIENTATION),
    );
    assert_eq!(answer.submesh(), Some(core_submesh(rect)));
    for &node in &others {
        set_faulty(controller, node, false);
    }
}

/// Fig. 2: a 10 x 10 mesh with the jobs 1, 2 and 3 in `A1`, `A2` and `A3`.
fn with_fig_2(strategy: StrategyKind, body: impl FnOnce(&mut Controller<'_>)) {
    with_mesh(mesh(10, 10), strategy, |controller| {
        occupy(controller, 1, A1);
        occupy(controller, 2, A2);
        occupy(controller, 3, A3);
        body(controller);
    });
}

fn fig_2() -> NaiveMachine {
    let mut picture = NaiveMachine::mesh(10, 10);
    for busy in [A1, A2, A3] {
        picture.fill(busy, true);
    }
    picture
}

fn assert_list(controller: &Controller<'_>, expected: &[Rect]) {
    let list = free_submesh_list(controller).into_iter();
    let list: Vec<Rect> = list.map(rect).collect();
    assert_eq!(list, expected);
}

/// Section II, Fig. 1: the two submeshes of the 7 x 5 mesh, their side lengths, and the boundary
/// value of the free one, node by node (section II.5).
#[test]
fn fig_1() {
    let (free, allocated) = (Rect::new(0, 2, 3, 4), Rect::new(4, 0, 6, 3));
    assert_eq!((free.w(), free.h()), (4, 3));
    assert_eq!((allocated.w(), allocated.h()), (3, 4));
    let sides = |rect| core_submesh(rect).sides;
    assert_eq!((sides(free).w, sides(free).h), (4, 3));
    assert_eq!((sides(allocated).w, sides(allocated).h), (3, 4));

    let mut picture = NaiveMachine::mesh(7, 5);
    picture.fill(allocated, true);
    assert_eq!(picture.boundary_value(free), 9);
    // "the node <0, 4> has two busy neighbors ..., each of <0, 2>, <0, 3>, <1, 4>, <2, 4>, and <3,
    // 4> has one ..., and each of <3, 2> and <3, 3> has one".
    let beyond = |x: i32, y: i32| picture.busy_beyond(free, (x, y));
    assert_eq!(beyond(0, 4), 2);
    for (x, y) in [(0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (3, 2), (3, 3)] {
        assert_eq!(beyond(x, y), 1, "<{x}, {y}>");
    }
    for (x, y) in [(1, 2), (2, 2), (1, 3), (2, 3)] {
        assert_eq!(beyond(x, y), 0, "<{x}, {y}>");
    }

    with_mesh(mesh(7, 5), StrategyKind::FreeSubmeshList, |controller| {
        occupy(controller, 1, allocated);
        // What is left of <4, 0> as far as the top, and the row above.
        assert_list(controller, &[Rect::new(0, 0, 3, 4), Rect::new(0, 4, 6, 4)]);
        assert!(controller.occupancy().is_free(core_submesh(free).into()));
    });
}

/// Section III.1, after definition 1: the list of Fig. 2, and the sizes 35 (7 x 5), 30 (3 x 10) and
/// 18 (6 x 3).
#[test]
fn fig_2_list_and_sizes() {
    with_fig_2(StrategyKind::FreeSubmeshList, |controller| {
        assert_list(controller, &[S1, S2, S3]);
        let sizes: Vec<_> = free_submesh_list(controller)
            .iter()
            .map(|s| (s.area(), s.sides.w, s.sides.h))
            .collect();
        assert_eq!(sizes, [(35, 7, 5), (30, 3, 10), (18, 6, 3)]);
    });
    assert_eq!(fig_2().scan().dominant_free_submeshes(), [S1, S2, S3]);
}

/// Definition 1: of two free submeshes of one size, the one closer to a square comes first.
#[test]
fn definition_1_prefers_the_squarer_of_equal_sizes() {
    with_mesh(mesh(7, 7), StrategyKind::FreeSubmeshList, |controller| {
        // Free are a 6 x 2 at the bottom and a 4 x 3 at the top, 12 nodes each.
        let (flat, squarer) = (Rect::new(0, 0, 5, 1), Rect::new(0, 4, 3, 6));
        for (node, (x, y)) in (0..).zip(Rect::new(0, 0, 6, 6).nodes()) {
            if !flat.has(x, y) && !squarer.has(x, y) {
                set_faulty(controller, node, true);
            }
        }
        assert_eq!(flat.size(), squarer.size());
        assert_list(controller, &[squarer, flat]);
    });
}

/// Section III.1, after definition 2.
#[test]
fn definition_2_about_fig_2() {
    // "max{4 * 5, 0, 0, -5 * 7}, since the largest submesh ... is (<0, 0>, <3, 4>) of size 4 x 5".
    assert_eq!(rf(S2, S1), 20);
    assert_eq!(rf(S2, S1) as i32, Rect::new(0, 0, 3, 4).size());
    // "the size of submesh (<4, 0>, <6, 4>) which is larger than the submesh (<4, 8>, <6, 9>)".
    assert_eq!(rf(S3, S2), 15);
    assert_eq!(rf(S3, S2) as i32, Rect::new(4, 0, 6, 4).size());
    assert!(Rect::new(4, 0, 6, 4).size() > Rect::new(4, 8, 6, 9).size());
    // "otherwise": the size of S'.
    assert_eq!(rf(S3, S1), 35);
    assert_eq!(rf(S1, S3), 18);
}

/// Example 1, steps 1 and 2: the candidates for (3, 2), their values against `S1` and then `S2`,
/// and who is left after each.
#[test]
fn example_1_candidates() {
    let mut left = candidates(&[S1, S2, S3], 3, 2, true);
    assert_eq!(left.len(), 8);
    for candidate in C1.into_iter().chain(C2).chain(C3) {
        assert!(left.contains(&candidate), "{candidate}");
    }

    // Against S1: 25, 25 (of <2, 0>, <6, 4>), 25, 25 (of <0, 0>, <4, 4>), 21 (of <0, 2>, <6, 4>),
    // and 35, 35, 35 (all of S1).
    assert_eq!(C1.map(|c| rf(c, S1)), [25, 25, 25, 25]);
    assert_eq!(C2.map(|c| rf(c, S1)), [21, 35]);
    assert_eq!(C3.map(|c| rf(c, S1)), [35, 35]);
    assert_eq!(Rect::new(2, 0, 6, 4).size(), 25);
    assert_eq!(Rect::new(0, 0, 4, 4).size(), 25);
    assert_eq!(Rect::new(0, 2, 6, 4).size(), 21);
    for (candidate, reserved) in [
        (C1[0], Rect::new(2, 0, 6, 4)),
        (C1[1], Rect::new(2, 0, 6, 4)),
        (C1[2], Rect::new(0, 0, 4, 4)),
        (C1[3], Rect::new(0, 0, 4, 4)),
        (C2[0], Rect::new(0, 2, 6, 4)),
    ] {
        assert!(!candidate.overlaps(reserved) && S1.covers(reserved));
    }
    reject_all_but_dominant(&mut left, S1);
    assert_eq!(left.len(), 3);
    assert!([C2[1], C3[0], C3[1]].iter().all(|c| left.contains(c)));

    // Against S2: 24 (of <4, 0>, <6, 7>), 15 (of <4, 0>, <6, 4>), 30 (all of S2).
    assert_eq!([C2[1], C3[0], C3[1]].map(|c| rf(c, S2)), [24, 15, 30]);
    assert_eq!(Rect::new(4, 0, 6, 7).size(), 24);
    assert_eq!(Rect::new(4, 0, 6, 4).size(), 15);
    assert_eq!(S2.size(), 30);
    reject_all_but_dominant(&mut left, S2);
    assert_eq!(left, [C3[1]]);
}

/// Example 1, step 3: (3, 2) goes to the right end of `S3`, and the list becomes S1, S2, S'.
#[test]
fn example_1_allocation() {
    with_fig_2(StrategyKind::FreeSubmeshList, |controller| {
        let answer = submit(controller, 4, Request::submesh(3, 2));
        assert_eq!(answer.submesh(), Some(core_submesh(C3[1])));
        let s_prime = Rect::new(4, 5, 7, 7);
        assert!(!S1.covers(s_prime) && !S2.covers(s_prime));
        assert_list(controller, &[S1, S2, s_prime]);
    });
}

/// Section III.2: the tasks t1 = (3, 2) and t2 = (7, 5), in this order. After a candidate of `S1`,
/// or the one of `S2` in `S1`, t2 finds no place; after any other it gets (<0, 0>, <6, 4>).
#[test]
fn unnecessary_fragmentation() {
    let t2_after = |candidate: Rect| {
        let mut picture = fig_2();
        picture.fill(candidate, true);
        let scan = picture.scan();
        scan.free(7, 5).chain(scan.free(5, 7)).next()
    };
    for candidate in C1.into_iter().chain([C2[0]]) {
        assert_eq!(t2_after(candidate), None, "{candidate}");
    }
    for candidate in [C2[1], C3[0], C3[1]] {
        assert_eq!(t2_after(candidate), Some(S1), "{candidate}");
    }

    with_fig_2(StrategyKind::FreeSubmeshList, |controller| {
        submit(controller, 4, Request::submesh(3, 2));
        let t2 = submit(controller, 5, Request::submesh(7, 5));
        assert_eq!(t2.submesh(), Some(core_submesh(S1)));
    });
    // "the AS strategy allocates either (<0, 0>, <2, 1>) of 3 x 2 or C1 of 2 x 3".
    with_fig_2(StrategyKind::AdaptiveScan, |controller| {
        let t1 = submit(controller, 4, Request::submesh(3, 2));
        assert_eq!(t1.submesh(), Some(Submesh::between(0, 0, 2, 1)));
        let t2 = submit(
            controller,
            5,
            Request::submesh(7, 5).with_flags(Flags::NO_WAIT),
        );
        assert_eq!(t2.outcome, Err(Error::Refused(Refusal::Fragmented)));
    });
    with_fig_2(StrategyKind::AdaptiveScan, |controller| {
        let t1 = submit(controller, 4, Request::submesh(2, 3));
        assert_eq!(t1.submesh(), Some(core_submesh(C1[0])));
    });
}

/// Section III.2 on the Busy-List strategy in the same situation: the largest boundary value is 7,
/// and the two candidates that have it are those at the top of `S2` and the right end of `S3`.
#[test]
fn busy_list_in_fig_2() {
    let picture = fig_2();
    let scan = picture.scan();
    let mut best: Vec<(u32, Rect)> = scan
        .free(3, 2)
        .chain(scan.free(2, 3))
        .map(|rect| (picture.boundary_value(rect), rect))
        .collect();
    best.sort_by_key(|&(value, rect)| (Reverse(value), rect.y1));
    let best: Vec<Rect> = best
        .iter()
        .take_while(|&&(value, _)| value == 7)
        .map(|&(_, rect)| rect)
        .collect();
    assert_eq!(best, [C3[1], C2[1]]);
}

/// Example 2: what the decomposition by `A1` and then by `A2` leaves, and the list after `A3` is
/// released.
#[test]
fn example_2() {
    // The names S1 to S4 are those of Example 2, not those of Fig. 2.
    let s1 = Rect::new(0, 0, 6, 9);
    let s2 = Rect::new(0, 5, 9, 9);
    let s3 = Rect::new(0, 5, 9, 7);
    let s4 = Rect::new(0, 5, 6, 9);
    with_mesh(mesh(10, 10), StrategyKind::FreeSubmeshList, |controller| {
        assert_list(controller, &[Rect::new(0, 0, 9, 9)]);
        // The initial list decomposed by A1, then by A2: S2 leaves S3 and S4, which S1 covers.
        occupy(controller, 1, A1);
        assert_list(controller, &[s1, s2]);
        occupy(controller, 2, A2);
        assert!(s2.covers(s3) && s2.covers(s4) && !s3.overlaps(A2) && !s4.overlaps(A2));
        assert!(s1.covers(s4) && !s1.covers(s3));
        assert_list(controller, &[s1, s3]);

        occupy(controller, 3, A3);
        assert_list(controller, &[S1, S2, S3]);
        let answer = release(controller, 3);
        assert_eq!(answer.outcome, Ok(Outcome::Released { processors: 20 }));
        assert_list(controller, &[s1, s3]);
    });
}

/// Section III.3, step 1: a release into an empty list, and of the last job.
#[test]
fn deallocation_step_1() {
    with_mesh(mesh(10, 10), StrategyKind::FreeSubmeshList, |controller| {
        let (left, right) = (Rect::new(0, 0, 3, 9), Rect::new(4, 0, 9, 9));
        occupy(controller, 1, left);
        assert_list(controller, &[right]);
        occupy(controller, 2, right);
        assert_list(controller, &[]);
        release(controller, 2);
        assert_list(controller, &[right]);
        release(controller, 1);
        assert_list(controller, &[Rect::new(0, 0, 9, 9)]);
    });
}

/// A situation on a 10 x 10 mesh as Fig. 7 shows them, and the free places for (4, 3) with their
/// boundary values.
struct Situation {
    busy: [Rect; 2],
    picture: NaiveMachine,
    places: Vec<(Rect, u32)>,
}

impl Situation {
    fn new(busy: [Rect; 2]) -> Self {
        let mut picture = NaiveMachine::mesh(10, 10);
        busy.iter().for_each(|&busy| picture.fill(busy, true));
        let scan = picture.scan();
        let places = scan.free(4, 3).chain(scan.free(3, 4));
        let places = places
            .map(|place| (place, picture.boundary_value(place)))
            .collect();
        Situation {
            busy,
            picture,
            places,
        }
    }

    fn best_boundary_value(&self) -> Option<u32> {
        self.places.iter().map(|&(_, value)| value).max()
    }

    /// The places with this boundary value.
    fn with_value(&self, value: u32) -> Vec<Rect> {
        let equal = self.places.iter().filter(|place| place.1 == value);
        equal.map(|&(place, _)| place).collect()
    }

    /// Whether a free submesh of these side lengths is left after a job has taken the place.
    fn reserves(&self, place: Rect, w: i32, h: i32) -> bool {
        let mut picture = self.picture.clone();
        picture.fill(place, true);
        picture.scan().free(w, h).next().is_some()
    }

    fn largest_free(&self) -> i32 {
        self.picture.scan().dominant_free_submeshes()[0].size()
    }

    /// FSL's place for the request (4, 3).
    fn free_submesh_list(&self) -> Rect {
        let mut place = None;
        with_mesh(mesh(10, 10), StrategyKind::FreeSubmeshList, |controller| {
            occupy(controller, 1, self.busy[0]);
            occupy(controller, 2, self.busy[1]);
            place = submit(controller, 3, Request::submesh(4, 3)).submesh();
        });
        rect(place.expect("the request was granted"))
    }
}

/// Fig. 7 (a). The picture is lost; the text says: for (4, 3) eleven candidates have the largest
/// boundary value, 7; of these `S` and `S'` alone reserve submeshes of 5 x 7 and 10 x 3, which
/// conserves the largest free submesh, and FSL takes one of them. Two busy submeshes in opposite
/// corners can be like that; FSL must choose so in every such situation.
#[test]
fn fig_7_a() {
    let mut situations = 0;
    for (w, h) in Rect::new(1, 1, 6, 6).nodes() {
        for (w2, h2) in Rect::new(1, 1, 6, 6).nodes() {
            let busy = [
                Rect::based_at(0, 0, w, h),
                Rect::based_at(10 - w2, 10 - h2, w2, h2),
            ];
            if busy[0].overlaps(busy[1]) {
                continue;
            }
            let situation = Situation::new(busy);
            let equal = situation.with_value(7);
            if situation.best_boundary_value() != Some(7)
                || equal.len() != 11
                || situation.largest_free() != 5 * 7
            {
                continue;
            }
            let both = |s: &Rect| situation.reserves(*s, 5, 7) && situation.reserves(*s, 10, 3);
            let best: Vec<Rect> = equal.into_iter().filter(both).collect();
            if best.len() == 2 {
                let place = situation.free_submesh_list();
                assert!(best.contains(&place), "{place} with {busy:?} busy");
                situations += 1;
            }
        }
    }
    assert!(situations > 0, "no situation is like Fig. 7 (a)");
}

/// Fig. 7 (b). The text says: two candidates have the largest boundary value, 9, but do not
/// conserve the largest free submesh, 10 x 5; `S` and `S'` with the value 7 do, and FSL takes one
/// of them.
#[test]
fn fig_7_b() {
    let mut situations = 0;
    for (w, h) in Rect::new(2, 3, 5, 3).nodes() {
        for x in 0..=2 {
            for (x2, w2) in Rect::new(3, 2, 4, 4).nodes() {
                let busy = [Rect::based_at(x, 0, w, h), Rect::based_at(x2, 8, w2, 2)];
                let situation = Situation::new(busy);
                let conserves = |s: &Rect| situation.reserves(*s, 10, 5);
                let worst = situation.with_value(9);
                let best: Vec<Rect> = situation
                    .with_value(7)
                    .into_iter()
                    .filter(conserves)
                    .collect();
                if situation.best_boundary_value() == Some(9)
                    && situation.largest_free() == 50
                    && worst.len() == 2
                    && !worst.iter().any(conserves)
                    && best.len() == 2
                {
                    let place = situation.free_submesh_list();
                    assert!(best.contains(&place), "{place} with {busy:?} busy");
                    situations += 1;
                }
            }
        }
    }
    assert!(situations > 0, "no situation is like Fig. 7 (b)");
}
