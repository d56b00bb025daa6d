//! Chuang and Wu, section 3: Fig. 2, and what the paper does not show: larger cubes, and tasks that arrive over time.

use meshalloc::{Cube, SchedulerKind, StrategyKind};

use super::figure::{Axis, Figure, Panel};
use super::measure::Setting;
use super::paper::{Paper, curve};
use crate::metrics::Metric;
use crate::workload::{
    Arrivals, Rate, Requests, ServiceDistribution, Subcubes, Synthetic, TaskDistribution,
};

mod claims;

/// The figures: the paper's one with measurements, and one more.
pub const FIGURES: [u32; 2] = [2, LARGER];
/// The figure that is not in the paper.
const LARGER: u32 = 3;

/// k and n of the paper's cube.
const PAPER_CUBE: (u16, u8) = (4, 3);
/// Those of the larger figure, by size.
const CUBES: [(u16, u8); 4] = [PAPER_CUBE, (8, 3), (16, 3), (2, 12)];
/// "100 tasks are generated and queued at the dispatcher".
pub const TASKS: u32 = 100;
/// "The average values of 10 random seeds".
const PAPER_REPLICATIONS: usize = 10;
/// Loads on each of the cubes, up to where all strategies are saturated.
const LOADS: [f64; 8] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8];
/// The loads at which search times are measured: nearly every search succeeds, and nearly every one fails until a
/// task leaves.
const LOADS_CLOCKED: [f64; 2] = [0.2, 0.8];

const TC: StrategyKind = StrategyKind::TreeCollapsing;
const PRINTED: StrategyKind = StrategyKind::TreeCollapsingPrinted;
const FREE_LIST: StrategyKind = StrategyKind::FreeList;
const SNIFFING: StrategyKind = StrategyKind::Sniffing;
/// The compared strategies, with their names in the legends.
const STRATEGIES: [(StrategyKind, &str); 4] = [
    (TC, "tree collapsing"),
    (PRINTED, "tree collapsing as printed"),
    (FREE_LIST, "free-list"),
    (SNIFFING, "sniffing"),
];

const UNIFORM: TaskDistribution = TaskDistribution::Uniform;
const NORMAL: TaskDistribution = TaskDistribution::Normal;
/// The distributions of dimensions and radices, in the paper's order.
const TASK_KINDS: [Kind; 4] = [
    (UNIFORM, UNIFORM),
    (UNIFORM, NORMAL),
    (NORMAL, UNIFORM),
    (NORMAL, NORMAL),
];
/// How the number of dimensions and how each radix is distributed.
type Kind = (TaskDistribution, TaskDistribution);

/// Shortest and longest residence time, in seconds: that of the figure, and the other one of the text.
const RESIDENCES: [(f64, f64); 2] = [(5.0, 10.0), (10.0, 15.0)];
type Residence = (f64, f64);

/// As the paper writes it.
fn residence_text((lo, hi): Residence) -> String {
    format!("uniform({lo}, {hi})")
}

fn setting(cube: (u16, u8), kind: Kind, residence: Residence, arrivals: Arrivals) -> Setting {
    let requests = Subcubes {
        cube: Cube::new(cube.0, cube.1).expect("the cubes above are in range"),
        dims: kind.0,
        radices: kind.1,
    };
    let (lo_seconds, hi_seconds) = residence;
    Setting {
        workload: Synthetic {
            requests: Requests::Subcubes(requests),
            service: ServiceDistribution::Uniform {
                lo_seconds,
                hi_seconds,
            },
            arrivals,
        },
        scheduler: SchedulerKind::Fcfs,
    }
}

/// All tasks at time 0 on the paper's cube.
fn closed(kind: Kind, residence: Residence) -> Setting {
    let arrivals = Arrivals::AtOnce { tasks: TASKS };
    setting(PAPER_CUBE, kind, residence, arrivals)
}

/// Tasks that arrive over time.
fn open(cube: (u16, u8), load: f64) -> Setting {
    let arrivals = Arrivals::Poisson(Rate::Load(load));
    setting(cube, TASK_KINDS[0], RESIDENCES[0], arrivals)
}

/// The paper with these figures.
pub fn paper(numbers: &[u32]) -> Paper {
    Paper {
        name: "chuang-wu",
        title: "Chuang and Wu",
        source: "P.-J. Chuang and C.-M. Wu, Processor Allocation in k-ary n-cube Multiprocessors, section 3",
        remarks: remarks(),
        figures: numbers.iter().flat_map(|&number| figures(number)).collect(),
        claims: Box::new(claims::judge),
    }
}

fn remarks() -> Vec<String> {
    [
        "The paper's algorithm assigns the radices of a task from left to right to the don't care bits of a notation. That \
         is not full recognition: a free subcube whose radices lie in another order is missed. Tree collapsing is \
         measured in both forms: the complete one, which tries all orders, and the one as printed. Every claim about it \
         is judged for each of the two.",
        "Utilization is the processor seconds asked for, as a part of those there are until the last task has left. Internal \
         fragmentation: processors held beyond those asked for, as a part of those held, summed over tasks. External \
         fragmentation: the free processors as a part of all while the first task waits although there are enough for \
         it, 0 at other times, averaged over the time to the last departure. The paper \
         does not define its fragmentations; if its external one is a sum over time and no average, it grows with the \
         residence time by itself.",
        "Normal: the mean in the middle of the range, the standard deviation a quarter of the range, rounded and drawn \
         again outside. The paper gives neither.",
        "Differences in utilization are in points, as in the paper; tables show the result over the first 10 \
         replications, the paper's number, below that over all.",
        "The error of the paper's own numbers, ± 3.4 %, is taken as a part of the number; that of a difference is the \
         root of the sum of squares of those of its terms.",
        "The k-ary partner strategy is left out, as in the paper: it serves only tasks all of whose radices are k.",
        "All tasks of Fig. 2 are there at time 0, so none is left out of the measurement.",
        "Fig. 3 is not in the paper. On the hypercube (2-ary 12-cube) every radix is 2, so that there is one order of radices, \
         nothing to round up and no excess: there the four strategies differ in the cost of their search alone.",
        "Search times are those of this machine and differ from run to run; they are in files of their own, whose names \
         end in -time, and were measured in one thread, one cell after another, each run several times, of which the \
         fastest counts. They hold the work of the job table and the scheduler beside the search.",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// A curve for each strategy.
fn panel(
    name: String,
    heading: String,
    parameters: String,
    axis: Axis,
    metric: Metric,
    settings: &[Setting],
) -> Panel {
    let curves = STRATEGIES
        .iter()
        .map(|&(strategy, name)| curve(name, strategy, settings));
    Panel {
        name,
        heading,
        parameters,
        axis,
        metric,
        curves: curves.collect(),
    }
}

fn figures(number: u32) -> Vec<Figure> {
    if number == LARGER {
        vec![larger(), search_times()]
    } else {
        vec![paper_figure()]
    }
}

/// Fig. 2: (a) to (d) for the residence time of the figure, then for the other one.
fn paper_figure() -> Figure {
    let parts = [
        ("a", "Processor utilization", Metric::Utilization),
        ("b", "Completion time", Metric::CompletionTime),
        ("c", "External fragmentation", Metric::ExternalFragmentation),
        ("d", "Internal fragmentation", Metric::InternalFragmentation),
    ];
    let panels = RESIDENCES.into_iter().flat_map(|residence| {
        let settings = TASK_KINDS.map(|kind| closed(kind, residence));
        parts.map(|(letter, heading, metric)| {
            let (lo, hi) = residence;
            panel(
                format!("{letter} uniform:{lo},{hi}"),
                format!("({letter}) {heading}"),
                format!(
                    "{}, {TASKS} tasks, fcfs, residence {}",
                    settings[0].machine_text(),
                    residence_text(residence)
                ),
                Axis::Tasks,
                metric,
                &settings,
            )
        })
    });
    Figure {
        number: 2,
        title: "Four measures over the distributions of dimensions and radices".to_owned(),
        note: "The paper shows the residence time uniform(5, 10) and describes uniform(10, 15) in the text. U: uniform, \
               N: normal; the number of dimensions first, then the radices."
            .to_owned(),
        paper_replications: Some(PAPER_REPLICATIONS),
        panels: panels.collect(),
    }
}

/// What every panel of the larger figure shares.
fn shared() -> String {
    format!(
        "U*U, Poisson arrivals, fcfs, residence {}",
        residence_text(RESIDENCES[0])
    )
}

fn larger() -> Figure {
    let parts = [
        ("delay", "mean waiting delay", Metric::WaitingDelay),
        ("utilization", "processor utilization", Metric::Utilization),
    ];
    let panels = CUBES.into_iter().flat_map(|cube| {
        let settings = LOADS.map(|load| open(cube, load));
        parts.map(|(name, heading, metric)| {
            let machine = settings[0].machine_text();
            panel(
                format!("{name} {machine}"),
                format!("{machine}, {heading}"),
                shared(),
                Axis::Load,
                metric,
                &settings,
            )
        })
    });
    Figure {
        number: LARGER,
        title: "Larger cubes and tasks that arrive over time (not in the paper)".to_owned(),
        note: "How the quality of the strategies changes with the cube. A utilization below the load is that of a \
               saturated system: the most the strategy sustains."
            .to_owned(),
        paper_replications: None,
        panels: panels.collect(),
    }
}

fn search_times() -> Figure {
    let panels = LOADS_CLOCKED.map(|load| {
        let settings = CUBES.map(|cube| open(cube, load));
        panel(
            format!("load {load}"),
            format!("Load {load}"),
            shared(),
            Axis::Cube,
            Metric::SearchTime,
            &settings,
        )
    });
    Figure {
        number: LARGER,
        title: "Search time over the cubes (not in the paper)".to_owned(),
        note: "Time of this machine, the same tasks for all strategies. Above saturation nearly every task is tried again \
               at each departure until it fits."
            .to_owned(),
        paper_replications: None,
        panels: panels.to_vec(),
    }
}
