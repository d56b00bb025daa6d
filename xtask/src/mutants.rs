//! `cargo xtask mutants`: whether the tests notice when core or the protocol is changed, by
//! cargo-mutants.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::command::Cmd;

/// The options of `cargo xtask mutants`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Every N-th mutant, from the K-th on, 0 is the first; all would take days.
    #[arg(long, value_name = "K/N", default_value = "0/100")]
    shard: String,
    /// Only mutants in these files.
    #[arg(long, value_name = "GLOB")]
    file: Vec<String>,
    /// Only mutants whose names match.
    #[arg(long, value_name = "REGEX")]
    re: Option<String>,
    /// Take it that the tests pass without a mutant, and stop each test run after this many
    /// seconds.
    #[arg(long, value_name = "SECONDS")]
    trusted: Option<u32>,
    /// The folder for `mutants.out`.
    #[arg(long, value_name = "DIR", default_value = "target")]
    output: PathBuf,
}

/// The options of the runner that [`run`] gives to cargo.
#[derive(clap::Args)]
pub(crate) struct RunnerOptions {
    /// A program of tests.
    program: PathBuf,
    /// What it is started with.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Changes one place after another and runs the tests.
pub(crate) fn run(options: &Options) -> Result<()> {
    let program = env::current_exe()?;
    let mut command = Cmd::new("cargo mutants --package meshalloc --package meshalloc-firmware")
        .env(
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            format!("{} until-failure", program.display()),
        )
        .arg(format!("--output={}", options.output.display()))
        .arg(format!("--shard={}", options.shard))
        .args("--sharding=round-robin");
    for glob in &options.file {
        command = command.arg(format!("--file={glob}"));
    }
    if let Some(re) = &options.re {
        command = command.arg(format!("--re={re}"));
    }
    if let Some(seconds) = options.trusted {
        command = command
            .arg(format!("--timeout={seconds}"))
            .args("--baseline=skip");
    }
    command.run()
}

/// Runs a program of tests up to its first failure. The harness itself goes on to the last test.
pub(crate) fn until_failure(options: &RunnerOptions) -> Result<ExitCode> {
    run_until_failure(&options.program, &options.args, &mut io::stdout())
}

/// Writes what the program does to `shown`.
fn run_until_failure(program: &Path, args: &[String], shown: &mut impl Write) -> Result<ExitCode> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} cannot be started", program.display()))?;
    let output = child.stdout.take().context("its output is a pipe")?;
    let mut has_failed = false;
    for line in BufReader::new(output).lines() {
        let line = line?;
        writeln!(shown, "{line}")?;
        if line.starts_with("test ") && line.ends_with("... FAILED") {
            has_failed = true;
            child.kill()?;
            break;
        }
    }
    let status = child.wait()?;
    Ok(match status.success() && !has_failed {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_test_ends_the_run() {
        // Shown, it would look like a failure of these tests.
        let run = |script: &str| {
            let args = ["-c".to_owned(), script.to_owned()];
            run_until_failure(Path::new("sh"), &args, &mut io::sink()).unwrap()
        };
        assert_eq!(run("echo 'test a ... ok'"), ExitCode::SUCCESS);
        assert_eq!(run("echo 'test a ... ok'; exit 101"), ExitCode::FAILURE);
        // Long before the end.
        let failed = "echo 'test a ... FAILED'; exec sleep 1000";
        assert_eq!(run(failed), ExitCode::FAILURE);
    }
}
