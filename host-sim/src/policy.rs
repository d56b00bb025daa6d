//! `run --policy FILE.py`: the package for Python runs strategies and schedulers of a file.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use clap::builder::{NonEmptyStringValueParser, ValueHint};

use crate::failure::Failure;

/// The interpreter, of the environment that is active.
const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// The option of the file.
#[derive(Args, Debug)]
pub(crate) struct PolicyArgs {
    /// Strategies and schedulers of your own: functions and classes in Python, which --strategy and
    /// --scheduler choose by their names. Needs the package meshalloc for Python; takes settings,
    /// --scenario, --format and --quiet
    #[arg(long, value_name = "FILE.py", value_hint = ValueHint::FilePath)]
    policy: Option<PathBuf>,
}

/// The commands, perhaps with names that only a file of policies has.
pub(crate) fn with_names(commands: clap::Command) -> clap::Command {
    let is_given = |word: &str| word == "--policy" || word.starts_with("--policy=");
    if !std::env::args_os().any(|word| is_given(&word.to_string_lossy())) {
        return commands;
    }
    commands.mut_subcommand("run", |run| {
        let run = run.mut_arg("strategy", |arg| arg.value_parser(any()));
        run.mut_arg("scheduler", |arg| arg.value_parser(any()))
    })
}

fn any() -> NonEmptyStringValueParser {
    NonEmptyStringValueParser::new()
}

impl PolicyArgs {
    /// Whether Python carries the command out.
    pub(crate) fn is_given(&self) -> bool {
        self.policy.is_some()
    }
}

/// Goes on as Python with the same arguments, so that signals and the exit code are its own.
///
/// Returns why it cannot.
pub(crate) fn run() -> Failure {
    let mut import = Command::new(PYTHON);
    let because = match import.args(["-c", "import meshalloc.__main__"]).output() {
        Ok(output) if output.status.success() => {
            let mut python = Command::new(PYTHON);
            python.args(["-m", "meshalloc"]);
            replaced_by(python.args(std::env::args_os().skip(1))).to_string()
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            said.lines().last().unwrap_or_default().to_owned()
        }
        Err(error) => error.to_string(),
    };
    Failure::Message(format!(
        "--policy: {PYTHON}: {because} (expected Python with the package meshalloc; `pip install \
         ./bindings/python` in the repository installs it into the active environment)"
    ))
}

/// `exec` returns only if Python cannot be started.
#[cfg(unix)]
fn replaced_by(python: &mut Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(python)
}

#[cfg(not(unix))]
fn replaced_by(python: &mut Command) -> io::Error {
    // Python gets Ctrl-C, too, and ends first.
    let handled = crate::signals::handle().map_err(io::Error::other);
    match handled.and_then(|()| python.status()) {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
