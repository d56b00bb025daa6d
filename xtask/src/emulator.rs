//! The image that was built last in QEMU, for measurements: a client on its serial line, and its
//! memory at the end.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use meshalloc_firmware::{Client, IoLine, Line, Options};
use tempfile::TempDir;

use crate::board::qemu_command;
use crate::{image, setup};

const PATIENCE: Duration = Duration::from_secs(10);

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
    pub(crate) fn start(options: &[&str]) -> Result<(Emulator, Client<impl Line + use<>>)> {
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("serial");
        let socket_name = format!("unix:{}", socket.display());
        let emulator = setup::emulator(image::board())?;
        let command = qemu_command(emulator, &image::path(), &socket_name).args("-monitor stdio");
        let command = options
            .iter()
            .fold(command, |command, option| command.arg(*option));
        let mut process = command.process();
        process
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let child = process
            .spawn()
            .with_context(|| format!("`{command}` cannot be started"))?;
        let emulator = Emulator {
            child,
            _folder: folder,
        };
        let line = IoLine::unix(connect(&socket)?);
        // No frame is sent again because this machine is busy.
        let options = Options {
            timeout: PATIENCE,
            ..Options::default()
        };
        Ok((emulator, Client::connect(line, options)?))
    }

    /// Resets the machine: the image starts anew, and QEMU writes into memory again what its
    /// options say.
    ///
    /// # Errors
    ///
    /// When QEMU does not take it.
    pub(crate) fn reset(&mut self) -> Result<()> {
        let monitor = self.child.stdin.as_mut().context("QEMU has no monitor")?;
        writeln!(monitor, "system_reset")?;
        monitor.flush()?;
        // A frame that comes before would be lost, and missed for as long as the client is patient.
        thread::sleep(Duration::from_millis(100));
        Ok(())
    }

    /// These bytes of the image's memory as they are.
    ///
    /// # Errors
    ///
    /// When QEMU does not write them.
    pub(crate) fn peek(&mut self, address: u64, bytes: u64) -> Result<Vec<u8>> {
        let dump = tempfile::NamedTempFile::new()?;
        let path = dump.path().display();
        let monitor = self.child.stdin.as_mut().context("QEMU has no monitor")?;
        writeln!(monitor, "pmemsave {address:#x} {bytes} \"{path}\"")?;
        monitor.flush()?;
        let started = Instant::now();
        loop {
            let memory = fs::read(&dump)?;
            if memory.len() as u64 == bytes {
                return Ok(memory);
            }
            if started.elapsed() > PATIENCE {
                bail!("QEMU has not written its memory");
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends QEMU; gives these bytes of the image's memory as they were.
    ///
    /// # Errors
    ///
    /// When QEMU does not write them.
    pub(crate) fn memory(mut self, address: u64, bytes: u64) -> Result<Vec<u8>> {
        let dump = tempfile::NamedTempFile::new()?;
        let path = dump.path().display();
        let mut monitor = self.child.stdin.take().context("QEMU has no monitor")?;
        write!(
            monitor,
            "stop\npmemsave {address:#x} {bytes} \"{path}\"\nquit\n"
        )?;
        drop(monitor);
        self.child.wait()?;
        let memory = fs::read(&dump)?;
        if memory.len() as u64 != bytes {
            bail!("QEMU has not written its memory");
        }
        Ok(memory)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects as soon as QEMU listens.
fn connect(socket: &Path) -> Result<UnixStream> {
    let started = Instant::now();
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(error) if started.elapsed() > PATIENCE => {
                return Err(error).with_context(|| {
                    format!("QEMU does not listen after {} s", PATIENCE.as_secs())
                });
            }
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}
