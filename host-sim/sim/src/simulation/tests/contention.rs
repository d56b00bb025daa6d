//! Jobs that end when their messages are delivered.

use std::collections::BTreeMap;

use meshalloc::{Block, NodeId, Shape};

use super::super::placement::place;
use super::*;
use crate::network::Parameters;
use crate::workload::{Messages, Pattern, Patterns, Program, TimeUnit};

/// The result of jobs that send messages and arrive at these cycles, on a mesh of 16 x 16.
fn sending(
    strategy: StrategyKind,
    messages: Messages,
    jobs: impl IntoIterator<Item = (u64, Request)>,
) -> RunResult {
    let machine = mesh(16, 16);
    let jobs: Vec<Job> = (0..)
        .zip(jobs)
        .map(|(number, (arrival, request))| Job {
            arrival,
            request,
            work: Work::Messages(messages.program(number, 0)),
        })
        .collect();
    let measured = all(jobs.len());
    with_backend(machine, strategy, PLENTY, |backend| {
        let mut execution = Contention::new(machine, messages).unwrap();
        run_with(
            &mut execution,
            measured.into(),
            backend,
            machine,
            jobs,
            &mut (),
        )
        .unwrap()
    })
}

/// The cycles that one job takes on an empty mesh, its root being process 0.
fn alone(messages: Messages, w: u16, h: u16) -> f64 {
    let result = sending(
        StrategyKind::FirstFit,
        messages,
        [(5, Request::submesh(w, h))],
    );
    result.values[Metric::ServiceTime].unwrap()
}

#[test]
fn service_times_on_an_empty_mesh() {
    use Pattern::*;
    // From a model of the network that moves every flit, written apart from this one.
    for (pattern, expected) in [
        (OneToAll, &[16, 57, 330, 603, 1883, 8283][..]),
        (AllToAll, &[16, 68, 477, 1437, 5906]),
        (NearestNeighbor, &[16, 31, 69, 69, 69]),
    ] {
        let sides = [(2, 1), (4, 1), (4, 4), (8, 3), (8, 8), (16, 16)];
        for (&cycles, (w, h)) in expected.iter().zip(sides) {
            let found = alone(Messages::new(pattern), w, h);
            assert_eq!(found, f64::from(cycles), "{pattern} {w} x {h}");
        }
    }
}

#[test]
fn what_is_sent_again_takes_so_much_longer() {
    // One message at distance 1 takes 16 cycles and leaves its injection channel after 15.
    let ring = Messages::new(Pattern::AllToOne);
    let times = |per_pair, iterations, blocking| {
        let messages = Messages {
            per_pair,
            iterations,
            blocking,
            ..ring
        };
        alone(messages, 2, 1)
    };
    assert_eq!(times(1, 1, false), 16.0);
    assert_eq!(times(5, 1, false), 4.0 * 15.0 + 16.0);
    assert_eq!(times(1, 5, false), 4.0 * 15.0 + 16.0);
    assert_eq!(times(5, 3, true), 15.0 * 16.0);
    // L = 1, t_s = 0: (D + 1) + 1.
    let network = Parameters {
        flits: 1,
        routing_delay: 0,
    };
    assert_eq!(alone(Messages { network, ..ring }, 2, 1), 3.0);
}

#[test]
fn a_job_without_messages_leaves_at_once() {
    for pattern in Pattern::ALL {
        assert_eq!(alone(Messages::new(pattern), 1, 1), 0.0, "{pattern}");
    }
}

#[test]
fn messages_are_counted_and_their_times_add_up() {
    // Requests that leave holes, so that messages of naive's jobs meet, and those of first fit's do
    // not.
    let patterns: Patterns = Pattern::ALL[..]
        .iter()
        .map(|p| p.name())
        .collect::<Vec<_>>()
        .join("+")
        .parse()
        .unwrap();
    let requests = || {
        (0..120_u16).map(|i| {
            (
                u64::from(i) * 40,
                Request::submesh(1 + i * 7 % 9, 1 + i * 5 % 8),
            )
        })
    };
    for strategy in [StrategyKind::FirstFit, StrategyKind::Naive] {
        let result = sending(strategy, Messages::new(patterns), requests());
        let value = |metric: Metric| result.values[metric].unwrap();
        let zero_load = 4.0 * (value(Metric::Hops) + 1.0) + 8.0;
        // Nothing waits for its own injection channel.
        let latency = zero_load + value(Metric::BlockedTime);
        assert!((value(Metric::MessageLatency) - latency).abs() < 1e-9);
        assert!(value(Metric::BlockedTime) > 0.0);
        assert_eq!(value(Metric::Jobs), 120.0);
    }
    let ring = |strategy| {
        let result = sending(strategy, Messages::new(Pattern::OneToAll), requests());
        result.values[Metric::BlockedTime].unwrap()
    };
    // One process sends at a time, and routes stay within the submesh.
    assert_eq!(ring(StrategyKind::FirstFit), 0.0);
    assert!(ring(StrategyKind::Naive) > 0.0);
}

#[test]
fn jobs_that_do_not_meet_do_not_slow_each_other() {
    // The service time of a rectangle is that on an empty mesh, whatever runs beside it: XY routes
    // stay within.
    let messages = Messages::new(Pattern::AllToAll);
    let crowd = || (0..200_u16).map(|i| (0, Request::submesh(1 + i % 4, 1 + i % 3)));
    let mut by_sides = BTreeMap::new();
    let expected: f64 = crowd()
        .map(|(_, request)| {
            let sides = (request.sides().w, request.sides().h);
            *by_sides
                .entry(sides)
                .or_insert_with(|| alone(messages, sides.0, sides.1))
        })
        .sum();
    let result = sending(StrategyKind::FirstFit, messages, crowd());
    let mean = result.values[Metric::ServiceTime].unwrap();
    assert!((mean - expected / 200.0).abs() < 1e-9, "{mean}");
}

#[test]
fn equal_cycles_complete_in_the_order_of_starts() {
    // Three jobs of two processors start at 0 and end at 16; job 3 gets the place of the first that
    // left.
    let machine = mesh(6, 1);
    let messages = Messages::new(Pattern::Ring);
    let jobs = [0, 0, 0, 3].map(|arrival| Job {
        arrival,
        request: Request::submesh(2, 1),
        work: Work::Messages(messages.program(0, 0)),
    });
    with_backend(machine, StrategyKind::FirstFit, 8, |backend| {
        let mut spy = Spy::default();
        let mut execution = Contention::new(machine, messages).unwrap();
        run_with(
            &mut execution,
            all(4).into(),
            &mut spy.around(backend),
            machine,
            jobs,
            &mut (),
        )
        .unwrap();
        let notes: Vec<_> = spy
            .notes
            .iter()
            .map(|note| note.replacen("0.0000", "", 1))
            .collect();
        let released: Vec<_> = notes
            .iter()
            .filter(|note| note.contains("release"))
            .collect();
        assert_eq!(released.len(), 4);
        for (number, note) in released.iter().enumerate() {
            assert!(note.contains(&format!("release {number}")), "{notes:?}");
        }
        assert!(
            released[0].contains("grant 3 (<0, 0>, <1, 0>)"),
            "{notes:?}"
        );
    });
}

/// The processors of a job by process, from the definition: sorted, or along the block.
fn placed(machine: &Grid, shape: &[u16], start: &[u16], extent: &[u16]) -> Vec<u32> {
    let request = Request::new(Shape::new(shape).unwrap());
    let block = machine.block(start, extent).unwrap();
    let mut places = Vec::new();
    place(machine, &request, &[block], &mut places);
    places.iter().map(|node| node.0).collect()
}

#[test]
fn processes_follow_the_submesh_as_it_lies() {
    let plane = mesh(8, 8);
    assert_eq!(
        placed(&plane, &[3, 2], &[1, 4], &[3, 2]),
        [33, 34, 35, 41, 42, 43]
    );
    // Turned: (0, 0), (1, 0), (2, 0) go upwards.
    assert_eq!(
        placed(&plane, &[3, 2], &[1, 4], &[2, 3]),
        [33, 41, 49, 34, 42, 50]
    );
    // Folded: in the order of processors.
    assert_eq!(
        placed(&plane, &[6, 1], &[1, 4], &[2, 3]),
        [33, 34, 41, 42, 49, 50]
    );
    // Fewer processes than processors.
    let block = plane.block(&[1, 4], &[2, 3]).unwrap();
    let mut places = vec![NodeId(9)];
    place(
        &plane,
        &Request::submesh(3, 2).with_processors(5),
        &[block],
        &mut places,
    );
    assert_eq!(places, [33, 41, 49, 34, 42].map(NodeId));
    // Around the end of a ring.
    let ring = Grid::torus(&[8, 8]).unwrap();
    assert_eq!(placed(&ring, &[3, 1], &[7, 0], &[3, 1]), [7, 0, 1]);
    // Three dimensions, 2 x 3 x 4 laid as 4 x 2 x 3: process (x, y, z) at (z, x, y).
    let cuboid = Grid::mesh(&[4, 4, 4]).unwrap();
    let found = placed(&cuboid, &[2, 3, 4], &[0, 1, 1], &[4, 2, 3]);
    for (process, node) in (0..).zip(found) {
        let (x, y, z) = (process % 2, process / 2 % 3, process / 6);
        assert_eq!(node, z + 4 * (1 + x) + 16 * (1 + y), "{process}");
    }
}

#[test]
fn processes_of_several_blocks_go_in_the_order_of_processors() {
    let plane = mesh(8, 8);
    let at = |x, y, w, h| Block::from(Submesh::new(x, y, w, h));
    let mut places = Vec::new();
    let request = Request::submesh(3, 3).with_processors(8);
    let blocks = [at(4, 1, 2, 2), at(0, 2, 3, 1), at(0, 0, 1, 1)];
    place(&plane, &request, &blocks, &mut places);
    assert_eq!(places, [0, 12, 13, 16, 17, 18, 20, 21].map(NodeId));
}

#[test]
fn a_job_is_its_program() {
    let messages = Messages {
        iterations: 7,
        ..Messages::new("ring+fft".parse::<Patterns>().unwrap())
    };
    let expected = Program {
        pattern: Pattern::Fft,
        draw: 9,
        iterations: 7,
    };
    assert_eq!(messages.program(3, 9), expected);
    assert_eq!(Work::Messages(expected).service(), None);
    assert_eq!(TimeUnit::Cycle.of(9), 9.0);
}
