//! A described machine of 4,096 processors on the firmware in QEMU.

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Answer, Change, Configuration, ConfigureError, Controller, Description, Error, Flags, Grid,
    JobId, Outcome, Query, Request, SchedulerKind, Shape, StrategyKind,
};
use meshalloc_tests::qemu::{Qemu, call_at};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::ask_at;
use meshalloc_tests::sample;

use super::call;

const MACHINE: &str = "tpu-v4";

/// The board decides, refuses and answers as a controller in process.
#[test]
fn qemu_decides_as_in_process_on_a_described_machine() {
    let qemu = Qemu::start_described(MACHINE);
    let mut client = qemu.client().unwrap();
    let machine = Description::preset(MACHINE).expect("a preset");
    assert_eq!(client.greeting().description, Some(machine.digest()));
    assert_eq!(client.greeting().configuration.machine, *machine.grid());
    let other = Configuration {
        machine: Grid::torus(&[8, 8, 8]).expect("a torus"),
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    assert_eq!(
        call(&mut client, Change::Configure(other)).outcome,
        Err(Error::Configure(ConfigureError::OtherMachine))
    );
    client.use_virtual_clock(true).unwrap();
    let both = [
        (StrategyKind::Cubes { fold: true }, SchedulerKind::Fcfs),
        (
            StrategyKind::Cubes { fold: false },
            SchedulerKind::Easy { reservations: 1 },
        ),
        (StrategyKind::Folding, SchedulerKind::Fcfs),
        (
            StrategyKind::FreeSubmeshList,
            SchedulerKind::Easy { reservations: 1 },
        ),
        (
            StrategyKind::LeastExpectedBlocking { budget: 64 },
            SchedulerKind::Fcfs,
        ),
    ];
    for (strategy, scheduler) in sample(both, 2, 0) {
        let configuration = Configuration {
            machine: *machine.grid(),
            strategy,
            scheduler,
        };
        let reset = call_at(&mut client, &Change::Reset, Some(0));
        assert_eq!(reset.unwrap().outcome, Ok(Outcome::Done));
        let configured = call_at(&mut client, &Change::Configure(configuration), Some(0));
        assert_eq!(configured.unwrap().outcome, Ok(Outcome::Done), "{strategy}");
        let jobs = client.greeting().capacity.jobs as usize;
        let mut storage = HeapStorage::new(Needs::described(strategy, &machine, jobs), jobs);
        let memory = storage.memory().describing(&machine);
        let mut reference = Controller::new(memory, configuration).expect("it is served");
        let mut random = Random::new(4);
        let mut granted = 0;
        for step in 0..100 {
            let job = JobId(random.below(40));
            let change = match random.below(5) {
                0 | 1 => Change::Release { job },
                kind => Change::submit(job, request(&mut random, kind)),
            };
            let on_board = call_at(&mut client, &change, Some(step)).unwrap();
            let mut in_process = ask_at(&mut reference, &change, step);
            in_process.state = None;
            assert_eq!(on_board, in_process, "{strategy}, step {step}: {change:?}");
            granted += in_process.grants.len();
            let query = match step % 16 {
                0 => Query::Largest,
                _ => Query::Slice { job },
            };
            let in_process = reference.answer(&query, None);
            let on_board = loop {
                match client.query(&query).unwrap() {
                    Err(Error::Busy { .. }) => {}
                    other => break other,
                }
            };
            assert_eq!(on_board, in_process, "{strategy}, step {step}: {query:?}");
            if let Ok(Answer::Largest(largest)) = on_board {
                assert!(largest.processors <= 4096);
            }
        }
        assert!(granted > 20, "{strategy}: {granted} grants");
        reference.check_invariants();
    }
}

/// A number of chips, a legal shape, or any shape; some demand rings.
fn request(random: &mut Random, kind: u32) -> Request {
    let request = match kind {
        2 => Request::chips(1 << random.below(11)),
        3 => {
            let fours = [0; 3].map(|_| 4 << random.below(2));
            Request::new(Shape::new(&fours).expect("a shape"))
        }
        _ => {
            let small = [0; 3].map(|_| 1 << random.below(3));
            Request::new(Shape::new(&small).expect("a shape"))
        }
    };
    let mut flags = request.flags;
    flags.set(Flags::RINGS, random.below(3) == 0);
    flags.set(Flags::NO_WAIT, random.below(3) == 0);
    request.with_flags(flags)
}
