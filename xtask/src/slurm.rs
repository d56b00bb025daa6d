//! `cargo xtask slurm`: a sweep as a job array on a real Slurm, with tasks killed on the way.
//!
//! munged, slurmctld and slurmd run on loopback, in a temporary folder, as children of this
//! process, on ports that are free. Of the machine they use nothing but the installed programs.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

use crate::setup;
use crate::shell::{root, succeeds, target_dir, wait};

const TASKS: u32 = 16;
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

/// One node on loopback with four processors, whatever the machine has, without accounting and
/// without control groups.
const CONFIGURATION: &str = "\
ClusterName=meshalloc
SlurmctldHost=HOST(127.0.0.1)
SlurmUser=USER
SlurmdUser=USER
SlurmctldPort=PORT_ONE
SlurmdPort=PORT_TWO
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket=FOLDER/munge/socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=FOLDER/state
SlurmdSpoolDir=FOLDER/spool
SlurmctldPidFile=FOLDER/slurmctld.pid
SlurmdPidFile=FOLDER/slurmd.pid
SlurmctldLogFile=FOLDER/slurmctld.log
SlurmdLogFile=FOLDER/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
ReturnToService=2
BatchStartTimeout=3
MailProg=/bin/true
NodeName=HOST NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=HOST Default=YES MaxTime=INFINITE State=UP
";

/// Runs the array and compares its results with those of one machine.
///
/// # Errors
///
/// When Slurm does not start, the array does not end, or a file differs.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    // Some of them answer no question without a configuration.
    let programs = "type munged mungekey slurmctld slurmd sbatch scontrol sinfo scancel";
    let are_there = || succeeds(cmd!(sh, "sh -c {programs}"));
    if let Err(reason) = setup::packages(sh, "slurm-wlm munge", are_there) {
        println!("SKIPPED: {reason:#}");
        return Ok(());
    }
    cmd!(sh, "cargo build --package meshalloc-host-sim").run()?;
    let program = root().join(target_dir()).join("debug/host-sim");
    let folder = tempfile::Builder::new()
        .prefix("meshalloc-slurm-")
        .tempdir()?;
    let (alone, array) = (folder.path().join("alone"), folder.path().join("array"));
    let file = folder.path().join("grid.toml");
    fs::write(&file, SWEEP)?;
    cmd!(sh, "{program} sweep --threads 1 {file} --output {alone}").run()?;

    let mut cluster = Cluster::start(sh, folder.path())?;
    let tasks = TASKS.to_string();
    let submit = cmd!(
        sh,
        "{program} slurm --submit --tasks {tasks} {file} --output {array}"
    );
    let submitted = submit.read()?;
    println!("{submitted}");
    let job = |kind: &str| -> Result<&str> {
        let begin = format!("{kind}: job ");
        let line = submitted.lines().find_map(|line| line.strip_prefix(&begin));
        line.and_then(|line| line.split(',').next())
            .context("no job was submitted")
    };
    let (tasks, merge) = (job("array")?, job("merge")?);
    let ended = kill_two(&mut cluster, &array).and_then(|()| {
        wait("the merge has ended", PATIENCE, || has_ended(sh, merge))?;
        let shown = cmd!(sh, "scontrol --oneliner show job {tasks}").read()?;
        let restarts = shown
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("Restarts="));
        let restarts = restarts.filter(|&count| count != "0").count();
        ensure!(restarts == 2, "{restarts} tasks were requeued (expected 2)");
        for name in ["results.csv", "results.json", "points.jsonl"] {
            let [alone, array] = [&alone, &array].map(|folder| fs::read(folder.join(name)));
            let is_same = alone.context(name)? == array.context(name)?;
            ensure!(is_same, "{name} differs from that of one machine");
        }
        Ok(())
    });
    if ended.is_err() {
        for path in sh.read_dir(&array)? {
            if path.extension().is_some_and(|extension| extension == "log") {
                println!("--- {}\n{}", path.display(), fs::read_to_string(&path)?);
            }
        }
        // The array may have ended; then there is nothing to be removed.
        succeeds(cmd!(sh, "scancel {tasks} {merge}"));
        thread::sleep(Duration::from_secs(3));
    }
    ended?;
    println!("{TASKS} tasks, 2 of them killed and requeued: the results are those of one machine");
    Ok(())
}

/// Kills the process of one task, and a second task whole, as if its node had failed, each after it
/// has completed a point.
fn kill_two(cluster: &mut Cluster<'_>, array: &Path) -> Result<()> {
    let sh = cluster.sh;
    let kill = |processes: &[String]| cmd!(sh, "kill -9 {processes...}").run();
    let (first, process) = running(array, None)?;
    println!("killing the process of task {first}");
    kill(&[process])?;
    let (second, process) = running(array, Some(first))?;
    let script = parent(&process)?;
    let supervisor = parent(&script)?;
    println!("killing task {second}, its script and its supervisor, and restarting slurmd");
    kill(&[supervisor, script, process])?;
    // The controller takes a job for lost whose node does not report it, but only so long after its
    // start: `BatchStartTimeout` and `MessageTimeout`.
    thread::sleep(Duration::from_secs(16));
    cluster.restart_node()
}

/// A task that has completed a point and has not ended: its number, and the number of its process.
fn running(array: &Path, other: Option<u32>) -> Result<(u32, String)> {
    wait("a task has completed its first point", PATIENCE, || {
        let mut tasks = (1..=TASKS).filter(|&task| Some(task) != other);
        Ok(tasks.find_map(|task| {
            let journal = array.join(format!("points.{task}-of-{TASKS}.jsonl"));
            let lines = fs::read_to_string(journal).ok()?.matches('\n').count();
            let process = process_of(array, task)?;
            (lines == 2).then_some((task, process))
        }))
    })
}

/// The process that computes a shard.
fn process_of(array: &Path, task: u32) -> Option<String> {
    let (array, shards, shard) = (array.to_str()?, TASKS.to_string(), task.to_string());
    let words = [
        "--output",
        array,
        "--shards",
        &shards,
        "--shard",
        &shard,
        "--threads",
    ];
    let wanted = words.join("\0");
    let processes = fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()));
    let mut own = processes.filter(|process| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&wanted)
    });
    Some(own.next()?.file_name()?.to_str()?.to_owned())
}

/// The process that started another.
fn parent(process: &str) -> Result<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    Ok(line
        .context("a process without a parent")?
        .trim()
        .to_owned())
}

/// Whether a job has ended well.
fn has_ended(sh: &Shell, job: &str) -> Result<Option<()>> {
    let shown = cmd!(sh, "scontrol --oneliner show job {job}").read()?;
    let state = shown
        .split_whitespace()
        .find_map(|word| word.strip_prefix("JobState="));
    match state.context("a job without a state")? {
        "COMPLETED" => Ok(Some(())),
        "PENDING" | "RUNNING" | "COMPLETING" | "CONFIGURING" => Ok(None),
        other => bail!("the merge is {other}"),
    }
}

/// A process that ends with its owner.
struct Daemon(Child);

impl Daemon {
    fn start(program: &str, arguments: &[&str]) -> Result<Self> {
        println!("$ {program} {}", arguments.join(" "));
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Daemon(command.spawn().context(program.to_owned())?))
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
struct Cluster<'s> {
    sh: &'s Shell,
    configuration: PathBuf,
    node: Option<Daemon>,
    _others: [Daemon; 2],
}

impl<'s> Cluster<'s> {
    /// Starts it. The commands of Slurm that this shell runs are for this cluster then.
    fn start(sh: &'s Shell, folder: &Path) -> Result<Self> {
        for name in ["munge", "state", "spool"] {
            fs::create_dir(folder.join(name))?;
        }
        // Authentication for this cluster only, with a key of its own.
        let munge = folder.join("munge").display().to_string();
        cmd!(sh, "mungekey --create --keyfile {munge}/key").run()?;
        let files = [
            "key-file=KEY/key",
            "socket=KEY/socket",
            "pid-file=KEY/pid",
            "seed-file=KEY/seed",
        ];
        let files = files.map(|file| format!("--{}", file.replace("KEY", &munge)));
        let mut arguments = vec!["--foreground", "--force"];
        arguments.extend(files.iter().map(String::as_str));
        let munged = Daemon::start("munged", &arguments)?;
        let socket = folder.join("munge/socket");
        wait("munged has its socket", PATIENCE, || {
            Ok(socket.exists().then_some(()))
        })?;

        // Both at once, so that they differ.
        let free = [
            TcpListener::bind("127.0.0.1:0")?,
            TcpListener::bind("127.0.0.1:0")?,
        ];
        let configuration = folder.join("slurm.conf");
        let text = CONFIGURATION
            .replace("HOST", &cmd!(sh, "hostname -s").read()?)
            .replace("USER", &cmd!(sh, "id -un").read()?)
            .replace("FOLDER", &folder.display().to_string())
            .replace("PORT_ONE", &free[0].local_addr()?.port().to_string())
            .replace("PORT_TWO", &free[1].local_addr()?.port().to_string());
        fs::write(&configuration, text)?;
        drop(free);
        sh.set_var("SLURM_CONF", &configuration);
        let file = configuration.display().to_string();
        let controller = Daemon::start("slurmctld", &["-D", "-f", &file])?;
        let _others = [controller, munged];
        let mut cluster = Cluster {
            sh,
            configuration,
            node: None,
            _others,
        };
        let shows = |line: &str, state: &str| {
            let words = line.split(' ');
            let shown = cmd!(sh, "env {words...}").quiet().ignore_stderr().read();
            Ok(shown.is_ok_and(|shown| shown.contains(state)).then_some(()))
        };
        wait("slurmctld answers", PATIENCE, || {
            shows("scontrol ping", "is UP")
        })?;
        cluster.restart_node()?;
        wait("the node is ready", PATIENCE, || {
            shows("sinfo -h -o %T", "idle")
        })?;
        Ok(cluster)
    }

    /// Starts slurmd, after it was ended if it runs.
    fn restart_node(&mut self) -> Result<()> {
        self.node = None;
        let file = self.configuration.display().to_string();
        self.node = Some(Daemon::start("slurmd", &["-D", "-f", &file])?);
        Ok(())
    }
}
