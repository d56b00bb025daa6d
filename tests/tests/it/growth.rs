//! [`Commit::adds`] and [`Controller::growth_by_time`] predict how long a checkpoint becomes.

use std::num::NonZeroU64;

use meshalloc::Threshold;
use meshalloc::storage::Needs;
use meshalloc::{
    Change, Commit, Configuration, Controller, Description, Error, Grid, JobId, Refusal, Request,
    SchedulerKind, StrategyKind, Ticks,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::rig::{HeapMemory, ask_at, cube, mesh};
use meshalloc_tests::sample;
use meshalloc_tests::saved::{Changes, save};

const JOBS_MAX: usize = 24;
const COMMANDS: u32 = 400;
/// A job that never waits and is refused leaves a free slot, which is saved: an item and a number.
const FREE_SLOT: usize = 3;

fn saved_bytes(controller: &Controller<'_>) -> usize {
    save(controller).iter().map(Vec::len).sum()
}

/// What the controller says that the command adds, if it would take effect. It does not.
fn adds(controller: &mut Controller<'_>, command: &Change, now: Ticks) -> Option<usize> {
    let mut adds = None;
    let mut on_commit = |commit: Commit| {
        adds = Some(commit.adds);
        Err(Error::Refused(Refusal::TableFull))
    };
    let _ = controller.begin(command, now, None, Some(&mut on_commit));
    adds
}

/// The command with another estimate or length of a lease.
fn lengthened(command: Change, length: Ticks) -> Change {
    match command {
        Change::Submit {
            job,
            request,
            lease: None,
        } => Change::submit(job, request.with_estimate(length)),
        Change::Submit { job, request, .. } => Change::Submit {
            job,
            request,
            lease: NonZeroU64::new(length),
        },
        Change::Lease { job, .. } => Change::Lease {
            job,
            ticks: NonZeroU64::new(length),
        },
        other => other,
    }
}

/// A checkpoint is never longer than the last count plus the predicted growth of each command
/// since. The count is repeated often, since jobs that have left are not subtracted.
fn check(configuration: Configuration, described: Option<&Description>, seed: u64) {
    let mut commands = Changes::varied(seed);
    let Configuration {
        machine, strategy, ..
    } = configuration;
    let needs = match described {
        Some(described) => Needs::described(strategy, described, JOBS_MAX),
        None => Needs::of_build(&[machine], JOBS_MAX),
    };
    let mut memory = HeapMemory::of(needs, JOBS_MAX);
    let memory = match described {
        Some(described) => memory.memory().describing(described),
        None => memory.memory(),
    };
    let mut controller = Controller::new(memory, configuration).expect("it is served");
    let (mut most, mut counted_for, mut passed) = (0, 0, 0);
    for given in 0..COMMANDS {
        let (command, now) = commands.next(&controller);
        let random = commands.random();
        if counted_for == 0 {
            most = saved_bytes(&controller) + controller.growth_by_time();
            counted_for = random.between(1, 4);
        }
        counted_for -= 1;
        // Sometimes as long as possible.
        passed = match command {
            Change::Configure(_) | Change::Reset => 0,
            _ if random.percent(5) => (1 << 42) - (1 << 20),
            _ => passed,
        };
        let command = lengthened(command, 1 << random.below(64));
        let said = adds(&mut controller, &command, now + passed);
        most += said.unwrap_or(FREE_SLOT);
        ask_at(&mut controller, &command, now + passed);
        let seen = saved_bytes(&controller);
        let context = format!("{configuration:?}, seed {seed}, {given}: {command:?}");
        assert!(seen <= most, "{context}: {seen} bytes for {most}");
    }
}

fn check_all(machine: Grid, described: Option<&Description>) {
    let grid = convert::grid(machine);
    let serves = |kind: StrategyKind| match described {
        Some(described) => kind.serves_described(described),
        None => is_served(kind, &grid),
    };
    let kinds = StrategyKind::built().map(|kind| kind.seeded(7));
    for (seed, strategy) in (0..).zip(kinds.filter(|&kind| serves(kind))) {
        let schedulers = [
            SchedulerKind::BypassQueue { threshold: 250 },
            SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 10 }),
            SchedulerKind::Easy { reservations: 3 },
            SchedulerKind::Conservative,
        ];
        for scheduler in sample(schedulers, 4, seed) {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler,
            };
            check(configuration, described, seed);
        }
    }
}

#[test]
fn no_checkpoint_is_longer_than_was_said() {
    check_all(mesh(13, 11).into(), None);
    check_all(mesh(200, 3).into(), None);
    check_all(cube(4, 3).into(), None);
}

/// Where switches join cubes, a strategy that scatters its jobs needs as many numbers as elsewhere.
#[test]
fn no_checkpoint_of_a_described_machine_is_longer_than_was_said() {
    for (machine, of) in [
        (Grid::torus(&[6, 4, 4]), &[3_u16, 2, 2][..]),
        (Grid::mesh(&[16, 8]), &[4, 4]),
    ] {
        let machine = machine.expect("a grid");
        let described = Description::new(machine).and_then(|it| it.with_cube(of));
        check_all(machine, Some(&described.expect("a description")));
    }
}

/// Serves a machine by first fit and in order.
fn first_fit(memory: &mut HeapMemory, machine: Grid) -> Controller<'_> {
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    Controller::new(memory.memory(), configuration).expect("it is served")
}

/// The prediction is exact, except for counts that no test can reach.
#[test]
fn times_and_leases_become_as_long_as_was_said() {
    const JOBS: u32 = 12;
    let machine: Grid = mesh(16, 16).into();
    let mut memory = HeapMemory::new(machine, JOBS_MAX);
    let mut controller = first_fit(&mut memory, machine);
    for job in (0..JOBS).map(JobId) {
        let request = Request::submesh(2, 2);
        // They have not ended when they are renewed.
        let ticks = 1 << 42;
        let command = Change::Submit {
            job,
            request,
            lease: NonZeroU64::new(ticks),
        };
        ask_at(&mut controller, &command, 0);
    }
    let said = saved_bytes(&controller) + controller.growth_by_time();
    for job in (0..JOBS).map(JobId) {
        let ticks = 1 << 63;
        let renewal = Change::Lease {
            job,
            ticks: NonZeroU64::new(ticks),
        };
        assert_eq!(adds(&mut controller, &renewal, 0), Some(0));
        ask_at(&mut controller, &renewal, (1 << 42) - 1);
    }
    // For each job, two numbers of attempts take one byte each, not three, and the number of later
    // events takes one byte, not five.
    let counts = JOBS as usize * (2 + 2 + 4);
    assert_eq!(said - saved_bytes(&controller), counts);
}

/// The same for jobs that wait and are granted pages: one of four processors takes as many numbers
/// as a block of two, whether a job requests one processor of it or two.
#[test]
fn pages_of_waiting_jobs_are_counted() {
    let machine: Grid = mesh(16, 16).into();
    let left = |strategy: &str, processors| {
        let configuration = Configuration {
            machine,
            strategy: strategy.parse().expect("a strategy"),
            scheduler: SchedulerKind::Fcfs,
        };
        let mut memory = HeapMemory::new(machine, JOBS_MAX);
        let mut controller = Controller::new(memory.memory(), configuration).expect("it is served");
        let mut ask = |command, now| {
            ask_at(&mut controller, &command, now);
            (saved_bytes(&controller), controller.growth_by_time())
        };
        let submit = |job, processors| Change::submit(JobId(job), Request::chips(processors));
        ask(submit(0, machine.nodes()), 0);
        let (saved, growth) = (1..=10)
            .map(|job| ask(submit(job, processors), 0))
            .last()
            .unwrap();
        ask(Change::Release { job: JobId(0) }, 1);
        // Time goes on, and nothing else.
        let idle = Change::Lease {
            job: JobId(1),
            ticks: None,
        };
        let (seen, _) = ask(idle, (1 << 42) - 1);
        saved + growth - seen
    };
    // What is left is for counts that no test can reach.
    let expected = left("paging", 2);
    assert_eq!(left("paging:row-major=1", 2), expected);
    assert_eq!(left("paging:row-major=1", 1), expected);
}

/// The same for jobs that wait, are granted a block each, and become old.
#[test]
fn what_waiting_jobs_become_is_counted() {
    const JOBS: u32 = 10;
    let machine: Grid = mesh(16, 16).into();
    let mut memory = HeapMemory::new(machine, JOBS_MAX);
    let mut controller = first_fit(&mut memory, machine);
    let mut ask = |command, now| {
        ask_at(&mut controller, &command, now);
        (saved_bytes(&controller), controller.growth_by_time())
    };
    let submit = |job, side| {
        let (job, request) = (JobId(job), Request::submesh(side, side));
        Change::submit(job, request)
    };
    ask(submit(0, 16), 0);
    for job in 1..JOBS {
        ask(submit(job, 5), 0);
    }
    let (saved, growth) = ask(submit(JOBS, 5), 0);
    ask(Change::Release { job: JobId(0) }, 1);
    // Time goes on, and nothing else.
    let (job, ticks) = (JobId(1), 0);
    let (seen, _) = ask(
        Change::Lease {
            job,
            ticks: NonZeroU64::new(ticks),
        },
        (1 << 42) - 1,
    );
    // For each job 8 bytes for counts that no test reaches, and 3 or 4 because small node numbers
    // are short. In addition job 0, which has left.
    assert_eq!(saved + growth - seen, 147);
}

#[test]
fn what_a_lease_adds_is_counted() {
    let machine: Grid = mesh(16, 16).into();
    let mut memory = HeapMemory::new(machine, JOBS_MAX);
    let mut controller = first_fit(&mut memory, machine);
    let (job, request, ticks) = (JobId(1), Request::submesh(2, 2), 1 << 63);
    let submit = Change::submit(job, request);
    let leased = Change::Submit {
        job,
        request,
        lease: NonZeroU64::new(ticks),
    };
    let [with, without] = [leased, submit].map(|it| adds(&mut controller, &it, 0));
    let said = with.zip(without).map(|(with, without)| with - without);
    ask_at(&mut controller, &submit, 0);
    let (lease, without) = (
        Change::Lease {
            job,
            ticks: NonZeroU64::new(ticks),
        },
        saved_bytes(&controller),
    );
    assert_eq!(adds(&mut controller, &lease, 0), said);
    ask_at(&mut controller, &lease, 0);
    assert_eq!(Some(saved_bytes(&controller) - without), said);
}

/// A strategy that looks ahead remembers a request also when its job is gone.
#[test]
fn what_a_strategy_remembers_is_counted() {
    let machine: Grid = mesh(200, 3).into();
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::LeastExpectedBlocking { budget: 16 },
        scheduler: SchedulerKind::Fcfs,
    };
    let mut memory = HeapMemory::for_strategy(machine, configuration.strategy, JOBS_MAX);
    let mut looks_ahead = Controller::new(memory.memory(), configuration).expect("it is served");
    let mut memory = HeapMemory::new(machine, JOBS_MAX);
    let mut does_not = first_fit(&mut memory, machine);
    let job = JobId(1);
    let mut come_and_go = |side| {
        let request = Request::submesh(side, 1);
        let submit = Change::submit(job, request);
        let said = [&mut looks_ahead, &mut does_not].map(|it| adds(it, &submit, 0));
        let [said, other] = said.map(|said| said.expect("it is accepted"));
        let said = said - other;
        ask_at(&mut looks_ahead, &submit, 0);
        ask_at(&mut looks_ahead, &Change::Release { job }, 0);
        (saved_bytes(&looks_ahead), said)
    };
    // At least as many as it remembers, and enough that no count gets longer soon.
    for _ in 0..130 {
        come_and_go(1);
    }
    let (before, _) = come_and_go(1);
    let (after, said) = come_and_go(150);
    assert!(
        (before + 1..=before + said).contains(&after),
        "{before} bytes before, {after} after, {said} more predicted"
    );
}
