//! Random sequences of operations against a naive model, compared after every operation, at the edges of
//! the occupancy's words and on thin, wide and tall meshes.
//!
//! A sequence is a list of numbers that are read as operations, so a failing one is shrunk; the shortest
//! found is printed with mesh, strategy and seed. `PROPTEST_RNG_SEED` and `PROPTEST_CASES` choose
//! others.

use std::cell::RefCell;
use std::collections::BTreeSet;

use meshalloc::{
    Command, Configuration, ConfigureError, Controller, Error, Flags, JobId, Mesh, NodeId, Refusal,
    Reply, Request, SchedulerKind, Shape, Sides, StrategyKind,
};
use meshalloc_tests::model::{Expected, Model};
use meshalloc_tests::oracle::{Rect, STRATEGIES};
use meshalloc_tests::rig::{
    HeapMemory, ask_at, configuration, free_submesh_list, list_jobs, mesh, occupancy_map,
    repeated_grants,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};

const SEED: u64 = 1995;
const CASES: u32 = 24;
const OPERATIONS_MAX: usize = 240;
const JOBS_MAX: usize = 24;

/// The kinds of operations. How often each comes is random in every case.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Submit,
    SubmitNoWait,
    SubmitDuplicate,
    SubmitBad,
    Release,
    ReleaseUnknown,
    MarkFaulty,
    ClearFaulty,
    FaultOutside,
    Query,
    Reset,
    Configure,
    ConfigureTooLarge,
}

const KINDS: [Kind; 13] = [
    Kind::Submit,
    Kind::SubmitNoWait,
    Kind::SubmitDuplicate,
    Kind::SubmitBad,
    Kind::Release,
    Kind::ReleaseUnknown,
    Kind::MarkFaulty,
    Kind::ClearFaulty,
    Kind::FaultOutside,
    Kind::Query,
    Kind::Reset,
    Kind::Configure,
    Kind::ConfigureTooLarge,
];

/// How often each kind comes: what makes and ends jobs often, what forgets everything seldom.
fn weights() -> impl Strategy<Value = [u32; 13]> {
    [
        0..40u32,
        0..40u32,
        0..3u32,
        0..3u32,
        5..40u32,
        0..2u32,
        0..20u32,
        0..20u32,
        0..2u32,
        0..4u32,
        0..2u32,
        0..2u32,
        0..2u32,
    ]
}

/// One operation, to be read against the state it meets.
type Code = (u16, u16, u16, u16);

#[derive(Clone, Debug)]
struct Case {
    weights: [u32; 13],
    /// The longest side that is asked for, as far as the mesh allows.
    side_max: u16,
    /// Room for so many jobs.
    jobs: usize,
    operations: Vec<Code>,
}

fn case() -> impl Strategy<Value = Case> {
    let side_max = prop_oneof![Just(2), Just(5), Just(16), Just(u16::MAX)];
    let operations = prop::collection::vec(any::<Code>(), 1..OPERATIONS_MAX);
    (weights(), side_max, 1..=JOBS_MAX, operations).prop_map(
        |(weights, side_max, jobs, operations)| Case {
            weights,
            side_max,
            jobs,
            operations,
        },
    )
}

/// Reads a code as a command.
struct Reader<'a> {
    case: &'a Case,
    meshes: &'a [Mesh],
    next_job: u32,
}

impl Reader<'_> {
    fn kind(&self, code: u16) -> Kind {
        let total: u32 = self.case.weights.iter().sum();
        let mut at = (u32::from(code) * total) >> 16;
        for (&kind, &weight) in KINDS.iter().zip(&self.case.weights) {
            if at < weight {
                return kind;
            }
            at -= weight;
        }
        unreachable!("at is less than the total")
    }

    fn request(&self, mesh: Mesh, (a, b, c): (u16, u16, u16)) -> Request {
        let side = |code: u16, side: u16| 1 + code % side.min(self.case.side_max);
        // The longer side of the mesh in both directions now and then: it fits only turned, or never.
        let (w, h) = match c % 16 {
            0 => (mesh.sides().h, mesh.sides().w),
            _ => (mesh.sides().w, mesh.sides().h),
        };
        let request = Request::submesh(side(a, w), side(b, h));
        let area = request.processors;
        let request = match c >> 4 & 3 {
            0 => request.with_processors(1 + u32::from(c >> 6) % area),
            _ => request,
        };
        match c >> 6 & 3 {
            0 => request.with_flags(Flags::FIXED_ORIENTATION),
            _ => request,
        }
    }

    fn command(&mut self, model: &Model, (kind, a, b, c): Code) -> Command {
        let mesh = model.mesh();
        let jobs = model.jobs();
        let unknown = JobId(u32::MAX - u32::from(a));
        let some_job = jobs
            .get(usize::from(a) % jobs.len().max(1))
            .map(|&(id, _)| id);
        let faulty: Vec<u32> = (0..)
            .zip(model.faulty().whole().nodes())
            .filter(|&(_, (x, y))| model.faulty().is_busy(x, y))
            .map(|(node, _)| node)
            .collect();
        let node = NodeId(u32::from(a) % mesh.nodes());
        let request = self.request(mesh, (a, b, c));
        match self.kind(kind) {
            Kind::Submit => self.submit(request),
            Kind::SubmitNoWait => self.submit(request.with_flags(request.flags | Flags::NO_WAIT)),
            Kind::SubmitDuplicate => match some_job {
                Some(job) => Command::Submit { job, request },
                None => self.submit(request),
            },
            Kind::SubmitBad => self.submit(bad(mesh, request, c)),
            Kind::Release => Command::Release {
                job: some_job.unwrap_or(unknown),
            },
            Kind::ReleaseUnknown => Command::Release { job: unknown },
            Kind::MarkFaulty => Command::MarkFaulty { node },
            Kind::ClearFaulty => Command::ClearFaulty {
                node: match faulty.get(usize::from(a) % faulty.len().max(1)) {
                    Some(&faulty) if c % 8 > 0 => NodeId(faulty),
                    _ => node,
                },
            },
            Kind::FaultOutside => {
                let node = NodeId(mesh.nodes() + u32::from(b));
                match c % 2 {
                    0 => Command::MarkFaulty { node },
                    _ => Command::ClearFaulty { node },
                }
            }
            Kind::Query => Command::QueryJob {
                job: some_job.unwrap_or(unknown),
            },
            Kind::Reset => Command::Reset,
            Kind::Configure => Command::Configure(configuration(
                self.meshes[usize::from(a) % self.meshes.len()],
                STRATEGIES[usize::from(b) % STRATEGIES.len()],
            )),
            Kind::ConfigureTooLarge => Command::Configure(Configuration {
                machine: Mesh::new(1024, 1024).expect("sides in range").into(),
                strategy: model.strategy(),
                scheduler: SchedulerKind::Fcfs,
            }),
        }
    }

    fn submit(&mut self, request: Request) -> Command {
        self.next_job += 1;
        // Any names will do; these are far apart.
        let job = JobId(self.next_job.wrapping_mul(0x0100_0193));
        Command::Submit { job, request }
    }
}

/// A request that can never be granted.
fn bad(mesh: Mesh, request: Request, code: u16) -> Request {
    let Sides { w, h } = mesh.sides();
    let too_long = Request::submesh(w.max(h) + 1, 1);
    match code % 6 {
        0 => Request::submesh(0, 3),
        1 => Request::submesh(3, 0),
        2 => request.with_processors(0),
        3 => request.with_processors(request.shape.area() + 1),
        4 => Request {
            shape: Shape::Sides(Sides::new(u16::MAX, u16::MAX)),
            processors: Sides::new(u16::MAX, u16::MAX).area(),
            ..request
        },
        _ => too_long,
    }
}

/// Compares everything that can be asked for.
fn assert_same(controller: &mut Controller<'_>, model: &Model) {
    controller.check_invariants();
    assert_eq!(controller.statistics(), model.statistics());
    assert_eq!(list_jobs(controller), model.jobs());
    let (busy, faulty) = (model.busy(), model.faulty());
    let expected: Vec<(bool, bool)> = busy
        .whole()
        .nodes()
        .map(|(x, y)| (busy.is_busy(x, y), faulty.is_busy(x, y)))
        .collect();
    assert_eq!(occupancy_map(controller), expected);
    if model.strategy() == StrategyKind::FreeSubmeshList {
        let list = free_submesh_list(controller).iter().map(|&s| Rect::from(s));
        let expected = busy.scan().dominant_free_submeshes();
        assert!(list.eq(expected), "the list is the dominant free submeshes");
    }
}

fn assert_answer(
    controller: &mut Controller<'_>,
    expected: &Expected,
    command: &Command,
    now: u64,
) {
    let answer = ask_at(controller, command, now);
    assert!(
        expected.agrees_with(&answer),
        "{command:?}\nexpected {expected:?}\nanswered {answer:?}"
    );
}

/// Names what a command brought about, for the test that asks whether everything was.
fn note(command: &Command, expected: &Expected, seen: &mut BTreeSet<&'static str>) {
    let grants = expected.grants.len();
    let kind = match (command, &expected.last) {
        (_, Reply::Error(Error::Refused(refusal))) => refusal.name(),
        (_, Reply::Error(Error::UnknownJob)) => "unknown job",
        (_, Reply::Error(Error::UnknownNode(_))) => "unknown node",
        (_, Reply::Error(Error::Configure(ConfigureError::JobsPresent))) => "jobs present",
        (_, Reply::Error(Error::Configure(_))) => "too large",
        (Command::Configure(_), _) => "configured",
        (Command::Reset, _) => "reset",
        (Command::Submit { .. }, _) if grants == 0 => "waits",
        (Command::Submit { .. }, _) => "granted at once",
        (Command::Release { .. }, Reply::Released { processors: 0, .. }) => "left the queue",
        (Command::Release { .. }, _) if grants == 0 => "released",
        (Command::Release { .. }, _) if grants == 1 => "granted by a release",
        (Command::Release { .. }, _) => "several granted by a release",
        (Command::ClearFaulty { .. }, _) if grants > 0 => "granted by a repair",
        (Command::MarkFaulty { .. }, Reply::Fault { job: Some(_), .. }) => "fault under a job",
        (Command::ClearFaulty { .. }, Reply::Fault { job: Some(_), .. }) => "repair under a job",
        (Command::MarkFaulty { .. }, _) => "fault",
        (Command::ClearFaulty { .. }, _) => "repair",
        (Command::QueryJob { .. }, _) if grants > 0 => "a running job queried",
        _ => "a waiting job queried",
    };
    seen.insert(kind);
}

/// Runs one case, comparing after every operation, and notes what happened.
fn run(meshes: &[Mesh], strategy: StrategyKind, case: &Case, seen: &mut BTreeSet<&'static str>) {
    let mut memory = HeapMemory::for_largest_of(meshes, case.jobs);
    let configuration = configuration(meshes[0], strategy);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let mut model = Model::new(controller.capacity(), configuration);
    let mut reader = Reader {
        case,
        meshes,
        next_job: 0,
    };
    for (at, &code) in (0..).zip(&case.operations) {
        let command = reader.command(&model, code);
        // Sometimes a clock goes back.
        let now = at * 10 - u64::from(code.3 % 32).min(at * 10);
        let expected = model.handle(&command, now);
        note(&command, &expected, seen);
        assert_answer(&mut controller, &expected, &command, now);
        if command.changes_state() {
            // Said again for a repeated frame: the same grants, none when the command failed.
            let again = repeated_grants(&controller);
            assert!(
                expected.grants_agree_with(&again),
                "{again:?}, expected {expected:?}"
            );
        }
        assert_same(&mut controller, &model);
    }
    // Releasing never fails, in whatever order, and leaves an empty mesh with its faults.
    for (job, _) in model.jobs() {
        let command = Command::Release { job };
        let expected = model.handle(&command, 0);
        assert!(matches!(expected.last, Reply::Released { .. }));
        assert_answer(&mut controller, &expected, &command, 0);
    }
    assert_same(&mut controller, &model);
    let statistics = controller.statistics();
    assert_eq!(statistics.free + statistics.faulty, statistics.nodes);
}

/// The number of cases and the seed, unless proptest's environment variables say otherwise.
fn config() -> Config {
    let mut config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = CASES;
    }
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(SEED);
    }
    config
}

/// Runs random cases with one strategy. Returns what happened in them.
fn check(meshes: &[Mesh], strategy: StrategyKind, config: Config) -> BTreeSet<&'static str> {
    let seed = config.rng_seed;
    let seen = RefCell::new(BTreeSet::new());
    let outcome = TestRunner::new(config).run(&case(), |case| {
        run(meshes, strategy, &case, &mut seen.borrow_mut());
        Ok(())
    });
    let context = format!("{strategy} on {}, PROPTEST_RNG_SEED={seed}", meshes[0]);
    match outcome {
        Ok(()) => seen.into_inner(),
        Err(TestError::Fail(reason, case)) => panic!("{context}: {reason}\n{case:#?}"),
        Err(TestError::Abort(reason)) => panic!("{context}: {reason}"),
    }
}

macro_rules! meshes {
    ($($name:ident: $($w:literal x $h:literal),+;)*) => {
        $(
            #[test]
            fn $name() {
                for strategy in STRATEGIES {
                    check(&[$(mesh($w, $h)),+], strategy, config());
                }
            }
        )*
    };
}

// The first mesh is the one that is served at the beginning; `Configure` switches among all.
meshes! {
    width_31: 31 x 5, 5 x 31;
    width_32: 32 x 5, 32 x 4;
    width_33: 33 x 5, 4 x 4;
    width_63: 63 x 3, 33 x 3;
    width_64: 64 x 3, 64 x 2;
    width_65: 65 x 3, 63 x 3;
    width_127: 127 x 2, 31 x 7;
    width_128: 128 x 2, 64 x 4;
    width_129: 129 x 2, 65 x 3;
    height_33: 3 x 33, 33 x 3;
    height_65: 2 x 65, 65 x 2;
    one_row: 97 x 1, 1 x 97;
    one_column: 1 x 97, 97 x 1;
    one_node: 1 x 1, 2 x 1;
    square_8: 8 x 8, 7 x 9;
    square_17: 17 x 17, 2 x 2;
    height_17: 33 x 17, 17 x 33;
}

/// The random operations are worth something only if they bring about whatever can happen.
#[test]
fn everything_happens() {
    let config = Config {
        cases: 64,
        rng_seed: RngSeed::Fixed(SEED),
        failure_persistence: None,
        ..Config::default()
    };
    for strategy in STRATEGIES {
        let mut missing = BTreeSet::from([
            "unknown job",
            "unknown node",
            "jobs present",
            "too large",
            "configured",
            "reset",
            "waits",
            "granted at once",
            "left the queue",
            "released",
            "granted by a release",
            "several granted by a release",
            "granted by a repair",
            "fault under a job",
            "repair under a job",
            "fault",
            "repair",
            "a running job queried",
            "a waiting job queried",
        ]);
        missing.extend(Refusal::ALL.map(Refusal::name));
        // Said of requests to a cube.
        for refusal in [
            Refusal::DimensionAboveN,
            Refusal::RadixAboveK,
            Refusal::RadixBelowK,
        ] {
            missing.remove(refusal.name());
        }
        if strategy == StrategyKind::Naive {
            missing.remove(Refusal::Fragmented.name());
        }
        for seen in check(&[mesh(8, 8)], strategy, config.clone()) {
            missing.remove(seen);
        }
        assert!(missing.is_empty(), "never with {strategy}: {missing:?}");
    }
}
