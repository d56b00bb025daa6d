use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::program::{host_sim, host_sim_in};

/// A tenth of a second or so.
const KIM_YOON: &str = "reproduce kim-yoon --jobs 200 --replications 3 --largest-mesh 32";
const CHANG_MOHAPATRA: &str = "reproduce chang-mohapatra --jobs 200 --replications 3";

/// Every file of a folder by its name.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap())
    };
    entries.map(read).collect()
}

/// The records of a CSV file, fields by the names in its first line.
fn records(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn every_figure_gives_a_table_a_picture_and_verdicts() {
    for (line, figures) in [(KIM_YOON, 10..=17), (CHANG_MOHAPATRA, 3..=6)] {
        let folder = tempfile::tempdir().unwrap();
        let shown = host_sim_in(folder.path(), &format!("{line} --output o")).good();
        let files = files(&folder.path().join("o"));
        for number in figures.clone() {
            let of_figure = format!("figure-{number:02}");
            let endings = [".csv", ".svg"].map(|ending| {
                let mut names = files.keys();
                names.any(|name| name.starts_with(&of_figure) && name.ends_with(ending))
            });
            assert_eq!(endings, [true; 2], "{of_figure}: {:?}", files.keys());
            let verdicts = shown
                .lines()
                .filter(|l| l.starts_with(&format!("Figure {number}, ")));
            let verdicts: Vec<_> = verdicts.collect();
            assert!(
                verdicts.len() == 1 && verdicts[0].contains("hold, "),
                "{number}: {shown}"
            );
        }
        let pages: Vec<_> = files
            .keys()
            .filter(|name| name.ends_with(".html"))
            .collect();
        assert_eq!(pages.len(), 1, "{:?}", files.keys());
        assert!(
            !files.keys().any(|name| name.ends_with(".journal")),
            "{:?}",
            files.keys()
        );
        for (name, text) in &files {
            assert!(!text.contains("NaN"), "{name}");
        }
    }
}

#[test]
fn a_table_has_a_record_for_every_point() {
    let folder = tempfile::tempdir().unwrap();
    host_sim_in(
        folder.path(),
        &format!("{KIM_YOON} --figure 10 --figure 14"),
    )
    .good();
    let files = files(&folder.path().join("out/kim-yoon"));

    let delays = records(&files["figure-10.csv"]);
    // Four distributions, three strategies, two meshes.
    assert_eq!(delays.len(), 4 * 3 * 2);
    let readings = ["normal", "normal:var"].map(|sizes| {
        let of_reading = delays.iter().filter(|record| record["sizes"] == sizes);
        of_reading.count()
    });
    assert_eq!(readings, [6, 6]);
    for record in &delays {
        assert_eq!(record["measure"], "waiting_delay_s");
        assert_eq!(record["replications"], "3");
        assert_eq!(record["mesh"], format!("{0}x{0}", record["x"]));
        let saturated: bool = record["saturated"].parse().unwrap();
        assert_eq!(record["mean"].is_empty(), saturated, "{record:?}");
        if !saturated {
            let [mean, width] = ["mean", "ci95"].map(|key| record[key].parse::<f64>().unwrap());
            assert!(mean > 0.0 && width > 0.0, "{record:?}");
        }
    }
    let times = records(&files["figure-14-time.csv"]);
    assert_eq!(times.len(), 3 * 3 * 2);
    for record in &times {
        let micros: f64 = record["mean"].parse().unwrap();
        assert!((0.01..1e6).contains(&micros), "{record:?}");
    }
}

#[test]
fn both_readings_of_the_dynamic_threshold_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    host_sim_in(folder.path(), &format!("{KIM_YOON} --figure 15 --output o")).good();
    let delays = records(&files(&folder.path().join("o"))["figure-15.csv"]);
    for scheduler in ["modified-fcfs:dynamic", "modified-fcfs:count"] {
        let of_reading = delays
            .iter()
            .filter(|record| record["scheduler"] == scheduler);
        assert_eq!(of_reading.count(), 2 * 3 * 2, "{scheduler}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_with_any_number_of_threads() {
    let run = |options: &str| {
        let folder = tempfile::tempdir().unwrap();
        // Without figures that a clock measures.
        let line = format!("{CHANG_MOHAPATRA} --figure 3 --figure 5 {options} --output o");
        let shown = host_sim_in(folder.path(), &line).good();
        (shown, files(&folder.path().join("o")))
    };
    let one = run("--seed 4 --threads 1");
    assert_eq!(one, run("--seed 4 --threads 2"));
    assert_ne!(one.1["figure-03.csv"], run("--seed 5").1["figure-03.csv"]);
}

#[test]
fn figures_share_their_points() {
    let folder = tempfile::tempdir().unwrap();
    let line = |figures: &str| format!("{CHANG_MOHAPATRA} {figures} --output o");
    host_sim_in(folder.path(), &line("--figure 5")).good();
    let alone = files(&folder.path().join("o"))["figure-05.csv"].clone();
    host_sim_in(folder.path(), &line("--figure 3 --figure 5 --figure 6")).good();
    assert_eq!(files(&folder.path().join("o"))["figure-05.csv"], alone);
}

#[test]
fn what_is_not_known_ends_with_exit_code_2() {
    for (line, expected) in [
        (
            "reproduce kim-yoon --figure 9",
            "10, 11, 12, 13, 14, 15, 16, 17",
        ),
        ("reproduce chang-mohapatra --figure 10", "3, 4, 5, 6"),
        ("reproduce chang-mohapatra --largest-mesh 64", "32x32"),
        (
            "reproduce kim-yoon --largest-mesh 100",
            "possible values: 16, 32",
        ),
        ("reproduce kim-yun", "kim-yoon"),
        ("reproduce kim-yoon --quick --full", "cannot be used with"),
        ("reproduce kim-yoon --jobs 0", "at least 1"),
    ] {
        let ended = host_sim(line);
        assert_eq!(ended.code, Some(2), "{line}: {ended}");
        assert!(ended.stderr.contains(expected), "{line}: {ended}");
        assert!(ended.stdout.is_empty(), "{line}: {ended}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("o"), "a file").unwrap();
    let ended = host_sim_in(folder.path(), &format!("{KIM_YOON} --output o"));
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(
        ended.stderr.starts_with("error: o: cannot make the folder"),
        "{ended}"
    );
}
