//! Random sequences of operations against the naive system, compared after every operation, at the
//! edges of the occupancy's words and on thin, wide and tall machines, with every strategy and the
//! schedulers.
//!
//! A sequence is a list of numbers that are read as operations, so a failing one is shrunk. The
//! shortest found is printed as operations, with machine, strategy and seed. `PROPTEST_RNG_SEED`
//! and `PROPTEST_CASES` choose others.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};

use meshalloc::Threshold;
use meshalloc::{
    Change, Class, Configuration, ConfigureError, Error, Flags, Grid, JobId, Mesh, NodeId, Outcome,
    Refusal, Request, SchedulerKind, StrategyKind, Submesh, Tolerance, Victims,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, cube, described, fault, mesh, unit};
use meshalloc_tests::saved;
use meshalloc_tests::strategy::{counts_processors, places_anywhere};
use meshalloc_tests::system::{Expected, System};
use meshalloc_tests::trial::Trial;
use meshalloc_tests::{exhaustive, sample};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};

const SEED: u64 = 1995;
const CASES: u32 = exhaustive(12, 2);
const OPERATIONS_MAX: usize = 240;
const JOBS_MAX: usize = 24;

/// With these parameters decisions are compared without rounding. An operation takes 10 ticks.
const SCHEDULERS: [SchedulerKind; 7] = [
    SchedulerKind::Fcfs,
    SchedulerKind::BypassQueue { threshold: 250 },
    SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 150 }),
    SchedulerKind::Easy { reservations: 1 },
    SchedulerKind::Easy { reservations: 3 },
    SchedulerKind::Conservative,
    SchedulerKind::ShortestJobFirst { threshold: 250 },
];

/// The scheduler, if it can be compared under this strategy. The bisection of EASY assumes that a
/// job that fits still fits if more processors are free; frame sliding, which moves in strides,
/// breaks this.
fn scheduler_for(strategy: StrategyKind, scheduler: SchedulerKind) -> SchedulerKind {
    match (strategy, scheduler) {
        (StrategyKind::FrameSliding, SchedulerKind::Easy { .. } | SchedulerKind::Conservative) => {
            SchedulerKind::Fcfs
        }
        _ => scheduler,
    }
}

/// The kinds of operations. How often each comes is random in every case.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Submit,
    SubmitNoWait,
    SubmitDuplicate,
    SubmitBad,
    Release,
    ReleaseUnknown,
    SubmitLeased,
    Lease,
    EndLease,
    MarkFaulty,
    ClearFaulty,
    Replace,
    Preempt,
    FaultOutside,
    Reset,
    Configure,
    ConfigureTooLarge,
}

/// The greatest weight of each kind: large for jobs that come and go, small for resets.
const KINDS: [(Kind, u32); 17] = [
    (Kind::Submit, 40),
    (Kind::SubmitNoWait, 40),
    (Kind::SubmitDuplicate, 3),
    (Kind::SubmitBad, 3),
    (Kind::Release, 40),
    (Kind::ReleaseUnknown, 2),
    (Kind::SubmitLeased, 20),
    (Kind::Lease, 20),
    (Kind::EndLease, 4),
    (Kind::MarkFaulty, 20),
    (Kind::ClearFaulty, 20),
    (Kind::Replace, 20),
    (Kind::Preempt, 20),
    (Kind::FaultOutside, 2),
    (Kind::Reset, 2),
    (Kind::Configure, 2),
    (Kind::ConfigureTooLarge, 2),
];

/// One operation, to be read against the state it meets.
type Code = (u16, u16, u16, u16);

#[derive(Clone, Debug)]
struct Case {
    weights: Vec<u32>,
    /// The longest side that is asked for, as far as the machine allows.
    side_max: u32,
    scheduler: SchedulerKind,
    /// The room for jobs.
    jobs: usize,
    operations: Vec<Code>,
}

fn case() -> impl Strategy<Value = Case> {
    // At least some releases.
    let weights = KINDS.map(|(kind, most)| match kind {
        Kind::Release => 5..most,
        _ => 0..most,
    });
    let side_max = prop_oneof![Just(2), Just(5), Just(16), Just(u32::MAX)];
    let scheduler = prop::sample::select(&SCHEDULERS);
    let operations = prop::collection::vec(any::<Code>(), 1..OPERATIONS_MAX);
    (
        weights.to_vec(),
        side_max,
        scheduler,
        1..=JOBS_MAX,
        operations,
    )
        .prop_map(|(weights, side_max, scheduler, jobs, operations)| Case {
            weights,
            side_max,
            scheduler,
            jobs,
            operations,
        })
}

/// The strategies for a machine.
fn strategies(machine: Grid) -> Vec<StrategyKind> {
    let grid = convert::grid(machine);
    // The naive forms that look at every box take long on larger grids.
    let nodes_max = |kind| match kind {
        StrategyKind::LeastExpectedBlocking { .. } | StrategyKind::LebEstimates { .. } => 24,
        StrategyKind::FreeSubmeshList => 36,
        StrategyKind::BestFit | StrategyKind::BusyList => 256,
        _ => u32::MAX,
    };
    StrategyKind::built()
        .filter(|&kind| is_served(kind, &grid))
        .filter(|&kind| grid.w_h().is_some() || grid.nodes() <= nodes_max(kind))
        .collect()
}

/// Reads a code as a command.
struct Reader<'a> {
    case: &'a Case,
    machines: &'a [Grid],
    next_job: u32,
}

impl Reader<'_> {
    fn kind(&self, code: u16) -> Kind {
        let total: u32 = self.case.weights.iter().sum();
        let mut at = (u32::from(code) * total) >> 16;
        for (&(kind, _), &weight) in KINDS.iter().zip(&self.case.weights) {
            if at < weight {
                return kind;
            }
            at -= weight;
        }
        unreachable!("at is less than the total")
    }

    /// Now and then as if the machine were turned: some fit only along other dimensions, some
    /// never.
    fn request(&self, configuration: &Configuration, random: &mut Random) -> Request {
        let grid = convert::grid(configuration.machine);
        let extents = match grid.k() {
            Some(k) => radices(k, grid.dimensions() as u32, self.case.side_max, random),
            None => {
                let mut sides = grid.sides().to_vec();
                if random.percent(10) {
                    sides.reverse();
                }
                if grid.w_h().is_none() {
                    sides.truncate(random.between(0, sides.len() as u32) as usize);
                }
                let most = |side: u32| side.min(self.case.side_max);
                sides
                    .into_iter()
                    .map(|side| random.between(1, most(side)))
                    .collect()
            }
        };
        let request = convert::request(&extents);
        let is_ruled = random.percent(20);
        let request = if is_ruled && random.percent(70) {
            Request::chips(match random.below(8) {
                0 => random.between(1, grid.nodes() + 2),
                _ => request.processors,
            })
        } else {
            request
        };
        // `pods` has a model of folding with rings.
        let ring = Flags::from_bits_retain(1 << random.between(3, 7));
        let demands_ring = is_ruled && random.percent(30);
        let request = if demands_ring && configuration.strategy != StrategyKind::Folding {
            request.with_flags(request.flags | ring)
        } else {
            request
        };
        let is_chips = request.flags.contains(Flags::CHIPS);
        let request = if !is_chips && random.percent(25) {
            request.with_processors(random.between(1, request.processors))
        } else {
            request
        };
        let request = if random.percent(75) {
            request.with_estimate(random.between(1, 400).into())
        } else {
            request
        };
        let request = if random.percent(30) {
            request.with_class(saved::class(random))
        } else {
            request
        };
        let request = if random.percent(25) {
            request.with_flags(request.flags | Flags::FIXED_ORIENTATION)
        } else {
            request
        };
        // The naive form tries one set of faulty processors after the other.
        if grid.nodes() <= 64 && random.percent(25) {
            let faulty = random.between(1, 3) as u8;
            request.with_tolerance(Tolerance::new(faulty).expect("this build has tolerance"))
        } else {
            request
        }
    }

    fn command(&mut self, system: &System, (kind, a, b, c): Code) -> Change {
        let machine = system.configuration().machine;
        let jobs = system.jobs();
        let unknown = JobId(u32::MAX - u32::from(a));
        let some_job = jobs
            .get(usize::from(a) % jobs.len().max(1))
            .map(|&(id, _)| id);
        let faulty = system.faulty_nodes();
        let mut random = Random::new(u64::from(a) << 32 | u64::from(b) << 16 | u64::from(c));
        let request = self.request(&system.configuration(), &mut random);
        match self.kind(kind) {
            Kind::Submit => self.submit(request),
            Kind::SubmitNoWait => self.submit(request.with_flags(request.flags | Flags::NO_WAIT)),
            Kind::SubmitDuplicate => match some_job {
                Some(job) => Change::submit(job, request),
                None => self.submit(request),
            },
            Kind::SubmitBad => self.submit(bad(machine, request, &mut random)),
            Kind::Release => Change::Release {
                job: some_job.unwrap_or(unknown),
            },
            Kind::ReleaseUnknown => Change::Release { job: unknown },
            Kind::SubmitLeased => match self.submit(request) {
                Change::Submit { job, request, .. } => Change::Submit {
                    job,
                    request,
                    lease: NonZeroU64::new(random.between(1, 600).into()),
                },
                other => other,
            },
            Kind::Lease => Change::Lease {
                job: some_job.unwrap_or(unknown),
                ticks: NonZeroU64::new(random.below(300).into()),
            },
            Kind::EndLease => Change::EndLease {
                job: some_job.unwrap_or(unknown),
            },
            Kind::MarkFaulty => fault(saved::block(&machine, &mut random), true),
            Kind::ClearFaulty => match faulty.get(usize::from(a) % faulty.len().max(1)) {
                Some(&faulty) if c % 8 > 0 => fault(unit(&machine, NodeId(faulty)), false),
                _ => fault(saved::block(&machine, &mut random), false),
            },
            Kind::Replace => {
                // Mostly one with faulty processors.
                let broken = faulty.iter().find_map(|&node| {
                    let on = system.jobs_on(unit(&machine, NodeId(node)));
                    on.ok()?.first().copied()
                });
                Change::Replace {
                    job: broken.filter(|_| c % 8 > 0).or(some_job).unwrap_or(unknown),
                }
            }
            Kind::Preempt => {
                let class = |job| {
                    let report = system.report(job);
                    report.map_or(Class::DEFAULT, |report| report.request.class)
                };
                // Mostly a job that waits, often the most urgent one.
                let of_state = |runs| jobs.iter().filter(move |job| (job.1 > 0) == runs);
                let mut waiting: Vec<_> = of_state(false).map(|&(job, _)| job).collect();
                waiting.sort_by_key(|&job| std::cmp::Reverse(class(job).priority()));
                let at = match c % 2 {
                    0 => 0,
                    _ => usize::from(a) % waiting.len().max(1),
                };
                let job = waiting.get(at).copied().filter(|_| c % 8 > 0);
                let job = job.or(some_job).unwrap_or(unknown);
                // Mostly jobs that it may preempt.
                let may_go = |&victim: &JobId| {
                    let class_of = class(victim);
                    let is_lower = class_of.priority() < class(job).priority();
                    class_of.is_preemptible() && is_lower || random.percent(3)
                };
                let running = of_state(true).map(|&(job, _)| job);
                let victims: Vec<_> = running.filter(may_go).take(usize::from(b) % 5).collect();
                Change::Preempt {
                    job,
                    victims: Victims::new(&victims).expect("at most 4"),
                }
            }
            Kind::FaultOutside => {
                let mut number = || random.below(1 << 16) as u16;
                let block = Submesh::new(number(), number(), number(), number()).into();
                fault(block, c % 2 == 0)
            }
            Kind::Reset => Change::Reset,
            Kind::Configure => {
                let machine = self.machines[usize::from(a) % self.machines.len()];
                let strategies = strategies(machine);
                let strategy = strategies[usize::from(b) % strategies.len()];
                let scheduler = SCHEDULERS[usize::from(c) % SCHEDULERS.len()];
                Change::Configure(Configuration {
                    machine,
                    strategy,
                    scheduler: scheduler_for(strategy, scheduler),
                })
            }
            Kind::ConfigureTooLarge => Change::Configure(Configuration {
                machine: Mesh::new(1024, 1024).expect("sides in range").into(),
                ..system.configuration()
            }),
        }
    }

    fn submit(&mut self, request: Request) -> Change {
        self.next_job += 1;
        // The names could be any; these are far apart.
        let job = JobId(self.next_job.wrapping_mul(0x0100_0193));
        Change::submit(job, request)
    }
}

/// Radices for a k-ary n-cube; now and then one above k, a dimension too many, or what partner
/// serves: k alone.
fn radices(k: u32, n: u32, radix_max: u32, random: &mut Random) -> Vec<u32> {
    let most = radix_max.min(k);
    let m = random.between(0, n);
    let mut radices: Vec<u32> = (0..m).map(|_| random.between(2, most)).collect();
    match random.below(20) {
        0 => radices.push(2),
        1..=4 => radices.fill(k),
        5 => radices.iter_mut().take(1).for_each(|radix| *radix = k + 1),
        _ => (),
    }
    radices
}

/// A request that can hardly ever be granted.
fn bad(machine: Grid, request: Request, random: &mut Random) -> Request {
    let grid = convert::grid(machine);
    let longest = grid.sides().iter().copied().max().unwrap_or(1);
    match random.below(7) {
        0 => Request::submesh(0, 3),
        1 => Request::submesh(3, 0),
        2 => request.with_processors(0),
        3 => request.with_processors(request.shape.area() + 1),
        4 => Request::submesh(u16::MAX, u16::MAX),
        5 => convert::request(&vec![2; grid.dimensions() + 1]),
        _ => convert::request(&[longest + 1]),
    }
}

/// Names the effects of a command, for the test that every effect occurs.
fn note(command: &Change, expected: &Expected, seen: &mut BTreeSet<&'static str>) {
    let grants = expected.grants.len();
    let kind = match (command, &expected.outcome) {
        (Change::Replace { .. }, Err(Error::Refused(_))) => "no other place",
        (Change::Preempt { .. }, Err(Error::Refused(_))) => "no place by preemption",
        (_, Err(Error::Refused(refusal))) => refusal.name(),
        (_, Err(Error::NotLegal { .. })) => Refusal::NotLegal.name(),
        (_, Err(Error::UnknownJob)) => "unknown job",
        (_, Err(Error::LeaseRuns)) => "a lease runs",
        (_, Err(Error::NothingToReplace)) => "nothing to replace",
        (_, Err(Error::NotWaiting)) => "runs already",
        (_, Err(Error::NoVictim { .. })) => "no victim",
        (_, Err(Error::NoSuchBlock { .. })) => "no such block",
        (_, Err(Error::Configure(ConfigureError::JobsPresent))) => "jobs present",
        (_, Err(Error::Configure(_))) => "too large",
        (Change::Preempt { .. }, _) if grants > 1 => "granted by a preemption",
        (Change::Preempt { victims, .. }, _) => match victims.iter().count() {
            0 => "out of turn",
            _ => "preempts jobs",
        },
        _ if expected.ended.len() > 1 => "several leases end",
        _ if expected.ended.iter().any(|ended| ended.processors == 0) => {
            "the lease of a waiting job ends"
        }
        _ if !expected.ended.is_empty() => "a lease ends",
        (Change::EndLease { .. }, _) => "a lease ends",
        (Change::Lease { .. }, _) => "leased",
        (Change::Submit { lease: Some(_), .. }, _) => "submitted with a lease",
        (Change::Replace { .. }, _) if grants > 1 => "granted by a replacement",
        (Change::Replace { .. }, _) => "replaced",
        (Change::Configure(_), _) => "configured",
        (Change::Reset, _) => "reset",
        (Change::Submit { .. }, _) if grants == 0 => "waits",
        (Change::Submit { .. }, _) => "granted at once",
        (Change::Release { .. }, Ok(Outcome::Released { processors: 0 })) => "left the queue",
        (Change::Release { .. }, _) if grants == 0 => "released",
        (Change::Release { .. }, _) if grants == 1 => "granted by a release",
        (Change::Release { .. }, _) => "several granted by a release",
        (Change::ClearFaulty { .. }, _) if grants > 0 => "granted by a repair",
        (Change::MarkFaulty { .. }, Ok(Outcome::Faults(report))) if report.jobs > 1 => {
            "fault under several jobs"
        }
        (Change::MarkFaulty { .. }, Ok(Outcome::Faults(report))) if report.jobs > 0 => {
            "fault under a job"
        }
        (Change::ClearFaulty { .. }, Ok(Outcome::Faults(report))) if report.jobs > 0 => {
            "repair under a job"
        }
        (Change::MarkFaulty { .. }, _) => "fault",
        (Change::ClearFaulty { .. }, _) => "repair",
        (other, _) => panic!("{other:?} is not made here"),
    };
    seen.insert(kind);
}

/// Runs one case, compares after every operation, and records what happened. Calls `before` with
/// each operation, its time and the machine.
fn run(
    machines: &[Grid],
    strategy: StrategyKind,
    case: &Case,
    seen: &mut BTreeSet<&'static str>,
    before: &mut dyn FnMut(&Change, u64, &Grid),
) {
    let mut memory = HeapMemory::for_largest_of(machines, case.jobs);
    let configuration = Configuration {
        machine: machines[0],
        strategy,
        scheduler: scheduler_for(strategy, case.scheduler),
    };
    let mut trial = Trial::new(&mut memory, configuration);
    let mut reader = Reader {
        case,
        machines,
        next_job: 0,
    };
    for (at, &code) in (0..).zip(&case.operations) {
        let command = reader.command(trial.system(), code);
        // Sometimes a clock goes back.
        let now = at * 10 - u64::from(code.3 % 32).min(at * 10);
        before(&command, now, &trial.system().configuration().machine);
        let (_, expected) = trial.step(&command, now);
        note(&command, &expected, seen);
        if expected.grants_any_of(&trial.system().faulty_nodes()) {
            seen.insert("granted with faulty processors");
        }
    }
    trial.finish();
}

/// The operations of a failing case up to the failure, a line each.
fn operations(machines: &[Grid], strategy: StrategyKind, case: &Case) -> String {
    let mut text = format!(
        "{} jobs, {:?}\n",
        case.jobs,
        scheduler_for(strategy, case.scheduler)
    );
    let mut write = |command: &Change, now: u64, machine: &Grid| {
        text += &format!("at {now}: {}\n", described(command, machine));
    };
    let mut seen = BTreeSet::new();
    let again = AssertUnwindSafe(|| run(machines, strategy, case, &mut seen, &mut write));
    // It fails as before.
    let _ = catch_unwind(again);
    text
}

/// The number of cases and the seed, unless proptest's environment variables say otherwise.
pub(crate) fn config() -> Config {
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
pub(crate) fn check(
    machines: &[Grid],
    strategy: StrategyKind,
    config: Config,
) -> BTreeSet<&'static str> {
    let seed = config.rng_seed;
    let seen = RefCell::new(BTreeSet::new());
    let outcome = TestRunner::new(config).run(&case(), |case| {
        let seen = &mut seen.borrow_mut();
        run(machines, strategy, &case, seen, &mut |_, _, _| ());
        Ok(())
    });
    let context = format!("{strategy} on {}, PROPTEST_RNG_SEED={seed}", machines[0]);
    match outcome {
        Ok(()) => seen.into_inner(),
        Err(TestError::Fail(reason, case)) => panic!(
            "{context}: {reason}\n{}",
            operations(machines, strategy, &case)
        ),
        Err(TestError::Abort(reason)) => panic!("{context}: {reason}"),
    }
}

fn boxes<const N: usize>(sides: [u16; N], wraps: u16) -> Grid {
    Grid::new(&sides, wraps).expect("a grid")
}

macro_rules! machines {
    ($($name:ident: $($new:ident($($number:expr),+)),+;)*) => {
        $(
            #[test]
            fn $name() {
                let machines = [$(Grid::from($new($($number),+))),+];
                for strategy in strategies(machines[0]) {
                    check(&machines, strategy, config());
                }
            }
        )*
    };
}

// The first machine is the one that is served at the beginning; `Configure` switches among all.
machines! {
    width_31: mesh(31, 5), mesh(5, 31);
    width_32: mesh(32, 5), mesh(32, 4);
    width_33: mesh(33, 5), mesh(4, 4);
    width_63: mesh(63, 3), mesh(33, 3);
    width_64: mesh(64, 3), mesh(64, 2);
    width_65: mesh(65, 3), mesh(63, 3);
    width_127: mesh(127, 2), mesh(31, 7);
    width_128: mesh(128, 2), mesh(64, 4);
    width_129: mesh(129, 2), mesh(65, 3);
    height_33: mesh(3, 33), mesh(33, 3);
    height_65: mesh(2, 65), mesh(65, 2);
    one_row: mesh(97, 1), mesh(1, 97);
    one_column: mesh(1, 97), mesh(97, 1);
    one_node: mesh(1, 1), mesh(2, 1);
    square_8: mesh(8, 8), mesh(7, 9);
    square_16: mesh(16, 16), mesh(16, 22);
    square_17: mesh(17, 17), mesh(2, 2);
    height_17: mesh(33, 17), mesh(17, 33), mesh(33, 31);
    // Words with padding: a part of one, or several; exactly one word; exactly several.
    ring_2: cube(2, 1), cube(7, 1);
    ring_7: cube(7, 1), mesh(3, 2);
    ring_64: cube(64, 1), cube(2, 6);
    ring_129: cube(129, 1), cube(64, 1);
    cube_3_3: cube(3, 3), cube(5, 2);
    cube_5_2: cube(5, 2), mesh(5, 5);
    cube_4_3: cube(4, 3), mesh(8, 8);
    cube_8_2: cube(8, 2), cube(4, 3);
    cube_16_2: cube(16, 2), cube(2, 8);
    cube_3_5: cube(3, 5), cube(7, 2);
    cube_7_3: cube(7, 3), mesh(31, 7);
    hypercube_6: cube(2, 6), cube(4, 3);
    hypercube_8: cube(2, 8), cube(16, 2);
    mesh_2_3_2: boxes([2, 3, 2], 0), mesh(3, 4);
    torus_3_3: boxes([3, 3], 0b11), boxes([3, 2], 0b01);
    torus_3_3_3: boxes([3, 3, 3], 0b111), boxes([3, 3, 2], 0b110);
    mixed_4_3_2: boxes([4, 3, 2], 0b101), boxes([2, 2, 2, 2], 0);
    mesh_2_2_2_2: boxes([2, 2, 2, 2], 0), boxes([4, 3, 2], 0b101);
    torus_3_2_2_2: boxes([3, 2, 2, 2], 0b1111), cube(2, 4);
}

/// The buddy system serves only these.
#[test]
fn squares_of_powers_of_two() {
    for side in [2, 4, 16, 32, 64] {
        check(&[mesh(side, side).into()], StrategyKind::Buddy, config());
    }
}

/// The cases of [`everything_happens`] come in batches, until all has happened.
const BATCH: u32 = 16;
const BATCHES_MAX: u64 = 128;

/// The random operations must cause everything that can happen.
#[test]
fn everything_happens() {
    for machine in [Grid::from(mesh(8, 8)), Grid::from(cube(4, 3))] {
        for strategy in sample(strategies(machine), 8, 0) {
            let mut missing = BTreeSet::from([
                "unknown job",
                "a lease runs",
                "several leases end",
                "the lease of a waiting job ends",
                "a lease ends",
                "leased",
                "submitted with a lease",
                "no such block",
                "nothing to replace",
                "no other place",
                "replaced",
                "granted by a replacement",
                "no place by preemption",
                "runs already",
                "no victim",
                "out of turn",
                "preempts jobs",
                "granted by a preemption",
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
                "fault under several jobs",
                "repair under a job",
                "granted with faulty processors",
                "fault",
                "repair",
            ]);
            missing.extend(Refusal::ALL.map(Refusal::name));
            // On a mesh only extents up to 2 have rings, so RingBusy is not expected.
            missing.remove(Refusal::RingBusy.name());
            // There are no gangs.
            missing.remove(Refusal::GangIncomplete.name());
            missing.remove(Refusal::NotSearchedToTheEnd.name());
            // Any number of processors is legal; see `Reader::request` for the others.
            let is_shapeless = counts_processors(strategy) && strategy != StrategyKind::Neighbor;
            if is_shapeless {
                missing.remove(Refusal::NotLegal.name());
            }
            if strategy == StrategyKind::Folding {
                missing.remove(Refusal::NoRing.name());
            }
            if strategy != StrategyKind::Partner {
                missing.remove(Refusal::ExtentBelowSide.name());
            }
            if strategy == StrategyKind::FrameSliding {
                missing.remove(Refusal::Reserved.name());
            }
            if places_anywhere(strategy) {
                missing.remove(Refusal::Fragmented.name());
            }
            // Some of it is rare: more cases until all has happened.
            for batch in 0..BATCHES_MAX {
                let config = Config {
                    cases: BATCH,
                    rng_seed: RngSeed::Fixed(SEED + batch),
                    failure_persistence: None,
                    ..Config::default()
                };
                for seen in check(&[machine], strategy, config) {
                    missing.remove(seen);
                }
                if missing.is_empty() {
                    break;
                }
            }
            assert!(
                missing.is_empty(),
                "never with {strategy} on {machine}: {missing:?}"
            );
        }
    }
}
