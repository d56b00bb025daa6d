//! The bare network under open-loop traffic: every processor sends messages in a Poisson process,
//! whether or not earlier ones have arrived, as network simulators do.

use std::ops::ControlFlow;

use meshalloc::{Grid, NodeId, Ticks};
use meshalloc_sim::network::{Delivery, Link, Message, Network, Parameters, Requests, Traffic};
use meshalloc_sim::statistics::Moments;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use rand_distr::{Distribution, Exp, Uniform};

/// Where a message goes.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Every other processor, each as likely.
    Random,
    /// The processor with the coordinates in reverse order; none from one that is its own.
    Transpose,
    /// Every processor at the other end of a link, each as likely.
    Neighbour,
    /// This processor; it sends nothing itself.
    To(u32),
}

impl Pattern {
    fn destination(self, grid: Grid, source: NodeId, rng: &mut ChaCha8Rng) -> Option<NodeId> {
        let place = Uniform::new(0.0, 1.0).unwrap().sample(rng);
        let at = grid.coordinates(source).unwrap();
        let to = match self {
            Pattern::Random => {
                let other = (place * f64::from(grid.nodes() - 1)) as u32;
                NodeId(other + u32::from(other >= source.0))
            }
            Pattern::Transpose => grid.node(&at.reversed()).unwrap(),
            Pattern::To(node) => NodeId(node),
            Pattern::Neighbour => {
                let all = (0..grid.nodes()).map(NodeId);
                let is_beside = |&to: &NodeId| {
                    let other = grid.coordinates(to).unwrap();
                    let apart = |dimension: usize| {
                        let (side, apart) = (
                            grid.side(dimension),
                            at[dimension].abs_diff(other[dimension]),
                        );
                        if grid.wraps(dimension) {
                            apart.min(side - apart)
                        } else {
                            apart
                        }
                    };
                    (0..grid.dimensions()).map(apart).sum::<u16>() == 1
                };
                let beside: Vec<_> = all.filter(is_beside).collect();
                beside[(place * beside.len() as f64) as usize]
            }
        };
        (to != source).then_some(to)
    }
}

/// What arrived after the warm-up.
#[derive(Default)]
struct Arrived {
    latency: Moments,
    hops: Moments,
}

impl Traffic for Arrived {
    fn injected(&mut self, _: &Message, _: &mut Requests) {}

    fn delivered(&mut self, delivery: &Delivery, _: &mut Requests) -> ControlFlow<()> {
        self.latency.add(delivery.delivered - delivery.requested);
        self.hops.add(delivery.hops.into());
        ControlFlow::Continue(())
    }
}

/// The result of a run.
#[derive(Debug, PartialEq)]
struct Measured {
    /// Mean cycles from generation to delivery, with the wait at the source.
    latency: f64,
    /// Mean links of a message.
    hops: f64,
    /// Flits a processor and cycle that were generated, and that arrived.
    offered: f64,
    accepted: f64,
    /// Flits a cycle, the mean of all links.
    links: f64,
}

/// Runs messages of 8 flits with a routing delay of 3 cycles; `rate` is that of a processor.
fn run(grid: Grid, pattern: Pattern, rate: f64, warmup: Ticks, cycles: Ticks) -> Measured {
    let parameters = Parameters {
        flits: 8,
        routing_delay: 3,
    };
    let mut network = Network::new(grid, parameters).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let nodes = grid.nodes();
    let gaps = Exp::new(rate * f64::from(nodes)).unwrap();
    let sources = Uniform::new(0, nodes).unwrap();
    let mut clock: f64 = gaps.sample(&mut rng);
    let mut part = |until: Ticks, network: &mut Network| {
        let (mut arrived, mut generated) = (Arrived::default(), 0_u64);
        while (clock as Ticks) < until {
            let _ = network.advance(clock as Ticks, &mut arrived);
            let source = NodeId(sources.sample(&mut rng));
            if let Some(destination) = pattern.destination(grid, source, &mut rng) {
                generated += 1;
                network.send(Message {
                    source,
                    destination,
                    tag: 0,
                });
            }
            clock += gaps.sample(&mut rng);
        }
        let _ = network.advance(until, &mut arrived);
        (arrived, generated)
    };
    part(warmup, &mut network);
    let before: Vec<(Link, u64)> = network.links().collect();
    let (arrived, generated) = part(warmup + cycles, &mut network);
    let each = 8.0 / (f64::from(nodes) * cycles as f64);
    let carried = network.links().zip(&before).map(|(now, old)| now.1 - old.1);
    Measured {
        latency: arrived.latency.mean().unwrap(),
        hops: arrived.hops.mean().unwrap(),
        offered: generated as f64 * each,
        accepted: arrived.latency.count() as f64 * each,
        links: carried.sum::<u64>() as f64 * 8.0 / cycles as f64 / before.len() as f64,
    }
}

fn assert_near(found: f64, expected: f64, within: f64, what: &str) {
    let is_near = (found / expected - 1.0).abs() < within;
    assert!(is_near, "{what}: {found}, not {expected}");
}

fn mesh(sides: &[u16]) -> Grid {
    Grid::mesh(sides).unwrap()
}

/// The mean latencies of an independent implementation, with one-flit buffers.
#[test]
fn latencies_are_those_of_an_independent_implementation() {
    for (sides, rate, expected, cycles) in [
        ([8, 8], 0.004, 39.8, 600_000),
        ([8, 8], 0.008, 61.0, 600_000),
        ([16, 16], 0.002, 67.6, 300_000),
    ] {
        let run = run(mesh(&sides), Pattern::Random, rate, 5000, cycles);
        assert_near(run.latency, expected, 0.03, "latency");
        assert_near(run.accepted, run.offered, 0.01, "accepted");
    }
}

#[test]
fn above_saturation_accepted_traffic_stays_and_latency_grows() {
    let of = |rate, cycles| run(mesh(&[16, 16]), Pattern::Random, rate, 5000, cycles);
    for rate in [0.005, 0.01] {
        let (run, longer) = (of(rate, 20_000), of(rate, 40_000));
        assert!((run.accepted - 0.034).abs() < 0.0015, "{run:?}");
        assert!(run.offered > 1.1 * run.accepted, "{run:?}");
        assert!(longer.latency > 1.3 * run.latency, "{run:?} {longer:?}");
    }
}

/// Mean distances by closed forms.
#[test]
fn patterns_have_their_mean_distances() {
    let line = 2.0 * (64.0 - 1.0) / 24.0;
    for (pattern, grid, hops) in [
        (Pattern::Random, mesh(&[8, 8]), line * 64.0 / 63.0),
        (Pattern::Transpose, mesh(&[8, 8]), line * 8.0 / 7.0),
        (Pattern::Neighbour, Grid::torus(&[4, 3, 5]).unwrap(), 1.0),
        // 3.5 links in each dimension to the corner, without the corner itself.
        (Pattern::To(0), mesh(&[8, 8]), 7.0 * 64.0 / 63.0),
    ] {
        let run = run(grid, pattern, 0.001, 0, 200_000);
        assert_near(run.hops, hops, 0.03, &format!("{pattern:?}"));
    }
}

/// A 2-ary 6-cube is a hypercube with 6 links out of a processor, and so is the mesh: two
/// processors along a dimension have the same links whether it wraps or not. The mean use of a link
/// is what is accepted, times the links of a message, over 6.
#[test]
fn two_processors_along_a_dimension_have_the_same_links_whether_it_wraps_or_not() {
    let torus = |sides: &[u16]| Grid::torus(sides).unwrap();
    for (wraps, plain, links) in [
        (torus(&[2; 6]), mesh(&[2; 6]), 6.0),
        (torus(&[2, 2, 1]), mesh(&[2, 2, 1]), 2.0),
    ] {
        for pattern in [Pattern::Random, Pattern::Neighbour] {
            let [one, other] = [wraps, plain].map(|grid| run(grid, pattern, 0.005, 5000, 100_000));
            assert_eq!(one, other, "{pattern:?}");
            assert_near(one.links, one.accepted * one.hops / links, 0.01, "links");
        }
    }
}
