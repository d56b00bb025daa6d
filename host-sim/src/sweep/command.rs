//! `sweep`: a grid of scenarios out of a file, results into a folder.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::ValueHint;

use super::journal::JournalError;
use super::part::{Part, PartArgs};
use super::{Point, SweepError, results};
use crate::failure::Failure;
use crate::file;
use crate::scenario::{self, GridPoint, ThreadsArgs};

/// What to sweep, and where the results go.
#[derive(Args, Clone, Debug)]
pub(crate) struct SweepArgs {
    /// A scenario file with a table [grid]
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// The folder of the results, made if need be [default: out/sweep/ and the file's name]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,

    #[command(flatten)]
    threads: ThreadsArgs,

    /// Discard the points that the folder has, or those of the chosen shard, and start over
    #[arg(long, conflicts_with = "merge")]
    restart: bool,

    #[command(flatten)]
    part: PartArgs,
}

/// The folder of a sweep's results unless another is given.
pub(crate) fn default_folder(file: &Path) -> PathBuf {
    Path::new("out/sweep").join(file.file_stem().unwrap_or_default())
}

/// The points of a file, and their scenarios.
///
/// # Errors
///
/// When the file is wrong.
pub(crate) fn points(file: &Path) -> Result<(Vec<GridPoint>, Vec<Point>), String> {
    let grid = scenario::grid(file)?;
    let points = grid.iter().map(|point| {
        let label = point.label.clone();
        let experiment = point.scenario.experiment()?;
        Ok(Point { label, experiment })
    });
    let points = points.collect::<Result<Vec<_>, String>>()?;
    Ok((grid, points))
}

/// Runs what is missing, or merges what shards have, and writes the results.
///
/// # Errors
///
/// When the file is wrong, a point cannot be run, shards do not make a whole, or the folder cannot be written or has other
/// results.
pub(crate) fn sweep(args: &SweepArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let part = args.part.part()?;
    let (grid, points) = points(&args.file)?;
    let default = || default_folder(&args.file);
    let folder = args.output.clone().unwrap_or_else(default);
    let journal = folder.join("points.jsonl");
    for name in ["results.csv", "results.json"] {
        let path = folder.join(name);
        if part.is_whole() && path.exists() && !journal.exists() && !args.restart {
            return Err(format!(
                "{}: is not of this sweep, there is no journal beside it (expected another folder; --restart \
                 replaces it)",
                path.display()
            )
            .into());
        }
    }
    let finished = part.carry_out(&points, &journal, args.threads.count, args.restart);
    let finished = finished.map_err(|error| match &error {
        SweepError::Journal {
            reason: JournalError::Io(_) | JournalError::InUse,
            ..
        } => error.to_string(),
        SweepError::Journal { .. } if !matches!(part, Part::Merged(_)) => {
            format!("{error}; --restart does so")
        }
        _ => error.to_string(),
    })?;
    writeln!(output, "{}", part.summary(&finished))?;
    if !part.is_whole() {
        return Ok(());
    }
    for (name, content) in [
        ("results.csv", results::csv(&grid, &finished)),
        ("results.json", results::json(&grid, &points, &finished)),
    ] {
        let path = folder.join(name);
        content
            .and_then(|content| file::write(&path, &content))
            .map_err(|error| format!("{}: cannot write the results: {error}", path.display()))?;
        writeln!(output, "{}", path.display())?;
    }
    Ok(())
}
