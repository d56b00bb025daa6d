use clap::Parser;
use meshalloc_papers::length::Length;
use meshalloc_sim::experiment::{Experiment, Replications};

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: ReproduceArgs,
}

fn given(args: &ReproduceArgs) -> Scenario {
    args.settings.scenario("reproduce").unwrap()
}

fn command(args: &ReproduceArgs) -> String {
    args.command(&given(args), &args.figures().unwrap())
}

fn extent(args: &ReproduceArgs) -> Extent {
    args.extent(&given(args))
}

fn args(line: &str) -> ReproduceArgs {
    let words = std::iter::once("reproduce").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().args
}

#[test]
fn the_command_on_the_page_gives_the_same_again() {
    let given = args(
        "chang-mohapatra --figure 6 --figure 3 --figure 6 --jobs 500 --seed 7 --threads 2 --save x",
    );
    let shown = command(&given);
    assert_eq!(
        shown,
        "host-sim reproduce chang-mohapatra --figure 3 --figure 6 --jobs 500 --seed 7"
    );
    let again = args(shown.strip_prefix("host-sim reproduce ").unwrap());
    assert_eq!(command(&again), shown);
    assert_eq!(extent(&again).length, extent(&given).length);
}

#[test]
fn other_values_of_settings_are_in_all_runs_and_in_the_command() {
    let given = args("chuang-wu --figure 2 --set scheduler=easy --set estimates=none");
    assert!(command(&given).contains(" --set scheduler=easy --set estimates=none "));
    let file = given.changed().unwrap().unwrap();
    let paper = file.paper(&[2], None).unwrap();
    let mut cells = paper.figures.iter().flat_map(Figure::cells);
    let is_easy = |cell: &meshalloc_papers::measure::Cell| {
        matches!(
            cell.setting.plan.scheduler,
            meshalloc::SchedulerKind::Easy { .. }
        )
    };
    assert!(cells.all(is_easy));
    for (set, part) in [
        ("load=.3", "have values of `load` on an axis"),
        ("warmu=.3", "did you mean \"warmup\"?"),
        ("warmup=2", "expected a number from 0"),
    ] {
        let error = args(&format!("chuang-wu --set {set}")).changed();
        let error = error.unwrap_err();
        assert!(error.starts_with(&format!("--set {set}: ")), "{error}");
        assert!(error.contains(part), "{error}");
    }
}

/// The file has the points of the figure, with the lengths of its runs.
#[test]
fn a_figure_is_a_scenario_file() {
    let mut written = Vec::new();
    for file in &*PAPERS {
        let given = args(&file.name);
        let extent = extent(&given);
        let paper = paper(&file.name);
        for figure in &paper.figures {
            let length = |setting: &Setting| extent.simulated(setting);
            let Ok(text) = scenario::text(&file.title, figure, &length) else {
                continue;
            };
            written.push(format!("{} {}", file.name, figure.number));
            let path = Path::new("f.toml");
            let study = meshalloc_sim::scenario::Study::of_text(&text, path, Default::default());
            let study = study.unwrap_or_else(|error| panic!("{error}: {text}"));
            let points = study.points(None, &|_| Ok(()));
            let points = points.unwrap_or_else(|error| panic!("{error}: {text}"));
            let plans = points.iter().map(|point| &point.scenario.plan);
            let (mut simulated, mut clocked) = (Plan::default(), Plan::default());
            figure.plan(&mut simulated, &mut clocked);
            let settings = simulated.settings().iter().chain(clocked.settings());
            let settings: Vec<_> = settings.collect();
            for plan in plans {
                let found = settings.iter().find(|(setting, strategies)| {
                    let expected = Experiment {
                        strategies: plan.strategies.clone(),
                        jobs: plan.jobs,
                        replications: plan.replications,
                        seed: plan.seed,
                        ..setting.plan.clone()
                    };
                    let mut own = plan.strategies.iter();
                    expected == *plan && own.all(|strategy| strategies.contains(strategy))
                });
                assert!(found.is_some(), "{}: {text}", written.last().unwrap());
            }
        }
    }
    assert!(written.len() > 15, "{written:?}");
    assert!(written.contains(&"chuang-wu 2".to_owned()), "{written:?}");
}

fn paper(name: &str) -> Paper {
    let file = PAPERS.iter().find(|file| file.name == name).unwrap();
    file.paper(&file.numbers(), file.quick.largest_mesh)
        .unwrap()
}

#[test]
fn full_is_the_papers_length() {
    let full = args("kim-yoon --full");
    assert_eq!(extent(&full).length.jobs, 100_000);
    assert!(matches!(
        extent(&full).length.replications,
        Replications::UntilRelativeError { target: 0.03, .. }
    ));
    assert_eq!(full.lengths().largest_mesh, Some(512));
    assert_eq!(extent(&args("chang-mohapatra --full")).length.jobs, 10_000);
}

/// Where the first jobs to leave are measured, their turnaround ends the replications.
#[test]
fn the_page_names_the_metric_whose_error_ends_the_replications() {
    for (name, metric) in [
        ("alshdefat", "mean turnaround"),
        ("kim-yoon", "mean waiting delay"),
    ] {
        let given = args(&format!("{name} --full"));
        let page = page::page(&page::Content {
            file: given.paper,
            figures: &paper(name).figures,
            measurements: &Measurements::default(),
            claims: &[],
            left_out: &[],
            command: "",
            extent: &extent(&given),
        });
        let page = page.unwrap();
        let text = format!("until the error of the {metric} is at most ");
        assert!(page.contains(&text), "{name}: {text:?} is missing");
        assert_eq!(page.matches("until the ").count(), 1, "{name}");
    }
}

#[test]
fn tasks_at_time_0_have_a_number_and_replications_of_their_own() {
    let default = extent(&args("chuang-wu --jobs 500"));
    let paper = paper("chuang-wu");
    let lengths = |number: u32| -> Vec<Length> {
        let of_number = paper.figures.iter().find(|figure| figure.number == number);
        let cells = of_number.unwrap().cells();
        cells.map(|cell| default.simulated(&cell.setting)).collect()
    };
    for length in lengths(2) {
        assert_eq!(
            (length.jobs, length.replications),
            (100, Replications::Fixed(200))
        );
    }
    for length in lengths(3) {
        assert_eq!(
            (length.jobs, length.replications),
            (500, Replications::Fixed(10))
        );
    }
    let few = extent(&args("chuang-wu --full --replications 7"));
    assert_eq!(few.closed_replications, Replications::Fixed(7));
    assert_eq!(few.length.replications, Replications::Fixed(7));
}
