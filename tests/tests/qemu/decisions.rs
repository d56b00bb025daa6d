//! The decisions of the firmware in QEMU are those of a controller in process.

use meshalloc::Threshold;
use meshalloc::{
    Answer, Change, Configuration, Controller, Cube, Error, Flags, Grid, JobId, Mesh, NodeId,
    Outcome, Query, Request, SchedulerKind, Shape, Storage, StrategyKind,
};
use meshalloc_firmware::{Client, Line};
use meshalloc_tests::exhaustive;
use meshalloc_tests::qemu::{Qemu, call_at};
use meshalloc_tests::rig::{ask_at, fault};
use meshalloc_tests::strategy::places_anywhere;

use super::call;

/// The most machines on which one strategy is compared.
const SERVED_MAX: usize = 3;

/// The machines on which the decisions are compared. Every strategy serves two of them at least.
fn machines() -> [Grid; 11] {
    let mesh = |w, h| Mesh::new(w, h).expect("sides in range").grid();
    let cube = |k, n| Cube::new(k, n).expect("a cube").grid();
    let grid = |sides: &[u16], wraps| Grid::new(sides, wraps).expect("a grid");
    [
        mesh(64, 64),
        mesh(33, 20),
        mesh(16, 16),
        mesh(16, 22),
        cube(4, 3),
        cube(3, 5),
        cube(16, 3),
        cube(2, 12),
        grid(&[8, 8, 16], 0b111),
        grid(&[5, 4, 3], 0b010),
        grid(&[7, 5], 0b11),
    ]
}

/// A request of up to 256 processors on a two-dimensional mesh, of any m and any radices on a cube,
/// and of any extents on another grid; `random` has numbers below its argument.
fn request(machine: Grid, random: &mut impl FnMut(u32) -> u32) -> Request {
    let extents: Vec<u16> = match machine.radix() {
        _ if machine.is_plane() => (0..2).map(|_| 1 + random(16) as u16).collect(),
        Some(k) => {
            let dimensions = random(machine.dimensions() as u32 + 1);
            // Half of the requests are for whole rings, since one strategy serves no other.
            let rings = random(2) == 0;
            let radix = |_| {
                if rings {
                    k
                } else {
                    2 + random(u32::from(k) - 1) as u16
                }
            };
            (0..dimensions).map(radix).collect()
        }
        None => {
            let extent = |&side: &u16| 1 + random(side.into()) as u16;
            machine.sides().iter().map(extent).collect()
        }
    };
    let request = Request::new(Shape::new(&extents).expect("extents of the machine"));
    let mut flags = Flags::empty();
    flags.set(Flags::FIXED_ORIENTATION, random(4) == 0);
    // A large one at the head of the queue would keep the others waiting for long.
    flags.set(Flags::NO_WAIT, request.processors > machine.nodes() / 8);
    let request = request.with_flags(flags);
    match random(4) {
        0 => request,
        _ => request.with_estimate(1 + u64::from(random(60))),
    }
}

#[test]
fn qemu_decides_as_in_process_with_strategies_that_place_a_job_anywhere() {
    compare(Group::Anywhere);
}

#[test]
fn qemu_decides_as_in_process_with_box_strategies_for_every_grid() {
    compare(Group::EveryGrid);
}

#[test]
fn qemu_decides_as_in_process_with_strategies_for_meshes() {
    compare(Group::Meshes);
}

#[test]
fn qemu_decides_as_in_process_with_strategies_for_cubes() {
    compare(Group::Cubes);
}

/// The strategies of one test. There are several groups of about equal length, since tests run in
/// parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Anywhere,
    EveryGrid,
    Meshes,
    Cubes,
}

impl Group {
    /// The group of a strategy; each has one.
    fn of(kind: StrategyKind) -> Group {
        let serves = |grid| kind.serves().includes(&grid);
        let on_mesh = serves(Mesh::new(64, 64).expect("sides in range").grid());
        let on_cube = serves(Cube::new(4, 3).expect("a cube").grid());
        match (on_mesh, on_cube) {
            _ if places_anywhere(kind) => Group::Anywhere,
            (true, true) => Group::EveryGrid,
            (true, false) => Group::Meshes,
            (false, _) => Group::Cubes,
        }
    }
}

/// Every strategy of the group, every command, on full machines of every kind: the board decides as
/// a controller in process, whose words are twice as long.
fn compare(group: Group) {
    let qemu = Qemu::start();
    let mut client = qemu.client().unwrap();
    let schedulers = [
        SchedulerKind::Fcfs,
        SchedulerKind::BypassQueue { threshold: 50 },
        SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 10 }),
        SchedulerKind::Easy { reservations: 2 },
        SchedulerKind::ShortestJobFirst { threshold: 50 },
    ];
    let parameters = [
        "random:seed=7",
        "paging:snake",
        "paging:row-major=1",
        "sbt:4",
        "dbt:1/16",
        "ind-sbt:4",
        "ind-dbt:1/16",
        "d-sbt:4",
        "d-dbt:1/16",
        "curve:best-fit",
        "curve:sum-of-squares",
        "curve:smallest-range",
    ];
    let parameters = parameters.map(|text| text.parse().unwrap());
    // Those that need a description are compared in `pods`.
    let needs_none = |kind: &StrategyKind| !kind.serves().needs_description();
    let all = StrategyKind::built().filter(needs_none).chain(parameters);
    let mut strategies = 0;
    for strategy in all.filter(|&kind| Group::of(kind) == group) {
        let configuration = |machine, round| Configuration {
            machine,
            strategy,
            scheduler: schedulers[(strategies + round) % schedulers.len()],
        };
        let (mut served, refused): (Vec<Grid>, Vec<Grid>) = machines()
            .into_iter()
            .partition(|&machine| is_served(configuration(machine, 0)));
        for machine in refused {
            assert_eq!(compare_on(&mut client, configuration(machine, 0)), None);
        }
        assert!(served.len() >= 2, "{strategy} serves {served:?}");
        // Each strategy begins with another machine and another scheduler.
        let first = strategies % served.len();
        served.rotate_left(first);
        let rounds = served.into_iter().take(SERVED_MAX).enumerate();
        let grants = rounds.map(|(round, machine)| {
            let grants = compare_on(&mut client, configuration(machine, round));
            grants.expect("the strategy serves the machine")
        });
        let granted: usize = grants.sum();
        assert!(granted >= 25, "{strategy}: {granted} grants");
        strategies += 1;
    }
    assert!(strategies > 0, "{group:?} has no strategy");
}

/// A controller's memory with as much room as the board has.
fn storage() -> Box<Storage<128, 512, 8192, 4096, 4096>> {
    Box::new(Storage::new())
}

fn is_served(configuration: Configuration) -> bool {
    Controller::new(storage().memory(), configuration).is_ok()
}

/// Compares a few strategies on all machines, for another board.
pub(super) fn decides_as_in_process(qemu: &Qemu, strategies: &[StrategyKind]) {
    let mut client = qemu.client().unwrap();
    for &strategy in strategies {
        let mut granted = 0;
        for machine in machines() {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler: SchedulerKind::Easy { reservations: 2 },
            };
            granted += compare_on(&mut client, configuration).unwrap_or(0);
        }
        assert!(granted >= 25, "{strategy}: {granted} grants");
    }
}

/// 128 random commands to the board and to a controller in process, whose words are twice as long:
/// the same replies. Returns the number of jobs that were granted; `None` if both refuse the
/// configuration.
fn compare_on(client: &mut Client<impl Line>, configuration: Configuration) -> Option<usize> {
    let Configuration {
        machine, strategy, ..
    } = configuration;
    let mut granted = 0;
    let mut storage = storage();
    client.use_virtual_clock(true).unwrap();
    let reset = call_at(client, &Change::Reset, Some(0)).unwrap();
    assert_eq!(reset.outcome, Ok(Outcome::Done));
    let mut reference = match Controller::new(storage.memory(), configuration) {
        Ok(reference) => reference,
        Err(error) => {
            // The board refuses what is refused in process, such as a buddy system on a mesh that
            // is not a square of a power of two, or a grid that is not served.
            let refused = call(client, Change::Configure(configuration));
            assert_eq!(refused.outcome, Err(Error::Configure(error)));
            return None;
        }
    };
    let configured = call_at(client, &Change::Configure(configuration), Some(0)).unwrap();
    assert_eq!(configured.outcome, Ok(Outcome::Done));
    let mut state = 1_u32;
    let mut random = |end: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % end
    };
    for step in 0..128 {
        let job = JobId(random(60));
        let node = NodeId(random(machine.nodes()) / 8 * 8);
        let change = match random(32) {
            kind @ 0..=3 => {
                // A box that begins there, as far as the machine goes.
                let start = machine
                    .coordinates(node)
                    .expect("a processor of the machine");
                let rest = |at: usize| machine.side(at) - start[at];
                let extent: Vec<u16> = (0..machine.dimensions())
                    .map(|at| rest(at).min(1 + random(3) as u16))
                    .collect();
                let block = machine.block(&start, &extent);
                fault(block.expect("a box of the machine"), kind == 0)
            }
            kind @ 4..=6 => {
                let query = match kind {
                    4 => Query::Occupancy { from: node },
                    5 => Query::Jobs {
                        on: None,
                        from: job.0,
                    },
                    _ => Query::Job { job },
                };
                let on_board = client.query(&query).unwrap();
                let in_process = reference.view().answer(&query);
                assert_eq!(
                    on_board, in_process,
                    "{strategy} on {machine}, step {step}: {query:?}"
                );
                continue;
            }
            7..=16 => Change::Release { job },
            _ => Change::submit(job, request(machine, &mut random)),
        };
        let mut on_board = call_at(client, &change, Some(step)).unwrap();
        let mut in_process = ask_at(&mut reference, &change, step);
        match (change, on_board.outcome) {
            // Only every fourth step has a query, since each query takes as long as a command.
            (Change::Submit { job, .. }, Ok(_)) if step % 4 == 0 => {
                on_board.state = match client.query(&Query::Job { job }).unwrap() {
                    Ok(Answer::Job(report)) => Some(report.state),
                    other => panic!("{other:?}"),
                };
            }
            _ => in_process.state = None,
        }
        assert_eq!(
            on_board, in_process,
            "{strategy} on {machine}, step {step}: {change:?}"
        );
        granted += in_process.grants.len();
    }
    reference.check_invariants();
    Some(granted)
}

/// A table of the strategies whose reservations are compared; each with every scheduler that looks
/// at estimates.
#[test]
fn qemu_decides_as_in_process_when_it_backfills() {
    let qemu = Qemu::start();
    let mut client = qemu.client().unwrap();
    for strategy in [
        StrategyKind::FirstFit,
        StrategyKind::FreeSubmeshList,
        StrategyKind::LeastExpectedBlocking { budget: 64 },
        StrategyKind::LebEstimates { budget: 64 },
    ] {
        for scheduler in [
            SchedulerKind::Easy { reservations: 1 },
            SchedulerKind::Conservative,
            SchedulerKind::ShortestJobFirst { threshold: 100 },
        ] {
            for machine in machines().into_iter().take(exhaustive(3, 1) as usize) {
                let configuration = Configuration {
                    machine,
                    strategy,
                    scheduler,
                };
                let granted = compare_on(&mut client, configuration);
                assert!(granted >= Some(10), "{configuration:?}: {granted:?} grants");
            }
        }
    }
}
