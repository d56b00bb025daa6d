use super::*;
use crate::scheduler::SchedulerKind;
use crate::storage::{HeapStorage, Needs};
use crate::strategy::StrategyKind;

/// A running job remembers 48 bits of the number of its grant; half of the numbers are left to
/// count on.
#[test]
fn numbers_that_leave_no_headroom_are_refused() {
    let machine = Grid::mesh(&[4, 4]).expect("a mesh");
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut storage = HeapStorage::new(Needs::of(configuration.strategy, &machine, 2), 2);
    let controller = Controller::new(storage.memory(), configuration);
    let mut controller = controller.expect("it is served");
    let mut restore = |events, counts| {
        let mut outcome = Ok(());
        let mut restoring = controller.restore();
        let mut emit = |part: &[u8]| outcome = outcome.and_then(|()| restoring.part(part));
        let mut to = Writer::new(&mut emit);
        let head = Head {
            configuration,
            clock: 7,
            events,
            counts,
        };
        to.put(&(FORMAT, head));
        to.finish();
        outcome.and_then(|()| restoring.finish())
    };
    let most = (1 << 47) - 1;
    let nothing = Counts::default();
    assert_eq!(restore(most, nothing), Ok(()));
    for refused in [0, most] {
        let counts = Counts { refused, ..nothing };
        assert_eq!(restore(most, counts), Ok(()));
    }
    let illegal = Err(RestoreError::Inconsistent);
    for events in [most + 1, (1 << 48) - 1, 1 << 48, u64::MAX] {
        assert_eq!(restore(events, nothing), illegal, "{events}");
        let refused = events;
        assert_eq!(
            restore(0, Counts { refused, ..nothing }),
            illegal,
            "{events}"
        );
    }
    // There are no jobs.
    for counts in [
        Counts {
            submitted: 1,
            ..nothing
        },
        Counts {
            released: 1,
            ..nothing
        },
        Counts {
            granted: 1,
            ..nothing
        },
        Counts {
            misses: 1,
            ..nothing
        },
        Counts {
            valid_attempts: 1,
            ..nothing
        },
        Counts {
            attempts: 1,
            valid_attempts: 1,
            granted: 1,
            ..nothing
        },
        Counts {
            lease_ends: 1,
            submitted: 1,
            released: 1,
            ..nothing
        },
    ] {
        assert_eq!(restore(0, counts), illegal, "{counts:?}");
    }
    let attempted = Counts {
        attempts: 9,
        valid_attempts: 5,
        misses: 3,
        granted: 2,
        ..nothing
    };
    let counts = Counts {
        submitted: 4,
        released: 4,
        refused: 7,
        lease_ends: 1,
        ..attempted
    };
    assert_eq!(restore(3, counts), Ok(()));
    assert_eq!(
        restore(2, counts),
        illegal,
        "two grants and an end of a lease"
    );
}
