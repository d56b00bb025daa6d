//! A controller whose attempts pause as often as possible, with queries in the pauses, against a
//! twin that never pauses.

use std::cell::{Cell, RefCell};

use meshalloc::Threshold;
use meshalloc::{
    Command, Configuration, Controller, Grid, NodeId, Pauses, Reply, SchedulerKind, Statistics,
    StrategyKind, Ticks, View,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, ask_at, cube, mesh};
use meshalloc_tests::saved::{Commands, save};

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
    let mut replies = Vec::new();
    let mut ask = |query: Command| {
        view.answer(&query, &mut |reply| replies.push(reply.clone()));
        replies.pop().expect("an answer")
    };
    let Reply::Statistics(Statistics {
        nodes,
        free,
        waiting,
        running,
        ..
    }) = ask(Command::Statistics)
    else {
        panic!("no statistics");
    };
    let mut busy = 0;
    for from in (0..nodes).step_by(1024).map(NodeId) {
        let Reply::Occupancy(chunk) = ask(Command::Occupancy { from }) else {
            panic!("no occupancy");
        };
        busy += chunk.busy.iter().map(|byte| byte.count_ones()).sum::<u32>();
    }
    assert_eq!(busy, nodes - free, "as many are busy as are not free");
    let (mut from, mut jobs) = (Some(0), Vec::new());
    while let Some(at) = from {
        let Reply::Jobs(list) = ask(Command::ListJobs { on: None, from: at }) else {
            panic!("no list");
        };
        jobs.extend(list.jobs);
        from = list.next;
    }
    assert_eq!(jobs.len() as u32, waiting + running);
    for (job, _) in jobs {
        assert!(matches!(ask(Command::QueryJob { job }), Reply::Job(_)));
    }
    assert!(view.status.left > 0, "the work itself is left");
}

/// Handles a command in slices with as many pauses as possible. Returns the answer.
fn in_pauses(
    controller: &mut Controller<'_>,
    command: &Command,
    now: Ticks,
    pauses: &Pauses<'_>,
) -> Reply {
    let mut reply = controller.begin(command, now, Some(pauses));
    let finish = |controller: &mut Controller<'_>| {
        let mut left = Vec::new();
        while controller.is_scheduling() {
            left.push(controller.left() as usize);
            assert!(controller.left() <= controller.jobs().waiting_len());
            controller.advance(&mut |_| (), Some(pauses));
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
        let released = controller.begin(&Command::EndLease { job }, ends, None);
        assert!(matches!(released, Reply::Released { .. }), "{released:?}");
        finish(controller);
    }
    controller.renew(&mut reply);
    reply
}

/// Compares both controllers. Returns how often one of them paused.
fn check(configuration: Configuration, seed: u64) -> u64 {
    let mut commands = Commands::new(seed);
    let (mut one, mut other) = (
        HeapMemory::new(configuration.machine, JOBS_MAX),
        HeapMemory::new(configuration.machine, JOBS_MAX),
    );
    let mut twin = Controller::new(one.memory(), configuration).expect("it is served");
    let mut controller = Controller::new(other.memory(), configuration).expect("it is served");
    let random = RefCell::new(Random::new(!seed));
    let pauses_made = Cell::new(0);
    let on_pause = |instructions, view: &View<'_, '_>| {
        assert!(instructions > 0);
        pauses_made.set(pauses_made.get() + 1);
        if random.borrow_mut().percent(10) {
            look(view);
        }
    };
    let pauses = Pauses::new(1, &on_pause);
    for given in 0..COMMANDS {
        let (command, now) = commands.next(&mut twin);
        if !command.changes_state() {
            continue;
        }
        let context = format!("{configuration:?}, seed {seed}, command {given}: {command:?}");
        let expected = ask_at(&mut twin, &command, now).last;
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
