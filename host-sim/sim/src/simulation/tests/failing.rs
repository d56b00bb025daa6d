//! Failures: by hand, under every strategy and scheduler, and errors.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use meshalloc::{NodeId, Threshold, Tolerance};

use super::*;
use crate::backend::{Called, GrowingStorage, OnEvent};
use crate::failures::{FailureSource, Failures, Restart, Timeline, file};
use crate::workload::text_file::TextFile;

mod closed_forms;
mod naive;
mod passes;

const SECOND: Ticks = 1_000_000;

fn failures(machine: Grid, source: &str, restart: Restart, checkpoint: Option<&str>) -> Failures {
    Failures {
        machine,
        cube: None,
        source: source.parse().unwrap(),
        restart,
        checkpoint: checkpoint.map(|text| text.parse().unwrap()),
    }
}

/// The same with the events of this text.
fn recorded(failures: &Failures, text: &str) -> Result<Failures, String> {
    let file = TextFile::new(text.as_bytes(), Path::new("events.csv"));
    let events = file::of_file(file, failures).map_err(|error| error.to_string())?;
    let path = "events.csv".into();
    let events = events.into();
    Ok(Failures {
        source: FailureSource::File { path, events },
        ..failures.clone()
    })
}

/// A backend that compares the controller with sets of processors after each change.
struct Checked<'b> {
    inner: &'b mut dyn Backend,
    machine: Grid,
    held: BTreeMap<JobId, BTreeSet<u32>>,
    waiting: BTreeSet<JobId>,
    faulty: BTreeSet<u32>,
    /// The faulty processors that jobs may have.
    tolerated: BTreeMap<JobId, u32>,
}

fn checked(machine: Grid, inner: &mut dyn Backend) -> Checked<'_> {
    Checked {
        inner,
        machine,
        held: BTreeMap::new(),
        waiting: BTreeSet::new(),
        faulty: BTreeSet::new(),
        tolerated: BTreeMap::new(),
    }
}

impl Checked<'_> {
    fn nodes(&self, block: Block) -> BTreeSet<u32> {
        let nodes = 0..self.machine.nodes();
        nodes
            .filter(|&node| self.machine.holds(block, NodeId(node)))
            .collect()
    }

    fn check(&mut self) {
        let Ok(Ok(Answer::Statistics(found))) = self.inner.query(&Query::Statistics) else {
            panic!("no statistics");
        };
        let mut busy = self.faulty.clone();
        for nodes in self.held.values() {
            busy.extend(nodes);
        }
        let held: usize = self.held.values().map(BTreeSet::len).sum();
        let all: BTreeSet<_> = self.held.values().flatten().collect();
        assert_eq!(held, all.len(), "jobs share processors");
        assert_eq!(found.free, self.machine.nodes() - busy.len() as u32);
        assert_eq!(found.faulty, self.faulty.len() as u32);
        assert_eq!(found.running, self.held.len() as u32);
        assert_eq!(found.waiting, self.waiting.len() as u32);
    }

    fn grant(&mut self, grants: Vec<(JobId, Vec<Block>)>) {
        for (job, blocks) in grants {
            let nodes: BTreeSet<_> = blocks.into_iter().flat_map(|it| self.nodes(it)).collect();
            let faulty = nodes.intersection(&self.faulty).count() as u32;
            assert!(faulty <= self.tolerated[&job], "{job} on faulty processors");
            assert!(self.waiting.remove(&job));
            self.held.insert(job, nodes);
        }
        self.check();
    }
}

impl Backend for Checked<'_> {
    fn call(&mut self, change: &Change, now: Ticks, on_event: OnEvent<'_>) -> Called<Outcome> {
        match *change {
            Change::Submit { job, request, .. } => {
                self.waiting.insert(job);
                self.tolerated.insert(job, request.tolerated());
            }
            Change::Release { job } => {
                let was_there = self.held.remove(&job).is_some() | self.waiting.remove(&job);
                assert!(was_there, "{job}");
            }
            Change::MarkFaulty { block } => self.faulty.extend(self.nodes(block)),
            Change::ClearFaulty { block } => {
                let nodes = self.nodes(block);
                self.faulty.retain(|node| !nodes.contains(node));
            }
            Change::Replace { job } => {
                assert!(self.held[&job].intersection(&self.faulty).next().is_some());
            }
            ref other => panic!("{other:?}"),
        }
        let mut grants = Vec::new();
        let outcome = self.inner.call(change, now, &mut |event, blocks| {
            grants.push((event.job, blocks.to_vec()));
            on_event(event, blocks);
        })?;
        if let (Change::Submit { job, .. }, Err(_)) = (change, &outcome) {
            self.waiting.remove(job);
        }
        // It gave back what it held, and is granted first.
        if let (Change::Replace { job }, Ok(_)) = (change, &outcome) {
            self.held.remove(job);
            self.waiting.insert(*job);
            assert_eq!(grants.first().map(|(first, _)| first), Some(job));
        }
        self.grant(grants);
        Ok(outcome)
    }

    fn requeue(&mut self, jobs: &[JobId], now: Ticks, on_event: OnEvent<'_>) -> Called<()> {
        for job in jobs {
            assert!(self.held.remove(job).is_some(), "{job}");
            self.waiting.insert(*job);
        }
        let mut grants = Vec::new();
        let outcome = self.inner.requeue(jobs, now, &mut |event, blocks| {
            grants.push((event.job, blocks.to_vec()));
            on_event(event, blocks);
        })?;
        self.grant(grants);
        Ok(outcome)
    }

    forward_backend!(it => it.inner; fits, requested, query, capacity, is_in_order, make_room);
}

/// When each job started first and left.
#[derive(Default)]
struct Times(BTreeMap<u32, (Option<Ticks>, Option<Ticks>)>);

impl Observer for Times {
    fn see(&mut self, seen: &Seen<'_>) {
        if let Seen::Job(record) = seen {
            self.0.insert(record.number, (record.start, record.end));
        }
    }
}

/// Runs jobs until all have left, first come, first served, in a table with this room.
fn run_jobs(
    machine: Grid,
    strategy: StrategyKind,
    room: usize,
    jobs: &[Job],
    failures: Option<Timeline>,
) -> Result<(RunResult, Times), SimulationError> {
    with_backend(machine, strategy, room, |inner| {
        run_checked(inner, machine, jobs, failures)
    })
}

/// The same with first fit, under any scheduler, in a table that grows if the scheduler chooses.
fn run_under(
    scheduler: SchedulerKind,
    machine: Grid,
    room: usize,
    jobs: &[Job],
    failures: Timeline,
) -> Result<(RunResult, Times), SimulationError> {
    let mut storage = GrowingStorage::default();
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler,
    };
    let mut inner = InProcess::growing(&mut storage, room, configuration, None)?;
    run_checked(&mut inner, machine, jobs, Some(failures))
}

fn run_checked(
    inner: &mut dyn Backend,
    machine: Grid,
    jobs: &[Job],
    failures: Option<Timeline>,
) -> Result<(RunResult, Times), SimulationError> {
    let mut backend = checked(machine, inner);
    let conditions = Conditions {
        failures,
        has_priorities: jobs.iter().any(|job| job.request.class.priority() > 0),
        ..Measured::Departures(jobs.len() as u32).into()
    };
    let mut times = Times::default();
    let jobs = jobs.iter().copied();
    let mut execution = FixedService::default();
    let result = run_with(
        &mut execution,
        conditions,
        &mut backend,
        machine,
        jobs,
        &mut times,
    )?;
    Ok((result, times))
}

/// Processor 12 of a mesh of 4 x 4, or another one, is down for half a second.
fn with_a_failure(
    scheduler: SchedulerKind,
    restart: Restart,
    (node, at): (u32, u32),
    jobs: &[Job],
) -> (RunResult, Times) {
    let machine = mesh(4, 4);
    let failures = failures(machine, "a.csv", restart, None);
    let events = format!("{at},node,{node},down\n{at}.5,node,{node},up\n");
    let failures = recorded(&failures, &format!("time,what,which,state\n{events}")).unwrap();
    let timeline = failures.timeline(1, 0).unwrap();
    run_under(scheduler, machine, 8, jobs, timeline).unwrap()
}

#[test]
fn a_failure_restarts_no_clock_of_a_waiting_job() {
    // Job 1 on processor 12 fails at 50 s and starts again at once, until 1,050 s. Job 3 has waited
    // for 84 s when job 4 arrives and for 94 s when job 2 leaves, so job 4 may not pass it. Under
    // SJF job 1 starts again only when it has waited for 80 s, at 85 s.
    let threshold = 80 * SECOND;
    for (scheduler, length, again) in [
        (SchedulerKind::BypassQueue { threshold }, 5, 50),
        (
            SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: threshold }),
            50,
            50,
        ),
        (SchedulerKind::ShortestJobFirst { threshold }, 50, 85),
    ] {
        let jobs = [
            job(0, 200, 4, 3),
            job(0, 1_000, 1, 1),
            job(0, 95, 1, 1),
            job(1, length, 4, 4),
            job(85, 5, 1, 1),
        ];
        let jobs = jobs.map(|job| {
            let estimate = job.work.service().unwrap();
            let request = job.request.with_estimate(estimate);
            Job { request, ..job }
        });
        let (_, times) = with_a_failure(scheduler, Restart::Elsewhere, (12, 50), &jobs);
        let start = again + 1_000 + length;
        assert_eq!(times.0[&4].0, Some(start * SECOND), "{scheduler:?}");
    }
}

#[test]
fn the_head_is_the_first_job_of_the_queue() {
    // Job 1 on processor 12 fails at 10 s and joins the end, behind job 2, which wants all.
    let jobs = [
        job(0, 1_000, 4, 3),
        job(0, 500, 1, 1),
        job(1, 5, 4, 4),
        job(900, 5, 1, 1),
    ];
    for restart in [Restart::Elsewhere, Restart::ElsewhereLast] {
        let (result, _) = with_a_failure(SchedulerKind::Fcfs, restart, (12, 10), &jobs);
        assert_values(&result, &[(Metric::ExternalFragmentation, 0.0)]);
    }
}

#[test]
fn all_successful_attempts_count() {
    // Job 0 on the first two rows fails at 50 s. Misses of job 4, which wants 2 x 3: when jobs 2
    // and 3 leave there is no place. Job 0 is granted twice.
    let jobs = [
        job(0, 100, 4, 2),
        job(0, 1_000, 1, 1),
        job(0, 10, 1, 1),
        job(0, 20, 1, 1),
        job(1, 5, 2, 3),
    ];
    let scheduler = SchedulerKind::Fcfs;
    let (result, _) = with_a_failure(scheduler, Restart::ElsewhereLast, (0, 50), &jobs);
    assert_values(&result, &[(Metric::AllocationMiss, 4.0 / 10.0)]);
}

fn by_hand(
    restart: Restart,
    checkpoint: Option<&str>,
    events: &str,
    jobs: &[Job],
) -> (RunResult, Times) {
    let machine = mesh(4, 1);
    let failures = failures(machine, "a.csv", restart, checkpoint);
    let failures = recorded(&failures, &format!("time,what,which,state\n{events}")).unwrap();
    let timeline = failures.timeline(1, 0).unwrap();
    run_jobs(machine, StrategyKind::FirstFit, 8, jobs, Some(timeline)).unwrap()
}

#[track_caller]
fn assert_values(result: &RunResult, expected: &[(Metric, f64)]) {
    for &(metric, expected) in expected {
        let found = result.values[metric].unwrap_or_else(|| panic!("{metric:?} has no value"));
        assert!(
            (found - expected).abs() < 1e-9,
            "{metric:?}: {found} instead of {expected}"
        );
    }
}

/// Jobs 0 and 1 on processors 0-1 and 2-3 from 0 s on, job 2 waits for both.
const THREE: [fn() -> Job; 3] = [|| job(0, 10, 2, 1), || job(0, 20, 2, 1), || job(1, 5, 4, 1)];

#[test]
fn a_job_ends_at_its_estimate_counted_from_its_latest_start() {
    // Three jobs side by side want 10 s. The estimate of job 0 is 6 s, that of job 1 is 10 s, and
    // job 2 has none. Processor 0 fails from 4 s to 7 s, so job 0 starts again at 7 s, for 6 s.
    let mut jobs = [0; 3].map(|at| job(at, 10, 1, 1));
    for (job, seconds) in jobs.iter_mut().zip([6, 10]) {
        job.request = job.request.with_estimate(seconds * SECOND);
    }
    let machine = mesh(4, 1);
    let in_place = failures(machine, "a.csv", Restart::InPlace, None);
    let events = "time,what,which,state\n4,node,0,down\n7,node,0,up\n";
    let timeline = recorded(&in_place, events).unwrap().timeline(1, 0).unwrap();
    let ends = |failures: Option<Timeline>, kill_at_estimate| {
        let mut storage = GrowingStorage::default();
        let configuration = Configuration {
            machine,
            strategy: StrategyKind::FirstFit,
            scheduler: SchedulerKind::Fcfs,
        };
        let mut inner = InProcess::growing(&mut storage, 8, configuration, None).unwrap();
        let conditions = Conditions {
            failures,
            switches: Switches {
                kill_at_estimate,
                ..Switches::default()
            },
            ..Measured::Departures(3).into()
        };
        let mut times = Times::default();
        let result = run_with(
            &mut FixedService::default(),
            conditions,
            &mut checked(machine, &mut inner),
            machine,
            jobs.iter().copied(),
            &mut times,
        );
        let killed = result.unwrap().values[Metric::KilledShare];
        (
            [0, 1, 2].map(|job| times.0[&job].1.unwrap() / SECOND),
            killed,
        )
    };
    let third = Some(1.0 / 3.0);
    assert_eq!(ends(None, true), ([6, 10, 10], third));
    assert_eq!(ends(Some(timeline.clone()), true), ([13, 10, 10], third));
    assert_eq!(ends(Some(timeline), false), ([17, 10, 10], None));
}

#[test]
fn in_place_by_hand() {
    // Processor 1 fails at 4 s: job 0 loses 4 s of two processors. It is repaired at 7 s, and job 0
    // runs to 17 s. Job 1 ends at 20 s, and job 2 runs until 25 s.
    let jobs = THREE.map(|job| job());
    let events = "4,node,1,down\n7,node,1,up\n";
    let (result, times) = by_hand(Restart::InPlace, None, events, &jobs);
    let seconds = |n: u64| Some(n * SECOND);
    assert_eq!(times.0[&0], (seconds(0), seconds(17)));
    assert_eq!(times.0[&1], (seconds(0), seconds(20)));
    assert_eq!(times.0[&2], (seconds(20), seconds(25)));
    assert_values(
        &result,
        &[
            (Metric::Restarts, 1.0),
            (Metric::RestartTime, 3.0),
            (Metric::LostNodeHours, 8.0 / 3600.0),
            (Metric::Availability, 1.0 - 3.0 / 100.0),
            (Metric::Utilization, (8.0 + 20.0 + 40.0 + 20.0) / 100.0),
        ],
    );
}

#[test]
fn jobs_that_tolerate_a_fault_by_hand() {
    let tolerant = |job: Job| Job {
        request: job.request.with_tolerance(Tolerance::new(1).unwrap()),
        ..job
    };
    let jobs = [tolerant(THREE[0]()), THREE[1](), tolerant(THREE[2]())];
    let seconds = |n: u64| Some(n * SECOND);
    let ends = |events, restarts| {
        let (result, times) = by_hand(Restart::InPlace, None, events, &jobs);
        assert_values(&result, &[(Metric::Restarts, restarts)]);
        [0, 1, 2].map(|job| times.0[&job])
    };
    // Processor 1 fails at 4 s for good: job 0 runs on, and job 2 gets the whole machine.
    let others = [(seconds(0), seconds(20)), (seconds(20), seconds(25))];
    let [zero, one, two] = ends("4,node,1,down\n", 0.0);
    assert_eq!((zero, [one, two]), ((seconds(0), seconds(10)), others));
    // Processor 0 fails, too, until 8 s: job 0 does not tolerate both, and starts again then.
    let events = "4,node,1,down\n6,node,0,down\n8,node,0,up\n";
    let [zero, one, two] = ends(events, 1.0);
    assert_eq!((zero, [one, two]), ((seconds(0), seconds(18)), others));
}

#[test]
fn a_checkpoint_by_hand() {
    // Job 0 works 3 s, saves 1 s, and so on: 0-3, 4-7, 8-11, 12-13. At 9 s it has two checkpoints,
    // of which 6 s of work are saved, and loses 1 s. Of the 4 s that are left it saves after 3:
    // 10-13, 14-15.
    let jobs = [job(0, 10, 2, 1)];
    let events = "9,node,0,down\n10,node,0,up\n";
    let (result, times) = by_hand(Restart::InPlace, Some("3,1"), events, &jobs);
    assert_eq!(times.0[&0].1, Some(15 * SECOND));
    assert_values(&result, &[(Metric::LostNodeHours, 2.0 / 3600.0)]);
    // A checkpoint that is not complete saves nothing.
    let events = "3.5,node,0,down\n4,node,0,up\n";
    let (result, times) = by_hand(Restart::InPlace, Some("3,1"), events, &jobs);
    assert_eq!(times.0[&0].1, Some(17 * SECOND));
    assert_values(&result, &[(Metric::LostNodeHours, 7.0 / 3600.0)]);
}

#[test]
fn elsewhere_by_hand() {
    // At 4 s job 0 loses its processors and is before job 2 in the queue, as it arrived earlier;
    // processor 0 is too few for it. At 20 s job 1 leaves, and job 0 runs on 2-3 until 30 s. At 29
    // s processor 1 works, and job 2 runs from 30 s.
    let jobs = THREE.map(|job| job());
    let events = "4,node,1,down\n29,node,1,up\n";
    let (result, times) = by_hand(Restart::Elsewhere, None, events, &jobs);
    let seconds = |n: u64| Some(n * SECOND);
    assert_eq!(times.0[&0], (seconds(0), seconds(30)));
    assert_eq!(times.0[&2], (seconds(30), seconds(35)));
    assert_values(
        &result,
        &[(Metric::RestartTime, 16.0), (Metric::Restarts, 1.0)],
    );
    // At the end of the queue it runs after job 2, which runs from 29 s.
    let (result, times) = by_hand(Restart::ElsewhereLast, None, events, &jobs);
    assert_eq!(times.0[&2], (seconds(29), seconds(34)));
    assert_eq!(times.0[&0], (seconds(0), seconds(44)));
    assert_values(&result, &[(Metric::RestartTime, 30.0)]);
}

#[test]
fn spares_by_hand() {
    // Boxes of one processor in a row of four, the last is the spare: job 0 on 0, job 1 on 1-2. Box
    // 1 fails at 2 s and job 1 starts again at once. Box 0 fails at 3 s without a spare: job 0
    // waits until box 1 is repaired at 8 s.
    let jobs = [job(0, 10, 1, 1), job(0, 10, 2, 1)];
    let events = "2,1x1,1,down\n3,1x1,0,down\n8,1x1,1,up\n9,1x1,0,up\n";
    let (result, times) = by_hand(Restart::Spare, None, events, &jobs);
    assert_eq!(times.0[&1].1, Some(12 * SECOND));
    assert_eq!(times.0[&0].1, Some(18 * SECOND));
    assert_values(
        &result,
        &[
            (Metric::Restarts, 2.0),
            (Metric::RestartTime, 2.5),
            (Metric::LostNodeHours, (2.0 * 2.0 + 3.0) / 3600.0),
            (Metric::Availability, 1.0 - (6.0 + 6.0) / (4.0 * 18.0)),
        ],
    );
}

#[test]
fn links_take_their_lower_end_along() {
    // The link from 1 to 2 is that of processor 1.
    let jobs = [job(0, 10, 1, 1), job(0, 10, 1, 1), job(0, 10, 1, 1)];
    let events = "4,link,1:0,down\n5,node,1,down\n6,link,1:0,up\n7,node,1,up\n";
    let (_, times) = by_hand(Restart::InPlace, None, events, &jobs);
    let ends: Vec<_> = times
        .0
        .values()
        .map(|times| times.1.unwrap() / SECOND)
        .collect();
    assert_eq!(ends, [10, 17, 10]);
}

#[test]
fn a_failure_comes_behind_the_other_events_of_its_time() {
    let jobs = [job(0, 10, 4, 1), job(10, 5, 4, 1)];
    let events = "10,node,0,down\n11,node,0,up\n";
    let (result, times) = by_hand(Restart::InPlace, None, events, &jobs);
    assert_eq!(times.0[&0].1, Some(10 * SECOND));
    assert_eq!(times.0[&1], (Some(10 * SECOND), Some(16 * SECOND)));
    assert_values(
        &result,
        &[(Metric::Restarts, 1.0), (Metric::LostNodeHours, 0.0)],
    );
}

#[test]
fn runs_that_cannot_end_are_errors() {
    let machine = mesh(4, 1);
    let jobs = [job(0, 10, 4, 1)];
    let run = |timeline| run_jobs(machine, StrategyKind::FirstFit, 8, &jobs, Some(timeline));
    let lasting = failures(machine, "a.csv", Restart::Elsewhere, None);
    let lasting = recorded(&lasting, "time,what,which,state\n4,node,1,down\n").unwrap();
    let error = run(lasting.timeline(1, 0).unwrap())
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        error,
        "no job can run any more, and 1 measured job has not left: 1 of 4 processors is down, \
         and no repair is due"
    );
    let often = failures(machine, "node:1,1", Restart::InPlace, None);
    let error = |jobs: &[Job]| {
        let timeline = Some(often.timeline(1, 0).unwrap());
        let result = run_jobs(machine, StrategyKind::FirstFit, 8, jobs, timeline);
        result.err().unwrap().to_string()
    };
    assert_eq!(
        error(&jobs),
        "no job ended during 1000000 failures and repairs in a row, and 1 measured job has not \
         left (expected failures that let jobs end)"
    );
    let with_later = [job(0, 10, 4, 1), job(10_000_000, 1, 1, 1)];
    let expected = "job 0 was interrupted 100000 times";
    assert!(error(&with_later).starts_with(expected));
}

#[test]
fn files_that_make_no_sense_are_errors() {
    let read = |restart, text: &str| {
        let failures = failures(mesh(4, 2), "a.csv", restart, None);
        recorded(&failures, &format!("time,what,which,state\n{text}")).unwrap_err()
    };
    for (text, expected) in [
        ("", "events.csv:2: no failure in it"),
        (
            "5,node,1,down\n4,node,2,down\n",
            "events.csv:3: its time is before",
        ),
        (
            ",node,1,down\n",
            "events.csv:2: time is \"\": expected seconds",
        ),
        (
            "5,node,8,down\n",
            "events.csv:2: which is \"8\": expected a number from 0 to 7",
        ),
        (
            "5,link,3:0,down\n",
            "events.csv:2: which is \"3:0\": expected NODE:DIMENSION",
        ),
        ("5,nod,1,down\n", "did you mean \"node\"?"),
        ("5,cube,1,down\n", "the machine has no cubes"),
        (
            "5,3x1,1,down\n",
            "events.csv:2: what is \"3x1\": expected sides that divide",
        ),
        (
            "5,node,1,up\n",
            "events.csv:2: node 1 is not down (expected down)",
        ),
        (
            "5,node,1,down\n6,node,1,down\n",
            "events.csv:3: node 1 is down already (expected up)",
        ),
        (
            "5,node,1,broken\n",
            "events.csv:2: state is \"broken\": expected down or up",
        ),
        (
            "5,node,1\n",
            "events.csv:2: 3 cells (expected 4, as in the header)",
        ),
    ] {
        let error = read(Restart::InPlace, text);
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    let error = read(Restart::Spare, "5,node,1,down\n");
    assert!(
        error.contains("expected cubes or boxes, at least two in a row"),
        "{error}"
    );
    let error = read(Restart::Spare, "5,4x1,1,down\n");
    assert!(error.contains("at least two in a row"), "{error}");
    let error = read(Restart::Spare, "5,2x1,1,down\n6,1x1,1,down\n");
    assert!(
        error.contains("events.csv:3: what is \"1x1\": expected 2x1"),
        "{error}"
    );
    let failures = failures(mesh(4, 2), "a.csv", Restart::InPlace, None);
    let error = recorded(&failures, "time,what,which\n").unwrap_err();
    assert!(
        error.contains("events.csv:1: no column is called state"),
        "{error}"
    );
}

/// Numbers below a bound, one after the other.
fn draws(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Every strategy, scheduler and way to start again: the controller agrees with sets of processors
/// after every change, and all jobs end.
#[test]
fn every_strategy_and_scheduler_stays_consistent() {
    let machine = mesh(8, 8);
    let mut below = draws(7);
    let mut arrival = 0;
    let jobs: Vec<_> = (0..60)
        .map(|_| {
            arrival += below(4 * SECOND);
            let request = Request::submesh(1 + below(5) as u16, 1 + below(5) as u16);
            let service = 1 + below(20 * SECOND);
            let tolerance = Tolerance::new(below(3) as u8).unwrap();
            Job {
                arrival,
                work: Work::Service(service),
                request: request.with_estimate(service).with_tolerance(tolerance),
            }
        })
        .collect();
    let mut combinations = Vec::new();
    for strategy in of_meshes() {
        combinations.push((strategy, SchedulerKind::Fcfs));
    }
    let forms = SchedulerKind::INFO.iter().flat_map(|info| info.forms);
    for scheduler in forms.filter_map(|form| SchedulerKind::from_form(form, 5, SECOND)) {
        combinations.push((StrategyKind::FirstFit, scheduler));
    }
    let mut restarts = 0.0;
    for (strategy, scheduler) in combinations {
        for restart in [Restart::InPlace, Restart::Elsewhere, Restart::ElsewhereLast] {
            for what in ["node:600,30", "link:1000,20", "2x4:300,10"] {
                let failures = failures(machine, what, restart, Some("5,0.1"));
                let timeline = failures.timeline(3, 0).unwrap();
                let mut storage = heap_storage(machine, None, strategy, 40);
                let configuration = Configuration {
                    machine,
                    strategy: strategy.seeded(1),
                    scheduler,
                };
                let mut inner = InProcess::new(storage.memory(), configuration).unwrap();
                let run = run_checked(&mut inner, machine, &jobs, Some(timeline));
                let (result, _) =
                    run.unwrap_or_else(|error| panic!("{strategy}, {scheduler:?}: {error}"));
                let served = result.values[Metric::Jobs].unwrap() + result.refused.total() as f64;
                assert_eq!(served, 60.0, "{strategy}, {scheduler:?}");
                restarts += result.values[Metric::Restarts].unwrap();
            }
        }
    }
    // Most failures are tolerated.
    assert!(restarts > 500.0, "{restarts}");
}

/// Failures have random numbers of their own: the jobs are the same, and with failures that never
/// happen so are the decisions.
#[test]
fn jobs_are_the_same_with_and_without_failures() {
    let machine = mesh(8, 8);
    let mut below = draws(3);
    let mut arrival = 0;
    let jobs: Vec<_> = (0..300)
        .map(|_| {
            arrival += below(3 * SECOND);
            Job {
                arrival,
                work: Work::Service(1 + below(20 * SECOND)),
                request: Request::submesh(1 + below(4) as u16, 1 + below(4) as u16),
            }
        })
        .collect();
    let run = |failures| {
        run_jobs(machine, StrategyKind::BestFit, 400, &jobs, failures)
            .unwrap()
            .0
    };
    let without = run(None);
    for restart in [Restart::InPlace, Restart::Elsewhere, Restart::ElsewhereLast] {
        let seldom = failures(machine, "node:2e9,1", restart, None);
        let seldom = run(Some(seldom.timeline(1, 0).unwrap()));
        assert_eq!(seldom.decision_hash, without.decision_hash);
        assert_values(
            &seldom,
            &[(Metric::Availability, 1.0), (Metric::Restarts, 0.0)],
        );
    }
    assert_eq!(without.values[Metric::Availability], None);
    let one = failures(machine, "node:100,10", Restart::InPlace, None);
    let [a, b, c] = [(1, 0), (1, 0), (1, 1)].map(|(seed, replication)| {
        let mut timeline = one.timeline(seed, replication).unwrap();
        (0..50).map(|_| timeline.take()).collect::<Vec<_>>()
    });
    assert!(a == b && a != c);
}

#[test]
fn boxes_are_numbered_as_processors_are() {
    let machine = Grid::torus(&[4, 4, 2]).unwrap();
    let boxes = failures(machine, "a.csv", Restart::InPlace, None);
    let text = "time,what,which,state\n1,2x2x1,3,down\n2,link,3:0,down\n3,link,3:2,down\n";
    let boxes = recorded(&boxes, text).unwrap();
    let mut timeline = boxes.timeline(1, 0).unwrap();
    let mut block = || match timeline.take().unwrap().effect {
        crate::failures::Effect::Down(block) => machine.place(block).to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(block(), "(2, 2, 0)+(2, 2, 1)");
    assert_eq!(block(), "(3, 0, 0)+(1, 1, 1)");
    assert_eq!(block(), "(3, 0, 0)+(1, 1, 1)");
}

#[test]
fn jobs_without_a_place_beside_the_spares_are_refused() {
    // Boxes of 2 x 2 in two rows of three on 6 x 4: columns 4 and 5 are spares. 5 x 4 and 5 x 1
    // never fit.
    let machine = mesh(6, 4);
    for form in SchedulerKind::INFO.iter().flat_map(|info| info.forms) {
        let scheduler = SchedulerKind::from_form(form, 5, SECOND).unwrap();
        let failures = failures(machine, "2x2:1e9,1", Restart::Spare, None);
        let timeline = failures.timeline(1, 0).unwrap();
        let strategy = StrategyKind::FirstFit;
        let mut storage = heap_storage(machine, None, strategy, 20);
        let configuration = Configuration {
            machine,
            strategy,
            scheduler,
        };
        let mut inner = InProcess::new(storage.memory(), configuration).unwrap();
        let jobs = [
            job(0, 10, 4, 4),
            job(1, 3, 5, 4),
            job(2, 4, 4, 2),
            job(3, 5, 5, 1),
            job(4, 6, 2, 2),
        ];
        let run = run_checked(&mut inner, machine, &jobs, Some(timeline));
        let (result, _) = run.unwrap_or_else(|error| panic!("{scheduler:?}: {error}"));
        let refused: Vec<_> = result.refused.iter().collect();
        assert_eq!(refused, [(Refusal::NeverFits, 2)], "{scheduler:?}");
        assert_values(&result, &[(Metric::Jobs, 3.0)]);
    }
}
