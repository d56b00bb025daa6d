//! How often jobs try after a repair and after an interruption, by hand.

use super::*;

/// The starts of these jobs, in seconds, on a machine whose bypass queue always lets jobs pass.
fn starts(machine: Grid, restart: Restart, events: &str, jobs: &[Job]) -> Vec<u64> {
    let failures = failures(machine, "a.csv", restart, None);
    let failures = recorded(&failures, &format!("time,what,which,state\n{events}")).unwrap();
    let timeline = failures.timeline(1, 0).unwrap();
    let threshold = 1_000_000 * SECOND;
    let scheduler = SchedulerKind::BypassQueue { threshold };
    let (_, times) = run_under(scheduler, machine, 8, jobs, timeline).unwrap();
    let starts = times.0.values();
    starts.map(|times| times.0.unwrap() / SECOND).collect()
}

/// Processors 0 to 2 are repaired with the box, and 3 is down for another reason: job 1 takes
/// processor 0 before 1 and 2 work, and job 0 waits until it ends.
#[test]
fn what_is_partly_down_is_repaired_processor_by_processor() {
    let jobs = [job(3, 9, 3, 1), job(4, 5, 1, 1)];
    let down = "1,4x1,0,down\n2,node,3,down\n";
    let machine = mesh(4, 1);
    let starts = |up: &str| {
        let events = format!("{down}{up}");
        starts(machine, Restart::Elsewhere, &events, &jobs)
    };
    assert_eq!(starts("10,4x1,0,up\n20,node,3,up\n"), [15, 10]);
    // Without another reason all of the box works at once.
    assert_eq!(starts("9,node,3,up\n10,4x1,0,up\n"), [10, 10]);
}

/// Job 0 in row 0 and job 1 in row 1 are interrupted, and leave columns 2 and 3. Job 4 takes a
/// processor of row 0 before row 1 is free, and job 3, which needs both, waits until it ends. Jobs
/// that return to their old places give up their processors together, and wait before both.
#[test]
fn jobs_that_join_the_end_give_up_their_processors_one_by_one() {
    let jobs = [
        job(0, 50, 4, 1),
        job(0, 50, 4, 1),
        job(0, 100, 4, 2),
        job(1, 5, 2, 2),
        job(2, 5, 1, 1),
    ];
    let events = "10,2x2,0,down\n30,2x2,0,up\n";
    let starts = |restart| starts(mesh(4, 4), restart, events, &jobs)[3..].to_vec();
    assert_eq!(starts(Restart::ElsewhereLast), [15, 10]);
    assert_eq!(starts(Restart::Elsewhere), [10, 15]);
}
