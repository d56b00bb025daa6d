use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::program::{command, host_sim, host_sim_in};

const SMALL: &str = "run --mesh 16x16 --jobs 500 --replications 3 --load .4";

/// Without what the clock on the wall says.
fn timeless(mut json: Value) -> Value {
    for result in json["results"].as_array_mut().unwrap() {
        let result = result.as_object_mut().unwrap();
        assert!(result.remove("elapsed_seconds").unwrap().is_number());
        assert!(result.remove("jobs_per_second").is_some());
    }
    json
}

#[test]
fn json_records_what_was_run() {
    let json = host_sim(&format!("{SMALL} --strategy fsl,as --seed 7 --format json")).json();
    assert_eq!(json["program"], "host-sim");
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["seed"], 7);
    let expected = serde_json::json!({
        "mesh": "16x16", "strategy": ["free-submesh-list", "adaptive-scan"], "scheduler": "fcfs",
        "side_lengths": "uniform", "side_range": "1..16", "load": 0.4,
        "service_mean": 10.0, "measure": "arrivals", "warmup": 0.05, "jobs": 500, "estimates": "perfect",
        "replications": 3, "slowdown_threshold": 10.0, "seed": 7, "backend": "in-process"
    });
    assert_eq!(json["scenario"], expected);
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for (result, name) in results.iter().zip(["free-submesh-list", "adaptive-scan"]) {
        assert_eq!(result["strategy"], name);
        assert_eq!(result["scheduler"], "fcfs");
        assert_eq!(result["saturated"], false);
        assert_eq!(result["decision_hash"].as_str().unwrap().len(), 16);
        for metric in [
            "waiting_delay",
            "turnaround",
            "turnaround_variance",
            "utilization",
            "allocation_miss",
            "jobs",
        ] {
            let metric = &result["metrics"][metric];
            assert!(
                ["mean", "low", "high", "standard_deviation"]
                    .iter()
                    .all(|part| metric[part].is_number()),
                "{result}"
            );
            assert_eq!(metric["replications"], 3);
            assert_eq!(metric["values"].as_array().unwrap().len(), 3);
        }
        let turnaround = result["metrics"]["turnaround"]["mean"].as_f64().unwrap();
        let parts = ["waiting_delay", "service_time"]
            .map(|part| result["metrics"][part]["mean"].as_f64().unwrap());
        assert!(
            (turnaround - parts[0] - parts[1]).abs() < 1e-9 * turnaround,
            "{result}"
        );
        // 5 % of 500 are not measured.
        assert_eq!(result["metrics"]["jobs"]["mean"], 475.0);
    }
}

#[test]
fn gains_are_given_where_no_mean_grows_with_the_run() {
    for (line, grow) in [
        (SMALL, true),
        (
            "run --mesh 16x16 --jobs 5000 --replications 10 --load .4",
            false,
        ),
    ] {
        let line = format!("{line} --strategy ff,as");
        let json = host_sim(&format!("{line} --format json")).json();
        for result in json["results"].as_array().unwrap() {
            assert_eq!(result["grows_with_length"], grow, "{result}");
            let gains = result["waiting_delay_gains"].as_array().unwrap();
            assert_eq!(gains.is_empty(), grow, "{result}");
        }
        let shown = host_sim(&line).good();
        assert_eq!(shown.contains("% below first-fit"), !grow, "{shown}");
    }
}

#[test]
fn strategies_beside_each_other_get_the_jobs_they_get_alone() {
    let both = timeless(host_sim(&format!("{SMALL} --strategy ff,fsl --format json")).json());
    let alone = timeless(host_sim(&format!("{SMALL} --strategy fsl --format json")).json());
    assert_eq!(
        both["results"][1]["decision_hash"],
        alone["results"][0]["decision_hash"]
    );
    assert_eq!(
        both["results"][1]["metrics"],
        alone["results"][0]["metrics"]
    );
    assert_ne!(
        both["results"][0]["decision_hash"],
        both["results"][1]["decision_hash"]
    );
}

#[test]
fn a_single_replication_has_no_interval() {
    let json = host_sim("run --mesh 8x8 --jobs 100 --replications 1 --format json").json();
    let delay = &json["results"][0]["metrics"]["waiting_delay"];
    assert!(
        delay["mean"].is_number() && delay["low"].is_null() && delay["high"].is_null(),
        "{delay}"
    );
}

#[test]
fn a_saturated_system_has_no_mean_delay() {
    let line = "run --mesh 8x8 --jobs 4000 --replications 3 --traffic-ratio 50";
    let ended = host_sim(&format!("{line} --format json"));
    assert!(!ended.stdout.contains("NaN"), "{ended}");
    let result = &ended.json()["results"][0];
    assert_eq!(result["saturated"], true);
    for metric in ["waiting_delay", "turnaround", "turnaround_variance"] {
        assert!(result["metrics"][metric]["mean"].is_null(), "{result}");
        assert!(result["metrics"][metric]["low"].is_null(), "{result}");
        let values = result["metrics"][metric]["values"].as_array().unwrap();
        assert_eq!(values.len(), 3, "{result}");
    }
    assert!(
        result["metrics"]["allocation_miss"]["mean"].is_number(),
        "{result}"
    );
    let shown = host_sim(line).good();
    assert!(
        shown.contains("first-fit: saturated, the backlog grew"),
        "{shown}"
    );
}

#[test]
fn a_load_far_above_saturation_ends() {
    // A thousand times as many jobs arrive as are measured; only some of them are ever in memory.
    let line = "run --mesh 8x8 --jobs 2000 --replications 1 --traffic-ratio 3000 --format json";
    let result = &host_sim(line).json()["results"][0];
    assert_eq!(result["saturated"], true);
    let waiting = &result["metrics"]["waiting_at_last_arrival"]["mean"];
    assert!(waiting.as_f64().unwrap() > 1_900.0, "{waiting}");
}

#[test]
fn no_more_threads_than_runs() {
    let line = "run --mesh 8x8 --jobs 500 --replications 8 --format json --threads";
    let hash = |threads: u32| {
        host_sim(&format!("{line} {threads}")).json()["results"][0]["decision_hash"].clone()
    };
    assert_eq!(hash(5_000), hash(1));
    let line = "saturation --mesh 8x8 --jobs 500 --replications 2 --threads 5000";
    host_sim(line).good();
}

#[test]
fn a_log_that_comes_too_fast_is_saturated() {
    // A job of a second on all of 2 x 2 every second; every other takes 2 s on one processor.
    let jobs = (0..400).map(|i| {
        let (run, processors) = if i % 2 == 0 { (1, 4) } else { (2, 1) };
        format!(
            "{} {i} -1 {run} {processors} -1 -1 {processors} -1 -1 1 1 1 -1 -1 -1 -1 -1\n",
            i + 1
        )
    });
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("log.swf"), jobs.collect::<String>()).unwrap();
    let line = "run --mesh 2x2 --strategy ff,naive --log log.swf";
    let json = host_sim_in(folder.path(), &format!("{line} --format json")).json();
    let results = json["results"].as_array().unwrap();
    for result in results {
        assert_eq!(
            (&result["saturated"], &result["stop"]),
            (&true.into(), &"fixed".into())
        );
        // Two jobs take 3 s and come in 2 s: a third of them waits.
        assert_eq!(result["metrics"]["waiting_at_last_arrival"]["mean"], 132.0);
        assert_eq!(result["metrics"]["waiting_delay"]["mean"], 99.5);
        assert_eq!(
            result["waiting_delay_gains"].as_array().map(Vec::len),
            Some(0)
        );
    }
    let shown = host_sim_in(folder.path(), line).good();
    for part in [
        "first-fit: saturated",
        "naive: saturated",
        "naive: waiting at the last arrival: 132.",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("below"), "{shown}");
}

#[test]
fn replicating_goes_on_until_the_error_is_small() {
    let line = "run --mesh 8x8 --jobs 2000 --load .3 --format json";
    let until = |options: &str| host_sim(&format!("{line} {options}")).json();
    let exact = &until("--until-rel-error 0.1")["results"][0];
    let delay = &exact["metrics"]["waiting_delay"];
    let [mean, low, high] = ["mean", "low", "high"].map(|part| delay[part].as_f64().unwrap());
    assert!(
        exact["stop"] == "error-reached" && mean <= 1.1 * low && mean >= 0.9 * high,
        "{exact}"
    );
    let capped = &until("--until-rel-error 0.0001 --max-replications 10")["results"][0];
    assert!(
        capped["stop"] == "cap-reached" && capped["replications"] == 10,
        "{capped}"
    );
}

/// The replications lie in 9 to 44; Student's interval has a half-width of 7.
#[test]
fn an_interval_whose_arms_differ_is_shown_by_its_ends() {
    let line =
        "run --mesh 32x32 --side-lengths normal:mean=8,sd=4 --strategy ff --load .5 --jobs 10000";
    let shown = host_sim(line).good();
    assert!(shown.contains(" 20 [14, 30] "), "{shown}");
    assert!(shown.contains(" 49.95 ± 0.41 "), "{shown}");
    let note = "Those of delays are\ncomputed on logarithms";
    assert!(shown.contains(note), "{shown}");
    let json = host_sim(&format!("{line} --format json")).json();
    let delay = &json["results"][0]["metrics"]["waiting_delay"];
    let number = |key: &str| delay[key].as_f64().unwrap();
    let values = delay["values"].as_array().unwrap().iter();
    let values: Vec<f64> = values.map(|value| value.as_f64().unwrap()).collect();
    let mean = values.iter().sum::<f64>() / 10.0;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / 9.0).sqrt();
    // Student's quantile for nine degrees of freedom.
    let arm = 1.1 * 2.262_157 * deviation / 10.0_f64.sqrt() / mean;
    for (key, expected) in [
        ("mean", mean),
        ("standard_deviation", deviation),
        ("low", mean * (-arm).exp()),
        ("high", mean * arm.exp()),
    ] {
        assert!(
            (number(key) / expected - 1.0).abs() < 1e-6,
            "{key}: {delay}"
        );
    }
}

/// Partner serves few shapes of three dimensions, and no job that it serves waits.
#[test]
fn refusals_stand_beside_a_mean_that_leaves_them_out() {
    let line =
        "run --torus 16x16x16 --strategy partner,naive --load .4 --jobs 2000 --replications 2";
    let json = host_sim(&format!("{line} --format json")).json();
    let [partner, naive] = [0, 1].map(|place| &json["results"][place]);
    let refused: u64 = partner["refused"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert!(refused > 3_700, "{partner}");
    let share = (3_800 - refused) as f64 / 3_800.0;
    assert_eq!(partner["served_share"], share);
    assert_eq!(
        (&partner["partial"], &naive["partial"]),
        (&true.into(), &false.into())
    );
    assert_eq!(naive["served_share"], 1.0);
    // Nothing is below the mean of another that is over other jobs.
    for result in [partner, naive] {
        assert!(result["waiting_delay_gains"].as_array().unwrap().is_empty());
    }
    let shown = host_sim(line).good();
    let row = shown
        .lines()
        .find(|line| line.starts_with("partner "))
        .unwrap();
    let percent = format!("{:.2}", 100.0 - 100.0 * share);
    let expected = format!("0.00 ± 0 *   {refused} ({percent} %)");
    assert!(row.contains(&expected), "{expected}: {shown}");
    assert!(
        shown.contains("*: a mean over less than 99 % of the measured jobs"),
        "{shown}"
    );
    assert!(!shown.contains(" % below "), "{shown}");
    // Where nothing is refused there is no column for it.
    let without = host_sim(&line.replace("partner,naive", "naive")).good();
    assert!(!without.contains("refused"), "{without}");
}

#[test]
fn strategies_that_decide_alike_are_named() {
    // Hardly ever are two jobs there at once.
    let line = "run --mesh 8x8 --strategy ff,as,naive --jobs 50 --replications 2 --load .0001";
    let json = host_sim(&format!("{line} --format json")).json();
    let hash = |place: usize| &json["results"][place]["decision_hash"];
    assert!(hash(0) == hash(1) && hash(0) != hash(2), "{json}");
    let shown = host_sim(line).good();
    let named = "\nfirst-fit, adaptive-scan: identical decisions.\n";
    assert!(shown.contains(named), "{shown}");
}

#[test]
fn the_table_fits_a_terminal() {
    let shown = host_sim(&format!("{SMALL} --strategy ff,as,fsl,naive")).good();
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    for part in [
        "waiting",
        "allocation",
        "decision hash",
        " ± ",
        "free-submesh-list",
        "seed 1",
    ] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
}

#[test]
fn the_command_line_overrides_a_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let scenario =
        "mesh = \"8x8\"\nstrategy = [\"fsl\", \"ff\"]\nload = 0.3\njobs = 200\nreplications = 2\n";
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    let run = |options: &str, note: &str| {
        let line = format!("run --scenario s.toml --format json {options}");
        let mut ended = host_sim_in(folder.path(), &line);
        assert_eq!(std::mem::take(&mut ended.stderr), note);
        ended.json()["scenario"].clone()
    };
    let plain = run("", "");
    assert_eq!(plain["mesh"], "8x8");
    assert_eq!(
        plain["strategy"],
        serde_json::json!(["free-submesh-list", "first-fit"])
    );
    assert_eq!(plain["load"], 0.3);
    assert_eq!(plain["replications"], 2);
    let overridden = run(
        "--mesh 4x4 --traffic-ratio 1.5 --strategy as,naive",
        "note: s.toml: --traffic-ratio on the command line replaces `load` (line 3)\n",
    );
    assert_eq!(overridden["mesh"], "4x4");
    assert_eq!(overridden["traffic_ratio"], 1.5);
    assert!(overridden.get("load").is_none(), "{overridden}");
    assert_eq!(
        overridden["strategy"],
        serde_json::json!(["adaptive-scan", "naive"])
    );
    assert_eq!(overridden["jobs"], 200);
}

#[test]
fn a_log_is_run_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = String::from("; Computer: Test machine\n; Acknowledge: A. Author\n");
    // Twenty jobs of 3 processors, one without processors, one of another partition.
    for job in 1..=20 {
        log += &format!(
            "{job} {} -1 100 3 -1 -1 3 -1 -1 1 1 1 1 1 2 -1 -1\n",
            job * 10
        );
    }
    log += "21 210 -1 100 -1 -1 -1 -1 -1 -1 1 1 1 1 1 2 -1 -1\n";
    log += "22 220 -1 100 3 -1 -1 3 -1 -1 1 1 1 1 1 1 -1 -1\n";
    fs::write(folder.path().join("log.swf"), log).unwrap();
    let line = "run --mesh 4x4 --strategy naive,ff --log log.swf --partition 2 --shape near-square";
    let json = host_sim_in(folder.path(), &format!("{line} --format json")).json();
    assert_eq!(json["scenario"]["log"], "log.swf");
    assert_eq!(json["scenario"]["partition"], 2);
    assert_eq!(json["scenario"]["shape"], "near-square");
    assert_eq!(json["log"]["jobs"], 20);
    assert_eq!(json["log"]["dropped_no_processors"], 1);
    assert_eq!(json["log"]["other_partitions"], 1);
    assert_eq!(json["log"]["acknowledge"][0], "A. Author");
    for result in json["results"].as_array().unwrap() {
        assert_eq!(result["metrics"]["jobs"]["mean"], 20.0);
        assert_eq!(result["metrics"]["service_time"]["mean"], 100.0);
        assert!(result["metrics"]["waiting_delay"]["low"].is_null());
    }
    // Naive holds exactly 3 processors, first fit 2 x 2.
    let waste = |place: usize| &json["results"][place]["metrics"]["internal_fragmentation"]["mean"];
    assert_eq!(
        (waste(0), waste(1)),
        (&Value::from(0.0), &Value::from(0.25))
    );

    let shown = host_sim_in(folder.path(), line).good();
    assert!(
        shown.contains("Test machine, 20 jobs, 1 of other partitions, 1 dropped"),
        "{shown}"
    );
    // A log named in a scenario is found beside it.
    fs::create_dir(folder.path().join("elsewhere")).unwrap();
    fs::write(
        folder.path().join("s.toml"),
        "log = \"log.swf\"\nmesh = \"4x4\"\njobs = 5\n",
    )
    .unwrap();
    let away = folder.path().join("elsewhere");
    let json = host_sim_in(&away, "run --scenario ../s.toml --format json").json();
    assert_eq!(json["log"]["jobs"], 5);
}

#[test]
fn a_closed_output_is_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut operations = String::new();
    for id in 0..20_000 {
        operations += &format!("alloc {id} 1 1\nfree {id}\n");
    }
    fs::write(folder.path().join("ops"), operations).unwrap();
    for line in ["replay ops", "list"] {
        let mut child = command(folder.path(), line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        let status = child.wait().unwrap();
        assert!(
            stderr.is_empty() && status.success(),
            "{line}: {status}: {stderr}"
        );
    }
}

#[test]
fn the_search_time_is_there_if_asked_for() {
    let line = "run --mesh 8x8 --strategy fsl --jobs 2000 --replications 2 --format json";
    let plain = host_sim(line).json();
    assert!(plain["results"][0]["metrics"]["search_time"].is_null());
    let timed = host_sim(&format!("{line} --search-time")).json();
    let time = timed["results"][0]["metrics"]["search_time"]["mean"].as_f64();
    assert!(
        time.is_some_and(|seconds| seconds > 0.0 && seconds < 1e-3),
        "{time:?}"
    );
    // Nothing else changes.
    assert_eq!(
        plain["results"][0]["decision_hash"],
        timed["results"][0]["decision_hash"]
    );
    let shown = host_sim("run --mesh 8x8 --jobs 500 --replications 2 --search-time").good();
    assert!(shown.contains("(µs/job)"), "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}

#[test]
fn slowdown_and_quantiles_stand_beside_the_means() {
    let json = |options: &str| {
        let line = format!("{SMALL} --strategy fsl --format json {options}");
        let json = host_sim(&line).json();
        let metrics = json["results"][0]["metrics"].clone();
        let mean = move |metric: &str| metrics[metric]["mean"].as_f64().unwrap();
        (json["scenario"]["slowdown_threshold"].clone(), mean)
    };
    let (threshold, ten) = json("");
    assert_eq!(threshold, 10.0);
    assert!(
        ten("waiting_delay_median") < ten("waiting_delay_p95")
            && ten("waiting_delay_p95") < ten("waiting_delay_p99")
    );
    assert!(ten("waiting_delay_median") < ten("waiting_delay"));
    let (threshold, one) = json("--slowdown-threshold 1");
    assert_eq!(threshold, 1.0);
    // Short jobs are slowed down most.
    assert!(one("bounded_slowdown") > 1.2 * ten("bounded_slowdown"));
    assert!(ten("bounded_slowdown") > 1.0);
    assert_eq!(one("waiting_delay_p99"), ten("waiting_delay_p99"));
    let shown = host_sim(&format!("{SMALL} --strategy fsl")).good();
    for part in ["95 % (s)", "99 % (s)", "median (s)", "slowdown"] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
    let list = host_sim("list").good();
    for metric in ["bounded_slowdown", "waiting_delay_p95"] {
        assert!(list.contains(metric), "{list}");
    }
}

#[test]
fn a_closed_output_loses_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for (line, files) in [
        (
            "run --mesh 8x8 --jobs 60 --replications 40 --strategy ff,bf,as --format json -o jobs.csv \
             --draw timeline -o timeline.svg",
            &["jobs.csv", "timeline.svg"][..],
        ),
        (
            "compare --mesh 8x8 --jobs 60 --replications 3 --format json -o curves.svg",
            &["curves.svg"],
        ),
        (
            "saturation --mesh 8x8 --jobs 60 --replications 3 --format json -o sat.svg",
            &["sat.svg"],
        ),
    ] {
        let mut child = command(folder.path(), line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && stderr.is_empty(),
            "{line}: {stderr}"
        );
        for file in files {
            assert!(folder.path().join(file).is_file(), "{line}: {file}");
        }
    }
}

#[test]
fn jobs_behind_a_long_queue_are_backfilled() {
    // A job holds a processor of two for long, one that needs both waits, more than a table holds
    // wait behind it, and the last one can be served beside the first.
    let folder = tempfile::tempdir().unwrap();
    let job = |number: u32, size: u32, seconds: u32| {
        format!(
            "{number} {number} -1 {seconds} {size} -1 -1 {size} {seconds} -1 1 1 1 -1 -1 1 -1 -1\n"
        )
    };
    let mut log = job(1, 1, 10_000);
    log.extend((2..1_200).map(|number| job(number, 2, 10)));
    log += &job(1_200, 1, 10);
    fs::write(folder.path().join("log.swf"), log).unwrap();
    let line = "run --mesh 2x1 --log log.swf --scheduler easy -o jobs.csv --format json";
    let json = host_sim_in(folder.path(), line).json();
    assert_eq!(json["results"][0]["table_limited"], 0);
    let jobs = fs::read_to_string(folder.path().join("jobs.csv")).unwrap();
    let header: Vec<_> = jobs.lines().next().unwrap().split(',').collect();
    let last: Vec<_> = jobs.lines().last().unwrap().split(',').collect();
    let waited = header.iter().position(|&name| name == "waiting_time");
    assert_eq!(last[waited.unwrap()], "0", "{last:?}");
}

#[test]
fn the_seed_of_a_log_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let log = "1 0 -1 10 2 -1 -1 2 20 -1 1 1 1 -1 -1 1 -1 -1\n";
    fs::write(folder.path().join("log.swf"), log).unwrap();
    let line =
        "run --mesh 4x4 --log log.swf --estimates factor:1..5 --seed 7 --draw timeline -o t.svg";
    let text = host_sim_in(folder.path(), line).good();
    assert!(text.contains(", seed 7"), "{text}");
    let picture = fs::read_to_string(folder.path().join("t.svg")).unwrap();
    assert!(picture.contains(", seed 7"));
}

/// Two runs that differ by a parameter have headings that differ.
#[test]
fn headings_name_what_is_not_the_default() {
    let line = "run --mesh 8x8 --jobs 50 --replications 1";
    let heading = |more: &str| {
        let table = host_sim(&format!("{line} {more}")).good();
        let lines = table.lines().take_while(|line| !line.is_empty());
        lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    let plain = heading("");
    for (option, words) in [
        ("--side-range 2..5", ", lengths 2..5"),
        ("--side-range 8,3", ", lengths 1..8,1..3"),
        ("--warmup 0.2", ", 50 jobs a run, warm-up 0.2"),
        ("--slowdown-threshold 20", ", slowdown threshold 20 s"),
    ] {
        let found = heading(option);
        assert!(found.contains(words), "{words} is missing in {found}");
        assert!(!plain.contains(words), "{plain}");
    }
    assert_eq!(heading("--side-range 1..8 --warmup 0.05"), plain);
    let table = host_sim(
        "saturation --mesh 8x8 --strategy ff --jobs 100 --replications 1 --side-range 2..5",
    )
    .good();
    assert!(table.contains(" side-range=2..5 "), "{table}");
}
