//! What the schedulers do at their thresholds, step by step.

use meshalloc::Threshold;
use meshalloc::{
    Command, Configuration, Controller, Error, Flags, JobId, Refusal, Reply, Request,
    SchedulerKind, StrategyKind, Ticks,
};
use meshalloc_tests::rig::{Answer, HeapMemory, ask_at, mesh};

use super::{bypass_queue, fixed};

/// A controller on 4 x 4 nodes under first fit, driven step by step.
struct Steps<'m>(Controller<'m>);

impl Steps<'_> {
    fn submit(&mut self, now: Ticks, job: u32, (w, h): (u16, u16), flags: Flags) -> Answer {
        let request = Request::submesh(w, h).with_flags(flags);
        let job = JobId(job);
        ask_at(&mut self.0, &Command::Submit { job, request }, now)
    }

    /// Whether the job runs at once.
    fn runs(&mut self, now: Ticks, job: u32, sides: (u16, u16)) -> bool {
        let answer = self.submit(now, job, sides, Flags::empty());
        !answer.grants.is_empty()
    }

    fn release(&mut self, now: Ticks, job: u32) -> Vec<u32> {
        let answer = ask_at(&mut self.0, &Command::Release { job: JobId(job) }, now);
        answer.grants.iter().map(|granted| granted.job.0).collect()
    }
}

fn steps(memory: &mut HeapMemory, scheduler: SchedulerKind) -> Steps<'_> {
    let configuration = Configuration {
        machine: mesh(4, 4).into(),
        strategy: StrategyKind::FirstFit,
        scheduler,
    };
    Steps(Controller::new(memory.memory(), configuration).unwrap())
}

#[test]
fn a_static_threshold_is_counted_from_becoming_head() {
    let mut memory = HeapMemory::new(mesh(4, 4), 16);
    let mut steps = steps(&mut memory, fixed(100));
    assert!(steps.runs(0, 1, (4, 2)));
    assert!(!steps.runs(10, 2, (4, 4)));
    assert!(!steps.runs(20, 3, (4, 3)));
    assert!(
        steps.runs(109, 4, (1, 1)),
        "job 2 has been the head for 99 ticks"
    );
    assert!(!steps.runs(110, 5, (1, 1)), "and for 100 now");
    // Job 3 becomes the head when job 2 is cancelled, and is bypassed at once.
    assert_eq!(steps.release(150, 2), [5]);
    assert!(steps.runs(249, 6, (1, 1)));
    assert!(!steps.runs(250, 7, (1, 1)));
}

/// Job 3 is the head and blocked since two ticks after the delay, after two jobs with delays of 0
/// and `delay`; three have arrived.
fn with_a_delay(memory: &mut HeapMemory, threshold: Threshold, delay: Ticks) -> Steps<'_> {
    let mut steps = steps(memory, SchedulerKind::ModifiedFcfs(threshold));
    assert!(steps.runs(0, 1, (4, 2)));
    assert!(!steps.runs(1, 2, (4, 3)));
    assert_eq!(steps.release(1 + delay, 1), [2]);
    assert!(!steps.runs(2 + delay, 3, (4, 4)));
    steps
}

/// With mean delay d and arrival rate r a head may be bypassed while the seconds since it became
/// head are *below* d * r.
#[test]
fn a_dynamic_threshold_that_is_reached_exactly_ends_bypassing() {
    let mut memory = HeapMemory::new(mesh(4, 4), 16);
    // The head since 6, two ticks in a second; d = 4 / 2, and four have arrived at time t: (t - 6)
    // / 2 < 2 / 2 * 4 / (t / 2).
    for (now, bypasses) in [(7, true), (8, false)] {
        let mut steps = with_a_delay(&mut memory, Threshold::Dynamic { second: 2 }, 4);
        assert_eq!(steps.runs(now, 4, (1, 1)), bypasses, "at {now}");
    }
}

#[test]
fn a_count_of_bypasses_that_is_reached_exactly_ends_bypassing() {
    let mut memory = HeapMemory::new(mesh(4, 4), 16);
    // One has bypassed; d = 6 / 3, and five have arrived at time t: 1 < 2 * 5 / t.
    for (now, bypasses) in [(9, true), (10, false)] {
        let mut steps = with_a_delay(&mut memory, Threshold::Count, 6);
        assert!(steps.runs(8, 4, (1, 1)), "none has bypassed it");
        assert_eq!(steps.runs(now, 5, (1, 1)), bypasses, "at {now}");
    }
}

#[test]
fn a_bypass_queue_counts_from_the_submission_of_the_head() {
    let mut memory = HeapMemory::new(mesh(4, 4), 16);
    let mut steps = steps(&mut memory, bypass_queue(100));
    assert!(steps.runs(0, 1, (4, 1)));
    assert!(steps.runs(0, 2, (1, 3)));
    assert!(!steps.runs(10, 3, (4, 4)));
    assert!(!steps.runs(20, 4, (4, 3)));
    assert!(!steps.runs(30, 5, (1, 1)), "arrivals only join");
    assert!(!steps.runs(40, 6, (1, 1)));
    assert_eq!(
        steps.release(109, 3),
        [5, 6],
        "job 4 has waited for 89 ticks"
    );
    assert!(!steps.runs(110, 7, (1, 1)));
    assert!(steps.release(120, 5).is_empty(), "and for 100 now");
    // A head that is granted is followed by the next one, however long it has waited.
    assert!(steps.release(130, 6).is_empty());
    assert_eq!(steps.release(140, 2), [4]);
    assert_eq!(steps.release(150, 1), [7]);
}

#[test]
fn a_no_wait_job_is_tried_if_the_scheduler_lets_it() {
    let refused = |answer: &Answer| match answer.last {
        Reply::Error(Error::Refused(refusal)) => Some(refusal),
        _ => None,
    };
    for (scheduler, expected) in [
        (SchedulerKind::Fcfs, Some(Refusal::QueueNotEmpty)),
        (bypass_queue(100), Some(Refusal::QueueNotEmpty)),
        (fixed(100), None),
    ] {
        let mut memory = HeapMemory::new(mesh(4, 4), 16);
        let mut steps = steps(&mut memory, scheduler);
        assert!(steps.runs(0, 1, (4, 2)));
        // No job waits, so it is tried; it does not stay.
        let answer = steps.submit(1, 2, (4, 3), Flags::NO_WAIT);
        assert_eq!(refused(&answer), Some(Refusal::TooFewFree));
        assert!(!steps.runs(2, 3, (4, 4)));
        let answer = steps.submit(3, 4, (1, 1), Flags::NO_WAIT);
        assert_eq!(refused(&answer), expected, "{scheduler:?}");
        let waits = answer.grants.is_empty();
        assert_eq!(waits, expected.is_some());
        // The head's time did not begin anew.
        assert_eq!(steps.runs(101, 5, (1, 1)), scheduler == fixed(100));
        assert!(!steps.runs(102, 6, (1, 1)));
    }
}
