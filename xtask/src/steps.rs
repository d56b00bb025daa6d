//! Steps one after another, and lanes of steps at the same time: what each prints, its time and its
//! outcome, and a summary at the end.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::io::{Read as _, Seek as _};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use xshell::{Cmd, Shell};

use crate::shell::shell;

/// A step: its name, and what it does.
pub(crate) type Step = (&'static str, fn(&Shell, &Log) -> Result<()>);

/// The lines of a failed step that the summary repeats, at most.
const ERRORS: usize = 20;

/// What a step has printed.
#[derive(Debug, Default)]
pub(crate) struct Log(RefCell<String>);

impl Log {
    /// Runs a command and keeps its output, both streams in their order.
    pub(crate) fn run(&self, command: Cmd<'_>) -> Result<()> {
        self.line(&format!("$ {command}"));
        let name = command.to_string();
        let mut output = tempfile::tempfile()?;
        let status = Command::from(command)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .status()?;
        output.rewind()?;
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes)?;
        self.line(String::from_utf8_lossy(&bytes).trim_end());
        ensure!(status.success(), "`{name}` failed: {status}");
        Ok(())
    }

    /// Counts the step as a skipped test, for this reason.
    pub(crate) fn skip(&self, reason: &str) {
        self.line(&format!("SKIPPED: {reason}"));
    }

    fn line(&self, line: &str) {
        writeln!(self.0.borrow_mut(), "{line}").expect("a string takes any text");
    }
}

/// A step that has ended, or was left out after a failure.
#[derive(Debug)]
struct Row {
    name: &'static str,
    time: Duration,
    /// `None` if it did not run.
    result: Option<Result<()>>,
    log: String,
}

impl Row {
    fn outcome(&self) -> &'static str {
        match &self.result {
            Some(Ok(())) => "passed",
            Some(Err(_)) => "FAILED",
            None => "not run",
        }
    }

    /// The number before this word in the results of all programs of tests, such as `passed`.
    fn count(&self, word: &str) -> u32 {
        let results = self
            .log
            .lines()
            .filter(|line| line.starts_with("test result: "));
        let parts = results.flat_map(|line| line.split(['.', ';']));
        let counts =
            parts.filter_map(|part| part.trim().strip_suffix(word)?.trim().parse::<u32>().ok());
        counts.sum()
    }

    /// The lines by which tests report that they did not run, or not in full.
    fn skipped(&self) -> Vec<&str> {
        let is_skipped = |line: &&str| {
            line.starts_with("SKIPPED")
                || line.starts_with("test ") && line.contains(" ... ignored")
        };
        self.log.lines().filter(is_skipped).collect()
    }

    /// Why it failed: errors, and the names of failed tests.
    fn errors(&self) -> Vec<String> {
        let Some(Err(error)) = &self.result else {
            return Vec::new();
        };
        let is_error = |line: &&str| line.starts_with("error") || line.ends_with(" ... FAILED");
        let lines = self.log.lines().filter(is_error).take(ERRORS);
        lines
            .map(str::to_owned)
            .chain([format!("{error:#}")])
            .collect()
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

    /// Runs lanes at the same time, and the steps of each one after another.
    pub(crate) fn run(&self, lanes: &[&[Step]]) {
        thread::scope(|scope| {
            for lane in lanes {
                scope.spawn(move || lane.iter().for_each(|step| self.step(step)));
            }
        });
    }

    /// Runs a step, and prints its log when it has ended.
    fn step(&self, &(name, body): &Step) {
        let (log, started) = (Log::default(), Instant::now());
        let runs = self.keep_going || !self.has(|row| matches!(row.result, Some(Err(_))));
        let row = Row {
            name,
            result: runs.then(|| shell().and_then(|sh| body(&sh, &log))),
            time: started.elapsed(),
            log: log.0.into_inner(),
        };
        let mut rows = self
            .rows
            .lock()
            .expect("no step panics while it adds its row");
        let (log, outcome, time) = (&row.log, row.outcome(), row.time.as_secs_f64());
        println!("\n=== {name}\n{log}--- {name}: {outcome}, {time:.1} s");
        rows.push(row);
    }

    fn has(&self, wanted: impl Fn(&Row) -> bool) -> bool {
        let rows = self
            .rows
            .lock()
            .expect("no step panics while it adds its row");
        rows.iter().any(wanted)
    }

    /// Whether every step ran and passed, and there was one.
    pub(crate) fn all_passed(&self) -> bool {
        self.has(|_| true) && !self.has(|row| !matches!(row.result, Some(Ok(()))))
    }
}

/// The summary: a line for each step, what was skipped, why steps failed, and the counts.
impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self
            .rows
            .lock()
            .expect("no step panics while it adds its row");
        for row in &*rows {
            let (outcome, time) = (row.outcome(), row.time.as_secs_f64());
            write!(f, "{:<42}{time:>7.1} s  {outcome}", row.name)?;
            let (passed, failed) = (row.count("passed"), row.count("failed"));
            if passed + failed > 0 {
                write!(
                    f,
                    "; tests: {passed} passed, {failed} failed, {} skipped",
                    row.skipped().len()
                )?;
            }
            writeln!(f)?;
            for reason in row.skipped() {
                writeln!(f, "    {reason}")?;
            }
        }
        writeln!(
            f,
            "{:<42}{:>7.1} s",
            "total",
            self.started.elapsed().as_secs_f64()
        )?;
        for row in &*rows {
            for error in row.errors() {
                writeln!(f, "failed: {}: {error}", row.name)?;
            }
        }
        let count = |outcome| rows.iter().filter(|row| row.outcome() == outcome).count();
        match count("not run") {
            0 => {}
            left_out => writeln!(f, "{left_out} not run; --keep-going runs all steps")?,
        }
        write!(
            f,
            "steps: {} passed, {} failed",
            count("passed"),
            count("FAILED")
        )
    }
}

#[cfg(test)]
mod tests {
    use xshell::cmd;

    use super::*;

    #[test]
    fn the_summary_counts_tests_and_repeats_errors() {
        let row = |name, result: Option<Result<()>>, log: &str| Row {
            name,
            time: Duration::from_millis(1500),
            result,
            log: log.to_owned(),
        };
        let failed = Some(Err(anyhow::anyhow!("why")));
        let rows = vec![
            row(
                "one",
                Some(Ok(())),
                "test result: ok. 2 passed; 0 failed\nSKIPPED: no logs\n\
                test b ... ignored, long\ntest result: ok. 10 passed; 0 failed; 1 ignored",
            ),
            row("two", failed, "test a ... FAILED\nerror: no\nno error"),
            row("three", None, ""),
        ];
        let steps = Steps {
            rows: rows.into(),
            ..Steps::new(false)
        };
        let summary = steps.to_string();
        for part in [
            "1.5 s  passed; tests: 12 passed, 0 failed, 2 skipped\n    SKIPPED: no logs\n    test b ",
            "1.5 s  not run\n",
            "failed: two: test a ... FAILED\nfailed: two: error: no\nfailed: two: why\n1 not run;",
            "\nsteps: 1 passed, 1 failed",
        ] {
            assert!(summary.contains(part), "{part} is missing in {summary}");
        }
        assert!(!steps.all_passed());
    }

    #[test]
    fn a_failed_command_ends_its_lane_unless_all_are_to_run() {
        for (keep_going, expected) in [(false, ["FAILED", "not run"]), (true, ["FAILED", "passed"])]
        {
            let steps = Steps::new(keep_going);
            let prints: Step = ("prints", |sh, log| {
                log.run(cmd!(sh, "sh -c 'echo a; echo b >&2; exit 3'"))
            });
            steps.run(&[&[prints, ("ends", |_, _| Ok(()))]]);
            let rows = steps.rows.into_inner().unwrap();
            assert_eq!([rows[0].outcome(), rows[1].outcome()], expected);
            assert!(rows[0].log.ends_with("\na\nb\n"), "{}", rows[0].log);
            assert!(rows[0].errors()[0].ends_with("exit status: 3"));
        }
    }

    #[test]
    fn lanes_run_at_the_same_time() {
        static BOTH: std::sync::Barrier = std::sync::Barrier::new(2);
        let meets: Step = ("meets the other", |_, _| {
            BOTH.wait();
            Ok(())
        });
        let steps = Steps::new(false);
        assert!(!steps.all_passed());
        steps.run(&[&[meets], &[meets]]);
        assert!(steps.all_passed());
    }
}
