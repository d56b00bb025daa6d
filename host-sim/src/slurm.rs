//! A study, or a paper, as a job array of Slurm, whose task I of N runs shard I of N, and a job
//! that merges the results.
//!
//! Slurm requeues a task that is lost with its node or preempted; a task whose process is killed
//! requeues itself, a limited number of times. A requeued task runs the points of its shard that
//! have no file yet. The merge begins when all tasks have ended, and names what is missing.

use std::env;
use std::fmt::Write as _;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::file::{self, Output, Product, ReplaceArgs};

/// The work that is divided among the tasks of an array, and how the tasks are submitted.
pub(crate) struct Slurm<'a> {
    /// The number of tasks.
    pub(crate) tasks: NonZero<u32>,
    /// The processors of each task; one unless it is given.
    pub(crate) cpus: Option<NonZero<usize>>,
    /// Further options for sbatch.
    pub(crate) options: &'a [String],
    /// The folder of scripts and logs, which all nodes share.
    pub(crate) folder: &'a Path,
    /// The number of points, if a task that has none is a mistake.
    pub(crate) points: Option<usize>,
    pub(crate) replace: ReplaceArgs,
}

/// A task whose process is killed requeues itself as often as this.
const REQUEUES_MAX: u32 = 10;

/// Options of this command, each with a value, that its tasks do not have.
const WITHOUT: [&str; 3] = ["--slurm", "--sbatch", "--threads"];

impl Slurm<'_> {
    /// Writes the scripts; the last line of the output submits them.
    pub(crate) fn write(&self, output: &mut dyn Write) -> Result<(), Failure> {
        let job = Job::new(self)?;
        let [array, merge] = ["array", "merge"].map(|name| {
            let path = job.folder.join(format!("slurm-{name}.sh"));
            Output::open(&path, Product::Script, self.replace)
        });
        let (array, merge) = (array?, merge?);
        let (array_text, merge_text) = (job.array()?, job.merge()?);
        array.write(array_text)?;
        merge.write(merge_text)?;
        let [array, merge] = [array, merge].map(|file| file.path.display().to_string());
        writeln!(output, "{array}\n{merge}")?;
        let [array, merge] = [array, merge].map(|path| quoted(&path));
        writeln!(output, "submit them with:")?;
        writeln!(
            output,
            "  array=$(sbatch --parsable {}) && sbatch --dependency=afterany:${{array%;*}} {}",
            array?, merge?
        )?;
        Ok(())
    }
}

struct Job<'a> {
    slurm: &'a Slurm<'a>,
    name: String,
    /// This command, without its options about Slurm, to be carried out in `here`.
    command: String,
    here: String,
    /// Absolute.
    folder: PathBuf,
}

impl<'a> Job<'a> {
    fn new(slurm: &'a Slurm<'a>) -> Result<Self, String> {
        let tasks = slurm.tasks.get() as usize;
        if let Some(points) = slurm.points.filter(|&points| tasks > points) {
            return Err(format!(
                "--slurm {tasks} (expected at most the number of points, {points})"
            ));
        }
        let here = env::current_dir().map_err(|error| format!("this folder: {error}"))?;
        let program = env::current_exe().map_err(|error| format!("host-sim: {error}"))?;
        let mut words = vec![program.display().to_string()];
        let mut given = env::args_os().skip(1);
        while let Some(word) = given.next() {
            let word = word.to_string_lossy().into_owned();
            let name = word.split('=').next().unwrap_or_default();
            if !WITHOUT.contains(&name) {
                words.push(word);
            } else if name == word {
                // Its value is the next word.
                given.next();
            }
        }
        let words: Result<Vec<_>, _> = words.iter().map(|word| quoted(word)).collect();
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
        let folder = here.join(slurm.folder);
        Ok(Job {
            slurm,
            name: file::name(&folder).chars().filter(is_plain).collect(),
            command: words?.join(" "),
            here: quoted(&here.display().to_string())?,
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
            format!("--cpus-per-task={}", self.cpus()),
            format!("--output=\"{log}\""),
            "--open-mode=append".to_owned(),
            "--requeue".to_owned(),
        ];
        lines.extend_from_slice(options);
        for option in self.slurm.options {
            lines.push(directive(option)?);
        }
        let mut script = "#!/bin/sh\n".to_owned();
        for line in lines {
            writeln!(script, "#SBATCH {line}").expect("a string takes everything");
        }
        Ok(script)
    }

    fn cpus(&self) -> usize {
        self.slurm.cpus.map_or(1, NonZero::get)
    }

    fn array(&self) -> Result<String, String> {
        let Job { command, here, .. } = self;
        let tasks = self.slurm.tasks;
        let head = self.head(
            &self.name,
            "slurm-%A_%a.log",
            &[format!("--array=1-{tasks}")],
        )?;
        Ok(format!(
            r#"{head}
# Runs the points of one shard that are missing.
cd {here} || exit 2
{command} --shard "$SLURM_ARRAY_TASK_ID/{tasks}" --threads {threads}
code=$?
# Slurm requeues a task that is lost with its node; one whose process was killed (128 + 9) requeues itself.
if [ "$code" -eq 137 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {REQUEUES_MAX} ]; then
    # Slurm ends this script when it requeues the task.
    scontrol requeue "$SLURM_JOB_ID" && sleep 300
fi
exit "$code"
"#,
            threads = self.cpus(),
        ))
    }

    fn merge(&self) -> Result<String, String> {
        let Job { command, here, .. } = self;
        let head = self.head(&format!("{}-merge", self.name), "slurm-merge-%j.log", &[])?;
        Ok(format!(
            "{head}\n# Writes the results of the points that the tasks have run.\ncd {here} || exit 2\nexec {command} --merge\n"
        ))
    }
}

/// An option as a line of a script has it: Slurm splits it at blanks that are not quoted.
fn directive(option: &str) -> Result<String, String> {
    // A blank ends a word. Slurm does not read a line beyond a `#`.
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
    // The words that Slurm reads if the option is passed on unchanged.
    let words = if option.contains('#') && !has_quotes {
        None
    } else {
        shlex::split(option)
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
