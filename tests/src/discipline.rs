//! Naive forms of the schedulers that let jobs bypass a blocked head, in floating point; and one
//! that bypasses without limit.

use meshalloc::SchedulerKind;
use meshalloc::Threshold;

#[derive(Clone, Copy, Debug)]
enum Rule {
    Scheduler(SchedulerKind),
    /// After a departure all waiting jobs try in order. Arrivals try always, or only if the queue
    /// is empty.
    Unlimited {
        arrivals_try: bool,
    },
}

/// A scheduling discipline and what it watches.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    rule: Rule,
    /// The serial number of the job at the head of the queue.
    head: Option<u64>,
    head_since: u64,
    bypasses: u32,
    arrivals: u32,
    allocated: u32,
    delays: f64,
}

impl Discipline {
    /// The discipline before any job.
    pub const fn new(kind: SchedulerKind) -> Self {
        Discipline::of(Rule::Scheduler(kind))
    }

    /// Bypassing without limit: after a departure all jobs that wait try in order. An arrival tries
    /// although others wait before it only if `arrivals_try`.
    pub const fn unlimited(arrivals_try: bool) -> Self {
        Discipline::of(Rule::Unlimited { arrivals_try })
    }

    const fn of(rule: Rule) -> Self {
        Discipline {
            rule,
            head: None,
            head_since: 0,
            bypasses: 0,
            arrivals: 0,
            allocated: 0,
            delays: 0.0,
        }
    }

    /// The scheduler whose discipline it is; `None`: it is one without limit.
    pub const fn scheduler(&self) -> Option<SchedulerKind> {
        match self.rule {
            Rule::Scheduler(kind) => Some(kind),
            Rule::Unlimited { .. } => None,
        }
    }

    /// A job has arrived.
    pub const fn arrived(&mut self) {
        self.arrivals += 1;
    }

    /// A job has been allocated after a delay in ticks.
    pub fn allocated(&mut self, delay: u64) {
        self.allocated += 1;
        self.delays += delay as f64;
    }

    /// The head of the queue has been bypassed.
    pub const fn bypassed(&mut self) {
        self.bypasses += 1;
    }

    /// Whether the job of this serial number was the head when it was last seen.
    pub fn is_head(&self, serial: u64) -> bool {
        self.head == Some(serial)
    }

    /// The job of this serial number is the head of the queue now.
    pub fn see_head(&mut self, head: Option<u64>, now: u64) {
        if head != self.head {
            self.head = head;
            self.head_since = now;
            self.bypasses = 0;
        }
    }

    /// Whether an arrival may try although others wait before it.
    pub fn arrival_may_bypass(&self, now: u64) -> bool {
        match self.rule {
            Rule::Unlimited { arrivals_try } => arrivals_try,
            Rule::Scheduler(SchedulerKind::ModifiedFcfs(_)) => self.may_bypass(now, 0),
            // First come, first served: no. Bypass queue: it only joins.
            _ => false,
        }
    }

    /// Whether jobs may bypass the blocked head, which was submitted at this time.
    ///
    /// # Panics
    ///
    /// When a threshold and the compared value are so close that rounding might decide.
    pub fn may_bypass(&self, now: u64, head_submitted: u64) -> bool {
        let since = (now - self.head_since) as f64;
        let Rule::Scheduler(kind) = self.rule else {
            return true;
        };
        match kind {
            SchedulerKind::Fcfs => false,
            SchedulerKind::BypassQueue { threshold } => now - head_submitted < threshold,
            SchedulerKind::ModifiedFcfs(Threshold::Static { ticks }) => {
                now - self.head_since < ticks
            }
            SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second }) => {
                let second = second as f64;
                let number = self.mean_delay() / second * (self.rate(now) * second);
                clearly_less(since / second, number)
            }
            SchedulerKind::ModifiedFcfs(Threshold::Count) => {
                clearly_less(f64::from(self.bypasses), self.mean_delay() * self.rate(now))
            }
            // `System` has these.
            SchedulerKind::Easy { .. }
            | SchedulerKind::Conservative
            | SchedulerKind::ShortestJobFirst { .. } => false,
            _ => panic!("no model of {kind:?}"),
        }
    }

    /// The mean queueing delay of the jobs allocated so far, in ticks.
    fn mean_delay(&self) -> f64 {
        match self.allocated {
            0 => 0.0,
            allocated => self.delays / f64::from(allocated),
        }
    }

    /// Arrivals so far in each tick so far.
    fn rate(&self, now: u64) -> f64 {
        match now {
            0 => 0.0,
            now => f64::from(self.arrivals) / now as f64,
        }
    }
}

fn clearly_less(a: f64, b: f64) -> bool {
    let apart = (a - b).abs() > 1e-9 * a.max(b);
    assert!(
        apart || (a == 0.0 && b == 0.0),
        "{a} and {b} are too close to tell, choose another seed"
    );
    a < b
}
