use super::*;
use clap::Parser;

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
    let command = given.command();
    assert_eq!(
        command,
        "host-sim reproduce chang-mohapatra --quick --figure 3 --figure 6 --jobs 500 --seed 7"
    );
    let again = args(command.strip_prefix("host-sim reproduce ").unwrap());
    assert_eq!(again.command(), command);
    assert_eq!(again.extent().length, given.extent().length);
}

#[test]
fn full_is_the_papers_length() {
    let full = args("kim-yoon --full").extent();
    assert_eq!(full.length.jobs, 100_000);
    assert!(matches!(
        full.length.replications,
        Replications::UntilRelativeError { target: 0.03, .. }
    ));
    assert_eq!(full.largest_side, 512);
    assert_eq!(args("chang-mohapatra --full").extent().length.jobs, 10_000);
}

#[test]
fn every_figure_has_panels_and_a_file_of_its_own() {
    let papers = [
        kim_yoon::paper(&kim_yoon::FIGURES, 512),
        chang_mohapatra::paper(&chang_mohapatra::FIGURES),
    ];
    for paper in papers {
        let mut stems = Vec::new();
        for figure in &paper.figures {
            assert!(!figure.panels.is_empty(), "{}", figure.title);
            for panel in &figure.panels {
                let cells = panel.curves.iter().map(|curve| curve.cells.len());
                let counts: Vec<_> = cells.collect();
                assert!(
                    counts.iter().all(|&n| n == counts[0] && n > 1),
                    "{}",
                    panel.name
                );
            }
            stems.push(figure.file_stem());
        }
        let count = stems.len();
        stems.dedup();
        assert_eq!(stems.len(), count, "{stems:?}");
    }
}

#[test]
fn loads_of_both_schedulers_can_be_compared() {
    let paper = kim_yoon::paper(&[11, 16], 16);
    let loads = |figure: &Figure| -> Vec<f64> {
        let panel = &figure.panels[0];
        panel.curves[0]
            .cells
            .iter()
            .map(|cell| panel.axis.place(cell))
            .collect()
    };
    let (fcfs, modified) = (loads(&paper.figures[0]), loads(&paper.figures[1]));
    let common = modified.iter().filter(|load| fcfs.contains(load)).count();
    assert!(common >= 3, "{fcfs:?} {modified:?}");
}

#[test]
fn without_measurements_nothing_is_claimed_to_hold() {
    for paper in [
        kim_yoon::paper(&kim_yoon::FIGURES, 128),
        chang_mohapatra::paper(&chang_mohapatra::FIGURES),
    ] {
        let measurements = Measurements::default();
        let claims = (paper.claims)(&Findings::new(&measurements, &paper.figures));
        assert!(claims.len() > 20);
        for claim in claims {
            assert_eq!(claim.judgement.verdict, Verdict::NotDecided, "{claim:?}");
        }
    }
}
