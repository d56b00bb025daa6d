//! Starts the program and keeps what came out.

use std::ffi::OsStr;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How a run of the program ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ended {
            code,
            stdout,
            stderr,
        } = self;
        write!(
            f,
            "exit code {code:?}\n--- stdout\n{stdout}--- stderr\n{stderr}"
        )
    }
}

impl Ended {
    /// What it printed, when all went well and standard error has nothing but progress, which runs
    /// of 30 seconds and more report.
    pub(crate) fn good(self) -> String {
        let is_progress = |line: &str| line.contains(" of ") && line.contains(" %");
        let is_quiet = self.stderr.lines().all(is_progress);
        assert!(self.code == Some(0) && is_quiet, "{self}");
        self.stdout
    }

    /// The JSON it printed.
    pub(crate) fn json(self) -> serde_json::Value {
        let text = self.good();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }
}

/// Runs the program in this folder, with arguments that may have blanks.
pub(crate) fn host_sim_of<A: AsRef<OsStr>>(folder: &Path, arguments: &[A]) -> Ended {
    let mut command = command(folder, "");
    ended(command.args(arguments), "")
}

/// The program, to be started in `folder`.
pub(crate) fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host-sim"));
    command.current_dir(folder).args(line.split_whitespace());
    command
}

/// Waits until the program has computed for so long that its runs are under way, however busy the
/// machine is.
#[cfg(unix)]
pub(crate) fn wait_for_runs(process: u32) {
    const COMPUTED: u32 = 30;
    let path = format!("/proc/{process}/stat");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        // A system that does not say what a process computes.
        let Ok(stat) = std::fs::read_to_string(&path) else {
            thread::sleep(Duration::from_secs(3));
            return;
        };
        // The first field that is counted behind the name is the third; 14 and 15 are hundredths of
        // a second.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let times = fields.split_whitespace().skip(11).take(2);
        if times.map(|time| time.parse::<u32>().unwrap()).sum::<u32>() >= COMPUTED {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("process {process} does not compute");
}

/// Sends a signal, such as `-INT`.
pub(crate) fn kill(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    let kill = kill.args([signal, &process.to_string()]).status();
    assert!(kill.unwrap().success());
}

/// Runs the program; the words of `line` are its arguments.
pub(crate) fn host_sim(line: &str) -> Ended {
    host_sim_in(Path::new("."), line)
}

/// The same, in this folder.
pub(crate) fn host_sim_in(folder: &Path, line: &str) -> Ended {
    host_sim_fed(folder, line, "")
}

/// The same, with this on standard input.
pub(crate) fn host_sim_fed(folder: &Path, line: &str, input: &str) -> Ended {
    ended(&mut command(folder, line), input)
}

fn ended(command: &mut Command, input: &str) -> Ended {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            // A program that stops early does not read everything.
            let _ = stdin.write_all(input.as_bytes());
        });
        child.wait_with_output().unwrap()
    });
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A test leaves out a part for this reason, in the form that `cargo xtask test` counts and
/// repeats.
pub(crate) fn skipped(reason: impl fmt::Display) {
    println!("SKIPPED: {reason}");
}

/// The name of the log of the KTH SP2.
pub(crate) const KTH: &str = "KTH-SP2-1996-2.1-cln.swf.gz";

/// Makes a folder with a log of that name, which is not the real one: three weeks of 40 jobs.
pub(crate) fn write_kth(folder: &Path) {
    let job = |number: u64| {
        let submit = (number / 40) * 604_800 + (number % 40) * 15_000 + number % 7;
        let (run, size) = (2_000 + number * 7_919 % 20_000, 1 + number * 31 % 20);
        format!(
            "{number} {submit} -1 {run} {size} -1 -1 {size} {} -1 1 1 1 -1 -1 1 -1 -1\n",
            2 * run
        )
    };
    let log: String = (0..121).map(job).collect();
    std::fs::create_dir(folder).unwrap();
    std::fs::write(folder.join(KTH), log).unwrap();
}
