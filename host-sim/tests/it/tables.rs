//! Tables and pictures of `saturation` and `compare`.

use std::fs;

use crate::program::host_sim_in;

#[test]
fn saturation_is_sorted_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let line = "saturation --mesh 16x16 --strategy naive,ff,fs --jobs 600 --replications 2";
    let json = host_sim_in(folder.path(), &format!("{line} --format json")).json();
    let mut expected: Vec<_> = json["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let mean = result["metrics"]["utilization"]["mean"].as_f64().unwrap();
            (mean, result["strategy"].as_str().unwrap().to_owned())
        })
        .collect();
    expected.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shown = host_sim_in(folder.path(), &format!("{line} -o a/s.svg")).good();
    let table: Vec<_> = shown.lines().filter(|line| line.contains('█')).collect();
    assert_eq!(table.len(), 3, "{shown}");
    for (row, (mean, name)) in table.iter().zip(&expected) {
        assert!(row.starts_with(name.as_str()), "{shown}");
        let eighths: usize = row
            .chars()
            .map(|c| match c {
                '█' => 8,
                '▉' => 7,
                '▊' => 6,
                '▋' => 5,
                '▌' => 4,
                '▍' => 3,
                '▎' => 2,
                '▏' => 1,
                _ => 0,
            })
            .sum();
        assert_eq!(eighths, (mean * 128.0).round() as usize, "{row}");
    }
    let svg = fs::read_to_string(folder.path().join("a/s.svg")).unwrap();
    for (_, name) in &expected {
        assert!(svg.contains(name.as_str()), "{name}");
    }
    assert!(svg.contains("processor utilization (%)"));
    let places = expected.iter().map(|(_, name)| svg.find(name.as_str()));
    assert!(places.is_sorted(), "the legend is in another order");
}

#[test]
fn compare_draws_any_metric() {
    let folder = tempfile::tempdir().unwrap();
    let line = "compare --mesh 8x8 --strategy ff,naive --scheduler fcfs --load .3,.5 --jobs 200 \
                --replications 2 -o c.svg";
    for (metric, title, label) in [
        (
            "waiting_delay",
            "Mean waiting delay",
            "mean waiting delay (s)",
        ),
        (
            "waiting-delay-p95",
            "Waiting delay p95",
            "waiting delay p95 (s)",
        ),
        (
            "utilization",
            "Processor utilization",
            "processor utilization (%)",
        ),
        (
            "bounded_slowdown",
            "Mean bounded slowdown",
            "mean bounded slowdown",
        ),
    ] {
        let shown = host_sim_in(folder.path(), &format!("{line} --draw {metric}")).good();
        let svg = fs::read_to_string(folder.path().join("c.svg")).unwrap();
        assert!(
            svg.contains(title) && svg.contains(label),
            "{metric}: {svg}"
        );
        // The table shows it, too.
        let heading = format!("{}{}", label[..1].to_uppercase(), &label[1..]);
        let is_shown = shown.contains(&heading) || shown.contains(title);
        assert!(is_shown, "{metric}: {shown}");
    }
    let ended = host_sim_in(folder.path(), &format!("{line} --draw utilisation"));
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("did you mean \"utilization\"?"),
        "{ended}"
    );
}

#[test]
fn times_are_in_the_unit_asked_for_and_of_a_log_in_one_that_people_read() {
    let folder = tempfile::tempdir().unwrap();
    // The second job waits for the five days of the first.
    let job = |number: u32, seconds: u32| {
        format!("{number} 0 -1 {seconds} 16 -1 -1 16 -1 -1 1 1 1 -1 -1 1 -1 -1\n")
    };
    let log = job(1, 432_000) + &job(2, 864_000);
    fs::write(folder.path().join("log.swf"), log).unwrap();
    for command in ["run", "compare --strategy ff --scheduler fcfs"] {
        let line = format!("{command} --mesh 4x4 --log log.swf");
        for (more, unit, wait) in [
            ("", "(days)", " 2.5"),
            (" --time-unit h", "(h)", " 60"),
            (" --time-unit min", "(min)", " 3600"),
            (" --time-unit s", "(s)", " 216000"),
        ] {
            let shown = host_sim_in(folder.path(), &format!("{line}{more}")).good();
            let is_shown = shown.contains(unit) && shown.contains(wait);
            assert!(is_shown, "{line}{more}: {shown}");
        }
        let csv = format!("{line} --time-unit d --format csv");
        let csv = host_sim_in(folder.path(), &csv).good();
        assert!(csv.contains(",waiting_delay,216000,"), "{csv}");
    }
    let line = "run --mesh 4x4 --batch 9 --pattern ring --time-unit h";
    let ended = host_sim_in(folder.path(), line);
    let reason = "error: --time-unit: jobs send messages, so times are in cycles\n";
    assert_eq!((ended.code, &*ended.stderr), (Some(2), reason));
}
