//! How deep the firmware's stack grows, measured in QEMU.
//!
//! Before the image starts, QEMU fills the room for its stack with a pattern; after some work the
//! lowest byte that differs tells how far the stack has grown. The image itself needs no change for it.
//! Interrupts use the same stack and are in the figure. A path that the work does not take is not.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::board::qemu_command;
use crate::command::{Cmd, target_dir};
use crate::image::{self, Image};

/// The mesh the work is done on: the largest that the board has room for by default.
pub(crate) const MESH: &str = "64x64";
/// Jobs that the work asks to place.
pub(crate) const JOBS: u32 = 1500;

const PAINT: u8 = 0xa5;
const PATIENCE: Duration = Duration::from_secs(10);

/// The deepest stack in bytes while the image that was built last does the work with this strategy.
///
/// # Errors
///
/// When QEMU or the simulator fails, or the stack has used all its room.
pub(crate) fn high_water(image: &Image, strategy: &str) -> Result<u64> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    let paint = file("paint");
    fs::write(&paint, vec![PAINT; usize::try_from(image.stack_room())?])?;
    let operations = file("operations");
    fs::write(&operations, work())?;
    let dump = file("stack");

    let port = free_port()?;
    let command = qemu_command(&image::path(), port)
        .args("-monitor stdio -device")
        .arg(format!(
            "loader,file={},addr={:#x},force-raw=on",
            paint.display(),
            image.stack_end
        ));
    let mut qemu = Qemu(
        command
            .process()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("`{command}` cannot be started"))?,
    );
    await_port(port)?;
    let host_sim = target_dir().join("debug").join("host-sim");
    Cmd::program(&host_sim)
        .args("replay")
        .arg(operations.display().to_string())
        .args(&format!(
            "--mesh {MESH} --strategy {strategy} --backend tcp:127.0.0.1:{port} --quiet"
        ))
        .output()?;
    qemu.save_memory(
        image.stack_end,
        image.stack_room(),
        &dump.display().to_string(),
    )?;

    let stack = fs::read(&dump).context("QEMU has not written the stack")?;
    let untouched = stack.iter().take_while(|&&byte| byte == PAINT).count();
    if untouched == 0 {
        bail!(
            "{strategy}: the stack has used all of its {} bytes",
            image.stack_room()
        );
    }
    Ok(image.stack_room() - untouched as u64)
}

/// A running QEMU with its monitor on standard input; it ends when this does.
struct Qemu(Child);

impl Qemu {
    /// Writes guest memory to a file and ends QEMU.
    fn save_memory(&mut self, address: u64, bytes: u64, path: &str) -> Result<()> {
        let mut monitor = self.0.stdin.take().context("QEMU has no monitor")?;
        write!(
            monitor,
            "stop\npmemsave {address:#x} {bytes} \"{path}\"\nquit\n"
        )?;
        drop(monitor);
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Both fail only when it has ended already, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
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
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Operations that fill the mesh with jobs of many sizes, large ones first and then small ones, while
/// earlier jobs leave out of order and processors fail and are repaired.
fn work() -> String {
    let mut lines = String::new();
    for job in 1..=JOBS {
        let longest = if job < JOBS / 2 { 17 } else { 5 };
        let (w, h) = (1 + job * 7 % longest, 1 + job * job % longest);
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "alloc {job} {w} {h}");
        if job % 4 != 0 && job > 40 {
            let _ = writeln!(lines, "free {}", job - 8 * (1 + job % 5));
        }
        if job % 50 == 0 {
            let verb = if job % 100 == 0 { "repair" } else { "fault" };
            let place = job / 100 % 64;
            let _ = writeln!(lines, "{verb} {place} {}", 63 - place);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_has_every_operation() {
        let work = work();
        for verb in ["alloc", "free", "fault", "repair"] {
            let lines = work.lines().filter(|line| line.starts_with(verb)).count();
            assert!(lines >= 10, "{verb}: {lines}");
        }
        assert_eq!(work.matches("alloc").count() as u32, JOBS);
    }
}
