//! A wormhole network: messages of several flits on the links between the processors of a grid.
//!
//! # The model
//!
//! Every processor has a channel into the network (*inject*), one out of it (*eject*), and in each
//! dimension a link to each neighbour. Routes are dimension-ordered, dimension 0 first (XY on a
//! mesh). A message of L flits over D links crosses the channels c_0 (inject), c_1 .. c_D, c_(D+1)
//! (eject). Time is in whole cycles; a channel carries one flit a cycle into a buffer of one flit
//! at its end. Flits that leave the network are taken at once.
//!
//! - A header that is in the buffer of a channel at time h requests the next channel at h + t_s,
//!   the routing delay; also before eject, but not before c_0.
//! - A channel is held by one message, from its grant until the last flit has left the buffer at
//!   its end; eject until the last flit has crossed it.
//! - A channel is granted in the order of requests, at equal times in the order of the messages'
//!   sources.
//! - Without other messages in the way a message takes **(D + 1)(t_s + 1) + L** cycles:
//!   [`Parameters::zero_load`].
//!
//! A dimension that wraps is crossed the shorter way, upwards if both ways are equal. Each of its
//! links has two virtual channels: a message begins on channel 0, and uses channel 1 from the link
//! on that leads from one end of the dimension to the other (the dateline). So a network never
//! deadlocks (W. J. Dally and C. L. Seitz, Deadlock-free message routing in multiprocessor
//! interconnection networks, IEEE Trans. Computers C-36, 1987). A dimension of two processors has
//! one link in each direction, whether it wraps or not.
//!
//! The two virtual channels of a link have the full bandwidth each: two messages that cross the
//! same link of a torus on different virtual channels do not slow each other. Buffers hold one
//! flit, routes do not adapt.
//!
//! # Order of events in one cycle
//!
//! 1. Channels are released; each goes at once to the first message that waits for it. Messages
//!    that have arrived are delivered. The [`Traffic`] is called for each delivery, and for each
//!    release of a channel into the network.
//! 2. New requests: headers in the order of their sources, and messages that were sent in this
//!    cycle, from within the calls of 1 or by [`Network::send`].
//!
//! [`Network::advance`] stops between the two. So a job that starts at time t on processors which
//! another job left at t sends its first messages at t. These are treated like all other requests
//! of that cycle. An [`Execution`](crate::simulation::Execution) advances to the time of its limit:
//! messages that complete at that time have been delivered, and messages that start at that time
//! can still be requested.
//!
//! # How it is driven
//!
//! Messages are made when they are due, so a run needs memory only for the messages on their way.
//!
//! ```
//! use std::ops::ControlFlow;
//! use meshalloc::{Grid, NodeId};
//! use meshalloc_sim::network::{Delivery, Message, Network, Parameters, Requests, Traffic};
//!
//! /// Processor 0 sends to each of the others, the next message when the one before has left.
//! struct OneToAll {
//!     next: u32,
//!     delivered: u32,
//! }
//!
//! impl Traffic for OneToAll {
//!     fn injected(&mut self, message: &Message, requests: &mut Requests) {
//!         if self.next < 16 {
//!             requests.send(Message { destination: NodeId(self.next), ..*message });
//!             self.next += 1;
//!         }
//!     }
//!
//!     fn delivered(&mut self, _: &Delivery, _: &mut Requests) -> ControlFlow<()> {
//!         self.delivered += 1;
//!         // The job is done: stop, so that others may start now.
//!         if self.delivered == 15 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
//!     }
//! }
//!
//! let parameters = Parameters { flits: 8, routing_delay: 3 };
//! let mut network = Network::new(Grid::mesh(&[4, 4])?, parameters)?;
//! network.send(Message { source: NodeId(0), destination: NodeId(1), tag: 0 });
//! let mut traffic = OneToAll { next: 2, delivered: 0 };
//! assert!(network.advance(u64::MAX, &mut traffic).is_break());
//! assert_eq!(network.now(), 330);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Why events of messages are exact
//!
//! As a buffer holds one flit, a message stands on as many consecutive channels as it has flits in
//! the network, and moves as a whole. So the place of the header determines the place of the whole
//! message: when the header has crossed c_j at t, the last flit has left c_(j-L), which is
//! released. When the header has crossed c_(D+1) at t, nothing stops the message any more, and c_k
//! is released at t + k + L - (D + 1), up to the delivery and c_(D+1) at t + L - 1. So the only
//! events are a request and a release for each channel of a route. The tests compare with a model
//! that moves every flit in every cycle (`tests/src/wormhole.rs`).

use serde::Serialize;
use std::ops::ControlFlow;

use meshalloc::{NodeId, Ticks};

mod calendar;
mod engine;
mod messages;
mod routes;
#[cfg(test)]
mod tests;

pub use engine::Network;
pub use routes::Link;

/// The most flits of a message, and the longest routing delay in cycles.
pub const CYCLES_MAX: u32 = 1 << 16;

/// The parameters, in addition to the grid, that determine the times of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// L, the flits of every message: 1 to [`CYCLES_MAX`].
    pub flits: u32,
    /// t_s, the cycles that a header stays at every processor on its way, the first and the last
    /// one included, before it requests the next channel: 0 to [`CYCLES_MAX`].
    pub routing_delay: u32,
}

impl Default for Parameters {
    /// The parameters in the literature on non-contiguous allocation: 8 flits, 3 cycles.
    fn default() -> Self {
        Parameters {
            flits: 8,
            routing_delay: 3,
        }
    }
}

impl Parameters {
    /// The cycles from the request of the channel into the network to the delivery, over `hops`
    /// links, without other messages in the way.
    pub fn zero_load(&self, hops: u32) -> Ticks {
        (Ticks::from(hops) + 1) * (Ticks::from(self.routing_delay) + 1) + Ticks::from(self.flits)
    }
}

/// A message that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The processor that sends.
    pub source: NodeId,
    /// The processor that receives. It may be the source itself; the message then takes the
    /// channels inject and eject.
    pub destination: NodeId,
    /// A number of the sender's own. The network does not read it.
    pub tag: u32,
}

/// A message that has arrived, with its times in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message.
    pub message: Message,
    /// When it was sent: when it requested the channel into the network.
    pub requested: Ticks,
    /// When that channel was granted.
    pub injected: Ticks,
    /// When its last flit arrived.
    pub delivered: Ticks,
    /// The links on its way, D.
    pub hops: u32,
    /// The cycles for which its header waited for channels behind the one into the network:
    /// `delivered - injected` beyond [`Parameters::zero_load`].
    pub blocked: Ticks,
}

/// The sender of messages and receiver of deliveries. Its methods are called in the order that the
/// module describes.
pub trait Traffic {
    /// The message has left its source, which may send the next one in this cycle.
    fn injected(&mut self, message: &Message, requests: &mut Requests);

    /// The message has arrived. Blocking senders send their next message now. With
    /// [`ControlFlow::Break`] the network stops after all deliveries of this cycle, before the new
    /// requests.
    fn delivered(&mut self, delivery: &Delivery, requests: &mut Requests) -> ControlFlow<()>;
}

/// The messages that are sent in the current cycle.
#[derive(Clone, Debug)]
pub struct Requests {
    now: Ticks,
    nodes: u32,
    messages: Vec<Message>,
}

impl Requests {
    /// The current cycle.
    #[inline]
    pub fn now(&self) -> Ticks {
        self.now
    }

    /// Sends a message in the current cycle. Messages of one source get its channel into the
    /// network in the order in which they were sent. Panics when source or destination is not in
    /// the grid.
    #[inline]
    pub fn send(&mut self, message: Message) {
        let Message {
            source,
            destination,
            ..
        } = message;
        assert!(
            source.0.max(destination.0) < self.nodes,
            "a message from {source} to {destination} in a network of {} processors",
            self.nodes
        );
        self.messages.push(message);
    }
}

/// Why [`Network::new`] makes no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The flits of a message are out of range.
    #[error("{flits} flits: a message has 1 to {CYCLES_MAX}")]
    Flits {
        /// The number of flits.
        flits: u32,
    },
    /// The routing delay is out of range.
    #[error("a routing delay of {routing_delay} cycles: at most {CYCLES_MAX} are possible")]
    RoutingDelay {
        /// The delay, in cycles.
        routing_delay: u32,
    },
}
