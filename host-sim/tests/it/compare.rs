use std::fs;

use crate::program::{host_sim_in, host_sim_of};

const SMALL: &str = "compare --mesh 8x8 --jobs 300 --replications 3";

#[test]
fn a_table_and_a_picture_come_out() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("{SMALL} --load 0.2,0.5,0.2 -o out/c.svg");
    let shown = host_sim_in(folder.path(), &line).good();
    assert!(shown.contains("\npicture: out/c.svg\n\n"), "{shown}");
    for part in [
        "Mean waiting delay (s), scheduler=fcfs\nload",
        "Mean waiting delay (s), scheduler=easy\nload",
        " ± ",
        "seed=1",
    ] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
    let mut lines = shown.lines().filter(|line| !line.starts_with("next: "));
    assert!(lines.all(|line| line.chars().count() <= 80), "{shown}");
    let first_cells: Vec<_> = shown
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.parse::<f64>().ok())
        .collect();
    let headers: Vec<_> = shown
        .lines()
        .filter(|line| line.starts_with("load "))
        .collect();
    // Some of the eight tables are in two parts.
    assert_eq!(first_cells, [0.2, 0.5].repeat(headers.len()), "{shown}");
    for strategy in [" fsl", " leb", " naive"] {
        let with_it = headers.iter().filter(|header| header.contains(strategy));
        assert_eq!(with_it.count(), 8, "{strategy}: {shown}");
    }

    let svg = fs::read_to_string(folder.path().join("out/c.svg")).unwrap();
    assert!(
        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    for part in ["naive", "offered load", "mesh=8x8", "95 % confidence"] {
        assert!(svg.contains(part), "{part} is missing in {svg}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

/// The last lines: what stands behind the tables, and the words of the next command.
fn closing(shown: &str) -> (String, Vec<String>) {
    let (tables, closing) = shown.trim_end().rsplit_once("\n\n").unwrap();
    assert!(tables.contains("Mean waiting delay"), "{shown}");
    let (sentence, next) = closing.rsplit_once("next: ").unwrap();
    let mut words = shlex::split(next).unwrap();
    assert!(words.remove(0).ends_with("host-sim"), "{shown}");
    (sentence.trim_end().replace('\n', " "), words)
}

#[test]
fn the_last_lines_answer_the_question_and_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "mesh = \"8x8\"\nreplications = 3\nstrategy = [\"ff\", \"leb\", \"naive\"]\n";
    fs::write(folder.path().join("a file.toml"), scenario).unwrap();
    let job = |number: u32| {
        let submit = number / 6 * 120;
        format!("{number} {submit} -1 40 9 -1 -1 9 60 -1 1 1 1 -1 -1 1 -1 -1\n")
    };
    fs::write(
        folder.path().join("log.swf"),
        (0..99).map(job).collect::<String>(),
    )
    .unwrap();
    let of = "compare --mesh 8x8 --strategy ff,leb,naive --scheduler fcfs";
    let view = "view --mesh 8x8 --jobs 9000 --seed 2 --strategy least-expected-blocking,first-fit";
    let cases: [(String, &[&str], String); 7] = [
        (
            format!("{of} --jobs 9000 --replications 3 --seed 2 --load .2,.4"),
            &[
                "At load 0.4 jobs wait ",
                " s under least-expected-blocking, ",
                " s under first-fit, ",
                " times as long (fcfs; strategies that give a job one block).",
            ],
            format!("{view} --load 0.4 --scheduler fcfs"),
        ),
        (
            "compare --mesh 8x8 --strategy leb --jobs 9000 --replications 3 --load .4".into(),
            &[
                "At load 0.4 jobs wait ",
                " s under easy, ",
                " s under fcfs, ",
                " times as long (least-expected-blocking).",
            ],
            "view --mesh 8x8 --jobs 9000 --strategy least-expected-blocking --load 0.4 \
             --scheduler easy"
                .into(),
        ),
        (
            format!("{of} --jobs 9000 --replications 1 --load .3"),
            &[
                "At load 0.3 jobs wait ",
                ", in one replication, which has no interval (fcfs; ",
            ],
            "compare --mesh 8x8 --jobs 9000 --strategy least-expected-blocking,first-fit \
             --load 0.3 --scheduler fcfs --replications 4"
                .into(),
        ),
        (
            "compare --mesh 8x8 --strategy ff,bf --jobs 9000 --replications 2 --load .2".into(),
            &[
                "At load 0.2 the waits overlap in their 95 % intervals: ",
                " under first-fit",
            ],
            "compare --mesh 8x8 --jobs 9000 --load 0.2 --strategy STRATEGIES --scheduler fcfs \
             --replications 8"
                .into(),
        ),
        (
            format!("{of} --jobs 100 --replications 2 --load .5,.6"),
            &["No answer: the runs are too short, and their means grow with them (↑)."],
            "compare --mesh 8x8 --strategy ff,leb,naive --scheduler fcfs --load 0.5,0.6 \
             --replications 2 --jobs 400"
                .into(),
        ),
        (
            "compare --scenario FILE --jobs 9000 --load .4 --scheduler fcfs".into(),
            &["At load 0.4 jobs wait "],
            "view --scenario FILE --jobs 9000 --strategy least-expected-blocking,first-fit \
             --load 0.4 --scheduler fcfs"
                .into(),
        ),
        (
            format!("{of} --log log.swf"),
            &["At load ", " jobs wait ", " s under "],
            "view --mesh 8x8 --scheduler fcfs --log log.swf --strategy STRATEGIES".into(),
        ),
    ];
    for (line, parts, expected) in cases {
        let mut words: Vec<_> = line.split_whitespace().collect();
        words
            .iter_mut()
            .filter(|it| **it == "FILE")
            .for_each(|it| *it = "a file.toml");
        let shown = host_sim_of(folder.path(), &words).good();
        let (sentence, next) = closing(&shown);
        let mut rest = &*sentence;
        for part in parts {
            let found = rest.split_once(part);
            rest = found
                .unwrap_or_else(|| panic!("{part} is missing: {line}: {sentence}"))
                .1;
        }
        let mut expected: Vec<_> = expected.split_whitespace().collect();
        for (expected, next) in expected.iter_mut().zip(&next) {
            match *expected {
                "FILE" => *expected = "a file.toml",
                "STRATEGIES" => *expected = next,
                _ => {}
            }
        }
        let sorted = |mut words: Vec<String>| {
            words.sort();
            words
        };
        let expected = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(sorted(next.clone()), sorted(expected), "{line}");
        host_sim_of(folder.path(), &next).good();
    }
}

/// The numbers of the sentence are those of the results.
#[test]
fn the_answer_has_the_means_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let line = "compare --mesh 8x8 --strategy ff,leb --scheduler fcfs --jobs 9000 --load .4";
    let json = host_sim_in(folder.path(), &format!("{line} --format json")).json();
    let mean = |place: usize| {
        let result = &json["results"][place];
        result["metrics"]["waiting_delay"]["mean"].as_f64().unwrap()
    };
    let shown = host_sim_in(folder.path(), line).good();
    let (sentence, _) = closing(&shown);
    let words = sentence.split_whitespace();
    let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    let expected = [0.4, mean(1), mean(0), mean(0) / mean(1)];
    assert_eq!(numbers.len(), expected.len(), "{sentence}");
    for (number, expected) in numbers.into_iter().zip(expected) {
        assert!(
            (number / expected - 1.0).abs() < 0.05,
            "{number}, {expected}: {sentence}"
        );
    }
}

#[test]
fn a_scenario_file_has_what_the_command_line_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = String::from("mesh = \"8x8\"\njobs = 300\nreplications = 3\nload = 0.3\n");
    let mut write = |more: &str| {
        file.push_str(more);
        fs::write(folder.path().join("s.toml"), &file).unwrap();
    };
    write("");
    let run = |line: &str| host_sim_in(folder.path(), line);
    let tables = |line: &str| {
        let shown = run(line).good();
        shown.rsplit_once("\n\n").unwrap().0.to_owned()
    };
    let of_file = "compare --scenario s.toml";
    let of_line = "compare --mesh 8x8 --jobs 300 --replications 3";
    for (file, line) in [
        ("", "--load 0.3"),
        ("--load 0.2,0.5 --scheduler fcfs", ""),
        ("--load .25..:.55:.05 --scheduler fcfs", ""),
    ] {
        assert_eq!(
            tables(&format!("{of_file} {file}")),
            tables(&format!("{of_line} {file} {line}"))
        );
    }
    let shown = run("saturation --scenario s.toml --strategy ff");
    let note = "note: s.toml: the backlog of `saturation` replaces `load` (line 4)\n";
    assert_eq!((shown.code, &*shown.stderr), (Some(0), note));
    let expected = run("saturation --mesh 8x8 --jobs 300 --replications 3 --strategy ff").good();
    assert_eq!(shown.stdout, expected);

    write("scheduler = \"fcfs\"\n");
    let line = format!("{of_line} --load 0.3 --scheduler fcfs");
    assert_eq!(tables(of_file), tables(&line));
    write("backend = \"in-process\"\n");
    let ended = run(of_file);
    let error = "error: s.toml:6: `backend` has no use here: the command has no such option\n";
    assert_eq!((ended.code, &*ended.stderr), (Some(2), error));
}

#[test]
fn the_header_and_the_picture_have_the_conditions_that_are_not_the_default() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("{SMALL} --strategy ff --load .3,.4 -o p.svg");
    for given in [
        "--failures node:86400,3600 --restart in-place --checkpoint 600",
        "--warmup 0.1",
        "--slowdown-threshold 3",
        "--measure departures",
    ] {
        let words: Vec<_> = given.split(' ').collect();
        let pairs = words
            .chunks(2)
            .map(|pair| format!("{}={}", &pair[0][2..], pair[1]));
        let text = pairs.collect::<Vec<_>>().join(" ");
        for is_given in [false, true] {
            let given = if is_given { given } else { "" };
            let shown = host_sim_in(folder.path(), &format!("{line} {given}")).good();
            let header = shown.lines().next().unwrap();
            assert_eq!(header.contains(&text), is_given, "{header}");
            let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
            let has_all = text.split(' ').all(|word| svg.contains(word));
            assert_eq!(has_all, is_given, "{given}: {svg}");
        }
    }
}

#[test]
fn refusals_stand_beside_the_mean_in_the_table_and_in_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let line = "compare --torus 8x8x8 --strategy partner,naive --scheduler fcfs --jobs 400 \
                --replications 2 --load .2,.4 -o p.svg";
    let shown = host_sim_in(folder.path(), line).good();
    let rows: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains(" % refused)"))
        .collect();
    assert_eq!(rows.len(), 2, "{shown}");
    assert!(shown.contains("*: a mean over less than 99 %"), "{shown}");
    let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(svg.contains("refused jobs"), "{svg}");
    for row in rows {
        let (_, after) = row.split_once("* (").unwrap();
        let (percent, _) = after.split_once(" refused)").unwrap();
        assert!(svg.contains(percent), "{percent} is missing in {svg}");
    }
    let line = line.replace("partner,naive", "naive");
    assert!(!host_sim_in(folder.path(), &line).good().contains("refused"));
    let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(!svg.contains("refused"), "{svg}");
}

#[test]
fn a_saturated_point_has_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let line = "compare --mesh 8x8 --jobs 4000 --replications 3 --strategy ff --scheduler fcfs --load 2,3 -o p.svg";
    let shown = host_sim_in(folder.path(), line).good();
    let row = shown.lines().find(|line| line.starts_with("3 ")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["3", "saturated"],
        "{shown}"
    );
    let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(svg.contains("saturated"), "{svg}");

    let json = host_sim_in(folder.path(), &format!("{line} --format json")).json();
    let result = &json["points"][1]["results"][0];
    assert_eq!(result["saturated"], true);
    assert!(
        result["metrics"]["waiting_delay"]["mean"].is_null(),
        "{result}"
    );
    assert!(
        result["metrics"]["utilization"]["mean"].is_number(),
        "{result}"
    );
}

#[test]
fn the_seed_decides_everything() {
    let folder = tempfile::tempdir().unwrap();
    let run = |seed: u32, name: &str| {
        let line = format!("{SMALL} --load .4 --seed {seed} --format json -o {name}");
        let json = host_sim_in(folder.path(), &line).json();
        (json, fs::read(folder.path().join(name)).unwrap())
    };
    assert_eq!(run(1, "a.svg"), run(1, "b.svg"));
    assert_ne!(run(1, "a.svg"), run(2, "b.svg"));
}

#[test]
fn the_picture_shows_long_times_in_days() {
    let folder = tempfile::tempdir().unwrap();
    // Some seconds, and the same in days.
    let shapes = [(10, "(s)"), (864_000, "(days)")].map(|(mean, unit)| {
        let line = format!("{SMALL} --strategy ff --scheduler fcfs --load .3,.4 -o p.svg");
        let given = format!("--draw turnaround --service-mean {mean}");
        host_sim_in(folder.path(), &format!("{line} {given}")).good();
        let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
        assert!(svg.contains(&format!("turnaround {unit}")), "{svg}");
        let shapes = svg.lines().filter(|line| line.starts_with("<circle"));
        shapes.map(str::to_owned).collect::<Vec<_>>()
    });
    assert!(!shapes[0].is_empty());
    assert_eq!(shapes[0], shapes[1]);
}

#[test]
fn a_picture_that_was_there_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.svg");
    let line = format!("{SMALL} --load .4 -o p.svg");
    host_sim_in(folder.path(), &line).good();
    let longer = fs::read_to_string(&path).unwrap() + &"x".repeat(1_000_000);
    fs::write(&path, longer).unwrap();
    host_sim_in(folder.path(), &line).good();
    let svg = fs::read_to_string(path).unwrap();
    assert!(svg.starts_with("<svg") && !svg.contains("xxx"), "{svg}");
}

#[test]
fn each_scheduler_has_the_same_jobs_and_gains_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("{SMALL} --strategy fsl,leb --load .5 --format json");
    let json = host_sim_in(folder.path(), &line).json();
    let points = json["points"].as_array().unwrap();
    let schedulers = points.iter().map(|point| &point["scenario"]["scheduler"]);
    assert!(schedulers.eq(["fcfs", "easy"]));
    let service = |result: &serde_json::Value| result["metrics"]["service_time"]["mean"].clone();
    for point in points {
        let results = point["results"].as_array().unwrap();
        let strategies = results.iter().map(|result| &result["strategy"]);
        assert!(strategies.eq(["free-submesh-list", "least-expected-blocking"]));
        for result in results {
            assert_eq!(service(result), service(&points[0]["results"][0]));
            assert!(result["waiting_delay_gains"].as_array().unwrap().len() <= 1);
        }
    }
    let alone = host_sim_in(folder.path(), &format!("{line} --scheduler easy")).json();
    assert_eq!(alone["results"], points[1]["results"]);
}

/// A picture of a metric that no run has would be empty.
#[test]
fn a_metric_that_is_not_measured_is_not_drawn() {
    let folder = tempfile::tempdir().unwrap();
    for (options, expected) in [
        ("largest_slice", "--largest"),
        ("largest_share", "--largest"),
        ("availability", "--failures"),
        ("restart_time", "--failures"),
        (
            "waiting_at_last_arrival --measure departures",
            "--measure arrivals",
        ),
    ] {
        let metric = options.split(' ').next().unwrap();
        let ended = host_sim_in(folder.path(), &format!("{SMALL} --draw {options}"));
        let reason = format!("error: --draw {metric} requires {expected}\n");
        assert_eq!(ended.code, Some(2), "{ended}");
        assert_eq!((&*ended.stdout, &*ended.stderr), ("", &*reason));
    }
    for (metric, option) in [
        ("search_time", "--search-time"),
        ("message_latency", "--pattern"),
        ("hops", "--pattern"),
        ("blocked_time", "--pattern"),
    ] {
        let ended = host_sim_in(folder.path(), &format!("{SMALL} --draw {metric}"));
        let reason = format!("error: --draw {metric} requires {option}\n");
        assert_eq!(
            (ended.code, &*ended.stdout, &*ended.stderr),
            (Some(2), "", &*reason)
        );
    }
    // With what they require, and the others, they have numbers.
    let with = "--largest --failures node:100000,10 --strategy ff --scheduler fcfs --load .3";
    let line =
        format!("compare --mesh 8x8 --jobs 300 --replications 1 {with} --format json --draw");
    let json = host_sim_in(folder.path(), &format!("{line} restart_time")).json();
    let metrics = &json["results"][0]["metrics"];
    for (name, metric) in metrics.as_object().unwrap() {
        let is_drawn = host_sim_in(folder.path(), &format!("{line} {name}")).code == Some(0);
        assert_eq!(is_drawn, metric["mean"].is_number(), "{name}");
    }
}
