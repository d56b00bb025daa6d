use super::*;
use crate::mesh::Mesh;
use crate::strategy::StrategyKind;

#[test]
fn the_ends_of_jobs_take_memory_for_those_there_can_be() {
    let machine = Mesh::new(16, 16).expect("a mesh").grid();
    let kind = StrategyKind::LebEstimates { budget: 64 };
    let scratch = |jobs| Needs::of(kind, &machine, jobs).scratch;
    assert!(scratch(0) < scratch(40) && scratch(40) < scratch(256));
    // There are no more than processors.
    assert_eq!(scratch(256), scratch(1000));
}

#[test]
fn a_curve_takes_memory_for_lengths_or_words_whichever_are_more() {
    let scratch = |kind: &str, side| {
        let machine = Mesh::new(side, side).expect("a mesh").grid();
        Needs::of(kind.parse().expect("a strategy"), &machine, 4).scratch
    };
    // 1 + 2 + .. + 5 < 16 < 1 + 2 + .. + 6.
    assert_eq!(scratch("curve", 4), 2 * 5);
    assert!(scratch("first-fit", 4) < 10);
    assert_eq!(scratch("curve", 512), scratch("first-fit", 512));
    assert!(scratch("curve", 512) > 2 * 724);
}

#[test]
fn a_storage_for_blocks_serves_the_strategies_it_names() {
    let machine = Mesh::new(8, 8).expect("a mesh").grid();
    let mut ends: storage!(mesh 8 x 8, strategies [LebEstimates { budget: 64 }], blocks 10) =
        AllocatorStorage::new();
    let kind = StrategyKind::LebEstimates { budget: 64 };
    assert!(crate::Allocator::new(ends.memory(), machine, kind).is_ok());
    let mut shapes: storage!(mesh 8 x 8, strategies [LShape], blocks 1) = AllocatorStorage::new();
    assert!(crate::Allocator::new(shapes.memory(), machine, StrategyKind::LShape).is_ok());
}

#[test]
fn bytes_are_those_of_the_types() {
    const fn of<const W: usize, const J: usize, const S: usize, const B: usize, const L: usize>()
    -> [usize; 6] {
        let needs = Needs {
            words: W,
            scratch: S,
            blocks: B,
            list: L,
        };
        [
            needs.bytes(J),
            size_of::<Storage<W, J, S, B, L>>(),
            needs.allocator_bytes(),
            size_of::<AllocatorStorage<W, S, B, L>>(),
            align_of::<Storage<W, J, S, B, L>>(),
            align_of::<AllocatorStorage<W, S, B, L>>(),
        ]
    }
    for [
        bytes,
        size,
        allocator_bytes,
        allocator_size,
        align,
        allocator_align,
    ] in [
        of::<1, 1, 0, 1, 0>(),
        of::<3, 7, 5, 9, 0>(),
        of::<16, 33, 33, 255, 256>(),
        of::<5, 2, 1, 3, 1>(),
    ] {
        assert_eq!((bytes, allocator_bytes), (size, allocator_size));
        assert_eq!([align, allocator_align], [Needs::ALIGN; 2]);
    }
}

/// A size that cannot be addressed does not wrap to a small one.
#[test]
fn bytes_do_not_wrap() {
    let machine = Mesh::new(8, 8).expect("a mesh").grid();
    let needs = Needs::of(StrategyKind::FirstFit, &machine, 4);
    assert_eq!(needs.bytes(usize::MAX / 8), usize::MAX);
    // With words of 32 bits as well.
    for part in [usize::MAX, usize::MAX / 4] {
        for huge in [
            Needs {
                words: part,
                ..needs
            },
            Needs {
                scratch: part,
                ..needs
            },
            Needs {
                blocks: part,
                ..needs
            },
            Needs {
                list: part,
                ..needs
            },
        ] {
            assert_eq!(huge.allocator_bytes(), usize::MAX, "{huge:?}");
        }
    }
}

/// A budget outside its range takes the memory of the nearest one, and is refused.
#[test]
#[cfg(all(
    feature = "alloc",
    feature = "least-expected-blocking",
    feature = "easy"
))]
fn parameters_out_of_range_are_refused() {
    use crate::{
        Allocator, Change, Configuration, ConfigureError, Controller, Error, SchedulerKind,
        Threshold,
    };

    let machine = Mesh::new(8, 8).expect("a mesh").grid();
    let bad = Some(ConfigureError::BadParameter);
    for budget in [0, 3, 4097, u64::MAX] {
        for strategy in [
            StrategyKind::LebEstimates { budget },
            StrategyKind::LeastExpectedBlocking { budget },
        ] {
            let mut storage = HeapStorage::new(Needs::of(strategy, &machine, 4), 0);
            let made = Allocator::new(storage.allocator_memory(), machine, strategy);
            assert_eq!(made.err(), bad, "{strategy:?}");
        }
    }
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Easy { reservations: 1 },
    };
    let needs = Needs::of_build(&[machine], 4);
    let (mut one, mut other) = (HeapStorage::new(needs, 4), HeapStorage::new(needs, 4));
    let mut controller = Controller::new(one.memory(), configuration).expect("it is served");
    for (strategy, scheduler) in [
        (
            configuration.strategy,
            SchedulerKind::Easy { reservations: 0 },
        ),
        (
            configuration.strategy,
            SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 0 }),
        ),
        (
            StrategyKind::DynamicBinaryTree { ratio: 5_000_000 },
            configuration.scheduler,
        ),
    ] {
        let other_one = Configuration {
            machine,
            strategy,
            scheduler,
        };
        let made = Controller::new(other.memory(), other_one);
        assert_eq!(made.err(), bad, "{other_one:?}");
        let changed = controller.handle(&Change::Configure(other_one), 0);
        assert_eq!(changed.err(), bad.map(Error::Configure), "{other_one:?}");
        assert_eq!(controller.configuration(), configuration);
    }
}
