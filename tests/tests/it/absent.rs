//! Processors that a machine lacks. The model is a machine that has them, on which they are faulty
//! from the start and stay so: a machine that lacks them decides as the model does, except that it
//! refuses at once what would wait for ever.

use meshalloc::{
    Allocator, Change, Configuration, Controller, Description, Error, FaultReport, Grid, Hole,
    Outcome, Refusal, Request, SchedulerKind, StrategyKind,
};
use meshalloc_tests::rig::{HeapMemory, ask_at, configuration, mesh};
use meshalloc_tests::saved::{Changes, look, restore, save};

const JOBS: usize = 40;

/// A mesh without a box, a processor at its edge, and one more; a torus without a plane's corner.
fn machines() -> Vec<Description> {
    let hole = |start: &[u16], sides: &[u16]| Hole::new(start, sides).expect("a hole");
    let of = |grid, holes: &[Hole]| {
        let machine = Description::new(grid).and_then(|machine| machine.with_absent(holes));
        machine.expect("a description")
    };
    let of_mesh = [
        hole(&[2, 3], &[2, 2]),
        hole(&[7, 0], &[]),
        hole(&[6, 6], &[]),
    ];
    let torus = Grid::torus(&[4, 4, 4]).expect("a torus");
    vec![
        of(mesh(8, 8).grid(), &of_mesh),
        of(torus, &[hole(&[0, 0, 3], &[2, 2, 1])]),
    ]
}

fn strategies(grid: &Grid) -> impl Iterator<Item = StrategyKind> {
    StrategyKind::built()
        .filter(move |kind| !kind.serves().needs_description() && kind.serves().includes(grid))
}

/// Whether nothing but the absent processors is in the way of this request.
fn fits_alone(machine: &Description, strategy: StrategyKind, request: &Request) -> bool {
    let grid = *machine.grid();
    let plain = Description::new(grid).expect("a description");
    let mut memory = HeapMemory::for_strategy(grid, strategy, JOBS);
    let memory = memory.allocator_memory().describing(&plain);
    let mut allocator = Allocator::new(memory, grid, strategy).expect("it is served");
    for block in machine.absent_blocks() {
        allocator.mark_faulty(block);
    }
    allocator.fits(request)
}

/// To repair what the machine lacks changes nothing.
fn check_clearing(machine: &Description, lacking: &mut Controller<'_>) {
    let before = (look(lacking), lacking.statistics());
    for block in machine.absent_blocks() {
        let answer = ask_at(lacking, &Change::ClearFaulty { block }, 0);
        let report = FaultReport {
            changed: 0,
            jobs: 0,
            first: None,
        };
        assert_eq!(answer.outcome, Ok(Outcome::Faults(report)));
    }
    assert_eq!((look(lacking), lacking.statistics()), before);
}

/// Marks the processors that the machine lacks as faulty in the model.
fn fail(machine: &Description, model: &mut Controller<'_>) {
    for block in machine.absent_blocks() {
        ask_at(model, &Change::MarkFaulty { block }, 0);
    }
}

#[test]
fn a_machine_without_processors_decides_as_one_on_which_they_never_work() {
    let schedulers = [SchedulerKind::Fcfs, SchedulerKind::Easy { reservations: 1 }];
    let (mut never, mut granted) = (0, 0);
    for machine in machines() {
        let grid = *machine.grid();
        let plain = Description::new(grid).expect("a description");
        for (number, strategy) in (0_u64..).zip(strategies(&grid)) {
            let scheduler = schedulers[number as usize % schedulers.len()];
            let configuration = Configuration {
                scheduler,
                ..configuration(grid, strategy)
            };
            let [mut memory, mut other, mut third] =
                [(); 3].map(|()| HeapMemory::for_strategy(grid, strategy, JOBS));
            let described = memory.memory().describing(&machine);
            let mut lacking = Controller::new(described, configuration).expect("it is served");
            let mut model = Controller::new(other.memory().describing(&plain), configuration)
                .expect("so is it");
            fail(&machine, &mut model);
            let mut changes = Changes::new(number);
            for _ in 0..400 {
                let (change, now) = changes.next(&model);
                let overlaps = |block| machine.absent_blocks().any(|it| grid.overlap(it, block));
                // The model would let jobs into processors that the machine lacks.
                if matches!(change, Change::ClearFaulty { block }
                    if grid.contains(block) && overlaps(block))
                {
                    check_clearing(&machine, &mut lacking);
                    continue;
                }
                let answer = ask_at(&mut lacking, &change, now);
                if let Change::Submit { request, .. } = &change {
                    let fits = || fits_alone(&machine, strategy, request);
                    if answer.outcome == Err(Error::Refused(Refusal::NeverFits)) {
                        assert!(!fits(), "{strategy} on {grid}: {request:?}");
                        never += 1;
                        continue;
                    }
                    assert!(answer.outcome.is_err() || fits(), "{strategy}: {request:?}");
                }
                let expected = ask_at(&mut model, &change, now);
                if matches!(change, Change::Configure(_) | Change::Reset) {
                    fail(&machine, &mut model);
                }
                assert_eq!(answer, expected, "{strategy} on {grid}: {change:?}");
                assert_eq!(look(&lacking), look(&model), "{strategy} on {grid}");
                granted += answer.grants.len();
                let (own, of_model) = (lacking.statistics(), model.statistics());
                let absent = grid.nodes() - machine.processors();
                assert_eq!(own.free, of_model.free);
                assert_eq!(own.nodes, of_model.nodes - absent);
                assert_eq!(own.faulty, of_model.faulty - absent);
            }
            lacking.check_invariants();
            let described = third.memory().describing(&machine);
            let mut restored = Controller::new(described, configuration).expect("it is served");
            restore(&mut restored, &save(&lacking)).expect("a checkpoint of the same machine");
            assert_eq!(look(&restored), look(&lacking));
            assert_eq!(restored.statistics(), lacking.statistics());
        }
    }
    assert!(never > 500 && granted > 3000, "{never} {granted}");
}
