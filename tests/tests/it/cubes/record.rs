//! A job's record has the processors beyond its request: internal fragmentation.

use meshalloc::{Command, Controller, JobId, JobState, Reply, StrategyKind};
use meshalloc_tests::rig::{HeapMemory, ask, configuration, cube, release, subcube, submit};

/// The radices that are asked for, and the processors that the job holds with this strategy on a
/// 4-ary 3-cube.
fn holds(kind: StrategyKind, cases: &[(&[u16], u32)]) {
    let cube = cube(4, 3);
    let mut memory = HeapMemory::new(cube, 1);
    let configuration = configuration(cube, kind);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    for &(radices, held) in cases {
        let request = subcube(radices);
        let area: u32 = radices.iter().map(|&radix| u32::from(radix)).product();
        let answer = submit(&mut controller, 1, request);
        let job = JobId(1);
        let state = JobState::Running { processors: held };
        assert_eq!(
            answer.last,
            Reply::Submitted { job, state },
            "{kind}, {radices:?}"
        );
        let slot = controller.jobs().find(job).expect("it runs");
        let record = controller.jobs().get(slot);
        assert_eq!(
            (record.request().processors, record.processors()),
            (area, held)
        );
        assert_eq!(record.internal_fragmentation(), held - area);
        assert_eq!(controller.statistics().free, 64 - held);
        // The same for a client that asks.
        match ask(&mut controller, &Command::QueryJob { job }).last {
            Reply::Job(report) => assert_eq!((report.request, report.state), (request, state)),
            other => panic!("{other:?} to QueryJob"),
        }
        let released = release(&mut controller, 1);
        assert_eq!(
            released.last,
            Reply::Released {
                job,
                processors: held
            }
        );
        controller.check_invariants();
    }
}

#[test]
fn free_list_holds_powers_of_two() {
    holds(
        StrategyKind::FreeList,
        &[
            (&[], 1),
            (&[3], 4),
            (&[2, 4], 8),
            (&[3, 2], 8),
            (&[3, 3], 16),
            (&[3, 3, 3], 64),
            (&[2, 3, 2], 16),
        ],
    );
}

#[test]
fn sniffing_holds_the_largest_radix_in_every_dimension() {
    holds(
        StrategyKind::Sniffing,
        &[
            (&[], 1),
            (&[3], 3),
            (&[2, 4], 16),
            (&[3, 2], 9),
            (&[4, 2, 2], 64),
            (&[2, 3, 2], 27),
            (&[2, 2, 2], 8),
        ],
    );
}

#[test]
fn the_others_hold_what_is_requested() {
    let cases: &[(&[u16], u32)] = &[
        (&[], 1),
        (&[3], 3),
        (&[2, 4], 8),
        (&[3, 2], 6),
        (&[2, 3, 4], 24),
    ];
    holds(StrategyKind::TreeCollapsing, cases);
    holds(StrategyKind::TreeCollapsingPrinted, cases);
    holds(
        StrategyKind::Partner,
        &[(&[], 1), (&[4], 4), (&[4, 4], 16), (&[4, 4, 4], 64)],
    );
}
