//! What words in logs mean: the same in the Standard Workload Format and in CSV.

use std::path::Path;

use meshalloc::Mesh;
use meshalloc_sim::workload::{Columns, LineCounts, Log, LogJob, LogOptions, TIME_MAX};

const SECOND: u64 = 1_000_000;

fn read(name: &str, text: &str, options: LogOptions) -> Result<Log, String> {
    let machine = Mesh::new(8, 8).unwrap().into();
    let log = Log::from_reader(text.as_bytes(), Path::new(name), options, machine);
    log.map_err(|error| error.to_string())
}

fn csv(columns: &str) -> LogOptions {
    let columns = match columns {
        "" => Columns::default(),
        columns => columns.parse().unwrap(),
    };
    LogOptions {
        columns: Some(columns),
        ..LogOptions::default()
    }
}

/// Jobs, counts or the error of a log of two jobs, in both formats. The second has these words as
/// submit time, run time, processors and requested time.
fn both(words: [&str; 4], strict: bool) -> [Result<(Vec<LogJob>, LineCounts), String>; 2] {
    let [submit, run, processors, requested] = words;
    let swf = format!(
        "; Note: a log\n1 0 -1 9 4 -1 -1 4 7 -1 1 1 1 -1 -1 1 -1 -1\n\
         2 {submit} -1 {run} {processors} -1 -1 {processors} {requested} -1 1 1 1 -1 -1 1 -1 -1\n"
    );
    let text = format!(
        "id,submit,run,processors,estimate,user,group\n1,0,9,4,7,1,1\n\
         2,{submit},{run},{processors},{requested},1,1\n"
    );
    let swf = read(
        "a.log",
        &swf,
        LogOptions {
            strict,
            ..LogOptions::default()
        },
    );
    let csv = read("a.log", &text, LogOptions { strict, ..csv("") });
    [swf, csv].map(|log| log.map(|log| (log.jobs.to_vec(), log.lines)))
}

#[test]
fn a_word_means_the_same_in_both_formats() {
    // What becomes of the second job: its run time, processors and requested time, or the count of
    // the lines that were left out.
    enum Expected {
        Job(u64, u32, Option<u64>),
        NoSubmitTime,
        NoRunTime,
        NoProcessors,
    }
    use Expected::*;
    for (words, expected) in [
        (
            ["5", "10", "64", "20"],
            Job(10 * SECOND, 64, Some(20 * SECOND)),
        ),
        (
            ["5.0", "10.5", "64.0", "20.0"],
            Job(10_500_000, 64, Some(20 * SECOND)),
        ),
        (
            ["5", "1-02:03:04", "64", "02:00:00"],
            Job(93_784 * SECOND, 64, Some(7_200 * SECOND)),
        ),
        (["5", "0", "64", "-1"], Job(0, 64, None)),
        (["5", "10", "64", "0"], Job(10 * SECOND, 64, None)),
        (["5", "10", "64", "NaN"], Job(10 * SECOND, 64, None)),
        (
            ["5", "10", "64", "Partition_Limit"],
            Job(10 * SECOND, 64, None),
        ),
        (
            ["5", "10", "64", "UNLIMITED"],
            Job(10 * SECOND, 64, Some(TIME_MAX)),
        ),
        (
            ["5", "10", "64", "4294967295"],
            Job(10 * SECOND, 64, Some(TIME_MAX)),
        ),
        (
            ["5", "10", "64", "99999999999999999999"],
            Job(10 * SECOND, 64, Some(TIME_MAX)),
        ),
        (
            ["5", "10", "4294967295", "9"],
            Job(10 * SECOND, u32::MAX, Some(9 * SECOND)),
        ),
        (
            ["5", "10", "99999999999", "9"],
            Job(10 * SECOND, u32::MAX, Some(9 * SECOND)),
        ),
        (["-1", "10", "4", "9"], NoSubmitTime),
        (["nan", "10", "4", "9"], NoSubmitTime),
        (["Unknown", "10", "4", "9"], NoSubmitTime),
        (["9999999999999", "10", "4", "9"], NoSubmitTime),
        (["5", "10", "0", "9"], NoProcessors),
        (["5", "10", "-1", "9"], NoProcessors),
        (["5", "10", "NaN", "9"], NoProcessors),
        (["5", "10", "None", "9"], NoProcessors),
        (["5", "-1", "4", "9"], NoRunTime),
        (["5", "-7", "4", "9"], NoRunTime),
        (["5", "NaN", "4", "9"], NoRunTime),
        (["5", "INVALID", "4", "9"], NoRunTime),
        (["5", "UNLIMITED", "4", "9"], NoRunTime),
        (["5", "4294967295", "4", "9"], NoRunTime),
        (["5", "1e99", "4", "9"], NoRunTime),
    ] {
        let [swf, csv] = both(words, false);
        assert_eq!(swf, csv, "{words:?}");
        let (jobs, lines) = swf.unwrap();
        let count = |is_it| u64::from(is_it);
        let left_out = LineCounts {
            records: 2,
            no_submit_time: count(matches!(expected, NoSubmitTime)),
            no_run_time: count(matches!(expected, NoRunTime)),
            no_processors: count(matches!(expected, NoProcessors)),
            ..LineCounts::default()
        };
        assert_eq!(lines, left_out, "{words:?}");
        let second = jobs.get(1);
        let second = second.map(|job| (job.run_time, job.processors, job.requested_time));
        if let Job(run_time, processors, requested_time) = expected {
            assert_eq!(
                second,
                Some((run_time, processors, requested_time)),
                "{words:?}"
            );
            assert_eq!(jobs[1].arrival, 5 * SECOND);
            assert!(both(words, true).iter().all(Result::is_ok), "{words:?}");
        } else {
            assert_eq!(second, None, "{words:?}");
            for strict in both(words, true) {
                let error = strict.unwrap_err();
                assert!(error.starts_with("a.log:3: "), "{error}");
                assert!(
                    error.ends_with("; without --strict the line is left out"),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn a_word_that_means_nothing_is_an_error_in_both_formats() {
    for (words, expected) in [
        (
            ["x", "10", "4", "9"],
            "expected seconds, 0 or more, or a date such as 2026-03-01T08:01:56",
        ),
        (["-3", "10", "4", "9"], "expected seconds, 0 or more"),
        (["5", "1h", "4", "9"], "expected seconds, or D-HH:MM:SS"),
        (["5", "10", "4.5", "9"], "expected a whole number"),
        (["5", "10", "?", "9"], "expected a whole number"),
        (["5", "10", "4", "soon"], "expected seconds, or D-HH:MM:SS"),
    ] {
        for (found, unknown) in both(words, false).into_iter().zip(["-1", "nothing"]) {
            let error = found.unwrap_err();
            assert!(
                error.starts_with("a.log:3: ") && error.contains(expected),
                "{error}"
            );
            assert!(
                error.ends_with(&format!("; {unknown} if unknown")),
                "{error}"
            );
        }
    }
}

/// Traces as public archives and pandas have them.
#[test]
fn traces_with_gaps_are_read_and_the_gaps_are_counted() {
    let columns = "submit=submit_time,run=duration,processors=gpu_num";
    for (text, sizes, no_processors, no_run_time) in [
        (
            "job_id,user,gpu_num,submit_time,duration\n\
             job-a,ua,64,0,18\njob-b,ua,0,542,120\njob-c,ub,64,1664,0\n",
            vec![64, 64],
            1,
            0,
        ),
        (
            "submit_time,duration,gpu_num\n0.0,18.0,64.0\n542.0,120.0,\n1664.0,0.0,8.0\n",
            vec![64, 8],
            1,
            0,
        ),
        (
            "submit_time,duration,gpu_num\n0,18,64\n542,NaN,8\n",
            vec![64],
            0,
            1,
        ),
    ] {
        let log = read("a.csv", text, csv(columns)).unwrap();
        let found: Vec<u32> = log.jobs.iter().map(|job| job.processors).collect();
        assert_eq!(found, sizes, "{text}");
        assert_eq!(
            (log.lines.no_processors, log.lines.no_run_time),
            (no_processors, no_run_time)
        );
        let strict = LogOptions {
            strict: true,
            ..csv(columns)
        };
        let error = read("a.csv", text, strict).unwrap_err();
        assert!(error.starts_with("a.csv:3: "), "{error}");
    }
    // Where nothing is left, the first line says why.
    let text = "submit,run,processors\n1772352116000,18,64\n1772352117000,18,64\n";
    let error = read("a.csv", text, csv("")).unwrap_err();
    assert_eq!(
        error,
        "a.csv: no job is left of 2: 2 dropped without a submit time; first line 2: submit is \
         \"1772352116000\": expected 0 or more and less than 2251799813 seconds"
    );
}

/// `sacct --allusers --allocations --parsable2`, with times in UTC.
const SACCT: &str = "\
    JobIDRaw|User|Group|Submit|Elapsed|AllocCPUS|Timelimit|JobName\n\
    17|ann|physics|2026-03-01T08:01:56|1-02:03:04|64|UNLIMITED|a \"b\n\
    18|bob|physics|2026-03-01T08:01:26|00:10:00|8|01:00:00|c\n\
    19|ann||2026-03-02T00:00:00|00:00:00|0|Partition_Limit|cancelled\n\
    20|carl|law|2026-03-08T08:01:26|00:00:07|8|Partition_Limit|d\n";
const SACCT_COLUMNS: &str = "id=JobIDRaw,user=User,group=Group,submit=Submit,run=Elapsed,\
                             processors=AllocCPUS,estimate=Timelimit";

#[test]
fn what_sacct_prints_is_a_trace() {
    let log = read("a.csv", SACCT, csv(SACCT_COLUMNS)).unwrap();
    let jobs = log.jobs.iter();
    let jobs: Vec<_> = jobs
        .map(|job| {
            let times = [job.arrival, job.run_time].map(|time| time / SECOND);
            (
                job.number,
                times,
                job.requested_time,
                (job.owner.user, job.owner.group),
            )
        })
        .collect();
    assert_eq!(
        jobs,
        [
            (18, [0, 600], Some(3_600 * SECOND), (2, 1)),
            (17, [30, 93_784], Some(TIME_MAX), (1, 1)),
            (20, [604_800, 7], None, (3, 2)),
        ]
    );
    assert_eq!(log.lines.no_processors, 1);
    assert_eq!(log.date(&log.jobs[1]).unwrap(), "2026-03-01T08:01:56+00:00");
    // The zero is the earliest submit time, also for a window and a number of jobs.
    let window = |from: u64, to: u64, limit| {
        let options = LogOptions {
            from: Some(from * SECOND),
            to: Some(to * SECOND),
            limit,
            ..csv(SACCT_COLUMNS)
        };
        let log = read("a.csv", SACCT, options).unwrap();
        let found: Vec<_> = log
            .jobs
            .iter()
            .map(|job| (job.number, job.arrival / SECOND))
            .collect();
        assert_eq!(log.unix_time(0), Some(1_772_352_086 + from as i64));
        let counts = (log.lines.outside, log.lines.beyond_limit);
        (found, counts, log.end / SECOND)
    };
    assert_eq!(window(10, 604_800, None), (vec![(17, 20)], (2, 0), 604_790));
    assert_eq!(
        window(0, 604_801, Some(2)),
        (vec![(18, 0), (17, 30)], (0, 1), 30)
    );
    // The same on other clocks.
    let zoned = SACCT
        .replace("T08:01:56", "T09:01:56+01:00")
        .replace("T08:01:26", "T08:01:26Z");
    let zoned = zoned.replace("T00:00:00", " 00:00:00+00:00");
    assert_eq!(
        read("a.csv", &zoned, csv(SACCT_COLUMNS)).unwrap().jobs,
        log.jobs
    );
    for (from, to, expected) in [
        (
            "T08:01:26|00:00",
            "T08:01:26Z|00:00",
            "a date without a time zone",
        ),
        (
            "2026-03-08T08:01:26",
            "604800",
            "a date without a time zone",
        ),
    ] {
        let error = read("a.csv", &SACCT.replace(from, to), csv(SACCT_COLUMNS)).unwrap_err();
        let expected = format!("expected {expected}, as in the lines before");
        assert!(
            error.starts_with("a.csv:5: submit is") && error.ends_with(&expected),
            "{error}"
        );
    }
    let missing = SACCT_COLUMNS.replace("submit=Submit,", "");
    let error = read("a.csv", SACCT, csv(&missing)).unwrap_err();
    assert!(
        error.starts_with("a.csv:1: no column is called submit (found"),
        "{error}"
    );
    assert!(
        error.ends_with("--columns submit=COLUMN says which column it is"),
        "{error}"
    );
}

#[test]
fn names_of_users_are_numbered_behind_the_numbers() {
    let users = |words: &[&str]| -> Result<Vec<i64>, String> {
        let rows = words.iter().map(|word| format!("0,1,1,{word}\n"));
        let text = format!("submit,run,processors,user\n{}", rows.collect::<String>());
        let log = read("a.csv", &text, csv(""))?;
        Ok(log.jobs.iter().map(|job| job.owner.user).collect())
    };
    assert_eq!(
        users(&["b", "a", "b", "", "nan"]),
        Ok(vec![1, 2, 1, -1, -1])
    );
    assert_eq!(users(&["b", "7", "a", "3.0", "b"]), Ok(vec![8, 7, 9, 3, 8]));
    assert_eq!(users(&["-4", "0"]), Ok(vec![-4, 0]));
    let long = "x".repeat(257);
    let error = users(&["a", &long]).unwrap_err();
    assert!(
        error.ends_with("expected a name of at most 256 bytes"),
        "{error}"
    );
    let many: Vec<String> = (0..=65_536).map(|number| format!("u{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(users(&many[1..]).unwrap().last(), Some(&65_536));
    let error = users(&many).unwrap_err();
    assert!(
        error.starts_with("a.csv:65538: user is \"u65536\": expected one of"),
        "{error}"
    );
}

#[test]
fn a_row_over_several_lines_does_not_shift_the_numbers_of_lines() {
    let text = "submit,run,processors,note\n0,1,1,\"one\ntwo\"\n1,x,1,\n";
    let error = read("a.csv", text, csv("")).unwrap_err();
    assert!(error.starts_with("a.csv:4: run is \"x\""), "{error}");
    let log = read("a.csv", &text.replace('x', "2"), csv("")).unwrap();
    assert_eq!((log.jobs.len(), log.lines.records), (2, 2));
}
