//! What is done on machines in the search for long slices: [`Scene`].

use meshalloc::strategy::Holds;
use meshalloc::{
    Block, Change, Flags, Grid, JobId, NodeId, Query, Request, Shape, StrategyKind, Ticks,
};

use crate::emulator::Ask;
use crate::image::needs_description;
use crate::instructions::MESH;
use crate::instructions::queues::random;

/// What is done on a machine.
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) machine: Grid,
    /// Whether jobs wait. If not, all schedulers decide alike.
    pub(super) has_queue: bool,
    /// Whether it is only for strategies whose jobs hold many blocks, or only for others.
    holds_many: Option<bool>,
    /// Whether it is only for strategies that serve described machines only, or only for others.
    is_described: Option<bool>,
    pub(super) commands: Vec<(Ticks, Ask)>,
}

impl Scene {
    /// `faulty` processors, and commands.
    fn new(
        name: &'static str,
        machine: Grid,
        faulty: &[u32],
        commands: Vec<(Ticks, Ask)>,
    ) -> Scene {
        let faults = faulty
            .chunk_by(|one, next| next - one == 1 && next % u32::from(machine.side(0)) > 0)
            .map(|run| run_of(machine, run))
            .map(|block| (0, Change::MarkFaulty { block }.into()));
        Scene {
            name,
            machine,
            has_queue: true,
            holds_many: None,
            is_described: None,
            commands: faults.chain(commands).collect(),
        }
    }

    fn without_queue(self) -> Scene {
        Scene {
            has_queue: false,
            ..self
        }
    }

    /// Whether it is meant for this strategy.
    pub(super) fn is_for(&self, strategy: StrategyKind) -> bool {
        let holds_many = strategy.holds() == Holds::Processors;
        self.holds_many.is_none_or(|only| only == holds_many)
            && self
                .is_described
                .is_none_or(|only| only == needs_description(strategy))
    }
}

/// Those without a queue first.
pub(super) fn scenes() -> Vec<Scene> {
    let cube = Grid::torus(&[2; 12]).expect("a cube");
    let flat = Grid::mesh(&[2, 1, 2, 1, 2, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2]).expect("a grid");
    let torus = Grid::torus(&[16, 16, 16]).expect("a torus");
    let odd = Grid::torus(&[5, 3, 7, 2, 3, 3, 2]).expect("a grid");
    let ternary = Grid::torus(&[3; 7]).expect("a grid");
    let mut alone = vec![
        Scene::new("all processors one by one", MESH, &[], whole(&[64, 64])),
        Scene::new(
            "all processors of a torus",
            torus,
            &[],
            whole(&[16, 16, 16]),
        ),
        Scene::new(
            "a corridor",
            MESH,
            &nodes(64 * 64, |node| !in_corridor(node % 64, node / 64, 0)),
            vain(&[&[47, 44], &[61, 34], &[41, 41], &[63, 32]]),
        ),
    ];
    for m in [5, 7] {
        let faulty = nodes(1 << 12, |node| node.count_ones() % (m + 1) == 0);
        let extents = vec![2; m as usize];
        let mut twos: Vec<u16> = vec![2, 1, 2, 1, 2, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2];
        let end = (0..16)
            .filter(|&at| twos[at] == 2)
            .nth(m as usize - 1)
            .expect("more");
        twos.truncate(end + 1);
        alone.push(Scene::new(
            "a binary cube in vain",
            cube,
            &faulty,
            vain(&[&extents]),
        ));
        alone.push(Scene::new(
            "sixteen dimensions in vain",
            flat,
            &faulty,
            vain(&[&twos]),
        ));
    }
    let checkerboard = nodes(64 * 64, |node| (node % 64 + node / 64) % 2 == 0);
    let in_vain = vain(&[&[47, 43], &[64, 31], &[41, 41], &[1, 64], &[32, 64]]);
    let both = [in_vain.clone(), scattered(MESH)].concat();
    let odd_ones = nodes(1 << 12, |node| node.count_ones().is_multiple_of(2));
    alone.extend([
        Scene {
            holds_many: Some(false),
            ..Scene::new("a checkerboard", MESH, &checkerboard, in_vain)
        },
        Scene {
            holds_many: Some(true),
            ..Scene::new("thousands of blocks on a mesh", MESH, &checkerboard, both)
        },
        Scene {
            holds_many: Some(true),
            ..Scene::new(
                "thousands of blocks in sixteen dimensions",
                flat,
                &odd_ones,
                scattered(flat),
            )
        },
    ]);
    let mut scenes: Vec<_> = alone.into_iter().map(Scene::without_queue).collect();
    scenes.extend([
        Scene::new("jobs on a mesh", MESH, &[], mixed(MESH, 15, 24)),
        Scene::new("small jobs on a mesh", MESH, &[], mixed(MESH, 5, 180)),
        Scene::new("many jobs run", MESH, &[], many_run(MESH)),
        Scene::new("many jobs run on a cube", cube, &[], many_run(cube)),
        Scene::new("many jobs wait", MESH, &[], many_wait()),
        Scene::new(
            "a quarter faulty",
            MESH,
            &nodes(64 * 64, |node| random(node, 4) == 0),
            mixed(MESH, 5, 60),
        ),
        Scene::new(
            "a diagonal",
            MESH,
            &nodes(64 * 64, |node| node % 64 == node / 64 && node % 2 == 0),
            mixed(MESH, 9, 30),
        ),
        Scene::new(
            "two antidiagonals",
            MESH,
            &nodes(64 * 64, |node| {
                let (x, y) = (node % 64, node / 64);
                (x + y == 40 || x + y == 80) && x % 2 == 0
            }),
            mixed(MESH, 7, 40),
        ),
    ]);
    for (name, grid) in [
        ("jobs on a binary cube", cube),
        ("jobs on a torus", torus),
        ("jobs on an odd grid", odd),
        ("jobs on a ternary cube", ternary),
    ] {
        scenes.push(Scene::new(name, grid, &[], mixed(grid, 3, 30)));
        let faulty = nodes(grid.nodes(), |node| random(node, 6) == 0);
        scenes.push(Scene::new(name, grid, &faulty, mixed(grid, 3, 30)));
    }
    let faulty = nodes(torus.nodes(), |node| random(node, 6) == 0);
    for faulty in [&[][..], &faulty] {
        scenes.push(Scene {
            is_described: Some(true),
            ..Scene::new("slices of a pod", torus, faulty, slices(60))
        });
    }
    scenes
}

/// Neighbours along dimension 0 as a block.
fn run_of(machine: Grid, run: &[u32]) -> Block {
    let start = machine.coordinates(NodeId(run[0])).expect("a processor");
    let mut extent = vec![1; machine.dimensions()];
    extent[0] = run.len() as u16;
    machine.block(&start, &extent).expect("neighbours")
}

fn nodes(count: u32, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    (0..count).filter(|&node| wanted(node)).collect()
}

fn in_corridor(x: u32, y: u32, left: u32) -> bool {
    let turn = if y % 4 == 1 { 63 } else { left };
    x >= left && (y.is_multiple_of(2) || x == turn)
}

fn submit(job: u32, request: Request) -> Ask {
    Change::submit(JobId(job), request).into()
}

/// Each request alone, which does not wait, and then released if it was granted.
fn vain(requests: &[&[u16]]) -> Vec<(Ticks, Ask)> {
    let requests = requests.iter().zip(1..);
    let commands = requests.flat_map(|(extents, job)| {
        let request = Request::new(Shape::new(extents).expect("extents"));
        let release = Change::Release { job: JobId(job) }.into();
        [submit(job, request.with_flags(Flags::NO_WAIT)), release]
    });
    commands.map(|command| (0, command)).collect()
}

/// One job for all processors, which then leaves; then as many but one.
fn whole(sides: &[u16]) -> Vec<(Ticks, Ask)> {
    let request = Request::new(Shape::new(sides).expect("sides"));
    let commands = [(1, 0), (2, 1), (3, 2048)]
        .into_iter()
        .flat_map(|(job, less)| {
            let request = request.with_processors(request.processors - less);
            let release = Change::Release { job: JobId(job) }.into();
            [submit(job, request), release]
        });
    commands.map(|command| (0, command)).collect()
}

/// Jobs that fill a machine and wait, of which one after the other leaves.
fn mixed(machine: Grid, side_max: u64, jobs: u32) -> Vec<(Ticks, Ask)> {
    wait_and_leave(jobs, |job| {
        let sides = machine.sides().iter().zip(0..);
        let extents: Vec<u16> = sides
            .map(|(&side, at)| 1 + random(97 * job + at, side_max.min(side.into())) as u16)
            .collect();
        Request::new(Shape::new(&extents).expect("extents"))
    })
}

/// The same with slices of a pod, small ones and of whole cubes.
fn slices(jobs: u32) -> Vec<(Ticks, Ask)> {
    wait_and_leave(jobs, |job| {
        let sides = [0, 1, 2].map(|at| match random(13 * job, 3) {
            0 => 1 + random(97 * job, 2) as u16,
            _ => 4 + 4 * random(97 * job + at, 3) as u16,
        });
        Request::new(Shape::new(&sides).expect("extents"))
    })
}

fn wait_and_leave(jobs: u32, request: impl Fn(u32) -> Request) -> Vec<(Ticks, Ask)> {
    let mut commands = Vec::new();
    let request = |job: u32| request(job).with_estimate(100 + random(31 * job, 900));
    let waiting = 24;
    for job in 1..=jobs + waiting {
        commands.push((u64::from(job), submit(job, request(job))));
    }
    for job in 1..=waiting {
        let now = 100 + 10 * u64::from(job);
        commands.push((
            now,
            Change::Release {
                job: JobId(1 + job * 7 % jobs),
            }
            .into(),
        ));
        let other = jobs + waiting + job;
        commands.push((now, submit(other, request(other))));
    }
    commands
}

/// One job for all processors that work, as many as the half of them, one each a block; what is
/// asked about it, and faults beside it and on it.
fn scattered(machine: Grid) -> Vec<(Ticks, Ask)> {
    let sides = machine.sides();
    let request = Request::new(Shape::new(sides).expect("sides"));
    let job = JobId(100);
    let unit = |node| machine.unit(NodeId(node)).expect("a processor");
    let all = machine
        .block(&vec![0; sides.len()], sides)
        .expect("the machine");
    let mut commands = vec![
        submit(100, request.with_processors(machine.nodes() / 2)),
        Query::Blocks { job, from: 2_000 }.into(),
    ];
    commands.extend(asked(machine));
    // It was faulty already, and is on no block of the job.
    // Until the journal of the image needs another checkpoint, with all blocks in it.
    commands.extend(vec![
        Ask::Change(Change::MarkFaulty { block: unit(0) });
        1_000
    ]);
    for block in [unit(0), all] {
        commands.push(Change::MarkFaulty { block }.into());
        commands.push(Change::ClearFaulty { block }.into());
    }
    commands.push(Change::Release { job }.into());
    commands.into_iter().map(|command| (0, command)).collect()
}

/// What is asked about jobs and processors.
fn asked(machine: Grid) -> [Ask; 4] {
    let first = machine.unit(NodeId(0));
    [
        Query::Jobs { on: None, from: 0 },
        Query::Jobs { on: first, from: 0 },
        Query::Occupancy { from: NodeId(0) },
        Query::Job { job: JobId(240) },
    ]
    .map(Ask::Query)
}

/// Jobs of one processor, of which each ends before the one that began before it; behind them some
/// that need nearly all.
fn many_run(machine: Grid) -> Vec<(Ticks, Ask)> {
    let one = Request::new(Shape::new(&[1]).expect("one"));
    let all = Request::new(Shape::new(machine.sides()).expect("sides"));
    let mut commands: Vec<_> = (1..=240)
        .map(|job| submit(job, one.with_estimate(100_000 - 100 * u64::from(job))))
        .collect();
    let wait = (241..=244).map(|job| submit(job, all.with_estimate(u64::from(job))));
    commands.extend(wait);
    commands.extend(asked(machine));
    for job in [240, 1] {
        commands.push(Change::Release { job: JobId(job) }.into());
    }
    let times = 0..;
    times.zip(commands).collect()
}

/// A job that has all processors; behind it others of many sizes.
fn many_wait() -> Vec<(Ticks, Ask)> {
    let all = Request::new(Shape::new(MESH.sides()).expect("sides")).with_estimate(1_000);
    let mut commands = vec![submit(1, all)];
    for job in 2..=160 {
        let side = |at| 8 + random(53 * job + at, 40) as u16;
        let request = Request::new(Shape::new(&[side(0), side(1)]).expect("sides"));
        commands.push(submit(
            job,
            request.with_estimate(50 + random(19 * job, 400)),
        ));
    }
    commands.extend(asked(MESH));
    commands.push(Change::Release { job: JobId(1) }.into());
    let times = 0..;
    times.zip(commands).collect()
}
