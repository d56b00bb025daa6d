//! A controller whose attempts pause as often as possible, with queries in the pauses, against a
//! twin that never pauses.

use std::cell::{Cell, RefCell};

use meshalloc::Threshold;
use meshalloc::{
    Change, Configuration, Controller, Error, Flags, Grid, JobId, NodeId, Outcome, Pauses, Refusal,
    Request, SchedulerKind, Statistics, StrategyKind, Submesh, Ticks, View,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, ask_at, configuration, cube, mesh};
use meshalloc_tests::saved::{Changes, save};

const JOBS_MAX: usize = 24;
const COMMANDS: u32 = 150;

const SCHEDULERS: [SchedulerKind; 6] = [
    SchedulerKind::Fcfs,
    SchedulerKind::BypassQueue { threshold: 250 },
    SchedulerKind::ModifiedFcfs(Threshold::Count),
    SchedulerKind::Easy { reservations: 3 },
    SchedulerKind::Conservative,
    SchedulerKind::ShortestJobFirst { threshold: 250 },
];

/// Makes every query, and checks what must hold at any time.
fn look(view: &View<'_, '_>) {
    let Statistics {
        nodes,
        free,
        waiting,
        running,
        ..
    } = view.statistics();
    let mut busy = 0;
    for from in (0..nodes).step_by(1024).map(NodeId) {
        let chunk = view.occupancy_chunk(from).expect("a processor");
        busy += chunk.busy.iter().map(|byte| byte.count_ones()).sum::<u32>();
    }
    assert_eq!(busy, nodes - free, "as many are busy as are not free");
    let (mut from, mut jobs) = (Some(0), Vec::new());
    while let Some(at) = from {
        let list = view.job_list(None, at).expect("of the whole machine");
        jobs.extend(list.jobs);
        from = list.next;
    }
    assert_eq!(jobs.len() as u32, waiting + running);
    for (job, _) in jobs {
        assert!(view.job(job).is_ok());
    }
    assert!(view.left() > 0, "the work itself is left");
}

/// The outcome of a change that is carried out in slices, with as many pauses as there can be.
fn in_pauses(
    controller: &mut Controller<'_>,
    command: &Change,
    now: Ticks,
    pauses: &Pauses<'_>,
) -> Result<Outcome, Error> {
    let outcome = controller.begin(command, now, Some(pauses), None);
    let finish = |controller: &mut Controller<'_>| {
        let mut left = Vec::new();
        while controller.is_scheduling() {
            left.push(controller.left() as usize);
            assert!(controller.left() <= controller.jobs().waiting_len());
            controller.advance(Some(pauses));
        }
        for (&most, tried) in left.iter().zip((1..=left.len()).rev()) {
            assert!(
                tried <= most,
                "{tried} jobs tried, at most {most} were left"
            );
        }
    };
    finish(controller);
    while let Some((ends, job)) = controller.lease_ended(0) {
        let released = controller.begin(&Change::EndLease { job }, ends, None, None);
        assert!(
            matches!(released, Ok(Outcome::Released { .. })),
            "{released:?}"
        );
        finish(controller);
    }
    outcome
}

/// Compares both controllers. Returns how often one of them paused.
fn check(configuration: Configuration, seed: u64) -> u64 {
    let mut commands = Changes::varied(seed);
    let (mut one, mut other) = (
        HeapMemory::new(configuration.machine, JOBS_MAX),
        HeapMemory::new(configuration.machine, JOBS_MAX),
    );
    let mut twin = Controller::new(one.memory(), configuration).expect("it is served");
    let mut controller = Controller::new(other.memory(), configuration).expect("it is served");
    let random = RefCell::new(Random::new(!seed));
    let pauses_made = Cell::new(0);
    let on_pause = |view: &View<'_, '_>| {
        pauses_made.set(pauses_made.get() + 1);
        if random.borrow_mut().percent(10) {
            look(view);
        }
    };
    let pauses = Pauses::new(&|| true, &on_pause);
    for given in 0..COMMANDS {
        let (command, now) = commands.next(&twin);
        let context = format!("{configuration:?}, seed {seed}, command {given}: {command:?}");
        let expected = ask_at(&mut twin, &command, now).outcome;
        let reply = in_pauses(&mut controller, &command, now, &pauses);
        assert_eq!(reply, expected, "{context}");
        assert_eq!(save(&controller), save(&twin), "{context}");
    }
    controller.check_invariants();
    pauses_made.get()
}

/// Returns how often each strategy paused.
fn check_all(machine: Grid) -> Vec<(StrategyKind, u64)> {
    let grid = convert::grid(machine);
    let kinds = StrategyKind::built().map(|kind| kind.seeded(7));
    let served = kinds.filter(|&kind| is_served(kind, &grid));
    let pauses = served.zip(0..).map(|(strategy, seed)| {
        let pauses = SCHEDULERS.map(|scheduler| {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler,
            };
            check(configuration, seed)
        });
        (strategy, pauses.iter().sum())
    });
    pauses.collect()
}

#[test]
fn with_pauses_on_meshes_it_decides_like_its_twin() {
    for machine in [mesh(8, 8), mesh(13, 6)] {
        for (strategy, pauses) in check_all(machine.into()) {
            assert!(pauses > 100, "{strategy} pauses {pauses} times");
        }
    }
}

#[test]
fn with_pauses_on_other_grids_it_decides_like_its_twin() {
    let odd = Grid::new(&[5, 3, 4, 2], 0b0101).expect("a grid");
    for machine in [cube(4, 3).into(), cube(2, 7).into(), odd] {
        for (strategy, pauses) in check_all(machine) {
            assert!(pauses > 100, "{strategy} pauses {pauses} times");
        }
    }
}

/// Faulty processors on diagonals, 509 columns apart, in 1024 x 1024: in any 508 rows some columns
/// are free, in 509 rows none. So each window of a search for 1 x 509 fails in its lowest row. As
/// 509 is prime, all other shapes are as long.
///
/// ```text
///   row 3   . . . # . . . #     the same with 4 in place of 509: the AND of rows 1 to 3
///   row 2   . . # . . . # .     leaves columns 0 and 4, that of rows 0 to 3 none
///   row 1   . # . . . # . .
///   row 0   # . . . # . . .
/// ```
#[test]
#[cfg_attr(
    not(feature = "word32"),
    ignore = "of the search on boards, which a host has with 32-bit words"
)]
fn a_search_that_reads_rows_again_pauses_for_each_window() {
    const SIDE: u16 = 1024;
    const HEIGHT: u16 = 509;
    for (strategy, request) in [
        (StrategyKind::FirstFit, Request::submesh(1, HEIGHT)),
        // It knows that the upright shape is not free from how tall free submeshes are.
        (StrategyKind::AllShapes, Request::submesh(HEIGHT, 1)),
    ] {
        let configuration = configuration(mesh(SIDE, SIDE), strategy);
        let mut memory = HeapMemory::for_strategy(mesh(SIDE, SIDE), strategy, 1);
        let mut controller = Controller::new(memory.memory(), configuration).expect("it is served");
        for y in 0..SIDE {
            for x in (y % HEIGHT..SIDE).step_by(HEIGHT.into()) {
                let block = Submesh::new(x, y, 1, 1).into();
                let marked = controller.begin(&Change::MarkFaulty { block }, 0, None, None);
                assert!(marked.is_ok(), "{marked:?}");
                while controller.advance(None) {}
            }
        }
        let pauses_made = Cell::new(0);
        let on_pause = |_: &View<'_, '_>| pauses_made.set(pauses_made.get() + 1);
        let pauses = Pauses::new(&|| true, &on_pause);
        let submit = Change::submit(JobId(1), request.with_flags(Flags::NO_WAIT));
        let outcome = controller.begin(&submit, 0, Some(&pauses), None);
        assert_eq!(outcome, Err(Error::Refused(Refusal::Fragmented)));
        let windows = u64::from(SIDE - HEIGHT + 1);
        assert!(
            pauses_made.get() >= windows,
            "{strategy}: {pauses_made:?} pauses for {windows} windows"
        );
    }
}
