//! Files of single jobs, `run -o jobs.csv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{host_sim_in, skipped};

/// The rows of a table of jobs, by the names of the columns.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

/// A time with up to six decimals in microseconds.
fn microseconds(text: &str) -> u64 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    assert!(part.len() <= 6, "{text}");
    format!("{whole}{part:0<6}").parse().unwrap()
}

fn mean(result: &Value, metric: &str) -> f64 {
    result["metrics"][metric]["mean"].as_f64().unwrap()
}

/// A sum over rows of a column, in whole numbers.
fn sum<'r>(
    rows: &[&'r BTreeMap<String, String>],
    value: impl Fn(&'r str) -> u64,
    column: &str,
) -> u64 {
    rows.iter().map(|row| value(&row[column])).sum()
}

#[test]
fn sums_over_the_jobs_are_the_means_of_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run --mesh 16x16 --strategy buddy,ff,mbs --load .2 --jobs 400 --replications 3 --seed 9 --format json \
                -o made/jobs.csv";
    let results = host_sim_in(folder.path(), line).json();
    let all = rows(&folder.path().join("made/jobs.csv"));
    for result in results["results"].as_array().unwrap() {
        let mut sums = BTreeMap::new();
        for replication in ["1", "2", "3"] {
            let of_run = |row: &&BTreeMap<String, String>| {
                row["strategy"] == result["strategy"].as_str().unwrap()
                    && row["replication"] == replication
            };
            let run: Vec<_> = all.iter().filter(of_run).collect();
            let jobs = run.len() as f64;
            assert_eq!(run.len(), 380);
            assert!(run.is_sorted_by_key(|row| microseconds(&row["submission_time"])));
            let whole = |text: &str| text.parse::<u64>().unwrap();
            let requested = sum(&run, whole, "requested_number_of_resources");
            let (held, misses) = (
                sum(&run, whole, "held"),
                sum(&run, whole, "allocation_misses"),
            );
            let mut note = |metric, value| *sums.entry(metric).or_insert(0.0) += value / 3.0;
            note("jobs", jobs);
            for (metric, column) in [
                ("waiting_delay", "waiting_time"),
                ("turnaround", "turnaround_time"),
                ("service_time", "execution_time"),
            ] {
                note(metric, sum(&run, microseconds, column) as f64 / 1e6 / jobs);
            }
            note("blocks", sum(&run, whole, "blocks") as f64 / jobs);
            note("allocation_miss", misses as f64 / (misses as f64 + jobs));
            note(
                "internal_fragmentation",
                (held - requested) as f64 / held as f64,
            );
            for row in run {
                let time = |column: &str| microseconds(&row[column]);
                assert_eq!(
                    time("submission_time") + time("waiting_time"),
                    time("starting_time")
                );
                assert_eq!(
                    time("starting_time") + time("execution_time"),
                    time("finish_time")
                );
                let intervals = row["allocated_resources"].split(' ').map(|interval| {
                    let (first, last) = interval.split_once('-').unwrap_or((interval, interval));
                    whole(last) - whole(first) + 1
                });
                assert_eq!(intervals.sum::<u64>(), whole(&row["held"]));
            }
        }
        for (metric, value) in sums {
            let expected = mean(result, metric);
            let error = (value - expected).abs();
            assert!(
                error <= 1e-13 * expected.abs(),
                "{metric}: {value} {expected}"
            );
        }
    }
    assert_eq!(all.len(), 3 * 3 * 380);
}

#[test]
fn the_file_is_the_same_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    for threads in [1, 3] {
        let line = format!(
            "run --mesh 8x8 --strategy ff,naive --load .5 --jobs 300 --replications 4 --threads {threads} -o {threads}-jobs.csv"
        );
        host_sim_in(folder.path(), &line).good();
    }
    let [one, three] =
        [1, 3].map(|threads| fs::read(folder.path().join(format!("{threads}-jobs.csv"))).unwrap());
    assert!(one.len() > 100_000 && one == three);
    // Nothing else is left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// A log of jobs of whole seconds, one of which no machine of 64 processors serves.
fn small_log() -> String {
    let jobs = (1..=300u32).map(|job| {
        let (submit, run) = (job * 60, job * 37 % 91);
        let processors = if job == 50 { 100 } else { 1 + job * 13 % 40 };
        format!(
            "{} {submit} -1 {run} {processors} -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
            job * 2
        )
    });
    jobs.collect()
}

#[test]
fn a_log_of_the_jobs_runs_like_the_log_they_came_from() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.swf"), small_log()).unwrap();
    let run = |log: &str, output: &str| {
        let line = format!("run --mesh 8x8 --strategy fsl --log {log} --format json -o {output}");
        host_sim_in(folder.path(), &line).json()["results"][0].clone()
    };
    let (first, second) = (run("in.swf", "out.swf"), run("out.swf", "again.swf"));
    let text = fs::read_to_string(folder.path().join("out.swf")).unwrap();
    let (comments, jobs): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with(';'));
    assert!(comments.contains(&"; MaxProcs: 64") && comments.contains(&"; MaxJobs: 300"));
    assert_eq!(jobs.len(), 300);
    assert!(jobs.iter().all(|job| job.split(' ').count() == 18));
    // Jobs keep their numbers; whole seconds stay whole.
    assert!(jobs[0].starts_with("2 60 0 37 14 "), "{}", jobs[0]);
    assert_eq!(
        jobs[49],
        "100 3000 -1 -1 -1 -1 -1 100 -1 -1 5 -1 -1 -1 -1 -1 -1 -1"
    );
    // The job that was refused is not in the second log; all others start when they did.
    let again = fs::read_to_string(folder.path().join("again.swf")).unwrap();
    let of_jobs = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with(';') && !line.starts_with("100 "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(of_jobs(&text), of_jobs(&again));
    for metric in ["waiting_delay", "turnaround", "allocation_miss"] {
        assert_eq!(mean(&first, metric), mean(&second, metric), "{metric}");
    }
}

/// Every other job is a gang, one of which no machine of 64 processors serves.
#[test]
fn a_trace_of_the_jobs_has_the_gangs_of_the_trace_they_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = (1..=200u32).map(|job| {
        let (submit, run) = (job * 15, 1 + job * 37 % 91);
        let (w, h) = (1 + job % 3, 1 + job % 5);
        let slices = if job == 50 {
            9
        } else {
            1 + job % 2 * (job % 4)
        };
        format!("{submit},{run},{slices}x {w}x{h}\n")
    });
    let trace = format!("submit,run,shape\n{}", jobs.collect::<String>());
    fs::write(folder.path().join("in.csv"), trace).unwrap();
    let run = |log: &str, output: &str| {
        let line = format!(
            "run --mesh 8x8 --strategy fsl --scheduler easy --reasons --log {log} --format json \
             -o {output}"
        );
        host_sim_in(folder.path(), &line).json()["results"][0].clone()
    };
    let columns = "submit=submission_time,run=execution_time,shape=requested_extents,\
                   processors=requested_number_of_resources";
    let first = run("in.csv", "out-jobs.csv");
    let second = run(
        &format!("out-jobs.csv --columns {columns}"),
        "again-jobs.csv",
    );
    let all = rows(&folder.path().join("out-jobs.csv"));
    let job = |number: u32| all.iter().find(|row| row["job_id"] == number.to_string());
    let seventh = job(7).unwrap();
    assert_eq!(seventh["requested_extents"], "4x 2x3");
    assert_eq!(seventh["requested_number_of_resources"], "24");
    assert_eq!((&*seventh["held"], &*seventh["blocks"]), ("24", "4"));
    assert_eq!(job(8).unwrap()["requested_extents"], "3x4");
    for metric in [
        "jobs",
        "waiting_delay",
        "turnaround",
        "allocation_miss",
        "blocks",
    ] {
        assert_eq!(mean(&first, metric), mean(&second, metric), "{metric}");
    }
    assert!(mean(&first, "wait_gang") > 0.0, "{first}");
    let waited: u64 = all
        .iter()
        .map(|row| microseconds(&row["waiting_time"]))
        .sum();
    let reasons = all
        .iter()
        .flat_map(|row| row["waiting_reasons"].split_ascii_whitespace());
    let parts = reasons.map(|part| microseconds(part.split_once('=').unwrap().1));
    assert_eq!(parts.sum::<u64>(), waited);
}

/// Each job needs the whole machine, of which one processor fails for good: jobs that tolerate it
/// run. The file of jobs is a log of the same jobs.
#[test]
fn a_trace_of_the_jobs_has_the_tolerance_of_the_trace_they_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let of = |tolerate: [&str; 3]| {
        let lines = (0..).zip(tolerate);
        let lines = lines.map(|(at, word)| format!("{},100,4x4,{word}\n", at * 10));
        format!("submit,run,shape,tolerate\n{}", lines.collect::<String>())
    };
    write("down.csv", "time,what,which,state\n50,node,5,down\n");
    write("in.csv", &of(["1", "2", "1"]));
    write("none.csv", &of(["", "0", ""]));
    let line = "run --mesh 4x4 --strategy ff --failures down.csv --restart in-place --format json";
    let run = |log: &str, output: &str| {
        let line = format!("{line} --log {log} -o {output}");
        let json = host_sim_in(folder.path(), &line).json();
        (
            json["results"][0]["decision_hash"].clone(),
            rows(&folder.path().join(output)),
        )
    };
    let (first, jobs) = run("in.csv", "out-jobs.csv");
    let (again, _) = run("out-jobs.csv", "again-jobs.csv");
    assert_eq!(first, again);
    let column = |name: &str| -> Vec<_> { jobs.iter().map(|job| job[name].clone()).collect() };
    assert_eq!(column("tolerate"), ["1", "2", "1"]);
    assert_eq!(column("starting_time"), ["0", "100", "200"]);
    assert_eq!(column("finish_time"), ["100", "200", "300"]);
    let stuck = host_sim_in(folder.path(), &format!("{line} --log none.csv"));
    assert_ne!(stuck.code, Some(0), "{stuck}");
    write("spare.csv", "time,what,which,state\n50,2x4,1,down\n");
    let spare = line
        .replace("in-place", "spare")
        .replace("down.csv", "spare.csv");
    let failed = host_sim_in(folder.path(), &format!("{spare} --log in.csv"));
    assert!(
        failed.stderr.contains("another restart than spare"),
        "{failed}"
    );
}

/// Jobs are served in the order of arrivals less priorities; where all priorities are equal in that
/// of arrivals. The file of jobs is a log of the same jobs.
#[test]
fn a_trace_of_the_jobs_has_the_priorities_of_the_trace_they_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let priority = |job: u32| (job % 3) * (job % 7) * 20;
    let write = |name: &str, priority: &dyn Fn(u32) -> String| {
        let jobs = (1..=200u32).map(|job| {
            // One after the other, and never two arrivals at once.
            format!("{},60,8x{},{}\n", job * 40, 5 + job % 4, priority(job))
        });
        let trace = format!("submit,run,shape,priority\n{}", jobs.collect::<String>());
        fs::write(folder.path().join(name), trace).unwrap();
    };
    write("in.csv", &|job| match priority(job) {
        0 => String::new(),
        seconds => seconds.to_string(),
    });
    write("equal.csv", &|_| "0-01:00:00".to_owned());
    write("none.csv", &|_| String::new());
    let run = |log: &str, output: &str| {
        let line = format!("run --mesh 8x8 --strategy ff --log {log} --format json -o {output}");
        let json = host_sim_in(folder.path(), &line).json();
        (
            json["results"][0]["decision_hash"].clone(),
            rows(&folder.path().join(output)),
        )
    };
    let (first, jobs) = run("in.csv", "out-jobs.csv");
    let (again, _) = run("out-jobs.csv", "again-jobs.csv");
    assert_eq!(first, again);
    let [(equal, of_equal), (none, _)] =
        ["equal", "none"].map(|name| run(&format!("{name}.csv"), &format!("{name}-jobs.csv")));
    assert_eq!(equal, none);
    assert_ne!(equal, first);
    assert!(of_equal.iter().all(|job| job["priority"] == "3600"));
    let whole = |job: &BTreeMap<String, String>, column: &str| -> i64 {
        let word = &job[column];
        if word.is_empty() {
            0
        } else {
            word.parse().unwrap()
        }
    };
    let mut waiting: Vec<_> = jobs
        .iter()
        .map(|job| {
            (
                whole(job, "submission_time"),
                whole(job, "priority"),
                whole(job, "job_id"),
            )
        })
        .collect();
    // A job that arrives as another one ends comes behind that event.
    let (mut now, mut expected) = (0, Vec::new());
    while let Some(earliest) = waiting.iter().map(|&(submit, ..)| submit).min() {
        now = now.max(earliest);
        let place = (0..waiting.len())
            .filter(|&at| waiting[at].0 < now || waiting[at].0 == earliest)
            .min_by_key(|&at| (waiting[at].0 - waiting[at].1, waiting[at].0))
            .unwrap();
        let (_, of, id) = waiting.remove(place);
        assert_eq!(of, i64::from(priority(id as u32)));
        expected.push((id, now));
        now += 60;
    }
    let mut started: Vec<_> = jobs
        .iter()
        .map(|job| (whole(job, "job_id"), whole(job, "starting_time")))
        .collect();
    started.sort_by_key(|&(_, at)| at);
    assert_eq!(started, expected);
}

#[test]
fn what_cannot_be_written_is_an_error_before_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (output, reason) in [
        ("file/jobs.csv", "file/jobs.csv: cannot write the jobs: "),
        (".", "--output .: its ending says what it has"),
        ("-", "--output -: its ending says what it has"),
        (
            "jobs.swf",
            "--output jobs.swf: a log has the jobs of one run (expected one --strategy",
        ),
    ] {
        // All jobs would take minutes.
        let line = format!("run --mesh 64x64 --strategy ff,as --jobs 10000000 -o {output}");
        let ended = host_sim_in(folder.path(), &line);
        assert_eq!(ended.code, Some(2), "{ended}");
        assert!(
            ended.stderr.contains(reason) && ended.stdout.is_empty(),
            "{ended}"
        );
    }
}

/// Reads the table with evalys, or pandas alone, and prints the sums.
const READ: &str = "
import sys
try:
    from evalys.jobset import JobSet
    jobs, by = JobSet.from_csv(sys.argv[1]).df, 'evalys'
except Exception as error:
    import pandas
    jobs, by = pandas.read_csv(sys.argv[1]), f'pandas alone, as evalys does not start: {error!r}'
held = 'proc_alloc' if 'proc_alloc' in jobs else 'held'
print(by)
print(len(jobs), repr(float(jobs.waiting_time.mean())), repr(float(jobs.turnaround_time.mean())), int(jobs[held].sum()))
";

#[test]
#[cfg_attr(not(feature = "exhaustive"), ignore = "it installs a package")]
fn evalys_reads_the_jobs_and_finds_the_same_mean_waiting_time() {
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("venv/bin/python");
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        let output = command.current_dir(folder.path()).args(arguments).output();
        output
            .map_err(|error| error.to_string())
            .and_then(|output| {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let error = String::from_utf8_lossy(&output.stderr).into_owned();
                output.status.success().then_some(text).ok_or(error)
            })
    };
    let installed = run("python3", &["-m", "venv", "venv"]).and_then(|_| {
        let install = ["-m", "pip", "install", "--quiet", "--no-compile", "evalys"];
        run(python.to_str().unwrap(), &install)
    });
    if let Err(error) = installed {
        skipped(format_args!(
            "evalys reads the jobs: it cannot be installed: {error}"
        ));
        return;
    }
    let line = "run --mesh 16x16 --strategy ff --load .35 --jobs 500 --replications 1 --format json -o jobs.csv";
    let results = host_sim_in(folder.path(), line).json();
    fs::write(folder.path().join("read.py"), READ).unwrap();
    let read = run(python.to_str().unwrap(), &["read.py", "jobs.csv"]).unwrap();
    let mut lines = read.lines();
    eprintln!("read by {}", lines.next().unwrap());
    let numbers: Vec<f64> = lines
        .next()
        .unwrap()
        .split(' ')
        .map(|text| text.parse().unwrap())
        .collect();
    let result = &results["results"][0];
    let means = ["waiting_delay", "turnaround"].map(|metric| mean(result, metric));
    assert_eq!(numbers[0], mean(result, "jobs"));
    for (read, ours) in numbers[1..3].iter().zip(means) {
        assert!((read - ours).abs() < 1e-9 * ours, "{read} {ours}");
    }
    let held: u64 = rows(&folder.path().join("jobs.csv"))
        .iter()
        .map(|row| row["held"].parse::<u64>().unwrap())
        .sum();
    assert_eq!(numbers[3], held as f64);
}

/// Job 1 holds three of six processors until 10, when job 2, the head, takes four. Job 3 runs
/// longer, so it begins beside the place of the head.
#[test]
fn later_jobs_leave_free_what_the_head_needs() {
    let folder = tempfile::tempdir().unwrap();
    let line = |number: u32, submitted: u32, run_time: u32, processors: u32| {
        format!(
            "{number} {submitted} -1 {run_time} {processors} -1 -1 {processors} {run_time} -1 1 1 1 -1 -1 -1 -1 -1\n"
        )
    };
    let log = [line(1, 0, 10, 3), line(2, 1, 10, 4), line(3, 2, 1000, 2)].concat();
    fs::write(folder.path().join("log.swf"), log).unwrap();
    for scheduler in ["easy", "conservative"] {
        let line = format!(
            "run --log log.swf --mesh 6x1 --strategy l-shape,neighbor,ff,naive --scheduler {scheduler} --format json \
             -o {scheduler}-jobs.csv"
        );
        host_sim_in(folder.path(), &line).json();
        let rows = rows(&folder.path().join(format!("{scheduler}-jobs.csv")));
        assert_eq!(rows.len(), 12);
        for (row, start) in rows.iter().zip(["0", "10", "2"].iter().cycle()) {
            assert_eq!(row["starting_time"], *start, "{scheduler}: {row:?}");
        }
    }
}
