//! Small machines, and changes and queries for them.

use meshalloc::Threshold;
use meshalloc::{
    Block, Change, Configuration, Cube, Flags, Grid, GridError, JobId, Query, Request,
    SchedulerKind, Shape, Storage, StrategyKind, Submesh, Tolerance, Victims,
};
use meshalloc_firmware::keeping::Keep;
use meshalloc_firmware::{Received, Server};

use crate::bytes::Bytes;

/// The jobs there is room for.
const JOBS: usize = 12;

/// Room for the machines below.
pub(crate) type Board = Storage<16, JOBS, 32, 256, 256>;

/// At most 64 processors each; the first serves most strategies.
const MACHINES: [Result<Grid, GridError>; 6] = [
    Grid::mesh(&[8, 8]),
    Grid::mesh(&[5, 3]),
    Grid::mesh(&[7, 9]),
    Grid::torus(&[4, 2, 3]),
    cube(4, 2),
    cube(2, 5),
];

const fn cube(k: u16, n: u8) -> Result<Grid, GridError> {
    match Cube::new(k, n) {
        Ok(cube) => Ok(cube.grid()),
        Err(_) => panic!("a cube"),
    }
}

const SCHEDULERS: [SchedulerKind; 7] = [
    SchedulerKind::Fcfs,
    SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 40 }),
    SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 10 }),
    SchedulerKind::BypassQueue { threshold: 40 },
    SchedulerKind::Easy { reservations: 2 },
    SchedulerKind::Conservative,
    SchedulerKind::ShortestJobFirst { threshold: 40 },
];

/// A machine, a strategy that serves it, and a scheduler.
pub(crate) fn configuration(bytes: &mut Bytes<'_>) -> Configuration {
    let machines = MACHINES.map(machine);
    let strategy = bytes.choose(StrategyKind::ALL);
    let wanted = bytes.below(machines.len());
    let served = |machine: &Grid| strategy.serves().includes(machine);
    let machine = [machines[wanted]].into_iter().chain(machines).find(served);
    Configuration {
        machine: machine.unwrap_or(machines[0]),
        strategy,
        scheduler: bytes.choose(&SCHEDULERS),
    }
}

/// One of a few machines with any strategy, which may not serve it.
#[cfg(feature = "host-sim")]
pub(crate) fn some_configuration(bytes: &mut Bytes<'_>) -> Configuration {
    let choice = usize::from(bytes.byte());
    let (made, strategy) = (choice % MACHINES.len(), choice / MACHINES.len());
    Configuration {
        machine: machine(MACHINES[made]),
        strategy: StrategyKind::ALL[strategy % StrategyKind::ALL.len()],
        scheduler: SCHEDULERS[bytes.0.len() % SCHEDULERS.len()],
    }
}

fn machine(made: Result<Grid, GridError>) -> Grid {
    made.expect("a machine")
}

/// A change or a query.
pub(crate) enum Ask {
    Change(Change),
    Query(Query),
}

/// Something that the machine may well carry out or answer.
pub(crate) fn likely(bytes: &mut Bytes<'_>) -> Ask {
    let kind = bytes.below(10);
    let job = JobId(bytes.below(16) as u32);
    Ask::Change(match kind {
        0..=3 => {
            let extents = [bytes.byte(), bytes.byte()].map(|byte| 1 + u16::from(byte) % 6);
            let shape = Shape::new(&extents).unwrap_or(Shape::sides(1, 1));
            let choice = bytes.byte();
            let request = match choice >> 2 & 3 {
                0 => Request::chips(shape.area()),
                _ => Request::new(shape),
            };
            // Any flags, in any combination.
            let flags = match choice >> 4 & 3 {
                0 => Flags::from_bits_truncate(bytes.byte()),
                _ => Flags::empty(),
            };
            let request = request.with_flags(request.flags | flags);
            let request = match choice & 3 {
                0 => request,
                ticks => request.with_estimate(20 * u64::from(ticks)),
            };
            let request = request.with_priority(u64::from(choice >> 6) * 30);
            let tolerance = Tolerance::new(choice >> 4 & 1).expect("this build has tolerance");
            let request = request.with_tolerance(tolerance);
            Change::submit(job, request)
        }
        4 | 5 => Change::Release { job },
        6 => match bytes.below(2) {
            0 => Change::Replace { job },
            _ => {
                let victims = [bytes.byte(), bytes.byte()].map(|byte| JobId(u32::from(byte) % 16));
                let count = bytes.below(3);
                Change::Preempt {
                    job,
                    victims: Victims::new(&victims[..count]).unwrap_or_default(),
                }
            }
        },
        7 => Change::MarkFaulty {
            block: some_block(bytes),
        },
        8 => Change::ClearFaulty {
            block: some_block(bytes),
        },
        _ => match bytes.below(3) {
            0 => return Ask::Query(Query::Job { job }),
            1 => {
                return Ask::Query(Query::Jobs {
                    on: match bytes.below(2) {
                        0 => None,
                        _ => Some(some_block(bytes)),
                    },
                    from: bytes.below(20) as u32,
                });
            }
            _ => Change::Reset,
        },
    })
}

/// A block that is within some machines.
fn some_block(bytes: &mut Bytes<'_>) -> Block {
    let [x, y, w, h] = [9, 9, 4, 4].map(|end| bytes.below(end) as u16);
    Submesh::new(x, y, 1 + w, 1 + h).into()
}

/// Lets a server work between frames; returns whether work is left.
pub(crate) fn work<K: Keep>(server: &mut Server<'_, K>) -> bool {
    let mut port = Received {
        bytes: &[],
        line: &mut Vec::new(),
    };
    server.work(&mut port).expect("a vector takes all")
}

/// No processor is in two blocks of running jobs, by counting. A job holds at least as many as its
/// request names.
pub(crate) fn check_apart(controller: &meshalloc::Controller<'_>) {
    let machine = controller.machine();
    let mut held = vec![0_u8; machine.nodes() as usize];
    for job in controller.jobs().running() {
        let mut count = 0;
        for block in controller.blocks(job) {
            for node in nodes(machine, block) {
                held[node] += 1;
                count += 1;
            }
        }
        assert!(count >= job.request().processors, "{:?}", job.request());
    }
    assert!(held.iter().all(|&count| count <= 1), "in two jobs");
}

fn nodes(machine: &Grid, block: Block) -> impl Iterator<Item = usize> {
    let (start, extent) = (machine.start(block), machine.extent(block));
    let boxed = extent.iter().map(|&extent| usize::from(extent));
    let boxed: Vec<usize> = boxed.collect();
    (0..boxed.iter().product()).map(move |number: usize| {
        let (mut rest, mut node, mut weight) = (number, 0, 1);
        for (dimension, side) in machine.sides().iter().copied().map(usize::from).enumerate() {
            node += (usize::from(start[dimension]) + rest % boxed[dimension]) % side * weight;
            rest /= boxed[dimension];
            weight *= side;
        }
        node
    })
}
