//! An image in QEMU, for measurements: a client on its serial line, and its memory.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use meshalloc::{Block, Change, Error, Event, Outcome, Query, Ticks};
use meshalloc_firmware::boards::Emulator as Info;
use meshalloc_firmware::{Client, IoLine, Line, Options};
use tempfile::TempDir;

use crate::image::{Image, text};
use crate::setup;
use crate::shell::wait;

const PATIENCE: Duration = Duration::from_secs(10);

/// The command that runs an image in QEMU, with its serial line on a socket, named as QEMU does,
/// and its log on standard output.
pub(crate) fn command(emulator: &Info, image: &Image, socket: &str) -> Command {
    let mut command = Command::new(emulator.program);
    command.args(emulator.arguments(&text(&image.path())));
    command.args(["-serial", &format!("{socket},server=on,wait=off")]);
    command
}

/// A running QEMU with its monitor on standard input, in a folder of its own, where a journal goes
/// too; it ends when this does.
pub(crate) struct Emulator {
    child: Child,
    _folder: TempDir,
}

impl Emulator {
    /// Starts QEMU with these further options, and a session with the image.
    ///
    /// # Errors
    ///
    /// When QEMU does not start or the image does not answer.
    pub(crate) fn start(
        image: &Image,
        options: &[&str],
    ) -> Result<(Emulator, Client<impl Line + use<>>)> {
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("serial");
        let emulator = setup::emulator(image.board)?;
        let child = command(emulator, image, &format!("unix:{}", socket.display()))
            .args(["-monitor", "stdio"])
            .args(options)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("{} cannot be started", emulator.program))?;
        let emulator = Emulator {
            child,
            _folder: folder,
        };
        let stream = wait("QEMU listens", PATIENCE, || {
            Ok(UnixStream::connect(&socket).ok())
        })?;
        // No frame is sent again because this machine is busy.
        let options = Options {
            timeout: PATIENCE,
            ..Options::default()
        };
        Ok((emulator, Client::connect(IoLine::unix(stream), options)?))
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
        self.order(&format!(
            "pmemsave {address:#x} {bytes} \"{}\"",
            dump.path().display()
        ))?;
        wait("QEMU has written its memory", PATIENCE, || {
            let memory = fs::read(&dump)?;
            Ok((memory.len() as u64 == bytes).then_some(memory))
        })
    }

    /// Types a line at QEMU's monitor.
    fn order(&mut self, line: &str) -> Result<()> {
        let monitor = self.child.stdin.as_mut().context("QEMU has no monitor")?;
        writeln!(monitor, "{line}")?;
        Ok(monitor.flush()?)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A change or a query.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask {
    Change(Change),
    Query(Query),
}

impl From<Change> for Ask {
    fn from(change: Change) -> Self {
        Ask::Change(change)
    }
}

impl From<Query> for Ask {
    fn from(query: Query) -> Self {
        Ask::Query(query)
    }
}

impl Ask {
    /// Asks it at this time. The outcome of a query that is answered is `Done`.
    ///
    /// # Errors
    ///
    /// When the client gets no reply.
    pub(crate) fn call(
        &self,
        client: &mut Client<impl Line>,
        at: Option<Ticks>,
        on_event: &mut dyn FnMut(&Event, &[Block]),
    ) -> Result<std::result::Result<Outcome, Error>> {
        Ok(match self {
            Ask::Change(change) => client.call(change, at, on_event)?,
            Ask::Query(query) => client.query(query)?.map(|_| Outcome::Done),
        })
    }
}
