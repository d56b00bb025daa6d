//! Workloads in the search for long slices: [`Scene`].

use meshalloc::strategy::Holds;
use meshalloc::{
    Block, Change, Flags, Grid, JobId, NodeId, Query, Request, Shape, StrategyKind, Ticks,
};

use super::queues::random;
use super::{Ask, CUBE, MESH, POD, TORUS};

/// A workload for a machine.
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) machine: Grid,
    /// Whether it is only for strategies whose jobs hold many blocks, or only for others.
    holds_many: Option<bool>,
    pub(super) commands: Vec<(Ticks, Ask)>,
}

impl Scene {
    /// Faults at these processors, and commands.
    fn new(
        name: &'static str,
        machine: Grid,
        is_faulty: impl Fn(u32) -> bool,
        commands: impl IntoIterator<Item = (Ticks, Ask)>,
    ) -> Scene {
        let faulty: Vec<u32> = (0..machine.nodes())
            .filter(|&node| is_faulty(node))
            .collect();
        // Neighbours along dimension 0 in one go.
        let runs =
            faulty.chunk_by(|one, next| next - one == 1 && next % u32::from(machine.side(0)) > 0);
        let faults = runs.map(|run| {
            let start = machine.coordinates(NodeId(run[0])).expect("a processor");
            let mut extent = vec![1; machine.dimensions()];
            extent[0] = run.len() as u16;
            let block = machine.block(&start, &extent).expect("neighbours");
            (0, Ask::Change(Change::MarkFaulty { block }))
        });
        Scene {
            name,
            machine,
            holds_many: None,
            commands: faults.chain(commands).collect(),
        }
    }

    fn if_holds_many(self, holds_many: bool) -> Scene {
        Scene {
            holds_many: Some(holds_many),
            ..self
        }
    }

    /// Whether it is meant for this strategy.
    pub(super) fn is_for(&self, strategy: StrategyKind) -> bool {
        let holds_many = strategy.holds() == Holds::Processors;
        let is_described = strategy.serves().needs_description();
        (self.machine == POD) == is_described
            && self.holds_many.is_none_or(|only| only == holds_many)
    }
}

/// No processor is faulty.
const fn none(_: u32) -> bool {
    false
}

/// The coordinates of a processor of the mesh.
const fn xy(node: u32) -> (u32, u32) {
    (node % 64, node / 64)
}

/// Those in which no job waits.
pub(super) fn without_queue() -> Vec<Scene> {
    const TWOS: [u16; 16] = [2, 1, 2, 1, 2, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2];
    let flat = Grid::mesh(&TWOS).expect("a grid");
    // Row by row, from one end of each to the other.
    let outside_corridor = |node| {
        let (x, y) = xy(node);
        let turn = if y % 4 == 1 { 63 } else { 0 };
        !y.is_multiple_of(2) && x != turn
    };
    let in_corridor = vain(&[&[47, 44], &[61, 34], &[41, 41], &[63, 32]]);
    let mut scenes = vec![
        Scene::new("all processors one by one", MESH, none, whole(MESH)),
        Scene::new("all processors of a torus", TORUS, none, whole(TORUS)),
        Scene::new("a corridor", MESH, outside_corridor, in_corridor),
    ];
    // Extents of 2 in m dimensions: with those of 1 between them the first nine or eleven.
    for (m, extents) in [(5, &TWOS[..9]), (7, &TWOS[..11])] {
        let is_faulty = |node: u32| node.count_ones().is_multiple_of(m + 1);
        let in_cube = vain(&[&vec![2; m as usize]]);
        let in_flat = vain(&[extents]);
        scenes.push(Scene::new(
            "a binary cube in vain",
            CUBE,
            is_faulty,
            in_cube,
        ));
        scenes.push(Scene::new(
            "sixteen dimensions in vain",
            flat,
            is_faulty,
            in_flat,
        ));
    }
    let checkerboard = |node| {
        let (x, y) = xy(node);
        (x + y).is_multiple_of(2)
    };
    let even_ones = |node: u32| node.count_ones().is_multiple_of(2);
    let in_vain = vain(&[&[47, 43], &[64, 31], &[41, 41], &[1, 64], &[32, 64]]);
    let both = [in_vain.clone(), scattered(MESH)].concat();
    scenes.extend([
        Scene::new("a checkerboard", MESH, checkerboard, in_vain).if_holds_many(false),
        Scene::new("thousands of blocks on a mesh", MESH, checkerboard, both).if_holds_many(true),
        Scene::new(
            "thousands of blocks in sixteen dimensions",
            flat,
            even_ones,
            scattered(flat),
        )
        .if_holds_many(true),
    ]);
    scenes
}

/// Those in which jobs wait.
pub(super) fn with_queue() -> Vec<Scene> {
    let diagonal = |node| {
        let (x, y) = xy(node);
        x == y && x.is_multiple_of(2)
    };
    let antidiagonals = |node| {
        let (x, y) = xy(node);
        [40, 80].contains(&(x + y)) && x.is_multiple_of(2)
    };
    let quarter = |node| random(node, 4) == 0;
    let mut scenes = vec![
        Scene::new("jobs on a mesh", MESH, none, mixed(MESH, 15, 24)),
        Scene::new("small jobs on a mesh", MESH, none, mixed(MESH, 5, 180)),
        Scene::new("many jobs run", MESH, none, many_run(MESH)),
        Scene::new("many jobs run on a cube", CUBE, none, many_run(CUBE)),
        Scene::new("many jobs wait", MESH, none, many_wait()),
        Scene::new("a quarter faulty", MESH, quarter, mixed(MESH, 5, 60)),
        Scene::new("a diagonal", MESH, diagonal, mixed(MESH, 9, 30)),
        Scene::new("two antidiagonals", MESH, antidiagonals, mixed(MESH, 7, 40)),
    ];
    for (name, grid, side_max, jobs) in [
        ("jobs on a binary cube", CUBE, 3, 30),
        ("jobs on a torus", TORUS, 3, 30),
        ("large jobs on a torus", TORUS, 8, 40),
        ("many jobs on a torus", TORUS, 4, 120),
        ("slices of a pod", POD, 3, 30),
        (
            "jobs on an odd grid",
            Grid::torus(&[5, 3, 7, 2, 3, 3, 2]).expect("a grid"),
            3,
            30,
        ),
        (
            "jobs on a ternary cube",
            Grid::torus(&[3; 7]).expect("a grid"),
            3,
            30,
        ),
    ] {
        let sixth = |node| random(node, 6) == 0;
        scenes.push(Scene::new(name, grid, none, mixed(grid, side_max, jobs)));
        scenes.push(Scene::new(name, grid, sixth, mixed(grid, side_max, jobs)));
    }
    scenes
}

fn request(extents: &[u16]) -> Request {
    Request::new(Shape::new(extents).expect("extents"))
}

fn submit(job: u32, request: Request) -> Ask {
    Ask::Change(Change::submit(JobId(job), request))
}

fn release(job: u32) -> Ask {
    Ask::Change(Change::Release { job: JobId(job) })
}

/// Commands of which each comes a tick after the one before.
fn in_turn(commands: Vec<Ask>) -> impl Iterator<Item = (Ticks, Ask)> {
    (0..).zip(commands)
}

/// Each request alone, which does not wait, and then released if it was granted.
fn vain(requests: &[&[u16]]) -> Vec<(Ticks, Ask)> {
    let commands = (1..).zip(requests).flat_map(|(job, extents)| {
        let request = request(extents).with_flags(Flags::NO_WAIT);
        [(0, submit(job, request)), (0, release(job))]
    });
    commands.collect()
}

/// One job for all processors, which then leaves; then as many but one, then half of them.
fn whole(machine: Grid) -> impl Iterator<Item = (Ticks, Ask)> {
    let request = request(machine.sides());
    [(1, 0), (2, 1), (3, 2048)]
        .into_iter()
        .flat_map(move |(job, less)| {
            let request = request.with_processors(request.processors - less);
            [(0, submit(job, request)), (0, release(job))]
        })
}

/// Jobs that fill a machine and wait, of which one after the other leaves.
fn mixed(machine: Grid, side_max: u64, jobs: u32) -> Vec<(Ticks, Ask)> {
    const WAITING: u32 = 24;
    let submit = |job: u32| {
        let sides = machine.sides().iter().zip(0..);
        let extent =
            |(&side, at): (&u16, _)| 1 + random(97 * job + at, side_max.min(side.into())) as u16;
        // The pod gives small slices, and those of whole cubes.
        let side = |side: u16| match (machine == POD, random(13 * job, 3)) {
            (false, _) => side,
            (true, 0) => side.min(2),
            (true, _) => 4 * side,
        };
        let extents: Vec<u16> = sides.map(extent).map(side).collect();
        submit(
            job,
            request(&extents).with_estimate(100 + random(31 * job, 900)),
        )
    };
    let mut commands: Vec<_> = (1..=jobs + WAITING)
        .map(|job| (job.into(), submit(job)))
        .collect();
    for job in 1..=WAITING {
        let now = 100 + 10 * u64::from(job);
        commands.push((now, release(1 + job * 7 % jobs)));
        commands.push((now, submit(jobs + WAITING + job)));
    }
    commands
}

/// One job for all processors that work, half of the machine, each a block of its own; queries
/// about it, and faults next to it and on it.
fn scattered(machine: Grid) -> Vec<(Ticks, Ask)> {
    let sides = machine.sides();
    let all = machine
        .block(&vec![0; sides.len()], sides)
        .expect("the machine");
    let first = machine.unit(NodeId(0)).expect("a processor");
    let mark = |block: Block| Ask::Change(Change::MarkFaulty { block });
    let clear = |block: Block| Ask::Change(Change::ClearFaulty { block });
    let blocks = Query::Blocks {
        job: JobId(100),
        from: 2_000,
    };
    let mut commands = vec![
        submit(100, request(sides).with_processors(machine.nodes() / 2)),
        Ask::Query(blocks),
    ];
    commands.extend(queries(machine));
    // It was faulty already, and is on no block of the job. Until the journal of the image needs
    // another checkpoint, with all blocks in it.
    commands.extend(vec![mark(first); 1_000]);
    commands.extend([
        mark(first),
        clear(first),
        mark(all),
        clear(all),
        release(100),
    ]);
    commands.into_iter().map(|command| (0, command)).collect()
}

/// Queries about jobs and processors.
fn queries(machine: Grid) -> [Ask; 4] {
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
fn many_run(machine: Grid) -> impl Iterator<Item = (Ticks, Ask)> {
    let (one, all) = (request(&[1]), request(machine.sides()));
    let estimate = |job: u32| 100_000 - 100 * u64::from(job);
    let run = (1..=240).map(|job| submit(job, one.with_estimate(estimate(job))));
    let wait = (241..=244).map(|job| submit(job, all.with_estimate(job.into())));
    let commands = run.chain(wait).chain(queries(machine));
    in_turn(commands.chain([release(240), release(1)]).collect())
}

/// A job that has all processors; behind it others of many sizes.
fn many_wait() -> impl Iterator<Item = (Ticks, Ask)> {
    let mut commands = vec![submit(1, request(MESH.sides()).with_estimate(1_000))];
    commands.extend((2..=160).map(|job| {
        let side = |at| 8 + random(53 * job + at, 40) as u16;
        let request = request(&[side(0), side(1)]);
        submit(job, request.with_estimate(50 + random(19 * job, 400)))
    }));
    commands.extend(queries(MESH));
    commands.push(release(1));
    in_turn(commands)
}
