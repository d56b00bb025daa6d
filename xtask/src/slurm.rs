//! `cargo xtask slurm`: a sweep as a job array on a real Slurm, with tasks killed on the way.
//!
//! munged, slurmctld and slurmd run on loopback, in a temporary folder, as children of this
//! process, on ports that are free. Of the machine they use nothing but the installed programs.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::command::{Cmd, target_dir};
use crate::setup;

const TASKS: u32 = 16;
/// The processors that the node is said to have: that many tasks run at once.
const CPUS: u32 = 4;
/// The longest that anything may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Three points a task, each of which takes long enough for the task to be killed on the way.
const SWEEP: &str = r#"
mesh = "32x32"
jobs = 20_000
replications = 3
[grid]
strategy = ["fsl", "as", "bl"]
load = [0.30, 0.35, 0.40, 0.45]
sizes = ["uniform", "exponential"]
seed = [1, 2, 3, 4, 5, 6]
"#;

/// Runs the array and compares its results with those of one machine.
///
/// # Errors
///
/// When Slurm does not start, the array does not end, or a file differs.
pub(crate) fn run() -> Result<()> {
    if let Err(reason) = setup::slurm() {
        println!("SKIPPED: {reason:#}");
        return Ok(());
    }
    Cmd::new("cargo build --package meshalloc-host-sim").run()?;
    let program = target_dir().join("debug/host-sim").display().to_string();
    let folder = tempfile::Builder::new()
        .prefix("meshalloc-slurm-")
        .tempdir()?;
    let (alone, array) = (folder.path().join("alone"), folder.path().join("array"));
    let file = folder.path().join("grid.toml");
    fs::write(&file, SWEEP)?;
    let host_sim = |command: &str, output: &Path| {
        let command = Cmd::new(&program).args(command);
        let command = command.arg(file.display().to_string()).arg("--output");
        command.arg(output.display().to_string())
    };
    host_sim("sweep --threads 1", &alone).run()?;

    let mut cluster = Cluster::start(folder.path())?;
    let submitted = host_sim(&format!("slurm --submit --tasks {TASKS}"), &array);
    let submitted = cluster.output(submitted)?;
    print!("{submitted}");
    let job = |kind: &str| -> Result<String> {
        let begin = format!("{kind}: job ");
        let line = submitted.lines().find_map(|line| line.strip_prefix(&begin));
        let digits = line.and_then(|line| line.split(',').next());
        Ok(digits.context("no job was submitted")?.to_owned())
    };
    let (tasks, merge) = (job("array")?, job("merge")?);
    let ended = kill_two(&mut cluster, &array).and_then(|()| {
        wait("the merge has ended", || cluster.has_ended(&merge))?;
        let restarts = cluster.restarts(&tasks)?;
        ensure!(restarts == 2, "{restarts} tasks were requeued (expected 2)");
        compare(&alone, &array)
    });
    if ended.is_err() {
        show_logs(&array)?;
        cluster.cancel(&[&tasks, &merge]);
    }
    ended?;
    println!(
        "{TASKS} tasks, 2 of them killed and requeued: the results are those of one machine, byte for byte"
    );
    Ok(())
}

/// Kills the process of one task, and a second task whole, as if its node had failed, each after it
/// has completed a point.
fn kill_two(cluster: &mut Cluster, array: &Path) -> Result<()> {
    let (first, process) = running(array, None)?;
    println!("killing the process of task {first}");
    kill(&[process])?;
    let (second, process) = running(array, Some(first))?;
    let script = parent(process)?;
    let supervisor = parent(script)?;
    println!("killing task {second}, its script and its supervisor, and restarting slurmd");
    kill(&[supervisor, script, process])?;
    // The controller takes a job for lost whose node does not report it, but only so long after its
    // start: `BatchStartTimeout` and `MessageTimeout`.
    thread::sleep(Duration::from_secs(16));
    cluster.restart_node()
}

/// A task that runs after another point has been completed: its number, and the number of its process.
fn running(array: &Path, other: Option<u32>) -> Result<(u32, u32)> {
    let points = || fs::read_dir(array.join("points")).map_or(0, Iterator::count);
    let known = points();
    let mut found = None;
    wait("a task has completed a point", || {
        found = (1..=TASKS)
            .filter(|&task| Some(task) != other)
            .find_map(|task| {
                let process = process_of(array, task)?;
                (points() > known).then_some((task, process))
            });
        Ok(found.is_some())
    })?;
    found.context("no task runs")
}

/// The process that computes a shard.
fn process_of(array: &Path, task: u32) -> Option<u32> {
    let words = [
        "--output",
        array.to_str()?,
        "--shard",
        &format!("{task}/{TASKS}"),
        "--threads",
    ]
    .map(str::to_owned);
    let wanted = words.join("\0");
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|number| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&wanted)
    })
}

/// The process that started another.
fn parent(process: u32) -> Result<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    Ok(line.context("a process without a parent")?.trim().parse()?)
}

fn kill(processes: &[u32]) -> Result<()> {
    let kill = processes.iter().fold(Cmd::new("kill -9"), |kill, process| {
        kill.arg(process.to_string())
    });
    kill.run()
}

/// Waits until something holds.
fn wait(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let begin = Instant::now();
    while !holds()? {
        ensure!(
            begin.elapsed() < PATIENCE,
            "after {} s still not: {what}",
            PATIENCE.as_secs()
        );
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn compare(alone: &Path, array: &Path) -> Result<()> {
    for name in ["results.csv", "results.json", "points.jsonl"] {
        let read = |folder: &Path| {
            fs::read(folder.join(name)).with_context(|| format!("{name} is missing"))
        };
        ensure!(
            read(alone)? == read(array)?,
            "{name} differs from that of one machine"
        );
    }
    Ok(())
}

/// What tasks and merge have printed.
fn show_logs(array: &Path) -> Result<()> {
    for entry in fs::read_dir(array)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            println!("--- {}\n{}", path.display(), fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// A process that ends with its owner.
struct Daemon(Child);

impl Daemon {
    fn start(command: &Cmd) -> Result<Self> {
        println!("$ {command}");
        let mut process = command.process();
        process.stdout(Stdio::null()).stderr(Stdio::null());
        let child = process.spawn();
        Ok(Daemon(
            child.with_context(|| format!("cannot start: {command}"))?,
        ))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // One that has ended by itself needs neither.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A Slurm of one node.
struct Cluster {
    configuration: PathBuf,
    node: Option<Daemon>,
    _controller: Daemon,
    _munge: Daemon,
}

impl Cluster {
    fn start(folder: &Path) -> Result<Self> {
        for name in ["munge", "state", "spool"] {
            fs::create_dir(folder.join(name))?;
        }
        let user = Cmd::new("id -un").output()?.trim().to_owned();
        let host = Cmd::new("hostname -s").output()?.trim().to_owned();
        let configuration = folder.join("slurm.conf");
        fs::write(&configuration, slurm_conf(folder, &user, &host)?)?;

        let munge = start_munge(&folder.join("munge"))?;
        let daemon = |name: &str| {
            Cmd::new(name)
                .args("-D -f")
                .arg(configuration.display().to_string())
        };
        let controller = Daemon::start(&daemon("slurmctld"))?;
        let mut cluster = Cluster {
            configuration: configuration.clone(),
            node: None,
            _controller: controller,
            _munge: munge,
        };
        wait("slurmctld answers", || {
            Ok(cluster
                .slurm("scontrol ping")
                .is_ok_and(|said| said.contains("is UP")))
        })?;
        cluster.restart_node()?;
        wait("the node is ready", || {
            Ok(cluster
                .slurm("sinfo -h -o %T")
                .is_ok_and(|said| said.contains("idle")))
        })?;
        Ok(cluster)
    }

    /// Starts slurmd, after it was ended if it runs.
    fn restart_node(&mut self) -> Result<()> {
        self.node = None;
        let slurmd = Cmd::new("slurmd -D -f").arg(self.configuration.display().to_string());
        self.node = Some(Daemon::start(&slurmd)?);
        Ok(())
    }

    /// What a command prints that is meant for this cluster.
    fn output(&self, command: Cmd) -> Result<String> {
        println!("$ {command}");
        command
            .env("SLURM_CONF", self.configuration.display().to_string())
            .output()
    }

    fn slurm(&self, line: &str) -> Result<String> {
        Cmd::new(line)
            .env("SLURM_CONF", self.configuration.display().to_string())
            .output()
    }

    fn has_ended(&self, job: &str) -> Result<bool> {
        let shown = self.slurm(&format!("scontrol --oneliner show job {job}"))?;
        let state = shown
            .split_whitespace()
            .find_map(|word| word.strip_prefix("JobState="));
        match state.context("a job without a state")? {
            "COMPLETED" => Ok(true),
            "PENDING" | "RUNNING" | "COMPLETING" | "CONFIGURING" => Ok(false),
            other => bail!("the merge is {other}"),
        }
    }

    /// How many tasks of an array were requeued.
    fn restarts(&self, array: &str) -> Result<usize> {
        let shown = self.slurm(&format!("scontrol --oneliner show job {array}"))?;
        let words = shown.split_whitespace();
        Ok(words
            .filter(|word| {
                word.strip_prefix("Restarts=")
                    .is_some_and(|count| count != "0")
            })
            .count())
    }

    fn cancel(&self, jobs: &[&str]) {
        // The array may have ended; then there is nothing to be removed.
        let _ = self.slurm(&format!("scancel {}", jobs.join(" ")));
        thread::sleep(Duration::from_secs(3));
    }
}

/// Authentication for this cluster only, with a key of its own.
fn start_munge(folder: &Path) -> Result<Daemon> {
    let key = folder.join("key");
    Cmd::new("mungekey --create --keyfile")
        .arg(key.display().to_string())
        .run()?;
    let path = |option: &str, name: &str| format!("--{option}={}", folder.join(name).display());
    let munged = Cmd::new("munged --foreground --force")
        .arg(path("key-file", "key"))
        .arg(path("socket", "socket"))
        .arg(path("pid-file", "pid"))
        .arg(path("seed-file", "seed"));
    let munge = Daemon::start(&munged)?;
    let socket = folder.join("socket");
    wait("munged has its socket", || Ok(socket.exists()))?;
    Ok(munge)
}

/// One node on loopback, which has as many processors as we say, without accounting and without
/// control groups.
fn slurm_conf(folder: &Path, user: &str, host: &str) -> Result<String> {
    let folder = folder.display();
    // Both at once, so that they differ.
    let free = [
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
    ];
    let [controller, node] = [free[0].local_addr()?.port(), free[1].local_addr()?.port()];
    Ok(format!(
        "ClusterName=meshalloc\n\
         SlurmctldHost={host}(127.0.0.1)\n\
         SlurmUser={user}\n\
         SlurmdUser={user}\n\
         SlurmctldPort={controller}\n\
         SlurmdPort={node}\n\
         CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={folder}/munge/socket,cred_expire=5\n\
         CryptoType=crypto/munge\n\
         StateSaveLocation={folder}/state\n\
         SlurmdSpoolDir={folder}/spool\n\
         SlurmctldPidFile={folder}/slurmctld.pid\n\
         SlurmdPidFile={folder}/slurmd.pid\n\
         SlurmctldLogFile={folder}/slurmctld.log\n\
         SlurmdLogFile={folder}/slurmd.log\n\
         ProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\n\
         SwitchType=switch/none\n\
         MpiDefault=none\n\
         SelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\n\
         AccountingStorageType=accounting_storage/none\n\
         JobAcctGatherType=jobacct_gather/none\n\
         SlurmdParameters=config_overrides\n\
         ReturnToService=2\n\
         BatchStartTimeout=3\n\
         MailProg=/bin/true\n\
         NodeName={host} NodeAddr=127.0.0.1 CPUs={CPUS} RealMemory=1000 State=UNKNOWN\n\
         PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP\n"
    ))
}
