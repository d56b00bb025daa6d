use std::sync::LazyLock;

use meshalloc_sim::experiment::{self, Replications};

use super::*;
use case::Case;
use claims::Verdict;
use length::Length;
use logs::Logs;
use measure::{Measurements, Plan};
use paper::{File, Paper};

static PAPERS: LazyLock<Vec<File>> = LazyLock::new(|| paper::all().unwrap());

fn paper(name: &str) -> Paper {
    let file = PAPERS.iter().find(|file| file.name == name).unwrap();
    file.paper(&file.numbers(), file.quick.largest_mesh)
        .unwrap()
}

#[test]
fn every_paper_can_be_read_with_each_of_its_figures_alone() {
    for file in PAPERS.iter() {
        for mesh in [None, Some(16), Some(512)] {
            for number in file.numbers() {
                let alone = file.paper(&[number], mesh).unwrap();
                assert!(alone.figures.iter().all(|figure| figure.number == number));
            }
            file.paper(&file.numbers(), mesh).unwrap();
        }
    }
}

#[test]
fn what_is_wrong_with_a_paper_is_an_error_and_no_panic() {
    let good = include_str!("../data/chang_mohapatra.toml");
    let paper = |text: &str| {
        let file: File = toml::from_str(text).unwrap();
        file.paper(&file.numbers(), None)
    };
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        paper(&good.replace(from, to))
    };
    let greek = with(
        "heading = \"{side-lengths}\"",
        "heading = \"ßigma {side-lengths}\"",
    )
    .unwrap();
    assert!(greek.figures[1].panels[0].heading.starts_with("SSigma "));
    for (from, to, part) in [
        (
            "heading = \"{side-lengths}\"",
            "heading = \"\"",
            "no heading",
        ),
        (
            "values = [\"uniform\", \"normal:mean=16.5,var=6.6\"]\nname = [\"uniform\", \"normal:mean=16.5,var=6.6\"]\ntext = [\"uniform sides\", \"normal sides, mean 16.5, variance 6.6\"]",
            "",
            "\"side-lengths\" selects no value",
        ),
        (
            "[\"threshold:5..\"]",
            "[\"threshold:5..0\"]",
            "selects no value",
        ),
        ("rivals = [\"threshold:0\"]", "", "compares with rivals"),
    ] {
        let error = with(from, to).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn every_figure_has_panels_and_a_file_of_its_own() {
    for file in PAPERS.iter() {
        let mut stems = Vec::new();
        for figure in &paper(&file.name).figures {
            assert!(!figure.panels.is_empty(), "{}", figure.title);
            for panel in &figure.panels {
                let name = &panel.name;
                assert!(panel.places.len() > 1, "{name}");
                for curve in &panel.curves {
                    assert_eq!(curve.cells.len(), panel.places.len(), "{name}");
                }
            }
            stems.push(figure.file_stem());
        }
        let count = stems.len();
        stems.dedup();
        assert_eq!(stems.len(), count, "{stems:?}");
    }
}

#[test]
fn claims_are_about_points_that_the_figures_measure() {
    for file in PAPERS.iter() {
        let paper = paper(&file.name);
        let (mut simulated, mut clocked) = (Plan::default(), Plan::default());
        for figure in &paper.figures {
            figure.plan(&mut simulated, &mut clocked);
        }
        for claim in &paper.claims {
            let plan = if claim.metric.is_reproducible() {
                &simulated
            } else {
                &clocked
            };
            let points = claim.lines.iter().chain(&claim.rivals);
            for point in points.flat_map(|line| &line.points) {
                for cell in [&point.own, &point.other] {
                    let mut settings = plan.settings().iter();
                    let known = settings.find(|(setting, _)| *setting == cell.setting);
                    let measured = known.is_some_and(|(_, all)| all.contains(&cell.strategy));
                    assert!(measured, "{}: {}: {cell:?}", claim.text, point.at);
                }
            }
        }
    }
}

#[test]
fn without_measurements_nothing_is_claimed_to_hold() {
    for file in PAPERS.iter() {
        let claims = paper(&file.name).judge(&Measurements::default());
        assert!(claims.len() > 20);
        for claim in claims {
            assert_eq!(claim.judgement.verdict, Verdict::NotDecided, "{claim:?}");
        }
    }
}

#[test]
fn a_claim_counts_the_points_that_it_leaves_out() {
    use claims::rule::Rule;
    use meshalloc_sim::backend::InProcessBackends;

    let mut paper = paper("chang-mohapatra");
    let is_close = |case: &Case| matches!(case.rule, Rule::Close { .. });
    paper.claims.retain(is_close);
    paper.claims.truncate(1);
    paper.claims[0].rule = Rule::Average {
        low: 0.0,
        high: 10.0,
        more: false,
    };
    let points = &paper.claims[0].lines[0].points;
    let mut plan = Plan::default();
    for point in points {
        plan.add(&point.own);
        plan.add(&point.other);
    }
    let length = Length {
        jobs: 60,
        replications: Replications::Fixed(3),
        seed: 1,
    };
    for (growing, left_out) in [(false, None), (true, Some(points.len()))] {
        let mut measurements = Measurements::default();
        for (setting, strategies) in plan.settings() {
            let experiment = setting.experiment(strategies.clone(), length, &Logs::default());
            let backends = &mut InProcessBackends::default();
            let mut results = experiment::run(&experiment.unwrap(), backends, &()).unwrap();
            for result in &mut results {
                (result.saturated, result.grows_with_length) = (false, growing);
            }
            measurements.insert(setting, results);
        }
        let ours = &paper.judge(&measurements)[0].judgement.ours;
        let expected =
            left_out.map(|count| format!("grows with the run: {count} of {count} points"));
        match expected {
            Some(expected) => assert!(ours.ends_with(&expected), "{ours}"),
            None => assert!(!ours.contains("left out"), "{ours}"),
        }
    }
}

#[test]
fn a_setting_is_described_by_the_settings_of_its_scenario() {
    let paper = paper("chuang-wu");
    let last = &paper.figures[0].cells().last().unwrap().setting;
    let text = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let expected = [
        ("machine", "4-ary 3-cube"),
        ("dims", "normal"),
        ("radices", "normal"),
        ("batch", "100"),
        ("service", "uniform:10,15"),
        ("estimates", "perfect"),
        ("scheduler", "fcfs"),
        ("slowdown_threshold", "10.0"),
    ];
    let mut label = last.label();
    label.sort();
    let mut expected = expected.map(text);
    expected.sort();
    assert_eq!(label, expected);
}

#[test]
fn few_points_decide_nothing_and_identical_systems_are_named() {
    use claims::rule::Rule;
    use meshalloc_sim::backend::InProcessBackends;

    let mut paper = paper("chang-mohapatra");
    let is_close = |case: &Case| matches!(case.rule, Rule::Close { .. });
    paper.claims.retain(is_close);
    paper.claims.truncate(1);
    // Anything is near enough.
    paper.claims[0].rule = Rule::Close {
        tight: 1e9,
        loose: 1e9,
    };
    let points = &paper.claims[0].lines[0].points;
    let count = points.len();
    let length = Length {
        jobs: 60,
        replications: Replications::Fixed(3),
        seed: 1,
    };
    let judged = |growing: usize, identical: usize| {
        let mut measurements = Measurements::default();
        for (place, point) in points.iter().enumerate() {
            let mut plan = Plan::default();
            plan.add(&point.own);
            plan.add(&point.other);
            for (setting, strategies) in plan.settings() {
                let experiment = setting.experiment(strategies.clone(), length, &Logs::default());
                let backends = &mut InProcessBackends::default();
                let mut results = experiment::run(&experiment.unwrap(), backends, &()).unwrap();
                for (number, result) in results.iter_mut().enumerate() {
                    (result.saturated, result.has_delays) = (false, true);
                    result.grows_with_length = place < growing;
                    result.decision_hash = if place < identical {
                        7
                    } else {
                        10 + number as u64
                    };
                }
                measurements.insert(setting, results);
            }
        }
        paper.judge(&measurements).remove(0).judgement
    };
    assert!(count >= 4, "{count}");
    let whole = judged(0, 0);
    assert_eq!(whole.verdict, Verdict::Holds, "{whole:?}");
    assert!(!whole.ours.contains("identical"), "{whole:?}");
    assert_eq!(judged(count / 4, 0).verdict, Verdict::Holds);
    let one = judged(count - 1, 0);
    assert_eq!(one.verdict, Verdict::NotDecided, "{one:?}");
    let alike = judged(0, count).ours;
    let ending = format!("identical (same decision hash): {count} of {count} points");
    assert!(alike.ends_with(&ending), "{alike}");
    let alike = judged(0, 1).ours;
    assert!(alike.ends_with(&points[0].at), "{alike}");
}

#[test]
fn measurements_are_compared_pair_by_pair() {
    use measure::{Cell, Point, Reading};
    use meshalloc_sim::backend::InProcessBackends;
    use meshalloc_sim::statistics::BLOCKS_MIN;
    use meshalloc_sim::statistics::{Estimate, Interval, Sampling, Spread};

    let metric = meshalloc_sim::metrics::Metric::Utilization;
    let paper = paper("chuang-wu");
    let cells: Vec<Cell> = [0, 3]
        .map(|curve| paper.figures[0].panels[0].curves[curve].cells[0].clone())
        .into();
    let (own, other) = (cells[0].clone(), cells[1].clone());
    let count = 10 * BLOCKS_MIN as u32;
    let measured = |replications| {
        let length = Length {
            jobs: 100,
            replications: Replications::Fixed(replications),
            seed: 1,
        };
        let strategies = vec![own.strategy, other.strategy];
        let experiment = own.setting.experiment(strategies, length, &Logs::default());
        let results = experiment::run(&experiment.unwrap(), &mut InProcessBackends::default(), &());
        let mut measurements = Measurements::default();
        measurements.insert(&own.setting, results.unwrap());
        measurements
    };
    let measurements = measured(count);
    let mean = |cell| measurements.reading(cell, metric).estimate().unwrap();
    let mine = mean(&own);

    let values = |cell| match measurements.reading(cell, metric) {
        Reading::Values(sample) => sample.values,
        other => panic!("{other:?}"),
    };
    let pairs = values(&own).into_iter().zip(values(&other));
    let differences: Vec<f64> = pairs.map(|(own, other)| own - other).collect();
    let difference = measurements.difference(&own, &other, metric);
    assert_eq!(
        difference,
        Estimate::of(&differences, Sampling::Independent, Spread::Even)
    );
    let pair = Point {
        at: String::new(),
        place: None,
        own: own.clone(),
        other: other.clone(),
    };
    let rise = measurements.rise(&pair, &pair, metric).unwrap();
    assert_eq!(
        (rise.mean, rise.ci95),
        (0.0, Some(Interval::around(0.0, 0.0)))
    );

    // From itself to another system, a system has gone nothing of the way, and the other all of it.
    let way = |cell| {
        measurements
            .part_of_way(cell, &own, &other, metric)
            .unwrap()
    };
    assert_eq!((way(&own).mean, way(&other).mean), (0.0, 1.0));
    let back = measurements.part_of_way(&own, &other, &own, metric);
    assert_eq!(back.unwrap().mean, 1.0);
    assert_eq!(measurements.part_of_way(&own, &other, &other, metric), None);
    let refused = measurements.refused(&own, metric).unwrap();
    assert_eq!(refused.values, vec![0.0; count as usize]);

    let first = measurements.reading(&own, metric).estimate_of_first(10);
    let ten = measured(10);
    assert_eq!(first, ten.reading(&own, metric).estimate());
    assert_eq!(ten.reading(&own, metric).estimate_of_first(11), None);

    let width = measurements.half_width_in_blocks(&own, metric, 10).unwrap();
    let all = mine.ci95.unwrap().half_width();
    // Five times as many replications: about root five times as exact.
    assert!((1.6..3.6).contains(&(width / all)), "{width} {all}");
    assert_eq!(
        measured(count - 1).half_width_in_blocks(&own, metric, 10),
        None
    );
    assert_eq!(
        Measurements::default().reading(&own, metric),
        Reading::Missing
    );
}

#[test]
fn a_paper_has_mixes_and_machines_of_its_own() {
    let pods = paper("pods");
    let cells = || pods.figures.iter().flat_map(figure::Figure::cells);
    let mixes: Vec<_> = cells()
        .filter_map(|cell| cell.setting.plan.workload.mix())
        .collect();
    let own = mixes.iter().find(|mix| mix.source.to_string() == "any.csv");
    let entries = &own.unwrap().entries;
    let (any, allowed): (Vec<_>, Vec<_>) = {
        let allowed = mixes
            .iter()
            .find(|mix| mix.source.to_string() == "allowed.csv");
        let area =
            |entry: &meshalloc_sim::workload::MixEntry| (entry.request.shape.area(), entry.weight);
        let allowed = &allowed.unwrap().entries;
        (
            entries.iter().map(area).collect(),
            allowed.iter().map(area).collect(),
        )
    };
    // Draw by draw the same jobs, each in a slice that holds it.
    assert_eq!(any.len(), allowed.len());
    assert!(
        any.iter()
            .zip(&allowed)
            .all(|(own, other)| own.1 == other.1 && own.0 <= other.0)
    );
    let setting = &cells().next().unwrap().setting;
    let description = setting.plan.description.as_ref().unwrap();
    assert_eq!(description.name, "any-shape");
    assert_eq!(setting.plan.machine.to_string(), "torus 16x16x16");

    let good = include_str!("../data/pods.toml");
    for (from, to, part) in [
        ("cube = [4, 4, 4]", "cube = [5, 4, 4]", "any-shape.toml:"),
        ("1x1x1,2.1\n", "1x1x1\n", ".csv:2: 1 cell"),
        ("backlog = 10", "backlog = 0", "expected a whole number"),
    ] {
        assert!(good.contains(from), "{from}");
        let file: File = toml::from_str(&good.replace(from, to)).unwrap();
        let error = file.paper(&file.numbers(), None).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

/// A setting whose failures are in a file measures under them.
#[test]
fn the_failures_of_a_setting_are_read_from_their_file() {
    use meshalloc_sim::failures::FailureSource;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("failures.csv");
    std::fs::write(&path, "time,what,which,state\n5,node,3,down\n").unwrap();
    let good = include_str!("../data/kim_yoon.toml");
    let text = good.replacen("[fixed]", &format!("[fixed]\nfailures = {path:?}"), 1);
    assert_ne!(text, good);
    let file: File = toml::from_str(&text).unwrap();
    let paper = file.paper(&file.numbers(), Some(16)).unwrap();
    let cell = paper.figures[0].cells().next().unwrap();
    let length = Length {
        jobs: 60,
        replications: Replications::Fixed(1),
        seed: 1,
    };
    let measured = || {
        let strategies = vec![cell.strategy];
        cell.setting
            .experiment(strategies, length, &Logs::default())
    };
    let failures = measured().unwrap().failures.unwrap();
    let FailureSource::File { events, .. } = failures.source else {
        panic!("{failures:?}");
    };
    assert_eq!(events.len(), 1);
    std::fs::remove_file(&path).unwrap();
    let error = measured().unwrap_err();
    assert!(error.contains("failures.csv"), "{error}");
}

/// Against what the thesis says in its text: "ranged from 62 % to 76 %", of FF and NAS at the
/// highest rate.
#[test]
fn numbers_of_the_text_stand_at_the_points_they_are_about() {
    let stated = |paper: &Paper, number: u32| -> Vec<(String, String, f64)> {
        let figures = paper
            .figures
            .iter()
            .filter(|figure| figure.number == number);
        let panels = figures.flat_map(|figure| &figure.panels);
        let stated = panels.flat_map(|panel| {
            panel.stated.iter().map(|stated| {
                let curve = panel.curves[stated.curve].name.clone();
                (curve, panel.places[stated.row].entry.clone(), stated.number)
            })
        });
        stated.collect()
    };
    let alshdefat = paper("alshdefat");
    let point = |strategy: &str, rate: &str, number| (strategy.to_owned(), rate.to_owned(), number);
    assert_eq!(
        stated(&alshdefat, 1),
        [
            point("first fit", "0.002", 62.0),
            point("neighbour allocation", "0.002", 76.0)
        ]
    );
    assert_eq!(stated(&alshdefat, 3), []);
    // Gains are no numbers of points.
    let kim_yoon = paper("kim-yoon");
    assert!((10..=17).all(|number| stated(&kim_yoon, number).is_empty()));
    let chuang_wu = stated(&paper("chuang-wu"), 2);
    assert!(
        !chuang_wu.is_empty() && chuang_wu.iter().all(|stated| stated.1 == "U*U"),
        "{chuang_wu:?}"
    );
}

/// Figures and pages show the same intervals as results do: those of fractions end at 0 and 1.
#[test]
fn shown_intervals_of_fractions_end_at_0_and_1() {
    use measure::Shown;
    use meshalloc_sim::backend::InProcessBackends;
    use meshalloc_sim::metrics::{Metric, Unit};

    let paper = paper("kim-yoon");
    let panels = paper.figures.iter().flat_map(|figure| &figure.panels);
    let cells = panels.flat_map(|panel| panel.curves.iter().map(|curve| &curve.cells[0]));
    let length = Length {
        jobs: 50,
        replications: Replications::Fixed(2),
        seed: 1,
    };
    let mut cut = 0;
    for cell in cells {
        let experiment = cell
            .setting
            .experiment(vec![cell.strategy], length, &Logs::default());
        let results = experiment::run(&experiment.unwrap(), &mut InProcessBackends::default(), &());
        let mut measurements = Measurements::default();
        measurements.insert(&cell.setting, results.unwrap());
        for metric in Metric::ALL {
            if metric.unit() != Unit::Fraction {
                continue;
            }
            let reading = measurements.reading(cell, metric);
            let Some(whole) = reading.estimate().and_then(|whole| whole.ci95) else {
                continue;
            };
            let Shown::Number { estimate, .. } = measurements.shown(cell, None, metric) else {
                panic!("{metric:?} has an estimate");
            };
            let shown = estimate.ci95.unwrap();
            let expected = [whole.low, whole.high].map(|end| 100.0 * end.clamp(0.0, 1.0));
            assert_eq!([shown.low, shown.high], expected, "{metric:?}");
            cut += u32::from(whole.low < 0.0 || whole.high > 1.0);
        }
    }
    assert!(cut > 0, "none of these intervals had to be cut");
}
