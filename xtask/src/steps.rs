//! Runs steps, each in a process of its own. The steps of a lane run one after another, and lanes
//! run at the same time. Prints the output, time and outcome of each step, and a summary at the
//! end.

use std::fmt;
use std::io::{self, Read as _, Seek as _};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Instant;

/// How the log of a step begins that had nothing to do.
pub(crate) const UNCHANGED: &str = "UNCHANGED";

/// The lines of a failed step that the summary repeats, at most.
const ERRORS: usize = 20;

/// A step that has ended, or was left out after a failure.
#[derive(Debug)]
struct Row {
    name: String,
    seconds: f64,
    /// `None` if it did not run.
    passed: Option<bool>,
    log: String,
}

impl Row {
    fn outcome(&self) -> &'static str {
        match self.passed {
            Some(true) if self.log.starts_with(UNCHANGED) => "unchanged",
            Some(true) => "passed",
            Some(false) => "FAILED",
            None => "not run",
        }
    }

    /// The number before this word in the results of all programs of tests, such as `passed`; also
    /// in the summary of cargo-nextest.
    fn count(&self, word: &str) -> u32 {
        let lines = self.log.lines();
        let starts = ["test result: ", "Summary ["];
        let results =
            lines.filter(|line| starts.iter().any(|it| line.trim_start().starts_with(it)));
        let parts = results.flat_map(|line| line.split(['.', ';', ',', ':', '(']));
        let counts =
            parts.filter_map(|part| part.trim().strip_suffix(word)?.trim().parse::<u32>().ok());
        counts.sum()
    }

    /// The lines by which tests report that they did not run, or not in full.
    fn skipped(&self) -> Vec<&str> {
        let is_ignored = |line: &str| line.starts_with("test ") && line.contains(" ... ignored");
        let lines = self.log.lines();
        lines
            .map(str::trim_start)
            .filter(|line| line.starts_with("SKIPPED") || is_ignored(line))
            .collect()
    }

    /// Why it failed: errors, and the names of failed tests.
    fn errors(&self) -> impl Iterator<Item = &str> {
        let is_failed = |line: &str| line.ends_with(" ... FAILED") || line.starts_with("FAIL [");
        let is_error = move |line: &&str| line.starts_with("error") || is_failed(line.trim_start());
        let log = if self.passed == Some(false) {
            &*self.log
        } else {
            ""
        };
        log.lines().filter(is_error).take(ERRORS)
    }
}

/// The steps so far, in the order in which they ended.
#[derive(Debug)]
pub(crate) struct Steps {
    keep_going: bool,
    started: Instant,
    rows: Mutex<Vec<Row>>,
}

impl Steps {
    /// No step yet. After a failed one the others run only if `keep_going`.
    pub(crate) fn new(keep_going: bool) -> Self {
        Steps {
            keep_going,
            started: Instant::now(),
            rows: Mutex::default(),
        }
    }

    /// Runs lanes at the same time, and the steps of each, by their names, one after another.
    pub(crate) fn run(&self, lanes: &[Vec<&str>], command: impl Fn(&str) -> Command + Sync) {
        thread::scope(|scope| {
            for lane in lanes {
                scope.spawn(|| lane.iter().for_each(|name| self.step(name, command(name))));
            }
        });
    }

    /// Runs a step: says that it begins, and prints its log when it has ended.
    fn step(&self, name: &str, command: Command) {
        let started = Instant::now();
        println!("begins: {name}");
        let has_failed = self.rows().iter().any(|row| row.passed == Some(false));
        let (passed, log) = match (self.keep_going || !has_failed).then(|| output(command)) {
            None => (None, String::new()),
            Some(Ok((passed, log))) => (Some(passed), log),
            Some(Err(error)) => (
                Some(false),
                format!("error: it cannot be started: {error}\n"),
            ),
        };
        let row = Row {
            name: name.to_owned(),
            seconds: started.elapsed().as_secs_f64(),
            passed,
            log,
        };
        let (log, outcome, seconds) = (&row.log, row.outcome(), row.seconds);
        let mut rows = self.rows();
        println!("\n=== {name}\n{log}--- {name}: {outcome}, {seconds:.1} s");
        rows.push(row);
    }

    fn rows(&self) -> MutexGuard<'_, Vec<Row>> {
        let rows = self.rows.lock();
        rows.expect("no step panics while it adds its row")
    }

    /// Whether no step was chosen.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows().is_empty()
    }

    /// Whether every step ran and passed.
    pub(crate) fn all_passed(&self) -> bool {
        self.rows().iter().all(|row| row.passed == Some(true))
    }
}

/// Whether a command succeeds, and what it prints, both streams in their order.
fn output(mut command: Command) -> io::Result<(bool, String)> {
    let mut output = tempfile::tempfile()?;
    command.stdin(Stdio::null());
    command
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    let status = command.status()?;
    let mut bytes = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut bytes)?;
    let mut log = String::from_utf8_lossy(&bytes).into_owned();
    // The summary repeats it.
    if !status.success() && !log.lines().any(|line| line.starts_with("error")) {
        log += &format!("error: it ended with {status}\n");
    }
    Ok((status.success(), log))
}

/// The summary: a line for each step, what was skipped, why steps failed, and the counts.
impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let line = |name: &str, seconds| format!("{name:<42}{seconds:>7.1} s");
        for row in &*rows {
            write!(f, "{}  {}", line(&row.name, row.seconds), row.outcome())?;
            let (passed, failed, skipped) =
                (row.count("passed"), row.count("failed"), row.skipped());
            if passed + failed > 0 {
                let skipped = skipped.len();
                write!(
                    f,
                    "; tests: {passed} passed, {failed} failed, {skipped} skipped"
                )?;
            }
            writeln!(f)?;
            for reason in skipped {
                writeln!(f, "    {reason}")?;
            }
        }
        writeln!(f, "{}", line("total", self.started.elapsed().as_secs_f64()))?;
        for row in &*rows {
            for error in row.errors() {
                writeln!(f, "failed: {}: {error}", row.name)?;
            }
        }
        let count = |passed| rows.iter().filter(|row| row.passed == passed).count();
        if count(None) > 0 {
            writeln!(f, "{} not run; --keep-going runs all steps", count(None))?;
        }
        let (passed, failed) = (count(Some(true)), count(Some(false)));
        write!(f, "steps: {passed} passed, {failed} failed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_summary_counts_tests_and_repeats_errors() {
        let row = |name: &str, passed, log: &str| Row {
            name: name.to_owned(),
            seconds: 1.5,
            passed,
            log: log.to_owned(),
        };
        let one = "test result: ok. 2 passed; 0 failed\nSKIPPED: no logs\n\
            test b ... ignored, long\ntest result: ok. 10 passed; 0 failed; 1 ignored";
        let nextest = "    SKIPPED: no tool\n     Summary [   1.234s] 9 tests run: 7 passed (1 slow), 2 failed, \
            0 skipped\n        FAIL [   0.003s] (1/9) core b";
        let rows = vec![
            row("one", Some(true), one),
            row("two", Some(false), "test a ... FAILED\nerror: no\nno error"),
            row("three", None, ""),
            row("four", Some(true), "UNCHANGED since it passed: core"),
            row("five", Some(false), nextest),
        ];
        let steps = Steps {
            rows: rows.into(),
            ..Steps::new(false)
        };
        let summary = steps.to_string();
        for part in [
            "1.5 s  passed; tests: 12 passed, 0 failed, 2 skipped\n    SKIPPED: no logs\n    test b ",
            "1.5 s  not run\n",
            "failed: two: test a ... FAILED\nfailed: two: error: no\n",
            "1.5 s  unchanged\n",
            "1.5 s  FAILED; tests: 7 passed, 2 failed, 1 skipped\n    SKIPPED: no tool\n",
            "failed: five:         FAIL [   0.003s] (1/9) core b\n1 not run;",
            "\nsteps: 2 passed, 2 failed",
        ] {
            assert!(summary.contains(part), "{part} is missing in {summary}");
        }
        assert!(!steps.all_passed());
    }

    #[test]
    fn a_failed_step_is_the_last_unless_all_are_to_run() {
        for (keep_going, expected) in [(false, ["FAILED", "not run"]), (true, ["FAILED", "passed"])]
        {
            let steps = Steps::new(keep_going);
            assert!(steps.is_empty());
            steps.run(&[vec!["echo error: a; echo b >&2; exit 3", "true"]], sh);
            let rows = steps.rows();
            assert_eq!([rows[0].outcome(), rows[1].outcome()], expected);
            assert_eq!(rows[0].log, "error: a\nb\n");
            assert_eq!(rows[0].errors().collect::<Vec<_>>(), ["error: a"]);
        }
    }

    #[test]
    fn lanes_run_at_the_same_time() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe").display().to_string();
        assert!(sh(&format!("mkfifo {pipe}")).status().unwrap().success());
        // Neither end opens before the other.
        let ends = ["echo >", "cat <"].map(|end| format!("timeout 60 sh -c '{end} {pipe}'"));
        let steps = Steps::new(false);
        steps.run(&[vec![&*ends[0]], vec![&*ends[1]]], sh);
        assert!(steps.all_passed(), "{steps}");
    }
}
