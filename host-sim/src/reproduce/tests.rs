use clap::Parser;
use meshalloc_papers::length::Length;
use meshalloc_sim::experiment::Replications;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: ReproduceArgs,
}

fn args(line: &str) -> ReproduceArgs {
    let words = std::iter::once("reproduce").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().args
}

#[test]
fn the_command_on_the_page_gives_the_same_again() {
    let given = args(
        "chang-mohapatra --figure 6 --figure 3 --figure 6 --jobs 500 --seed 7 --threads 2 --output x",
    );
    let command = given.command(&given.figures().unwrap());
    assert_eq!(
        command,
        "host-sim reproduce chang-mohapatra --quick --figure 3 --figure 6 --jobs 500 --seed 7"
    );
    let again = args(command.strip_prefix("host-sim reproduce ").unwrap());
    assert_eq!(again.command(&again.figures().unwrap()), command);
    assert_eq!(again.extent().length, given.extent().length);
}

fn paper(name: &str) -> Paper {
    let file = PAPERS.iter().find(|file| file.name == name).unwrap();
    file.paper(&file.numbers(), file.quick.largest_mesh)
        .unwrap()
}

#[test]
fn full_is_the_papers_length() {
    let full = args("kim-yoon --full");
    assert_eq!(full.extent().length.jobs, 100_000);
    assert!(matches!(
        full.extent().length.replications,
        Replications::UntilRelativeError { target: 0.03, .. }
    ));
    assert_eq!(full.lengths().largest_mesh, Some(512));
    assert_eq!(args("chang-mohapatra --full").extent().length.jobs, 10_000);
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
            extent: &given.extent(),
        });
        let page = page.unwrap();
        let text = format!("until the error of the {metric} is at most ");
        assert!(page.contains(&text), "{name}: {text:?} is missing");
        assert_eq!(page.matches("until the ").count(), 1, "{name}");
    }
}

#[test]
fn tasks_at_time_0_have_a_number_and_replications_of_their_own() {
    let extent = args("chuang-wu --jobs 500").extent();
    let paper = paper("chuang-wu");
    let lengths = |number: u32| -> Vec<Length> {
        let of_number = paper.figures.iter().find(|figure| figure.number == number);
        let cells = of_number.unwrap().cells();
        cells.map(|cell| extent.simulated(&cell.setting)).collect()
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
    let few = args("chuang-wu --full --replications 7").extent();
    assert_eq!(few.closed_replications, Replications::Fixed(7));
    assert_eq!(few.length.replications, Replications::Fixed(7));
}
