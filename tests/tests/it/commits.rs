//! The announcements of changes that take effect ([`Commit`]): a controller that carries out only
//! what was announced comes to the same states, and a change that the caller does not let take
//! effect changes nothing.

use std::collections::BTreeMap;

use meshalloc::Threshold;
use meshalloc::{
    Change, Commit, Configuration, Controller, Error, Grid, Outcome, Refusal, SchedulerKind,
    Strategy, StrategyKind, Ticks,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::rig::{HeapMemory, cube, mesh};
use meshalloc_tests::sample;
// A refused job that never waits may have had reservations made anew, which the next change needs
// too.
use meshalloc_tests::saved::{Changes, look_at_jobs as look};

const COMMANDS: u32 = 150;
/// Few enough to fill the table now and then.
const JOBS_MAX: usize = 14;
/// What no change is refused with.
const STOPPED: Error = Error::Busy { left: u32::MAX };

/// Carries a command out, and all the scheduling that follows from it. Returns what was announced.
fn give(
    controller: &mut Controller<'_>,
    command: &Change,
    at: Ticks,
) -> (Result<Outcome, Error>, Option<Commit>) {
    let mut commits = Vec::new();
    let mut on_commit = |commit| {
        commits.push(commit);
        Ok(())
    };
    let reply = controller.begin(command, at, None, Some(&mut on_commit));
    while controller.advance(None) {}
    assert!(commits.len() <= 1, "{command:?} is announced once");
    (reply, commits.pop())
}

/// The command does not take effect, since the caller stops it. Returns whether it was announced.
fn stop(controller: &mut Controller<'_>, command: &Change, at: Ticks) -> bool {
    let mut on_commit = |_| Err(STOPPED);
    let reply = controller.begin(command, at, None, Some(&mut on_commit));
    assert!(reply.is_err(), "{command:?}: {reply:?}");
    assert!(!controller.is_scheduling());
    reply == Err(STOPPED)
}

/// How often each was seen.
type Seen = BTreeMap<&'static str, u32>;

/// One controller gets every command, another one only those that are announced, at the time that
/// is announced. The second has room for more jobs, unless the strategy remembers the latest
/// requests.
fn check(configuration: Configuration, mut commands: Changes, said: &mut Seen) {
    let mut memory = HeapMemory::new(configuration.machine, JOBS_MAX);
    let mut every = Controller::new(memory.memory(), configuration).expect("it is served");
    let looks_ahead = every.strategy().facts().looks_ahead;
    let draws = matches!(configuration.strategy, StrategyKind::Random { .. });
    let room = if looks_ahead { JOBS_MAX } else { 2 * JOBS_MAX };
    let mut memory = HeapMemory::new(configuration.machine, room);
    let mut some = Controller::new(memory.memory(), configuration).expect("it is served");
    for given in 0..COMMANDS {
        let (command, now) = commands.next(&every);
        let mut next = Some((command, now));
        while let Some((command, now)) = next {
            let context = format!("{configuration:?}, {given}: {command:?} at {now}");
            let clock = every.clock();
            let at = match command {
                Change::Reset | Change::Configure(_) => now,
                _ => now.max(clock),
            };
            if !draws && commands.random().percent(20) {
                let state = |it: &Controller<'_>| (look(it), it.clock(), it.statistics());
                let before = state(&every);
                if stop(&mut every, &command, now) {
                    assert_eq!(state(&every), before, "{context}");
                    *said.entry("stopped").or_default() += 1;
                }
            }
            let before = look(&every);
            let (reply, commit) = give(&mut every, &command, now);
            let kind = match (commit, reply) {
                (None, Err(_)) => "refused",
                (
                    Some(Commit {
                        is_time_only: true, ..
                    }),
                    Ok(_),
                ) => "time only",
                (Some(_), Ok(_)) => "changed",
                // Strategies that remember requests also remember a refused one.
                (Some(_), Err(_)) if looks_ahead => "remembered",
                _ => panic!("{context}: {reply:?} {commit:?}"),
            };
            *said.entry(kind).or_default() += 1;
            if kind == "refused" || kind == "time only" {
                assert_eq!(look(&every), before, "{context}");
            }
            if reply.is_err() {
                assert_eq!(every.clock(), clock, "{context}");
            }
            if let Some(Commit {
                at: said,
                is_time_only,
                ..
            }) = commit
            {
                assert_eq!(said, at, "{context}");
                assert!(reply.is_err() || every.clock() == at, "{context}");
                if !is_time_only {
                    assert_eq!(give(&mut some, &command, at).0, reply, "{context}");
                    assert!(some.clock() == every.clock() || reply.is_err(), "{context}");
                }
            }
            assert_eq!(look(&some), look(&every), "{context}");
            let ended = every.lease_ended(every.clock());
            next = ended.map(|(ends, job)| (Change::EndLease { job }, ends));
        }
    }
    let nodes = every.machine().nodes();
    for node in (0..nodes).map(meshalloc::NodeId) {
        assert_eq!(
            some.occupancy().is_faulty(node),
            every.occupancy().is_faulty(node)
        );
    }
}

fn check_all(machine: Grid, said: &mut Seen) {
    let grid = convert::grid(machine);
    let kinds = StrategyKind::built().map(|kind| kind.seeded(7));
    for (seed, strategy) in (0..).zip(kinds.filter(|&kind| is_served(kind, &grid))) {
        let schedulers = [
            SchedulerKind::Fcfs,
            SchedulerKind::BypassQueue { threshold: 250 },
            SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 10 }),
            SchedulerKind::ShortestJobFirst { threshold: 100 },
            SchedulerKind::Easy { reservations: 2 },
            SchedulerKind::Conservative,
        ];
        for scheduler in sample(schedulers, 3, seed) {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler,
            };
            check(configuration, Changes::varied(seed), said);
        }
    }
}

#[test]
fn what_is_announced_suffices_for_the_same_states() {
    let mut said = Seen::new();
    check_all(mesh(13, 11).into(), &mut said);
    check_all(mesh(8, 8).into(), &mut said);
    check_all(cube(4, 3).into(), &mut said);
    for expected in ["refused", "time only", "changed", "remembered", "stopped"] {
        assert!(
            said.get(expected).is_some_and(|&times| times > 100),
            "{said:?}"
        );
    }
}

/// A configuration is announced exactly if it is then served.
#[test]
fn configurations_that_are_refused_are_not_announced() {
    let small: Grid = mesh(8, 8).into();
    let configuration = |machine, strategy| Configuration {
        machine,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    let at_first = configuration(small, StrategyKind::FirstFit);
    let mut memory = HeapMemory::new(small, JOBS_MAX);
    let mut controller = Controller::new(memory.memory(), at_first).expect("it is served");
    for (configuration, is_served) in [
        (configuration(small, StrategyKind::BestFit), true),
        (
            configuration(mesh(64, 64).into(), StrategyKind::FirstFit),
            false,
        ),
        (configuration(small, StrategyKind::FreeList), false),
        (
            configuration(small, StrategyKind::LeastExpectedBlocking { budget: 3 }),
            false,
        ),
    ] {
        let command = Change::Configure(configuration);
        let before = controller.configuration();
        assert_eq!(stop(&mut controller, &command, 0), is_served);
        assert_eq!(controller.configuration(), before);
        let (reply, commit) = give(&mut controller, &command, 0);
        assert_eq!(commit.is_some(), is_served, "{configuration:?}: {reply:?}");
        assert_eq!(reply.is_ok(), is_served, "{configuration:?}: {reply:?}");
    }
    let submit = Change::submit(meshalloc::JobId(1), meshalloc::Request::submesh(1, 1));
    let (reply, commit) = give(&mut controller, &submit, 0);
    assert!(reply == Ok(Outcome::Done) && commit.is_some());
    let again = Change::Configure(controller.configuration());
    assert_eq!(give(&mut controller, &again, 0).1, None);
    let duplicate = Err(Error::Refused(Refusal::DuplicateJob));
    assert_eq!(give(&mut controller, &submit, 0), (duplicate, None));
}
