//! Jobs that end when their messages are delivered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use meshalloc::{Grid, NodeId, Ticks};

use super::execution::{Completion, EventKey, Execution, MessageSums, Start};
use super::placement::place;
use crate::network::{Delivery, Message, Network, NetworkError, Requests, Traffic};
use crate::workload::pattern::Steps;
use crate::workload::{Messages, TimeUnit, Work};

/// Jobs that send messages over a wormhole network, in which those of different jobs meet. A job
/// completes when all of its messages are delivered; one that sends none completes when it starts.
/// A tick is a cycle.
///
/// Within a cycle, channels are released and messages delivered first. Then jobs leave and start.
/// Then channels are requested: the first messages of a job that starts at t request channels at t,
/// whatever else happens at t.
///
/// Time is that of the [network](Network), constant for each message, and for each start linear in
/// the processors of the job. Memory is that of the network, some bytes for each processor of the
/// machine, and four for each one that a job holds; none for messages that are not on their way.
#[derive(Clone, Debug)]
pub struct Contention {
    network: Network,
    jobs: Jobs,
}

impl Contention {
    /// Jobs that send messages of this kind, on an empty network; an error when there is none.
    pub fn new(machine: Grid, messages: Messages) -> Result<Self, NetworkError> {
        Ok(Contention {
            network: Network::new(machine, messages.network)?,
            jobs: Jobs {
                per_pair: messages.per_pair,
                blocking: messages.blocking,
                processes: vec![Process::default(); machine.nodes() as usize],
                running: Vec::new(),
                unused: Vec::new(),
                completed: BinaryHeap::new(),
            },
        })
    }
}

impl Execution for Contention {
    fn time_unit(&self) -> TimeUnit {
        TimeUnit::Cycle
    }

    /// # Panics
    ///
    /// When the job has a service time.
    fn start(&mut self, start: Start<'_>) {
        // The network is already at this time, unless it was empty.
        let _ = self.network.advance(start.at, &mut self.jobs);
        let slot = self.jobs.start(&start, &self.network.grid());
        let processes = self.jobs.running[slot as usize].places.len();
        for process in 0..processes {
            let source = self.jobs.running[slot as usize].places[process];
            if let Some(message) = self.jobs.next(source) {
                self.network.send(message);
            }
        }
        if self.jobs.running[slot as usize].on_their_way == 0 {
            self.jobs.complete(slot, start.at);
        }
    }

    fn complete_before(&mut self, limit: EventKey) -> Option<Completion> {
        if self.jobs.completed.is_empty() && self.network.in_flight() > 0 {
            let _ = self.network.advance(limit.at, &mut self.jobs);
        }
        let &Reverse((at, order, slot)) = self.jobs.completed.peek()?;
        let key = EventKey { at, order };
        if key >= limit {
            return None;
        }
        self.jobs.completed.pop();
        self.jobs.unused.push(slot);
        let job = &self.jobs.running[slot as usize];
        Some(Completion {
            key,
            number: job.number,
            messages: job.sums,
        })
    }

    fn network(&self) -> Option<&Network> {
        Some(&self.network)
    }
}

/// The jobs that run, as the network sees them.
#[derive(Clone, Debug)]
struct Jobs {
    per_pair: u32,
    blocking: bool,
    /// The process on each processor.
    processes: Vec<Process>,
    running: Vec<Running>,
    /// Places in `running` that are not used.
    unused: Vec<u32>,
    /// Time and order of completions that were not taken yet, and the jobs' places in `running`.
    completed: BinaryHeap<Reverse<(Ticks, u64, u32)>>,
}

/// The process on a processor, and what it sends next.
#[derive(Clone, Copy, Debug, Default)]
struct Process {
    /// The place of its job in [`Jobs::running`].
    slot: u32,
    number: u32,
    iteration: u32,
    step: u32,
    /// Messages of this step that it has sent.
    sent: u32,
}

#[derive(Clone, Debug)]
struct Running {
    number: u32,
    order: u64,
    steps: Steps,
    iterations: u32,
    /// The processor of each process.
    places: Vec<NodeId>,
    /// The number of messages on their way. When it is 0, each process has sent all of its
    /// messages.
    on_their_way: u32,
    sums: MessageSums,
}

impl Jobs {
    fn start(&mut self, start: &Start<'_>, machine: &Grid) -> u32 {
        let Work::Messages(program) = start.job.work else {
            panic!("a job with a service time needs no network");
        };
        let request = &start.job.request;
        let slot = self.unused.pop().unwrap_or(self.running.len() as u32);
        let known = self.running.get_mut(slot as usize);
        let mut places = known.map_or(Vec::new(), |job| std::mem::take(&mut job.places));
        place(machine, request, start.blocks, &mut places);
        for (number, node) in (0..).zip(&places) {
            self.processes[node.0 as usize] = Process {
                slot,
                number,
                ..Process::default()
            };
        }
        let job = Running {
            number: start.number,
            order: start.order,
            steps: Steps::new(program.pattern, request, program.draw),
            iterations: program.iterations,
            places,
            on_their_way: 0,
            sums: MessageSums::default(),
        };
        match self.running.get_mut(slot as usize) {
            Some(known) => *known = job,
            None => self.running.push(job),
        }
        slot
    }

    /// The next message of the process on this processor, which counts as on its way.
    #[inline]
    fn next(&mut self, source: NodeId) -> Option<Message> {
        let process = &mut self.processes[source.0 as usize];
        let job = &mut self.running[process.slot as usize];
        let count = job.steps.count(process.number);
        while process.iteration < job.iterations {
            if process.step >= count {
                process.step = 0;
                // Without any steps all iterations are over.
                process.iteration = match count {
                    0 => job.iterations,
                    _ => process.iteration + 1,
                };
                continue;
            }
            let Process {
                number,
                step,
                iteration,
                ..
            } = *process;
            let to = job.steps.destination(number, step, iteration);
            process.sent += u32::from(to.is_some());
            if to.is_none() || process.sent == self.per_pair {
                process.sent = 0;
                process.step += 1;
            }
            if let Some(to) = to {
                job.on_their_way += 1;
                return Some(Message {
                    source,
                    destination: job.places[to as usize],
                    tag: 0,
                });
            }
        }
        None
    }

    fn complete(&mut self, slot: u32, at: Ticks) {
        let order = self.running[slot as usize].order;
        self.completed.push(Reverse((at, order, slot)));
    }
}

impl Traffic for Jobs {
    #[inline]
    fn injected(&mut self, message: &Message, requests: &mut Requests) {
        if !self.blocking
            && let Some(next) = self.next(message.source)
        {
            requests.send(next);
        }
    }

    #[inline]
    fn delivered(&mut self, delivery: &Delivery, requests: &mut Requests) -> ControlFlow<()> {
        let source = delivery.message.source;
        if self.blocking
            && let Some(next) = self.next(source)
        {
            requests.send(next);
        }
        let slot = self.processes[source.0 as usize].slot;
        let job = &mut self.running[slot as usize];
        job.on_their_way -= 1;
        job.sums += MessageSums {
            count: 1,
            latency: delivery.delivered - delivery.requested,
            hops: delivery.hops.into(),
            blocked: delivery.blocked,
        };
        if job.on_their_way > 0 {
            return ControlFlow::Continue(());
        }
        self.complete(slot, delivery.delivered);
        ControlFlow::Break(())
    }
}
