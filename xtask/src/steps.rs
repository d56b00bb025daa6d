//! One step after another, or several lanes of steps at the same time: a heading, a time and an
//! outcome each, and a summary at the end.

use std::fmt::{self, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::command::Cmd;

/// The lines of a failed step that the summary has once more, at most.
const ERRORS: usize = 20;

/// A step while it runs.
#[derive(Debug, Default)]
pub(crate) struct Step {
    tests: Tests,
    /// Lines that begin with "error", and the names of failed tests.
    errors: Vec<String>,
    /// What was printed, where others print at the same time.
    kept: Option<String>,
}

impl Step {
    /// Runs a command, and counts its tests, if it runs some.
    pub(crate) fn run(&mut self, command: &Cmd) -> Result<()> {
        self.show(&format!("$ {command}"));
        command.run_watched(|line| {
            self.show(line);
            self.read(line);
        })
    }

    /// Counts the step as a skipped test, for this reason.
    pub(crate) fn skip(&mut self, reason: &str) {
        self.show(&format!("SKIPPED: {reason}"));
        self.tests.skipped.push(reason.to_owned());
    }

    /// Takes what the summary tells from one line of output.
    fn read(&mut self, line: &str) {
        self.tests.read(line);
        if line.starts_with("error") || names_failed_test(line) {
            self.errors.push(line.to_owned());
        }
    }

    fn show(&mut self, line: &str) {
        match &mut self.kept {
            Some(kept) => writeln!(kept, "{line}").expect("a string takes any text"),
            None => println!("{line}"),
        }
    }
}

/// Whether the test harness says in this line that a test has failed.
fn names_failed_test(line: &str) -> bool {
    line.starts_with("test ") && line.ends_with(" ... FAILED")
}

type Body<'a> = Box<dyn FnOnce(&mut Step) -> Result<()> + Send + 'a>;

/// Steps one after another, beside those of other lanes.
#[derive(Default)]
pub(crate) struct Lane<'a>(Vec<(&'static str, Body<'a>)>);

impl<'a> Lane<'a> {
    /// The lane with one more step.
    pub(crate) fn step(
        mut self,
        name: &'static str,
        body: impl FnOnce(&mut Step) -> Result<()> + Send + 'a,
    ) -> Self {
        self.0.push((name, Box::new(body)));
        self
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
    /// A test that leaves something out prints a line that begins with `SKIPPED`, which the harness
    /// shows under the test's name with `--show-output`. A test that the harness leaves out it
    /// calls ignored.
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
    /// Why it failed.
    errors: Vec<String>,
}

impl Row {
    fn not_run(name: &'static str) -> Self {
        Row {
            name,
            outcome: Outcome::NotRun,
            time: Duration::ZERO,
            tests: Tests::default(),
            errors: Vec::new(),
        }
    }
}

/// The steps so far.
#[derive(Debug)]
pub(crate) struct Steps {
    keep_going: bool,
    has_failed: AtomicBool,
    started: Instant,
    rows: Vec<Row>,
}

impl Steps {
    /// No step yet. After a failed one the others run only if `keep_going`.
    pub(crate) fn new(keep_going: bool) -> Self {
        Steps {
            keep_going,
            has_failed: AtomicBool::new(false),
            started: Instant::now(),
            rows: Vec::new(),
        }
    }

    /// Runs one step, unless an earlier failure forbids it.
    pub(crate) fn step(&mut self, name: &'static str, body: impl FnOnce(&mut Step) -> Result<()>) {
        let row = self.run(name, body, None);
        self.rows.push(row);
    }

    /// Runs the lanes at the same time. What a step prints is shown when it has ended.
    pub(crate) fn together<const N: usize>(&mut self, lanes: [Lane<'_>; N]) {
        let shown = Mutex::new(());
        let run = |Lane(steps): Lane<'_>| -> Vec<Row> {
            let rows = steps.into_iter();
            rows.map(|(name, body)| self.run(name, body, Some(&shown)))
                .collect()
        };
        let run = &run;
        let rows: Vec<Row> = thread::scope(|scope| {
            let lanes = lanes.map(|lane| scope.spawn(move || run(lane)));
            let rows = lanes.into_iter().flat_map(|lane| {
                lane.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            rows.collect()
        });
        self.rows.extend(rows);
    }

    /// Runs a step. With others beside it, it prints once, at its end, while it holds `alone`.
    fn run(
        &self,
        name: &'static str,
        body: impl FnOnce(&mut Step) -> Result<()>,
        alone: Option<&Mutex<()>>,
    ) -> Row {
        let mut row = Row::not_run(name);
        if !self.goes_on() {
            return row;
        }
        let mut step = Step {
            kept: alone.map(|_| String::new()),
            ..Step::default()
        };
        step.show(&format!("\n=== {name}"));
        let started = Instant::now();
        let result = body(&mut step);
        row.time = started.elapsed();
        row.outcome = match result {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                self.has_failed.store(true, Ordering::Relaxed);
                step.show(&format!("error: step \"{name}\": {error:#}"));
                step.errors.truncate(ERRORS);
                step.errors.push(format!("{error:#}"));
                row.errors = step.errors.clone();
                Outcome::Failed
            }
        };
        step.show(&format!(
            "--- {name}: {}, {:.1} s",
            row.outcome,
            row.time.as_secs_f64()
        ));
        if let Some(kept) = step.kept {
            let _alone = alone.map(Mutex::lock);
            print!("{kept}");
        }
        row.tests = step.tests;
        row
    }

    /// Whether the next step may run.
    fn goes_on(&self) -> bool {
        self.keep_going || !self.has_failed.load(Ordering::Relaxed)
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

/// The summary: a line a step, what was skipped, why steps failed, and the counts.
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
        writeln!(f, "{:width$}  {}", "total", seconds(self.started.elapsed()))?;
        for row in &self.rows {
            for error in &row.errors {
                writeln!(f, "failed: {}: {error}", row.name)?;
            }
        }
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
    use std::sync::Barrier;

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

    /// Steps that pass or fail.
    fn steps(keep_going: bool, pass: &[bool]) -> Steps {
        let mut steps = Steps::new(keep_going);
        for &passes in pass {
            steps.step("a step", |_| match passes {
                true => Ok(()),
                false => anyhow::bail!("it fails"),
            });
        }
        steps
    }

    #[test]
    fn the_first_failure_stops_unless_asked_to_go_on() {
        assert!(steps(false, &[true, true]).goes_on());
        assert!(!steps(false, &[true, false]).goes_on());
        assert!(steps(true, &[true, false]).goes_on());
    }

    #[test]
    fn only_steps_that_all_ran_and_passed_are_a_success() {
        assert!(steps(false, &[true, true]).all_passed());
        assert!(!steps(true, &[true, false, true]).all_passed());
        assert!(!steps(false, &[false, true]).all_passed());
    }

    #[test]
    fn lanes_run_at_the_same_time_and_a_failure_stops_each() {
        let both = Barrier::new(2);
        let meet = |_: &mut Step| {
            both.wait();
            Ok(())
        };
        let mut steps = Steps::new(false);
        let first = Lane::default().step("meets the other", meet);
        let second = Lane::default()
            .step("meets the first", meet)
            .step("fails", |_| anyhow::bail!("why"))
            .step("is left out", |_| Ok(()));
        steps.together([first, second]);
        let outcomes: Vec<_> = steps
            .rows
            .iter()
            .map(|row| (row.name, row.outcome))
            .collect();
        assert_eq!(
            outcomes,
            [
                ("meets the other", Outcome::Passed),
                ("meets the first", Outcome::Passed),
                ("fails", Outcome::Failed),
                ("is left out", Outcome::NotRun),
            ]
        );
        assert_eq!(steps.rows[2].errors, ["why"]);
    }

    #[test]
    fn a_failed_command_leaves_its_errors_and_failed_tests() {
        // Read and not run: the log of these tests is read for failed tests as well.
        let mut step = Step::default();
        for line in [
            "test a ... ok",
            "test a ... FAILED",
            "error: no",
            "no error",
        ] {
            step.read(line);
        }
        assert_eq!(step.errors, ["test a ... FAILED", "error: no"]);

        let mut steps = Steps::new(false);
        steps.together([Lane::default().step("a step", |step| step.run(&Cmd::new("false")))]);
        let errors = &steps.rows[0].errors;
        assert!(errors[0].ends_with("exit status: 1"), "{errors:?}");
        assert_eq!(errors.len(), 1);
    }

    #[test]
    fn the_summary_ends_with_the_errors_and_the_counts() {
        use Outcome::{Failed, NotRun, Passed};
        let mut steps = Steps::new(false);
        steps
            .rows
            .extend([Passed, Failed, NotRun].map(|outcome| Row {
                outcome,
                time: Duration::from_millis(1500),
                ..Row::not_run("a step")
            }));
        steps.rows[0].tests = Tests {
            passed: 7,
            skipped: vec!["no logs".to_owned()],
            ..Tests::default()
        };
        steps.rows[1].errors = vec!["it fails".to_owned()];
        assert_eq!(
            steps.to_string(),
            "a step      1.5 s  passed; tests: 7 passed, 0 failed, 1 skipped\n\
            \x20         no logs\n\
             a step      1.5 s  FAILED\n\
             a step      1.5 s  not run\n\
             total       0.0 s\n\
             failed: a step: it fails\n\
             1 not run after the first failure; --keep-going runs them\n\
             steps: 1 passed, 1 failed"
        );
    }
}
