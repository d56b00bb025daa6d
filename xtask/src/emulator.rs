//! The image that was built last in QEMU, for measurements: a client on its serial line, and its memory at the end.

use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use meshalloc_firmware::{Client, IoLine, Line, Options};
use tempfile::TempDir;

use crate::board::qemu_command;
use crate::image;

const PATIENCE: Duration = Duration::from_secs(10);

/// A running QEMU with its monitor on standard input; it ends when this does. A journal is in a folder of its own.
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
        // A port that is free may be taken by another QEMU until this one listens.
        static STARTING: Mutex<()> = Mutex::new(());
        let starting = STARTING.lock();
        let port = free_port()?;
        let command = qemu_command(&image::path(), port).args("-monitor stdio");
        let command = options
            .iter()
            .fold(command, |command, option| command.arg(*option));
        let folder = tempfile::tempdir()?;
        let child = command
            .process()
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("`{command}` cannot be started"))?;
        let emulator = Emulator {
            child,
            _folder: folder,
        };
        await_port(port)?;
        drop(starting);
        let line = IoLine::tcp(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?)?;
        // No frame is sent again because this machine is busy.
        let options = Options {
            timeout: PATIENCE,
            ..Options::default()
        };
        Ok((emulator, Client::connect(line, options)?))
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

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

fn await_port(port: u16) -> Result<()> {
    let started = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if started.elapsed() > PATIENCE {
            bail!(
                "QEMU does not listen on port {port} after {} s",
                PATIENCE.as_secs()
            );
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
