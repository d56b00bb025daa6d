use clap::Parser;
use meshalloc_papers::length::Length;
use meshalloc_sim::experiment::Replications;

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
