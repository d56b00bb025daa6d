//! `device` on the firmware's server, in this process.

use serde_json::{Value, json};

use crate::line::Board;
use crate::program::{Ended, host_sim};

/// Commands on one board, which serves a 16 x 16 mesh, first fit, first come, first served.
struct Session {
    board: Board,
}

impl Session {
    fn new(commands: usize) -> Self {
        let board = Board::new(commands);
        Session { board }
    }

    fn ended(&self, command: &str) -> Ended {
        let address = self.board.endpoint.replacen(':', " ", 1);
        host_sim(&format!("device --{address} {command}"))
    }

    fn says(&self, command: &str) -> String {
        self.ended(command).good()
    }

    fn objects(&self, command: &str) -> Vec<Value> {
        let text = self.says(&format!("{command} --json"));
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[test]
fn a_session_from_the_first_job_to_the_reset() {
    let session = Session::new(12);
    assert_eq!(session.says("configure 16x16"), "done\n");
    let info = session.says("info");
    assert!(
        info.contains("serves       mesh 16x16, first-fit, fcfs"),
        "{info}"
    );
    assert!(info.contains("256 free of 256, 0 faulty"), "{info}");
    assert_eq!(
        session.says("submit 1 10x10"),
        "job 1 runs on 100 processors: (<0, 0>, <9, 9>)\n"
    );
    assert_eq!(
        session.says("submit 2 8x12"),
        "job 2 waits, 0 jobs ahead of it\n"
    );
    assert_eq!(
        session.says("submit 3 2x2"),
        "job 3 waits, 1 job ahead of it\n"
    );
    let jobs = session.objects("jobs");
    let block = json!([{"x": 0, "y": 0, "w": 10, "h": 10}]);
    assert_eq!((&jobs[0]["job"], &jobs[0]["blocks"]), (&json!(1), &block));
    assert_eq!(
        jobs[2],
        json!({
            "job": 3, "state": "waits", "request": "2x2", "ahead": 1,
            "submitted": jobs[2]["submitted"], "priority": 0, "estimate": null,
        })
    );
    assert_eq!(
        session.says("why"),
        "job 2 (8x12): 156 processors are free, but the strategy finds no place\n  \
         it fits when job 1 has ended\n\
         job 3 (2x2): the scheduler tries 1 other job first\n"
    );
    let fits = session.objects("fits 6x4");
    // There are 13 places with x = 10. From y = 10 on there are three for each x from 0 to 9.
    let none: [u32; 0] = [];
    let help = json!({"departures": "jobs", "jobs": none});
    assert_eq!(
        fits[0],
        json!({
            "request": "6x4", "fits": true, "room": 5, "places": 43, "refusal": null,
            "help": help,
        })
    );
    assert_eq!(session.says("fail 15 *"), "16 processors became faulty\n");
    assert!(
        session
            .says("faults")
            .starts_with("16 processors are faulty: (15, 0) (15, 1)")
    );
    assert_eq!(
        session.says("release 1"),
        "job 1 gave back 100 processors\n\
         job 2 runs on 96 processors: (<0, 0>, <7, 11>)\n\
         job 3 runs on 4 processors: (<8, 0>, <9, 1>)\n"
    );
    assert_eq!(session.says("reset"), "done\n");
    session.board.join();
}

#[test]
fn a_gang_waits_for_places_of_all_its_slices() {
    let session = Session::new(10);
    session.says("configure 8x8");
    assert_eq!(
        session.says("submit 1 2x 4x3"),
        "job 1 runs on 24 processors: (<0, 0>, <3, 2>) (<4, 0>, <7, 2>)\n"
    );
    session.says("submit 2 8x1");
    // Four rows of eight are free.
    session.says("submit 3 3x 4x3");
    assert_eq!(
        session.says("why"),
        "job 3 (3x 4x3): it needs 36 processors, and 32 are free\n  \
         it fits when job 1 has ended\n"
    );
    let fits = session.says("fits 3x 5x2");
    assert!(
        fits.starts_with(
            "3x 5x2 does not fit now: enough free processors, but no places for all slices of the \
             gang at once; it does when job 1 has ended\n"
        ),
        "{fits}"
    );
    let fits = session.says("fits 2x 4x2");
    assert!(
        fits.starts_with("2x 4x2 fits now: room for 2 jobs, 15 places for a slice\n"),
        "{fits}"
    );
    let jobs = session.objects("jobs");
    assert_eq!(jobs[2]["request"], "3x 4x3");
    let ended = session.ended("submit 4 4x3 est=9");
    assert!(ended.stderr.contains("\"est=9\" is no shape"), "{ended}");
    session.says("reset");
    session.board.join();
}

#[test]
fn jobs_have_estimates_and_leases_are_renewed() {
    let session = Session::new(8);
    session.says("configure 8x8");
    session.says("submit 1 8x8 --lease 1h --estimate 90m");
    session.says("submit 2 4x4 --estimate 10m");
    assert_eq!(
        session.says("jobs"),
        "         1  runs   8x8              64  (<0, 0>, <7, 7>), estimate 5400.0 s\n         \
         2  waits  4x4                  0 ahead, estimate 600.0 s\n"
    );
    let unknown = session.ended("lease 3 1h");
    assert!(unknown.stderr.contains("job 3: "), "{unknown}");
    let wrong = session.ended("lease 1 soon");
    assert!(wrong.stderr.contains("or 0 for no lease"), "{wrong}");
    assert_eq!(session.says("lease 1 30m"), "done\n");
    assert_eq!(session.says("lease 1 0"), "done\n");
    session.says("reset");
    session.board.join();
}

#[test]
fn an_urgent_job_goes_first() {
    let session = Session::new(10);
    session.says("configure 8x8 --strategy ff --scheduler fcfs");
    session.says("submit 1 8x8");
    assert_eq!(
        session.says("submit 2 4x4"),
        "job 2 waits, 0 jobs ahead of it\n"
    );
    assert_eq!(
        session.says("submit 3 8x4 --priority 30m"),
        "job 3 waits, 0 jobs ahead of it\n"
    );
    assert_eq!(
        session.says("submit 4 8x4 --priority 1h"),
        "job 4 waits, 0 jobs ahead of it\n"
    );
    let objects = session.objects("jobs");
    let waiting: Vec<_> = objects[1..]
        .iter()
        .map(|job| (&job["job"], &job["ahead"], &job["priority"]))
        .collect();
    let expected = [(4, 0, 3_600_000), (3, 1, 1_800_000), (2, 2, 0)];
    let expected =
        expected.map(|(job, ahead, priority)| (json!(job), json!(ahead), json!(priority)));
    assert!(
        waiting
            .iter()
            .zip(&expected)
            .all(|(it, of)| *it == (&of.0, &of.1, &of.2)),
        "{waiting:?}"
    );
    let text = session.says("jobs");
    assert!(text.contains("0 ahead, priority 3600.0 s\n"), "{text}");
    assert!(text.ends_with("2 ahead\n"), "{text}");
    let why = session.says("why 2");
    assert!(why.contains("tries 2 other jobs first"), "{why}");
    let released = session.says("release 1");
    assert!(released.contains("job 4 runs"), "{released}");
    assert!(released.contains("job 3 runs"), "{released}");
    assert!(!released.contains("job 2 runs"), "{released}");
    session.says("reset");
    session.board.join();
}

#[test]
fn a_job_tolerates_a_faulty_processor() {
    let session = Session::new(14);
    session.says("configure 4x4");
    session.says("fail 1 2");
    assert_eq!(
        session.says("submit 1 4x4 --tolerate 1"),
        "job 1 runs on 16 processors: (<0, 0>, <3, 3>)\n"
    );
    let jobs = session.says("jobs");
    assert!(jobs.ends_with("(<0, 0>, <3, 3>), 1 faulty\n"), "{jobs}");
    assert_eq!(session.objects("jobs")[0]["faulty"], json!([[1, 2]]));
    session.says("submit 2 4x4 --tolerate 1");
    let why = session.says("why 2");
    assert!(
        why.contains("it needs 16 processors, and 0 are free"),
        "{why}"
    );
    session.says("release 1");
    let jobs = session.says("jobs");
    assert!(jobs.ends_with("(<0, 0>, <3, 3>), 1 faulty\n"), "{jobs}");
    session.says("release 2");
    assert_eq!(
        session.says("submit 3 4x4"),
        "job 3 waits, 0 jobs ahead of it\n"
    );
    let why = session.says("why 3");
    assert!(
        why.contains("it does not fit while 1 processor is faulty"),
        "{why}"
    );
    // Without faulty processors.
    let fits = session.says("fits 4x4");
    assert!(
        fits.contains("does not fit now: ")
            && fits.contains("; nor does it when all jobs have ended\n"),
        "{fits}"
    );
    session.says("reset");
    session.board.join();
}

#[test]
fn a_job_gets_other_processors() {
    let session = Session::new(13);
    let configured = session.says("configure 16x16 --strategy fsl --scheduler easy");
    assert_eq!(configured, "done\n");
    for job in ["1 12x10", "2 16x4", "3 8x8", "4 3x3"] {
        session.says(&format!("submit {job} --estimate 1h"));
    }
    let nothing = session.ended("replace 4");
    assert_eq!(nothing.code, Some(2), "{nothing}");
    assert!(
        nothing
            .stderr
            .contains("the job holds no faulty processors")
    );
    session.says("fail 1 11");
    assert_eq!(
        session.says("replace 4"),
        "job 4 runs on 9 processors: (<0, 13>, <2, 15>)\n  \
         part 0: (<0, 13>, <2, 15>) instead of (<0, 10>, <2, 12>)\n"
    );
    session.says("fail 1 14");
    let objects = session.objects("replace 4");
    let old = json!({"x": 0, "y": 13, "w": 3, "h": 3});
    assert_eq!((&objects[1]["part"], &objects[1]["old"]), (&json!(0), &old));
    session.says("fail 13 0");
    // No other 16 x 4 is free.
    let none = session.ended("replace 2");
    assert!(
        none.stderr
            .contains("enough free processors, but fragmented"),
        "{none}"
    );
    session.says("reset");
    session.board.join();
}

#[test]
fn jobs_make_room_for_an_urgent_one() {
    let session = Session::new(16);
    session.says("configure 8x8");
    session.says("submit 1 8x4");
    session.says("submit 2 4x4 --preemptible");
    session.says("submit 3 4x4");
    session.says("submit 4 4x4 --priority 1h --preemptible");
    let named = session.objects("preempt 4 --dry-run");
    let [plan] = &named[..] else {
        panic!("{named:?}");
    };
    assert_eq!(
        (&plan["job"], &plan["least"], &plan["grace"]),
        (&json!(4), &json!(true), &json!(null))
    );
    let victims = plan["victims"].as_array().unwrap();
    let [victim] = &victims[..] else {
        panic!("{victims:?}");
    };
    assert_eq!(
        (&victim["job"], &victim["processors"], &victim["lost"]),
        (&json!(2), &json!(16), &plan["lost"])
    );
    let done = session.says("preempt 4");
    assert!(
        done.starts_with("1 job makes room for job 4:\n  job 2: 16 processors for "),
        "{done}"
    );
    assert!(
        done.ends_with(
            "\njob 2 waits again: its processors are for job 4\n\
             job 4 runs on 16 processors: (<0, 4>, <3, 7>)\n"
        ),
        "{done}"
    );
    session.says("submit 5 8x8 --priority 2h");
    for (command, error) in [
        ("preempt 4", "the job runs already"),
        ("preempt 99", "no job with this name waits or runs"),
        (
            "preempt 5",
            "job 5 does not fit when all jobs that it may preempt have made room",
        ),
        (
            "preempt 2",
            "job 2 may preempt no running job: each is not preemptible, or has no lower priority",
        ),
    ] {
        let ended = session.ended(command);
        assert_eq!(ended.code, Some(2), "{ended}");
        assert!(ended.stderr.contains(error), "{ended}");
    }
    session.says("submit 6 4x4 --priority 3h");
    let began = std::time::Instant::now();
    let done = session.objects("preempt 6 --grace 0.5");
    assert!(began.elapsed().as_millis() >= 500);
    let events: Vec<_> = done.iter().map(|it| (&it["job"], &it["event"])).collect();
    let [plan, preempted, granted] = &events[..] else {
        panic!("{done:?}");
    };
    assert_eq!((plan.0, &done[0]["grace"]), (&json!(6), &json!(0.5)));
    assert_eq!(*preempted, (&json!(4), &json!("preempted")));
    assert_eq!(done[1]["by"], json!(6));
    assert_eq!(*granted, (&json!(6), &json!("granted")));
    let jobs = session.says("jobs");
    assert!(
        jobs.contains("         4  waits  4x4                  1 ahead, priority 3600.0 s\n"),
        "{jobs}"
    );
    session.says("reset");
    session.board.join();
}

#[test]
fn what_cannot_be_done_is_an_error() {
    let session = Session::new(7);
    let unknown = "no job with this name waits or runs";
    for (command, error) in [
        (
            "submit 9 99x1",
            "can never fit: too large for the machine under this strategy",
        ),
        ("submit 9 4xq", "\"q\" is not an extent"),
        ("submit 9 2x2 --estimate soon", "expected a time over 0"),
        (
            "submit 9 2x2 --lease 0.0001",
            "expected at least a millisecond",
        ),
        ("submit 9 4*4", "(expected 4x3, 3x 4x3 or chips=N)"),
        ("release 9", "job 9: no job with this name waits or runs"),
        ("why 9", unknown),
        ("fail 1", "y is missing (expected `fail X Y` on mesh 4x4)"),
        ("fail 16 0", "x = 16 is outside mesh 4x4 (expected 0 to 3)"),
    ] {
        let ended = session.ended(command);
        assert_eq!(ended.code, Some(2), "{ended}");
        assert!(ended.stderr.contains(error), "{ended}");
    }
    session.board.join();
    let nowhere = host_sim("device info");
    assert!(
        nowhere.code == Some(2) && nowhere.stderr.contains("expected --port DEVICE"),
        "{nowhere}"
    );
    let nobody = host_sim("device --tcp 127.0.0.1:1 info");
    assert!(
        nobody.stderr.contains("; nothing listens there"),
        "{nobody}"
    );
    let twice = host_sim("device --tcp 127.0.0.1:1 --unix a info");
    assert_eq!(twice.code, Some(2), "{twice}");
}
