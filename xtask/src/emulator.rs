//! An image in QEMU, for measurements: a client on its serial line, and its memory.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use meshalloc::{Block, Change, Configuration, Error, Event, Outcome, Query, Ticks};
use meshalloc_firmware::boards::Emulator as Info;
use meshalloc_firmware::{Client, IoLine, Options};
use tempfile::TempDir;

use crate::image::Image;
use crate::setup;

const PATIENCE: Duration = Duration::from_secs(10);

/// The command that runs an image in QEMU, with its serial line on a socket, named as QEMU does,
/// and its log on standard output.
pub(crate) fn command(emulator: &Info, image: &Image, socket: &str) -> Command {
    let mut command = Command::new(emulator.program);
    command.args(emulator.arguments(&image.path()));
    command.args(["-serial", &format!("{socket},server=on,wait=off")]);
    command
}

/// A process that ends when this does.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running QEMU with its monitor on standard input, in a folder of its own, where a journal goes
/// too.
pub(crate) struct Emulator {
    process: Process,
    _folder: TempDir,
    pub(crate) client: Client<IoLine<UnixStream, fn(&mut UnixStream, Duration) -> io::Result<()>>>,
}

/// A change or a query.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask {
    Change(Change),
    Query(Query),
}

impl Emulator {
    /// Starts QEMU with these further options, and a session with the image that has a virtual
    /// clock.
    ///
    /// # Errors
    ///
    /// When QEMU does not start or the image does not answer.
    pub(crate) fn start(image: &Image, options: &[&str]) -> Result<Emulator> {
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("serial");
        let emulator = setup::emulator(image.board)?;
        let child = command(emulator, image, &format!("unix:{}", socket.display()))
            .args(["-monitor", "stdio"])
            .args(options)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        let child = child.with_context(|| format!("{} cannot be started", emulator.program))?;
        let process = Process(child);
        let stream = wait("QEMU listens", || Ok(UnixStream::connect(&socket).ok()))?;
        // No frame is sent again because this machine is busy.
        let options = Options {
            timeout: PATIENCE,
            ..Options::default()
        };
        let mut client = Client::connect(IoLine::unix(stream), options)?;
        client.use_virtual_clock(true)?;
        Ok(Emulator {
            process,
            _folder: folder,
            client,
        })
    }

    /// Resets the controller and gives it this configuration.
    ///
    /// # Errors
    ///
    /// When the client gets no reply. The outcome is that of Configure.
    pub(crate) fn configure(
        &mut self,
        configuration: Configuration,
    ) -> Result<std::result::Result<Outcome, Error>> {
        let _ = self.call(0, &Ask::Change(Change::Reset), |_| ())?;
        self.call(0, &Ask::Change(Change::Configure(configuration)), |_| ())
    }

    /// Asks for something at this time; events that follow from it go to `on_event`. The outcome of
    /// a query that is answered is `Done`.
    ///
    /// # Errors
    ///
    /// When the client gets no reply.
    pub(crate) fn call(
        &mut self,
        at: Ticks,
        ask: &Ask,
        mut on_event: impl FnMut(&Event),
    ) -> Result<std::result::Result<Outcome, Error>> {
        let mut on_event = |event: &Event, _: &[Block]| on_event(event);
        Ok(match ask {
            Ask::Change(change) => self.client.call(change, Some(at), &mut on_event)?,
            Ask::Query(query) => self.client.query(query)?.map(|_| Outcome::Done),
        })
    }

    /// Resets the machine: the image starts anew, and QEMU writes into memory again what its
    /// options say.
    pub(crate) fn reset(&mut self) -> Result<()> {
        self.order("system_reset")?;
        // A frame that comes before would be lost, and missed for as long as the client is patient.
        thread::sleep(Duration::from_millis(100));
        Ok(())
    }

    /// These bytes of the image's memory.
    ///
    /// # Errors
    ///
    /// When QEMU does not write them.
    pub(crate) fn peek(&mut self, (address, bytes): (u64, u64)) -> Result<Vec<u8>> {
        let dump = tempfile::NamedTempFile::new()?;
        let path = dump.path().display();
        self.order(&format!("pmemsave {address:#x} {bytes} \"{path}\""))?;
        wait("QEMU has written its memory", || {
            let memory = fs::read(&dump)?;
            Ok((memory.len() as u64 == bytes).then_some(memory))
        })
    }

    /// Types a line at QEMU's monitor.
    fn order(&mut self, line: &str) -> Result<()> {
        let monitor = self.process.0.stdin.as_mut();
        Ok(writeln!(monitor.context("QEMU has no monitor")?, "{line}")?)
    }
}

/// Waits until there is a value.
fn wait<T>(what: &str, mut value: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(value) = value()? {
            return Ok(value);
        }
        thread::sleep(Duration::from_millis(5));
    }
    bail!("after {} s still not: {what}", PATIENCE.as_secs())
}
