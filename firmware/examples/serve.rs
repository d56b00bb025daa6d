//! A board without hardware: the board's half of the protocol behind a TCP port of this machine, to
//! try a client on. It forgets everything when it ends.
//!
//! ```sh
//! cargo run -p meshalloc-firmware --example serve -- 127.0.0.1:4000
//! ```
//!
//! It serves one connection after another, and prints the address first: with port 0 the system
//! chooses a free port.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use meshalloc::{
    Configuration, Controller, Mesh, SchedulerKind, Storage, StrategyKind, Ticks, storage,
};
use meshalloc_firmware::{Received, Server};

/// The longest silence of a client after which leases are looked at.
const SILENCE: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    let address = std::env::args().nth(1);
    match run(address.as_deref().unwrap_or("127.0.0.1:4000")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error} (usage: serve [ADDRESS:PORT])");
            ExitCode::FAILURE
        }
    }
}

fn run(address: &str) -> io::Result<()> {
    let mut memory: Box<storage!(mesh 64 x 64, strategies [FirstFit, FreeSubmeshList], jobs 1000)> =
        Box::new(Storage::new());
    let configuration = Configuration {
        machine: Mesh::new(16, 16).map_err(io::Error::other)?.into(),
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let controller = Controller::new(memory.memory(), configuration).map_err(io::Error::other)?;
    let boot = SystemTime::UNIX_EPOCH.elapsed().map_err(io::Error::other)?;
    let mut server = Server::new(controller, boot.as_nanos() as u64);
    let listener = TcpListener::bind(address)?;
    println!("tcp:{}", listener.local_addr()?);
    let started = Instant::now();
    loop {
        let (stream, _) = listener.accept()?;
        if let Err(error) = serve(&mut server, stream, started) {
            eprintln!("a connection has ended: {error}");
        }
    }
}

/// Serves a client until it closes the connection.
fn serve(server: &mut Server<'_>, mut stream: TcpStream, started: Instant) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    let mut bytes = [0; 256];
    loop {
        let len = match stream.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(len) => len,
            Err(error) if is_timeout(&error) => 0,
            Err(error) => return Err(error),
        };
        let now = started.elapsed().as_millis() as Ticks;
        stream.write_all(&answers(server, &bytes[..len], now)?)?;
    }
}

/// What the server replies to these bytes, and does then.
fn answers(server: &mut Server<'_>, bytes: &[u8], now: Ticks) -> io::Result<Vec<u8>> {
    let mut replies = vec![0; 1 << 16];
    let mut room = &mut replies[..];
    let mut port = Received {
        bytes,
        line: &mut room,
    };
    while server.receive_from(now, &mut port).transpose().is_some() {}
    while server.work(&mut port).map_err(io::Error::other)? {}
    let left = room.len();
    replies.truncate((1 << 16) - left);
    Ok(replies)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
