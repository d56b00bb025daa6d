//! Random operations at the edges of the occupancy's words: after every one the answer, the statistics and
//! the occupancy are those of the plain model, and all invariants hold.

use meshalloc::{Flags, MachineKind, Mesh, Request, StrategyKind};
use meshalloc_tests::plain::{Strategy, trial};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{configuration, mesh};

const OPERATIONS: u64 = 200;
const SEEDS: u64 = 12;

/// Now and then as if the mesh were turned: some fit only turned or in another shape, some never.
fn request(mesh: Mesh, side_max: u32, random: &mut Random) -> Request {
    let (w, h) = (mesh.sides().w, mesh.sides().h);
    let (w, h) = match random.percent(10) {
        true => (h, w),
        false => (w, h),
    };
    let mut side = |side: u16| random.between(1, u32::from(side).min(side_max)) as u16;
    let request = Request::submesh(side(w), side(h));
    let mut flags = Flags::empty();
    flags.set(Flags::FIXED_ORIENTATION, random.percent(25));
    flags.set(Flags::NO_WAIT, random.percent(50));
    request.with_flags(flags)
}

fn run(kind: StrategyKind, mesh: Mesh, seed: u64) {
    let side_max = [2, 5, 16, u32::MAX][(seed % 4) as usize];
    let requests = |random: &mut Random| request(mesh, side_max, random);
    let outcome = trial::run::<Strategy>(configuration(mesh, kind), seed, OPERATIONS, requests);
    assert!(outcome.granted > 0, "{kind} on {mesh}, seed {seed}");
}

/// Word edges, thin, wide and tall.
const MESHES: [(u16, u16); 17] = [
    (31, 5),
    (32, 5),
    (33, 5),
    (63, 3),
    (64, 3),
    (65, 3),
    (127, 2),
    (128, 2),
    (129, 2),
    (3, 33),
    (2, 65),
    (97, 1),
    (1, 97),
    (1, 1),
    (7, 9),
    (17, 17),
    (33, 31),
];

/// The buddy system serves only these.
const BUDDY_MESHES: [(u16, u16); 7] =
    [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (32, 32), (64, 64)];

fn answers_as_its_model(kind: StrategyKind) {
    let meshes = match kind {
        StrategyKind::Buddy => BUDDY_MESHES.as_slice(),
        _ => MESHES.as_slice(),
    };
    for &(w, h) in meshes {
        for seed in 0..SEEDS {
            run(kind, mesh(w, h), seed);
        }
    }
}

macro_rules! strategies {
    ($($name:ident: $kind:ident;)*) => {
        $(
            #[test]
            fn $name() {
                answers_as_its_model(StrategyKind::$kind);
            }
        )*

        /// Every strategy with a plain model has a test above.
        #[test]
        fn none_is_left_out() {
            let tested = [$(StrategyKind::$kind),*];
            for kind in StrategyKind::built() {
                let info = kind.info();
                if info.machine == MachineKind::Mesh && info.contiguous {
                    assert!(tested.contains(&kind), "{kind}");
                }
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
    fixed_orientation: FixedOrientation;
    flex_fold: FlexFold;
    all_shapes: AllShapes;
}
