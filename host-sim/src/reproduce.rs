//! `reproduce`: the figures of a paper, its claims, and the verdict on each.
//!
//! The measurements for the figures of a [paper] are one study, which continues after an
//! interruption; search times follow, one after the other. Each claim is then judged by a rule on
//! the measurement, and a page puts everything together.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueHint};
use clap::{Arg, Args, Command};

use crate::failure::{self, Failure};
use crate::file::{self, ReplaceArgs};
use crate::progress::Bar;
use crate::settings::{Given, Takes, ThreadsArgs, only};
use crate::study;
use crate::study::keep::Part;
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{self, ExperimentError};
use meshalloc_sim::input;
use meshalloc_sim::names;
use meshalloc_sim::scenario::{SEED_DEFAULT, Scenario, label_text};

pub(crate) mod figure;
mod page;
mod scenario;

use meshalloc_papers::claims::{Claim, tally};
use meshalloc_papers::extent::Extent;
use meshalloc_papers::figure::Figure;
use meshalloc_papers::logs::{FOLDER_VARIABLE, Logs};
use meshalloc_papers::measure::{Measurements, Plan};
use meshalloc_papers::paper::{self, File, Paper};
use meshalloc_papers::setting::Setting;

static PAPERS: LazyLock<Vec<File>> =
    LazyLock::new(|| paper::all().expect("a test reads every paper"));

/// A paper by its name. The files are read for a name or a help text, not at every start.
#[derive(Clone)]
struct PaperParser;

impl TypedValueParser for PaperParser {
    type Value = &'static File;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<&'static File, clap::Error> {
        let values = self.possible_values().into_iter().flatten();
        let name = PossibleValuesParser::new(values).parse_ref(command, arg, value)?;
        let named = PAPERS.iter().find(|paper| paper.name == name);
        Ok(named.expect("the values are those of the papers"))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = PAPERS.iter();
        let values = values.map(|paper| PossibleValue::new(paper.name.as_str()).help(&paper.about));
        Some(Box::new(values))
    }
}

/// What to reproduce, and how long to measure.
#[derive(Args, Clone, Debug)]
pub struct ReproduceArgs {
    /// The paper
    #[arg(value_name = "PAPER", value_parser = PaperParser)]
    paper: &'static File,

    /// Only this figure; may be given several times [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = names::count::<u32>, allow_negative_numbers = true)]
    figure: Vec<u32>,

    /// The papers' lengths and meshes, or more, which takes several times as long [default: short
    /// runs, meshes up to 128x128]
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    settings: Given<Self>,

    /// Give a setting another value in all runs, such as service-mean=20; verdicts are then about
    /// these runs. No setting that a figure varies can be given. May be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,

    /// Run nothing: print this figure as a scenario file, which run --scenario takes
    #[arg(long, value_name = "NUMBER", value_parser = names::count::<u32>, conflicts_with = "figure")]
    scenario: Option<u32>,

    /// The side of the largest mesh of kim-yoon [default: 128; with --full: 512]
    #[arg(long, value_name = "SIDE", value_parser = sides())]
    largest_mesh: Option<u16>,

    #[command(flatten)]
    threads: ThreadsArgs,

    /// The folder of workload logs, with their names in the Parallel Workloads Archive. Figures
    /// whose log is missing are left out [default: the environment variable MESHALLOC_TRACES]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    traces: Option<PathBuf>,

    /// The folder of the results, made if it does not exist; after an interruption the same command
    /// goes on from it [default: out/PAPER]
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    save: Option<PathBuf>,

    /// Replace the results of another command in that folder, and files that host-sim did not write
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    part: Part,
}

impl Takes for ReproduceArgs {
    fn take(arg: Arg) -> Option<Arg> {
        let arg = only(&["jobs", "replications", "seed"], arg)?;
        Some(match arg.get_long()? {
            "jobs" => arg.help(
                "Jobs in one replication; the first 5 % are not measured. Does not change figures with a log, or whose jobs are all present \
                 at time 0",
            ),
            "replications" => {
                arg.help("Replications of every point")
            }
            _ => arg,
        })
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=');
    let (key, value) = pair.ok_or("expected KEY=VALUE, such as scheduler=easy")?;
    Ok((names::canonical(key), value.to_owned()))
}

const LEAST_SIDE: u16 = 16;

fn sides() -> impl TypedValueParser<Value = u16> {
    PossibleValuesParser::new(["16", "32", "64", "128", "256", "512"])
        .map(|side| side.parse().expect("each of them is a number"))
}

impl ReproduceArgs {
    /// The paper with other values of settings, if some are given.
    fn changed(&self) -> Result<Option<File>, String> {
        if self.set.is_empty() {
            return Ok(None);
        }
        let mut files = paper::all()?.into_iter();
        let mut changed = files.find(|file| file.name == self.paper.name);
        for (key, value) in &self.set {
            if let Some(file) = &mut changed {
                let set = file.set(key, value);
                set.map_err(|error| format!("--set {key}={value}: {error}"))?;
            }
        }
        Ok(changed)
    }

    fn lengths(&self) -> &paper::Lengths {
        if self.full {
            &self.paper.full
        } else {
            &self.paper.quick
        }
    }

    fn extent(&self, given: &Scenario) -> Extent {
        let name = if self.full { "full" } else { "quick" };
        Extent::new(
            name,
            self.lengths(),
            given.jobs,
            given.replications,
            given.seed.unwrap_or(SEED_DEFAULT),
        )
    }

    /// The chosen figures, each once, in the order of their numbers.
    fn figures(&self) -> Result<Vec<u32>, String> {
        let known = self.paper.numbers();
        let chosen = || self.figure.iter().chain(&self.scenario);
        let unknown = chosen().find(|number| !known.contains(number));
        if let Some(number) = unknown {
            let known: Vec<_> = known.iter().map(u32::to_string).collect();
            return Err(format!(
                "{} has no figure {number} that shows measurements (expected one of {})",
                self.paper.name,
                known.join(", ")
            ));
        }
        let is_chosen = |number: &u32| {
            let mut chosen = chosen().peekable();
            chosen.peek().is_none() || chosen.any(|known| known == number)
        };
        Ok(known.into_iter().filter(is_chosen).collect())
    }

    /// Whether every option that is given changes something about the chosen figures.
    fn check_used(&self, given: &Scenario, paper: &Paper, numbers: &[u32]) -> Result<(), String> {
        let cells = || paper.figures.iter().flat_map(Figure::cells);
        let any = |is_so: fn(&Setting) -> bool| cells().any(|cell| is_so(&cell.setting));
        let is_about_meshes = || {
            let up_to = |largest| Ok::<_, String>(self.paper.paper(numbers, largest)?.figures);
            Ok::<_, String>(up_to(Some(LEAST_SIDE))? != up_to(None)?)
        };
        for (option, is_given, is_used, about) in [
            (
                "jobs",
                given.jobs.is_some(),
                any(|setting| setting.plan.workload.is_endless()),
                "figures whose jobs arrive over time without end",
            ),
            (
                "replications",
                given.replications.is_some(),
                any(|setting| setting.plan.workload.is_replicated()),
                "figures whose runs are repeated with other jobs",
            ),
            (
                "largest-mesh",
                self.largest_mesh.is_some(),
                self.largest_mesh.is_none() || is_about_meshes()?,
                "figures over meshes of several sides",
            ),
            (
                "traces",
                self.traces.is_some(),
                any(|setting| setting.plan.workload.log().is_some()),
                "figures that run a log",
            ),
        ] {
            if is_given && !is_used {
                return Err(format!(
                    "--{option} requires {about}, and there are none among these (expected no --{option})"
                ));
            }
        }
        Ok(())
    }

    /// The command that reproduces the same results, but for the folders and the number of threads,
    /// where these figures are made.
    fn command(&self, given: &Scenario, made: &[u32]) -> String {
        let mut command = format!("host-sim reproduce {}", self.paper.name);
        if self.full {
            command.push_str(" --full");
        }
        for number in made {
            if !self.figure.is_empty() || made != self.paper.numbers() {
                command.push_str(&format!(" --figure {number}"));
            }
        }
        let options = [
            ("jobs", given.jobs),
            ("replications", given.replications),
            ("largest-mesh", self.largest_mesh.map(u32::from)),
        ];
        for (name, value) in options {
            if let Some(value) = value {
                command.push_str(&format!(" --{name} {value}"));
            }
        }
        for (key, value) in &self.set {
            let pair = format!("{key}={value}");
            command.push_str(" --set ");
            command.push_str(&failure::command_line(&[pair]));
        }
        command.push_str(&format!(" --seed {}", given.seed.unwrap_or(SEED_DEFAULT)));
        command
    }
}

/// Measures, judges, and writes everything down. For one shard it only measures.
pub(crate) fn reproduce(args: &ReproduceArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let part = &args.part;
    let mut numbers = args.figures()?;
    let changed = args.changed()?;
    let paper_file = changed.as_ref().unwrap_or(args.paper);
    if let Some(machines) = paper_file
        .machines
        .as_ref()
        .filter(|_| args.largest_mesh.is_some())
    {
        return Err(
            format!("--largest-mesh requires a paper with several meshes: {machines}").into(),
        );
    }
    let given = &args.settings.scenario("reproduce")?;
    let extent = args.extent(given);
    let largest_mesh = args.largest_mesh.or(args.lengths().largest_mesh);
    let mut paper = paper_file.paper(&numbers, largest_mesh)?;
    args.check_used(given, &paper, &numbers)?;
    if args.scenario.is_some() {
        for figure in &paper.figures {
            let length = |setting: &Setting| extent.simulated(setting);
            let text = scenario::text(&paper_file.title, figure, &length)?;
            output.write_all(text.as_bytes())?;
        }
        return Ok(());
    }
    let logs = Logs::new(args.traces.as_deref());
    let left_out = without_log(&paper, &logs);
    if let Some((_, reason)) = left_out
        .iter()
        .find(|(number, _)| args.figure.contains(number))
    {
        return Err(reason.clone().into());
    }
    if !left_out.is_empty() {
        numbers.retain(|number| !left_out.iter().any(|(without, _)| without == number));
        paper = paper_file.paper(&numbers, largest_mesh)?;
    }
    let left_out: Vec<String> = left_out.into_iter().map(|(_, reason)| reason).collect();
    let default = || Path::new("out").join(&paper_file.name);
    let folder = args.save.clone().unwrap_or_else(default);
    let made = fs::create_dir_all(&folder);
    made.map_err(|error| format!("{}: cannot make the folder: {error}", folder.display()))?;

    let command = args.command(given, &numbers);
    let record = folder.join(format!("{}.command", paper_file.name));
    let page_name = format!("{}.html", paper_file.name);
    let stems = paper.figures.iter().map(Figure::file_stem);
    let files = stems.flat_map(|stem| [format!("{stem}.csv"), format!("{stem}.svg")]);
    let files: Vec<String> = files.chain([page_name.clone()]).collect();
    let known = check_folder(&folder, &record, &files, &command);
    if !args.replace {
        known.as_ref().map_err(Clone::clone)?;
    }

    let measuring = Measuring::new(&paper, &extent, &logs)?;
    let kept = folder.join("points");
    let replace = ReplaceArgs {
        foreign: args.replace,
    };
    if let Some(scripts) = part.slurm(&folder, args.threads.count, None, replace) {
        return scripts.write(output);
    }
    let bar = Bar::interruptible()?;
    let finished = part.carry_out(&measuring.points, &kept, args.threads.count, &bar)?;
    if !part.is_plain() {
        writeln!(output, "{}", part.summary(&finished))?;
    }
    if !part.is_whole() {
        return Ok(());
    }
    let measurements = measuring.measurements(finished, &extent, &logs, &bar);
    let measurements = measurements?.ok_or_else(|| failure::goes_on(&kept))?;
    let claims = paper.judge(&measurements);
    // Another command may have written there since.
    let known = check_folder(&folder, &record, &files, &command);
    match known {
        _ if args.replace => remove_recorded(&folder, &record)?,
        Ok(()) => {}
        Err(reason) => {
            let kept = kept.display();
            return Err(format!("{reason}; another command wrote it while this command measured. With --replace it goes on from {kept}").into());
        }
    }
    write(&record, &format!("{command}\n{}\n", files.join("\n")))?;
    for figure in &paper.figures {
        let stem = figure.file_stem();
        let table = figure::csv(figure, &measurements, |setting| {
            if figure.is_clocked() {
                extent.clocked
            } else {
                extent.simulated(setting)
            }
        })?;
        write(&folder.join(format!("{stem}.csv")), &table)?;
    }
    // After all tables: none is lost because a picture cannot be drawn or written.
    for figure in &paper.figures {
        write(
            &folder.join(format!("{}.svg", figure.file_stem())),
            &figure::svg(figure, &measurements)?,
        )?;
    }
    let page_path = folder.join(page_name);
    let page = page::page(&page::Content {
        file: paper_file,
        figures: &paper.figures,
        measurements: &measurements,
        claims: &claims,
        left_out: &left_out,
        command: &command,
        extent: &extent,
    })?;
    write(&page_path, &page)?;
    // All is written, so there is nothing to go on with.
    study::remove(&measuring.points, &kept).map_err(|error| error.to_string())?;
    write_summary(&paper.figures, &claims, output)?;
    for reason in &left_out {
        writeln!(output, "{reason}")?;
    }
    writeln!(output, "page: {}", page_path.display())?;
    Ok(())
}

/// The figures that need a log which is missing, with a note about each.
fn without_log(paper: &Paper, logs: &Logs) -> Vec<(u32, String)> {
    let missing = |figure: &Figure| {
        let mut needed = figure
            .cells()
            .filter_map(|cell| cell.setting.plan.workload.log());
        let log = needed.find(|log| !logs.has(&log.path))?;
        let (number, file) = (figure.number, log.path.display());
        let reason = format!(
            "Figure {number} is left out: the log {file} is not at hand (expected --traces DIR, or {FOLDER_VARIABLE}, to name its \
             folder)"
        );
        Some((number, reason))
    };
    paper.figures.iter().filter_map(missing).collect()
}

struct Measuring {
    points: Vec<study::Point>,
    simulated: Plan,
    clocked: Plan,
}

impl Measuring {
    fn new(paper: &Paper, extent: &Extent, logs: &Logs) -> Result<Self, String> {
        let (mut simulated, mut clocked) = (Plan::default(), Plan::default());
        for figure in &paper.figures {
            figure.plan(&mut simulated, &mut clocked);
        }
        let points = simulated.settings().iter().map(
            |(setting, strategies)| -> Result<study::Point, String> {
                let length = extent.simulated(setting);
                Ok(study::Point {
                    label: setting.label(),
                    experiment: setting.experiment(strategies.clone(), length, logs)?,
                })
            },
        );
        Ok(Measuring {
            points: points.collect::<Result<_, String>>()?,
            simulated,
            clocked,
        })
    }

    /// The results of the points, and what is measured with a clock, here and now; `None` if that
    /// was interrupted.
    fn measurements(
        &self,
        finished: Vec<study::Finished>,
        extent: &Extent,
        logs: &Logs,
        bar: &Bar<'_>,
    ) -> Result<Option<Measurements>, String> {
        let mut measurements = Measurements::default();
        for ((setting, _), finished) in self.simulated.settings().iter().zip(finished) {
            measurements.insert(setting, finished.results);
        }
        for (setting, strategies) in self.clocked.settings() {
            let experiment = setting.experiment(strategies.clone(), extent.clocked, logs)?;
            for _ in 0..extent.clocked_repeats {
                let mut backends = InProcessBackends {
                    timed: true,
                    ..InProcessBackends::default()
                };
                let results = experiment::run(&experiment, &mut backends, bar);
                let results = match results.map_err(|failed| failed.reason) {
                    Err(ExperimentError::Interrupted) => return Ok(None),
                    Err(error) => return Err(format!("{}: {error}", label_text(&setting.label()))),
                    Ok(results) => results,
                };
                measurements.insert_clocked(setting, results);
            }
        }
        bar.clear();
        Ok(Some(measurements))
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let written = file::write(path, text.as_bytes());
    written.map_err(|error| format!("{}: cannot write: {error}", path.display()))
}

/// Whether the folder has results of another command, perhaps longer, or unknown files of these
/// names.
fn check_folder(
    folder: &Path,
    record: &Path,
    files: &[String],
    command: &str,
) -> Result<(), String> {
    match input::text(record) {
        Ok(known) => match known.lines().next().unwrap_or_default() {
            known if known == command => Ok(()),
            known => Err(format!(
                "{}: the folder has the results of `{known}` (expected another --save, or --replace)",
                record.display()
            )),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut files = files.iter().map(|name| folder.join(name));
            match files.find(|file| file.is_file()) {
                Some(file) => Err(format!(
                    "{}: is there, and no record of the command that wrote it (expected another --save, or --replace)",
                    file.display()
                )),
                None => Ok(()),
            }
        }
        Err(error) => Err(format!("{}: cannot read: {error}", record.display())),
    }
}

/// Removes the files of another command that the record names, each in a line behind it.
fn remove_recorded(folder: &Path, record: &Path) -> Result<(), String> {
    let recorded = input::text(record).unwrap_or_default();
    for name in recorded.lines().skip(1) {
        // No file outside the folder is removed, whatever the record names.
        let path = Path::new(name).file_name().map(|name| folder.join(name));
        let Some(path) = path.filter(|path| path.is_file()) else {
            continue;
        };
        let removed = fs::remove_file(&path);
        removed.map_err(|error| format!("{}: cannot remove it: {error}", path.display()))?;
    }
    Ok(())
}

/// Each claim below its figure, and at the end each figure with the number of each verdict.
fn write_summary(
    figures: &[Figure],
    claims: &[Claim],
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let numbers = names::each_once(figures.iter().map(|figure| figure.number));
    let of_figure = |number: u32| claims.iter().filter(move |claim| claim.figure == number);
    let judged = || {
        numbers
            .iter()
            .filter(|&&number| of_figure(number).next().is_some())
    };
    for &number in judged() {
        let title = figures.iter().find(|figure| figure.number == number);
        let title = title.map_or("", |figure| &figure.title);
        writeln!(output, "Figure {number}, {title}")?;
        for claim in of_figure(number) {
            let judgement = &claim.judgement;
            writeln!(
                output,
                "  {:<13}  {}: {}, here {}",
                judgement.verdict,
                claim.text,
                claim.paper_text(),
                judgement.ours
            )?;
        }
        writeln!(output)?;
    }
    for &number in judged() {
        writeln!(output, "Figure {number}: {}", tally(of_figure(number)))?;
    }
    if !claims.is_empty() {
        writeln!(output, "All: {}", tally(claims.iter()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
