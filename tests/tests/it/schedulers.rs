//! The schedulers against their naive forms, under random arrivals, departures, cancellations and
//! faults: every grant has the same time, place and number of attempts. `random_operations` and
//! `backfilling` compare the schedulers that use estimates.

use std::collections::BTreeSet;

use meshalloc::Threshold;
use meshalloc::{
    Block, Change, Configuration, Controller, Error, Flags, JobId, JobState, NodeId, Refusal,
    Request, SchedulerKind, StrategyKind, Ticks,
};
use meshalloc_tests::discipline::Discipline;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{Answer, HeapMemory, ask_at, mesh, unit};
use meshalloc_tests::system::System;
use meshalloc_tests::trial::Trial;

mod thresholds;

const SECOND: Ticks = 1000;
const STEPS: u32 = 1500;
const SEEDS: u64 = 6;
const ROOM: usize = 48;

const STRATEGIES: [StrategyKind; 4] = [
    StrategyKind::FirstFit,
    StrategyKind::FixedOrientation,
    StrategyKind::FreeSubmeshList,
    StrategyKind::Buddy,
];

const fn modified(threshold: Threshold) -> SchedulerKind {
    SchedulerKind::ModifiedFcfs(threshold)
}

const fn fixed(ticks: Ticks) -> SchedulerKind {
    modified(Threshold::Static { ticks })
}

const fn bypass_queue(threshold: Ticks) -> SchedulerKind {
    SchedulerKind::BypassQueue { threshold }
}

const DYNAMIC: SchedulerKind = modified(Threshold::Dynamic { second: SECOND });
const COUNT: SchedulerKind = modified(Threshold::Count);

fn configuration(scheduler: SchedulerKind, strategy: StrategyKind) -> Configuration {
    Configuration {
        machine: mesh(8, 8).into(),
        strategy,
        scheduler,
    }
}

/// Random events: arrivals, departures of granted jobs, and sometimes a cancellation, a fault or a
/// repair.
struct Events {
    random: Random,
    now: Ticks,
    next_arrival: Ticks,
    next_job: u32,
    ends: BTreeSet<(Ticks, JobId)>,
    /// Submitted and not granted, oldest first.
    waiting: Vec<JobId>,
    faulty: Vec<Block>,
    side_max: u32,
}

impl Events {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Events {
            now: 0,
            next_arrival: 1,
            next_job: 0,
            ends: BTreeSet::new(),
            waiting: Vec::new(),
            faulty: Vec::new(),
            side_max: random.between(6, 8),
            random,
        }
    }

    /// The next command and its time.
    fn next(&mut self) -> (Change, Ticks) {
        let end = self.ends.first().map_or(Ticks::MAX, |&(at, _)| at);
        if self.random.percent(4) {
            return (self.disturbance(), self.now);
        }
        if end < self.next_arrival {
            let (at, job) = self.ends.pop_first().expect("there is one");
            self.now = at;
            return (Change::Release { job }, at);
        }
        self.now = self.next_arrival;
        self.next_arrival += Ticks::from(self.random.between(1, 1300));
        self.next_job += 1;
        let mut side = || self.random.between(1, self.side_max) as u16;
        let request = Request::submesh(side(), side());
        let flags = if self.random.percent(10) {
            Flags::NO_WAIT
        } else {
            Flags::empty()
        };
        let job = JobId(self.next_job);
        let request = request.with_flags(flags);
        (Change::submit(job, request), self.now)
    }

    fn disturbance(&mut self) -> Change {
        let block = unit(&mesh(8, 8).grid(), NodeId(self.random.below(64)));
        match self.random.below(7) {
            0 | 1 => {
                self.faulty.push(block);
                Change::MarkFaulty { block }
            }
            2 | 3 => Change::ClearFaulty {
                block: self.faulty.pop().unwrap_or(block),
            },
            at => {
                // The head, most of the time.
                let len = self.waiting.len().max(1) as u32;
                let at = if at < 6 { 0 } else { self.random.below(len) };
                let job = self.waiting.get(at as usize).copied();
                let job = job.unwrap_or(JobId(u32::MAX));
                Change::Release { job }
            }
        }
    }

    /// Records the outcome.
    fn hear(&mut self, command: &Change, answer: &Answer) {
        match (command, &answer.outcome) {
            (Change::Submit { job, .. }, Ok(_)) => {
                if matches!(answer.state, Some(JobState::Waiting { .. })) {
                    self.waiting.push(*job);
                }
            }
            (Change::Release { job }, _) => self.waiting.retain(|other| other != job),
            _ => {}
        }
        for granted in &answer.grants {
            self.waiting.retain(|&other| other != granted.job);
            let service = Ticks::from(self.random.between(1, 4000));
            self.ends.insert((granted.at + service, granted.job));
        }
    }
}

/// The answers to all events of a seed.
fn trace(seed: u64, mut answer: impl FnMut(&Change, Ticks) -> Answer) -> Vec<Answer> {
    let mut events = Events::new(seed);
    let mut answers = Vec::new();
    for _ in 0..STEPS {
        let (command, now) = events.next();
        let answer = answer(&command, now);
        events.hear(&command, &answer);
        answers.push(answer);
    }
    answers
}

/// Compares with the naive system after every event. Returns all answers.
fn checked(scheduler: SchedulerKind, strategy: StrategyKind, seed: u64) -> Vec<Answer> {
    let configuration = configuration(scheduler, strategy);
    let mut memory = HeapMemory::new(configuration.machine, ROOM);
    let mut trial = Trial::new(&mut memory, configuration);
    trace(seed, |command, now| trial.step(command, now).0)
}

/// Every event, what a controller answers, and the controller after it.
fn unchecked(
    scheduler: SchedulerKind,
    strategy: StrategyKind,
    seed: u64,
    mut look: impl FnMut(&Change, Ticks, &Answer, &Controller<'_>),
) -> Vec<Answer> {
    let configuration = configuration(scheduler, strategy);
    let mut memory = HeapMemory::new(configuration.machine, ROOM);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    trace(seed, |command, now| {
        let answer = ask_at(&mut controller, command, now);
        look(command, now, &answer, &controller);
        answer
    })
}

fn answers_as_its_naive_form(scheduler: SchedulerKind) {
    for strategy in STRATEGIES {
        for seed in 0..SEEDS {
            checked(scheduler, strategy, seed);
        }
    }
}

/// The scheduler agrees with its model, and its threshold is reached sometimes, but not always.
fn a_threshold_that_matters(scheduler: SchedulerKind, never_reached: SchedulerKind) {
    answers_as_its_naive_form(scheduler);
    for strategy in STRATEGIES {
        for other in [SchedulerKind::Fcfs, never_reached] {
            let differs = |seed: u64| {
                let answers = |scheduler| unchecked(scheduler, strategy, seed, |_, _, _, _| ());
                answers(scheduler) != answers(other)
            };
            let different = (0..SEEDS).filter(|&seed| differs(seed)).count();
            assert!(
                different * 2 >= SEEDS as usize,
                "{scheduler:?}, {strategy}: as {other:?} with all but {different} seeds"
            );
        }
    }
}

#[test]
fn first_come_first_served() {
    answers_as_its_naive_form(SchedulerKind::Fcfs);
}

#[test]
fn modified_fcfs_static() {
    for seconds in [1, 4] {
        a_threshold_that_matters(fixed(seconds * SECOND), fixed(Ticks::MAX));
    }
}

#[test]
fn modified_fcfs_dynamic() {
    a_threshold_that_matters(DYNAMIC, fixed(Ticks::MAX));
}

#[test]
fn modified_fcfs_count() {
    a_threshold_that_matters(COUNT, fixed(Ticks::MAX));
}

#[test]
fn bypass_queue_with_a_threshold() {
    for seconds in [3, 8] {
        a_threshold_that_matters(bypass_queue(seconds * SECOND), bypass_queue(Ticks::MAX));
    }
}

#[test]
fn a_threshold_of_zero_is_first_come_first_served() {
    for strategy in STRATEGIES {
        for seed in 0..SEEDS {
            let fcfs = checked(SchedulerKind::Fcfs, strategy, seed);
            for scheduler in [bypass_queue(0), fixed(0)] {
                let answers = checked(scheduler, strategy, seed);
                assert_eq!(answers, fcfs, "{scheduler:?}, {strategy}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_huge_threshold_is_bypassing_without_limit() {
    for (scheduler, arrivals_try) in [(fixed(Ticks::MAX), true), (bypass_queue(Ticks::MAX), false)]
    {
        for strategy in STRATEGIES {
            for seed in 0..SEEDS {
                let mut greedy = None;
                unchecked(
                    scheduler,
                    strategy,
                    seed,
                    |command, now, answer, controller| {
                        let discipline = Discipline::unlimited(arrivals_try);
                        let greedy = greedy.get_or_insert_with(|| {
                            let configuration = configuration(scheduler, strategy);
                            System::new(controller.capacity(), configuration)
                                .with_discipline(discipline)
                        });
                        let expected = greedy.handle(command, now);
                        let context = format!("{scheduler:?}, {strategy}, seed {seed}, time {now}");
                        assert!(expected.agrees_with(answer), "{context}: {expected:?}");
                    },
                );
            }
        }
    }
}

/// The events cause every case that the schedulers distinguish.
#[test]
fn everything_happens() {
    for scheduler in [DYNAMIC, COUNT, fixed(4 * SECOND), bypass_queue(6 * SECOND)] {
        let mut seen = BTreeSet::new();
        for seed in 0..SEEDS {
            let mut waiting: Vec<JobId> = Vec::new();
            unchecked(
                scheduler,
                StrategyKind::FirstFit,
                seed,
                |command, _, answer, _| {
                    let head = waiting.first().copied();
                    match (command, &answer.outcome) {
                        (_, Err(Error::Refused(refusal))) => {
                            seen.insert(refusal.name());
                        }
                        (Change::Submit { job, .. }, _) if answer.grants.is_empty() => {
                            waiting.push(*job);
                        }
                        (Change::Submit { .. }, _) if head.is_some() => {
                            seen.insert("an arrival bypasses");
                        }
                        (Change::Release { job }, _) if Some(*job) == head => {
                            seen.insert(if answer.grants.is_empty() {
                                "a head cancelled"
                            } else {
                                "a head cancelled, others granted"
                            });
                        }
                        (Change::ClearFaulty { .. }, _) if !answer.grants.is_empty() => {
                            seen.insert("granted by a repair");
                        }
                        _ => {}
                    }
                    if answer.grants.len() > 1 {
                        seen.insert("several granted at once");
                    }
                    for granted in &answer.grants {
                        let behind = waiting.iter().position(|&job| job == granted.job);
                        if behind > Some(0) {
                            seen.insert("one that waits bypasses");
                        }
                        waiting.retain(|&job| job != granted.job);
                    }
                    if let Change::Release { job } = command {
                        waiting.retain(|other| other != job);
                    }
                },
            );
        }
        let mut expected = BTreeSet::from([
            "several granted at once",
            "one that waits bypasses",
            "a head cancelled",
            "a head cancelled, others granted",
            "granted by a repair",
            Refusal::Fragmented.name(),
            Refusal::QueueNotEmpty.name(),
        ]);
        if scheduler.name() == "modified-fcfs" {
            expected.insert("an arrival bypasses");
        }
        let missing: Vec<_> = expected.difference(&seen).collect();
        assert!(missing.is_empty(), "never with {scheduler:?}: {missing:?}");
    }
}
