//! Why jobs wait (`Query::Why`), against the definition of each reason by naive strategies in
//! random states. Asking changes nothing, and pauses.

use std::cell::Cell;
use std::num::NonZeroU64;

use meshalloc::jobs::JobSlot;
use meshalloc::message::WhyReport;
use meshalloc::{
    Answer, Controller, Error, Flags, Grid, JobId, NodeId, Pauses, Query, Reason, Request,
    SchedulerKind, StrategyKind,
};
use meshalloc_tests::convert;
use meshalloc_tests::rig::{HeapMemory, configuration, mesh, release, submit};
use meshalloc_tests::saved::{Changes, carry_out, look, save};
use meshalloc_tests::strategy::Strategy;

/// Schedulers with each rule of turns.
pub(crate) const SCHEDULERS: [SchedulerKind; 4] = [
    SchedulerKind::Fcfs,
    SchedulerKind::BypassQueue { threshold: 250 },
    SchedulerKind::Easy { reservations: 1 },
    SchedulerKind::ShortestJobFirst { threshold: 1000 },
];

/// Whether a request has a place where these processors are busy.
pub(crate) type Fits<'a> = &'a dyn Fn(&[bool], &Request) -> bool;

/// The processors that a request needs; `None` if the naive form does not serve it.
pub(crate) type Needs<'a> = &'a dyn Fn(&Request) -> Option<u32>;

/// The reason of the job at this place of the queue, which needs this number of processors.
fn expected(controller: &Controller<'_>, place: usize, needs: u32, fits: Fits<'_>) -> Reason {
    let queue = controller.jobs().queue();
    let queue: Vec<Request> = queue
        .slots()
        .map(|slot| *queue.get(slot).request())
        .collect();
    let request = queue[place];
    let nodes = || (0..controller.machine().nodes()).map(NodeId);
    let occupancy = controller.occupancy();
    let faulty: Vec<bool> = nodes().map(|node| occupancy.is_faulty(node)).collect();
    let busy: Vec<bool> = nodes().map(|node| occupancy.is_busy(node)).collect();
    if !fits(&faulty, &request) {
        return Reason::Faults;
    }
    let scheduler = controller.configuration().scheduler;
    let ticks = |at: usize| queue[at].estimate.map_or(u64::MAX, NonZeroU64::get);
    let tries_before = |other: usize| match scheduler {
        SchedulerKind::Fcfs => other < place,
        SchedulerKind::ShortestJobFirst { .. } => (ticks(other), other) < (ticks(place), place),
        _ => false,
    };
    if (0..queue.len()).any(tries_before) {
        return Reason::NotItsTurn;
    }
    let free = busy.iter().filter(|&&busy| !busy).count() as u32;
    if free < needs {
        Reason::TooFewFree
    } else if fits(&busy, &request) {
        match scheduler {
            SchedulerKind::Easy { .. } if place > 0 => Reason::BehindReservation,
            _ => Reason::Untried,
        }
    } else if fits(&busy, &request.with_flags(request.flags - Flags::ALL_RINGS)) {
        Reason::RingNotFree
    } else {
        Reason::Fragmented
    }
}

/// Asks about every job in as many random states, and counts the answers by reason.
pub(crate) fn compare(
    controller: &mut Controller<'_>,
    states: u32,
    seed: u64,
    (needs, fits): (Needs<'_>, Fits<'_>),
    counts: &mut [u32; Reason::ALL.len()],
) {
    let mut changes = Changes::new(seed);
    let pauses_made = Cell::new(0);
    let on_pause = |_: &meshalloc::View<'_, '_>| pauses_made.set(pauses_made.get() + 1);
    let pauses = Pauses::new(&|| true, &on_pause);
    for state in 0..states {
        let (change, now) = changes.next(controller);
        carry_out(controller, &change, now);
        let before = (save(controller), look(controller), controller.statistics());
        let (occupancy, queue) = (controller.occupancy(), controller.jobs().queue());
        let (free, faulty) = (occupancy.free(), occupancy.faulty_count());
        let waiting: Vec<JobId> = queue.slots().map(|slot| queue.get(slot).id()).collect();
        let running: Vec<JobId> = controller.jobs().running().map(JobSlot::id).collect();
        for (place, &job) in waiting.iter().enumerate() {
            let slot = controller.jobs().find(job).expect("it waits");
            let request = *controller.jobs().get(slot).request();
            let Some(needs) = needs(&request) else {
                continue;
            };
            let reason = expected(controller, place, needs, fits);
            let report = WhyReport {
                job,
                reason: Some(reason),
                ahead: place as u32,
                needs,
                free,
                faulty,
            };
            let answer = controller.answer(&Query::Why { job }, Some(&pauses));
            let context = format!("{:?}, state {state}", controller.configuration());
            assert_eq!(answer, Ok(Answer::Why(report)), "{context}, {request:?}");
            counts[reason as usize] += 1;
        }
        for job in running {
            let report = controller.why(job, None).expect("it runs");
            assert_eq!((report.job, report.reason), (job, None));
        }
        let unknown = Query::Why { job: JobId(7) };
        assert_eq!(controller.answer(&unknown, None), Err(Error::UnknownJob));
        let after = (save(controller), look(controller), controller.statistics());
        assert_eq!(after, before, "asking changes nothing");
    }
    assert!(pauses_made.get() > states, "{}", pauses_made.get());
}

#[test]
fn reasons_are_those_of_naive_strategies() {
    let grids = [
        Grid::from(mesh(6, 6)),
        Grid::torus(&[3, 3, 3]).expect("a torus"),
    ];
    let strategies = [
        StrategyKind::FirstFit,
        StrategyKind::AdaptiveScan,
        StrategyKind::Naive,
        StrategyKind::Partition,
    ];
    let mut counts = [0; Reason::ALL.len()];
    for (seed, grid) in (0..).zip(grids) {
        for strategy in strategies {
            let model = Strategy::new(strategy, &convert::grid(grid));
            let needs = |request: &Request| Some(model.check(request).ok()?.taken as u32);
            let fits =
                |busy: &[bool], request: &Request| model.where_busy(busy).place(request).is_ok();
            for scheduler in SCHEDULERS {
                let mut memory = HeapMemory::for_strategy(grid, strategy, 24);
                let configuration = meshalloc::Configuration {
                    scheduler,
                    ..configuration(grid, strategy)
                };
                let mut controller = Controller::new(memory.memory(), configuration).unwrap();
                compare(&mut controller, 400, seed, (&needs, &fits), &mut counts);
            }
        }
    }
    for reason in Reason::ALL {
        // A controller refuses what never fits. There is room for the blocks of all jobs. Each line
        // of three processors on these machines is a ring, or none is. There are no gangs.
        let is_rare = matches!(
            reason,
            Reason::NeverFits
                | Reason::TableFull
                | Reason::RingNotFree
                | Reason::GangIncomplete
                | Reason::NotSearchedToTheEnd
        );
        assert_eq!(
            counts[reason as usize] == 0,
            is_rare,
            "{reason:?}: {counts:?}"
        );
    }
}

/// Rows are rings, columns are not.
#[test]
fn a_job_waits_for_a_ring_that_is_not_free() {
    let grid = Grid::new(&[3, 3], 1).expect("a grid");
    let strategy = StrategyKind::AdaptiveScan;
    let mut memory = HeapMemory::for_strategy(grid, strategy, 4);
    let mut controller = Controller::new(memory.memory(), configuration(grid, strategy)).unwrap();
    let column = Request::submesh(1, 3).with_flags(Flags::FIXED_ORIENTATION);
    assert_eq!(submit(&mut controller, 1, column).grants.len(), 1);
    let row = Request::submesh(3, 1);
    assert_eq!(submit(&mut controller, 2, row.with_rings()).grants, []);
    let report = controller.why(JobId(2), None).expect("it waits");
    assert_eq!(report.reason, Some(Reason::RingNotFree));
    // Without the ring it lies along a column.
    assert_eq!(release(&mut controller, 2).grants, []);
    assert_eq!(submit(&mut controller, 2, row).grants.len(), 1);
}
