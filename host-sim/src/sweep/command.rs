//! `sweep`: a grid of scenarios out of a file, results into a folder.

use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::ValueHint;

use super::journal::JournalError;
use super::{Point, SweepError, SweepOptions, results, run_points};
use crate::failure::Failure;
use crate::file;
use crate::identity::label_text;
use crate::names;
use crate::progress::Bar;
use crate::scenario;

/// What to sweep, and where the results go.
#[derive(Args, Clone, Debug)]
pub(crate) struct SweepArgs {
    /// A scenario file with a table [grid]
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// The folder of the results, made if need be [default: out/sweep/ and the file's name]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,

    /// Threads that share the runs; their number does not change any result [default: all processors]
    #[arg(long, value_name = "COUNT", value_parser = names::not_zero::<NonZero<usize>>, allow_negative_numbers = true)]
    threads: Option<NonZero<usize>>,

    /// Discard the points that the folder has, and start over
    #[arg(long)]
    restart: bool,
}

/// Runs what is missing and writes the results.
///
/// # Errors
///
/// When the file is wrong, a point cannot be run, or the folder cannot be written or has other results.
pub(crate) fn sweep(args: &SweepArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let grid = scenario::grid(&args.file)?;
    let points = grid.iter().map(|point| {
        let label = point.label.clone();
        let experiment = point.scenario.experiment().map_err(|reason| {
            format!("{}: {}: {reason}", args.file.display(), label_text(&label))
        })?;
        Ok(Point { label, experiment })
    });
    let points = points.collect::<Result<Vec<_>, String>>()?;
    let folder = args.output.clone().unwrap_or_else(|| {
        let name = args.file.file_stem().unwrap_or_default();
        Path::new("out/sweep").join(name)
    });
    let journal = folder.join("points.jsonl");
    for name in ["results.csv", "results.json"] {
        let path = folder.join(name);
        if path.exists() && !journal.exists() && !args.restart {
            return Err(format!(
                "{}: is not of this sweep, there is no journal beside it (expected another folder; --restart \
                 replaces it)",
                path.display()
            )
            .into());
        }
    }
    let options = SweepOptions {
        threads: args.threads,
        restart: args.restart,
    };
    let bar = Bar::new();
    let finished = run_points(&points, &journal, options, &bar);
    bar.clear();
    let finished = finished.map_err(|error| match &error {
        SweepError::Point { .. }
        | SweepError::Journal {
            reason: JournalError::Io(_) | JournalError::InUse,
            ..
        } => error.to_string(),
        SweepError::Journal { .. } => format!("{error}; --restart does so"),
    })?;

    let known = finished.iter().filter(|point| point.resumed).count();
    writeln!(
        output,
        "{} points, {known} of them from the journal",
        points.len()
    )?;
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
