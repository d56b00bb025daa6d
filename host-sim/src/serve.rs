//! `serve`: the server and the journal of the firmware as a program, for many clients at a time.
//!
//! The program is another [`Board`]: all connections together are its serial port ([`lines`]), and
//! a file is its flash ([`area`]).

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::builder::ValueHint;
use clap::{Arg, Args, value_parser};
use meshalloc::{Configuration, Controller, Ticks};
use meshalloc_firmware::Processor;
use meshalloc_firmware::board::{Board, Kept, NoJournal, NoLed, REGIONS};
use meshalloc_firmware::keeping::durable::Durable;
use meshalloc_firmware::protocol::Origin;

use crate::failure::{self, Failure};
use crate::settings::{Given, Takes, of_one_controller};
use crate::signals;
use meshalloc_sim::backend;
use meshalloc_sim::names;
use meshalloc_sim::wording::counted;
use meshalloc_sim::workload::TimeUnit;

mod area;
mod lines;

use area::Area;
use lines::{Lines, lines};

/// The most clients that have a session at a time. Further clients replace the sessions that were
/// idle for longest.
const SESSIONS: usize = 256;
/// How long the server may sleep: leases end, and signals are seen, within this time.
const SLEEP: Duration = Duration::from_millis(20);
/// How long frames wait while the server has work left from a change; then further changes are
/// refused as busy until it has ended.
const HOLD: Duration = Duration::from_millis(50);

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The file that keeps the state; it is made if it does not exist
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Server")]
    journal: PathBuf,

    /// Address and port for TCP; port 0: a free one [default: 127.0.0.1:4000 without --socket]
    #[arg(long, value_name = "ADDR:PORT", value_parser = address, help_heading = "Server")]
    listen: Option<SocketAddr>,

    /// A Unix socket
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, help_heading = "Server")]
    socket: Option<PathBuf>,

    /// The most connections at a time; further ones are closed
    #[arg(
        long, value_name = "COUNT", default_value_t = 64, help_heading = "Server",
        value_parser = value_parser!(u16).range(1..=SESSIONS as i64)
    )]
    connections: u16,

    /// The most jobs that wait and run together; one more is refused
    #[arg(
        long, value_name = "COUNT", default_value_t = 1000, help_heading = "Server",
        value_parser = value_parser!(u16).range(1..=4000)
    )]
    room: u16,

    #[command(flatten)]
    settings: Given<Self>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let parsed = text.parse();
    parsed.map_err(|_| "expected ADDR:PORT, such as 127.0.0.1:4000 or [::1]:4000".to_owned())
}

impl Takes for ServeArgs {
    fn take(arg: Arg) -> Option<Arg> {
        of_one_controller(arg)
    }
}

/// This program as a board.
struct Host<S> {
    lines: Lines<S>,
    flash: Option<Area<File>>,
    led: NoLed,
    started: Instant,
}

impl<S: FnMut() -> io::Result<()>> Board for Host<S> {
    type Serial = Lines<S>;
    type Led = NoLed;
    type Flash = Area<File>;

    fn serial(&mut self) -> &mut Lines<S> {
        &mut self.lines
    }

    fn led(&mut self) -> &mut NoLed {
        &mut self.led
    }

    fn flash(&mut self) -> Option<Area<File>> {
        self.flash.take()
    }

    fn now_ms(&self) -> Ticks {
        self.started.elapsed().as_millis() as Ticks
    }

    fn feed(&mut self) {}

    fn sleep(&mut self) {
        self.lines.wait(SLEEP);
    }

    fn noise(&mut self) -> u64 {
        RandomState::new().hash_one(self.started)
    }
}

/// Serves until a signal ends it.
pub(crate) fn serve(args: &ServeArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let controlled = args
        .settings
        .scenario("serve")?
        .controlled("milliseconds")?;
    let (machine, strategy) = (controlled.machine, controlled.strategies[0]);
    let description = controlled
        .description
        .map(|described| described.description);
    let jobs = usize::from(args.room);
    let mut storage = backend::heap_storage(machine, description.as_ref(), strategy, jobs);
    let memory = match &description {
        None => storage.memory(),
        Some(machine) => storage.memory().describing(machine),
    };
    let configuration = Configuration {
        machine,
        strategy,
        // Its times are milliseconds, the ticks of the controller's clock.
        scheduler: names::scheduler_in(controlled.scheduler, TimeUnit::Cycle),
    };
    let controller = Controller::new(memory, configuration)?;

    // A port that is taken leaves no new journal behind.
    let doors = Doors::open(args)?;
    let _socket = SocketFile(args.socket.as_deref());
    let area = area::open(&args.journal)?;
    let synced = area.clone();
    let sync = move || synced.sync();
    let (opener, lines) = lines(args.connections.into(), sync);
    signals::handle()?;
    let board = Host {
        lines,
        flash: Some(area.clone()),
        led: NoLed,
        started: Instant::now(),
    };
    let kept = Kept::new();
    let opened = Processor::<_, Durable<_, REGIONS>, SESSIONS>::open(board, controller, &kept);
    let (mut processor, recovered) = opened.map_err(|reason: NoJournal| {
        let journal = args.journal.display();
        format!("{journal}: the journal cannot be used: {reason:?}")
    })?;
    processor.restore(recovered, &kept);
    let server = processor.server();
    say_origin(&args.journal, server.origin(), &configuration, {
        server.controller()
    })?;
    area.sync().map_err(|error| lost(&args.journal, &error))?;

    doors.serve(&opener, output)?;
    drop(opener);
    let mut work: Option<Instant> = None;
    while !signals::is_interrupted() {
        work = processor
            .server()
            .has_work()
            .then(|| work.unwrap_or_else(Instant::now));
        let is_held = work.is_some_and(|begun| begun.elapsed() < HOLD);
        processor.board_mut().lines.hold(is_held);
        processor.round();
        if let Some(error) = processor.board_mut().lines.take_failure() {
            return Err(lost(&args.journal, &error).into());
        }
    }
    processor.board_mut().lines.acknowledge();
    Ok(area.sync().map_err(|error| lost(&args.journal, &error))?)
}

/// The file of the Unix socket, which is removed however the server ends.
struct SocketFile<'a>(Option<&'a Path>);

impl Drop for SocketFile<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn lost(journal: &Path, error: &io::Error) -> String {
    format!("{}: cannot write the journal: {error}", journal.display())
}

/// Says on standard error where the state comes from, and which options have no effect. An error if
/// the state cannot be read.
fn say_origin(
    journal: &Path,
    origin: Origin,
    options: &Configuration,
    controller: &Controller<'_>,
) -> Result<(), String> {
    let journal = journal.display();
    let jobs = controller.jobs().running_len() + controller.jobs().waiting_len();
    let [served, asked] = [controller.configuration(), *options].map(written);
    let state = format!("{}: {}", served.join(", "), counted(jobs, "job"));
    let text = match origin {
        Origin::Unread => {
            return Err(format!(
                "{journal}: its state has no room here, or another version wrote it (expected the \
                 machine {} or a smaller one, and as much --room as before)",
                options.machine
            ));
        }
        Origin::Damaged { .. } => {
            format!("{journal}: damaged; what could be read: {state}")
        }
        Origin::Restored { .. } => format!("{journal}: restored: {state}"),
        Origin::New | Origin::Forgetful => format!("{journal}: no changes so far: {state}"),
    };
    failure::to_stderr(&text);
    let differs = asked
        .iter()
        .zip(&served)
        .filter(|(asked, served)| asked != served);
    let ignored: Vec<_> = differs.map(|(asked, _)| asked.as_str()).collect();
    if !ignored.is_empty() {
        failure::to_stderr(&format_args!(
            "warning: the journal has its own configuration, so these options are ignored: {}; \
             `device configure` changes it while no job waits or runs",
            ignored.join(", ")
        ));
    }
    Ok(())
}

/// The machine, the strategy and the scheduler.
fn written(configuration: Configuration) -> [String; 3] {
    [
        configuration.machine.to_string(),
        configuration.strategy.to_string(),
        names::scheduler_text(configuration.scheduler, TimeUnit::Cycle),
    ]
}

/// Where clients connect.
struct Doors {
    tcp: Option<TcpListener>,
    #[cfg(unix)]
    unix: Option<(PathBuf, std::os::unix::net::UnixListener)>,
}

impl Doors {
    fn open(args: &ServeArgs) -> Result<Self, String> {
        let default = || SocketAddr::from(([127, 0, 0, 1], 4000));
        let address = match (args.listen, &args.socket) {
            (None, None) => Some(default()),
            (given, _) => given,
        };
        let tcp = address.map(|address| {
            if !address.ip().is_loopback() {
                failure::to_stderr(&format_args!(
                    "warning: --listen {address}: there is no authentication; whoever can connect \
                     can do everything"
                ));
            }
            let bound = TcpListener::bind(address);
            bound.map_err(|error| format!("--listen {address}: cannot listen: {error}"))
        });
        #[cfg(not(unix))]
        if args.socket.is_some() {
            return Err("--socket: this system has no such sockets (expected --listen)".to_owned());
        }
        Ok(Doors {
            tcp: tcp.transpose()?,
            #[cfg(unix)]
            unix: args.socket.clone().map(unix_listener).transpose()?,
        })
    }

    /// Accepts connections from now on, and prints where.
    fn serve(self, opener: &lines::Opener, output: &mut dyn Write) -> Result<(), Failure> {
        if let Some(listener) = self.tcp {
            writeln!(output, "tcp:{}", listener.local_addr()?)?;
            opener.clone().listen(listener)?;
        }
        #[cfg(unix)]
        if let Some((path, listener)) = self.unix {
            writeln!(output, "unix:{}", path.display())?;
            opener.clone().listen_unix(listener)?;
        }
        Ok(output.flush()?)
    }
}

/// A Unix socket; one that a server has left behind is replaced.
#[cfg(unix)]
fn unix_listener(path: PathBuf) -> Result<(PathBuf, std::os::unix::net::UnixListener), String> {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    let is_socket = std::fs::symlink_metadata(&path).is_ok_and(|it| it.file_type().is_socket());
    if is_socket && UnixStream::connect(&path).is_err() {
        let _ = std::fs::remove_file(&path);
    }
    let bound = UnixListener::bind(&path);
    let listener =
        bound.map_err(|error| format!("--socket {}: cannot listen: {error}", path.display()))?;
    Ok((path, listener))
}
