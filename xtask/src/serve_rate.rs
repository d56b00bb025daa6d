//! `cargo xtask serve-rate`: changes a second of `host-sim serve`, and of `spalloc_server`, the
//! server of SpiNNaker machines.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use meshalloc::{Answer, Change, JobId, JobState, Query, Request};
use meshalloc_firmware::{Client, IoLine, Options};
use serde_json::{Value, json};

use crate::board::{free_port, reachable};
use crate::python;
use crate::shell::{root, run, shell, target_dir};

/// So many clients work at the same time.
const CLIENTS: [u32; 2] = [1, 64];
/// The runs of each server.
const TURNS: usize = 3;
/// How long clients work in a run.
const TIME: Duration = Duration::from_secs(5);
const FILES: &str = "xtask/serve-rate";
/// Where `machine.py` has the controller of its boards. spalloc_server knows no other port.
const BOARDS: &str = "127.0.0.1:17893";

/// Prints the least and the most changes a second of each server. The servers run in turn, each
/// time new ones.
pub(crate) fn run() -> Result<()> {
    let packages = format!("{FILES}/requirements.txt");
    let Some(python) = python::environment("spalloc", &packages)? else {
        return Ok(());
    };
    run!("cargo build --release --bin host-sim")?;
    let boards = UdpSocket::bind(BOARDS).with_context(|| format!("{BOARDS} is taken"))?;
    thread::spawn(move || control_boards(&boards));
    let kinds = [Kind::Meshalloc, Kind::Spalloc];
    let mut table = "| clients | `host-sim serve` | `spalloc_server` |\n|---|---|---|\n".to_owned();
    for clients in CLIENTS {
        let mut rates = [const { Vec::new() }; 2];
        for _ in 0..TURNS {
            for (kind, rates) in kinds.iter().zip(&mut rates) {
                let server = Server::start(kind, &python)?;
                let sessions = (1..=clients).map(|number| kind.connect(server.address, number));
                let rate = rate(sessions.collect::<Result<_>>()?)?;
                println!("{clients} clients, {kind:?}: {rate:.0} changes/s");
                rates.push(rate);
            }
        }
        let [ours, theirs] = rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            format!("{:.0} to {:.0}", rates[0], rates[TURNS - 1])
        });
        table += &format!("| {clients} | {ours} | {theirs} |\n");
    }
    println!("\n{table}");
    Ok(())
}

/// Stands for the controller of the boards (BMP), without which spalloc_server does not start:
/// acknowledges every request, with a version before 2, on which no links are set.
fn control_boards(socket: &UdpSocket) {
    let mut request = [0; 512];
    while let Ok((_, from)) = socket.recv_from(&mut request) {
        // Two bytes of padding, eight of an SDP header, the result, the number of the request.
        let mut reply = request[..14].to_vec();
        reply[10..12].copy_from_slice(&[0x80, 0]);
        // Processor, its physical number, y, x, size of a buffer, version times 100, time.
        reply.extend([0, 0, 0, 0, 0, 1, 136, 0, 0, 0, 0, 0]);
        reply.extend(b"BC&MP/Spin5-BMP\0");
        let _ = socket.send_to(&reply, from);
    }
}

#[derive(Debug)]
enum Kind {
    Meshalloc,
    Spalloc,
}

impl Kind {
    fn connect(&self, address: SocketAddr, number: u32) -> Result<Box<dyn Session>> {
        let stream = TcpStream::connect(address)?;
        Ok(match self {
            Kind::Meshalloc => Box::new(Meshalloc {
                client: Client::connect(IoLine::tcp(stream)?, Options::default())?,
                job: JobId(number),
            }),
            Kind::Spalloc => {
                stream.set_nodelay(true)?;
                let (stream, job) = (BufReader::new(stream), Value::Null);
                let mut session = Spalloc { stream, job };
                // The server listens before it has read its configuration.
                session.call(&json!({"command": "version"}))?;
                Box::new(session)
            }
        })
    }
}

/// A server in a process of its own, with its files in a folder of its own.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(kind: &Kind, python: &Path) -> Result<Self> {
        let folder = root().join(target_dir()).join("serve-rate");
        shell().remove_path(&folder)?;
        shell().create_dir(&folder)?;
        let address = free_port()?;
        let (program, line) = match kind {
            Kind::Meshalloc => (
                root().join(target_dir()).join("release/host-sim"),
                format!(
                    "serve --mesh 16x16 --strategy fsl --scheduler easy --journal journal
                     --listen {address}"
                ),
            ),
            Kind::Spalloc => {
                shell().copy_file(format!("{FILES}/machine.py"), &folder)?;
                let port = address.port();
                let line = format!("--quiet --cold-start --port {port} machine.py");
                (python.with_file_name("spalloc-server"), line)
            }
        };
        let log = folder.join("log");
        let mut command = Command::new(&program);
        command.args(line.split_whitespace()).current_dir(&folder);
        command.stdout(Stdio::null()).stderr(File::create(&log)?);
        let process = command.spawn()?;
        let server = Server { process, address };
        reachable(&program.display(), address).with_context(|| format!("see {}", log.display()))?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // When asked to end, spalloc_server waits for all of its boards.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client with at most one job at a time, which asks for one processor or board.
trait Session: Send {
    /// Returns when the server has acknowledged the job.
    fn submit(&mut self) -> Result<()>;
    /// Whether the job holds its processor or board.
    fn is_granted(&mut self) -> Result<bool>;
    /// Returns when the server has acknowledged the release.
    fn release(&mut self) -> Result<()>;
}

/// The acknowledged changes of all clients in a second.
fn rate(mut sessions: Vec<Box<dyn Session>>) -> Result<f64> {
    let begun = Instant::now();
    let work = |session: &mut Box<dyn Session>| {
        let mut changes = 0;
        while begun.elapsed() < TIME {
            session.submit()?;
            session.release()?;
            changes += 2;
        }
        Ok(changes)
    };
    let changes: u32 = thread::scope(|scope| {
        let working = sessions.iter_mut().map(|it| scope.spawn(move || work(it)));
        let working: Vec<_> = working.collect();
        let changes = working.into_iter().map(|it| it.join().expect("no panic"));
        changes.sum::<Result<_>>()
    })?;
    let rate = f64::from(changes) / begun.elapsed().as_secs_f64();
    // Jobs wait in the order of their submission: if these do not, no job has waited.
    sessions.iter_mut().try_for_each(|it| it.submit())?;
    for session in &mut sessions {
        ensure!(
            session.is_granted()?,
            "a job waits: the machine is too small"
        );
    }
    Ok(rate)
}

struct Meshalloc {
    client: Client<IoLine<TcpStream>>,
    job: JobId,
}

impl Meshalloc {
    fn call(&mut self, change: &Change) -> Result<()> {
        self.client.call(change, None, &mut |_, _| ())??;
        Ok(())
    }
}

impl Session for Meshalloc {
    fn submit(&mut self) -> Result<()> {
        self.call(&Change::submit(self.job, Request::submesh(1, 1)))
    }

    fn is_granted(&mut self) -> Result<bool> {
        let answer = self.client.query(&Query::Job { job: self.job })?;
        let is_running = |state| matches!(state, JobState::Running { .. });
        Ok(matches!(answer, Ok(Answer::Job(report)) if is_running(report.state)))
    }

    fn release(&mut self) -> Result<()> {
        self.call(&Change::Release { job: self.job })
    }
}

/// Speaks the protocol of spalloc: a line of JSON for each command and each reply.
struct Spalloc {
    stream: BufReader<TcpStream>,
    job: Value,
}

impl Spalloc {
    fn call(&mut self, command: &Value) -> Result<Value> {
        let line = format!("{command}\n");
        self.stream.get_mut().write_all(line.as_bytes())?;
        let mut reply = String::new();
        self.stream.read_line(&mut reply)?;
        let mut reply: Value = serde_json::from_str(&reply)?;
        let value = reply.get_mut("return").map(Value::take);
        value.with_context(|| format!("{command}: {reply}"))
    }
}

impl Session for Spalloc {
    fn submit(&mut self) -> Result<()> {
        // Without `keepalive` a job ends when its client is silent.
        let options = json!({"owner": "xtask", "keepalive": null});
        self.job = self.call(&json!({"command": "create_job", "kwargs": options}))?;
        Ok(())
    }

    fn is_granted(&mut self) -> Result<bool> {
        let state = self.call(&json!({"command": "get_job_state", "args": [self.job]}))?;
        // Its board is being switched on.
        Ok(state["state"] == 2)
    }

    fn release(&mut self) -> Result<()> {
        self.call(&json!({"command": "destroy_job", "args": [self.job]}))?;
        Ok(())
    }
}
