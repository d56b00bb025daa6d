//! One run of open-loop traffic: [`OpenLoop`].
//!
//! Messages are generated at every processor in a Poisson process, in continuous time, whether or
//! not earlier ones have arrived: one process with the sum of all rates, which draws a processor
//! for each message. A message is sent in the cycle in which it is generated; while its source
//! still sends another it waits there, which is a part of its latency. Latency, hops and blocked
//! time are those of the messages that arrive after the warm-up.
//!
//! # Saturation
//!
//! Above saturation the number of messages on their way grows as long as messages are generated. It
//! grows in any network until the network is filled, which takes the [zero-load
//! time](Parameters::zero_load) of the longest route. So it is examined from the end of the warm-up
//! on, but not before that time; a shorter run cannot be judged. A run is saturated when both of
//! these hold, or when messages were never sent for want of memory:
//!
//! - the least-squares line through the numbers of messages on their way, continued to the start of
//!   the run, begins below half of their mean: a number that stays level begins at its mean, one
//!   that grows evenly from 0 on begins at 0;
//! - the number grew by more than three standard deviations of the number of messages that were
//!   generated meanwhile.
//!
//! # Memory
//!
//! Above saturation messages wait at their sources without end. Once there are very many
//! (`Bound::all`), a message of a source at which some wait (`Bound::each`) is counted, but never
//! sent: the source is busy without it, and the run is saturated.

use std::ops::ControlFlow;

use meshalloc::{Grid, NodeId, Ticks};
use rand_distr::{Distribution, Exp, Uniform};

use super::pattern::Pattern;
use crate::network::{Delivery, Link, Message, Network, Parameters, Requests, Traffic};
use crate::statistics::{Moments, Trend};
use crate::workload::stream::Stream;

/// How often a run counts the backlog.
const LOOKS: u64 = 128;

/// The numbers of messages from which on a source sends no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    /// Messages on their way, of all sources together.
    all: usize,
    /// Messages that wait at one source.
    each: u32,
}

impl Bound {
    /// The bound of a machine with this number of processors.
    fn of(nodes: u32) -> Bound {
        let each = 16;
        Bound {
            all: (nodes as usize * each as usize).max(1 << 20),
            each,
        }
    }
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
    pub warmup: Ticks,
    /// Cycles that are measured, at least 1.
    pub cycles: Ticks,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The mean cycles of a message from generation to delivery; `None` if none arrived.
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
    /// Whether the number of messages on their way grew without end.
    pub saturated: bool,
    /// Whether the run ended before the network was filled: saturation is then unknown unless
    /// `saturated` is true, and only messages with short routes have arrived.
    pub too_short: bool,
    /// For each link, in grid order, the flits a cycle: messages that were granted it times flits.
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

/// What the run does next, at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    /// The warm-up ends.
    WarmedUp,
    /// The messages on their way are counted.
    Look,
    End,
}

/// The messages at one time.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Ticks,
    /// Messages on their way.
    present: u64,
    /// Messages that were generated so far.
    generated: u64,
}

/// Whether the number of messages on their way grows, from looks in the order of time.
#[derive(Clone, Debug, Default)]
struct Backlog(Vec<Look>);

impl Backlog {
    fn add(&mut self, look: Look) {
        self.0.push(look);
    }

    /// Whether it grows without end.
    fn grows(&self) -> bool {
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else {
            return false;
        };
        let mut line = Trend::default();
        for (number, look) in (0..).zip(&self.0) {
            line.add(number, look.present);
        }
        // The line has its mean in the middle of the looks: the number of intervals from the start
        // of the run to it.
        let spans = first.at.midpoint(last.at) as f64 / (last.at - first.at) as f64;
        let begins_low = line.relative_rise().is_some_and(|rise| rise * spans > 0.5);
        let grown = last.present as f64 - first.present as f64;
        let generated = (last.generated - first.generated) as f64;
        begins_low && grown > 3.0 * generated.sqrt()
    }
}

/// After this number of messages it asks again whether it is interrupted.
const DRAWN_UNASKED: u32 = 1 << 14;

impl OpenLoop {
    /// Runs it; `None` if it was interrupted. Seed and replication determine the messages.
    ///
    /// # Errors
    ///
    /// When the grid has no destinations for the pattern, or a parameter or the rate is out of
    /// range.
    pub fn run(
        &self,
        seed: u64,
        replication: u32,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<Measured>, String> {
        let bound = Bound::of(self.grid.nodes());
        self.run_within(bound, seed, replication, is_interrupted)
    }

    fn run_within(
        &self,
        bound: Bound,
        seed: u64,
        replication: u32,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<Measured>, String> {
        let destinations = self.pattern.on(self.grid)?;
        let filled = self.parameters.zero_load(destinations.hops_max());
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

        let end = self.warmup + self.cycles;
        let mut observer = Observer {
            waiting: vec![0; nodes as usize],
            ..Observer::default()
        };
        let mut backlog = Backlog::default();
        // Messages that were generated, and of these the ones that are never sent.
        let (mut generated, mut never_sent) = (0, 0_u64);
        // In the warm-up: messages that were generated, and what the links carried.
        let (mut generated_before, mut carried) = (0, Vec::new());
        let mut clock = gaps.distribution.sample(&mut gaps.rng);
        // Up to each of these times, then something is looked at.
        let judged_from = self.warmup.max(filled);
        let too_short = judged_from >= end;
        let span = end.saturating_sub(judged_from);
        let looks = (0..=LOOKS).filter(|_| !too_short);
        let looks = looks.map(|look| (judged_from + span * look / LOOKS, Stop::Look));
        let others = [(self.warmup, Stop::WarmedUp), (end, Stop::End)];
        let mut stops: Vec<(Ticks, Stop)> = looks.chain(others).collect();
        stops.sort_unstable();
        let mut drawn: u32 = 0;
        for (until, stop) in stops {
            while (clock as Ticks) < until {
                drawn = drawn.wrapping_add(1);
                if drawn.is_multiple_of(DRAWN_UNASKED) && is_interrupted() {
                    return Ok(None);
                }
                let _ = network.advance(clock as Ticks, &mut observer);
                let source = NodeId(sources.distribution.sample(&mut sources.rng));
                if let Some(destination) = ends.distribution.draw(source, &mut ends.rng) {
                    generated += 1;
                    let waiting = &mut observer.waiting[source.0 as usize];
                    if *waiting >= bound.each && network.in_flight() >= bound.all {
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
            match stop {
                Stop::WarmedUp => {
                    observer = Observer {
                        waiting: observer.waiting,
                        ..Observer::default()
                    };
                    generated_before = generated;
                    carried = network.links().collect();
                }
                Stop::Look => backlog.add(Look {
                    at: until,
                    present: network.in_flight() as u64,
                    generated,
                }),
                Stop::End => {}
            }
            if is_interrupted() {
                return Ok(None);
            }
        }
        let arrived = observer.latency.count();
        let flits = f64::from(self.parameters.flits);
        let per_node = flits / (f64::from(nodes) * self.cycles as f64);
        let links = network.links().zip(carried);
        Ok(Some(Measured {
            latency: observer.latency.mean(),
            hops: observer.hops.mean(),
            blocked: observer.blocked.mean(),
            offered: (generated - generated_before) as f64 * per_node,
            accepted: arrived as f64 * per_node,
            messages: arrived,
            saturated: never_sent > 0 || backlog.grows(),
            too_short,
            links: links
                .map(|((link, now), (_, before))| {
                    let messages = (now - before) as f64;
                    (link, messages * flits / self.cycles as f64)
                })
                .collect(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at a number of messages, from one time to another.
    fn grows(from: Ticks, to: Ticks, present: impl Fn(Ticks) -> u64) -> bool {
        let mut backlog = Backlog::default();
        for look in 0..=LOOKS {
            let at = from + (to - from) * look / LOOKS;
            backlog.add(Look {
                at,
                present: present(at),
                generated: at,
            });
        }
        backlog.grows()
    }

    #[test]
    fn a_number_that_grows_from_the_start_on_grows_after_any_warmup() {
        for from in [0, 10_000, 100_000, 1_000_000] {
            let to = from + 100_000;
            assert!(grows(from, to, |at| at / 10), "{from}");
            assert!(!grows(from, to, |_| 10_000), "{from}");
            // By no more than chance.
            assert!(!grows(from, to, |at| at / 1000), "{from}");
        }
        assert!(!grows(0, 100_000, |at| 10_000 + at / 10));
        assert!(!Backlog::default().grows());
    }

    fn traffic(rate: f64) -> OpenLoop {
        OpenLoop {
            grid: Grid::torus(&[8, 8]).unwrap(),
            parameters: Parameters {
                flits: 8,
                routing_delay: 0,
            },
            pattern: Pattern::NearestNeighbor,
            rate,
            warmup: 2000,
            cycles: 5000,
        }
    }

    #[test]
    fn below_saturation_no_message_is_left_out_for_want_of_room() {
        let traffic = traffic(0.07);
        let within = |all, each| {
            let run = traffic.run_within(Bound { all, each }, 1, 0, &|| false);
            run.unwrap().unwrap()
        };
        let unbounded = within(usize::MAX, u32::MAX);
        assert!(!unbounded.saturated);
        // Some sources have more than four messages at times.
        assert_eq!(within(10_000, 4), unbounded);
        let left_out = within(0, 4);
        assert!(left_out.latency < unbounded.latency);
        assert!(left_out.saturated, "messages were never sent");
    }

    #[test]
    fn a_bound_does_not_change_what_a_saturated_network_accepts() {
        let accepted = |all| {
            let bound = Bound { all, each: 16 };
            let run = traffic(0.3).run_within(bound, 1, 0, &|| false);
            let measured = run.unwrap().unwrap();
            assert!(measured.saturated);
            measured.accepted
        };
        let ratio = accepted(2000) / accepted(usize::MAX);
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    }

    #[test]
    fn a_run_is_too_short_until_the_longest_route_is_crossed() {
        let run = |pattern, cycles| {
            let traffic = OpenLoop {
                pattern,
                cycles,
                warmup: 10,
                ..traffic(0.001)
            };
            let measured = traffic.run(1, 0, &|| false).unwrap().unwrap();
            measured.too_short
        };
        // 8 links: 9 + 8 cycles. 1 link: 2 + 8.
        let uniform = [6, 7, 8].map(|cycles| run(Pattern::UniformRandom, cycles));
        assert_eq!(uniform, [true, true, false]);
        assert!(!run(Pattern::NearestNeighbor, 1));
    }
}
