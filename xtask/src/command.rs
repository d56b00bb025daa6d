//! A command line that can be shown, so that a reader can repeat it, and run; several at the same
//! time.

use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};

/// The root of the workspace, where every command runs.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the workspace")
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// A program with its arguments and the environment variables that matter to it.
#[derive(Clone, Debug)]
pub(crate) struct Cmd {
    program: String,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl Cmd {
    /// The words of `line`, separated by blanks; none of them may contain one.
    pub(crate) fn new(line: &str) -> Self {
        let mut words = line.split_whitespace().map(String::from);
        Cmd {
            program: words.next().expect("a command line names a program"),
            args: words.collect(),
            env: Vec::new(),
        }
    }

    /// The program at this path.
    pub(crate) fn at(program: &Path) -> Self {
        Cmd {
            program: program.display().to_string(),
            args: Vec::new(),
            env: Vec::new(),
        }
    }

    /// The same with one more argument, which may contain anything.
    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// The same with the words of `line` as further arguments.
    pub(crate) fn args(mut self, line: &str) -> Self {
        self.args.extend(line.split_whitespace().map(String::from));
        self
    }

    /// The same with an environment variable set.
    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Ready to start, with nothing on its standard input: no chore may wait for an answer.
    pub(crate) fn process(&self) -> Command {
        // Cargo tells which cargo runs this program; the same one must go on.
        let program = match (self.program.as_str(), std::env::var_os("CARGO")) {
            ("cargo", Some(cargo)) => cargo,
            (other, _) => OsString::from(other),
        };
        let mut process = Command::new(program);
        process
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(root())
            .stdin(Stdio::null());
        process
    }

    /// Shows the command, runs it and waits; its output goes where ours goes.
    pub(crate) fn run(&self) -> Result<()> {
        println!("$ {self}");
        let status = self
            .process()
            .status()
            .with_context(|| self.start_failed())?;
        self.check(status)
    }

    /// Runs it and hands every line of output to `on_line`; shows nothing.
    pub(crate) fn run_watched(&self, mut on_line: impl FnMut(&str)) -> Result<()> {
        // One pipe for both streams, so that their lines stay in order.
        let (reader, writer) = std::io::pipe()?;
        let mut process = self.process();
        process.stdout(writer.try_clone()?).stderr(writer);
        let mut child = process.spawn().with_context(|| self.start_failed())?;
        // It holds our ends of the pipe; with them open the reader would never see the end.
        drop(process);
        for line in BufReader::new(reader).split(b'\n') {
            let line = line?;
            on_line(&String::from_utf8_lossy(&line));
        }
        self.check(child.wait()?)
    }

    /// What it prints on standard output.
    ///
    /// # Errors
    ///
    /// When it cannot be started or fails.
    pub(crate) fn output(&self) -> Result<String> {
        let output = self
            .process()
            .stderr(Stdio::null())
            .output()
            .with_context(|| self.start_failed())?;
        self.check(output.status)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Whether it can be started and succeeds. Shows nothing.
    pub(crate) fn succeeds(&self) -> bool {
        self.output().is_ok()
    }

    fn start_failed(&self) -> String {
        format!("`{}` cannot be started (command: {self})", self.program)
    }

    fn check(&self, status: ExitStatus) -> Result<()> {
        if !status.success() {
            bail!("`{self}` failed: {status}");
        }
        Ok(())
    }
}

impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        f.write_str(&self.program)?;
        for arg in &self.args {
            write!(f, " {}", quoted(arg))?;
        }
        Ok(())
    }
}

/// Hands every item to the next idle one of as many workers as this machine has processors. `work`
/// gets the worker's number as well. The results are in the order of the items.
///
/// # Errors
///
/// When `work` fails; that worker takes no other item.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(usize, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let take = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        items.get(at).map(|item| (at, item))
    };
    let run = &|worker| -> Result<Vec<(usize, R)>> {
        let items = std::iter::from_fn(take);
        items
            .map(|(at, item)| Ok((at, work(worker, item)?)))
            .collect()
    };
    thread::scope(|scope| {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let workers: Vec<_> = (0..processors)
            .map(|worker| scope.spawn(move || run(worker)))
            .collect();
        let mut results = Vec::new();
        for worker in workers {
            let done = worker.join();
            results.extend(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        results.sort_unstable_by_key(|&(at, _)| at);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    })
}

/// The word as a POSIX shell needs it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+/.,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_a_shell_reads_it() {
        let command = Cmd::new("cargo doc --no-deps")
            .arg("it's here")
            .env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(
            command.to_string(),
            r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'it'\''s here'"
        );
    }

    #[test]
    fn both_streams_are_watched_and_the_exit_code_is_reported() {
        let mut lines = Vec::new();
        let result = Cmd::new("sh -c")
            .arg("echo one; echo two >&2; exit 3")
            .run_watched(|line| lines.push(line.to_owned()));
        assert_eq!(lines, ["one", "two"]);
        let message = result.unwrap_err().to_string();
        assert!(message.ends_with("exit status: 3"), "{message}");
    }

    #[test]
    fn each_item_is_worked_on_once_and_an_error_is_passed_on() {
        let items: Vec<u32> = (0..100).collect();
        let doubled = in_parallel(&items, |_, &item| Ok(2 * item)).unwrap();
        assert_eq!(doubled, (0..200).step_by(2).collect::<Vec<_>>());
        let failed = in_parallel(&items, |_, &item| match item {
            70 => bail!("no {item}"),
            _ => Ok(()),
        });
        assert_eq!(failed.unwrap_err().to_string(), "no 70");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Cmd::new("no-such-program-here --flag").run().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("`no-such-program-here` cannot be started")
        );
    }
}
