//! One run of open-loop traffic: [`OpenLoop`].
//!
//! Messages are generated at every processor in a Poisson process, in continuous time, whatever becomes of those before; the processes of
//! all processors together are one of their number times the rate, with a random processor for each message. A message is sent in the
//! cycle in which it is generated. One that is generated while its source still sends another waits there; this wait
//! is a part of its latency.
//!
//! Latency, hops and blocked time are those of the messages that arrive after the warm-up.
//!
//! # Memory
//!
//! Above saturation messages wait at their sources without end. A message that is generated while as many wait at its source as
//! `waiting_max` says is counted, but never sent: the source has others to send for the rest of the run.

use std::ops::ControlFlow;

use meshalloc::{Grid, NodeId, Ticks};
use rand_distr::{Distribution, Exp, Uniform};

use super::pattern::Pattern;
use crate::network::{Delivery, Link, Message, Network, Parameters, Requests, Traffic};
use crate::statistics::{Moments, Trend};
use crate::workload::stream::Stream;

/// How often the backlog is looked at in a run.
const LOOKS: u64 = 128;

/// The most messages that wait at a processor of a machine of so many.
const fn waiting_max(nodes: u32) -> u32 {
    /// Of all processors together, unless they are many.
    const ALL: u32 = 1 << 20;
    let each = ALL / nodes;
    if each < 16 { 16 } else { each }
}

/// What is to be run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenLoop {
    /// The machine.
    pub grid: Grid,
    /// Flits and delays.
    pub parameters: Parameters,
    /// Where messages go.
    pub pattern: Pattern,
    /// Messages that a processor generates in a cycle, on average: over 0, at most 1.
    pub rate: f64,
    /// Cycles before those that are measured.
    pub warm_up: Ticks,
    /// Cycles that are measured, at least 1.
    pub cycles: Ticks,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The mean time of a message in cycles, from its generation to its delivery; `None` if none arrived.
    pub latency: Option<f64>,
    /// The mean number of links of a message.
    pub hops: Option<f64>,
    /// The mean time in cycles for which a message stood still in the network.
    pub blocked: Option<f64>,
    /// Flits a processor and cycle of messages that were generated.
    pub offered: f64,
    /// Flits a processor and cycle of messages that arrived.
    pub accepted: f64,
    /// Messages that arrived.
    pub messages: u64,
    /// Whether the backlog grew: the line through the numbers of messages on their way rises over the run by more than their mean,
    /// and fewer messages arrived than were generated, by more than three standard deviations of the latter.
    pub saturated: bool,
    /// For each link the flits that it carried in a cycle, in grid order: messages that were granted it times their flits.
    pub links: Vec<(Link, f64)>,
}

impl Measured {
    /// The mean over all links of the flits that they carried in a cycle.
    pub fn link_utilization(&self) -> Option<f64> {
        let flits: f64 = self.links.iter().map(|link| link.1).sum();
        (!self.links.is_empty()).then(|| flits / self.links.len() as f64)
    }

    /// The flits that the most used link carried in a cycle.
    pub fn link_utilization_max(&self) -> Option<f64> {
        self.links.iter().map(|link| link.1).max_by(f64::total_cmp)
    }
}

/// Adds up what arrives.
#[derive(Default)]
struct Observer {
    /// For each processor the messages that have not left it yet.
    waiting: Vec<u32>,
    latency: Moments,
    hops: Moments,
    blocked: Moments,
}

impl Traffic for Observer {
    fn injected(&mut self, message: &Message, _: &mut Requests) {
        self.waiting[message.source.0 as usize] -= 1;
    }

    fn delivered(&mut self, delivery: &Delivery, _: &mut Requests) -> ControlFlow<()> {
        self.latency.add(delivery.delivered - delivery.requested);
        self.hops.add(delivery.hops.into());
        self.blocked.add(delivery.blocked);
        ControlFlow::Continue(())
    }
}

impl OpenLoop {
    /// Runs it; `None` if it was interrupted. Seed and replication determine the messages.
    ///
    /// # Errors
    ///
    /// When the grid has no destinations for the pattern, or a parameter or the rate is out of range.
    pub fn run(
        &self,
        seed: u64,
        replication: u32,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<Measured>, String> {
        let destinations = self.pattern.on(self.grid)?;
        let network = Network::new(self.grid, self.parameters);
        let mut network = network.map_err(|error| error.to_string())?;
        let nodes = self.grid.nodes();
        let rate = f64::from(nodes) * self.rate;
        let (gaps, sources) = (Exp::new(rate), Uniform::new(0, nodes));
        let (Ok(gaps), Ok(sources)) = (gaps, sources) else {
            return Err(format!("a rate of {} messages a cycle", self.rate));
        };
        let mut gaps = Stream::new(seed, replication, 0).with(gaps);
        let mut sources = Stream::new(seed, replication, 1).with(sources);
        let mut ends = Stream::new(seed, replication, 2).with(destinations);

        let end = self.warm_up + self.cycles;
        let waiting_max = waiting_max(nodes);
        let mut observer = Observer {
            waiting: vec![0; nodes as usize],
            ..Observer::default()
        };
        let mut backlog = Trend::default();
        // Messages that were generated; of these the ones that are never sent; what the links carried in the warm-up.
        let (mut generated, mut never_sent, mut usage) = (0_u64, 0_u64, Vec::new());
        let mut clock = gaps.distribution.sample(&mut gaps.rng);
        // Up to each of these times, then something is looked at.
        let looks = (1..=LOOKS).map(|look| (end * look / LOOKS, Some(look as u32)));
        let mut stops: Vec<(Ticks, Option<u32>)> = looks.chain([(self.warm_up, None)]).collect();
        stops.sort_unstable();
        for (until, look) in stops {
            while (clock as Ticks) < until {
                let _ = network.advance(clock as Ticks, &mut observer);
                let source = NodeId(sources.distribution.sample(&mut sources.rng));
                if let Some(destination) = ends.distribution.draw(source, &mut ends.rng) {
                    generated += 1;
                    let waiting = &mut observer.waiting[source.0 as usize];
                    if *waiting == waiting_max {
                        never_sent += 1;
                    } else {
                        *waiting += 1;
                        let tag = 0;
                        network.send(Message {
                            source,
                            destination,
                            tag,
                        });
                    }
                }
                clock += gaps.distribution.sample(&mut gaps.rng);
            }
            let _ = network.advance(until, &mut observer);
            match look {
                Some(look) => backlog.add(look, network.in_flight() as u64 + never_sent),
                None => {
                    observer = Observer {
                        waiting: observer.waiting,
                        ..Observer::default()
                    };
                    generated = 0;
                    usage = network.links().collect();
                }
            }
            if is_interrupted() {
                return Ok(None);
            }
        }
        let arrived = observer.latency.count();
        let missing = generated as f64 - arrived as f64;
        let rises = backlog.relative_rise().is_some_and(|rise| rise > 1.0);
        let flits = f64::from(self.parameters.flits);
        let per_node = flits / (f64::from(nodes) * self.cycles as f64);
        let links = network.links().zip(usage);
        Ok(Some(Measured {
            latency: observer.latency.mean(),
            hops: observer.hops.mean(),
            blocked: observer.blocked.mean(),
            offered: generated as f64 * per_node,
            accepted: arrived as f64 * per_node,
            messages: arrived,
            saturated: rises && missing > 3.0 * (generated as f64).sqrt(),
            links: links
                .map(|((link, now), (_, before))| {
                    let messages = now.since(&before).messages as f64;
                    (link, messages * flits / self.cycles as f64)
                })
                .collect(),
        }))
    }
}
