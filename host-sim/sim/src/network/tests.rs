use std::ops::ControlFlow;

use meshalloc::{Grid, NodeId};

use super::*;

/// Keeps deliveries; stops at those with the tag 1.
#[derive(Default)]
struct Log {
    injected: Vec<(Ticks, u32)>,
    delivered: Vec<(Ticks, u32)>,
    blocked: Vec<Ticks>,
}

impl Traffic for Log {
    fn injected(&mut self, message: &Message, requests: &mut Requests) {
        self.injected.push((requests.now(), message.source.0));
    }

    fn delivered(&mut self, delivery: &Delivery, requests: &mut Requests) -> ControlFlow<()> {
        let source = delivery.message.source.0;
        self.delivered.push((requests.now(), source));
        self.blocked.push(delivery.blocked);
        match delivery.message.tag {
            1 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn network(sides: &[u16], wraps: u16, flits: u32, routing_delay: u32) -> Network {
    let grid = Grid::new(sides, wraps).unwrap();
    let parameters = Parameters {
        flits,
        routing_delay,
    };
    Network::new(grid, parameters).unwrap()
}

fn message(source: u32, destination: u32, tag: u32) -> Message {
    Message {
        source: NodeId(source),
        destination: NodeId(destination),
        tag,
    }
}

#[test]
fn what_starts_when_a_job_ends_is_equal_to_other_requests_of_that_cycle() {
    // 0 1 2 3 in a row, 4 flits, routing delay 1. The message 1 -> 2 takes 2 * 2 + 4 = 8 cycles,
    // and so does 3 -> 2 from 8 on, if it gets eject of 2 at once. At 8 the network stops before
    // requests; 1 then sends to 2 again, together with 3, and both request eject of 2 at 8 + 1 + 1
    // + 1 + 1 = 12: the lower source is first, whatever the order of the calls.
    let mut network = network(&[4], 0, 4, 1);
    let mut log = Log::default();
    network.send(message(1, 2, 1));
    assert!(network.advance(100, &mut log).is_break());
    assert_eq!((network.now(), network.in_flight()), (8, 0));
    network.send(message(3, 2, 0));
    network.send(message(1, 2, 0));
    assert!(network.advance(100, &mut log).is_continue());
    assert_eq!(network.now(), 100);
    // Two links each: c_0, c_1, then eject granted at 12, released at 16, granted again at 16: 4
    // cycles later.
    assert_eq!(log.delivered, [(8, 1), (16, 1), (20, 3)]);
    assert_eq!(log.blocked, [0, 0, 4]);
}

#[test]
fn all_deliveries_of_a_cycle_come_before_the_stop() {
    let mut network = network(&[8], 0, 3, 0);
    network.send(message(0, 1, 1));
    network.send(message(3, 4, 0));
    network.send(message(7, 6, 1));
    let mut log = Log::default();
    assert!(network.advance(u64::MAX, &mut log).is_break());
    assert_eq!(log.delivered, [(5, 0), (5, 3), (5, 7)]);
    assert!(network.advance(5, &mut log).is_continue());
    assert_eq!(network.now(), 5);
}

#[test]
fn messages_of_one_source_leave_in_the_order_in_which_they_were_sent() {
    // To itself: c_0, then eject at 1 + 3 = 4, which the header has crossed at 5; c_0 is released
    // with the last flit at 6.
    let mut network = network(&[2], 0, 2, 3);
    network.send(message(0, 0, 0));
    network.send(message(0, 0, 0));
    let mut log = Log::default();
    assert!(network.advance(50, &mut log).is_continue());
    assert_eq!(log.injected, [(6, 0), (12, 0)]);
    assert_eq!(log.delivered, [(6, 0), (12, 0)]);
}

#[test]
fn links_count_messages() {
    // A torus of 3 x 2: from 0 to 2 down around dimension 0, from 0 to 3 up.
    let mut network = network(&[3, 2], 0b11, 8, 3);
    network.send(message(0, 2, 0));
    network.send(message(0, 3, 0));
    let mut log = Log::default();
    // The first link is granted at 4, the second when inject is released.
    assert!(network.advance(10, &mut log).is_continue());
    let used = |network: &Network| -> Vec<(Link, u64)> {
        network
            .links()
            .filter(|(_, messages)| *messages > 0)
            .collect()
    };
    let link = |dimension, up| Link {
        from: NodeId(0),
        dimension,
        up,
    };
    assert_eq!(used(&network), [(link(0, false), 1)]);
    assert!(network.advance(100, &mut log).is_continue());
    assert_eq!(used(&network), [(link(0, false), 1), (link(1, true), 1)]);
    assert_eq!(network.grants(), 2 * 3);
}

/// Each link is one from a processor to a neighbour, and there is one for each such pair, on every
/// small grid.
#[test]
fn links_are_the_ordered_pairs_of_neighbours() {
    let shapes: Vec<Vec<u16>> = (1..=5)
        .flat_map(|a| (1..=4).flat_map(move |b| (1..=3).map(move |c| vec![a, b, c])))
        .chain([vec![1], vec![2], vec![3], vec![2; 6]])
        .collect();
    for sides in shapes {
        for wraps in (0..1 << sides.len()).filter(|wraps| sides.len() < 6 || wraps % 21 == 0) {
            let grid = Grid::new(&sides, wraps).unwrap();
            let away = |from: u32, to: u32| -> u32 {
                let [from, to] = [from, to].map(|node| grid.coordinates(NodeId(node)).unwrap());
                let along = (0..grid.dimensions()).map(|d| {
                    let by = from[d].abs_diff(to[d]);
                    let around = if grid.wraps(d) { sides[d] - by } else { by };
                    u32::from(by.min(around))
                });
                along.sum()
            };
            let nodes = grid.nodes();
            let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
            let mut expected: Vec<_> = pairs.filter(|&(from, to)| away(from, to) == 1).collect();
            let network = network(&sides, wraps, 8, 3);
            let links = network.links().map(|(link, _)| {
                let mut to = grid.coordinates(link.from).unwrap();
                let d = usize::from(link.dimension);
                to[d] = (to[d] + if link.up { 1 } else { sides[d] - 1 }) % sides[d];
                (link.from.0, grid.node(&to).unwrap().0)
            });
            let mut links: Vec<_> = links.collect();
            links.sort_unstable();
            expected.sort_unstable();
            assert_eq!(links, expected, "{grid}");
        }
    }
}

#[test]
fn memory_is_that_of_the_messages_on_their_way() {
    // A hundred thousand messages one after the other, of which three at most are on their way at
    // once.
    struct Endless(u32);
    impl Traffic for Endless {
        fn injected(&mut self, message: &Message, requests: &mut Requests) {
            if self.0 > 0 {
                self.0 -= 1;
                requests.send(*message);
            }
        }
        fn delivered(&mut self, _: &Delivery, _: &mut Requests) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
    }
    let mut network = network(&[4], 0, 2, 0);
    network.send(message(0, 3, 0));
    let mut traffic = Endless(100_000);
    assert!(network.advance(u64::MAX, &mut traffic).is_continue());
    assert_eq!(network.grants(), 5 * 100_001);
    assert!(network.room() <= 3, "{}", network.room());
}

#[test]
fn parameters_out_of_range_are_errors() {
    let grid = Grid::mesh(&[4, 4]).unwrap();
    for (flits, routing_delay, part) in [
        (0, 3, "0 flits"),
        (CYCLES_MAX + 1, 3, "65537 flits"),
        (1, CYCLES_MAX + 1, "routing delay of 65537"),
    ] {
        let parameters = Parameters {
            flits,
            routing_delay,
        };
        let error = Network::new(grid, parameters).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let largest = Parameters {
        flits: CYCLES_MAX,
        routing_delay: CYCLES_MAX,
    };
    let mut network = Network::new(grid, largest).unwrap();
    network.send(message(0, 15, 0));
    let mut log = Log::default();
    assert!(network.advance(u64::MAX, &mut log).is_continue());
    assert_eq!(log.delivered, [(largest.zero_load(6), 0)]);
}

#[test]
#[should_panic(expected = "a message from 0 to 16 in a network of 16 processors")]
fn a_message_to_no_processor_is_an_error_of_the_program() {
    network(&[4, 4], 0, 8, 3).send(message(0, 16, 0));
}
