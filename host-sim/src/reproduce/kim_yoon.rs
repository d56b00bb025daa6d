//! Kim and Yoon, section IV: Figs. 10 to 17.

use meshalloc::scheduler::Threshold;
use meshalloc::{Mesh, SchedulerKind, StrategyKind};

use super::figure::{Axis, Figure, Panel};
use super::measure::Setting;
use super::paper::{Paper, curve};
use crate::metrics::Metric;
use crate::names;
use crate::workload::{
    Rate, ServiceDistribution, SizeDistribution, Spread, Synthetic, TICKS_PER_SECOND,
};

mod claims;

/// The figures that show measurements.
pub const FIGURES: [u32; 8] = [10, 11, 12, 13, 14, 15, 16, 17];
/// The sides of the meshes.
pub const SIDES: [u16; 6] = [16, 32, 64, 128, 256, 512];

/// Mean service time, in seconds.
const MEAN_SERVICE: f64 = 10.0;
/// The load at which meshes are compared under FCFS.
const LOAD_FCFS: f64 = 0.47;
/// The load at which they are compared under M-FCFS.
const LOAD_MODIFIED: f64 = 0.57;
/// The side of the mesh on which loads are compared.
const SIDE: u16 = 64;
/// Loads under FCFS: the paper's range, closer together where strategies saturate.
const LOADS_FCFS: [f64; 9] = [0.30, 0.35, 0.40, 0.45, 0.50, 0.52, 0.53, 0.54, 0.55];
/// Loads under M-FCFS, the paper's being unknown: up to where delays explode. Those up to .55 are also in
/// [`LOADS_FCFS`].
const LOADS_MODIFIED: [f64; 7] = [0.30, 0.40, 0.50, 0.55, 0.60, 0.65, 0.70];

/// The compared strategies, with their names in the legends.
const STRATEGIES: [(StrategyKind, &str); 3] = [
    (AS, "adaptive scan"),
    (BUSY_LIST, "Busy-List"),
    (FSL, "free submesh list"),
];
const AS: StrategyKind = StrategyKind::AdaptiveScan;
const BUSY_LIST: StrategyKind = StrategyKind::BusyList;
const FSL: StrategyKind = StrategyKind::FreeSubmeshList;

const UNIFORM: SizeDistribution = SizeDistribution::Uniform;
const EXPONENTIAL: SizeDistribution = SizeDistribution::Exponential;
/// What their curves fit.
const NORMAL: SizeDistribution = SizeDistribution::Normal {
    mean: None,
    spread: Spread::QuarterDeviation,
};
/// What they write.
const NORMAL_VAR: SizeDistribution = SizeDistribution::Normal {
    mean: None,
    spread: Spread::QuarterVariance,
};

const FCFS: SchedulerKind = SchedulerKind::Fcfs;
/// Both readings of the dynamic threshold.
const MODIFIED: [SchedulerKind; 2] = [
    SchedulerKind::ModifiedFcfs(Threshold::Dynamic {
        second: TICKS_PER_SECOND,
    }),
    SchedulerKind::ModifiedFcfs(Threshold::Count),
];

/// What differs between the panels of a figure.
#[derive(Clone, Copy)]
struct Workload {
    sizes: SizeDistribution,
    scheduler: SchedulerKind,
}

impl Workload {
    const fn new(sizes: SizeDistribution, scheduler: SchedulerKind) -> Self {
        Workload { sizes, scheduler }
    }

    fn setting(self, side: u16, load: f64) -> Setting {
        let mesh = Mesh::new(side, side).expect("the sides above are in range");
        let service = ServiceDistribution::Exponential {
            mean_seconds: MEAN_SERVICE,
        };
        Setting {
            workload: Synthetic::new(mesh, self.sizes, service, Rate::Load(load)),
            scheduler: self.scheduler,
        }
    }

    /// Over the meshes, at the load that goes with the scheduler.
    fn over_sides(self, sides: &[u16]) -> Vec<Setting> {
        let load = if self.scheduler == FCFS {
            LOAD_FCFS
        } else {
            LOAD_MODIFIED
        };
        sides.iter().map(|&side| self.setting(side, load)).collect()
    }

    fn over_loads(self, loads: &[f64]) -> Vec<Setting> {
        loads.iter().map(|&load| self.setting(SIDE, load)).collect()
    }

    /// As panels are named.
    fn name(self) -> String {
        if self.scheduler == FCFS {
            self.sizes.to_string()
        } else {
            format!("{} {}", self.sizes, names::scheduler_text(self.scheduler))
        }
    }

    /// The name of the distribution that says which reading it is.
    fn sizes_text(self) -> &'static str {
        match self.sizes {
            SizeDistribution::Uniform => "uniform sides",
            SizeDistribution::Exponential => "exponential sides",
            NORMAL => "normal sides, sd (1+L)/4",
            _ => "normal:var sides, variance (1+L)/4",
        }
    }

    fn heading(self) -> String {
        let sizes = self.sizes_text();
        let mut heading: String = sizes[..1].to_uppercase();
        heading.push_str(&sizes[1..]);
        heading
    }

    fn scheduler_text(self) -> String {
        names::scheduler_text(self.scheduler)
    }

    fn panel(self, axis: Axis, metric: Metric, settings: &[Setting]) -> Panel {
        let fixed = match (axis, settings.first()) {
            (Axis::Side, Some(first)) => first.offered_text(),
            _ => format!("{SIDE}x{SIDE}"),
        };
        Panel {
            name: self.name(),
            heading: self.heading(),
            parameters: format!(
                "{}, {fixed}, mean service {MEAN_SERVICE} s",
                self.scheduler_text()
            ),
            axis,
            metric,
            curves: STRATEGIES
                .iter()
                .map(|&(strategy, name)| curve(name, strategy, settings))
                .collect(),
        }
    }
}

fn fcfs<const N: usize>(sizes: [SizeDistribution; N]) -> Vec<Workload> {
    sizes.map(|sizes| Workload::new(sizes, FCFS)).to_vec()
}

fn modified<const N: usize>(sizes: [SizeDistribution; N]) -> Vec<Workload> {
    let of = |scheduler| sizes.map(|sizes| Workload::new(sizes, scheduler));
    MODIFIED.into_iter().flat_map(of).collect()
}

/// The paper with these figures, on meshes up to `largest_side`.
pub fn paper(numbers: &[u32], largest_side: u16) -> Paper {
    let sides: Vec<u16> = SIDES.into_iter().filter(|&s| s <= largest_side).collect();
    let figures = numbers.iter().map(|&number| figure(number, &sides));
    Paper {
        name: "kim-yoon",
        title: "Kim and Yoon 1995",
        source: "G. Kim and H. Yoon, A Dynamic Processor Allocation Strategy for Mesh-Connected \
                 Multicomputers, 1995, section IV",
        remarks: remarks(),
        figures: figures.collect(),
        claims: Box::new(move |findings| claims::judge(findings, &sides)),
    }
}

fn remarks() -> Vec<String> {
    [
        "The paper describes the normal distribution of sides by a variance of (1+L)/4; its curves fit a standard \
         deviation of (1+L)/4. Both are measured: normal (deviation) and normal:var (variance).",
        "The dynamic threshold of M-FCFS is the product of a mean delay and an arrival rate, which has no unit. \
         modified-fcfs:dynamic compares the seconds since a job became the head with that number, which is what \
         the paper says; modified-fcfs:count compares the number of jobs that have bypassed this head with it.",
        "The first 5 % of the jobs of a run are not measured.",
        "The loads of the paper's Fig. 16 are not in its text. Those here go up to where delays explode.",
        "Search times are those of this machine and differ from run to run; they are in files of their own, whose \
         names end in -time, and were measured in one thread, one cell after another, each run several times, of which \
         the fastest counts. The loops of the strategies \
         here work on whole words, so a scan takes far less than one step a processor.",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn figure(number: u32, sides: &[u16]) -> Figure {
    use Metric::{AllocationMiss, SearchTime, WaitingDelay};
    let over_sides = |workloads: Vec<Workload>, metric| -> Vec<Panel> {
        let panel = |w: &Workload| w.panel(Axis::Side, metric, &w.over_sides(sides));
        workloads.iter().map(panel).collect()
    };
    let over_loads = |workloads: Vec<Workload>, metric, loads: &[f64]| -> Vec<Panel> {
        let panel = |w: &Workload| w.panel(Axis::Load, metric, &w.over_loads(loads));
        workloads.iter().map(panel).collect()
    };
    let (title, note, panels) = match number {
        10 => (
            "Mean waiting delay over the size of the mesh",
            "The paper shows uniform and exponential sides and gives its gains for normal ones in the text.",
            over_sides(
                fcfs([UNIFORM, EXPONENTIAL, NORMAL, NORMAL_VAR]),
                WaitingDelay,
            ),
        ),
        11 => (
            "Mean waiting delay over the load",
            "The paper shows uniform and normal sides and calls exponential ones similar.",
            over_loads(
                fcfs([UNIFORM, NORMAL, NORMAL_VAR, EXPONENTIAL]),
                WaitingDelay,
                &LOADS_FCFS,
            ),
        ),
        12 => (
            "Allocation miss over the size of the mesh",
            "Failed attempts with enough free processors, as a part of all attempts with enough. Beside a saturated \
             system's delay, its misses have a value.",
            over_sides(fcfs([UNIFORM, NORMAL, NORMAL_VAR]), AllocationMiss),
        ),
        13 => (
            "Allocation miss over the load",
            "Failed attempts with enough free processors, as a part of all attempts with enough.",
            over_loads(
                fcfs([UNIFORM, NORMAL, NORMAL_VAR]),
                AllocationMiss,
                &LOADS_FCFS,
            ),
        ),
        14 => (
            "Mean search time over the size of the mesh",
            "Time of this machine, not of a SPARCstation: compare shapes, not values.",
            over_sides(fcfs([EXPONENTIAL, NORMAL, NORMAL_VAR]), SearchTime),
        ),
        15 => (
            "Mean waiting delay over the size of the mesh under M-FCFS",
            "Both readings of the dynamic threshold.",
            over_sides(modified([UNIFORM, EXPONENTIAL]), WaitingDelay),
        ),
        16 => (
            "Mean waiting delay over the load under M-FCFS",
            "Both readings of the dynamic threshold.",
            over_loads(
                modified([UNIFORM, EXPONENTIAL]),
                WaitingDelay,
                &LOADS_MODIFIED,
            ),
        ),
        _ => (
            "Mean search time over the size of the mesh under M-FCFS",
            "Time of this machine, not of a SPARCstation: compare shapes, not values.",
            over_sides(modified([UNIFORM, EXPONENTIAL]), SearchTime),
        ),
    };
    Figure {
        number,
        title: title.to_owned(),
        note: note.to_owned(),
        paper_replications: None,
        panels,
    }
}
