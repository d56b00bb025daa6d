//! Jobs that make room for urgent ones in a run, against a naive model of the machine, which sees
//! only the changes and the grants.

use std::collections::BTreeMap;
use std::num::NonZero;

use meshalloc::{
    Block, Change, Class, Configuration, EventKind, Grid, JobId, NodeId, Outcome, Request,
    SchedulerKind, StrategyKind, Ticks, VICTIMS_MAX,
};
use meshalloc_sim::backend::{Around, Backends, InProcessBackends};
use meshalloc_sim::experiment::{run, run_observed, run_parallel};
use meshalloc_sim::failures::Checkpoint;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::scenario::Scenario;
use meshalloc_sim::simulation::{
    Conditions, FixedService, Measured, Preempts, RunResult, Seen, run_with,
};
use meshalloc_sim::workload::{Job, SharedLogs, Work};
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

    /// Saves, and what remains of the work after this time; the lost part.
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

/// Runs the jobs and compares each step. Returns the model and the result.
fn check(
    seed: u64,
    strategy: StrategyKind,
    gets: Gets,
    scheduler: SchedulerKind,
    grace: Ticks,
    checkpoint: Option<&str>,
) -> (Naive, RunResult) {
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
        reasons: Some((configuration, None)),
        preemption: Some(Preempts {
            configuration,
            description: None,
            grace,
            checkpoint,
        }),
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
    (naive, result)
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
        let (naive, _) = check(seed, strategy, gets, scheduler, grace, checkpoint);
        for (of, count) in of_all.iter_mut().zip(naive.preemptions) {
            *of += count;
        }
    }
    assert!(of_all[..4].iter().all(|&count| count > 20), "{of_all:?}");
}

/// When each job started first and left, in seconds, and how often it made room. Jobs of a trace on
/// four processors in a row.
type Times = Vec<(f64, f64, u32)>;

fn by_hand(jobs: &str, others: &[(&str, &str)]) -> (Times, RunResult) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a.csv");
    let text = format!("submit,run,shape,priority,preemptible\n{jobs}");
    std::fs::write(&log, text).unwrap();
    let settings = [
        ("mesh", "4x1"),
        ("log", log.to_str().unwrap()),
        ("strategy", "ff"),
    ];
    let settings = settings.iter().chain(others).copied();
    let resolved = Scenario::of(settings).unwrap().resolve().unwrap();
    let plan = resolved.experiment(&SharedLogs::default()).unwrap();
    let mut times = BTreeMap::new();
    let mut observer = |seen: &Seen<'_>| {
        if let Seen::Job(it) = seen {
            let [start, end] = [it.start, it.end].map(|ticks| ticks.unwrap() as f64 / 1e6);
            times.insert(it.number, (start, end, it.preemptions));
        }
    };
    let backends = &mut InProcessBackends::default();
    let result = run_observed(&plan, plan.strategies[0], 0, backends, &(), &mut observer);
    (times.into_values().collect(), result.unwrap())
}

/// A job that ends in the grace time leaves as any other does, and the first choice binds nobody.
#[test]
fn a_grace_time_by_hand() {
    let times = |jobs: &str, rule| by_hand(jobs, &[("preemption", rule)]).0;
    // Job 1 goes at once, or 5 s later: it has run for a shorter time than job 0.
    let two = "0,100,2x1,,1\n1,100,2x1,,1\n10,5,2x1,60,\n";
    let expected = [(0.0, 100.0, 0), (1.0, 115.0, 1), (10.0, 15.0, 0)];
    assert_eq!(times(two, "on"), expected);
    let expected = [(0.0, 100.0, 0), (1.0, 120.0, 1), (15.0, 20.0, 0)];
    assert_eq!(times(two, "on:5"), expected);
    // Job 1 ends by itself, before the end of the grace time or at it: nobody goes.
    let ends = "0,100,2x1,,1\n1,11,2x1,,1\n10,5,2x1,60,\n";
    let expected = [(0.0, 100.0, 0), (1.0, 12.0, 0), (12.0, 17.0, 0)];
    assert_eq!(times(ends, "on:5"), expected);
    let ends = "0,100,2x1,,1\n1,14,2x1,,1\n10,5,2x1,60,\n";
    let expected = [(0.0, 100.0, 0), (1.0, 15.0, 0), (15.0, 20.0, 0)];
    assert_eq!(times(ends, "on:5"), expected);
    // The same, and job 2 is before job 3 in the queue, and does not fit. Job 3 starts all the same.
    let fits = "0,100,2x1,,1\n1,11,2x1,,1\n2,50,4x1,,\n10,5,2x1,7,\n";
    assert_eq!(times(fits, "on:5")[3], (12.0, 17.0, 0));
    // Of those that were to go for job 2, job 0 ends at 12 s. Job 1 goes at the time that was named.
    let one_ends = "0,12,2x1,,1\n1,100,2x1,,1\n10,5,4x1,60,\n";
    let expected = [(0.0, 12.0, 0), (1.0, 120.0, 1), (15.0, 20.0, 0)];
    assert_eq!(times(one_ends, "on:5"), expected);
    // Job 1 is to go; when it ends, job 3 takes its place, out of turn, and has least to lose.
    let other = "0,100,2x1,,1\n1,11,2x1,,1\n10,5,4x1,60,\n11,50,2x1,,1\n";
    let other = by_hand(
        other,
        &[("preemption", "on:5"), ("scheduler", "bypass-queue:1h")],
    )
    .0;
    let expected = [
        (0.0, 120.0, 1),
        (1.0, 12.0, 0),
        (15.0, 20.0, 0),
        (12.0, 70.0, 1),
    ];
    assert_eq!(other, expected);
}

/// What failures and other jobs make a job lose is counted apart. Job 0 fails at 3 s, starts again
/// at 4 s, makes room at 6 s, and starts again at 8 s.
#[test]
fn failures_and_preemption_are_counted_apart() {
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events.csv");
    let text = "time,what,which,state\n3,node,0,down\n4,node,0,up\n";
    std::fs::write(&events, text).unwrap();
    let jobs = "0,10,4x1,,1\n6,2,4x1,60,\n";
    let failures = ("failures", events.to_str().unwrap());
    for restart in ["elsewhere", "elsewhere:last", "replace"] {
        let settings = [failures, ("restart", restart), ("preemption", "on")];
        let (times, result) = by_hand(jobs, &settings);
        assert_eq!(times, [(0.0, 18.0, 1), (6.0, 8.0, 0)], "{restart}");
        let value = |metric| result.values[metric].unwrap();
        assert_eq!(
            (value(Metric::Restarts), value(Metric::Preemptions)),
            (1.0, 1.0)
        );
        assert_eq!(value(Metric::RestartTime), 1.0);
        let seconds = |metric| (value(metric) * 3600.0 / 4.0).round();
        let lost = [Metric::LostNodeHours, Metric::PreemptedNodeHours].map(seconds);
        assert_eq!(lost, [3.0, 2.0]);
        let with_checkpoint = [&settings[..], &[("checkpoint", "1")]].concat();
        let (times, result) = by_hand(jobs, &with_checkpoint);
        assert_eq!(times, [(0.0, 13.0, 1), (6.0, 8.0, 0)], "{restart}");
        assert_eq!(result.values[Metric::PreemptedNodeHours], Some(0.0));
    }
    // A checkpoint needs no failures.
    let settings = [("preemption", "on"), ("checkpoint", "4,1")];
    let (times, result) = by_hand(jobs, &settings);
    // The first is complete at 5 s; of 10 s of work 6 s are left, with one more.
    assert_eq!(times, [(0.0, 15.0, 1), (6.0, 8.0, 0)]);
    assert_eq!(result.values[Metric::Restarts], None);
    let lost = result.values[Metric::PreemptedNodeHours].unwrap() * 3600.0;
    assert!((lost - 4.0).abs() < 1e-9, "{lost}");
}

/// A mix in which some jobs may preempt others.
#[test]
fn any_number_of_threads_gives_the_same_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mix = folder.path().join("mix.csv");
    let rows = "4x4,3,,1\n2x6,2,30,1\n6x6,1,600,\n3x3,3,60,0\n";
    std::fs::write(&mix, format!("shape,weight,priority,preemptible\n{rows}")).unwrap();
    let settings = |preemption| {
        let settings = [
            ("mesh", "8x8"),
            ("mix", mix.to_str().unwrap()),
            ("strategy", "ff,as,naive"),
            ("scheduler", "easy"),
            ("load", "0.6"),
            ("jobs", "300"),
            ("replications", "5"),
            ("preemption", preemption),
        ];
        let resolved = Scenario::of(settings).unwrap().resolve().unwrap();
        resolved.experiment(&SharedLogs::default()).unwrap()
    };
    for preemption in ["on", "on:3s"] {
        let experiment = settings(preemption);
        let alone = run(&experiment, &mut InProcessBackends::default(), &()).unwrap();
        let preemptions = alone[0].metrics[Metric::Preemptions].unwrap().mean;
        assert!(preemptions > 5.0, "{preemptions}");
        for threads in 1..4 {
            let backends = InProcessBackends::default;
            let threads = NonZero::new(threads);
            let again = run_parallel(&experiment, threads, &backends, &()).unwrap();
            assert_eq!(again, alone);
        }
    }
    // Off is as if it were not given.
    let off = settings("off");
    assert_eq!(off.preemption, None);
}
