//! Beside a naive simulation of rows of processors.

use std::fmt::Write as _;
use std::num::NonZero;

use super::*;
use crate::failures::Checkpoint;

/// What fails and is repaired: at which time, which processor, and whether it fails.
type Events = Vec<(Ticks, usize, bool)>;

/// A job of the naive simulation.
#[derive(Clone, Debug)]
struct Naive {
    arrival: Ticks,
    width: usize,
    estimate: Option<Ticks>,
    priority: Ticks,
    left: Ticks,
    /// Since when it waits: its arrival, or when it joined the queue again as a new job.
    since: Ticks,
    state: NaiveState,
    first_start: Option<Ticks>,
    end: Option<Ticks>,
    lost: Ticks,
    saving: Ticks,
    restarts: u32,
    until_restart: Ticks,
    interrupted: Ticks,
    /// Whether it returned to its old place in the queue.
    has_returned: bool,
    grants: u64,
    misses: u64,
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

/// A row of processors, first fit: everything is looked for anew at each event. Times are so that
/// no two events of different kinds coincide.
struct NaiveRow {
    width: usize,
    scheduler: SchedulerKind,
    /// The head that jobs may bypass, since when, and how many have.
    head: Option<usize>,
    head_since: Ticks,
    bypasses: u64,
    arrivals: u64,
    /// The delays of jobs up to their grants.
    delays: Vec<Ticks>,
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
        let first = self.queue.first().map(|&number| &self.jobs[number]);
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
                    self.join(number);
                }
                NaiveState::Runs { start, .. } if start + length == self.now => {
                    job.saving += length - job.left;
                    job.left = 0;
                    job.state = NaiveState::Done;
                    job.end = Some(self.now);
                    self.let_try();
                }
                _ => {}
            }
        }
    }

    /// A processor fails or is repaired.
    fn change(&mut self, cube: usize, fails: bool) {
        let free = self.free();
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
        } else if self.free() > free {
            self.let_try();
        }
        for number in 0..self.jobs.len() {
            if let NaiveState::Stopped { at } = self.jobs[number].state
                && (at..at + self.jobs[number].width).all(|place| self.works(place))
            {
                self.start(number, at);
            }
        }
    }

    fn free(&self) -> usize {
        let is_free = |&place: &usize| self.works(place) && self.holder(place).is_none();
        (0..self.width).filter(is_free).count()
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
        if self.restart == Restart::Replace && self.moves(number) {
            return self.let_try();
        }
        match self.restart {
            Restart::InPlace | Restart::Spare => {}
            Restart::Elsewhere | Restart::Replace => {
                let job = &mut self.jobs[number];
                job.state = NaiveState::Queued;
                job.has_returned = true;
                self.queue.push(number);
                self.queue.sort_unstable();
                self.sort_queue();
                self.let_try();
            }
            Restart::ElsewhereLast => {
                self.jobs[number].state = NaiveState::Queued;
                self.let_try();
                self.join(number);
            }
        }
    }

    /// A stopped job starts on the first other processors, or partly the same, that work and that
    /// no other job holds, if there are any.
    fn moves(&mut self, number: usize) -> bool {
        let width = self.jobs[number].width;
        let is_free = |place: usize| {
            let holder = self.holder(place);
            self.works(place) && holder.is_none_or(|holder| holder == number)
        };
        let places = 0..=self.width - width;
        let Some(at) = places.into_iter().find(|at| (*at..at + width).all(is_free)) else {
            return false;
        };
        self.jobs[number].grants += 1;
        self.start(number, at);
        true
    }

    /// Those that stand there since one time stay in their order.
    fn sort_queue(&mut self) {
        let jobs = &self.jobs;
        let since = |&number: &usize| {
            let job = &jobs[number];
            i128::from(job.since) - i128::from(job.priority)
        };
        self.queue.sort_by_key(since);
    }

    /// A job joins the queue; if it may, it tries, and then those behind it.
    fn join(&mut self, number: usize) {
        self.queue.push(number);
        let job = &mut self.jobs[number];
        (job.state, job.since) = (NaiveState::Queued, self.now);
        self.arrivals += 1;
        self.sort_queue();
        if let SchedulerKind::ShortestJobFirst { threshold } = self.scheduler {
            return self.shortest_first(threshold);
        }
        self.see_head();
        let at = self
            .queue
            .iter()
            .position(|&other| other == number)
            .unwrap();
        let bypasses = matches!(self.scheduler, SchedulerKind::ModifiedFcfs(_));
        if at == 0 || bypasses && self.may_bypass() {
            let starts = self.attempt(at);
            if starts {
                self.bypasses += u64::from(at > 0);
                self.see_head();
            }
            self.let_try_after(at, starts);
        }
    }

    /// Processors are free, or a job has returned to the queue: heads try until one is blocked,
    /// then those behind it, as long as they may.
    fn let_try(&mut self) {
        if let SchedulerKind::ShortestJobFirst { threshold } = self.scheduler {
            return self.shortest_first(threshold);
        }
        self.see_head();
        self.let_try_after(0, true);
    }

    /// The job at this place has tried: the next ones do.
    fn let_try_after(&mut self, tried: usize, started: bool) {
        if tried == 0 && started {
            while !self.queue.is_empty() && self.attempt(0) {
                self.see_head();
            }
        }
        let mut at = (tried + usize::from(!started)).max(1);
        while at < self.queue.len() && self.may_bypass() {
            if self.attempt(at) {
                self.bypasses += 1;
                self.see_head();
            } else {
                at += 1;
            }
        }
    }

    fn shortest_first(&mut self, threshold: Ticks) {
        while let Some(&head) = self.queue.first() {
            let estimate = |at: &usize| self.jobs[self.queue[*at]].estimate.unwrap_or(Ticks::MAX);
            let at = if self.now - self.jobs[head].since >= threshold {
                0
            } else {
                (0..self.queue.len()).min_by_key(estimate).unwrap()
            };
            if !self.attempt(at) {
                break;
            }
        }
    }

    /// A head stays what it is while it waits, also behind a job that has returned.
    fn see_head(&mut self) {
        if self.head.is_none_or(|head| !self.queue.contains(&head)) {
            self.head = self.queue.first().copied();
            (self.head_since, self.bypasses) = (self.now, 0);
        }
    }

    fn may_bypass(&self) -> bool {
        let since = u128::from(self.now - self.head_since);
        let allocated = self.delays.len() as u128 * u128::from(self.now);
        let delays: u128 = self.delays.iter().map(|&delay| u128::from(delay)).sum();
        let product = delays * u128::from(self.arrivals);
        match self.scheduler {
            SchedulerKind::BypassQueue { threshold } => {
                self.now - self.jobs[self.queue[0]].since < threshold
            }
            SchedulerKind::ModifiedFcfs(Threshold::Static { ticks }) => since < ticks.into(),
            SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second }) => {
                since * allocated < product * u128::from(second)
            }
            SchedulerKind::ModifiedFcfs(Threshold::Count) => {
                u128::from(self.bypasses) * allocated < product
            }
            _ => false,
        }
    }

    /// The job at this place in the queue tries. Whether it starts.
    fn attempt(&mut self, place: usize) -> bool {
        let number = self.queue[place];
        let width = self.jobs[number].width;
        let is_free = |place| self.works(place) && self.holder(place).is_none();
        let fits = |at: &usize| (*at..at + width).all(is_free);
        let Some(at) = (0..=self.width - width).find(fits) else {
            self.jobs[number].misses += u64::from(self.free() >= width);
            return false;
        };
        self.queue.remove(place);
        let job = &mut self.jobs[number];
        job.grants += 1;
        if !job.has_returned {
            self.delays.push(self.now - job.since);
        }
        self.start(number, at);
        true
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

#[test]
fn a_naive_simulation_gives_the_same() {
    let modes = [
        Restart::InPlace,
        Restart::Spare,
        Restart::Elsewhere,
        Restart::ElsewhereLast,
        Restart::Replace,
    ];
    let schedulers = [
        SchedulerKind::Fcfs,
        SchedulerKind::BypassQueue {
            threshold: 20 * SECOND,
        },
        SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 9 * SECOND }),
        SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: SECOND }),
        SchedulerKind::ModifiedFcfs(Threshold::Count),
        SchedulerKind::ShortestJobFirst {
            threshold: 25 * SECOND,
        },
        SchedulerKind::ShortestJobFirst {
            threshold: Ticks::MAX,
        },
    ];
    let mut restarts = [0; 5];
    for case in 0..1_750 {
        let mut below = draws(case);
        let mode = case as usize % modes.len();
        let scheduler = schedulers[case as usize / modes.len() % schedulers.len()];
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
                let request = Request::submesh(1 + below(most as u64) as u16, 1);
                let request = match case % 2 {
                    0 => request,
                    _ => request.with_priority(below(30 * SECOND).saturating_sub(9 * SECOND)),
                };
                Job {
                    arrival,
                    work: Work::Service(1 + below(20 * SECOND)),
                    request: match below(4) {
                        0 => request,
                        _ => request.with_estimate(1 + below(20 * SECOND)),
                    },
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
        let described = recorded(&described, &text).unwrap();
        let timeline = described.timeline(1, 0).unwrap();
        // A small table keeps jobs here, or grows.
        let room = if case % 3 == 0 { width + 1 } else { 64 };
        let (result, times) = run_under(scheduler, machine, room, &jobs, timeline).unwrap();
        let places = width - usize::from(mode == 1);
        let mut naive = NaiveRow {
            width,
            scheduler,
            head: None,
            head_since: 0,
            bypasses: 0,
            arrivals: 0,
            delays: Vec::new(),
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
                estimate: job.request.estimate.map(NonZero::get),
                priority: job.request.class.priority(),
                left: job.work.service().unwrap(),
                since: job.arrival,
                state: NaiveState::Future,
                first_start: None,
                end: None,
                lost: 0,
                saving: 0,
                restarts: 0,
                until_restart: 0,
                interrupted: 0,
                has_returned: false,
                grants: 0,
                misses: 0,
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
    // Every processor is at every time busy, down or idle; what is busy is work that is kept,
    // checkpoints, or lost.
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
    let misses = sum(|job| job.misses) as f64;
    let expected = [
        (Metric::Restarts, restarts as f64),
        (Metric::LostNodeHours, lost as f64 / 3.6e9),
        (Metric::Availability, 1.0 - part(down)),
        (Metric::Utilization, part(busy)),
        (Metric::ExternalFragmentation, part(fragmented)),
        (
            Metric::AllocationMiss,
            misses / (misses + sum(|job| job.grants) as f64),
        ),
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
