//! The network of the simulator against a model that moves every flit in every cycle.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use meshalloc::{Grid, NodeId};
use meshalloc_sim::network::{Delivery, Message, Network, Parameters, Requests, Traffic};
use meshalloc_tests::random::Random;
use meshalloc_tests::wormhole::{Deadlock, Sender, Wormhole};

fn network(model: &Wormhole) -> Network {
    let sides: Vec<u16> = model.sides.iter().map(|side| side.0 as u16).collect();
    let wraps = model.sides.iter().zip(0..);
    let wraps = wraps.map(|(&(_, wraps), at)| u16::from(wraps) << at).sum();
    let parameters = Parameters {
        flits: model.flits as u32,
        routing_delay: model.routing_delay as u32,
    };
    Network::new(Grid::new(&sides, wraps).unwrap(), parameters).unwrap()
}

/// Senders as the traffic of a network. A message is sent in the call that makes it possible, or at
/// its own time.
struct Senders<'s> {
    senders: &'s [Sender],
    next: Vec<usize>,
    may_send: Vec<bool>,
    delivered: Vec<Vec<u64>>,
    left: usize,
    deliveries: Vec<Delivery>,
}

impl<'s> Senders<'s> {
    fn new(senders: &'s [Sender]) -> Self {
        let count = senders.len();
        Senders {
            senders,
            next: vec![0; count],
            may_send: vec![true; count],
            delivered: vec![Vec::new(); count],
            left: senders.iter().map(|sender| sender.messages.len()).sum(),
            deliveries: Vec::new(),
        }
    }

    /// The next message of a sender, if it may be sent now.
    fn take(&mut self, sender: usize, now: u64) -> Option<Message> {
        let of = &self.senders[sender];
        let &(at, destination) = of.messages.get(self.next[sender])?;
        if !self.may_send[sender] || at > now {
            return None;
        }
        self.next[sender] += 1;
        self.may_send[sender] = false;
        Some(Message {
            source: NodeId(of.node),
            destination: NodeId(destination),
            tag: sender as u32,
        })
    }

    /// Runs until all messages are delivered, and stops at each time from which on a message may be
    /// sent.
    fn run(mut self, network: &mut Network) -> Self {
        let messages = self.senders.iter().flat_map(|sender| &sender.messages);
        let times: BTreeSet<u64> = messages.map(|&(at, _)| at).collect();
        for at in times.into_iter().chain([u64::MAX]) {
            let _ = network.advance(at, &mut self);
            for sender in 0..self.senders.len() {
                if let Some(message) = self.take(sender, network.now()) {
                    network.send(message);
                }
            }
        }
        assert_eq!((self.left, network.in_flight()), (0, 0));
        self
    }
}

impl Traffic for Senders<'_> {
    fn injected(&mut self, message: &Message, requests: &mut Requests) {
        let sender = message.tag as usize;
        self.may_send[sender] = !self.senders[sender].blocking;
        if let Some(message) = self.take(sender, requests.now()) {
            requests.send(message);
        }
    }

    fn delivered(&mut self, delivery: &Delivery, requests: &mut Requests) -> ControlFlow<()> {
        let sender = delivery.message.tag as usize;
        assert_eq!(delivery.delivered, requests.now());
        self.delivered[sender].push(delivery.delivered);
        self.deliveries.push(*delivery);
        self.left -= 1;
        if self.senders[sender].blocking {
            self.may_send[sender] = true;
            if let Some(message) = self.take(sender, requests.now()) {
                requests.send(message);
            }
        }
        ControlFlow::Continue(())
    }
}

const SHAPES: [&[(u32, bool)]; 14] = [
    &[(9, false)],
    &[(8, true)],
    &[(5, true)],
    &[(4, false), (4, false)],
    &[(8, false), (8, false)],
    &[(16, false), (3, false)],
    &[(4, true), (4, true)],
    &[(5, true), (6, true)],
    &[(7, false), (4, true)],
    &[(2, true), (1, true), (3, false)],
    &[(3, false), (4, false), (3, false)],
    &[(4, true), (3, true), (4, true)],
    &[(2, true), (2, true), (2, true), (2, true)],
    &[(8, true), (8, true)],
];

/// A random network and its senders.
fn draw(seed: u64) -> (Wormhole, Vec<Sender>) {
    let mut random = Random::new(seed);
    let model = Wormhole {
        sides: SHAPES[seed as usize % SHAPES.len()].to_vec(),
        flits: random.between(1, 20) as usize,
        routing_delay: random.between(0, 5).into(),
        dateline: true,
    };
    let nodes: u32 = model.sides.iter().map(|side| side.0).product();
    // From a message at a time to more than the network takes.
    let gap_max = [0, 20, 100, 1000][random.below(4) as usize];
    let hot_percent = [0, 0, 20, 60][random.below(4) as usize];
    let hot = random.below(nodes);
    let blocking_percent = random.below(3) * 50;
    let active_percent = random.between(20, 100);
    let count = 1100 * 100 / active_percent / nodes.min(110);
    let senders = (0..nodes).filter_map(|node| {
        if !random.percent(active_percent) {
            return None;
        }
        let blocking = random.percent(blocking_percent);
        let mut at = 0;
        let messages = (0..count).map(|_| {
            at += u64::from(random.between(0, gap_max));
            let destination = if random.percent(hot_percent) {
                hot
            } else {
                random.below(nodes)
            };
            (at, destination)
        });
        Some(Sender {
            node,
            blocking,
            messages: messages.collect(),
        })
    });
    let senders = senders.collect();
    (model, senders)
}

#[test]
fn every_message_arrives_when_its_last_flit_does() {
    let mut messages = 0;
    for seed in 0..140 {
        let (model, senders) = draw(seed);
        let expected = model.run(&senders).expect("no deadlock");
        let found = Senders::new(&senders).run(&mut network(&model));
        assert_eq!(found.delivered, expected, "seed {seed}: {model:?}");
        messages += found.deliveries.len();
    }
    assert!(messages >= 100_000, "{messages} messages");
}

#[test]
fn a_message_alone_takes_the_time_of_the_formula() {
    for (flits, routing_delay) in [(1, 0_u64), (1, 3), (2, 1), (8, 0), (8, 3), (20, 5), (16, 3)] {
        let model = Wormhole {
            sides: vec![(8, false), (8, false)],
            flits,
            routing_delay,
            dateline: true,
        };
        let mut network = network(&model);
        for (from, to) in (0..64_u32).flat_map(|from| (0..64_u32).map(move |to| (from, to))) {
            let hops = (from % 8).abs_diff(to % 8) + (from / 8).abs_diff(to / 8);
            let expected = u64::from(hops + 1) * (routing_delay + 1) + flits as u64;
            let sender = Sender {
                node: from,
                blocking: false,
                messages: vec![(0, to)],
            };
            let delivered = model.run(std::slice::from_ref(&sender));
            assert_eq!(delivered, Ok(vec![vec![expected]]), "{from} to {to}");
            let at = network.now();
            network.send(Message {
                source: NodeId(from),
                destination: NodeId(to),
                tag: 7,
            });
            let mut one = One(None);
            assert!(network.advance(u64::MAX, &mut one).is_break());
            let delivery = one.0.expect("it has stopped at a delivery");
            assert_eq!(
                delivery,
                Delivery {
                    message: delivery.message,
                    requested: at,
                    injected: at,
                    delivered: at + expected,
                    hops,
                    blocked: 0,
                }
            );
            assert_eq!(delivery.message.tag, 7);
            assert_eq!(network.parameters().zero_load(hops), expected);
        }
    }
}

/// Stops at the first delivery.
struct One(Option<Delivery>);

impl Traffic for One {
    fn injected(&mut self, _: &Message, _: &mut Requests) {}

    fn delivered(&mut self, delivery: &Delivery, _: &mut Requests) -> ControlFlow<()> {
        self.0 = Some(*delivery);
        ControlFlow::Break(())
    }
}

/// Processor `place` of a part of `a` x `b` at the corner of a 16 x 16 mesh.
fn member(a: u32, place: u32) -> u32 {
    place / a * 16 + place % a
}

/// The senders of a part, with their messages in order.
fn pattern(name: &str, a: u32, b: u32) -> Vec<Sender> {
    let n = a * b;
    let to = |place: u32| -> Vec<u32> {
        let (x, y) = (place % a, place / a);
        match name {
            "one-to-all" if place > 0 => Vec::new(),
            "one-to-all" | "all-to-all" => (1..n).map(|step| (place + step) % n).collect(),
            "near-neighbour" => [
                (x + 1 < a).then_some(place + 1),
                (x > 0).then(|| place - 1),
                (y + 1 < b).then_some(place + a),
                (y > 0).then(|| place - a),
            ]
            .into_iter()
            .flatten()
            .collect(),
            _ => unreachable!("{name}"),
        }
    };
    let senders = (0..n).map(|place| Sender {
        node: member(a, place),
        blocking: false,
        messages: to(place).into_iter().map(|to| (0, member(a, to))).collect(),
    });
    senders.collect()
}

/// The values of the model's specification, computed by an independent implementation.
#[test]
fn patterns_on_an_empty_mesh_take_the_specified_times() {
    let model = Wormhole {
        sides: vec![(16, false), (16, false)],
        flits: 8,
        routing_delay: 3,
        dateline: true,
    };
    for (name, a, b, expected) in [
        ("one-to-all", 2, 1, 16),
        ("one-to-all", 4, 1, 57),
        ("one-to-all", 4, 4, 330),
        ("one-to-all", 8, 3, 603),
        ("one-to-all", 8, 8, 1883),
        ("one-to-all", 16, 16, 8283),
        ("all-to-all", 2, 1, 16),
        ("all-to-all", 4, 1, 68),
        ("all-to-all", 4, 4, 477),
        ("all-to-all", 8, 3, 1437),
        ("all-to-all", 8, 8, 5906),
        ("near-neighbour", 2, 1, 16),
        ("near-neighbour", 4, 1, 31),
        ("near-neighbour", 4, 4, 69),
        ("near-neighbour", 8, 3, 69),
        ("near-neighbour", 8, 8, 69),
    ] {
        let senders = pattern(name, a, b);
        let delivered = model.run(&senders).expect("no deadlock");
        let found = Senders::new(&senders).run(&mut network(&model));
        assert_eq!(found.delivered, delivered, "{name} on {a} x {b}");
        let last = delivered.iter().flatten().max();
        assert_eq!(last, Some(&expected), "{name} on {a} x {b}");
    }
}

/// On rings of 5 processors each sends to the second next upwards, all at once.
#[test]
fn without_a_dateline_rings_deadlock() {
    for sides in [
        vec![(5, true)],
        vec![(3, false), (5, true)],
        vec![(7, true), (5, true)],
    ] {
        let nodes: u32 = sides.iter().map(|side| side.0).product();
        let stride = nodes / 5;
        let senders: Vec<Sender> = (0..nodes)
            .map(|node| Sender {
                node,
                blocking: false,
                messages: vec![(0, (node + 2 * stride) % nodes); 3],
            })
            .collect();
        let mut model = Wormhole {
            sides,
            flits: 8,
            routing_delay: 3,
            dateline: false,
        };
        let stood = model.run(&senders);
        // Every processor's first message has crossed one link and waits for the next.
        assert!(
            matches!(stood, Err(Deadlock { messages, .. }) if messages == nodes as usize),
            "{stood:?}"
        );
        model.dateline = true;
        let delivered = model.run(&senders).expect("no deadlock");
        let found = Senders::new(&senders).run(&mut network(&model));
        assert_eq!(found.delivered, delivered);
    }
}
