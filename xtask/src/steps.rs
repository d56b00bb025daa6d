//! One step after another: a heading, a time and an outcome each, and a summary at the end.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::command::Cmd;

/// What a step may do beside failing: run commands and count their tests.
#[derive(Debug, Default)]
pub(crate) struct Step {
    tests: Tests,
}

impl Step {
    /// Runs a command.
    pub(crate) fn run(&mut self, command: &Cmd) -> Result<()> {
        command.run()
    }

    /// Runs a command that runs tests, and counts them.
    pub(crate) fn run_tests(&mut self, command: &Cmd) -> Result<()> {
        command.run_watched(|line| self.tests.read(line))
    }
}

/// The tests of a step, as the test harness counts them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tests {
    passed: u32,
    failed: u32,
    /// Tests that did not run, or not in full, each with its reason.
    skipped: Vec<String>,
    /// Whose output the harness shows at the moment.
    current: String,
}

impl Tests {
    /// Takes what is to be known from one line of output.
    ///
    /// A test that leaves something out prints a line that begins with `SKIPPED`, which the harness shows
    /// under the test's name with `--show-output`. A test that the harness leaves out it calls ignored.
    fn read(&mut self, line: &str) {
        let line = line.trim();
        if let Some(counts) = line.strip_prefix("test result: ") {
            let count = |name: &str| -> u32 {
                counts
                    .split(['.', ';'])
                    .filter_map(|part| part.trim().strip_suffix(name)?.trim().parse::<u32>().ok())
                    .sum()
            };
            self.passed += count("passed");
            self.failed += count("failed");
            self.current.clear();
        } else if let Some(name) = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            name.clone_into(&mut self.current);
        } else if line.starts_with("SKIPPED") {
            self.skipped.push(format!("{}: {line}", self.current));
        } else if let Some((name, reason)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.split_once(" ... ignored"))
        {
            self.skipped.push(format!("{name}: ignored{reason}"));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    NotRun,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
            Outcome::NotRun => "not run",
        })
    }
}

#[derive(Debug)]
struct Row {
    name: &'static str,
    outcome: Outcome,
    time: Duration,
    tests: Tests,
}

impl Row {
    fn not_run(name: &'static str) -> Self {
        Row {
            name,
            outcome: Outcome::NotRun,
            time: Duration::ZERO,
            tests: Tests::default(),
        }
    }
}

/// The steps so far.
#[derive(Debug)]
pub(crate) struct Steps {
    keep_going: bool,
    rows: Vec<Row>,
}

impl Steps {
    /// No step yet. After a failed one the others run only if `keep_going`.
    pub(crate) fn new(keep_going: bool) -> Self {
        Steps {
            keep_going,
            rows: Vec::new(),
        }
    }

    /// Runs one step, unless an earlier failure forbids it.
    pub(crate) fn step(&mut self, name: &'static str, body: impl FnOnce(&mut Step) -> Result<()>) {
        let mut row = Row::not_run(name);
        if self.goes_on() {
            println!("\n=== {name}");
            let started = Instant::now();
            let mut step = Step::default();
            let result = body(&mut step);
            row.time = started.elapsed();
            row.tests = step.tests;
            row.outcome = match result {
                Ok(()) => Outcome::Passed,
                Err(error) => {
                    println!("error: step \"{name}\": {error:#}");
                    Outcome::Failed
                }
            };
            println!(
                "--- {name}: {}, {:.1} s",
                row.outcome,
                row.time.as_secs_f64()
            );
        }
        self.rows.push(row);
    }

    /// Whether the next step may run.
    fn goes_on(&self) -> bool {
        self.keep_going || self.count(Outcome::Failed) == 0
    }

    /// Whether every step ran and passed.
    pub(crate) fn all_passed(&self) -> bool {
        self.count(Outcome::Passed) == self.rows.len()
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.rows
            .iter()
            .filter(|row| row.outcome == outcome)
            .count()
    }
}

/// The summary: a line a step, what was skipped, and the counts.
impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .rows
            .iter()
            .map(|row| row.name.len())
            .max()
            .unwrap_or(0);
        let seconds = |time: Duration| format!("{:>7.1} s", time.as_secs_f64());
        for row in &self.rows {
            write!(
                f,
                "{:width$}  {}  {}",
                row.name,
                seconds(row.time),
                row.outcome
            )?;
            let Tests {
                passed,
                failed,
                skipped,
                ..
            } = &row.tests;
            if passed + failed > 0 {
                write!(
                    f,
                    "; tests: {passed} passed, {failed} failed, {} skipped",
                    skipped.len()
                )?;
            }
            writeln!(f)?;
            for reason in skipped {
                writeln!(f, "{:width$}    {reason}", "")?;
            }
        }
        writeln!(
            f,
            "{:width$}  {}",
            "total",
            seconds(self.rows.iter().map(|row| row.time).sum())
        )?;
        let not_run = self.count(Outcome::NotRun);
        if not_run > 0 {
            writeln!(
                f,
                "{not_run} not run after the first failure; --keep-going runs them"
            )?;
        }
        let (passed, failed) = (self.count(Outcome::Passed), self.count(Outcome::Failed));
        write!(f, "steps: {passed} passed, {failed} failed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_over_several_harnesses() {
        let mut tests = Tests::default();
        for line in [
            "running 3 tests",
            "test a ... ok",
            "test b ... ignored, needs a board",
            "---- a stdout ----",
            "SKIPPED: MESHALLOC_TRACES is unset",
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s",
            "test result: FAILED. 10 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.25s",
        ] {
            tests.read(line);
        }
        assert_eq!((tests.passed, tests.failed), (12, 1));
        assert_eq!(
            tests.skipped,
            [
                "b: ignored, needs a board",
                "a: SKIPPED: MESHALLOC_TRACES is unset"
            ]
        );
    }

    fn steps(keep_going: bool, outcomes: &[Outcome]) -> Steps {
        let mut steps = Steps::new(keep_going);
        steps.rows.extend(outcomes.iter().map(|&outcome| Row {
            outcome,
            time: Duration::from_millis(1500),
            ..Row::not_run("a step")
        }));
        steps
    }

    #[test]
    fn the_first_failure_stops_unless_asked_to_go_on() {
        use Outcome::{Failed, Passed};
        assert!(steps(false, &[Passed, Passed]).goes_on());
        assert!(!steps(false, &[Passed, Failed]).goes_on());
        assert!(steps(true, &[Passed, Failed]).goes_on());
    }

    #[test]
    fn only_steps_that_all_ran_and_passed_are_a_success() {
        use Outcome::{Failed, NotRun, Passed};
        assert!(steps(false, &[Passed, Passed]).all_passed());
        assert!(!steps(true, &[Passed, Failed, Passed]).all_passed());
        assert!(!steps(false, &[Passed, NotRun]).all_passed());
    }

    #[test]
    fn the_summary_ends_with_the_counts() {
        use Outcome::{Failed, NotRun, Passed};
        let mut steps = steps(false, &[Passed, Failed, NotRun]);
        steps.rows[0].tests = Tests {
            passed: 7,
            skipped: vec!["no logs".to_owned()],
            ..Tests::default()
        };
        assert_eq!(
            steps.to_string(),
            "a step      1.5 s  passed; tests: 7 passed, 0 failed, 1 skipped\n\
            \x20         no logs\n\
             a step      1.5 s  FAILED\n\
             a step      1.5 s  not run\n\
             total       4.5 s\n\
             1 not run after the first failure; --keep-going runs them\n\
             steps: 1 passed, 1 failed"
        );
    }
}
