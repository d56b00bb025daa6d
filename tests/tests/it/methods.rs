//! The controller's methods give the same results as the commands.

use meshalloc::controller;
use meshalloc::{
    Command, Configuration, Controller, Error, Grid, Reply, SchedulerKind, StrategyKind, Ticks,
};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{Granted, HeapMemory, ask_at, cube, mesh};
use meshalloc_tests::saved::{Commands, save};

/// The result of a method, as the final reply to its command; `None` for a command without a
/// method.
fn by_method(
    controller: &mut Controller<'_>,
    command: &Command,
    now: Ticks,
    granted: &mut dyn FnMut(controller::Granted<'_, '_>),
) -> Option<Reply> {
    let reply = match *command {
        Command::Submit { job, request } => controller
            .submit(job, request, now, granted)
            .map(|state| Reply::Submitted { job, state })
            .map_err(Error::Refused),
        Command::Release { job } => controller
            .release(job, now, granted)
            .map(|processors| Reply::Released { job, processors }),
        Command::MarkFaulty { block } => controller
            .mark_faulty(block, now, granted)
            .map(Reply::Fault),
        Command::ClearFaulty { block } => controller
            .clear_faulty(block, now, granted)
            .map(Reply::Fault),
        Command::Lease { job, ticks } => controller
            .lease(job, ticks, now, granted)
            .map(|()| Reply::Done),
        _ => return None,
    };
    Some(reply.unwrap_or_else(Reply::Error))
}

fn check(machine: Grid, strategy: StrategyKind, scheduler: SchedulerKind, seed: u64) {
    let configuration = Configuration {
        machine,
        strategy,
        scheduler,
    };
    let (mut one, mut other) = (HeapMemory::new(machine, 24), HeapMemory::new(machine, 24));
    let mut commanded = Controller::new(one.memory(), configuration).expect("it is served");
    let mut called = Controller::new(other.memory(), configuration).expect("it is served");
    let mut commands = Commands::new(seed);
    let mut random = Random::new(seed);
    for _ in 0..400 {
        let (command, now) = commands.next(&mut commanded);
        let context = format!("{configuration:?}, seed {seed}: {command:?} at {now}");
        // Leases that end first do not belong to the command.
        if random.percent(50) {
            called.end_leases(now, &mut |_| ());
            commanded.end_leases(now, &mut |_| ());
        }
        let expected = ask_at(&mut commanded, &command, now);
        let mut granted = Vec::new();
        let seen = by_method(&mut called, &command, now, &mut |grant| {
            granted.push(Granted::from(grant));
        });
        match seen {
            Some(reply) => {
                assert_eq!(reply, expected.last, "{context}");
                assert_eq!(granted, expected.grants, "{context}");
            }
            None => assert_eq!(ask_at(&mut called, &command, now), expected, "{context}"),
        }
        assert_eq!(save(&called), save(&commanded), "{context}");
    }
}

#[test]
fn methods_say_what_commands_say() {
    let bypass = SchedulerKind::BypassQueue { threshold: 100 };
    check(mesh(8, 8).into(), StrategyKind::FirstFit, bypass, 1);
    check(
        mesh(7, 9).into(),
        StrategyKind::Naive,
        SchedulerKind::Conservative,
        2,
    );
    check(
        cube(4, 3).into(),
        StrategyKind::TreeCollapsing,
        SchedulerKind::Fcfs,
        3,
    );
}
