//! `sweep`: a grid of scenarios out of a file, results into a folder.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::ValueHint;

use super::part::Part;
use super::{Point, results};
use crate::failure::{self, Failure};
use crate::file::{self, Product, ReplaceArgs};
use crate::progress::Bar;
use crate::settings::{self, ThreadsArgs};
use meshalloc_sim::scenario::{self, Foreign, GridPoint};
use meshalloc_sim::workload::SharedLogs;

/// What to sweep, and where the results go.
#[derive(Args, Clone, Debug)]
pub(crate) struct SweepArgs {
    /// A scenario file with a table [grid]
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// The folder of the results, made if it does not exist [default: out/sweep/ and the file's
    /// name]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,

    #[command(flatten)]
    threads: ThreadsArgs,

    /// Run all points, or those of the chosen shard, again
    #[arg(long, conflicts_with = "merge")]
    anew: bool,

    #[command(flatten)]
    part: Part,

    #[command(flatten)]
    replace: ReplaceArgs,
}

/// Settings that have no use in the file of a sweep, and why.
const USELESS: &[(&str, &str)] = &[
    ("backend", "a sweep runs in the process that is started"),
    ("format", "a sweep writes results.csv and results.json"),
];

/// Named after the file; of `...toml` no folder above `out/sweep` would be meant.
pub(crate) fn default_folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().filter(|stem| *stem != "..");
    Path::new("out/sweep").join(stem.or(file.file_name()).unwrap_or_default())
}

/// The points of a file, and their scenarios. Each log is read once for the same options and
/// machine.
pub(crate) fn points(file: &Path) -> Result<(Vec<GridPoint>, Vec<Point>), String> {
    let command = settings::command_of::<SweepArgs>();
    let foreign = Foreign {
        command_line: &settings::own_options(&command),
        useless: USELESS,
    };
    let grid = scenario::grid(file, foreign)?;
    let logs = SharedLogs::default();
    let points = grid.iter().map(|point| {
        let label = point.label.clone();
        let experiment = point.scenario.experiment(&logs)?;
        Ok(Point { label, experiment })
    });
    let points = points.collect::<Result<Vec<_>, String>>()?;
    Ok((grid, points))
}

/// Whether no file of the folder is one that the sweep reads.
fn distinct(file: &Path, grid: &[GridPoint], written: [&Path; 2]) -> Result<(), String> {
    let files = grid.iter().flat_map(|point| point.scenario.files());
    let files = files.collect::<BTreeSet<_>>().into_iter();
    let read = std::iter::once(("FILE.toml", file)).chain(files);
    for (option, path) in read {
        let written = written.map(|path| ("--output", Some(path)));
        file::distinct(&[&[(option, Some(path))], &written[..]].concat())?;
    }
    Ok(())
}

/// Runs what is missing, or merges what shards have, and writes the results.
pub(crate) fn sweep(args: &SweepArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let (grid, points) = points(&args.file)?;
    let default = || default_folder(&args.file);
    let folder = args.output.clone().unwrap_or_else(default);
    let kept = folder.join("points");
    let results = ["results.csv", "results.json"].map(|name| folder.join(name));
    distinct(&args.file, &grid, [&results[0], &results[1]])?;
    let part = args.part;
    let cannot =
        |path: &Path, error| format!("{}: cannot write the results: {error}", path.display());
    if part.is_whole() {
        for (path, product) in results.iter().zip([Product::Table, Product::Document]) {
            file::check_own(path, product, args.replace).map_err(|error| cannot(path, error))?;
        }
    }
    let bar = Bar::interruptible()?;
    let finished = part.carry_out(&points, &kept, args.threads.count, args.anew, &bar);
    let finished = finished.map_err(|error| match error.is_interrupted() {
        true => failure::goes_on(&kept, &["--anew"]),
        false => error.to_string().into(),
    })?;
    writeln!(output, "{}", part.summary(&finished))?;
    if !part.is_whole() {
        return Ok(());
    }
    let contents = [
        results::csv(&grid, &finished),
        results::json(&grid, &points, &finished),
    ];
    for (path, content) in results.iter().zip(contents) {
        let written = content.and_then(|content| file::write(path, &content));
        written.map_err(|error| cannot(path, error))?;
        writeln!(output, "{}", path.display())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::sweep::store::Store;
    use meshalloc_sim::workload::{Log, LogJob, Workload};

    /// A log, and a grid over it with these keys and these axes.
    fn write(folder: &Path, text: &str, axes: &str) {
        let job =
            |number: u32| format!("{number} {number} -1 10 4 -1 -1 4 20 -1 1 1 1 -1 -1 1 -1 -1\n");
        fs::write(folder.join("log.swf"), (1..9).map(job).collect::<String>()).unwrap();
        let text = format!("swf = \"log.swf\"\n{text}\n[grid]\n{axes}");
        fs::write(folder.join("g.toml"), text).unwrap();
    }

    fn list(point: &Point) -> &Arc<Vec<LogJob>> {
        match &point.experiment.workload {
            Workload::Log(log) => &log.jobs,
            Workload::Synthetic(_) => panic!("{point:?}"),
        }
    }

    #[test]
    fn points_that_differ_in_other_things_than_their_jobs_share_one_list() {
        let folder = tempfile::tempdir().unwrap();
        let axes = "jobs = [5, 8]\nlog-load = [0.3, 0.4]\nestimates = [\"log\", \"none\"]\n";
        write(folder.path(), "mesh = \"4x4\"", axes);
        let (_, points) = points(&folder.path().join("g.toml")).unwrap();
        let [fewer, all] = [&points[..4], &points[4..]];
        for (points, jobs) in [(fewer, 5), (all, 8)] {
            assert_eq!((points.len(), list(&points[0]).len()), (4, jobs));
            for point in points {
                assert!(Arc::ptr_eq(list(point), list(&points[0])));
            }
        }
    }

    #[test]
    fn every_job_and_every_field_of_a_log_is_in_the_hash_but_its_path() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "mesh = \"4x4\"", "log-load = [0.3, 0.4]\n");
        let (_, read) = points(&folder.path().join("g.toml")).unwrap();
        let paths = |points: &[Point]| {
            let store = Store::new(points, Path::new("points"));
            (0..points.len())
                .map(|point| store.path(point).to_owned())
                .collect::<Vec<_>>()
        };
        let known = paths(&read);
        assert_ne!(known[0], known[1]);
        let changed = |change: &dyn Fn(&mut Log)| {
            let mut points = read.clone();
            let Workload::Log(log) = &mut points[1].experiment.workload else {
                panic!("a log");
            };
            change(log);
            let paths = paths(&points);
            assert_eq!(paths[0], known[0]);
            paths[1].clone()
        };
        assert_eq!(changed(&|_| ()), known[1]);
        assert_eq!(changed(&|log| log.path = "elsewhere".into()), known[1]);
        // Shared or not, the jobs are the same.
        assert_eq!(
            changed(&|log| log.jobs = log.jobs.to_vec().into()),
            known[1]
        );
        assert_ne!(changed(&|log| log.load = None), known[1]);
        assert_ne!(changed(&|log| log.end += 1), known[1]);
        let one_job = |log: &mut Log| {
            let mut jobs = log.jobs.to_vec();
            jobs[7].run_time += 1;
            log.jobs = jobs.into();
        };
        assert_ne!(changed(&one_job), known[1]);
        let mut others = read.clone();
        others[0].experiment.seed += 1;
        assert_ne!(paths(&others)[0], known[0]);
    }
}
