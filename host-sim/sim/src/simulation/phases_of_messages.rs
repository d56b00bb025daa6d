//! Jobs that communicate and do I/O by messages over a wormhole network.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;

use meshalloc::{Grid, NodeId, Ticks};

use super::execution::{Completion, EventKey, Execution, Start};
use super::phases::permutation;
use super::placement::place;
use crate::error::SettingError;
use crate::io::{Cells, Communication, Direction, IoJobs, IoMesh};
use crate::network::{Delivery, Message, Network, Parameters, Requests, Traffic};
use crate::workload::{TimeUnit, Work};

/// The jobs of [`Phases`](super::Phases), but each of their messages crosses a [wormhole
/// network](crate::network) of processors and I/O nodes by itself. Results with fair shares are
/// compared with these.
///
/// A message of 1 MB has a given number of flits, L; a cycle is the time in which a link carries
/// one; there is no routing delay. A processor sends its messages one after the other: processor i
/// of n to i + 1, .., i + n - 1 (mod n), and to I/O nodes i, i + 1, .. (mod their number),
/// processors and I/O nodes in row-major order. The next phase of a job begins when all of its
/// messages have arrived.
///
/// A disk transfers one message after the other, in the order in which they arrive or are asked
/// for, in the whole number of cycles that is nearest to 1 MB / its bandwidth. It begins to write a
/// message when the first flit has arrived. It sends a message that it reads as soon as no flit
/// will have to wait for the disk. A write ends with the last transfer, a read with the last
/// arrival.
///
/// There are four differences from fair shares. A node sends over one channel and receives over
/// another, both as fast as a link. A message takes L + 1 cycles of each channel. A message that
/// waits for a channel keeps the channels that it holds. The message that is first at a channel has
/// the whole channel.
///
/// Time is that of the [network](Network), and logarithmic in the number of running jobs for each
/// message.
#[derive(Clone, Debug)]
pub struct PhasesOfMessages {
    machine: Grid,
    mesh: IoMesh,
    network: Network,
    seconds_each: f64,
    jobs: Jobs,
}

impl PhasesOfMessages {
    /// Jobs of this kind with messages of `flits` flits, none of them running.
    ///
    /// # Errors
    ///
    /// When the machine is no two-dimensional mesh, or has no [network](IoMesh::grid) with its I/O
    /// nodes.
    pub fn new(machine: Grid, jobs: IoJobs, flits: u32) -> Result<Self, SettingError> {
        let mesh = IoMesh::new(machine, jobs.nodes)?;
        let grid = mesh.grid()?;
        let parameters = Parameters {
            flits,
            routing_delay: 0,
        };
        let network = Network::new(grid, parameters);
        let network = network.map_err(|error| {
            SettingError::out_of_range("a message of 1 MB", &["io"], error, "fewer flits")
        })?;
        let io_nodes = node_ids(mesh.io_nodes(), grid);
        let cycles = f64::from(flits) * jobs.bandwidths.link / jobs.bandwidths.disk;
        Ok(PhasesOfMessages {
            machine,
            network,
            seconds_each: 1.0 / (jobs.bandwidths.link * f64::from(flits)),
            jobs: Jobs {
                kind: jobs,
                disk: Disk {
                    flits: flits.into(),
                    cycles: (cycles.round() as Ticks).max(1),
                },
                is_idle_from: vec![0; io_nodes.len()],
                io_nodes,
                processes: vec![Process::default(); grid.nodes() as usize],
                running: BTreeMap::new(),
                reads: BinaryHeap::new(),
                completed: BinaryHeap::new(),
            },
            mesh,
        })
    }

    /// The end of this cycle.
    fn ticks(&self, cycle: Ticks) -> Ticks {
        TimeUnit::Second.ticks(cycle as f64 * self.seconds_each)
    }

    /// The first cycle that does not end before this tick.
    fn cycle(&self, ticks: Ticks) -> Ticks {
        let ticks = ticks as f64 - 0.5;
        (ticks / (self.seconds_each * TimeUnit::Second.ticks_each() as f64)).ceil() as Ticks
    }
}

impl Execution for PhasesOfMessages {
    fn time_unit(&self) -> TimeUnit {
        TimeUnit::Second
    }

    /// # Panics
    ///
    /// When the job does something else.
    fn start(&mut self, start: Start<'_>) {
        let Work::Io { draw } = start.job.work else {
            panic!("a job without I/O is executed in another way");
        };
        // The network is already in this cycle, unless it was empty.
        let _ = self.network.advance(self.cycle(start.at), &mut self.jobs);
        let mut processors = Vec::new();
        let request = &start.job.request;
        place(&self.machine, request, start.blocks, &mut processors);
        let places = node_ids(&self.mesh.cells(&processors), self.network.grid());
        for (number, node) in (0..).zip(&places) {
            self.jobs.processes[node.0 as usize] = Process { number, step: 0 };
        }
        let job = Running {
            order: start.order,
            draw,
            to: Vec::new(),
            places,
            phase: 0,
            on_their_way: 0,
            end: 0,
        };
        self.jobs.running.insert(start.number, job);
        for message in self.jobs.begin(start.number, self.network.now()) {
            self.network.send(message);
        }
    }

    fn complete_before(&mut self, limit: EventKey) -> Option<Completion> {
        let until = self.cycle(limit.at);
        loop {
            let now = self.network.now();
            while let Some(message) = self.jobs.read_until(now) {
                self.network.send(message);
            }
            let next = self.jobs.completed.peek();
            if let Some(&Reverse((end, order, number))) = next
                && (end <= now || now >= until)
            {
                let at = self.ticks(end);
                let key = EventKey { at, order };
                if key >= limit {
                    return None;
                }
                self.jobs.completed.pop();
                return Some(Completion::silent(key, number));
            }
            let events = [
                next.map(|next| next.0.0),
                self.jobs.reads.peek().map(|next| next.0.0),
            ];
            let event = events.into_iter().flatten().min();
            if now >= until || event.is_none() && self.network.in_flight() == 0 {
                return None;
            }
            let event = event.map_or(until, |event| event.min(until));
            let _ = self.network.advance(event, &mut self.jobs);
        }
    }
}

/// The numbers of nodes, in row-major order.
fn node_ids(cells: &Cells, grid: Grid) -> Vec<NodeId> {
    let w = u32::from(grid.side(0));
    let id = |(x, y): (usize, usize)| NodeId(y as u32 * w + x as u32);
    cells.nodes().map(id).collect()
}

/// What a disk needs for a message.
#[derive(Clone, Copy, Debug)]
struct Disk {
    /// The cycles for which a link carries the message.
    flits: Ticks,
    /// The cycles for which the disk transfers the message.
    cycles: Ticks,
}

/// The jobs that run, as the network sees them.
#[derive(Clone, Debug)]
struct Jobs {
    kind: IoJobs,
    disk: Disk,
    io_nodes: Vec<NodeId>,
    /// For each disk the cycle from which it transfers nothing.
    is_idle_from: Vec<Ticks>,
    /// The process on each node.
    processes: Vec<Process>,
    /// The running jobs, by number.
    running: BTreeMap<u32, Running>,
    /// The messages that disks read: the cycle in which each is sent, its I/O node, destination and
    /// job.
    reads: BinaryHeap<Reverse<(Ticks, NodeId, NodeId, u32)>>,
    /// The cycle, order and number of completions that were not taken yet.
    completed: BinaryHeap<Reverse<(Ticks, u64, u32)>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Process {
    /// The number of the process within its job.
    number: u32,
    /// The number of messages that the process has sent in this phase.
    step: u32,
}

#[derive(Clone, Debug)]
struct Running {
    order: u64,
    draw: u32,
    /// The processor of each process.
    places: Vec<NodeId>,
    /// The number of the current phase; the I/O phase comes after the communication phases.
    phase: u32,
    /// The permutation of this phase, if it has one.
    to: Vec<u32>,
    /// The number of messages on their way. When it is 0, each process has sent all of its
    /// messages.
    on_their_way: u32,
    /// The cycle in which the latest write of the job ends.
    end: Ticks,
}

impl Jobs {
    /// Begins the current phase of a job, or the next phase that has a message to send, and returns
    /// its first messages. If no phase has any, the job completes.
    fn begin(&mut self, number: u32, now: Ticks) -> Vec<Message> {
        let communications = u32::from(self.kind.communications);
        loop {
            let job = self.running.get_mut(&number).expect("it runs");
            let processes = job.places.len() as u32;
            if job.phase > communications {
                let end = job.end.max(now);
                self.completed.push(Reverse((end, job.order, number)));
                self.running.remove(&number);
                return Vec::new();
            }
            if job.phase == communications && self.kind.direction == Direction::Read {
                self.read(number, now);
                return Vec::new();
            }
            if self.kind.pattern == Communication::Permutation {
                job.to = permutation(processes, job.draw, job.phase);
            }
            let sources = job.places.clone();
            for source in &sources {
                self.processes[source.0 as usize].step = 0;
            }
            let first = sources.into_iter();
            let first: Vec<_> = first
                .filter_map(|source| self.next(number, source))
                .collect();
            if !first.is_empty() {
                return first;
            }
            self.running.get_mut(&number).expect("it runs").phase += 1;
        }
    }

    /// The next message of the process on this node, which counts as on its way.
    fn next(&mut self, number: u32, source: NodeId) -> Option<Message> {
        let process = &mut self.processes[source.0 as usize];
        let job = self.running.get_mut(&number)?;
        let is_io = job.phase == u32::from(self.kind.communications);
        let pick = |from: &[NodeId], at: u32| from[at as usize % from.len()];
        let destination = match self.kind.pattern {
            _ if is_io => ((process.step as usize) < self.io_nodes.len())
                .then(|| pick(&self.io_nodes, process.number + process.step)),
            Communication::AllToAll => (process.step as usize + 1 < job.places.len())
                .then(|| pick(&job.places, process.number + process.step + 1)),
            Communication::Permutation => {
                let to = job.to[process.number as usize];
                (process.step == 0 && to != process.number).then(|| pick(&job.places, to))
            }
        }?;
        process.step += 1;
        job.on_their_way += 1;
        Some(Message {
            source,
            destination,
            tag: number,
        })
    }

    /// Has all disks read what a job asks for.
    fn read(&mut self, number: u32, now: Ticks) {
        let job = self.running.get_mut(&number).expect("it runs");
        let Disk { flits, cycles } = self.disk;
        for step in 0..job.places.len() {
            for (at, (&io_node, idle)) in
                (0..).zip(self.io_nodes.iter().zip(&mut self.is_idle_from))
            {
                let begin = now.max(*idle);
                *idle = begin + cycles;
                let sent = begin + cycles.saturating_sub(flits);
                let to = job.places[(at + step) % job.places.len()];
                self.reads.push(Reverse((sent, io_node, to, number)));
                job.on_their_way += 1;
            }
        }
    }

    /// Takes a message that a disk has read by now, if there is one.
    fn read_until(&mut self, now: Ticks) -> Option<Message> {
        let &Reverse((sent, source, destination, tag)) = self.reads.peek()?;
        if sent > now {
            return None;
        }
        self.reads.pop();
        Some(Message {
            source,
            destination,
            tag,
        })
    }
}

impl Traffic for Jobs {
    fn injected(&mut self, message: &Message, requests: &mut Requests) {
        // Only processors send their next message here: `read_until` gives the messages of disks.
        if self.io_nodes.binary_search(&message.source).is_err()
            && let Some(next) = self.next(message.tag, message.source)
        {
            requests.send(next);
        }
    }

    fn delivered(&mut self, delivery: &Delivery, requests: &mut Requests) -> ControlFlow<()> {
        let Message {
            destination, tag, ..
        } = delivery.message;
        let job = self.running.get_mut(&tag).expect("it waits for it");
        if let Ok(disk) = self.io_nodes.binary_search(&destination) {
            let Disk { flits, cycles } = self.disk;
            let idle = &mut self.is_idle_from[disk];
            let begin = (delivery.delivered + 1 - flits).max(*idle);
            *idle = (begin + cycles).max(delivery.delivered);
            job.end = job.end.max(*idle);
        }
        job.on_their_way -= 1;
        if job.on_their_way > 0 {
            return ControlFlow::Continue(());
        }
        job.phase += 1;
        for message in self.begin(tag, delivery.delivered) {
            requests.send(message);
        }
        // There may be a completion or a read before any other event.
        ControlFlow::Break(())
    }
}
