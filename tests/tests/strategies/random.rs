//! Random operations at the edges of the occupancy's words: after every one the answer, the statistics and
//! the occupancy are those of the plain model, and all invariants hold.

use meshalloc::{Command, Controller, Flags, JobId, Mesh, NodeId, Request, StrategyKind};
use meshalloc_tests::plain::System;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, ask_at, configuration, mesh};

const OPERATIONS: u64 = 200;
const SEEDS: u64 = 12;
const JOBS_MAX: u32 = 20;

/// How a sequence is made; the weights differ from seed to seed.
struct Recipe {
    random: Random,
    mesh: Mesh,
    side_max: u32,
    submit: u32,
    release: u32,
    fault: u32,
    repair: u32,
    next_job: u32,
}

impl Recipe {
    fn new(seed: u64, mesh: Mesh) -> Self {
        let mut random = Random::new(seed);
        let side_max = [2, 5, 16, u32::MAX][random.below(4) as usize];
        Recipe {
            mesh,
            side_max,
            submit: random.between(20, 60),
            release: random.between(10, 40),
            fault: random.below(12),
            repair: random.below(12),
            random,
            next_job: 0,
        }
    }

    fn request(&mut self) -> Request {
        let (w, h) = (self.mesh.sides().w, self.mesh.sides().h);
        // Now and then as if the mesh were turned: some fit only turned or in another shape, some never.
        let (w, h) = match self.random.percent(10) {
            true => (h, w),
            false => (w, h),
        };
        let mut side =
            |side: u16| self.random.between(1, u32::from(side).min(self.side_max)) as u16;
        let request = Request::submesh(side(w), side(h));
        let mut flags = Flags::empty();
        flags.set(Flags::FIXED_ORIENTATION, self.random.percent(25));
        flags.set(Flags::NO_WAIT, self.random.percent(50));
        request.with_flags(flags)
    }

    fn command(&mut self, model: &System) -> Command {
        let total = self.submit + self.release + self.fault + self.repair;
        let at = self.random.below(total);
        let node = NodeId(self.random.below(self.mesh.nodes()));
        if at < self.submit {
            self.next_job += 1;
            // Any names will do; these are far apart.
            let job = JobId(self.next_job.wrapping_mul(0x0100_0193));
            let request = self.request();
            Command::Submit { job, request }
        } else if at < self.submit + self.release {
            let jobs: Vec<JobId> = model.running().chain(model.waiting()).collect();
            let job = match jobs.len() {
                0 => JobId(0),
                len => jobs[self.random.below(len as u32) as usize],
            };
            Command::Release { job }
        } else if at < self.submit + self.release + self.fault {
            Command::MarkFaulty { node }
        } else {
            let faulty: Vec<u32> = model.faulty_nodes().collect();
            let node = match faulty.len() {
                0 => node,
                len => NodeId(faulty[self.random.below(len as u32) as usize]),
            };
            Command::ClearFaulty { node }
        }
    }
}

fn run(kind: StrategyKind, mesh: Mesh, seed: u64) {
    let configuration = configuration(mesh, kind);
    let mut recipe = Recipe::new(seed, mesh);
    let room = recipe.random.between(1, JOBS_MAX) as usize;
    let mut memory = HeapMemory::new(mesh, room);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let mut model = System::new(configuration, room);
    for now in 0..OPERATIONS {
        let command = recipe.command(&model);
        let before = model.busy().clone();
        let expected = model.handle(&command, now);
        let answer = ask_at(&mut controller, &command, now);
        let context = || format!("{kind} on {mesh}, seed {seed}, operation {now}");
        assert!(
            expected.agrees_with(&answer),
            "{}: {command:?}\nexpected {expected:?}\nanswered {answer:?}, in\n{before}",
            context()
        );
        controller.check_invariants();
        assert_eq!(controller.statistics(), model.statistics(), "{}", context());
        let busy = model.busy();
        for (node, (x, y)) in (0..).zip(busy.whole().nodes()) {
            let is_busy = controller.occupancy().is_busy(NodeId(node));
            assert_eq!(is_busy, busy.is_busy(x, y), "<{x}, {y}>, {}", context());
        }
    }
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
            for kind in StrategyKind::built().filter(|kind| kind.info().contiguous) {
                assert!(tested.contains(&kind), "{kind}");
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
