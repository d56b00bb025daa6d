//! Predefined partitions: the choice by walltime, in cases worked out by hand.

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Block, Change, Configuration, Controller, Flags, Grid, JobId, Mesh, Request, SchedulerKind,
    Shape, StrategyKind, Submesh,
};
use meshalloc_tests::random::Random;

/// A mesh of 8 x 4, whose squares of the tree have these bases in order.
const SQUARES: [(u16, u16); 8] = [
    (0, 0),
    (0, 2),
    (2, 0),
    (2, 2),
    (4, 0),
    (4, 2),
    (6, 0),
    (6, 2),
];

/// What happens to a controller before the job in question arrives.
#[derive(Clone, Copy)]
enum Before {
    /// A job with this estimate gets the next processors.
    Job(u32, u64),
    /// A job that leaves once all have come.
    Gap(u32),
}

/// Where a job of four processors goes on a mesh of 8 x 4 after these have come, each beside the
/// one before.
fn place(
    strategy: StrategyKind,
    before: &[Before],
    estimate: Option<u64>,
    now: u64,
) -> Option<Block> {
    let machine: Grid = Mesh::new(8, 4).unwrap().into();
    let mut storage = HeapStorage::new(Needs::of(strategy, &machine, 20), 20);
    let configuration = Configuration {
        machine,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut controller = Controller::new(storage.memory(), configuration).unwrap();
    let request = |processors| Request::submesh(8, 4).with_processors(processors);
    let mut gaps = Vec::new();
    for (job, before) in (0..).map(JobId).zip(before) {
        let request = match *before {
            Before::Job(processors, estimate) => request(processors).with_estimate(estimate),
            Before::Gap(processors) => request(processors),
        };
        controller.handle(&Change::submit(job, request), 0).unwrap();
        if matches!(before, Before::Gap(_)) {
            gaps.push(job);
        }
    }
    for job in gaps {
        controller.handle(&Change::Release { job }, now).unwrap();
    }
    let request = estimate.map_or(request(4), |estimate| request(4).with_estimate(estimate));
    controller
        .handle(&Change::submit(JobId(99), request), now)
        .unwrap();
    let mut blocks = controller.view().blocks(JobId(99));
    blocks.next()
}

#[test]
fn of_equal_differences_the_first_with_a_running_buddy_is_taken() {
    use Before::{Gap, Job};
    // Beside the first gap two jobs run; beside the others one each, until 30 and until 10.
    let before = [
        Job(2, 20),
        Job(2, 20),
        Gap(4),
        Job(4, 30),
        Gap(4),
        Job(4, 10),
        Gap(4),
        Job(4, 1000),
        Job(4, 1000),
    ];
    let square = |at: usize| {
        let (x, y) = SQUARES[at];
        Some(Submesh::new(x, y, 2, 2).into())
    };
    let aware = |estimate, now| place(StrategyKind::WalltimeAware, &before, estimate, now);
    assert_eq!(aware(Some(20), 0), square(3));
    assert_eq!(aware(Some(19), 0), square(5));
    assert_eq!(aware(Some(21), 0), square(3));
    // Both have outrun their estimates, so both differences are 20.
    assert_eq!(aware(Some(20), 50), square(3));
    // Without an estimate, and by the base rule, the first.
    assert_eq!(aware(None, 0), square(1));
    let base = place(StrategyKind::Partition, &before, Some(20), 0);
    assert_eq!(base, square(1));
    // A square whose parent is idle comes last, whatever runs until when.
    let alone = [Job(4, 1000), Gap(4), Job(4, 20), Job(4, 20)];
    let aware = place(StrategyKind::WalltimeAware, &alone, Some(20), 0);
    assert_eq!(aware, square(1));
}

#[test]
fn without_a_running_buddy_the_base_rule_decides() {
    let machine: Grid = Grid::torus(&[6, 4, 4]).unwrap();
    let mut random = Random::new(11);
    let strategies = [StrategyKind::Partition, StrategyKind::WalltimeAware];
    let mut storages = strategies.map(|it| HeapStorage::new(Needs::of(it, &machine, 40), 40));
    let [first, second] = &mut storages;
    let mut both = [(first, strategies[0]), (second, strategies[1])].map(|(storage, strategy)| {
        let configuration = Configuration {
            machine,
            strategy,
            scheduler: SchedulerKind::Fcfs,
        };
        Controller::new(storage.memory(), configuration).unwrap()
    });
    let (mut running, mut granted) = (Vec::new(), 0);
    for number in 0..2000 {
        let change = if random.percent(45) && !running.is_empty() {
            let at = random.below(running.len() as u32) as usize;
            Change::Release {
                job: running.swap_remove(at),
            }
        } else {
            // No job has an estimate, so no buddy has an end.
            let processors = random.between(1, 24);
            let request = Request::new(Shape::new(&[6, 4, 4]).unwrap());
            let request = request
                .with_processors(processors)
                .with_flags(Flags::NO_WAIT);
            Change::submit(JobId(number), request)
        };
        let held = both.each_mut().map(|controller| {
            let answer = controller.handle(&change, number.into());
            let blocks = controller.view().blocks(JobId(number)).collect::<Vec<_>>();
            (answer, blocks)
        });
        assert_eq!(held[0], held[1], "{change:?}");
        if !held[0].1.is_empty() {
            running.push(JobId(number));
            granted += 1;
        }
    }
    assert!(granted > 500, "{granted}");
}
