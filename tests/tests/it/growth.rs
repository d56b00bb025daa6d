//! How long a checkpoint becomes against what was said before: [`Controller::growth`] and [`Controller::growth_by_time`].

use meshalloc::scheduler::Threshold;
use meshalloc::{Configuration, Controller, Grid, SchedulerKind, StrategyKind};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::rig::{HeapMemory, ask_at, cube, mesh};
use meshalloc_tests::saved::{Commands, save};

const JOBS_MAX: usize = 24;
const COMMANDS: u32 = 400;

fn saved_bytes(controller: &Controller<'_>) -> usize {
    save(controller).iter().map(Vec::len).sum()
}

/// From one count on, however many commands follow, a checkpoint is never longer than that count and what each command was said to add.
fn check(configuration: Configuration, seed: u64) {
    let mut commands = Commands::new(seed);
    let mut memory = HeapMemory::new(configuration.machine, JOBS_MAX);
    let mut controller = Controller::new(memory.memory(), configuration).expect("it is served");
    let mut most = 0;
    let mut counted_for = 0;
    for given in 0..COMMANDS {
        if counted_for == 0 {
            most = saved_bytes(&controller) + controller.growth_by_time();
            counted_for = commands.random().between(1, 100);
        }
        counted_for -= 1;
        let (command, now) = commands.next(&mut controller);
        most += controller.growth(&command);
        ask_at(&mut controller, &command, now);
        let seen = saved_bytes(&controller);
        let context = format!("{configuration:?}, seed {seed}, {given}: {command:?}");
        assert!(seen <= most, "{context}: {seen} bytes for {most}");
    }
}

fn check_all(machine: Grid) {
    let grid = convert::grid(machine);
    let kinds = StrategyKind::built().map(|kind| kind.seeded(7));
    for (seed, strategy) in (0..).zip(kinds.filter(|&kind| is_served(kind, &grid))) {
        for scheduler in [
            SchedulerKind::BypassQueue { threshold: 250 },
            SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 10 }),
            SchedulerKind::Easy { reservations: 3 },
            SchedulerKind::Conservative,
        ] {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler,
            };
            check(configuration, seed);
        }
    }
}

#[test]
fn no_checkpoint_is_longer_than_was_said() {
    check_all(mesh(13, 11).into());
    check_all(mesh(200, 3).into());
    check_all(cube(4, 3).into());
}
