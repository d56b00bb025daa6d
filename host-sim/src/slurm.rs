//! `slurm`: a sweep, or a paper's full reproduction, as a job array of Slurm, whose task I of N
//! runs shard I of N, and a job that merges the results.
//!
//! Slurm requeues a task that is lost with its node or preempted; a task whose process is killed
//! requeues itself, a limited number of times. A requeued task runs the points of its shard that
//! have no file yet. The merge begins when all tasks have ended, and names what is missing.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::builder::ValueHint;
use clap::{ArgGroup, Args};

use crate::failure::Failure;
use crate::file::{self, Product, ReplaceArgs};
use crate::reproduce;
use crate::sweep::command as sweep;
use meshalloc_sim::names;

/// What is divided among the tasks of an array, and how these are submitted.
#[derive(Args, Clone, Debug)]
#[command(group(ArgGroup::new("work").required(true).args(["file", "reproduce"])))]
pub(crate) struct SlurmArgs {
    /// The file of a sweep
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// The full reproduction of a paper, in place of a sweep
    #[arg(long, value_name = "PAPER", value_parser = reproduce::paper_name())]
    reproduce: Option<String>,

    /// The number of tasks; each computes a shard of about equal expected cost
    #[arg(long, value_name = "COUNT", value_parser = names::count::<NonZero<u32>>, allow_negative_numbers = true)]
    tasks: NonZero<u32>,

    /// The processors of each task
    #[arg(long, value_name = "COUNT", value_parser = names::count::<NonZero<u32>>, allow_negative_numbers = true, default_value = "1")]
    cpus: NonZero<u32>,

    /// The folder of results, scripts and logs, which all nodes share [default: that of the same
    /// command without Slurm]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,

    /// A further option for sbatch, for the array and the merge, such as --sbatch=--partition=long;
    /// may be given several times
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,

    #[command(flatten)]
    replace: ReplaceArgs,
}

/// A task whose process is killed requeues itself as often as this.
const REQUEUES_MAX: u32 = 10;

pub(crate) fn slurm(args: &SlurmArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let job = Job::new(args)?;
    let made = fs::create_dir_all(&job.folder);
    made.map_err(|error| format!("{}: cannot make the folder: {error}", job.folder.display()))?;
    let [array, merge] = ["array", "merge"].map(|name| job.folder.join(format!("slurm-{name}.sh")));
    let cannot = |path: &Path, error| format!("{}: cannot write: {error}", path.display());
    for path in [&array, &merge] {
        let checked = file::check(path, Product::Script, args.replace);
        checked.map_err(|error| cannot(path, error))?;
    }
    for (path, script) in [(&array, job.array()?), (&merge, job.merge()?)] {
        let written = file::write(path, script.as_bytes());
        written.map_err(|error| cannot(path, error))?;
    }
    writeln!(output, "{}\n{}", array.display(), merge.display())?;
    let [array, merge] = [&array, &merge].map(|path| quoted(&path.display().to_string()));
    writeln!(output, "submit them with:")?;
    writeln!(
        output,
        "  array=$(sbatch --parsable {}) && sbatch --dependency=afterany:${{array%;*}} {}",
        array?, merge?
    )?;
    Ok(())
}

struct Job<'a> {
    args: &'a SlurmArgs,
    name: String,
    command: String,
    /// Absolute.
    folder: PathBuf,
}

impl<'a> Job<'a> {
    fn new(args: &'a SlurmArgs) -> Result<Self, String> {
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let program = std::env::current_exe().map_err(|error| format!("host-sim: {error}"))?;
        let mut words = vec![program.display().to_string()];
        let (name, default) = match (&args.file, &args.reproduce) {
            (Some(file), _) => {
                let points = sweep::points(file)?.1.len();
                let tasks = args.tasks.get() as usize;
                if tasks > points {
                    return Err(format!(
                        "--tasks {tasks} (expected at most the number of points, {points})"
                    ));
                }
                let path = absolute(file)?.display().to_string();
                words.extend(["sweep".to_owned(), path]);
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                (name.into_owned(), sweep::default_folder(file))
            }
            (None, paper) => {
                let paper = paper.clone().unwrap_or_default();
                words.extend(["reproduce", &paper, "--full"].map(str::to_owned));
                let default = Path::new("out").join(&paper);
                (paper, default)
            }
        };
        let folder = absolute(args.output.as_deref().unwrap_or(&default))?;
        words.extend(["--output".to_owned(), folder.display().to_string()]);
        let words: Result<Vec<_>, _> = words.iter().map(|word| quoted(word)).collect();
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
        Ok(Job {
            args,
            name: name.chars().filter(is_plain).collect(),
            command: words?.join(" "),
            folder,
        })
    }

    /// The beginning of a script: options of sbatch.
    fn head(&self, name: &str, log: &str, options: &[String]) -> Result<String, String> {
        let folder = self.folder.display().to_string();
        if folder.contains(['"', '\\', '\n']) {
            return Err(format!(
                "{folder:?}: cannot stand in a script (expected no quotes)"
            ));
        }
        // Slurm replaces what follows a percent sign.
        let log = format!("{}/{log}", folder.replace('%', "%%"));
        let mut lines = vec![
            format!("--job-name={name}"),
            format!("--cpus-per-task={}", self.args.cpus),
            format!("--output=\"{log}\""),
            "--open-mode=append".to_owned(),
            "--requeue".to_owned(),
        ];
        lines.extend_from_slice(options);
        for option in &self.args.sbatch {
            lines.push(directive(option)?);
        }
        let mut script = "#!/bin/sh\n".to_owned();
        for line in lines {
            writeln!(script, "#SBATCH {line}").expect("a string takes everything");
        }
        Ok(script)
    }

    fn array(&self) -> Result<String, String> {
        let Job { args, command, .. } = self;
        let tasks = args.tasks;
        let head = self.head(
            &self.name,
            "slurm-%A_%a.log",
            &[format!("--array=1-{tasks}")],
        )?;
        Ok(format!(
            r#"{head}
# Runs the points of one shard that are missing.
{command} --shard "$SLURM_ARRAY_TASK_ID/{tasks}" --threads {threads}
code=$?
# Slurm requeues a task that is lost with its node; one whose process was killed (128 + 9) requeues itself.
if [ "$code" -eq 137 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {REQUEUES_MAX} ]; then
    # Slurm ends this script when it requeues the task.
    scontrol requeue "$SLURM_JOB_ID" && sleep 300
fi
exit "$code"
"#,
            threads = args.cpus,
        ))
    }

    fn merge(&self) -> Result<String, String> {
        let command = &self.command;
        let head = self.head(&format!("{}-merge", self.name), "slurm-merge-%j.log", &[])?;
        Ok(format!(
            "{head}\n# Writes the results of the points that the tasks have run.\nexec {command} --merge\n"
        ))
    }
}

/// An option as a line of a script has it: Slurm splits it at blanks that are not quoted.
fn directive(option: &str) -> Result<String, String> {
    // A blank ends a word, and this sign what is read of a line.
    let needs_quotes = |text: &str| text.contains([' ', '\t', '#']);
    let is_one_line = option.starts_with('-') && !option.contains('\n');
    let has_quotes = option.contains(['"', '\\', '\'']);
    if let Some((name, value)) = option.split_once('=')
        && is_one_line
        && !has_quotes
        && needs_quotes(value)
        && !needs_quotes(name)
    {
        return Ok(format!("{name}=\"{value}\""));
    }
    // What Slurm makes of it as it is.
    let words = match option.contains('#') && !has_quotes {
        true => None,
        false => shlex::split(option),
    };
    let words = words.unwrap_or_default();
    match &words[..] {
        [_] if is_one_line => Ok(option.to_owned()),
        // `-p long`, `--partition long`.
        [name, word] if is_one_line && !name.contains('=') && !word.starts_with('-') => {
            Ok(option.to_owned())
        }
        _ => Err(format!(
            "--sbatch {option:?} (expected an option in one line: NAME=VALUE, NAME WORD, or its value in quotes)"
        )),
    }
}

fn quoted(word: &str) -> Result<String, String> {
    let quoted = shlex::try_quote(word);
    let quoted = quoted.map_err(|error| format!("{word:?}: cannot stand in a script: {error}"))?;
    Ok(quoted.into_owned())
}
