//! The longest time for which the firmware does not look at the line, with every strategy and scheduler: a search for bad cases.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use meshalloc::{
    Command, Configuration, Flags, Grid, JobId, NodeId, Request, SchedulerKind, Shape,
    StrategyKind, Ticks,
};

use super::MESH;
use super::count::{QEMU_CLOCK, TICKS_EACH, rounded, words};
use super::script::random;
use crate::command::in_parallel;
use crate::emulator::Emulator;
use crate::image::Image;

/// Instructions of a slice: 50 ms at 16 MHz and 1.5 cycles an instruction.
pub(super) const SLICE_MAX: u64 = 50 * 16_000 * 2 / 3;

/// One that reserves nothing, as all others do that are not here: a slice is a part of one attempt. One that reserves for some jobs, and one for all.
const SCHEDULERS: [SchedulerKind; 3] = [
    SchedulerKind::Fcfs,
    SchedulerKind::Easy { reservations: 8 },
    SchedulerKind::Conservative,
];

/// What is done on a machine.
struct Scene {
    name: &'static str,
    machine: Grid,
    /// Faulty processors.
    faulty: Vec<u32>,
    commands: Vec<(Ticks, Command)>,
}

/// Of all strategies if none is named; and which of them take longer than a slice under which scheduler.
pub(super) fn table(image: &Image, names: &[String]) -> Result<(String, Vec<String>)> {
    let is_wanted =
        |kind: &StrategyKind| names.is_empty() || names.iter().any(|name| name == kind.name());
    let built = StrategyKind::ALL.iter().copied();
    let built: Vec<_> = built.filter(is_wanted).collect();
    let cases: Vec<_> = built
        .iter()
        .flat_map(|&strategy| SCHEDULERS.map(|scheduler| (strategy, scheduler)))
        .collect();
    let scenes = scenes();
    let longest = in_parallel(&cases, |_, &(strategy, scheduler)| {
        measure(image, strategy, scheduler, &scenes).with_context(|| {
            format!(
                "measuring the slices of {strategy} under {}",
                scheduler.name()
            )
        })
    })?;
    let names = SCHEDULERS.map(|scheduler| format!("`{}`", scheduler.name()));
    let mut text = format!(
        "| strategy | {} |\n|---|{}\n",
        names.join(" | "),
        "--:|".repeat(names.len())
    );
    let longer = cases.iter().zip(&longest);
    let longer = longer.filter(|&(_, &longest)| longest > SLICE_MAX);
    let longer: Vec<_> = longer
        .map(|((strategy, scheduler), _)| {
            format!("`{}` under `{}`", strategy.name(), scheduler.name())
        })
        .collect();
    for (strategy, longest) in built.iter().zip(longest.chunks(SCHEDULERS.len())) {
        let cells: Vec<_> = longest
            .iter()
            .map(|&longest| rounded(longest).to_string())
            .collect();
        writeln!(text, "| `{}` | {} |", strategy.name(), cells.join(" | "))?;
    }
    write!(
        text,
        "\nThe most instructions of the image with all strategies in QEMU between two looks at the line, in a search for bad cases: meshes, cubes and odd grids of up \
         to 4096 processors,\nempty, with patterns of faults in which searches are in vain, full of jobs while others wait, and with jobs of thousands of blocks. \
         {SLICE_MAX} instructions\nare 50 ms at 16 MHz and 1.5 cycles an instruction{}.\n",
        match longer.is_empty() {
            true => "; none takes longer".to_owned(),
            false => format!("; longer: {}", longer.join(", ")),
        }
    )?;
    Ok((text, longer))
}

/// The most instructions between two looks at the line.
fn measure(
    image: &Image,
    strategy: StrategyKind,
    scheduler: SchedulerKind,
    scenes: &[Scene],
) -> Result<u64> {
    let (address, bytes) = image
        .command_ticks
        .context("the image does not keep how long commands take")?;
    let (mut emulator, mut client) = Emulator::start(&QEMU_CLOCK)?;
    let mut longest = 0;
    for scene in scenes
        .iter()
        .filter(|scene| strategy.serves().includes(&scene.machine))
    {
        let configuration = Configuration {
            machine: scene.machine,
            strategy,
            scheduler,
        };
        let first = [Command::Reset, Command::Configure(configuration)].map(|command| (0, command));
        let faults = scene
            .faulty
            .iter()
            .filter_map(|&node| scene.machine.unit(NodeId(node)))
            .map(|block| (0, Command::MarkFaulty { block }));
        let commands = scene.commands.iter().copied();
        for (at, command) in first.into_iter().chain(faults).chain(commands) {
            client.call(&command, Some(at), &mut |_| ())?;
        }
        client.query(&Command::Statistics)?;
        let word = emulator.peek(address + bytes - 4, 4)?;
        let ticks = words(&word).next().context("no word was read")?;
        let instructions = (f64::from(ticks) / TICKS_EACH).round() as u64;
        if instructions > longest {
            println!(
                "{strategy}, {}: {}: {instructions}",
                scheduler.name(),
                scene.name
            );
            longest = instructions;
        }
    }
    Ok(longest)
}

fn scenes() -> Vec<Scene> {
    let cube = Grid::torus(&[2; 12]).expect("a cube");
    let flat = Grid::mesh(&[2, 1, 2, 1, 2, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2]).expect("a grid");
    let torus = Grid::torus(&[16, 16, 16]).expect("a torus");
    let odd = Grid::torus(&[5, 3, 7, 2, 3, 3, 2]).expect("a grid");
    let ternary = Grid::torus(&[3; 7]).expect("a grid");
    let mut scenes = vec![
        Scene::new("jobs on a mesh", MESH, vec![], mixed(MESH, 15, 24)),
        Scene::new("small jobs on a mesh", MESH, vec![], mixed(MESH, 5, 180)),
        Scene::new("all processors one by one", MESH, vec![], whole(&[64, 64])),
        Scene::new(
            "a checkerboard",
            MESH,
            nodes(64 * 64, |node| (node % 64 + node / 64) % 2 == 0),
            vain(&[&[47, 43], &[64, 31], &[41, 41], &[1, 64], &[32, 64]]),
        ),
        Scene::new(
            "a corridor",
            MESH,
            nodes(64 * 64, |node| !in_corridor(node % 64, node / 64, 0)),
            vain(&[&[47, 44], &[61, 34], &[41, 41], &[63, 32]]),
        ),
        Scene::new(
            "a quarter faulty",
            MESH,
            nodes(64 * 64, |node| random(node, 4) == 0),
            mixed(MESH, 5, 60),
        ),
        Scene::new(
            "a diagonal",
            MESH,
            nodes(64 * 64, |node| node % 64 == node / 64 && node % 2 == 0),
            mixed(MESH, 9, 30),
        ),
        Scene::new(
            "two antidiagonals",
            MESH,
            nodes(64 * 64, |node| {
                let (x, y) = (node % 64, node / 64);
                (x + y == 40 || x + y == 80) && x % 2 == 0
            }),
            mixed(MESH, 7, 40),
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
        scenes.push(Scene::new(
            "a binary cube in vain",
            cube,
            faulty.clone(),
            vain(&[&extents]),
        ));
        scenes.push(Scene::new(
            "sixteen dimensions in vain",
            flat,
            faulty,
            vain(&[&twos]),
        ));
    }
    for (name, grid) in [
        ("jobs on a binary cube", cube),
        ("jobs on a torus", torus),
        ("jobs on an odd grid", odd),
        ("jobs on a ternary cube", ternary),
    ] {
        scenes.push(Scene::new(name, grid, vec![], mixed(grid, 3, 30)));
        let faulty = nodes(grid.nodes(), |node| random(node, 6) == 0);
        scenes.push(Scene::new(name, grid, faulty, mixed(grid, 3, 30)));
    }
    scenes.push(Scene::new(
        "all processors of a torus",
        torus,
        vec![],
        whole(&[16, 16, 16]),
    ));
    scenes
}

impl Scene {
    fn new(
        name: &'static str,
        machine: Grid,
        faulty: Vec<u32>,
        commands: Vec<(Ticks, Command)>,
    ) -> Scene {
        Scene {
            name,
            machine,
            faulty,
            commands,
        }
    }
}

fn nodes(count: u32, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    (0..count).filter(|&node| wanted(node)).collect()
}

fn in_corridor(x: u32, y: u32, left: u32) -> bool {
    let turn = if y % 4 == 1 { 63 } else { left };
    x >= left && (y.is_multiple_of(2) || x == turn)
}

fn submit(job: u32, request: Request) -> Command {
    Command::Submit {
        job: JobId(job),
        request,
    }
}

/// Each request alone, which does not wait, and then released if it was granted.
fn vain(requests: &[&[u16]]) -> Vec<(Ticks, Command)> {
    let requests = requests.iter().zip(1..);
    let commands = requests.flat_map(|(extents, job)| {
        let request = Request::new(Shape::new(extents).expect("extents"));
        let release = Command::Release { job: JobId(job) };
        [submit(job, request.with_flags(Flags::NO_WAIT)), release]
    });
    commands.map(|command| (0, command)).collect()
}

/// One job for all processors, which then leaves; then as many but one.
fn whole(sides: &[u16]) -> Vec<(Ticks, Command)> {
    let request = Request::new(Shape::new(sides).expect("sides"));
    let commands = [(1, 0), (2, 1), (3, 2048)]
        .into_iter()
        .flat_map(|(job, less)| {
            let request = request.with_processors(request.processors - less);
            [submit(job, request), Command::Release { job: JobId(job) }]
        });
    commands.map(|command| (0, command)).collect()
}

/// Jobs that fill a machine and wait, of which one after the other leaves.
fn mixed(machine: Grid, side_max: u64, jobs: u32) -> Vec<(Ticks, Command)> {
    let mut commands = Vec::new();
    let request = |job: u32| {
        let sides = machine.sides().iter().zip(0..);
        let extents: Vec<u16> = sides
            .map(|(&side, at)| 1 + random(97 * job + at, side_max.min(side.into())) as u16)
            .collect();
        let request = Request::new(Shape::new(&extents).expect("extents"));
        request.with_estimate(100 + random(31 * job, 900))
    };
    let waiting = 24;
    for job in 1..=jobs + waiting {
        commands.push((u64::from(job), submit(job, request(job))));
    }
    for job in 1..=waiting {
        let now = 100 + 10 * u64::from(job);
        commands.push((
            now,
            Command::Release {
                job: JobId(1 + job * 7 % jobs),
            },
        ));
        let other = jobs + waiting + job;
        commands.push((now, submit(other, request(other))));
    }
    commands
}
