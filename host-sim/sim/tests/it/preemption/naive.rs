//! Against a naive model of the machine, which sees only the changes and the grants.

use std::collections::BTreeMap;

use meshalloc::{
    Block, Change, Class, Configuration, EventKind, Grid, JobId, NodeId, Outcome, Request,
    SchedulerKind, StrategyKind, Ticks, VICTIMS_MAX,
};
use meshalloc_sim::backend::{Around, Backends, InProcessBackends};
use meshalloc_sim::failures::Checkpoint;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::preemption::Preempting;
use meshalloc_sim::simulation::{Conditions, FixedService, Measured, Seen, Switches, run_with};
use meshalloc_sim::workload::{Job, Work};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const SIDE: u16 = 6;
const JOBS: u32 = 40;
const SECOND: Ticks = 1_000_000;

/// What a job gets, wherever there is such a place.
#[derive(Clone, Copy, Debug)]
enum Gets {
    Box { turns: bool },
    Anything,
}

/// A job that has arrived and not left.
struct Known {
    request: Request,
    /// Its place in the queue.
    key: (i128, u32),
    /// The processors that it holds, a bit for each, and since when; 0 while it waits.
    holds: u64,
    since: Ticks,
    /// The work that it still has to do.
    left: Ticks,
    /// Since when it could have been let in at the end of each moment.
    could: Option<Ticks>,
}

/// What a run did, by the model.
#[derive(Default)]
struct Naive {
    now: Ticks,
    jobs: BTreeMap<u32, Known>,
    works: Vec<Ticks>,
    grace: Ticks,
    checkpoint: Option<(Ticks, Ticks)>,
    gets: Option<Gets>,
    /// Processors times ticks.
    busy: u128,
    lost: u128,
    /// By the number of victims.
    preemptions: [u32; VICTIMS_MAX + 1],
    left: u32,
}

/// All boxes of these sides as bits.
fn boxes(w: u16, h: u16) -> impl Iterator<Item = u64> {
    let bases = (0..=SIDE - h).flat_map(move |y| (0..=SIDE - w).map(move |x| (x, y)));
    bases.map(move |(x, y)| {
        let cells = (y..y + h).flat_map(|y| (x..x + w).map(move |x| y * SIDE + x));
        cells.map(|cell| 1 << cell).sum()
    })
}

impl Naive {
    /// Whether the request fits if these processors are held.
    fn fits(&self, request: &Request, held: u64) -> bool {
        let sides = request.sides();
        match self.gets.unwrap() {
            Gets::Anything => u32::from(SIDE * SIDE) - held.count_ones() >= request.processors,
            Gets::Box { turns } => {
                let other = turns.then_some((sides.h, sides.w));
                let mut orders = [(sides.w, sides.h)].into_iter().chain(other);
                orders.any(|(w, h)| boxes(w, h).any(|it| it & held == 0))
            }
        }
    }

    fn held(&self) -> u64 {
        self.jobs.values().map(|job| job.holds).sum()
    }

    /// The jobs that this one may preempt.
    fn lower(&self, of: &Request) -> Vec<u32> {
        let may_go = |job: &Known| {
            let class = job.request.class;
            job.holds > 0 && class.is_preemptible() && class.priority() < of.class.priority()
        };
        let lower = self.jobs.iter().filter(|(_, job)| may_go(job));
        lower.map(|(&number, _)| number).collect()
    }

    /// The sets of at most eight of these jobs after whose departure the request fits, with what
    /// they lose and how many they are; if `all` is false only sets of the most jobs, as these let
    /// in whatever smaller ones do.
    fn sets(&self, request: &Request, lower: &[u32], all: bool) -> Vec<(u128, u32)> {
        let held = self.held();
        let most = lower.len().min(VICTIMS_MAX) as u32;
        let sizes = if all { 0..=most } else { most..=most };
        let sets = (0_u32..1 << lower.len()).filter(|set| sizes.contains(&set.count_ones()));
        let sets = sets.filter_map(|set| {
            let members = (0..).zip(lower).filter(|(at, _)| set >> at & 1 == 1);
            let members = members.map(|(_, number)| &self.jobs[number]);
            let gone: u64 = members.clone().map(|job| job.holds).sum();
            let lost = members
                .map(|job| u128::from(job.holds.count_ones()) * u128::from(self.now - job.since));
            let cost = (lost.sum(), set.count_ones());
            self.fits(request, held & !gone).then_some(cost)
        });
        sets.collect()
    }

    /// Whether others should make room for this job.
    fn is_urgent(&self, number: u32) -> bool {
        let job = &self.jobs[&number];
        let lower = self.lower(&job.request);
        job.holds == 0 && !lower.is_empty() && !self.sets(&job.request, &lower, false).is_empty()
    }

    /// A moment has passed: no job that could be let in has waited for longer than the grace time.
    fn pass_to(&mut self, now: Ticks) {
        assert!(now >= self.now);
        if now == self.now {
            return;
        }
        let urgent: Vec<_> = self.jobs.keys().copied().collect();
        for number in urgent {
            let could = self.is_urgent(number).then_some(self.now);
            let (grace, at) = (self.grace, self.now);
            let job = self.jobs.get_mut(&number).unwrap();
            job.could = could.map(|now| job.could.unwrap_or(now));
            if let Some(since) = job.could {
                assert!(
                    at - since < grace,
                    "job {number} could be let in since {since}: {at}"
                );
            }
        }
        self.busy += u128::from(self.held().count_ones()) * u128::from(now - self.now);
        self.now = now;
    }

    /// A job makes room: what it has saved is done, the rest since then is lost.
    fn interrupt(&mut self, number: u32) {
        let job = self.jobs.get_mut(&number).unwrap();
        let mut left = self.now - job.since;
        let ran = left;
        if let Some((interval, cost)) = self.checkpoint {
            // One after the other; none at the end of the work.
            while left >= interval + cost && job.left > interval {
                left -= interval + cost;
                job.left -= interval;
            }
        }
        assert!(left <= ran);
        self.lost += u128::from(job.holds.count_ones()) * u128::from(left);
        job.holds = 0;
    }

    /// How long a job runs that has so much work left.
    fn length(&self, mut work: Ticks) -> Ticks {
        let mut length = work;
        if let Some((interval, cost)) = self.checkpoint {
            while work > interval {
                work -= interval;
                length += cost;
            }
        }
        length
    }

    fn before(&mut self, change: &Change, now: Ticks) {
        self.pass_to(now);
        match *change {
            Change::Submit { job, request, .. } => {
                let key = (
                    i128::from(now) - i128::from(request.class.priority()),
                    job.0,
                );
                let known = Known {
                    request,
                    key,
                    holds: 0,
                    since: 0,
                    left: self.works[job.0 as usize],
                    could: None,
                };
                assert!(self.jobs.insert(job.0, known).is_none());
            }
            Change::Release { job } => {
                let job = self.jobs.remove(&job.0).expect("it is there");
                assert!(job.holds > 0, "it runs");
                assert_eq!(now - job.since, self.length(job.left), "its work is done");
                self.left += 1;
            }
            Change::Preempt { job, .. } if job.0 == u32::MAX => {}
            Change::Preempt { job, ref victims } => {
                let request = self.jobs[&job.0].request;
                let lower = self.lower(&request);
                let best = self.sets(&request, &lower, true).into_iter().min();
                let victims: Vec<_> = victims.iter().map(|victim| victim.0).collect();
                assert!(victims.iter().all(|victim| lower.contains(victim)));
                let lost = victims.iter().map(|victim| {
                    let it = &self.jobs[victim];
                    u128::from(it.holds.count_ones()) * u128::from(now - it.since)
                });
                assert_eq!(
                    best,
                    Some((lost.sum(), victims.len() as u32)),
                    "the least to lose"
                );
                if self.grace == 0 {
                    let key = self.jobs[&job.0].key;
                    let earlier = self.jobs.iter().filter(|(_, job)| job.key < key);
                    let earlier: Vec<_> = earlier.map(|(&number, _)| number).collect();
                    assert!(!earlier.iter().any(|&number| self.is_urgent(number)));
                }
                for &victim in &victims {
                    self.interrupt(victim);
                }
                self.preemptions[victims.len()] += 1;
            }
            ref other => panic!("{other:?}"),
        }
    }

    fn grant(&mut self, number: u32, nodes: u64) {
        assert_eq!(nodes & self.held(), 0, "no processor is given twice");
        let job = self.jobs.get_mut(&number).unwrap();
        assert_eq!(job.holds, 0);
        (job.holds, job.since, job.could) = (nodes, self.now, None);
    }
}

/// Jobs with and without priorities, most of them preemptible, more than the machine can serve at
/// once.
fn random_jobs(seed: u64) -> Vec<Job> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |bound: u32| random.next_u32() % bound;
    let mut arrival = 0;
    let jobs = (0..JOBS).map(|_| {
        arrival += u64::from(below(5)) * u64::from(below(2_000_000));
        let [w, h] = [(); 2].map(|()| 1 + below(4) as u16);
        let priority = [0, 0, 5, 60][below(4) as usize] * SECOND;
        let class = Class::new(priority, below(3) > 0).unwrap();
        let service = u64::from(1 + below(20_000_000));
        let request = Request::submesh(w, h).with_class(class);
        Job {
            arrival,
            request: request.with_estimate(service),
            work: Work::Service(service),
        }
    });
    jobs.collect()
}

/// Runs the jobs, and compares each step and the result with the model.
fn check(
    seed: u64,
    strategy: StrategyKind,
    gets: Gets,
    scheduler: SchedulerKind,
    grace: Ticks,
    checkpoint: Option<&str>,
) -> Naive {
    let machine = Grid::mesh(&[SIDE, SIDE]).unwrap();
    let configuration = Configuration {
        machine,
        strategy,
        scheduler,
    };
    let jobs = random_jobs(seed);
    let checkpoint = checkpoint.map(|text| text.parse::<Checkpoint>().unwrap());
    let works = jobs.iter().map(|job| job.work.service().unwrap());
    let mut naive = Naive {
        works: works.collect(),
        grace,
        checkpoint: checkpoint.map(|it| (it.interval, it.cost)),
        gets: Some(gets),
        ..Naive::default()
    };
    let conditions = Conditions {
        has_priorities: true,
        switches: Switches {
            reasons: true,
            ..Switches::default()
        },
        preemption: Some(Preempting { grace, checkpoint }),
        ..Measured::Departures(JOBS).into()
    };
    let mut records = Vec::new();
    let mut observer = |seen: &Seen<'_>| match seen {
        Seen::Job(record) => {
            let waits: Ticks = record.waits.iter().map(|(_, span)| span).sum();
            let waited = record.start.unwrap() - record.job.arrival;
            assert_eq!(waits, waited, "the reasons add up");
            let processors = u64::from(record.job.request.total());
            records.push((record.preemptions, record.preempted * processors));
        }
        Seen::Interrupted(it) => assert!(it.by.is_some()),
        _ => {}
    };
    let mut result = None;
    let mut backends = InProcessBackends::default();
    let made = backends.with(configuration, None, &mut |backend| {
        let around = Around::new(backend, |inner, change, now, on_event| {
            naive.before(change, now);
            let mut ended = 0;
            let outcome = inner.call(change, now, &mut |event, blocks| {
                match event.what {
                    EventKind::Granted { .. } => {
                        naive.grant(event.job.0, bits(&machine, blocks));
                    }
                    EventKind::Preempted { by } => {
                        assert!(matches!(change, Change::Preempt { job, .. } if *job == by));
                        ended += 1;
                    }
                    EventKind::LeaseEnded => panic!("no job has a lease"),
                }
                on_event(event, blocks);
            })?;
            if let Change::Preempt { job, victims } = change
                && *job != JobId(u32::MAX)
            {
                assert_eq!(
                    (outcome, ended),
                    (Ok(Outcome::Done), victims.iter().count())
                );
                assert!(naive.jobs[&job.0].holds > 0, "no victim goes for nothing");
            }
            Ok(outcome)
        });
        result = Some(run_with(
            &mut FixedService::default(),
            conditions.clone(),
            &mut { around },
            machine,
            jobs.iter().copied(),
            &mut observer,
        ));
    });
    made.unwrap();
    let result = result.unwrap().unwrap();
    // No job is lost, and what was busy was useful or lost.
    assert_eq!((naive.left, naive.jobs.len()), (JOBS, 0));
    let useful = jobs.iter().map(|job| {
        let length = naive.length(job.work.service().unwrap());
        u128::from(job.request.total()) * u128::from(length)
    });
    assert_eq!(naive.busy, useful.sum::<u128>() + naive.lost);
    let victims: u32 = naive
        .preemptions
        .iter()
        .zip(0..)
        .map(|(count, of)| count * of)
        .sum();
    assert_eq!(records.iter().map(|(count, _)| count).sum::<u32>(), victims);
    let lost: u64 = records.iter().map(|(_, lost)| lost).sum();
    assert_eq!(u128::from(lost), naive.lost);
    let value = |metric| result.values[metric].unwrap();
    assert_eq!(value(Metric::Preemptions), f64::from(victims));
    let hours = naive.lost as f64 / (3600.0 * SECOND as f64);
    assert!((value(Metric::PreemptedNodeHours) - hours).abs() < 1e-9);
    let all = f64::from(SIDE * SIDE) * value(Metric::CompletionTime) * SECOND as f64;
    assert!((value(Metric::Utilization) - naive.busy as f64 / all).abs() < 1e-9);
    assert_eq!(result.values[Metric::Restarts], None);
    naive
}

fn bits(machine: &Grid, blocks: &[Block]) -> u64 {
    let holds = |&node: &u32| blocks.iter().any(|&it| machine.holds(it, NodeId(node)));
    (0..machine.nodes())
        .filter(holds)
        .map(|node| 1_u64 << node)
        .sum()
}

#[test]
fn no_urgent_job_waits_for_jobs_that_could_make_room() {
    let strategies = [
        (StrategyKind::FirstFit, Gets::Box { turns: false }),
        (StrategyKind::AdaptiveScan, Gets::Box { turns: true }),
        (StrategyKind::FreeSubmeshList, Gets::Box { turns: true }),
        (StrategyKind::Naive, Gets::Anything),
    ];
    let schedulers = [
        SchedulerKind::Fcfs,
        SchedulerKind::Easy { reservations: 1 },
        SchedulerKind::Conservative,
        SchedulerKind::BypassQueue {
            threshold: 20 * SECOND,
        },
        SchedulerKind::ShortestJobFirst {
            threshold: Ticks::MAX,
        },
    ];
    let mut of_all = [0; VICTIMS_MAX + 1];
    for seed in 0..200 {
        let (strategy, gets) = strategies[seed as usize % strategies.len()];
        let scheduler = schedulers[seed as usize / 4 % schedulers.len()];
        let grace = [0, 0, 1_500_000][seed as usize % 3];
        let checkpoint = [None, Some("2,0.1")][seed as usize / 2 % 2];
        let naive = check(seed, strategy, gets, scheduler, grace, checkpoint);
        for (of, count) in of_all.iter_mut().zip(naive.preemptions) {
            *of += count;
        }
    }
    assert!(of_all[..4].iter().all(|&count| count > 20), "{of_all:?}");
}
