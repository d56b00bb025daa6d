//! A controller and its plain [`System`] side by side over random operations.

use std::collections::BTreeSet;

use meshalloc::{Command, Configuration, Controller, Error, JobId, NodeId, Reply, Request};

use super::system::{Places, System};
use crate::random::Random;
use crate::rig::{HeapMemory, ask_at};

const JOBS_MAX: u32 = 20;

/// How a sequence is made; the weights differ from seed to seed.
struct Recipe<R> {
    random: Random,
    request: R,
    submit: u32,
    release: u32,
    fault: u32,
    repair: u32,
    next_job: u32,
}

impl<R: FnMut(&mut Random) -> Request> Recipe<R> {
    fn new(mut random: Random, request: R) -> Self {
        Recipe {
            request,
            submit: random.between(20, 60),
            release: random.between(10, 40),
            fault: random.below(12),
            repair: random.below(12),
            random,
            next_job: 0,
        }
    }

    fn command<P: Places>(&mut self, model: &System<P>) -> Command {
        let total = self.submit + self.release + self.fault + self.repair;
        let at = self.random.below(total);
        let node = NodeId(self.random.below(model.places().nodes()));
        if at < self.submit {
            self.next_job += 1;
            // Any names will do; these are far apart.
            let job = JobId(self.next_job.wrapping_mul(0x0100_0193));
            let request = (self.request)(&mut self.random);
            Command::Submit { job, request }
        } else if at < self.submit + self.release {
            let jobs: Vec<JobId> = model.running().chain(model.waiting()).collect();
            let job = match jobs.len() {
                0 => JobId(0),
                len => jobs[self.random.below(len as u32) as usize],
            };
            Command::Release { job }
        } else if at < self.submit + self.release + self.fault {
            Command::MarkFaulty { node }
        } else {
            let faulty: Vec<u32> = model.faulty_nodes().collect();
            let node = match faulty.len() {
                0 => node,
                len => NodeId(faulty[self.random.below(len as u32) as usize]),
            };
            Command::ClearFaulty { node }
        }
    }
}

/// What came about in a trial, so that a caller can see that it was not idle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Jobs granted.
    pub granted: u64,
    /// Attempts that failed although enough processors were free.
    pub misses: u64,
    /// The names of the refusals.
    pub refusals: BTreeSet<&'static str>,
}

impl Outcome {
    /// Adds what came about in another trial.
    pub fn merge(&mut self, other: Outcome) {
        self.granted += other.granted;
        self.misses += other.misses;
        self.refusals.extend(other.refusals);
    }
}

/// Submissions, releases, faults and repairs, so many in all. After every one the answer, the statistics and the
/// occupancy are those of the plain model, and all invariants hold.
///
/// `request` makes the requests, from the same stream as everything else that is random.
///
/// # Panics
///
/// When controller and model differ.
pub fn run<P: Places>(
    configuration: Configuration,
    seed: u64,
    operations: u64,
    request: impl FnMut(&mut Random) -> Request,
) -> Outcome {
    let mut recipe = Recipe::new(Random::new(seed), request);
    let room = recipe.random.between(1, JOBS_MAX) as usize;
    let mut memory = HeapMemory::new(configuration.machine, room);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let mut model = System::<P>::new(configuration, room);
    let mut outcome = Outcome::default();
    for now in 0..operations {
        let command = recipe.command(&model);
        let before = model.places().clone();
        let expected = model.handle(&command, now);
        let answer = ask_at(&mut controller, &command, now);
        let context = || format!("{configuration:?}, seed {seed}, operation {now}");
        assert!(
            expected.agrees_with(&answer),
            "{}: {command:?}\nexpected {expected:?}\nanswered {answer:?}, in\n{before}",
            context()
        );
        if let Reply::Error(Error::Refused(refusal)) = answer.last {
            outcome.refusals.insert(refusal.name());
        }
        controller.check_invariants();
        assert_eq!(controller.statistics(), model.statistics(), "{}", context());
        for node in 0..configuration.machine.nodes() {
            let is_busy = controller.occupancy().is_busy(NodeId(node));
            assert_eq!(
                is_busy,
                model.places().is_busy(node),
                "{node}, {}",
                context()
            );
        }
    }
    let statistics = controller.statistics();
    outcome.granted = statistics.granted;
    outcome.misses = statistics.misses;
    outcome
}
