//! Predictions of the effect of changes ([`Controller::effect`]): a controller that carries out
//! only changes with an effect comes to the same states.

use std::collections::BTreeMap;

use meshalloc::Threshold;
use meshalloc::controller::Effect;
use meshalloc::{
    Change, Configuration, Controller, Error, Grid, Outcome, Refusal, SchedulerKind, Strategy,
    StrategyKind, Ticks,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::rig::{HeapMemory, cube, mesh};
// A refused job that never waits may have had reservations made anew, which the next change needs
// too.
use meshalloc_tests::saved::{Changes, look_at_jobs as look};

const COMMANDS: u32 = 150;
/// Few enough to fill the table now and then.
const JOBS_MAX: usize = 14;

/// Carries a command out, and all the scheduling that follows from it.
fn give(controller: &mut Controller<'_>, command: &Change, at: Ticks) -> Result<Outcome, Error> {
    let reply = controller.begin(command, at, None);
    while controller.advance(None) {}
    reply
}

/// How often each effect was predicted.
type Said = BTreeMap<String, u32>;

/// One controller gets every command, another one only those with an effect, at the time of the
/// first one's clock. The second has room for more jobs, unless the strategy remembers the latest
/// requests.
fn check(configuration: Configuration, seed: u64, said: &mut Said) {
    let mut commands = Changes::new(seed);
    let mut memory = HeapMemory::new(configuration.machine, JOBS_MAX);
    let mut every = Controller::new(memory.memory(), configuration).expect("it is served");
    let looks_ahead = every.strategy().looks_ahead();
    let room = if looks_ahead { JOBS_MAX } else { 2 * JOBS_MAX };
    let mut memory = HeapMemory::new(configuration.machine, room);
    let mut some = Controller::new(memory.memory(), configuration).expect("it is served");
    for given in 0..COMMANDS {
        let (command, now) = commands.next(&every);
        let mut next = Some((command, now));
        while let Some((command, now)) = next {
            let context = format!("{configuration:?}, seed {seed}, {given}: {command:?} at {now}");
            let clock = every.clock();
            let at = match command {
                Change::Reset | Change::Configure(_) => now,
                _ => now.max(clock),
            };
            let effect = every.effect(&command, now);
            let before = look(&every);
            let reply = give(&mut every, &command, now);
            let is_refused = reply.is_err();
            *said.entry(format!("{effect:?} {is_refused}")).or_default() += 1;
            match effect {
                Effect::Nothing => {
                    assert!(is_refused, "{context}: {reply:?}");
                    assert_eq!(every.clock(), clock, "{context}");
                    assert_eq!(look(&every), before, "{context}");
                }
                Effect::Time => {
                    assert!(!is_refused, "{context}: {reply:?}");
                    assert_eq!(every.clock(), at, "{context}");
                    assert_eq!(look(&every), before, "{context}");
                }
                Effect::IfGranted if is_refused => {
                    assert_eq!(every.clock(), clock, "{context}");
                    assert_eq!(look(&every), before, "{context}");
                }
                Effect::IfGranted | Effect::State => {
                    // Strategies that remember requests also remember a refused one that does not
                    // wait.
                    assert!(!is_refused || looks_ahead, "{context}: {reply:?}");
                    assert_eq!(give(&mut some, &command, at), reply, "{context}");
                    assert!(some.clock() == every.clock() || is_refused, "{context}");
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

fn check_all(machine: Grid, said: &mut Said) {
    let grid = convert::grid(machine);
    let kinds = StrategyKind::built().map(|kind| kind.seeded(7));
    for (seed, strategy) in (0..).zip(kinds.filter(|&kind| is_served(kind, &grid))) {
        for scheduler in [
            SchedulerKind::Fcfs,
            SchedulerKind::BypassQueue { threshold: 250 },
            SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 10 }),
            SchedulerKind::ShortestJobFirst { threshold: 100 },
            SchedulerKind::Easy { reservations: 2 },
            SchedulerKind::Conservative,
        ] {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler,
            };
            check(configuration, seed, said);
        }
    }
}

#[test]
fn commands_that_change_nothing_are_known_before() {
    let mut said = Said::new();
    check_all(mesh(13, 11).into(), &mut said);
    check_all(mesh(8, 8).into(), &mut said);
    check_all(cube(4, 3).into(), &mut said);
    for expected in [
        "Nothing true",
        "Time false",
        "IfGranted true",
        "IfGranted false",
        "State false",
        // This concerns strategies that look at the latest requests.
        "State true",
    ] {
        assert!(
            said.get(expected).is_some_and(|&times| times > 100),
            "{said:?}"
        );
    }
}

/// Every refusal of a configuration is predicted.
#[test]
fn configurations_that_are_refused_are_known_before() {
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
        let effect = controller.effect(&command, 0);
        let reply = give(&mut controller, &command, 0);
        let expected = if is_served {
            Effect::State
        } else {
            Effect::Nothing
        };
        assert_eq!(effect, expected, "{configuration:?}: {reply:?}");
        assert_eq!(reply.is_ok(), is_served, "{configuration:?}: {reply:?}");
    }
    let submit = Change::submit(meshalloc::JobId(1), meshalloc::Request::submesh(1, 1));
    assert_eq!(give(&mut controller, &submit, 0), Ok(Outcome::Done));
    let again = Change::Configure(controller.configuration());
    assert_eq!(controller.effect(&again, 0), Effect::Nothing);
    assert_eq!(controller.effect(&submit, 0), Effect::Nothing);
    let duplicate = Err(Error::Refused(Refusal::DuplicateJob));
    assert_eq!(give(&mut controller, &submit, 0), duplicate);
}
