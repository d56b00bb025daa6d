//! A wormhole network from the definition, flit by flit and cycle by cycle: the place of each flit,
//! the holder of each channel, and the waiting messages. Every message keeps its whole route, and
//! every cycle visits every message.

use std::collections::HashSet;

/// A network.
#[derive(Clone, Debug)]
pub struct Wormhole {
    /// The side of each dimension, and whether it wraps.
    pub sides: Vec<(u32, bool)>,
    /// Flits of a message.
    pub flits: usize,
    /// The cycles that a header stays before each request but the first.
    pub routing_delay: u64,
    /// Whether messages change to the second virtual channel where a dimension wraps; otherwise
    /// there is one only.
    pub dateline: bool,
}

/// A processor that sends messages, one after the other.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Its number; each processor is one sender at most.
    pub node: u32,
    /// Whether a message is sent after the delivery of the one before, or as soon as that has left.
    pub blocking: bool,
    /// The destinations, each with the first time at which the message may be sent.
    pub messages: Vec<(u64, u32)>,
}

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Channel {
    Inject(u32),
    Link {
        from: u32,
        dimension: usize,
        up: bool,
        lane: u8,
    },
    Eject(u32),
}

/// A message that has been sent.
struct Worm {
    /// The place of its sender.
    sender: usize,
    route: Vec<Channel>,
    /// The granted channels of the route, and the number of these that are released.
    granted: usize,
    released: usize,
    /// When it requests the next channel, or did so; `None` while its header is on its way to the
    /// end of the latest one.
    requested: Option<u64>,
    /// For each flit how many channels it has crossed.
    crossed: Vec<usize>,
}

/// The time at which nothing moves any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Since when.
    pub at: u64,
    /// The number of blocked messages.
    pub messages: usize,
}

impl Wormhole {
    /// The time at which each message of each sender is delivered.
    ///
    /// # Errors
    ///
    /// When nothing moves any more.
    pub fn run(&self, senders: &[Sender]) -> Result<Vec<Vec<u64>>, Deadlock> {
        let mut delivered: Vec<Vec<u64>> = senders.iter().map(|_| Vec::new()).collect();
        let mut next = vec![0; senders.len()];
        let mut may_send = vec![true; senders.len()];
        let mut held: HashSet<Channel> = HashSet::new();
        let mut worms: Vec<Worm> = Vec::new();
        let mut now = 0;
        loop {
            // Channels that all flits have left are released; messages whose flits have arrived are
            // delivered.
            for worm in &mut worms {
                let last = worm.crossed[self.flits - 1];
                let is_done = last == worm.route.len();
                while worm.released + 2 <= last || is_done && worm.released < worm.granted {
                    held.remove(&worm.route[worm.released]);
                    worm.released += 1;
                    if worm.released == 1 && !senders[worm.sender].blocking {
                        may_send[worm.sender] = true;
                    }
                }
                if is_done {
                    delivered[worm.sender].push(now);
                    may_send[worm.sender] |= senders[worm.sender].blocking;
                }
            }
            worms.retain(|worm| worm.crossed[self.flits - 1] < worm.route.len());
            // Messages are sent.
            for (sender, Sender { node, messages, .. }) in senders.iter().enumerate() {
                let number = next[sender];
                if let Some(&(at, destination)) = messages.get(number)
                    && may_send[sender]
                    && at <= now
                {
                    (next[sender], may_send[sender]) = (number + 1, false);
                    worms.push(Worm {
                        sender,
                        route: self.route(*node, destination),
                        granted: 0,
                        released: 0,
                        requested: Some(now),
                        crossed: vec![0; self.flits],
                    });
                }
            }
            // Channels are granted by request time, then by source.
            let mut requests: Vec<(u64, u32, usize)> = Vec::new();
            for (place, worm) in worms.iter().enumerate() {
                if let Some(at) = worm.requested.filter(|&at| at <= now) {
                    requests.push((at, senders[worm.sender].node, place));
                }
            }
            requests.sort_unstable();
            for (_, _, place) in requests {
                let worm = &mut worms[place];
                let channel = worm.route[worm.granted];
                if held.insert(channel) {
                    worm.granted += 1;
                    worm.requested = None;
                }
            }
            // Every flit moves that may. Flits are looked at from the first on, so one sees where
            // the one before is now.
            let mut moved = false;
            for worm in &mut worms {
                for flit in 0..self.flits {
                    let to = worm.crossed[flit];
                    if to == worm.route.len() {
                        continue;
                    }
                    let is_empty = match flit.checked_sub(1).map(|before| worm.crossed[before]) {
                        None => true,
                        Some(before) => before > to + 1 || before == worm.route.len(),
                    };
                    if to < worm.granted && is_empty {
                        worm.crossed[flit] += 1;
                        moved = true;
                        if flit == 0 && worm.crossed[0] < worm.route.len() {
                            worm.requested = Some(now + 1 + self.routing_delay);
                        }
                    } else if to == 0 {
                        // Neither do those behind it leave the source.
                        break;
                    }
                }
            }
            let later = worms.iter().filter_map(|worm| worm.requested);
            let later = later.filter(|&at| at > now).min();
            let sends = senders.iter().enumerate().filter_map(|(sender, of)| {
                let &(at, _) = of.messages.get(next[sender])?;
                (may_send[sender] && at > now).then_some(at)
            });
            let wake = later.into_iter().chain(sends).min();
            now = match (moved, wake) {
                (true, _) => now + 1,
                (false, Some(at)) => at,
                (false, None) if worms.is_empty() => return Ok(delivered),
                (false, None) => {
                    return Err(Deadlock {
                        at: now,
                        messages: worms.len(),
                    });
                }
            };
        }
    }

    /// The channels from one processor to another.
    fn route(&self, from: u32, to: u32) -> Vec<Channel> {
        let mut route = vec![Channel::Inject(from)];
        let (mut node, mut stride) = (from, 1);
        for (dimension, &(side, wraps)) in self.sides.iter().enumerate() {
            let coordinate = |node: u32| node / stride % side;
            let target = coordinate(to);
            let mut up = target > coordinate(node);
            if wraps {
                // The shorter way, upwards if both are equal.
                let upwards = (target + side - coordinate(node)) % side;
                up = upwards <= side - upwards;
            }
            let mut lane = 0;
            while coordinate(node) != target {
                let at = coordinate(node);
                let then = if up {
                    (at + 1) % side
                } else {
                    (at + side - 1) % side
                };
                if self.dateline && at.abs_diff(then) != 1 {
                    lane = 1;
                }
                route.push(Channel::Link {
                    from: node,
                    dimension,
                    up,
                    lane,
                });
                node = node + then * stride - at * stride;
            }
            stride *= side;
        }
        route.push(Channel::Eject(to));
        route
    }
}
