//! How fast the wormhole network of the simulator is.
//!
//! ```text
//! cargo bench -p meshalloc-tests --bench network
//! ```
//!
//! Every processor of a part of the machine sends one message to each other processor of that part,
//! the next message as soon as the one before has left it; when all are delivered, the part begins
//! again (all-to-all, non-blocking). What counts are channels granted in a second of CPU time of
//! the thread; of several rounds the fastest, as other processes only make one slower.
//!
//! Then a run of jobs: 1000 departures from a 16 x 16 mesh under first fit, uniform sides, one
//! iteration of all-to-all each, .0000667 jobs a cycle. These are about nine million messages.
//!
//! The exit code is 1 if fewer than ten million channels a second are granted, or the run takes 5 s
//! of CPU time.

use std::ops::ControlFlow;
use std::process::ExitCode;

use cpu_time::ThreadTime;
use meshalloc::{Grid, Mesh, NodeId, StrategyKind};
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{self, Experiment};
use meshalloc_sim::network::{Delivery, Message, Network, Parameters, Requests, Traffic};
use meshalloc_sim::workload::{
    EstimateModel, Messages, Pattern, Rate, ServiceDistribution, SideDistribution, Synthetic,
    WorkDistribution, Workload,
};
use meshalloc_tests::bench;

const GRANTS_PER_SECOND_MIN: f64 = 1e7;
const RUN_SECONDS_MAX: f64 = 5.0;
const GRANTS: u64 = 10_000_000;
const ROUNDS: usize = 5;

/// The machine, and the sides of the parts that it is divided into.
const CASES: [(&[u16], u16, &[u16]); 5] = [
    (&[16, 16], 0, &[16, 16]),
    (&[16, 16], 0, &[8, 8]),
    (&[16, 16], 0, &[4, 2]),
    (&[16, 16], 0b11, &[16, 16]),
    (&[8, 8, 8], 0, &[4, 4, 4]),
];

/// All-to-all in each part. A message's tag is the number of its part.
struct Parts {
    /// The processors of each part.
    members: Vec<Vec<u32>>,
    /// The place of each processor in its part.
    place: Vec<u32>,
    /// The number of messages that each processor has sent.
    sent: Vec<u32>,
    /// How many messages of each part have been delivered.
    delivered: Vec<usize>,
}

impl Parts {
    fn new(grid: Grid, part: &[u16]) -> Self {
        let mut members: Vec<(Vec<u16>, Vec<u32>)> = Vec::new();
        let mut place = Vec::new();
        for node in 0..grid.nodes() {
            let at = grid.coordinates(NodeId(node)).expect("a processor");
            let name: Vec<u16> = at.iter().zip(part).map(|(at, side)| at / side).collect();
            let found = members.iter().position(|(other, _)| *other == name);
            let found = found.unwrap_or_else(|| {
                members.push((name, Vec::new()));
                members.len() - 1
            });
            place.push(members[found].1.len() as u32);
            members[found].1.push(node);
        }
        let members: Vec<Vec<u32>> = members.into_iter().map(|(_, members)| members).collect();
        Parts {
            sent: vec![0; place.len()],
            delivered: vec![0; members.len()],
            members,
            place,
        }
    }

    fn next(&mut self, part: u32, source: u32) -> Option<Message> {
        let members = &self.members[part as usize];
        let sent = &mut self.sent[source as usize];
        let count = members.len() as u32;
        if *sent == count - 1 {
            return None;
        }
        *sent += 1;
        let to = (self.place[source as usize] + *sent) % count;
        Some(Message {
            source: NodeId(source),
            destination: NodeId(members[to as usize]),
            tag: part,
        })
    }

    fn begin(&mut self, part: u32) -> Vec<Message> {
        let members = self.members[part as usize].clone();
        self.delivered[part as usize] = 0;
        members
            .iter()
            .filter_map(|&source| {
                self.sent[source as usize] = 0;
                self.next(part, source)
            })
            .collect()
    }
}

impl Traffic for Parts {
    fn injected(&mut self, message: &Message, requests: &mut Requests) {
        if let Some(message) = self.next(message.tag, message.source.0) {
            requests.send(message);
        }
    }

    fn delivered(&mut self, delivery: &Delivery, requests: &mut Requests) -> ControlFlow<()> {
        let part = delivery.message.tag;
        let delivered = &mut self.delivered[part as usize];
        *delivered += 1;
        let count = self.members[part as usize].len();
        if *delivered == count * (count - 1) {
            for message in self.begin(part) {
                requests.send(message);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Channels granted in a second of CPU time.
fn grants_per_second(grid: Grid, part: &[u16]) -> f64 {
    let mut network = Network::new(grid, Parameters::default()).expect("a network");
    let mut parts = Parts::new(grid, part);
    for part in 0..parts.members.len() {
        for message in parts.begin(part as u32) {
            network.send(message);
        }
    }
    let start = ThreadTime::now();
    let mut granted = 0;
    while granted < GRANTS {
        // Parts never ask to stop.
        let _ = network.advance(network.now() + 10_000, &mut parts);
        granted = network.grants();
    }
    granted as f64 / start.elapsed().as_secs_f64()
}

/// Prints the speeds. Returns the missed targets.
fn speeds() -> Vec<String> {
    println!("channels granted in a second of CPU time, all-to-all in parts of a machine\n");
    println!("{:<20} {:<8} {:>10}", "machine", "parts", "millions");
    let mut wrong = Vec::new();
    for (sides, wraps, part) in CASES {
        let grid = Grid::new(sides, wraps).expect("a machine");
        let rounds = (0..ROUNDS).map(|_| grants_per_second(grid, part));
        let speed = rounds.fold(0.0, f64::max);
        let part = part.iter().map(u16::to_string).collect::<Vec<_>>();
        let part = part.join("x");
        println!("{:<20} {part:<8} {:>10.1}", grid.to_string(), speed / 1e6);
        if speed < GRANTS_PER_SECOND_MIN {
            wrong.push(format!(
                "{grid} in parts of {part}: {:.1} million channels a second, expected at least {:.0} million",
                speed / 1e6,
                GRANTS_PER_SECOND_MIN / 1e6
            ));
        }
    }
    wrong
}

/// Prints the CPU time of a run of jobs. Returns the missed target.
fn run_of_jobs() -> Vec<String> {
    let mesh = Mesh::new(16, 16).expect("sides in range");
    let service = ServiceDistribution::Exponential { mean_seconds: 1.0 };
    let sizes = SideDistribution::Uniform;
    let workload = Synthetic {
        work: WorkDistribution::Messages(Messages::new(Pattern::AllToAll)),
        estimates: EstimateModel::None,
        ..Synthetic::new(mesh, sizes, service, Rate::Arrivals(6.67e-5))
    };
    let strategy = StrategyKind::FirstFit;
    let experiment = Experiment::new(Workload::Synthetic(workload), 1000, &[strategy]);
    let backends = &mut InProcessBackends::default();
    let start = ThreadTime::now();
    let result = experiment::run_once(&experiment, strategy, 0, backends, &());
    let seconds = start.elapsed().as_secs_f64();
    let result = result.expect("a sound scenario");
    println!("\na run of 1000 jobs, all-to-all: {seconds:.2} s of CPU time");
    assert!(result.decisions >= 1000, "every departure was granted");
    if seconds < RUN_SECONDS_MAX {
        return Vec::new();
    }
    vec![format!(
        "a run of 1000 jobs takes {seconds:.2} s, expected less than {RUN_SECONDS_MAX}"
    )]
}

fn main() -> ExitCode {
    bench::main([], |_| [speeds(), run_of_jobs()].concat())
}
