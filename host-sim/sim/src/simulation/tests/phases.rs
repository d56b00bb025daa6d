//! Jobs that communicate and do I/O.

use std::collections::BTreeMap;

use meshalloc::Block;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::*;
use crate::io::{Bandwidths, Communication, Direction, IoJobs, IoSide};

pub(super) const NEVER: EventKey = EventKey {
    at: Ticks::MAX,
    order: 0,
};

pub(super) fn io(communications: u16) -> IoJobs {
    IoJobs {
        communications,
        ..IoJobs::default()
    }
}

/// A job that starts.
pub(super) struct Task {
    at: Ticks,
    draw: u32,
    request: Request,
    blocks: Vec<Block>,
}

impl Task {
    /// The same, with a request for this number of its processors.
    pub(super) fn asking(mut self, processors: u32) -> Task {
        self.request = self.request.with_processors(processors);
        self
    }
}

pub(super) fn task(at: Ticks, blocks: &[(u16, u16, u16, u16)]) -> Task {
    let block = |&(x, y, w, h): &(u16, u16, u16, u16)| Submesh::new(x, y, w, h).into();
    let processors = blocks.iter().map(|&(_, _, w, h)| w * h).sum();
    Task {
        at,
        draw: 0,
        request: Request::submesh(processors, 1),
        blocks: blocks.iter().map(block).collect(),
    }
}

pub(super) fn start(phases: &mut impl Execution, number: u32, task: &Task) {
    let job = Job {
        arrival: 0,
        request: task.request,
        work: Work::Io { draw: task.draw },
    };
    phases.start(Start {
        at: task.at,
        order: number.into(),
        number,
        job: &job,
        blocks: &task.blocks,
    });
}

/// When each job completes, in ticks; they start in ascending order of time. The execution is never
/// asked to advance by more than `step`.
fn completions(machine: Grid, io: IoJobs, tasks: &[Task], step: Ticks) -> Vec<Ticks> {
    let mut phases = Phases::new(machine, io).unwrap();
    let mut ends = vec![0; tasks.len()];
    let mut advance = |phases: &mut Phases, from: Ticks, to: Ticks, all: bool| {
        let mut limit = from;
        let mut left = ends.iter().filter(|end| **end == 0).count();
        while if all { left > 0 } else { limit < to } {
            limit = to.min(limit.saturating_add(step));
            while let Some(done) = phases.complete_before(EventKey {
                at: limit,
                order: 0,
            }) {
                assert!(done.key.at < limit && u64::from(done.number) == done.key.order);
                ends[done.number as usize] = done.key.at;
                left -= 1;
            }
        }
    };
    let mut now = 0;
    for (number, task) in (0..).zip(tasks) {
        advance(&mut phases, now, task.at, false);
        start(&mut phases, number, task);
        now = task.at;
    }
    advance(&mut phases, now, Ticks::MAX, true);
    assert_eq!(phases.complete_before(NEVER), None);
    ends
}

/// The seconds that one job takes alone on 16 x 16 with I/O nodes on the left.
fn alone(io: IoJobs, blocks: &[(u16, u16, u16, u16)]) -> f64 {
    let ends = completions(mesh(16, 16), io, &[task(0, blocks)], Ticks::MAX);
    TimeUnit::Second.of(ends[0])
}

#[track_caller]
pub(super) fn assert_seconds(found: f64, expected: f64) {
    assert!((found - expected).abs() < 2e-6, "{found} for {expected}");
}

#[test]
fn one_job_is_as_fast_as_its_fullest_link_or_disk() {
    let (link, disk) = (11.65, 4.545);
    // One processor: all of its 16 messages leave over one link.
    assert_seconds(alone(io(0), &[(5, 3, 1, 1)]), 16.0 / link);
    // A column: 8 processors send to 8 I/O nodes beyond the middle.
    assert_seconds(alone(io(0), &[(0, 0, 1, 16)]), 64.0 / link);
    // A row: all messages over the last link of the row.
    assert_seconds(alone(io(0), &[(0, 7, 16, 1)]), 256.0 / link);
    // All processors.
    assert_seconds(alone(io(0), &[(0, 0, 16, 16)]), 128.0 * 8.0 / link);
    // With faster links n processors are bound by the disks, which get a message from each.
    let mut fast = io(0);
    fast.bandwidths.link = 1000.0;
    for (blocks, n) in [
        (&[(0, 0, 1, 16)][..], 16.0),
        (&[(3, 2, 4, 3), (9, 9, 2, 1)], 14.0),
    ] {
        assert_seconds(alone(fast, blocks), n / disk);
        let read = IoJobs {
            direction: Direction::Read,
            ..fast
        };
        assert_seconds(alone(read, blocks), n / disk);
    }
    // Reads: nothing meets between the I/O nodes. All processors, and the two at the ends of a
    // column.
    let read = IoJobs {
        direction: Direction::Read,
        ..io(0)
    };
    assert_seconds(alone(read, &[(0, 0, 16, 16)]), 256.0 / disk);
    assert_seconds(alone(read, &[(8, 0, 1, 1), (8, 15, 1, 1)]), 15.0 / link);
}

#[test]
fn communication_comes_first_and_every_phase_takes_its_time() {
    let link = 11.65;
    // Two processors side by side exchange 1 MB over both directions of a link; then 32 MB leave
    // the row, over one link if it is a row.
    assert_seconds(alone(io(1), &[(4, 0, 2, 1)]), (1.0 + 32.0) / link);
    assert_seconds(alone(io(64), &[(4, 0, 2, 1)]), (64.0 + 32.0) / link);
    // A square of 4 x 4: 4 x 8 messages between halves over the middle of each row.
    let io_alone = alone(io(0), &[(0, 6, 4, 4)]);
    assert_seconds(alone(io(5), &[(0, 6, 4, 4)]), 5.0 * 16.0 / link + io_alone);
    // One processor has no one to communicate with.
    assert_seconds(alone(io(9), &[(4, 0, 1, 1)]), 16.0 / link);
    // Of two processors a permutation exchanges both or none: within 200 phases both happen, about
    // equally often.
    let permutation = IoJobs {
        pattern: Communication::Permutation,
        ..io(200)
    };
    let exchanges = (alone(permutation, &[(4, 0, 2, 1)]) - 32.0 / link) * link;
    assert!((70.0..130.0).contains(&exchanges), "{exchanges}");
    assert!((exchanges - exchanges.round()).abs() < 2e-3, "{exchanges}");
}

#[test]
fn processors_beyond_the_request_send_nothing() {
    for pattern in [Communication::AllToAll, Communication::Permutation] {
        let io = IoJobs { pattern, ..io(3) };
        let seconds = |task| completions(mesh(16, 16), io, &[task], Ticks::MAX);
        // 10 of 12 processors: two whole rows and a half.
        let part = seconds(task(0, &[(2, 5, 4, 3)]).asking(10));
        assert_eq!(part, seconds(task(0, &[(2, 5, 4, 2), (2, 7, 2, 1)])));
        assert!(part < seconds(task(0, &[(2, 5, 4, 3)])));
    }
}

#[test]
fn two_jobs_share_a_link_from_start_to_end() {
    // A row of processors with one I/O node, a link of 1 MB/s: each job sends 1 MB over it.
    let io = IoJobs {
        bandwidths: Bandwidths {
            link: 1.0,
            disk: 10.0,
        },
        ..io(0)
    };
    let machine = mesh(4, 1);
    let second = TimeUnit::Second.ticks_each();
    let at_once = [task(0, &[(0, 0, 1, 1)]), task(0, &[(3, 0, 1, 1)])];
    assert_eq!(
        completions(machine, io, &at_once, Ticks::MAX),
        [2 * second; 2]
    );
    // Half a second later: until 1.5 s each has sent half of its message at half the rate.
    let later = [task(0, &[(0, 0, 1, 1)]), task(second / 2, &[(3, 0, 1, 1)])];
    assert_eq!(
        completions(machine, io, &later, Ticks::MAX),
        [3 * second / 2, 2 * second]
    );
    // Three processors against one: the link is halved all the same, and the rest is the larger
    // job's alone.
    let unequal = [task(0, &[(0, 0, 1, 1)]), task(0, &[(1, 0, 3, 1)])];
    assert_eq!(
        completions(machine, io, &unequal, Ticks::MAX),
        [2 * second, 4 * second]
    );
}

/// A message's route, as the links and the disk that it takes.
type Route = Vec<String>;

/// The routes of all messages of a phase, XY, node by node.
fn routes(io: &IoJobs, size: (i32, i32), nodes: &[(i32, i32)], phase: Option<u16>) -> Vec<Route> {
    let (w, h) = size;
    let io_nodes: Vec<(i32, i32)> = match io.nodes {
        IoSide::Left => (0..h).map(|y| (-1, y)).collect(),
        IoSide::Right => (0..h).map(|y| (w, y)).collect(),
        IoSide::Top => (0..w).map(|x| (x, h)).collect(),
        IoSide::Bottom => (0..w).map(|x| (x, -1)).collect(),
    };
    let pairs = |from: &[(i32, i32)], to: &[(i32, i32)]| -> Vec<_> {
        from.iter()
            .flat_map(|&from| to.iter().map(move |&to| (from, to)))
            .collect()
    };
    let messages = match (phase, io.direction) {
        (Some(_), _) => pairs(nodes, nodes),
        (None, Direction::Write) => pairs(nodes, &io_nodes),
        (None, Direction::Read) => pairs(&io_nodes, nodes),
    };
    let route = |((mut x, mut y), to): ((i32, i32), (i32, i32))| {
        let mut route = Route::new();
        let disk = [(x, y), to]
            .into_iter()
            .find(|node| io_nodes.contains(node));
        while (x, y) != to {
            let from = (x, y);
            if x == to.0 {
                y += (to.1 - y).signum();
            } else {
                x += (to.0 - x).signum();
            }
            route.push(format!("link {from:?} to {:?}", (x, y)));
        }
        route.extend(disk.map(|disk| format!("disk {disk:?}")));
        route
    };
    messages.into_iter().map(route).collect()
}

/// The rate of each phase: a filling by messages, each a flow with the rate of its phase, which
/// rises in proportion to the rate that the phase has alone.
fn naive_rates(io: &IoJobs, phases: &[&Vec<Route>]) -> Vec<f64> {
    let capacity = |resource: &str| {
        if resource.starts_with("disk") {
            io.bandwidths.disk
        } else {
            io.bandwidths.link
        }
    };
    let flows = |phase: &[Route]| {
        let mut flows = BTreeMap::new();
        for resource in phase.iter().flatten() {
            *flows.entry(resource.clone()).or_insert(0.0) += 1.0;
        }
        flows
    };
    let flows: Vec<BTreeMap<String, f64>> = phases.iter().map(|phase| flows(phase)).collect();
    let alone: Vec<f64> = flows
        .iter()
        .map(|flows| flows.iter().map(|(name, count)| capacity(name) / count))
        .map(|rates| rates.fold(f64::INFINITY, f64::min))
        .collect();
    let mut rates = vec![0.0; phases.len()];
    let mut frozen: Vec<bool> = flows.iter().map(BTreeMap::is_empty).collect();
    while frozen.contains(&false) {
        let mut rise = f64::INFINITY;
        let mut full = Vec::new();
        let names: std::collections::BTreeSet<_> = flows.iter().flat_map(BTreeMap::keys).collect();
        for name in names {
            let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
                (0..flows.len())
                    .map(|at| flows[at].get(name).unwrap_or(&0.0) * of(at))
                    .sum()
            };
            let open = sum(&|at| if frozen[at] { 0.0 } else { alone[at] });
            if open == 0.0 {
                continue;
            }
            let room = (capacity(name) - sum(&|at| rates[at])) / open;
            if room < rise - 1e-9 {
                full.clear();
            }
            if room < rise + 1e-9 {
                full.push(name.clone());
            }
            rise = rise.min(room);
        }
        for at in (0..rates.len()).filter(|&at| !frozen[at]) {
            rates[at] += rise * alone[at];
        }
        for (frozen, flows) in frozen.iter_mut().zip(&flows) {
            *frozen |= full.iter().any(|name| flows.contains_key(name));
        }
    }
    rates
}

/// Completion times in seconds, phase by phase, in exact time.
fn naive(io: &IoJobs, size: (u16, u16), tasks: &[Task], machine: Grid) -> Vec<f64> {
    let size = (i32::from(size.0), i32::from(size.1));
    let nodes = |task: &Task| -> Vec<(i32, i32)> {
        let all = (0..size.1).flat_map(|y| (0..size.0).map(move |x| (x, y)));
        all.filter(|&(x, y)| {
            let node = machine.node(&[x as u16, y as u16]).unwrap();
            task.blocks.iter().any(|&block| machine.holds(block, node))
        })
        .collect()
    };
    struct Present {
        nodes: Vec<(i32, i32)>,
        phases: u16,
        left: f64,
        routes: Vec<Route>,
    }
    let mut present: Vec<Option<Present>> = tasks.iter().map(|_| None).collect();
    let mut ends = vec![f64::NAN; tasks.len()];
    let (mut now, mut next) = (0.0, 0);
    loop {
        let running: Vec<usize> = (0..tasks.len())
            .filter(|&at| present[at].is_some())
            .collect();
        let of = |at: &usize| &present[*at].as_ref().unwrap().routes;
        let rates = naive_rates(io, &running.iter().map(of).collect::<Vec<_>>());
        let end = |(at, rate): (&usize, &f64)| {
            let present = present[*at].as_ref().unwrap();
            if present.routes.iter().all(Vec::is_empty) {
                0.0
            } else {
                present.left / rate
            }
        };
        let ends_in = running.iter().zip(&rates).map(end).collect::<Vec<_>>();
        let first = ends_in.iter().copied().fold(f64::INFINITY, f64::min);
        let starts_in = tasks
            .get(next)
            .map_or(f64::INFINITY, |task| TimeUnit::Second.of(task.at) - now);
        if first == f64::INFINITY && starts_in == f64::INFINITY {
            return ends;
        }
        let step = first.min(starts_in);
        now += step;
        for (&at, rate) in running.iter().zip(&rates) {
            let present = present[at].as_mut().unwrap();
            if present.routes.iter().any(|route| !route.is_empty()) {
                present.left -= rate * step;
            }
        }
        if starts_in <= first {
            let nodes = nodes(&tasks[next]);
            let phase = (io.communications > 0).then_some(0);
            present[next] = Some(Present {
                routes: routes(io, size, &nodes, phase),
                nodes,
                phases: 0,
                left: 1.0,
            });
            next += 1;
            continue;
        }
        let which = ends_in.iter().position(|&end| end == first).unwrap();
        let task = present[running[which]].as_mut().unwrap();
        task.phases += 1;
        task.left = 1.0;
        if task.phases > io.communications {
            present[running[which]] = None;
            ends[running[which]] = now;
        } else if task.phases == io.communications {
            task.routes = routes(io, size, &task.nodes, None);
        }
    }
}

/// Jobs of some processors of 5 x 4 that no other job holds, at times within some seconds.
fn drawn(rng: &mut ChaCha8Rng) -> Vec<Task> {
    let mut below = |n: u32| rng.next_u32() % n;
    let owners: Vec<u32> = (0..20).map(|_| below(5)).collect();
    let mut tasks: Vec<Task> = (0..4)
        .map(|task| {
            let nodes = (0..20).filter(|&node| owners[usize::from(node)] == task);
            let nodes: Vec<u16> = nodes.collect();
            let blocks = nodes
                .iter()
                .map(|node| Submesh::new(node % 5, node / 5, 1, 1).into());
            Task {
                at: u64::from(below(2)) * u64::from(below(6_000_000)),
                draw: below(1000),
                request: Request::submesh(nodes.len() as u16, 1),
                blocks: blocks.collect(),
            }
        })
        .filter(|task| !task.blocks.is_empty())
        .collect();
    tasks.sort_by_key(|task| task.at);
    tasks
}

const SIDES: [IoSide; 4] = [IoSide::Left, IoSide::Right, IoSide::Top, IoSide::Bottom];

#[test]
fn any_jobs_complete_as_in_a_model_of_single_messages_and_phases() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let machine = mesh(5, 4);
    for round in 0..60 {
        let tasks = drawn(&mut rng);
        let io = IoJobs {
            nodes: SIDES[round % 4],
            direction: [Direction::Write, Direction::Read][round / 4 % 2],
            bandwidths: Bandwidths {
                link: 1.0 + f64::from(rng.next_u32() % 8),
                disk: 1.0 + f64::from(rng.next_u32() % 8),
            },
            ..io([0, 1, 3][round % 3])
        };
        let found = completions(machine, io, &tasks, Ticks::MAX);
        let expected = naive(&io, (5, 4), &tasks, machine);
        for (found, expected) in found.iter().zip(expected) {
            let found = TimeUnit::Second.of(*found);
            assert!(
                (found - expected).abs() < 1e-4,
                "{found} for {expected}: {io}"
            );
        }
    }
}

#[test]
fn how_far_it_advances_at_a_time_does_not_matter() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let machine = mesh(5, 4);
    for pattern in [Communication::AllToAll, Communication::Permutation] {
        for _ in 0..20 {
            let tasks = drawn(&mut rng);
            let io = IoJobs { pattern, ..io(7) };
            let at_once = completions(machine, io, &tasks, Ticks::MAX);
            assert_eq!(completions(machine, io, &tasks, 100_000), at_once);
        }
    }
}

#[test]
fn only_meshes_have_io_nodes() {
    let error = Phases::new(Grid::torus(&[4, 4]).unwrap(), io(0)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("expected a two-dimensional mesh")
    );
}
