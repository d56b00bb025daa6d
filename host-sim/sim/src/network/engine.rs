//! The network by events of whole messages: [`Network`].

use std::ops::ControlFlow;

use meshalloc::{Grid, Ticks};

use super::calendar::{Calendar, Day};
use super::messages::{Messages, NONE};
use super::routes::{Link, Routes};
use super::{CYCLES_MAX, Delivery, Message, NetworkError, Parameters, Requests, Traffic};

/// A network in virtual time, in cycles from 0. The same calls give the same deliveries. It takes
/// constant time for each channel that a message is granted, and for each cycle in which messages
/// are on their way. It takes 24 bytes for each channel, and 64 bytes for each message on its way,
/// with some more for the message's events.
#[derive(Clone, Debug)]
pub struct Network {
    grid: Grid,
    /// The remaining events of the current cycle.
    today: Day,
    /// The current cycle, and the messages that are sent in it.
    requests: Requests,
    fabric: Fabric,
}

#[derive(Clone, Debug)]
struct Fabric {
    parameters: Parameters,
    routes: Routes,
    channels: Vec<Channel>,
    messages: Messages,
    calendar: Calendar,
}

#[derive(Clone, Debug)]
struct Channel {
    /// The message that holds the channel, if any does. Invariant: if no message holds it, none
    /// waits.
    holder: u32,
    /// The channel that the holder was granted after this one.
    next: u32,
    /// The first and the last of the messages that wait for the channel. The last is valid only if
    /// there is a first.
    first: u32,
    last: u32,
    granted: u64,
}

const FREE: Channel = Channel {
    holder: NONE,
    next: NONE,
    first: NONE,
    last: NONE,
    granted: 0,
};

impl Network {
    /// A network without messages at time 0; an error when a parameter is out of range.
    pub fn new(grid: Grid, parameters: Parameters) -> Result<Network, NetworkError> {
        let Parameters {
            flits,
            routing_delay,
        } = parameters;
        if !(1..=CYCLES_MAX).contains(&flits) {
            return Err(NetworkError::Flits { flits });
        }
        if routing_delay > CYCLES_MAX {
            return Err(NetworkError::RoutingDelay { routing_delay });
        }
        let routes = Routes::new(grid);
        Ok(Network {
            grid,
            today: Day::default(),
            requests: Requests {
                now: 0,
                nodes: routes.nodes(),
                messages: Vec::new(),
            },
            fabric: Fabric {
                parameters,
                channels: vec![FREE; routes.channels() as usize],
                routes,
                messages: Messages::new(),
                calendar: Calendar::new(flits.max(routing_delay + 1)),
            },
        })
    }

    /// The grid.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Flits and delays.
    pub fn parameters(&self) -> Parameters {
        self.fabric.parameters
    }

    /// The current cycle: releases and deliveries have been made, requests have not.
    #[inline]
    pub fn now(&self) -> Ticks {
        self.requests.now
    }

    /// The number of messages on their way, including those that wait for their channel into the
    /// network.
    pub fn in_flight(&self) -> usize {
        self.fabric.messages.len() as usize + self.requests.messages.len()
    }

    /// Sends a message in the current cycle. Panics as [`Requests::send`] does.
    #[inline]
    pub fn send(&mut self, message: Message) {
        self.requests.send(message);
    }

    /// Advances to cycle `until`, if that is later than [`Network::now`]: all requests of earlier
    /// cycles are made, and in `until` itself channels are released and messages delivered, but no
    /// requests made. Ends early, in the same state of an earlier cycle, with
    /// [`ControlFlow::Break`], if the traffic asked for it in that cycle; the same call goes on
    /// from there.
    pub fn advance(&mut self, until: Ticks, traffic: &mut impl Traffic) -> ControlFlow<()> {
        while self.now() < until {
            self.request();
            if self.fabric.calendar.is_empty() {
                self.requests.now = until;
                break;
            }
            self.requests.now += 1;
            self.fabric.calendar.exchange(self.now(), &mut self.today);
            self.release(traffic);
            self.deliver(traffic)?;
        }
        ControlFlow::Continue(())
    }

    fn release(&mut self, traffic: &mut impl Traffic) {
        let now = self.now();
        for &channel in &self.today.releases {
            let holder = self.fabric.release(channel, now);
            if self.fabric.routes.is_inject(channel) {
                let message = self.fabric.messages[holder].message();
                traffic.injected(&message, &mut self.requests);
            }
        }
    }

    fn deliver(&mut self, traffic: &mut impl Traffic) -> ControlFlow<()> {
        let now = self.now();
        let mut flow = ControlFlow::Continue(());
        for &message in &self.today.deliveries {
            let delivery = self.fabric.deliver(message, now);
            if traffic.delivered(&delivery, &mut self.requests).is_break() {
                flow = ControlFlow::Break(());
            }
        }
        flow
    }

    fn request(&mut self) {
        let now = self.now();
        // No two headers from the same source request the same channel: they hold different
        // channels, and routes that part do not meet again.
        self.today.requests.sort_unstable();
        for &request in &self.today.requests {
            self.fabric.request_next(request as u32, now);
        }
        self.today.clear();
        for message in self.requests.messages.drain(..) {
            self.fabric.send(&message, now);
        }
    }

    /// The number of messages that each link was granted to so far. Links come in the order of
    /// processors, in each processor by dimension, upwards first. The messages of all virtual
    /// channels count together.
    pub fn links(&self) -> impl Iterator<Item = (Link, u64)> + '_ {
        let granted = |channel: u32| self.fabric.channels[channel as usize].granted;
        let links = self.fabric.routes.links();
        links.map(move |(link, channels)| (link, channels.map(granted).sum()))
    }

    /// The number of messages that there is room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.fabric.messages.room()
    }

    /// How often channels were granted so far, including those into and out of the network.
    pub fn grants(&self) -> u64 {
        let channels = self.fabric.channels.iter();
        channels.map(|channel| channel.granted).sum()
    }
}

impl Fabric {
    /// Takes a message that requests its channel into the network.
    #[inline]
    fn send(&mut self, message: &Message, now: Ticks) {
        let number = self.messages.insert(message, now);
        let channel = self.routes.inject(message.source.0);
        self.request(number, channel, now);
    }

    /// Lets the header of a message request the channel behind those that it has.
    #[inline]
    fn request_next(&mut self, message: u32, now: Ticks) {
        let channel = self.routes.next(&mut self.messages[message].header);
        self.request(message, channel, now);
    }

    /// Grants the channel, or lets the message wait for it behind the messages that already wait.
    #[inline]
    fn request(&mut self, message: u32, channel: u32, now: Ticks) {
        let wanted = &mut self.channels[channel as usize];
        if wanted.holder == NONE {
            self.grant(message, channel, now);
            return;
        }
        let last = wanted.last;
        wanted.last = message;
        if wanted.first == NONE {
            wanted.first = message;
        } else {
            self.messages[last].behind = message;
        }
        self.messages[message].behind = NONE;
    }

    /// Grants a channel that is free, which the header then crosses in one cycle.
    #[inline]
    fn grant(&mut self, message: u32, channel: u32, now: Ticks) {
        let Parameters {
            flits,
            routing_delay,
        } = self.parameters;
        let granted = &mut self.channels[channel as usize];
        granted.holder = message;
        granted.granted += 1;
        let record = &mut self.messages[message];
        if record.granted == 0 {
            record.injected = now;
            record.tail = channel;
        } else {
            self.channels[record.head as usize].next = channel;
        }
        record.head = channel;
        record.granted += 1;
        let crossed = now + 1;
        if self.routes.is_eject(channel) {
            self.arrive(message, crossed);
            return;
        }
        let source = record.source;
        if record.granted > flits {
            let tail = record.tail;
            record.tail = self.channels[tail as usize].next;
            self.calendar.release(crossed, tail);
        }
        let request_at = crossed + Ticks::from(routing_delay);
        self.calendar.request(request_at, source, message);
    }

    /// Handles a header that leaves the network at `crossed`: its channels are released in turn,
    /// the last two together.
    #[inline]
    fn arrive(&mut self, message: u32, crossed: Ticks) {
        let flits = self.parameters.flits;
        let record = &self.messages[message];
        let delivered = crossed + Ticks::from(flits) - 1;
        // The channels before the one out of the network that are still held.
        let held = (record.granted - 1).min(flits);
        let (mut channel, eject) = (record.tail, record.head);
        let mut at = delivered + 1 - Ticks::from(held);
        while channel != eject {
            self.calendar.release(at, channel);
            at += 1;
            channel = self.channels[channel as usize].next;
        }
        self.calendar.release(delivered, eject);
        self.calendar.deliver(delivered, message);
    }

    /// Releases a channel, and grants it to the first message that waits. Returns the message that
    /// held the channel.
    #[inline]
    fn release(&mut self, channel: u32, now: Ticks) -> u32 {
        let released = &mut self.channels[channel as usize];
        let holder = std::mem::replace(&mut released.holder, NONE);
        let first = released.first;
        if first != NONE {
            released.first = self.messages[first].behind;
            self.grant(first, channel, now);
        }
        holder
    }

    /// Removes a message that has arrived.
    #[inline]
    fn deliver(&mut self, message: u32, now: Ticks) -> Delivery {
        let record = &self.messages[message];
        // The first and the last channel that the message was granted are not links.
        let hops = record.granted - 2;
        let delivery = Delivery {
            message: record.message(),
            requested: record.requested,
            injected: record.injected,
            delivered: now,
            hops,
            blocked: now - record.injected - self.parameters.zero_load(hops),
        };
        self.messages.remove(message);
        delivery
    }
}
