//! A controller that was restored from a checkpoint against its twin that was never saved.

use std::convert::Infallible;

use meshalloc::PART_MAX;
use meshalloc::Threshold;
use meshalloc::{
    Change, Configuration, ConfigureError, Controller, Grid, JobId, NodeId, Outcome, Request,
    RestoreError, SaveError, SchedulerKind, StrategyKind, Submesh,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::hash::Hash;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, cube, fault, mesh, set_faulty, submit, unit};
use meshalloc_tests::sample;
use meshalloc_tests::saved::{Changes, Parts, carry_out, end_len, restore, save, seal};

const JOBS_MAX: usize = 24;
const COMMANDS: u32 = 250;

const SCHEDULERS: [SchedulerKind; 9] = [
    SchedulerKind::Fcfs,
    SchedulerKind::BypassQueue { threshold: 250 },
    SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 150 }),
    SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 10 }),
    SchedulerKind::ModifiedFcfs(Threshold::Count),
    SchedulerKind::Easy { reservations: 1 },
    SchedulerKind::Easy { reservations: 3 },
    SchedulerKind::Conservative,
    SchedulerKind::ShortestJobFirst { threshold: 250 },
];

fn strategies(machine: Grid) -> Vec<StrategyKind> {
    let grid = convert::grid(machine);
    let kinds = StrategyKind::built().map(|kind| kind.seeded(7));
    kinds.filter(|&kind| is_served(kind, &grid)).collect()
}

/// Memory that another controller has used and that is full of noise.
fn used_memory(configuration: Configuration, random: &mut Random) -> HeapMemory {
    let mut memory = HeapMemory::new(configuration.machine, JOBS_MAX);
    memory.fill_with_noise(random);
    let mut controller = Controller::new(memory.memory(), configuration).expect("it is served");
    let mut commands = Changes::varied(random.below(u32::MAX).into());
    for _ in 0..10 {
        let (command, now) = commands.next(&controller);
        carry_out(&mut controller, &command, now);
    }
    memory.fill_with_noise(random);
    memory
}

/// One controller is never saved. The other moves to other memory at random moments, and gives the
/// same answers.
fn check(configuration: Configuration, seed: u64) {
    let mut commands = Changes::varied(seed);
    let mut never_saved = HeapMemory::new(configuration.machine, JOBS_MAX);
    let mut twin = Controller::new(never_saved.memory(), configuration).expect("it is served");
    let mut parts = save(&twin);
    let mut given = 0;
    while given < COMMANDS {
        let mut memory = used_memory(configuration, commands.random());
        // The configuration comes from the checkpoint, not from the controller.
        let mut controller = Controller::new(
            memory.memory(),
            Configuration {
                scheduler: SchedulerKind::Fcfs,
                ..configuration
            },
        )
        .expect("it is served");
        let context = format!("{configuration:?}, seed {seed}, restored after {given}");
        let restored = restore(&mut controller, &parts);
        assert_eq!(restored, Ok(()), "{context}");
        controller.check_invariants();
        assert_eq!(save(&controller), parts, "{context}: saved again");
        let stays_for = commands.random().between(1, 60);
        for _ in 0..stays_for {
            let (command, now) = commands.next(&twin);
            let expected = carry_out(&mut twin, &command, now);
            let seen = carry_out(&mut controller, &command, now);
            assert_eq!(seen, expected, "{context}: {command:?} at {now}");
            given += 1;
        }
        controller.check_invariants();
        parts = save(&controller);
        assert!(
            parts
                .iter()
                .all(|part| !part.is_empty() && part.len() <= PART_MAX)
        );
    }
}

fn check_all(machine: Grid) {
    for (seed, strategy) in (0..).zip(strategies(machine)) {
        for scheduler in sample(SCHEDULERS, 3, seed) {
            check(
                Configuration {
                    machine,
                    strategy,
                    scheduler,
                },
                seed,
            );
        }
    }
}

#[test]
fn restored_on_a_mesh_it_decides_like_its_twin() {
    check_all(mesh(8, 8).into());
}

#[test]
fn restored_on_a_mesh_of_odd_sides_it_decides_like_its_twin() {
    check_all(mesh(11, 5).into());
}

#[test]
fn restored_on_cubes_it_decides_like_its_twin() {
    check_all(cube(4, 3).into());
    check_all(cube(2, 6).into());
}

#[test]
fn restored_on_rings_of_meshes_it_decides_like_its_twin() {
    check_all(Grid::new(&[5, 3, 4], 0b101).expect("a grid"));
}

/// A controller with a queue, faults and everything else that a checkpoint can contain.
fn busy_controller(
    memory: &mut HeapMemory,
    configuration: Configuration,
    seed: u64,
) -> Controller<'_> {
    let mut controller = Controller::new(memory.memory(), configuration).expect("it is served");
    let mut commands = Changes::new(seed);
    while controller.jobs().waiting_len() < 6 || controller.occupancy().faulty_count() == 0 {
        let (command, now) = commands.next(&controller);
        carry_out(&mut controller, &command, now);
    }
    controller
}

/// What is saved as the state after a reset is the state after that reset, and saving it changes
/// nothing.
#[test]
fn the_state_after_a_reset_is_saved_without_the_reset() {
    let machines = [mesh(8, 8).into(), cube(2, 6).into()];
    for machine in machines {
        for (seed, strategy) in (0..).zip(strategies(machine)) {
            for scheduler in SCHEDULERS {
                let configuration = Configuration {
                    machine,
                    strategy,
                    scheduler,
                };
                let mut memory = HeapMemory::new(machine, JOBS_MAX);
                let mut controller = busy_controller(&mut memory, configuration, seed);
                let (before, at) = (save(&controller), 77);
                let mut parts = Parts::new();
                let saved = controller.save_after(Some(at), &mut |part| {
                    parts.push(part.to_vec());
                    Ok::<(), Infallible>(())
                });
                assert_eq!((saved, parts.len()), (Ok(()), 1), "{configuration:?}");
                assert_eq!(save(&controller), before, "{configuration:?}");
                let mut other = used_memory(configuration, &mut Random::new(seed));
                let mut restored = Controller::new(other.memory(), configuration).expect("served");
                assert_eq!(restore(&mut restored, &parts), Ok(()), "{configuration:?}");
                assert_eq!(controller.handle(&Change::Reset, at), Ok(Outcome::Done));
                restored.check_invariants();
                assert_eq!(save(&restored), save(&controller), "{configuration:?}");
            }
        }
    }
}

/// The same bytes with words of every length, so that a checkpoint goes from one machine to
/// another. Where what is saved changes on purpose, `FORMAT` in core's `checkpoint.rs` does too, so
/// that a board refuses what an earlier image has left in its flash; the failing test prints the
/// new number.
#[test]
fn a_checkpoint_is_the_same_on_every_machine() {
    const GOLDEN: u64 = 0x72e6_34aa_6044_84dc;
    // Only strategies up to `leb-estimates` are hashed, so that a new strategy does not change the
    // number.
    let is_hashed = |strategy: &StrategyKind| {
        let mut hashed = StrategyKind::ALL[..35].iter();
        hashed.any(|kind| kind.name() == strategy.name())
    };
    let mut hash = Hash::default();
    let machines = [
        mesh(8, 8).into(),
        mesh(70, 3).into(),
        cube(4, 3).into(),
        Grid::new(&[5, 3, 4], 0b101).expect("a grid"),
    ];
    for (seed, machine) in (0..).zip(machines) {
        for (strategy, scheduler) in strategies(machine)
            .into_iter()
            .filter(is_hashed)
            .zip(SCHEDULERS.iter().cycle())
        {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler: *scheduler,
            };
            let mut memory = HeapMemory::new(machine, JOBS_MAX);
            let controller = busy_controller(&mut memory, configuration, seed);
            let parts = save(&controller);
            parts.iter().for_each(|part| hash.put_bytes(part));
        }
    }
    assert_eq!(format!("{:#018x}", hash.get()), format!("{GOLDEN:#018x}"));
}

/// Changes something in a checkpoint: bits, bytes, whole parts. Often the checksum is that of the
/// changed bytes, as if the checkpoint had been made so.
fn damage(parts: &mut Parts, random: &mut Random) {
    let (len, before) = (end_len(parts), parts.clone());
    change_bytes(parts, random);
    if random.percent(80) && *parts != before {
        seal(parts, len);
    }
}

fn change_bytes(parts: &mut Parts, random: &mut Random) {
    for _ in 0..random.between(1, 3) {
        let at = random.below(parts.len() as u32) as usize;
        let len = parts[at].len() as u32;
        let byte = random.below(len.max(1)) as usize;
        match random.below(8) {
            0 => drop(parts.remove(at)),
            1 => parts.insert(at, parts[at].clone()),
            2 => parts[at].truncate(byte),
            3 => parts.swap(0, at),
            4 if len > 0 => parts[at][byte] = random.below(256) as u8,
            _ if len > 0 => parts[at][byte] ^= 1 << random.below(8),
            _ => (),
        }
        if parts.is_empty() {
            parts.push(Vec::new());
        }
    }
}

/// For any parts: the controller is empty after an error, and serves commands in any case.
fn assert_usable(controller: &mut Controller<'_>, restored: Result<(), RestoreError>, seed: u64) {
    controller.jobs().check_invariants();
    controller.occupancy().check_invariants();
    if restored.is_err() {
        controller.check_invariants();
        let statistics = controller.statistics();
        let left = [statistics.waiting, statistics.running, statistics.faulty];
        assert_eq!(left, [0; 3], "{restored:?}");
    }
    let mut commands = Changes::varied(seed);
    for _ in 0..20 {
        let (command, now) = commands.next(controller);
        carry_out(controller, &command, now);
    }
}

#[test]
fn damaged_checkpoints_never_panic() {
    let machine = mesh(8, 8).into();
    let mut random = Random::new(1);
    let mut errors = Vec::new();
    let mut succeeded = 0;
    for (seed, strategy) in (0..).zip(strategies(machine)) {
        for scheduler in sample(SCHEDULERS, 3, seed) {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler,
            };
            let mut memory = HeapMemory::new(machine, JOBS_MAX);
            let parts = save(&busy_controller(&mut memory, configuration, 3));
            let mut controller = Controller::new(memory.memory(), configuration).expect("served");
            for _ in 0..40 {
                let mut parts = parts.clone();
                damage(&mut parts, &mut random);
                let restored = restore(&mut controller, &parts);
                if restored.is_ok() {
                    controller.check_invariants();
                    let again = save(&controller);
                    assert_eq!(restore(&mut controller, &again), Ok(()));
                }
                assert_usable(&mut controller, restored, random.below(u32::MAX).into());
                match restored {
                    Ok(()) => succeeded += 1,
                    Err(error) if !errors.contains(&error) => errors.push(error),
                    Err(_) => (),
                }
            }
        }
    }
    // Some damage still describes a state; most kinds of errors come about.
    assert!(
        succeeded > 0 && errors.len() >= 6 && errors.contains(&RestoreError::Damaged),
        "{succeeded}, {errors:?}"
    );
}

/// Each bit of a checkpoint, alone. With the checksum of the bytes as they are now, what is
/// restored is a state: it can be saved, restored and changed.
#[test]
fn no_changed_bit_is_restored() {
    let machine = mesh(8, 8).into();
    let mut states = 0;
    for (strategy, scheduler) in [
        (StrategyKind::FreeSubmeshList, SchedulerKind::Conservative),
        (
            StrategyKind::LShape,
            SchedulerKind::Easy { reservations: 3 },
        ),
        (StrategyKind::Naive, SchedulerKind::Conservative),
    ] {
        let configuration = Configuration {
            machine,
            strategy,
            scheduler,
        };
        let mut memory = HeapMemory::new(machine, JOBS_MAX);
        let parts = save(&busy_controller(&mut memory, configuration, 3));
        let len = end_len(&parts);
        let mut controller = Controller::new(memory.memory(), configuration).expect("served");
        for (part, bytes) in parts.iter().enumerate() {
            for bit in sample(0..8 * bytes.len(), 5, 0) {
                let mut changed = parts.clone();
                changed[part][bit / 8] ^= 1 << (bit % 8);
                let context = format!("{configuration:?}, bit {bit} of part {part}");
                assert!(restore(&mut controller, &changed).is_err(), "{context}");
                seal(&mut changed, len);
                if changed != parts && restore(&mut controller, &changed).is_ok() {
                    controller.check_invariants();
                    let again = save(&controller);
                    assert_eq!(restore(&mut controller, &again), Ok(()), "{context}");
                    assert_usable(&mut controller, Ok(()), bit as u64);
                    let next = save(&controller);
                    assert_eq!(restore(&mut controller, &next), Ok(()), "{context}");
                    states += 1;
                }
            }
        }
    }
    assert!(states > 100, "{states}");
}

#[test]
fn items_out_of_order_are_refused() {
    let configuration = Configuration {
        machine: mesh(8, 8).into(),
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut memory = HeapMemory::new(configuration.machine, 2);
    let mut controller = Controller::new(memory.memory(), configuration).expect("served");
    let block = Submesh::new(7, 0, 1, 1).into();
    submit(&mut controller, 1, Request::submesh(1, 1));
    carry_out(&mut controller, &Change::Release { job: JobId(1) }, 0);
    carry_out(&mut controller, &Change::MarkFaulty { block }, 0);
    let mut parts = save(&controller);
    // Kind and numbers of each: the slot that was used, the fault; behind them the number of all
    // items, these two and the head, and the checksum.
    let (free, faults, end) = ([5, 1, 0], [6, 1, 7], [10, 3]);
    let len = end_len(&parts);
    let last = parts.last_mut().expect("there is one");
    let items = [&free[..], &faults, &end].concat();
    let start = last.len() - len - free.len() - faults.len();
    assert!(last[start..].starts_with(&items), "{last:?}");
    assert_eq!(restore(&mut controller, &parts), Ok(()));
    let swapped = [&faults[..], &free].concat();
    let last = parts.last_mut().expect("there is one");
    last[start..start + swapped.len()].copy_from_slice(&swapped);
    seal(&mut parts, len);
    assert_eq!(
        restore(&mut controller, &parts),
        Err(RestoreError::Incomplete)
    );
}

#[test]
fn arbitrary_bytes_never_panic() {
    let machine = mesh(8, 8).into();
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FreeSubmeshList,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut memory = HeapMemory::new(machine, JOBS_MAX);
    let mut controller = busy_controller(&mut memory, configuration, 1);
    let head = save(&controller).swap_remove(0);
    let mut random = Random::new(2);
    for round in 0..20_000 {
        let part: Vec<u8> = (0..random.below(100))
            .map(|_| random.below(256) as u8)
            .collect();
        // As they are, and behind the beginning of a checkpoint.
        let parts = match round % 2 {
            0 => vec![part],
            _ => vec![head[..random.between(20, 60) as usize].to_vec(), part],
        };
        assert!(restore(&mut controller, &parts).is_err(), "{parts:?}");
    }
    assert_usable(&mut controller, Err(RestoreError::Format), 3);
}

#[test]
fn what_is_not_finished_leaves_nothing() {
    let machine = mesh(8, 8).into();
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut memory = HeapMemory::new(machine, JOBS_MAX);
    let parts = save(&busy_controller(&mut memory, configuration, 1));
    for taken in 0..parts.len() {
        let mut controller = Controller::new(memory.memory(), configuration).expect("served");
        submit(&mut controller, 1, Request::submesh(3, 3));
        let mut restoring = controller.restore();
        for part in &parts[..taken] {
            assert_eq!(restoring.part(part), Ok(()));
        }
        assert_eq!(restoring.finish(), Err(RestoreError::Incomplete));
        controller.check_invariants();
        assert!(controller.jobs().is_empty());
        assert_eq!(controller.occupancy().free(), 64);
    }
}

#[test]
fn a_checkpoint_that_does_not_fit_is_refused() {
    let configuration = |machine| Configuration {
        machine,
        strategy: StrategyKind::Naive,
        scheduler: SchedulerKind::Fcfs,
    };
    let (large, small) = (Grid::from(mesh(16, 16)), Grid::from(mesh(4, 4)));
    let mut memory = HeapMemory::new(large, 3);
    let mut saved = Controller::new(memory.memory(), configuration(large)).expect("served");
    for job in 1..=3 {
        submit(&mut saved, job, Request::submesh(2, 1));
    }
    let parts = save(&saved);
    let restored_with = |machine, jobs| {
        let mut memory = HeapMemory::for_largest_of(&[machine, small], jobs);
        let mut controller =
            Controller::new(memory.memory(), configuration(small)).expect("served");
        let outcome = restore(&mut controller, &parts);
        assert_usable(&mut controller, outcome, 1);
        outcome
    };
    assert_eq!(restored_with(large, 3), Ok(()));
    assert_eq!(restored_with(large, 2), Err(RestoreError::NoRoom));
    let too_large = ConfigureError::MachineTooLarge;
    assert_eq!(
        restored_with(small, 3),
        Err(RestoreError::Configure(too_large))
    );
}

#[test]
fn nothing_is_saved_while_jobs_are_tried() {
    let machine = mesh(4, 4).into();
    let mut memory = HeapMemory::new(machine, JOBS_MAX);
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut controller = Controller::new(memory.memory(), configuration).expect("served");
    for job in 1..=3 {
        submit(&mut controller, job, Request::submesh(4, 4));
    }
    let release = Change::Release { job: JobId(1) };
    let released = controller.begin(&release, 0, None, None);
    assert_eq!(released, Ok(Outcome::Released { processors: 16 }));
    assert!(controller.is_scheduling());
    let mut parts = 0;
    let mut part = |_: &[u8]| {
        parts += 1;
        Ok::<(), Infallible>(())
    };
    assert_eq!(controller.save(&mut part), Err(SaveError::Scheduling));
    while controller.advance(None) {}
    assert_eq!(controller.save(&mut part), Ok(()));
    assert_eq!(parts, 1);
}

#[test]
fn a_part_that_is_not_taken_is_the_last() {
    let machine = mesh(16, 16).into();
    let mut memory = HeapMemory::new(machine, JOBS_MAX);
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::LeastExpectedBlocking { budget: 64 },
        scheduler: SchedulerKind::Fcfs,
    };
    let controller = Controller::new(memory.memory(), configuration).expect("served");
    assert!(save(&controller).len() > 1);
    let mut parts = 0;
    let saved = controller.save(&mut |_| {
        parts += 1;
        Err("full")
    });
    assert_eq!((saved, parts), (Err(SaveError::Part("full")), 1));
}

/// The largest possible numbers in the most dimensions: no item is longer than a part.
#[test]
fn the_longest_items_fit_into_parts() {
    let machine = Grid::torus(&[2; 16]).expect("a hypercube");
    let mut memory = HeapMemory::for_strategy(machine, StrategyKind::FirstFit, 3);
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: u64::MAX }),
    };
    let mut controller = Controller::new(memory.memory(), configuration).expect("served");
    let extents = [2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2];
    let request = meshalloc::Shape::new(&extents)
        .map(Request::new)
        .expect("a shape");
    for job in [1, u32::MAX - 1, u32::MAX] {
        let request = request.with_estimate(u64::MAX);
        let job = JobId(job);
        carry_out(&mut controller, &Change::submit(job, request), u64::MAX - 5);
    }
    set_faulty(&mut controller, (1 << 16) - 1, true);
    carry_out(
        &mut controller,
        &fault(unit(&machine, NodeId(0)), false),
        u64::MAX,
    );
    let parts = save(&controller);
    let mut memory = HeapMemory::for_strategy(machine, StrategyKind::FirstFit, 3);
    let mut restored = Controller::new(memory.memory(), configuration).expect("served");
    assert_eq!(restore(&mut restored, &parts), Ok(()));
    assert_eq!(save(&restored), parts);
}

/// The sizes that the documentation of the form names.
#[test]
fn a_checkpoint_takes_as_much_as_is_said() {
    let machine: Grid = mesh(64, 64).into();
    let bytes = |strategy, sides: (u16, u16)| {
        let configuration = Configuration {
            machine,
            strategy,
            scheduler: SchedulerKind::Fcfs,
        };
        let mut memory = HeapMemory::for_strategy(machine, strategy, 256);
        let mut controller = Controller::new(memory.memory(), configuration).expect("served");
        for job in 0..256 {
            let request = Request::submesh(sides.0, sides.1).with_estimate(1_000_000);
            let job = JobId(0x0100_0000 + job);
            carry_out(&mut controller, &Change::submit(job, request), 5_000_000);
        }
        let parts = save(&controller);
        parts.iter().map(Vec::len).sum::<usize>()
    };
    let one_block_each = bytes(StrategyKind::FirstFit, (4, 4));
    assert!(
        (25 * 256..=9 * 1024).contains(&one_block_each),
        "{one_block_each} bytes"
    );
    let scattered = bytes(StrategyKind::Random { seed: 1 }, (4, 4));
    assert!(scattered < 19 * 1024, "{scattered} bytes");
}
