//! `reproduce`: the figures of a paper, its claims, and what becomes of them.
//!
//! A [paper] is a list of [figures](figure) and of claims. What the figures need is [measured](measure) as one sweep,
//! so it goes over all processors and, interrupted, goes on where it stopped; search times follow, one after
//! another. Each [claim](claims) is then judged by a rule on the measurement, and a page puts everything
//! together.

use std::fs;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser, ValueHint};
use clap::{Args, ValueEnum};

use crate::backend::StopwatchBackends;
use crate::cli::Failure;
use crate::experiment::{self, Replications};
use crate::names;
use crate::run::Bar;
use crate::scenario;
use crate::simulation::Fnv1a;
use crate::sweep::{self, SweepOptions};
use crate::workload::Arrivals;

pub mod chang_mohapatra;
pub mod chuang_wu;
pub mod claims;
pub mod figure;
pub mod kim_yoon;
pub mod measure;
mod page;
pub mod paper;

use claims::{Claim, Verdict};
use figure::Figure;
use measure::{Length, Measurements, Plan, Setting};
use paper::{Findings, Paper};

/// A paper that can be reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// Free submesh list, Busy-List and adaptive scan, FCFS and M-FCFS: Figs. 10 to 17
    KimYoon,
    /// Bypass queue and fixed orientation: Figs. 3 to 6
    ChangMohapatra,
    /// Tree collapsing on k-ary n-cubes: Fig. 2, and a Fig. 3 of larger cubes that is not in the paper
    ChuangWu,
}

impl Choice {
    const fn figures(self) -> &'static [u32] {
        match self {
            Choice::KimYoon => &kim_yoon::FIGURES,
            Choice::ChangMohapatra => &chang_mohapatra::FIGURES,
            Choice::ChuangWu => &chuang_wu::FIGURES,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Choice::KimYoon => "kim-yoon",
            Choice::ChangMohapatra => "chang-mohapatra",
            Choice::ChuangWu => "chuang-wu",
        }
    }

    /// Its machines, if one cannot choose among them.
    const fn fixed_machines(self) -> Option<&'static str> {
        match self {
            Choice::KimYoon => None,
            Choice::ChangMohapatra => Some("chang-mohapatra has one mesh, 32x32"),
            Choice::ChuangWu => {
                Some("the machines of chuang-wu are cubes, the largest of 4096 nodes")
            }
        }
    }
}

/// What to reproduce, and how long to measure.
#[derive(Args, Clone, Debug)]
pub struct ReproduceArgs {
    /// The paper
    #[arg(value_name = "PAPER", value_enum)]
    paper: Choice,

    /// Only this figure; may be given several times [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = names::count::<u32>, allow_negative_numbers = true)]
    figure: Vec<u32>,

    /// Short runs, meshes up to 128x128: a minute for chuang-wu, minutes for the others; this is the default
    #[arg(long, conflicts_with = "full")]
    quick: bool,

    /// The papers' lengths and meshes, or more: hours for kim-yoon
    #[arg(long)]
    full: bool,

    /// Jobs in one replication, the first 5 % of which are not measured, in place of the chosen length's; the 100 tasks
    /// that chuang-wu has at time 0 in its Fig. 2 stay 100
    #[arg(long, value_name = "COUNT", value_parser = names::count::<u32>, allow_negative_numbers = true)]
    jobs: Option<u32>,

    /// Replications of every point, in place of the chosen length's
    #[arg(long, value_name = "COUNT", value_parser = names::count::<u32>, allow_negative_numbers = true)]
    replications: Option<u32>,

    /// The side of the largest mesh, for kim-yoon, in place of the chosen length's
    #[arg(long, value_name = "SIDE", value_parser = sides())]
    largest_mesh: Option<u16>,

    /// What all random numbers derive from, 0 to 2^64-1
    #[arg(long, value_name = "NUMBER", value_parser = scenario::seed, allow_negative_numbers = true, default_value = "1")]
    seed: u64,

    /// Threads; the results do not depend on it [default: one a processor]
    #[arg(long, value_name = "COUNT", value_parser = names::count::<usize>, allow_negative_numbers = true)]
    threads: Option<usize>,

    /// The folder that everything goes to; it is made if need be [default: out/PAPER]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,
}

fn sides() -> impl TypedValueParser<Value = u16> {
    PossibleValuesParser::new(["16", "32", "64", "128", "256", "512"])
        .map(|side| side.parse().expect("each of them is a number"))
}

/// How long is measured, as a name and numbers.
struct Extent {
    /// `quick` or `full`.
    name: &'static str,
    /// The length of runs whose jobs arrive over time.
    length: Length,
    /// How often runs whose jobs are all there at time 0 are made. They are short, and cost a millisecond or so.
    closed_replications: Replications,
    largest_side: u16,
    /// The length of runs that are measured with a clock. Search times need fewer jobs than delays, which depend on
    /// rare long queues.
    clocked: Length,
    /// So often each of those runs is made; the least time counts. They do the same work, and whatever else the
    /// machine does makes one longer, never shorter.
    clocked_repeats: u32,
}

impl ReproduceArgs {
    /// Kim and Yoon: "100,000 requests per run of simulation under 95% confidence level with the error range of 3 %".
    /// Chang and Mohapatra: "the completion of 10,000 jobs". Chuang and Wu: "10 random seeds" of 100 tasks, which are
    /// the first ten here.
    fn extent(&self) -> Extent {
        let fixed = Replications::Fixed;
        let exact = |max| Replications::UntilRelativeError { target: 0.03, max };
        let (jobs, replications, largest_side, clocked) = match (self.paper, self.full) {
            (Choice::KimYoon, false) => (20_000, fixed(7), 128, (4_000, 4, 3)),
            (Choice::KimYoon, true) => (100_000, exact(60), 512, (20_000, 10, 3)),
            (Choice::ChangMohapatra, false) => (10_000, fixed(20), 0, (10_000, 5, 9)),
            (Choice::ChangMohapatra, true) => (10_000, exact(400), 0, (10_000, 20, 15)),
            (Choice::ChuangWu, false) => (10_000, fixed(10), 0, (4_000, 6, 5)),
            (Choice::ChuangWu, true) => (50_000, fixed(20), 0, (10_000, 10, 9)),
        };
        let closed = if self.full { 2_000 } else { 200 };
        let length = Length {
            jobs: self.jobs.unwrap_or(jobs),
            replications: self.replications.map_or(replications, fixed),
            seed: self.seed,
        };
        Extent {
            name: if self.full { "full" } else { "quick" },
            length,
            closed_replications: fixed(self.replications.unwrap_or(closed)),
            largest_side: self.largest_mesh.unwrap_or(largest_side),
            clocked: Length {
                jobs: length.jobs.min(clocked.0),
                replications: fixed(self.replications.unwrap_or(clocked.1)),
                seed: self.seed,
            },
            clocked_repeats: clocked.2,
        }
    }

    /// The chosen figures, each once, in the order of their numbers.
    fn figures(&self) -> Result<Vec<u32>, String> {
        let known = self.paper.figures();
        let unknown = self.figure.iter().find(|number| !known.contains(number));
        if let Some(number) = unknown {
            let known: Vec<_> = known.iter().map(u32::to_string).collect();
            return Err(format!(
                "{} has no figure {number} that shows measurements (expected one of {})",
                self.paper.name(),
                known.join(", ")
            ));
        }
        let chosen = |number: &&u32| self.figure.is_empty() || self.figure.contains(number);
        Ok(known.iter().filter(chosen).copied().collect())
    }

    /// The command that gives the same again, but for the folder and the number of threads.
    fn command(&self) -> String {
        let mut command = format!("host-sim reproduce {}", self.paper.name());
        command.push_str(if self.full { " --full" } else { " --quick" });
        for number in self.figures().unwrap_or_default() {
            if !self.figure.is_empty() {
                command.push_str(&format!(" --figure {number}"));
            }
        }
        let options = [
            ("jobs", self.jobs),
            ("replications", self.replications),
            ("largest-mesh", self.largest_mesh.map(u32::from)),
        ];
        for (name, value) in options {
            if let Some(value) = value {
                command.push_str(&format!(" --{name} {value}"));
            }
        }
        command.push_str(&format!(" --seed {}", self.seed));
        command
    }
}

impl Extent {
    /// The length of simulated runs of this setting.
    fn simulated(&self, setting: &Setting) -> Length {
        match setting.workload.arrivals {
            Arrivals::Poisson(_) => self.length,
            Arrivals::AtOnce { tasks } => Length {
                jobs: tasks,
                replications: self.closed_replications,
                ..self.length
            },
        }
    }
}

/// Measures, judges, and writes everything down.
pub(crate) fn reproduce(args: &ReproduceArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let numbers = args.figures()?;
    if let Some(machines) = args
        .paper
        .fixed_machines()
        .filter(|_| args.largest_mesh.is_some())
    {
        return Err(format!("largest-mesh is about kim-yoon: {machines}").into());
    }
    let extent = args.extent();
    let paper = match args.paper {
        Choice::KimYoon => kim_yoon::paper(&numbers, extent.largest_side),
        Choice::ChangMohapatra => chang_mohapatra::paper(&numbers),
        Choice::ChuangWu => chuang_wu::paper(&numbers),
    };
    let default = || Path::new("out").join(paper.name);
    let folder = args.output.clone().unwrap_or_else(default);
    let made = fs::create_dir_all(&folder);
    made.map_err(|error| format!("{}: cannot make the folder: {error}", folder.display()))?;

    let measurements = measure(args, &paper, &extent, &folder)?;
    let claims = (paper.claims)(&Findings::new(&measurements, &paper.figures));
    for figure in &paper.figures {
        let stem = figure.file_stem();
        let table = figure.csv(&measurements, |setting| {
            if figure.is_clocked() {
                extent.clocked
            } else {
                extent.simulated(setting)
            }
        })?;
        write(&folder.join(format!("{stem}.csv")), &table)?;
        write(
            &folder.join(format!("{stem}.svg")),
            &figure.svg(&measurements)?,
        )?;
    }
    let page_path = folder.join(format!("{}.html", paper.name));
    let page = page::page(&page::Content {
        paper: &paper,
        measurements: &measurements,
        claims: &claims,
        command: &args.command(),
        extent: &extent,
    })?;
    write(&page_path, &page)?;
    say(&paper.figures, &claims, output)?;
    writeln!(output, "page: {}", page_path.display())?;
    Ok(())
}

/// Measures everything that the figures need.
fn measure(
    args: &ReproduceArgs,
    paper: &Paper,
    extent: &Extent,
    folder: &Path,
) -> Result<Measurements, String> {
    let (mut simulated, mut clocked) = (Plan::default(), Plan::default());
    for figure in &paper.figures {
        figure.plan(&mut simulated, &mut clocked);
    }
    let mut measurements = Measurements::default();

    let settings = simulated.settings();
    let points: Vec<sweep::Point> = settings
        .iter()
        .map(|(setting, strategies)| sweep::Point {
            label: vec![("setting".to_owned(), setting.label())],
            experiment: setting.experiment(strategies.clone(), extent.simulated(setting)),
        })
        .collect();
    // Other options have another journal: what was interrupted goes on only as what it was.
    let mut digest = Fnv1a::default();
    for point in &points {
        digest.write(format!("{:?}", point.experiment).as_bytes());
    }
    let journal = folder.join(format!("{}-{:016x}.journal", paper.name, digest.0));
    let options = SweepOptions {
        threads: args.threads.and_then(NonZero::new),
        restart: false,
    };
    let bar = Bar::new(None);
    let finished = sweep::run_points(&points, &journal, options, &bar);
    bar.clear();
    let finished = finished.map_err(|error| error.to_string())?;
    for ((setting, _), finished) in settings.iter().zip(finished) {
        measurements.insert(setting, finished.results);
    }

    let bar = Bar::new(None);
    for (setting, strategies) in clocked.settings() {
        let experiment = setting.experiment(strategies.clone(), extent.clocked);
        for _ in 0..extent.clocked_repeats {
            let mut backends = StopwatchBackends::default();
            let results = experiment::run(&experiment, &mut backends, &bar);
            let results = results.map_err(|error| format!("{}: {error}", setting.label()))?;
            measurements.insert_clocked(setting, results);
        }
    }
    bar.clear();
    // All is there, so there is nothing to go on with.
    if points.is_empty() {
        return Ok(measurements);
    }
    let removed = fs::remove_file(&journal);
    removed.map_err(|error| format!("{}: cannot remove it: {error}", journal.display()))?;
    Ok(measurements)
}

/// Writes a file anew.
fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: cannot write: {error}", path.display()))
}

/// For each figure a line with the number of each verdict, and each claim below it.
fn say(figures: &[Figure], claims: &[Claim], output: &mut dyn Write) -> Result<(), Failure> {
    let mut numbers: Vec<u32> = figures.iter().map(|figure| figure.number).collect();
    numbers.dedup();
    for number in numbers {
        let of_figure = || claims.iter().filter(|claim| claim.figure == number);
        let title = figures.iter().find(|figure| figure.number == number);
        let title = title.map_or("", |figure| &figure.title);
        writeln!(output, "Figure {number}, {title}: {}", tally(of_figure()))?;
        for claim in of_figure() {
            let judgement = &claim.judgement;
            writeln!(
                output,
                "  {:<13}  {}: paper {}, here {}",
                judgement.verdict, claim.text, claim.paper, judgement.ours
            )?;
        }
    }
    Ok(())
}

/// `3 hold, 1 weaker, 0 do not hold, 2 not decided`.
fn tally<'c>(claims: impl Iterator<Item = &'c Claim>) -> String {
    let verdicts: Vec<Verdict> = claims.map(|claim| claim.judgement.verdict).collect();
    let parts = Verdict::ALL.map(|verdict| {
        let count = verdicts.iter().filter(|&&other| other == verdict).count();
        let words = match verdict {
            Verdict::Holds if count != 1 => "hold".to_owned(),
            Verdict::DoesNotHold if count != 1 => "do not hold".to_owned(),
            other => other.to_string(),
        };
        format!("{count} {words}")
    });
    parts.join(", ")
}

#[cfg(test)]
mod tests;
