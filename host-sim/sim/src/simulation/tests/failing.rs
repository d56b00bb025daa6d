//! Failures: by hand, beside a naive simulation of small machines, and closed forms.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use meshalloc::NodeId;

use super::*;
use crate::failures::{Checkpoint, FailureSource, Failures, Restart, Timeline, file};
use crate::workload::text_file::TextFile;

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
fn recorded(failures: Failures, text: &str) -> Result<Failures, String> {
    let file = TextFile::new(text.as_bytes(), Path::new("events.csv"));
    let events = file::of_file(file, &failures).map_err(|error| error.to_string())?;
    let path = "events.csv".into();
    let events = events.into();
    Ok(Failures {
        source: FailureSource::File { path, events },
        ..failures
    })
}

/// A backend that compares the controller with sets of processors after each change.
struct Checked<'b> {
    inner: &'b mut dyn Backend,
    machine: Grid,
    held: BTreeMap<JobId, BTreeSet<u32>>,
    waiting: BTreeSet<JobId>,
    faulty: BTreeSet<u32>,
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
}

impl Backend for Checked<'_> {
    fn call(
        &mut self,
        change: &Change,
        now: Ticks,
        on_event: OnEvent<'_>,
    ) -> Result<Result<Outcome, Error>, BackendError> {
        match *change {
            Change::Submit { job, .. } => drop(self.waiting.insert(job)),
            Change::Release { job } => {
                let was_there = self.held.remove(&job).is_some() | self.waiting.remove(&job);
                assert!(was_there, "{job}");
            }
            Change::MarkFaulty { block } => self.faulty.extend(self.nodes(block)),
            Change::ClearFaulty { block } => {
                let nodes = self.nodes(block);
                self.faulty.retain(|node| !nodes.contains(node));
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
        for (job, blocks) in grants {
            let nodes: BTreeSet<_> = blocks.into_iter().flat_map(|it| self.nodes(it)).collect();
            assert!(
                nodes.is_disjoint(&self.faulty),
                "{job} on faulty processors"
            );
            assert!(self.waiting.remove(&job));
            self.held.insert(job, nodes);
        }
        self.check();
        Ok(outcome)
    }

    fn query(&mut self, query: &Query) -> Result<Result<Answer, Error>, BackendError> {
        self.inner.query(query)
    }

    fn capacity(&self) -> Capacity {
        self.inner.capacity()
    }

    fn is_in_order(&self) -> bool {
        self.inner.is_in_order()
    }

    fn make_room(&mut self) -> bool {
        self.inner.make_room()
    }
}

/// When each job started first and left.
#[derive(Default)]
struct Times(BTreeMap<u32, (Option<Ticks>, Option<Ticks>)>);

impl Observer for Times {
    fn job(&mut self, record: &JobRecord<'_>) {
        self.0.insert(record.number, (record.start, record.end));
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
        let mut backend = Checked {
            inner,
            machine,
            held: BTreeMap::new(),
            waiting: BTreeSet::new(),
            faulty: BTreeSet::new(),
        };
        let conditions = Conditions {
            failures,
            ..Measured::Departures(jobs.len() as u32).into()
        };
        let mut times = Times::default();
        let jobs = jobs.iter().copied();
        let execution = FixedService::default();
        let result = run_with(
            execution,
            conditions,
            &mut backend,
            machine,
            jobs,
            &mut times,
        )?;
        Ok((result, times))
    })
}

fn by_hand(
    restart: Restart,
    checkpoint: Option<&str>,
    events: &str,
    jobs: &[Job],
) -> (RunResult, Times) {
    let machine = mesh(4, 1);
    let failures = failures(machine, "a.csv", restart, checkpoint);
    let failures = recorded(failures, &format!("time,what,which,state\n{events}")).unwrap();
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
fn in_place_by_hand() {
    // Processor 1 fails at 4 s: job 0 loses 4 s of two processors. It is repaired at 7 s, and job 0 runs to 17 s. Job 1
    // ends at 20 s, and job 2 runs until 25 s.
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
fn a_checkpoint_by_hand() {
    // Job 0 works 3 s, saves 1 s, and so on: 0-3, 4-7, 8-11, 12-13. At 9 s it has two checkpoints, of which 6 s of work
    // are saved, and loses 1 s. Of the 4 s that are left it saves after 3: 10-13, 14-15.
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
    // At 4 s job 0 loses its processors and is before job 2 in the queue, as it arrived earlier; processor 0 is too few
    // for it. At 20 s job 1 leaves, and job 0 runs on 2-3 until 30 s. At 29 s processor 1 works, and job 2 runs from 30 s.
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
    // Boxes of one processor in a row of four, the last is the spare: job 0 on 0, job 1 on 1-2. Box 1 fails at 2 s and job
    // 1 starts again at once. Box 0 fails at 3 s without a spare: job 0 waits until box 1 is repaired at 8 s.
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
    let lasting = recorded(lasting, "time,what,which,state\n4,node,1,down\n").unwrap();
    let error = run(lasting.timeline(1, 0).unwrap())
        .err()
        .unwrap()
        .to_string();
    assert_eq!(error, "jobs wait (1), none runs and none will arrive");
    let often = failures(machine, "node:1,1", Restart::InPlace, None);
    let error = run(often.timeline(1, 0).unwrap())
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.starts_with("job 0 was interrupted 100000 times"),
        "{error}"
    );
}

#[test]
fn files_that_make_no_sense_are_errors() {
    let read = |restart, text: &str| {
        let failures = failures(mesh(4, 2), "a.csv", restart, None);
        recorded(failures, &format!("time,what,which,state\n{text}")).unwrap_err()
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
            "events.csv:2: which is \"3:0\": expected PROCESSOR:DIMENSION",
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
        ("5,node,1\n", "events.csv:2: 3 cells (expected 4 cells"),
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
    let error = recorded(failures, "time,what,which\n").unwrap_err();
    assert!(
        error.contains("events.csv:1: no column is called state"),
        "{error}"
    );
}

/// What fails and is repaired: at which time, which processor, and whether it fails.
type Events = Vec<(Ticks, usize, bool)>;

/// A job of the naive simulation.
#[derive(Clone, Debug)]
struct Naive {
    arrival: Ticks,
    width: usize,
    left: Ticks,
    state: NaiveState,
    first_start: Option<Ticks>,
    end: Option<Ticks>,
    lost: Ticks,
    saving: Ticks,
    restarts: u32,
    until_restart: Ticks,
    interrupted: Ticks,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum NaiveState {
    Future,
    Queued,
    Runs { start: Ticks, at: usize },
    Stopped { at: usize },
    Done,
}

/// Processor ticks of each kind, and the integral of the metric of external fragmentation.
#[derive(Debug, Default)]
struct Kinds {
    busy: u64,
    down: u64,
    idle: u64,
    fragmented: u64,
}

/// A row of processors, first fit, first come, first served: everything is looked for anew at each event. Times are so that
/// no two events of different kinds coincide.
struct NaiveRow {
    width: usize,
    restart: Restart,
    checkpoint: Option<Checkpoint>,
    jobs: Vec<Naive>,
    queue: Vec<usize>,
    /// Physical processors that have failed.
    failed: Vec<bool>,
    /// With spares: the processor in each place, and which are in none.
    place: Vec<Option<usize>>,
    unused: Vec<usize>,
    /// Places in the order in which they went down.
    waiting_places: Vec<usize>,
    now: Ticks,
    kinds: Kinds,
}

impl NaiveRow {
    fn places(&self) -> usize {
        self.width - usize::from(self.restart == Restart::Spare)
    }

    fn works(&self, place: usize) -> bool {
        place < self.places() && self.place[place].is_some_and(|cube| !self.failed[cube])
    }

    fn holder(&self, place: usize) -> Option<usize> {
        self.jobs.iter().position(|job| match job.state {
            NaiveState::Runs { at, .. } | NaiveState::Stopped { at } => {
                (at..at + job.width).contains(&place)
            }
            _ => false,
        })
    }

    /// How long a job with so much work left runs, one stretch of work after the other.
    fn length(&self, mut left: Ticks) -> Ticks {
        let mut length = 0;
        if let Some(Checkpoint { interval, cost }) = self.checkpoint {
            while left > interval {
                length += interval + cost;
                left -= interval;
            }
        }
        length + left
    }

    fn run(&mut self, events: &Events) {
        let mut events = events.iter().peekable();
        while self.jobs.iter().any(|job| job.state != NaiveState::Done) {
            let of_job = |job: &Naive| match job.state {
                NaiveState::Future => Some(job.arrival),
                NaiveState::Runs { start, .. } => Some(start + self.length(job.left)),
                _ => None,
            };
            let next = self.jobs.iter().filter_map(of_job).min();
            let next_event = events.peek().map(|event| event.0);
            let at = [next, next_event].into_iter().flatten().min().unwrap();
            self.account(at - self.now);
            self.now = at;
            if next == Some(at) {
                self.arrive_and_depart();
            } else {
                let &(_, cube, fails) = events.next().unwrap();
                self.change(cube, fails);
            }
            self.start_jobs();
        }
    }

    fn account(&mut self, span: Ticks) {
        let mut free = 0;
        for place in 0..self.width {
            let job = self.holder(place).map(|job| &self.jobs[job]);
            match job {
                Some(Naive {
                    state: NaiveState::Runs { .. },
                    ..
                }) => self.kinds.busy += span,
                None if self.works(place) => free += 1,
                _ => {}
            }
        }
        let down = self.failed.iter().filter(|&&failed| failed).count() as u64;
        self.kinds.down += down * span;
        // What is left: free, set aside, or held by a job that waits for a repair.
        let busy_now = (0..self.width).filter(|&place| {
            let job = self.holder(place).map(|job| self.jobs[job].state);
            matches!(job, Some(NaiveState::Runs { .. }))
        });
        self.kinds.idle += (self.width as u64 - down - busy_now.count() as u64) * span;
        let first = self.jobs.iter().find(|job| job.state == NaiveState::Queued);
        if first.is_some_and(|job| job.width <= free) {
            self.kinds.fragmented += free as u64 * span;
        }
    }

    fn arrive_and_depart(&mut self) {
        for number in 0..self.jobs.len() {
            let length = self.length(self.jobs[number].left);
            let job = &mut self.jobs[number];
            match job.state {
                NaiveState::Future if job.arrival == self.now => {
                    job.state = NaiveState::Queued;
                    self.queue.push(number);
                }
                NaiveState::Runs { start, .. } if start + length == self.now => {
                    job.saving += length - job.left;
                    job.left = 0;
                    job.state = NaiveState::Done;
                    job.end = Some(self.now);
                }
                _ => {}
            }
        }
    }

    /// A processor fails or is repaired.
    fn change(&mut self, cube: usize, fails: bool) {
        self.failed[cube] = fails;
        let place = self.place.iter().position(|&other| other == Some(cube));
        let mut hit = None;
        if self.restart != Restart::Spare {
            hit = place.filter(|_| fails);
        } else if fails {
            if let Some(place) = place {
                hit = Some(place);
                self.place[place] = None;
                if self.unused.is_empty() {
                    self.waiting_places.push(place);
                } else {
                    self.place[place] = Some(self.unused.remove(0));
                }
            } else {
                self.unused.retain(|&other| other != cube);
            }
        } else if self.waiting_places.is_empty() {
            self.unused.push(cube);
        } else {
            let place = self.waiting_places.remove(0);
            self.place[place] = Some(cube);
        }
        let number = hit.and_then(|place| self.holder(place));
        if let Some(number) = number
            && let NaiveState::Runs { start, at } = self.jobs[number].state
        {
            self.interrupt(number, start, at);
        }
    }

    fn interrupt(&mut self, number: usize, start: Ticks, at: usize) {
        let job = &mut self.jobs[number];
        let mut ran = self.now - start;
        if let Some(Checkpoint { interval, cost }) = self.checkpoint {
            while ran >= interval + cost && job.left > interval {
                ran -= interval + cost;
                job.left -= interval;
                job.saving += cost;
            }
        }
        job.lost += ran;
        job.interrupted = self.now;
        job.restarts += 1;
        job.state = NaiveState::Stopped { at };
        match self.restart {
            Restart::InPlace | Restart::Spare => {}
            Restart::Elsewhere => {
                job.state = NaiveState::Queued;
                self.queue.push(number);
                self.queue.sort_unstable();
            }
            Restart::ElsewhereLast => {
                job.state = NaiveState::Queued;
                self.queue.push(number);
            }
        }
    }

    fn start_jobs(&mut self) {
        for number in 0..self.jobs.len() {
            if let NaiveState::Stopped { at } = self.jobs[number].state
                && (at..at + self.jobs[number].width).all(|place| self.works(place))
            {
                self.start(number, at);
            }
        }
        while let Some(&number) = self.queue.first() {
            let width = self.jobs[number].width;
            let is_free = |place| self.works(place) && self.holder(place).is_none();
            let fits = |at: &usize| (*at..at + width).all(is_free);
            let Some(at) = (0..=self.width - width).find(fits) else {
                break;
            };
            self.queue.remove(0);
            self.start(number, at);
        }
    }

    fn start(&mut self, number: usize, at: usize) {
        let (now, job) = (self.now, &mut self.jobs[number]);
        job.state = NaiveState::Runs { start: now, at };
        match job.first_start {
            None => job.first_start = Some(now),
            Some(_) => job.until_restart += now - job.interrupted,
        }
    }
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

#[test]
fn a_naive_simulation_gives_the_same() {
    let modes = [
        Restart::InPlace,
        Restart::Spare,
        Restart::Elsewhere,
        Restart::ElsewhereLast,
    ];
    let mut restarts = [0; 4];
    for case in 0..600 {
        let mut below = draws(case);
        let mode = case as usize % 4;
        let restart = modes[mode];
        let width = 3 + below(5) as usize;
        let most = width - usize::from(restart == Restart::Spare);
        let checkpoint = (below(2) == 0).then(|| Checkpoint {
            interval: 1 + below(8 * SECOND),
            cost: below(SECOND),
        });
        // Ends of their times keep arrivals, departures and failures apart.
        let mut arrival = 0;
        let jobs: Vec<Job> = (0..12)
            .map(|_| {
                arrival += below(6 * SECOND);
                Job {
                    arrival,
                    work: Work::Service(1 + below(20 * SECOND)),
                    request: Request::submesh(1 + below(most as u64) as u16, 1),
                }
            })
            .collect();
        let (mut at, mut down, mut events) = (0, vec![false; width], Events::new());
        for _ in 0..20 {
            at += 1 + below(8 * SECOND);
            let cube = below(width as u64) as usize;
            down[cube] = !down[cube];
            events.push((at, cube, down[cube]));
        }
        for cube in (0..width).filter(|&cube| down[cube]) {
            at += SECOND;
            events.push((at, cube, false));
        }
        let mut text = "time,what,which,state\n".to_owned();
        for &(at, cube, fails) in &events {
            let (seconds, what) = (at as f64 / 1e6, if mode == 1 { "1x1" } else { "node" });
            let state = if fails { "down" } else { "up" };
            writeln!(text, "{seconds},{what},{cube},{state}").unwrap();
        }
        let machine = mesh(width as u16, 1);
        let described = Failures {
            checkpoint,
            ..failures(machine, "a.csv", restart, None)
        };
        let described = recorded(described, &text).unwrap();
        let timeline = described.timeline(1, 0).unwrap();
        // A small table keeps jobs here.
        let room = if case % 3 == 0 { width + 1 } else { 64 };
        let strategy = StrategyKind::FirstFit;
        let (result, times) = run_jobs(machine, strategy, room, &jobs, Some(timeline)).unwrap();
        let places = width - usize::from(mode == 1);
        let mut naive = NaiveRow {
            width,
            restart,
            checkpoint,
            jobs: Vec::new(),
            queue: Vec::new(),
            failed: vec![false; width],
            place: (0..places).map(Some).collect(),
            unused: (places..width).collect(),
            waiting_places: Vec::new(),
            now: 0,
            kinds: Kinds::default(),
        };
        for job in &jobs {
            naive.jobs.push(Naive {
                arrival: job.arrival,
                width: job.request.processors as usize,
                left: job.work.service().unwrap(),
                state: NaiveState::Future,
                first_start: None,
                end: None,
                lost: 0,
                saving: 0,
                restarts: 0,
                until_restart: 0,
                interrupted: 0,
            });
        }
        naive.run(&events);
        compare(case, &jobs, &result, &times, &naive);
        restarts[mode] += naive.jobs.iter().map(|job| job.restarts).sum::<u32>();
    }
    assert!(
        restarts.iter().all(|&restarts| restarts > 100),
        "{restarts:?}"
    );
}

/// What the simulation gave, and the naive one.
fn compare(case: u64, jobs: &[Job], result: &RunResult, times: &Times, naive: &NaiveRow) {
    for (number, job) in (0..).zip(&naive.jobs) {
        assert_eq!(
            times.0[&number],
            (job.first_start, job.end),
            "case {case}, job {number}"
        );
    }
    let sum = |of: fn(&Naive) -> u64| naive.jobs.iter().map(of).sum::<u64>();
    let weighted = |of: fn(&Naive) -> u64| {
        let all = naive.jobs.iter();
        all.map(|job| job.width as u64 * of(job)).sum::<u64>()
    };
    // Every processor is at every time busy, down or idle; what is busy is work that is kept, checkpoints, or lost.
    let Kinds {
        busy,
        down,
        idle,
        fragmented,
    } = naive.kinds;
    let all = naive.width as u64 * naive.now;
    assert_eq!(busy + down + idle, all, "case {case}");
    let useful = jobs.iter();
    let useful = useful.map(|job| u64::from(job.request.processors) * job.work.service().unwrap());
    let useful: u64 = useful.sum();
    let lost = weighted(|job| job.lost);
    assert_eq!(
        busy,
        useful + lost + weighted(|job| job.saving),
        "case {case}"
    );
    let restarts = sum(|job| job.restarts.into());
    let part = |of: u64| of as f64 / all as f64;
    let expected = [
        (Metric::Restarts, restarts as f64),
        (Metric::LostNodeHours, lost as f64 / 3.6e9),
        (Metric::Availability, 1.0 - part(down)),
        (Metric::Utilization, part(busy)),
        (Metric::ExternalFragmentation, part(fragmented)),
        (Metric::CompletionTime, naive.now as f64 / 1e6),
    ];
    for (metric, expected) in expected {
        let found = result.values[metric].unwrap();
        assert!(
            (found - expected).abs() < 1e-9,
            "case {case}, {metric:?}: {found}, {expected}"
        );
    }
    let mean = (restarts > 0).then(|| sum(|job| job.until_restart) as f64 / restarts as f64 / 1e6);
    let found = result.values[Metric::RestartTime];
    let same = found
        .zip(mean)
        .is_none_or(|(found, mean)| (found - mean).abs() < 1e-9);
    assert!(
        same && found.is_some() == mean.is_some(),
        "case {case}: {found:?}, {mean:?}"
    );
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
            Job {
                arrival,
                work: Work::Service(service),
                request: request.with_estimate(service),
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
                let mut backend = Checked {
                    inner: &mut inner,
                    machine,
                    held: BTreeMap::new(),
                    waiting: BTreeSet::new(),
                    faulty: BTreeSet::new(),
                };
                let conditions = Conditions {
                    failures: Some(timeline),
                    ..Measured::Departures(60).into()
                };
                let jobs = jobs.iter().copied();
                let execution = FixedService::default();
                let result = run_with(execution, conditions, &mut backend, machine, jobs, &mut ());
                let result =
                    result.unwrap_or_else(|error| panic!("{strategy}, {scheduler:?}: {error}"));
                let served = result.values[Metric::Jobs].unwrap() + result.refused.total() as f64;
                assert_eq!(served, 60.0, "{strategy}, {scheduler:?}");
                restarts += result.values[Metric::Restarts].unwrap();
            }
        }
    }
    assert!(restarts > 1_000.0, "{restarts}");
}

/// Whether the mean of a sample is within four standard errors of what is expected.
#[track_caller]
fn assert_mean(sample: &[f64], expected: f64) {
    let count = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / count;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    assert!(
        (mean - expected).abs() < 4.0 * error,
        "{mean} ± {error} instead of {expected}"
    );
    assert!(
        error < 0.05 * expected.abs(),
        "{error} is too much to tell {expected}"
    );
}

/// A job of a single processor that fails is there until e^(s/m) - 1 times the mean time to a
/// failure m and to a repair have passed, for each stretch s that it does not save (Daly 2006, A
/// higher order estimate of the optimum checkpoint interval for restart dumps, section 3, without
/// the time to restore).
#[test]
fn completion_times_with_restarts() {
    let machine = mesh(1, 1);
    let (up, down, service) = (40.0_f64, 6.0, 50);
    let stretches = |lengths: &[f64]| -> f64 {
        let of = |length: &f64| (up + down) * ((length / up).exp() - 1.0);
        lengths.iter().map(of).sum()
    };
    for (checkpoint, expected) in [
        (None, stretches(&[50.0])),
        (Some("20"), stretches(&[20.0, 20.0, 10.0])),
        (Some("10,2"), stretches(&[12.0, 12.0, 12.0, 12.0, 10.0])),
    ] {
        for restart in [Restart::InPlace, Restart::Elsewhere, Restart::ElsewhereLast] {
            let failures = failures(machine, &format!("node:{up},{down}"), restart, checkpoint);
            let turnaround = |replication| {
                let timeline = failures.timeline(5, replication).unwrap();
                let jobs = [job(0, service, 1, 1)];
                let run = run_jobs(machine, StrategyKind::FirstFit, 4, &jobs, Some(timeline));
                run.unwrap().0.values[Metric::Turnaround].unwrap()
            };
            let sample: Vec<_> = (0..4_000).map(turnaround).collect();
            assert_mean(&sample, expected);
        }
    }
}

/// In the long run a unit works for the part m / (m + r) of the time.
#[test]
fn availability_is_that_of_the_means() {
    let machine = mesh(6, 4);
    for (what, up, down, units_of_a_node) in [
        ("node", 50.0, 10.0, None),
        ("2x2", 20.0, 30.0, None),
        // A processor works while the links do that lead upwards from it.
        ("link", 80.0, 5.0, Some([15.0, 8.0, 1.0])),
    ] {
        let failures = failures(
            machine,
            &format!("{what}:{up},{down}"),
            Restart::InPlace,
            None,
        );
        let part = up / (up + down);
        let expected = match units_of_a_node {
            None => part,
            // Two links, one, and none at the corner.
            Some([two, one, none]) => (two * part * part + one * part + none) / 24.0,
        };
        let availability = |replication| {
            // The window is that between two arrivals.
            let jobs = [job(500, 0, 1, 1), job(5_500, 0, 1, 1)];
            let timeline = failures.timeline(2, replication).unwrap();
            with_backend(machine, StrategyKind::FirstFit, 8, |backend| {
                let conditions = Conditions {
                    failures: Some(timeline),
                    ..all(2).into()
                };
                let execution = FixedService::default();
                let run = run_with(execution, conditions, backend, machine, jobs, &mut ());
                run.unwrap().values[Metric::Availability].unwrap()
            })
        };
        let sample: Vec<_> = (0..30).map(availability).collect();
        assert_mean(&sample, expected);
    }
}

/// A place of a row of n cubes with a spare is down as often as the binomial distribution says: if f
/// cubes have failed, f - 1 of the n - 1 places are.
#[test]
fn places_with_spares_are_down_as_the_binomial_distribution_says() {
    let machine = mesh(10, 4);
    let (up, down) = (30.0, 10.0);
    let failures = failures(machine, &format!("2x2:{up},{down}"), Restart::Spare, None);
    let failed = down / (up + down);
    let binomial = |count: i32| {
        let ways = [1.0, 5.0, 10.0, 10.0, 5.0, 1.0][count as usize];
        ways * f64::powi(failed, count) * f64::powi(1.0 - failed, 5 - count)
    };
    let expected: f64 = (2..=5)
        .map(|count| f64::from(count - 1) * binomial(count))
        .sum();
    let down_places = |replication| {
        let mut timeline = failures.timeline(4, replication).unwrap();
        assert_eq!(timeline.kept().len(), 2);
        let (mut places, mut integral, mut before) = (0_i64, 0.0, 500.0);
        while timeline.next_at().is_some_and(|at| at < 5_000 * SECOND) {
            let event = timeline.take().unwrap();
            let at = (event.at as f64 / 1e6).max(500.0);
            integral += places as f64 * (at - before);
            before = at;
            places += match event.effect {
                crate::failures::Effect::Down(_) => 1,
                crate::failures::Effect::Up(_) => -1,
                _ => 0,
            };
        }
        // Of one of the two rows.
        (integral + places as f64 * (5_000.0 - before)) / 4_500.0 / 2.0
    };
    let sample: Vec<_> = (0..30).map(down_places).collect();
    assert_mean(&sample, expected);
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
    let boxes = recorded(boxes, text).unwrap();
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
    // Boxes of 2 x 2 in two rows of three on 6 x 4: columns 4 and 5 are spares. 5 x 4 and 5 x 1 never fit.
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
        let mut backend = Checked {
            inner: &mut inner,
            machine,
            held: BTreeMap::new(),
            waiting: BTreeSet::new(),
            faulty: BTreeSet::new(),
        };
        let jobs = [
            job(0, 10, 4, 4),
            job(1, 3, 5, 4),
            job(2, 4, 4, 2),
            job(3, 5, 5, 1),
            job(4, 6, 2, 2),
        ];
        let conditions = Conditions {
            failures: Some(timeline),
            ..Measured::Departures(5).into()
        };
        let execution = FixedService::default();
        let run = run_with(execution, conditions, &mut backend, machine, jobs, &mut ());
        let result = run.unwrap_or_else(|error| panic!("{scheduler:?}: {error}"));
        let refused: Vec<_> = result.refused.iter().collect();
        assert_eq!(refused, [(Refusal::NeverFits, 2)], "{scheduler:?}");
        assert_values(&result, &[(Metric::Jobs, 3.0)]);
    }
}
