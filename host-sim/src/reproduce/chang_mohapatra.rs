//! Chang and Mohapatra, section 3: Figs. 3 to 6.

use meshalloc::{Mesh, SchedulerKind, StrategyKind};

use super::figure::{Axis, Curve, Figure, Panel};
use super::measure::Setting;
use super::paper::{Paper, curve};
use crate::metrics::Metric;
use crate::workload::{Rate, ServiceDistribution, SizeDistribution, Spread, Synthetic, ticks};

mod claims;

/// The figures that show measurements.
pub const FIGURES: [u32; 4] = [3, 4, 5, 6];

/// The side of the mesh.
const SIDE: u16 = 32;
/// Mean service time.
const MEAN_SERVICE: f64 = 5.0;
/// Traffic ratios. The paper's are not in its text but for 1.5, above which FCFS saturates: from there on
/// they are closer together.
const TRAFFICS: [f64; 12] = [0.5, 0.75, 1.0, 1.25, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.1, 2.2];
/// Thresholds of the bypass queue, in the unit of the service time. The paper's are not in its text: these go from
/// none, which is FCFS, over one service time to ten of them.
const THRESHOLDS: [f64; 5] = [0.0, 5.0, 10.0, 20.0, 50.0];

const FF: StrategyKind = StrategyKind::FirstFit;
const FO: StrategyKind = StrategyKind::FixedOrientation;
const AS: StrategyKind = StrategyKind::AdaptiveScan;

const UNIFORM: SizeDistribution = SizeDistribution::Uniform;
const NORMAL: SizeDistribution = SizeDistribution::Normal {
    mean: Some(16.5),
    spread: Spread::Variance(6.6),
};
/// Both, with their names in headings.
const SIZES: [(SizeDistribution, &str); 2] = [
    (UNIFORM, "uniform sides"),
    (NORMAL, "normal sides, mean 16.5, variance 6.6"),
];

/// The bypass queue; a threshold of 0 is FCFS.
fn bypass(threshold: f64) -> SchedulerKind {
    if threshold == 0.0 {
        SchedulerKind::Fcfs
    } else {
        SchedulerKind::BypassQueue {
            threshold: ticks(threshold),
        }
    }
}

/// Over the traffic ratios.
fn settings(sizes: SizeDistribution, scheduler: SchedulerKind) -> Vec<Setting> {
    let mesh = Mesh::new(SIDE, SIDE).expect("the side above is in range");
    let service = ServiceDistribution::Exponential {
        mean_seconds: MEAN_SERVICE,
    };
    let setting = |traffic| Setting {
        workload: Synthetic::new(mesh, sizes, service, Rate::Traffic(traffic)),
        scheduler,
    };
    TRAFFICS.into_iter().map(setting).collect()
}

/// One curve for each threshold.
fn thresholds(strategy: StrategyKind, short: &str, sizes: SizeDistribution) -> Vec<Curve> {
    let of = |threshold: f64| {
        let name = if threshold == 0.0 {
            format!("{short}, FCFS")
        } else {
            format!("{short}, BQ threshold {threshold}")
        };
        curve(name, strategy, &settings(sizes, bypass(threshold)))
    };
    THRESHOLDS.into_iter().map(of).collect()
}

/// One curve for each strategy, under FCFS.
fn strategies(strategies: &[(StrategyKind, &str)], sizes: SizeDistribution) -> Vec<Curve> {
    let settings = settings(sizes, SchedulerKind::Fcfs);
    let of = |&(strategy, name): &(StrategyKind, &str)| curve(name, strategy, &settings);
    strategies.iter().map(of).collect()
}

fn panel(name: String, heading: &str, metric: Metric, curves: Vec<Curve>) -> Panel {
    let mut capital: String = heading[..1].to_uppercase();
    capital.push_str(&heading[1..]);
    Panel {
        name,
        heading: capital,
        parameters: format!("{SIDE}x{SIDE}, mean service {MEAN_SERVICE} s"),
        axis: Axis::Traffic,
        metric,
        curves,
    }
}

/// The paper with these figures.
pub fn paper(numbers: &[u32]) -> Paper {
    Paper {
        name: "chang-mohapatra",
        title: "Chang and Mohapatra",
        source: "C. Chang and P. Mohapatra, An Integrated Processor Management Scheme for the Mesh-Connected \
                 Multicomputer Systems, section 3",
        remarks: remarks(),
        figures: numbers.iter().flat_map(|&number| figures(number)).collect(),
        claims: Box::new(claims::judge),
    }
}

fn remarks() -> Vec<String> {
    let thresholds: Vec<_> = THRESHOLDS.iter().map(f64::to_string).collect();
    vec![
        format!(
            "The thresholds of the bypass queue are not in the paper's text. Those here are {}, in the unit of the mean \
             service time, {MEAN_SERVICE}; 0 is FCFS.",
            thresholds.join(", ")
        ),
        "The traffic ratios are not in the paper's text either, but for 1.5.".to_owned(),
        "Times are in seconds; the paper calls them time units.".to_owned(),
        "The first 5 % of the jobs of a run are not measured.".to_owned(),
        "The variance in Fig. 6 is that of the turnaround of the jobs within a run, averaged over replications."
            .to_owned(),
        "Search times are those of this machine and differ from run to run; they are in files of their own, whose \
         names end in -time, and were measured in one thread, one cell after another, each run several times, of which \
         the fastest counts. They hold the work of the job \
         table and the scheduler beside the search."
            .to_owned(),
    ]
}

/// A figure, and for Fig. 4 the times that its text speaks of.
fn figures(number: u32) -> Vec<Figure> {
    use Metric::{SearchTime, Turnaround, TurnaroundVariance};
    let all = [
        (FF, "first fit"),
        (FO, "fixed orientation"),
        (AS, "adaptive scan"),
    ];
    let per_sizes = |metric, curves: &dyn Fn(SizeDistribution) -> Vec<Curve>| -> Vec<Panel> {
        let of = |(sizes, heading): (SizeDistribution, &str)| {
            panel(sizes.to_string(), heading, metric, curves(sizes))
        };
        SIZES.into_iter().map(of).collect()
    };
    let figure = |title: &str, note: &str, panels| Figure {
        number,
        title: title.to_owned(),
        note: note.to_owned(),
        paper_replications: None,
        panels,
    };
    match number {
        3 => vec![figure(
            "Effect of the bypass queue",
            "The paper shows uniform sides only and calls normal ones similar.",
            [(FF, "first-fit", "FF"), (AS, "adaptive-scan", "AS")]
                .into_iter()
                .flat_map(|(strategy, name, short)| {
                    SIZES.map(|(sizes, heading)| {
                        panel(
                            format!("{name} {sizes}"),
                            &format!("{name}, {heading}"),
                            Turnaround,
                            thresholds(strategy, short, sizes),
                        )
                    })
                })
                .collect(),
        )],
        4 => vec![
            figure(
                "Effect of the allocation algorithm",
                "All under FCFS.",
                per_sizes(Turnaround, &|sizes| strategies(&all, sizes)),
            ),
            figure(
                "Time of the allocation, of which the text speaks beside Fig. 4",
                "Time of this machine, the same jobs for both.",
                per_sizes(SearchTime, &|sizes| strategies(&all[1..], sizes)),
            ),
        ],
        5 => vec![figure(
            "The integrated scheme: bypass queue and fixed orientation",
            "Adaptive scan under FCFS for comparison, as in the paper.",
            per_sizes(Turnaround, &|sizes| {
                let mut curves = strategies(&[(AS, "AS, FCFS")], sizes);
                curves.extend(thresholds(FO, "FO", sizes));
                curves
            }),
        )],
        _ => vec![figure(
            "Variance of the turnaround under the integrated scheme",
            "The same runs as in Fig. 5.",
            per_sizes(TurnaroundVariance, &|sizes| thresholds(FO, "FO", sizes)),
        )],
    }
}
